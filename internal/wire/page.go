package wire

import (
	"bytes"
	"slices"
)

// Page is the items of an answer.
type Page struct {
	// share has strings lie in the answer's memory, which they keep alive; otherwise each
	// is a copy.
	share  bool
	body   []byte
	side   []byte
	shapes []*Shape
	cells  []cell
	// Items are those of a Query, a Scan or a GetItem; Tables those of a BatchGetItem.
	Items  []Item
	Tables map[string][]Item
}

// Of returns the page of one table, of a page of several; nil for none.
func (p *Page) Of(table string) *Page {
	if p == nil {
		return nil
	}
	return &Page{Items: p.Tables[table]}
}

// Shape is the names of an item's attributes, in their order. Items of one kind share one:
// what is found out about the names is found out once.
type Shape struct {
	Names []string
	bytes int // of the names
	// leads are how the attributes began in the item that was read first: the name up to
	// where the value's content begins, and the content's kind.
	leads []lead
}

type lead struct {
	text []byte
	kind Kind
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

// reader reads the items of a page.
type reader struct {
	scanner
	page *Page
	// last is the shape of the item before: the next one is expected to look like it.
	last *Shape
	// found are the beginnings of an item's attributes, beside names, where it has a shape of its own.
	found []lead
	// count is how many items the answer says that it has.
	count int
}

// item reads an item.
func (r *reader) item() (it Item, ok bool) {
	it = Item{page: r.page, first: int32(len(r.page.cells))}
	if !r.is('{') {
		return it, false
	}
	r.names, r.found = r.names[:0], r.found[:0]
	n, own := 0, r.last == nil // own reports that the item has none of the known shapes
	for more := !r.is('}'); more; n++ {
		var c cell
		if !own && n < len(r.last.leads) && bytes.HasPrefix(r.b[r.i:], r.last.leads[n].text) {
			l := &r.last.leads[n]
			r.i += len(l.text)
			c, ok = r.content(l.kind, 0)
		} else {
			c, own, ok = r.attribute(n, own)
		}
		if !ok || !r.is('}') {
			return it, false
		}
		r.page.cells = append(r.page.cells, c)
		it.size += int32(c.size)
		if more = r.is(','); !more && !r.is('}') {
			return it, false
		}
	}
	if !own && n == len(r.last.Names) {
		it.Shape = r.last
		return it, true
	}
	if !own {
		r.leave(n)
	}
	it.Shape = r.shape()
	return it, it.Shape != nil
}

// attribute reads an attribute that does not begin as it was expected to. own reports that no known shape
// has its name at this place.
func (r *reader) attribute(n int, own bool) (c cell, _, ok bool) {
	r.space()
	from := r.i
	_, name, ok := r.text()
	if !ok || !r.is(':') || !r.is('{') {
		return c, own, false
	}
	word, escaped, ok := r.quoted()
	if !ok || escaped || !r.is(':') {
		return c, own, false
	}
	l := lead{r.b[from:r.i:r.i], kindOf(word)}
	if !own && !r.follow(n, name) {
		r.leave(n)
		own = true
	}
	if own {
		r.names, r.found = append(r.names, string(name)), append(r.found, l)
	} else {
		r.last.leads[n] = l
	}
	c, ok = r.content(l.kind, 0)
	return c, own, ok
}

// maxShapes bounds among how many shapes one is looked for.
const maxShapes = 16

// recent are the shapes among which one is looked for.
func (r *reader) recent() []*Shape { return r.page.shapes[max(0, len(r.page.shapes)-maxShapes):] }

// follow makes a shape the last one that begins with n names of it and has this name next.
func (r *reader) follow(n int, name []byte) bool {
	has := func(s *Shape) bool { return n < len(s.Names) && s.Names[n] == string(name) }
	if has(r.last) {
		return true
	}
	for _, s := range slices.Backward(r.recent()) {
		if has(s) && slices.Equal(s.Names[:n], r.last.Names[:n]) {
			r.last = s
			return true
		}
	}
	return false
}

// leave begins a shape of its own with the first names of the last one.
func (r *reader) leave(n int) {
	r.names, r.found = append(r.names[:0], r.last.Names[:n]...), append(r.found[:0], r.last.leads[:n]...)
}

// shape returns the shape of the names that were read, nil where one comes twice.
func (r *reader) shape() *Shape {
	for _, s := range slices.Backward(r.recent()) {
		if slices.Equal(s.Names, r.names) {
			r.last = s
			return s
		}
	}
	if !distinct(r.names) {
		return nil
	}
	r.last = &Shape{Names: slices.Clone(r.names), leads: slices.Clone(r.found)}
	for _, name := range r.names {
		r.last.bytes += len(name)
	}
	r.page.shapes = append(r.page.shapes, r.last)
	return r.last
}

// items reads an array of items.
func (r *reader) items() (all []Item, ok bool) {
	_, _, ok = r.list(func() (int, bool) {
		from := r.i
		it, ok := r.item()
		if all == nil && ok {
			n := min(r.count, len(r.b)/max(r.i-from, 1)+1)
			all, r.page.cells = make([]Item, 0, n), slices.Grow(r.page.cells, n*len(it.Shape.Names))
		}
		all = append(all, it)
		return 0, ok
	})
	return all, ok
}
