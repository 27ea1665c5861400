package mapper

import (
	"errors"
	"slices"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/read/search"
	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/save/estimate"
	"github.com/itemize/itemize/internal/save/operation"
	"github.com/itemize/itemize/internal/save/write"
)

// tally collects the requests and costs of an operation, for its receipt.
type tally struct {
	operation.Tally
	// skipped and throttled are described at Receipt.
	skipped   []string
	throttled []ThrottlingReason
}

// skip records a skipped table.
func (t *tally) skip(table string) {
	if !slices.Contains(t.skipped, table) {
		t.skipped = append(t.skipped, table)
	}
}

// skips reports whether an error means that tables of a period are missing, and records them.
func (t *tally) skips(err error) bool {
	var missing *request.Missing
	if !errors.As(err, &missing) || missing.Tables[0].Period == "" {
		return false
	}
	for _, table := range missing.Tables {
		t.skip(table.Name)
	}
	return true
}

// tallyOf returns the tally of a read.
func tallyOf(u *read.Usage) *tally {
	var t tally
	t.AddRead(u.Requests, u.Predicted, u.Consumed)
	t.skipped = u.Skipped
	return &t
}

// failed records the reasons of the error of a throttled call.
func (t *tally) failed(err error) {
	if throttled := new(*ThrottledError); err != nil && errors.As(err, throttled) {
		t.throttled = (*throttled).Reasons
	}
}

// receipt returns the receipt of the requests so far.
func (t *tally) receipt() *Receipt {
	return &Receipt{
		Refused: t.Refused,
		Consumed: Consumed{
			WCU: t.ConsumedWCU, RCU: t.ConsumedRCU, Indexes: t.Indexes, VectorBytes: t.Vectors,
		},
		LeftBehind: keysOf(
			t.LeftBehind,
		), Carried: keysOf(t.Carried), AlsoDeleted: keysOf(t.AlsoDeleted), Skipped: t.skipped,
		Throttled: t.throttled, tally: t,
	}
}

// plan returns the requests that were sent as plans show them.
func (t *tally) plan() *Plan {
	mode := string(t.Mode)
	if mode == "" {
		mode = modeOf(t.Requests, len(t.Items))
	}
	p := &Plan{
		Mode: mode, WCU: t.WCU.Add(t.Refused), RCU: t.RCU, Requests: t.Requests, RootReads: t.RootReads,
		Indexes: indexUnits(t.Predicted), Objects: t.Objects, Alternatives: alternatives(t.Alternatives),
	}
	if n := t.undeclared(); n > 0 {
		p.WCU = p.WCU.Add(cost.Units{Max: n, If: estimate.IfUndeclared})
	}
	for _, d := range t.Items {
		p.Items = append(p.Items, describe(d.Request, d.WCU))
	}
	return p
}

// undeclared returns the WCU of indexes that the model does not declare.
func (t *tally) undeclared() float64 {
	sum := 0.0
	for name, n := range t.Indexes {
		if _, declared := t.Predicted[name]; !declared {
			sum += n
		}
	}
	return sum
}

func modeOf(requests, items int) string {
	switch {
	case requests == 0:
		return "none"
	case items == 0:
		return "read"
	}
	return "one"
}

// indexUnits returns the units of indexes as plans show them, nil if all are zero.
func indexUnits(all write.IndexUnits) map[string]cost.Units {
	var out map[string]cost.Units
	for name, u := range all {
		if u.Max == 0 {
			continue
		}
		if out == nil {
			out = map[string]cost.Units{}
		}
		out[name] = u
	}
	return out
}

// describe returns a request as plans show it.
func describe(r *write.Request, wcu cost.Units) ItemPlan {
	var indexes write.IndexUnits
	indexes.Add(r)
	return ItemPlan{
		Indexes: indexUnits(indexes),
		Kind:    string(r.Kind), Key: keyOf(r.Place), Field: r.Field, Attributes: r.Attributes(),
		OldBytes: r.OldSize, NewBytes: r.NewSize, Unread: r.Unread && r.Kind != write.Put, WCU: wcu,
	}
}

// planOf returns a prediction as callers see it.
func planOf(p *operation.Prediction) *Plan {
	out := &Plan{
		Mode: string(p.Mode), Items: []ItemPlan{}, WCU: p.Units().Add(p.Undeclared), Indexes: indexUnits(p.Indexes()),
		RCU: p.Reads.RCU, Objects: p.Reads.Objects, Alternatives: alternatives(p.Alternatives), Requests: p.Calls() +
			p.Reads.Requests, RootReads: p.Reads.RootReads,
	}
	p.Plan.Items(func(r *write.Request, wcu cost.Units) { out.Items = append(out.Items, describe(r, wcu)) })
	if p.Retry != "" {
		out.WCU.Max *= 2
		out.WCU = out.WCU.Add(cost.Units{If: p.Retry})
	}
	return out
}

// planOfReads returns the cost of a load as callers see it.
func planOfReads(r estimate.Reads) *Plan {
	return &Plan{Mode: "read", Items: []ItemPlan{}, RCU: r.RCU, Objects: r.Objects, Requests: r.Requests}
}

// alternatives returns alternatives as callers see them. of is nil for none.
func alternatives(of func() []write.Alternative) []Alternative {
	var all []write.Alternative
	if of != nil {
		all = of()
	}
	if len(all) == 0 {
		return nil
	}
	options := map[write.Mode]string{
		write.OneByOne: "Independent()", write.Transaction: "one transaction",
		write.Staged: "Staged()",
	}
	out := make([]Alternative, len(all))
	for i, a := range all {
		out[i] = Alternative{Option: options[a.Mode], Requests: a.Calls, WCU: a.WCU}
	}
	return out
}

// receive returns the setting that writes the receipt of a read to r.
func receive(r *Receipt) func(*write.Tally, []string) {
	if r == nil {
		return nil
	}
	return func(t *write.Tally, skipped []string) {
		*r = *(&tally{Tally: operation.Tally{Tally: *t}, skipped: skipped}).receipt()
	}
}

// deliver passes the cost of a read to the caller, if requested.
func deliver(s search.Settings, t *tally) {
	if s.Receive != nil {
		s.Receive(&t.Tally.Tally, t.skipped)
	}
}
