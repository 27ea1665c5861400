package discover

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/attr"
	"github.com/itemize/itemize/internal/item"
)

// group is an entity type: items with the same key patterns and similar attributes.
type group struct {
	pk, sk pattern
	items  []item.Attributes
	sizes  []int
	// alone reports that each partition has at most one of its items.
	alone bool
}

// groupsOf divides a sample into entity types, the largest first.
func groupsOf(t *Table, sample []item.Attributes) []*group {
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
	var out []*group
	for _, name := range slices.Sorted(maps.Keys(byKey)) {
		out = append(out, byKey[name].byAttributes(t)...)
	}
	for _, g := range out {
		g.pk = g.pk.attributesOf(t.Hash, g.items)
		if t.Range != "" {
			g.sk = g.sk.attributesOf(t.Range, g.items)
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

// byAttributes divides items with the same key patterns, whose keys have no words, by their attributes: items that
// share less than half of them are of different types.
func (g *group) byAttributes(t *Table) []*group {
	if len(g.pk.words())+len(g.sk.words()) > 0 {
		return []*group{g}
	}
	signatures := map[string][]item.Attributes{}
	for _, it := range g.items {
		var names []string
		for name := range it {
			if name != t.Hash && name != t.Range {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		key := strings.Join(names, "\x00")
		signatures[key] = append(signatures[key], it)
	}
	keys := slices.SortedFunc(maps.Keys(signatures), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(signatures[b]), len(signatures[a])), cmp.Compare(a, b))
	})
	var out []*group
	var cores []map[string]int // how many items of the group have an attribute
	for _, key := range keys {
		names := strings.Split(key, "\x00")
		best, most := -1, 0.5
		for i, core := range cores {
			common, n := 0, 0
			for _, count := range core {
				if 2*count >= len(out[i].items) {
					n++
				}
			}
			for _, name := range names {
				if 2*core[name] >= len(out[i].items) && core[name] > 0 {
					common++
				}
			}
			if share := float64(common) / float64(max(1, n+len(names)-common)); share >= most {
				best, most = i, share
			}
		}
		if best < 0 {
			out, cores = append(out, &group{pk: g.pk, sk: g.sk}), append(cores, map[string]int{})
			best = len(out) - 1
		}
		out[best].items = append(out[best].items, signatures[key]...)
		for _, name := range names {
			cores[best][name] += len(signatures[key])
		}
	}
	return out
}
