// Package compress knows the codecs that a large value may be compressed by: their standard frames, which other
// languages' libraries read, with checksums, and what tells them apart.
package compress

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// Codec is a codec by its name.
type Codec string

// The codecs, and how their frames begin.
const (
	Gzip   Codec = "gzip"   // RFC 1952
	Zlib   Codec = "zlib"   // RFC 1950
	Snappy Codec = "snappy" // google/snappy framing_format.txt
	Zstd   Codec = "zstd"   // RFC 8878
	LZ4    Codec = "lz4"    // lz4_Frame_format.md
	LZO    Codec = "lzo"    // a file of lzop
)

// All are the codecs.
var All = []Codec{Gzip, Zlib, Snappy, Zstd, LZ4, LZO}

// window is the most that a zstd frame may refer back, in bytes: what every decoder is to support (RFC 8878, section
// 3.1.1.1.2). lz4 and lzo have smaller ones.
const window = 8 << 20

// snappyBlock is the largest block of a snappy frame, in bytes.
const snappyBlock = 64 << 10

// coding is how one codec's frames are written, read, and known.
type coding struct {
	codec Codec
	is    func([]byte) bool
	write func(io.Writer) (io.WriteCloser, error)
	read  func(*bufio.Reader) (io.Reader, func(), error)
}

func begins(magic string) func([]byte) bool {
	return func(b []byte) bool { return bytes.HasPrefix(b, []byte(magic)) }
}

func nothing() {}

var codings = []coding{
	{
		Gzip, begins("\x1f\x8b\x08"),
		func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil },
		func(r *bufio.Reader) (io.Reader, func(), error) {
			z, err := gzip.NewReader(r)
			return z, nothing, err
		},
	},
	{
		Zlib, isZlib,
		func(w io.Writer) (io.WriteCloser, error) { return zlib.NewWriter(w), nil },
		func(r *bufio.Reader) (io.Reader, func(), error) {
			z, err := zlib.NewReader(r)
			return z, nothing, err
		},
	},
	{
		Snappy, begins("\xff\x06\x00\x00sNaPpY"),
		func(w io.Writer) (io.WriteCloser, error) { return snappy.NewBufferedWriter(w), nil },
		func(r *bufio.Reader) (io.Reader, func(), error) {
			return s2.NewReader(r, s2.ReaderMaxBlockSize(snappyBlock)), nothing, nil
		},
	},
	{
		Zstd, begins("\x28\xb5\x2f\xfd"),
		func(w io.Writer) (io.WriteCloser, error) {
			return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(window/2), zstd.WithLowerEncoderMem(true))
		},
		func(r *bufio.Reader) (io.Reader, func(), error) {
			z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(window), zstd.WithDecoderMaxMemory(1<<62))
			if err != nil {
				return nil, nothing, err
			}
			return z, z.Close, nil
		},
	},
	{
		LZ4, begins("\x04\x22\x4d\x18"),
		func(w io.Writer) (io.WriteCloser, error) {
			z := lz4.NewWriter(w)
			return z, z.Apply(lz4.BlockSizeOption(lz4.Block256Kb))
		},
		func(r *bufio.Reader) (io.Reader, func(), error) { return lz4.NewReader(r), nothing, nil },
	},
	{
		LZO, begins(string(lzoMagic)),
		func(w io.Writer) (io.WriteCloser, error) { return newLZOWriter(w), nil },
		func(r *bufio.Reader) (io.Reader, func(), error) { return newLZOReader(r), nothing, nil },
	},
}

// isZlib reports whether bytes begin as RFC 1950 has it: deflate, a window of 32 KB at most, and a check of both bytes.
func isZlib(b []byte) bool {
	return len(b) >= 2 && b[0]&0x0f == 8 && b[0]>>4 <= 7 && (int(b[0])<<8|int(b[1]))%31 == 0
}

func (c Codec) coding() (*coding, error) {
	for i := range codings {
		if codings[i].codec == c {
			return &codings[i], nil
		}
	}
	return nil, fmt.Errorf("%w: %q is no codec", ErrDamaged, string(c))
}

// Detect returns the codec in whose frame bytes are, "" for none.
func Detect(b []byte) Codec {
	for i := range codings {
		if codings[i].is(b) {
			return codings[i].codec
		}
	}
	return ""
}

// ErrDamaged is the error of bytes that are not in the frame of the codec that they should be in, or not whole.
var ErrDamaged = errors.New("damaged")

// LimitError is the error of what would decompress to more bytes than are allowed.
type LimitError struct{ Limit int64 }

func (e *LimitError) Error() string {
	return fmt.Sprintf("it decompresses to more than %d bytes", e.Limit)
}

// NewWriter returns a writer that compresses what is written to it. Close ends the frame, and does not close w.
func NewWriter(c Codec, w io.Writer) (io.WriteCloser, error) {
	k, err := c.coding()
	if err != nil {
		return nil, err
	}
	return k.write(w)
}

// Compress returns bytes in the frame of a codec.
func Compress(c Codec, b []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := NewWriter(c, &out)
	if err == nil {
		_, err = w.Write(b)
	}
	if err == nil {
		err = w.Close()
	}
	return out.Bytes(), err
}

// Reader decompresses. It reads to the end of what it reads from, and gives no more bytes than its limit.
type Reader struct {
	from  *bufio.Reader
	z     io.Reader
	close func()
	limit int64
	left  int64
	codec *coding
	err   error
}

// NewReader returns a reader of what a codec has compressed. It has to be closed.
func NewReader(c Codec, r io.Reader, limit int64) (*Reader, error) {
	k, err := c.coding()
	if err != nil {
		return nil, err
	}
	return &Reader{from: bufio.NewReader(r), close: nothing, limit: limit, left: limit, codec: k}, nil
}

func (r *Reader) Read(b []byte) (int, error) {
	if r.err != nil || len(b) == 0 {
		return 0, r.err
	}
	if r.z == nil {
		begin, err := r.from.Peek(len(lzoMagic) + 1)
		if err != nil && err != io.EOF {
			r.err = err
			return 0, err
		}
		if !r.codec.is(begin) {
			r.err = fmt.Errorf("%w: it is not in the frame of %s", ErrDamaged, r.codec.codec)
			return 0, r.err
		}
		if r.z, r.close, err = r.codec.read(r.from); err != nil {
			r.err = r.damaged(err)
			return 0, r.err
		}
	}
	// One byte more than is left tells that there is more.
	n, err := r.z.Read(b[:min(int64(len(b)), r.left+1)])
	if int64(n) > r.left {
		r.err = &LimitError{r.limit}
		return int(r.left), r.err
	}
	r.left -= int64(n)
	switch {
	case err == io.EOF:
		r.err = r.end()
	case err != nil:
		r.err = r.damaged(err)
	}
	if n > 0 {
		return n, nil
	}
	return 0, r.err
}

// end reports what follows the end of the frame.
func (r *Reader) end() error {
	_, err := r.from.ReadByte()
	switch {
	case err == io.EOF:
		return io.EOF
	case err != nil:
		return err
	}
	return fmt.Errorf("%w: something follows the end of its frame", ErrDamaged)
}

func (r *Reader) damaged(err error) error {
	if errors.Is(err, zstd.ErrWindowSizeExceeded) || errors.Is(err, zstd.ErrDecoderSizeExceeded) {
		return fmt.Errorf("%w: its frame needs more memory than %d bytes: %w", ErrDamaged, window, err)
	}
	return fmt.Errorf("%w: %s: %w", ErrDamaged, r.codec.codec, err)
}

// Close releases what the reader holds.
func (r *Reader) Close() {
	r.close()
	r.close = nothing
}

// Decompress returns what a codec has compressed, of no more bytes than the limit.
func Decompress(c Codec, b []byte, limit int64) ([]byte, error) {
	r, err := NewReader(c, bytes.NewReader(b), limit)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var out bytes.Buffer
	_, err = out.ReadFrom(r)
	return out.Bytes(), err
}
