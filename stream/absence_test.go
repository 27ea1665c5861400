package stream_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/stream"
)

// values returns an attribute of all items of the group whose sort keys have a prefix, "" where it is missing.
func (w *world) values(prefix, attribute string) (out []string) {
	for _, item := range kit.Must(testengine.Start(w.t).Client().Scan(context.Background(), &dynamodb.ScanInput{
		TableName: &w.leases, ConsistentRead: aws.Bool(true),
	}))(w.t).Items {
		if sk, ok := item["SK"].(*types.AttributeValueMemberS); !ok || !strings.HasPrefix(sk.Value, prefix) {
			continue
		}
		switch v := item[attribute].(type) {
		case *types.AttributeValueMemberN:
			out = append(out, v.Value)
		case *types.AttributeValueMemberBOOL:
			out = append(out, strconv.FormatBool(v.Value))
		default:
			out = append(out, "")
		}
	}
	return out
}

// isAway reports whether a counter says that its worker is away.
func (w *world) isAway() bool {
	return slices.ContainsFunc(w.values("WORKER#", "Away"), func(beat string) bool { return beat != "" })
}

// A worker has a handler that hangs, so that it has no share, and reads all other shards. A second one that cannot read
// any more leaves its shards. It does not take them back at once.
func TestFailingWorkersLeaveToOneWithoutAShare(t *testing.T) {
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
	d.on.Store(true)
	time.Sleep(2 * failover(t))
	d.on.Store(false)
	c := &cut{}
	b := w.through(nil, cutStreams{w.scripted, c}, w.c.handle)
	soon(t, "B reads", func() bool { return b.Stats().Shards >= 4 && w.c.handled() == 1 })
	c.set(true)
	for n := range 6 {
		for _, id := range ids[1:] {
			w.write(id, n+1)
		}
		begun := time.Now()
		soon(t, "the changes", func() bool { return w.c.handled() >= 1+7*(n+1) })
		if wait := time.Since(begun); n > 0 && wait > 6*failover(t) {
			t.Errorf("changes wait for %v", wait)
		}
		time.Sleep(failover(t))
	}
}

// A worker cannot read any shard. Another one cannot list the shards, so that one is closed to it. It reads the rest.
func TestFailingWorkersLeaveToOneWithoutAListing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shardsOf(8)
	w.shards[0].parent = "shardId-00000000000000000000-trimmed"
	ids := w.idsOf(8)
	c := &cut{}
	a := w.through(nil, cutStreams{w.scripted, c}, w.c.handle)
	soon(t, "all", func() bool { return a.Stats().Shards == 8 })
	s := &refusing{Streams: w.scripted}
	s.refuse.Store(true)
	w.through(nil, s, w.c.handle)
	soon(t, "beats", func() bool { return len(w.items("WORKER#")) == 2 })
	time.Sleep(3 * failover(t))
	c.set(true)
	for _, id := range ids {
		w.write(id, 1)
	}
	eventually(t, 40*failover(t), "7 of 8", func() bool { return w.c.handled() >= 7 })
}

// Rule 5: the longer failover time counts, also for a worker that says that it is away. A could not read the leases,
// and had no shards. It reads the leases again, and takes a shard. B has seen that A was away, and waits.
func TestAwayWorkersHaveTheLongerTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mu.Lock()
	w.shards[0].hidden = true
	w.mu.Unlock()
	reads := &denial{operation: "Query", text: "SHARDS#"}
	in, out := make(chan struct{}), make(chan struct{})
	defer close(out)
	var first, second atomic.Bool
	w.through(reads.do, nil, func(context.Context, *stream.Change[kit.Account]) error {
		if !first.Swap(true) {
			close(in)
		}
		<-out
		return nil
	}, stream.Interval(4*time.Second), stream.Failover(8*time.Second))
	takes := &denial{operation: "UpdateItem", text: "SHARDS#"}
	takes.on.Store(true)
	w.through(takes.do, nil, func(context.Context, *stream.Change[kit.Account]) error {
		second.Store(true)
		return nil
	})
	time.Sleep(5 * time.Second)
	reads.on.Store(true)
	soon(t, "A is away", func() bool { return w.isAway() })
	reads.on.Store(false)
	time.Sleep(100 * time.Millisecond)
	w.show()
	w.write("a", 1)
	select {
	case <-in:
	case <-time.After(time.Minute):
		t.Fatal("A reads nothing")
	}
	takes.on.Store(false)
	time.Sleep(7 * time.Second)
	if second.Load() {
		t.Error("B handles the change that the living A is handling")
	}
}

// A record is read, and its worker stops before it is handled. Before the next one begins it is trimmed.
func TestUnhandledRecordsThatAreTrimmedAreReported(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.begin()
	soon(t, "the shard", func() bool { return first.Stats().Shards == 1 })
	first.leave()
	<-first.ended
	listed := func(at int64) {
		w.set(w.shard(0).id, "Listed", &types.AttributeValueMemberN{Value: fmt.Sprint(at)})
	}
	listed(time.Now().Add(-23 * time.Hour).Unix())
	w.mu.Lock()
	w.now = func() time.Time { return time.Now().Add(-23 * time.Hour) }
	w.mu.Unlock()
	w.write("a", 1)
	in := make(chan struct{}, 100)
	second := w.through(nil, nil, func(ctx context.Context, _ *stream.Change[kit.Account]) error {
		in <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}, stream.Grace(time.Millisecond))
	<-in
	second.leave()
	<-second.ended
	at, err := strconv.ParseInt(w.values("SHARD#", "Listed")[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	listed(at - 2*3600) // two hours later
	w.trim(0, 1)
	w.write("a", 2)
	third := w.begin()
	soon(t, "the change", func() bool { return third.Stats().Handled == 1 })
	if s := third.Stats(); s.Trimmed == 0 {
		t.Errorf("no report of the first change: %+v", s)
	}
}

// Rule 8: a worker owns only what it reads. Its saves fail, so that it can neither give up leases that it does not read
// nor take them again. It reads other shards, which need no saves. It leaves all of them to the other worker.
func TestWorkersThatCannotSaveLeave(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		times     time.Duration // the failover time of the other worker
		operation string        // of the saves that fail, "" for all
		hangs     bool          // a handler does, so that its lease is to be given up
		stopping  bool
	}{
		{name: "updates", times: 1, operation: "UpdateItem"},
		{name: "updates, a longer time", times: 8, operation: "UpdateItem"},
		{name: "all writes", times: 1},
		{name: "a handler hangs", times: 1, operation: "UpdateItem", hangs: true},
		{name: "it ends", times: 1, operation: "UpdateItem", stopping: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.shardsOf(8)
			ids := w.idsOf(8)
			beats := &denial{operation: "UpdateItem", text: "WORKERS#"}
			saves := &denial{operation: c.operation, text: "SHARDS#"}
			in, out := make(chan struct{}, 100), make(chan struct{})
			defer close(out)
			do := func(q *http.Request, body string) (*http.Response, error) {
				if beats.on.Load() {
					return beats.do(q, body)
				}
				if saves.operation == "" && saves.on.Load() && isWrite(q) && strings.Contains(body, saves.text) {
					return nil, errCut
				}
				return saves.do(q, body)
			}
			a := w.through(do, nil, func(ctx context.Context, ch *stream.Change[kit.Account]) error {
				if c.hangs && ch.New.ID == ids[0] {
					in <- struct{}{}
					<-out
					return errors.New("hung")
				}
				return w.c.handle(ctx, ch)
			})
			soon(t, "all shards", func() bool { return a.Stats().Shards == 8 })
			if c.hangs {
				w.write(ids[0], 1)
				<-in
				beats.on.Store(true)
				time.Sleep(failover(t) + failover(t)/2)
				saves.on.Store(true)
				beats.on.Store(false)
			}
			saves.on.Store(true)
			f := c.times * failover(t)
			b := w.through(nil, nil, w.c.handle, stream.Failover(f), stream.Interval(f/15))
			if c.stopping {
				soon(t, "B beats", func() bool { return len(w.items("WORKER#")) == 2 })
				a.leave()
			}
			if !eventually(t, 8*failover(t)+3*f, "B has all", func() bool { return b.Stats().Shards == 8 }) {
				return
			}
			for _, id := range ids {
				w.write(id, 1)
			}
			soon(t, "the changes", func() bool { return w.c.handled() == 8 })
			if c.stopping || c.hangs {
				return
			}
			saves.on.Store(false)
			eventually(t, 20*f, "A has shards again", func() bool { return a.Stats().Shards >= 3 })
		})
	}
}

// Rule 8: a worker cannot open shards, and reads those that it has opened. Another worker reads new ones.
func TestShardsThatOneWorkerCannotOpen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shardsOf(8)
	c := &cut{}
	a := w.through(nil, cutStreams{w.scripted, c}, w.c.handle)
	soon(t, "all shards", func() bool { return a.Stats().Shards == 8 })
	b := w.begin()
	soon(t, "four shards each", func() bool { return a.Stats().Shards == 4 && b.Stats().Shards == 4 })
	c.setFor("GetShardIterator", "")
	for range 4 {
		w.split(0, false)
	}
	ids := map[string]int{}
	for i := range 40 {
		id := fmt.Sprint("x", i)
		ids[id] = 1
		w.write(id, 1)
	}
	eventually(t, 8*failover(t), "all changes", func() bool { return w.c.handled() == len(ids) })
}

// No worker can read one of the shards. They pass it to each other, and nothing else moves.
func TestShardsThatNoWorkerCanOpen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shardsOf(8)
	broken, id := w.shards[3].id, w.idsOf(8)[3]
	a, b := w.begin(), w.begin()
	soon(t, "four shards each", func() bool { return a.Stats().Shards == 4 && b.Stats().Shards == 4 })
	var off atomic.Bool
	off.Store(true)
	w.mu.Lock()
	w.fail = func(operation, shard string) error {
		if off.Load() && strings.HasPrefix(operation, "Get") && shard == broken {
			return errCut
		}
		return nil
	}
	w.mu.Unlock()
	before := w.values("SHARD#", "Taken")
	w.write(id, 1)
	time.Sleep(20 * failover(t))
	moved := 0
	for i, taken := range w.values("SHARD#", "Taken") {
		if taken != before[i] {
			moved++
		}
	}
	if moved != 1 {
		t.Errorf("%d shards moved, want that one", moved)
	}
	off.Store(false)
	eventually(t, 6*failover(t), "the change", func() bool { return w.c.handled() == 1 })
}
