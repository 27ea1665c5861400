package key

import (
	"cmp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/itemize/itemize/internal/model/redact"
)

// Limits of key attributes, in bytes (Developer Guide, "Service, account, and
// table quotas", partition keys and sort keys).
const (
	MaxPartition = 2048
	MaxSort      = 1024
)

// Scalar is the value of a key attribute. It is comparable, so that it can be
// a map's key; the zero Scalar is no value.
type Scalar struct {
	// Type is 'S', 'N' or 'B', and 0 for no value.
	Type byte
	// Text is the string, the number in canonical form, or the bytes.
	Text string
}

// String quotes strings, and shows bytes in hexadecimal.
func (s Scalar) String() string {
	switch s.Type {
	case 'S':
		return strconv.Quote(s.Text)
	case 'N':
		return s.Text
	case 'B':
		return "0x" + hex(s.Text)
	}
	return "-"
}

// Plain is String without quotes, where no quotes are needed.
func (s Scalar) Plain() string {
	if s.Type == 'S' && utf8.ValidString(s.Text) {
		return s.Text
	}
	return s.String()
}

func hex(s string) string {
	const digits = "0123456789abcdef"
	b := make([]byte, 0, 2*len(s))
	for i := range len(s) {
		b = append(b, digits[s[i]>>4], digits[s[i]&15])
	}
	return string(b)
}

// CheckSize returns an error if a key value is empty or longer than limit bytes.
func (s Scalar) CheckSize(limit int) error {
	switch {
	case s.Type == 'N':
		return nil
	case len(s.Text) == 0:
		return &Error{Index: -1, Msg: "the key is empty", Cure: "set a value"}
	case len(s.Text) > limit:
		return &Error{
			Index: -1, Msg: "the key has " + strconv.Itoa(len(s.Text)) + " bytes, over the limit of " +
				strconv.Itoa(limit),
			Cure: "shorten its values" + longCharacters(s.Text),
		}
	}
	return nil
}

// longCharacters says which characters of a key take several bytes, "" if none does.
func longCharacters(text string) string {
	var why []string
	if n := strings.Count(text, "%2") + strings.Count(text, "%7E"); n > 0 {
		why = append(why, strconv.Itoa(n)+" of their characters are escaped and take 3 bytes each")
	}
	if n := utf8.RuneCountInString(text); n < len(text) {
		why = append(
			why,
			"the key has "+strconv.Itoa(n)+" characters, and those that are not ASCII take 2 to 4 bytes each",
		)
	}
	if len(why) == 0 {
		return ""
	}
	return " (" + strings.Join(why, "; ") + ")"
}

// Error is a value that a key cannot hold.
type Error struct {
	// Index is the placeholder's, among those of the template; -1 for none.
	Index int
	// Msg names the fault, and Cure its remedy.
	Msg, Cure string
	// Value is the value, which the text leaves out.
	Value redact.Value
}

// Error returns the fault and its cure.
func (e *Error) Error() string { return e.Msg + ": " + e.Cure }

// Reveal returns the same with the value.
func (e *Error) Reveal() string { return e.Msg + e.Value.Reveal() + ": " + e.Cure }

// Compare orders two values of one type as DynamoDB orders sort keys: numbers
// by value, strings and bytes by their bytes.
func Compare(a, b Scalar) int {
	if a.Type != 'N' || b.Type != 'N' {
		return strings.Compare(a.Text, b.Text)
	}
	return compareNumbers(a.Text, b.Text)
}

func compareNumbers(a, b string) int {
	negA, digitsA, expA, _ := Decimal(a)
	negB, digitsB, expB, _ := Decimal(b)
	signA, signB := sign(negA, digitsA), sign(negB, digitsB)
	switch {
	case signA != signB:
		return cmp.Compare(signA, signB)
	case signA == 0:
		return 0
	}
	c := cmp.Compare(expA, expB)
	if c == 0 {
		c = strings.Compare(digitsA, digitsB)
	}
	return c * signA
}

func sign(neg bool, digits string) int {
	switch {
	case digits == "":
		return 0
	case neg:
		return -1
	}
	return 1
}
