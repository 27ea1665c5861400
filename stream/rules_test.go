package stream_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/itemize/itemize/field"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/stream"
)

// In a change that is Created or Deleted, each field with a value has changed. This is so, too, if an insert has
// replaced an entity with the same values, or has claimed the key before.
func TestCreatedAndDeletedHaveChangedFields(t *testing.T) {
	t.Parallel()
	counter := field.Named[kit.Account]("Counter")
	one := kit.Item{"Counter": kit.N("1")}
	claim := kit.Item{"Counter": kit.N("1"), "_s": stage("inserting")}
	for name, c := range map[string]struct {
		old, now kit.Item
		want     int
	}{
		"a replacement":   {account("HEAD", 'a', one), account("HEAD", 'b', one), 2},
		"a staged insert": {account("HEAD", 'a', claim), account("HEAD", 'a', one), 1},
		"a staged delete": {account("HEAD", 'a', one), account("HEAD", 'a',
			kit.Item{"Counter": kit.N("1"), "_s": stage("deleting")}), 1},
	} {
		m := kit.Must(mapper.New[kit.Account](kit.Failing{}))(t)
		r := stream.NewRouter()
		n := 0
		stream.On(r, m, func(_ context.Context, ch *stream.Change[kit.Account]) error {
			n++
			if !ch.Changed(counter) {
				t.Errorf("%s: %s: Counter has not changed", name, ch.EntityEvent)
			}
			return nil
		})
		if err := r.Handle(context.Background(), record(c.old, c.now)); err != nil || n != c.want {
			t.Errorf("%s: %d changes, %v", name, n, err)
		}
	}
}

// Lambda repeats a batch with a failure. The change that has failed is shown again, although its entity is deleted
// later in the batch.
func TestLambdaShowsAFailedChangeAgain(t *testing.T) {
	t.Parallel()
	rec := func(n int, sk, old string) string {
		return fmt.Sprintf(`{"dynamodb": {"SequenceNumber": "%d", "Keys": {"PK": {"S": "ACCOUNT#1"}, "SK": {"S": "%s"}},
			"OldImage": {"PK": {"S": "ACCOUNT#1"}, "SK": {"S": "%[2]s"}, "_a": {"B": "YWFhYWFhYWE="},
				%s}}}`, n, sk, old)
	}
	e := []byte(`{"Records": [` + rec(1, "ENTRY#0001", `"Text": {"S": "x"}`) + `,` + rec(2, "HEAD",
		`"Counter": {"N": "1"}`) + `]}`)
	m := kit.Must(mapper.New[kit.Account](kit.Failing{}))(t)
	var got []string
	fail := true
	r := stream.NewRouter()
	stream.On(r, m, func(_ context.Context, c *stream.Change[kit.Account]) error {
		got = append(got, c.Key.Sort)
		if fail {
			return errors.New("failed")
		}
		return nil
	})
	var failures int
	f := stream.Lambda(r, stream.OnFailure(func(_ context.Context, rec *stream.Record, err error) {
		if failures++; rec.SequenceNumber != "1" || err == nil {
			t.Errorf("failure of %s: %v", rec.SequenceNumber, err)
		}
	}))
	for range 2 {
		kit.Must(f.Handle(context.Background(), e))(t)
		fail = false
	}
	if fmt.Sprint(got) != "[ENTRY#0001 ENTRY#0001 HEAD]" || failures != 1 {
		t.Errorf("shown: %v, %d failures", got, failures)
	}
}

// Entities that a handler refuses in a snapshot, or that cannot be decoded, are dead letters. The others are shown,
// and the letters can be driven.
func TestSnapshotsHaveDeadLetters(t *testing.T) {
	t.Parallel()
	ctx, table, leases := context.Background(), streamed(t), testengine.Table(t, "PK:S", "SK:S")
	client := testengine.Start(t).Client()
	m := kit.Must(mapper.New[kit.Account](client, mapper.Table(table)))(t)
	for i := range 4 {
		kit.Must(m.Save(ctx, m.New(kit.Account{ID: strconv.Itoa(i), Counter: 1})))(t)
	}
	kit.Must(client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &table, Item: kit.Item{
		"PK": kit.S("ACCOUNT#bad"), "SK": kit.S("HEAD"), "Counter": kit.S("x"),
	}}))(t)
	var refuse atomic.Bool
	refuse.Store(true)
	var mu sync.Mutex
	shown := map[string]bool{}
	router := stream.NewRouter()
	stream.On(router, m, func(_ context.Context, c *stream.Change[kit.Account]) error {
		if !c.Snapshot {
			return nil
		}
		if c.Key.Sort != "HEAD" || c.Record.ID == "" || c.Position() != strings.Repeat("0", 40) || c.Whole == nil {
			t.Errorf("%+v", c)
		}
		if refuse.Load() && c.New.ID != "3" {
			return errors.New("refused")
		}
		mu.Lock()
		defer mu.Unlock()
		shown[c.New.ID] = true
		return nil
	})
	w := kit.Must(stream.NewConsumer(client, streamClient(t), table, router,
		quick(t, stream.Leases(leases), stream.WithSnapshot())...))(t)
	run, stop := context.WithCancel(ctx)
	var workers sync.WaitGroup
	defer workers.Wait()
	defer stop()
	workers.Go(func() { _ = w.Run(run) })
	until(t, "the letters", func() bool {
		all, _ := stream.Letters(ctx, client, leases, table, "default")
		return len(all) >= 4 && w.Stats().Handled > 0
	})
	refuse.Store(false)
	if err := stream.Drive(ctx, client, leases, table, "default"); err != nil {
		t.Fatal(err)
	}
	until(t, "the driven ones", func() bool { mu.Lock(); defer mu.Unlock(); return len(shown) == 4 })
}

// A worker that leaves beats until its handlers have returned: no other one takes its shard before.
func TestLeavingWorkersBeat(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in, out := make(chan struct{}), make(chan struct{})
	first := w.beginWith(func(ctx context.Context, _ *stream.Change[kit.Account]) error {
		close(in)
		<-out
		return ctx.Err()
	}, stream.Grace(time.Minute))
	w.write("a", 1)
	<-in
	var early atomic.Int64
	second := w.beginWith(func(context.Context, *stream.Change[kit.Account]) error { early.Add(1); return nil })
	first.leave()
	time.Sleep(3 * failover(t))
	if n := early.Load(); n != 0 || second.Stats().Shards != 0 {
		t.Errorf("another worker has handled %d changes", n)
	}
	close(out)
	<-first.ended
	w.write("a", 2)
	until(t, "the next change", func() bool { return early.Load() == 1 })
}

// A worker that could not beat for a while, and was replaced, stops to read, also where no record shows it.
func TestReplacedWorkersStop(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var first, second atomic.Int64
	a := w.beginWith(func(context.Context, *stream.Change[kit.Account]) error { first.Add(1); return nil })
	w.write("a", 1)
	until(t, "the first", func() bool { return first.Load() == 1 })
	w.beginWith(func(context.Context, *stream.Change[kit.Account]) error { second.Add(1); return nil })
	time.Sleep(100 * time.Millisecond)
	a.cut.set(true)
	time.Sleep(5 * failover(t) / 2)
	a.cut.set(false)
	time.Sleep(3 * failover(t) / 2)
	before := first.Load()
	for n := range 5 {
		w.write("b", n+1)
	}
	until(t, "the second", func() bool { return second.Load() >= 5 })
	if n := first.Load() - before; n != 0 {
		t.Errorf("the replaced worker has handled %d changes", n)
	}
}

// If a stream is replaced by a new one, its shards are read to their ends first, also those that were not listed
// before.
func TestFormerStreamsAreReadToTheirEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	counters, r := map[string]int{}, rand.New(rand.NewPCG(1, 1))
	first := w.begin()
	w.writes(counters, r, 20)
	w.check(counters)
	first.leave()
	<-first.ended
	w.split(0, false)
	w.writes(counters, r, 20)
	w.mu.Lock()
	w.former, w.shards = append([]*scriptedShard(nil), w.shards...), nil
	w.formerARN, w.arn = w.arn, w.arn+"2"
	for _, sh := range w.former {
		sh.closed = true
	}
	w.add("", 0, 1<<32-1).id = "shardId-00000000000000000099-new"
	w.mu.Unlock()
	w.writes(counters, r, 20)
	w.begin()
	w.check(counters)
}

// A request without an answer does not stop its shard for ever.
func TestRequestsWithoutAnswersEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var once sync.Once
	hanging := hangs{w.scripted, func(ctx context.Context) {
		once.Do(func() { <-ctx.Done() })
	}}
	router := stream.NewRouter()
	stream.On(router, kit.Must(mapper.New[kit.Account](kit.Failing{}))(t), w.c.handle)
	c := w.consumer(router, hanging, quick(t)...)
	w.group.Go(func() { _ = c.Run(w.ctx) })
	counters := map[string]int{}
	w.writes(counters, rand.New(rand.NewPCG(1, 1)), 10)
	w.check(counters)
}

// hangs is a service whose first answer with records is lost.
type hangs struct {
	stream.Streams
	hang func(context.Context)
}

func (h hangs) GetRecords(ctx context.Context, in *dynamodbstreams.GetRecordsInput,
	o ...func(*dynamodbstreams.Options),
) (*dynamodbstreams.GetRecordsOutput, error) {
	h.hang(ctx)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return h.Streams.GetRecords(ctx, in, o...)
}

// A driven letter has the identity of its record. A dead letter whose error wraps that of a context is reported.
func TestLettersKeepTheIdentityOfTheirRecord(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var refuse, driven atomic.Bool
	refuse.Store(true)
	var id atomic.Value
	m := w.beginWith(func(_ context.Context, c *stream.Change[kit.Account]) error {
		if refuse.Load() {
			return fmt.Errorf("the destination: %w", context.Canceled)
		}
		id.Store(c.Record.ID)
		driven.Store(true)
		return nil
	}, stream.Attempts(2, time.Millisecond, time.Millisecond), stream.KeepValues())
	w.write("a", 1)
	until(t, "the report of the letter", func() bool {
		text, _ := w.last.Load().(string)
		return m.Stats().DeadLetters == 1 && strings.Contains(text, "dead letter")
	})
	refuse.Store(false)
	if err := stream.Drive(context.Background(), testengine.Start(t).Client(), w.leases, "accounts",
		"default"); err != nil {
		t.Fatal(err)
	}
	until(t, "the drive", driven.Load)
	if id.Load() != "1" {
		t.Errorf("driven with the ID %v", id.Load())
	}
}

// A drive waits for a worker.
func TestDriveWaitsForAWorker(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	client := testengine.Start(t).Client()
	short := stream.Attempts(1, time.Millisecond, time.Millisecond)
	m := w.beginWith(func(context.Context, *stream.Change[kit.Account]) error { return errors.New("refused") }, short)
	for n := range 20 {
		w.write("a", n+1)
	}
	until(t, "the letters", func() bool { return m.Stats().DeadLetters >= 20 })
	m.kill()
	<-m.ended
	if err := stream.Drive(context.Background(), client, w.leases, "accounts", "default"); err != nil {
		t.Fatal(err)
	}
	w.begin()
	w.begin()
	until(t, "all letters", func() bool {
		all, err := stream.Letters(context.Background(), client, w.leases, "accounts", "default")
		return err == nil && len(all) == 0
	})
}

// A service that repeats an error is asked with growing pauses.
func TestRepeatedErrorsAreAnsweredWithPauses(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"expired": &types.ExpiredIteratorException{Message: aws.String("expired")},
		"trimmed": &types.TrimmedDataAccessException{Message: aws.String("trimmed")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.fail = func(operation, _ string) error {
				if operation == "GetRecords" {
					return err
				}
				return nil
			}
			w.begin()
			until(t, "a read", func() bool { return w.requests("GetRecords", "") > 0 })
			time.Sleep(300 * time.Millisecond)
			if n := w.requests("GetRecords", ""); n > 50 {
				t.Errorf("%d requests in 300 ms", n)
			}
		})
	}
}

// A worker whose listing is older than a shard and its parent does not read the shard before its parent.
func TestOldListingsDoNotHideParents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var blocked atomic.Bool
	w.fail = func(operation, _ string) error {
		if operation == "DescribeStream" && blocked.Load() {
			return errors.New("no listing")
		}
		return nil
	}
	counters, r := map[string]int{}, rand.New(rand.NewPCG(1, 1))
	m := w.begin()
	w.writes(counters, r, 10)
	w.check(counters)
	blocked.Store(true)
	w.split(0, false)
	w.writes(counters, r, 40)
	w.split(0, false)
	w.writes(counters, r, 40)
	// Another worker's listing: the lease of a grandchild, before that of its parent.
	leaf := w.shard(3)
	if err := stream.InsertLease(context.Background(), testengine.Start(t).Client(), w.leases, "accounts/default",
		leaf.id, leaf.parent, w.arn); err != nil {
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond)
	if n := m.Stats().Shards; n > 1 {
		t.Errorf("%d shards are read, the grandchild among them", n)
	}
	blocked.Store(false)
	w.check(counters)
}

// The ends of many shards are one listing, not one each.
func TestEndsOfShardsShareAListing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mu.Lock()
	for i := range uint32(100) {
		w.add("", i, i).closed = true
	}
	w.mu.Unlock()
	m := w.begin(stream.Discover(time.Hour), stream.Interval(200*time.Millisecond), stream.Failover(5*time.Second))
	until(t, "all ends", func() bool { return m.Stats().Shards == 1 && w.requests("GetRecords", "") > 100 })
	time.Sleep(100 * time.Millisecond)
	if n := w.requests("DescribeStream", ""); n > 30 {
		t.Errorf("%d listings", n)
	}
}

// Run returns nil if its context ends while it begins.
func TestRunThatEndsAtItsBeginningReturnsNil(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.begin()
	m.leave()
	<-m.ended
	if m.err != nil {
		t.Error(m.err)
	}
}

// An attempt does not show what an earlier one has loaded.
func TestRetriesLoadTheEntityAgain(t *testing.T) {
	t.Parallel()
	ctx, table := context.Background(), testengine.Table(t, "PK:S", "SK:S")
	m := kit.Must(mapper.New[kit.Account](testengine.Start(t).Client(), mapper.Table(table)))(t)
	kit.Must(m.Save(ctx, m.New(kit.Account{ID: "1", Counter: 1})))(t)
	e := kit.Must(m.Load(ctx, m.Key("1")))(t)
	raw := kit.Must(testengine.Start(t).Client().GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &table, Key: kit.Item{"PK": kit.S("ACCOUNT#1"), "SK": kit.S("HEAD")},
	}))(t)
	var seen []bool
	r := stream.NewRouter()
	stream.On(r, m, func(_ context.Context, c *stream.Change[kit.Account]) error {
		seen = append(seen, c.Whole != nil)
		if len(seen) == 1 {
			kit.Must(m.Delete(ctx, e))(t)
			return errors.New("again")
		}
		return nil
	}, stream.WithEntity())
	rec := record(nil, raw.Item)
	rec.Table = table
	if err := stream.Twice(ctx, r, rec); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(seen) != "[true false]" {
		t.Errorf("the entity was there: %v", seen)
	}
}
