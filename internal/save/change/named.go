package change

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/read/snapshot"
	"github.com/itemize/itemize/internal/save/write"
)

// Keys of elements can name a field that is in no key of the root item. If another writer changes that field, it moves
// the elements that it knows, and the entity keeps its incarnation. No load would return an element that is added under
// the old value.

// added returns the kinds of items that the save adds.
func (d *differ) added() []*schema.Item {
	var all []*schema.Item
	for _, ch := range d.Changes {
		if ch.IsAddition() {
			all = append(all, ch.Item)
		}
	}
	return all
}

// requireNamed adds to the check of a root item that it has the fields which keys of new items of these kinds name, as
// they were loaded. It leaves out fields that are stored in another item. A field may change, or be stored in another
// form, without changing the keys: then the requests are refused, and made again with the latest root item.
func (ch *Change) requireNamed(s *snapshot.Snapshot, kinds ...*schema.Item) {
	m, root := s.Model, s.Model.Root()
	if len(kinds) == 0 {
		return
	}
	var values []item.Assignment
	for o := m.Schema.Identities(); o < len(m.Schema.KeyFields); o++ {
		i := m.Schema.Stores(o)
		if m.Schema.KeyFields[o].Item != root || i < 0 ||
			!slices.ContainsFunc(kinds, func(it *schema.Item) bool { return it.Names(o) }) {
			continue
		}
		encoded := func() types.AttributeValue {
			v, _ := encode(m, root, s.Old, i, nil)
			return v
		}
		a := item.Assignment{Name: root.Attributes[i].Name, Index: item.Unlisted}
		switch stored := s.Root(); {
		case s.LatestRoot != nil:
			a.Value = s.LatestRoot[a.Name]
		case stored != nil:
			a.Value = stored.Value(root, i, encoded)
		default:
			a.Value = encoded()
		}
		values = append(values, a)
	}
	if len(values) > 0 {
		ch.Named = write.Values(values)
		ch.Expect.Terms = append(ch.Expect.Terms, ch.Named)
	}
}
