package schema

import (
	"cmp"
	"slices"

	"github.com/itemize/itemize/internal/model/grammar"
)

// Shadow is a field of an embedded struct that is not stored, since another field has its name.
type Shadow struct{ Field, By *Field }

// Shadowed lists the tagged fields of embedded structs that other fields hide, in a model and in the types of its
// fields. A field of a model is hidden by its name in Go, and one of another struct by that of its attribute.
func (t *Type) Shadowed() []Shadow {
	var all []Shadow
	t.shadows(true, map[*Type]bool{}, &all)
	return all
}

func (t *Type) shadows(model bool, seen map[*Type]bool, all *[]Shadow) {
	if t == nil || t.Time || t.Marshals || seen[t] {
		return
	}
	seen[t] = true
	t.Key.shadows(false, seen, all)
	t.Elem.shadows(false, seen, all)
	if t.Kind != Struct {
		return
	}
	type candidate struct {
		f         *Field
		depth     int
		attribute string
		tagged    bool
	}
	var found []candidate
	expanded := map[*Type]bool{}
	var expand func(t *Type, depth int)
	expand = func(t *Type, depth int) {
		if expanded[t] {
			return
		}
		expanded[t] = true
		for _, f := range t.Fields {
			tag, _ := grammar.Parse(f.Raw, grammar.OnField)
			switch {
			case tag.AV.Ignore, tag.Skip, f.Name == "_":
			case f.Embedded && f.Type.Spreads() && tag.AV.Name == "" && len(tag.Options) == 0:
				expand(f.Type.deref(), depth+1)
			case f.Exported:
				tagged := len(tag.Options) > 0 || tag.AV.Name != "" || len(tag.AV.Options) > 0
				found = append(found, candidate{f, depth, cmp.Or(tag.AV.Name, f.Name), tagged})
				f.Type.shadows(false, seen, all)
			}
		}
	}
	expand(t, 0)
	for _, c := range found {
		i := slices.IndexFunc(found, func(o candidate) bool {
			return o.f != c.f && o.depth < c.depth &&
				(model && o.f.Name == c.f.Name || !model && o.attribute == c.attribute)
		})
		if i >= 0 && c.tagged {
			*all = append(*all, Shadow{c.f, found[i].f})
		}
	}
}
