package schema

import (
	"slices"
	"strings"
)

// formerNames takes the names that attributes had before (was=) from their fields' tags, and checks
// that nothing else has them.
func (b *builder) formerNames() {
	taken := map[*Field]bool{}
	for _, it := range b.e.Items {
		old := map[string]string{}
		for _, a := range it.Attributes {
			m := b.taggedOf(a.Field)
			if m == nil || !m.tag.Has("was") {
				continue
			}
			taken[m.Field] = true
			if b.mayBeRenamed(it, a, m) {
				a.Was, it.Renamed = b.oldNames(it, a, m, old), true
			}
		}
	}
	for _, m := range b.storable() {
		if m.tag.Has("was") && !taken[m.Field] {
			taken[m.Field] = true
			b.fault(m.option("was"), "put it on the fields in it",
				"was= is for a field that is stored in one attribute, unlike %s", m.Name)
		}
	}
}

// storable lists the fields of the model, and of the structs that are spread over items.
func (b *builder) storable() []*taggedField {
	all := slices.Clone(b.fields)
	for _, m := range b.fields {
		switch it := b.onItem[m.Field]; {
		case it == nil:
		case it.Element() && it.Elem.Spreads():
			all = append(all, b.spread(it.Elem)...)
		case !it.Element() && b.isSpread(m):
			all = append(all, b.spread(m.Type.deref())...)
		}
	}
	return all
}

// taggedOf returns the field of the model, or of a struct that is spread or an element, that is
// declared by f; nil for none.
func (b *builder) taggedOf(f *Field) *taggedField {
	is := func(m *taggedField) bool { return m.Field == f }
	if f == nil {
		return nil
	}
	if i := slices.IndexFunc(b.fields, is); i >= 0 {
		return b.fields[i]
	}
	for _, fields := range b.spreads {
		if i := slices.IndexFunc(fields, is); i >= 0 {
			return fields[i]
		}
	}
	return nil
}

// mayBeRenamed refuses was= where a key or an expiry names the attribute.
func (b *builder) mayBeRenamed(it *Item, a *Attribute, m *taggedField) bool {
	what := ""
	switch {
	case slices.ContainsFunc(b.e.KeyFields, func(k *KeyField) bool { return k.Field == m.Field }),
		it.Key != nil && slices.ContainsFunc(it.Key.Sources, func(s Source) bool { return s.field == m.Field }):
		what = "a key"
	case it.Expiry != nil && slices.Equal(it.Expiry.Path, a.Value.Path):
		what = "the item's expiry"
	default:
		return true
	}
	b.fault(m.option("was"), "keep the attribute's name, with dynamodbav:\"oldName\"",
		"%s names the field, so that its attribute cannot have two names", what)
	return false
}

// oldNames returns the names that was= gives. old holds those of the item's other attributes.
func (b *builder) oldNames(it *Item, a *Attribute, m *taggedField, old map[string]string) []string {
	names := strings.Split(m.tag.Value("was"), ",")
	for i, name := range names {
		name = strings.TrimSpace(name)
		names[i] = name
		what := ""
		switch other := it.Attribute(name); {
		case name == "":
			what = "is empty"
		case name == a.Name:
			what = "is the attribute's current name"
		case other >= 0:
			what = "is the attribute of " + it.Attributes[other].Value.Name
		case old[name] != "":
			what = "is also that of " + old[name]
		case name == it.Table.Hash, name == it.Table.Range:
			what = "is a key attribute of the table " + it.Table.Name
		case b.reserved(name) != "", name == b.e.TTL:
			what = "is reserved by the library"
		}
		if what != "" {
			b.fault(m.option("was"), "write only names under which items store this field",
				"the old name %q %s", name, what)
			continue
		}
		old[name] = a.Value.Name
	}
	return names
}
