package field

import (
	"github.com/itemize/itemize/internal/codec"
	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/expr"
)

// Internal is for other packages of itemize. No other code can call its methods.
var Internal internal

type internal struct{}

// Bind sets the handle that to points to, for the field of a row. It reports whether to points to a
// handle.
func (internal) Bind(_ door.Key, to any, row codec.Row) bool {
	h, ok := to.(binder)
	if ok {
		h.bind(newHandle(row))
	}
	return ok
}

// Row returns the row of a handle's field.
func (internal) Row(_ door.Key, h rowed) codec.Row { return h.row() }

// Changes returns the changes of a [Change].
func (internal) Changes(_ door.Key, c changing) []expr.Change { return c.all() }

// Condition returns a [Condition] without its type.
func (internal) Condition(_ door.Key, c checked) expr.Condition { return c.checked() }

type (
	binder   interface{ bind(handle) }
	rowed    interface{ row() codec.Row }
	changing interface{ all() []expr.Change }
	checked  interface{ checked() expr.Condition }
)
