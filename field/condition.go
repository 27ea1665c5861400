package field

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/itemize/itemize/internal/model/codec"
	"github.com/itemize/itemize/internal/model/expr"
)

// Condition is a condition on a record of the type R: on the attributes of its item.
type Condition[R any] struct{ condition expr.Condition }

// And returns the condition that all conditions hold. At least one is required.
func And[R any](conditions ...Condition[R]) Condition[R] {
	return Condition[R]{expr.And(untyped("And", conditions)...)}
}

// Or returns the condition that at least one of the conditions holds. At least one is required.
func Or[R any](conditions ...Condition[R]) Condition[R] {
	return Condition[R]{expr.Or(untyped("Or", conditions)...)}
}

// Not returns the condition that c does not hold.
func Not[R any](c Condition[R]) Condition[R] { return Condition[R]{expr.Not(c.checked())} }

// Raw returns a condition of the SDK's package expression, with attribute names.
func Raw[R any](c expression.ConditionBuilder) Condition[R] {
	return Condition[R]{expr.Raw(c)}
}

func untyped[R any](function string, conditions []Condition[R]) []expr.Condition {
	if len(conditions) == 0 {
		return []expr.Condition{expr.Failed(fmt.Errorf("field.%s of no conditions: pass at least one", function))}
	}
	all := make([]expr.Condition, len(conditions))
	for i := range conditions {
		all[i] = conditions[i].checked()
	}
	return all
}

func (c *Condition[R]) checked() expr.Condition { return c.condition.Checked() }

// Named returns the handle of an attribute by its name, for projections without generated code. A name
// that no requested item stores is refused.
func Named[R any](attribute string) Of[R] { return named[R](attribute) }

type named[R any] string

func (n named[R]) of(*R) {}

func (n named[R]) row() codec.Row { return codec.Row{Tag: string(n)} }
