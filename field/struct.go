package field

import (
	"unsafe"

	"github.com/itemize/itemize/internal/model/codec"
)

// Struct is the handle of a struct, or of a pointer to one. The struct is one attribute, or its fields
// are spread over an item.
type Struct[P, S any] struct{ is handle }

// Set sets the field.
//
//go:noinline
func (h *Struct[P, S]) Set(v S) ChangeOf[P] { return ChangeOf[P]{h.is.set(&v)} }

// SetIfAbsent sets the field if its attribute is missing or NULL. If it is NULL, the patch takes a second request.
//
//go:noinline
func (h *Struct[P, S]) SetIfAbsent(v S) ChangeOf[P] { return ChangeOf[P]{h.is.setIfAbsent(&v)} }

// Remove removes the field's attribute. If a struct has an item of its own, Remove deletes the item.
//
//go:noinline
func (h *Struct[P, S]) Remove() ChangeOf[P] { return ChangeOf[P]{h.is.remove()} }

// Change changes fields of the struct and leaves the others unchanged.
//
//go:noinline
func (h *Struct[P, S]) Change(changes ...Change[S]) ChangeOf[P] {
	return ChangeOf[P]{h.is.lift(changesOf(unsafe.Pointer(unsafe.SliceData(changes)), len(changes)))}
}

// Where returns a condition on the fields of the struct.
//
//go:noinline
func (h *Struct[P, S]) Where(c Condition[S]) ConditionOf[P] {
	return ConditionOf[P]{h.is.where(c.is.Checked())}
}

// Equal is the condition that the field is v. If v is stored as NULL or left out, it is Absent.
//
//go:noinline
func (h *Struct[P, S]) Equal(v S) ConditionOf[P] { return ConditionOf[P]{h.is.equal(&v)} }

// NotEqual is the condition that the field is not v. If v is stored as NULL or left out, it is Exists.
//
//go:noinline
func (h *Struct[P, S]) NotEqual(v S) ConditionOf[P] { return ConditionOf[P]{h.is.notEqual(&v)} }

// In is the condition that the field is one of up to 100 values.
//
//go:noinline
func (h *Struct[P, S]) In(values ...S) ConditionOf[P] { return ConditionOf[P]{h.is.in(&values)} }

// Exists is the condition that the field's attribute exists and is not NULL. attributevalue stores nil pointers,
// slices and maps as NULL.
//
//go:noinline
func (h *Struct[P, S]) Exists() ConditionOf[P] { return ConditionOf[P]{h.is.exists()} }

// Absent is the condition that the field's attribute is missing or NULL.
//
//go:noinline
func (h *Struct[P, S]) Absent() ConditionOf[P] { return ConditionOf[P]{h.is.absent()} }

//go:noinline
func (h *Struct[P, S]) of(P) {}

//go:noinline
func (h *Struct[P, S]) row() codec.Row { return h.is.row }
