package field

import (
	"reflect"

	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/model/codec"
)

func init() {
	door.Field.Bind = bind
	door.Field.Row = func(h any) codec.Row { return h.(rowed).row() }
	door.Field.Changes = changesOf
	door.Field.Conditions = conditionsOf
}

type rowed interface{ row() codec.Row }

// bind sets the handle that to points to. All types of handles are structs of a handle.
func bind(to any, row codec.Row) bool {
	_, ok := to.(rowed)
	if ok {
		*(*handle)(reflect.ValueOf(to).UnsafePointer()) = newHandle(row)
	}
	return ok
}
