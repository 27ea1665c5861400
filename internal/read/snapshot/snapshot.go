// Package snapshot has the items that were read of one entity, and their values. A save compares with
// them and takes its conditions from them. [Snapshot.Decode] creates a snapshot from images, and
// [Snapshot.Apply] updates it after a write. The package sends no requests.
package snapshot

import (
	"cmp"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/codec"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/read/selection"
)

// Snapshot is the known state of an entity's items.
type Snapshot struct {
	Model     *model.Model
	Selection selection.Selection
	// Fresh reports that the entity has never been stored: a save inserts it.
	Fresh bool
	// Old holds the values as they are stored, as far as they are typed; a pointer to the
	// model.
	Old any
	// Partition is its partition.
	Partition key.Partition
	// KeyFields are the values in Old of the fields that keys name; nil where they are not
	// at hand.
	KeyFields []key.Value
	// Items are the stored items, by the index of their kind: at most one of a singleton;
	// of elements in the order of their values in Old.
	Items [][]*Stored
	// Hidden are items that are in the way of a save and may be replaced; they are not
	// remembered beyond it.
	Hidden map[item.Place]*item.Hidden
	// LatestRoot is the root item as it was when it refused a save, nil for none. It is not remembered beyond the save.
	LatestRoot item.Attributes
	// Unknown counts items that match no template.
	Unknown int
	// Unmanaged are items that were read and belong to no entity: those that Unknown counts, and a root
	// that was read outside the selection. They are part of the cost of reading.
	Unmanaged []Other

	// drawn is the shard of an entity that is not stored yet, where it is drawn: once, whatever
	// becomes of the first save.
	drawn key.Value

	// incarnation is the entity's incarnation, if it is known.
	incarnation    types.AttributeValue
	hasIncarnation bool

	// unread are the key fields whose values were not loaded, by index: what Old holds of
	// them is no more than zero. Nil is none.
	unread []bool
}

// Stored is one stored item.
type Stored struct {
	item.Place
	Header item.Header
	// Pos is the position of the element in Old; Order is its position in the value that was
	// compared last.
	Pos   codec.Pos
	Order int
	// Size is the item's size in bytes, Sizes those of its attributes, names included; 0
	// for an attribute that is not stored. Expiry is that of the TTL attribute where it is
	// none of them.
	Size   int
	Sizes  []int32
	Expiry int
	// Former are attributes that are stored under a name which they had before, in the order of
	// these names: the next write of the item removes them.
	Former []Former
	// Index are the attributes that are written for secondary indexes alone, by their index in the
	// kind's Derived; nil for one that is not stored, and for none.
	Index []types.AttributeValue
	// Opaque are the stored values of opaque attributes, by index.
	Opaque map[int]types.AttributeValue
	// Inexact are the stored values of attributes that encode to another value, by index. See inexact.go.
	Inexact map[int]types.AttributeValue
	// Packed are the stored values of compressed attributes, by index.
	Packed map[int]types.AttributeValue
	// Plain are the values of external attributes, before they are compressed, if they are inexact, by index.
	Plain map[int]types.AttributeValue
	// Seen are the digests of values that AfterLoad may have changed outside the item, by index. Later
	// values are compared with them.
	Seen map[int][32]byte
	// Projection says which attributes were read, nil for all.
	Projection *item.Projection
	// Unknown are the attributes that the model does not have.
	Unknown item.Attributes
	// Raw is the whole item, of an item without a version: a write is conditional on its values.
	Raw item.Attributes
}

// Former is an attribute under a name that it had before: its index, and the size that the name
// and the value take, in bytes.
type Former struct {
	Name            string
	Attribute, Size int
}

// Other is an item that was read and is none of the entity's.
type Other struct {
	item.Place
	Kind   *schema.Item
	Header item.Header
	Size   int
}

// New returns the snapshot of an entity that is not stored yet.
func New(m *model.Model, v any) *Snapshot {
	s := &Snapshot{Model: m}
	s.Reset()
	keyFields, err := m.KeyFields(v)
	if err == nil {
		err = s.KeepShard(keyFields, false)
	}
	if err != nil {
		s.Selection.Err = err
		return s
	}
	s.Selection = selection.Entity(m.Schema, m.Identity(keyFields))
	return s
}

// Loaded returns the snapshot of a selection of which nothing has been decoded yet.
func Loaded(m *model.Model, sel selection.Selection) (*Snapshot, error) {
	s := &Snapshot{Model: m, Selection: sel}
	s.clear()
	var err error
	s.Partition, err = sel.In(m.Schema)
	return s, err
}

func (s *Snapshot) clear() {
	s.Old, s.Items = s.Model.Codec.New(), make([][]*Stored, len(s.Model.Schema.Items))
}

// Reset makes it the snapshot of an entity whose items were all deleted.
func (s *Snapshot) Reset() {
	*s = Snapshot{Model: s.Model, Selection: s.Selection, Fresh: true}
	s.clear()
	s.draw()
}

// Root returns the stored root, nil for none.
func (s *Snapshot) Root() *Stored {
	if all := s.Items[s.Model.Root().Index]; len(all) > 0 {
		return all[0]
	}
	return nil
}

// Versioned returns the stored item at a place, nil unless it has a version.
func (s *Snapshot) Versioned(at item.Place) *Stored {
	for _, all := range s.Items {
		for _, r := range all {
			if r.Place == at && r.Header.Version != nil {
				return r
			}
		}
	}
	return nil
}

// Covers reports whether a save may write the item at a place.
func (s *Snapshot) Covers(it *schema.Item, sk key.Scalar) bool {
	return s.Fresh || s.Selection.Whole || s.Selection.Contains(it.Table.Index, sk)
}

// Unread returns the name of a key field that the key of an item contains and that was not loaded, ""
// for none. The key would be the key of another item.
func (s *Snapshot) Unread(it *schema.Item) string {
	if s.unread == nil || it.Key == nil {
		return ""
	}
	for _, src := range it.Key.Sources {
		if src.From == schema.FromModel && s.unread[src.KeyField] {
			return s.Model.Schema.KeyFields[src.KeyField].Name
		}
	}
	return ""
}

// Incarnation returns the incarnation of the entity as far as it was read: nil if the root has none.
func (s *Snapshot) Incarnation() (incarnation types.AttributeValue, hasIncarnation bool) {
	if root := s.Root(); root != nil {
		return root.Header.Incarnation, true
	}
	for _, all := range s.Items {
		for _, r := range all {
			if r.Header.Incarnation != nil {
				return r.Header.Incarnation, true
			}
		}
	}
	return s.incarnation, s.hasIncarnation
}

// SetIncarnation notes the incarnation of the entity's root.
func (s *Snapshot) SetIncarnation(incarnation types.AttributeValue) {
	s.incarnation, s.hasIncarnation = incarnation, true
}

// Hide records a hidden item at a key.
func (s *Snapshot) Hide(at item.Place, h *item.Hidden) {
	if s.Hidden == nil {
		s.Hidden = map[item.Place]*item.Hidden{}
	}
	s.Hidden[at] = h
}

// HiddenAt returns the hidden item at a key, nil if none is known.
func (s *Snapshot) HiddenAt(at item.Place) *item.Hidden {
	return s.Hidden[at]
}

// StoredOf describes an item that was read.
func StoredOf(m *model.Model, f *item.Image) *Stored {
	r := &Stored{}
	r.fill(m, f)
	return r
}

func (r *Stored) fill(m *model.Model, f *item.Image) {
	r.Place, r.Header, r.Size, r.Sizes = f.Place, f.Header, f.Size, f.Sizes
	r.Projection = f.Projection
	listed := f.Listed + len(f.Former) + f.Table.KeyAttributes()
	for _, name := range f.Former {
		r.Former = append(r.Former,
			Former{Name: name, Attribute: f.Kind.Former(name), Size: attr.AttributeSize(name, f.Attribute(name))})
	}
	slices.SortFunc(r.Former, func(a, b Former) int { return cmp.Compare(a.Name, b.Name) })
	for _, v := range []types.AttributeValue{f.Header.Version, f.Header.Stage, f.Header.Incarnation} {
		if v != nil {
			listed++
		}
	}
	if h := f.Header.Expiry; h != nil && f.Kind.Expiry != nil && !m.Reserved.ListsExpiry(f.Kind) {
		r.Expiry = m.Reserved.AssignExpiry(h).Size()
		listed++
	}
	for i, a := range f.Kind.Attributes {
		if a.Large.External() {
			_, v := stored(f, a)
			keep(&r.Opaque, i, attr.Copy(v))
		}
	}
	for j, k := range f.Kind.Derived {
		if v := f.Attribute(k.Name); v != nil {
			r.setIndex(f.Kind, j, v)
			listed++
		}
	}
	if listed < f.Len() {
		r.keepUnknown(m, f)
	}
	if r.Header.Version == nil {
		r.Raw = attr.CopyItem(f.Attributes())
	}
}

// keepUnknown keeps the attributes that the model does not have.
func (r *Stored) keepUnknown(m *model.Model, f *item.Image) {
	for name, v := range f.Attributes() {
		switch {
		case f.Kind.Attribute(name) >= 0, f.Kind.Former(name) >= 0, name == f.Table.Hash, name == f.Table.Range:
		case m.Reserved.Has(name, f.Kind), f.Kind.DerivedKey(name) >= 0:
		default:
			if r.Unknown == nil {
				r.Unknown = item.Attributes{}
			}
			r.Unknown[name] = v
		}
	}
}

func (r *Stored) setIndex(it *schema.Item, j int, v types.AttributeValue) {
	if r.Index == nil {
		r.Index = make([]types.AttributeValue, len(it.Derived))
	}
	r.Index[j] = v
}

// IndexKey returns the stored value of an attribute that is written for secondary indexes alone, by
// its index in the kind's Derived; nil for none.
func (r *Stored) IndexKey(j int) types.AttributeValue {
	if r.Index == nil {
		return nil
	}
	return r.Index[j]
}

// Renamed returns the name that an attribute has now of which an assignment removes one of before,
// "" for others.
func (r *Stored) Renamed(it *schema.Item, a item.Assignment) string {
	if a.Index != item.Former {
		return ""
	}
	i := slices.IndexFunc(r.Former, func(f Former) bool { return f.Name == a.Name })
	if i < 0 {
		return ""
	}
	return it.Attributes[r.Former[i].Attribute].Name
}

// ReadAs returns the name under which the value of an attribute was read, if several are stored.
func (r *Stored) ReadAs(it *schema.Item, i int) string {
	a := it.Attributes[i]
	if r.Sizes[i] > 0 {
		return a.Name
	}
	for _, name := range a.Was {
		if slices.ContainsFunc(r.Former, func(f Former) bool { return f.Name == name }) {
			return name
		}
	}
	return ""
}

// Value returns the stored value of an attribute of an item of a kind, under its present name or a former one, nil if
// none is stored. encoded returns the encoding of the value that was decoded from it, which is the stored value of most
// attributes.
func (r *Stored) Value(it *schema.Item, i int, encoded func() types.AttributeValue) types.AttributeValue {
	a, name := it.Attributes[i], r.ReadAs(it, i)
	switch {
	case name == "":
		return nil
	case r.Raw != nil:
		return r.Raw[name]
	case r.Inexact[i] != nil:
		return r.Inexact[i]
	case r.Packed[i] != nil:
		return r.Packed[i]
	case a.Opaque, a.Large.External():
		return r.Opaque[i]
	}
	return encoded()
}

// StoredSize returns the size of the stored attribute of an item of a kind that an assignment is
// about.
func (r *Stored) StoredSize(it *schema.Item, a item.Assignment) int {
	switch a.Index {
	case item.Indexed:
		return item.Assignment{Name: a.Name, Value: r.IndexKey(it.DerivedKey(a.Name))}.Size()
	case item.Expiry:
		return r.Expiry
	case item.Former:
		if i := slices.IndexFunc(r.Former, func(f Former) bool { return f.Name == a.Name }); i >= 0 {
			return r.Former[i].Size
		}
		return 0
	}
	return int(r.Sizes[a.Index])
}
