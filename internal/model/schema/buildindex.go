package schema

import (
	"slices"
	"strings"

	"github.com/itemize/itemize/internal/model/grammar"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/naming"
)

// indexes reads the blank fields that declare indexes.
func (b *builder) indexes() {
	for _, m := range b.blanks {
		if m.tag.Has("index") && !b.badTag[m.Field] {
			b.index(m)
		}
	}
	for _, t := range b.e.Tables {
		b.tooManyIndexes(t)
	}
	for _, x := range b.e.Indexes {
		for _, e := range x.Entries {
			b.renamedInIndex(e)
		}
		b.undeclared(x)
	}
	b.keyTypes()
}

// undeclared adds the kinds of items in an index that no declaration names: whose keys
// are all attributes that they have. They cost, and no query asks for them.
func (b *builder) undeclared(x *Index) {
	for _, it := range b.e.Items {
		if it.Table != x.Table || slices.ContainsFunc(it.Entries, func(e *Entry) bool { return e.Index == x }) {
			continue
		}
		e := &Entry{Index: x, Item: it, Field: x.Field}
		for i, a := range x.Attributes() {
			k := b.primary(it, a.Name)
			if k == nil {
				if j := it.DerivedKey(a.Name); j >= 0 {
					k = it.Derived[j]
				}
			}
			switch {
			case k == nil:
				e = nil
			case i < len(x.Hash):
				e.Hash = append(e.Hash, k)
			default:
				e.Range = append(e.Range, k)
			}
			if e == nil {
				break
			}
		}
		if e != nil {
			it.Entries = append(it.Entries, e)
		}
	}
}

// keyTypes refuses an attribute that is a key of two types, which a table does not have.
func (b *builder) keyTypes() {
	seen := map[[2]string]byte{}
	for _, t := range b.e.Tables {
		seen[[2]string{t.Name, t.Hash}], seen[[2]string{t.Name, t.Range}] = t.HashType, t.RangeType
	}
	for _, x := range b.e.Indexes {
		for _, a := range x.Attributes() {
			at := [2]string{x.Table.Name, a.Name}
			if was := seen[at]; was != 0 && a.Type != 0 && was != a.Type {
				b.fault(place{in: b.e.Type, field: x.Field}, "name another attribute in hash= or range=",
					"the attribute %q is a key of type %c in the index %s, and of type %c in another key of the table",
					a.Name, a.Type, x.Name, was)
			}
			seen[at] = a.Type
		}
	}
}

// renamedInIndex refuses an index that names an attribute which items may hold under another name.
func (b *builder) renamedInIndex(e *Entry) {
	named := func(a *Attribute) bool {
		if slices.Contains(e.Index.Include, a.Name) {
			return true
		}
		for _, k := range e.Keys() {
			for _, src := range k.Sources {
				if src.field != nil && src.field == a.Field && slices.Equal(src.Value.Path, a.Value.Path) {
					return true
				}
			}
		}
		return false
	}
	for _, a := range e.Item.Attributes {
		if len(a.Was) > 0 && named(a) {
			b.fault(place{in: b.e.Type, field: e.Field}, "keep the attribute's name, with dynamodbav:\"oldName\"",
				"the index %s has the key attribute %s, which items may store as %s too (was=): an index knows one "+
					"name",
				e.Index.Name, a.Value.Name, strings.Join(a.Was, ", "))
		}
	}
}

// indexOptions are those that a declaration of an index may have.
var indexOptions = []string{"index", "hash", "range", "pk", "sk", "on", "local", "project", "name"}

// index reads one declaration: an index, or the entry of a further kind of items.
func (b *builder) index(m *taggedField) {
	for _, o := range m.tag.Options {
		if !slices.Contains(indexOptions, o.Word) {
			b.fault(m.option(o.Word), "move it to a blank field of its own", "the option %s does not go with index=",
				o.Word)
		}
	}
	it := b.carrier(m)
	if it == nil {
		return
	}
	x := &Index{Name: m.tag.Value("index"), Table: it.Table, Local: m.tag.Has("local"), Field: m.Field}
	if n := len(x.Name); n < 3 || n > 255 {
		b.fault(m.option("index"), "DynamoDB takes 3 to 255 characters", "the length of the index name %q is %d",
			x.Name, n)
		return
	}
	e := &Entry{Index: x, Item: it, Name: m.tag.Value("name"), Field: m.Field}
	if i := strings.IndexFunc(x.Name, func(r rune) bool { return !isNameRune(r) }); i >= 0 {
		b.fault(m.option("index"), "DynamoDB takes letters, digits, '_', '-' and '.'", "the index name %q contains "+
			"%q",
			x.Name, x.Name[i:i+1])
		return
	}
	faults := len(b.faults)
	switch {
	case x.Local:
		b.localKeys(m, e)
	default:
		e.Hash = b.indexKeys(m, it, "pk", "hash")
		e.Range = b.indexKeys(m, it, "sk", "range")
		if len(e.Hash) == 0 && len(b.faults) == faults {
			b.fault(m.option("index"), "add pk=TEMPLATE, and hash=ATTR unless that is a field as it is",
				"the index %s has no partition key", x.Name)
		}
	}
	if len(b.faults) > faults {
		return
	}
	x.Hash, x.Range = keyAttributes(e.Hash), keyAttributes(e.Range)
	b.projection(m, x)
	b.enter(m, e)
}

func isNameRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' || r == '.'
}

// carrier returns the item that carries the keys of an index: the root, or what on= names.
func (b *builder) carrier(m *taggedField) *Item {
	o, ok := m.tag.Option("on")
	if !ok {
		return b.e.Root
	}
	var allNames []string
	for _, it := range b.e.Items {
		names := []string{it.Name}
		if it.Key != nil {
			names = append(names, it.Key.Text)
		} else {
			names = append(names, it.Table.Name, it.Table.Word)
		}
		for _, f := range b.fields {
			if b.onItem[f.Field] == it {
				names = append(names, f.Name)
			}
		}
		if slices.Contains(names, o.Value) {
			return it
		}
		allNames = append(allNames, names...)
	}
	cure := "write the sort key of an item as its tag has it, or a field of the item"
	if n := naming.Nearest(o.Value, allNames); n != "" {
		cure = "write on=" + n
	}
	b.fault(m.option("on"), cure, "no item of the model has the name %q", o.Value)
	return nil
}

// localKeys makes the keys of a local index: the table's partition key, and one attribute.
func (b *builder) localKeys(m *taggedField, e *Entry) {
	t := e.Item.Table
	for _, w := range []string{"pk", "hash"} {
		if m.tag.Has(w) {
			b.fault(m.option(w), "remove it",
				"a local index has the table's partition key: %s= has no effect", w)
		}
	}
	if t.Range == "" {
		b.fault(m.option("local"), "remove local, and add pk=TEMPLATE",
			"the table %s has no sort key, so that it cannot have local indexes", t.Name)
		return
	}
	e.Hash = []*IndexKey{{Key: b.e.PK, Name: t.Hash, Own: Primary}}
	e.Range = b.indexKeys(m, e.Item, "sk", "range")
	if len(e.Range) == 0 && !m.tag.Has("sk") && !m.tag.Has("range") {
		b.fault(m.option("index"), "add sk=TEMPLATE, and range=ATTR unless that is a field as it is",
			"the local index %s has no sort key", e.Index.Name)
	}
	if len(e.Range) > 1 {
		b.fault(m.option("sk"), "join them in one template, such as {A}#{B}",
			"a local index has one sort key attribute, but this one has %d", len(e.Range))
	}
}

// indexKeys makes the keys of one side: word is pk or sk, and attribute hash or range.
func (b *builder) indexKeys(m *taggedField, it *Item, word, attribute string) []*IndexKey {
	o, has := m.tag.Option(word)
	var names []string
	if n, ok := m.tag.Option(attribute); ok {
		names = strings.Split(n.Value, grammar.KeySeparator)
	}
	switch {
	case !has && len(names) == 0:
		return nil
	case !has && len(names) == 1:
		if k := b.primary(it, names[0]); k != nil {
			return []*IndexKey{k}
		}
		fallthrough
	case !has:
		b.fault(m.option(attribute), "add "+word+"=TEMPLATE",
			"the key attribute %s= of the index has no template", attribute)
		return nil
	case len(o.Keys) > MaxIndexKeys:
		b.fault(m.option(word), "join some of them in one template, such as {A}#{B}",
			"the index has %d attributes in %s=, but DynamoDB takes %d", len(o.Keys), word, MaxIndexKeys)
		return nil
	case len(names) > 0 && len(names) != len(o.Keys):
		b.fault(m.option(attribute), "name an attribute for each template, in their order, with "+grammar.KeySeparator+
			" between them", "%s= names %d attributes, but %s= has %d templates", attribute, len(names), word,
			len(o.Keys))
		return nil
	}
	var keys []*IndexKey
	for i, t := range o.Keys {
		one := o
		one.Template = t
		name := ""
		if len(names) > 0 {
			name = names[i]
		}
		if k := b.indexKey(m, it, one, name, attribute); k != nil {
			keys = append(keys, k)
		}
	}
	return keys
}

// primary returns the key of an index that is one of the table's keys, nil for another attribute.
func (b *builder) primary(it *Item, name string) *IndexKey {
	switch {
	case name == it.Table.Hash:
		return &IndexKey{Key: b.e.PK, Name: name, Own: Primary}
	case name == it.Table.Range && it.Key != nil:
		return &IndexKey{Key: it.Key, Name: name, Own: Primary}
	}
	return nil
}

// indexKey makes one key attribute of an index. name is "" where it is a field's own.
func (b *builder) indexKey(m *taggedField, it *Item, o grammar.Option, name, attribute string) *IndexKey {
	faults := len(b.faults)
	k := &IndexKey{Key: b.key(m, o, b.scopeOf(it)), Name: name, Own: Derived}
	b.finerThanStored(k.Key, func(src Source) bool { return src.From != FromModel && b.avOf(src).Has("unixtime") })
	b.finerThanKey(m, it, o, k)
	if len(b.faults) > faults {
		return nil
	}
	own := b.own(it, k.Key)
	if p := b.primary(it, name); p != nil {
		if p.Text != k.Text {
			b.fault(m.option(attribute), "leave the template out, or name another attribute",
				"the attribute %q is a key of the table %s with the template %q", name, it.Table.Name, p.Text)
			return nil
		}
		return p
	}
	switch {
	case own >= 0 && (name == "" || name == it.Attributes[own].Name):
		k.Own, k.Name = own, it.Attributes[own].Name
		return k
	case name == "":
		cure := "add " + attribute + "=ATTR, the name of an attribute for it"
		if len(k.Sources) == 1 && k.Format(0).Value == key.Time && b.avOf(k.Sources[0]).Has("unixtime") {
			cure = "write {" + k.Sources[0].Value.Name + ":unix}, as the field is stored, or " + cure
		}
		b.fault(m.option(o.Word), cure, "the key %q of the index is not an attribute of the item", k.Text)
		return nil
	}
	return b.derived(m, it, k, attribute)
}

// finerThanKey refuses an index key with a finer value than the keys of the item, if only these have
// the value. A part that is loaded, or patched, does not know the finer value.
func (b *builder) finerThanKey(m *taggedField, it *Item, o grammar.Option, k *IndexKey) {
	for i, src := range k.Sources {
		if src.From != FromModel {
			continue
		}
		found := false
		var held Source
		for _, of := range []*Key{b.e.PK, it.Key} {
			if of == nil {
				continue
			}
			for n, s := range of.Sources {
				if s.From == FromModel && s.KeyField == src.KeyField {
					held = s
					found = found || s.Lossless || of.Format(n).Kind == k.Format(i).Kind
				}
			}
		}
		if !found {
			b.fault(m.option(o.Word), "write "+held.Text+", or name a field of "+it.Name,
				"the keys of %s hold the field as %s only, but the index needs %s", it.Name, held.Text,
				src.Text)
		}
	}
}

// own returns the index of the attribute that holds just what a template gives, or -1.
func (b *builder) own(it *Item, k *Key) int {
	if len(k.Template.Parts) != 1 || len(k.Sources) != 1 {
		return -1
	}
	src := k.Sources[0]
	f := k.Format(0)
	if f.Kind != key.Native || KeyText(src.Value.Type, f.Value) {
		return -1
	}
	return slices.IndexFunc(it.Attributes, func(a *Attribute) bool {
		if a.Field == nil || a.Field != src.field {
			return false
		}
		w := a.Value.Type.Wire(a.AV.Options)
		return w.Type == string(k.Template.Type) && (f.Value != key.Time || w.Format == "unixtime")
	})
}

// derived notes an attribute that is written for indexes alone: once, whichever indexes it is in.
func (b *builder) derived(m *taggedField, it *Item, k *IndexKey, attribute string) *IndexKey {
	for _, d := range it.Derived {
		if d.Name != k.Name {
			continue
		}
		if d.Text == k.Text {
			return d
		}
		b.fault(m.option(attribute), "name another attribute, or write the same template",
			"the attribute %q holds %q as a key of another index, not %q", k.Name, d.Text, k.Text)
		return nil
	}
	it.Derived = append(it.Derived, k)
	return k
}

// scopeOf returns the names that the templates of an index on an item can use.
func (b *builder) scopeOf(it *Item) scope {
	sc := scope{index: it}
	if it.Element() {
		sc.elem = true
		sc.field = find(b.fields, it.Field.Name)
		if it.Elem.Spreads() {
			sc.fieldsOf = b.spread(it.Elem)
		}
	}
	return sc
}

// indexSource finds what a placeholder of an index on a singleton names: a field that is on the
// item, or one that its keys hold.
func (b *builder) indexSource(at place, p grammar.Part, it *Item) (Source, bool) {
	var nested []*Attribute
	for _, a := range it.Attributes {
		switch {
		case a.Value.Name == p.Name:
			return Source{From: FromItem, Value: a.Value, field: a.Field}, true
		case strings.HasSuffix(a.Value.Name, "."+p.Name):
			nested = append(nested, a) // of a struct that is spread
		}
	}
	if len(nested) == 1 {
		return Source{From: FromItem, Value: nested[0].Value, field: nested[0].Field}, true
	}
	if src, ok := b.heldSource(p.Name, it); ok {
		return src, true
	}
	if m := find(b.fields, p.Name); m != nil {
		o := b.onItem[m.Field]
		if o == nil {
			b.fault(at, "store it, or name a field that is",
				"%s is not stored by itself, but the key of an index consists of stored attributes", p)
			return Source{}, false
		}
		where := "is in " + o.Name
		if it.Element() {
			b.fault(at, "store the field in the element as well, or name a field of the element or of the item's "+
				"keys",
				"%s %s, but the index is on the elements of %s, whose writes would not change it", p, where, it.Name)
			return Source{}, false
		}
		b.fault(at, "name fields of "+it.Name+", or add on= with the item of the field",
			"%s %s, but the index is on the item %s, whose write would not change it", p, where, it.Name)
		return Source{}, false
	}
	for _, o := range b.e.Items {
		if o.Element() && o.Elem.Spreads() && find(b.spread(o.Elem), p.Name) != nil {
			b.fault(at, "add on="+o.Field.Name, "%s names a field of the elements of %[3]s, not of %[2]s", p,
				b.e.Type.Name, o.Name)
			return Source{}, false
		}
	}
	if b.skipped(p.Name) {
		b.fault(at, "store it, or name a field that is", "%s names a field that is not stored (ddb:\"-\"), but the "+
			"key of an index consists of stored attributes", p)
		return Source{}, false
	}
	b.missing(at, cureOf(p, b.fields, "the fields are "), "%s does not name a field of %s", p, b.e.Type.Name)
	return Source{}, false
}

// skipped reports whether a name is that of a field which is not stored.
func (b *builder) skipped(name string) bool {
	return slices.ContainsFunc(b.e.Type.Fields, func(f *Field) bool {
		return f.Name == name && f.Exported && find(b.fields, name) == nil
	})
}

// heldSource is a model's field that the keys of an item hold.
func (b *builder) heldSource(name string, it *Item) (Source, bool) {
	for _, k := range []*Key{b.e.PK, it.Key} {
		if k == nil {
			continue
		}
		for _, s := range k.Sources {
			if s.From == FromModel && s.Value.Name == name {
				return Source{From: FromModel, KeyField: s.KeyField, Value: s.Value, field: s.field}, true
			}
		}
	}
	return Source{}, false
}

// projection resolves project=: all where nothing is said.
func (b *builder) projection(m *taggedField, x *Index) {
	o, ok := m.tag.Option("project")
	switch {
	case !ok, o.Value == "all":
		x.All = true
		return
	case o.Value == "keys":
		return
	case slices.Contains([]string{"KEYS_ONLY", "keys_only", "none", "key", "keysonly"}, o.Value):
		b.fault(m.option("project"), "write project=keys", "%q is not a projection", o.Value)
		return
	case o.Value == "ALL" || o.Value == "*" || o.Value == "INCLUDE":
		b.fault(m.option("project"), "write project=all, or the fields in single quotes: project='A,B'",
			"%q is not a projection", o.Value)
		return
	}
	for _, name := range []string{b.e.State, b.e.Incarnation, b.e.TTL} {
		if name != "" && !slices.ContainsFunc(x.Attributes(), func(k KeyAttribute) bool { return k.Name == name }) {
			x.Include = append(x.Include, name)
		}
	}
	it := b.carrier(m)
	for name := range strings.SplitSeq(o.Value, ",") {
		attributes := b.projected(it, strings.TrimSpace(name))
		if attributes == nil && b.inKeys(it, strings.TrimSpace(name)) {
			b.fault(m.option("project"), "leave it out of the list",
				"%q is in the item's keys, which every index projects", name)
			continue
		}
		if f := find(b.fields, strings.TrimSpace(name)); attributes == nil && f != nil && b.onItem[f.Field] != nil {
			b.fault(m.option("project"), "project attributes of the index's own item",
				"%q is stored in %s, but the index is on %s", name, b.onItem[f.Field].Name, it.Name)
			continue
		}
		if attributes == nil {
			var names []string
			for _, a := range it.Attributes {
				for _, n := range []string{a.Value.Name, a.Name} {
					if !slices.Contains(names, n) {
						names = append(names, n)
					}
				}
			}
			cure := "the fields are " + strings.Join(names, ", ")
			if n := naming.Nearest(name, names); n != "" {
				cure = "write " + n
			}
			b.fault(m.option("project"), cure, "%s has no stored field %q to project", it.Name, name)
		}
		for _, a := range attributes {
			if !slices.Contains(x.Include, a) &&
				!slices.ContainsFunc(x.Attributes(), func(k KeyAttribute) bool { return k.Name == a }) {
				x.Include = append(x.Include, a)
			}
		}
	}
}

// inKeys reports whether a name is that of a key attribute of an item, or of a field that keys hold.
func (b *builder) inKeys(it *Item, name string) bool {
	if name == it.Table.Hash || name == it.Table.Range {
		return true
	}
	for _, k := range []*Key{b.e.PK, it.Key} {
		if k != nil && slices.ContainsFunc(k.Sources, func(s Source) bool { return s.Value.Name == name }) {
			return true
		}
	}
	return false
}

// projected returns the attributes of a field, by its name or theirs.
func (b *builder) projected(it *Item, name string) []string {
	var out []string
	for _, a := range it.Attributes {
		if a.Value.Name == name || a.Name == name || strings.HasPrefix(a.Value.Name, name+".") || it.Field != nil &&
			a.Value.Name == it.Field.Name+"."+name {
			out = append(out, a.Name)
		}
	}
	return out
}

func keyAttributes(keys []*IndexKey) []KeyAttribute {
	var out []KeyAttribute
	for _, k := range keys {
		out = append(out, KeyAttribute{k.Name, k.Template.Type})
	}
	return out
}

// enter adds an entry to its index, which may be declared already with other items.
func (b *builder) enter(m *taggedField, e *Entry) {
	x := e.Index
	for i, a := range x.Attributes() {
		if slices.ContainsFunc(x.Attributes()[:i], func(o KeyAttribute) bool { return o.Name == a.Name }) {
			b.fault(m.option("index"), "name each attribute once",
				"the keys of the index %s have the attribute %q twice", a.Name, x.Name)
			return
		}
	}
	i := slices.IndexFunc(b.e.Indexes, func(o *Index) bool { return o.Name == x.Name && o.Table == x.Table })
	if i < 0 {
		x.Number = len(b.e.Indexes)
		b.e.Indexes = append(b.e.Indexes, x)
	} else {
		same := b.e.Indexes[i]
		switch {
		case slices.ContainsFunc(same.Entries, func(o *Entry) bool { return o.Item == e.Item }):
			b.fault(m.option("index"), "keep one of them, or add on= with another item",
				"the index %s is declared twice on %s", x.Name, e.Item.Name)
			return
		case x.Local != same.Local, !slices.Equal(x.Hash, same.Hash), !slices.Equal(x.Range, same.Range):
			b.fault(m.option("index"), "name the same attributes, of the same types, in hash= and range= of both",
				"the index %s has different keys on %s", x.Name, same.Entries[0].Item.Name)
			return
		case m.tag.Has("project") && x.All != same.All, m.tag.Has("project") && x.KeysOnly() != same.KeysOnly():
			b.fault(m.option("project"), "write the same for both, or lists for both",
				"the index %s has a different projection on %s", x.Name, same.Entries[0].Item.Name)
			return
		}
		for _, name := range x.Include { // each kind of item has its list
			if !same.All && !slices.Contains(same.Include, name) {
				same.Include = append(same.Include, name)
			}
		}
		e.Index = same
	}
	e.Index.Entries = append(e.Index.Entries, e)
	e.Item.Entries = append(e.Item.Entries, e)
}

// tooManyIndexes holds the limits of a table.
func (b *builder) tooManyIndexes(t *Table) {
	global, local, listed := 0, 0, 0
	for _, x := range b.e.Indexes {
		switch {
		case x.Table != t:
			continue
		case x.Local:
			local++
		default:
			global++
		}
		listed += len(x.Include)
		at := place{in: b.e.Type, field: x.Field}
		switch {
		case local > MaxLocal:
			b.fault(at, "make it a global index, with pk=", "the table %s has more than %d local indexes", t.Name,
				MaxLocal)
			return
		case global > MaxGlobal:
			b.fault(at, "let indexes share key attributes, with a first segment of its own for each kind of item",
				"the table %s has more than %d global indexes, the default limit of DynamoDB", t.Name,
				MaxGlobal)
			return
		case listed > MaxProjected:
			b.fault(at, "write project=all, or list fewer",
				"the indexes of the table %s list %d attributes, but DynamoDB takes %d", t.Name, listed, MaxProjected)
			return
		}
	}
}
