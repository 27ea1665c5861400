package mapper

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/change"
	"github.com/itemize/itemize/internal/item"
	"github.com/itemize/itemize/internal/selection"
	"github.com/itemize/itemize/internal/staging"
	"github.com/itemize/itemize/internal/write"
)

// patching is a patch under way.
type patching struct {
	*change.Patch
	g           *engine
	sel         selection.Selection
	exactlyOnce bool
}

// patching makes a patch's changes. It does no I/O.
func (g *engine) patching(p entityPatch, settings writeSettings) (*patching, error) {
	x := &patching{g: g, sel: p.selection(g), exactlyOnce: settings.exactlyOnce}
	settings.exactlyOnce = false
	if x.sel.Err == nil && settings != (writeSettings{}) {
		return nil, g.model.Errorf("a patch takes ExactlyOnce only: leave the other options out")
	}
	var err error
	if x.Patch, err = change.NewPatch(g.model, x.sel, p.changes); err != nil {
		return nil, g.public(err)
	}
	for _, ch := range x.Items {
		g.typical.expect(ch.Change)
	}
	return x, nil
}

// plan arranges the patch's requests: one, or a transaction.
func (x *patching) plan() (*write.Plan, error) {
	requests := x.Requests()
	if !write.Fits(requests) {
		return nil, x.g.model.Errorf("the patch changes %d items of %d bytes, and a transaction takes %d of %d: use several patches", len(requests), write.Bytes(requests), cost.MaxTransactItems, cost.MaxTransactBytes)
	}
	plan, err := write.Arrange(requests, nil, write.Choice{ExactlyOnce: x.exactlyOnce})
	if err == nil && x.exactlyOnce {
		plan.Mode = write.Transaction
	}
	return plan, err
}

// send sends the patch. Where staged inserts have put or left items in its way, it goes
// round again.
func (x *patching) send(ctx context.Context, t *tally) error {
	for try := 0; ; try++ {
		plan, err := x.plan()
		if err != nil {
			return err
		}
		t.mode = Mode(plan.Mode)
		o := x.g.sender.Send(ctx, &plan.Steps[0], &t.Tally)
		stray := x.Stray(o.Stored)
		switch {
		case o.OK():
			return nil
		case o.State == write.Unknown, o.State == write.Rejected && o.Unsure && !x.harmless(&o, stray):
			return outcomeUnknown(x.g.model.Label(), placesOf(o.Requests), o.Err)
		case o.State == write.Failed:
			return o.Err
		case len(stray) == 0:
			return x.refusal(o.Stored)
		case try == saveTries:
			err = x.g.model.Errorf("items of a staged insert kept coming in the way of the patch: do it again")
		default:
			err = x.reckon(ctx, stray, o.Stored, t)
		}
		switch {
		case err != nil && o.Unsure: // the first copy may still arrive
			return outcomeUnknown(x.g.model.Label(), placesOf(o.Requests), err)
		case err != nil:
			return err
		}
	}
}

// harmless reports whether the patch may go round again after a refusal which, as far as one
// knows of a client that cannot be watched, an earlier copy of it explains: what stands in its
// way is not what that copy would have put, and that it is applied twice does no harm.
func (x *patching) harmless(o *write.Outcome, stray []int) bool {
	return o.Assumed && len(stray) > 0 && !x.Replaces(stray) && !x.exactlyOnce && !x.Counts()
}

// reckon finds out what became of the staged insert that items came with. Those of the
// live entity are written on condition that they are; others are not there.
func (x *patching) reckon(ctx context.Context, stray []int, stored []item.Attributes, t *tally) error {
	root, err := x.g.readRoot(ctx, x.sel, t)
	if err != nil {
		return err
	}
	var live types.AttributeValue
	if staging.Pending(root) == "" && root != nil {
		live = root.Header.Incarnation
	}
	x.Pin(live)
	for _, i := range stray {
		if err := x.settle(x.Items[i], stored[i], root, live); err != nil {
			return err
		}
	}
	return nil
}

// settle decides what an item in the patch's way is, by the root as it was read after it.
func (x *patching) settle(ch *change.PatchItem, stored item.Attributes, root *item.Image, live types.AttributeValue) error {
	incarnation := ch.Reserved.Header(stored).Incarnation
	switch of := incarnation != nil && staging.Holds(root, incarnation); {
	case ch.Root: // it is pinned
	case incarnation == nil && ch.Absent:
		return x.refused(ch)
	case incarnation == nil:
		ch.Plain()
	case of && live == nil:
		return x.pending(ch, root)
	case of && ch.Absent:
		return x.refused(ch)
	case of:
		ch.OfLive(incarnation)
	case ch.Upserts():
		ch.Replacing(ch.Reserved.HiddenOf(stored), live)
	default:
		return notFound(x.g.model.Label(), ch.Place.String(), "what is there was left over by an entity that is no more")
	}
	return nil
}

// pending is the error of an item that belongs to what somebody is doing.
func (x *patching) pending(ch *change.PatchItem, root *item.Image) error {
	e := &ConflictError{Model: x.g.model.Label(), patch: true, pending: staging.Pending(root)}
	e.Items = []ItemConflict{{Key: keyOf(ch.Place), Field: ch.Field, Conflict: ConflictCreated}}
	return e
}

// refusal is the error of a patch whose conditions failed. stored are the items as they
// are, nil for those whose conditions held.
func (x *patching) refusal(stored []item.Attributes) error {
	e := &ConflictError{Model: x.g.model.Label(), patch: true}
	for i, ch := range x.Items {
		if stored[i] == nil {
			continue
		}
		gone := len(stored[i]) == 0 || x.g.model.Reserved.Expired(stored[i], x.g.model.Now()) ||
			ch.Root && !x.g.model.Reserved.Header(stored[i]).Live()
		switch {
		case gone:
			return notFound(x.g.model.Label(), ch.Place.String(), x.g.pending(ch, stored[i]))
		case ch.Absent:
			return x.refused(ch)
		}
		e.Items = append(e.Items, ItemConflict{Key: keyOf(ch.Place), Field: ch.Field, Conflict: ConflictChanged})
	}
	return e
}

// refused is the error of an element that is there already.
func (x *patching) refused(ch *change.PatchItem) error {
	e := &ConflictError{Model: x.g.model.Label(), patch: true}
	e.Items = []ItemConflict{{Key: keyOf(ch.Place), Field: ch.Field, Conflict: ConflictCreated}}
	return &existsError{ch.Place.String(), e}
}

// pending says what is being done to an entity by its root as it is stored, "" for nothing.
func (g *engine) pending(ch *change.PatchItem, stored item.Attributes) string {
	if h := g.model.Reserved.Header(stored); ch.Root && len(stored) > 0 && !h.Live() {
		return h.ReadStage().Pending()
	}
	return ""
}
