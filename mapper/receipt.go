package mapper

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/read/search"
	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/save/estimate"
	"github.com/itemize/itemize/internal/save/operation"
	"github.com/itemize/itemize/internal/save/write"
)

// Consumed is the capacity that DynamoDB reported. It also charges failed requests, but does not report
// them.
type Consumed struct {
	// WCU and RCU are the units of tables and indexes.
	WCU float64 `json:"wcu"`
	RCU float64 `json:"rcu"`
	// Indexes is the part of WCU that each secondary index consumed, by "table/index"; nil for none.
	Indexes map[string]float64 `json:"indexes,omitempty"`
	// VectorBytes are the bytes that writes to each vector index consumed, by "table/index"; nil for none.
	// DynamoDB charges vector indexes by bytes, which are no units and not in WCU.
	VectorBytes map[string]float64 `json:"vectorBytes,omitempty"`
}

// add adds what another call consumed.
func (c *Consumed) add(o Consumed) {
	c.WCU += o.WCU
	c.RCU += o.RCU
	addAll(&c.Indexes, o.Indexes)
	addAll(&c.VectorBytes, o.VectorBytes)
}

func addAll(to *map[string]float64, more map[string]float64) {
	if *to == nil && len(more) > 0 {
		*to = map[string]float64{}
	}
	for name, n := range more {
		(*to)[name] += n
	}
}

// Receipt has the requests that an operation sent, their predicted cost, and the consumed capacity. It
// is returned with an error too, and then has the requests before it.
//
// The predicted WCU include refused writes. If the tables turn out to have undeclared indexes, the
// prediction is not exact: Max includes their units.
type Receipt struct {
	// Refused is the part of the predicted WCU for writes whose condition failed. DynamoDB charges them
	// by the size of the stored item, and does not report them in Consumed.
	Refused  cost.Units `json:"refused,omitzero"`
	Consumed Consumed   `json:"consumed"`
	// LeftBehind lists items that stay at the old key after a save with Move: leftover before, or added by others in
	// the meantime and not carried, which is a *PartialError. They belong to no entity.
	LeftBehind []Key `json:"leftBehind,omitempty"`
	// Carried lists the new keys of items that others added at the old key before the entity moved, and that Move
	// carried.
	Carried []Key `json:"carried,omitempty"`
	// AlsoDeleted lists items that another writer wrote while a staged delete ran, after the delete had
	// read them. They were deleted too. (Of items without a version only new ones are listed. Items
	// that are added after the second read stay, hidden.)
	AlsoDeleted []Key `json:"alsoDeleted,omitempty"`
	// Skipped lists the missing tables that a read with SkipMissing skipped.
	Skipped []string `json:"skipped,omitempty"`
	// Throttled are the reasons of a write that ended with a *ThrottledError. Retries that succeeded are not counted.
	Throttled []ThrottlingReason `json:"throttled,omitempty"`

	draft *draft // nil for a receipt of nothing
}

// Predicted lists the requests that were sent, with their predicted cost. It is made at each call, so that writes whose
// receipts nobody reads do not pay for it. A receipt that is kept therefore keeps the written items in memory.
func (r *Receipt) Predicted() *Plan {
	if r.draft == nil {
		return &Plan{}
	}
	return r.draft.plan()
}

// MarshalJSON returns the receipt as JSON, with the plan. A receipt that is read from JSON has no plan.
func (r Receipt) MarshalJSON() ([]byte, error) {
	type fields Receipt
	return json.Marshal(struct {
		Predicted *Plan `json:"predicted"`
		*fields
	}{r.Predicted(), (*fields)(&r)})
}

// String returns the receipt as a small table.
func (r Receipt) String() string {
	var b strings.Builder
	p := r.Predicted()
	b.WriteString(p.modeText())
	if p.Requests > 0 {
		b.WriteString(": ")
		if p.Requests > 1 || p.Mode == "read" {
			b.WriteString(p.requests() + ", ")
		}
		r.charged(&b, p)
		p.objects(&b)
	} else {
		p.details(&b)
	}
	if n := len(r.Carried); n > 0 {
		fmt.Fprintf(&b, "; %s of other writers carried to the new key: %s", count(n, "item"), joinKeys(r.Carried))
	}
	if n := len(r.LeftBehind); n > 0 {
		fmt.Fprintf(&b, "; %s at the old key: %s", count(n, "item"), joinKeys(r.LeftBehind))
	}
	if n := len(r.AlsoDeleted); n > 0 {
		fmt.Fprintf(&b, "; %s of other writers deleted as well: %s", count(n, "item"), joinKeys(r.AlsoDeleted))
	}
	for _, reason := range r.Throttled {
		fmt.Fprintf(&b, "; throttled: %s", reason)
	}
	p.table(&b)
	return b.String()
}

// charged adds the predicted and consumed units. If they disagree, it says which is which.
func (r *Receipt) charged(b *strings.Builder, p *Plan) {
	wcu := r.draft.WCU // without those of refused writes, which DynamoDB does not report
	reads := p.RCU.Max > 0 || r.Consumed.RCU > 0 || p.Mode == "read"
	writes := wcu.Max > 0 || r.Consumed.WCU > 0 || !reads
	predicted := kinds(writes, reads, wcu, p.RCU)
	consumed := kinds(writes, reads, cost.Exactly(r.Consumed.WCU), cost.Exactly(r.Consumed.RCU))
	if len(r.Consumed.Indexes) > 0 {
		consumed += r.byIndex()
	}
	if wcu.Contains(r.Consumed.WCU-r.draft.undeclared()) && p.RCU.Contains(r.Consumed.RCU) {
		b.WriteString(predicted)
		p.details(b)
		b.WriteString("; consumed " + consumed)
	} else {
		b.WriteString("predicted " + predicted + "; the engine reported " + consumed)
		p.details(b)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Consumed.VectorBytes)) {
		fmt.Fprintf(b, "; written to the vector index %s: %s", name, attr.Bytes(int(r.Consumed.VectorBytes[name])))
	}
	if r.Refused.Max > 0 {
		b.WriteString("; refused writes, which are charged and not reported: " + r.Refused.String() + " WCU")
	}
}

// byIndex returns the units of each index, and marks undeclared ones.
func (r *Receipt) byIndex() string {
	text := ", of these in indexes:"
	for i, name := range slices.Sorted(maps.Keys(r.Consumed.Indexes)) {
		if i > 0 {
			text += ","
		}
		text += " " + name + " " + cost.Exactly(r.Consumed.Indexes[name]).String()
		if _, declared := r.draft.Predicted[name]; !declared {
			text += " (the model does not declare it)"
		}
	}
	return text
}

// draft collects the requests and costs of an operation, for its receipt.
type draft struct {
	operation.Tally
	// skipped and throttled are described at Receipt.
	skipped   []string
	throttled []ThrottlingReason
}

// skip records a skipped table.
func (t *draft) skip(table string) {
	if !slices.Contains(t.skipped, table) {
		t.skipped = append(t.skipped, table)
	}
}

// skips reports whether an error means that tables of a period are missing, and records them.
func (t *draft) skips(err error) bool {
	var missing *request.Missing
	if !errors.As(err, &missing) || missing.Tables[0].Period == "" {
		return false
	}
	for _, table := range missing.Tables {
		t.skip(table.Name)
	}
	return true
}

// draftOf returns the draft of a read.
func draftOf(u *read.Usage) *draft {
	var t draft
	t.AddRead(u.Requests, u.Predicted, u.Consumed)
	t.skipped = u.Skipped
	return &t
}

// failed records the reasons of the error of a throttled call.
func (t *draft) failed(err error) {
	if throttled := new(*ThrottledError); err != nil && errors.As(err, throttled) {
		t.throttled = (*throttled).Reasons
	}
}

// receipt returns the receipt of the requests so far.
func (t *draft) receipt() *Receipt {
	return &Receipt{
		Refused: t.Refused,
		Consumed: Consumed{
			WCU: t.ConsumedWCU, RCU: t.ConsumedRCU, Indexes: t.Indexes, VectorBytes: t.Vectors,
		},
		LeftBehind: keysOf(
			t.LeftBehind,
		), Carried: keysOf(t.Carried), AlsoDeleted: keysOf(t.AlsoDeleted), Skipped: t.skipped,
		Throttled: t.throttled, draft: t,
	}
}

// plan returns the requests that were sent as plans show them.
func (t *draft) plan() *Plan {
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
func (t *draft) undeclared() float64 {
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
		Mode: string(p.Mode), Items: []ItemPlan{}, WCU: p.Units().Add(p.Undeclared).Add(p.Guards),
		Indexes: indexUnits(p.Indexes()), RCU: p.Reads.RCU, Objects: p.Reads.Objects,
		Alternatives: alternatives(p.Alternatives), Requests: p.Calls() + p.Reads.Requests,
		RootReads: p.Reads.RootReads,
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
		*r = *(&draft{Tally: operation.Tally{Tally: *t}, skipped: skipped}).receipt()
	}
}

// deliver passes the cost of a read to the caller, if requested.
func deliver(s search.Settings, t *draft) {
	if s.Receive != nil {
		s.Receive(&t.Tally.Tally, t.skipped)
	}
}
