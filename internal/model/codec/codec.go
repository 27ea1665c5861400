// Package codec encodes Go values into attribute values, and decodes them.
//
// A [Form] is the codec of one Go type: it encodes, decodes, compares, copies and clears values, and
// reaches their parts. Forms come from generated code (through functions with type parameters, whose
// results are Typed) or from reflect ([Reflected]), and do the same. Values are passed as pointers in
// an any: a *V for the form of V, which does not allocate.
//
// A [Model] is the codec of a model: it reads and writes the records of its items. A record is the Go
// value that holds the attributes of one item: the model itself for a singleton, one element for an
// element item. The schema says which attribute is which field, and the form of the model's type
// reaches it. Code outside of this package works with schemas and records, without type parameters.
package codec

import (
	"reflect"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/large/compression"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/request/wire"
)

// Model is the codec of a model.
type Model interface {
	// New returns a pointer to a new zero value.
	New() any
	// KeyField returns the value of a field that keys name, by its index in
	// schema.Entity.KeyFields. SetKeyField sets it from a key.
	KeyField(v any, i int) (key.Value, error)
	SetKeyField(v any, i int, value key.Value) error
	// SameKeyFields reports whether all such fields are equal in both values.
	SameKeyFields(a, b any) bool
	// CloneKeyFields copies them.
	CloneKeyFields(dst, src any)
	// Record returns the codec of the item's records.
	Record(item int) Record
	// Elements returns the codec of the item's slice or map, nil for a singleton.
	Elements(item int) Elements
}

// Record is the codec of the records of one item. Attributes are given by their
// index in schema.Item.Attributes, placeholders by theirs in schema.Key.Sources.
type Record interface {
	// Encode returns an attribute's value, nil where it is not stored.
	Encode(rec any, attribute int) (types.AttributeValue, error)
	// Plain returns the value of a large attribute before it is compressed, nil where it is not stored.
	Plain(rec any, attribute int) (types.AttributeValue, error)
	// Field returns a pointer to an attribute's field, nil where a struct on the way to it is.
	Field(rec any, attribute int) any
	// Decode sets an attribute's field.
	Decode(rec any, attribute int, value types.AttributeValue) error
	// Scan is Decode of a value from the wire.
	Scan(rec any, attribute int, value wire.Value) error
	// ScanItem scans the straight attributes of an item from the wire. at are their positions in it, negative for those
	// that it lacks. some reports that it has one; an error is that of an attribute.
	ScanItem(rec any, it wire.Item, at []int32) (some bool, attribute int, err error)
	// Exact reports whether an attribute, which was decoded from a value from the wire, encodes to that value again.
	Exact(rec any, attribute int, value wire.Value) bool
	// Graft returns the value to store for an attribute that changed: now is its encoding, and stored the stored
	// value. See Form.Graft.
	Graft(attribute int, stored, now types.AttributeValue) (types.AttributeValue, error)
	// AfterLoad calls the methods AfterLoad of a decoded element, and of the structs whose fields are
	// spread over the item.
	AfterLoad(rec any)
	// Same reports whether an attribute's fields are equal, without encoding
	// them. It may say no for two that encode alike, never yes for two that do
	// not. It is not asked of opaque attributes.
	Same(a, b any, attribute int) bool
	// Equal reports whether all but opaque attributes are Same, and the fields
	// that the key names and that set the expiry are.
	Equal(a, b any) bool
	// Clone copies, so that no later change of src shows in dst, what Equal
	// compares.
	Clone(dst, src any)
	// Present reports of a singleton whether there is anything to store.
	Present(rec any) bool
	// Allocate makes the struct of a singleton that is a pointer.
	Allocate(rec any)
	// Part returns the struct of a singleton that consists of one spread field,
	// made where it is a pointer.
	Part(rec any) any
	// Expiry returns the time at which the item expires; ok is false where it
	// does not.
	Expiry(rec any) (at time.Time, ok bool)
	// Key returns the value of a placeholder that names the element; SetKey
	// sets it from a key.
	Key(rec any, source int) (key.Value, error)
	SetKey(rec any, source int, value key.Value) error
	// IndexKey returns the value of a placeholder in a key that exists only for secondary indexes.
	// derived is the key's position in schema.Item.Derived, and the placeholder names a field of the
	// record.
	IndexKey(rec any, derived, source int) (value key.Value, err error)
	// SetIndexKey sets the field of such a placeholder.
	SetIndexKey(rec any, derived, source int, value key.Value) error
}

// Pos is the position of an element: its index in a slice, or its key in a map.
type Pos struct {
	Index int
	Key   any
}

// Elements is the codec of a slice or map whose elements are items. v is a
// pointer to the model.
type Elements interface {
	Len(v any) int
	// Each yields every element's inModelKey and record, which is nil for a nil
	// pointer. Maps come in any order.
	Each(v any, yield func(Pos, any) bool)
	// At returns the record at a inModelKey.
	At(v any, p Pos) any
	// Equal reports whether both have the same elements, by Record.Equal, in the
	// same places.
	Equal(a, b any) bool
	// Clone copies all elements, as Record.Clone does.
	Clone(dst, src any)
	// NewElement returns a pointer to a new zero element, and NewElements returns n
	// adjacent ones.
	NewElement() any
	NewElements(n int) []any
	// Reset makes the field empty (nil for none), with room for n elements;
	// records that At returned before stay valid.
	Reset(v any, n int)
	// Append adds an element, at the map's key k.
	Append(v any, k any, rec any)
	// Set replaces the element at a inModelKey.
	Set(v any, p Pos, rec any)
	// MapKey returns the map's key as a key's value, and back.
	MapKey(k any) (key.Value, error)
	FromKey(value key.Value) (k any, err error)
}

// ReflectedModel returns the codec of a schema that was built from reflect, without generated code and
// without more codecs than those of the standard library.
func ReflectedModel(e *schema.Entity) Model { return New(e, nil, nil) }

// New returns the codec of a schema that was built from reflect. table is the table of the model's
// type, nil for one that reflects. codecs are the codecs of compressed values in addition to those of
// the standard library.
func New(e *schema.Entity, table *Form, codecs compression.Codecs) Model {
	if table == nil || table.Type != e.Type.Go.(reflect.Type) { // a table of another type is no use
		table = Reflected(e.Type)
	}
	m := &model{table: table}
	for i, o := range e.KeyFields {
		m.keyFields = append(m.keyFields, newInModelKey(table, o.Value, keyFieldKind(e, i)))
	}
	for _, it := range e.Items {
		if !it.Element() {
			m.records = append(m.records, newRecord(it, table, codecs))
			m.elements = append(m.elements, nil)
			continue
		}
		r, all := newElements(it, table, codecs)
		m.records, m.elements = append(m.records, r), append(m.elements, all)
	}
	return m
}

// keyFieldKind is the kind of value that keys hold of a key field.
func keyFieldKind(e *schema.Entity, i int) key.Kind {
	k, source := e.KeyOf(i)
	return k.Format(source).Value
}

type model struct {
	table     *Form
	keyFields []inModelKey
	records   []*record
	elements  []Elements
}

func (m *model) New() any { return m.table.New() }

func (m *model) KeyField(v any, i int) (key.Value, error) { return m.keyFields[i].get(v) }

func (m *model) SetKeyField(v any, i int, value key.Value) error { return m.keyFields[i].set(v, value) }

func (m *model) SameKeyFields(a, b any) bool {
	for i := range m.keyFields {
		if !m.keyFields[i].same(a, b) {
			return false
		}
	}
	return true
}

func (m *model) CloneKeyFields(dst, src any) {
	for i := range m.keyFields {
		m.keyFields[i].clone(dst, src)
	}
}

func (m *model) Record(item int) Record { return m.records[item] }

func (m *model) Elements(item int) Elements { return m.elements[item] }
