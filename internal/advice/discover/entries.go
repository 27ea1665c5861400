package discover

import (
	"fmt"
	"slices"

	"github.com/itemize/itemize/cost/forecast"
	"github.com/itemize/itemize/internal/migration/layout"
	"github.com/itemize/itemize/internal/model/schema"
)

// entry is the entry of a kind of items in an index.
type entry struct {
	index *schema.Index
	kind  *layout.Kind
}

// indexes returns the indexes of a model, one for each kind of items in one. itemOf returns the attributes of the
// workload in a fixed item. The notes are about indexes that differ from those that the workload states, or that have
// no entries.
func (m *maker) indexes(e *schema.Entity, itemOf func(*layout.Kind) []string) (
	out []forecast.Index, entries []entry, notes []string,
) {
	out = []forecast.Index{}
	for _, k := range m.Kinds {
		at := slices.IndexFunc(e.Items, func(it *schema.Item) bool {
			return it.Name == k.Name && it.Table.Name == k.LayoutItem.Table
		})
		for _, n := range e.Items[at].Entries {
			x := forecast.Index{Name: n.Index.Name, All: n.Index.All, List: k.From}
			names := itemOf(k)
			switch {
			case k.From != "":
				if !slices.ContainsFunc(m.workload.Attributes, func(a forecast.Attribute) bool {
					return a.Name == k.From && a.Elements != nil
				}) {
					continue
				}
				x.Attributes = slices.Clone(n.Index.Include)
			case len(names) == 0:
				continue
			default:
				x.In = names[0]
				x.Attributes = m.projected(k, n.Index, names)
			}
			x.NotQueried = n.Index.Entries[0] != n
			missing := m.keysOf(k, n, &x)
			for _, name := range missing {
				notes = append(notes, fmt.Sprintf("the index %s has no entries of %s, because the workload lacks %s",
					x.Name, k.Name, name))
			}
			out, entries = append(out, x), append(entries, entry{n.Index, k})
		}
	}
	for _, x := range m.workload.Indexes {
		if !slices.ContainsFunc(out, func(y forecast.Index) bool { return x.Name == y.Name }) {
			notes = append(notes, fmt.Sprintf("the model has no index %s: its writes and queries cost nothing in "+
				"the layout of the model", x.Name))
		}
	}
	return out, entries, notes
}

// projected returns the attributes of a workload that an index projects from a fixed item.
func (m *maker) projected(k *layout.Kind, ix *schema.Index, names []string) []string {
	var out []string
	for _, a := range k.Attributes {
		in := firstOf(a.In, a.Name)
		if !ix.All && slices.Contains(ix.Include, a.Name) && slices.Contains(names, in) && !slices.Contains(out, in) {
			out = append(out, in)
		}
	}
	return out
}

// keysOf sets the attributes of which the keys of an entry are made, of those that can change. It returns those that
// the workload lacks.
func (m *maker) keysOf(k *layout.Kind, n *schema.Entry, x *forecast.Index) (missing []string) {
	for _, key := range n.Keys() {
		if key.Own == schema.Primary {
			continue
		}
		for i := range key.Sources {
			name, has := m.sourceOf(k, &key.Sources[i])
			switch {
			case !has:
				missing = append(missing, name)
			case k.From != "" || slices.Contains(append(slices.Clone(x.Keys), x.Hash), name) || !m.states(name):
			case x.Hash == "":
				x.Hash = name
			default:
				x.Keys = append(x.Keys, name)
			}
		}
	}
	if len(missing) > 0 {
		x.Hash, x.Keys = "", nil
	}
	return missing
}

// states reports whether the workload has an attribute.
func (m *maker) states(name string) bool {
	return slices.ContainsFunc(m.workload.Attributes, func(a forecast.Attribute) bool { return a.Name == name })
}

// sourceOf returns the attribute from which a key of an item is made, and reports whether made documents have it.
func (m *maker) sourceOf(k *layout.Kind, s *schema.Source) (name string, has bool) {
	if s.From == schema.FromModel {
		for _, p := range m.keyFields() {
			if p.Field == s.Value.Name {
				return firstOf(p.Attribute, p.Field), true
			}
		}
		return s.Value.Name, m.states(s.Value.Name)
	}
	name = s.Value.Name
	for _, a := range k.Attributes {
		switch {
		case a.Field != s.Value.Name:
		case k.From != "":
			name = a.Name
		default:
			name = firstOf(a.In, a.Name)
		}
	}
	if k.From == "" {
		return name, m.states(name)
	}
	return name, m.ofElement(k, s, name)
}

// ofElement reports whether made elements have the attribute of which a key is made.
func (m *maker) ofElement(k *layout.Kind, s *schema.Source, name string) bool {
	if k.Scalar || s.From == schema.FromMapKey || s.From == schema.FromSelf {
		return true
	}
	if slices.ContainsFunc(k.SortKey.Placeholders, func(p schema.LayoutPlaceholder) bool {
		return p.From == "element" && p.Field == s.Value.Name
	}) {
		return true
	}
	for _, a := range m.workload.Attributes {
		if a.Name == k.From && a.Elements != nil {
			return len(a.Elements.Attributes) == 0 || slices.ContainsFunc(a.Elements.Attributes,
				func(f forecast.Attribute) bool { return f.Name == name })
		}
	}
	return false
}
