package change

import (
	"maps"
	"slices"

	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/read/snapshot"
	"github.com/itemize/itemize/internal/save/write"
)

// Items that a query of an index, or one with a projection, has read in part.

// expectPart requires that an item that was read in part, without a version, still has all values that were read. names
// are the attributes that the change is about.
func (ch *Change) expectPart(names []string) {
	r := ch.Stored
	all := slices.Sorted(maps.Keys(r.Raw))
	for _, name := range names {
		if r.Projection.Reads(name) && !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	all = slices.DeleteFunc(all, func(name string) bool { return name == ch.Table.Hash || name == ch.Table.Range })
	ch.Expect.Old = write.OldValues(ch.Place, r.Raw, all)
	ch.Expect.Old.Partly = true
}

// changesKey reports whether assignments change a field that a key of an index names.
func changesKey(it *schema.Item, derived int, sets, removes []item.Assignment) bool {
	return slices.ContainsFunc(it.Derived[derived].Sources, func(src schema.Source) bool {
		return slices.ContainsFunc(slices.Concat(sets, removes), func(a item.Assignment) bool {
			return a.Index >= 0 && slices.Equal(it.Attributes[a.Index].Value.Path, src.Value.Path)
		})
	})
}

// checkRead refuses a change of an attribute that was not read. It also refuses a new key of an index if the key names
// an attribute that was not read.
func (d *differ) checkRead(it *schema.Item, r *snapshot.Stored, sets, removes []item.Assignment) error {
	for _, a := range slices.Concat(sets, removes) {
		switch {
		case a.Index >= 0 && !r.Projection.Loads(it.Attributes[a.Index]):
			return &NotLoaded{Field: it.Attributes[a.Index].Value.Name, At: r.Place}
		case a.Index == item.Expiry && !r.Projection.Reads(a.Name):
			return &NotLoaded{Field: it.Expiry.Name, At: r.Place}
		case a.Index == item.Indexed:
			if err := d.checkKeyRead(it, r, it.DerivedKey(a.Name)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *differ) checkKeyRead(it *schema.Item, r *snapshot.Stored, derived int) error {
	k := it.Derived[derived]
	for _, a := range it.Attributes {
		named := slices.ContainsFunc(k.Sources, func(src schema.Source) bool {
			return src.From != schema.FromModel && slices.Equal(src.Value.Path, a.Value.Path)
		})
		if named && !r.Projection.Loads(a) {
			return &NotLoaded{Field: a.Value.Name, Needs: "the key " + k.Name + " of an index", At: r.Place}
		}
	}
	return nil
}
