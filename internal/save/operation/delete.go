package operation

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/read/search"
	"github.com/itemize/itemize/internal/read/selection"
	"github.com/itemize/itemize/internal/read/snapshot"
	"github.com/itemize/itemize/internal/save/change"
	"github.com/itemize/itemize/internal/save/estimate"
	"github.com/itemize/itemize/internal/save/staging"
	"github.com/itemize/itemize/internal/save/write"
)

// remove is the part that deletes: a loaded entity as it was loaded; a single item, whatever it holds;
// or a selection, whose items it reads first.
type remove struct {
	common
	*change.Deletion
	// single reports that it deletes a single item unread.
	single bool
	// prepared reports that the unresolved writes of the entity were resolved.
	prepared bool
	// deletable reports that the requests are those of the items: always true for a loaded entity and a
	// single item.
	deletable bool
	// staged reports that the plan is that of a staged delete.
	staged   bool
	progress progress
	// owner is the entity of a lookup, nil for a delete by key.
	owner *search.Owned
	// first is the root item that was read first, nil for none. rootless reports that the last read found none.
	first    *item.Image
	rootless bool
}

// progress says how far a delete is.
type progress uint8

const (
	// untouched: no item was deleted.
	untouched progress = iota
	// begun: items were deleted.
	begun
	// unsure: items were deleted, or may have been by an attempt without an answer.
	unsure
	// over: nothing is left to delete.
	over
)

// readTries is how often a delete, or an update, reads again because of conflicts. The pauses grow to a
// second, so that the limit is reached only under writers that never stop.
const readTries = 100

// NewDelete returns the operation that deletes a loaded entity or, if e is nil, a selection.
func NewDelete(env *Env, sel selection.Selection, e *Entity, o Options) (*Operation, error) {
	if err := o.check(env.Model, forDelete); err != nil {
		return nil, err
	}
	p, err := newRemove(env, sel, e, o)
	if err != nil {
		return nil, err
	}
	if p.deletable {
		return new(single).operation(p, minTries), nil
	}
	return new(single).operation(p, readTries), nil
}

// Delete returns the part of a transaction that deletes a loaded entity or, if e is nil, a selection; done is called
// after an entity was deleted.
func Delete(env *Env, sel selection.Selection, e *Entity, done func()) (Part, error) {
	if e == nil && len(sel.Elsewhere) > 0 {
		return nil, env.notLocated()
	}
	p, err := newRemove(env, sel, e, Options{})
	if err != nil {
		return nil, err
	}
	p.done = done
	return p, nil
}

func newRemove(env *Env, sel selection.Selection, e *Entity, o Options) (*remove, error) {
	if e != nil {
		sel = e.Selection
		if err := e.checkTag(env.Model, o.Tag); err != nil {
			return nil, err
		}
	} else if o.Tag != nil {
		return nil, env.Model.Errorf("DeleteByKey does not compare a tag: Load the entity with IfTag, and Delete it")
	}
	deletion, err := change.NewDeletion(env.Model, sel, o.Staged)
	if err != nil {
		return nil, env.fault(err)
	}
	o.Blind = o.Blind || env.Blind
	p := &remove{
		common: common{
			env: env, entity: e, options: o, target: &deletion.Selection,
			keys:     &snapshot.Keys{KeyFields: sel.Identity},
			harmless: ifAssumed, forgettable: true,
		},
		Deletion: deletion, deletable: e != nil,
	}
	part, single := deletion.Single()
	if e != nil || !single {
		if e == nil && !sel.Whole { // another writer can have added the same elements after the first attempt
			p.harmless = never
		}
		return p, nil
	}
	p.single, p.deletable, p.harmless = true, true, always
	if o.ExactlyOnce { // it requires no version, so that a late copy would delete the item again
		p.harmless = never
	}
	if err := deletion.Blind(part); err != nil {
		return nil, err
	}
	for _, ch := range deletion.Rest {
		ch.Likely = env.Estimate.Sizes.Item(ch.Item)
	}
	return p, nil
}

// prepare resolves the unresolved writes of an entity.
func (p *remove) prepare(ctx context.Context, t *Tally) error {
	e := p.entity
	if e == nil {
		return nil
	}
	was := e.Fresh
	if err := e.resolve(ctx, p.env, t); err != nil {
		return err
	}
	var err error
	// it may have moved
	if p.Deletion, err = change.NewDeletion(p.env.Model, e.Selection, p.options.Staged); err != nil {
		return p.env.fault(err)
	}
	p.target, p.keys.KeyFields = &p.Selection, p.Selection.Identity
	p.prepared = !e.Fresh || !was && !e.isUnresolved()
	return nil
}

func (p *remove) notStored() error {
	return p.env.Model.Errorf("the entity is not stored: nothing to delete (%w)", search.ErrNotFound)
}

func (p *remove) requests(*change.Readers) (r Requests, err error) {
	m, e := p.env.Model, p.entity
	switch {
	case p.progress == over, p.prepared && e.Fresh: // an earlier delete turned out to be applied
		return Requests{Over: p.notStored()}, nil
	case !p.deletable:
		return Requests{Read: p.read, Missing: true}, nil
	case e != nil && e.Fresh && !e.isUnresolved():
		return r, p.notStored()
	case e != nil && e.Fresh:
		return r, &Unknown{Label: m.Label(), Items: e.unresolved.Places(), Err: change.ErrLate} // an insert
	case e != nil:
		p.Loaded(e.Snapshot)
		if late := e.unresolved.Late(p.All()); len(late) > 0 && p.prepared {
			return r, &Unknown{Label: m.Label(), Items: late.Places(), Err: change.ErrLate}
		}
		// for instance because an earlier delete turned out to be applied
		if p.atomic && p.prepared && len(p.All()) == 0 {
			return Requests{Over: p.notStored()}, nil
		}
		if p.marked() && p.atomic {
			return r, m.Errorf("another delete of the entity is not finished: finish it with Delete alone")
		}
	}
	if err := p.Check(); err != nil {
		return r, err
	}
	p.changes = p.All()
	o := p.options
	c := write.Choice{Independent: o.Independent, Staged: o.Staged, ExactlyOnce: o.ExactlyOnce, Delete: true}
	if p.marked() { // it continues as a staged delete
		c.Independent, c.Staged, c.ExactlyOnce = false, true, false
	}
	r = Requests{Writes: change.Requests(p.changes), Choice: c, Guards: p.Guards}
	if p.Selection.Whole && m.Reserved.Versions() {
		r.Choice.Steps, r.Stage = p.steps, p.stage
	}
	return r, nil
}

// marked reports whether a staged delete of the loaded entity has begun before.
func (p *remove) marked() bool {
	return p.entity != nil && p.Root != nil && !p.Root.Header.Live()
}

// steps makes the steps of a staged delete.
func (p *remove) steps(requests []*write.Request) []write.Step {
	// Leftover items without a root item get one, so that other writers see the delete.
	if p.Root == nil {
		requests = append(slices.Clone(requests), &p.Absent().Request)
	}
	return staging.DeleteSteps(p.env.Model.Now())(requests)
}

// read reads the items of a selection, strongly consistent.
func (p *remove) read(ctx context.Context, t *Tally) error {
	m := p.env.Model
	e, err := search.EntityOf(m, p.Selection)
	if err != nil {
		return p.env.fault(err)
	}
	p.deletable = true
	if !p.Selection.Whole {
		r, err := p.env.Protocol.Read(ctx, e, read.Options{Strong: true}, &t.Tally)
		if err != nil {
			return err
		}
		p.Found(slices.DeleteFunc(r.Items, func(f item.Image) bool { return !r.Joined(&f) || p.atomic && f.Expired }))
		if p.atomic && len(p.All()) == 0 {
			p.progress = over
		}
		return nil
	}
	found, err := p.env.Protocol.Remains(ctx, e, &t.Tally)
	if err != nil {
		return err
	}
	root := p.Found(found)
	if p.progress == untouched {
		p.first = root
	}
	p.rootless = root == nil
	switch {
	case p.lost(root):
		return errOwnerChanged
	case root != nil && root.Header.Moving():
		at := ItemConflict{Place: root.Place, Field: root.Kind.Name, What: change.Changed}
		return &Conflict{Label: m.Label(), Pending: staging.Pending(root), Moving: true, Items: []ItemConflict{at}}
	case !p.atomic && root == nil && len(p.Rest) > 0:
		return nil // leftover items
	case p.progress == unsure && root != nil && p.first != nil && p.first.Header.Incarnation == nil &&
		(p.first.Header.Version == nil || !attr.Same(p.first.Header.Version, root.Header.Version)):
		return &Unknown{Label: m.Label(), Items: written(change.Requests(p.changes)), Err: errNextEntity}
	case p.progress != untouched && (root == nil || p.first != nil && !p.isFirst(root)):
		if p.sought && p.progress == unsure {
			return &Unknown{Label: m.Label(), Items: written(change.Requests(p.changes)), Err: errMoved}
		}
		p.progress = over // another writer deleted the rest, or inserted the next entity
		return nil
	case p.atomic && root != nil && root.Expired:
		return p.env.fault(p.env.Search.RootThere(p.Selection, nil))
	case p.atomic:
		return p.env.fault(p.env.Search.RootThere(p.Selection, root))
	case root != nil && (!root.Header.Live() || root.Expired && len(p.Rest) > 0):
		return nil // this delete ends what another writer began, or removes what expired
	}
	return p.env.fault(p.env.Search.RootThere(p.Selection, root))
}

// isFirst reports whether a root item is of the entity that was read first.
func (p *remove) isFirst(root *item.Image) bool {
	return root != nil && p.first != nil && attr.Same(p.first.Header.Incarnation, root.Header.Incarnation)
}

// errNextEntity is the reason of an unknown outcome.
var errNextEntity = errors.New("items may have been deleted, and the entity that exists now can be the next one of " +
	"this key: load it, and delete it if it is the same")

func (p *remove) reads(plan *write.Plan) (estimate.Reads, error) {
	switch {
	case p.entity == nil:
		return estimate.Reads{}, nil
	case plan.Mode != write.Staged && plan.Mode != write.Nothing && p.looks():
		return p.env.Estimate.Delete(p.entity.Snapshot, p.Selection)
	case plan.Mode != write.Staged:
		return estimate.Reads{}, nil
	}
	return p.env.Estimate.StagedDelete(p.entity.Snapshot, p.Selection, plan, p.marked())
}

func (p *remove) applied(requests []*write.Request) {
	if len(requests) > 0 {
		p.progress = max(p.progress, begun)
	}
	if p.entity == nil {
		return
	}
	effects := change.Effects(p.changes, requests)
	p.entity.Forget(effects)
	p.entity.unresolved = p.entity.unresolved.Overwritten(effects)
}

func (p *remove) finish(ctx context.Context, t *Tally) error {
	if p.entity != nil && p.Selection.Whole {
		p.entity.Reset()
		p.entity.unresolved = nil
	}
	if p.done != nil {
		p.done()
	}
	if !p.looks() {
		return nil
	}
	return p.deleteAdded(ctx, t)
}

// looks reports whether the delete looks for items that other writers added to the entity before its root item was
// deleted.
func (p *remove) looks() bool {
	// a staged delete has read them after its mark
	return p.Selection.Whole && p.Root != nil && !p.staged && !p.options.Blind && len(p.env.Model.Schema.Items) > 1
}

// deleteAdded deletes the items that other writers added to the entity after it was read.
func (p *remove) deleteAdded(ctx context.Context, t *Tally) error {
	m := p.env.Model
	e, err := search.EntityOf(m, p.Selection)
	if err != nil {
		return p.env.fault(err)
	}
	own := p.Root.Header.Incarnation
	if p.progress == over && p.first != nil { // the items that were read last belong to the next entity
		own = p.first.Header.Incarnation
	}
	// An item that is added later is deleted by its own writer, which does not find the root item.
	found, err := p.env.Protocol.Remains(ctx, e, &t.Tally)
	if err == nil {
		var deleted []item.Place
		deleted, err = p.env.Protocol.DeleteAdded(ctx, e, p.Added(own, found), &t.Tally)
		t.AlsoDeleted = append(t.AlsoDeleted, deleted...)
	}
	if err != nil {
		return &Partial{
			Label: m.Label(), Written: written(change.Requests(p.changes)),
			Err: fmt.Errorf("the entity was deleted, but deleting items that other writers added to it failed: %w: "+
				"delete it by its key", err),
		}
	}
	return nil
}

func (p *remove) refused(ctx context.Context, o *write.Outcome, t *Tally) (retry bool, err error) {
	switch {
	case p.single:
		return p.refusedUnread(ctx, o, t)
	case p.entity == nil: // another writer changed the items that were read
		if p.deletable = false; o.Unsure { // an earlier attempt may have been applied
			p.progress = unsure
		}
		return true, conflict(p.env, *p.keys, o, false)
	}
	retry, err = p.entity.refused(ctx, p.env, *p.keys, o, t)
	if retry {
		return true, err
	}
	return p.wasDeleted(ctx, err, t)
}

// wasDeleted returns ErrNotFound instead of a conflict which says that the whole entity was deleted.
func (p *remove) wasDeleted(ctx context.Context, err error, t *Tally) (retry bool, _ error) {
	var conflict *Conflict
	// While the number of shards changes, a missing item may be on another shard.
	if !errors.As(err, &conflict) || !p.Selection.Whole || len(conflict.Items) < len(p.All()) ||
		p.env.Model.CanReshard(p.Selection.Identity) {
		return false, err
	}
	for _, it := range conflict.Items {
		if it.What != change.Deleted {
			return false, err
		}
	}
	// If that was an unresolved delete or move of this entity, the delete is planned again.
	if n := len(p.entity.unresolved); n > 0 {
		if err := p.prepare(ctx, t); err != nil || len(p.entity.unresolved) < n {
			return err == nil, err
		}
	}
	return false, p.env.fault(p.env.Search.RootThere(p.Selection, nil))
}

// refusedUnread handles an item that a staged insert has put under the key of a single item.
func (p *remove) refusedUnread(ctx context.Context, o *write.Outcome, t *Tally) (retry bool, err error) {
	// The item belongs to the entity, or is a leftover item, or the insert is pending.
	root, err := p.env.readRoot(ctx, p.Selection, t)
	if err != nil {
		return false, err
	}
	r, stored := o.Requests[0], o.Stored[0]
	h := r.Reserved.Header(stored)
	at := ItemConflict{Place: r.Place, Field: r.Field, What: change.Changed}
	e := &Conflict{Label: p.env.Model.Label(), Items: []ItemConflict{at}}
	if !r.Expect.Blind || len(stored) == 0 || h.Stage == nil { // it has changed since then
		r.Expect = change.Unread(r.Reserved)
		return true, e
	}
	if pending := staging.Pending(root); pending != "" && !root.Header.Live() && staging.Holds(root, h.Incarnation) {
		e.Pending, e.Items[0].What = pending, change.Created
		return false, e
	}
	r.Expect = write.AsFound(r.Place, h.Version, stored) // as it is now
	return true, e
}

// stage sends the plan of a staged delete.
func (p *remove) stage(ctx context.Context, x *Operation, plan *write.Plan, t *Tally) (retry bool, err error) {
	p.staged = true
	m := p.env.Model
	e, err := search.EntityOf(m, p.Selection)
	if err != nil {
		return false, p.env.fault(err)
	}
	e.Belongs = p.Belongs
	marked := p.marked()
	if p.entity != nil && !marked {
		if retry, err := p.compare(ctx, e, t); retry || err != nil {
			return retry, err
		}
	}
	r := p.env.Protocol.Delete(ctx, e, plan, &t.Tally)
	t.AlsoDeleted = append(t.AlsoDeleted, r.Items...)
	mark := plan.Steps[0].Requests[0]
	switch started := len(r.Applied) > 0; {
	case r.OK(), marked && r.State == write.Rejected && !started: // a marked entity is never live again
		return false, p.finish(ctx, t)
	case !started && r.State == write.Rejected && mark.Kind == write.Put:
		p.deletable = p.entity != nil
		at := ItemConflict{Place: mark.Place, Field: mark.Field, What: change.Created}
		return !p.deletable, &Conflict{Label: m.Label(), Items: []ItemConflict{at}}
	case !started:
		x.outcome = r.Outcome
		return x.conclude(ctx, t)
	case p.entity != nil: // so that the delete can be repeated
		p.entity.apply(snapshot.Keys{}, p.changes, r.Applied)
	}
	err = r.Err
	if r.State == write.Unknown {
		err = &Unknown{Label: m.Label(), Items: written(r.Requests), Err: r.Err}
	}
	return false, &Partial{
		Label: m.Label(), Written: []item.Place{mark.Place},
		Rest: append(written(change.Requests(p.Rest)), mark.Place), Err: err,
	}
}

// compare reads the items of a loaded entity before its staged delete, and returns a conflict unless they are as they
// were loaded.
func (p *remove) compare(ctx context.Context, e *staging.Entity, t *Tally) (retry bool, err error) {
	found, err := p.env.Protocol.Remains(ctx, e, &t.Tally)
	if err != nil {
		return false, err
	}
	own := func(f item.Image) bool { return p.entity.adoptAt(f.Place, f.Attributes()) != nil }
	// an earlier write turned out to be applied
	if slices.ContainsFunc(found, own) {
		return true, nil
	}
	conflict := &Conflict{Label: p.env.Model.Label()}
	for _, d := range p.Differences(found) {
		conflict.Items = append(conflict.Items, ItemConflict{Place: d.Place, Field: d.Field, What: d.What})
	}
	if len(conflict.Items) == 0 {
		return false, nil
	}
	return p.wasDeleted(ctx, conflict, t)
}
