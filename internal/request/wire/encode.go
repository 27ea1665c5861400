package wire

import (
	"encoding/base64"
	"math/big"
	"slices"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"
	"unsafe"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
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
	// items are the items of the puts to come. They are written here, which takes little more than half the time of
	// the SDK's code. It writes an input with empty items, which is made of the fields below.
	items    []map[string]types.AttributeValue
	written  int // of the items
	put      dynamodb.PutItemInput
	transact dynamodb.TransactWriteItemsInput
	batch    dynamodb.BatchWriteItemInput
	parts    []types.TransactWriteItem
	puts     []types.Put
	writes   []types.WriteRequest
	requests []types.PutRequest
}

// noItem takes the place of the items.
var noItem = map[string]types.AttributeValue{}

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
	e.withoutItems(in).Serialize(e)
	b, ok = append(room[:0], e.b...), !e.foreign && e.written == len(e.items)
	e.forget()
	if cap(e.b) <= maxEncoder {
		encoders.Put(e)
	}
	return b, ok
}

// withoutItems returns an input in which the items of puts are empty, and notes the items in their order.
func (e *encoder) withoutItems(in smithy.Serializable) smithy.Serializable {
	switch in := in.(type) {
	case *dynamodb.PutItemInput:
		if in.Item == nil {
			return in
		}
		e.items = append(e.items, in.Item)
		e.put = *in
		e.put.Item = noItem
		return &e.put
	case *dynamodb.TransactWriteItemsInput:
		if len(in.TransactItems) == 0 {
			return in
		}
		e.transact = *in
		e.parts = append(e.parts, in.TransactItems...)
		e.puts = slices.Grow(e.puts, len(e.parts)) // not to be moved
		for i := range e.parts {
			if p := e.parts[i].Put; p != nil && p.Item != nil {
				e.items, e.puts = append(e.items, p.Item), append(e.puts, *p)
				p = &e.puts[len(e.puts)-1]
				p.Item, e.parts[i].Put = noItem, p
			}
		}
		e.transact.TransactItems = e.parts
		return &e.transact
	case *dynamodb.BatchWriteItemInput:
		if len(in.RequestItems) != 1 {
			return in // the order of the tables is random
		}
		e.batch = *in
		for table, all := range in.RequestItems {
			if len(all) == 0 {
				return in
			}
			e.writes = append(e.writes, all...)
			e.requests = slices.Grow(e.requests, len(all))
			for i := range e.writes {
				if p := e.writes[i].PutRequest; p != nil && p.Item != nil {
					e.items, e.requests = append(e.items, p.Item), append(e.requests, *p)
					p = &e.requests[len(e.requests)-1]
					p.Item, e.writes[i].PutRequest = noItem, p
				}
			}
			e.batch.RequestItems = map[string][]types.WriteRequest{table: e.writes}
		}
		return &e.batch
	}
	return in
}

// forget drops what belongs to an input.
func (e *encoder) forget() {
	clear(e.items)
	clear(e.parts)
	clear(e.puts)
	clear(e.writes)
	clear(e.requests)
	e.items, e.written, e.parts, e.puts = e.items[:0], 0, e.parts[:0], e.puts[:0]
	e.writes, e.requests = e.writes[:0], e.requests[:0]
	e.put, e.transact, e.batch = dynamodb.PutItemInput{}, dynamodb.TransactWriteItemsInput{},
		dynamodb.BatchWriteItemInput{}
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

func (e *encoder) WriteMap(s *smithy.Schema) {
	e.begin(s, '{', '}')
	if e.written < len(e.items) && s.MemberName() == "Item" {
		e.attributes(e.items[e.written])
		e.written++
	}
}
func (e *encoder) WriteList(s *smithy.Schema) { e.begin(s, '[', ']') }
func (e *encoder) CloseStruct()               { e.end() }
func (e *encoder) CloseMap()                  { e.end() }
func (e *encoder) CloseList()                 { e.end() }
func (e *encoder) CloseUnion()                { e.end() }

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
	e.blob(v)
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

// attributes writes the entries of an item or a map, without its braces.
func (e *encoder) attributes(all map[string]types.AttributeValue) {
	for name, v := range all {
		e.comma()
		e.text(name)
		e.b = append(e.b, ':')
		e.value(v)
	}
}

// value writes an attribute value.
func (e *encoder) value(v types.AttributeValue) {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		e.b = append(e.b, `{"S":`...)
		e.text(v.Value)
	case *types.AttributeValueMemberN:
		e.b = append(e.b, `{"N":`...)
		e.text(v.Value)
	case *types.AttributeValueMemberB:
		e.b = append(e.b, `{"B":`...)
		e.blob(v.Value)
	case *types.AttributeValueMemberBOOL:
		e.b = strconv.AppendBool(append(e.b, `{"BOOL":`...), v.Value)
	case *types.AttributeValueMemberNULL:
		e.b = strconv.AppendBool(append(e.b, `{"NULL":`...), v.Value)
	case *types.AttributeValueMemberM:
		e.b = append(e.b, `{"M":{`...)
		e.attributes(v.Value)
		e.b = append(e.b, '}')
	case *types.AttributeValueMemberL:
		writeAll(e, "L", v.Value, e.value)
	case *types.AttributeValueMemberSS:
		writeAll(e, "SS", v.Value, e.text)
	case *types.AttributeValueMemberNS:
		writeAll(e, "NS", v.Value, e.text)
	case *types.AttributeValueMemberBS:
		writeAll(e, "BS", v.Value, e.blob)
	default: // the SDK knows what to do
		e.foreign = true
		return
	}
	e.b = append(e.b, '}')
}

// writeAll writes the elements of a list or set.
func writeAll[E any](e *encoder, kind string, all []E, write func(E)) {
	e.b = append(append(append(e.b, `{"`...), kind...), `":[`...)
	for i, x := range all {
		if i > 0 {
			e.b = append(e.b, ',')
		}
		write(x)
	}
	e.b = append(e.b, ']')
}

// blob writes bytes in base64, and nil as null.
func (e *encoder) blob(v []byte) {
	if v == nil {
		e.b = append(e.b, "null"...)
		return
	}
	e.b = append(base64.StdEncoding.AppendEncode(append(e.b, '"'), v), '"')
}

// text writes a string between quotes.
func (e *encoder) text(v string) {
	b := unsafe.Slice(unsafe.StringData(v), len(v)) // to look at
	if !isPlain(b) {
		e.special(b)
		return
	}
	e.b = append(append(append(e.b, '"'), b...), '"')
}

// isPlain reports whether a string is ASCII, and written as it is. It may say no of one that is.
func isPlain(b []byte) bool {
	i := 0
	var found uint64
	for ; i+8 <= len(b); i += 8 {
		w := word(b, i)
		found |= stops(w) | w
	}
	if found&highs != 0 {
		return false
	}
	for ; i < len(b); i++ {
		if c := b[i]; c < 0x20 || c >= 0x80 || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// special is text of a string that may need escapes.
func (e *encoder) special(b []byte) {
	if !utf8.Valid(b) {
		b = []byte(validText(string(b)))
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
