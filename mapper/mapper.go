package mapper

import (
	"context"
	"fmt"
	"reflect"

	"github.com/itemize/itemize/internal/codec"
	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/schema"
	"github.com/itemize/itemize/internal/selection"
	"github.com/itemize/itemize/internal/snapshot"
	"github.com/itemize/itemize/query"
)

type source[T any] = query.InternalSource[T]

// Mapper loads and saves entities of the model T. It is safe for concurrent use.
type Mapper[T any] struct {
	source[T]
	engine *engine
}

// New returns a mapper of the model T. The error is a *ModelError with every
// fault of the model's tags, each with its cure. New does no I/O.
//
// Where the model has generated code (itemize gen), the mapper works with that, and
// otherwise by reflection. Both do the same.
func New[T any](client Client, options ...Option) (*Mapper[T], error) {
	t := reflect.TypeFor[T]()
	e, err := schema.Of(t)
	if err != nil {
		return nil, modelError(t.String(), err)
	}
	form, err := formOf[T](e)
	if err != nil {
		return nil, err
	}
	return newMapper[T](client, e, form, options)
}

func newMapper[T any](client Client, e *schema.Entity, form *codec.Form, options []Option) (*Mapper[T], error) {
	s := settingsOf(options)
	g, err := newEngine(client, e, codec.New(e, form, s.large.codings), s)
	if err != nil {
		return nil, err
	}
	return &Mapper[T]{source: query.InternalOf[T, T]{}.Source(door.Key{}, g), engine: g}, nil
}

// formOf returns the form of a model that its generated code has, nil if it has none.
func formOf[T any](e *schema.Entity) (*codec.Form, error) {
	generated, ok := any(new(T)).(codec.GeneratedModel[T])
	if !ok {
		return nil, nil
	}
	g := generated.ItemizeCodec(nil)
	if g.Layout != e.Fingerprint() {
		return nil, fmt.Errorf("%s: its generated code was made from another layout of the model: run go generate",
			e.Label())
	}
	return g.Table.Untyped(), nil
}

// resolved returns a selection with its parts, which generated code leaves to be made.
func (m *Mapper[T]) resolved(s query.Selection[T]) selection.Selection {
	return specOf(s).Resolve(m.engine.model.Schema)
}

// specOf returns a selection as data.
func specOf[T any](s query.Selection[T]) selection.Selection {
	return query.InternalOf[T, T]{}.Spec(door.Key{}, s)
}

// New returns an entity that is not stored yet: its first Save inserts it.
func (m *Mapper[T]) New(value T) *Entity[T] {
	e := &struct { // they live as long as each other
		Entity[T]
		of state
	}{}
	e.Value = value
	e.of.Snapshot, e.of.engine = snapshot.New(m.engine.model, &e.Value), m.engine
	e.set(&e.of)
	return &e.Entity
}

// Key selects a whole entity by the values of the partition key's placeholders,
// in their order; in a flat model those of the sort key follow. Given fewer, in a
// flat model, it selects all entities that share them, for a query.
func (m *Mapper[T]) Key(values ...any) query.Key[T] {
	return query.InternalOf[T, T]{}.Key(door.Key{}, m.engine.model.Schema, m.engine.model.Select(values))
}

// Index is what lies in a secondary index that the model declares, under the values of the
// placeholders in its partition key, and of the first ones in its sort key, for query.Of: of the
// elements that carry its keys, or of the model itself. name is the index's; of one that holds
// several kinds of items "index/item", with the item's name in [ItemPlan].
func (m *Mapper[T]) Index(name string, values ...any) query.Index[T] {
	s := m.engine.model.SelectIndex(name, values)
	return query.InternalOf[T, T]{}.Index(door.Key{}, s, func(b selection.Bounds) selection.Selection {
		return m.engine.model.Narrow(s, b)
	})
}

// Load reads a selection into an entity. The error is ErrNotFound where the
// selection includes the root and the entity does not exist. Reads are eventually
// consistent unless Strong is given.
//
// Load costs, in RCU, one for each 4 KB begun of a single item, and of the sum of
// the items of each page of a prefix or a whole collection; half of that where it
// is eventually consistent. More than a page, an entity that was staged less than half an
// hour ago, and a part that meets what a staged insert has put cost further reads, of the
// root and of what may have changed: docs/saving.md, "What a load sees".
func (m *Mapper[T]) Load(ctx context.Context, s query.Selection[T], options ...ReadOption) (*Entity[T], error) {
	e := &Entity[T]{}
	state, err := m.engine.loadEntity(ctx, m.resolved(s), &e.Value, options)
	if err != nil {
		return nil, err
	}
	e.set(state)
	return e, nil
}

// Save writes the items of the entity that differ from what was loaded, and nothing else: a new entity
// is inserted, and fails with ErrExists if it is there. One dirty item is written by one request, at
// the single price; several in one transaction, at the double price, unless Independent or Staged is
// given. An insert that does not fit a transaction is staged. Each write is conditional on the version
// that was read; where someone else has changed an item the error is a *ConflictError, and nothing is
// written that can be found (Independent aside). After a Save the entity is up to date.
//
// A save that adds items, and does not write the root item in the same transaction, reads the root item
// afterwards: one strongly consistent read. If the entity was deleted, the added items are deleted
// again, and the error is a *NotFoundError. See [Blind], [CheckRoot].
//
// Errors before anything is written: *NotLoadedError, *ValueError, *TooLargeError. Of the write:
// ErrExists of an insert, *ConflictError, *OutcomeUnknownError, *PartialError with [Independent].
func (m *Mapper[T]) Save(ctx context.Context, e *Entity[T], options ...WriteOption) (*Receipt, error) {
	if err := m.owns(e); err != nil {
		return &Receipt{}, err
	}
	r, err := m.engine.save(ctx, e.state, &e.Value, options)
	e.set(e.state)
	return r, err
}

// PlanSave returns what Save would send, and cost, with the same options. It does no I/O, but that it
// reads what a blob.Value was given as a reader. What a Save reads first to find out about an earlier
// one whose outcome is not known is not in it.
func (m *Mapper[T]) PlanSave(e *Entity[T], options ...WriteOption) (*Plan, error) {
	if err := m.owns(e); err != nil {
		return nil, err
	}
	return m.engine.planSave(e.state, &e.Value, options)
}

// Update loads a selection strongly consistently, applies update to the value,
// and saves it. Where someone else changed one of its items meanwhile, it loads
// and applies again, until that succeeds, the context ends, or it has done so a hundred
// times. An error of update
// ends it, with nothing written. Where it is not known whether a write was applied
// (*OutcomeUnknownError), update is not applied again.
func (m *Mapper[T]) Update(ctx context.Context, s query.Selection[T], update func(*T) error,
	options ...WriteOption) (*Receipt, error) {
	if update == nil {
		return &Receipt{}, m.engine.model.Errorf("Update got no function: pass one that changes the value")
	}
	return m.engine.update(ctx, m.resolved(s), func() (any, func() error) {
		v := new(T)
		return v, func() error { return update(v) }
	}, options)
}

// Delete deletes the items that were loaded, of a whole entity or of a part without its root, if they
// are as they were loaded: a changed one is a *ConflictError. The error is ErrNotFound if a whole
// entity does not exist, and has left nothing behind. Items of the collection that no field claims are
// left alone.
func (m *Mapper[T]) Delete(ctx context.Context, e *Entity[T], options ...WriteOption) (*Receipt, error) {
	if err := m.owns(e); err != nil {
		return &Receipt{}, err
	}
	r, err := m.engine.delete(ctx, m.resolved(e), e.state, options)
	e.set(e.state)
	return r, err
}

// DeleteByKey deletes the items of a selection: of a whole entity, or of a part without its root. It
// reads them first, and deletes what it has read. A single item is deleted unread, whatever it holds,
// unless it is of an insert that is not finished: that is a *ConflictError. The error is ErrNotFound if
// a whole entity does not exist, and has left nothing behind. Items of the collection that no field
// claims are left alone.
func (m *Mapper[T]) DeleteByKey(ctx context.Context, s query.Selection[T], options ...WriteOption) (*Receipt, error) {
	if _, ok := s.(*Entity[T]); ok {
		return &Receipt{},
			m.engine.model.Errorf("DeleteByKey got an entity, of which it would not compare what was loaded: " +
				"use Delete")
	}
	return m.engine.delete(ctx, m.resolved(s), nil, options)
}

// PlanLoad returns what Load of a selection would send, and cost in RCU. It does no I/O.
//
// For a loaded *Entity the plan is exact, as long as no other writer changes the items. Two exceptions:
// if the last item of a range brings an answer to 1 MB, the plan has bounds; and BatchGetItem may need
// more requests than planned if it reads more than 1 MB of a partition. For a new entity that was
// saved, the plan covers the items that were written. For another selection it has bounds: for a range,
// those of its first answer.
func (m *Mapper[T]) PlanLoad(s query.Selection[T], options ...ReadOption) (*Plan, error) {
	var loaded *state
	if e, ok := s.(*Entity[T]); ok && e.state != nil && !e.state.Fresh {
		loaded = e.state
	}
	return m.engine.planLoad(m.resolved(s), loaded, options)
}

// PlanDelete returns what Delete would send, and cost. It does no I/O.
func (m *Mapper[T]) PlanDelete(e *Entity[T], options ...WriteOption) (*Plan, error) {
	if err := m.owns(e); err != nil {
		return nil, err
	}
	return m.engine.planDelete(m.resolved(e), e.state, options)
}

// PlanDeleteByKey returns what DeleteByKey of a single item would send, and cost: its size is not
// known. It does no I/O. What another selection holds has to be loaded first.
func (m *Mapper[T]) PlanDeleteByKey(s query.Selection[T], options ...WriteOption) (*Plan, error) {
	return m.engine.planDelete(m.resolved(s), nil, options)
}
