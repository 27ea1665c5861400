package layout

import (
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/redact"
)

// value returns what a placeholder takes of an attribute value.
func (s *source) value(v types.AttributeValue) (key.Value, error) {
	wrong := func() (key.Value, error) {
		if v == nil {
			return key.Value{}, fmt.Errorf("it is missing, but a key needs it: add it to the monolith")
		}
		return key.Value{}, fmt.Errorf("it is a %s, but a key needs it as %s: change its type", attr.TypeName(v),
			kindNames[s.kind])
	}
	text, number := "", ""
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		text = v.Value
		if s.text {
			number = v.Value
		}
	case *types.AttributeValueMemberN:
		number = v.Value
	case *types.AttributeValueMemberB:
		switch {
		case s.kind == key.Bytes && s.len > 0 && len(v.Value) != s.len:
			return key.Value{}, fmt.Errorf("it has %d bytes, and not %d, which its key needs: change its length",
				len(v.Value), s.len)
		case s.kind == key.Bytes:
			return key.OfBytes(v.Value), nil
		}
		return wrong()
	default:
		return wrong()
	}
	return s.parse(text, number, wrong)
}

var kindNames = map[key.Kind]string{
	key.String: "text", key.Int: "an integer of 64 bits", key.Uint: "an unsigned integer of 64 bits",
	key.Time: "a time", key.Bytes: "binary", key.Number: "a number",
}

// parse reads text or a number as the placeholder's kind.
func (s *source) parse(text, number string, wrong func() (key.Value, error)) (key.Value, error) {
	switch s.kind {
	case key.String:
		if number != "" && !s.text {
			return wrong()
		}
		return key.OfString(text), nil
	case key.Int:
		if n, err := strconv.ParseInt(plainInteger(number), 10, 64); err == nil {
			return key.OfInt(n), nil
		}
	case key.Uint:
		if n, err := strconv.ParseUint(plainInteger(number), 10, 64); err == nil {
			return key.OfUint(n), nil
		}
	case key.Number:
		if n, ok := key.Canonical(number); ok {
			return key.OfNumber(n), nil
		}
	case key.Time:
		if n, err := strconv.ParseInt(plainInteger(number), 10, 64); err == nil {
			return key.OfTime(time.Unix(n, 0)), nil
		}
		if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
			return key.OfTime(t), nil
		}
	}
	if number == "" && text != "" {
		return key.Value{}, redact.Errorf("the text%v is not %s", redact.Of(text), kindNames[s.kind])
	}
	if number != "" {
		return key.Value{}, redact.Errorf("the number%v is not %s", redact.Of(number), kindNames[s.kind])
	}
	return wrong()
}

// plainInteger returns a number without an exponent or a fraction of zeros, as DynamoDB may give it.
func plainInteger(number string) string {
	if c, ok := key.Canonical(number); ok {
		if neg, digits, exp, ok := key.Decimal(c); ok && exp >= len(digits) && exp <= 20 {
			for len(digits) < exp {
				digits += "0"
			}
			if digits == "" {
				return "0"
			}
			if neg {
				return "-" + digits
			}
			return digits
		}
	}
	return number
}

// encode returns the attribute value that attributevalue gives a value that a key holds.
func (s *source) encode(v key.Value) types.AttributeValue {
	number := func(text string) types.AttributeValue {
		if s.text {
			return &types.AttributeValueMemberS{Value: text}
		}
		return &types.AttributeValueMemberN{Value: text}
	}
	switch v.Kind {
	case key.Int:
		return number(strconv.FormatInt(v.Int, 10))
	case key.Uint:
		return number(strconv.FormatUint(v.Uint, 10))
	case key.Number:
		return number(v.Text)
	case key.Time:
		if s.unix {
			return &types.AttributeValueMemberN{Value: strconv.FormatInt(v.Time.Unix(), 10)}
		}
		return &types.AttributeValueMemberS{Value: v.Time.UTC().Format(time.RFC3339Nano)}
	case key.Bytes:
		return &types.AttributeValueMemberB{Value: []byte(v.Text)}
	}
	return &types.AttributeValueMemberS{Value: v.Text}
}
