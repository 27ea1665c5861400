package generator

import (
	"go/types"
	"slices"
	"strings"

	"github.com/itemize/itemize/internal/model/schema"
)

// A struct that models embed can have a type that generated code cannot name: another package does not export it, or
// is internal. Generated code has no table of it. It names the promoted fields, and the mapper reaches
// them by reflection.

// namedType is a type with a name, or an alias.
type namedType interface {
	Obj() *types.TypeName
	TypeArgs() *types.TypeList
}

// hiddenFrom returns why a package cannot name a type, "" if it can.
func hiddenFrom(p *types.Package, obj *types.TypeName) string {
	switch {
	case obj.Pkg() == nil || obj.Pkg().Path() == p.Path():
	case !obj.Exported():
		return "another package does not export it"
	case !importable(obj.Pkg().Path(), p.Path()):
		return "its package is internal to another"
	}
	return ""
}

// cannotName reports whether a package cannot name a struct's type, or its type arguments.
func cannotName(p *types.Package, t types.Type) bool {
	n, ok := t.(namedType)
	return ok && (hiddenFrom(p, n.Obj()) != "" ||
		slices.ContainsFunc(slices.Collect(n.TypeArgs().Types()), func(t types.Type) bool { return cannotName(p, t) }))
}

// selects reports whether the package can select a field by its name.
func (g *generator) selects(f *schema.Field) bool {
	return f.Exported || f.Decl.(*types.Var).Pkg().Path() == g.p.types.Path()
}

// unnameable reports whether a field is an embedded struct that generated code cannot name.
func (g *generator) unnameable(f *schema.Field) bool {
	return f.Embedded && (!g.selects(f) || cannotName(g.p.types, goType(deref(f.Type))))
}

// selectsAll reports whether code selects the leaves of a struct: no other field hides one that is promoted, and
// it can make the structs on the way.
func (g *generator) selectsAll(s *structure, leaves []leaf) bool {
	return !slices.ContainsFunc(leaves, func(l leaf) bool { return !g.leads(s, l.route) || !g.makes(l.route) })
}

// makes reports whether code can make the structs on a route.
func (g *generator) makes(w route) bool {
	return !slices.ContainsFunc(w.ptrs, func(p pointer) bool { return cannotName(g.p.types, p.to) })
}

// leads reports whether the names of a route lead where its indexes lead.
func (g *generator) leads(s *structure, w route) bool {
	var path []int
	t := goType(s.t)
	for _, name := range strings.Split(w.sel, ".")[1:] {
		obj, index, _ := types.LookupFieldOrMethod(t, true, g.p.types, name)
		if obj == nil {
			return false
		}
		path, t = append(path, index...), obj.Type()
	}
	return slices.Equal(path, w.path)
}
