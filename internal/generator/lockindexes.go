package generator

import (
	"fmt"
	"slices"
	"strings"

	"github.com/itemize/itemize/internal/model/schema"
)

// lostIndexes lists the secondary indexes in which a new layout would not find items that an old one
// has stored. The layout that writes an item creates the attributes that exist only for indexes.
// (DynamoDB itself fills an index whose keys are ordinary attributes.)
func lostIndexes(old, now schema.Layout) []string {
	var out []string
	for _, x := range now.Indexes {
		before := itemAt(old, itemNamed(now, x.Item)).Name
		if before == "" {
			continue // nothing is stored of the item yet
		}
		var stale []string
		for _, k := range slices.Concat(x.Hash, x.Range) {
			if k.Own {
				continue
			}
			was := derivedKey(old, before, k.Attribute)
			switch {
			case was == nil:
				stale = append(stale, fmt.Sprintf("without %q", k.Attribute))
			case keyText(was.LayoutKey) != keyText(k.LayoutKey) ||
				!slices.Equal(sourcesIn(old, before, was.LayoutKey), sourcesIn(now, x.Item, k.LayoutKey)):
				a, b := shown(was.LayoutKey, k.LayoutKey)
				stale = append(stale, fmt.Sprintf("with %s as %q, which is %s now", a, k.Attribute, b))
			}
		}
		if text := fixed(old, x); text != "" {
			out = append(out, text)
		}
		if len(stale) > 0 {
			out = append(out, fmt.Sprintf("stored items of %s are %s, so that the index %s does not find them: run "+
				"itemize gen -accept ./... and save each with mapper.Reindex (if the table has items)",
				x.Item, strings.Join(stale, ", and "),
				x.Name))
		}
	}
	return out
}

// fixed returns the properties of an existing index that DynamoDB cannot change: its keys and its
// projection.
func fixed(old schema.Layout, x schema.LayoutIndex) string {
	i := slices.IndexFunc(old.Indexes,
		func(o schema.LayoutIndex) bool { return o.Name == x.Name && o.Table == x.Table })
	if i < 0 {
		return ""
	}
	was := old.Indexes[i]
	what, before, after := "", "", ""
	switch {
	case was.Local != x.Local || attributesOf(was) != attributesOf(x):
		what, before, after = "keys", attributesOf(was), attributesOf(x)
	case shownProjection(was) != shownProjection(x):
		what, before, after = "projection", shownProjection(was), shownProjection(x)
	default:
		return ""
	}
	return fmt.Sprintf("the index %s had the %s %s and has %s now, a change that DynamoDB does not make: use "+
		"another name, or run itemize gen -accept ./... if the table is created again", x.Name, what, before, after)
}

func attributesOf(x schema.LayoutIndex) string {
	var out []string
	for _, k := range slices.Concat(x.Hash, x.Range) {
		out = append(out, k.Attribute+" ("+k.Type+")")
	}
	if x.Local {
		out = append(out, "local")
	}
	return strings.Join(out, ", ")
}

func shownProjection(x schema.LayoutIndex) string {
	switch {
	case x.Include == nil:
		return "all"
	case len(x.Include) == 0:
		return "keys"
	}
	return strings.Join(slices.Sorted(slices.Values(x.Include)), ", ")
}

func itemNamed(l schema.Layout, name string) schema.LayoutItem {
	i := slices.IndexFunc(l.Items, func(it schema.LayoutItem) bool { return it.Name == name })
	return l.Items[i]
}

// sourcesIn returns the sources of a key's placeholders: attributes by their names, which a renamed
// field keeps, fields that only keys hold by their position in these, and other sources by the field.
func sourcesIn(l schema.Layout, item string, k schema.LayoutKey) []string {
	out := fields(k)
	for _, it := range l.Items {
		held := func(name string, in *schema.LayoutKey) {
			for i, p := range k.Placeholders {
				if in == nil {
					return
				}
				at := slices.IndexFunc(in.Placeholders,
					func(o schema.LayoutPlaceholder) bool { return o.From == p.From && o.Field == p.Field })
				if at >= 0 {
					out[i] = fmt.Sprint(name, " ", at)
				}
			}
		}
		if it.Root {
			held("root item", it.SortKey)
		}
		if it.Name != item {
			continue
		}
		held("sort key", it.SortKey)
		held("partition key", &l.PartitionKey)
		for i, p := range k.Placeholders {
			for _, a := range it.Attributes {
				if p.From != "model" && (a.Field == p.Field || strings.HasSuffix(a.Field, "."+p.Field)) {
					out[i] = a.Name
				}
			}
		}
	}
	return out
}

// derivedKey returns what an attribute that is written for indexes alone holds in a layout, nil for
// nothing.
func derivedKey(l schema.Layout, item, attribute string) *schema.LayoutIndexKey {
	for _, x := range l.Indexes {
		for _, k := range slices.Concat(x.Hash, x.Range) {
			if x.Item == item && k.Attribute == attribute && !k.Own {
				return &k
			}
		}
	}
	return nil
}
