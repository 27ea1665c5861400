package charge

import (
	"math"

	"github.com/itemize/itemize/cost"
)

// AtScale says how to test an application at scale without the data of a grown table (Developer Guide,
// "Guidelines for Working with Tables", Test Your Application At Scale). An empty table is created with
// so much throughput that it has the partitions of the grown table. Then its throughput is lowered to
// that of the grown table, which the partitions share.
type AtScale struct {
	// Grown is the distribution of the grown table.
	Grown Partitions `json:"grown"`
	// Create is the throughput for creating the test table, and Then the throughput after that.
	Create Capacity `json:"create"`
	Then   Capacity `json:"then"`
}

// AtScale returns the settings of an empty table whose partitions have the same throughput as those of
// a table of this size and throughput.
func (c Capacity) AtScale() (AtScale, error) {
	grown, err := c.Partitions()
	if err != nil {
		return AtScale{}, err
	}
	out := AtScale{Grown: grown, Then: Capacity{RCU: c.RCU, WCU: c.WCU}}
	busy := c.partitionsBusy()
	if busy == 0 {
		out.Create = Capacity{WCU: float64(grown.Count) * cost.PartitionWCU}
		return out, nil
	}
	// That many partitions need that many times the throughput, in the same proportion. Any unit begins
	// the last partition, and rounding up must not begin one more.
	times := math.Max(1, (float64(grown.Count)-0.001)/busy)
	out.Create = Capacity{RCU: math.Floor(c.RCU * times), WCU: math.Floor(c.WCU * times)}
	return out, nil
}
