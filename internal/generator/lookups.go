package generator

import (
	"fmt"
	"slices"
	"strings"

	"github.com/itemize/itemize/internal/model/schema"
)

// lookups writes the functions that select the entity that has a unique value.
func (n *nodeWriter) lookups() {
	for i, u := range n.e.Uniques {
		n.lookup(i, u)
	}
}

// lookupName is the name of the function of a unique value.
func (n *nodeWriter) lookupName(u *schema.Unique) string {
	name := n.m.Name + "By"
	for _, a := range n.e.Guarded(u) {
		name += identifier(valueName(a.Value))
	}
	return name
}

// lookup writes the function of one unique value.
func (n *nodeWriter) lookup(i int, u *schema.Unique) {
	name := n.lookupName(u)
	if at := n.g.names.owner(name, constraints(n.g.fileOf(n.m))); at != "" {
		n.report(u.Field, fmt.Sprintf("%s: the package declares %s%salready, the function of the unique value %s: add "+
			"name=Word to its field", n.e.Label(), name, at, n.e.FieldNames(u)))
		return
	}
	n.global(name, "function")
	var params []any
	var body code
	taken := []string{"v"} // of the function that sets the fields
	for _, a := range n.e.Guarded(u) {
		t := a.Value.Type
		value := code{}
		if t.Kind == schema.Pointer && !t.Normal {
			value, t = code{"&"}, t.Elem
		}
		p := n.g.names.parameter(valueName(a.Value), &taken)
		params = append(params, code{p, " ", goType(t)})
		body = append(body, n.fieldPath(a.Value, "v"), " = ", value, p, "\n")
	}
	typ := n.m.Name + "Key"
	which := n.e.FieldNames(u) + " has this value"
	if len(params) > 1 {
		which = strings.ReplaceAll(n.e.FieldNames(u), ",", " and ") + " have these values"
	}
	n.w.comment(fmt.Sprintf("%s selects the %s whose %s. It is for Load, LoadMany, Update, DeleteByKey, patches and "+
		"transactions.", name, n.m.Name, which))
	n.w.p("func ", name, "(", list(params...), ") *", typ, " {")
	set := code{"func(v *", n.model(), ") {\n", body, "}"}
	n.w.p("return &", typ, "{", call(impl("Lookup"), i, set), "}\n}\n")
}

// fieldPath returns the selector of a field of a model, behind statements that make the structs on the way.
func (n *nodeWriter) fieldPath(v schema.Value, of string) code {
	var before code
	selector, t := of, n.e.Type
	for k, index := range v.Path {
		i := slices.IndexFunc(t.Fields, func(f *schema.Field) bool { return f.Index == index })
		f := t.Fields[i]
		selector += "." + f.Name
		t = f.Type
		if t.Kind == schema.Pointer && k < len(v.Path)-1 {
			before = append(before, "if ", selector, " == nil {\n", selector, " = new(", goType(t.Elem), ")\n}\n")
			t = t.Elem
		}
	}
	return append(before, selector)
}
