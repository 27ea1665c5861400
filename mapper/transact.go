package mapper

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/read/search"
	"github.com/itemize/itemize/internal/read/selection"
	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/save/operation"
	"github.com/itemize/itemize/internal/save/write"
	"github.com/itemize/itemize/query"
)

// Part is the part of a transaction for one entity, or for one raw item. SavePart, DeletePart,
// PatchPart and RawPart make parts.
type Part struct {
	// make makes the part for one transaction. tables returns the tables of the transaction's models by
	// name, nil for others.
	make func(tables func(string) *item.Table) (operation.Part, error)
	// find finds the entity of a lookup, and returns the part by its key; nil for a part by key.
	find func(ctx context.Context, t *operation.Tally) (Part, error)
	// engine belongs to the part's model, nil for none. client sends the part.
	engine *engine
	client write.Client
	// of is the entity, nil for none.
	of *state
	// entity is the identity of the entity that is read, saved or deleted, nil for none. deletes reports that its root
	// item is deleted.
	entity  []key.Value
	deletes bool
	// update is the entity that UpdateAll reads, nil for none.
	update *updating
}

// Transact writes all of its parts in one transaction, or none. Parts can be of several entities and
// models. It costs two WCU for each KB of each item. If only one item is written, it is one plain
// request at the single price.
//
//	receipt, err := mapper.Transact(ctx,
//		users.SavePart(e), orders.SavePart(o), store.TenantByID(t).Patch(...).PatchPart(tenants))
//
// A transaction has at most 100 items and 4 MB. Larger ones are refused before anything is sent, and so
// are two parts that write or check the same item. All parts must use the same client. The errors are
// those of Save, Delete and Exec, joined for several parts (errors.Join). Saved entities are up to date
// afterwards.
//
// If the outcome is unknown, the next save of each entity resolves it, also in a transaction. The
// entities also remember the patches and raw items of the transaction. A transaction that writes the
// same again, with one of these entities, is refused once if the first one was applied. If that cannot
// be resolved any more, the error is an *OutcomeUnknownError. Without an entity in the transaction
// nothing is remembered.
func Transact(ctx context.Context, parts ...Part) (*Receipt, error) {
	var t draft
	if !slices.ContainsFunc(parts, func(p Part) bool { return p.find != nil }) {
		return transact(ctx, parts, &t)
	}
	for try := 1; ; try++ {
		found, err := findOwners(ctx, parts, &t)
		if err != nil {
			return t.receipt(), err
		}
		r, err := transact(ctx, found, &t)
		if !operation.IsOwnerChanged(err) || try == maxOwners || request.Pause(ctx, try) != nil {
			return r, err
		}
	}
}

// maxOwners bounds how often a transaction is sent again because a unique value has changed its owner.
const maxOwners = 20

// findOwners finds the entities of the parts that are lookups.
func findOwners(ctx context.Context, parts []Part, t *draft) ([]Part, error) {
	found := slices.Clone(parts)
	for i, p := range parts {
		if p.find == nil {
			continue
		}
		var err error
		if found[i], err = p.find(ctx, &t.Tally); err != nil {
			return nil, p.engine.public(err)
		}
	}
	return found, nil
}

// transact sends a transaction once.
func transact(ctx context.Context, parts []Part, t *draft) (*Receipt, error) {
	x, err := newTransaction(parts)
	if err != nil {
		return t.receipt(), err
	}
	for i, p := range parts {
		if err := p.of.begin(); err != nil {
			return t.receipt(), err
		}
		defer parts[i].of.end()
	}
	ctx, end := x.observe(ctx, "Transact")
	err = public(nil, x.Run(ctx, &t.Tally))
	end(t, err)
	return t.receipt(), err
}

// PlanTransact returns the requests and the predicted cost of Transact. It does no I/O. It refuses a
// DeletePartByKey that has to read items first: pass a selection of one item, or DeletePart with a
// loaded entity.
func PlanTransact(parts ...Part) (*Plan, error) {
	x, err := newTransaction(parts)
	if err != nil {
		return nil, err
	}
	p, err := x.Predict()
	if err != nil {
		return nil, public(nil, err)
	}
	return planOf(p), nil
}

// SavePart returns the part of a transaction that Save would write. It accepts the options CheckLoaded,
// CheckRoot, Reindex, Blind and IfTag. If the part adds items and does not write the root item, the
// transaction checks that the entity is live, at two WCU for each KB of the root item.
func (m *Mapper[T]) SavePart(e *Entity[T], options ...WriteOption) Part {
	if err := m.owns(e); err != nil {
		return m.get().part(nil, func() (operation.Part, error) { return nil, err })
	}
	return m.get().saving(e.state, &e.Value, e.refresh, options)
}

// DeletePart returns the part of a transaction that deletes the loaded items of an entity, like Delete.
// If the entity is missing, Transact returns ErrNotFound and writes nothing. A delete of a part of an
// entity does not check whether the entity exists.
func (m *Mapper[T]) DeletePart(e *Entity[T]) Part {
	if err := m.owns(e); err != nil {
		return m.get().part(nil, func() (operation.Part, error) { return nil, err })
	}
	return m.get().deleting(m.resolved(e), e.state, e.refresh)
}

// DeletePartByKey returns the part of a transaction that deletes the items of a selection, like
// DeleteByKey. If it has nothing to delete, for example because the entity is missing, Transact returns
// ErrNotFound and writes nothing. A single item is deleted without a read, and may be missing. Other
// selections are read first. A delete of a part of an entity does not check whether the entity exists.
func (m *Mapper[T]) DeletePartByKey(s query.Selection[T]) Part {
	if _, ok := s.(*Entity[T]); ok {
		err := m.get().model.Errorf("DeletePartByKey does not compare the loaded items of an *Entity: use " +
			"DeletePart")
		return m.get().part(nil, func() (operation.Part, error) { return nil, err })
	}
	return m.get().deleting(m.resolved(s), nil, nil)
}

// PatchPart returns the patch as a part of a transaction. It refuses Return.
//
//go:noinline
func (p *Patch[T]) PatchPart(m query.Source[T]) Part { return p.patchOf(nil).part(m) }

func (p entityPatch) part(m any) Part {
	g := engineOf(m)
	if g == nil {
		return Part{make: func(func(string) *item.Table) (operation.Part, error) { return nil, errNoMapper }}
	}
	spec := p.spec(g)
	if spec.Selection.Lookup != nil && spec.Selection.Fault() == nil {
		return ownerPart(g, spec.Selection, false, func(owned *search.Owned) (operation.Part, error) {
			spec := spec
			spec.Selection, spec.Owner = owned.Selection, owned
			return operation.Patch(g.env, spec)
		})
	}
	return g.part(nil, func() (operation.Part, error) { return operation.Patch(g.env, p.spec(g)) })
}

// ownerPart returns the part of a transaction for the entity of a lookup; deletes reports that it deletes the entity.
func ownerPart(g *engine, sel selection.Selection, deletes bool, make func(*search.Owned) (operation.Part,
	error),
) Part {
	p := g.part(nil, func() (operation.Part, error) {
		return nil, g.model.Errorf("a part by a lookup cannot be planned, since its entity is read first: load the " +
			"entity, and use its key")
	})
	p.find = func(ctx context.Context, t *operation.Tally) (Part, error) {
		owned, err := g.search.Owner(ctx, sel, &t.Tally)
		found := g.part(nil, func() (operation.Part, error) { return make(owned) })
		if found.deletes = deletes; deletes {
			found.entity = owned.Identity
		}
		return found, err
	}
	return p
}

// part returns a part of a transaction.
func (g *engine) part(of *state, make func() (operation.Part, error)) Part {
	return Part{
		make:   func(func(string) *item.Table) (operation.Part, error) { return make() },
		engine: g, client: g.env.Sender.Client, of: of,
	}
}

// saving is Mapper.SavePart. done is called after the entity was saved.
func (g *engine) saving(s *state, v any, done func(), options []WriteOption) Part {
	p := g.part(s, func() (operation.Part, error) {
		return operation.Save(g.env, &s.Entity, v, writeOptionsOf(options), done)
	})
	p.entity = s.Selection.Identity
	return p
}

// deleting is Mapper.DeletePart. done is called after the entity was deleted.
func (g *engine) deleting(sel selection.Selection, s *state, done func()) Part {
	if s == nil && sel.Lookup != nil && sel.Fault() == nil {
		return ownerPart(g, sel, true, func(owned *search.Owned) (operation.Part, error) {
			return operation.DeleteOwned(g.env, owned)
		})
	}
	p := g.part(s, func() (operation.Part, error) { return operation.Delete(g.env, sel, s.entity(), done) })
	p.entity = sel.Identity
	if e, err := search.EntityOf(g.model, sel); err == nil {
		p.deletes = e.WithRoot
	}
	return p
}

// RawPart returns a part with one Put, Update, Delete or ConditionCheck of your own. It is sent
// unchanged, except that a failed condition returns the stored item. Its size is unknown, so its price
// has bounds. If its table belongs to the model of another part, it must not be an item that the other
// part writes.
func RawPart(client Client, part types.TransactWriteItem) Part {
	return Part{client: client, make: func(tables func(string) *item.Table) (operation.Part, error) {
		if isNil(client) {
			return nil, model.Usagef("mapper.RawPart: the client is nil: pass the client of the mappers")
		}
		return operation.Raw(part, tables)
	}}
}

// deletesWith reports whether one of two parts deletes the entity that the other one saves or deletes.
func (p Part) deletesWith(o Part) bool {
	return (p.deletes || o.deletes) && p.engine == o.engine && p.entity != nil && o.entity != nil && p.of != o.of &&
		slices.EqualFunc(p.entity, o.entity, key.Value.Equal)
}

// transaction is a running transaction.
type transaction struct {
	*operation.Operation
	engines []*engine // of the models, each once
}

// newTransaction makes the parts of a transaction. The error joins all faults.
func newTransaction(parts []Part) (*transaction, error) {
	x := &transaction{}
	for i, p := range parts {
		if p.make == nil {
			return nil, model.Usagef("mapper: part %d of the transaction is empty: make it with SavePart, DeletePart, "+
				"PatchPart or RawPart", i+1)
		}
		if p.engine != nil && !slices.Contains(x.engines, p.engine) {
			x.engines = append(x.engines, p.engine)
		}
	}
	tables := func(name string) *item.Table {
		for _, g := range x.engines {
			if t := g.model.TableNamed(name); t != nil {
				return t
			}
		}
		return nil
	}
	var errs []error
	var all []operation.Part
	var client write.Client
	for i, p := range parts {
		made, err := p.make(tables)
		if err != nil {
			errs = append(errs, public(nil, err))
			continue
		}
		if all = append(all, made); len(all) == 1 {
			client = p.client
		} else if !same(client, p.client) {
			errs = append(errs, model.Usagef("mapper: part %d of the transaction has another client than the first: "+
				"make all mappers and RawPart with one client, which is a pointer", i+1))
		}
		if slices.ContainsFunc(parts[:i], p.deletesWith) {
			errs = append(errs, p.engine.model.Errorf("the transaction deletes an entity that another part writes: "+
				"leave one part out"))
		}
		if p.of != nil && slices.ContainsFunc(parts[:i], func(o Part) bool { return o.of == p.of }) {
			errs = append(errs,
				p.engine.model.Errorf("two parts of the transaction write one entity: save or delete it in one part"))
		}
	}
	if len(parts) == 0 {
		errs = append(errs, model.Usagef("mapper: the transaction has no parts: pass the results of SavePart, "+
			"DeletePart, PatchPart or RawPart"))
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	x.Operation = operation.Transaction(x.sender(client), all)
	return x, nil
}

// sender returns the sender for the parts. If one of the mappers leaves requests to the SDK, the sender
// does too.
func (x *transaction) sender(client write.Client) *write.Sender {
	s := &write.Sender{Client: client, Now: time.Now}
	bySDK := false
	for _, g := range x.engines {
		of := g.env.Sender
		s.Now, s.Wire, s.Single = of.Now, of.Wire, s.Single || of.Single
		bySDK = bySDK || of.Wire == nil
	}
	if bySDK {
		s.Wire = nil
	}
	return s
}

// same reports whether two values are identical.
func same(a, b any) bool {
	v := reflect.ValueOf(a)
	return v.IsValid() && v.Type() == reflect.TypeOf(b) && v.Comparable() && a == b
}

// observe begins a call for each observer of the mappers, once.
func (x *transaction) observe(ctx context.Context, op string) (context.Context, func(t *draft, err error)) {
	var labels, tables []string
	var observers []Observer
	for _, g := range x.engines {
		labels = append(labels, g.model.Label())
		for _, name := range tablesOf(g.model.Tables) {
			if !slices.Contains(tables, name) {
				tables = append(tables, name)
			}
		}
		for _, o := range g.observers {
			if !slices.ContainsFunc(observers, func(p Observer) bool { return same(o, p) }) {
				observers = append(observers, o)
			}
		}
	}
	return observe(ctx, observers, Call{op, strings.Join(labels, ", "), tables}, x.ended)
}

// ended records the sizes of items, and the indexes that the transaction found, for each model.
func (x *transaction) ended(t *draft, err error) {
	t.failed(err)
	for _, g := range x.engines {
		var of []write.Applied
		for _, d := range t.Items {
			if d.Label == g.model.Label() {
				of = append(of, d)
			}
		}
		g.env.Estimate.Sizes.Written(of)
		g.env.Estimate.Undeclared.Observe(t.Indexes, t.Predicted)
	}
}
