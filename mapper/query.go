package mapper

import (
	"context"
	"iter"
	"unsafe"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/read/search"
	"github.com/itemize/itemize/internal/read/selection"
	"github.com/itemize/itemize/query"
)

// Entities runs a query of entities, and yields them as Load would return them, so that they can be
// saved. If the query reads a part of an entity, the entity is loaded in part: Loaded reports which
// fields were read, and a save refuses changes of other fields with a *NotLoadedError. This is so for
// queries of an index without Fetch, queries with Roots, and queries with Project. An error ends the
// query.
//
// An index lags behind its table. A save of an entity that changed since is a *ConflictError.
func (m *Mapper[T]) Entities(ctx context.Context, q *query.Query[T, T], options ...ReadOption,
) iter.Seq2[*Entity[T], error] {
	return func(yield func(*Entity[T], error) bool) {
		if q == nil {
			yield(nil, m.get().model.Errorf("the query of Entities is nil: pass one"))
			return
		}
		for hit, err := range door.Query.Entities(unsafe.Pointer(q)).Hits(ctx, m.get(), options) {
			var e *Entity[T]
			if err == nil {
				e = &Entity[T]{Value: *hit.Value.(*T)}
				e.set(m.get().newState(hit.Snapshot))
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// The methods that package query calls.

// Run yields the hits of a request.
func (g *engine) Run(ctx context.Context, r search.Request, u *read.Usage) iter.Seq2[search.Hit, error] {
	return func(yield func(search.Hit, error) bool) {
		ctx, end := g.observe(ctx, "Query")
		x, err := g.search.New(r, u)
		defer func() { end(draftOf(u), err) }()
		if err == nil {
			if err = x.Hits(ctx, func(h search.Hit) bool { return yield(h, nil) }); err == nil {
				g.env.Estimate.Answers.Observe(x, r, x.Answers(), u.Requests, u.Consumed)
			}
		}
		if err != nil {
			err = g.public(err)
			yield(search.Hit{}, err)
		}
	}
}

// Page returns the hits of one page, and the cursor after them.
func (g *engine) Page(ctx context.Context, r search.Request, u *read.Usage) ([]search.Hit, string, error) {
	ctx, end := g.observe(ctx, "Query")
	hits, next, err := g.page(ctx, r, u)
	if err != nil {
		err = g.public(err)
	}
	end(draftOf(u), err)
	return hits, next, err
}

func (g *engine) page(ctx context.Context, r search.Request, u *read.Usage) ([]search.Hit, string, error) {
	x, err := g.search.New(r, u)
	if err != nil {
		return nil, "", err
	}
	if err := x.Paged("Page"); err != nil {
		return nil, "", err
	}
	hits, next, err := x.Page(ctx)
	if err == nil {
		g.env.Estimate.Answers.Observe(x, r, x.Answers(), u.Requests, u.Consumed)
	}
	return hits, next, err
}

// Input returns the first request of a search.
func (g *engine) Input(r search.Request) (*dynamodb.QueryInput, error) {
	x, err := g.search.New(r, &read.Usage{})
	if err != nil {
		return nil, g.public(err)
	}
	if err := x.Single("Input"); err != nil {
		return nil, err
	}
	if x.Parts()[0].Range.Kind == selection.None {
		return nil, model.Usagef("the range ends before it begins: exchange its bounds")
	}
	return g.reader.Input(x.Parts()[0], x.Options()), nil
}

// PlanQuery returns the requests of a query and their units.
func (g *engine) PlanQuery(r search.Request) (requests, rcu cost.Units, err error) {
	x, err := g.search.New(r, &read.Usage{})
	if err != nil {
		return requests, rcu, g.public(err)
	}
	requests, rcu = g.env.Estimate.Query(x, r)
	return requests, rcu, nil
}

// Search returns the search for a request.
func (g *engine) Search(r search.Request, u *read.Usage) (*search.Search, error) {
	x, err := g.search.New(r, u)
	if err != nil {
		return nil, g.public(err)
	}
	return x, nil
}

// Begin starts the observers of a query.
func (g *engine) Begin(ctx context.Context) (context.Context, func(*read.Usage, error)) {
	ctx, end := g.observe(ctx, "Query")
	return ctx, func(u *read.Usage, err error) { end(draftOf(u), err) }
}

// Deliver writes the receipt of a read.
func (g *engine) Deliver(s search.Settings, u *read.Usage) { deliver(s, draftOf(u)) }
