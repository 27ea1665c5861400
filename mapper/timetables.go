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
// and [Mapper.Maintain] sees to it that they are there.
//
// Times are those of UTC. A period is what the placeholder says: a day, an ISO week, a month, a year.
type TimeTables struct {
	// Since is any time in the period of the oldest table that there ever was. Without it, and without
	// Keep, a query needs a beginning in time.
	Since time.Time
	// Keep is how many periods before the present one have tables; 0 for all since Since. A query of
	// older times asks for their tables all the same.
	Keep int
	// Ahead is how many periods after the present one have tables already: 1 where it is 0, so that
	// there is a table when the period begins.
	Ahead int
}

// InTimeTables tells a mapper which tables there are of a model whose tables follow the time.
func InTimeTables(t TimeTables) Option { return optionFunc(func(s *settings) { s.times = &t }) }

// timesOf returns what the model needs to know of its tables, checked.
func timesOf(e *schema.Entity, t *TimeTables) (model.Times, error) {
	switch {
	case t == nil:
		return model.Times{Ahead: 1}, nil
	case e.Periods == nil:
		return model.Times{}, fmt.Errorf("%s: InTimeTables is for a model whose tables follow the time, and this one's do not: name its table with one of its times, as in table=events_{At:month}", e.Label())
	case t.Keep < 0 || t.Ahead < 0:
		return model.Times{}, fmt.Errorf("%s: InTimeTables keeps %d periods, and has %d ahead: give none that is less than 0", e.Label(), t.Keep, t.Ahead)
	case !t.Since.IsZero() && (t.Since.Year() < 1 || t.Since.Year() > 9999):
		return model.Times{}, fmt.Errorf("%s: InTimeTables has tables since the year %d: keys hold the years 1 to 9999", e.Label(), t.Since.Year())
	}
	ahead := t.Ahead
	if ahead == 0 {
		ahead = 1
	}
	return model.Times{Since: t.Since, Keep: t.Keep, Ahead: ahead}, nil
}

// SkipMissing passes over tables of times past that are not there: a query of a model whose tables follow
// the time yields what the others hold, also where a table is dropped while it is read, and the receipt
// names those that were passed over (Skipped). Without it such a table is an error.
func SkipMissing() AnyReadOption {
	return readFunc(func(s *search.Settings) { s.SkipMissing = true })
}
