package codegen

import (
	"fmt"
	"go/token"
	"slices"
	"strings"

	"github.com/itemize/itemize/internal/key"
	"github.com/itemize/itemize/internal/schema"
)

// nodeWriter writes a model's nodes: the key functions, and the methods that lead from
// a key to its items.
type nodeWriter struct {
	*writer
	g      *generator
	m      *Model
	e      *schema.Entity
	model  string
	prefix string // of the names of types
	// methods are the names that each type has, with where they come from.
	methods map[string]map[string]string
	alias   map[string]string
}

// nodeMethods are the names that nodes and queries have themselves.
var nodeMethods = []string{
	"All", "Slice", "Page", "After", "Count", "Input", "Plan", "Limit", "Refs", "Reverse", "Filter", "Project",
	"Between", "Since", "Before", "Year", "Month", "Day", "Hour", "Week", "Query",
}

func (g *generator) nodes(w *writer, m *Model) {
	n := &nodeWriter{
		writer: w, g: g, m: m, e: m.Schema, model: w.typ(m.named), prefix: m.Name,
		methods: map[string]map[string]string{}, alias: map[string]string{},
	}
	n.keyType()
	n.patches()
}

// embed returns the name of an alias of a type, which a node embeds without showing it.
func (n *nodeWriter) embed(suffix, typ string) string {
	if a, ok := n.alias[typ]; ok {
		return a
	}
	a := n.declare(lowerFirst(n.m.Name) + suffix)
	n.alias[typ] = a
	n.p("type %s = %s\n", a, typ)
	return a
}

// global takes a name of the package, or reports that it is taken.
func (n *nodeWriter) global(name string, field *schema.Field, what string) string {
	if n.taken[name] {
		n.report(field, fmt.Sprintf("%s: the generated %s %s is declared already in the package: rename that, or the model", n.m.Schema.Label(), what, name))
	}
	n.taken[name] = true
	return name
}

// method takes a name on a generated type, or reports that it is taken.
func (n *nodeWriter) method(typ, name, of string, field *schema.Field) bool {
	cure := "add name=Word to its field"
	switch {
	case strings.HasPrefix(of, "the segment"):
		cure = "add _ struct{} `ddb:\"prefix=SEGMENT,name=Word\"`"
	case strings.HasPrefix(of, "the placeholder"):
		cure = "rename the field"
	}
	switch {
	case name == "":
		n.report(field, fmt.Sprintf("%s: %s gives no name of a method: %s", n.e.Label(), of, cure))
		return false
	case slices.Contains(nodeMethods, name) && typ != n.m.Name+"Patch":
		n.report(field, fmt.Sprintf("%s: %s would have the method %s, which every query has: %s", n.e.Label(), of, name, cure))
		return false
	}
	if n.methods[typ] == nil {
		n.methods[typ] = map[string]string{}
	}
	if other, ok := n.methods[typ][name]; ok {
		n.report(field, fmt.Sprintf("%s: %s and %s would both have the method %s: %s", n.e.Label(), other, of, name, cure))
		return false
	}
	n.methods[typ][name] = of
	return true
}

func (n *nodeWriter) report(field *schema.Field, message string) {
	pos := n.m.named.Obj().Pos()
	end := pos + token.Pos(len(n.m.Name))
	if field != nil {
		pos, end = n.g.p.find.place(field, 0, 0)
	}
	fset := n.g.p.fset
	n.g.diagnostics = append(n.g.diagnostics, Diagnostic{Pos: fset.Position(pos), End: fset.Position(end), Message: message})
}

// argument returns the parameter and the argument of a placeholder.
func (n *nodeWriter) argument(src schema.Source, kind key.Kind, others *[]string) (param, arg string) {
	name := n.sourceName(src)
	p := n.parameter(name, others)
	return p + " " + n.typ(goType(src.Value.Type)), fmt.Sprintf("%s(%s)", n.impl("Arg"), n.keyValue(src.Value.Type, kind, p))
}

// sourceName is what a placeholder is called: its field, Key of a map, Value of a
// scalar element.
func (n *nodeWriter) sourceName(src schema.Source) string {
	switch src.From {
	case schema.FromMapKey:
		return "Key"
	case schema.FromSelf:
		return "Value"
	}
	name := src.Value.Name
	return name[strings.LastIndexByte(name, '.')+1:]
}

// arguments returns the parameters and arguments of several placeholders.
func (n *nodeWriter) arguments(k *schema.Key, sources []int) (params, args string) {
	var ps, as, names []string
	for _, i := range sources {
		p, a := n.argument(k.Sources[i], k.Format(i).Value, &names)
		ps, as = append(ps, p), append(as, a)
	}
	return strings.Join(ps, ", "), strings.Join(as, ", ")
}

// keyType writes the functions that make a key, and its type with all that hangs on it.
func (n *nodeWriter) keyType() {
	typ := n.global(n.m.Name+"Key", nil, "type")
	embedded := n.embed("Node", n.query("Node")+"["+n.model+"]")
	var names, params, args, taken []string
	for i, o := range n.e.KeyFields[:n.e.Identities()] {
		names = append(names, identifier(o.Name))
		p, a := n.argument(schema.Source{From: schema.FromModel, Value: o.Value}, keyFieldKind(n.e, i), &taken)
		params, args = append(params, p), append(args, a)
	}
	n.p("// %s is the key of one %s, and leads to its parts.", typ, n.m.Name)
	n.p("type %s struct{ %s }\n", typ, embedded)
	fn := n.global(n.m.Name+"By"+strings.Join(names, ""), nil, "function")
	n.p("// %s selects the %s with the partition key %s.", fn, n.m.Name, n.e.PK.Text)
	n.p("func %s(%s) %s {", fn, strings.Join(params, ", "), typ)
	n.p("return %s{%s[%s](%s)}\n}\n", typ, n.impl("Entity"), n.model, strings.Join(args, ", "))
	if n.e.Flat {
		n.flatQuery(params, args, names)
	} else {
		n.segments(typ, embedded)
	}
	for _, t := range n.e.Tables[1:] {
		n.satellite(typ, embedded, t)
	}
	for _, it := range n.e.Items {
		n.item(typ, embedded, it)
	}
}

func (n *nodeWriter) satellite(typ, embedded string, t *schema.Table) {
	if !n.method(typ, t.Word, "the table "+t.Name, t.Field) {
		return
	}
	n.p("// %s selects the part that lies in the table %s.", t.Word, t.Name)
	n.p("func (n %s) %s() %s { return %s(n.%s, %d) }\n", typ, t.Word, n.query("Node")+"["+n.model+"]", n.impl("Table"), embedded, t.Index)
}

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

// base returns the level behind the last literal segment of an item's template, and the
// placeholders before it.
func base(it *schema.Item) (level, []int) {
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

// item writes the method of an item on the key, and the levels behind it.
func (n *nodeWriter) item(typ, embedded string, it *schema.Item) {
	l, before := base(it)
	if !it.Element() {
		l, before = level{it, len(partsOf(it)), -1}, nil
		for i := range sourcesOf(it) {
			before = append(before, i)
		}
	}
	before = slices.DeleteFunc(before, func(i int) bool { return n.given(it.Key.Sources[i]) })
	name := n.itemName(it)
	if name == "" && (it.Key == nil || it == n.e.Root) {
		return // the key, or the table, selects just that
	}
	if !n.method(typ, name, "the item "+it.Name, it.Decl) {
		return
	}
	var params, args string
	if len(before) > 0 {
		params, args = n.arguments(it.Key, before)
		args = ", " + args
	}
	at := fmt.Sprintf("%s(n.%s, %d, %d%s)", n.impl("Items"), embedded, it.Index, l.parts, args)
	result, make := n.level(typ+name, l)
	n.p("// %s selects %s.", name, templateText(it))
	n.p("func (n %s) %s(%s) %s { return %s }\n", typ, name, params, result, fmt.Sprintf(make, at))
}

// itemName returns the name of an item's method: what name= says, its field, or of an
// item that fields share the last segment of its key that is literal text.
func (n *nodeWriter) itemName(it *schema.Item) string {
	switch {
	case it.MethodName != "":
		return it.MethodName
	case n.isField(it.Name):
		return it.Name[strings.LastIndexByte(it.Name, '.')+1:]
	case it.Key == nil:
		return ""
	}
	segments := strings.FieldsFunc(it.Key.Text, func(r rune) bool { return r == rune(n.e.Delim) })
	for _, s := range slices.Backward(segments) {
		if !strings.ContainsAny(s, "{}") {
			return identifier(s)
		}
	}
	return ""
}

// isField reports whether an item is called by a field of the model.
func (n *nodeWriter) isField(name string) bool {
	for _, it := range n.e.Items {
		if it.Field != nil && it.Field.Name == name {
			return true
		}
		for _, a := range it.Attributes {
			if a.Value.Name == name {
				return true
			}
		}
	}
	return false
}

func partsOf(it *schema.Item) []key.Part {
	if it.Key == nil {
		return nil
	}
	return it.Key.Template.Parts
}

func sourcesOf(it *schema.Item) []schema.Source {
	if it.Key == nil {
		return nil
	}
	return it.Key.Sources
}

func templateText(it *schema.Item) string {
	if it.Key == nil {
		return "the item of the table " + it.Table.Name
	}
	return it.Key.Text
}

// given tells of a placeholder that the entity's key gives already.
func (n *nodeWriter) given(src schema.Source) bool {
	return src.From == schema.FromModel && n.e.KeyFields[src.KeyField].Identity
}

// level writes the type of a node at a level, if it needs one of its own, and what hangs
// on it. It returns the type, and the format of an expression that makes it of a node.
func (n *nodeWriter) level(name string, l level) (result, make string) {
	for l.next >= 0 && n.given(l.it.Key.Sources[l.next]) {
		l = levelAt(l.it, l.parts+1)
	}
	plainNode := n.query("Node") + "[" + n.model + "]"
	result, make = plainNode, "%s"
	if l.it.Element() && n.only(l) {
		elem := n.typ(goType(l.it.Elem))
		result = fmt.Sprintf("%s[%s, %s]", n.query("Elements"), n.model, elem)
		make = fmt.Sprintf("%s[%s, %s](%%s)", n.query("NewElements"), n.model, elem)
	}
	if l.next < 0 {
		return result, make
	}
	return n.levelType(name, l, result, make)
}

// levelType writes the type of a node before a placeholder.
func (n *nodeWriter) levelType(name string, l level, result, make string) (string, string) {
	typ := n.declare(name)
	suffix := "Node"
	if result != n.query("Node")+"["+n.model+"]" {
		suffix = identifier(n.typ(goType(l.it.Elem))) + "Elements"
	}
	embedded := n.embed(suffix, result)
	src, f := l.it.Key.Sources[l.next], l.it.Key.Format(l.next)
	fields, values := embedded, fmt.Sprintf(make, "at")
	if unit := rangeOf(f); unit != "" {
		wrap := fmt.Sprintf("func(n %s[%s]) %s { return %s }", n.query("Node"), n.model, result, fmt.Sprintf(make, "n"))
		if make != "%s" {
			wrap = strings.TrimSuffix(make, "(%s)")
		}
		ranges := n.embed(strings.TrimSuffix(suffix, "Elements")+unit, fmt.Sprintf("%s[%s]", n.query(unit), result))
		fields += "; " + ranges
		values += fmt.Sprintf(", %s(at, %s)", n.impl(unit), wrap)
	}
	n.p("// %s goes on with %s.", typ, src.Text)
	n.p("type %s struct { at %s[%s]; %s }\n", typ, n.query("Node"), n.model, fields)
	ctor := n.declare("new" + typ)
	n.p("func %s(at %s[%s]) %s {\nreturn %s{at, %s}\n}\n", ctor, n.query("Node"), n.model, typ, typ, values)
	method := identifier(n.sourceName(src))
	if n.method(typ, method, "the placeholder "+src.Text, l.it.Decl) {
		param, arg := n.argument(src, f.Value, new([]string))
		after := levelAt(l.it, l.parts+1)
		next, makeNext := n.level(typ+method, after)
		n.p("// %s narrows to one %s.", method, src.Text)
		n.p("func (n %s) %s(%s) %s {\nreturn %s\n}\n", typ, method, param, next,
			fmt.Sprintf(makeNext, fmt.Sprintf("%s(n.at, %d, %s)", n.impl("Next"), after.parts, arg)))
	}
	return typ, ctor + "(%s)"
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

// only reports whether no items but elements of its type lie at a level. The placeholders
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
