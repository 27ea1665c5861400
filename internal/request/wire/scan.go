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

	"github.com/itemize/itemize/internal/model/attr"
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

// cell is the position of a value. A string or number is between its quotes in the answer, or, decoded,
// in the side memory, where bytes are too. The elements of a list or set have cells of their own, and
// each entry of a map has two.
type cell struct {
	at, n uint32
	// size is the value's size in bytes, as DynamoDB counts it.
	size uint32
	// kind is the value's type, with the bit aside for a value in the side memory. (Four words fit in
	// registers.)
	kind Kind
}

// aside is the bit of a cell's kind for the side memory.
const deferred Kind = 1 << 7

// maxDepth is more than DynamoDB's depth limit of 32 levels. The SDK decodes deeper values.
const maxDepth = 40

// maxBody is the largest answer that cells can point into.
const maxBody = math.MaxUint32

// scanner reads JSON. Its methods report whether they found the expected text. They do not name the
// fault, because the SDK then decodes the answer.
type scanner struct {
	b []byte
	i int
	// side holds strings whose escapes were undone, and decoded bytes.
	side []byte
	// nested are the cells inside lists, sets and maps, those of one value together. open are the cells
	// of values that are being read.
	nested, open []cell
}

// space skips white space, and returns the next byte: 0 at the end.
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
// backslash, a control character. The lowest of the bits is exact; those above it may be there because of it.
func stops(v uint64) uint64 {
	control := (v ^ ones*('"'^0x20)) - ones*0x21 // a quote comes to be just behind the control characters
	slash := (v ^ ones*'\\') - ones
	return (control | slash) &^ v & highs
}

// stop returns the place of the next byte that ends a plain run in a string, len(b) for none.
func stop(b []byte, i int) int {
	long := i + 32
	for ; i+8 <= len(b); i += 8 {
		if i >= long {
			i = plainTo(b, i)
			long = i + 32
			if i+8 > len(b) {
				break
			}
		}
		if found := stops(word(b, i)); found != 0 {
			return i + bits.TrailingZeros64(found)>>3
		}
	}
	for ; i < len(b) && b[i] != '"' && b[i] != '\\' && b[i] >= 0x20; i++ {
	}
	return i
}

// window is how far plainTo looks, in bytes.
const window = 1024

// plainTo returns a place up to which a long string is plain for sure. Package bytes finds a quote or a backslash
// faster than the words of stop do; control characters it does not find.
func plainTo(b []byte, i int) int {
	w := b[i:min(len(b), i+window)]
	for _, c := range []byte{'"', '\\'} {
		if n := bytes.IndexByte(w, c); n >= 0 {
			w = w[:n]
		}
	}
	n, control := 0, uint64(0)
	for ; n+32 <= len(w); n += 32 {
		q := w[n : n+32 : n+32]
		control |= controls(word(q, 0)) | controls(word(q, 8)) | controls(word(q, 16)) | controls(word(q, 24))
	}
	if control&highs != 0 {
		return i
	}
	return i + n
}

// controls has the high bit set of each byte that is a control character, and may have it of those above one.
func controls(v uint64) uint64 { return (v - ones*0x20) &^ v }

// word returns the eight bytes at a place.
func word(b []byte, i int) uint64 { return binary.LittleEndian.Uint64(b[i : i+8 : i+8]) }

// quoted skips a string, and returns the text between its quotes, with its escapes.
func (s *scanner) quoted() (raw []byte, escaped, ok bool) {
	if !s.is('"') {
		return nil, false, false
	}
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

// unescape appends a string without its escapes. As in encoding/json, invalid UTF-8 and halves of
// surrogates become U+FFFD in strings that have an escape.
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

// text passes over a string, and notes its bytes.
func (s *scanner) text() (c cell, ok bool) {
	raw, escaped, ok := s.quoted()
	if !ok {
		return cell{}, false
	}
	if !escaped {
		return cell{at: uint32(s.i - 1 - len(raw)), n: uint32(len(raw))}, true
	}
	from := len(s.side)
	s.side = unescape(s.side, raw)
	return cell{at: uint32(from), n: uint32(len(s.side) - from), kind: deferred}, true
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
	if size := base64.StdEncoding.DecodedLen(len(raw)); cap(s.side)-from < size {
		s.side = slices.Grow(s.side, size+len(s.b)/64) // items of 1 KB with two tokens take that much
	}
	n := 0
	if len(raw) == tokenText {
		n = token(s.side[from:cap(s.side)], raw)
	}
	if n == 0 {
		var err error
		if n, err = base64.StdEncoding.Decode(s.side[from:cap(s.side)], raw); err != nil {
			return cell{}, false
		}
	}
	s.side = s.side[:from+n]
	return cell{at: uint32(from), n: uint32(n), size: uint32(n), kind: B | deferred}, true
}

// tokenText is the length in base64 of a token of 8 bytes: each item has one or two, its version and its incarnation.
const tokenText = 12

// token decodes the base64 of a token, and returns 8, or 0 if it is none. Calls of package base64 take
// three times as long for so few bytes.
func token(to, raw []byte) int {
	var v, bad uint64
	for _, c := range raw[:11] {
		d := sixBits[c]
		bad |= uint64(d)
		v = v<<6 | uint64(d&63)
	}
	if bad > 63 || raw[11] != '=' {
		return 0
	}
	// the first digit's upper bits were shifted out
	binary.BigEndian.PutUint64(to[:8], v>>2|uint64(sixBits[raw[0]])>>4<<62)
	return 8
}

// sixBits are the values of the digits of base64, above 63 for other bytes.
var sixBits = func() (t [256]byte) {
	for i := range t {
		t[i] = 64
	}
	for i, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") {
		t[c] = byte(i)
	}
	return t
}()

// value passes over an attribute value: an object with one member, its type.
func (s *scanner) value(depth int) (c cell, ok bool) {
	k := s.kind()
	if k == 0 {
		return cell{}, false
	}
	if c, end := plain(s.b, s.i, k); end >= 0 {
		s.i = end
		return c, true
	}
	if c, ok = s.content(k, depth); !ok {
		return cell{}, false
	}
	return c, s.is('}')
}

// plain returns the cell of a string or number without escapes whose content begins at a place, and the place behind
// the end of its value. Most values are of this form. For any other value the place is negative.
func plain(b []byte, i int, k Kind) (c cell, next int) {
	if k == 0 || k > N || i >= len(b) || b[i] != '"' {
		return c, -1
	}
	from := i + 1
	end := from
	if from+8 <= len(b) { // most strings are short
		found := stops(word(b, from))
		end += bits.TrailingZeros64(found) >> 3 // 8 for none
	}
	if end-from == 8 || end == from {
		end = stop(b, end)
	}
	if end+1 >= len(b) || b[end] != '"' || b[end+1] != '}' {
		return c, -1
	}
	n := uint32(end - from)
	c = cell{at: uint32(from), n: n, size: n, kind: k}
	if k == N {
		c.size = uint32(numberSize(b[from:end]))
	}
	return c, end + 2
}

// kind passes over the beginning of an attribute value up to its content, and returns the type: 0 for none.
func (s *scanner) kind() Kind {
	if s.i < len(s.b) && s.b[s.i] != '{' {
		s.space()
	}
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
		c, ok = s.text()
		c.kind, c.size = c.kind|S, c.n
	case N:
		c, ok = s.text()
		c.kind, c.size = c.kind|N, uint32(numberSize(s.bytes(&c)))
	case B:
		c, ok = s.blob()
	case BOOL, NULL:
		c, ok = s.boolean()
		c.kind, c.size = k, 1
	case L, M, SS, NS, BS:
		c, ok = s.inside(k, depth)
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

// inside passes over a list, map or set.
func (s *scanner) inside(k Kind, depth int) (c cell, ok bool) {
	if depth >= maxDepth {
		return cell{}, false
	}
	if k == L && depth+1 < maxDepth {
		if c, ok = s.plainList(); ok {
			return c, true
		}
		c = cell{}
	}
	first := len(s.open)
	c.kind = k
	switch k {
	case L:
		c.size = collection
		ok = s.list(func() bool {
			e, ok := s.value(depth + 1)
			c.size += 1 + e.size
			s.open = append(s.open, e)
			return ok
		})
	case M:
		c.size, ok = s.object(depth)
	case SS, NS, BS:
		of := map[Kind]Kind{SS: S, NS: N, BS: B}[k]
		ok = s.list(func() bool {
			e, ok := s.content(of, depth+1)
			c.size += e.size
			s.open = append(s.open, e)
			return ok
		})
	}
	c.at, c.n = uint32(len(s.nested)), uint32(len(s.open)-first)
	s.nested, s.open = append(s.nested, s.open[first:]...), s.open[:first]
	return c, ok
}

// plainList returns the cell of a list whose elements are plain, without white space, and puts them behind those that
// are nested. For any other list it has read nothing.
func (s *scanner) plainList() (c cell, ok bool) {
	b, i, first := s.b, s.i, len(s.nested)
	c.size = collection
	for before := byte('['); i+7 <= len(b) && b[i] == before; before = ',' {
		if b[i+1] != '{' || b[i+2] != '"' || b[i+4] != '"' || b[i+5] != ':' {
			break
		}
		e, next := plain(b, i+6, letters[b[i+3]])
		if next < 0 {
			break
		}
		i, c.size = next, c.size+1+e.size
		s.nested = append(s.nested, e)
	}
	c.at, c.n, c.kind = uint32(first), uint32(len(s.nested)-first), L
	if c.n == 0 || i >= len(b) || b[i] != ']' {
		s.nested = s.nested[:first]
		return c, false
	}
	s.i = i + 1
	return c, true
}

// collection is the size, in bytes, of a list or map without its elements.
const collection = 3

// list passes over an array.
func (s *scanner) list(element func() bool) bool {
	if !s.is('[') {
		return false
	}
	if s.is(']') {
		return true
	}
	for element() {
		if !s.is(',') {
			return s.is(']')
		}
	}
	return false
}

// object passes over the entries of a map.
func (s *scanner) object(depth int) (size uint32, ok bool) {
	size = collection
	if !s.is('{') {
		return 0, false
	}
	if s.is('}') {
		return size, true
	}
	first := len(s.open)
	for {
		name, ok := s.content(S, depth)
		if !ok || !s.is(':') {
			return 0, false
		}
		s.open = append(s.open, name)
		e, ok := s.value(depth + 1)
		if !ok {
			return 0, false
		}
		s.open = append(s.open, e)
		size += 1 + name.n + e.size
		if !s.is(',') {
			return size, s.is('}') && s.distinct(s.open[first:])
		}
	}
}

// distinct reports whether no name of a map's entries comes twice.
func (s *scanner) distinct(entries []cell) bool {
	if len(entries) > 32 {
		seen := make(map[string]bool, len(entries)/2)
		for i := 0; i < len(entries); i += 2 {
			name := string(s.bytes(&entries[i]))
			if seen[name] {
				return false
			}
			seen[name] = true
		}
		return true
	}
	for i := 2; i < len(entries); i += 2 {
		for o := 0; o < i; o += 2 {
			if entries[i].n == entries[o].n && string(s.bytes(&entries[i])) == string(s.bytes(&entries[o])) {
				return false
			}
		}
	}
	return true
}

// bytes returns what a cell of a string or bytes points to.
func (s *scanner) bytes(c *cell) []byte {
	if c.kind&deferred != 0 {
		return s.side[c.at : c.at+c.n]
	}
	return s.b[c.at : c.at+c.n]
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
		return s.list(func() bool { return s.skip(depth + 1) })
	}
	from := s.i
	for s.i < len(s.b) && !bytes.ContainsRune([]byte(" \t\r\n,]}"), rune(s.b[s.i])) {
		s.i++
	}
	return json.Valid(s.b[from:s.i])
}
