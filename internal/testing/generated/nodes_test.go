package generated

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

func TestMain(m *testing.M) { testengine.Run(m) }

func newMapper[T any](t testing.TB, options ...mapper.Option) *mapper.Mapper[T] {
	t.Helper()
	options = append(options, mapper.Table(testengine.Table(t, "PK:S", "SK:S")))
	m, err := mapper.New[T](testengine.Start(t).Client(), options...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// instants returns the edges of periods, and times close to them.
func instants() []time.Time {
	var out []time.Time
	at := func(y int, m time.Month, d, h, min, s, ns int) {
		t := time.Date(y, m, d, h, min, s, ns, time.UTC)
		out = append(out, t)
	}
	for _, d := range [][3]int{
		{2019, 12, 30},
		{2019, 12, 31},
		{2020, 1, 1},
		{2020, 2, 28},
		{2020, 2, 29},
		{2020, 3, 1},
		{2020, 12, 31},
		{2021, 1, 1},
		{2021, 1, 3},
		{2021, 1, 4},
		{2021, 2, 28},
		{2021, 3, 1},
		{2021, 11, 14},
		{2000, 2, 29},
		{1999, 12, 31},
	} {
		at(d[0], time.Month(d[1]), d[2], 0, 0, 0, 0)
		at(d[0], time.Month(d[1]), d[2], 9, 59, 59, 999_999_999)
		at(d[0], time.Month(d[1]), d[2], 10, 0, 0, 1)
		at(d[0], time.Month(d[1]), d[2], 23, 59, 59, 999_999_999)
	}
	return out
}

// kathmandu is 5:45 ahead of UTC, and newYork behind it.
var zones = []*time.Location{time.UTC, time.FixedZone("Kathmandu", 5*3600+45*60), time.FixedZone("New York", -5*3600)}

func newLog(t *testing.T) (*mapper.Mapper[Log], []Event) {
	logs := newMapper[Log](t)
	var all []Event
	for i, at := range instants() {
		// A local time in; the key is in UTC.
		all = append(all, Event{at.In(zones[i%len(zones)]), fmt.Sprintf("k#%d", i)})
	}
	must(logs.Save(context.Background(), logs.New(Log{
		ID: "1", Name: "n", Nanos: all, Millis: all, Seconds: all, Unix: all, Dates: all, Months: all, Weeks: all,
		Years: all,
	}), mapper.Independent()))(t)
	return logs, all
}

// period is a query by time, and what it has to find.
type period struct {
	name  string
	query *query.Query[Log, Event]
	keeps func(time.Time) bool
}

// The nodes before a time, by their methods.
type (
	events = *logEventQuery
	since  interface {
		Query() *query.Query[Log, Event]
		Before(to time.Time) events
	}
	ranging[S since] interface {
		Between(from, to time.Time) events
		Since(from time.Time) S
		Before(to time.Time) events
	}
	yearly[S since] interface {
		ranging[S]
		Year(year int, in ...*time.Location) events
	}
	monthly[S since] interface {
		yearly[S]
		Month(year int, month time.Month, in ...*time.Location) events
	}
	daily[S since] interface {
		monthly[S]
		Day(year int, month time.Month, day int, in ...*time.Location) events
	}
	hourly[S since] interface {
		daily[S]
		Hour(year int, month time.Month, day, hour int, in ...*time.Location) events
	}
)

// years, months, days and hours list the periods of a node by its methods.
func years[S since](name string, y yearly[S]) (out []period) {
	for _, year := range []int{1999, 2000, 2019, 2020, 2021, 2022} {
		out = append(out, period{
			fmt.Sprintf("%s year %d", name, year), y.Year(year).Query(),
			func(t time.Time) bool { return t.Year() == year },
		})
	}
	for range draws.Times(4, 40, 400) {
		out = append(out, ranges(name, y)...)
	}
	return out
}

func months[S since](name string, m monthly[S]) (out []period) {
	for _, x := range [][2]int{
		{2019, 12},
		{2020, 2},
		{2020, 12},
		{2021, 1},
		{2021, 2},
		{2000, 2},
		{2021, 11},
		{2021, 10},
	} {
		month := time.Month(x[1])
		out = append(out, period{
			fmt.Sprintf("%s month %d-%d", name, x[0], x[1]), m.Month(x[0], month).Query(),
			func(t time.Time) bool {
				return t.Year() == x[0] && t.Month() == month
			},
		})
		for _, in := range zones {
			out = append(out, period{
				fmt.Sprintf("%s month %d-%d in %v", name, x[0], x[1], in),
				m.Month(x[0], month, in).Query(), func(t time.Time) bool {
					return t.In(in).Year() == x[0] && t.In(in).Month() == month
				},
			})
		}
	}
	return append(out, years(name, m)...)
}

func days[S since](name string, d daily[S]) (out []period) {
	for _, x := range [][3]int{
		{2020, 2, 29},
		{2020, 2, 28},
		{2020, 12, 31},
		{2021, 1, 1},
		{2000, 2, 29},
		{2021, 11, 13},
	} {
		day := time.Date(x[0], time.Month(x[1]), x[2], 0, 0, 0, 0, time.UTC)
		out = append(out, period{
			fmt.Sprintf("%s day %v", name, x), d.Day(x[0], time.Month(x[1]), x[2]).Query(),
			func(t time.Time) bool {
				return !t.Before(day) && t.Before(day.AddDate(0, 0, 1))
			},
		})
		for _, in := range zones {
			out = append(out,
				period{
					fmt.Sprintf("%s day %v in %v", name, x, in), d.Day(x[0], time.Month(x[1]), x[2], in).Query(),
					func(t time.Time) bool {
						y, m, n := t.In(in).Date()
						return y == x[0] && int(m) == x[1] && n == x[2]
					},
				})
		}
	}
	return append(out, months(name, d)...)
}

func hours[S since](name string, h hourly[S]) (out []period) {
	for _, hour := range []int{0, 9, 10, 23, 11} {
		from := time.Date(2020, time.February, 29, hour, 0, 0, 0, time.UTC)
		out = append(out, period{
			fmt.Sprintf("%s hour %d", name, hour), h.Hour(2020, time.February, 29, hour).Query(),
			func(t time.Time) bool {
				return !t.Before(from) && t.Before(from.Add(time.Hour))
			},
		})
	}
	return append(out, days(name, h)...)
}

// ranges returns a random Between, Since and Before. The ends are existing times or times close to
// them, in any zone, equal or reversed.
func ranges[S since](name string, r ranging[S]) []period {
	all := instants()
	end := func() time.Time {
		t := all[rand.IntN(len(all))].Add([]time.Duration{
			0, 0, 1, -1, time.Second, -time.Second, time.Millisecond,
			-time.Hour,
		}[rand.IntN(8)])
		return t.In(zones[rand.IntN(len(zones))])
	}
	from, to := end(), end()
	return []period{
		{
			fmt.Sprintf("%s between %v and %v", name, from, to), r.Between(from, to).Query(),
			func(t time.Time) bool { return !t.Before(from) && t.Before(to) },
		},
		{
			fmt.Sprintf("%s between %v and itself", name, from), r.Between(from, from).Query(),
			func(time.Time) bool { return false },
		},
		{
			fmt.Sprintf("%s since %v before %v", name, from, to), r.Since(from).Before(to).Query(),
			func(t time.Time) bool { return !t.Before(from) && t.Before(to) },
		},
		{
			fmt.Sprintf("%s since %v", name, from), r.Since(from).Query(),
			func(t time.Time) bool { return !t.Before(from) },
		},
		{
			fmt.Sprintf("%s before %v", name, from), r.Before(from).Query(),
			func(t time.Time) bool { return t.Before(from) },
		},
	}
}

// Every period and range finds exactly its items. The test covers the edges of years, months, days and
// hours, leap days, and times in any zone. It also covers placeholders after the time, and keys with a
// coarser format than the range.
func TestTimes(t *testing.T) {
	ctx := context.Background()
	logs, all := newLog(t)
	k := LogByID("1")
	periods := slices.Concat(
		hours("nanos", k.Nanos()), hours("millis", k.Millis()), hours("seconds", k.Seconds()),
		hours("unix", k.Unix()), days("dates", k.Dates()), months("months", k.Months()),
		years("weeks", k.Weeks()), years("years", k.Years()),
	)
	for _, w := range [][2]int{{2020, 1}, {2020, 53}, {2021, 1}, {2021, 45}, {2020, 9}} {
		periods = append(periods,
			period{fmt.Sprintf("week %v", w), k.Weeks().Week(w[0], w[1]).Query(), func(t time.Time) bool {
				y, n := t.ISOWeek()
				return y == w[0] && n == w[1]
			}})
	}
	for _, p := range periods {
		for _, q := range []*query.Query[Log, Event]{p.query, p.query.Reverse()} {
			got, err := q.Collect(ctx, logs)
			if err != nil {
				t.Fatalf("%s: %v", p.name, err)
			}
			var want, have []string
			for _, e := range all {
				if p.keeps(e.At.UTC()) {
					want = append(want, e.K+" "+e.At.UTC().String())
				}
			}
			for _, e := range got {
				have = append(have, e.K+" "+e.At.UTC().String())
			}
			slices.Sort(want)
			slices.Sort(have)
			if d := gocmp.Diff(want, have); d != "" {
				t.Fatalf("%s: (-want +got)\n%s", p.name, d)
			}
		}
		n, err := p.query.Count(ctx, logs)
		if got := must(p.query.Collect(ctx, logs))(t); err != nil || n != len(got) {
			t.Fatalf("%s: Count is %d, %v, of %d", p.name, n, err, len(got))
		}
	}
	t.Logf("%d periods", len(periods))
}

// A reversed range asks nothing; a date that does not exist is refused.
func TestEmptyAndImpossiblePeriods(t *testing.T) {
	ctx := context.Background()
	logs, _ := newLog(t)
	k := LogByID("1")
	var r mapper.Receipt
	got, err := k.Nanos().Between(instants()[5], instants()[1]).Collect(ctx, logs, mapper.ReceiptTo(&r))
	if err != nil || len(got) != 0 || r.Predicted().Requests != 0 {
		t.Errorf("%v, %v, %d requests", got, err, r.Predicted().Requests)
	}
	e, err := logs.Load(ctx, k.Nanos().Between(instants()[5], instants()[1]))
	if err != nil || len(e.Value.Nanos) != 0 {
		t.Errorf("%v", err)
	}
	for name, q := range map[string]*query.Query[Log, Event]{
		"no such date: 2021-02-29": k.Nanos().Day(2021, time.February, 29).Query(),
		"no such date: 2021-13-01": k.Nanos().Month(2021, 13).Query(),
		"hour 24":                  k.Nanos().Hour(2021, time.May, 1, 24).Query(),
		"week 53 of 2021":          k.Weeks().Week(2021, 53).Query(),
		"hold the years 0":         k.Nanos().Year(-1).Query(),
	} {
		if _, err := q.Collect(ctx, logs); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A loaded range can be edited and saved, and leaves the rest alone (law 2).
func TestLoadedRange(t *testing.T) {
	ctx := context.Background()
	logs, all := newLog(t)
	month := LogByID("1").Nanos().Month(2020, time.February)
	e := must(logs.Load(ctx, month))(t)
	if len(e.Value.Nanos) != 8 {
		t.Fatalf("%d events", len(e.Value.Nanos))
	}
	e.Value.Nanos = e.Value.Nanos[:1]
	if r := must(logs.Save(ctx, e))(t); len(r.Predicted().Items) != 7 {
		t.Errorf("%v", r)
	}
	if n := must(LogByID("1").Nanos().Count(ctx, logs))(t); n != len(all)-7 {
		t.Errorf("%d left", n)
	}
	e.Value.Nanos = append(e.Value.Nanos, Event{At: instants()[0]})
	var missing *mapper.NotLoadedError
	if _, err := logs.Save(ctx, e); !errors.As(err, &missing) {
		t.Errorf("an element outside of the range was saved: %v", err)
	}
}

// A segment that is the beginning of another, and values that hold the delimiter, are
// not confused.
func TestSegmentsAndDelimiters(t *testing.T) {
	ctx := context.Background()
	logs := newMapper[Log](t)
	at := instants()[0]
	must(logs.Save(ctx, logs.New(Log{
		ID: "a#b", Name: "n",
		Address: []Event{{at, "1"}, {at, "Book#1"}, {at, "#"}},
		Book:    []Event{{at, "2"}, {at, "%23"}},
		Lists:   []ListEvent{{"Public", at, 1}, {"Public#", at, 2}, {"Pub", at, 3}, {"Public", at.AddDate(1, 0, 0), 4}},
	})))(t)
	k := LogByID("a#b")
	names := func(q *query.Query[Log, Event]) string {
		var out []string
		for _, e := range must(q.Collect(ctx, logs))(t) {
			out = append(out, e.K)
		}
		return strings.Join(out, " ")
	}
	for _, c := range []struct{ got, want string }{
		{names(k.Address().Query()), "# 1 Book#1"},
		{names(k.Book().Query()), "%23 2"},
		{names(k.U().Query()), "# 1 Book#1 %23 2"},
		{names(query.Of[Event](k.Address().K("Book#1"))), "Book#1"},
		{names(query.Of[Event](k.Address().K("nothing"))), ""},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
	for list, want := range map[string][]int{"Public": {1, 4}, "Public#": {2}, "Pub": {3}} {
		var got []int
		for _, e := range must(k.Lists().List(list).Collect(ctx, logs))(t) {
			got = append(got, e.N)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v", list, got)
		}
	}
	if got := must(k.Lists().List("Public").Year(at.Year()+1).Collect(ctx, logs))(t); len(got) != 1 || got[0].N != 4 {
		t.Errorf("%v", got)
	}
	if got := must(LogByID("a").Book().Collect(ctx, logs))(t); len(got) != 0 {
		t.Errorf("another partition: %v", got)
	}
	if _, err := query.Of[Event](k.Book().K("")).Collect(ctx, logs); err == nil ||
		!strings.Contains(err.Error(), "{K}") {
		t.Errorf("an empty value: %v", err)
	}
	for ref, err := range k.U().Reverse().Limit(1).Refs(ctx, logs) {
		if err != nil || ref.Field != "Book" || ref.Sort != "U#AddressBook#2" || ref.Partition != "LOG#a%23b" ||
			ref.Value.K != "2" {
			t.Errorf("%+v, %v", ref, err)
		}
	}
}

// pages reads all pages of a query of a size, and checks that no page is larger.
func pages[T, E any](t *testing.T, m *mapper.Mapper[T], q *query.Query[T, E], size int) (all []E) {
	t.Helper()
	for n := 0; ; n++ {
		p, err := q.Limit(size).Page(context.Background(), m)
		if err != nil {
			t.Fatal(err)
		}
		if size > 0 && len(p.Items) > size {
			t.Fatalf("a page of %d, not %d", len(p.Items), size)
		}
		all = append(all, p.Items...)
		if p.Next == "" {
			return all
		}
		if n > 1000 {
			t.Fatal("pages without end")
		}
		q = q.After(p.Next)
	}
}

// Pages of any size, both ways, give what Slice gives: no element twice, none left out;
// for elements, and for entities of flat models whose items interleave.
func TestPages(t *testing.T) {
	ctx := context.Background()
	logs, _ := newLog(t)
	for _, q := range []*query.Query[Log, Event]{
		LogByID("1").Nanos().Query(),
		LogByID("1").Weeks().Between(instants()[2], instants()[9]).Query(),
	} {
		for _, q := range []*query.Query[Log, Event]{q, q.Reverse()} {
			want := must(q.Collect(ctx, logs))(t)
			for _, size := range []int{0, 1, 2, 7, len(want), len(want) + 1} {
				if got := pages(t, logs, q, size); gocmp.Diff(want, got) != "" {
					t.Errorf("pages of %d: %s", size, gocmp.Diff(want, got))
				}
			}
		}
	}
	tickets := newMapper[Ticket](t)
	for i := range 9 {
		ticket := Ticket{Queue: "q", N: i, Title: fmt.Sprint(i)}
		for n := range i % 4 {
			ticket.Notes = append(ticket.Notes, Note{n, strings.Repeat("x", 10)})
		}
		must(tickets.Save(ctx, tickets.New(ticket)))(t)
	}
	for _, q := range []*query.Query[Ticket, Ticket]{TicketByQueue("q").Query(), TicketByQueue("q").Reverse()} {
		want := must(q.Collect(ctx, tickets))(t)
		if len(want) != 9 {
			t.Fatalf("%d tickets", len(want))
		}
		for _, size := range []int{0, 1, 2, 3, 9, 10} {
			if got := pages(t, tickets, q, size); gocmp.Diff(want, got) != "" {
				t.Errorf("pages of %d: %s", size, gocmp.Diff(want, got))
			}
		}
		if n := must(q.Count(ctx, tickets))(t); n != 9 {
			t.Errorf("counted %d", n)
		}
	}
}

// A flat model's visits by time, with the stored instant deciding within a second.
func TestFlatTimes(t *testing.T) {
	ctx := context.Background()
	visits := newMapper[Visit](t)
	base := time.Date(2021, time.December, 31, 23, 59, 59, 0, time.UTC)
	for i, d := range []time.Duration{0, 500 * time.Millisecond, time.Second, 1500 * time.Millisecond, time.Hour} {
		must(visits.Save(ctx, visits.New(Visit{Site: "s", At: base.Add(d), User: fmt.Sprint("u", i), Page: "p"})))(t)
	}
	users := func(q *query.Query[Visit, Visit]) string {
		var out []string
		for _, v := range must(q.Collect(ctx, visits))(t) {
			out = append(out, v.User)
		}
		return strings.Join(out, " ")
	}
	q := VisitBySite("s")
	for _, c := range []struct{ got, want string }{
		{users(q.Query()), "u0 u1 u2 u3 u4"},
		{users(q.Year(2021)), "u0 u1"},
		{users(q.Day(2022, time.January, 1)), "u2 u3 u4"},
		{users(q.Since(base.Add(time.Millisecond)).Query()), "u1 u2 u3 u4"},
		{users(q.Before(base.Add(1500 * time.Millisecond)).Reverse()), "u2 u1 u0"},
		{users(q.At(base).Query()), "u0 u1"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
	e := must(visits.Load(ctx, VisitBySiteAtUser("s", base, "u1")))(t)
	if !e.Value.At.Equal(base.Add(500 * time.Millisecond)) {
		t.Errorf("%v", e.Value.At)
	}
}

// Filters and projections are DynamoDB's own; a limit counts the filtered elements.
func TestFilterAndProjection(t *testing.T) {
	ctx := context.Background()
	logs := newMapper[Log](t)
	var list []ListEvent
	for i := range 30 {
		list = append(list, ListEvent{"l", instants()[i], i})
	}
	must(logs.Save(ctx, logs.New(Log{ID: "1", Name: "n", Lists: list})))(t)
	q := LogByID("1").Lists().Filter(ListEventFields.N.GreaterOrEqual(10))
	got := must(q.Filter(ListEventFields.N.Less(20)).Collect(ctx, logs))(t)
	if len(got) != 10 {
		t.Errorf("%v", got)
	}
	if got := must(q.Limit(3).Collect(ctx, logs))(t); len(got) != 3 {
		t.Errorf("%v", got)
	}
	var r mapper.Receipt
	bare := must(LogByID("1").Lists().Project().Collect(ctx, logs, mapper.ReceiptTo(&r)))(t)
	if len(bare) != 30 || bare[3].N != 0 || bare[3].List != "l" || !r.Predicted().RCU.Contains(r.Consumed.RCU) {
		t.Errorf("%v, %v", bare[3], &r)
	}
	in := must(q.Input(logs))(t)
	if *in.KeyConditionExpression != "#pk = :pk AND begins_with(#sk, :sk0)" || in.FilterExpression == nil {
		t.Errorf("%+v", in)
	}
	if got := pages(t, logs, q, 4); len(got) != 20 {
		t.Errorf("%d on pages", len(got))
	}
}

// A cursor holds for its query, its partition and its mapper's key, and for nothing
// else; a changed one is refused.
func TestCursors(t *testing.T) {
	ctx := context.Background()
	key := []byte("0123456789abcdef")
	table := testengine.Table(t, "PK:S", "SK:S")
	mk := func(options ...mapper.Option) *mapper.Mapper[Log] {
		return must(mapper.New[Log](testengine.Start(t).Client(), append(options, mapper.Table(table))...))(t)
	}
	logs := mk(mapper.CursorKey(key))
	for _, id := range []string{"1", "2"} {
		must(logs.Save(ctx,
			logs.New(Log{
				ID: id, Name: "n", Address: []Event{{K: "a"}, {K: "b"}, {K: "c"}},
				Book: []Event{{K: "a"}, {K: "b"}},
			})))(t)
	}
	q := LogByID("1").Address().Limit(1)
	first := must(q.Page(ctx, logs))(t)
	second := must(q.After(first.Next).Page(ctx, mk(mapper.CursorKey(key))))(t)
	if len(second.Items) != 1 || second.Items[0].K != "b" || second.RCU != 0.5 {
		t.Errorf("%+v", second)
	}
	refused := func(name string, q *query.Query[Log, Event], m *mapper.Mapper[Log]) {
		t.Helper()
		if p, err := q.Page(ctx, m); !errors.Is(err, query.ErrCursor) {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
	c := first.Next
	refused("another partition", LogByID("2").Address().Limit(1).After(c), logs)
	refused("another list", LogByID("1").Book().After(c), logs)
	refused("the other order", q.Reverse().After(c), logs)
	refused("a filter", q.Filter(EventFields.At.Exists()).After(c), logs)
	refused("another key", q.After(c), mk(mapper.CursorKey([]byte("another key, as long"))))
	refused("a mapper's own key", q.After(c), mk())
	refused("no base64", q.After("!!"), logs)
	for i := range len(c) {
		changed := []byte(c)
		changed[i] ^= 1
		refused(fmt.Sprintf("byte %d changed", i), q.After(query.Cursor(changed)), logs)
	}
	if _, err := q.Limit(-1).Collect(ctx, logs); err == nil {
		t.Error("a negative limit")
	}
}

// patch is any patch.
type patch[T any] interface {
	Exec(ctx context.Context, m query.Source[T], options ...mapper.WriteOption) (*mapper.Receipt, error)
}

// Patches write without reading, one item with one request, and name the unmet condition.
func TestPatches(t *testing.T) {
	ctx := context.Background()
	logs := newMapper[Log](t)
	at := instants()[0]
	must(logs.Save(ctx, logs.New(Log{ID: "1", Name: "n", Count: 5, Address: []Event{{at, "a"}}})))(t)
	p, f := LogByID("1"), LogFields
	r := must(p.Patch(f.Name.Set("m"), f.Count.Increment(3)).Exec(ctx, logs))(t)
	if r.Predicted().Requests != 1 || r.Consumed.WCU != 1 || r.Consumed.RCU != 0 || !r.Predicted().WCU.Contains(1) {
		t.Errorf("%v", r)
	}
	r = must(p.Patch(f.Count.Increment(-1)).And(p.Address().Add(Event{at, "b"}), p.Address().K("a").Delete()).Exec(ctx,
		logs))(t)
	if r.Predicted().Requests != 1 ||
		r.Predicted().Mode != "transaction" { // the incarnation of the element is remembered
		t.Errorf("%v", r)
	}
	must(p.Patch(f.Extra.Set(Extra{1, "b"})).Exec(ctx, logs))(t)
	must(p.Patch(f.Name.Remove()).If(f.Name.Equal("m")).Exec(ctx, logs, mapper.ExactlyOnce()))(t)
	e := must(logs.Load(ctx, LogByID("1")))(t)
	if e.Value.Name != "" || e.Value.Count != 7 || len(e.Value.Address) != 1 || e.Value.Address[0].K != "b" ||
		*e.Value.Extra != (Extra{1, "b"}) {
		t.Errorf("%+v %+v", e.Value, e.Value.Extra)
	}
	must(p.Patch(f.Extra.Remove()).Exec(ctx, logs))(t)
	for name, c := range map[string]struct {
		p    patch[Log]
		want error
	}{
		"no such entity":       {LogByID("2").Patch(f.Name.Set("x")), mapper.ErrNotFound},
		"no such item":         {p.Patch(f.Extra.Remove()), mapper.ErrNotFound},
		"no such element":      {p.Address().K("zzz").Delete(), mapper.ErrNotFound},
		"there already":        {p.Address().Add(Event{at, "b"}), mapper.ErrExists},
		"one of two":           {p.Patch(f.Name.Set("y")).And(p.Address().Add(Event{at, "b"})), mapper.ErrExists},
		"an entity's absence":  {LogByID("2").Address().Add(Event{at, "b"}).IfEntityExists(), mapper.ErrNotFound},
		"deleted, incremented": {LogByID("3").Patch(f.Count.Increment(1)), mapper.ErrNotFound},
	} {
		if _, err := c.p.Exec(ctx, logs); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	var conflict *mapper.ConflictError
	if _, err := p.Patch(f.Name.Set("z")).If(f.Count.Equal(1)).Exec(ctx, logs); !errors.As(err, &conflict) {
		t.Errorf("%v", err)
	}
	for name, p := range map[string]patch[Log]{
		"twice":            p.Address().Add(Event{at, "x"}).And(p.Address().K("x").Delete()),
		"an empty value":   p.Address().Add(Event{at, ""}),
		"an empty id":      LogByID("").Patch(f.Name.Set("x")),
		"exclude each":     p.Patch(f.Extra.Set(Extra{}), f.Extra.Remove()),
		"bytes of a value": p.Patch(f.Name.Set(strings.Repeat("x", 400<<10+1))),
	} {
		if r, err := p.Exec(ctx, logs); err == nil || r.Predicted().Requests != 0 {
			t.Errorf("%s: %v, %v", name, r, err)
		}
	}
	// A save that was based on what the patch has changed is a conflict: it has a version.
	e.Value.Count = 100
	must(p.Patch(f.Count.Increment(1)).Exec(ctx, logs))(t)
	if _, err := logs.Save(ctx, e); !errors.As(err, &conflict) {
		t.Errorf("a patch was overwritten: %v", err)
	}
	plan := must(p.Patch(f.Name.Set("x")).Plan(logs))(t)
	if plan.Requests != 1 || plan.WCU.Min != 1 || plan.WCU.Max != 400 {
		t.Errorf("%v", plan)
	}
}
