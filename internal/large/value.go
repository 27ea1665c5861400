package large

import (
	"crypto/sha256"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/attr"
	"github.com/itemize/itemize/internal/compress"
	"github.com/itemize/itemize/internal/item"
	"github.com/itemize/itemize/internal/schema"
)

// PartSize is how many bytes of a value lie in a part. Decoding a part's answer takes the SDK four to five times its
// size, so that parts near the limit of 400 KB would make parallel reads costly in memory.
const PartSize = 256 << 10

// Value is a value that is to be stored outside its item.
type Value struct {
	Pointer
	// Parent is the item that points to it, in the attribute of this name.
	Parent    item.Place
	Attribute string
	// Frame is what is stored.
	Frame []byte
}

// Bounds of an encoded value: as it is stored if it stays in its item, and the content if it does not.
type Encoded struct {
	// In is the value as it is stored in its item.
	In      types.AttributeValue
	content Content
	frame   []byte
	codec   compress.Codec
}

// Encode returns a value as an attribute stores it.
func Encode(av types.AttributeValue, a *schema.Attribute) (*Encoded, error) {
	c, err := ContentOf(av)
	if err != nil {
		return nil, err
	}
	e := &Encoded{In: Plainly(av), content: c, frame: c.Bytes}
	if codec := compress.Codec(a.Large.Codec); codec != "" {
		frame, err := compress.Compress(codec, c.Bytes)
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

// Outside returns the value as one that lies outside its item, at the attribute of a parent, in parts of a size in bytes.
func (e *Encoded) Outside(a *schema.Attribute, parent item.Place, now time.Time, partSize int) *Value {
	l := a.Large
	v := &Value{Parent: parent, Attribute: a.Name, Frame: e.frame}
	v.Pointer = Pointer{
		ID: NewID(now), Way: Collection, Stored: int64(len(e.frame)), Length: int64(len(e.content.Bytes)), Kind: e.content.Kind,
		Sum: sha256.Sum256(e.content.Bytes), Codec: e.codec, Preview: previewOf(e.content, l.Preview),
	}
	switch {
	case l.Bucket != "":
		v.Way, v.At = Object, l.Bucket
		return v
	case l.Parts != "":
		v.Way, v.At = Table, l.Parts
	}
	v.PartSize = partSize
	v.Parts = (len(e.frame) + partSize - 1) / partSize
	return v
}

// part returns the bytes of a part.
func (v *Value) part(i int) []byte {
	return v.Frame[i*v.PartSize : min((i+1)*v.PartSize, len(v.Frame))]
}
