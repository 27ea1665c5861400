// Package compression reads and writes the frames of compressed values: the standard frames of their
// codecs, with checksums, so that libraries of other languages can read them. gzip and zlib come from
// the standard library. Package compress, a separate module, has the others, and a mapper gets those
// that it needs.
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

	"github.com/itemize/itemize/internal/model/attr"
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
	LZO    Codec = "lzo"    // an lzop file
)

// All lists the codecs that a tag may name.
var All = []Codec{Gzip, Zlib, Snappy, Zstd, LZ4, LZO}

// LZOMagic is the start of each lzop file.
const LZOMagic = "\x89LZO\x00\r\n\x1a\n"

// begins recognizes the frames of codecs by their first bytes.
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

// isZlib reports whether bytes begin as in RFC 1950: deflate, a window of at most 32 KB, and a check of
// both bytes.
func isZlib(b []byte) bool {
	return len(b) >= 2 && b[0]&0x0f == 8 && b[0]>>4 <= 7 && (int(b[0])<<8|int(b[1]))%31 == 0
}

// Detect returns the codec of a frame, "" for none.
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
	// Read returns a reader of a frame. It is closed after use if it is an io.Closer. If the frame
	// needs more memory than a reader allows, the error is ErrMemory.
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

// Codings are the codecs in addition to gzip and zlib.
type Codings []Coding

// Has reports whether a codec is available. Otherwise the error is a *MissingError, or says that the
// codec does not exist.
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
	return nil, fmt.Errorf("%w: %q is not a codec", ErrDamaged, string(c))
}

// options are the functions of package compress for the codecs.
var options = map[Codec]string{Snappy: "Snappy", Zstd: "Zstd", LZ4: "LZ4", LZO: "LZO"}

// MissingError says that a value uses a codec that the mapper does not have.
type MissingError struct{ Codec Codec }

func (e *MissingError) Error() string {
	return fmt.Sprintf("the codec %s is missing: pass the mapper the option compress.%s() (go get "+
		"github.com/itemize/itemize/large/compress)", e.Codec, options[e.Codec])
}

// ErrDamaged says that bytes are not a complete frame of their codec.
var ErrDamaged = errors.New("damaged")

// ErrMemory says that a frame needs more than Window bytes of memory.
var ErrMemory = errors.New("its frame needs more memory than 8 MB")

// Window is the largest window of a frame, in bytes, which every decoder of zstd should support (RFC
// 8878, section 3.1.1.1.2). The other codecs have smaller windows.
const Window = 8 << 20

// LimitError says that a value would decompress to more bytes than are allowed.
type LimitError struct{ Limit int64 }

func (e *LimitError) Error() string {
	return fmt.Sprintf("it decompresses to more than %s", attr.Bytes(e.Limit))
}

// NewWriter returns a writer that compresses. Close ends the frame, and does not close w.
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

// longestMagic is the length of the longest magic of a frame, that of snappy.
const longestMagic = 10

// Reader decompresses. It reads its source to the end, and returns at most its limit of bytes.
type Reader struct {
	from  *bufio.Reader
	z     io.Reader
	limit int64
	left  int64
	codec *Coding
	err   error
}

// NewReader returns a reader of compressed bytes. Close it.
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
			r.err = fmt.Errorf("%w: it is not a frame of %s", ErrDamaged, r.codec.Codec)
			return 0, r.err
		}
		z, err := r.codec.Read(r.from)
		if err != nil {
			r.err = r.damaged(err)
			return 0, r.err
		}
		r.z = z
	}
	// One byte more than allowed shows that the value is larger.
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

// end returns the error for data after the frame.
func (r *Reader) end() error {
	_, err := r.from.ReadByte()
	switch {
	case err == io.EOF:
		return io.EOF
	case err != nil:
		return err
	}
	return fmt.Errorf("%w: bytes follow the end of its frame", ErrDamaged)
}

func (r *Reader) damaged(err error) error {
	return fmt.Errorf("%w: %s: %w", ErrDamaged, r.codec.Codec, err)
}

// Close releases the reader's resources.
func (r *Reader) Close() {
	if c, ok := r.z.(io.Closer); ok {
		_ = c.Close() // the last Read returned its error
	}
}

// Decompress decompresses bytes, up to the limit.
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
