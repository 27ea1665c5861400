package tabledef

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/request"
)

// Client reads descriptions of tables.
type Client interface {
	DescribeTable(context.Context, *dynamodb.DescribeTableInput,
		...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error)
	DescribeTimeToLive(context.Context, *dynamodb.DescribeTimeToLiveInput,
		...func(*dynamodb.Options)) (*dynamodb.DescribeTimeToLiveOutput, error)
}

// Admin creates, changes and deletes tables.
type Admin interface {
	Client
	ListTables(context.Context, *dynamodb.ListTablesInput, ...func(*dynamodb.Options)) (*dynamodb.ListTablesOutput,
		error)
	CreateTable(context.Context, *dynamodb.CreateTableInput, ...func(*dynamodb.Options)) (*dynamodb.CreateTableOutput,
		error)
	UpdateTable(context.Context, *dynamodb.UpdateTableInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateTableOutput,
		error)
	UpdateTimeToLive(context.Context, *dynamodb.UpdateTimeToLiveInput,
		...func(*dynamodb.Options)) (*dynamodb.UpdateTimeToLiveOutput, error)
	DeleteTable(context.Context, *dynamodb.DeleteTableInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteTableOutput,
		error)
}

// Maintenance maintains the rotating tables of a model. Its fields are described at tables.Maintenance.
type Maintenance struct {
	Model *model.Model
	// Tables returns the tables of a period.
	Tables    func(period string) []*Table
	Client    Admin
	Create    func(*dynamodb.CreateTableInput)
	Cold      []func(*types.TableDescription) *dynamodb.UpdateTableInput
	ColdAfter int
	Drop      bool
	Export    func(ctx context.Context, table *types.TableDescription) (done bool, err error)
	// Change is false for a plan: nothing is changed.
	Change bool

	Report Report
	// serverTime is the time in the last answer, zero if there was none.
	serverTime time.Time
}

// Report lists the changes of a maintenance, or of its plan.
type Report struct {
	Steps       []Step
	Differences []Difference
}

// Step is one change of a table.
type Step struct{ Action, Table string }

// The actions of steps.
const (
	Create           = "create"
	EnableTimeToLive = "enableTimeToLive"
	Cool             = "cool"
	Export           = "export"
	Drop             = "drop"
)

// Run maintains the tables. If one table fails, it continues with the others.
func (x *Maintenance) Run(ctx context.Context) error {
	if err := x.check(); err != nil {
		return err
	}
	m := x.Model
	var errs []error
	for n := range m.Times.Ahead + 1 {
		for _, d := range x.Tables(m.PeriodAt(m.Now(), n)) {
			errs = append(errs, about(d.Name, x.ensure(ctx, d)))
		}
	}
	old, err := x.old(ctx)
	if errs = append(errs, err); err == nil && !m.Times.Since.IsZero() {
		x.findMissing(old)
	}
	for _, t := range old {
		errs = append(errs, about(t.Name, x.age(ctx, t)))
	}
	if err := errors.Join(errs...); err != nil {
		return m.Errorf("%w", err)
	}
	return nil
}

func about(table string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("the table %s: %w", table, err)
}

// check refuses what cannot be maintained.
func (x *Maintenance) check() error {
	switch m := x.Model; {
	case x.Client == nil:
		return m.Errorf("the client of Maintain is nil: pass the *dynamodb.Client")
	case m.Schema.Periods == nil:
		return m.Errorf("Maintain is for models with rotating tables: send the Create of the Definitions that " +
			"tables.Of returns")
	case strings.HasPrefix(m.Tables[0].Name, "arn:"):
		return m.Errorf("Maintain works in the client's own account, but the table has the name %s: let its owner "+
			"maintain it", m.Tables[0].Name)
	case x.Drop && m.Times.Keep == 0:
		return m.Errorf("Maintain with Drop needs the number of tables to keep: pass the mapper InTimeTables with " +
			"Keep")
	case x.ColdAfter < 0:
		return m.Errorf("ColdAfter is %d: use 0 or more", x.ColdAfter)
	}
	return nil
}

// note adds a step to the report.
func (x *Maintenance) note(action string, table string) {
	x.Report.Steps = append(x.Report.Steps, Step{action, table})
}

// ensure creates a table, with its time to live, unless it exists.
func (x *Maintenance) ensure(ctx context.Context, d *Table) error {
	live, err := x.describe(ctx, d.Name)
	if err != nil {
		return err
	}
	missing := live == nil || live.TableStatus == types.TableStatusDeleting // by another program
	switch {
	case missing && !x.Change:
		x.note(Create, d.Name)
		if d.TTL != "" {
			x.note(EnableTimeToLive, d.Name)
		}
		return nil
	case missing:
		live, err = x.create(ctx, d)
	case x.Change:
		live, err = x.active(ctx, live)
	}
	if err != nil {
		return err
	}
	if live == nil {
		return errors.New("another program deleted the table: call Maintain again")
	}
	return x.enableTTL(ctx, d, live)
}

// enableTTL compares a table that exists with the needed one, and enables its time to live. A table
// with other keys or indexes is only reported, because it may belong to another program.
func (x *Maintenance) enableTTL(ctx context.Context, d *Table, live *types.TableDescription) error {
	if !x.differs(d.Compare(live, nil)) {
		return nil
	}
	ttl, err := x.Client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &d.Name})
	if err != nil {
		return err
	}
	if d.TTL == "" || isOn(ttl.TimeToLiveDescription) {
		x.differs(d.compareTTL(ttl.TimeToLiveDescription))
		return nil
	}
	if x.Change {
		if _, err := x.Client.UpdateTimeToLive(ctx, d.TTLInput()); err != nil && !x.enabled(ctx, d.Name) {
			return err
		}
	}
	x.note(EnableTimeToLive, d.Name)
	return nil
}

// enabled reports whether a table's time to live is on, by another program.
func (x *Maintenance) enabled(ctx context.Context, table string) bool {
	ttl, err := x.Client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &table})
	return err == nil && isOn(ttl.TimeToLiveDescription)
}

// differs adds differences of a table to the report, and reports whether the table can be used nevertheless.
func (x *Maintenance) differs(differences []Difference) (usable bool) {
	usable = true
	for _, o := range differences {
		x.Report.Differences = append(x.Report.Differences, o)
		usable = usable && o.Harmless
	}
	return usable
}

// create creates a table, and waits until it exists.
func (x *Maintenance) create(ctx context.Context, d *Table) (*types.TableDescription, error) {
	in := *d.Input()
	if x.Create != nil {
		if x.Create(&in); aws.ToString(in.TableName) != d.Name {
			return nil, fmt.Errorf("Maintenance.Create changed its name to %s: do not change its name",
				aws.ToString(in.TableName))
		}
	}
	created := false
	for try := 1; ; try++ {
		if !created {
			_, err := x.Client.CreateTable(ctx, &in)
			switch {
			case err == nil:
				created = true
				x.note(Create, d.Name)
			case !errors.As(err, new(*types.ResourceInUseException)):
				return nil, err
			}
		}
		live, err := x.waitActive(ctx, d.Name)
		if err != nil || live != nil {
			return live, err
		}
		if try == changes {
			return nil, errors.New("DynamoDB does not describe it yet: call Maintain again")
		}
		if err := request.Pause(ctx, try); err != nil {
			return nil, err
		}
	}
}

// changes bounds how often a table that another program changes is tried again.
const changes = 30

// describe returns what a table is like, nil if it does not exist.
func (x *Maintenance) describe(ctx context.Context, table string) (*types.TableDescription, error) {
	out, err := x.Client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &table})
	if errors.As(err, new(*types.ResourceNotFoundException)) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	x.serverTime, _ = middleware.GetServerTime(out.ResultMetadata)
	return out.Table, nil
}

// waitActive returns what a table is like once it is active, nil if it does not exist.
func (x *Maintenance) waitActive(ctx context.Context, table string) (*types.TableDescription, error) {
	live, err := x.describe(ctx, table)
	if err != nil || live == nil {
		return nil, err
	}
	return x.active(ctx, live)
}

// active waits until a table is active, or gone. One that will not be by itself is an error.
func (x *Maintenance) active(ctx context.Context, live *types.TableDescription) (*types.TableDescription, error) {
	name := aws.ToString(live.TableName)
	for try := 1; ; try++ {
		switch live.TableStatus {
		case types.TableStatusActive:
			return live, nil
		case types.TableStatusCreating, types.TableStatusUpdating, types.TableStatusDeleting:
		default:
			return nil, fmt.Errorf("it is %s, which does not become ACTIVE by itself: look into it in the console, "+
				"or restore it", live.TableStatus)
		}
		if err := request.Pause(ctx, try); err != nil {
			return nil, fmt.Errorf("it is %s: %w", live.TableStatus, err)
		}
		var err error
		if live, err = x.describe(ctx, name); err != nil || live == nil {
			return nil, err
		}
	}
}

// old returns the tables of times past that there are, the oldest first.
func (x *Maintenance) old(ctx context.Context) ([]oldTable, error) {
	if !x.Drop && len(x.Cold) == 0 && x.Model.Times.Since.IsZero() {
		return nil, nil
	}
	present := x.Model.PeriodAt(x.Model.Now(), 0)
	var all []oldTable
	in := &dynamodb.ListTablesInput{}
	for {
		out, err := x.Client.ListTables(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("listing tables: %w", err)
		}
		for _, name := range out.TableNames {
			if t := x.Model.TableNamed(name); t != nil && t.Period < present {
				all = append(all, oldTable{name, t.Period, t.Index})
			}
		}
		if in.ExclusiveStartTableName = out.LastEvaluatedTableName; in.ExclusiveStartTableName == nil {
			break
		}
	}
	slices.SortFunc(all,
		func(a, b oldTable) int { return cmp.Or(cmp.Compare(a.Period, b.Period), cmp.Compare(a.Index, b.Index)) })
	return all, nil
}

// findMissing reports the tables of past periods that queries read and that do not exist.
func (x *Maintenance) findMissing(old []oldTable) {
	periods, err := x.Model.Existing()
	if err != nil {
		return // too many to tell
	}
	present := x.Model.PeriodAt(x.Model.Now(), 0)
	for _, period := range periods {
		for i := range x.Model.Tables {
			name := x.Model.Table(i, period).Name
			there := func(t oldTable) bool { return t.Name == name }
			if period < present && !slices.ContainsFunc(old, there) {
				x.Report.Differences = append(x.Report.Differences, Difference{
					Table: name, Text: "it does not exist, and a query over its time fails",
					Cure: "create it by tables.At; or set Since or Keep of TimeTables to the existing tables; or " +
						"pass SkipMissing",
				})
			}
		}
	}
}

// oldTable is a table of a time past.
type oldTable struct {
	Name, Period string
	Index        int
}

// age drops a table that is past its time, or changes the settings of a cold one.
func (x *Maintenance) age(ctx context.Context, t oldTable) error {
	before := func(periods int) bool { return t.Period < x.Model.PeriodAt(x.Model.Now(), -periods) }
	drops := x.Drop && before(x.Model.Times.Keep)
	if !drops && (len(x.Cold) == 0 || !before(x.ColdAfter)) {
		return nil
	}
	live, err := x.describe(ctx, t.Name)
	if err != nil || live == nil || live.TableStatus == types.TableStatusDeleting {
		return err
	}
	d := x.Tables(t.Period)[t.Index]
	if !x.differs(d.Compare(live, nil)) {
		return nil // it may belong to another program
	}
	past := x.ColdAfter
	if drops {
		past = x.Model.Times.Keep
	}
	switch {
	case drops && x.serverTime.IsZero():
		return errors.New("it has expired by this machine's clock, but DynamoDB's is unknown (the client removes " +
			"metadata): nothing is dropped: pass the *dynamodb.Client itself")
	case !x.serverTime.IsZero() && t.Period >= x.Model.PeriodAt(x.serverTime, -past):
		return fmt.Errorf("it has expired by this machine's clock (%s), but not by DynamoDB's (%s): nothing is "+
			"dropped or changed: set the clock", x.Model.Now().UTC().Format(time.RFC3339),
			x.serverTime.UTC().Format(time.RFC3339))
	}
	if drops {
		return x.drop(ctx, live)
	}
	return x.cool(ctx, live)
}

// cool changes the settings of a cold table.
func (x *Maintenance) cool(ctx context.Context, live *types.TableDescription) error {
	for _, change := range x.Cold {
		if change == nil {
			continue
		}
		if err := x.change(ctx, change, &live); err != nil || live == nil {
			return err
		}
	}
	return nil
}

// change makes one change of a table's settings, and waits for it. live is the description of the table,
// nil if the table was deleted. A change that another program has made is not made again.
func (x *Maintenance) change(ctx context.Context, change func(*types.TableDescription) *dynamodb.UpdateTableInput,
	live **types.TableDescription,
) error {
	name := aws.ToString((*live).TableName)
	for try := 1; ; try++ {
		in := change(*live)
		if in == nil {
			return nil
		}
		if !x.Change {
			x.note(Cool, name)
			return nil
		}
		in.TableName = &name
		_, failed := x.Client.UpdateTable(ctx, in)
		if failed == nil {
			x.note(Cool, name)
		}
		now, err := x.waitActive(ctx, name)
		if *live = now; err != nil || now == nil || failed == nil {
			return err
		}
		busy := errors.As(failed, new(*types.ResourceInUseException)) && try < changes
		if !busy && change(now) != nil {
			return failed
		}
	}
}

// drop deletes a table, once what it held is safe.
func (x *Maintenance) drop(ctx context.Context, live *types.TableDescription) error {
	name := aws.ToString(live.TableName)
	if aws.ToBool(live.DeletionProtectionEnabled) {
		return errors.New("it has expired, but is protected against deletion: send UpdateTable with " +
			"DeletionProtectionEnabled false (Maintenance.Cold can), or leave Drop out")
	}
	if x.Export != nil && x.Change {
		done, err := x.Export(ctx, live)
		if err != nil {
			return fmt.Errorf("exporting it: %w", err)
		}
		if !done {
			x.note(Export, name)
			return nil
		}
	}
	if !x.Change {
		x.note(Drop, name)
		return nil
	}
	for try := 1; ; try++ {
		_, err := x.Client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &name})
		switch {
		case errors.As(err, new(*types.ResourceNotFoundException)):
			return nil
		case err == nil:
			x.note(Drop, name)
			return x.deleted(ctx, name)
		case !errors.As(err, new(*types.ResourceInUseException)) || try == changes:
			return err
		}
		now, err := x.waitActive(ctx, name)
		if err != nil || now == nil {
			return err
		}
	}
}

// deleted waits until a table does not exist any more.
func (x *Maintenance) deleted(ctx context.Context, table string) error {
	for try := 1; ; try++ {
		if live, err := x.describe(ctx, table); err != nil || live == nil {
			return err
		}
		if err := request.Pause(ctx, try); err != nil {
			return err
		}
	}
}
