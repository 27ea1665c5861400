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
func String[V ~string]() Form[V] { return codec.StringOf[V]() }

// Number is the form of strings that are numbers.
func Number[V ~string]() Form[V] { return codec.NumberOf[V]() }

// Bool is the form of bools.
func Bool[V ~bool]() Form[V] { return codec.BoolOf[V]() }

// Numeric is the form of integers and floats.
func Numeric[V codec.Number]() Form[V] { return codec.NumericOf[V]() }

// Big is the form of big.Int and big.Float: V is the type itself.
func Big[V any]() Form[V] { return codec.BigOf[V]() }

// Time is the form of time.Time, and of types that convert to it.
func Time[V any]() Form[V] { return codec.TimeOf[V]() }

// Bytes is the form of slices of bytes.
func Bytes[V ~[]byte]() Form[V] { return codec.BytesOf[V]() }

// ByteArray is the form of arrays of bytes.
func ByteArray[V any]() Form[V] { return codec.ByteArrayOf[V]() }

// Slice is the form of slices.
func Slice[S ~[]E, E any](elem Form[E]) Form[S] { return codec.SliceOf[S](elem) }

// Array is the form of arrays: A is an array of E, and at returns it as a slice.
func Array[A, E any](elem Form[E], at func(*A) []E) Form[A] { return codec.ArrayOf(elem, at) }

// Map is the form of maps.
func Map[M ~map[K]E, K comparable, E any](elem Form[E]) Form[M] { return codec.MapOf[M](elem) }

// Pointer is the form of pointers.
func Pointer[E any](elem Form[E]) Form[*E] { return codec.PointerOf(elem) }

// Opaque is the form of types that only attributevalue can encode.
func Opaque[V any]() Form[V] { return codec.OpaqueOf[V]() }

// Text is the form of a struct that occurs only in keys, as its MarshalText.
func Text[V any]() Form[V] { return codec.TextOf[V]() }

// Struct is the form of a struct: the table of its fields.
func Struct[R any](f Funcs[R], rows ...codec.Row) Form[R] { return codec.StructOf(f, rows...) }

// Recursive is the form of a struct that contains itself. Generated code calls Define in init.
func Recursive[R any]() Form[R] { return codec.Recursive[R]() }

// Define makes a form that Recursive returned the form of its type.
func Define[R any](f, of Form[R]) { codec.Define(f, of) }

// Field is a row of the table. name is the field's name in Go, tag the value of its dynamodbav tag.
func Field[R, V any](name, tag string, at func(*R) *V, f Form[V]) codec.Row {
	return codec.NewRow(name, tag, at, f.Form)
}

// Handles returns a struct of handles for the rows with the names of its fields: rows of the table of
// R, and more.
func Handles[H, R any](table Form[R], more ...codec.Row) (all H) {
	bind(reflect.ValueOf(&all).Elem(), table.Form, more)
	return all
}

func bind(all reflect.Value, table *codec.Form, more []codec.Row) {
	for i := range all.NumField() {
		name := all.Type().Field(i).Name
		var row codec.Row
		ok := false
		if at := slices.IndexFunc(more, func(r codec.Row) bool { return r.Name == name }); at >= 0 {
			row, ok = more[at], true
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
