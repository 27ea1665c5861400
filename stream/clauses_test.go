package stream_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamodbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/stream"
)

// httpFunc is a client of HTTP.
type httpFunc func(q *http.Request, body string) (*http.Response, error)

func (f httpFunc) Do(q *http.Request) (*http.Response, error) {
	var b []byte
	if q.Body != nil {
		b, _ = io.ReadAll(q.Body)
		q.Body = io.NopCloser(bytes.NewReader(b))
	}
	return f(q, string(b))
}

// isWrite reports whether a request writes items.
func isWrite(q *http.Request) bool {
	_, operation, _ := strings.Cut(q.Header.Get("X-Amz-Target"), ".")
	switch operation {
	case "PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems", "BatchWriteItem":
		return true
	}
	return false
}

// through starts a worker with other clients. A nil one is that of the world.
func (w *world) through(do httpFunc, streams stream.Streams,
	handle func(context.Context, *stream.Change[kit.Account]) error, more ...stream.ConsumerOption,
) *process {
	w.t.Helper()
	if do == nil {
		do = func(q *http.Request, _ string) (*http.Response, error) { return http.DefaultClient.Do(q) }
	}
	if streams == nil {
		streams = w.scripted
	}
	client := dynamodb.New(testengine.Start(w.t).Client().Options(), func(o *dynamodb.Options) {
		o.HTTPClient, o.Retryer = do, aws.NopRetryer{}
	})
	return w.worker(describing{client, w.scripted}, streams, handle, w.options(more...)...)
}

// items returns the sort keys in the table of leases that have a text.
func (w *world) items(text string) (out []string) {
	w.t.Helper()
	all := kit.Must(testengine.Start(w.t).Client().Scan(context.Background(), &dynamodb.ScanInput{
		TableName: &w.leases, ConsistentRead: aws.Bool(true),
	}))(w.t)
	for _, it := range all.Items {
		if k := it["SK"].(*dynamodbtypes.AttributeValueMemberS).Value; strings.Contains(k, text) {
			out = append(out, k)
		}
	}
	return out
}

// soon waits for a condition, for a shorter time than until.
func soon(t testing.TB, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("timeout: %s", what)
		}
	}
}

// Answers that are lost after their requests were executed stop nothing: a beat, a taken lease, a position.
func TestLostAnswersStopNothing(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"WORKER#", "SHARD#"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			var n atomic.Int64
			lose := func(q *http.Request, body string) (*http.Response, error) {
				a, err := http.DefaultClient.Do(q)
				if err == nil && isWrite(q) && strings.Contains(body, what) && n.Add(1)%4 == 2 {
					_ = a.Body.Close()
					return nil, errCut
				}
				return a, err
			}
			w.through(lose, nil, w.c.handle, stream.Attempts(1_000_000, time.Millisecond, time.Millisecond))
			counters, r := map[string]int{}, rand.New(rand.NewPCG(1, 1))
			for range 5 {
				w.writes(counters, r, 20)
				w.split(0, false)
				time.Sleep(failover(t) / 2)
			}
			soon(t, "all changes", func() bool { return w.c.handled() == total(counters) })
			w.check(counters)
		})
	}
}

// A handler that obeys its context ends with the grace period. Its record is no dead letter then, also at its last
// attempt: the next worker handles it.
func TestGraceEndsHandlers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := make(chan struct{})
	m := w.beginWith(func(ctx context.Context, _ *stream.Change[kit.Account]) error {
		close(in)
		<-ctx.Done()
		return ctx.Err()
	}, stream.Grace(50*time.Millisecond), stream.Attempts(1, 1, 1))
	w.write("a", 1)
	<-in
	m.leave()
	soon(t, "the end", func() bool {
		select {
		case <-m.ended:
			return true
		default:
			return false
		}
	})
	if n := m.Stats().DeadLetters; n != 0 || len(w.items("#000")) != 0 {
		t.Errorf("%d dead letters", n)
	}
	if left := w.items("WORKER#"); len(left) != 0 {
		t.Errorf("counters of workers that have left: %v", left)
	}
	w.begin()
	w.check(map[string]int{"a": 1})
}

// The end of a shard begins a listing, and each interval the dead workers are watched: both without the time between
// two listings.
func TestEndsAndDeathsDoNotWaitForTheNextListing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	counters, r := map[string]int{}, rand.New(rand.NewPCG(1, 1))
	first := w.begin(stream.Discover(time.Hour))
	w.writes(counters, r, 20)
	w.check(counters)
	w.split(0, false)
	w.writes(counters, r, 20)
	soon(t, "the children", func() bool { return w.c.handled() == 40 })
	w.begin(stream.Discover(time.Hour))
	time.Sleep(failover(t) / 2)
	first.kill()
	w.writes(counters, r, 20)
	soon(t, "the shards of the dead one", func() bool { return w.c.handled() == 60 })
	w.check(counters)
}

// listing is a service whose listings a test changes or delays.
type listing struct {
	stream.Streams
	describe func(context.Context, *dynamodbstreams.DescribeStreamInput,
		*dynamodbstreams.DescribeStreamOutput, error) (*dynamodbstreams.DescribeStreamOutput, error)
}

func (l listing) DescribeStream(ctx context.Context, in *dynamodbstreams.DescribeStreamInput,
	o ...func(*dynamodbstreams.Options),
) (*dynamodbstreams.DescribeStreamOutput, error) {
	out, err := l.Streams.DescribeStream(ctx, in, o...)
	return l.describe(ctx, in, out, err)
}

// Shards that end while a listing hangs do not stop the worker.
func TestManyEndsWhileAListingHangs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mu.Lock()
	w.shards = nil
	for i := range uint32(4) {
		w.add("", i<<30, i<<30+1<<30-1)
	}
	w.mu.Unlock()
	var hang atomic.Bool
	m := w.through(nil, listing{w.scripted, func(ctx context.Context, _ *dynamodbstreams.DescribeStreamInput,
		out *dynamodbstreams.DescribeStreamOutput, err error,
	) (*dynamodbstreams.DescribeStreamOutput, error) {
		if hang.Load() {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return out, err
	}}, w.c.handle)
	soon(t, "four shards", func() bool { return m.Stats().Shards == 4 })
	hang.Store(true)
	before := w.requests("DescribeStream", "")
	soon(t, "a listing", func() bool { return w.requests("DescribeStream", "") > before })
	w.mu.Lock()
	for _, sh := range w.shards[:3] {
		sh.closed = true
	}
	w.mu.Unlock()
	soon(t, "the ends of three", func() bool { return m.Stats().Shards == 1 })
}

// The counter of a worker that has died is deleted after ten times the failover time.
func TestCountersOfDeadWorkersAreDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	quicker := []stream.ConsumerOption{stream.Interval(failover(t) / 25), stream.Failover(failover(t) / 5)}
	first := w.begin(quicker...)
	soon(t, "its shard", func() bool { return first.Stats().Shards == 1 })
	first.kill()
	<-first.ended
	second := w.begin(quicker...)
	soon(t, "the failover", func() bool { return second.Stats().Shards == 1 })
	if n := len(w.items("WORKER#")); n != 2 {
		t.Errorf("%d counters, want 2: that of the dead one is kept for a while", n)
	}
	soon(t, "the delete", func() bool { return len(w.items("WORKER#")) == 1 })
}

// Requests for records are limited to a rate, and a shard without new records is read after a pause.
func TestReadsAreLimited(t *testing.T) {
	t.Parallel()
	for name, o := range map[string][]stream.ConsumerOption{
		"RequestRate": {stream.RequestRate(10), stream.Poll(time.Millisecond)},
		"Poll":        {stream.Poll(100 * time.Millisecond)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.begin(o...)
			soon(t, "a read", func() bool { return w.requests("GetRecords", "") > 0 })
			time.Sleep(time.Second)
			if n := w.requests("GetRecords", ""); n > 25 {
				t.Errorf("%d requests in a second", n)
			}
		})
	}
}

// A worker at the end of its shards has no lag.
func TestLagEndsWithTheRecords(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	out := make(chan struct{})
	m := w.beginWith(func(context.Context, *stream.Change[kit.Account]) error { <-out; return nil })
	w.write("a", 1)
	soon(t, "a lag", func() bool { return m.Stats().Lag > 0 })
	close(out)
	soon(t, "no lag", func() bool { s := m.Stats(); return s.Handled >= 1 && s.Lag == 0 })
}

// A service that repeats an error is asked with growing pauses, also for iterators and listings. A position at the
// beginning of a shard cannot be trimmed.
func TestRepeatedErrorsOfIteratorsAndListings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		operation string
		err       error
		most      int
	}{
		{"GetShardIterator", errors.New("failed"), 30},
		{"GetShardIterator", &types.TrimmedDataAccessException{Message: aws.String("trimmed")}, 30},
		{"DescribeStream", errors.New("failed"), 12},
	} {
		t.Run(fmt.Sprintf("%s %T", c.operation, c.err), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.fail = func(operation, _ string) error {
				if operation == c.operation {
					return c.err
				}
				return nil
			}
			w.begin(stream.Discover(time.Second))
			until(t, "a request", func() bool { return w.requests(c.operation, "") > 0 })
			time.Sleep(500 * time.Millisecond)
			if n := w.requests(c.operation, ""); n > c.most {
				t.Errorf("%d requests in 500 ms, want up to %d", n, c.most)
			}
		})
	}
}

// opens is a service whose first request for an iterator has no answer.
type opens struct {
	stream.Streams
	once *sync.Once
}

func (o opens) GetShardIterator(ctx context.Context, in *dynamodbstreams.GetShardIteratorInput,
	f ...func(*dynamodbstreams.Options),
) (*dynamodbstreams.GetShardIteratorOutput, error) {
	o.once.Do(func() { <-ctx.Done() })
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return o.Streams.GetShardIterator(ctx, in, f...)
}

// A request without an answer stops nothing for ever: one for an iterator, a beat, a read of leases.
func TestOtherRequestsWithoutAnswersEnd(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"iterator", "WORKER#", "SHARDS#"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			var once sync.Once
			var ready atomic.Bool
			hang := func(q *http.Request, body string) (*http.Response, error) {
				if strings.Contains(body, what) && ready.Load() && (isWrite(q) || what == "SHARDS#") {
					once.Do(func() { <-q.Context().Done() })
					if err := q.Context().Err(); err != nil {
						return nil, err
					}
				}
				return http.DefaultClient.Do(q)
			}
			var of stream.Streams = w.scripted
			if what == "iterator" {
				of = opens{w.scripted, &sync.Once{}}
			}
			m := w.through(hang, of, w.c.handle)
			counters, r := map[string]int{}, rand.New(rand.NewPCG(1, 1))
			w.writes(counters, r, 10)
			soon(t, "the first", func() bool { return w.c.handled() == 10 })
			ready.Store(true)
			time.Sleep(failover(t) / 2)
			w.split(0, false)
			w.writes(counters, r, 10)
			soon(t, "the others", func() bool { return w.c.handled() == 20 && m.Stats().Shards == 2 })
			w.check(counters)
		})
	}
}

// Records that are trimmed, and a shard that is deleted, while they are read are one gap each. The rest is read.
func TestGapsWhileAShardIsRead(t *testing.T) {
	t.Parallel()
	for _, deleted := range []bool{false, true} {
		t.Run(fmt.Sprint("deleted ", deleted), func(t *testing.T) {
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
			for i := range 30 {
				w.write("a", i+2)
			}
			if deleted {
				w.split(0, false)
				w.delete(0)
				for i := range 11 {
					w.write("a", i+32)
				}
			} else {
				w.trim(0, 20)
			}
			close(out)
			soon(t, "the rest", func() bool { return n.Load() == 12 })
			if got := m.Stats().Trimmed; got != 1 {
				t.Errorf("%d gaps, want 1", got)
			}
		})
	}
}

// saves counts the writes of leases.
type saves struct{ n atomic.Int64 }

func (s *saves) do(q *http.Request, body string) (*http.Response, error) {
	if isWrite(q) && strings.Contains(body, "SHARDS#") {
		s.n.Add(1)
	}
	return http.DefaultClient.Do(q)
}

// Positions are saved once an interval, while records are handled. A worker that dies then repeats those since.
func TestPositionsAreSavedOnceAnInterval(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := &saves{}
	m := w.through(s.do, nil, w.c.handle, stream.Interval(failover(t)/3),
		stream.Failover(20*failover(t))) // no fence takes the shard again
	soon(t, "the shard", func() bool { return m.Stats().Shards == 1 })
	begun, before := time.Now(), s.n.Load()
	for n := range 40 {
		w.write("a", n+1)
		time.Sleep(failover(t) / 25)
	}
	soon(t, "all", func() bool { return w.c.handled() == 40 })
	n, most := s.n.Load()-before, int64(time.Since(begun)/(failover(t)/3))+1
	if n == 0 || n > most {
		t.Errorf("%d saves, want 1 to %d", n, most)
	}
	time.Sleep(failover(t))
	before = s.n.Load()
	time.Sleep(failover(t))
	if n := s.n.Load() - before; n != 0 {
		t.Errorf("%d saves without records", n)
	}
}

// The pauses between attempts double up to the longest.
func TestPausesOfAttempts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		attempts          int
		least, most       time.Duration
		shortest, longest time.Duration
	}{
		{6, 20 * time.Millisecond, time.Minute, 310 * time.Millisecond, time.Hour},
		{15, time.Millisecond, 2 * time.Millisecond, 0, 3 * time.Second},
	} {
		w := newWorld(t)
		var first, last atomic.Int64
		m := w.beginWith(func(context.Context, *stream.Change[kit.Account]) error {
			now := time.Now().UnixNano()
			first.CompareAndSwap(0, now)
			last.Store(now)
			return errors.New("refused")
		}, stream.Attempts(c.attempts, c.least, c.most))
		w.write("a", 1)
		until(t, "the letter", func() bool { return m.Stats().DeadLetters >= 1 })
		if d := time.Duration(last.Load() - first.Load()); d < c.shortest || d > c.longest {
			t.Errorf("%d attempts took %v, want %v to %v", c.attempts, d, c.shortest, c.longest)
		}
	}
}

// A dead letter that cannot be stored is tried until it is. Its answer can be lost.
func TestLettersAreStoredOnce(t *testing.T) {
	t.Parallel()
	refuse := func(context.Context, *stream.Change[kit.Account]) error {
		return fmt.Errorf("the text: %w", errors.New("refused"))
	}
	once := stream.Attempts(1, time.Millisecond, time.Millisecond)
	t.Run("function", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		var n atomic.Int64
		m := w.beginWith(refuse, once, stream.DeadLetters(func(context.Context, *stream.Letter) error {
			if n.Add(1) < 3 {
				return errors.New("not now")
			}
			return nil
		}))
		w.write("a", 1)
		soon(t, "the letter", func() bool { return m.Stats().Handled >= 1 })
		if n.Load() != 3 || m.Stats().DeadLetters != 1 {
			t.Errorf("%d calls, %d letters", n.Load(), m.Stats().DeadLetters)
		}
	})
	t.Run("table", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		var lost atomic.Int64
		m := w.through(func(q *http.Request, body string) (*http.Response, error) {
			a, err := http.DefaultClient.Do(q)
			if err == nil && isWrite(q) && strings.Contains(body, "LETTERS#") && lost.Add(1) == 1 {
				_ = a.Body.Close()
				return nil, errCut
			}
			return a, err
		}, nil, refuse, once)
		w.write("a", 1)
		soon(t, "the letter", func() bool { return m.Stats().Handled >= 1 && m.Stats().DeadLetters >= 1 })
		all := kit.Must(stream.Letters(context.Background(), testengine.Start(t).Client(), w.leases, "accounts",
			"default"))(t)
		if len(all) != 1 || all[0].Err.Error() != "*errors.errorString" || all[0].New != nil {
			t.Errorf("letters: %+v", all)
		}
	})
}

// A letter that is refused again stays, and the drive handles the others, once each. It is repeated if the letters
// cannot be read.
func TestDrivesKeepRefusedLetters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var driving, cut atomic.Bool
	var calls atomic.Int64
	m := w.through(func(q *http.Request, body string) (*http.Response, error) {
		if strings.HasSuffix(q.Header.Get("X-Amz-Target"), ".Query") && strings.Contains(body, "LETTERS#") &&
			cut.CompareAndSwap(true, false) {
			return nil, errCut
		}
		return http.DefaultClient.Do(q)
	}, nil, func(_ context.Context, c *stream.Change[kit.Account]) error {
		if driving.Load() {
			calls.Add(1)
		}
		if !driving.Load() || c.New.Counter == 1 {
			return errors.New("refused")
		}
		return nil
	}, stream.Attempts(1, time.Millisecond, time.Millisecond))
	for n := range 3 {
		w.write("a", n+1)
	}
	soon(t, "the letters", func() bool { return m.Stats().DeadLetters >= 3 })
	driving.Store(true)
	cut.Store(true)
	ctx, client := context.Background(), testengine.Start(t).Client()
	if err := stream.Drive(ctx, client, w.leases, "accounts", "default"); err != nil {
		t.Fatal(err)
	}
	soon(t, "the others", func() bool { return calls.Load() >= 3 && len(w.items("SHARD#DRIVE")) == 0 })
	time.Sleep(failover(t) / 2)
	all := kit.Must(stream.Letters(ctx, client, w.leases, "accounts", "default"))(t)
	if len(all) != 1 || !strings.HasSuffix(all[0].SequenceNumber, "01") || calls.Load() != 3 {
		t.Errorf("letters: %+v, %d calls", all, calls.Load())
	}
}

// A drive takes a slot for handlers.
func TestDrivesTakeASlot(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var running, most, calls atomic.Int64
	var slow atomic.Bool
	m := w.beginWith(func(context.Context, *stream.Change[kit.Account]) error {
		if !slow.Load() {
			return errors.New("refused")
		}
		most.Store(max(most.Load(), running.Add(1)))
		time.Sleep(time.Millisecond)
		running.Add(-1)
		calls.Add(1)
		return nil
	}, stream.Handlers(1), stream.Attempts(1, time.Millisecond, time.Millisecond), stream.KeepValues())
	for n := range 100 {
		w.write("a", n+1)
	}
	soon(t, "the letters", func() bool { return m.Stats().DeadLetters >= 100 })
	slow.Store(true)
	if err := stream.Drive(context.Background(), testengine.Start(t).Client(), w.leases, "accounts",
		"default"); err != nil {
		t.Fatal(err)
	}
	for n := 100; calls.Load() < 150; n++ {
		w.write("a", n+1)
		time.Sleep(time.Millisecond)
	}
	if n := most.Load(); n > 1 {
		t.Errorf("%d handlers at the same time", n)
	}
}

// A stream that does not exist is an error if it is that of the table, and no error if it is a former one.
func TestDeletedStreams(t *testing.T) {
	t.Parallel()
	missing := &types.ResourceNotFoundException{Message: aws.String("stream")}
	for _, former := range []bool{false, true} {
		t.Run(fmt.Sprint("former ", former), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			var not atomic.Value
			not.Store("")
			m := w.through(nil, listing{w.scripted, func(_ context.Context, in *dynamodbstreams.DescribeStreamInput,
				out *dynamodbstreams.DescribeStreamOutput, err error,
			) (*dynamodbstreams.DescribeStreamOutput, error) {
				if *in.StreamArn == not.Load() {
					return nil, missing
				}
				return out, err
			}}, w.c.handle)
			counters, r := map[string]int{}, rand.New(rand.NewPCG(1, 1))
			w.writes(counters, r, 20)
			w.check(counters)
			if former {
				w.mu.Lock()
				w.former, w.shards = append([]*scriptedShard(nil), w.shards...), nil
				w.formerARN, w.arn = w.arn, w.arn+"2"
				w.former[0].closed = true
				w.add("", 0, 1<<32-1).id = "shardId-00000000000000000099-new"
				w.mu.Unlock()
				not.Store(w.formerARN)
				w.writes(counters, r, 20)
				w.check(counters)
				w.split(0, false)
				w.writes(counters, r, 20)
				soon(t, "the children", func() bool { return w.c.handled() == 60 })
				soon(t, "the leases of the former stream", func() bool { return len(w.items("0001-0000")) == 0 })
				return
			}
			before := m.Stats().Errors
			not.Store(w.arn)
			w.split(0, false)
			w.writes(counters, r, 20)
			soon(t, "an error", func() bool { return m.Stats().Errors > before })
			time.Sleep(failover(t) / 2)
			if n := len(w.items("SHARD#")); n != 1 {
				t.Errorf("%d leases after a listing that has failed, want 1", n)
			}
			not.Store("")
			w.check(counters)
		})
	}
}

// The lease of a shard that the stream has deleted is deleted when its children are done, and not before.
func TestLeasesOfTrimmedShardsAreDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	counters, r := map[string]int{}, rand.New(rand.NewPCG(1, 1))
	m := w.begin()
	w.writes(counters, r, 20)
	w.split(0, false)
	w.writes(counters, r, 20)
	w.check(counters)
	parent := w.shard(0).id
	soon(t, "the children", func() bool { return m.Stats().Shards == 2 })
	w.delete(0)
	time.Sleep(failover(t))
	if n := len(w.items(parent)); n != 1 {
		t.Errorf("%d leases of a shard whose children are not done, want 1", n)
	}
	w.split(0, false)
	w.split(0, false)
	soon(t, "the delete", func() bool { return len(w.items(parent)) == 0 })
	w.writes(counters, r, 20)
	w.check(counters)
}

// A listing that is older than the leases of other workers deletes none of them, and does not hide a parent.
func TestListingsThatAreLate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var hang atomic.Bool
	hanging, free := make(chan struct{}, 100), make(chan struct{})
	late := w.through(nil, listing{w.scripted, func(ctx context.Context, _ *dynamodbstreams.DescribeStreamInput,
		out *dynamodbstreams.DescribeStreamOutput, err error,
	) (*dynamodbstreams.DescribeStreamOutput, error) {
		if hang.Load() {
			hanging <- struct{}{}
			select {
			case <-free:
			case <-ctx.Done():
			}
		}
		return out, err
	}}, w.c.handle)
	counters, r := map[string]int{}, rand.New(rand.NewPCG(1, 1))
	w.writes(counters, r, 20)
	w.check(counters)
	hang.Store(true)
	<-hanging // with a listing of one shard
	w.begin()
	w.split(0, false)
	w.writes(counters, r, 40)
	w.check(counters)
	w.mu.Lock()
	for _, sh := range w.shards {
		sh.closed = true
	}
	w.mu.Unlock()
	soon(t, "the ends", func() bool { return len(w.items("SHARD#")) == 3 && late.Stats().Shards == 0 })
	time.Sleep(failover(t))
	hang.Store(false)
	close(free)
	time.Sleep(2 * failover(t))
	w.check(counters)
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	for change, n := range w.c.times {
		if n > 1 {
			t.Fatalf("the change %s was handled %d times: its lease was deleted", change, n)
		}
	}
}

// A lease that another worker has inserted after a listing has begun says nothing about the parents that the listing
// lacks.
func TestLateListingsDoNotHideParents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var hang atomic.Bool
	hanging, free := make(chan struct{}, 100), make(chan struct{})
	var old atomic.Pointer[dynamodbstreams.DescribeStreamOutput]
	m := w.through(nil, listing{w.scripted, func(ctx context.Context, _ *dynamodbstreams.DescribeStreamInput,
		out *dynamodbstreams.DescribeStreamOutput, err error,
	) (*dynamodbstreams.DescribeStreamOutput, error) {
		if hang.Load() {
			if old.CompareAndSwap(nil, out) {
				hanging <- struct{}{}
				select {
				case <-free:
				case <-ctx.Done():
				}
				return out, err
			}
			return nil, errors.New("no listing")
		}
		return out, err
	}}, w.c.handle)
	counters, r := map[string]int{}, rand.New(rand.NewPCG(1, 1))
	w.writes(counters, r, 20)
	w.check(counters)
	hang.Store(true)
	<-hanging
	w.split(0, false)
	w.writes(counters, r, 40)
	w.split(0, false)
	w.writes(counters, r, 40)
	leaf := w.shard(3)
	if err := stream.InsertLease(context.Background(), testengine.Start(t).Client(), w.leases, "accounts/default",
		leaf.id, leaf.parent, w.arn); err != nil {
		t.Fatal(err)
	}
	close(free)
	time.Sleep(failover(t))
	if n := m.Stats().Shards; n > 1 {
		t.Errorf("%d shards are read, the grandchild among them", n)
	}
	hang.Store(false)
	w.check(counters)
}

// Two groups can begin at the same time.
func TestGroupsThatBeginAtTheSameTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var both sync.WaitGroup
	both.Add(2)
	atOnce := func() httpFunc {
		var once sync.Once
		return func(q *http.Request, body string) (*http.Response, error) {
			if isWrite(q) && strings.Contains(body, "STREAM#") {
				once.Do(func() { both.Done(); both.Wait() })
			}
			return http.DefaultClient.Do(q)
		}
	}
	other := newCounted()
	a := w.through(atOnce(), nil, w.c.handle)
	b := w.through(atOnce(), nil, other.handle, stream.Group("other"))
	w.write("a", 1)
	soon(t, "both groups", func() bool { return w.c.handled() == 1 && other.handled() == 1 })
	third := w.begin(stream.Group("third"))
	<-third.ended
	if third.err == nil || a.err != nil || b.err != nil {
		t.Errorf("%v, %v, %v", third.err, a.err, b.err)
	}
}

// A group that is deleted leaves nothing but its dead letters.
func TestDeletedGroupsLeaveNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, client := context.Background(), testengine.Start(t).Client()
	m := w.begin()
	soon(t, "a shard", func() bool { return m.Stats().Shards == 1 })
	m.kill()
	<-m.ended
	if err := stream.DeleteGroup(ctx, client, w.leases, "accounts", "default"); err != nil {
		t.Fatal(err)
	}
	for _, k := range w.items("") {
		if k != "GROUPS" {
			t.Errorf("left: %s", k)
		}
	}
	groups := []*process{w.begin(stream.Group("two")), w.begin(stream.Group("three"))}
	for _, o := range groups {
		soon(t, "another group", func() bool { return o.Stats().Shards == 1 })
	}
}

// Records of items of no model are handled in the order of each item.
func TestUnmatchedRecordsKeepTheirOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var mu sync.Mutex
	var got []string
	router := stream.NewRouter()
	router.Unmatched(func(_ context.Context, rec *stream.Record) error {
		if rec.ID == "1" {
			time.Sleep(50 * time.Millisecond)
		}
		mu.Lock()
		defer mu.Unlock()
		got = append(got, rec.ID)
		return nil
	})
	for n := range 10 {
		w.write("a", n+1)
	}
	c := w.consumer(router, w.scripted, quick(t)...)
	w.group.Go(func() { _ = c.Run(w.ctx) })
	soon(t, "all", func() bool { return c.Stats().Handled >= 10 })
	mu.Lock()
	defer mu.Unlock()
	if fmt.Sprint(got) != "[1 2 3 4 5 6 7 8 9 10]" {
		t.Errorf("order: %v", got)
	}
}

// Run returns an error for a table without a stream, and for a nil context.
func TestRunChecksTheTable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, arn := range map[string]string{"none": "", "disabled": w.arn} {
		router := stream.NewRouter()
		router.Unmatched(func(context.Context, *stream.Record) error { return nil })
		c := kit.Must(stream.NewConsumer(without{testengine.Start(t).Client(), arn}, w.scripted, "accounts", router,
			quick(t, stream.Leases(w.leases))...))(t)
		ctx, stop := context.WithTimeout(context.Background(), 4*failover(t))
		if err := c.Run(ctx); err == nil || !strings.Contains(err.Error(), "it has none") {
			t.Errorf("%s: %v", name, err)
		}
		stop()
		if left := w.items(""); len(left) > 0 {
			t.Errorf("%s: it has joined: %v", name, left)
		}
		var missing context.Context
		if err := c.Run(missing); err == nil || !strings.Contains(err.Error(), "context is nil") {
			t.Errorf("nil: %v", err)
		}
	}
}

// without describes a table whose stream is disabled.
type without struct {
	stream.Client
	arn string
}

func (d without) DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...func(*dynamodb.Options)) (
	*dynamodb.DescribeTableOutput, error,
) {
	return &dynamodb.DescribeTableOutput{Table: &dynamodbtypes.TableDescription{
		LatestStreamArn:     &d.arn,
		StreamSpecification: &dynamodbtypes.StreamSpecification{StreamEnabled: aws.Bool(d.arn == "")},
	}}, nil
}

// A worker whose beats fail for the failover time stops its handlers, although its other requests succeed.
func TestWorkersWithoutBeatsStop(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var cut atomic.Bool
	in, ended := make(chan struct{}), make(chan struct{})
	w.through(func(q *http.Request, body string) (*http.Response, error) {
		if cut.Load() && isWrite(q) && strings.Contains(body, "WORKERS#") {
			return nil, errCut
		}
		return http.DefaultClient.Do(q)
	}, nil, func(ctx context.Context, _ *stream.Change[kit.Account]) error {
		close(in)
		<-ctx.Done()
		close(ended)
		return ctx.Err()
	})
	w.write("a", 1)
	<-in
	cut.Store(true)
	soon(t, "the end of the handler", func() bool {
		select {
		case <-ended:
			return true
		default:
			return false
		}
	})
}

// A counter that was deleted is written again.
func TestDeletedCountersAreWrittenAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.begin()
	soon(t, "a shard", func() bool { return m.Stats().Shards == 1 })
	for range 3 {
		for _, k := range w.items("WORKER#") {
			kit.Must(testengine.Start(t).Client().DeleteItem(context.Background(), &dynamodb.DeleteItemInput{
				TableName: &w.leases, Key: kit.Item{"PK": kit.S(w.partition("WORKERS#")), "SK": kit.S(k)},
			}))(t)
		}
		time.Sleep(failover(t) / 5)
		soon(t, "the counter", func() bool { return len(w.items("WORKER#")) == 1 })
	}
}

// partition returns the first partition key in the table of leases that has a beginning.
func (w *world) partition(begin string) string {
	w.t.Helper()
	all := kit.Must(testengine.Start(w.t).Client().Scan(context.Background(), &dynamodb.ScanInput{
		TableName: &w.leases, ConsistentRead: aws.Bool(true),
	}))(w.t)
	for _, it := range all.Items {
		if k := it["PK"].(*dynamodbtypes.AttributeValueMemberS).Value; strings.HasPrefix(k, begin) {
			return k
		}
	}
	return ""
}

// A request that ends with its worker is no error, and one that fails then is.
func TestRequestsThatEndWithTheirWorker(t *testing.T) {
	t.Parallel()
	for want, err := range []error{nil, errors.New("failed")} {
		w := newWorld(t)
		var n, reported atomic.Int64
		m := w.through(nil, failing{w.scripted, func(ctx context.Context) error {
			n.Add(1)
			<-ctx.Done()
			if err == nil {
				return ctx.Err()
			}
			return err
		}}, w.c.handle, stream.Failover(time.Minute), stream.OnError(func(err error) {
			if strings.Contains(err.Error(), "read the shard") {
				reported.Add(1)
			}
		}))
		soon(t, "a request", func() bool { return n.Load() == 1 })
		m.leave()
		<-m.ended
		if got := reported.Load(); (got > 0) != (want > 0) {
			t.Errorf("%v: %d errors, want %d", err, got, want)
		}
	}
}

// failing is a service whose reads of records fail.
type failing struct {
	stream.Streams
	fail func(context.Context) error
}

func (f failing) GetRecords(ctx context.Context, in *dynamodbstreams.GetRecordsInput,
	o ...func(*dynamodbstreams.Options),
) (*dynamodbstreams.GetRecordsOutput, error) {
	if err := f.fail(ctx); err != nil {
		return nil, err
	}
	return f.Streams.GetRecords(ctx, in, o...)
}

// A group that has a position continues there, whatever the option From of a later worker. Records have full seconds.
func TestGroupsKeepTheirBeginning(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	from := time.Now().Truncate(time.Second).Add(900 * time.Millisecond)
	w.now = func() time.Time { return from.Add(-time.Hour) }
	w.write("a", 1) // older
	w.now = func() time.Time { return from.Truncate(time.Second) }
	w.write("b", 1)
	m := w.begin(stream.From(from))
	soon(t, "the second", func() bool { return m.Stats().Handled >= 2 })
	m.leave()
	<-m.ended
	w.write("b", 2)
	m = w.begin(stream.From(from.Add(time.Minute)))
	soon(t, "the third", func() bool { return m.Stats().Handled >= 1 })
	if n := w.c.handled(); n != 2 {
		t.Errorf("%d changes were shown, want 2", n)
	}
}

// The last position is saved also if the first try fails, or has no answer. Nothing is handled again then.
func TestLastPositionsAreSavedAgain(t *testing.T) {
	t.Parallel()
	for _, lost := range []bool{false, true} {
		t.Run(fmt.Sprint("lost ", lost), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			var fail atomic.Bool
			var failed atomic.Int64
			m := w.through(func(q *http.Request, body string) (*http.Response, error) {
				if !isWrite(q) || !strings.Contains(body, "SHARDS#") || !fail.Load() || failed.Add(1) > 6 {
					return http.DefaultClient.Do(q)
				}
				if lost {
					a, err := http.DefaultClient.Do(q)
					if err == nil {
						_ = a.Body.Close()
					}
				}
				return nil, errCut
			}, nil, w.c.handle, stream.Interval(failover(t)/2))
			soon(t, "the shard", func() bool { return m.Stats().Shards == 1 })
			w.write("a", 1)
			soon(t, "the first", func() bool { return w.c.handled() == 1 })
			fail.Store(true)
			m.leave()
			<-m.ended
			w.begin()
			w.write("a", 2)
			w.check(map[string]int{"a": 2})
			w.c.mu.Lock()
			defer w.c.mu.Unlock()
			if n := w.c.times["a 1"]; n != 1 {
				t.Errorf("handled %d times", n)
			}
		})
	}
}

// A worker with one answer in memory reads on after each error, and after a shard that was deleted. The pauses have a
// limit.
func TestErrorsGiveTheirAnswerBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var n atomic.Int64
	w.fail = func(operation, _ string) error {
		if (operation == "GetRecords" || operation == "GetShardIterator") && n.Add(1) < 20 {
			return errors.New("failed")
		}
		return nil
	}
	m := w.begin(stream.Batches(1))
	counters, r := map[string]int{}, rand.New(rand.NewPCG(1, 1))
	w.writes(counters, r, 20)
	soon(t, "the first", func() bool { return w.c.handled() == 20 })
	n.Store(0)
	w.expire()
	w.writes(counters, r, 20)
	soon(t, "the second", func() bool { return w.c.handled() == 40 })
	m.leave()
	<-m.ended
	w.split(0, false)
	w.delete(0)
	w.writes(counters, r, 20)
	w.begin(stream.Batches(1))
	soon(t, "the third", func() bool { return w.c.handled() == 60 })
	w.check(counters)
}

// A worker that leaves does not try the rest of the attempts.
func TestLeavingEndsTheAttempts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var n atomic.Int64
	m := w.beginWith(func(context.Context, *stream.Change[kit.Account]) error {
		n.Add(1)
		return errors.New("refused")
	}, stream.Grace(time.Hour))
	w.write("a", 1)
	soon(t, "a call", func() bool { return n.Load() > 0 })
	m.leave()
	soon(t, "the end", func() bool {
		select {
		case <-m.ended:
			return true
		default:
			return false
		}
	})
	if got := m.Stats().DeadLetters; got != 0 {
		t.Errorf("%d letters", got)
	}
}

// The context of a handler lives as long as the grace period, also while its worker leaves.
func TestLeavingKeepsTheContextOfHandlers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in, out := make(chan struct{}), make(chan struct{})
	var once sync.Once
	m := w.beginWith(func(ctx context.Context, _ *stream.Change[kit.Account]) error {
		once.Do(func() { close(in) })
		<-out
		if ctx.Err() != nil {
			t.Error(ctx.Err())
		}
		return nil
	}, stream.Grace(time.Minute))
	w.write("a", 1)
	w.write("a", 2)
	<-in
	m.leave()
	time.Sleep(failover(t) / 10)
	close(out)
	<-m.ended
	if n := m.Stats().Handled; n != 1 {
		t.Errorf("%d records were handled, want 1: the second has not begun", n)
	}
	w.begin()
	soon(t, "the second", func() bool { return w.c.handled() == 1 })
}

// A shard that ends while its worker leaves in the midst of its last answer is not done.
func TestLeavingInTheLastAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in, out := make(chan struct{}), make(chan struct{})
	var once sync.Once
	for n := range 20 {
		w.write("a", n+1)
	}
	w.split(0, false)
	m := w.beginWith(func(ctx context.Context, c *stream.Change[kit.Account]) error {
		once.Do(func() { close(in) })
		<-out
		return w.c.handle(ctx, c)
	})
	<-in
	m.leave()
	time.Sleep(failover(t) / 10)
	close(out)
	<-m.ended
	w.begin()
	soon(t, "all", func() bool { return w.c.handled() == 20 })
	w.check(map[string]int{"a": 20})
}

// An answer without an iterator means that the shard is deleted.
func TestShardsWithoutAnIterator(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.through(nil, noIterator{w.scripted, w.shard(0).id}, w.c.handle)
	w.split(0, false)
	w.write("a", 1)
	soon(t, "the child", func() bool { return w.c.handled() == 1 && m.Stats().Shards == 2 })
}

type noIterator struct {
	stream.Streams
	shard string
}

func (n noIterator) GetShardIterator(ctx context.Context, in *dynamodbstreams.GetShardIteratorInput,
	o ...func(*dynamodbstreams.Options),
) (*dynamodbstreams.GetShardIteratorOutput, error) {
	if *in.ShardId == n.shard {
		return &dynamodbstreams.GetShardIteratorOutput{}, nil
	}
	return n.Streams.GetShardIterator(ctx, in, o...)
}

// snapshots is a worker with WithSnapshot, or without, on a real table and the scripted stream.
func (w *world) snapshots(table string, do httpFunc, of stream.Streams, handle func(context.Context,
	*stream.Change[kit.Account]) error, more ...stream.ConsumerOption,
) *process {
	w.t.Helper()
	if do == nil {
		do = func(q *http.Request, _ string) (*http.Response, error) { return http.DefaultClient.Do(q) }
	}
	if of == nil {
		of = w.scripted
	}
	client := dynamodb.New(testengine.Start(w.t).Client().Options(), func(o *dynamodb.Options) {
		o.HTTPClient, o.Retryer = do, aws.NopRetryer{}
	})
	router := stream.NewRouter()
	stream.On(router, kit.Must(mapper.New[kit.Account](client, mapper.Table(table)))(w.t), handle)
	// A model of another table is not scanned.
	stream.On(router, kit.Must(mapper.New[kit.Account](kit.Failing{}, mapper.Table("others")))(w.t),
		func(context.Context, *stream.Change[kit.Account]) error { w.t.Error("another table"); return nil })
	return w.run(kit.Must(stream.NewConsumer(describing{client, w.scripted}, of, table, router,
		quick(w.t, append([]stream.ConsumerOption{stream.Leases(w.leases)}, more...)...)...))(w.t))
}

// A group with a snapshot shows each entity once, before the records since its beginning. So it does if the first scan
// fails, its worker leaves in its midst, the clocks differ, the next worker does not ask for a snapshot, and all shards
// have ended.
func TestSnapshotsComeFirstAndOnce(t *testing.T) {
	t.Parallel()
	w, table := newWorld(t), testengine.Table(t, "PK:S", "SK:S")
	ctx, client := context.Background(), testengine.Start(t).Client()
	m := kit.Must(mapper.New[kit.Account](client, mapper.Table(table)))(t)
	for _, id := range []string{"1", "2", "3"} {
		kit.Must(m.Save(ctx, m.New(kit.Account{ID: id, Counter: 1})))(t)
	}
	w.now = func() time.Time { return time.Now().Add(-time.Minute) }
	// The first worker joins the group, and cannot list the shards.
	first := w.snapshots(table, nil, listing{w.scripted, func(context.Context, *dynamodbstreams.DescribeStreamInput,
		*dynamodbstreams.DescribeStreamOutput, error,
	) (*dynamodbstreams.DescribeStreamOutput, error) {
		return nil, errors.New("no listing")
	}}, func(context.Context, *stream.Change[kit.Account]) error { return nil }, stream.WithSnapshot())
	soon(t, "the group", func() bool { return w.partition("GROUP#") != "" })
	first.leave()
	<-first.ended
	for _, k := range w.items("SHARD#SNAPSHOT") { // a group that has come no further
		kit.Must(client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
			TableName: &w.leases, Key: kit.Item{"PK": kit.S(w.partition("SHARDS#")), "SK": kit.S(k)},
		}))(t)
	}
	w.write("4", 1)
	// The second one leaves in the midst of its scan.
	in := make(chan struct{})
	var once sync.Once
	second := w.snapshots(table, nil, nil, func(ctx context.Context, c *stream.Change[kit.Account]) error {
		if !c.Snapshot {
			t.Errorf("a record before the end of the scan")
		}
		once.Do(func() { close(in) })
		<-ctx.Done()
		return ctx.Err()
	}, stream.Grace(10*time.Millisecond))
	select {
	case <-in:
	case <-time.After(10 * failover(t)):
		t.Fatal("timeout: the snapshot")
	}
	second.leave()
	<-second.ended
	// The first scan of the third one fails.
	var scans, shown, records atomic.Int64
	third := w.snapshots(table, func(q *http.Request, body string) (*http.Response, error) {
		if strings.HasSuffix(q.Header.Get("X-Amz-Target"), ".Scan") && scans.Add(1) == 1 {
			return nil, errCut
		}
		return http.DefaultClient.Do(q)
	}, nil, func(_ context.Context, c *stream.Change[kit.Account]) error {
		switch {
		case c.Snapshot:
			shown.Add(1)
		case shown.Load() != 3:
			t.Errorf("a record after %d entities", shown.Load())
		default:
			records.Add(1)
		}
		return nil
	})
	soon(t, "the record", func() bool { return records.Load() == 1 })
	w.mu.Lock()
	w.shards[0].closed = true
	w.mu.Unlock()
	soon(t, "the end", func() bool { return third.Stats().Shards == 0 })
	time.Sleep(failover(t))
	if n := shown.Load(); n != 3 {
		t.Errorf("%d entities were shown, want 3", n)
	}
}

// A group that began without a snapshot has none, and WithSnapshot says so.
func TestLateSnapshotsAreReported(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.begin()
	soon(t, "a shard", func() bool { return m.Stats().Shards == 1 })
	w.begin(stream.WithSnapshot())
	soon(t, "the report", func() bool {
		text, _ := w.last.Load().(string)
		return strings.Contains(text, "DeleteGroup")
	})
}

// Errors of the table of leases say what to do.
func TestErrorsOfTheLeasesHaveACure(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.leases = "missing"
	m := w.begin()
	<-m.ended
	if m.err == nil || !strings.Contains(m.err.Error(), "stream.LeaseTable") {
		t.Error(m.err)
	}
}

// A kept letter is driven from its images, also when the stream does not have its record. Large images are not kept.
func TestKeptLettersNeedNoStream(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, client := context.Background(), testengine.Start(t).Client()
	var driving atomic.Bool
	m := w.beginWith(func(_ context.Context, c *stream.Change[kit.Account]) error {
		if driving.Load() {
			return nil
		}
		return errors.New("refused")
	}, stream.Attempts(1, 1, 1), stream.KeepValues())
	w.write("a", 1)
	w.write("b", 1)
	w.mu.Lock()
	w.shards[0].records[1].Dynamodb.NewImage["Large"] = &types.AttributeValueMemberS{
		Value: strings.Repeat("x", 390_000),
	}
	w.mu.Unlock()
	soon(t, "the letters", func() bool { return m.Stats().DeadLetters >= 2 })
	all := kit.Must(stream.Letters(ctx, client, w.leases, "accounts", "default"))(t)
	if len(all) != 2 || all[0].New == nil || all[0].Err.Error() != "refused" || all[1].New != nil {
		t.Fatalf("letters: %+v", all)
	}
	w.trim(0, 2)
	driving.Store(true)
	if err := stream.Drive(ctx, client, w.leases, "accounts", "default"); err != nil {
		t.Fatal(err)
	}
	soon(t, "the drive", func() bool { return len(w.items("SHARD#DRIVE")) == 0 })
	if left := kit.Must(stream.Letters(ctx, client, w.leases, "accounts", "default"))(t); len(left) != 1 ||
		left[0].New != nil {
		t.Errorf("letters: %+v", left)
	}
}

// A letter whose position has another record stays. A letter that was deleted is no error.
func TestDrivesOfOtherRecords(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, client := context.Background(), testengine.Start(t).Client()
	var driving, other atomic.Bool
	var calls atomic.Int64
	m := w.beginWith(func(context.Context, *stream.Change[kit.Account]) error {
		if !driving.Load() {
			return errors.New("refused")
		}
		calls.Add(1)
		if !other.Load() {
			for _, k := range w.items("#0000") {
				_, _ = client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
					TableName: &w.leases, Key: kit.Item{"PK": kit.S(w.partition("LETTERS#")), "SK": kit.S(k)},
				})
			}
		}
		return nil
	}, stream.Attempts(1, 1, 1))
	w.write("a", 1)
	soon(t, "the letter", func() bool { return m.Stats().DeadLetters >= 1 })
	driving.Store(true)
	other.Store(true)
	w.mu.Lock()
	was := w.shards[0].records[0].Dynamodb
	is := *was
	is.SequenceNumber = aws.String("000000000000000000099")
	w.shards[0].records[0].Dynamodb = &is
	w.mu.Unlock()
	before := m.Stats().Errors
	if err := stream.Drive(ctx, client, w.leases, "accounts", "default"); err != nil {
		t.Fatal(err)
	}
	soon(t, "the first drive", func() bool { return len(w.items("SHARD#DRIVE")) == 0 })
	if n := len(w.items("#0000")); n != 1 || calls.Load() != 0 || m.Stats().Errors == before {
		t.Errorf("%d letters, %d calls", n, calls.Load())
	}
	w.mu.Lock()
	w.shards[0].records[0].Dynamodb = was
	w.mu.Unlock()
	other.Store(false)
	w.last.Store("")
	if err := stream.Drive(ctx, client, w.leases, "accounts", "default"); err != nil {
		t.Fatal(err)
	}
	soon(t, "the second drive", func() bool { return len(w.items("SHARD#DRIVE")) == 0 && calls.Load() == 1 })
	if text := w.last.Load().(string); strings.Contains(text, "drive") {
		t.Error(text)
	}
}

// A router calls the handlers of the table of a record only, and stops at the first error, which a panic can be.
func TestRoutersStopAtTheFirstError(t *testing.T) {
	t.Parallel()
	var got []string
	r := stream.NewRouter()
	failed := errors.New("failed")
	for _, table := range []string{"others", "accounts", "accounts"} {
		stream.On(r, kit.Must(mapper.New[kit.Account](kit.Failing{}, mapper.Table(table)))(t),
			func(context.Context, *stream.Change[kit.Account]) error { got = append(got, table); panic(failed) })
	}
	err := r.Handle(context.Background(), record(nil, account("HEAD", 'a', kit.Item{"Counter": kit.N("1")})))
	if !errors.Is(err, failed) || fmt.Sprint(got) != "[accounts]" {
		t.Errorf("%v, %v", got, err)
	}
	got = nil
	r = stream.NewRouter()
	for _, name := range []string{"first", "second"} {
		stream.On(r, kit.Must(mapper.New[kit.Account](kit.Failing{}))(t),
			func(context.Context, *stream.Change[kit.Account]) error { got = append(got, name); return failed })
	}
	err = r.Handle(context.Background(), record(nil, account("HEAD", 'a', kit.Item{"Counter": kit.N("1")})))
	if !errors.Is(err, failed) || fmt.Sprint(got) != "[first]" {
		t.Errorf("%v, %v", got, err)
	}
}

// Handlers run at the same time for different partition keys.
func TestHandlersRunAtTheSameTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var both sync.WaitGroup
	both.Add(2)
	w.write("a", 1)
	w.write("b", 1)
	m := w.beginWith(func(context.Context, *stream.Change[kit.Account]) error { both.Done(); both.Wait(); return nil },
		stream.Handlers(2), stream.Grace(0))
	soon(t, "both", func() bool { return m.Stats().Handled >= 2 })
}

// A Lambda function handles its batch also if its context ends, and reads the fields of events.
func TestLambdaEvents(t *testing.T) {
	t.Parallel()
	m := kit.Must(mapper.New[kit.Account](kit.Failing{}))(t)
	var got []string
	r := stream.NewRouter()
	stream.On(r, m, func(_ context.Context, c *stream.Change[kit.Account]) error {
		got = append(got, fmt.Sprint(c.Key.Sort, " ", c.EntityEvent, "/", c.ItemEvent))
		return nil
	})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if out := kit.Must(stream.Lambda(r).Handle(ctx, batch("a", "b")))(t); len(out.Failures) != 0 || len(got) != 2 {
		t.Errorf("%v, %v", out, got)
	}
	got = nil
	e := `{"Records": [{"userIdentity": {"principalId": "dynamodb.amazonaws.com"}, "dynamodb": {"SequenceNumber": "1",
		"Keys": {"PK": {"S": "ACCOUNT#1"}, "SK": {"S": "HEAD"}}, "NewImage": null,
		"OldImage": {"PK": {"S": "ACCOUNT#1"}, "SK": {"S": "HEAD"}, "Counter": {"N": "1"}}}},
		{"dynamodb": {"SequenceNumber": "2", "Keys": {"PK": {"S": "ACCOUNT#2"}, "SK": {"S": "HEAD"}}, "OldImage": {},
		"NewImage": {"PK": {"S": "ACCOUNT#2"}, "SK": {"S": "HEAD"}, "Counter": {"N": "1"}}}}]}`
	out := kit.Must(stream.Lambda(r).Handle(context.Background(), []byte(e)))(t)
	if len(out.Failures) != 0 || fmt.Sprint(got) != "[HEAD expired/expired HEAD created/created]" {
		t.Errorf("%v, %v", out, got)
	}
	if _, err := stream.Lambda(r).Handle(ctx, []byte(strings.Replace(e, `"SequenceNumber": "2"`,
		`"SequenceNumber": ""`, 1))); err == nil || !strings.Contains(err.Error(), "SequenceNumber") {
		t.Error(err)
	}
	defer func() {
		if recover() == nil {
			t.Error("Parallel(0) did not panic")
		}
	}()
	stream.Lambda(r, stream.Parallel(0))
}

// Shards that end one after the other share listings, too.
func TestEndsOneAfterAnotherShareListings(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const shards = 30
	w.mu.Lock()
	for i := range uint32(shards) {
		w.add("", i, i)
	}
	w.mu.Unlock()
	m := w.begin(stream.Discover(time.Hour), stream.Interval(2*failover(t)), stream.Failover(10*failover(t)))
	soon(t, "all shards", func() bool { return m.Stats().Shards == shards+1 })
	before := w.requests("DescribeStream", "")
	for i := range shards {
		w.mu.Lock()
		w.shards[i+1].closed = true
		w.mu.Unlock()
		time.Sleep(failover(t) / 25)
	}
	soon(t, "all ends", func() bool { return m.Stats().Shards == 1 })
	if n := w.requests("DescribeStream", "") - before; n == 0 || n > 7 {
		t.Errorf("%d listings, want 1 to 7", n)
	}
}

// Workers have equal shares of the shards, and keep them. A dead worker's share is taken after the failover time, and
// not before.
func TestSharesAreEqualAndStable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mu.Lock()
	w.shards = nil
	for i := range uint32(4) {
		w.add("", i<<30, i<<30+1<<30-1)
	}
	w.mu.Unlock()
	first := w.begin()
	soon(t, "all shards", func() bool { return first.Stats().Shards == 4 })
	second := w.begin()
	since := time.Now()
	soon(t, "two each, for the failover time", func() bool {
		if first.Stats().Shards != 2 || second.Stats().Shards != 2 {
			since = time.Now()
		}
		return time.Since(since) > failover(t)
	})
	begun := time.Now()
	first.kill()
	soon(t, "the failover", func() bool { return second.Stats().Shards == 4 })
	if d := time.Since(begun); d < 3*failover(t)/4 {
		t.Errorf("the shards of a dead worker were taken after %v", d)
	}
}

// A worker whose lease another one has taken stops to read, also without records that it would save.
func TestTakenLeasesAreReleased(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.begin()
	id := w.shard(0).id
	soon(t, "the shard", func() bool { return m.Stats().Shards == 1 && w.requests("GetShardIterator", id) == 1 })
	kit.Must(testengine.Start(t).Client().UpdateItem(context.Background(), &dynamodb.UpdateItemInput{
		TableName: &w.leases, Key: kit.Item{"PK": kit.S(w.partition("SHARDS#")), "SK": kit.S("SHARD#" + id)},
		UpdateExpression:          aws.String("SET #O = :o, #T = #T + :one"),
		ExpressionAttributeNames:  map[string]string{"#O": "Owner", "#T": "Taken"},
		ExpressionAttributeValues: kit.Item{":o": kit.S("another"), ":one": kit.N("1")},
	}))(t)
	soon(t, "the shard again", func() bool { return w.requests("GetShardIterator", id) > 1 })
}

// Workers that do the same at the same time report no errors: they insert and take the same leases.
func TestRacesOfWorkersAreNoErrors(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"insert", "take"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			var both sync.WaitGroup
			both.Add(2)
			atOnce := func() httpFunc {
				var once sync.Once
				n := 0
				return func(q *http.Request, body string) (*http.Response, error) {
					if isWrite(q) && strings.Contains(body, "SHARDS#") {
						if n++; what == "insert" && n == 1 || what == "take" && n == 2 {
							once.Do(func() {
								both.Done()
								done := make(chan struct{})
								go func() { both.Wait(); close(done) }()
								select {
								case <-done:
								case <-time.After(failover(t) / 2):
								}
							})
						}
					}
					return http.DefaultClient.Do(q)
				}
			}
			patiently := stream.Failover(20 * failover(t)) // a slow answer is no error
			a, b := w.through(atOnce(), nil, w.c.handle, patiently), w.through(atOnce(), nil, w.c.handle, patiently)
			w.write("a", 1)
			w.check(map[string]int{"a": 1})
			time.Sleep(failover(t) / 2)
			if n := a.Stats().Errors + b.Stats().Errors; n != 0 {
				t.Errorf("%d errors: %v", n, w.last.Load())
			}
		})
	}
}

// A worker that dies after it has stored a letter, and before it has saved its position, does not stop the next one.
func TestLettersOfADeadWorkerAreFine(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	options := []stream.ConsumerOption{stream.Attempts(1, 1, 1), stream.Interval(failover(t) / 2)}
	refuse := func(context.Context, *stream.Change[kit.Account]) error { return errors.New("refused") }
	first := w.beginWith(refuse, options...)
	soon(t, "the shard", func() bool { return first.Stats().Shards == 1 })
	w.write("a", 1)
	soon(t, "the letter", func() bool { return first.Stats().DeadLetters >= 1 })
	first.kill()
	<-first.ended
	second := w.beginWith(refuse, options...)
	soon(t, "the same letter", func() bool { return second.Stats().DeadLetters >= 1 })
	w.write("a", 2)
	soon(t, "the next", func() bool { return second.Stats().DeadLetters >= 2 })
}

// A worker that cannot read the leases learns at its next save that it has lost one, and stops.
func TestSavesShowThatALeaseIsLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var blind atomic.Bool
	var n atomic.Int64
	m := w.through(func(q *http.Request, body string) (*http.Response, error) {
		if blind.Load() && strings.HasSuffix(q.Header.Get("X-Amz-Target"), ".Query") &&
			strings.Contains(body, "SHARDS#") {
			return nil, errCut
		}
		return http.DefaultClient.Do(q)
	}, nil, func(context.Context, *stream.Change[kit.Account]) error { n.Add(1); return nil })
	soon(t, "the shard", func() bool { return m.Stats().Shards == 1 })
	blind.Store(true)
	time.Sleep(failover(t) / 5)
	kit.Must(testengine.Start(t).Client().UpdateItem(context.Background(), &dynamodb.UpdateItemInput{
		TableName:                &w.leases,
		Key:                      kit.Item{"PK": kit.S(w.partition("SHARDS#")), "SK": kit.S("SHARD#" + w.shard(0).id)},
		UpdateExpression:         aws.String("SET #O = :o, #T = #T + :one, #V = :v"),
		ExpressionAttributeNames: map[string]string{"#O": "Owner", "#T": "Taken", "#V": "_v"},
		ExpressionAttributeValues: kit.Item{
			":o": kit.S("another"), ":one": kit.N("1"), ":v": binary('z'),
		},
	}))(t)
	w.write("a", 1)
	soon(t, "the first", func() bool { return n.Load() == 1 })
	soon(t, "the end", func() bool { return m.Stats().Shards == 0 })
	w.write("a", 2)
	time.Sleep(failover(t) / 2)
	if got := n.Load(); got != 1 {
		t.Errorf("%d changes were handled without the lease", got-1)
	}
}

// A worker releases its surplus once, also if its handlers need several intervals.
func TestSurplusCountsLeavingReaders(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mu.Lock()
	w.shards = nil
	for i := range uint32(4) {
		w.add("", i<<30, i<<30+1<<30-1)
	}
	w.mu.Unlock()
	slow := []stream.ConsumerOption{stream.Interval(patience(t) / 15), stream.Failover(patience(t))}
	var in atomic.Int64
	out := make(chan struct{})
	var ids []string
	for _, sh := range w.shards {
		for i := range 1000 {
			id := strings.Repeat("x", i%7) + string(rune('a'+i%26)) + strings.Repeat("y", i/26)
			if h := hashOf(id); h >= sh.low && h <= sh.high {
				ids = append(ids, id)
				break
			}
		}
	}
	for _, id := range ids {
		w.write(id, 1)
	}
	first := w.beginWith(
		func(context.Context, *stream.Change[kit.Account]) error { in.Add(1); <-out; return nil },
		slow...)
	soon(t, "four handlers", func() bool { return in.Load() == int64(len(ids)) && len(ids) == 4 })
	second := w.begin(slow...)
	time.Sleep(patience(t))
	close(out)
	soon(t, "two each", func() bool { return first.Stats().Shards == 2 && second.Stats().Shards == 2 })
	soon(t, "six iterators", func() bool { return w.requests("GetShardIterator", "") >= 6 })
	if n := w.requests("GetShardIterator", ""); n != 6 {
		t.Errorf("the shards were opened %d times, want 6: four by the first worker, two by the second", n)
	}
}

// A listing that ends with its worker is no error.
func TestListingsThatEndWithTheirWorker(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := make(chan struct{}, 10)
	m := w.through(nil, listing{w.scripted, func(ctx context.Context, _ *dynamodbstreams.DescribeStreamInput,
		_ *dynamodbstreams.DescribeStreamOutput, _ error,
	) (*dynamodbstreams.DescribeStreamOutput, error) {
		in <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}}, w.c.handle)
	<-in
	m.leave()
	<-m.ended
	if n := m.Stats().Errors; n != 0 {
		t.Errorf("%d errors: %v", n, w.last.Load())
	}
}

// A worker that leaves begins no other request for records.
func TestNoRequestsAfterTheEnd(t *testing.T) {
	t.Parallel()
	for range 20 {
		w := newWorld(t)
		var n atomic.Int64
		m := w.through(nil, failing{w.scripted, func(ctx context.Context) error {
			n.Add(1)
			<-ctx.Done()
			return errors.New("failed")
		}}, w.c.handle)
		soon(t, "a request", func() bool { return n.Load() == 1 })
		m.leave()
		<-m.ended
		if n.Load() != 1 {
			t.Fatalf("%d requests, want 1", n.Load())
		}
	}
}
