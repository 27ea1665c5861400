// Package charged prints the cost of a call: the consumed capacity that the engine reports, or the predicted one if the
// engine reports none (minidyn).
package charged

import "github.com/itemize/itemize/mapper"

// WCU returns the write units of a call.
func WCU(r *mapper.Receipt) float64 {
	if reported(r) {
		return r.Consumed.WCU
	}
	return r.WCU.Expected
}

// RCU returns the read units of a call.
func RCU(r *mapper.Receipt) float64 {
	if reported(r) {
		return r.Consumed.RCU
	}
	return r.RCU.Expected
}

func reported(r *mapper.Receipt) bool { return r.Consumed.WCU+r.Consumed.RCU > 0 }
