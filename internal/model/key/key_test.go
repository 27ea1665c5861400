package key

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/itemize/itemize/internal/model/redact"
	"github.com/itemize/itemize/internal/testing/draws"
)

func lit(s string) Part { return Part{Text: s} }

func ph(kind FormatKind) Part { return Part{Format: Format{Kind: kind, Max: math.MaxInt64}} }

func digits(width int) Part {
	return Part{Format: Format{Kind: Digits, Width: width, Max: math.MaxInt64}}
}

func tmpl(parts ...Part) *Template { return &Template{Type: 'S', Delim: '#', Parts: parts} }

// Each format writes what it always wrote, so that stored keys stay readable by
// later versions.
func TestFormatVectors(t *testing.T) {
	at := time.Date(2021, time.November, 14, 23, 5, 9, 120_000_000, time.FixedZone("", -5*3600))
	for _, c := range []struct {
		format Format
		value  Value
		want   string
	}{
		{Format{Kind: Plain}, OfString("a#b%c"), "a%23b%25c"},
		{Format{Kind: Plain}, OfString("~a~"), "%7Ea~"},
		{Format{Kind: Plain}, OfString("élan"), "élan"},
		{Format{Kind: Raw}, OfString("a#b%c"), "a#b%c"},
		{Format{Kind: Digits, Width: 6}, OfInt(42), "000042"},
		{Format{Kind: Digits, Width: 20}, OfUint(math.MaxUint64), "18446744073709551615"},
		{Format{Kind: Sortable}, OfInt(0), "09223372036854775808"},
		{Format{Kind: Sortable}, OfInt(math.MinInt64), "00000000000000000000"},
		{Format{Kind: Sortable}, OfInt(math.MaxInt64), "18446744073709551615"},
		{Format{Kind: Sortable}, OfUint(math.MaxUint64), "27670116110564327423"},
		{Format{Kind: Nanos}, OfTime(at), "2021-11-15T04:05:09.120000000Z"},
		{Format{Kind: Millis}, OfTime(at), "2021-11-15T04:05:09.120Z"},
		{Format{Kind: Seconds}, OfTime(at), "2021-11-15T04:05:09Z"},
		{Format{Kind: Unix}, OfTime(at), "1636949109"},
		{Format{Kind: Date}, OfTime(at), "2021-11-15"},
		{Format{Kind: Month}, OfTime(at), "2021-11"},
		{Format{Kind: Week}, OfTime(at), "2021-W46"},
		{Format{Kind: Year}, OfTime(at), "2021"},
		{Format{Kind: Native}, OfNumber("1.0"), "1"},
		{Format{Kind: Native}, OfNumber("12E3"), "12000"},
	} {
		got, err := c.format.Append(nil, c.value, '#')
		if err != nil || string(got) != c.want {
			t.Errorf("%+v of %v = %q, %v; want %q", c.format, c.value, got, err, c.want)
		}
	}
}

// What a key cannot hold is refused with its cure before anything is sent.
func TestRefusedValues(t *testing.T) {
	far := time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		format Format
		value  Value
		want   string
	}{
		{Format{Kind: Plain}, OfString(""), "an empty string in a key: set a value"},
		{Format{Kind: Plain}, OfString("\xff"), "a string that is not valid UTF-8 in a key: two of them could " +
			"become one on the wire: use valid UTF-8, or []byte as the whole key"},
		{Format{Kind: Raw}, OfString("~x"), "a raw value that begins with ~: such segments are reserved by the " +
			"library: remove :raw from the placeholder, so that the value is escaped"},
		{Format{Kind: Digits, Width: 2}, OfInt(100), `the number has more than 2 digits ("100"): widen the format, ` +
			`which changes all keys, or use sortable`},
		{
			Format{Kind: Digits, Width: 2},
			OfInt(-1),
			"a negative number does not sort as digits (-1): use the format sortable",
		},
		{Format{Kind: Nanos}, OfTime(far), "a year that a key cannot hold (10000): keys hold the years 0 to 9999"},
		{
			Format{Kind: Unix},
			OfTime(time.Unix(-1, 0)),
			`a time that a key of epoch seconds cannot hold ("1969-12-31T23:59:59Z"): 10 digits are enough for the ` +
				`years 1970 to 2286: use the format seconds`,
		},
		{Format{Kind: Native}, OfBytes(nil), "empty bytes in a key: set a value"},
		{
			Format{Kind: Native},
			OfNumber("1E200"),
			`the number is invalid ("1E200"): use at most 38 digits, between 1E-130 and 9.9E+125`,
		},
	} {
		if _, err := c.format.Append(nil, c.value, '#'); err == nil || redact.Detail(err) != c.want ||
			strings.Contains(err.Error(), "(") {
			t.Errorf("%v of %v: error %v\nwant %s", c.format.Kind, c.value, err, c.want)
		}
	}
}

// Numbers in keys have one form, so that 1 and 1.0 are one key.
func TestCanonical(t *testing.T) {
	for in, want := range map[string]string{
		"1": "1", "1.0": "1", "+1": "1", "10E-1": "1", "0.1e1": "1", "-0": "0", "0E5": "0", "007": "7", ".5": "0.5",
		"120": "120", "1.20": "1.2", "0.0120": "0.012", "-12.5E+1": "-125", "1E-130": "0." + strings.Repeat("0", 129) +
			"1",
	} {
		if got, ok := Canonical(in); !ok || got != want {
			t.Errorf("Canonical(%q) = %q, %v; want %q", in, got, ok, want)
		}
	}
	for _, in := range []string{
		"", "-", "x", "1x", "1E", "1E+", ".", "NaN", "1E126", "1E-131",
		strings.Repeat("1", 39),
	} {
		if got, ok := Canonical(in); ok {
			t.Errorf("Canonical(%q) = %q; want none", in, got)
		}
	}
}

// A text is a number if it has a canonical form. A faster check must agree with that.
func TestIsNumber(t *testing.T) {
	const letters = "019.-+eE x"
	for n := range 300_000 { // all texts of up to five letters, and some longer ones
		text := ""
		for ; n > 0; n /= len(letters) + 1 {
			if i := n % (len(letters) + 1); i > 0 {
				text += letters[i-1 : i]
			}
		}
		for _, s := range []string{text, "1" + strings.Repeat("0", 36) + text, text + strings.Repeat("7", 37)} {
			if _, want := Canonical(s); IsNumber(s) != want {
				t.Fatalf("%q: %v", s, !want)
			}
		}
	}
}

// Law 4: rendered keys give their values back, also where values hold the
// delimiter, percent signs and tildes, and where placeholders are adjacent.
func TestTemplateRoundTrip(t *testing.T) {
	seed := draws.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 20_000 {
		delim := "#/-:|"[r.IntN(5)]
		tm, values := randomTemplate(r, delim)
		s, err := tm.Render(values)
		if err != nil {
			t.Fatalf("%+v of %v: %v", tm, values, err)
		}
		back := make([]Value, tm.Placeholders())
		if !tm.Parse(s, back) {
			t.Fatalf("%+v does not parse its own key %q", tm, s.Text)
		}
		for i := range values {
			if !sameValue(values[i], back[i]) {
				t.Fatalf("%+v of %v: key %q gives %v back", tm, values, s.Text, back)
			}
		}
	}
}

func sameValue(a, b Value) bool {
	return a.Kind == b.Kind && a.Text == b.Text && a.Int == b.Int && a.Uint == b.Uint && a.Time.Equal(b.Time)
}

func randomTemplate(r *rand.Rand, delim byte) (*Template, []Value) {
	tm := &Template{Type: 'S', Delim: delim}
	var values []Value
	open := false
	for range 1 + r.IntN(6) {
		switch r.IntN(4) {
		case 0:
			tm.Parts = append(tm.Parts, lit(strings.Repeat("x", r.IntN(2))+string(delim)+"Y"))
			open = false
		case 1:
			if open {
				tm.Parts = append(tm.Parts, lit(string(delim)))
			}
			tm.Parts = append(tm.Parts, ph(Plain))
			values = append(values, OfString(randomText(r, delim)))
			open = true
		case 2:
			tm.Parts = append(tm.Parts, digits(4))
			values = append(values, OfInt(r.Int64N(10000)))
		default:
			f := Nanos + FormatKind(r.IntN(7))
			at := time.Unix(r.Int64N(maxUnix), r.Int64N(1e9)).UTC()
			tm.Parts = append(tm.Parts, ph(f))
			values = append(values, OfTime(truncate(at, f)))
		}
	}
	return tm, values
}

func truncate(at time.Time, f FormatKind) time.Time {
	switch f {
	case Millis:
		return at.Truncate(time.Millisecond)
	case Seconds, Unix:
		return at.Truncate(time.Second)
	case Date:
		return time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, time.UTC)
	case Month:
		return time.Date(at.Year(), at.Month(), 1, 0, 0, 0, 0, time.UTC)
	case Week:
		return WeekStart(at.ISOWeek())
	case Year:
		return time.Date(at.Year(), 1, 1, 0, 0, 0, 0, time.UTC)
	}
	return at
}

func randomText(r *rand.Rand, delim byte) string {
	alphabet := []rune{'a', '%', rune(delim), '~', '2', '5', 'é', '世', '0', 'E'}
	n := 1 + r.IntN(6)
	b := make([]rune, n)
	for i := range b {
		b[i] = alphabet[r.IntN(len(alphabet))]
	}
	return string(b)
}

// Keys of times, of sortable numbers and of padded ones sort as their values do.
func TestKeysSortAsValues(t *testing.T) {
	seed := draws.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	key := func(f Format, v Value) string {
		b, err := f.Append(nil, v, '#')
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for range 10_000 {
		a, b := r.Int64()-r.Int64(), r.Int64()-r.Int64()
		f := Format{Kind: Sortable}
		if (a < b) != (key(f, OfInt(a)) < key(f, OfInt(b))) && a != b {
			t.Fatalf("sortable: %d and %d", a, b)
		}
		s, u := time.Unix(a%2e11, r.Int64N(1e9)), time.Unix(b%2e11, r.Int64N(1e9))
		f = Format{Kind: Nanos}
		if s.UTC().Year() < 0 || u.UTC().Year() < 0 {
			continue
		}
		if s.Before(u) != (key(f, OfTime(s)) < key(f, OfTime(u))) {
			t.Fatalf("times: %v and %v", s, u)
		}
	}
}

// Whether two templates can meet is decided exactly, and the witness is a key of both.
func TestCollisions(t *testing.T) {
	small := Part{Format: Format{Kind: Digits, Width: 3, Max: math.MaxInt8}}
	for _, c := range []struct {
		name string
		a, b *Template
		want string // "" for never
	}{
		{"a string takes the literal", tmpl(lit("U#"), ph(Plain)), tmpl(lit("U#Home")), "U#Home"},
		{"a string holds no delimiter", tmpl(lit("U#"), ph(Plain)), tmpl(lit("U#Home#X")), ""},
		{"a raw string does", tmpl(lit("U#"), ph(Raw)), tmpl(lit("U#Home#X")), "U#Home#X"},
		{
			"a segment that begins another", tmpl(lit("U#Address#"), ph(Plain)), tmpl(lit("U#AddressBook#"), ph(Plain)),
			"",
		},
		{"no value begins with a tilde", tmpl(lit("U#"), ph(Plain)), tmpl(lit("U#~x")), ""},
		{"but an escaped one does", tmpl(lit("U#"), ph(Plain)), tmpl(lit("U#%7Ex")), "U#%7Ex"},
		{"escapes are canonical", tmpl(ph(Plain)), tmpl(lit("a%7E")), ""},
		{"a lone percent sign is no value", tmpl(ph(Plain)), tmpl(lit("50%")), ""},
		{"widths differ", tmpl(digits(3)), tmpl(digits(4)), ""},
		{"digits are not letters", tmpl(digits(3)), tmpl(lit("ABC")), ""},
		{"digits and a year", tmpl(digits(4)), tmpl(ph(Year)), "0000"},
		{"an int8 ends at 127", tmpl(small), tmpl(lit("128")), ""},
		{"and includes it", tmpl(small), tmpl(lit("127")), "127"},
		{"no 30th of February", tmpl(ph(Date)), tmpl(lit("2020-02-30")), ""},
		{"but a leap day", tmpl(ph(Date)), tmpl(lit("2020-02-29")), "2020-02-29"},
		{"1900 had none", tmpl(ph(Date)), tmpl(lit("1900-02-29")), ""},
		{"2000 had", tmpl(ph(Date)), tmpl(lit("2000-02-29")), "2000-02-29"},
		{"2020 had 53 weeks", tmpl(ph(Week)), tmpl(lit("2020-W53")), "2020-W53"},
		{"2021 had not", tmpl(ph(Week)), tmpl(lit("2021-W53")), ""},
		{"a week is no month", tmpl(ph(Week)), tmpl(ph(Month)), ""},
		{"a date, then a month with two digits", tmpl(ph(Date)), tmpl(ph(Month), lit("-"), digits(2)), "0000-01-01"},
		{"an instant is no text with a delimiter", tmpl(ph(Nanos), lit("#"), ph(Plain)), tmpl(ph(Plain)), ""},
		{"an instant is a text", tmpl(ph(Nanos)), tmpl(ph(Plain)), "0000-01-01T00:00:00.000000000Z"},
		{"sortable beyond its range", tmpl(ph(Sortable)), tmpl(lit("18446744073709551616")), ""},
		{"sortable at its end", tmpl(ph(Sortable)), tmpl(lit("18446744073709551615")), "18446744073709551615"},
		{
			"literals and values interleaved", tmpl(lit("A"), ph(Plain), lit("#B")),
			tmpl(lit("AX"), ph(Plain), lit("#"), ph(Plain)), "AXA#B",
		},
		{
			"an entity's head and its lines", tmpl(lit("ORDER#"), digits(6), lit("#HEAD")),
			tmpl(lit("ORDER#"), digits(6), lit("#LINE#"), digits(3)), "",
		},
		{"a bare string meets all", tmpl(ph(Native)), tmpl(lit("HEAD")), "HEAD"},
	} {
		got, collide := Overlap(c.a, c.b)
		if collide != (c.want != "") || got.Text != c.want {
			t.Errorf("%s: %q, %v; want %q", c.name, got.Text, collide, c.want)
		}
		back, collideBack := Overlap(c.b, c.a)
		if collideBack != collide {
			t.Errorf("%s: not symmetric: %v", c.name, back)
		}
	}
}

// Overlap agrees with rendering: a random key of one template is found in the
// other exactly if that parses it, and a witness parses in both.
func TestCollisionsAgreeWithParse(t *testing.T) {
	seed := draws.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	collided := 0
	for range draws.Times(500, 3_000, 50_000) {
		a, values := randomTemplate(r, '#')
		b, _ := randomTemplate(r, '#')
		if r.IntN(2) == 0 { // a literal that a could give
			s, _ := a.Render(values)
			b = tmpl(lit(s.Text))
		}
		w, collide := Overlap(a, b)
		if collide {
			collided++
			if !a.Parse(w, make([]Value, a.Placeholders())) || !b.Parse(w, make([]Value, b.Placeholders())) {
				t.Fatalf("%+v and %+v: the witness %q is not a key of both", a, b, w.Text)
			}
			continue
		}
		if s, err := a.Render(values); err == nil && b.Parse(s, make([]Value, b.Placeholders())) {
			t.Fatalf("%+v and %+v meet in %q, which Overlap did not find", a, b, s.Text)
		}
	}
	if collided == 0 {
		t.Fatal("no two templates met: the test proves nothing")
	}
}

// Times are read and written as package time does: each day of the years 0 to 9999. Texts with a wrong byte are
// refused.
func TestClock(t *testing.T) {
	day := time.Date(0, 1, 1, 23, 59, 58, 987654321, time.UTC)
	for ; day.Year() < 10000; day = day.AddDate(0, 0, 1) {
		for _, k := range []FormatKind{Nanos, Date} {
			text := day.Format(layouts[k])
			want, err := time.Parse(layouts[k], text)
			if got, ok := clocks[k].parse(text); err != nil || !ok || got != want {
				t.Fatalf("%s: %v %v, want %v", text, got, ok, want)
			}
			if got := clocks[k].append([]byte("#"), day); string(got) != "#"+text {
				t.Fatalf("%s, want %s", got, text)
			}
		}
	}
	for k, layout := range layouts {
		if layout == "" {
			continue
		}
		good := time.Date(2021, 11, 14, 9, 30, 7, 123456789, time.UTC).Format(layout)
		if got := clocks[k].append(nil, time.Date(2021, 11, 14, 9, 30, 7, 123456789, time.UTC)); string(got) != good {
			t.Errorf("%s, want %s", got, good)
		}
		for i := range good {
			for c := range 256 {
				text := good[:i] + string([]byte{byte(c)}) + good[i+1:]
				want, err := time.Parse(layout, text)
				if want.Format(layout) != text {
					err = errors.New("it is written differently")
				}
				if got, ok := clocks[k].parse(text); ok != (err == nil) || ok && got != want {
					t.Fatalf("%q: %v %v, want %v, %v", text, got, ok, want, err)
				}
			}
		}
		if _, ok := clocks[k].parse(good[1:]); ok {
			t.Errorf("%q", good[1:])
		}
	}
}
