package discover

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/itemize/itemize/cost/forecast"
	"github.com/itemize/itemize/internal/migration/layout"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/schema"
)

// placing says which items of a layout a forecast has.
type placing struct {
	layout *layout.Layout
	schema *schema.Entity
	// items are the fixed items by their sort key templates, the root item as number 0.
	items map[string]int
	// elements are the attributes whose elements are items, and indexes those of the workload.
	elements, indexes []string
	// entries are those of the indexes of a model; nil for the indexes of the workload.
	entries []entry
	// exact returns the sizes of the items of a document, in the order of its collection; nil for items that the mapper
	// inserts.
	exact func(sample int) []int
}

// sizes divides documents, and returns the sizes of their items.
func (p *placing) sizes(docs []item.Attributes) (*forecast.Sizes, error) {
	n := 1
	for _, i := range p.items {
		n = max(n, i+1)
	}
	s := &forecast.Sizes{Items: make([][]int, n), Elements: map[string][][]int{}, Entries: map[string][]int{}}
	s.Indexes = make([][][]int, len(p.entries))
	for i, d := range docs {
		c, err := p.layout.Split(d)
		if err != nil {
			return nil, fmt.Errorf("entity %d of the sample: %w", i+1, layout.Summary(err))
		}
		for k := range s.Items {
			s.Items[k] = append(s.Items[k], 0)
		}
		for _, name := range p.elements {
			s.Elements[name] = append(s.Elements[name], nil)
		}
		for _, name := range p.indexes {
			s.Entries[name] = append(s.Entries[name], 0)
		}
		for k := range s.Indexes {
			s.Indexes[k] = append(s.Indexes[k], nil)
			if p.entries[k].kind.From == "" {
				s.Indexes[k][i] = []int{0}
			}
		}
		var bytes []int
		if p.exact != nil {
			bytes = p.exact(i)
		} else {
			for _, it := range c.Items {
				bytes = append(bytes, p.inserted(it))
			}
		}
		p.place(s, i, c, bytes)
	}
	return s, nil
}

// inserted is the size of an item that the mapper inserts: with its keys, version and incarnation.
func (p *placing) inserted(it *layout.Item) int {
	t := p.layout.Tables[it.Kind.Table]
	at := item.Place{Table: &item.Table{Name: t.Name, Hash: t.Hash, Range: t.Range}, PK: it.PK, SK: it.SK}
	n := attr.ItemSize(it.Attributes) + at.KeySize()
	for _, name := range []string{p.layout.Reserved.Version, cmp.Or(p.layout.Incarnation, schema.DefaultIncarnation)} {
		if name != "" {
			n += attr.AttributeSize(name, item.NewToken())
		}
	}
	return n
}

// place notes the sizes of the items of one document.
func (p *placing) place(s *forecast.Sizes, sample int, c *layout.Collection, bytes []int) {
	type sized struct {
		it   *layout.Item
		size int
	}
	parts := map[string][]sized{}
	for i, it := range c.Items {
		n := bytes[i]
		switch {
		case it.Kind.From != "":
			parts[it.Kind.From] = append(parts[it.Kind.From], sized{it, n})
			continue
		case it.Kind.Root:
			s.Items[0][sample] = n
			p.workloadEntries(s, sample, it, n)
		default:
			s.Items[p.items[it.Kind.SortKey.Template]][sample] = n
		}
		for k, x := range p.entries {
			if x.kind == it.Kind {
				s.Indexes[k][sample][0] = entrySize(x.index, it, n)
			}
		}
	}
	for name, all := range parts {
		slices.SortFunc(all, func(a, b sized) int { return strings.Compare(a.it.SK.Text, b.it.SK.Text) })
		for _, x := range all {
			s.Elements[name][sample] = append(s.Elements[name][sample], x.size)
			for k, e := range p.entries {
				if e.kind == x.it.Kind {
					s.Indexes[k][sample] = append(s.Indexes[k][sample], entrySize(e.index, x.it, x.size))
				}
			}
		}
	}
}

// workloadEntries notes the sizes of the entries of a root item in the indexes of the workload.
func (p *placing) workloadEntries(s *forecast.Sizes, sample int, it *layout.Item, size int) {
	for _, ix := range p.schema.Indexes {
		if s.Entries[ix.Name] != nil {
			s.Entries[ix.Name][sample] = entrySize(ix, it, size)
		}
	}
}

// entrySize returns the size of the entry of an item in an index, 0 for none.
func entrySize(ix *schema.Index, it *layout.Item, size int) int {
	return ix.EntrySize(func(name string) int {
		switch name {
		case ix.Table.Hash:
			return len(name) + len(it.PK.Text)
		case ix.Table.Range:
			return len(name) + len(it.SK.Text)
		}
		return sizeOf(name, it.Attributes[name])
	}, size)
}
