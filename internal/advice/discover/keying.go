package discover

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/naming"
)

// keying is how a model identifies its entities, and how the monoliths are found.
type keying struct {
	fields []keyField
	// partition is the partition key template of the model. In a flat model, its sort keys begin with prefix, and those
	// of elements with elementPrefix.
	partition, prefix, elementPrefix string
	// Key and Sort are the templates of the monoliths, "" for keys that are fields.
	Key, Sort string
	// reshape has the attributes that are cut out of keys.
	reshape []step
}

// keyField is a field in the keys of the root item.
type keyField struct {
	attribute, name string
	sort            bool // in the sort key
	number          bool
}

// typeName returns a name of an entity type that is free: of the partition key if each partition has one such item,
// otherwise of the sort key.
func (g *group) typeName(table string, taken scope) string {
	word := func(all []string) string { return goName(strings.ToLower(all[0])) }
	pk, sk := g.pk.words(), g.sk.words()
	switch {
	case len(pk) > 0 && (len(sk) == 0 || g.sk.fixed()):
		if name := word(pk); len(sk) == 0 || !taken[strings.ToLower(name)] {
			return taken.takeModel(name)
		}
		return taken.takeModel(word(pk) + word(sk))
	case len(sk) > 0:
		return taken.takeModel(word(sk))
	}
	return taken.takeModel(goName(table))
}

// keyingOf decides how to identify the entities of a type. single reports that the table has no other types.
func keyingOf(t *Table, g *group, name string, single bool) (*keying, error) {
	for _, name := range []string{t.Hash, t.Range} {
		if name != "" && !naming.Printable(name) {
			return nil, errors.New("a key attribute has a name that a tag cannot have: write the model by hand")
		}
	}
	for _, kind := range []string{t.HashType, t.RangeType} {
		if kind == "B" {
			return nil, errors.New("a key is binary: write the model by hand (pk={Field} of a []byte)")
		}
	}
	k := &keying{}
	word := segment(name)
	varies := func(p pattern) int {
		return len(slices.DeleteFunc(slices.Clone(p.tokens), func(x keyPart) bool { return x.literal != "" }))
	}
	matched := func(p pattern) bool {
		return p.kind == "S" && !slices.ContainsFunc(p.tokens, func(x keyPart) bool {
			return x.literal == "" && x.attribute == ""
		})
	}
	plain := len(g.pk.words()) == 0 // the key is one value, not a composed text
	switch {
	case t.Range == "" && (plain || single && !(matched(g.pk) && g.pk.readable())):
		k.add(t.Hash, false, t.HashType == "N")
		if k.partition = word + "#" + k.fields[0].placeholder(""); !plain {
			k.partition = k.fields[0].placeholder("")
		}
		return k, nil
	case t.Range != "" && single && !(matched(g.pk) && matched(g.sk) && g.pk.readable() && g.sk.readable()) &&
		!g.sk.fixed():
		k.add(t.Hash, false, t.HashType == "N")
		k.add(t.Range, true, t.RangeType == "N")
		if k.partition = word + "#" + k.fields[0].placeholder(""); !plain {
			k.partition = k.fields[0].placeholder("")
		}
		k.flat(word)
		return k, nil
	}
	if g.pk.kind != "S" || t.Range != "" && g.sk.kind != "S" || varies(g.pk) == 0 {
		return nil, fmt.Errorf("the key pattern %s %s does not identify entities: write the model by hand", g.pk, g.sk)
	}
	k.Key = k.template(g, g.pk, t.Hash, false)
	k.partition = word
	for _, f := range k.fields {
		k.partition += "#" + f.placeholder("")
	}
	if t.Range != "" {
		k.Sort = k.template(g, g.sk, t.Range, true)
		if varies(g.sk) > 0 {
			k.flat(word)
		}
	}
	return k, nil
}

// readable reports whether a template of the pattern can be read back: the values in it end at the delimiter of keys.
func (p pattern) readable() bool {
	return !slices.ContainsFunc(p.tokens[:max(0, len(p.tokens)-1)], func(t keyPart) bool {
		return t.literal == "" && t.delim != keyDelimiter
	})
}

// separable returns the pattern, or that of keys that only vary if no template could read it.
func (p pattern) separable() pattern {
	if len(p.tokens) == 0 || p.readable() {
		return p
	}
	return pattern{[]keyPart{{}}, p.kind}
}

// keyDelimiter separates the parts of keys in models.
const keyDelimiter = "#"

func (k *keying) add(attribute string, sort, number bool) *keyField {
	name := goName(attribute)
	if slices.Contains(queryMethods, name) || name == "ItemizeCodec" {
		name += "Value"
	}
	for i := range k.fields {
		if k.fields[i].name == name {
			name += "2"
		}
	}
	k.fields = append(k.fields, keyField{attribute, name, sort, number})
	return &k.fields[len(k.fields)-1]
}

// placeholder is the field in a template: with ^ in the key of an element.
func (f keyField) placeholder(up string) string {
	if f.number {
		return "{" + up + f.name + ":sortable}"
	}
	return "{" + up + f.name + "}"
}

// flat begins the sort keys with the fields in the sort key of the monoliths.
func (k *keying) flat(word string) {
	k.prefix, k.elementPrefix = word+"#", word+"#"
	for _, f := range k.fields {
		if f.sort {
			k.prefix += f.placeholder("") + "#"
			k.elementPrefix += f.placeholder("^") + "#"
		}
	}
}

// template returns the template of a key of monoliths. Parts that are no attribute become one, cut out of the key.
func (k *keying) template(g *group, p pattern, keyAttribute string, sort bool) string {
	var b strings.Builder
	for i, part := range p.tokens {
		switch {
		case part.literal != "":
			b.WriteString(part.literal)
		default:
			attribute := part.attribute
			if attribute == "" {
				attribute = k.free(g, p, i)
				k.reshape = append(k.reshape, step{Kind: cutKey, Attribute: attribute, From: keyAttribute, Part: i})
			}
			var f *keyField
			for j := range k.fields {
				if k.fields[j].attribute == attribute {
					f = &k.fields[j]
				}
			}
			if f == nil {
				f = k.add(attribute, sort, false)
			}
			b.WriteString("{" + f.name + "}")
		}
		b.WriteString(part.delim)
	}
	return b.String()
}

// free returns the name of an attribute for a part of a key, which no item has.
func (k *keying) free(g *group, p pattern, i int) string {
	name := "key"
	for j := i - 1; j >= 0; j-- {
		if p.tokens[j].literal != "" {
			name = strings.ToLower(p.tokens[j].literal) + "Id"
			break
		}
	}
	taken := scope{}
	for _, s := range k.reshape {
		taken[s.Attribute] = true
	}
	for _, it := range g.items {
		for attribute := range it {
			taken[attribute] = true
		}
	}
	return taken.take(name)
}

// key returns the keys of an item, without the attributes.
func (t *Table) key(it item.Attributes) item.Attributes {
	out := item.Attributes{t.Hash: it[t.Hash]}
	if t.Range != "" {
		out[t.Range] = it[t.Range]
	}
	return out
}
