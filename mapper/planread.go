package mapper

import (
	"context"
	"slices"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/change"
	"github.com/itemize/itemize/internal/item"
	"github.com/itemize/itemize/internal/large"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/search"
	"github.com/itemize/itemize/internal/selection"
	"github.com/itemize/itemize/internal/staging"
	"github.com/itemize/itemize/internal/write"
	"github.com/itemize/itemize/query"
)

// PlanLoad returns what Load of a selection would send, and cost in RCU. It does no I/O.
//
// Of an *Entity that was loaded it is exact, as long as what is stored are the items that
// were loaded and saved, among them those that match no field or are hidden: but for a range
// whose last item takes an answer to 1 MB, where it is bounds, and for the number of
// requests of BatchGetItem for more than 1 MB of a partition, which may be larger. Of a new
// entity that was saved it knows the items that were written. Of another selection it is
// bounds: of a range, those of its first answer.
func (m *Mapper[T]) PlanLoad(s query.Selection[T], options ...ReadOption) (*Plan, error) {
	sel := m.resolved(s)
	if sel.Err != nil {
		return nil, m.engine.public(sel.Err)
	}
	strong := readSettingsOf(options).Strong
	if isIndex(sel) {
		return nil, m.engine.model.Errorf("the selection is what lies in an index, and no entity: plan the query, with its Plan")
	}
	if e, ok := s.(*Entity[T]); ok && e.state != nil && !e.state.Fresh {
		return m.engine.planLoad(e.state, sel, strong)
	}
	p := &Plan{Mode: ModeRead, Items: []ItemPlan{}}
	ones := 0
	for _, part := range sel.Parts {
		if part.Range.Kind == selection.None {
			continue
		}
		p.RCU = p.RCU.Add(m.engine.unread(part, sel.Whole).Times(consistency(strong)))
		if part.Range.Kind == selection.One {
			ones++
		} else {
			p.requests++
		}
	}
	p.requests += (ones + cost.MaxBatchGet - 1) / cost.MaxBatchGet
	m.engine.planLocate(sel, strong, p)
	return p, nil
}

// planLoad plans the load of an entity whose items are known.
func (g *engine) planLoad(s *state, sel selection.Selection, strong bool) (*Plan, error) {
	p, err := g.rehearse(s, sel, func(p *staging.Protocol, e *staging.Entity, t *write.Tally) error {
		// What engine.load does: the two have to read the same way.
		_, err := p.Read(context.Background(), e, read.Options{Strong: strong}, t)
		return err
	})
	if err == nil && g.outside != nil {
		g.planBring(s, sel, p)
	}
	return p, err
}

// planBring adds reading the values that lie outside of the items of a selection, as bring does.
func (g *engine) planBring(s *state, sel selection.Selection, out *Plan) {
	for _, it := range g.model.Schema.Items {
		for _, r := range s.Items[it.Index] {
			if !sel.Contains(r.Table.Index, r.SK) {
				continue
			}
			for i, a := range it.Attributes {
				p, outside := large.PointerOf(r.Opaque[i])
				if !outside || a.Value.Type.Lazy {
					continue
				}
				requests, rcu, objects := large.Reading(g.fetcher, p, r.Place, a.Name)
				out.RCU, out.requests, out.Objects = out.RCU.Add(cost.Exactly(rcu)), out.requests+requests, out.Objects.Add(objects)
			}
		}
	}
}

// rehearse returns what reading takes: it runs the protocol that reads on the items that are
// known, from memory, so that it sends what that sends.
func (g *engine) rehearse(s *state, sel selection.Selection, reads func(*staging.Protocol, *staging.Entity, *write.Tally) error) (*Plan, error) {
	return g.rehearseOn(s.Images(), sel, reads)
}

// rehearseOn is rehearse on given items.
func (g *engine) rehearseOn(images []item.Image, sel selection.Selection, reads func(*staging.Protocol, *staging.Entity, *write.Tally) error) (*Plan, error) {
	var tallies [2]write.Tally
	for i, trailing := range []bool{false, true} {
		protocol := *g.protocol
		protocol.Reader = &read.Recalled{TableOf: g.model.TableOf, Images: images, Trailing: trailing}
		e, err := g.entity(sel)
		if err != nil {
			return nil, err
		}
		if err := reads(&protocol, e, &tallies[i]); err != nil {
			return nil, err
		}
	}
	least, most := &tallies[0], &tallies[1]
	p := &Plan{Mode: ModeRead, Items: []ItemPlan{}, RCU: least.RCU, requests: least.Requests}
	if p.RCU.Max = most.RCU.Max; p.RCU.Max > least.RCU.Max {
		p.RCU.If = "an empty answer follows the last item"
	}
	return p, nil
}

// planReads adds what a save reads: the root, where nothing that was loaded tells the
// incarnation of an entity to which something is added, and the old key of one that moves.
func (g *engine) planReads(s *state, d *change.Diff, out *Plan) error {
	if d.Untold {
		out.RCU, out.requests = out.RCU.Add(g.rootRead()), out.requests+1
	}
	if values := change.Values(d.Changes); len(values) > 0 {
		requests, rcu, objects := large.Copying(values)
		out.RCU, out.requests, out.Objects = out.RCU.Add(cost.Exactly(rcu)), out.requests+requests, out.Objects.Add(objects)
	}
	if d.Moves && len(d.Changes) > 0 {
		return g.planLookBack(s, d, out)
	}
	return nil
}

// rootRead is the price of a strong read of the root, in RCU.
func (g *engine) rootRead() cost.Units {
	return cost.Units{Min: 1, Expected: cost.ReadUnits(g.typical.item(g.model.Root())), Max: cost.ReadUnits(cost.MaxItem), If: "the root is larger"}
}

// planLookBack adds looking for what is left behind after a move: what is at the old key then.
func (g *engine) planLookBack(s *state, d *change.Diff, out *Plan) error {
	images := s.Images()
	for _, ch := range d.Changes {
		images = slices.DeleteFunc(images, func(f item.Image) bool { return f.Is(ch.Place) })
		if ch.Kind != write.Delete {
			images = append(images, item.Image{Place: ch.Place, Kind: ch.Item, Size: ch.NewSize})
		}
	}
	sel := selection.Entity(g.model.Schema, g.model.Identity(d.Old))
	look, err := g.rehearseOn(images, sel, remains)
	if err != nil {
		return err
	}
	added := cost.Units{Max: float64(len(sel.Parts)) * cost.ReadUnits(cost.MaxPage+cost.MaxItem), If: "something was added under the old key"}
	out.RCU, out.requests = out.RCU.Add(look.RCU).Add(added), out.requests+look.requests
	return nil
}

// consistency is what a read costs of the units of a strong one.
func consistency(strong bool) float64 {
	if strong {
		return 1
	}
	return 0.5
}

// unread returns the units of reading a part strongly of which nothing is known, in one
// answer. whole reports that it is part of a whole entity.
func (g *engine) unread(part selection.Part, whole bool) cost.Units {
	u := cost.Units{Min: 1, Expected: 1, Max: cost.ReadUnits(cost.MaxPage + cost.MaxItem), If: "the range holds more"}
	if part.Range.Kind != selection.One {
		if whole {
			u.Expected = min(cost.ReadUnits(g.typical.entity(part.Table)), u.Max)
		}
		return u
	}
	u.Max, u.If = cost.ReadUnits(cost.MaxItem), "the item is larger"
	if it, _ := g.model.Schema.Match(part.Table, part.Range.Low); it != nil {
		u.Expected = cost.ReadUnits(g.typical.item(it))
	}
	return u
}

// PlanQuery returns the least number of requests of a query, and the units of the first
// answers.
func (g *engine) PlanQuery(r search.Request) (requests int, rcu cost.Units, err error) {
	x, err := g.search.New(r, &read.Usage{})
	if err != nil {
		return 0, rcu, g.public(err)
	}
	first := x.FirstStage()
	for _, part := range x.Parts() {
		if part.Range.Kind == selection.None {
			continue
		}
		u := g.unread(part, false)
		if slices.Contains(first, part) && !g.model.Future(g.model.TableOf(part)) {
			requests++
		} else {
			u.Min, u.Expected = 0, 0
		}
		if limit := x.Options().Limit; limit > 0 {
			// An answer of so many items is of at most so many bytes.
			u.Max = min(u.Max, cost.ReadUnits(limit*cost.MaxItem))
		}
		rcu = rcu.Add(u.Times(consistency(r.Strong)))
	}
	if x.ReadsTable() {
		hits := r.Limit
		if hits == 0 {
			hits = cost.MaxPage / leastEntry
		}
		behind := cost.Units{Max: float64(hits) * cost.ReadUnits(cost.MaxPage+cost.MaxItem), If: "what the index finds is read from the table"}
		rcu = rcu.Add(behind.Times(consistency(r.Strong)))
	}
	return requests, rcu, nil
}

// leastEntry is the least that an entry of an index takes: two keys, each of a name and a value, in
// bytes.
const leastEntry = 4

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
		return nil, g.public(err)
	}
	part, single := deletion.Single()
	switch {
	case loaded && e.state.Fresh:
		return nil, g.model.Errorf("the entity is not stored: there is nothing to delete (%w)", ErrNotFound)
	case loaded:
		deletion.Loaded(e.state.Snapshot)
		if err := deletion.Check(); err != nil {
			return nil, err
		}
	case single:
		if err := g.blind(deletion, part); err != nil {
			return nil, err
		}
	default:
		return nil, g.model.Errorf("what the selection holds is not known without reading it: load it, and plan the delete of that entity")
	}
	del := &deleting{Deletion: deletion, g: g, settings: settings}
	if loaded {
		del.s = e.state
	}
	plan, err := del.plan()
	if err != nil {
		return nil, err
	}
	out := g.planOf(plan)
	if loaded && plan.Mode == write.Staged {
		err = g.rehearseDelete(del, plan, out)
	}
	return out, err
}

// rehearseDelete adds to the plan of a staged delete what it reads: all items before the mark,
// but where the delete is repeated; all of them behind it, and the root.
func (g *engine) rehearseDelete(del *deleting, plan *write.Plan, out *Plan) error {
	if !del.repeated() {
		before, err := g.rehearse(del.s, del.Selection, remains)
		if err != nil {
			return err
		}
		out.RCU, out.requests = out.RCU.Add(before.RCU), out.requests+before.requests
	}
	marked, images := plan.Steps[0].Requests[0], del.s.Images()
	for i := range images {
		if images[i].Is(marked.Place) {
			images[i].Size = marked.NewSize
		}
	}
	behind, err := g.rehearseOn(images, del.Selection, func(p *staging.Protocol, e *staging.Entity, t *write.Tally) error {
		if err := remains(p, e, t); err != nil {
			return err
		}
		_, err := p.ReadRoot(context.Background(), e, t)
		return err
	})
	if err != nil {
		return err
	}
	out.RCU, out.requests = out.RCU.Add(behind.RCU), out.requests+behind.requests
	return nil
}

// remains reads all that a delete finds.
func remains(p *staging.Protocol, e *staging.Entity, t *write.Tally) error {
	_, err := p.Remains(context.Background(), e, t)
	return err
}
