// Package tabledef says what tables a model needs: their keys, their indexes and their time to live, as
// data, and how a live table differs from that.
package tabledef

import (
	"slices"

	"github.com/itemize/itemize/internal/model/schema"
)

// Table is a table that a model needs.
type Table struct {
	// Name is the real name.
	Name string
	// Attributes are the key attributes of the table and its indexes, with their types.
	Attributes []schema.KeyAttribute
	// Hash and Range are the primary key; Range is "" for none.
	Hash, Range string
	Indexes     []*schema.Index
	// TTL is the attribute of the items' time to live, "" for none.
	TTL string
	// Stream reports that the table has a change stream with old and new images.
	Stream bool
}

// Leases returns a table for the leases of stream consumers (package stream).
func Leases(name string) *Table {
	return &Table{Name: name, Hash: "PK", Range: "SK", Attributes: []schema.KeyAttribute{
		{Name: "PK", Type: 'S'}, {Name: "SK", Type: 'S'},
	}}
}

// Of returns the tables that a model needs, by the names that they have.
func Of(e *schema.Entity, names []string) []*Table {
	var all []*Table
	for i, t := range e.Tables {
		d := &Table{Name: names[i], Hash: t.Hash, Range: t.Range, TTL: e.TTL}
		d.attribute(schema.KeyAttribute{Name: t.Hash, Type: t.HashType})
		if t.Range != "" {
			d.attribute(schema.KeyAttribute{Name: t.Range, Type: t.RangeType})
		}
		for _, x := range e.Indexes {
			if x.Table != t {
				continue
			}
			d.Indexes = append(d.Indexes, x)
			for _, a := range x.Attributes() {
				d.attribute(a)
			}
		}
		all = append(all, d)
	}
	return all
}

// Plain returns a table without indexes, whose key attributes are text; sort is "" for one without a sort key.
func Plain(name, hash, sort string) *Table {
	d := &Table{Name: name, Hash: hash, Range: sort}
	for _, a := range []string{hash, sort} {
		if a != "" {
			d.attribute(schema.KeyAttribute{Name: a, Type: 'S'})
		}
	}
	return d
}

// PartsOf returns the tables of the parts of a model's large values, and of guards, by their declared names.
func PartsOf(e *schema.Entity) []*Table {
	var all []*Table
	add := func(name string) {
		if name != "" && !slices.ContainsFunc(all, func(d *Table) bool { return d.Name == name }) {
			all = append(all, Plain(name, "PK", ""))
		}
	}
	for _, it := range e.Items {
		for _, a := range it.Attributes {
			if a.Large != nil {
				add(a.Large.Parts)
			}
		}
	}
	for _, u := range e.Uniques {
		add(u.Table)
	}
	return all
}

func (d *Table) attribute(a schema.KeyAttribute) {
	if !slices.Contains(d.Attributes, a) {
		d.Attributes = append(d.Attributes, a)
	}
}
