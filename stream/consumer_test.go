package stream_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/engines"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/stream"
)

// failover is how long workers of a test are watched. DynamoDB Local on a busy machine takes a second for a request.
func failover(t testing.TB) time.Duration {
	t.Helper()
	if testengine.Start(t).Name == engines.Dynoxide {
		return 500 * time.Millisecond
	}
	return 4 * time.Second
}

// quick are options for tests, which do not wait for many seconds.
func quick(t testing.TB, more ...stream.ConsumerOption) []stream.ConsumerOption {
	return append([]stream.ConsumerOption{
		stream.Interval(failover(t) / 15), stream.Failover(failover(t)), stream.Poll(5 * time.Millisecond),
		stream.Discover(100 * time.Millisecond), stream.Attempts(3, time.Millisecond, 2*time.Millisecond),
		stream.OnError(func(err error) { t.Log(err) }),
	}, more...)
}

// until waits for a condition.
func until(t testing.TB, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(4 * time.Minute); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("timeout: %s", what)
		}
	}
}

// counted is a handler that keeps the last counter of each account, and how often each was handled.
type counted struct {
	mu     sync.Mutex
	last   map[string]int
	times  map[string]int
	back   []string // changes that came out of their order for the first time
	failAt func(id string, n int) error
}

func newCounted() *counted { return &counted{last: map[string]int{}, times: map[string]int{}} }

func (c *counted) handle(_ context.Context, ch *stream.Change[kit.Account]) error {
	if ch.New == nil || !ch.Root {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	id, n := ch.New.ID, ch.New.Counter
	if c.failAt != nil {
		if err := c.failAt(id, n); err != nil {
			return err
		}
	}
	key := fmt.Sprint(id, " ", n)
	if c.times[key]++; c.times[key] == 1 && n != c.last[id]+1 {
		c.back = append(c.back, fmt.Sprintf("%s after %d", key, c.last[id]))
	}
	c.last[id] = max(c.last[id], n)
	return nil
}

// handled returns the number of different changes that were handled.
func (c *counted) handled() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.times)
}

// Workers that come, go and die handle each change at least once, and in the order of each item.
func TestWorkersThatDieLoseNothing(t *testing.T) {
	t.Parallel()
	ctx, table, leases := context.Background(), streamed(t), testengine.Table(t, "PK:S", "SK:S")
	client := testengine.Start(t).Client()
	m := kit.Must(mapper.New[kit.Account](client, mapper.Table(table)))(t)
	r := rand.New(rand.NewPCG(draws.Seed(t), 68))
	c := newCounted()
	const accounts = 20
	changes := draws.Times(600, 3000, 100_000)
	var workers sync.WaitGroup
	all, stop := context.WithCancel(ctx)
	defer workers.Wait()
	defer stop()
	// begin starts a worker, and returns a function that kills it: none of its requests arrives then, and none of its
	// handlers has an effect.
	begin := func() func() {
		off := &cut{}
		own := stream.NewRouter()
		stream.On(own, m, func(ctx context.Context, ch *stream.Change[kit.Account]) error {
			if off.is() {
				return errCut
			}
			return c.handle(ctx, ch)
		})
		behind := dynamodb.New(client.Options(), func(o *dynamodb.Options) {
			o.HTTPClient, o.Retryer = cutHTTP{http.DefaultClient, off}, aws.NopRetryer{}
		})
		w := kit.Must(stream.NewConsumer(behind, cutStreams{streamClient(t), off}, table, own,
			quick(t, stream.Leases(leases),
				stream.Attempts(1_000_000, time.Millisecond, 10*time.Millisecond),
				stream.Poll(50*time.Millisecond), stream.OnError(func(error) {}))...))(t)
		ctx, cancel := context.WithCancel(all)
		workers.Go(func() {
			if err := w.Run(ctx); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		})
		return func() {
			off.set(true)
			cancel()
		}
	}
	kills := []func(){begin(), begin(), begin()}
	killed := 0
	all1 := map[string]*mapper.Entity[kit.Account]{}
	for n := range changes {
		id := strconv.Itoa(n % accounts)
		e := all1[id]
		if e == nil {
			e = m.New(kit.Account{ID: id})
			all1[id] = e
		}
		e.Value.Counter++
		kit.Must(m.Save(ctx, e))(t)
		if r.IntN(200) == 0 {
			i := r.IntN(len(kills))
			kills[i]()
			kills[i] = begin()
			killed++
		}
	}
	until(t, "all changes", func() bool { return c.handled() == changes })
	c.mu.Lock()
	defer c.mu.Unlock()
	twice := 0
	for _, n := range c.times {
		twice += n - 1
	}
	t.Logf("%d changes, %d workers killed, %d handled again", changes, killed, twice)
	if len(c.back) > 0 {
		t.Errorf("out of order: %v", c.back)
	}
}

// A record that its handler refuses is a dead letter, and the shard continues. Driven again, it is handled.
func TestPoisonRecordsBecomeDeadLetters(t *testing.T) {
	t.Parallel()
	for _, values := range []bool{false, true} {
		t.Run(fmt.Sprint("values ", values), func(t *testing.T) {
			t.Parallel()
			ctx, table, leases := context.Background(), streamed(t), testengine.Table(t, "PK:S", "SK:S")
			client := testengine.Start(t).Client()
			m := kit.Must(mapper.New[kit.Account](client, mapper.Table(table)))(t)
			c := newCounted()
			healed := false
			c.failAt = func(id string, n int) error {
				if id == "poison" && n == 2 && !healed {
					return errors.New("refused")
				}
				if id == "panic" && n == 1 && !healed {
					panic("refused")
				}
				return nil
			}
			router := stream.NewRouter()
			stream.On(router, m, c.handle)
			options := quick(t, stream.Leases(leases), stream.Group("search"))
			if values {
				options = append(options, stream.KeepValues())
			}
			w := kit.Must(stream.NewConsumer(client, streamClient(t), table, router, options...))(t)
			all, stop := context.WithCancel(ctx)
			var workers sync.WaitGroup
			defer workers.Wait()
			defer stop()
			workers.Go(func() { _ = w.Run(all) })
			for _, id := range []string{"poison", "panic", "fine"} {
				e := m.New(kit.Account{ID: id})
				for range 3 {
					e.Value.Counter++
					kit.Must(m.Save(ctx, e))(t)
				}
			}
			until(t, "the others", func() bool { return c.handled() == 7 })
			letters := kit.Must(stream.Letters(ctx, client, leases, table, "search"))(t)
			if len(letters) != 2 || letters[0].Attempts != 3 || (letters[0].New != nil) != values ||
				letters[0].Keys == nil {
				t.Errorf("letters: %+v", letters)
			}
			if got := w.Stats(); got.DeadLetters != 2 || got.Shards != 1 || got.Handled != 9 {
				t.Errorf("%+v", got)
			}
			c.mu.Lock()
			healed = true
			c.mu.Unlock()
			if err := stream.Drive(ctx, client, leases, table, "search"); err != nil {
				t.Fatal(err)
			}
			until(t, "the letters", func() bool { return c.handled() == 9 })
			until(t, "no letters", func() bool {
				return len(kit.Must(stream.Letters(ctx, client, leases, table, "search"))(t)) == 0
			})
		})
	}
}

// A read model that a snapshot begins, with writers and workers that die, is equal to the table at the end.
func TestSnapshotMakesReadModels(t *testing.T) {
	t.Parallel()
	for n := range draws.Times(2, 20, 200) {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			ctx, table, leases := context.Background(), streamed(t), testengine.Table(t, "PK:S", "SK:S")
			client := testengine.Start(t).Client()
			m := kit.Must(mapper.New[kit.Account](client, mapper.Table(table)))(t)
			r := rand.New(rand.NewPCG(draws.Seed(t), uint64(n)))
			stored := map[string]*mapper.Entity[kit.Account]{}
			write := func(n int) {
				for range n {
					id := strconv.Itoa(r.IntN(30))
					e := stored[id]
					switch {
					case e == nil:
						e = m.New(kit.Account{ID: id, Counter: 1})
						stored[id] = e
						kit.Must(m.Save(ctx, e))(t)
					case r.IntN(3) == 0:
						kit.Must(m.Delete(ctx, e))(t)
						delete(stored, id)
					default:
						e.Value.Counter++
						kit.Must(m.Save(ctx, e))(t)
					}
				}
			}
			write(60)
			var mu sync.Mutex
			view := map[string]int{}
			router := stream.NewRouter()
			stream.On(router, m, func(_ context.Context, c *stream.Change[kit.Account]) error {
				mu.Lock()
				defer mu.Unlock()
				switch {
				case !c.Root:
				case c.EntityEvent == stream.Deleted:
					delete(view, c.Old.ID)
				default:
					view[c.New.ID] = c.New.Counter
				}
				return nil
			})
			var workers sync.WaitGroup
			all, stop := context.WithCancel(ctx)
			defer workers.Wait()
			defer stop()
			begin := func(ctx context.Context) {
				w := kit.Must(stream.NewConsumer(client, streamClient(t), table, router,
					quick(t, stream.Leases(leases), stream.WithSnapshot())...))(t)
				workers.Go(func() { _ = w.Run(ctx) })
			}
			begin(all)
			short, leave := context.WithCancel(all)
			begin(short)
			write(30)
			leave()
			write(30)
			want := map[string]int{}
			for id, e := range stored {
				want[id] = e.Value.Counter
			}
			equal := func() bool {
				mu.Lock()
				defer mu.Unlock()
				return cmp.Equal(want, view)
			}
			until(t, "the read model", equal)
			time.Sleep(50 * time.Millisecond)
			if !equal() {
				t.Errorf("the read model has changed: %s", cmp.Diff(want, view))
			}
		})
	}
}
