package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// recorder is a client that keeps the last read request. mapper.Client is an interface, so a program
// can wrap it.
type recorder struct {
	*dynamodb.Client
	last string
}

func (r *recorder) Query(ctx context.Context, in *dynamodb.QueryInput,
	options ...func(*dynamodb.Options),
) (*dynamodb.QueryOutput, error) {
	r.last = "Query " + filledIn(in)
	if in.ScanIndexForward != nil && !*in.ScanIndexForward {
		r.last += ", backward"
	}
	return r.Client.Query(ctx, in, options...)
}

func (r *recorder) GetItem(ctx context.Context, in *dynamodb.GetItemInput,
	options ...func(*dynamodb.Options),
) (*dynamodb.GetItemOutput, error) {
	r.last = fmt.Sprintf("GetItem PK = %s, SK = %s", text(in.Key["PK"]), text(in.Key["SK"]))
	return r.Client.GetItem(ctx, in, options...)
}

// filledIn returns the KeyConditionExpression of a query with its names and values filled in.
func filledIn(in *dynamodb.QueryInput) string {
	var pairs []string
	for name, attribute := range in.ExpressionAttributeNames {
		pairs = append(pairs, name, attribute)
	}
	for name, v := range in.ExpressionAttributeValues {
		pairs = append(pairs, name, text(v))
	}
	return strings.NewReplacer(pairs...).Replace(aws.ToString(in.KeyConditionExpression))
}

func text(v types.AttributeValue) string {
	if s, ok := v.(*types.AttributeValueMemberS); ok {
		return fmt.Sprintf("%q", s.Value)
	}
	return fmt.Sprint(v)
}
