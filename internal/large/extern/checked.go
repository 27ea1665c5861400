package extern

import (
	"errors"
	"hash/crc32"
	"io"
	"sync"
)

// checked is a body that is read again at any position: each block must be the same as in the first
// read.
type checked struct {
	from io.ReaderAt
	// sums are those of the blocks, and size is how many bytes there are.
	sums []uint32
	size int64

	mu   sync.Mutex
	last int64 // the number of the block that is in block, from 1
	now  []byte
}

// blockSize is how much is checked by one sum, in bytes.
const blockSize = 256 << 10

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Write records the content of the first read.
func (c *checked) Write(b []byte) (int, error) {
	for rest := b; len(rest) > 0; {
		n := min(len(rest), blockSize-len(c.now))
		c.now = append(c.now, rest[:n]...)
		rest = rest[n:]
		if len(c.now) == blockSize {
			c.end()
		}
	}
	return len(b), nil
}

// end notes the last block.
func (c *checked) end() {
	if len(c.now) > 0 {
		c.sums = append(c.sums, crc32.Checksum(c.now, castagnoli))
		c.size += int64(len(c.now))
		c.now = c.now[:0]
	}
}

// ErrOther says that a reader gives other than it did.
var ErrOther = errors.New("the bytes of the reader changed during the save: pass a reader whose bytes stay the same")

// ReadAt reads again.
func (c *checked) ReadAt(b []byte, off int64) (n int, err error) {
	for n < len(b) {
		at := off + int64(n)
		if at >= c.size {
			return n, io.EOF
		}
		i, skip := at/blockSize, int(at%blockSize)
		size := int(min(blockSize, c.size-i*blockSize))
		if skip == 0 && len(b)-n >= size { // a whole one, as parts are
			if err := c.block(i, b[n:n+size]); err != nil {
				return n, err
			}
			n += size
			continue
		}
		m, err := c.some(b[n:], i, skip, size)
		if n += m; err != nil {
			return n, err
		}
	}
	return n, nil
}

// some reads from within a block, which is kept for the next.
func (c *checked) some(b []byte, i int64, skip, size int) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last != i+1 {
		if cap(c.now) < size {
			c.now = make([]byte, blockSize)
		}
		c.now, c.last = c.now[:size], 0
		if err := c.block(i, c.now); err != nil {
			return 0, err
		}
		c.last = i + 1
	}
	return copy(b, c.now[skip:]), nil
}

// block reads a whole block.
func (c *checked) block(i int64, b []byte) error {
	if n, err := c.from.ReadAt(b, i*blockSize); n < len(b) {
		if err == nil || errors.Is(err, io.EOF) {
			return ErrOther
		}
		return err
	}
	if crc32.Checksum(b, castagnoli) != c.sums[i] {
		return ErrOther
	}
	return nil
}
