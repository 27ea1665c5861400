package attr

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/key"
)

const (
	collection = 3 // size of a list or map
	element    = 1 // size of each of its elements
)

// ItemSize returns the size of an item in bytes: the names and values of all its
// attributes, keys included.
func ItemSize(item map[string]types.AttributeValue) int {
	n := 0
	for name, v := range item {
		n += AttributeSize(name, v)
	}
	return n
}

// AttributeSize returns the size of an attribute in bytes: its name in UTF-8
// and its value.
func AttributeSize(name string, v types.AttributeValue) int {
	return len(name) + ValueSize(v)
}

// ValueSize returns the size of a value in bytes. A nil value has 0 bytes.
func ValueSize(v types.AttributeValue) int {
	n := 0
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return len(v.Value)
	case *types.AttributeValueMemberN:
		return NumberSize(v.Value)
	case *types.AttributeValueMemberB:
		return len(v.Value)
	case *types.AttributeValueMemberBOOL, *types.AttributeValueMemberNULL:
		return 1
	case *types.AttributeValueMemberL:
		n = collection
		for _, e := range v.Value {
			n += element + ValueSize(e)
		}
	case *types.AttributeValueMemberM:
		n = collection
		for k, e := range v.Value {
			n += element + len(k) + ValueSize(e)
		}
	case *types.AttributeValueMemberSS:
		for _, e := range v.Value {
			n += len(e)
		}
	case *types.AttributeValueMemberNS:
		for _, e := range v.Value {
			n += NumberSize(e)
		}
	case *types.AttributeValueMemberBS:
		for _, e := range v.Value {
			n += len(e)
		}
	}
	return n
}

// NumberSize returns the size of a number in bytes. It is one, plus one for each two significant digits
// on each side of the decimal point, plus one for a minus sign. Leading and trailing zeros do not
// count, and zero has one byte. A public conformance suite measured this rule on DynamoDB. DynamoDB
// Local uses another rule, which gives one more byte for some numbers, such as 120 and 0.012.
func NumberSize(number string) int {
	if isInteger(number) {
		return 1 + (len(number)+1)/2
	}
	if n, ok := plainSize(number); ok {
		return n
	}
	neg, digits, exp, ok := key.Decimal(number)
	if !ok {
		return 1 + len(number)
	}
	if digits == "" {
		return 1
	}
	left := min(max(exp, 0), len(digits))
	right := len(digits) - left
	n := 1 + (left+1)/2 + (right+1)/2
	if neg {
		n++
	}
	return n
}

// isInteger reports whether a number is digits, of which neither the first nor the last is a zero.
func isInteger(number string) bool {
	n := len(number)
	if n == 0 || n > key.MaxDigits || number[0] == '0' || number[n-1] == '0' {
		return false
	}
	for i := range n {
		if number[i]-'0' > 9 {
			return false
		}
	}
	return true
}

// plainSize is NumberSize for the usual form of numbers: digits with an optional sign and point. It
// allocates nothing.
func plainSize(number string) (n int, ok bool) {
	if number == "" || len(number) > key.MaxDigits {
		return 0, false
	}
	digits, negative := number, 0
	if number[0] == '-' {
		digits, negative = number[1:], 1
	}
	// positions of the point, and of the first and last digit that is not zero
	point, first, last := len(digits), -1, -1
	for i := range len(digits) {
		switch c := digits[i]; {
		case c == '.' && point == len(digits):
			point = i
		case c-'0' > 9:
			return 0, false
		case c != '0':
			if last = i; first < 0 {
				first = i
			}
		}
	}
	if point == 0 || point == len(digits)-1 {
		return 0, false // one side of the point is empty
	}
	if first < 0 {
		return 1, true
	}
	// Digits on each side of the point, with the zeros between them.
	left, right := 0, 0
	if first < point {
		left = min(last+1, point) - first
	}
	if last > point {
		right = last - max(first-1, point)
	}
	return 1 + (left+1)/2 + (right+1)/2 + negative, true
}
