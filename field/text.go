package field

import "github.com/itemize/itemize/internal/codec"

// String is the handle of a string.
type String[R any, V ~string] struct{ value[R, V] }

// NewString returns the handle of a string. For generated code.
func NewString[R any, V ~string](name, tag string, at func(*R) *V) String[R, V] {
	return String[R, V]{newValue(name, tag, at, codec.StringOf[V]())}
}

// Less is the condition that the field is less than v.
func (h *String[R, V]) Less(v V) Condition[R] { return Condition[R]{h.is.compare(" < ", &v)} }

// LessOrEqual is the condition that the field is at most v.
func (h *String[R, V]) LessOrEqual(v V) Condition[R] { return Condition[R]{h.is.compare(" <= ", &v)} }

// Greater is the condition that the field is greater than v.
func (h *String[R, V]) Greater(v V) Condition[R] { return Condition[R]{h.is.compare(" > ", &v)} }

// GreaterOrEqual is the condition that the field is at least v.
func (h *String[R, V]) GreaterOrEqual(v V) Condition[R] {
	return Condition[R]{h.is.compare(" >= ", &v)}
}

// Between is the condition that the field lies between two values, both included.
func (h *String[R, V]) Between(low, high V) Condition[R] {
	return Condition[R]{h.is.between(&low, &high)}
}

// BeginsWith is the condition that the field begins with a text.
func (h *String[R, V]) BeginsWith(prefix V) Condition[R] {
	return Condition[R]{h.is.call("begins_with", &prefix)}
}

// Contains is the condition that the field contains a text.
func (h *String[R, V]) Contains(text V) Condition[R] {
	return Condition[R]{h.is.call("contains", &text)}
}

// Bytes is the handle of a slice of bytes.
type Bytes[R any, V ~[]byte] struct{ value[R, V] }

// NewBytes returns the handle of a slice of bytes. For generated code.
func NewBytes[R any, V ~[]byte](name, tag string, at func(*R) *V) Bytes[R, V] {
	return Bytes[R, V]{newValue(name, tag, at, codec.BytesOf[V]())}
}

// Less is the condition that the field is less than v.
func (h *Bytes[R, V]) Less(v V) Condition[R] { return Condition[R]{h.is.compare(" < ", &v)} }

// LessOrEqual is the condition that the field is at most v.
func (h *Bytes[R, V]) LessOrEqual(v V) Condition[R] { return Condition[R]{h.is.compare(" <= ", &v)} }

// Greater is the condition that the field is greater than v.
func (h *Bytes[R, V]) Greater(v V) Condition[R] { return Condition[R]{h.is.compare(" > ", &v)} }

// GreaterOrEqual is the condition that the field is at least v.
func (h *Bytes[R, V]) GreaterOrEqual(v V) Condition[R] { return Condition[R]{h.is.compare(" >= ", &v)} }

// Between is the condition that the field lies between two values, both included.
func (h *Bytes[R, V]) Between(low, high V) Condition[R] {
	return Condition[R]{h.is.between(&low, &high)}
}
