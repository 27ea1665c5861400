package stream_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/stream"
)

// world is a scripted stream of the table accounts, with leases on the engine.
type world struct {
	*scripted
	t      *testing.T
	leases string
	c      *counted
	ctx    context.Context
	group  sync.WaitGroup
	last   atomic.Value // the last error
	// unsteady draws the fate of a request to the table of leases; nil means that all arrive.
	unsteady func() fate
}

// fate is the fate of a request.
type fate int

const (
	arrives  fate = iota
	vanishes      // before it arrives
	isLost        // its answer
	isLate        // its answer, by up to twice the failover time
	isHung        // until its context ends
)

// unsteadyHTTP sends requests as their fates are.
type unsteadyHTTP struct {
	next cutHTTP
	w    *world
	most time.Duration
}

func (u unsteadyHTTP) Do(q *http.Request) (*http.Response, error) {
	if u.w.unsteady == nil {
		return u.next.Do(q)
	}
	of := u.w.unsteady()
	switch of {
	case vanishes:
		return nil, errCut
	case isHung:
		<-q.Context().Done()
		return nil, q.Context().Err()
	}
	r, err := u.next.Do(q)
	if of == isLate {
		select {
		case <-time.After(rand.N(u.most)):
		case <-q.Context().Done():
		}
	}
	if err == nil && (of == isLost || q.Context().Err() != nil) {
		_ = r.Body.Close()
		return nil, errCut
	}
	return r, err
}

func newWorld(t *testing.T) *world {
	ctx, stop := context.WithCancel(context.Background())
	w := &world{scripted: newScripted(), t: t, leases: testengine.Table(t, "PK:S", "SK:S"), c: newCounted(), ctx: ctx}
	t.Cleanup(func() {
		stop()
		w.group.Wait()
	})
	return w
}

// process is a worker of a world. kill lets it vanish as a dead process does: nothing that it does has an effect any
// more.
type process struct {
	*stream.Consumer
	kill, leave func()
	cut         *cut
	killed      atomic.Bool
	failover    time.Duration
	err         error
	ended       chan struct{}
}

// begin starts a worker.
func (w *world) begin(more ...stream.ConsumerOption) *process {
	return w.beginWith(w.c.handle, more...)
}

func (w *world) beginWith(handle func(context.Context, *stream.Change[kit.Account]) error,
	more ...stream.ConsumerOption,
) *process {
	w.t.Helper()
	off := &cut{}
	client := dynamodb.New(testengine.Start(w.t).Client().Options(), func(o *dynamodb.Options) {
		o.HTTPClient = unsteadyHTTP{cutHTTP{http.DefaultClient, off}, w, 2 * failover(w.t)}
		o.Retryer = aws.NopRetryer{}
	})
	m := w.worker(
		describing{client, w.scripted},
		cutStreams{w.scripted, off},
		func(ctx context.Context, c *stream.Change[kit.Account]) error {
			if off.is() {
				return errCut
			}
			return handle(ctx, c)
		},
		w.options(more...)...)
	m.cut, m.kill = off, func() {
		m.killed.Store(true)
		off.set(true)
		m.leave()
	}
	return m
}

// options are those of workers that handle all records, however often they fail.
func (w *world) options(more ...stream.ConsumerOption) []stream.ConsumerOption {
	return append(quick(w.t, stream.Attempts(1_000_000, time.Millisecond, 10*time.Millisecond),
		stream.OnError(func(err error) { w.last.Store(fmt.Sprint(err)) })), more...)
}

// worker starts a worker with clients and a handler of its own.
func (w *world) worker(client stream.Client, streams stream.Streams,
	handle func(context.Context, *stream.Change[kit.Account]) error, options ...stream.ConsumerOption,
) *process {
	w.t.Helper()
	router := stream.NewRouter()
	stream.On(router, kit.Must(mapper.New[kit.Account](kit.Failing{}))(w.t), handle)
	return w.run(kit.Must(stream.NewConsumer(client, streams, "accounts", router,
		append([]stream.ConsumerOption{stream.Leases(w.leases)}, options...)...))(w.t))
}

// consumer returns a consumer for a router, with the leases of the world.
func (w *world) consumer(r *stream.Router, streams stream.Streams, options ...stream.ConsumerOption) *stream.Consumer {
	w.t.Helper()
	return kit.Must(stream.NewConsumer(describing{testengine.Start(w.t).Client(), w.scripted}, streams, "accounts", r,
		append([]stream.ConsumerOption{stream.Leases(w.leases)}, options...)...))(w.t)
}

// firstShard lets a worker read the first shard to its end, which has one change.
func (w *world) firstShard() {
	w.t.Helper()
	first := w.begin()
	w.write("a", 1)
	until(w.t, "the first", func() bool { return w.c.handled() == 1 })
	w.mu.Lock()
	w.shards[0].closed = true
	w.mu.Unlock()
	until(w.t, "the end of the shard", func() bool { return first.Stats().Shards == 0 })
	first.leave()
	<-first.ended
}

// replace replaces the stream by a new one, with one shard.
func (w *world) replace() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.former, w.formerARN = w.shards, w.arn
	w.shards, w.arn = nil, w.arn+"2"
	w.add("", 0, 1<<32-1).id = "shardId-00000000000000000099-new"
}

// run starts a worker.
func (w *world) run(c *stream.Consumer) *process {
	ctx, cancel := context.WithCancel(w.ctx)
	m := &process{Consumer: c, kill: cancel, leave: cancel, ended: make(chan struct{})}
	w.group.Go(func() {
		m.err = m.Run(ctx)
		close(m.ended)
	})
	return m
}

// outages are requests of one worker that can fail while the others arrive: beats, reads of leases, saves, reads of
// all shards and of some, and listings last.
var outages = [][2]string{
	{"UpdateItem", "WORKERS#"},
	{"Query", "SHARDS#"},
	{"UpdateItem", "SHARDS#"},
	{"GetRecords", ""},
	{"GetRecords", "-0"},
	{"GetShardIterator", ""},
	{"DescribeStream", ""},
}

// fails lets all requests of a worker fail for some time, or an outage.
func (m *process) fails(r *rand.Rand, outages [][2]string) {
	end := time.Duration(r.Int64N(int64(3 * m.failover)))
	if r.IntN(2) == 0 {
		m.cut.set(true)
	} else {
		of := outages[r.IntN(len(outages))]
		m.cut.setFor(of[0], of[1])
	}
	time.AfterFunc(end, func() {
		if !m.killed.Load() {
			m.cut.set(false)
			m.cut.setFor("", "")
		}
	})
}

// breaks lets all requests of a worker fail for ever, or an outage.
func (m *process) breaks(r *rand.Rand, outages [][2]string) {
	m.killed.Store(true) // so that no earlier outage ends
	switch i := r.IntN(len(outages) + 2); {
	case i < len(outages):
		m.cut.setFor(outages[i][0], outages[i][1])
	case i == len(outages):
		m.cut.setFor("TransactWriteItems", "")
	default:
		m.cut.set(true)
	}
}

type cutHTTP struct {
	next *http.Client
	*cut
}

func (c cutHTTP) Do(q *http.Request) (*http.Response, error) {
	var body []byte
	if q.Body != nil {
		body, _ = io.ReadAll(q.Body)
		q.Body = io.NopCloser(bytes.NewReader(body))
	}
	if _, operation, _ := strings.Cut(q.Header.Get("X-Amz-Target"), "."); c.has(operation, string(body)) {
		return nil, errCut
	}
	return c.next.Do(q)
}

// writes writes changes of some accounts, and returns how many.
func (w *world) writes(counters map[string]int, r *rand.Rand, n int) {
	for range n {
		id := strconv.Itoa(r.IntN(50))
		counters[id]++
		w.write(id, counters[id])
	}
}

func total(counters map[string]int) (n int) {
	for _, c := range counters {
		n += c
	}
	return n
}

func (w *world) check(counters map[string]int) {
	w.t.Helper()
	until(w.t, "all changes", func() bool { return w.c.handled() == total(counters) })
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	if len(w.c.back) > 0 {
		w.t.Errorf("out of order: %v", w.c.back)
	}
}

// Each group handles all changes. A third group is refused, because DynamoDB throttles a third reader of a shard.
// (redpanda connect #4319)
func TestGroupsHandleAllChangesEach(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other := newCounted()
	w.begin()
	w.begin()
	w.beginWith(other.handle, stream.Group("other"))
	counters, r := map[string]int{}, rand.New(rand.NewPCG(1, 1))
	w.writes(counters, r, 200)
	w.check(counters)
	until(t, "the other group", func() bool { return other.handled() == 200 })
	third := w.begin(stream.Group("third"))
	<-third.ended
	var e *stream.TooManyGroupsError
	if !errors.As(third.err, &e) || !slices.Contains(e.Groups, "other") {
		t.Errorf("third group: %v", third.err)
	}
}

// A listing that fails, or that hangs, does not stop the shards that are known. (redpanda connect PR 4737)
func TestFailedDiscoveriesStopNothing(t *testing.T) {
	t.Parallel()
	for _, hangs := range []bool{false, true} {
		t.Run(fmt.Sprint("hangs ", hangs), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.begin()
			counters, r := map[string]int{}, rand.New(rand.NewPCG(1, 1))
			w.writes(counters, r, 20)
			w.check(counters)
			free := make(chan struct{})
			w.mu.Lock()
			w.fail = func(operation, _ string) error {
				if operation != "DescribeStream" {
					return nil
				}
				if hangs {
					<-free
				}
				return errors.New("discovery failed")
			}
			w.mu.Unlock()
			before := w.requests("DescribeStream", "")
			until(t, "a listing", func() bool { return w.requests("DescribeStream", "") > before })
			for range 20 {
				w.writes(counters, r, 5)
				w.check(counters)
			}
			w.split(0, false)
			w.writes(counters, r, 20)
			time.Sleep(50 * time.Millisecond)
			w.mu.Lock()
			w.fail = nil
			w.mu.Unlock()
			close(free)
			w.check(counters)
		})
	}
}

// The shard of a lease that the stream does not have any more is done, after one report. Its children are read.
// (redpanda connect #4722)
func TestDeletedShardsAreDone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.begin()
	counters, r := map[string]int{}, rand.New(rand.NewPCG(1, 1))
	w.writes(counters, r, 20)
	w.check(counters)
	first.leave()
	<-first.ended
	w.writes(map[string]int{}, r, 20) // lost
	w.split(0, false)
	id := w.shard(0).id
	w.delete(0)
	second := w.begin()
	for id := range counters {
		counters[id]++
		w.write(id, counters[id])
	}
	until(t, "the children", func() bool { return w.c.handled() == total(counters) })
	until(t, "one report", func() bool { return second.Stats().Trimmed == 1 })
	before := w.requests("GetShardIterator", id)
	time.Sleep(100 * time.Millisecond)
	if after := w.requests("GetShardIterator", id); after != before || after > 4 {
		t.Errorf("%d requests for a deleted shard, then %d", before, after)
	}
}

// A worker that dies in its handler has saved nothing about that record: another one handles it again.
// (redpanda connect PR 4687)
func TestCheckpointsFollowTheHandler(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in, out := make(chan struct{}), make(chan struct{})
	var once sync.Once
	first := w.beginWith(func(_ context.Context, c *stream.Change[kit.Account]) error {
		once.Do(func() { close(in) })
		<-out
		return errCut
	})
	counters, r := map[string]int{}, rand.New(rand.NewPCG(1, 1))
	w.writes(counters, r, 30)
	<-in
	time.Sleep(failover(t) / 3) // several intervals, in which it could save
	first.kill()
	close(out)
	w.begin()
	w.check(counters)
}

// At the end of a shard its children are read, also those that are listed later.
// (dynamodb-streams-kinesis-adapter #20)
func TestChildrenFollowTheEndOfAShard(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.begin()
	w.begin()
	counters, r := map[string]int{}, rand.New(rand.NewPCG(1, 1))
	for generation := range 5 {
		w.writes(counters, r, 30)
		w.split(generation, generation%2 == 0)
		w.writes(counters, r, 30)
		time.Sleep(20 * time.Millisecond)
		w.show()
		w.check(counters)
	}
}

// A position that was trimmed is reported, and the rest of the shard is read. Iterators that have expired are renewed.
func TestTrimmedPositionsAndExpiredIterators(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.begin()
	counters := map[string]int{}
	for n := range 20 {
		counters["a"]++
		w.write("a", counters["a"])
		if n%5 == 0 {
			w.expire()
		}
	}
	w.check(counters)
	if n := first.Stats().Trimmed; n != 0 {
		t.Errorf("%d gaps after expired iterators", n)
	}
	first.leave()
	<-first.ended
	for range 20 {
		counters["a"]++
		w.write("a", counters["a"])
	}
	w.trim(0, 30)
	second := w.begin()
	until(t, "the rest", func() bool { return w.c.handled() == 30 })
	if n := second.Stats().Trimmed; n != 1 {
		t.Errorf("%d gaps, want 1", n)
	}
	if text, _ := w.last.Load().(string); !strings.Contains(text, "WithSnapshot") {
		t.Errorf("the report has no cure: %s", text)
	}
}

// Requests that fail are repeated: throttled ones, internal errors, and those without an answer.
func TestFailedRequestsAreRepeated(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := rand.New(rand.NewPCG(draws.Seed(t), 69))
	var mu sync.Mutex
	w.fail = func(operation, _ string) error {
		mu.Lock()
		defer mu.Unlock()
		if operation == "DescribeTable" { // without it Run cannot begin
			return nil
		}
		switch r.IntN(6) {
		case 0:
			return &types.LimitExceededException{Message: aws.String("slow down")}
		case 1:
			return &types.InternalServerError{Message: aws.String("internal")}
		case 2:
			return errors.New("connection reset")
		}
		return nil
	}
	counters, own := map[string]int{}, rand.New(rand.NewPCG(1, 1))
	for range 3 {
		w.begin()
	}
	w.writes(counters, own, 100)
	w.split(0, false)
	w.writes(counters, own, 100)
	w.check(counters)
}

// A thousand shards are shared, and are read with a few answers in memory.
func TestAThousandShards(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mu.Lock()
	w.shards = nil
	const n = 1000
	for i := range uint32(n) {
		w.add("", i*(1<<32/n), (i+1)*(1<<32/n)-1)
	}
	w.shards[n-1].high = 1<<32 - 1
	w.mu.Unlock()
	options := []stream.ConsumerOption{
		stream.Poll(500 * time.Millisecond), stream.Interval(time.Second),
		stream.Failover(20 * time.Second),
	}
	one, two := w.begin(options...), w.begin(options...)
	counters, r := map[string]int{}, rand.New(rand.NewPCG(1, 1))
	w.writes(counters, r, 2000)
	w.check(counters)
	until(t, "half of the shards each", func() bool {
		return one.Stats().Shards == n/2 && two.Stats().Shards == n/2
	})
}

// An idle consumer costs what PlanConsumer predicts, for few and for many shards.
func TestIdleConsumersCostTheirPlan(t *testing.T) {
	t.Parallel()
	testengine.Need(t, testengine.Capacity)
	for _, shards := range []int{10, 1000} {
		t.Run(strconv.Itoa(shards), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.mu.Lock()
			w.shards = nil
			w.arn += strings.Repeat("1", 90-len(w.arn))
			for i := range uint32(shards) {
				w.add(fmt.Sprintf("shardId-%020d-%08x", 0, i), i*1000, i*1000+999) // trimmed parents
			}
			w.mu.Unlock()
			spent := &spending{}
			m := w.begin(stream.Interval(100*time.Millisecond), stream.Failover(30*time.Second),
				stream.Discover(time.Hour),
				stream.Poll(time.Second), stream.MapperOptions(mapper.Observe(spent)))
			until(t, "all leases", func() bool { return m.Stats().Shards == shards })
			spent.reset()
			until(t, "five beats", func() bool { _, _, n := spent.get(); return n >= 5 })
			beats, rcu, reads := spent.get()
			p := kit.Must(stream.PlanConsumer(shards, 1, stream.Discover(1000*time.Hour)))(t)
			want := p.RCU / p.WCU // of one interval: a busy machine can read the leases later than it beats
			if got := rcu / float64(reads); got < 0.85*want || got > 1.15*want {
				t.Errorf("%v RCU for each read of the leases, planned %v", got, want)
			}
			t.Logf("%d shards: %v WCU for the beats, %v RCU for %d reads of the leases, planned %v each",
				shards, beats, rcu, reads, want)
		})
	}
}

// spending sums the consumed units of mappers. reads is the number of queries of all leases.
type spending struct {
	mu       sync.Mutex
	wcu, rcu float64
	reads    int
}

func (s *spending) Begin(ctx context.Context, c mapper.Call) (context.Context, func(*mapper.Receipt, error)) {
	return ctx, func(r *mapper.Receipt, _ error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.wcu += r.Consumed.WCU
		s.rcu += r.Consumed.RCU
		if c.Model == "stream.lease" && r.Consumed.WCU == 0 {
			s.reads++
		}
	}
}

func (s *spending) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wcu, s.rcu, s.reads = 0, 0, 0
}

func (s *spending) get() (wcu, rcu float64, reads int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wcu, s.rcu, s.reads
}

// calls are the handlers that run.
type calls struct {
	t       *testing.T
	mu      sync.Mutex
	running map[string][]*call // by the account
}

type call struct {
	ctx  context.Context
	over atomic.Bool
}

// begin notes that a handler of an account runs until the function that it returns is called. Two of one account run
// at the same time only if the context of one of them has ended.
func (c *calls) begin(ctx context.Context, account string) (end func()) {
	own := &call{ctx: ctx}
	c.mu.Lock()
	before := c.running[account]
	c.running[account] = append(slices.Clone(before), own)
	c.mu.Unlock()
	for _, o := range before {
		for n := 0; ctx.Err() == nil && o.ctx.Err() == nil && !o.over.Load(); n++ {
			if n == 40 {
				c.t.Errorf("two handlers of the account %s run", account)
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	return func() {
		own.over.Store(true)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.running[account] = slices.DeleteFunc(slices.Clone(c.running[account]), func(o *call) bool { return o == own })
	}
}

// Random schedules have splits, expired iterators, failing requests, handlers that hang, and workers that come, go,
// die, and are cut off, from all requests or from some. At the end some stay cut off. Each change is handled, those of
// an account in their order, and no two at the same time.
func TestRandomSchedulesOfStreams(t *testing.T) {
	t.Parallel()
	seed := draws.Seed(t)
	end := time.Now().Add(draws.For(3*time.Second, 30*time.Second, 10*time.Minute))
	n, again := uint64(0), atomic.Int64{}
	for n == 0 || time.Now().Before(end) {
		t.Run("four", func(t *testing.T) { // they wait most of the time
			for range 4 {
				seed := seed + n
				n++
				t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
					t.Parallel()
					again.Add(int64(randomSchedule(t, seed)))
				})
			}
		})
	}
	t.Logf("%d schedules, %d changes handled again", n, again.Load())
}

// randomSchedule returns the number of changes that were handled again.
func randomSchedule(t *testing.T, seed uint64) (again int) {
	t.Helper()
	w := newWorld(t)
	r := rand.New(rand.NewPCG(seed, 70))
	var mu sync.Mutex
	faults := rand.New(rand.NewPCG(seed, 71))
	w.page = 1 + r.IntN(4)
	// Listings of streams that are replaced do not fail: a former stream would be left out after some failures.
	replaces := r.IntN(2) == 0
	w.fail = func(operation, _ string) error {
		mu.Lock()
		defer mu.Unlock()
		fails := strings.HasPrefix(operation, "Get") || !replaces && operation != "DescribeTable"
		if fails && faults.IntN(20) == 0 {
			return errors.New("connection reset")
		}
		return nil
	}
	w.unsteady = func() fate {
		mu.Lock()
		defer mu.Unlock()
		if w.ctx.Err() != nil || faults.IntN(25) > 0 {
			return arrives
		}
		return fate(1 + faults.IntN(4))
	}
	draw := func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return faults.IntN(n)
	}
	calls := &calls{t: t, running: map[string][]*call{}}
	patient := r.IntN(2) == 0 // contexts of handlers end only if others may have the lease
	handle := func(ctx context.Context, c *stream.Change[kit.Account]) error {
		id := "deleted"
		if c.New != nil {
			id = c.New.ID
		}
		defer calls.begin(ctx, id)()
		kind := draw(20)
		if patient && kind == 3 {
			kind = 0
		}
		switch kind {
		case 0:
			return errors.New("refused")
		case 1:
			panic("refused")
		case 2:
			runtime.Goexit()
		case 3:
			<-ctx.Done()
			return ctx.Err()
		case 4:
			_ = w.c.handle(ctx, c)
			runtime.Goexit()
		}
		if draw(60) == 0 { // it hangs, and does not see that its context ends
			most := 3 * failover(t)
			if draw(8) == 0 {
				most *= 3
			}
			time.Sleep(time.Duration(draw(int(most))))
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
		return w.c.handle(ctx, c)
	}
	outages, differ := outages, r.IntN(3) == 0
	if replaces {
		outages = outages[:len(outages)-1]
	}
	begin := func() *process {
		f := failover(t) * time.Duration(2+r.IntN(3)) / 2
		if differ && r.IntN(3) == 0 {
			f = 8 * failover(t)
		}
		options := []stream.ConsumerOption{
			stream.Handlers(1 + r.IntN(4)), stream.Batches(1 + r.IntN(3)), stream.Interval(f / 10),
			stream.Failover(f),
		}
		if !patient {
			options = append(options, stream.Timeout(10*time.Millisecond))
		}
		m := w.beginWith(handle, options...)
		m.failover = f
		return m
	}
	pace := []time.Duration{failover(t) / 16, failover(t) / 2}[r.IntN(2)]
	workers := []*process{begin()}
	arns := 1
	counters := map[string]int{}
	for range 40 {
		m := workers[r.IntN(len(workers))]
		switch r.IntN(13) {
		case 0:
			w.mu.Lock()
			old := len(w.shards)
			w.mu.Unlock()
			w.splitNamed(r.IntN(8), r.IntN(2) == 0, old, arns)
		case 1:
			w.show()
		case 2:
			w.expire()
		case 3:
			if len(workers) < 4 {
				workers = append(workers, begin())
			}
		case 4:
			m.kill()
			workers = append(slices.DeleteFunc(workers, func(o *process) bool { return o == m }), begin())
		case 5:
			m.leave()
			workers = append(slices.DeleteFunc(workers, func(o *process) bool { return o == m }), begin())
		case 6:
			m.fails(r, outages)
		case 7:
			_ = stream.Drive(w.ctx, testengine.Start(t).Client(), w.leases, "accounts", "default")
		case 8:
			if replaces && arns < 8 && w.c.handled() > 0 {
				arns++
				w.show()
				w.replaceStream(arns)
			}
		case 9: // a worker begins in an outage
			m.leave()
			n := begin()
			n.fails(r, outages)
			workers = append(slices.DeleteFunc(workers, func(o *process) bool { return o == m }), n)
		default:
			w.writes(counters, r, 1+r.IntN(20))
		}
		time.Sleep(time.Duration(r.Int64N(int64(pace))))
	}
	for range r.IntN(8) { // so that there are several shards to share
		w.mu.Lock()
		old := len(w.shards)
		w.mu.Unlock()
		w.splitNamed(r.IntN(8), false, old, arns)
	}
	w.show()
	time.Sleep(time.Duration(r.Int64N(int64(4 * failover(t)))))
	if len(workers) == 1 || r.IntN(2) == 0 {
		workers = append(workers, begin())
	}
	// The last one may be new.
	r.Shuffle(len(workers)-1, func(i, j int) { workers[i], workers[j] = workers[j], workers[i] })
	for _, m := range workers[:1+r.IntN(len(workers)-1)] {
		m.breaks(r, outages) // the other workers have to read all
	}
	if r.IntN(2) == 0 { // its share is given up by one that is broken
		workers = append(workers, begin())
	}
	w.writes(counters, r, 20)
	w.check(counters)
	for _, m := range workers {
		select {
		case <-m.ended:
			t.Errorf("a worker has ended: %v", m.err)
		default:
		}
	}
	w.c.mu.Lock()
	for _, k := range w.c.times {
		again += k - 1
	}
	w.c.mu.Unlock()
	return again
}
