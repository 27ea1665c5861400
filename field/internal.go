package field

import (
	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/model/codec"
	"github.com/itemize/itemize/internal/model/expr"
)

func init() {
	door.Field.Bind = func(to any, row codec.Row) bool {
		h, ok := to.(binder)
		if ok {
			h.bind(newHandle(row))
		}
		return ok
	}
	door.Field.Row = func(h any) codec.Row { return h.(rowed).row() }
	door.Field.Changes = func(c any) []expr.Change { return c.(changing).all() }
	door.Field.Condition = func(c any) expr.Condition { return c.(checked).checked() }
}

type (
	binder   interface{ bind(handle) }
	rowed    interface{ row() codec.Row }
	changing interface{ all() []expr.Change }
	checked  interface{ checked() expr.Condition }
)
