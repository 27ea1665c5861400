package mapper

import (
	"context"
	"errors"
	"fmt"

	"github.com/itemize/itemize/internal/change"
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
	deletion, err := change.NewDeletion(g.model, sel, settings.staged)
	if err != nil {
		return err
	}
	del := &deleting{deletion, g, settings, t, s}
	if s != nil {
		return del.loaded(ctx)
	}
	if p, ok := del.Single(); ok {
		if err := g.blind(deletion, p); err != nil {
			return err
		}
		return del.send(ctx)
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
	case s.move, s.checkLoaded:
		return g.model.Errorf("Move and CheckLoaded mean nothing for a delete: leave them out")
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
		return g.model.Errorf("the entity was never stored: there is nothing to delete")
	}
	return g.again(func() error { return del.once(ctx) })
}

// once sends the deletes of an entity's items as they are known.
func (del *deleting) once(ctx context.Context) error {
	s, g := del.s, del.g
	del.Loaded(s.Snapshot)
	if late := s.doubts.Late(del.All()); len(late) > 0 {
		return outcomeUnknown(g.model.Label(), late.Places(), change.ErrLate)
	}
	if err := del.send(ctx); err != nil {
		return del.gone(err)
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
	return notFound(del.g.model.Label(), del.g.model.EntityName(del.Selection.Identity), "")
}

// read finds out what is there, strongly consistently.
func (del *deleting) read(ctx context.Context) error {
	g := del.g
	found, err := g.protocol.Collect(ctx, del.Selection.Parts, read.Options{Strong: true}, &del.t.Tally)
	if err != nil {
		return err
	}
	root := del.Found(found)
	if !del.Selection.Whole || del.Begun || root == nil && len(del.Rest) > 0 {
		return nil // what is left over from an entity is something to delete as well
	}
	return g.public(g.search.RootThere(del.Selection, root))
}

// plan arranges the deletes. It does no I/O.
func (del *deleting) plan() (*write.Plan, error) {
	o := del.settings
	c := write.Choice{Independent: o.independent, Staged: o.staged, ExactlyOnce: o.exactlyOnce, Delete: true, Unfinished: del.Begun}
	if del.Root != nil {
		c.Steps = staging.DeleteSteps(del.g.model.Now())
	}
	return write.Arrange(change.Requests(del.All()), nil, c)
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

// applied forgets items that were deleted.
func (del *deleting) applied(requests []*write.Request) {
	if del.s == nil {
		return
	}
	del.s.doubts = del.s.doubts.Overwritten(del.s.Forget(change.Effects(requests)))
}

// staged deletes an entity of any size.
func (del *deleting) staged(ctx context.Context, plan *write.Plan) error {
	e, err := del.g.entity(del.Selection, nil)
	if err != nil {
		return err
	}
	r := del.g.protocol.Delete(ctx, e, plan, &del.t.Tally)
	begun := len(plan.Steps) == 2 || len(r.Applied) > 0
	if del.s != nil && len(r.Applied) > 0 {
		del.s.apply(snapshot.Keys{}, r.Applied) // so that it can be repeated
	}
	if r.OK() {
		return nil
	}
	if !begun {
		return del.stopped(ctx, &r.Outcome)
	}
	err = r.Err
	if r.State == write.Unknown {
		err = outcomeUnknown(del.g.model.Label(), placesOf(r.Requests), r.Err)
	}
	return &PartialError{
		Model: del.g.model.Label(), Written: []Key{keyOf(del.Root.Place)},
		Rest: keysOf(change.Requests(append(append([]*change.Change{}, del.Rest...), del.Root))), Err: err,
	}
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
		if !errors.As(err, &conflict) || errors.As(err, &partial) || errors.Is(err, ErrExists) || try == updateTries {
			return err
		}
		if pauseErr := retry.Pause(ctx, try); pauseErr != nil {
			return fmt.Errorf("%w (%w)", pauseErr, err)
		}
	}
}
