package wire

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"unsafe"
)

// Page is the items of an answer.
type Page struct {
	// share keeps strings in the answer's memory, which they keep alive; otherwise each
	// is a copy.
	share bool
	body  []byte
	side  []byte
	cells []cell
	// nested are the cells inside lists, sets and maps.
	nested []cell
	// texts is where short strings are copied to, side by side: of pages with blocks, which one goroutine reads.
	texts  []byte
	blocks bool
	// Items are those of a Query, a Scan or a GetItem; Tables those of a BatchGetItem.
	Items  []Item
	Tables map[string][]Item
}

// roomy is a page with enough memory for an answer of one small item.
type roomy struct {
	Page
	items [1]Item
	cells [16]cell
	body  [512]byte
	side  [32]byte
}

// pages are those whose memory can be used again.
var pages sync.Pool

// maxKept bounds the memory of a page that is kept, in bytes of its answer.
const maxKept = 4 << 20

// newPage returns an empty page: in memory of one that was released, if it will be.
func newPage(share, released bool) *Page {
	if released {
		if p, ok := pages.Get().(*Page); ok {
			p.share, p.blocks = share, true
			return p
		}
	}
	p := &roomy{Page: Page{share: share, blocks: released}}
	p.Items, p.Page.cells = p.items[:0], p.cells[:0]
	if !share {
		p.Page.body, p.Page.side = p.body[:0], p.side[:0]
	}
	return &p.Page
}

// Release returns the page's memory. The caller must not use its items afterwards; strings that were
// shared stay valid.
func (p *Page) Release() {
	if cap(p.body) > maxKept {
		return
	}
	kept := &Page{cells: p.cells[:0], nested: p.nested[:0], Items: p.Items[:0]}
	if !p.share {
		kept.body, kept.side = p.body[:0], p.side[:0]
	}
	clear(p.Items[:cap(p.Items)])
	*p = Page{}
	pages.Put(kept)
}

// shortText is the length up to which copied strings share blocks of memory. maxTexts is the size of a block, in bytes:
// a short string keeps no more in memory.
const (
	shortText = 32
	maxTexts  = 256
)

// copied returns a copy of a string.
func (p *Page) copied(text string) string {
	n, used := len(text), len(p.texts)
	switch {
	case n > shortText || !p.blocks:
		return strings.Clone(text)
	case n == 0:
		return ""
	case cap(p.texts)-used < n:
		p.texts, used = memory(min(max(2*cap(p.texts), 2*shortText), maxTexts)), 0
	}
	p.texts = append(p.texts, text...)
	return unsafe.String(&p.texts[used], n)
}

// Of returns the page of one table, of a page of several; nil for none.
func (p *Page) Of(table string) *Page {
	if p == nil {
		return nil
	}
	return &Page{Items: p.Tables[table]}
}

// Shape has the names of an item's attributes. Items of one kind share a shape, in any order of
// attributes, so that each shape is examined once.
type Shape struct {
	Names []string
	bytes int     // of the names
	ids   []uint8 // of the names
	set   set     // of the ids
}

// Index returns the place of a name, -1 for none.
func (s *Shape) Index(name string) int { return slices.Index(s.Names, name) }

// Item is an item of a page.
type Item struct {
	// Shape is nil for no item.
	Shape *Shape
	page  *Page
	first int32
	size  int32 // of the values
}

// reader reads the items of a page. What it has learnt of their names is of use for the next page.
type reader struct {
	scanner
	page *Page
	// attributes are those that items have had, and ids their indexes by name.
	attributes []attribute
	ids        map[string]uint8
	// positions are the ids of attributes by the beginning of their leads. Engines that keep items in
	// hash tables return attributes in random order.
	positions [256]uint8
	// came are the attributes of an item, in the order in which they came, and first is the first of them.
	came  []uint8
	first uint8
	// shapes are those that were met, and last is that of the item before.
	shapes map[set]*Shape
	last   *Shape
	// count is how many items the answer says that it has.
	count int
}

// readers are those that have learnt some names.
var readers sync.Pool

// maxLearnt is the maximum number of names and shapes that a reader keeps.
const maxLearnt = 64

// newReader returns a reader of a page whose body was read.
func newReader(p *Page) *reader {
	r, ok := readers.Get().(*reader)
	if !ok || len(r.attributes) > maxLearnt || len(r.shapes) > maxLearnt {
		r = &reader{ids: map[string]uint8{}, shapes: map[set]*Shape{}}
	}
	r.page, r.last, r.count, r.came = p, nil, 0, r.came[:0]
	r.scanner = scanner{b: p.body, side: p.side, nested: p.nested, open: r.open[:0]}
	for i := range r.attributes {
		r.attributes[i].blob = nil // it was of another page
	}
	return r
}

// release gives the page the parsed content, and returns the reader.
func (r *reader) release() {
	r.page.side, r.page.nested = r.side, r.nested
	r.page, r.b, r.side, r.nested = nil, nil, nil, nil
	readers.Put(r)
}

// attribute is the known state of the attributes with one name.
type attribute struct {
	name string
	// lead is how the last one began: its name, up to where the content of its value begins, and the content's kind.
	lead []byte
	// head and tail are the bytes behind the lead's first, and its last ones: the whole of a short one.
	head, tail uint64
	kind       Kind
	// next is the attribute that came behind it in the item before: mostly it does again.
	next uint8
	// cell is the attribute's cell in the present item.
	cell cell
	// blob is how the last bytes were written, to the end of their value, and decoded their cell: an
	// entity's items share their incarnation.
	blob    []byte
	decoded cell
}

// maxAttributes is how many different names the items of a page may have; the SDK decodes a page of more.
const maxAttributes = 256

// set is a set of ids.
type set [maxAttributes / 64]uint64

// add adds an id, and reports whether it is new.
func (s *set) add(id uint8) bool {
	word, bit := id/64, uint64(1)<<(id%64)
	is := s[word]&bit == 0
	s[word] |= bit
	return is
}

// item reads an item.
func (r *reader) item() (it Item, ok bool) {
	if !r.is('{') {
		return it, false
	}
	var has set
	r.came = r.came[:0]
	after := &r.first
	for more := !r.is('}'); more; {
		id, i := r.lead(r.i, *after)
		if i < 0 {
			if id, ok = r.newLead(); !ok {
				return it, false
			}
			i = r.i
		}
		if !has.add(id) {
			return it, false
		}
		*after = id
		a := &r.attributes[id]
		after = &a.next
		if a.cell, r.i = plain(r.b, i, a.kind); r.i < 0 {
			if r.i = i; !r.special(a) {
				return it, false
			}
		}
		r.came = append(r.came, id)
		if more = r.is(','); !more && !r.is('}') {
			return it, false
		}
	}
	it = Item{Shape: r.shape(has), page: r.page, first: int32(len(r.page.cells))}
	n := len(it.Shape.ids)
	r.page.cells = slices.Grow(r.page.cells, n)[:int(it.first)+n]
	for i, id := range it.Shape.ids {
		c := &r.attributes[id].cell
		r.page.cells[int(it.first)+i] = *c
		it.size += int32(c.size)
	}
	return it, true
}

// special reads the value of an attribute that is not plain, from its content on.
func (r *reader) special(a *attribute) (ok bool) {
	if a.kind == B && a.blob != nil && bytes.HasPrefix(r.b[r.i:], a.blob) {
		a.cell = a.decoded
		r.i += len(a.blob)
		return true
	}
	from := r.i
	if a.cell, ok = r.content(a.kind, 0); !ok || !r.is('}') {
		return false
	}
	if a.kind == B {
		a.blob, a.decoded = r.b[from:r.i], a.cell
	}
	return true
}

// lead returns the attribute that begins at a place, if it is known, and where the content of its value begins: a
// negative number for another one. likely is the attribute that probably comes.
func (r *reader) lead(i int, likely uint8) (id uint8, content int) {
	rest := r.b[i:]
	if len(rest) <= headBytes {
		return 0, -1
	}
	head := word(rest, 1)
	if id = likely; int(id) >= len(r.attributes) || r.attributes[id].head != head {
		id = r.positions[slot(head)]
	}
	if int(id) >= len(r.attributes) {
		return 0, -1
	}
	a := &r.attributes[id]
	n := len(a.lead)
	if rest[0] != '"' || a.head != head || n >= len(rest) || word(rest, n-headBytes) != a.tail ||
		n > 2*headBytes && !bytes.HasPrefix(rest, a.lead) {
		return 0, -1
	}
	return id, i + n
}

// headBytes is the number of bytes, after the first quote of a lead, that distinguish attributes,
// except those whose names begin alike. The shortest lead has one byte more.
const headBytes = 8

// slot is the place of a head in a table of them.
func slot(head uint64) uint64 { return head * 0x9E3779B97F4A7C15 >> 56 }

// newLead is lead of one that was not met before, or of names that begin alike.
func (r *reader) newLead() (id uint8, ok bool) {
	r.space()
	from := r.i
	c, ok := r.text()
	if !ok || !r.is(':') {
		return 0, false
	}
	name := r.bytes(&c)
	k := r.kind()
	if k == 0 {
		return 0, false
	}
	id, found := r.ids[string(name)]
	if !found {
		if len(r.attributes) == maxAttributes {
			return 0, false
		}
		id = uint8(len(r.attributes))
		r.attributes = append(r.attributes, attribute{name: string(name)})
		r.ids[r.attributes[id].name] = id
	}
	a := &r.attributes[id]
	a.lead, a.kind = append(a.lead[:0], r.b[from:r.i]...), k
	if len(a.lead) > headBytes {
		a.head, a.tail = word(a.lead, 1), word(a.lead, len(a.lead)-headBytes)
		r.positions[slot(a.head)] = id
	}
	return id, true
}

// shape returns the shape of items that have these attributes: those of the item that was just read.
func (r *reader) shape(has set) *Shape {
	if r.last != nil && r.last.set == has {
		return r.last
	}
	if r.last = r.shapes[has]; r.last != nil {
		return r.last
	}
	s := &Shape{Names: make([]string, len(r.came)), ids: slices.Clone(r.came), set: has}
	for i, id := range s.ids {
		s.Names[i] = r.attributes[id].name
		s.bytes += len(s.Names[i])
	}
	r.last, r.shapes[has] = s, s
	return s
}

// unknownItems bounds how many items are made room for where the answer has not said yet how many it has.
const unknownItems = 2000

// items reads an array of items.
func (r *reader) items() (all []Item, ok bool) {
	room := r.page.Items[:0] // of a page before
	r.page.Items = nil
	ok = r.list(func() bool {
		from := r.i
		it, ok := r.item()
		if len(all) == 0 && ok {
			n := r.count
			if rest := (len(r.b)-r.i)/max(r.i-from, 1) + 2; n <= 0 || n > rest {
				n = min(rest, unknownItems)
			}
			all, r.page.cells = slices.Grow(room, n), slices.Grow(r.page.cells, n*len(it.Shape.Names))
		}
		all = append(all, it)
		return ok
	})
	return all, ok
}
