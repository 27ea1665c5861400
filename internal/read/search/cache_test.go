package search

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

// all keeps everything.
type all struct{ sync.Map }

func (s *all) Get(key string) (any, bool)                          { return s.Load(key) }
func (s *all) Set(key string, v any, bytes int, ttl time.Duration) { s.Store(key, v) }

func value(v any) func(context.Context, bool) (CacheValue, error) {
	return func(context.Context, bool) (CacheValue, error) { return CacheValue{Of: v, RCU: 0.5, Keep: true}, nil }
}

// A value is given again in its generation, until its time is over; the clock counts from when its
// reading began.
func TestGet(t *testing.T) {
	ctx := context.Background()
	now := time.Unix(0, 0)
	c := NewCache(&all{}, time.Minute)
	c.Now = func() time.Time { return now }
	get := func(read any) any {
		t.Helper()
		v, err := c.Get(ctx, "p", "k", value(read))
		if err != nil {
			t.Fatal(err)
		}
		return v.Of
	}
	slow := func(ctx context.Context, _ bool) (CacheValue, error) {
		now = now.Add(30 * time.Second)
		return value(1)(ctx, false)
	}
	if _, err := c.Get(ctx, "p", "k", slow); err != nil {
		t.Fatal(err)
	}
	now = now.Add(29 * time.Second)
	if got := get(2); got != 1 {
		t.Errorf("within its time: %v", got)
	}
	now = now.Add(time.Second)
	if got := get(3); got != 3 {
		t.Errorf("a minute after its reading began: %v", got)
	}
	c.Touch("p")
	if got := get(4); got != 4 {
		t.Errorf("after a write: %v", got)
	}
	c.Touch("another")
	if got := get(5); got != 4 {
		t.Errorf("after a write of another: %v", got)
	}
	if s := c.Stats(); s != (CacheStats{Hits: 2, Misses: 3, SavedRCU: 1}) {
		t.Errorf("%+v", s)
	}
	failed := errors.New("no")
	if _, err := c.Get(ctx, "p", "x",
		func(context.Context, bool) (CacheValue, error) { return CacheValue{}, failed }); !errors.Is(err, failed) {
		t.Error(err)
	}
	if _, ok := c.Look("p", "x"); ok {
		t.Error("an error is kept")
	}
}

// A value that was read before a write, or while it was sent, is not kept.
func TestTouchWhileReading(t *testing.T) {
	ctx := context.Background()
	now := time.Unix(1, 0)
	c := NewCache(&all{}, time.Minute)
	c.Now = func() time.Time { return now }
	if _, err := c.Get(ctx, "p", "k", func(ctx context.Context, _ bool) (CacheValue, error) {
		c.Touch("p")
		return value("old")(ctx, false)
	}); err != nil {
		t.Fatal(err)
	}
	if v, ok := c.Look("p", "k"); ok {
		t.Errorf("kept %v", v)
	}
	_, keep := c.Begin("p", "k")
	c.Touch("p")
	keep(CacheValue{Of: "old", Keep: true})
	if v, ok := c.Look("p", "k"); ok {
		t.Errorf("kept %v", v)
	}
	strong, keep := c.Begin("p", "k") // a replica may be behind
	if keep(CacheValue{Of: "of now", Keep: true}); !strong {
		t.Error("read weakly behind a write")
	}
	if v, ok := c.Look("p", "k"); !ok || v.Of != "of now" {
		t.Errorf("%v %v", v, ok)
	}
	now = now.Add(settles)
	if v, ok := c.Look("p", "k"); ok { // the write may have come late
		t.Errorf("kept %v", v)
	}
	strong, keep = c.Begin("p", "k")
	if keep(CacheValue{Of: "new", Keep: true}); strong {
		t.Error("read strongly though all is settled")
	}
	if v, ok := c.Look("p", "k"); !ok || v.Of != "new" {
		t.Errorf("%v %v", v, ok)
	}
	_, keep = c.Begin("p", "absent")
	keep(CacheValue{Of: "x"})
	if _, ok := c.Look("p", "absent"); ok {
		t.Error("kept what was not to be")
	}
}

// Shortly after a write, reads are strongly consistent, and their values are returned only for that
// time: a copy of the write whose answer was lost may still be applied.
func TestSettles(t *testing.T) {
	ctx := context.Background()
	now := time.Unix(1, 0)
	c := NewCache(&all{}, time.Hour)
	c.Now = func() time.Time { return now }
	reads := ""
	get := func() {
		t.Helper()
		if _, err := c.Get(ctx, "p", "k", func(_ context.Context, strong bool) (CacheValue, error) {
			reads += map[bool]string{true: "s", false: "e"}[strong]
			return CacheValue{Keep: true}, nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	c.Touch("p")
	get()
	get()
	now = now.Add(settles - 1)
	get()
	now = now.Add(1)
	get()
	now = now.Add(time.Minute)
	get()
	if reads != "se" {
		t.Errorf("read %q", reads)
	}
}

// If the context of a shared read ends, the other callers read by themselves. A caller whose own
// context ends gets that context's error.
func TestJoin(t *testing.T) {
	c := NewCache(&all{}, time.Minute)
	begun, first := make(chan struct{}), make(chan error)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, err := c.Get(ctx, "p", "k", func(ctx context.Context, _ bool) (CacheValue, error) {
			close(begun)
			<-ctx.Done()
			return CacheValue{}, ctx.Err()
		})
		first <- err
	}()
	<-begun
	short, end := context.WithCancel(context.Background())
	end()
	if _, err := c.Get(short, "p", "k", value(1)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	second := make(chan any)
	go func() {
		v, _ := c.Get(context.Background(), "p", "k", value(2))
		second <- v.Of
	}()
	time.Sleep(10 * time.Millisecond)
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if got := <-second; got != 2 {
		t.Errorf("%v", got)
	}
}
