package mapperimpl

import (
	"slices"
	"time"

	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/read/selection"
	"github.com/itemize/itemize/query"
)

// Index returns the node of a secondary index, by the numbers of the index and the item in the layout.
// The arguments are the values of its partition key and of the first parts of its sort key.
//
//go:noinline
func Index[T any](index, item, parts int, args ...Argument) *query.Node[T] {
	values, err := arguments(args)
	return node[T](selection.Selection{Err: err, Targets: []selection.Target{{
		Kind: selection.TargetIndex, Index: index, Item: item, Parts: parts, Values: values,
	}}})
}

// Period narrows the time after a node's parts to a year, month, day or hour, by the number of
// arguments. in is its location; the default is UTC.
//
//go:noinline
func Period[T any](n *query.Node[T], in []*time.Location, year int, more ...int) *query.Node[T] {
	at, ok := location(in)
	if !ok {
		return bounded(n, selection.Time{Err: selection.ErrLocation})
	}
	month, day, hour := 1, 1, 0
	for i, to := range []*int{&month, &day, &hour}[:len(more)] {
		*to = more[i]
	}
	unit := []selection.Unit{selection.Year, selection.Month, selection.Day, selection.Hour}[len(more)]
	return bounded(n, *selection.PeriodOf(unit,
		selection.Date{Year: year, Month: time.Month(month), Day: day, Hour: hour}, at))
}

// Week narrows it to an ISO 8601 week.
//
//go:noinline
func Week[T any](n *query.Node[T], in []*time.Location, year, week int) *query.Node[T] {
	at, ok := location(in)
	if !ok {
		return bounded(n, selection.Time{Err: selection.ErrLocation})
	}
	return bounded(n, *selection.WeekOf(year, week, at))
}

// location returns the location of a period, by default UTC.
func location(in []*time.Location) (at *time.Location, ok bool) {
	switch {
	case len(in) == 0:
		return time.UTC, true
	case len(in) == 1 && in[0] != nil:
		return in[0], true
	}
	return nil, false
}

// Times narrows it to instants from one to another, which is excluded. nil is no bound.
//
//go:noinline
func Times[T any](n *query.Node[T], from, to *time.Time) *query.Node[T] {
	var w selection.Time
	if from != nil {
		w.From = selection.At(*from)
	}
	if to != nil {
		w.To = selection.At(to.Add(-1))
	}
	return bounded(n, w)
}

//go:noinline
func bounded[T any](n *query.Node[T], w selection.Time) *query.Node[T] {
	s := spec(n)
	if len(s.Targets) == 1 {
		s.Targets = slices.Clone(s.Targets)
		s.Targets[0].Time = &w
	}
	return node[T](s)
}

// Between narrows the value after a node's parts to those from one to another, inclusive.
//
//go:noinline
func Between[T any](n *query.Node[T], from, to Argument) *query.Node[T] {
	return ordered(n, &from, &to, "")
}

// AtLeast narrows it to a value and larger ones.
//
//go:noinline
func AtLeast[T any](n *query.Node[T], from Argument) *query.Node[T] {
	return ordered(n, &from, nil, "")
}

// AtMost narrows it to a value and smaller ones.
//
//go:noinline
func AtMost[T any](n *query.Node[T], to Argument) *query.Node[T] { return ordered(n, nil, &to, "") }

// BeginsWith narrows it to texts with a prefix.
//
//go:noinline
func BeginsWith[T any](n *query.Node[T], begin string) *query.Node[T] {
	return ordered(n, nil, nil, begin)
}

//go:noinline
func ordered[T any](n *query.Node[T], from, to *Argument, begin string) *query.Node[T] {
	o := &selection.Order{Begin: begin}
	bound := func(a *Argument) *key.Value {
		if a == nil {
			return nil
		}
		if a.err != nil {
			o.Err = a.err
		}
		return &a.value
	}
	o.From, o.To = bound(from), bound(to)
	s := spec(n)
	if len(s.Targets) == 1 {
		s.Targets = slices.Clone(s.Targets)
		s.Targets[0].Order = o
	}
	return node[T](s)
}
