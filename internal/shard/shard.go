// Package shard places what a model writes on the shards of its partition keys: by a hash that is
// fixed for ever, since what is stored was placed by it.
package shard

import "math/rand/v2"

// The parameters of FNV-1a with 64 bits (draft-eastlake-fnv), and those of the finalizer of
// MurmurHash3 (fmix64), which spreads what similar texts leave alike over all bits.
const (
	offset = 14695981039346656037
	prime  = 1099511628211

	mix1 = 0xff51afd7ed558ccd
	mix2 = 0xc4ceb9fe1a85ec53
)

// hash is FNV-1a of a text, finalized.
func hash(text []byte) uint64 {
	h := uint64(offset)
	for _, c := range text {
		h ^= uint64(c)
		h *= prime
	}
	h ^= h >> 33
	h *= mix1
	h ^= h >> 33
	h *= mix2
	return h ^ h>>33
}

// Of returns the shard, from 1 to n, of a value by the text that keys hold of it. Half of what lies
// on one of n shards lies on the same of 2n.
func Of(text []byte, n int) int { return int(hash(text)%uint64(n)) + 1 }

// Draw returns any shard, from 1 to n.
func Draw(n int) int { return rand.IntN(n) + 1 }
