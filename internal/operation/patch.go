package operation

import (
	"context"
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/change"
	"github.com/itemize/itemize/internal/codec"
	"github.com/itemize/itemize/internal/estimate"
	"github.com/itemize/itemize/internal/expr"
	"github.com/itemize/itemize/internal/item"
	"github.com/itemize/itemize/internal/selection"
	"github.com/itemize/itemize/internal/snapshot"
	"github.com/itemize/itemize/internal/staging"
	"github.com/itemize/itemize/internal/write"
)

// modify is the part that writes a patch.
type modify struct {
	common
	*change.Patch
	sel     selection.Selection
	options Options
	// bound reports that the root item was read, if the patch requires the entity.
	bound bool
	few   [1]*change.Change // room for those of most patches
}

// PatchSpec describes a patch.
type PatchSpec struct {
	Selection selection.Selection
	Changes   []expr.Change
	// Returns reports that the caller asks for the item after the write.
	Returns bool
}

// NewPatch returns the operation that writes a patch. returned returns the record of the item after the write, if spec.Returns is
// set.
func NewPatch(env *Env, spec PatchSpec, o Options) (x *Operation, returned func() (Record, error), err error) {
	one := &struct { // in one piece of memory
		single
		modify modify
	}{}
	p := &one.modify
	if err := p.init(env, spec, o); err != nil {
		return nil, nil, err
	}
	if spec.Returns {
		if err := p.returnItem(); err != nil {
			return nil, nil, err
		}
		returned = p.returned
	}
	return one.operation(p, minTries), returned, nil
}

// Patch returns the part of a transaction that writes a patch.
func Patch(env *Env, spec PatchSpec) (Part, error) {
	if spec.Returns {
		return nil, env.Model.Errorf("Return needs a patch of one item that is one plain request: leave it out in a transaction, and load afterwards")
	}
	if len(spec.Selection.Elsewhere) > 0 {
		return nil, env.notLocated()
	}
	p := new(modify)
	if err := p.init(env, spec, Options{}); err != nil {
		return nil, err
	}
	p.Name()
	return p, nil
}

func (p *modify) init(env *Env, spec PatchSpec, o Options) (err error) {
	p.env, p.sel, p.options = env, spec.Selection, o
	if spec.Selection.Err == nil {
		if err := o.check(env.Model, forPatch); err != nil {
			return err
		}
	}
	if p.Patch, err = change.NewPatch(env.Model, spec.Selection, spec.Changes); err != nil {
		return env.fault(err)
	}
	p.changes = p.few[:0]
	for _, it := range p.Items {
		p.changes = append(p.changes, it.Change)
		it.Likely = env.Estimate.Sizes.Item(it.Item)
	}
	p.twice = slices.ContainsFunc(p.Items, (*change.PatchItem).Repeats)
	if env.External == nil {
		return nil
	}
	return p.external.arrange(env, p.changes)
}

// returnItem asks for the item after the write.
func (p *modify) returnItem() error {
	m, only := p.env.Model, p.Items[0]
	switch {
	case len(p.Items) > 1 || p.Entity || p.options.ExactlyOnce:
		return m.Errorf("Return needs a patch of one item that is one plain request: leave out And of other items, IfEntityExists and ExactlyOnce, or load afterwards")
	case only.Item.HasOutside():
		return m.FieldErrorf(only.Field, "a value of the item may lie outside of it, which Return does not read: leave Return out, and load afterwards")
	case only.Kind == write.Delete:
		return m.FieldErrorf(only.Field, "the patch deletes the item, after which it holds nothing: leave Return out")
	}
	only.Return = true
	return nil
}

// Record is an item after a write, as its Go value.
type Record struct {
	// Item is a pointer to the element, or to a value of the model. Part is a pointer to the struct in it whose fields lie on the item,
	// nil for none.
	Item, Part any
}

// returned decodes the item after the write.
func (p *modify) returned() (r Record, err error) {
	only, m := p.Items[0], p.env.Model
	f, err := m.Image(only.Table, only.Returned)
	if err != nil {
		return r, err
	}
	if only.Item.Element() {
		r.Item, err = snapshot.DecodeElement(m, &f)
	} else {
		r.Item = m.Codec.New()
		err = snapshot.DecodeItem(m, &f, r.Item)
		codec.AfterLoad(r.Item)
	}
	if err != nil {
		return r, m.FieldErrorf(only.Field, "it was written, and what it holds does not fit the model: %w", err)
	}
	if it := only.Item; !it.Element() && it.Field != nil {
		r.Part = m.Codec.Record(it.Index).Part(r.Item)
	}
	return r, nil
}

func (p *modify) requests(*change.Readers) (r Requests, err error) {
	if err := p.external.rearrange(p.changes); err != nil {
		return r, err
	}
	r = Requests{Writes: p.Requests(), Unread: p.Entity && !p.bound, Choice: write.Choice{ExactlyOnce: p.options.ExactlyOnce}}
	if !write.Fits(r.Writes) {
		return r, p.env.Model.Errorf("the patch changes %d items of %d bytes, and a transaction takes %d of %d: use several patches", len(r.Writes), write.Bytes(r.Writes), cost.MaxTransactItems, cost.MaxTransactBytes)
	}
	return r, nil
}

// read reads the root item, which has to exist, and binds the patch to its entity.
func (p *modify) read(ctx context.Context, t *Tally) error {
	root, err := p.env.liveRoot(ctx, p.sel, t)
	if err != nil {
		return err
	}
	p.Bind(root.Header.Incarnation)
	p.bound = true
	return nil
}

func (p *modify) reads(*write.Plan) (r estimate.Reads, err error) {
	if p.Entity {
		r = p.env.Estimate.RootRead()
	}
	if !p.atomic {
		r = r.Add(p.env.Estimate.Locate(p.sel, true))
	}
	return r, nil
}

// refused finds out why a patch was refused. It is sent again
//   - if an item came with a staged insert: with a condition on the live entity, or in place of leftover items,
//   - if an attribute is NULL, or the map of an entry does not exist: the attribute is set as a whole, with a condition on the item.
func (p *modify) refused(ctx context.Context, o *write.Outcome, t *Tally) (retry bool, err error) {
	if foreign := p.Stray(o.Stored); len(foreign) > 0 {
		return p.refusedByIncarnation(ctx, foreign, o.Stored, t)
	}
	if unfit := p.Unfit(o.Stored); len(unfit) > 0 {
		return p.rewrite(unfit, o.Stored)
	}
	e := &Conflict{Label: p.env.Model.Label(), Patch: true}
	for i, it := range p.Items {
		stored := o.Stored[i]
		if stored == nil {
			continue
		}
		expired, header := p.env.Model.Reserved.Expired(stored, p.env.Model.Now()), p.env.Model.Reserved.Header(stored)
		pending := ""
		switch {
		case it.Root && expired:
			pending = staging.Expired
		case it.Root && len(stored) > 0 && !header.Live():
			pending = header.ReadStage().Pending()
		}
		switch {
		case len(stored) == 0 && it.Exists || expired || it.Root && !header.Live():
			return false, p.missing(it, pending)
		case it.Absent:
			return false, p.exists(it)
		}
		e.Items = append(e.Items, ItemConflict{Place: it.Place, Field: it.Field, What: change.Changed})
		if text := it.Unmet(stored); text != "" {
			e.Unmet = append(e.Unmet, text)
		}
	}
	return false, e
}

// rewrite makes the patch set attributes as a whole that cannot be changed as they are stored.
func (p *modify) rewrite(unfit []int, stored []item.Attributes) (retry bool, err error) {
	for _, i := range unfit {
		it := p.Items[i]
		err := it.Rewrite(stored[i])
		var large *change.TooLarge
		switch {
		case errors.As(err, &large):
			return false, p.env.fault(err)
		case err != nil:
			return false, p.env.Model.FieldErrorf(it.Field, "the patch does not fit what is stored in %s: %w: use Update", it.Place, err)
		}
	}
	return true, p.changed(unfit)
}

// changed is the conflict of items that other writers keep changing.
func (p *modify) changed(items []int) error {
	e := &Conflict{Label: p.env.Model.Label(), Patch: true}
	for _, i := range items {
		it := p.Items[i]
		e.Items = append(e.Items, ItemConflict{Place: it.Place, Field: it.Field, What: change.Changed})
	}
	return e
}

// refusedByIncarnation finds out about items that carry an incarnation. Items of the live entity are written with a condition on
// it. Other items are leftover: the patch replaces them, or deletes them if it has conditions, or the item does not exist for it.
func (p *modify) refusedByIncarnation(ctx context.Context, foreign []int, stored []item.Attributes, t *Tally) (retry bool, err error) {
	root, err := p.env.readRoot(ctx, p.sel, t)
	if err != nil {
		return false, err
	}
	var live types.AttributeValue
	if staging.Pending(root) == "" && root != nil {
		live = root.Header.Incarnation
	}
	p.Pin(live)
	for _, i := range foreign {
		it := p.Items[i]
		incarnation := it.Reserved.Header(stored[i]).Incarnation
		ofRoot := incarnation != nil && staging.Holds(root, incarnation)
		switch {
		case it.Root: // Pin has bound it to the live incarnation
		case incarnation == nil && it.Absent:
			return false, p.exists(it)
		case incarnation == nil && !it.Bound():
			it.Plain()
		case incarnation == nil:
		case ofRoot && live == nil:
			at := ItemConflict{Place: it.Place, Field: it.Field, What: change.Created}
			return false, &Conflict{Label: p.env.Model.Label(), Patch: true, Pending: staging.Pending(root), Items: []ItemConflict{at}}
		case ofRoot && it.Absent:
			return false, p.exists(it)
		case ofRoot:
			it.OfLive(incarnation)
		case it.Conditional():
			if err := p.deleteLeftover(ctx, it, stored[i], t); err != nil {
				return false, err
			}
		case it.Upserts():
			it.Replacing(it.Reserved.HiddenOf(stored[i]), live)
		default:
			return false, p.missing(it, "the stored item is a leftover of a deleted entity")
		}
	}
	return true, p.changed(foreign)
}

// deleteLeftover deletes a leftover item, so that the conditions of the patch are asked of a missing item.
func (p *modify) deleteLeftover(ctx context.Context, it *change.PatchItem, stored item.Attributes, t *Tally) error {
	plan, err := write.Arrange([]*write.Request{&it.Leftover(p.env.Model, stored).Request}, nil, write.Choice{})
	if err != nil {
		return err
	}
	if o := p.env.Sender.Send(ctx, &plan.Steps[0], &t.Tally); o.State == write.Failed {
		return o.Err
	}
	it.Plain() // if another writer was faster, the conditions are asked again
	return nil
}

func (p *modify) missing(it *change.PatchItem, pending string) error {
	return &NotFound{Label: p.env.Model.Label(), Field: it.Field, Place: it.Place, Pending: pending}
}

func (p *modify) exists(it *change.PatchItem) error {
	at := ItemConflict{Place: it.Place, Field: it.Field, What: change.Created}
	return &Exists{it.Place.String(), Conflict{Label: p.env.Model.Label(), Patch: true, Items: []ItemConflict{at}}}
}

// afterLoss: a transaction may be sent again if one of its requests refuses a late copy. A plain request may be sent again if
// another copy does no harm, and the stored item is not the one that the first copy would have put.
func (p *modify) afterLoss(o *write.Outcome) afterLoss {
	if len(p.Items) > 1 || p.external.exist() {
		return guarded(o)
	}
	foreign, unfit := p.Stray(o.Stored), p.Unfit(o.Stored)
	if o.Assumed && len(foreign)+len(unfit) > 0 && !p.Replaces(foreign) && !p.options.ExactlyOnce && !p.Counts() {
		return mayRetry
	}
	return isUnknown
}

func (p *modify) movable() bool { return p.env.Model.CanReshard(p.Identity) }
