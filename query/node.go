package query

import (
	"time"

	"github.com/itemize/itemize/internal/selection"
)

// Elements is a node whose items are all elements of one type: a selection, and a
// query over them.
type Elements[T, E any] struct {
	node[T]
	Query[T, E]
}

type node[T any] = Node[T]

// NewElements returns the node of elements. For generated code.
func NewElements[T, E any](n Node[T]) Elements[T, E] {
	return Elements[T, E]{n, Query[T, E]{definition{spec: n.spec}}}
}

// NewQuery returns the query over the entities of a flat model. For generated code.
func NewQuery[T, E any](n Node[T]) Query[T, E] { return Query[T, E]{definition{spec: n.spec}} }

// Range is a node before a time in the sort key. Its methods select the items in a range
// of instants, by a single condition on the key. Where the key holds less of an instant
// than the ends of the range, the stored instant decides; a selection of such a range
// still covers all that the keys do.
type Range[R any] struct{ narrow func(selection.Time) R }

// NewRange returns the ranges that narrow makes. For generated code.
func NewRange[R any](narrow func(selection.Time) R) Range[R] { return Range[R]{narrow} }

// narrowed returns the range; of a Range that no node has made the zero R, whose use is an
// error.
func (r Range[R]) narrowed(t selection.Time) (none R) {
	if r.narrow == nil {
		return none
	}
	return r.narrow(t)
}

// Between selects the items from one instant to another, both included. If to is before
// from, the selection is empty and sends no request.
func (r Range[R]) Between(from, to time.Time) R {
	return r.narrowed(selection.Time{From: selection.At(from), To: selection.At(to)})
}

// Since selects the items at an instant or later.
func (r Range[R]) Since(at time.Time) R { return r.narrowed(selection.Time{From: selection.At(at)}) }

// Before selects the items before an instant.
func (r Range[R]) Before(at time.Time) R {
	return r.narrowed(selection.Time{To: selection.At(at.Add(-1))})
}

// Years is a Range by years.
type Years[R any] struct{ Range[R] }

// Year selects the items of a year, in UTC.
func (r Years[R]) Year(year int) R {
	return r.narrowed(*selection.PeriodOf(selection.Year, year, time.January, 1, 0))
}

// Months is a Range by years and months.
type Months[R any] struct{ Years[R] }

// Month selects the items of a month, in UTC.
func (r Months[R]) Month(year int, month time.Month) R {
	return r.narrowed(*selection.PeriodOf(selection.Month, year, month, 1, 0))
}

// Days is a Range by years, months and days.
type Days[R any] struct{ Months[R] }

// Day selects the items of a day, in UTC.
func (r Days[R]) Day(year int, month time.Month, day int) R {
	return r.narrowed(*selection.PeriodOf(selection.Day, year, month, day, 0))
}

// Hours is a Range by years, months, days and hours.
type Hours[R any] struct{ Days[R] }

// Hour selects the items of an hour, in UTC.
func (r Hours[R]) Hour(year int, month time.Month, day, hour int) R {
	return r.narrowed(*selection.PeriodOf(selection.Hour, year, month, day, hour))
}

// Weeks is a Range by years and weeks.
type Weeks[R any] struct{ Years[R] }

// Week selects the items of an ISO 8601 week, which begins on Monday, in UTC.
func (r Weeks[R]) Week(year, week int) R { return r.narrowed(*selection.WeekOf(year, week)) }
