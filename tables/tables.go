// Package tables has functions for the tables of models. [Of], [Join], [CloudFormation] and [Terraform]
// return their definitions, [Check] compares them with live tables, and [Maintain] maintains tables
// that rotate by time.
package tables

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/model/tabledef"
	"github.com/itemize/itemize/mapper"
)

// Definition is a table of one or more models: its keys, secondary indexes and time to live.
type Definition struct {
	// Name is the real name of the table.
	Name string
	// Create is the request that creates the table, with on-demand capacity. TimeToLive is the request
	// that sets its time to live after that, nil for none. Change and send them yourself.
	Create     *dynamodb.CreateTableInput
	TimeToLive *dynamodb.UpdateTimeToLiveInput

	table *tabledef.Table
}

// Of returns the tables of a model, its main table first. [Join] joins the tables of several models. If
// the tables rotate by time, they are those of the present period and of the next ones
// ([mapper.TimeTables]).
func Of[T any](m *mapper.Mapper[T]) []Definition {
	return definitions(door.Mapper.Engine(m).Tables())
}

// At returns the tables for some times of a model whose tables rotate by time, each once. A time that
// cannot be in a table name is an error.
func At[T any](m *mapper.Mapper[T], times ...time.Time) ([]Definition, error) {
	all, err := door.Mapper.Engine(m).TablesAt(times)
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

// Join returns the tables of several models, each once, with all keys and indexes. If models contradict
// each other, it returns an error.
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
func CloudFormation(all []Definition) string { return tabledef.CloudFormation(neededBy(all), nil) }

// Terraform returns tables as resources for HashiCorp's provider for AWS. An index with several key
// attributes needs a provider version with key_schema blocks.
func Terraform(all []Definition) string { return tabledef.Terraform(neededBy(all), nil) }

// Difference is a difference between a live table and its models.
type Difference struct {
	// Table is the table. Index is the index, "" for the table itself.
	Table string `json:"table"`
	Index string `json:"index,omitempty"`
	// Text describes the difference and its cure.
	Text string `json:"text"`
	// Harmless reports that everything works: the difference only costs more, or is not predicted.
	Harmless bool `json:"harmless,omitempty"`
}

// String returns the difference as a sentence.
func (d Difference) String() string {
	at := "the table " + d.Table
	if d.Index != "" {
		at += ", index " + d.Index
	}
	return at + ": " + d.Text
}

// Check compares live tables with their models, and returns all differences: missing tables and
// indexes, other keys or key types, projections that lack attributes, a disabled time to live. Indexes
// and settings that the models do not declare are harmless. It sends DescribeTable and
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
		return nil, errors.New("an empty Definition: pass those of a mapper")
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
