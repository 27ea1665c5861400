package migrate

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/schema"
)

// indexesOf returns the secondary indexes of a table, also those that the model does not declare. Each
// write of an item in an index pays there too.
func indexesOf(d *types.TableDescription, t *item.Table) []*schema.Index {
	kinds := typesOf(d)
	var all []*schema.Index
	add := func(name *string, keys []types.KeySchemaElement, p *types.Projection) {
		x := &schema.Index{Name: aws.ToString(name), Table: &schema.Table{Name: t.Name, Hash: t.Hash, Range: t.Range}}
		for _, k := range keys {
			a := schema.KeyAttribute{Name: aws.ToString(k.AttributeName), Type: kinds[aws.ToString(k.AttributeName)][0]}
			if k.KeyType == types.KeyTypeHash {
				x.Hash = append(x.Hash, a)
			} else {
				x.Range = append(x.Range, a)
			}
		}
		if p != nil {
			x.All, x.Include = p.ProjectionType == types.ProjectionTypeAll, p.NonKeyAttributes
		}
		all = append(all, x)
	}
	for _, x := range d.GlobalSecondaryIndexes {
		add(x.IndexName, x.KeySchema, x.Projection)
	}
	for _, x := range d.LocalSecondaryIndexes {
		add(x.IndexName, x.KeySchema, x.Projection)
	}
	return all
}

// layoutIndexes returns the indexes of the layout for a table that may be missing.
func layoutIndexes(l *schema.Layout, t *item.Table) []*schema.Index {
	var all []*schema.Index
	for _, n := range l.Indexes {
		if n.Table != l.Tables[t.Index].Name ||
			slices.ContainsFunc(all, func(x *schema.Index) bool { return x.Name == n.Name }) {
			continue
		}
		x := &schema.Index{
			Name: n.Name, Table: &schema.Table{Name: t.Name, Hash: t.Hash, Range: t.Range},
			All: n.Include == nil, Include: n.Include,
		}
		x.Hash, x.Range = keysOfIndex(n.Hash), keysOfIndex(n.Range)
		all = append(all, x)
	}
	return all
}

func keysOfIndex(keys []schema.LayoutIndexKey) []schema.KeyAttribute {
	var out []schema.KeyAttribute
	for _, k := range keys {
		out = append(out, schema.KeyAttribute{Name: k.Attribute, Type: k.Type[0]})
	}
	return out
}

// missing lists the indexes of the layout that a table lacks.
func missing(l *schema.Layout, t *item.Table, has []*schema.Index) []string {
	var names []string
	for _, x := range layoutIndexes(l, t) {
		if !slices.ContainsFunc(has, func(h *schema.Index) bool { return h.Name == x.Name }) {
			names = append(names, x.Name)
		}
	}
	return names
}
