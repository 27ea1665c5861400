package staging

import (
	"context"
	"errors"

	"github.com/itemize/itemize/internal/item"
	"github.com/itemize/itemize/internal/write"
)

// errTakenOver ends a staged delete whose root an insert has taken over: what is there now
// is the insert's.
var errTakenOver = errors.New("an insert has taken over")

// Delete sends the plan of a staged delete. What it marked is applied even where the
// outcome is not good: the entity is not found any more, and the delete can be repeated.
func (p *Protocol) Delete(ctx context.Context, e *Entity, plan *write.Plan, t *write.Tally) Result {
	var result Result
	steps := plan.Steps
	if len(steps) == 3 {
		mark := steps[0].Requests[0]
		if result.Outcome = p.Sender.One(ctx, mark, t); !result.OK() {
			return result
		}
		result.Applied = []*write.Request{mark}
		steps = steps[1:]
	}
	last := steps[1].Requests[0]
	stage, _ := last.Header.ReadStage()
	still := func(ctx context.Context, t *write.Tally) error {
		ok, err := p.standing(ctx, e, stage, t)
		if err == nil && !ok {
			err = errTakenOver
		}
		return err
	}
	err := p.deleteAll(ctx, e, steps[0].Requests, still, t)
	if err == nil {
		if o := p.Sender.One(ctx, last, t); o.State != write.Rejected || o.Unsure {
			err = unless(o)
		} // else it was finished by somebody else, or taken over
	}
	if errors.Is(err, errTakenOver) {
		err = nil
	}
	result.Outcome = write.Outcome{State: write.Written}
	if err != nil {
		result.Outcome = outcomeOf(err)
	}
	return result
}

// deleteAll deletes items of an entity that is not live any more, several at once. One
// that was written meanwhile is deleted as it is now, if still finds then that the entity
// is still the one to be deleted: what it holds later is conditional on what was seen
// before.
func (p *Protocol) deleteAll(ctx context.Context, e *Entity, all []*write.Request, still func(context.Context, *write.Tally) error, t *write.Tally) error {
	return p.atOnce(ctx, len(all), t, func(ctx context.Context, i int, t *write.Tally) error {
		return p.deleteOne(ctx, e, all[i], still, t)
	})
}

func (p *Protocol) deleteOne(ctx context.Context, e *Entity, r *write.Request, still func(context.Context, *write.Tally) error, t *write.Tally) error {
	for {
		o := p.Sender.One(ctx, r, t)
		if o.State != write.Rejected || o.Unsure {
			return unless(o)
		}
		stored := o.Stored[0]
		if len(stored) == 0 {
			return nil // gone
		}
		if err := still(ctx, t); err != nil {
			return err
		}
		f, err := p.Describe(r.Table, stored)
		if err != nil {
			return err
		}
		r = e.deleteOf(&f)
	}
}

// Pending describes what is being done to an entity by its root, "" for nothing.
func Pending(root *item.Image) string {
	switch {
	case root == nil:
	case root.Expired:
		return "its time to live is over"
	default:
		if st, ok := root.Header.ReadStage(); ok {
			return st.Pending()
		}
	}
	return ""
}
