package change

import (
	"reflect"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/codec"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/read/snapshot"
	"github.com/itemize/itemize/internal/save/write"
)

// fixedItem compares the fields of a singleton.
func (d *differ) fixedItem(it *schema.Item) {
	rec := model.Record{Item: it, Value: d.v}
	sk, err := d.m.SortKey(rec, d.Keys.KeyFields)
	if err != nil {
		d.fail(err)
		return
	}
	at := d.m.Place(it, d.Keys.Partition, sk)
	record := d.m.Codec.Record(it.Index)
	if all := d.s.Items[it.Index]; len(all) == 1 && all[0].Place == at && !it.Opaque && !d.expiryChanged &&
		!d.reindexes(it) && record.Equal(d.v, d.s.Old) {
		d.keep(it, all[0], codec.Pos{})
		return
	}
	if !d.s.Covers(it, sk) {
		if d.differs(it, nil) || d.expiryChanged {
			d.fail(&NotLoaded{Field: d.changed(it), At: at})
		}
		return
	}
	r, away := d.stored(it, at)
	for _, old := range away {
		d.delete(it, old)
	}
	present := d.m.Present(it, d.v)
	switch {
	// what the model does not know moves along
	case r == nil && !present && !(len(away) > 0 && len(away[0].Unknown) > 0):
	// AfterLoad has set what it holds
	case r == nil && len(away) == 0 && !d.s.Fresh && d.m.Schema.Hooks && !d.differs(it, nil):
	case r == nil && len(away) > 0:
		d.put(rec, at, away[0])
	case r == nil:
		d.put(rec, at, nil)
	case present || r.Projection != nil || !d.differs(it, r):
		d.update(rec, r, d.s.Old)
	case len(r.Unknown) > 0 && !it.Pointer:
		d.clear(rec, r)
	default:
		d.delete(it, r)
	}
}

// changed names the fields of a singleton that are not as they were, which was not loaded.
func (d *differ) changed(it *schema.Item) string {
	if it.Pointer {
		return it.Name
	}
	var names []string
	sets, removes, _ := d.compare(model.Record{Item: it, Value: d.v}, nil, d.s.Old)
	for _, a := range slices.Concat(sets, removes) {
		if a.Index < 0 {
			continue // the expiry
		}
		if name := it.Attributes[a.Index].Value.Name; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return it.Name
	}
	return strings.Join(names, ", ")
}

// stored returns a singleton's stored item at a place, and those of places that the entity
// moves away from.
func (d *differ) stored(it *schema.Item, at item.Place) (r *snapshot.Stored, away []*snapshot.Stored) {
	for _, x := range d.s.Items[it.Index] {
		if x.Place == at {
			r = x
		} else {
			away = append(away, x)
		}
	}
	return r, away
}

// differs reports whether a singleton's attributes are not as they are stored.
func (d *differ) differs(it *schema.Item, r *snapshot.Stored) bool {
	record, old := d.m.Codec.Record(it.Index), d.s.Old
	if !record.Equal(old, d.v) {
		// The comparison of typed values may be too strict: encode and see.
		sets, removes, err := d.compare(model.Record{Item: it, Value: d.v}, r, old)
		return err != nil || len(sets)+len(removes) > 0 || r != nil && record.Present(old) != record.Present(d.v)
	}
	for i, a := range it.Attributes {
		if a.Large.External() {
			if _, same, err := d.sameLarge(model.Record{Item: it, Value: d.v}, r, old, i); err != nil || !same {
				return true
			}
			continue
		}
		if a.Opaque {
			now, err := record.Encode(d.v, i)
			switch {
			case err != nil && !isAsRead(d.m, it, r, d.v, i):
				return true
			case err == nil && !attr.Same(now, d.was(it, r, old, i)):
				return true
			}
		}
	}
	return false
}

// isAsRead reports whether an opaque attribute has the value that a stored item has. It is for values that can be read,
// and not written: they stay as they are stored.
func isAsRead(m *model.Model, it *schema.Item, r *snapshot.Stored, rec any, i int) bool {
	if a := it.Attributes[i]; r == nil || !a.Opaque || a.Large != nil {
		return false
	}
	read, record := m.Codec.New(), m.Codec.Record(it.Index)
	if it.Element() {
		read = m.Codec.Elements(it.Index).NewElement()
	}
	none := func() types.AttributeValue { return nil }
	if v := r.Value(it, i, none); v != nil && record.Decode(read, i, v) != nil {
		return false
	}
	return reflect.DeepEqual(record.Field(read, i), record.Field(rec, i))
}

// keep notes an item that is not written.
func (d *differ) keep(it *schema.Item, r *snapshot.Stored, pos codec.Pos) {
	r.Order = pos.Index
	if !d.o.Checks {
		return
	}
	ch := of(d.m, write.Check, it, r)
	ch.NewSize = r.Size
	ch.expectRead(d.m, d.s)
	d.Checks = append(d.Checks, ch)
}

func (d *differ) delete(it *schema.Item, r *snapshot.Stored) {
	ch := of(d.m, write.Delete, it, r)
	ch.expectRead(d.m, d.s)
	d.add(ch)
}

// add notes a change, unless its item would be too large, or cannot be compared.
func (d *differ) add(ch *Change) {
	for _, err := range []error{ch.check(), comparable(ch)} {
		if err != nil {
			d.fail(err)
			return
		}
	}
	ch.External = len(Values([]*Change{ch}))
	ch.index(d.m)
	if err := ch.checkLocal(); err != nil {
		d.fail(err)
		return
	}
	d.Changes = append(d.Changes, ch)
}
