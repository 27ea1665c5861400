package mapper

import (
	"errors"
	"slices"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/change"
	"github.com/itemize/itemize/internal/explain"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/staging"
	"github.com/itemize/itemize/internal/write"
)

// tally collects what an operation sends and costs, for its receipt.
type tally struct {
	write.Tally
	mode         Mode
	alternatives []Alternative
	// leftBehind and alsoDeleted are described at Receipt.
	leftBehind, alsoDeleted []Key
	skipped                 []string
}

// skip notes a table that was passed over.
func (t *tally) skip(table string) {
	if !slices.Contains(t.skipped, table) {
		t.skipped = append(t.skipped, table)
	}
}

// skips reports whether an error is that tables of a period are not there, and notes these.
func (t *tally) skips(err error) bool {
	var missing *explain.Missing
	if !errors.As(err, &missing) || missing.Tables[0].Period == "" {
		return false
	}
	for _, table := range missing.Tables {
		t.skip(table.Name)
	}
	return true
}

// tallyOf returns what a read took.
func tallyOf(u *read.Usage) *tally {
	var t tally
	t.AddRead(u.Requests, u.Predicted, u.Consumed)
	t.skipped = u.Skipped
	return &t
}

// manyNames is more names than most items have attributes.
const manyNames = 8

// receiptOf returns an empty receipt, with room for the items that it will tell of, and for their attributes' names.
func receiptOf(n int) (r *Receipt, items []ItemPlan, room []string) {
	switch n {
	case 0:
		return new(Receipt), nil, nil
	case 1:
		all := &struct {
			Receipt
			items [1]ItemPlan
			names [manyNames]string
		}{}
		return &all.Receipt, all.items[:0], all.names[:]
	}
	return new(Receipt), make([]ItemPlan, 0, n), make([]string, n*manyNames)
}

func (t *tally) receipt() *Receipt {
	mode := t.mode
	if mode == "" {
		mode = modeOf(t.Requests, len(t.Items))
	}
	r, items, room := receiptOf(len(t.Items))
	*r = Receipt{
		Plan:       Plan{Mode: mode, WCU: t.WCU.Add(t.Refused), RCU: t.RCU, Alternatives: t.alternatives, requests: t.Requests},
		Refused:    t.Refused,
		Consumed:   Consumed{WCU: t.ConsumedWCU, RCU: t.ConsumedRCU, Indexes: t.Indexes},
		wcu:        t.WCU,
		LeftBehind: t.leftBehind, AlsoDeleted: t.alsoDeleted, Skipped: t.skipped,
	}
	r.Indexes, r.Objects = indexUnits(t.Predicted), t.Objects
	if len(t.Predicted) > 0 {
		r.declared = make(map[string]bool, len(t.Predicted))
	}
	for name := range t.Predicted {
		r.declared[name] = true
	}
	if n := r.undeclared(); n > 0 {
		r.WCU = r.WCU.Add(cost.Units{Max: n, If: undeclared})
	}
	for _, d := range t.Items {
		items = append(items, describe(d.Request, d.WCU, &room))
	}
	r.Items = items
	return r
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

// indexUnits are the units of indexes as plans show them: of those that take any, nil for none.
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
func describe(r *write.Request, wcu cost.Units, names *[]string) ItemPlan {
	var indexes write.IndexUnits
	indexes.Add(r)
	return ItemPlan{
		Indexes: indexUnits(indexes),
		Kind:    Kind(r.Kind), Key: keyOf(r.Place), Field: r.Field, Attributes: r.Attributes(names),
		OldBytes: r.OldSize, NewBytes: r.NewSize, Unread: r.Unread && r.Kind != write.Put, WCU: wcu,
	}
}

// planOf returns a plan of writes as callers see it.
func (g *engine) planOf(p *write.Plan) *Plan {
	out := &Plan{Mode: Mode(p.Mode), Items: []ItemPlan{}, WCU: p.Units().Add(g.indexes.of(p)), Indexes: indexUnits(p.Indexes()), requests: p.Calls()}
	p.Items(func(r *write.Request, wcu cost.Units) { out.Items = append(out.Items, describe(r, wcu, nil)) })
	return out
}

// options are the calls that choose a mode.
var options = map[write.Mode]string{write.OneByOne: "Independent()", write.Transaction: "one transaction", write.Staged: "Staged()"}

// alternatives returns the other ways to send what a diff has found.
func alternatives(p *write.Plan, s *state, d *change.Diff) []Alternative {
	if len(d.Changes) < 2 || len(d.Checks) > 0 || d.Moves || p.Before != nil {
		return nil
	}
	indexes := s.engine.indexes.of(p)
	var staged func([]*write.Request) write.Alternative
	if s.choice(d, writeSettings{}).Steps != nil {
		staged = func(all []*write.Request) write.Alternative { return staging.InsertPrice(s.Model.Now(), all) }
	}
	all := write.Alternatives(p.Mode, change.Requests(d.Changes), staged)
	if len(all) == 0 {
		return nil
	}
	out := make([]Alternative, 0, len(all))
	for _, a := range all {
		if a.Mode == write.Staged {
			indexes = indexes.Times(2) // the root is written twice
		}
		out = append(out, Alternative{Option: options[a.Mode], Requests: a.Calls, WCU: a.WCU.Add(indexes)})
	}
	return out
}

// deliver hands a read's receipt to who asked for it with Receive.
func deliver(to any, t *tally) {
	if p, ok := to.(*Receipt); ok && p != nil {
		*p = *t.receipt()
	}
}
