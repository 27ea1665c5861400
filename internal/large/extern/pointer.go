package extern

import (
	"crypto/sha256"
	"strconv"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/large/compression"
	"github.com/itemize/itemize/internal/model/item"
)

// Class is the kind of storage of an external value.
type Class string

// The classes: chunks in the table of the model or of its records, chunks in a table of their own, an object.
const (
	Collection Class = "chunk"
	Table      Class = "table"
	Object     Class = "s3"
)

// Pointer is the part of an external value that is stored in its item.
type Pointer struct {
	ID    string
	Class Class
	// At is the table or bucket, by its declared name; "" for parts in the table of the records.
	At string
	// Parts is the number of parts. Each has PartSize bytes, except the last.
	Parts, PartSize int
	// Stored is the number of stored bytes, and Length the number of bytes of the value, whose kind is Kind and whose
	// SHA-256 is Sum.
	Stored, Length int64
	Kind           Kind
	Sum            [sha256.Size]byte
	// Codec is the compression codec, "" for none.
	Codec compression.Name
	// Preview is the beginning of it, nil for none.
	Preview []byte
}

// The entries of a pointer's map.
const (
	entryID, entryAt, entryParts, entrySize, entryStored = "id", "at", "parts", "size", "stored"
	entryLength, entryKind, entrySum, entryCodec         = "length", "kind", "sha256", "codec"
	entryPreview                                         = "preview"
)

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// Attribute returns the pointer as it is stored.
func (p *Pointer) Attribute() types.AttributeValue {
	m := item.Attributes{
		entryID: text(p.ID), entryLength: number(p.Length), entryKind: text(string(p.Kind)),
		entrySum: &types.AttributeValueMemberB{Value: p.Sum[:]},
	}
	if p.At != "" {
		m[entryAt] = text(p.At)
	}
	if p.Class != Object {
		m[entryParts], m[entrySize] = number(int64(p.Parts)), number(int64(p.PartSize))
	}
	if p.Codec != "" {
		m[entryCodec], m[entryStored] = text(string(p.Codec)), number(p.Stored)
	}
	switch {
	case p.Preview == nil:
	case p.Kind == Text:
		m[entryPreview] = text(string(p.Preview))
	default:
		m[entryPreview] = &types.AttributeValueMemberB{Value: p.Preview}
	}
	return marked(string(p.Class), m)
}

// PointerOf returns the pointer that an attribute holds; ok is false of another value.
func PointerOf(av types.AttributeValue) (p *Pointer, ok bool) {
	m, ok := av.(*types.AttributeValueMemberM)
	if !ok {
		return nil, false
	}
	r := reading{m: m.Value}
	p = &Pointer{
		Class: Class(r.text(mark)), ID: r.text(entryID), Kind: Kind(r.text(entryKind)),
		Length: r.number(entryLength),
	}
	switch p.Class {
	case Collection, Table, Object:
	default:
		return nil, false
	}
	p.At, p.Codec = r.optional(entryAt), compression.Name(r.optional(entryCodec))
	if p.Class != Object {
		p.Parts, p.PartSize = int(r.number(entryParts)), int(r.number(entrySize))
	}
	if p.Stored = p.Length; p.Codec != "" {
		p.Stored = r.number(entryStored)
	}
	sum, _ := m.Value[entrySum].(*types.AttributeValueMemberB)
	if sum == nil || len(sum.Value) != sha256.Size || r.bad {
		return nil, false
	}
	copy(p.Sum[:], sum.Value)
	switch v := m.Value[entryPreview].(type) {
	case *types.AttributeValueMemberS:
		p.Preview = []byte(v.Value)
	case *types.AttributeValueMemberB:
		p.Preview = v.Value
	}
	return p, true
}

// reading reads entries of a map. bad reports that an entry was missing, or of another type.
type reading struct {
	m   item.Attributes
	bad bool
}

func (r *reading) text(name string) string {
	v, ok := r.m[name].(*types.AttributeValueMemberS)
	if !ok {
		r.bad = true
		return ""
	}
	return v.Value
}

func (r *reading) optional(name string) string {
	if r.m[name] == nil {
		return ""
	}
	return r.text(name)
}

func (r *reading) number(name string) int64 {
	v, ok := r.m[name].(*types.AttributeValueMemberN)
	if !ok {
		r.bad = true
		return 0
	}
	n, err := strconv.ParseInt(v.Value, 10, 64)
	r.bad = r.bad || err != nil || n < 0
	return n
}

// previewOf returns the first n bytes of a content: of text no half of a character.
func previewOf(c Content, n int) []byte {
	if n == 0 {
		return nil
	}
	b := c.Bytes[:min(n, len(c.Bytes))]
	for c.Kind == Text && len(b) > 0 && len(b) < len(c.Bytes) && !utf8.RuneStart(c.Bytes[len(b)]) {
		b = b[:len(b)-1]
	}
	return append(make([]byte, 0, len(b)), b...)
}

// Digest identifies a value.
func Digest(av types.AttributeValue) [sha256.Size]byte {
	c, err := ContentOf(av)
	if err != nil {
		return [sha256.Size]byte{}
	}
	return sha256.Sum256(append([]byte(c.Kind), c.Bytes...))
}

// Same reports whether a stored value, or the value that a pointer leads to, is this one.
func Same(stored, av types.AttributeValue, codecs compression.Codecs, isText bool,
	same func(a, b types.AttributeValue) bool,
) bool {
	p, ok := PointerOf(stored)
	q, lazy := PointerOf(av)
	switch {
	case ok && lazy:
		return p.ID == q.ID || p.Kind == q.Kind && p.Length == q.Length && p.Sum == q.Sum
	case !ok:
		was, err := Unpack(stored, codecs, isText)
		if err != nil || !lazy {
			return err == nil && same(was, av)
		}
		c, err := ContentOf(was)
		return err == nil && c.Kind == q.Kind && int64(len(c.Bytes)) == q.Length && sha256.Sum256(c.Bytes) == q.Sum
	}
	c, err := ContentOf(av)
	return err == nil && c.Kind == p.Kind && int64(len(c.Bytes)) == p.Length && sha256.Sum256(c.Bytes) == p.Sum
}
