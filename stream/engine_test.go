package stream_test

import (
	"context"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streams "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/google/go-cmp/cmp"

	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/stream"
)

// streamClient returns a client of the streams of the engine.
func streamClient(t testing.TB) *dynamodbstreams.Client {
	t.Helper()
	o := testengine.Start(t).Client().Options()
	return dynamodbstreams.New(dynamodbstreams.Options{
		Region: o.Region, Credentials: o.Credentials, BaseEndpoint: o.BaseEndpoint, HTTPClient: o.HTTPClient,
	})
}

// streamed makes a table with the keys PK and SK and a stream, and returns its name.
func streamed(t testing.TB) string {
	t.Helper()
	table := testengine.Table(t, "PK:S", "SK:S")
	enable(t, table)
	return table
}

func enable(t testing.TB, table string) {
	t.Helper()
	_, err := testengine.Start(t).Client().UpdateTable(context.Background(), &dynamodb.UpdateTableInput{
		TableName: &table, StreamSpecification: &types.StreamSpecification{
			StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// arnOf returns the ARN of a table's stream.
func arnOf(t testing.TB, table string) string {
	t.Helper()
	d := kit.Must(testengine.Start(t).Client().DescribeTable(context.Background(),
		&dynamodb.DescribeTableInput{TableName: &table}))(t)
	return aws.ToString(d.Table.LatestStreamArn)
}

// recordsOf reads all records of a table's stream, until several answers were empty.
func recordsOf(t testing.TB, table string) []*stream.Record {
	t.Helper()
	ctx, c, arn := context.Background(), streamClient(t), arnOf(t, table)
	d := kit.Must(c.DescribeStream(ctx, &dynamodbstreams.DescribeStreamInput{StreamArn: &arn}))(t)
	var all []*stream.Record
	for _, shard := range d.StreamDescription.Shards {
		it := kit.Must(c.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{
			StreamArn: &arn, ShardId: shard.ShardId, ShardIteratorType: streams.ShardIteratorTypeTrimHorizon,
		}))(t)
		next, empty := it.ShardIterator, 0
		for next != nil && empty < 20 {
			out := kit.Must(c.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: next}))(t)
			for i := range out.Records {
				all = append(all, kit.Must(stream.RecordOf(table, aws.ToString(shard.ShardId), &out.Records[i]))(t))
			}
			if next = out.NextShardIterator; len(out.Records) == 0 {
				empty++
				time.Sleep(10 * time.Millisecond)
			}
		}
	}
	return all
}

// view is a read model of accounts, kept by changes alone.
type view struct {
	created, deleted map[string]int
	incarnations     map[string]string // of live accounts by id
	moved            map[string]string // the incarnation after a move, by the one before
	items            map[mapper.Key]*kit.Account
	hidden           int
}

func newView() *view {
	return &view{
		map[string]int{},
		map[string]int{},
		map[string]string{},
		map[string]string{},
		map[mapper.Key]*kit.Account{},
		0,
	}
}

func (v *view) handle(_ context.Context, c *stream.Change[kit.Account]) error {
	either := c.New
	if either == nil {
		either = c.Old
	}
	switch c.EntityEvent {
	case stream.Created:
		v.created[either.ID]++
		v.incarnations[either.ID] = string(c.Incarnation)
	case stream.Deleted, stream.Expired:
		v.deleted[either.ID]++
		v.moved[string(c.Incarnation)] = string(c.Moved)
		delete(v.incarnations, either.ID)
		for k := range v.items {
			if k.Partition == c.Key.Partition {
				delete(v.items, k)
			}
		}
	}
	switch c.ItemEvent {
	case stream.Deleted, stream.Expired:
		delete(v.items, c.Key)
	default:
		v.items[c.Key] = c.New
	}
	return nil
}

// The changes of random writes say how often each account was created and deleted, and build the accounts without those
// items that a staged insert has put: WithEntity loads these.
func TestChangesOfRandomWrites(t *testing.T) {
	t.Parallel()
	ctx, table := context.Background(), streamed(t)
	seed := draws.Seed(t)
	r := rand.New(rand.NewPCG(seed, 66))
	m := kit.Must(mapper.New[kit.Account](testengine.Start(t).Client(), mapper.Table(table)))(t)
	created, deleted := map[string]int{}, map[string]int{}
	text := func() string { return strings.Repeat("x", 1+r.IntN(20)) }
	var all []*mapper.Entity[kit.Account]
	moves := 0
	for n := range draws.Times(150, 600, 3000) {
		var options []mapper.WriteOption
		if r.IntN(2) == 0 {
			options = append(options, mapper.Staged())
		}
		switch k := r.IntN(10); {
		case k < 4 || len(all) == 0:
			a := kit.Account{
				ID: strconv.Itoa(r.IntN(40)), Counter: n, Left: text(),
				Flags: map[string]bool{text(): true},
			}
			for i := range r.IntN(8) {
				a.Entries = append(a.Entries, kit.Part{N: i, Text: text()})
			}
			e := m.New(a)
			if _, err := m.Save(ctx, e, options...); err == nil {
				all = append(all, e)
				created[a.ID]++
			}
		case k < 7:
			e := all[r.IntN(len(all))]
			e.Value.Counter, e.Value.Left = r.IntN(3), text()
			e.Value.Entries = slices.DeleteFunc(e.Value.Entries, func(kit.Part) bool { return r.IntN(3) == 0 })
			e.Value.Entries = append(e.Value.Entries, kit.Part{N: 100 + n, Text: text()})
			kit.Must(m.Save(ctx, e))(t)
		case k < 8:
			e := all[r.IntN(len(all))]
			from := e.Value.ID
			e.Value.ID = "m" + strconv.Itoa(n)
			kit.Must(m.Save(ctx, e, mapper.Move()))(t)
			created[e.Value.ID]++
			deleted[from]++
			moves++
		default:
			i := r.IntN(len(all))
			kit.Must(m.Delete(ctx, all[i], options...))(t)
			deleted[all[i].Value.ID]++
			all = slices.Delete(all, i, i+1)
		}
	}
	v, whole := newView(), map[string]*kit.Account{}
	router := stream.NewRouter()
	stream.On(router, m, v.handle)
	stream.On(router, m, func(_ context.Context, c *stream.Change[kit.Account]) error {
		if c.EntityEvent == stream.Created && c.Whole != nil {
			whole[c.Whole.Value.ID] = &c.Whole.Value
		}
		return nil
	}, stream.WithEntity())
	router.Unmatched(func(_ context.Context, rec *stream.Record) error {
		t.Errorf("an unmatched record: %v", rec.Keys)
		return nil
	})
	records := recordsOf(t, table)
	if _, err := stream.HandleAll(ctx, router, records); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d records, %d moves", len(records), moves)
	if diff := cmp.Diff(created, v.created); diff != "" {
		t.Errorf("created (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(deleted, v.deleted); diff != "" {
		t.Errorf("deleted (-want +got):\n%s", diff)
	}
	linked := 0
	for _, now := range v.incarnations {
		if slices.Contains(slices.Collect(maps.Values(v.moved)), now) {
			linked++
		}
	}
	live := 0
	for _, e := range all {
		if strings.HasPrefix(e.Value.ID, "m") {
			live++
		}
		loaded := kit.Must(m.Load(ctx, m.Key(e.Value.ID)))(t)
		if got := whole[e.Value.ID]; got == nil || !reflect.DeepEqual(*got, loaded.Value) {
			t.Errorf("%s: WithEntity had %+v, want %+v", e.Value.ID, got, loaded.Value)
		}
		for _, n := range e.Value.Entries {
			k := mapper.Key{Table: table, Partition: "ACCOUNT#" + e.Value.ID, Sort: "ENTRY#" + leading(n.N)}
			if got := v.items[k]; got != nil && !cmp.Equal(got.Entries, []kit.Part{n}) || got == nil && n.N >= 100 {
				t.Errorf("%v: %+v, want %+v", k, got, n)
			}
		}
	}
	if linked != live || moves == 0 {
		t.Errorf("%d of %d moved accounts have the incarnation that their deletes predict", linked, live)
	}
	ids := func(e *mapper.Entity[kit.Account]) string { return e.Value.ID }
	var want []string
	for _, e := range all {
		want = append(want, ids(e))
	}
	slices.Sort(want)
	if got := slices.Sorted(maps.Keys(v.incarnations)); !slices.Equal(got, want) {
		t.Errorf("live accounts: %v, want %v", got, want)
	}
}

func leading(n int) string {
	s := strconv.Itoa(n)
	return strings.Repeat("0", max(0, 4-len(s))) + s
}
