package field

import (
	"reflect"
	"strconv"
	"strings"

	"github.com/itemize/itemize/internal/form"
)

type value[R, V any] = Value[R, V]

// ordered adds to a handle what values with an order can do.
type ordered[R, V any] struct{ value[R, V] }

// Less is the condition that the field is less than v.
func (h ordered[R, V]) Less(v V) Condition[R] { return Condition[R]{h.compare(" < ", &v)} }

// LessOrEqual is the condition that the field is at most v.
func (h ordered[R, V]) LessOrEqual(v V) Condition[R] { return Condition[R]{h.compare(" <= ", &v)} }

// Greater is the condition that the field is greater than v.
func (h ordered[R, V]) Greater(v V) Condition[R] { return Condition[R]{h.compare(" > ", &v)} }

// GreaterOrEqual is the condition that the field is at least v.
func (h ordered[R, V]) GreaterOrEqual(v V) Condition[R] { return Condition[R]{h.compare(" >= ", &v)} }

// Between is the condition that the field lies between two values, both included.
func (h ordered[R, V]) Between(low, high V) Condition[R] { return Condition[R]{h.between(&low, &high)} }

// String is the handle of a string.
type String[R any, V ~string] struct{ ordered[R, V] }

// BeginsWith is the condition that the field begins with a text.
func (h String[R, V]) BeginsWith(prefix V) Condition[R] {
	return Condition[R]{h.call("begins_with", &prefix)}
}

// Contains is the condition that the field contains a text.
func (h String[R, V]) Contains(text V) Condition[R] {
	return Condition[R]{h.call("contains", &text)}
}

// number are the types of numbers.
type number = form.Number

// Number is the handle of an integer or a float.
type Number[R any, V number] struct{ ordered[R, V] }

// Increment adds to the field, which counts from 0 where it is not stored.
func (h Number[R, V]) Increment(by V) Change[R] { return Change[R]{h.increment(decimal(&by))} }

// Decrement subtracts from the field. Of an unsigned field it requires that it is as
// large.
func (h Number[R, V]) Decrement(by V) Change[R] {
	return Change[R]{h.increment(negative(decimal(&by)))}
}

// decimal returns the number at p as text.
func decimal(p any) string {
	v := reflect.ValueOf(p).Elem()
	switch {
	case v.CanInt():
		return strconv.FormatInt(v.Int(), 10)
	case v.CanUint():
		return strconv.FormatUint(v.Uint(), 10)
	}
	return strconv.FormatFloat(v.Float(), 'f', -1, v.Type().Bits())
}

// negative returns the text of a number with the other sign.
func negative(text string) string {
	if rest, ok := strings.CutPrefix(text, "-"); ok {
		return rest
	}
	return "-" + text
}

// Bool is the handle of a bool.
type Bool[R any, V ~bool] struct{ value[R, V] }

// Time is the handle of a time.Time, or of a type that converts to it. DynamoDB compares
// what is stored: seconds with the option unixtime, otherwise text, which is in the order
// of the instants where all have the same zone and as many digits of a second.
type Time[R, V any] struct{ ordered[R, V] }

// Bytes is the handle of a slice of bytes.
type Bytes[R any, V ~[]byte] struct{ ordered[R, V] }

// Struct is the handle of a struct, or of a pointer to one.
type Struct[R, S any] struct{ value[R, S] }

// NewString is for generated code, as are the functions that follow: name is the field's
// name in Go, tag the value of its dynamodbav tag.
func NewString[R any, V ~string](name, tag string, at func(*R) *V) String[R, V] {
	return String[R, V]{ordered[R, V]{newValue(name, tag, at, form.StringOf[V]())}}
}

// NewNumber is for generated code.
func NewNumber[R any, V number](name, tag string, at func(*R) *V) Number[R, V] {
	return Number[R, V]{ordered[R, V]{newValue(name, tag, at, form.NumericOf[V]())}}
}

// NewBool is for generated code.
func NewBool[R any, V ~bool](name, tag string, at func(*R) *V) Bool[R, V] {
	return Bool[R, V]{newValue(name, tag, at, form.BoolOf[V]())}
}

// NewTime is for generated code.
func NewTime[R, V any](name, tag string, at func(*R) *V) Time[R, V] {
	return Time[R, V]{ordered[R, V]{newValue(name, tag, at, form.TimeOf[V]())}}
}

// NewBytes is for generated code.
func NewBytes[R any, V ~[]byte](name, tag string, at func(*R) *V) Bytes[R, V] {
	return Bytes[R, V]{ordered[R, V]{newValue(name, tag, at, form.BytesOf[V]())}}
}

// NewValue is for generated code.
func NewValue[R, V any](name, tag string, at func(*R) *V, f form.Typed[V]) Value[R, V] {
	return newValue(name, tag, at, f)
}

// NewStruct is for generated code.
func NewStruct[R, S any](name, tag string, at func(*R) *S, f form.Typed[S]) Struct[R, S] {
	return Struct[R, S]{newValue(name, tag, at, f)}
}

// NewStructPointer is for generated code.
func NewStructPointer[R, S any](name, tag string, at func(*R) **S, f form.Typed[S]) Struct[R, S] {
	h := newHandle(form.NewRow(name, tag, at, form.PointerOf(f)))
	h.pointer = true
	return Struct[R, S]{value[R, S]{h}}
}
