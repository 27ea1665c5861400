package mapper

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/itemize/itemize/cost"
)

// Kind is what a request does with an item.
type Kind string

// The kinds of item writes. A check requires that an item is unchanged.
const (
	KindPut    Kind = "put"
	KindUpdate Kind = "update"
	KindDelete Kind = "delete"
	KindCheck  Kind = "check"
)

// ItemPlan is what would happen, or has happened, to one item.
type ItemPlan struct {
	Kind Kind `json:"kind"`
	Key
	// Field is the model's field, or the sort key of an item of several fields.
	Field string `json:"field"`
	// Attributes are the names of those that are set or removed; all of a new
	// item's but its keys.
	Attributes []string `json:"attributes,omitempty"`
	// OldBytes and NewBytes are the item's sizes before and after, 0 for none.
	OldBytes int `json:"oldBytes"`
	NewBytes int `json:"newBytes"`
	// WCU is what the write costs.
	WCU cost.Units `json:"wcu"`
}

// Alternative is another way to write the same.
type Alternative struct {
	// Option is the call that chooses it.
	Option   string     `json:"option"`
	Requests int        `json:"requests"`
	WCU      cost.Units `json:"wcu"`
}

// Mode is a way to send an operation.
type Mode string

// The modes of plans and receipts.
const (
	ModeNothing     Mode = "nothing to write" // nothing differs
	ModeNone        Mode = "nothing sent"     // an error came before
	ModeRead        Mode = "read"
	ModeOne         Mode = "one request"
	ModeTransaction Mode = "one transaction"
	ModeIndependent Mode = "one by one"
	ModeStaged      Mode = "staged"
)

// Plan is what a save would send and cost.
type Plan struct {
	// Mode says how the items are written.
	Mode  Mode       `json:"mode"`
	Items []ItemPlan `json:"items"`
	// WCU and RCU are the predicted cost, in capacity units.
	WCU cost.Units `json:"wcu"`
	RCU cost.Units `json:"rcu"`
	// Alternatives are the other ways and their costs.
	Alternatives []Alternative `json:"alternatives,omitempty"`

	requests int
}

// Requests returns the number of calls to DynamoDB.
func (p *Plan) Requests() int { return p.requests }

// MarshalJSON adds the number of requests to the fields.
func (p Plan) MarshalJSON() ([]byte, error) {
	type fields Plan
	return json.Marshal(struct {
		Requests int `json:"requests"`
		fields
	}{p.requests, fields(p)})
}

// String shows the plan as a small table.
func (p *Plan) String() string {
	var b strings.Builder
	p.head(&b)
	p.table(&b)
	return b.String()
}

func (p *Plan) head(b *strings.Builder) {
	b.WriteString(string(p.Mode))
	if p.requests > 0 {
		b.WriteString(": ")
		if p.requests > 1 || p.Mode == ModeRead {
			b.WriteString(count(p.requests, "request") + ", ")
		}
		b.WriteString(units(p.WCU, p.RCU))
	}
	for _, a := range p.Alternatives {
		fmt.Fprintf(b, "; %s: %s, %s WCU", a.Option, count(a.Requests, "request"), a.WCU)
	}
}

// units shows what is not zero of both kinds of units.
func units(wcu, rcu cost.Units) string {
	switch {
	case rcu.Max == 0:
		return wcu.String() + " WCU"
	case wcu.Max == 0:
		return rcu.String() + " RCU"
	}
	return wcu.String() + " WCU, " + rcu.String() + " RCU"
}

func (p *Plan) table(b *strings.Builder) {
	var rows strings.Builder
	w := tabwriter.NewWriter(&rows, 0, 0, 2, ' ', 0)
	for _, it := range p.Items {
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\t%s WCU\t%s\n", it.Kind, it.Table, it.keys(), sizes(it), it.WCU, strings.Join(it.Attributes, ", "))
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
	case it.Kind == KindCheck:
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
	WCU float64 `json:"wcu"`
	RCU float64 `json:"rcu"`
}

// Receipt is what an operation sent, what it was predicted to cost, and what
// DynamoDB charged for it. It comes with an error as well, and then shows what
// was sent up to it.
type Receipt struct {
	Plan
	Consumed Consumed `json:"consumed"`
}

// MarshalJSON keeps the fields of the plan beside those of the receipt.
func (r Receipt) MarshalJSON() ([]byte, error) {
	type fields Plan
	return json.Marshal(struct {
		Requests int `json:"requests"`
		fields
		Consumed Consumed `json:"consumed"`
	}{r.requests, fields(r.Plan), r.Consumed})
}

// String shows the receipt as a small table.
func (r *Receipt) String() string {
	var b strings.Builder
	r.head(&b)
	if r.requests > 0 {
		b.WriteString("; consumed " + units(cost.Exactly(r.Consumed.WCU), cost.Exactly(r.Consumed.RCU)))
	}
	r.table(&b)
	return b.String()
}
