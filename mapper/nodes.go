package mapper

import (
	"github.com/itemize/itemize/field"
	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/expr"
	"github.com/itemize/itemize/query"
)

// ItemNode selects one item: an item of fields, or one element by its whole key. R is the type of its
// record: the model, the struct that is spread over the item, or the element. It is no query; see [query.Of].
type ItemNode[T, R any] struct {
	*node[T]
	of expr.Target
}

// Patch changes fields of the item. An element must exist.
func (n *ItemNode[T, R]) Patch(changes ...field.Change[R]) *ItemPatch[T, R] {
	return newItemPatch(n.node, n.of.Removal(), changes)
}

// Delete deletes the item. An element must exist. A root is deleted with its entity only, by
// Mapper.Delete.
func (n *ItemNode[T, R]) Delete() *Patch[T] { return newPatch(n.node, n.of.Removal()) }

// InternalOf is Internal with the types of a model and a record.
type InternalOf[T, R any] = internalOf[T, R]

type internalOf[T, R any] struct{}

// Item returns the node of one item.
func (*internalOf[T, R]) Item(_ door.Key, n *query.Node[T], of expr.Target) *ItemNode[T, R] {
	return &ItemNode[T, R]{n, of}
}

// InternalFor is Internal with the type of a model.
type InternalFor[T any] = internalFor[T]

type internalFor[T any] struct{}

// Patch returns a patch of an entity's fields.
func (*internalFor[T]) Patch(_ door.Key, n *query.Node[T], changes []field.Change[T]) *ItemPatch[T, T] {
	return newItemPatch(n, expr.Change{Item: expr.OfField}, changes)
}

// Change returns the patch of one change of the entity of a node.
func (*internalFor[T]) Change(_ door.Key, n *query.Node[T], c expr.Change) *Patch[T] {
	return newPatch(n, c)
}
