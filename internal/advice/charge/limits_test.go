package charge_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/advice/charge"
	"github.com/itemize/itemize/internal/testing/testengine"
)

// The engine takes as much as each limit says, and refuses one more; but dynoxide, the
// engine that reports transactions, takes any number of values of IN.
func TestLimitsOnTheEngine(t *testing.T) {
	ctx, client, table := context.Background(), testengine.Start(t).Client(), testengine.Table(t, "PK:S", "SK:S")
	key := func(i int) charge.Item { return charge.Item{"PK": str("a"), "SK": str(fmt.Sprint("key ", i))} }
	for _, c := range []struct {
		name  string
		limit int
		send  func(n int) error
	}{
		{"IN", cost.MaxIn, func(n int) error {
			values, names := charge.Item{}, make([]string, n)
			for i := range names {
				names[i] = fmt.Sprint(":v", i)
				values[names[i]] = str(names[i])
			}
			_, err := client.Scan(ctx,
				&dynamodb.ScanInput{
					TableName:                 &table,
					FilterExpression:          aws.String("a IN (" + strings.Join(names, ", ") + ")"),
					ExpressionAttributeValues: values,
				})
			return err
		}},
		{"BatchWriteItem", cost.MaxBatchWrite, func(n int) error {
			w := make([]types.WriteRequest, n)
			for i := range w {
				w[i] = types.WriteRequest{PutRequest: &types.PutRequest{Item: key(i)}}
			}
			_, err := client.BatchWriteItem(ctx,
				&dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{table: w}})
			return err
		}},
		{"BatchGetItem", cost.MaxBatchGet, func(n int) error {
			keys := make([]map[string]types.AttributeValue, n)
			for i := range keys {
				keys[i] = key(i)
			}
			_, err := client.BatchGetItem(ctx,
				&dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{table: {Keys: keys}}})
			return err
		}},
		{"an item's size", cost.MaxItem, func(n int) error {
			_, err := client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &table, Item: sizedItem("large", 0, n)})
			return err
		}},
	} {
		if err := c.send(c.limit); err != nil {
			t.Errorf("%s: %d refused: %v", c.name, c.limit, err)
		}
		if c.name == "IN" && testengine.ReportsTransactions(t) {
			continue
		}
		if err := c.send(c.limit + 1); err == nil {
			t.Errorf("%s: %d taken", c.name, c.limit+1)
		}
	}
}
