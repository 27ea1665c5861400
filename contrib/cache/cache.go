// Package cache stores loaded entities in memory, limited by bytes. It is the store of a mapper.Cache,
// and uses otter (github.com/maypok86/otter), which keeps frequently used entries.
//
//	c := mapper.NewCache(cache.New(64<<20), time.Minute)
//	users, err := mapper.New[store.User](client, mapper.Caching(c))
//
// It is a separate module, so programs without it do not depend on otter.
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

// New returns a store of this many bytes, by the sizes that the mapper estimates. It panics if the size
// is not positive.
func New(bytes int) *Store {
	if bytes <= 0 {
		panic(fmt.Sprintf("cache.New(%d): pass the number of bytes that it may keep", bytes))
	}
	return &Store{otter.Must(&otter.Options[string, value]{
		MaximumWeight: uint64(bytes),
		Weigher: func(key string, v value) uint32 {
			return uint32(min(uint64(v.bytes)+uint64(len(key)), math.MaxUint32))
		},
	})}
}

// Get returns a stored value.
func (s *Store) Get(key string) (any, bool) {
	v, ok := s.values.GetIfPresent(key)
	return v.any, ok
}

// Set stores a value until others need its space. The mapper itself checks the age of values.
func (s *Store) Set(key string, v any, bytes int, _ time.Duration) {
	s.values.Set(key, value{v, uint32(min(max(bytes, 0), math.MaxUint32))})
}

// Bytes returns the size of the stored values, as the mapper estimates it.
func (s *Store) Bytes() int { return int(s.values.WeightedSize()) }
