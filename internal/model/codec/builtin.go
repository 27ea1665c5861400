package codec

import (
	"reflect"
	"time"
)

// typedForms are the typed forms of types that most fields have. Reflection uses them too, and generated code names no
// form for fields of these types.
var typedForms = map[reflect.Type]*Form{}

func init() {
	add(StringOf[string]())
	add(BoolOf[bool]())
	add(NumericOf[int]())
	add(NumericOf[int32]())
	add(NumericOf[int64]())
	add(NumericOf[uint64]())
	add(NumericOf[float64]())
	add(TimeOf[time.Time]())
	add(BytesOf[[]byte]())
	add(SliceOf[[]string](StringOf[string]()))
	add(MapOf[map[string]string](StringOf[string]()))
}

func add[V any](f Typed[V]) { typedForms[f.Form.Type] = f.Form }
