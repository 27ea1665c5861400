package snapshot

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/attr"
	"github.com/itemize/itemize/internal/item"
	"github.com/itemize/itemize/internal/schema"
	"github.com/itemize/itemize/internal/wire"
)

// A write compares the values that were read with those that are stored (write.Expect). It compares
// with the stored value: the Go value may encode to another one, for instance because a nested
// attribute is unknown to the model. The snapshot keeps stored values only if they differ, and only up
// to the size that a condition compares.

// MaxCompared is the size of the values that a condition compares, in bytes: larger ones are compared
// by their size, or not at all.
const MaxCompared = 4096

// keepInexact keeps the stored values that differ from the encodings of the values of v.
func (s *Snapshot) keepInexact(images []item.Image, all []Stored, v any) {
	m := s.Model
	if m.VersionsOnly {
		return
	}
	for n := range images {
		f, r := &images[n], &all[n]
		if r.Header.Version == nil {
			continue // the whole item is kept
		}
		rec := v
		if f.Kind.Element() {
			if r.Pos.Index < 0 {
				continue // it is no element of the value
			}
			rec = m.Codec.Elements(f.Kind.Index).At(v, r.Pos)
		}
		for i, a := range f.Kind.Attributes {
			switch {
			case a.Large.External(): // its stored value is kept
			case a.Large != nil:
				r.keepPacked(i, storedValue(f, a))
			// AfterLoad may have changed the decoded value
			case a.Straight && f.Wire.Shape != nil && !a.Opaque && !m.Schema.Hooks:
				s.keepInexactWire(f, r, rec, i)
			default:
				s.keepInexactValue(f, r, rec, i)
			}
		}
	}
}

// keepInexactWire keeps an attribute of an item from the wire.
func (s *Snapshot) keepInexactWire(f *item.Image, r *Stored, rec any, i int) {
	at := f.At[i]
	if at < 0 {
		return
	}
	value, size := f.Wire.Value(int(at)), f.Wire.Size(int(at))
	sized := value.Kind() == wire.S || value.Kind() == wire.B
	switch {
	case size > MaxCompared && !sized:
		r.keepInexact(i, nil) // too large to be compared
	case s.Model.Codec.Record(f.Kind.Index).Exact(rec, i, value):
	case size > MaxCompared:
		r.keepInexact(i, nil)
	default:
		r.keepInexact(i, attr.Copy(value.Attribute()))
	}
}

// keepInexactValue keeps an attribute by encoding it again.
func (s *Snapshot) keepInexactValue(f *item.Image, r *Stored, rec any, i int) {
	value := storedValue(f, f.Kind.Attributes[i])
	if value == nil {
		return
	}
	var own types.AttributeValue
	if f.Kind.Attributes[i].Opaque {
		own = r.Opaque[i]
	} else {
		own, _ = s.Model.Codec.Record(f.Kind.Index).Encode(rec, i)
	}
	switch {
	case attr.Same(own, value):
	case attr.ValueSize(value) > MaxCompared:
		r.keepInexact(i, nil)
	default:
		r.keepInexact(i, attr.Copy(value))
	}
}

// storedValue returns the value of an attribute, under the name that it has or had.
func storedValue(f *item.Image, a *schema.Attribute) types.AttributeValue {
	_, v := stored(f, a)
	return v
}

// keepPacked notes how an attribute that is compressed if that is smaller can be compared: a binary by
// its size, another value not.
func (r *Stored) keepPacked(i int, v types.AttributeValue) {
	if _, isBinary := v.(*types.AttributeValueMemberB); v != nil && !isBinary {
		r.keepInexact(i, nil)
	}
}

func (r *Stored) keepInexact(i int, v types.AttributeValue) {
	if r.Inexact == nil {
		r.Inexact = map[int]types.AttributeValue{}
	}
	r.Inexact[i] = v
}
