package mapper

import (
	"github.com/itemize/itemize/field"
	"github.com/itemize/itemize/internal/model/expr"
)

// ItemNode selects one item: an item of fields, or one element by its whole key. P points to the type of its
// record: the model, the struct that is spread over the item, or the element. It is no query; see [query.Of].
type ItemNode[T, P any] struct {
	node[T]
	of expr.Target
}

// Patch changes fields of the item. An element must exist.
//
//go:noinline
func (n *ItemNode[T, P]) Patch(changes ...field.ChangeOf[P]) *ItemPatch[T, P] {
	return newItemPatch(&n.node, n.of.Removal(), changes)
}

// Delete deletes the item. An element must exist. A root is deleted with its entity only, by
// Mapper.Delete.
//
//go:noinline
func (n *ItemNode[T, P]) Delete() *Patch[T] { return newPatch(&n.node, n.of.Removal()) }
