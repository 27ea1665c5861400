package model

import (
	"strings"

	"github.com/itemize/itemize/internal/model/codec"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/read/selection"
)

// SelectItems returns a selection of items in one of [Model.Select]: items of an entity, or the root items of
// several in a flat model. name is the name of an item, or of a field in it. args are the values of the
// first placeholders that the key does not give.
func (m *Model) SelectItems(of selection.Selection, name string, args []any) selection.Selection {
	fail := func(err error) selection.Selection { return selection.Selection{Err: err} }
	if of.Err != nil {
		return of
	}
	identity := of.Identity
	if len(of.Elsewhere) > 0 {
		identity = identity[:m.Schema.Identities()] // the shard is computed
	}
	it := m.itemOf(name)
	switch {
	case it == nil:
		return fail(m.Errorf("Items: no item %q: write the name of a field in it", name))
	case it.Key == nil:
		return fail(m.Errorf("Items: %s has no sort key, and so no range: use Table", name))
	case len(identity) < m.Schema.Identities() && it != m.Root():
		return fail(m.Errorf("Items: %s needs the key of one entity: pass all values to Key", name))
	}
	t := selection.Target{Kind: selection.TargetItem, Item: it.Index}
	var takes []string
	parts, source := len(it.Key.Template.Parts), 0
	for i, p := range it.Key.Template.Parts {
		if p.Format.Kind == key.Literal {
			continue
		}
		src := it.Key.Sources[source]
		source++
		if m.inIdentity(src, len(identity)) {
			continue
		}
		if takes = append(takes, src.Text); len(takes) > len(args) {
			parts = min(parts, i)
			continue
		}
		v, err := codec.PlaceholderValue(m.Schema, it.Key, source-1, args[len(takes)-1])
		if err != nil {
			return fail(ofArgument(err))
		}
		t.Values = append(t.Values, v)
	}
	if len(args) > len(takes) {
		return fail(m.Errorf("Items got %d values, but %s takes at most %d: %s", len(args), name, len(takes),
			strings.Join(takes, ", ")))
	}
	t.Parts = parts
	return selection.Selection{Identity: identity, Targets: []selection.Target{t}}
}

// inIdentity reports whether the first values that identify an entity give a placeholder.
func (m *Model) inIdentity(src schema.Source, count int) bool {
	e := m.Schema
	if src.From != schema.FromModel || src.KeyField >= count {
		return false
	}
	return count >= e.Identities() || e.PK.Gives(src.KeyField)
}

// itemOf returns the item of a name: its own, or that of a field in it; nil for none.
func (m *Model) itemOf(name string) *schema.Item {
	var found *schema.Item
	for _, it := range m.Schema.Items {
		if it.Name == name {
			return it
		}
		for _, a := range it.Attributes {
			if a.Value.Name == name && !it.Element() && found == nil {
				found = it
			}
		}
	}
	return found
}
