package estimate

import (
	"strings"
	"sync"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/save/write"
)

// IfUndeclared says when a write costs more than the table and the declared indexes.
const IfUndeclared = "the table has indexes that the model does not declare"

// Undeclared records the secondary indexes that consumed capacity although the model does not declare
// them, by "table/index". Only answers show them. It is safe for concurrent use.
type Undeclared struct {
	mu   sync.Mutex
	seen map[string]bool
}

// Observe records the indexes in the consumed capacity of an operation that are not declared.
func (u *Undeclared) Observe(consumed map[string]float64, declared write.IndexUnits) {
	for name := range consumed {
		if _, ok := declared[name]; ok {
			continue
		}
		u.mu.Lock()
		if u.seen == nil {
			u.seen = map[string]bool{}
		}
		u.seen[name] = true
		u.mu.Unlock()
	}
}

// Of returns what the recorded indexes may add to the price of a plan, in WCU: for each of them at most
// the item before and after the write. A transaction costs no more.
func (u *Undeclared) Of(p *write.Plan) cost.Units {
	u.mu.Lock()
	defer u.mu.Unlock()
	var sum cost.Units
	if len(u.seen) == 0 {
		return sum
	}
	p.Items(func(r *write.Request, _ cost.Units) {
		for name := range u.seen {
			if !r.Writes() || !strings.HasPrefix(name, r.Table.Name+"/") {
				continue
			}
			most := cost.WriteUnits(r.OldSize) + cost.WriteUnits(r.NewSize)
			if !r.Units().Exact() {
				most = 2 * cost.WriteUnits(cost.MaxItem)
			}
			sum = sum.Add(cost.Units{Max: most, If: IfUndeclared})
		}
	})
	return sum
}
