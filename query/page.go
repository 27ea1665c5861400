package query

import (
	"context"

	"github.com/itemize/itemize/internal/search"
)

// Cursor is the place behind a page, where the next one continues. It is signed by the mapper, and holds
// for the query, with its order, filter and projection, and the partition that it came
// from. "" is the beginning, and the end.
type Cursor string

// ErrCursor says that a cursor is not one of this query, partition and mapper, or was
// changed.
var ErrCursor = search.ErrCursor

// Page is a part of a query's result.
type Page[E any] struct {
	Items []E `json:"items"` // [] in JSON where there are none
	// Next is where the next page begins, "" at the end. The last page
	// may have a Next too, and the page behind it is empty.
	Next Cursor `json:"next,omitempty"`
	// RCU is the consumed capacity of the page.
	RCU float64 `json:"rcu"`
}

// Page returns the next elements: as many as Limit says, or without one those of one
// answer of DynamoDB (up to 1 MB). A page of a filtered query may be empty and have a
// Next. The error is ErrCursor where After got a cursor that is not this query's.
func (q Query[T, E]) Page(ctx context.Context, src Source[T], options ...ReadOption) (*Page[E], error) {
	return pageOf(ctx, q, src, options, func(h search.Hit) (E, error) { return *h.Value.(*E), nil })
}

// pageOf returns a page. of makes its items from hits.
func pageOf[T, E, R any](ctx context.Context, q Query[T, E], src Source[T], options []ReadOption,
	of func(search.Hit) (R, error)) (*Page[R], error) {
	x, err := q.on(src, options)
	if err != nil {
		return nil, err
	}
	hits, next, err := x.page(ctx)
	if err != nil {
		return nil, err
	}
	p := &Page[R]{Items: make([]R, 0, len(hits)), Next: next, RCU: x.usage.Consumed}
	for _, h := range hits {
		r, err := of(h)
		if err != nil {
			return nil, err
		}
		p.Items = append(p.Items, r)
	}
	return p, nil
}

func (x *run) page(ctx context.Context) ([]search.Hit, Cursor, error) {
	defer x.end()
	hits, next, err := x.Runner.Page(ctx, x.request, &x.usage)
	return hits, Cursor(next), err
}
