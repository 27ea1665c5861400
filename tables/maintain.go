package tables

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/model/tabledef"
	"github.com/itemize/itemize/mapper"
)

// Client is the part of a DynamoDB client that [Maintain] calls.
type Client interface {
	dynamodb.DescribeTableAPIClient
	dynamodb.ListTablesAPIClient
	DescribeTimeToLive(context.Context, *dynamodb.DescribeTimeToLiveInput,
		...func(*dynamodb.Options)) (*dynamodb.DescribeTimeToLiveOutput, error)
	CreateTable(context.Context, *dynamodb.CreateTableInput, ...func(*dynamodb.Options)) (*dynamodb.CreateTableOutput,
		error)
	UpdateTable(context.Context, *dynamodb.UpdateTableInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateTableOutput,
		error)
	UpdateTimeToLive(context.Context, *dynamodb.UpdateTimeToLiveInput,
		...func(*dynamodb.Options)) (*dynamodb.UpdateTimeToLiveOutput, error)
	DeleteTable(context.Context, *dynamodb.DeleteTableInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteTableOutput,
		error)
}

// Maintenance says what Maintain does in addition to creating tables. The zero Maintenance adds
// nothing.
type Maintenance struct {
	// Create changes the request that creates a table before it is sent, to provision capacity, to
	// encrypt, or to add tags. Nil sends Definition.Create.
	Create func(*dynamodb.CreateTableInput)
	// Cold changes the settings of tables that are older than ColdAfter periods before the present one:
	// [ColdCapacity], [ColdStorage], or your own functions. Each returns nil if the settings are right.
	// Otherwise its request is sent separately, with TableName filled in, because DynamoDB makes one
	// kind of change at a time.
	Cold      []func(*types.TableDescription) *dynamodb.UpdateTableInput
	ColdAfter int
	// Drop deletes tables that are older than TimeTables.Keep, with their content.
	Drop bool
	// DryRun only reports. It changes nothing, and does not call Export.
	DryRun bool
	// Export is called for each table before it is dropped. It reports whether its content is safe
	// elsewhere; otherwise the table stays until the next Maintain. It can start an export to S3
	// (ExportTableToPointInTime) and check it the next time. Nil exports nothing.
	Export func(ctx context.Context, table *types.TableDescription) (done bool, err error)
}

// ColdCapacity gives tables this many provisioned units a second, at least 1 of each, also those with
// on-demand capacity.
func ColdCapacity(rcu, wcu int64) func(*types.TableDescription) *dynamodb.UpdateTableInput {
	rcu, wcu = max(rcu, 1), max(wcu, 1)
	return func(t *types.TableDescription) *dynamodb.UpdateTableInput {
		on := t.BillingModeSummary != nil && t.BillingModeSummary.BillingMode == types.BillingModePayPerRequest
		p := t.ProvisionedThroughput
		if !on && p != nil && aws.ToInt64(p.ReadCapacityUnits) == rcu && aws.ToInt64(p.WriteCapacityUnits) == wcu {
			return nil
		}
		in := &dynamodb.UpdateTableInput{ProvisionedThroughput: &types.ProvisionedThroughput{
			ReadCapacityUnits:  &rcu,
			WriteCapacityUnits: &wcu,
		}}
		if on {
			in.BillingMode = types.BillingModeProvisioned
		}
		return in
	}
}

// ColdStorage moves tables to the class Standard-Infrequent Access, in which storage costs less and
// requests more.
func ColdStorage() func(*types.TableDescription) *dynamodb.UpdateTableInput {
	return func(t *types.TableDescription) *dynamodb.UpdateTableInput {
		if t.TableClassSummary != nil && t.TableClassSummary.TableClass == types.TableClassStandardInfrequentAccess {
			return nil
		}
		return &dynamodb.UpdateTableInput{TableClass: types.TableClassStandardInfrequentAccess}
	}
}

// Step is one step of maintenance.
type Step struct {
	// Action is "create", "enableTimeToLive", "cool" (change the settings of a cold table), "export" or
	// "drop", in this order.
	Action string `json:"action"`
	Table  string `json:"table"`
}

// String describes the step.
func (s Step) String() string {
	if s.Action == tabledef.EnableTimeToLive {
		return "enable time to live of " + s.Table
	}
	return s.Action + " " + s.Table
}

// Report lists the steps that Maintain has done, or would do with DryRun. It is empty if all tables are
// up to date. An export step is an unfinished export.
type Report struct {
	Steps []Step `json:"steps"`
	// Differences are differences from the model that Maintain does not change. If TimeTables has
	// Since, they include missing tables of past times.
	Differences []Difference `json:"differences,omitempty"`
}

// Maintain creates the tables of a model whose tables rotate by time: those of the present period and
// of the next ones ([mapper.TimeTables]). It enables their time to live, and waits until they exist. On
// request it changes the settings of cold tables and drops tables that are older than TimeTables.Keep.
// Call it regularly, from one program or several: finished steps are not repeated, and interrupted ones
// continue. If one table fails, the others are still maintained, and the error names each failure.
//
// If it has more to do than create the next tables, or if TimeTables has Since, it lists the account's
// tables, and describes the next and the old ones.
func Maintain[T any](ctx context.Context, m *mapper.Mapper[T], client Client, o Maintenance) (*Report, error) {
	x := &tabledef.Maintenance{
		Model: door.Mapper.Model(m), Client: client, Change: !o.DryRun,
		Tables: func(period string) []*tabledef.Table { return door.Mapper.Engine(m).TablesOf(period) },
		Create: o.Create, ColdAfter: o.ColdAfter, Drop: o.Drop, Export: o.Export,
	}
	x.Cold = append(x.Cold, o.Cold...)
	err := x.Run(ctx)
	r := &Report{Steps: []Step{}, Differences: differencesOf(x.Report.Differences)}
	for _, s := range x.Report.Steps {
		r.Steps = append(r.Steps, Step{string(s.Action), s.Table})
	}
	return r, err
}
