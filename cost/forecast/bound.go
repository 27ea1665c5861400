package forecast

import (
	"cmp"
	"container/heap"
	"math"
	"slices"

	"github.com/itemize/itemize/cost"
)

// bounding is a search by branch and bound. A node has a place for the first attributes: an item, or that the elements
// of a list are items. The cost of the placed attributes can only grow with those that follow. So it is a lower bound,
// together with the bytes that each operation still has to write and read.
type bounding struct {
	m *model // with the properties of base; its reads are contiguous
	// base are the properties of all layouts, without items.
	base Layout
	// order are the attributes in the order of their placing: pinned ones and lists first, then those that cost most.
	order []int
	// writes and reads have the bytes of the attributes from a depth on, by operation and sample:
	// [depth][op*samples+sample].
	writes, reads [][]int
	// bytes are those of all attributes from a depth on, by sample.
	bytes [][]int
	// lists are the models in which the elements of one list are items, and models those of other sets of lists.
	lists  map[int]*model
	models map[uint64]*model
	// indexes are prices of the entries of an item's attributes.
	indexes map[uint64]float64
	hashes  uint64

	queue nodes
	// work is the work that was done, and limit that of the search by branch and bound.
	work  int
	limit int
	best  *found
	bound float64
	exact bool
}

// Limits of the search: of its work, in prices of an operation in a sample, of that for the groups of one layout, and
// of the nodes in memory. A price with groups counts as several.
const (
	maxWork      = 400_000_000
	maxClimb     = 150_000_000
	maxPolish    = 60_000_000
	maxGroupWork = 4_000_000
	maxNodes     = 400_000
	groupWork    = 8
	offerWork    = 0
)

// node is a layout of the first attributes.
type node struct {
	bound float64
	// at is the number of the item of each attribute, in their order; -1 for elements that are items.
	at []int8
}

type nodes []node

func (n nodes) Len() int      { return len(n) }
func (n nodes) Swap(i, j int) { n[i], n[j] = n[j], n[i] }
func (n nodes) Less(i, j int) bool {
	return n[i].bound < n[j].bound || n[i].bound == n[j].bound && len(n[i].at) > len(n[j].at)
}
func (n *nodes) Push(x any) { *n = append(*n, x.(node)) }
func (n *nodes) Pop() any {
	last := len(*n) - 1
	x := (*n)[last]
	*n = (*n)[:last]
	return x
}

func newBounding(m *model, base Layout) *bounding {
	raw := *m
	raw.contiguous = true
	m = raw.of(base)
	b := &bounding{
		m: m, base: base, models: map[uint64]*model{}, lists: map[int]*model{}, indexes: map[uint64]float64{},
	}
	weight := make([]float64, len(m.w.Attributes))
	for a := range m.w.Attributes {
		b.order = append(b.order, a)
		for i := range m.ops {
			op := &m.ops[i]
			for s := range m.samples {
				if op.writes>>a&1 != 0 {
					weight[a] += op.PerMonth * m.p.Units(cost.WriteUnits(m.sizes[s][a]), 0)
				}
				if op.reads>>a&1 != 0 {
					weight[a] += op.PerMonth * m.p.Units(0, cost.ReadUnits(m.sizes[s][a]))
				}
			}
		}
		if m.lists[a] != nil {
			l := base
			l.Elements = []string{m.w.Attributes[a].Name}
			b.lists[a] = raw.of(l)
		}
	}
	for _, x := range m.w.Indexes {
		b.hashes |= m.set([]string{cmp.Or(x.In, x.Hash)})
	}
	slices.SortStableFunc(b.order, func(x, y int) int {
		if p := int(m.pinned>>y&1) - int(m.pinned>>x&1); p != 0 {
			return p
		}
		if l := b2i(m.lists[y] != nil) - b2i(m.lists[x] != nil); l != 0 {
			return l
		}
		return cmp.Compare(weight[y], weight[x])
	})
	b.unplaced()
	return b
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// canSplit reports whether the elements of an attribute can be items.
func (b *bounding) canSplit(a int) bool {
	return b.lists[a] != nil && b.m.lists[a].largest <= cost.MaxItem
}

// unplaced sums up the attributes from each depth on. Lists count as nothing: their elements can be items.
func (b *bounding) unplaced() {
	m := b.m
	n, k := len(b.order), len(m.ops)*m.samples
	b.writes, b.reads, b.bytes = make([][]int, n+1), make([][]int, n+1), make([][]int, n+1)
	b.writes[n], b.reads[n], b.bytes[n] = make([]int, k), make([]int, k), make([]int, m.samples)
	for d := n - 1; d >= 0; d-- {
		a := b.order[d]
		b.writes[d], b.reads[d] = slices.Clone(b.writes[d+1]), slices.Clone(b.reads[d+1])
		b.bytes[d] = slices.Clone(b.bytes[d+1])
		if m.lists[a] != nil {
			continue
		}
		for s := range m.samples {
			b.bytes[d][s] += m.sizes[s][a]
			for i := range m.ops {
				op := &m.ops[i]
				b.writes[d][i*m.samples+s] += m.sizes[s][a] * int(op.writes>>a&1)
				b.reads[d][i*m.samples+s] += m.sizes[s][a] * int(op.reads>>a&1)
			}
		}
	}
}

// placed is the cost of a layout of the first attributes.
type placed struct {
	items []uint64
	sizes [][]int // by item and sample
	split uint64
	// The figures of each operation in each sample: units of written items and their bytes, units of elements, written
	// items and elements, and bytes of read items and elements.
	units, bytes, elements, touched, read []int
	adds                                  []bool
	total                                 []int // bytes by sample, of items and elements
	stored                                int   // elements in all samples
}

func (b *bounding) empty() *placed {
	k := len(b.m.ops) * b.m.samples
	room := make([]int, 5*k+b.m.samples)
	return &placed{
		units: room[:k], bytes: room[k : 2*k], elements: room[2*k : 3*k], touched: room[3*k : 4*k],
		read: room[4*k : 5*k], total: room[5*k:], adds: make([]bool, k),
	}
}

// copy makes p a copy of another, whose items stay its own.
func (p *placed) copy(q *placed) {
	p.items = append(p.items[:0], q.items...)
	for i := range q.sizes {
		if i == len(p.sizes) {
			p.sizes = append(p.sizes, nil)
		}
		p.sizes[i] = append(p.sizes[i][:0], q.sizes[i]...)
	}
	p.sizes = p.sizes[:len(q.sizes)]
	copy(p.units, q.units)
	copy(p.bytes, q.bytes)
	copy(p.elements, q.elements)
	copy(p.touched, q.touched)
	copy(p.read, q.read)
	copy(p.adds, q.adds)
	copy(p.total, q.total)
	p.split, p.stored = q.split, q.stored
}

// place adds an attribute to an item, a new one if i is the number of items. It returns false if the item is too large.
func (b *bounding) place(p *placed, a, i int) bool {
	m := b.m
	if i < 0 {
		b.splitOff(p, a)
		return true
	}
	if i == len(p.items) {
		p.items = append(p.items, 0)
		sizes := make([]int, m.samples)
		for s := range sizes {
			sizes[s] = m.perItem
			p.total[s] += m.perItem
		}
		p.sizes = append(p.sizes, sizes)
	}
	was := p.items[i]
	now := was | 1<<a
	p.items[i] = now
	sizes := p.sizes[i]
	for s := range m.samples {
		old := sizes[s]
		size := old + m.sizes[s][a]
		if sizes[s] = size; size > cost.MaxItem {
			return false
		}
		p.total[s] += size - old
		for o := range m.ops {
			op := &m.ops[o]
			k := o*m.samples + s
			if now&op.writes != 0 {
				if was&op.writes != 0 {
					p.units[k] -= int(cost.WriteUnits(old))
					p.bytes[k] -= old
				} else {
					p.touched[k]++
				}
				p.units[k] += int(cost.WriteUnits(size))
				p.bytes[k] += size
			}
			if now&op.reads != 0 {
				if was&op.reads != 0 {
					p.read[k] -= old
				}
				p.read[k] += size
			}
		}
	}
	return true
}

// splitOff makes the elements of a list items.
func (b *bounding) splitOff(p *placed, a int) {
	l := b.lists[a]
	p.split |= 1 << a
	for s := range l.samples {
		for _, n := range l.elements(a, s) {
			p.total[s] += n
			p.stored++
		}
		for o := range l.ops {
			e := &l.ops[o].elements[s]
			k := o*l.samples + s
			p.elements[k] += int(e.write)
			p.touched[k] += int(e.touched)
			for _, r := range e.reads {
				p.read[k] += r.bytes
			}
			p.adds[k] = p.adds[k] || e.adds
		}
	}
}

// lower returns a price that no layout with the placed attributes beats.
func (b *bounding) lower(p *placed, depth int) float64 {
	m := b.m
	write, read := m.p.orZero("write")/1e6, m.p.orZero("read")/1e6
	sum := 0.0
	for o := range m.ops {
		op := &m.ops[o]
		if op.PerMonth == 0 {
			continue
		}
		wcu, rcu := 0.0, 0.0
		for s := range m.samples {
			k := o*m.samples + s
			units := p.units[k]
			if more := b.writes[depth][k]; more > 0 {
				bytes := p.bytes[k] + more
				if p.bytes[k] == 0 {
					bytes += m.perItem
				}
				units = max(units, (bytes+1023)/1024)
			}
			units += p.elements[k]
			if op.Atomic && p.touched[k] > 1 {
				units *= 2
			}
			wcu += float64(units)
			switch bytes := p.read[k] + b.reads[depth][k]; {
			case op.Scan != nil: // below
			case op.All:
				rcu += times(op.Strong) * cost.ReadUnits(p.total[s]+b.bytes[depth][s])
			case bytes > 0:
				rcu += times(op.Strong) * cost.ReadUnits(bytes)
			}
			if p.adds[k] && !op.Atomic { // the root item
				rcu++
			}
		}
		if op.Scan != nil {
			rcu = times(op.Strong) * b.scan(p, depth) * float64(m.samples)
		}
		sum += op.PerMonth * (wcu*write + rcu*read)
	}
	stored := p.stored + len(p.items)*m.samples
	bytes := 0
	for s := range m.samples {
		bytes += p.total[s] + b.bytes[depth][s]
	}
	sum = (sum + m.p.store(float64(stored), float64(bytes))) / float64(m.samples)
	if b.hashes != 0 {
		sum += b.entries(p.items)
	}
	return sum * float64(m.w.Entities)
}

// scan returns the units of a Scan of all documents, for each of them.
func (b *bounding) scan(p *placed, depth int) float64 {
	bytes, n := 0, float64(b.m.w.Entities)
	for s := range b.m.samples {
		bytes += p.total[s] + b.bytes[depth][s]
	}
	return cost.ReadUnits(int(float64(bytes)*n/float64(b.m.samples))) / n
}

// entries returns the price of the entries of items in indexes, at least that of the key attributes.
func (b *bounding) entries(items []uint64) float64 {
	sum, rest := 0.0, b.hashes
	for _, set := range items {
		if set&b.hashes != 0 {
			sum += b.entriesOf(set)
			rest &^= set
		}
	}
	for a := range bitsOf(rest) {
		sum += b.entriesOf(1 << a)
	}
	return sum
}

func (b *bounding) entriesOf(set uint64) float64 {
	if p, ok := b.indexes[set]; ok {
		return p
	}
	m := b.m
	sum, items := 0.0, []uint64{set}
	for s := range m.samples {
		for i := range m.ops {
			wcu, query := m.entries(&m.ops[i], s, items)
			sum += m.ops[i].PerMonth * m.p.Units(wcu, query/2)
		}
		for i := range m.w.Indexes {
			if size, _, _ := m.entry(i, s, items); size > 0 {
				sum += m.p.store(1, float64(size))
			}
		}
	}
	sum /= float64(m.samples)
	b.indexes[set] = sum
	return sum
}

// constant returns the price of requests to S3 and of its storage, which is the same for all layouts.
func (m *model) constant() float64 {
	sum := m.p.orZero("s3Storage") * m.objectBytes() / gigabyte
	for i := range m.ops {
		puts, gets := m.requests(&m.ops[i])
		sum += m.ops[i].PerMonth * m.objects(puts, gets)
	}
	return sum * float64(m.w.Entities)
}

// climbWork bounds the samples for which the local search computes prices: their product with the operations and the
// square of the attributes.
const climbWork = 600_000

// climb finds a first layout by local search, for the choices of lists that change one list at a time.
func (b *bounding) climb() {
	var lists uint64
	for a := range b.lists {
		if b.canSplit(a) {
			lists |= 1 << a
		}
	}
	// many samples take long: the local search is for some of them
	few, n := b, len(b.order)
	work := new(int)
	if most := max(12, climbWork/(n*n*len(b.m.ops))); b.m.samples > most {
		thin := newModel(b.m.w.Thinned(most), b.m.p)
		thin.pinned = b.m.pinned
		few = newBounding(thin, b.base)
	}
	try := func(split uint64, random int) bool {
		m := few.without(split)
		better := false
		if m.all() == 0 {
			return false
		}
		for _, s := range m.starts(random) {
			items, _ := m.climb(s, work)
			better = b.offer(split, items) || better
		}
		return better
	}
	try(lists, 0)
	try(b.m.indexed(), 0)
	for again := true; again; {
		again = false
		for a := range bitsOf(lists &^ b.m.indexed()) {
			if b.best != nil && *work < maxClimb {
				again = try(b.best.split^1<<a, 0) || again
			}
		}
	}
	if b.best != nil {
		try(b.best.split, 2)
	}
	for b.work < maxPolish && b.polish() {
	}
}

// polish tries all changes of one attribute of the best layout, each with its best groups.
func (b *bounding) polish() bool {
	before := b.best
	if before == nil {
		return false
	}
	for i, set := range before.items {
		for a := range bitsOf(set &^ b.m.pinned) {
			for j := range len(before.items) + 1 {
				if b.work > maxPolish {
					return false
				}
				items := append(slices.Clone(before.items), 0)
				items[i] &^= 1 << a
				items[j] |= 1 << a
				b.offer(before.split, slices.DeleteFunc(items, func(s uint64) bool { return s == 0 }))
			}
		}
		for j := range i {
			items := slices.Clone(before.items)
			items[j] |= set
			b.offer(before.split, slices.Delete(items, i, i+1))
		}
	}
	return b.best != before
}

// offer takes a layout if it is the best so far.
func (b *bounding) offer(split uint64, items []uint64) bool {
	m := b.without(split)
	p := m.price(items)
	if math.IsInf(p, 1) || b.best != nil && p >= b.best.price {
		return false
	}
	better, _ := b.complete(m, split, items, offerWork)
	return better
}

// complete takes a layout with its best groups if it is the best so far. exact is false if there may be better groups.
func (b *bounding) complete(m *model, split uint64, items []uint64, most int) (better, exact bool) {
	v := *m
	v.contiguous = false
	work := 0
	v.groups, exact, work = v.grouped(items, most)
	b.work += groupWork*work + len(v.ops)*v.samples*len(items)
	exact = exact && !v.paged(items)
	if p := v.price(items); b.best == nil || p < b.best.price {
		b.best = &found{slices.Clone(items), v.groups, split, p}
		return true, exact
	}
	return false, exact
}

// run searches for the best layout, and a bound of all others.
func (b *bounding) run() {
	b.bound = math.Inf(1)
	constant := b.m.constant()
	b.work = 0
	base, next := b.empty(), b.empty()
	heap.Push(&b.queue, node{bound: b.lower(base, 0) + constant})
	for len(b.queue) > 0 && b.work < b.limit && len(b.queue) < maxNodes {
		n := heap.Pop(&b.queue).(node)
		if b.beaten(n.bound) {
			b.queue = nil
			break
		}
		depth := len(n.at)
		base.copy(b.empty())
		for d, i := range n.at {
			b.place(base, b.order[d], int(i))
		}
		if depth == len(b.order) {
			if len(base.items) == 0 { // the root item needs an attribute
				continue
			}
			if _, exact := b.complete(b.without(base.split), base.split, base.items, maxGroupWork); !exact {
				b.bound = min(b.bound, n.bound)
			}
			continue
		}
		a := b.order[depth]
		for i := range len(base.items) + 2 {
			if i--; i < 0 && !b.canSplit(a) || i > 0 && b.m.pinned>>a&1 != 0 || i >= 0 && b.m.indexed()>>a&1 != 0 {
				continue
			}
			next.copy(base)
			if b.work += len(b.m.ops) * b.m.samples; !b.place(next, a, i) {
				continue
			}
			if p := b.lower(next, depth+1) + constant; !b.beaten(p) {
				heap.Push(&b.queue, node{p, append(slices.Clone(n.at), int8(i))})
			}
		}
	}
	for _, n := range b.queue {
		b.bound = min(b.bound, n.bound)
	}
	if b.best != nil {
		if b.exact = b.beaten(b.bound); b.exact {
			b.bound = b.best.price
		}
	}
}

// beaten reports whether the best layout costs no more than a bound, except for rounding.
func (b *bounding) beaten(bound float64) bool {
	return b.best != nil && bound >= b.best.price*(1-1e-10)
}
