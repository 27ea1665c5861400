package mapper

import (
	"context"
	"fmt"
	"reflect"
	"unsafe"

	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/codec"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/read/search"
	"github.com/itemize/itemize/internal/read/selection"
	"github.com/itemize/itemize/internal/read/snapshot"
	"github.com/itemize/itemize/query"
)

type source[T any] = search.Runs[T]

// Mapper loads and saves entities of the model T. It is safe for concurrent use.
type Mapper[T any] struct {
	source[T]
	engine *engine
}

// New returns a mapper of the model T. The error is a *ModelError with all faults of the model's tags; all errors
// of New are of the class [ErrUsage].
// New does no I/O.
//
// The mapper uses the generated code of the model (itemize gen) if it exists, and reflection otherwise.
// Both behave the same.
func New[T any](client Client, options ...Option) (*Mapper[T], error) {
	t := reflect.TypeFor[T]()
	e, err := schema.Of(t)
	if err != nil {
		return nil, model.Usage(modelError(t.String(), err))
	}
	form, err := formOf[T](e)
	if err != nil {
		return nil, model.Usage(err)
	}
	return newMapper[T](client, e, form, options)
}

func newMapper[T any](client Client, e *schema.Entity, form *codec.Form, options []Option) (*Mapper[T], error) {
	s := settingsOf(options)
	g, err := newEngine(client, e, codec.New(e, form, s.large.codecs), s)
	if err != nil {
		return nil, model.Usage(err)
	}
	return &Mapper[T]{source: search.RunsBy[T](g), engine: g}, nil
}

// formOf returns the form in the model's generated code, nil if there is none.
func formOf[T any](e *schema.Entity) (*codec.Form, error) {
	generated, ok := any(new(T)).(codec.GeneratedModel[T])
	if !ok {
		return nil, nil
	}
	g := generated.ItemizeCodec(nil)
	if g.Layout != e.Fingerprint() {
		return nil, fmt.Errorf("%s: its generated code is of another layout of the model: run go generate",
			e.Label())
	}
	return g.Table.Form, nil
}

// resolved returns a selection with its parts.
func (m *Mapper[T]) resolved(s query.Selection[T]) selection.Selection {
	return specOf(s).Resolve(m.get().model.Schema)
}

// specOf returns a selection as data.
func specOf[T any](s query.Selection[T]) selection.Selection {
	n, _ := query.Join(s).(*query.Node[T])
	return door.Query.Spec(unsafe.Pointer(n))
}

// New returns an entity that is not stored yet. Its first Save inserts it.
func (m *Mapper[T]) New(value T) *Entity[T] {
	e := &struct { // one allocation, because they live equally long
		Entity[T]
		of state
	}{}
	e.Value = value
	e.of.Snapshot, e.of.engine = snapshot.New(m.get().model, &e.Value), m.get()
	e.set(&e.of)
	return &e.Entity
}

// Key selects an entity by the values of its placeholders: those of the partition key, and in a flat
// model then those of the sort key. In a flat model, fewer values select all entities that share them,
// for a query.
func (m *Mapper[T]) Key(values ...any) *query.Key[T] {
	return m.keyOf(m.get().model.Select(values))
}

func (m *Mapper[T]) keyOf(s selection.Selection) *query.Key[T] {
	k := new(query.Key[T])
	door.Query.Key(unsafe.Pointer(k), m.get().model, s)
	return k
}

// Unique selects the entity that has a unique value, by the fields of its tag: "Email", or "Tenant,Email". The values
// are those of the fields, of their types. It is for Load, LoadMany, Update, DeleteByKey, patches and transactions. If
// no entity has the value, they return ErrNotFound.
func (m *Mapper[T]) Unique(fields string, values ...any) *query.Key[T] {
	return m.keyOf(m.get().model.SelectUnique(fields, values))
}

// Index selects items of a declared secondary index, for query.Of: elements, or entities of the model.
// The values are those of the placeholders in the partition key, and of the first ones in the sort key.
// name is the name of the index. If the index holds several kinds of items it is "index/item", with the
// Field of an [ItemPlan] as the item.
func (m *Mapper[T]) Index(name string, values ...any) *query.Items[T] {
	model := m.get().model
	x := new(query.Items[T])
	door.Query.Items(unsafe.Pointer(x), model, model.SelectIndex(name, values))
	return x
}

// Load reads a selection into an entity. If the selection includes the root item and the entity does
// not exist, the error is ErrNotFound. Reads are eventually consistent unless you pass [Strong].
//
// It costs one RCU for each 4 KB, rounded up: of a single item, or of the sum of the items of each
// page. Eventually consistent reads cost half of that. A load needs more reads if it has several pages,
// or if the entity was staged less than half an hour ago. It also needs more if a part has items of a
// staged insert. See docs/design/writes.md, "Loads".
func (m *Mapper[T]) Load(ctx context.Context, s query.Selection[T], options ...ReadOption) (*Entity[T], error) {
	e := &Entity[T]{}
	state, err := m.get().loadEntity(ctx, m.resolved(s), &e.Value, options)
	if err != nil {
		return nil, err
	}
	e.set(state)
	return e, nil
}

// Save writes the items of the entity that differ from the snapshot. It inserts a new entity, or
// returns ErrExists if that exists. One changed item is one request at the single price. Several are
// one transaction at the double price, unless you pass [Independent] or [Staged]. An insert that does
// not fit a transaction is staged. Each write requires the version that was loaded: if another writer
// has changed an item, the error is a *ConflictError and nothing visible is written, except with
// Independent. After a Save the entity is up to date.
//
// A save that adds items without writing the root item in the same transaction reads the root item
// afterwards, strongly consistent. If the entity was deleted, Save deletes the added items and returns
// a *NotFoundError. See [Blind], [CheckRoot].
//
// Errors before a request: *NotLoadedError, *ValueError, *TooLargeError. Errors of the write:
// ErrExists, *ConflictError, *OutcomeUnknownError, and *PartialError with [Independent].
func (m *Mapper[T]) Save(ctx context.Context, e *Entity[T], options ...WriteOption) (*Receipt, error) {
	if err := m.owns(e); err != nil {
		return &Receipt{}, err
	}
	if err := e.state.begin(); err != nil {
		return &Receipt{}, err
	}
	defer e.state.end()
	r, err := m.get().save(ctx, e.state, &e.Value, options)
	e.refresh()
	return r, err
}

// PlanSave returns the requests and the predicted cost of Save with the same options. It does no I/O,
// except that it reads the readers of blob values. It does not include the reads that resolve an
// earlier write.
func (m *Mapper[T]) PlanSave(e *Entity[T], options ...WriteOption) (*Plan, error) {
	if err := m.owns(e); err != nil {
		return nil, err
	}
	return m.get().planSave(e.state, &e.Value, options)
}

// Update loads a selection strongly consistently, applies update to the value, and saves it. If another
// writer has changed an item in the meantime, it loads and applies again, up to a hundred times or
// until the context ends. If update returns an error, nothing is written. If the outcome of a write is
// unknown (*OutcomeUnknownError), update is not applied again.
func (m *Mapper[T]) Update(ctx context.Context, s query.Selection[T], update func(*T) error,
	options ...WriteOption,
) (*Receipt, error) {
	if update == nil {
		return &Receipt{}, m.get().model.Errorf("the function of Update is nil: pass one that changes the value")
	}
	return m.get().update(ctx, m.resolved(s), func() (any, func() error) {
		v := new(T)
		return v, func() error { return update(v) }
	}, options)
}

// Delete deletes the loaded items of an entity, or of a part without the root item, if they are
// unchanged. A changed item is a *ConflictError. If a whole entity does not exist and has no leftover
// items, the error is ErrNotFound. Items that match no field stay.
func (m *Mapper[T]) Delete(ctx context.Context, e *Entity[T], options ...WriteOption) (*Receipt, error) {
	if err := m.owns(e); err != nil {
		return &Receipt{}, err
	}
	if err := e.state.begin(); err != nil {
		return &Receipt{}, err
	}
	defer e.state.end()
	r, err := m.get().delete(ctx, m.resolved(e), e.state, options)
	e.refresh()
	return r, err
}

// DeleteByKey deletes the items of a selection: a whole entity, or a part without the root item. It
// reads the items first, and deletes them as they were read. A single item is deleted without a read,
// unless it belongs to an unfinished insert, which is a *ConflictError. If a whole entity does not
// exist and has no leftover items, the error is ErrNotFound. Items that match no field stay.
func (m *Mapper[T]) DeleteByKey(ctx context.Context, s query.Selection[T], options ...WriteOption) (*Receipt, error) {
	if _, ok := s.(*Entity[T]); ok {
		return &Receipt{},
			m.get().model.Errorf("DeleteByKey does not compare the loaded items of an *Entity: use Delete")
	}
	return m.get().delete(ctx, m.resolved(s), nil, options)
}

// PlanLoad returns the requests and the predicted cost of Load, in RCU. It does no I/O.
//
// For a loaded *Entity the plan is exact, as long as no other writer changes the items. There are two
// exceptions. If the last item of a range brings an answer to 1 MB, the plan has bounds. BatchGetItem
// may need more requests than planned if it reads more than 1 MB of a partition. For a new entity that
// was saved, the plan covers the items that were written. For another selection it has bounds: for a
// range, those of its first answer.
func (m *Mapper[T]) PlanLoad(s query.Selection[T], options ...ReadOption) (*Plan, error) {
	var loaded *state
	if e, ok := s.(*Entity[T]); ok && e.state != nil && !e.state.Fresh {
		loaded = e.state
	}
	return m.get().planLoad(m.resolved(s), loaded, options)
}

// PlanDelete returns the requests and the predicted cost of Delete. It does no I/O.
func (m *Mapper[T]) PlanDelete(e *Entity[T], options ...WriteOption) (*Plan, error) {
	if err := m.owns(e); err != nil {
		return nil, err
	}
	return m.get().planDelete(m.resolved(e), e.state, options)
}

// PlanDeleteByKey returns the requests and the predicted cost of DeleteByKey for a single item, whose
// size is unknown. It does no I/O. Other selections must be loaded first.
func (m *Mapper[T]) PlanDeleteByKey(s query.Selection[T], options ...WriteOption) (*Plan, error) {
	return m.get().planDelete(m.resolved(s), nil, options)
}
