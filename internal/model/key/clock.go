package key

import "time"

// clock reads and writes the times of one layout. It reads eight bytes at a time, and compares them with the layout's.
type clock struct {
	layout string
	words  []clockWord
}

// clockWord is a word of a layout, at a place in the text: its separators, and zeros in place of its digits. A byte of
// the text, less that of the word, plus that of limit, is over 127 for a wrong separator, or no digit.
type clockWord struct {
	at           int
	bytes, limit uint64
}

// clocks are those of the layouts.
var clocks = func() (all [len(layouts)]clock) {
	for i, layout := range layouts {
		all[i].layout = layout
		for at := 0; at < len(layout) && len(layout) >= 8; at += 8 {
			w := clockWord{at: min(at, len(layout)-8)}
			for n := 7; n >= 0; n-- {
				c, limit := layout[w.at+n], 127
				if isDigit(c) {
					c, limit = '0', 127-9
				}
				w.bytes, w.limit = w.bytes<<8|uint64(c), w.limit<<8|uint64(limit)
			}
			all[i].words = append(all[i].words, w)
		}
	}
	return all
}()

func isDigit(c byte) bool { return c-'0' <= 9 }

// matches reports whether a text has the layout's separators, and digits elsewhere.
func (c *clock) matches(s string) bool {
	if len(s) != len(c.layout) {
		return false
	}
	if len(c.words) == 0 {
		for i := range len(s) {
			if digit := isDigit(s[i]); digit != isDigit(c.layout[i]) || !digit && s[i] != c.layout[i] {
				return false
			}
		}
		return true
	}
	var wrong uint64
	for i := range c.words {
		w := &c.words[i]
		b := s[w.at : w.at+8]
		x := uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
			uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
		x ^= w.bytes
		wrong |= x + w.limit | x
	}
	return wrong&0x8080808080808080 == 0
}

// parse reads a time, whose fields have fixed places. It takes just what Format gives.
func (c *clock) parse(s string) (time.Time, bool) {
	if !c.matches(s) {
		return time.Time{}, false
	}
	nanos := 0
	switch len(s) {
	case len("2006-01-02T15:04:05.000Z"):
		nanos = number(s, 20, 23, 0) * 1e6
	case len("2006-01-02T15:04:05.000000000Z"):
		nanos = number(s, 20, 29, 0)
	}
	year, month, day := number(s, 0, 4, 0), number(s, 5, 7, 1), number(s, 8, 10, 1)
	hour, minute, second := number(s, 11, 13, 0), number(s, 14, 16, 0), number(s, 17, 19, 0)
	if month < 1 || month > 12 || day < 1 || day > days(leap(year%400), month) || hour > 23 || minute > 59 ||
		second > 59 {
		return time.Time{}, false
	}
	seconds := int64(daysSince1970(year, month, day))*86400 + int64(hour*3600+minute*60+second)
	return time.Unix(seconds, int64(nanos)).UTC(), true
}

// append appends the text of a time in UTC, of the years 0 to 9999.
func (c *clock) append(dst []byte, t time.Time) []byte {
	year, month, day := t.Date()
	hour, minute, second := t.Clock()
	var room [len("2006-01-02T15:04:05.000000000Z")]byte
	copy(room[:], c.layout)
	for i, n := range [...]int{year / 100, year % 100} {
		room[2*i], room[2*i+1] = '0'+byte(n/10), '0'+byte(n%10)
	}
	for i, n := range [...]int{int(month), day, hour, minute, second} { // behind a sign each
		room[5+3*i], room[6+3*i] = '0'+byte(n/10), '0'+byte(n%10)
	}
	digits, n := len(c.layout)-len("2006-01-02T15:04:05.Z"), t.Nanosecond()
	if digits == 3 {
		n /= 1e6
	}
	for i := range max(digits, 0) {
		room[19+digits-i], n = '0'+byte(n%10), n/10
	}
	return append(dst, room[:len(c.layout)]...)
}

// number returns the number of the digits at a place in a text, and without where that is shorter.
func number(s string, from, to, without int) int {
	if to > len(s) {
		return without
	}
	n := 0
	for i := from; i < to; i++ {
		n = n*10 + int(s[i]-'0')
	}
	return n
}

// daysSince1970 returns the number of days from 1970-01-01 to a date of the years 0 to 9999. A year counts from March
// here, so that the leap day is its last.
func daysSince1970(year, month, day int) int {
	month -= 3
	if month < 0 {
		month += 12
		year--
	}
	year += 400 // for the two months before March of the year 0
	ofYear := (153*month+2)/5 + day - 1
	return year*365 + year/4 - year/100 + year/400 + ofYear - daysToEpoch
}

// daysToEpoch are the days from March 1 of 400 years before the year 0 to 1970-01-01.
const daysToEpoch = 719468 + 146097
