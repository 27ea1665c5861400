package query

import "github.com/itemize/itemize/internal/selection"

// Index selects the items of a secondary index under the given key values, and ranges of
// the placeholder that follows. It is for [Of]: Load refuses it. To change an item that its query returns,
// load the entity by its key.
type Index[T any] struct {
	node[T]
	narrow func(selection.Bounds) selection.Selection
}

func (x Index[T]) narrowed(from, to *any, begin *string) Node[T] {
	if x.narrow != nil {
		x.spec = x.narrow(selection.Bounds{From: from, To: to, Begin: begin})
	}
	return x.node
}

// Between selects the items from one value to another: both are included, but of two times the second
// is not, as in typed queries.
func (x Index[T]) Between(from, to any) Node[T] {
	return x.narrowed(&from, &to, nil)
}

// AtLeast selects the items at a value or above it.
func (x Index[T]) AtLeast(from any) Node[T] { return x.narrowed(&from, nil, nil) }

// AtMost selects the items at a value or below it.
func (x Index[T]) AtMost(to any) Node[T] { return x.narrowed(nil, &to, nil) }

// BeginsWith selects the items whose text has the given beginning.
func (x Index[T]) BeginsWith(begin string) Node[T] {
	return x.narrowed(nil, nil, &begin)
}
