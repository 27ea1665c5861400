package mapper

import (
	"context"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/change"
	"github.com/itemize/itemize/internal/large"
	"github.com/itemize/itemize/internal/write"
)

// aside are the values of changes that lie outside of their items, and are stored before the items point to them.
type aside struct {
	g *engine
	// group are those of the changes as they are now, nil for none, and former those of tries before.
	group  *large.Group
	former []*large.Group
	// gone reports that those of the changes were given up.
	gone bool
}

// arrange makes a group of the values of changes, or keeps that of a try before where they are the same.
func (a *aside) arrange(g *engine, changes []*change.Change) (err error) {
	a.g = g
	values := change.Values(changes)
	switch {
	case a.group != nil && a.group.Adopts(values):
		change.Point(changes, a.group.Values)
		return nil
	case a.group != nil:
		a.former = append(a.former, a.group)
		a.group = nil
	}
	if a.gone = false; len(values) > 0 {
		a.group, err = g.outside.Group(values, g.model.Now())
	}
	return err
}

// points reports whether there are such values.
func (a *aside) points() bool { return a.group != nil }

// flip returns the request that flips the record of the values, nil for none, and flipped requests with it.
func (a *aside) flip() *write.Request {
	if a.group == nil {
		return nil
	}
	return a.group.Flip
}

// flipped is described at flip.
func (a *aside) flipped(requests []*write.Request) []*write.Request {
	if a.group == nil {
		return requests
	}
	return append(requests, a.group.Flip)
}

// before returns what is sent before the items, and what of that goes to S3.
func (a *aside) before() ([]write.Step, cost.Objects) {
	if a.group == nil {
		return nil, cost.Objects{}
	}
	return a.group.Steps, a.group.Uploads()
}

// store writes the values.
func (a *aside) store(ctx context.Context, t *tally) error {
	for _, old := range a.former {
		a.g.drop(ctx, old, t)
	}
	a.former = nil
	err := a.g.store(ctx, a.group, t)
	if err != nil {
		a.group, a.gone = nil, true
	}
	return err
}

// told finds out, by their record, what became of what turns the pointers.
func (a *aside) told(ctx context.Context, o write.Outcome, t *tally) (write.Outcome, error) {
	if a.group == nil {
		return o, nil
	}
	o, err := a.g.told(ctx, a.group, o, t)
	if err != nil {
		a.group, a.gone = nil, true
	}
	return o, err
}

// again makes changes that are not made anew, and may be as they were in a try before, point to the values that are flipped: to new
// ones in place of those that were given up.
func (a *aside) again(changes []*change.Change) error {
	switch {
	case !a.gone && a.group == nil:
		return nil
	case !a.gone:
		change.Point(changes, a.group.Values)
		return nil
	}
	change.Renew(changes, a.g.model.Now())
	return a.arrange(a.g, changes)
}

// giveUp gives all up that nothing points to.
func (a *aside) giveUp(ctx context.Context, t *tally) {
	for _, group := range append(a.former, a.group) {
		if group != nil {
			a.g.drop(ctx, group, t)
		}
	}
	a.gone = a.gone || a.group != nil
	a.former, a.group = nil, nil
}
