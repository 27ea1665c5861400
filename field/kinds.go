package field

import (
	"github.com/itemize/itemize/internal/codec"
)

type value[R, V any] = Value[R, V]

// NewValue returns the handle of a field: name is its name in Go, tag the value of its
// dynamodbav tag, at the way to it. For generated code, as are the other functions that
// return handles.
func NewValue[R, V any](name, tag string, at func(*R) *V, f codec.Typed[V]) Value[R, V] {
	return newValue(name, tag, at, f)
}

// Bool is the handle of a bool.
type Bool[R any, V ~bool] struct{ value[R, V] }

// NewBool returns the handle of a bool. For generated code.
func NewBool[R any, V ~bool](name, tag string, at func(*R) *V) Bool[R, V] {
	return Bool[R, V]{newValue(name, tag, at, codec.BoolOf[V]())}
}
