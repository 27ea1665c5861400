package key

import (
	"strconv"
	"time"
)

// Kind is the kind of a placeholder's value.
type Kind uint8

// The kinds of placeholder values. Number is a decimal number as text.
const (
	None Kind = iota
	String
	Int
	Uint
	Time
	Bytes
	Number
)

// Value is a placeholder's value in its normal form, whatever its Go type.
type Value struct {
	Kind Kind
	// Text is the value of String and Number, and the bytes of Bytes.
	Text string
	Int  int64
	Uint uint64
	Time time.Time
}

// OfString returns the value of a string.
func OfString(s string) Value { return Value{Kind: String, Text: s} }

// OfInt returns the value of a signed integer.
func OfInt(n int64) Value { return Value{Kind: Int, Int: n} }

// OfUint returns the value of an unsigned integer.
func OfUint(n uint64) Value { return Value{Kind: Uint, Uint: n} }

// OfTime returns the value of an instant.
func OfTime(t time.Time) Value { return Value{Kind: Time, Time: t} }

// OfBytes returns the value of bytes.
func OfBytes(b []byte) Value { return Value{Kind: Bytes, Text: string(b)} }

// OfNumber returns the value of a decimal number.
func OfNumber(s string) Value { return Value{Kind: Number, Text: s} }

// String shows the value as messages do.
func (v Value) String() string {
	switch v.Kind {
	case String:
		return strconv.Quote(v.Text)
	case Int:
		return strconv.FormatInt(v.Int, 10)
	case Uint:
		return strconv.FormatUint(v.Uint, 10)
	case Time:
		return v.Time.UTC().Format(time.RFC3339Nano)
	case Bytes:
		return "0x" + hex(v.Text)
	case Number:
		return v.Text
	}
	return "-"
}

// Equal reports whether two values are equal: times as instants, numbers by their
// canonical form.
func (v Value) Equal(w Value) bool {
	if v.Kind != w.Kind {
		return false
	}
	switch v.Kind {
	case Time:
		return v.Time.Equal(w.Time)
	case Number:
		a, okA := Canonical(v.Text)
		b, okB := Canonical(w.Text)
		return okA && okB && a == b
	}
	return v == w
}
