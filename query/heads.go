package query

import (
	"context"
	"iter"

	"github.com/itemize/itemize/internal/search"
)

// Heads is a query over the roots of a flat model's entities: it yields each entity with the root's
// fields alone, and reads no more than lies where the roots do. Side by side, apart from the rest of
// their entities, they cost what they take alone.
type Heads[T any] struct{ q Query[T, T] }

// Heads returns the query over the roots of the entities alone, with the same order, limit, filter
// and projection, which are those of the roots. It is for queries over the entities of a flat model;
// another fails when it runs.
func (q Query[T, E]) Heads() Heads[T] {
	h := Query[T, T](q)
	h.heads, h.elem, h.make = true, q.elemType(), nil
	return Heads[T]{h}
}

// After returns the query that continues behind a page of heads, at its Next.
func (h Heads[T]) After(c Cursor) Heads[T] { return Heads[T]{h.q.After(c)} }

// Limit returns the query of the first n heads; of Page it is the size.
func (h Heads[T]) Limit(n int) Heads[T] { return Heads[T]{h.q.Limit(n)} }

// Reverse returns the query in descending order of the sort keys.
func (h Heads[T]) Reverse() Heads[T] { return Heads[T]{h.q.Reverse()} }

// All yields the heads in the order of their sort keys, with their keys.
func (h Heads[T]) All(ctx context.Context, src Source[T], options ...ReadOption) iter.Seq2[Ref[T], error] {
	return h.q.Refs(ctx, src, options...)
}

// Slice returns all heads in the order of their sort keys.
func (h Heads[T]) Slice(ctx context.Context, src Source[T], options ...ReadOption) ([]Ref[T], error) {
	var all []Ref[T]
	for ref, err := range h.All(ctx, src, options...) {
		if err != nil {
			return nil, err
		}
		all = append(all, ref)
	}
	return all, nil
}

// Page returns the next heads, as Query.Page does elements.
func (h Heads[T]) Page(ctx context.Context, src Source[T], options ...ReadOption) (*Page[Ref[T]], error) {
	return pageOf(ctx, h.q, src, options, refOf[T])
}

// Count returns the number of heads.
func (h Heads[T]) Count(ctx context.Context, src Source[T], options ...ReadOption) (int, error) {
	return h.q.Count(ctx, src, options...)
}

// Plan returns what the query would send, and cost. It does no I/O.
func (h Heads[T]) Plan(src Source[T], options ...ReadOption) (*Plan, error) {
	return h.q.Plan(src, options...)
}

// refOf returns a hit with its place.
func refOf[E any](hit search.Hit) (Ref[E], error) {
	at := hit.At
	ref := Ref[E]{Value: *hit.Value.(*E), Field: hit.Field(), Table: at.Table.Name, Partition: at.PK.Plain(), Sort: at.Sort()}
	var err error
	ref.Placeholders, err = hit.Placeholders()
	return ref, err
}
