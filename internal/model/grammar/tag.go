package grammar

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Tag is one parsed struct tag.
type Tag struct {
	// Raw is the whole tag as written in the source, without the back quotes.
	Raw string
	// Present reports whether the tag has a ddb key.
	Present bool
	// Skip reports that the tag is ddb:"-": the field is not stored.
	Skip bool
	// Options are the ddb options in their order.
	Options []Option
	// AV is the dynamodbav part.
	AV AV
}

// Option is one option of a ddb tag.
type Option struct {
	Word  string
	Value string // unquoted; empty where the option has none
	// Template is the parsed value of pk= and sk=; Keys are those of an index, one for each of its
	// key attributes.
	Template *Template
	Keys     []*Template
	// Number is the parsed value of preview= and inline= (bytes); Numbers are those of shards=.
	Number  int
	Numbers []int
	// Pos and End are the option's place in the raw tag, in bytes; ValuePos is
	// where its value begins.
	Pos, End, ValuePos int
}

// Option returns the option with that word.
func (t *Tag) Option(word string) (Option, bool) {
	for _, o := range t.Options {
		if o.Word == word {
			return o, true
		}
	}
	return Option{}, false
}

// Has reports whether the tag has the option.
func (t *Tag) Has(word string) bool {
	_, ok := t.Option(word)
	return ok
}

// Value returns the option's value, or "" where the tag does not have it.
func (t *Tag) Value(word string) string {
	o, _ := t.Option(word)
	return o.Value
}

// Error is one fault of a tag, with its place in the raw tag in bytes.
type Error struct {
	Pos, End int
	// Msg names the fault, and Cure the correct form.
	Msg, Cure string
}

// Error returns the fault and its cure as one sentence.
func (e *Error) Error() string {
	if e.Cure == "" {
		return e.Msg
	}
	return e.Msg + ": " + e.Cure
}

// Parse parses the raw struct tag of a field, or on a blank field.
// The tag is usable as far as it could be read; the errors are all its faults.
func Parse(raw string, where Where) (*Tag, []*Error) {
	p := &parser{tag: &Tag{Raw: raw}, where: where}
	for _, kv := range p.pairs() {
		switch kv.key {
		case "ddb":
			p.tag.Present = true
			p.ddb(kv)
		case "dynamodbav":
			p.av(kv)
		}
	}
	return p.tag, p.errs
}

type parser struct {
	tag   *Tag
	where Where
	// index reports that the tag declares an index, whose keys can be several attributes.
	index bool
	errs  []*Error
}

func (p *parser) fault(pos, end int, cure, format string, args ...any) {
	p.errs = append(p.errs, &Error{pos, end, fmt.Sprintf(format, args...), cure})
}

// span is a piece of the raw tag. at gives the raw offset of each byte of text
// (and of its end), since escapes in the quoted value shift offsets.
type span struct {
	text string
	at   []int // nil: base + i
	base int
}

func (s span) pos(i int) int {
	if s.at == nil {
		return s.base + i
	}
	return s.at[i]
}

func (s span) slice(from, to int) span {
	if s.at == nil {
		return span{text: s.text[from:to], base: s.base + from}
	}
	return span{text: s.text[from:to], at: s.at[from : to+1]}
}

type pair struct {
	key   string
	value span
}

// pairs splits the raw tag the way reflect.StructTag.Lookup does, but complains
// where that silently stops.
func (p *parser) pairs() []pair {
	var out []pair
	raw, i := p.tag.Raw, 0
	seen := map[string]bool{}
	for {
		for i < len(raw) && raw[i] == ' ' {
			i++
		}
		if i == len(raw) {
			return out
		}
		start := i
		for i < len(raw) && raw[i] > ' ' && raw[i] != ':' && raw[i] != '"' && raw[i] != 0x7f {
			i++
		}
		key := raw[start:i]
		if key == "" || i+1 >= len(raw) || raw[i] != ':' || raw[i+1] != '"' {
			p.fault(start, len(raw), `write key:"value" pairs with one space between them`,
				"malformed struct tag at %q", clip(raw[start:]))
			return out
		}
		quoted, err := strconv.QuotedPrefix(raw[i+1:])
		if err != nil {
			p.fault(i+1, len(raw), "close the value with a double quote", "malformed value of the key %s", key)
			return out
		}
		value := unquote(quoted, i+1)
		i += 1 + len(quoted)
		if i < len(raw) && raw[i] != ' ' {
			p.fault(i, len(raw), "put a space between the keys", "malformed struct tag after the key %s", key)
			return out
		}
		if seen[key] {
			p.fault(start, i, "keep one of them", "the struct tag has the key %s twice", key)
			continue
		}
		seen[key] = true
		out = append(out, pair{key, value})
	}
}

// unquote returns the value of a Go string literal that begins at base, with
// the offset of each of its bytes.
func unquote(quoted string, base int) span {
	body := quoted[1 : len(quoted)-1]
	if !strings.Contains(body, `\`) {
		return span{text: body, base: base + 1}
	}
	var b []byte
	var at []int
	for off, rest := 0, body; rest != ""; {
		r, multibyte, tail, err := strconv.UnquoteChar(rest, '"')
		if err != nil { // QuotedPrefix has checked it
			break
		}
		n := len(b)
		if r < utf8.RuneSelf || !multibyte {
			b = append(b, byte(r))
		} else {
			b = utf8.AppendRune(b, r)
		}
		for range len(b) - n {
			at = append(at, base+1+off)
		}
		off += len(rest) - len(tail)
		rest = tail
	}
	return span{text: string(b), at: append(at, base+len(quoted)-1)}
}

func clip(s string) string {
	const limit = 40
	if len(s) <= limit {
		return s
	}
	for i := limit; i > limit-utf8.UTFMax; i-- {
		if utf8.RuneStart(s[i]) {
			return s[:i] + "..."
		}
	}
	return s[:limit] + "..." // it is not UTF-8
}

// ddb parses the value of the ddb key.
func (p *parser) ddb(kv pair) {
	s := kv.value
	if s.text == "-" {
		p.tag.Skip = true
		if p.where == OnBlank {
			p.fault(s.pos(0), s.pos(1), "remove the tag", "- has no effect on a blank field")
		}
		return
	}
	if s.text == "" {
		p.fault(s.pos(0), s.pos(0), `remove it, or write ddb:"-" for a field that is not stored`, "empty ddb tag")
		return
	}
	parts := p.split(s)
	for _, part := range parts {
		p.index = p.index || p.where == OnBlank && strings.HasPrefix(part.text, "index=") && part.text != "index="
	}
	for _, part := range parts {
		p.option(part)
	}
}

// split cuts at the commas outside quotes. A quote opens only
// right after the first = of an option.
func (p *parser) split(s span) []span {
	var out []span
	start, quoted := 0, false
	for i := 0; i < len(s.text); i++ {
		switch c := s.text[i]; {
		case c == '\'' && quoted:
			if i+1 < len(s.text) && s.text[i+1] == '\'' {
				i++
			} else {
				quoted = false
			}
		case c == '\'' && i > 0 && s.text[i-1] == '=' && !strings.Contains(s.text[start:i-1], "="):
			quoted = true
		case c == ',' && !quoted:
			out = append(out, s.slice(start, i))
			start = i + 1
		}
	}
	if quoted {
		p.fault(s.pos(start), s.pos(len(s.text)), "close it with a single quote (a quote inside is doubled)",
			"the quoted value in %q has no end", clip(s.text[start:]))
		return out
	}
	return append(out, s.slice(start, len(s.text)))
}

func (p *parser) option(s span) {
	from, to := s.pos(0), s.pos(len(s.text))
	if s.text == "" {
		p.fault(from, to, "remove the extra comma", "empty option")
		return
	}
	if s.text != strings.Trim(s.text, " \t\n\r") {
		p.fault(from, to, "remove them", "spaces around the option %q", s.text)
		return
	}
	name, _, has := strings.Cut(s.text, "=")
	if name == "-" && !has {
		p.fault(from, to, `write ddb:"-" alone, or remove it`, "- does not go with other options")
		return
	}
	w, found := lookup(name)
	if !found {
		p.fault(from, to, p.cure(name), "unknown option %q", name)
		return
	}
	if p.tag.Has(name) {
		p.fault(from, to, "keep one of them", "the tag has the option %s twice", name)
		return
	}
	if w.where&p.where == 0 {
		place := "a field that is stored"
		if w.where == OnBlank {
			place = "a blank field (_ struct{})"
		}
		p.fault(from, to, "move it there", "the option %s is for %s", name, place)
		return
	}
	o := Option{Word: name, Pos: from, End: to, ValuePos: to}
	value := s.slice(len(s.text), len(s.text))
	if has {
		value = p.value(s.slice(len(name)+1, len(s.text)))
		o.Value, o.ValuePos = value.text, value.pos(0)
	}
	if p.check(&o, w, value, has) {
		p.tag.Options = append(p.tag.Options, o)
	}
}

// value strips the quotes of a quoted value.
func (p *parser) value(s span) span {
	if !strings.HasPrefix(s.text, "'") {
		return s
	}
	var b []byte
	var at []int
	for i := 1; i < len(s.text); i++ {
		if s.text[i] == '\'' {
			if i+1 == len(s.text) {
				return span{text: string(b), at: append(at, s.pos(i))}
			}
			if s.text[i+1] != '\'' {
				p.fault(s.pos(i), s.pos(len(s.text)), "end the option there, or double the quote",
					"text after the quoted value in %q", clip(s.text))
				break
			}
			i++
		}
		b, at = append(b, s.text[i]), append(at, s.pos(i))
	}
	return span{text: string(b), at: append(at, s.pos(len(s.text)))}
}

// check validates an option's value against its word.
func (p *parser) check(o *Option, w word, value span, has bool) bool {
	errs := len(p.errs)
	wantsValue := w.takes != nothing
	if w.takes == maybeText {
		wantsValue = p.where == OnBlank
		if wantsValue {
			w.usage = w.name + "=ATTR"
		}
	}
	if w.takes == optional {
		wantsValue = has
	}
	switch {
	case has && !wantsValue:
		p.fault(o.Pos, o.End, "write "+w.usage, "the option %s takes no value", o.Word)
	case !has && wantsValue:
		p.fault(o.Pos, o.End, "write "+w.usage, "the option %s needs a value", o.Word)
	case has && value.text == "":
		p.fault(o.Pos, o.End, "write "+w.usage, "the option %s has an empty value", o.Word)
	case has && !utf8.ValidString(value.text):
		p.fault(o.Pos, o.End, "use valid UTF-8", "the value of the option %s is not valid UTF-8", o.Word)
	default:
		p.checkKind(o, w, value)
	}
	return len(p.errs) == errs
}

func (p *parser) checkKind(o *Option, w word, value span) {
	switch w.takes {
	case template:
		if p.index {
			o.Keys = p.templates(value)
			return
		}
		o.Template = p.template(value)
	case number:
		n, err := strconv.Atoi(o.Value)
		if err != nil || n < 1 {
			p.fault(o.Pos, o.End, "write a whole number from 1", "%s=%s is not a count", o.Word, o.Value)
		}
		o.Number = n
	case counts:
		o.Numbers = p.counts(o)
	case size:
		n, ok := parseSize(o.Value)
		if !ok {
			p.fault(o.Pos, o.End, "write bytes or KB (of 1,024 bytes): inline=512, inline=8KB", "%s=%s is not a size",
				o.Word, o.Value)
		}
		o.Number = n
	case char:
		if len(o.Value) != 1 || !isDelim(o.Value[0]) {
			p.fault(o.Pos, o.End,
				"write one ASCII character that is not a letter, digit, space, %, {, }, ~ or quote, such as delim=/",
				"%q cannot be the delimiter", o.Value)
		}
	case codec:
		valid := false
		for _, c := range Codecs {
			valid = valid || c == o.Value
		}
		if !valid {
			p.fault(o.Pos, o.End, "write one of "+strings.Join(Codecs, ", "), "unknown codec %q", o.Value)
		}
	}
	if (o.Word == "name" || o.Word == "one") && !isExported(o.Value) {
		p.fault(o.Pos, o.End, "write an exported Go identifier, such as "+o.Word+"=Wish",
			"%q cannot be a method's name", o.Value)
	}
}

// counts parses whole numbers with commas between.
func (p *parser) counts(o *Option) []int {
	var all []int
	for _, text := range strings.Split(o.Value, ",") {
		n, err := strconv.Atoi(text)
		switch {
		case err != nil || n < 1:
			p.fault(o.Pos, o.End, "write a whole number from 1, or several in quotes: "+o.Word+"='400,200'",
				"%s=%s is not a count", o.Word, o.Value)
			return nil
		case slices.Contains(all, n):
			p.fault(o.Pos, o.End, "write it once", "%s=%s has %d twice", o.Word, o.Value, n)
			return nil
		}
		all = append(all, n)
	}
	return all
}

// isDelim reports whether c can be the delimiter: ASCII, printable, and nothing
// that values escape or templates need for themselves.
func isDelim(c byte) bool {
	return c > ' ' && c < 0x7f && !isAlnum(c) && !strings.ContainsRune("%{}~'\"`\\", rune(c))
}

func isAlnum(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// parseSize reads 512, 512B, 8KB.
func parseSize(s string) (int, bool) {
	unit := 1
	if t, ok := strings.CutSuffix(s, "KB"); ok {
		s, unit = t, 1024
	} else if t, ok := strings.CutSuffix(s, "B"); ok {
		s = t
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > 409600 {
		return 0, false
	}
	return n * unit, true
}
