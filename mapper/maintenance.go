package mapper

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

	"github.com/itemize/itemize/internal/retry"
)

// maintenance is a Maintain under way.
type maintenance struct {
	*engine
	client TableAdmin
	o      Maintenance
	do     bool
	report MaintenanceReport
	// told is the time by DynamoDB's clock, as its last description came with it; zero where none did.
	told time.Time
}

func (g *engine) maintain(ctx context.Context, client TableAdmin, o Maintenance, do bool) (*MaintenanceReport, error) {
	x := &maintenance{engine: g, client: client, o: o, do: do, report: MaintenanceReport{Steps: []MaintenanceStep{}}}
	if err := x.check(); err != nil {
		return &x.report, err
	}
	var errs []error
	for n := range g.model.Times.Ahead + 1 {
		for _, d := range definitions(g.definitions(g.model.PeriodAt(g.model.Now(), n))) {
			errs = append(errs, about(d.Name, x.ensure(ctx, d)))
		}
	}
	old, err := x.old(ctx)
	errs = append(errs, err)
	for _, t := range old {
		errs = append(errs, about(t.Name, x.age(ctx, t)))
	}
	if err := errors.Join(errs...); err != nil {
		return &x.report, g.model.Errorf("%w", err)
	}
	return &x.report, nil
}

func about(table string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("the table %s: %w", table, err)
}

// check refuses what cannot be maintained.
func (x *maintenance) check() error {
	switch m := x.model; {
	case x.client == nil:
		return m.Errorf("Maintain got no client: pass the *dynamodb.Client")
	case m.Schema.Periods == nil:
		return m.Errorf("Maintain is for a model whose tables follow the time, and this one's do not: send Definition.Create of its Definitions")
	case strings.HasPrefix(m.Tables[0].Name, "arn:"):
		return m.Errorf("Maintain works in the client's own account, and the table has the name %s: let its owner maintain it", m.Tables[0].Name)
	case x.o.Drop && m.Times.Keep == 0:
		return m.Errorf("Maintain is to drop tables, and nothing says how many are kept: give the mapper InTimeTables with Keep")
	case x.o.ColdAfter < 0:
		return m.Errorf("ColdAfter is %d: give it 0 or more", x.o.ColdAfter)
	}
	return nil
}

// note adds a step to the report.
func (x *maintenance) note(action MaintenanceAction, table string) {
	x.report.Steps = append(x.report.Steps, MaintenanceStep{action, table})
}

// ensure creates a table, with its time to live, unless it is there.
func (x *maintenance) ensure(ctx context.Context, d Definition) error {
	live, err := x.describe(ctx, d.Name)
	switch {
	case err != nil:
		return err
	case live == nil || live.TableStatus == types.TableStatusDeleting: // by somebody else
		x.note(CreateTable, d.Name)
		if x.do {
			live, err = x.create(ctx, d)
		}
	case x.do:
		live, err = x.active(ctx, d.Name)
	}
	if err != nil {
		return err
	}
	if live == nil {
		if d.TimeToLive != nil {
			x.note(EnableTimeToLive, d.Name)
		}
		return nil
	}
	return x.settle(ctx, d, live)
}

// settle enables the time to live of a table that is there, and compares it with what is needed.
func (x *maintenance) settle(ctx context.Context, d Definition, live *types.TableDescription) error {
	ttl, err := x.client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &d.Name})
	if err != nil {
		return err
	}
	status := types.TimeToLiveStatusDisabled
	if ttl.TimeToLiveDescription != nil {
		status = ttl.TimeToLiveDescription.TimeToLiveStatus
	}
	if d.TimeToLive != nil && status != types.TimeToLiveStatusEnabled && status != types.TimeToLiveStatusEnabling {
		x.note(EnableTimeToLive, d.Name)
		if x.do {
			if _, err := x.client.UpdateTimeToLive(ctx, d.TimeToLive); err != nil && !x.enabled(ctx, d.Name) {
				return err
			}
		}
		ttl.TimeToLiveDescription = nil
	}
	x.compare(d, live, ttl.TimeToLiveDescription)
	return nil
}

// enabled reports whether a table's time to live is on, by somebody else's doing.
func (x *maintenance) enabled(ctx context.Context, table string) bool {
	ttl, err := x.client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &table})
	return err == nil && ttl.TimeToLiveDescription != nil &&
		(ttl.TimeToLiveDescription.TimeToLiveStatus == types.TimeToLiveStatusEnabled || ttl.TimeToLiveDescription.TimeToLiveStatus == types.TimeToLiveStatusEnabling)
}

// compare notes what a table has otherwise than the model needs it.
func (x *maintenance) compare(d Definition, live *types.TableDescription, ttl *types.TimeToLiveDescription) (usable bool) {
	usable = true
	for _, o := range d.table.Compare(live, ttl) {
		x.report.Differences = append(x.report.Differences, Difference{Table: d.Name, Index: o.Index, Text: o.Text, Cure: o.Cure, Harmless: o.Harmless})
		usable = usable && o.Harmless
	}
	return usable
}

// create creates a table, and waits until it is there.
func (x *maintenance) create(ctx context.Context, d Definition) (*types.TableDescription, error) {
	in := *d.Create
	if x.o.Create != nil {
		if x.o.Create(&in); aws.ToString(in.TableName) != d.Name {
			return nil, fmt.Errorf("Maintenance.Create has named it %s: leave its name as it is", aws.ToString(in.TableName))
		}
	}
	for try := 1; ; try++ {
		_, err := x.client.CreateTable(ctx, &in)
		if err != nil && !errors.As(err, new(*types.ResourceInUseException)) {
			return nil, err
		}
		live, err := x.active(ctx, d.Name)
		if err != nil || live != nil || try == changes {
			return live, err
		}
	}
}

// changes bounds how often a table that somebody else changes is tried again.
const changes = 10

// describe returns what a table is like, nil where it is not there.
func (x *maintenance) describe(ctx context.Context, table string) (*types.TableDescription, error) {
	out, err := x.client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &table})
	if errors.As(err, new(*types.ResourceNotFoundException)) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	x.told, _ = middleware.GetServerTime(out.ResultMetadata)
	return out.Table, nil
}

// active waits until a table is active, or gone.
func (x *maintenance) active(ctx context.Context, table string) (*types.TableDescription, error) {
	for try := 1; ; try++ {
		live, err := x.describe(ctx, table)
		if err != nil || live == nil || live.TableStatus == types.TableStatusActive {
			return live, err
		}
		if err := retry.Pause(ctx, try); err != nil {
			return nil, fmt.Errorf("it is %s: %w", live.TableStatus, err)
		}
	}
}

// old returns the tables of times past that there are, the oldest first.
func (x *maintenance) old(ctx context.Context) ([]oldTable, error) {
	if !x.o.Drop && len(x.o.Cold) == 0 {
		return nil, nil
	}
	present := x.model.PeriodAt(x.model.Now(), 0)
	var all []oldTable
	in := &dynamodb.ListTablesInput{}
	for {
		out, err := x.client.ListTables(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("listing tables: %w", err)
		}
		for _, name := range out.TableNames {
			if t := x.model.TableNamed(name); t != nil && t.Period < present {
				all = append(all, oldTable{name, t.Period, t.Index})
			}
		}
		if in.ExclusiveStartTableName = out.LastEvaluatedTableName; in.ExclusiveStartTableName == nil {
			break
		}
	}
	slices.SortFunc(all, func(a, b oldTable) int { return cmp.Or(cmp.Compare(a.Period, b.Period), cmp.Compare(a.Index, b.Index)) })
	return all, nil
}

// oldTable is a table of a time past.
type oldTable struct {
	Name, Period string
	Index        int
}

// age drops a table that is past its time, or changes the settings of a cold one.
func (x *maintenance) age(ctx context.Context, t oldTable) error {
	before := func(periods int) bool { return t.Period < x.model.PeriodAt(x.model.Now(), -periods) }
	drops := x.o.Drop && before(x.model.Times.Keep)
	if !drops && (len(x.o.Cold) == 0 || !before(x.o.ColdAfter)) {
		return nil
	}
	live, err := x.describe(ctx, t.Name)
	if err != nil || live == nil || live.TableStatus == types.TableStatusDeleting {
		return err
	}
	d := definitions(x.definitions(t.Period))[t.Index]
	if !x.compare(d, live, nil) {
		return nil // it may be somebody else's
	}
	if drops && !x.told.IsZero() && t.Period >= x.model.PeriodAt(x.told, -x.model.Times.Keep) {
		return fmt.Errorf("by this machine's clock (%s) its time is over, and by DynamoDB's (%s) it is not: set the clock; nothing is dropped", x.model.Now().UTC().Format(time.RFC3339), x.told.UTC().Format(time.RFC3339))
	}
	if drops {
		return x.drop(ctx, live)
	}
	return x.cool(ctx, live)
}

// cool changes the settings of a cold table.
func (x *maintenance) cool(ctx context.Context, live *types.TableDescription) error {
	name := aws.ToString(live.TableName)
	for _, change := range x.o.Cold {
		if err := x.change(ctx, name, change, &live); err != nil || live == nil {
			return err
		}
	}
	return nil
}

// change makes one change of a table's settings, and waits until it is made; live is what the table is
// like, nil where it is gone. What somebody else has done meanwhile is not done again.
func (x *maintenance) change(ctx context.Context, name string, change TableChange, live **types.TableDescription) error {
	var failed error
	for try := 1; ; try++ {
		in := change(*live)
		switch {
		case in == nil:
			return nil
		case failed != nil && (try > changes || !errors.As(failed, new(*types.ResourceInUseException))):
			return failed
		case try == 1:
			x.note(CoolTable, name)
		}
		if !x.do {
			return nil
		}
		in.TableName = &name
		_, failed = x.client.UpdateTable(ctx, in)
		var err error
		if *live, err = x.active(ctx, name); err != nil || *live == nil || failed == nil {
			return err
		}
	}
}

// drop deletes a table, once what it held is safe.
func (x *maintenance) drop(ctx context.Context, live *types.TableDescription) error {
	name := aws.ToString(live.TableName)
	if x.o.Export != nil && x.do {
		done, err := x.o.Export(ctx, live)
		if err != nil {
			return fmt.Errorf("exporting it: %w", err)
		}
		if !done {
			x.note(ExportTable, name)
			return nil
		}
	}
	x.note(DropTable, name)
	if !x.do {
		return nil
	}
	for try := 1; ; try++ {
		_, err := x.client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &name})
		switch {
		case errors.As(err, new(*types.ResourceNotFoundException)):
			return nil
		case err == nil:
			return x.gone(ctx, name)
		case !errors.As(err, new(*types.ResourceInUseException)) || try == changes:
			return err
		}
		if live, err := x.active(ctx, name); err != nil || live == nil {
			return err
		}
	}
}

// gone waits until a table is not there any more.
func (x *maintenance) gone(ctx context.Context, table string) error {
	for try := 1; ; try++ {
		if live, err := x.describe(ctx, table); err != nil || live == nil {
			return err
		}
		if err := retry.Pause(ctx, try); err != nil {
			return err
		}
	}
}
