package mapperimpl

import (
	"slices"

	"github.com/itemize/itemize/internal/key"
	"github.com/itemize/itemize/internal/selection"
	"github.com/itemize/itemize/query"
)

// Argument is the value of a placeholder, or why there is none.
type Argument struct {
	value key.Value
	err   error
}

// Arg makes an argument of what the functions for values return.
func Arg(v Value, err error) Argument { return Argument{v, err} }

// arguments returns the values, and the first error.
func arguments(args []Argument) ([]key.Value, error) {
	var out []key.Value
	for _, a := range args {
		if a.err != nil {
			return nil, a.err
		}
		out = append(out, a.value)
	}
	return out, nil
}

// Entity returns the node of an entity, by the fields that it is known by; of all that
// share them, where a flat model is given fewer.
func Entity[T any](args ...Argument) query.Node[T] {
	keyFields, err := arguments(args)
	return query.NewNode[T](selection.Selection{Identity: keyFields, Err: err, Targets: whole})
}

// whole is all of an entity. Nobody changes targets.
var whole = []selection.Target{{Kind: selection.TargetWhole}}

// target returns a node with another target.
func target[T any](n query.Node[T], t selection.Target, args []Argument) query.Node[T] {
	s := query.Spec(n)
	values, err := arguments(args)
	if s.Err == nil {
		s.Err = err
	}
	t.Values = append(t.Values, values...)
	s.Targets = []selection.Target{t}
	return query.NewNode[T](s)
}

// Table returns the node of an entity's part in one table, by its index in the layout.
func Table[T any](n query.Node[T], table int) query.Node[T] {
	return target(n, selection.Target{Kind: selection.TargetTable, Table: table}, nil)
}

// Prefix returns the node of the items of a table whose keys begin with a text.
func Prefix[T any](n query.Node[T], table int, prefix string) query.Node[T] {
	return target(n, selection.Target{Kind: selection.TargetPrefix, Table: table, Prefix: prefix}, nil)
}

// Items returns the node of the items whose keys begin with the first parts of one
// item's template: all of them for a single item.
func Items[T any](n query.Node[T], item, parts int, args ...Argument) query.Node[T] {
	return target(n, selection.Target{Kind: selection.TargetItem, Item: item, Parts: parts}, args)
}

// Next goes on in the template of a node that Items returned.
func Next[T any](n query.Node[T], parts int, args ...Argument) query.Node[T] {
	s := query.Spec(n)
	if len(s.Targets) != 1 {
		return n // an error is in it
	}
	t := s.Targets[0]
	t.Parts, t.Values, t.Time = parts, slices.Clone(t.Values), nil
	return target(n, t, args)
}

// Times returns the ranges of the time that follows a node's parts.
func Times[T, R any](n query.Node[T], wrap func(query.Node[T]) R) query.Range[R] {
	return query.NewRange(func(when selection.Time) R {
		s := query.Spec(n)
		if len(s.Targets) == 1 {
			t := s.Targets[0]
			t.Time = &when
			s.Targets = []selection.Target{t}
		}
		return wrap(query.NewNode[T](s))
	})
}

// Years, Months, Days, Hours and Weeks return the ranges of a time whose format goes
// down to them.
func Years[T, R any](n query.Node[T], wrap func(query.Node[T]) R) query.Years[R] {
	return query.Years[R]{Range: Times(n, wrap)}
}

// Months is described at Years.
func Months[T, R any](n query.Node[T], wrap func(query.Node[T]) R) query.Months[R] {
	return query.Months[R]{Years: Years(n, wrap)}
}

// Days is described at Years.
func Days[T, R any](n query.Node[T], wrap func(query.Node[T]) R) query.Days[R] {
	return query.Days[R]{Months: Months(n, wrap)}
}

// Hours is described at Years.
func Hours[T, R any](n query.Node[T], wrap func(query.Node[T]) R) query.Hours[R] {
	return query.Hours[R]{Days: Days(n, wrap)}
}

// Weeks is described at Years.
func Weeks[T, R any](n query.Node[T], wrap func(query.Node[T]) R) query.Weeks[R] {
	return query.Weeks[R]{Years: Years(n, wrap)}
}
