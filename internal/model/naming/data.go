package naming

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// LargeSample is the number of items from which a name of few items counts as data. LeastShared is the number of items,
// or of partitions, from which it does not.
const (
	LargeSample = 25
	LeastShared = 5
)

// IsData reports whether a name that some items of a sample have counts as data: by its form, or because fewer than 5
// of at least 25 items have it.
func IsData(name string, have, items int) bool {
	return IsValue(name) || items >= LargeSample && have < LeastShared
}

// forms are those of identifiers, dates, addresses of networks, telephone numbers and accounts.
var forms = regexp.MustCompile(`(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}` + // UUID
	`|^(0x)?[0-9a-f]{12,}$` + // hash
	`|^[0-7][0-9a-hjkmnp-tv-z]{25}$` + // ULID
	`|^\d{4}-\d\d-\d\d` + // date, and time
	`|^[0-9a-f]{0,4}(:[0-9a-f]{0,4}){2,}$` + // addresses of IPv6, and of devices
	`|^\+[\d][\d x().-]+$` + // telephone number
	`|^[a-z]{2}\d\d[0-9a-z]{11,30}$`) // IBAN

// maxName is the longest name in bytes that is not data, and maxSpaces the number of spaces in it.
const (
	maxName   = 100
	maxSpaces = 4
)

// IsValue reports whether a name has the form of a value: an address, an identifier, a number, a date, or a sentence.
func IsValue(name string) bool {
	letters := strings.ContainsFunc(name, unicode.IsLetter)
	digits := strings.ContainsFunc(name, unicode.IsDigit)
	switch {
	case strings.Contains(name, "@"), strings.Contains(name, "://"), digits && !letters:
		return true
	case len(name) > maxName, strings.Count(name, " ") > maxSpaces:
		return true
	}
	_, err := strconv.ParseFloat(name, 64)
	return digits && (err == nil || forms.MatchString(name))
}

// Printable reports whether a name can be printed on a line, and be written in a tag.
func Printable(name string) bool {
	if name == "" || name == "-" || !utf8.ValidString(name) {
		return false
	}
	for _, r := range name {
		if strings.ContainsRune("\"`,\\'", r) || !strconv.IsPrint(r) {
			return false
		}
	}
	return true
}
