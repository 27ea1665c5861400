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
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/schema"
)

// Plan says how many items a migration moves, and its cost. Its JSON has more: the units by parts, the
// sizes by kinds of items, the prices of a verification and of a rollback, and other ways to do parts
// of it.
type Plan struct {
	// Entities were read: all monoliths, or as many as the sample has, whose sums are scaled.
	Entities int
	// Items is how many items they become.
	Items float64
	// WCU are the units that the run writes, and RCU those that its scan reads. Checkpoints are a WCU
	// or two for each page, and not in it. Price is that of both, in dollars on demand.
	WCU, RCU, Price float64
	// Time is what the run takes at the rate that was given, 0 for none.
	Time time.Duration
	// Dead are entities that cannot be moved: how many, and the first of them.
	Dead        int
	DeadLetters []DeadLetter
	// Before and After are the cost of the stated updates, in WCU a month, in the old layout and in the new.
	Before, After float64
	// Advice is for before the run.
	Advice []string

	full *report.Plan
}

// MarshalJSON returns the plan in full.
func (p *Plan) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		*report.Plan
		DeadLetters []DeadLetter `json:"deadLetters,omitempty"`
	}{p.full, p.DeadLetters})
}

// PlanOptions say what to plan for.
type PlanOptions struct {
	// Sample bounds how many monoliths are read, 0 for all.
	Sample int
	// Rate is the WCU a second that the run may take, for its time.
	Rate float64
	// Updates are how many updates a month change an item of a kind, by the kind's name.
	Updates map[string]float64
}

// OK reports whether nothing stands against the run: there is something to move, and all of it can be.
func (p *Plan) OK() bool { return p.Dead == 0 }

// Plan reads monoliths, and writes nothing.
func (m *Migration) Plan(ctx context.Context, o PlanOptions) (*Plan, error) {
	x := &planning{Migration: m, o: o,
		p: &report.Plan{Of: int(m.approximate), Scale: 1, Kinds: map[string]report.Kind{}, Residue: map[string]int{},
			Unclaimed: map[string]int{}}}
	for name := range o.Updates {
		if !slices.ContainsFunc(m.layout.Items, func(it schema.LayoutItem) bool { return it.Name == name }) {
			var names []string
			for _, it := range m.layout.Items {
				names = append(names, it.Name)
			}
			return nil, fmt.Errorf("%s: updates of %s: no item is named so; the items are %s", m.layout.Model, name,
				strings.Join(names, ", "))
		}
	}
	u, err := m.each(ctx, func(_ context.Context, p read.Page) error { return x.page(p) })
	if err != nil && !errors.Is(err, errEnough) {
		return nil, err
	}
	x.p.RCU += u.Predicted.Expected
	x.end()
	p := x.p
	return &Plan{
		Entities: p.Entities, Items: p.Items, WCU: p.WCU, RCU: p.RCU, Price: p.Price, Time: p.Time,
		Dead: p.Dead, DeadLetters: x.dead, Before: p.Before, After: p.After, Advice: p.Advice, full: p,
	}, nil
}

// errEnough ends a plan of a sample.
var errEnough = errors.New("enough")

// planning is a plan under way.
type planning struct {
	*Migration
	o  PlanOptions
	mu sync.Mutex
	p  *report.Plan
	// dead are the first of the dead letters.
	dead []DeadLetter
	// otherBytes are those of the items that are no monoliths, deadBytes those of dead letters, and
	// reads the units of reading each collection.
	otherBytes, deadBytes, reads float64
}

// page adds a page: errEnough where no more is wanted.
func (x *planning) page(p read.Page) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	all := x.monoliths(p)
	for i := range p.Items {
		x.otherBytes += float64(p.Items[i].Size)
	}
	for _, d := range all {
		x.otherBytes -= float64(d.Size())
	}
	x.p.Foreign += len(p.Items) - len(all)
	for _, d := range all {
		if x.o.Sample > 0 && x.p.Entities >= x.o.Sample {
			x.p.Sampled = true
			return errEnough
		}
		x.add(d)
	}
	return nil
}

// add adds a monolith.
func (x *planning) add(d *protocol.Monolith) {
	p := x.p
	p.Entities++
	if !d.Unmarked() {
		p.Marked++
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
}

// end scales a sample, and says what follows.
func (x *planning) end() {
	p := x.p
	if read := p.Entities + p.Foreign; p.Sampled && read > 0 && p.Of > read {
		p.Scale = float64(p.Of) / float64(read)
		for _, sum := range []*float64{&p.Bytes, &x.otherBytes, &x.deadBytes, &p.Items, &p.ItemBytes, &p.WCU, &p.Parts,
			&p.Marks, &p.Claims, &p.Indexes, &p.Removals, &p.RCU, &p.Back} {
			*sum *= p.Scale
		}
		for name, k := range p.Kinds {
			p.Kinds[name] = report.Kind{Items: k.Items * p.Scale, Bytes: k.Bytes * p.Scale}
		}
	}
	p.Price = x.prices.Units(p.WCU, p.RCU)
	scanned := p.Bytes + x.otherBytes
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

// means says what DynamoDB's own means cost for the same data.
func (x *planning) means() {
	p := x.p
	exported, imported := (p.Bytes+x.otherBytes)*x.prices.Export/(1<<30), p.ItemBytes*x.prices.Import/(1<<30)
	puts := x.prices.Units(p.Parts, 0)
	p.Means = []report.Mean{
		{Name: "ExportTableToPointInTime", InPlaceOf: "the scan", Costs: x.prices.Units(0, p.RCU), Price: &exported},
		{Name: "ImportTable", InPlaceOf: "the puts of the items, into new tables", Costs: puts, Price: &imported},
		{Name: "StartBulkPutItems", InPlaceOf: "the puts of the items, into new and empty tables", Costs: puts},
	}
	if x.exported != nil {
		p.Means = p.Means[1:]
	}
}

// updates compares what updates cost before and after.
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

// advise says what to know before the run.
func (x *planning) advise() {
	p := x.p
	add := func(format string, args ...any) { p.Advice = append(p.Advice, fmt.Sprintf(format, args...)) }
	if p.Dead > 0 {
		add("%d entities cannot be moved as they are: mend them, or the model; they stay monoliths, and the cut-over "+
			"waits for them", p.Dead)
	}
	if len(p.Unclaimed) > 0 {
		names := slices.SortedFunc(maps.Keys(p.Unclaimed),
			func(a, b string) int { return cmp.Or(cmp.Compare(p.Unclaimed[b], p.Unclaimed[a]), cmp.Compare(a, b)) })
		add("no field claims %s: they stay on the root, with its price",
			strings.Join(names[:min(len(names), 10)], ", "))
	}
	for _, t := range x.mover.Tables {
		if names := missing(&x.layout.Layout, t, x.mover.Indexes[t.Name]); names != nil && !x.ofFiles {
			add("the table %s does not have the indexes %s of the model: make them before the run, or their queries "+
				"find nothing until they are made", t.Name, strings.Join(names, ", "))
		}
	}
	if x.layout.TTL != "" {
		add("what the model lets expire is deleted by DynamoDB from the moment that it is an item, and a monolith is " +
			"not: a time to live of the source's own goes on")
	}
	if x.own {
		add("until the contract a load of a whole entity reads its monolith too, which lies among its items: up to "+
			"%v RCU more", p.BothRCU)
	}
	add("a program that knows only the old layout has to be gone before its entities move: watch the source's writes " +
		"(CloudWatch, ConsumedWriteCapacityUnits) for a time without the application")
}
