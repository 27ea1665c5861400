package query

import (
	"context"

	"github.com/itemize/itemize/internal/search"
)

// Cursor is the end of a page, where the next page begins. The mapper encrypts it. It is valid for its
// query, with the same order, filter, projection and partition. "" is the start of the first page, and
// the end of the last one.
type Cursor string

// ErrCursor says that a cursor was changed, or belongs to another query, partition or mapper.
var ErrCursor = search.ErrCursor

// Page is a part of a query's result.
type Page[E any] struct {
	Items []E `json:"items"` // [] in JSON if there are none
	// Next is where the next page begins, "" at the end. The last page can have a Next too; the page
	// after it is empty.
	Next Cursor `json:"next,omitempty"`
	// RCU is the consumed capacity of the page.
	RCU float64 `json:"rcu"`
}

// Page returns the next elements: as many as Limit says, or without a limit those of one answer of
// DynamoDB (up to 1 MB). A page of a filtered query can be empty and have a Next. If After got a cursor
// of another query, the error is ErrCursor.
func (q Query[T, E]) Page(ctx context.Context, src Source[T], options ...ReadOption) (*Page[E], error) {
	return pageOf(ctx, q, src, options, func(h search.Hit) (E, error) { return *h.Value.(*E), nil })
}

// pageOf returns a page. of converts hits to its items.
func pageOf[T, E, R any](ctx context.Context, q Query[T, E], src Source[T], options []ReadOption,
	of func(search.Hit) (R, error),
) (*Page[R], error) {
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
