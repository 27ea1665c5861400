package compress

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/adler32"
	"io"

	lzo "github.com/anchore/go-lzo"
	"github.com/itemize/itemize/internal/large/compression"
)

// lzoMagic is the start of each lzop file.
var lzoMagic = []byte(compression.LZOMagic)

const (
	// blockSize is the size of a block, as in lzop. largest is the largest block that is read, in
	// bytes.
	blockSize = 256 << 10
	largest   = 8 << 20
)

// The flags of a file: checksums of blocks before and after compression, and unsupported ones.
const (
	flagPlainAdler  = 0x1
	flagPackedAdler = 0x2
	flagExtra       = 0x40
	flagPlainCRC    = 0x100
	flagPackedCRC   = 0x200
	flagMultipart   = 0x400
	flagFilter      = 0x800
	flagHeaderCRC   = 0x1000
	unsupported     = flagExtra | flagPlainCRC | flagPackedCRC | flagMultipart | flagFilter | flagHeaderCRC
)

// lzoHeader is the header of a file after its magic, as in lzop 1.04, without a name.
type lzoHeader struct {
	Version, Library, Needed uint16
	Method, Level            uint8
	Flags, Mode, Low, High   uint32
	Name                     uint8
}

// lzoWriter writes an lzop file.
type lzoWriter struct {
	w      io.Writer
	block  []byte // bytes that are not written yet
	packed []byte
	begun  bool
	err    error
}

// newLZOWriter returns a writer. Close ends the file, and does not close w.
func newLZOWriter(w io.Writer) *lzoWriter { return &lzoWriter{w: w} }

func (z *lzoWriter) Write(b []byte) (int, error) {
	n := 0
	for len(b) > 0 && z.err == nil {
		take := min(blockSize-len(z.block), len(b))
		z.block = append(z.block, b[:take]...)
		n, b = n+take, b[take:]
		if len(z.block) == blockSize {
			z.flush()
		}
	}
	return n, z.err
}

// Close writes the remaining bytes and the end of the file.
func (z *lzoWriter) Close() error {
	z.flush()
	z.write([]byte{0, 0, 0, 0})
	return z.err
}

func (z *lzoWriter) write(b []byte) {
	if z.err == nil {
		_, z.err = z.w.Write(b)
	}
}

// flush writes the block, and the header before the first block.
func (z *lzoWriter) flush() {
	if !z.begun {
		z.begun = true
		h := &bytes.Buffer{}
		_ = binary.Write(h, binary.BigEndian, lzoHeader{
			Version: 0x1040, Library: 0x20a0, Needed: 0x0940, Method: 1,
			Level: 5, Flags: flagPlainAdler, Mode: 0o100644,
		})
		z.write(lzoMagic)
		z.write(binary.BigEndian.AppendUint32(h.Bytes(), adler32.Checksum(h.Bytes())))
	}
	if len(z.block) == 0 {
		return
	}
	z.packed = lzoCompress(z.packed[:0], z.block)
	packed := z.packed
	if len(packed) >= len(z.block) {
		packed = z.block // stored uncompressed
	}
	head := binary.BigEndian.AppendUint32(nil, uint32(len(z.block)))
	head = binary.BigEndian.AppendUint32(head, uint32(len(packed)))
	z.write(binary.BigEndian.AppendUint32(head, adler32.Checksum(z.block)))
	z.write(packed)
	z.block = z.block[:0]
}

// errLZODamaged is the error for a damaged or incomplete file.
var errLZODamaged = errors.New("damaged lzop file")

// lzoReader reads an lzop file.
type lzoReader struct {
	r     io.Reader
	flags uint32
	block []byte // bytes that are not read yet
	room  []byte
	begun bool
	err   error
}

// newLZOReader returns a reader. It reads r to its end, which must be the end of the file.
func newLZOReader(r io.Reader) *lzoReader { return &lzoReader{r: r} }

func (z *lzoReader) Read(b []byte) (int, error) {
	if !z.begun {
		z.begun = true
		z.err = z.head()
	}
	for len(z.block) == 0 && z.err == nil && len(b) > 0 {
		z.err = z.next()
	}
	n := copy(b, z.block)
	z.block = z.block[n:]
	if n > 0 || len(b) == 0 {
		return n, nil
	}
	return 0, z.err
}

// full fills b.
func (z *lzoReader) full(b []byte) error {
	if _, err := io.ReadFull(z.r, b); err == io.EOF || err == io.ErrUnexpectedEOF {
		return fmt.Errorf("%w: it ends too early", errLZODamaged)
	} else if err != nil {
		return err
	}
	return nil
}

// head reads the header.
func (z *lzoReader) head() error {
	b := make([]byte, len(lzoMagic)+25)
	if err := z.full(b); err != nil {
		return err
	}
	if !bytes.HasPrefix(b, lzoMagic) {
		return fmt.Errorf("%w: its beginning is not that of an lzop file", errLZODamaged)
	}
	var h lzoHeader
	rest := b[len(lzoMagic):]
	if _, err := binary.Decode(rest, binary.BigEndian, &h); err != nil {
		return err
	}
	if h.Flags&unsupported != 0 || h.Method < 1 || h.Method > 3 {
		return fmt.Errorf("%w: method %d, flags %#x", errors.ErrUnsupported, h.Method, h.Flags)
	}
	z.flags = h.Flags
	name := make([]byte, int(h.Name)+4)
	if err := z.full(name); err != nil {
		return err
	}
	sum := adler32.Checksum(append(rest, name[:h.Name]...))
	if sum != binary.BigEndian.Uint32(name[h.Name:]) {
		return fmt.Errorf("%w: the checksum of its lzoHeader is wrong", errLZODamaged)
	}
	return nil
}

func (z *lzoReader) number() (uint32, error) {
	var b [4]byte
	err := z.full(b[:])
	return binary.BigEndian.Uint32(b[:]), err
}

// next reads a block; io.EOF is the end.
func (z *lzoReader) next() error {
	size, err := z.number()
	if err != nil {
		return err
	}
	if size == 0 {
		if n, err := z.r.Read(make([]byte, 1)); n > 0 || err != nil && err != io.EOF {
			return errors.Join(fmt.Errorf("%w: bytes follow its end", errLZODamaged), err)
		}
		return io.EOF
	}
	packed, err := z.number()
	if err != nil {
		return err
	}
	if size > largest || packed > size {
		return fmt.Errorf("%w: a block of %d bytes, packed to %d, over the limit of %d", errLZODamaged, size, packed,
			largest)
	}
	var sum uint32
	if z.flags&flagPlainAdler != 0 {
		if sum, err = z.number(); err != nil {
			return err
		}
	}
	if z.flags&flagPackedAdler != 0 && packed < size {
		if _, err := z.number(); err != nil {
			return err
		}
	}
	return z.unpack(int(size), int(packed), sum)
}

// unpack reads and verifies a block.
func (z *lzoReader) unpack(size, packed int, sum uint32) error {
	if cap(z.room) < size+packed {
		z.room = make([]byte, size+packed)
	}
	from, to := z.room[size:size+packed], z.room[:size:size]
	if err := z.full(from); err != nil {
		return err
	}
	if packed == size {
		to = from
	} else if n, err := lzoSafely(from, to); err != nil {
		return fmt.Errorf("%w: a block of %d bytes: %w", errLZODamaged, size, err)
	} else if n != size {
		return fmt.Errorf("%w: a block of %d bytes has %d", errLZODamaged, size, n)
	}
	if z.flags&flagPlainAdler != 0 && adler32.Checksum(to) != sum {
		return fmt.Errorf("%w: the checksum of a block is wrong", errLZODamaged)
	}
	z.block = to
	return nil
}

// lzoSafely decompresses a block. The library panics on some damaged blocks; a panic counts as damage.
func lzoSafely(from, to []byte) (n int, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", errLZODamaged, r)
		}
	}()
	return lzo.Decompress(from, to)
}
