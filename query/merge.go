package query

import (
	"context"
	"errors"
	"iter"

	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/read/search"
)

// Bound is a query with its mapper, as an argument of Merge.
type Bound struct {
	on  func(options []ReadOption) (*run, error)
	ref func(search.Hit) (any, error)
}

// On returns the query as an argument of Merge. It must not have a limit, a cursor, a filter or a
// projection of its own.
//
//go:noinline
func (q *Query[T, E]) On(src Source[T]) Bound { return Bound{q.is.merged(runnerOf(src)), anyRef[E]} }

//go:noinline
func (d *definition) merged(runner search.Runner) func(options []ReadOption) (*run, error) {
	return func(options []ReadOption) (*run, error) {
		if d.limit != 0 || d.after != "" || d.reverse {
			return nil, model.Usagef("a query within Merge has its own Limit, After or Reverse: leave them out, " +
				"and call Limit and Reverse on the merged query")
		}
		return d.on(runner, options)
	}
}

// anyRef returns a hit with its keys, as a Ref[E].
func anyRef[E any](h search.Hit) (any, error) { return refOf[E](h) }

// Merged is a query over elements or entities of several types.
type Merged struct {
	sides   []Bound
	limit   int
	reverse bool
	err     error
}

// Merge merges several queries into one request. They must be over one table, one partition and one
// range, of one model or of several models in that partition. If other items of the models can be
// between them, the query is refused.
//
//	for x, err := range query.Merge(a.On(users), b.On(orders)).All(ctx) {
//		switch x := x.(type) {
//		case query.Ref[Wish]:
//		case query.Ref[Order]:
//		}
//	}
func Merge(sides ...Bound) Merged { return Merged{sides: sides} }

// Limit returns the query of the first n elements of all types; 0 is no limit.
func (j Merged) Limit(n int) Merged {
	if n < 0 {
		j.err = model.Usagef("the limit %d of a query: use 1 or more, or 0 for no limit", n)
	}
	j.limit = n
	return j
}

// Reverse returns the query in descending order of the sort keys.
func (j Merged) Reverse() Merged {
	j.reverse = !j.reverse
	return j
}

// All yields a Ref[E] for each element or entity, in the order of the sort keys. E is the element type
// of its query. An error ends it.
func (j Merged) All(ctx context.Context, options ...ReadOption) iter.Seq2[any, error] {
	return func(yield func(any, error) bool) {
		if err := j.all(ctx, options, yield); err != nil {
			yield(nil, err)
		}
	}
}

func (j Merged) all(ctx context.Context, options []ReadOption, yield func(any, error) bool) (err error) {
	if j.err != nil {
		return j.err
	}
	var usage read.Usage
	var searches []*search.Search
	var first *run
	for _, s := range j.sides {
		if s.on == nil {
			return model.Usagef("Merge has an empty query: make it with On")
		}
		x, err := s.on(options)
		if err != nil {
			return err
		}
		if first == nil {
			first = x
		}
		x.request.Reverse = j.reverse
		q, err := x.Search(x.request, &usage)
		if err != nil {
			return err
		}
		searches = append(searches, q)
	}
	if first == nil {
		return search.Merge(ctx, nil, 0, nil)
	}
	defer func() { first.Deliver(first.settings, &usage) }()
	ctx, end := first.Begin(ctx)
	defer func() { end(&usage, err) }()
	var failed error
	err = search.Merge(ctx, searches, j.limit, func(i int, h search.Hit) bool {
		var ref any
		if ref, failed = j.sides[i].ref(h); failed != nil {
			return false
		}
		return yield(ref, nil)
	})
	return errors.Join(err, failed)
}

// Collect returns all elements.
func (j Merged) Collect(ctx context.Context, options ...ReadOption) ([]any, error) {
	var all []any
	for x, err := range j.All(ctx, options...) {
		if err != nil {
			return nil, err
		}
		all = append(all, x)
	}
	return all, nil
}
