package forecast

import (
	"errors"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"

	"github.com/itemize/itemize/cost"
)

// Advice is the best layout found for a workload.
type Advice struct {
	Best Forecast `json:"best"`
	// Today is the forecast of the monolith; nil if it is too large for an item.
	Today *Forecast `json:"today,omitempty"`
	// Bound is a price in dollars a month that no layout can beat. Exact reports that the best layout
	// is proven optimal.
	Bound float64 `json:"bound"`
	Exact bool    `json:"exact"`
}

// Limits of the exact searches: by subsets if the cost of a layout is the sum over its items, by all
// partitions otherwise.
const (
	maxSubsets    = 16
	maxPartitions = 10
)

// Advise returns the layout with the lowest price a month. It is optimal for up to 16 attributes if the
// cost of each operation is the sum over its items. If whole-document reads and transactions connect
// items, it is optimal for up to 10. For more attributes it is the best result of a search with
// restarts, with a lower bound for comparison. Items are assumed to be in the order of their first
// attributes, which matters for answers of more than 1 MB.
func (w Workload) Advise(p Prices) (*Advice, error) {
	if err := errors.Join(w.check(), p.check()); err != nil {
		return nil, err
	}
	n := len(w.Attributes)
	m := newModel(w, p)
	a := &Advice{}
	if m.fits(m.all()) {
		today := m.sum([]uint{m.all()})
		today.Layout = w.Monolith()
		a.Today = &today
	}
	var items []uint
	switch {
	case n <= maxSubsets && m.separable():
		items, a.Exact = m.subsets(m.itemCost), true
	case n <= maxPartitions:
		items, a.Exact = m.partitions(), true
	default:
		items = m.search()
	}
	if items == nil {
		return nil, errors.New("no layout fits: each has an item over the limit: split attributes, or store them " +
			"elsewhere") // impossible: each attribute fits an item of its own
	}
	a.Best = m.named(items)
	a.Bound = a.Best.Total
	if !a.Exact {
		a.Bound = m.bound()
	}
	return a, nil
}

// separable reports whether the cost of each operation is the sum over its items: no operation reads
// the whole document or several attributes, or writes several items in a transaction.
func (m *model) separable() bool {
	for _, op := range m.ops {
		if op.All || bits.OnesCount(op.reads) > 1 || op.Atomic && bits.OnesCount(op.writes) > 1 {
			return false
		}
	}
	return true
}

// itemCost returns the price of an item by itself.
func (m *model) itemCost(set uint) float64 {
	if !m.fits(set) {
		return math.Inf(1)
	}
	total, bytes := 0.0, 0.0
	for s := range m.sizes {
		n := m.size(s, set)
		bytes += float64(n)
		for _, op := range m.ops {
			if set&op.writes != 0 {
				total += op.PerMonth * m.p.Units(cost.WriteUnits(n), 0)
			}
			if set&op.reads != 0 {
				total += op.PerMonth * m.p.Units(0, cost.ReadUnits(n)*times(op.Strong))
			}
		}
	}
	k := float64(len(m.sizes))
	return float64(m.w.Entities) * (total/k + m.p.store(1, int(bytes/k)))
}

// subsets returns the partition of the attributes with the lowest sum of item costs, by dynamic
// programming over subsets.
func (m *model) subsets(itemCost func(uint) float64) []uint {
	all := m.all()
	price := make([]float64, all+1)
	for set := uint(1); set <= all; set++ {
		price[set] = itemCost(set)
	}
	best := make([]float64, all+1)
	first := make([]uint, all+1)
	for set := uint(1); set <= all; set++ {
		best[set] = math.Inf(1)
		low := set & -set
		for rest := set ^ low; ; rest = (rest - 1) & (set ^ low) {
			if c := price[rest|low] + best[set^rest^low]; c < best[set] {
				best[set], first[set] = c, rest|low
			}
			if rest == 0 {
				break
			}
		}
	}
	if math.IsInf(best[all], 1) {
		return nil
	}
	var items []uint
	for set := all; set != 0; set ^= first[set] {
		items = append(items, first[set])
	}
	return items
}

// price returns the price of a layout, infinite if an item is too large.
func (m *model) price(items []uint) float64 {
	for _, set := range items {
		if !m.fits(set) {
			return math.Inf(1)
		}
	}
	return m.sum(items).Total
}

// partitions returns the best of all partitions.
func (m *model) partitions() []uint {
	least, best := math.Inf(1), []uint(nil)
	var place func(i int, items []uint)
	place = func(i int, items []uint) {
		if i == len(m.w.Attributes) {
			if c := m.price(items); c < least {
				least, best = c, slices.Clone(items)
			}
			return
		}
		for k := range items {
			items[k] |= 1 << i
			place(i+1, items)
			items[k] &^= 1 << i
		}
		place(i+1, append(items, 1<<i))
	}
	place(0, nil)
	return best
}

// search climbs from several layouts by moving attributes and joining items.
func (m *model) search() []uint {
	var single []uint
	for i := range m.w.Attributes {
		single = append(single, 1<<i)
	}
	starts := [][]uint{single, {m.all()}}
	r := rand.New(rand.NewPCG(1, 2)) // a fixed seed, so that the advice is always the same
	for range 20 {
		items := make([]uint, 1+r.IntN(len(single)))
		for i := range single {
			items[r.IntN(len(items))] |= 1 << i
		}
		starts = append(starts, slices.DeleteFunc(items, func(s uint) bool { return s == 0 }))
	}
	if len(single) <= maxSubsets {
		starts = append(starts, m.subsets(m.itemCost)) // ignores operations that connect items
	}
	least, best := math.Inf(1), single
	for _, s := range starts {
		items, c := m.climb(s)
		if c < least {
			least, best = c, items
		}
	}
	return best
}

func (m *model) climb(items []uint) ([]uint, float64) {
	c := m.price(items)
	for {
		next, least := []uint(nil), c
		try := func(candidate []uint) {
			candidate = slices.DeleteFunc(candidate, func(s uint) bool { return s == 0 })
			if x := m.price(candidate); x < least-1e-15 {
				next, least = candidate, x
			}
		}
		for i := range items {
			for j := range items[:i] {
				joined := slices.Clone(items)
				joined[j], joined[i] = joined[j]|joined[i], 0
				try(joined)
			}
			for s := items[i]; s != 0; s &= s - 1 {
				bit := s & -s
				for j := range len(items) + 1 {
					if j == i {
						continue
					}
					moved := append(slices.Clone(items), 0)
					moved[i] &^= bit
					moved[j] |= bit
					try(moved)
				}
			}
		}
		if next == nil {
			return items, c
		}
		items, c = next, least
	}
}

// bound returns a lower bound of the price: each operation costs at least the units of the bytes that
// it needs, and each write at least one.
func (m *model) bound() float64 {
	total, bytes := 0.0, 0.0
	for s := range m.sizes {
		for _, op := range m.ops {
			var wcu, rcu float64
			if op.writes != 0 {
				wcu = cost.WriteUnits(m.size(s, op.writes))
			}
			reads := op.reads
			if op.All {
				reads = m.all()
			}
			if reads != 0 {
				rcu = cost.ReadUnits(m.size(s, reads)) * times(op.Strong)
			}
			total += op.PerMonth * m.p.Units(wcu, rcu)
		}
		bytes += float64(m.size(s, m.all()))
	}
	k := float64(len(m.sizes))
	return float64(m.w.Entities) * (total/k + m.p.store(1, int(bytes/k)))
}

// named returns the forecast of items with their names, in attribute order.
func (m *model) named(items []uint) Forecast {
	slices.SortFunc(items, func(a, b uint) int { return bits.TrailingZeros(a) - bits.TrailingZeros(b) })
	f := m.sum(items)
	f.Layout.Name = "advised"
	for _, set := range items {
		var names []string
		for i, a := range m.w.Attributes {
			if set&(1<<i) != 0 {
				names = append(names, a.Name)
			}
		}
		f.Layout.Items = append(f.Layout.Items, names)
	}
	return f
}
