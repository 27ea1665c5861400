package key

// A machine walks over the texts that a template can give, byte by byte. It is
// a nondeterministic automaton: a string may end wherever its escape is whole.

// state is a place in a template: the part, how far it is consumed, and what
// must be remembered of it.
type state struct {
	part int
	off  int
	aux  int
}

// Where a Plain string is: before its first byte, after a whole one, or
// within an escape, whose bytes so far aux holds.
const (
	plainStart = iota
	plainSome
	plainEscape
	plainEscape2
)

type machine struct{ t *Template }

func (m machine) format(s state) Format { return m.t.Parts[s.part].Format }

// done reports whether the part is consumed, so that the next may begin.
func (m machine) done(s state) bool {
	p := m.t.Parts[s.part]
	switch p.Format.Kind {
	case Literal:
		return s.off == len(p.Text)
	case Plain:
		return s.off == plainSome
	case Raw, Native:
		return s.off > 0
	}
	w, _ := p.Format.Fixed()
	return s.off == w
}

func (m machine) end(s state) bool { return s.part == len(m.t.Parts) }

// step consumes one byte.
func (m machine) step(s state, c byte) (state, bool) {
	p := m.t.Parts[s.part]
	switch p.Format.Kind {
	case Literal:
		ok := s.off < len(p.Text) && p.Text[s.off] == c
		s.off++
		return s, ok
	case Plain:
		return m.stepPlain(s, c)
	case Raw:
		ok := s.off > 0 || c != '~'
		s.off = 1
		return s, ok
	case Native:
		s.off = 1
		return s, true
	case Digits, Sortable, Unix:
		return m.stepDigits(s, c)
	case Week:
		return stepWeek(s, c)
	}
	return stepTime(s, c, layouts[p.Format.Kind])
}

func (m machine) stepPlain(s state, c byte) (state, bool) {
	switch s.off {
	case plainStart, plainSome:
		if c == '%' {
			return state{s.part, plainEscape, s.off}, true
		}
		ok := c != m.t.Delim && (c != '~' || s.off == plainSome)
		s.off, s.aux = plainSome, 0
		return s, ok
	case plainEscape:
		// aux becomes the escapes that remain: bit 0 for %, 1 for the delimiter, 2 for ~.
		mask := 0
		for i, e := range m.escapes() {
			if upperHex[e>>4] == c && (i < 2 || s.aux == plainStart) {
				mask |= 1 << i
			}
		}
		return state{s.part, plainEscape2, mask}, mask != 0
	}
	for i, e := range m.escapes() {
		if s.aux&(1<<i) != 0 && upperHex[e&15] == c {
			return state{s.part, plainSome, 0}, true
		}
	}
	return s, false
}

func (m machine) escapes() [3]byte { return [3]byte{'%', m.t.Delim, '~'} }

// The aux of digits: whether the digits so far equal those of the smallest and
// of the largest value.
const (
	tightLow = 1 << iota
	tightHigh
)

func (m machine) stepDigits(s state, c byte) (state, bool) {
	low, high := m.format(s).bounds()
	if s.off >= len(low) || c < '0' || c > '9' {
		return s, false
	}
	if s.off == 0 {
		s.aux = tightLow | tightHigh
	}
	if s.aux&tightLow != 0 {
		if c < low[s.off] {
			return s, false
		} else if c > low[s.off] {
			s.aux &^= tightLow
		}
	}
	if s.aux&tightHigh != 0 {
		if c > high[s.off] {
			return s, false
		} else if c < high[s.off] {
			s.aux &^= tightHigh
		}
	}
	s.off++
	if s.off == len(low) {
		s.aux = 0
	}
	return s, true
}

// bounds returns the texts of the smallest and the largest value.
func (f Format) bounds() (low, high string) {
	text := func(v Value) string {
		b, _ := f.Append(nil, v, 0)
		return string(b)
	}
	switch f.Kind {
	case Unix:
		return "0000000000", "9999999999"
	case Sortable:
		if f.Unsigned {
			return text(OfUint(0)), text(OfUint(f.Max))
		}
		return text(OfInt(-int64(f.Max) - 1)), text(OfInt(int64(f.Max)))
	}
	limit := f.Max
	if f.Width < sortableDigits {
		ten := uint64(1)
		for range f.Width {
			ten *= 10
		}
		limit = min(limit, ten-1)
	}
	return text(OfUint(0)), text(OfUint(limit))
}

// stepTime follows a layout of package time. aux has only the state that decides which days exist, so
// that there are few states. That is the year modulo 400 (the calendar repeats), then whether it is a
// leap year, then the number of days of the month. Its last digit is the first digit of the number that
// is being read.
func stepTime(s state, c byte, layout string) (state, bool) {
	if s.off >= len(layout) {
		return s, false
	}
	digit := int(c) - '0'
	ok := digit >= 0 && digit <= 9
	root, prev := s.aux/10, s.aux%10
	two := prev*10 + digit
	switch s.off {
	case 0, 1, 2:
		root = (root*10 + digit) % 400
	case 3:
		root = leap((root*10 + digit) % 400)
	case 5, 8, 11, 14, 17:
		prev = digit
	case 6:
		ok, prev = ok && two >= 1 && two <= 12, 0
		root = days(root, two)
	case 9:
		ok, prev, root = ok && two >= 1 && two <= root, 0, 0
	case 12:
		ok, prev = ok && two <= 23, 0
	case 15, 18:
		ok, prev = ok && two <= 59, 0
	default:
		if l := layout[s.off]; l != '0' { // not a digit of the fraction
			ok = c == l
		}
	}
	s.off++
	s.aux = root*10 + prev
	if s.off == len(layout) {
		s.aux = 0
	}
	return s, ok
}

func leap(year400 int) int {
	if year400 == 0 || year400%4 == 0 && year400%100 != 0 {
		return 1
	}
	return 0
}

func days(leap, month int) int {
	switch month {
	case 2:
		return 28 + leap
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

// stepWeek follows 2021-W46. aux is the year modulo 400, then the number of its
// weeks, and then that with the first digit of the week.
func stepWeek(s state, c byte) (state, bool) {
	digit := int(c) - '0'
	ok := digit >= 0 && digit <= 9
	switch s.off {
	case 0, 1, 2:
		s.aux = (s.aux*10 + digit) % 400
	case 3:
		s.aux = weeks((s.aux*10 + digit) % 400)
	case 4:
		ok = c == '-'
	case 5:
		ok = c == 'W'
	case 6:
		s.aux = s.aux*10 + digit
	case 7:
		week := s.aux%10*10 + digit
		ok = ok && week >= 1 && week <= s.aux/10
		s.aux = 0
	default:
		ok = false
	}
	s.off++
	return s, ok
}

// weeks returns the number of ISO weeks of a year.
func weeks(year400 int) int {
	if _, last := WeekStart(2000+year400, 53).ISOWeek(); last == 53 {
		return 53
	}
	return 52
}
