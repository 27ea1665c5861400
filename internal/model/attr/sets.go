package attr

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// TypeName returns the name of a value's type in DynamoDB: S, N, B, BOOL, NULL, SS, NS, BS, L, M; ""
// for none.
func TypeName(v types.AttributeValue) string {
	switch v.(type) {
	case *types.AttributeValueMemberS:
		return "S"
	case *types.AttributeValueMemberN:
		return "N"
	case *types.AttributeValueMemberB:
		return "B"
	case *types.AttributeValueMemberBOOL:
		return "BOOL"
	case *types.AttributeValueMemberNULL:
		return "NULL"
	case *types.AttributeValueMemberSS:
		return "SS"
	case *types.AttributeValueMemberNS:
		return "NS"
	case *types.AttributeValueMemberBS:
		return "BS"
	case *types.AttributeValueMemberL:
		return "L"
	case *types.AttributeValueMemberM:
		return "M"
	}
	return ""
}

// Unite returns the union of two sets of one type.
func Unite(a, b types.AttributeValue) types.AttributeValue {
	switch a := a.(type) {
	case *types.AttributeValueMemberSS:
		return &types.AttributeValueMemberSS{Value: append(slices.Clone(a.Value),
			without(b.(*types.AttributeValueMemberSS).Value, a.Value)...)}
	case *types.AttributeValueMemberNS:
		more := without(canonicals(b.(*types.AttributeValueMemberNS).Value), canonicals(a.Value))
		return &types.AttributeValueMemberNS{Value: append(slices.Clone(a.Value), more...)}
	case *types.AttributeValueMemberBS:
		out := slices.Clone(a.Value)
		for _, m := range b.(*types.AttributeValueMemberBS).Value {
			if !slices.ContainsFunc(out, func(o []byte) bool { return string(o) == string(m) }) {
				out = append(out, m)
			}
		}
		return &types.AttributeValueMemberBS{Value: out}
	}
	return a
}

// Subtract returns the elements of a set that are not in another of its type, nil for none: an empty
// set cannot be stored.
func Subtract(a, b types.AttributeValue) types.AttributeValue {
	switch a := a.(type) {
	case *types.AttributeValueMemberSS:
		if rest := without(a.Value, b.(*types.AttributeValueMemberSS).Value); len(rest) > 0 {
			return &types.AttributeValueMemberSS{Value: rest}
		}
	case *types.AttributeValueMemberNS:
		if rest := without(canonicals(a.Value), canonicals(b.(*types.AttributeValueMemberNS).Value)); len(rest) > 0 {
			return &types.AttributeValueMemberNS{Value: rest}
		}
	case *types.AttributeValueMemberBS:
		other := Texts(b.(*types.AttributeValueMemberBS).Value)
		rest := slices.DeleteFunc(slices.Clone(a.Value),
			func(m []byte) bool { return slices.Contains(other, string(m)) })
		if len(rest) > 0 {
			return &types.AttributeValueMemberBS{Value: rest}
		}
	}
	return nil
}

// without returns the elements that are not in removed.
func without(elements, removed []string) []string {
	return slices.DeleteFunc(slices.Clone(elements), func(m string) bool { return slices.Contains(removed, m) })
}
