package mapper

import (
	"fmt"
	"slices"
	"strings"

	"github.com/itemize/itemize/internal/attr"
	"github.com/itemize/itemize/internal/condition"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/schema"
	"github.com/itemize/itemize/internal/selection"
	"github.com/itemize/itemize/query"
)

// expressionOf builds a request's filter and projection, nil for neither.
func (c *core) expressionOf(r query.Request, s selection.Selection) (*read.Expression, error) {
	if len(r.Filter) == 0 && r.Projection == nil && !r.KeysOnly {
		return nil, nil
	}
	var x attr.Expression
	e := &read.Expression{}
	if len(r.Filter) > 0 {
		terms := make([]string, len(r.Filter))
		for i, f := range r.Filter {
			if err := c.filterable(r, f); err != nil {
				return nil, err
			}
			terms[i] = f.Term(&x)
		}
		text := strings.Join(terms, " AND ")
		e.Filter = &text
	}
	if r.Projection != nil || r.KeysOnly {
		var wanted []string
		if !r.KeysOnly {
			wanted = c.projected(r)
		}
		names := c.needed(s, wanted)
		for i, name := range names {
			names[i] = x.Name(name)
		}
		text := strings.Join(names, ", ")
		e.Projection = &text
	}
	e.Names, e.Values = x.Names(), x.Values()
	return e, nil
}

// filterable refuses a filter on a field that lies in several attributes.
func (c *core) filterable(r query.Request, f condition.Condition) error {
	for _, field := range f.Fields {
		if names := c.attributesIn(r, field.Name); field.Name != "" && (len(names) != 1 || names[0] != field.Attribute) {
			return fmt.Errorf("%s: the filter names %s, which no item stores in one attribute %q", c.schema.Label(), field.Name, field.Attribute)
		}
	}
	return nil
}

// projected returns the attributes of the fields that are asked for.
func (c *core) projected(r query.Request) []string {
	var names []string
	for _, p := range r.Projection {
		of := c.attributesIn(r, p.Field)
		if p.Field == "" || len(of) == 0 {
			of = []string{p.Attribute} // in the key, or by its name
		}
		for _, name := range of {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// attributesIn lists the attributes that what is asked for stores a field in.
func (c *core) attributesIn(r query.Request, field string) []string {
	var names []string
	for _, it := range c.schema.Items {
		if it.Element() && it.Elem.Go != r.Elem || !it.Element() && c.schema.Type.Go != r.Elem {
			continue
		}
		for _, a := range it.Attributes {
			if (a.Value.Name == field || strings.HasPrefix(a.Value.Name, field+".")) && !slices.Contains(names, a.Name) {
				names = append(names, a.Name)
			}
		}
	}
	return names
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
