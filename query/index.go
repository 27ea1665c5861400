package query

import "github.com/itemize/itemize/internal/selection"

// Index selects items of a secondary index by the values of its keys. Its methods narrow the next
// placeholder. Pass it to [Of]; Load refuses it. To change an item of the result, load the entity by
// its key.
type Index[T any] struct {
	node[T]
	narrow func(selection.Bounds) selection.Selection
}

func (x *Index[T]) narrowed(from, to *any, begin *string) *Node[T] {
	if x.narrow == nil {
		return &x.node
	}
	return &Node[T]{x.narrow(selection.Bounds{From: from, To: to, Begin: begin})}
}

// Between selects the items from one value to another, inclusive. Of two times the second one is
// excluded, as in typed queries.
func (x *Index[T]) Between(from, to any) *Node[T] {
	return x.narrowed(&from, &to, nil)
}

// AtLeast selects the items with a value or larger ones.
func (x *Index[T]) AtLeast(from any) *Node[T] { return x.narrowed(&from, nil, nil) }

// AtMost selects the items with a value or smaller ones.
func (x *Index[T]) AtMost(to any) *Node[T] { return x.narrowed(nil, &to, nil) }

// BeginsWith selects the items whose text has the prefix.
func (x *Index[T]) BeginsWith(begin string) *Node[T] {
	return x.narrowed(nil, nil, &begin)
}
