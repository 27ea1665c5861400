package query

import "github.com/itemize/itemize/internal/read/search"

// Source runs queries, and writes patches. Only a *mapper.Mapper[T] is one, and types that embed it.
type Source[T any] interface{ search.Source[T] }

// runnerOf returns what runs queries, nil for a mapper that is nil or that New did not make.
func runnerOf[T any](src Source[T]) search.Runner {
	if isNil(src) {
		return nil
	}
	return search.RunnerOf[T](src)
}

// ReadOption is an option of a read: mapper.Strong, ReceiptTo, Concurrency, Memory, SkipMissing.
type ReadOption interface{ search.Option }
