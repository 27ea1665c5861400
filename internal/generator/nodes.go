package generator

import (
	"cmp"
	"fmt"
	"go/token"
	"slices"
	"strings"

	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
)

// nodeWriter makes a model's nodes: the key functions, and the methods that lead from a
// key to its items.
type nodeWriter struct {
	g *generator
	w *writer
	m *Model
	e *schema.Entity
	// types are the nodes' types, in the order in which they are written.
	types []*nodeType
	// alias has the names of bases by their definition, and bases has their code.
	alias map[string]string
	bases []code
	// ranges are the methods of bases that select a range, by the name of the base.
	ranges map[string][]string
}

// result is the result of a node's method.
type result struct {
	typ code
	// make returns the expression that makes it of a *query.Node.
	make func(at code) code
	// base is the type that a type of the file embeds in order to extend it.
	base func() base
	// based reports that typ is a pointer to the type of base.
	based bool
	// node is the type of the file that typ points to, nil for a type of the library.
	node *nodeType
	// query reports that it has the methods of a query.
	query bool
}

// nodeType is a type that the file declares for a node.
type nodeType struct {
	name, doc string
	bases     []base
	methods   []*nodeMethod
	taken     map[string]string
	// at is the level that it is of, if any.
	at level
	// constructor is the function that makes it, nil where a literal does.
	constructor code
}

type nodeMethod struct {
	name, doc string
	params    code
	result    result
	body      code
}

// nodes writes a model's nodes.
func (g *generator) nodes(w *writer, m *Model) {
	n := &nodeWriter{g: g, w: w, m: m, e: m.Schema, alias: map[string]string{}, ranges: map[string][]string{}}
	n.keyType()
	n.lookups()
	n.indexes()
	for _, t := range n.types {
		n.write(t)
	}
	for _, b := range n.bases {
		w.write(b)
	}
}

// write writes a type, and its methods.
func (n *nodeWriter) write(t *nodeType) {
	n.w.comment(t.doc)
	if len(t.bases) == 1 {
		n.w.p("type ", t.name, " struct{ ", t.bases[0].embedded(), " }\n")
	} else {
		n.w.p("type ", t.name, " struct {")
		for _, b := range t.bases {
			n.w.p(b.embedded())
		}
		n.w.p("}\n")
	}
	if t.constructor != nil {
		n.w.p(t.constructor)
	}
	for _, m := range t.methods {
		n.w.comment(m.doc + m.result.about())
		n.w.p(function{code{"func (n *", t.name, ") ", m.name}, m.params, m.result.typ, code{"return ", m.body}}, "\n")
	}
}

// self is the node of a value n of a type.
func (t *nodeType) self() code { return code{"n." + t.bases[0].node} }

// made is the result of a method that returns a type of the file.
func (n *nodeWriter) made(t *nodeType) result {
	literal := func(at code) code {
		all := make([]any, len(t.bases))
		for i, b := range t.bases {
			all[i] = b.make(at)
		}
		return code{"&", t.name, "{", list(all...), "}"}
	}
	typ := code{"*", t.name}
	if len(t.bases) == 1 {
		return result{typ: typ, make: literal, node: t}
	}
	name := n.g.names.declare("new" + upperFirst(t.name))
	body := code{"return ", literal(code{"at"})}
	t.constructor = code{function{code{"func ", name}, code{"at ", n.nodeBase().embedded()}, typ, body}, "\n"}
	return result{typ: typ, make: func(at code) code { return call(name, at) }, node: t}
}

// about describes the methods of a result, whose type is not exported: go doc does not show them.
func (r result) about() string {
	var has, narrow []string
	if r.node != nil {
		for _, b := range r.node.bases {
			has, narrow = append(has, b.adds...), append(narrow, b.ranges...)
		}
		for _, m := range r.node.methods {
			if m.name == "Add" {
				has = append(has, m.name)
			} else {
				narrow = append(narrow, m.name)
			}
		}
	}
	if r.query {
		has = append(has, "the methods of a query")
	}
	text := ""
	if len(has) > 0 {
		text = " It has " + enumerated(has, "and") + "."
	}
	if len(narrow) > 0 {
		text += " Narrow it by " + enumerated(narrow, "or") + "."
	}
	return text
}

// enumerated joins words by commas, and the last one by a word.
func enumerated(words []string, last string) string {
	end := len(words) - 1
	if end == 0 {
		return words[0]
	}
	return strings.Join(words[:end], ", ") + " " + last + " " + words[end]
}

func (n *nodeWriter) model() code { return code{goType(n.e.Type)} }

func (n *nodeWriter) plain() result {
	typ := code{"*", of(queryOf("Node"), n.model())}
	return result{typ: typ, make: func(at code) code { return at }, base: n.nodeBase}
}

// elements is a selection of elements of a type, and a query over them.
func (n *nodeWriter) elements(elem *schema.Type) result {
	b := n.elementsBase(typeWord(goType(elem)), goType(elem))
	return result{
		typ:  code{"*", n.elementsType(goType(elem))},
		make: func(at code) code { return b.make(at)[1:] },
		base: func() base { return b }, based: true,
	}
}

// query returns a query over elements, or entities, that is no selection. more are its additional
// methods.
func (n *nodeWriter) query(word string, elem any, more ...string) result {
	args := list(n.model(), elem)
	return result{
		typ:  code{"*", of(queryOf("Query"), args)},
		make: func(at code) code { return call(of(queryOf("Of"), elem), at) },
		base: func() base { return n.queryBase(word, elem, more...) },
	}
}

// itemResult is the node of an item of fields, or of an element, that a function makes.
func (n *nodeWriter) itemResult(function string, it *schema.Item, record any) result {
	types := list(n.model(), record)
	return result{
		typ:  code{"*", of(mapperOf("ItemNode"), n.model(), code{"*", record})},
		make: func(at code) code { return call(of(impl(function), types), at, it.Index) },
	}
}

// declare begins a type of the file. Its comment is the name, and what it is.
func (n *nodeWriter) declare(name, what string) *nodeType {
	t := &nodeType{name: name, doc: name + " " + what, taken: map[string]string{}}
	n.types = append(n.types, t)
	return t
}

// global takes a name of the package, or reports that it is taken.
func (n *nodeWriter) global(name, what string) string {
	n.g.global(n.m, name, what)
	return name
}

// method adds a method to a type, or reports that its name is taken.
func (n *nodeWriter) method(t *nodeType, m *nodeMethod, from string, field *schema.Field) {
	cure := "add name=Word to its field"
	switch {
	case strings.HasPrefix(from, "the segment"):
		cure = "add _ struct{} `ddb:\"prefix=SEGMENT,name=Word\"`"
	case strings.HasPrefix(from, "the placeholder"):
		cure = "add name=Word to the field that it names"
	case strings.HasPrefix(from, "the index"):
		cure = "add name=Word to its declaration"
	case strings.HasPrefix(from, "one="):
		cure = "write another word in one="
	}
	report := func(format string, args ...any) {
		n.report(field, fmt.Sprintf("%s: %s: %s", n.e.Label(), fmt.Sprintf(format, args...), cure))
	}
	switch other, ok := t.taken[m.name]; {
	case m.name == "":
		report("%s does not make a name of a method", from)
	case slices.Contains(schema.QueryMethods, m.name):
		report("%s would have the method %s, which every query has", from, m.name)
	case slices.Contains(schema.NodeMethods, m.name):
		report("%s would have the method %s, which all nodes have", from, m.name)
	case ok:
		report("%s and %s would both have the method %s", other, from, m.name)
	default:
		t.taken[m.name] = from
		t.methods = append(t.methods, m)
	}
}

func (n *nodeWriter) report(field *schema.Field, message string) {
	pos := n.m.named.Obj().Pos()
	end := pos + token.Pos(len(n.m.Name))
	if field != nil {
		pos, end = n.g.p.find.place(field, 0, 0)
	}
	n.g.report(pos, end, message)
}

// argument returns the parameter and the argument of a placeholder.
func (n *nodeWriter) argument(src schema.Source, kind key.Kind, remaining *[]string) (param, arg code) {
	p := n.g.names.parameter(sourceName(src), remaining)
	return code{p, " ", goType(src.Value.Type)}, keyValue(src.Value.Type, kind, p)
}

// sourceName returns the name of a placeholder: name= of its field, the field, Key for a map's key, Value for a scalar
// element.
func sourceName(src schema.Source) string {
	switch src.From {
	case schema.FromMapKey:
		return "Key"
	case schema.FromSelf:
		return "Value"
	}
	return valueName(src.Value)
}

func valueName(v schema.Value) string {
	return cmp.Or(v.Word, v.Name[strings.LastIndexByte(v.Name, '.')+1:])
}

// arguments returns the parameters and arguments of several placeholders.
func (n *nodeWriter) arguments(k *schema.Key, sources []int) (params, args []any) {
	var taken []string
	for _, i := range sources {
		p, a := n.argument(k.Sources[i], k.Format(i).Value, &taken)
		params, args = append(params, p), append(args, a)
	}
	return params, args
}

// keyType makes the functions that make a key, and its type with all that hangs on it.
func (n *nodeWriter) keyType() {
	typ := n.global(n.m.Name+"Key", "type")
	var names []string
	var params, args []any
	var taken []string
	for i, o := range n.e.KeyFields[:n.e.Identities()] {
		names = append(names, n.keyWord(valueName(o.Value)))
		p, a := n.argument(schema.Source{From: schema.FromModel, Value: o.Value}, keyFieldKind(n.e, i), &taken)
		params, args = append(params, p), append(args, a)
	}
	fn := n.global(n.m.Name+"By"+strings.Join(names, ""), "function")
	keys := "partition key " + n.e.PK.Text
	if n.e.Flat {
		keys = "keys " + n.e.PK.Text + " and " + n.e.Root.Key.Text
	}
	n.w.comment(fmt.Sprintf("%s selects the %s with the %s.", fn, n.m.Name, keys))
	n.w.p("func ", fn, "(", list(params...), ") *", typ, " {")
	n.w.p("return &", typ, "{", call(of(impl("Entity"), n.model()), args...), "}\n}\n")
	t := n.declare(typ, fmt.Sprintf("is the key of one %s. Its methods select parts of it.", n.m.Name))
	t.bases = []base{n.nodeBase()}
	self := t.self()
	t.methods = append(t.methods, &nodeMethod{
		name: "Patch", doc: "Patch changes fields of the entity. Each change and each condition is sent to the item " +
			"of its field.",
		params: code{"changes ...", of(fieldOf("Change"), n.model())},
		result: result{typ: code{"*", of(mapperOf("ItemPatch"), n.model(), code{"*", n.model()})}},
		body:   call(impl("Patch"), self, "changes"),
	})
	n.item(t, self, n.e.Root) // first: no other node can have its name
	if n.e.Flat {
		n.flatQuery(params, args, names)
	} else {
		for _, s := range n.tree() {
			n.segment(t, self, s)
		}
	}
	for _, table := range n.e.Tables[1:] {
		m := &nodeMethod{
			name: table.Word,
			doc:  fmt.Sprintf("%s selects the part in the table %s.", table.Word, table.Name),
		}
		m.result, m.body = n.plain(), call(impl("Table"), self, table.Index)
		if it := n.alone(table); it != nil {
			m.result = n.fixedItem(it, true)
			m.body = m.result.make(call(impl("Items"), self, it.Index, 0))
		}
		n.method(t, m, "the table "+table.Name, table.Field)
	}
	for _, it := range n.e.Items {
		if it != n.e.Root {
			n.item(t, self, it)
		}
	}
}

// keyWord is a key field's name in that of the key's function: of several fields without the ID at its
// end, unless two would be alike then.
func (n *nodeWriter) keyWord(name string) string {
	short := func(s string) string { return cmp.Or(strings.TrimSuffix(identifier(s), "ID"), identifier(s)) }
	all := n.e.KeyFields[:n.e.Identities()]
	alike := 0
	for _, o := range all {
		if short(valueName(o.Value)) == short(name) {
			alike++
		}
	}
	if len(all) == 1 || alike > 1 {
		return identifier(name)
	}
	return short(name)
}

// alone returns the one item of a table without a sort key, nil for other tables.
func (n *nodeWriter) alone(t *schema.Table) *schema.Item {
	if all := n.in(t); t.Range == "" && len(all) == 1 {
		return all[0]
	}
	return nil
}

// item makes the method of an item on the key, and the levels behind it.
func (n *nodeWriter) item(t *nodeType, self code, it *schema.Item) {
	l, before := behind(it)
	if !it.Element() {
		l, before = level{it, len(partsOf(it)), -1}, nil
		for i := range sourcesOf(it) {
			before = append(before, i)
		}
	}
	before = slices.DeleteFunc(before, func(i int) bool { return n.isInKey(it.Key.Sources[i]) })
	name := n.itemName(it)
	if it.MethodName == "" && it.Table.Index > 0 && n.alone(it.Table) == it {
		return // the table selects just that
	}
	var params, args []any
	if len(before) > 0 {
		params, args = n.arguments(it.Key, before)
	}
	at := call(impl("Items"), append([]any{self, it.Index, l.parts}, args...)...)
	m := &nodeMethod{name: name, doc: fmt.Sprintf("%s selects %s.", name, templateText(it)), params: list(params...)}
	if it == n.e.Root {
		m.doc = fmt.Sprintf("Root selects the root item, %s.", templateText(it))
	}
	if it.Element() {
		m.doc += n.whyNoAdd(it)
		m.result = n.level(t.name+name, l, len(before) == 0 && n.addable(it))
	} else {
		m.result = n.fixedItem(it, len(before) == 0)
	}
	m.body = m.result.make(at)
	n.method(t, m, "the item "+it.Name, it.Decl)
	if it.OneName != "" {
		n.one(t, self, it)
	}
	if it.Element() && len(before) > 0 && n.addable(it) {
		n.method(t, n.adder("Add"+name, self, it), "the item "+it.Name, it.Decl)
	}
}

// one makes the method that selects one element by its whole key.
func (n *nodeWriter) one(t *nodeType, self code, it *schema.Item) {
	var all []int
	for i, src := range it.Key.Sources {
		if !n.isInKey(src) {
			all = append(all, i)
		}
	}
	params, args := n.arguments(it.Key, all)
	parts := len(partsOf(it))
	at := call(impl("Items"), append([]any{self, it.Index, parts}, args...)...)
	m := &nodeMethod{
		name: it.OneName, doc: fmt.Sprintf("%s selects one %s.", it.OneName, templateText(it)),
		params: list(params...),
	}
	m.result = n.level(t.name+it.OneName, level{it, parts, -1}, false)
	m.body = m.result.make(at)
	n.method(t, m, "one= of "+it.Name, it.Decl)
}

// fixedItem is the node of an item that is no element.
func (n *nodeWriter) fixedItem(it *schema.Item, inKey bool) result {
	switch {
	case !inKey:
		return n.plain()
	case it.Field != nil:
		return n.itemResult("Item", it, goType(deref(it.Field.Type)))
	}
	return n.itemResult("Item", it, n.model())
}

// addable reports whether a patch knows all that an element needs.
func (n *nodeWriter) addable(it *schema.Item) bool { return n.whyNoAdd(it) == "" }

// whyNoAdd returns the sentence of a node's comment that explains why it has no Add and no Put, empty if it has them.
func (n *nodeWriter) whyNoAdd(it *schema.Item) string {
	for _, src := range it.Key.Sources {
		if src.From == schema.FromModel && !n.isInKey(src) {
			return fmt.Sprintf(" Use Update to add one: its key names %s, which a patch does not read.", src.Text)
		}
	}
	return ""
}

// adder is a method that adds an element, of a node that is no query.
func (n *nodeWriter) adder(name string, at code, it *schema.Item) *nodeMethod {
	m := &nodeMethod{
		name: name, doc: name + " returns a patch that adds an element. Its error is mapper.ErrExists if the element " +
			"exists.",
		params: code{"v ", goType(it.Elem)},
	}
	key := "nil"
	if it.Map() {
		m.params, key = code{"k ", goType(it.Field.Type.Key), ", v ", goType(it.Elem)}, "k"
	}
	m.result = result{typ: code{"*", of(mapperOf("Patch"), n.model())}}
	m.body = call(impl("Add"), at, it.Index, key, "&v")
	return m
}

// itemName returns the name of an item's method: Root, the text of name=, the field of elements, or the last literal
// segment of the item's key. It does not depend on the fields of the item.
func (n *nodeWriter) itemName(it *schema.Item) string {
	switch {
	case it == n.e.Root:
		return schema.RootMethod
	case it.MethodName != "":
		return it.MethodName
	case it.Element():
		return it.Field.Name[strings.LastIndexByte(it.Field.Name, '.')+1:]
	case it.Key == nil:
		return it.Table.Word
	}
	segments := strings.FieldsFunc(it.Key.Text, func(r rune) bool { return r == rune(n.e.Delim) })
	for _, s := range slices.Backward(segments) {
		if !strings.ContainsAny(s, "{}") {
			return schema.MixedCaps(s)
		}
	}
	return ""
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

// isInKey reports whether the entity's key gives a placeholder already.
func (n *nodeWriter) isInKey(src schema.Source) bool {
	return src.From == schema.FromModel && n.e.KeyFields[src.KeyField].Identity
}
