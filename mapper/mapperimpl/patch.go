package mapperimpl

import (
	"strconv"

	"github.com/itemize/itemize/internal/codec"
)

// Change is one change of a patch.
type Change = codec.PatchChange

// Set sets attributes of an item to what they are in the record.
func Set[T any](item int, record *T, attributes ...int) Change {
	return Change{Kind: codec.PatchSet, Item: item, Record: record, Attributes: attributes}
}

// Remove removes attributes of an item.
func Remove(item int, attributes ...int) Change {
	return Change{Kind: codec.PatchRemove, Item: item, Attributes: attributes}
}

// Increment adds to a number.
func Increment(item, attribute int, by int64) Change {
	return Change{Kind: codec.PatchIncrement, Item: item, Attributes: []int{attribute}, By: strconv.FormatInt(by, 10)}
}

// IncrementFloat adds to a number.
func IncrementFloat(item, attribute int, by float64) Change {
	return Change{Kind: codec.PatchIncrement, Item: item, Attributes: []int{attribute}, By: strconv.FormatFloat(by, 'f', -1, 64)}
}

// Delete deletes an item.
func Delete(item int) Change { return Change{Kind: codec.PatchDelete, Item: item} }

// AddElement puts an element.
func AddElement[E any](item int, element *E) Change {
	return Change{Kind: codec.PatchAdd, Item: item, Record: element}
}

// AddEntry puts an entry of a map.
func AddEntry[K comparable, E any](item int, k K, element *E) Change {
	return Change{Kind: codec.PatchAdd, Item: item, Record: element, Pos: codec.Pos{Key: k}}
}

// RemoveElement deletes an element by the placeholders in its key.
func RemoveElement(item int, args ...Argument) Change {
	values, err := arguments(args)
	return Change{Kind: codec.PatchRemoveElement, Item: item, Values: values, Err: err}
}

// If requires that attributes have the values of the record.
func If[T any](item int, record *T, attributes ...int) Change {
	return Change{Kind: codec.PatchIf, Item: item, Record: record, Attributes: attributes}
}

// Upsert and IfEntityExists change what a patch requires.
var (
	Upsert         = Change{Kind: codec.PatchUpsert}
	IfEntityExists = Change{Kind: codec.PatchIfEntity}
)
