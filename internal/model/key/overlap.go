package key

import "strings"

// Overlap decides whether two templates can give the same key, and returns the
// shortest such key that it meets. Strings are taken to hold any text.
func Overlap(a, b *Template) (witness Scalar, collide bool) {
	if a.Type != b.Type {
		return Scalar{}, false
	}
	if a.Type != 'S' { // one bare placeholder each: any value does
		return Scalar{a.Type, "1"}, true
	}
	s := search{a: machine{a}, b: machine{b}, seen: map[pair]step{}}
	return s.run()
}

// Part returns the index of the part that a placeholder is.
func (t *Template) Part(placeholder int) int {
	for i, p := range t.Parts {
		if p.literal() {
			continue
		}
		if placeholder == 0 {
			return i
		}
		placeholder--
	}
	return -1
}

// Placeholder returns which of the placeholders a part is.
func (t *Template) Placeholder(part int) int {
	n := 0
	for _, p := range t.Parts[:part] {
		if !p.literal() {
			n++
		}
	}
	return n
}

// Fix returns the template with a value in the place of the placeholder that is a part.
func (t *Template) Fix(part int, v Value) (*Template, error) {
	text, err := t.Parts[part].Format.Append(nil, v, t.Delim)
	if err != nil {
		return nil, err
	}
	out := *t
	out.Parts = append([]Part(nil), t.Parts...)
	out.Parts[part] = Part{Text: string(text), Format: Format{Kind: Literal}}
	return &out, nil
}

// pair is a place in both templates that one text leads to.
type pair struct{ a, b state }

// step is how a pair was first reached.
type step struct {
	from pair
	char int // the byte, or -1 for none
}

type search struct {
	a, b  machine
	seen  map[pair]step
	queue []pair
}

// run goes through the pairs of states breadth first.
func (s *search) run() (Scalar, bool) {
	start := pair{}
	s.seen[start] = step{start, -1}
	s.queue = []pair{start}
	for len(s.queue) > 0 {
		p := s.queue[0]
		s.queue = s.queue[1:]
		if s.a.end(p.a) && s.b.end(p.b) {
			return Scalar{'S', s.text(p)}, true
		}
		s.advance(p)
	}
	return Scalar{}, false
}

func (s *search) advance(p pair) {
	if !s.a.end(p.a) && s.a.done(p.a) {
		s.visit(pair{state{part: p.a.part + 1}, p.b}, p, -1)
	}
	if !s.b.end(p.b) && s.b.done(p.b) {
		s.visit(pair{p.a, state{part: p.b.part + 1}}, p, -1)
	}
	if s.a.end(p.a) || s.b.end(p.b) {
		return
	}
	candidates := s.a.next(p.a)
	if b := s.b.next(p.b); len(b) < len(candidates) {
		candidates = b
	}
	for i := range len(candidates) {
		c := candidates[i]
		na, ok := s.a.step(p.a, c)
		if !ok {
			continue
		}
		if nb, ok := s.b.step(p.b, c); ok {
			s.visit(pair{na, nb}, p, int(c))
		}
	}
}

func (s *search) visit(p, from pair, char int) {
	if _, ok := s.seen[p]; !ok {
		s.seen[p] = step{from, char}
		s.queue = append(s.queue, p)
	}
}

// text follows the steps back to the start.
func (s *search) text(p pair) string {
	var rev []byte
	for p != (pair{}) {
		st := s.seen[p]
		if st.char >= 0 {
			rev = append(rev, byte(st.char))
		}
		p = st.from
	}
	for i, j := 0, len(rev)-1; i < j; i, j = i+1, j-1 {
		rev[i], rev[j] = rev[j], rev[i]
	}
	return string(rev)
}

// next returns the bytes that can follow in a part, and possibly others.
func (m machine) next(s state) string {
	p := m.t.Parts[s.part]
	switch p.Format.Kind {
	case Literal:
		if s.off == len(p.Text) {
			return ""
		}
		return p.Text[s.off : s.off+1]
	case Plain, Raw, Native:
		return anyByte
	}
	return "0123456789-T:.ZW"
}

// anyByte is every byte, those first that read well in a message.
var anyByte = func() string {
	var order []byte
	add := func(from, to int) {
		for c := from; c <= to; c++ {
			order = append(order, byte(c))
		}
	}
	add('A', 'Z')
	add('0', '9')
	add('a', 'z')
	add(0x20, '0'-1)
	add('9'+1, 'A'-1)
	add('Z'+1, 'a'-1)
	add('z'+1, 0x7f)
	add(0, 0x1f)
	add(0x80, 0xff)
	return string(order)
}()

// CanBegin reports whether a key of the template can begin with a text.
func (t *Template) CanBegin(text string) bool {
	switch lit := t.LiteralPrefix(); {
	case strings.HasPrefix(lit, text):
		return true
	case !strings.HasPrefix(text, lit):
		return false
	}
	m := machine{t}
	now := m.closure(map[state]bool{{}: true})
	for i := range len(text) {
		next := map[state]bool{}
		for s := range now {
			if m.end(s) {
				continue
			}
			if n, ok := m.step(s, text[i]); ok {
				next[n] = true
			}
		}
		if now = m.closure(next); len(now) == 0 {
			return false
		}
	}
	return true
}

// closure adds the states that are reached without a byte.
func (m machine) closure(set map[state]bool) map[state]bool {
	all := map[state]bool{}
	for s := range set {
		for all[s] = true; !m.end(s) && m.done(s); {
			s = state{part: s.part + 1}
			all[s] = true
		}
	}
	return all
}
