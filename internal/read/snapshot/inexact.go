package snapshot

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/large/extern"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/schema"
)

// A stored value is inexact if the Go value that was decoded from it encodes to another value, for instance because a
// nested attribute is unknown to the model. A write compares with stored values (write.Expect), a put of the whole
// item copies them, and a change of a part of one keeps the other parts (codec.Form.Graft). So the snapshot keeps
// inexact values as they are stored.

// MaxCompared is the size of the values that a condition compares, in bytes: larger ones are compared
// by their size, or not at all.
const MaxCompared = 4096

// keepStored keeps the encodings of opaque attributes, and the stored values that differ from the encodings of the
// values of v.
func (s *Snapshot) keepStored(images []item.Image, all []Stored, v any) {
	m := s.Model
	for n := range images {
		f, r := &images[n], &all[n]
		rec := v
		if f.Kind.Element() {
			if r.Pos.Index < 0 {
				continue // it is no element of the value
			}
			rec = m.Codec.Elements(f.Kind.Index).At(v, r.Pos)
		}
		if f.Kind.Opaque {
			s.keepOpaque(f, r, rec)
		}
		if !m.Reserved.Versions() {
			continue // the whole item is kept
		}
		for i, a := range f.Kind.Attributes {
			switch {
			case a.Large.External():
				s.keepPlain(f, r, rec, i)
			case a.Large != nil:
				keep(&r.Packed, i, storedValue(f, a))
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
	if value := f.Wire.Value(int(at)); !s.Model.Codec.Record(f.Kind.Index).Exact(rec, i, value) {
		keep(&r.Inexact, i, attr.Copy(value.Attribute()))
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
	if !attr.Same(own, value) {
		keep(&r.Inexact, i, attr.Copy(value))
	}
}

// keepPlain keeps the value of an external attribute, whose stored value is kept, if that is inexact.
func (s *Snapshot) keepPlain(f *item.Image, r *Stored, rec any, i int) {
	a := f.Kind.Attributes[i]
	t := a.Value.Type
	if a.Text() || t.Lazy || t.Kind == schema.Bytes {
		return
	}
	name, v := stored(f, a)
	if v == nil {
		return
	}
	if _, out := extern.PointerOf(v); out {
		v = f.Loaded[name]
	} else if unpacked, err := extern.Unpack(v, s.Model.Codecs, false); err == nil {
		v = unpacked
	}
	own, err := s.Model.Codec.Record(f.Kind.Index).Plain(rec, i)
	if v != nil && err == nil && !attr.Same(own, v) {
		keep(&r.Plain, i, v)
	}
}

// storedValue returns the value of an attribute, under the name that it has or had.
func storedValue(f *item.Image, a *schema.Attribute) types.AttributeValue {
	_, v := stored(f, a)
	return v
}

// keep keeps a value of an attribute, nil for none.
func keep(values *map[int]types.AttributeValue, i int, v types.AttributeValue) {
	if v == nil {
		delete(*values, i)
		return
	}
	if *values == nil {
		*values = map[int]types.AttributeValue{}
	}
	(*values)[i] = v
}
