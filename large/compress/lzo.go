package compress

// LZO1X-1, and the lzop files that hold its blocks.
//
// No Go library writes LZO. Linux's Documentation/staging/rst describes the blocks, and lzop 1.04 the
// files. The tests compare with lzop in both directions.

import "encoding/binary"

// The largest distances of the instructions: M2 of 2 bytes, M3 of 3, M4 of 3 and further.
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
	leastRun = 4 // shorter matches are not searched
	// no match begins in the last bytes of the input
	tail = 8
)

// lzoMaxSize is the largest size of a block for n bytes of input.
func lzoMaxSize(n int) int { return n + n/16 + 64 + 3 }

// lzoCompress appends the block for src to dst.
func lzoCompress(dst, src []byte) []byte {
	c := lzoCompressor{out: dst, src: src, begin: len(dst)}
	var seen [1 << hashBits]int32 // where a run was last seen, plus 1
	at, begin := 0, 0             // of the literals that are not written yet
	for at+tail < len(src) {
		run := binary.LittleEndian.Uint32(src[at:])
		h := (run * 2654435761) >> (32 - hashBits)
		before := int(seen[h]) - 1
		seen[h] = int32(at) + 1
		if before < 0 || at-before > reachM4 || at-before == reachM3 ||
			binary.LittleEndian.Uint32(src[before:]) != run {
			at += 1 + (at-begin)>>5 // data that does not compress is skipped faster
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
	return append(c.out, m4.bits|1, 0, 0) // a match at distance 0x4000 marks the end
}

// lzoCompressor writes one block.
type lzoCompressor struct {
	out, src []byte
	begin    int // start of the block in out
}

// literals writes bytes unchanged. The instruction before can hold up to three of them.
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

// rest writes the part of a length that does not fit the first byte: 255 for each zero, and at least 1.
func (c *lzoCompressor) rest(n int) {
	for ; n > 255; n -= 255 {
		c.out = append(c.out, 0)
	}
	c.out = append(c.out, byte(n))
}

// match writes that n bytes equal those at a distance.
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
