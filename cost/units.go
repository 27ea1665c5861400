package cost

import (
	"slices"
	"strconv"
	"strings"

	"github.com/itemize/itemize/internal/model/attr"
)

const (
	writeUnit = 1024   // bytes of a WCU
	or        = " or " // separates the reasons of a sum
)

// readUnit is the number of bytes that one RCU reads strongly consistently (Developer Guide, "DynamoDB
// read and write operations").
const readUnit = 4096

// Units is a number of capacity units, WCU or RCU, or of requests. If it is exact, Min, Expected and Max are equal.
// Otherwise Min and Max are bounds.
type Units struct {
	// Min is the smallest possible number.
	Min float64 `json:"min"`
	// Expected is the number if nothing unusual happens.
	Expected float64 `json:"expected"`
	// Max is the largest possible number.
	Max float64 `json:"max"`
	// If says when the number is larger than expected, for example "an expired item has the same key"; "" for
	// no reason.
	If string `json:"if,omitempty"`
}

// Exactly returns exact units.
func Exactly(n float64) Units { return Units{Min: n, Expected: n, Max: n} }

// Exact reports whether the units are exact.
func (u Units) Exact() bool { return u.Min == u.Max }

// Add returns the sum. It has the reasons of both.
func (u Units) Add(v Units) Units {
	sum := Units{u.Min + v.Min, u.Expected + v.Expected, u.Max + v.Max, u.If}
	switch {
	case sum.If == "":
		sum.If = v.If
	case v.If != sum.If:
		for reason := range strings.SplitSeq(v.If, or) {
			if reason != "" && !slices.Contains(strings.Split(sum.If, or), reason) {
				sum.If += or + reason
			}
		}
	}
	return sum
}

// Times returns n times the units.
func (u Units) Times(n float64) Units { return Units{u.Min * n, u.Expected * n, u.Max * n, u.If} }

// Contains reports whether n is between the bounds.
func (u Units) Contains(n float64) bool { return u.Min <= n && n <= u.Max }

// String returns the number. If it is not exact, it returns the expected one and the bounds: "4 (up to
// 1,600 if an expired item has the same key)", "41 (1 to 400)".
func (u Units) String() string {
	if u.Exact() {
		return format(u.Min)
	}
	var bounds string
	switch u.Expected {
	case u.Min:
		bounds = "up to " + format(u.Max)
	case u.Max:
		bounds = "at least " + format(u.Min)
	default:
		bounds = format(u.Min) + " to " + format(u.Max)
	}
	if u.If != "" && u.Max > u.Expected {
		bounds += " if " + u.If
	}
	return format(u.Expected) + " (" + bounds + ")"
}

// format returns a number with thousands separators.
func format(n float64) string {
	text := strconv.FormatFloat(n, 'f', -1, 64)
	whole, part, fraction := strings.Cut(text, ".")
	whole = attr.Thousands(whole)
	if fraction {
		return whole + "." + part
	}
	return whole
}

// WriteUnits returns the WCU for writing an item of this many bytes: one for each KB, rounded up, and
// at least one.
func WriteUnits(bytes int) float64 { return begun(bytes, writeUnit) }

// ReadUnits returns the RCU for reading this many bytes strongly consistently: one for each 4 KB,
// rounded up, and at least one. Eventually consistent reads cost half, transactional reads twice as
// much.
func ReadUnits(bytes int) float64 { return begun(bytes, readUnit) }

func begun(bytes, unit int) float64 { return float64(max(1, (bytes+unit-1)/unit)) }

// Put returns the WCU of a Put or Update that changes an item from old to new bytes; 0 means no item.
// The larger size counts.
func Put(old, new int) float64 { return WriteUnits(max(old, new)) }

// Delete returns the WCU for deleting an item of old bytes. Deleting a missing item costs one unit.
func Delete(old int) float64 { return WriteUnits(old) }
