package patterns

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// SDK is the ledger with the SDK, attributevalue and expression. It stores the items of items.go.
type SDK struct {
	client *dynamodb.Client
	table  string
}

// NewSDK returns the ledger in a table.
func NewSDK(c *dynamodb.Client, table string) *SDK { return &SDK{c, table} }

// Register stores a driver, and claims the e-mail address and the phone number.
func (l *SDK) Register(ctx context.Context, d Driver) error {
	d.Key = Key{"DRIVER#" + d.ID, "PROFILE"}
	items := []any{
		d, Claim{Key{"EMAIL#" + d.Email, "CLAIM"}, d.ID}, Claim{Key{"PHONE#" + d.Phone, "CLAIM"}, d.ID},
	}
	in := &dynamodb.TransactWriteItemsInput{}
	for _, item := range items {
		av, err := attributevalue.MarshalMap(item)
		if err != nil {
			return err
		}
		in.TransactItems = append(in.TransactItems, types.TransactWriteItem{Put: &types.Put{
			TableName: &l.table, Item: av, ConditionExpression: aws.String("attribute_not_exists(PK)"),
		}})
	}
	_, err := l.client.TransactWriteItems(ctx, in)
	var canceled *types.TransactionCanceledException
	if errors.As(err, &canceled) && slices.ContainsFunc(canceled.CancellationReasons,
		func(r types.CancellationReason) bool { return aws.ToString(r.Code) == "ConditionalCheckFailed" }) {
		return ErrTaken
	}
	return err
}

// Finish closes an open trip.
func (l *SDK) Finish(ctx context.Context, trip string, fare int) error {
	expr, err := expression.NewBuilder().
		WithUpdate(expression.Set(expression.Name("State"), expression.Value("closed")).
			Set(expression.Name("Fare"), expression.Value(fare))).
		WithCondition(expression.Name("State").Equal(expression.Value("open"))).Build()
	if err != nil {
		return err
	}
	_, err = l.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &l.table, Key: keyOf("TRIP#"+trip, "HEAD"),
		UpdateExpression: expr.Update(), ConditionExpression: expr.Condition(),
		ExpressionAttributeNames: expr.Names(), ExpressionAttributeValues: expr.Values(),
	})
	var failed *types.ConditionalCheckFailedException
	if errors.As(err, &failed) {
		return ErrNotOpen
	}
	return err
}

// Events returns a page of the events of a trip, and the cursor of the next page: a sort key.
func (l *SDK) Events(ctx context.Context, trip string, n int, after string) ([]Event, string, error) {
	expr, err := expression.NewBuilder().WithKeyCondition(expression.Key("PK").Equal(expression.Value("TRIP#" + trip)).
		And(expression.Key("SK").BeginsWith("EVENT#"))).Build()
	if err != nil {
		return nil, "", err
	}
	in := &dynamodb.QueryInput{
		TableName: &l.table, Limit: aws.Int32(int32(n)), KeyConditionExpression: expr.KeyCondition(),
		ExpressionAttributeNames: expr.Names(), ExpressionAttributeValues: expr.Values(),
	}
	if after != "" {
		in.ExclusiveStartKey = keyOf("TRIP#"+trip, after)
	}
	out, err := l.client.Query(ctx, in)
	if err != nil {
		return nil, "", err
	}
	var events []Event
	err = attributevalue.UnmarshalListOfMaps(out.Items, &events)
	if sk, ok := out.LastEvaluatedKey["SK"].(*types.AttributeValueMemberS); ok {
		return events, sk.Value, err
	}
	return events, "", err
}

// Month returns the trips of a driver in a month.
func (l *SDK) Month(ctx context.Context, driver string, year int, month time.Month) (trips []Trip, err error) {
	expr, err := expression.NewBuilder().WithKeyCondition(
		expression.Key("GSI1PK").Equal(expression.Value("DRIVER#" + driver)).
			And(expression.Key("GSI1SK").BeginsWith(fmt.Sprintf("%04d-%02d-", year, month)))).Build()
	if err != nil {
		return nil, err
	}
	pages := dynamodb.NewQueryPaginator(l.client, &dynamodb.QueryInput{
		TableName: &l.table, IndexName: aws.String("byDriver"), KeyConditionExpression: expr.KeyCondition(),
		ExpressionAttributeNames: expr.Names(), ExpressionAttributeValues: expr.Values(),
	})
	for pages.HasMorePages() {
		out, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		var page []Trip
		if err := attributevalue.UnmarshalListOfMaps(out.Items, &page); err != nil {
			return nil, err
		}
		trips = append(trips, page...)
	}
	return trips, nil
}

// keyOf returns the key of an item.
func keyOf(pk, sk string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		"PK": &types.AttributeValueMemberS{Value: pk}, "SK": &types.AttributeValueMemberS{Value: sk},
	}
}
