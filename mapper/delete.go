package mapper

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/itemize/itemize/internal/change"
	"github.com/itemize/itemize/internal/item"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/retry"
	"github.com/itemize/itemize/internal/selection"
	"github.com/itemize/itemize/internal/snapshot"
	"github.com/itemize/itemize/internal/staging"
	"github.com/itemize/itemize/internal/write"
)

// deleting is a delete under way.
type deleting struct {
	*change.Deletion
	g        *engine
	settings writeSettings
	t        *tally
	// s is the state of the entity that is deleted, nil for a selection.
	s *state
}

// delete deletes a selection. s is its state where it is a loaded entity.
func (g *engine) delete(ctx context.Context, sel selection.Selection, s *state, settings writeSettings, t *tally) error {
	if err := g.deletable(settings); err != nil {
		return err
	}
	if s != nil {
		if err := g.findOut(ctx, s, t); err != nil {
			return err
		}
		sel = s.Selection
	}
	if len(sel.Elsewhere) > 0 {
		return g.deleteWhere(ctx, sel, settings, t)
	}
	deletion, err := change.NewDeletion(g.model, sel, settings.staged)
	if err != nil {
		return g.public(err)
	}
	del := &deleting{deletion, g, settings, t, s}
	if s != nil {
		return del.loaded(ctx)
	}
	if p, ok := del.Single(); ok {
		if err := g.blind(deletion, p); err != nil {
			return err
		}
		return g.again(func() error { return del.send(ctx) })
	}
	// What is there is read first. If it changes meanwhile, it is read again.
	return g.repeat(ctx, func() error {
		if err := del.read(ctx); err != nil {
			return err
		}
		return del.send(ctx)
	})
}

// deletable refuses options that contradict each other or a delete.
func (g *engine) deletable(s writeSettings) error {
	switch {
	case s.independent && s.staged:
		return g.model.Errorf("Independent and Staged exclude each other: choose one")
	case s.staged && s.exactlyOnce:
		return g.model.Errorf("Staged and ExactlyOnce exclude each other: choose one")
	case s.staged && !g.model.Reserved.Versions():
		return g.model.Errorf("Staged needs versions, which the model does without (noversion): delete with Independent, or let its items have versions")
	case s.move:
		return g.model.Errorf("Move means nothing for a delete: leave it out")
	case s.reindex:
		return g.model.Errorf("Reindex means nothing for a delete: leave it out")
	case s.checkLoaded:
		return g.model.Errorf("CheckLoaded means nothing for a delete, which requires all that it deletes to be as it was: leave it out")
	}
	return nil
}

// loaded deletes the items of an entity as they were loaded. The entity can be saved
// again afterwards, which inserts it.
func (del *deleting) loaded(ctx context.Context) error {
	s, g := del.s, del.g
	if s.Fresh {
		if len(s.doubts) > 0 {
			return outcomeUnknown(g.model.Label(), s.doubts.Places(), change.ErrLate)
		}
		return g.model.Errorf("the entity is not stored: there is nothing to delete (%w)", ErrNotFound)
	}
	return g.again(func() error { return del.once(ctx) })
}

// once sends the deletes of an entity's items as they are known.
func (del *deleting) once(ctx context.Context) error {
	s, g := del.s, del.g
	del.Loaded(s.Snapshot)
	if err := del.Check(); err != nil {
		return err
	}
	if late := s.doubts.Late(del.All()); len(late) > 0 {
		return outcomeUnknown(g.model.Label(), late.Places(), change.ErrLate)
	}
	if err := del.send(ctx); err != nil {
		if err = del.gone(err); err != nil {
			return err
		}
	}
	if del.Selection.Whole {
		s.Reset()
		s.doubts = nil
	}
	return nil
}

// again runs an operation again as long as what was known turns out not to be true any
// more.
func (g *engine) again(do func() error) error {
	for try := 1; ; try++ {
		if err := do(); !errors.Is(err, errAgain) || try == saveTries {
			return err
		}
	}
}

// gone makes a conflict with somebody who has deleted the whole entity ErrNotFound.
func (del *deleting) gone(err error) error {
	var conflict *ConflictError
	if !errors.As(err, &conflict) || !del.Selection.Whole || len(conflict.Items) < len(del.All()) {
		return err
	}
	for _, it := range conflict.Items {
		if it.Conflict != ConflictDeleted {
			return err
		}
	}
	if len(del.s.doubts) > 0 {
		return nil // an own delete that arrived late
	}
	return del.g.public(del.g.search.RootThere(del.Selection, nil))
}

// read finds out what is there, strongly consistently.
func (del *deleting) read(ctx context.Context) error {
	g := del.g
	e, err := g.entity(del.Selection)
	if err != nil {
		return err
	}
	if !del.Selection.Whole {
		r, err := g.protocol.Read(ctx, e, read.Options{Strong: true}, &del.t.Tally)
		if err != nil {
			return err
		}
		del.Found(slices.DeleteFunc(r.Items, func(f item.Image) bool { return !r.Joined(&f) }))
		return nil
	}
	found, err := g.protocol.Remains(ctx, e, &del.t.Tally)
	if err != nil {
		return err
	}
	if root := del.Found(found); root != nil || len(del.Rest) == 0 {
		return del.known(root)
	}
	return nil // what is left over from an entity is something to delete as well
}

// known returns ErrNotFound of an entity that is not there and has left nothing.
func (del *deleting) known(root *item.Image) error {
	if root != nil && root.Header.Moving() {
		at := ItemConflict{Key: keyOf(root.Place), Field: root.Kind.Name, Conflict: ConflictChanged}
		return &ConflictError{Model: del.g.model.Label(), pending: staging.Pending(root), moving: true, Items: []ItemConflict{at}}
	}
	if root != nil && (!root.Header.Live() || root.Expired && len(del.Rest) > 0) {
		return nil // somebody has begun something, or it has left something: this ends it
	}
	return del.g.public(del.g.search.RootThere(del.Selection, root))
}

// plan arranges the deletes. It does no I/O.
func (del *deleting) plan() (*write.Plan, error) {
	o := del.settings
	c := write.Choice{Independent: o.independent, Staged: o.staged, ExactlyOnce: o.exactlyOnce, Delete: true}
	if del.repeated() {
		c.Independent, c.Staged, c.ExactlyOnce = false, true, false // it goes on as it was begun
	}
	if del.Selection.Whole && del.g.model.Reserved.Versions() {
		c.Steps = del.steps
	}
	return write.Arrange(change.Requests(del.All()), nil, c)
}

// steps makes the steps of a staged delete. Where what is left over has no root, one is put.
func (del *deleting) steps(requests []*write.Request) []write.Step {
	if del.Root == nil {
		requests = append(slices.Clone(requests), &del.Absent().Request)
	}
	return staging.DeleteSteps(del.g.model.Now())(requests)
}

// send sends the deletes.
func (del *deleting) send(ctx context.Context) error {
	plan, err := del.plan()
	if err != nil {
		return err
	}
	del.t.mode = Mode(plan.Mode)
	if plan.Mode == write.Staged {
		return del.staged(ctx, plan)
	}
	for i := range plan.Steps {
		st := &plan.Steps[i]
		o := del.g.sender.Send(ctx, st, &del.t.Tally)
		if !o.OK() {
			return del.g.partial(plan, i, del.stopped(ctx, &o))
		}
		del.applied(st.Requests)
	}
	return nil
}

// errAgain says that what is known of the items has changed, so that a delete of what was
// read has to be done again.
var errAgain = errors.New("the items kept changing while they were deleted: delete again")

// stopped finds out what to do about a step that was not written.
func (del *deleting) stopped(ctx context.Context, o *write.Outcome) error {
	// The first copy of a transaction may still arrive, and then it must not find it done.
	final := o.State == write.Rejected && !(o.Unsure && del.settings.exactlyOnce)
	if _, single := del.Single(); single && final && del.s == nil {
		return del.inTheWay(ctx, o)
	}
	s := del.s
	if s == nil {
		s = &state{Snapshot: &snapshot.Snapshot{Model: del.g.model}, engine: del.g}
	}
	d := &change.Diff{Keys: snapshot.Keys{KeyFields: del.Selection.Identity}}
	again, err := del.g.stopped(ctx, s, d, o, del.t)
	if again {
		return del.g.model.Errorf("%w", errAgain)
	}
	return err
}

// inTheWay finds out about an item that is deleted unread, and that a staged insert has put:
// it is the live entity's, or left over, or of what somebody is doing.
func (del *deleting) inTheWay(ctx context.Context, o *write.Outcome) error {
	root, err := del.g.readRoot(ctx, del.Selection, del.t)
	if err != nil {
		return err
	}
	r, stored := o.Requests[0], o.Stored[0]
	h := r.Reserved.Header(stored)
	if !r.Expect.Blind || len(stored) == 0 || h.Stage == nil { // it has changed since it was looked at
		r.Expect = change.Unread
		return del.g.model.Errorf("%w", errAgain)
	}
	if pending := staging.Pending(root); pending != "" && !root.Header.Live() && staging.Holds(root, h.Incarnation) {
		return &ConflictError{Model: del.g.model.Label(), pending: pending, Items: []ItemConflict{{Key: keyOf(r.Place), Field: r.Field, Conflict: ConflictCreated}}}
	}
	r.Expect = write.Expect{Version: h.Version} // as it is now
	if h.Version == nil {
		r.Expect.Old = write.SomeOldValues(r.Place, stored)
	}
	return del.g.model.Errorf("%w", errAgain)
}

// applied forgets items that were deleted.
func (del *deleting) applied(requests []*write.Request) {
	if del.s == nil {
		return
	}
	effects := change.Effects(requests)
	del.s.Forget(effects)
	del.s.doubts = del.s.doubts.Overwritten(effects)
}

// staged deletes an entity of any size.
func (del *deleting) staged(ctx context.Context, plan *write.Plan) error {
	e, err := del.g.entity(del.Selection)
	if err != nil {
		return err
	}
	e.Belongs = del.Belongs
	repeated := del.repeated()
	if del.s != nil && !repeated {
		if gone, err := del.unchanged(ctx, e); gone || err != nil {
			return err
		}
	}
	r := del.g.protocol.Delete(ctx, e, plan, &del.t.Tally)
	for _, at := range r.Others {
		del.t.alsoDeleted = append(del.t.alsoDeleted, keyOf(at))
	}
	switch begun := len(r.Applied) > 0; {
	case r.OK(), repeated && r.State == write.Rejected && !begun: // what it marked is never live again
		return nil
	case !begun && r.State == write.Rejected && plan.Steps[0].Requests[0].Kind == write.Put:
		at := plan.Steps[0].Requests[0]
		return &ConflictError{Model: del.g.model.Label(), Items: []ItemConflict{{Key: keyOf(at.Place), Field: at.Field, Conflict: ConflictCreated}}}
	case !begun:
		return del.stopped(ctx, &r.Outcome)
	case del.s != nil:
		del.s.apply(snapshot.Keys{}, r.Applied) // so that it can be repeated
	}
	err = r.Err
	if r.State == write.Unknown {
		err = outcomeUnknown(del.g.model.Label(), placesOf(r.Requests), r.Err)
	}
	mark := plan.Steps[0].Requests[0]
	return &PartialError{
		Model: del.g.model.Label(), Written: []Key{keyOf(mark.Place)},
		Rest: append(keysOf(change.Requests(del.Rest)), keyOf(mark.Place)), Err: err,
	}
}

// repeated reports whether a staged delete of the loaded entity has begun before.
func (del *deleting) repeated() bool {
	return del.s != nil && del.Root != nil && !del.Root.Header.Live()
}

// unchanged returns a conflict unless a loaded entity is as it was loaded. gone reports that
// there is nothing to delete any more: an own delete has arrived late.
func (del *deleting) unchanged(ctx context.Context, e *staging.Entity) (gone bool, err error) {
	found, err := del.g.protocol.Remains(ctx, e, &del.t.Tally)
	if err != nil {
		return false, err
	}
	if del.arrived(found) {
		return false, del.g.model.Errorf("%w", errAgain)
	}
	conflict := &ConflictError{Model: del.g.model.Label()}
	for _, d := range del.Differences(found) {
		conflict.Items = append(conflict.Items, ItemConflict{Key: keyOf(d.Place), Field: d.Field, Conflict: Conflict(d.What)})
	}
	if len(conflict.Items) == 0 {
		return false, nil
	}
	err = del.gone(conflict)
	return err == nil, err
}

// arrived reports whether an own mark whose answer was lost has arrived, and applies it.
func (del *deleting) arrived(found []item.Image) bool {
	return slices.ContainsFunc(found, func(f item.Image) bool { return del.g.adoptAt(del.s, f.Place, f.Attributes()) })
}

// updateTries bounds how often an operation is repeated because of conflicts. The pauses
// between grow to a second, so that it is reached only where writers come without end.
const updateTries = 100

// repeat runs an operation again as long as it ends in a conflict with nothing written.
func (g *engine) repeat(ctx context.Context, do func() error) error {
	for try := 1; ; try++ {
		err := do()
		var conflict *ConflictError
		var partial *PartialError
		// What was written in part, or an entity that is in the way, does not go away by
		// doing it again.
		if !errors.As(err, &conflict) || errors.As(err, &partial) || errors.Is(err, ErrExists) || conflict.moving || try == updateTries {
			return err
		}
		if pauseErr := retry.Pause(ctx, try); pauseErr != nil {
			return fmt.Errorf("%w (%w)", pauseErr, err)
		}
	}
}
