package migrate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/migration/protocol"
	"github.com/itemize/itemize/internal/migration/report"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/naming"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/read"
)

// Plan has the number of items that a migration moves, and its cost. Its JSON has more: units by parts,
// sizes by kinds of items, prices of a verification and a rollback, and alternatives for some parts.
type Plan struct {
	// Entities were read: all monoliths, or a sample, whose sums are scaled.
	Entities int
	// Items is the number of items that they become.
	Items float64
	// WCU are the units that the run writes, and RCU those that its scan reads, without checkpoints
	// (one or two WCU for each page). Price is the price of both, in dollars on demand.
	WCU, RCU, Price float64
	// Time is the duration of the run at the requested rate, 0 without one.
	Time time.Duration
	// Dead is the number of entities that cannot be moved. DeadLetters are the first of them.
	Dead        int
	DeadLetters []DeadLetter
	// Before and After are the cost of the requested updates in the old and the new layout, in WCU a
	// month.
	Before, After float64
	// Advice lists tasks before the run.
	Advice []string

	full *report.Plan
}

// MarshalJSON returns the complete plan.
func (p *Plan) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		*report.Plan
		DeadLetters []DeadLetter `json:"deadLetters,omitempty"`
	}{p.full, p.DeadLetters})
}

// PlanOptions are the options of a plan.
type PlanOptions struct {
	// Sample is the number of monoliths to read, 0 for all.
	Sample int
	// Rate is the WCU a second for the predicted time.
	Rate float64
	// Updates are numbers of updates a month, by the kind of the changed item.
	Updates map[string]float64
}

// OK reports whether the run can start: all entities can be moved.
func (p *Plan) OK() bool { return p.Dead == 0 }

// Plan reads monoliths and writes nothing.
func (m *Migration) Plan(ctx context.Context, o PlanOptions) (_ *Plan, err error) {
	defer m.throttled(&err)
	x := &planning{
		Migration: m, o: o,
		p: &report.Plan{
			Of: int(m.approximate), Scale: 1, Kinds: map[string]report.Kind{}, Residue: map[string]int{},
			Unclaimed: map[string]int{},
		},
	}
	for name := range o.Updates {
		if !slices.ContainsFunc(m.layout.Items, func(it schema.LayoutItem) bool { return it.Name == name }) {
			var names []string
			for _, it := range m.layout.Items {
				names = append(names, it.Name)
			}
			return nil, fmt.Errorf("%s: updates of %s, which is not an item: the items are %s", m.layout.Model, name,
				strings.Join(names, ", "))
		}
	}
	if err := x.begunWith(ctx); err != nil {
		return nil, err
	}
	u, err := m.each(ctx, func(_ context.Context, p read.Page) error { return x.page(p) })
	if err != nil && !errors.Is(err, errEnough) {
		return nil, err
	}
	x.end(u.Predicted.Expected)
	p := x.p
	return &Plan{
		Entities: p.Entities, Items: p.Items, WCU: p.WCU, RCU: p.RCU, Price: p.Price, Time: p.Time,
		Dead: p.Dead, DeadLetters: x.dead, Before: p.Before, After: p.After, Advice: p.Advice, full: p,
	}, nil
}

// begunWith finds out with how many segments the migration was begun.
func (x *planning) begunWith(ctx context.Context) error {
	return x.state.each(ctx, noteSegment, func(_ string, a item.Attributes) error {
		var c checkpoint
		_, err := decode(a, &c)
		x.segments = c.Of
		return err
	})
}

// errEnough ends a plan of a sample.
var errEnough = errors.New("enough")

// planning is a running plan.
type planning struct {
	*Migration
	o  PlanOptions
	mu sync.Mutex
	p  *report.Plan
	// dead are the first dead letters.
	dead []DeadLetter
	// otherBytes are the bytes of items that are no monoliths, deadBytes those of dead letters. reads
	// are the units to read each collection.
	otherBytes, deadBytes, reads float64
	// markedBytes are those of monoliths that have moved, and scanned the number of items in all pages.
	markedBytes float64
	scanned     int
	// unfit is the number of monoliths with attributes that no field stores.
	unfit int
	// segments is the number of segments that the migration was begun with, 0 for none.
	segments int
}

// page adds a page. It returns errEnough at the end of a sample.
func (x *planning) page(p read.Page) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.scanned += len(p.Items)
	for i := range p.Items {
		if x.o.Sample > 0 && x.p.Entities >= x.o.Sample { // also other items are those of the sample
			x.p.Sampled = true
			return errEnough
		}
		if f := &p.Items[i]; x.isMonolith(f) {
			x.add(x.monolithOf(f))
		} else {
			x.p.Foreign++
			x.otherBytes += float64(f.Size)
		}
	}
	return nil
}

// add adds a monolith.
func (x *planning) add(d *protocol.Monolith) {
	p := x.p
	p.Entities++
	if !d.Unmarked() {
		x.moved(d)
		return
	}
	p.Largest = max(p.Largest, d.Size())
	p.Bytes += float64(d.Size())
	price, err := x.mover.Predict(d)
	if err != nil {
		p.Dead++
		x.deadBytes += float64(d.Size())
		if len(x.dead) < maxFindings {
			x.dead = append(x.dead, DeadLetter{Key: keyText(d.Place), Reasons: reasons(err), Since: x.now().UTC()})
		}
		return
	}
	p.Items, p.ItemBytes = p.Items+float64(price.Items), p.ItemBytes+float64(price.Bytes)
	p.WCU, p.Parts, p.Marks, p.Claims = p.WCU+price.WCU, p.Parts+price.Parts, p.Marks+price.Mark, p.Claims+price.Claim
	p.Indexes += price.Indexes
	p.Back += price.Back
	x.reads += cost.ReadUnits(price.Bytes)
	if x.own {
		x.reads += cost.ReadUnits(d.Size())
	}
	if x.replace {
		p.WCU, p.Removals = p.WCU+price.Removal, p.Removals+price.Removal
		p.RCU += cost.ReadUnits(d.Size()) + cost.ReadUnits(price.Bytes)
	}
	for name, k := range price.Kinds {
		sum := p.Kinds[name]
		p.Kinds[name] = report.Kind{Items: sum.Items + float64(k.Items), Bytes: sum.Bytes + float64(k.Bytes)}
	}
	for _, name := range price.Residue {
		p.Residue[name]++
	}
	for _, name := range price.Unclaimed {
		p.Unclaimed[name]++
	}
	if len(price.Unclaimed) > 0 {
		x.unfit++
	}
}

// moved adds a monolith that has moved: a rollback turns its collection into it again.
func (x *planning) moved(d *protocol.Monolith) {
	x.p.Marked++
	x.markedBytes += float64(d.Size())
	if d.Mark() == nil || d.Mark().Deleted {
		return
	}
	if price, err := x.mover.Predict(d.Original()); err == nil {
		x.p.Back += price.Back
		x.reads += cost.ReadUnits(price.Bytes)
	}
}

// end scales a sample and computes the derived figures.
//
// scan are the RCU of the pages that were read, which may have more items than the sample.
func (x *planning) end(scan float64) {
	p := x.p
	read := p.Entities + p.Foreign
	if p.Sampled && p.Of < x.scanned { // DynamoDB counts every six hours
		p.Of = 0
	}
	if p.Sampled && read > 0 && p.Of > read {
		p.Scale = float64(p.Of) / float64(read)
		scan *= float64(p.Of) / float64(x.scanned)
		for _, sum := range []*float64{
			&p.Bytes, &x.otherBytes, &x.deadBytes, &x.markedBytes, &p.Items, &p.ItemBytes, &p.WCU, &p.Parts,
			&p.Marks, &p.Claims, &p.Indexes, &p.Removals, &p.RCU, &p.Back,
		} {
			*sum *= p.Scale
		}
		for name, k := range p.Kinds {
			p.Kinds[name] = report.Kind{Items: k.Items * p.Scale, Bytes: k.Bytes * p.Scale}
		}
	}
	p.RCU += scan
	p.Price = x.prices.Units(p.WCU, p.RCU)
	scanned := p.Bytes + x.otherBytes + x.markedBytes
	if x.own {
		scanned += p.ItemBytes
	}
	p.Verify = x.prices.Units(0, cost.ReadUnits(int(scanned))+x.reads*p.Scale)
	p.Back = x.prices.Units(p.Back, 0)
	p.BothRCU = cost.ReadUnits(p.Largest)
	if x.o.Rate > 0 {
		p.Time = time.Duration(p.WCU / x.o.Rate * float64(time.Second))
	}
	x.means()
	x.updates()
	x.advise()
}

// means computes the cost of exports and imports for the same data.
func (x *planning) means() {
	p := x.p
	priceOf := func(name string, bytes float64) *float64 {
		dollars, ok := x.prices.Of(name)
		if dollars *= bytes / (1 << 30); !ok {
			return nil
		}
		return &dollars
	}
	puts := x.prices.Units(p.Parts, 0)
	p.Means = []report.Mean{
		{
			Name: "ExportTableToPointInTime", InPlaceOf: "the scan", Costs: x.prices.Units(0, p.RCU),
			Price: priceOf("export", p.Bytes+x.otherBytes),
		},
		{
			Name: "ImportTable", InPlaceOf: "the puts of the items, into new tables", Costs: puts,
			Price: priceOf("import", p.ItemBytes),
		},
		{Name: "StartBulkPutItems", InPlaceOf: "the puts of the items, into new and empty tables", Costs: puts},
	}
	if x.exported != nil {
		p.Means = p.Means[1:]
	}
}

// updates compares the cost of updates before and after.
func (x *planning) updates() {
	p := x.p
	moved := float64(p.Entities - p.Marked - p.Dead)
	if moved == 0 {
		return
	}
	before := cost.WriteUnits(int((p.Bytes - x.deadBytes) / (moved * p.Scale)))
	n := 0.0
	for name, updates := range x.o.Updates {
		k := p.Kinds[name]
		if k.Items == 0 {
			continue
		}
		n += updates
		p.Before += updates * before
		p.After += updates * cost.WriteUnits(int(k.Bytes/k.Items))
	}
	if n > 0 && p.Before > p.After {
		p.PaidFor = math.Ceil(p.WCU / ((p.Before - p.After) / n))
	}
}

// hiddenNames stands for attributes whose names count as data.
const hiddenNames = "{...}"

// advise lists tasks before the run.
func (x *planning) advise() {
	p := x.p
	add := func(format string, args ...any) { p.Advice = append(p.Advice, fmt.Sprintf(format, args...)) }
	if p.Sampled && p.Of == 0 {
		add("the figures are those of the sample alone: DynamoDB counts items every six hours, and its count " +
			"is smaller than the sample: read all, or try later")
	}
	if x.segments != 0 && x.segments != x.of {
		add("the migration was begun with %d segments: a run takes only -segments %[1]d", x.segments)
	}
	if p.Sampled && p.Marked > 0 {
		add(
			"a sample reads the beginnings of the segments, where a run begins: read all for the part that has not " +
				"moved",
		)
	}
	if p.Entities == 0 && p.Foreign > 0 {
		add("no item has the keys of a monolith: check -key and -sort (migrate.Keys)")
	}
	if p.Dead > 0 {
		add("entities that cannot be moved as they are: %d: fix them, or the model; until then cutover is refused",
			p.Dead)
	}
	n := 0 // of names that are data
	maps.DeleteFunc(p.Unclaimed, func(name string, have int) bool {
		data := !naming.Printable(name) || naming.IsData(name, have, p.Entities-p.Marked)
		if data {
			n++
		}
		return data
	})
	if n > 0 {
		p.Unclaimed[hiddenNames] = n
	}
	if len(p.Unclaimed) > 0 {
		names := slices.SortedFunc(maps.Keys(p.Unclaimed),
			func(a, b string) int { return cmp.Or(cmp.Compare(p.Unclaimed[b], p.Unclaimed[a]), cmp.Compare(a, b)) })
		add("%d of %d monoliths have attributes that no field stores: %s: they stay on the root item, and add to the "+
			"cost of its writes", x.unfit, p.Entities-p.Marked, strings.Join(names[:min(len(names), 10)], ", "))
	}
	for _, t := range x.mover.Tables {
		if names := missing(&x.layout.Layout, t, x.mover.Indexes[t.Name]); names != nil && !x.ofFiles {
			add("the table %s does not have the indexes %s of the model: create them before the run; until then "+
				"their queries find nothing", t.Name, strings.Join(names, ", "))
		}
	}
	if x.layout.TTL != "" {
		add("DynamoDB deletes items of the model that expire as soon as they exist, but not a monolith; a time to " +
			"live of the source's own stays in effect")
	}
	if x.own {
		add("until the contract a load of a whole entity reads its monolith too, which is among its items: up to "+
			"%v RCU more", p.BothRCU)
	}
	add("stop programs with the old layout before their entities move: check that the application alone writes the " +
		"source (CloudWatch, ConsumedWriteCapacityUnits)")
}
