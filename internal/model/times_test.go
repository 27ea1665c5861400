package model_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/read/selection"
	"github.com/itemize/itemize/internal/testing/draws"
	. "github.com/itemize/itemize/internal/testing/fakedynamo"
)

// Models whose tables follow the time in each period, with keys of several formats.
type (
	daily struct {
		_  struct{}  `ddb:"table=daily_{At:date}"`
		ID string    `ddb:"pk=D#{ID}"`
		At time.Time `ddb:"sk={At}#x"`
	}
	weekly struct {
		_  struct{}  `ddb:"table=weekly_{At:week}"`
		ID string    `ddb:"pk=W#{ID}"`
		At time.Time `ddb:"sk=T#{At:seconds}"`
	}
	monthly struct {
		_  struct{}  `ddb:"table=monthly_{At:month}"`
		ID string    `ddb:"pk=M#{ID}"`
		At time.Time `ddb:"sk={At:date}#{ID}"`
	}
	yearly struct {
		_  struct{}  `ddb:"table=yearly_{At:year}"`
		ID string    `ddb:"pk=Y#{ID}"`
		At time.Time `ddb:"sk=T#{At:unix}#x"`
	}
	yearOfMonths struct {
		_  struct{}  `ddb:"table=months_{At:month}"`
		At time.Time `ddb:"pk=Y#{At:year}"`
		ID string    `ddb:"sk={At:millis}#{ID}"`
	}
)

// instant is one of a few years, often near the end of a period.
func instant(r *rand.Rand) time.Time {
	at := time.Date(2019+r.IntN(4), time.Month(1+r.IntN(12)), 1+r.IntN(31), 0, 0, 0, 0, time.UTC)
	switch r.IntN(4) {
	case 0:
		return at
	case 1:
		return at.Add(-1)
	case 2:
		return time.Date(at.Year(), 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(r.IntN(3) - 1))
	}
	return at.Add(time.Duration(r.Int64N(int64(48 * time.Hour))))
}

// Law: a query over a time range reads the tables of the times in it, and no others. The first and the
// last table are those of the ends.
func TestPeriodsOfRange(t *testing.T) {
	seed := draws.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	for name, m := range map[string]*model.Model{
		"days": Of[daily](t), "weeks": Of[weekly](t), "months": Of[monthly](t),
		"years": Of[yearly](t),
	} {
		at := slices.IndexFunc(m.Root().Key.Template.Parts,
			func(p key.Part) bool { return p.Format.Kind != key.Literal })
		for range draws.Times(100, 600, 10_000) {
			from, to := instant(r), instant(r)
			if to.Before(from) {
				from, to = to, from
			}
			s := selection.Selection{
				Identity: []key.Value{key.OfString("1")},
				Targets: []selection.Target{{
					Kind: selection.TargetItem, Parts: at,
					Time: &selection.Time{From: selection.At(from), To: selection.At(to)},
				}},
			}
			s = m.InTables(s.Resolve(m.Schema))
			if s.Err != nil {
				t.Fatal(s.Err)
			}
			var got []string
			for _, p := range s.Parts {
				if !p.Span.Ordered {
					t.Fatalf("%s: the order is not that of time", name)
				}
				got = append(got, p.Period)
			}
			if first, last := m.PeriodAt(from, 0), m.PeriodAt(to, 0); got[0] != first || got[len(got)-1] != last ||
				!slices.IsSorted(got) {
				t.Fatalf("%s: %s to %s (%s to %s): %v", name, from, to, first, last, got)
			}
			for range 20 {
				v := from.Add(time.Duration(r.Int64N(int64(to.Sub(from)) + 1)))
				p, err := m.Schema.Partition([]key.Value{key.OfString("1"), key.OfTime(v)})
				if err != nil || !slices.Contains(got, p.Period) {
					t.Fatalf("%s: %s is of %s, %v: %v", name, v, p.Period, err, got)
				}
				if table := m.Table(0, p.Period); m.TableNamed(table.Name) != table ||
					!strings.HasSuffix(table.Name, p.Period) {
					t.Fatalf("%s is not found by its name", table.Name)
				}
			}
		}
	}
}

// A partition key with a coarser time determines some tables. A range without a start is limited to the
// tables that exist. It is an error if nothing determines the tables.
func TestPeriodsOfPartition(t *testing.T) {
	m := Of[yearOfMonths](t)
	m.Now = func() time.Time { return time.Date(2026, time.November, 22, 0, 0, 0, 0, time.UTC) }
	periods := func(s selection.Selection) string {
		s = m.InTables(s)
		if s.Err != nil {
			return s.Err.Error()
		}
		var all []string
		for _, p := range s.Parts {
			all = append(all, p.Period)
		}
		return strings.Join(all, " ")
	}
	year := selection.Entity(m.Schema, []key.Value{key.OfTime(time.Date(2021, time.June, 1, 0, 0, 0, 0, time.UTC))})
	if got := periods(year); !strings.HasPrefix(got, "2021-01 2021-02") || !strings.HasSuffix(got, "2021-11 2021-12") ||
		len(strings.Fields(got)) != 12 {
		t.Error(got)
	}
	m = Of[monthly](t)
	m.Now = func() time.Time { return time.Date(2026, time.November, 22, 0, 0, 0, 0, time.UTC) }
	all := selection.Entity(m.Schema, []key.Value{key.OfString("1")})
	for _, c := range []struct {
		times model.Times
		r     selection.Range
		want  string
	}{
		{model.Times{Ahead: 1}, selection.Range{}, "it has no beginning in time"},
		{model.Times{Keep: 2, Ahead: 1}, selection.Range{}, "2026-09 2026-10 2026-11 2026-12"},
		{model.Times{Since: m.Now(), Keep: 2}, selection.Range{}, "2026-11"},
		{model.Times{Since: m.Now().AddDate(0, -5, 0), Keep: 1}, selection.Range{}, "2026-10 2026-11"},
		{model.Times{Ahead: 1}, selection.Range{Kind: selection.Prefix, Low: Text("2026-03")}, "2026-03"},
		{model.Times{Ahead: 1}, selection.Range{Kind: selection.Prefix, Low: Text("2026-03-15#x")}, "2026-03"},
		{
			model.Times{Since: m.Now().AddDate(-3, 0, 0)},
			selection.Range{Kind: selection.Prefix, Low: Text("2025")},
			"2025-01 2025-02 2025-03 2025-04 2025-05 2025-06 2025-07 2025-08 2025-09 2025-10 2025-11 2025-12",
		},
		{model.Times{Ahead: 1}, selection.Range{
			Kind: selection.Between, Low: Text("2025-12-30"),
			High: Text("2026-01-02"),
		}, "2025-12 2026-01"},
		{
			model.Times{Ahead: 1},
			selection.Range{Kind: selection.AtLeast, Low: Text("2026-10")},
			"2026-10 2026-11 2026-12",
		},
		{model.Times{Keep: 1}, selection.Range{Kind: selection.AtMost, High: Text("2026-10-31")}, "2026-10"},
		{
			model.Times{Since: m.Now()},
			selection.Range{Kind: selection.Between, Low: Text("2020-01-01"), High: Text("2026-11-02")},
			"2026-11",
		},
		{model.Times{Keep: 1}, selection.Range{
			Kind: selection.Between, Low: Text("2026-01-01"),
			High: Text("2026-02-02"),
		}, "2026-01 2026-02"},
		{model.Times{Ahead: 1}, selection.Range{
			Kind: selection.Between, Low: Text("0003-02-01"),
			High: Text("9990-12-31"),
		}, "over more than 10000 tables"},
	} {
		m.Times = c.times
		if got := periods(all.Narrow(m.Schema, 0, c.r)); !strings.Contains(got, c.want) ||
			!strings.Contains(c.want, "t") && got != c.want {
			t.Errorf("%+v, %+v: %s in place of %s", c.times, c.r, got, c.want)
		}
	}
}

// Names that only look like those of a period's table are not.
func TestTableNamed(t *testing.T) {
	m := Of[monthly](t)
	for name, want := range map[string]bool{
		"monthly_2026-11": true, "monthly_0001-01": false, "monthly_2026-13": false, "monthly_2026-1": false,
		"monthly_2026-11-backup": false,
		"monthly_":               false, "monthly_{At:month}": false, "x_2026-11": false, "xmonthly_2026-11": false,
		"monthly_+026-11": false,
	} {
		if got := m.TableNamed(name); (got != nil) != want || got != nil && got.Name != name {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
