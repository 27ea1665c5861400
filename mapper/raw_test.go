package mapper_test

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/testing/testengine"
)

// raw is a foreign writer: it knows nothing of models or versions.
type raw struct {
	testing.TB
	table string
	*dynamodb.Client
}

type item = map[string]types.AttributeValue

func s(v string) types.AttributeValue { return &types.AttributeValueMemberS{Value: v} }
func n(v string) types.AttributeValue { return &types.AttributeValueMemberN{Value: v} }

func newRaw(t testing.TB, table string) *raw {
	return &raw{t, table, testengine.Start(t).Client()}
}

func m2(v item) types.AttributeValue { return &types.AttributeValueMemberM{Value: v} }
func l2(v ...types.AttributeValue) types.AttributeValue {
	return &types.AttributeValueMemberL{Value: v}
}

func (r *raw) put(it item) {
	r.Helper()
	if _, err := r.PutItem(context.Background(), &dynamodb.PutItemInput{TableName: &r.table, Item: it}); err != nil {
		r.Fatal(err)
	}
}

func (r *raw) get(pk, sk string) item {
	r.Helper()
	out, err := r.GetItem(context.Background(), &dynamodb.GetItemInput{
		TableName: &r.table, Key: item{"PK": s(pk), "SK": s(sk)}, ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		r.Fatal(err)
	}
	return out.Item
}

// set changes one attribute and nothing else, ignoring versions.
func (r *raw) set(pk, sk, name string, v types.AttributeValue) {
	r.Helper()
	_, err := r.UpdateItem(context.Background(), &dynamodb.UpdateItemInput{
		TableName: &r.table, Key: item{"PK": s(pk), "SK": s(sk)}, UpdateExpression: aws.String("SET #n = :v"),
		ExpressionAttributeNames: map[string]string{"#n": name}, ExpressionAttributeValues: item{":v": v},
	})
	if err != nil {
		r.Fatal(err)
	}
}

// all returns every item of a partition, as plain values, by sort key.
func (r *raw) all(pk string) map[string]map[string]any {
	r.Helper()
	out, err := r.Query(context.Background(), queryAll(r.table, pk))
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
