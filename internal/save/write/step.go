package write

import (
	"context"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
)

// Step is requests that are sent before the next step's.
type Step struct {
	Requests []*Request
	How      *How
}

// How is a way to send the requests of a step. A further way is one more How in this
// package: plans, prices and Send need nothing else.
type How struct {
	// calls returns the number of calls to DynamoDB that so many requests take.
	calls func(requests int) int
	// times is the factor for the price of each request.
	times float64
	send  func(ctx context.Context, s *Sender, st *Step, t *Tally) Outcome
}

// The ways. Each makes a call of each request; Together makes one transaction of all.
var (
	Each = &How{
		calls: func(n int) int { return n },
		times: 1,
		send:  func(ctx context.Context, s *Sender, st *Step, t *Tally) Outcome { return s.each(ctx, st, t) },
	}
	// AtOnce sends each request by itself, several at one time.
	AtOnce = &How{
		calls: func(n int) int { return n },
		times: 1,
		send:  func(ctx context.Context, s *Sender, st *Step, t *Tally) Outcome { return s.atOnce(ctx, st, t) },
	}
	InTransaction = &How{
		calls: func(int) int { return 1 },
		times: 2,
		send:  func(ctx context.Context, s *Sender, st *Step, t *Tally) Outcome { return s.transact(ctx, st, t) },
	}
)

// Units returns the price of a request that is sent so, in WCU.
func (h *How) Units(r *Request) cost.Units { return r.Units().Times(h.times) }

// refused returns the price of a request that was not applied, in WCU. stored is the item
// that its condition failed on, nil where that held, and another's did not. What a
// transaction is charged that was canceled is not documented: between one time and twice
// that of a single write.
func (h *How) refused(r *Request, stored item.Attributes) cost.Units {
	u := r.Units()
	if stored != nil {
		u = r.Refused(attr.ItemSize(stored))
	}
	once := u.Min
	u = u.Times(h.times)
	u.Min = once
	return u
}
