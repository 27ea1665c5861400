package operation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/itemize/itemize/internal/large/extern"
	"github.com/itemize/itemize/internal/save/change"
	"github.com/itemize/itemize/internal/save/write"
)

// external are the external values of a part. They are stored before the transaction that commits their pointers.
type external struct {
	env *Env
	// group are the values of the last plan, nil for none, and former those of earlier plans.
	// The steps of a group are sent before the items, and its commit in the transaction that writes them.
	group  *extern.Group
	former []*extern.Group
	// discarded reports that the values of the last plan were discarded, and late that one group took
	// too long to store.
	discarded, late bool
}

// arrange makes a group of the external values of changes, or keeps that of the last plan if they are the same.
func (x *external) arrange(env *Env, changes []*change.Change) (err error) {
	x.env = env
	values := change.Values(changes)
	switch {
	case x.group != nil && x.group.Adopts(values):
		change.Point(changes, x.group.Values)
		return nil
	case x.group != nil:
		x.former = append(x.former, x.group)
		x.group = nil
	}
	if x.discarded = false; len(values) > 0 {
		x.group, err = env.External.Group(values, env.Model.Now())
	}
	return err
}

// rearrange makes the changes of a patch point to the group of the last plan, or to a new one if that was discarded.
func (x *external) rearrange(changes []*change.Change) error {
	// The changes of a patch are not computed again for each plan.
	switch {
	case !x.discarded && x.group == nil:
		return nil
	case !x.discarded:
		change.Point(changes, x.group.Values)
		return nil
	}
	change.Renew(changes, x.env.Model.Now())
	return x.arrange(x.env, changes)
}

// last returns the group of the last plan, an empty one for none.
func (x *external) last() *extern.Group {
	if x.group == nil {
		return &noValues
	}
	return x.group
}

var noValues extern.Group

// errDiscarded says that another process collected values before their pointers were committed.
var errDiscarded = errors.New("its external values expired before items pointed to them: write them again")

// store stores the values; retry reports that new values have to be stored, once if that takes too long.
func (x *external) store(ctx context.Context, t *Tally) (retry bool, err error) {
	x.discardFormer(ctx, t)
	if x.group == nil {
		return false, nil
	}
	if err = x.env.External.Store(ctx, x.group, &t.Tally); err == nil {
		return false, nil
	}
	late := errors.Is(err, extern.ErrLate) && ctx.Err() == nil
	retry = late && !x.late
	x.late = x.late || late
	x.drop(ctx, t)
	if late {
		return retry, fmt.Errorf("%w: %w (%v)", errDiscarded, err, x.env.External.Bound)
	}
	return false, x.env.Model.Errorf("storing external values failed, before any item pointed to them: %w", err)
}

// resolve asks the record of the values whether the step that commits their pointers was applied; the error says that
// it was not: new values have to be stored.
func (x *external) resolve(ctx context.Context, o write.Outcome, t *Tally) (write.Outcome, error) {
	i := slices.Index(o.Requests, x.group.Commit)
	if i < 0 {
		return o, nil // a step without external values
	}
	unsure := o.State == write.Unknown || o.State == write.Rejected && o.Unsure
	state := extern.Open
	if o.State == write.Rejected && o.Stored[i] != nil {
		state = extern.StateOf(o.Stored[i])
	}
	if unsure && state == extern.Open {
		var err error
		if state, err = x.discardExternal(ctx, x.group, t); err != nil {
			return o, nil // still unknown
		}
		if state == extern.Aborted { // nothing was written, nor will be
			o.Unsure = false
			if o.State == write.Unknown {
				o.State = write.Failed
			}
			return o, nil
		}
	}
	switch {
	case state == extern.Committed:
		t.MarkReported(o.Requests)
		return write.Outcome{State: write.Written, Requests: o.Requests}, nil
	case state == extern.Aborted, state == "" && !unsure:
		x.drop(ctx, t)
		return o, errDiscarded
	}
	return o, nil
}

// drop discards all values that no item points to: of earlier plans, and of the last one.
func (x *external) drop(ctx context.Context, t *Tally) {
	x.discardFormer(ctx, t)
	if x.group != nil {
		_, _ = x.discardExternal(ctx, x.group, t) // the collector removes the rest
		x.group, x.discarded = nil, true
	}
}

// renew has the next plan store the values again, after items that pointed to them were deleted.
func (x *external) renew() {
	if x.group != nil {
		// the collector removes the values
		x.group, x.discarded = nil, true
	}
}

// discardFormer discards the values of earlier plans.
func (x *external) discardFormer(ctx context.Context, t *Tally) {
	for _, old := range x.former {
		_, _ = x.discardExternal(ctx, old, t)
	}
	x.former = nil
}

// timeToGiveUp is how long an operation may take to discard a group after its context has ended.
const timeToDiscard = 10 * time.Second

// discardExternal discards a group, also if the context has ended, and returns the state of its record.
func (x *external) discardExternal(ctx context.Context, group *extern.Group, t *Tally) (extern.State, error) {
	if ctx.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), timeToDiscard)
		defer cancel()
	}
	return x.env.External.Discard(ctx, group, &t.Tally)
}

// resolve asks the records of external values whether a step that commits their pointers was applied; the error says
// that it was not: new values have to be stored.
func (x *Operation) resolve(ctx context.Context, o write.Outcome, t *Tally) (write.Outcome, error) {
	asked := false
	for _, p := range x.parts {
		external := &p.base().external
		switch {
		case external.group == nil:
			continue
		case asked && (o.State != write.Rejected || o.Unsure):
			return o, nil // the first record decides for all
		}
		asked = true
		now, err := external.resolve(ctx, o, t)
		if err != nil || now.State != o.State {
			return now, err
		}
		o = now
	}
	return o, nil
}
