package wire

import (
	"strings"
	"unsafe"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Value is an attribute value as it came.
type Value struct {
	Kind Kind
	// own reports that the text is nobody else's: it need not be copied.
	own   bool
	count uint16
	// text is a string, a number, bytes, true or false; of a list, map or set its JSON.
	text string
	page *Page
}

// Value returns the value of an attribute, by its place in the item's shape.
func (it Item) Value(i int) Value {
	c := &it.page.cells[int(it.first)+i]
	return Value{Kind: c.kind, count: c.count, text: it.page.text(c), page: it.page}
}

// text returns what a cell points to. It lies in the page's memory.
func (p *Page) text(c *cell) string {
	from := p.body
	if c.side {
		from = p.side
	}
	return text(from[c.at : c.at+c.n])
}

// text returns bytes that do not change any more as a string.
func text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// Size returns the size of an attribute in bytes: its name's and its value's.
func (it Item) Size(i int) int {
	return len(it.Shape.Names[i]) + int(it.page.cells[int(it.first)+i].size)
}

// Bytes returns the item's size in bytes.
func (it Item) Bytes() int { return it.Shape.bytes + int(it.size) }

// Get returns the value of the attribute of a name; ok is false where there is none.
func (it Item) Get(name string) (v Value, ok bool) {
	if it.Shape == nil {
		return Value{}, false
	}
	i := it.Shape.Index(name)
	if i < 0 {
		return Value{}, false
	}
	return it.Value(i), true
}

// Attributes returns the whole item, as the SDK decodes it.
func (it Item) Attributes() map[string]types.AttributeValue {
	if it.Shape == nil {
		return nil
	}
	m := make(map[string]types.AttributeValue, len(it.Shape.Names))
	for i, name := range it.Shape.Names {
		m[name] = it.Value(i).Attribute()
	}
	return m
}

// Peek returns the text of a string or number, or bytes, in the page's memory: to look at, not to keep.
func (v Value) Peek() string { return v.text }

// String returns the text of a string or number, to keep.
func (v Value) String() string {
	if v.own || v.page.share {
		return v.text
	}
	return strings.Clone(v.text)
}

// Bytes returns a copy of what a value of the kind B holds.
func (v Value) Bytes() []byte { return append(make([]byte, 0, len(v.text)), v.text...) }

// Bool returns what a value of the kind BOOL or NULL holds.
func (v Value) Bool() bool { return v.text == "true" }

// Cursor walks through a list, a map or a set.
type Cursor struct {
	scanner
	kind Kind
	page *Page
}

// Cursor returns the way through a value's elements, of a list, map or set.
func (v Value) Cursor() Cursor {
	return Cursor{scanner: scanner{b: unsafe.Slice(unsafe.StringData(v.text), len(v.text)), i: 1}, kind: v.Kind, page: v.page}
}

// Len returns the number of elements.
func (v Value) Len() int {
	if v.count < manyElements {
		return int(v.count)
	}
	n := 0
	c := v.Cursor()
	for c.skipped() {
		n++
	}
	return n
}

// skipped passes over an element, if there is one.
func (c *Cursor) skipped() bool {
	if !c.more() {
		return false
	}
	if c.kind == M {
		c.quoted()
		c.is(':')
	}
	return c.skip(0)
}

// more reports whether another element follows, and passes over the comma before it.
func (c *Cursor) more() bool {
	c.is(',')
	next := c.space()
	return next != ']' && next != '}'
}

// Next returns the next element of a list or set; ok is false at the end.
func (c *Cursor) Next() (v Value, ok bool) {
	if !c.more() {
		return Value{}, false
	}
	var e cell
	c.side = nil // what is put there is the value's own
	switch c.kind {
	case L:
		e, _ = c.value(0)
	case SS:
		e, _ = c.content(S, 0)
	case NS:
		e, _ = c.content(N, 0)
	case BS:
		e, _ = c.content(B, 0)
	}
	return c.valueOf(e), true
}

// Entry returns the next entry of a map, its name in memory that is not to keep; ok is
// false at the end.
func (c *Cursor) Entry() (name Value, v Value, ok bool) {
	if !c.more() {
		return Value{}, Value{}, false
	}
	c.side = nil
	n, _ := c.content(S, 0)
	name = c.valueOf(n)
	c.is(':')
	c.side = nil
	e, _ := c.value(0)
	return name, c.valueOf(e), true
}

func (c *Cursor) valueOf(e cell) Value {
	from := c.b
	if e.side {
		from = c.side
	}
	return Value{Kind: e.kind, own: e.side, count: e.count, text: text(from[e.at : e.at+e.n]), page: c.page}
}

// Attribute returns the value as the SDK decodes it.
func (v Value) Attribute() types.AttributeValue {
	switch v.Kind {
	case S:
		return &types.AttributeValueMemberS{Value: v.String()}
	case N:
		return &types.AttributeValueMemberN{Value: v.String()}
	case B:
		return &types.AttributeValueMemberB{Value: v.Bytes()}
	case BOOL:
		return &types.AttributeValueMemberBOOL{Value: v.Bool()}
	case NULL:
		return &types.AttributeValueMemberNULL{Value: v.Bool()}
	case L:
		return &types.AttributeValueMemberL{Value: collect(v, Value.Attribute)}
	case SS:
		return &types.AttributeValueMemberSS{Value: collect(v, Value.String)}
	case NS:
		return &types.AttributeValueMemberNS{Value: collect(v, Value.String)}
	case BS:
		return &types.AttributeValueMemberBS{Value: collect(v, Value.Bytes)}
	case M:
		m := map[string]types.AttributeValue{}
		c := v.Cursor()
		for name, e, ok := c.Entry(); ok; name, e, ok = c.Entry() {
			m[name.String()] = e.Attribute()
		}
		return &types.AttributeValueMemberM{Value: m}
	}
	return nil
}

// collect returns the elements of a list or set.
func collect[T any](v Value, of func(Value) T) []T {
	all := make([]T, 0, v.Len())
	c := v.Cursor()
	for e, ok := c.Next(); ok; e, ok = c.Next() {
		all = append(all, of(e))
	}
	return all
}
