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
type Number[P any, V number] struct{ is handle }

// Set sets the field.
//
//go:noinline
func (h *Number[P, V]) Set(v V) ChangeOf[P] { return ChangeOf[P]{h.is.set(&v)} }

// SetIfAbsent sets the field if its attribute is missing or NULL. If it is NULL, the patch takes a second request.
//
//go:noinline
func (h *Number[P, V]) SetIfAbsent(v V) ChangeOf[P] { return ChangeOf[P]{h.is.setIfAbsent(&v)} }

// Remove removes the field's attribute.
//
//go:noinline
func (h *Number[P, V]) Remove() ChangeOf[P] { return ChangeOf[P]{h.is.remove()} }

// Increment adds to the field. A missing field counts as 0.
//
//go:noinline
func (h *Number[P, V]) Increment(by V) ChangeOf[P] { return ChangeOf[P]{h.is.increment(&by)} }

// Decrement subtracts from the field. For an unsigned field it requires that the result is not
// negative.
//
//go:noinline
func (h *Number[P, V]) Decrement(by V) ChangeOf[P] { return ChangeOf[P]{h.is.decrement(&by)} }

// Equal is the condition that the field is v. If v is stored as NULL or left out, it is Absent.
//
//go:noinline
func (h *Number[P, V]) Equal(v V) ConditionOf[P] { return ConditionOf[P]{h.is.equal(&v)} }

// NotEqual is the condition that the field is not v. If v is stored as NULL or left out, it is Exists.
//
//go:noinline
func (h *Number[P, V]) NotEqual(v V) ConditionOf[P] { return ConditionOf[P]{h.is.notEqual(&v)} }

// In is the condition that the field is one of up to 100 values.
//
//go:noinline
func (h *Number[P, V]) In(values ...V) ConditionOf[P] { return ConditionOf[P]{h.is.in(&values)} }

// Exists is the condition that the field's attribute exists and is not NULL.
//
//go:noinline
func (h *Number[P, V]) Exists() ConditionOf[P] { return ConditionOf[P]{h.is.exists()} }

// Absent is the condition that the field's attribute is missing or NULL.
//
//go:noinline
func (h *Number[P, V]) Absent() ConditionOf[P] { return ConditionOf[P]{h.is.absent()} }

// Less is the condition that the field is less than v.
//
//go:noinline
func (h *Number[P, V]) Less(v V) ConditionOf[P] { return ConditionOf[P]{h.is.compare(" < ", &v)} }

// LessOrEqual is the condition that the field is at most v.
//
//go:noinline
func (h *Number[P, V]) LessOrEqual(v V) ConditionOf[P] {
	return ConditionOf[P]{h.is.compare(" <= ", &v)}
}

// Greater is the condition that the field is greater than v.
//
//go:noinline
func (h *Number[P, V]) Greater(v V) ConditionOf[P] { return ConditionOf[P]{h.is.compare(" > ", &v)} }

// GreaterOrEqual is the condition that the field is at least v.
//
//go:noinline
func (h *Number[P, V]) GreaterOrEqual(v V) ConditionOf[P] {
	return ConditionOf[P]{h.is.compare(" >= ", &v)}
}

// Between is the condition that the field is between two values, inclusive.
//
//go:noinline
func (h *Number[P, V]) Between(low, high V) ConditionOf[P] {
	return ConditionOf[P]{h.is.between(&low, &high)}
}

//go:noinline
func (h *Number[P, V]) of(P) {}

//go:noinline
func (h *Number[P, V]) row() codec.Row { return h.is.row }

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
