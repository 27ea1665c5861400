package query

import "github.com/itemize/itemize/internal/selection"

// Index selects the items of a secondary index under the given key values, and ranges of
// the placeholder that follows. It is for [Of]: Load refuses it. To change an item that its query returns,
// load the entity by its key.
type Index[T any] struct {
	Node[T]
	narrow func(selection.Bounds) selection.Selection
}

// NewIndex returns the node of an index. For the mapper.
func NewIndex[T any](s selection.Selection, narrow func(selection.Bounds) selection.Selection) Index[T] {
	return Index[T]{Node[T]{s}, narrow}
}

func (x Index[T]) narrowed(from, to *any, begin *string) Node[T] {
	if x.narrow != nil {
		x.spec = x.narrow(selection.Bounds{From: from, To: to, Begin: begin})
	}
	return x.Node
}

// Between selects the items from one value to another, both included.
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

// Values are the ranges of a value in the sort key of an index, which sorts as its values do.
type Values[V, R any] struct {
	narrow func(from, to *V, begin string) R
}

// NewValues returns the ranges that narrow makes. For generated code.
func NewValues[V, R any](narrow func(from, to *V, begin string) R) Values[V, R] {
	return Values[V, R]{narrow}
}

func (v Values[V, R]) narrowed(from, to *V, begin string) (none R) {
	if v.narrow == nil {
		return none
	}
	return v.narrow(from, to, begin)
}

// Between selects the items from one value to another, both included. If to is less than from, the
// selection is empty and sends no request.
func (v Values[V, R]) Between(from, to V) R { return v.narrowed(&from, &to, "") }

// AtLeast selects the items at a value or above it.
func (v Values[V, R]) AtLeast(from V) R { return v.narrowed(&from, nil, "") }

// AtMost selects the items at a value or below it.
func (v Values[V, R]) AtMost(to V) R { return v.narrowed(nil, &to, "") }

// Texts are Values that are texts.
type Texts[V, R any] struct{ Values[V, R] }

// BeginsWith selects the items whose text has the given beginning.
func (t Texts[V, R]) BeginsWith(begin string) R { return t.narrowed(nil, nil, begin) }
