package write

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost"
)

// Tally is what an operation has sent, what that was predicted to cost, and what
// DynamoDB reported.
type Tally struct {
	Items    []Done
	Requests int
	// WCU and RCU are the units as predicted.
	WCU, RCU cost.Units
	// ConsumedWCU and ConsumedRCU are those that DynamoDB reported.
	ConsumedWCU, ConsumedRCU float64

	few [1]Done // room for those of most operations
}

// Done is a request that was applied, with its price in WCU.
type Done struct {
	*Request
	WCU cost.Units
}

// AddAll adds the tallies of requests that were sent at once, in their order.
func (t *Tally) AddAll(all []Tally) {
	for i := range all {
		u := &all[i]
		t.Items = append(t.Items, u.Items...)
		t.Requests += u.Requests
		t.WCU, t.RCU = t.WCU.Add(u.WCU), t.RCU.Add(u.RCU)
		t.ConsumedWCU += u.ConsumedWCU
		t.ConsumedRCU += u.ConsumedRCU
	}
}

// AddRead adds what reading took.
func (t *Tally) AddRead(requests int, predicted cost.Units, consumed float64) {
	t.Requests += requests
	t.RCU = t.RCU.Add(predicted)
	t.ConsumedRCU += consumed
}

// wrote adds a request that was applied, at a price.
func (t *Tally) wrote(r *Request, wcu cost.Units) {
	if t.Items == nil {
		t.Items = t.few[:0]
	}
	t.Items = append(t.Items, Done{r, wcu})
	t.WCU = t.WCU.Add(wcu)
}

// failed adds a write whose condition failed: it is charged, but not reported. It costs
// at least what the stored item costs to write, and at most what the write would have
// cost.
func (t *Tally) failed(stored int, wcu cost.Units) {
	t.WCU = t.WCU.Add(cost.Units{Min: min(cost.WriteUnits(stored), wcu.Min), Max: wcu.Max})
}

// charge adds what DynamoDB reports for a write. A transaction that was sent twice under
// one token is charged as a read the second time.
func (t *Tally) charge(c *types.ConsumedCapacity) {
	if c == nil {
		return
	}
	units, reads := aws.ToFloat64(c.CapacityUnits), aws.ToFloat64(c.ReadCapacityUnits)
	if writes := aws.ToFloat64(c.WriteCapacityUnits); writes+reads > 0 {
		t.ConsumedWCU += writes
		t.ConsumedRCU += reads
		return
	}
	t.ConsumedWCU += units
}
