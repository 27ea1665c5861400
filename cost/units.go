package cost

import (
	"fmt"
	"strconv"
)

const (
	writeUnit = 1024 // bytes of a WCU
	readUnit  = 4096 // bytes of an RCU
)

// Units is a number of capacity units, WCU or RCU as the place says. Where it is
// known, Min and Max are equal; else they are its bounds.
type Units struct {
	Min float64 `json:"min"`
	Max float64 `json:"max"`
}

// Exactly returns units that are known.
func Exactly(n float64) Units { return Units{n, n} }

// Known reports whether the units are known exactly.
func (u Units) Known() bool { return u.Min == u.Max }

// Add returns the sum.
func (u Units) Add(v Units) Units { return Units{u.Min + v.Min, u.Max + v.Max} }

// Times returns the units n times.
func (u Units) Times(n float64) Units { return Units{u.Min * n, u.Max * n} }

// Contains reports whether n lies within the bounds.
func (u Units) Contains(n float64) bool { return u.Min <= n && n <= u.Max }

// String returns the number, or "min to max".
func (u Units) String() string {
	if u.Known() {
		return format(u.Min)
	}
	return fmt.Sprintf("%s to %s", format(u.Min), format(u.Max))
}

func format(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

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
