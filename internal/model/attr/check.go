package attr

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/redact"
)

// MaxDepth is the largest nesting of lists and maps (Developer Guide, "Quotas in Amazon DynamoDB").
const MaxDepth = 32

// Check refuses a value that DynamoDB would refuse or change. nil is a value that is left out.
func Check(v types.AttributeValue) error {
	if v == nil {
		return nil
	}
	return check(v, 0, true)
}

// CheckShape is Check without the contents of strings, numbers and sets. A value that passes it has no nil pointers.
func CheckShape(v types.AttributeValue) error { return check(v, 0, false) }

func check(v types.AttributeValue, depth int, contents bool) error {
	if depth >= MaxDepth {
		return fmt.Errorf("the value is nested deeper than the %d levels of DynamoDB: store the inner part as "+
			"JSON, or as items", MaxDepth)
	}
	if missing(v) {
		return errors.New("the value, or one in it, is a nil pointer: a method that encodes a value has to return one")
	}
	switch v := v.(type) {
	case *types.AttributeValueMemberNULL:
		if !v.Value {
			return errors.New("the value is NULL with the value false, which DynamoDB does not take: set it to true")
		}
	case *types.AttributeValueMemberL:
		for _, e := range v.Value {
			if err := check(e, depth+1, contents); err != nil {
				return err
			}
		}
	case *types.AttributeValueMemberM:
		var name string
		var fault error // that of the first name, each time
		for k, e := range v.Value {
			if fault != nil && k > name {
				continue
			}
			err := check(e, depth+1, contents)
			if err == nil {
				err = checkString(k)
			}
			if err != nil {
				name, fault = k, err
			}
		}
		return fault
	default:
		if contents {
			return checkContents(v)
		}
	}
	return nil
}

func checkContents(v types.AttributeValue) error {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return checkString(v.Value)
	case *types.AttributeValueMemberN:
		return checkNumber(v.Value)
	case *types.AttributeValueMemberSS:
		return checkSet(v.Value, checkString, func(s string) string { return s })
	case *types.AttributeValueMemberNS:
		return checkSet(v.Value, checkNumber, Canonical)
	case *types.AttributeValueMemberBS:
		return checkSet(Texts(v.Value), func(string) error { return nil }, func(s string) string { return s })
	}
	return nil
}

// missing reports whether a value is nil, or a nil pointer.
func missing(v types.AttributeValue) bool {
	switch v := v.(type) {
	case nil:
		return true
	case *types.AttributeValueMemberS:
		return v == nil
	case *types.AttributeValueMemberN:
		return v == nil
	case *types.AttributeValueMemberB:
		return v == nil
	case *types.AttributeValueMemberBOOL:
		return v == nil
	case *types.AttributeValueMemberNULL:
		return v == nil
	case *types.AttributeValueMemberL:
		return v == nil
	case *types.AttributeValueMemberM:
		return v == nil
	case *types.AttributeValueMemberSS:
		return v == nil
	case *types.AttributeValueMemberNS:
		return v == nil
	case *types.AttributeValueMemberBS:
		return v == nil
	}
	return false
}

func checkString(s string) error {
	if !utf8.ValidString(s) {
		return redact.Errorf("the string%v is not valid UTF-8, and would change in the request: store it as []byte",
			redact.Of(s))
	}
	return nil
}

func checkNumber(s string) error {
	if s == "" {
		return errors.New("the number is empty: set it, or use a pointer")
	}
	if !key.IsNumber(s) {
		return redact.Errorf("the number%v is invalid: DynamoDB takes up to %d digits, between 1E-130 and "+
			"9.9E+125, but not NaN or infinity", redact.Of(s), key.MaxDigits)
	}
	return nil
}

func checkSet(elements []string, check func(string) error, canonical func(string) string) error {
	if len(elements) == 0 {
		return errors.New("a set cannot be empty: leave the attribute out, with omitempty or as NULL")
	}
	seen := make(map[string]bool, len(elements))
	for _, m := range elements {
		if err := check(m); err != nil {
			return err
		}
		c := canonical(m)
		if seen[c] {
			return redact.Errorf("the set has a member twice%v: keep one", redact.Of(m))
		}
		seen[c] = true
	}
	return nil
}

// ScalarOf returns the value of a key attribute. ok is false for a type that keys cannot have.
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
