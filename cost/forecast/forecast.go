package forecast

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strconv"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/model/attr"
)

// Forecast is the cost of a layout in a month.
type Forecast struct {
	Layout Layout `json:"layout"`
	// NotStorable says why DynamoDB cannot store the items of the layout, "" if it can. Such a forecast
	// has no units and prices.
	NotStorable string `json:"notStorable,omitempty"`
	// Items are the mean sizes of the items, in bytes, and Elements those of all elements together, by
	// attribute.
	Items    []int          `json:"items"`
	Elements map[string]int `json:"elements,omitempty"`
	// Insert is the price of the first write of all entities, in dollars, without transactions.
	Insert float64 `json:"insert"`
	// WCU and RCU are the units of a month, for all entities. IndexWCU is the part of WCU for indexes.
	WCU      float64 `json:"wcu"`
	RCU      float64 `json:"rcu"`
	IndexWCU float64 `json:"indexWcu,omitempty"`
	// Puts and Gets are the requests to S3 of a month.
	Puts float64 `json:"s3Puts,omitempty"`
	Gets float64 `json:"s3Gets,omitempty"`
	// Bytes is the storage of items and entries of indexes, with the 100 bytes that DynamoDB adds to each.
	// ObjectBytes is the storage in S3.
	Bytes float64 `json:"bytes"`
	// IndexBytes is the part of Bytes for entries of indexes, which backups do not include.
	IndexBytes  float64 `json:"indexBytes,omitempty"`
	ObjectBytes float64 `json:"s3Bytes,omitempty"`
	// Requests and Storage are prices in dollars, and Total is their sum: of a standard table on demand, and of
	// S3. Bill has others.
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
	// operation: the mean over the samples.
	WCU     float64 `json:"wcu"`
	RCU     float64 `json:"rcu"`
	OnceWCU float64 `json:"onceWcu"`
	// TransactionWCU are the WCU of one operation if it is a transaction, as a save of several items is by default.
	TransactionWCU float64 `json:"transactionWcu"`
	OnceRCU        float64 `json:"onceRcu"`
	// Dollars is the price of a month on demand.
	Dollars float64 `json:"dollars"`
}

// Forecast returns the monthly cost of layouts, in their order. For a read of several items it uses the
// cheaper of BatchGetItem and a Query of the whole document; elements are read by one Query for each list. A
// Query has answers of 1 MB, in the order of the layout's items. A write that adds elements also reads the root
// item, strongly consistent, as package mapper does, unless it is a transaction that writes the root item.
// If an item is too large, the layout is not storable, and its forecast says why.
func (w Workload) Forecast(p Prices, layouts ...Layout) ([]Forecast, error) {
	if err := errors.Join(w.Check(layouts...), p.Check()); err != nil {
		return nil, err
	}
	m := newModel(w, p)
	var out []Forecast
	for _, l := range layouts {
		if err := w.checkLayout(l); err != nil {
			return nil, err
		}
		out = append(out, m.of(l).forecast(l))
	}
	return out, nil
}

// forecast returns the forecast of a layout, for which the model was made.
func (m *model) forecast(l Layout) Forecast {
	items := make([]uint64, len(l.Items))
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
func (m *model) tooLarge(l Layout, items []uint64) string {
	for i, set := range items {
		most := 0
		for s := range m.samples {
			most = max(most, m.item(s, items, i))
		}
		if most <= cost.MaxItem {
			continue
		}
		names := strconv.Quote(m.w.Attributes[bits.TrailingZeros64(set)].Name)
		if more := bits.OnesCount64(set) - 1; more > 0 {
			names = strconv.Quote(l.Items[i][0]) + fmt.Sprintf(" and %d more", more)
		}
		return fmt.Sprintf("the item with %s has up to %s (limit 400 KB): split it", names, attr.Bytes(most))
	}
	for a := range bitsOf(m.split) {
		for s := range m.samples {
			for _, n := range m.elements(a, s) {
				if n > cost.MaxItem {
					return fmt.Sprintf("an element of %q has %s (limit 400 KB): split it", m.w.Attributes[a].Name,
						attr.Bytes(n))
				}
			}
		}
	}
	return ""
}

// means returns the mean sizes of items, over the samples.
func (m *model) means(items []uint64) []int {
	out := make([]int, len(items))
	for i := range items {
		for s := range m.samples {
			out[i] += m.item(s, items, i)
		}
		out[i] /= m.samples
	}
	return out
}

// sum returns the forecast of items.
func (m *model) sum(items []uint64) Forecast {
	entities := float64(m.w.Entities)
	f := Forecast{Items: m.means(items)}
	stored, bytes, insert := m.store(items)
	entries, entryBytes, entryWrites := m.listEntries()
	stored, bytes, insert = stored+entries, bytes+entryBytes, insert+entryWrites
	f.Insert = m.p.Units(insert*entities, 0)
	for i := range m.ops {
		op := &m.ops[i]
		u := m.once(op, items).add(m.listUnits(op))
		n := op.PerMonth * entities
		o := OperationCost{
			Name: op.Name, PerDocument: op.PerMonth, Times: n, WCU: u.wcu * n, RCU: u.rcu * n, OnceWCU: u.wcu,
			TransactionWCU: u.atomic, OnceRCU: u.rcu,
			Dollars: m.p.Units(u.wcu*n, u.rcu*n) + m.objects(u.puts*n, u.gets*n),
		}
		if op.Scan != nil { // one scan is for all documents
			o.PerDocument, o.Times, o.OnceRCU = op.PerMonth/entities, op.PerMonth, u.rcu*entities
		}
		f.Operations = append(f.Operations, o)
		f.WCU += u.wcu * n
		f.RCU += u.rcu * n
		f.IndexWCU += u.index * n
		f.Puts += u.puts * n
		f.Gets += u.gets * n
	}
	f.Bytes = (bytes + itemOverhead*stored) * entities
	f.IndexBytes = (m.entryBytes(items) + entryBytes + itemOverhead*entries) * entities
	f.Requests = m.p.Units(f.WCU, f.RCU) + m.objects(f.Puts, f.Gets)
	f.ObjectBytes = m.objectBytes() * entities
	f.Storage = m.p.store(stored, bytes)*entities + m.p.orZero("s3Storage")*f.ObjectBytes/gigabyte
	f.Total = f.Requests + f.Storage
	for a := range bitsOf(m.split) {
		if f.Elements == nil {
			f.Elements = map[string]int{}
		}
		for s := range m.samples {
			for _, n := range m.elements(a, s) {
				f.Elements[m.w.Attributes[a].Name] += n
			}
		}
		f.Elements[m.w.Attributes[a].Name] /= m.samples
	}
	return f
}

// objects returns the price of requests to S3, in dollars.
func (m *model) objects(puts, gets float64) float64 {
	return (m.p.orZero("s3Put")*puts + m.p.orZero("s3Get")*gets) / 1000
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

// SizesOf returns the sizes of the items of a layout in bytes, in each sample.
func (w Workload) SizesOf(l Layout) (*Sizes, error) {
	if err := errors.Join(w.Check(l), w.checkLayout(l)); err != nil {
		return nil, err
	}
	m := newModel(w, Prices{}).of(l)
	s := &Sizes{Elements: map[string][][]int{}}
	items := make([]uint64, len(l.Items))
	for i, names := range l.Items {
		items[i] = m.set(names)
	}
	for i := range items {
		var sizes []int
		for k := range m.samples {
			sizes = append(sizes, m.item(k, items, i))
		}
		s.Items = append(s.Items, sizes)
	}
	for a := range bitsOf(m.split) {
		name := w.Attributes[a].Name
		for k := range m.samples {
			s.Elements[name] = append(s.Elements[name], slices.Clone(m.elements(a, k)))
		}
	}
	return s, nil
}
