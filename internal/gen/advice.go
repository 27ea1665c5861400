package gen

import (
	"fmt"

	"github.com/itemize/itemize/internal/schema"
)

// Advice returns hints for valid models that would cost less in another form.
func (p *Package) Advice() []Diagnostic {
	var all []Diagnostic
	for _, m := range p.Models {
		if m.Schema == nil {
			continue
		}
		for _, it := range m.Schema.Items {
			for _, a := range it.Attributes {
				if text := advice(it, a); text != "" && a.Field != nil {
					pos, end := p.find.place(a.Field, 0, 0)
					all = append(all, Diagnostic{
						Pos: p.fset.Position(pos), End: p.fset.Position(end),
						Message: m.Schema.Label() + "." + a.Value.Name + ": " + text,
					})
				}
			}
		}
	}
	return sortDiagnostics(all)
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
