package tabledef

import (
	"fmt"
	"slices"

	"github.com/itemize/itemize/internal/model/schema"
)

// Merge returns the tables that several models need, each table once: with the indexes of all. The
// error says what contradicts.
func Merge(sets ...[]*Table) ([]*Table, error) {
	var all []*Table
	for _, set := range sets {
		for _, t := range set {
			i := slices.IndexFunc(all, func(o *Table) bool { return o.Name == t.Name })
			if i < 0 {
				c := *t
				c.Attributes, c.Indexes = slices.Clone(t.Attributes), slices.Clone(t.Indexes)
				all = append(all, &c)
				continue
			}
			if err := all[i].join(t); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// join adds what another model needs of the same table.
func (d *Table) join(o *Table) error {
	if d.Hash != o.Hash || d.Range != o.Range {
		return fmt.Errorf("the table %s has the key attributes %q and %q for one model, but %q and %q for another: "+
			"write the same in hash= and range= of both", d.Name, d.Hash, d.Range, o.Hash, o.Range)
	}
	if d.TTL != "" && o.TTL != "" && d.TTL != o.TTL {
		return fmt.Errorf("the table %s has the TTL attribute %q for one model, but %q for another: write the same "+
			"ttl= in both", d.Name, d.TTL, o.TTL)
	}
	if d.TTL == "" {
		d.TTL = o.TTL
	}
	d.Stream = d.Stream || o.Stream
	for _, a := range o.Attributes {
		if i := slices.IndexFunc(d.Attributes, func(b schema.KeyAttribute) bool { return b.Name == a.Name }); i >= 0 &&
			d.Attributes[i].Type != a.Type {
			return fmt.Errorf("the key attribute %q of the table %s is of type %c for one model, but %c for "+
				"another: keys that share an attribute have one type", a.Name, d.Name, d.Attributes[i].Type, a.Type)
		}
		d.attribute(a)
	}
	for _, x := range o.Indexes {
		i := slices.IndexFunc(d.Indexes, func(y *schema.Index) bool { return y.Name == x.Name })
		if i < 0 {
			d.Indexes = append(d.Indexes, x)
			continue
		}
		same := *d.Indexes[i]
		if same.Local != x.Local || !slices.Equal(same.Hash, x.Hash) || !slices.Equal(same.Range, x.Range) {
			return fmt.Errorf("the index %s of the table %s has different keys in two models: write the same "+
				"attributes, of the same types, in hash= and range= of both", x.Name, d.Name)
		}
		if same.All = same.All || x.All; same.All {
			same.Include = nil
		}
		same.Include = slices.Clone(same.Include)
		for _, name := range x.Include {
			if !same.All && !slices.Contains(same.Include, name) {
				same.Include = append(same.Include, name)
			}
		}
		d.Indexes[i] = &same
	}
	return nil
}
