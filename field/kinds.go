package field

type value[R, V any] = Value[R, V]

// Bool is the handle of a bool. It has the methods of [Value]: Set, SetIfAbsent, Remove, Equal,
// NotEqual, In, Exists, Absent.
type Bool[R any, V ~bool] struct{ value[R, V] }

// ordered is the handle of a field with ordered values.
type ordered[R, V any] struct{ value[R, V] }

// Less is the condition that the field is less than v.
func (h *ordered[R, V]) Less(v V) Condition[R] { return Condition[R]{h.is.compare(" < ", &v)} }

// LessOrEqual is the condition that the field is at most v.
func (h *ordered[R, V]) LessOrEqual(v V) Condition[R] { return Condition[R]{h.is.compare(" <= ", &v)} }

// Greater is the condition that the field is greater than v.
func (h *ordered[R, V]) Greater(v V) Condition[R] { return Condition[R]{h.is.compare(" > ", &v)} }

// GreaterOrEqual is the condition that the field is at least v.
func (h *ordered[R, V]) GreaterOrEqual(v V) Condition[R] {
	return Condition[R]{h.is.compare(" >= ", &v)}
}

// Between is the condition that the field is between two values, inclusive.
func (h *ordered[R, V]) Between(low, high V) Condition[R] {
	return Condition[R]{h.is.between(&low, &high)}
}
