package discover

import (
	"fmt"
	"slices"
	"strings"

	"github.com/itemize/itemize/cost/forecast"
	"github.com/itemize/itemize/internal/migration/layout"
	"github.com/itemize/itemize/internal/model/schema"
)

// LayoutOf returns the layout of a model for a workload, with the exact sizes of its items. It makes documents of the
// sizes of the workload, and divides them as the model does. Attributes that the model does not store count as part of
// its root item. The second result are notes about them.
func LayoutOf(e *schema.Entity, w forecast.Workload) (forecast.Layout, []string, error) {
	none := forecast.Layout{}
	data := e.Layout()
	unique := data.Unique
	data.Unique = nil // which a migration refuses
	external, needs := storedElsewhere(&data), needsOf(&data)
	ofAnyType(&data)
	x, err := layout.New(data)
	if err != nil {
		return none, nil, fmt.Errorf("%w: price it by hand, with a layout in the workload", err)
	}
	m := &maker{Layout: x, workload: w, external: external, needs: needs}
	l := forecast.Layout{Name: e.Name}
	p := &placing{layout: x, schema: e, items: map[string]int{}}
	groups, notes, err := m.divide(&l, p)
	if err != nil {
		return none, nil, err
	}
	// items that hold nothing of the workload do not exist
	var kept []int
	for i, names := range groups {
		if len(names) > 0 || i == 0 {
			kept = append(kept, i)
			l.Items = append(l.Items, names)
		}
	}
	if len(l.Items[0]) == 0 {
		return none, nil, fmt.Errorf("the workload has no attribute of the root item of %s: add one, such as a key "+
			"field", e.Name)
	}
	itemOf := func(k *layout.Kind) []string { return p.groupOf(k, groups) }
	l.Groups = prefixesOf(x, e.Delim, func(k *layout.Kind) string {
		switch {
		case k.From != "" && slices.Contains(l.Elements, k.From):
			return k.From
		case k.From == "" && len(itemOf(k)) > 0:
			return itemOf(k)[0]
		}
		return ""
	})
	l.Fields = fieldsOf(e, &data, x)
	p.elements = l.Elements
	var more []string
	l.Indexes, p.entries, more = m.indexes(e, itemOf)
	notes = append(notes, more...)
	for _, u := range unique {
		l.Unique = append(l.Unique, u.Attributes)
	}
	s, err := p.sizes(m.documents())
	if err != nil {
		return none, nil, err
	}
	all := s.Items
	s.Items = nil
	for _, i := range kept {
		s.Items = append(s.Items, all[i])
	}
	l.Sizes = s
	return l, notes, nil
}

// groupOf returns the group of a fixed item, nil for elements.
func (p *placing) groupOf(k *layout.Kind, groups [][]string) []string {
	switch {
	case k.Root:
		return groups[0]
	case k.From == "":
		return groups[p.items[k.SortKey.Template]]
	}
	return nil
}

// divide returns the attributes of the fixed items, the root item first, and sets the lists whose elements are items.
// Attributes that the model does not store count as part of its root item, and the notes say so.
func (m *maker) divide(l *forecast.Layout, p *placing) (groups [][]string, notes []string, err error) {
	groups = [][]string{nil}
	if k := m.Root.SortKey; k != nil {
		p.items[k.Template] = 0
	}
	at := map[string]int{} // the item of an attribute
	for _, k := range m.Kinds {
		i := 0
		switch {
		case k.From != "":
			continue
		case !k.Root:
			i = len(groups)
			groups = append(groups, nil)
			p.items[k.SortKey.Template] = i
		}
		for _, a := range k.Attributes {
			at[firstOf(a.In, a.Name)] = i
		}
	}
	for _, a := range m.workload.Attributes {
		if m.kindOf(a.Name) != nil {
			if a.Elements == nil {
				return nil, nil, fmt.Errorf("the model stores the elements of %q as items: describe them in the "+
					"workload (\"elements\", see docs/costs.md)", a.Name)
			}
			l.Elements = append(l.Elements, a.Name)
			continue
		}
		if !m.Claims(a.Name) {
			notes = append(notes, fmt.Sprintf("the model does not store %q: it counts as part of the root item",
				a.Name))
		}
		groups[at[a.Name]] = append(groups[at[a.Name]], a.Name)
	}
	return groups, notes, nil
}

// fieldsOf returns the fields of a model by the attributes of a monolith.
func fieldsOf(e *schema.Entity, data *schema.Layout, x *layout.Layout) map[string]forecast.Field {
	out := map[string]forecast.Field{}
	root := map[string]bool{}
	for _, k := range x.Kinds {
		key := ""
		if k.SortKey != nil {
			key = k.SortKey.Template
		}
		if k.From != "" {
			name := k.From
			for _, it := range e.Items {
				if it.Field != nil && it.Key != nil && it.Key.Text == key {
					name = it.Field.Name
				}
			}
			out[k.From] = forecast.Field{Name: name, SortKey: key}
			continue
		}
		for _, a := range k.Attributes {
			name, _, _ := strings.Cut(a.Field, ".")
			in := firstOf(a.In, a.Name)
			pinned := k.Root && (a.Name == data.TTL || a.Name == k.Expiry)
			out[in], root[in] = forecast.Field{Name: name, SortKey: key, Pinned: out[in].Pinned || pinned}, k.Root
		}
	}
	pin := func(all []schema.LayoutPlaceholder, isKey bool) {
		for _, p := range all {
			name := firstOf(p.Attribute, p.Field)
			f := out[name]
			if p.From != "model" && p.From != "item" || !isKey && !root[name] {
				continue
			}
			if f.Name == "" {
				f.Name = p.Field
			}
			f.Pinned = true
			out[name] = f
		}
	}
	pin(data.PartitionKey.Placeholders, true)
	if x.Root.SortKey != nil {
		pin(x.Root.SortKey.Placeholders, true)
	}
	for _, ix := range data.Indexes {
		for _, k := range append(slices.Clone(ix.Hash), ix.Range...) {
			pin(k.Placeholders, false)
		}
	}
	return out
}

// prefixesOf returns the groups of items whose sort keys share literal segments. name returns an attribute of a kind of
// item, "" for none of the workload.
func prefixesOf(x *layout.Layout, delim byte, name func(*layout.Kind) string) [][]string {
	var prefixes []string
	groups, all := map[string][]string{}, 0
	for _, k := range x.Kinds {
		attribute := name(k)
		if attribute == "" || k.SortKey == nil {
			continue
		}
		all++
		literal := behindFields(k.SortKey)
		for i := range len(literal) {
			if literal[i] != delim {
				continue
			}
			if groups[literal[:i]] == nil {
				prefixes = append(prefixes, literal[:i])
			}
			groups[literal[:i]] = append(groups[literal[:i]], attribute)
		}
	}
	var out [][]string
	for _, p := range prefixes {
		same := func(g []string) bool { return slices.Equal(g, groups[p]) }
		if n := len(groups[p]); n > 1 && n < all && !slices.ContainsFunc(out, same) {
			out = append(out, groups[p])
		}
	}
	return out
}

// behindFields returns the text of a template up to its first placeholder that is no field of the model. In a flat
// model, the key of an entity is the beginning of the sort keys of its items.
func behindFields(k *schema.LayoutKey) string {
	text, at := k.Template, 0
	for _, p := range k.Placeholders {
		i := strings.IndexByte(text[at:], '{')
		if i < 0 {
			return text
		}
		if p.From != "model" {
			return text[:at+i]
		}
		at += i + strings.IndexByte(text[at+i:], '}') + 1
	}
	if i := strings.IndexByte(text[at:], '{'); i >= 0 {
		return text[:at+i]
	}
	return text
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// storedElsewhere removes the tags of large values from a layout, and returns the attributes that have them.
func storedElsewhere(l *schema.Layout) map[string]*schema.Large {
	out := map[string]*schema.Large{}
	for i := range l.Items {
		for k := range l.Items[i].Attributes {
			if a := &l.Items[i].Attributes[k]; a.Large != nil {
				out[a.Name], a.Large = a.Large, nil
			}
		}
	}
	return out
}
