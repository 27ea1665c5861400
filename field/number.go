package field

import (
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/itemize/itemize/internal/model/codec"
)

// number lists the types of numbers.
type number = codec.Number

// Number is the handle of an integer or a float.
// It also has the methods of [Value]: Set, SetIfAbsent, Remove, Equal, NotEqual, In, Exists, Absent.
type Number[R any, V number] struct {
	value[R, V]
	order[R, V]
}

//go:noinline
func (h *Number[R, V]) bind(is handle) { h.is, h.order.by = is, &h.is }

// Increment adds to the field. A missing field counts as 0.
//
//go:noinline
func (h *Number[R, V]) Increment(by V) Change[R] {
	return changeOf[R](h.is.increment(&by, decimal(&by)))
}

// Decrement subtracts from the field. For an unsigned field it requires that the result is not
// negative.
//
//go:noinline
func (h *Number[R, V]) Decrement(by V) Change[R] {
	return changeOf[R](h.is.increment(&by, negative(decimal(&by))))
}

// boundsOf returns the smallest and largest value of the integer type of the value at p, "" for a
// float.
func boundsOf(p any) (least, most string) {
	v := reflect.ValueOf(p).Elem()
	switch bits := v.Type().Bits(); {
	case v.CanInt():
		return strconv.FormatInt(math.MinInt64>>(64-bits), 10), strconv.FormatInt(math.MaxInt64>>(64-bits), 10)
	case v.CanUint():
		return "0", strconv.FormatUint(math.MaxUint64>>(64-bits), 10)
	}
	return "", ""
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

// negative returns the number with the other sign.
func negative(text string) string {
	if rest, ok := strings.CutPrefix(text, "-"); ok {
		return rest
	}
	return "-" + text
}
