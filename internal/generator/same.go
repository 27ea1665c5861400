package generator

import (
	"go/types"
	"slices"
	"strings"

	"github.com/itemize/itemize/internal/model/grammar"
	"github.com/itemize/itemize/internal/model/schema"
)

// leaf is a field of a struct, or of one that it embeds, that is compared and copied.
type leaf struct {
	route
	t    *schema.Type
	av   grammar.AV
	text bool // by its text
}

// route is how a field inside a struct is reached, by names.
type route struct {
	sel  string // ".Home.Street"
	path []int  // the same by indexes, also of structs without a name here
	ptrs []pointer
}

// pointer is a pointer in the path: the rest of the path exists only if it is not nil.
type pointer struct {
	sel string // ".Home"
	to  types.Type
}

// step returns the route to a field of the struct where a route ends.
func (g *generator) step(at route, i int, f *schema.Field) route {
	at.path = append(slices.Clone(at.path), i)
	if g.selects(f) {
		at.sel += "." + f.Name
	}
	return at
}

// through returns the route into an embedded struct, or what an embedded pointer points to.
func (w route) through(f *schema.Field) route {
	if f.Type.Kind == schema.Pointer {
		to := types.Unalias(f.Decl.(*types.Var).Type()).(*types.Pointer).Elem()
		w.ptrs = append(slices.Clone(w.ptrs), pointer{w.sel, to})
	}
	return w
}

// make returns the statements that make the structs on the way.
func (w route) make(root string) code {
	var all code
	for _, p := range w.ptrs {
		at := root + p.sel
		all = append(all, "if ", at, " == nil {\n", at, " = new(", p.to, ")\n}\n")
	}
	return all
}

// missing returns the condition that a pointer in the path is nil.
func (w route) missing(root string) string {
	var terms []string
	for _, p := range w.ptrs {
		terms = append(terms, root+p.sel+" == nil")
	}
	return strings.Join(terms, " || ")
}

// leaves lists the fields that a struct's values are compared by: those that it stores. Another struct can
// store more fields of one that both embed.
func (g *generator) leaves(s *structure) []leaf {
	var out []leaf
	fields := s.t.EncodedFields()
	var walk func(in *structure, at route)
	walk = func(in *structure, at route) {
		for i, f := range in.t.Fields {
			u, here := in.uses[i], g.step(at, i, f)
			switch {
			case u == 0 || u&items != 0:
			case in.expanded(i):
				walk(g.structures.byKey[typeKey(goType(deref(f.Type)))], here.through(f))
			case !slices.ContainsFunc(fields, func(e schema.Encoded) bool { return slices.Equal(e.Path, here.path) }):
			case u&keyed != 0:
				if u&text != 0 && f.Type.Kind == schema.Struct {
					out = append(out, leaf{here, f.Type, grammar.AV{}, true})
				}
				if !u.byText(f.Type) && (!f.Type.Opaque() || f.Type.Kind != schema.Struct) {
					out = append(out, leaf{here, f.Type, grammar.AV{}, false})
				}
			case !f.Type.Opaque():
				out = append(out, leaf{here, f.Type, tagOf(f).AV, false})
			}
		}
	}
	walk(s, route{})
	return out
}

// sameOf writes the function that compares two values of a struct.
func (g *generator) sameOf(w *writer, s *structure) {
	leaves := g.leaves(s)
	if !g.selectsAll(s, leaves) {
		w.p("func ", s.same, "(a, b *", goType(s.t), ") bool { return ", s.form, ".Form.Same(a, b, 0) }\n")
		return
	}
	if g.wholly(s, leaves) && !slices.ContainsFunc(leaves, func(l leaf) bool { return !comparable(l.t) }) {
		w.p("func ", s.same, "(a, b *", goType(s.t), ") bool { return *a == *b }\n")
		return
	}
	var terms, before []code
	for _, l := range leaves {
		same := call(impl("SameText"), "&a"+l.sel, "&b"+l.sel)
		if !l.text {
			same = g.same(l.t, "a"+l.sel, "b"+l.sel, l.av)
		}
		if len(l.ptrs) > 0 {
			before = append(before, code{
				"if x, y := ", l.missing("a"), ", ", l.missing("b"), "; x != y || !x && !(",
				same, ") {\nreturn false\n}\n",
			})
			continue
		}
		terms = append(terms, same)
	}
	if len(terms) < 2 && len(before) == 0 {
		w.p("func ", s.same, "(a, b *", goType(s.t), ") bool { return ", conjunction(terms), " }\n")
		return
	}
	w.p("func ", s.same, "(a, b *", goType(s.t), ") bool {")
	for _, b := range before {
		w.write(b)
	}
	w.p("return ", conjunction(terms), "\n}\n")
}

func conjunction(terms []code) code {
	if len(terms) == 0 {
		return code{"true"}
	}
	out := terms[0]
	for _, t := range terms[1:] {
		out = code{out, " &&\n", t}
	}
	return out
}

// comparable reports whether == compares values of a type as their encodings.
func comparable(t *schema.Type) bool {
	l, _ := t.Leaf()
	return l.Comparable || t.Kind == schema.Bytes && isArray(t)
}

// same returns an expression that reports whether a and b encode alike.
func (g *generator) same(t *schema.Type, a, b string, av grammar.AV) code {
	fn := func(name string, more ...any) code {
		return call(impl(name), append([]any{ref(a), ref(b)}, more...)...)
	}
	switch {
	case t.Time:
		name := "SameTime"
		if av.Has("unixtime") {
			name = "SameUnixTime"
		}
		return call(impl(name), timeRef(t, a), timeRef(t, b))
	case comparable(t):
		return code{a, " == ", b}
	}
	switch t.Kind {
	case schema.Float:
		return fn("SameFloat")
	case schema.BigInt, schema.BigFloat:
		return fn("SameBig")
	case schema.Bytes:
		return fn("SameValues")
	case schema.Slice:
		if comparable(t.Elem) {
			return fn("SameValues")
		}
		return fn("SameSlice", g.comparer(t.Elem, grammar.AV{}))
	case schema.Array:
		return call(impl("SameElements"), a+"[:]", b+"[:]", g.comparer(t.Elem, grammar.AV{}))
	case schema.Map:
		if comparable(t.Elem) {
			return fn("SamePlainMap")
		}
		return fn("SameMap", g.comparer(t.Elem, grammar.AV{}))
	case schema.Pointer:
		return fn("SamePointer", g.comparer(t.Elem, av))
	}
	return call(g.structures.byKey[typeKey(goType(t))].same, ref(a), ref(b))
}

// comparer returns a function that compares values of a type.
func (g *generator) comparer(t *schema.Type, av grammar.AV) code {
	switch {
	case isTable(t):
		return code{g.structures.byKey[typeKey(goType(t))].same}
	case t.Time && !av.Has("unixtime") && goType(t).String() == "time.Time":
		return code{impl("SameTime")}
	case t.Kind == schema.Float:
		return of(impl("SameFloat"), goType(t))
	}
	if r := g.structures.recursive[typeKey(goType(t))]; r != nil {
		return code{recursiveName("same", r)}
	}
	return code{"func(a, b *", goType(t), ") bool { return ", g.same(t, "(*a)", "(*b)", av), " }"}
}

// recursiveName returns the name of the function of a type that contains itself.
func recursiveName(what string, r *recursion) string {
	return what + upperFirst(strings.TrimSuffix(r.form, "Form"))
}

// ref returns a pointer to an addressable expression.
func ref(x string) string {
	if p, ok := strings.CutPrefix(x, "(*"); ok && strings.HasSuffix(p, ")") &&
		!strings.ContainsAny(p[:len(p)-1], "(). ") {
		return p[:len(p)-1]
	}
	return "&" + x
}

// timeRef returns a *time.Time of an expression.
func timeRef(t *schema.Type, x string) code {
	if goType(t).String() == "time.Time" {
		return code{ref(x)}
	}
	return code{"(*", std("time", "Time"), ")(", ref(x), ")"}
}
