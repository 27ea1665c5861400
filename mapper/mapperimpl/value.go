package mapperimpl

import (
	"encoding"
	"time"

	"github.com/itemize/itemize/internal/key"
)

// Value is the value of a placeholder in a key.
type Value = key.Value

// StringValue returns the value of a string.
func StringValue[S ~string](v S) (Value, error) { return key.OfString(string(v)), nil }

// NumberValue returns the value of a string that is a number.
func NumberValue[S ~string](v S) (Value, error) { return key.OfNumber(string(v)), nil }

// IntValue returns the value of an integer.
func IntValue[I Signed](v I) (Value, error) { return key.OfInt(int64(v)), nil }

// UintValue returns the value of an integer.
func UintValue[U Unsigned](v U) (Value, error) { return key.OfUint(uint64(v)), nil }

// TimeValue returns the value of a time.
func TimeValue(v time.Time) (Value, error) { return key.OfTime(v), nil }

// BytesValue returns the value of bytes.
func BytesValue[B ~[]byte](v B) (Value, error) { return key.OfBytes(v), nil }

// TextValue returns the value of a type with a text form.
func TextValue(v encoding.TextMarshaler) (Value, error) {
	b, err := v.MarshalText()
	return key.OfString(string(b)), err
}
