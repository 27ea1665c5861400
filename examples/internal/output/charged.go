package output

import "github.com/itemize/itemize/mapper"

// WCU returns the write units of a call: those that the engine reports, or the predicted ones if it
// reports none (minidyn).
func WCU(r *mapper.Receipt) float64 {
	if reported(r) {
		return r.Consumed.WCU
	}
	return r.Predicted().WCU.Expected
}

// RCU returns the read units of a call, as WCU.
func RCU(r *mapper.Receipt) float64 {
	if reported(r) {
		return r.Consumed.RCU
	}
	return r.Predicted().RCU.Expected
}

func reported(r *mapper.Receipt) bool { return r.Consumed.WCU+r.Consumed.RCU > 0 }
