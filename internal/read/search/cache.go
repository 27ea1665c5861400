package search

import (
	"context"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"
)

// CacheStore keeps values in memory, as many as it has room for.
type CacheStore interface {
	// Get returns a value that was kept.
	Get(key string) (value any, ok bool)
	// Set keeps a value of so many bytes, for so long at most. It may forget it at any time.
	Set(key string, value any, bytes int, ttl time.Duration)
}

// stripes is over how many counters the generations of partition keys are spread: two that share one
// forget each other's values, and lose no more than that.
const stripes = 1 << 14

// Cache is a store whose values are never older than what this process has written.
type Cache struct {
	store CacheStore
	ttl   time.Duration
	seed  maphash.Seed
	// Now is the clock.
	Now func() time.Time

	generations [stripes]atomic.Uint64
	// touched are when these began, in nanoseconds.
	touched [stripes]atomic.Int64

	mu      sync.Mutex
	flights map[flightKey]*flight

	hits, misses, joined atomic.Int64
	saved                atomic.Int64 // in thousandths
}

// NewCache returns the cache in a store, whose values live so long.
func NewCache(store CacheStore, ttl time.Duration) *Cache {
	return &Cache{store: store, ttl: ttl, seed: maphash.MakeSeed(), Now: time.Now, flights: map[flightKey]*flight{}}
}

// TTL returns how long values live.
func (c *Cache) TTL() time.Duration { return c.ttl }

// CacheValue holds the items that were read for a partition key.
type CacheValue struct {
	// Of is the value, which never changes.
	Of any
	// Bytes is its size in memory, and RCU the cost of reading it.
	Bytes int
	RCU   float64
	// Keep reports that it may be given again.
	Keep bool
}

// kept is a value with the conditions under which it may be returned.
type kept struct {
	CacheValue
	generation uint64
	read       time.Time
	// until is when it is not given any more though its time is not over, the zero time for none.
	until time.Time
}

// flightKey names a reading that others may wait for: one that began in the same generation.
type flightKey struct {
	key        string
	generation uint64
}

type flight struct {
	done  chan struct{}
	value CacheValue
	err   error
	ended bool // the reader's context ended: the others read by themselves
}

func (c *Cache) stripe(partition string) uint64 {
	return maphash.String(c.seed, partition) % stripes
}

func (c *Cache) generation(partition string) *atomic.Uint64 {
	return &c.generations[c.stripe(partition)]
}

// settles is how long after a write replicas may be behind, or a copy of it whose answer was lost may
// come late.
const settles = 10 * time.Second

// unsettled returns the time until which a read of a partition key may be older than a write, the zero
// time for never.
func (c *Cache) unsettled(partition string, now time.Time) time.Time {
	at := c.touched[c.stripe(partition)].Load()
	if until := time.Unix(0, at).Add(settles); at != 0 && now.Before(until) {
		return until
	}
	return time.Time{}
}

// Touch begins a generation of a partition key. Values that were read before are not returned any more,
// and values that are being read are not kept. It is called before a write is sent, and after its
// answer.
func (c *Cache) Touch(partition string) {
	c.touched[c.stripe(partition)].Store(c.Now().UnixNano())
	c.generation(partition).Add(1)
}

// Get returns a value of a partition key, or reads it: once for all concurrent callers, and strongly
// consistent for a short time after a write.
func (c *Cache) Get(ctx context.Context, partition, key string,
	read func(ctx context.Context, strong bool) (CacheValue, error),
) (CacheValue, error) {
	for {
		generation := c.generation(partition).Load()
		if v, ok := c.look(key, generation); ok {
			return v, nil
		}
		f, own := c.flight(flightKey{key, generation})
		if own {
			c.misses.Add(1)
			return c.fill(ctx, f, partition, flightKey{key, generation}, read)
		}
		select {
		case <-ctx.Done():
			return CacheValue{}, ctx.Err()
		case <-f.done:
		}
		if !f.ended {
			c.joined.Add(1)
			return f.value, f.err
		}
	}
}

// look returns a value that is kept, if it may be given.
func (c *Cache) look(key string, generation uint64) (CacheValue, bool) {
	found, ok := c.store.Get(key)
	if !ok {
		return CacheValue{}, false
	}
	k, ok := found.(*kept)
	now := c.Now()
	if !ok || k.generation != generation || now.Sub(k.read) >= c.ttl || !k.until.IsZero() && !now.Before(k.until) {
		return CacheValue{}, false
	}
	c.hits.Add(1)
	c.saved.Add(int64(k.RCU * 1000))
	return k.CacheValue, true
}

// Look is Get without reading.
func (c *Cache) Look(partition, key string) (CacheValue, bool) {
	return c.look(key, c.generation(partition).Load())
}

// Begin returns the function that keeps values of a partition key that are read after this call. It
// also reports whether they must be read strongly consistent, shortly after a write.
func (c *Cache) Begin(partition, key string) (strong bool, keep func(CacheValue)) {
	g := c.generation(partition)
	k := &kept{generation: g.Load(), read: c.Now()}
	k.until = c.unsettled(partition, k.read)
	return !k.until.IsZero(), func(v CacheValue) {
		c.misses.Add(1)
		if v.Keep && g.Load() == k.generation {
			k.CacheValue = v
			c.store.Set(key, k, v.Bytes, c.ttl)
		}
	}
}

func (c *Cache) flight(k flightKey) (f *flight, own bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f = c.flights[k]; f != nil {
		return f, false
	}
	f = &flight{done: make(chan struct{})}
	c.flights[k] = f
	return f, true
}

// fill reads a value, keeps it, and hands it to those who wait.
func (c *Cache) fill(ctx context.Context, f *flight, partition string, k flightKey,
	read func(context.Context, bool) (CacheValue, error),
) (CacheValue, error) {
	f.ended = true // unless it returns
	begun := c.Now()
	until := c.unsettled(partition, begun)
	defer func() {
		c.mu.Lock()
		delete(c.flights, k)
		c.mu.Unlock()
		close(f.done)
	}()
	f.value, f.err = read(ctx, !until.IsZero())
	f.ended = f.err != nil && ctx.Err() != nil
	if f.err == nil && f.value.Keep && c.generation(partition).Load() == k.generation {
		c.store.Set(k.key, &kept{f.value, k.generation, begun, until}, f.value.Bytes, c.ttl)
	}
	return f.value, f.err
}

// CacheStats counts the hits, misses and joined reads of a cache.
type CacheStats struct {
	// Hits were answered from memory, Misses by reading, and Joined by a reading that another one had
	// begun.
	Hits, Misses, Joined int64
	// SavedRCU are the units that hits and joined readings would have taken.
	SavedRCU float64
}

// Stats returns what the cache has done so far.
func (c *Cache) Stats() CacheStats {
	return CacheStats{c.hits.Load(), c.misses.Load(), c.joined.Load(), float64(c.saved.Load()) / 1000}
}
