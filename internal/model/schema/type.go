package schema

import (
	"reflect"
	"slices"
)

// Kind is the kind of a Go type, as far as encoding cares.
type Kind uint8

// The kinds. Bytes is a slice or an array of bytes. Other is a type whose values attributevalue
// silently drops or empties.
const (
	Other Kind = iota
	Bool
	Int
	Uint
	Float
	String
	Bytes
	Slice
	Array
	Map
	Struct
	Pointer
	Interface
	// BigInt and BigFloat are big.Int and big.Float, which attributevalue would store empty: the
	// library writes them as numbers, with all their digits.
	BigInt
	BigFloat
)

var kindNames = [...]string{
	"other", "bool", "int", "uint", "float", "string", "bytes", "slice", "array", "map",
	"struct", "pointer", "interface", "bigint", "bigfloat",
}

// String returns the kind's name.
func (k Kind) String() string { return kindNames[k] }

// Type describes a Go type. Two front ends make it: from reflect, and from
// go/types.
type Type struct {
	Kind Kind
	// Name is the type as Go writes it, with package names: []store.Wish.
	Name string
	// Bits is the size of integers and floats. Word reports int and uint, whose size depends on the machine: the stored
	// layout, which does not, has 64 bits.
	Bits int
	Word bool
	// Len is the length of arrays.
	Len int
	// Key and Elem are the types of a map's keys, and of the elements of
	// slices, arrays, maps and pointers.
	Key, Elem *Type
	// Fields are a struct's fields as declared, embedded ones not expanded.
	Fields []*Field
	// Time reports that the type converts to time.Time.
	Time bool
	// Number reports a string type with the methods of a number, as attributevalue.Number and
	// json.Number have them.
	Number bool
	// Marshals reports that the type encodes itself for DynamoDB, and MarshalsValue that the method has
	// a value receiver and not only a pointer receiver.
	Marshals, MarshalsValue bool
	// Lazy reports a large.Value, of values of the type Elem.
	Lazy bool
	// Unmarshals reports that the type decodes itself.
	Unmarshals bool
	// MarshalsText and UnmarshalsText tell of encoding.TextMarshaler and
	// TextUnmarshaler on the type or its pointer; TextValue that the marshaler
	// is on the value.
	MarshalsText, UnmarshalsText, TextValue bool
	// Stringer reports a String method with a value receiver.
	Stringer bool
	// Hook reports a method AfterLoad. WrongHook reports that the method has parameters, results, or a
	// receiver that is no pointer, so that it could not be called, or would change a copy.
	Hook, WrongHook bool
	// Normal reports a method Normal() string: the text by which values are compared where they must be unique.
	// WrongNormal reports a method of that name with parameters or another result.
	Normal, WrongNormal bool
	// Methods reports that an interface has methods.
	Methods bool
	// Go is the front end's own type: a reflect.Type or a types.Type.
	Go any
}

// unnamed is the Name of structs that have none.
const unnamed = "struct"

// Field is a field of a struct.
type Field struct {
	Name     string
	Index    int
	Type     *Type
	Raw      string // the whole tag
	Exported bool
	Embedded bool
	// Decl is the front end's own declaration, for positions.
	Decl any
}

// Ignored reports whether the field is not stored.
func (f *Field) Ignored() bool {
	tag := reflect.StructTag(f.Raw)
	return !f.Exported && !f.Embedded || tag.Get("ddb") == "-" || tag.Get("dynamodbav") == "-"
}

// deref returns what a pointer points to, and other types as they are.
func (t *Type) deref() *Type {
	if t.Kind == Pointer {
		return t.Elem
	}
	return t
}

// holdsElements reports whether a field of the type holds several values in a form whose elements are no items.
func (t *Type) holdsElements() bool {
	kind := t.deref().Kind
	return kind == Slice || kind == Map || kind == Array
}

// Big makes a type that the front ends know as big.Int or big.Float what it is: no struct, and
// no text.
func (t *Type) Big() bool {
	switch t.Name {
	case "big.Int":
		t.Kind = BigInt
	case "big.Float":
		t.Kind = BigFloat
	default:
		return false
	}
	t.MarshalsText, t.UnmarshalsText, t.TextValue, t.Stringer = false, false, false, false
	return true
}

// holdsBig reports whether the stored form of the type includes a big number.
func (t *Type) holdsBig(seen map[*Type]bool) bool {
	if t == nil || seen[t] || t.Marshals || t.Time {
		return false
	}
	seen[t] = true
	if t.Kind == BigInt || t.Kind == BigFloat || t.Elem.holdsBig(seen) {
		return true
	}
	return slices.ContainsFunc(t.Fields, func(f *Field) bool { return !f.Ignored() && f.Type.holdsBig(seen) })
}

// Scalar reports whether the type does not encode as a map of its fields: it is
// no struct, or a struct that represents one value.
func (t *Type) Scalar() bool { return t.Kind != Struct || t.Time || t.Marshals }

// Spreads reports whether a field of this type is spread over its item: a struct
// or a pointer to one, without methods that encode or decode it.
func (t *Type) Spreads() bool { return !t.Marshals && !t.deref().Unmarshals && !t.deref().Scalar() }

// isByteSlices reports whether the type is [][]byte, which attributevalue stores as a binary set, whatever its tag
// says. Named types are lists.
func (t *Type) isByteSlices() bool {
	return t.Kind == Slice && (t.Name == "[][]byte" || t.Name == "[][]uint8")
}

// BinarySet reports whether a value of the type has a [][]byte in it, in a place without a tag of its own.
func (t *Type) BinarySet() bool { return t.holdsByteSlices(map[*Type]bool{}) }

func (t *Type) holdsByteSlices(seen map[*Type]bool) bool {
	if t == nil || t.Time || t.Marshals || seen[t] {
		return false
	}
	seen[t] = true
	if t.isByteSlices() || t.Elem.holdsByteSlices(seen) {
		return true
	}
	return t.Kind == Struct && slices.ContainsFunc(t.EncodedFields(), func(e Encoded) bool {
		return !e.AV.Has("binaryset") && e.Type.holdsByteSlices(seen)
	})
}

// Elements reports whether a field of this type can be one item per element.
func (t *Type) Elements() bool { return (t.Kind == Slice || t.Kind == Map) && !t.Marshals }

// distinct reports whether different values are always encoded differently.
func (t *Type) distinct() bool {
	l, _ := t.Leaf()
	return l.Distinct
}

// Opaque reports whether only attributevalue can encode or decode values of the type. That is so if it
// includes an interface, or a type that encodes or decodes itself.
func (t *Type) Opaque() bool { return t.contains(map[*Type]bool{}) }

func (t *Type) contains(seen map[*Type]bool) bool {
	if t == nil || seen[t] {
		return false
	}
	seen[t] = true
	if t.Marshals || t.Unmarshals || t.Kind == Interface {
		return true
	}
	if t.Time {
		return false
	}
	if t.Key.contains(seen) || t.Elem.contains(seen) || t.Key != nil && t.Key.MarshalsText {
		return true
	}
	for _, f := range t.Fields {
		if !f.Ignored() && f.Type.contains(seen) {
			return true
		}
	}
	return false
}

// own reports whether values of the type, or some in them, encode or decode themselves.
func (t *Type) own(seen map[*Type]bool) bool {
	if t == nil || seen[t] || t.Time || t.Lazy {
		return false
	}
	seen[t] = true
	if t.Marshals || t.Unmarshals || t.Key.own(seen) || t.Elem.own(seen) || t.Key != nil && t.Key.MarshalsText {
		return true
	}
	return slices.ContainsFunc(t.Fields, func(f *Field) bool { return !f.Ignored() && f.Type.own(seen) })
}

// reaches reports whether the type is to, or its stored form includes to.
func (t *Type) reaches(to *Type, seen map[*Type]bool) bool {
	switch {
	case t == nil || seen[t]:
		return false
	case t == to:
		return true
	}
	seen[t] = true
	if t.Key.reaches(to, seen) || t.Elem.reaches(to, seen) {
		return true
	}
	for _, f := range t.Fields {
		if !f.Ignored() && f.Type.reaches(to, seen) {
			return true
		}
	}
	return false
}

// recursive reports whether the type contains itself.
func (t *Type) recursive() bool {
	seen := map[*Type]bool{}
	if t.Key.reaches(t, seen) || t.Elem.reaches(t, seen) {
		return true
	}
	for _, f := range t.Fields {
		if !f.Ignored() && f.Type.reaches(t, seen) {
			return true
		}
	}
	return false
}

// around returns the first field of a struct that leads back to it.
func (t *Type) around() *Field {
	for _, f := range t.Fields {
		if !f.Ignored() && f.Type.reaches(t, map[*Type]bool{}) {
			return f
		}
	}
	return nil
}

// endless reports whether the type is pointers that lead back to it, which no value is at
// the end of.
func (t *Type) endless() bool {
	seen := map[*Type]bool{}
	for ; t.Kind == Pointer; t = t.Elem {
		if seen[t] {
			return true
		}
		seen[t] = true
	}
	return false
}

// embeds reports whether the struct embeds another, or one that does.
func (t *Type) embeds(other *Type, seen map[*Type]bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	for _, f := range t.Fields {
		if f.Embedded && f.Type.Spreads() && (f.Type.deref() == other || f.Type.deref().embeds(other, seen)) {
			return true
		}
	}
	return false
}
