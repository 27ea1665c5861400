package model

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/read/selection"
	"github.com/itemize/itemize/internal/request"
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

// The first and the last instants of which a period is reckoned with: names of tables have years of four
// digits, and no zero time.
var (
	firstTime = time.Date(2, time.January, 1, 0, 0, 0, 0, time.UTC)
	lastTime  = time.Date(9998, time.December, 31, 0, 0, 0, 0, time.UTC)
)

// period returns the instant that the period of a time begins with, of one before or behind all tables
// that of the first or the last.
func (m *Model) period(at time.Time) time.Time {
	switch {
	case at.Before(firstTime):
		at = firstTime
	case at.After(lastTime):
		at = lastTime
	}
	text, _ := m.Schema.Periods.Of(key.OfTime(at))
	start, _ := key.PeriodStart(m.Schema.Periods.Kind, text)
	return start
}

// Window returns the start of the oldest and of the newest period that has a table. oldest is zero if
// nothing determines it.
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

// Absent returns the error of a read of a period's table. It returns nil if the missing table is no
// fault: the period is in the future, or skip, if set, is called with the name of the table.
func (m *Model) Absent(t *item.Table, skip func(table string), err error) error {
	var missing *request.Missing
	if t.Period == "" || !errors.As(err, &missing) || len(missing.Tables) != 1 || missing.Tables[0] != t {
		return err
	}
	switch {
	case m.Future(t):
		return nil
	case skip != nil:
		skip(t.Name)
		return nil
	}
	return fmt.Errorf("the table %s is missing: pass mapper.SkipMissing() if it was dropped; set the oldest table "+
		"(InTimeTables) if it never existed; or narrow the query: %w", t.Name, err)
}

// Future reports whether the table of a period is of times that are to come.
func (m *Model) Future(t *item.Table) bool {
	if t.Period == "" {
		return false
	}
	start, ok := key.PeriodStart(m.Schema.Periods.Kind, t.Period)
	return ok && start.After(m.Now())
}

// Existing returns the periods whose tables there are, in the order of time.
func (m *Model) Existing() ([]string, error) {
	return m.periods(selection.Span{From: math.MinInt64, To: math.MaxInt64})
}

// maxPeriods bounds how many tables a query asks.
const maxPeriods = 10_000

// InTables returns the selection with the parts of several periods spread over the periods' tables.
// These are the tables of the part's time range; a range without a start or an end is limited to the
// tables that exist.
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
		if p.Range.Kind == selection.None {
			parts = append(parts, m.nowhere(p))
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
			parts = append(parts, m.nowhere(p))
		}
	}
	s.Parts = parts
	return s
}

// nowhere is a part of which nothing is asked.
func (m *Model) nowhere(p selection.Part) selection.Part {
	p.Span, p.Range, p.Period = selection.Span{}, selection.Range{Kind: selection.None}, m.PeriodAt(m.Now(), 0)
	return p
}

// periods returns the periods of a span, in the order of time.
func (m *Model) periods(s selection.Span) ([]string, error) {
	kind := m.Schema.Periods.Kind
	oldest, newest := m.Window()
	if s.To <= lastTime.Unix() {
		newest = m.period(time.Unix(s.To, 0))
	}
	switch {
	case s.From >= firstTime.Unix(): // a zero time is none
		from := m.period(time.Unix(s.From, 0))
		if since := m.Times.Since; !since.IsZero() && from.Before(m.period(since)) {
			from = m.period(since) // there was none before
		}
		if s.Explicit || oldest.Before(from) || oldest.After(newest) {
			oldest = from
		}
	case oldest.IsZero():
		return nil, m.Errorf("it has no beginning in time, and each %s has a table: narrow the query (Since, "+
			"Between, Month), or set the oldest table (mapper.InTimeTables)", kind.Period())
	}
	var all []string
	for at := oldest; !at.After(newest); at = key.PeriodAdd(kind, at, 1) {
		if all = append(all, m.PeriodFrom(at)); len(all) > maxPeriods {
			return nil, m.Errorf("it is over more than %d tables: narrow it, or set the oldest table "+
				"(mapper.InTimeTables)", maxPeriods)
		}
	}
	return all, nil
}

// inPeriod reports whether an item is in the table of its keys.
func (m *Model) inPeriod(img *item.Image) bool {
	p := m.Schema.Periods
	placed := func(k *schema.Key, values []key.Value) (ok, is bool) {
		for i, src := range k.Sources {
			if src.From == schema.FromModel && src.KeyField == p.Field && key.Determines(k.Format(i).Kind, p.Kind) {
				period, err := p.Of(values[i])
				return true, err == nil && period == img.Table.Period
			}
		}
		return false, false
	}
	if img.Kind.Key != nil {
		if ok, is := placed(img.Kind.Key, img.Values); ok {
			return is
		}
	}
	values := make([]key.Value, len(m.Schema.PK.Sources))
	if !m.Schema.PK.Template.Parse(img.PK, values) {
		return true // its table does not matter: it belongs to no entity
	}
	_, is := placed(m.Schema.PK, values)
	return is
}
