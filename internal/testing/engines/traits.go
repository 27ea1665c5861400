package engines

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Traits reports where an engine reports consumed capacity as DynamoDB does: docs/engines.md has the differences.
type Traits struct {
	// Capacity reports whether the engine reports consumed capacity at all.
	Capacity bool
	// Transactions reports whether the units of transactions are right.
	Transactions bool
	// Misses reports whether missing keys and empty answers are charged.
	Misses bool
	// ARNs reports whether requests may name a table by its ARN.
	ARNs bool
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
	other := map[string]types.AttributeValue{"PK": &types.AttributeValueMemberS{Value: "b"}}
	w, err := client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{
		TransactItems: []types.TransactWriteItem{
			{Put: &types.Put{TableName: &name, Item: item}},
			{Put: &types.Put{TableName: &name, Item: other}},
		},
		ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	})
	if err != nil {
		return Traits{}, fmt.Errorf("probe the engine: %w", err)
	}
	g, err := client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{
		RequestItems: map[string]types.KeysAndAttributes{
			name: {Keys: []map[string]types.AttributeValue{{"PK": &types.AttributeValueMemberS{Value: "c"}}}},
		},
		ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	})
	if err != nil {
		return Traits{}, fmt.Errorf("probe the engine: %w", err)
	}
	arn := "arn:aws:dynamodb:us-east-1:000000000000:table/" + name
	_, err = client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &arn, Key: item})
	return Traits{
		ARNs: err == nil, Capacity: len(g.ConsumedCapacity) > 0, Transactions: units(w.ConsumedCapacity) == 4,
		Misses: units(g.ConsumedCapacity) == 0.5,
	}, nil
}

func units(all []types.ConsumedCapacity) float64 {
	sum := 0.0
	for _, c := range all {
		sum += aws.ToFloat64(c.CapacityUnits)
	}
	return sum
}
