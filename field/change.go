package field

import "github.com/itemize/itemize/internal/codec"

// Change is a change of a record of the type R, for a patch.
type Change[R any] struct{ change codec.PatchChange }

// Untyped returns the change without its type. It is for the library.
func (c Change[R]) Untyped() codec.PatchChange { return c.change }

// change returns a change of the field.
func (h Value[R, V]) change(kind codec.PatchKind) codec.PatchChange {
	return codec.PatchChange{Kind: kind, Field: h.row.Name}
}

// Set sets the field.
func (h Value[R, V]) Set(v V) Change[R] {
	c := h.change(codec.PatchSet)
	c.Apply = func(rec any) { h.put(h.row.At(rec), &v) }
	return Change[R]{c}
}

// Remove removes the field's attribute. Of a struct that has an item to itself it deletes
// the item.
func (h Value[R, V]) Remove() Change[R] { return Change[R]{h.change(codec.PatchRemove)} }
