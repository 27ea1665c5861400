package expr_test

import (
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/expr"
)

// is returns the condition that an attribute has a text.
func is(name, text string) expr.Condition {
	return expr.New(expr.Field{{Name: name, Attribute: name}}, func(x *attr.Expression, name string) string {
		return name + " = " + x.Value(&types.AttributeValueMemberS{Value: text})
	})
}

// A joined condition is put in parentheses if it is joined with others.
func TestTexts(t *testing.T) {
	a, b := is("a", "1"), is("b", "2")
	raw := expr.Raw(expression.Name("c").Equal(expression.Value(1)).Or(expression.Name("a").Equal(expression.Value(2))))
	for _, c := range []struct {
		name       string
		c          expr.Condition
		text, term string
	}{
		{"one", a, "#0 = :0", "#0 = :0"},
		{"all", expr.And(a, b), "#0 = :0 AND #1 = :1", "(#0 = :0 AND #1 = :1)"},
		{"all of one", expr.And(a), "#0 = :0", "#0 = :0"},
		{
			"some of all", expr.Or(a, expr.And(a, b)), "#0 = :0 OR (#0 = :1 AND #1 = :2)",
			"(#0 = :0 OR (#0 = :1 AND #1 = :2))",
		},
		{"not", expr.Not(expr.Or(a, b)), "NOT (#0 = :0 OR #1 = :1)", "NOT (#0 = :0 OR #1 = :1)"},
		{"the SDK's own", raw, "(#0 = :0) OR (#1 = :1)", "((#0 = :0) OR (#1 = :1))"},
	} {
		if got := c.c.Text(&attr.Expression{}, expr.Field.Attributes); got != c.text {
			t.Errorf("%s: %s", c.name, got)
		}
		if got := c.c.Term(&attr.Expression{}, expr.Field.Attributes); got != c.term {
			t.Errorf("%s: %s", c.name, got)
		}
	}
}

// A fault of one condition is a fault of the conditions that it is joined to. A zero condition is refused.
func TestFaults(t *testing.T) {
	wrong := errors.New("wrong")
	for _, c := range []expr.Condition{
		expr.And(is("a", "1"), expr.Failed(wrong)), expr.Not(expr.Failed(wrong)),
		expr.Or(expr.Failed(wrong), is("a", "1")),
	} {
		if !errors.Is(c.Checked().Err, wrong) {
			t.Error(c.Err)
		}
	}
	if (expr.Condition{}).Checked().Err == nil || is("a", "1").Checked().Err != nil {
		t.Error("the zero condition is taken for one, or another for it")
	}
}
