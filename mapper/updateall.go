package mapper

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/read/search"
	"github.com/itemize/itemize/internal/read/selection"
	"github.com/itemize/itemize/internal/save/change"
	"github.com/itemize/itemize/internal/save/estimate"
	"github.com/itemize/itemize/internal/save/operation"
	"github.com/itemize/itemize/query"
)

// UpdateAll reads several entities of any models, calls update, and writes all changes in one
// transaction, or none. If another writer has changed an item that it writes in the meantime, it reads
// and calls update again, up to a hundred times or until the context ends.
//
//	var from, to store.Driver
//	receipt, err := mapper.UpdateAll(ctx, func() error {
//		trip := from.Open[id]
//		delete(from.Open, id)
//		to.Open[id] = trip
//		return nil
//	}, drivers.UpdatePart(&from, store.DriverByID("d1")), drivers.UpdatePart(&to, store.DriverByID("d2")))
//
// The parts made by [Mapper.UpdatePart] are read. Others are written with them, as by [Transact]: new
// entities (SavePart), patches, deletes, raw items. If one of those is refused, and all entities that were
// read are unchanged, the error is returned.
//
// Update sees values that all entities had at one moment. To ensure that, UpdateAll reads in one of two
// ways. If the selections have 2 to 100 items with known keys and no ranges, it reads them in one
// transaction. Otherwise it reads each selection strongly consistently, and again until nothing has
// changed. An element that was added and deleted again between these two reads may be missing then. Both
// ways cost two RCU for each 4 KB. The write requires that the items that it changes are unchanged since
// then. With the option [CheckLoaded] of an UpdatePart it also requires that of the loaded items that it
// does not change, at two WCU for each KB of each item.
//
// If update returns an error, nothing is written. If an entity whose root item is selected does not
// exist, the error is ErrNotFound. The transaction has the limits of [Transact], and the checks count.
// The receipt has the cost of all tries. If the outcome is unknown (*OutcomeUnknownError), update is not
// called again. The values are those that update has left, also if the write failed.
func UpdateAll(ctx context.Context, update func() error, parts ...Part) (*Receipt, error) {
	var t draft
	u, err := newUpdates(update, parts)
	if err != nil {
		return t.receipt(), err
	}
	for i, p := range parts {
		if err := p.of.begin(); err != nil {
			return t.receipt(), err
		}
		defer parts[i].of.end()
	}
	x := &transaction{engines: u.engines}
	ctx, end := x.observe(ctx, "UpdateAll")
	err = u.run(ctx, &t)
	switch {
	case u.own != nil:
		err = u.own
	case err != nil:
		err = public(nil, cmp.Or(u.last, err))
	}
	end(&t, err)
	return t.receipt(), err
}

// PlanUpdateAll returns the requests and the predicted cost of the reads of UpdateAll. It does no I/O.
// The cost of the write depends on what update changes: it is that of [PlanTransact].
func PlanUpdateAll(parts ...Part) (*Plan, error) {
	u, err := newUpdates(func() error { return nil }, parts)
	if err != nil {
		return nil, err
	}
	sum := planOfReads(estimate.Reads{})
	lookups := estimate.Reads{}
	for _, p := range u.reads {
		r := p.engine.env.Estimate.Selection(p.update.sel, true)
		sum.Requests += r.Requests
		sum.RCU = sum.RCU.Add(r.RCU)
		if p.update.sought != nil {
			lookups = lookups.Add(p.engine.env.Estimate.Owner(p.update.noted))
		}
	}
	switch {
	case u.atOnce:
		sum.Requests, sum.RCU = 1, sum.RCU.Times(2)
	case !u.single():
		sum.Requests, sum.RCU = 2*sum.Requests, sum.RCU.Times(2)
	}
	sum.Requests += lookups.Requests
	sum.RCU = sum.RCU.Add(lookups.RCU)
	return sum, nil
}

// UpdatePart returns the part of [UpdateAll] that reads a selection into v and saves its changes. v gets
// the loaded value before each call of the function. The options are those of SavePart; IfTag is not. A lookup by a
// unique value finds the entity again before each try, and its root item is loaded too.
func (m *Mapper[T]) UpdatePart(v *T, s query.Selection[T], options ...WriteOption) Part {
	g := m.get()
	u := &updating{sel: m.resolved(s), v: v, options: writeOptionsOf(options)}
	if l := u.sel; l.Lookup != nil && l.Fault() == nil {
		u.sought = &l
		u.sel, u.noted, u.sel.Err = g.search.SomeOwner(l)
	}
	switch {
	case u.sel.Err != nil:
	case v == nil:
		u.sel.Err = g.model.Errorf("the value of UpdatePart is nil: pass a pointer that receives the entity")
	case isIndex(u.sel) || !u.sel.Entity:
		u.sel.Err = g.model.Errorf("the selection of UpdatePart has several entities: pass one of a single entity")
	case u.options.Tag != nil:
		u.sel.Err = g.model.Errorf("UpdatePart does not compare tags: use Update with IfTag")
	}
	if u.sel.Err == nil {
		u.sel.Err = u.options.CheckPart(g.model)
	}
	if v != nil {
		u.reset = func() { *v = *new(T) }
	}
	p := g.part(nil, func() (operation.Part, error) {
		return nil, g.model.Errorf("an UpdatePart is read first: pass it to UpdateAll")
	})
	if p.update = u; u.sought == nil {
		p.entity = u.sel.Identity
	}
	return p
}

// updating is an entity that UpdateAll reads and writes.
type updating struct {
	sel selection.Selection
	// sought is the lookup, nil for a key. sel is then a selection like that of the entity, until the entity owned is
	// found. noted reports that the note of the value is not read.
	sought *selection.Selection
	owned  *search.Owned
	noted  bool
	// v is a pointer to the value, and reset makes the value zero.
	v       any
	reset   func()
	options operation.Options
	// state is the state as it was read last, and content that of the stored items.
	state   *state
	content string
	readers change.Readers
}

// updates is a running UpdateAll.
type updates struct {
	update  func() error
	asked   []Part // with lookups
	parts   []Part
	reads   []Part // those that are read
	engines []*engine
	// atOnce reports that all are read in one transaction.
	atOnce bool
	// own is the error that ended the update: of the function, or of another part. last is the last refusal of a
	// write because of an entity that was read.
	own, last error
}

// newUpdates checks the parts. The error joins all faults.
func newUpdates(update func() error, parts []Part) (*updates, error) {
	u := &updates{update: update, asked: parts, parts: parts}
	var errs []error
	if update == nil {
		errs = append(errs, model.Usagef("mapper: the function of UpdateAll is nil: pass one that changes the values"))
	}
	items := 0
	u.atOnce = true
	for i, p := range parts {
		if p.engine != nil && !slices.Contains(u.engines, p.engine) {
			u.engines = append(u.engines, p.engine)
		}
		if p.update == nil {
			continue
		}
		sel := p.update.sel
		if sel.Err != nil {
			errs = append(errs, p.engine.public(sel.Err))
			continue
		}
		for _, o := range parts[:i] {
			errs = append(errs, p.excludes(o)...)
		}
		for _, o := range parts[i+1:] {
			if o.update == nil {
				errs = append(errs, p.excludes(o)...)
			}
		}
		u.reads = append(u.reads, p)
		items += len(sel.Parts)
		u.atOnce = u.atOnce && read.Keys(sel.Parts) && len(sel.Elsewhere) == 0
	}
	if len(u.reads) == 0 && len(errs) == 0 {
		errs = append(errs, model.Usagef("mapper: UpdateAll has no UpdatePart: use Transact, or add the entities "+
			"to read"))
	}
	u.atOnce = u.atOnce && items > 1 && items <= cost.MaxTransactItems
	return u, errors.Join(errs...)
}

// excludes returns the faults of an UpdatePart and another part: they are of one entity or value, or of two clients.
func (p Part) excludes(o Part) (errs []error) {
	if o.update != nil && o.update.v == p.update.v || o.engine == p.engine && o.entity != nil &&
		slices.EqualFunc(o.entity, p.entity, key.Value.Equal) {
		errs = append(errs, p.engine.model.Errorf("two parts of UpdateAll are of one entity, or of one value: use "+
			"one part, with query.Join for several selections"))
	}
	if o.client != nil && !same(o.client, p.client) {
		errs = append(errs, p.engine.model.Errorf("the parts of UpdateAll have different clients: make all "+
			"mappers with one client"))
	}
	return errs
}

// single reports whether a single item with a known key is read, which is as it was at one moment.
func (u *updates) single() bool {
	only := u.reads[0].update.sel
	return len(u.reads) == 1 && len(only.Parts) == 1 && read.Keys(only.Parts) && len(only.Elsewhere) == 0
}

// label names the models.
func (u *updates) label() string {
	var labels []string
	for _, g := range u.engines {
		labels = append(labels, g.model.Label())
	}
	return strings.Join(labels, ", ")
}

// run reads, updates and writes, and repeats all after a conflict with an entity that was read.
func (u *updates) run(ctx context.Context, t *draft) error {
	return operation.Repeat(ctx, u.label(), func() error {
		u.own, u.last = nil, nil
		if err := u.findOwners(ctx, t); err != nil {
			return err
		}
		if err := u.readAll(ctx, t); err != nil {
			return err
		}
		if u.own = u.update(); u.own != nil {
			return errUpdate
		}
		return u.write(ctx, t)
	})
}

// findOwners finds the entities of the lookups, and makes the updates those of their keys.
func (u *updates) findOwners(ctx context.Context, t *draft) error {
	sought := func(p Part) bool { return p.find != nil || p.update != nil && p.update.sought != nil }
	if !slices.ContainsFunc(u.asked, sought) {
		return nil
	}
	parts, err := findOwners(ctx, u.asked, t)
	if err != nil {
		u.own = err
		return errUpdate
	}
	for i, p := range parts {
		x := p.update
		if x == nil || x.sought == nil {
			continue
		}
		if x.owned, err = p.engine.search.Owner(ctx, *x.sought, &t.Tally.Tally); err != nil {
			return &operation.Fault{Model: p.engine.model, Err: err}
		}
		x.sel, x.options.Owner = p.engine.search.WithRoot(x.owned.Selection), x.owned.Unique
		parts[i].entity = x.sel.Identity
	}
	now, err := newUpdates(u.update, parts)
	if err != nil {
		u.own = err
		return errUpdate
	}
	u.parts, u.reads, u.atOnce = now.parts, now.reads, now.atOnce
	return nil
}

// readAll reads the entities into their values, as they were at one moment. If they were not, the error is a conflict.
func (u *updates) readAll(ctx context.Context, t *draft) error {
	found, requests, err := u.find(ctx, t)
	if err != nil {
		return err
	}
	for i, p := range u.reads {
		x := p.update
		root := found[i].Root
		if x.owned != nil && (root == nil || !x.owned.Still(p.engine.model, root.Attributes())) {
			return &operation.Conflict{Label: p.engine.model.Label()} // the value has another owner by now
		}
		x.content = found[i].Content()
		x.reset()
		s, err := p.engine.decodeFound(ctx, found[i], x.v, t)
		if err == nil {
			x.state = s
			p.engine.env.Remember(s.Snapshot)
			x.readers.Next()
			err = x.readers.KeepReaders(p.engine.model, x.v)
		}
		if err != nil {
			return &operation.Fault{Model: p.engine.model, Err: err}
		}
	}
	if u.single() || u.atOnce && t.Requests == requests {
		return nil
	}
	return u.readAgain(ctx, t)
}

// readAgain reads the entities again. If nothing has changed, they were as they are between the two reads.
func (u *updates) readAgain(ctx context.Context, t *draft) error {
	again, _, err := u.find(ctx, t)
	if err != nil {
		return err
	}
	for i, p := range u.reads {
		if again[i].Content() != p.update.content {
			return &operation.Conflict{Label: p.engine.model.Label()}
		}
	}
	return nil
}

// find reads the items of all entities. If they are read in one transaction, requests are those that were sent at its
// end: more of them say that items were read later.
func (u *updates) find(ctx context.Context, t *draft) (found []*search.Found, requests int, err error) {
	if u.atOnce {
		return u.findAtOnce(ctx, t)
	}
	for _, p := range u.reads {
		f, err := p.engine.findStrongly(ctx, p.update.sel, t)
		if err != nil {
			return nil, 0, &operation.Fault{Model: p.engine.model, Err: err}
		}
		found = append(found, f)
	}
	return found, 0, nil
}

// findAtOnce reads all entities in one transaction. Only items of unfinished writes need more reads.
func (u *updates) findAtOnce(ctx context.Context, t *draft) (found []*search.Found, requests int, err error) {
	sets := make([]read.Set, len(u.reads))
	for i, p := range u.reads {
		sets[i] = read.Set{Reader: p.engine.reader, Parts: p.update.sel.Parts}
	}
	began := u.reads[0].engine.model.Now()
	var usage read.Usage
	early, err := read.Transaction(ctx, sets, &usage)
	t.AddRead(usage.Requests, usage.Predicted, usage.Consumed)
	if err != nil {
		return nil, 0, err
	}
	requests = t.Requests
	for i, p := range u.reads {
		g := p.engine
		protocol := *g.search.Protocol
		protocol.Reader = &read.Ahead{Reader: g.reader, Early: early[i]}
		protocol.Now = func() time.Time { return began }
		f, err := g.search.Find(ctx, &protocol, p.update.sel, read.Options{Strong: true}, &t.Tally.Tally)
		if err != nil {
			return nil, 0, &operation.Fault{Model: g.model, Err: err}
		}
		found = append(found, f)
	}
	return found, requests, nil
}

// write writes all parts in one transaction. If it is refused because of an entity that was read, the error is a
// conflict, which is repeated. If it is refused because of another part, the error ends the update.
func (u *updates) write(ctx context.Context, t *draft) error {
	parts := slices.Clone(u.parts)
	for i, p := range parts {
		if x, g := p.update, p.engine; x != nil {
			parts[i] = g.part(x.state, func() (operation.Part, error) {
				return operation.Save(g.env, &x.state.Entity, x.v, x.options, nil)
			})
		}
	}
	x, err := newTransaction(parts)
	if err != nil {
		u.own = err
		return errUpdate
	}
	err = x.Run(ctx, &t.Tally)
	switch {
	case err == nil, errors.As(err, new(*operation.Unknown)), errors.As(err, new(*operation.Partial)):
		return err
	case u.concerns(err), operation.IsOwnerChanged(err):
		u.last = err
		return &operation.Conflict{Label: u.label()}
	case errors.As(err, new(*operation.Conflict)), errors.As(err, new(*search.NotFound)):
		u.own = public(nil, err)
		return errUpdate
	}
	return err
}

// concerns reports whether a refusal is about an entity that was read, so that another try can succeed. The refusals
// of other parts may then rest on values that have changed.
func (u *updates) concerns(err error) bool {
	switch e := err.(type) {
	case *operation.Exists:
		return false
	case *operation.Conflict:
		return !e.Patch && !e.Raw && !e.Insert && !e.Moving && e.Tag == "" &&
			slices.ContainsFunc(e.Items, func(it operation.ItemConflict) bool { return u.loaded(it.Place) })
	case *search.NotFound:
		return e.Replaced && u.loaded(e.Root)
	case interface{ Unwrap() []error }:
		return slices.ContainsFunc(e.Unwrap(), u.concerns)
	case interface{ Unwrap() error }:
		return e.Unwrap() != nil && u.concerns(e.Unwrap())
	}
	return false
}

// loaded reports whether an item is in a selection that was read, or is the root item of its entity.
func (u *updates) loaded(at item.Place) bool {
	return at.Table != nil && slices.ContainsFunc(u.reads, func(p Part) bool {
		s := p.update.state.Snapshot
		root, err := p.engine.model.RootPlace(s.Selection.Identity)
		return err == nil && root == at ||
			at.Partition() == s.Partition && s.Selection.Contains(at.Table.Index, at.SK)
	})
}
