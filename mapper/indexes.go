package mapper

import (
	"sync"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/write"
)

// undeclared says when a write costs more than the table alone.
const undeclared = "the table has indexes that the model does not declare"

// indexes remembers the secondary indexes that have taken units without being declared by the model,
// by "table/index": only answers tell of them.
type indexes struct {
	mu   sync.Mutex
	seen map[string]bool
}

// saw notes the indexes that an operation met, but for those that the model declares.
func (x *indexes) saw(units map[string]float64, declared write.IndexUnits) {
	for name := range units {
		if _, ok := declared[name]; ok {
			continue
		}
		x.mu.Lock()
		if x.seen == nil {
			x.seen = map[string]bool{}
		}
		x.seen[name] = true
		x.mu.Unlock()
	}
}

// of returns what the indexes that were met may take of a plan's writes, in WCU: each of
// them at most the item before and after the write, whatever it projects, and in a
// transaction no more.
func (x *indexes) of(p *write.Plan) cost.Units {
	x.mu.Lock()
	defer x.mu.Unlock()
	var sum cost.Units
	if len(x.seen) == 0 {
		return sum
	}
	p.Items(func(r *write.Request, _ cost.Units) {
		for name := range x.seen {
			if !r.Writes() || name[:min(len(name), len(r.Table.Name)+1)] != r.Table.Name+"/" {
				continue
			}
			most := cost.WriteUnits(r.OldSize) + cost.WriteUnits(r.NewSize)
			if !r.Units().Known() {
				most = 2 * cost.WriteUnits(cost.MaxItem)
			}
			sum = sum.Add(cost.Units{Max: most, If: undeclared})
		}
	})
	return sum
}
