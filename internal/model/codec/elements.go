package codec

import (
	"github.com/itemize/itemize/internal/large/compression"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
)

// newElements returns the codecs of an item's records, and of the slice or map that they
// are in.
func newElements(it *schema.Item, table *Form, codecs compression.Codecs) (*record, Elements) {
	path, field := table.Path(it.Field.Path)
	c := collection{path: path, field: field}
	if it.Map() {
		c.holds = field.Entries.Elem
	} else {
		c.holds = field.List.Elem
	}
	c.elem = c.holds
	if it.ElemPointer {
		c.elem = c.holds.Pointer.Elem
	}
	c.record = newRecord(it, c.elem, codecs)
	if !it.Map() {
		return c.record, &slice{c, field.List}
	}
	m := &entries{collection: c, Entries: field.Entries}
	for i, src := range it.Key.Sources {
		if src.From == schema.FromMapKey {
			m.key = inModelKey{form: field.Entries.Key, kind: it.Key.Format(i).Value}
			m.key.text = schema.KeyText(src.Value.Type, m.key.kind)
		}
	}
	return c.record, m
}

// collection has the common parts of the codecs of slices and maps.
type collection struct {
	path  Path
	field *Form
	// holds is the form of the values in the slice or map: elements, or pointers to them. elem is the
	// form of the elements.
	holds, elem *Form
	record      *record
}

func (c *collection) NewElement() any         { return c.elem.New() }
func (c *collection) NewElements(n int) []any { return c.elem.NewN(n) }

// rec returns the record at p in the collection, nil for a nil pointer.
func (c *collection) rec(p any) any {
	if c.holds != c.elem {
		return c.holds.Pointer.Load(p)
	}
	return p
}

// put sets what the collection holds at p: to the record, or a pointer to it.
func (c *collection) put(p, rec any) {
	if c.holds != c.elem {
		c.holds.Pointer.Store(p, rec)
		return
	}
	c.elem.Assign(p, rec)
}

// equal compares what two collections hold. Nil elements are not equal: they are
// reported, not compared.
func (c *collection) equal(p, q any) bool {
	x, y := c.rec(p), c.rec(q)
	return x != nil && y != nil && c.record.Equal(x, y)
}

// slice is the codec of a slice.
type slice struct {
	collection
	list *List
}

func (s *slice) Len(v any) int {
	if p := s.path.At(v); p != nil {
		return s.list.Len(p)
	}
	return 0
}

func (s *slice) Each(v any, yield func(Pos, any) bool) {
	p := s.path.At(v)
	if p == nil {
		return
	}
	for i := range s.list.Len(p) {
		if !yield(Pos{Index: i}, s.rec(s.list.At(p, i))) {
			return
		}
	}
}

func (s *slice) At(v any, at Pos) any { return s.rec(s.list.At(s.path.At(v), at.Index)) }

func (s *slice) Equal(a, b any) bool {
	n := s.Len(a)
	if n != s.Len(b) {
		return false
	}
	if n == 0 {
		return true
	}
	p, q := s.path.At(a), s.path.At(b)
	if s.record.wholeRecords && !s.record.expires() {
		if equal, decided := s.list.Equal(p, q); decided {
			return equal
		}
	}
	for i := range n {
		if !s.equal(s.list.At(p, i), s.list.At(q, i)) {
			return false
		}
	}
	return true
}

func (s *slice) Clone(dst, src any) {
	n := s.Len(src)
	s.Reset(dst, n)
	if n == 0 {
		return
	}
	from, to := s.path.At(src), s.path.Make(dst)
	var copies []any
	if s.holds != s.elem {
		copies = s.elem.NewN(n) // side by side, though the slice holds pointers
	}
	for i := range n {
		p := s.list.Append(to)
		c := p
		if copies != nil {
			c = copies[i]
			s.put(p, c)
		}
		if e := s.rec(s.list.At(from, i)); e != nil {
			s.record.Clone(c, e)
		}
	}
}

func (s *slice) Reset(v any, n int) {
	if n > 0 {
		s.list.Reset(s.path.Make(v), n)
	} else if p := s.path.At(v); p != nil {
		s.list.Reset(p, 0)
	}
}

func (s *slice) Append(v, _, rec any) { s.put(s.list.Append(s.path.Make(v)), rec) }

func (s *slice) Set(v any, at Pos, rec any) { s.put(s.list.At(s.path.At(v), at.Index), rec) }

func (s *slice) MapKey(any) (key.Value, error)  { return key.Value{}, nil }
func (s *slice) FromKey(key.Value) (any, error) { return nil, nil }

// entries is the codec of a map.
type entries struct {
	collection
	*Entries
	key inModelKey
}

func (m *entries) Len(v any) int {
	if p := m.path.At(v); p != nil {
		return m.Entries.Len(p)
	}
	return 0
}

func (m *entries) Each(v any, yield func(Pos, any) bool) {
	p := m.path.At(v)
	if p == nil {
		return
	}
	m.Entries.Each(p, func(k, e any) bool { return yield(Pos{Key: k}, m.rec(e)) })
}

func (m *entries) At(v any, at Pos) any { return m.rec(m.Entries.At(m.path.At(v), at.Key)) }

func (m *entries) Equal(a, b any) bool {
	p, q := m.path.At(a), m.path.At(b)
	if p == nil || q == nil {
		return m.Len(a) == m.Len(b)
	}
	return m.Entries.Equal(p, q, m.equal)
}

func (m *entries) Clone(dst, src any) {
	m.Reset(dst, m.Len(src))
	m.Each(src, func(at Pos, rec any) bool {
		c := m.elem.New()
		if rec != nil {
			m.record.Clone(c, rec)
		}
		m.Append(dst, at.Key, c)
		return true
	})
}

func (m *entries) Reset(v any, n int) {
	if n > 0 {
		m.Entries.Reset(m.path.Make(v), n)
	} else if p := m.path.At(v); p != nil {
		m.Entries.Reset(p, 0)
	}
}

func (m *entries) Append(v, k, rec any) { m.Entries.Put(m.path.Make(v), k, m.held(rec)) }

func (m *entries) Set(v any, at Pos, rec any) { m.Entries.Put(m.path.At(v), at.Key, m.held(rec)) }

// held returns a pointer to what the map holds for a record.
func (m *entries) held(rec any) any {
	if m.holds == m.elem {
		return rec
	}
	p := m.holds.New()
	m.holds.Pointer.Store(p, rec)
	return p
}

func (m *entries) MapKey(k any) (key.Value, error) { return m.key.get(m.Box(k)) }

func (m *entries) FromKey(value key.Value) (any, error) {
	k := m.Entries.Key.New()
	err := m.key.set(k, value)
	return m.Unbox(k), err
}
