package mapper

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/codec"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/read/search"
	"github.com/itemize/itemize/internal/read/selection"
	"github.com/itemize/itemize/internal/read/snapshot"
	"github.com/itemize/itemize/internal/save/adoption"
	"github.com/itemize/itemize/internal/save/change"
	"github.com/itemize/itemize/internal/save/estimate"
	"github.com/itemize/itemize/internal/save/operation"
	"github.com/itemize/itemize/internal/save/staging"
	"github.com/itemize/itemize/internal/save/write"
)

// engine is a mapper without the type of its model. It connects the packages that do the work
// (docs/design/architecture.md).
type engine struct {
	client    Client
	model     *model.Model
	search    *search.Engine
	reader    *read.Reader
	env       *operation.Env
	observers []Observer
	cache     *Cache // nil for none
	cacheName string // the prefix of its keys in the cache
	// ended is called at the end of each call. It records the sizes and indexes that the call found.
	ended func(*draft, error)
}

// state is the state of an entity: its snapshot, and its unresolved writes.
type state struct {
	operation.Entity
	engine *engine
	// owner is the *Entity that the state belongs to: a copy of an entity has the state of the original.
	owner any
	// busy is set while a call writes the entity.
	busy atomic.Bool
	// notStored reports that the entity was made from items of the caller.
	notStored bool
}

// begin reserves the entity for one call. The call releases it with end.
func (s *state) begin() error {
	if s != nil && !s.busy.CompareAndSwap(false, true) {
		return s.engine.model.Errorf("another goroutine is writing the entity: use an entity in one goroutine at a " +
			"time, or load it in each")
	}
	return nil
}

func (s *state) end() {
	if s != nil {
		s.busy.Store(false)
	}
}

// newState returns the state of an entity with this snapshot.
func (g *engine) newState(s *snapshot.Snapshot) *state {
	return &state{Entity: operation.Entity{Snapshot: s}, engine: g}
}

func newEngine(client Client, e *schema.Entity, c codec.Model, s *settings) (*engine, error) {
	if isNil(client) {
		return nil, fmt.Errorf("%s: the client is nil: pass dynamodb.NewFromConfig(cfg), or a client of your own",
			e.Label())
	}
	tables, err := tableNames(e, s)
	if err != nil {
		return nil, err
	}
	cursorKey := s.cursorKey
	if cursorKey == nil {
		cursorKey = []byte(rand.Text()) // of this mapper only
	} else if len(cursorKey) < minCursorKey {
		return nil, fmt.Errorf("%s: the CursorKey has %d bytes: pass at least %d random bytes", e.Label(),
			len(cursorKey), minCursorKey)
	}
	m := model.New(e, c, tables)
	if s.margin != nil {
		if m.Reserved.Margin = *s.margin; m.Reserved.Margin < 0 {
			return nil, m.Errorf("ExpiryMargin(%s): pass a duration of 0 or more", *s.margin)
		}
	}
	if m.Times, err = timesOf(e, s.times, m.Now()); err != nil {
		return nil, err
	}
	sizes, err := estimate.NewSizes(m, s.typical)
	if err != nil {
		return nil, err
	}
	wire := s.wire(client)
	reader := &read.Reader{
		Client: client, Label: m.Label(), TableOf: m.TableOf, Describe: m.Describe,
		Wire: wire, DescribeWire: m.DescribeWire,
	}
	sender := &write.Sender{Client: client, Now: m.Time, Single: s.sendsOnce, Wire: wire}
	protocol := &staging.Protocol{Reader: reader, Sender: sender, Now: m.Time, Describe: m.Image}
	g := &engine{
		client: client, model: m, reader: reader, observers: s.observers,
		search: &search.Engine{Model: m, Source: reader, Reader: reader, Protocol: protocol, CursorKey: cursorKey},
	}
	for _, o := range s.observers {
		if x, ok := o.(interface {
			InternalModel(door.Key, *schema.Entity, []string)
		}); ok {
			x.InternalModel(door.Key{}, e, tables)
		}
	}
	g.env = &operation.Env{
		Model: m, Search: g.search, Protocol: protocol, Sender: sender,
		Estimate: &estimate.Estimator{Model: m, Protocol: protocol, Sizes: sizes}, Blind: s.blind,
	}
	m.VersionsOnly = s.versionsOnly
	g.search.Notes = notesOf(m, s)
	g.ended = func(t *draft, err error) {
		t.failed(err)
		g.env.Estimate.Observe(&t.Tally.Tally)
	}
	if err := g.largeValues(s); err != nil {
		return nil, err
	}
	return g, g.caches(s.cache)
}

// notesOf returns the notes of unique values, nil for a model without them.
func notesOf(m *model.Model, s *settings) *search.Notes {
	if len(m.Schema.Uniques) == 0 {
		return nil
	}
	for _, u := range m.Schema.Uniques {
		if u.Table != "" && s.rename != nil {
			m.NameGuardTable(u.Table, s.rename(u.Table))
		}
	}
	return &search.Notes{Model: m, Assume: s.assumeVerified}
}

// Adoption returns a pass over the unique values of the model.
func (g *engine) Adoption() (*adoption.Pass, error) {
	m := g.model
	if len(m.Schema.Uniques) == 0 {
		return nil, m.Errorf("the model has no unique values: add unique to the tag of a field")
	}
	c, ok := g.client.(adoption.Client)
	if !ok {
		return nil, m.Errorf("the client lacks methods of *dynamodb.Client: pass one that has them")
	}
	return &adoption.Pass{
		Env: g.env, Client: c, Reader: g.reader, Notes: g.search.Notes,
		Uniques: m.Schema.Uniques,
	}, nil
}

// isNil reports whether an interface is nil, or a nil pointer.
func isNil(a any) bool {
	v := reflect.ValueOf(a)
	return a == nil || v.Kind() == reflect.Pointer && v.IsNil()
}

// minCursorKey is the smallest size of a key that encrypts cursors, in bytes.
const minCursorKey = 16

// anyTime is the placeholder of any time in the names of tables.
var anyTime = time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)

// tableNames returns the real names of a model's tables.
func tableNames(e *schema.Entity, s *settings) ([]string, error) {
	var names []string
	for i, t := range e.Tables {
		name := t.Name
		if s.rename != nil {
			name = s.rename(name)
		}
		if i == 0 && s.table != nil {
			name = *s.table
		}
		shown := name
		if p := e.Periods; p != nil {
			if strings.Count(name, p.Placeholder) != 1 {
				return nil, fmt.Errorf("%s: the table name %q lacks %s, by which the tables of the model rotate: "+
					"add it, such as %q", e.Label(), name, p.Placeholder, t.Name)
			}
			period, _ := p.Of(key.OfTime(anyTime))
			shown = p.Named(name, period)
		}
		if !model.IsTableName(shown) {
			return nil, fmt.Errorf("%s: %q is not a valid name of a table: DynamoDB takes 3 to 255 letters, "+
				"digits, '_', '-' and '.', or an ARN", e.Label(), name)
		}
		if slices.Contains(names, name) {
			return nil, fmt.Errorf("%s: two of its tables have the name %q: set one for each with mapper.Tables",
				e.Label(), name)
		}
		names = append(names, name)
	}
	return names, nil
}

// isIndex reports whether a selection is of a secondary index.
func isIndex(sel selection.Selection) bool { return len(sel.Parts) > 0 && sel.Parts[0].In != nil }

// loadEntity is Mapper.Load.
func (g *engine) loadEntity(ctx context.Context, sel selection.Selection, v any, options []ReadOption) (*state, error) {
	settings := readSettingsOf(options)
	var t draft
	ctx, end := g.observe(ctx, "Load")
	if settings.Root {
		sel = g.search.WithRoot(sel)
	}
	s, err := g.load(ctx, sel, v, settings.Strong, &t)
	if settings.SkipMissing && t.skips(err) {
		err = g.search.RootThere(sel, nil)
	}
	if err == nil {
		if err = operation.CheckTag(g.model, s.Snapshot, settings.Tag); err != nil {
			s = nil
		}
	}
	err = g.public(err)
	end(&t, err)
	deliver(settings, &t)
	return s, err
}

// load reads a selection into v, a pointer to a zero model.
func (g *engine) load(ctx context.Context, sel selection.Selection, v any, strong bool, t *draft) (*state, error) {
	switch {
	case sel.Lookup != nil:
		f, err := g.search.FindOwner(ctx, sel, read.Options{Strong: strong}, &t.Tally.Tally)
		if err != nil {
			return nil, err
		}
		return g.decodeFound(ctx, f, v, t)
	case sel.Err != nil:
		return nil, sel.Err
	case isIndex(sel):
		return nil, g.model.Errorf("the selection is a part of an index, not an entity: run a query (query.Of, or " +
			"generated code), and load its results by key")
	case !sel.Entity:
		return nil, g.model.Errorf("the key selects several entities: add values for all of %s to load one, or run "+
			"a query",
			g.model.IdentityNames())
	}
	o := read.Options{Strong: strong}
	if g.caching(sel, strong) {
		return g.loadCached(ctx, sel, v, t)
	}
	if len(sel.Elsewhere) > 0 {
		f, err := g.findLocated(ctx, sel, o, t)
		if err != nil {
			return nil, err
		}
		return g.decodeFound(ctx, f, v, t)
	}
	s, err := g.search.Load(ctx, sel, v, o, &t.Tally.Tally)
	if err != nil {
		return nil, err
	}
	g.env.Estimate.Sizes.Loaded(s)
	g.env.Remember(s)
	return g.newState(s), nil
}

// findLocated reads an entity that can be on several shards.
func (g *engine) findLocated(ctx context.Context, sel selection.Selection, o read.Options, t *draft) (*search.Found,
	error,
) {
	found, err := g.search.FindWhere(ctx, []selection.Selection{sel}, o, &t.Tally.Tally,
		func(at []selection.Selection) ([]*search.Found, error) {
			f, err := g.search.Find(ctx, g.search.Protocol, at[0], o, &t.Tally.Tally)
			return []*search.Found{f}, err
		})
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// findStrongly reads an entity strongly consistently.
func (g *engine) findStrongly(ctx context.Context, sel selection.Selection, t *draft) (*search.Found, error) {
	o := read.Options{Strong: true}
	if len(sel.Elsewhere) > 0 {
		return g.findLocated(ctx, sel, o, t)
	}
	return g.search.Find(ctx, g.search.Protocol, sel, o, &t.Tally.Tally)
}

// planLoad is Mapper.PlanLoad. loaded is the entity if it was loaded before, otherwise nil.
func (g *engine) planLoad(sel selection.Selection, loaded *state, options []ReadOption) (*Plan, error) {
	settings := readSettingsOf(options)
	strong := settings.Strong
	if settings.Root {
		sel = g.search.WithRoot(sel)
	}
	switch {
	case sel.Fault() != nil:
		return nil, g.public(sel.Err)
	case sel.Lookup != nil:
		at, noted, err := g.search.SomeOwner(sel)
		if err != nil {
			return nil, g.public(err)
		}
		return planOfReads(g.env.Estimate.Lookup(at, strong, noted)), nil
	case isIndex(sel):
		return nil, g.model.Errorf("the selection is a part of an index, not an entity: use Plan of the query")
	case loaded == nil:
		return planOfReads(g.env.Estimate.Selection(sel, strong)), nil
	}
	r, err := g.env.Estimate.Load(loaded.Snapshot, sel, strong)
	if err != nil {
		return nil, g.public(err)
	}
	return planOfReads(r), nil
}

// save is Mapper.Save.
func (g *engine) save(ctx context.Context, s *state, v any, options []WriteOption) (*Receipt, error) {
	x, err := operation.NewSave(g.env, &s.Entity, v, writeOptionsOf(options))
	return g.write(ctx, "Save", x, err)
}

// write runs an operation. If err is not nil, the operation could not be made.
func (g *engine) write(ctx context.Context, op string, x *operation.Operation, err error) (*Receipt, error) {
	var t draft
	ctx, end := g.observe(ctx, op)
	if err == nil {
		err = x.Run(ctx, &t.Tally)
	}
	err = g.public(err)
	end(&t, err)
	return t.receipt(), err
}

// planSave is Mapper.Plan.
func (g *engine) planSave(s *state, v any, options []WriteOption) (*Plan, error) {
	return g.predict(operation.NewSave(g.env, &s.Entity, v, writeOptionsOf(options)))
}

// predict returns the plan of an operation.
func (g *engine) predict(x *operation.Operation, err error) (*Plan, error) {
	if err != nil {
		return nil, g.public(err)
	}
	p, err := x.Predict()
	if err != nil {
		return nil, g.public(err)
	}
	return planOf(p), nil
}

// update is Mapper.Update. next returns a pointer to a zero model, and the function that changes it.
func (g *engine) update(ctx context.Context, sel selection.Selection, next func() (any, func() error),
	options []WriteOption,
) (*Receipt, error) {
	var t draft
	ctx, end := g.observe(ctx, "Update")
	var readers change.Readers
	var own error // error of the caller's function, which is not translated
	o := writeOptionsOf(options)
	err := operation.Repeat(ctx, g.model.Label(), func() error {
		v, update := next()
		s, err := g.load(ctx, sel, v, true, &t)
		if err != nil {
			return err
		}
		if err := operation.CheckTag(g.model, s.Snapshot, o.Tag); err != nil {
			return err
		}
		if own = update(); own != nil {
			return errUpdate
		}
		readers.Next()
		if err := readers.KeepReaders(g.model, v); err != nil {
			return err
		}
		if sel.Lookup != nil {
			o.Owner = g.model.Schema.Uniques[sel.Lookup.Unique]
		}
		x, err := operation.NewSave(g.env, &s.Entity, v, o)
		if err != nil {
			return err
		}
		return x.Run(ctx, &t.Tally)
	})
	var conflict *ConflictError
	if err = g.public(err); own != nil {
		err = own
	} else if errors.As(err, &conflict) {
		conflict.update = true
	}
	end(&t, err)
	return t.receipt(), err
}

// errUpdate is returned for an error of the function that Update calls.
var errUpdate = errors.New("the function of Update returned an error")

// delete is Mapper.Delete, or Mapper.DeleteByKey if s is nil.
func (g *engine) delete(ctx context.Context, sel selection.Selection, s *state, options []WriteOption) (*Receipt,
	error,
) {
	o := writeOptionsOf(options)
	if s == nil && (len(sel.Elsewhere) > 0 || sel.Lookup != nil) {
		var t draft
		ctx, end := g.observe(ctx, "Delete")
		do := operation.DeleteLocated
		if sel.Lookup != nil {
			do = operation.DeleteOwner
		}
		err := g.public(do(ctx, g.env, sel, o, &t.Tally))
		end(&t, err)
		return t.receipt(), err
	}
	x, err := operation.NewDelete(g.env, sel, s.entity(), o)
	return g.write(ctx, "Delete", x, err)
}

// planDelete is Mapper.PlanDelete.
func (g *engine) planDelete(sel selection.Selection, s *state, options []WriteOption) (*Plan, error) {
	if s == nil && sel.Lookup != nil && sel.Fault() == nil {
		return nil, g.model.Errorf("a delete by a lookup cannot be planned, since it reads its items first: load the " +
			"entity, and pass the *Entity")
	}
	return g.predict(operation.NewDelete(g.env, sel, s.entity(), writeOptionsOf(options)))
}

// entity returns the entity, nil for none.
func (s *state) entity() *operation.Entity {
	if s == nil {
		return nil
	}
	return &s.Entity
}
