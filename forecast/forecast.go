package forecast

import (
	"errors"
	"fmt"
	"math/bits"
	"strconv"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/attr"
	"github.com/itemize/itemize/internal/charge"
)

// Forecast is the cost of a layout in a month.
type Forecast struct {
	Layout Layout `json:"layout"`
	// NotStorable says why DynamoDB cannot store the items of the layout, "" if it can. Such a forecast
	// has no units and prices.
	NotStorable string `json:"notStorable,omitempty"`
	// Items are the mean sizes of the items, in bytes.
	Items []int `json:"items"`
	// Insert is the price of the first write of all entities, in dollars, without transactions.
	Insert float64 `json:"insert"`
	// WCU and RCU are the units of a month, for all entities.
	WCU float64 `json:"wcu"`
	RCU float64 `json:"rcu"`
	// Requests and Storage are prices in dollars, and Total is their sum.
	Requests float64 `json:"requests"`
	Storage  float64 `json:"storage"`
	Total    float64 `json:"total"`
	// Operations are the costs of the operations.
	Operations []OperationCost `json:"operations"`
}

// OperationCost is the cost of an operation, in a month and once.
type OperationCost struct {
	Name string `json:"name"`
	// PerDocument is how often the operation is done to one entity in a month, and Times to all.
	PerDocument float64 `json:"timesPerDocument"`
	Times       float64 `json:"timesInAll"`
	// WCU and RCU are the units of a month, for all entities. OnceWCU and OnceRCU are those of one
	// operation.
	WCU     float64 `json:"wcu"`
	RCU     float64 `json:"rcu"`
	OnceWCU float64 `json:"onceWcu"`
	OnceRCU float64 `json:"onceRcu"`
}

// Forecast returns the monthly cost of layouts, in their order. For a read of several items it uses the
// cheaper of BatchGetItem and a Query of the whole document. A Query has answers of 1 MB, in the order
// of the layout's items. If an item is too large, the layout is not storable, and its forecast says
// why.
func (w Workload) Forecast(p Prices, layouts ...Layout) ([]Forecast, error) {
	if err := errors.Join(w.check(), p.check()); err != nil {
		return nil, err
	}
	m := newModel(w, p)
	var out []Forecast
	for _, l := range layouts {
		if err := w.checkLayout(l); err != nil {
			return nil, err
		}
		out = append(out, m.forecast(l))
	}
	return out, nil
}

// model is a workload with sets of attributes as bits.
type model struct {
	w       Workload
	p       Prices
	sizes   [][]int // by sample, of each attribute
	ops     []modelOp
	index   map[string]int
	perItem int // bytes
}

type modelOp struct {
	Operation
	writes, reads uint
}

func newModel(w Workload, p Prices) *model {
	m := &model{w: w, p: p, index: map[string]int{}, perItem: w.perItem()}
	if m.w.Entities == 0 {
		m.w.Entities = 1
	}
	samples := 1
	for i, a := range w.Attributes {
		m.index[a.Name] = i
		samples = max(samples, len(a.Sizes))
	}
	for s := range samples {
		row := make([]int, len(w.Attributes))
		for i, a := range w.Attributes {
			row[i] = a.Sizes[min(s, len(a.Sizes)-1)]
		}
		m.sizes = append(m.sizes, row)
	}
	for _, op := range w.Operations {
		m.ops = append(m.ops, modelOp{op, m.set(op.Writes), m.set(op.Reads)})
	}
	return m
}

func (m *model) set(names []string) uint {
	var s uint
	for _, n := range names {
		s |= 1 << m.index[n]
	}
	return s
}

// all returns the set of all attributes.
func (m *model) all() uint { return 1<<len(m.w.Attributes) - 1 }

// size returns the size of an item with a set of attributes, in a sample.
func (m *model) size(sample int, set uint) int {
	n := m.perItem
	for s := set; s != 0; s &= s - 1 {
		n += m.sizes[sample][bits.TrailingZeros(s)]
	}
	return n
}

// largest returns the largest size of an item with a set of attributes.
func (m *model) largest(set uint) int {
	most := 0
	for s := range m.sizes {
		most = max(most, m.size(s, set))
	}
	return most
}

// fits reports whether the item fits into 400 KB in every sample.
func (m *model) fits(set uint) bool { return m.largest(set) <= cost.MaxItem }

func times(strong bool) float64 {
	if strong {
		return 1
	}
	return 0.5
}

// once returns the units of one operation on items that are sets of attributes: the mean
// over the samples.
func (m *model) once(op modelOp, items []uint) (wcu, rcu float64) {
	for s := range m.sizes {
		var write, get, touched float64
		var whole charge.Answers
		read := 0
		for _, set := range items {
			n := m.size(s, set)
			whole.Add(n)
			if set&op.writes != 0 {
				write += cost.WriteUnits(n)
				touched++
			}
			if set&op.reads != 0 {
				get += cost.ReadUnits(n)
				read++
			}
		}
		if op.Atomic && touched > 1 {
			write *= 2
		}
		wcu += write
		if query := whole.End(); op.All || read > 1 && query < get {
			get = query
		}
		rcu += get * times(op.Strong)
	}
	n := float64(len(m.sizes))
	return wcu / n, rcu / n
}

func (m *model) forecast(l Layout) Forecast {
	items := make([]uint, len(l.Items))
	for i, names := range l.Items {
		items[i] = m.set(names)
	}
	f := Forecast{Items: m.means(items), Operations: []OperationCost{}}
	if f.NotStorable = m.tooLarge(l, items); f.NotStorable == "" {
		f = m.sum(items)
	}
	f.Layout = l
	return f
}

// tooLarge names an item of a layout that is too large, "" if none is.
func (m *model) tooLarge(l Layout, items []uint) string {
	for i, set := range items {
		if m.fits(set) {
			continue
		}
		names := strconv.Quote(l.Items[i][0])
		if more := len(l.Items[i]) - 1; more > 0 {
			names += fmt.Sprintf(" and %d more", more)
		}
		return fmt.Sprintf("the item with %s has up to %s (limit 400 KB): split it", names,
			attr.Bytes(m.largest(set)))
	}
	return ""
}

// means returns the mean sizes of items, over the samples.
func (m *model) means(items []uint) []int {
	out := make([]int, len(items))
	for i, set := range items {
		for s := range m.sizes {
			out[i] += m.size(s, set)
		}
		out[i] /= len(m.sizes)
	}
	return out
}

// insert returns the WCU of writing the items of one entity: the mean over the samples.
func (m *model) insert(items []uint) float64 {
	wcu := 0.0
	for s := range m.sizes {
		for _, set := range items {
			wcu += cost.WriteUnits(m.size(s, set))
		}
	}
	return wcu / float64(len(m.sizes))
}

// sum returns the forecast of items.
func (m *model) sum(items []uint) Forecast {
	entities := float64(m.w.Entities)
	f := Forecast{Items: m.means(items), Insert: m.p.Units(m.insert(items)*entities, 0)}
	bytes := 0
	for _, n := range f.Items {
		bytes += n
	}
	for _, op := range m.ops {
		wcu, rcu := m.once(op, items)
		n := op.PerMonth * entities
		f.Operations = append(f.Operations, OperationCost{op.Name, op.PerMonth, n, wcu * n, rcu * n, wcu, rcu})
		f.WCU += wcu * n
		f.RCU += rcu * n
	}
	f.Requests = m.p.Units(f.WCU, f.RCU)
	f.Storage = m.p.store(len(items), bytes) * entities
	f.Total = f.Requests + f.Storage
	return f
}

// BreakEven returns the number of months after which the layout of f has cost less than that of g, and
// stays cheaper. Both begin with a first write; 0 means from the start. ok is false if that never
// happens.
func (f Forecast) BreakEven(g Forecast) (months float64, ok bool) {
	more, saved := f.Insert-g.Insert, g.Total-f.Total
	switch {
	case f.NotStorable != "" || g.NotStorable != "" || saved < 0 || more >= 0 && saved == 0:
		return 0, false
	case more <= 0:
		return 0, true
	}
	return more / saved, true
}
