package query

import (
	"context"
	"iter"

	"github.com/itemize/itemize/internal/search"
)

// Roots is a query over the roots of a flat model's entities: it yields each entity with the root's
// fields alone, and reads no more than lies where the roots do. Side by side, apart from the rest of
// their entities, they cost what they take alone.
type Roots[T any] struct{ q Query[T, T] }

// Roots returns the query over the roots of the entities alone, with the same order, limit, filter
// and projection, which are those of the roots. It is for queries over the entities of a flat model;
// another fails when it runs.
func (q Query[T, E]) Roots() Roots[T] {
	r := Query[T, T](q)
	r.roots, r.elem, r.make = true, q.elemType(), nil
	return Roots[T]{r}
}

// After returns the query that continues behind a page of roots, at its Next.
func (r Roots[T]) After(c Cursor) Roots[T] { return Roots[T]{r.q.After(c)} }

// Limit returns the query of the first n roots; of Page it is the size.
func (r Roots[T]) Limit(n int) Roots[T] { return Roots[T]{r.q.Limit(n)} }

// Reverse returns the query in descending order of the sort keys.
func (r Roots[T]) Reverse() Roots[T] { return Roots[T]{r.q.Reverse()} }

// All yields the roots in the order of their sort keys, with their keys.
func (r Roots[T]) All(ctx context.Context, src Source[T], options ...ReadOption) iter.Seq2[Ref[T], error] {
	return r.q.Refs(ctx, src, options...)
}

// Collect returns all roots in the order of their sort keys.
func (r Roots[T]) Collect(ctx context.Context, src Source[T], options ...ReadOption) ([]Ref[T], error) {
	var all []Ref[T]
	for ref, err := range r.All(ctx, src, options...) {
		if err != nil {
			return nil, err
		}
		all = append(all, ref)
	}
	return all, nil
}

// Page returns the next roots, as Query.Page does elements.
func (r Roots[T]) Page(ctx context.Context, src Source[T], options ...ReadOption) (*Page[Ref[T]], error) {
	return pageOf(ctx, r.q, src, options, refOf[T])
}

// Count returns the number of roots.
func (r Roots[T]) Count(ctx context.Context, src Source[T], options ...ReadOption) (int, error) {
	return r.q.Count(ctx, src, options...)
}

// Plan returns what the query would send, and cost. It does no I/O.
func (r Roots[T]) Plan(src Source[T], options ...ReadOption) (*Plan, error) {
	return r.q.Plan(src, options...)
}

// refOf returns a hit with its place.
func refOf[E any](hit search.Hit) (Ref[E], error) {
	at := hit.At
	ref := Ref[E]{Value: *hit.Value.(*E), Field: hit.Field(), Table: at.Table.Name, Partition: at.PK.Plain(), Sort: at.Sort()}
	var err error
	ref.Placeholders, err = hit.Placeholders()
	return ref, err
}
