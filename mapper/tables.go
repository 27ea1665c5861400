package mapper

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/internal/key"
	"github.com/itemize/itemize/internal/tabledef"
)

// Definition is a table that models need: its keys, its secondary indexes and its time to live.
type Definition struct {
	// Name is the table's real name.
	Name string
	// Create is the request that creates it, with capacity on demand, and TimeToLive that which
	// sets its time to live once it is there, nil for none. They are the caller's to change, and
	// to send.
	Create     *dynamodb.CreateTableInput
	TimeToLive *dynamodb.UpdateTimeToLiveInput

	table *tabledef.Table
}

// Definitions returns the tables that the model needs, its main table first. Those of several models
// that share tables are joined by [JoinDefinitions]. Of a model whose tables follow the time they are
// those of the present period and of the ones ahead ([TimeTables]).
func (m *Mapper[T]) Definitions() []Definition { return definitions(m.engine.tables()) }

// DefinitionsAt returns the tables that a model whose tables follow the time needs for some times: each
// once. A time that no table's name can have is an error.
func (m *Mapper[T]) DefinitionsAt(times ...time.Time) ([]Definition, error) {
	all, err := m.engine.tablesAt(times)
	if err != nil {
		return nil, err
	}
	return definitions(all), nil
}

// tables returns the tables that the model needs now.
func (g *engine) tables() []*tabledef.Table {
	if g.model.Schema.Periods == nil {
		return g.tablesOf("")
	}
	var all []*tabledef.Table
	for n := range g.model.Times.Ahead + 1 {
		all = append(all, g.tablesOf(g.model.PeriodAt(g.model.Now(), n))...)
	}
	return all
}

// tablesAt returns the tables that the model needs for some times.
func (g *engine) tablesAt(times []time.Time) ([]*tabledef.Table, error) {
	if g.model.Schema.Periods == nil {
		return g.tablesOf(""), nil
	}
	var all []*tabledef.Table
	var known []string
	for _, at := range times {
		p, err := g.model.Schema.Periods.Of(key.OfTime(at))
		if err != nil {
			return nil, g.model.Errorf("the table of %s: %w", at.Format(time.DateOnly), err)
		}
		if !slices.Contains(known, p) {
			known, all = append(known, p), append(all, g.tablesOf(p)...)
		}
	}
	return all, nil
}

// tablesOf returns the tables of a period.
func (g *engine) tablesOf(period string) []*tabledef.Table {
	var names []string
	for i := range g.model.Tables {
		names = append(names, g.model.Table(i, period).Name)
	}
	all := tabledef.Of(g.model.Schema, names)
	if g.env.External == nil {
		return all
	}
	for _, t := range g.env.External.Homes.Tables() {
		if !slices.ContainsFunc(all, func(d *tabledef.Table) bool { return d.Name == t.Name }) {
			all = append(all, tabledef.Plain(t.Name, t.Hash, t.Range))
		}
	}
	return all
}

func definitions(all []*tabledef.Table) []Definition {
	out := make([]Definition, len(all))
	for i, d := range all {
		out[i] = Definition{Name: d.Name, Create: d.Input(), TimeToLive: d.TTLInput(), table: d}
	}
	return out
}

// JoinDefinitions returns the tables of several models, each table once, with what all of them need.
// The error says where they contradict each other.
func JoinDefinitions(models ...[]Definition) ([]Definition, error) {
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

// TableClient is what CheckTables needs of a DynamoDB client.
type TableClient interface {
	DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error)
	DescribeTimeToLive(context.Context, *dynamodb.DescribeTimeToLiveInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTimeToLiveOutput, error)
}

// Difference is what a live table has otherwise than the models need it.
type Difference struct {
	// Table is the table, and Index the index that it is about, "" for the table itself.
	Table string `json:"table"`
	Index string `json:"index,omitempty"`
	// Text says what is so and what has to be, and Cure what to do.
	Text string `json:"text"`
	Cure string `json:"cure"`
	// Harmless reports that all works as it is: it costs more, or is not predicted.
	Harmless bool `json:"harmless,omitempty"`
}

// String shows the difference as a sentence.
func (d Difference) String() string {
	at := "the table " + d.Table
	if d.Index != "" {
		at += ", index " + d.Index
	}
	return at + ": " + d.Text + ": " + d.Cure
}

// CheckTables compares live tables with what the models need, and returns every difference: a table
// or an index that is missing, other keys or key types, a projection that lacks attributes, the time
// to live that is off; and, as harmless, what the models do not declare. It sends DescribeTable and
// DescribeTimeToLive for each table.
func CheckTables(ctx context.Context, client TableClient, all []Definition) ([]Difference, error) {
	if slices.ContainsFunc(all, func(d Definition) bool { return d.table == nil }) {
		return nil, errors.New("an empty Definition: take those of a mapper")
	}
	found, err := tabledef.Check(ctx, client, neededBy(all))
	return differencesOf(found), err
}

func differencesOf(all []tabledef.Difference) []Difference {
	var out []Difference
	for _, d := range all {
		out = append(out, Difference(d))
	}
	return out
}

// String shows the table as [CloudFormation] does.
func (d Definition) String() string { return strings.TrimSpace(CloudFormation([]Definition{d})) }
