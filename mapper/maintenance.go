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

	"github.com/itemize/itemize/internal/define"
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
	if errs = append(errs, err); err == nil && !g.model.Times.Since.IsZero() {
		x.holes(old)
	}
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
	if err != nil {
		return err
	}
	missing := live == nil || live.TableStatus == types.TableStatusDeleting // by somebody else
	switch {
	case missing && !x.do:
		x.note(CreateTable, d.Name)
		if d.TimeToLive != nil {
			x.note(EnableTimeToLive, d.Name)
		}
		return nil
	case missing:
		live, err = x.create(ctx, d)
	case x.do:
		live, err = x.active(ctx, live)
	}
	if err != nil {
		return err
	}
	if live == nil {
		return errors.New("somebody has dropped it meanwhile: call Maintain again")
	}
	return x.settle(ctx, d, live)
}

// settle enables the time to live of a table that is there, and compares it with what is needed: one that
// is otherwise may be somebody else's.
func (x *maintenance) settle(ctx context.Context, d Definition, live *types.TableDescription) error {
	if differences := d.table.Compare(live, nil); slices.ContainsFunc(differences, func(o define.Difference) bool { return !o.Harmless }) {
		x.tell(d, differences)
		return nil
	}
	ttl, err := x.client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &d.Name})
	if err != nil {
		return err
	}
	if d.TimeToLive == nil || isOn(ttl.TimeToLiveDescription) {
		x.tell(d, d.table.Compare(live, ttl.TimeToLiveDescription))
		return nil
	}
	if x.do {
		if _, err := x.client.UpdateTimeToLive(ctx, d.TimeToLive); err != nil && !x.enabled(ctx, d.Name) {
			return err
		}
	}
	x.note(EnableTimeToLive, d.Name)
	return nil
}

// isOn reports whether a table's time to live is on.
func isOn(ttl *types.TimeToLiveDescription) bool {
	return ttl != nil && (ttl.TimeToLiveStatus == types.TimeToLiveStatusEnabled || ttl.TimeToLiveStatus == types.TimeToLiveStatusEnabling)
}

// enabled reports whether a table's time to live is on, by somebody else's doing.
func (x *maintenance) enabled(ctx context.Context, table string) bool {
	ttl, err := x.client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &table})
	return err == nil && isOn(ttl.TimeToLiveDescription)
}

// tell notes what a table has otherwise than the model needs it, and reports whether it can be used so.
func (x *maintenance) tell(d Definition, differences []define.Difference) (usable bool) {
	usable = true
	for _, o := range differences {
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
		if err == nil {
			x.note(CreateTable, d.Name)
			return x.appears(ctx, d.Name)
		}
		if !errors.As(err, new(*types.ResourceInUseException)) {
			return nil, err
		}
		live, err := x.settled(ctx, d.Name)
		if err != nil || live != nil {
			return live, err
		}
		if try == changes {
			return nil, errors.New("DynamoDB says that it is there, and does not describe it yet: call Maintain again")
		}
		if err := retry.Pause(ctx, try); err != nil {
			return nil, err
		}
	}
}

// appears waits until a table that was created is active: DescribeTable may not know it for a while.
func (x *maintenance) appears(ctx context.Context, table string) (*types.TableDescription, error) {
	for try := 1; ; try++ {
		live, err := x.settled(ctx, table)
		if err != nil || live != nil {
			return live, err
		}
		if try == changes {
			return nil, errors.New("it was created, and is not described yet: call Maintain again")
		}
		if err := retry.Pause(ctx, try); err != nil {
			return nil, err
		}
	}
}

// changes bounds how often a table that somebody else changes is tried again.
const changes = 30

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

// settled returns what a table is like once it is active, nil where it is not there.
func (x *maintenance) settled(ctx context.Context, table string) (*types.TableDescription, error) {
	live, err := x.describe(ctx, table)
	if err != nil || live == nil {
		return nil, err
	}
	return x.active(ctx, live)
}

// active waits until a table is active, or gone. One that will not be by itself is an error.
func (x *maintenance) active(ctx context.Context, live *types.TableDescription) (*types.TableDescription, error) {
	name := aws.ToString(live.TableName)
	for try := 1; ; try++ {
		switch live.TableStatus {
		case types.TableStatusActive:
			return live, nil
		case types.TableStatusCreating, types.TableStatusUpdating, types.TableStatusDeleting:
		default:
			return nil, fmt.Errorf("it is %s, and will not be ACTIVE by itself: see to it in the console, or restore it", live.TableStatus)
		}
		if err := retry.Pause(ctx, try); err != nil {
			return nil, fmt.Errorf("it is %s: %w", live.TableStatus, err)
		}
		var err error
		if live, err = x.describe(ctx, name); err != nil || live == nil {
			return nil, err
		}
	}
}

// old returns the tables of times past that there are, the oldest first.
func (x *maintenance) old(ctx context.Context) ([]oldTable, error) {
	if !x.o.Drop && len(x.o.Cold) == 0 && x.model.Times.Since.IsZero() {
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

// holes tells of the tables of times past that are not there, and that queries ask.
func (x *maintenance) holes(old []oldTable) {
	periods, err := x.model.Existing()
	if err != nil {
		return // too many to tell
	}
	present := x.model.PeriodAt(x.model.Now(), 0)
	for _, period := range periods {
		for i := range x.model.Tables {
			name := x.model.Table(i, period).Name
			there := func(t oldTable) bool { return t.Name == name }
			if period < present && !slices.ContainsFunc(old, there) {
				x.report.Differences = append(x.report.Differences, Difference{
					Table: name, Text: "there is none, and a query over its time fails",
					Cure: "create it by DefinitionsAt; or give TimeTables the Since, or the Keep, of the tables that there are; or pass SkipMissing",
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
	if !x.tell(d, d.table.Compare(live, nil)) {
		return nil // it may be somebody else's
	}
	past := x.o.ColdAfter
	if drops {
		past = x.model.Times.Keep
	}
	switch {
	case drops && x.told.IsZero():
		return errors.New("it is past its time by this machine's clock, and DynamoDB's is not known, since the client returns answers without their metadata: pass the *dynamodb.Client itself; nothing is dropped")
	case !x.told.IsZero() && t.Period >= x.model.PeriodAt(x.told, -past):
		return fmt.Errorf("by this machine's clock (%s) its time is over, and by DynamoDB's (%s) it is not: set the clock; nothing is dropped, or changed", x.model.Now().UTC().Format(time.RFC3339), x.told.UTC().Format(time.RFC3339))
	}
	if drops {
		return x.drop(ctx, live)
	}
	return x.cool(ctx, live)
}

// cool changes the settings of a cold table.
func (x *maintenance) cool(ctx context.Context, live *types.TableDescription) error {
	for _, change := range x.o.Cold {
		if change == nil {
			continue
		}
		if err := x.change(ctx, change, &live); err != nil || live == nil {
			return err
		}
	}
	return nil
}

// change makes one change of a table's settings, and waits until it is made; live is what the table is
// like, nil where it is gone. What somebody else has done meanwhile is not done again.
func (x *maintenance) change(ctx context.Context, change TableChange, live **types.TableDescription) error {
	name := aws.ToString((*live).TableName)
	for try := 1; ; try++ {
		in := change(*live)
		if in == nil {
			return nil
		}
		if !x.do {
			x.note(CoolTable, name)
			return nil
		}
		in.TableName = &name
		_, failed := x.client.UpdateTable(ctx, in)
		if failed == nil {
			x.note(CoolTable, name)
		}
		now, err := x.settled(ctx, name)
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
func (x *maintenance) drop(ctx context.Context, live *types.TableDescription) error {
	name := aws.ToString(live.TableName)
	if aws.ToBool(live.DeletionProtectionEnabled) {
		return errors.New("it is past its time, and protected against deletion: send UpdateTable with DeletionProtectionEnabled false (Maintenance.Cold can), or leave Drop out")
	}
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
	if !x.do {
		x.note(DropTable, name)
		return nil
	}
	for try := 1; ; try++ {
		_, err := x.client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &name})
		switch {
		case errors.As(err, new(*types.ResourceNotFoundException)):
			return nil
		case err == nil:
			x.note(DropTable, name)
			return x.gone(ctx, name)
		case !errors.As(err, new(*types.ResourceInUseException)) || try == changes:
			return err
		}
		now, err := x.settled(ctx, name)
		if err != nil || now == nil {
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
