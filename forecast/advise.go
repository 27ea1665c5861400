package forecast

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"

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

// maxWork bounds the work of trying all choices of elements: the number of prices of an operation in a sample. Beyond,
// choices are changed one at a time, with a shorter search for each.
const maxWork = 5_000_000

// work estimates the work of trying all choices of so many lists.
func (m *model) work(lists int) float64 {
	layouts := 0.0
	for n := range lists + 1 { // lists that are split
		tried := 20_000.0 // of a search
		if k := len(m.w.Attributes) - n; k <= maxPartitions && k >= 0 {
			tried = bell[k]
		}
		layouts += choose(lists, n) * tried
	}
	return layouts * float64(len(m.ops)*m.samples)
}

// bell has the numbers of partitions of so many attributes.
var bell = [...]float64{1, 1, 2, 5, 15, 52, 203, 877, 4140, 21147, 115975}

func choose(n, k int) float64 {
	out := 1.0
	for i := range k {
		out = out * float64(n-i) / float64(i+1)
	}
	return out
}

// Advise returns the layout with the lowest price a month. It is optimal for up to 16 attributes if the
// cost of each operation is the sum over its items. If whole-document reads and transactions connect
// items, it is optimal for up to 10. For more attributes it is the best result of a search with
// restarts, with a lower bound for comparison. Items are assumed to be in the order of their first
// attributes, which matters for answers of more than 1 MB. Lists whose elements the workload describes become
// items, element by element, where that costs less: all choices are tried if that takes seconds at most.
func (w Workload) Advise(p Prices) (*Advice, error) {
	if err := errors.Join(w.check(), p.check()); err != nil {
		return nil, err
	}
	m := newModel(w, p)
	a := &Advice{}
	if m.fits(m.all()) {
		today := m.sum([]uint{m.all()})
		today.Layout = w.Monolith()
		a.Today = &today
	}
	var lists uint
	for i, l := range m.lists {
		if l != nil {
			lists |= 1 << i
		}
	}
	tried := map[uint]*Advice{}
	try := func(split uint, find func(*model) *Advice) *Advice {
		if tried[split] == nil {
			tried[split] = find(m.without(split))
		}
		return tried[split]
	}
	all := lists == 0 || m.work(bits.OnesCount(lists)) <= maxWork
	find := (*model).quick
	if all {
		find = (*model).best
	}
	chosen, best := uint(0), try(0, find)
	better := func(split uint) {
		x := try(split, find)
		if best.Best.Layout.Items == nil || x.Best.Layout.Items != nil && x.Best.Total < best.Best.Total {
			chosen, best = split, x
		}
	}
	if all {
		for split := lists; split != 0; split = (split - 1) & lists {
			better(split)
		}
	} else {
		better(lists)
		for before := (*Advice)(nil); before != best; {
			before = best
			for i := range bitsOf(lists) {
				better(chosen ^ 1<<i)
			}
		}
		if x := m.without(chosen).best(); x.Best.Layout.Items != nil {
			tried[chosen], best = x, x
		}
	}
	if best.Best.Layout.Items == nil {
		return nil, errors.New("no layout fits: each has an item over the limit: split attributes, or store them " +
			"elsewhere")
	}
	a.Best, a.Bound, a.Exact = best.Best, math.Inf(1), all
	for _, x := range tried {
		if x.Best.Layout.Items != nil {
			a.Bound, a.Exact = min(a.Bound, x.Bound), a.Exact && x.Exact
		}
	}
	if a.Exact {
		a.Bound = a.Best.Total
	}
	return a, nil
}

// without returns the model of layouts whose items do not have some lists: their elements are items.
func (m *model) without(split uint) *model {
	var l Layout
	for a := range bitsOf(split) {
		l.Elements = append(l.Elements, m.w.Attributes[a].Name)
	}
	return m.of(l)
}

// best returns the best layout of the attributes that are not split. It has no items if none fits.
func (m *model) best() *Advice {
	a := &Advice{}
	var items []uint
	n := bits.OnesCount(m.all())
	switch {
	case n == 0: // the root item needs an attribute
		return a
	case n <= maxSubsets && m.separable():
		items, a.Exact = m.subsets(m.itemCost), true
	case n <= maxPartitions && bell[n]*float64(len(m.ops)*m.samples) <= 4*maxWork:
		items, a.Exact = m.partitions(), true
	default:
		items = m.search()
	}
	if items == nil || math.IsInf(m.price(items), 1) {
		return a
	}
	a.Best = m.named(items)
	a.Bound = a.Best.Total
	if !a.Exact {
		a.Bound = m.bound()
	}
	return a
}

// quick is a shorter search than best, for comparisons.
func (m *model) quick() *Advice {
	a := &Advice{}
	if m.all() == 0 {
		return a
	}
	items, _ := m.climb(m.alike())
	if math.IsInf(m.price(items), 1) {
		return a
	}
	a.Best, a.Bound = m.named(items), m.bound()
	return a
}

// alike returns items with the attributes that all operations use alike.
func (m *model) alike() []uint {
	var items []uint
	at := map[string]int{}
	for a := range bitsOf(m.all()) {
		var use strings.Builder
		for _, op := range m.ops {
			fmt.Fprint(&use, op.writes>>a&1, op.reads>>a&1)
		}
		i, ok := at[use.String()]
		if !ok || !m.fits(items[i]|1<<a) {
			i = len(items)
			items, at[use.String()] = append(items, 0), i
		}
		items[i] |= 1 << a
	}
	return items
}

// rootFirst returns the items with the root item in front. If additions read it, it is the one that costs least to
// read, and of several the one with the most attributes. Otherwise it is the one of the first attribute.
func (m *model) rootFirst(items []uint) []uint {
	items = slices.Clone(items)
	slices.SortFunc(items, func(a, b uint) int { return bits.TrailingZeros(a) - bits.TrailingZeros(b) })
	adds := slices.ContainsFunc(m.ops, func(op modelOp) bool {
		return slices.ContainsFunc(op.elements, func(e elementCost) bool { return e.adds })
	})
	if adds {
		i := 0
		for k := range items {
			by := cmp.Compare(cost.ReadUnits(m.largest(items[k])), cost.ReadUnits(m.largest(items[i])))
			if by < 0 || by == 0 && bits.OnesCount(items[k]) > bits.OnesCount(items[i]) {
				i = k
			}
		}
		root := items[i]
		items = slices.Insert(slices.Delete(items, i, i+1), 0, root)
	}
	return items
}

// separable reports whether the cost of each operation is the sum over its items: no operation reads
// the whole document or several attributes, or writes several items in a transaction.
func (m *model) separable() bool {
	for _, op := range m.ops {
		reads, touched := bits.OnesCount(op.reads&^m.split), 0.0
		for _, e := range op.elements {
			reads, touched = max(reads, e.queries+bits.OnesCount(op.reads&^m.split)), max(touched, e.touched)
		}
		if op.All || reads > 1 || op.Atomic && float64(bits.OnesCount(op.writes&^m.split))+touched > 1 {
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
	total, bytes, entries := 0.0, 0.0, 0.0
	for s := range m.sizes {
		n := m.size(s, set)
		bytes += float64(n)
		for _, op := range m.ops {
			wcu, query := m.entries(&op, s, []uint{set})
			rcu := 0.0
			if set&op.writes != 0 {
				wcu += cost.WriteUnits(n)
			}
			if set&op.reads != 0 {
				rcu += cost.ReadUnits(n)
			}
			total += op.PerMonth * m.p.Units(wcu, rcu*times(op.Strong)+query/2)
		}
		for _, x := range m.w.Indexes {
			if entry, _, _ := m.entry(x, s, []uint{set}); entry > 0 {
				entries, bytes = entries+1, bytes+float64(entry)
			}
		}
	}
	k := float64(len(m.sizes))
	return float64(m.w.Entities) * (total/k + m.p.store(1+entries/k, bytes/k))
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
	items = m.rootFirst(items)
	stored, bytes, _ := m.store(items)
	total := m.p.store(stored, bytes) + m.p.orZero("s3Storage")*m.objectBytes()/gigabyte
	for i := range m.ops {
		if op := &m.ops[i]; op.PerMonth > 0 {
			u := m.once(op, items)
			total += op.PerMonth * (m.p.Units(u.wcu, u.rcu) + m.objects(u.puts, u.gets))
		}
	}
	return total * float64(m.w.Entities)
}

// partitions returns the best of all partitions.
func (m *model) partitions() []uint {
	least, best := math.Inf(1), []uint(nil)
	var place func(i int, items []uint)
	place = func(i int, items []uint) {
		for i < len(m.w.Attributes) && m.split&(1<<i) != 0 {
			i++
		}
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
	for i := range bitsOf(m.all()) {
		single = append(single, 1<<i)
	}
	starts, restarts := [][]uint{single, {m.all()}}, 20
	if len(single) > maxSubsets { // each start takes long
		starts, restarts = [][]uint{m.alike(), {m.all()}}, 2
	}
	r := rand.New(rand.NewPCG(1, 2)) // a fixed seed, so that the advice is always the same
	for range restarts {
		items := make([]uint, 1+r.IntN(len(single)))
		for _, bit := range single {
			items[r.IntN(len(items))] |= bit
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
	total, bytes, stored := 0.0, 0.0, 1.0
	for s := range m.samples {
		elements, n := 0, 0
		for a := range bitsOf(m.split) {
			for _, size := range m.elements(a, s) {
				elements, n = elements+size, n+1
			}
		}
		for _, op := range m.ops {
			e := op.elements[s]
			wcu, rcu := e.write, 0.0
			if writes := op.writes &^ m.split; writes != 0 {
				wcu += cost.WriteUnits(m.size(s, writes))
			}
			reads := op.reads &^ m.split
			switch {
			case op.All:
				rcu = cost.ReadUnits(m.size(s, m.all()) + elements)
			case reads != 0:
				rcu = cost.ReadUnits(m.size(s, reads) + e.bytes)
			case e.queries > 0:
				rcu = cost.ReadUnits(e.bytes)
			}
			total += op.PerMonth * m.p.Units(wcu, rcu*times(op.Strong))
		}
		bytes, stored = bytes+float64(m.size(s, m.all())+elements), stored+float64(n)/float64(m.samples)
	}
	k := float64(m.samples)
	return float64(m.w.Entities) * (total/k + m.p.store(stored, bytes/k))
}

// named returns the forecast of items with their names, the root item first.
func (m *model) named(items []uint) Forecast {
	items = m.rootFirst(items)
	f := m.sum(items)
	f.Layout.Name = "advised"
	for _, set := range items {
		var names []string
		for a := range bitsOf(set) {
			names = append(names, m.w.Attributes[a].Name)
		}
		f.Layout.Items = append(f.Layout.Items, names)
	}
	for a := range bitsOf(m.split) {
		f.Layout.Elements = append(f.Layout.Elements, m.w.Attributes[a].Name)
	}
	return f
}
