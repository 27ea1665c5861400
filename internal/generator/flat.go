package generator

import (
	"fmt"
	"strings"

	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
)

// flatQuery writes the function that returns a query over the entities of a partition of
// a flat model.
func (n *nodeWriter) flatQuery(params, args []any, names []string) {
	pk := n.e.PartitionFields()
	fn := n.global(n.m.Name+"By"+strings.Join(names[:pk], ""), "function")
	r := n.flatLevel(n.m.Name+"Query", n.flatStart())
	doc := fmt.Sprintf("%s queries all entities with the partition key %s.", fn, n.e.PK.Text)
	n.w.comment(doc + r.about())
	n.w.p("func ", fn, "(", list(params[:pk]...), ") ", r.typ, " {")
	at := call(of(impl("Entity"), n.model()), args[:pk]...)
	n.w.p("return ", r.make(call(impl("Items"), at, n.e.Root.Index, n.flatStart().parts)), "\n}\n")
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

// flatLevel makes the type of a query at a level of the root's template, as level does
// for nodes.
func (n *nodeWriter) flatLevel(name string, l level) result {
	q := n.query("Entities", n.model(), "Roots")
	if l.next < 0 {
		return q
	}
	src, f := l.it.Key.Sources[l.next], l.it.Key.Format(l.next)
	after := levelAt(l.it, l.parts+1)
	if !hasRanges(l.it.Key, l.next) && after.next < 0 {
		return q // narrowed, it would be one entity
	}
	t := n.declare(n.g.names.declare(lowerFirst(name)), fmt.Sprintf("is a query that can be narrowed by %s.", src.Text))
	t.bases = []base{q.base()}
	n.rangesOf(t, "Entities", l.it.Key, l.next, func() result { return q })
	made := n.made(t)
	if after.next >= 0 {
		n.flatMethod(t, after, src, f)
	}
	return made
}

func (n *nodeWriter) flatMethod(t *nodeType, after level, src schema.Source, f key.Format) {
	method := identifier(sourceName(src))
	param, arg := n.argument(src, f.Value, new([]string))
	m := &nodeMethod{name: method, doc: fmt.Sprintf("%s narrows the query to one %s.", method, src.Text), params: param}
	m.result = n.flatLevel(t.name+method, after)
	m.body = m.result.make(call(impl("Next"), t.self(), after.parts, arg))
	n.method(t, m, "the placeholder "+src.Text, n.e.Root.Decl)
}
