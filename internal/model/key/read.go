package key

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// FormatNamed returns the format that String names, of a kind of values; number is the Go type that
// an integer has to fit, "" for any.
func FormatNamed(name string, kind Kind, number string) (Format, error) {
	f := Format{Value: kind}
	text, width, wide := strings.Cut(name, " ")
	i := slices.Index(formatNames[:], text)
	if i <= 0 {
		return f, fmt.Errorf("the format %q of a key is unknown: run itemize gen", name)
	}
	f.Kind = FormatKind(i)
	if wide {
		var err error
		if f.Width, err = strconv.Atoi(width); err != nil {
			return f, fmt.Errorf("the format %q of a key is unknown: run itemize gen", name)
		}
	}
	f.Unsigned = kind == Uint
	if kind == Int || kind == Uint {
		f.Max = maxOf(number, f.Unsigned)
	}
	return f, nil
}

// maxOf returns the greatest integer of a Go type.
func maxOf(number string, unsigned bool) uint64 {
	bits, err := strconv.Atoi(strings.TrimLeft(number, "uint"))
	if err != nil || bits < 8 || bits > 64 {
		bits = 64
	}
	if !unsigned {
		bits--
	}
	return math.MaxUint64 >> (64 - bits)
}
