package extern

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/large/compression"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/save/write"
)

// PartSize is the number of bytes of a value in a part. Decoding a part's answer takes the SDK four to five times its
// size, so that parts near the limit of 400 KB would make parallel reads costly in memory.
const PartSize = 256 << 10

// Value is a value that is to be stored outside its item.
type Value struct {
	Pointer
	// Parent is the item that points to it, in the attribute of this name.
	Parent    item.Place
	Attribute string
	// Frame is the stored form.
	Frame Frame
	// From is where it is copied from, with Of its pointer there; nil of one that is new.
	From *Source
	Of   *Pointer
	// Copies says that S3 makes the copy.
	Copies bool
}

// Encoded is an encoded value: the stored form if it stays in its item, and its content if it does not.
type Encoded struct {
	// In is the value as it is stored in its item.
	In      types.AttributeValue
	content Content
	frame   []byte
	codec   compression.Name
}

// Encode returns a value as an attribute stores it.
func Encode(av types.AttributeValue, codecs compression.Codecs, a *schema.Attribute) (*Encoded, error) {
	c, err := ContentOf(av)
	if err != nil {
		return nil, err
	}
	e := &Encoded{In: Plainly(av), content: c, frame: c.Bytes}
	if codec := compression.Name(a.Large.Codec); codec != "" {
		frame, err := codecs.Compress(codec, c.Bytes)
		if err != nil {
			return nil, err
		}
		if packed := c.frame(frame, codec, a.Text()); attr.ValueSize(packed) < attr.ValueSize(e.In) {
			e.frame, e.codec = frame, codec
			if len(c.Bytes) <= MaxPacked {
				e.In = packed
			}
		}
	}
	return e, nil
}

// Length returns how many bytes the value has.
func (e *Encoded) Length() int64 { return int64(len(e.content.Bytes)) }

// External returns the value as an external value, at the attribute of a parent, in parts
// of a size in bytes.
func (e *Encoded) External(a *schema.Attribute, parent item.Place, now time.Time, partSize int) *Value {
	v := &Value{Parent: parent, Attribute: a.Name, Frame: inMemory(e.frame)}
	v.Pointer = Pointer{
		ID: NewID(now), Stored: int64(len(e.frame)), Length: int64(len(e.content.Bytes)), Kind: e.content.Kind,
		Sum: sha256.Sum256(e.content.Bytes), Codec: e.codec, Preview: previewOf(e.content, a.Large.Preview),
	}
	v.describe(a.Large, partSize)
	return v
}

// External returns a value that is not in memory, because it was given as a reader or loaded from
// another item, as an external value. It belongs to an attribute of parent, and has parts of a size in
// bytes.
func (c *Cell) External(a *schema.Attribute, codecs compression.Codecs, parent item.Place, now time.Time,
	partSize int,
) (*Value, error) {
	v := &Value{Parent: parent, Attribute: a.Name}
	if g := c.input(); g != nil {
		body, n, codec, err := g.frame(codecs, compression.Name(a.Large.Codec))
		if err != nil {
			return nil, err
		}
		v.Pointer = g.p
		v.Stored, v.Codec, v.Preview = n, codec, previewOf(Content{g.head, g.kind}, a.Large.Preview)
		v.Frame = func(context.Context, *write.Tally) io.ReaderAt { return body }
	} else {
		p := c.Pointer()
		if c.held.src == nil {
			return nil, errNoSource
		}
		v.Pointer, v.Frame, v.From, v.Of = *p, c.held.src.frame(p), c.held.src, p
		v.Preview = previewOf(Content{p.Preview, p.Kind}, a.Large.Preview)
	}
	v.ID = NewID(now)
	v.describe(a.Large, partSize)
	return v, nil
}

// describe sets the storage of a value.
func (v *Value) describe(l *schema.Large, partSize int) {
	v.Class, v.At, v.Parts, v.PartSize = Collection, "", 0, 0
	switch {
	case l.Bucket != "":
		v.Class, v.At = Object, l.Bucket
		return
	case l.Parts != "":
		v.Class, v.At = Table, l.Parts
	}
	v.PartSize = partSize
	v.Parts = int((v.Stored + int64(partSize) - 1) / int64(partSize))
}

// partLen returns how many bytes a part has.
func (p *Pointer) partLen(i int) int {
	return int(min(int64(p.PartSize), p.Stored-int64(i)*int64(p.PartSize)))
}

// part returns a function that reads a part.
func (v *Value) part(i int) func(context.Context, *write.Tally) (item.Attributes, error) {
	return func(ctx context.Context, t *write.Tally) (item.Attributes, error) {
		b := make([]byte, v.partLen(i))
		if n, err := v.Frame(ctx, t).ReadAt(b, int64(i)*int64(v.PartSize)); n < len(b) {
			return nil, fmt.Errorf("reading the value again: %w", cmp.Or(err, io.ErrUnexpectedEOF))
		}
		return item.Attributes{dataName: &types.AttributeValueMemberB{Value: b}}, nil
	}
}
