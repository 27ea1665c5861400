package write

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Bytes of vector indexes are counted by index, and in no sum of units: also over several answers, and
// over tallies of requests that were sent at once.
func TestVectorBytesAreInNoSumOfUnits(t *testing.T) {
	t.Parallel()
	out := dynamodb.PutItemOutput{ConsumedCapacity: &types.ConsumedCapacity{
		TableName: aws.String("t"), CapacityUnits: aws.Float64(2),
		VectorIndexes: map[string]types.VectorCapacity{
			"near":   {VectorWriteRequestBytes: aws.Float64(1024)},
			"search": {VectorSearchRequestBytes: aws.Float64(512)},
		},
	}}
	var one, all Tally
	table := one.charge(t.Context(), out.ConsumedCapacity, nil) + one.charge(t.Context(), out.ConsumedCapacity, nil)
	all.AddAll([]Tally{one, one})
	if table != 4 || one.ConsumedWCU != 4 || len(one.Indexes) != 0 || len(one.Vectors) != 1 ||
		one.Vectors["t/near"] != 2048 || all.Vectors["t/near"] != 4096 {
		t.Errorf("%v units of the table, %+v, %+v", table, one, all)
	}
}
