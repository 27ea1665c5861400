package field

import "github.com/itemize/itemize/internal/model/codec"

// Key is the handle of a stored field that is part of the item's key. It has conditions, filters and
// projections, but no changes, because an item with another key value is another item. To change a key
// field of the root item, load the entity and save it with [mapper.Move].
//
// [mapper.Move]: https://pkg.go.dev/github.com/itemize/itemize/mapper#Move
type Key[P, V any] struct{ is handle }

// Equal is the condition that the field is v. If v is stored as NULL or left out, it is Absent.
//
//go:noinline
func (h *Key[P, V]) Equal(v V) ConditionOf[P] { return ConditionOf[P]{h.is.equal(&v)} }

// NotEqual is the condition that the field is not v. If v is stored as NULL or left out, it is Exists.
//
//go:noinline
func (h *Key[P, V]) NotEqual(v V) ConditionOf[P] { return ConditionOf[P]{h.is.notEqual(&v)} }

// In is the condition that the field is one of up to 100 values.
//
//go:noinline
func (h *Key[P, V]) In(values ...V) ConditionOf[P] { return ConditionOf[P]{h.is.in(&values)} }

// Exists is the condition that the field's attribute exists.
//
//go:noinline
func (h *Key[P, V]) Exists() ConditionOf[P] { return ConditionOf[P]{h.is.function("attribute_exists")} }

// Absent is the condition that the field's attribute is missing.
//
//go:noinline
func (h *Key[P, V]) Absent() ConditionOf[P] {
	return ConditionOf[P]{h.is.function("attribute_not_exists")}
}

// Less is the condition that the field is less than v.
//
//go:noinline
func (h *Key[P, V]) Less(v V) ConditionOf[P] { return ConditionOf[P]{h.is.compare(" < ", &v)} }

// LessOrEqual is the condition that the field is at most v.
//
//go:noinline
func (h *Key[P, V]) LessOrEqual(v V) ConditionOf[P] { return ConditionOf[P]{h.is.compare(" <= ", &v)} }

// Greater is the condition that the field is greater than v.
//
//go:noinline
func (h *Key[P, V]) Greater(v V) ConditionOf[P] { return ConditionOf[P]{h.is.compare(" > ", &v)} }

// GreaterOrEqual is the condition that the field is at least v.
//
//go:noinline
func (h *Key[P, V]) GreaterOrEqual(v V) ConditionOf[P] {
	return ConditionOf[P]{h.is.compare(" >= ", &v)}
}

// Between is the condition that the field is between two values, inclusive.
//
//go:noinline
func (h *Key[P, V]) Between(low, high V) ConditionOf[P] {
	return ConditionOf[P]{h.is.between(&low, &high)}
}

//go:noinline
func (h *Key[P, V]) of(P) {}

//go:noinline
func (h *Key[P, V]) row() codec.Row { return h.is.row }
