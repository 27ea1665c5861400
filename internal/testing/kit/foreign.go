package kit

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/testing/testengine"
)

// QueryAll is a query of a partition.
func QueryAll(table, pk string) *dynamodb.QueryInput {
	return &dynamodb.QueryInput{
		TableName: &table, KeyConditionExpression: aws.String("PK = :pk"), ConsistentRead: aws.Bool(true),
		ExpressionAttributeValues: map[string]types.AttributeValue{":pk": &types.AttributeValueMemberS{Value: pk}},
	}
}

// Text returns a string.
func Text(v types.AttributeValue) string {
	if s, ok := v.(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return "no string"
}

// Foreign is a foreign writer: it knows nothing of models or versions.
type Foreign struct {
	testing.TB
	Table string
	*dynamodb.Client
}

// Item is an item as the SDK has it.
type Item = map[string]types.AttributeValue

// S is a string.
func S(v string) types.AttributeValue { return &types.AttributeValueMemberS{Value: v} }

// N is a number.
func N(v string) types.AttributeValue { return &types.AttributeValueMemberN{Value: v} }

// NewForeign returns a foreign writer of a table.
func NewForeign(t testing.TB, table string) *Foreign {
	return &Foreign{t, table, testengine.Start(t).Client()}
}

// M is a map.
func M(v Item) types.AttributeValue { return &types.AttributeValueMemberM{Value: v} }

// L is a list.
func L(v ...types.AttributeValue) types.AttributeValue {
	return &types.AttributeValueMemberL{Value: v}
}

// Put puts an item.
func (r *Foreign) Put(it Item) {
	r.Helper()
	if _, err := r.PutItem(context.Background(), &dynamodb.PutItemInput{TableName: &r.Table, Item: it}); err != nil {
		r.Fatal(err)
	}
}

// Get returns an item, nil for none.
func (r *Foreign) Get(pk, sk string) Item {
	r.Helper()
	out, err := r.GetItem(context.Background(), &dynamodb.GetItemInput{
		TableName: &r.Table, Key: Item{"PK": S(pk), "SK": S(sk)}, ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		r.Fatal(err)
	}
	return out.Item
}

// Set changes one attribute and nothing else, ignoring versions.
func (r *Foreign) Set(pk, sk, name string, v types.AttributeValue) {
	r.Helper()
	_, err := r.UpdateItem(context.Background(), &dynamodb.UpdateItemInput{
		TableName: &r.Table, Key: Item{"PK": S(pk), "SK": S(sk)}, UpdateExpression: aws.String("SET #n = :v"),
		ExpressionAttributeNames: map[string]string{"#n": name}, ExpressionAttributeValues: Item{":v": v},
	})
	if err != nil {
		r.Fatal(err)
	}
}

// All returns every item of a partition, as plain values, by sort key.
func (r *Foreign) All(pk string) map[string]map[string]any {
	r.Helper()
	out, err := r.Query(context.Background(), QueryAll(r.Table, pk))
	if err != nil {
		r.Fatal(err)
	}
	items := map[string]map[string]any{}
	for _, it := range out.Items {
		var m map[string]any
		if err := attributevalue.UnmarshalMap(it, &m); err != nil {
			r.Fatal(err)
		}
		items[m["SK"].(string)] = m
	}
	return items
}
