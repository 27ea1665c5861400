package stream_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/stream"
)

// "A handler ends its goroutine: as if it had failed": again with pauses.
func TestGoexitHasPauses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var first, last, n atomic.Int64
	m := w.beginWith(func(context.Context, *stream.Change[kit.Account]) error {
		now := time.Now().UnixNano()
		first.CompareAndSwap(0, now)
		last.Store(now)
		n.Add(1)
		runtime.Goexit()
		return nil
	}, stream.Attempts(6, 20*time.Millisecond, time.Minute))
	w.write("a", 1)
	until(t, "the letter", func() bool { return m.Stats().DeadLetters >= 1 })
	if d := time.Duration(last.Load() - first.Load()); d < 310*time.Millisecond {
		t.Errorf("%d attempts took %v, want 310 ms or more; %d are counted as retried", n.Load(), d, m.Stats().Retried)
	}
}

// The calls that failed before one that ends its goroutine count, too.
func TestGoexitKeepsAttempts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var n atomic.Int64
	m := w.beginWith(func(context.Context, *stream.Change[kit.Account]) error {
		if n.Add(1)%9 == 0 {
			runtime.Goexit()
		}
		return errors.New("refused")
	}, stream.Attempts(10, time.Millisecond, time.Millisecond))
	w.write("a", 1)
	until(t, "the letter", func() bool { return m.Stats().DeadLetters >= 1 })
	if n.Load() != 10 {
		t.Errorf("%d calls of the handler, want the 10 of Attempts", n.Load())
	}
}

// "A handler panics: as if it had failed". The value of the panic is an error that is a nil pointer.
func TestPanicsWithNilErrors(t *testing.T) {
	if !child(t) {
		return
	}
	w := newWorld(t)
	c := w.hooked(&hook{}, func(context.Context, *stream.Change[kit.Account]) error { panic((*nilError)(nil)) },
		stream.OnError(func(error) {}))
	w.write("a", 1)
	eventually(t, 10*patience(t), "the letter", func() bool { return c.Stats().DeadLetters >= 1 })
}

// exits is a type whose decoding ends its goroutine.
type exits struct{ S string }

func (p *exits) UnmarshalDynamoDBAttributeValue(types.AttributeValue) error {
	runtime.Goexit()
	return nil
}

func (p exits) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return &types.AttributeValueMemberS{Value: p.S}, nil
}

type leaver struct {
	_       struct{} `ddb:"table=accounts"`
	ID      string   `ddb:"pk=ACCOUNT#{ID}"`
	Counter exits    `ddb:"sk=HEAD"`
}

// A decoder that ends its goroutine: the record is never a dead letter, and is decoded again without a pause.
func TestGoexitInDecoders(t *testing.T) {
	if child(t) {
		makesALetter[leaver](t)
	}
}

// The same in a drive: the reader's goroutine ends, and Run never returns.
func TestGoexitInDecodersOfDrives(t *testing.T) {
	if !child(t) {
		return
	}
	w := newWorld(t)
	ctx, client := context.Background(), testengine.Start(t).Client()
	first := w.hooked(&hook{}, func(context.Context, *stream.Change[kit.Account]) error {
		return errors.New("refused")
	}, stream.KeepValues())
	w.write("a", 1)
	until(t, "the letter", func() bool { return first.Stats().DeadLetters >= 1 })
	first.leave()
	<-first.ended
	r := stream.NewRouter()
	stream.On(r, kit.Must(mapper.New[leaver](kit.Failing{}))(t),
		func(context.Context, *stream.Change[leaver]) error { return nil })
	c := w.consumer(r, w.scripted, patient(t, stream.OnError(func(error) {}))...)
	rctx, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() { _ = c.Run(rctx); close(ended) }()
	if err := stream.Drive(ctx, client, w.leases, "accounts", "default"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * patience(t))
	stop()
	select {
	case <-ended:
	case <-time.After(5 * time.Second):
		t.Error("Run does not return")
	}
}

// Attempts is about handlers: its pauses are not those of requests to the stream.
func TestLongAttemptsAndFailedReads(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var failed atomic.Bool
	w.fail = func(operation, _ string) error {
		if operation == "GetRecords" && !failed.Swap(true) {
			return errors.New("ProvisionedThroughputExceededException")
		}
		return nil
	}
	w.begin(stream.Attempts(2, time.Hour, 2*time.Hour))
	w.write("a", 1)
	eventually(t, 10*time.Second, "the change after one throttled read", func() bool { return w.c.handled() == 1 })
}

// The same of listings at the end of a shard. Discover is 100 ms.
func TestLongAttemptsAndListings(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.begin(stream.Attempts(2, time.Hour, 2*time.Hour))
	w.write("a", 1)
	until(t, "the first", func() bool { return w.c.handled() == 1 })
	w.split(0, true)
	until(t, "the end of the shard", func() bool { return m.Stats().Shards == 0 })
	time.Sleep(300 * time.Millisecond)
	w.show()
	w.write("a", 2)
	eventually(t, 10*time.Second, "the change of the child, listed after 100 ms", func() bool {
		return w.c.handled() == 2
	})
}

// A position is saved once an interval for a shard with progress, also after a save that has failed.
func TestFailedPositionsAreSavedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var reported atomic.Bool
	w.through(func(q *http.Request, body string) (*http.Response, error) {
		if isWrite(q) && strings.Contains(body, "SHARD#shardId") && strings.Contains(body, "000000000000000000001") &&
			!reported.Load() {
			return nil, errCut
		}
		return http.DefaultClient.Do(q)
	}, nil, w.c.handle, stream.OnError(func(err error) {
		if strings.Contains(err.Error(), "checkpoint of the shard") {
			reported.Store(true) // the table of leases can be reached again
		}
	}))
	time.Sleep(failover(t))
	w.write("a", 1)
	until(t, "the failed save", reported.Load)
	time.Sleep(20 * failover(t) / 15)
	all := kit.Must(testengine.Start(t).Client().Scan(context.Background(), &dynamodb.ScanInput{
		TableName: &w.leases, ConsistentRead: aws.Bool(true),
	}))(t)
	for _, it := range all.Items {
		if k := it["SK"].(*types.AttributeValueMemberS).Value; strings.Contains(k, "shardId") {
			if a, ok := it["After"].(*types.AttributeValueMemberS); !ok || a.Value == "" {
				t.Errorf(
					"20 intervals after the failed save the position is %q",
					it["After"].(*types.AttributeValueMemberS).Value,
				)
			}
		}
	}
}

// "Functions of the user that panic stop nothing": OnError at the beginning of Run.
func TestOnErrorPanicsInRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.begin()
	until(t, "the shard", func() bool { return m.Stats().Shards == 1 })
	m.leave()
	<-m.ended
	r := stream.NewRouter()
	stream.On(r, kit.Must(mapper.New[kit.Account](kit.Failing{}))(t), w.c.handle)
	c := kit.Must(stream.NewConsumer(
		describing{testengine.Start(t).Client(), w.scripted},
		w.scripted,
		"accounts",
		r,
		quick(
			t,
			stream.Leases(w.leases),
			stream.WithSnapshot(),
			stream.OnError(func(error) { panic("OnError") }),
		)...))(t)
	ctx, stop := context.WithTimeout(context.Background(), time.Second)
	defer stop()
	func() {
		defer func() {
			if v := recover(); v != nil {
				t.Errorf("Run has panicked: %v", v)
			}
		}()
		_ = c.Run(ctx)
	}()
	if c.Stats().Errors == 0 {
		t.Error("the error is not counted")
	}
}

// replaceStream replaces the stream of a world by a new one.
func (w *world) replaceStream(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.older == nil {
		w.older = map[string][]*scriptedShard{}
	}
	for _, sh := range w.shards {
		sh.closed = true
	}
	w.older[w.arn] = w.shards
	w.shards, w.arn = nil, w.arn[:len(w.arn)-1]+fmt.Sprint(n)
	w.add("", 0, 1<<32-1).id = fmt.Sprintf("shardId-0000000000000000000%d-new", n)
}

// services fails requests as a test says.
type services struct {
	*scripted
	list, describe func(arn string) error
}

func (f services) ListStreams(ctx context.Context, in *dynamodbstreams.ListStreamsInput,
	o ...func(*dynamodbstreams.Options),
) (*dynamodbstreams.ListStreamsOutput, error) {
	if f.list != nil {
		if err := f.list(""); err != nil {
			return nil, err
		}
	}
	return f.scripted.ListStreams(ctx, in, o...)
}

func (f services) DescribeStream(ctx context.Context, in *dynamodbstreams.DescribeStreamInput,
	o ...func(*dynamodbstreams.Options),
) (*dynamodbstreams.DescribeStreamOutput, error) {
	if f.describe != nil {
		if err := f.describe(*in.StreamArn); err != nil {
			return nil, err
		}
	}
	return f.scripted.DescribeStream(ctx, in, o...)
}

// collected collects the changes of an account.
type collected struct {
	mu  sync.Mutex
	got map[string]int
}

func (c *collected) handle(_ context.Context, x *stream.Change[kit.Account]) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.got == nil {
		c.got = map[string]int{}
	}
	c.got[fmt.Sprintf("%s%d", x.New.ID, x.New.Counter)]++
	return nil
}

func (c *collected) has(change string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.got[change] > 0
}

// "A former stream cannot be listed: the listing is repeated for four failover times": each time, and not only the
// first time in the life of a worker.
func TestListStreamsFailsLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var fail, blocked atomic.Bool
	w.fail = func(operation, _ string) error {
		if operation == "DescribeTable" && blocked.Load() {
			return errors.New("not now")
		}
		return nil
	}
	svc := services{w.scripted, func(string) error {
		if fail.Swap(false) {
			return errors.New("ThrottlingException")
		}
		return nil
	}, nil}
	var c collected
	w.through(nil, svc, c.handle)
	w.write("a", 1)
	until(t, "the first", func() bool { return c.has("a1") })
	fail.Store(true)
	w.replaceStream(2)
	w.write("a", 2)
	until(t, "the second", func() bool { return c.has("a2") })
	if fail.Load() {
		t.Fatal("no failure")
	}
	time.Sleep(5 * failover(t))
	blocked.Store(true)
	time.Sleep(300 * time.Millisecond)
	w.replaceStream(3)
	w.write("a", 3)
	w.replaceStream(4)
	w.write("a", 4)
	fail.Store(true)
	blocked.Store(false)
	until(t, "the last", func() bool { return c.has("a4") })
	eventually(t, 10*failover(t), "the change of the stream between", func() bool { return c.has("a3") })
}

// "After that, it is left out with an error each time": a stream between, which has no lease yet, too. It is read when
// it can be listed again: the service has it for 24 hours.
func TestStreamsBetweenAreReadLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var fail atomic.Bool
	fail.Store(true)
	between := w.arn[:len(w.arn)-1] + "2"
	var reports atomic.Int64
	svc := services{w.scripted, nil, func(arn string) error {
		if arn == between && fail.Load() {
			return errors.New("AccessDeniedException")
		}
		return nil
	}}
	first := w.begin()
	w.write("a", 1)
	until(t, "the first", func() bool { return w.c.handled() == 1 })
	first.leave()
	<-first.ended
	w.replaceStream(2)
	w.write("a", 2)
	w.replaceStream(3)
	w.write("a", 3)
	var c collected
	w.through(nil, svc, c.handle, stream.OnError(func(err error) {
		if strings.Contains(err.Error(), between) {
			reports.Add(1)
		}
	}))
	until(t, "the change of the new stream", func() bool { return c.has("a3") })
	time.Sleep(2 * failover(t))
	n := reports.Load()
	time.Sleep(2 * failover(t))
	if reports.Load() == n {
		t.Errorf("%d errors name the stream that is left out, and no more come", n)
	}
	fail.Store(false)
	eventually(t, 10*failover(t), "the change of the stream between", func() bool { return c.has("a2") })
}

// "The stream is replaced by a new one: one error."
func TestOneErrorForAReplacedStream(t *testing.T) {
	t.Parallel()
	for _, hidden := range []bool{false, true} {
		t.Run(fmt.Sprint("hidden ", hidden), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			var n, reports atomic.Int64
			former := w.arn
			var replaced atomic.Bool
			svc := services{w.scripted, nil, func(arn string) error {
				if !hidden && arn == former && replaced.Load() && n.Add(1) <= 3 {
					return errors.New("throttled")
				}
				return nil
			}}
			var c collected
			w.through(nil, svc, c.handle, stream.OnError(func(err error) {
				if strings.Contains(err.Error(), "was replaced") {
					reports.Add(1)
				}
			}))
			w.write("a", 1)
			until(t, "the first", func() bool { return c.has("a1") })
			w.replaceStream(2)
			w.mu.Lock()
			w.shards[0].hidden = hidden
			w.mu.Unlock()
			replaced.Store(true)
			w.write("a", 2)
			time.Sleep(2 * failover(t))
			w.show()
			until(t, "the second", func() bool { return c.has("a2") })
			if reports.Load() != 1 {
				t.Errorf("%d errors", reports.Load())
			}
		})
	}
}

// "DeleteGroup refuses while a worker beats": one that begins while it watches the counter of a dead one, too.
func TestDeleteGroupSeesNewWorkers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	client := testengine.Start(t).Client()
	c := w.begin(stream.Interval(patience(t)/15), stream.Failover(2*patience(t)))
	until(t, "the shard", func() bool { return c.Stats().Shards == 1 })
	c.kill()
	<-c.ended
	ended := make(chan error, 1)
	go func() { ended <- stream.DeleteGroup(context.Background(), client, w.leases, "accounts", "default") }()
	time.Sleep(100 * time.Millisecond)
	next := w.begin(stream.Discover(time.Hour)) // the service was not stopped, and its process begins again
	until(t, "the beat of the new worker", func() bool { return len(w.items("WORKER#")) == 2 })
	if err := <-ended; err == nil {
		t.Errorf("the group was deleted though a worker beats: %v, %d shards", w.items("WORKER#"), next.Stats().Shards)
	}
}

// Rule 7: a group that is being deleted gets no lease: Drive between its mark and its end.
func TestDrivesOfMarkedGroups(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, client := context.Background(), testengine.Start(t).Client()
	m := w.hooked(&hook{}, func(context.Context, *stream.Change[kit.Account]) error { return nil })
	until(t, "the shard", func() bool { return m.Stats().Shards == 1 })
	m.leave()
	<-m.ended
	h := &hook{before: func(_ context.Context, op, body string) error {
		if op == "TransactWriteItems" && strings.Contains(body, "STREAM#") {
			t.Log("Drive:", stream.Drive(ctx, client, w.leases, "accounts", "default"))
		}
		return nil
	}}
	if err := stream.DeleteGroup(ctx, h.client(t), w.leases, "accounts", "default"); err != nil {
		t.Fatal(err)
	}
	for _, k := range w.items("") {
		if k != "GROUPS" {
			t.Errorf("the deleted group has left: %s", k)
		}
	}
}

// A record without a time is not older than the group.
func TestRecordsWithoutATime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("a", 1)
	w.write("b", 1)
	w.mu.Lock()
	w.shards[0].records[0].Dynamodb.ApproximateCreationDateTime = nil
	w.mu.Unlock()
	var c collected
	m := w.through(nil, nil, c.handle, stream.From(time.Now().Add(-time.Hour)))
	until(t, "the second", func() bool { return c.has("b1") && m.Stats().Handled >= 2 })
	if !c.has("a1") && m.Stats().DeadLetters == 0 {
		t.Error("the position has passed a record that was neither handled nor kept")
	}
}

// Two records without a number and an ID have two letters.
func TestLettersWithoutANumber(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("a", 1)
	w.write("b", 1)
	w.write("c", 1)
	w.mu.Lock()
	for i := range 2 {
		w.shards[0].records[i].Dynamodb.SequenceNumber, w.shards[0].records[i].EventID = nil, nil
	}
	w.mu.Unlock()
	m := w.through(nil, nil, func(context.Context, *stream.Change[kit.Account]) error {
		return errors.New("refused")
	}, stream.Attempts(1, 1, 1))
	until(t, "the letters", func() bool { return m.Stats().DeadLetters >= 3 })
	all := kit.Must(stream.Letters(context.Background(), testengine.Start(t).Client(), w.leases, "accounts",
		"default"))(t)
	if len(all) != 3 {
		t.Errorf("%d letters are stored of 3", len(all))
	}
}

// Redrive: "a handler ends its goroutine: as if it had failed".
func TestRedriveAndGoexit(t *testing.T) {
	t.Parallel()
	s := newScripted()
	s.write("a", 1)
	s.write("b", 1)
	router := stream.NewRouter()
	var n atomic.Int64
	stream.On(router, kit.Must(mapper.New[kit.Account](kit.Failing{}))(t),
		func(context.Context, *stream.Change[kit.Account]) error {
			if n.Add(1) == 1 {
				runtime.Goexit()
			}
			return nil
		})
	f := stream.Lambda(router, stream.OnFailure(func(context.Context, *stream.Record, error) {}))
	message := fmt.Sprintf(`{"DDBStreamBatchInfo": {"shardId": %q, "startSequenceNumber": "%021d",
		"endSequenceNumber": "%021d", "streamArn": %q}}`, s.shards[0].id, 1, 2, s.arn)
	result := errors.New("the goroutine of Redrive's caller has ended")
	done := make(chan struct{})
	go func() {
		defer close(done)
		result = f.Redrive(context.Background(), s, []byte(message))
	}()
	<-done
	if n.Load() != 2 || result == nil || strings.Contains(result.Error(), "caller") {
		t.Errorf("%d calls, %v", n.Load(), result)
	}
}

// "Each change is handled, or is a dead letter, or is reported as trimmed": the first records of a shard that waits for
// its parent for more than 24 hours.
func TestGapsAtTheBeginning(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in, out := make(chan struct{}), make(chan struct{})
	var n atomic.Int64
	m := w.beginWith(func(context.Context, *stream.Change[kit.Account]) error {
		if n.Add(1) == 1 {
			close(in)
			<-out
		}
		return nil
	})
	w.write("a", 1)
	<-in
	w.split(0, false)
	for i := range 30 {
		w.write("a", i+2)
	}
	until(t, "the leases", func() bool { return len(w.items("SHARD#shardId")) == 3 })
	w.mu.Lock()
	for _, sh := range w.shards[1:] {
		sh.trimmed = min(20, len(sh.records))
		w.set(sh.id, "Listed", &types.AttributeValueMemberN{Value: fmt.Sprint(time.Now().Add(-25 * time.Hour).Unix())})
	}
	w.mu.Unlock()
	close(out)
	until(t, "the rest", func() bool { return n.Load() == 11 })
	until(t, "the reports", func() bool { return m.Stats().Trimmed == 2 }) // each of the two may have a gap
}

// set sets an attribute of a lease.
func (w *world) set(shard, name string, v types.AttributeValue) {
	w.t.Helper()
	kit.Must(testengine.Start(w.t).Client().UpdateItem(context.Background(), &dynamodb.UpdateItemInput{
		TableName: &w.leases, Key: kit.Item{"PK": kit.S("SHARDS#accounts/default"), "SK": kit.S("SHARD#" + shard)},
		UpdateExpression: aws.String("SET #a = :v"), ExpressionAttributeNames: map[string]string{"#a": name},
		ExpressionAttributeValues: kit.Item{":v": v},
	}))(w.t)
}

// A worker of a deleted group, cut off in the meantime, comes back: it must not read leases of the new group with the
// beginning of its own. Its next listing is up to a minute later (Discover).
func TestWorkersOfFormerGroups(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	client := testengine.Start(t).Client()
	w.mu.Lock()
	w.now = func() time.Time { return time.Now().Add(-time.Hour) }
	w.shards = nil
	w.add("", 0, 1<<31-1)
	w.add("", 1<<31, 1<<32-1)
	w.mu.Unlock()
	var c collected
	old := w.beginWith(c.handle, stream.From(time.Now().Add(-time.Minute)), stream.Discover(time.Minute))
	until(t, "the shards", func() bool { return old.Stats().Shards == 2 })
	old.cut.set(true) // a network that fails, or a machine that sleeps
	if err := func() error {
		time.Sleep(2 * failover(t))
		return stream.DeleteGroup(context.Background(), client, w.leases, "accounts", "default")
	}(); err != nil {
		t.Fatal(err)
	}
	const records = 400
	for i := range records {
		w.write(fmt.Sprint("x", i), 1)
	}
	w.beginWith(func(ctx context.Context, x *stream.Change[kit.Account]) error {
		time.Sleep(10 * time.Millisecond)
		return c.handle(ctx, x)
	}, stream.Handlers(1))
	until(t, "the new group", func() bool { c.mu.Lock(); defer c.mu.Unlock(); return len(c.got) > 0 })
	old.cut.set(false)
	eventually(t, 20*failover(t), "all records", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.got) == records
	})
	old.leave()
	<-old.ended
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.got) != records {
		t.Errorf("%d of %d changes were shown to a handler: the former worker has passed over the others; "+
			"it says %v, handled %d", len(c.got), records, old.err, old.Stats().Handled)
	}
}

// Records of Lambda whose keys are malformed are failures, and no panics.
func TestMalformedEvents(t *testing.T) {
	t.Parallel()
	router := stream.NewRouter()
	stream.On(router, kit.Must(mapper.New[kit.Account](kit.Failing{}))(t),
		func(context.Context, *stream.Change[kit.Account]) error { return nil })
	f := stream.Lambda(
		router,
		stream.OnFailure(func(context.Context, *stream.Record, error) {}),
		stream.Parallel(math.MaxInt),
	)
	for _, v := range []string{
		`null`, `{}`, `{"S": null}`, `{"S": 1}`, `{"NULL": true}`, `{"L": [null]}`, `{"M": {"a": null}}`, `{"M": null}`,
		`{"N": "x"}`, `{"N": ""}`, `{"B": "!"}`, `{"SS": []}`, `{"SS": [null]}`, `{"BOOL": 1}`, `[]`,
		`{"N": "1e999999999"}`,
	} {
		for _, name := range []string{"Keys", "OldImage", "NewImage"} {
			for _, table := range []string{"", `, "eventSourceARN": "arn:aws:dynamodb:e:1:table/accounts/stream/1"`} {
				for _, attribute := range []string{"PK", "SK", "Counter", "~x", "_v", "_s"} {
					event := fmt.Sprintf(`{"Records": [{"eventID": "1"%s, "dynamodb": {"SequenceNumber": "1",
					"Keys": {"PK": {"S": "ACCOUNT#1"}, "SK": {"S": "HEAD"}}, %q: {%q: %s}}}]}`,
						table, name, attribute, v)
					func() {
						defer func() {
							if x := recover(); x != nil {
								t.Errorf("panic %v: %s", x, event)
							}
						}()
						_, _ = f.Invoke(context.Background(), []byte(event))
					}()
				}
			}
		}
	}
}

// Rule 5: "A worker whose beats fail for its failover time stops its handlers, and begins no other". The answer to A's
// take of a lease is late. In the meantime A was silent for the failover time, B has taken the lease, and A beats
// again.
func TestLateTakesBeginNoHandlers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shards[0].hidden = true
	p := patience(t)
	var cutA, taken, inB, beaten atomic.Bool
	free := make(chan struct{})
	isBeat := func(op, body string) bool { return op != "Query" && strings.Contains(body, "WORKERS#") }
	isTake := func(op, body string) bool {
		return op == "UpdateItem" && strings.Contains(body, "SHARD#shardId")
	}
	var once sync.Once
	a := &hook{before: func(_ context.Context, op, body string) error {
		if isBeat(op, body) && cutA.Load() {
			return errLost
		}
		return nil
	}, after: func(_ context.Context, op, body string) error {
		if isBeat(op, body) && inB.Load() {
			beaten.Store(true)
		}
		if isTake(op, body) {
			once.Do(func() { taken.Store(true); <-free })
		}
		return nil
	}}
	b := &hook{before: func(_ context.Context, op, body string) error {
		if isTake(op, body) && !taken.Load() {
			return errLost
		}
		return nil
	}}
	var inA atomic.Int64
	done := make(chan struct{})
	defer close(done)
	w.hooked(a, func(context.Context, *stream.Change[kit.Account]) error { inA.Add(1); return nil })
	w.hooked(b, func(context.Context, *stream.Change[kit.Account]) error { inB.Store(true); <-done; return nil })
	until(t, "two workers", func() bool { return len(w.items("WORKER#")) == 2 })
	time.Sleep(p / 4)
	w.write("a", 1)
	cutA.Store(true)
	time.Sleep(3 * p / 4)
	w.show()
	until(t, "A's take", taken.Load)
	if !eventually(t, 3*p/2, "B's handler", inB.Load) {
		close(free)
		return
	}
	cutA.Store(false)
	eventually(t, p, "A's beat", beaten.Load)
	time.Sleep(10 * time.Millisecond)
	close(free)
	time.Sleep(p / 2)
	if n := inA.Load(); n > 0 {
		t.Errorf("A has begun %d handlers of a shard that B had taken because A was silent", n)
	}
}

// "A request has no answer: it ends after the failover time": the read of the group's item before a listing. (This test
// takes two minutes if it fails.)
func TestListingsWithoutAnswersEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var hang atomic.Bool
	var hung atomic.Int64
	h := &hook{before: func(ctx context.Context, op, body string) error {
		if op == "GetItem" && hang.CompareAndSwap(true, false) {
			hung.Add(1)
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	}}
	w.hooked(h, w.c.handle)
	w.write("a", 1)
	until(t, "the first", func() bool { return w.c.handled() == 1 })
	hang.Store(true)
	until(t, "the request", func() bool { return hung.Load() == 1 })
	begun := time.Now()
	w.split(0, false)
	w.write("a", 2)
	if !eventually(t, 5*patience(t), "the change of the child", func() bool { return w.c.handled() == 2 }) {
		until(t, "the change of the child", func() bool { return w.c.handled() == 2 })
		t.Errorf("it was handled after %v, the failover time is %v", time.Since(begun), patience(t))
	}
}

// A replaced stream is one error, also when the shards of the former one were trimmed before, because it was disabled
// for more than 24 hours. A worker runs all the time.
func TestReplacedAfterADay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var reports atomic.Int64
	w.begin(stream.OnError(func(err error) {
		if strings.Contains(err.Error(), "was replaced") {
			reports.Add(1)
		}
	}))
	w.write("a", 1)
	until(t, "the first", func() bool { return w.c.handled() == 1 })
	w.delete(0) // disabled, and trimmed a day later
	until(t, "no leases", func() bool { return len(w.items("SHARD#")) == 0 })
	w.replaceStream(2)
	w.write("a", 5)
	until(t, "the second", func() bool { return w.c.handled() == 2 })
	if reports.Load() != 1 {
		t.Errorf("%d errors about the changes that are in no stream", reports.Load())
	}
}

// observer is an observer of the mappers of leases that panics.
type observer struct{ n *atomic.Int64 }

func (o observer) Begin(ctx context.Context, _ mapper.Call) (context.Context, func(*mapper.Receipt, error)) {
	if o.n.Add(1) == 10 {
		panic("observer")
	}
	return ctx, func(*mapper.Receipt, error) {}
}

// "Functions of the user that panic stop nothing": an observer of MapperOptions.
func TestPanicsOfObservers(t *testing.T) {
	if !child(t) {
		return
	}
	w := newWorld(t)
	w.hooked(&hook{}, w.c.handle, stream.MapperOptions(nil, mapper.Observe(observer{new(atomic.Int64)})))
	w.write("a", 1)
	time.Sleep(patience(t))
	eventually(t, 10*patience(t), "the change", func() bool { return w.c.handled() == 1 })
}

// Nil arguments are errors.
func TestNilArguments(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	router := stream.NewRouter()
	for name, f := range map[string]func() error{
		"Drive":       func() error { return stream.Drive(ctx, nil, "leases", "t", "g") },
		"DeleteGroup": func() error { return stream.DeleteGroup(ctx, nil, "leases", "t", "g") },
		"Letters":     func() error { _, err := stream.Letters(ctx, nil, "leases", "t", "g"); return err },
		"Handle":      func() error { return router.Handle(ctx, nil) },
		"Invoke": func() error {
			var none context.Context
			_, err := stream.Lambda(router).Invoke(none, []byte(`{"Records": []}`))
			return err
		},
	} {
		func() {
			defer func() {
				if v := recover(); v != nil {
					t.Errorf("%s: %v", name, v)
				}
			}()
			if err := f(); err == nil {
				t.Logf("%s: no error", name)
			} else {
				t.Logf("%s: %v", name, err)
			}
		}()
	}
}

// Rules 5 and 7: the silence of a worker ends before the request whose answer shows no other beat. DeleteGroup's read
// of the workers was served at once, and its answer is late. The worker beats all the time.
func TestLateAnswersOfDeleteGroup(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := patience(t)
	c := w.hooked(&hook{}, w.c.handle, stream.Interval(p/4), stream.Failover(p))
	until(t, "the shard", func() bool { return c.Stats().Shards == 1 })
	var n atomic.Int64
	h := &hook{after: func(_ context.Context, op, body string) error {
		if isQuery(op, body, "WORKERS#") && n.Add(1) == 2 {
			time.Sleep(p + p/10)
		}
		return nil
	}}
	if err := stream.DeleteGroup(context.Background(), h.client(t), w.leases, "accounts", "default"); err == nil {
		t.Errorf("the group was deleted after %d reads of the workers, though its worker beats four times in the "+
			"failover time", n.Load())
	}
}

// "A record that always fails stops nothing": its error has a text that is no UTF-8, and the letter keeps it.
func TestErrorsOfBytes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.hooked(&hook{}, func(context.Context, *stream.Change[kit.Account]) error {
		return errors.New("refused: \xff")
	}, stream.KeepValues(), stream.Attempts(1, 1, time.Second), stream.OnError(func(error) {}))
	w.write("a", 1)
	eventually(t, 5*patience(t), "the letter", func() bool { return c.Stats().DeadLetters >= 1 })
}

// deep is an error that was wrapped often.
type deep struct{ err error }

func (d deep) Error() string { return "deep" }
func (d deep) Unwrap() error { return d.err }

// The same of an error that was wrapped very often.
func TestDeepErrors(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var err error = deep{}
	for range 30_000 {
		err = deep{err}
	}
	c := w.hooked(
		&hook{},
		func(context.Context, *stream.Change[kit.Account]) error { return err },
		stream.Attempts(1, 1, time.Second),
	)
	w.write("a", 1)
	eventually(t, 3*patience(t), "the letter", func() bool { return c.Stats().DeadLetters >= 1 })
}

// "A handler that hangs stops its shard": not a shard that no worker has. A's handlers ignore their contexts. A was
// silent, B has taken its shards, and A beats again.
func TestAbandonedReadersTakeNoShare(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mu.Lock()
	w.shards = nil
	for i := range uint32(4) {
		w.add("", i*(1<<30), i*(1<<30)+(1<<30-1))
	}
	w.mu.Unlock()
	var cutA atomic.Bool
	a := &hook{before: func(_ context.Context, op, body string) error {
		if op != "Query" && strings.Contains(body, "WORKERS#") && cutA.Load() {
			return errLost
		}
		return nil
	}}
	out := make(chan struct{})
	defer close(out)
	var inA atomic.Int64
	first := w.hooked(a, func(context.Context, *stream.Change[kit.Account]) error { inA.Add(1); <-out; return nil },
		stream.OnError(func(error) {}))
	var c collected
	second := w.hooked(&hook{}, c.handle, stream.OnError(func(error) {}))
	until(t, "equal shares", func() bool { return first.Stats().Shards == 2 && second.Stats().Shards == 2 })
	ids := strings.Split("abcdefghijklmnopqrstuvwxyz", "")
	for _, id := range ids {
		w.write(id, 1)
	}
	all := func(n int) func() bool {
		return func() bool {
			for _, id := range ids {
				if !c.has(fmt.Sprint(id, n)) {
					return false
				}
			}
			return true
		}
	}
	until(t, "handlers of A", func() bool { return inA.Load() >= 2 })
	cutA.Store(true)
	until(t, "all changes, by B", all(1))
	cutA.Store(false)
	time.Sleep(patience(t)) // B releases two shards of four
	for _, id := range ids {
		w.write(id, 2)
	}
	if !eventually(t, 3*patience(t), "the next changes", all(2)) {
		t.Logf(
			"B reads %d shards of 4; A has %d, whose leases B had taken",
			second.Stats().Shards,
			first.Stats().Shards,
		)
	}
}

// Lambda: a handler that ends its goroutine fails, and the others are called once each.
func TestGoexitInLambda(t *testing.T) {
	t.Parallel()
	for _, parallel := range []int{1, 3, 100} {
		router := stream.NewRouter()
		var mu sync.Mutex
		got := map[string]int{}
		stream.On(router, kit.Must(mapper.New[kit.Account](kit.Failing{}))(t),
			func(_ context.Context, c *stream.Change[kit.Account]) error {
				mu.Lock()
				got[c.New.ID+c.SequenceNumber]++
				mu.Unlock()
				if c.New.ID == "3" {
					runtime.Goexit()
				}
				return nil
			})
		var fails []string
		f := stream.Lambda(
			router,
			stream.Parallel(parallel),
			stream.OnFailure(func(_ context.Context, r *stream.Record, _ error) {
				fails = append(fails, r.SequenceNumber)
				runtime.Goexit()
			}),
		)
		var records []string
		for i := range 30 {
			records = append(records, fmt.Sprintf(`{"dynamodb": {"SequenceNumber": "%d",
				"Keys": {"PK": {"S": "ACCOUNT#%d"}, "SK": {"S": "HEAD"}},
				"NewImage": {"PK": {"S": "ACCOUNT#%d"}, "SK": {"S": "HEAD"}, "Counter": {"N": "%d"}}}}`,
				100+i, i%6, i%6, i))
		}
		out := kit.Must(f.Handle(context.Background(), []byte(`{"Records": [`+strings.Join(records, ",")+`]}`)))(t)
		if len(out.Failures) != 1 || out.Failures[0].SequenceNumber != "103" || len(got) != 26 ||
			fmt.Sprint(fails) != "[103]" {
			t.Errorf("%d: %+v %v %v", parallel, out.Failures, len(got), fails)
		}
	}
}

// shy is a type whose decoder returns an error with the value.
type shy struct{ S string }

func (p *shy) UnmarshalDynamoDBAttributeValue(v types.AttributeValue) error {
	return fmt.Errorf("bad %v", v.(*types.AttributeValueMemberS).Value)
}

func (p shy) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return &types.AttributeValueMemberS{Value: p.S}, nil
}

type shyAccount struct {
	_    struct{} `ddb:"table=accounts"`
	ID   string   `ddb:"pk=ACCOUNT#{ID}"`
	Name shy      `ddb:"sk=HEAD"`
	Age  int8     `ddb:"sk=HEAD"`
}

// "Without KeepValues letters have no values": of records that cannot be decoded.
func TestLettersHaveNoValues(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	client := testengine.Start(t).Client()
	r := stream.NewRouter()
	stream.On(r, kit.Must(mapper.New[shyAccount](kit.Failing{}))(t),
		func(context.Context, *stream.Change[shyAccount]) error { return nil })
	w.write("a", 1)
	w.write("b", 1)
	w.write("c", 1)
	w.mu.Lock()
	at := func(i int) map[string]streamtypes.AttributeValue { return w.shards[0].records[i].Dynamodb.NewImage }
	at(0)["Name"] = &streamtypes.AttributeValueMemberS{Value: "secret"}
	at(1)["Age"] = &streamtypes.AttributeValueMemberN{Value: "987654321"}
	at(2)["Age"] = &streamtypes.AttributeValueMemberN{Value: "9876.54321"}
	w.mu.Unlock()
	c := w.consumer(r, w.scripted, patient(t)...)
	run(t, c)
	until(t, "the letters", func() bool { return c.Stats().DeadLetters >= 3 })
	for _, l := range kit.Must(stream.Letters(context.Background(), client, w.leases, "accounts", "default"))(t) {
		if text := l.Err.Error(); strings.Contains(text, "secret") || strings.Contains(text, "9876") {
			t.Error(text)
		}
	}
}

// A slot of Handlers comes back after each end of a call: an error, a panic, Goexit, Timeout.
func TestSlotsComeBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var n atomic.Int64
	m := w.beginWith(func(ctx context.Context, c *stream.Change[kit.Account]) error {
		switch n.Add(1) % 5 {
		case 0:
			return errors.New("refused")
		case 1:
			panic("x")
		case 2:
			runtime.Goexit()
		case 3:
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	}, stream.Handlers(1), stream.Timeout(2*time.Millisecond))
	for i := range 100 {
		w.write(fmt.Sprint(i), 1)
	}
	until(t, "all", func() bool { return m.Stats().Handled >= 100 })
}

// Attempts is about handlers: a scan for a snapshot that has failed is repeated after a pause of its own.
func TestLongAttemptsAndScans(t *testing.T) {
	t.Parallel()
	ctx, table, leases, m := accounts(t)
	kit.Must(m.Save(ctx, m.New(kit.Account{ID: "1", Counter: 1})))(t)
	var reported atomic.Bool
	h := &hook{before: func(_ context.Context, op, _ string) error {
		if op == "Scan" && !reported.Load() {
			return errLost
		}
		return nil
	}}
	scanned := kit.Must(mapper.New[kit.Account](h.client(t), mapper.Table(table)))(t)
	var n atomic.Int64
	r := stream.NewRouter()
	stream.On(r, scanned, func(context.Context, *stream.Change[kit.Account]) error { n.Add(1); return nil })
	run(t, kit.Must(stream.NewConsumer(testengine.Start(t).Client(), streamClient(t), table, r,
		patient(t, stream.Leases(leases), stream.WithSnapshot(), stream.Attempts(3, time.Millisecond, time.Hour),
			stream.OnError(func(err error) { reported.Store(true) }))...))(t))
	eventually(t, 10*patience(t), "the snapshot", func() bool { return n.Load() > 0 })
}

// OnError gets "failed requests": those of a shard that can never be read, too.
func TestUnreadableShardsAreReported(t *testing.T) {
	t.Parallel()
	for _, err := range []error{
		&streamtypes.ExpiredIteratorException{Message: aws.String("expired")},
		&streamtypes.ResourceNotFoundException{Message: aws.String("missing")},
	} {
		t.Run(fmt.Sprintf("%T", err), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.fail = func(operation, _ string) error {
				if operation == "GetRecords" {
					return err
				}
				return nil
			}
			m := w.begin()
			w.write("a", 1)
			until(t, "requests", func() bool { return w.requests("GetRecords", "") > 20 })
			time.Sleep(2 * failover(t))
			if s := m.Stats(); s.Errors == 0 {
				t.Errorf("%d reads have failed, and nothing says so: %+v", w.requests("GetRecords", ""), s)
			}
		})
	}
}

type contextKey struct{}

// The context of a handler has the values of that of Run, as that of a Lambda function has.
func TestContextsHaveValues(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var value atomic.Value
	r := stream.NewRouter()
	stream.On(r, kit.Must(mapper.New[kit.Account](kit.Failing{}))(t),
		func(ctx context.Context, _ *stream.Change[kit.Account]) error {
			value.Store(fmt.Sprint(ctx.Value(contextKey{})))
			return nil
		})
	c := w.consumer(r, w.scripted, quick(t)...)
	ctx, stop := context.WithCancel(context.WithValue(context.Background(), contextKey{}, "trace"))
	ended := make(chan struct{})
	go func() { _ = c.Run(ctx); close(ended) }()
	defer func() { stop(); <-ended }()
	w.write("a", 1)
	until(t, "the change", func() bool { return value.Load() != nil })
	if value.Load() != "trace" {
		t.Errorf("the value is %v", value.Load())
	}
}

// splitNamed is split with identities that differ from those of other streams, also while workers list.
func (w *world) splitNamed(i int, hidden bool, old, arn int) {
	w.split(i, true)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, sh := range w.shards[old:] {
		sh.id += fmt.Sprintf("-s%d", arn)
		parent := sh.parent
		for _, p := range w.shards {
			if p.id == parent {
				sh.hidden = hidden || p.hidden
			}
		}
	}
}

// "A letter ... stays, with an error": one that cannot be read (of another version of the program) does not stop those
// after it.
func TestBadLettersStopNoDrive(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, client := context.Background(), testengine.Start(t).Client()
	var refuse atomic.Bool
	refuse.Store(true)
	m := w.hooked(&hook{}, func(context.Context, *stream.Change[kit.Account]) error {
		if refuse.Load() {
			return errors.New("refused")
		}
		return nil
	}, stream.KeepValues(), stream.OnError(func(error) {}))
	w.write("a", 1)
	w.write("a", 2)
	until(t, "the letters", func() bool { return m.Stats().DeadLetters >= 2 })
	refuse.Store(false)
	kit.Must(client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &w.leases, Key: kit.Item{
			"PK": kit.S("LETTERS#accounts/default"), "SK": kit.S(w.shards[0].id + "#000000000000000000001"),
		},
		UpdateExpression: aws.String("SET Attempts = :x"), ExpressionAttributeValues: kit.Item{":x": kit.S("many")},
	}))(t)
	if err := stream.Drive(ctx, client, w.leases, "accounts", "default"); err != nil {
		t.Fatal(err)
	}
	eventually(t, 3*patience(t), "the drive of the other letter", func() bool {
		return len(w.items("#000000000000000000002")) == 0
	})
}
