package integration

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Traits says where an engine reports capacity as DynamoDB does. DynamoDB Local
// reports 4 units for a transaction of small items, however many they are, and
// none for what is not found; dynoxide reports as DynamoDB.
type Traits struct {
	// Transactions tells that the units of transactions are right.
	Transactions bool
	// Misses tells that missing keys and empty answers cost what they cost.
	Misses bool
}

// Traits probes, once, what the engine reports.
func (e *Engine) Traits() (Traits, error) { return e.traits() }

func (e *Engine) probe() (Traits, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	name := fmt.Sprintf("itemize-probe-%d", time.Now().UnixNano())
	if err := e.CreateTable(ctx, name, "PK:S", ""); err != nil {
		return Traits{}, err
	}
	client := e.Client()
	defer func() { _ = e.DeleteTable(ctx, name) }()
	item := map[string]types.AttributeValue{"PK": &types.AttributeValueMemberS{Value: "a"}}
	w, err := client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{
		TransactItems:          []types.TransactWriteItem{{Put: &types.Put{TableName: &name, Item: item}}},
		ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	})
	if err != nil {
		return Traits{}, fmt.Errorf("probe the engine: %w", err)
	}
	g, err := client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{
		RequestItems:           map[string]types.KeysAndAttributes{name: {Keys: []map[string]types.AttributeValue{{"PK": &types.AttributeValueMemberS{Value: "b"}}}}},
		ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	})
	if err != nil {
		return Traits{}, fmt.Errorf("probe the engine: %w", err)
	}
	return Traits{Transactions: units(w.ConsumedCapacity) == 2, Misses: units(g.ConsumedCapacity) == 0.5}, nil
}

func units(all []types.ConsumedCapacity) float64 {
	sum := 0.0
	for _, c := range all {
		sum += aws.ToFloat64(c.CapacityUnits)
	}
	return sum
}
