package field

import (
	"github.com/itemize/itemize/internal/model/codec"
	"github.com/itemize/itemize/internal/model/expr"
)

// Of is the handle of any field of the struct R.
type Of[R any] interface {
	of(*R)
	rowed
}

// Value is the handle of a field of the type V, with the methods that all handles have.
type Value[R, V any] struct{ is handle }

//go:noinline
func (h *Value[R, V]) of(*R) {}

//go:noinline
func (h *Value[R, V]) row() codec.Row { return h.is.row }

//go:noinline
func (h *Value[R, V]) bind(is handle) { h.is = is }

// Set sets the field.
//
//go:noinline
func (h *Value[R, V]) Set(v V) Change[R] { return changeOf[R](h.is.set(&v)) }

// SetIfAbsent sets the field if its attribute is missing or NULL. If it is NULL, the patch takes a second request.
//
//go:noinline
func (h *Value[R, V]) SetIfAbsent(v V) Change[R] {
	return changeOf[R](h.is.setting(expr.SetIfAbsent, &v))
}

// Remove removes the field's attribute. If a struct has an item of its own, Remove deletes the item.
//
//go:noinline
func (h *Value[R, V]) Remove() Change[R] { return changeOf[R](h.is.change(expr.Remove)) }

// Equal is the condition that the field is v. If v is stored as NULL or left out, it is Absent.
//
//go:noinline
func (h *Value[R, V]) Equal(v V) Condition[R] { return Condition[R]{h.is.compare(" = ", &v)} }

// NotEqual is the condition that the field is not v. If v is stored as NULL or left out, it is Exists.
//
//go:noinline
func (h *Value[R, V]) NotEqual(v V) Condition[R] { return Condition[R]{h.is.compare(" <> ", &v)} }

// In is the condition that the field is one of up to 100 values.
//
//go:noinline
func (h *Value[R, V]) In(values ...V) Condition[R] {
	return Condition[R]{h.is.in(pointers(values))}
}

// pointers returns pointers to values.
func pointers[V any](values []V) []any {
	all := make([]any, len(values))
	for i := range values {
		all[i] = &values[i]
	}
	return all
}

// Exists is the condition that the field's attribute exists and is not NULL. attributevalue stores nil pointers,
// slices and maps as NULL.
//
//go:noinline
func (h *Value[R, V]) Exists() Condition[R] { return Condition[R]{h.is.exists()} }

// Absent is the condition that the field's attribute is missing or NULL.
//
//go:noinline
func (h *Value[R, V]) Absent() Condition[R] { return Condition[R]{h.is.absent()} }
