package search

import (
	"fmt"
	"slices"

	exp "github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/schema"
)

// expression builds the request's filter and projection, nil for neither.
func (x *Search) expression() (*read.Expression, error) {
	projection := x.r.Projection
	if x.r.KeysOnly {
		projection = []string{}
	}
	if x.r.Filter == nil && projection == nil {
		return nil, nil
	}
	b := exp.NewBuilder()
	if x.r.Filter != nil {
		b = b.WithFilter(*x.r.Filter)
	}
	if projection != nil {
		var list exp.ProjectionBuilder
		for _, name := range x.needed(projection) {
			list = list.AddNames(exp.NameNoDotSplit(name))
		}
		b = b.WithProjection(list)
	}
	e, err := b.Build()
	if err != nil {
		return nil, fmt.Errorf("%s: the query's filter or projection: %w", x.Model.Label(), err)
	}
	return &read.Expression{Filter: e.Filter(), Projection: e.Projection(), Names: e.Names(), Values: e.Values()}, nil
}

// needed adds to a projection what tells that an item is there, and whose.
func (x *Search) needed(names []string) []string {
	m := x.Model
	out := slices.Clone(names)
	add := func(name string) {
		if name != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	for _, p := range x.s.Parts {
		add(m.Tables[p.Table].Hash)
		add(m.Tables[p.Table].Range)
	}
	for _, name := range m.Reserved.Names() {
		add(name)
	}
	for _, it := range m.Schema.Items {
		for _, a := range it.Attributes {
			if x.inKey(it, a.Field) {
				add(a.Name)
			}
		}
	}
	return out
}

// inKey reports whether a key names a field, so that its attribute holds what the key may
// have lost.
func (x *Search) inKey(it *schema.Item, f *schema.Field) bool {
	if slices.ContainsFunc(x.Model.Schema.KeyFields, func(o *schema.KeyField) bool { return f != nil && o.Field == f }) {
		return true
	}
	return it.Key != nil && slices.ContainsFunc(it.Key.Sources, func(s schema.Source) bool {
		return s.From == schema.FromElement && f != nil && s.Value.Name == f.Name
	})
}
