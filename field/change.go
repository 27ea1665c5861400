package field

import "github.com/itemize/itemize/internal/expr"

// Change is a change of a record of the type R, for a patch.
type Change[R any] struct{ changes []expr.Change }

func changeOf[R any](c expr.Change) Change[R] { return Change[R]{[]expr.Change{c}} }

// Untyped returns the change, or the changes that it consists of, without its type. For the
// mapper.
func (c Change[R]) Untyped() []expr.Change { return c.changes }
