package codec

import (
	"reflect"
	"time"
	"unsafe"
)

// builtin is a type that most fields have: reflection uses its typed form, and reaches the
// fields by their offsets, which takes a fraction of the time.
type builtin struct {
	form *Form
	at   func(offset uintptr) func(p any) any
}

var builtins = map[reflect.Type]builtin{}

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

func add[V any](f Typed[V]) {
	builtins[reflect.TypeFor[V]()] = builtin{f.Form, func(offset uintptr) func(any) any {
		return func(p any) any { return (*V)(unsafe.Add(reflect.ValueOf(p).UnsafePointer(), offset)) }
	}}
}
