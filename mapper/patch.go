package mapper

import (
	"context"
	"reflect"
	"slices"
	"unsafe"

	"github.com/itemize/itemize/field"
	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/expr"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/read/selection"
	"github.com/itemize/itemize/internal/save/operation"
	"github.com/itemize/itemize/query"
)

// Patch is a set of changes of one entity that are written without a read. Nodes of generated code make
// patches, with the handles of the model's fields:
//
//	id := store.UserByID("6297D15")
//	id.Patch(store.UserFields.Email.Set("d@example.com")).And(id.Public().Add(wish)).Exec(ctx, users)
//
// All changes of one item are one request at the price of that item. Several items are one transaction
// at the double price. A root item or element that a patch changes must exist (ErrNotFound), and an
// added element must not (ErrExists). With Upsert, a missing root item is created. Set and Increment
// create any other missing item if the entity exists; Remove requires it.
//
// The methods of a patch do not change it, but return a new one. A patch has copies of the values of its
// changes and conditions. It reads the elements of Add and Put when it is written: do not change what
// they point to until then.
//
// A patch that creates items reads the root item before the write, unless the mapper remembers its
// incarnation, and again after the write. If the entity is not live then, the patch deletes its items
// and returns ErrNotFound. [Blind] leaves this out. A patch of an existing item is one request. Its
// plan predicts the sizes from recently written items (see [SizeEstimate]), with bounds; the receipt
// has the consumed capacity.
type Patch[T any] struct{ is entityPatch }

// Patcher is a patch of an entity of the model T: a [*Patch] or an [*ItemPatch].
type Patcher[T any] interface {
	patchOf(*T) entityPatch
	And(more ...Patcher[T]) *Patch[T]
	Exec(ctx context.Context, m query.Source[T], options ...WriteOption) (*Receipt, error)
	Plan(m query.Source[T], options ...WriteOption) (*Plan, error)
	PatchPart(m query.Source[T]) Part
}

//go:noinline
func (p *Patch[T]) patchOf(*T) entityPatch {
	if p == nil {
		return entityPatch{}
	}
	return p.is
}

// And joins patches of the same entity. A nil *Patch is the empty patch, to join patches in a loop.
//
//go:noinline
func (p *Patch[T]) And(more ...Patcher[T]) *Patch[T] {
	is := p.patchOf(nil)
	for _, o := range more {
		next := nilPatch
		if !isNil(o) {
			next = o.patchOf(nil)
		}
		is = is.and(next)
	}
	return &Patch[T]{is}
}

var nilPatch = failed(model.Usagef("a patch of And is nil: make one with a node of generated code"))

// Upsert lets the changes so far create the root item. Patches that And joins later keep their
// requirements. Use Put, and not Add with Upsert, to replace an element.
//
//go:noinline
func (p *Patch[T]) Upsert() *Patch[T] { return &Patch[T]{p.is.upsert()} }

// IfEntityExists reads the root item after the patch, also if the patch only updates or deletes. If the
// entity is not live, the error is ErrNotFound, although the patch was written. In a transaction of
// several parts it is a check of the root item.
//
//go:noinline
func (p *Patch[T]) IfEntityExists() *Patch[T] { return &Patch[T]{p.is.with(expr.IfEntity)} }

// Exec writes the patch. m is the model's *Mapper. An increment is never sent again after a lost answer:
// the error is an *OutcomeUnknownError. With ExactlyOnce DynamoDB recognizes a repetition for ten
// minutes, at the double price. Other write options are refused.
//
//go:noinline
func (p *Patch[T]) Exec(ctx context.Context, m query.Source[T], options ...WriteOption) (*Receipt, error) {
	return p.patchOf(nil).exec(ctx, m, options)
}

// Plan returns the requests and the predicted cost of Exec. It does no I/O.
//
//go:noinline
func (p *Patch[T]) Plan(m query.Source[T], options ...WriteOption) (*Plan, error) {
	return p.patchOf(nil).plan(m, options)
}

// ItemPatch is a patch of one item, or of the fields of one entity. P points to the type of its record. It has
// the methods of [Patch] too: And, Exec, Plan, PatchPart. And returns a Patch, which has no conditions.
type ItemPatch[T, P any] struct {
	patch[T]
	item expr.Change // of the conditions
}

// Return sets v to the fields of the item after the write. The patch must be one plain request for one
// item: no And with other items, no ExactlyOnce. After a lost answer, v has the fields that the
// resolving read found.
//
//go:noinline
func (p *ItemPatch[T, P]) Return(v P) *ItemPatch[T, P] {
	return &ItemPatch[T, P]{Patch[T]{p.is.returning(v)}, p.item}
}

// If adds conditions on the stored item.
//
//go:noinline
func (p *ItemPatch[T, P]) If(conditions ...field.ConditionOf[P]) *ItemPatch[T, P] {
	all := door.Field.Conditions(unsafe.Pointer(unsafe.SliceData(conditions)), len(conditions))
	return &ItemPatch[T, P]{Patch[T]{p.is.onlyIf(p.item, all)}, p.item}
}

// Upsert is [Patch.Upsert] for a patch with conditions.
//
//go:noinline
func (p *ItemPatch[T, P]) Upsert() *ItemPatch[T, P] {
	return &ItemPatch[T, P]{Patch[T]{p.is.upsert()}, p.item}
}

// IfEntityExists is [Patch.IfEntityExists] for a patch with conditions.
//
//go:noinline
func (p *ItemPatch[T, P]) IfEntityExists() *ItemPatch[T, P] {
	return &ItemPatch[T, P]{Patch[T]{p.is.with(expr.IfEntity)}, p.item}
}

type patch[T any] = Patch[T]

// newItemPatch returns the patch of an item's fields.
//
//go:noinline
func newItemPatch[T, P any](n *query.Node[T], item expr.Change, changes []field.ChangeOf[P]) *ItemPatch[T, P] {
	is := patchOfFields(specOf[T](n), item, door.Field.Changes(unsafe.Pointer(unsafe.SliceData(changes)), len(changes)))
	return &ItemPatch[T, P]{Patch[T]{is}, item}
}

// patchOfFields returns the patch of changes of an item's fields.
func patchOfFields(node selection.Selection, item expr.Change, changes [][]expr.Change) entityPatch {
	is := patchOfNode(node)
	if len(changes) == 0 {
		is = is.with(expr.Nothing)
	}
	for _, c := range changes {
		is = is.change(item, c)
	}
	return is
}

// newPatch returns a patch of the entity of a node.
//
//go:noinline
func newPatch[T any](n *query.Node[T], change expr.Change) *Patch[T] {
	return &Patch[T]{patchOfNode(specOf[T](n), change)}
}

// entityPatch is a patch without the type of its model.
type entityPatch struct {
	// nodes are nodes of one entity.
	nodes   []selection.Selection
	changes []expr.Change
	// returns are called with the record after the write.
	returns []func(rec any)
}

// patchOfNode returns the patch of the entity of a node.
func patchOfNode(s selection.Selection, changes ...expr.Change) entityPatch {
	return entityPatch{nodes: []selection.Selection{s}, changes: changes}
}

// failed returns a patch whose use returns the error.
func failed(err error) entityPatch { return entityPatch{changes: []expr.Change{{Err: err}}} }

// and joins two patches.
func (p entityPatch) and(other entityPatch) entityPatch {
	return entityPatch{
		slices.Concat(p.nodes, other.nodes), slices.Concat(p.changes, other.changes),
		slices.Concat(p.returns, other.returns),
	}
}

// with returns the patch with one more requirement.
func (p entityPatch) with(kind expr.Kind) entityPatch {
	return p.and(entityPatch{changes: []expr.Change{{Kind: kind}}})
}

// upsert returns the patch whose changes so far are upserts.
func (p entityPatch) upsert() entityPatch {
	p.changes = slices.Clone(p.changes)
	for i := range p.changes {
		p.changes[i].Upsert = true
	}
	return p
}

// returning returns the patch that sets the record that v points to.
func (p entityPatch) returning(v any) entityPatch {
	to := reflect.ValueOf(v)
	if to.IsNil() {
		return p.and(failed(model.Usagef("the pointer of Return is nil: pass one that receives the item's fields")))
	}
	p.returns = append(slices.Clip(p.returns), func(rec any) {
		if r := reflect.ValueOf(rec); r.IsValid() && r.Type() == to.Type() {
			to.Elem().Set(r.Elem())
		}
	})
	return p
}

// onlyIf returns the patch with conditions on an item.
func (p entityPatch) onlyIf(item expr.Change, conditions []expr.Condition) entityPatch {
	all := make([]expr.Change, len(conditions))
	for i, c := range conditions {
		all[i] = item
		all[i].Kind, all[i].Condition = expr.If, c
	}
	return p.and(entityPatch{changes: all})
}

// change returns the patch with a change of fields of an item.
func (p entityPatch) change(item expr.Change, changes []expr.Change) entityPatch {
	if len(changes) == 0 {
		return p.and(failed(model.Usagef("the patch has a change without a field: make changes with the " +
			"fields' handles")))
	}
	changes = slices.Clone(changes)
	for i := range changes {
		c := &changes[i]
		c.Item, c.Part, c.Values = item.Item, item.Part, item.Values
	}
	return p.and(entityPatch{changes: changes})
}

// selection returns the selection of the entity.
func (p entityPatch) selection(g *engine) selection.Selection {
	if len(p.nodes) == 0 {
		return selection.Selection{Err: g.model.Errorf("the patch is empty: make one with a node of generated code")}
	}
	s := p.nodes[0].Resolve(g.model.Schema)
	for _, n := range p.nodes[1:] {
		other := n.Resolve(g.model.Schema)
		switch {
		case s.Fault() != nil:
		case other.Fault() != nil:
			s.Err = other.Err
		case s.Lookup != other.Lookup, !slices.EqualFunc(s.Identity, other.Identity, key.Value.Equal):
			s.Err = g.model.Errorf("And takes patches of one entity: write another entity with a patch of its own")
		}
	}
	return s
}

// exec is described at [Patch.Exec].
func (p entityPatch) exec(ctx context.Context, m any, options []WriteOption) (*Receipt, error) {
	g := engineOf(m)
	if g == nil {
		return &Receipt{}, errNoMapper
	}
	var t draft
	ctx, end := g.observe(ctx, "Patch")
	err := g.public(g.writePatch(ctx, p, writeOptionsOf(options), &t))
	end(&t, err)
	return t.receipt(), err
}

// plan is described at [Patch.Plan].
func (p entityPatch) plan(m any, options []WriteOption) (*Plan, error) {
	g := engineOf(m)
	if g == nil {
		return nil, errNoMapper
	}
	spec := p.spec(g)
	if spec.Selection.Lookup == nil || spec.Selection.Fault() != nil {
		x, _, err := operation.NewPatch(g.env, spec, writeOptionsOf(options))
		return g.predict(x, err)
	}
	at, noted, err := g.search.SomeOwner(spec.Selection)
	if err != nil {
		return nil, g.public(err)
	}
	lookup := g.env.Estimate.Owner(noted)
	spec.Selection, spec.Reckon = at, &lookup
	x, _, err := operation.NewPatch(g.env, spec, writeOptionsOf(options))
	return g.predict(x, err)
}

var errNoMapper = model.Usagef("the patch has no mapper: pass the model's *mapper.Mapper")

// spec returns the patch as the operation needs it.
func (p entityPatch) spec(g *engine) operation.PatchSpec {
	return operation.PatchSpec{Selection: p.selection(g), Changes: p.changes, Returns: len(p.returns) > 0}
}

func (g *engine) writePatch(ctx context.Context, p entityPatch, o operation.Options, t *draft) error {
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
