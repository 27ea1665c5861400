// Package tables is for the tables of models: their definitions, as requests, CloudFormation or
// Terraform ([Of], [Join], [CloudFormation], [Terraform]), a comparison with the live ones ([Check]),
// and the upkeep of tables that follow the time ([Maintain]).
package tables

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/tabledef"
	"github.com/itemize/itemize/mapper"
)

// Definition is a table that models need: its keys, its secondary indexes and its time to live.
type Definition struct {
	// Name is the table's real name.
	Name string
	// Create is the request that creates it, with capacity on demand, and TimeToLive that which
	// sets its time to live once it exists, nil for none. They are the caller's to change, and
	// to send.
	Create     *dynamodb.CreateTableInput
	TimeToLive *dynamodb.UpdateTimeToLiveInput

	table *tabledef.Table
}

// Of returns the tables that a model needs, its main table first. Those of several models
// that share tables are joined by [Join]. Of a model whose tables follow the time they are
// those of the present period and of the ones ahead ([mapper.TimeTables]).
func Of[T any](m *mapper.Mapper[T]) []Definition {
	return definitions(mapper.Internal.Tables(door.Key{}, m))
}

// At returns the tables that a model whose tables follow the time needs for some times: each
// once. A time that no table's name can have is an error.
func At[T any](m *mapper.Mapper[T], times ...time.Time) ([]Definition, error) {
	all, err := mapper.Internal.TablesAt(door.Key{}, m, times)
	if err != nil {
		return nil, err
	}
	return definitions(all), nil
}

func definitions(all []*tabledef.Table) []Definition {
	out := make([]Definition, len(all))
	for i, d := range all {
		out[i] = Definition{Name: d.Name, Create: d.Input(), TimeToLive: d.TTLInput(), table: d}
	}
	return out
}

// Join returns the tables of several models, each table once, with the keys and indexes that any of them needs.
// The error says where they contradict each other.
func Join(models ...[]Definition) ([]Definition, error) {
	sets := make([][]*tabledef.Table, len(models))
	for i, all := range models {
		sets[i] = neededBy(all)
	}
	all, err := tabledef.Merge(sets...)
	if err != nil {
		return nil, err
	}
	return definitions(all), nil
}

func neededBy(all []Definition) []*tabledef.Table {
	var out []*tabledef.Table
	for _, d := range all {
		if d.table != nil {
			out = append(out, d.table)
		}
	}
	return out
}

// CloudFormation returns tables as the resources of a template, in YAML.
func CloudFormation(all []Definition) string { return tabledef.CloudFormation(neededBy(all)) }

// Terraform returns tables as resources for HashiCorp's provider for AWS. An index whose keys are
// several attributes needs a version of the provider that takes key_schema blocks.
func Terraform(all []Definition) string { return tabledef.Terraform(neededBy(all)) }

// Difference is a difference between a live table and its models.
type Difference struct {
	// Table is the table, and Index the index that it is about, "" for the table itself.
	Table string `json:"table"`
	Index string `json:"index,omitempty"`
	// Text describes it, and says what to do.
	Text string `json:"text"`
	// Harmless reports that all works as it is: it costs more, or is not predicted.
	Harmless bool `json:"harmless,omitempty"`
}

// String shows the difference as a sentence.
func (d Difference) String() string {
	at := "the table " + d.Table
	if d.Index != "" {
		at += ", index " + d.Index
	}
	return at + ": " + d.Text
}

// Check compares live tables with their models, and returns every difference: a table
// or an index that is missing, other keys or key types, a projection that lacks attributes, the time
// to live that is off; and, as harmless, what the models do not declare. It sends DescribeTable and
// DescribeTimeToLive for each table.
func Check(ctx context.Context, client interface {
	dynamodb.DescribeTableAPIClient
	DescribeTimeToLive(context.Context, *dynamodb.DescribeTimeToLiveInput,
		...func(*dynamodb.Options)) (*dynamodb.DescribeTimeToLiveOutput, error)
}, all []Definition,
) ([]Difference, error) {
	v := reflect.ValueOf(client)
	switch {
	case ctx == nil:
		return nil, errors.New("tables.Check: the context is nil: pass context.Background(), or that of the request")
	case client == nil || v.Kind() == reflect.Pointer && v.IsNil():
		return nil, errors.New("tables.Check: the client is nil: pass dynamodb.NewFromConfig(cfg)")
	case slices.ContainsFunc(all, func(d Definition) bool { return d.table == nil }):
		return nil, errors.New("an empty Definition: take those of a mapper")
	}
	found, err := tabledef.Check(ctx, client, neededBy(all))
	return differencesOf(found), err
}

func differencesOf(all []tabledef.Difference) []Difference {
	var out []Difference
	for _, d := range all {
		out = append(out, Difference{d.Table, d.Index, d.Text + ": " + d.Cure, d.Harmless})
	}
	return out
}
