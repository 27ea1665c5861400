package mapper

import (
	"context"
	"errors"
	"slices"

	"github.com/itemize/itemize/field"
	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/expr"
	"github.com/itemize/itemize/internal/key"
	"github.com/itemize/itemize/internal/operation"
	"github.com/itemize/itemize/internal/selection"
	"github.com/itemize/itemize/query"
)

// Patch is changes of one entity that are written without reading it first. The nodes of generated code
// make patches, with the handles of the model's fields:
//
//	id := store.UserByID("6297D15")
//	id.Patch(store.UserFields.Email.Set("d@example.com")).And(id.Public().Add(wish)).Exec(ctx, users)
//
// All changes of one item are one request, at the price of that item; of several items one transaction,
// at the double price. A root, or an element, that a patch changes has to exist (ErrNotFound), and what
// is added must not (ErrExists). With Upsert a root that does not exist is made, and an element that is
// added replaces one that exists; an element that is changed has to exist even so. A set or an
// increment of another item creates it if it is missing and the entity exists; a removal requires it.
//
// A patch that creates items reads the root item first, unless the mapper remembers its incarnation,
// and again after the write: if the entity is not live by then, the patch deletes what it created and
// returns ErrNotFound ([Blind] leaves that out). A patch of an existing item is one request. Since the
// items are not read, the plan predicts their sizes from such items as were written lately (see
// [SizeEstimate]), with bounds; the receipt's Consumed is what DynamoDB charged.
type Patch[T any] struct{ is entityPatch }

// Patcher is a patch of an entity of the model T: Patch, or what embeds it.
type Patcher[T any] interface{ patchOf(*T) entityPatch }

func (p Patch[T]) patchOf(*T) entityPatch { return p.is }

// And returns the patch together with other patches of the same entity.
func (p Patch[T]) And(more ...Patcher[T]) Patch[T] {
	for _, o := range more {
		if o == nil {
			o = Patch[T]{entityPatch{changes: []expr.Change{{Err: errors.New("And got nil in place of a patch")}}}}
		}
		p.is = p.is.and(o.patchOf(nil))
	}
	return p
}

// Upsert makes the root that the patch changes so far if it does not exist, and replaces what it adds
// if that exists; what And joins to it afterwards still requires what it did. An element that is
// changed has to exist even so.
func (p Patch[T]) Upsert() Patch[T] { return Patch[T]{p.is.upsert()} }

// IfEntityExists reads the root item after a patch that only updates or deletes, too: the error is
// ErrNotFound unless the entity is live, though the patch was written. In a transaction of several
// parts it is a check of the root item.
func (p Patch[T]) IfEntityExists() Patch[T] { return Patch[T]{p.is.with(expr.IfEntity)} }

// Exec writes the patch. An increment whose answer was lost is never sent again: the
// error is an *OutcomeUnknownError; with ExactlyOnce DynamoDB itself tells, for ten minutes,
// at the double price. The other options of writes mean nothing here and are refused.
func (p Patch[T]) Exec(ctx context.Context, m *Mapper[T], options ...WriteOption) (*Receipt, error) {
	if m == nil || m.engine == nil {
		return &Receipt{}, errNoMapper
	}
	return m.engine.patch(ctx, p.is, options)
}

// Plan returns what Exec would send, and cost. It does no I/O.
func (p Patch[T]) Plan(m *Mapper[T], options ...WriteOption) (*Plan, error) {
	if m == nil || m.engine == nil {
		return nil, errNoMapper
	}
	return m.engine.planPatch(p.is, options)
}

var errNoMapper = errors.New("the patch has nothing to run on: pass the model's *mapper.Mapper")

// ItemPatch is a patch of one item, or of one entity's fields, whose record is an R. It has the methods
// of [Patch] too: And, Exec, Plan, PatchPart.
type ItemPatch[T, R any] struct {
	Patch[T]
	// item is what the conditions of If are about.
	item expr.Change
}

// Return sets v to what the item holds after the write: its fields that v's type has. It is for a patch
// of one item that is one plain request: without And of others and ExactlyOnce. After an answer that
// was lost v is what the item held when that was found out.
func (p ItemPatch[T, R]) Return(v *R) ItemPatch[T, R] {
	if v == nil {
		p.is = p.is.and(entityPatch{changes: []expr.Change{{Err: errors.New("Return got nil: give it a pointer to " +
			"what the item is to be written into")}}})
	}
	p.is.returns = append(slices.Clip(p.is.returns), func(rec any) {
		if r, ok := rec.(*R); ok && v != nil {
			*v = *r
		}
	})
	return p
}

// If requires that conditions hold of what is stored.
func (p ItemPatch[T, R]) If(conditions ...field.Condition[R]) ItemPatch[T, R] {
	for _, c := range conditions {
		p.is = p.is.onlyIf(p.item, field.Internal.Condition(door.Key{}, c))
	}
	return p
}

// Upsert is [Patch.Upsert] of a patch that takes conditions.
func (p ItemPatch[T, R]) Upsert() ItemPatch[T, R] {
	p.is = p.is.upsert()
	return p
}

// IfEntityExists is [Patch.IfEntityExists] of a patch that takes conditions.
func (p ItemPatch[T, R]) IfEntityExists() ItemPatch[T, R] {
	p.is = p.is.with(expr.IfEntity)
	return p
}

// newItemPatch returns the patch of an item's fields.
func newItemPatch[T, R any](n query.Node[T], item expr.Change, changes []field.Change[R]) ItemPatch[T, R] {
	p := ItemPatch[T, R]{newPatch(n), item}
	for _, c := range changes {
		p.is = p.is.change(item, field.Internal.Changes(door.Key{}, c))
	}
	return p
}

// newPatch returns the patch of an entity that a node is of.
func newPatch[T any](n query.Node[T], changes ...expr.Change) Patch[T] {
	return Patch[T]{entityPatch{nodes: []selection.Selection{specOf(n)}, changes: changes}}
}

// entityPatch is a patch without the type of its model.
type entityPatch struct {
	// nodes are of the entity; all of them have to be of one.
	nodes   []selection.Selection
	changes []expr.Change
	// returns are given the record that the item holds after the write.
	returns []func(rec any)
}

// and returns the patch together with another.
func (p entityPatch) and(other entityPatch) entityPatch {
	return entityPatch{slices.Concat(p.nodes, other.nodes), slices.Concat(p.changes, other.changes),
		slices.Concat(p.returns, other.returns)}
}

// with returns the patch with a requirement of its own.
func (p entityPatch) with(kind expr.Kind) entityPatch {
	return p.and(entityPatch{changes: []expr.Change{{Kind: kind}}})
}

// upsert returns the patch whose changes so far write either way.
func (p entityPatch) upsert() entityPatch {
	p.changes = slices.Clone(p.changes)
	for i := range p.changes {
		p.changes[i].Upsert = true
	}
	return p
}

// onlyIf returns the patch with a condition on an item.
func (p entityPatch) onlyIf(item expr.Change, c expr.Condition) entityPatch {
	item.Kind, item.Condition = expr.If, c
	return p.and(entityPatch{changes: []expr.Change{item}})
}

// change returns the patch with a change of fields of an item.
func (p entityPatch) change(item expr.Change, changes []expr.Change) entityPatch {
	if len(changes) == 0 {
		changes = []expr.Change{{Err: errors.New("the patch has a change without a field: make changes with the " +
			"fields' handles")}}
	}
	changes = slices.Clone(changes)
	for i := range changes {
		c := &changes[i]
		c.Item, c.Part, c.Values = item.Item, item.Part, item.Values
	}
	return p.and(entityPatch{changes: changes})
}

// selection is that of the entity.
func (p entityPatch) selection(g *engine) selection.Selection {
	if len(p.nodes) == 0 {
		return selection.Selection{Err: g.model.Errorf("the patch is empty: make one with a node of generated code")}
	}
	s := p.nodes[0].Resolve(g.model.Schema)
	for _, n := range p.nodes[1:] {
		other := n.Resolve(g.model.Schema)
		switch {
		case s.Err != nil:
		case other.Err != nil:
			s.Err = other.Err
		case !slices.EqualFunc(s.Identity, other.Identity, key.Value.Equal):
			s.Err = g.model.Errorf("And takes patches of one entity: write another's with a patch of its own")
		}
	}
	return s
}

// spec returns the patch as the operation needs it.
func (p entityPatch) spec(g *engine) operation.PatchSpec {
	return operation.PatchSpec{Selection: p.selection(g), Changes: p.changes, Returns: len(p.returns) > 0}
}

// patch writes a patch.
func (g *engine) patch(ctx context.Context, p entityPatch, options []WriteOption) (*Receipt, error) {
	var t tally
	ctx, end := g.observe(ctx, "Patch")
	err := g.public(g.writePatch(ctx, p, writeOptionsOf(options), &t))
	end(&t, err)
	return t.receipt(), err
}

func (g *engine) writePatch(ctx context.Context, p entityPatch, o operation.Options, t *tally) error {
	returned, err := operation.PatchLocated(ctx, g.env, p.spec(g), o, &t.Tally)
	if err != nil || returned == nil {
		return err
	}
	r, err := returned()
	if err != nil {
		return err
	}
	for _, give := range p.returns {
		give(r.Item)
		if r.Part != nil {
			give(r.Part)
		}
	}
	return nil
}

// planPatch returns what writing a patch would send.
func (g *engine) planPatch(p entityPatch, options []WriteOption) (*Plan, error) {
	x, _, err := operation.NewPatch(g.env, p.spec(g), writeOptionsOf(options))
	return g.predict(x, err)
}
