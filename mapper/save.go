package mapper

import (
	"context"
	"errors"
	"fmt"

	"github.com/itemize/itemize/internal/change"
	"github.com/itemize/itemize/internal/item"
	"github.com/itemize/itemize/internal/retry"
	"github.com/itemize/itemize/internal/selection"
	"github.com/itemize/itemize/internal/snapshot"
	"github.com/itemize/itemize/internal/staging"
	"github.com/itemize/itemize/internal/write"
)

// A save goes its way in four steps: what differs, how it is sent, the sending, and what
// is stored then. Where the outcome shows that what was known of the items is not true any
// more, it goes round again.

// saveTries bounds how often a save is planned again because items turned out to be the
// entity's own, or leftovers.
const saveTries = 10

// save writes what differs.
func (g *engine) save(ctx context.Context, s *state, v any, settings writeSettings, t *tally) error {
	wasFresh := s.Fresh
	s.Hidden = nil
	if err := g.findOut(ctx, s, t); err != nil {
		return err
	}
	if err := new(change.Readers).Given(g.model, v); err != nil {
		return g.public(err)
	}
	var values aside
	var anew anew
	for try, tries := 0, saveTries; try < tries; try++ {
		if wasFresh && !s.Fresh {
			settings.staged = false // the insert that was in doubt has succeeded
		}
		if try > 0 {
			if err := retry.Pause(ctx, try); err != nil {
				return g.model.Errorf("%w", err)
			}
		}
		d, err := g.diff(s, v, settings)
		if err == nil && d.Untold {
			if err = g.tell(ctx, s, t); err == nil {
				d, err = g.diff(s, v, settings)
			}
		}
		if err == nil {
			err = values.arrange(g, d.Changes)
		}
		var plan *write.Plan
		if err == nil {
			plan, err = arrange(s, d, settings, &values)
		}
		if err != nil {
			values.giveUp(ctx, t)
			return err
		}
		if len(t.Items) == 0 { // else a part of it is written, in the mode that it began in
			t.mode, t.alternatives = Mode(plan.Mode), alternatives(plan, s, d)
		}
		again, err := g.send(ctx, s, d, &sending{plan, &values}, t)
		switch {
		case anew.again(err):
		case err != nil:
			values.giveUp(ctx, t)
			return err
		case !again:
			change.SettleAll(s.Snapshot, v)
			return nil
		}
		tries = max(tries, saveTries+len(d.Changes)) // each item may have something in its way
	}
	values.giveUp(ctx, t)
	return g.model.Errorf("the items kept changing while they were saved: load again")
}

// sending is a plan that is sent, and the values outside of their items that it points to.
type sending struct {
	*write.Plan
	values *aside
}

// tell reads the root of an entity to which something is added, where nothing that was loaded
// tells its incarnation.
func (g *engine) tell(ctx context.Context, s *state, t *tally) error {
	root, err := g.readRoot(ctx, s.Selection, t)
	if err != nil {
		return err
	}
	if err := g.search.RootThere(s.Selection, root); err != nil {
		return g.public(err)
	}
	s.Tell(root.Header.Incarnation)
	return nil
}

// diff compares a value with what is known of it. It does no I/O.
func (g *engine) diff(s *state, v any, settings writeSettings) (*change.Diff, error) {
	if err := g.compatible(s, settings); err != nil {
		return nil, err
	}
	d, err := change.Of(s.Snapshot, s.doubts, v, change.Options{Move: settings.move, Checks: settings.checkLoaded, Reindex: settings.reindex, Root: settings.checkRoot})
	if err != nil {
		return nil, g.public(err)
	}
	for _, ch := range d.Checks {
		if ch.Unread {
			g.typical.expect(ch)
		}
	}
	return d, nil
}

// arrange decides how a diff is sent. It does no I/O.
func arrange(s *state, d *change.Diff, settings writeSettings, values *aside) (*write.Plan, error) {
	checks := d.Checks
	if len(d.Changes) == 0 {
		checks = nil // a save that writes nothing asks nothing
	}
	c := s.choice(d, settings)
	c.Flip = values.flip()
	p, err := write.Arrange(change.Requests(d.Changes), change.Requests(checks), c)
	if err == nil {
		p.Before, _ = values.before()
	}
	return p, err
}

// choice is what the caller has asked for, and what the entity allows.
func (s *state) choice(d *change.Diff, settings writeSettings) write.Choice {
	c := write.Choice{Independent: settings.independent, Staged: settings.staged, ExactlyOnce: settings.exactlyOnce, Move: d.Moves}
	if s.Fresh && len(d.Changes) > 1 && s.Model.Reserved.Versions() {
		c.Steps = staging.InsertSteps(s.Model.Now())
	}
	return c
}

// compatible refuses options that contradict each other or the entity.
func (g *engine) compatible(s *state, o writeSettings) error {
	refuse := func(text string) error { return g.model.Errorf("%s", text) }
	switch {
	case o.independent && o.staged:
		return refuse("Independent and Staged exclude each other: choose one")
	case o.independent && o.checkLoaded:
		return refuse("Independent and CheckLoaded exclude each other: only a transaction checks other items")
	case o.staged && o.checkLoaded:
		return refuse("Staged and CheckLoaded exclude each other: only a transaction checks other items")
	case o.staged && o.exactlyOnce:
		return refuse("Staged and ExactlyOnce exclude each other: choose one")
	case o.independent && o.move:
		return refuse("Independent and Move exclude each other: an entity moves at once, or not")
	case o.checkRoot && (o.independent || o.staged || o.move):
		return refuse("CheckRoot is for one transaction: leave Independent, Staged and Move out")
	case o.staged && !s.Model.Reserved.Versions():
		return refuse("Staged needs versions, which the model does without (noversion): save with Independent, or let its items have versions")
	case o.staged && !s.Fresh:
		return refuse("Staged is for inserts and deletes: save without it, or with Independent")
	}
	if root := s.Root(); root != nil && !root.Header.Live() {
		return refuse("the entity's delete has begun and is not finished, so that it is not found any more: delete it again, and insert it as a new entity")
	}
	return nil
}

// send sends a plan, and applies each step when it is written. again reports that what is
// known of the items has changed, so that the save has to be planned again.
func (g *engine) send(ctx context.Context, s *state, d *change.Diff, x *sending, t *tally) (again bool, err error) {
	if err := x.values.store(ctx, t); err != nil {
		return true, err
	}
	plan := x.Plan
	if plan.Mode == write.Staged {
		return g.insert(ctx, s, d, x, t)
	}
	for i := range plan.Steps {
		st := &plan.Steps[i]
		o := g.sender.Send(ctx, st, &t.Tally)
		if !o.OK() {
			if o, err = x.values.told(ctx, o, t); err != nil {
				return true, g.partial(plan, i, err)
			}
		}
		if !o.OK() {
			again, err := g.stopped(ctx, s, d, &o, t)
			if again {
				return true, nil
			}
			return false, g.partial(plan, i, err)
		}
		s.apply(d.Keys, st.Requests)
	}
	if d.Keys.KeyFields != nil {
		s.Arrive(d.Keys)
	}
	if d.Moves && len(d.Changes) > 0 {
		return false, g.lookBack(ctx, d, t)
	}
	return false, nil
}

// lookBack notes what somebody has added under an entity's old key while it moved away.
func (g *engine) lookBack(ctx context.Context, d *change.Diff, t *tally) error {
	sel := selection.Entity(g.model.Schema, g.model.Identity(d.Old))
	e, err := g.entity(sel)
	var found []item.Image
	if err == nil {
		found, err = g.protocol.Remains(ctx, e, &t.Tally)
	}
	if err != nil {
		return &PartialError{
			Model: g.model.Label(), Written: keysOf(change.Requests(d.Changes)),
			Err: fmt.Errorf("it has moved, and what somebody may have added under its old key meanwhile could not be read: %w", err),
		}
	}
	for i := range found {
		if f := &found[i]; d.LeftBehind(g.model, f) {
			t.leftBehind = append(t.leftBehind, keyOf(f.Place))
		}
	}
	return nil
}

// apply notes requests that are stored now.
func (s *state) apply(keys snapshot.Keys, requests []*write.Request) {
	change.Settle(s.Model, requests)
	effects := change.Effects(requests)
	if len(s.doubts) > 0 {
		s.doubts = s.doubts.Overwritten(effects)
	}
	s.Apply(keys, effects)
}

// partial is the error of a plan that ended at a step: of the first it is the step's own.
func (g *engine) partial(plan *write.Plan, at int, err error) error {
	if at == 0 {
		return err
	}
	e := &PartialError{Model: g.model.Label(), Err: err}
	for i, st := range plan.Steps {
		if i < at {
			e.Written = append(e.Written, keysOf(st.Requests)...)
		} else {
			e.Rest = append(e.Rest, keyOf(st.Requests[0].Place))
		}
	}
	return e
}

// stopped finds out what to do about a step that was not written: to plan again, where the
// items turned out to hold an earlier write of this entity, or leftovers; or to report it.
func (g *engine) stopped(ctx context.Context, s *state, d *change.Diff, o *write.Outcome, t *tally) (again bool, err error) {
	switch o.State {
	case write.Unknown:
		return false, g.unknown(s, d, o)
	case write.Failed:
		return false, refusedBy(o.Err)
	}
	switch {
	case g.adoptStored(s, o):
		return true, nil
	case o.Unsure && !o.Assumed:
		return false, g.unknown(s, d, o)
	}
	again, err = g.refused(ctx, s, d, o, t)
	if o.Unsure && !again {
		return false, g.unknown(s, d, o)
	}
	return again, err
}

// refused finds out what stands in the way of a step, and whether it may be replaced.
func (g *engine) refused(ctx context.Context, s *state, d *change.Diff, o *write.Outcome, t *tally) (again bool, err error) {
	refusal := g.refusal(s, d.Keys.KeyFields, o)
	if errors.Is(refusal, ErrExists) {
		return s.takeOver(o), refusal
	}
	dead, err := g.dead(ctx, s, d, o, t)
	if err != nil {
		return false, err
	}
	return dead, refusal
}

// takeOver notes a root that a staged write has left unfinished, so that the next plan takes
// it over. It reports whether there is one.
func (s *state) takeOver(o *write.Outcome) bool {
	for i, r := range o.Requests {
		if !r.Root || !r.New || o.Stored[i] == nil {
			continue
		}
		if h := r.Reserved.Header(o.Stored[i]); !h.Live() && !h.Moving() && !s.HiddenAt(r.Place).Is(h) {
			s.Hide(r.Place, r.Reserved.HiddenOf(o.Stored[i]))
			return true
		}
	}
	return false
}

// dead notes what entities that are no more have left in the place of new items, so that the
// next plan replaces it. It reports whether there is any.
func (g *engine) dead(ctx context.Context, s *state, d *change.Diff, o *write.Outcome, t *tally) (bool, error) {
	e, err := g.entity(selection.Selection{Identity: g.model.Identity(d.Keys.KeyFields)})
	if err != nil {
		return false, err
	}
	dead, err := g.protocol.Dead(ctx, e, o, s.HiddenAt, &t.Tally)
	for i, h := range dead {
		s.Hide(o.Requests[i].Place, h)
	}
	return len(dead) > 0, err
}

// insert sends the plan of a staged insert.
func (g *engine) insert(ctx context.Context, s *state, d *change.Diff, x *sending, t *tally) (again bool, err error) {
	plan := x.Plan
	e, err := g.entity(selection.Entity(g.model.Schema, g.model.Identity(d.Keys.KeyFields)))
	if err != nil {
		return false, err
	}
	r := g.protocol.Insert(ctx, e, plan, &t.Tally)
	if !r.OK() && x.values.points() {
		if r.Outcome, err = x.values.told(ctx, r.Outcome, t); err != nil {
			return true, err
		}
		if r.OK() {
			r.Applied = r.Doubt
		}
	}
	switch r.State {
	case write.Written:
		s.apply(d.Keys, r.Applied)
		s.Arrive(d.Keys)
		return false, nil
	case write.Unknown:
		if r.Doubt != nil {
			x := change.NewDoubt(g.model, r.Doubt, d.Keys, r.Tellers)
			x.Whole = true
			s.doubts = append(s.doubts, x)
		}
		return false, outcomeUnknown(g.model.Label(), placesOf(r.Requests), r.Err)
	case write.Rejected:
		if g.adoptStored(s, &r.Outcome) {
			return true, nil
		}
		return false, g.overtaken(g.refusal(s, d.Keys.KeyFields, &r.Outcome), &r.Outcome)
	}
	return false, r.Err
}

// overtaken tells an insert whose claim somebody else took over from one whose entity exists.
func (g *engine) overtaken(refusal error, o *write.Outcome) error {
	r, stored := o.Requests[0], o.Stored[0]
	var conflict *ConflictError
	if stored == nil || !r.Root || !errors.As(refusal, &conflict) || len(stored) > 0 && r.Reserved.Header(stored).Live() {
		return refusal
	}
	conflict.pending = "somebody else has begun to insert or delete it meanwhile: insert again"
	return conflict
}
