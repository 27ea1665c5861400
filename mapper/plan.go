package mapper

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/itemize/itemize/cost"
)

// ItemPlan is what would happen, or has happened, to one item.
type ItemPlan struct {
	// Kind is what a request does with the item: "put", "update", "delete", or "check", which requires
	// that it is unchanged.
	Kind string `json:"kind"`
	Key
	// Field is the model's field, or the sort key of an item of several fields.
	Field string `json:"field"`
	// Attributes are the names of those that are set or removed; all of a new
	// item's but its keys.
	Attributes []string `json:"attributes,omitempty"`
	// OldBytes and NewBytes are the item's sizes before and after, 0 for none.
	OldBytes int `json:"oldBytes"`
	NewBytes int `json:"newBytes"`
	// Unread reports that the item is written without being read: NewBytes is the least that
	// an update leaves, and OldBytes is not known.
	Unread bool `json:"unread,omitempty"`
	// WCU is what the write costs, in the table; Indexes what it costs in secondary indexes, by
	// "table/index".
	WCU     cost.Units            `json:"wcu"`
	Indexes map[string]cost.Units `json:"indexes,omitempty"`
}

// Alternative is another way to write the same.
type Alternative struct {
	// Option is the call that chooses it.
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
		if p.Requests > 1 { // it was sent again, or others read
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

// Plan is what a save would send and cost.
type Plan struct {
	// Requests is the number of calls to DynamoDB that write or read items; that which asks for a
	// table's keys, to explain why it refused others, is none of them.
	Requests int `json:"requests"`
	// RootReads is how many of the requests read the root item, to make sure that the entity exists:
	// after items were added, with CheckRoot and IfEntityExists after each write, and before a patch
	// whose new items need the incarnation of the entity.
	RootReads int `json:"rootReads,omitempty"`
	// Mode says how the items are written:
	//   - "one": one item, in one request
	//   - "transaction": several, all or nothing, at the double price
	//   - "independent": several, one by one ([Independent])
	//   - "staged": more than a transaction takes, in steps that nobody sees ([Staged])
	//   - "read": nothing is written
	//   - "nothing": there is no difference
	//   - "none": of a receipt, nothing was sent
	Mode  string     `json:"mode"`
	Items []ItemPlan `json:"items"`
	// WCU and RCU are the predicted cost, in capacity units, of the tables and of the indexes that
	// the model declares. Once the mapper has met others, Max includes what they may take.
	WCU cost.Units `json:"wcu"`
	// Indexes are what of WCU the model's indexes take, by "table/index".
	Indexes map[string]cost.Units `json:"indexes,omitempty"`
	RCU     cost.Units            `json:"rcu"`
	// Objects are the requests to S3, of large values that are objects.
	Objects cost.Objects `json:"objects,omitzero"`
	// Alternatives are the other ways and their costs.
	Alternatives []Alternative `json:"alternatives,omitempty"`
}

// String shows the plan as a small table.
func (p *Plan) String() string {
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

// requests shows how many requests there are, and how many of them read the root item.
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

// others adds the alternatives.
func (p *Plan) details(b *strings.Builder) {
	for _, a := range p.Alternatives {
		fmt.Fprintf(b, "; %s: %s, %s WCU", a.Option, count(a.Requests, "request"), expected(a.WCU))
	}
}

// units shows what is not zero of both kinds of units.
func units(wcu, rcu cost.Units) string {
	return kinds(wcu.Max > 0 || rcu.Max == 0, rcu.Max > 0, wcu, rcu)
}

// kinds shows what is expected of one kind of units, or of both.
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

// bounds adds a line for units that are not known exactly.
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

// Consumed is what DynamoDB charged, as its answers reported it. Failed requests
// are charged too, but not reported.
type Consumed struct {
	// WCU and RCU are all units, of tables and indexes.
	WCU float64 `json:"wcu"`
	RCU float64 `json:"rcu"`
	// Indexes are the WCU among them that secondary indexes took, by "table/index"; nil for
	// none.
	Indexes map[string]float64 `json:"indexes,omitempty"`
}

// add adds what another call consumed.
func (c *Consumed) add(o Consumed) {
	c.WCU += o.WCU
	c.RCU += o.RCU
	for name, n := range o.Indexes {
		if c.Indexes == nil {
			c.Indexes = map[string]float64{}
		}
		c.Indexes[name] += n
	}
}

// Receipt is what an operation sent, what it was predicted to cost, and what
// DynamoDB charged for it. It comes with an error as well, and then shows what
// was sent up to it.
//
// The predicted WCU are those of the items that were written, and of what was refused. Where the
// tables turned out to have indexes, they are no longer known: Max includes what those took.
type Receipt struct {
	// Predicted lists the requests that were sent, with their predicted cost.
	Predicted Plan `json:"predicted"`
	// Refused is the part of the predicted WCU of writes whose condition failed: DynamoDB charges them by the
	// size of the item that is there, and does not report it, so that it is no part of
	// Consumed.
	Refused  cost.Units `json:"refused,omitzero"`
	Consumed Consumed   `json:"consumed"`
	// LeftBehind are, of a save with Move, the items that are still under the old key: what
	// somebody added meanwhile, or was left over there before. They are nobody's.
	LeftBehind []Key `json:"leftBehind,omitempty"`
	// AlsoDeleted are, of a staged delete, the items that somebody wrote after it had compared
	// the entity with what was loaded, or read it: they went with it. (Of items without a
	// version only those that are new. What is added behind the second reading stays, hidden.)
	AlsoDeleted []Key `json:"alsoDeleted,omitempty"`
	// Skipped are, of a read with SkipMissing, the tables that are not there.
	Skipped []string `json:"skipped,omitempty"`

	// wcu are the units that are predicted to be reported: without what was refused; declared the
	// indexes that the model declares on the items that were written.
	wcu      cost.Units
	declared map[string]bool
}

// String shows the receipt as a small table.
func (r *Receipt) String() string {
	var b strings.Builder
	p := &r.Predicted
	b.WriteString(p.modeText())
	if p.Requests > 0 {
		b.WriteString(": ")
		if p.Requests > 1 || p.Mode == "read" {
			b.WriteString(p.requests() + ", ")
		}
		r.charged(&b)
		p.objects(&b)
	} else {
		p.details(&b)
	}
	if n := len(r.LeftBehind); n > 0 {
		fmt.Fprintf(&b, "; %s at the old key: %s", count(n, "item"), joinKeys(r.LeftBehind))
	}
	if n := len(r.AlsoDeleted); n > 0 {
		fmt.Fprintf(&b, "; %s of other writers deleted as well: %s", count(n, "item"), joinKeys(r.AlsoDeleted))
	}
	p.table(&b)
	return b.String()
}

// charged shows what was predicted, and what was reported. Where the one is not within the
// other, it says which is whose.
func (r *Receipt) charged(b *strings.Builder) {
	reads := r.Predicted.RCU.Max > 0 || r.Consumed.RCU > 0 || r.Predicted.Mode == "read"
	writes := r.wcu.Max > 0 || r.Consumed.WCU > 0 || !reads
	predicted := kinds(writes, reads, r.wcu, r.Predicted.RCU)
	consumed := kinds(writes, reads, cost.Exactly(r.Consumed.WCU), cost.Exactly(r.Consumed.RCU))
	if len(r.Consumed.Indexes) > 0 {
		consumed += r.byIndex()
	}
	if r.wcu.Contains(r.Consumed.WCU-r.undeclared()) && r.Predicted.RCU.Contains(r.Consumed.RCU) {
		b.WriteString(predicted)
		r.Predicted.details(b)
		b.WriteString("; consumed " + consumed)
	} else {
		b.WriteString("predicted " + predicted + "; the engine reported " + consumed)
		r.Predicted.details(b)
	}
	if r.Refused.Max > 0 {
		b.WriteString("; refused writes, which are charged and not reported: " + r.Refused.String() + " WCU")
	}
}

// byIndex shows what indexes took, and which of them the model does not declare.
func (r *Receipt) byIndex() string {
	text := " by table and indexes:"
	for i, name := range slices.Sorted(maps.Keys(r.Consumed.Indexes)) {
		if i > 0 {
			text += ","
		}
		text += " " + name + " " + cost.Exactly(r.Consumed.Indexes[name]).String()
		if !r.declared[name] {
			text += " (the model does not declare it)"
		}
	}
	return text
}

// undeclared returns the WCU of indexes that the model does not declare.
func (r *Receipt) undeclared() float64 {
	sum := 0.0
	for name, n := range r.Consumed.Indexes {
		if !r.declared[name] {
			sum += n
		}
	}
	return sum
}
