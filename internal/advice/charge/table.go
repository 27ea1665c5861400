package charge

import (
	"maps"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/model/attr"
)

// Item is a stored item; nil is none.
type Item = map[string]types.AttributeValue

// Table has the properties of a table that determine costs: its key attributes and its indexes.
type Table struct {
	// Hash and Range are the key attributes; Range is "" for none.
	Hash, Range string
	Indexes     []Index
}

// Index is a secondary index.
type Index struct {
	Name        string
	Hash, Range string
	// All means that it projects all attributes. Otherwise it projects its keys, those of the table,
	// and Attributes.
	All        bool
	Attributes []string
}

// Usage is the units of a request, for the table and each index, as DynamoDB reports them. Units are
// WCU for writes, RCU for reads.
type Usage struct {
	Table   cost.Units            `json:"table"`
	Indexes map[string]cost.Units `json:"indexes,omitempty"`
}

// Total returns the sum of the table and its indexes.
func (u Usage) Total() cost.Units {
	sum := u.Table
	for _, n := range u.Indexes {
		sum = sum.Add(n)
	}
	return sum
}

// Add returns the sum, for the table and each index.
func (u Usage) Add(v Usage) Usage {
	sum := Usage{Table: u.Table.Add(v.Table), Indexes: maps.Clone(u.Indexes)}
	for name, n := range v.Indexes {
		if sum.Indexes == nil {
			sum.Indexes = map[string]cost.Units{}
		}
		sum.Indexes[name] = sum.Indexes[name].Add(n)
	}
	return sum
}

func (u *Usage) index(name string, n float64) {
	if n == 0 {
		return
	}
	if u.Indexes == nil {
		u.Indexes = map[string]cost.Units{}
	}
	u.Indexes[name] = u.Indexes[name].Add(cost.Exactly(n))
}

// Entry returns the entry of an item in an index, nil if the item lacks one of its keys.
func (t Table) Entry(x Index, item Item) Item {
	if item == nil || item[x.Hash] == nil || x.Range != "" && item[x.Range] == nil {
		return nil
	}
	if x.All {
		return item
	}
	entry := Item{}
	for _, name := range append([]string{t.Hash, t.Range, x.Hash, x.Range}, x.Attributes...) {
		if v := item[name]; name != "" && v != nil {
			entry[name] = v
		}
	}
	return entry
}

// Put returns the WCU of a PutItem or UpdateItem that turns old into new. The table costs the larger
// size, also if both are equal. An index costs nothing if its entry is unchanged, its size if it is
// added or removed, the larger size if it changes, and both sizes if its key changes.
func (t Table) Put(old, new Item) Usage {
	u := Usage{Table: cost.Exactly(cost.Put(cost.ItemSize(old), cost.ItemSize(new)))}
	for _, x := range t.Indexes {
		u.index(x.Name, t.indexWrite(x, old, new))
	}
	return u
}

// Delete returns the WCU of deleting an item. Deleting a missing item costs one unit.
func (t Table) Delete(old Item) Usage {
	u := Usage{Table: cost.Exactly(cost.Delete(cost.ItemSize(old)))}
	for _, x := range t.Indexes {
		u.index(x.Name, t.indexWrite(x, old, nil))
	}
	return u
}

func (t Table) indexWrite(x Index, old, new Item) float64 {
	a, b := t.Entry(x, old), t.Entry(x, new)
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return cost.WriteUnits(cost.ItemSize(b))
	case b == nil:
		return cost.WriteUnits(cost.ItemSize(a))
	case !attr.Same(a[x.Hash], b[x.Hash]) || x.Range != "" && !attr.Same(a[x.Range], b[x.Range]):
		return cost.WriteUnits(cost.ItemSize(a)) + cost.WriteUnits(cost.ItemSize(b))
	case attr.SameItem(a, b):
		return 0
	}
	return cost.WriteUnits(max(cost.ItemSize(a), cost.ItemSize(b)))
}

// Expire returns the WCU of a deletion by time to live: none, for the table and its indexes (Developer
// Guide, "Using time to live (TTL)"). In a global table the other Regions pay for the replicated
// delete.
func (t Table) Expire(Item) Usage { return Usage{} }

// Write is one write of a batch or transaction.
type Write struct {
	// Old and New are the item before and after; nil for none. A check has both.
	Old, New Item
	// Check means a condition check of a transaction, which writes nothing.
	Check bool
}

// usage returns the usage of a single write.
func (t Table) usage(w Write) Usage {
	switch {
	case w.Check:
		return Usage{Table: cost.Exactly(cost.WriteUnits(cost.ItemSize(w.Old)))}
	case w.New == nil:
		return t.Delete(w.Old)
	}
	return t.Put(w.Old, w.New)
}

// BatchWrite returns the WCU of a BatchWriteItem: the sum of its writes.
func (t Table) BatchWrite(writes ...Write) Usage {
	var sum Usage
	for _, w := range writes {
		sum = sum.Add(t.usage(w))
	}
	return sum
}

// TransactWrite returns the WCU of a TransactWriteItems: twice the units of each write for the table,
// once for the indexes.
func (t Table) TransactWrite(writes ...Write) Usage {
	var sum Usage
	for _, w := range writes {
		u := t.usage(w)
		u.Table = u.Table.Times(2)
		sum = sum.Add(u)
	}
	return sum
}

// Refused returns the WCU of a write whose condition failed. DynamoDB charges it and does not report
// it. It is the price of the stored item, and at most that of the write. Indexes cost nothing.
func (t Table) Refused(old, new Item) cost.Units {
	least := cost.WriteUnits(cost.ItemSize(old))
	return cost.Units{Min: least, Expected: least, Max: max(least, cost.Put(cost.ItemSize(old), cost.ItemSize(new)))}
}

// Consistency is how a read is made.
type Consistency int

// The kinds of reads. They cost a half, one and two units for each 4 KB, rounded up.
const (
	Eventual Consistency = iota
	Strong
	Transactional
)

func (c Consistency) times(n float64) cost.Units {
	return cost.Exactly(n * [...]float64{0.5, 1, 2}[c])
}

// Get returns the RCU of reading single items with GetItem, BatchGetItem or TransactGetItems. Each is
// rounded up by itself, and a missing item (nil) costs as much as a small one.
func Get(c Consistency, items ...Item) cost.Units {
	sum := 0.0
	for _, it := range items {
		sum += cost.ReadUnits(cost.ItemSize(it))
	}
	return c.times(sum)
}

// Page returns the RCU of one answer of a Query or Scan of a table or index. It is the sum of the items
// that were read, before a filter or projection. An answer without items costs one unit.
func Page(c Consistency, items ...Item) cost.Units {
	bytes := 0
	for _, it := range items {
		bytes += cost.ItemSize(it)
	}
	return c.times(cost.ReadUnits(bytes))
}
