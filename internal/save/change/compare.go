package change

import (
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/read/snapshot"
	"github.com/itemize/itemize/internal/save/write"
)

// A program without this library changes values and leaves the version as it is. So a write of a loaded
// item requires the version and the values that were read. An update compares the attributes that it
// changes, and a put, a delete and a check compare all attributes. Up to 4 KB of values are compared.
// If there are more, the largest strings and binaries are compared by their size, and other large
// values not at all.

// maxComparisons is how many attributes a condition compares. With names that take 5 bytes it stays
// under 4 KB and 300 operators.
const maxComparisons = 100

// comparison is the condition of a write on one attribute.
type comparison struct {
	item.Assignment
	size int // of the value
}

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

// comparing collects the comparisons of a change.
type comparing struct {
	m   *model.Model
	ch  *Change
	old any // the record as it was read
	all []comparison
	few [4]comparison // room for those of most changes
}

func (x *comparing) add(name string, value types.AttributeValue) {
	if !x.ch.Stored.Projection.Reads(name) {
		return
	}
	x.all = append(x.all,
		comparison{item.Assignment{Name: name, Index: item.Unlisted, Value: value}, attr.ValueSize(value)})
}

// assignment adds the attribute of an assignment.
func (x *comparing) assignment(a item.Assignment) {
	r := x.ch.Stored
	switch {
	case a.Index >= 0:
		x.attribute(a.Index)
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

// attribute adds an attribute of the kind.
func (x *comparing) attribute(i int) {
	name := x.ch.Item.Attributes[i].Name
	if x.ch.Stored.Sizes[i] == 0 {
		x.add(name, nil)
		return
	}
	x.value(name, i)
}

// former adds an attribute that is stored under a former name, if its value was read under that name.
func (x *comparing) former(f snapshot.Former) {
	if x.ch.Stored.ReadAs(x.ch.Item, f.Attribute) == f.Name {
		x.value(f.Name, f.Attribute)
	}
}

// value adds the stored value of an attribute, which has that name.
func (x *comparing) value(name string, i int) {
	r, a := x.ch.Stored, x.ch.Item.Attributes[i]
	switch {
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

// everything adds all attributes that were read.
func (x *comparing) everything() {
	r, it := x.ch.Stored, x.ch.Item
	for i := range it.Attributes {
		x.attribute(i)
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

// sizeOperand returns what the function size returns for a value: its bytes, of a binary or a string.
// It is not used for strings with other characters than ASCII, whose bytes and characters differ in
// number.
func sizeOperand(v types.AttributeValue) (bytes int, ok bool) {
	switch v := v.(type) {
	case *types.AttributeValueMemberB:
		return len(v.Value), true
	case *types.AttributeValueMemberS:
		for i := range len(v.Value) {
			if v.Value[i] >= 0x80 {
				return 0, false
			}
		}
		return len(v.Value), true
	}
	return 0, false
}
