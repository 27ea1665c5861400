package codec

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/key"
)

// SameValue tells whether two encoded values are equal. Sets have no order, and
// numbers may be written in different ways.
func SameValue(a, b types.AttributeValue) bool {
	switch a := a.(type) {
	case nil:
		return b == nil
	case *types.AttributeValueMemberS:
		b, ok := b.(*types.AttributeValueMemberS)
		return ok && a.Value == b.Value
	case *types.AttributeValueMemberN:
		b, ok := b.(*types.AttributeValueMemberN)
		return ok && (a.Value == b.Value || canonical(a.Value) == canonical(b.Value))
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
		return ok && slices.EqualFunc(a.Value, b.Value, SameValue)
	case *types.AttributeValueMemberM:
		b, ok := b.(*types.AttributeValueMemberM)
		return ok && maps.EqualFunc(a.Value, b.Value, SameValue)
	case *types.AttributeValueMemberSS:
		b, ok := b.(*types.AttributeValueMemberSS)
		return ok && sameSet(a.Value, b.Value)
	case *types.AttributeValueMemberNS:
		b, ok := b.(*types.AttributeValueMemberNS)
		return ok && sameSet(canonicals(a.Value), canonicals(b.Value))
	case *types.AttributeValueMemberBS:
		b, ok := b.(*types.AttributeValueMemberBS)
		return ok && sameSet(texts(a.Value), texts(b.Value))
	}
	return false
}

// SameItem tells whether two items have the same attributes.
func SameItem(a, b map[string]types.AttributeValue) bool {
	if len(a) != len(b) {
		return false
	}
	for name, v := range a {
		if w, ok := b[name]; !ok || !SameValue(v, w) {
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

// canonical returns the one text of a number, or what is no number as it is.
func canonical(number string) string {
	if c, ok := key.Canonical(number); ok {
		return c
	}
	return number
}

func canonicals(numbers []string) []string {
	s := make([]string, len(numbers))
	for i, n := range numbers {
		s[i] = canonical(n)
	}
	return s
}

func texts(b [][]byte) []string {
	s := make([]string, len(b))
	for i := range b {
		s[i] = string(b[i])
	}
	return s
}

// Check refuses a value that DynamoDB would refuse, or would change on the way.
func Check(v types.AttributeValue) error { return check(v, 0) }

func check(v types.AttributeValue, depth int) error {
	if depth >= cost.MaxDepth {
		return fmt.Errorf("the value is nested deeper than %d levels, itself counted: store the inner part as JSON, or as items", cost.MaxDepth)
	}
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return checkString(v.Value)
	case *types.AttributeValueMemberN:
		return checkNumber(v.Value)
	case *types.AttributeValueMemberL:
		for _, e := range v.Value {
			if err := check(e, depth+1); err != nil {
				return err
			}
		}
	case *types.AttributeValueMemberM:
		for k, e := range v.Value {
			if err := checkString(k); err != nil {
				return err
			}
			if err := check(e, depth+1); err != nil {
				return err
			}
		}
	case *types.AttributeValueMemberSS:
		return checkSet(v.Value, checkString, func(s string) string { return s })
	case *types.AttributeValueMemberNS:
		return checkSet(v.Value, checkNumber, canonical)
	case *types.AttributeValueMemberBS:
		return checkSet(texts(v.Value), func(string) error { return nil }, func(s string) string { return s })
	}
	return nil
}

func checkString(s string) error {
	if !utf8.ValidString(s) {
		return fmt.Errorf("the string %.40q is not valid UTF-8, and would be changed on the wire: store it as []byte", s)
	}
	return nil
}

func checkNumber(s string) error {
	if _, ok := key.Canonical(s); !ok {
		return fmt.Errorf("%q is no number of DynamoDB: it takes up to %d digits, between 1E-130 and 9.9E+125, and no NaN or infinity", s, key.MaxDigits)
	}
	return nil
}

func checkSet(members []string, check func(string) error, canonical func(string) string) error {
	if len(members) == 0 {
		return errors.New("a set cannot be empty: leave the attribute out, with omitempty or as NULL")
	}
	seen := make(map[string]bool, len(members))
	for _, m := range members {
		if err := check(m); err != nil {
			return err
		}
		c := canonical(m)
		if seen[c] {
			return fmt.Errorf("the set has the member %.40q twice: keep it once", m)
		}
		seen[c] = true
	}
	return nil
}

// ScalarOf returns a key attribute's value; ok is false for a type that no key has.
func ScalarOf(v types.AttributeValue) (s key.Scalar, ok bool) {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return key.Scalar{Type: 'S', Text: v.Value}, true
	case *types.AttributeValueMemberN:
		c, ok := key.Canonical(v.Value)
		return key.Scalar{Type: 'N', Text: c}, ok
	case *types.AttributeValueMemberB:
		return key.Scalar{Type: 'B', Text: string(v.Value)}, true
	}
	return key.Scalar{}, false
}

// ValueOf returns the attribute value of a key.
func ValueOf(s key.Scalar) types.AttributeValue {
	switch s.Type {
	case 'N':
		return &types.AttributeValueMemberN{Value: s.Text}
	case 'B':
		return &types.AttributeValueMemberB{Value: []byte(s.Text)}
	}
	return &types.AttributeValueMemberS{Value: s.Text}
}
