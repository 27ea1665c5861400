package search

import (
	"slices"
	"strings"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/expr"
	"github.com/itemize/itemize/internal/model/naming"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/read"
)

// expression builds the request's filter and projection, nil for neither.
func (s *Search) expression() (*read.Expression, error) {
	r := &s.r
	if len(r.Filter) == 0 && r.Projection == nil && !r.KeysOnly {
		return nil, nil
	}
	var x attr.Expression
	e := &read.Expression{}
	if len(r.Filter) > 0 {
		terms := make([]string, len(r.Filter))
		for i, f := range r.Filter {
			if err := s.filterable(f); err != nil {
				return nil, err
			}
			terms[i] = f.Term(&x, s.pathOf)
		}
		text := strings.Join(terms, " AND ")
		e.Filter = &text
	}
	if r.Projection != nil || r.KeysOnly {
		var wanted []string
		if !r.KeysOnly {
			for _, p := range r.Projection {
				if p.Field != "" {
					continue
				}
				if err := s.refuseUnknown("the projection", p.Attribute); err != nil {
					return nil, err
				}
			}
			wanted = s.projected()
		}
		names := s.inIndex(s.needed(wanted))
		for i, name := range names {
			names[i] = x.Name(name)
		}
		text := strings.Join(names, ", ")
		e.Projection = &text
	}
	e.Names, e.Values = x.Names(), x.Values()
	return e, nil
}

// filterable refuses a filter on a field that is in several attributes, or in none.
func (s *Search) filterable(f expr.Condition) error {
	for _, field := range f.Fields {
		if field[0].Name == "" {
			if err := s.refuseKey(field[0].Attribute); err != nil {
				return err
			}
			if err := s.refuseUnknown("the filter", field[0].Attribute); err != nil {
				return err
			}
			if len(s.attributesNamed(field[0].Attribute)) == 0 {
				continue // a key, or the library's own
			}
		}
		pathOf, single := s.find(field)
		if pathOf == nil || !single {
			return s.Model.Errorf("the filter names %s, which is not stored in one attribute of an item: filter by "+
				"a field that is", field.Shown())
		}
		if err := s.refuseKey(pathOf[0]); err != nil {
			return err
		}
		for _, a := range s.attributesNamed(pathOf[0]) {
			for _, it := range s.items() {
				if i := it.Attribute(a.Name); i >= 0 && it.Sparse(i) && f.ComparesEmpty(s.pathOf) {
					return s.Model.FieldErrorf(a.Value.Name, schema.EmptyKeyText, it.IndexOf(a.Name))
				}
			}
			if a.Large != nil {
				return s.Model.FieldErrorf(a.Value.Name, schema.LargeText, "filter", "in the application")
			}
			if len(a.Was) > 0 {
				return s.Model.FieldErrorf(a.Value.Name, "stored items may have it as %s or as %s, but a filter "+
					"checks one name: filter in the application until was= is removed", a.Name, strings.Join(a.Was,
					", "))
			}
		}
	}
	return nil
}

// refuseKey refuses a filter on a key attribute of the table or index that is queried.
func (s *Search) refuseKey(name string) error {
	var keys []string
	if in := s.in(); in != nil {
		for _, a := range in.Entry.Index.Attributes() {
			keys = append(keys, a.Name)
		}
	} else {
		for _, it := range s.items() {
			keys = append(keys, it.Table.Hash, it.Table.Range)
		}
	}
	if slices.Contains(keys, name) {
		return s.Model.Errorf("the filter names the key attribute %q, and DynamoDB filters by other attributes only: "+
			"narrow the query by its key", name)
	}
	return nil
}

// refuseUnknown refuses an attribute that no item of the result stores. An error names the caller's option, what.
func (s *Search) refuseUnknown(what, name string) error {
	var all []string
	for _, it := range s.items() {
		all = append(all, s.Model.AttributeNames(it)...)
	}
	if slices.Contains(all, name) {
		return nil
	}
	for _, it := range s.items() {
		if i := it.Former(name); i >= 0 {
			a := it.Attributes[i]
			return s.Model.FieldErrorf(a.Value.Name, "%s names the attribute %q, which is now %q, and items have "+
				"either name: leave it out until was= is removed", what, name, a.Name)
		}
	}
	for _, it := range s.items() {
		if it.Key != nil && slices.ContainsFunc(it.Key.Sources, func(src schema.Source) bool {
			return src.Value.Name == name
		}) {
			return s.Model.Errorf("%s names %q, which is in the key %s alone: narrow the query by it, or tag the "+
				"field stored", what, name, it.Key.Text)
		}
	}
	return s.Model.Errorf("%s names the attribute %q, which no selected item stores%s", what, name,
		naming.Hint(name, all))
}

// pathOf returns the path at which the requested items store a field.
func (s *Search) pathOf(f expr.Field) []string {
	if pathOf, single := s.find(f); single {
		return pathOf
	}
	return f.Attributes()
}

// find returns the path at which the requested items store a field. single is false if the field is
// spread.
func (s *Search) find(f expr.Field) (pathOf []string, single bool) {
	if f[0].Name == "" {
		return f.Attributes(), true
	}
	for n := 1; n <= len(f); n++ {
		names := s.attributesIn(f[:n].Name())
		switch {
		case len(names) == 1 && s.stores(f[:n].Name()):
			return append(names, f[n:].Attributes()...), true
		case n == len(f) && len(names) > 0:
			return names, false
		}
	}
	return nil, false
}

// stores reports whether the requested items store a field of this name.
func (s *Search) stores(field string) bool {
	return slices.ContainsFunc(s.items(), func(it *schema.Item) bool {
		return slices.ContainsFunc(it.Attributes, func(a *schema.Attribute) bool { return a.Value.Name == field })
	})
}

// items returns the kinds of the requested items.
func (s *Search) items() []*schema.Item {
	switch {
	case s.in() != nil:
		return []*schema.Item{s.in().Entry.Item}
	case s.r.Roots:
		return []*schema.Item{s.Model.Root()}
	}
	return slices.DeleteFunc(slices.Clone(s.Model.Schema.Items), func(it *schema.Item) bool {
		return it.Element() && it.Elem.Go != s.r.Elem || !it.Element() && s.Model.Schema.Type.Go != s.r.Elem
	})
}

// projected returns the attributes of the fields that are asked for.
func (s *Search) projected() []string {
	var names []string
	for _, p := range s.r.Projection {
		of := s.attributesIn(p.Field)
		if p.Field == "" || len(of) == 0 {
			of = []string{p.Attribute} // in the key, or by its name
		}
		for _, name := range of {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	for _, name := range names {
		for _, a := range s.attributesNamed(name) {
			for _, was := range a.Was { // where it is stored until the item is written
				if !slices.Contains(names, was) {
					names = append(names, was)
				}
			}
		}
	}
	return names
}

// attributesNamed lists the attributes of a name that the requested items store.
func (s *Search) attributesNamed(name string) []*schema.Attribute {
	var all []*schema.Attribute
	for _, it := range s.items() {
		if i := it.Attribute(name); i >= 0 {
			all = append(all, it.Attributes[i])
		}
	}
	return all
}

// attributesIn lists the attributes in which the requested items store a field.
func (s *Search) attributesIn(field string) []string {
	var names []string
	for _, it := range s.items() {
		for _, a := range it.Attributes {
			if (a.Value.Name == field || strings.HasPrefix(a.Value.Name, field+".")) &&
				!slices.Contains(names, a.Name) {
				names = append(names, a.Name)
			}
		}
	}
	return names
}

// needed adds to a projection the attributes that show whether an item exists, and to which entity it
// belongs.
func (s *Search) needed(names []string) []string {
	m := s.Model
	out := slices.Clone(names)
	add := func(name string) {
		if name != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	for _, p := range s.s.Parts {
		add(m.Tables[p.Table].Hash)
		add(m.Tables[p.Table].Range)
	}
	for _, name := range m.Reserved.Names() {
		add(name)
	}
	for _, it := range m.Schema.Items {
		for _, a := range it.Attributes {
			if s.inKey(it, a.Field) {
				add(a.Name)
			}
		}
	}
	if in := s.in(); in != nil && in.Keep != nil { // the instant decides
		for _, a := range in.Entry.Item.Attributes {
			if slices.Equal(a.Value.Path, s.instant().Value.Path) {
				add(a.Name)
			}
		}
	}
	return out
}

// inIndex returns the part of a projection that a secondary index projects, with its keys; for a table
// it returns everything.
func (s *Search) inIndex(out []string) []string {
	if s.in() == nil {
		return out
	}
	in := s.in().Entry.Index
	for _, a := range in.Attributes() {
		if !slices.Contains(out, a.Name) {
			out = append(out, a.Name)
		}
	}
	return slices.DeleteFunc(out, func(name string) bool { return !in.Projects(name) })
}

// inKey reports whether a key names a field, so that its attribute holds what the key may
// have lost.
func (s *Search) inKey(it *schema.Item, f *schema.Field) bool {
	if slices.ContainsFunc(s.Model.Schema.KeyFields,
		func(o *schema.KeyField) bool { return f != nil && o.Field == f }) {
		return true
	}
	return it.Key != nil && slices.ContainsFunc(it.Key.Sources, func(src schema.Source) bool {
		return src.From == schema.FromElement && f != nil && src.Value.Name == f.Name
	})
}
