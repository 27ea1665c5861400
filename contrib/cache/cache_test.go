package cache_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/contrib/cache"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

func TestMain(m *testing.M) { testengine.Run(m) }

type product struct {
	_     struct{} `ddb:"table=products"`
	ID    int      `ddb:"pk=P#{ID:06}"`
	Title string   `ddb:"sk=HEAD"`
	Price int      `ddb:"sk=PRICE"`
	Tags  []string `ddb:"sk=TAG#{.}"`
}

// reads counts requests, and holds those back that a test wants to come late.
type reads struct {
	n    atomic.Int64
	hold atomic.Pointer[chan struct{}]
	held chan struct{}
}

func (r *reads) Do(q *http.Request) (*http.Response, error) {
	resp, err := http.DefaultClient.Do(q)
	op := q.Header.Get("X-Amz-Target")
	if strings.HasSuffix(op, "Query") || strings.HasSuffix(op, "GetItem") {
		r.n.Add(1)
		if hold := r.hold.Load(); hold != nil { // the answer comes late
			r.held <- struct{}{}
			<-*hold
		}
	}
	return resp, err
}

func newProducts(t testing.TB, bytes int, ttl time.Duration) (cached, direct *mapper.Mapper[product], c *mapper.Cache,
	r *reads, store *cache.Store,
) {
	t.Helper()
	r = &reads{held: make(chan struct{}, 100)}
	table := mapper.Table(testengine.Table(t, "PK:S", "SK:S"))
	store = cache.New(bytes)
	c = mapper.NewCache(store, ttl)
	cached, err := mapper.New[product](testengine.Start(t).Client(func(o *dynamodb.Options) { o.HTTPClient = r }),
		table, mapper.Caching(c))
	if err != nil {
		t.Fatal(err)
	}
	direct, err = mapper.New[product](testengine.Start(t).Client(), table)
	if err != nil {
		t.Fatal(err)
	}
	return cached, direct, c, r, store
}

func load(t testing.TB, m *mapper.Mapper[product], id int) *mapper.Entity[product] {
	t.Helper()
	e, err := m.Load(context.Background(), m.Key(id))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func save(t testing.TB, m *mapper.Mapper[product], e *mapper.Entity[product]) {
	t.Helper()
	if _, err := m.Save(context.Background(), e); err != nil {
		t.Fatal(err)
	}
}

// A load is answered from memory until this process writes the entity, or its time is over; what one
// caller changes of it no other one sees.
func TestCache(t *testing.T) {
	ctx := context.Background()
	cached, direct, c, r, _ := newProducts(t, 1<<20, 100*time.Millisecond)
	save(t, cached, cached.New(product{ID: 1, Title: "a", Tags: []string{"x", "y"}}))
	e := load(t, cached, 1)
	e.Value.Tags[0], e.Value.Title = "changed", "b"
	again := load(t, cached, 1)
	if r.n.Load() != 1 || again.Value.Title != "a" || again.Value.Tags[0] != "x" {
		t.Errorf("%d reads, %+v", r.n.Load(), again.Value)
	}
	e.Value.Tags[0] = "x"
	save(t, cached, e)
	if load(t, cached, 1).Value.Title != "b" || r.n.Load() != 2 {
		t.Errorf("after a save: %+v, %d reads", load(t, cached, 1).Value, r.n.Load())
	}
	if _, err := cached.Update(ctx, cached.Key(1), func(p *product) error { p.Price++; return nil }); err != nil {
		t.Fatal(err)
	}
	if load(t, cached, 1).Value.Price != 1 {
		t.Error("after an update")
	}
	n := r.n.Load()
	other := load(t, direct, 1)
	other.Value.Title = "by somebody else"
	save(t, direct, other)
	if v := load(t, cached, 1).Value; v.Title != "b" || r.n.Load() != n {
		t.Errorf("before its time is over: %+v", v)
	}
	if e, err := cached.Load(ctx, cached.Key(1), mapper.Strong()); err != nil || e.Value.Title != "by somebody else" {
		t.Errorf("strongly: %v", err)
	}
	stale := load(t, cached, 1)
	stale.Value.Title = "lost?"
	var conflict *mapper.ConflictError
	if _, err := cached.Save(ctx, stale); !errors.As(err, &conflict) {
		t.Errorf("a save of what is stale: %v", err)
	}
	time.Sleep(110 * time.Millisecond)
	if v := load(t, cached, 1).Value; v.Title != "by somebody else" {
		t.Errorf("after its time: %+v", v)
	}
	if _, err := cached.DeleteByKey(ctx, cached.Key(1)); err != nil {
		t.Fatal(err)
	}
	if _, err := cached.Load(ctx, cached.Key(1)); !errors.Is(err, mapper.ErrNotFound) {
		t.Errorf("after a delete: %v", err)
	}
	save(t, direct, direct.New(product{ID: 1}))
	load(t, cached, 1) // an entity that does not exist is not cached
	if s := c.Stats(); s.Hits == 0 || s.Misses == 0 || s.SavedRCU == 0 {
		t.Errorf("%+v", s)
	}
}

// A read that began before a write and ends behind it is not kept.
func TestSlowRead(t *testing.T) {
	cached, _, _, r, _ := newProducts(t, 1<<20, time.Hour)
	save(t, cached, cached.New(product{ID: 1, Title: "old"}))
	e := load(t, cached, 1)
	e.Value.Title = "newer"
	save(t, cached, e) // forgets it
	hold := make(chan struct{})
	r.hold.Store(&hold)
	var wg sync.WaitGroup
	wg.Go(func() { load(t, cached, 1) })
	<-r.held
	r.hold.Store(nil)
	e.Value.Title = "newest"
	save(t, cached, e)
	if v := load(t, cached, 1).Value; v.Title != "newest" { // nor does it wait for the slow one
		t.Errorf("%+v while a read is under way", v)
	}
	close(hold)
	wg.Wait()
	if v := load(t, cached, 1).Value; v.Title != "newest" {
		t.Errorf("%+v after it", v)
	}
}

// A hundred loads that miss at the same time make one read, and each has a value of its own.
func TestCollapse(t *testing.T) {
	cached, direct, c, r, _ := newProducts(t, 1<<20, time.Hour)
	save(t, direct, direct.New(product{ID: 1, Title: "a", Tags: []string{"x"}}))
	hold := make(chan struct{})
	r.hold.Store(&hold)
	var wg sync.WaitGroup
	wg.Go(func() { load(t, cached, 1) })
	<-r.held
	for range 99 {
		wg.Go(func() {
			e := load(t, cached, 1)
			e.Value.Tags[0] += "!"
			if e.Value.Tags[0] != "x!" {
				t.Errorf("%+v", e.Value)
			}
		})
	}
	time.Sleep(50 * time.Millisecond)
	close(hold)
	wg.Wait()
	if n := r.n.Load(); n != 1 || c.Stats().Misses != 1 {
		t.Errorf("%d reads, %+v", n, c.Stats())
	}
}

// On a workload with Zipf's law most loads are hits. The cache reports the units that they save, and
// the store stays within its limit of bytes.
func TestZipf(t *testing.T) {
	ctx := context.Background()
	cached, direct, c, r, store := newProducts(t, 200_000, time.Hour)
	const keys, loads = 300, 4000
	all := func(yield func(product, error) bool) {
		for i := range keys {
			if !yield(product{ID: i, Title: strings.Repeat("t", 700), Price: i, Tags: []string{"a", "b"}}, nil) {
				return
			}
		}
	}
	if _, err := direct.BulkLoad(ctx, all); err != nil {
		t.Fatal(err)
	}
	zipf := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.2, 1, keys-1)
	for range loads {
		id := int(zipf.Uint64())
		if e := load(t, cached, id); e.Value.Price != id {
			t.Fatalf("%+v", e.Value)
		}
	}
	s := c.Stats()
	t.Logf("%d keys, %d loads: %d hits (%.0f %%), %v RCU saved, %d bytes kept", keys, loads, s.Hits,
		100*float64(s.Hits)/loads, s.SavedRCU, store.Bytes())
	if s.Hits < loads/2 || s.Hits+s.Misses != loads || r.n.Load() != s.Misses || s.SavedRCU < float64(s.Hits)/2 ||
		store.Bytes() > 220_000 {
		t.Errorf("%+v, %d reads, %d bytes", s, r.n.Load(), store.Bytes())
	}
}

// Many concurrent callers of one cache and two mappers, with writers among them. No reader sees a value
// from before a write of this process that was answered.
func TestConcurrent(t *testing.T) {
	ctx := context.Background()
	cached, _, c, _, _ := newProducts(t, 1<<20, time.Hour)
	save(t, cached, cached.New(product{ID: 1}))
	var written atomic.Int64
	stop := make(chan struct{})
	var readers, writers sync.WaitGroup
	for range 8 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				least := written.Load()
				all, err := cached.LoadMany(ctx, []query.Selection[product]{cached.Key(1)})
				if err != nil {
					t.Error(err)
					return
				}
				one, err := cached.Load(ctx, cached.Key(1).Item("PRICE"))
				if least > 0 && err == nil && int64(one.Value.Price) < least || int64(all[0].Value.Price) < least {
					t.Errorf("%d after %d was written", all[0].Value.Price, least)
					return
				}
			}
		})
	}
	writers.Go(func() {
		for range 100 {
			if _, err := cached.Update(ctx, cached.Key(1),
				func(p *product) error { p.Price++; return nil }); err != nil {
				t.Error(err)
				return
			}
			written.Add(1)
		}
	})
	writers.Wait()
	close(stop)
	readers.Wait()
	t.Logf("%+v", c.Stats())
}

// What a cache needs is asked for.
func TestRefused(t *testing.T) {
	for _, c := range []*mapper.Cache{mapper.NewCache(nil, time.Minute), mapper.NewCache(cache.New(1), 0), {}} {
		if _, err := mapper.New[product](testengine.Start(t).Client(), mapper.Caching(c)); err == nil ||
			!strings.Contains(err.Error(), "NewCache") {
			t.Errorf("%v", err)
		}
	}
	defer func() {
		if text := fmt.Sprint(recover()); !strings.Contains(text, "number of bytes") {
			t.Error(text)
		}
	}()
	cache.New(0)
}
