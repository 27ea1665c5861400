package key

import (
	"math/bits"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/itemize/itemize/internal/model/redact"
)

// FormatKind is the kind of a placeholder's format.
type FormatKind uint8

// The formats. Plain is a string or the text of a
// TextMarshaler, with the delimiter escaped; Native stores the value of a bare
// placeholder in its own type.
const (
	Literal FormatKind = iota
	Plain
	Raw
	Digits
	Sortable
	Nanos
	Millis
	Seconds
	Unix
	Date
	Month
	Week
	Year
	Native
)

// Format is the format of one placeholder.
type Format struct {
	Kind FormatKind
	// Width is the number of digits of Digits.
	Width int
	// Max is the maximum of the field's integer type, for Digits and Sortable. Unsigned reports that
	// the type has no negative values.
	Max      uint64
	Unsigned bool
	// Value is the kind of value that is rendered and parsed.
	Value Kind
}

// layouts are the time formats of fixed width, as package time writes them; "" for another format.
var layouts = [Native + 1]string{
	Nanos:   "2006-01-02T15:04:05.000000000Z",
	Millis:  "2006-01-02T15:04:05.000Z",
	Seconds: "2006-01-02T15:04:05Z",
	Date:    "2006-01-02",
	Month:   "2006-01",
	Year:    "2006",
}

const (
	unixDigits     = 10
	maxUnix        = 9_999_999_999
	sortableDigits = 20
	signBit        = 1 << 63
	tenTo19        = 10_000_000_000_000_000_000
)

// IsTime reports whether the format is one of a time.
func (f *Format) IsTime() bool { return f.Kind >= Nanos && f.Kind <= Year }

// Fixed returns the width of a format whose texts all have the same width.
func (f *Format) Fixed() (width int, ok bool) {
	switch f.Kind {
	case Digits:
		return f.Width, true
	case Sortable:
		return sortableDigits, true
	case Unix:
		return unixDigits, true
	case Week:
		return len("2021-W46"), true
	}
	l := layouts[f.Kind]
	return len(l), l != ""
}

// Layout returns the format of a time as package time writes it, "" for another format.
func (f *Format) Layout() string { return layouts[f.Kind] }

// Append appends the text of a value. delim is the delimiter that strings
// escape.
func (f Format) Append(dst []byte, v Value, delim byte) ([]byte, error) {
	switch f.Kind {
	case Plain:
		return appendPlain(dst, v.Text, delim)
	case Raw:
		return appendRaw(dst, v.Text)
	case Digits:
		return f.appendDigits(dst, v)
	case Sortable:
		return appendSortable(dst, v), nil
	case Native:
		return f.appendNative(dst, v)
	}
	n := len(dst)
	dst, err := f.appendTime(dst, v.Time)
	if err == nil && f.isZero(string(dst[n:])) {
		return dst[:n], errZeroTime()
	}
	return dst, err
}

// Beyond reports whether a value comes before all that the format can write (-1), or behind it (1).
func (f *Format) Beyond(v Value) int {
	switch {
	case (v.Kind == String || v.Kind == Bytes) && v.Text == "", f.Kind == Digits && v.Kind == Int && v.Int < 0:
		return -1
	case f.Kind != Digits:
		return 0
	}
	n := v.Uint
	if v.Kind == Int {
		n = uint64(v.Int)
	}
	for range f.Width {
		n /= 10
	}
	return int(min(n, 1))
}

// isZero reports whether the text of a time is the text of the zero time in this format.
func (f *Format) isZero(text string) bool {
	if !f.IsTime() || text == "" || text[0] != '0' {
		return false
	}
	zero, err := f.appendTime(nil, time.Time{})
	return err == nil && string(zero) == text
}

// errZeroTime returns the error of a zero time in a key.
func errZeroTime() error { return &Error{Msg: "a zero time in a key", Cure: "set it"} }

func checkString(s string) error {
	if s == "" {
		return &Error{Msg: "an empty string in a key", Cure: "set a value"}
	}
	if !utf8.ValidString(s) {
		return &Error{
			Msg:  "a string that is not valid UTF-8 in a key",
			Cure: "two of them could become one on the wire: use valid UTF-8, or []byte as the whole key",
		}
	}
	return nil
}

const upperHex = "0123456789ABCDEF"

func appendEscape(dst []byte, c byte) []byte {
	return append(dst, '%', upperHex[c>>4], upperHex[c&15])
}

func appendPlain(dst []byte, s string, delim byte) ([]byte, error) {
	if err := checkString(s); err != nil {
		return dst, err
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c == '%', c == delim, c == '~' && i == 0:
			dst = appendEscape(dst, c)
		default:
			dst = append(dst, c)
		}
	}
	return dst, nil
}

func appendRaw(dst []byte, s string) ([]byte, error) {
	if err := checkString(s); err != nil {
		return dst, err
	}
	if s[0] == '~' {
		return dst, &Error{
			Msg: "a raw value that begins with ~",
			Cure: "such segments are reserved by the library: remove :raw from the placeholder, so that the value " +
				"is escaped",
		}
	}
	return append(dst, s...), nil
}

func (f Format) appendDigits(dst []byte, v Value) ([]byte, error) {
	n := v.Uint
	if v.Kind == Int {
		if v.Int < 0 {
			return dst, &Error{
				Msg:   "a negative number does not sort as digits",
				Cure:  "use the format sortable",
				Value: redact.Of(v.Int),
			}
		}
		n = uint64(v.Int)
	}
	at := len(dst)
	dst = append(dst, strings.Repeat("0", f.Width)...)
	for i := len(dst) - 1; i >= at; i-- {
		dst[i] += byte(n % 10)
		n /= 10
	}
	if n != 0 {
		return dst[:at], &Error{
			Msg:   "the number has more than " + strconv.Itoa(f.Width) + " digits",
			Cure:  "widen the format, which changes all keys, or use sortable",
			Value: redact.Of(v.String()),
		}
	}
	return dst, nil
}

// appendSortable appends n + 2^63 in 20 digits, so that all integers sort by value.
func appendSortable(dst []byte, v Value) []byte {
	hi, lo := uint64(0), uint64(v.Int)^signBit
	if v.Kind == Uint {
		lo, hi = bits.Add64(v.Uint, signBit, 0)
	}
	q, r := bits.Div64(hi, lo, tenTo19)
	dst = append(dst, '0'+byte(q))
	at := len(dst)
	dst = append(dst, "0000000000000000000"...)
	for i := len(dst) - 1; i >= at; i-- {
		dst[i] += byte(r % 10)
		r /= 10
	}
	return dst
}

func (f Format) appendTime(dst []byte, t time.Time) ([]byte, error) {
	t = t.UTC()
	year, week := t.Year(), 0
	if f.Kind == Week {
		year, week = t.ISOWeek()
	}
	if year < 0 || year > 9999 {
		return dst, &Error{
			Msg: "a year that a key cannot hold", Cure: "keys hold the years 0 to 9999",
			Value: redact.Of(year),
		}
	}
	switch f.Kind {
	case Unix:
		n := t.Unix()
		if n < 0 || n > maxUnix {
			return dst, &Error{
				Msg:   "a time that a key of epoch seconds cannot hold",
				Cure:  "10 digits are enough for the years 1970 to 2286: use the format seconds",
				Value: redact.Of(t.Format(time.RFC3339)),
			}
		}
		return Format{Kind: Digits, Width: unixDigits}.appendDigits(dst, OfInt(n))
	case Week:
		dst, _ = Format{Kind: Digits, Width: 4}.appendDigits(dst, OfInt(int64(year)))
		dst = append(dst, "-W"...)
		return Format{Kind: Digits, Width: 2}.appendDigits(dst, OfInt(int64(week)))
	}
	return clocks[f.Kind].append(dst, t), nil
}

// appendNative appends the text of a bare placeholder's value.
func (f Format) appendNative(dst []byte, v Value) ([]byte, error) {
	switch v.Kind {
	case String:
		if err := checkString(v.Text); err != nil {
			return dst, err
		}
		return append(dst, v.Text...), nil
	case Bytes:
		if v.Text == "" {
			return dst, &Error{Msg: "empty bytes in a key", Cure: "set a value"}
		}
		return append(dst, v.Text...), nil
	case Int:
		return strconv.AppendInt(dst, v.Int, 10), nil
	case Uint:
		return strconv.AppendUint(dst, v.Uint, 10), nil
	case Time: // a bare {T:unix}
		if v.Time.IsZero() {
			return dst, errZeroTime()
		}
		return strconv.AppendInt(dst, v.Time.Unix(), 10), nil
	}
	text, ok := Canonical(v.Text)
	if !ok {
		return dst, &Error{
			Msg: "the number is invalid", Cure: "use at most 38 digits, between 1E-130 and 9.9E+125",
			Value: redact.Of(v.Text),
		}
	}
	return append(dst, text...), nil
}

var formatNames = [...]string{
	"literal", "plain", "raw", "digits", "sortable", "nanos", "millis", "seconds", "unix", "date", "month", "week",
	"year", "native",
}

// String returns the format's name, with its width.
func (f Format) String() string {
	if f.Kind == Digits {
		return "digits " + strconv.Itoa(f.Width)
	}
	return formatNames[f.Kind]
}

// Sample returns a value that the format can write.
func (f Format) Sample() Value {
	switch f.Value {
	case Int:
		return OfInt(1)
	case Uint:
		return OfUint(1)
	case Time:
		return OfTime(time.Date(2021, time.November, 14, 9, 30, 0, 0, time.UTC))
	case Bytes:
		return OfBytes([]byte("x"))
	case Number:
		return OfNumber("1")
	}
	return OfString("x")
}
