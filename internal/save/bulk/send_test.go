package bulk

import (
	"context"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/save/write"
)

// unprocessed is a client that returns items as unprocessed, under a name.
type unprocessed struct{ name, key string }

func (u unprocessed) BatchWriteItem(_ context.Context, in *dynamodb.BatchWriteItemInput,
	_ ...func(*dynamodb.Options),
) (*dynamodb.BatchWriteItemOutput, error) {
	put := &types.PutRequest{Item: item.Attributes{"PK": &types.AttributeValueMemberS{Value: u.key}}}
	return &dynamodb.BatchWriteItemOutput{
		UnprocessedItems: map[string][]types.WriteRequest{u.name: {{PutRequest: put}}},
	}, nil
}

// Nothing counts as written that came back unprocessed, under whatever name of the table.
func TestUnprocessedItemsUnderOtherNames(t *testing.T) {
	const arn = "arn:aws:dynamodb:eu-west-1:123456789012:table/users"
	table := &item.Table{Name: arn, Hash: "PK"}
	pk := key.Scalar{Type: 'S', Text: "a"}
	batch := []*Item{{
		Place:      item.Place{Table: table, PK: pk},
		Attributes: item.Attributes{"PK": &types.AttributeValueMemberS{Value: "a"}},
	}}
	for name, c := range map[string]struct {
		unprocessed
		err string
	}{
		"the ARN":       {unprocessed{arn, "a"}, ""},
		"the name":      {unprocessed{"users", "a"}, ""},
		"another table": {unprocessed{"orders", "a"}, "returned 1 unprocessed items"},
		"another item":  {unprocessed{"users", "b"}, "returned 1 unprocessed items"},
	} {
		p := &Puts{Client: c.unprocessed, Label: "model"}
		a, err := p.Send(t.Context(), batch, &write.Tally{})
		switch {
		case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%s: %v", name, err)
		case c.err == "" && (err != nil || a.Results[0] != Again):
			t.Errorf("%s: %v, %v", name, a, err)
		}
	}
}
