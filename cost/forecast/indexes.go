package forecast

import (
	"slices"

	"github.com/itemize/itemize/cost"
)

// listIndex is an index of the elements of the list with an attribute. sizes are those of its entries, by sample and
// element.
type listIndex struct {
	Index
	attribute int
	sizes     [][]int
}

// indexesOf sets the indexes of a layout. Those of elements stay if the layout has none of its own: they are the same
// in all layouts that an advice compares.
func (m *model) indexesOf(l Layout) {
	m.entrySizes = nil
	if l.Indexes == nil {
		for _, x := range m.w.Indexes {
			if l.Sizes != nil {
				m.entrySizes = append(m.entrySizes, l.Sizes.Entries[x.Name])
			}
		}
		return
	}
	m.w.Indexes, m.listIndexes = nil, nil
	for i, x := range l.Indexes {
		if x.List == "" {
			m.w.Indexes = append(m.w.Indexes, x)
			if l.Sizes != nil {
				m.entrySizes = append(m.entrySizes, slices.Concat(l.Sizes.Indexes[i]...))
			}
			continue
		}
		n := listIndex{x, m.index[x.List], nil}
		if n.sizes = m.lists[n.attribute].own; l.Sizes != nil {
			n.sizes = l.Sizes.Indexes[i]
		}
		m.listIndexes = append(m.listIndexes, n)
	}
}

// indexed returns the lists whose elements are in indexes: they must be items.
func (m *model) indexed() (set uint64) {
	for _, x := range m.listIndexes {
		set |= 1 << x.attribute
	}
	return set
}

// add returns the sum of units in indexes and others.
func (u units) add(index units) units {
	u.wcu, u.atomic, u.index, u.rcu = u.wcu+index.wcu, u.atomic+index.wcu, u.index+index.wcu, u.rcu+index.rcu
	return u
}

// listUnits returns the units of an operation in the indexes of elements: the means over the samples. A change of an
// element keeps the keys of its entry.
func (m *model) listUnits(op *modelOp) (u units) {
	for _, x := range m.listIndexes {
		projects := x.All || len(x.Attributes) > 0
		for s := range m.samples {
			sizes := x.sizes[s]
			write := func(entries []int) {
				for _, n := range entries {
					if n > 0 {
						u.wcu += cost.WriteUnits(n)
					}
				}
			}
			last := func(n int) []int { return sizes[len(sizes)-min(n, len(sizes)):] }
			if projects && m.set(op.Writes)>>x.attribute&1 != 0 {
				write(sizes)
			}
			for _, c := range op.adds {
				if c.attribute == x.attribute {
					write(last(c.n))
				}
			}
			for _, c := range op.changes {
				if projects && c.attribute == x.attribute {
					write(last(c.n))
				}
			}
			for _, c := range op.removes {
				if c.attribute == x.attribute {
					write(sizes[:min(c.n, len(sizes))])
				}
			}
			if n := op.Query[x.Name]; n > 0 && !x.NotQueried {
				u.rcu += cost.ReadUnits(n*meanEntry(sizes)) / 2 // an index is read eventually consistent
			}
		}
	}
	u.wcu, u.rcu = u.wcu/float64(m.samples), u.rcu/float64(m.samples)
	return u
}

// meanEntry returns the mean size of the entries of elements, 0 for none.
func meanEntry(sizes []int) int {
	sum, n := 0, 0
	for _, size := range sizes {
		if size > 0 {
			sum, n = sum+size, n+1
		}
	}
	return sum / max(1, n)
}

// listEntries returns the number of entries of elements of one document, their bytes, and the WCU of writing them: the
// means over the samples.
func (m *model) listEntries() (stored, bytes, wcu float64) {
	for _, x := range m.listIndexes {
		for s := range m.samples {
			for _, n := range x.sizes[s] {
				if n > 0 {
					stored, bytes, wcu = stored+1, bytes+float64(n), wcu+cost.WriteUnits(n)
				}
			}
		}
	}
	n := float64(m.samples)
	return stored / n, bytes / n, wcu / n
}

// listPrice returns the price of the indexes of elements in a month.
func (m *model) listPrice() float64 {
	stored, bytes, _ := m.listEntries()
	sum := m.p.store(stored, bytes)
	for i := range m.ops {
		u := m.listUnits(&m.ops[i])
		sum += m.ops[i].PerMonth * m.p.Units(u.wcu, u.rcu)
	}
	return sum * float64(m.w.Entities)
}
