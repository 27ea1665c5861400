package mapperimpl

import (
	"encoding"
	"time"

	"github.com/itemize/itemize/internal/model/codec"
	"github.com/itemize/itemize/internal/model/key"
)

// Argument is the value of a placeholder in a key, or the error of the value.
type Argument struct {
	value key.Value
	err   error
}

// StringValue returns the value of a string.
//
//go:noinline
func StringValue[S ~string](v S) Argument { return Argument{value: key.OfString(string(v))} }

// NumberValue returns the value of a string that is a number.
//
//go:noinline
func NumberValue[S ~string](v S) Argument { return Argument{value: key.OfNumber(string(v))} }

// IntValue returns the value of an integer.
//
//go:noinline
func IntValue[I codec.Signed](v I) Argument { return Argument{value: key.OfInt(int64(v))} }

// UintValue returns the value of an integer.
//
//go:noinline
func UintValue[U codec.Unsigned](v U) Argument { return Argument{value: key.OfUint(uint64(v))} }

// TimeValue returns the value of a time.
func TimeValue(v time.Time) Argument { return Argument{value: key.OfTime(v)} }

// BytesValue returns the value of bytes.
//
//go:noinline
func BytesValue[B ~[]byte](v B) Argument { return Argument{value: key.OfBytes(v)} }

// TextValue returns the value of a type with a text form.
func TextValue(v encoding.TextMarshaler) Argument {
	b, err := v.MarshalText()
	return Argument{key.OfString(string(b)), err}
}

// arguments returns the values, and the first error.
func arguments(args []Argument) ([]key.Value, error) {
	var out []key.Value
	for _, a := range args {
		if a.err != nil {
			return nil, a.err
		}
		out = append(out, a.value)
	}
	return out, nil
}
