package generator

import (
	"go/types"

	"github.com/itemize/itemize/internal/model/schema"
)

// plain reports whether values of a type can be copied by assignment: no slice, map or
// pointer is in them.
func plain(t *schema.Type) bool {
	if t.Time {
		return true
	}
	switch t.Kind {
	case schema.Slice, schema.Map, schema.Pointer, schema.Interface, schema.BigInt, schema.BigFloat:
		return false
	case schema.Bytes:
		return isArray(t)
	case schema.Array:
		return plain(t.Elem)
	case schema.Struct:
		for _, f := range t.EncodedFields() {
			if !plain(f.Type) {
				return false
			}
		}
		return !embedsPointer(goType(t))
	}
	return true
}

func embedsPointer(t types.Type) bool {
	st := t.Underlying().(*types.Struct)
	for i := range st.NumFields() {
		f := st.Field(i)
		if _, ok := types.Unalias(f.Type()).(*types.Pointer); ok && f.Embedded() {
			return true
		}
		if inner, ok := types.Unalias(f.Type()).Underlying().(*types.Struct); ok && f.Embedded() &&
			embedsPointer(inner) {
			return true
		}
	}
	return false
}

// cloneOf writes the function that copies what sameOf compares.
func (g *generator) cloneOf(w *writer, s *structure) {
	t, leaves := goType(s.t), g.leaves(s)
	if g.wholly(s, leaves) {
		return
	}
	if !g.selectsAll(s, leaves) {
		w.p("func ", s.clone, "(dst, src *", t, ") { ", s.form, ".Form.Clone(dst, src) }\n")
		return
	}
	w.p("func ", s.clone, "(dst, src *", t, ") {")
	w.p("*dst = ", t, "{}")
	for _, l := range leaves {
		if len(l.ptrs) > 0 {
			w.p("if !(", l.missing("src"), ") {")
			w.write(l.make("dst"))
		}
		if l.text {
			w.p(call(impl("CloneText"), "&dst"+l.sel, "&src"+l.sel))
		} else {
			w.p(g.clone(l.t, "dst"+l.sel, "src"+l.sel))
		}
		if len(l.ptrs) > 0 {
			w.p("}")
		}
	}
	w.p("}\n")
}

// cloneFunction is the function that copies values of a struct.
func (g *generator) cloneFunction(s *structure) code {
	if g.wholly(s, g.leaves(s)) {
		return of(impl("Copy"), goType(s.t))
	}
	return code{s.clone}
}

// wholly reports whether a struct's values are copied by assignment: all its fields are
// stored, and plain.
func (g *generator) wholly(s *structure, leaves []leaf) bool {
	if len(leaves) != g.fieldsIn(s) {
		return false
	}
	for _, l := range leaves {
		if l.text || !plain(l.t) || len(l.ptrs) > 0 {
			return false
		}
	}
	return true
}

// fieldsIn returns the number of fields of a struct, with those of the structs that it embeds.
func (g *generator) fieldsIn(s *structure) int {
	n := 0
	for i, f := range s.t.Fields {
		if s.expanded(i) {
			n += g.fieldsIn(g.structures.byKey[typeKey(goType(deref(f.Type)))])
		} else {
			n++
		}
	}
	return n
}

// clone returns statements that copy src to dst.
func (g *generator) clone(t *schema.Type, dst, src string) code {
	switch {
	case leafy(t):
		return code{dst, " = ", src}
	case t.Kind == schema.Bytes:
		return code{dst, " = ", call(std("bytes", "Clone"), src)}
	}
	switch t.Kind {
	case schema.Slice:
		if leafy(t.Elem) {
			return code{dst, " = ", call(std("slices", "Clone"), src)}
		}
		return call(impl("CloneSlice"), ref(dst), ref(src), g.cloner(t.Elem))
	case schema.Array:
		if leafy(t.Elem) {
			return code{dst, " = ", src}
		}
		return code{"for i := range ", src, " {\n", g.clone(t.Elem, dst+"[i]", src+"[i]"), "\n}"}
	case schema.Map:
		if leafy(t.Elem) {
			return code{dst, " = ", call(std("maps", "Clone"), src)}
		}
		return call(impl("CloneMap"), ref(dst), ref(src), g.cloner(t.Elem))
	case schema.BigInt, schema.BigFloat:
		return call(impl("CloneBig"), ref(dst), ref(src))
	case schema.Pointer:
		return call(impl("ClonePointer"), ref(dst), ref(src), g.cloner(t.Elem))
	}
	return call(g.cloneFunction(g.structures.byKey[typeKey(goType(t))]), ref(dst), ref(src))
}

// leafy reports whether a type's values have no parts that are copied one by one.
func leafy(t *schema.Type) bool {
	return plain(t) && (t.Time || t.Kind != schema.Struct && t.Kind != schema.Array)
}

// cloner returns a function that copies values of a type.
func (g *generator) cloner(t *schema.Type) code {
	switch {
	case isTable(t):
		return g.cloneFunction(g.structures.byKey[typeKey(goType(t))])
	case leafy(t):
		return of(impl("Copy"), goType(t))
	}
	if r := g.structures.recursive[typeKey(goType(t))]; r != nil {
		return code{recursiveName("clone", r)}
	}
	return code{"func(dst, src *", goType(t), ") { ", g.clone(t, "(*dst)", "(*src)"), " }"}
}
