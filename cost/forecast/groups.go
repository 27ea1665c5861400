package forecast

import (
	"maps"
	"math"
	"math/bits"
	"slices"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/advice/charge"
)

// part is a part of a document that an operation can read with one request: an item, the elements of a list, or the
// items of a group.
type part struct {
	set uint64
	// units are those of reading what the operation needs of it; 0 for nothing.
	units float64
}

// read returns the units of a strongly consistent read. The operation reads each item that it needs by its key, and
// each list with a Query. It reads a whole group with one Query instead, if that costs less. The document is the last
// group.
func (m *model) read(op *modelOp, s int, items []uint64) float64 {
	if op.Scan != nil {
		return m.scan(items)
	}
	if op.All {
		return m.query(s, items, m.all()|m.split)
	}
	e := &op.elements[s]
	if m.contiguous {
		return m.readContiguous(op, e, s, items)
	}
	var room [16]part
	parts, needed := room[:0], 0
	for i, set := range items {
		p := part{set: set}
		if set&op.reads != 0 {
			p.units = cost.ReadUnits(m.item(s, items, i))
			needed++
		}
		parts = append(parts, p)
	}
	for a := range bitsOf(m.split) {
		parts = append(parts, part{set: 1 << a})
	}
	for _, r := range e.reads {
		i := slices.IndexFunc(parts, func(p part) bool { return p.set == 1<<r.attribute })
		parts[i].units += r.units
		needed++
	}
	if needed == 0 {
		return 0
	}
	if needed > 1 {
		for _, g := range m.groups {
			parts = m.join(parts, g, s, items)
		}
		parts = m.join(parts, m.all()|m.split, s, items)
	}
	sum := 0.0
	for _, p := range parts {
		sum += p.units
	}
	return sum
}

// join replaces the parts of a group by the group, with the lower price of reading them one by one, or together.
func (m *model) join(parts []part, group uint64, s int, items []uint64) []part {
	separate, n := 0.0, 0
	for _, p := range parts {
		if p.set&group != 0 {
			separate += p.units
			if p.units > 0 {
				n++
			}
		}
	}
	if n > 1 {
		separate = min(separate, m.query(s, items, group))
	}
	parts = slices.DeleteFunc(parts, func(p part) bool { return p.set&group != 0 })
	return append(parts, part{group, separate})
}

// query returns the units of a strongly consistent Query of the items of a group: one for each answer of 1 MB.
func (m *model) query(s int, items []uint64, group uint64) float64 {
	if m.exact == nil {
		bytes := 0
		for i, set := range items {
			if set&group != 0 {
				bytes += m.item(s, items, i)
			}
		}
		for a := range bitsOf(m.split & group) {
			bytes += m.lists[a].bytes[s]
		}
		if bytes < cost.MaxPage {
			return cost.ReadUnits(bytes)
		}
	}
	var all charge.Answers
	for i, set := range items {
		if set&group != 0 {
			all.Add(m.item(s, items, i))
		}
	}
	for a := range bitsOf(m.split & group) {
		for _, n := range m.elements(a, s) {
			all.Add(n)
		}
	}
	return all.End()
}

// readContiguous returns the units of reading exactly what an operation needs, with one Query.
func (m *model) readContiguous(op *modelOp, e *elementCost, s int, items []uint64) float64 {
	bytes, needed := 0, 0
	for i, set := range items {
		if set&op.reads != 0 {
			bytes += m.item(s, items, i)
			needed++
		}
	}
	for _, r := range e.reads {
		bytes += r.bytes
		needed++
	}
	if needed == 0 {
		return 0
	}
	return cost.ReadUnits(bytes)
}

// scan returns the units of a strongly consistent Scan of all documents, for each of them.
func (m *model) scan(items []uint64) float64 {
	bytes := 0
	for s := range m.samples {
		for i := range items {
			bytes += m.item(s, items, i)
		}
		for a := range bitsOf(m.split) {
			if m.exact == nil {
				bytes += m.lists[a].bytes[s]
				continue
			}
			for _, n := range m.elements(a, s) {
				bytes += n
			}
		}
	}
	n := float64(m.w.Entities)
	return cost.ReadUnits(int(math.Ceil(float64(bytes)*n/float64(m.samples)))) / n
}

// paged reports whether a document has more bytes than one answer. Then the order of its items changes the price of a
// Query, and only one order is tried.
func (m *model) paged(items []uint64) bool {
	for s := range m.samples {
		bytes := 0
		for i := range items {
			bytes += m.item(s, items, i)
		}
		for a := range bitsOf(m.split) {
			bytes += m.lists[a].bytes[s]
		}
		if bytes >= cost.MaxPage {
			return true
		}
	}
	return false
}

// grouped returns the groups with the lowest price for items, and whether no others cost less. Each group is a set of
// items and lists that some operations read together. most is the work of trying all groups that may be done, in
// prices of an operation in a sample, and work the work that was done.
func (m *model) grouped(items []uint64, most int) (groups []uint64, exact bool, work int) {
	blocks := slices.Clone(items)
	for a := range bitsOf(m.split) {
		blocks = append(blocks, 1<<a)
	}
	g := &grouping{m: m, items: m.rootFirst(items), blocks: blocks, most: most}
	for i := range m.ops {
		op := &m.ops[i]
		if op.All || op.Scan != nil || op.PerMonth == 0 {
			continue
		}
		var needs uint64
		for k, b := range blocks {
			if b&op.reads != 0 {
				needs |= 1 << k
			}
		}
		if bits.OnesCount64(needs) > 1 && !m.reachesBound(op, g.items) {
			g.ops, g.needs = append(g.ops, op), append(g.needs, needs)
			for s := range m.samples {
				g.bound += op.PerMonth * times(op.Strong) * m.readContiguous(op, &op.elements[s], s, items)
			}
		}
	}
	if len(g.ops) == 0 {
		return nil, true, 0
	}
	g.measure()
	g.find()
	return g.best, !g.ended, g.work
}

// reachesBound reports whether an operation reads for the lowest price without groups.
func (m *model) reachesBound(op *modelOp, items []uint64) bool {
	flat := *m
	flat.groups = nil
	for s := range m.samples {
		if flat.read(op, s, items) > m.readContiguous(op, &op.elements[s], s, items) {
			return false
		}
	}
	return true
}

// grouping is the search for groups. Sets are sets of blocks: of items and lists, by their number.
type grouping struct {
	m      *model
	items  []uint64
	blocks []uint64
	ops    []*modelOp
	needs  []uint64

	// alone are the units of reading what an operation needs of each block, [operation*samples+sample][block], and
	// whole those of a Query of a group, by sample.
	alone [][]float64
	whole map[uint64][]float64

	candidates []uint64
	chosen     []uint64
	// samples are those that a price is for.
	samples    []int
	most, work int
	ended      bool // the search ended before it had tried all
	bound      float64
	least      float64
	best       []uint64
}

// mostBlocks is the number of items and lists of which all sets are candidates for groups, and greedySamples the
// number of samples for which a first choice is made.
const (
	mostBlocks    = 10
	greedySamples = 12
)

// measure computes alone.
func (g *grouping) measure() {
	m := g.m
	g.whole = map[uint64][]float64{}
	for _, op := range g.ops {
		for s := range m.samples {
			units := make([]float64, len(g.blocks))
			for i, set := range g.items {
				if set&op.reads != 0 {
					units[slices.Index(g.blocks, set)] = cost.ReadUnits(m.item(s, g.items, i))
				}
			}
			for _, r := range op.elements[s].reads {
				units[slices.Index(g.blocks, 1<<r.attribute)] += r.units
			}
			g.alone = append(g.alone, units)
		}
	}
}

// query returns the units of a Query of a group, by sample.
func (g *grouping) query(group uint64) []float64 {
	if units, ok := g.whole[group]; ok {
		return units
	}
	set := g.attributes([]uint64{group})[0]
	units := make([]float64, g.m.samples)
	for s := range units {
		units[s] = g.m.query(s, g.items, set)
	}
	g.whole[group] = units
	return units
}

func (g *grouping) find() {
	var used uint64
	for _, n := range g.needs {
		used |= n
	}
	few := bits.OnesCount64(used) <= mostBlocks
	if few {
		for set := used; set != 0; set = (set - 1) & used {
			if g.useful(set) {
				g.candidates = append(g.candidates, set)
			}
		}
		// small groups first, so that a group comes before those that include it
		slices.SortStableFunc(g.candidates, func(a, b uint64) int { return bits.OnesCount64(a) - bits.OnesCount64(b) })
	} else {
		g.candidates = g.simple()
	}
	g.greedy()
	g.samples = g.samples[:0]
	for s := range g.m.samples {
		g.samples = append(g.samples, s)
	}
	g.least = g.price(nil)
	if p := g.price(g.best); p < g.least {
		g.least = p
	} else {
		g.best = nil
	}
	g.best = g.attributes(g.best)
	if g.least <= g.bound*(1+1e-12) {
		return
	}
	if g.ended = !few || g.work >= g.most; !g.ended {
		g.add(0)
	}
}

// useful reports whether a group can save units: operations that read several of its blocks connect all of them.
func (g *grouping) useful(set uint64) bool {
	if bits.OnesCount64(set) < 2 || set == 1<<len(g.blocks)-1 {
		return false
	}
	reached := set & -set
	for before := uint64(0); before != reached; {
		before = reached
		for _, n := range g.needs {
			if n &= set; n&reached != 0 && bits.OnesCount64(n) > 1 {
				reached |= n
			}
		}
	}
	return reached == set
}

// simple returns what operations need, what two of them need together, what both need, and what one needs alone.
func (g *grouping) simple() []uint64 {
	all := map[uint64]bool{}
	for _, a := range g.needs {
		for _, b := range g.needs {
			for _, set := range []uint64{a | b, a & b, a &^ b} {
				if g.useful(set) {
					all[set] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// greedy adds the group that saves most in some samples, again and again.
func (g *grouping) greedy() {
	for i := range min(g.m.samples, greedySamples) {
		g.samples = append(g.samples, i*g.m.samples/min(g.m.samples, greedySamples))
	}
	least := g.price(nil)
	for {
		var next []uint64
		for _, c := range g.candidates {
			if !compatible(g.best, c) {
				continue
			}
			g.work += len(g.ops) * len(g.samples)
			family := append(slices.Clone(g.best), c)
			slices.SortStableFunc(family, func(a, b uint64) int { return bits.OnesCount64(a) - bits.OnesCount64(b) })
			if p := g.price(family); p < least {
				least, next = p, family
			}
		}
		if next == nil {
			return
		}
		g.best = next
	}
}

// compatible reports whether a group includes, or is separate from, each other group.
func compatible(family []uint64, c uint64) bool {
	return !slices.ContainsFunc(family, func(f uint64) bool {
		both := f & c
		return f == c || both != 0 && both != f && both != c
	})
}

// add tries all sets of groups that have the chosen ones, and others from the candidate i on.
func (g *grouping) add(i int) {
	for ; i < len(g.candidates) && !g.ended && g.least > g.bound*(1+1e-12); i++ {
		c := g.candidates[i]
		if !compatible(g.chosen, c) {
			continue
		}
		if g.work += len(g.alone); g.work > g.most {
			g.ended = true
			return
		}
		g.chosen = append(g.chosen, c)
		if p := g.price(g.chosen); p < g.least {
			g.least, g.best = p, g.attributes(g.chosen)
		}
		g.add(i + 1)
		g.chosen = g.chosen[:len(g.chosen)-1]
	}
}

// price returns the price of the reads with groups, each after those that it includes.
func (g *grouping) price(groups []uint64) float64 {
	all := uint64(1)<<len(g.blocks) - 1
	family := append(slices.Clone(groups), all)
	queries := make([][]float64, len(family))
	for i, set := range family {
		queries[i] = g.query(set)
	}
	sum := 0.0
	units := make([]float64, len(g.blocks))
	for o, op := range g.ops {
		once := 0.0
		for _, s := range g.samples {
			copy(units, g.alone[o*g.m.samples+s])
			for i, set := range family {
				separate, n := 0.0, 0
				for k := range bitsOf(set) {
					if units[k] > 0 {
						separate, n = separate+units[k], n+1
						units[k] = 0
					}
				}
				if n > 1 {
					separate = min(separate, queries[i][s])
				}
				units[bits.TrailingZeros64(set)] = separate
			}
			once += units[0]
		}
		sum += op.PerMonth * times(op.Strong) * once
	}
	return sum
}

// attributes returns groups as sets of attributes.
func (g *grouping) attributes(groups []uint64) []uint64 {
	var out []uint64
	for _, set := range groups {
		var all uint64
		for k := range bitsOf(set) {
			all |= g.blocks[k]
		}
		out = append(out, all)
	}
	return out
}
