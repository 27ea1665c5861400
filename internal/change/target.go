package change

import (
	"slices"
	"strings"

	"github.com/itemize/itemize/internal/condition"
	"github.com/itemize/itemize/internal/patch"
	"github.com/itemize/itemize/internal/schema"
)

// target returns the item that a patch's change is about, and the attributes of the field
// that it changes. The removal of a spread struct that has an item to itself becomes the
// item's deletion.
func (x *Patch) target(p *patch.Change) (*schema.Item, []int, error) {
	switch p.Kind {
	case patch.If:
		it, err := x.targetOfCondition(p)
		return it, nil, err
	case patch.Delete:
		if it := x.m.Schema.Items[p.Item]; it == x.m.Root() {
			return nil, nil, x.m.FieldErrorf(it.Name, "it is the root, without which there is no entity: use the mapper's Delete")
		}
		return x.m.Schema.Items[p.Item], nil, nil
	case patch.Add, patch.RemoveElement:
		return x.m.Schema.Items[p.Item], nil, nil
	}
	it, attributes, err := x.attributesOf(p, p.Field)
	if err != nil {
		return nil, nil, err
	}
	spread := len(attributes) != 1 || it.Attributes[attributes[0]].Value.Name != x.fieldName(it, p, p.Field)
	switch {
	case p.Kind == patch.Increment && spread:
		return nil, nil, x.m.FieldErrorf(p.Field, "it is no number")
	case p.Kind == patch.Remove && spread && it != x.m.Root() && x.alone(it, attributes):
		p.Kind = patch.Delete
	}
	return it, attributes, nil
}

// fieldName is what attributes of an item are called by the field's name.
func (x *Patch) fieldName(it *schema.Item, p *patch.Change, field string) string {
	if p.Part && it.Field != nil {
		return it.Field.Name + "." + field
	}
	return field
}

// attributesOf finds the item that a field lies on, and its attributes there: several of
// a struct that is spread.
func (x *Patch) attributesOf(p *patch.Change, field string) (*schema.Item, []int, error) {
	items := x.m.Schema.Items
	if p.Item != patch.OfField {
		items = items[p.Item : p.Item+1]
	}
	for _, it := range items {
		if it.Element() && p.Item == patch.OfField {
			continue
		}
		name := x.fieldName(it, p, field)
		var found []int
		for i, a := range it.Attributes {
			if a.Value.Name != name && !strings.HasPrefix(a.Value.Name, name+".") {
				continue
			}
			if x.inKey(it, a) {
				return nil, nil, x.m.FieldErrorf(a.Value.Name, "keys name it, so that a patch cannot change it: use Update")
			}
			found = append(found, i)
		}
		if found != nil {
			return it, found, nil
		}
	}
	if p.Item != patch.OfField {
		return nil, nil, x.m.FieldErrorf(items[0].Name, "it stores no field %s", field)
	}
	return nil, nil, x.m.FieldErrorf(field, "it lies on no item that a patch of the entity knows: use the node of the item")
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
func (x *Patch) patched(it *schema.Item, p patch.Change) any {
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

// targetOfCondition returns the item that a condition is about: the one given, or the one
// that all its fields lie on; of an expression given in the SDK's terms the root.
func (x *Patch) targetOfCondition(p *patch.Change) (*schema.Item, error) {
	if err := p.Condition.Err; err != nil {
		return nil, x.m.Errorf("%w", err)
	}
	var item *schema.Item
	switch {
	case p.Item != patch.OfField:
		item = x.m.Schema.Items[p.Item]
	case p.Condition.Raw:
		item = x.m.Root()
	}
	for _, f := range p.Condition.Fields {
		if f.Name == "" {
			continue // named by its attribute
		}
		it, err := x.itemOfField(p, f)
		switch {
		case err != nil:
			return nil, err
		case item != nil && it != item:
			return nil, x.m.Errorf("a condition names fields of two items, %s and %s: give a condition for each", item.Name, it.Name)
		}
		item = it
	}
	if item == nil {
		return nil, x.m.Errorf("a condition is about no field")
	}
	return item, nil
}

// itemOfField returns the item that stores a field in the one attribute that a condition
// names.
func (x *Patch) itemOfField(p *patch.Change, f condition.Field) (*schema.Item, error) {
	for _, it := range x.m.Schema.Items {
		if p.Item == patch.OfField && it.Element() || p.Item != patch.OfField && it.Index != p.Item {
			continue
		}
		name := x.fieldName(it, p, f.Name)
		for _, a := range it.Attributes {
			switch {
			case a.Value.Name == name && a.Name == f.Attribute:
				return it, nil
			case strings.HasPrefix(a.Value.Name, name+"."):
				return nil, x.m.FieldErrorf(f.Name, "it lies in several attributes: give conditions on its fields, on the node of its item")
			}
		}
	}
	return nil, x.m.FieldErrorf(f.Name, "no item of the patch stores it in an attribute %q", f.Attribute)
}
