package mapper

import (
	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/change"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/search"
	"github.com/itemize/itemize/internal/selection"
	"github.com/itemize/itemize/query"
)

// PlanLoad returns what Load of a selection would send, and cost in RCU. It does no I/O. Of
// an *Entity it is exact, as long as the items are those that were loaded; of another
// selection it is bounds: of a range, those of its first answer.
func (m *Mapper[T]) PlanLoad(s query.Selection[T], options ...ReadOption) (*Plan, error) {
	sel := m.resolved(s)
	if sel.Err != nil {
		return nil, sel.Err
	}
	p := &Plan{Mode: ModeRead, Items: []ItemPlan{}}
	var st *state
	if e, ok := s.(*Entity[T]); ok && e.state != nil && !e.state.Fresh {
		st = e.state
	}
	ones := 0
	for _, part := range sel.Parts {
		if part.Range.Kind == selection.None {
			continue
		}
		u, answers := m.engine.unitsOf(part, st)
		p.RCU = p.RCU.Add(u.Times(consistency(readSettingsOf(options).Strong)))
		if part.Range.Kind == selection.One {
			ones++
		} else {
			p.requests += answers
		}
	}
	p.requests += (ones + cost.MaxBatchGet - 1) / cost.MaxBatchGet
	return p, nil
}

// consistency is what a read costs of the units of a strong one.
func consistency(strong bool) float64 {
	if strong {
		return 1
	}
	return 0.5
}

// unitsOf returns the units of reading a part strongly, and the number of answers.
func (g *engine) unitsOf(part selection.Part, s *state) (cost.Units, int) {
	if s == nil && part.Range.Kind == selection.One {
		return cost.Units{Min: 1, Max: cost.ReadUnits(cost.MaxItem)}, 1
	}
	if s == nil {
		return cost.Units{Min: 1, Max: cost.ReadUnits(cost.MaxPage + cost.MaxItem)}, 1
	}
	return cost.Pages(cost.Strong, s.SizesIn(part)...)
}

// PlanQuery returns the least number of requests of a query, and the units of the first
// answers.
func (g *engine) PlanQuery(r search.Request) (requests int, rcu cost.Units, err error) {
	x, err := g.search.New(r, &read.Usage{})
	if err != nil {
		return 0, rcu, err
	}
	for _, part := range x.Parts() {
		if part.Range.Kind == selection.None {
			continue
		}
		u, answers := g.unitsOf(part, nil)
		requests += answers
		if limit := x.Options().Limit; limit > 0 {
			// An answer of so many items is of at most so many bytes.
			u.Max = min(u.Max, cost.ReadUnits(limit*cost.MaxItem))
		}
		rcu = rcu.Add(u.Times(consistency(r.Strong)))
	}
	return requests, rcu, nil
}

// PlanDelete returns what Delete would send, and cost. It does no I/O: it is for an
// *Entity, and for a single item, whose size is not known. What another selection holds
// has to be loaded first.
func (m *Mapper[T]) PlanDelete(s query.Selection[T], options ...WriteOption) (*Plan, error) {
	g, settings := m.engine, writeSettingsOf(options)
	sel := m.resolved(s)
	e, loaded := s.(*Entity[T])
	if loaded {
		if err := m.owns(e); err != nil {
			return nil, err
		}
		sel = e.state.Selection
	}
	if err := g.deletable(settings); err != nil {
		return nil, err
	}
	deletion, err := change.NewDeletion(g.model, sel, settings.staged)
	if err != nil {
		return nil, err
	}
	part, single := deletion.Single()
	switch {
	case loaded:
		deletion.Loaded(e.state.Snapshot)
	case single:
		if err := deletion.Blind(part); err != nil {
			return nil, err
		}
	default:
		return nil, g.model.Errorf("what the selection holds is not known without reading it: load it, and plan the delete of that entity")
	}
	plan, err := (&deleting{Deletion: deletion, g: g, settings: settings}).plan()
	if err != nil {
		return nil, err
	}
	return planOf(plan), nil
}
