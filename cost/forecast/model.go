package forecast

import (
	"cmp"
	"iter"
	"maps"
	"math/bits"
	"slices"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/advice/charge"
)

// model is a workload with sets of attributes as bits, and with the properties of a layout other than its items.
type model struct {
	w       Workload
	p       Prices
	samples int
	sizes   [][]int // by sample, of each attribute inside an item
	moved   [][]int // by sample, of each external attribute in S3; nil for none
	lists   []*list
	ops     []modelOp
	index   map[string]int
	perItem int // bytes
	// pinned are attributes that cannot leave the root item.
	pinned uint64
	// split are the attributes whose elements are items, and external those in S3.
	split, external uint64
	// groups are the sets of attributes whose items share a prefix, each before those that include it. contiguous
	// means that all that an operation reads is read by one Query: no layout reads for less.
	groups     []uint64
	contiguous bool
	// exact are known sizes, nil for computed ones. entrySizes are those of the entries in the indexes, by index and
	// sample; nil for computed ones.
	exact      *Sizes
	entrySizes [][]int
	// listIndexes are the indexes of the elements of lists.
	listIndexes []listIndex
}

// list has the sizes of the elements of an attribute, by sample: in an item, and as items of their own. bytes and
// writes are the sums of own, and of their write units. largest is the largest of own.
type list struct {
	inside, own   [][]int
	bytes, writes []int
	largest       int
}

type modelOp struct {
	Operation
	writes, reads uint64
	// previews are external attributes of which it reads only the bytes in the item.
	previews uint64
	// adds, changes, removes and gets are the numbers of elements.
	adds, changes, removes, gets []listCount
	// elements is the cost of elements that are items, by sample.
	elements []elementCost
}

// listCount is a number of elements of the attribute with an index.
type listCount struct{ attribute, n int }

// elementCost is the cost of an operation's elements that are items.
type elementCost struct {
	write, touched float64
	// reads are the reads of lists.
	reads []listRead
	adds  bool
}

// listRead is a read of elements of the attribute with an index: their bytes, and the units of one Query.
type listRead struct {
	attribute, bytes int
	units            float64
}

// units are the costs of one operation: the mean over the samples.
// atomic is wcu as a transaction.
type units struct{ wcu, atomic, index, rcu, puts, gets float64 }

func newModel(w Workload, p Prices) *model {
	m := &model{w: w, p: p, samples: w.Samples(), index: map[string]int{}, perItem: w.perItem()}
	if m.w.Entities == 0 {
		m.w.Entities = 1
	}
	for i, a := range w.Attributes {
		m.index[a.Name] = i
	}
	m.sizes = make([][]int, m.samples)
	for s := range m.samples {
		m.sizes[s] = make([]int, len(w.Attributes))
	}
	m.lists = make([]*list, len(w.Attributes))
	for i, a := range w.Attributes {
		if a.Elements != nil {
			m.lists[i] = a.Elements.list(m.samples, w.perElement())
		}
		for s := range m.samples {
			m.sizes[s][i] = m.inItem(i, s)
		}
	}
	for _, op := range w.Operations {
		m.ops = append(m.ops, modelOp{
			Operation: op, writes: m.set(op.Writes), reads: m.set(op.Reads), adds: m.counts(op.Add),
			changes: m.counts(op.Change), removes: m.counts(op.Remove), gets: m.counts(op.Read),
		})
	}
	m.priceElements()
	return m
}

// inItem returns the size of an attribute inside an item: as measured, or that of its elements.
func (m *model) inItem(i, s int) int {
	a := m.w.Attributes[i]
	if len(a.Sizes) > 0 {
		return at(a.Sizes, s)
	}
	n := len(a.Name) + 3
	for _, e := range m.lists[i].inside[s] {
		n += e
	}
	return n
}

// list computes the sizes of elements. A map or list has 3 bytes, and 1 for each entry (Developer Guide, "DynamoDB
// item sizes and formats").
func (e *Elements) list(samples, perItem int) *list {
	l := &list{
		inside: make([][]int, samples), own: make([][]int, samples), bytes: make([]int, samples),
		writes: make([]int, samples),
	}
	k := 0
	for s := range samples {
		for range at(e.Counts, s) {
			inside, own := 1, perItem
			if len(e.Keys) > 0 {
				key := e.Keys[k%len(e.Keys)]
				inside, own = inside+key, own+key
			}
			if len(e.Attributes) == 0 {
				n := e.Sizes[k%len(e.Sizes)]
				inside, own = inside+n, own+n
			} else {
				inside += 3
			}
			for _, a := range e.Attributes {
				if n := a.Sizes[k%len(a.Sizes)]; n > 0 {
					inside, own = inside+1+n, own+n
				}
			}
			l.inside[s], l.own[s] = append(l.inside[s], inside), append(l.own[s], own)
			l.bytes[s], l.writes[s] = l.bytes[s]+own, l.writes[s]+int(cost.WriteUnits(own))
			l.largest = max(l.largest, own)
			k++
		}
	}
	return l
}

// at returns the value of a sample, from one value for all or one for each.
func at(values []int, s int) int { return values[min(s, len(values)-1)] }

func (m *model) counts(of map[string]int) []listCount {
	var out []listCount
	for _, name := range slices.Sorted(maps.Keys(of)) {
		out = append(out, listCount{m.index[name], of[name]})
	}
	return out
}

// pointerSize is the size in bytes of the value that an item has in place of an object in S3, approximately: see
// docs/format.md.
const pointerSize = 150

// of returns the model of a layout.
func (m *model) of(l Layout) *model {
	n := *m
	n.split, n.exact, n.external = m.set(l.Elements), l.Sizes, m.set(l.External)
	compressed := m.set(l.Compress)
	if compressed|n.external != 0 {
		n.sizes, n.moved = make([][]int, m.samples), make([][]int, m.samples)
		for s := range m.samples {
			n.sizes[s], n.moved[s] = slices.Clone(m.sizes[s]), make([]int, len(m.sizes[s]))
			for a := range bitsOf(compressed) {
				n.sizes[s][a] = at(m.w.Attributes[a].Compressed, s)
			}
			for a := range bitsOf(n.external) {
				if n.sizes[s][a] > 0 {
					n.moved[s][a] = n.sizes[s][a]
					n.sizes[s][a] = len(m.w.Attributes[a].Name) + pointerSize + l.Preview[m.w.Attributes[a].Name]
				}
			}
		}
	}
	n.indexesOf(l)
	n.ops = slices.Clone(m.ops)
	n.priceElements()
	for i := range n.ops {
		op := &n.ops[i]
		op.previews = 0
		for name, bytes := range op.Preview {
			if bytes <= l.Preview[name] && !slices.Contains(op.Reads, name) && !op.All {
				op.previews |= n.external & n.set([]string{name})
			}
		}
	}
	n.groups = nil
	for _, names := range l.Groups {
		n.groups = append(n.groups, m.set(names)&n.split|n.whole(m.set(names), l.Items))
	}
	slices.SortStableFunc(n.groups, func(a, b uint64) int { return bits.OnesCount64(a) - bits.OnesCount64(b) })
	return &n
}

// whole returns the attributes of all items of which a set has one.
func (m *model) whole(set uint64, items [][]string) (all uint64) {
	for _, names := range items {
		if of := m.set(names); of&set != 0 {
			all |= of
		}
	}
	return all
}

// bitsOf returns the attributes of a set.
func bitsOf(set uint64) iter.Seq[int] {
	return func(yield func(int) bool) {
		for ; set != 0; set &= set - 1 {
			if !yield(bits.TrailingZeros64(set)) {
				return
			}
		}
	}
}

func (m *model) set(names []string) uint64 {
	var s uint64
	for _, n := range names {
		s |= 1 << m.index[n]
	}
	return s
}

// all returns the set of all attributes that share items.
func (m *model) all() uint64 { return (1<<len(m.w.Attributes) - 1) &^ m.split }

// size returns the size of an item with a set of attributes, in a sample.
func (m *model) size(sample int, set uint64) int {
	n := m.perItem
	for s := set; s != 0; s &= s - 1 {
		n += m.sizes[sample][bits.TrailingZeros64(s)]
	}
	return n
}

// item returns the size of an item of a layout, in a sample: 0 if it does not exist.
func (m *model) item(sample int, items []uint64, i int) int {
	if m.exact != nil {
		return at(m.exact.Items[i], sample)
	}
	return m.size(sample, items[i])
}

// elements returns the sizes of the elements of an attribute that are items, in a sample.
func (m *model) elements(a, sample int) []int {
	if m.exact != nil {
		return m.exact.Elements[m.w.Attributes[a].Name][sample]
	}
	return m.lists[a].own[sample]
}

// largest returns the largest size of an item with a set of attributes.
func (m *model) largest(set uint64) int {
	most := 0
	for s := range m.sizes {
		most = max(most, m.size(s, set))
	}
	return most
}

// fits reports whether the item fits into 400 KB in every sample.
func (m *model) fits(set uint64) bool { return m.largest(set) <= cost.MaxItem }

func times(strong bool) float64 {
	if strong {
		return 1
	}
	return 0.5
}

// priceElements computes the costs of elements that are items, and adds the attributes of the other elements to those
// that an operation writes or reads.
func (m *model) priceElements() {
	for i := range m.ops {
		op := &m.ops[i]
		op.writes, op.reads = m.set(op.Writes), m.set(op.Reads)
		op.elements = make([]elementCost, m.samples)
		for _, all := range [][]listCount{op.adds, op.changes, op.removes} {
			for _, c := range all {
				op.writes |= 1 << c.attribute
			}
		}
		for _, c := range op.gets {
			op.reads |= 1 << c.attribute
		}
		for name := range op.Preview {
			op.reads |= 1 << m.index[name]
		}
		for s := range m.samples {
			op.elements[s] = m.elementCost(op, s)
		}
	}
}

// elementCost computes the cost of an operation's elements that are items, in a sample.
func (m *model) elementCost(op *modelOp, s int) elementCost {
	var c elementCost
	write := func(sizes []int) {
		for _, n := range sizes {
			c.write += cost.WriteUnits(n)
			c.touched++
		}
	}
	read := func(a int, sizes []int, backward bool) {
		bytes := 0
		var answers charge.Answers
		for i := range sizes {
			n := sizes[i]
			if backward {
				n = sizes[len(sizes)-1-i]
			}
			bytes += n
			answers.Add(n)
		}
		c.reads = append(c.reads, listRead{a, bytes, answers.End()})
	}
	last := func(sizes []int, n int) []int { return sizes[len(sizes)-min(n, len(sizes)):] }
	for a := range bitsOf(m.set(op.Writes) & m.split) {
		write(m.elements(a, s))
	}
	for a := range bitsOf(m.set(op.Reads) & m.split) {
		read(a, m.elements(a, s), false)
	}
	for k, all := range [][]listCount{op.adds, op.changes, op.removes, op.gets} {
		for _, l := range all {
			if m.split&(1<<l.attribute) == 0 {
				continue
			}
			sizes := m.elements(l.attribute, s)
			switch k {
			case 2:
				write(sizes[:min(l.n, len(sizes))])
			case 3:
				if m.set(op.Reads)>>l.attribute&1 == 0 { // otherwise all are read
					read(l.attribute, last(sizes, l.n), true)
				}
			default:
				write(last(sizes, l.n))
				c.adds = c.adds || k == 0 && len(sizes) > 0
			}
		}
	}
	return c
}

// once returns the units of one operation on items that are sets of attributes. The first item is the root.
func (m *model) once(op *modelOp, items []uint64) units {
	var u units
	for s := range m.samples {
		e := op.elements[s]
		write, touched := e.write, e.touched
		for i, set := range items {
			if n := m.item(s, items, i); set&op.writes != 0 && n > 0 {
				write += cost.WriteUnits(n)
				touched++
			}
		}
		atomic := write
		if touched > 1 {
			atomic *= 2
		}
		if guards := m.guards(op, s, items); guards > 0 { // a transaction of the item and its guards
			write, atomic = write+guards, max(atomic, write+guards)
		}
		if op.Atomic {
			write = atomic
		}
		index, query := m.entries(op, s, items)
		get := m.read(op, s, items)*times(op.Strong) + query/2 // an index is read eventually consistent
		if checked := op.Atomic && touched > 1 && items[0]&op.writes != 0; e.adds && !checked {
			get += cost.ReadUnits(m.item(s, items, 0))
		}
		u.wcu, u.index, u.rcu = u.wcu+write+index, u.index+index, u.rcu+get
		u.atomic += atomic + index
	}
	n := float64(m.samples)
	u.wcu, u.atomic, u.index, u.rcu = u.wcu/n, u.atomic/n, u.index/n, u.rcu/n
	u.puts, u.gets = m.requests(op)
	return u
}

// guards returns the WCU by which an operation is more expensive because it changes unique values: the item in a
// transaction, and for each value the guards of the old value and of the new one.
func (m *model) guards(op *modelOp, s int, items []uint64) (wcu float64) {
	changed := uint64(0)
	for _, names := range m.w.Unique {
		if set := m.set(names); set&op.writes != 0 {
			changed |= set
			wcu += 4
		}
	}
	for i, set := range items {
		if n := m.item(s, items, i); set&op.writes&changed != 0 && n > 0 {
			wcu += cost.WriteUnits(n)
		}
	}
	return wcu
}

// guarded adds the guards of a sample of the document.
func (m *model) guarded(s int, add func(bytes int)) {
	for _, names := range m.w.Unique {
		n := 2 * m.perItem // the keys of the guard, and that of the document
		for i := range bitsOf(m.set(names)) {
			n += m.sizes[s][i]
		}
		add(n)
	}
}

// requests returns the requests of an operation to S3.
func (m *model) requests(op *modelOp) (puts, gets float64) {
	read := op.reads & m.external &^ op.previews
	if op.All {
		read = m.external
	}
	return float64(bits.OnesCount64(op.writes & m.external)), float64(bits.OnesCount64(read))
}

// entries returns the WCU of an operation in indexes, and the RCU of its queries of indexes.
func (m *model) entries(op *modelOp, s int, items []uint64) (wcu, rcu float64) {
	for i, x := range m.w.Indexes {
		size, item, projected := m.entry(i, s, items)
		if item == 0 {
			continue
		}
		if n, ok := op.Query[x.Name]; ok && !x.NotQueried {
			rcu += cost.ReadUnits(n * size)
		}
		if size == 0 {
			continue
		}
		switch {
		case op.writes&m.set(keysOf(x)) != 0:
			wcu += 2 * cost.WriteUnits(size)
		case op.writes&projected != 0, x.All && op.writes&item != 0:
			wcu += cost.WriteUnits(size)
		}
	}
	return wcu, rcu
}

// keysOf returns the key attributes of an index.
func keysOf(x Index) []string {
	keys := slices.Clone(x.Keys)
	for _, name := range []string{x.Hash, x.Range} {
		if name != "" {
			keys = append(keys, name)
		}
	}
	return keys
}

// entry returns the size of an entry in an index, 0 for none, the attributes of its item, and those of the entry.
func (m *model) entry(number, s int, items []uint64) (size int, item, projected uint64) {
	x := m.w.Indexes[number]
	for i, set := range items {
		if set&m.set([]string{cmp.Or(x.In, x.Hash)}) == 0 {
			continue
		}
		if projected = m.set(append(keysOf(x), x.Attributes...)) & set; x.All {
			projected = set
		}
		for a := range bitsOf(m.set(keysOf(x))) {
			if m.sizes[s][a] == 0 {
				return 0, set, projected
			}
		}
		switch {
		case m.entrySizes != nil:
			size = at(m.entrySizes[number], s)
		case x.All:
			size = m.item(s, items, i)
		default:
			size = m.size(s, projected)
		}
		return size, set, projected
	}
	return 0, 0, 0
}

// store returns the number of items and entries of one document, their bytes, and the WCU of writing them: the means
// over the samples.
func (m *model) store(items []uint64) (stored, bytes, wcu float64) {
	add := func(n int) {
		if n > 0 {
			stored, bytes, wcu = stored+1, bytes+float64(n), wcu+cost.WriteUnits(n)
		}
	}
	for s := range m.samples {
		for i := range items {
			add(m.item(s, items, i))
		}
		for a := range bitsOf(m.split) {
			if l := m.lists[a]; m.exact == nil {
				stored, bytes = stored+float64(len(l.own[s])), bytes+float64(l.bytes[s])
				wcu += float64(l.writes[s])
				continue
			}
			for _, n := range m.elements(a, s) {
				add(n)
			}
		}
		for i := range m.w.Indexes {
			size, _, _ := m.entry(i, s, items)
			add(size)
		}
		m.guarded(s, func(bytes int) {
			add(bytes)
			wcu += cost.WriteUnits(bytes) // in a transaction with the first item
		})
		if len(m.w.Unique) > 0 {
			wcu += cost.WriteUnits(m.item(s, items, 0))
		}
	}
	n := float64(m.samples)
	return stored / n, bytes / n, wcu / n
}

// entryBytes returns the bytes of one document in indexes, with those that DynamoDB adds: the mean over the samples.
func (m *model) entryBytes(items []uint64) float64 {
	n := 0
	for s := range m.samples {
		for i := range m.w.Indexes {
			if size, _, _ := m.entry(i, s, items); size > 0 {
				n += size + itemOverhead
			}
		}
	}
	return float64(n) / float64(m.samples)
}

// objectBytes returns the bytes of one document in S3: the mean over the samples.
func (m *model) objectBytes() float64 {
	n := 0
	for _, all := range m.moved {
		for _, size := range all {
			n += size
		}
	}
	return float64(n) / float64(m.samples)
}
