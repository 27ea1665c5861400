package mapperimpl

import "github.com/itemize/itemize/internal/codec"

// Slice returns the codec of a slice whose elements are items. field returns a
// pointer to the slice, or nil where it lies in a nil embedded struct; with make
// it makes that.
func Slice[T any, S ~[]E, E any](field func(v *T, make bool) *S, r Record[E]) Item[T] {
	return newSlice(field, elem[E, E]{self[E], load[E]}, r)
}

// PointerSlice is Slice for a slice of pointers.
func PointerSlice[T any, S ~[]*E, E any](field func(v *T, make bool) *S, r Record[E]) Item[T] {
	return newSlice(field, elem[*E, E]{load[*E], self[E]}, r)
}

// Keys turns the keys of a map into values of keys, and back.
type Keys[K comparable] struct {
	To   func(K) (Value, error)
	From func(Value) (K, error)
}

// Map returns the codec of a map whose entries are items. equal compares two maps
// entry by entry, as the record's Equal does.
func Map[T any, M ~map[K]E, K comparable, E any](field func(v *T, make bool) *M, keys Keys[K], equal func(a, b M) bool, r Record[E]) Item[T] {
	return newEntries(field, keys, equal, elem[E, E]{self[E], load[E]}, r)
}

// PointerMap is Map for a map of pointers. Nil entries are not equal.
func PointerMap[T any, M ~map[K]*E, K comparable, E any](field func(v *T, make bool) *M, keys Keys[K], equal func(a, b M) bool, r Record[E]) Item[T] {
	return newEntries(field, keys, equal, elem[*E, E]{load[*E], self[E]}, r)
}

// elem turns what a slice or map holds (X) into a pointer to an element, and back:
// it holds elements, or pointers to them.
type elem[X, E any] struct {
	ref   func(*X) *E
	value func(*E) X
}

func self[E any](e *E) *E { return e }
func load[E any](e *E) E  { return *e }

// record returns the record of an element, nil for a nil pointer.
func (x elem[X, E]) record(p *X) any {
	if e := x.ref(p); e != nil {
		return e
	}
	return nil
}

type slice[T any, S ~[]X, X, E any] struct {
	field func(*T, bool) *S
	elem  elem[X, E]
	r     *record[E]
}

func newSlice[T any, S ~[]X, X, E any](field func(*T, bool) *S, x elem[X, E], r Record[E]) Item[T] {
	s := &slice[T, S, X, E]{field, x, &record[E]{r}}
	return Item[T]{record: s.r, elements: s}
}

func (s *slice[T, S, X, E]) at(v any) S {
	if p := s.field(v.(*T), false); p != nil {
		return *p
	}
	return nil
}

func (s *slice[T, S, X, E]) Len(v any) int { return len(s.at(v)) }

func (s *slice[T, S, X, E]) Each(v any, yield func(codec.Pos, any) bool) {
	all := s.at(v)
	for i := range all {
		if !yield(codec.Pos{Index: i}, s.elem.record(&all[i])) {
			return
		}
	}
}

func (s *slice[T, S, X, E]) At(v any, p codec.Pos) any { return s.elem.record(&s.at(v)[p.Index]) }

func (s *slice[T, S, X, E]) Equal(a, b any) bool {
	x, y := s.at(a), s.at(b)
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		e, f := s.elem.ref(&x[i]), s.elem.ref(&y[i])
		if e == nil || f == nil || !s.r.r.Equal(e, f) {
			return false
		}
	}
	return true
}

func (s *slice[T, S, X, E]) Clone(dst, src any) {
	from := s.at(src)
	s.Reset(dst, len(from))
	if len(from) == 0 {
		return
	}
	// The copies lie side by side, whether the slice holds them or pointers.
	copies := make([]E, len(from))
	to := s.field(dst.(*T), true)
	for i := range from {
		if e := s.elem.ref(&from[i]); e != nil {
			s.r.r.Clone(&copies[i], e)
		}
		*to = append(*to, s.elem.value(&copies[i]))
	}
}

func (s *slice[T, S, X, E]) NewElement() any { return new(E) }

func (s *slice[T, S, X, E]) NewElements(n int) []any { return newElements[E](n) }

func newElements[E any](n int) []any {
	all, out := make([]E, n), make([]any, n)
	for i := range out {
		out[i] = &all[i]
	}
	return out
}

func (s *slice[T, S, X, E]) Reset(v any, n int) {
	p := s.field(v.(*T), n > 0)
	switch {
	case p == nil:
	case n == 0:
		*p = nil
	default:
		*p = make(S, 0, n)
	}
}

func (s *slice[T, S, X, E]) Append(v, _, rec any) {
	p := s.field(v.(*T), true)
	*p = append(*p, s.elem.value(rec.(*E)))
}

func (s *slice[T, S, X, E]) Set(v any, p codec.Pos, rec any) {
	s.at(v)[p.Index] = s.elem.value(rec.(*E))
}

func (s *slice[T, S, X, E]) MapKey(any) (Value, error)  { return Value{}, nil }
func (s *slice[T, S, X, E]) FromKey(Value) (any, error) { return nil, nil }

type entries[T any, M ~map[K]X, K comparable, X, E any] struct {
	field func(*T, bool) *M
	keys  Keys[K]
	equal func(a, b M) bool
	elem  elem[X, E]
	r     *record[E]
}

func newEntries[T any, M ~map[K]X, K comparable, X, E any](field func(*T, bool) *M, keys Keys[K], equal func(a, b M) bool, x elem[X, E], r Record[E]) Item[T] {
	m := &entries[T, M, K, X, E]{field, keys, equal, x, &record[E]{r}}
	return Item[T]{record: m.r, elements: m}
}

func (m *entries[T, M, K, X, E]) at(v any) M {
	if p := m.field(v.(*T), false); p != nil {
		return *p
	}
	return nil
}

func (m *entries[T, M, K, X, E]) Len(v any) int { return len(m.at(v)) }

func (m *entries[T, M, K, X, E]) Each(v any, yield func(codec.Pos, any) bool) {
	for k, x := range m.at(v) {
		if !yield(codec.Pos{Key: k}, m.elem.record(&x)) {
			return
		}
	}
}

func (m *entries[T, M, K, X, E]) At(v any, p codec.Pos) any {
	x := m.at(v)[p.Key.(K)]
	return m.elem.record(&x)
}

func (m *entries[T, M, K, X, E]) Equal(a, b any) bool { return m.equal(m.at(a), m.at(b)) }

func (m *entries[T, M, K, X, E]) Clone(dst, src any) {
	from := m.at(src)
	m.Reset(dst, len(from))
	for k, x := range from {
		c := new(E)
		if e := m.elem.ref(&x); e != nil {
			m.r.r.Clone(c, e)
		}
		m.Append(dst, k, c)
	}
}

func (m *entries[T, M, K, X, E]) NewElement() any { return new(E) }

func (m *entries[T, M, K, X, E]) NewElements(n int) []any { return newElements[E](n) }

func (m *entries[T, M, K, X, E]) Reset(v any, n int) {
	p := m.field(v.(*T), n > 0)
	switch {
	case p == nil:
	case n == 0:
		*p = nil
	default:
		*p = make(M, n)
	}
}

func (m *entries[T, M, K, X, E]) Append(v, k, rec any) {
	p := m.field(v.(*T), true)
	if *p == nil {
		*p = make(M)
	}
	(*p)[k.(K)] = m.elem.value(rec.(*E))
}

func (m *entries[T, M, K, X, E]) Set(v any, p codec.Pos, rec any) {
	m.at(v)[p.Key.(K)] = m.elem.value(rec.(*E))
}

func (m *entries[T, M, K, X, E]) MapKey(k any) (Value, error) { return m.keys.To(k.(K)) }

func (m *entries[T, M, K, X, E]) FromKey(v Value) (any, error) { return m.keys.From(v) }
