package migrate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost/forecast"
	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/migration/files"
	"github.com/itemize/itemize/internal/migration/layout"
	"github.com/itemize/itemize/internal/migration/protocol"
	"github.com/itemize/itemize/internal/migration/report"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/mapper"
)

// Client is the part of the SDK's client that a migration calls. INSERT statements need the permission
// PartiQLInsert.
type Client interface {
	mapperClient
	BatchExecuteStatement(context.Context, *dynamodb.BatchExecuteStatementInput,
		...func(*dynamodb.Options)) (*dynamodb.BatchExecuteStatementOutput, error)
	DescribeTable(context.Context, *dynamodb.DescribeTableInput,
		...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error)
	DeleteTable(context.Context, *dynamodb.DeleteTableInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteTableOutput,
		error)
}

type mapperClient = mapper.Client

// Migration moves the monoliths of one table to the collections of a model.
type Migration struct {
	client Client
	layout *layout.Layout
	mover  *protocol.Mover
	reader *read.Reader
	state  *store
	source *item.Table
	// own reports that the source is a table of the model.
	own bool
	// approximate is the number of items in the source, which DynamoDB updates from time to time.
	approximate int64
	// export has the monoliths, nil to read the source.
	export *files.Export
	options
}

// Option is an option of Open.
type Option interface{ apply(*options) }

type options struct {
	rename    func(string) string
	key, sort string
	segments  []int
	of        int
	wcu       *request.Limiter
	// reads is the rate of the scan, and writes the initial rate of wcu.
	reads, writes request.Rate
	progress      []func(Report, report.Progress)
	prices        forecast.Prices
	now           func() time.Time
	exported      Files
	ofFiles       bool
	replace       bool
	reshape       protocol.Reshape
}

type optionFunc func(*options)

func (f optionFunc) apply(o *options) { f(o) }

// Tables renames the tables of the layout, as mapper.Tables does.
func Tables(rename func(string) string) Option {
	return optionFunc(func(o *options) { o.rename = rename })
}

// Reshape sets functions that convert the program's monoliths. forth turns a monolith, with the keys of
// its table, into the attributes that attributevalue.MarshalMap would make of a value of the model.
// back turns them into the monolith again. Each gets a copy, and may be called at any time, by several
// goroutines. A monolith that does not come back unchanged, or for which a function returns an error,
// is a dead letter. Every step of the migration and [Wrap] need the same functions; the command has
// none.
func Reshape(forth, back func(map[string]types.AttributeValue) (map[string]types.AttributeValue, error)) Option {
	return optionFunc(func(o *options) { o.reshape = protocol.Reshape{Forth: forth, Back: back} })
}

// Segments divides the source into segments that are moved in parallel; the default is 8. The number is
// stored with the progress, so later runs must use the same.
func Segments(of int) Option { return optionFunc(func(o *options) { o.of = of }) }

// Segment moves only segment i of the given number, for jobs that run in parallel.
func Segment(i, of int) Option {
	return optionFunc(func(o *options) { o.segments, o.of = []int{i}, of })
}

// WriteRate limits the WCU a second: no second has more than the rate and one item.
// [Migration.SetWriteRate] changes it.
func WriteRate(wcu float64) Option {
	return optionFunc(func(o *options) { o.wcu, o.writes = request.NewLimiter(wcu), request.RateOf(wcu) })
}

// ReadRate limits the RCU a second of the scan.
func ReadRate(rcu float64) Option {
	return optionFunc(func(o *options) { o.reads = request.RateOf(rcu) })
}

// Replace lets a run delete each monolith after its collection is live and was compared with it. It
// costs the write units of the monolith once more, and the reads of both. A verification does not see
// replaced monoliths, and a rollback builds them from the items.
func Replace() Option { return optionFunc(func(o *options) { o.replace = true }) }

// OnProgress calls f with the progress, at most twice a second, and at the end. Calls do not overlap.
func OnProgress(f func(Report)) Option {
	return optionFunc(func(o *options) {
		if f != nil {
			o.progress = append(o.progress, func(r Report, _ report.Progress) { f(r) })
		}
	})
}

// Prices sets the prices of plans. The default is [forecast.DefaultPrices].
func Prices(p forecast.Prices) Option { return optionFunc(func(o *options) { o.prices = p }) }

// SetWriteRate changes the rate of a migration with [WriteRate], also while it runs. 0 pauses it.
func (m *Migration) SetWriteRate(wcu float64) error {
	if err := request.RateOf(wcu).Check(); wcu != 0 && err != nil {
		return fmt.Errorf("%s: SetWriteRate got %w", m.layout.Model, err)
	}
	if m.wcu == nil {
		return fmt.Errorf("%s: the migration has no rate to change: pass Open a WriteRate", m.layout.Model)
	}
	m.wcu.Set(wcu)
	return nil
}

const defaultSegments = 8

// Keys sets the templates of the monolith keys, such as Keys("PACKAGE#{Name}", "DOC"). Their
// placeholders must be all key fields of the model's root item. hash "" is the partition key of the
// model, and sort "" no sort key. Other items of the source are left alone. An exception: an item whose
// key begins like a template and that has all these fields is a dead letter. Without Keys, the keys are
// fields of the model.
func Keys(hash, sort string) Option {
	return optionFunc(func(o *options) { o.key, o.sort = hash, sort })
}

// throttled makes a *mapper.ThrottledError of the error of a throttled request.
func (m *Migration) throttled(err *error) {
	*err = door.Mapper.Throttled(m.layout.Model, *err)
}

// Open returns the migration of the monoliths in a table to a model. It checks the tables
// (DescribeTable): the keys of the model's tables must be those of the layout. The keys of the source
// must be made of the key fields of the root item ([Keys]), so that each entity identifies its
// monolith. The source may be a table of the model.
func Open(ctx context.Context, c Client, l *Layout, source string, opts ...Option) (_ *Migration, err error) {
	if c == nil || l == nil {
		return nil, errors.New("migrate: the client, the layout or the source is missing: pass Open all three")
	}
	m := &Migration{
		client: c, layout: l.of,
		options: options{of: defaultSegments, prices: forecast.DefaultPrices(), now: time.Now},
	}
	defer m.throttled(&err)
	for _, o := range opts {
		o.apply(&m.options)
	}
	if (m.reshape.Forth == nil) != (m.reshape.Back == nil) {
		return nil, fmt.Errorf("%s: a function of Reshape is nil: pass two, there and back", l.of.Model)
	}
	if m.of < 1 || m.of > 1_000_000 || slices.ContainsFunc(m.segments, func(i int) bool { return i < 0 || i >= m.of }) {
		return nil, fmt.Errorf("%s: segment %v of %d: write 0 to 1 less than their number", l.of.Model, m.segments,
			m.of)
	}
	if m.segments == nil {
		for i := range m.of {
			m.segments = append(m.segments, i)
		}
	}
	if err := m.reads.Check(); err != nil {
		return nil, fmt.Errorf("%s: ReadRate is %w", l.of.Model, err)
	}
	if err := m.writes.Check(); err != nil {
		return nil, fmt.Errorf("%s: WriteRate is %w", l.of.Model, err)
	}
	if err := m.tables(ctx, source); err != nil {
		return nil, err
	}
	if m.exported != nil {
		var err error
		if m.export, err = files.Open(ctx, m.exported); err != nil {
			return nil, fmt.Errorf("%s: %w", l.of.Model, err)
		}
		if t := m.export.Table; t != "" && t != source {
			return nil, fmt.Errorf("%s: the export is of the table %s, but the source is %s: pass the export of "+
				"the source",
				l.of.Model, t, source)
		}
		m.approximate = int64(m.export.Items)
	}
	m.mover.Rate, m.mover.Share, m.mover.Stale = m.wcu, len(m.segments), m.export != nil
	m.reader = &read.Reader{Client: c, Label: l.of.Model, Describe: described}
	return m, nil
}

// tables describes the tables.
func (m *Migration) tables(ctx context.Context, source string) error {
	var tables []*item.Table
	indexes := map[string][]*schema.Index{}
	for i, t := range m.layout.Tables {
		name := t.Name
		if m.rename != nil {
			name = m.rename(name)
		}
		table := &item.Table{Name: name, Hash: t.Hash, Range: t.Range, Index: i}
		var err error
		if indexes[name], err = m.tableOf(ctx, table); err != nil {
			return err
		}
		if slices.ContainsFunc(tables, func(t *item.Table) bool { return t.Name == name }) {
			return fmt.Errorf("%s: two tables of the model are %s: use a name for each (-table, migrate.Tables)",
				m.layout.Model, name)
		}
		tables = append(tables, table)
	}
	t := m.layout.Tables[0]
	if t.HashType != "S" || t.Range == "" || t.RangeType != "S" {
		return fmt.Errorf("%s: the keys of the table %s are not two strings, so that it cannot store the progress "+
			"of a migration", m.layout.Model, tables[0].Name)
	}
	m.state = &store{client: m.client, table: tables[0], source: source, model: m.layout.Model}
	from := &item.Table{Name: source, Index: -1}
	d, err := m.describe(ctx, from)
	if errors.Is(err, errNoTable) {
		var n phaseNote
		if found, readErr := m.state.read(ctx, notePhase, &n); readErr == nil && found && n.Hash != "" {
			from.Hash, from.Range, err, d = n.Hash, n.Range, nil, &types.TableDescription{} // it was contracted
		}
	}
	if err != nil {
		return err
	}
	if len(d.KeySchema) > 0 {
		from.Hash, from.Range = keysOf(d)
	}
	indexes[source] = indexesOf(d, from)
	kinds := typesOf(d)
	if len(kinds) > 0 && (m.key != "" || m.sort != "") &&
		(kinds[from.Hash] != "S" || from.Range != "" && kinds[from.Range] != "S") {
		return fmt.Errorf("%s: the keys of the table %s are not strings, but templates (-key, -sort) write strings",
			m.layout.Model, source)
	}
	m.approximate = aws.ToInt64(d.ItemCount)
	own := slices.IndexFunc(tables, func(t *item.Table) bool { return t.Name == source })
	keys, err := m.keys(from, own >= 0)
	if err != nil {
		return fmt.Errorf("%s: %w", m.layout.Model, err)
	}
	if own >= 0 {
		if k := keys.Matches(m.layout, own); k != nil {
			return fmt.Errorf("%s: the model's table %s contains the monoliths, whose sort key could be that of "+
				"%s: change the sk= of %s", m.layout.Model, source, k.Name, k.Name)
		}
	}
	m.source, m.own = from, own >= 0
	m.mover = protocol.New(m.client, m.layout, from, keys, tables)
	m.mover.Indexes, m.mover.Reshape, m.mover.Underway = indexes, m.reshape, m.underway
	m.mover.GoesBack = m.goesBack
	return nil
}

// keys returns the monolith keys, by default fields.
func (m *Migration) keys(from *item.Table, own bool) (*layout.Keys, error) {
	if m.key == "" && m.sort == "" && !own {
		return m.layout.KeyAttributes(from.Hash, from.Range)
	}
	for _, name := range []string{from.Hash, from.Range} {
		if m.layout.Claims(name) {
			return nil, fmt.Errorf("the key %s of the table %s is a field of the model, so that it needs no "+
				"template: leave -key and -sort out, or rename the field (dynamodbav)", name, from.Name)
		}
	}
	switch {
	case m.sort == "" && from.Range != "":
		return nil, fmt.Errorf("the table %s has the sort key %s: write its template for monoliths, such as -sort "+
			"DOC, "+
			"and -key if their partition keys differ from the model's (migrate.Keys)", from.Name, from.Range)
	case m.sort != "" && from.Range == "":
		return nil, fmt.Errorf("the table %s has no sort key: leave -sort out (migrate.Keys)", from.Name)
	}
	return m.layout.KeyTemplates(m.key, m.sort)
}

func (m *Migration) describe(ctx context.Context, t *item.Table) (*types.TableDescription, error) {
	// do not wait minutes for a wrong endpoint
	few := func(o *dynamodb.Options) { o.RetryMaxAttempts = min(o.RetryMaxAttempts, 3) }
	out, err := m.client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &t.Name}, few)
	if errors.As(err, new(*types.ResourceNotFoundException)) {
		return nil, fmt.Errorf("%s: %w %s in this account and region: check the name of the source; "+
			"-table NAME=REAL (migrate.Tables) renames tables of the model",
			m.layout.Model, errNoTable, t.Name)
	}
	if err != nil {
		return nil, request.Explain(ctx, m.client, m.layout.Model, []*item.Table{t}, err)
	}
	return out.Table, nil
}

var errNoTable = errors.New("missing table")

// hasEnded reports whether the source was deleted, or is being deleted.
func (m *Migration) hasEnded(ctx context.Context) (bool, error) {
	d, err := m.describe(ctx, m.source)
	if errors.Is(err, errNoTable) {
		return true, nil
	}
	return err == nil && d.TableStatus == types.TableStatusDeleting, err
}

// typesOf returns the types of a table's key attributes: S, N or B.
func typesOf(d *types.TableDescription) map[string]types.ScalarAttributeType {
	out := map[string]types.ScalarAttributeType{}
	for _, a := range d.AttributeDefinitions {
		out[aws.ToString(a.AttributeName)] = a.AttributeType
	}
	return out
}

func keysOf(d *types.TableDescription) (hash, sort string) {
	for _, k := range d.KeySchema {
		if k.KeyType == types.KeyTypeHash {
			hash = aws.ToString(k.AttributeName)
		} else {
			sort = aws.ToString(k.AttributeName)
		}
	}
	return hash, sort
}

// described makes images of items that belong to no model.
func described(t *item.Table, all []item.Attributes) ([]item.Image, error) {
	images := make([]item.Image, len(all))
	for i, a := range all {
		images[i] = imageOf(t, a)
	}
	return images, nil
}

// whole refuses a step for some segments if it must cover all.
func (m *Migration) whole(step string) error {
	if len(m.segments) == m.of {
		return nil
	}
	return fmt.Errorf("%s: %s works on all segments: leave Segment (-segment) out", m.layout.Model, step)
}

// scan reads the segments of a table in parallel, page by page, until each returns an error. It returns
// the consumed units.
func (m *Migration) scan(ctx context.Context, table *item.Table, strong bool,
	each func(ctx context.Context, p read.Page) error,
) (read.Usage, error) {
	var mu sync.Mutex
	var sum read.Usage
	err := request.AtOnce(ctx, len(m.segments), func(ctx context.Context, i int) error {
		var failed error
		var u read.Usage
		at := read.Segment{Table: table, Number: m.segments[i], Of: m.of, Strong: strong, Rate: m.pace()}
		err := m.reader.Scan(ctx, at, &u, func(p read.Page) bool {
			failed = each(ctx, p)
			return failed == nil
		})
		mu.Lock()
		defer mu.Unlock()
		sum.Join(&u)
		return errors.Join(failed, err)
	})
	return sum, err
}

// monoliths returns the monoliths among the items of a page.
func (m *Migration) monoliths(p read.Page) []*protocol.Monolith {
	all := make([]*protocol.Monolith, 0, len(p.Items))
	for i := range p.Items {
		if f := &p.Items[i]; m.isMonolith(f) {
			all = append(all, m.monolithOf(f))
		}
	}
	return all
}

// isMonolith reports whether an item of the source is a monolith. It is also true for an item whose key
// begins like the template, which is a dead letter.
func (m *Migration) isMonolith(f *item.Image) bool {
	switch {
	case m.state.has(f.Place):
		return false
	case m.mover.Keys.Has(f.PK, f.SK):
		return true
	}
	own := slices.IndexFunc(m.mover.Tables, func(t *item.Table) bool { return m.own && t.Name == m.source.Name })
	return m.mover.Keys.Suspect(f.PK, f.SK, f.Attributes()) && (own < 0 || m.layout.Match(own, f.SK) == nil)
}

// pace returns the read limiter of one segment.
func (m *Migration) pace() *request.Limiter { return m.reads.Limiter(len(m.segments)) }
