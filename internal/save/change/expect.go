package change

import (
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/read/snapshot"
	"github.com/itemize/itemize/internal/save/write"
)

// A program without this library changes values and leaves the version as it is. So a write of a loaded
// item requires the version and the values that were read. An update compares the attributes that it
// changes, and a put, a delete and a check compare all attributes. Up to 4 KB of values are compared.
// If there are more, the largest strings and binaries are compared by their size, and other large
// values not at all.

// expectRead requires that the item is as it was read: by its version and values, or without a version by its values.
func (ch *Change) expectRead(m *model.Model, s *snapshot.Snapshot) {
	ch.expectStored()
	if ch.Expect.Version == nil || m.VersionsOnly {
		return
	}
	old := s.Old
	if ch.Item.Element() {
		old = m.Codec.Elements(ch.Item.Index).At(s.Old, ch.Stored.Pos)
	}
	x := &comparing{m: m, ch: ch, old: old}
	if x.all = x.few[:0]; ch.Kind == write.Update {
		for _, list := range [2][]item.Assignment{ch.Set, ch.Remove} {
			for _, a := range list {
				x.assignment(a)
			}
		}
	} else {
		x.everything()
	}
	x.fit()
}

// expectStored requires that the item is as it was read: by its version, or without one by
// its old values: of the attributes that an update changes, or of all.
func (ch *Change) expectStored() {
	r := ch.Stored
	ch.PinsEntity = ch.Root
	if r.Header.Version != nil {
		ch.Expect.Version = r.Header.Version
		return
	}
	var names []string
	if ch.Kind == write.Update {
		names = make([]string, 0, len(ch.Set)+len(ch.Remove))
		for _, list := range [][]item.Assignment{ch.Set, ch.Remove} {
			for _, a := range list {
				names = append(names, a.Name)
				if now := r.Renamed(ch.Item, a); now != "" && !slices.Contains(names, now) {
					names = append(names, now) // which is read first, where another has written it
				}
			}
		}
	}
	if r.Projection != nil {
		ch.expectPart(names)
		return
	}
	if names != nil && !slices.Contains(names, ch.Reserved.IncarnationName()) {
		names = append(names, ch.Reserved.IncarnationName()) // an item of another incarnation is another item
	}
	ch.Expect.Old = write.OldValues(ch.Place, r.Raw, names)
	if ch.Kind == write.Put {
		ch.expectMissing()
	}
}

// expectMissing requires that other writers have added no attributes that a put of an item without a version would
// overwrite or remove.
func (ch *Change) expectMissing() {
	old := ch.Expect.Old
	add := func(name string) {
		if ch.Stored.Raw[name] == nil {
			old.Values = append(old.Values, item.Assignment{Name: name, Index: item.Unlisted})
		}
	}
	// the attributes that the put sets, and then as many more of the item's kind as fit
	for _, name := range ch.Shown {
		add(name)
	}
	const most = 100 // as many as fit into the condition in any case
	for _, a := range ch.Item.Attributes {
		if len(old.Values) >= most {
			return
		}
		if !slices.Contains(ch.Shown, a.Name) {
			add(a.Name)
		}
	}
}

// expectPart requires that an item that was read in part, without a version, still has all values that were read;
// names are the attributes that the change is about.
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

// maxComparisons is how many attributes a condition compares. With names that take 5 bytes it stays
// under 4 KB and 300 operators.
const maxComparisons = 100

// comparison is the condition of a write on one attribute.
type comparison struct {
	item.Assignment
	size int // of the value
}

// comparing collects the comparisons of a change.
type comparing struct {
	m   *model.Model
	ch  *Change
	old any // the record as it was read
	all []comparison
	few [4]comparison // room for those of most changes
}

// assignment adds the attribute of an assignment.
func (x *comparing) assignment(a item.Assignment) {
	r := x.ch.Stored
	switch {
	case a.Index >= 0:
		x.value(x.ch.Item.Attributes[a.Index].Name, a.Index)
	case a.Index == item.Expiry:
		x.add(a.Name, r.Header.Expiry)
	case a.Index == item.Indexed:
		x.add(a.Name, r.IndexKey(x.ch.Item.DerivedKey(a.Name)))
	case a.Index == item.Former:
		if i := slices.IndexFunc(r.Former, func(f snapshot.Former) bool { return f.Name == a.Name }); i >= 0 {
			x.former(r.Former[i])
		}
	}
}

// everything adds all attributes that were read.
func (x *comparing) everything() {
	r, it := x.ch.Stored, x.ch.Item
	for i, a := range it.Attributes {
		x.value(a.Name, i)
	}
	for _, f := range r.Former {
		x.former(f)
	}
	for j, k := range it.Derived {
		x.add(k.Name, r.IndexKey(j))
	}
	if it.Expiry != nil && !x.m.Reserved.ListsExpiry(it) {
		x.add(x.m.Reserved.TTL, r.Header.Expiry)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Unknown)) {
		x.add(name, r.Unknown[name])
	}
}

// former adds an attribute that is stored under a former name, if its value was read under that name.
func (x *comparing) former(f snapshot.Former) {
	if x.ch.Stored.ReadAs(x.ch.Item, f.Attribute) == f.Name {
		x.value(f.Name, f.Attribute)
	}
}

// value adds the stored value of an attribute, which has that name: its own, or a former one.
func (x *comparing) value(name string, i int) {
	r, a := x.ch.Stored, x.ch.Item.Attributes[i]
	switch {
	case name == a.Name && r.Sizes[i] == 0:
		x.add(name, nil)
	case r.Inexact[i] != nil:
		x.add(name, r.Inexact[i])
	case r.Packed[i] != nil: // encoding the value again may compress it in another way
		x.add(name, r.Packed[i])
	case a.Large != nil, a.Opaque:
		if v := r.Opaque[i]; v != nil {
			x.add(name, v)
		}
	default:
		if v, err := x.m.Codec.Record(x.ch.Item.Index).Encode(x.old, i); err == nil && v != nil {
			x.add(name, v)
		}
	}
}

func (x *comparing) add(name string, value types.AttributeValue) {
	if !x.ch.Stored.Projection.Reads(name) {
		return
	}
	x.all = append(x.all,
		comparison{item.Assignment{Name: name, Index: item.Unlisted, Value: value}, attr.ValueSize(value)})
}

// fit sets the comparisons that fit into the condition.
func (x *comparing) fit() {
	e, size := &x.ch.Expect, 0
	for i := range x.all {
		size += x.all[i].size
	}
	if size > snapshot.MaxCompared || len(x.all) > maxComparisons {
		slices.SortStableFunc(x.all, func(a, b comparison) int { return b.size - a.size })
	}
	drop := len(x.all) - maxComparisons
	for i := range x.all {
		c := &x.all[i]
		switch {
		case drop > i:
			size -= c.size
		case size > snapshot.MaxCompared:
			size -= c.size
			if bytes, ok := sizeOperand(c.Value); ok {
				e.Sizes = append(e.Sizes, write.Attribute{Name: c.Name, Size: bytes})
			}
		default:
			if e.Values == nil {
				e.Values = make([]item.Assignment, 0, len(x.all)-i)
			}
			e.Values = append(e.Values, c.Assignment)
		}
	}
}

// sizeOperand returns the result of the function size for a value: its bytes, of a binary or a string.
func sizeOperand(v types.AttributeValue) (bytes int, ok bool) {
	switch v := v.(type) {
	case *types.AttributeValueMemberB:
		return len(v.Value), true
	case *types.AttributeValueMemberS:
		// It is not used for strings with other characters than ASCII, whose bytes and characters differ in number.
		for i := range len(v.Value) {
			if v.Value[i] >= 0x80 {
				return 0, false
			}
		}
		return len(v.Value), true
	}
	return 0, false
}

// comparable refuses a change of an item without a version whose condition, which compares attributes, is over the
// limits of one.
func comparable(ch *Change) error {
	if ch.Expect.Old == nil {
		return nil
	}
	n := len(ch.Expect.Old.Values)
	// No comparison is longer than "attribute_not_exists(#1000) AND ".
	if n+2 <= write.MaxTerms && (32*(n+2) <= cost.MaxExpression || ch.Longest() <= cost.MaxExpression) {
		return nil
	}
	return fmt.Errorf("%s.%s: the item %s has no version, and its %s compares %d attributes (limit %d, in %d bytes): "+
		"change fewer at once, or store versions",
		ch.Label, ch.Field, ch.Place, ch.Kind, n, write.MaxTerms-2, cost.MaxExpression)
}

// Keys of elements can name a field that is in no key of the root item. If another writer changes that field, it moves
// the elements that it knows, and the entity keeps its incarnation. No load would return an element that is added under
// the old value.

// requireNamed adds to the check of a root item that it has the fields which keys of new items of these kinds name,
// as they were loaded.
func (ch *Change) requireNamed(s *snapshot.Snapshot, kinds ...*schema.Item) {
	m, root := s.Model, s.Model.Root()
	if len(kinds) == 0 {
		return
	}
	var values []item.Assignment
	for o := m.Schema.Identities(); o < len(m.Schema.KeyFields); o++ {
		i := m.Schema.Stores(o)
		// It leaves out fields that are stored in another item.
		if m.Schema.KeyFields[o].Item != root || i < 0 ||
			!slices.ContainsFunc(kinds, func(it *schema.Item) bool { return it.Names(o) }) {
			continue
		}
		encoded := func() types.AttributeValue {
			v, _ := encode(m, root, s.Old, i, nil)
			return v
		}
		a := item.Assignment{Name: root.Attributes[i].Name, Index: item.Unlisted}
		// A field may change, or be stored in another form, without changing the keys: then the requests are refused,
		// and made again with the latest root item.
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
		ch.named(write.Values(values))
	}
}

// named adds a term that a request which covers this check takes over.
func (ch *Change) named(term attr.Condition) {
	ch.Named = append(ch.Named, term)
	ch.Expect.Terms = append(ch.Expect.Terms, term)
}
