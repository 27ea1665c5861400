package key

import "strings"

// Part is a literal of a template, or a placeholder.
type Part struct {
	// Text is a literal's text. Of a placeholder it is empty.
	Text string
	// Format is the placeholder's; its kind is Literal for a literal.
	Format Format
}

func (p *Part) literal() bool { return p.Format.Kind == Literal }

// Template is the pattern of a key attribute's value.
type Template struct {
	// Type is the key attribute's type: 'S', 'N' or 'B'.
	Type byte
	// Delim separates the segments.
	Delim byte
	Parts []Part
}

// Placeholders returns the number of placeholders.
func (t *Template) Placeholders() int {
	n := 0
	for _, p := range t.Parts {
		if !p.literal() {
			n++
		}
	}
	return n
}

// LiteralPrefix returns the text before the first placeholder.
func (t *Template) LiteralPrefix() string {
	if len(t.Parts) > 0 && t.Parts[0].literal() {
		return t.Parts[0].Text
	}
	return ""
}

// Append appends the text of the first n parts, with the placeholders' values.
// The error is an *Error with the index of the placeholder.
func (t *Template) Append(dst []byte, n int, values []Value) ([]byte, error) {
	i := 0
	for _, p := range t.Parts[:n] {
		if p.literal() {
			dst = append(dst, p.Text...)
			continue
		}
		var err error
		if dst, err = p.Format.Append(dst, values[i], t.Delim); err != nil {
			e := *err.(*Error)
			e.Index = i
			return dst, &e
		}
		i++
	}
	return dst, nil
}

// Render returns the key of the values.
func (t *Template) Render(values []Value) (Scalar, error) {
	var buf [128]byte
	b, err := t.Append(buf[:0], len(t.Parts), values)
	if err != nil {
		return Scalar{}, err
	}
	return Scalar{t.Type, string(b)}, nil
}

// Parse writes the values of a key into values, which has room for all of the
// template's placeholders. It returns false where the key is not one of the
// template's.
func (t *Template) Parse(s Scalar, values []Value) bool {
	if s.Type != t.Type {
		return false
	}
	rest, n := s.Text, 0
	for i := range t.Parts {
		p := &t.Parts[i]
		if p.literal() {
			var ok bool
			if rest, ok = strings.CutPrefix(rest, p.Text); !ok {
				return false
			}
			continue
		}
		width := t.width(i, rest)
		if width < 0 || width > len(rest) {
			return false
		}
		var ok bool
		if values[n], ok = p.Format.Parse(rest[:width], t.Delim); !ok {
			return false
		}
		rest, n = rest[width:], n+1
	}
	return rest == ""
}

// width returns the number of bytes of rest that the placeholder at part i takes. Raw and native
// placeholders take all of it. A variable one ends at the next delimiter, less the length of the parts
// before that delimiter.
func (t *Template) width(i int, rest string) int {
	f := &t.Parts[i].Format
	if w, ok := f.Fixed(); ok {
		return w
	}
	if f.Kind == Raw || f.Kind == Native {
		return len(rest)
	}
	tail, delimited := t.tail(i + 1)
	end := len(rest)
	if delimited {
		if end = strings.IndexByte(rest, t.Delim); end < 0 {
			return -1
		}
	}
	return end - tail
}

// tail returns the number of bytes from part i to the next delimiter, or to
// the end where there is none.
func (t *Template) tail(i int) (n int, delimited bool) {
	for ; i < len(t.Parts); i++ {
		p := t.Parts[i]
		sample := p.Text
		if !p.literal() {
			w, _ := p.Format.Fixed()
			sample = layouts[p.Format.Kind]
			if sample == "" && p.Format.Kind == Week {
				sample = "2021-W46"
			} else if sample == "" {
				sample = strings.Repeat("0", w)
			}
		}
		if j := strings.IndexByte(sample, t.Delim); j >= 0 {
			return n + j, true
		}
		n += len(sample)
	}
	return n, false
}

// Ambiguous returns the index of the second of two parts of variable width that
// no delimiter separates, or -1. Such a template would not give its values back.
func (t *Template) Ambiguous() int {
	open := false
	for i, p := range t.Parts {
		if p.literal() {
			if strings.IndexByte(p.Text, t.Delim) >= 0 {
				open = false
			}
			continue
		}
		if _, fixed := p.Format.Fixed(); fixed {
			continue
		}
		if open {
			return i
		}
		open = true
	}
	return -1
}

// TimePrefix reports whether a text is the beginning of a key that ends within
// one of its times, behind the sign that follows a year, month, day or hour.
func (t *Template) TimePrefix(p string) bool {
	rest := p
	for i, part := range t.Parts {
		if part.literal() {
			var ok bool
			if rest, ok = strings.CutPrefix(rest, part.Text); !ok {
				return false
			}
			continue
		}
		if w, fixed := part.Format.Fixed(); fixed && len(rest) < w {
			return part.Format.partial(rest)
		}
		w := t.width(i, rest)
		if w < 0 || w > len(rest) {
			return false
		}
		if _, ok := part.Format.Parse(rest[:w], t.Delim); !ok {
			return false
		}
		rest = rest[w:]
	}
	return false
}

// partial reports whether a text is the beginning of one of the format's times,
// up to and with the sign behind a number.
func (f Format) partial(s string) bool {
	layout := layouts[f.Kind]
	if layout == "" || s == "" || strings.IndexByte("-T:", s[len(s)-1]) < 0 {
		return false
	}
	st := state{}
	for i := range len(s) {
		var ok bool
		if st, ok = stepTime(st, s[i], layout); !ok {
			return false
		}
	}
	return true
}
