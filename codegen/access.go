package codegen

import (
	"go/types"
	"strings"
)

// access is the way to a field inside a struct, by names.
type access struct {
	sel  string // ".Home.Street"
	ptrs []pointer
}

// pointer is a pointer on the way: it has to be there for what follows.
type pointer struct {
	sel string // ".Home"
	typ string // what it points to
	// depth is the number of fields that lead to it.
	depth int
}

// access returns the way of a path through fields, by their indexes.
func (w *writer) access(t types.Type, path []int) access {
	var a access
	for i, x := range path {
		if p, ok := types.Unalias(t).Underlying().(*types.Pointer); ok && i > 0 {
			a.ptrs = append(a.ptrs, pointer{a.sel, w.typ(p.Elem()), i})
			t = p.Elem()
		}
		f := types.Unalias(t).Underlying().(*types.Struct).Field(x)
		if !f.Embedded() || f.Exported() || f.Pkg().Path() == w.pkg.Path() || i == len(path)-1 {
			a.sel += "." + f.Name()
		}
		t = f.Type()
	}
	return a
}

// of returns the field of a root expression.
func (a access) of(root string) string {
	if a.sel == "" {
		return "(*" + root + ")"
	}
	return root + a.sel
}

// there returns the condition that all pointers on the way are there, "" for none.
func (a access) there(root string) string { return a.pointers(root, " != nil", " && ") }

// missing returns the condition that one of them is not.
func (a access) missing(root string) string { return a.pointers(root, " == nil", " || ") }

func (a access) pointers(root, compare, join string) string {
	var terms []string
	for _, p := range a.ptrs {
		terms = append(terms, root+p.sel+compare)
	}
	return strings.Join(terms, join)
}

// allocate writes what makes the pointers on the way.
func (w *writer) allocate(a access, root string) {
	for _, p := range a.ptrs {
		w.p("if %s%s == nil {\n%s%s = new(%s)\n}", root, p.sel, root, p.sel, p.typ)
	}
}
