package field

type value[R, V any] = Value[R, V]

// Bool is the handle of a bool. It has the methods of [Value]: Set, SetIfAbsent, Remove, Equal,
// NotEqual, In, Exists, Absent.
type Bool[R any, V ~bool] struct{ value[R, V] }

// order has the conditions of a field with ordered values.
type order[R, V any] struct{ by *handle }

// Less is the condition that the field is less than v.
//
//go:noinline
func (o *order[R, V]) Less(v V) Condition[R] { return Condition[R]{o.by.compare(" < ", &v)} }

// LessOrEqual is the condition that the field is at most v.
//
//go:noinline
func (o *order[R, V]) LessOrEqual(v V) Condition[R] { return Condition[R]{o.by.compare(" <= ", &v)} }

// Greater is the condition that the field is greater than v.
//
//go:noinline
func (o *order[R, V]) Greater(v V) Condition[R] { return Condition[R]{o.by.compare(" > ", &v)} }

// GreaterOrEqual is the condition that the field is at least v.
//
//go:noinline
func (o *order[R, V]) GreaterOrEqual(v V) Condition[R] { return Condition[R]{o.by.compare(" >= ", &v)} }

// Between is the condition that the field is between two values, inclusive.
//
//go:noinline
func (o *order[R, V]) Between(low, high V) Condition[R] {
	return Condition[R]{o.by.between(&low, &high)}
}
