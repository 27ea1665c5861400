package generator

import (
	"go/types"
	"slices"
	"strings"

	"github.com/itemize/itemize/internal/model/grammar"
	"github.com/itemize/itemize/internal/model/schema"
)

// form returns the form of a type.
func (g *generator) form(t *schema.Type) code {
	gt := goType(t)
	switch {
	case t.Opaque():
		return call(of(impl("Opaque"), gt))
	case t.Kind == schema.Struct && t.Time:
	case t.Kind == schema.Struct:
		return code{g.structures.byKey[typeKey(gt)].form}
	}
	if r := g.structures.recursive[typeKey(gt)]; r != nil {
		return code{r.form}
	}
	return g.unnamedForm(t)
}

// unnamedForm returns the form of a type by its kind.
func (g *generator) unnamedForm(t *schema.Type) code {
	gt := goType(t)
	if l, ok := t.Leaf(); ok {
		return call(of(impl(formOf(l)), gt))
	}
	switch t.Kind {
	case schema.Bytes:
		if isArray(t) {
			return call(of(impl("ByteArray"), gt))
		}
		return call(of(impl("Bytes"), gt))
	case schema.Slice:
		return call(of(impl("Slice"), gt), g.form(t.Elem))
	case schema.Array:
		slice := types.NewSlice(goType(t.Elem))
		return call(of(impl("Array"), gt), g.form(t.Elem), code{"func(v *", gt, ") ", slice, " { return v[:] }"})
	case schema.Map:
		return call(of(impl("Map"), gt), g.form(t.Elem))
	case schema.Pointer:
		return call(impl("Pointer"), g.form(t.Elem))
	}
	panic("a kind of type without a form: " + t.Name)
}

// formOf returns the name of the function that makes a leaf's form.
func formOf(l schema.Leaf) string {
	switch l.Form {
	case "Int", "Uint", "Float":
		return "Numeric"
	case "BigInt", "BigFloat":
		return "Big"
	}
	return l.Form
}

// handle is how a field's handle is declared, by the type parameters that follow the struct's, and the
// form of the field.
type handle struct {
	kind  string
	types []any
	form  code
}

// handleOf returns the handle of a field of a type. spread reports that the field is a struct whose
// fields are spread.
func (g *generator) handleOf(s types.Type, f *schema.Field, spread bool) handle {
	t := f.Type
	gt := goType(t)
	one := func(kind string, value any) handle { return handle{kind, []any{value}, g.form(t)} }
	switch {
	case t.Kind == schema.Pointer && (spread || !t.Opaque()) && isTable(t.Elem):
		return handle{"Struct", []any{goType(t.Elem)}, call(impl("Pointer"), g.table(t.Elem))}
	case (spread || !t.Opaque()) && isTable(t):
		return handle{"Struct", []any{gt}, g.table(t)}
	case t.Opaque():
		return one("Value", gt)
	case t.Kind == schema.Bytes && !isArray(t):
		return one("Ordered", gt)
	case t.Kind == schema.Slice && isSet(f):
		return one("Set", goType(t.Elem))
	case t.Kind == schema.Slice:
		return one("List", goType(t.Elem))
	case t.Kind == schema.Map:
		return handle{"Map", []any{gt, goType(t.Key), g.entryOf(s, t.Elem)}, g.form(t)}
	}
	if l, ok := t.Leaf(); ok {
		return one(l.Handle, gt)
	}
	return one("Value", gt)
}

// unless returns the handle, without changes if keys name the field wherever it is stored.
func (h handle) unless(u use) *handle {
	if u&keyed != 0 && u&(settable|steps) == 0 && len(h.types) == 1 {
		h.kind = "Key"
	}
	return &h
}

// isSet reports whether a slice is stored as a set.
func isSet(f *schema.Field) bool {
	options := strings.Split(tagText(f), ",")[1:]
	return slices.ContainsFunc(options, func(o string) bool { return strings.HasSuffix(o, "set") }) ||
		f.Type.Name == "[][]byte"
}

// entryOf returns the type of the handle of a map's entry.
func (g *generator) entryOf(s types.Type, t *schema.Type) code {
	kind := "Value"
	switch l, ok := t.Leaf(); {
	case t.Opaque():
	case isTable(t):
		kind = "Struct"
	case t.Kind == schema.Bytes && !isArray(t):
		kind = "Ordered"
	case ok:
		kind = l.Handle
	}
	return code{"*", of(fieldOf(kind), code{"*", s}, goType(t))}
}

// isTable reports whether a type's form is the table of a struct.
func isTable(t *schema.Type) bool { return t.Kind == schema.Struct && !t.Time && !t.Marshals }

// table returns the form of a struct, opaque or not.
func (g *generator) table(t *schema.Type) code {
	return code{g.structures.byKey[typeKey(goType(t))].form}
}

// rowForm returns the form of a field that has no handle.
func (g *generator) rowForm(s *structure, i int) code {
	t := s.t.Fields[i].Type
	switch u := s.uses[i]; {
	case u.byText(t):
		return call(of(impl("Text"), goType(t)))
	case u&steps != 0 && t.Kind == schema.Pointer:
		return call(impl("Pointer"), g.table(t.Elem))
	case u&steps != 0:
		return g.table(t)
	case u&items != 0:
		return g.elementsForm(t)
	}
	return g.form(t)
}

// elementsForm returns the form of a slice or map of items.
func (g *generator) elementsForm(t *schema.Type) code {
	inner := g.elementForm(deref(t.Elem))
	if t.Elem.Kind == schema.Pointer {
		inner = call(impl("Pointer"), inner)
	}
	if t.Kind == schema.Map {
		return call(of(impl("Map"), goType(t)), inner)
	}
	return call(of(impl("Slice"), goType(t)), inner)
}

// elementForm returns the form of an element, which may have an opaque value inside an attribute.
func (g *generator) elementForm(t *schema.Type) code {
	if isTable(t) {
		return g.table(t)
	}
	return g.form(t)
}

// at returns the function that leads from a struct to its field.
func at(s types.Type, field string, t types.Type) code {
	return code{"func(v *", s, ") *", t, " { return &v.", field, " }"}
}

// row is a line of a struct's table.
type row struct {
	index  int
	handle *handle // nil for a row without one
}

// rows lists the lines of a struct's table.
func (g *generator) rows(s *structure) []row {
	var out []row
	for i, f := range s.t.Fields {
		u := s.uses[i]
		switch {
		case u == 0 || !f.Exported && !f.Embedded || g.unnameable(f):
		case s.handles == "" || u&(stored|steps) == 0 || u&items != 0 || s.expanded(i):
			out = append(out, row{i, nil})
		default:
			h := g.handleOf(goType(s.t), f, u&steps != 0)
			out = append(out, row{i, h.unless(u)})
		}
	}
	return out
}

// promoted are the fields of embedded structs that have handles of the outer struct too.
type promoted struct {
	name   string
	typ    *schema.Type
	route  route
	handle handle
	tag    string
	docs   []string
}

func (g *generator) promoted(s *structure) []promoted {
	taken := map[string]bool{}
	for _, r := range g.rows(s) {
		if r.handle != nil {
			taken[s.t.Fields[r.index].Name] = true
		}
	}
	var out []promoted
	var walk func(in *structure, at route)
	walk = func(in *structure, at route) {
		for i, f := range in.t.Fields {
			here := g.step(at, i, f)
			u := in.uses[i]
			switch {
			case in.expanded(i):
				walk(g.structures.byKey[typeKey(goType(deref(f.Type)))], here.through(f))
			case len(at.path) == 0 || !f.Exported || taken[f.Name] || u&(stored|steps) == 0 || u&items != 0:
			case g.leads(s, route{sel: "." + f.Name, path: here.path}) && g.makes(here):
				taken[f.Name] = true
				h := g.handleOf(goType(s.t), f, u&steps != 0)
				out = append(out, promoted{f.Name, f.Type, here, *h.unless(u), tagText(f), in.docs[i]})
			}
		}
	}
	walk(s, route{})
	return out
}

// hasHandles reports whether a struct has a field with a handle.
func (g *generator) hasHandles(s *structure) bool {
	for i, f := range s.t.Fields {
		switch u := s.uses[i]; {
		case u == 0 || u&items != 0:
		case s.expanded(i):
			if inner := g.structures.byKey[typeKey(goType(deref(f.Type)))]; inner != nil && g.hasHandles(inner) {
				return true
			}
		case f.Exported && u&(stored|steps) != 0:
			return true
		}
	}
	return false
}

// handlesOf writes the handles of a struct's fields.
func (g *generator) handlesOf(w *writer, s *structure) {
	if s.handles == "" {
		return
	}
	st := goType(s.t)
	more := []any{code{s.form, ".Form"}}
	var declarations []code
	add := func(name string, h handle, docs []string) {
		declarations = append(declarations, s.comment(name, docs),
			code{name, " *", of(fieldOf(h.kind), append([]any{code{"*", st}}, h.types...)...), "\n"})
	}
	for _, r := range g.rows(s) {
		if r.handle == nil {
			continue
		}
		f := s.t.Fields[r.index]
		add(f.Name, *r.handle, s.docs[r.index])
		if selfContaining(s.t) { // its form is defined later
			more = append(more, call(impl("Reached"), quoted(f.Name), quoted(tagText(f)),
				at(st, f.Name, goType(f.Type)), code{r.handle.form, ".Form"}))
		}
	}
	for _, p := range g.promoted(s) {
		add(p.name, p.handle, p.docs)
		find, line := at(st, p.name, goType(p.typ)), ""
		if len(p.route.ptrs) > 0 {
			line = "\n"
			find = code{"func(v *", st, ") *", goType(p.typ), " {\n", p.route.make("v"), "return &v.", p.name, "\n}"}
		}
		more = append(more, code{line, call(impl("Reached"), quoted(p.name), quoted(p.tag), find,
			code{p.handle.form, ".Form"})})
	}
	w.comment(s.handles + " has the stored fields of " + article(s.name()) +
		": for patches, conditions, filters and projections.")
	w.p("var ", s.handles, " = *", impl("Handles"), "(&struct {")
	for _, d := range declarations {
		w.write(d)
	}
	w.p("}{}, ", list(more...), ")\n")
}

// plainTypes are the types of which package codec has the forms.
var plainTypes = []string{
	"string", "bool", "int", "int32", "int64", "uint64", "float64", "time.Time", "[]byte", "[]string",
	"map[string]string",
}

// fieldForm returns the form of a field, nil if it is that of a type without a name.
func (g *generator) fieldForm(s *structure, r row) code {
	t := s.t.Fields[r.index].Type
	if slices.Contains(plainTypes, typeKey(goType(t))) && !s.uses[r.index].byText(t) && !t.Opaque() {
		return nil
	}
	if r.handle != nil {
		return r.handle.form
	}
	return g.rowForm(s, r.index)
}

// article returns a name with its article.
func article(name string) string {
	switch name[0] {
	case 'A', 'E', 'I', 'O', 'a', 'e', 'i', 'o':
		return "an " + name
	}
	return "a " + name
}

// tableOf writes a struct's form.
func (g *generator) tableOf(w *writer, s *structure) {
	st := goType(s.t)
	funcs := code{of(impl("Funcs"), st), "{}"}
	if s.compared && g.selectsAll(s, g.leaves(s)) {
		funcs = code{of(impl("Funcs"), st), "{Same: ", s.same, ", Clone: ", g.cloneFunction(s), "}"}
	}
	var fields []code
	for _, r := range g.rows(s) {
		if form := g.fieldForm(s, r); form != nil {
			name := quoted(s.t.Fields[r.index].Name)
			fields = append(fields, code{call(impl("Field"), name, code{form, ".Form"}), ","})
		}
	}
	end := ")"
	head := code{impl("Struct"), "(", funcs}
	if len(fields) > 0 {
		head = append(head, ",\n")
	}
	if selfContaining(s.t) {
		end = "))\n}"
		w.p("var ", s.form, " = ", call(of(impl("Recursive"), st)), "\n")
		w.p("func init() {")
		head = append(code{impl("Define"), "(", s.form, ", "}, head...)
	} else {
		head = append(code{"var ", s.form, " = "}, head...)
	}
	w.write(head)
	for _, x := range fields {
		w.p(x)
	}
	w.p(end, "\n")
}

// recursionOf writes the form of a named type that contains itself and is no struct, and
// its functions.
func (g *generator) recursionOf(w *writer, r *recursion) {
	t := goType(r.t)
	w.p("var ", r.form, " = ", call(of(impl("Recursive"), t)), "\n")
	w.p("func init() { ", call(impl("Define"), r.form, g.unnamedForm(r.t)), " }\n")
	w.p("func ", recursiveName("same", r), "(a, b *", t, ") bool {")
	w.p("return ", g.same(r.t, "(*a)", "(*b)", grammar.AV{}), "\n}\n")
	w.p("func ", recursiveName("clone", r), "(dst, src *", t, ") {")
	w.p(g.clone(r.t, "(*dst)", "(*src)"), "\n}\n")
}
