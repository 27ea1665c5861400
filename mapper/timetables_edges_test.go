package mapper_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"

	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/mapper/mapperimpl"
	"github.com/itemize/itemize/query"
	"github.com/itemize/itemize/tables"
)

// What an attack on tables that follow the time has found.

type (
	twoTables struct {
		_      struct{}  `ddb:"table=heads_{At:month}"`
		_      struct{}  `ddb:"table=bodies_{At:month},name=Bodies"`
		Device string    `ddb:"pk=DEV#{Device}"`
		At     time.Time `ddb:"sk={At}"`
		Text   string    `ddb:"sk={At}"`
		Body   string    `ddb:"table=bodies_{At:month},sk={At}"`
	}
	ofKind struct {
		_      struct{}  `ddb:"table=kinds_{At:month}"`
		Device string    `ddb:"pk=DEV#{Device}"`
		Kind   string    `ddb:"sk={Kind}#{At}"`
		At     time.Time `ddb:"sk={Kind}#{At}"`
		Text   string    `ddb:"sk={Kind}#{At}"`
	}
	ofYear struct {
		_      struct{}  `ddb:"table=years_{At:month}"`
		Device string    `ddb:"pk=DEV#{Device}"`
		At     time.Time `ddb:"sk={At:year}#{Kind}#{At}"`
		Kind   string    `ddb:"sk={At:year}#{Kind}#{At}"`
	}
	yearly struct {
		_  struct{}  `ddb:"table=inyear_{At:month}"`
		At time.Time `ddb:"pk=YEAR#{At:year}"`
		ID string    `ddb:"sk={At}#{ID}"`
	}
)

// The ends of a range may be any time: zero ones are none, and those that no key can have hold nothing.
func TestTimeTablesFarEnds(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	client := &asked{}
	m := timed[gauge](t, client, []time.Time{month(-1), month(0)},
		mapper.InTimeTables(mapper.TimeTables{Since: month(-1)}))
	kit.Must(m.Save(ctx, m.New(gauge{Device: "d", At: month(0), ID: "1"})))(t)
	at := inTime[gauge]("d")
	year := func(y int) time.Time { return time.Date(y, 1, 1, 0, 0, 0, 0, time.UTC) }
	for name, c := range map[string]struct {
		q    *query.Query[gauge, gauge]
		want int
	}{
		"since zero":       {at.Since(time.Time{}), 1},
		"between zero":     {at.Between(time.Time{}, month(1)), 1},
		"up to zero":       {at.Between(month(0), time.Time{}), 0},
		"before zero":      {at.Before(time.Time{}), 0},
		"the year 1":       {at.Year(1), 0},
		"since the year 1": {at.Since(year(1).Add(24 * time.Hour)), 1},
		"since -5":         {at.Since(year(-5)), 1},
		"up to 9999":       {at.Between(month(0), year(9999).AddDate(1, 0, -1)), 1},
		"up to 12000":      {at.Between(month(0), year(12000)), 1},
		"since 12000":      {at.Since(year(12000)), 0},
		"backwards":        {at.Between(month(0).AddDate(0, 0, 9), month(0)), 0},
	} {
		if n, err := c.q.Count(ctx, m); err != nil || n != c.want {
			t.Errorf("%s: %d of %d, %v", name, n, c.want, err)
		}
		if _, err := c.q.Plan(m); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, y := range []int{1, -1, 10_000} {
		if _, err := tables.At(m, year(y)); err == nil {
			t.Errorf("a table of the year %d", y)
		}
	}
}

// A query whose items are known to be in one table reads only that table: for one time, after another
// value, by a text.
func TestTimeTablesOneInstant(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	there := months(2026, time.March, 3)
	client := &asked{}
	m := timed[gauge](t, client, there)
	at := func(i int) *query.Node[gauge] {
		n := mapperimpl.Items(mapperimpl.Entity[gauge](mapperimpl.StringValue("d")), 0, 0)
		return mapperimpl.Next(n, 2, mapperimpl.TimeValue(there[i]))
	}
	k := timed[ofKind](t, client, there)
	for i, when := range there {
		kit.Must(m.Save(ctx, m.New(gauge{Device: "d", At: when, ID: "1"})))(t)
		kit.Must(k.Save(ctx, k.New(ofKind{Device: "d", Kind: "a", At: when})))(t)
		client.took()
		if n := kit.Must(query.Of[gauge](at(i)).Count(ctx, m))(t); n != 1 ||
			client.took() != when.Format("2006-01") {
			t.Errorf("%d of %s", n, when)
		}
	}
	for prefix, want := range map[string]string{"a#2026-04-": "2026-04", "a#2026-05-01T": "2026-05"} {
		client.took()
		if n := kit.Must(query.Of[ofKind](k.Key("d").Prefix(prefix)).Count(ctx, k))(t); n != 1 {
			t.Errorf("%d of %s", n, prefix)
		}
		if got := client.took(); got != want {
			t.Errorf("%s asked %s", prefix, got)
		}
	}
}

// If a coarser time comes first in the sort key, its order is not the order of the tables, and their
// items are merged.
func TestTimeTablesCoarseOrder(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	there := months(2026, time.March, 2)
	m := timed[ofYear](t, &asked{}, there, mapper.InTimeTables(mapper.TimeTables{Since: there[0], Ahead: 1}))
	for _, kind := range []string{"b", "a"} {
		for _, at := range there {
			kit.Must(m.Save(ctx, m.New(ofYear{Device: "d", At: at, Kind: kind})))(t)
		}
	}
	var got []string
	for ref, err := range query.Of[ofYear](m.Key("d")).Refs(ctx, m, mapper.SkipMissing()) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, ref.Sort)
	}
	if len(got) != 4 || !slices.IsSorted(got) {
		t.Errorf("%q", got)
	}
}

// A missing secondary table is an error, which names it, and hides no entity.
func TestTimeTablesSecondaryTableMissing(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, n := range []int{1, -1} {
		client := &asked{}
		m := timed[twoTables](t, client, []time.Time{month(n)},
			mapper.InTimeTables(mapper.TimeTables{Since: month(min(n, 0))}))
		kit.Must(m.Save(ctx, m.New(twoTables{Device: "d", At: month(n), Text: "x", Body: "y"})))(t)
		dropped := kit.Must(tables.At(m, month(n)))(t)[1].Name
		kit.Must(client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &dropped}))(t)
		all, err := inTime[twoTables]("d").Between(month(n), month(n+1).Add(-1)).Collect(ctx, m, mapper.SkipMissing())
		if err == nil || !strings.Contains(err.Error(), dropped) {
			t.Errorf("month %d: %v, %v", n, all, err)
		}
	}
}

// If the key determines the table, queries, loads and scans skip a missing table as usual. A scan names
// it once, and its segments have no race.
func TestTimeTablesReportMissing(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := timed[dayBook](t, &asked{}, []time.Time{month(0)}, mapper.InTimeTables(mapper.TimeTables{Since: month(-1)}))
	kit.Must(m.Save(ctx, m.New(dayBook{At: month(0), Lines: []kit.Part{{N: 1}}})))(t)
	lines := func(at time.Time, options ...mapper.ReadOption) (int, error) {
		return query.Of[kit.Part](m.Key(at).Prefix("LINE#")).Count(ctx, m, options...)
	}
	var r mapper.Receipt
	if n, err := lines(month(-1), mapper.SkipMissing(), mapper.ReceiptTo(&r)); err != nil || n != 0 ||
		len(r.Skipped) != 1 {
		t.Errorf("%d, %v, %v", n, err, r.Skipped)
	}
	if _, err := lines(month(-1)); err == nil || !strings.Contains(err.Error(), "mapper.SkipMissing()") {
		t.Error(err)
	}
	if n, err := lines(month(1)); err != nil || n != 0 {
		t.Errorf("%d of a month to come, %v", n, err)
	}
	if _, err := m.Load(ctx, m.Key(month(-1)), mapper.SkipMissing(), mapper.ReceiptTo(&r)); !errors.Is(err,
		mapper.ErrNotFound) || len(r.Skipped) != 1 {
		t.Errorf("%v, %v", err, r.Skipped)
	}
	many, err := m.LoadMany(ctx, []query.Selection[dayBook]{m.Key(month(-1)), m.Key(month(0))}, mapper.SkipMissing(),
		mapper.ReceiptTo(&r))
	if err != nil || many[0] != nil || many[1] == nil || len(r.Skipped) != 1 {
		t.Errorf("%v, %v, %v", many, err, r.Skipped)
	}
	n := 0
	for _, err := range m.Scan(ctx, mapper.Segments(8), mapper.SkipMissing(), mapper.ReceiptTo(&r)) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 1 || len(r.Skipped) != 1 {
		t.Errorf("scanned %d, %v", n, r.Skipped)
	}
}

// A cursor continues after the window of tables has moved, even past the whole query. A partition key
// with a coarser time reads the existing tables.
func TestTimeTablesWindow(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := timed[gauge](t, &asked{}, []time.Time{month(-2), month(-1), month(0), month(1)},
		mapper.InTimeTables(mapper.TimeTables{Keep: 2}))
	for n := -2; n <= 0; n++ {
		for i := range 2 {
			kit.Must(m.Save(ctx, m.New(gauge{
				Device: "d", At: month(n).Add(time.Duration(i)),
				ID: fmt.Sprint(n, i),
			})))(t)
		}
	}
	q := inTime[gauge]("d").Before(month(1)).Limit(1)
	page := kit.Must(q.Page(ctx, m))(t)
	door.Mapper.Model(m).Now = func() time.Time { return month(1) } // the table of the first page is not kept any more
	next := kit.Must(q.After(page.Next).Page(ctx, m))(t)
	if len(next.Items) != 1 || next.Items[0].ID != "-1 0" {
		t.Errorf("%+v", next.Items)
	}
	door.Mapper.Model(m).Now = func() time.Time { return month(9) }
	if last, err := q.After(next.Next).Page(ctx, m); err != nil || len(last.Items) > 0 {
		t.Errorf("%+v, %v", last, err)
	}
	// So does one of an index, of which one table is left.
	c := &asked{}
	alarms := timed[alarm](t, c, []time.Time{month(-1), month(0), month(1)},
		mapper.InTimeTables(mapper.TimeTables{Keep: 1}))
	for n := -1; n <= 0; n++ {
		kit.Must(alarms.Save(ctx, alarms.New(alarm{Device: "d", At: month(n), ID: fmt.Sprint(n), Kind: "fire"})))(t)
	}
	fires := query.Of[alarm](alarms.Index("byKind", "fire").AtMost(month(1).Add(-1))).Limit(1)
	first := kit.Must(fires.Page(ctx, alarms))(t)
	door.Mapper.Model(alarms).Now = func() time.Time { return month(1) }
	if rest := kit.Must(fires.After(first.Next).Page(ctx, alarms))(t); first.Items[0].ID != "-1" ||
		len(rest.Items) != 1 ||
		rest.Items[0].ID != "0" {
		t.Errorf("%+v, then %+v", first.Items, rest.Items)
	}
	june := func() time.Time { return time.Date(2026, time.June, 15, 0, 0, 0, 0, time.UTC) }
	client := &asked{}
	y := timed[yearly](t, client, months(2026, time.April, 4), mapper.InTimeTables(mapper.TimeTables{Keep: 2}))
	door.Mapper.Model(y).Now = june
	kit.Must(y.Save(ctx, y.New(yearly{At: june(), ID: "1"})))(t)
	client.took()
	if n, err := query.Of[yearly](y.Key(june())).Limit(1).Count(ctx, y); err != nil || n != 1 {
		t.Errorf("%d, %v", n, err)
	}
	if got := client.took(); got != "2026-04 2026-05 2026-06" {
		t.Errorf("asked %s", got)
	}
}

// An item in the table of another time belongs to no entity.
func TestTimeTablesWrongTable(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	there := months(2026, time.March, 2)
	client := &asked{}
	m := timed[gauge](t, client, there)
	r := kit.Must(m.Save(ctx, m.New(gauge{Device: "d", At: there[0], ID: "1"})))(t)
	names := []string{r.Predicted().Items[0].Key.Table, kit.Must(tables.At(m, there[1]))(t)[0].Name}
	out := kit.Must(client.Scan(ctx, &dynamodb.ScanInput{TableName: &names[0]}))(t)
	kit.Must(client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &names[1], Item: out.Items[0]}))(t)
	if n := kit.Must(inTime[gauge]("d").Between(there[0], there[1].AddDate(0, 0, 5)).Count(ctx, m))(t); n != 1 {
		t.Errorf("found %d times", n)
	}
	if d := kit.Must(m.Decode(out.Items[0], mapper.InTable(names[1])))(t); d.State != "unknown" {
		t.Errorf("%+v", d)
	}
}

// The least that a plan promises is not more than is taken, also where tables are to come.
func TestTimeTablesPlanned(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := timed[gauge](t, &asked{}, []time.Time{month(0)})
	q := inTime[gauge]("d").Between(month(0), month(6))
	plan := kit.Must(q.Plan(m))(t)
	var r mapper.Receipt
	kit.Must(q.Collect(ctx, m, mapper.ReceiptTo(&r)))(t)
	if plan.RCU.Min > 0.5 || plan.Requests.Min != 1 {
		t.Errorf("%+v", plan)
	}
}

// An entity of a time that has no table fails by itself in a bulk load, and says so; the others are
// loaded.
func TestTimeTablesBulkMissing(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	there := months(2026, time.March, 2)
	all := func(yield func(gauge, error) bool) {
		for i := range 90 {
			if !yield(gauge{
				Device: fmt.Sprint(i % 7), At: time.Date(2026, time.Month(2+i%3), 1, i, 0, 0, 0, time.UTC),
				ID: fmt.Sprint(i),
			}, nil) {
				return
			}
		}
	}
	for name, options := range map[string][]mapper.BulkOption{"insert": nil, "overwrite": {mapper.Overwrite()}} {
		m := timed[gauge](t, &asked{}, there)
		r := kit.Must(m.BulkLoad(ctx, all, options...))(t)
		if r.Entities != 60 || r.Failed != 30 || r.Next != "" ||
			!strings.Contains(r.Failures[0].Err.Error(), "gauges_2026-02\" does not exist") ||
			!strings.Contains(r.Failures[0].Err.Error(), "Maintain") {
			t.Errorf("%s: %d, %d failed: %v", name, r.Entities, r.Failed, r.Failures[:min(len(r.Failures), 1)])
		}
		if n := kit.Must(inTime[gauge]("3").Between(there[0], there[1].AddDate(0, 0, 20)).Count(ctx, m))(t); n == 0 {
			t.Error(name, "nothing is stored")
		}
	}
}

// described is an admin whose descriptions are changed on their way.
type described struct {
	*admin
	change func(n int, out *dynamodb.DescribeTableOutput, err error) (*dynamodb.DescribeTableOutput, error)
	n      int
}

func (c *described) DescribeTable(ctx context.Context, in *dynamodb.DescribeTableInput,
	o ...func(*dynamodb.Options),
) (*dynamodb.DescribeTableOutput, error) {
	out, err := c.admin.DescribeTable(ctx, in, o...)
	c.n++
	return c.change(c.n, out, err)
}

// The manager keeps tables of others. It waits for a late table, and not for one that never comes. It
// neither drops nor cools tables by a clock that may be wrong.
func TestMaintainWithCare(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	t.Run("of somebody else", func(t *testing.T) {
		m, c := maintained(t, nil, mapper.TimeTables{})
		d := tables.Of(m)[0]
		d.Create.AttributeDefinitions[0].AttributeName, d.Create.KeySchema[0].AttributeName = aws.String("id"),
			aws.String("id")
		kit.Must(c.Client.CreateTable(ctx, d.Create))(t)
		r := kit.Must(tables.Maintain(ctx, m, c, tables.Maintenance{}))(t)
		if got := state(t, m, c.Client); len(r.Differences) != 1 || got != "0, 1 ttl" {
			t.Errorf("%v: %s", r.Differences, got)
		}
	})
	t.Run("described late", func(t *testing.T) {
		m, c := maintained(t, nil, mapper.TimeTables{})
		late := &described{
			admin: c,
			change: func(n int, out *dynamodb.DescribeTableOutput, err error) (*dynamodb.DescribeTableOutput, error) {
				if n < 6 {
					return nil, &types.ResourceNotFoundException{}
				}
				return out, err
			},
		}
		r := kit.Must(tables.Maintain(ctx, m, late, tables.Maintenance{}))(t)
		if got := state(t, m, c.Client); len(r.Steps) != 4 || got != "0 ttl, 1 ttl" {
			t.Errorf("%v: %s", r.Steps, got)
		}
		never := &described{
			admin: c,
			change: func(int, *dynamodb.DescribeTableOutput, error) (*dynamodb.DescribeTableOutput, error) {
				return nil, &types.ResourceNotFoundException{}
			},
		}
		if _, err := tables.Maintain(request.InOrder(ctx), m, never, tables.Maintenance{}); err == nil {
			t.Error("tables that never come are told to be there")
		}
	})
	for name, c := range map[string]struct {
		change func(*dynamodb.DescribeTableOutput)
		want   string
	}{
		"never active": {func(out *dynamodb.DescribeTableOutput) {
			out.Table.TableStatus = types.TableStatusInaccessibleEncryptionCredentials
		}, ", which does not become ACTIVE by itself"},
		"protected": {func(out *dynamodb.DescribeTableOutput) {
			out.Table.DeletionProtectionEnabled = aws.Bool(true)
		}, "protected against deletion"},
		"without a clock": {
			func(out *dynamodb.DescribeTableOutput) { out.ResultMetadata = middleware.Metadata{} },
			"nothing is dropped",
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, a := maintained(t, []int{0, -1, 2}, mapper.TimeTables{Keep: 1})
			client := &described{
				admin: a,
				change: func(_ int, out *dynamodb.DescribeTableOutput, err error) (*dynamodb.DescribeTableOutput,
					error,
				) {
					if err == nil {
						c.change(out)
					}
					return out, err
				},
			}
			exported := 0
			r, err := tables.Maintain(ctx, m, client,
				tables.Maintenance{
					Drop: true,
					Export: func(context.Context, *types.TableDescription) (bool,
						error,
					) {
						exported++
						return true, nil
					},
				})
			if err == nil || !strings.Contains(err.Error(), c.want) || exported > 0 ||
				slices.ContainsFunc(r.Steps, func(s tables.Step) bool { return s.Action == "drop" }) {
				t.Errorf("%v: %v, exported %d", err, r.Steps, exported)
			}
			if got := state(t, m, a.Client); !strings.HasPrefix(got, "-2, ") {
				t.Error(got)
			}
		})
	}
	t.Run("holes", func(t *testing.T) {
		m, c := maintained(t, []int{3, 1}, mapper.TimeTables{Since: month(-3), Keep: 6})
		r := kit.Must(tables.Maintain(ctx, m, c, tables.Maintenance{}))(t)
		if len(r.Differences) != 1 || !strings.HasSuffix(r.Differences[0].Table, month(-2).Format("2006-01")) {
			t.Errorf("%v", r.Differences)
		}
	})
	t.Run("cooled by a wrong clock", func(t *testing.T) {
		m, c := maintained(t, []int{0}, mapper.TimeTables{})
		door.Mapper.Model(m).Now = func() time.Time { return month(5) }
		_, err := tables.Maintain(ctx, m, c,
			tables.Maintenance{Cold: []func(*types.TableDescription) *dynamodb.UpdateTableInput{
				nil,
				tables.ColdCapacity(1, 1),
			}})
		if got := state(t, m, c.Client); err == nil || strings.Contains(got, "cold") {
			t.Errorf("%v: %s", err, got)
		}
	})
}
