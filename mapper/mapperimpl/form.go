package mapperimpl

import (
	"reflect"
	"slices"

	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/model/codec"
)

// Form describes how values of a Go type are encoded, decoded, compared and copied.
type Form[V any] = codec.Typed[V]

// Funcs are the functions that compare and copy values of a struct. Without them its
// fields are compared and copied one by one.
type Funcs[R any] = codec.Funcs[R]

// String is the form of strings.
//
//go:noinline
func String[V ~string]() Form[V] { return codec.StringOf[V]() }

// Number is the form of strings that are numbers.
//
//go:noinline
func Number[V ~string]() Form[V] { return codec.NumberOf[V]() }

// Bool is the form of bools.
//
//go:noinline
func Bool[V ~bool]() Form[V] { return codec.BoolOf[V]() }

// Numeric is the form of integers and floats.
//
//go:noinline
func Numeric[V codec.Number]() Form[V] { return codec.NumericOf[V]() }

// Big is the form of big.Int and big.Float: V is the type itself.
//
//go:noinline
func Big[V any]() Form[V] { return codec.BigOf[V]() }

// Time is the form of time.Time, and of types that convert to it.
//
//go:noinline
func Time[V any]() Form[V] { return codec.TimeOf[V]() }

// Bytes is the form of slices of bytes.
//
//go:noinline
func Bytes[V ~[]byte]() Form[V] { return codec.BytesOf[V]() }

// ByteArray is the form of arrays of bytes.
//
//go:noinline
func ByteArray[V any]() Form[V] { return codec.ByteArrayOf[V]() }

// Slice is the form of slices.
//
//go:noinline
func Slice[S ~[]E, E any](elem Form[E]) Form[S] { return codec.SliceOf[S](elem) }

// Array is the form of arrays: A is an array of E, and at returns it as a slice.
//
//go:noinline
func Array[A, E any](elem Form[E], at func(*A) []E) Form[A] { return codec.ArrayOf(elem, at) }

// Map is the form of maps.
//
//go:noinline
func Map[M ~map[K]E, K comparable, E any](elem Form[E]) Form[M] { return codec.MapOf[M](elem) }

// Pointer is the form of pointers.
//
//go:noinline
func Pointer[E any](elem Form[E]) Form[*E] { return codec.PointerOf(elem) }

// Opaque is the form of types that only attributevalue can encode.
//
//go:noinline
func Opaque[V any]() Form[V] { return codec.OpaqueOf[V]() }

// Text is the form of a struct that occurs only in keys, as its MarshalText.
//
//go:noinline
func Text[V any]() Form[V] { return codec.TextOf[V]() }

// Struct is the form of a struct, by the forms of its fields. A field without one has the form of its type.
//
//go:noinline
func Struct[R any](f Funcs[R], fields ...codec.Field) Form[R] { return codec.StructOf(f, fields...) }

// Field is the form of a field.
func Field(name string, f *codec.Form) codec.Field { return codec.Field{Name: name, Form: f} }

// Recursive is the form of a struct that contains itself. Generated code calls Define in init.
//
//go:noinline
func Recursive[R any]() Form[R] { return codec.Recursive[R]() }

// Define makes a form that Recursive returned the form of its type.
//
//go:noinline
func Define[R any](f, of Form[R]) { codec.Define(f, of) }

// Reached is a field with a handle that at finds: of an embedded struct, or of a struct that contains itself. name is
// the field's name in Go, tag the value of its dynamodbav tag. P points to the struct, and V to the field.
//
//go:noinline
func Reached[P, V any](name, tag string, at func(P) V, f *codec.Form) codec.Row {
	return codec.Row{Name: name, Tag: tag, At: func(p any) any { return at(p.(P)) }, Form: f}
}

// Handles sets the handles in the struct that all points to, and returns it: those of the fields of table, and more.
// The names of the handles are those of the fields.
//
//go:noinline
func Handles[P any](all P, table *codec.Form, more ...codec.Row) P {
	bind(reflect.ValueOf(all).Elem(), table, more)
	return all
}

func bind(all reflect.Value, table *codec.Form, more []codec.Row) {
	for i := range all.NumField() {
		name := all.Type().Field(i).Name
		var row codec.Row
		ok := false
		if at := slices.IndexFunc(more, func(r codec.Row) bool { return r.Name == name }); at >= 0 {
			row, ok = more[at], true
			row.Record = table.Type
		} else if table.Table != nil {
			row, ok = table.Table.Named(name)
		}
		h := reflect.New(all.Field(i).Type().Elem())
		if !ok || !door.Field.Bind(h.Interface(), row) {
			panic("mapperimpl: generated code has a handle of no field: " + name)
		}
		all.Field(i).Set(h)
	}
}
