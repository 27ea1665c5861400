package selection_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
	. "github.com/itemize/itemize/internal/read/selection"
)

type post struct {
	At   time.Time
	N    int
	Text string
}

type board struct {
	_     struct{} `ddb:"table=boards"`
	_     struct{} `ddb:"table=logs,name=Logs"`
	ID    string   `ddb:"pk=B#{ID}"`
	Title string   `ddb:"sk=HEAD"`
	Posts []post   `ddb:"sk=P#{At:date}#{N:03}"`
	Log   []post   `ddb:"table=logs,sk=L#{At}"`
}

type topic struct {
	_     struct{} `ddb:"table=topics"`
	Board string   `ddb:"pk=B#{Board}"`
	Name  string   `ddb:"sk=T#{Name}"`
	Open  bool     `ddb:"sk=T#{Name}"`
	Posts []post   `ddb:"sk=T#{^Name}#{N:03}"`
}

func of[T any](t *testing.T) *schema.Entity {
	t.Helper()
	e, err := schema.Of(reflect.TypeFor[T]())
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func text(s string) key.Scalar { return key.Scalar{Type: 'S', Text: s} }

// show describes the parts of a selection.
func show(s Selection) string {
	if s.Err != nil {
		return s.Err.Error()
	}
	var all []string
	for _, p := range s.Parts {
		part := fmt.Sprintf("%d %s ", p.Table, p.PK.Plain())
		switch r := p.Range; r.Kind {
		case All:
			part += "all"
		case One:
			part += "one " + r.Low.Plain()
		case Prefix:
			part += "prefix " + r.Low.Plain()
		case Between:
			part += r.Low.Plain() + " to " + r.High.Plain()
		case None:
			part += "none"
		}
		if p.Keep != nil {
			part += " kept"
		}
		all = append(all, part)
	}
	return strings.Join(all, ", ")
}

// Contains decides which items are read, and which may be written.
func TestContains(t *testing.T) {
	for _, c := range []struct {
		r    Range
		sk   string
		want bool
	}{
		{Range{Kind: All}, "x", true},
		{Range{Kind: None}, "x", false},
		{Range{Kind: One, Low: text("a")}, "a", true},
		{Range{Kind: One, Low: text("a")}, "ab", false},
		{Range{Kind: Prefix, Low: text("a")}, "ab", true},
		{Range{Kind: Prefix, Low: text("a")}, "b", false},
		{Range{Kind: Between, Low: text("a"), High: text("c")}, "a", true},
		{Range{Kind: Between, Low: text("a"), High: text("c")}, "c", true},
		{Range{Kind: Between, Low: text("a"), High: text("c")}, "ca", false},
		{Range{Kind: Between, Low: text("b"), High: text("c")}, "a", false},
	} {
		if got := c.r.Contains(text(c.sk)); got != c.want {
			t.Errorf("%+v and %s: %v", c.r, c.sk, got)
		}
	}
	s := Selection{Parts: []Part{{Table: 1, Range: Range{Kind: All}}}}
	if s.Contains(0, text("a")) || !s.Contains(1, text("a")) {
		t.Error("a table is another")
	}
}

// A whole entity is in all of its tables. In a flat model it is under its prefix, next to others.
func TestEntity(t *testing.T) {
	boards, topics := of[board](t), of[topic](t)
	for _, c := range []struct {
		s      Selection
		want   string
		entity bool
	}{
		{Entity(boards, []key.Value{key.OfString("1")}), "0 B#1 all, 1 B#1 all", true},
		{Entity(topics, []key.Value{key.OfString("b"), key.OfString("n")}), "0 B#b one T#n, 0 B#b prefix T#n#", true},
		{Entity(topics, []key.Value{key.OfString("b")}), "0 B#b all", false},
		{
			Entity(boards, []key.Value{key.OfString(strings.Repeat("x", 2050))}),
			`selection_test.board: "B#{ID}": the key has 2052 bytes, over the limit of 2048`, true,
		},
	} {
		if got := show(c.s); !strings.HasPrefix(got, c.want) || c.s.Entity != c.entity || c.s.Whole != c.entity {
			t.Errorf("%s, want %s; entity %v, whole %v", got, c.want, c.s.Entity, c.s.Whole)
		}
	}
}

// The targets of generated code become ranges: a prefix, one item, or the items between two times.
func TestResolve(t *testing.T) {
	e := of[board](t)
	day := time.Date(2026, time.March, 5, 0, 0, 0, 0, time.UTC)
	item := func(name string) int {
		for i, it := range e.Items {
			if it.Name == name {
				return i
			}
		}
		t.Fatal(name)
		return 0
	}
	posts, log := item("Posts"), item("Log")
	for _, c := range []struct {
		name    string
		targets []Target
		want    string
		whole   bool
	}{
		{"none", nil, "", false},
		{"the whole", []Target{{Kind: TargetWhole}}, "0 B#1 all, 1 B#1 all", true},
		{"a table", []Target{{Kind: TargetTable, Table: 1}}, "1 B#1 all", false},
		{"a prefix", []Target{{Kind: TargetPrefix, Prefix: "P#"}}, "0 B#1 prefix P#", false},
		{"all elements", []Target{{Kind: TargetItem, Item: posts, Parts: 1}}, "0 B#1 prefix P#", false},
		{"one element", []Target{{
			Kind: TargetItem, Item: posts, Parts: 4,
			Values: []key.Value{key.OfTime(day), key.OfInt(7)},
		}}, "0 B#1 one P#2026-03-05#007", false},
		{"a day", []Target{
			{Kind: TargetItem, Item: posts, Parts: 1, Time: PeriodOf(Day, Date{2026, time.March, 5, 0}, time.UTC)},
		}, "0 B#1 prefix P#2026-03-05#", false},
		{"a month", []Target{
			{Kind: TargetItem, Item: posts, Parts: 1, Time: PeriodOf(Month, Date{2026, time.March, 1, 0}, time.UTC)},
		}, "0 B#1 prefix P#2026-03-", false},
		{
			"between instants, of a key that holds dates",
			[]Target{{
				Kind: TargetItem, Item: posts, Parts: 1,
				Time: &Time{From: At(day.Add(time.Hour)), To: At(day.AddDate(0, 0, 2))},
			}},
			"0 B#1 P#2026-03-05 to P#2026-03-07$ kept", false,
		},
		{
			"between instants, of a key that holds them",
			[]Target{{Kind: TargetItem, Item: log, Parts: 1, Time: &Time{From: At(day), To: At(day.Add(time.Hour))}}},
			"1 B#1 L#2026-03-05T00:00:00.000000000Z to L#2026-03-05T01:00:00.000000000Z", false,
		},
		{"reversed", []Target{
			{Kind: TargetItem, Item: log, Parts: 1, Time: &Time{From: At(day.Add(time.Hour)), To: At(day)}},
		}, "1 B#1 none", false},
		{"no such day", []Target{{
			Kind: TargetItem, Item: posts, Parts: 1,
			Time: PeriodOf(Day, Date{2026, time.February, 30, 0}, time.UTC),
		}}, "no such date: 2026-02-30", false},
		{
			"two",
			[]Target{{Kind: TargetPrefix, Prefix: "P#"}, {Kind: TargetTable, Table: 1}},
			"0 B#1 prefix P#, 1 B#1 all", false,
		},
		{
			"one twice",
			[]Target{{Kind: TargetPrefix, Prefix: "P#"}, {Kind: TargetPrefix, Prefix: "P#"}},
			"0 B#1 prefix P#", false,
		},
		{
			"one and the whole",
			[]Target{{Kind: TargetPrefix, Prefix: "P#"}, {Kind: TargetWhole}},
			"0 B#1 prefix P#, 0 B#1 all, 1 B#1 all", true,
		},
	} {
		s := Selection{Identity: []key.Value{key.OfString("1")}, Targets: c.targets}
		got := s.Resolve(e)
		if !strings.Contains(show(got), c.want) || got.Err == nil &&
			(show(got) != c.want || got.Whole != c.whole || len(c.targets) > 0 && !got.Entity) {
			t.Errorf("%s: %s, whole %v, entity %v", c.name, show(got), got.Whole, got.Entity)
		}
		if len(s.Parts) > 0 || len(s.Targets) != len(c.targets) {
			t.Errorf("%s: the selection itself has been changed", c.name)
		}
	}
}

// Selections of one entity are joined, those of several are not.
func TestJoin(t *testing.T) {
	e := of[board](t)
	one, two := Entity(e, []key.Value{key.OfString("1")}), Entity(e, []key.Value{key.OfString("2")})
	part := one
	part.Whole, part.Parts = false, one.Parts[:1]
	if got := part.Join(one); show(got) != show(one) || !got.Whole || len(part.Parts) != 1 {
		t.Errorf("%s, whole %v", show(got), got.Whole)
	}
	if got := one.Join(two); got.Err == nil ||
		!strings.Contains(got.Err.Error(), "the selections are of different entities") {
		t.Error(got.Err)
	}
	bad := Selection{Err: fmt.Errorf("bad")}
	if one.Join(bad).Err == nil || bad.Join(one).Err == nil {
		t.Error("an error is lost")
	}
}

// A filter keeps the instants of its range, both ends included.
func TestKeeps(t *testing.T) {
	day := time.Date(2026, time.March, 5, 0, 0, 0, 0, time.UTC)
	f := &Filter{From: At(day), To: At(day.Add(time.Hour))}
	for offset, want := range map[time.Duration]bool{-1: false, 0: true, time.Hour: true, time.Hour + 1: false} {
		if got := f.Keeps(day.Add(offset)); got != want {
			t.Errorf("%v: %v", offset, got)
		}
	}
	if !(&Filter{}).Keeps(day) {
		t.Error("a filter without ends keeps nothing")
	}
}

// Calendar periods are in UTC and end with their last instant. An invalid date is an error.
func TestPeriods(t *testing.T) {
	for _, c := range []struct {
		p        *Time
		from, to string
	}{
		{
			PeriodOf(Year, Date{2026, time.January, 1, 0}, time.UTC), "2026-01-01T00:00:00Z",
			"2026-12-31T23:59:59.999999999Z",
		},
		{
			PeriodOf(Month, Date{2024, time.February, 1, 0}, time.UTC), "2024-02-01T00:00:00Z",
			"2024-02-29T23:59:59.999999999Z",
		},
		{
			PeriodOf(Day, Date{2026, time.March, 5, 0}, time.UTC), "2026-03-05T00:00:00Z",
			"2026-03-05T23:59:59.999999999Z",
		},
		{
			PeriodOf(Hour, Date{2026, time.March, 5, 23}, time.UTC), "2026-03-05T23:00:00Z",
			"2026-03-05T23:59:59.999999999Z",
		},
		{WeekOf(2026, 1, time.UTC), "2025-12-29T00:00:00Z", "2026-01-04T23:59:59.999999999Z"},
		{WeekOf(2026, 53, time.UTC), "2026-12-28T00:00:00Z", "2027-01-03T23:59:59.999999999Z"},
	} {
		if from, to := c.p.From.At.Format(time.RFC3339Nano), c.p.To.At.Format(time.RFC3339Nano); c.p.Err != nil ||
			from != c.from || to != c.to {
			t.Errorf("%s to %s, want %s to %s", from, to, c.from, c.to)
		}
	}
	for want, p := range map[string]*Time{
		"no such date: 2026-02-29":          PeriodOf(Day, Date{2026, time.February, 29, 0}, time.UTC),
		"no such date: 2026-13-01":          PeriodOf(Month, Date{2026, 13, 1, 0}, time.UTC),
		"no such date: 2026-03-05, hour 24": PeriodOf(Hour, Date{2026, time.March, 5, 24}, time.UTC),
		"no such date: week 53 of 2025":     WeekOf(2025, 53, time.UTC),
	} {
		if p.Err == nil || p.Err.Error() != want {
			t.Errorf("%v, want %s", p.Err, want)
		}
	}
}

// The common prefix of all keys of a range decides which kinds of items it can contain.
func TestCommon(t *testing.T) {
	for want, r := range map[string]Range{
		"a": {Kind: Prefix, Low: text("a")}, "P#2": {Kind: Between, Low: text("P#20"), High: text("P#21")},
		"":   {Kind: Between, Low: text("a"), High: text("b")},
		"ab": {Kind: Between, Low: text("ab"), High: text("abc")},
	} {
		if got := r.Common(); got != want {
			t.Errorf("%+v: %s", r, got)
		}
	}
}
