package operation

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/read/search"
	"github.com/itemize/itemize/internal/read/selection"
	"github.com/itemize/itemize/internal/save/change"
	"github.com/itemize/itemize/internal/save/estimate"
	"github.com/itemize/itemize/internal/save/staging"
	"github.com/itemize/itemize/internal/save/write"
)

// save is the part that saves an entity.
type save struct {
	common
	value any
	// fresh reports that the entity was new when the operation began.
	fresh bool
	diff  *change.Diff
	// written are the places of all requests that were applied.
	written []item.Place
}

// NewSave returns the operation that saves the value of an entity.
func NewSave(env *Env, e *Entity, value any, o Options) (*Operation, error) {
	x := &struct { // in one piece of memory
		single
		save save
	}{}
	if err := x.save.init(env, e, value, o, forSave); err != nil {
		return nil, err
	}
	return x.operation(&x.save, minTries), nil
}

// Save returns the part of a transaction that saves the value of an entity; done is called after it was saved.
func Save(env *Env, e *Entity, value any, o Options, done func()) (Part, error) {
	p := &save{}
	if err := p.init(env, e, value, o, forPart); err != nil {
		return nil, err
	}
	p.done = done
	return p, nil
}

func (p *save) init(env *Env, e *Entity, value any, o Options, u use) error {
	if err := o.check(env.Model, u); err != nil {
		return err
	}
	o.Blind = o.Blind || env.Blind
	p.common = common{env: env, entity: e, options: o, saves: true, harmless: ifAssumed}
	p.value, p.fresh = value, e.Fresh
	return e.checkTag(env.Model, o.Tag)
}

func (p *save) prepare(ctx context.Context, t *Tally) error {
	p.entity.Hidden, p.entity.LatestRoot = nil, nil
	if err := p.entity.resolve(ctx, p.env, t); err != nil {
		return err
	}
	return p.entity.confirm(ctx, p.env, p.entity.Selection, t)
}

func (p *save) requests(readers *change.Readers) (r Requests, err error) {
	m, e := p.env.Model, p.entity
	if err := readers.KeepReaders(m, p.value); err != nil {
		return r, p.env.fault(err)
	}
	if p.fresh && !e.Fresh {
		p.options.Staged = false // an unresolved insert turned out to be applied
	}
	if p.options.Staged && !e.Fresh {
		return r, m.Errorf("Staged is for inserts and deletes: save without it, or with Independent")
	}
	if root := e.Root(); root != nil && !root.Header.Live() {
		return r, m.Errorf("entity is being deleted: finish the delete, then insert a new entity")
	}
	// The transaction that adds items requires the root item during a migration, or if it has other parts, which cannot
	// be taken back.
	root := p.options.RootInTransaction || p.inTransaction && (p.options.CheckRoot || !p.options.Blind)
	d, err := change.Of(e.Snapshot, e.unresolved, p.value,
		change.Options{
			Move: p.options.Move, Checks: p.options.CheckLoaded, Reindex: p.options.Reindex,
			Root: root, RootToo: p.inTransaction && p.options.CheckRoot, Owner: p.options.Owner,
		})
	if err != nil {
		return r, p.env.fault(err)
	}
	p.diff, p.keys, p.move = d, &d.Keys, nil
	if d.Moves {
		p.move = d
	}
	for _, ch := range slices.Concat(d.Checks, d.Changes) {
		switch {
		case !ch.Unread || ch.New:
		case ch.Root && e.Root() != nil && e.Root().Projection == nil:
			ch.Likely = e.Root().Size
		default:
			ch.Likely = p.env.Estimate.Sizes.Item(ch.Item)
		}
	}
	if p.changes = d.Changes; m.Source != nil {
		if err := p.external.arrange(p.env, d.Changes); err != nil {
			return r, err
		}
	}
	r = Requests{Writes: change.Requests(d.Changes), Choice: write.Choice{
		Independent: p.options.Independent, Staged: p.options.Staged, ExactlyOnce: p.options.ExactlyOnce, Move: d.Moves,
	}, Guards: d.Guards}
	if d.NeedsRoot {
		r.Read = p.read
	}
	if e.Fresh && len(d.Changes) > 1 && m.Reserved.Versions() {
		r.Choice.Steps, r.Stage = staging.InsertSteps(m.Now()), p.stage
	}
	if len(d.Changes) > 1 && len(d.Checks)+len(d.Guards) == 0 && !d.Moves && !p.atomic {
		r.Alternatives = p.alternatives
	}
	if len(d.Checks) > 0 && (p.atomic || len(d.Changes) > 0) { // a save that writes nothing checks nothing
		r.Checks = change.Requests(d.Checks)
	}
	return r, nil
}

// alternatives returns other ways to send the save.
func (p *save) alternatives(r *Requests, plan *write.Plan) func() []write.Alternative {
	d, env := p.diff, p.env
	if plan.Before != nil {
		return nil
	}
	requests, undeclared := change.Requests(d.Changes), env.Estimate.Undeclared.Of(plan) // as they are known now
	var stagedPrice func([]*write.Request) write.Alternative
	if r.Choice.Steps != nil {
		stagedPrice = func(all []*write.Request) write.Alternative {
			return staging.InsertPrice(env.Model.Now(), all)
		}
	}
	readsRoot := !p.options.Blind && slices.ContainsFunc(d.Changes, (*change.Change).IsAddition)
	return func() []write.Alternative {
		all := write.Alternatives(plan.Mode, requests, stagedPrice)
		for i := range all {
			a := &all[i]
			if a.Mode == write.OneByOne && readsRoot {
				a.Calls++
			}
			a.WCU = a.WCU.Add(undeclared)
			if a.Mode == write.Staged {
				a.WCU = a.WCU.Add(undeclared) // the root item is written twice
			}
		}
		return all
	}
}

// read reads the root item of an entity to which items are added, if no loaded item has its incarnation.
func (p *save) read(ctx context.Context, t *Tally) error {
	root, err := p.env.liveRoot(ctx, p.entity.Selection, t)
	if err != nil {
		return err
	}
	p.entity.SetIncarnation(root.Header.Incarnation)
	return nil
}

func (p *save) reads(plan *write.Plan) (estimate.Reads, error) {
	r, err := p.env.Estimate.Save(p.entity.Snapshot, p.diff)
	if plan.Mode != write.Staged && slices.ContainsFunc(plan.Steps, func(st write.Step) bool {
		added, written := p.unconfirmed(st.Requests)
		return len(added)+len(written) > 0
	}) {
		r = r.Add(p.env.Estimate.RootAfter(p.entity.Snapshot, plan))
	}
	if err != nil {
		return r, err
	}
	for _, g := range p.diff.Guards {
		if plan.Mode == write.Staged && g.Take != nil { // the early look
			r = r.Add(p.env.Estimate.Guard(true))
		}
	}
	former, _, err := p.former()
	for _, d := range p.entity.moved {
		former = append(former, p.env.Model.Identity(d.Old))
	}
	for _, at := range former {
		look, err := p.env.Estimate.Remains(p.entity.Snapshot.Images(), at)
		if err != nil {
			return r, err
		}
		r = r.Add(look)
	}
	return r, err
}

func (p *save) applied(requests []*write.Request) {
	p.entity.apply(*p.keys, p.changes, requests)
	p.written = append(p.written, written(requests)...)
	added, written := p.unconfirmed(requests)
	all := &p.entity.unconfirmed
	if all.note(added); len(written) > 0 {
		all.written = append(all.written, written...)
		all.incarnation, _ = p.entity.Incarnation()
	}
}

// unconfirmed returns those requests of a step after which the root item has to be read: additions, and with
// CheckRoot all, unless one requires the root item.
func (p *save) unconfirmed(requests []*write.Request) (added, written []*write.Request) {
	if p.inTransaction {
		return nil, nil
	}
	if !p.options.Blind {
		added = unrooted(requests)
	}
	pins := func(r *write.Request) bool { return r.PinsEntity }
	if p.options.CheckRoot && !slices.ContainsFunc(requests, pins) {
		written = requests
	}
	return added, written
}

// confirm reads the root item if items were added without it.
func (p *save) confirm(ctx context.Context, t *Tally) (retry bool, err error) {
	sel := p.entity.Selection
	if keys := p.keys.KeyFields; keys != nil {
		sel = selection.Selection{Identity: p.env.Model.Identity(keys)}
	}
	added := p.entity.unconfirmed.added
	err = p.entity.confirm(ctx, p.env, sel, t)
	if _, refused := err.(*Conflict); !refused {
		return false, err
	}
	var kept []item.Place // as the save wrote them
	for _, at := range p.written {
		if !slices.ContainsFunc(added, func(r *write.Request) bool { return r.Place == at }) {
			kept = append(kept, at)
		}
	}
	if len(kept) > 0 {
		err = &Partial{Label: p.env.Model.Label(), Written: kept, Rest: written(added), Err: err}
	}
	return false, err
}

func (p *save) finish(ctx context.Context, t *Tally) error {
	if p.keys.KeyFields != nil {
		p.entity.Arrive(*p.keys)
	}
	if p.diff.Moves && len(p.diff.Changes) > 0 {
		p.entity.moved = append(p.entity.moved, p.diff)
	}
	if err := p.carry(ctx, t); err != nil {
		return err
	}
	change.SettleAll(p.entity.Snapshot, p.value)
	if p.fresh {
		p.env.Remember(p.entity.Snapshot)
	}
	if p.done != nil {
		p.done()
	}
	return nil
}

// added returns the requests that add items to the entity.
func (p *save) added() []*write.Request {
	var all []*write.Request
	for _, ch := range p.changes {
		if ch.IsAddition() {
			all = append(all, &ch.Request)
		}
	}
	return all
}

// refusedByForm reports whether the root item, which has refused the requests, has fields in another form than they
// require, while the keys of the added items are right.
func (p *save) refusedByForm(o *write.Outcome) bool {
	added := p.added()
	if len(added) == 0 || len(p.env.Model.Schema.KeyFields) == p.env.Model.Schema.Identities() {
		return false
	}
	own, _ := p.entity.Incarnation()
	root := p.refusing(o, own)
	if root == nil || p.env.allAgree(root, added) != nil {
		return false
	}
	// the requests are made again with it
	before := p.entity.LatestRoot
	p.entity.LatestRoot = root.Attributes()
	return !maps.EqualFunc(before, p.entity.LatestRoot, attr.Same)
}

func (p *save) refused(ctx context.Context, o *write.Outcome, t *Tally) (retry bool, err error) {
	if p.refusedByForm(o) {
		return true, conflict(p.env, *p.keys, o, p.entity.Fresh)
	}
	if p.hasArrived(o) {
		return false, &Unknown{Label: p.env.Model.Label(), Items: written(o.Requests), Err: errArrived}
	}
	if p.inTransaction {
		if err := p.missing(o); err != nil {
			return false, err
		}
	}
	return p.entity.refused(ctx, p.env, *p.keys, o, t)
}

// errArrived is the reason of an unknown outcome.
var errArrived = errors.New("the entity is at its new key, and others have written it since: load it there")

// hasArrived reports whether a move that was refused repeats one without an answer, and the entity is where it moves
// to.
func (p *save) hasArrived(o *write.Outcome) bool {
	repeats := slices.ContainsFunc(p.entity.unresolved, func(d *change.UnresolvedWrite) bool { return d.Move != nil })
	// Nothing shows whether that is due to the first move or to another writer's.
	return repeats && slices.ContainsFunc(o.Requests, func(r *write.Request) bool {
		i := slices.Index(o.Requests, r)
		if !r.Root || !r.New || r.OfEntity == nil || len(o.Stored[i]) == 0 {
			return false
		}
		h := r.Reserved.Header(o.Stored[i])
		return h.Live() && attr.Same(h.Incarnation, r.OfEntity)
	})
}

// missing returns the error of a transaction whose check of the root item failed, because the entity is not live.
func (p *save) missing(o *write.Outcome) error {
	for i, r := range o.Requests {
		if r.Kind != write.Check || !r.PinsEntity || !r.Unread || o.Stored[i] == nil {
			continue
		}
		var root *item.Image
		if len(o.Stored[i]) > 0 {
			f, err := p.env.Model.Image(r.Table, o.Stored[i])
			if err != nil {
				return err
			}
			if root = &f; root.Header.Live() && attr.Same(root.Header.Incarnation, r.OfEntity) {
				return p.env.allAgree(root, p.added())
			}
		}
		return p.env.notLive(p.entity.Selection, root, "load the entity by its key")
	}
	return nil
}

// stage sends the plan of a staged insert, whose copies package staging has resolved, so that no verdict is needed.
func (p *save) stage(ctx context.Context, x *Operation, plan *write.Plan, t *Tally) (retry bool, err error) {
	keys, m := *p.keys, p.env.Model
	e, err := search.EntityOf(m, selection.Entity(m.Schema, m.Identity(keys.KeyFields)))
	if err != nil {
		return false, p.env.fault(err)
	}
	if len(x.guards.joined) > 0 {
		if err := x.guards.stage(ctx, x, e, plan, t); err != nil {
			return false, err
		}
	}
	r := p.env.Protocol.Insert(ctx, e, plan, &t.Tally)
	if !r.OK() && p.external.group != nil {
		if r.Outcome, err = p.external.resolve(ctx, r.Outcome, t); err != nil {
			return true, err
		}
		if r.OK() {
			r.Applied = r.Unresolved
		}
	}
	switch r.State {
	case write.Written:
		p.applied(r.Applied)
		return false, p.finish(ctx, t)
	case write.Unknown:
		if r.Unresolved != nil {
			d := change.NewUnresolvedWrite(m, p.changes, r.Unresolved, keys, r.Evidence)
			d.Whole = true
			p.entity.unresolved = append(p.entity.unresolved, d)
		}
		return false, &Unknown{Label: m.Label(), Items: written(r.Requests), Err: r.Err}
	case write.Rejected:
		if p.entity.adoptStored(&r.Outcome) != foundNothing {
			return true, nil
		}
		own := x.guards.without(&r.Outcome)
		if !slices.ContainsFunc(own.Stored, wasRefused) {
			return false, &Exhausted{x.label(), nil}
		}
		err := conflict(p.env, keys, &own, p.entity.Fresh)
		root, stored := r.Requests[0], r.Stored[0]
		var exists *Exists // unless another writer took over the pending root item
		if stored != nil && root.Root && errors.As(err, &exists) &&
			(len(stored) == 0 || !root.Reserved.Header(stored).Live()) {
			exists.Pending = "another writer began to insert or delete the entity: insert again"
			return false, &exists.Conflict
		}
		return false, err
	}
	return false, r.Err
}
