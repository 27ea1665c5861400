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

	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/tables"
)

type meter struct {
	_      struct{}  `ddb:"table=meters_{At:month},ttl=until"`
	Device string    `ddb:"pk=DEV#{Device}"`
	At     time.Time `ddb:"sk={At}"`
	Text   string    `ddb:"sk={At}"`
	Until  time.Time `ddb:"sk={At},ttl"`
}

// admin is a client that manages tables, and fails at one of its requests: before it is sent, or when it
// was answered.
type admin struct {
	*dynamodb.Client
	mu       sync.Mutex
	requests int
	failAt   int // 0 for none
	after    bool
	calls    []string
}

var errKilled = errors.New("killed")

// call counts a request, and fails where it has to; what a killed process would do next fails as well.
func call[I, O any](c *admin, ctx context.Context, name string, in I,
	send func(context.Context, I, ...func(*dynamodb.Options)) (O, error),
) (out O, err error) {
	c.mu.Lock()
	c.requests++
	n := c.requests
	c.calls = append(c.calls, name)
	c.mu.Unlock()
	switch {
	case c.failAt == 0 || n < c.failAt:
	case n == c.failAt && c.after:
		if out, err = send(ctx, in); err != nil {
			return out, err
		}
		return out, errKilled
	default:
		return out, errKilled
	}
	return send(ctx, in)
}

func (c *admin) ListTables(ctx context.Context, in *dynamodb.ListTablesInput,
	_ ...func(*dynamodb.Options),
) (*dynamodb.ListTablesOutput, error) {
	return call(c, ctx, "ListTables", in, c.Client.ListTables)
}

func (c *admin) DescribeTable(ctx context.Context, in *dynamodb.DescribeTableInput,
	_ ...func(*dynamodb.Options),
) (*dynamodb.DescribeTableOutput, error) {
	return call(c, ctx, "DescribeTable", in, c.Client.DescribeTable)
}

func (c *admin) DescribeTimeToLive(ctx context.Context, in *dynamodb.DescribeTimeToLiveInput,
	_ ...func(*dynamodb.Options),
) (*dynamodb.DescribeTimeToLiveOutput, error) {
	return call(c, ctx, "DescribeTimeToLive", in, c.Client.DescribeTimeToLive)
}

func (c *admin) CreateTable(ctx context.Context, in *dynamodb.CreateTableInput,
	_ ...func(*dynamodb.Options),
) (*dynamodb.CreateTableOutput, error) {
	return call(c, ctx, "CreateTable", in, c.Client.CreateTable)
}

func (c *admin) UpdateTable(ctx context.Context, in *dynamodb.UpdateTableInput,
	_ ...func(*dynamodb.Options),
) (*dynamodb.UpdateTableOutput, error) {
	return call(c, ctx, "UpdateTable", in, c.Client.UpdateTable)
}

func (c *admin) UpdateTimeToLive(ctx context.Context, in *dynamodb.UpdateTimeToLiveInput,
	_ ...func(*dynamodb.Options),
) (*dynamodb.UpdateTimeToLiveOutput, error) {
	return call(c, ctx, "UpdateTimeToLive", in, c.Client.UpdateTimeToLive)
}

func (c *admin) DeleteTable(ctx context.Context, in *dynamodb.DeleteTableInput,
	_ ...func(*dynamodb.Options),
) (*dynamodb.DeleteTableOutput, error) {
	return call(c, ctx, "DeleteTable", in, c.Client.DeleteTable)
}

// maintained is a mapper with tables of its own, which are those of the months given, before this one.
func maintained(t testing.TB, before []int, times mapper.TimeTables) (*mapper.Mapper[meter], *admin) {
	t.Helper()
	ctx := context.Background()
	c := &admin{Client: testengine.Start(t).Client()}
	prefix := strings.NewReplacer("/", ".").Replace(fmt.Sprintf("%s.%d.", t.Name(), time.Now().UnixNano()))
	m := kit.Must(mapper.New[meter](c.Client, mapper.Tables(func(name string) string { return prefix + name }),
		mapper.InTimeTables(times)))(t)
	for _, n := range before {
		for _, d := range kit.Must(tables.At(m, month(-n)))(t) {
			kit.Must(c.Client.CreateTable(ctx, d.Create))(t)
		}
	}
	t.Cleanup(func() {
		for _, name := range tablesWith(t, c.Client, prefix) {
			_, _ = c.Client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &name})
		}
	})
	return m, c
}

// month is the first day of the month that comes n after this one.
func month(n int) time.Time {
	now := time.Now().UTC()
	return time.Date(now.Year(), now.Month()+time.Month(n), 1, 0, 0, 0, 0, time.UTC)
}

func tablesWith(t testing.TB, c *dynamodb.Client, prefix string) []string {
	t.Helper()
	var all []string
	p := dynamodb.NewListTablesPaginator(c, &dynamodb.ListTablesInput{})
	for p.HasMorePages() {
		for _, name := range kit.Must(p.NextPage(context.Background()))(t).TableNames {
			if strings.HasPrefix(name, prefix) {
				all = append(all, name)
			}
		}
	}
	return all
}

// state describes the tables of a mapper, by their months from the present one on.
func state(t testing.TB, m *mapper.Mapper[meter], c *dynamodb.Client) string {
	t.Helper()
	ctx := context.Background()
	var all []string
	for n := -6; n <= 3; n++ {
		d := kit.Must(tables.At(m, month(n)))(t)[0]
		out, err := c.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &d.Name})
		if errors.As(err, new(*types.ResourceNotFoundException)) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprint(n)
		if b := out.Table.BillingModeSummary; b == nil || b.BillingMode != types.BillingModePayPerRequest {
			text += fmt.Sprintf(" cold %d", aws.ToInt64(out.Table.ProvisionedThroughput.ReadCapacityUnits))
		}
		if ttl := kit.Must(c.DescribeTimeToLive(ctx,
			&dynamodb.DescribeTimeToLiveInput{TableName: &d.Name}))(t); ttl.TimeToLiveDescription.TimeToLiveStatus ==
			types.TimeToLiveStatusEnabled {
			text += " ttl"
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

// The manager creates the tables ahead, with their time to live, cools the cold ones and drops those
// past their time, each as asked; it does nothing a second time.
func TestMaintain(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m, c := maintained(t, []int{1, 2, 3, 4, 5}, mapper.TimeTables{Keep: 3, Ahead: 2})
	for _, step := range []struct {
		o     tables.Maintenance
		state string
		steps int
	}{
		{tables.Maintenance{}, "-5, -4, -3, -2, -1, 0 ttl, 1 ttl, 2 ttl", 6},
		{tables.Maintenance{
			Cold:      []func(*types.TableDescription) *dynamodb.UpdateTableInput{tables.ColdCapacity(3, 2)},
			ColdAfter: 3,
		}, "-5 cold 3, -4 cold 3, -3, -2, -1, 0 ttl, 1 ttl, 2 ttl", 2},
		{tables.Maintenance{Drop: true, Export: func(context.Context, *types.TableDescription) (bool,
			error,
		) {
			return false, nil
		}}, "-5 cold 3, -4 cold 3, -3, -2, -1, 0 ttl, 1 ttl, 2 ttl", 2},
		{
			tables.Maintenance{
				Drop:      true,
				Cold:      []func(*types.TableDescription) *dynamodb.UpdateTableInput{tables.ColdCapacity(3, 2)},
				ColdAfter: 2,
			},
			"-3 cold 3, -2, -1, 0 ttl, 1 ttl, 2 ttl", 3,
		},
	} {
		before := state(t, m, c.Client)
		dry := step.o
		dry.DryRun = true
		plan := kit.Must(tables.Maintain(ctx, m, c, dry))(t)
		if got := state(t, m, c.Client); got != before {
			t.Errorf("a plan made %s of %s", got, before)
		}
		r := kit.Must(tables.Maintain(ctx, m, c, step.o))(t)
		if got := state(t, m, c.Client); got != step.state || len(r.Steps) != step.steps || len(r.Differences) > 0 {
			t.Errorf("%s in place of %s, %v, %v", got, step.state, r.Steps, r.Differences)
		}
		if step.o.Export != nil {
			continue // not finished, and asked for again
		}
		if !slices.Equal(plan.Steps, r.Steps) {
			t.Errorf("planned %v, done %v", plan.Steps, r.Steps)
		}
		if r := kit.Must(tables.Maintain(ctx, m, c, step.o))(t); len(r.Steps) > 0 {
			t.Errorf("a second time: %v", r.Steps)
		}
	}
	// What begins next month is created this month.
	door.Mapper.Model(m).Now = func() time.Time { return month(1) }
	if r := kit.Must(tables.Maintain(ctx, m, c, tables.Maintenance{}))(t); len(r.Steps) != 2 ||
		!strings.Contains(r.Steps[0].String(), month(3).Format("2006-01")) {
		t.Errorf("%v", r.Steps)
	}
}

// Killed at any of its requests, before it was sent or after it was answered, the manager resumes, and
// comes to the same end.
func TestMaintainKilled(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	exported := map[string]bool{}
	o := tables.Maintenance{
		Drop: true,
		Cold: []func(*types.TableDescription) *dynamodb.UpdateTableInput{tables.ColdCapacity(3, 2)}, ColdAfter: 1,
		Export: func(_ context.Context, d *types.TableDescription) (bool, error) {
			was := exported[aws.ToString(d.TableName)]
			exported[aws.ToString(d.TableName)] = true
			return was, nil
		},
	}
	seed := draws.Seed(t)
	for at := 1; ; at++ {
		ended := false
		for _, drawn := range draws.Some(seed+uint64(at), 2, draws.Times(1, 2, 2)) {
			after := drawn == 1
			m, c := maintained(t, []int{1, 2, 3}, mapper.TimeTables{Keep: 2})
			c.failAt, c.after = at, after
			_, err := tables.Maintain(ctx, m, c, o)
			ended = c.requests < at
			if ended != (err == nil) || err != nil && !errors.Is(err, errKilled) {
				t.Fatalf("killed at %d: %v", at, err)
			}
			c.failAt = 0
			for range 2 { // the export ends with the second
				kit.Must(tables.Maintain(ctx, m, c, o))(t)
			}
			if got, want := state(t, m, c.Client), "-2 cold 3, -1, 0 ttl, 1 ttl"; got != want {
				t.Errorf("killed at %d (after it was answered: %v): %s in place of %s", at, after, got, want)
			}
			if r := kit.Must(tables.Maintain(ctx, m, c, o))(t); len(r.Steps) > 0 {
				t.Errorf("killed at %d: %v once more", at, r.Steps)
			}
		}
		if ended {
			t.Logf("killed at each of %d requests", at-1)
			return
		}
	}
}

// Several managers at once do not disturb each other.
func TestMaintainConcurrently(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	m, c := maintained(t, []int{1, 2, 3}, mapper.TimeTables{Keep: 2, Ahead: 3})
	o := tables.Maintenance{
		Drop: true,
		Cold: []func(*types.TableDescription) *dynamodb.UpdateTableInput{tables.ColdCapacity(3, 2)},
	}
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() {
			if _, err := tables.Maintain(ctx, m, c, o); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got, want := state(t, m, c.Client), "-2 cold 3, -1 cold 3, 0 ttl, 1 ttl, 2 ttl, 3 ttl"; got != want {
		t.Errorf("%s in place of %s", got, want)
	}
}

// A table that is not the model's is left alone, and so is one that is old by this machine's clock only.
func TestMaintainNotMine(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m, c := maintained(t, []int{1}, mapper.TimeTables{Keep: 1})
	d := kit.Must(tables.At(m, month(-3)))(t)[0]
	d.Create.AttributeDefinitions[0].AttributeName, d.Create.KeySchema[0].AttributeName = aws.String("id"),
		aws.String("id")
	kit.Must(c.Client.CreateTable(ctx, d.Create))(t)
	r := kit.Must(tables.Maintain(ctx, m, c, tables.Maintenance{Drop: true}))(t)
	if len(r.Differences) != 1 || !strings.Contains(r.Differences[0].Text, "has the keys id (S)") ||
		state(t, m, c.Client) != "-3, -1, 0 ttl, 1 ttl" {
		t.Errorf("%v: %s", r.Differences, state(t, m, c.Client))
	}
	door.Mapper.Model(m).Now = func() time.Time { return month(3) }
	if _, err := tables.Maintain(ctx, m, c, tables.Maintenance{Drop: true}); err == nil ||
		!strings.Contains(err.Error(), "nothing is dropped") {
		t.Errorf("dropped by a wrong clock: %v", err)
	}
	for text, err := range map[string]error{
		"Maintain with Drop needs the number of tables to keep": kit.Err(tables.Maintain(ctx,
			kit.Must(mapper.New[meter](c.Client))(t), c,
			tables.Maintenance{Drop: true})),
		"ColdAfter is -1":               kit.Err(tables.Maintain(ctx, m, c, tables.Maintenance{ColdAfter: -1})),
		"the client of Maintain is nil": kit.Err(tables.Maintain(ctx, m, nil, tables.Maintenance{})),
		"for models with rotating tables": kit.Err(tables.Maintain(ctx, kit.Must(mapper.New[kit.Event](c.Client))(t), c,
			tables.Maintenance{})),
	} {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", text, err)
		}
	}
	for text, options := range map[string][]mapper.Option{
		"lacks {At:month}":               {mapper.Table("meters")},
		"use 0 to 10000":                 {mapper.InTimeTables(mapper.TimeTables{Keep: -1})},
		"and 0 to 1000":                  {mapper.InTimeTables(mapper.TimeTables{Ahead: 100000})},
		"use a time in the past":         {mapper.InTimeTables(mapper.TimeTables{Since: time.Now().AddDate(0, 1, 0)})},
		"is not a valid name of a table": {mapper.Table("m/{At:month}")},
	} {
		if _, err := mapper.New[meter](c.Client, options...); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := mapper.New[kit.Event](c.Client, mapper.InTimeTables(mapper.TimeTables{})); err == nil ||
		!strings.Contains(err.Error(), "for a model with rotating tables") {
		t.Error(err)
	}
}

// Maintain reports a harmless difference also in the run that enables the time to live.
func TestMaintainReportsHarmlessDifferenceBeforeTTL(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m, c := maintained(t, nil, mapper.TimeTables{})
	d := kit.Must(tables.At(m, month(0)))(t)[0]
	d.Create.GlobalSecondaryIndexes = []types.GlobalSecondaryIndex{{
		IndexName:  aws.String("byHand"),
		KeySchema:  []types.KeySchemaElement{{AttributeName: aws.String("SK"), KeyType: types.KeyTypeHash}},
		Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll},
	}}
	kit.Must(c.Client.CreateTable(ctx, d.Create))(t)
	r := kit.Must(tables.Maintain(ctx, m, c, tables.Maintenance{}))(t)
	if len(r.Differences) != 1 || !r.Differences[0].Harmless || r.Differences[0].Index != "byHand" ||
		!strings.Contains(fmt.Sprint(r.Steps), "time to live") {
		t.Errorf("%+v", r)
	}
}

// A change of settings is none where a table is so already.
func TestColdSettings(t *testing.T) {
	t.Parallel()
	on := &types.BillingModeSummary{BillingMode: types.BillingModePayPerRequest}
	throughput := func(rcu, wcu int64) *types.ProvisionedThroughputDescription {
		return &types.ProvisionedThroughputDescription{ReadCapacityUnits: &rcu, WriteCapacityUnits: &wcu}
	}
	rare := &types.TableClassSummary{TableClass: types.TableClassStandardInfrequentAccess}
	for name, c := range map[string]struct {
		change func(*types.TableDescription) *dynamodb.UpdateTableInput
		table  types.TableDescription
		want   string
	}{
		"capacity, on demand": {
			tables.ColdCapacity(5, 1),
			types.TableDescription{BillingModeSummary: on, ProvisionedThroughput: throughput(0, 0)},
			"PROVISIONED 5 1",
		},
		"capacity, more": {
			tables.ColdCapacity(5, 1),
			types.TableDescription{ProvisionedThroughput: throughput(50, 1)},
			" 5 1",
		},
		"capacity, as it is": {
			tables.ColdCapacity(5, 1),
			types.TableDescription{ProvisionedThroughput: throughput(5, 1)},
			"",
		},
		"storage":           {tables.ColdStorage(), types.TableDescription{}, "STANDARD_INFREQUENT_ACCESS"},
		"storage, as it is": {tables.ColdStorage(), types.TableDescription{TableClassSummary: rare}, ""},
		"storage, another class": {
			tables.ColdStorage(),
			types.TableDescription{TableClassSummary: &types.TableClassSummary{TableClass: types.TableClassStandard}},
			"STANDARD_INFREQUENT_ACCESS",
		},
	} {
		got := ""
		if in := c.change(&c.table); in != nil {
			got = string(in.TableClass)
			if p := in.ProvisionedThroughput; p != nil {
				got += fmt.Sprintf("%s %d %d", in.BillingMode, *p.ReadCapacityUnits, *p.WriteCapacityUnits)
			}
		}
		if got != c.want {
			t.Errorf("%s: %q in place of %q", name, got, c.want)
		}
	}
}
