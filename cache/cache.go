// Package cache keeps what a mapper has loaded in memory, bounded by bytes: the store of a
// mapper.Cache, by way of otter (github.com/maypok86/otter), which keeps what is asked for often.
//
//	c := mapper.NewCache(cache.New(64<<20), time.Minute)
//	users, err := mapper.New[store.User](client, mapper.Caching(c))
//
// It is a module of its own, so that who does without it does not fetch otter.
package cache

import (
	"fmt"
	"math"
	"time"

	"github.com/maypok86/otter/v2"
)

// Store is a mapper.CacheStore.
type Store struct {
	values *otter.Cache[string, value]
}

type value struct {
	any
	bytes uint32
}

// New returns a store of so many bytes, as the mapper reckons the sizes of values; it panics where that
// is none.
func New(bytes int) *Store {
	if bytes <= 0 {
		panic(fmt.Sprintf("cache.New(%d): give it how many bytes it may keep", bytes))
	}
	return &Store{otter.Must(&otter.Options[string, value]{
		MaximumWeight: uint64(bytes),
		Weigher: func(key string, v value) uint32 {
			return uint32(min(uint64(v.bytes)+uint64(len(key)), math.MaxUint32))
		},
	})}
}

// Get returns a value that was kept.
func (s *Store) Get(key string) (any, bool) {
	v, ok := s.values.GetIfPresent(key)
	return v.any, ok
}

// Set keeps a value, until it makes room for others. That it is too old the mapper knows by itself.
func (s *Store) Set(key string, v any, bytes int, _ time.Duration) {
	s.values.Set(key, value{v, uint32(min(max(bytes, 0), math.MaxUint32))})
}

// Bytes returns what is kept, as the mapper reckons it.
func (s *Store) Bytes() int { return int(s.values.WeightedSize()) }
