package schema

import (
	"slices"

	"github.com/itemize/itemize/internal/model/grammar"
	"github.com/itemize/itemize/internal/model/key"
)

// Names of the attributes that the library keeps for itself, unless a tag renames them.
const (
	// DefaultVersion is the attribute of an item's version token.
	DefaultVersion = "_v"
	// DefaultState is the attribute of the state of a staged write.
	DefaultState = "_s"
	// DefaultIncarnation is the attribute that ties an item to the entity that it is of.
	DefaultIncarnation = "_a"
	// DefaultMoved is the attribute with the record of a migration. On a root it has the attributes of the
	// monolith that the keys do not have, and on a monolith the fact that it was moved.
	DefaultMoved = "_m"
)

// Entity is the layout of a model.
type Entity struct {
	// Name is the model's type name, without its package.
	Name string
	Type *Type
	// Delim separates the segments of keys.
	Delim byte
	// Tables are the tables; the first is the main one.
	Tables []*Table
	// PK is the partition key of all tables.
	PK *Key
	// Shards is how the partition keys of a flat model are spread, nil for not at all.
	Shards *Shards
	// Periods is how the tables follow the time, nil for not at all.
	Periods *Periods
	// Indexes are the secondary indexes, in the order of their declarations.
	Indexes []*Index
	// Uniques are the values that must be unique, in the order of their fields.
	Uniques []*Unique
	// Items are the kinds of items, in the order of their first fields.
	Items []*Item
	// Root is the item that means that the entity exists.
	Root *Item
	// KeyFields are the model's fields that keys name, those of the partition key
	// first, in the order of its placeholders.
	KeyFields []*KeyField
	// Flat reports that the sort keys of singletons name fields, so that a partition holds many
	// entities.
	Flat bool
	// Scattered reports that an entity is in several tables, or, in a flat model, under several prefixes.
	Scattered bool
	// Hooks reports that a stored struct has a method AfterLoad.
	Hooks bool
	// Version is the attribute of the items' versions, "" for none.
	Version string
	// State, Incarnation and Moved are the other attributes that the library keeps for itself.
	State, Incarnation, Moved string
	// TTL is the tables' TTL attribute, "" for none.
	TTL string
	// Names are the generated names of segments, by prefix.
	Names []SegmentName
}

// SegmentName renames the generated method of a literal segment.
type SegmentName struct {
	Prefix, Name string
	Field        *Field
}

// Table is a table of the model.
type Table struct {
	// Name is the declared name, Word the satellite's generated name.
	Name, Word string
	// Hash and Range are the key attributes; Range is "" for a table without
	// a sort key.
	Hash, Range string
	// HashType and RangeType are the types of the key attributes: 'S', 'N', 'B'.
	HashType, RangeType byte
	Index               int
	// Field is the blank field that declares it, nil for the default.
	Field *Field
}

// Key is a key template with the sources of its values.
type Key struct {
	Text     string
	Template *key.Template
	// Sources are where the placeholders' values come from, in their order.
	Sources []Source
	// At is the field whose tag holds the template.
	At *Field
	// Pos and End are its place in the raw tag.
	Pos, End int
	// Fixed is the key of a template without placeholders.
	Fixed key.Scalar

	names []string // what its placeholders name
}

// From is the source of a placeholder's value.
type From uint8

// The sources of placeholders: a field of the model, a field of the element, a map's key, a scalar
// element itself. In the keys of indexes also a field of the singleton, and in the partition key the
// shard.
const (
	FromModel From = iota
	FromElement
	FromMapKey
	FromSelf
	FromItem
	FromShard
)

// Source is where a placeholder's value comes from.
type Source struct {
	From From
	// KeyField is the index in Entity.KeyFields, for FromModel; a shard comes behind these.
	KeyField int
	// Value is the field, for FromModel and FromElement; otherwise it has the
	// type alone.
	Value Value
	// Lossless reports that the key has the complete value. Repeats reports that another placeholder of the key has
	// it, and this one a part of it.
	Lossless, Repeats bool
	// Optional reports that the field is a pointer, in a key of an index: Value.Type is the type that it points to,
	// and an item whose pointer is nil is not in the index.
	Optional bool
	// Text is the placeholder as it is written.
	Text string

	field *Field // whose dynamodbav options apply; nil for a map's key
}

// Value is a place inside a struct, or the value itself where Path is empty.
type Value struct {
	// Name is the Go name: Home.Street for a field of a spread struct.
	Name string
	Path []int
	Type *Type
	// Word is name= of the field: the word for it in generated names, "" for the field's name.
	Word string
}

// KeyField is a field of the model that keys name.
type KeyField struct {
	Value
	// Identity reports that the field is part of the entity's identity: it is in the partition key, or
	// in a flat model's sort keys.
	Identity bool
	// Item is the item that stores the field, nil where keys alone hold it.
	Item  *Item
	Field *Field

	key    *Key // the key that holds the field best, and where in it
	source int
}

// Stores returns the index of the attribute that stores a key field in its item, -1 for none.
func (e *Entity) Stores(keyField int) int {
	o := e.KeyFields[keyField]
	if o.Item == nil {
		return -1
	}
	return slices.IndexFunc(o.Item.Attributes, func(a *Attribute) bool {
		return slices.Equal(a.Value.Path, o.Value.Path)
	})
}

// Item is a kind of item: a singleton, or the elements of a slice or map.
type Item struct {
	Index int
	// Name names the item in messages: a field, or the last literal segment.
	Name  string
	Table *Table
	// Key is the sort key; nil in a table without one.
	Key *Key
	// Prefix is, in a flat model, the template of the beginning of its key: items with the same prefix
	// are next to each other, entity by entity.
	Prefix string
	// Field is the slice or map of element items, and the field of a singleton
	// that consists of just that one spread field. It is nil otherwise.
	Field *Value
	// Elem is the type of the elements, without a pointer; nil for singletons.
	Elem *Type
	// ElemPointer reports that the elements are pointers.
	ElemPointer bool
	// Pointer reports that the singleton is one pointer, and exists if it is not nil.
	Pointer bool
	// Attributes are the stored attributes other than the keys. Opaque reports that some are compared
	// by their encodings, and Renamed that some had other names before.
	Attributes []*Attribute
	Opaque     bool
	Renamed    bool
	// KeyStored are the placeholders of an element's key whose fields are attributes as well.
	KeyStored []int
	// TextInKeys reports that the item's keys hold texts of MarshalText.
	TextInKeys bool
	// Entries are the items' entries in indexes, Derived the attributes that are written for these
	// alone.
	Entries []*Entry
	Derived []*IndexKey
	// Expiry is the field that sets the item's expiry, or nil. ExpiryOfRoot reports that it is the
	// root's field (ttl,all) and not the item's own.
	Expiry       *Value
	ExpiryOfRoot bool
	// Decl is the first field that is on the item; MethodName is name= of it.
	Decl       *Field
	MethodName string
	// OneName is one= of an element: the method that selects one by its whole key.
	OneName string
}

// Element reports whether there is one item per element.
func (it *Item) Element() bool { return it.Elem != nil }

// Map reports whether the elements are those of a map.
func (it *Item) Map() bool { return it.Element() && it.Field.Type.Kind == Map }

// Names reports whether the key names a key field of the model, by its index.
func (it *Item) Names(keyField int) bool {
	return it.Key != nil && slices.ContainsFunc(it.Key.Sources, func(s Source) bool {
		return s.From == FromModel && s.KeyField == keyField
	})
}

// Attribute is one attribute of an item.
type Attribute struct {
	Name string
	// Value is the place inside the model (singletons) or the element.
	Value Value
	// AV are the dynamodbav options.
	AV grammar.AV
	// Was are the names that it had before, the latest first: one of them is read where Name is
	// absent, and the next write of the item removes them.
	Was []string
	// Place is the length of the part of Value.Path that leads to the field with the sort key. The rest
	// of the path is inside that field's struct.
	Place int
	// Opaque reports that values are compared by their encodings.
	Opaque bool
	// Large is how a large value is stored, nil for one that is stored as it is.
	Large *Large
	// Straight reports that the attribute stores the value without conversion: it is not large, and had
	// no other name before.
	Straight bool
	// Distinct reports that different values always have different encodings.
	Distinct bool
	// Own reports that values encode or decode themselves, or that some in them do: what is encoded may not be
	// decodable.
	Own bool
	// InKeys are the placeholders that name the field, of one whose type encodes itself: its attribute may have another
	// value than its key.
	InKeys []Placeholder
	// Field is the declared field, nil for a scalar element.
	Field *Field
}

// Placeholder is a placeholder in a key, by the index of its source.
type Placeholder struct {
	Key    *Key
	Source int
}

// Former returns the index of the attribute that had a name before, or -1.
func (it *Item) Former(name string) int {
	if !it.Renamed {
		return -1
	}
	for i, a := range it.Attributes {
		if slices.Contains(a.Was, name) {
			return i
		}
	}
	return -1
}

// Attribute returns the index of the attribute with that name, or -1.
func (it *Item) Attribute(name string) int {
	for i, a := range it.Attributes {
		if a.Name == name {
			return i
		}
	}
	return -1
}
