package field

import "github.com/itemize/itemize/internal/patch"

// Change is a change of a record of the type R, for a patch.
type Change[R any] struct{ change patch.Change }

// Untyped returns the change without its type. For the mapper.
func (c Change[R]) Untyped() patch.Change { return c.change }
