package query

import (
	"context"

	"github.com/itemize/itemize/internal/read/search"
)

// Cursor is the end of a page, where the next page begins. The mapper encrypts it. It is valid for its
// query, with the same order, filter, projection and partition. "" is the start of the first page, and
// the end of the last one.
type Cursor string

// ErrCursor says that a cursor was changed, or belongs to another query, partition or mapper.
var ErrCursor = search.ErrCursor

// Page is a part of a query's result. It is no answer of a service: copy the fields that clients need
// into a type of your own.
type Page[E any] struct {
	Items []E // not nil, also if there are none
	// Next is where the next page begins, "" at the end. The last page can have a Next too; the page
	// after it is empty.
	Next Cursor
	// RCU is the consumed capacity of the page.
	RCU float64
}

// Page returns the next elements: as many as Limit says, or without a limit those of one answer of
// DynamoDB (up to 1 MB). A page of a filtered query can be empty and have a Next. If After got a cursor
// of another query, the error is ErrCursor.
//
//go:noinline
func (q *Query[T, E]) Page(ctx context.Context, src Source[T], options ...ReadOption) (*Page[E], error) {
	hits, next, rcu, err := q.is.page(ctx, runnerOf(src), options)
	if err != nil {
		return nil, err
	}
	p := &Page[E]{Items: make([]E, len(hits)), Next: next, RCU: rcu}
	for i, h := range hits {
		p.Items[i] = *h.Value.(*E)
	}
	return p, nil
}

func (d *definition) page(ctx context.Context, runner search.Runner, options []ReadOption) (
	hits []search.Hit, next Cursor, rcu float64, err error,
) {
	x, err := d.on(runner, options)
	if err != nil {
		return nil, "", 0, err
	}
	defer x.end()
	hits, after, err := x.Runner.Page(ctx, x.request, &x.usage)
	return hits, Cursor(after), x.usage.Consumed, err
}
