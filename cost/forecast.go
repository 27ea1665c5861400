package cost

import (
	"fmt"
	"math/bits"
)

// Forecast is what a layout costs in a month.
type Forecast struct {
	Layout Layout `json:"layout"`
	// Items are the mean sizes of the layout's items, in bytes.
	Items []int `json:"items"`
	// WCU and RCU are the units of a month, of all entities.
	WCU float64 `json:"wcu"`
	RCU float64 `json:"rcu"`
	// Requests and Storage are their prices in dollars, and Total the sum.
	Requests float64 `json:"requests"`
	Storage  float64 `json:"storage"`
	Total    float64 `json:"total"`
	// Operations are the parts of the single operations.
	Operations []OperationCost `json:"operations"`
}

// OperationCost is what an operation costs in a month, and once.
type OperationCost struct {
	Name    string  `json:"name"`
	WCU     float64 `json:"wcu"`
	RCU     float64 `json:"rcu"`
	OnceWCU float64 `json:"onceWcu"`
	OnceRCU float64 `json:"onceRcu"`
}

// Forecast returns what layouts cost in a month, in their order. Of a read of several
// items it takes the cheaper of BatchGetItem and a Query of the whole.
func (w Workload) Forecast(p Prices, layouts ...Layout) ([]Forecast, error) {
	if err := w.Check(); err != nil {
		return nil, err
	}
	m := newModel(w, p)
	var out []Forecast
	for _, l := range layouts {
		if err := w.checkLayout(l); err != nil {
			return nil, err
		}
		f, err := m.forecast(l)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
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
	m := &model{w: w, p: p, index: map[string]int{}, perItem: w.Overhead}
	if m.perItem == 0 {
		m.perItem = defaultOverhead
	}
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

// all is the set of all attributes.
func (m *model) all() uint { return 1<<len(m.w.Attributes) - 1 }

// size returns the size of an item with a set of attributes, in a sample.
func (m *model) size(sample int, set uint) int {
	n := m.perItem
	for s := set; s != 0; s &= s - 1 {
		n += m.sizes[sample][bits.TrailingZeros(s)]
	}
	return n
}

// fits reports whether an item is within the limit in every sample.
func (m *model) fits(set uint) bool {
	for s := range m.sizes {
		if m.size(s, set) > MaxItem {
			return false
		}
	}
	return true
}

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
		whole, read := 0, 0
		for _, set := range items {
			n := m.size(s, set)
			whole += n
			if set&op.writes != 0 {
				write += WriteUnits(n)
				touched++
			}
			if set&op.reads != 0 {
				get += ReadUnits(n)
				read++
			}
		}
		if op.Atomic && touched > 1 {
			write *= 2
		}
		wcu += write
		query, _ := Pages(Strong, whole)
		if op.All || read > 1 && query.Min < get {
			get = query.Min
		}
		rcu += get * times(op.Strong)
	}
	n := float64(len(m.sizes))
	return wcu / n, rcu / n
}

func (m *model) forecast(l Layout) (Forecast, error) {
	items := make([]uint, len(l.Items))
	for i, names := range l.Items {
		items[i] = m.set(names)
		if !m.fits(items[i]) {
			return Forecast{}, fmt.Errorf("the layout %q has an item over the limit of %d bytes, with %v: split it", l.Name, MaxItem, names)
		}
	}
	f := m.sum(items)
	f.Layout = l
	return f, nil
}

// sum returns the forecast of items.
func (m *model) sum(items []uint) Forecast {
	var f Forecast
	bytes := 0
	for _, set := range items {
		n := 0
		for s := range m.sizes {
			n += m.size(s, set)
		}
		f.Items = append(f.Items, n/len(m.sizes))
		bytes += n / len(m.sizes)
	}
	for _, op := range m.ops {
		wcu, rcu := m.once(op, items)
		n := op.PerMonth * float64(m.w.Entities)
		f.Operations = append(f.Operations, OperationCost{op.Name, wcu * n, rcu * n, wcu, rcu})
		f.WCU += wcu * n
		f.RCU += rcu * n
	}
	f.Requests = m.p.Units(f.WCU, f.RCU)
	f.Storage = m.p.Store(len(items)*m.w.Entities, bytes*m.w.Entities)
	f.Total = f.Requests + f.Storage
	return f
}
