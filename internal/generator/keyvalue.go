package generator

import (
	"go/types"

	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
)

// keyValue returns a call that makes the argument of a key of x.
func keyValue(t *schema.Type, kind key.Kind, x string) code {
	if schema.KeyText(t, kind) {
		return call(impl("TextValue"), "&"+x)
	}
	switch kind {
	case key.Int:
		return call(impl("IntValue"), x)
	case key.Uint:
		return call(impl("UintValue"), x)
	case key.Time:
		if goType(t).String() == "time.Time" {
			return call(impl("TimeValue"), x)
		}
		return call(impl("TimeValue"), call(std("time", "Time"), x))
	case key.Number:
		return call(impl("NumberValue"), x)
	case key.Bytes:
		if isArray(t) {
			x += "[:]"
		}
		return call(impl("BytesValue"), x)
	}
	return call(impl("StringValue"), x)
}

// keyFieldKind is the kind of value that keys hold of a key field.
func keyFieldKind(e *schema.Entity, i int) key.Kind {
	k, source := e.KeyOf(i)
	return k.Format(source).Value
}

func isArray(t *schema.Type) bool {
	_, ok := goType(t).Underlying().(*types.Array)
	return ok
}
