package forecast

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
)

// found is a layout with its price.
type found struct {
	items, groups []uint64
	split         uint64
	price         float64
}

// price returns the price of a layout, infinite if an item is too large.
func (m *model) price(items []uint64) float64 {
	for _, set := range items {
		if !m.fits(set) {
			return math.Inf(1)
		}
	}
	items = m.rootFirst(items)
	total := m.storage(items)
	for i := range m.ops {
		total += m.priceOf(&m.ops[i], items)
	}
	return total
}

// storage returns the price of storing all documents, in dollars a month.
func (m *model) storage(items []uint64) float64 {
	stored, bytes, _ := m.store(items)
	return (m.p.store(stored, bytes) + m.p.orZero("s3Storage")*m.objectBytes()/gigabyte) * float64(m.w.Entities)
}

// priceOf returns the price of an operation in a month. The first item is the root item.
func (m *model) priceOf(op *modelOp, items []uint64) float64 {
	if op.PerMonth == 0 {
		return 0
	}
	u := m.once(op, items)
	return op.PerMonth * float64(m.w.Entities) * (m.p.Units(u.wcu, u.rcu) + m.objects(u.puts, u.gets))
}

// alike returns items with the attributes that all operations use alike.
func (m *model) alike() []uint64 {
	var items []uint64
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

// starts returns layouts to begin a search with.
func (m *model) starts(random int) [][]uint64 {
	var single []uint64
	for i := range bitsOf(m.all()) {
		single = append(single, 1<<i)
	}
	all := [][]uint64{m.alike(), {m.all()}}
	if len(single) <= fewAttributes { // otherwise each start takes long
		all = append(all, single)
	}
	r := rand.New(rand.NewPCG(1, 2)) // a fixed seed, so that the advice is always the same
	for range random {
		items := make([]uint64, 1+r.IntN(len(single)))
		for _, bit := range single {
			items[r.IntN(len(items))] |= bit
		}
		all = append(all, slices.DeleteFunc(items, func(s uint64) bool { return s == 0 }))
	}
	for i := range all {
		all[i] = m.pin(all[i])
	}
	return all
}

// pin moves the pinned attributes to one item.
func (m *model) pin(items []uint64) []uint64 {
	if m.pinned == 0 {
		return items
	}
	out := []uint64{m.pinned}
	for _, set := range items {
		if set&m.pinned&-m.pinned != 0 {
			out[0] |= set
		} else if set &^= m.pinned; set != 0 {
			out = append(out, set)
		}
	}
	return out
}

// climbing is a search that improves a layout by single changes.
type climbing struct {
	// work counts prices of an operation for an item in a sample.
	work  *int
	m     *model
	items []uint64
	ops   []float64 // the price of each operation
	adds  bool
}

// climb moves attributes between items and joins items, as long as the price falls and the work is less than maxClimb.
func (m *model) climb(items []uint64, work *int) ([]uint64, float64) {
	c := &climbing{work: work, m: m, items: items, ops: make([]float64, len(m.ops)), adds: m.adds()}
	if total := c.try(items, ^uint64(0), c.ops); math.IsInf(total, 1) {
		// from items that fit, each with one attribute
		c.items = nil
		for a := range bitsOf(m.all()) {
			c.items = append(c.items, 1<<a)
		}
		c.items = m.pin(c.items)
		if math.IsInf(c.try(c.items, ^uint64(0), c.ops), 1) {
			return c.items, math.Inf(1)
		}
	}
	for *work < maxClimb && c.step() {
	}
	return c.items, m.price(c.items)
}

// try returns the price of items whose difference to the present ones is in the changed attributes. It stores the price
// of each operation.
func (c *climbing) try(items []uint64, changed uint64, ops []float64) float64 {
	for _, set := range items {
		if set&changed != 0 && !c.m.fits(set) {
			return math.Inf(1)
		}
	}
	if c.adds {
		items = c.m.rootFirst(items)
	}
	total := c.m.storage(items)
	for i := range c.m.ops {
		op := &c.m.ops[i]
		ops[i] = c.ops[i]
		whole := op.All || op.Scan != nil || len(op.Add) > 0 || len(op.Query) > 0 || len(c.m.w.Indexes) > 0
		if whole || (op.writes|op.reads)&changed != 0 {
			ops[i] = c.m.priceOf(op, items)
			*c.work += len(items) * c.m.samples
		}
		total += ops[i]
	}
	return total
}

// fewAttributes is the number of attributes up to which all changes of a layout are compared.
const fewAttributes = 16

// step makes the change that saves most: of many attributes, for the first item for which one saves.
func (c *climbing) step() bool {
	present := c.m.storage(c.items)
	for _, p := range c.ops {
		present += p
	}
	var next []uint64
	least, room, ops := present-1e-15-present*1e-12, make([]float64, len(c.ops)), []float64(nil)
	try := func(changed uint64, candidate []uint64) {
		candidate = slices.DeleteFunc(candidate, func(s uint64) bool { return s == 0 })
		if p := c.try(candidate, changed, room); p < least {
			next, least, ops = candidate, p, slices.Clone(room)
		}
	}
	for i, set := range c.items {
		for j := range c.items[:i] {
			joined := slices.Clone(c.items)
			joined[j], joined[i] = joined[j]|set, 0
			try(joined[j], joined)
		}
		for s := set; s != 0 && bits.OnesCount64(set) > 0; s &= s - 1 {
			bit := s & -s
			if bit&c.m.pinned != 0 {
				continue
			}
			for j := range len(c.items) + 1 {
				if j == i || j == len(c.items) && set == bit {
					continue
				}
				moved := append(slices.Clone(c.items), 0)
				moved[i] &^= bit
				moved[j] |= bit
				try(set|moved[j], moved)
			}
		}
		if next != nil && len(c.m.w.Attributes) > fewAttributes || *c.work > maxClimb {
			break
		}
	}
	if next == nil {
		return false
	}
	c.items, c.ops = next, ops
	return true
}
