package extern

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/large/compression"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/read"
)

// Cell is the content of a lazy value (large.Value): a value, or the pointer to its storage. Copies
// share the content, which never changes.
type Cell struct{ held *held }

type held struct {
	// av is the value, or its stored form. src is its storage, nil for a new value.
	av  types.AttributeValue
	src *Source
	err error
	// input is a new value that a reader gives, and kept the value of a pointer where it is in memory too.
	input *Input
	kept  types.AttributeValue
}

// unpacked returns a value that is not a pointer.
func (h *held) unpacked() (types.AttributeValue, error) {
	var codecs compression.Codecs
	if h.src != nil {
		codecs = h.src.Codecs
	}
	return Unpack(h.av, codecs, false)
}

// Source is where the stored value of an attribute is read.
type Source struct {
	*Fetcher
	At        item.Place
	Attribute string
	// Explain makes an error of reading one that names the field.
	Explain func(error) error
}

// holder is a type that embeds a Cell.
type holder interface{ cell() *Cell }

func (c *Cell) cell() *Cell { return c }

// CellOf returns the cell of the target of p, whose type embeds one.
func CellOf(p any) *Cell { return p.(holder).cell() }

// Empty reports whether it holds nothing.
func (c *Cell) Empty() bool { return c.held == nil }

// Hold makes it hold a new value; err is why that cannot be stored.
func (c *Cell) Hold(av types.AttributeValue, err error) { c.held = &held{av: av, err: err} }

// Clear makes it hold nothing.
func (c *Cell) Clear() { c.held = nil }

// Keep sets the stored form, and From its storage.
func (c *Cell) Keep(av types.AttributeValue) { c.held = &held{av: av} }

// Settle sets the stored form of the cell's value. A value in memory stays in memory.
func (c *Cell) Settle(av types.AttributeValue, src *Source) {
	h := &held{av: av, src: src}
	if was := c.held; was != nil && was.input == nil && was.err == nil {
		h.kept = was.kept
		if _, out := PointerOf(was.av); !out && h.kept == nil {
			h.kept, _ = was.unpacked()
			if b, ok := h.kept.(*types.AttributeValueMemberB); ok && was.src != nil &&
				compression.Detect(b.Value) != "" {
				h.kept = nil // it may be compressed text
			}
		}
	}
	c.held = h
}

// From is described at Keep.
func (c *Cell) From(src *Source) {
	if c.held != nil {
		c.held = &held{av: c.held.av, src: src}
	}
}

// Elsewhere reports whether the cell has a new value, or another one than is stored at a key.
func (c *Cell) Elsewhere(at item.Place, stored types.AttributeValue) bool {
	switch h := c.held; {
	case h == nil, h.err != nil:
		return false
	case h.src == nil || h.src.At != at:
		return true
	}
	p := c.Pointer()
	q, out := PointerOf(stored)
	return (p != nil) != out || out && p.ID != q.ID
}

// Attribute returns what it holds: a value, or a pointer.
func (c *Cell) Attribute() (types.AttributeValue, error) {
	switch h := c.held; {
	case h == nil:
		return &types.AttributeValueMemberNULL{Value: true}, nil
	case h.err != nil:
		return nil, h.err
	case h.input != nil:
		return h.input.attribute()
	default:
		if _, out := PointerOf(h.av); out {
			return h.av, nil
		}
		return h.unpacked()
	}
}

// own is Attribute for a reader of the value: damage is reported as a source reports it.
func (c *Cell) own() (types.AttributeValue, error) {
	v, err := c.Attribute()
	if err != nil && c.held.src != nil {
		err = c.held.src.explain(err)
	}
	return v, err
}

// Size returns the number of bytes of an external value, or of a reader.
func (c *Cell) Size() (n int64, ok bool) {
	p := c.Pointer()
	if g := c.input(); g != nil && g.prepare() == nil && g.few == nil {
		p = &g.p
	}
	if p == nil {
		return 0, false
	}
	return p.Length, true
}

// Beginning returns the part of the value that is in the item: all of it, or the preview. For a large
// value that was given as a reader, it returns at most the length of a preview.
func (c *Cell) Beginning() (types.AttributeValue, error) {
	if p := c.Pointer(); p != nil {
		return p.PreviewAttribute(), nil
	}
	av, err := c.Attribute()
	if p, many := PointerOf(av); many && err == nil {
		p.Preview = previewOf(Content{c.input().head, p.Kind}, cost.MaxItem)
		return p.PreviewAttribute(), nil
	}
	return av, err
}

// Pointer returns the pointer that it holds, nil for a new value, and for a value in its item.
func (c *Cell) Pointer() *Pointer {
	if c.held == nil {
		return nil
	}
	p, _ := PointerOf(c.held.av)
	return p
}

var errNoSource = errors.New("the value is external, and this copy of its item was not loaded by a mapper: load " +
	"the item")

// ErrChanged is wrapped by every *ChangedError.
var ErrChanged = errors.New("itemize: large value replaced")

// ChangedError says that a lazy value was replaced, or its item deleted, since it was loaded.
type ChangedError struct {
	// Item is the key of the item.
	Item string
}

func (e *ChangedError) Error() string {
	return fmt.Sprintf("the value of %s was replaced or removed since it was loaded: load it again", e.Item)
}

// Is makes it ErrChanged.
func (e *ChangedError) Is(target error) bool { return target == ErrChanged }

func (s *Source) explain(err error) error {
	var replaced *Replaced
	switch {
	case err == nil || errors.Is(err, io.EOF):
		return err
	case errors.As(err, &replaced):
		return &ChangedError{s.At.String()}
	}
	return s.Explain(err)
}

// Current returns the value if it is in memory.
func (c *Cell) Current() (v types.AttributeValue, ok bool, err error) {
	switch {
	case c.held.kept != nil:
		return c.held.kept, true, nil
	case c.held.input != nil, c.Pointer() != nil:
		return nil, false, nil
	}
	v, err = c.own()
	return v, true, err
}

// Value reads the value, wherever it is. own reports that it was read for this caller alone.
func (c *Cell) Value(ctx context.Context) (v types.AttributeValue, own bool, err error) {
	p := c.Pointer()
	switch {
	case p == nil:
		v, err := c.own()
		if _, many := PointerOf(v); many && err == nil {
			v, err = c.input().value()
		}
		return v, false, err
	case c.held.kept != nil:
		return c.held.kept, false, nil
	case c.held.src == nil:
		return nil, false, errNoSource
	}
	src := c.held.src
	var u read.Usage
	v, err = src.Fetch(ctx, Wanted{p, src.At, src.Attribute}, &u)
	return v, true, src.explain(err)
}

// Open returns a reader of the text or bytes, wherever they are.
func (c *Cell) Open(ctx context.Context) (io.ReadCloser, error) {
	p := c.Pointer()
	switch {
	case p == nil || c.held.kept != nil:
		return c.inItem()
	case c.held.src == nil:
		return nil, errNoSource
	case p.Kind == JSON:
		return nil, c.held.src.Explain(errNoBytes)
	}
	return c.held.src.open(ctx, p)
}

var errNoBytes = errors.New("the value is not text or bytes, so that it cannot be read as a stream: use Get")

// PreviewAttribute returns the preview as a value, nil for none.
func (p *Pointer) PreviewAttribute() types.AttributeValue {
	switch {
	case p.Preview == nil:
		return nil
	case p.Kind == Text:
		return text(string(p.Preview))
	}
	return &types.AttributeValueMemberB{Value: p.Preview}
}

var (
	errNew       = errors.New("the value is new: save it first")
	errNotObject = errors.New("the value is in its item or in parts, but only an object in S3 has an address: use " +
		"Reader")
)

// Presign returns an address of the value's object.
func (c *Cell) Presign(ctx context.Context, valid time.Duration) (string, error) {
	p := c.Pointer()
	switch {
	case c.held == nil || c.held.src == nil && p == nil:
		return "", errNew
	case c.held.src == nil:
		return "", errNoSource
	case p == nil || p.Class != Object:
		return "", c.held.src.Explain(errNotObject)
	case c.held.src.Objects == nil:
		return "", c.held.src.Explain(errNoObjects)
	}
	return c.held.src.Objects.Presign(ctx, c.held.src.Locations.bucket(p.At), ObjectKey(p.ID), valid)
}

// Same reports whether both hold the same.
func (c *Cell) Same(o *Cell) bool {
	p, q := c.Pointer(), o.Pointer()
	if p != nil || q != nil {
		return p != nil && q != nil && p.ID == q.ID
	}
	if c.input() != nil || o.input() != nil {
		return c.held == o.held
	}
	a, errA := c.Attribute()
	b, errB := o.Attribute()
	return c.Empty() == o.Empty() && errA == nil && errB == nil && attr.Same(a, b)
}
