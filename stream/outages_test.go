package stream_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/stream"
)

// "If this is the only worker of its group, 0 means that all changes are handled": the worker before it was killed.
func TestBehindAfterACrash(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	long := []stream.ConsumerOption{stream.Interval(100 * time.Millisecond), stream.Failover(3 * time.Second)}
	first := w.begin(long...)
	w.write("a", 1)
	soon(t, "the first", func() bool { return w.c.handled() == 1 })
	first.kill()
	<-first.ended
	w.write("a", 2)
	next := w.begin(long...)
	var zero time.Time
	for w.c.handled() < 2 {
		if s := next.Stats(); s.Behind == 0 && w.c.handled() < 2 && zero.IsZero() {
			zero = time.Now()
		}
		time.Sleep(time.Millisecond)
	}
	if !zero.IsZero() {
		t.Errorf("Behind was 0 while a change was not handled, %v before it was", time.Since(zero))
	}
}

// The same with a snapshot that is not complete.
func TestBehindAfterACrashInASnapshot(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	table := testengine.Table(t, "PK:S", "SK:S")
	accounts := kit.Must(mapper.New[kit.Account](testengine.Start(t).Client(), mapper.Table(table)))(t)
	for n := range 3 {
		kit.Must(accounts.Save(context.Background(), accounts.New(kit.Account{ID: fmt.Sprint(n)})))(t)
	}
	long := []stream.ConsumerOption{
		stream.WithSnapshot(), stream.Interval(100 * time.Millisecond), stream.Failover(3 * time.Second),
	}
	var dead atomic.Bool
	d := &denial{operation: "", text: ""}
	_ = d
	block := make(chan struct{})
	h := &hook{before: func(context.Context, string, string) error {
		if dead.Load() {
			return errCut
		}
		return nil
	}}
	var inFirst atomic.Int64
	first := w.snapshots(table, httpFunc(nil), nil, func(ctx context.Context, _ *stream.Change[kit.Account]) error {
		inFirst.Add(1)
		<-block
		return errCut
	}, append(long, stream.Grace(time.Millisecond))...)
	_ = h
	soon(t, "the scan", func() bool { return inFirst.Load() == 1 })
	// a crash: the counter and the lease stay as they are. The worker of the test is a stopped process: here, its items
	// are copied back after its end.
	saved := kit.Must(testengine.Start(t).Client().Scan(context.Background(), &dynamodb.ScanInput{
		TableName: &w.leases, ConsistentRead: aws.Bool(true),
	}))(t)
	first.leave()
	close(block)
	<-first.ended
	for _, it := range saved.Items {
		kit.Must(testengine.Start(t).Client().PutItem(context.Background(), &dynamodb.PutItemInput{
			TableName: &w.leases, Item: it,
		}))(t)
	}
	var n atomic.Int64
	next := w.snapshots(table, nil, nil, func(context.Context, *stream.Change[kit.Account]) error {
		n.Add(1)
		return nil
	}, long...)
	var zero time.Time
	for end := time.Now().Add(30 * time.Second); n.Load() < 3 && time.Now().Before(end); {
		if s := next.Stats(); s.Behind == 0 && n.Load() < 3 && zero.IsZero() {
			zero = time.Now()
			t.Logf("%+v, entities shown: %d", s, n.Load())
		}
		time.Sleep(time.Millisecond)
	}
	if !zero.IsZero() {
		t.Errorf("Behind was 0 though the snapshot was not shown, %v before it was", time.Since(zero))
	}
}

// "It is 1 or more while a request fails": beats fail, and the readers of the only worker are abandoned.
func TestBehindAfterAFence(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := &denial{operation: "UpdateItem", text: "WORKERS#"}
	long := []stream.ConsumerOption{stream.Interval(100 * time.Millisecond), stream.Failover(3 * time.Second)}
	m := w.through(d.do, nil, w.c.handle, long...)
	w.write("a", 1)
	soon(t, "the end", func() bool { s := m.Stats(); return s.Handled >= 1 && s.Behind == 0 })
	d.on.Store(true)
	soon(t, "the fence", func() bool { return m.Stats().Shards == 0 })
	w.write("a", 2)
	begun := time.Now()
	last := time.Duration(0)
	for time.Since(begun) < 4*time.Second {
		if s := m.Stats(); s.Behind == 0 && w.c.handled() == 1 {
			last = time.Since(begun)
		}
		time.Sleep(time.Millisecond)
	}
	if last > 0 {
		t.Errorf("Behind and Lag were 0 for %v after a change that no worker reads, while beats fail", last)
	}
}

// A shard has ended with an empty answer, and its end cannot be saved. Its children have changes.
func TestBehindWhileAnEndIsNotSaved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := &denial{operation: "UpdateItem", text: "SHARDS#"}
	long := []stream.ConsumerOption{stream.Interval(100 * time.Millisecond), stream.Failover(3 * time.Second)}
	m := w.through(d.do, nil, w.c.handle, append(long, stream.Discover(time.Hour))...)
	w.write("a", 1)
	soon(t, "the end", func() bool { s := m.Stats(); return s.Handled >= 1 && s.Behind == 0 })
	time.Sleep(time.Second) // its position is saved
	d.on.Store(true)
	w.split(0, false)
	w.write("a", 2)
	begun := time.Now()
	last := time.Duration(0)
	for time.Since(begun) < 4*time.Second {
		if s := m.Stats(); s.Behind == 0 && w.c.handled() == 1 {
			last = time.Since(begun)
		}
		if time.Since(begun).Milliseconds()%500 == 0 {
			t.Logf("%v: %+v %v", time.Since(begun), m.Stats(), w.last.Load())
		}
		time.Sleep(time.Millisecond)
	}
	if last > 200*time.Millisecond {
		t.Errorf("Behind and Lag were 0 for %v after a change that no worker reads, while saves fail", last)
	}
}

// The lag during an outage of listings: the end of another shard (or of a drive) begins it again.
func TestLagFallsInAnOutage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mu.Lock()
	w.shards = nil
	w.add("", 0, 1<<31-1)
	w.add("", 1<<31, 1<<32-1)
	w.mu.Unlock()
	d := &denial{operation: "DescribeStream"}
	w.fail = d.fail
	m := w.through(nil, nil, w.c.handle)
	soon(t, "the shards", func() bool { s := m.Stats(); return s.Shards == 2 && s.Behind == 0 })
	d.on.Store(true)
	w.split(0, false)
	soon(t, "a lag", func() bool { return m.Stats().Lag > 2*failover(t) })
	if err := stream.Drive(
		context.Background(),
		testengine.Start(t).Client(),
		w.leases,
		"accounts",
		"default",
	); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(2 * failover(t)); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if l := m.Stats().Lag; l < failover(t) {
			t.Errorf("the lag has fallen to %v: no listing has succeeded", l)
			return
		}
	}
}

// A record whose stream has another view is a dead letter, and of a model.
func TestUnmatchedViews(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("a", 1)
	w.mu.Lock()
	w.shards[0].records[0].Dynamodb.StreamViewType = streamtypes.StreamViewTypeNewImage
	w.mu.Unlock()
	m := w.begin()
	soon(t, "the letter", func() bool { return m.Stats().DeadLetters >= 1 })
	if s := m.Stats(); s.Unmatched != 0 {
		t.Errorf("%d unmatched", s.Unmatched)
	}
}

// A worker that goes away, because it cannot read, is behind: its shards have no reader that it knows of.
func TestLagWhenLeaving(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := &cut{}
	long := []stream.ConsumerOption{stream.Interval(100 * time.Millisecond), stream.Failover(time.Second)}
	a := w.through(nil, cutStreams{w.scripted, c}, w.c.handle, long...)
	soon(t, "the shard", func() bool { return a.Stats().Shards == 1 })
	b := w.begin(long...)
	soon(t, "the other worker", func() bool { return len(w.items("WORKER#")) == 2 })
	c.set(true)
	w.write("a", 1)
	soon(t, "a lag", func() bool { return a.Stats().Lag > time.Second })
	for w.c.handled() == 0 {
		if s, o := a.Stats(), b.Stats(); s.Behind == 0 && o.Behind == 0 && w.c.handled() == 0 {
			t.Errorf("both workers are not behind, and a change is not handled: %+v %+v", s, o)
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// The lag of a worker that is away, whose shards another one reads to their ends.
func TestLagWhileAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := &cut{}
	a := w.through(nil, cutStreams{w.scripted, c}, w.c.handle)
	soon(t, "the shard", func() bool { return a.Stats().Shards == 1 })
	c.set(true)
	b := w.begin()
	w.write("a", 1)
	soon(t, "the other worker", func() bool {
		return w.c.handled() == 1 && b.Stats().Shards == 1 && b.Stats().Lag == 0
	})
	eventually(t, 2*failover(t), "no lag of the worker without shards", func() bool {
		x := a.Stats()
		return x.Shards == 0 && x.Behind == 0 && x.Lag == 0
	})
}

// "The position was trimmed: one *TrimmedError": the shard was found more than 24 hours ago.
func TestTrimmedTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("a", 1)
	var c collected
	first := w.through(nil, nil, c.handle)
	soon(t, "the first", func() bool { return c.has("a1") })
	first.leave()
	<-first.ended
	for n := range 5 {
		w.write("a", n+2)
	}
	w.trim(0, 3)
	w.set(
		w.shard(0).id,
		"Listed",
		&types.AttributeValueMemberN{Value: fmt.Sprint(time.Now().Add(-26 * time.Hour).Unix())},
	)
	var mu sync.Mutex
	var texts []string
	m := w.through(nil, nil, c.handle, stream.OnError(func(err error) {
		mu.Lock()
		defer mu.Unlock()
		texts = append(texts, err.Error())
	}))
	soon(t, "the last", func() bool { return c.has("a6") })
	mu.Lock()
	defer mu.Unlock()
	if s := m.Stats(); s.Trimmed != 1 {
		t.Errorf("%d gaps:\n%s", s.Trimmed, strings.Join(texts, "\n"))
	}
}

// An idle shard that was read from the beginning has not waited for its parent: each new owner reports it again.
func TestIdleShardsHaveNoGap(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for n := range 3 {
		m := w.begin()
		soon(t, "the end", func() bool { s := m.Stats(); return s.Shards == 1 && s.Behind == 0 })
		if n < 0 {
			w.set(w.shard(0).id, "Listed", &types.AttributeValueMemberN{
				Value: fmt.Sprint(time.Now().Add(-26 * time.Hour).Unix()),
			})
		}
		m.leave()
		<-m.ended
		if s := m.Stats(); s.Trimmed != 0 {
			t.Errorf("worker %d: %d gaps of a shard that was read to its end: %v", n, s.Trimmed, w.last.Load())
		}
	}
}

// "Other errors are those of one moment: the worker survives them": the first listing has no answer.
func TestHangingFirstListing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.through(nil, hangsFor{w.scripted, w.arn}, w.c.handle)
	select {
	case <-m.ended:
		t.Errorf("Run has returned: %v", m.err)
	case <-time.After(4 * failover(t)):
	}
}

// "The stream is replaced by a new one: one error": the answer of the transaction is lost.
func TestReportOfAReplacedStream(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{"none", "lost answer", "second chunk"} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			var reports, transactions atomic.Int64
			var armed atomic.Bool
			var once sync.Once
			var until time.Time
			h := &hook{}
			h.after = func(ctx context.Context, op, body string) (err error) {
				if fault == "lost answer" && armed.Load() && op == "TransactWriteItems" {
					once.Do(func() { <-ctx.Done(); err = ctx.Err() })
				}
				return err
			}
			h.before = func(_ context.Context, op, body string) (err error) {
				if fault == "second chunk" && armed.Load() && op == "TransactWriteItems" && transactions.Add(1) > 1 {
					if time.Now().Before(until) {
						return errLost
					}
				}
				return nil
			}
			var c collected
			w.hooked(h, c.handle, stream.OnError(func(err error) {
				t.Log(err)
				if strings.Contains(err.Error(), "was replaced") {
					reports.Add(1)
				}
			}))
			w.write("a", 1)
			soon(t, "the first", func() bool { return c.has("a1") })
			until = time.Now().Add(3 * patience(t))
			armed.Store(true)
			w.mu.Lock()
			former := w.shards
			w.mu.Unlock()
			w.replaceStream(2)
			if fault == "second chunk" {
				w.mu.Lock()
				_ = former
				w.shards = nil
				for i := range uint32(100) {
					sh := w.add("", i<<25, i<<25+1<<25-1)
					sh.id = fmt.Sprintf("shardId-0000000000000000%04d-new", i+100)
				}
				w.add("", 100<<25, 1<<32-1).id = "shardId-00000000000000009999-new"
				w.mu.Unlock()
			}
			w.write("a", 2)
			soon(t, "the second", func() bool { return c.has("a2") })
			time.Sleep(2 * patience(t))
			if reports.Load() != 1 {
				t.Errorf("%d reports of the replaced stream, want 1", reports.Load())
			}
		})
	}
}

// refusesText is a type whose decoder has an error with the value.
type refusesText struct{ S string }

var refusedText atomic.Value

func (p *refusesText) UnmarshalDynamoDBAttributeValue(types.AttributeValue) error {
	text, _ := refusedText.Load().(string)
	if strings.HasPrefix(text, "panic") {
		panic(text)
	}
	return fmt.Errorf("cannot parse %q", text)
}

func (p refusesText) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return &types.AttributeValueMemberS{Value: p.S}, nil
}

type refuser struct {
	_       struct{}    `ddb:"table=accounts"`
	ID      string      `ddb:"pk=ACCOUNT#{ID}"`
	Counter refusesText `ddb:"sk=HEAD"`
}

// "Without KeepValues letters have no values", and a record that always fails stops nothing: a decoder whose error has
// the value, or a long text.
func TestLettersOfDecoders(t *testing.T) {
	for name, text := range map[string]string{
		"error": "SECRET", "panic": "panic: SECRET", "long": strings.Repeat("\x01", 150_000),
	} {
		t.Run(name, func(t *testing.T) {
			refusedText.Store(text)
			w := newWorld(t)
			r := stream.NewRouter()
			stream.On(r, kit.Must(mapper.New[refuser](kit.Failing{}))(t),
				func(context.Context, *stream.Change[refuser]) error { return nil })
			var last atomic.Value
			c := w.consumer(r, w.scripted, patient(t, stream.OnError(func(err error) {
				last.Store(fmt.Sprintf("%.300s ... %d bytes", err, len(err.Error())))
			}))...)
			run(t, c)
			w.write("a", 1)
			if !eventually(t, 3*patience(t), "the letter", func() bool { return c.Stats().DeadLetters >= 1 }) {
				t.Errorf("last error: %v", last.Load())
				return
			}
			all := kit.Must(stream.Letters(context.Background(), testengine.Start(t).Client(), w.leases, "accounts",
				"default"))(t)
			for _, l := range all {
				t.Logf("%.200s (%d bytes); attempts %d", l.Err, len(l.Err.Error()), l.Attempts)
				if strings.Contains(l.Err.Error(), "SECRET") {
					t.Errorf("the letter has the value: %.300s", l.Err)
				}
			}
		})
	}
}

// "Unmatched is the number of records among the handled ones".
func TestUnmatchedAreHandled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("a", 1)
	w.mu.Lock()
	for i := range 3 {
		w.next++
		keys := map[string]streamtypes.AttributeValue{
			"PK": &streamtypes.AttributeValueMemberS{Value: fmt.Sprint("OTHER#", i)},
			"SK": &streamtypes.AttributeValueMemberS{Value: "X"},
		}
		w.shards[0].records = append(w.shards[0].records, streamtypes.Record{Dynamodb: &streamtypes.StreamRecord{
			Keys: keys, NewImage: keys, SequenceNumber: aws.String(fmt.Sprintf("%021d", w.next)),
		}})
	}
	w.mu.Unlock()
	for n := range 2 {
		m := w.beginWith(func(context.Context, *stream.Change[kit.Account]) error { return errors.New("refused") })
		soon(t, "a call", func() bool { return m.Stats().Retried > 0 })
		if s := m.Stats(); s.Unmatched > s.Handled {
			t.Errorf("worker %d: %d unmatched of %d handled", n, s.Unmatched, s.Handled)
		}
		m.leave()
		<-m.ended
	}
}

// "DeleteGroup refuses while a worker is running": one whose handler hangs after its beats have failed.
func TestDeleteGroupWhileAHandlerRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := &denial{operation: "UpdateItem", text: "WORKERS#"}
	in, out := make(chan struct{}, 100), make(chan struct{})
	var running atomic.Int64
	m := w.through(d.do, nil, func(context.Context, *stream.Change[kit.Account]) error {
		running.Add(1)
		defer running.Add(-1)
		in <- struct{}{}
		<-out
		return nil
	})
	defer close(out)
	w.write("a", 1)
	<-in
	d.on.Store(true)
	time.Sleep(2 * failover(t))
	d.on.Store(false)
	time.Sleep(2 * failover(t))
	err := stream.DeleteGroup(context.Background(), testengine.Start(t).Client(), w.leases, "accounts", "default")
	select {
	case <-m.ended:
		t.Log("Run has returned")
	default:
		if err == nil {
			t.Errorf("the group was deleted while its only worker runs, in %d handlers", running.Load())
		}
	}
}

// parks observes the calls of a worker.
type parks struct {
	end func(op, model string)
	beg func(op, model string)
}

func (p parks) Begin(ctx context.Context, c mapper.Call) (context.Context, func(*mapper.Receipt, error)) {
	p.beg(c.Operation, c.Model)
	return ctx, func(*mapper.Receipt, error) { p.end(c.Operation, c.Model) }
}

// coordinate has put the error of the deleted group into work.over, the listing puts another one, and the context ends.
func TestRunReturnsAfterTwoFinds(t *testing.T) {
	for n := range 10 {
		w := newWorld(t)
		ctx, cancel := context.WithCancel(context.Background())
		var stage atomic.Int64
		atLook, look, looked, found := make(
			chan struct{},
		), make(
			chan struct{},
		), make(
			chan struct{},
		), make(
			chan struct{},
		)
		p := parks{beg: func(op, model string) {
			if n < 0 {
				t.Log(op, model)
			}
			if op == "Load" && model == "stream.group" && stage.CompareAndSwap(1, 2) {
				close(atLook)
				<-look
			}
		}, end: func(op, model string) {
			switch {
			case op == "Load" && model == "stream.group" && stage.CompareAndSwap(2, 3):
				close(looked)
				<-found
				time.Sleep(200 * time.Millisecond)
			case op == "Query" && model == "stream.worker" && stage.CompareAndSwap(4, 5):
				cancel()
				close(found)
			}
		}}
		client := testengine.Start(t).Client()
		r := stream.NewRouter()
		stream.On(r, kit.Must(mapper.New[kit.Account](kit.Failing{}))(t), w.c.handle)
		c := w.consumer(r, w.scripted, patient(t,
			stream.MapperOptions(mapper.Observe(p)), stream.OnError(func(error) {}))...)
		ended := make(chan error, 1)
		go func() { ended <- c.Run(ctx) }()
		soon(t, "the shard", func() bool { return c.Stats().Shards == 1 })
		stage.Store(1)
		wait := func(c chan struct{}, what string) {
			select {
			case <-c:
			case <-time.After(10 * time.Second):
				t.Fatal("the test does not get to: ", what)
			}
		}
		wait(atLook, "look")
		kit.Must(client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &w.leases, Key: kit.Item{
			"PK": kit.S("GROUP#accounts/default"), "SK": kit.S("GROUP"),
		}}))(t)
		close(look)
		wait(looked, "looked")
		w.set(w.shard(0).id, "Group", &types.AttributeValueMemberS{Value: "other"})
		stage.Store(4)
		wait(found, "found")
		select {
		case err := <-ended:
			t.Log(n, err)
		case <-time.After(5 * time.Second):
			t.Fatalf("round %d: Run does not return after the end of its context", n)
		}
	}
}

func deep5[T any](v T, n int) T {
	if n < 0 {
		panic("deep")
	}
	return deep5(v, n-1)
}

// The place of a panic is in the handler, or in what it called.
func TestPlacesOfPanics(t *testing.T) {
	m := kit.Must(mapper.New[kit.Account](kit.Failing{}))(t)
	records := kit.Must(stream.RecordsOf(m, nil, &kit.Account{ID: "a"}))(t)
	var none map[string]int
	var any1, any2 any = []int{1}, []int{1}
	var closed chan int
	zero := 0
	for name, f := range map[string]func(){
		"nil map":      func() { none["a"] = 1 },
		"unhashable":   func() { _ = map[any]int{}[any1] },
		"uncomparable": func() { _ = any1 == any2 },
		"nil channel":  func() { close(closed) },
		"division":     func() { _ = 1 / zero },
		"assertion":    func() { _ = any1.(string) },
		"nil panic":    func() { panic(nil) },
		"slice":        func() { _ = [4]int([]int{1}) },
		"generic":      func() { deep5(1, 3) },
		"deep":         func() { deep5("", 200) },
		"again": func() {
			defer func() { panic(fmt.Sprint("again ", recover())) }()
			panic("first")
		},
		"nested": func() {
			defer func() { panic("second") }()
			panic("first")
		},
		"makeslice": func() { _ = make([]int, zero-1) },
		"once":      func() { new(sync.Once).Do(func() { panic("x") }) },
	} {
		router := stream.NewRouter()
		stream.On(router, m, func(context.Context, *stream.Change[kit.Account]) error { f(); return nil })
		err := router.Handle(context.Background(), records[0])
		t.Log(name, err)
		if err == nil || !strings.Contains(err.Error(), "outages_test.go:") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// panic(nil) of a program with GODEBUG=panicnil=1.
func TestNilPanicsWithoutAnError(t *testing.T) {
	t.Setenv("GODEBUG", os.Getenv("GODEBUG")+",panicnil=1")
	m := kit.Must(mapper.New[kit.Account](kit.Failing{}))(t)
	records := kit.Must(stream.RecordsOf(m, nil, &kit.Account{ID: "a"}))(t)
	router := stream.NewRouter()
	stream.On(router, m, func(context.Context, *stream.Change[kit.Account]) error { panic(nil) })
	if err := router.Handle(context.Background(), records[0]); err == nil {
		t.Error("the panic of the handler is success")
	}
}

// EventOf keeps records without a time, of binary keys, and of empty images.
func TestEvents(t *testing.T) {
	for name, rec := range map[string]*stream.Record{
		"no time": {
			Table: "accounts", SequenceNumber: "1", Keys: kit.Item{"PK": kit.S("x")}, New: kit.Item{"PK": kit.S("x")},
		},
		"binary": {
			Table: "accounts", SequenceNumber: "1",
			Keys: kit.Item{"PK": &types.AttributeValueMemberB{Value: []byte{0, 255}}},
			Old: kit.Item{"PK": &types.AttributeValueMemberB{Value: []byte{0, 255}}, "S": &types.AttributeValueMemberBS{
				Value: [][]byte{{1}, {2}},
			}, "N": &types.AttributeValueMemberNULL{Value: true}, "L": &types.AttributeValueMemberL{}},
		},
		"no table": {SequenceNumber: "1", Keys: kit.Item{"PK": kit.S("x")}, New: kit.Item{"PK": kit.S("x")}},
	} {
		r := stream.NewRouter()
		var got *stream.Record
		r.Unmatched(func(_ context.Context, rec *stream.Record) error { got = rec; return nil })
		event, err := stream.EventOf(rec)
		if err == nil {
			_, err = stream.Lambda(r).Invoke(context.Background(), event)
		}
		if err != nil || got == nil {
			t.Errorf("%s: %v, %+v", name, err, got)
			continue
		}
		if fmt.Sprint(got.Keys) == "" || got.Table != rec.Table || !got.Time.Equal(rec.Time) ||
			len(got.Old) != len(rec.Old) ||
			len(got.New) != len(rec.New) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// With RequestRate a shard waits for its turn: its changes wait, and the lag is 0.
func TestLagOfLimitedRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.begin(stream.RequestRate(0.4))
	w.write("a", 1)
	soon(t, "the end", func() bool { s := m.Stats(); return s.Handled >= 1 && s.Behind == 0 })
	w.write("a", 2)
	begun := time.Now()
	var longest time.Duration
	for w.c.handled() < 2 {
		if s := m.Stats(); s.Behind == 0 && s.Lag == 0 && w.c.handled() < 2 {
			longest = time.Since(begun)
		}
		time.Sleep(time.Millisecond)
	}
	if longest > time.Second {
		t.Errorf("a change has waited for %v, with Poll(5ms), while Behind and Lag were 0", longest)
	}
}

// Letters after one that cannot be decoded: sequences with other characters than digits.
func TestOrderOfLetters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ids := []string{"x", "x#1", "x!", "x~", "\u00e9", "\U0001F600", "\uFFFD", "a b", "X"}
	for i, id := range ids {
		w.write(fmt.Sprint(i), 1)
		w.mu.Lock()
		for j := range w.shards[0].records {
			if j == i {
				w.shards[0].records[j].Dynamodb.SequenceNumber = nil
				w.shards[0].records[j].EventID = aws.String(id)
			}
		}
		w.mu.Unlock()
	}
	w.write("last", 1)
	m := w.through(nil, nil, func(context.Context, *stream.Change[kit.Account]) error {
		return errors.New("refused")
	}, stream.Attempts(1, 1, 1))
	soon(t, "the letters", func() bool { return m.Stats().DeadLetters >= int64(len(ids))+1 })
	client := testengine.Start(t).Client()
	all := w.items(w.shard(0).id)
	for _, sk := range all {
		if strings.HasPrefix(sk, "SHARD#") {
			continue
		}
		set := func(v types.AttributeValue) {
			kit.Must(client.UpdateItem(context.Background(), &dynamodb.UpdateItemInput{
				TableName:        &w.leases,
				Key:              kit.Item{"PK": kit.S("LETTERS#accounts/default"), "SK": kit.S(sk)},
				UpdateExpression: aws.String("SET #a = :v"),
				ExpressionAttributeNames: map[string]string{
					"#a": "Attempts",
				},
				ExpressionAttributeValues: kit.Item{":v": v},
			}))(t)
		}
		set(kit.S("damaged"))
		got, err := stream.Letters(context.Background(), client, w.leases, "accounts", "default")
		if len(got) != len(ids) {
			t.Errorf("after the damage of %q: %d letters of %d: %v", sk, len(got), len(ids), err)
		}
		set(&types.AttributeValueMemberN{Value: "1"})
	}
}

// Two workers find the new stream at the same time: one report.
func TestReportOfTwoWorkers(t *testing.T) {
	t.Parallel()
	for n := range 5 {
		w := newWorld(t)
		var reports atomic.Int64
		var c collected
		var all []*process
		for range 3 {
			all = append(all, w.through(nil, nil, c.handle, stream.OnError(func(err error) {
				if strings.Contains(err.Error(), "was replaced") {
					reports.Add(1)
				}
			})))
		}
		w.write("a", 1)
		soon(t, "the first", func() bool { return c.has("a1") })
		w.replaceStream(2)
		w.write("a", 2)
		soon(t, "the second", func() bool { return c.has("a2") })
		time.Sleep(failover(t))
		if reports.Load() != 1 {
			t.Errorf("round %d: %d reports", n, reports.Load())
		}
		for _, m := range all {
			m.leave()
			<-m.ended
		}
	}
}

// A read without an answer: its shard is not behind until the request ends.
func TestBehindWhileAReadHangs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var hangs atomic.Bool
	free := make(chan struct{})
	w.fail = func(operation, _ string) error {
		if operation == "GetRecords" && hangs.Load() {
			select {
			case <-free:
			case <-time.After(3 * time.Second):
			}
			return context.DeadlineExceeded
		}
		return nil
	}
	defer close(free)
	m := w.begin(stream.Interval(100*time.Millisecond), stream.Failover(3*time.Second))
	soon(t, "the end", func() bool { s := m.Stats(); return s.Shards == 1 && s.Behind == 0 })
	hangs.Store(true)
	w.write("a", 1)
	var last time.Duration
	for begun := time.Now(); time.Since(begun) < 3500*time.Millisecond; time.Sleep(time.Millisecond) {
		if s := m.Stats(); s.Behind == 0 && s.Lag == 0 && w.c.handled() == 0 {
			last = time.Since(begun)
		}
	}
	if last > time.Second {
		t.Errorf("Behind and Lag were 0 for %v after a change, with Poll(5ms)", last)
	}
}

// A worker whose abandoned handler hangs: the other one takes over, and it comes back.
func TestAwayAndBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := &denial{operation: "UpdateItem", text: "WORKERS#"}
	in, out := make(chan struct{}, 100), make(chan struct{})
	a := w.through(d.do, nil, func(context.Context, *stream.Change[kit.Account]) error {
		in <- struct{}{}
		<-out
		return nil
	})
	w.write("a", 1)
	<-in
	b := w.begin()
	d.on.Store(true)
	soon(t, "the other worker", func() bool { return w.c.handled() == 1 })
	d.on.Store(false)
	time.Sleep(2 * failover(t))
	if n := a.Stats().Shards; n != 1 { // the reader whose handler hangs
		t.Errorf("%d shards while the handler hangs", n)
	}
	close(out)
	b.leave()
	<-b.ended
	soon(t, "its shard", func() bool { return a.Stats().Shards == 1 && a.Stats().Behind == 0 })
}

// On the engine: a stream that is disabled and enabled again.
func TestNewStreamOfAnEngine(t *testing.T) {
	t.Parallel()
	ctx, table := context.Background(), streamed(t)
	client := testengine.Start(t).Client()
	m := kit.Must(mapper.New[kit.Account](client, mapper.Table(table)))(t)
	var n atomic.Int64
	r := stream.NewRouter()
	stream.On(r, m, func(context.Context, *stream.Change[kit.Account]) error { n.Add(1); return nil })
	var mu sync.Mutex
	var texts []string
	c := kit.Must(stream.NewConsumer(client, streamClient(t), table, r, patient(t, stream.Leases(testengine.Table(t,
		"PK:S", "SK:S")), stream.OnError(func(err error) {
		mu.Lock()
		defer mu.Unlock()
		texts = append(texts, err.Error())
	}))...))(t)
	run(t, c)
	kit.Must(m.Save(ctx, m.New(kit.Account{ID: "1"})))(t)
	soon(t, "the first", func() bool { return n.Load() > 0 })
	before, old := n.Load(), arnOf(t, table)
	kit.Must(client.UpdateTable(ctx, &dynamodb.UpdateTableInput{
		TableName: &table, StreamSpecification: &types.StreamSpecification{StreamEnabled: aws.Bool(false)},
	}))(t)
	time.Sleep(patience(t))
	enable(t, table)
	t.Log(old, arnOf(t, table))
	kit.Must(m.Save(ctx, m.New(kit.Account{ID: "2"})))(t)
	if !eventually(t, 8*patience(t), "the change of the new stream", func() bool { return n.Load() > before }) {
		mu.Lock()
		defer mu.Unlock()
		t.Logf("%.3000s", strings.Join(texts, "\n"))
	}
}

// "A worker that dies is replaced after the failover time": the other one is away, and could read again.
func TestDeathsWhileAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := &cut{}
	options := []stream.ConsumerOption{stream.Interval(100 * time.Millisecond), stream.Failover(time.Second)}
	a := w.through(nil, cutStreams{w.scripted, c}, w.c.handle, options...)
	soon(t, "the shard", func() bool { return a.Stats().Shards == 1 })
	b := w.begin(options...)
	soon(t, "the other worker", func() bool { return len(w.items("WORKER#")) == 2 })
	c.set(true)
	w.write("a", 1)
	soon(t, "the other worker", func() bool { return w.c.handled() == 1 })
	c.set(false)
	b.leave() // a deployment
	<-b.ended
	w.write("a", 2)
	begun := time.Now()
	soon(t, "the next", func() bool { return w.c.handled() == 2 })
	if d := time.Since(begun); d > 2*time.Second {
		t.Errorf("no worker has read the shard for %v, failover times of 1s, and a worker runs that can", d)
	}
}
