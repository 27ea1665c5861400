package key

import "math/rand/v2"

// The parameters of FNV-1a with 64 bits (draft-eastlake-fnv), and those of the finalizer of
// MurmurHash3 (fmix64), which spreads what similar texts leave alike over all bits.
const (
	offset = 14695981039346656037
	prime  = 1099511628211

	mix1 = 0xff51afd7ed558ccd
	mix2 = 0xc4ceb9fe1a85ec53
)

// hashOf is FNV-1a of a text, finalized.
func hashOf(text []byte) uint64 {
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

// HashShard returns the shard of a value, from 1 to n, by the text that keys hold of it. The hash never
// changes, because stored items were placed by it. Half of the items of one of n shards are on the same
// one of 2n.
func HashShard(text []byte, n int) int { return int(hashOf(text)%uint64(n)) + 1 }

// RandomShard returns any shard, from 1 to n.
func RandomShard(n int) int { return rand.IntN(n) + 1 }
