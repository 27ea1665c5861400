package tabledef

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/schema"
)

// Difference is a difference between a live table and the table that a model needs.
type Difference struct {
	// Table is the real name of the table.
	Table string
	// Index is the index that it is about, "" for the table itself.
	Index string
	// Text names the difference: the present state and the required one. Cure says how to change it.
	Text, Cure string
	// Harmless reports that the model works with the difference.
	Harmless bool
}

// Compare compares a live table with the required one. ttl is its time to live, nil if it is unknown.
func (d *Table) Compare(live *types.TableDescription, ttl *types.TimeToLiveDescription) []Difference {
	c := &comparison{d: d, types: map[string]byte{}}
	for _, a := range live.AttributeDefinitions {
		c.types[aws.ToString(a.AttributeName)] = a.AttributeType[0]
	}
	if live.TableStatus != "" && live.TableStatus != types.TableStatusActive &&
		live.TableStatus != types.TableStatusUpdating {
		c.say("", "wait until it is ACTIVE", "the table is %s", live.TableStatus)
	}
	hash, sort := c.keys(live.KeySchema)
	want, wantSort := c.named(d.Hash), c.named(d.Range)
	if !slices.Equal(hash, want) || !slices.Equal(sort, wantSort) {
		c.say("", "the keys of a table cannot be changed: create a new table, or declare its own with hash= and range=",
			"the table has the keys %s, but the model has %s", show(hash, sort), show(want, wantSort))
	}
	for _, x := range d.Indexes {
		c.index(x, live)
	}
	for _, g := range live.GlobalSecondaryIndexes {
		c.undeclared(aws.ToString(g.IndexName))
	}
	for _, l := range live.LocalSecondaryIndexes {
		c.undeclared(aws.ToString(l.IndexName))
	}
	if ttl != nil {
		c.ttl(ttl)
	}
	return c.out
}

// compareTTL returns the differences of the time to live alone.
func (d *Table) compareTTL(live *types.TimeToLiveDescription) []Difference {
	c := &comparison{d: d}
	if live != nil {
		c.ttl(live)
	}
	return c.out
}

// comparison is a comparison under way.
type comparison struct {
	d     *Table
	types map[string]byte
	out   []Difference
}

func (c *comparison) say(index, cure, format string, args ...any) {
	c.out = append(c.out, Difference{Table: c.d.Name, Index: index, Text: fmt.Sprintf(format, args...), Cure: cure})
}

// harmless adds a difference that costs units, and loses nothing.
func (c *comparison) harmless(index, cure, format string, args ...any) {
	c.say(index, cure, format, args...)
	c.out[len(c.out)-1].Harmless = true
}

// keys returns the key attributes of a live table or index, with their types.
func (c *comparison) keys(all []types.KeySchemaElement) (hash, sort []schema.KeyAttribute) {
	for _, k := range all {
		a := schema.KeyAttribute{Name: aws.ToString(k.AttributeName), Type: c.types[aws.ToString(k.AttributeName)]}
		if k.KeyType == types.KeyTypeHash {
			hash = append(hash, a)
		} else {
			sort = append(sort, a)
		}
	}
	return hash, sort
}

// named returns a key attribute of the model's table, none for "".
func (c *comparison) named(name string) []schema.KeyAttribute {
	i := slices.IndexFunc(c.d.Attributes, func(a schema.KeyAttribute) bool { return a.Name == name })
	if name == "" || i < 0 {
		return nil
	}
	return c.d.Attributes[i : i+1]
}

func show(hash, sort []schema.KeyAttribute) string {
	list := func(all []schema.KeyAttribute) string {
		var out []string
		for _, a := range all {
			out = append(out, fmt.Sprintf("%s (%c)", a.Name, a.Type))
		}
		return strings.Join(out, ", ")
	}
	if len(sort) == 0 {
		return list(hash)
	}
	return list(hash) + "; " + list(sort)
}

// index compares an index.
func (c *comparison) index(x *schema.Index, live *types.TableDescription) {
	var keys []types.KeySchemaElement
	var projection *types.Projection
	found, local := false, false
	for _, g := range live.GlobalSecondaryIndexes {
		if aws.ToString(g.IndexName) == x.Name {
			found, keys, projection = true, g.KeySchema, g.Projection
			if g.IndexStatus != "" && g.IndexStatus != types.IndexStatusActive &&
				g.IndexStatus != types.IndexStatusUpdating {
				c.say(x.Name, "wait until it is ACTIVE: queries of it fail before", "the index is %s",
					g.IndexStatus)
			}
		}
	}
	for _, l := range live.LocalSecondaryIndexes {
		if aws.ToString(l.IndexName) == x.Name {
			found, local, keys, projection = true, true, l.KeySchema, l.Projection
		}
	}
	switch {
	case !found && x.Local:
		c.say(x.Name, "local indexes are created only with their table: create a new table, or declare a global one",
			"the table does not have the local index")
		return
	case !found:
		c.say(x.Name, "add it with UpdateTable; it finds a stored item after a save with mapper.Reindex",
			"the table does not have the index")
		return
	case local != x.Local:
		kind := map[bool]string{true: "local", false: "global"}
		c.say(x.Name, "declare it as it is, or use another name",
			"the index is a %s one, but a %s one in the model", kind[local], kind[x.Local])
		return
	}
	if hash, sort := c.keys(keys); !slices.Equal(hash, x.Hash) || !slices.Equal(sort, x.Range) {
		c.say(x.Name, "create a new index under another name, or declare its own attributes with hash= and range=",
			"the index has the keys %s, but in the model %s", show(hash, sort), show(x.Hash, x.Range))
	}
	c.projection(x, projection)
}

// projection compares what an index projects.
func (c *comparison) projection(x *schema.Index, live *types.Projection) {
	if live == nil || live.ProjectionType == types.ProjectionTypeAll && x.All {
		return
	}
	cure := "create a new index under another name, or write its attributes in project="
	switch {
	case live.ProjectionType == types.ProjectionTypeAll:
		c.harmless(x.Name, "write project=all, or create a new index",
			"the index projects all attributes, but the model needs fewer, so that writes cost more than predicted")
	case x.All:
		c.say(x.Name, cure, "the index projects %s, but all attributes in the model", projected(live))
	default:
		var missing, more []string
		for _, name := range x.Include {
			if !slices.Contains(live.NonKeyAttributes, name) {
				missing = append(missing, name)
			}
		}
		for _, name := range live.NonKeyAttributes {
			if !slices.Contains(x.Include, name) {
				more = append(more, name)
			}
		}
		if len(missing) > 0 {
			c.say(x.Name, cure, "the index does not project %s", strings.Join(missing, ", "))
		}
		if len(more) > 0 {
			c.harmless(x.Name, "add them to project=",
				"the index also projects %s, so that writes may cost more than predicted", strings.Join(more, ", "))
		}
	}
}

func projected(p *types.Projection) string {
	if p.ProjectionType == types.ProjectionTypeKeysOnly {
		return "keys alone"
	}
	return strings.Join(p.NonKeyAttributes, ", ") + " and keys"
}

// undeclared notes an index that the model does not declare.
func (c *comparison) undeclared(name string) {
	if !slices.ContainsFunc(c.d.Indexes, func(x *schema.Index) bool { return x.Name == name }) {
		c.harmless(name, "declare it with index="+name+", or remove it",
			"the model does not declare the index, so that the predicted cost of writes lacks it")
	}
}

// isOn reports whether a table's time to live is on.
func isOn(ttl *types.TimeToLiveDescription) bool {
	return ttl != nil && (ttl.TimeToLiveStatus == types.TimeToLiveStatusEnabled ||
		ttl.TimeToLiveStatus == types.TimeToLiveStatusEnabling)
}

// ttl compares the time to live.
func (c *comparison) ttl(live *types.TimeToLiveDescription) {
	on := isOn(live)
	name := aws.ToString(live.AttributeName)
	switch {
	case c.d.TTL == "" && on:
		c.harmless("", "write ttl="+name, "the table's time to live is on, but the model does not declare its "+
			"attribute %q, so that expired items are still found", name)
	case c.d.TTL != "" && !on:
		c.say("", "send Definition.TimeToLive", "the table's time to live is off, but the model's is by the "+
			"attribute %q: expired items are not found, and never deleted", c.d.TTL)
	case c.d.TTL != "" && name != c.d.TTL:
		c.say("", "write ttl="+name+", or change the table's",
			"the table's time to live is by the attribute %q, but the model's by %q", name, c.d.TTL)
	}
}

// Check compares tables with the live ones, and returns every difference.
func Check(ctx context.Context, client Client, all []*Table) ([]Difference, error) {
	var out []Difference
	for _, d := range all {
		live, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &d.Name})
		if errors.As(err, new(*types.ResourceNotFoundException)) {
			out = append(out,
				Difference{
					Table: d.Name, Text: "it does not exist",
					Cure: "send Definition.Create, or check the region and the account",
				})
			continue
		}
		var ttl *dynamodb.DescribeTimeToLiveOutput
		if err == nil {
			ttl, err = client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &d.Name})
		}
		if err != nil {
			return nil, about(d.Name, err)
		}
		out = append(out, d.Compare(live.Table, ttl.TimeToLiveDescription)...)
	}
	return out, nil
}
