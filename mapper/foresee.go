package mapper

import (
	"fmt"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/selection"
	"github.com/itemize/itemize/query"
)

// PlanLoad returns what Load of a selection would send, and cost in RCU. It does no I/O. Of
// an *Entity it is exact, as long as the items are those that were loaded; of another
// selection it is bounds: of a range, those of its first answer.
func (m *Mapper[T]) PlanLoad(s query.Selection[T], options ...ReadOption) (*Plan, error) {
	spec := m.core.resolved(query.Spec(s))
	if spec.Err != nil {
		return nil, spec.Err
	}
	times := 0.5
	if readSettingsOf(options).Strong {
		times = 1
	}
	p := &Plan{Mode: ModeRead, Items: []ItemPlan{}}
	var st *state
	if e, ok := s.(*Entity[T]); ok && e.state != nil && !e.state.fresh {
		st = e.state
	}
	ones := 0
	for _, part := range spec.Parts {
		if part.Range.Kind == selection.None {
			continue
		}
		u, answers := m.core.foresee(part, st)
		p.RCU = p.RCU.Add(u.Times(times))
		if part.Range.Kind == selection.One {
			ones++
		} else {
			p.requests += answers
		}
	}
	p.requests += (ones + cost.MaxBatchGet - 1) / cost.MaxBatchGet
	return p, nil
}

// foresee returns the units of reading a part strongly, and the number of answers.
func (c *core) foresee(part selection.Part, st *state) (cost.Units, int) {
	if st == nil && part.Range.Kind == selection.One {
		return cost.Units{Min: 1, Max: cost.ReadUnits(cost.MaxItem)}, 1
	}
	if st == nil {
		return cost.Units{Min: 1, Max: cost.ReadUnits(cost.MaxPage + cost.MaxItem)}, 1
	}
	var sizes []int
	add := func(at place, size int) {
		if at.table == part.Table && at.pk == part.PK && part.Range.Contains(at.sk) {
			sizes = append(sizes, size)
		}
	}
	for _, rows := range st.rows {
		for _, r := range rows {
			add(r.place, r.size)
		}
	}
	for at, g := range st.ghosts {
		add(at, g.size)
	}
	return cost.Pages(cost.Strong, sizes...)
}

// Foresee returns what a query would take.
func (c *core) Foresee(r query.Request) (*query.Plan, error) {
	x, err := c.newSearch(r, &read.Usage{})
	if err != nil {
		return nil, err
	}
	times := 0.5
	if r.Strong {
		times = 1
	}
	p := &query.Plan{}
	for _, part := range x.s.Parts {
		if part.Range.Kind == selection.None {
			continue
		}
		u, answers := c.foresee(part, nil)
		p.Requests += answers
		if x.o.Limit > 0 {
			// An answer of so many items is of at most so many bytes.
			u.Max = min(u.Max, cost.ReadUnits(x.o.Limit*cost.MaxItem))
		}
		p.RCU = p.RCU.Add(u.Times(times))
	}
	return p, nil
}

// PlanDelete returns what Delete would send, and cost. It does no I/O: it is for an
// *Entity, and for a single item, whose size is not known. What another selection holds
// has to be loaded first.
func (m *Mapper[T]) PlanDelete(s query.Selection[T], options ...WriteOption) (*Plan, error) {
	c, settings := m.core, writeSettingsOf(options)
	del := &deletion{c: c, spec: c.resolved(query.Spec(s)), settings: settings, t: &tally{}}
	e, loaded := s.(*Entity[T])
	if loaded {
		if err := m.owns(e); err != nil {
			return nil, err
		}
		del.spec = e.state.spec
	}
	if err := c.deletable(settings); err != nil {
		return nil, err
	}
	if err := del.check(); err != nil {
		return nil, err
	}
	switch parts := del.spec.Parts; {
	case loaded:
		del.take(e.state)
	case len(parts) == 1 && parts[0].Range.Kind == selection.One && !del.spec.Whole:
		it, _ := c.schema.Match(parts[0].Table, parts[0].Range.Low)
		if it == nil {
			return nil, fmt.Errorf("%s: the sort key %s matches no field", c.schema.Label(), parts[0].Range.Low)
		}
		del.rest = []*change{{place: place{parts[0].Table, parts[0].PK, parts[0].Range.Low}, kind: KindDelete, item: it, unread: true}}
	default:
		return nil, fmt.Errorf("%s: what the selection holds is not known without reading it: load it, and plan the delete of that entity", c.schema.Label())
	}
	return del.plan()
}

// plan describes the deletes the way that send would send them.
func (del *deletion) plan() (*Plan, error) {
	c, all := del.c, del.all()
	p := &Plan{Items: []ItemPlan{}, requests: len(all)}
	times := 1.0
	switch {
	case len(all) == 0:
		p.Mode = ModeNothing
	case del.staged(all):
		p.Mode = ModeStaged
		mark := del.mark()
		p.Items = append(p.Items, c.describe(mark, mark.wcu()))
		p.requests++
		del.root.oldSize = mark.newSize
	case len(all) == 1:
		p.Mode = ModeOne
	case del.settings.independent:
		p.Mode = ModeIndependent
	case c.fits(all):
		p.Mode, p.requests, times = ModeTransaction, 1, 2
	default:
		return nil, c.tooMany(all)
	}
	if del.settings.exactlyOnce {
		times = 2
	}
	for _, ch := range all {
		p.Items = append(p.Items, c.describe(ch, ch.wcu().Times(times)))
	}
	for _, it := range p.Items {
		p.WCU = p.WCU.Add(it.WCU)
	}
	return p, nil
}
