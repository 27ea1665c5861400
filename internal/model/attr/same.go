// Package attr compares, copies, checks and measures attribute values, and names them in expressions.
package attr

import (
	"bytes"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/key"
)

// Same reports whether two encoded values are equal. Sets have no order, and
// numbers may be written in different ways.
func Same(a, b types.AttributeValue) bool {
	if a == b {
		return true // the same value
	}
	switch a := a.(type) {
	case nil:
		return b == nil
	case *types.AttributeValueMemberS:
		b, ok := b.(*types.AttributeValueMemberS)
		return ok && a.Value == b.Value
	case *types.AttributeValueMemberN:
		b, ok := b.(*types.AttributeValueMemberN)
		return ok && (a.Value == b.Value || Canonical(a.Value) == Canonical(b.Value))
	case *types.AttributeValueMemberB:
		b, ok := b.(*types.AttributeValueMemberB)
		return ok && bytes.Equal(a.Value, b.Value)
	case *types.AttributeValueMemberBOOL:
		b, ok := b.(*types.AttributeValueMemberBOOL)
		return ok && a.Value == b.Value
	case *types.AttributeValueMemberNULL:
		_, ok := b.(*types.AttributeValueMemberNULL)
		return ok
	case *types.AttributeValueMemberL:
		b, ok := b.(*types.AttributeValueMemberL)
		return ok && slices.EqualFunc(a.Value, b.Value, Same)
	case *types.AttributeValueMemberM:
		b, ok := b.(*types.AttributeValueMemberM)
		return ok && maps.EqualFunc(a.Value, b.Value, Same)
	case *types.AttributeValueMemberSS:
		b, ok := b.(*types.AttributeValueMemberSS)
		return ok && sameSet(a.Value, b.Value)
	case *types.AttributeValueMemberNS:
		b, ok := b.(*types.AttributeValueMemberNS)
		return ok && sameSet(canonicals(a.Value), canonicals(b.Value))
	case *types.AttributeValueMemberBS:
		b, ok := b.(*types.AttributeValueMemberBS)
		return ok && sameSet(Texts(a.Value), Texts(b.Value))
	}
	return false
}

// SameItem reports whether two items have the same attributes.
func SameItem(a, b map[string]types.AttributeValue) bool {
	if len(a) != len(b) {
		return false
	}
	for name, v := range a {
		if w, ok := b[name]; !ok || !Same(v, w) {
			return false
		}
	}
	return true
}

func sameSet(a, b []string) bool {
	if slices.Equal(a, b) {
		return true
	}
	return len(a) == len(b) && slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// Canonical returns the canonical text of a number. Other text is returned unchanged.
func Canonical(number string) string {
	if c, ok := key.Canonical(number); ok {
		return c
	}
	return number
}

// Stored returns a value as a read returns it: numbers in their canonical form. Sets, whose order no read promises, are
// sorted.
func Stored(v types.AttributeValue) types.AttributeValue {
	switch v := v.(type) {
	case *types.AttributeValueMemberN:
		return &types.AttributeValueMemberN{Value: Canonical(v.Value)}
	case *types.AttributeValueMemberSS:
		return &types.AttributeValueMemberSS{Value: slices.Sorted(slices.Values(v.Value))}
	case *types.AttributeValueMemberNS:
		return &types.AttributeValueMemberNS{Value: slices.Sorted(slices.Values(canonicals(v.Value)))}
	case *types.AttributeValueMemberBS:
		return &types.AttributeValueMemberBS{Value: slices.SortedFunc(slices.Values(v.Value), bytes.Compare)}
	case *types.AttributeValueMemberL:
		all := make([]types.AttributeValue, len(v.Value))
		for i := range all {
			all[i] = Stored(v.Value[i])
		}
		return &types.AttributeValueMemberL{Value: all}
	case *types.AttributeValueMemberM:
		all := make(map[string]types.AttributeValue, len(v.Value))
		for name, w := range v.Value {
			all[name] = Stored(w)
		}
		return &types.AttributeValueMemberM{Value: all}
	}
	return v
}

func canonicals(numbers []string) []string {
	s := make([]string, len(numbers))
	for i, n := range numbers {
		s[i] = Canonical(n)
	}
	return s
}

// Texts returns byte slices as strings, for comparisons.
func Texts(b [][]byte) []string {
	s := make([]string, len(b))
	for i := range b {
		s[i] = string(b[i])
	}
	return s
}
