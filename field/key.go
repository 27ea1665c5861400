package field

import "github.com/itemize/itemize/internal/codec"

// Key is the handle of a stored field that is part of the item's key. It has conditions, filters and
// projections, but no changes, because an item with another key value is another item. To change a key
// field of the root item, load the entity and save it with [mapper.Move].
//
// [mapper.Move]: https://pkg.go.dev/github.com/itemize/itemize/mapper#Move
type Key[R, V any] struct{ ordered ordered[R, V] }

func (h Key[R, V]) of(*R) {}

func (h Key[R, V]) row() codec.Row { return h.ordered.row() }

func (h *Key[R, V]) bind(is handle) { h.ordered.bind(is) }

// Equal is the condition that the field is v.
func (h *Key[R, V]) Equal(v V) Condition[R] { return h.ordered.Equal(v) }

// NotEqual is the condition that the field is not v.
func (h *Key[R, V]) NotEqual(v V) Condition[R] { return h.ordered.NotEqual(v) }

// In is the condition that the field is one of the values: up to 100.
func (h *Key[R, V]) In(values ...V) Condition[R] { return h.ordered.In(values...) }

// Exists is the condition that the field's attribute exists.
func (h *Key[R, V]) Exists() Condition[R] { return h.ordered.Exists() }

// Absent is the condition that the field's attribute is missing.
func (h *Key[R, V]) Absent() Condition[R] { return h.ordered.Absent() }

// Less is the condition that the field is less than v.
func (h *Key[R, V]) Less(v V) Condition[R] { return h.ordered.Less(v) }

// LessOrEqual is the condition that the field is at most v.
func (h *Key[R, V]) LessOrEqual(v V) Condition[R] { return h.ordered.LessOrEqual(v) }

// Greater is the condition that the field is greater than v.
func (h *Key[R, V]) Greater(v V) Condition[R] { return h.ordered.Greater(v) }

// GreaterOrEqual is the condition that the field is v or greater.
func (h *Key[R, V]) GreaterOrEqual(v V) Condition[R] { return h.ordered.GreaterOrEqual(v) }

// Between is the condition that the field is between two values, inclusive.
func (h *Key[R, V]) Between(low, high V) Condition[R] { return h.ordered.Between(low, high) }
