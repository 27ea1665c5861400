package stream_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/stream"
)

// hook sees each request to DynamoDB before it is sent, and after its answer has arrived. An error of before means
// that the request is not sent, one of after that the answer is lost.
type hook struct {
	before, after func(ctx context.Context, operation, body string) error
}

func (h *hook) Do(q *http.Request) (*http.Response, error) {
	var body []byte
	if q.Body != nil {
		body, _ = io.ReadAll(q.Body)
		q.Body = io.NopCloser(bytes.NewReader(body))
	}
	_, op, _ := strings.Cut(q.Header.Get("X-Amz-Target"), ".")
	if h.before != nil {
		if err := h.before(q.Context(), op, string(body)); err != nil {
			return nil, err
		}
	}
	r, err := http.DefaultClient.Do(q)
	if err == nil && h.after != nil {
		if err := h.after(q.Context(), op, string(body)); err != nil {
			_ = r.Body.Close()
			return nil, err
		}
	}
	return r, err
}

func (h *hook) client(t *testing.T) *dynamodb.Client {
	return dynamodb.New(testengine.Start(t).Client().Options(), func(o *dynamodb.Options) {
		o.HTTPClient = h
		o.Retryer = aws.NopRetryer{}
	})
}

// patience is the failover time of tests in which workers must not lose leases because a machine is busy.
func patience(t testing.TB) time.Duration { return max(2*time.Second, failover(t)) }

func patient(t testing.TB, more ...stream.ConsumerOption) []stream.ConsumerOption {
	return append(quick(t, stream.Interval(patience(t)/15), stream.Failover(patience(t))), more...)
}

var errLost = errors.New("the answer is lost")

// hooked starts a worker of a world behind a hook.
func (w *world) hooked(h *hook, handle func(context.Context, *stream.Change[kit.Account]) error,
	more ...stream.ConsumerOption,
) *process {
	w.t.Helper()
	return w.worker(describing{h.client(w.t), w.scripted}, w.scripted, handle, patient(w.t, more...)...)
}

// eventually is until with a short time.
func eventually(t *testing.T, d time.Duration, what string, done func() bool) bool {
	t.Helper()
	for end := time.Now().Add(d); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("not within %v: %s", d, what)
			return false
		}
	}
	return true
}

func isQuery(op, body, partition string) bool {
	return op == "Query" && strings.Contains(body, partition)
}

// Rule 5: only leases of a worker that was watched for the failover time are free. B reads the workers. Then A begins,
// beats, and takes the lease. Then B reads the leases: their owner is no worker that B knows.
func TestNewWorkersKeepTheirLeases(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var armed atomic.Bool
	reached, free := make(chan struct{}), make(chan struct{})
	var once sync.Once
	b := &hook{before: func(_ context.Context, op, body string) error {
		// coordinate reads the workers, then the leases. (a listing reads the leases, too: it begins with them)
		if armed.Load() && isQuery(op, body, "SHARDS#") {
			once.Do(func() {
				close(reached)
				<-free
			})
		}
		return nil
	}}
	var inB atomic.Bool
	w.hooked(b, func(context.Context, *stream.Change[kit.Account]) error { inB.Store(true); return nil },
		stream.Discover(time.Hour))
	// Until A comes, B must not have the shard: it has none yet.
	w.mu.Lock()
	w.shards[0].hidden = true
	w.mu.Unlock()
	time.Sleep(200 * time.Millisecond)
	armed.Store(true)
	<-reached
	w.show()
	inA, out := make(chan struct{}), make(chan struct{})
	var a2 sync.Once
	w.hooked(&hook{}, func(ctx context.Context, _ *stream.Change[kit.Account]) error {
		a2.Do(func() { close(inA) })
		<-out
		return nil
	})
	w.write("a", 1)
	<-inA // A lives, beats, and has the lease
	close(free)
	time.Sleep(2 * patience(t))
	if inB.Load() {
		t.Error("B handles the change that the living A is handling: it has taken the lease of a live worker")
	}
	close(out)
}

// Rule 5, late answers: B's read of the workers was served at once, and its answer is late. A has beaten all the time.
func TestLateAnswersKillNoWorker(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	inA, out := make(chan struct{}), make(chan struct{})
	var once sync.Once
	w.hooked(&hook{}, func(context.Context, *stream.Change[kit.Account]) error {
		once.Do(func() { close(inA) })
		<-out
		return nil
	}, stream.Interval(patience(t)/3))
	w.write("a", 1)
	<-inA
	var armed atomic.Bool
	var inB atomic.Bool
	n := 0
	b := &hook{after: func(_ context.Context, op, body string) error {
		if armed.Load() && isQuery(op, body, "WORKERS#") {
			if n++; n%4 == 0 {
				time.Sleep(patience(t) * 85 / 100)
			}
		}
		return nil
	}}
	w.hooked(b, func(context.Context, *stream.Change[kit.Account]) error { inB.Store(true); return nil })
	time.Sleep(2 * patience(t))
	if inB.Load() {
		t.Fatal("too early")
	}
	armed.Store(true)
	for range 4 {
		if time.Sleep(patience(t)); inB.Load() {
			break
		}
	}
	if inB.Load() {
		t.Error("B handles the change that the living A is handling: a late answer has counted as A's silence")
	}
	close(out)
}

// Rule 3: A takes a lease, and the answer is lost. A has its share without it, so that it does not take it again, and
// others see a living owner.
func TestALostTakeDoesNotStallItsShard(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mu.Lock()
	w.shards = nil
	for i := range uint32(3) {
		w.add("", i*(1<<30), (i+1)*(1<<30)-1)
	}
	w.shards[2].high = 1<<32 - 1
	w.mu.Unlock()
	counters := map[string]int{}
	var mu sync.Mutex
	shard := "" // whose take was applied without an answer: the requests that follow fail for a while
	var ready atomic.Bool
	taking := func(op, body string) string {
		if _, rest, ok := strings.Cut(body, "SHARD#shardId"); ok && op != "PutItem" && op != "Query" {
			return rest[:29]
		}
		return ""
	}
	a := &hook{before: func(_ context.Context, op, body string) error {
		mu.Lock()
		defer mu.Unlock()

		if of := taking(op, body); of != "" && of == shard && !ready.Load() {
			return errLost
		}
		return nil
	}, after: func(_ context.Context, op, body string) error {
		mu.Lock()
		defer mu.Unlock()
		if of := taking(op, body); of != "" && shard == "" {
			shard = of
			return errLost
		}
		return nil
	}}
	// B beats, too, so that the share is two shards. Its requests to take one fail until A has two.
	b := &hook{before: func(_ context.Context, op, body string) error {
		if op == "UpdateItem" && strings.Contains(body, "SHARD#shardId") && !ready.Load() {
			return errLost
		}
		return nil
	}}
	w.mu.Lock()
	for _, sh := range w.shards {
		sh.hidden = true
	}
	w.mu.Unlock()
	first := w.hooked(a, w.c.handle)
	w.hooked(b, w.c.handle)
	time.Sleep(2 * patience(t))
	w.show()
	until(t, "A's share", func() bool { return first.Stats().Shards == 2 })
	ready.Store(true)
	for _, id := range strings.Split("abcdefghijklmnopqrstuvwxyz", "") {
		counters[id]++
		w.write(id, 1)
	}
	if !eventually(t, 10*patience(t), "all changes", func() bool { return w.c.handled() == total(counters) }) {
		mu.Lock()
		t.Logf("%d of %d changes handled, the shard %s is read by nobody", w.c.handled(), total(counters), shard)
		mu.Unlock()
	}
}

// Rule 5: "A worker whose beats fail for that long stops its handlers." Here they hang: no answer comes. A's handler
// obeys its context and each call of it is short.
func TestHangingBeatsStopHandlers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var hang atomic.Bool
	a := &hook{before: func(ctx context.Context, op, body string) error {
		if hang.Load() && strings.Contains(body, "WORKERS#") && op != "Query" {
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	}}
	var inB atomic.Bool
	var after atomic.Int64
	var lastA atomic.Int64
	var firstB atomic.Int64
	w.hooked(a, func(ctx context.Context, _ *stream.Change[kit.Account]) error {
		if inB.Load() {
			after.Add(1)
			lastA.Store(time.Now().UnixNano())
		}
		select {
		case <-time.After(2 * time.Millisecond):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}, stream.Interval(patience(t)/2))
	until(t, "the shard", func() bool { return w.requests("GetRecords", "") > 0 })
	time.Sleep(patience(t) / 2)
	w.hooked(&hook{}, func(ctx context.Context, _ *stream.Change[kit.Account]) error {
		if !inB.Swap(true) {
			firstB.Store(time.Now().UnixNano())
		}
		<-ctx.Done()
		return ctx.Err()
	}, stream.Interval(patience(t)/15), stream.Grace(time.Millisecond))
	time.Sleep(2 * patience(t))
	for n := range 2000 { // one answer, one account: 4 seconds
		w.write("a", n+1)
	}
	hang.Store(true)
	until(t, "B", inB.Load)
	time.Sleep(3 * patience(t))
	if n := after.Load(); n > 0 {
		t.Errorf("A has begun %d handlers after B had begun the first, up to %v later", n,
			time.Duration(lastA.Load()-firstB.Load()))
	}
}

// workers whose options differ, as during a deployment that makes the intervals shorter.
func TestWorkersWithOtherIntervalsAreNotDead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	inA, out := make(chan struct{}), make(chan struct{})
	var once sync.Once
	w.hooked(&hook{}, func(context.Context, *stream.Change[kit.Account]) error {
		once.Do(func() { close(inA) })
		<-out
		return nil
	}, stream.Interval(3*patience(t)), stream.Failover(18*patience(t)))
	w.write("a", 1)
	<-inA
	var inB atomic.Bool
	w.hooked(&hook{}, func(context.Context, *stream.Change[kit.Account]) error { inB.Store(true); return nil })
	time.Sleep(3 * patience(t))
	if inB.Load() {
		t.Error("B handles the change that the living A is handling: A beats slower than B's failover time")
	}
	close(out)
}

// A staged insert whose claim is written twice (a client that cannot be watched, staging.repeatRoot) shows all later
// changes of its items.
func TestClaimsThatAreRepeatedAreNotDeletions(t *testing.T) {
	t.Parallel()
	claim := account("HEAD", 'a', kit.Item{"Counter": kit.N("1"), "_s": stage("inserting"), "_v": kit.N("1")})
	again := account("HEAD", 'a', kit.Item{"Counter": kit.N("1"), "_s": stage("inserting"), "_v": kit.N("2")})
	live := account("HEAD", 'a', kit.Item{"Counter": kit.N("1"), "_v": kit.N("3")})
	part := account("ENTRY#0001", 'a', kit.Item{"Text": kit.S("x")})
	changed := account("ENTRY#0001", 'a', kit.Item{"Text": kit.S("y")})
	got := events(t, record(nil, claim), record(claim, again), record(again, live), record(nil, part),
		record(part, changed))
	want := events(t, record(nil, claim), record(claim, live), record(nil, part), record(part, changed))
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("shown: %q\nwithout the repetition: %q", got, want)
	}
}

// The same on an engine: the client is a wrapper that does not pass options.
func TestClaimsThatAreRepeatedOnAnEngine(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	client := testengine.Start(t).Client()
	shown := func(c mapper.Client) string {
		table := streamed(t)
		m := kit.Must(mapper.New[kit.Account](c, mapper.Table(table)))(t)
		e := m.New(kit.Account{ID: "1", Counter: 1, Left: "x"})
		kit.Must(m.Save(ctx, e, mapper.Staged()))(t)
		e.Value.Left = "y"
		e.Value.Entries = []kit.Part{{N: 1, Text: "x"}}
		kit.Must(m.Save(ctx, e))(t)
		r := stream.NewRouter()
		var got []string
		stream.On(r, m, func(_ context.Context, c *stream.Change[kit.Account]) error {
			got = append(got, c.Key.Sort+" "+string(c.ItemEvent))
			return nil
		})
		kit.Must(stream.HandleAll(ctx, r, recordsOf(t, table)))(t)
		slices.Sort(got)
		return strings.Join(got, ", ")
	}
	if got, want := shown(kit.Unwatched{C: client}), shown(client); got != want {
		t.Errorf("shown: %s\nwith a client that passes options: %s", got, want)
	}
}

// accounts returns a table with a stream, a table of leases, and a mapper.
func accounts(t *testing.T) (ctx context.Context, table, leases string, m *mapper.Mapper[kit.Account]) {
	table, leases = streamed(t), testengine.Table(t, "PK:S", "SK:S")
	return context.Background(), table, leases,
		kit.Must(mapper.New[kit.Account](testengine.Start(t).Client(), mapper.Table(table)))(t)
}

// run runs a consumer until the test ends.
func run(t *testing.T, c *stream.Consumer) (leave func()) {
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { _ = c.Run(ctx); close(ended) }()
	t.Cleanup(func() { stop(); <-ended })
	return func() { stop(); <-ended }
}

// hangOnce lets the first request that matches wait for the end of its context.
func hangOnce(match func(op, body string) bool) *hook {
	var once sync.Once
	return &hook{before: func(ctx context.Context, op, body string) (err error) {
		if match(op, body) {
			once.Do(func() { <-ctx.Done(); err = ctx.Err() })
		}
		return err
	}}
}

// Rule 3: "a request without an answer stops nothing": the scan of a snapshot.
func TestScansWithoutAnswersEnd(t *testing.T) {
	t.Parallel()
	ctx, table, leases, m := accounts(t)
	kit.Must(m.Save(ctx, m.New(kit.Account{ID: "1", Counter: 1})))(t)
	h := hangOnce(func(op, _ string) bool { return op == "Scan" })
	scanned := kit.Must(mapper.New[kit.Account](h.client(t), mapper.Table(table)))(t)
	var n atomic.Int64
	r := stream.NewRouter()
	stream.On(r, scanned, func(context.Context, *stream.Change[kit.Account]) error { n.Add(1); return nil })
	run(t, kit.Must(stream.NewConsumer(testengine.Start(t).Client(), streamClient(t), table, r,
		patient(t, stream.Leases(leases), stream.WithSnapshot())...))(t))
	eventually(t, 10*patience(t), "the snapshot, or a record", func() bool { return n.Load() > 0 })
}

// Rule 3: the put of a dead letter.
func TestLettersWithoutAnswersEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var seen atomic.Int64
	w.hooked(hangOnce(func(op, body string) bool { return op == "PutItem" && strings.Contains(body, "LETTERS#") }),
		func(_ context.Context, c *stream.Change[kit.Account]) error {
			if c.New.Counter == 1 {
				return errors.New("refused")
			}
			seen.Add(1)
			return nil
		})
	w.write("a", 1)
	w.write("a", 2)
	eventually(t, 10*patience(t), "the next change", func() bool { return seen.Load() > 0 })
}

// hangsLimited is a service whose first answer to a read of one record is lost.
type hangsLimited struct {
	stream.Streams
	once *sync.Once
}

func (h hangsLimited) GetRecords(ctx context.Context, in *dynamodbstreams.GetRecordsInput,
	o ...func(*dynamodbstreams.Options),
) (*dynamodbstreams.GetRecordsOutput, error) {
	if in.Limit != nil {
		h.once.Do(func() { <-ctx.Done() })
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return h.Streams.GetRecords(ctx, in, o...)
}

// Rule 3: the read of a record of a letter. Later calls of Drive have no effect.
func TestDrivesWithoutAnswersEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var refuse atomic.Bool
	refuse.Store(true)
	r := stream.NewRouter()
	stream.On(r, kit.Must(mapper.New[kit.Account](kit.Failing{}))(t),
		func(context.Context, *stream.Change[kit.Account]) error {
			if refuse.Load() {
				return errors.New("refused")
			}
			return nil
		})
	client := testengine.Start(t).Client()
	c := w.consumer(r, hangsLimited{w.scripted, new(sync.Once)}, patient(t)...)
	run(t, c)
	w.write("a", 1)
	until(t, "the letter", func() bool { return c.Stats().DeadLetters >= 1 })
	refuse.Store(false)
	eventually(t, 10*patience(t), "the drive", func() bool {
		if err := stream.Drive(context.Background(), client, w.leases, "accounts", "default"); err != nil {
			t.Fatal(err)
		}
		all, err := stream.Letters(context.Background(), client, w.leases, "accounts", "default")
		return err == nil && len(all) == 0
	})
}

// a DeleteGroup that fails in its middle can be repeated, and the next group begins at its beginning.
func TestDeleteGroupCanBeRepeated(t *testing.T) {
	t.Parallel()
	ctx, table, leases, m := accounts(t)
	kit.Must(m.Save(ctx, m.New(kit.Account{ID: "1", Counter: 1})))(t)
	client := testengine.Start(t).Client()
	var shown atomic.Int64
	r := stream.NewRouter()
	stream.On(r, m, func(_ context.Context, c *stream.Change[kit.Account]) error {
		if c.Snapshot {
			shown.Add(1)
		}
		return nil
	})
	begin := func() func() {
		return run(t, kit.Must(stream.NewConsumer(client, streamClient(t), table, r,
			patient(t, stream.Leases(leases), stream.WithSnapshot())...))(t))
	}
	leave := begin()
	until(t, "the snapshot", func() bool { return shown.Load() == 1 })
	time.Sleep(100 * time.Millisecond)
	leave()
	h := &hook{before: func(_ context.Context, op, body string) (err error) {
		if op == "TransactWriteItems" && strings.Contains(body, "SHARD#SNAPSHOT") {
			return errLost
		}
		return nil
	}}
	if err := stream.DeleteGroup(ctx, h.client(t), leases, table, "default"); err == nil {
		t.Log("the first DeleteGroup had no error")
	} else if err := stream.DeleteGroup(ctx, client, leases, table, "default"); err != nil {
		t.Errorf("the second DeleteGroup: %v", err)
	}
	begin()
	eventually(t, 10*patience(t), "the second snapshot", func() bool { return shown.Load() == 2 })
}

// The same where the item of the group is deleted, and the name in the list of readers is not.
func TestDeleteGroupFreesItsPlace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, client := context.Background(), testengine.Start(t).Client()
	for _, g := range []string{"one", "two"} {
		m := w.begin(stream.Group(g))
		until(t, g, func() bool { return m.Stats().Shards == 1 })
		m.leave()
		<-m.ended
	}
	h := &hook{before: func(_ context.Context, op, body string) error {
		if op == "TransactWriteItems" && strings.Contains(body, "STREAM#") {
			return errLost
		}
		return nil
	}}
	if err := stream.DeleteGroup(ctx, h.client(t), w.leases, "accounts", "one"); err == nil {
		t.Fatal("no error")
	}
	if err := stream.DeleteGroup(ctx, client, w.leases, "accounts", "one"); err != nil {
		t.Errorf("again: %v", err)
	}
	m := w.begin(stream.Group("three"))
	select {
	case <-m.ended:
		t.Errorf("the third group: %v", m.err)
	case <-time.After(patience(t)):
	}
}

// A Drive that is asked for while another one runs handles the letters that the running one has passed.
func TestDrivesAreRepeatedOnRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, client := context.Background(), testengine.Start(t).Client()
	var phase atomic.Int64
	in, out := make(chan struct{}), make(chan struct{})
	var once sync.Once
	c := w.hooked(&hook{}, func(_ context.Context, c *stream.Change[kit.Account]) error {
		switch {
		case phase.Load() == 0:
			return errors.New("refused")
		case phase.Load() == 1 && c.New.ID == "b":
			once.Do(func() { close(in); <-out })
			return nil
		case phase.Load() == 1:
			return errors.New("still refused")
		}
		return nil
	}, stream.KeepValues())
	w.write("a", 1)
	w.write("b", 1)
	until(t, "the letters", func() bool { return c.Stats().DeadLetters >= 2 })
	phase.Store(1)
	if err := stream.Drive(ctx, client, w.leases, "accounts", "default"); err != nil {
		t.Fatal(err)
	}
	<-in           // the letter of a has failed again, that of b is being handled
	phase.Store(2) // the destination is repaired
	if err := stream.Drive(ctx, client, w.leases, "accounts", "default"); err != nil {
		t.Fatal(err)
	}
	close(out)
	eventually(t, 4*patience(t), "the second drive", func() bool {
		all, err := stream.Letters(ctx, client, w.leases, "accounts", "default")
		return err == nil && len(all) == 0
	})
}

// other is another model in the table accounts.
type other struct {
	_    struct{} `ddb:"table=accounts"`
	ID   string   `ddb:"pk=OTHER#{ID}"`
	Text string   `ddb:"sk=HEAD"`
}

// A worker of another version drives, whose router has no handler for a letter's model. The letter was not handled,
// and must stay.
func TestLettersWithoutAHandlerStay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, client := context.Background(), testengine.Start(t).Client()
	first := w.hooked(
		&hook{},
		func(context.Context, *stream.Change[kit.Account]) error { return errors.New("refused") },
		stream.KeepValues(),
	)
	w.write("a", 1)
	until(t, "the letter", func() bool { return first.Stats().DeadLetters >= 1 })
	first.leave()
	<-first.ended
	r := stream.NewRouter()
	stream.On(r, kit.Must(mapper.New[other](kit.Failing{}, mapper.Table("accounts")))(t),
		func(context.Context, *stream.Change[other]) error { return nil })
	run(t, w.consumer(r, w.scripted, patient(t)...))
	if err := stream.Drive(ctx, client, w.leases, "accounts", "default"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * patience(t))
	if all := kit.Must(stream.Letters(ctx, client, w.leases, "accounts", "default"))(t); len(all) != 1 {
		t.Errorf("%d letters: a change that no handler has handled is gone", len(all))
	}
}

// nilError is an error of a handler with a common fault: return (*nilError)(nil).
type nilError struct{ err error }

func (e *nilError) Error() string { return e.err.Error() }
func (e *nilError) Unwrap() error { return e.err }

// panics is a type whose decoding panics.
type panics struct{ S string }

func (p *panics) UnmarshalDynamoDBAttributeValue(types.AttributeValue) error { panic("decode") }
func (p panics) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return &types.AttributeValueMemberS{Value: p.S}, nil
}

type poison struct {
	_       struct{} `ddb:"table=accounts"`
	ID      string   `ddb:"pk=ACCOUNT#{ID}"`
	Counter panics   `ddb:"sk=HEAD"`
}

// child runs a test in a process of its own, because its fault ends the process.
func child(t *testing.T) bool {
	if os.Getenv("STREAM_TEST_CHILD") != "" {
		return true
	}
	c := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.timeout", "20s")
	c.Env = append(os.Environ(), "STREAM_TEST_CHILD=1")
	out, err := c.CombinedOutput()
	if err != nil {
		text := string(out)
		if i := strings.Index(text, "panic:"); i >= 0 {
			text = text[i:]
		}
		t.Errorf("the process of the worker has died: %v\n%.600s", err, text)
	}
	return false
}

// Rule 3: "a record that always fails stops nothing".
func TestNilErrorsStopNothing(t *testing.T) {
	if !child(t) {
		return
	}
	w := newWorld(t)
	c := w.hooked(&hook{}, func(context.Context, *stream.Change[kit.Account]) error { return (*nilError)(nil) },
		stream.OnError(func(error) {}))
	w.write("a", 1)
	eventually(t, 10*patience(t), "the letter", func() bool { return c.Stats().DeadLetters >= 1 })
}

func TestPanicsInDecodersStopNothing(t *testing.T) {
	if child(t) {
		makesALetter[poison](t)
	}
}

// makesALetter shows that a record that the model E cannot decode becomes a dead letter.
func makesALetter[E any](t *testing.T) {
	t.Helper()
	w := newWorld(t)
	r := stream.NewRouter()
	stream.On(
		r,
		kit.Must(mapper.New[E](kit.Failing{}))(t),
		func(context.Context, *stream.Change[E]) error { return nil },
	)
	c := w.consumer(r, w.scripted, patient(t, stream.OnError(func(error) {}))...)
	run(t, c)
	w.write("a", 1)
	eventually(t, 10*patience(t), "the letter", func() bool { return c.Stats().DeadLetters >= 1 })
}

// big has an external value.
type big struct {
	_    struct{} `ddb:"table=bigs"`
	ID   string   `ddb:"pk=BIG#{ID}"`
	Text string   `ddb:"sk=HEAD,chunk,inline=1KB"`
}

// Rule 3: "an entity that a snapshot cannot show stops nothing": one whose external value lacks a part.
func TestSnapshotsGoOnAfterMissingParts(t *testing.T) {
	t.Parallel()
	ctx, table, leases := context.Background(), streamed(t), testengine.Table(t, "PK:S", "SK:S")
	client := testengine.Start(t).Client()
	m := kit.Must(mapper.New[big](client, mapper.Table(table)))(t)
	kit.Must(m.Save(ctx, m.New(big{ID: "1", Text: strings.Repeat("x", 20_000)})))(t)
	for _, it := range kit.Must(client.Scan(ctx, &dynamodb.ScanInput{TableName: &table}))(t).Items {
		if s := it["PK"].(*types.AttributeValueMemberS).Value; s != "BIG#1" {
			kit.Must(client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
				TableName: &table, Key: kit.Item{"PK": it["PK"], "SK": it["SK"]},
			}))(t)
		}
	}
	kit.Must(m.Save(ctx, m.New(big{ID: "2", Text: "short"})))(t)
	var mu sync.Mutex
	shown := map[string]int{}
	r := stream.NewRouter()
	stream.On(r, m, func(_ context.Context, c *stream.Change[big]) error {
		mu.Lock()
		defer mu.Unlock()
		if c.New != nil && !c.Snapshot {
			shown[c.New.ID]++
		}
		return nil
	})
	run(t, kit.Must(stream.NewConsumer(client, streamClient(t), table, r,
		patient(t, stream.Leases(leases), stream.WithSnapshot())...))(t))
	eventually(t, 10*patience(t), "the records after the snapshot", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return shown["2"] > 0
	})
}

// From with WithSnapshot, from a clock that is ahead. Changes between the scan and From are lost.
func TestSnapshotsRefuseFrom(t *testing.T) {
	t.Parallel()
	ctx, table, leases, m := accounts(t)
	e := m.New(kit.Account{ID: "1", Counter: 1})
	kit.Must(m.Save(ctx, e))(t)
	var last, snap atomic.Int64
	r := stream.NewRouter()
	stream.On(r, m, func(_ context.Context, c *stream.Change[kit.Account]) error {
		if c.Root && c.New != nil {
			last.Store(int64(c.New.Counter))
		}
		if c.Snapshot {
			snap.Add(1)
		}
		return nil
	})
	c, err := stream.NewConsumer(
		testengine.Start(t).Client(),
		streamClient(t),
		table,
		r,
		patient(t, stream.Leases(leases),
			stream.WithSnapshot(), stream.From(time.Now().Add(30*time.Second)))...)
	if err != nil {
		return // refused
	}
	run(t, c)
	until(t, "the snapshot", func() bool { return snap.Load() == 1 })
	e.Value.Counter = 2
	kit.Must(m.Save(ctx, e))(t)
	eventually(t, 10*patience(t), "the change after the scan", func() bool { return last.Load() == 2 })
}

// DeleteGroup while a worker runs, then a new group with a snapshot. The records must wait for the scan.
func TestDeletedGroupsHaveNoWorkers(t *testing.T) {
	t.Parallel()
	ctx, table, leases, m := accounts(t)
	client := testengine.Start(t).Client()
	e := m.New(kit.Account{ID: "1", Counter: 1})
	kit.Must(m.Save(ctx, e))(t)
	r := stream.NewRouter()
	stream.On(r, m, func(context.Context, *stream.Change[kit.Account]) error { return nil })
	old := kit.Must(stream.NewConsumer(client, streamClient(t), table, r, patient(t, stream.Leases(leases))...))(t)
	run(t, old)
	until(t, "the worker", func() bool { return old.Stats().Handled > 0 })
	if err := stream.DeleteGroup(ctx, client, leases, table, "default"); err != nil {
		return // refused
	}
	time.Sleep(2 * patience(t))
	var order sync.Mutex
	var got []string
	again := stream.NewRouter()
	free := make(chan struct{})
	stream.On(again, m, func(_ context.Context, c *stream.Change[kit.Account]) error {
		if c.Snapshot {
			<-free
		}
		order.Lock()
		defer order.Unlock()
		if c.Snapshot {
			got = append(got, "snapshot")
		} else {
			got = append(got, "record "+string(c.EntityEvent))
		}
		return nil
	})
	run(t, kit.Must(stream.NewConsumer(client, streamClient(t), table, again,
		patient(t, stream.Leases(leases), stream.WithSnapshot())...))(t))
	time.Sleep(2 * patience(t))
	kit.Must(m.Delete(ctx, e))(t)
	time.Sleep(2 * patience(t))
	handledOld := old.Stats().Handled
	close(free)
	time.Sleep(2 * patience(t))
	order.Lock()
	defer order.Unlock()
	if len(got) == 0 || got[0] != "snapshot" || old.Stats().Handled != handledOld || handledOld > 1 {
		t.Errorf("the new group's worker got %v; the old worker still handles: %d records", got, old.Stats().Handled)
	}
}

// A worker gives up its surplus, and not all of its shards.
func TestOnlyTheSurplusIsReleased(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mu.Lock()
	w.shards = nil
	for i := range uint32(4) {
		w.add("", i*(1<<30), i*(1<<30)+(1<<30-1))
	}
	w.mu.Unlock()
	out := make(chan struct{})
	var running atomic.Int64
	var interrupted atomic.Int64
	a := w.hooked(&hook{}, func(ctx context.Context, _ *stream.Change[kit.Account]) error {
		running.Add(1)
		<-out
		return nil
	})
	until(t, "all shards", func() bool { return a.Stats().Shards == 4 })
	for _, id := range strings.Split("abcdefghijklmnopqrstuvwxyz", "") {
		w.write(id, 1)
	}
	until(t, "handlers", func() bool { return running.Load() >= 16 })
	b := w.hooked(&hook{}, func(ctx context.Context, _ *stream.Change[kit.Account]) error { return nil })
	time.Sleep(2 * patience(t))
	close(out)
	most := 0
	for end := time.Now().Add(patience(t)); time.Now().Before(end); time.Sleep(time.Millisecond) {
		most = max(most, b.Stats().Shards)
		if a.Stats().Shards < 2 {
			interrupted.Add(1)
		}
	}
	if interrupted.Load() > 0 {
		t.Errorf("A had less than its share of two shards, %d times of 1 ms; B had up to %d", interrupted.Load(), most)
	}
}

// the stream is replaced twice within 24 hours while no worker runs. The records of the stream between are in
// the service, and no error reports that they are not handled.
func TestStreamsThatAreReplacedTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var reports atomic.Int64
	options := []stream.ConsumerOption{stream.OnError(func(err error) { reports.Add(1); t.Log(err) })}
	first := w.begin(options...)
	w.write("a", 1)
	until(t, "the first", func() bool { return w.c.handled() == 1 })
	first.leave()
	<-first.ended
	w.mu.Lock()
	w.older = map[string][]*scriptedShard{}
	w.mu.Unlock()
	for _, n := range []string{"2", "3"} {
		w.mu.Lock()
		w.older[w.arn] = w.shards
		w.shards[0].closed = true
		w.shards, w.arn = nil, w.arn[:len(w.arn)-1]+n
		w.add("", 0, 1<<32-1).id = "shardId-0000000000000000000" + n + "-new"
		w.mu.Unlock()
		w.write("a", int(n[0]-'0'))
	}
	r := stream.NewRouter()
	stream.On(r, kit.Must(mapper.New[kit.Account](kit.Failing{}))(t), w.c.handle)
	run(t, w.consumer(r, w.scripted, append(patient(t), options...)...))
	until(t, "the last", func() bool { w.c.mu.Lock(); defer w.c.mu.Unlock(); return w.c.last["a"] == 3 })
	if w.c.handled() != 3 || reports.Load() == 0 {
		t.Errorf("%d of 3 changes handled, and no error was reported", w.c.handled())
	}
}

// Rule 3: a listing of a former stream that fails for ever, after all of its leases are done.
func TestFormerStreamsStallNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.begin()
	w.write("a", 1)
	until(t, "the first", func() bool { return w.c.handled() == 1 })
	first.leave()
	<-first.ended
	svc := denied{w.scripted, w.arn}
	w.mu.Lock()
	for _, sh := range w.shards {
		sh.closed = true
	}
	w.mu.Unlock()
	w.replace()
	w.write("a", 2)
	r := stream.NewRouter()
	stream.On(r, kit.Must(mapper.New[kit.Account](kit.Failing{}))(t), w.c.handle)
	run(t, w.consumer(r, svc, patient(t)...))
	eventually(t, 10*patience(t), "the change of the new stream", func() bool { return w.c.handled() == 2 })
}

type denied struct {
	*scripted
	arn string
}

func (d denied) DescribeStream(ctx context.Context, in *dynamodbstreams.DescribeStreamInput,
	o ...func(*dynamodbstreams.Options),
) (*dynamodbstreams.DescribeStreamOutput, error) {
	if *in.StreamArn == d.arn {
		return nil, errors.New("AccessDeniedException: the policy names the new stream")
	}
	return d.scripted.DescribeStream(ctx, in, o...)
}

// Rule 3: a worker that reaches the table of leases, but not the stream, keeps its shards from the notes.
func TestWorkersThatCannotReadLeave(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := &cut{}
	r := stream.NewRouter()
	stream.On(r, kit.Must(mapper.New[kit.Account](kit.Failing{}))(t), w.c.handle)
	a := w.consumer(r, cutStreams{w.scripted, c}, patient(t, stream.OnError(func(error) {}))...)
	run(t, a)
	until(t, "the shard", func() bool { return a.Stats().Shards == 1 })
	c.set(true)
	w.begin()
	w.write("a", 1)
	eventually(t, 10*patience(t), "the change", func() bool { return w.c.handled() == 1 })
}

// Rule 3: a handler that ends its goroutine (t.FailNow of an assertion, runtime.Goexit).
func TestGoexitStopsNothing(t *testing.T) {
	if !child(t) { // Run never returns
		return
	}
	w := newWorld(t)
	var n atomic.Int64
	w.hooked(&hook{}, func(context.Context, *stream.Change[kit.Account]) error {
		if n.Add(1) == 1 {
			runtime.Goexit()
		}
		return nil
	})
	w.write("a", 1)
	w.write("a", 2)
	eventually(t, 10*patience(t), "the changes", func() bool { return n.Load() >= 3 })
}

// Rule 3: a record without a change (recordOf) is a dead letter, and the next one is handled.
func TestRecordsWithoutAChangeStopNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("a", 1)
	w.write("a", 2)
	w.mu.Lock()
	w.shards[0].records[0].Dynamodb = nil
	w.mu.Unlock()
	var n atomic.Int64
	c := w.hooked(&hook{}, func(context.Context, *stream.Change[kit.Account]) error { n.Add(1); return nil })
	w.write("b", 1)
	eventually(t, 10*patience(t), "the letter, and the end of the answer", func() bool {
		return c.Stats().DeadLetters == 1 && c.Stats().Handled == 3 && n.Load() == 2
	})
}

// a deployment adds a handler to a group whose snapshot has ended. The model's entities are neither shown,
// nor is that reported.
func TestHandlersAddedAfterASnapshotAreReported(t *testing.T) {
	t.Parallel()
	ctx, table, leases, m := accounts(t)
	client := testengine.Start(t).Client()
	notes := kit.Must(mapper.New[other](client, mapper.Table(table)))(t)
	kit.Must(m.Save(ctx, m.New(kit.Account{ID: "1", Counter: 1})))(t)
	kit.Must(notes.Save(ctx, notes.New(other{ID: "1", Text: "x"})))(t)
	var accountsShown, secondShown, reports atomic.Int64
	first, second := stream.NewRouter(), stream.NewRouter()
	for _, r := range []*stream.Router{first, second} {
		stream.On(
			r,
			m,
			func(_ context.Context, c *stream.Change[kit.Account]) error { accountsShown.Add(1); return nil },
		)
	}
	stream.On(second, notes, func(_ context.Context, c *stream.Change[other]) error { secondShown.Add(1); return nil })
	begin := func(r *stream.Router) func() {
		return run(t, kit.Must(stream.NewConsumer(client, streamClient(t), table, r, patient(t, stream.Leases(leases),
			stream.WithSnapshot(), stream.OnError(func(err error) { reports.Add(1); t.Log(err) }))...))(t))
	}
	leave := begin(first)
	until(t, "the snapshot and the record", func() bool { return accountsShown.Load() == 2 })
	time.Sleep(patience(t))
	leave()
	reports.Store(0)
	begin(second)
	time.Sleep(3 * patience(t))
	if secondShown.Load() == 0 && reports.Load() == 0 {
		t.Error("the added handler is never shown the existing entity, and no error says so")
	}
}
