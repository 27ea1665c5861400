package generator

import (
	"fmt"
	"strings"

	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
)

// indexes writes the functions that query the model's secondary indexes, and the types of their
// results.
func (n *nodeWriter) indexes() {
	var all []*schema.Entry
	for _, x := range n.e.Indexes {
		all = append(all, x.Entries...)
	}
	taken := map[string]bool{n.keyFunction(): true, n.partitionFunction(): true}
	for _, e := range all { // one that is declared later renames none of those before
		name := n.indexName(e, false)
		if e.Name == "" && taken[name] {
			name = n.indexName(e, true)
		}
		taken[name] = true
		n.index(e, name)
	}
}

// keyFunction is the name of the function that makes a key, and partitionFunction that of the query
// over a partition of a flat model.
func (n *nodeWriter) keyFunction() string { return n.m.Name + "By" + n.keyWords(n.e.Identities()) }

func (n *nodeWriter) partitionFunction() string {
	return n.m.Name + "By" + n.keyWords(n.e.PartitionFields())
}

func (n *nodeWriter) keyWords(count int) string {
	text := ""
	for _, o := range n.e.KeyFields[:count] {
		text += n.keyWord(valueName(o.Value))
	}
	return text
}

// indexName returns the name of an index's function: the model's name, followed by the text of name=,
// or by the placeholders of the partition key. If that is not unique, the placeholders of the sort key
// follow.
func (n *nodeWriter) indexName(e *schema.Entry, more bool) string {
	name := n.m.Name
	if e.Item != n.e.Root {
		name += n.itemName(e.Item)
	}
	if e.Name != "" {
		return n.m.Name + e.Name
	}
	keys := e.Hash
	if more {
		keys = e.Keys()
	}
	words := ""
	for _, k := range keys {
		for _, src := range k.Sources {
			words += identifier(sourceName(src))
		}
	}
	if words == "" {
		words = identifier(e.Index.Name)
		if by := strings.TrimPrefix(words, "By"); by != "" {
			words = by
		}
	}
	return name + "By" + words
}

// index writes the function that queries an index.
func (n *nodeWriter) index(e *schema.Entry, name string) {
	if at := n.g.names.owner(name, constraints(n.g.fileOf(n.m))); at != "" {
		n.report(e.Field, fmt.Sprintf("%s: the package declares %[3]s%[4]salready, the function of the index %[2]s: "+
			"add name=Word to its declaration", n.e.Label(), e.Index.Name, name, at))
		return
	}
	n.global(name, "function")
	var params, args []any
	var taken []string
	for _, k := range e.Hash {
		for i, src := range k.Sources {
			p, a := n.argument(src, k.Format(i).Value, &taken)
			params, args = append(params, p), append(args, a)
		}
	}
	at := sortLevel(e, 0)
	r := n.indexLevel(name+"Query", at)
	what := "the " + n.m.Name + " entities"
	if e.Item != n.e.Root {
		what = e.Item.Name + " of the " + n.m.Name + " entities"
	}
	var texts []string
	for _, k := range e.Hash {
		texts = append(texts, k.Text)
	}
	doc := fmt.Sprintf("%s queries the index %s for %s with the partition key %s.", name, e.Index.Name, what,
		strings.Join(texts, ";"))
	doc += " It returns " + n.projected(e) + "."
	if e.Index.Local {
		doc += " A partition of a table with local indexes has at most 10 GB, including the indexes."
	}
	n.w.comment(doc + r.about())
	n.w.p("func ", name, "(", list(params...), ") ", r.typ, " {")
	node := call(of(impl("Index"), n.model()), append([]any{e.Index.Number, e.Item.Index, at.parts}, args...)...)
	n.w.p("return ", r.make(node), "\n}\n")
}

// projected describes the fields that a query of an index returns.
func (n *nodeWriter) projected(e *schema.Entry) string {
	var has, lacks []string
	for _, a := range e.Item.Attributes {
		if e.Index.Projects(a.Name) || e.Reads(a) {
			has = append(has, a.Value.Name)
		} else {
			lacks = append(lacks, a.Value.Name)
		}
	}
	switch {
	case len(lacks) == 0:
		return "all fields of the item " + e.Item.Name
	case len(has) == 0:
		return "the fields of the keys, and with Fetch all"
	}
	return "the fields " + strings.Join(has, ", ") + " and those of the keys, and with Fetch all"
}

// inSort is a place in the sort key of an index: so many parts of its templates are given. key and
// source are the placeholder that follows, nil at the end.
type inSort struct {
	e      *schema.Entry
	parts  int
	key    *schema.IndexKey
	source int
}

// sortLevel returns the level with parts given, and the literals that follow them.
func sortLevel(e *schema.Entry, parts int) inSort {
	seen := 0
	for _, k := range e.Range {
		source := 0
		for _, p := range k.Template.Parts {
			switch {
			case p.Format.Kind == key.Literal:
				if seen == parts {
					parts++
				}
			case seen >= parts:
				return inSort{e, parts, k, source}
			default:
				source++
			}
			seen++
		}
	}
	return inSort{e, parts, nil, 0}
}

// indexLevel makes the type of a query at a level of an index's sort key.
func (n *nodeWriter) indexLevel(name string, l inSort) result {
	word, elem, more := "Entities", n.model(), []string{"Fetch"}
	if l.e.Item.Element() {
		word, elem = n.word(l.e.Item), code{goType(l.e.Item.Elem)}
	}
	q := n.query(word, elem, more...)
	if l.key == nil {
		return q
	}
	src, f := l.key.Sources[l.source], l.key.Format(l.source)
	t := n.declare(n.g.names.declare(lowerFirst(name)), fmt.Sprintf("is a query that can be narrowed by %s.", src.Text))
	t.bases = []base{q.base()}
	n.rangesOf(t, word, l.key.Key, l.source, func() result { return q })
	made := n.made(t)
	after := sortLevel(l.e, l.parts+1)
	method := identifier(sourceName(src))
	param, arg := n.argument(src, f.Value, new([]string))
	m := &nodeMethod{name: method, doc: fmt.Sprintf("%s narrows the query to one %s.", method, src.Text), params: param}
	m.result = n.indexLevel(name+method, after)
	m.body = m.result.make(call(impl("Next"), t.self(), after.parts, arg))
	n.method(t, m, "the placeholder "+src.Text+" of the index "+l.e.Index.Name, l.e.Field)
	return made
}
