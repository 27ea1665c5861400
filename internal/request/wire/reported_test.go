package wire

import (
	"context"
	"encoding/json"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// The reported capacity is summed up by table, with indexes and vector indexes, for all who collect it, also from
// several goroutines. Without a collector nothing is allocated.
func TestReportedCapacityIsSummedByTable(t *testing.T) {
	t.Parallel()
	one := aws.Float64(1)
	c := &types.ConsumedCapacity{
		TableName: aws.String("a"), CapacityUnits: aws.Float64(2), WriteCapacityUnits: aws.Float64(2),
		Table:                  &types.Capacity{CapacityUnits: one},
		GlobalSecondaryIndexes: map[string]types.Capacity{"x": {CapacityUnits: one}},
		VectorIndexes:          map[string]types.VectorCapacity{"v": {VectorWriteRequestBytes: aws.Float64(1024)}},
	}
	ctx, outer := Collect(t.Context())
	ctx, inner := Collect(ctx)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() { Report(ctx, c) })
	}
	all.Wait()
	Report(ctx, &types.ConsumedCapacity{TableName: aws.String("b"), CapacityUnits: aws.Float64(0.5)})
	Report(ctx, nil)
	const want = `[{"TableName":"a","CapacityUnits":8,"WriteCapacityUnits":8,"Table":{"CapacityUnits":4},` +
		`"GlobalSecondaryIndexes":{"x":{"CapacityUnits":4}},"VectorIndexes":{"v":{"VectorWriteRequestBytes":4096}}},` +
		`{"TableName":"b","CapacityUnits":0.5}]`
	for _, r := range []*Reported{outer, inner} {
		if text, err := json.Marshal(r.Tables()); err != nil || string(text) != want {
			t.Errorf("%s, %v", text, err)
		}
	}
	if _, _, ok := inner.Items(); ok {
		t.Error("items of no page")
	}
	ReportPage(ctx, 2, 3)
	if count, scanned, ok := outer.Items(); count != 2 || scanned != 3 || !ok {
		t.Errorf("%d of %d, %v", count, scanned, ok)
	}
}

// A request whose context has no collector pays no allocation for it.
func TestReportAllocatesNothingWithoutCollector(t *testing.T) {
	c := &types.ConsumedCapacity{TableName: aws.String("a"), CapacityUnits: aws.Float64(2)}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if n := testing.AllocsPerRun(100, func() { Report(ctx, c); ReportPage(ctx, 1, 1) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
