package field

import "github.com/itemize/itemize/internal/codec"

// Change is a change of a record of the type R, for a patch.
type Change[R any] struct{ change codec.PatchChange }

// Untyped returns the change without its type. For the mapper.
func (c Change[R]) Untyped() codec.PatchChange { return c.change }
