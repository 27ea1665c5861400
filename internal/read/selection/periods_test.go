package selection_test

import (
	"testing"
	"time"
	_ "time/tzdata"

	. "github.com/itemize/itemize/internal/read/selection"
)

// A time is in the period that the clocks of its location show, and periods follow each other without a
// gap. This is tested at each change of the clocks since 2000, in zones with large, small and late
// changes. In two zones an hour or a day occurs again after another one. The station Troll puts clocks
// back by two hours, and St. John's changed them at 00:01 until 2011. For these the test compares only
// days, or the changes since.
func TestPeriodsAreThoseOfTheClocks(t *testing.T) {
	since := map[string]int{"America/St_Johns": 2012}
	for _, name := range []string{
		"UTC", "America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "America/Sao_Paulo", "Asia/Beirut",
		"Africa/Cairo", "America/Havana", "Pacific/Apia",
		"Atlantic/Azores", "Antarctica/Troll", "Asia/Kathmandu", "America/Asuncion", "Asia/Amman", "America/Santiago",
		"Asia/Tehran", "America/St_Johns",
		"Africa/Casablanca", "Asia/Gaza", "Europe/Lisbon", "Europe/London", "Asia/Damascus", "America/Nuuk",
	} {
		loc, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		for at := time.Date(max(2000, since[name]), 1, 1, 0, 0, 0, 0, loc); at.Year() < 2040; {
			_, end := at.ZoneBounds()
			if end.IsZero() {
				break
			}
			if !end.After(at) {
				end = at.AddDate(0, 0, 1)
			}
			for _, d := range []time.Duration{
				-25 * time.Hour, -24 * time.Hour, -2 * time.Hour, -90 * time.Minute, -time.Hour, -45 * time.Minute,
				-30 * time.Minute, -time.Minute, -1, 0, 1, time.Minute,
				29 * time.Minute, 31 * time.Minute, 59 * time.Minute, time.Hour, 90 * time.Minute, 2 * time.Hour,
				3 * time.Hour, 23 * time.Hour, 24 * time.Hour, 26 * time.Hour,
			} {
				checkPeriods(t, end.Add(d).In(loc))
			}
			at = end
		}
	}
}

// checkPeriods checks the periods that an instant is in.
func checkPeriods(t *testing.T, at time.Time) {
	t.Helper()
	in := at.Location()
	of := func(unit Unit, d time.Time) *Time { // of the date and hour that d shows in UTC
		return PeriodOf(unit, Date{d.Year(), d.Month(), d.Day(), d.Hour()}, in)
	}
	reading := time.Date(at.Year(), at.Month(), at.Day(), at.Hour(), 0, 0, 0, time.UTC)
	midnight := reading.Truncate(24 * time.Hour)
	month, year := midnight.AddDate(0, 0, 1-at.Day()), midnight.AddDate(0, 0, 1-at.YearDay())
	wy, w := at.ISOWeek()
	ny, nw := midnight.AddDate(0, 0, 7).ISOWeek()
	for name, c := range map[string][2]*Time{
		"year":  {of(Year, year), of(Year, year.AddDate(1, 0, 0))},
		"month": {of(Month, month), of(Month, month.AddDate(0, 1, 0))},
		"week":  {WeekOf(wy, w, in), WeekOf(ny, nw, in)},
		"day":   {of(Day, midnight), of(Day, midnight.AddDate(0, 0, 1))},
		"hour":  {of(Hour, reading), of(Hour, reading.Add(time.Hour))},
	} {
		if name == "hour" && in.String() == "Antarctica/Troll" {
			continue
		}
		p, next := c[0], c[1]
		if p.Err != nil || next.Err != nil || at.Before(p.From.At) || at.After(p.To.At) {
			t.Errorf("%s: %v is not in its %s, %v to %v (%v, %v)", in, at, name, p.From.At.In(in), p.To.At.In(in),
				p.Err, next.Err)
		} else if !p.To.At.Add(1).Equal(next.From.At) {
			t.Errorf("%s: the %s after that of %v begins at %v, and that ends at %v", in, name, at, next.From.At.In(in),
				p.To.At.In(in))
		}
	}
}

// Go's bounds of a zone make no progress at the end of leap years that a rule covers.
func TestPeriodsEndWithTheYear(t *testing.T) {
	loc, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []time.Time{
		time.Date(2040, time.December, 31, 0, 0, 0, 0, loc),
		time.Date(2040, time.December, 31, 23, 30, 0, 0, loc), time.Date(2041, time.January, 1, 0, 30, 0, 0, loc),
		time.Date(9998, time.December, 31, 23, 59, 0, 0, loc),
	} {
		checkPeriods(t, at)
	}
}

func TestPeriodsThatClocksSkipAreEmpty(t *testing.T) {
	for name, d := range map[string]Date{
		"America/New_York": {2026, time.March, 8, 2},
		"Pacific/Apia":     {2011, time.December, 30, 5},
	} {
		loc, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		if p := PeriodOf(Hour, d, loc); p.Err != nil || !p.To.At.Equal(p.From.At.Add(-1)) {
			t.Errorf("%s: %v to %v, %v", name, p.From.At, p.To.At, p.Err)
		}
	}
}
