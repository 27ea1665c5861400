package model

import (
	"errors"
	"math"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/item"
	"github.com/itemize/itemize/internal/key"
	"github.com/itemize/itemize/internal/selection"
)

// Times says which tables there are of a model whose tables follow the time.
type Times struct {
	// Since is in the period of the oldest table that there ever was, zero where that is not known.
	Since time.Time
	// Keep is how many periods before the present one have tables yet, 0 for all.
	Keep int
	// Ahead is how many periods after the present one have tables already.
	Ahead int
}

// period returns the instant that the period of a time begins with.
func (m *Model) period(at time.Time) time.Time {
	kind := m.Schema.Periods.Kind
	text, err := m.Schema.Periods.Of(key.OfTime(at))
	if err != nil {
		panic(err) // New has checked the times, and the present has a year of four digits
	}
	start, _ := key.PeriodStart(kind, text)
	return start
}

// Window returns the instants that the oldest and the newest of the periods that have tables begin
// with; oldest is zero where nothing tells.
func (m *Model) Window() (oldest, newest time.Time) {
	now, kind := m.period(m.Now()), m.Schema.Periods.Kind
	if !m.Times.Since.IsZero() {
		oldest = m.period(m.Times.Since)
	}
	if m.Times.Keep > 0 {
		if kept := key.PeriodAdd(kind, now, -m.Times.Keep); kept.After(oldest) {
			oldest = kept
		}
	}
	return oldest, key.PeriodAdd(kind, now, m.Times.Ahead)
}

// PeriodAt returns the period that comes n after that of a time.
func (m *Model) PeriodAt(at time.Time, n int) string {
	return m.PeriodFrom(key.PeriodAdd(m.Schema.Periods.Kind, m.period(at), n))
}

// PeriodFrom returns the period that begins with an instant.
func (m *Model) PeriodFrom(start time.Time) string {
	text, _ := m.Schema.Periods.Of(key.OfTime(start))
	return text
}

// Absent is the error of a read of a period's table: nil where the table is not there and that is no
// fault. It is of times that are to come, so that it holds nothing, and was met among others; or skip
// takes its name, which is nil for who does not want that.
func (m *Model) Absent(t *item.Table, among bool, skip func(table string), err error) error {
	if t.Period == "" || !errors.As(err, new(*types.ResourceNotFoundException)) {
		return err
	}
	start, ok := key.PeriodStart(m.Schema.Periods.Kind, t.Period)
	switch {
	case among && ok && start.After(m.Now()):
		return nil
	case skip != nil:
		skip(t.Name)
		return nil
	}
	return m.Errorf("the table %s is not there, so that what it held is not: where it was dropped on purpose, pass mapper.SkipMissing(), or narrow the query: %w", t.Name, err)
}

// Existing returns the periods whose tables there are, in the order of time.
func (m *Model) Existing() ([]string, error) {
	return m.periods(selection.Span{From: math.MinInt64, To: math.MaxInt64})
}

// maxPeriods bounds how many tables a query asks.
const maxPeriods = 10_000

// InTables returns the selection with the parts that lie in the tables of several periods spread over
// these: those of the time that they are of, and where that has no beginning or no end those that there
// are.
func (m *Model) InTables(s selection.Selection) selection.Selection {
	if s.Err != nil || m.Schema.Periods == nil {
		return s
	}
	var parts []selection.Part
	for _, p := range s.Parts {
		if !p.Span.On {
			parts = append(parts, p)
			continue
		}
		periods, err := m.periods(p.Span)
		if err != nil {
			s.Err = err
			return s
		}
		for _, period := range periods {
			p.Period = period
			parts = append(parts, p)
		}
		if periods == nil {
			p.Span, p.Range, p.Period = selection.Span{}, selection.Range{Kind: selection.None}, m.PeriodFrom(m.period(m.Now()))
			parts = append(parts, p)
		}
	}
	s.Parts = parts
	return s
}

// periods returns the periods of a span, in the order of time.
func (m *Model) periods(s selection.Span) ([]string, error) {
	kind := m.Schema.Periods.Kind
	oldest, newest := m.Window()
	switch {
	case s.From > math.MinInt64:
		from := m.period(time.Unix(s.From, 0))
		if m.Times.Since.IsZero() || from.After(m.period(m.Times.Since)) {
			oldest = from
		} else {
			oldest = m.period(m.Times.Since) // there was none before
		}
	case oldest.IsZero():
		return nil, m.Errorf("it has no beginning in time, and each %s has a table: give a query one (Since, Between, Month), or tell the mapper which table is the oldest (mapper.InTimeTables)", kind.Period())
	}
	if s.To < math.MaxInt64 {
		newest = m.period(time.Unix(s.To, 0))
	}
	var all []string
	for at := oldest; !at.After(newest); at = key.PeriodAdd(kind, at, 1) {
		if all = append(all, m.PeriodFrom(at)); len(all) > maxPeriods {
			return nil, m.Errorf("it is over more than %d tables: narrow it, or tell the mapper which table is the oldest (mapper.InTimeTables)", maxPeriods)
		}
	}
	return all, nil
}
