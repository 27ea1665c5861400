package mapper

import (
	"context"
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/change"
	"github.com/itemize/itemize/internal/form"
	"github.com/itemize/itemize/internal/item"
	"github.com/itemize/itemize/internal/selection"
	"github.com/itemize/itemize/internal/snapshot"
	"github.com/itemize/itemize/internal/staging"
	"github.com/itemize/itemize/internal/write"
)

// patching is a patch under way.
type patching struct {
	*change.Patch
	g           *engine
	sel         selection.Selection
	exactlyOnce bool
	aside
}

// patching makes a patch's changes of the entity that a selection is of. It does no I/O.
func (g *engine) patching(p entityPatch, sel selection.Selection, settings writeSettings) (*patching, error) {
	x := &patching{g: g, sel: sel, exactlyOnce: settings.exactlyOnce}
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
	if err := x.arrange(g, x.changes()); err != nil {
		return nil, err
	}
	if len(p.returns) > 0 {
		return x, x.returning()
	}
	return x, nil
}

// returning asks for what the item holds after the write.
func (x *patching) returning() error {
	only := x.Items[0]
	switch {
	case len(x.Items) > 1 || x.Entity || x.exactlyOnce:
		return x.g.model.Errorf("Return needs a patch of one item that is one plain request: leave out And of other items, IfEntityExists and ExactlyOnce, or load afterwards")
	case only.Item.HasOutside():
		return x.g.model.FieldErrorf(only.Field, "a value of the item may lie outside of it, which Return does not read: leave Return out, and load afterwards")
	case only.Kind == write.Delete:
		return x.g.model.FieldErrorf(only.Field, "the patch deletes the item, after which it holds nothing: leave Return out")
	}
	only.Return = true
	return nil
}

// give gives what the item holds after the write to who asked for it.
func (x *patching) give(to []func(rec any)) error {
	only, m := x.Items[0], x.g.model
	f, err := m.Image(only.Table, only.Returned)
	if err != nil {
		return err
	}
	var rec any
	if only.Item.Element() {
		rec, err = snapshot.DecodeElement(m, &f)
	} else {
		rec = m.Codec.New()
		err = snapshot.DecodeItem(m, &f, rec)
		form.AfterLoad(rec)
	}
	if err != nil {
		return m.FieldErrorf(only.Field, "it was written, and what it holds does not fit the model: %w", err)
	}
	for _, give := range to {
		give(rec)
		if it := only.Item; !it.Element() && it.Field != nil {
			give(m.Codec.Record(it.Index).Part(rec))
		}
	}
	return nil
}

// changes are those of the patch's items.
func (x *patching) changes() []*change.Change {
	all := make([]*change.Change, len(x.Items))
	for i, ch := range x.Items {
		all[i] = ch.Change
	}
	return all
}

// plan arranges the patch's requests: one, or a transaction.
func (x *patching) plan() (*write.Plan, error) {
	if err := x.again(x.changes()); err != nil {
		return nil, err
	}
	requests := x.Requests()
	if !write.Fits(requests) {
		return nil, x.g.model.Errorf("the patch changes %d items of %d bytes, and a transaction takes %d of %d: use several patches", len(requests), write.Bytes(requests), cost.MaxTransactItems, cost.MaxTransactBytes)
	}
	plan, err := write.Arrange(requests, nil, write.Choice{ExactlyOnce: x.exactlyOnce, Flip: x.flip()})
	if err == nil && x.exactlyOnce {
		plan.Mode = write.Transaction
	}
	if err == nil {
		plan.Before, _ = x.before()
	}
	return plan, err
}

// send sends the patch.
func (x *patching) send(ctx context.Context, t *tally) error {
	err := x.goRound(ctx, t)
	if err != nil {
		x.giveUp(ctx, t)
	}
	return err
}

// goRound sends the patch. Where staged inserts have put or left items in its way, it goes
// round again.
func (x *patching) goRound(ctx context.Context, t *tally) error {
	if x.Entity {
		if err := x.bind(ctx, t); err != nil {
			return err
		}
	}
	var anew anew
	for try := 0; ; try++ {
		plan, err := x.plan()
		if err != nil {
			return err
		}
		t.mode = Mode(plan.Mode)
		o, err := x.sendOnce(ctx, plan, t)
		if try < saveTries && anew.again(err) {
			continue
		}
		if err != nil {
			return err
		}
		switch {
		case o.OK():
			return nil
		case o.State == write.Unknown, o.State == write.Rejected && o.Unsure && !x.harmless(&o):
			return patchUnknown(x.g.model.Label(), placesOf(o.Requests), o.Err)
		case o.State == write.Failed:
			return refusedBy(o.Err)
		case try == saveTries && x.blocked(&o):
			return x.g.model.Errorf("what is stored kept changing in the way of the patch: do it again")
		}
		blocked := x.blocked(&o)
		switch err := x.clear(ctx, &o, t); {
		case err != nil && o.Unsure && blocked: // the first copy may still arrive
			return patchUnknown(x.g.model.Label(), placesOf(o.Requests), err)
		case err != nil:
			return err
		}
	}
}

// sendOnce writes the patch's values outside of their items, and sends it.
func (x *patching) sendOnce(ctx context.Context, plan *write.Plan, t *tally) (o write.Outcome, err error) {
	if err := x.store(ctx, t); err != nil {
		return o, err
	}
	if o = x.g.sender.Send(ctx, &plan.Steps[0], &t.Tally); !o.OK() {
		o, err = x.told(ctx, o, t)
	}
	return o, err
}

// blocked reports whether something is in the patch's way that may be put up with.
func (x *patching) blocked(o *write.Outcome) bool {
	return len(x.Stray(o.Stored))+len(x.Unfit(o.Stored)) > 0
}

// clear finds out what is in the way of a patch that was refused, and makes the patch reckon with
// it. The error says why it is refused.
func (x *patching) clear(ctx context.Context, o *write.Outcome, t *tally) error {
	if stray := x.Stray(o.Stored); len(stray) > 0 {
		return x.reckon(ctx, stray, o.Stored, t)
	}
	if unfit := x.Unfit(o.Stored); len(unfit) > 0 {
		return x.rewrite(unfit, o.Stored)
	}
	return x.refusal(o.Stored)
}

// bind reads the root, which has to be there, and makes the patch one of its entity.
func (x *patching) bind(ctx context.Context, t *tally) error {
	e, err := x.g.entity(x.sel)
	if err != nil {
		return err
	}
	root, err := x.g.protocol.ReadRoot(ctx, e, &t.Tally)
	if err != nil {
		return err
	}
	if err := x.g.search.RootThere(x.sel, root); err != nil {
		return x.g.public(err)
	}
	x.Bind(root.Header.Incarnation)
	return nil
}

// orAgain makes a plan bounds where a second request may have to write an attribute whole.
func (p *Plan) orAgain() {
	p.WCU.Max *= 2
	p.WCU = p.WCU.Add(cost.Units{If: "an attribute is stored as NULL, or has no map to lie in, and a second request writes it whole"})
}

// repeats reports whether a second request may have to write an attribute whole.
func (x *patching) repeats() bool { return slices.ContainsFunc(x.Items, (*change.PatchItem).Repeats) }

// planBind adds to a plan that bind reads the root.
func (x *patching) planBind(out *Plan) {
	if x.Entity {
		out.RCU, out.requests = out.RCU.Add(x.g.rootRead()), out.requests+1
	}
}

// rewrite makes the patch set whole what cannot be changed where it is stored.
func (x *patching) rewrite(unfit []int, stored []item.Attributes) error {
	for _, i := range unfit {
		ch := x.Items[i]
		err := ch.Rewrite(stored[i])
		var large *change.TooLarge
		switch {
		case errors.As(err, &large):
			return x.g.public(err)
		case err != nil:
			return x.g.model.FieldErrorf(ch.Field, "the patch does not fit what is stored in %s: %w: use Update", ch.Place, err)
		}
	}
	return nil
}

// harmless reports whether the patch may go round again after a refusal which, as far as one
// knows of a client that cannot be watched, an earlier copy of it explains: what stands in its
// way is not what that copy would have put, and that it is applied twice does no harm.
func (x *patching) harmless(o *write.Outcome) bool {
	if len(x.Items) > 1 || x.points() { // a transaction, which is never applied twice
		return o.Assumed && guards(o.Requests)
	}
	return o.Assumed && x.blocked(o) && !x.Replaces(x.Stray(o.Stored)) && !x.exactlyOnce && !x.Counts()
}

// guards reports whether one of a transaction's requests keeps a copy of it out that comes late: it
// requires what it changes itself, a version or that nothing is there.
func guards(requests []*write.Request) bool {
	return slices.ContainsFunc(requests, func(r *write.Request) bool {
		return r.Writes() && (r.Expect.Version != nil || r.Expect.Absent && r.Expect.Instead == nil)
	})
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
		if err := x.settle(ctx, x.Items[i], stored[i], found{root, live}, t); err != nil {
			return err
		}
	}
	return nil
}

// found is the root as it was read, and the incarnation of the live entity, nil for none.
type found struct {
	root *item.Image
	live types.AttributeValue
}

// settle decides what an item in the patch's way is, by the root as it was read after it.
func (x *patching) settle(ctx context.Context, ch *change.PatchItem, stored item.Attributes, f found, t *tally) error {
	root, live := f.root, f.live
	incarnation := ch.Reserved.Header(stored).Incarnation
	switch of := incarnation != nil && staging.Holds(root, incarnation); {
	case ch.Root: // it is pinned
	case incarnation == nil && ch.Absent:
		return x.refused(ch)
	case incarnation == nil && !ch.Bound():
		ch.Plain()
	case incarnation == nil:
	case of && live == nil:
		return x.pending(ch, root)
	case of && ch.Absent:
		return x.refused(ch)
	case of:
		ch.OfLive(incarnation)
	case ch.Conditional():
		return x.sweep(ctx, ch, stored, t)
	case ch.Upserts():
		ch.Replacing(ch.Reserved.HiddenOf(stored), live)
	default:
		return x.missing(ch, "what is there was left over by an entity that is no more")
	}
	return nil
}

// sweep deletes what was left over in an item's place, so that conditions can be asked of nothing.
func (x *patching) sweep(ctx context.Context, ch *change.PatchItem, stored item.Attributes, t *tally) error {
	p, err := write.Arrange([]*write.Request{&ch.Leftover(x.g.model, stored).Request}, nil, write.Choice{})
	if err != nil {
		return err
	}
	if o := x.g.sender.Send(ctx, &p.Steps[0], &t.Tally); o.State == write.Failed {
		return o.Err
	}
	ch.Plain() // whoever has been faster: it is asked again
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
		gone := len(stored[i]) == 0 && ch.Exists || x.g.model.Reserved.Expired(stored[i], x.g.model.Now()) ||
			ch.Root && !x.g.model.Reserved.Header(stored[i]).Live()
		switch {
		case gone:
			return x.missing(ch, x.g.pending(ch, stored[i]))
		case ch.Absent:
			return x.refused(ch)
		}
		e.Items = append(e.Items, ItemConflict{Key: keyOf(ch.Place), Field: ch.Field, Conflict: ConflictChanged})
		if text := ch.Unmet(stored[i]); text != "" {
			e.unmet = append(e.unmet, text)
		}
	}
	return e
}

// missing is the error of an item that is not there.
func (x *patching) missing(ch *change.PatchItem, pending string) error {
	return &NotFoundError{Model: x.g.model.Label(), Field: ch.Field, Key: keyOf(ch.Place), Pending: pending}
}

// refused is the error of an element that is there already.
func (x *patching) refused(ch *change.PatchItem) error {
	e := &ConflictError{Model: x.g.model.Label(), patch: true}
	e.Items = []ItemConflict{{Key: keyOf(ch.Place), Field: ch.Field, Conflict: ConflictCreated}}
	return &existsError{ch.Place.String(), e}
}

// pending says what is being done to an entity by its root as it is stored, "" for nothing.
func (g *engine) pending(ch *change.PatchItem, stored item.Attributes) string {
	if ch.Root && g.model.Reserved.Expired(stored, g.model.Now()) {
		return staging.Expired
	}
	if h := g.model.Reserved.Header(stored); ch.Root && len(stored) > 0 && !h.Live() {
		return h.ReadStage().Pending()
	}
	return ""
}
