package grammar

import (
	"go/token"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/itemize/itemize/internal/model/naming"
)

// Template is the pattern of a key: literal text and placeholders, in turn.
type Template struct {
	// Text is the template as it is written.
	Text  string
	Parts []Part
}

// Part is a literal, or a placeholder.
type Part struct {
	// Literal is the text, with doubled braces made single; "" for a placeholder.
	Literal string
	// Name is the field, "key", "." or "shard"; "" for a literal.
	Name string
	// KeyField reports that the name is a field of the model: {^Name}.
	KeyField bool
	// Format is the text behind the colon.
	Format string
	// Pos and End are the part's place in the raw tag, in bytes.
	Pos, End int
}

// String returns the placeholder as it is written, or the literal.
func (p Part) String() string {
	if p.Name == "" {
		return strings.NewReplacer("{", "{{", "}", "}}").Replace(p.Literal)
	}
	s := "{"
	if p.KeyField {
		s += "^"
	}
	s += p.Name
	if p.Format != "" {
		s += ":" + p.Format
	}
	return s + "}"
}

// The formats of placeholders; a width is "0" and the number of digits.
var formats = []string{"millis", "seconds", "unix", "date", "month", "week", "year", "raw", "sortable"}

// MaxWidth is the widest width a format can have: that of the largest uint64.
const MaxWidth = 20

// Width returns the number of digits of a format such as 06.
func Width(format string) (int, bool) {
	if len(format) < 2 || format[0] != '0' || format[1] == '0' {
		return 0, false
	}
	n, err := strconv.Atoi(format[1:])
	if err != nil || n < 1 || n > MaxWidth {
		return 0, false
	}
	return n, true
}

// ParseTemplate parses a template outside a tag.
func ParseTemplate(text string) (*Template, []*Error) {
	p := &parser{tag: &Tag{Raw: text}}
	t := p.template(span{text: text})
	return t, p.errs
}

// KeySeparator separates the key attributes of an index that has several, in pk=, sk=, hash= and
// range= alike.
const KeySeparator = ";"

// templates parses the templates of an index's key attributes.
func (p *parser) templates(s span) []*Template {
	var all []*Template
	for start, i := 0, 0; i <= len(s.text); i++ {
		if i < len(s.text) && s.text[i:i+1] != KeySeparator {
			continue
		}
		one := s.slice(start, i)
		start = i + 1
		if one.text == "" {
			p.fault(s.pos(0), s.pos(len(s.text)), "write a template for each attribute: {A};{B}",
				"an empty template in %q", s.text)
			continue
		}
		if trimmed := strings.Trim(one.text, " "); trimmed != one.text {
			p.fault(one.pos(0), one.pos(len(one.text)), "remove them",
				"spaces around the template %q of an index's key attribute", trimmed)
			continue
		}
		all = append(all, p.template(one))
	}
	return all
}

// template parses a key template.
func (p *parser) template(s span) *Template {
	t := &Template{Text: s.text}
	var lit []byte
	litAt := 0
	flush := func(end int) {
		if len(lit) > 0 {
			t.Parts = append(t.Parts, Part{Literal: string(lit), Pos: s.pos(litAt), End: s.pos(end)})
			lit = nil
		}
		litAt = end
	}
	for i := 0; i < len(s.text); {
		c := s.text[i]
		switch {
		case (c == '{' || c == '}') && i+1 < len(s.text) && s.text[i+1] == c:
			lit = append(lit, c)
			i += 2
		case c == '}':
			p.fault(s.pos(i), s.pos(i+1), "write }} for a literal brace", "a } without a { in the template %q", s.text)
			i++
		case c == '{':
			flush(i)
			end := strings.IndexByte(s.text[i:], '}')
			if end < 0 {
				p.fault(s.pos(i), s.pos(len(s.text)), "close it, or write {{ for a literal brace",
					"a { without a } in the template %q", s.text)
				return t
			}
			t.Parts = append(t.Parts, p.placeholder(s.slice(i, i+end+1)))
			i += end + 1
			litAt = i
		default:
			lit = append(lit, c)
			i++
		}
	}
	flush(len(s.text))
	return t
}

// placeholder parses "{...}".
func (p *parser) placeholder(s span) Part {
	body := s.text[1 : len(s.text)-1]
	part := Part{Pos: s.pos(0), End: s.pos(len(s.text))}
	body, part.KeyField = strings.CutPrefix(body, "^")
	var hasFormat bool
	part.Name, part.Format, hasFormat = strings.Cut(body, ":")
	special := part.Name == "key" || part.Name == "." || part.Name == "shard"
	switch {
	case !special && !isExported(part.Name):
		p.fault(part.Pos, part.End, "write the name of an exported field, {key}, {.} or {shard}",
			"%q is not a placeholder", s.text)
		part.Name = "?"
	case special && part.KeyField:
		p.fault(part.Pos, part.End, "write {"+part.Name+"}", "^ is for a field's name only, not for %q", s.text)
	}
	if hasFormat && !isFormat(part.Format) {
		p.fault(part.Pos, part.End, formatCure(part.Format), "unknown format in %q", s.text)
		part.Format = ""
	}
	return part
}

func isFormat(f string) bool {
	_, ok := Width(f)
	return ok || slices.Contains(formats, f)
}

func formatCure(f string) string {
	if n, err := strconv.Atoi(f); err == nil && n >= 1 && n <= MaxWidth && !strings.HasPrefix(f, "0") {
		return "write the width with a leading zero: 0" + f
	}
	if n := naming.Nearest(strings.ToLower(f), formats); n != "" {
		return "write " + n
	}
	return "the formats are " + strings.Join(formats, ", ") + ", and a width of 1 to " + strconv.Itoa(MaxWidth) +
		" digits such as 06"
}

// isExported reports whether s is an exported Go identifier.
func isExported(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return token.IsIdentifier(s) && unicode.IsUpper(r)
}
