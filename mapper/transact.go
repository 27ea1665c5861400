package mapper

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/item"
	"github.com/itemize/itemize/internal/write"
	"github.com/itemize/itemize/query"
)

// Part is what one transaction does with one entity, or with an item that is no model's: what
// Saving, Deleting, a patch's On, and Raw return.
type Part struct {
	// make makes it new for each transaction; tables returns those of the transaction's models by their
	// names, nil for others.
	make func(tables func(string) *item.Table) (member, error)
	// engine is that of its model, nil for none; client what it is sent with.
	engine *engine
	client write.Client
	// of is the entity, nil where none was given.
	of *state
}

// Transact writes all of its parts, which may be of several entities and models, in one
// transaction: all is written, or nothing. It costs two units for each KB of each item. Where only
// one item is to be written it is one plain request, at the single price.
//
//	receipt, err := mapper.Transact(ctx,
//		users.Saving(e), orders.Saving(o), store.TenantByID(t).Patch(...).On(tenants))
//
// A transaction takes 100 items and 4 MB; more is refused before anything is sent, and so are two
// parts that write, or check, one item. All parts have to share one client. Errors are those of
// Save, Delete and Exec, of several parts joined (errors.Join); where the outcome is not known,
// each saved entity finds out before its next save, also in a transaction. Patches and raw items beside
// an entity may be those of an earlier transaction with it, of which it was not known: a transaction that
// writes the same again is refused, once, where that one was applied; and where nothing tells any more
// it is an *OutcomeUnknownError. Without an entity nothing remembers them. Saved entities are up to date
// afterwards.
func Transact(ctx context.Context, parts ...Part) (*Receipt, error) {
	var t tally
	x, err := newTransaction(parts)
	if err != nil {
		return t.receipt(), err
	}
	ctx, end := x.observe(ctx)
	err = x.run(ctx, &t)
	end(&t, err)
	return t.receipt(), err
}

// PlanTransact returns what Transact would send, and cost. It does no I/O, and refuses a Deleting
// that has to read first what is there: give it an *Entity, or a selection of one item.
func PlanTransact(parts ...Part) (*Plan, error) {
	x, err := newTransaction(parts)
	if err != nil {
		return nil, err
	}
	return x.describe()
}

// Saving is the part of a transaction that Save would write of an entity. Of its options only
// CheckLoaded and Reindex can be given.
func (m *Mapper[T]) Saving(e *Entity[T], options ...WriteOption) Part {
	return m.partOf(e, func() (member, error) {
		if err := m.owns(e); err != nil {
			return nil, err
		}
		settings := writeSettingsOf(options)
		if err := m.engine.joint(settings); err != nil {
			return nil, err
		}
		return &savePart{g: m.engine, s: e.state, v: &e.Value, settings: settings, done: func() { e.set(e.state) }}, nil
	})
}

// Deleting is the part of a transaction that Delete would delete of a selection. Unless that is an
// *Entity or names one item, it reads first what is there.
func (m *Mapper[T]) Deleting(s query.Selection[T]) Part {
	e, ok := s.(*Entity[T])
	return m.partOf(e, func() (member, error) {
		if !ok {
			return m.engine.deletePart(m.resolved(s), nil, nil)
		}
		if err := m.owns(e); err != nil {
			return nil, err
		}
		return m.engine.deletePart(m.resolved(s), e.state, func() { e.set(e.state) })
	})
}

// On is the patch as a part of a transaction. Return is refused there.
func (p Patch[T]) On(m *Mapper[T]) Part {
	if m == nil || m.engine == nil {
		return Part{make: func(func(string) *item.Table) (member, error) { return nil, errNoMapper }}
	}
	return m.part(func() (member, error) { return m.engine.patchPart(p.is) })
}

func (m *Mapper[T]) part(make func() (member, error)) Part {
	return Part{make: func(func(string) *item.Table) (member, error) { return make() }, engine: m.engine, client: m.engine.sender.Client}
}

func (m *Mapper[T]) partOf(e *Entity[T], make func() (member, error)) Part {
	p := m.part(make)
	if e != nil {
		p.of = e.state
	}
	return p
}

// Raw is an item of the caller's own making as a part of a transaction: one of Put, Update, Delete
// and ConditionCheck, sent as it is, but that the item that is there comes back where its condition
// fails. It does not know how large that item is, so that its price is bounds. Where its table is
// one of the other parts' models, it must not be an item that these write.
func Raw(client Client, given types.TransactWriteItem) Part {
	return Part{client: client, make: func(tables func(string) *item.Table) (member, error) {
		if client == nil {
			return nil, errors.New("mapper.Raw: the client is nil: pass that of the mappers")
		}
		r, err := write.Raw(given, tables)
		if err != nil {
			return nil, errors.New("mapper.Raw: " + err.Error())
		}
		if r.NewSize > cost.MaxItem {
			return nil, &TooLargeError{Model: "mapper", Field: r.Field, Key: keyOf(r.Place), Size: r.NewSize, Limit: cost.MaxItem}
		}
		return &rawPart{r}, nil
	}}
}

// joint refuses the options that a part of a transaction cannot have.
func (g *engine) joint(o writeSettings) error {
	o.checkLoaded, o.reindex, o.checkRoot = false, false, false
	if o != (writeSettings{}) {
		return g.model.Errorf("a part of a transaction takes CheckLoaded and Reindex only: leave Independent, Staged, ExactlyOnce and Move out")
	}
	return nil
}
