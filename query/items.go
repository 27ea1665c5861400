package query

import (
	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/read/selection"
)

// Items selects items by the first values of their keys: elements, the entities of a flat model's
// partition, or items of a secondary index. Its methods narrow the next placeholder. A bound that the key
// cannot hold is no error: all values of the key are below it, or above it.
//
// Items of an index are for [Of]; Load refuses them. To change an entity that a query of an index yields, use
// Mapper.Entities, or load the entity by its key.
type Items[T any] struct {
	node[T]
	model *model.Model
}

func (x *Items[T]) narrowed(from, to *any, begin *string) *Node[T] {
	if x.model == nil {
		return &x.node
	}
	return &Node[T]{x.model.Narrow(x.spec, selection.Bounds{From: from, To: to, Begin: begin})}
}

// Between selects the items from one value to another, inclusive. Of two times the second one is
// excluded, as in typed queries.
func (x *Items[T]) Between(from, to any) *Node[T] {
	return x.narrowed(&from, &to, nil)
}

// AtLeast selects the items with a value or larger ones.
func (x *Items[T]) AtLeast(from any) *Node[T] { return x.narrowed(&from, nil, nil) }

// AtMost selects the items with a value or smaller ones.
func (x *Items[T]) AtMost(to any) *Node[T] { return x.narrowed(nil, &to, nil) }

// BeginsWith selects the items whose text has the prefix.
func (x *Items[T]) BeginsWith(begin string) *Node[T] {
	return x.narrowed(nil, nil, &begin)
}
