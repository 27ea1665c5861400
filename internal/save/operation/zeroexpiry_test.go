package operation_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
)

type permit struct {
	_     struct{}  `ddb:"table=permits,ttl=gone"`
	ID    string    `ddb:"pk=PERMIT#{ID}"`
	Owner string    `ddb:"sk=HEAD"`
	Until time.Time `ddb:"sk=HEAD,ttl" dynamodbav:"gone,unixtime"`
}

// The zero time in the TTL attribute itself is no time to live that is over: it is left out, and who
// finds it stored reads the item.
func TestZeroNeverExpires(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table, client := testengine.Table(t, "PK:S", "SK:S"), testengine.Start(t).Client()
	m := kit.Must(mapper.New[permit](client, mapper.Table(table)))(t)
	kit.Must(m.Save(ctx, m.New(permit{ID: "a", Owner: "bob"})))(t)
	key := map[string]types.AttributeValue{
		"PK": &types.AttributeValueMemberS{Value: "PERMIT#a"},
		"SK": &types.AttributeValueMemberS{Value: "HEAD"},
	}
	a := kit.Must(client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &table, Key: key}))(t).Item
	if a["gone"] != nil {
		t.Errorf("gone is stored as %v", a["gone"])
	}
	a["gone"] = &types.AttributeValueMemberN{Value: "-62135596800"} // as attributevalue encodes it
	kit.Must(client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &table, Item: a}))(t)
	if _, err := m.Save(ctx, m.New(permit{ID: "a", Owner: "eve"})); !errors.Is(err, mapper.ErrExists) {
		t.Errorf("an insert over it: %v", err)
	}
	e := kit.Must(m.Load(ctx, m.Key("a")))(t)
	if !e.Value.Until.IsZero() || e.Value.Owner != "bob" {
		t.Errorf("%+v", e.Value)
	}
	e.Value.Owner = "eve"
	kit.Must(m.Save(ctx, e))(t)
	e.Value.Until = time.Unix(4e9, 0)
	kit.Must(m.Save(ctx, e))(t)
	e.Value.Until = time.Time{}
	kit.Must(m.Save(ctx, e))(t)
	if a := kit.Must(client.GetItem(ctx,
		&dynamodb.GetItemInput{TableName: &table, Key: key}))(t).Item; a["gone"] != nil {
		t.Errorf("gone is stored as %v", a["gone"])
	}
}
