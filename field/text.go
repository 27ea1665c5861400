package field

import "github.com/itemize/itemize/internal/model/codec"

// String is the handle of a string.
type String[P any, V ~string] struct{ is handle }

// Set sets the field.
//
//go:noinline
func (h *String[P, V]) Set(v V) ChangeOf[P] { return ChangeOf[P]{h.is.set(&v)} }

// SetIfAbsent sets the field if its attribute is missing or NULL. If it is NULL, the patch takes a second request.
//
//go:noinline
func (h *String[P, V]) SetIfAbsent(v V) ChangeOf[P] { return ChangeOf[P]{h.is.setIfAbsent(&v)} }

// Remove removes the field's attribute.
//
//go:noinline
func (h *String[P, V]) Remove() ChangeOf[P] { return ChangeOf[P]{h.is.remove()} }

// Equal is the condition that the field is v. If v is stored as NULL or left out, it is Absent.
//
//go:noinline
func (h *String[P, V]) Equal(v V) ConditionOf[P] { return ConditionOf[P]{h.is.equal(&v)} }

// NotEqual is the condition that the field is not v. If v is stored as NULL or left out, it is Exists.
//
//go:noinline
func (h *String[P, V]) NotEqual(v V) ConditionOf[P] { return ConditionOf[P]{h.is.notEqual(&v)} }

// In is the condition that the field is one of up to 100 values.
//
//go:noinline
func (h *String[P, V]) In(values ...V) ConditionOf[P] { return ConditionOf[P]{h.is.in(&values)} }

// Exists is the condition that the field's attribute exists and is not NULL.
//
//go:noinline
func (h *String[P, V]) Exists() ConditionOf[P] { return ConditionOf[P]{h.is.exists()} }

// Absent is the condition that the field's attribute is missing or NULL.
//
//go:noinline
func (h *String[P, V]) Absent() ConditionOf[P] { return ConditionOf[P]{h.is.absent()} }

// Less is the condition that the field is less than v.
//
//go:noinline
func (h *String[P, V]) Less(v V) ConditionOf[P] { return ConditionOf[P]{h.is.compare(" < ", &v)} }

// LessOrEqual is the condition that the field is at most v.
//
//go:noinline
func (h *String[P, V]) LessOrEqual(v V) ConditionOf[P] {
	return ConditionOf[P]{h.is.compare(" <= ", &v)}
}

// Greater is the condition that the field is greater than v.
//
//go:noinline
func (h *String[P, V]) Greater(v V) ConditionOf[P] { return ConditionOf[P]{h.is.compare(" > ", &v)} }

// GreaterOrEqual is the condition that the field is at least v.
//
//go:noinline
func (h *String[P, V]) GreaterOrEqual(v V) ConditionOf[P] {
	return ConditionOf[P]{h.is.compare(" >= ", &v)}
}

// Between is the condition that the field is between two values, inclusive.
//
//go:noinline
func (h *String[P, V]) Between(low, high V) ConditionOf[P] {
	return ConditionOf[P]{h.is.between(&low, &high)}
}

// BeginsWith is the condition that the field begins with a prefix.
//
//go:noinline
func (h *String[P, V]) BeginsWith(prefix V) ConditionOf[P] {
	return ConditionOf[P]{h.is.function("begins_with", &prefix)}
}

// Contains is the condition that the field contains a text.
//
//go:noinline
func (h *String[P, V]) Contains(text V) ConditionOf[P] {
	return ConditionOf[P]{h.is.function("contains", &text)}
}

//go:noinline
func (h *String[P, V]) of(P) {}

//go:noinline
func (h *String[P, V]) row() codec.Row { return h.is.row }
