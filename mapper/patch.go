package mapper

import (
	"context"
	"errors"
	"slices"

	"github.com/itemize/itemize/mapper/mapperimpl"
	"github.com/itemize/itemize/query"
)

// Patch is changes of one entity that are written without reading it first. Generated
// code makes patches (PatchUser), with a method for each change.
//
// All changes of one item are one request, at the price of that item; of several items
// one transaction, at the double price. What a set, a removal or an increment changes
// has to be there (ErrNotFound), and what is added must not be (ErrExists): Upsert makes
// a patch write either way. Since nothing is read, nothing tells how large the items are:
// the plan's units are bounds, the receipt's Consumed what it was.
type Patch[T any] struct {
	node    query.Node[T]
	changes []mapperimpl.Change
}

// NewPatch is for generated code.
func NewPatch[T any](n query.Node[T]) Patch[T] { return Patch[T]{node: n} }

// With is for generated code: the patch with one more change.
func With[T any](p Patch[T], c mapperimpl.Change) Patch[T] {
	p.changes = append(slices.Clone(p.changes), c)
	return p
}

// Exec writes the patch. An increment whose answer was lost is never sent again: the
// error is an *OutcomeUnknownError, which ExactlyOnce avoids, at the double price. The
// other options of writes mean nothing here and are refused.
func (p Patch[T]) Exec(ctx context.Context, m *Mapper[T], options ...WriteOption) (*Receipt, error) {
	var t tally
	if m == nil {
		return t.receipt(), errors.New("the patch has nothing to run on: pass the model's *mapper.Mapper")
	}
	ctx, end := m.engine.observe(ctx, OpPatch)
	x, err := m.patching(p.node, p.changes, options)
	if err == nil {
		err = x.send(ctx, &t)
	}
	end(&t, err)
	return t.receipt(), err
}

// Plan returns what Exec would send, and cost. It does no I/O.
func (p Patch[T]) Plan(m *Mapper[T], options ...WriteOption) (*Plan, error) {
	if m == nil {
		return nil, errors.New("the patch has nothing to run on: pass the model's *mapper.Mapper")
	}
	x, err := m.patching(p.node, p.changes, options)
	if err != nil {
		return nil, err
	}
	plan, err := x.plan()
	if err != nil {
		return nil, err
	}
	return planOf(plan), nil
}
