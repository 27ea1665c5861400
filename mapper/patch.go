package mapper

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/itemize/itemize/field"
	"github.com/itemize/itemize/internal/codec"
	"github.com/itemize/itemize/internal/key"
	"github.com/itemize/itemize/internal/selection"
	"github.com/itemize/itemize/query"
)

// Patch is changes of one entity that are written without reading it first. The nodes of
// generated code make patches, with the handles of the model's fields:
//
//	id := store.UserByID("6297D15")
//	id.Patch(store.UserFields.Email.Set("d@example.com")).And(id.Public().Add(wish)).Exec(ctx, users)
//
// All changes of one item are one request, at the price of that item; of several items
// one transaction, at the double price. What a set, a removal or an increment changes
// has to be there (ErrNotFound), and what is added must not be (ErrExists): Upsert makes
// a patch write either way. Since nothing is read, nothing tells how large the items are:
// the plan's units are bounds, the receipt's Consumed what it was.
type Patch[T any] struct {
	// nodes are of the entity; all of them have to be of one.
	nodes   []query.Node[T]
	changes []codec.PatchChange
}

// SomePatch is a patch of an entity of the model T: Patch, or what embeds it.
type SomePatch[T any] interface{ patchOf(*T) Patch[T] }

func (p Patch[T]) patchOf(*T) Patch[T] { return p }

func newPatch[T any](n query.Node[T], changes ...codec.PatchChange) Patch[T] {
	return Patch[T]{[]query.Node[T]{n}, changes}
}

// with returns the patch with more changes.
func (p Patch[T]) with(changes ...codec.PatchChange) Patch[T] {
	p.changes = slices.Concat(p.changes, changes)
	return p
}

// And returns the patch together with other patches of the same entity.
func (p Patch[T]) And(others ...SomePatch[T]) Patch[T] {
	for _, o := range others {
		other := o.patchOf(nil)
		p.nodes = slices.Concat(p.nodes, other.nodes)
		p = p.with(other.changes...)
	}
	return p
}

// Upsert makes what the patch changes where it is not there, and replaces what it adds
// where that is. A change of an element still requires it.
func (p Patch[T]) Upsert() Patch[T] { return p.with(codec.PatchChange{Kind: codec.PatchUpsert}) }

// IfEntityExists requires that the entity is there: its root, which is then part of a
// transaction.
func (p Patch[T]) IfEntityExists() Patch[T] {
	return p.with(codec.PatchChange{Kind: codec.PatchIfEntity})
}

// Exec writes the patch. An increment whose answer was lost is never sent again: the
// error is an *OutcomeUnknownError, which ExactlyOnce avoids, at the double price. The
// other options of writes mean nothing here and are refused.
func (p Patch[T]) Exec(ctx context.Context, m *Mapper[T], options ...WriteOption) (*Receipt, error) {
	var t tally
	if m == nil {
		return t.receipt(), errNoMapper
	}
	ctx, end := m.core.observe(ctx, OpPatch)
	x, err := m.core.planPatch(p.selection(m.core), p.changes, writeSettingsOf(options))
	if err == nil {
		t.mode = x.mode()
		err = x.send(ctx, &t)
	}
	end(&t, err)
	return t.receipt(), err
}

// Plan returns what Exec would send, and cost. It does no I/O.
func (p Patch[T]) Plan(m *Mapper[T], options ...WriteOption) (*Plan, error) {
	if m == nil {
		return nil, errNoMapper
	}
	x, err := m.core.planPatch(p.selection(m.core), p.changes, writeSettingsOf(options))
	if err != nil {
		return nil, err
	}
	return x.describe(), nil
}

var errNoMapper = errors.New("the patch has nothing to run on: pass the model's *mapper.Mapper")

// selection is that of the entity.
func (p Patch[T]) selection(c *core) selection.Selection {
	if len(p.nodes) == 0 {
		return selection.Selection{Err: fmt.Errorf("%s: the patch is empty: make one with a node of generated code", c.schema.Label())}
	}
	s := c.resolved(query.Spec(p.nodes[0]))
	for _, n := range p.nodes[1:] {
		other := c.resolved(query.Spec(n))
		switch {
		case s.Err != nil:
		case other.Err != nil:
			s.Err = other.Err
		case !slices.EqualFunc(s.Identity, other.Identity, key.Value.Equal):
			s.Err = fmt.Errorf("%s: And takes patches of one entity: write another's with a patch of its own", c.schema.Label())
		}
	}
	return s
}

// ItemPatch is a patch of one item, or of one entity's fields, whose record is an R.
type ItemPatch[T, R any] struct {
	Patch[T]
	// item is what the conditions of If are about.
	item codec.PatchChange
}

// If requires that conditions hold of what is stored.
func (p ItemPatch[T, R]) If(conditions ...field.Condition[R]) ItemPatch[T, R] {
	for _, c := range conditions {
		change := p.item
		change.Kind, change.Condition = codec.PatchIf, c.Untyped()
		p.Patch = p.with(change)
	}
	return p
}

// Upsert is described at [Patch.Upsert].
func (p ItemPatch[T, R]) Upsert() ItemPatch[T, R] {
	p.Patch = p.Patch.Upsert()
	return p
}

// IfEntityExists is described at [Patch.IfEntityExists].
func (p ItemPatch[T, R]) IfEntityExists() ItemPatch[T, R] {
	p.Patch = p.Patch.IfEntityExists()
	return p
}

// newItemPatch returns the patch of an item's fields.
func newItemPatch[T, R any](n query.Node[T], item codec.PatchChange, changes []field.Change[R]) ItemPatch[T, R] {
	p := ItemPatch[T, R]{newPatch(n), item}
	for _, c := range changes {
		p.changes = append(p.changes, patchChange(item, c.Untyped()))
	}
	return p
}

// patchChange returns the change of a field of an item.
func patchChange(item, change codec.PatchChange) codec.PatchChange {
	change.Item, change.Part, change.Values = item.Item, item.Part, item.Values
	if change.Field == "" {
		change.Err = errors.New("the patch has a change without a field: make changes with the fields' handles")
	}
	return change
}
