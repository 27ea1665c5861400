package extern

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
	"os"
	"sync"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/large/compression"
	"github.com/itemize/itemize/internal/save/write"
)

// Frame returns the stored form of a value. It is read when it is sent, and the cost of reading it is
// added to a tally.
type Frame func(ctx context.Context, t *write.Tally) io.ReaderAt

// inMemory is the frame of bytes in memory.
func inMemory(b []byte) Frame {
	return func(context.Context, *write.Tally) io.ReaderAt { return bytes.NewReader(b) }
}

// Input is text or bytes that a lazy value was given as a reader. It is read before a save compares it
// with the stored value. A short body becomes a value in memory. Of a long body the length and the
// SHA-256 are recorded, and the body must be readable again. It is read again from the reader, if that
// can be read at any position, and otherwise from a temporary file.
type Input struct {
	from io.Reader
	kind Kind

	mu   sync.Mutex
	done bool
	err  error
	// few is the value where it is small; else p says what it is, body is it, and head its beginning.
	few    types.AttributeValue
	p      Pointer
	body   io.ReaderAt
	head   []byte
	frames map[compression.Name]*packed
}

// packed is the body in a codec's format.
type packed struct {
	body io.ReaderAt
	size int64
	err  error
}

// HoldReader makes it hold what a reader gives.
func (c *Cell) HoldReader(r io.Reader, kind Kind) {
	c.held = &held{input: &Input{from: r, kind: kind}}
}

func (c *Cell) input() *Input {
	if c.held == nil {
		return nil
	}
	return c.held.input
}

func (g *Input) prepare() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.done {
		return g.err
	}
	g.done = true
	if g.err = g.read(); g.err != nil {
		g.err = fmt.Errorf("the reader passed to SetReader: %w", g.err)
	}
	if errors.Is(g.err, os.ErrClosed) {
		g.err = fmt.Errorf("%w: keep it open until the save has ended", g.err)
	}
	return g.err
}

// StreamInput returns the reader that it was given, if that can be read once only.
func (c *Cell) StreamInput() (from io.Reader, once bool) {
	g := c.input()
	if g == nil || g.from == nil {
		return nil, false
	}
	if s, ok := g.from.(seeker); ok {
		if _, err := s.Seek(0, io.SeekCurrent); err == nil {
			return nil, false
		}
	}
	return g.from, true
}

// Ended reports whether what it was given has nothing to give.
func (c *Cell) Ended() bool {
	g := c.input()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.done {
		return false
	}
	var b [1]byte
	n, err := io.ReadFull(g.from, b[:])
	if n > 0 {
		g.from = io.MultiReader(bytes.NewReader(b[:n]), g.from)
	}
	return errors.Is(err, io.EOF)
}

// Input returns what it was given, nil for nothing; Gives reports whether that is g, and Give makes it that.
func (c *Cell) Input() *Input { return c.input() }

// Gives is described at Given.
func (c *Cell) Gives(g *Input) bool { return c.input() == g }

// Give is described at Given.
func (c *Cell) Give(g *Input) { c.held = &held{input: g} }

// attribute returns the value of a short body. For a long body it returns a pointer that has the length
// and digest, but no storage.
func (g *Input) attribute() (types.AttributeValue, error) {
	if err := g.prepare(); err != nil {
		return nil, err
	}
	if g.few != nil {
		return g.few, nil
	}
	return g.p.Attribute(), nil
}

// seeker is a reader that can be read again, and at several places at once.
type seeker interface {
	io.ReaderAt
	io.Seeker
}

var errNoReader = errors.New("the reader is nil: pass one, or use Clear")

func (g *Input) read() error {
	if g.from == nil {
		return errNoReader
	}
	r := g.from
	file, rereadable := r.(seeker)
	if rereadable {
		at, err := file.Seek(0, io.SeekCurrent)
		if rereadable = err == nil; rereadable { // else it is a pipe
			section := io.NewSectionReader(file, at, math.MaxInt64-at) // to its end, wherever that is
			r, g.body = section, section
		}
	}
	head, err := io.ReadAll(io.LimitReader(r, cost.MaxItem+1))
	if err != nil {
		return err
	}
	if len(head) <= cost.MaxItem {
		g.body = nil
		g.few, err = Content{head, g.kind}.Value()
		return err
	}
	g.head = head
	sum := &summing{hash: sha256.New(), text: g.kind == Text}
	all := io.MultiReader(bytes.NewReader(head), r)
	if rereadable {
		checked := &checked{from: g.body}
		_, err = io.Copy(io.MultiWriter(sum, checked), all)
		checked.end()
		g.body = checked
	} else {
		g.body, err = spool(func(w io.Writer) error {
			_, err := io.Copy(io.MultiWriter(sum, w), all)
			return err
		})
	}
	if err == nil {
		err = sum.end()
	}
	g.p = Pointer{Class: Collection, Kind: g.kind, Length: sum.n, Stored: sum.n}
	sum.hash.Sum(g.p.Sum[:0])
	return err
}

// frame returns the value as a codec stores it, "" for none: which may be as it is, where that is smaller.
func (g *Input) frame(codecs compression.Codecs, codec compression.Name) (io.ReaderAt, int64, compression.Name,
	error,
) {
	if codec == "" {
		return g.body, g.p.Length, "", nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	f := g.frames[codec]
	if f == nil {
		f = g.pack(codecs, codec)
		g.frames = map[compression.Name]*packed{codec: f}
	}
	if f.err != nil || f.size < g.p.Length {
		return f.body, f.size, codec, f.err
	}
	return g.body, g.p.Length, "", nil
}

func (g *Input) pack(codecs compression.Codecs, codec compression.Name) *packed {
	f := &packed{}
	count := &summing{hash: sha256.New()}
	f.body, f.err = spool(func(w io.Writer) error {
		z, err := codecs.NewWriter(codec, io.MultiWriter(count, w))
		if err == nil {
			_, err = io.Copy(z, io.NewSectionReader(g.body, 0, g.p.Length))
		}
		if err == nil {
			err = z.Close()
		}
		return err
	})
	f.size = count.n
	return f
}

// summing computes the length and the SHA-256 of the bytes that are written to it, and checks whether
// they are text.
type summing struct {
	hash hash.Hash
	n    int64
	text bool
	half []byte // of a character
}

var errNoText = errors.New("it is not UTF-8 text: declare the field as a large.Value[[]byte]")

func (s *summing) Write(b []byte) (int, error) {
	s.n += int64(len(b))
	s.hash.Write(b)
	if !s.text {
		return len(b), nil
	}
	all := append(s.half, b...)
	whole := len(all)
	for i := 1; i < utf8.UTFMax && i <= len(all); i++ {
		if c := all[len(all)-i]; utf8.RuneStart(c) {
			if !utf8.FullRune(all[len(all)-i:]) {
				whole = len(all) - i
			}
			break
		}
	}
	if !utf8.Valid(all[:whole]) {
		return 0, errNoText
	}
	s.half = bytes.Clone(all[whole:])
	return len(b), nil
}

func (s *summing) end() error {
	if len(s.half) > 0 {
		return errNoText
	}
	return nil
}

// open returns a reader of the body.
func (g *Input) open() (io.ReadCloser, error) {
	if err := g.prepare(); err != nil {
		return nil, err
	}
	return io.NopCloser(io.NewSectionReader(g.body, 0, g.p.Length)), nil
}

// value returns the body as a value.
func (g *Input) value() (types.AttributeValue, error) {
	r, err := g.open()
	if err != nil {
		return nil, err
	}
	b := make([]byte, g.p.Length)
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, err
	}
	return Content{b, g.kind}.Value()
}
