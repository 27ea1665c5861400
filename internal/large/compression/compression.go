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

	"github.com/itemize/itemize/internal/model/attr"
)

// Name is the name of a codec, as a tag and a stored value have it.
type Name string

// The codecs, and where their frames are specified.
const (
	Gzip   Name = "gzip"   // RFC 1952
	Zlib   Name = "zlib"   // RFC 1950
	Snappy Name = "snappy" // google/snappy framing_format.txt
	Zstd   Name = "zstd"   // RFC 8878
	LZ4    Name = "lz4"    // lz4_Frame_format.md
	LZO    Name = "lzo"    // an lzop file
)

// LZOMagic is the start of each lzop file.
const LZOMagic = "\x89LZO\x00\r\n\x1a\n"

// formats has the codecs that a tag may name, in the order of grammar.Codecs.
var formats = []struct {
	name Name
	// begins recognizes a frame by its first bytes.
	begins func([]byte) bool
	// option is that of package compress, "" for the codecs of the standard library. encoding is the name in HTTP, ""
	// for none (IANA, "HTTP Content Coding Registry": its deflate is a frame of zlib).
	option, encoding string
}{
	{Gzip, prefix("\x1f\x8b\x08"), "", "gzip"},
	{Zlib, isZlib, "", "deflate"},
	{Snappy, prefix("\xff\x06\x00\x00sNaPpY"), "Snappy", ""},
	{Zstd, prefix("\x28\xb5\x2f\xfd"), "Zstd", "zstd"},
	{LZ4, prefix("\x04\x22\x4d\x18"), "LZ4", ""},
	{LZO, prefix(LZOMagic), "LZO", ""},
}

// Names returns the codecs that a tag may name.
func Names() []Name {
	all := make([]Name, len(formats))
	for i, f := range formats {
		all[i] = f.name
	}
	return all
}

// find returns the index of a codec in formats, -1 for none.
func find(n Name) int {
	for i := range formats {
		if formats[i].name == n {
			return i
		}
	}
	return -1
}

// Exists reports whether a tag may name a codec.
func Exists(n Name) bool { return find(n) >= 0 }

// Encoding is the name of a codec in HTTP, "" for none.
func Encoding(n Name) string {
	if i := find(n); i >= 0 {
		return formats[i].encoding
	}
	return ""
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
func Detect(b []byte) Name {
	for _, f := range formats {
		if f.begins(b) {
			return f.name
		}
	}
	return ""
}

// Codec writes and reads the frames of one codec.
type Codec struct {
	Name  Name
	Write func(io.Writer) (io.WriteCloser, error)
	// Read returns a reader of a frame. It is closed after use if it is an io.Closer. If the frame
	// needs more memory than a reader allows, the error is ErrMemory.
	Read func(*bufio.Reader) (io.Reader, error)
}

// standard are the codecs of the standard library.
var standard = Codecs{
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

// Codecs are the codecs in addition to gzip and zlib.
type Codecs []Codec

// Has reports whether a codec is available. Otherwise the error is a *MissingError, or says that the
// codec does not exist.
func (s Codecs) Has(n Name) error {
	_, err := s.codec(n)
	return err
}

func (s Codecs) codec(n Name) (*Codec, error) {
	for _, all := range []Codecs{standard, s} {
		for i := range all {
			if all[i].Name == n {
				return &all[i], nil
			}
		}
	}
	if Exists(n) {
		return nil, &MissingError{n}
	}
	return nil, fmt.Errorf("%w: %q is not a codec", ErrDamaged, string(n))
}

// MissingError says that a value uses a codec that the mapper does not have.
type MissingError struct{ Codec Name }

func (e *MissingError) Error() string {
	return fmt.Sprintf("the codec %s is missing: pass the mapper the option compress.%s() (go get "+
		"github.com/itemize/itemize/large/compress)", e.Codec, formats[find(e.Codec)].option)
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
func (s Codecs) NewWriter(n Name, w io.Writer) (io.WriteCloser, error) {
	k, err := s.codec(n)
	if err != nil {
		return nil, err
	}
	return k.Write(w)
}

// Compress returns bytes in the frame of a codec.
func (s Codecs) Compress(n Name, b []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := s.NewWriter(n, &out)
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
	codec *Codec
	err   error
}

// NewReader returns a reader of compressed bytes. Close it.
func (s Codecs) NewReader(n Name, r io.Reader, limit int64) (*Reader, error) {
	k, err := s.codec(n)
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
		if i := find(r.codec.Name); i < 0 || !formats[i].begins(begin) {
			r.err = fmt.Errorf("%w: it is not a frame of %s", ErrDamaged, r.codec.Name)
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
	return fmt.Errorf("%w: %s: %w", ErrDamaged, r.codec.Name, err)
}

// Close releases the reader's resources.
func (r *Reader) Close() {
	if c, ok := r.z.(io.Closer); ok {
		_ = c.Close() // the last Read returned its error
	}
}

// Decompress decompresses bytes, up to the limit.
func (s Codecs) Decompress(n Name, b []byte, limit int64) ([]byte, error) {
	r, err := s.NewReader(n, bytes.NewReader(b), limit)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var out bytes.Buffer
	_, err = out.ReadFrom(r)
	return out.Bytes(), err
}
