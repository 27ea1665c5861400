package operation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/codec"
	"github.com/itemize/itemize/internal/model/expr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/read/search"
	"github.com/itemize/itemize/internal/read/selection"
	"github.com/itemize/itemize/internal/read/snapshot"
	"github.com/itemize/itemize/internal/save/change"
	"github.com/itemize/itemize/internal/save/estimate"
	"github.com/itemize/itemize/internal/save/staging"
	"github.com/itemize/itemize/internal/save/write"
)

// modify is the part that writes a patch.
type modify struct {
	common
	*change.Patch
	sel selection.Selection
	// blind reports that the patch adds items without making sure that their entity exists.
	blind bool
	// remembered reports that the incarnation of the entity is one that the mapper remembers, and did not read.
	remembered bool
	// root is the root item as it was read last, nil for none.
	root *item.Image
	// owner is the entity of a lookup, nil for a patch by key.
	owner *search.Owned
	// reckon is the cost of the lookup, of a patch that is planned and whose entity is not known; nil for others.
	reckon *estimate.Reads
	// looked reports that an item was missing, so that the root item is read after the patch.
	looked bool
	few    [1]*change.Change // room for those of most patches
}

// PatchSpec describes a patch.
type PatchSpec struct {
	Selection selection.Selection
	Changes   []expr.Change
	// Returns reports that the caller asks for the item after the write.
	Returns bool
	// Located reports that the entity was located among several shards, and may move.
	Located bool
	// Owner is the entity of a lookup, nil for a patch by key. Reckon is the cost of the lookup, if the patch is
	// planned and the entity is not known.
	Owner  *search.Owned
	Reckon *estimate.Reads
}

// NewPatch returns the operation that writes a patch; returned returns the record of the item after the write, if
// spec.Returns is set.
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
		return nil, env.Model.Errorf("Return is for a patch that is one plain request: leave it out in a " +
			"transaction, and load afterwards")
	}
	if len(spec.Selection.Elsewhere) > 0 {
		return nil, env.notLocated()
	}
	p := new(modify)
	if err := p.init(env, spec, Options{}); err != nil {
		return nil, err
	}
	p.Name()
	p.changedRoot = func(request int, root item.Attributes) bool {
		stored := make([]item.Attributes, len(p.Items))
		stored[request] = root
		return p.ExpiryMoved(stored) || len(p.Stray(stored)) > 0
	}
	return p, nil
}

func (p *modify) init(env *Env, spec PatchSpec, o Options) (err error) {
	p.env, p.sel, p.target, p.options = env, spec.Selection, &p.sel, o
	p.options.Blind = o.Blind || env.Blind
	if spec.Selection.Err == nil {
		if err := o.check(env.Model, forPatch); err != nil {
			return err
		}
	}
	if p.Patch, err = change.NewPatch(env.Model, spec.Selection, spec.Changes); err != nil {
		return env.fault(err)
	}
	if o.Tag != nil {
		if err := p.requireTag(*o.Tag); err != nil {
			return err
		}
	}
	if o.Blind && p.Inherits() {
		return env.Model.Errorf("Blind leaves out the read of the root item, with which the items of the patch " +
			"expire: leave it out")
	}
	p.blind = p.options.Blind && !p.Entity && !spec.Located && !p.Inherits()
	if !p.blind && !p.Rooted() {
		p.RequireItems()
	}
	p.changes, p.reckon = p.few[:0], spec.Reckon
	if spec.Owner != nil || spec.Reckon != nil {
		if err := p.own(spec.Owner); err != nil {
			return err
		}
	}
	for _, it := range p.Items {
		p.changes = append(p.changes, it.Change)
		it.Likely = env.Estimate.Sizes.Item(it.Item)
	}
	switch {
	case slices.ContainsFunc(p.Items, (*change.PatchItem).Repeats):
		p.repeat = "an attribute is stored as NULL, or its map is missing, and a second request writes it as a whole"
	case !p.blind && !p.Rooted() && p.Makes():
		p.repeat = "the item is missing, and a second request creates it"
	}
	if p.Entity && len(p.Items) == 1 && p.Items[0].Kind == write.Update && !p.Items[0].Root {
		p.Items[0].Return = true // for the incarnation
	}
	if env.External != nil {
		if err := p.external.arrange(env, p.changes); err != nil {
			return err
		}
	}
	switch {
	case len(p.Items) > 1 || p.external.group != nil || p.Guarded():
		p.harmless = ifGuarded
	case o.ExactlyOnce:
		p.harmless = never
	default:
		p.harmless = ifBlocked
	}
	return nil
}

// own requires that the entity of a lookup has its value yet; owner is nil for a plan.
func (p *modify) own(owner *search.Owned) error {
	m := p.env.Model
	if p.UpsertsRoot() && slices.ContainsFunc(p.Items, (*change.PatchItem).AsksUpsert) {
		return m.Errorf("Upsert may create an entity, but a lookup finds an existing one: leave it out, or use the key")
	}
	if _, err := p.RequireRoot(); err != nil {
		return err
	}
	if p.owner = owner; owner != nil {
		p.bindTo(owner.Root)
		p.RequireOwner(owner.Values(m))
	}
	return nil
}

// returnItem asks for the item after the write.
func (p *modify) returnItem() error {
	m := p.env.Model
	if len(p.Items) == 0 {
		return m.Errorf("the patch changes nothing, so that Return has no value to return: load the item")
	}
	only := p.Items[0]
	switch {
	case p.Guarded():
		return m.FieldErrorf(only.Field, "the patch changes a unique value, which takes a transaction, and Return "+
			"is for "+
			"a patch that is one plain request: load afterwards")
	case len(p.Items) > 1 || p.options.ExactlyOnce:
		return m.Errorf("Return is for a patch that is one plain request: leave out And of other items and " +
			"ExactlyOnce, or load afterwards")
	case only.Item.HasExternal():
		return m.FieldErrorf(only.Field, "the item may have an external value, which Return does not read: leave "+
			"Return out, and load afterwards")
	case only.Kind == write.Delete:
		return m.FieldErrorf(only.Field, "the patch deletes the item, so that there is no value to return: leave "+
			"Return out")
	}
	only.Return = true
	return nil
}

// Record is an item after a write, as its Go value.
type Record struct {
	// Item is a pointer to the element, or to a value of the model. Part is a pointer to the struct in
	// it whose fields are on the item, nil for none.
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
		return r, m.StoredErrorf(only.Field, only.Place,
			"it was written, but the stored item does not match the model: %w", err)
	}
	if it := only.Item; !it.Element() && it.Field != nil {
		r.Part = m.Codec.Record(it.Index).Part(r.Item)
	}
	return r, nil
}

func (p *modify) requests(*change.Readers) (r Requests, err error) {
	if p.checksRoot() {
		check, err := p.RequireRoot()
		if err != nil {
			return r, err
		}
		if check != nil {
			check.Likely = p.env.Estimate.Sizes.Item(check.Item)
			p.changes = append(p.changes, check)
		}
	}
	if err := p.external.rearrange(p.changes); err != nil {
		return r, err
	}
	_, bound := p.Live()
	if !p.blind && !bound {
		if at, err := p.env.Model.RootPlace(p.Identity); err == nil {
			p.Expect(p.env.Incarnations.Get(at))
		}
	}
	unread := p.needsIncarnation() && !bound
	if unread {
		p.ReckonIncarnation()
	}
	r.Choice.ExactlyOnce = p.options.ExactlyOnce
	if unread {
		r.Read = p.read
	}
	if p.Guarded() {
		if err := p.guard(&r, unread); err != nil {
			return r, err
		}
	}
	r.Writes = p.Requests()
	if !write.Fits(r.Writes) {
		return r, write.TooMany("%s: the patch is too large for a transaction: %d items (limit 100), %s in "+
			"all (limit 4 MB): use several patches", p.env.Model.Label(), len(r.Writes),
			attr.Bytes(write.Bytes(r.Writes)))
	}
	return r, nil
}

// guard adds the guards of the unique values that the patch changes.
func (p *modify) guard(r *Requests, unread bool) (err error) {
	if unread {
		var more int
		if r.Guards, more = p.ReckonGuards(); more > 0 {
			r.Choice.ExactlyOnce = true // a transaction
			// without a change of the value it is one request, without guards
			least := -2 * float64(len(r.Guards))
			if len(p.Items) == 1 && !p.options.ExactlyOnce {
				least -= p.Items[0].Units().Min
			}
			r.Unread = cost.Units{
				Min: least, Expected: 2 * float64(more), Max: 2 * maxGuard * float64(more),
				If: ifGuards,
			}
		}
		return nil
	}
	var root item.Attributes
	if p.root != nil {
		root = p.root.Attributes()
	}
	r.Guards, err = p.ReadRoot(root)
	return p.env.fault(err)
}

// maxGuard is the largest price of a guard by itself, in WCU: its keys and the keys of its owner have less than 7 KB.
const maxGuard = 7

const ifGuards = "the entity has had another unique value"

// checksRoot reports whether the patch requires the root item in its transaction, because the writes of
// other parts cannot be taken back.
func (p *modify) checksRoot() bool {
	return p.inTransaction && (p.Entity || !p.blind && (p.Puts() || len(p.Added()) > 0))
}

// needsIncarnation reports whether the patch needs the incarnation of its entity before the first
// request: for items that it adds.
func (p *modify) needsIncarnation() bool {
	switch {
	case p.Guarded():
		return true
	case p.UpsertsRoot():
		return p.Entity || !p.blind && (p.Puts() || p.Makes()) // the incarnation of the entity, or that there is none
	case p.Entity && (p.inTransaction || len(p.Items) > 1 || p.options.ExactlyOnce): // no answer will tell it
		return true
	case p.blind:
		return false
	}
	return p.Puts() || p.Rooted() && p.Makes()
}

// mayRemember reports whether an incarnation that the mapper remembers will do.
func (p *modify) mayRemember() bool {
	// If it is not that of the entity any more, the items that the patch has written can be taken back.
	onlyAdds := len(p.Added()) == len(p.Items)
	return !p.Guarded() && !p.PutsEither() && !p.Inherits() && (onlyAdds || p.Rooted() && !p.UpsertsRoot())
}

// read reads the root item, and binds the patch to its entity, or to the one that the patch makes.
func (p *modify) read(ctx context.Context, t *Tally) error {
	at, err := p.env.Model.RootPlace(p.Identity)
	if err != nil {
		return err
	}
	if incarnation := p.env.Incarnations.Get(at); incarnation != nil && p.mayRemember() && !p.remembered {
		p.remembered = true
		p.Bind(incarnation)
		return nil
	}
	p.remembered = false
	root, err := p.env.readRoot(ctx, p.sel, t)
	if err != nil {
		return err
	}
	if root == nil && p.UpsertsRoot() && !p.Entity {
		p.BindNew()
		return nil
	}
	if err := p.env.Search.RootThere(p.sel, root); err != nil {
		return p.env.fault(err)
	}
	p.env.Incarnations.Put(at, root.Header.Incarnation)
	p.bindTo(root)
	return nil
}

// bindTo binds the patch to the entity of a root item, which was read.
func (p *modify) bindTo(root *item.Image) {
	p.expireWith(root)
	p.Bind(root.Header.Incarnation)
}

// expireWith notes the root item with which items expire.
func (p *modify) expireWith(root *item.Image) {
	p.root = root
	p.ExpireWith(root)
}

// checksAfter reports whether the root item is read after the patch.
func (p *modify) checksAfter() bool {
	return !p.inTransaction && !p.Rooted() && (p.Entity || p.looked || !p.blind && len(p.Added()) > 0)
}

// confirm reads the root item after the patch has added items, or if the patch requires the entity.
func (p *modify) confirm(ctx context.Context, t *Tally) (retry bool, err error) {
	if !p.checksAfter() {
		return false, nil
	}
	added := p.Added()
	root, live, err := p.confirmRoot(ctx, t)
	if err == nil && live && len(added) > 0 && p.Inherits() {
		root, live, err = p.confirmExpiry(ctx, root, t)
	}
	if err == nil && live {
		return false, nil
	}
	unknown := &Unknown{Label: p.env.Model.Label(), Items: written(p.Requests()), Patch: true}
	if err != nil {
		unknown.Err = fmt.Errorf("the patch was written, but reading the root item afterwards failed: %w", err)
		return false, unknown
	}
	missing := p.env.notLive(p.sel, root, "repeat the patch")
	unknown.Err = missing
	next := root != nil && staging.Pending(root) == "" // another entity exists
	switch {
	case next && len(added) == 0 && p.Counts() && !p.FitsIncarnation():
		return false, unknown // an item without an incarnation may be seen, and would be counted twice
	case next && len(added) == 0: // a leftover item was updated: write that of the entity
		p.bindTo(root)
		return true, missing
	case !p.env.takeBack(ctx, root, added, t):
		unknown.Items = written(added)
		return false, unknown
	case (p.remembered || next) && len(added) == len(p.Items):
		p.Unbind()
		p.external.renew()
		return true, missing
	}
	return false, missing
}

// confirmRoot reads the root item; live reports whether it is live, and of the incarnation of the items that the
// patch wrote.
func (p *modify) confirmRoot(ctx context.Context, t *Tally) (root *item.Image, live bool, err error) {
	if root, err = p.env.readRoot(ctx, p.sel, t); err != nil {
		return nil, false, err
	}
	live = root != nil && staging.Pending(root) == ""
	if own, ok := p.Written(); ok {
		live = live && attr.Same(root.Header.Incarnation, own)
	}
	at, err := p.env.Model.RootPlace(p.Identity)
	switch {
	case err != nil:
	case live:
		p.env.Incarnations.Put(at, root.Header.Incarnation)
	default:
		p.env.Incarnations.Forget(at)
	}
	return root, live, err
}

func (p *modify) reads(*write.Plan) (r estimate.Reads, err error) {
	at, err := p.env.Model.RootPlace(p.Identity)
	if err != nil {
		return r, err
	}
	if p.reckon != nil {
		r = *p.reckon
	} else if p.needsIncarnation() && !(p.mayRemember() && p.env.Incarnations.Get(at) != nil) {
		r = p.env.Estimate.RootRead()
	}
	switch {
	case p.checksAfter():
		r = r.Add(p.env.Estimate.RootRead())
	case !p.blind && !p.Rooted() && p.Makes():
		root := p.env.Estimate.Root()
		r.RCU = r.RCU.Add(cost.Units{Max: 2 * root.Max, If: "the item is missing"})
	}
	if !p.atomic {
		r = r.Add(p.env.Estimate.Locate(p.sel, true))
	}
	return r, nil
}

// refused changes a patch so that it can be sent again, or returns the error of items that are not as it requires.
func (p *modify) refused(ctx context.Context, o *write.Outcome, t *Tally) (retry bool, err error) {
	if root := p.OfRoot(o.Stored); p.owner != nil && root != nil && !p.owner.Still(p.env.Model, root) {
		return false, errOwnerChanged
	}
	if absent := p.MissingFromTag(o.Stored); len(absent) > 0 {
		return false, p.absent(absent)
	}
	if p.LostRoot(o.Stored) && !p.Entity { // deleted since it was read: the patch makes it
		p.Unbind()
		return true, p.changed(p.Present(o.Stored))
	}
	if foreign := p.Stray(o.Stored); len(foreign) > 0 {
		return p.refusedByIncarnation(ctx, foreign, o.Stored, t)
	}
	if p.ExpiryMoved(o.Stored) {
		err := p.bindLive(ctx, t)
		return err == nil, cmp.Or(err, p.changed(p.Present(o.Stored)))
	}
	if unfit := p.Unfit(o.Stored); len(unfit) > 0 {
		return p.rewrite(unfit, o.Stored)
	}
	missing, occupied := p.Missing(o.Stored), p.Occupied(o.Stored)
	if len(missing) > 0 {
		if err := p.makeMissing(ctx, missing, t); err != nil {
			return false, err
		}
	}
	for _, i := range occupied {
		// Another writer was faster. The item's attributes show later whether it belongs to the live
		// entity.
		p.Items[i].Plain()
		p.Items[i].Return = p.Items[i].Return || len(p.Items) == 1
	}
	if rewrite := slices.Concat(missing, occupied); len(rewrite) > 0 {
		return true, p.changed(rewrite)
	}
	if _, bound := p.Live(); p.Entity && !bound { // it may be a leftover item that refused
		if err := p.bindLive(ctx, t); err != nil {
			return false, err
		}
		return true, p.changed(p.Present(o.Stored))
	}
	return false, p.refusal(o)
}

// refusal returns the error of items that are not as the patch requires.
func (p *modify) refusal(o *write.Outcome) error {
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
		case len(stored) == 0 && it.Exists() && !it.IsMaking() || expired || it.Root && !header.Live():
			return p.missing(it, pending)
		case it.Absent():
			return p.exists(it, stored)
		}
		e.Items = append(e.Items, ItemConflict{Place: it.Place, Field: it.Field, What: change.Changed})
		e.Unmet = append(e.Unmet, it.Unmet(stored)...)
	}
	return e
}

// makeMissing has the patch make items that are missing, if their entity exists.
func (p *modify) makeMissing(ctx context.Context, missing []int, t *Tally) error {
	p.looked = true
	if _, bound := p.Live(); !bound {
		if err := p.bindLive(ctx, t); err != nil {
			return err
		}
	}
	for _, i := range missing {
		p.Make(i)
	}
	return nil
}

// bindLive reads the root item, which has to be live, and binds the patch to its entity.
func (p *modify) bindLive(ctx context.Context, t *Tally) error {
	root, err := p.env.liveRoot(ctx, p.sel, t)
	if err == nil {
		p.bindTo(root)
	}
	return err
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
			return false, p.env.Model.FieldErrorf(it.Field,
				"the patch does not match the stored item %s: %w: use Update", it.Place, err)
		}
	}
	return true, p.changed(unfit)
}

// conflict returns the conflict of items that other writers have changed or deleted.
func (p *modify) conflict(items []int, what change.What) *Conflict {
	e := &Conflict{Label: p.env.Model.Label(), Patch: true}
	for _, i := range items {
		it := p.Items[i]
		e.Items = append(e.Items, ItemConflict{Place: it.Place, Field: it.Field, What: what})
	}
	return e
}

// changed is the conflict of items that other writers keep changing.
func (p *modify) changed(items []int) error { return p.conflict(items, change.Changed) }

// absent says that items of the tag are missing.
func (p *modify) absent(items []int) error {
	for _, i := range items {
		if p.Items[i].Root {
			return p.missing(p.Items[i], "")
		}
	}
	e := p.conflict(items, change.Deleted)
	e.Patch, e.Tag = false, tagIsOutOfDate
	return e
}

// makesEntity reports whether the patch makes the root item, if that is missing, and other items with
// the same incarnation.
func (p *modify) makesEntity() bool {
	_, bound := p.Live()
	return p.UpsertsRoot() && bound && !p.Entity
}

// refusedByIncarnation answers, by the table of cures, items that may not be of the live entity.
func (p *modify) refusedByIncarnation(ctx context.Context, foreign []int, stored []item.Attributes,
	t *Tally,
) (retry bool, err error) {
	root, err := p.env.readRoot(ctx, p.sel, t)
	if err != nil {
		return false, err
	}
	var live types.AttributeValue
	exists := staging.Pending(root) == "" && root != nil
	switch {
	case exists:
		live = root.Header.Incarnation
	case p.makesEntity() && root == nil:
		p.BindNew()
		live, _ = p.Live()
	case p.makesEntity(), !p.blind && (p.Puts() || p.Makes()) && !p.UpsertsRoot():
		return false, p.env.notLive(p.sel, root, "repeat the patch")
	}
	if exists {
		p.expireWith(root)
	}
	p.Pin(live)
	for _, i := range foreign {
		it, h := p.Items[i], p.Items[i].Reserved.Header(stored[i])
		wants, needs := demandsOf(it)
		switch cureOf(blockerOf(it, h, root, exists), wants, needs) {
		case makePlain:
			it.Plain()
		case joinEntity:
			it.OfLive(h.Incarnation)
		case replaceItem:
			it.Replacing(it.Reserved.HiddenOf(stored[i]), live)
		case bindPatch:
			p.Bind(live)
			return true, p.changed(foreign)
		case deleteItem:
			if err := p.deleteLeftover(ctx, it, stored[i], t); err != nil {
				return false, err
			}
		case reportExists:
			return false, p.exists(it, stored[i])
		case reportNotLive:
			return false, p.env.notLive(p.sel, root, "repeat the patch")
		case reportPending:
			at := ItemConflict{Place: it.Place, Field: it.Field, What: change.Created}
			return false, &Conflict{
				Label: p.env.Model.Label(), Patch: true, Pending: staging.Pending(root),
				Items: []ItemConflict{at},
			}
		case reportMissing:
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

func (p *modify) exists(it *change.PatchItem, stored item.Attributes) error {
	at := ItemConflict{Place: it.Place, Field: it.Field, What: change.Created}
	return &Exists{it.Place.String(), Conflict{
		Label: p.env.Model.Label(), Patch: true, Items: []ItemConflict{at},
		Pending: expiredLately(it.Reserved, stored, p.env.Model.Now()),
	}}
}

// ifBlocked is for plain patches: another copy does no harm, and the stored item is not the one that the first copy
// would have put.
func ifBlocked(part Part, o *write.Outcome) bool {
	p := part.(*modify)
	foreign := p.Stray(o.Stored)
	unmet := len(p.Unfit(o.Stored)) + len(p.Missing(o.Stored)) + len(p.Occupied(o.Stored))
	return o.Assumed && len(foreign)+unmet > 0 && !p.Replaces(foreign) && !p.Counts()
}

// Items that a patch has created expire with the root item (ttl,all). The specification is Expiry.tla in
// internal/save/staging/spec.

var errExpiryMoves = errors.New("the expiry of the root item keeps changing")

// confirmExpiry makes sure that the items which the patch has created have the expiry of the root item, and returns
// that as it is then.
func (p *modify) confirmExpiry(ctx context.Context, root *item.Image, t *Tally) (*item.Image, bool, error) {
	last := p.root
	for try := range minTries {
		if last != nil && attr.SameItem(root.Attributes(), last.Attributes()) {
			return root, true, nil
		}
		if err := pause(ctx, try); err != nil {
			return nil, false, err
		}
		stale, err := p.stale(ctx, root, t)
		if err != nil {
			return nil, false, err
		}
		last = root
		if len(stale) > 0 {
			// a transaction with a check of the root item corrects them
			corrected, err := p.correctExpiry(ctx, root, stale, t)
			if err != nil {
				return nil, false, err
			}
			if !corrected {
				last = nil // it may not have been applied
			}
		}
		live := false
		if root, live, err = p.confirmRoot(ctx, t); err != nil || !live {
			return root, live, err
		}
	}
	return nil, false, errExpiryMoves
}

// stale returns those of the items that do not have the expiry of the root item.
func (p *modify) stale(ctx context.Context, root *item.Image, t *Tally) (all []*write.Request, err error) {
	for _, r := range p.Added() {
		if !r.Item.ExpiryOfRoot {
			continue
		}
		stored, err := p.env.Sender.Stored(ctx, r, &t.Tally)
		if err != nil {
			return nil, err
		}
		if len(stored) > 0 && !attr.Same(stored[r.Reserved.TTL], change.Inherited(root.Header.Expiry)) {
			all = append(all, r)
		}
	}
	return all, nil
}

// correctExpiry reports whether it has given items the expiry of the root item.
func (p *modify) correctExpiry(ctx context.Context, root *item.Image, stale []*write.Request, t *Tally) (bool, error) {
	for some := range slices.Chunk(stale, cost.MaxTransactItems-1) {
		writes, check := change.CorrectExpiry(p.env.Model, root, some)
		plan, err := write.Arrange(writes, []*write.Request{check}, write.Choice{})
		if err != nil {
			return false, err
		}
		switch o := p.env.Sender.Send(ctx, &plan.Steps[0], &t.Tally); {
		case o.State == write.Failed:
			return false, o.Err
		case !o.OK():
			return false, nil
		}
	}
	return true, nil
}
