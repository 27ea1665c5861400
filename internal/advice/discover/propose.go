package discover

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/cost/forecast"
	"github.com/itemize/itemize/internal/migration/layout"
	"github.com/itemize/itemize/internal/migration/protocol"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/naming"
	"github.com/itemize/itemize/internal/model/schema"
)

// entityType is an entity type with its model.
type entityType struct {
	table *Table
	*group
	name string
	// names are those of the sample, and types those of types in the package. singular makes the singular of a plural.
	names    *census
	singular func(string) string
	types    scope
	// docs are its items as the model takes them: after the conversions of reshape.
	docs       []item.Attributes
	attributes map[string]*profile
	lists      map[string]*elements
	*keying
	// remaining are the attributes that are not in the document which a conversion replaces.
	remaining []string
	// joined has the attributes of a name of the workload that means several.
	joined   map[string][]string
	workload forecast.Workload
	// arranged is the advised layout by attributes.
	arranged forecast.Layout
	// why has comments about attributes, and alone those about elements that are items.
	why, alone map[string]string

	// literals are those of elements in sort keys.
	literals  map[string]string
	tableName string
	model     *structure
	structs   []*structure
	schema    *schema.Entity
	layout    *layout.Layout
	// described is the number of items that the profiles describe, and bytes their size.
	described, bytes int
	// prices are the predicted moves of the items.
	prices []*protocol.Price
	// about are the notes that no proposal changes, and notes all of them.
	about, notes []string
	// unnamed is the number of attributes without a field, because of their names.
	unnamed int
}

// itemName is a kind of item of the model: the literal of its sort key, and its attributes.
type itemName struct {
	literal    string
	attributes []string
}

// prepare profiles the attributes and finds the keys. in has what all types share.
func prepare(t *Table, g *group, name string, single bool, in entityType) (*entityType, error) {
	all := in.names
	x := &entityType{
		table: t, group: g, name: name, types: in.types,
		attributes: map[string]*profile{}, lists: map[string]*elements{},
		joined: map[string][]string{}, why: map[string]string{}, alone: map[string]string{}, names: all,
		singular: in.singular,
	}
	k, err := keyingOf(t, g, name, single)
	x.docs = g.items
	if err == nil {
		x.keying = k
		c := containerOf(t, g.items, all)
		if c != nil && !all.hides(c.Attribute) && !slices.ContainsFunc(remainder(t, g.items, c), all.hides) {
			x.remaining = remainder(t, g.items, c)
			k.reshape = append([]step{*c}, k.reshape...)
			x.about = append(x.about, "the document is in the attribute "+c.Attribute)
		}
		x.docs = nil
		for _, it := range g.items {
			d := it
			for _, s := range k.reshape {
				if d, err = s.forth(d); err != nil {
					return x, err
				}
			}
			x.docs = append(x.docs, d)
		}
	}
	at := &reading{names: all}
	for _, d := range x.docs {
		at.item++
		for attribute, v := range d {
			if x.isKey(attribute) {
				continue
			}
			p := x.attributes[attribute]
			if p == nil {
				p = newProfile(at, depthOf(all, attribute))
				x.attributes[attribute] = p
			}
			p.add(v)
		}
	}
	x.described, x.bytes = len(x.docs), sum(x.sizes)
	for attribute, p := range x.attributes {
		if e := elementsOf(attribute, p, x.docs); e != nil && !all.hides(attribute) {
			if !e.unsafe(p.all()) {
				x.lists[attribute] = e
			}
		}
	}
	x.fewLists()
	return x, err
}

// depthOf is the depth of the profile of an attribute. The inside of one whose name is data does not matter.
func depthOf(names *census, attribute string) int {
	if names.isData(attribute) {
		return maxDepth
	}
	return 0
}

// shown reports whether the name of an attribute can be printed: it is not data, and can be in a tag.
func (x *entityType) shown(attribute string) bool {
	declared := attribute == x.table.TTL || x.keyOfIndex(attribute)
	return naming.Printable(attribute) && (declared || !x.names.isData(attribute))
}

// isKey reports whether an attribute is in the keys of the model, or a key of the table.
func (x *entityType) isKey(attribute string) bool {
	if attribute == x.table.Hash || attribute == x.table.Range {
		return true
	}
	return x.keying != nil && slices.ContainsFunc(x.fields, func(f keyField) bool { return f.attribute == attribute })
}

// mostLists is the largest number of lists that are considered: the largest ones.
const mostLists = 6

func (x *entityType) fewLists() {
	names := slices.SortedFunc(maps.Keys(x.lists), func(a, b string) int {
		return cmp.Or(sum(x.attributes[b].sizes)-sum(x.attributes[a].sizes), strings.Compare(a, b))
	})
	for _, name := range names[min(len(names), mostLists):] {
		delete(x.lists, name)
	}
}

// propose makes the model for a workload.
func (x *entityType) propose(p forecast.Prices, work int) error {
	if x.keying == nil {
		return errors.New("unknown keys: name the key attributes")
	}
	w := x.workload.Thinned(advisedSamples)
	a, err := w.AdviseBounded(p, w.Monolith(), work)
	if err != nil {
		return err
	}
	if gap := a.Best.Total/max(a.Bound, 1e-9) - 1; !a.Exact && gap > leastGap {
		x.notes = append(x.notes, fmt.Sprintf("the search for the layout is short: another one may cost up to %.0f %% "+
			"less, and itemize cost advise searches longer", 100*gap/(1+gap)))
	}
	x.arranged = a.Best.Layout
	x.unusedToRoot()
	x.rootKeeps()
	x.regroup(a.Best.Layout)
	return x.build()
}

// searchWork is the work of the searches of a report, which takes about two seconds, and leastGap the possible saving
// from which a note states it.
const (
	searchWork = 24_000_000
	leastWork  = 500_000
	leastGap   = 0.01
)

// workOf returns the work of the search for a type, of the largest of which the models are written.
func workOf(number, types int) int {
	if number >= maxWritten {
		return leastWork / 20
	}
	return max(leastWork, searchWork/types)
}

// regroup corrects the groups of the advised layout after attributes have moved to the root item: another attribute of
// an item represents it.
func (x *entityType) regroup(advised forecast.Layout) {
	var groups [][]string
	for _, g := range advised.Groups {
		var names []string
		for _, name := range g {
			if slices.Contains(advised.Elements, name) {
				names = append(names, name)
				continue
			}
			i := slices.IndexFunc(advised.Items, func(it []string) bool { return slices.Contains(it, name) })
			for k, it := range x.arranged.Items {
				left := slices.IndexFunc(it, func(n string) bool { return slices.Contains(advised.Items[i], n) })
				if left >= 0 && (k > 0 || i == 0) {
					names = append(names, it[left])
					break
				}
			}
		}
		if len(names) > 1 {
			groups = append(groups, names)
		}
	}
	x.arranged.Groups = groups
}

// grouped adds the segments of an item's groups to its literal. The largest group comes first.
func (x *entityType) grouped(literal string, names []string) string {
	groups := slices.Clone(x.arranged.Groups)
	slices.SortStableFunc(groups, func(a, b []string) int { return len(b) - len(a) })
	prefix := ""
	for i, g := range groups {
		if slices.ContainsFunc(g, func(n string) bool { return slices.Contains(names, n) }) {
			prefix += fmt.Sprintf("GROUP%d#", i+1)
		}
	}
	return prefix + literal
}

// advisedSamples is the number of documents from which a layout is advised.
const advisedSamples = 8

// unusedToRoot moves small attributes that no operation names to the root item, if it costs no more units there. A
// later write of them is cheap there.
func (x *entityType) unusedToRoot() {
	used := usedBy(x.workload.Operations)
	largest := map[string]int{}
	for _, a := range x.workload.Attributes {
		if len(a.Sizes) > 0 {
			largest[a.Name] = slices.Max(a.Sizes)
		}
	}
	items := x.arranged.Items
	root := x.workload.Overhead
	for _, name := range items[0] {
		root += largest[name]
	}
	for i := 1; i < len(items); i++ {
		items[i] = slices.DeleteFunc(slices.Clone(items[i]), func(name string) bool {
			n := largest[name]
			if used[name] || n == 0 || n > smallBytes || cost.WriteUnits(root+n) > cost.WriteUnits(root) {
				return false
			}
			items[0], root = append(items[0], name), root+n
			return true
		})
	}
	x.arranged.Items = slices.DeleteFunc(items, func(it []string) bool { return len(it) == 0 })
}

// rootKeeps moves attributes to the root item that have to be there: keys of indexes, and the time to live.
func (x *entityType) rootKeeps() {
	move := map[string]bool{}
	for _, i := range x.table.Indexes {
		for _, name := range append(slices.Clone(i.hash), i.sort...) {
			move[name] = x.attributes[name] != nil
		}
	}
	if x.attributes[x.table.TTL] != nil {
		move[x.table.TTL] = true
	}
	items := x.arranged.Items
	for i := range items {
		items[i] = slices.DeleteFunc(slices.Clone(items[i]), func(name string) bool { return i > 0 && move[name] })
	}
	for _, name := range slices.Sorted(maps.Keys(move)) {
		if move[name] && !slices.Contains(items[0], name) {
			items[0] = append(items[0], name)
		}
	}
	x.arranged.Items = slices.DeleteFunc(items, func(it []string) bool { return len(it) == 0 })
}

// expanded returns the attributes that a name of the workload means.
func (x *entityType) expanded(name string) []string {
	if all := x.joined[name]; all != nil {
		return all
	}
	return []string{name}
}

// itemNames names the kinds of items of the arranged layout: HEAD for the root item, otherwise the largest attribute.
func (x *entityType) itemNames() []itemName {
	taken := scope{"HEAD": true}
	x.literals = map[string]string{}
	for _, name := range x.arranged.Elements {
		x.literals[name] = x.grouped(taken.take(x.segmentOf(name)), []string{name})
	}
	var out []itemName
	for i, names := range x.arranged.Items {
		it := itemName{literal: "HEAD"}
		for _, name := range names {
			if !x.isKey(name) {
				it.attributes = append(it.attributes, x.expanded(name)...)
			}
		}
		if i > 0 {
			it.literal = taken.take(x.segmentOf(x.largest(it.attributes)))
		}
		it.literal = x.grouped(it.literal, names)
		out = append(out, it)
	}
	return out
}

// largest returns the largest of some attributes whose name can be printed.
func (x *entityType) largest(names []string) string {
	shown := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !x.shown(name) })
	if len(shown) == 0 {
		return "other"
	}
	return slices.MaxFunc(shown, func(a, b string) int {
		return sum(x.attributes[a].sizes) - sum(x.attributes[b].sizes)
	})
}

// segmentOf is the literal of an attribute in sort keys: of elements in the singular.
func (x *entityType) segmentOf(attribute string) string {
	if slices.Contains(x.arranged.Elements, attribute) {
		return segment(x.singular(goName(attribute)))
	}
	return segment(goName(attribute))
}

// build makes the Go types and the layout.
func (x *entityType) build() error {
	x.takeFunctions()
	n := &namer{types: x.types, singular: x.singular}
	m := &structure{name: x.name}
	taken := scope{"ItemizeCodec": true} // the generated method
	m.fields = append(m.fields, field{name: "_", typ: typeFor[struct{}]("struct{}"), ddb: x.tableTag()})
	items := x.itemNames()
	root := x.prefix + items[0].literal
	onRoot := 0
	for i, f := range x.fields {
		typ := typeFor[string]("string")
		if f.number {
			typ = typeFor[int64]("int64")
		}
		ddb := "sk=" + root
		if i == 0 {
			ddb = "pk=" + x.partition
		}
		taken[f.name] = true
		m.fields = append(m.fields, field{name: f.name, attribute: f.attribute, typ: typ, ddb: ddb})
	}
	for i, it := range items {
		before := len(m.fields)
		for _, attribute := range it.attributes {
			p := x.attributes[attribute]
			if !x.shown(attribute) {
				x.unnamed++
				continue
			}
			f := n.fieldOf(attribute, p, owner{x.name, len(x.docs), taken}, false)
			if x.keyOfIndex(attribute) && strings.HasSuffix(f.typ.expr, "time.Time") && attribute != x.table.TTL {
				f = plainField(f, p)
			}
			if !isPlain(f) && x.prefix != "" && f.typ.structure != nil {
				f.typ = anyType(p, "a list of structs in a model whose sort keys have a field")
			}
			if f.typ.unsafe {
				x.notes = append(x.notes, attribute+" has sets or numbers of many digits inside other values: it "+
					"stays on the root item as it is")
				continue
			}
			f.ddb = "sk=" + x.prefix + it.literal
			if i > 0 && len(m.fields) == before {
				f.ddb += methodName(schema.MixedCaps(it.literal))
			}
			if f.typ.structure != nil && (f.typ.rt.Kind() == reflect.Struct || f.typ.rt.Kind() == reflect.Pointer) {
				f.ddb += ",nested"
			}
			if i == 0 {
				onRoot++
			}
			if attribute == x.table.TTL {
				f = x.expiring(f, p)
			}
			f.comment = strings.TrimPrefix(f.comment+"; "+x.why[attribute], "; ")
			f.comment = strings.TrimSuffix(f.comment, "; ")
			m.fields = append(m.fields, f)
		}
		if own := m.fields[before:]; i > 0 && x.prefix != "" && len(own) > 0 && !slices.ContainsFunc(own, isPlain) {
			// Lists alone, whose key has a placeholder, would be an item for each element.
			k := slices.IndexFunc(own, func(f field) bool { return !anyType(x.attributes[f.attribute], "").unsafe })
			if k < 0 {
				x.notes = append(x.notes, "an item of lists, which have sets or numbers of many digits, stays on the "+
					"root item as it is")
				m.fields = m.fields[:before]
				continue
			}
			own[k].comment = "an item of lists in a model whose sort keys have a field"
			own[k].typ = anyType(x.attributes[own[k].attribute], own[k].comment)
		}
	}
	if x.unnamed > 0 {
		x.notes = append(
			x.notes,
			fmt.Sprintf("attributes whose names cannot be in a tag, or count as data, stay on the "+
				"root item as they are: %d", x.unnamed),
		)
	}
	if onRoot == 0 && !slices.ContainsFunc(m.fields, func(f field) bool { return f.ddb == "sk="+root }) {
		m.fields = append(m.fields, field{name: "_", typ: typeFor[struct{}]("struct{}"), ddb: "sk=" + root + ",root"})
	}
	for _, name := range x.arranged.Elements {
		m.fields = append(m.fields, x.elementField(n, name, taken))
	}
	m.fields = slices.Insert(m.fields, 1, x.indexFields(m.fields)...)
	x.model, x.structs = m, n.out
	return x.compile()
}

// takeFunctions takes the names of the functions that gen makes of the keys of a model, and of those of its indexes.
func (x *entityType) takeFunctions() {
	take := func(names []string) {
		function := x.name + "By"
		for _, name := range names {
			function += name
			x.types[function] = true
		}
	}
	var key []string
	for _, f := range x.fields {
		key = append(key, f.name)
	}
	take(key)
	for _, i := range x.table.Indexes {
		var names []string
		for _, attribute := range slices.Concat(i.hash, i.sort) {
			names = append(names, goName(attribute))
		}
		take(names)
	}
}

// keyOfIndex reports whether an attribute is a key of an index of the table.
func (x *entityType) keyOfIndex(attribute string) bool {
	return slices.ContainsFunc(x.table.Indexes, func(i Index) bool {
		return slices.Contains(i.hash, attribute) || slices.Contains(i.sort, attribute)
	})
}

// plainField makes a field of a time one of a text or integer: keys of indexes are stored as they are.
func plainField(f field, p *profile) field {
	f.options = slices.DeleteFunc(f.options, func(o string) bool { return o == "unixtime" })
	if f.typ = typeFor[string]("string"); p.types["N"] > 0 {
		f.typ = typeFor[int64]("int64")
	}
	return f
}

// expiring makes the field of the time to live expire all items of its entity.
func (x *entityType) expiring(f field, p *profile) field {
	if p.epochs+p.types["NULL"] < p.n {
		x.notes = append(x.notes, "the time to live in "+f.attribute+" has other values than epoch seconds: set "+
			"ttl= by hand")
		return f
	}
	pointer := strings.HasPrefix(f.typ.expr, "*")
	f.typ = typeFor[time.Time]("time.Time", "unixtime")
	if pointer || p.n < len(x.docs) || p.types["NULL"] > 0 {
		f.typ = typeFor[*time.Time]("*time.Time", "unixtime")
	}
	f.options = slices.DeleteFunc(f.options, func(o string) bool { return o == "unixtime" })
	f.options = append([]string{"unixtime"}, f.options...)
	f.ddb += ",ttl,all"
	return f
}

// isPlain reports whether a field is neither a list nor a map.
func isPlain(f field) bool {
	return f.typ.rt.Kind() != reflect.Slice && f.typ.rt.Kind() != reflect.Map
}

// methodName is the option that renames the generated method of an item, where queries have a method of that name.
func methodName(field string) string {
	if slices.Contains(queryMethods, field) {
		return ",name=" + field + "Item"
	}
	return ""
}

// tableTag is the tag of the model's table.
func (x *entityType) tableTag() string {
	tag := "table=" + x.tableName
	for i, name := range []string{"PK", "SK"} {
		if x.attributes[name] != nil {
			tag += []string{",hash=ItemPK", ",range=ItemSK"}[i]
		}
	}
	if p := x.attributes[x.table.TTL]; p != nil && p.epochs+p.types["NULL"] == p.n && naming.Printable(x.table.TTL) {
		tag += ",ttl=" + x.table.TTL
	}
	for _, r := range [][2]string{{"_v", "version"}, {"_s", "state"}, {"_a", "incarnation"}, {"_m", "migration"}} {
		if x.attributes[r[0]] != nil {
			tag += "," + r[1] + "=" + scopeOf(x.attributes).take(r[0]+"_")
		}
	}
	return tag
}

func scopeOf(attributes map[string]*profile) scope {
	s := scope{}
	for name := range attributes {
		s[name] = true
	}
	return s
}

// elementField is the field of a list or map whose elements are items.
func (x *entityType) elementField(n *namer, attribute string, taken scope) field {
	e, p := x.lists[attribute], x.attributes[attribute]
	f := field{name: taken.take(goName(attribute)), attribute: attribute}
	f.ddb = "sk=" + x.elementPrefix + x.literals[attribute] + "#"
	var elem goType
	switch {
	case e.list && e.scalar:
		elem = typeFor[string]("string")
		f.ddb += "{.}"
	case e.list:
		s := n.structOf(p.all(), x.name+x.singular(f.name), e.keys)
		elem = goType{expr: s.name, rt: s.reflected(), structure: s}
		f.ddb += keyTemplate(s, p.all(), e.keys)
	default:
		elem = n.typeOf(p.all(), x.name+x.singular(f.name))
		f.ddb += "{key}"
	}
	if e.list {
		f.typ = goType{expr: "[]" + elem.expr, rt: reflect.SliceOf(elem.rt), structure: elem.structure}
	} else {
		f.typ = goType{
			expr: "map[string]" + elem.expr, rt: reflect.MapOf(reflect.TypeFor[string](), elem.rt),
			structure: elem.structure,
		}
	}
	f.ddb += methodName(f.name)
	f.comment = x.why[attribute] + x.alone[attribute]
	return f
}

// keyTemplate is the template of the fields in the key of an element.
func keyTemplate(s *structure, p *profile, keys []string) string {
	var parts []string
	for _, key := range keys {
		i := slices.IndexFunc(s.fields, func(f field) bool { return f.attribute == key })
		f := s.fields[i]
		switch {
		case f.typ.expr == "int64":
			parts = append(parts, "{"+f.name+":sortable}")
		default:
			parts = append(parts, "{"+f.name+"}")
		}
	}
	return strings.Join(parts, "#")
}

// indexFields are the declarations of the table's indexes whose keys are fields of the root item.
func (x *entityType) indexFields(fields []field) []field {
	var out []field
	for _, i := range x.table.Indexes {
		names := func(attributes []string) (string, bool) {
			var all []string
			for _, a := range attributes {
				k := slices.IndexFunc(fields, func(f field) bool { return f.attribute == a && f.name != "_" })
				if k < 0 || !slices.Contains([]string{"string", "int64"}, fields[k].typ.expr) {
					return "", false
				}
				all = append(all, "{"+fields[k].name+"}")
			}
			return strings.Join(all, ";"), true
		}
		hash, ok1 := names(i.hash)
		sort, ok2 := names(i.sort)
		if !ok1 || !ok2 || i.Local {
			x.notes = append(x.notes, fmt.Sprintf("the index %s is not declared: its keys are not texts or integers "+
				"of the root item, or it is local: see docs/indexes.md. The prices leave it out", i.Name))
			continue
		}
		tag := fmt.Sprintf("index=%s,pk=%s", i.Name, hash)
		if sort != "" {
			tag += ",sk=" + sort
		}
		switch i.Projection {
		case "KEYS_ONLY":
			tag += ",project=keys"
		case "INCLUDE":
			var list []string
			for _, a := range i.Attributes {
				if k := slices.IndexFunc(fields, func(f field) bool {
					return f.attribute == a && f.name != "_" && slices.Contains(x.arranged.Items[0], a)
				}); k >= 0 {
					list = append(list, fields[k].name)
				}
			}
			if tag += ",project=keys"; len(list) > 0 {
				tag = strings.TrimSuffix(tag, "keys") + "'" + strings.Join(list, ",") + "'"
			}
		}
		out = append(out, field{name: "_", typ: typeFor[struct{}]("struct{}"), ddb: tag})
	}
	return out
}

// compile builds the layout of the model, as gen does from the written file.
func (x *entityType) compile() error {
	t := schema.TypeOf(x.model.reflected())
	t.Name = x.name
	e, err := schema.Build(t)
	if err != nil {
		return fmt.Errorf("the model of %s has faults: %w", x.name, err)
	}
	x.schema = e
	x.layout, err = layout.New(e.Layout())
	return err
}
