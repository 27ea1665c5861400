package mapperimpl

import (
	"context"
	"reflect"
	"slices"
	"unsafe"

	"github.com/itemize/itemize/field"
	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/model/codec"
	"github.com/itemize/itemize/internal/model/expr"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/read/selection"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

// Entity returns the node of an entity, by its key fields. In a flat model, fewer fields select all
// entities that share them.
//
//go:noinline
func Entity[T any](args ...Argument) *query.Node[T] {
	keyFields, err := arguments(args)
	return node[T](selection.Selection{Identity: keyFields, Err: err, Targets: whole})
}

// Lookup returns the node of the entity that has a unique value, by its number in the layout. set sets the value in a
// model.
//
//go:noinline
func Lookup[T any](unique int, set func(v *T)) *query.Node[T] {
	l := &selection.Lookup{Unique: unique, Set: func(v any) error {
		set(v.(*T))
		return nil
	}}
	return node[T](selection.Selection{Lookup: l, Targets: whole})
}

// whole selects a whole entity. Targets are never changed.
var whole = []selection.Target{{Kind: selection.TargetWhole}}

//go:noinline
func node[T any](s selection.Selection) *query.Node[T] {
	n := new(query.Node[T])
	door.Query.Set(unsafe.Pointer(n), s)
	return n
}

//go:noinline
func spec[T any](n *query.Node[T]) selection.Selection {
	return door.Query.Spec(unsafe.Pointer(n))
}

// target returns a node with another target.
//
//go:noinline
func target[T any](n *query.Node[T], t selection.Target, args []Argument) *query.Node[T] {
	s := spec(n)
	values, err := arguments(args)
	if s.Err == nil {
		s.Err = err
	}
	t.Values = append(t.Values, values...)
	s.Targets = []selection.Target{t}
	return node[T](s)
}

// Table returns the node of an entity's items in one table, by its index in the layout.
//
//go:noinline
func Table[T any](n *query.Node[T], table int) *query.Node[T] {
	return target(n, selection.Target{Kind: selection.TargetTable, Table: table}, nil)
}

// Prefix returns the node of the items of a table whose keys have a prefix.
//
//go:noinline
func Prefix[T any](n *query.Node[T], table int, prefix string) *query.Node[T] {
	return target(n, selection.Target{Kind: selection.TargetPrefix, Table: table, Prefix: prefix}, nil)
}

// Items returns the node of the items whose keys begin with the first parts of an item's template. For
// a fixed item, parts are all of them.
//
//go:noinline
func Items[T any](n *query.Node[T], item, parts int, args ...Argument) *query.Node[T] {
	return target(n, selection.Target{Kind: selection.TargetItem, Item: item, Parts: parts}, args)
}

// Next continues in the template of a node that Items returned.
//
//go:noinline
func Next[T any](n *query.Node[T], parts int, args ...Argument) *query.Node[T] {
	s := spec(n)
	if len(s.Targets) != 1 {
		return n // it has an error
	}
	t := s.Targets[0]
	t.Parts, t.Values, t.Time, t.Order = parts, slices.Clone(t.Values), nil, nil
	return target(n, t, args)
}

// Item returns the node of one item of fields, by its index in the layout. R is the model, or the struct that is
// spread over the item.
//
//go:noinline
func Item[T, R any](n *query.Node[T], item int) *mapper.ItemNode[T, *R] {
	part := reflect.TypeFor[T]() != reflect.TypeFor[R]()
	x := new(mapper.ItemNode[T, *R])
	door.Mapper.Item(unsafe.Pointer(x), unsafe.Pointer(n), expr.Target{Item: item, Part: part})
	return x
}

// Element returns the node of one element. n has the values of all placeholders.
//
//go:noinline
func Element[T, E any](n *query.Node[T], item int) *mapper.ItemNode[T, *E] {
	x := new(mapper.ItemNode[T, *E])
	door.Mapper.Item(unsafe.Pointer(x), unsafe.Pointer(n), element(spec(n), item))
	return x
}

func element(s selection.Selection, item int) expr.Target {
	t := expr.Target{Item: item, Values: []key.Value{}}
	if len(s.Targets) == 1 {
		t.Values = append(t.Values, s.Targets[0].Values...)
	}
	return t
}

// Elements returns the node of elements. It is inlined: where a type embeds the result, it takes no memory of its own.
func Elements[E, T any](n *query.Node[T]) *query.Elements[T, E] {
	x := new(query.Elements[T, E])
	*(**query.Node[T])(unsafe.Pointer(x)) = n
	return x
}

// Patch returns a patch of an entity's fields.
//
//go:noinline
func Patch[T any](n *query.Node[T], changes []field.Change[T]) *mapper.ItemPatch[T, *T] {
	p := new(mapper.ItemPatch[T, *T])
	all := door.Field.Changes(unsafe.Pointer(unsafe.SliceData(changes)), len(changes))
	door.Mapper.Patch(unsafe.Pointer(p), unsafe.Pointer(n), all)
	return p
}

// Add returns the patch that adds an element, and Put the one that adds or replaces it. element is a pointer. key is
// the key of a map entry, nil for a slice.
//
//go:noinline
func Add[T any](n *query.Node[T], item int, key, element any) *mapper.Patch[T] {
	return store(n, expr.Change{Kind: expr.Add, Item: item, Record: element, Pos: codec.Pos{Key: key}})
}

// Put is described at Add.
//
//go:noinline
func Put[T any](n *query.Node[T], item int, key, element any) *mapper.Patch[T] {
	return store(n, expr.Change{Kind: expr.Put, Item: item, Record: element, Pos: codec.Pos{Key: key}})
}

//go:noinline
func store[T any](n *query.Node[T], c expr.Change) *mapper.Patch[T] {
	p := new(mapper.Patch[T])
	door.Mapper.Change(unsafe.Pointer(p), unsafe.Pointer(n), c)
	return p
}

// Entries reads the entries of a map.
//
//go:noinline
func Entries[K comparable, T, E any](ctx context.Context, n *query.Node[T], src query.Source[T],
	options []query.ReadOption, all *map[K]E,
) error {
	found := map[K]E{}
	for ref, err := range query.Of[E](n).Refs(ctx, src, options...) {
		if err != nil {
			return err
		}
		found[ref.Placeholders["key"].(K)] = ref.Value
	}
	*all = found
	return nil
}
