package write

import "github.com/itemize/itemize/cost"

// Entry is what a request does to its item's entry in a secondary index.
type Entry struct {
	// Index names the index: the real names of the table and of the index, "table/index".
	Index string
	// Old and New are the sizes of the entry before and after, in bytes; 0 where there is none.
	Old, New int
	// Moves reports that its key changes; Same that nothing of it does.
	Moves, Same bool
	// Staged reports that the entry holds the item's stage, if it has one.
	Staged bool
	// Unread reports that nothing is known of the entry that is there, and Likely the size that
	// its item is likely to have.
	Unread bool
	Likely int
}

// Units returns the price of what becomes of the entry, in WCU: of one that comes or goes its size,
// of one that changes the larger, of one whose key moves both, and none where nothing changes (cost.md,
// index). A transaction costs no more.
func (e *Entry) Units() cost.Units {
	switch {
	case e.Unread:
		return e.bounds()
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

// bounds is Units where the entry that is there is not known.
func (e *Entry) bounds() cost.Units {
	u := cost.Units{Max: most, If: "the item is in the index " + e.Index}
	switch {
	case e.Same:
		return cost.Units{}
	case e.Likely > 0 || e.New > 0:
		u.Expected = cost.Put(e.Likely, e.New)
	}
	if e.Moves {
		u.Max *= 2
		if e.Likely > 0 {
			u.Expected += cost.WriteUnits(e.Likely)
		}
	}
	return u
}

// IndexUnits calls yield with each index whose entries the request may change, and the price of that,
// in WCU.
func (r *Request) IndexUnits(yield func(index string, wcu cost.Units)) {
	for i := range r.Entries {
		if u := r.Entries[i].Units(); u.Max > 0 {
			yield(r.Entries[i].Index, u)
		}
	}
}
