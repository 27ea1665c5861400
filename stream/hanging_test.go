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
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/stream"
)

// idsOf returns an ID for each shard of the world.
func (w *world) idsOf(n int) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := make([]string, n)
	for i, left := 0, n; left > 0; i++ {
		id := fmt.Sprint("id", i)
		for j := range n {
			if h := hashOf(id); out[j] == "" && h >= w.shards[j].low && h <= w.shards[j].high {
				out[j] = id
				left--
			}
		}
	}
	return out
}

// A sole worker has handlers that hang that hang, in some of its shards. A new, healthy worker arrives: it must read
// all shards that the first one cannot.
func TestNewWorkersReadTheRest(t *testing.T) {
	t.Parallel()
	for _, hanging := range []int{4, 6, 8} {
		t.Run(fmt.Sprint(hanging, " of 8 hang"), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.shardsOf(8)
			ids := w.idsOf(8)
			hang := map[string]bool{}
			for _, id := range ids[:hanging] {
				hang[id] = true
			}
			d := &denial{operation: "UpdateItem", text: "WORKERS#"}
			in, out := make(chan struct{}, 100), make(chan struct{})
			defer close(out)
			a := w.through(d.do, nil, func(ctx context.Context, c *stream.Change[kit.Account]) error {
				if hang[c.New.ID] {
					in <- struct{}{}
					<-out
					return errors.New("hung")
				}
				return w.c.handle(ctx, c)
			})
			soon(t, "all shards", func() bool { return a.Stats().Shards == 8 })
			for _, id := range ids {
				w.write(id, 1)
			}
			for range hanging {
				<-in
			}
			soon(t, "the others", func() bool { return w.c.handled() == 8-hanging })
			d.on.Store(true)
			time.Sleep(2 * failover(t))
			d.on.Store(false)
			time.Sleep(6 * failover(t)) // it waits no more
			b := w.begin()
			if !eventually(t, 30*failover(t), "all changes", func() bool { return w.c.handled() == 8 }) {
				t.Logf("%d of 8 handled, A %+v, B %+v", w.c.handled(), a.Stats(), b.Stats())
			}
		})
	}
}

// The handlers that hang have all slots of Handlers. The worker is alone, or a second one arrives.
func TestHandlersThatHangHoldNoSlots(t *testing.T) {
	t.Parallel()
	for _, with := range []bool{false, true} {
		t.Run(fmt.Sprint("second worker ", with), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.shardsOf(8)
			ids := w.idsOf(8)
			d := &denial{operation: "UpdateItem", text: "WORKERS#"}
			in, out := make(chan struct{}, 1000), make(chan struct{})
			defer close(out)
			shard0 := func(id string) bool { h := hashOf(id); return h <= w.shards[0].high }
			n := 0
			for i := 0; n < 40; i++ { // of one shard: more than Handlers
				if id := fmt.Sprint("h", i); shard0(id) {
					w.write(id, 1)
					n++
				}
			}
			a := w.through(d.do, nil, func(ctx context.Context, c *stream.Change[kit.Account]) error {
				if shard0(c.New.ID) {
					in <- struct{}{}
					<-out
					return errors.New("hung")
				}
				return w.c.handle(ctx, c)
			})
			soon(t, "all shards", func() bool { return a.Stats().Shards == 8 })
			for range 16 {
				<-in
			}
			d.on.Store(true)
			time.Sleep(2 * failover(t))
			d.on.Store(false)
			time.Sleep(6 * failover(t)) // it waits no more
			for _, id := range ids[1:] {
				w.write(id, 1)
			}
			want := 7
			var b *process
			if with {
				b, want = w.begin(), 47
			}
			if !eventually(
				t,
				30*failover(t),
				"all changes of other shards",
				func() bool { return w.c.handled() == want },
			) {
				t.Logf("%d of %d handled, A %+v", w.c.handled(), want, a.Stats())
				if b != nil {
					t.Logf("B %+v", b.Stats())
				}
			}
		})
	}
}

// A new worker that beats and reads the leases, but cannot list the shards.
func TestWorkersThatCannotListHaveNoShare(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shardsOf(8)
	for i := range w.shards {
		w.shards[i].parent = fmt.Sprintf("shardId-00000000000000000000-%08x", i) // trimmed
	}
	b := w.begin()
	soon(t, "all", func() bool { return b.Stats().Shards == 8 })
	s := &refusing{Streams: w.scripted}
	s.refuse.Store(true)
	a := w.through(nil, s, w.c.handle)
	soon(t, "beats", func() bool { return len(w.items("WORKER#")) == 2 })
	time.Sleep(3 * failover(t))
	for i := range 60 {
		w.write(fmt.Sprint("x", i), 1)
	}
	if !eventually(t, 30*failover(t), "all changes", func() bool { return w.c.handled() == 60 }) {
		t.Logf("%d of 60, A %+v, B %+v, %v", w.c.handled(), a.Stats(), b.Stats(), w.last.Load())
	}
}

// A new worker that beats and reads the leases, but cannot take them.
func TestWorkersThatCannotTakeHaveNoShare(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shardsOf(8)
	b := w.begin()
	soon(t, "all", func() bool { return b.Stats().Shards == 8 })
	d := &denial{operation: "UpdateItem", text: "SHARDS#"}
	d.on.Store(true)
	a := w.through(d.do, nil, w.c.handle)
	soon(t, "beats", func() bool { return len(w.items("WORKER#")) == 2 })
	time.Sleep(3 * failover(t))
	for i := range 60 {
		w.write(fmt.Sprint("x", i), 1)
	}
	eventually(t, 30*failover(t), "all changes", func() bool { return w.c.handled() == 60 })
	d.on.Store(false)
	if !eventually(t, 30*failover(t), "its share", func() bool { return a.Stats().Shards == 4 }) {
		t.Logf("A %+v, B %+v, %v", a.Stats(), b.Stats(), w.last.Load())
	}
}

// The same after a stream was replaced: a worker may not describe the new one.
func TestWorkersThatCannotListANewStreamHaveNoShare(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := &refusing{Streams: w.scripted, of: "2"}
	s.refuse.Store(true)
	a := w.through(nil, s, w.c.handle)
	b := w.begin()
	w.write("a", 1)
	soon(t, "both", func() bool { return len(w.items("WORKER#")) == 2 && w.c.handled() == 1 })
	time.Sleep(failover(t))
	w.replaceStream(2)
	w.mu.Lock()
	w.shards = nil
	for i := range uint32(8) {
		sh := w.add("", i*(1<<29), i*(1<<29)+1<<29-1)
		sh.id = fmt.Sprintf("shardId-0000000000000000000%d-new", i)
	}
	w.mu.Unlock()
	for i := range 60 {
		w.write(fmt.Sprint("x", i), 1)
	}
	if !eventually(t, 30*failover(t), "all changes", func() bool { return w.c.handled() == 61 }) {
		t.Logf("%d of 61, A %+v, B %+v, %v", w.c.handled(), a.Stats(), b.Stats(), w.last.Load())
	}
}

// A worker waits for a handler that hangs, because there is another worker. That one can read no shard.
func TestHandlersThatHangWithAFailingWorker(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shardsOf(8)
	ids := w.idsOf(8)
	d := &denial{operation: "UpdateItem", text: "WORKERS#"}
	in, out := make(chan struct{}, 100), make(chan struct{})
	defer close(out)
	a := w.through(d.do, nil, func(ctx context.Context, c *stream.Change[kit.Account]) error {
		if c.New.ID == ids[0] {
			in <- struct{}{}
			<-out
			return errors.New("hung")
		}
		return w.c.handle(ctx, c)
	})
	soon(t, "all shards", func() bool { return a.Stats().Shards == 8 })
	w.write(ids[0], 1)
	<-in
	c := &cut{}
	b := w.through(nil, cutStreams{w.scripted, c}, w.c.handle)
	soon(t, "B reads", func() bool { return b.Stats().Shards > 0 })
	c.set(true)
	d.on.Store(true)
	time.Sleep(2 * failover(t))
	d.on.Store(false)
	time.Sleep(2 * failover(t))
	for _, id := range ids[1:] {
		w.write(id, 1)
	}
	if !eventually(t, 90*failover(t), "the changes of 7 shards", func() bool { return w.c.handled() >= 7 }) {
		t.Logf("%d of 7, A %+v, B %+v, %v", w.c.handled(), a.Stats(), b.Stats(), w.last.Load())
	}
}

// The transaction that adds the new stream arrives after its limit, when the next one is on its way: that one is
// refused because of the first.
func TestLateTransactionsAreReported(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	reports, on := replacements()
	var c collected
	var armed atomic.Bool
	var mu sync.Mutex
	var late *http.Request
	a := w.through(func(q *http.Request, body string) (*http.Response, error) {
		if armed.Load() && strings.HasSuffix(q.Header.Get("X-Amz-Target"), ".TransactWriteItems") {
			mu.Lock()
			defer mu.Unlock()
			if late == nil {
				late = q.Clone(context.Background())
				late.Body = io.NopCloser(bytes.NewReader([]byte(body)))
				<-q.Context().Done()
				return nil, q.Context().Err()
			}
			if late.Body != nil {
				r, err := http.DefaultClient.Do(late)
				late.Body = nil
				if err != nil {
					t.Error(err)
				} else {
					t.Log("the first transaction:", r.StatusCode)
					_ = r.Body.Close()
				}
			}
		}
		return http.DefaultClient.Do(q)
	}, nil, c.handle, on)
	w.write("a", 1)
	soon(t, "the first", func() bool { return c.has("a1") })
	armed.Store(true)
	w.replaceStream(2)
	w.write("a", 2)
	soon(t, "the second", func() bool { return c.has("a2") })
	time.Sleep(4 * failover(t))
	if n := reports.Load(); n == 0 {
		t.Errorf("no report of the replaced stream, %+v", a.Stats())
	}
}

// A worker reads a shard without records for longer than a day, and dies.
func TestIdleShardsOfDeadWorkersHaveNoGap(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.begin()
	soon(t, "the shard", func() bool { return first.Stats().Shards == 1 })
	first.leave()
	<-first.ended
	// a shard that was found 25 hours ago, and read since
	w.set(w.shard(0).id, "Listed", &types.AttributeValueMemberN{
		Value: fmt.Sprint(time.Now().Add(-24*time.Hour + 2*time.Second).Unix()),
	})
	second := w.begin()
	soon(t, "the shard", func() bool { s := second.Stats(); return s.Shards == 1 && s.Behind == 0 })
	time.Sleep(4 * time.Second) // it reads the shard now, and later
	if s := second.Stats(); s.Trimmed != 0 || s.Behind != 0 {
		t.Fatalf("%+v", s)
	}
	second.kill()
	<-second.ended
	third := w.begin()
	w.write("a", 1)
	soon(t, "the change", func() bool { return w.c.handled() == 1 })
	if s := third.Stats(); s.Trimmed != 0 {
		t.Errorf("%+v %v", s, w.last.Load())
	}
}

// A handler that hung returns after another worker has handled later records. Its position is not saved, and the order
// holds. No second handler of its entity runs in the same process at the same time.
func TestHandlersThatHangCanReturn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shardsOf(2)
	ids := w.idsOf(2)
	d := &denial{operation: "UpdateItem", text: "WORKERS#"}
	in, out := make(chan struct{}, 100), make(chan struct{})
	var once atomic.Bool
	var inside, most atomic.Int64
	a := w.through(d.do, nil, func(ctx context.Context, c *stream.Change[kit.Account]) error {
		if c.New.ID == ids[0] {
			if n := inside.Add(1); n > most.Load() {
				most.Store(n)
			}
			defer inside.Add(-1)
			if !once.Swap(true) {
				in <- struct{}{}
				<-out
				return nil
			}
		}
		return w.c.handle(ctx, c)
	})
	soon(t, "all shards", func() bool { return a.Stats().Shards == 2 })
	w.write(ids[0], 1)
	<-in
	w.write(ids[0], 2)
	d.on.Store(true)
	time.Sleep(2 * failover(t))
	d.on.Store(false)
	time.Sleep(3 * failover(t))
	w.write(ids[1], 1)
	soon(t, "the other shard", func() bool { return w.c.handled() == 1 })
	b := w.begin()
	if !eventually(t, 10*failover(t), "B", func() bool { return w.c.handled() == 3 }) {
		t.Logf("A %+v B %+v", a.Stats(), b.Stats())
	}
	b.leave()
	<-b.ended
	time.Sleep(2 * failover(t))
	w.write(ids[0], 3)
	close(out)
	soon(t, "the last", func() bool { return w.c.handled() == 4 })
	w.c.mu.Lock()
	if len(w.c.back) > 0 || most.Load() != 1 || w.c.times[ids[0]+" 1"] > 1 {
		t.Errorf("%v, %d, %v", w.c.back, most.Load(), w.c.times)
	}
	w.c.mu.Unlock()
	a.leave()
	<-a.ended
	if err := stream.DeleteGroup(
		context.Background(),
		testengine.Start(t).Client(),
		w.leases,
		"accounts",
		"default",
	); err != nil {
		t.Error(err)
	}
}

// A worker stops just after it beats again while a handler hangs, and before it has given up the lease.
func TestStopGivesUpWhatHangs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shardsOf(2)
	ids := w.idsOf(2)
	d := &denial{operation: "UpdateItem", text: "WORKERS#"}
	in, out := make(chan struct{}, 100), make(chan struct{})
	defer close(out)
	var wasAway, left atomic.Bool
	var a *process
	ready := make(chan struct{})
	a = w.through(func(q *http.Request, body string) (*http.Response, error) {
		<-ready
		r, err := d.do(q, body)
		if strings.HasSuffix(q.Header.Get("X-Amz-Target"), ".UpdateItem") && strings.Contains(body, "WORKERS#") &&
			!d.on.Load() {
			switch away := strings.Contains(body, `"Away"`); { // an update has the attributes that have changed
			case away && !wasAway.Load():
				wasAway.Store(true)
			case away && !left.Swap(true):
				a.leave()
				time.Sleep(20 * time.Millisecond)
			}
		}
		return r, err
	}, nil, func(ctx context.Context, c *stream.Change[kit.Account]) error {
		if c.New.ID == ids[0] {
			in <- struct{}{}
			<-out
			return errors.New("hung")
		}
		return w.c.handle(ctx, c)
	}, stream.Grace(time.Millisecond))
	close(ready)
	soon(t, "all shards", func() bool { return a.Stats().Shards == 2 })
	w.write(ids[0], 1)
	<-in
	d.on.Store(true)
	time.Sleep(failover(t) * 13 / 10)
	d.on.Store(false)
	if !eventually(t, 20*failover(t), "A beats, and stops", func() bool { return left.Load() }) {
		return
	}
	b := w.begin()
	w.write(ids[1], 1)
	if !eventually(t, 20*failover(t), "both changes", func() bool { return w.c.handled() == 2 }) {
		t.Logf("A %+v, B %+v", a.Stats(), b.Stats())
	}
}

// The only worker was cut off, beats again, and cannot read the leases: it owns them all, and reads none. A healthy
// worker arrives.
func TestOwnersWithoutReadersAreAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shardsOf(8)
	beats := &denial{operation: "UpdateItem", text: "WORKERS#"}
	reads := &denial{operation: "Query"}
	a := w.through(func(q *http.Request, body string) (*http.Response, error) {
		if strings.HasSuffix(q.Header.Get("X-Amz-Target"), ".Query") {
			return reads.do(q, body)
		}
		return beats.do(q, body)
	}, nil, w.c.handle)
	soon(t, "all", func() bool { return a.Stats().Shards == 8 })
	reads.on.Store(true)
	beats.on.Store(true)
	soon(t, "the fence", func() bool { return a.Stats().Shards == 0 })
	beats.on.Store(false)
	b := w.begin()
	time.Sleep(3 * failover(t))
	for i := range 60 {
		w.write(fmt.Sprint("x", i), 1)
	}
	if !eventually(t, 20*failover(t), "all changes", func() bool { return w.c.handled() == 60 }) {
		t.Logf("%d of 60, A %+v, B %+v, %v", w.c.handled(), a.Stats(), b.Stats(), w.last.Load())
	}
}

// The answers to the takes of a worker are lost. It stops before the next coordination, and one of its handlers hangs.
func TestStopGivesUpLostTakes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shardsOf(2)
	ids := w.idsOf(2)
	in, out := make(chan struct{}, 100), make(chan struct{})
	defer close(out)
	second := w.shard(1).id
	var lost atomic.Bool
	lose := make(chan struct{})
	h := &hook{after: func(_ context.Context, op, body string) error {
		if op == "UpdateItem" && strings.Contains(body, "SHARD#"+second) {
			if !lost.Swap(true) {
				close(lose)
			}
			return errLost
		}
		return nil
	}}
	a := w.worker(
		describing{h.client(t), w.scripted},
		w.scripted,
		func(context.Context, *stream.Change[kit.Account]) error {
			in <- struct{}{}
			<-out
			return errors.New("hung")
		},
		w.options(stream.Grace(time.Millisecond))...)
	w.write(ids[0], 1)
	<-in
	<-lose
	a.leave()
	time.Sleep(failover(t))
	b := w.begin()
	w.write(ids[1], 1)
	if !eventually(t, 20*failover(t), "the change of the other shard", func() bool { return w.c.handled() >= 1 }) {
		t.Logf("A %+v, B %+v, %v", a.Stats(), b.Stats(), w.items("SHARD#"))
	}
}

// A handler that hung of a snapshot: the next worker scans again, and the records come after it.
func TestSnapshotsThatHang(t *testing.T) {
	t.Parallel()
	w, table := newWorld(t), testengine.Table(t, "PK:S", "SK:S")
	ctx := context.Background()
	m := kit.Must(mapper.New[kit.Account](testengine.Start(t).Client(), mapper.Table(table)))(t)
	for n := range 3 {
		kit.Must(m.Save(ctx, m.New(kit.Account{ID: fmt.Sprint(n)})))(t)
	}
	d := &denial{operation: "UpdateItem", text: "WORKERS#"}
	in, out := make(chan struct{}, 100), make(chan struct{})
	var once atomic.Bool
	var shownA, shownB, calls atomic.Int64
	a := w.snapshots(table, d.do, nil, func(context.Context, *stream.Change[kit.Account]) error {
		calls.Add(1)
		if !once.Swap(true) {
			in <- struct{}{}
			<-out
			return nil
		}
		shownA.Add(1)
		return nil
	}, stream.WithSnapshot())
	<-in
	d.on.Store(true)
	time.Sleep(2 * failover(t))
	d.on.Store(false)
	time.Sleep(4 * failover(t))
	if s := a.Stats(); s.Behind == 0 || calls.Load() != 1 {
		t.Errorf("%+v, %d calls", s, calls.Load())
	}
	b := w.snapshots(table, nil, nil, func(_ context.Context, c *stream.Change[kit.Account]) error {
		shownB.Add(1)
		return nil
	}, stream.WithSnapshot())
	eventually(t, 10*failover(t), "the snapshot", func() bool { return shownB.Load() == 3 })
	eventually(t, 10*failover(t), "B reads", func() bool { s := b.Stats(); return s.Behind == 0 })
	close(out)
	eventually(t, 10*failover(t), "A", func() bool { s := a.Stats(); return s.Behind == 0 })
	time.Sleep(2 * failover(t))
	if shownA.Load() != 0 || shownB.Load() != 3 {
		t.Errorf("A %d, B %d", shownA.Load(), shownB.Load())
	}
}
