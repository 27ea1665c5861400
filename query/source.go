package query

import "github.com/itemize/itemize/internal/search"

// Source runs queries: a *mapper.Mapper[T].
type Source[T any] interface {
	source(*T)
	runs
}

// runs is a Source without its type.
type runs interface{ runner() search.Runner }

// ReadOption is an option of a read: mapper.Strong, ReceiptTo, Concurrency, Memory, SkipMissing.
type ReadOption interface{ read(*search.Settings) }
