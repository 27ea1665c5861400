package mapper

import (
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/itemize/itemize/cost"
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
