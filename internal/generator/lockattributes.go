package generator

import (
	"fmt"
	"slices"
	"strings"

	"github.com/itemize/itemize/internal/model/schema"
)

// contradiction is an attribute of the lock file that the model does not have so any more. field is
// the field that it concerns, and item its item, "" for none of now.
type contradiction struct{ item, field, text, cure string }

const (
	orMigrate = "or move the stored values yourself, and run itemize gen -accept ./..."
	orAccept  = "if this is intended, run itemize gen -accept ./..."
	dropped   = "it would not be read, and would be lost when the attribute is written"
)

// lostAttributes lists the attributes of an old layout whose values a new one would not find, or
// not read.
func lostAttributes(old, now schema.Layout) []contradiction {
	var out []contradiction
	for _, was := range old.Removed {
		if is := itemAt(now, was); is.Name != "" {
			x := &attributes{old: old, now: now, is: is}
			for _, a := range slices.Concat(was.Attributes, was.Removed) {
				if c := x.back(a); c != nil {
					out = append(out, *c)
				}
			}
		}
	}
	for _, was := range old.Items {
		i := slices.IndexFunc(now.Items,
			func(x schema.LayoutItem) bool { return x.Table == was.Table && sortKey(x) == sortKey(was) })
		if i < 0 {
			continue // it is reported with its key
		}
		x := &attributes{old: old, now: now, was: was, is: now.Items[i]}
		for _, a := range was.Attributes {
			if c := x.lost(a); c != nil {
				out = append(out, *c)
			}
		}
		for _, a := range was.Removed {
			if c := x.back(a); c != nil {
				out = append(out, *c)
			}
		}
	}
	return out
}

// attributes compares those of one item.
type attributes struct {
	old, now schema.Layout
	was, is  schema.LayoutItem
}

// lost returns the contradiction of an attribute of the old item that is no longer stored, nil for
// none.
func (x *attributes) lost(a schema.LayoutAttribute) *contradiction {
	i := slices.IndexFunc(x.is.Attributes, func(b schema.LayoutAttribute) bool {
		return b.Name == a.Name || slices.Contains(b.Was, a.Name)
	})
	if i < 0 {
		return x.removed(a)
	}
	b := x.is.Attributes[i]
	if b.Field != a.Field &&
		(holds(x.now, x.is, origin(x.is), a.Field) || holds(x.old, x.was, origin(x.was), b.Field)) {
		return &contradiction{
			x.is.Name, b.Field,
			fmt.Sprintf("the attribute %q belonged to %s and would belong to %s, so that stored values would be "+
				"exchanged", a.Name, a.Field, b.Field), "keep the attributes' names, " + orMigrate,
		}
	}
	for _, w := range a.Was {
		if !slices.Contains(b.Was, w) && b.Name != w {
			return &contradiction{
				x.is.Name, b.Field, fmt.Sprintf("was=%s is deleted, but items that were not written since it was "+
					"added still have %q, which would not be read", w, w),
				"move each once (Scan, and a patch with SetIfAbsent of that field for each), then run itemize gen " +
					"-accept ./...",
			}
		}
	}
	for _, o := range x.was.Attributes {
		if o.Name != a.Name && a.Name != b.Name && (o.Name == b.Name || slices.Contains(b.Was, o.Name)) {
			return &contradiction{
				x.is.Name, b.Field,
				fmt.Sprintf("items have %q and %q, both of which would be the attribute %q, so that one of them "+
					"would be lost", a.Name, o.Name, b.Name), "delete one from was=, " + orMigrate,
			}
		}
	}
	if text := unread(a, b); text != "" {
		return &contradiction{x.is.Name, b.Field, text, "keep that option, or another of its kind, " + orMigrate}
	}
	if text := incompatible(a.Wire, b.Wire, fmt.Sprintf("the attribute %q", a.Name)); text != "" {
		cure := "keep the field, add another of the new type, and let AfterLoad convert, "
		if strings.HasSuffix(text, dropped) {
			cure = "keep it, or if only its name in Go has changed add the old name: dynamodbav:\"name\", "
		}
		return &contradiction{x.is.Name, b.Field, text, cure + orMigrate}
	}
	return nil
}

// back returns the contradiction of an attribute that was discarded before and exists again.
func (x *attributes) back(a schema.LayoutAttribute) *contradiction {
	for _, b := range x.is.Attributes {
		if b.Name != a.Name && !slices.Contains(b.Was, a.Name) || hasAttribute(x.was, a.Name) {
			continue
		}
		if text := incompatible(a.Wire, b.Wire,
			fmt.Sprintf("the attribute %q, which stored items may have though the model removed it,",
				a.Name)); text != "" {
			return &contradiction{x.is.Name, b.Field, text, "use another name, " + orMigrate}
		}
	}
	return nil
}

// remember notes in a new layout the items and attributes that an old one had, and it does not.
func remember(old schema.Layout, now *schema.Layout) {
	for _, was := range slices.Concat(old.Removed, old.Items) {
		if itemAt(*now, was).Name == "" {
			now.Removed = append(now.Removed, was)
		}
	}
	for i := range now.Items {
		is := &now.Items[i]
		was := itemAt(old, *is)
		if was.Name == "" {
			was = itemAt(schema.Layout{Items: old.Removed}, *is)
		}
		for _, a := range slices.Concat(was.Removed, was.Attributes) {
			for _, name := range append([]string{a.Name}, a.Was...) {
				kept := func(b schema.LayoutAttribute) bool { return b.Name == name || slices.Contains(b.Was, name) }
				if !slices.ContainsFunc(is.Attributes, kept) && !slices.ContainsFunc(is.Removed, kept) {
					removed := a
					removed.Name, removed.Was = name, nil
					is.Removed = append(is.Removed, removed)
				}
			}
		}
	}
}

// removed reports the fate of an attribute that the item does not have any more.
func (x *attributes) removed(a schema.LayoutAttribute) *contradiction {
	if namedInKey(x.now, x.is, a.Field) {
		return nil // the key holds it in full
	}
	for _, other := range x.now.Items {
		if b := fieldAt(other, a.Field); b != nil && !attributeOf(itemAt(x.old, other), a.Field) {
			return &contradiction{
				other.Name, b.Field,
				fmt.Sprintf("the attribute %q moved from the items %s to the items %s, where stored entities do not "+
					"have it", a.Name, keyOf(x.was), keyOf(other)),
				"keep it there, or declare another field there, copy the value of each entity to it (load, set, " +
					"save), " +
					"and then delete this field with itemize gen -accept ./...",
			}
		}
		if other.From == a.Name && !slices.ContainsFunc(x.old.Items, func(o schema.LayoutItem) bool {
			return o.From == a.Name
		}) {
			return &contradiction{
				"", "",
				fmt.Sprintf(
					"the elements of %s moved from the attribute %q of the items %s to the items %s, where stored "+
						"entities do not have them",
					a.Field,
					a.Name,
					keyOf(x.was),
					keyOf(other),
				),
				"keep the field, declare another one for the new items, move the elements of each entity to it " +
					"(load, " +
					"append, save), and then delete the old field with itemize gen -accept ./...",
			}
		}
	}
	stays := fmt.Sprintf("the attribute %q (of %s) is deleted from the item %s: stored values remain, but are not "+
		"read", a.Name, a.Field, x.was.Name)
	if b := x.renamed(a); b != nil && guarded(x.now, b.Name) && x.is.Root {
		return &contradiction{
			x.is.Name, b.Field, stays, fmt.Sprintf("if its values are now in %s, keep the name of the attribute, "+
				"since a unique value has it: dynamodbav:%q; %s", b.Field, a.Name, orAccept),
		}
	} else if b != nil {
		return &contradiction{
			x.is.Name, b.Field, stays,
			fmt.Sprintf("if its values are now in %s, add was=%s to its ddb tag; %s", b.Field, a.Name, orAccept),
		}
	}
	return &contradiction{"", "", stays, orAccept + "; if its values are now in another field, add was=" + a.Name +
		" to its ddb tag"}
}

// keyOf returns the template of an item's sort key.
func keyOf(it schema.LayoutItem) string {
	if it.SortKey == nil {
		return it.Name
	}
	return it.SortKey.Template
}

// renamed returns the attribute that a former one has probably become: the only new one of the item
// whose values are stored alike.
func (x *attributes) renamed(a schema.LayoutAttribute) *schema.LayoutAttribute {
	var found *schema.LayoutAttribute
	for i := range x.is.Attributes {
		b := &x.is.Attributes[i]
		if hasAttribute(x.was, b.Name) || len(b.Was) > 0 || incompatible(a.Wire, b.Wire, "") != "" {
			continue
		}
		if found != nil {
			return nil
		}
		found = b
	}
	return found
}

// origin is where a placeholder has the fields of an item's attributes from.
func origin(it schema.LayoutItem) string {
	if it.Kind == "fixed" {
		return "model"
	}
	return "element"
}

// holds reports whether a layout stores a field of a model or of the elements of an item, in an
// attribute or in a key.
func holds(l schema.Layout, it schema.LayoutItem, from, field string) bool {
	inKey := func(k *schema.LayoutKey) bool {
		return k != nil &&
			slices.ContainsFunc(k.Placeholders,
				func(p schema.LayoutPlaceholder) bool { return p.From == from && p.Field == field })
	}
	switch from {
	case "element":
		return attributeOf(it, field) || inKey(it.SortKey)
	case "model":
		return inKey(&l.PartitionKey) || slices.ContainsFunc(l.Items, func(x schema.LayoutItem) bool {
			return x.Kind == "fixed" && attributeOf(x, field) || inKey(x.SortKey)
		})
	}
	return false
}

// fieldAt returns the attribute of an item that a field is stored in, nil for none.
func fieldAt(it schema.LayoutItem, field string) *schema.LayoutAttribute {
	i := slices.IndexFunc(it.Attributes, func(b schema.LayoutAttribute) bool { return b.Field == field })
	if i < 0 {
		return nil
	}
	return &it.Attributes[i]
}

func attributeOf(it schema.LayoutItem, field string) bool { return fieldAt(it, field) != nil }

func hasAttribute(it schema.LayoutItem, name string) bool {
	return slices.ContainsFunc(it.Attributes, func(b schema.LayoutAttribute) bool { return b.Name == name })
}

// itemAt returns the item of a layout with the key of another's, the zero item for none.
func itemAt(l schema.Layout, like schema.LayoutItem) schema.LayoutItem {
	i := slices.IndexFunc(l.Items,
		func(x schema.LayoutItem) bool { return x.Table == like.Table && sortKey(x) == sortKey(like) })
	if i < 0 {
		return schema.LayoutItem{}
	}
	return l.Items[i]
}

// namedInKey reports whether a key of the item names a field.
func namedInKey(l schema.Layout, it schema.LayoutItem, field string) bool {
	names := func(k schema.LayoutKey, from string) bool {
		return slices.ContainsFunc(k.Placeholders,
			func(p schema.LayoutPlaceholder) bool { return p.Field == field && p.From == from })
	}
	if it.Kind != "fixed" {
		return it.SortKey != nil && (names(*it.SortKey, "element") || names(*it.SortKey, "self"))
	}
	return names(l.PartitionKey, "model") || it.SortKey != nil && names(*it.SortKey, "model")
}

// unread says what of a large value that was written by other options could not be read, "" for nothing.
func unread(old, now schema.LayoutAttribute) string {
	switch {
	case old.Large != nil && now.Large == nil:
		return fmt.Sprintf("the attribute %q may be stored compressed or outside its item, but would be read as a "+
			"plain value", old.Name)
	case old.Large.External() && !now.Large.External():
		return fmt.Sprintf("values of the attribute %q may be outside their items, but would not be read there",
			old.Name)
	}
	return ""
}

// incompatible says why values stored in the old form could not be read in the new form, or not in
// full; "" means that they can. An old lock file does not have all properties.
func incompatible(old, now schema.Wire, what string) string {
	switch {
	case old.Type == "" || now.Type == "any":
		return ""
	case old.Type != now.Type:
		return fmt.Sprintf("%s is stored as %s, but would be read as %s, so that stored items could not be loaded",
			what,
			old.Type, now.Type)
	case old.Format != now.Format && now.Format != "":
		return fmt.Sprintf("%s would be read as %s, a format in which it was not written, so that stored items "+
			"could not be loaded", what, now.Format)
	case now.Type == "B" && now.Len > 0 && now.Len != old.Len:
		return fmt.Sprintf("%s would take %d bytes, but stored items have other lengths, so that they could not be "+
			"loaded",
			what, now.Len)
	case now.Len > 0 && (old.Len == 0 || now.Len < old.Len):
		return fmt.Sprintf("%s would take %d elements, and further elements of stored items would be lost", what,
			now.Len)
	case old.Key != now.Key && old.Key != "" && now.Key != "" && now.Key != "string" &&
		(now.Key != "text" || old.Number != ""): // in older lock files, text keys have the kind of their type
		return fmt.Sprintf("%s had keys of the kind %s and has %s now, so that stored items could not be loaded", what,
			old.Key, now.Key)
	case old.Format == "unixtime" && now.Number != "" && narrower("int64", now.Number):
		return fmt.Sprintf("%s was a time in seconds and is %s now, so that stored items could not be loaded", what,
			now.Number)
	case old.Type == "N" && old.Number == "" && old.Format == "" && now.Number != "" && now.Number != bigFloat:
		return fmt.Sprintf("%s was any number and is %s now, so that stored items with numbers that do not fit "+
			"could not be loaded", what, now.Number)
	case len(old.Fields) > 0 && now.Of != nil && now.Key != "" && now.Key != "string":
		return fmt.Sprintf("%s was a struct and would have keys of the kind %s, so that stored items could not be "+
			"loaded", what, now.Key)
	case narrower(old.Number, now.Number):
		return fmt.Sprintf("%s had the type %s and has %s now, so that stored items with numbers that do not fit "+
			"could not be loaded", what, old.Number, now.Number)
	case old.Of != nil && now.Of != nil:
		return incompatible(*old.Of, *now.Of, "what "+what+" holds")
	case old.Of != nil && len(now.Fields) > 0:
		return fmt.Sprintf("%s is a map of any keys and would be a struct, so that other keys would be lost when "+
			"it is written", what)
	}
	for _, f := range old.Fields {
		i := slices.IndexFunc(now.Fields, func(n schema.WireField) bool { return n.Name == f.Name })
		switch {
		case i >= 0 && goName(f) != goName(now.Fields[i]) &&
			(hasField(now, goName(f)) || hasField(old, goName(now.Fields[i]))):
			return fmt.Sprintf("%q in %s belonged to %s and would belong to %s, so that stored values would be "+
				"exchanged", f.Name, what, goName(f), goName(now.Fields[i]))
		case i >= 0:
			if text := incompatible(f.Wire, now.Fields[i].Wire, fmt.Sprintf("%q in %s", f.Name, what)); text != "" {
				return text
			}
		case now.Of == nil:
			return fmt.Sprintf("%s lacks %q now: %s", what, f.Name, dropped)
		default:
			if text := incompatible(f.Wire, *now.Of, fmt.Sprintf("%q in %s", f.Name, what)); text != "" {
				return text
			}
		}
	}
	return ""
}

const bigFloat = "bigfloat"

// narrower reports whether a number's Go type holds less than another did.
func narrower(old, now string) bool {
	if old == "" || now == "" || old == now {
		return false
	}
	kind, bits := numberType(old)
	kindNow, bitsNow := numberType(now)
	switch {
	case kind == kindNow:
		return bitsNow < bits
	case kindNow == bigFloat: // it holds any number
		return false
	case kindNow == "bigint":
		return kind == "float" || kind == bigFloat
	case kind == "bigint", kind == bigFloat:
		return true
	case kindNow == "float": // exact to 53 bits, or 24
		return kind == "float" || bits > bitsNow/2
	case kind == "uint" && kindNow == "int":
		return bitsNow <= bits
	}
	return true // to an unsigned type, or from a float
}

func numberType(text string) (kind string, bits int) {
	kind = strings.TrimRight(text, "0123456789")
	_, _ = fmt.Sscan(text[len(kind):], &bits)
	return kind, bits
}

func goName(f schema.WireField) string {
	if f.Field != "" {
		return f.Field
	}
	return f.Name
}

func hasField(w schema.Wire, name string) bool {
	return slices.ContainsFunc(w.Fields, func(f schema.WireField) bool { return goName(f) == name })
}
