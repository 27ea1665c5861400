package generator

import (
	"slices"

	"github.com/itemize/itemize/internal/model/schema"
)

// base is a type of the file with methods that several nodes have: they embed it. It has methods of its
// own, and no embedded type of the library, so that go doc shows them on each node.
type base struct {
	// name is its name, and pointer reports that its pointer is embedded. Its methods have pointer receivers, as
	// those of all generated types, because the compiler compiles a method of a value for the pointer too.
	name    string
	pointer bool
	// field is its declaration in a type that embeds it, nil for that of the name.
	field code
	// make returns the expression that makes it of a node.
	make func(at code) code
	// node is where it has that, "" if no other code can use it there.
	node string
	// query reports that it has the methods of a query.
	query bool
	// ranges are its methods that select a range, and adds those that return a patch.
	ranges, adds []string
}

func (b base) embedded() code {
	switch {
	case b.field != nil:
		return b.field
	case b.pointer:
		return code{"*", b.name}
	}
	return code{b.name}
}

// basesOf returns the bases of a type: with the node, if the first one has none.
func (n *nodeWriter) basesOf(all ...base) []base {
	if all[0].node == "" {
		return slices.Insert(all, 0, n.nodeField())
	}
	return all
}

// baseOf returns the base with a name's suffix and an identity, which write writes at its first use.
func (n *nodeWriter) baseOf(suffix string, identity code, write func(name string) code) string {
	wanted := lowerFirst(n.m.Name) + suffix
	text := wanted + " " + n.w.text(identity)
	if name, ok := n.alias[text]; ok {
		return name
	}
	name := n.g.names.declare(wanted)
	n.alias[text] = name
	n.bases = append(n.bases, write(name))
	return name
}

// nodeBase is the base of a node that is a selection and nothing else.
func (n *nodeWriter) nodeBase() base {
	node := of(queryOf("Node"), n.model())
	name := n.baseOf("Node", node, func(name string) code {
		return code{"type ", name, " = ", node, "\n\n"}
	})
	return base{name: name, pointer: true, make: func(at code) code { return at }, node: name}
}

// method is a method of a base.
type method struct {
	name, doc            string
	params, result, body code
}

// on returns its declaration, on a type.
func (m method) on(typ string) code {
	return code{
		comment(m.name + " " + m.doc),
		function{code{"func (n *", typ, ") ", m.name}, m.params, m.result, m.body},
		"\n\n",
	}
}

// sends returns the sentences about the requests of a query.
func (n *nodeWriter) sends(word string, more []string) string {
	switch {
	case !slices.Contains(more, "Fetch") && word == "Entities":
		return "It sends a Query for each MB, and loads entities whose items are not adjacent."
	case !slices.Contains(more, "Fetch"):
		return "It sends a Query for each MB, and reads the root item if the elements may be leftover items."
	case word == "Entities":
		return "It sends a Query of the index for each MB. Fields that the index lacks are zero."
	}
	return "It sends a Query of the index for each MB, and then reads the root items of the elements. Fields that " +
		"the " +
		"index lacks are zero."
}

// fetches describes the method Fetch.
func (n *nodeWriter) fetches(word string) string {
	if word == "Entities" && len(n.e.Items) > 1 {
		return "returns the query that loads each entity that the index finds, in at least one request each."
	}
	return "returns the query that also reads, from the table, the attributes that the index does not project."
}

// nodeField is a field with the node of a type whose other bases have none that the type can use.
func (n *nodeWriter) nodeField() base {
	node := n.nodeBase()
	return base{name: "at " + node.name, field: code{"at ", node.embedded()}, make: node.make, node: "at"}
}

// elementsType is the type of the library of a selection of elements of a type, with the methods of a query.
func (n *nodeWriter) elementsType(elem any) code { return of(queryOf("Elements"), n.model(), elem) }

// elementsBase is the base of a selection of elements of a type.
func (n *nodeWriter) elementsBase(word string, elem any) base {
	typ := n.elementsType(elem)
	name := n.baseOf(word+"Query", typ, func(name string) code { return code{"type ", name, " = ", typ, "\n\n"} })
	return base{name: name, query: true, make: func(at code) code {
		return code{"*", call(of(impl("Elements"), elem), at)}
	}}
}

// queryBase returns the base of a query over elements, or entities, of a type, which is no selection: of an index or of
// a flat model.
func (n *nodeWriter) queryBase(word string, elem any, more ...string) base {
	node := n.nodeBase()
	args := list(n.model(), elem)
	query := code{"*", of(queryOf("Query"), args)}
	suffix := word + "IndexQuery"
	if !slices.Contains(more, "Fetch") {
		suffix = word + "FlatQuery"
	}
	name := n.baseOf(suffix, list(query, len(more)), func(name string) code {
		all := code{"type ", name, " struct{ at ", node.embedded(), " }\n\n"}
		all = append(all, method{
			"Query", "returns the query, which has more methods than these.", nil, query,
			code{"return ", call(of(queryOf("Of"), elem), "n.at")},
		}.on(name))
		source := code{"src ", of(queryOf("Source"), n.model())}
		options := code{"options ...", queryOf("ReadOption")}
		run := list(code{"ctx ", std("context", "Context")}, source, options)
		sequence := func(of code) code { return code{std("iter", "Seq2"), "[", of, ", error]"} }
		forward := func(to, doc string, params, result code, passed string) {
			all = append(all, method{to, doc, params, result, code{"return n.Query().", to, "(", passed, ")"}}.on(name))
		}
		e := code{elem}
		forward("All", "yields the elements in order of their sort keys. It reads a page when the loop needs it. "+
			n.sends(word, more), run, sequence(e), "ctx, src, options...")
		forward("Refs", "yields what All does, with the field and the keys of each element.", run,
			sequence(of(queryOf("Ref"), e)),
			"ctx, src, options...")
		forward("Collect", "returns all elements in order of their sort keys. "+n.sends(word, more), run,
			code{"([]", e, ", error)"}, "ctx, src, options...")
		forward("Page", "returns the next elements: the number that Limit sets, or those of one answer of DynamoDB.",
			run,
			code{"(*", of(queryOf("Page"), e), ", error)"}, "ctx, src, options...")
		forward("Count", "returns the number of elements. It costs as much as reading them.", run, code{"(int, error)"},
			"ctx, src, options...")
		forward("Plan", "returns the query's requests and their cost. It sends nothing.", list(source, options),
			code{"(*", queryOf("Plan"), ", error)"}, "src, options...")
		forward("Filter", "returns the query of the elements that meet all conditions. DynamoDB also charges for the "+
			"elements that it filters out.", code{"conditions ...", of(fieldOf("Condition"), e)}, query,
			"conditions...")
		forward("Project", "returns the query that reads only these fields. It saves transfer, but no RCU.",
			code{"fields ...", of(fieldOf("Of"), e)}, query, "fields...")
		forward("Limit", "returns the query of the first elements. For Page it is the size of a page.",
			code{"first int"}, query,
			"first")
		forward("Reverse", "returns the query in descending order of the sort keys.", nil, query, "")
		forward("After", "returns the query that continues after a page, at its Next.",
			code{"page ", queryOf("Cursor")}, query, "page")
		for _, m := range more {
			switch m {
			case "Fetch":
				forward("Fetch", n.fetches(word), nil, query, "")
			case "Roots":
				forward("Roots", "returns the query that reads only the root item of each entity.", nil, query, "")
			}
		}
		return all
	})
	return base{
		name: name, query: true, node: "at", make: func(at code) code { return code{name, "{", at, "}"} },
	}
}

// itemsBase is the base of the elements of an item with the methods that add some.
func (n *nodeWriter) itemsBase(it *schema.Item) base {
	kind := code{}
	if it.Map() {
		kind = code{goType(it.Field.Type.Key)}
	}
	name := n.baseOf(n.word(it)+"Items", list(goType(it.Elem), kind), func(name string) code {
		all := code{"type ", name, " struct {\nbase ", n.nodeBase().embedded(), "\nitem int\n}\n\n"}
		params, key := code{"element ", goType(it.Elem)}, "nil"
		if it.Map() {
			params, key = code{"k ", kind, ", element ", goType(it.Elem)}, "k"
		}
		patch := code{"*", of(mapperOf("Patch"), n.model())}
		put := func(how, doc string) {
			all = append(all,
				method{
					how, doc, params, patch,
					code{"return ", call(impl(how), "n.base", "n.item", key, "&element")},
				}.on(name))
		}
		put("Add", "returns a patch that adds an element. Its error is mapper.ErrExists if the element exists.")
		put("Put", "returns a patch that adds or replaces an element.")
		if it.Map() {
			all = append(all, method{
				"Map", "reads the whole map.",
				list(code{"ctx ", std("context", "Context")}, code{"src ", of(queryOf("Source"), n.model())},
					code{"options ...", queryOf("ReadOption")}),
				code{"(all map[", kind, "]", goType(it.Elem), ", err error)"},
				code{
					"err = ", call(impl("Entries"), "ctx", "n.base", "src", "options", "&all"),
					"\nreturn all, err",
				},
			}.on(name))
		}
		return all
	})
	b := base{name: name, node: "base", adds: []string{"Add", "Put"}}
	b.make = func(at code) code { return code{name, "{", at, ", ", it.Index, "}"} }
	if it.Map() {
		b.adds = append(b.adds, "Map")
	}
	return b
}

// word returns the name of an item's elements in the names of types.
func (n *nodeWriter) word(it *schema.Item) string { return typeWord(goType(it.Elem)) }

// narrowing is the base of the ranges of a time or a value: each of its methods returns part, made of
// the node that a call of package mapperimpl returns.
func (n *nodeWriter) narrowing(suffix string, part result, identity code,
	methods func(name string, add func(name, doc string, params, made code)) (more code),
) base {
	node := n.nodeBase().embedded()
	name := n.baseOf(suffix, list(part.typ, identity), func(name string) code {
		all := code{"type ", name, " struct{ base ", node, " }\n\n"}
		more := methods(name, func(to, doc string, params, made code) {
			n.ranges[name] = append(n.ranges[name], to)
			all = append(all, method{to, doc, params, part.typ, code{"return ", part.make(made)}}.on(name))
		})
		return append(all, more)
	})
	return base{
		name: name, make: func(at code) code { return code{name, "{", at, "}"} }, node: "base",
		ranges: n.ranges[name],
	}
}

// timeBase is the base of the ranges of a time's format, by the name that rangeOf returns.
func (n *nodeWriter) timeBase(word, unit string, part result) base {
	return n.narrowing(word+unit, part, nil, func(name string, add func(name, doc string, params, made code)) code {
		month, moment := std("time", "Month"), std("time", "Time")
		in := code{", in ...*", std("time", "Location")}
		const utc = ", in UTC or a location."
		add("Year", "selects the items of a year"+utc, code{"year int", in},
			call(impl("Period"), "n.base", "in", "year"))
		if slices.Contains([]string{"Months", "Days", "Hours"}, unit) {
			add("Month", "selects the items of a month"+utc, code{"year int, month ", month, in},
				call(impl("Period"), "n.base", "in", "year", "int(month)"))
		}
		if unit == "Days" || unit == "Hours" {
			add("Day", "selects the items of a day"+utc, code{"year int, month ", month, ", day int", in},
				call(impl("Period"), "n.base", "in", "year", "int(month)", "day"))
		}
		if unit == "Hours" {
			add("Hour", "selects the items of an hour"+utc, code{"year int, month ", month, ", day, hour int", in},
				call(impl("Period"), "n.base", "in", "year", "int(month)", "day", "hour"))
		}
		if unit == "Weeks" {
			add("Week", "selects the items of an ISO 8601 week, which begins on Monday"+utc, code{"year, week int", in},
				call(impl("Week"), "n.base", "in", "year", "week"))
		}
		add("Between", "selects the items from one time to another; the second is not included.",
			code{"from, to ", moment}, call(impl("Times"), "n.base", "&from", "&to"))
		add("Before", "selects the items before a time.", code{"to ", moment},
			call(impl("Times"), "n.base", "nil", "&to"))
		since := n.g.names.declare(name + "Since")
		// The methods of a pointer would be compiled for a value of the outer type too.
		var embedded string
		if part.based {
			embedded = part.base().name
		} else {
			embedded = n.baseOf(word+"Queries", part.typ, func(name string) code {
				return code{"type ", name, " = ", part.typ[1:], "\n\n"}
			})
		}
		n.ranges[name] = append(n.ranges[name], "Since")
		return code{
			method{
				"Since", "selects the items at a time or later.",
				code{"from ", moment},
				code{"*", since},
				code{
					"return &", since, "{*", part.make(call(impl("Times"), "n.base", "&from", "nil")), ", n, from}",
				},
			}.on(name),
			comment(since + " has the items at a time or later. Its methods are those of a query, and Before."),
			"type ", since, " struct {\n", embedded, "\ntimes *", name, "\nfrom ", moment, "\n}\n\n",
			method{
				"Before", "selects those before another time.",
				code{"to ", moment},
				part.typ,
				code{"return n.times.Between(n.from, to)"},
			}.on(since),
		}
	})
}

// rangesOf adds the methods of the ranges of a placeholder to a node, as far as it has any. They return part.
func (n *nodeWriter) rangesOf(t *nodeType, word string, k *schema.Key, source int, part func() result) {
	f := k.Format(source)
	switch unit := rangeOf(f); {
	case unit != "":
		t.bases = append(t.bases, n.timeBase(word, unit, part()))
	case k.Ordered(source):
		t.bases = append(t.bases, n.valueBase(word, k, source, part()))
	case k.Begins(source):
		r := part()
		t.methods = append(t.methods, &nodeMethod{
			name: "BeginsWith", doc: "BeginsWith " + beginning, params: code{"begin string"},
			result: r, body: r.make(call(impl("BeginsWith"), t.self(), "begin")),
		})
	}
}

// beginning is the documentation of BeginsWith.
const beginning = "selects the items whose text has the given beginning."

// hasRanges reports whether rangesOf adds any.
func hasRanges(k *schema.Key, source int) bool {
	return rangeOf(k.Format(source)) != "" || k.Ordered(source) || k.Begins(source)
}

// valueBase is the base of the ranges of a value in a key.
func (n *nodeWriter) valueBase(word string, k *schema.Key, source int, part result) base {
	t, kind := k.Sources[source].Value.Type, k.Format(source).Value
	typ := code{goType(t)}
	suffix := word + typeWord(goType(t)) + "Values"
	return n.narrowing(suffix, part, typ, func(_ string, add func(name, doc string, params, made code)) code {
		value := func(x string) code { return keyValue(t, kind, x) }
		add("Between", "selects the items from one value to another, both included.", code{"from, to ", typ},
			call(impl("Between"), "n.base", value("from"), value("to")))
		add("AtLeast", "selects the items at a value or above it.", code{"from ", typ},
			call(impl("AtLeast"), "n.base", value("from")))
		add("AtMost", "selects the items at a value or below it.", code{"to ", typ},
			call(impl("AtMost"), "n.base", value("to")))
		if k.Begins(source) {
			add("BeginsWith", beginning, code{"begin string"}, call(impl("BeginsWith"), "n.base", "begin"))
		}
		return nil
	})
}
