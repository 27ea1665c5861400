package field

import (
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/expr"
)

// Size is the size of a stored field: the number of elements of a list, set or map, or the length of a
// string or bytes, in bytes. If the field is missing, no condition on its size holds.
type Size[P any] struct{ of *handle }

// Equal is the condition that the size is n.
//
//go:noinline
func (s *Size[P]) Equal(n int) ConditionOf[P] { return ConditionOf[P]{s.of.size(" = ", n)} }

// Less is the condition that the size is less than n.
//
//go:noinline
func (s *Size[P]) Less(n int) ConditionOf[P] { return ConditionOf[P]{s.of.size(" < ", n)} }

// LessOrEqual is the condition that the size is at most n.
//
//go:noinline
func (s *Size[P]) LessOrEqual(n int) ConditionOf[P] { return ConditionOf[P]{s.of.size(" <= ", n)} }

// Greater is the condition that the size is greater than n.
//
//go:noinline
func (s *Size[P]) Greater(n int) ConditionOf[P] { return ConditionOf[P]{s.of.size(" > ", n)} }

// GreaterOrEqual is the condition that the size is at least n.
//
//go:noinline
func (s *Size[P]) GreaterOrEqual(n int) ConditionOf[P] { return ConditionOf[P]{s.of.size(" >= ", n)} }

func (h *handle) size(operator string, n int) expr.Condition {
	by := &types.AttributeValueMemberN{Value: strconv.Itoa(n)}
	return h.condition(func(x *attr.Expression, path string) string {
		return "size(" + path + ")" + operator + x.Value(by)
	})
}
