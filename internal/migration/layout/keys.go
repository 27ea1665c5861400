package layout

import (
	"fmt"
	"slices"
	"strings"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/grammar"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
)

// Keys compute the key of an entity's monolith from the fields in the keys of its root.
type Keys struct{ hash, sort keyFrom }

// keyFrom makes a key: it is a field that is an attribute of that name, or written by a template. The
// zero keyFrom makes none.
type keyFrom struct {
	attribute string
	*template
}

// KeyAttributes are the keys of monoliths that are fields as they are, "" for no sort key.
func (x *Layout) KeyAttributes(hash, sort string) (*Keys, error) {
	k := &Keys{keyFrom{attribute: hash}, keyFrom{attribute: sort}}
	names, identifies := x.identities()
	for _, name := range k.names() {
		if !identifies[name] {
			return nil, fmt.Errorf("the key %s of the monoliths is not in the keys of the model's root: add it "+
				"there, rename the field (dynamodbav), or write its template (-key, -sort)", name)
		}
	}
	return k, k.whole(names)
}

// KeyTemplates are the keys of monoliths that are written by templates, as those of items are: "" for
// the partition key of the model, and for no sort key. A placeholder is written as it is in the keys of
// the root.
func (x *Layout) KeyTemplates(hash, sort string) (*Keys, error) {
	k := &Keys{hash: keyFrom{template: &x.pk}}
	names, identifies := x.identities()
	for _, name := range names {
		if !identifies[name] {
			return nil, fmt.Errorf("the value of %s cannot be read back from the keys of the model's root, so that "+
				"a monolith cannot be found: write it in full", name)
		}
	}
	var err error
	if hash != "" {
		if k.hash.template, err = x.keyOf(hash); err != nil {
			return nil, err
		}
	}
	if sort != "" {
		if k.sort.template, err = x.keyOf(sort); err != nil {
			return nil, err
		}
	}
	for _, name := range names {
		if !k.hash.names(name) && (k.sort.template == nil || !k.sort.names(name)) && slices.Contains(k.names(), name) {
			return nil, fmt.Errorf("the value of %s cannot be read back from the keys of the monoliths, so that "+
				"two entities could have one monolith: write it in full", name)
		}
	}
	return k, k.whole(names)
}

// names are the fields in the keys, as attributes of a monolith.
func (k *Keys) names() []string {
	var names []string
	for _, f := range []keyFrom{k.hash, k.sort} {
		switch {
		case f.attribute != "":
			names = append(names, f.attribute)
		case f.template != nil:
			for _, s := range f.from {
				names = append(names, s.attribute)
			}
		}
	}
	return names
}

// whole requires that an entity's monolith is no other's.
func (k *Keys) whole(names []string) error {
	have := k.names()
	for _, name := range names {
		if !slices.Contains(have, name) {
			return fmt.Errorf("the field %s is in the keys of the model's root, but not of the monoliths: remove "+
				"it there, or add it here", name)
		}
	}
	return nil
}

// Of returns the keys of the monolith of an entity, by the fields that [Layout.Fields] returns.
func (k *Keys) Of(fields item.Attributes) (pk, sk key.Scalar, err error) {
	if pk, err = k.hash.of(fields, key.MaxPartition); err == nil {
		sk, err = k.sort.of(fields, key.MaxSort)
	}
	return pk, sk, err
}

func (f keyFrom) of(fields item.Attributes, limit int) (key.Scalar, error) {
	if f.template == nil {
		s, ok := attr.ScalarOf(fields[f.attribute])
		if !ok && f.attribute != "" {
			return s, fmt.Errorf("the key %s is not a field in the model's keys: rename the field (dynamodbav), or "+
				"write its template (-key, -sort)", f.attribute)
		}
		return s, nil
	}
	values := make([]key.Value, len(f.from))
	for i := range f.from {
		var err error
		if values[i], err = f.from[i].value(fields[f.from[i].attribute]); err != nil {
			return key.Scalar{}, fmt.Errorf("%s: %w", f.from[i].attribute, err)
		}
	}
	s, err := f.Render(values)
	if err == nil {
		err = s.CheckSize(limit)
	}
	return s, err
}

// Has reports whether an item of that key is a monolith.
func (k *Keys) Has(pk, sk key.Scalar) bool { return k.hash.has(pk) && k.sort.has(sk) }

func (f keyFrom) has(s key.Scalar) bool {
	return f.template == nil || f.Parse(s, make([]key.Value, len(f.from)))
}

// Suspect reports whether an item of another key has what makes it a monolith: keys that begin as the
// templates do, and the fields that are in them.
func (k *Keys) Suspect(pk, sk key.Scalar, doc item.Attributes) bool {
	if !k.hash.begins(pk) || k.sort.template != nil && !k.sort.begins(sk) {
		return false
	}
	for _, name := range k.names() {
		if doc[name] == nil {
			return false
		}
	}
	return true
}

// begins reports whether a key begins with the text before a template's first placeholder.
func (f keyFrom) begins(s key.Scalar) bool {
	return f.template != nil && fixed(f.Template) != "" && strings.HasPrefix(s.Text, fixed(f.Template))
}

// Matches returns the kind of items of a table whose sort key a monolith could have, nil for none.
func (k *Keys) Matches(x *Layout, table int) *Kind {
	for _, kind := range x.Kinds {
		if kind.Table != table {
			continue
		}
		if kind.key == nil || k.sort.template == nil {
			return kind
		}
		if _, collide := key.Overlap(kind.key.Template, k.sort.Template); collide {
			return kind
		}
	}
	return nil
}

// keyOf reads a template, whose placeholders are some of those of the root's keys.
func (x *Layout) keyOf(text string) (*template, error) {
	parsed, errs := grammar.ParseTemplate(text)
	if len(errs) > 0 {
		return nil, fmt.Errorf("the key %q of monoliths: %w", text, errs[0])
	}
	k := &schema.LayoutKey{Template: text}
	for _, p := range parsed.Parts {
		if p.Name == "" {
			continue
		}
		l, err := x.placeholder(p)
		if err != nil {
			return nil, fmt.Errorf("the key %q of monoliths: %w", text, err)
		}
		k.Placeholders = append(k.Placeholders, l)
	}
	t, err := readTemplate(k, "S", x.Delim[0])
	if err != nil {
		return nil, err
	}
	if i := t.Ambiguous(); i >= 0 {
		return nil, fmt.Errorf("the key %q of monoliths: %s follows text of any length without a %s between them, "+
			"so that two entities could have one key: such monoliths cannot be moved", text, parsed.Parts[i], x.Delim)
	}
	return t, nil
}

// placeholder is the one of the root's keys that is written so.
func (x *Layout) placeholder(p grammar.Part) (schema.LayoutPlaceholder, error) {
	var there []string
	var found []schema.LayoutPlaceholder
	templates := []*template{&x.pk, x.Root.key}
	for i, k := range []*schema.LayoutKey{&x.PartitionKey, x.Root.SortKey} {
		if k == nil {
			continue
		}
		t := templates[i]
		parsed, _ := grammar.ParseTemplate(k.Template)
		n := 0
		for _, q := range parsed.Parts {
			if q.Name == "" {
				continue
			}
			if q.Name == p.Name && (p.Format == "" || p.Format == q.Format) {
				if t.lossless(n) {
					return k.Placeholders[n], nil
				}
				found = append(found, k.Placeholders[n])
			}
			there = append(there, q.String())
			n++
		}
	}
	if found != nil {
		return found[0], nil
	}
	return schema.LayoutPlaceholder{}, fmt.Errorf("%s is not in the keys of the model's root, so that a monolith "+
		"cannot be found: name one of %v", p, there)
}
