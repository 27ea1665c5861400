// Package handmade has what generated code has of a model, for tests of models without generated code:
// handles of fields, and nodes.
package handmade

import (
	"time"

	"github.com/itemize/itemize/field"
	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/model/codec"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/mapper/mapperimpl"
	"github.com/itemize/itemize/query"
)

// handle returns a handle of the type H.
func handle[H, R, V any](name, tag string, at func(*R) *V, f codec.Typed[V]) *H {
	h := new(H)
	if !door.Field.Bind(h, mapperimpl.Reached(name, tag, at, f.Form)) {
		panic("no handle")
	}
	return h
}

// Value returns the handle of a field: name is its name in Go, tag the value of its dynamodbav tag.
func Value[R, V any](name, tag string, at func(*R) *V, f codec.Typed[V]) *field.Value[*R, V] {
	return handle[field.Value[*R, V]](name, tag, at, f)
}

// Bool returns the handle of a bool.
func Bool[R any, V ~bool](name, tag string, at func(*R) *V) *field.Value[*R, V] {
	return handle[field.Value[*R, V]](name, tag, at, codec.BoolOf[V]())
}

// Number returns the handle of a number.
func Number[R any, V codec.Number](name, tag string, at func(*R) *V) *field.Number[*R, V] {
	return handle[field.Number[*R, V]](name, tag, at, codec.NumericOf[V]())
}

// String returns the handle of a string.
func String[R any, V ~string](name, tag string, at func(*R) *V) *field.String[*R, V] {
	return handle[field.String[*R, V]](name, tag, at, codec.StringOf[V]())
}

// Bytes returns the handle of a slice of bytes.
func Bytes[R any, V ~[]byte](name, tag string, at func(*R) *V) *field.Ordered[*R, V] {
	return handle[field.Ordered[*R, V]](name, tag, at, codec.BytesOf[V]())
}

// Time returns the handle of a time.
func Time[R, V any](name, tag string, at func(*R) *V) *field.Ordered[*R, V] {
	return handle[field.Ordered[*R, V]](name, tag, at, codec.TimeOf[V]())
}

// Struct returns the handle of a struct.
func Struct[R, S any](name, tag string, at func(*R) *S, f codec.Typed[S]) *field.Struct[*R, S] {
	return handle[field.Struct[*R, S]](name, tag, at, f)
}

// StructPointer returns the handle of a pointer to a struct.
func StructPointer[R, S any](name, tag string, at func(*R) **S, f codec.Typed[S]) *field.Struct[*R, S] {
	return handle[field.Struct[*R, S]](name, tag, at, codec.PointerOf(f))
}

// List returns the handle of a slice.
func List[R any, V ~[]E, E any](name, tag string, at func(*R) *V, f codec.Typed[V]) *field.List[*R, E] {
	return handle[field.List[*R, E]](name, tag, at, f)
}

// Set returns the handle of a set.
func Set[R any, V ~[]E, E any](name, tag string, at func(*R) *V, f codec.Typed[V]) *field.Set[*R, E] {
	return handle[field.Set[*R, E]](name, tag, at, f)
}

// Map returns the handle of a map, whose entries have handles of the type H.
func Map[H, R any, M ~map[K]E, K comparable, E any](name, tag string, at func(*R) *M,
	f codec.Typed[M],
) *field.Map[*R, M, K, H] {
	return handle[field.Map[*R, M, K, H]](name, tag, at, f)
}

// Row returns the row of a handle's field.
func Row[R any](h field.Of[R]) codec.Row { return door.Field.Row(h) }

// Node returns a selection as a node.
func Node[T any](s query.Selection[T]) *query.Node[T] {
	return query.Join(s).(*query.Node[T])
}

// Entity is the node of a whole entity.
type Entity[T any] struct{ Node *query.Node[T] }

// Patch changes fields of the entity.
func (e Entity[T]) Patch(changes ...field.Change[T]) *mapper.ItemPatch[T, *T] {
	return mapperimpl.Patch(e.Node, changes)
}

// EntityOf returns the node of the entity that a key selects.
func EntityOf[T any](k *query.Key[T]) Entity[T] { return Entity[T]{Node[T](k)} }

// Elements is the node of a slice of elements.
type Elements[T, E any] struct {
	Node *query.Node[T]
	Item int
}

// Add adds an element.
func (e Elements[T, E]) Add(element E) *mapper.Patch[T] {
	return mapperimpl.Add(e.Node, e.Item, nil, &element)
}

// Put puts an element.
func (e Elements[T, E]) Put(element E) *mapper.Patch[T] {
	return mapperimpl.Put(e.Node, e.Item, nil, &element)
}

// Times are the ranges of a time in the sort keys of the entities of a flat model.
type Times[T any] struct{ Node *query.Node[T] }

func (w Times[T]) of(n *query.Node[T]) *query.Query[T, T] { return query.Of[T](n) }

// Year selects the entities of a year.
func (w Times[T]) Year(year int) *query.Query[T, T] {
	return w.of(mapperimpl.Period(w.Node, nil, year))
}

// Month selects the entities of a month.
func (w Times[T]) Month(year int, month time.Month) *query.Query[T, T] {
	return w.of(mapperimpl.Period(w.Node, nil, year, int(month)))
}

// Between selects the entities from one instant to another.
func (w Times[T]) Between(from, to time.Time) *query.Query[T, T] {
	return w.of(mapperimpl.Times(w.Node, &from, &to))
}

// Since selects the entities at an instant or later.
func (w Times[T]) Since(from time.Time) *query.Query[T, T] {
	return w.of(mapperimpl.Times(w.Node, &from, nil))
}

// Before selects the entities before an instant.
func (w Times[T]) Before(to time.Time) *query.Query[T, T] {
	return w.of(mapperimpl.Times(w.Node, nil, &to))
}
