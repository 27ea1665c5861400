package field

import "github.com/itemize/itemize/internal/patch"

// Change is a change of a record of the type R, for a patch.
type Change[R any] struct{ changes []patch.Change }

func changeOf[R any](c patch.Change) Change[R] { return Change[R]{[]patch.Change{c}} }

// Untyped returns the change, or the changes that it consists of, without its type. For the
// mapper.
func (c Change[R]) Untyped() []patch.Change { return c.changes }
