package mapper

import (
	"context"
	"errors"
	"slices"

	"github.com/itemize/itemize/internal/change"
	"github.com/itemize/itemize/internal/selection"
	"github.com/itemize/itemize/internal/snapshot"
	"github.com/itemize/itemize/internal/write"
)

// savePart saves an entity in a transaction.
type savePart struct {
	g        *engine
	s        *state
	v        any
	settings writeSettings
	d        *change.Diff
	done     func()
	aside
}

func (p *savePart) requests() (_ []*write.Request, err error) {
	if p.d, err = p.g.diff(p.s, p.v, p.settings); err != nil {
		return nil, err
	}
	if err := p.arrange(p.g, p.d.Changes); err != nil {
		return nil, err
	}
	return p.flipped(append(change.Requests(p.d.Changes), change.Requests(p.d.Checks)...)), nil
}

func (p *savePart) ready(ctx context.Context, t *tally) error {
	p.s.Hidden = nil
	if err := p.g.findOut(ctx, p.s, t); err != nil {
		return err
	}
	if _, err := p.requests(); err != nil || !p.d.Untold {
		return err
	}
	return p.g.tell(ctx, p.s, t)
}

func (p *savePart) reads(out *Plan) error { return p.g.planReads(p.s, p.d, out) }

func (p *savePart) applied(requests []*write.Request) {
	p.s.apply(p.d.Keys, requests)
	if p.d.Keys.KeyFields != nil {
		p.s.Arrive(p.d.Keys)
	}
	change.SettleAll(p.s.Snapshot, p.v)
	p.done()
}

func (p *savePart) adopts(o *write.Outcome) bool { return p.g.adoptStored(p.s, o) }

func (p *savePart) refused(ctx context.Context, o *write.Outcome, t *tally) error {
	again, err := p.g.refused(ctx, p.s, p.d, o, t)
	if again {
		return nil
	}
	return err
}

// harmless: what was read has to be as it was, so that a second copy is refused.
func (p *savePart) harmless(o *write.Outcome) bool { return guards(o.Requests) }

func (p *savePart) unknown(o *write.Outcome, all []*write.Request) {
	if slices.ContainsFunc(o.Requests, (*write.Request).Writes) {
		p.g.doubt(p.s, p.d, o.Requests, all)
	}
}

// deletePart deletes an entity, or a selection, in a transaction.
type deletePart struct {
	*deleting
	// told reports that it is known what is there, over that an earlier delete turned out to be done.
	told, over bool
	done       func()
}

func (g *engine) deletePart(sel selection.Selection, s *state, done func()) (member, error) {
	if s != nil {
		sel = s.Selection
	}
	if len(sel.Elsewhere) > 0 {
		return nil, g.unlocated()
	}
	deletion, err := change.NewDeletion(g.model, sel, false)
	if err != nil {
		return nil, g.public(err)
	}
	p := &deletePart{deleting: &deleting{Deletion: deletion, g: g, s: s}, done: done}
	single, ok := p.Single()
	switch {
	case s != nil && s.Fresh && len(s.doubts) == 0:
		return nil, g.model.Errorf("the entity is not stored: there is nothing to delete (%w)", ErrNotFound)
	case s == nil && ok:
		p.told = true
		return p, g.blind(deletion, single)
	}
	return p, nil
}

func (p *deletePart) requests() ([]*write.Request, error) {
	switch {
	case p.over:
		return nil, nil
	case p.s != nil:
		p.Loaded(p.s.Snapshot)
		if late := p.s.doubts.Late(p.All()); len(late) > 0 && p.told {
			return nil, outcomeUnknown(p.g.model.Label(), late.Places(), change.ErrLate)
		}
		if p.repeated() {
			return nil, p.g.model.Errorf("the entity's delete has begun and is not finished: finish it by itself, with Delete")
		}
	case !p.told:
		return nil, errUnread
	}
	requests := change.Requests(p.All())
	return requests, p.Check()
}

// ready finds out about a loaded entity's writes in doubt, or what there is of a selection.
func (p *deletePart) ready(ctx context.Context, t *tally) error {
	p.t = t
	if p.s != nil {
		p.told = true
		was := p.s.Fresh
		if err := p.g.findOut(ctx, p.s, t); err != nil {
			return err
		}
		if p.s.Fresh && len(p.s.doubts) > 0 {
			return outcomeUnknown(p.g.model.Label(), p.s.doubts.Places(), change.ErrLate)
		}
		if p.over = p.s.Fresh && !was; p.over {
			return nil
		}
		if p.s.Fresh {
			return p.g.model.Errorf("the entity is not stored: there is nothing to delete (%w)", ErrNotFound)
		}
		return nil
	}
	if p.told {
		return nil
	}
	p.told = true
	return p.deleting.read(ctx)
}

func (p *deletePart) reads(*Plan) error { return nil }

func (p *deletePart) applied(requests []*write.Request) {
	if p.s == nil {
		return
	}
	p.deleting.applied(requests)
	if p.Selection.Whole {
		p.s.Reset()
		p.s.doubts = nil
	}
	p.done()
}

func (p *deletePart) adopts(o *write.Outcome) bool {
	return p.s != nil && p.g.adoptStored(p.s, o)
}

func (p *deletePart) refused(ctx context.Context, o *write.Outcome, t *tally) error {
	if p.s != nil {
		d := &change.Diff{Keys: snapshot.Keys{KeyFields: p.Selection.Identity}}
		again, err := p.g.refused(ctx, p.s, d, o, t)
		if again {
			return nil
		}
		return p.gone(err)
	}
	if _, single := p.Single(); single {
		if err := p.inTheWay(ctx, o); !errors.Is(err, errAgain) {
			return err
		}
		return nil
	}
	return p.deleting.read(ctx) // somebody has changed what was read
}

func (p *deletePart) harmless(*write.Outcome) bool { return true }

func (p *deletePart) unknown(o *write.Outcome, all []*write.Request) {
	if p.s != nil && len(o.Requests) > 0 {
		p.g.doubt(p.s, &change.Diff{Keys: snapshot.Keys{KeyFields: p.Selection.Identity}}, o.Requests, all)
	}
}

// patchPart writes a patch in a transaction.
type patchPart struct{ *patching }

func (g *engine) patchPart(is entityPatch) (member, error) {
	if len(is.returns) > 0 {
		return nil, g.model.Errorf("Return needs a patch of one item that is one plain request: leave it out in a transaction, and load afterwards")
	}
	sel := is.selection(g)
	if len(sel.Elsewhere) > 0 {
		return nil, g.unlocated()
	}
	x, err := g.patching(is, sel, writeSettings{})
	if err != nil {
		return nil, err
	}
	x.Name()
	return &patchPart{x}, nil
}

func (p *patchPart) requests() ([]*write.Request, error) {
	if err := p.again(p.changes()); err != nil {
		return nil, err
	}
	return p.flipped(p.Requests()), nil
}

func (p *patchPart) ready(ctx context.Context, t *tally) error {
	if p.Entity {
		return p.bind(ctx, t)
	}
	return nil
}

func (p *patchPart) reads(out *Plan) error {
	p.planBind(out)
	out.again = out.again || p.repeats()
	return nil
}

func (p *patchPart) applied([]*write.Request) {}

func (p *patchPart) adopts(*write.Outcome) bool { return false }

func (p *patchPart) refused(ctx context.Context, o *write.Outcome, t *tally) error {
	return p.clear(ctx, o, t)
}

func (p *patchPart) unknown(*write.Outcome, []*write.Request) {}

// rawPart is an item of the caller's own making.
type rawPart struct{ r *write.Request }

func (p *rawPart) requests() ([]*write.Request, error)      { return []*write.Request{p.r}, nil }
func (p *rawPart) ready(context.Context, *tally) error      { return nil }
func (p *rawPart) reads(*Plan) error                        { return nil }
func (p *rawPart) applied([]*write.Request)                 {}
func (p *rawPart) adopts(*write.Outcome) bool               { return false }
func (p *rawPart) harmless(*write.Outcome) bool             { return false }
func (p *rawPart) unknown(*write.Outcome, []*write.Request) {}

func (p *rawPart) refused(_ context.Context, o *write.Outcome, _ *tally) error {
	what := ConflictChanged
	if len(o.Stored[0]) == 0 {
		what = ConflictDeleted
	}
	key := keyOf(p.r.Place)
	if p.r.RawKey != "" { // nobody knows which of its attributes is the partition key
		key = Key{Table: p.r.Table.Name, Partition: p.r.RawKey}
	}
	return &ConflictError{Model: "mapper.Raw", raw: true, Items: []ItemConflict{{Key: key, Field: p.r.Field, Conflict: what}}}
}
