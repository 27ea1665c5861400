package schema

import (
	"slices"
)

// place gives every field without a sort key its place, and checks the options
// of the fields.
func (b *builder) place() {
	for _, m := range b.fields {
		if m.tag.Has("sk") {
			b.fieldOptions(m)
			continue
		}
		if b.badTag[m.Field] {
			continue
		}
		switch {
		case m.tag.Has("table") && !m.tag.Has("chunk"):
			b.fixedItem(m, nil)
		case b.heldByKey(m), m.tag.Has("pk"): // other code reports the faults of pk=
		case b.e.Tables[0].Range == "":
			b.fixedItem(m, nil)
		default:
			b.homeless(m)
		}
		b.fieldOptions(m)
	}
	for i, it := range b.e.Items {
		it.Index = i
	}
}

// homeless refuses a field without a place; of an embedded struct whose fields have none it refuses
// the embedding, once.
func (b *builder) homeless(m *taggedField) {
	f := b.e.Type.Fields[m.path[0]]
	sameField := func(o *taggedField) bool { return o.path[0] == m.path[0] && o.tag.Present }
	if len(m.path) == 1 || !f.Embedded || slices.ContainsFunc(b.fields, sameField) {
		b.fault(m.at(), "add the item's key (ddb:\"sk=TEMPLATE\"), or leave it out (ddb:\"-\")",
			"the field has no item")
		return
	}
	if !b.badTag[f] {
		b.badTag[f] = true
		b.fault(place{in: b.e.Type, field: f},
			"tag the embedding (ddb:\"sk=TEMPLATE\"), or its fields one by one, or leave it out (ddb:\"-\")",
			"the fields of the embedded %s have no item", f.Type.Name)
	}
}

// sets refuses an option of sets on what cannot be one.
func (b *builder) sets(m *taggedField, t *Type) {
	t = t.deref()
	for _, o := range m.tag.AV.Options {
		set, ok := sets[o]
		if !ok {
			continue
		}
		if t.Kind != Slice && t.Kind != Array || t.Marshals {
			b.fault(m.avAt(), "remove it", "%s is for slices, and has no effect on %s", o, t.Name)
			continue
		}
		if k := t.Elem.deref().Kind; k == BigInt || k == BigFloat {
			b.fault(m.avAt(), "remove it, which makes a list, or use []attributevalue.Number",
				"%s is of numbers that attributevalue reads back, unlike %s", o, t.Elem.Name)
			continue
		}
		switch w := t.Elem.wireInside(slices.DeleteFunc(slices.Clone(m.tag.AV.Options),
			func(o string) bool { return sets[o] != "" }), nil); {
		case w.Type+"S" == set, w.Type == "any", w.Type == "own":
		case w.Type == "N", w.Type == "S", w.Type == "B":
			b.fault(m.avAt(), "write "+map[string]string{"N": "numberset", "S": "stringset", "B": "binaryset"}[w.Type],
				"%s makes a set of values of another type than %s has", o, t.Name)
		default:
			b.fault(m.avAt(), "remove it", "%s makes a set, but DynamoDB has no sets of %s", o, t.Elem.Name)
		}
	}
}

// heldByKey reports whether a partition key or a singleton's sort key names the field.
func (b *builder) heldByKey(m *taggedField) bool {
	names := func(k *Key) bool { return k != nil && slices.Contains(k.names, m.Name) }
	return names(b.e.PK) ||
		slices.ContainsFunc(b.e.Items, func(it *Item) bool { return !it.Element() && names(it.Key) })
}

// unusedNames refuses name= on fields of the root item that neither a key nor a unique value names: it would rename
// nothing. Fields of further items name these.
func (b *builder) unusedNames() {
	used := map[*Field]bool{}
	note := func(k *Key) {
		if k != nil {
			for _, src := range k.Sources {
				used[src.field] = true
			}
		}
	}
	note(b.e.PK)
	for _, it := range b.e.Items {
		note(it.Key)
	}
	for _, x := range b.e.Indexes {
		for _, e := range x.Entries {
			for _, k := range e.Keys() {
				note(k.Key)
			}
		}
	}
	for _, u := range b.e.Uniques {
		for _, a := range b.e.Guarded(u) {
			used[a.Field] = true // the function of the value has its name
		}
	}
	for _, m := range b.fields {
		it := b.onItem[m.Field]
		if m.tag.Has("name") && !used[m.Field] && (it == nil || it == b.e.Root) {
			b.missing(m.option("name"), "remove it", "name= has no effect on a field that no key and no unique "+
				"value names")
		}
	}
}

// fieldOptions checks the options that need to know the field's type and item.
func (b *builder) fieldOptions(m *taggedField) {
	it := b.onItem[m.Field]
	if it != nil && it.MethodName == "" && !b.heldByKey(m) {
		it.MethodName = m.tag.Value("name")
	}
	if m.tag.Has("one") {
		switch {
		case it != nil && it.Element():
			it.OneName = m.tag.Value("one")
		case it != nil:
			b.fault(m.option("one"), "write name= for the item's method",
				"one= is the method that selects one of several elements")
		}
	}
	if m.tag.Has("nested") && !m.Type.Spreads() {
		b.fault(m.option("nested"), "remove it", "nested is for structs, and the encoding of %s is not a map",
			m.Type.Name)
	}
	if m.tag.Has("root") && (it == nil || it.Element()) {
		b.fault(m.option("root"), "put it on a field with a constant sort key", "the root is a single item")
	}
	if m.tag.Has("stored") &&
		!slices.ContainsFunc(b.keyFieldTags, func(o *taggedField) bool { return o.Field == m.Field }) &&
		!namesItself(it) {
		b.fault(m.option("stored"), "remove it", "stored is for fields in keys: this field is stored anyway")
	}
	if m.tag.Has("all") && !m.tag.Has("ttl") {
		b.fault(m.option("all"), "write ttl,all", "all is for ttl")
	}
	if m.Type.Kind == Pointer && m.Type.Elem.Kind == Pointer && m.Type.Elem.Elem.Kind == Struct &&
		!m.Type.Elem.Elem.Scalar() {
		b.fault(m.at(), "use "+m.Type.Elem.Name, "a pointer to a pointer to a struct cannot be stored in an item")
	}
	if it == nil || !b.isSpread(m) {
		return
	}
	if len(m.tag.AV.Options) > 0 { // the name is that in a monolith
		b.fault(m.avAt(), "remove them, or add ddb option nested to store the struct as one map",
			"dynamodbav's options have no effect on a struct whose fields are spread over its item")
	}
}

// namesItself reports whether the key holds the scalar elements themselves.
func namesItself(it *Item) bool {
	return it != nil && it.Element() &&
		slices.ContainsFunc(it.Key.Sources, func(s Source) bool { return s.From == FromSelf })
}

// isSpread reports whether the field's struct gives its fields to the item.
func (b *builder) isSpread(m *taggedField) bool {
	it := b.onItem[m.Field]
	if it != nil && it.Element() {
		return it.Elem.Spreads()
	}
	return m.Type.Spreads() && !m.tag.Has("nested")
}

// root chooses the root: the item tagged so, or the first singleton of the main table.
func (b *builder) root() {
	var roots []*taggedField
	for _, m := range slices.Concat(b.blanks, b.fields) {
		if m.tag.Has("root") {
			roots = append(roots, m)
		}
	}
	for _, m := range roots {
		it := b.onItem[m.Field]
		switch {
		case it == nil:
		case b.e.Root == nil:
			b.e.Root = it
		case b.e.Root != it:
			b.fault(m.option("root"), "keep one root", "a second root: the first is %q", b.e.Root.Name)
		}
	}
	for _, it := range b.e.Items {
		if b.e.Root == nil && !it.Element() && it.Table.Index == 0 {
			b.e.Root = it
		}
	}
	switch {
	case b.e.Root == nil && len(b.faults) > 0: // it may be among them
	case b.e.Root == nil:
		b.missing(place{in: b.e.Type}, "add a constant sort key to a field, or add _ struct{} `ddb:\"sk=HEAD,root\"`",
			"the model has no single item in its main table that shows that an entity exists")
	case b.e.Root.Table.Index != 0:
		b.fault(place{in: b.e.Type, field: b.e.Root.Decl}, "use a single item of the main table",
			"the root %q is in the further table %s", b.e.Root.Name, b.e.Root.Table.Name)
	}
}

// attributes lists the stored attributes of each item other than its keys.
func (b *builder) attributes() {
	if b.e.Root == nil {
		return
	}
	for i, m := range b.keyFieldTags {
		if b.onItem[m.Field] == nil && b.mustStore(m, nil) {
			b.onItem[m.Field] = b.e.Root
		}
		if b.mustStore(m, b.onItem[m.Field]) {
			b.e.KeyFields[i].Item = b.onItem[m.Field]
		}
	}
	for _, m := range b.fields {
		it := b.onItem[m.Field]
		switch {
		case it == nil:
			b.checkSkipped(m)
		case it.Element():
			b.elementAttributes(it, m)
		case b.isSpread(m):
			b.spreadAttributes(it, m)
		default:
			if slices.Contains(b.keyFieldTags, m) && !b.mustStore(m, it) {
				b.checkSkipped(m)
				continue
			}
			b.attribute(it, m, m.value(), len(m.path))
		}
	}
}

// nameItems names a singleton after its field, where that is its only one.
func (b *builder) nameItems() {
	fields := map[*Item][]*taggedField{}
	for _, m := range slices.Concat(b.blanks, b.fields) {
		if it := b.onItem[m.Field]; it != nil {
			fields[it] = append(fields[it], m)
		}
	}
	for it, all := range fields {
		if len(all) == 1 && all[0].Name != "_" {
			it.Name = all[0].Name
		}
	}
}

// mustStore reports whether a field that keys name is also stored as an attribute: no key of its item
// has it completely, or the tag requires it.
func (b *builder) mustStore(m *taggedField, it *Item) bool {
	full := func(k *Key) bool {
		return k != nil && slices.ContainsFunc(k.Sources, func(s Source) bool {
			return s.From == FromModel && s.field == m.Field && s.Lossless
		})
	}
	held := full(b.e.PK) || b.badPK && slices.Contains(b.e.PK.names, m.Name)
	for _, other := range b.e.Items {
		if !other.Element() && (it == nil || it == other) {
			held = held || full(other.Key)
		}
	}
	return !held || m.tag.Has("stored")
}

// checkSkipped looks at the tag of a field that a key alone holds.
func (b *builder) checkSkipped(m *taggedField) {
	if m.tag.Has("ttl") || m.tag.Has("all") {
		return // expiry sees to it
	}
	if m.tag.Has("nested") {
		b.fault(m.option("nested"), "remove it", "the field has nothing to store apart from its key")
	}
}

func (b *builder) elementAttributes(it *Item, m *taggedField) {
	if !it.Elem.Spreads() {
		self := slices.ContainsFunc(it.Key.Sources, func(s Source) bool { return s.From == FromSelf && s.Lossless })
		if !self || m.tag.Has("stored") {
			b.attribute(it, m, Value{Name: m.Name, Type: it.Elem}, 0)
		}
		return
	}
	b.notEmpty(m, it.Elem)
	for _, f := range b.spread(it.Elem) {
		held := slices.ContainsFunc(it.Key.Sources, func(s Source) bool {
			return s.From == FromElement && s.field == f.Field && s.Lossless
		})
		if named := slices.ContainsFunc(it.Key.Sources,
			func(s Source) bool { return s.field == f.Field }); f.tag.Has("stored") && !named {
			b.fault(f.option("stored"), "remove it", "stored is for fields in keys: this field is stored anyway")
		}
		if !held || f.tag.Has("stored") {
			b.attribute(it, f, f.value(), 0)
		}
	}
}

func (b *builder) spreadAttributes(it *Item, m *taggedField) {
	alone := true
	for f, other := range b.onItem {
		alone = alone && (other != it || f == m.Field)
	}
	if alone {
		v := m.value()
		it.Field, it.Pointer = &v, m.Type.Kind == Pointer
	}
	b.notEmpty(m, m.Type.deref())
	for _, f := range b.spread(m.Type.deref()) {
		if f.tag.Has("stored") {
			b.fault(f.option("stored"), "remove it", "stored is for fields in keys: this field is stored anyway")
		}
		b.attribute(it, f, f.valueIn(m),
			len(m.path))
	}
}

// notEmpty refuses to spread a struct that has fields, but none to store.
func (b *builder) notEmpty(m *taggedField, t *Type) {
	if len(t.Fields) > 0 && len(b.exported(t)) == 0 {
		b.fault(m.at(), "declare MarshalDynamoDBAttributeValue and its inverse, or store another type",
			"the struct %s has no exported fields, so that nothing would be stored", t.Name)
	}
}

// attribute adds an attribute to an item. v is the place of the value, of which place
// leads to the field with the place.
func (b *builder) attribute(it *Item, m *taggedField, v Value, place int) {
	if m.tag.AV.Ignore {
		b.fault(m.avAt(), "write ddb:\"-\" as well, or drop dynamodbav:\"-\"",
			"the field has an item, but dynamodbav:\"-\" would not store it")
		return
	}
	b.encodable(m, v.Type)
	b.sets(m, v.Type)
	it.Attributes = append(it.Attributes, &Attribute{
		Name: m.avName(), Value: v, Place: place, AV: m.tag.AV, Opaque: v.Type.Opaque(), Field: m.Field,
	})
}

// expiry resolves the ttl options.
func (b *builder) expiry() {
	set := func(it *Item, m *taggedField, v Value) {
		switch {
		case b.e.TTL == "":
			b.missing(m.option("ttl"), "add it: _ struct{} `ddb:\"ttl=ATTR\"`",
				"no blank field names the table's TTL attribute")
		case !v.Type.deref().Time:
			b.fault(m.option("ttl"), "use a time.Time", "an expiry is a time, unlike %s", v.Type.Name)
		case it.Expiry != nil:
			b.fault(m.option("ttl"), "keep one ttl", "a second expiry for the item %q: the first is %s", it.Name,
				it.Expiry.Name)
		default:
			it.Expiry = &v
		}
	}
	for _, m := range b.fields {
		it := b.onItem[m.Field]
		switch {
		case m.tag.Has("ttl") && m.tag.Has("all"):
			b.expireAll = m
		case m.tag.Has("ttl") && it == nil:
			set(b.e.Root, m, m.value())
		case m.tag.Has("ttl") && !it.Element():
			set(it, m, m.value())
		case m.tag.Has("ttl"):
			b.fault(m.option("ttl"), "put it on a time field of the element", "an expiry is a time, unlike %s",
				m.Type.Name)
		}
		if it != nil && b.isSpread(m) {
			b.innerExpiry(it, m, set)
		}
	}
	if m := b.expireAll; m != nil {
		if it := b.onItem[m.Field]; it != nil && it != b.e.Root {
			b.fault(m.option("all"), "put the field on the root "+b.e.Root.Name,
				"ttl,all is for a field of the root")
			return
		}
		for _, it := range b.e.Items {
			set(it, m, m.value())
			it.ExpiryOfRoot = true
		}
	}
}

func (b *builder) innerExpiry(it *Item, m *taggedField, set func(*Item, *taggedField, Value)) {
	t := m.Type.deref()
	if it.Element() {
		t = it.Elem
	}
	for _, f := range b.spread(t) {
		if !f.tag.Has("ttl") {
			continue
		}
		v := f.value()
		if !it.Element() {
			v = f.valueIn(m)
		}
		set(it, f, v)
	}
}
