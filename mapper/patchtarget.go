package mapper

import (
	"fmt"
	"slices"
	"strings"

	"github.com/itemize/itemize/internal/codec"
	"github.com/itemize/itemize/internal/condition"
	"github.com/itemize/itemize/internal/schema"
)

// target returns the item that a patch's change is about, and the attributes of the field
// that it changes. The removal of a spread struct that has an item to itself becomes the
// item's deletion.
func (c *core) target(p *codec.PatchChange) (*schema.Item, []int, error) {
	switch p.Kind {
	case codec.PatchIf:
		it, err := c.targetOfCondition(p)
		return it, nil, err
	case codec.PatchDelete:
		if it := c.schema.Items[p.Item]; it == c.schema.Root {
			return nil, nil, fmt.Errorf("%s.%s: it is the root, without which there is no entity: use the mapper's Delete", c.schema.Label(), it.Name)
		}
		return c.schema.Items[p.Item], nil, nil
	case codec.PatchAdd, codec.PatchRemoveElement:
		return c.schema.Items[p.Item], nil, nil
	}
	it, attributes, err := c.attributesOf(p, p.Field)
	if err != nil {
		return nil, nil, err
	}
	spread := len(attributes) != 1 || it.Attributes[attributes[0]].Value.Name != c.fieldName(it, p, p.Field)
	switch {
	case p.Kind == codec.PatchIncrement && spread:
		return nil, nil, fmt.Errorf("%s.%s: it is no number", c.schema.Label(), p.Field)
	case p.Kind == codec.PatchRemove && spread && it != c.schema.Root && c.alone(it, attributes):
		p.Kind = codec.PatchDelete
	}
	return it, attributes, nil
}

// fieldName is what attributes of an item are called by the field's name.
func (c *core) fieldName(it *schema.Item, p *codec.PatchChange, field string) string {
	if p.Part && it.Field != nil {
		return it.Field.Name + "." + field
	}
	return field
}

// attributesOf finds the item that a field lies on, and its attributes there: several of
// a struct that is spread.
func (c *core) attributesOf(p *codec.PatchChange, field string) (*schema.Item, []int, error) {
	items := c.schema.Items
	if p.Item != codec.OfField {
		items = items[p.Item : p.Item+1]
	}
	for _, it := range items {
		if it.Element() && p.Item == codec.OfField {
			continue
		}
		name := c.fieldName(it, p, field)
		var found []int
		for i, a := range it.Attributes {
			if a.Value.Name != name && !strings.HasPrefix(a.Value.Name, name+".") {
				continue
			}
			if c.inKey(it, a) {
				return nil, nil, fmt.Errorf("%s.%s: keys name it, so that a patch cannot change it: use Update", c.schema.Label(), a.Value.Name)
			}
			found = append(found, i)
		}
		if found != nil {
			return it, found, nil
		}
	}
	if p.Item != codec.OfField {
		return nil, nil, fmt.Errorf("%s.%s: it stores no field %s", c.schema.Label(), items[0].Name, field)
	}
	return nil, nil, fmt.Errorf("%s.%s: it lies on no item that a patch of the entity knows: use the node of the item", c.schema.Label(), field)
}

// inKey reports whether a key names an attribute's field.
func (c *core) inKey(it *schema.Item, a *schema.Attribute) bool {
	if a.Field == nil {
		return false
	}
	if slices.ContainsFunc(c.schema.KeyFields, func(o *schema.KeyField) bool { return o.Field == a.Field }) {
		return true
	}
	return it.Element() && slices.ContainsFunc(it.Key.Sources, func(s schema.Source) bool {
		return s.From == schema.FromElement && slices.Equal(s.Value.Path, a.Value.Path)
	})
}

// alone reports whether an item stores nothing but these attributes, and what keys name.
func (c *core) alone(it *schema.Item, attributes []int) bool {
	for i, a := range it.Attributes {
		if !slices.Contains(attributes, i) && !c.inKey(it, a) {
			return false
		}
	}
	return true
}

// patched returns a record in which the change's field is set.
func (c *core) patched(it *schema.Item, p codec.PatchChange) any {
	if it.Element() {
		rec := c.codec.Elements(it.Index).NewElement()
		p.Apply(rec)
		return rec
	}
	rec := c.codec.New()
	if p.Part {
		p.Apply(c.codec.Record(it.Index).Part(rec))
	} else {
		p.Apply(rec)
	}
	return rec
}

// targetOfCondition returns the item that a condition is about: the one given, or the one
// that all its fields lie on; of an expression given in the SDK's terms the root.
func (c *core) targetOfCondition(p *codec.PatchChange) (*schema.Item, error) {
	if err := p.Condition.Err; err != nil {
		return nil, fmt.Errorf("%s: %w", c.schema.Label(), err)
	}
	var item *schema.Item
	switch {
	case p.Item != codec.OfField:
		item = c.schema.Items[p.Item]
	case p.Condition.Raw:
		item = c.schema.Root
	}
	for _, f := range p.Condition.Fields {
		if f.Name == "" {
			continue // named by its attribute
		}
		it, err := c.itemOfField(p, f)
		switch {
		case err != nil:
			return nil, err
		case item != nil && it != item:
			return nil, fmt.Errorf("%s: a condition names fields of two items, %s and %s: give a condition for each", c.schema.Label(), item.Name, it.Name)
		}
		item = it
	}
	if item == nil {
		return nil, fmt.Errorf("%s: a condition is about no field", c.schema.Label())
	}
	return item, nil
}

// itemOfField returns the item that stores a field in the one attribute that a condition
// names.
func (c *core) itemOfField(p *codec.PatchChange, f condition.Field) (*schema.Item, error) {
	for _, it := range c.schema.Items {
		if p.Item == codec.OfField && it.Element() || p.Item != codec.OfField && it.Index != p.Item {
			continue
		}
		name := c.fieldName(it, p, f.Name)
		for _, a := range it.Attributes {
			switch {
			case a.Value.Name == name && a.Name == f.Attribute:
				return it, nil
			case strings.HasPrefix(a.Value.Name, name+"."):
				return nil, fmt.Errorf("%s.%s: it lies in several attributes: give conditions on its fields, on the node of its item", c.schema.Label(), f.Name)
			}
		}
	}
	return nil, fmt.Errorf("%s.%s: no item of the patch stores it in an attribute %q", c.schema.Label(), f.Name, f.Attribute)
}
