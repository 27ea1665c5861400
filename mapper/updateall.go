package mapper

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/change"
	"github.com/itemize/itemize/internal/estimate"
	"github.com/itemize/itemize/internal/item"
	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/operation"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/selection"
	"github.com/itemize/itemize/internal/staging"
	"github.com/itemize/itemize/query"
)

// UpdateAll reads several entities of any models, calls update, and writes all changes in one
// transaction, or none. If another writer has changed one of the entities in the meantime, it reads and
// calls update again, up to a hundred times or until the context ends.
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
// entities (SavePart), patches, deletes, raw items. A conflict of one of those is returned.
//
// Update sees values that all entities had at one moment, when it changes them, when it changes nothing,
// and when it returns an error. To ensure that, UpdateAll reads in one of two ways. If the selections
// have 2 to 100 items with known keys and no ranges, it reads them in one transaction, at two RCU for
// each 4 KB of each item. Otherwise it reads each selection strongly consistently. Then the write also
// checks the loaded items that do not change, at two WCU for each KB of each item. If nothing is
// written, it reads again, and calls update again if something has changed. Items that other writers
// add to a range after it was read are not noticed, as by Update.
//
// If update returns an error, nothing is written. If an entity whose root item is selected does not
// exist, the error is ErrNotFound. The transaction has the limits of [Transact], and the checks count.
// The receipt has the cost of all tries. If the outcome is unknown (*OutcomeUnknownError), update is not
// called again. The values are those that update has left, also if the write failed.
func UpdateAll(ctx context.Context, update func() error, parts ...Part) (*Receipt, error) {
	var t tally
	u, err := newUpdates(update, parts)
	if err != nil {
		return t.receipt(), err
	}
	x := &transaction{engines: u.engines}
	ctx, end := x.observe(ctx, "UpdateAll")
	err = public(nil, u.run(ctx, &t))
	if u.own != nil {
		err = u.own
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
	factor, sum := 1.0, planOfReads(estimate.Reads{})
	for _, p := range u.reads {
		r := p.engine.env.Estimate.Selection(p.update.sel, true)
		sum.Requests += r.Requests
		sum.RCU = sum.RCU.Add(r.RCU)
	}
	if u.atOnce {
		factor, sum.Requests = 2, 1
	}
	sum.RCU = sum.RCU.Times(factor)
	return sum, nil
}

// UpdatePart returns the part of [UpdateAll] that reads a selection into v and saves its changes. v gets
// the loaded value before each call of the function. The options are those of SavePart; IfTag is not.
func (m *Mapper[T]) UpdatePart(v *T, s query.Selection[T], options ...WriteOption) Part {
	g := m.get()
	u := &updating{sel: m.resolved(s), v: v, options: writeOptionsOf(options)}
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
	p.update = u
	return p
}

// updating is an entity that UpdateAll reads and writes.
type updating struct {
	sel selection.Selection
	// v is a pointer to the value, and reset makes the value zero.
	v       any
	reset   func()
	options operation.Options
	// state is the state as it was read last.
	state   *state
	readers change.Readers
}

// updates is a running UpdateAll.
type updates struct {
	update  func() error
	parts   []Part
	reads   []Part // those that are read
	engines []*engine
	// atOnce reports that all are read in one transaction.
	atOnce bool
	// own is the error that ended the update: of the function, or of another part.
	own error
}

// newUpdates checks the parts. The error joins all faults.
func newUpdates(update func() error, parts []Part) (*updates, error) {
	u := &updates{update: update, parts: parts}
	var errs []error
	if update == nil {
		errs = append(errs, model.Usagef("mapper: the function of UpdateAll is nil: pass one that changes the values"))
	}
	items := 0
	u.atOnce = true
	for _, p := range parts {
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
		for _, o := range u.reads {
			if o.update.v == p.update.v || o.engine == p.engine &&
				fmt.Sprint(o.update.sel.Identity) == fmt.Sprint(sel.Identity) {
				errs = append(errs, p.engine.model.Errorf("two parts of UpdateAll are of one entity, or of one "+
					"value: use "+
					"one part, with query.Join for several selections"))
			}
			if !same(o.client, p.client) {
				errs = append(errs, p.engine.model.Errorf("the parts of UpdateAll have different clients: make "+
					"all mappers "+
					"with one client"))
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

// run reads, updates and writes, and repeats all after a conflict.
func (u *updates) run(ctx context.Context, t *tally) error {
	var labels []string
	for _, g := range u.engines {
		labels = append(labels, g.model.Label())
	}
	return operation.Repeat(ctx, strings.Join(labels, ", "), func() error {
		u.own = nil
		sure, err := u.readAll(ctx, t)
		if err != nil {
			return err
		}
		written := false
		if err = u.update(); err != nil {
			u.own = err
		} else if written, err = u.write(ctx, sure, t); err != nil {
			return err
		}
		if !written && !sure {
			if err := u.verify(ctx, t); err != nil {
				u.own = nil
				return err
			}
		}
		if u.own != nil {
			return errUpdate
		}
		return nil
	})
}

// readAll reads the entities into their values. sure reports that they are as they were at one moment.
func (u *updates) readAll(ctx context.Context, t *tally) (sure bool, err error) {
	states, sure, err := u.load(ctx, t, func(p Part) any {
		p.update.reset()
		return p.update.v
	})
	if err != nil {
		return false, err
	}
	for i, p := range u.reads {
		p.update.state = states[i]
		p.update.readers.Next()
		if err := p.update.readers.KeepReaders(p.engine.model, p.update.v); err != nil {
			return false, &operation.Fault{Model: p.engine.model, Err: err}
		}
	}
	return sure, nil
}

// load reads all entities. into returns a pointer to the zero value of one.
func (u *updates) load(ctx context.Context, t *tally, into func(Part) any) (states []*state, sure bool, err error) {
	if u.atOnce {
		return u.loadAtOnce(ctx, t, into)
	}
	for _, p := range u.reads {
		s, err := p.engine.load(ctx, p.update.sel, into(p), true, t)
		if err != nil {
			return nil, false, &operation.Fault{Model: p.engine.model, Err: err}
		}
		states = append(states, s)
	}
	only := u.reads[0].update.sel.Parts
	return states, len(states) == 1 && len(only) == 1 && read.Keys(only), nil
}

// loadAtOnce reads all entities in one transaction. Only items of unfinished writes need more reads.
func (u *updates) loadAtOnce(ctx context.Context, t *tally, into func(Part) any) (states []*state, sure bool,
	err error,
) {
	sets := make([]read.Set, len(u.reads))
	for i, p := range u.reads {
		sets[i] = read.Set{Reader: p.engine.reader, Parts: p.update.sel.Parts}
	}
	began := u.reads[0].engine.model.Now()
	var usage read.Usage
	early, err := read.Transaction(ctx, sets, &usage)
	t.AddRead(usage.Requests, usage.Predicted, usage.Consumed)
	if err != nil {
		return nil, false, err
	}
	requests := t.Requests
	for i, p := range u.reads {
		g := p.engine
		protocol := *g.search.Protocol
		protocol.Reader, protocol.Now = &read.Ahead{Reader: g.reader, Early: early[i]},
			func() time.Time { return began }
		s, err := u.decode(ctx, p, &protocol, into(p), t)
		if err != nil {
			return nil, false, &operation.Fault{Model: g.model, Err: err}
		}
		states = append(states, s)
	}
	return states, t.Requests == requests, nil
}

func (u *updates) decode(ctx context.Context, p Part, protocol *staging.Protocol, v any, t *tally) (*state, error) {
	g := p.engine
	f, err := g.search.Find(ctx, protocol, p.update.sel, read.Options{Strong: true}, &t.Tally.Tally)
	if err != nil {
		return nil, err
	}
	return g.decodeFound(ctx, f, v, t)
}

// write writes all parts. If the entities were not read at one moment, it checks the loaded items that do not change.
func (u *updates) write(ctx context.Context, sure bool, t *tally) (written bool, err error) {
	if len(u.parts) == len(u.reads) && !slices.ContainsFunc(u.reads, func(p Part) bool {
		return !p.update.state.Unchanged(p.update.v)
	}) {
		return false, nil
	}
	parts := slices.Clone(u.parts)
	for i, p := range parts {
		if x := p.update; x != nil {
			o := x.options
			o.CheckLoaded = o.CheckLoaded || !sure
			g := p.engine
			parts[i] = g.part(x.state, func() (operation.Part, error) {
				return operation.Save(g.env, &x.state.Entity, x.v, o, nil)
			})
		}
	}
	x, err := newTransaction(parts)
	if err != nil {
		u.own = err
		return false, nil
	}
	before := len(t.Items)
	err = x.Run(ctx, &t.Tally)
	var conflict *operation.Conflict
	if errors.As(err, &conflict) && !u.concerns(conflict) {
		u.own, err = public(nil, err), nil
		return true, nil
	}
	return len(t.Items) > before, err
}

// concerns reports whether a conflict is about an entity that was read, so that another try can succeed.
func (u *updates) concerns(c *operation.Conflict) bool {
	if c.Patch || c.Raw || c.Insert {
		return false
	}
	return slices.ContainsFunc(c.Items, func(it operation.ItemConflict) bool {
		return slices.ContainsFunc(u.reads, func(p Part) bool { return p.update.loaded(it.Place) })
	})
}

// loaded reports whether an item is in the selection.
func (x *updating) loaded(at item.Place) bool {
	s := x.state.Snapshot
	return at.Table != nil && at.Partition() == s.Partition && s.Selection.Contains(at.Table.Index, at.SK)
}

// verify reads the entities again. If one has changed, the values of the first read may be of different moments: the
// error is a conflict.
func (u *updates) verify(ctx context.Context, t *tally) error {
	states, _, err := u.load(ctx, t, func(p Part) any { return p.engine.model.Codec.New() })
	if err != nil {
		return err
	}
	for i, p := range u.reads {
		if states[i].Snapshot.Tag().String() != p.update.state.Snapshot.Tag().String() {
			return &operation.Conflict{Label: p.engine.model.Label()}
		}
	}
	return nil
}
