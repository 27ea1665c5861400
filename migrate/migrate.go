package migrate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/explain"
	"github.com/itemize/itemize/internal/item"
	"github.com/itemize/itemize/internal/moving"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/retry"
	"github.com/itemize/itemize/mapper"
)

// Client is what a migration needs of DynamoDB: the SDK's client fits. INSERT statements need the permission
// PartiQLInsert.
type Client interface {
	mapper.Client
	BatchExecuteStatement(context.Context, *dynamodb.BatchExecuteStatementInput, ...func(*dynamodb.Options)) (*dynamodb.BatchExecuteStatementOutput, error)
	DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error)
	DeleteTable(context.Context, *dynamodb.DeleteTableInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteTableOutput, error)
}

// Migration is the way of the monoliths of one table into the collections of a model.
type Migration struct {
	client Client
	layout *Layout
	mover  *moving.Mover
	reader *read.Reader
	state  *store
	source *item.Table
	// approximate is how many items the source has, as DynamoDB tells from time to time.
	approximate int64
	options
}

// Option is an option of New.
type Option interface{ apply(*options) }

type options struct {
	rename   func(string) string
	segments []int
	of       int
	wcu      *moving.Rate
	rcu      float64
	progress func(Progress)
	prices   cost.Prices
	now      func() time.Time
}

type optionFunc func(*options)

func (f optionFunc) apply(o *options) { f(o) }

// Tables renames the tables of the layout, as mapper.Tables does.
func Tables(rename func(string) string) Option {
	return optionFunc(func(o *options) { o.rename = rename })
}

// Segments cuts the source into so many segments, which are moved at once; 8 without it. The number is kept with the
// checkpoints: a migration that goes on does so with the same.
func Segments(of int) Option { return optionFunc(func(o *options) { o.of = of }) }

// Segment moves one segment of so many alone: for jobs that run beside each other.
func Segment(i, of int) Option {
	return optionFunc(func(o *options) { o.segments, o.of = []int{i}, of })
}

// WriteRate bounds the WCU a second: no second passes more than the rate and one item. The rate can be changed while the
// migration runs ([Rate.Set]).
func WriteRate(r *Rate) Option {
	return optionFunc(func(o *options) {
		if r != nil {
			o.wcu = r.rate
		}
	})
}

// ReadRate bounds the RCU a second of the scan.
func ReadRate(rcu float64) Option { return optionFunc(func(o *options) { o.rcu = rcu }) }

// OnProgress is told of the progress, twice a second at most, and at the end.
func OnProgress(f func(Progress)) Option { return optionFunc(func(o *options) { o.progress = f }) }

// Prices are those of plans; [cost.DefaultPrices] without it.
func Prices(p cost.Prices) Option { return optionFunc(func(o *options) { o.prices = p }) }

// Rate bounds write units a second.
type Rate struct{ rate *moving.Rate }

// NewRate returns a rate of so many WCU a second.
func NewRate(wcu float64) *Rate { return &Rate{moving.NewRate(wcu)} }

// Set changes the rate of whatever runs with it, at once; 0 pauses it.
func (r *Rate) Set(wcu float64) { r.rate.Set(wcu) }

const defaultSegments = 8

// New returns the migration of the monoliths of a table to a model. It looks at the tables (DescribeTable): their keys are the
// layout's, and those of the source are fields that stand in the model's keys, so that each entity
// tells where its monolith lies.
func New(ctx context.Context, c Client, l *Layout, source string, opts ...Option) (*Migration, error) {
	if c == nil || l == nil {
		return nil, errors.New("migrate: New takes a client, a layout and the name of the source")
	}
	m := &Migration{client: c, layout: l, options: options{of: defaultSegments, prices: cost.DefaultPrices(), now: time.Now}}
	for _, o := range opts {
		o.apply(&m.options)
	}
	if m.of < 1 || m.of > 1_000_000 || slices.ContainsFunc(m.segments, func(i int) bool { return i < 0 || i >= m.of }) {
		return nil, fmt.Errorf("%s: segment %v of %d: give 0 to 1 less than their number", l.Model, m.segments, m.of)
	}
	if m.segments == nil {
		for i := range m.of {
			m.segments = append(m.segments, i)
		}
	}
	if m.rcu < 0 {
		return nil, fmt.Errorf("%s: ReadRate is %v RCU a second: give more than 0, or leave it out", l.Model, m.rcu)
	}
	if err := m.tables(ctx, source); err != nil {
		return nil, err
	}
	m.mover.Rate = m.wcu
	m.reader = &read.Reader{Client: c, Label: l.Model, Describe: described}
	m.state = &store{client: c, table: m.mover.Tables[0], source: source, model: l.Model}
	return m, nil
}

// tables looks at the tables.
func (m *Migration) tables(ctx context.Context, source string) error {
	var tables []*item.Table
	for i, t := range m.layout.Tables {
		name := t.Name
		if m.rename != nil {
			name = m.rename(name)
		}
		table := &item.Table{Name: name, Hash: t.Hash, Range: t.Range, Index: i}
		d, err := m.describe(ctx, table)
		if err != nil {
			return err
		}
		if hash, sort := keysOf(d); hash != t.Hash || sort != t.Range {
			return fmt.Errorf("%s: the table %s has the keys %s and %s, and the layout %s and %s", m.layout.Model, name, hash, cmp.Or(sort, "none"), t.Hash, cmp.Or(t.Range, "none"))
		}
		tables = append(tables, table)
	}
	t := m.layout.Tables[0]
	if t.HashType != "S" || t.Range == "" || t.RangeType != "S" {
		return fmt.Errorf("%s: the keys of the table %s are not two strings, and the progress of a migration is kept there", m.layout.Model, tables[0].Name)
	}
	from := &item.Table{Name: source, Index: -1}
	d, err := m.describe(ctx, from)
	if err != nil {
		return err
	}
	from.Hash, from.Range = keysOf(d)
	m.approximate = aws.ToInt64(d.ItemCount)
	for _, t := range tables {
		if t.Name == source {
			return fmt.Errorf("%s: %s is the table of the monoliths and one of the model's: a migration within a table is not supported yet; give the model a table of its own (table=, -table)", m.layout.Model, source)
		}
	}
	if err := m.identified(from); err != nil {
		return err
	}
	m.source = from
	m.mover = moving.New(m.client, m.layout.Layout, from, tables)
	return nil
}

// identified requires that an entity has one monolith and the other way round: what stands in the keys of the root are
// the keys of the source.
func (m *Migration) identified(from *item.Table) error {
	names, tells := m.layout.Identities()
	keys := []string{from.Hash}
	if from.Range != "" {
		keys = append(keys, from.Range)
	}
	for _, name := range keys {
		if !tells[name] {
			return fmt.Errorf("%s: the key %s of the table %s is no field that stands in the keys of the model's root, so that nobody could tell where the monolith of an entity lies: name it in them, or rename the field (dynamodbav)", m.layout.Model, name, from.Name)
		}
	}
	for _, name := range names {
		if !slices.Contains(keys, name) {
			return fmt.Errorf("%s: the field %s stands in the keys of the model's root, and in none of the table %s, so that two entities could have one monolith: take it out of the keys", m.layout.Model, name, from.Name)
		}
	}
	return nil
}

func (m *Migration) describe(ctx context.Context, t *item.Table) (*types.TableDescription, error) {
	out, err := m.client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &t.Name})
	if err != nil {
		return nil, explain.Error(ctx, m.client, m.layout.Model, []*item.Table{t}, err)
	}
	return out.Table, nil
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

// described makes images of items that are no model's.
func described(t *item.Table, all []item.Attributes) ([]item.Image, error) {
	images := make([]item.Image, len(all))
	for i, a := range all {
		images[i] = imageOf(t, a)
	}
	return images, nil
}

// whole refuses what has to be about all segments.
func (m *Migration) whole(step string) error {
	if len(m.segments) == m.of {
		return nil
	}
	return fmt.Errorf("%s: %s is of all segments: leave Segment (-segment) out", m.layout.Model, step)
}

// scan reads the segments of a table at once, page by page, until each returns an error. It returns what that took.
func (m *Migration) scan(ctx context.Context, table *item.Table, strong bool, each func(ctx context.Context, p read.Page) error) (read.Usage, error) {
	var mu sync.Mutex
	var sum read.Usage
	err := retry.AtOnce(ctx, len(m.segments), func(ctx context.Context, i int) error {
		var failed error
		var u read.Usage
		at := read.Segment{Table: table, Number: m.segments[i], Of: m.of, Strong: strong, Pace: m.pace()}
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

// pace is that of one segment's reads.
func (m *Migration) pace() *read.Pace { return read.NewPace(m.rcu / float64(len(m.segments))) }
