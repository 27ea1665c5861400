package mapper

import (
	"fmt"
	"slices"

	exp "github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/schema"
	"github.com/itemize/itemize/internal/selection"
	"github.com/itemize/itemize/query"
)

// expressionOf builds a request's filter and projection, nil for neither.
func (c *core) expressionOf(r query.Request, s selection.Selection) (*read.Expression, error) {
	projection := r.Projection
	if r.KeysOnly {
		projection = []string{}
	}
	if r.Filter == nil && projection == nil {
		return nil, nil
	}
	b := exp.NewBuilder()
	if r.Filter != nil {
		b = b.WithFilter(*r.Filter)
	}
	if projection != nil {
		var list exp.ProjectionBuilder
		for _, name := range c.needed(s, projection) {
			list = list.AddNames(exp.NameNoDotSplit(name))
		}
		b = b.WithProjection(list)
	}
	e, err := b.Build()
	if err != nil {
		return nil, fmt.Errorf("%s: the query's filter or projection: %w", c.schema.Label(), err)
	}
	return &read.Expression{Filter: e.Filter(), Projection: e.Projection(), Names: e.Names(), Values: e.Values()}, nil
}

// needed adds to a projection what tells that an item is there, and whose.
func (c *core) needed(s selection.Selection, names []string) []string {
	out := slices.Clone(names)
	add := func(name string) {
		if name != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	for _, p := range s.Parts {
		t := c.schema.Tables[p.Table]
		add(t.Hash)
		add(t.Range)
	}
	add(schema.Attempt)
	add(schema.State)
	add(c.schema.TTL)
	for _, it := range c.schema.Items {
		for _, a := range it.Attributes {
			if c.names(it, a.Field) {
				add(a.Name)
			}
		}
	}
	return out
}

// names reports whether a key names a field, so that its attribute holds what the key may
// have lost.
func (c *core) names(it *schema.Item, f *schema.Field) bool {
	if slices.ContainsFunc(c.schema.KeyFields, func(o *schema.KeyField) bool { return f != nil && o.Field == f }) {
		return true
	}
	return it.Key != nil && slices.ContainsFunc(it.Key.Sources, func(s schema.Source) bool {
		return s.From == schema.FromElement && f != nil && s.Value.Name == f.Name
	})
}
