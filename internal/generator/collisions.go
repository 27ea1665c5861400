package generator

import (
	"go/token"

	"github.com/itemize/itemize/internal/model/schema"
)

// Meetings reports models of several packages in one table whose keys could meet, each pair once;
// those of one package are among its own diagnostics.
func Meetings(packages ...*Package) []Diagnostic { return collisions(packages, false) }

// collisions reports pairs of models in one package, or in two.
func collisions(packages []*Package, samePackage bool) []Diagnostic {
	var all []Diagnostic
	type of struct {
		p *Package
		m *Model
	}
	var seen []of
	for _, p := range packages {
		for _, m := range p.Models {
			if m.Schema == nil {
				continue
			}
			for _, o := range seen {
				if samePackage != (o.p == p) || oneIsBase(o.m, m) {
					continue
				}
				text := schema.Collision(o.m.Schema, m.Schema)
				if text == "" {
					continue
				}
				pos, end := p.placeOf(m)
				first, _ := o.p.placeOf(o.m)
				all = append(all, Diagnostic{
					Pos: pos, End: end, Message: text,
					Related: []Related{{first, o.m.Name + " is declared here"}},
				})
			}
			seen = append(seen, of{p, m})
		}
	}
	return sortDiagnostics(all)
}

// placeOf is where a model's name is declared.
func (p *Package) placeOf(m *Model) (pos, end token.Position) {
	at := m.named.Obj().Pos()
	return p.fset.Position(at), p.fset.Position(at + token.Pos(len(m.Name)))
}
