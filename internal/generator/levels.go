package generator

import (
	"fmt"
	"slices"
	"strings"

	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
)

// level is a place in an item's template: so many parts are given.
type level struct {
	it    *schema.Item
	parts int
	// next is the source of the placeholder that follows, -1 at the end.
	next int
}

// levelAt returns the level with parts given, and the literals that follow them.
func levelAt(it *schema.Item, parts int) level {
	if it.Key == nil {
		return level{it, 0, -1}
	}
	all := it.Key.Template.Parts
	for parts < len(all) && all[parts].Format.Kind == key.Literal {
		parts++
	}
	l := level{it, parts, -1}
	if parts == len(all) {
		return l
	}
	l.next = 0
	for _, p := range all[:parts] {
		if p.Format.Kind != key.Literal {
			l.next++
		}
	}
	return l
}

// behind returns the level behind the last literal segment of an item's template, and the
// placeholders before it.
func behind(it *schema.Item) (level, []int) {
	if it.Key == nil {
		return level{it, 0, -1}, nil
	}
	t := it.Key.Template
	last := 0
	for i, p := range t.Parts {
		if p.Format.Kind == key.Literal && strings.Trim(p.Text, string(t.Delim)) != "" {
			last = i + 1
		}
	}
	l := levelAt(it, last)
	var before []int
	for i := range it.Key.Sources {
		if l.next < 0 || i < l.next {
			before = append(before, i)
		}
	}
	return l, before
}

// level makes the type of a node at a level, if it needs one of its own, and what hangs
// on it. add says that it is the node of all elements, to which some can be added.
func (n *nodeWriter) level(name string, l level, add bool) result {
	for l.next >= 0 && n.isInKey(l.it.Key.Sources[l.next]) {
		l = levelAt(l.it, l.parts+1)
	}
	only := n.only(l)
	switch {
	case l.next < 0 && only:
		return n.itemResult("Element", l.it, goType(l.it.Elem))
	case l.next < 0:
		return n.itemResult("Item", l.it, goType(l.it.Elem))
	case !only:
		r := n.levelType("is a selection", name, l, n.plain, n.nodeBase())
		if add {
			t := n.types[slices.IndexFunc(n.types, func(t *nodeType) bool { return t.at == l })]
			t.methods = append(t.methods, n.adder("Add", t.self(), l.it))
		}
		n.noQuery(l)
		return r
	}
	whole := []base{n.elementsBase(n.word(l.it), goType(l.it.Elem))}
	if add {
		whole = append(whole, n.itemsBase(l.it))
	}
	part := func() result { return n.elements(l.it.Elem) }
	return n.levelType("is a selection, with the methods of a query,", name, l, part, whole...)
}

// levelType makes the type of a node before a placeholder: it has the methods of whole, and its
// ranges return part.
func (n *nodeWriter) levelType(what, name string, l level, part func() result, whole ...base) result {
	src, f := l.it.Key.Sources[l.next], l.it.Key.Format(l.next)
	t := n.declare(n.g.names.declare(lowerFirst(name)), fmt.Sprintf("%s that can be narrowed by %s.", what, src.Text))
	t.at = l
	t.bases = n.basesOf(whole...)
	n.rangesOf(t, n.word(l.it), l.it.Key, l.next, part)
	made := n.made(t)
	made.query = whole[0].query
	method := identifier(sourceName(src))
	param, arg := n.argument(src, f.Value, new([]string))
	after := levelAt(l.it, l.parts+1)
	m := &nodeMethod{
		name: method, doc: fmt.Sprintf("%s narrows the selection to one %s.", method, src.Text),
		params: param,
	}
	m.result = n.level(t.name+method, after, false)
	m.body = m.result.make(call(impl("Next"), t.self(), after.parts, arg))
	n.method(t, m, "the placeholder "+src.Text, l.it.Decl)
	return made
}

// rangeOf returns the name of the ranges of a time's format, "" for another.
func rangeOf(f key.Format) string {
	switch f.Kind {
	case key.Nanos, key.Millis, key.Seconds, key.Unix:
		return "Hours"
	case key.Date:
		return "Days"
	case key.Month:
		return "Months"
	case key.Week:
		return "Weeks"
	case key.Year:
		return "Years"
	case key.Native:
		if f.Value == key.Time {
			return "Hours"
		}
	}
	return ""
}

// noQuery says of the node that was declared last that it is no query, and why.
func (n *nodeWriter) noQuery(l level) {
	i := slices.IndexFunc(n.types, func(t *nodeType) bool { return t.at == l })
	between := n.between(l)
	if i < 0 || between == nil {
		return
	}
	t := n.types[i]
	text := fmt.Sprintf("it is not a query, since %s (%s) is between its items", between.Name, templateText(between))
	t.doc += " " + upperFirst(text) + "."
	pos, end := n.g.p.find.place(l.it.Decl, 0, 0)
	fset := n.g.p.fset
	n.g.p.Notes = append(n.g.p.Notes,
		Diagnostic{Pos: fset.Position(pos), End: fset.Position(end), Message: n.e.Label() + "." + l.it.Name + ": " +
			text + ", and it has no All, Collect, Page and Count: begin its key with a constant segment to query " +
			l.it.Name + " alone"})
}

// between returns an item between those of a level, nil for none.
func (n *nodeWriter) between(l level) *schema.Item {
	values := make([]key.Value, len(l.it.Key.Sources))
	for i := range values {
		values[i] = l.it.Key.Format(i).Sample()
	}
	text, err := l.it.Key.Template.Append(nil, l.parts, values)
	for _, it := range n.in(l.it.Table) {
		if err == nil && it != l.it && it.Key.Template.CanBegin(string(text)) &&
			(!it.Element() || goType(it.Elem) != goType(l.it.Elem)) {
			return it
		}
	}
	return nil
}

// only reports whether a level has only elements of its type. The placeholders
// are tried with a sample; what they make at run time is checked then.
func (n *nodeWriter) only(l level) bool {
	if l.it.Key == nil || l.parts == 0 && l.it.Key.Template.Type != 'S' {
		return len(n.in(l.it.Table)) == 1
	}
	values := make([]key.Value, len(l.it.Key.Sources))
	for i := range values {
		values[i] = l.it.Key.Format(i).Sample()
	}
	text, err := l.it.Key.Template.Append(nil, l.parts, values)
	if err != nil {
		return false
	}
	return n.elementsOnly(l.it.Table, string(text), l.it)
}

func (n *nodeWriter) in(t *schema.Table) []*schema.Item {
	var out []*schema.Item
	for _, it := range n.e.Items {
		if it.Table == t {
			out = append(out, it)
		}
	}
	return out
}

// elementsOnly reports whether all items whose keys can begin with a text are elements of
// one type, that of like.
func (n *nodeWriter) elementsOnly(t *schema.Table, text string, like *schema.Item) bool {
	for _, it := range n.in(t) {
		if it.Key.Template.CanBegin(text) && (!it.Element() || goType(it.Elem) != goType(like.Elem)) {
			return false
		}
	}
	return true
}
