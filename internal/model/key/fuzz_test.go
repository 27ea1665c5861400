package key

import (
	"bytes"
	"testing"
	"time"
)

// fuzzTemplates are templates of every shape that parse unambiguously.
var fuzzTemplates = []*Template{
	tmpl(ph(Plain)),
	tmpl(lit("A#"), ph(Plain), lit("#"), ph(Plain)),
	tmpl(lit("A#"), ph(Plain), digits(4)),
	tmpl(digits(3), ph(Plain), lit("x#"), ph(Nanos)),
	tmpl(ph(Nanos), lit("#"), ph(Plain), lit("#"), ph(Raw)),
	tmpl(ph(Sortable), ph(Unix), ph(Week)),
	tmpl(lit("D#"), ph(Date), ph(Month), ph(Year), ph(Millis), ph(Seconds)),
	{Type: 'S', Delim: '-', Parts: []Part{ph(Plain), ph(Date), lit("-"), ph(Plain)}},
	{Type: 'S', Delim: ':', Parts: []Part{lit("T"), ph(Plain), ph(Nanos)}},
	{Type: 'S', Delim: '#', Parts: []Part{{Format: Format{Kind: Native, Value: String}}}},
	{Type: 'N', Delim: '#', Parts: []Part{{Format: Format{Kind: Native, Value: Int, Max: 1<<63 - 1}}}},
	{Type: 'N', Delim: '#', Parts: []Part{{Format: Format{Kind: Native, Value: Number}}}},
}

// FuzzTemplateRender, one way: values that render parse back to themselves, so
// that no two share a key.
func FuzzTemplateRender(f *testing.F) {
	f.Add("a#b", "~%", int64(7), int64(1636949109), int64(5))
	f.Add("é世", "\x00", int64(-1), int64(-62135596800), int64(999999999))
	f.Fuzz(func(t *testing.T, a, b string, n, sec, nsec int64) {
		for _, tm := range fuzzTemplates {
			var values []Value
			text := []string{a, b, a}
			for _, p := range tm.Parts {
				switch k := p.Format.Kind; {
				case k == Literal:
				case k == Plain || k == Raw || p.Format.Value == String:
					values = append(values, OfString(text[len(values)%3]))
				case p.Format.IsTime():
					values = append(values, OfTime(time.Unix(sec%253402300800, nsec%1e9)))
				case p.Format.Value == Number:
					values = append(values, OfNumber(a))
				default:
					values = append(values, OfInt(n))
				}
			}
			s, err := tm.Render(values)
			if err != nil {
				continue // refused: says why
			}
			back := make([]Value, len(values))
			if !tm.Parse(s, back) {
				t.Fatalf("%+v of %v gives %q, which it does not parse", tm.Parts, values, s.Text)
			}
			again, err := tm.Render(back)
			if err != nil || again != s {
				t.Fatalf("%+v: %q parses to %v, which gives %q, %v", tm.Parts, s.Text, back, again.Text, err)
			}
			for i, v := range values {
				if v.Kind == String && back[i].Text != v.Text || v.Kind == Int && back[i].Int != v.Int {
					t.Fatalf("%+v: %v came back as %v", tm.Parts, v, back[i])
				}
			}
		}
	})
}

// FuzzTemplateParse, the other way: a text that parses renders to itself, and is
// one that Overlap finds.
func FuzzTemplateParse(f *testing.F) {
	for _, s := range []string{
		"A#x#y", "abc0042", "2021-11-14T09:30:00.000000000Z#a#b", "0922337203685477580816369491092021-W46",
		"x-2021-11-14-y", "1E2", "%7Ea%23",
		"D#2021-11-142021-1120212021-11-14T09:30:00.000Z2021-11-14T09:30:00Z",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, tm := range fuzzTemplates {
			values := make([]Value, tm.Placeholders())
			s := Scalar{tm.Type, string(b)}
			if tm.Type == 'N' {
				c, ok := Canonical(s.Text)
				if !ok {
					continue
				}
				s.Text = c
			}
			if !tm.Parse(s, values) {
				if _, collide := Overlap(tm, tmpl(lit(s.Text))); collide && tm.Type == 'S' &&
					bytes.Equal(bytes.ToValidUTF8(b, nil), b) {
					t.Fatalf("%+v does not parse %q, but could give it", tm.Parts, s.Text)
				}
				continue
			}
			again, err := tm.Render(values)
			if err != nil || again != s {
				t.Fatalf("%+v: %q parses to %v, which gives %q, %v", tm.Parts, s.Text, values, again.Text, err)
			}
			if _, collide := Overlap(tm, tmpl(lit(s.Text))); !collide && tm.Type == 'S' && len(b) > 0 {
				t.Fatalf("%+v gives %q, which Overlap denies", tm.Parts, s.Text)
			}
		}
	})
}
