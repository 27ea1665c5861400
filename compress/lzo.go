package compress

// LZO1X-1, and the files of lzop, which hold blocks of it.
//
// There is no Go library that writes LZO. The format of the blocks is described in Linux's
// Documentation/staging/rst, that of the files by lzop 1.04, which the tests read and are read by.

import "encoding/binary"

// Distances that the instructions reach back: M2 of 2 bytes, M3 of 3, M4 of 3 and further.
const (
	reachM2 = 0x0800
	reachM3 = 0x4000
	reachM4 = 0xbfff
)

// lzoMarker begins an instruction of three bytes, with the longest match that its first byte can hold.
type lzoMarker struct {
	bits    byte
	longest int
}

var (
	m3 = lzoMarker{0x20, 33}
	m4 = lzoMarker{0x10, 9}
)

const (
	hashBits = 14
	leastRun = 4 // matches that are found; shorter ones are not looked for
	// tail are the last bytes of the input, in which no match begins.
	tail = 8
)

// lzoMaxSize is the most that a block of n bytes takes.
func lzoMaxSize(n int) int { return n + n/16 + 64 + 3 }

// lzoCompress appends the block that src makes to dst.
func lzoCompress(dst, src []byte) []byte {
	c := lzoCompressor{out: dst, src: src, begin: len(dst)}
	var seen [1 << hashBits]int32 // where a run was seen last, and 1
	at, begin := 0, 0             // of the literals that are not written yet
	for at+tail < len(src) {
		run := binary.LittleEndian.Uint32(src[at:])
		h := (run * 2654435761) >> (32 - hashBits)
		before := int(seen[h]) - 1
		seen[h] = int32(at) + 1
		if before < 0 || at-before > reachM4 || at-before == reachM3 ||
			binary.LittleEndian.Uint32(src[before:]) != run {
			at += 1 + (at-begin)>>5 // what does not compress is passed over faster
			continue
		}
		n := leastRun
		for at+n < len(src) && src[before+n] == src[at+n] {
			n++
		}
		c.literals(src[begin:at])
		c.match(at-before, n)
		at += n
		begin = at
	}
	c.literals(src[begin:])
	return append(c.out, m4.bits|1, 0, 0) // a match at distance 0x4000, which is the end
}

// lzoCompressor is one block that is being written.
type lzoCompressor struct {
	out, src []byte
	begin    int // of the block in out
}

// literals writes bytes as they are. Up to three of them hide in the instruction before.
func (c *lzoCompressor) literals(b []byte) {
	first := len(c.out) == c.begin
	switch n := len(b); {
	case n == 0:
		return
	case first && n <= 238:
		c.out = append(c.out, byte(n+17))
	case n <= 3:
		c.out[len(c.out)-2] |= byte(n)
	case n <= 18:
		c.out = append(c.out, byte(n-3))
	default:
		c.out = append(c.out, 0)
		c.rest(n - 18)
	}
	c.out = append(c.out, b...)
}

// rest writes what of a length the first byte does not hold: 255 for each zero, and at least 1.
func (c *lzoCompressor) rest(n int) {
	for ; n > 255; n -= 255 {
		c.out = append(c.out, 0)
	}
	c.out = append(c.out, byte(n))
}

// match writes that n bytes are those that lie so far back.
func (c *lzoCompressor) match(back, n int) {
	switch {
	case n <= 8 && back <= reachM2:
		c.out = append(c.out, byte((n-1)<<5|(back-1)&7<<2), byte((back-1)>>3))
	case back <= reachM3:
		c.far(m3, 0, n, back-1)
	default:
		c.far(m4, byte((back-reachM3)>>11&8), n, (back-reachM3)&0x3fff)
	}
}

func (c *lzoCompressor) far(m lzoMarker, high byte, n, back int) {
	if n <= m.longest {
		c.out = append(c.out, m.bits|high|byte(n-2))
	} else {
		c.out = append(c.out, m.bits|high)
		c.rest(n - m.longest)
	}
	c.out = binary.LittleEndian.AppendUint16(c.out, uint16(back<<2))
}
