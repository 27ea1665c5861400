package stream_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/stream"
)

// operationOf returns the operation of a request.
func operationOf(q *http.Request) string {
	_, operation, _ := strings.Cut(q.Header.Get("X-Amz-Target"), ".")
	return operation
}

// Rule 8: a worker whose takes fail has no share, also if they fail because they have no answer.
func TestWorkersWhoseTakesHaveNoAnswer(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"fail", "hang"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.shardsOf(8)
			const f = 1200 * time.Millisecond
			options := []stream.ConsumerOption{
				stream.Interval(f / 6), stream.Failover(f), stream.OnError(func(error) {}),
			}
			b := w.begin(options...)
			soon(t, "all", func() bool { return b.Stats().Shards == 8 })
			var hung atomic.Int64
			d := &denial{operation: "UpdateItem", text: "SHARDS#"}
			d.on.Store(true)
			a := w.through(func(q *http.Request, body string) (*http.Response, error) {
				if operationOf(q) == "UpdateItem" && strings.Contains(body, "SHARDS#") {
					hung.Add(1)
					if how == "hang" {
						<-q.Context().Done()
						return nil, q.Context().Err()
					}
				}
				return d.do(q, body)
			}, nil, w.c.handle, options...)
			soon(t, "beats", func() bool { return len(w.items("WORKER#")) == 2 })
			soon(t, "B gives up half", func() bool { return b.Stats().Shards == 4 })
			for i := range 60 {
				w.write(fmt.Sprint("x", i), 1)
			}
			begun := time.Now()
			if !eventually(t, 10*f, "all changes", func() bool { return w.c.handled() == 60 }) {
				t.Logf("%d of 60, %d takes, A %+v, B %+v, passive %v", w.c.handled(), hung.Load(), a.Stats(), b.Stats(),
					w.values("WORKER#", "Passive"))
			} else {
				t.Logf("after %.1f failover times", float64(time.Since(begun))/float64(f))
			}
		})
	}
}

// Rule 5: A was silent, beats, and takes its lease again. B reads the leases, and then an old state of the workers, if
// its read is not strongly consistent.
func TestWorkersAreReadStronglyConsistent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := patience(t)
	var inA atomic.Int64
	out := make(chan struct{})
	defer close(out)
	dA := &denial{operation: "UpdateItem", text: "WORKERS#"}
	opts := []stream.ConsumerOption{stream.Interval(f / 40), stream.Failover(f)}
	a := w.through(dA.do, nil, func(ctx context.Context, _ *stream.Change[kit.Account]) error {
		inA.Add(1)
		defer inA.Add(-1)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-out:
			return nil
		}
	}, opts...)
	soon(t, "A", func() bool { return a.Stats().Shards == 1 })
	takes := &denial{operation: "UpdateItem", text: "SHARDS#"}
	takes.on.Store(true)
	var stale atomic.Bool
	var tries, reads atomic.Int64
	var mu sync.Mutex
	var old []byte
	var header http.Header
	var both atomic.Int64
	w.through(func(q *http.Request, body string) (*http.Response, error) {
		if isQuery(operationOf(q), body, "WORKERS#") {
			mu.Lock()
			defer mu.Unlock()
			reads.Add(1)
			if stale.Load() && !strings.Contains(body, `"ConsistentRead":true`) {
				return &http.Response{
					StatusCode: 200, Header: header.Clone(), Body: io.NopCloser(bytes.NewReader(old)),
				}, nil
			}
			r, err := http.DefaultClient.Do(q)
			if err == nil {
				old, _ = io.ReadAll(r.Body)
				_ = r.Body.Close()
				header = r.Header.Clone()
				r.Body = io.NopCloser(bytes.NewReader(old))
			}
			return r, err
		}
		if operationOf(q) == "UpdateItem" && strings.Contains(body, "SHARDS#") {
			tries.Add(1)
		}
		return takes.do(q, body)
	}, nil, func(context.Context, *stream.Change[kit.Account]) error {
		if inA.Load() > 0 {
			both.Add(1)
		}
		return nil
	}, opts...)
	soon(t, "both", func() bool { return len(w.items("WORKER#")) == 2 })
	time.Sleep(f / 2)
	dA.on.Store(true)
	before := tries.Load()
	soon(t, "B sees that A is silent", func() bool { return tries.Load() > before && a.Stats().Shards == 0 })
	w.write("a", 1)
	mu.Lock()
	stale.Store(true)
	mu.Unlock()
	dA.on.Store(false)
	soon(t, "A is back", func() bool { return inA.Load() == 1 })
	takes.on.Store(false)
	n := reads.Load()
	soon(t, "reads", func() bool { return reads.Load() > n+1 })
	stale.Store(false)
	time.Sleep(f / 4)
	if both.Load() > 0 {
		t.Error("B handles a change that the living A is handling")
	}
}

// A shard was found 24 hours ago. Its first record is trimmed after an iterator was made, and before the first answer.
func TestFirstRecordsTrimmedAfterTheIterator(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.begin()
	soon(t, "the shard", func() bool { return first.Stats().Shards == 1 })
	first.leave()
	<-first.ended
	w.set(w.shard(0).id, "Listed", &types.AttributeValueMemberN{
		Value: fmt.Sprint(time.Now().Add(-24*time.Hour + 3*time.Second).Unix()),
	})
	w.write("a", 1)
	var fails atomic.Bool
	fails.Store(true)
	w.mu.Lock()
	w.fail = func(operation, _ string) error {
		if fails.Load() && operation == "GetRecords" {
			return errors.New("reset")
		}
		return nil
	}
	w.mu.Unlock()
	var c collected
	m := w.through(nil, nil, c.handle)
	soon(t, "reads", func() bool { return w.requests("GetRecords", "") > 3 })
	time.Sleep(4 * time.Second) // it is 24 hours since the shard was found
	w.trim(0, 1)
	w.write("a", 2)
	fails.Store(false)
	soon(t, "the second", func() bool { return c.has("a2") })
	time.Sleep(failover(t))
	if s := m.Stats(); s.Trimmed == 0 && !c.has("a1") {
		t.Errorf("the first change is lost without a report: %+v", s)
	}
}

// A position was trimmed. Each worker reports that once, until the next record has been handled.
func TestGapsAreReportedUntilARecordIsHandled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.begin()
	w.write("a", 1)
	w.write("a", 2)
	soon(t, "two", func() bool { return w.c.handled() == 2 })
	first.leave()
	<-first.ended
	listed := func(ago time.Duration) {
		w.set(w.shard(0).id, "Listed", &types.AttributeValueMemberN{Value: fmt.Sprint(time.Now().Add(-ago).Unix())})
	}
	listed(25 * time.Hour)
	w.write("a", 3)
	w.write("a", 4) // it can be trimmed, too, before it is handled
	w.write("a", 5)
	reports := func(trimmed int, handles bool) int64 {
		w.trim(0, trimmed)
		in := make(chan struct{}, 100)
		m := w.through(nil, nil, func(ctx context.Context, c *stream.Change[kit.Account]) error {
			in <- struct{}{}
			if handles {
				return w.c.handle(ctx, c)
			}
			<-ctx.Done()
			return ctx.Err()
		}, stream.Grace(time.Millisecond))
		<-in
		if handles {
			soon(t, "the last", func() bool { return m.Stats().Handled == 1 })
			w.write("a", 6)
			soon(t, "another one", func() bool { return m.Stats().Handled == 2 })
		}
		m.leave()
		<-m.ended
		return int64(m.Stats().Trimmed)
	}
	if n := reports(3, false); n != 1 {
		t.Errorf("%d reports of a gap", n)
	}
	if n := reports(4, true); n != 1 {
		t.Errorf("%d reports of a gap that has grown", n)
	}
	w.write("a", 7)
	if n := reports(4, false); n != 0 {
		t.Errorf("%d reports afterwards", n)
	}
}

// A worker leaves shards to another one because of a fault of its own, for some time. The fault ends, and then the
// other one cannot read. So the first one is back at once.
func TestWorkersComeBackIfNoOtherCanRead(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{"reads", "takes"} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.shardsOf(8)
			ids := w.idsOf(8)
			reads, other := &cut{}, &cut{}
			takes := &denial{operation: "UpdateItem", text: "SHARDS#"}
			set := func(on bool) {
				if fault == "reads" {
					reads.set(on)
				} else {
					takes.on.Store(on)
				}
			}
			b := w.through(nil, cutStreams{w.scripted, other}, w.c.handle)
			soon(t, "all shards", func() bool { return b.Stats().Shards == 8 })
			set(fault == "takes")
			w.through(takes.do, cutStreams{w.scripted, reads}, w.c.handle)
			for range 4 {
				soon(t, "B has half", func() bool { return b.Stats().Shards <= 4 })
				set(true)
				soon(t, "B has all", func() bool { return b.Stats().Shards == 8 })
			}
			set(false)
			other.set(true)
			for _, id := range ids {
				w.write(id, 1)
			}
			eventually(t, 8*failover(t), "the changes", func() bool { return w.c.handled() == 8 })
		})
	}
}

// Rule 8: an owner that may not read its lease any more, because it cannot list the former stream, gives it up.
func TestOwnersThatCannotListLeave(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shards[0].parent = "shardId-00000000000000000000-trimmed"
	s := &refusing{Streams: w.scripted, of: "1"}
	d := &denial{operation: "UpdateItem", text: "WORKERS#"}
	in := make(chan struct{}, 100)
	var leftOut atomic.Bool
	a := w.through(d.do, s, func(ctx context.Context, c *stream.Change[kit.Account]) error {
		if c.New.Counter == 2 { // it is in the new stream, and either worker can read that afterwards
			return w.c.handle(ctx, c)
		}
		select {
		case in <- struct{}{}:
		default:
		}
		<-ctx.Done() // a slow handler, that obeys
		return ctx.Err()
	}, stream.OnError(func(err error) {
		if strings.Contains(err.Error(), "former stream") {
			leftOut.Store(true)
		}
	}))
	soon(t, "A", func() bool { return a.Stats().Shards == 1 })
	w.write("a", 1)
	<-in
	w.replaceStream(2)
	w.write("a", 2)
	soon(t, "the new stream", func() bool { return len(w.items("SHARD#")) == 2 })
	s.refuse.Store(true)
	soon(t, "a listing that leaves the former stream out", leftOut.Load)
	time.Sleep(failover(t) / 2)
	d.on.Store(true)
	soon(t, "the fence", func() bool { return a.Stats().Shards == 0 })
	time.Sleep(failover(t) / 2)
	d.on.Store(false)
	time.Sleep(failover(t))
	b := w.begin()
	if !eventually(t, 30*failover(t), "both changes", func() bool { return w.c.handled() == 2 }) {
		t.Logf("%d of 2, A %+v, B %+v, away %v passive %v", w.c.handled(), a.Stats(), b.Stats(),
			w.values("WORKER#", "Away"), w.values("WORKER#", "Passive"))
	}
	a.leave() // control
	eventually(t, 10*failover(t), "both changes afterwards", func() bool { return w.c.handled() == 2 })
}

// A worker can read no shard, and leaves, also if new shards come all the time, so that one of its readers is young.
func TestNewShardsKeepNoFailingWorker(t *testing.T) {
	t.Parallel()
	for _, splitting := range []bool{false, true} {
		t.Run(fmt.Sprint("splits ", splitting), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.shardsOf(32)
			f := patience(t)
			options := []stream.ConsumerOption{
				stream.Interval(f / 15), stream.Failover(f), stream.OnError(func(error) {}),
			}
			c := &cut{}
			a := w.through(nil, cutStreams{w.scripted, c}, w.c.handle, options...)
			soon(t, "all", func() bool { return a.Stats().Shards == 32 })
			b := w.begin(options...)
			soon(t, "half", func() bool { return a.Stats().Shards == 16 && b.Stats().Shards == 16 })
			ids := w.idsOf(32)
			c.set(true)
			for _, id := range ids {
				w.write(id, 1)
			}
			begun := time.Now()
			soon(t, "B's", func() bool { return w.c.handled() >= 16 })
			var own []int // shards that B reads
			w.c.mu.Lock()
			for i, id := range ids {
				if w.c.last[id] == 1 {
					own = append(own, i)
				}
			}
			w.c.mu.Unlock()
			splits, least := 0, 1000
			for time.Since(begun) < 14*f && w.c.handled() < 32 {
				if splitting && splits < len(own) {
					w.mu.Lock()
					sh := w.shards[own[splits]]
					sh.closed = true
					middle := sh.low + (sh.high-sh.low)/2
					w.add(sh.id, sh.low, middle)
					w.add(sh.id, middle+1, sh.high)
					w.mu.Unlock()
					splits++
				}
				for end := time.Now().Add(f / 2); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
					least = min(least, a.Stats().Shards)
				}
			}
			t.Logf("after %.1f failover times: %d of 32 handled, %d splits, A had at least %d shards, A %+v, B %+v",
				float64(time.Since(begun))/float64(f), w.c.handled(), splits, least, a.Stats(), b.Stats())
			if w.c.handled() < 32 {
				t.Errorf("the changes of A's shards wait")
			}
		})
	}
}

// Rule 5: A says that it is away while one of its coordinations takes a lease. B has not seen that A was not away in
// between, because its interval is longer. It is another absence, and B watches it from its beginning. C cannot take
// the shard.
func TestEachAbsenceIsWatched(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mu.Lock()
	w.shards[0].hidden = true
	w.mu.Unlock()
	quiet := stream.OnError(func(error) {})
	const f = 2 * time.Second
	const (
		normal = iota
		blind
		hold
	)
	var phase, handlingA atomic.Int64
	var holdBeats atomic.Bool
	released, bDone := make(chan struct{}), make(chan struct{})
	var beats atomic.Int64 // successful ones of A: the longest time between two
	var longest atomic.Int64
	ha := &hook{before: func(ctx context.Context, op, body string) error {
		if isQuery(op, body, "SHARDS#") {
			switch phase.Load() {
			case blind:
				return errLost
			case hold:
				select {
				case <-released:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
		}
		if op != "Query" && strings.Contains(body, "WORKERS#") && holdBeats.Load() {
			select {
			case <-bDone: // a slow request
			case <-time.After(300 * time.Millisecond):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	}, after: func(_ context.Context, op, body string) error {
		if op != "Query" && strings.Contains(body, "WORKERS#") {
			now := time.Now().UnixNano()
			if last := beats.Swap(now); last != 0 {
				longest.Store(max(longest.Load(), now-last))
			}
		}
		return nil
	}}
	inA, inB, out := make(chan struct{}, 10), make(chan time.Time, 10), make(chan struct{})
	defer close(out)
	var lateA atomic.Bool
	w.hooked(ha, func(ctx context.Context, _ *stream.Change[kit.Account]) error {
		handlingA.Add(1)
		defer handlingA.Add(-1)
		holdBeats.Store(true)
		inA <- struct{}{}
		select {
		case <-time.After(f / 2):
		case <-ctx.Done():
			lateA.Store(true)
		}
		return ctx.Err()
	}, quiet, stream.Interval(300*time.Millisecond), stream.Failover(f))
	soon(t, "A", func() bool { return len(w.items("WORKER#")) == 1 })
	time.Sleep(f)
	phase.Store(blind)
	soon(t, "A is away", w.isAway)
	var holdB atomic.Bool
	heldB, freeB := make(chan struct{}, 100), make(chan struct{})
	hb := &hook{before: func(ctx context.Context, op, body string) error {
		if isQuery(op, body, "SHARDS#") && holdB.Load() {
			heldB <- struct{}{}
			<-freeB
		}
		return nil
	}}
	w.hooked(hb, func(context.Context, *stream.Change[kit.Account]) error {
		inB <- time.Now()
		if n := handlingA.Load(); n > 0 {
			t.Errorf("B handles the change that A is handling: A was interrupted before: %v, longest time between two "+
				"beats of A: %v of %v", lateA.Load(), time.Duration(longest.Load()), f)
		}
		return nil
	}, quiet, stream.Interval(5*f/4), stream.Failover(5*f/2), stream.Discover(time.Hour))
	d := &denial{operation: "UpdateItem", text: "SHARDS#"}
	d.on.Store(true)
	w.through(d.do, nil, w.c.handle, quiet, stream.Interval(300*time.Millisecond), stream.Failover(f))
	time.Sleep(5 * f)
	holdB.Store(true) // its next coordination is a little later than A's beats
	<-heldB
	phase.Store(normal)
	eventually(t, f, "A is back", func() bool { return !w.isAway() })
	phase.Store(blind)
	w.show()
	w.write("a", 1)
	soon(t, "the lease", func() bool { return len(w.items("SHARD#")) == 1 })
	time.Sleep(f / 2)
	phase.Store(hold)
	if !eventually(t, f, "A is away again", w.isAway) {
		return
	}
	close(released)
	select {
	case <-inA:
	case <-time.After(f):
		t.Log("A takes nothing")
	}
	close(freeB)
	select {
	case <-inB:
	case <-time.After(f / 2):
	}
	close(bDone)
	time.Sleep(f / 2)
}

// Rule 5: A was cut off for long, and beats again between B's read of the counters and B's delete of A's counter. The
// failover time of A is longer.
func TestCountersOfLivingWorkersStay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	quiet := stream.OnError(func(error) {})
	const fa, fb = 3 * time.Second, 1100 * time.Millisecond
	beats := &denial{operation: "UpdateItem", text: "WORKERS#"}
	var handlingA, beaten atomic.Int64
	inA := make(chan struct{}, 10)
	a := w.through(func(q *http.Request, body string) (*http.Response, error) {
		denied := beats.on.Load()
		r, err := beats.do(q, body)
		if !denied && err == nil && r.StatusCode == 200 && strings.Contains(body, "WORKERS#") &&
			operationOf(q) != "Query" &&
			operationOf(q) != "GetItem" {
			beaten.Store(time.Now().UnixNano())
		}
		return r, err
	}, nil, func(ctx context.Context, _ *stream.Change[kit.Account]) error {
		handlingA.Add(1)
		defer handlingA.Add(-1)
		inA <- struct{}{}
		select {
		case <-time.After(fa / 2):
		case <-ctx.Done():
		}
		return ctx.Err()
	}, quiet, stream.Interval(800*time.Millisecond), stream.Failover(fa))
	soon(t, "the shard", func() bool { return a.Stats().Shards == 1 })
	takes := &denial{operation: "UpdateItem", text: "SHARDS#"}
	takes.on.Store(true)
	var deletes atomic.Int64
	var once atomic.Bool
	hb := func(q *http.Request, body string) (*http.Response, error) {
		if operationOf(q) == "DeleteItem" && strings.Contains(body, "WORKERS#") &&
			!once.Swap(true) {
			deletes.Add(1)
			beaten.Store(0)
			beats.on.Store(false)
			for end := time.Now().Add(fb * 9 / 10); beaten.Load() == 0 && time.Now().Before(end); {
				time.Sleep(time.Millisecond)
			}
			t.Logf("A has beaten before the delete: %v", beaten.Load() != 0)
		}
		return takes.do(q, body)
	}
	w.through(hb, nil, func(context.Context, *stream.Change[kit.Account]) error {
		if n := handlingA.Load(); n > 0 {
			t.Errorf("B handles the change that A is handling, whose last successful beat was %v ago, of %v",
				time.Since(time.Unix(0, beaten.Load())), fa)
		}
		return nil
	}, quiet, stream.Interval(fb/15), stream.Failover(fb))
	time.Sleep(fb)
	beats.on.Store(true)
	soon(t, "the fence", func() bool { return a.Stats().Shards == 0 })
	w.write("a", 1)
	soon(t, "the delete", func() bool { return deletes.Load() > 0 })
	select {
	case <-inA:
		takes.on.Store(false)
	case <-time.After(2 * fa):
		t.Log("A takes nothing")
	}
	time.Sleep(fa)
}
