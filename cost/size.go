package cost

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/attr"
)

// ItemSize returns the size of an item in bytes: the names and values of all its
// attributes, keys included.
func ItemSize(item map[string]types.AttributeValue) int { return attr.ItemSize(item) }

// AttributeSize returns the size of an attribute in bytes: its name in UTF-8 and its value.
func AttributeSize(name string, v types.AttributeValue) int { return attr.AttributeSize(name, v) }

// ValueSize returns the size of a value in bytes. A nil value has 0 bytes.
func ValueSize(v types.AttributeValue) int { return attr.ValueSize(v) }

// NumberSize returns the size of a number in bytes. It is one, plus one for each two significant digits
// on each side of the decimal point, plus one for a minus sign. Leading and trailing zeros do not
// count, and zero has one byte. A public conformance suite measured this rule on DynamoDB. DynamoDB
// Local uses another rule, which gives one more byte for some numbers, such as 120 and 0.012.
func NumberSize(number string) int { return attr.NumberSize(number) }
