package stream_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamodbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/stream"
)

// The last record of the message has a key that failed before, and the shard is open: Redrive never returns.
func TestRedriveEnds(t *testing.T) {
	t.Parallel()
	s := newScripted()
	s.write("a", 1)
	s.write("a", 2)
	router := stream.NewRouter()
	stream.On(router, kit.Must(mapper.New[kit.Account](kit.Failing{}))(t),
		func(context.Context, *stream.Change[kit.Account]) error { return errors.New("refused") })
	f := stream.Lambda(router, stream.OnFailure(func(context.Context, *stream.Record, error) {}))
	message := fmt.Sprintf(`{"DDBStreamBatchInfo": {"shardId": %q, "startSequenceNumber": "%021d",
		"endSequenceNumber": "%021d", "streamArn": %q}}`, s.shards[0].id, 1, 2, s.arn)
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	begun := time.Now()
	err := f.Redrive(ctx, s, []byte(message))
	if errors.Is(err, context.DeadlineExceeded) || time.Since(begun) > 2*time.Second {
		t.Errorf("Redrive has waited for its context, %d requests: %v", s.requests("GetRecords", ""), err)
	}
}

// The worker leaves while the drive waits after a failed read of the letters: the drive is deleted undone.
func TestDrivesContinueAfterAStop(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, client := context.Background(), testengine.Start(t).Client()
	var refuse, fail atomic.Bool
	refuse.Store(true)
	failed := make(chan struct{})
	var once sync.Once
	h := &hook{before: func(_ context.Context, op, body string) error {
		if fail.Load() && isQuery(op, body, "LETTERS#") {
			once.Do(func() { close(failed) })
			return errLost
		}
		return nil
	}}
	handle := func(context.Context, *stream.Change[kit.Account]) error {
		if refuse.Load() {
			return errors.New("refused")
		}
		return nil
	}
	c := w.hooked(h, handle, stream.KeepValues(), stream.Attempts(3, time.Millisecond, 30*time.Second))
	w.write("a", 1)
	until(t, "the letter", func() bool { return c.Stats().DeadLetters >= 1 })
	fail.Store(true)
	if err := stream.Drive(ctx, client, w.leases, "accounts", "default"); err != nil {
		t.Fatal(err)
	}
	<-failed
	time.Sleep(500 * time.Millisecond)
	c.leave() // a deployment
	<-c.ended
	refuse.Store(false)
	w.hooked(&hook{}, handle, stream.KeepValues())
	eventually(t, 5*patience(t), "the drive by the next worker", func() bool {
		all, err := stream.Letters(ctx, client, w.leases, "accounts", "default")
		return err == nil && len(all) == 0
	})
}

// failsOnce fails the first request of a kind for a stream.
type failsOnce struct {
	*scripted
	list     bool
	describe string
	once     *sync.Once
}

func (f failsOnce) ListStreams(ctx context.Context, in *dynamodbstreams.ListStreamsInput,
	o ...func(*dynamodbstreams.Options),
) (out *dynamodbstreams.ListStreamsOutput, err error) {
	if f.list {
		f.once.Do(func() { err = errors.New("ThrottlingException") })
	}
	if err != nil {
		return nil, err
	}
	return f.scripted.ListStreams(ctx, in, o...)
}

func (f failsOnce) DescribeStream(ctx context.Context, in *dynamodbstreams.DescribeStreamInput,
	o ...func(*dynamodbstreams.Options),
) (out *dynamodbstreams.DescribeStreamOutput, err error) {
	if f.describe != "" && *in.StreamArn == f.describe {
		f.once.Do(func() { err = &streamtypes.LimitExceededException{Message: aws.String("throttled")} })
	}
	if err != nil {
		return nil, err
	}
	return f.scripted.DescribeStream(ctx, in, o...)
}

func testBetween(t *testing.T, list bool) {
	t.Parallel()
	w := newWorld(t)
	first := w.begin()
	w.write("a", 1)
	until(t, "the first", func() bool { return w.c.handled() == 1 })
	first.leave()
	<-first.ended
	w.mu.Lock()
	w.older = map[string][]*scriptedShard{}
	w.mu.Unlock()
	between := ""
	for _, n := range []string{"2", "3"} {
		w.mu.Lock()
		w.older[w.arn] = w.shards
		w.shards[0].closed = true
		w.shards, w.arn = nil, w.arn[:len(w.arn)-1]+n
		if n == "2" {
			between = w.arn
		}
		w.add("", 0, 1<<32-1).id = "shardId-0000000000000000000" + n + "-new"
		w.mu.Unlock()
		w.write("a", int(n[0]-'0'))
	}
	if list {
		between = ""
	}
	svc := failsOnce{w.scripted, list, between, new(sync.Once)}
	var mu sync.Mutex
	var got []int
	r := stream.NewRouter()
	stream.On(r, kit.Must(mapper.New[kit.Account](kit.Failing{}))(t),
		func(_ context.Context, c *stream.Change[kit.Account]) error {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, c.New.Counter)
			return nil
		})
	run(t, w.consumer(r, svc, patient(t)...))
	last := func() bool { mu.Lock(); defer mu.Unlock(); return len(got) > 0 && got[len(got)-1] == 3 }
	eventually(t, 8*patience(t), "the last", last)
	time.Sleep(2 * patience(t))
	mu.Lock()
	defer mu.Unlock()
	if fmt.Sprint(got) != "[2 3]" {
		t.Errorf("handled %v: the stream between is not read, though the service has it for 24 hours", got)
	}
}

func TestListStreamsFailsOnce(t *testing.T)    { testBetween(t, true) }
func TestListingsBetweenFailOnce(t *testing.T) { testBetween(t, false) }

// A former stream has a shard that is not listed yet (a child). Its listing is throttled once, when the present stream
// is listed first. The present stream is read before the child.
func TestFormerStreamsAreFirstAfterAThrottle(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.firstShard()
	// the child of the first shard, in the former stream
	w.mu.Lock()
	w.add(w.shards[0].id, 0, 1<<32-1)
	w.mu.Unlock()
	w.write("a", 2)
	w.mu.Lock()
	former := w.arn
	w.shards[1].closed = true
	w.mu.Unlock()
	w.replace()
	w.write("a", 3)
	var mu sync.Mutex
	var got []int
	r := stream.NewRouter()
	stream.On(r, kit.Must(mapper.New[kit.Account](kit.Failing{}))(t),
		func(_ context.Context, c *stream.Change[kit.Account]) error {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, c.New.Counter)
			return nil
		})
	run(
		t,
		w.consumer(
			r,
			failsOnce{w.scripted, false, former, new(sync.Once)},
			patient(t, stream.Discover(2*time.Second))...),
	)
	eventually(t, 8*patience(t), "both", func() bool { mu.Lock(); defer mu.Unlock(); return len(got) >= 2 })
	mu.Lock()
	defer mu.Unlock()
	if fmt.Sprint(got) != "[2 3]" {
		t.Errorf("handled %v, want [2 3]", got)
	}
}

// Drive meets the end of DeleteGroup: its lease is left without a group.
func TestDrivesAddNothingToDeletedGroups(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, client := context.Background(), testengine.Start(t).Client()
	m := w.hooked(&hook{}, func(context.Context, *stream.Change[kit.Account]) error { return nil })
	until(t, "the shard", func() bool { return m.Stats().Shards == 1 })
	m.leave()
	<-m.ended
	var once sync.Once
	h := &hook{before: func(_ context.Context, op, body string) error {
		if op != "GetItem" && op != "Query" && strings.Contains(body, "SHARD#DRIVE") {
			once.Do(func() {
				if err := stream.DeleteGroup(ctx, client, w.leases, "accounts", "default"); err != nil {
					t.Error(err)
				}
			})
		}
		return nil
	}}
	err := stream.Drive(ctx, h.client(t), w.leases, "accounts", "default")
	_ = err
	items := kit.Must(client.Scan(ctx, &dynamodb.ScanInput{TableName: &w.leases}))(t).Items
	for _, it := range items {
		if text := fmt.Sprint(
			it["SK"],
		); strings.Contains(text, "DRIVE") ||
			strings.Contains(kit.Must(mapText(it))(t), "DRIVE") {
			t.Errorf("the deleted group has left: %v", kit.Must(mapText(it))(t))
		}
	}
}

func mapText(it kit.Item) (string, error) {
	out := ""
	for k, v := range it {
		out += fmt.Sprintf("%s=%v ", k, v)
		if s, ok := v.(interface{ String() string }); ok {
			out += s.String()
		}
		if s, ok := v.(*dynamodbtypes.AttributeValueMemberS); ok {
			out += s.Value + " "
		}
	}
	return out, nil
}

// An attempt shows the values of the record, and not those that an earlier attempt has changed.
func TestAttemptsShowTheRecord(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := stream.NewRouter()
	var got []string
	stream.On(r, kit.Must(mapper.New[kit.Account](kit.Failing{}))(t),
		func(_ context.Context, c *stream.Change[kit.Account]) error {
			got = append(got, fmt.Sprint(c.Old.Counter, c.New.Counter))
			c.New.Counter += 10
			c.Old.Counter += 10
			return errors.New("again")
		})
	rec := record(
		account("HEAD", 'a', kit.Item{"Counter": kit.N("1")}),
		account("HEAD", 'a', kit.Item{"Counter": kit.N("2")}),
	)
	_ = stream.Twice(ctx, r, rec)
	if len(got) != 2 || got[0] != got[1] {
		t.Errorf("attempts: %q", got)
	}
}

// An outage of the streams service of a bit more than two failover times: how long until the group reads again?
func TestOutagesSendNoWorkerAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.split(0, false)
	cuts := &cut{}
	var handled atomic.Int64
	for range 2 {
		r := stream.NewRouter()
		stream.On(r, kit.Must(mapper.New[kit.Account](kit.Failing{}))(t),
			func(context.Context, *stream.Change[kit.Account]) error { handled.Add(1); return nil })
		c := w.consumer(r, cutStreams{w.scripted, cuts}, patient(t)...)
		run(t, c)
	}
	w.write("a", 1)
	until(t, "the first", func() bool { return handled.Load() == 1 })
	time.Sleep(2 * patience(t)) // both have a shard
	cuts.set(true)
	time.Sleep(5 * patience(t) / 2)
	cuts.set(false)
	begun := time.Now()
	w.write("a", 2)
	until(t, "the second", func() bool { return handled.Load() >= 2 })
	if d := time.Since(begun); d > patience(t) {
		t.Errorf("the streams were back, and no worker has read them for %v (%.1f failover times)", d,
			float64(d)/float64(patience(t)))
	}
}

// A drive reads a letter's record from the stream, which does not answer. Handlers(1): its only slot stays free.
func TestDrivesHoldNoSlotWhileTheyRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, client := context.Background(), testengine.Start(t).Client()
	var refuse atomic.Bool
	refuse.Store(true)
	var handled atomic.Int64
	r := stream.NewRouter()
	stream.On(r, kit.Must(mapper.New[kit.Account](kit.Failing{}))(t),
		func(context.Context, *stream.Change[kit.Account]) error {
			if refuse.Load() {
				return errors.New("refused")
			}
			handled.Add(1)
			return nil
		})
	reached := make(chan struct{})
	c := w.consumer(r, limitedReads{w.scripted, reached, new(sync.Once)}, patient(t, stream.Handlers(1))...)
	run(t, c)
	w.write("a", 1)
	until(t, "the letter", func() bool { return c.Stats().DeadLetters >= 1 })
	refuse.Store(false)
	if err := stream.Drive(ctx, client, w.leases, "accounts", "default"); err != nil {
		t.Fatal(err)
	}
	<-reached
	begun := time.Now()
	w.write("b", 1)
	until(t, "the change", func() bool { return handled.Load() > 0 })
	if d := time.Since(begun); d > patience(t)/2 {
		t.Errorf("no handler was called for %v, because a drive waits for the stream", d)
	}
}

type limitedReads struct {
	stream.Streams
	reached chan struct{}
	once    *sync.Once
}

func (h limitedReads) GetRecords(ctx context.Context, in *dynamodbstreams.GetRecordsInput,
	o ...func(*dynamodbstreams.Options),
) (*dynamodbstreams.GetRecordsOutput, error) {
	if in.Limit != nil {
		h.once.Do(func() { close(h.reached); <-ctx.Done() })
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return h.Streams.GetRecords(ctx, in, o...)
}

// Timeout is for each call of a handler, also for the letter of a snapshot that is driven.
func TestDrivenSnapshotsHaveATimeout(t *testing.T) {
	t.Parallel()
	ctx, table, leases, m := accounts(t)
	client := testengine.Start(t).Client()
	kit.Must(m.Save(ctx, m.New(kit.Account{ID: "1", Counter: 1})))(t)
	var refuse atomic.Bool
	refuse.Store(true)
	limited := make(chan bool, 100)
	r := stream.NewRouter()
	stream.On(r, m, func(ctx context.Context, c *stream.Change[kit.Account]) error {
		if c.Snapshot && refuse.Load() {
			return errors.New("refused")
		}
		if c.Snapshot {
			_, ok := ctx.Deadline()
			limited <- ok
		}
		return nil
	})
	c := kit.Must(stream.NewConsumer(client, streamClient(t), table, r, patient(t, stream.Leases(leases),
		stream.WithSnapshot(), stream.Timeout(time.Second))...))(t)
	run(t, c)
	until(t, "the letter", func() bool { return c.Stats().DeadLetters >= 1 })
	refuse.Store(false)
	if err := stream.Drive(ctx, client, leases, table, "default"); err != nil {
		t.Fatal(err)
	}
	if !<-limited {
		t.Error("the context of a driven handler has no deadline")
	}
}

// One beat has no answer. There is one worker, and all later beats would succeed: its handlers are interrupted.
func TestOneLostBeatInterruptsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var hang atomic.Bool
	in := make(chan struct{})
	a := &hook{before: func(ctx context.Context, op, body string) error {
		if strings.Contains(body, "WORKERS#") && op != "Query" && hang.CompareAndSwap(true, false) {
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	}}
	var once sync.Once
	var interrupted atomic.Bool
	w.hooked(a, func(ctx context.Context, _ *stream.Change[kit.Account]) error {
		once.Do(func() { close(in) })
		select {
		case <-ctx.Done():
			interrupted.Store(true)
			return ctx.Err()
		case <-time.After(2 * patience(t)):
			return nil
		}
	})
	w.write("a", 1)
	<-in
	hang.Store(true)
	time.Sleep(3 * patience(t) / 2)
	if interrupted.Load() {
		t.Error("one beat without an answer has interrupted the handlers of the worker")
	}
}

// Letters of a stop: a change of a held shard of the new stream keeps the share, so the child of a former stream waits
// (see TestFormerStreamsAreFirstAfterAThrottle): here no request fails, the former child is listed late.
func TestLateChildrenOfFormerStreamsAreRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.firstShard()
	w.mu.Lock()
	w.add(w.shards[0].id, 0, 1<<32-1).hidden = true
	w.mu.Unlock()
	w.write("a", 2)
	w.mu.Lock()
	child := w.shards[1]
	child.closed = true
	w.mu.Unlock()
	w.replace()
	w.write("a", 3)
	var handled atomic.Int64
	r := stream.NewRouter()
	stream.On(r, kit.Must(mapper.New[kit.Account](kit.Failing{}))(t),
		func(_ context.Context, c *stream.Change[kit.Account]) error { handled.Add(1); return nil })
	run(t, w.consumer(r, w.scripted, patient(t)...))
	until(t, "the new stream", func() bool { return handled.Load() == 1 })
	w.mu.Lock()
	child.hidden = false
	w.mu.Unlock()
	eventually(t, 5*patience(t), "the late child", func() bool { return handled.Load() == 2 })
}

// hangsFor lets the listing of one stream wait for the end of its context.
type hangsFor struct {
	*scripted
	arn string
}

func (h hangsFor) DescribeStream(ctx context.Context, in *dynamodbstreams.DescribeStreamInput,
	o ...func(*dynamodbstreams.Options),
) (*dynamodbstreams.DescribeStreamOutput, error) {
	if *in.StreamArn == h.arn {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return h.scripted.DescribeStream(ctx, in, o...)
}

// A listing of a former stream that gets no answer (all of its leases are done) uses up the time of the whole listing.
func TestHangingFormerListings(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.firstShard()
	svc := hangsFor{w.scripted, w.arn}
	w.replace()
	w.write("a", 2)
	r := stream.NewRouter()
	stream.On(r, kit.Must(mapper.New[kit.Account](kit.Failing{}))(t), w.c.handle)
	run(t, w.consumer(r, svc, patient(t)...))
	eventually(t, 15*patience(t), "the change of the new stream", func() bool { return w.c.handled() == 2 })
}
