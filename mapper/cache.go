package mapper

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/read/search"
	"github.com/itemize/itemize/internal/read/selection"
	"github.com/itemize/itemize/query"
)

// CacheStore stores values in memory, and drops some when it is full. Module
// github.com/itemize/itemize/contrib/cache has one that is limited by bytes.
type CacheStore interface {
	// Get returns a stored value.
	Get(key string) (value any, ok bool)
	// Set stores a value of so many bytes, for at most ttl. The store may drop it at any time.
	Set(key string, value any, bytes int, ttl time.Duration)
}

// Cache answers loads of whole entities, prefixes and single items from memory. Mappers that share a
// table must share the cache: a write of one of them is visible to all at once, also during a slow
// read.
//
// It answers Load and LoadMany without Strong. It never returns data that this process has overwritten,
// and no data older than its time to live, which is the longest delay until writes of other processes
// are visible. Updates, queries, scans, deletes and transactions read the table. A save of a cached
// entity has the same conditions as any save. If several loads of one selection miss at the same time,
// one of them reads.
//
// For ten seconds after a write of this process, the partition key is read strongly consistent, at the
// double price, and cached no longer than that. The reasons: a replica may be behind, and a write
// without an answer may arrive late. A transaction of RawPart items alone does not invalidate the
// cache.
type Cache struct {
	cache *search.Cache
	err   error
	// mappers counts the mappers. Mappers do not share cached values, because their tables can differ.
	mappers atomic.Int64
	id      string // the prefix of this cache in the store
}

// NewCache returns a cache that keeps its values in store for ttl. New refuses a mapper whose cache has
// no store.
func NewCache(store CacheStore, ttl time.Duration) *Cache {
	c := &Cache{id: rand.Text()}
	switch {
	case store == nil:
		c.err = fmt.Errorf("the cache has no store: pass NewCache that of github.com/itemize/itemize/contrib/cache")
	case ttl <= 0:
		c.err = fmt.Errorf("the cache's time to live is %v: pass NewCache a time of 0 or more, after which it "+
			"reads other programs' writes",
			ttl)
	}
	c.cache = search.NewCache(store, ttl)
	return c
}

// CacheStats counts loads: Hits were answered from memory, Misses by a read, and Joined by the read of
// another load. SavedRCU are the RCU that Hits and Joined saved.
type CacheStats struct {
	Hits, Misses, Joined int64
	SavedRCU             float64
}

// Stats returns the statistics so far.
func (c *Cache) Stats() CacheStats { return CacheStats(c.cache.Stats()) }

// Caching lets the mapper answer loads from a cache. Without it every load reads the table.
func Caching(c *Cache) Option { return optionFunc(func(s *settings) { s.cache = c }) }

// caches sets the cache of the engine and registers its tables.
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

// partitionOf names a partition key in all tables of the model.
func partitionOf(pk key.Scalar) string { return string(pk.Type) + pk.Text }

// caching reports whether the cache may answer a load. It does not answer loads of entities that can be
// on several shards.
func (g *engine) caching(sel selection.Selection, strong bool) bool {
	by := g.model.Schema.Shards
	changes := by != nil && !by.Random() && len(by.Counts) > 1
	return g.cache != nil && !strong && !changes && len(sel.Elsewhere) == 0 && len(sel.Parts) > 0 &&
		!slices.ContainsFunc(sel.Parts, func(p selection.Part) bool {
			return p.In != nil || p.Partition != sel.Parts[0].Partition
		})
}

// cached returns the name of a selection in the cache.
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

// loadCached loads through the cache.
func (g *engine) loadCached(ctx context.Context, sel selection.Selection, v any, t *draft) (*state, error) {
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

// keep turns a found entity into a value of the cache. Missing entities are not cached.
func (g *engine) keep(f *search.Found) search.CacheValue {
	if f == nil || f.Reading == nil {
		return search.CacheValue{}
	}
	bytes := f.Bytes()
	return search.CacheValue{
		Of: f.Clone(), Bytes: bytes + overhead*(1+len(f.Items)), RCU: cost.ReadUnits(bytes) / 2,
		Keep: g.search.There(f),
	}
}

// overhead is a rough estimate of the memory that an item needs in addition to its bytes.
const overhead = 512

// findMany finds the selections that are not in the cache.
func (g *engine) findMany(ctx context.Context, sels []selection.Selection, o read.Options, t *draft) ([]*search.Found,
	error,
) {
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
			m.keep[n](g.keep(f)) // a copy, because decoding uses up the original
			found[m.at[n]] = f
		}
	}
	return found, nil
}

// someMissing has the selections that are not in the cache, their indexes, and the functions that store
// the results.
type someMissing struct {
	sels []selection.Selection
	at   []int
	keep []func(search.CacheValue)
}

func (m *someMissing) add(at int, sel selection.Selection, keep func(search.CacheValue)) {
	m.sels, m.at, m.keep = append(m.sels, sel), append(m.at, at), append(m.keep, keep)
}

// Forget removes the cached values with the partition key of a selection's entity, as a write of this
// process does: for ten seconds the key is read strongly consistent. It is for changes by other
// processes that this one is told of, such as by a change stream. Without a cache it does nothing.
func (m *Mapper[T]) Forget(s query.Selection[T]) error {
	sel := m.resolved(s)
	if sel.Err != nil {
		return m.get().public(sel.Err)
	}
	e, err := search.EntityOf(m.get().model, sel)
	if err != nil {
		return m.get().public(err)
	}
	e.Root.Touch()
	return nil
}
