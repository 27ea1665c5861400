package mapper

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/model/attr"
)

// ItemPlan is one item of a plan or receipt.
type ItemPlan struct {
	// Kind is the kind of the request: "put", "update", "delete", or "check", which requires that the
	// item is unchanged.
	Kind string `json:"kind"`
	Key
	// Field is the field of the model, or the sort key if several fields share the item.
	Field string `json:"field"`
	// Attributes are the names of the attributes that are set or removed. For a new item they are all
	// attributes except the keys.
	Attributes []string `json:"attributes,omitempty"`
	// OldBytes and NewBytes are the sizes of the item before and after, 0 for none.
	OldBytes int `json:"oldBytes"`
	NewBytes int `json:"newBytes"`
	// Unread reports that the item is written without a read. Then NewBytes is the minimum after an
	// update, and OldBytes is unknown.
	Unread bool `json:"unread,omitempty"`
	// WCU is the price in the table. Indexes is the price in secondary indexes, by "table/index".
	WCU     cost.Units            `json:"wcu"`
	Indexes map[string]cost.Units `json:"indexes,omitempty"`
}

// Alternative is another way to send the same write.
type Alternative struct {
	// Option is the option that selects it.
	Option   string     `json:"option"`
	Requests int        `json:"requests"`
	WCU      cost.Units `json:"wcu"`
}

// modeText returns the mode in words.
func (p *Plan) modeText() string {
	switch p.Mode {
	case "nothing":
		return "nothing to write"
	case "none":
		return "nothing sent"
	case "one":
		if p.Requests > 1 { // some requests are repetitions or reads
			return "one item"
		}
		return "one request"
	case "transaction":
		return "one transaction"
	case "independent":
		return "one by one"
	}
	return p.Mode
}

// Plan has the requests and the predicted cost of a call.
type Plan struct {
	// Requests is the number of requests that write or read items. It does not count the request for
	// the keys of a table that explains an error.
	Requests int `json:"requests"`
	// RootReads is how many of the requests read the root item to check that the entity exists. These
	// follow additions, and writes with CheckRoot or IfEntityExists, and precede a patch whose new
	// items need the incarnation.
	RootReads int `json:"rootReads,omitempty"`
	// Mode says how the items are written:
	//   - "one": one item, in one request
	//   - "transaction": several items, all or nothing, at the double price
	//   - "independent": several items, one by one ([Independent])
	//   - "staged": in several steps that readers do not see ([Staged])
	//   - "read": nothing is written
	//   - "nothing": nothing has changed
	//   - "none": of a receipt, nothing was sent
	Mode  string     `json:"mode"`
	Items []ItemPlan `json:"items"`
	// WCU and RCU are the predicted capacity units of the tables and of the declared indexes. If the
	// mapper has found other indexes, Max includes them.
	WCU cost.Units `json:"wcu"`
	// Indexes is the part of WCU for each index, by "table/index".
	Indexes map[string]cost.Units `json:"indexes,omitempty"`
	RCU     cost.Units            `json:"rcu"`
	// Objects are the requests to S3 for large values.
	Objects cost.Objects `json:"objects,omitzero"`
	// Alternatives are other ways to send the write, with their costs.
	Alternatives []Alternative `json:"alternatives,omitempty"`
}

// String returns the plan as a small table.
func (p Plan) String() string {
	var b strings.Builder
	p.head(&b)
	p.table(&b)
	p.bounds(&b)
	return b.String()
}

func (p *Plan) head(b *strings.Builder) {
	b.WriteString(p.modeText())
	if p.Requests > 0 {
		b.WriteString(": ")
		if p.Requests > 1 || p.Mode == "read" {
			b.WriteString(p.requests() + ", ")
		}
		b.WriteString(units(p.WCU, p.RCU))
	}
	p.objects(b)
	p.details(b)
}

// requests returns the number of requests, and how many of them read the root item.
func (p *Plan) requests() string {
	text := count(p.Requests, "request")
	switch p.RootReads {
	case 0:
		return text
	case 1:
		return text + " (1 reads the root item)"
	}
	return text + fmt.Sprintf(" (%d read the root item)", p.RootReads)
}

// objects adds the requests to S3.
func (p *Plan) objects(b *strings.Builder) {
	o := p.Objects
	if o == (cost.Objects{}) {
		return
	}
	var all []string
	for _, x := range []struct {
		n    int
		what string
	}{{o.Puts, "put"}, {o.Gets, "get"}, {o.Deletes, "delete"}} {
		if x.n > 0 {
			all = append(all, count(x.n, x.what))
		}
	}
	if o.Sent+o.Received > 0 {
		all = append(all, fmt.Sprintf("%d bytes", o.Sent+o.Received))
	}
	b.WriteString("; S3: " + strings.Join(all, ", "))
}

// details adds the alternatives.
func (p *Plan) details(b *strings.Builder) {
	for _, a := range p.Alternatives {
		fmt.Fprintf(b, "; %s: %s, %s WCU", a.Option, count(a.Requests, "request"), expected(a.WCU))
	}
}

// units returns the units that are not zero, of both kinds.
func units(wcu, rcu cost.Units) string {
	return kinds(wcu.Max > 0 || rcu.Max == 0, rcu.Max > 0, wcu, rcu)
}

// kinds returns the expected units of one kind or both.
func kinds(writes, reads bool, wcu, rcu cost.Units) string {
	switch {
	case !reads:
		return expected(wcu) + " WCU"
	case !writes:
		return expected(rcu) + " RCU"
	}
	return expected(wcu) + " WCU, " + expected(rcu) + " RCU"
}

func expected(u cost.Units) string { return cost.Exactly(u.Expected).String() }

// bounds adds a line if units are not exact.
func (p *Plan) bounds(b *strings.Builder) {
	for _, u := range []struct {
		cost.Units
		name string
	}{{p.WCU, "WCU"}, {p.RCU, "RCU"}} {
		if u.Exact() {
			continue
		}
		fmt.Fprintf(b, "\n  bounds: %s to %s %s", cost.Exactly(u.Min), cost.Exactly(u.Max), u.name)
		if u.If != "" && u.Max > u.Expected {
			b.WriteString(", more than expected if " + u.If)
		}
	}
}

func (p *Plan) table(b *strings.Builder) {
	var rows strings.Builder
	w := tabwriter.NewWriter(&rows, 0, 0, 2, ' ', 0)
	for _, it := range p.Items {
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\t%s WCU\t%s\n", it.Kind, it.Table, it.keys(), sizes(it), expected(it.WCU),
			strings.Join(it.Attributes, ", "))
	}
	w.Flush()
	for row := range strings.Lines(rows.String()) {
		b.WriteString("\n" + strings.TrimRight(row, " \n"))
	}
}

// keys returns the item's keys without its table.
func (it ItemPlan) keys() string { return strings.TrimSuffix(it.Partition+" "+it.Sort, " ") }

func sizes(it ItemPlan) string {
	switch {
	case it.Unread && it.NewBytes == 0:
		return "not read"
	case it.Unread:
		return strconv.Itoa(it.NewBytes) + " B or more"
	case it.Kind == "check":
		return strconv.Itoa(it.OldBytes) + " B"
	case it.OldBytes == 0:
		return strconv.Itoa(it.NewBytes) + " B"
	}
	return fmt.Sprintf("%d > %d B", it.OldBytes, it.NewBytes)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

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

	tally *tally // nil for a receipt of nothing
}

// Predicted lists the requests that were sent, with their predicted cost. It is made at each call, so that writes whose
// receipts nobody reads do not pay for it. A receipt that is kept therefore keeps the written items in memory.
func (r *Receipt) Predicted() *Plan {
	if r.tally == nil {
		return &Plan{}
	}
	return r.tally.plan()
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
	wcu := r.tally.WCU // without those of refused writes, which DynamoDB does not report
	reads := p.RCU.Max > 0 || r.Consumed.RCU > 0 || p.Mode == "read"
	writes := wcu.Max > 0 || r.Consumed.WCU > 0 || !reads
	predicted := kinds(writes, reads, wcu, p.RCU)
	consumed := kinds(writes, reads, cost.Exactly(r.Consumed.WCU), cost.Exactly(r.Consumed.RCU))
	if len(r.Consumed.Indexes) > 0 {
		consumed += r.byIndex()
	}
	if wcu.Contains(r.Consumed.WCU-r.tally.undeclared()) && p.RCU.Contains(r.Consumed.RCU) {
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
		if _, declared := r.tally.Predicted[name]; !declared {
			text += " (the model does not declare it)"
		}
	}
	return text
}
