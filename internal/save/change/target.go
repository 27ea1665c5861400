package change

import (
	"slices"
	"strings"

	"github.com/itemize/itemize/internal/model/expr"
	"github.com/itemize/itemize/internal/model/naming"
	"github.com/itemize/itemize/internal/model/schema"
)

// target returns the item that a patch's change is about, and the attributes of the field that it changes.
func (x *Patch) target(p *expr.Change) (*schema.Item, []int, error) {
	switch p.Kind {
	case expr.If:
		it, err := x.targetOfCondition(p)
		return it, nil, err
	case expr.Delete:
		if it := x.m.Schema.Items[p.Item]; it == x.m.Root() {
			return nil, nil,
				x.m.FieldErrorf(it.Name, "it is the root item of the entity: use the mapper's Delete")
		}
		return x.m.Schema.Items[p.Item], nil, nil
	case expr.Add, expr.Put, expr.RemoveElement:
		return x.m.Schema.Items[p.Item], nil, nil
	}
	it, attributes, err := x.attributesOf(p)
	if err != nil {
		return nil, nil, err
	}
	spread := len(attributes) != 1 ||
		strings.HasPrefix(it.Attributes[attributes[0]].Value.Name, x.nameIn(it, p, p.Field)+".")
	switch {
	case spread && p.Kind != expr.Set && p.Kind != expr.Remove:
		return nil, nil, x.m.FieldErrorf(p.Field.Shown(),
			"its fields are spread over the item: change them one by one, with Change")
	// the removal of a spread struct that has an item to itself becomes the item's deletion
	case p.Kind == expr.Remove && spread && it != x.m.Root() && x.alone(it, attributes):
		p.Kind = expr.Delete
	}
	return it, attributes, nil
}

// nameIn returns the prefix that a field's name has for the attributes of an item.
func (x *Patch) nameIn(it *schema.Item, p *expr.Change, f expr.Field) string {
	if p.Part && it.Field != nil {
		return it.Field.Name + "." + f.Name()
	}
	return f.Name()
}

// find returns the attribute of an item that stores a field, and the names of the path from there to
// it; or the attributes of a struct that is spread.
func (x *Patch) find(it *schema.Item, p *expr.Change, f expr.Field) (attributes []int, below []string) {
	for n := 1; n <= len(f); n++ {
		name := x.nameIn(it, p, f[:n])
		for i, a := range it.Attributes {
			switch {
			case a.Value.Name == name:
				return []int{i}, f[n:].Attributes()
			case n == len(f) && strings.HasPrefix(a.Value.Name, name+"."):
				attributes = append(attributes, i)
			}
		}
	}
	return attributes, nil
}

// items are those that a change may be about.
func (x *Patch) items(p *expr.Change) []*schema.Item {
	if p.Item != expr.OfField {
		return x.m.Schema.Items[p.Item : p.Item+1]
	}
	var all []*schema.Item
	for _, it := range x.m.Schema.Items {
		if !it.Element() {
			all = append(all, it)
		}
	}
	return all
}

// attributesOf finds the item that a change's field is on, and its attributes there: several
// of a struct that is spread.
func (x *Patch) attributesOf(p *expr.Change) (*schema.Item, []int, error) {
	for _, it := range x.items(p) {
		found, _ := x.find(it, p, p.Field)
		for _, i := range found {
			if a := it.Attributes[i]; x.inKey(it, a) {
				return nil, nil, x.m.FieldErrorf(a.Value.Name,
					"keys name it, so that a patch cannot change it: use Update")
			}
		}
		if found != nil {
			return it, found, nil
		}
	}
	if p.Item != expr.OfField {
		return nil, nil, x.m.FieldErrorf(x.m.Schema.Items[p.Item].Name, "it has no stored field %s", p.Field.Shown())
	}
	return nil, nil, x.m.FieldErrorf(p.Field.Shown(),
		"it is in no item that the patch can reach: use the node of the item")
}

// below are the names on the way from an attribute to the field of a change.
func (x *Patch) below(it *schema.Item, p *expr.Change) []string {
	_, below := x.find(it, p, p.Field)
	return below
}

// pathIn is the path at which an item stores a field that a condition names.
func (x *Patch) pathIn(it *schema.Item, p *expr.Change, f expr.Field) []string {
	if found, below := x.find(it, p, f); f[0].Name != "" && len(found) == 1 {
		return append([]string{it.Attributes[found[0]].Name}, below...)
	}
	return f.Attributes()
}

// inKey reports whether a key names an attribute's field.
func (x *Patch) inKey(it *schema.Item, a *schema.Attribute) bool {
	if a.Field == nil {
		return false
	}
	if slices.ContainsFunc(x.m.Schema.KeyFields, func(o *schema.KeyField) bool { return o.Field == a.Field }) {
		return true
	}
	return it.Element() && slices.ContainsFunc(it.Key.Sources, func(s schema.Source) bool {
		return s.From == schema.FromElement && slices.Equal(s.Value.Path, a.Value.Path)
	})
}

// alone reports whether an item stores nothing but these attributes, and what keys name.
func (x *Patch) alone(it *schema.Item, attributes []int) bool {
	for i, a := range it.Attributes {
		if !slices.Contains(attributes, i) && !x.inKey(it, a) {
			return false
		}
	}
	return true
}

// patched returns a record in which the change's field is set.
func (x *Patch) patched(it *schema.Item, p expr.Change) any {
	if it.Element() {
		rec := x.m.Codec.Elements(it.Index).NewElement()
		p.Apply(rec)
		return rec
	}
	rec := x.m.Codec.New()
	if p.Part {
		p.Apply(x.m.Codec.Record(it.Index).Part(rec))
	} else {
		p.Apply(rec)
	}
	return rec
}

// targetOfCondition returns the item of a condition: the one given, the one that stores all its fields, or, for an
// SDK expression, the root.
func (x *Patch) targetOfCondition(p *expr.Change) (*schema.Item, error) {
	if err := p.Condition.Err; err != nil {
		return nil, x.m.Errorf("%w", err)
	}
	var item *schema.Item
	switch {
	case p.Item != expr.OfField:
		item = x.m.Schema.Items[p.Item]
	case p.Condition.Raw && slices.ContainsFunc(p.Condition.Fields, func(f expr.Field) bool { return f[0].Name == "" }):
		item = x.m.Root()
	}
	for _, f := range p.Condition.Fields {
		if f[0].Name == "" {
			for _, it := range x.items(p) { // named by its attribute
				if i := it.Attribute(f[0].Attribute); i >= 0 && len(it.Attributes[i].Was) > 0 {
					return nil, x.renamedErr(it.Attributes[i])
				}
			}
			continue
		}
		it, err := x.itemOfField(p, f)
		if err != nil {
			return nil, err
		}
		switch a := x.attributeOf(it, p, f); {
		case a != nil && a.Large != nil:
			return nil, x.m.FieldErrorf(a.Value.Name, schema.LargeText, "compare it", "with Update")
		case a != nil && len(a.Was) > 0:
			return nil, x.renamedErr(a)
		case item != nil && it != item:
			return nil, x.m.Errorf("a condition names fields of two items, %s and %s: write a condition for each",
				item.Name, it.Name)
		}
		item = it
	}
	if item == nil {
		return nil, x.m.Errorf("a condition names no field")
	}
	return item, x.named(item, p.Condition)
}

// attributeOf returns the attribute in which a condition's field is stored, or a value around it; nil for several.
func (x *Patch) attributeOf(it *schema.Item, p *expr.Change, f expr.Field) *schema.Attribute {
	if found, _ := x.find(it, p, f); len(found) == 1 {
		return it.Attributes[found[0]]
	}
	return nil
}

func (x *Patch) renamedErr(a *schema.Attribute) error {
	return x.m.FieldErrorf(a.Value.Name, "stored items may have it as %s or as %s, but a condition checks one "+
		"name: use Update, or leave the condition out until was= is removed", a.Name, strings.Join(a.Was, ", "))
}

// itemOfField returns the item that stores a field in the one attribute that a condition
// names.
func (x *Patch) itemOfField(p *expr.Change, f expr.Field) (*schema.Item, error) {
	for _, it := range x.items(p) {
		switch found, _ := x.find(it, p, f); {
		case len(found) == 1 && it.Attributes[found[0]].Value.Name == x.nameIn(it, p, f), len(found) == 1 && len(f) > 1:
			return it, nil
		case len(found) > 0:
			return nil, x.m.FieldErrorf(f.Shown(),
				"it is stored in several attributes: write conditions on its fields, with Where")
		}
	}
	return nil, x.m.FieldErrorf(f.Shown(), "no item of the patch stores it")
}

// emptyKey returns an ordinary attribute that is a key of an index, and that a condition compares with an empty
// value, which is never stored; "" for none.
func (x *Patch) emptyKey(it *schema.Item, c expr.Condition, paths expr.Paths) string {
	for _, f := range c.Fields {
		if i := it.Attribute(paths(f)[0]); i >= 0 && it.Sparse(i) && c.ComparesEmpty(paths) {
			return it.Attributes[i].Name
		}
	}
	return ""
}

// named checks the attributes that a condition names by themselves against those of its item.
func (x *Patch) named(it *schema.Item, c expr.Condition) error {
	names := x.m.AttributeNames(it)
	for _, f := range c.Fields {
		name := f[0].Attribute
		if f[0].Name != "" || slices.Contains(names, name) {
			continue
		}
		return x.m.FieldErrorf(it.Name, "a condition names the attribute %q, which is not stored%s", name,
			naming.Hint(name, names))
	}
	return nil
}
