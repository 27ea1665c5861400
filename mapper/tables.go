package mapper

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/define"
	"github.com/itemize/itemize/internal/key"
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

	table *define.Table
}

// Definitions returns the tables that the model needs, its main table first. Those of several models
// that share tables are joined by [JoinDefinitions]. Of a model whose tables follow the time they are
// those of the present period and of the ones ahead ([TimeTables]).
func (m *Mapper[T]) Definitions() []Definition {
	g := m.engine
	if g.model.Schema.Periods == nil {
		return definitions(g.definitions(""))
	}
	var all []*define.Table
	for n := range g.model.Times.Ahead + 1 {
		all = append(all, g.definitions(g.model.PeriodAt(g.model.Now(), n))...)
	}
	return definitions(all)
}

// DefinitionsAt returns the tables that a model whose tables follow the time needs for some times: each
// once. A time that no table's name can have is an error.
func (m *Mapper[T]) DefinitionsAt(times ...time.Time) ([]Definition, error) {
	g := m.engine
	if g.model.Schema.Periods == nil {
		return m.Definitions(), nil
	}
	var all []*define.Table
	var known []string
	for _, at := range times {
		p, err := g.model.Schema.Periods.Of(key.OfTime(at))
		if err != nil {
			return nil, g.model.Errorf("the table of %s: %w", at.Format(time.DateOnly), err)
		}
		if !slices.Contains(known, p) {
			known, all = append(known, p), append(all, g.definitions(p)...)
		}
	}
	return definitions(all), nil
}

// definitions returns the tables of a period.
func (g *engine) definitions(period string) []*define.Table {
	var names []string
	for i := range g.model.Tables {
		names = append(names, g.model.Table(i, period).Name)
	}
	all := define.Of(g.model.Schema, names)
	if g.env.External == nil {
		return all
	}
	for _, t := range g.env.External.Homes.Tables() {
		if !slices.ContainsFunc(all, func(d *define.Table) bool { return d.Name == t.Name }) {
			all = append(all, define.Plain(t.Name, t.Hash, t.Range))
		}
	}
	return all
}

func definitions(all []*define.Table) []Definition {
	out := make([]Definition, len(all))
	for i, d := range all {
		out[i] = Definition{Name: d.Name, Create: d.Input(), TimeToLive: d.TTLInput(), table: d}
	}
	return out
}

// JoinDefinitions returns the tables of several models, each table once, with what all of them need.
// The error says where they contradict each other.
func JoinDefinitions(models ...[]Definition) ([]Definition, error) {
	sets := make([][]*define.Table, len(models))
	for i, all := range models {
		sets[i] = neededBy(all)
	}
	all, err := define.Merge(sets...)
	if err != nil {
		return nil, err
	}
	return definitions(all), nil
}

func neededBy(all []Definition) []*define.Table {
	var out []*define.Table
	for _, d := range all {
		if d.table != nil {
			out = append(out, d.table)
		}
	}
	return out
}

// CloudFormation returns tables as the resources of a template, in YAML.
func CloudFormation(all []Definition) string { return define.CloudFormation(neededBy(all)) }

// Terraform returns tables as resources for HashiCorp's provider for AWS. An index whose keys are
// several attributes needs a version of the provider that takes key_schema blocks.
func Terraform(all []Definition) string { return define.Terraform(neededBy(all)) }

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
	var out []Difference
	for _, d := range all {
		if d.table == nil {
			return nil, errors.New("an empty Definition: take those of a mapper")
		}
		differences, err := d.check(ctx, client)
		if err != nil {
			return nil, fmt.Errorf("the table %s: %w", d.Name, err)
		}
		for _, x := range differences {
			out = append(out, Difference{Table: d.Name, Index: x.Index, Text: x.Text, Cure: x.Cure, Harmless: x.Harmless})
		}
	}
	return out, nil
}

func (d Definition) check(ctx context.Context, client TableClient) ([]define.Difference, error) {
	live, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &d.Name})
	switch {
	case errors.As(err, new(*types.ResourceNotFoundException)):
		return []define.Difference{{Text: "it does not exist", Cure: "send Definition.Create, or check the region and the account"}}, nil
	case err != nil:
		return nil, err
	}
	ttl, err := client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &d.Name})
	if err != nil {
		return nil, err
	}
	return d.table.Compare(live.Table, ttl.TimeToLiveDescription), nil
}

// String shows the table as [CloudFormation] does.
func (d Definition) String() string { return strings.TrimSpace(CloudFormation([]Definition{d})) }
