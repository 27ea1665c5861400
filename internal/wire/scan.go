package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"math/bits"
	"slices"
	"unicode/utf8"
	"unsafe"

	"github.com/itemize/itemize/internal/attr"
)

// Kind is the type of an attribute value.
type Kind uint8

// The kinds, by their names in JSON.
const (
	S Kind = iota + 1
	N
	B
	BOOL
	NULL
	L
	M
	SS
	NS
	BS
)

// kindOf returns the kind of a name, 0 for an unknown one.
func kindOf(name []byte) Kind {
	switch string(name) {
	case "S":
		return S
	case "N":
		return N
	case "B":
		return B
	case "BOOL":
		return BOOL
	case "NULL":
		return NULL
	case "L":
		return L
	case "M":
		return M
	case "SS":
		return SS
	case "NS":
		return NS
	case "BS":
		return BS
	}
	return 0
}

// cell is where a value lies: a string or number between its quotes, a list, map or set
// with its brackets. What had escapes, and bytes, lie decoded in the side memory.
type cell struct {
	at, n uint32
	// size is the value's size in bytes, as DynamoDB counts it.
	size uint32
	// count is how many elements a list, map or set has, as far as it can count.
	count uint16
	kind  Kind
	side  bool
}

// maxDepth is deeper than DynamoDB nests values (32 levels): what is deeper yet is left to the SDK.
const maxDepth = 40

// maxBody is the largest answer that cells can point into.
const maxBody = math.MaxUint32

// scanner reads JSON. Its methods report whether what they found is what they expect;
// they do not say what is wrong, since the SDK reads the answer then.
type scanner struct {
	b []byte
	i int
	// side holds strings whose escapes were undone, and decoded bytes.
	side []byte
	// names are those of the members of open objects, to find one that comes twice.
	names []string
}

// space passes over white space, and returns what follows: 0 at the end.
func (s *scanner) space() byte {
	for s.i < len(s.b) {
		switch c := s.b[s.i]; c {
		case ' ', '\t', '\n', '\r':
			s.i++
		default:
			return c
		}
	}
	return 0
}

// is passes over a token of one byte, if it comes next.
func (s *scanner) is(c byte) bool {
	if s.i < len(s.b) && s.b[s.i] == c { // as nearly always
		s.i++
		return true
	}
	if s.space() != c || s.i >= len(s.b) {
		return false
	}
	s.i++
	return true
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// stops has the high bit set of each byte that ends a plain run in a string: a quote, a
// backslash, a control character.
func stops(v uint64) uint64 {
	quote, slash := v^ones*'"', v^ones*'\\'
	return ((v-ones*0x20)&^v | (quote-ones)&^quote | (slash-ones)&^slash) & highs
}

// stop returns the place of the next byte that ends a plain run in a string, len(b) for none.
func stop(b []byte, i int) int {
	for ; i+8 <= len(b); i += 8 {
		// The lowest of the bits is exact; those above it may be there because of it.
		if found := stops(binary.LittleEndian.Uint64(b[i:])); found != 0 {
			return i + bits.TrailingZeros64(found)>>3
		}
	}
	for ; i < len(b) && b[i] != '"' && b[i] != '\\' && b[i] >= 0x20; i++ {
	}
	return i
}

// quoted passes over a string, and returns what is between its quotes, as it is written.
func (s *scanner) quoted() (raw []byte, escaped, ok bool) {
	if !s.is('"') {
		return nil, false, false
	}
	return s.unquoted()
}

// unquoted is quoted behind the first quote.
func (s *scanner) unquoted() (raw []byte, escaped, ok bool) {
	b, start := s.b, s.i
	for i := start; ; {
		i = stop(b, i)
		switch {
		case i >= len(b) || b[i] < 0x20:
			return nil, false, false
		case b[i] == '"':
			s.i = i + 1
			return b[start:i], escaped, true
		}
		n := escape(b[i:])
		if n == 0 {
			return nil, false, false
		}
		escaped, i = true, i+n
	}
}

// escape returns the length of the escape that b begins with, 0 for one that is wrong.
func escape(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(b) < 6 || hex(b[2:6]) < 0 {
			return 0
		}
		return 6
	}
	return 0
}

// hex returns the number of four digits, -1 for other text.
func hex(b []byte) rune {
	var r rune
	for _, c := range b[:4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}

// unescape appends a string without its escapes. As in encoding/json, what is no valid
// UTF-8 and halves of surrogates become U+FFFD, in strings that have an escape.
func unescape(to, raw []byte) []byte {
	if !utf8.Valid(raw) || bytes.Contains(raw, []byte(`\u`)) {
		var text string
		_ = json.Unmarshal(slices.Concat([]byte{'"'}, raw, []byte{'"'}), &text) // it is known to be a string
		return append(to, text...)
	}
	for {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 {
			return append(to, raw...)
		}
		to, raw = append(append(to, raw[:i]...), unescaped[raw[i+1]]), raw[i+2:]
	}
}

var unescaped = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// text passes over a string, and notes where it lies.
func (s *scanner) text() (c cell, text []byte, ok bool) {
	if !s.is('"') {
		return cell{}, nil, false
	}
	raw, escaped, ok := s.unquoted()
	if !ok {
		return cell{}, nil, false
	}
	if !escaped {
		return cell{at: uint32(s.i - 1 - len(raw)), n: uint32(len(raw))}, raw, true
	}
	from := len(s.side)
	s.side = unescape(s.side, raw)
	return cell{at: uint32(from), n: uint32(len(s.side) - from), side: true}, s.side[from:], true
}

// blob passes over bytes, and decodes them.
func (s *scanner) blob() (c cell, ok bool) {
	raw, escaped, ok := s.quoted()
	if !ok {
		return cell{}, false
	}
	if escaped {
		raw = unescape(nil, raw)
	}
	from := len(s.side)
	s.side = slices.Grow(s.side, base64.StdEncoding.DecodedLen(len(raw)))
	n, err := base64.StdEncoding.Decode(s.side[from:cap(s.side)], raw)
	if err != nil {
		return cell{}, false
	}
	s.side = s.side[:from+n]
	return cell{at: uint32(from), n: uint32(n), size: uint32(n), kind: B, side: true}, true
}

// value passes over an attribute value: an object with one member, its type.
func (s *scanner) value(depth int) (c cell, ok bool) {
	k := s.kind()
	if k == 0 {
		return cell{}, false
	}
	if c, ok = s.content(k, depth); !ok {
		return cell{}, false
	}
	return c, s.is('}')
}

// kind passes over the beginning of an attribute value up to its content, and returns the type: 0 for none.
func (s *scanner) kind() Kind {
	if b := s.b[s.i:]; len(b) > 5 && b[0] == '{' && b[1] == '"' && b[3] == '"' && b[4] == ':' {
		s.i += 5
		return letters[b[2]]
	}
	if !s.is('{') {
		return 0
	}
	name, escaped, ok := s.quoted()
	if !ok || escaped || !s.is(':') {
		return 0
	}
	return kindOf(name)
}

var letters = [256]Kind{'S': S, 'N': N, 'B': B, 'L': L, 'M': M}

// content passes over what an attribute value of a kind holds.
func (s *scanner) content(k Kind, depth int) (c cell, ok bool) {
	switch k {
	case S:
		c, _, ok = s.text()
		c.kind, c.size = S, c.n
	case N:
		var text []byte
		c, text, ok = s.text()
		c.kind, c.size = N, uint32(numberSize(text))
	case B:
		c, ok = s.blob()
	case BOOL, NULL:
		c, ok = s.boolean()
		c.kind, c.size = k, 1
	case L, M, SS, NS, BS:
		c, ok = s.nested(k, depth)
	}
	return c, ok
}

func numberSize(text []byte) int {
	return attr.NumberSize(unsafe.String(unsafe.SliceData(text), len(text)))
}

// boolean passes over true or false.
func (s *scanner) boolean() (c cell, ok bool) {
	s.space()
	for _, word := range []string{"true", "false"} {
		if rest := s.b[s.i:]; len(rest) >= len(word) && string(rest[:len(word)]) == word {
			s.i += len(word)
			return cell{at: uint32(s.i - len(word)), n: uint32(len(word))}, true
		}
	}
	return cell{}, false
}

// nested passes over a list, map or set. What it puts aside on the way it takes away: it
// is decoded anew by who wants it.
func (s *scanner) nested(k Kind, depth int) (c cell, ok bool) {
	if depth >= maxDepth {
		return cell{}, false
	}
	s.space()
	at, side := s.i, len(s.side)
	var size, n int
	switch k {
	case L:
		size, n, ok = s.list(func() (int, bool) {
			e, ok := s.value(depth + 1)
			return 1 + int(e.size), ok
		})
		size += collection
	case M:
		size, n, ok = s.object(depth)
		size += collection
	case SS, NS:
		size, n, ok = s.list(func() (int, bool) {
			e, text, ok := s.text()
			if k == NS {
				return numberSize(text), ok
			}
			return int(e.n), ok
		})
	case BS:
		size, n, ok = s.list(func() (int, bool) {
			e, ok := s.blob()
			return int(e.n), ok
		})
	}
	s.side = s.side[:side]
	return cell{at: uint32(at), n: uint32(s.i - at), size: uint32(size), kind: k, count: uint16(min(n, manyElements))}, ok
}

// manyElements is the count of a cell that has so many elements, or more.
const manyElements = math.MaxUint16

// collection is what a list or map adds to the sizes of its elements, in bytes.
const collection = 3

// list passes over an array, sums up what element returns of each, and counts them.
func (s *scanner) list(element func() (int, bool)) (size, count int, ok bool) {
	if !s.is('[') {
		return 0, 0, false
	}
	if s.is(']') {
		return 0, 0, true
	}
	for {
		n, ok := element()
		if !ok {
			return 0, 0, false
		}
		size, count = size+n, count+1
		if !s.is(',') {
			return size, count, s.is(']')
		}
	}
}

// object passes over the entries of a map.
func (s *scanner) object(depth int) (size, count int, ok bool) {
	if !s.is('{') {
		return 0, 0, false
	}
	if s.is('}') {
		return 0, 0, true
	}
	first := len(s.names)
	for {
		_, name, ok := s.text()
		if !ok || !s.is(':') {
			return 0, 0, false
		}
		s.names = append(s.names, unsafe.String(unsafe.SliceData(name), len(name)))
		n := len(name)
		e, ok := s.value(depth + 1)
		if !ok {
			return 0, 0, false
		}
		size += 1 + n + int(e.size)
		if s.is(',') {
			continue
		}
		names := s.names[first:]
		s.names = s.names[:first]
		return size, len(names), s.is('}') && distinct(names)
	}
}

// distinct reports whether no name comes twice.
func distinct(names []string) bool {
	if len(names) > 16 {
		seen := make(map[string]bool, len(names))
		for _, n := range names {
			if seen[n] {
				return false
			}
			seen[n] = true
		}
		return true
	}
	for i, n := range names {
		for _, o := range names[:i] {
			if n == o {
				return false
			}
		}
	}
	return true
}

// skip passes over any JSON value.
func (s *scanner) skip(depth int) bool {
	if depth > maxDepth {
		return false
	}
	switch s.space() {
	case '"':
		_, _, ok := s.quoted()
		return ok
	case '{':
		s.i++
		if s.is('}') {
			return true
		}
		for {
			if _, _, ok := s.quoted(); !ok || !s.is(':') || !s.skip(depth+1) {
				return false
			}
			if !s.is(',') {
				return s.is('}')
			}
		}
	case '[':
		_, _, ok := s.list(func() (int, bool) { return 0, s.skip(depth + 1) })
		return ok
	}
	from := s.i
	for s.i < len(s.b) && !bytes.ContainsRune([]byte(" \t\r\n,]}"), rune(s.b[s.i])) {
		s.i++
	}
	return json.Valid(s.b[from:s.i])
}
