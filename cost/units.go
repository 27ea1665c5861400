package cost

import (
	"slices"
	"strconv"
	"strings"
)

const (
	writeUnit = 1024   // bytes of a WCU
	or        = " or " // between the reasons of sums
)

// readUnit is what one RCU reads strongly consistently, in bytes (Developer Guide, "DynamoDB read
// and write operations").
const readUnit = 4096

// Units is a number of capacity units, WCU or RCU as the place says. Where it is
// known, Min, Expected and Max are equal; else Min and Max are its bounds.
type Units struct {
	// Min is the least that it can be.
	Min float64 `json:"min"`
	// Expected is what it is if nothing unlikely is in the way, as far as that is known.
	Expected float64 `json:"expected"`
	// Max is the most that it can be.
	Max float64 `json:"max"`
	// If says when it is more than expected, as "an expired item lies there"; "" where
	// nothing is to be said.
	If string `json:"if,omitempty"`
}

// Exactly returns units that are known.
func Exactly(n float64) Units { return Units{Min: n, Expected: n, Max: n} }

// Known reports whether the units are known exactly.
func (u Units) Exact() bool { return u.Min == u.Max }

// Add returns the sum. It is more than expected where one of both is.
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

// Times returns the units n times.
func (u Units) Times(n float64) Units { return Units{u.Min * n, u.Expected * n, u.Max * n, u.If} }

// Contains reports whether n lies within the bounds.
func (u Units) Contains(n float64) bool { return u.Min <= n && n <= u.Max }

// String returns the number; of bounds the expected one, with the others: "4 (up to 1,600
// if an expired item lies there)", "41 (1 to 400)".
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

// format returns a number with a comma between each three digits before the point.
func format(n float64) string {
	text := strconv.FormatFloat(n, 'f', -1, 64)
	whole, part, fraction := strings.Cut(text, ".")
	for i := len(whole) - 3; i > 0 && whole[i-1] != '-'; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if fraction {
		return whole + "." + part
	}
	return whole
}

// WriteUnits returns the WCU of writing an item of that many bytes: one for
// each KB begun, and at least one.
func WriteUnits(bytes int) float64 { return begun(bytes, writeUnit) }

// ReadUnits returns the RCU of reading that many bytes strongly consistently:
// one for each 4 KB begun, and at least one. Eventually consistent reads cost
// half, transactional ones twice as much.
func ReadUnits(bytes int) float64 { return begun(bytes, readUnit) }

func begun(bytes, unit int) float64 { return float64(max(1, (bytes+unit-1)/unit)) }

// Put returns the WCU of a Put or Update that makes an item of old bytes one of
// new bytes; 0 is no item. The larger size counts.
func Put(old, new int) float64 { return WriteUnits(max(old, new)) }

// Delete returns the WCU of deleting an item of old bytes; deleting none costs
// one unit.
func Delete(old int) float64 { return WriteUnits(old) }
