package extern

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/large/compression"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/request"
)

// inItem returns a reader of a value that is in the item, or is new.
func (c *Cell) inItem() (io.ReadCloser, error) {
	v, err := c.own()
	if c.held != nil && c.held.kept != nil {
		v = c.held.kept
	}
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return io.NopCloser(bytes.NewReader([]byte(v.Value))), nil
	case *types.AttributeValueMemberB:
		return io.NopCloser(bytes.NewReader(v.Value)), nil
	case *types.AttributeValueMemberM:
		if _, many := PointerOf(v); many && c.input() != nil {
			return c.input().open()
		}
	case *types.AttributeValueMemberNULL:
		return io.NopCloser(bytes.NewReader(nil)), nil
	}
	if c.held.src != nil {
		return nil, c.held.src.Explain(errNoBytes)
	}
	return nil, errNoBytes
}

// stream reads a value in parts. Its end is an error unless the whole value was as it was written.
type stream struct {
	src     *Source
	ctx     context.Context
	p       *Pointer
	from    io.Reader // of the value
	packed  *compression.Reader
	stored  io.Closer
	sum     hash.Hash
	n       int64
	err     error
	checked bool
}

// open begins to read a value.
func (s *Source) open(ctx context.Context, p *Pointer) (io.ReadCloser, error) {
	x := &stream{src: s, ctx: ctx, p: p, sum: sha256.New()}
	if p.Codec != "" {
		if err := s.Codecs.Has(p.Codec); err != nil {
			return nil, s.explain(err)
		}
	}
	var stored io.Reader
	if p.Class == Object {
		if s.Objects == nil {
			return nil, errNoObjects
		}
		body, err := s.Objects.Get(ctx, s.Locations.bucket(p.At), ObjectKey(p.ID), Range{})
		if err != nil {
			return nil, s.explain(x.damaged(missing(err, p)))
		}
		stored, x.stored = body, body
	} else {
		if err := s.reads(p); err != nil {
			return nil, s.explain(err)
		}
		parts := &partReader{
			s: s, ctx: ctx, p: p,
			e: &Entry{ID: p.ID, Class: p.Class, At: p.At, Parts: p.Parts, PK: s.At.PK, SK: s.At.SK},
		}
		stored, x.stored = parts, parts
	}
	x.from = stored
	if p.Codec != "" {
		x.packed, _ = s.Codecs.NewReader(p.Codec, stored, p.Length) // it has the codec
		x.from = x.packed
	}
	return x, nil
}

func (x *stream) Read(b []byte) (int, error) {
	if x.err != nil {
		return 0, x.err
	}
	n, err := x.from.Read(b)
	x.sum.Write(b[:n])
	x.n += int64(n)
	switch {
	case x.n > x.p.Length:
		err = x.damaged(&Damaged{What: fmt.Sprintf("the value %s has more than its %d bytes", x.p.ID, x.p.Length)})
	case errors.Is(err, io.EOF):
		if err = x.end(); err == nil {
			err = io.EOF
		}
	case err != nil:
		var damaged *Damaged
		if errors.Is(err, compression.ErrDamaged) && !errors.As(err, &damaged) {
			err = &Damaged{What: "the value " + x.p.ID, Err: err}
		}
		err = x.damaged(err)
	}
	x.err = x.src.explain(err)
	if n > 0 && errors.Is(x.err, io.EOF) {
		return n, nil
	}
	return n, x.err
}

// end checks the complete value.
func (x *stream) end() error {
	if x.n == x.p.Length && bytes.Equal(x.sum.Sum(nil), x.p.Sum[:]) {
		return nil
	}
	return x.damaged(&Damaged{What: fmt.Sprintf("the value %s of %d bytes has another SHA-256 than the %d bytes "+
		"that were read", x.p.ID, x.p.Length, x.n)})
}

// damaged distinguishes damage from a value that was replaced during the read.
func (x *stream) damaged(err error) error {
	var damaged *Damaged
	if x.checked || !errors.As(err, &damaged) {
		return err
	}
	x.checked = true
	var u read.Usage
	if changed := x.src.unchanged(x.ctx, Wanted{x.p, x.src.At, x.src.Attribute}, &u); changed != nil {
		return changed
	}
	return err
}

var errClosed = errors.New("the reader of the value is closed")

// Close ends the reading.
func (x *stream) Close() error {
	x.err = errClosed
	if x.packed != nil {
		x.packed.Close()
	}
	return x.stored.Close()
}

// partReader reads parts in their order, some ahead.
type partReader struct {
	s      *Source
	ctx    context.Context
	p      *Pointer
	e      *Entry
	asked  int
	ahead  []chan partRead
	now    []byte
	cancel context.CancelFunc
}

type partRead struct {
	b   []byte
	err error
}

func (r *partReader) Read(b []byte) (int, error) {
	for len(r.now) == 0 {
		if r.cancel == nil {
			r.ctx, r.cancel = context.WithCancel(r.ctx)
		}
		for r.asked < r.p.Parts && len(r.ahead) < r.s.atOnce(r.p) {
			r.ask(r.asked)
			r.asked++
		}
		if len(r.ahead) == 0 {
			return 0, io.EOF
		}
		got := <-r.ahead[0]
		r.ahead = r.ahead[1:]
		if got.err != nil {
			return 0, request.Repanic(got.err)
		}
		r.now = got.b
	}
	n := copy(b, r.now)
	r.now = r.now[n:]
	return n, nil
}

// ask begins to read a part.
func (r *partReader) ask(i int) {
	c := make(chan partRead, 1)
	r.ahead = append(r.ahead, c)
	ctx := r.ctx
	go func() {
		b := make([]byte, min(int64(r.p.PartSize), r.p.Stored-int64(i)*int64(r.p.PartSize)))
		var u read.Usage
		at := r.s.Locations.Part(r.e, i)
		c <- partRead{b, request.Caught(func() error {
			err := r.s.part(ctx, r.p, at, partOf{i, b, false, &u})
			var damaged *Damaged
			if errors.As(err, &damaged) { // it may only not be here yet
				err = r.s.part(ctx, r.p, at, partOf{i, b, true, &u})
			}
			return err
		})}
	}()
}

// Close waits for the requests in progress.
func (r *partReader) Close() error {
	if r.cancel != nil {
		r.cancel()
	}
	for _, c := range r.ahead {
		<-c
	}
	r.ahead, r.now, r.asked = nil, nil, r.p.Parts
	return nil
}
