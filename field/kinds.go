package field

import "github.com/itemize/itemize/internal/form"

type value[R, V any] = Value[R, V]

// NewValue is for generated code, as are the other functions that return handles: name is
// the field's name in Go, tag the value of its dynamodbav tag.
func NewValue[R, V any](name, tag string, at func(*R) *V, f form.Typed[V]) Value[R, V] {
	return newValue(name, tag, at, f)
}

// Bool is the handle of a bool.
type Bool[R any, V ~bool] struct{ value[R, V] }

// NewBool is for generated code.
func NewBool[R any, V ~bool](name, tag string, at func(*R) *V) Bool[R, V] {
	return Bool[R, V]{newValue(name, tag, at, form.BoolOf[V]())}
}

// Struct is the handle of a struct, or of a pointer to one.
type Struct[R, S any] struct{ value[R, S] }

// NewStruct is for generated code.
func NewStruct[R, S any](name, tag string, at func(*R) *S, f form.Typed[S]) Struct[R, S] {
	return Struct[R, S]{newValue(name, tag, at, f)}
}

// NewStructPointer is for generated code.
func NewStructPointer[R, S any](name, tag string, at func(*R) **S, f form.Typed[S]) Struct[R, S] {
	h := newHandle(form.NewRow(name, tag, at, form.PointerOf(f)))
	h.pointer = true
	return Struct[R, S]{value[R, S]{h}}
}
