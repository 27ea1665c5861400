package generator

import (
	"go/types"
	"reflect"
	"slices"

	"github.com/itemize/itemize/internal/model/naming"
	"github.com/itemize/itemize/internal/model/schema"
)

// guards writes what stops compiling when a type that generated code was made from has
// changed: a function without a name, of which the compiler makes nothing.
type guards struct {
	*writer
	names *names
	seen  map[string]bool
	// lacking are types without methods that encode and decode them, by the type of package mapperimpl that has those.
	lacking map[string][]types.Type
}

// of writes the guards of all types that a model reaches.
func (x *guards) of(m *Model) {
	x.reach(m.Schema.Type)
	for _, t := range keyTypes(m.Schema) {
		if x.first("text " + typeKey(goType(t))) {
			encoding := func(name string) ident { return std("encoding", name) }
			x.p("var _ interface {\n", encoding("TextMarshaler"), "\n", encoding("TextUnmarshaler"), "\n} = (*",
				goType(t), ")(nil)")
		}
	}
}

// first reports whether a guard was not written yet.
func (x *guards) first(k string) bool {
	if x.seen[k] {
		return false
	}
	x.seen[k] = true
	return true
}

// reach guards a type and those in it.
func (x *guards) reach(t *schema.Type) {
	if t == nil || !x.first(typeKey(goType(t))) {
		return
	}
	gt := goType(t)
	named, ok := gt.(*types.Named)
	switch {
	case t.Marshals:
		x.p("var _ interface {\nMarshalDynamoDBAttributeValue() (", attrValue("AttributeValue"), ", error)\n} = (*", gt,
			")(nil)")
		return
	case t.Time:
		if ok && gt.String() != "time.Time" {
			x.p("var _ = (*", std("time", "Time"), ")((*", gt, ")(nil))")
		}
		return
	case t.Kind == schema.BigInt, t.Kind == schema.BigFloat:
		return
	case t.Kind == schema.Struct && cannotName(x.pkg, gt):
		x.parts(t)
		return
	case t.Kind == schema.Struct:
		x.structure(named)
	case ok && t.Kind != schema.Interface:
		x.p("var _ = (*", named.Underlying(), ")((*", gt, ")(nil))")
	}
	if ok && t.Kind != schema.Interface && named.Obj().Pkg() != nil {
		x.methods(t)
	}
	if k := t.Key; k != nil && !k.MarshalsText {
		if _, ok := goType(k).(*types.Named); ok && x.first("key "+typeKey(goType(k))) {
			x.p("var _ interface{ MarshalText() } = struct {\n*", goType(k), "\n", impl("NoText"), "\n}{}")
		}
	}
	x.parts(t)
}

// parts guards the types in a type.
func (x *guards) parts(t *schema.Type) {
	x.reach(t.Key)
	x.reach(t.Elem)
	for _, f := range t.Fields {
		if reached(f) {
			x.reach(f.Type)
		}
	}
}

// methods asserts that a type does not define its own encoding or decoding.
func (x *guards) methods(t *schema.Type) {
	none := "NoMethods"
	if t.Unmarshals {
		none = "NoMarshaler"
	}
	if x.lacking == nil {
		x.lacking = map[string][]types.Type{}
	}
	x.lacking[none] = append(x.lacking[none], goType(t))
}

// end writes the assertions about methods: those of a type would be ambiguous with the methods of the type that is
// embedded with it.
func (x *guards) end() {
	for _, none := range sortedKeys(x.lacking) {
		for all := x.lacking[none]; len(all) > 0; {
			var later []types.Type
			names := map[string]bool{}
			x.p("var _ ", impl("Lacks"+none[2:]), " = struct {")
			for _, t := range all {
				name := t.(*types.Named).Obj().Name()
				if names[name] {
					later = append(later, t) // a struct has each name once
					continue
				}
				names[name] = true
				x.p("*", t)
			}
			x.p(impl(none), "\n}{}")
			all = later
		}
	}
}

// structure asserts a struct with its tags. Assignability, unlike conversion, respects tags. If a
// struct of another package has fields that cannot be named here, it asserts the types of the other
// fields; the layout's fingerprint covers the rest.
func (x *guards) structure(named *types.Named) {
	if named == nil {
		return
	}
	st := named.Underlying().(*types.Struct)
	if st.NumFields() == 0 {
		return
	}
	own := named.Obj().Pkg().Path() == x.pkg.Path()
	if !own && hasUnexported(st) || hasUnchecked(st) || x.embedsHidden(st) {
		for i := range st.NumFields() {
			if f := st.Field(i); (own || f.Exported()) && f.Name() != "_" && !unchecked(f.Type()) && !x.hidden(f) {
				x.p("var _ = ", at(named, f.Name(), f.Type()))
			}
		}
		return
	}
	name := x.names.declare(lowerFirst(named.Obj().Name()) + "Layout_changed_run_go_generate")
	x.p("type ", name, " = struct {")
	for i := range st.NumFields() {
		f := st.Field(i)
		line := f.Name() + " "
		if f.Embedded() {
			line = ""
		}
		x.p(line, f.Type(), " ", tagLiteral(st.Tag(i)))
	}
	x.p("}\nvar _ ", name, " = ", named, "{}")
}

// hidden reports whether a field is an embedded struct that the package cannot name.
func (x *guards) hidden(f *types.Var) bool {
	t := f.Type()
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	return f.Embedded() && cannotName(x.pkg, t)
}

func (x *guards) embedsHidden(st *types.Struct) bool {
	return slices.ContainsFunc(slices.Collect(st.Fields()), x.hidden)
}

func hasUnexported(st *types.Struct) bool {
	for i := range st.NumFields() {
		if !st.Field(i).Exported() {
			return true
		}
	}
	return false
}

// hasUnchecked reports whether a field has a type that could not be checked: it is not stored.
func hasUnchecked(st *types.Struct) bool {
	for i := range st.NumFields() {
		if unchecked(st.Field(i).Type()) {
			return true
		}
	}
	return false
}

func tagLiteral(tag string) string {
	if tag == "" {
		return ""
	}
	return naming.GoRaw(tag)
}

// keyTypes lists the types of which keys hold the text.
func keyTypes(e *schema.Entity) []*schema.Type {
	keys := []*schema.Key{e.PK}
	for _, it := range e.Items {
		if it.Key != nil {
			keys = append(keys, it.Key)
		}
	}
	var out []*schema.Type
	for _, k := range keys {
		for i, src := range k.Sources {
			if schema.KeyText(src.Value.Type, k.Format(i).Value) {
				out = append(out, src.Value.Type)
			}
		}
	}
	return out
}

// tagText returns the value of a field's dynamodbav tag.
func tagText(f *schema.Field) string { return reflect.StructTag(f.Raw).Get("dynamodbav") }
