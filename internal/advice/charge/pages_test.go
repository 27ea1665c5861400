package charge_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/advice/charge"
	"github.com/itemize/itemize/internal/testing/testengine"
)

// An answer ends with the item that takes it to 1 MB or over, and each is rounded up by
// itself. 1,007 items of 1,042 bytes are the page of 128.5 RCU of published scans; a page
// that ended before the item would be 128.
func TestPagesEndAfterTheItem(t *testing.T) {
	for _, c := range []struct {
		name    string
		items   int
		bytes   int
		want    float64
		answers int
	}{
		{"nothing", 0, 0, 0.5, 1},
		{"one small item", 1, 10, 0.5, 1},
		{"below 1 MB", 1006, 1042, 128, 1},
		{"the item that crosses is part of the page", 1007, 1042, 128.5, 1},
		{"the next one is a page", 1008, 1042, 129, 2},
		{"two full pages and an item", 2015, 1042, 257.5, 3},
		{"exactly 1 MB", 16, 64 << 10, 128, 1},
		{"an item after exactly 1 MB", 17, 64 << 10, 136, 2},
		{"large items", 8, 390 << 10, 146.5 + 146.5 + 97.5, 3},
	} {
		u, answers := charge.Pages(charge.Eventual, slices.Repeat([]int{c.bytes}, c.items)...)
		if !u.Exact() || u.Min != c.want || answers != c.answers {
			t.Errorf("%s: %v RCU in %d answers; want %v in %d", c.name, u, answers, c.want, c.answers)
		}
	}
}

// sizedItem returns an item of exactly so many bytes.
func sizedItem(partition string, number, bytes int) charge.Item {
	it := charge.Item{"PK": str(partition), "SK": str(fmt.Sprintf("%06d", number)), "A": str("")}
	it["A"] = str(strings.Repeat("x", bytes-cost.ItemSize(it)))
	return it
}

// pager writes collections of equal items, and queries them.
type pager struct {
	*testing.T
	client *dynamodb.Client
	table  string
}

func (p pager) fill(partition string, items, bytes int) {
	p.Helper()
	for from := 0; from < items; from += cost.MaxBatchWrite {
		var w []types.WriteRequest
		for i := from; i < min(from+cost.MaxBatchWrite, items); i++ {
			w = append(w, types.WriteRequest{PutRequest: &types.PutRequest{Item: sizedItem(partition, i, bytes)}})
		}
		out, err := p.client.BatchWriteItem(context.Background(),
			&dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{p.table: w}})
		if err != nil || len(out.UnprocessedItems) > 0 {
			p.Fatal(err)
		}
	}
}

// query returns the number of items in each answer, and its units.
func (p pager) query(partition string) (counts []int, units []float64) {
	p.Helper()
	in := &dynamodb.QueryInput{
		TableName: &p.table, KeyConditionExpression: aws.String("PK = :p"),
		ExpressionAttributeValues: charge.Item{":p": str(partition)},
		ReturnConsumedCapacity:    types.ReturnConsumedCapacityTotal,
	}
	for {
		out, err := p.client.Query(context.Background(), in)
		if err != nil {
			p.Fatal(err)
		}
		counts = append(counts, int(out.Count))
		units = append(units, aws.ToFloat64(out.ConsumedCapacity.CapacityUnits))
		if in.ExclusiveStartKey = out.LastEvaluatedKey; in.ExclusiveStartKey == nil {
			return counts, units
		}
	}
}

// The engine ends its pages at the same items as Pages, and reports the same units. dynoxide ends a
// page before the item that crosses the limit, which DynamoDB does not. On it, recognized by the first
// collection, only the units of the pages that it returns are compared.
func TestPagesOnTheEngine(t *testing.T) {
	p := pager{t, testengine.Start(t).Client(), testengine.Table(t, "PK:S", "SK:S")}
	endsBefore := false
	for _, c := range []struct{ items, bytes int }{
		{1007, 1042},
		{1010, 1042},
		{16, 64 << 10},
		{17, 64 << 10},
		{8, 390 << 10},
	} {
		partition := fmt.Sprintf("%d of %d", c.items, c.bytes)
		p.fill(partition, c.items, c.bytes)
		counts, units := p.query(partition)
		sum := 0.0
		for i, n := range counts {
			sum += units[i]
			if want := cost.ReadUnits(n*c.bytes) / 2; units[i] != want {
				t.Errorf("%s: an answer of %d items consumed %v, predicted %v", partition, n, units[i], want)
			}
		}
		if endsBefore = endsBefore || counts[0] == 1006; endsBefore {
			continue
		}
		want, answers := charge.Pages(charge.Eventual, slices.Repeat([]int{c.bytes}, c.items)...)
		if sum != want.Min || len(counts) != answers {
			t.Errorf("%s: %v RCU in %d answers; predicted %v in %d", partition, sum, len(counts), want, answers)
		}
	}
}
