package generator

import (
	"fmt"
	"slices"

	"github.com/itemize/itemize/internal/model/schema"
)

// Advice returns hints for valid models that would cost less in another form, or whose types are stored in a
// surprising one.
func (p *Package) Advice() []Diagnostic {
	var all []Diagnostic
	for _, m := range p.Models {
		if m.Schema == nil {
			continue
		}
		add := func(f *schema.Field, text string) {
			pos, end := p.find.place(f, 0, 0)
			all = append(all, Diagnostic{Pos: p.fset.Position(pos), End: p.fset.Position(end), Message: text})
		}
		for _, s := range m.Schema.Type.Shadowed() {
			add(
				s.Field,
				fmt.Sprintf(
					"%s: the tagged field %s of an embedded struct is not stored, since another field %s hides "+
						"it: rename one of them, or remove the tag",
					m.Schema.Label(),
					s.Field.Name,
					s.By.Name,
				),
			)
		}
		for i, x := range m.Schema.Indexes {
			if y := twin(x, m.Schema.Indexes[:i]); y != nil {
				add(x.Field, fmt.Sprintf("%s: the indexes %s and %s have the same key attributes, so that each has "+
					"the items of both, and is paid for them: declare both with one name, or name other "+
					"attributes (hash=, range=)", m.Schema.Label(), y.Name, x.Name))
			}
		}
		for _, it := range m.Schema.Items {
			for _, a := range it.Attributes {
				if a.Field == nil {
					continue
				}
				for _, text := range []string{advice(it, a), surprise(a)} {
					if text != "" {
						add(a.Field, m.Schema.Label()+"."+a.Value.Name+": "+text)
					}
				}
			}
		}
	}
	return sortDiagnostics(all)
}

// twin returns an index with the key attributes of x that is declared for other kinds of items, nil for none.
func twin(x *schema.Index, all []*schema.Index) *schema.Index {
	kinds := func(x *schema.Index) (all []*schema.Item) {
		for _, e := range x.Entries {
			all = append(all, e.Item)
		}
		return all
	}
	i := slices.IndexFunc(all, func(y *schema.Index) bool {
		return x.Table == y.Table && slices.Equal(x.Attributes(), y.Attributes()) && !slices.Equal(kinds(x), kinds(y))
	})
	if i < 0 {
		return nil
	}
	return all[i]
}

// advice says what would cost less of a large value, "" for nothing.
func advice(it *schema.Item, a *schema.Attribute) string {
	if a.Large == nil {
		return ""
	}
	for _, e := range it.Entries {
		if e.Index.All {
			return fmt.Sprintf("it is a large value, and the index %s, which projects all attributes, copies the "+
				"part in the item: project only what its queries read (project=)", e.Index.Name)
		}
	}
	remaining := 0
	for _, o := range it.Attributes {
		if !o.Large.External() {
			remaining++
		}
	}
	if a.Large.External() && !it.Element() && remaining > 0 {
		return fmt.Sprintf("its external values make a save a transaction with %d other attributes, at twice the "+
			"WCU: consider an item of its own (sk=)",
			remaining)
	}
	return ""
}

// surprise says what attributevalue stores in another form than a reader of the type expects, "" for nothing.
func surprise(a *schema.Attribute) string {
	if !slices.Contains(a.AV.Options, "binaryset") && a.Value.Type.BinarySet() {
		return "a [][]byte is stored as a binary set, as attributevalue stores it: it has no order, and a save " +
			"of two equal " +
			"elements is refused: tag it dynamodbav:\",binaryset\" if that is meant, or store a list with a " +
			"type of your " +
			"own (type Blobs [][]byte)"
	}
	return ""
}
