package mapper_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	gocmp "github.com/google/go-cmp/cmp"

	"github.com/itemize/itemize/internal/testing/handmade"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/mapper/mapperimpl"
	"github.com/itemize/itemize/query"
	"github.com/itemize/itemize/tables"
)

// Models whose tables follow the time. The time is in the sort key or in the partition key. There are
// models on shards, with several items, by weeks, and with keys that are not in order of time.
type (
	gauge struct {
		_      struct{}  `ddb:"table=gauges_{At:month}"`
		Device string    `ddb:"pk=DEV#{Device}"`
		At     time.Time `ddb:"sk={At}#{ID}"`
		ID     string    `ddb:"sk={At}#{ID}"`
		Text   string    `ddb:"sk={At}#{ID}"`
	}
	shardedGauge struct {
		_      struct{}  `ddb:"table=sharded_{At:month},shards=5,shardby=ID"`
		Device string    `ddb:"pk=DEV#{Device}#{shard}"`
		At     time.Time `ddb:"sk={At}#{ID}"`
		ID     string    `ddb:"sk={At}#{ID}"`
		Text   string    `ddb:"sk={At}#{ID}"`
	}
	trip struct {
		_     struct{}   `ddb:"table=trips_{At:year}"`
		Car   string     `ddb:"pk=CAR#{Car}"`
		At    time.Time  `ddb:"sk=TRIP#{At:seconds}#{ID}"`
		ID    string     `ddb:"sk=TRIP#{At:seconds}#{ID}"`
		Km    int        `ddb:"sk=TRIP#{At:seconds}#{ID}"`
		Stops []kit.Part `ddb:"sk=TRIP#{^At:seconds}#{^ID}#STOP#{N:02}"`
	}
	rota struct {
		_    struct{}  `ddb:"table=rotas_{At:week}"`
		At   time.Time `ddb:"pk=YEAR#{At:year}"`
		Name string    `ddb:"sk={Name}#{At}"`
		Text string    `ddb:"sk={Name}#{At}"`
	}
	alarm struct {
		_      struct{}  `ddb:"table=alarms_{At:month}"`
		_      struct{}  `ddb:"index=byKind,pk={Kind},range=KAt,sk={At}"`
		_      struct{}  `ddb:"index=byYear,pk={Kind},range=KYear,sk={At:year}#{ID}"`
		_      struct{}  `ddb:"index=byLevel,pk={Kind},range=KLevel,sk={Level:02}#{At},project='Text'"`
		Device string    `ddb:"pk=DEV#{Device}"`
		At     time.Time `ddb:"sk={At}#{ID}"`
		ID     string    `ddb:"sk={At}#{ID}"`
		Kind   string    `ddb:"sk={At}#{ID}"`
		Level  int       `ddb:"sk={At}#{ID}"`
		Text   string    `ddb:"sk={At}#{ID}"`
	}
	dayBook struct {
		_     struct{}   `ddb:"table=books_{At:month}"`
		At    time.Time  `ddb:"pk=DAY#{At:date}"`
		Text  string     `ddb:"sk=HEAD"`
		Lines []kit.Part `ddb:"sk=LINE#{N:02}"`
	}
)

// asked is a client that notes which tables are asked, in the order of the requests.
type asked struct {
	*dynamodb.Client
	mu     sync.Mutex
	tables []string
	before func(in *dynamodb.QueryInput) // a query
}

func (c *asked) note(table *string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	name := aws.ToString(table)
	c.tables = append(c.tables, name[strings.LastIndexByte(name, '_')+1:])
}

func (c *asked) Query(ctx context.Context, in *dynamodb.QueryInput,
	o ...func(*dynamodb.Options),
) (*dynamodb.QueryOutput, error) {
	c.note(in.TableName)
	if c.before != nil {
		c.before(in)
	}
	return c.Client.Query(ctx, in, o...)
}

func (c *asked) GetItem(ctx context.Context, in *dynamodb.GetItemInput,
	o ...func(*dynamodb.Options),
) (*dynamodb.GetItemOutput, error) {
	c.note(in.TableName)
	return c.Client.GetItem(ctx, in, o...)
}

// took returns the tables that were asked since, in their order.
func (c *asked) took() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	text := strings.Join(c.tables, " ")
	c.tables = nil
	return text
}

// timed returns a mapper of a model whose tables follow the time, and creates those of some times.
func timed[T any](t testing.TB, client *asked, there []time.Time, options ...mapper.Option) *mapper.Mapper[T] {
	t.Helper()
	e := testengine.Start(t)
	client.Client = e.Client()
	prefix := strings.NewReplacer("/", ".").Replace(fmt.Sprintf("%s.%d.", t.Name(), time.Now().UnixNano()))
	options = append([]mapper.Option{mapper.Tables(func(name string) string { return prefix + name })}, options...)
	m := kit.Must(mapper.New[T](client, options...))(t)
	for _, d := range kit.Must(tables.At(m, there...))(t) {
		kit.Must(client.CreateTable(context.Background(), d.Create))(t)
		t.Cleanup(func() {
			err := e.DeleteTable(context.Background(), d.Name)
			if err != nil && !errors.As(err, new(*types.ResourceNotFoundException)) {
				t.Error(err)
			}
		})
	}
	return m
}

// months are the first days of some months, one after the other.
func months(year int, month time.Month, n int) []time.Time {
	var all []time.Time
	for i := range n {
		all = append(all, time.Date(year, month+time.Month(i), 1, 0, 0, 0, 0, time.UTC))
	}
	return all
}

// A query over a time range reads only the necessary tables, across the ends of months and years,
// oldest or newest first, with limits and in pages. An entity is found by its key in its table alone.
func TestTimeTables(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	client := &asked{}
	there := months(2025, time.November, 5)
	m := timed[gauge](t, client, there, mapper.InTimeTables(mapper.TimeTables{Since: there[0]}))
	var want []gauge
	for i, at := range there {
		for n := range 3 {
			want = append(want,
				gauge{Device: "d", At: at.Add(time.Duration(n) * 10 * 24 * time.Hour), ID: fmt.Sprint(i, n), Text: "x"})
		}
		// The last instant of the month is of this table, and the first of the next of the other.
		want = append(want, gauge{Device: "d", At: at.AddDate(0, 1, 0).Add(-1), ID: fmt.Sprint(i, "end"), Text: "x"})
	}
	for _, v := range want {
		kit.Must(m.Save(ctx, m.New(v)))(t)
		if err := kit.Err(m.Save(ctx, m.New(v))); !errors.Is(err, mapper.ErrExists) {
			t.Errorf("saved twice: %v", err)
		}
	}
	client.took()
	for _, c := range []struct {
		name     string
		from, to time.Time
		tables   string
	}{
		{"a day", there[1], there[1].AddDate(0, 0, 1), "2025-12"},
		{"over the end of a month", there[0].AddDate(0, 0, 20), there[1].AddDate(0, 0, 5), "2025-11 2025-12"},
		{"over the end of a year", there[1], there[2].Add(1), "2025-12 2026-01"},
		{"until the end of a period", there[1], there[2], "2025-12"},
		{"all", there[0], there[4].AddDate(0, 1, 0), "2025-11 2025-12 2026-01 2026-02 2026-03"},
	} {
		in := slices.Clone(want)
		in = slices.DeleteFunc(in, func(v gauge) bool { return v.At.Before(c.from) || !v.At.Before(c.to) })
		q := inTime[gauge]("d").Between(c.from, c.to)
		if d := gocmp.Diff(in, kit.Must(q.Collect(ctx, m))(t)); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
		if got := client.took(); got != c.tables {
			t.Errorf("%s asked %s", c.name, got)
		}
		slices.Reverse(in)
		if d := gocmp.Diff(in, kit.Must(q.Reverse().Collect(ctx, m))(t)); d != "" {
			t.Errorf("%s, newest first (-want +got):\n%s", c.name, d)
		}
		tables := strings.Fields(c.tables)
		slices.Reverse(tables)
		if got := client.took(); got != strings.Join(tables, " ") {
			t.Errorf("%s, newest first, asked %s", c.name, got)
		}
	}
	e := kit.Must(m.Load(ctx, m.Key("d", want[7].At, want[7].ID)))(t)
	if got := client.took(); e.Value != want[7] || got != "2025-12" {
		t.Errorf("%+v from %s", e.Value, got)
	}
}

// inTime are the queries of the entities of a partition by their time, as generated code has them.
func inTime[T any](pk string) handmade.Times[T] {
	return handmade.Times[T]{Node: mapperimpl.Items(mapperimpl.Entity[T](mapperimpl.StringValue(pk)), 0, 0)}
}

// A query of the newest items reads no more tables than its limit needs, and pages continue where they
// ended, also in another table. With shards the items of one table are merged.
func TestTimeTablesPages(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	there := months(2025, time.November, 4)
	opened := mapper.InTimeTables(mapper.TimeTables{Since: there[0]})
	t.Run("one partition", func(t *testing.T) {
		client := &asked{}
		m := timed[gauge](t, client, there, opened)
		var want []gauge
		for i := range 20 {
			want = append(want,
				gauge{Device: "d", At: there[0].Add(time.Duration(i) * 140 * time.Hour), ID: fmt.Sprint(i), Text: "x"})
			kit.Must(m.Save(ctx, m.New(want[i])))(t)
		}
		q := inTime[gauge]("d").Between(there[0], there[3].AddDate(0, 0, 27))
		kit.ScatteredBy(t, m, q, want)
		client.took()
		kit.Must(q.Reverse().Limit(3).Collect(ctx, m))(t)
		if got := client.took(); got != "2026-02 2026-02" && got != "2026-02" {
			t.Errorf("the newest three from %s", got)
		}
		page := kit.Must(q.Limit(12).Page(ctx, m))(t)
		client.took()
		kit.Must(q.Limit(3).After(page.Next).Page(ctx, m))(t)
		if got := client.took(); strings.Contains(got, "2025-11") {
			t.Errorf("the second page from %s", got)
		}
		plan := kit.Must(q.Limit(3).Plan(m))(t)
		if plan.Requests.Min != 1 {
			t.Errorf("%+v", plan)
		}
		if plan := kit.Must(q.Plan(m))(t); plan.Requests.Min != 4 {
			t.Errorf("%+v", plan)
		}
		if v := kit.Must(q.Filter().Roots().Collect(ctx, m))(t); len(v) != 20 {
			t.Errorf("%d heads", len(v))
		}
	})
	t.Run("shards", func(t *testing.T) {
		m := timed[shardedGauge](t, &asked{}, there, opened)
		var want []shardedGauge
		for i := range 30 {
			want = append(want, shardedGauge{
				Device: "d", At: there[0].Add(time.Duration(i) * 92 * time.Hour),
				ID: fmt.Sprint(i), Text: "x",
			})
			kit.Must(m.Save(ctx, m.New(want[i])))(t)
		}
		kit.ScatteredBy(t, m, inTime[shardedGauge]("d").Between(there[0], there[3].AddDate(0, 0, 27)), want)
		for _, v := range want {
			if e := kit.Must(m.Load(ctx, m.Key("d", v.At, v.ID)))(t); e.Value != v {
				t.Errorf("%+v in place of %+v", e.Value, v)
			}
		}
	})
	t.Run("elements", func(t *testing.T) {
		var years []time.Time
		for y := range 3 {
			years = append(years, time.Date(2024+y, 1, 1, 0, 0, 0, 0, time.UTC))
		}
		m := timed[trip](t, &asked{}, years, mapper.InTimeTables(mapper.TimeTables{Since: years[0]}))
		var want []trip
		for i := range 12 {
			v := trip{Car: "c", At: years[0].AddDate(0, 3*i, 0), ID: fmt.Sprint(i), Km: i}
			for n := range i % 3 {
				v.Stops = append(v.Stops, kit.Part{N: n, Text: fmt.Sprint(i)})
			}
			want = append(want, v)
			kit.Must(m.Save(ctx, m.New(v)))(t)
		}
		all := handmade.Times[trip]{Node: mapperimpl.Items(mapperimpl.Entity[trip](mapperimpl.StringValue("c")), 0, 1)}
		kit.ScatteredBy(t, m, all.Since(years[0]), want)
		kit.ScatteredBy(t, m, all.Between(years[1], years[1].AddDate(1, 0, 0).Add(-1)), want[4:8])
		want[5].Km = 500
		e := kit.Must(m.Load(ctx, m.Key("c", want[5].At, "5")))(t)
		e.Value.Km = 500
		e.Value.Stops = append(e.Value.Stops, kit.Part{N: 9, Text: "new"})
		want[5].Stops = append(want[5].Stops, kit.Part{N: 9, Text: "new"})
		kit.Must(m.Save(ctx, e))(t)
		kit.Must(m.DeleteByKey(ctx, m.Key("c", want[6].At, "6"), mapper.Staged()))(t)
		want = slices.Delete(want, 6, 7)
		kit.ScatteredBy(t, m, all.Since(years[0]), want)
	})
	t.Run("in another order than time", func(t *testing.T) {
		client := &asked{}
		var weeks []time.Time
		for at := time.Date(2025, time.December, 1, 0, 0, 0, 0, time.UTC); at.Year() < 2026 ||
			at.Month() < 2; at = at.AddDate(0, 0, 7) {
			weeks = append(weeks, at)
		}
		m := timed[rota](t, client, weeks)
		// The ISO week 2026-W01 has days of both years.
		var want []rota
		for i, name := range []string{"ann", "bob", "cid"} {
			for _, day := range []int{1, 2, 3, 29} {
				want = append(want,
					rota{At: time.Date(2026, time.January, day, i, 0, 0, 0, time.UTC), Name: name, Text: "x"})
			}
			kit.Must(m.Save(ctx, m.New(rota{
				At:   time.Date(2025, time.December, 31, i, 0, 0, 0, time.UTC),
				Name: name,
			})))(t)
		}
		for _, v := range want {
			kit.Must(m.Save(ctx, m.New(v)))(t)
		}
		at := mapperimpl.Items(mapperimpl.Entity[rota](mapperimpl.TimeValue(want[0].At)), 0, 0)
		client.took()
		if _, err := query.Of[rota](at).Collect(ctx, m); err == nil ||
			!errors.As(err, new(*types.ResourceNotFoundException)) {
			t.Errorf("a year of which not all weeks have tables: %v", err)
		}
		client.took()
		named := mapperimpl.Next(at, 2, mapperimpl.StringValue("bob"))
		january := handmade.Times[rota]{Node: named}.Month(2026, time.January)
		if d := gocmp.Diff(want[4:8], kit.Must(january.Collect(ctx, m))(t)); d != "" {
			t.Errorf("bob's (-want +got):\n%s", d)
		}
		if got := client.took(); got != "2026-W01 2026-W02 2026-W03 2026-W04 2026-W05" {
			t.Errorf("asked %s", got)
		}
	})
	t.Run("by the partition key", func(t *testing.T) {
		client := &asked{}
		m := timed[dayBook](t, client, there)
		v := dayBook{At: time.Date(2026, 1, 31, 23, 0, 0, 0, time.UTC), Text: "x", Lines: []kit.Part{{N: 1, Text: "l"}}}
		kit.Must(m.Save(ctx, m.New(v)))(t)
		client.took()
		e := kit.Must(m.Load(ctx, m.Key(v.At)))(t)
		if got := client.took(); got != "2026-01" || len(e.Value.Lines) != 1 {
			t.Errorf("%+v from %s", e.Value, got)
		}
		e.Value.Lines[0].Text = "m"
		if r := kit.Must(m.Save(ctx, e))(t); r.Consumed.WCU != 1 {
			t.Errorf("%v", r)
		}
	})
}

// A missing table is an error of a query, unless it is of future times, or the query skips missing
// tables. So is a table that is dropped while it is read.
func TestTimeTablesMissing(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	client := &asked{}
	now := time.Now().UTC()
	this := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	there := []time.Time{this.AddDate(0, -3, 0), this.AddDate(0, -2, 0), this}
	m := timed[gauge](t, client, there, mapper.InTimeTables(mapper.TimeTables{Since: there[0]}))
	for i, at := range there {
		for n := range 3 {
			kit.Must(m.Save(ctx,
				m.New(gauge{
					Device: "d", At: at.Add(time.Duration(n)), ID: fmt.Sprint(10*i + n),
					Text: strings.Repeat("x", 1000),
				})))(t)
		}
	}
	ids := func(q *query.Query[gauge, gauge], options ...mapper.ReadOption) string {
		t.Helper()
		var all []string
		for v, err := range q.All(ctx, m, options...) {
			if err != nil {
				return fmt.Sprint(strings.Join(all, " "), " ", errors.As(err, new(*types.ResourceNotFoundException)),
					" ", strings.Contains(err.Error(), "mapper.SkipMissing()"))
			}
			all = append(all, v.ID)
		}
		return strings.Join(all, " ")
	}
	all := query.Of[gauge](m.Key("d"))
	if got := ids(all); got != "0 1 2 10 11 12 true true" {
		t.Error(got)
	}
	var r mapper.Receipt
	if got := ids(all, mapper.SkipMissing(), mapper.ReceiptTo(&r)); got != "0 1 2 10 11 12 20 21 22" ||
		len(r.Skipped) != 1 || !strings.HasSuffix(r.Skipped[0], this.AddDate(0, -1, 0).Format("2006-01")) {
		t.Errorf("%s, skipped %v", got, r.Skipped)
	}
	// The table of the next month does not exist yet.
	if got := ids(inTime[gauge]("d").Since(this)); got != "20 21 22" {
		t.Error(got)
	}
	if got := ids(inTime[gauge]("d").Between(this, this.AddDate(1, 0, 0)).Reverse()); got != "22 21 20" {
		t.Error(got)
	}
	for _, reverse := range []bool{false, true} {
		q := inTime[gauge]("d").Before(this.AddDate(0, -1, 0)).Limit(2)
		if reverse {
			q = q.Reverse()
		}
		page := kit.Must(q.Page(ctx, m))(t)
		for page.Next != "" {
			page = kit.Must(q.After(page.Next).Page(ctx, m))(t)
		}
	}
	// A save for a time without a table returns an error that says so.
	_, err := m.Save(ctx, m.New(gauge{Device: "d", At: this.AddDate(1, 0, 0), ID: "x"}))
	if err == nil || !errors.As(err, new(*types.ResourceNotFoundException)) ||
		!strings.Contains(err.Error(), "Maintain") {
		t.Errorf("saved for a time without a table: %v", err)
	}
	// Dropped between two answers.
	n := 0
	client.before = func(in *dynamodb.QueryInput) {
		if n++; n == 2 {
			kit.Must(client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: in.TableName}))(t)
		}
	}
	page := kit.Must(all.Limit(2).Page(ctx, m))(t)
	if _, err := all.Limit(2).After(page.Next).Page(ctx, m); err == nil ||
		!strings.Contains(err.Error(), "is missing") {
		t.Errorf("a dropped table: %v", err)
	}
	rest := kit.Must(all.Limit(2).After(page.Next).Page(ctx, m, mapper.SkipMissing()))(t)
	if len(rest.Items) != 2 || rest.Items[0].ID != "10" {
		t.Errorf("%+v", rest.Items)
	}
}

// A time that moves an entity to another table is a move, in one transaction over both tables; other
// calls find it where it is stored.
func TestTimeTablesMove(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	client := &asked{}
	there := []time.Time{time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	m := timed[trip](t, client, there, mapper.InTimeTables(mapper.TimeTables{Since: there[0]}))
	v := trip{
		Car: "c", At: there[1].Add(-time.Second), ID: "1", Km: 7,
		Stops: []kit.Part{{N: 1, Text: "a"}, {N: 2, Text: "b"}},
	}
	e := m.New(v)
	kit.Must(m.Save(ctx, e))(t)
	e.Value.At = there[1]
	var changed *mapper.ValueError
	if _, err := m.Save(ctx, e); !errors.As(err, &changed) {
		t.Errorf("moved without Move: %v", err)
	}
	plan := kit.Must(m.PlanSave(e, mapper.Move()))(t)
	r := kit.Must(m.Save(ctx, e, mapper.Move()))(t)
	tables := map[string]int{}
	for _, it := range r.Predicted().Items {
		tables[fmt.Sprint(it.Kind, " ", it.Key.Table[len(it.Key.Table)-4:])]++
	}
	traits := kit.Must(testengine.Start(t).Traits())(t)
	if tables["delete 2025"] != 3 || tables["put 2026"] != 3 || r.Predicted().WCU != plan.WCU || traits.Transactions &&
		r.Consumed.WCU != plan.WCU.Max {
		t.Errorf("%v\n%v", tables, r)
	}
	if _, err := m.Load(ctx, m.Key("c", v.At, "1")); !errors.Is(err, mapper.ErrNotFound) {
		t.Errorf("at its old time: %v", err)
	}
	moved := kit.Must(m.Load(ctx, m.Key("c", there[1], "1")))(t)
	if len(moved.Value.Stops) != 2 {
		t.Errorf("%+v", moved.Value)
	}
	// An entity that is at the new time already is not overwritten.
	kit.Must(m.Save(ctx, m.New(v)))(t)
	old := kit.Must(m.Load(ctx, m.Key("c", v.At, "1")))(t)
	old.Value.At = there[1]
	if _, err := m.Save(ctx, old, mapper.Move()); !errors.Is(err, mapper.ErrExists) {
		t.Errorf("moved onto another: %v", err)
	}
	many := kit.Must(m.LoadMany(ctx, []query.Selection[trip]{
		m.Key("c", v.At, "1"), m.Key("c", there[1], "1"),
		m.Key("c", there[0], "none"),
	}))(t)
	if many[0] == nil || many[1] == nil || many[2] != nil || !many[0].Value.At.Equal(v.At) {
		t.Errorf("%v", many)
	}
	client.took()
	many[0].Value.Km, many[1].Value.Km = 8, 9
	if r := kit.Must(mapper.Transact(ctx, m.SavePart(many[0]), m.SavePart(many[1])))(t); len(r.Predicted().Items) != 2 {
		t.Errorf("%v", r)
	}
	n := 0
	for e, err := range m.Scan(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		n += e.Value.Km
	}
	if n != 17 {
		t.Errorf("scanned %d km", n)
	}
	kit.Must(m.DeleteByKey(ctx, m.Key("c", there[1], "1")))(t)
	if got := kit.Must(query.Of[trip](m.Key("c")).Collect(ctx, m))(t); len(got) != 1 {
		t.Errorf("%+v", got)
	}
}

// Items tell their tables when they are decoded, and raw items of a transaction are those of a period.
func TestTimeTablesItems(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	client := &asked{}
	there := months(2026, time.March, 2)
	m := timed[gauge](t, client, there)
	v := gauge{Device: "d", At: there[1], ID: "1", Text: "x"}
	r := kit.Must(m.Save(ctx, m.New(v)))(t)
	name := r.Predicted().Items[0].Key.Table
	out := kit.Must(client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &name, Key: map[string]types.AttributeValue{
		"PK": &types.AttributeValueMemberS{Value: r.Predicted().Items[0].Key.Partition},
		"SK": &types.AttributeValueMemberS{Value: r.Predicted().Items[0].Key.Sort},
	}}))(t)
	for _, options := range [][]mapper.DecodeOption{nil, {mapper.InTable(name)}} {
		if d := kit.Must(m.Decode(out.Item, options...))(t); d.Key.Table != name || d.State != "live" {
			t.Errorf("%+v", d)
		}
	}
	if _, err := m.Decode(out.Item, mapper.InTable("others_2026-04")); err == nil {
		t.Error("decoded of a table that is not the model's")
	}
	e := kit.Must(m.Load(ctx, m.Key("d", v.At, "1")))(t)
	e.Value.Text = "y"
	put := types.TransactWriteItem{Put: &types.Put{TableName: &name, Item: out.Item}}
	if _, err := mapper.Transact(ctx, m.SavePart(e), mapper.RawPart(client, put)); err == nil ||
		!strings.Contains(err.Error(), "twice") && !strings.Contains(err.Error(), "two") {
		t.Errorf("one item in two parts: %v", err)
	}
	var many []gauge
	for i := range 60 {
		many = append(many, gauge{
			Device: fmt.Sprint(i % 7), At: there[i%2].Add(time.Duration(i) * time.Hour),
			ID: fmt.Sprint(i), Text: "x",
		})
	}
	all := func(yield func(gauge, error) bool) {
		for _, v := range many {
			if !yield(v, nil) {
				return
			}
		}
	}
	for _, options := range [][]mapper.BulkOption{nil, {mapper.Overwrite()}} {
		if r := kit.Must(m.BulkLoad(ctx, all, options...))(t); r.Entities != 60 && options != nil {
			t.Errorf("%+v", r)
		}
	}
	if got := kit.Must(inTime[gauge]("3").Between(there[0], there[1].AddDate(0, 1, 0).Add(-1)).Collect(ctx,
		m))(t); len(got) != 9-1 && len(got) != 9 {
		t.Errorf("%d", len(got))
	}
}

// The cache distinguishes tables: an entity that was read for one time is not returned for another.
func TestTimeTablesCached(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	client := &asked{}
	there := months(2026, time.March, 2)
	m := timed[dayBook](t, client, there, mapper.Caching(mapper.NewCache(&keepsAll{}, time.Minute)))
	for i, at := range there {
		kit.Must(m.Save(ctx, m.New(dayBook{At: at, Text: fmt.Sprint(i)})))(t)
	}
	for range 2 {
		for i, at := range there {
			if e := kit.Must(m.Load(ctx, m.Key(at)))(t); e.Value.Text != fmt.Sprint(i) {
				t.Errorf("%+v", e.Value)
			}
		}
	}
	e := kit.Must(m.Load(ctx, m.Key(there[0])))(t)
	e.Value.Text = "new"
	kit.Must(m.Save(ctx, e))(t)
	if e := kit.Must(m.Load(ctx, m.Key(there[0])))(t); e.Value.Text != "new" {
		t.Errorf("%+v", e.Value)
	}
}

// An index is in the table of each period: a query of it asks one after the other, where that is its
// order, and is refused where it is not.
func TestTimeTablesIndexed(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	client := &asked{}
	there := months(2025, time.November, 4)
	m := timed[alarm](t, client, there, mapper.InTimeTables(mapper.TimeTables{Since: there[0]}))
	var want []alarm
	for i := range 24 {
		v := alarm{
			Device: fmt.Sprint(i % 5), At: there[0].Add(time.Duration(i) * 115 * time.Hour), ID: fmt.Sprint(i),
			Kind: []string{"fire", "water"}[i%3%2], Level: i % 4, Text: "x",
		}
		r := kit.Must(m.Save(ctx, m.New(v)))(t)
		if len(r.Consumed.Indexes) > 0 && r.Consumed.WCU != r.Predicted().WCU.Max {
			t.Errorf("%v", r)
		}
		if v.Kind == "fire" {
			want = append(want, v)
		}
	}
	all := m.Index("byKind", "fire").Between(there[0], there[3].AddDate(0, 0, 27))
	kit.ScatteredBy(t, m, query.Of[alarm](all), want)
	client.took()
	latest := kit.Must(query.Of[alarm](all).Reverse().Limit(2).Collect(ctx, m))(t)
	if got := client.took(); latest[0] != want[len(want)-1] || got != "2026-02" && got != "2026-02 2026-02" {
		t.Errorf("the latest from %s: %v", got, latest)
	}
	in := slices.DeleteFunc(slices.Clone(want),
		func(v alarm) bool { return v.At.Before(there[1]) || v.At.After(there[2]) })
	if got := kit.Must(query.Of[alarm](m.Index("byKind", "fire").Between(there[1], there[2].Add(1))).Collect(ctx,
		m))(t); gocmp.Diff(in, got) != "" {
		t.Error(gocmp.Diff(in, got))
	}
	if got := client.took(); got != "2025-12 2026-01" {
		t.Errorf("asked %s", got)
	}
	levels := query.Of[alarm](m.Index("byLevel", "fire")).Roots()
	if _, err := levels.Collect(ctx, m); err == nil ||
		!strings.Contains(err.Error(), "without the order of time") {
		t.Errorf("an index in another order than time: %v", err)
	}
	years := query.Of[alarm](m.Index("byYear", "fire").BeginsWith("2025"))
	if _, err := years.Collect(ctx, m); err == nil {
		t.Error("an index in the order of years over the tables of months")
	}
	one := query.Of[alarm](m.Index("byLevel", "fire", 2).Between(there[0], there[3].AddDate(0, 0, 27))).Fetch()
	in = slices.DeleteFunc(slices.Clone(want), func(v alarm) bool { return v.Level != 2 })
	if got := kit.Must(one.Collect(ctx, m))(t); gocmp.Diff(in, got) != "" {
		t.Error(gocmp.Diff(in, got))
	}
	e := kit.Must(m.Load(ctx, m.Key(want[3].Device, want[3].At, want[3].ID)))(t)
	e.Value.Kind = "water"
	kit.Must(m.Save(ctx, e))(t)
	kit.ScatteredBy(t, m, query.Of[alarm](all), slices.Delete(want, 3, 4))
}
