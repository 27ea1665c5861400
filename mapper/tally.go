package mapper

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/read"
)

// tally collects what an operation sends and costs, for its receipt.
type tally struct {
	mode         Mode
	items        []ItemPlan
	alternatives []Alternative
	requests     int
	wcu, rcu     cost.Units
	consumed     Consumed
}

// read adds what reading took.
func (t *tally) read(u *read.Usage) {
	t.requests += u.Requests
	t.rcu = t.rcu.Add(u.Predicted)
	t.consumed.RCU += u.Consumed
}

// addAll adds the tallies of requests that were sent at once, in their order.
func (t *tally) addAll(all []tally) {
	for i := range all {
		u := &all[i]
		t.items = append(t.items, u.items...)
		t.requests += u.requests
		t.wcu, t.rcu = t.wcu.Add(u.wcu), t.rcu.Add(u.rcu)
		t.consumed.WCU += u.consumed.WCU
		t.consumed.RCU += u.consumed.RCU
	}
}

// wrote adds an item that was written, or checked, at a price.
func (t *tally) wrote(p ItemPlan) {
	t.items = append(t.items, p)
	t.wcu = t.wcu.Add(p.WCU)
}

// failed adds a write whose condition failed: it is charged, but not reported.
// It costs at least what the stored item costs to write, and at most what the
// write would have cost.
func (t *tally) failed(stored int, wcu cost.Units) {
	t.wcu = t.wcu.Add(cost.Units{Min: min(cost.WriteUnits(stored), wcu.Min), Max: wcu.Max})
}

// charge adds what DynamoDB reports for a write. A transaction that was sent
// twice under one token is charged as a read the second time.
func (t *tally) charge(c *types.ConsumedCapacity) {
	if c == nil {
		return
	}
	units, reads := aws.ToFloat64(c.CapacityUnits), aws.ToFloat64(c.ReadCapacityUnits)
	if writes := aws.ToFloat64(c.WriteCapacityUnits); writes+reads > 0 {
		t.consumed.WCU += writes
		t.consumed.RCU += reads
		return
	}
	t.consumed.WCU += units
}

func (t *tally) receipt() *Receipt {
	mode := t.mode
	if mode == "" {
		mode = modeOf(t.requests, len(t.items))
	}
	return &Receipt{
		Plan:     Plan{Mode: mode, Items: t.items, WCU: t.wcu, RCU: t.rcu, Alternatives: t.alternatives, requests: t.requests},
		Consumed: t.consumed,
	}
}

func modeOf(requests, items int) Mode {
	switch {
	case requests == 0:
		return ModeNone
	case items == 0:
		return ModeRead
	}
	return ModeOne
}

// deliver hands a read's receipt to who asked for it with Receive.
func deliver(to any, r *Receipt) {
	if p, ok := to.(*Receipt); ok && p != nil {
		*p = *r
	}
}
