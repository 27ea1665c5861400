package mapper

import (
	"reflect"

	"github.com/itemize/itemize/field"
	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/expr"
	"github.com/itemize/itemize/internal/key"
	"github.com/itemize/itemize/query"
)

// ItemNode selects one item, for Load and Update. R has the fields of the item: the model, or the
// struct that is spread over the item.
type ItemNode[T, R any] struct {
	node[T]
	item int
}

// Patch changes fields of the item.
func (n ItemNode[T, R]) Patch(changes ...field.Change[R]) ItemPatch[T, R] {
	part := reflect.TypeFor[T]() != reflect.TypeFor[R]()
	return newItemPatch(n.node, expr.Change{Item: n.item, Part: part}, changes)
}

// Delete deletes the item. A root is deleted with its entity only, by Mapper.Delete.
func (n ItemNode[T, R]) Delete() Patch[T] {
	return newPatch(n.node, expr.Change{Kind: expr.Delete, Item: n.item})
}

// ElementNode selects one element by its whole key. Its Query reads the element.
type ElementNode[T, E any] struct {
	node[T]
	item int
}

// Query returns the query that reads the element. The node does not have the methods of the query itself: each would be
// compiled again for each type of elements.
func (n ElementNode[T, E]) Query() query.Query[T, E] {
	return query.InternalOf[T, E]{}.Query(door.Key{}, n.node)
}

// Patch changes fields of the element, which must exist.
func (n ElementNode[T, E]) Patch(changes ...field.Change[E]) ItemPatch[T, E] {
	return newItemPatch(n.node, expr.Change{Item: n.item, Values: valuesOf(n.node)}, changes)
}

// Delete deletes the element, which must exist.
func (n ElementNode[T, E]) Delete() Patch[T] {
	return newPatch(n.node, expr.Change{Kind: expr.RemoveElement, Item: n.item, Values: valuesOf(n.node)})
}

// valuesOf returns the placeholder values of the element of a node.
func valuesOf[T any](n query.Node[T]) []key.Value {
	values := []key.Value{}
	if s := specOf(n); len(s.Targets) == 1 {
		values = append(values, s.Targets[0].Values...)
	}
	return values
}

// InternalOf is Internal with the types of a model and a record. Generated code calls it through
// package mapperimpl.
type InternalOf[T, R any] = internalOf[T, R]

type internalOf[T, R any] struct{}

// Item returns the node of one item, by its index in the layout.
func (internalOf[T, R]) Item(_ door.Key, n query.Node[T], item int) ItemNode[T, R] {
	return ItemNode[T, R]{n, item}
}

// Element returns the node of one element. n has the values of all placeholders.
func (internalOf[T, R]) Element(_ door.Key, n query.Node[T], item int) ElementNode[T, R] {
	return ElementNode[T, R]{n, item}
}

// Patch returns a patch of an entity's fields.
func (internalOf[T, R]) Patch(_ door.Key, n query.Node[T], changes []field.Change[T]) ItemPatch[T, T] {
	return newItemPatch(n, expr.Change{Item: expr.OfField}, changes)
}

// Change returns the patch of one change of the entity of a node.
func (internalOf[T, R]) Change(_ door.Key, n query.Node[T], c expr.Change) Patch[T] {
	return newPatch(n, c)
}

// Detached returns an entity that was not read from its items. It cannot be saved.
func (internalOf[T, R]) Detached(_ door.Key, m *Mapper[T], value T) *Entity[T] {
	e := m.New(value)
	e.state.notStored = true
	return e
}
