// Package compression reads and writes the frames in which compressed values are stored: the standard frames of their
// codecs, with checksums, so that other languages' libraries read them. gzip and zlib are those of the standard
// library. The others are modules of their own (package compress), and a mapper is given those that it needs.
package compression

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Codec is a codec by its name.
type Codec string

// The codecs, and where their frames are specified.
const (
	Gzip   Codec = "gzip"   // RFC 1952
	Zlib   Codec = "zlib"   // RFC 1950
	Snappy Codec = "snappy" // google/snappy framing_format.txt
	Zstd   Codec = "zstd"   // RFC 8878
	LZ4    Codec = "lz4"    // lz4_Frame_format.md
	LZO    Codec = "lzo"    // a file of lzop
)

// All lists the codecs that a tag may name.
var All = []Codec{Gzip, Zlib, Snappy, Zstd, LZ4, LZO}

// LZOMagic begins each file of lzop.
const LZOMagic = "\x89LZO\x00\r\n\x1a\n"

// begins has functions that recognize the frames of the codecs by their first bytes.
var begins = map[Codec]func([]byte) bool{
	Gzip:   prefix("\x1f\x8b\x08"),
	Zlib:   isZlib,
	Snappy: prefix("\xff\x06\x00\x00sNaPpY"),
	Zstd:   prefix("\x28\xb5\x2f\xfd"),
	LZ4:    prefix("\x04\x22\x4d\x18"),
	LZO:    prefix(LZOMagic),
}

func prefix(magic string) func([]byte) bool {
	return func(b []byte) bool { return bytes.HasPrefix(b, []byte(magic)) }
}

// isZlib reports whether bytes begin as RFC 1950 has it: deflate, a window of 32 KB at most, and a check of both bytes.
func isZlib(b []byte) bool {
	return len(b) >= 2 && b[0]&0x0f == 8 && b[0]>>4 <= 7 && (int(b[0])<<8|int(b[1]))%31 == 0
}

// Detect returns the codec in whose frame bytes are, "" for none.
func Detect(b []byte) Codec {
	for _, c := range All {
		if begins[c](b) {
			return c
		}
	}
	return ""
}

// Coding writes and reads the frames of one codec.
type Coding struct {
	Codec Codec
	Write func(io.Writer) (io.WriteCloser, error)
	// Read returns a reader of a frame, which is closed after use if it is an io.Closer. Its error is
	// ErrMemory where the frame needs more memory than a reader gives it.
	Read func(*bufio.Reader) (io.Reader, error)
}

// standard are the codecs of the standard library.
var standard = Codings{
	{
		Gzip,
		func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil },
		func(r *bufio.Reader) (io.Reader, error) { return gzip.NewReader(r) },
	},
	{
		Zlib,
		func(w io.Writer) (io.WriteCloser, error) { return zlib.NewWriter(w), nil },
		func(r *bufio.Reader) (io.Reader, error) { return zlib.NewReader(r) },
	},
}

// Codings are the codecs that are at hand in addition to gzip and zlib, which always are.
type Codings []Coding

// Has reports whether a codec is at hand: else the error is a *MissingError, or says that there is no such codec.
func (s Codings) Has(c Codec) error {
	_, err := s.coding(c)
	return err
}

func (s Codings) coding(c Codec) (*Coding, error) {
	for _, all := range []Codings{standard, s} {
		for i := range all {
			if all[i].Codec == c {
				return &all[i], nil
			}
		}
	}
	if slices.Contains(All, c) {
		return nil, &MissingError{c}
	}
	return nil, fmt.Errorf("%w: %q is no codec", ErrDamaged, string(c))
}

// options are the functions of package compress that make the codecs.
var options = map[Codec]string{Snappy: "Snappy", Zstd: "Zstd", LZ4: "LZ4", LZO: "LZO"}

// MissingError says that a value is compressed by a codec that the mapper was not given.
type MissingError struct{ Codec Codec }

func (e *MissingError) Error() string {
	return fmt.Sprintf("the codec %s is missing: give the mapper the option compress.%s() (go get "+
		"github.com/itemize/itemize/compress)", e.Codec, options[e.Codec])
}

// ErrDamaged is the error of bytes that are not in the frame of the codec that they should be in, or not whole.
var ErrDamaged = errors.New("damaged")

// ErrMemory is the error of a frame that needs more than Window bytes of memory.
var ErrMemory = fmt.Errorf("its frame needs more memory than %d bytes", Window)

// Window is how far back a frame may refer at most, in bytes: what every decoder of zstd should support
// (RFC 8878, section 3.1.1.1.2). The other codecs have smaller windows.
const Window = 8 << 20

// LimitError is the error of what would decompress to more bytes than are allowed.
type LimitError struct{ Limit int64 }

func (e *LimitError) Error() string {
	return fmt.Sprintf("it decompresses to more than %d bytes", e.Limit)
}

// NewWriter returns a writer that compresses what is written to it. Close ends the frame, and does not close w.
func (s Codings) NewWriter(c Codec, w io.Writer) (io.WriteCloser, error) {
	k, err := s.coding(c)
	if err != nil {
		return nil, err
	}
	return k.Write(w)
}

// Compress returns bytes in the frame of a codec.
func (s Codings) Compress(c Codec, b []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := s.NewWriter(c, &out)
	if err == nil {
		_, err = w.Write(b)
	}
	if err == nil {
		err = w.Close()
	}
	return out.Bytes(), err
}

// longestMagic is the length of the longest beginning by which a frame is known: that of snappy.
const longestMagic = 10

// Reader decompresses. It reads to the end of what it reads from, and gives no more bytes than its limit.
type Reader struct {
	from  *bufio.Reader
	z     io.Reader
	limit int64
	left  int64
	codec *Coding
	err   error
}

// NewReader returns a reader of what a codec has compressed. It has to be closed.
func (s Codings) NewReader(c Codec, r io.Reader, limit int64) (*Reader, error) {
	k, err := s.coding(c)
	if err != nil {
		return nil, err
	}
	return &Reader{from: bufio.NewReader(r), limit: limit, left: limit, codec: k}, nil
}

func (r *Reader) Read(b []byte) (int, error) {
	if r.err != nil || len(b) == 0 {
		return 0, r.err
	}
	if r.z == nil {
		begin, err := r.from.Peek(longestMagic)
		if err != nil && err != io.EOF {
			r.err = err
			return 0, err
		}
		if !begins[r.codec.Codec](begin) {
			r.err = fmt.Errorf("%w: it is not in the frame of %s", ErrDamaged, r.codec.Codec)
			return 0, r.err
		}
		z, err := r.codec.Read(r.from)
		if err != nil {
			r.err = r.damaged(err)
			return 0, r.err
		}
		r.z = z
	}
	// One byte more than is left shows that there is more.
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
	return fmt.Errorf("%w: %s: %w", ErrDamaged, r.codec.Codec, err)
}

// Close releases what the reader holds.
func (r *Reader) Close() {
	if c, ok := r.z.(io.Closer); ok {
		_ = c.Close() // what it has to say was said by the last Read
	}
}

// Decompress returns what a codec has compressed, of no more bytes than the limit.
func (s Codings) Decompress(c Codec, b []byte, limit int64) ([]byte, error) {
	r, err := s.NewReader(c, bytes.NewReader(b), limit)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var out bytes.Buffer
	_, err = out.ReadFrom(r)
	return out.Bytes(), err
}
