package field

// String is the handle of a string.
// It also has the methods of [Value]: Set, SetIfAbsent, Remove, Equal, NotEqual, In, Exists, Absent.
type String[R any, V ~string] struct {
	value[R, V]
	order[R, V]
}

//go:noinline
func (h *String[R, V]) bind(is handle) { h.is, h.order.by = is, &h.is }

// BeginsWith is the condition that the field begins with a prefix.
//
//go:noinline
func (h *String[R, V]) BeginsWith(prefix V) Condition[R] {
	return Condition[R]{h.is.call("begins_with", &prefix)}
}

// Contains is the condition that the field contains a text.
//
//go:noinline
func (h *String[R, V]) Contains(text V) Condition[R] {
	return Condition[R]{h.is.call("contains", &text)}
}

// Bytes is the handle of a slice of bytes.
// It also has the methods of [Value]: Set, SetIfAbsent, Remove, Equal, NotEqual, In, Exists, Absent.
type Bytes[R any, V ~[]byte] struct {
	value[R, V]
	order[R, V]
}

//go:noinline
func (h *Bytes[R, V]) bind(is handle) { h.is, h.order.by = is, &h.is }
