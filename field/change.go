package field

import "github.com/itemize/itemize/internal/model/expr"

// Change is a change of a record of the type R, for a patch.
type Change[R any] struct{ changes []expr.Change }

func changeOf[R any](c expr.Change) Change[R] { return Change[R]{[]expr.Change{c}} }

func (c *Change[R]) all() []expr.Change { return c.changes }
