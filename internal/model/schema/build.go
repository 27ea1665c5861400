package schema

import (
	"cmp"
	"slices"
	"strings"

	"github.com/itemize/itemize/internal/model/grammar"
	"github.com/itemize/itemize/internal/model/key"
)

// Build makes the schema of a model from its type. The error is a Faults with
// all that is wrong; the schema is nil then.
func Build(t *Type) (*Entity, error) {
	b := &builder{
		e: &Entity{
			Name: baseName(t.Name), Type: t, Delim: '#', Version: DefaultVersion,
			State: DefaultState, Incarnation: DefaultIncarnation, Moved: DefaultMoved,
		},
		parsed:  map[*Field]*grammar.Tag{},
		spreads: map[*Type][]*taggedField{},
		onItem:  map[*Field]*Item{},
		badTag:  map[*Field]bool{},
		badKey:  map[*Item]bool{},

		keyFieldKinds: map[int]key.Kind{},
	}
	b.build()
	if len(b.faults) > 0 {
		return nil, b.faults
	}
	b.e.finish()
	return b.e, nil
}

type builder struct {
	e             *Entity
	faults        Faults
	parsed        map[*Field]*grammar.Tag
	spreads       map[*Type][]*taggedField
	fields        []*taggedField // the model's, promoted ones included
	blanks        []*taggedField
	keyFieldTags  []*taggedField // parallel to e.KeyFields
	keyFieldKinds map[int]key.Kind
	onItem        map[*Field]*Item
	// badTag are fields whose tags have faults, and items whose keys have: what
	// follows from those is not reported as well.
	badTag    map[*Field]bool
	badKey    map[*Item]bool
	badPK     bool
	expireAll *taggedField
	// sharded is the blank field that says how the partition key is spread.
	sharded *taggedField
	// timed are the tables that follow the time.
	timed []timedTable
}

// baseName is a type's name without its package, "" for a struct without a name.
func baseName(name string) string {
	if name == unnamed {
		return ""
	}
	return name[strings.LastIndexByte(name, '.')+1:]
}

func (b *builder) build() {
	whole := place{in: b.e.Type}
	switch t := b.e.Type; {
	case t.Kind != Struct || t.Time || t.Marshals:
		b.fault(whole, "use a struct", "a model is a struct whose fields say where they are stored")
		return
	case t.Unmarshals:
		b.fault(whole, "remove the method, or give the embedded struct that has it a name",
			"a model is read field by field, but %s has the method UnmarshalDynamoDBAttributeValue", t.Name)
		return
	case isGeneric(t.Name):
		b.fault(whole, "declare a struct for each instance", "a generic type cannot be a model")
		return
	case t.recursive():
		f := t.around()
		b.fault(place{in: t, field: f}, "store the key of the other value (such as "+f.Name+"ID string, or "+f.Name+
			"IDs []string), or use another type",
			"a %s would contain itself without end", t.Name)
		return
	}
	all, blanks := b.taggedFields(b.e.Type, true)
	b.blanks = blanks
	b.fields = b.visible(slices.DeleteFunc(all, func(m *taggedField) bool { return m.tag.Skip }),
		func(m *taggedField) string { return m.Name })
	for _, m := range b.fields {
		b.namedPointer(m, m.Type, map[*Type]bool{})
	}
	b.declarations()
	b.partitionKey()
	b.sortKeys()
	b.place()
	b.root()
	b.attributes()
	b.nameItems()
	b.expiry()
	b.formerNames()
	b.hooks()
	b.indexes()
	b.largeValues()
	b.check()
	b.uniques()
	b.unusedNames()
}

// declarations reads the blank fields: the tables, the model's options, the
// names of segments.
func (b *builder) declarations() {
	main := &Table{Name: b.e.Name, Hash: "PK", Range: "SK"}
	b.e.Tables = []*Table{main}
	seen := map[string]*taggedField{}
	for _, m := range b.blanks {
		switch {
		case m.tag.Has("index"):
			// indexes come when the items are known
		case m.tag.Has("prefix"):
			b.segmentName(m)
		case m.tag.Has("name"):
			// satellites come when the main table is known
		default:
			b.mainOptions(m, main, seen)
		}
	}
	if o := cmp.Or(seen["range"], seen["hash"]); o != nil {
		b.keysDiffer(main, o.at())
	}
	for _, m := range b.blanks {
		if m.tag.Has("name") && !m.tag.Has("prefix") && !m.tag.Has("index") {
			b.secondaryTable(m)
		}
	}
	if main.Name == "" {
		b.fault(place{in: b.e.Type}, "add _ struct{} `ddb:\"table=NAME\"`", "the type has no name that can name "+
			"its table")
	}
}

func (b *builder) mainOptions(m *taggedField, main *Table, seen map[string]*taggedField) {
	for _, o := range m.tag.Options {
		if first := seen[o.Word]; first != nil {
			if len(first.path) == len(m.path) {
				b.fault(m.option(o.Word), "keep one; a further table has name=Word",
					"two blank fields have the option %s", o.Word)
			}
			continue // the embedding struct's own declaration wins
		}
		seen[o.Word] = m
		switch o.Word {
		case "table":
			main.Name, main.Field = o.Value, m.Field
			b.tableName(m, o, main)
		case "hash":
			main.Hash = o.Value
		case "range":
			main.Range = rangeName(o.Value)
		case "version":
			b.e.Version = o.Value
		case "state":
			b.e.State = o.Value
		case "incarnation":
			b.e.Incarnation = o.Value
		case "migration":
			b.e.Moved = o.Value
		case "noversion":
			b.e.Version = ""
		case "ttl":
			b.e.TTL = o.Value
		case "delim":
			b.e.Delim = o.Value[0]
		case "pk", "sk", "root":
		case "shards":
			b.e.Shards, b.sharded = &Shards{Counts: o.Numbers, By: -1}, m
		case "local", "on", "project":
			b.fault(m.option(o.Word), "add index=NAME", "the option %s belongs to an index", o.Word)
		}
	}
	if seen["version"] != nil && seen["noversion"] != nil && (m == seen["version"] || m == seen["noversion"]) {
		b.fault(m.at(), "keep one of them", "version= and noversion exclude each other")
	}
	if m.tag.Has("sk") != m.tag.Has("root") {
		b.fault(m.at(), `write _ struct{} `+"`ddb:\"sk=HEAD,root\"`",
			"a blank field with sk= or root declares a root without fields: it needs both")
	}
}

// keysDiffer refuses a table whose two key attributes are one.
func (b *builder) keysDiffer(t *Table, at place) {
	if t.Hash == t.Range {
		b.fault(at, "name them differently, or write range=- for a table without a sort key",
			"the table %s has one attribute, %q, as its partition key and its sort key", t.Name, t.Hash)
	}
}

func rangeName(s string) string {
	if s == "-" {
		return ""
	}
	return s
}

func (b *builder) segmentName(m *taggedField) {
	o, _ := m.tag.Option("prefix")
	if !m.tag.Has("name") {
		b.fault(m.option("prefix"), "add name=Word", "prefix= has no name: it needs one for the method of the "+
			"segment")
		return
	}
	for _, o := range m.tag.Options {
		if o.Word != "prefix" && o.Word != "name" {
			b.fault(m.option(o.Word), "put it on a blank field of its own", "the option %s does not go with prefix=",
				o.Word)
		}
	}
	b.e.Names = append(b.e.Names, SegmentName{Prefix: o.Value, Name: m.tag.Value("name"), Field: m.Field})
}

func (b *builder) secondaryTable(m *taggedField) {
	o, ok := m.tag.Option("table")
	if !ok {
		b.fault(m.option("name"), "add table=NAME, or prefix=SEGMENT",
			"name= on a blank field needs the option of a further table or of a segment")
		return
	}
	t := &Table{
		Name: o.Value, Word: m.tag.Value("name"), Field: m.Field,
		Hash: b.e.Tables[0].Hash, Range: b.e.Tables[0].Range, Index: len(b.e.Tables),
	}
	b.tableName(m, o, t)
	for _, o := range m.tag.Options {
		switch o.Word {
		case "table", "name":
		case "hash":
			t.Hash = o.Value
		case "range":
			t.Range = rangeName(o.Value)
		default:
			b.fault(m.option(o.Word), "move it to the blank field of the main table",
				"the option %s does not go with a further table", o.Word)
		}
	}
	b.keysDiffer(t, m.at())
	for _, other := range b.e.Tables {
		if other.Name == t.Name {
			b.fault(m.option("table"), "name each table once", "the table %s is declared twice", t.Name)
			return
		}
	}
	b.e.Tables = append(b.e.Tables, t)
}

// partitionKey finds the one pk=.
func (b *builder) partitionKey() {
	var found []*taggedField
	for _, m := range slices.Concat(b.blanks, b.fields) {
		if m.tag.Has("pk") && !m.tag.Has("index") {
			found = append(found, m)
		}
	}
	b.e.PK = &Key{Template: &key.Template{Type: 'S', Delim: b.e.Delim}}
	if len(found) == 0 {
		if len(b.badTag) == 0 {
			b.missing(place{in: b.e.Type}, "add pk=TEMPLATE to the field that identifies an entity",
				"the model has no partition key")
		}
		return
	}
	for _, m := range found[1:] {
		b.fault(m.option("pk"), "keep one pk=", "a second partition key: %s has one already", found[0].Name)
	}
	m := found[0]
	o, _ := m.tag.Option("pk")
	faults := len(b.faults)
	b.e.PK = b.key(m, o, scope{pk: true})
	b.badPK = len(b.faults) > faults
	for _, s := range b.e.PK.Sources {
		if s.From == FromModel {
			b.e.KeyFields[s.KeyField].Identity = true
		}
	}
	if m.Name != "_" && !b.badPK &&
		!slices.ContainsFunc(o.Template.Parts, func(p grammar.Part) bool { return p.Name == m.Name }) {
		b.fault(m.option("pk"), "name it in the template, or move pk= to a blank field",
			"the template of pk= does not name its field %s", m.Name)
	}
	for _, t := range b.e.Tables {
		t.HashType = b.e.PK.Template.Type
	}
}

// sortKeys makes the items from the sort keys of the fields, singletons first:
// a slice whose template is that of a singleton is an attribute of it.
func (b *builder) sortKeys() {
	for _, m := range slices.Concat(b.blanks, b.fields) {
		if o, ok := m.tag.Option("sk"); ok && !m.tag.Has("index") && !m.Type.Elements() {
			b.fixedItem(m, &o)
		}
	}
	for _, m := range b.fields {
		o, ok := m.tag.Option("sk")
		if !ok || !m.Type.Elements() {
			continue
		}
		t := b.table(m)
		if t == nil {
			continue
		}
		same := b.item(t, o.Value)
		placeholders := slices.ContainsFunc(o.Template.Parts, func(p grammar.Part) bool { return p.Name != "" })
		if same != nil && !same.Element() || !placeholders {
			b.fixedItem(m, &o)
		} else {
			b.elements(m, o, t)
		}
	}
	slices.SortStableFunc(b.e.Items, func(x, y *Item) int { return b.order(x.Decl) - b.order(y.Decl) })
	for i, it := range b.e.Items {
		it.Index = i
	}
}

// order is a field's place among all fields of the model; blank fields come first.
func (b *builder) order(f *Field) int {
	if i := slices.IndexFunc(b.blanks, func(m *taggedField) bool { return m.Field == f }); i >= 0 {
		return i
	}
	return len(b.blanks) + slices.IndexFunc(b.fields, func(m *taggedField) bool { return m.Field == f })
}

// item returns the item with that template in a table.
func (b *builder) item(t *Table, text string) *Item {
	for _, it := range b.e.Items {
		if it.Table == t && (it.Key == nil || it.Key.Text == text) {
			return it
		}
	}
	return nil
}

// table returns the table that a field is in, nil after a fault.
func (b *builder) table(m *taggedField) *Table {
	o, ok := m.tag.Option("table")
	if !ok || m.Name == "_" || m.tag.Has("chunk") { // which is about the parts
		return b.e.Tables[0]
	}
	for _, t := range b.e.Tables {
		if t.Name == o.Value {
			return t
		}
	}
	b.missing(m.option("table"), "declare it: _ struct{} `ddb:\"table="+o.Value+",hash=ATTR,range=ATTR,name=Word\"`",
		"the model has no table %s", o.Value)
	return nil
}

// fixedItem puts a field on a singleton; o is nil in a table without a sort key.
func (b *builder) fixedItem(m *taggedField, o *grammar.Option) {
	t := b.table(m)
	if t == nil {
		return
	}
	text := ""
	switch {
	case o == nil && t.Range != "":
		b.missing(m.at(), "add sk=TEMPLATE", "the table %s has a sort key, but the field has no sk=", t.Name)
		return
	case o != nil && t.Range == "":
		b.fault(m.option("sk"), "remove it, or declare the table with range=ATTR", "the table %s has no sort key",
			t.Name)
		return
	case o != nil:
		text = o.Value
	}
	it := b.item(t, text)
	if it == nil {
		it = &Item{Table: t, Decl: m.Field, Name: m.Name}
		if o != nil {
			it.Key = b.itemKey(it, m, *o, scope{field: m})
			it.Name = text
		}
		b.e.Items = append(b.e.Items, it)
	}
	b.onItem[m.Field] = it
}

// itemKey resolves an item's template, and remembers whether it has faults.
func (b *builder) itemKey(it *Item, m *taggedField, o grammar.Option, sc scope) *Key {
	faults := len(b.faults)
	k := b.key(m, o, sc)
	b.badKey[it] = len(b.faults) > faults
	return k
}

// elements makes a slice or map one item per element.
func (b *builder) elements(m *taggedField, o grammar.Option, t *Table) {
	if t.Range == "" {
		b.fault(m.option("sk"), "declare the table with range=ATTR",
			"the table %s has no sort key, so that an entity can have one item only", t.Name)
		return
	}
	elem := m.Type.Elem
	if elem.Kind == Pointer && elem.Elem.Kind == Pointer {
		b.fault(m.at(), "use "+elem.Elem.Name, "elements that are pointers to pointers cannot be items")
		return
	}
	sc := scope{elem: true, field: m}
	if elem.Spreads() {
		sc.fieldsOf = b.spread(elem.deref())
	}
	v := m.value()
	it := &Item{
		Table: t, Decl: m.Field, Name: m.Name, Field: &v,
		Elem: elem.deref(), ElemPointer: elem.Kind == Pointer,
	}
	it.Key = b.itemKey(it, m, o, sc)
	b.e.Items = append(b.e.Items, it)
	b.onItem[m.Field] = it
	if b.badKey[it] {
		return
	}
	from := func(f From) int {
		return slices.IndexFunc(it.Key.Sources, func(s Source) bool { return s.From == f })
	}
	mapKey := from(FromMapKey)
	switch {
	case from(FromElement) < 0 && from(FromSelf) < 0 && mapKey < 0:
		b.fault(m.option("sk"), "add a placeholder such as "+elementHint(m),
			"the template %q has no placeholder of the element, so that all elements would be one item", o.Value)
	case m.Type.Kind == Map && mapKey < 0:
		b.fault(m.option("sk"), "add {key}", "the template %q does not contain the map's key, which would be lost",
			o.Value)
	case mapKey >= 0 && !it.Key.Sources[mapKey].Lossless:
		b.fault(m.option("sk"), "use {key}", "the map's key cannot be read back from the template %q", o.Value)
	}
}

func elementHint(m *taggedField) string {
	if m.Type.Kind == Map {
		return "{key}"
	}
	if m.Type.Elem.Spreads() {
		return "{Field}"
	}
	return "{.}"
}
