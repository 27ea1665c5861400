package mapper

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/itemize/itemize/internal/change"
	"github.com/itemize/itemize/internal/codec"
	"github.com/itemize/itemize/internal/item"
	"github.com/itemize/itemize/internal/key"
	"github.com/itemize/itemize/internal/large"
	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/schema"
	"github.com/itemize/itemize/internal/search"
	"github.com/itemize/itemize/internal/selection"
	"github.com/itemize/itemize/internal/snapshot"
	"github.com/itemize/itemize/internal/staging"
	"github.com/itemize/itemize/internal/write"
)

// engine is what a mapper works with, whatever its model: it walks the packages that do
// the work (docs/architecture.md).
type engine struct {
	client    Client
	model     *model.Model
	search    *search.Engine
	protocol  *staging.Protocol
	reader    *read.Reader
	sender    *write.Sender
	observers []Observer
	typical   *typical
	indexes   indexes
	cache     *Cache         // nil for none
	outside   *large.Writer  // of values outside of their items, nil for a model without
	fetcher   *large.Fetcher // nil for a model without
	cacheName string         // what the names of its values begin with
	// ended is called at the end of each call, with what it took.
	ended func(*tally, error)
}

// state is what is known of an entity: the snapshot of what was read, and the writes whose
// outcome is not known.
type state struct {
	*snapshot.Snapshot
	engine *engine
	doubts change.Doubts
	// beside are transactions with patches, or raw items, of which it is not known whether they were
	// applied.
	beside []*beside
	// notStored reports that it was made of items that the caller has.
	notStored bool
}

func newEngine(client Client, e *schema.Entity, c codec.Model, options []Option) (*engine, error) {
	if client == nil {
		return nil, fmt.Errorf("%s: the client is nil: pass dynamodb.NewFromConfig(cfg), or a client of your own", e.Label())
	}
	var s settings
	for _, o := range options {
		if o != nil {
			o.apply(&s)
		}
	}
	tables, err := tableNames(e, &s)
	if err != nil {
		return nil, err
	}
	cursorKey := s.cursorKey
	if cursorKey == nil {
		cursorKey = []byte(rand.Text()) // of this mapper alone
	} else if len(cursorKey) < minCursorKey {
		return nil, fmt.Errorf("%s: the CursorKey has %d bytes: give it %d random ones or more", e.Label(), len(cursorKey), minCursorKey)
	}
	m := model.New(e, c, tables)
	if m.Times, err = timesOf(e, s.times, m.Now()); err != nil {
		return nil, err
	}
	typical, err := typicalOf(m, s.typical)
	if err != nil {
		return nil, err
	}
	codec := s.wire(client)
	reader := &read.Reader{
		Client: client, Label: m.Label(), TableOf: m.TableOf, Describe: m.Describe,
		Wire: codec, DescribeWire: m.DescribeWire,
	}
	sender := &write.Sender{Client: client, Now: m.Time, Single: s.sendsOnce, Wire: codec}
	protocol := &staging.Protocol{Reader: reader, Sender: sender, Now: m.Time, Describe: m.Image}
	g := &engine{
		client: client, model: m, reader: reader, sender: sender, protocol: protocol, observers: s.observers, typical: typical,
		search: &search.Engine{Model: m, Source: reader, Reader: reader, Protocol: protocol, CursorKey: cursorKey},
	}
	if err := g.largeValues(&s); err != nil {
		return nil, err
	}
	if err := g.caches(s.cache); err != nil {
		return nil, err
	}
	g.ended = func(t *tally, _ error) {
		g.typical.wrote(t.Items)
		g.indexes.saw(t.Indexes, t.Predicted)
	}
	return g, nil
}

// minCursorKey is the least size of a key that signs cursors, in bytes.
const minCursorKey = 16

// anyTime stands for any time in the names of tables.
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
				return nil, fmt.Errorf("%s: the table name %q has no %s, and the tables of the model follow that time: name them with it, as in %q", e.Label(), name, p.Placeholder, t.Name)
			}
			period, _ := p.Of(key.OfTime(anyTime))
			shown = p.Named(name, period)
		}
		if !isTableName(shown) {
			return nil, fmt.Errorf("%s: %q cannot be the name of a table: DynamoDB takes 3 to 255 letters, digits, '_', '-' and '.', or an ARN", e.Label(), name)
		}
		if slices.Contains(names, name) {
			return nil, fmt.Errorf("%s: two of its tables are named %q: give each a name of its own with mapper.Tables", e.Label(), name)
		}
		names = append(names, name)
	}
	return names, nil
}

func isTableName(name string) bool {
	if strings.HasPrefix(name, "arn:") {
		return true
	}
	return len(name) >= 3 && len(name) <= 255 && !strings.ContainsFunc(name, schema.NotInTableName)
}

// entity returns the entity of a selection as the protocol of staged writes needs it.
func (g *engine) entity(sel selection.Selection) (*staging.Entity, error) {
	return search.EntityOf(g.model, sel)
}

// readRoot reads the root of a selection's entity strongly, nil for none.
func (g *engine) readRoot(ctx context.Context, sel selection.Selection, t *tally) (*item.Image, error) {
	e, err := g.entity(sel)
	if err != nil {
		return nil, err
	}
	return g.protocol.ReadRoot(ctx, e, &t.Tally)
}

// absent is the error of a load of an entity whose table is not there.
func (g *engine) absent(sel selection.Selection) error {
	e, err := g.entity(sel)
	if err != nil {
		return g.public(err)
	}
	return g.public(&search.NotFound{Name: e.Name(), Root: e.Root})
}

// isIndex reports whether a selection is what lies in a secondary index.
func isIndex(sel selection.Selection) bool { return len(sel.Parts) > 0 && sel.Parts[0].In != nil }

// load reads a selection into v, a pointer to a zero model.
func (g *engine) load(ctx context.Context, sel selection.Selection, v any, strong bool, t *tally) (*state, error) {
	switch {
	case sel.Err != nil:
		return nil, g.public(sel.Err)
	case isIndex(sel):
		return nil, g.model.Errorf("the selection is what lies in an index, and no entity: run a query (query.Of, or generated code), and load what it finds by its key")
	case !sel.Entity:
		return nil, g.model.Errorf("the key selects several entities: give all of %s to load one, or run a query", g.model.IdentityNames())
	}
	o := read.Options{Strong: strong}
	if g.caching(sel, strong) {
		return g.loadCached(ctx, sel, v, t)
	}
	if len(sel.Elsewhere) > 0 {
		return g.loadWhere(ctx, sel, v, o, t)
	}
	s, err := g.search.Load(ctx, sel, v, o, &t.Tally)
	if err != nil {
		return nil, g.public(err)
	}
	g.typical.sawAll(s)
	return &state{Snapshot: s, engine: g}, nil
}
