package mapperimpl

import (
	"slices"

	"github.com/itemize/itemize/internal/key"
	"github.com/itemize/itemize/internal/selection"
	"github.com/itemize/itemize/query"
)

// Index returns the node of what lies in a secondary index, by its number in the layout and that of
// the items: under the values of its partition key, with so many parts of its sort key given.
func Index[T any](index, item, parts int, args ...Argument) query.Node[T] {
	values, err := arguments(args)
	return query.NewNode[T](selection.Selection{Err: err, Targets: []selection.Target{{
		Kind: selection.TargetIndex, Index: index, Item: item, Parts: parts, Values: values,
	}}})
}

// Values returns the ranges of the value that follows a node's parts in an index.
func Values[T, V, R any](n query.Node[T], value func(V) (Value, error), wrap func(query.Node[T]) R) query.Values[V, R] {
	return query.NewValues(func(from, to *V, begin string) R {
		o := &selection.Order{Begin: begin}
		bound := func(v *V) *key.Value {
			if v == nil {
				return nil
			}
			k, err := value(*v)
			if err != nil {
				o.Err = err
			}
			return &k
		}
		o.From, o.To = bound(from), bound(to)
		s := query.Spec(n)
		if len(s.Targets) == 1 {
			s.Targets = slices.Clone(s.Targets)
			s.Targets[0].Order = o
		}
		return wrap(query.NewNode[T](s))
	})
}

// Texts is Values of texts.
func Texts[T, V, R any](n query.Node[T], value func(V) (Value, error), wrap func(query.Node[T]) R) query.Texts[V, R] {
	return query.Texts[V, R]{Values: Values(n, value, wrap)}
}
