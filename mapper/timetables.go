package mapper

import (
	"fmt"
	"time"

	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/read/search"
)

// TimeTables describes the tables of a model whose tables rotate by time (table=events_{At:month}).
// Queries and scans without a start or an end in time read these tables, and tables.Maintain creates
// them.
//
// All times are UTC. A period is the unit of the placeholder: a day, an ISO week, a month, a year.
type TimeTables struct {
	// Since is a time in the period of the oldest table that ever existed. Without Since and Keep, a
	// query needs a start.
	Since time.Time
	// Keep is the number of periods before the present one that have tables, not before Since; 0 means
	// all. A query that starts earlier still reads the earlier tables.
	Keep int
	// Ahead is the number of periods after the present one that have tables already. 0 means 1, so that
	// a table exists when its period begins.
	Ahead int
}

// InTimeTables sets the tables of a model whose tables rotate by time.
func InTimeTables(t TimeTables) Option { return optionFunc(func(s *settings) { s.times = &t }) }

// Limits for the tables of a model: 10,000 days are 27 years.
const (
	maxKept  = 10_000
	maxAhead = 1_000
)

// timesOf checks the tables and returns them for the model.
func timesOf(e *schema.Entity, t *TimeTables, now time.Time) (model.Times, error) {
	switch {
	case t == nil:
		return model.Times{Ahead: 1}, nil
	case e.Periods == nil:
		return model.Times{}, fmt.Errorf("%s: InTimeTables is for a model with rotating tables: name its table "+
			"with a time, such as table=events_{At:month}", e.Label())
	case t.Keep < 0 || t.Keep > maxKept || t.Ahead < 0 || t.Ahead > maxAhead:
		return model.Times{},
			fmt.Errorf("%s: InTimeTables keeps %d periods, and has %d ahead: use 0 to %d, and 0 to %d",
				e.Label(), t.Keep, t.Ahead, maxKept, maxAhead)
	case !t.Since.IsZero() && (t.Since.Year() < 2 || t.Since.After(now)):
		return model.Times{},
			fmt.Errorf("%s: InTimeTables has tables since %s: use a time in the past, of the oldest table",
				e.Label(), t.Since.Format(time.DateOnly))
	}
	ahead := t.Ahead
	if ahead == 0 {
		ahead = 1
	}
	return model.Times{Since: t.Since, Keep: t.Keep, Ahead: ahead}, nil
}

// SkipMissing skips missing tables of past periods, for models whose tables rotate by time. A query or
// scan then returns the content of the other tables, also if a table is dropped during the read; Load
// and LoadMany return nothing from such a table. Skipped of the receipt lists the tables. Without it a
// missing table is an error. Other models ignore it.
func SkipMissing() ReadScanOption {
	return readFunc(func(s *search.Settings) { s.SkipMissing = true })
}
