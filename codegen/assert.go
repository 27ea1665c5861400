package codegen

import (
	"fmt"
	"go/types"
	"strconv"
	"strings"

	"github.com/itemize/itemize/internal/schema"
)

// asserter writes what stops compiling when a type that generated code was made from
// has changed.
type asserter struct {
	*writer
	seen map[types.Type]bool
}

// assertions writes them for all types that a model reaches.
func (w *writer) assertions(m *Model, done map[types.Type]bool) {
	a := &asserter{w, done}
	a.reach(m.Schema.Type)
	for _, src := range keyTypes(m.Schema) {
		a.text(src)
	}
}

// reach asserts a type and those in it.
func (a *asserter) reach(t *schema.Type) {
	if t == nil || a.seen[goType(t)] {
		return
	}
	gt := goType(t)
	a.seen[gt] = true
	named, ok := gt.(*types.Named)
	switch {
	case t.Marshals:
		a.p("var _ interface { MarshalDynamoDBAttributeValue() (%s, error) } = (*%s)(nil)\n", a.av(), a.typ(gt))
		return
	case t.Time:
		if ok && gt.String() != "time.Time" {
			a.p("var _ = (*%s)((*%s)(nil))\n", a.time(), a.typ(gt))
		}
		return
	case t.Kind == schema.Struct:
		a.structure(t, named)
	case ok && t.Kind != schema.Interface:
		a.p("var _ = (*%s)((*%s)(nil))\n", a.typ(named.Underlying()), a.typ(gt))
	}
	if ok && t.Kind != schema.Interface && named.Obj().Pkg() != nil {
		a.lacks(t, "NoMarshaler", "MarshalDynamoDBAttributeValue")
		if !t.Unmarshals {
			a.lacks(t, "NoUnmarshaler", "UnmarshalDynamoDBAttributeValue")
		}
	}
	if k := t.Key; k != nil && !k.MarshalsText {
		if _, ok := goType(k).(*types.Named); ok {
			a.lacks(k, "NoText", "MarshalText")
		}
	}
	a.reach(t.Key)
	a.reach(t.Elem)
	for _, f := range t.Fields {
		if reached(f) {
			a.reach(f.Type)
		}
	}
}

// lacks asserts that a type lacks a method, which would be ambiguous beside that of
// another.
func (a *asserter) lacks(t *schema.Type, other, method string) {
	line := fmt.Sprintf("var _ = struct { *%s; %s }{}.%s\n", a.typ(goType(t)), a.impl(other), method)
	if !strings.Contains(a.body.String(), line) {
		a.p("%s", line)
	}
}

// reached reports whether generated code has to do with a field.
func reached(f *schema.Field) bool {
	return (f.Exported || f.Embedded) && !strings.Contains(f.Raw, `ddb:"-"`) && !strings.Contains(f.Raw, `dynamodbav:"-"`)
}

// structure asserts a struct with its tags. Assignability, unlike conversion, respects
// tags. Of a struct of another package with fields that cannot be named here, it
// asserts the types of those that can; the rest is the business of the layout's
// fingerprint.
func (a *asserter) structure(t *schema.Type, named *types.Named) {
	if named == nil || len(t.Fields) == 0 {
		return
	}
	st := named.Underlying().(*types.Struct)
	if named.Obj().Pkg().Path() != a.pkg.Path() && hasUnexported(st) {
		for i := range st.NumFields() {
			if f := st.Field(i); f.Exported() {
				a.p("var _ = func(v *%s) *%s { return &v.%s }\n", a.typ(named), a.typ(f.Type()), f.Name())
			}
		}
		return
	}
	name := a.declare(lowerFirst(named.Obj().Name()) + "Layout_changed_run_go_generate")
	a.p("type %s = struct {", name)
	for i := range st.NumFields() {
		f := st.Field(i)
		line := f.Name() + " "
		if f.Embedded() {
			line = ""
		}
		a.p("%s%s %s", line, a.typ(f.Type()), tagLiteral(st.Tag(i)))
	}
	a.p("}\n\nvar _ %s = %s{}\n", name, a.typ(named))
}

func hasUnexported(st *types.Struct) bool {
	for i := range st.NumFields() {
		if !st.Field(i).Exported() {
			return true
		}
	}
	return false
}

func tagLiteral(tag string) string {
	switch {
	case tag == "":
		return ""
	case strconv.CanBackquote(tag):
		return "`" + tag + "`"
	}
	return strconv.Quote(tag)
}

// keyTypes lists the types whose values lie in keys by their text.
func keyTypes(e *schema.Entity) []*schema.Type {
	var out []*schema.Type
	keys := []*schema.Key{e.PK}
	for _, it := range e.Items {
		if it.Key != nil {
			keys = append(keys, it.Key)
		}
	}
	for _, k := range keys {
		for i, src := range k.Sources {
			if schema.KeyText(src.Value.Type, k.Format(i).Value) {
				out = append(out, src.Value.Type)
			}
		}
	}
	return out
}

// text asserts that a type has a text form, both ways.
func (a *asserter) text(t *schema.Type) {
	encoding := a.use("encoding", "encoding")
	line := fmt.Sprintf("var _ interface { %[1]s.TextMarshaler; %[1]s.TextUnmarshaler } = (*%[2]s)(nil)", encoding, a.typ(goType(t)))
	if !strings.Contains(a.body.String(), line) {
		a.p("%s\n", line)
	}
}
