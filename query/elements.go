package query

import (
	"context"
	"iter"

	"github.com/itemize/itemize/field"
	"github.com/itemize/itemize/internal/read/selection"
)

// Elements is a selection of elements of the type E of one entity, with the methods of a [Query]. Nodes of generated
// code are Elements. Its memory is that of a pointer to a node, which package mapperimpl sets.
type Elements[T, E any] struct{ at *Node[T] }

//go:noinline
func (e *Elements[T, E]) selection(*T) *selection.Selection {
	if e == nil {
		return nil
	}
	return e.at.selection(nil)
}

// Query returns the query, which has more methods than these.
//
//go:noinline
func (e *Elements[T, E]) Query() *Query[T, E] { return Of[E](e.at) }

// All yields the elements in order of their sort keys. It reads a page when the loop needs it. It sends a Query for
// each MB, and reads the root item if the elements may be leftover items.
//
//go:noinline
func (e *Elements[T, E]) All(ctx context.Context, src Source[T], options ...ReadOption) iter.Seq2[E, error] {
	return e.Query().All(ctx, src, options...)
}

// Refs yields what All does, with the field and the keys of each element.
//
//go:noinline
func (e *Elements[T, E]) Refs(ctx context.Context, src Source[T], options ...ReadOption) iter.Seq2[Ref[E], error] {
	return e.Query().Refs(ctx, src, options...)
}

// Collect returns all elements in order of their sort keys. It sends a Query for each MB, and reads the root item if
// the elements may be leftover items.
//
//go:noinline
func (e *Elements[T, E]) Collect(ctx context.Context, src Source[T], options ...ReadOption) ([]E, error) {
	return e.Query().Collect(ctx, src, options...)
}

// Page returns the next elements: the number that Limit sets, or those of one answer of DynamoDB.
//
//go:noinline
func (e *Elements[T, E]) Page(ctx context.Context, src Source[T], options ...ReadOption) (*Page[E], error) {
	return e.Query().Page(ctx, src, options...)
}

// Count returns the number of elements. It costs as much as reading them.
//
//go:noinline
func (e *Elements[T, E]) Count(ctx context.Context, src Source[T], options ...ReadOption) (int, error) {
	return e.Query().Count(ctx, src, options...)
}

// Plan returns the query's requests and their cost. It sends nothing.
//
//go:noinline
func (e *Elements[T, E]) Plan(src Source[T], options ...ReadOption) (*Plan, error) {
	return e.Query().Plan(src, options...)
}

// Filter returns the query of the elements that meet all conditions. DynamoDB also charges for the elements that it
// filters out.
//
//go:noinline
func (e *Elements[T, E]) Filter(conditions ...field.Condition[E]) *Query[T, E] {
	return e.Query().Filter(conditions...)
}

// Project returns the query that reads only these fields. It saves transfer, but no RCU.
//
//go:noinline
func (e *Elements[T, E]) Project(fields ...field.Of[E]) *Query[T, E] {
	return e.Query().Project(fields...)
}

// Limit returns the query of the first elements. For Page it is the size of a page.
//
//go:noinline
func (e *Elements[T, E]) Limit(first int) *Query[T, E] { return e.Query().Limit(first) }

// Reverse returns the query in descending order of the sort keys.
//
//go:noinline
func (e *Elements[T, E]) Reverse() *Query[T, E] { return e.Query().Reverse() }

// After returns the query that continues after a page, at its Next.
//
//go:noinline
func (e *Elements[T, E]) After(page Cursor) *Query[T, E] { return e.Query().After(page) }
