package field

import "github.com/itemize/itemize/internal/model/codec"

// Of is the handle of any field of the struct R.
type Of[R any] = handleOf[*R]

// Handle is the handle of any field of any struct.
type Handle interface{ rowed }

// handleOf is the handle of a field of the struct that P points to.
type handleOf[P any] interface {
	of(P)
	rowed
}

// Value is the handle of a field of the type V: a bool, a pointer, or another type with only the methods of any field.
// P points to its struct.
type Value[P, V any] struct{ is handle }

// Set sets the field.
//
//go:noinline
func (h *Value[P, V]) Set(v V) ChangeOf[P] { return ChangeOf[P]{h.is.set(&v)} }

// SetIfAbsent sets the field if its attribute is missing or NULL. If it is NULL, the patch takes a second request.
//
//go:noinline
func (h *Value[P, V]) SetIfAbsent(v V) ChangeOf[P] { return ChangeOf[P]{h.is.setIfAbsent(&v)} }

// Remove removes the field's attribute.
//
//go:noinline
func (h *Value[P, V]) Remove() ChangeOf[P] { return ChangeOf[P]{h.is.remove()} }

// Equal is the condition that the field is v. If v is stored as NULL or left out, it is Absent.
//
//go:noinline
func (h *Value[P, V]) Equal(v V) ConditionOf[P] { return ConditionOf[P]{h.is.equal(&v)} }

// NotEqual is the condition that the field is not v. If v is stored as NULL or left out, it is Exists.
//
//go:noinline
func (h *Value[P, V]) NotEqual(v V) ConditionOf[P] { return ConditionOf[P]{h.is.notEqual(&v)} }

// In is the condition that the field is one of up to 100 values.
//
//go:noinline
func (h *Value[P, V]) In(values ...V) ConditionOf[P] { return ConditionOf[P]{h.is.in(&values)} }

// Exists is the condition that the field's attribute exists and is not NULL. attributevalue stores nil pointers,
// slices and maps as NULL.
//
//go:noinline
func (h *Value[P, V]) Exists() ConditionOf[P] { return ConditionOf[P]{h.is.exists()} }

// Absent is the condition that the field's attribute is missing or NULL.
//
//go:noinline
func (h *Value[P, V]) Absent() ConditionOf[P] { return ConditionOf[P]{h.is.absent()} }

//go:noinline
func (h *Value[P, V]) of(P) {}

//go:noinline
func (h *Value[P, V]) row() codec.Row { return h.is.row }

// Ordered is the handle of a time or of bytes: a value with an order.
//
// DynamoDB compares the stored form of a time: seconds with the option unixtime, otherwise text. Text has the order
// of the instants if all values have the same zone and the same number of digits of a second. Equal and In compare
// text too, so an instant in another zone is different.
type Ordered[P, V any] struct{ is handle }

// Set sets the field.
//
//go:noinline
func (h *Ordered[P, V]) Set(v V) ChangeOf[P] { return ChangeOf[P]{h.is.set(&v)} }

// SetIfAbsent sets the field if its attribute is missing or NULL. If it is NULL, the patch takes a second request.
//
//go:noinline
func (h *Ordered[P, V]) SetIfAbsent(v V) ChangeOf[P] { return ChangeOf[P]{h.is.setIfAbsent(&v)} }

// Remove removes the field's attribute.
//
//go:noinline
func (h *Ordered[P, V]) Remove() ChangeOf[P] { return ChangeOf[P]{h.is.remove()} }

// Equal is the condition that the field is v. If v is stored as NULL or left out, it is Absent.
//
//go:noinline
func (h *Ordered[P, V]) Equal(v V) ConditionOf[P] { return ConditionOf[P]{h.is.equal(&v)} }

// NotEqual is the condition that the field is not v. If v is stored as NULL or left out, it is Exists.
//
//go:noinline
func (h *Ordered[P, V]) NotEqual(v V) ConditionOf[P] { return ConditionOf[P]{h.is.notEqual(&v)} }

// In is the condition that the field is one of up to 100 values.
//
//go:noinline
func (h *Ordered[P, V]) In(values ...V) ConditionOf[P] { return ConditionOf[P]{h.is.in(&values)} }

// Exists is the condition that the field's attribute exists and is not NULL.
//
//go:noinline
func (h *Ordered[P, V]) Exists() ConditionOf[P] { return ConditionOf[P]{h.is.exists()} }

// Absent is the condition that the field's attribute is missing or NULL.
//
//go:noinline
func (h *Ordered[P, V]) Absent() ConditionOf[P] { return ConditionOf[P]{h.is.absent()} }

// Less is the condition that the field is less than v.
//
//go:noinline
func (h *Ordered[P, V]) Less(v V) ConditionOf[P] { return ConditionOf[P]{h.is.compare(" < ", &v)} }

// LessOrEqual is the condition that the field is at most v.
//
//go:noinline
func (h *Ordered[P, V]) LessOrEqual(v V) ConditionOf[P] {
	return ConditionOf[P]{h.is.compare(" <= ", &v)}
}

// Greater is the condition that the field is greater than v.
//
//go:noinline
func (h *Ordered[P, V]) Greater(v V) ConditionOf[P] { return ConditionOf[P]{h.is.compare(" > ", &v)} }

// GreaterOrEqual is the condition that the field is at least v.
//
//go:noinline
func (h *Ordered[P, V]) GreaterOrEqual(v V) ConditionOf[P] {
	return ConditionOf[P]{h.is.compare(" >= ", &v)}
}

// Between is the condition that the field is between two values, inclusive.
//
//go:noinline
func (h *Ordered[P, V]) Between(low, high V) ConditionOf[P] {
	return ConditionOf[P]{h.is.between(&low, &high)}
}

//go:noinline
func (h *Ordered[P, V]) of(P) {}

//go:noinline
func (h *Ordered[P, V]) row() codec.Row { return h.is.row }
