package field

import "github.com/itemize/itemize/internal/form"

type value[R, V any] = Value[R, V]

// NewValue returns the handle of a field: name is its name in Go, tag the value of its
// dynamodbav tag, at the way to it. For generated code, as are the other functions that
// return handles.
func NewValue[R, V any](name, tag string, at func(*R) *V, f form.Typed[V]) Value[R, V] {
	return newValue(name, tag, at, f)
}

// Bool is the handle of a bool.
type Bool[R any, V ~bool] struct{ value[R, V] }

// NewBool returns the handle of a bool. For generated code.
func NewBool[R any, V ~bool](name, tag string, at func(*R) *V) Bool[R, V] {
	return Bool[R, V]{newValue(name, tag, at, form.BoolOf[V]())}
}

// Struct is the handle of a struct, or of a pointer to one.
type Struct[R, S any] struct{ value[R, S] }

// NewStruct returns the handle of a struct. For generated code.
func NewStruct[R, S any](name, tag string, at func(*R) *S, f form.Typed[S]) Struct[R, S] {
	return Struct[R, S]{newValue(name, tag, at, f)}
}

// NewStructPointer returns the handle of a pointer to a struct. For generated code.
func NewStructPointer[R, S any](name, tag string, at func(*R) **S, f form.Typed[S]) Struct[R, S] {
	h := newHandle(form.NewRow(name, tag, at, form.PointerOf(f)))
	h.pointer = true
	return Struct[R, S]{value[R, S]{h}}
}
