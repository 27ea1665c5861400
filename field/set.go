package field

import (
	"github.com/itemize/itemize/internal/model/codec"
	"github.com/itemize/itemize/internal/model/expr"
)

// Set is the handle of a slice that is stored as a set (option stringset, numberset or binaryset).
type Set[P, E any] struct{ is handle }

// Set sets the field.
//
//go:noinline
func (h *Set[P, E]) Set(v []E) ChangeOf[P] { return ChangeOf[P]{h.is.set(&v)} }

// SetIfAbsent sets the field if its attribute is missing or NULL. If it is NULL, the patch takes a second request.
//
//go:noinline
func (h *Set[P, E]) SetIfAbsent(v []E) ChangeOf[P] { return ChangeOf[P]{h.is.setIfAbsent(&v)} }

// Remove removes the field's attribute.
//
//go:noinline
func (h *Set[P, E]) Remove() ChangeOf[P] { return ChangeOf[P]{h.is.remove()} }

// Add adds elements to the set. Elements that it has already stay.
//
//go:noinline
func (h *Set[P, E]) Add(elements ...E) ChangeOf[P] {
	return ChangeOf[P]{h.is.some(expr.AddElements, &elements, len(elements))}
}

// Delete deletes elements from the set. Elements that it does not have are ignored.
//
//go:noinline
func (h *Set[P, E]) Delete(elements ...E) ChangeOf[P] {
	return ChangeOf[P]{h.is.some(expr.DeleteElements, &elements, len(elements))}
}

// Contains is the condition that v is an element of the set.
//
//go:noinline
func (h *Set[P, E]) Contains(v E) ConditionOf[P] { return ConditionOf[P]{h.is.contains(&v)} }

// Equal is the condition that the field is v. If v is stored as NULL or left out, it is Absent.
//
//go:noinline
func (h *Set[P, E]) Equal(v []E) ConditionOf[P] { return ConditionOf[P]{h.is.equal(&v)} }

// NotEqual is the condition that the field is not v. If v is stored as NULL or left out, it is Exists.
//
//go:noinline
func (h *Set[P, E]) NotEqual(v []E) ConditionOf[P] { return ConditionOf[P]{h.is.notEqual(&v)} }

// In is the condition that the field is one of up to 100 values.
//
//go:noinline
func (h *Set[P, E]) In(values ...[]E) ConditionOf[P] { return ConditionOf[P]{h.is.in(&values)} }

// Exists is the condition that the field's attribute exists and is not NULL. attributevalue stores nil pointers,
// slices and maps as NULL.
//
//go:noinline
func (h *Set[P, E]) Exists() ConditionOf[P] { return ConditionOf[P]{h.is.exists()} }

// Absent is the condition that the field's attribute is missing or NULL.
//
//go:noinline
func (h *Set[P, E]) Absent() ConditionOf[P] { return ConditionOf[P]{h.is.absent()} }

// Size is the number of elements, for comparisons.
//
//go:noinline
func (h *Set[P, E]) Size() *Size[P] { return &Size[P]{&h.is} }

//go:noinline
func (h *Set[P, E]) of(P) {}

//go:noinline
func (h *Set[P, E]) row() codec.Row { return h.is.row }
