// Package extern knows large values as they are stored: compressed in their items, and outside of them in parts or
// objects, which a pointer leads to. The protocol of the latter, with its records and its collector, is specified in
// internal/save/staging/spec/Large.tla.
package extern

import (
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/large/compression"
	"github.com/itemize/itemize/internal/model/attr"
)

// mark is the entry of a map that says how a large value is stored in it: a codec, plain, or where it
// is. A value that is a map with such an entry of its own is stored as the plain one of such a map,
// so that nothing can be mistaken.
const (
	mark  = "~"
	plain = "plain"
	entry = "v" // the plain value
)

// MaxPacked is the most that a value which is compressed in its item may have, in bytes: what a reader
// decompresses at most.
const MaxPacked = 64 << 20

// Content is the bytes of a value, which are compressed, and cut into parts.
type Content struct {
	Bytes []byte
	Kind  Kind
}

// Kind is the type of a value's bytes.
type Kind string

// The kinds: text, bytes, and DynamoDB's JSON of anything else.
const (
	Text   Kind = "S"
	Binary Kind = "B"
	JSON   Kind = "J"
)

// ContentOf returns the bytes of a value.
func ContentOf(av types.AttributeValue) (Content, error) {
	switch av := av.(type) {
	case *types.AttributeValueMemberS:
		return Content{[]byte(av.Value), Text}, nil
	case *types.AttributeValueMemberB:
		return Content{av.Value, Binary}, nil
	}
	b, err := jsonOf(av)
	return Content{b, JSON}, err
}

// Value returns the value that bytes are of.
func (c Content) Value() (types.AttributeValue, error) {
	switch c.Kind {
	case Text:
		return &types.AttributeValueMemberS{Value: string(c.Bytes)}, nil
	case Binary:
		return &types.AttributeValueMemberB{Value: c.Bytes}, nil
	case JSON:
		m, err := attributevalue.UnmarshalMapJSON(c.Bytes)
		if err == nil && m[entry] == nil {
			err = errors.New("the pointer is damaged: it has no value")
		}
		return m[entry], err
	}
	return nil, fmt.Errorf("the pointer is damaged: its kind %q is unknown", string(c.Kind))
}

// Plainly returns a value as it is stored in its item if it is not compressed.
func Plainly(av types.AttributeValue) types.AttributeValue {
	if m, ok := av.(*types.AttributeValueMemberM); ok && m.Value[mark] != nil {
		return marked(plain, map[string]types.AttributeValue{entry: av})
	}
	return av
}

func marked(how string, entries map[string]types.AttributeValue) types.AttributeValue {
	entries[mark] = &types.AttributeValueMemberS{Value: how}
	return &types.AttributeValueMemberM{Value: entries}
}

// Pack returns a value as it is stored in its item: by a codec compressed if that is smaller. text says that the values
// of its field are text, so that bytes are the frame of a codec and nothing else.
func Pack(av types.AttributeValue, codecs compression.Codecs, codec compression.Name,
	text bool,
) (types.AttributeValue, error) {
	as := Plainly(av)
	if codec == "" {
		return as, nil
	}
	c, err := ContentOf(av)
	if err != nil {
		return nil, err
	}
	if len(c.Bytes) > MaxPacked {
		return nil, fmt.Errorf("its %s are over the limit of %s for compression in an item: add chunk or s3 "+
			"to its tag", attr.Bytes(len(c.Bytes)), attr.Bytes(MaxPacked))
	}
	frame, err := codecs.Compress(codec, c.Bytes)
	if err != nil {
		return nil, err
	}
	packed := c.frame(frame, codec, text)
	if attr.ValueSize(packed) >= attr.ValueSize(as) {
		return as, nil
	}
	return packed, nil
}

// frame returns what a codec has made of bytes as it is stored.
func (c Content) frame(frame []byte, codec compression.Name, text bool) types.AttributeValue {
	b := &types.AttributeValueMemberB{Value: frame}
	if text && c.Kind == Text {
		return b
	}
	return marked(string(codec), map[string]types.AttributeValue{string(c.Kind): b})
}

// Unpack returns the value that is stored in its item, with any codec. An external value is returned as
// it is: see PointerOf.
func Unpack(av types.AttributeValue, codecs compression.Codecs, text bool) (types.AttributeValue, error) {
	switch v := av.(type) {
	case *types.AttributeValueMemberB:
		if !text {
			return av, nil
		}
		codec := compression.Detect(v.Value)
		if codec == "" {
			return nil, &Damaged{What: "bytes are stored, but not in a frame of a codec"}
		}
		return unframe(codecs, codec, v.Value, Text)
	case *types.AttributeValueMemberM:
		return unpackMap(v, codecs)
	}
	return av, nil
}

// Framed reports whether a value looks as one that was stored compressed.
func Framed(av types.AttributeValue) bool {
	switch v := av.(type) {
	case *types.AttributeValueMemberB:
		return compression.Detect(v.Value) != ""
	case *types.AttributeValueMemberM:
		how, ok := v.Value[mark].(*types.AttributeValueMemberS)
		return ok && compression.Exists(compression.Name(how.Value))
	}
	return false
}

func unpackMap(m *types.AttributeValueMemberM, codecs compression.Codecs) (types.AttributeValue, error) {
	how, ok := m.Value[mark].(*types.AttributeValueMemberS)
	if !ok || len(m.Value) < 2 {
		return m, nil // of before there was a tag
	}
	if v, ok := m.Value[entry].(*types.AttributeValueMemberM); ok && how.Value == plain && len(m.Value) == 2 &&
		v.Value[mark] != nil {
		return v, nil
	}
	for _, kind := range []Kind{Text, Binary, JSON} {
		if b, ok := m.Value[string(kind)].(*types.AttributeValueMemberB); ok && len(m.Value) == 2 {
			return unframe(codecs, compression.Name(how.Value), b.Value, kind)
		}
	}
	return m, nil
}

func unframe(codecs compression.Codecs, codec compression.Name, frame []byte, kind Kind) (types.AttributeValue,
	error,
) {
	b, err := codecs.Decompress(codec, frame, MaxPacked)
	if err == nil {
		var av types.AttributeValue
		if av, err = (Content{b, kind}).Value(); err == nil {
			return av, nil
		}
	}
	var limit *compression.LimitError
	var missing *compression.MissingError
	if errors.As(err, &limit) || errors.As(err, &missing) {
		return nil, err
	}
	return nil, &Damaged{What: "the compressed value", Err: err}
}

// Damaged reports that a stored value differs from the one that was written.
type Damaged struct {
	What string
	Err  error
}

func (e *Damaged) Error() string {
	if e.Err != nil {
		return e.What + ": " + e.Err.Error()
	}
	return e.What
}

// Unwrap returns the cause.
func (e *Damaged) Unwrap() error { return e.Err }

// ErrCorrupt is wrapped by every *CorruptError.
var ErrCorrupt = errors.New("itemize: large value damaged")

// CorruptError reports that the stored form of a large value is not the one that was written. A part or
// object is missing, has another length or content, or does not decompress. The item still points to
// it: the item was read strongly consistent, and the value a second time.
type CorruptError struct {
	// Model is the model's name, Field the field, and Item the key of its item.
	Model, Field, Item string
	// Err is the fault.
	Err error
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("%s.%s: item %s: the large value is damaged: %v: restore it, or set the field again", e.Model,
		e.Field, e.Item, e.Err)
}

// Unwrap returns ErrCorrupt and the fault.
func (e *CorruptError) Unwrap() []error { return []error{ErrCorrupt, e.Err} }
