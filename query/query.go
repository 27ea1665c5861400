package query

import (
	"context"
	"errors"
	"iter"
	"reflect"
	"slices"
	"unsafe"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/field"
	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/codec"
	"github.com/itemize/itemize/internal/model/expr"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/read/search"
	"github.com/itemize/itemize/internal/read/selection"
)

// Query is a typed query over the elements of type E in a selection of the model T. Its methods do not change
// it, but return a new one. It is not a selection, because items that a limit or filter skips would look
// deleted to a save.
type Query[T, E any] struct{ is definition }

// definition is a query without its types. The methods of Query only add types, because the compiler compiles
// each method of a generic type for each type of elements. A method of the value is compiled for the pointer
// too, and a promoted method again. So the generic types of this package have methods of the pointer, and Query
// embeds nothing. The directive go:noinline is explained at the handle of package field.
type definition struct {
	spec selection.Selection
	// elem is the type of the elements.
	elem       reflect.Type
	reverse    bool
	limit      int
	after      Cursor
	filter     []expr.Condition
	projection []search.Projected
	err        error
	// fetch reads attributes that an index does not project from the table.
	fetch bool
	// roots requests root items only.
	roots bool
	// entities requests the snapshots of entities.
	entities bool
	// make allocates n elements; nil for none.
	make func(n int) []any
}

// Of returns the query over the elements of type E in a selection. These are the elements of all slice
// and map fields with that element type, or the entities of a flat model. If the selection can contain
// items of other types, the query is refused when it runs, because it would read and pay for them.
func Of[E, T any](s Selection[T]) *Query[T, E] {
	return &Query[T, E]{definition{spec: specOf(s), elem: reflect.TypeFor[E]()}}
}

// Query returns the query itself. Generated types have this method too, so that it can be called on any query.
func (q *Query[T, E]) Query() *Query[T, E] { return q }

// Reverse returns the query in descending order of the sort keys.
//
//go:noinline
func (q *Query[T, E]) Reverse() *Query[T, E] { return &Query[T, E]{q.is.reversed()} }

func (d definition) reversed() definition {
	d.reverse = !d.reverse
	return d
}

// Limit returns the query of the first n elements. For Page it is the size of a page. 0 is no limit.
//
//go:noinline
func (q *Query[T, E]) Limit(n int) *Query[T, E] { return &Query[T, E]{q.is.limited(n)} }

func (d definition) limited(n int) definition {
	if n < 0 {
		d.err = model.Usagef("the limit %d of a query: use 1 or more, or 0 for no limit", n)
	}
	d.limit = n
	return d
}

// After returns the query that continues after a page, at its Next. After("") starts at the beginning.
//
//go:noinline
func (q *Query[T, E]) After(c Cursor) *Query[T, E] { return &Query[T, E]{q.is.from(c)} }

func (d definition) from(c Cursor) definition {
	d.after = c
	return d
}

// Filter returns the query of the elements that meet all conditions. DynamoDB also charges for items
// that the filter excludes. A second filter narrows the first.
//
//go:noinline
func (q *Query[T, E]) Filter(conditions ...field.Condition[E]) *Query[T, E] {
	all := door.Field.Conditions(unsafe.Pointer(unsafe.SliceData(conditions)), len(conditions))
	return &Query[T, E]{q.is.filtered(all)}
}

func (d definition) filtered(conditions []expr.Condition) definition {
	d.filter = slices.Concat(d.filter, conditions)
	for _, c := range conditions {
		d.err = errors.Join(d.err, c.Err)
	}
	return d
}

// Project returns the query that reads only these fields. Other fields are zero, except key fields.
// Projecting saves transfer, but no read units.
//
//go:noinline
func (q *Query[T, E]) Project(fields ...field.Of[E]) *Query[T, E] {
	rows := make([]*codec.Row, len(fields))
	for i, f := range fields {
		if !isNil(f) {
			row := door.Field.Row(f)
			rows[i] = &row
		}
	}
	return &Query[T, E]{q.is.projected(rows)}
}

func (d definition) projected(rows []*codec.Row) definition {
	d.projection = []search.Projected{}
	for _, row := range rows {
		if row == nil {
			d.err = errors.Join(d.err, model.Usagef("the handle of a field passed to Project is nil: use the handles "+
				"of generated code"))
			continue
		}
		d.projection = append(d.projection, search.Projected{Field: row.Name, Attribute: row.Attribute()})
	}
	return d
}

// Fetch returns the query of an index that also reads the table. If an entity has several items, it loads
// each entity that the index finds, in at least one request each. Otherwise it reads the attributes that
// the index lacks in batches, at 0.5 RCU for each 4 KB of an item, rounded up. Items whose index key has
// changed since are left out. Without Fetch, a query returns the attributes that the index has, and other
// fields are zero.
//
//go:noinline
func (q *Query[T, E]) Fetch() *Query[T, E] { return &Query[T, E]{q.is.fetched()} }

func (d definition) fetched() definition {
	d.fetch = true
	return d
}

// Roots returns the query of the root items of a flat model's entities: each entity with only the
// fields of its root item. It reads only the range in which root items are. If no other items are
// between them, it costs no more than the root items. Order, limit, filter and projection stay. Other
// queries fail when they run.
//
//go:noinline
func (q *Query[T, E]) Roots() *Query[T, E] { return &Query[T, E]{q.is.ofRoots()} }

func (d definition) ofRoots() definition {
	d.roots = true
	return d
}

func (d definition) ofEntities() *definition {
	d.entities = true
	return &d
}

// run is a query that is ready to run.
type run struct {
	search.Runner
	request  search.Request
	settings search.Settings
	usage    read.Usage
}

// on prepares the query to run on a mapper.
func (d *definition) on(runner search.Runner, options []ReadOption) (*run, error) {
	if d.err != nil {
		return nil, errors.Join(d.err, d.spec.Err)
	}
	if runner == nil {
		return nil, errNothing
	}
	if d.elem == nil {
		return nil, errEmpty
	}
	x := &run{Runner: runner}
	for _, o := range options {
		if o != nil {
			search.Apply(o, &x.settings)
		}
	}
	if x.settings.Tag != nil {
		return nil, errTag
	}
	if x.settings.Root {
		return nil, errRoot
	}
	x.request = search.Request{
		Selection: d.spec, Elem: d.elem, Roots: d.roots, Strong: x.settings.Strong, Reverse: d.reverse, Limit: d.limit,
		Entities: d.entities, Make: d.make, Filter: d.filter, Projection: d.projection, After: string(d.after),
		Fetch:   d.fetch,
		Scatter: x.settings.Scatter, SkipMissing: x.settings.SkipMissing,
	}
	return x, nil
}

var errTag = model.Usagef("a query does not compare a tag: Load the entity with IfTag")

var errRoot = model.Usagef("a query does not read the root item: Load the selection with RequireRoot")

var errEmpty = model.Usagef("the query is empty: make one with generated code, or with query.Of")

var errNothing = model.Usagef("the query has no mapper: pass the model's *mapper.Mapper")

// end delivers the receipt.
func (x *run) end() { x.Deliver(x.settings, &x.usage) }

// All yields the elements in the order of their sort keys, and reads page by page. An error ends it. If
// the entity is inserted or deleted between two pages, the result is an error, and the elements before
// it may be a part of the entity.
//
//go:noinline
func (q *Query[T, E]) All(ctx context.Context, src Source[T], options ...ReadOption) iter.Seq2[E, error] {
	hits := q.is.hits(ctx, runnerOf(src), options)
	return func(yield func(E, error) bool) {
		hits(func(hit search.Hit, err error) bool {
			var e E
			if err == nil {
				e = *hit.Value.(*E)
			}
			return yield(e, err)
		})
	}
}

// hits runs the query. An error ends it.
//
//go:noinline
func (d *definition) hits(ctx context.Context, runner search.Runner, options []ReadOption) iter.Seq2[search.Hit,
	error,
] {
	return func(yield func(search.Hit, error) bool) {
		x, err := d.on(runner, options)
		if err != nil {
			yield(search.Hit{}, err)
			return
		}
		x.hits(ctx, yield)
	}
}

func (x *run) hits(ctx context.Context, yield func(search.Hit, error) bool) {
	defer x.end()
	for hit, err := range x.Run(ctx, x.request, &x.usage) {
		if !yield(hit, err) || err != nil {
			return
		}
	}
}

// Collect returns all elements in the order of their sort keys.
//
//go:noinline
func (q *Query[T, E]) Collect(ctx context.Context, src Source[T], options ...ReadOption) ([]E, error) {
	var all []E
	n := 0 // number of hits; the rest of the slice is free
	d := q.is
	d.make = func(room int) []any {
		if all == nil {
			all = make([]E, room)
		} else {
			all = slices.Grow(all[:n], room)[:n+room]
			clear(all[n:])
		}
		made := make([]any, room)
		for i := range made {
			made[i] = &all[n+i]
		}
		return made
	}
	for hit, err := range d.hits(ctx, runnerOf(src), options) {
		if err != nil {
			return nil, err
		}
		if e := hit.Value.(*E); n == len(all) || e != &all[n] {
			all = append(all[:n], *e)
		}
		n++
	}
	if n == 0 {
		return nil, nil
	}
	if cap(all) > 2*n+8 { // few of the items were hits
		return slices.Clone(all[:n]), nil
	}
	return all[:n], nil
}

// Ref is an element with its keys.
type Ref[E any] struct {
	Value E
	// Field is the field of the model, "" for an entity of a flat model.
	Field string
	// Table, Partition and Sort are its keys, as text.
	Table, Partition, Sort string
	// Placeholders are the values in its keys, in the types of their fields. Their names are those of
	// the element's fields, "key" for the key of a map, "." for a scalar element, and key fields of the
	// model with a "^" in front. For an entity of a flat model they are the names of its fields.
	Placeholders map[string]any
}

// Refs is All with the field and keys of each element.
//
//go:noinline
func (q *Query[T, E]) Refs(ctx context.Context, src Source[T], options ...ReadOption) iter.Seq2[Ref[E], error] {
	hits := q.is.hits(ctx, runnerOf(src), options)
	return func(yield func(Ref[E], error) bool) {
		hits(func(hit search.Hit, err error) bool {
			var ref Ref[E]
			if err == nil {
				ref, err = refOf[E](hit)
			}
			return yield(ref, err) && err == nil
		})
	}
}

// Count returns the number of elements. It reads only their keys, which costs the same read units as
// the whole elements.
//
//go:noinline
func (q *Query[T, E]) Count(ctx context.Context, src Source[T], options ...ReadOption) (int, error) {
	return q.is.count(ctx, runnerOf(src), options)
}

func (d *definition) count(ctx context.Context, runner search.Runner, options []ReadOption) (n int, err error) {
	x, err := d.on(runner, options)
	if err != nil {
		return 0, err
	}
	x.request.KeysOnly = true
	x.hits(ctx, func(_ search.Hit, failed error) bool {
		n, err = n+1, failed
		return true
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// Plan has the requests of a query and their predicted cost: of the first answer of DynamoDB, and of
// the reads of the table that follow it, for a query of an index with Fetch, or of elements.
//
// The bounds hold whatever is stored. The expected numbers are averages of recent queries of the same
// form by this mapper. Before the first one, they are those of one item, or of Limit items, of the
// sizes that the mapper has seen.
type Plan struct {
	// Requests is the number of requests.
	Requests cost.Units `json:"requests"`
	// RCU are the read capacity units.
	RCU cost.Units `json:"rcu"`
}

// String returns the expected numbers, with their bounds: "1 request, 0.5 RCU (up to 128.5 if the
// range has more items)".
func (p Plan) String() string {
	name := "requests"
	if p.Requests == cost.Exactly(1) {
		name = "request"
	}
	return p.Requests.String() + " " + name + ", " + p.RCU.String() + " RCU"
}

// Plan returns the requests of the query's first answer and their predicted cost. It does no I/O.
//
//go:noinline
func (q *Query[T, E]) Plan(src Source[T], options ...ReadOption) (*Plan, error) {
	return q.is.plan(runnerOf(src), options)
}

func (d *definition) plan(runner search.Runner, options []ReadOption) (*Plan, error) {
	x, err := d.on(runner, options)
	if err != nil {
		return nil, err
	}
	requests, rcu, err := x.PlanQuery(x.request)
	if err != nil {
		return nil, err
	}
	return &Plan{requests, rcu}, nil
}

// Input returns the first request of the query, to look at or to send yourself. It does no I/O.
//
//go:noinline
func (q *Query[T, E]) Input(src Source[T], options ...ReadOption) (*dynamodb.QueryInput, error) {
	return q.is.input(runnerOf(src), options)
}

func (d *definition) input(runner search.Runner, options []ReadOption) (*dynamodb.QueryInput, error) {
	x, err := d.on(runner, options)
	if err != nil {
		return nil, err
	}
	return x.Runner.Input(x.request)
}

// refOf returns a hit with its keys.
func refOf[E any](hit search.Hit) (Ref[E], error) {
	at := hit.At
	ref := Ref[E]{
		Value: *hit.Value.(*E), Field: hit.Field(), Table: at.Table.Name, Partition: at.PK.Plain(),
		Sort: at.Sort(),
	}
	var err error
	ref.Placeholders, err = hit.Placeholders()
	return ref, err
}
