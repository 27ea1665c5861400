package extern

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"time"
)

// crockford is the base 32 of ULIDs.
var crockford = base32.NewEncoding("0123456789ABCDEFGHJKMNPQRSTVWXYZ").WithPadding(base32.NoPadding)

// idLen is how many signs an id has.
const idLen = 26

// madeAt returns when an id was made, by the clock of who made it.
func madeAt(id string) time.Time {
	b, err := crockford.DecodeString("000000" + id) // 30 bits of zeros, two of which lead the id
	if err != nil || len(b) < 10 {
		return time.Time{}
	}
	return time.UnixMilli(int64(binary.BigEndian.Uint64(b[2:10]) & (1<<48 - 1)))
}

// NewID returns a ULID: 48 bits of the time in milliseconds and 80 random bits in 26 characters
// (github.com/ulid/spec). Each is unique, and ids sort by the time at which they were created.
func NewID(now time.Time) string {
	// 26 signs hold 130 bits: two zero bits lead.
	var b [17]byte
	binary.BigEndian.PutUint64(b[:8], uint64(now.UnixMilli())<<16)
	_, _ = rand.Read(b[6:16]) // never fails
	var shifted [17]byte
	for i := range b {
		shifted[i] = b[i] >> 2
		if i > 0 {
			shifted[i] |= b[i-1] << 6
		}
	}
	return crockford.EncodeToString(shifted[:])[:idLen]
}
