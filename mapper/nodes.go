package mapper

import (
	"github.com/itemize/itemize/field"
	"github.com/itemize/itemize/internal/model/expr"
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
