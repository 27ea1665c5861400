package mapper

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/tabledef"
)

// TableAdmin is what Maintain needs of a DynamoDB client.
type TableAdmin interface {
	TableClient
	ListTables(context.Context, *dynamodb.ListTablesInput, ...func(*dynamodb.Options)) (*dynamodb.ListTablesOutput, error)
	CreateTable(context.Context, *dynamodb.CreateTableInput, ...func(*dynamodb.Options)) (*dynamodb.CreateTableOutput, error)
	UpdateTable(context.Context, *dynamodb.UpdateTableInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateTableOutput, error)
	UpdateTimeToLive(context.Context, *dynamodb.UpdateTimeToLiveInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateTimeToLiveOutput, error)
	DeleteTable(context.Context, *dynamodb.DeleteTableInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteTableOutput, error)
}

// Maintenance says what Maintain does beside creating tables. The zero Maintenance is nothing.
type Maintenance struct {
	// Create changes the request that creates a table, before it is sent: to provision capacity, to
	// encrypt, to add tags. Nil leaves it as Definition.Create is.
	Create func(*dynamodb.CreateTableInput)
	// Cold are changes of the settings of tables that are older than ColdAfter periods before the
	// present one: [ColdCapacity], [ColdStorage], or the caller's own. Each returns nil where a table is
	// as it has to be, and is sent by itself, since DynamoDB makes one kind of change at a time.
	Cold      []TableChange
	ColdAfter int
	// Drop deletes the tables that are older than TimeTables.Keep, with all that is in them.
	Drop bool
	// Export is called for each table before it is dropped, and reports whether what it held is safe
	// elsewhere: one that it is not is left until the next Maintain. It may begin an export to S3
	// (ExportTableToPointInTime), and look for its end the next time. Nil exports nothing.
	Export func(ctx context.Context, table *types.TableDescription) (done bool, err error)
}

// TableChange returns the request that changes the settings of a table, nil where it is as it has to be.
// The table's name is filled in.
type TableChange func(*types.TableDescription) *dynamodb.UpdateTableInput

// ColdCapacity gives tables so many provisioned units a second, 1 of each at least, and takes those with
// capacity on demand out of that.
func ColdCapacity(rcu, wcu int64) TableChange {
	rcu, wcu = max(rcu, 1), max(wcu, 1)
	return func(t *types.TableDescription) *dynamodb.UpdateTableInput {
		on := t.BillingModeSummary != nil && t.BillingModeSummary.BillingMode == types.BillingModePayPerRequest
		p := t.ProvisionedThroughput
		if !on && p != nil && aws.ToInt64(p.ReadCapacityUnits) == rcu && aws.ToInt64(p.WriteCapacityUnits) == wcu {
			return nil
		}
		in := &dynamodb.UpdateTableInput{ProvisionedThroughput: &types.ProvisionedThroughput{ReadCapacityUnits: &rcu, WriteCapacityUnits: &wcu}}
		if on {
			in.BillingMode = types.BillingModeProvisioned
		}
		return in
	}
}

// ColdStorage moves tables to the class Standard-Infrequent Access, where storage costs less and requests
// more.
func ColdStorage() TableChange {
	return func(t *types.TableDescription) *dynamodb.UpdateTableInput {
		if t.TableClassSummary != nil && t.TableClassSummary.TableClass == types.TableClassStandardInfrequentAccess {
			return nil
		}
		return &dynamodb.UpdateTableInput{TableClass: types.TableClassStandardInfrequentAccess}
	}
}

// MaintenanceAction is what a step of Maintain does.
type MaintenanceAction string

// The actions, in their order.
const (
	CreateTable      MaintenanceAction = tabledef.Create
	EnableTimeToLive MaintenanceAction = tabledef.EnableTimeToLive
	CoolTable        MaintenanceAction = tabledef.Cool
	ExportTable      MaintenanceAction = tabledef.Export
	DropTable        MaintenanceAction = tabledef.Drop
)

// MaintenanceStep is one thing that was done, or is to be.
type MaintenanceStep struct {
	Action MaintenanceAction `json:"action"`
	Table  string            `json:"table"`
}

// String shows the step.
func (s MaintenanceStep) String() string {
	if s.Action == EnableTimeToLive {
		return "enable time to live of " + s.Table
	}
	return string(s.Action) + " " + s.Table
}

// MaintenanceReport is what Maintain has done, or PlanMaintain says is to be done: no steps where all is
// as it has to be. An ExportTable step is an export that is not finished.
type MaintenanceReport struct {
	Steps []MaintenanceStep `json:"steps"`
	// Differences are what tables have otherwise than the model needs them, and Maintain does not
	// change; and, where TimeTables has Since, tables of times past that are not there.
	Differences []Difference `json:"differences,omitempty"`
}

// Maintain sees to the tables of a model whose tables follow the time: it creates those of the present
// period and of the ones ahead ([TimeTables]), with their time to live, and waits until they are there;
// and, where it is asked to, changes the settings of cold ones, and drops those past their time. It is to
// be called now and then, from one place or several: what is done already is not done again, and what was
// interrupted is gone on with. Where a table cannot be seen to, the others are; the error tells of all.
//
// It lists the account's tables, where it is asked for more than those ahead or TimeTables has Since, and
// asks for the descriptions of those that are ahead, or old.
func (m *Mapper[T]) Maintain(ctx context.Context, client TableAdmin, o Maintenance) (*MaintenanceReport, error) {
	return m.engine.maintain(ctx, client, o, true)
}

// PlanMaintain returns what Maintain would do. It changes nothing, and calls no Export.
func (m *Mapper[T]) PlanMaintain(ctx context.Context, client TableAdmin, o Maintenance) (*MaintenanceReport, error) {
	return m.engine.maintain(ctx, client, o, false)
}

func (g *engine) maintain(ctx context.Context, client TableAdmin, o Maintenance, change bool) (*MaintenanceReport, error) {
	x := &tabledef.Maintenance{
		Model: g.model, Tables: g.tablesOf, Client: client, Change: change,
		Create: o.Create, ColdAfter: o.ColdAfter, Drop: o.Drop, Export: o.Export,
	}
	for _, c := range o.Cold {
		x.Cold = append(x.Cold, c)
	}
	err := x.Run(ctx)
	r := &MaintenanceReport{Steps: []MaintenanceStep{}, Differences: differencesOf(x.Report.Differences)}
	for _, s := range x.Report.Steps {
		r.Steps = append(r.Steps, MaintenanceStep{MaintenanceAction(s.Action), s.Table})
	}
	return r, err
}
