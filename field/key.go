package field

import "github.com/itemize/itemize/internal/model/codec"

// Key is the handle of a stored field that is part of the item's key. It has conditions, filters and
// projections, but no changes, because an item with another key value is another item. To change a key
// field of the root item, load the entity and save it with [mapper.Move].
//
// [mapper.Move]: https://pkg.go.dev/github.com/itemize/itemize/mapper#Move
type Key[R, V any] struct{ is handle }

//go:noinline
func (h *Key[R, V]) of(*R) {}

//go:noinline
func (h *Key[R, V]) row() codec.Row { return h.is.row }

//go:noinline
func (h *Key[R, V]) bind(is handle) { h.is = is }

// Equal is the condition that the field is v.
//
//go:noinline
func (h *Key[R, V]) Equal(v V) Condition[R] { return Condition[R]{h.is.compare(" = ", &v)} }

// NotEqual is the condition that the field is not v.
//
//go:noinline
func (h *Key[R, V]) NotEqual(v V) Condition[R] { return Condition[R]{h.is.compare(" <> ", &v)} }

// In is the condition that the field is one of up to 100 values.
//
//go:noinline
func (h *Key[R, V]) In(values ...V) Condition[R] { return Condition[R]{h.is.in(pointers(values))} }

// Exists is the condition that the field's attribute exists.
//
//go:noinline
func (h *Key[R, V]) Exists() Condition[R] { return Condition[R]{h.is.call("attribute_exists")} }

// Absent is the condition that the field's attribute is missing.
//
//go:noinline
func (h *Key[R, V]) Absent() Condition[R] { return Condition[R]{h.is.call("attribute_not_exists")} }

// Less is the condition that the field is less than v.
//
//go:noinline
func (h *Key[R, V]) Less(v V) Condition[R] { return Condition[R]{h.is.compare(" < ", &v)} }

// LessOrEqual is the condition that the field is at most v.
//
//go:noinline
func (h *Key[R, V]) LessOrEqual(v V) Condition[R] { return Condition[R]{h.is.compare(" <= ", &v)} }

// Greater is the condition that the field is greater than v.
//
//go:noinline
func (h *Key[R, V]) Greater(v V) Condition[R] { return Condition[R]{h.is.compare(" > ", &v)} }

// GreaterOrEqual is the condition that the field is at least v.
//
//go:noinline
func (h *Key[R, V]) GreaterOrEqual(v V) Condition[R] { return Condition[R]{h.is.compare(" >= ", &v)} }

// Between is the condition that the field is between two values, inclusive.
//
//go:noinline
func (h *Key[R, V]) Between(low, high V) Condition[R] { return Condition[R]{h.is.between(&low, &high)} }
