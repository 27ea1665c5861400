package mapper

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/key"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/search"
	"github.com/itemize/itemize/internal/selection"
)

// CacheStore keeps values in memory, and forgets some when it is full: the module
// github.com/itemize/itemize/cache has one that is bounded by bytes.
type CacheStore interface {
	// Get returns a value that was kept.
	Get(key string) (value any, ok bool)
	// Set keeps a value, which takes so many bytes, for so long at most. It may forget it at any time.
	Set(key string, value any, bytes int, ttl time.Duration)
}

// Cache keeps what mappers have loaded, for loads of the same selections: whole entities, prefixes,
// single items. One cache may serve several mappers, and has to where they share a table: a write by
// any of them is seen at once by all, also where a slow read was under way.
//
// What is read shortly after a write of this process is read strongly, at the double price, and kept for
// ten seconds after the write at most: a replica may be behind, and a write whose answer was lost may come
// late. A transaction of RawPart items alone is not seen.
//
// A Load, or a LoadMany, that is not Strong is answered from it: never with what this process has
// overwritten, and never with what was read longer ago than its time to live, which is how late the
// writes of others may be seen. Updates read the table, and so do queries, scans, deletes and
// transactions. A save of an entity that was loaded from the cache is conditional on what was loaded, as
// ever. Loads of one selection that miss at the same time make one read.
type Cache struct {
	cache *search.Cache
	err   error
	// mappers is how many it serves: what one has loaded is not given to another, which has tables of
	// its own.
	mappers atomic.Int64
	id      string // tells it from others in the same store
}

// NewCache returns a cache that keeps its values in a store, each for a time to live. New refuses a
// mapper with a cache that has none.
func NewCache(store CacheStore, ttl time.Duration) *Cache {
	c := &Cache{id: rand.Text()}
	switch {
	case store == nil:
		c.err = fmt.Errorf("the cache has no store: give NewCache one, such as that of " +
			"github.com/itemize/itemize/cache")
	case ttl <= 0:
		c.err = fmt.Errorf("the cache's time to live is %v: give NewCache how late the writes of others may be seen",
			ttl)
	}
	c.cache = search.NewCache(store, ttl)
	return c
}

// CacheStats are what a cache has done: Hits were answered from memory, Misses by reading the table,
// and Joined by a read that another load had begun; SavedRCU are the units that hits and joined
// reads would have taken.
type CacheStats struct {
	Hits, Misses, Joined int64
	SavedRCU             float64
}

// Stats returns what the cache has done so far.
func (c *Cache) Stats() CacheStats { return CacheStats(c.cache.Stats()) }

// Caching has a mapper answer loads from a cache. Without it every load reads the table.
func Caching(c *Cache) Option { return optionFunc(func(s *settings) { s.cache = c }) }

// caches sets the engine's cache, which watches its tables.
func (g *engine) caches(c *Cache) error {
	switch {
	case c == nil:
		return nil
	case c.cache == nil:
		return g.model.Errorf("the cache is empty: make it with NewCache")
	case c.err != nil:
		return g.model.Errorf("%w", c.err)
	}
	g.cache, g.cacheName = c, fmt.Sprint(c.id, c.mappers.Add(1), "\x00")
	for _, t := range g.model.Tables {
		t.Watch = func(pk key.Scalar) { c.cache.Touch(partitionOf(pk)) }
	}
	return nil
}

// partitionOf names a partition key, whatever the table: an entity lies under it in all of its tables.
func partitionOf(pk key.Scalar) string { return string(pk.Type) + pk.Text }

// caching reports whether a load is answered from the cache: not where it may lie on several shards.
func (g *engine) caching(sel selection.Selection, strong bool) bool {
	by := g.model.Schema.Shards
	changes := by != nil && !by.Random() && len(by.Counts) > 1
	return g.cache != nil && !strong && !changes && len(sel.Elsewhere) == 0 && len(sel.Parts) > 0 &&
		!slices.ContainsFunc(sel.Parts, func(p selection.Part) bool {
			return p.In != nil || p.Partition != sel.Parts[0].Partition
		})
}

// cached names a selection in the cache.
func (g *engine) cached(sel selection.Selection) (partition, name string) {
	partition = partitionOf(sel.Parts[0].PK)
	name = g.cacheName + partition
	for _, v := range sel.Identity {
		name += "\x00" + v.String()
	}
	name += fmt.Sprintf("\x00%v", sel.Whole)
	for _, p := range sel.Parts {
		name += fmt.Sprintf("\x00%s %d %q %q", g.model.TableOf(p).Name, p.Range.Kind, p.Range.Low.Text,
			p.Range.High.Text)
	}
	return partition, name
}

// loadCached is load through the cache.
func (g *engine) loadCached(ctx context.Context, sel selection.Selection, v any, t *tally) (*state, error) {
	partition, name := g.cached(sel)
	found, err := g.cache.cache.Get(ctx, partition, name,
		func(ctx context.Context, strong bool) (search.CacheValue, error) {
			f, err := g.search.Find(ctx, g.search.Protocol, sel, read.Options{Strong: strong}, &t.Tally.Tally)
			return g.keep(f), err
		})
	if err != nil {
		return nil, err
	}
	return g.decodeFound(ctx, g.search.ReadAgainOf(found.Of.(*search.Found)), v, t)
}

// keep makes what was found a value of the cache: it is kept where the entity is there.
func (g *engine) keep(f *search.Found) search.CacheValue {
	if f == nil || f.Reading == nil {
		return search.CacheValue{}
	}
	bytes := f.Bytes()
	return search.CacheValue{Of: f.Clone(), Bytes: bytes + overhead*(1+len(f.Items)), RCU: cost.ReadUnits(bytes) / 2,
		Keep: g.search.There(f)}
}

// overhead is what an item takes in memory beside its bytes, reckoned roughly.
const overhead = 512

// findMany is FindMany of what is not in the cache.
func (g *engine) findMany(ctx context.Context, sels []selection.Selection, o read.Options, t *tally) ([]*search.Found,
	error) {
	if g.cache == nil || o.Strong {
		return g.search.FindMany(ctx, sels, o, &t.Tally.Tally)
	}
	found := make([]*search.Found, len(sels))
	var weak, strong someMissing
	for i, sel := range sels {
		if !g.caching(sel, false) {
			weak.add(i, sel, func(search.CacheValue) {})
			continue
		}
		partition, name := g.cached(sel)
		if v, ok := g.cache.cache.Look(partition, name); ok {
			found[i] = g.search.ReadAgainOf(v.Of.(*search.Found))
			continue
		}
		unsettled, keep := g.cache.cache.Begin(partition, name)
		if unsettled {
			strong.add(i, sel, keep)
		} else {
			weak.add(i, sel, keep)
		}
	}
	for _, m := range []struct {
		*someMissing
		o read.Options
	}{{&weak, o}, {&strong, read.Options{Strong: true}}} {
		if len(m.sels) == 0 {
			continue
		}
		all, err := g.search.FindMany(ctx, m.sels, m.o, &t.Tally.Tally)
		if err != nil {
			return nil, err
		}
		for n, f := range all {
			m.keep[n](g.keep(f)) // a copy: what is found is used up
			found[m.at[n]] = f
		}
	}
	return found, nil
}

// someMissing are selections that are not in the cache, with where they stand among others, and what
// keeps what is found.
type someMissing struct {
	sels []selection.Selection
	at   []int
	keep []func(search.CacheValue)
}

func (m *someMissing) add(at int, sel selection.Selection, keep func(search.CacheValue)) {
	m.sels, m.at, m.keep = append(m.sels, sel), append(m.at, at), append(m.keep, keep)
}
