package wire

import (
	"encoding/base64"
	"math/big"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"
	"unsafe"

	smithy "github.com/aws/smithy-go"
	"github.com/aws/smithy-go/document"
)

// encoder writes an input as JSON. What no request for items holds it does not know: such an input is
// foreign to it, and serialized by the SDK.
type encoder struct {
	b []byte
	// open are the closing brackets and braces that are still to be written.
	open []byte
	// keyed reports that the next value's name is written.
	keyed   bool
	foreign bool
}

var _ smithy.ShapeSerializer = (*encoder)(nil)

// encoders are those that are not at work.
var encoders = sync.Pool{New: func() any { return new(encoder) }}

// maxEncoder bounds the memory of an encoder that is kept, in bytes.
const maxEncoder = 1 << 20

// encode returns an input as JSON, in room if it is large enough. ok is false for an input with foreign
// fields.
func encode(in smithy.Serializable, room []byte) (b []byte, ok bool) {
	e := encoders.Get().(*encoder)
	e.b, e.open, e.keyed, e.foreign = e.b[:0], e.open[:0], false, false
	in.Serialize(e)
	b, ok = append(room[:0], e.b...), !e.foreign
	if cap(e.b) <= maxEncoder {
		encoders.Put(e)
	}
	return b, ok
}

// Bytes returns the JSON.
func (e *encoder) Bytes() []byte { return e.b }

// name writes the text before a value: a comma after another value, and a member's name.
func (e *encoder) name(s *smithy.Schema) {
	if e.keyed {
		e.keyed = false
		return
	}
	e.comma()
	if n := len(e.open); n > 0 && e.open[n-1] == '}' {
		e.b = append(append(append(e.b, '"'), s.MemberName()...), '"', ':')
	}
}

// comma writes a comma if there was a value before.
func (e *encoder) comma() {
	if n := len(e.b); n > 0 && e.b[n-1] != '{' && e.b[n-1] != '[' {
		e.b = append(e.b, ',')
	}
}

func (e *encoder) begin(s *smithy.Schema, from, to byte) {
	e.name(s)
	e.b, e.open = append(e.b, from), append(e.open, to)
}

func (e *encoder) end() {
	last := len(e.open) - 1
	e.b, e.open, e.keyed = append(e.b, e.open[last]), e.open[:last], false
}

// WriteStruct and the others are described at [smithy.ShapeSerializer].
func (e *encoder) WriteStruct(s *smithy.Schema) { e.begin(s, '{', '}') }
func (e *encoder) WriteMap(s *smithy.Schema)    { e.begin(s, '{', '}') }
func (e *encoder) WriteList(s *smithy.Schema)   { e.begin(s, '[', ']') }
func (e *encoder) CloseStruct()                 { e.end() }
func (e *encoder) CloseMap()                    { e.end() }
func (e *encoder) CloseList()                   { e.end() }
func (e *encoder) CloseUnion()                  { e.end() }

// WriteUnion begins an object with one member.
func (e *encoder) WriteUnion(s, variant *smithy.Schema) {
	e.begin(s, '{', '}')
	e.name(variant)
	e.keyed = true
}

// WriteKey writes the name of a map's entry.
func (e *encoder) WriteKey(_ *smithy.Schema, key string) {
	e.comma()
	e.text(key)
	e.b, e.keyed = append(e.b, ':'), true
}

// WriteString writes a string.
func (e *encoder) WriteString(s *smithy.Schema, v string) {
	e.name(s)
	e.text(v)
}

// WriteBlob writes bytes in base64, and nil as null.
func (e *encoder) WriteBlob(s *smithy.Schema, v []byte) {
	e.name(s)
	if v == nil {
		e.b = append(e.b, "null"...)
		return
	}
	e.b = append(base64.StdEncoding.AppendEncode(append(e.b, '"'), v), '"')
}

// WriteBool writes a truth value.
func (e *encoder) WriteBool(s *smithy.Schema, v bool) {
	e.name(s)
	e.b = strconv.AppendBool(e.b, v)
}

// WriteInt32 writes a number, and so does WriteInt64.
func (e *encoder) WriteInt32(s *smithy.Schema, v int32) { e.WriteInt64(s, int64(v)) }

// WriteInt64 writes a number.
func (e *encoder) WriteInt64(s *smithy.Schema, v int64) {
	e.name(s)
	e.b = strconv.AppendInt(e.b, v, 10)
}

// The others are foreign.
func (e *encoder) WriteInt8(*smithy.Schema, int8)               { e.foreign = true }
func (e *encoder) WriteInt16(*smithy.Schema, int16)             { e.foreign = true }
func (e *encoder) WriteFloat32(*smithy.Schema, float32)         { e.foreign = true }
func (e *encoder) WriteFloat64(*smithy.Schema, float64)         { e.foreign = true }
func (e *encoder) WriteBigInt(*smithy.Schema, *big.Int)         { e.foreign = true }
func (e *encoder) WriteBigFloat(*smithy.Schema, *big.Float)     { e.foreign = true }
func (e *encoder) WriteTime(*smithy.Schema, time.Time)          { e.foreign = true }
func (e *encoder) WriteDocument(*smithy.Schema, document.Value) { e.foreign = true }
func (e *encoder) WriteNil(*smithy.Schema)                      { e.foreign = true }

// text writes a string between quotes.
func (e *encoder) text(v string) {
	b := unsafe.Slice(unsafe.StringData(v), len(v)) // to look at
	if !utf8.ValidString(v) {
		b = []byte(validText(v))
	}
	e.b = append(e.b, '"')
	for {
		i := stop(b, 0)
		e.b = append(e.b, b[:i]...)
		if i == len(b) {
			e.b = append(e.b, '"')
			return
		}
		e.b, b = appendEscape(e.b, b[i]), b[i+1:]
	}
}

// validText is a text with U+FFFD for each byte that is no part of a character, as in encoding/json.
func validText(v string) string { return string([]rune(v)) }

// appendEscape appends a quote, backslash or control character as it is written in a string.
func appendEscape(to []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(to, '\\', c)
	case '\n':
		return append(to, `\n`...)
	case '\r':
		return append(to, `\r`...)
	case '\t':
		return append(to, `\t`...)
	}
	return append(to, '\\', 'u', '0', '0', digits[c>>4], digits[c&0xF])
}

const digits = "0123456789abcdef"
