package protocol

import (
	"fmt"
	"maps"
	"slices"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/save/write"
)

// entries records the changes of the entries of a request's item in secondary indexes. before is the
// stored item, nil for none.
func (m *Mover) entries(r *write.Request, before item.Attributes) {
	r.Entries = nil
	for _, x := range m.Indexes[r.Table.Name] {
		r.Entries = append(r.Entries, write.EntryOf(x, r.Table.Name, before, after(r, before)))
	}
}

// after returns the item after a request.
func after(r *write.Request, before item.Attributes) item.Attributes {
	if r.Kind == write.Delete {
		return nil
	}
	out := item.Attributes{}
	maps.Copy(out, r.Put)
	if r.Kind == write.Update {
		maps.Copy(out, before)
	}
	for _, a := range r.Set {
		out[a.Name] = a.Value
	}
	for _, a := range r.Remove {
		delete(out, a.Name)
	}
	r.Reserved.AssignVersion(r.Token).Into(out)
	return out
}

// units are the WCU of a request, with those of indexes, which are given by themselves too.
func (m *Mover) units(r *write.Request, before item.Attributes) (all, indexes float64) {
	m.entries(r, before)
	for i := range r.Entries {
		indexes += r.Entries[i].Units(0).Expected
	}
	return r.Units().Expected + indexes, indexes
}

// indexable refuses an item that the table's indexes do not take, of the model or not.
func (m *Mover) indexable(place item.Place, a item.Attributes) error {
	for _, x := range m.Indexes[place.Table.Name] {
		for _, k := range x.Attributes() {
			v := a[k.Name]
			if v == nil {
				continue
			}
			s, ok := attr.ScalarOf(v)
			most := key.MaxPartition
			if slices.Contains(x.Range, k) {
				most = key.MaxSort
			}
			if !ok || s.Type != k.Type || s.Type != 'N' && s.Text == "" || s.CheckSize(most) != nil {
				return fmt.Errorf("%s: a key of the index %s of the table %s has the type %c and 1 to %d bytes, "+
					"unlike this %s: change it, or the index", k.Name, x.Name, place.Table.Name, k.Type,
					most, attr.TypeName(v))
			}
		}
	}
	return nil
}
