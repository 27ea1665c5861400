package charge

import (
	"math"

	"github.com/itemize/itemize/cost"
)

// AtScale is how to test an application at scale without the data of a grown table (Developer Guide,
// "Guidelines for Working with Tables", Test Your Application At Scale): an empty table is created with so
// much throughput that it has the grown one's partitions, and is then lowered to the grown one's own
// throughput, which they share from then on.
type AtScale struct {
	// Grown is how the grown table is spread.
	Grown Partitions `json:"grown"`
	// Create is the throughput to create the test table with, and Then what to lower it to.
	Create Capacity `json:"create"`
	Then   Capacity `json:"then"`
}

// AtScale returns the settings of an empty table whose partitions have the throughput that those of a
// table of this size and throughput have.
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
	// As many partitions need as many times the throughput as it keeps busy, in the same proportion.
	// The last of them is begun by any unit, and a sum that is rounded up must not begin one more.
	times := math.Max(1, (float64(grown.Count)-0.001)/busy)
	out.Create = Capacity{RCU: math.Floor(c.RCU * times), WCU: math.Floor(c.WCU * times)}
	return out, nil
}
