package key

import (
	"math/bits"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Parse reads back what Append wrote; ok is false for any other text, also for
// one that Append writes differently.
func (f *Format) Parse(s string, delim byte) (v Value, ok bool) {
	switch f.Kind {
	case Plain:
		s, ok = parsePlain(s, delim)
		return OfString(s), ok
	case Raw:
		return OfString(s), s != "" && s[0] != '~' && utf8.ValidString(s)
	case Digits:
		return f.parseDigits(s)
	case Sortable:
		return f.parseSortable(s)
	case Native:
		return f.parseNative(s)
	}
	if f.isZero(s) {
		return Value{}, false
	}
	t, ok := f.parseTime(s)
	return OfTime(t), ok
}

func parsePlain(s string, delim byte) (string, bool) {
	if s == "" || !utf8.ValidString(s) {
		return "", false
	}
	if strings.IndexByte(s, '%') < 0 {
		return s, s[0] != '~' && strings.IndexByte(s, delim) < 0
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == delim || c == '~' && i == 0 {
			return "", false
		}
		if c == '%' {
			if i+2 >= len(s) {
				return "", false
			}
			first := i == 0
			c, i = unhex(s[i+1])<<4|unhex(s[i+2]), i+2
			if string(appendEscape(nil, c)) != s[i-2:i+1] || c != '%' && c != delim && (c != '~' || !first) {
				return "", false
			}
		}
		b = append(b, c)
	}
	return string(b), true
}

func unhex(c byte) byte { return byte(strings.IndexByte(upperHex, c)) }

func (f *Format) parseDigits(s string) (Value, bool) {
	if len(s) != f.Width || !AllDigits(s) {
		return Value{}, false
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil || n > f.Max {
		return Value{}, false
	}
	if f.Unsigned {
		return OfUint(n), true
	}
	return OfInt(int64(n)), true
}

func (f *Format) parseSortable(s string) (Value, bool) {
	if len(s) != sortableDigits || !AllDigits(s) {
		return Value{}, false
	}
	low, err := strconv.ParseUint(s[1:], 10, 64)
	if err != nil {
		return Value{}, false
	}
	hi, lo := bits.Mul64(uint64(s[0]-'0'), tenTo19)
	lo, carry := bits.Add64(lo, low, 0)
	hi += carry
	if f.Unsigned {
		n, borrow := bits.Sub64(lo, signBit, 0)
		return OfUint(n), hi == borrow && n <= f.Max
	}
	n := int64(lo ^ signBit)
	return OfInt(n), hi == 0 && inRange(n, f.Max)
}

// inRange reports whether n fits the signed type whose largest value is limit.
func inRange(n int64, limit uint64) bool {
	return n >= 0 && uint64(n) <= limit || n < 0 && uint64(^n) <= limit
}

func (f *Format) parseTime(s string) (time.Time, bool) {
	width, _ := f.Fixed()
	if len(s) != width {
		return time.Time{}, false
	}
	switch f.Kind {
	case Unix:
		n, err := strconv.ParseUint(s, 10, 64)
		return time.Unix(int64(n), 0).UTC(), err == nil && AllDigits(s)
	case Week:
		return parseWeek(s)
	}
	return clocks[f.Kind].parse(s)
}

// parseWeek returns the Monday that the ISO week begins with.
func parseWeek(s string) (time.Time, bool) {
	if !AllDigits(s[:4]) || s[4:6] != "-W" || !AllDigits(s[6:]) {
		return time.Time{}, false
	}
	year, _ := strconv.Atoi(s[:4])
	week, _ := strconv.Atoi(s[6:])
	t := WeekStart(year, week)
	y, w := t.ISOWeek()
	return t, y == year && w == week
}

// WeekStart returns the Monday that an ISO week begins with.
func WeekStart(year, week int) time.Time {
	jan4 := time.Date(year, time.January, 4, 0, 0, 0, 0, time.UTC) // always in week 1
	monday := jan4.AddDate(0, 0, -(int(jan4.Weekday())+6)%7)
	return monday.AddDate(0, 0, 7*(week-1))
}

// parseNative reads a bare placeholder's text.
func (f *Format) parseNative(s string) (Value, bool) {
	switch f.Value {
	case String:
		return OfString(s), s != "" && utf8.ValidString(s)
	case Bytes:
		return Value{Kind: Bytes, Text: s}, s != ""
	case Number:
		c, ok := Canonical(s)
		return OfNumber(c), ok && s == c
	case Uint:
		n, err := strconv.ParseUint(s, 10, 64)
		return OfUint(n), err == nil && n <= f.Max && s == strconv.FormatUint(n, 10)
	}
	n, err := strconv.ParseInt(s, 10, 64)
	ok := err == nil && s == strconv.FormatInt(n, 10)
	if f.Value == Time {
		return OfTime(time.Unix(n, 0).UTC()), ok
	}
	return OfInt(n), ok && inRange(n, f.Max)
}
