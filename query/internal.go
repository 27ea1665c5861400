package query

import (
	"context"
	"iter"

	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/search"
	"github.com/itemize/itemize/internal/selection"
)

// Internal is for other packages of itemize. No other code can call its methods.
var Internal internal

type internal struct{}

// ReadOption turns a function into a read option.
func (internal) ReadOption(_ door.Key, f func(*search.Settings)) ReadOption { return readFunc(f) }

// Apply applies an option.
func (internal) Apply(_ door.Key, o ReadOption, s *search.Settings) { o.read(s) }

type readFunc func(*search.Settings)

func (f readFunc) read(s *search.Settings) { f(s) }

// InternalOf is Internal with the type of a model.
type InternalOf[T any] = internalOf[T]

type internalOf[T any] struct{}

// Spec returns a selection as data.
func (*internalOf[T]) Spec(_ door.Key, s Selection[T]) selection.Selection { return specOf(s) }

// Node returns the node of a selection.
func (*internalOf[T]) Node(_ door.Key, s selection.Selection) *Node[T] { return &Node[T]{s} }

// InternalFor has what mappers of a model need.
type InternalFor[T any] = internalFor[T]

type internalFor[T any] struct{}

// Source returns a value that makes a mapper a [Source] when it is embedded. Queries run with r.
func (*internalFor[T]) Source(_ door.Key, r search.Runner) InternalSource[T] {
	return InternalSource[T]{r}
}

// Key returns the key of an entity.
func (*internalFor[T]) Key(_ door.Key, m *model.Model, s selection.Selection) *Key[T] {
	return &Key[T]{node: Node[T]{s}, model: m}
}

// Items returns the node of items that bounds narrow.
func (*internalFor[T]) Items(_ door.Key, m *model.Model, s selection.Selection) *Items[T] {
	return &Items[T]{Node[T]{s}, m}
}

// Entities runs a query of entities, and yields their snapshots with them.
func (*internalFor[T]) Entities(_ door.Key, ctx context.Context, q *Query[T, T], src Source[T], options []ReadOption,
) iter.Seq2[search.Hit, error] {
	return q.is.ofEntities().hits(ctx, runnerOf(src), options)
}

// InternalSource makes a mapper a [Source].
type InternalSource[T any] = internalSource[T]

type internalSource[T any] struct{ runner search.Runner }

func (s *internalSource[T]) source(*T) search.Runner { return s.runner }
