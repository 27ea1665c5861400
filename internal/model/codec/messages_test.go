package codec_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/codec"
)

type panicking struct{ A int }

func (panicking) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	panic(errors.New("secret"))
}

// An error of a stored value says its type, the Go type, and why they do not fit. A panic of a method names the type.
func TestMessagesOfValues(t *testing.T) {
	n := func(text string) types.AttributeValue { return &types.AttributeValueMemberN{Value: text} }
	s := func(text string) types.AttributeValue { return &types.AttributeValueMemberS{Value: text} }
	for _, c := range []struct {
		v    types.AttributeValue
		into any
		want string
	}{
		{n("1.5"), new(int), "cannot decode a stored number into int: it is not an integer"},
		{n("300"), new(uint8), "cannot decode a stored number into uint8: it is out of the range of the type"},
		{n("-1"), new(uint), "cannot decode a stored number into uint: it is out of the range of the type"},
		{n("1.5"), new(time.Time), "cannot decode a stored number into time.Time: it is not an integer"},
		{s("yesterday"), new(time.Time), "cannot decode a stored string into time.Time: it is not a time of RFC 3339"},
		{s("x"), new(int), "cannot decode a stored string into int"},
	} {
		err := codec.Unmarshal(c.v, c.into)
		if err == nil || err.Error() != c.want {
			t.Errorf("%v, not %s", err, c.want)
		}
	}
	for _, v := range []any{&panicking{}, new(struct{ Any any }), &map[string]panicking{"a": {}}} {
		if x, ok := v.(*struct{ Any any }); ok {
			x.Any = panicking{}
		}
		_, err := codec.Marshal(v)
		if err == nil || !strings.Contains(err.Error(), "a method of ") || !strings.Contains(err.Error(), "panicked") ||
			strings.Contains(err.Error(), "secret") {
			t.Errorf("%T: %v", v, err)
		}
	}
}
