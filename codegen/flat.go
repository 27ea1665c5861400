package codegen

import (
	"fmt"
	"strings"

	"github.com/itemize/itemize/internal/key"
	"github.com/itemize/itemize/internal/schema"
)

// flatQuery writes the function that returns a query over the entities of a partition of
// a flat model. One whose entities lie in several tables has none: one query cannot read
// them.
func (n *nodeWriter) flatQuery(params, args, names []string) {
	if len(n.e.Tables) > 1 {
		return
	}
	pk := 0
	for _, s := range n.e.PK.Sources {
		pk = max(pk, s.KeyField+1)
	}
	fn := n.global(n.m.Name+"By"+strings.Join(names[:pk], ""), nil, "function")
	result, make := n.flatLevel(n.m.Name+"Query", n.flatStart())
	n.p("// %s queries all with the partition key %s.", fn, n.e.PK.Text)
	n.p("func %s(%s) %s {", fn, strings.Join(params[:pk], ", "), result)
	at := fmt.Sprintf("%s[%s](%s)", n.impl("Entity"), n.model, strings.Join(args[:pk], ", "))
	n.p("return %s\n}\n", fmt.Sprintf(make, fmt.Sprintf("%s(%s, %d, %d)", n.impl("Items"), at, n.e.Root.Index, n.flatStart().parts)))
}

// flatStart is the level of the root's template before its first placeholder that the
// partition key does not give.
func (n *nodeWriter) flatStart() level {
	l := levelAt(n.e.Root, 0)
	for l.next >= 0 && n.inPK(l.it.Key.Sources[l.next]) { // the value is known in full
		l = levelAt(l.it, l.parts+1)
	}
	return l
}

func (n *nodeWriter) inPK(src schema.Source) bool {
	for _, s := range n.e.PK.Sources {
		if src.From == schema.FromModel && s.KeyField == src.KeyField && s.Lossless {
			return true
		}
	}
	return false
}

// flatLevel writes the type of a query at a level of the root's template, as level does
// for nodes.
func (n *nodeWriter) flatLevel(name string, l level) (result, make string) {
	q := fmt.Sprintf("%s[%s, %[2]s]", n.query("Query"), n.model)
	makeQuery := fmt.Sprintf("%s[%s, %[2]s](%%s)", n.query("NewQuery"), n.model)
	if l.next < 0 {
		return q, makeQuery
	}
	src, f := l.it.Key.Sources[l.next], l.it.Key.Format(l.next)
	after := levelAt(l.it, l.parts+1)
	unit := rangeOf(f)
	if unit == "" && after.next < 0 {
		return q, makeQuery // narrowed, it would be one entity
	}
	node := n.query("Node") + "[" + n.model + "]"
	typ := n.global(name, nil, "type")
	fields, values := q, fmt.Sprintf(makeQuery, "at")
	if unit != "" {
		fields += "; " + n.embed("Entities"+unit, fmt.Sprintf("%s[%s]", n.query(unit), q))
		values += fmt.Sprintf(", %s(at, %s)", n.impl(unit), strings.TrimSuffix(makeQuery, "(%s)"))
	}
	n.p("// %s is a query that goes on with %s.", typ, src.Text)
	n.p("type %s struct { at %s; %s }\n", typ, node, fields)
	ctor := n.declare("new" + typ)
	n.p("func %s(at %s) %s {\nreturn %s{at, %s}\n}\n", ctor, node, typ, typ, values)
	if after.next >= 0 {
		n.flatMethod(typ, l, after, src, f)
	}
	return typ, ctor + "(%s)"
}

func (n *nodeWriter) flatMethod(typ string, l, after level, src schema.Source, f key.Format) {
	method := identifier(n.sourceName(src))
	if !n.method(typ, method, "the placeholder "+src.Text, l.it.Decl) {
		return
	}
	param, arg := n.argument(src, f.Value, new([]string))
	next, makeNext := n.flatLevel(typ+method, after)
	n.p("// %s narrows to one %s.", method, src.Text)
	n.p("func (n %s) %s(%s) %s {\nreturn %s\n}\n", typ, method, param, next,
		fmt.Sprintf(makeNext, fmt.Sprintf("%s(n.at, %d, %s)", n.impl("Next"), after.parts, arg)))
}
