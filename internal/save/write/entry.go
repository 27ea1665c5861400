package write

import (
	"maps"
	"slices"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/schema"
)

// Entry is the effect of a request on its item's entry in a secondary index.
type Entry struct {
	// Index names the index: the real names of the table and of the index, "table/index".
	Index string
	// Old and New are the sizes of the entry before and after, in bytes; 0 where there is none.
	Old, New int
	// Moves reports that its key changes; Same that nothing of it does.
	Moves, Same bool
	// Always reports that its keys are the table's, so that no item can be kept out of it.
	Always bool
	// Staged reports that the entry holds the item's stage, if it has one.
	Staged bool
	// Unread reports that the stored entry is unknown. Whole reports that the item is put as a whole, so that the key
	// of a stored entry may be the same.
	Unread, Whole bool
}

// EntryOf returns the change of an item's entry in an index when the item changes from before, nil for
// none, to after. table is the real name of the table.
func EntryOf(x *schema.Index, table string, before, after item.Attributes) Entry {
	differs := func(name string) bool { return !attr.Same(before[name], after[name]) }
	keyDiffers := func(a schema.KeyAttribute) bool { return differs(a.Name) }
	size := func(a item.Attributes) int {
		of := func(name string) int { return item.Assignment{Name: name, Value: a[name]}.Size() }
		return x.EntrySize(of, attr.ItemSize(a))
	}
	e := Entry{
		Index: table + "/" + x.Name, Old: size(before), New: size(after),
		Moves: slices.ContainsFunc(x.Attributes(), keyDiffers),
	}
	e.Same = e.Old > 0 && e.New > 0 && !x.All && !e.Moves && !slices.ContainsFunc(x.Include, differs)
	return e
}

// Units returns the price of the change, in WCU. likely is the likely size of an item that was not read, in bytes, 0 if
// it is unknown. An entry that is added or removed costs its size, and
// an entry that changes costs the larger size. An entry whose key changes costs both, and an unchanged
// entry nothing. A transaction costs the same.
func (e *Entry) Units(likely int) cost.Units {
	switch {
	case e.Unread:
		return e.bounds(likely)
	case e.Same || e.Old == 0 && e.New == 0:
		return cost.Units{}
	case e.Old == 0:
		return cost.Exactly(cost.WriteUnits(e.New))
	case e.New == 0:
		return cost.Exactly(cost.WriteUnits(e.Old))
	case e.Moves:
		return cost.Exactly(cost.WriteUnits(e.Old) + cost.WriteUnits(e.New))
	}
	return cost.Exactly(cost.Put(e.Old, e.New))
}

// bounds is Units if the stored entry is unknown.
func (e *Entry) bounds(likely int) cost.Units {
	u := cost.Units{Max: most, If: "the item is in the index " + e.Index}
	switch {
	case e.Same:
		return cost.Units{}
	case likely > 0 || e.New > 0:
		u.Expected = cost.Put(likely, e.New)
	}
	if e.Moves {
		u.Max *= 2
		if likely > 0 && !e.Whole {
			u.Expected += cost.WriteUnits(likely)
		}
	}
	return u
}

// likelyBefore returns the likely size of the item before the request, in bytes. Where the request requires that it is
// missing, an item that has expired is not likely.
func (r *Request) likelyBefore() int {
	if r.Expect.Absent {
		return 0
	}
	return r.Likely
}

// IndexUnits are the WCU of secondary indexes, by "table/index". Of one that the writes leave as it
// is they are none.
type IndexUnits map[string]cost.Units

// Add adds what a request does to the entries of its item.
func (u *IndexUnits) Add(r *Request) { u.AddStaged(r, 0) }

// AddStaged is Add of a request whose item gets a stage of so many bytes.
func (u *IndexUnits) AddStaged(r *Request, stage int) {
	for _, e := range r.Entries {
		e.stage(stage)
		u.add(e.Index, e.Units(r.likelyBefore()))
	}
}

// stage adds the size of a stage to an entry that holds it.
func (e *Entry) stage(size int) {
	if e.Staged && e.New > 0 {
		e.New += size
	}
}

func (u *IndexUnits) add(index string, wcu cost.Units) {
	if *u == nil {
		*u = IndexUnits{}
	}
	(*u)[index] = (*u)[index].Add(wcu)
}

// Enlarge adds the size of a stage, in bytes, to a request and its entries.
func (r *Request) Enlarge(stage int) {
	r.NewSize += stage
	r.Entries = slices.Clone(r.Entries)
	for i := range r.Entries {
		r.Entries[i].stage(stage)
	}
}

// Sum returns the units of all of them.
func (u IndexUnits) Sum() cost.Units {
	var sum cost.Units
	for _, name := range slices.Sorted(maps.Keys(u)) {
		sum = sum.Add(u[name])
	}
	return sum
}
