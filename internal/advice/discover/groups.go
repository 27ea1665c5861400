package discover

import (
	"cmp"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
)

// group is an entity type: items with the same key patterns. Programs select items by their keys, so that items with
// other attributes are of the same type.
type group struct {
	pk, sk pattern
	items  []item.Attributes
	sizes  []int
	// sampled are all its items, also those that cannot be moved.
	sampled []item.Attributes
	// alone reports that each partition has at most one of its items.
	alone bool
}

// groupsOf divides a sample into entity types, the largest first.
func groupsOf(t *Table, sample []item.Attributes, names *census) []*group {
	var hashes, ranges []types.AttributeValue
	partitions := make([]string, len(sample))
	for i, it := range sample {
		hashes = append(hashes, it[t.Hash])
		partitions[i] = keyText(it[t.Hash])
		if t.Range != "" {
			ranges = append(ranges, it[t.Range])
		}
	}
	pks := patternsOf(hashes, partitions)
	sks := make([]pattern, len(sample))
	if t.Range != "" {
		sks = patternsOf(ranges, partitions)
	}
	for i := range sample { // no template could tell these from others
		pks[i], sks[i] = pks[i].separable(), sks[i].separable()
	}
	byKey := map[string]*group{}
	for i, it := range sample {
		name := form(pks[i]) + "\x00" + form(sks[i])
		g := byKey[name]
		if g == nil {
			g = &group{pk: pks[i], sk: sks[i]}
			byKey[name] = g
		}
		g.items = append(g.items, it)
	}
	unite(byKey, t)
	var out []*group
	for _, name := range slices.Sorted(maps.Keys(byKey)) {
		g := byKey[name]
		g.sampled = g.items
		out = append(out, g)
		g.pk = g.pk.attributesOf(t.Hash, g.items, names)
		if t.Range != "" {
			g.sk = g.sk.attributesOf(t.Range, g.items, names)
		}
		seen := map[string]bool{}
		g.alone = true
		for _, it := range g.items {
			g.sizes = append(g.sizes, attr.ItemSize(it))
			pk := keyText(it[t.Hash])
			g.alone = g.alone && !seen[pk]
			seen[pk] = true
		}
	}
	slices.SortStableFunc(out, func(a, b *group) int { return cmp.Compare(sum(b.sizes), sum(a.sizes)) })
	return out
}

// unite adds groups to the one of their sort key whose partition keys only vary, if their items have mostly the same
// attributes. The words in their keys are data then, as in names of time zones: a model of the varying keys would take
// their items.
func unite(groups map[string]*group, t *Table) {
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		all := groups[name]
		if all == nil || all.pk.kind != "S" || len(all.pk.words()) > 0 {
			continue
		}
		names := usualNames(t, all.items)
		for _, other := range slices.Sorted(maps.Keys(groups)) {
			g := groups[other]
			if g == all || g.pk.kind != "S" || form(g.sk) != form(all.sk) {
				continue
			}
			if own := usualNames(t, g.items); alike(names, own) {
				all.items, all.pk = append(all.items, g.items...), pattern{[]keyPart{{}}, "S"}
				delete(groups, other)
			}
		}
	}
}

// usualNames are the attributes that at least half of the items have, keys aside.
func usualNames(t *Table, items []item.Attributes) map[string]bool {
	counts := map[string]int{}
	for _, it := range items {
		for name := range it {
			counts[name]++
		}
	}
	out := map[string]bool{}
	for name, n := range counts {
		if 2*n >= len(items) && name != t.Hash && name != t.Range {
			out[name] = true
		}
	}
	return out
}

// alike reports whether two sets have at least half of their names in common.
func alike(a, b map[string]bool) bool {
	common := 0
	for name := range a {
		if b[name] {
			common++
		}
	}
	return common > 0 && 2*common >= len(a)+len(b)-common
}

// form is the form of a pattern for comparison. Keys that only vary have one form, whatever their delimiters.
func form(p pattern) string {
	if len(p.words()) == 0 {
		return "*" + p.kind
	}
	return p.kind + p.String()
}

func sum(all []int) (n int) {
	for _, x := range all {
		n += x
	}
	return n
}

func keyText(v types.AttributeValue) string {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return v.Value
	case *types.AttributeValueMemberB:
		return string(v.Value)
	}
	return ""
}
