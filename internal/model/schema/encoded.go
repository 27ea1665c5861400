package schema

import (
	"slices"

	"github.com/itemize/itemize/internal/model/grammar"
)

// Encoded is a field of a struct as attributevalue encodes it into a map.
type Encoded struct {
	Name string // the map's key
	Path []int
	Type *Type
	AV   grammar.AV
	// GoName is the field's own name.
	GoName string
}

// EncodedFields lists the fields of a struct inside an attribute, as attributevalue's unionStructFields
// sees them. Embedded structs are expanded. If several fields have the same name, the shallowest is
// listed, or the one with a tag.
func (t *Type) EncodedFields() []Encoded {
	type level struct {
		t    *Type
		path []int
	}
	var all []Encoded
	seen := map[*Type]bool{}
	for next := []level{{t, nil}}; len(next) > 0; {
		current := next
		next = nil
		for _, l := range current {
			if seen[l.t] {
				continue
			}
			seen[l.t] = true
			for _, f := range l.t.Fields {
				tag, _ := grammar.Parse(f.Raw, grammar.OnField)
				path := append(slices.Clone(l.path), f.Index)
				switch {
				case tag.AV.Ignore, f.Name == "_":
				case f.Embedded && f.Type.Spreads() && tag.AV.Name == "":
					next = append(next, level{f.Type.deref(), path})
				case f.Exported:
					e := Encoded{Name: f.Name, Path: path, Type: f.Type, AV: tag.AV, GoName: f.Name}
					if tag.AV.Name != "" {
						e.Name = tag.AV.Name
					}
					all = append(all, e)
				}
			}
		}
	}
	out := slices.DeleteFunc(slices.Clone(all), func(e Encoded) bool { return !dominates(e, all) })
	slices.SortFunc(out, func(x, y Encoded) int { return slices.Compare(x.Path, y.Path) })
	return out
}

// dominates reports whether a field is the one that its name represents.
func dominates(e Encoded, all []Encoded) bool {
	for _, o := range all {
		if o.Name != e.Name || slices.Equal(o.Path, e.Path) {
			continue
		}
		if len(o.Path) < len(e.Path) {
			return false
		}
		if len(o.Path) == len(e.Path) && (e.AV.Name == "" || o.AV.Name != "") {
			return false
		}
	}
	return true
}
