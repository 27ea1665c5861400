package field

import (
	"fmt"
	"reflect"
	"unsafe"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/itemize/itemize/internal/model/codec"
	"github.com/itemize/itemize/internal/model/expr"
)

// Condition is a condition on a record of the type R: on the attributes of its item.
type Condition[R any] = ConditionOf[*R]

// ConditionOf is the type of a [Condition], with the type of a pointer to the record: P is *R.
type ConditionOf[P any] struct{ is expr.Condition }

// And returns the condition that all conditions hold. At least one is required.
func And[R any](conditions ...Condition[R]) Condition[R] {
	return Condition[R]{expr.And(some("And", unsafe.Pointer(unsafe.SliceData(conditions)), len(conditions))...)}
}

// Or returns the condition that at least one of the conditions holds. At least one is required.
func Or[R any](conditions ...Condition[R]) Condition[R] {
	return Condition[R]{expr.Or(some("Or", unsafe.Pointer(unsafe.SliceData(conditions)), len(conditions))...)}
}

// Not returns the condition that c does not hold.
func Not[R any](c Condition[R]) Condition[R] { return Condition[R]{expr.Not(c.is.Checked())} }

// Raw returns a condition of the SDK's package expression, with attribute names.
func Raw[R any](c expression.ConditionBuilder) Condition[R] { return Condition[R]{expr.Raw(c)} }

// conditionsOf returns n adjacent conditions without their types.
func conditionsOf(first unsafe.Pointer, n int) []expr.Condition {
	all := make([]expr.Condition, n)
	for i, c := range unsafe.Slice((*ConditionOf[no])(first), n) {
		all[i] = c.is.Checked()
	}
	return all
}

// some is conditionsOf for a function that needs at least one condition.
func some(function string, first unsafe.Pointer, n int) []expr.Condition {
	if n == 0 {
		return []expr.Condition{expr.Failed(fmt.Errorf("field.%s of no conditions: pass at least one", function))}
	}
	return conditionsOf(first, n)
}

// Named returns the handle of an attribute by its name, for projections without generated code. A name
// that no requested item stores is refused.
func Named[R any](attribute string) Of[R] { return named[*R](attribute) }

type named[P any] string

func (n named[P]) of(P) {}

func (n named[P]) row() codec.Row {
	return codec.Row{Tag: string(n), Record: reflect.TypeFor[P]().Elem()}
}
