package codegen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/itemize/itemize/internal/schema"
	"github.com/itemize/itemize/tags"
)

// patchMethods are the names that every patch has.
var patchMethods = []string{"Exec", "Plan", "Upsert", "IfEntityExists"}

// patchWriter writes a model's patches.
type patchWriter struct {
	*nodeWriter
	typ, embedded string
}

func (n *nodeWriter) patches() {
	p := &patchWriter{nodeWriter: n}
	p.typ = n.global(n.m.Name+"Patch", nil, "type")
	p.embedded = n.embed("Patch", n.use(mapPkg, "mapper")+".Patch["+n.model+"]")
	n.methods[p.typ] = map[string]string{}
	for _, m := range patchMethods {
		n.methods[p.typ][m] = "every patch"
	}
	var names, params, args, taken []string
	for i, o := range n.e.KeyFields[:n.e.Identities()] {
		param, _ := n.argument(schema.Source{From: schema.FromModel, Value: o.Value}, keyFieldKind(n.e, i), &taken)
		params = append(params, param)
		args = append(args, taken[len(taken)-1])
		names = append(names, identifier(o.Name))
	}
	fn := n.global("Patch"+n.m.Name, nil, "function")
	n.p("// %s is changes of one %s that are written without reading it.", p.typ, n.m.Name)
	n.p("type %s struct{ %s }\n", p.typ, p.embedded)
	n.p("// %s begins a patch of the %s with the partition key %s.", fn, n.m.Name, n.e.PK.Text)
	n.p("func %s(%s) %s {", fn, strings.Join(params, ", "), p.typ)
	n.p("return %s{%s.NewPatch(%sBy%s(%s).%s)}\n}\n", p.typ, n.use(mapPkg, "mapper"), n.m.Name, strings.Join(names, ""), strings.Join(args, ", "), n.alias[n.query("Node")+"["+n.model+"]"])
	p.fixed("Upsert", "makes what the patch changes where it is not there, and replaces what it adds where that is.")
	p.fixed("IfEntityExists", "requires that the entity is there: its root, which is then part of a transaction.")
	for _, it := range n.e.Items {
		if it.Element() {
			p.element(it)
		} else {
			p.singleton(it)
		}
	}
}

func (p *patchWriter) fixed(name, what string) {
	p.p("// %s %s", name, what)
	p.p("func (p %s) %s() %s { return %s }\n", p.typ, name, p.typ, p.with(p.impl(name)))
}

// with returns the expression of the patch with a change.
func (p *patchWriter) with(change string) string {
	return fmt.Sprintf("%s{%s.With(p.%s, %s)}", p.typ, p.use(mapPkg, "mapper"), p.embedded, change)
}

// singleton writes the methods of an item's fields.
func (p *patchWriter) singleton(it *schema.Item) {
	for _, f := range p.fields(it) {
		p.field(it, f)
	}
}

// patchField is a field of the model that lies on an item, with its attributes.
type patchField struct {
	name       string
	access     access // to the field
	typ        *schema.Type
	attributes []int
	spread     bool
	decl       *schema.Field
}

// fields lists an item's fields in the model, but those that keys name.
func (p *patchWriter) fields(it *schema.Item) []*patchField {
	var out []*patchField
	for i, a := range it.Attributes {
		if a.Place > 0 && len(a.Value.Path) > a.Place {
			path := a.Value.Path[:a.Place]
			at := p.access(p.m.named, path)
			if len(out) > 0 && out[len(out)-1].access.sel == at.sel {
				out[len(out)-1].attributes = append(out[len(out)-1].attributes, i)
				continue
			}
			decl := fieldAt(p.e.Type, path)
			out = append(out, &patchField{name: p.fieldName(decl), access: at, typ: decl.Type, attributes: []int{i}, spread: true, decl: decl})
			continue
		}
		if !p.isKeyField(a.Field) {
			out = append(out, &patchField{name: p.fieldName(a.Field), access: p.access(p.m.named, a.Value.Path), typ: a.Value.Type, attributes: []int{i}, decl: a.Field})
		}
	}
	return out
}

// fieldAt returns the field at a path.
func fieldAt(t *schema.Type, path []int) *schema.Field {
	var f *schema.Field
	for _, x := range path {
		if t.Kind == schema.Pointer {
			t = t.Elem
		}
		f = t.Fields[x]
		t = f.Type
	}
	return f
}

// fieldName is what methods of patches call a field: name= of its tag, or its own. One
// that every patch has is prefixed by Set.
func (p *patchWriter) fieldName(f *schema.Field) string {
	name := f.Name
	if tag, _ := tags.Parse(f.Raw, tags.OnField); tag.Has("name") {
		name = tag.Value("name")
	}
	if slices.Contains(patchMethods, name) {
		return "Set" + name
	}
	return name
}

func (p *patchWriter) isKeyField(f *schema.Field) bool {
	for _, o := range p.e.KeyFields {
		if o.Field == f {
			return true
		}
	}
	return false
}

// field writes the methods of a field: set, remove, increment, if.
func (p *patchWriter) field(it *schema.Item, f *patchField) {
	indexes := make([]string, len(f.attributes))
	for i, a := range f.attributes {
		indexes[i] = fmt.Sprint(a)
	}
	list := strings.Join(indexes, ", ")
	t, assign := f.typ, "value"
	if f.spread && t.Kind == schema.Pointer {
		t, assign = t.Elem, "&value"
	}
	typ := p.typOf(t)
	record := func(method, fn, doc string) {
		if !p.method(p.typ, method, "the field "+f.name, f.decl) {
			return
		}
		p.p("// %s %s", method, doc)
		p.p("func (p %s) %s(value %s) %s {\nr := new(%s)", p.typ, method, typ, p.typ, p.model)
		p.allocate(f.access, "r")
		p.p("%s = %s", f.access.of("r"), assign)
		p.p("return %s\n}\n", p.with(fmt.Sprintf("%s(%d, r, %s)", p.impl(fn), it.Index, list)))
	}
	record(f.name, "Set", "sets "+f.name+".")
	p.remove(it, f, list)
	if f.spread {
		return
	}
	if by, fn := incrementOf(t, it.Attributes[f.attributes[0]]); by != "" && p.method(p.typ, "Increment"+f.name, "the field "+f.name, f.decl) {
		p.p("// Increment%s adds to %s, which counts from 0 where it is not stored.", f.name, f.name)
		p.p("func (p %s) Increment%s(by %s) %s {\nreturn %s\n}\n", p.typ, f.name, by, p.typ, p.with(fmt.Sprintf("%s(%d, %s, by)", p.impl(fn), it.Index, list)))
	}
	record("If"+f.name, "If", "requires that "+f.name+" is value.")
}

func (p *patchWriter) typOf(t *schema.Type) string { return p.writer.typ(goType(t)) }

// remove writes the method that removes an attribute, or of a field that has an item to
// itself that item. The root stays: without it there is no entity.
func (p *patchWriter) remove(it *schema.Item, f *patchField, list string) {
	change, doc := fmt.Sprintf("%s(%d, %s)", p.impl("Remove"), it.Index, list), "removes the attributes of "+f.name+"."
	if f.spread && it != p.e.Root && len(p.fields(it)) == 1 {
		change, doc = fmt.Sprintf("%s(%d)", p.impl("Delete"), it.Index), "deletes the item of "+f.name+"."
	}
	name := "Remove" + f.name
	if p.method(p.typ, name, "the field "+f.name, f.decl) {
		p.p("// %s %s", name, doc)
		p.p("func (p %s) %s() %s { return %s }\n", p.typ, name, p.typ, p.with(change))
	}
}

// incrementOf returns the parameter of an increment, "" for a field that is no number.
func incrementOf(t *schema.Type, a *schema.Attribute) (param, fn string) {
	switch {
	case a.AV.Has("string") || a.AV.Has("nullempty") || t.Time || t.Marshals:
		return "", ""
	case t.Kind == schema.Int, t.Kind == schema.Uint:
		return "int64", "Increment"
	case t.Kind == schema.Float:
		return "float64", "IncrementFloat"
	}
	return "", ""
}

// element writes the methods that add and remove an element.
func (p *patchWriter) element(it *schema.Item) {
	name := p.fieldName(fieldAt(p.e.Type, it.Field.Path))
	elem := p.typOf(it.Elem)
	if p.addable(it) && p.method(p.typ, "Add"+name, "the field "+name, it.Decl) {
		p.p("// Add%s adds an element to %s.", name, name)
		if it.Map() {
			p.p("func (p %s) Add%s(key %s, value %s) %s {", p.typ, name, p.typOf(it.Field.Type.Key), elem, p.typ)
			p.p("return %s\n}\n", p.with(fmt.Sprintf("%s(%d, key, &value)", p.impl("AddEntry"), it.Index)))
		} else {
			p.p("func (p %s) Add%s(value %s) %s {", p.typ, name, elem, p.typ)
			p.p("return %s\n}\n", p.with(fmt.Sprintf("%s(%d, &value)", p.impl("AddElement"), it.Index)))
		}
	}
	if !p.method(p.typ, "Remove"+name, "the field "+name, it.Decl) {
		return
	}
	var sources []int
	for i, src := range it.Key.Sources {
		if !p.given(src) {
			sources = append(sources, i)
		}
	}
	params, args := p.arguments(it.Key, sources)
	p.p("// Remove%s removes the element of %s with that key.", name, name)
	p.p("func (p %s) Remove%s(%s) %s {", p.typ, name, params, p.typ)
	p.p("return %s\n}\n", p.with(fmt.Sprintf("%s(%d, %s)", p.impl("RemoveElement"), it.Index, args)))
}

// addable reports whether a patch knows all that an element's key needs.
func (p *patchWriter) addable(it *schema.Item) bool {
	for _, src := range it.Key.Sources {
		if src.From == schema.FromModel && !p.given(src) {
			return false
		}
	}
	return !it.ExpiryOfRoot
}
