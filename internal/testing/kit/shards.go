package kit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

// A shop in each phase of a change of its number of shards from 20 to 40. It knows 20; it writes 20 and
// knows 40; it writes 40 and knows 20; it knows 40.
type (
	ShopOld struct {
		_    struct{} `ddb:"table=depots,shards=20,shardby=N"`
		Shop string   `ddb:"pk=S#{Shop}#{shard}"`
		N    int      `ddb:"sk=O#{N:06}#HEAD"`
		By   string   `ddb:"sk=O#{N:06}#HEAD"`
		Line []Part   `ddb:"sk=O#{^N:06}#L#{N:02}"`
	}
	ShopExpected struct {
		_    struct{} `ddb:"table=depots,shards='20,40',shardby=N"`
		Shop string   `ddb:"pk=S#{Shop}#{shard}"`
		N    int      `ddb:"sk=O#{N:06}#HEAD"`
		By   string   `ddb:"sk=O#{N:06}#HEAD"`
		Line []Part   `ddb:"sk=O#{^N:06}#L#{N:02}"`
	}
	ShopNew struct {
		_    struct{} `ddb:"table=depots,shards='40,20',shardby=N"`
		Shop string   `ddb:"pk=S#{Shop}#{shard}"`
		N    int      `ddb:"sk=O#{N:06}#HEAD"`
		By   string   `ddb:"sk=O#{N:06}#HEAD"`
		Line []Part   `ddb:"sk=O#{^N:06}#L#{N:02}"`
	}
	ShopAfter struct {
		_    struct{} `ddb:"table=depots,shards=40,shardby=N"`
		Shop string   `ddb:"pk=S#{Shop}#{shard}"`
		N    int      `ddb:"sk=O#{N:06}#HEAD"`
		By   string   `ddb:"sk=O#{N:06}#HEAD"`
		Line []Part   `ddb:"sk=O#{^N:06}#L#{N:02}"`
	}
)

// Move moves an entity to its new shard.
func (x *Shops) Move(t *testing.T, n int) {
	ctx := context.Background()
	Must(x.C.Save(ctx, Must(x.C.Load(ctx, x.C.Key("s", n)))(t), mapper.Move()))(t)
}

// Back moves an entity to its old shard.
func (x *Shops) Back(t *testing.T, n int) {
	ctx := context.Background()
	Must(x.B.Save(ctx, Must(x.B.Load(ctx, x.B.Key("s", n)))(t), mapper.Move()))(t)
}

// MapperOf returns a mapper with a client of its own.
func (x *Shops) MapperOf(t *testing.T, f *Faulty) *mapper.Mapper[ShopExpected] {
	return Must(mapper.New[ShopExpected](Client(t, f, 1), x.Table))(t)
}

// Stored returns an entity, nil if it does not exist.
func (x *Shops) Stored(t *testing.T, n int) *ShopNew {
	e, err := x.C.Load(context.Background(), x.C.Key("s", n), mapper.Strong())
	if errors.Is(err, mapper.ErrNotFound) {
		return nil
	}
	return &Must(e, err)(t).Value
}

// CheckDeleted fails a test if a delete returned nil or ErrNotFound though the entity exists.
func (x *Shops) CheckDeleted(t *testing.T, n int, err error) {
	t.Helper()
	if x.Stored(t, n) != nil && (err == nil || errors.Is(err, mapper.ErrNotFound)) {
		t.Errorf("the entity exists, and the delete returned %v", err)
	}
}

// Tick is an entity on one of 200 shards.
type Tick struct {
	_    struct{} `ddb:"table=ticks,shards=200,shardby=N"`
	Day  string   `ddb:"pk=T#{Day}#{shard}"`
	N    int      `ddb:"sk={N:06}"`
	Text string   `ddb:"sk={N:06}"`
}

// Distant are 200 shards that answer from memory after a delay. The tick of number n is on shard n
// modulo 200, whatever the model computes, which a query does not use.
type Distant struct {
	mapper.Client
	Delay time.Duration
	Each  int // ticks of a shard

	mu                       sync.Mutex
	Requests, Limit, Largest int
	Under, Most              int // requests under way
}

// Query is the client's.
func (c *Distant) Query(ctx context.Context, in *dynamodb.QueryInput,
	_ ...func(*dynamodb.Options),
) (*dynamodb.QueryOutput, error) {
	c.mu.Lock()
	c.Requests++
	c.Under++
	c.Most = max(c.Most, c.Under)
	c.mu.Unlock()
	defer func() { c.mu.Lock(); c.Under--; c.mu.Unlock() }()
	select {
	case <-time.After(c.Delay):
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
	for ; n < c.Each && (limit == 0 || len(out.Items) < limit); n++ {
		out.Items = append(out.Items, map[string]types.AttributeValue{
			"PK":   &types.AttributeValueMemberS{Value: pk},
			"SK":   &types.AttributeValueMemberS{Value: fmt.Sprintf("%06d", n*200+shard-1)},
			"Text": &types.AttributeValueMemberS{Value: strings.Repeat("x", 1000)},
		})
	}
	if n < c.Each {
		last := out.Items[len(out.Items)-1]
		out.LastEvaluatedKey = map[string]types.AttributeValue{"PK": last["PK"], "SK": last["SK"]}
	}
	c.mu.Lock()
	c.Limit += len(out.Items)
	c.mu.Unlock()
	return out, nil
}

// Held notes how many items have been given and not been yielded.
// Held is the client's.
func (c *Distant) Held(yielded int) {
	c.mu.Lock()
	c.Largest = max(c.Largest, c.Limit-yielded)
	c.mu.Unlock()
}

// Shops are mappers of one table in each phase of a change of the number of shards.
type Shops struct {
	Table mapper.Option
	A     *mapper.Mapper[ShopOld]
	B     *mapper.Mapper[ShopExpected]
	C     *mapper.Mapper[ShopNew]
	D     *mapper.Mapper[ShopAfter]
}

// NewShops returns mappers of a table of their own.
func NewShops(t *testing.T) *Shops {
	table, client := mapper.Table(testengine.Table(t, "PK:S", "SK:S")), testengine.Start(t).Client()
	return &Shops{
		table, Must(mapper.New[ShopOld](client, table))(t), Must(mapper.New[ShopExpected](client, table))(t),
		Must(mapper.New[ShopNew](client, table))(t), Must(mapper.New[ShopAfter](client, table))(t),
	}
}

// SplitKeys returns numbers whose shards of 20 and of 40 differ.
func (x *Shops) SplitKeys(t *testing.T, count int) []int {
	var all []int
	for n := 1; len(all) < count; n++ {
		was := Must(x.A.PlanSave(x.A.New(ShopOld{Shop: "s", N: n})))(t).Items[0].Key.Partition
		if Must(x.D.PlanSave(x.D.New(ShopAfter{Shop: "s", N: n})))(t).Items[0].Key.Partition != was {
			all = append(all, n)
		}
	}
	return all
}

// sharded are models on shards: entities of one item, of several items under a prefix, of a root before
// its elements, and of items in several tables.
type (
	Event struct {
		_       struct{}  `ddb:"table=events,shards=7,shardby=OrderID"`
		At      time.Time `ddb:"pk=EVENTS#{At:date}.{shard}"`
		OrderID string    `ddb:"sk={At}#{OrderID}"`
		Text    string    `ddb:"sk={At}#{OrderID}"`
	}
	Order struct {
		_     struct{} `ddb:"table=orders,shards=5,shardby=N"`
		Shop  string   `ddb:"pk=SHOP#{Shop}#{shard}"`
		N     int      `ddb:"sk=ORDER#{N:06}#HEAD"`
		Total int      `ddb:"sk=ORDER#{N:06}#HEAD"`
		Lines []Part   `ddb:"sk=ORDER#{^N:06}#LINE#{N:02}"`
	}
	ShardedBoard struct {
		_     struct{} `ddb:"table=boards,shards=4,shardby=Name"`
		Board string   `ddb:"pk=BOARD#{Board}#{shard}"`
		Name  string   `ddb:"sk=T#{Name}"`
		Open  bool     `ddb:"sk=T#{Name}"`
		Posts []Part   `ddb:"sk=T#{^Name}#{N:02}"`
	}
	ShardedEntry struct {
		_    struct{} `ddb:"table=entries,shards=3,shardby=random"`
		Log  string   `ddb:"pk=LOG#{Log}#{shard}"`
		N    int      `ddb:"sk={N:06}"`
		Text string   `ddb:"sk={N:06}"`
	}
)

// ScatteredBy is scattered of a query.
func ScatteredBy[T any](t *testing.T, m *mapper.Mapper[T], q *query.Query[T, T], want []T) {
	t.Helper()
	ctx := context.Background()
	for _, reverse := range []bool{false, true} {
		if reverse {
			q, want = q.Reverse(), slices.Clone(want)
			slices.Reverse(want)
		}
		same := func(what string, got []T) {
			t.Helper()
			if d := cmp.Diff(want[:min(len(want), len(got))], got); d != "" {
				t.Errorf("%s, reverse %v (-want +got):\n%s", what, reverse, d)
			}
		}
		got := Must(q.Collect(ctx, m))(t)
		same("all", got)
		if n := Must(q.Count(ctx, m))(t); len(got) != len(want) || n != len(want) {
			t.Errorf("%d of %d, counted %d", len(got), len(want), n)
		}
		same("tight", Must(q.Collect(ctx, m, mapper.Concurrency(2), mapper.Memory(1)))(t))
		limits := []int{1, 7, len(want) + 1}
		for _, i := range draws.Some(draws.Seed(t), len(limits), draws.Times(1, draws.All, draws.All)) {
			n := limits[i]
			if got := Must(q.Limit(n).Collect(ctx, m))(t); len(got) != min(n, len(want)) {
				t.Errorf("%d with a limit of %d", len(got), n)
			} else {
				same(fmt.Sprint("limit ", n), got)
			}
			var paged []T
			for page := Must(q.Limit(n).Page(ctx, m))(t); ; page = Must(q.Limit(n).After(page.Next).Page(ctx, m))(t) {
				if paged = append(paged, page.Items...); len(page.Items) > n || len(paged) > len(want) {
					t.Fatalf("pages of %d have %d", n, len(paged))
				}
				if page.Next == "" {
					break
				}
			}
			if same(fmt.Sprint("pages of ", n), paged); len(paged) != len(want) {
				t.Errorf("pages of %d have %d of %d", n, len(paged), len(want))
			}
		}
	}
}
