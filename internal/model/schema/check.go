package schema

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/itemize/itemize/internal/model/grammar"
	"github.com/itemize/itemize/internal/model/key"
)

// encodable reports what attributevalue would drop, empty, or not read back.
func (b *builder) encodable(m *taggedField, t *Type) {
	if t.Opaque() && t.holdsBig(map[*Type]bool{}) {
		b.fault(m.at(), "do not combine the big number with types that encode themselves or with interfaces, or "+
			"use attributevalue.Number",
			"only attributevalue knows the encoding of %s, and it would store the big number in it empty", t.Name)
	}
	b.inside(m, t, true, map[visit]bool{})
}

// visit is a type inside an attribute, and whether attributevalue can take the
// address of its values there.
type visit struct {
	t           *Type
	addressable bool
}

func (b *builder) inside(m *taggedField, t *Type, addressable bool, seen map[visit]bool) {
	if t == nil || t.Time || seen[visit{t, addressable}] {
		return
	}
	seen[visit{t, addressable}] = true
	if t.Marshals {
		if !addressable && !t.MarshalsValue {
			b.fault(m.at(), "declare the method on the value, or use *"+t.Name,
				"%s encodes itself by a method of its pointer, but attributevalue does not call that for values of "+
					"a map", t.Name)
		}
		return
	}
	switch t.Kind {
	case Bytes:
		if t.Elem.Name != "uint8" {
			b.fault(m.at(), "use []byte", "attributevalue panics on %s, whose elements are named bytes", t.Name)
		}
		return
	case Other:
		b.fault(m.at(), `tag it ddb:"-"`, "attributevalue would silently drop the %s in it", t.Name)
	case Interface:
		if t.Methods {
			b.fault(m.at(), "use any, or a concrete type", "the interface %s can be written, but not read back", t.Name)
		}
	case Pointer:
		if t.endless() {
			b.fault(m.at(), "use a struct with a pointer in it", "%s points to itself, so that it has no value",
				t.Name)
			return
		}
		if !strings.HasPrefix(t.Name, "*") {
			return // namedPointer has reported it
		}
		if t.Elem.Kind == Interface {
			b.fault(m.at(), "use "+t.Elem.Name,
				"attributevalue would silently drop the pointer to an interface %s", t.Name)
			return
		}
		addressable = true
	case Slice:
		addressable = true
	case Map:
		b.mapKey(m, t.Key)
		addressable = false
	case Struct:
		if len(t.Fields) > 0 && len(b.exported(t)) == 0 {
			b.fault(m.at(), "declare MarshalDynamoDBAttributeValue and its inverse, or store another type",
				"%s has no exported fields, so that attributevalue would store it empty", t.Name)
		}
		for _, f := range t.Fields {
			b.nestedField(m, t, f, addressable, seen)
		}
	}
	b.inside(m, t.Elem, addressable, seen)
}

// namedPointer refuses pointer types with a name, wherever they are in a field. Neither codec could make such a value:
// a pointer to a value has the type without the name.
func (b *builder) namedPointer(m *taggedField, t *Type, seen map[*Type]bool) {
	if t == nil || seen[t] || t.Marshals && t.Unmarshals {
		return
	}
	seen[t] = true
	if t.Kind == Pointer && !strings.HasPrefix(t.Name, "*") && !t.endless() {
		b.fault(m.at(), "use *"+t.Elem.Name, "%s is a pointer type with a name, which is not supported", t.Name)
		return
	}
	b.namedPointer(m, t.Key, seen)
	b.namedPointer(m, t.Elem, seen)
	for _, f := range t.Fields {
		if !f.Ignored() {
			b.namedPointer(m, f.Type, seen)
		}
	}
}

func (b *builder) nestedField(m *taggedField, t *Type, f *Field, addressable bool, seen map[visit]bool) {
	tag := b.parse(t, f)
	if tag.Present && !(tag.Skip && tag.AV.Ignore) && (f.Exported || f.Name == "_") {
		b.fault(place{in: t, field: f}, `remove it (to leave the field out, write dynamodbav:"-")`,
			"a ddb tag has no effect inside the attribute %s", m.Name)
	}
	if f.Embedded && f.Type.Spreads() && tag.AV.Name == "" && !tag.AV.Ignore && t.embeds(t, map[*Type]bool{}) {
		b.embedsItself(t, f)
		return
	}
	own := f.Type.deref()
	encodes := f.Type.Marshals || own.Marshals || own.Unmarshals
	flattened := f.Embedded && tag.AV.Name == "" && !tag.AV.Ignore
	if flattened && encodes && !t.Unmarshals && own.Kind == Struct && !own.Time {
		b.fault(place{in: t, field: f}, "give the field a name",
			"attributevalue stores the fields of the embedded %s, and does not call its methods", own.Name)
		return
	}
	if (f.Exported || f.Embedded) && !tag.AV.Ignore {
		b.quotedTime(place{in: t, field: f}, f.Type, tag.AV)
		b.inside(m, f.Type, addressable, seen)
	}
}

func (b *builder) mapKey(m *taggedField, k *Type) {
	switch {
	case k.TextValue != k.UnmarshalsText:
		b.fault(m.at(), "declare both, on the value and on its pointer",
			"the map key %s has only one of MarshalText and UnmarshalText", k.Name)
	case k.Stringer && !k.Number && !k.TextValue:
		b.fault(m.at(), "declare MarshalText and UnmarshalText, or use another type",
			"attributevalue writes the map key %s by its String method, but cannot read it back", k.Name)
	case k.TextValue, k.Kind == Bool, k.Kind == String, k.Kind == Int, k.Kind == Uint, k.Kind == Float:
	default:
		b.fault(m.at(), "use a string or a number", "attributevalue has no map keys of type %s", k.Name)
	}
}

// check holds the rules that need the whole layout.
func (b *builder) check() {
	b.ownNames()
	for _, t := range b.e.Tables {
		b.rangeType(t)
		b.meetings(t)
		if t.Index > 0 && !slices.ContainsFunc(b.e.Items, func(it *Item) bool { return it.Table == t }) {
			b.fault(place{in: b.e.Type, field: t.Field}, "remove it, or add table="+t.Name+" to a field",
				"no field is stored in the table %s", t.Name)
		}
	}
	b.finerThanStored(b.e.PK, b.storedAsSeconds)
	for _, it := range b.e.Items {
		b.collisions(it)
		b.zeroTimes(it)
		if it.keyStored(); it.Key != nil && !b.badKey[it] {
			b.finerThanStored(it.Key, b.storedAsSeconds)
		}
	}
	if len(b.faults) == 0 {
		b.flat()
		b.periods()
	}
}

// keyStored sets KeyStored.
func (it *Item) keyStored() {
	for i := 0; it.Element() && it.Key != nil && i < len(it.Key.Sources); i++ {
		src := it.Key.Sources[i]
		if src.From == FromElement && slices.ContainsFunc(it.Attributes, func(a *Attribute) bool {
			return slices.Equal(a.Value.Path, src.Value.Path)
		}) {
			it.KeyStored = append(it.KeyStored, i)
		}
	}
}

// finerThanStored refuses a key with a finer time than the attribute that holds the same field: after a load the
// field has the time of the attribute, of which another key would be made. stored reports whether the field of a
// placeholder is stored in seconds.
func (b *builder) finerThanStored(k *Key, stored func(Source) bool) {
	for i, src := range k.Sources {
		if kind := k.Format(i).Kind; kind != key.Nanos && kind != key.Millis || !stored(src) {
			continue
		}
		b.fault(
			b.keyAt(k),
			"write {"+src.Value.Name+":seconds}, or {"+src.Value.Name+":unix}",
			"%s is finer than the stored seconds (unixtime) of the field, so that its attribute and its key "+
				"would have different times",
			src.Text,
		)
	}
}

// storedAsSeconds reports whether an attribute holds the field of a placeholder in seconds.
func (b *builder) storedAsSeconds(src Source) bool {
	return src.field != nil && b.avOf(src).Has("unixtime") && slices.ContainsFunc(b.e.Items, func(it *Item) bool {
		return slices.ContainsFunc(it.Attributes, func(a *Attribute) bool {
			self := src.From == FromSelf && a.Field == nil && it.Field.Name == src.Value.Name
			return self || a.Field == src.field && slices.Equal(a.Value.Path, src.Value.Path)
		})
	})
}

// ownNames checks the attributes that the library writes by itself.
func (b *builder) ownNames() {
	for _, m := range b.blanks {
		for _, w := range []string{"version", "state", "incarnation", "migration", "ttl"} {
			o, ok := m.tag.Option(w)
			if !ok {
				continue
			}
			for _, t := range b.e.Tables {
				if o.Value == t.Hash || o.Value == t.Range {
					b.fault(m.option(w), "use another name",
						"the attribute %q of %s= is a key attribute of the table %s", o.Value, w, t.Name)
				}
			}
			if of := b.reserved(o.Value); of != "" && of != w {
				b.fault(m.option(w), "use another name", "the attribute %q of %s= is also that of %s=", o.Value, w, of)
			}
			if o.Value == "-" && w == "version" {
				b.fault(m.option(w), "write noversion", "a model without versions")
			}
		}
	}
}

// reserved returns the option that renames the attribute of this name which the library keeps for itself,
// "" for another attribute.
func (b *builder) reserved(name string) string {
	switch name {
	case b.e.State:
		return "state"
	case b.e.Incarnation:
		return "incarnation"
	case b.e.Moved:
		return "migration"
	case cmp.Or(b.e.Version, DefaultVersion):
		return "version"
	}
	return ""
}

// keyAt is where a key's template is.
func (b *builder) keyAt(k *Key) place { return place{b.declaring(k.At), k.At, k.Pos, k.End} }

// at is where an item's template is.
func (b *builder) at(it *Item) place {
	pl := place{in: b.e.Type, field: it.Decl}
	if it.Key != nil {
		pl = place{b.declaring(it.Key.At), it.Key.At, it.Key.Pos, it.Key.End}
	}
	return pl
}

func (b *builder) declaring(f *Field) *Type {
	for _, m := range slices.Concat(b.blanks, b.fields) {
		if m.Field == f {
			return m.in
		}
	}
	return b.e.Type
}

// rangeType settles the type of a table's sort key: all templates agree.
func (b *builder) rangeType(t *Table) {
	var first *Item
	for _, it := range b.e.Items {
		if it.Table != t || it.Key == nil || b.badKey[it] {
			continue
		}
		if first == nil {
			first, t.RangeType = it, it.Key.Template.Type
		} else if typ := it.Key.Template.Type; typ != t.RangeType {
			b.fault(b.at(it), "give one of them a text form (a width, or a literal)",
				"the sort key %q has the type %c, but %q has %c: the key attribute %s has one type", it.Key.Text, typ,
				first.Key.Text, t.RangeType, t.Range)
		}
	}
}

// meetings refuses items whose keys some values could make equal (law 4, docs/design/invariants.md).
func (b *builder) meetings(t *Table) {
	var items []*Item
	for _, it := range b.e.Items {
		if it.Table == t && it.Key != nil && !b.badKey[it] {
			items = append(items, it)
		}
	}
	for i, x := range items {
		for _, y := range items[i+1:] {
			w, collide := key.Overlap(x.Key.Template, y.Key.Template)
			if !collide {
				continue
			}
			b.fault(b.at(y), "begin one of them with a constant segment",
				"key collision of %s and %s: %s", x.label(), y.label(), witness(w, x.Key, y.Key))
			b.faults[len(b.faults)-1].Related = x.Decl
		}
	}
}

// label is an item's field and template.
func (it *Item) label() string {
	switch {
	case it.Key == nil:
		return it.Name
	case it.Decl.Name == "_":
		return it.Key.Text
	}
	return fmt.Sprintf("%s (%s)", it.Decl.Name, it.Key.Text)
}

// witness shows the values that make two templates equal.
func witness(w key.Scalar, x, y *Key) string {
	text := fmt.Sprintf("both make %s", w)
	var with []string
	for _, k := range []*Key{x, y} {
		values := make([]key.Value, len(k.Sources))
		if w.Type == 'S' && k.Template.Parse(w, values) {
			for i, v := range values {
				with = append(with, fmt.Sprintf("%s = %s", k.Sources[i].Text, v))
			}
		}
	}
	if len(with) > 0 {
		text += " with " + strings.Join(with, ", ")
	}
	return text
}

// collisions refuses attributes of one item with the same name, or with the name of a reserved
// attribute.
func (b *builder) collisions(it *Item) {
	taken := map[string]string{
		cmp.Or(b.e.Version, DefaultVersion): "the item's version", b.e.State: "the item's state",
		b.e.Incarnation: "the item's incarnation", b.e.Moved: "the record of a migration",
	}
	taken[it.Table.Hash] = "the partition key"
	if it.Table.Range != "" {
		taken[it.Table.Range] = "the sort key"
	}
	b.derivedNames(it, taken)
	for _, a := range it.Attributes {
		pl := place{in: b.e.Type, field: a.Field}
		for t, fields := range b.spreads {
			if slices.ContainsFunc(fields, func(m *taggedField) bool { return m.Field == a.Field }) {
				pl.in = t
			}
		}
		if a.Name == b.e.TTL && !b.isExpiry(it, a) {
			b.fault(pl, "rename one of them, or tag a time field ttl and dynamodbav unixtime",
				"the attribute %q of %s is the table's TTL attribute, by which DynamoDB would delete items", a.Name,
				a.Value.Name)
			continue
		}
		if what, ok := taken[a.Name]; ok {
			cure := `rename it: dynamodbav:"other"`
			if strings.HasPrefix(what, "a key of the index") {
				cure = "name another attribute in hash= or range= of the index"
			}
			if of := b.reserved(a.Name); of != "" {
				cure += fmt.Sprintf(", or rename the library's attribute with %s= on _", of)
			}
			b.fault(pl, cure, "the attribute %q of %s is also %s of the item %q", a.Name, a.Value.Name, what, it.Name)
			continue
		}
		taken[a.Name] = "that of " + a.Value.Name
	}
}

// derivedNames checks the attributes that exist only for indexes, and adds them to taken. It also
// checks that no index includes an item that was not declared on it.
func (b *builder) derivedNames(it *Item, taken map[string]string) {
	for _, k := range it.Derived {
		at := place{b.declaring(k.At), k.At, k.Pos, k.End}
		if k.Name == b.e.TTL {
			taken[k.Name] = "the table's TTL attribute"
		}
		if what, ok := taken[k.Name]; ok {
			b.fault(at, "name another attribute in hash= or range=",
				"the attribute %q of the index is also %s of the item %q", k.Name, what, it.Name)
			continue
		}
		taken[k.Name] = "a key of the index " + it.IndexOf(k.Name)
	}
	for _, x := range b.e.Indexes {
		if x.Table != it.Table || slices.ContainsFunc(x.Entries, func(e *Entry) bool { return e.Item == it }) {
			continue
		}
		for _, a := range x.Attributes() {
			i := it.Attribute(a.Name)
			if i < 0 {
				continue
			}
			b.fault(place{in: b.e.Type, field: x.Field},
				"declare the index on that item too (on=), or use another attribute in hash= or range=",
				"the attribute %q of %s is a key of the index %s, which is declared on other items", a.Name,
				it.Attributes[i].Value.Name, x.Name)
		}
	}
}

// zeroTimes refuses omitempty of times: attributevalue stores the zero time anyway, as year 1, so that
// the attribute is never absent. The attribute of an expiry, or of an index key, is left out with or
// without the option.
func (b *builder) zeroTimes(it *Item) {
	for i, a := range it.Attributes {
		if m := b.taggedOf(a.Field); m != nil {
			b.quotedTime(m.at(), a.Value.Type, a.AV)
		}
		if m := b.taggedOf(a.Field); m != nil && a.Value.Type.Time && a.AV.Has("omitempty") && !b.isExpiry(it, a) &&
			!it.Sparse(i) {
			b.fault(m.at(), "use *"+a.Value.Type.Name+", which is left out where it is nil",
				"attributevalue stores the zero time despite omitempty")
		}
	}
}

// quotedTime refuses the option string of a time: attributevalue writes a text of RFC 3339, and reads a number.
func (b *builder) quotedTime(at place, t *Type, av grammar.AV) {
	for n := 0; n < 8 && t.Kind == Pointer; n++ {
		t = t.Elem
	}
	if t.Time && av.Has("string") && !av.Has("unixtime") {
		b.fault(
			at,
			"remove string: a time is stored as text",
			"attributevalue writes a time with the option string as text, "+
				"but reads it as a number",
		)
	}
}

// isExpiry reports whether the attribute is itself the item's expiry, in epoch seconds.
func (b *builder) isExpiry(it *Item, a *Attribute) bool {
	return it.Expiry != nil && a.AV.Has("unixtime") && slices.Equal(it.Expiry.Path, a.Value.Path)
}

// flat finds out whether singletons' sort keys name fields that the partition
// key does not give, and checks that each item of such a model names its entity.
func (b *builder) flat() {
	for _, it := range b.singletons() {
		if it.Key == nil {
			continue
		}
		for _, s := range it.Key.Sources {
			if !b.inPartitionKey(s.KeyField) {
				b.e.Flat = true
				b.e.KeyFields[s.KeyField].Identity = true
			}
		}
	}
	if b.e.Flat {
		b.orderKeyFields()
	}
	b.shards()
	for _, it := range b.e.Items {
		b.e.Scattered = b.e.Scattered || it.Table != b.e.Root.Table
		switch {
		case !b.e.Flat:
		case it.Key == nil:
			b.fault(b.at(it), "declare the table with a sort key that has the same placeholders",
				"all entities of a partition would share the item in the table %s", it.Table.Name)
		case b.underPrefix(it):
			it.Prefix = b.e.prefixText(it)
			b.e.Scattered = b.e.Scattered || b.e.Root.Key != nil && it.Prefix != b.e.prefixText(b.e.Root)
		}
	}
}

// inPartitionKey reports whether the partition key gives a key field in full.
func (b *builder) inPartitionKey(field int) bool {
	return b.e.InPartitionKey(field)
}

func (b *builder) singletons() []*Item {
	return slices.DeleteFunc(slices.Clone(b.e.Items), (*Item).Element)
}

// orderKeyFields brings the fields that an entity is known by into the order in
// which they are given: those of the partition key, then those of the root.
func (b *builder) orderKeyFields() {
	rank := map[int]int{}
	for _, k := range []*Key{b.e.PK, b.e.Root.Key} {
		if k == nil {
			continue
		}
		for _, s := range k.Sources {
			if _, ok := rank[s.KeyField]; !ok && s.From == FromModel {
				rank[s.KeyField] = len(rank)
			}
		}
	}
	for i := range b.e.KeyFields {
		if _, ok := rank[i]; !ok {
			rank[i] = len(rank)
		}
	}
	keyFields := make([]*KeyField, len(b.e.KeyFields))
	for old, now := range rank {
		keyFields[now] = b.e.KeyFields[old]
	}
	b.e.KeyFields = keyFields
	for _, k := range b.keys() {
		for i := range k.Sources {
			if s := &k.Sources[i]; s.From == FromModel {
				s.KeyField = rank[s.KeyField]
			}
		}
	}
}

func (b *builder) keys() []*Key {
	all := []*Key{b.e.PK}
	for _, it := range b.e.Items {
		if it.Key != nil {
			all = append(all, it.Key)
		}
		for _, e := range it.Entries {
			for _, k := range e.Keys() {
				if k.Own != Primary && !slices.Contains(all, k.Key) {
					all = append(all, k.Key)
				}
			}
		}
	}
	return all
}

// underPrefix checks that a flat model's item names all that its entity is
// known by, in text that its key begins with.
func (b *builder) underPrefix(it *Item) bool {
	for i, o := range b.e.KeyFields {
		inKey := slices.ContainsFunc(it.Key.Sources,
			func(s Source) bool { return s.From == FromModel && s.KeyField == i })
		if o.Identity && b.inSortKeys(i) && !b.inPartitionKey(i) && !inKey {
			how := "{" + o.Name + "}"
			if it.Element() {
				how = "{^" + o.Name + "}"
			}
			b.fault(b.at(it), "add "+how,
				"the key of %s lacks %s, which distinguishes the entities of a partition", it.label(), o.Name)
			return false
		}
	}
	n := b.e.PrefixParts(it)
	if parts := it.Key.Template.Parts; n < len(parts) && !strings.HasPrefix(parts[n].Text, string(b.e.Delim)) {
		b.fault(b.at(it), "put the delimiter "+string(b.e.Delim)+" behind it",
			"the key of %s continues without a delimiter after the entity's own part, so that entities would mix",
			it.label())
		return false
	}
	return true
}

// inSortKeys reports whether a singleton's sort key names the key field.
func (b *builder) inSortKeys(field int) bool {
	return slices.ContainsFunc(b.singletons(), func(it *Item) bool {
		return it.Key != nil && slices.ContainsFunc(it.Key.Sources, func(s Source) bool { return s.KeyField == field })
	})
}

// PrefixParts returns how many parts of a flat item's template belong to what
// its entity is known by: all up to the last such placeholder.
func (e *Entity) PrefixParts(it *Item) int {
	last, n := 0, 0
	for i, p := range it.Key.Template.Parts {
		if p.Format.Kind == key.Literal {
			continue
		}
		if s := it.Key.Sources[n]; s.From == FromModel && e.KeyFields[s.KeyField].Identity {
			last = i + 1
		}
		n++
	}
	return last
}

// prefixText returns the template of the common beginning of a flat item's keys. The items of an entity
// whose keys begin with the same text share a prefix.
func (e *Entity) prefixText(it *Item) string {
	var s strings.Builder
	i := 0
	for _, p := range it.Key.Template.Parts[:e.PrefixParts(it)] {
		if p.Format.Kind == key.Literal {
			s.WriteString(p.Text)
			continue
		}
		fmt.Fprintf(&s, "{%d %v}", it.Key.Sources[i].KeyField, p.Format)
		i++
	}
	return s.String()
}
