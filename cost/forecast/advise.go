package forecast

import (
	"errors"
	"math"
	"math/bits"
	"slices"

	"github.com/itemize/itemize/cost"
)

// Advice is the best layout found for a workload, and the way to it.
type Advice struct {
	Best Forecast `json:"best"`
	// Today is the forecast of the present layout.
	Today Forecast `json:"today"`
	// Bound is a price in dollars a month that no layout can beat. Exact reports that the best layout
	// is proven optimal.
	Bound float64 `json:"bound"`
	Exact bool    `json:"exact"`
	// Overhead and ElementOverhead are those of the workload, or those of the exact sizes of the present layout.
	Overhead        int `json:"overhead,omitempty"`
	ElementOverhead int `json:"elementOverhead,omitempty"`
	// Once is the price in dollars of rewriting all stored entities from the present to the best layout.
	Once float64 `json:"once"`
	// Changes lead from the present to the best layout; each is the one that saves most after those before it. Changes
	// that are not Included follow: they save something at another price than dollars, which only the caller can weigh.
	Changes []Change `json:"changes"`
}

// Advise returns the layout with the lowest price a month, and the changes that lead from the present layout to it.
//
// The layout has items of attributes, lists whose elements are items, groups of items whose sort keys share a prefix,
// and a root item. It is proven optimal if the search ends before its limit. Otherwise Bound says how much a better
// layout could save at most. The result depends only on the workload, the prices and the present layout.
//
// Attributes that no item can hold are stored in S3. If the present layout has exact sizes, the overheads of the
// workload are computed from them.
func (w Workload) Advise(p Prices, present Layout) (*Advice, error) {
	return w.AdviseBounded(p, present, maxWork)
}

// AdviseBounded is Advise with a search that ends after some work: the number of prices of an operation in a sample
// that it computes. A second computes about 15,000,000 of them; Advise computes up to 400,000,000.
func (w Workload) AdviseBounded(p Prices, present Layout, work int) (*Advice, error) {
	if err := errors.Join(w.Check(present), p.Check()); err != nil {
		return nil, err
	}
	if err := w.checkLayout(present); err != nil {
		return nil, err
	}
	today := newModel(w, p).of(present)
	exact := today.forecast(present)
	if present.Indexes != nil {
		w.Indexes = slices.DeleteFunc(slices.Clone(present.Indexes), func(x Index) bool {
			return x.List != "" || x.Hash == ""
		})
	}
	if present.Sizes != nil {
		w.Overhead, w.ElementOverhead = newModel(w, p).overheadOf(present)
	}
	present.Sizes, present.Indexes = nil, nil
	m := newModel(w, p)
	m.listIndexes = today.listIndexes
	m.pinned = pinnedBy(m, present)
	base := Layout{Compress: present.Compress, External: present.External, Preview: present.Preview}
	for _, name := range m.of(base).tooLargeAlone() {
		base.External = append(slices.Clone(base.External), name)
	}
	b := newBounding(m, base)
	b.limit = work
	b.climb()
	b.run()
	if b.best == nil {
		return nil, errors.New("no layout fits: each has an item over the limit: split attributes, or describe the " +
			"elements of lists")
	}
	v := b.without(b.best.split)
	v.contiguous, v.groups = false, b.best.groups
	a := &Advice{
		Today: exact, Best: v.named(b.best.items), Exact: b.exact, Overhead: w.Overhead,
		ElementOverhead: w.ElementOverhead,
	}
	a.Best.Layout = a.Best.Layout.with(base)
	if exact.NotStorable == "" && exact.Total <= a.Best.Total { // sizes of a model are better than means
		a.Best, a.Exact = exact, a.Exact && exact.Total == a.Best.Total
		a.Best.Layout.Name = "advised"
		a.Bound = min(b.bound+m.listPrice(), exact.Total)
		a.Changes = m.optional(a.Best, a.Best.Layout.tags())
		return a, nil
	}
	a.Bound = min(b.bound+m.listPrice(), a.Best.Total)
	from, to := numbered(m, present, a.Best.Layout)
	r := &route{m: m, model: present.Fields != nil, from: from, to: to, base: base}
	if r.model {
		a.Best.Layout.Fields = r.fields(present, a.Best.Layout)
	}
	r.tags = a.Best.Layout.tags()
	a.Changes = slices.Concat(r.changes(), m.optional(a.Best, r.tags))
	a.Once = m.rewrite(present, a.Best.Layout)
	return a, nil
}

// with returns the layout with compressed and external attributes, of those that share items.
func (l Layout) with(base Layout) Layout {
	some := func(names []string) (out []string) {
		for _, n := range names {
			if !slices.Contains(l.Elements, n) {
				out = append(out, n)
			}
		}
		return out
	}
	l.Compress, l.External, l.Preview = some(base.Compress), some(base.External), base.Preview
	return l
}

// pinnedBy returns the attributes that cannot leave the root item of a model.
func pinnedBy(m *model, l Layout) (set uint64) {
	for i, a := range m.w.Attributes {
		if l.Fields[a.Name].Pinned && m.lists[i] == nil {
			set |= 1 << i
		}
	}
	return set
}

// overheadOf returns the mean overheads of items and of elements, in a layout with exact sizes, in bytes.
func (m *model) overheadOf(l Layout) (item, element int) {
	v := m.of(l)
	bytes, n := 0, 0
	for s := range m.samples {
		for i, names := range l.Items {
			if size := at(l.Sizes.Items[i], s); size > 0 {
				bytes, n = bytes+size-(v.size(s, m.set(names))-m.perItem), n+1
			}
		}
	}
	item = max(1, bytes/max(1, n))
	bytes, n = 0, 0
	for a := range bitsOf(v.split) {
		for s, sizes := range l.Sizes.Elements[m.w.Attributes[a].Name] {
			for k, size := range sizes {
				if own := m.lists[a].own[s]; k < len(own) {
					bytes, n = bytes+size-(own[k]-m.w.perElement()), n+1
				}
			}
		}
	}
	if n == 0 {
		return item, item
	}
	return item, max(1, bytes/n)
}

// without returns the model of layouts whose items do not have some lists: their elements are items.
func (b *bounding) without(split uint64) *model {
	if m := b.models[split]; m != nil {
		return m
	}
	m := *b.m
	m.split, m.ops = split, slices.Clone(b.m.ops)
	for i := range m.ops {
		op := &m.ops[i]
		op.elements = make([]elementCost, m.samples)
		for a := range bitsOf(split) {
			of := b.lists[a].ops[i].elements
			for s := range op.elements {
				e := &op.elements[s]
				e.write, e.touched = e.write+of[s].write, e.touched+of[s].touched
				e.reads, e.adds = append(e.reads, of[s].reads...), e.adds || of[s].adds
			}
		}
	}
	if len(b.models) > 1000 {
		clear(b.models)
	}
	b.models[split] = &m
	return &m
}

// named returns the forecast of items with their names, the root item first.
func (m *model) named(items []uint64) Forecast {
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
	f.Layout.Groups = m.groupNames(items)
	return f
}

// groupNames returns the groups, with the first attribute of each item and with lists.
func (m *model) groupNames(items []uint64) [][]string {
	var out [][]string
	for _, g := range m.groups {
		var names []string
		for _, set := range append(slices.Clone(items), g&m.split) {
			if set &= g; set != 0 && set&m.split == 0 {
				set = 1 << m.exampleOf(set)
			}
			for a := range bitsOf(set) {
				names = append(names, m.w.Attributes[a].Name)
			}
		}
		out = append(out, names)
	}
	return out
}

// exampleOf returns an attribute of an item, one that an operation reads if it has one.
func (m *model) exampleOf(set uint64) int {
	for a := range bitsOf(set) {
		if slices.ContainsFunc(m.ops, func(op modelOp) bool { return op.reads>>a&1 != 0 }) {
			return a
		}
	}
	return bits.TrailingZeros64(set)
}

// rootFirst returns the items with the root item in front. If additions read it, it is the one for which these reads
// cost least, and of several the one with the most attributes. Otherwise it is the one of the first attribute. Pinned
// attributes are in the root item.
func (m *model) rootFirst(items []uint64) []uint64 {
	items = slices.Clone(items)
	slices.SortFunc(items, func(a, b uint64) int {
		if m.pinned&(a|b) != 0 {
			return b2i(m.pinned&b != 0) - b2i(m.pinned&a != 0)
		}
		return bits.TrailingZeros64(a) - bits.TrailingZeros64(b)
	})
	if m.pinned != 0 || !m.adds() {
		return items
	}
	i, least := 0, math.Inf(1)
	for k, set := range items {
		c := m.rootReads(items, k)
		if c < least || c == least && bits.OnesCount64(set) > bits.OnesCount64(items[i]) {
			i, least = k, c
		}
	}
	root := items[i]
	return slices.Insert(slices.Delete(items, i, i+1), 0, root)
}

// adds reports whether an operation adds elements that are items.
func (m *model) adds() bool {
	return slices.ContainsFunc(m.ops, func(op modelOp) bool {
		return slices.ContainsFunc(op.elements, func(e elementCost) bool { return e.adds })
	})
}

// rootReads returns the units of a month for reading the item k, if it is the root item, after additions.
func (m *model) rootReads(items []uint64, k int) float64 {
	sum := 0.0
	for i := range m.ops {
		op := &m.ops[i]
		for s, e := range op.elements {
			if !e.adds {
				continue
			}
			touched := e.touched
			for j, set := range items {
				if set&op.writes != 0 && m.item(s, items, j) > 0 {
					touched++
				}
			}
			if !op.Atomic || touched < 2 || items[k]&op.writes == 0 {
				sum += op.PerMonth * cost.ReadUnits(m.item(s, items, k))
			}
		}
	}
	return sum
}
