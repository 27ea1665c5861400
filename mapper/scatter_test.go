package mapper_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

type tick struct {
	_    struct{} `ddb:"table=ticks,shards=200,shardby=N"`
	Day  string   `ddb:"pk=T#{Day}#{shard}"`
	N    int      `ddb:"sk={N:06}"`
	Text string   `ddb:"sk={N:06}"`
}

// distant are 200 shards that answer from memory after a delay. The tick of number n is on shard n
// modulo 200, whatever the model computes, which a query does not use.
type distant struct {
	mapper.Client
	delay time.Duration
	each  int // ticks of a shard

	mu                       sync.Mutex
	requests, limit, largest int
	under, most              int // requests under way
}

func (c *distant) Query(ctx context.Context, in *dynamodb.QueryInput,
	_ ...func(*dynamodb.Options),
) (*dynamodb.QueryOutput, error) {
	c.mu.Lock()
	c.requests++
	c.under++
	c.most = max(c.most, c.under)
	c.mu.Unlock()
	defer func() { c.mu.Lock(); c.under--; c.mu.Unlock() }()
	select {
	case <-time.After(c.delay):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	pk := in.ExpressionAttributeValues[":pk"].(*types.AttributeValueMemberS).Value
	shard, n := 0, 0
	fmt.Sscanf(pk, "T#d#%d", &shard)
	if k, ok := in.ExclusiveStartKey["SK"].(*types.AttributeValueMemberS); ok {
		fmt.Sscanf(k.Value, "%d", &n)
		n = n/200 + 1
	}
	limit, out := int(aws.ToInt32(in.Limit)), &dynamodb.QueryOutput{}
	for ; n < c.each && (limit == 0 || len(out.Items) < limit); n++ {
		out.Items = append(out.Items, map[string]types.AttributeValue{
			"PK":   &types.AttributeValueMemberS{Value: pk},
			"SK":   &types.AttributeValueMemberS{Value: fmt.Sprintf("%06d", n*200+shard-1)},
			"Text": &types.AttributeValueMemberS{Value: strings.Repeat("x", 1000)},
		})
	}
	if n < c.each {
		last := out.Items[len(out.Items)-1]
		out.LastEvaluatedKey = map[string]types.AttributeValue{"PK": last["PK"], "SK": last["SK"]}
	}
	c.mu.Lock()
	c.limit += len(out.Items)
	c.mu.Unlock()
	return out, nil
}

// held notes how many items have been given and not been yielded.
func (c *distant) held(yielded int) {
	c.mu.Lock()
	c.largest = max(c.largest, c.limit-yielded)
	c.mu.Unlock()
}

// With one concurrent request for each shard, the first result comes after one delay. A query with a
// limit asks each shard once. The buffered items are limited by Memory, and not by 200 full pages. The
// clock is the test's own.
func TestScatter(t *testing.T) {
	const delay = 500 * time.Millisecond
	for _, c := range []struct {
		name     string
		limit    int
		options  []mapper.ReadOption
		first    time.Duration // when the first result comes, at most
		parallel int
		requests [2]int
		held     int
	}{
		{
			"all", 0,
			[]mapper.ReadOption{mapper.Concurrency(200), mapper.Memory(4 << 20)},
			delay, 200,
			[2]int{5000, 7000},
			4<<10 + 200,
		},
		{"a first page", 10, []mapper.ReadOption{mapper.Concurrency(200)}, delay, 200, [2]int{200, 200}, 1000},
		{"fewer at a time", 10, []mapper.ReadOption{mapper.Concurrency(50)}, 4 * delay, 50, [2]int{200, 200}, 1000},
		{"as it comes", 0, nil, 4 * delay, 64, [2]int{600, 1500}, 32 << 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := &distant{delay: delay, each: 250}
				m := must(mapper.New[tick](client))(t)
				begun, n := time.Now(), 0
				for v, err := range query.Of[tick](m.Key("d")).Limit(c.limit).All(context.Background(), m,
					c.options...) {
					if err != nil {
						t.Fatal(err)
					}
					if took := time.Since(begun); n == 0 && took > c.first {
						t.Errorf("the first result came after %v", took)
					}
					if v.N != n {
						t.Fatalf("%d in place of %d", v.N, n)
					}
					n++
					client.held(n)
				}
				if want := max(c.limit, 50_000*(1-min(c.limit, 1))); n != want {
					t.Errorf("%d of %d", n, want)
				}
				t.Logf("%d results after %v, %d requests, %d at a time, %d items held at most", n, time.Since(begun),
					client.requests, client.most, client.largest)
				if client.requests < c.requests[0] || client.requests > c.requests[1] || client.most > c.parallel ||
					client.largest > c.held {
					t.Errorf("%d requests, %d at a time, %d items held", client.requests, client.most, client.largest)
				}
			})
		})
	}
}
