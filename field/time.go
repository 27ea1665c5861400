package field

import "github.com/itemize/itemize/internal/codec"

// Time is the handle of a time.Time, or of a type that converts to it. DynamoDB compares
// what is stored: seconds with the option unixtime, otherwise text, which is in the order
// of the instants where all have the same zone and as many digits of a second. Equal and In
// compare the same: an instant in another zone is another text.
type Time[R, V any] struct{ value[R, V] }

// NewTime returns the handle of a time. For generated code.
func NewTime[R, V any](name, tag string, at func(*R) *V) Time[R, V] {
	return Time[R, V]{newValue(name, tag, at, codec.TimeOf[V]())}
}

// Less is the condition that the field is less than v.
func (h *Time[R, V]) Less(v V) Condition[R] { return Condition[R]{h.is.compare(" < ", &v)} }

// LessOrEqual is the condition that the field is at most v.
func (h *Time[R, V]) LessOrEqual(v V) Condition[R] { return Condition[R]{h.is.compare(" <= ", &v)} }

// Greater is the condition that the field is greater than v.
func (h *Time[R, V]) Greater(v V) Condition[R] { return Condition[R]{h.is.compare(" > ", &v)} }

// GreaterOrEqual is the condition that the field is at least v.
func (h *Time[R, V]) GreaterOrEqual(v V) Condition[R] { return Condition[R]{h.is.compare(" >= ", &v)} }

// Between is the condition that the field lies between two values, both included.
func (h *Time[R, V]) Between(low, high V) Condition[R] {
	return Condition[R]{h.is.between(&low, &high)}
}
