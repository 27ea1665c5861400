package query

import "github.com/itemize/itemize/internal/search"

// Source runs queries: a *mapper.Mapper[T].
type Source[T any] interface{ source(*T) search.Runner }

// Base makes a mapper a Source, by embedding. For the mapper.
type Base[T any] struct{ runner search.Runner }

// NewBase returns the base of a mapper that works with r. For the mapper.
func NewBase[T any](r search.Runner) Base[T] { return Base[T]{r} }

func (b Base[T]) source(*T) search.Runner { return b.runner }

// ReadOption is an option of a read: mapper.Strong, mapper.ReceiptTo.
type ReadOption interface {
	// ReadOption applies the option. For the mapper.
	ReadOption(*search.Settings)
}
