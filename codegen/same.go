package codegen

import (
	"fmt"
	"go/types"
	"slices"

	"github.com/itemize/itemize/internal/schema"
	"github.com/itemize/itemize/tags"
)

// plain reports whether values of a type can be copied by assignment: no slice, map or
// pointer is in them.
func plain(t *schema.Type) bool {
	if t.Time {
		return true
	}
	switch t.Kind {
	case schema.Slice, schema.Map, schema.Pointer, schema.Interface:
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
		if inner, ok := types.Unalias(f.Type()).Underlying().(*types.Struct); ok && f.Embedded() && embedsPointer(inner) {
			return true
		}
	}
	return false
}

// comparable reports whether == compares values of a type as their encodings.
func comparable(t *schema.Type) bool {
	switch scalar(t) {
	case "Bool", "Int", "Uint", "String", "Number":
		return true
	}
	return t.Kind == schema.Bytes && isArray(t)
}

// same returns an expression that reports whether a and b encode alike.
func (w *writer) same(t *schema.Type, a, b string, av tags.AV) string {
	call := func(fn string, more ...string) string {
		text := fmt.Sprintf("%s(%s, %s", w.impl(fn), ref(a), ref(b))
		for _, m := range more {
			text += ", " + m
		}
		return text + ")"
	}
	switch {
	case t.Time:
		o := "0"
		if av.Has("unixtime") {
			o = w.impl("UnixTime")
		}
		return fmt.Sprintf("%s(%s, %s, %s)", w.impl("SameTime"), w.timeRef(t, a), w.timeRef(t, b), o)
	case comparable(t):
		return a + " == " + b
	}
	switch t.Kind {
	case schema.Float:
		return call("Same" + scalar(t))
	case schema.Bytes:
		return call("SameBytes")
	case schema.Slice:
		if comparable(t.Elem) {
			return call("SameValues")
		}
		return call("SameSlice", w.comparer(t.Elem, tags.AV{}))
	case schema.Array:
		return fmt.Sprintf("%s(%s[:], %s[:], %s)", w.impl("SameElements"), a, b, w.comparer(t.Elem, tags.AV{}))
	case schema.Map:
		if comparable(t.Elem) {
			return call("SamePlainMap")
		}
		return call("SameMap", w.comparer(t.Elem, tags.AV{}))
	case schema.Pointer:
		return call("SamePointer", w.comparer(t.Elem, av))
	}
	return fmt.Sprintf("%s(%s, %s)", w.comparer(t, tags.AV{}), ref(a), ref(b))
}

// comparer returns a function that compares values of a type.
func (w *writer) comparer(t *schema.Type, av tags.AV) string {
	name := w.typ(goType(t))
	key, suffix := "same "+name, helperName(name)
	if av.Has("unixtime") {
		key, suffix = key+" unixtime", suffix+"UnixTime"
	}
	return w.helper(key, "Same"+suffix, func(fn string) {
		w.p("func %s(a, b *%s) bool {", fn, name)
		if t.Kind == schema.Struct && !t.Time {
			w.sameStruct(t)
		} else {
			w.p("return %s", w.same(t, "(*a)", "(*b)", av))
		}
		w.p("}\n")
	})
}

func (w *writer) sameStruct(t *schema.Type) {
	var terms []string
	for _, f := range t.EncodedFields() {
		a := w.access(goType(t), f.Path)
		same := w.same(f.Type, a.of("a"), a.of("b"), f.AV)
		if len(a.ptrs) == 0 {
			terms = append(terms, same)
			continue
		}
		w.sameBehind(a, same)
	}
	w.p("return %s", conjunction(terms))
}

// sameBehind writes the comparison of a field behind pointers, which returns where it
// finds a difference.
func (w *writer) sameBehind(a access, same string) {
	w.p("if x, y := %s, %s; x != y || !x && !(%s) {\nreturn false\n}", a.missing("a"), a.missing("b"), same)
}

func conjunction(terms []string) string {
	if len(terms) == 0 {
		return "true"
	}
	text := terms[0]
	for i, t := range terms[1:] {
		if !slices.Contains(terms[:i+1], t) {
			text += " &&\n" + t
		}
	}
	return text
}

// clone writes the copy of src to dst.
func (w *writer) clone(t *schema.Type, dst, src string) {
	switch {
	case plain(t):
		w.p("%s = %s", dst, src)
		return
	case t.Kind == schema.Bytes:
		w.p("%s = %s.Clone(%s)", dst, w.use("bytes", "bytes"), src)
		return
	}
	switch t.Kind {
	case schema.Slice:
		if plain(t.Elem) {
			w.p("%s = %s.Clone(%s)", dst, w.use("slices", "slices"), src)
			return
		}
		w.p("%s(%s, %s, %s)", w.impl("CloneSlice"), ref(dst), ref(src), w.cloner(t.Elem))
	case schema.Array:
		w.p("for i := range %s {\n%s(%s, %s)\n}", src, w.cloner(t.Elem), ref(dst+"[i]"), ref(src+"[i]"))
	case schema.Map:
		if plain(t.Elem) {
			w.p("%s = %s.Clone(%s)", dst, w.use("maps", "maps"), src)
			return
		}
		w.p("%s(%s, %s, %s)", w.impl("CloneMap"), ref(dst), ref(src), w.cloner(t.Elem))
	case schema.Pointer:
		w.p("%s(%s, %s, %s)", w.impl("ClonePointer"), ref(dst), ref(src), w.cloner(t.Elem))
	default:
		w.p("%s(%s, %s)", w.cloner(t), ref(dst), ref(src))
	}
}

// cloner returns a function that copies values of a type.
func (w *writer) cloner(t *schema.Type) string {
	name := w.typ(goType(t))
	if plain(t) {
		return fmt.Sprintf("%s[%s]", w.impl("Copy"), name)
	}
	return w.helper("clone "+name, "Clone"+helperName(name), func(fn string) {
		w.p("func %s(dst, src *%s) {", fn, name)
		if t.Kind == schema.Struct {
			w.p("*dst = %s{}", name)
			for _, f := range t.EncodedFields() {
				a := w.access(goType(t), f.Path)
				if cond := a.there("src"); cond != "" {
					w.p("if %s {", cond)
					w.allocate(a, "dst")
					w.clone(f.Type, a.of("dst"), a.of("src"))
					w.p("}")
					continue
				}
				w.clone(f.Type, a.of("dst"), a.of("src"))
			}
		} else {
			w.clone(t, "(*dst)", "(*src)")
		}
		w.p("}\n")
	})
}
