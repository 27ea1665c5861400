package key

import "strings"

// MaxDigits is the number of significant digits of a Number (Developer Guide,
// "Supported data types and naming rules", Number).
const MaxDigits = 38

// Canonical returns the single form of a decimal number: without exponent, sign of zero and outer
// zeros. 1, 1.0 and 10E-1 are all "1". ok is false if s is no number, or if DynamoDB refuses it: more
// than 38 significant digits, or a magnitude outside 1E-130 to 9.99...E+125.
func Canonical(s string) (text string, ok bool) {
	if plain(s) {
		return s, true
	}
	neg, digits, exp, ok := Decimal(s)
	if !ok {
		return "", false
	}
	if digits == "" {
		return "0", true
	}
	// The value is 0.digits x 10^exp; the leading digit has the weight exp-1.
	if len(digits) > MaxDigits || exp-1 > 125 || exp-1 < -130 {
		return "", false
	}
	var b strings.Builder
	if neg {
		b.WriteByte('-')
	}
	switch {
	case exp <= 0:
		b.WriteString("0.")
		b.WriteString(strings.Repeat("0", -exp))
		b.WriteString(digits)
	case exp >= len(digits):
		b.WriteString(digits)
		b.WriteString(strings.Repeat("0", exp-len(digits)))
	default:
		b.WriteString(digits[:exp])
		b.WriteByte('.')
		b.WriteString(digits[exp:])
	}
	return b.String(), true
}

// IsNumber reports whether a text is a number of DynamoDB: Canonical takes it.
func IsNumber(s string) bool {
	if digits := strings.TrimPrefix(s, "-"); len(digits) <= MaxDigits && digits != "" {
		whole, frac, dot := strings.Cut(digits, ".")
		if AllDigits(whole) && AllDigits(frac) && whole != "" && (frac != "" || !dot) {
			return true // as most are
		}
	}
	_, ok := Canonical(s)
	return ok
}

// Decimal splits a number into its sign, its significant digits without outer
// zeros, and the exponent exp such that it equals 0.digits x 10^exp.
func Decimal(s string) (neg bool, digits string, exp int, ok bool) {
	if s != "" && (s[0] == '-' || s[0] == '+') {
		neg, s = s[0] == '-', s[1:]
	}
	mantissa := s
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		mantissa = s[:i]
		if exp, ok = exponent(s[i+1:]); !ok {
			return false, "", 0, false
		}
	}
	whole, frac, _ := strings.Cut(mantissa, ".")
	if whole == "" && frac == "" || !AllDigits(whole) || !AllDigits(frac) {
		return false, "", 0, false
	}
	if digits = whole; frac != "" {
		digits += frac
	}
	exp += len(whole)
	trimmed := strings.TrimLeft(digits, "0")
	exp -= len(digits) - len(trimmed)
	return neg, strings.TrimRight(trimmed, "0"), exp, true
}

func exponent(s string) (n int, ok bool) {
	neg := strings.HasPrefix(s, "-")
	if neg || strings.HasPrefix(s, "+") {
		s = s[1:]
	}
	if s == "" || !AllDigits(s) {
		return 0, false
	}
	for i := range len(s) {
		if n = n*10 + int(s[i]-'0'); n > 1000 {
			n = 1000 // out of range whatever follows
		}
	}
	if neg {
		n = -n
	}
	return n, true
}

// AllDigits reports whether a text has nothing but digits.
func AllDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// plain reports whether a text is an integer in its canonical form.
func plain(s string) bool {
	if s == "0" {
		return true
	}
	digits := strings.TrimPrefix(s, "-")
	if digits == "" || len(digits) > MaxDigits || digits[0] == '0' {
		return false
	}
	for i := range len(digits) {
		if digits[i] < '0' || digits[i] > '9' {
			return false
		}
	}
	return true
}
