package mapper

import (
	"context"
	"reflect"

	"github.com/itemize/itemize/field"
	"github.com/itemize/itemize/internal/codec"
	"github.com/itemize/itemize/internal/expr"
	"github.com/itemize/itemize/internal/key"
	"github.com/itemize/itemize/query"
)

// EntityNode selects a whole entity.
type EntityNode[T any] struct{ query.Node[T] }

// NewEntityNode returns the node of a whole entity. For generated code.
func NewEntityNode[T any](n query.Node[T]) EntityNode[T] { return EntityNode[T]{n} }

// Patch changes fields of the entity. Each change goes to the item that its field lies
// on, and so does a condition.
func (n EntityNode[T]) Patch(changes ...field.Change[T]) ItemPatch[T, T] {
	return newItemPatch(n.Node, expr.Change{Item: expr.OfField}, changes)
}

// ItemNode selects one item, whose fields are those of R: of the model itself, or of the
// struct that is spread over the item.
type ItemNode[T, R any] struct {
	query.Node[T]
	item int
}

// NewItemNode returns the node of one item, by its index in the layout. For generated code.
func NewItemNode[T, R any](n query.Node[T], item int) ItemNode[T, R] { return ItemNode[T, R]{n, item} }

// Patch changes fields of the item.
func (n ItemNode[T, R]) Patch(changes ...field.Change[R]) ItemPatch[T, R] {
	part := reflect.TypeFor[T]() != reflect.TypeFor[R]()
	return newItemPatch(n.Node, expr.Change{Item: n.item, Part: part}, changes)
}

// Delete deletes the item. A root is deleted with its entity only, by Mapper.Delete.
func (n ItemNode[T, R]) Delete() Patch[T] {
	return newPatch(n.Node, expr.Change{Kind: expr.Delete, Item: n.item})
}

// ElementsNode selects the elements of a slice, one item for each.
type ElementsNode[T, E any] struct {
	query.Elements[T, E]
	node query.Node[T]
	item int
}

// NewElementsNode returns the node of a slice. For generated code.
func NewElementsNode[T, E any](n query.Node[T], item int) ElementsNode[T, E] {
	return ElementsNode[T, E]{query.NewElements[T, E](n), n, item}
}

// Add adds an element, which must not be there.
func (n ElementsNode[T, E]) Add(element E) Patch[T] {
	return newPatch(n.node, expr.Change{Kind: expr.Add, Item: n.item, Record: &element})
}

// Put puts an element, whether it is there or not.
func (n ElementsNode[T, E]) Put(element E) Patch[T] {
	return newPatch(n.node, expr.Change{Kind: expr.Put, Item: n.item, Record: &element})
}

// EntriesNode selects the entries of a map, one item for each.
type EntriesNode[T any, K comparable, E any] struct {
	query.Elements[T, E]
	node query.Node[T]
	item int
}

// NewEntriesNode returns the node of a map. For generated code.
func NewEntriesNode[T any, K comparable, E any](n query.Node[T], item int) EntriesNode[T, K, E] {
	return EntriesNode[T, K, E]{query.NewElements[T, E](n), n, item}
}

// Map reads the map: its entries by their keys.
func (n EntriesNode[T, K, E]) Map(ctx context.Context, src query.Source[T], options ...ReadOption) (map[K]E, error) {
	all := map[K]E{}
	for ref, err := range n.Refs(ctx, src, options...) {
		if err != nil {
			return nil, err
		}
		all[ref.Placeholders["key"].(K)] = ref.Value
	}
	return all, nil
}

// Add adds an entry, which must not be there.
func (n EntriesNode[T, K, E]) Add(k K, element E) Patch[T] {
	return newPatch(n.node, expr.Change{Kind: expr.Add, Item: n.item, Record: &element, Pos: codec.Pos{Key: k}})
}

// Put puts an entry, whether it is there or not.
func (n EntriesNode[T, K, E]) Put(k K, element E) Patch[T] {
	return newPatch(n.node, expr.Change{Kind: expr.Put, Item: n.item, Record: &element, Pos: codec.Pos{Key: k}})
}

// ElementNode selects one element, by its whole key.
type ElementNode[T, E any] struct {
	query.Elements[T, E]
	node query.Node[T]
	item int
}

// NewElementNode returns the node of one element: n has the values of all placeholders.
// For generated code.
func NewElementNode[T, E any](n query.Node[T], item int) ElementNode[T, E] {
	return ElementNode[T, E]{query.NewElements[T, E](n), n, item}
}

// Patch changes fields of the element, which has to be there.
func (n ElementNode[T, E]) Patch(changes ...field.Change[E]) ItemPatch[T, E] {
	return newItemPatch(n.node, expr.Change{Item: n.item, Values: valuesOf(n.node)}, changes)
}

// Delete deletes the element, which has to be there.
func (n ElementNode[T, E]) Delete() Patch[T] {
	return newPatch(n.node, expr.Change{Kind: expr.RemoveElement, Item: n.item, Values: valuesOf(n.node)})
}

// valuesOf returns the values of the placeholders that name a node's element.
func valuesOf[T any](n query.Node[T]) []key.Value {
	values := []key.Value{}
	if s := query.Spec(n); len(s.Targets) == 1 {
		values = append(values, s.Targets[0].Values...)
	}
	return values
}
