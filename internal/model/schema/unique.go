package schema

import (
	"cmp"
	"slices"
	"strings"

	"github.com/itemize/itemize/internal/model/naming"
)

// Unique is a value that at most one entity of the model has: an attribute of the root item, or several together. An
// item with a key made of the value, its guard, reserves it for the entity.
type Unique struct {
	// Name is the model and the value in the keys of guards: User#email, or as= of the tag.
	Name string
	// Written are the fields as the tag names them, separated by commas.
	Written string
	// Attributes are the positions in Root.Attributes, in the order of the tag.
	Attributes []int
	// Fold reports that texts are compared without regard to case.
	Fold bool
	// Table is the table of the guards, "" for that of the root item.
	Table string
	Field *Field
}

// HasNormal reports whether values of a field of the type are compared by a method Normal.
func (t *Type) HasNormal() bool { return t.deref().Normal }

// Numeric reports whether values of the type are numbers, also if they are stored as text.
func (t *Type) Numeric() bool {
	switch t.Kind {
	case Int, Uint, Float, BigInt, BigFloat:
		return true
	}
	return t.Number
}

// fold is the word in unique= that is no field.
const fold = "fold"

// Guarded returns the attributes of a unique value.
func (e *Entity) Guarded(u *Unique) []*Attribute {
	all := make([]*Attribute, len(u.Attributes))
	for i, at := range u.Attributes {
		all[i] = e.Root.Attributes[at]
	}
	return all
}

// FieldNames returns the fields of a unique value, separated by commas.
func (e *Entity) FieldNames(u *Unique) string {
	var names []string
	for _, a := range e.Guarded(u) {
		names = append(names, a.Value.Name)
	}
	return strings.Join(names, ",")
}

// uniques reads the tags of unique values.
func (b *builder) uniques() {
	seen := map[*Field]bool{}
	for _, m := range b.storable() {
		if seen[m.Field] {
			continue
		}
		seen[m.Field] = true
		for _, word := range []string{"as", "guards"} {
			if m.tag.Has(word) && !m.tag.Has("unique") {
				b.fault(m.option(word), "add unique, or remove it", "the option %s belongs to a unique field", word)
			}
		}
		if m.tag.Has("unique") && !b.badTag[m.Field] && b.e.Root != nil {
			b.unique(m)
		}
	}
	b.uniqueNames()
}

// unique reads the tag of one unique value.
func (b *builder) unique(m *taggedField) {
	at := m.option("unique")
	switch {
	case b.e.Version == "":
		b.fault(at, "remove noversion, or unique", "guards need versions, but the model has none (noversion)")
		return
	case len(b.timed) > 0:
		b.fault(at, "store the value in a separate model", "unique values need a table that stays, but the model "+
			"has rotating tables")
		return
	}
	u := &Unique{Field: m.Field, Table: m.tag.Value("guards")}
	own := b.uniqueAttribute(m, m.Field, m.goName())
	if own < 0 {
		return
	}
	names, named := []string{}, false
	list := strings.Split(m.tag.Value("unique"), ",")
	for _, name := range list {
		switch name = strings.TrimSpace(name); {
		case name == "" && len(list) == 1:
		case name == "", name == fold && u.Fold:
			b.fault(at, "write each field, and fold, once, with one comma between two", "unique='%s' is not a list",
				m.tag.Value("unique"))
			return
		case name == fold:
			u.Fold = true
		default:
			names = append(names, name)
			i := b.uniqueNamed(m, name)
			if i < 0 {
				return
			}
			if slices.Contains(u.Attributes, i) {
				b.fault(at, "write each field once", "unique= has %s twice", name)
				return
			}
			named = named || i == own
			u.Attributes = append(u.Attributes, i)
		}
	}
	switch {
	case len(names) == 0:
		u.Attributes = []int{own}
	case !named:
		b.fault(at, "name it too, such as unique='"+strings.Join(append(names, m.goName()), ",")+"'",
			"unique= does not name its field %s", m.goName())
		return
	}
	if u.Fold && !slices.ContainsFunc(b.e.Guarded(u), func(a *Attribute) bool { return a.foldable() }) {
		b.fault(at, "write unique", "fold compares texts, but %s has none", b.e.FieldNames(u))
		return
	}
	b.guardTable(m, u)
	u.Name, u.Written = b.uniqueName(m, u), cmp.Or(strings.Join(names, ","), m.goName())
	b.e.Uniques = append(b.e.Uniques, u)
}

// uniqueName returns the name of a unique value in the keys of its guards.
func (b *builder) uniqueName(m *taggedField, u *Unique) string {
	if name := m.tag.Value("as"); name != "" {
		if strings.Count(name, "#") != 1 || strings.HasPrefix(name, "#") || strings.HasSuffix(name, "#") {
			b.fault(m.option("as"), "write as='"+b.e.Name+"#"+m.avName()+"'",
				"as= is the name of a model and of a value, with # between them")
		}
		return name
	}
	var names []string
	for _, a := range b.e.Guarded(u) {
		names = append(names, a.Name)
	}
	return escapeName(b.e.Name) + "#" + escapeName(strings.Join(names, ","))
}

// escapeName writes a name so that it contains no #.
func escapeName(name string) string { return strings.NewReplacer("%", "%25", "#", "%23").Replace(name) }

// uniqueNames refuses two unique values with one name, or with the same fields.
func (b *builder) uniqueNames() {
	for i, u := range b.e.Uniques {
		for _, o := range b.e.Uniques[:i] {
			at := place{in: b.e.Type, field: u.Field}
			if m := b.taggedOf(u.Field); m != nil {
				at = m.option("unique")
			}
			switch {
			case o.Name == u.Name:
				b.fault(at, "use another name in as=", "two unique values have the name %s", u.Name)
			case slices.Equal(slices.Sorted(slices.Values(o.Attributes)), slices.Sorted(slices.Values(u.Attributes))):
				b.fault(at, "keep one of them", "%s is unique twice", b.e.FieldNames(u))
			}
		}
	}
}

// guardTable refuses guards in a table whose keys cannot be text.
func (b *builder) guardTable(m *taggedField, u *Unique) {
	t := b.e.Root.Table
	if u.Table != "" {
		b.checkTableName(m.option("guards"), u.Table, u.Table, len(u.Table))
	}
	switch {
	case u.Table == t.Name:
		b.fault(m.option("guards"), "remove it", "guards=%s is the table of the root item, which has the guards anyway",
			u.Table)
	case u.Table != "" && slices.ContainsFunc(b.e.Tables, func(o *Table) bool { return o.Name == u.Table }):
		b.fault(m.option("guards"), "name a table for guards alone, with the partition key PK of type S",
			"guards=%s is a table with items of the model", u.Table)
	case u.Table == "" && (t.HashType != 'S' || t.Range != "" && t.RangeType != 'S'):
		b.fault(m.option("unique"), "add guards=TABLE, a table with the partition key PK of type S",
			"the keys of guards are text, but the table %s has keys of numbers or bytes", t.Name)
	}
}

// uniqueNamed returns the position of the attribute of a field that unique= names, -1 after a fault.
func (b *builder) uniqueNamed(m *taggedField, name string) int {
	for i, a := range b.e.Root.Attributes {
		if a.Value.Name == name && a.Field != nil {
			return b.mayBeUnique(m, i)
		}
	}
	for _, f := range b.storable() {
		if f.goName() == name || f.Name == name {
			return b.uniqueAttribute(m, f.Field, name)
		}
	}
	cure, names := "name fields of the root item "+b.e.Root.Name, []string{fold}
	for _, a := range b.e.Root.Attributes {
		if names = append(names, a.Value.Name); a.Name == name { // its attribute
			cure = "write " + a.Value.Name + ", the name of the field in Go"
		}
	}
	if near := naming.Nearest(name, names); near != "" && len(name) > 2 {
		cure = "write " + near + ", or " + cure
	}
	b.fault(m.option("unique"), cure, "unique= names %s, which the model does not have", name)
	return -1
}

// uniqueAttribute returns the position of the root item's attribute that stores a field, -1 after a fault.
func (b *builder) uniqueAttribute(m *taggedField, f *Field, name string) int {
	at, root := m.option("unique"), b.e.Root
	if i := slices.IndexFunc(root.Attributes, func(a *Attribute) bool { return a.Field == f }); i >= 0 {
		return b.mayBeUnique(m, i)
	}
	where, cure := "no attribute of the root item "+root.Name+" stores it", "move it there (sk=), and name single "+
		"fields"
	for _, it := range b.e.Items {
		if it.Element() && slices.ContainsFunc(it.Elem.deref().Fields, func(o *Field) bool { return o == f }) {
			where, cure = "it is a field of elements", "use a model of its own, whose key is the value"
		}
	}
	if f.Type.deref().Spreads() {
		cure = "add the option nested to its tag, and sk=, or name a field of it"
	}
	for _, k := range b.e.KeyFields {
		if k.Field == f {
			where, cure = "only keys store it", "a partition key is unique already; to use it here, add stored to "+
				"its tag"
		}
	}
	b.fault(at, cure, "%s cannot be unique: %s", name, where)
	return -1
}

// mayBeUnique returns the position of an attribute of the root item, -1 after a fault.
func (b *builder) mayBeUnique(m *taggedField, i int) int {
	a := b.e.Root.Attributes[i]
	if text, cure := a.notUnique(); text != "" {
		b.fault(m.option("unique"), cure, "%s cannot be unique: %s", a.Value.Name, text)
		return -1
	}
	return i
}

// notUnique says why an attribute cannot be unique, "" if it can, and the cure.
func (a *Attribute) notUnique() (text, cure string) {
	t := a.Value.Type.deref()
	const normal = "declare the method Normal() string of its type, or use text, a number, a time or bytes"
	switch {
	case a.Large.External():
		return "its value may be stored outside of the item", "remove chunk and s3="
	case a.Large != nil:
		return "it is compressed", "remove compress="
	case len(a.Was) > 0:
		return "programs with the old name in was= would take its values for free", "keep the attribute's name, with " +
			"dynamodbav:\"oldName\""
	case t.Normal:
		return "", ""
	case t.WrongNormal:
		return "its method Normal has parameters, or another result", "declare Normal() string"
	case t.Marshals || t.Unmarshals || t.Kind == Interface:
		return "its type encodes itself", normal
	case t.Time, t.Number:
		return "", ""
	}
	switch t.Kind {
	case String, Int, Uint, Float, Bytes, BigInt, BigFloat:
		return "", ""
	}
	return "a " + t.Name + " has no text that could be part of a key", normal
}

// foldable reports whether the case of letters can be ignored in the attribute.
func (a *Attribute) foldable() bool {
	t := a.Value.Type.deref()
	return t.Normal || t.Kind == String && !t.Number
}

// LayoutOf returns a unique value as data.
func (e *Entity) LayoutOf(u *Unique) LayoutUnique {
	l := LayoutUnique{Name: u.Name, Table: u.Table}
	compared := false
	for _, a := range e.Guarded(u) {
		var form []string
		if t := a.Value.Type.deref(); t.Normal {
			form = append(form, baseName(t.Name)+".Normal")
		} else if t.Time {
			form = append(form, "time")
		}
		if u.Fold && a.foldable() {
			form = append(form, fold)
		}
		compared = compared || form != nil
		l.Attributes, l.Forms = append(l.Attributes, a.Name), append(l.Forms, strings.Join(form, ","))
	}
	if !compared {
		l.Forms = nil
	}
	return l
}
