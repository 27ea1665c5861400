package stream_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/stream"
)

func (w *world) shardsOf(n uint32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.shards = nil
	for i := range n {
		w.add("", i*((1<<32-1)/n), (i+1)*((1<<32-1)/n)-1)
	}
	w.shards[n-1].high = 1<<32 - 1
}

// A worker that stops has no share, although one of its handlers still runs.
func TestLeavingWorkersHaveNoShare(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shardsOf(8)
	in, out := make(chan struct{}, 100), make(chan struct{})
	defer close(out)
	a := w.through(nil, nil, func(context.Context, *stream.Change[kit.Account]) error {
		in <- struct{}{}
		<-out
		return nil
	}, stream.Grace(time.Hour))
	soon(t, "all shards", func() bool { return a.Stats().Shards == 8 })
	w.write("a", 1)
	<-in
	b := w.begin()
	soon(
		t,
		"half",
		func() bool { return a.Stats().Shards <= 5 && b.Stats().Shards >= 3 },
	) // the hung one may be released
	a.leave()
	eventually(t, 6*failover(t), "B has the other seven shards", func() bool { return b.Stats().Shards == 7 })
	t.Logf("A %+v\nB %+v", a.Stats(), b.Stats())
	ids := 0
	for i := range 100 {
		id := fmt.Sprint("x", i)
		w.write(id, 1)
		ids++
	}
	time.Sleep(4 * failover(t))
	t.Logf("%d of %d changes handled by B; B: %+v", w.c.handled(), ids, b.Stats())
}

// The only worker, after an outage of its beats, with a handler that hangs: "A handler that hangs stops its shard".
func TestHandlersThatHangStopTheirShardOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shardsOf(8)
	d := &denial{operation: "UpdateItem", text: "WORKERS#"}
	in, out := make(chan struct{}, 100), make(chan struct{})
	defer close(out)
	a := w.through(d.do, nil, func(ctx context.Context, c *stream.Change[kit.Account]) error {
		if c.New.ID == "hangs" {
			in <- struct{}{}
			<-out
			return nil
		}
		return w.c.handle(ctx, c)
	})
	soon(t, "all shards", func() bool { return a.Stats().Shards == 8 })
	w.write("hangs", 1)
	<-in
	ids := func(n int) (k int) {
		for i := range 30 {
			id := fmt.Sprint("x", i)
			of := -1
			for j := range w.shards {
				if h := hashOf(id); h >= w.shards[j].low && h <= w.shards[j].high {
					of = j
				}
			}
			if h := hashOf("hangs"); h >= w.shards[of].low && h <= w.shards[of].high {
				continue
			}
			w.write(id, n)
			k++
		}
		return k
	}
	k := ids(1)
	soon(t, "others", func() bool { return w.c.handled() == k })
	d.on.Store(true)
	time.Sleep(2 * failover(t))
	d.on.Store(false)
	time.Sleep(2 * failover(t))
	ids(2)
	if !eventually(t, 10*failover(t), "the changes of the other shards", func() bool { return w.c.handled() >= 2*k }) {
		t.Logf("%d of %d, %+v", w.c.handled(), 2*k, a.Stats())
	}
}

// The answer to the save of a shard's end does not come within the failover time.
func TestEndsWithoutAnswerAreListed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var armed atomic.Bool
	h := &hook{after: func(ctx context.Context, op, body string) error {
		if armed.Load() && op == "UpdateItem" && strings.Contains(body, "SHARDS#") {
			armed.Store(false)
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	}}
	m := w.hooked(h, w.c.handle, stream.Discover(time.Hour))
	w.write("a", 1)
	soon(t, "the end", func() bool { s := m.Stats(); return s.Handled >= 1 && s.Behind == 0 })
	time.Sleep(time.Second) // its position is saved
	armed.Store(true)
	w.split(0, false)
	w.write("a", 2)
	time.Sleep(2 * patience(t))
	if !eventually(t, 4*patience(t), "the change of the child", func() bool { return w.c.handled() == 2 }) {
		t.Logf("armed %v, shards %v, %+v", armed.Load(), w.items("SHARD#"), m.Stats())
	}
}

// The same with a lost answer, at once.
func TestEndsWithLostAnswersAreListed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var armed atomic.Bool
	h := &hook{after: func(ctx context.Context, op, body string) error {
		if armed.Load() && op == "UpdateItem" && strings.Contains(body, "SHARDS#") {
			armed.Store(false)
			return errLost
		}
		return nil
	}}
	m := w.hooked(h, w.c.handle, stream.Discover(time.Hour))
	w.write("a", 1)
	soon(t, "the end", func() bool { s := m.Stats(); return s.Handled >= 1 && s.Behind == 0 })
	time.Sleep(time.Second)
	armed.Store(true)
	w.split(0, false)
	w.write("a", 2)
	if !eventually(t, 4*patience(t), "the change of the child", func() bool { return w.c.handled() == 2 }) {
		t.Logf("armed %v, shards %v, %+v", armed.Load(), w.items("SHARD#"), m.Stats())
	}
}

// Another worker has read a shard to its end, and dies before it lists the next ones.
func TestEndsOfOtherWorkersAreListed(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"kill", "leave"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			c := &refusing{Streams: w.scripted}
			a := w.through(nil, c, w.c.handle)
			w.write("a", 1)
			soon(t, "the end", func() bool { s := a.Stats(); return s.Handled >= 1 && s.Behind == 0 })
			b := w.begin(stream.Discover(time.Hour))
			soon(t, "B", func() bool { s := b.Stats(); return s.Behind == 0 })
			c.refuse.Store(true) // A's listings
			w.split(0, false)
			w.write("a", 2)
			soon(t, "A's end", func() bool { return a.Stats().Shards == 0 })
			a.leave()
			<-a.ended
			time.Sleep(2 * failover(t))
			if s := b.Stats(); s.Behind == 0 && w.c.handled() == 1 {
				t.Errorf("B is the only worker, a change waits, and Behind is 0: %+v", s)
			}
			eventually(t, 6*failover(t), "the change of the child", func() bool { return w.c.handled() == 2 })
		})
	}
}

type refusing struct {
	stream.Streams
	refuse atomic.Bool
	of     string
}

func (c *refusing) DescribeStream(ctx context.Context, in *dynamodbstreams.DescribeStreamInput,
	o ...func(*dynamodbstreams.Options),
) (*dynamodbstreams.DescribeStreamOutput, error) {
	if c.refuse.Load() && strings.HasSuffix(*in.StreamArn, c.of) {
		return nil, errors.New("not now")
	}
	return c.Streams.DescribeStream(ctx, in, o...)
}

// "Lag grows while requests fail": reads fail all the time, and the worker loses and takes its lease again.
func TestLagDoesNotFallAtATake(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := &denial{operation: "UpdateItem", text: "WORKERS#"}
	var fails atomic.Bool
	w.fail = func(operation, _ string) error {
		if fails.Load() && operation == "GetRecords" {
			return errors.New("reset")
		}
		return nil
	}
	m := w.through(d.do, nil, w.c.handle)
	w.write("a", 1)
	soon(t, "the end", func() bool { s := m.Stats(); return s.Handled >= 1 && s.Behind == 0 })
	fails.Store(true)
	w.write("a", 2)
	soon(t, "a lag", func() bool { return m.Stats().Lag > 3*failover(t) })
	d.on.Store(true)
	soon(t, "the fence", func() bool { return m.Stats().Shards == 0 })
	d.on.Store(false)
	for end := time.Now().Add(3 * failover(t)); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if s := m.Stats(); s.Lag < 3*failover(t) {
			t.Fatalf("the lag has fallen, and no read has succeeded: %+v", s)
		}
	}
}

// The number of shards behind is never larger than that of the shards.
func TestBehindCountsShardsOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shardsOf(8)
	m := w.through(nil, nil, w.c.handle)
	most := 0
	for end := time.Now().Add(2 * failover(t)); time.Now().Before(end); {
		most = max(most, m.Stats().Behind)
	}
	if most > 8 {
		t.Errorf("%d of 8 shards are behind", most)
	}
}

// Two workers find a new stream; the first cannot list it for a moment.
func TestReplacedStreamsAreReportedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	reports, on := replacements()
	var c collected
	s := &refusing{Streams: w.scripted, of: "2"}
	w.through(nil, s, c.handle, on)
	w.write("a", 1)
	soon(t, "the first", func() bool { return c.has("a1") })
	s.refuse.Store(true)
	w.replaceStream(2)
	w.write("a", 2)
	time.Sleep(failover(t)) // A has found it
	w.through(nil, nil, c.handle, on)
	soon(t, "the second", func() bool { return c.has("a2") })
	s.refuse.Store(false)
	time.Sleep(3 * failover(t))
	if n := reports.Load(); n != 1 {
		t.Errorf("%d reports", n)
	}
}

// replacements counts the reports of replaced streams.
func replacements() (*atomic.Int64, stream.ConsumerOption) {
	reports := new(atomic.Int64)
	return reports, stream.OnError(func(err error) {
		if strings.Contains(err.Error(), "was replaced") {
			reports.Add(1)
		}
	})
}

// The worker stops while the answer of the transaction is on its way.
func TestLeavingWorkersReportReplacedStreams(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	reports, on := replacements()
	var c collected
	var armed atomic.Bool
	in := make(chan struct{})
	var once sync.Once
	h := &hook{after: func(ctx context.Context, op, body string) error {
		if armed.Load() && op == "TransactWriteItems" {
			once.Do(func() { close(in); <-ctx.Done() })
			return ctx.Err()
		}
		return nil
	}}
	a := w.hooked(h, c.handle, on)
	w.write("a", 1)
	soon(t, "the first", func() bool { return c.has("a1") })
	armed.Store(true)
	w.replaceStream(2)
	w.write("a", 2)
	<-in
	a.leave()
	<-a.ended
	w.hooked(&hook{}, c.handle, on)
	soon(t, "the second", func() bool { return c.has("a2") })
	time.Sleep(patience(t))
	if n := reports.Load(); n != 1 {
		t.Errorf("%d reports", n)
	}
}

// The stream is replaced before the first listing of a group has succeeded.
func TestStreamsReplacedBeforeTheFirstListing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	reports, on := replacements()
	var c collected
	s := &refusing{Streams: w.scripted}
	s.refuse.Store(true)
	a := w.through(nil, s, c.handle, on)
	soon(t, "the group", func() bool { return len(w.items("GROUP")) >= 2 && a.Stats().Errors > 0 })
	w.write("a", 1) // after the group has begun
	w.replaceStream(2)
	w.write("a", 2)
	s.refuse.Store(false)
	soon(t, "the second", func() bool { return c.has("a2") })
	time.Sleep(2 * failover(t))
	if !c.has("a1") && reports.Load() == 0 {
		t.Errorf("the change a1 of the former stream, which exists, is neither handled nor reported: %+v", a.Stats())
	}
}

// A former stream that cannot be listed: "Behind is 1 or more while a request fails".
func TestBehindWithoutAFormerListing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var c collected
	first := w.through(nil, nil, c.handle)
	w.write("a", 1)
	soon(t, "the first", func() bool { return c.has("a1") })
	first.leave()
	<-first.ended
	w.replaceStream(2)
	w.write("a", 2)
	w.replaceStream(3)
	w.write("a", 3)
	s := &refusing{Streams: w.scripted, of: "2"}
	s.refuse.Store(true)
	m := w.through(nil, s, c.handle)
	soon(t, "the third", func() bool { return c.has("a3") })
	time.Sleep(2 * failover(t))
	if x := m.Stats(); x.Behind == 0 && !c.has("a2") {
		t.Errorf("the change a2 waits in a stream whose listing fails, and Behind is 0: %+v, %v", x, w.last.Load())
	}
}

// Workers that are cut off with handlers that still run, and one that is not: it has all other shards. DeleteGroup
// refuses. They come back.
func TestWorkersThatAreAwayComeBack(t *testing.T) {
	t.Parallel()
	for _, with := range []bool{true, false} {
		t.Run(fmt.Sprint("third ", with), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.shardsOf(8)
			var hang atomic.Bool
			hang.Store(true)
			out := make(chan struct{})
			var closed sync.Once
			defer closed.Do(func() { close(out) })
			var all []*process
			var ds []*denial
			for range 2 {
				var once atomic.Bool
				d := &denial{operation: "UpdateItem", text: "WORKERS#"}
				ds = append(ds, d)
				all = append(all, w.through(d.do, nil, func(ctx context.Context, c *stream.Change[kit.Account]) error {
					if !once.Swap(true) { // one handler of each worker
						<-out
					}
					return w.c.handle(ctx, c)
				}))
			}
			soon(t, "half", func() bool { return all[0].Stats().Shards == 4 && all[1].Stats().Shards == 4 })
			for i := range 60 {
				w.write(fmt.Sprint("x", i), 1)
			}
			time.Sleep(failover(t))
			for _, d := range ds {
				d.on.Store(true)
			}
			time.Sleep(2 * failover(t))
			for _, d := range ds {
				d.on.Store(false)
			}
			time.Sleep(failover(t))
			if with {
				c := w.begin()
				eventually(t, 10*failover(t), "all", func() bool { return w.c.handled() == 60 && c.Stats().Shards > 1 })
			}
			if err := stream.DeleteGroup(context.Background(), testengine.Start(t).Client(), w.leases, "accounts",
				"default"); err == nil {
				t.Error("deleted")
			}
			if !with {
				time.Sleep(6 * failover(t))
				t.Logf("two workers run, no outage: %d of 60, %+v, %+v", w.c.handled(), all[0].Stats(), all[1].Stats())
			}
			closed.Do(func() { close(out) })
			soon(t, "all", func() bool { return w.c.handled() == 60 })
			soon(t, "back", func() bool { return all[0].Stats().Shards > 1 && all[1].Stats().Shards > 1 })
		})
	}
}

// The answer to a take is late, and beats have failed in between: another worker has the lease.
func TestLateTakesReadNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shards[0].hidden = true
	f := patience(t)
	var took, beats atomic.Bool
	var answered atomic.Int64
	h := &hook{}
	h.before = func(ctx context.Context, op, body string) error {
		if beats.Load() && op == "UpdateItem" && strings.Contains(body, "WORKERS#") {
			return errLost
		}
		return nil
	}
	h.after = func(ctx context.Context, op, body string) error {
		if op == "UpdateItem" && strings.Contains(body, "SHARD#shardId") && !took.Swap(true) {
			time.Sleep(f * 90 / 100)
			beats.Store(false)
			time.Sleep(f * 6 / 100)
			answered.Store(time.Now().UnixNano())
			return nil
		}
		return nil
	}
	hb := &hook{before: func(ctx context.Context, op, body string) error {
		if op == "UpdateItem" && strings.Contains(body, "SHARD#shardId") && !took.Load() {
			return errLost
		}
		return nil
	}}
	quiet := stream.OnError(func(error) {})
	var inA, inB, firstB atomic.Int64
	a := w.hooked(h, func(context.Context, *stream.Change[kit.Account]) error { inA.Add(1); return nil },
		stream.Interval(f/50), quiet)
	b := w.hooked(hb, func(ctx context.Context, _ *stream.Change[kit.Account]) error {
		inB.Add(1)
		firstB.CompareAndSwap(0, time.Now().UnixNano())
		time.Sleep(f)
		return nil
	}, stream.Interval(f/50), quiet)
	soon(t, "both", func() bool { return len(w.items("WORKER#")) == 2 })
	time.Sleep(f / 2)
	beats.Store(true)
	time.Sleep(f / 5)
	w.write("a", 1)
	w.show()
	soon(t, "one", func() bool { return inA.Load()+inB.Load() > 0 && answered.Load() > 0 })
	time.Sleep(2 * f)
	t.Logf("A %d, B %d, B before the answer: %v, %+v, %+v", inA.Load(), inB.Load(),
		time.Duration(answered.Load()-firstB.Load()), a.Stats(), b.Stats())
	if inA.Load() > 0 && inB.Load() > 0 {
		t.Error("both")
	}
}

// "Each change is handled, or is a dead letter, or is reported as trimmed": a shard that was read to its end and
// had no record yet, then no worker for a day.
func TestIdleShardsThatWereNotReadHaveAGap(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var c collected
	first := w.through(nil, nil, c.handle)
	soon(t, "the end", func() bool { s := first.Stats(); return s.Shards == 1 && s.Behind == 0 })
	first.leave()
	<-first.ended
	w.set(w.shard(0).id, "Listed", &types.AttributeValueMemberN{
		Value: fmt.Sprint(time.Now().Add(-26 * time.Hour).Unix()),
	})
	w.write("a", 1)
	m := w.through(nil, nil, c.handle)
	soon(t, "the change, and the gap", func() bool { return c.has("a1") && m.Stats().Trimmed == 1 })
}

// Behind after a fence is not larger than the number of shards and the listing.
func TestShardsOfAFenceCountOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shardsOf(40)
	d := &denial{operation: "UpdateItem", text: "WORKERS#"}
	m := w.through(d.do, nil, w.c.handle)
	soon(t, "all", func() bool { return m.Stats().Shards == 40 })
	d.on.Store(true)
	soon(t, "the fence", func() bool { return m.Stats().Shards == 0 })
	time.Sleep(100 * time.Millisecond)
	w.mu.Lock()
	w.fail = func(operation, _ string) error {
		if strings.HasPrefix(operation, "Get") {
			time.Sleep(300 * time.Millisecond)
		}
		return nil
	}
	w.mu.Unlock()
	d.on.Store(false)
	most := 0
	for m.Stats().Shards < 40 {
		most = max(most, m.Stats().Behind)
	}
	if most > 40 {
		t.Errorf("%d of 40 shards are behind", most)
	}
}

// A worker that is away, and dies: another one deletes its counter, as that of each worker that has died.
func TestCountersOfWorkersThatDieAwayAreDeleted(t *testing.T) {
	t.Parallel()
	for _, away := range []bool{false, true} {
		t.Run(fmt.Sprint("away ", away), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			d := &denial{operation: "UpdateItem", text: "WORKERS#"}
			in, out := make(chan struct{}, 100), make(chan struct{})
			defer close(out)
			var dead atomic.Bool
			a := w.through(func(q *http.Request, body string) (*http.Response, error) {
				if dead.Load() {
					return nil, errCut
				}
				return d.do(q, body)
			}, nil, func(context.Context, *stream.Change[kit.Account]) error {
				in <- struct{}{}
				<-out
				return nil
			})
			w.write("a", 1)
			<-in
			if away {
				d.on.Store(true)
				time.Sleep(2 * failover(t))
				d.on.Store(false)
				time.Sleep(failover(t))
			}
			dead.Store(true) // killed, because its handler hangs
			b := w.begin()
			soon(t, "B", func() bool { return w.c.handled() == 1 })
			eventually(t, 30*failover(t), "one counter", func() bool { return len(w.items("WORKER#")) == 1 })
			t.Logf("%v %+v %+v", w.items("WORKER#"), a.Stats(), b.Stats())
		})
	}
}

// A worker that beats, and cannot read the leases (a policy without Query), has no share.
func TestWorkersThatCannotReadLeasesHaveNoShare(t *testing.T) {
	t.Parallel()
	for _, op := range []string{"Query", "Query hangs"} {
		t.Run(op, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.shardsOf(8)
			b := w.begin()
			soon(t, "all", func() bool { return b.Stats().Shards == 8 })
			d := &denial{operation: op}
			d.on.Store(true)
			a := w.through(func(q *http.Request, body string) (*http.Response, error) {
				if op == "Query hangs" && strings.HasSuffix(q.Header.Get("X-Amz-Target"), ".Query") &&
					strings.Contains(body, "SHARDS#") {
					<-q.Context().Done()
					return nil, q.Context().Err()
				}
				return d.do(q, body)
			}, nil, w.c.handle)
			soon(t, "beats", func() bool { return len(w.items("WORKER#")) == 2 })
			time.Sleep(3 * failover(t))
			for i := range 60 {
				w.write(fmt.Sprint("x", i), 1)
			}
			if !eventually(t, 20*failover(t), "all changes", func() bool { return w.c.handled() == 60 }) {
				t.Logf("%d of 60, A %+v, B %+v, %v", w.c.handled(), a.Stats(), b.Stats(), w.last.Load())
			}
		})
	}
}
