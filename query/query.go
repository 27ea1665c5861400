package query

import (
	"context"
	"errors"
	"iter"
	"reflect"

	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/sel"
)

// Source is what a query runs on: a *mapper.Mapper[T].
type Source[T any] interface{ source(*T) Engine }

// Engine is the inside of a mapper, as queries need it.
type Engine interface {
	// Elements yields the elements of type E in a selection.
	Elements(ctx context.Context, s sel.Spec, elem reflect.Type, o read.Options, u *read.Usage) iter.Seq2[any, error]
	// Done reports the usage of a read to who asked for it.
	Done(options []ReadOption, u *read.Usage)
}

// Base makes a mapper a Source, by embedding.
type Base[T any] struct{ engine Engine }

// NewBase is for the mapper.
func NewBase[T any](e Engine) Base[T] { return Base[T]{e} }

func (b Base[T]) source(*T) Engine { return b.engine }

// ReadOption is an option of a read: mapper.Strong, mapper.Receive.
type ReadOption interface{ ReadOption(*ReadSettings) }

// ReadSettings are what read options set. Receipt is whatever mapper.Receive
// was given.
type ReadSettings struct {
	Strong  bool
	Receipt any
}

// Query is a typed query over the elements of type E in a selection of the model
// T. It is a value; its methods return a new one.
type Query[T, E any] struct {
	spec    sel.Spec
	reverse bool
}

// Of returns the query over the elements of type E in a selection: of the slice
// and map fields whose elements have that type, and for a flat model of its
// entities themselves. A selection that could hold items of other types is
// refused when the query runs, since they would be read, and paid for, in vain.
func Of[E, T any](s Selection[T]) Query[T, E] { return Query[T, E]{spec: Spec(s)} }

// Reverse returns the query in descending order of the sort keys.
func (q Query[T, E]) Reverse() Query[T, E] {
	q.reverse = !q.reverse
	return q
}

// All yields the elements in the order of their sort keys, reading page by page
// as they are asked for. An error ends it.
func (q Query[T, E]) All(ctx context.Context, src Source[T], options ...ReadOption) iter.Seq2[E, error] {
	return func(yield func(E, error) bool) {
		var settings ReadSettings
		for _, o := range options {
			if o != nil {
				o.ReadOption(&settings)
			}
		}
		if src == nil {
			var zero E
			yield(zero, errors.New("the query has nothing to run on: pass the model's *mapper.Mapper"))
			return
		}
		engine := src.source(nil)
		var u read.Usage
		defer func() { engine.Done(options, &u) }()
		o := read.Options{Strong: settings.Strong, Reverse: q.reverse}
		for v, err := range engine.Elements(ctx, q.spec, reflect.TypeFor[E](), o, &u) {
			if err != nil {
				var zero E
				yield(zero, err)
				return
			}
			if !yield(*v.(*E), nil) {
				return
			}
		}
	}
}

// Slice returns all elements in the order of their sort keys.
func (q Query[T, E]) Slice(ctx context.Context, src Source[T], options ...ReadOption) ([]E, error) {
	var all []E
	for e, err := range q.All(ctx, src, options...) {
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}
