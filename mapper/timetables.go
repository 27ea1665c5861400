package mapper

import (
	"fmt"
	"time"

	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/schema"
	"github.com/itemize/itemize/internal/search"
)

// TimeTables says which tables there are of a model whose tables follow the time
// (table=events_{At:month}): queries and scans that have no beginning or no end in time go over these,
// and tables.Maintain sees to it that they are there.
//
// Times are those of UTC. A period is what the placeholder says: a day, an ISO week, a month, a year.
type TimeTables struct {
	// Since is any time in the period of the oldest table that there ever was. Without it, and without
	// Keep, a query needs a beginning in time.
	Since time.Time
	// Keep is how many periods before the present one have tables, of those since Since; 0 for all of
	// them. A query that begins at an older time asks for its table all the same.
	Keep int
	// Ahead is how many periods after the present one have tables already: 1 where it is 0, so that
	// there is a table when the period begins.
	Ahead int
}

// InTimeTables tells a mapper which tables there are of a model whose tables follow the time.
func InTimeTables(t TimeTables) Option { return optionFunc(func(s *settings) { s.times = &t }) }

// What bounds the tables of a model: 10,000 days are 27 years.
const (
	maxKept  = 10_000
	maxAhead = 1_000
)

// timesOf returns what the model needs to know of its tables, checked.
func timesOf(e *schema.Entity, t *TimeTables, now time.Time) (model.Times, error) {
	switch {
	case t == nil:
		return model.Times{Ahead: 1}, nil
	case e.Periods == nil:
		return model.Times{}, fmt.Errorf("%s: InTimeTables is for a model whose tables follow the time, and this "+
			"one's do not: name its table with one of its times, as in table=events_{At:month}", e.Label())
	case t.Keep < 0 || t.Keep > maxKept || t.Ahead < 0 || t.Ahead > maxAhead:
		return model.Times{},
			fmt.Errorf("%s: InTimeTables keeps %d periods, and has %d ahead: give numbers from 0 to %d, and to %d",
				e.Label(), t.Keep, t.Ahead, maxKept, maxAhead)
	case !t.Since.IsZero() && (t.Since.Year() < 2 || t.Since.After(now)):
		return model.Times{},
			fmt.Errorf("%s: InTimeTables has tables since %s: give a time of the oldest table, which is in the past",
				e.Label(), t.Since.Format(time.DateOnly))
	}
	ahead := t.Ahead
	if ahead == 0 {
		ahead = 1
	}
	return model.Times{Since: t.Since, Keep: t.Keep, Ahead: ahead}, nil
}

// SkipMissing passes over tables of times past that are not there: a query or a scan of a model whose
// tables follow the time yields what the others hold, also where a table is dropped while it is read; Load
// and LoadMany do not find what lay in such a table. The receipt names those that were passed over
// (Skipped). Without it such a table is an error. Other models do not look at it.
func SkipMissing() ReadScanOption {
	return readFunc(func(s *search.Settings) { s.SkipMissing = true })
}
