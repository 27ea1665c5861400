package schema

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/itemize/itemize/internal/model/key"
)

// Collision returns the contradiction of two models in one table, and its remedy, "" for none. A
// contradiction is two items that some values could give the same key, also two guards, or two keys that one table
// cannot have.
func Collision(a, b *Entity) string { return cmp.Or(sameGuards(a, b), OfKeys(a, b)) }

// OfKeys is the same without the guards.
func OfKeys(a, b *Entity) string {
	for _, t := range a.Tables {
		for _, u := range b.Tables {
			if a.stored(t) != b.stored(u) {
				continue
			}
			if x, y := t.keys(), u.keys(); x != y {
				return fmt.Sprintf("the table %s has the key %[3]s by %[2]s, but %[5]s by %[4]s: declare the same "+
					"key (hash=, range=, and the kinds of placeholders), or another table", t.Name, a.Label(), x,
					b.Label(), y)
			}
			if text := cmp.Or(expiring(a, b, t, u), expiring(b, a, u, t)); text != "" {
				return text
			}
			if text := collisionIn(a, b, t, u); text != "" {
				return text + ": begin the partition keys or the sort keys of one with a constant segment, or " +
					"declare another table in one"
			}
		}
	}
	return ""
}

// stored is the name of a table, with the period that it holds in place of the field that has the time.
func (e *Entity) stored(t *Table) string {
	if e.Periods == nil {
		return t.Name
	}
	return e.Periods.Named(t.Name, "{"+e.Periods.Kind.Period()+"}")
}

// expiring returns the contradiction of the TTL attributes of two models in one table, "" for none.
func expiring(a, b *Entity, t, u *Table) string {
	if a.TTL == "" || a.TTL == b.TTL {
		return ""
	}
	if b.TTL != "" {
		return fmt.Sprintf("the table %s has the TTL attribute %q by %s, but %q by %s: declare the same in both "+
			"(ttl=), or another table in one", t.Name, a.TTL, a.Label(), b.TTL, b.Label())
	}
	for _, it := range b.Items {
		if i := it.Attribute(a.TTL); i >= 0 && it.Table == u {
			return fmt.Sprintf("the attribute %q of %s.%s is the TTL attribute of the table %s by %s: rename it "+
				"(dynamodbav:\"other\"), or declare another table", a.TTL,
				b.Label(), it.Attributes[i].Value.Name, t.Name, a.Label())
		}
	}
	return ""
}

// sameGuards names a unique value of two models whose guards have the same keys, "" for none.
func sameGuards(a, b *Entity) string {
	for _, x := range a.Uniques {
		for _, y := range b.Uniques {
			if x.Name == y.Name && cmp.Or(x.Table, a.Root.Table.Name) == cmp.Or(y.Table, b.Root.Table.Name) {
				return fmt.Sprintf("the guards of %s.%s and of %s.%s are named %s: give one another name (as=)",
					a.Label(), a.FieldNames(x), b.Label(), b.FieldNames(y), x.Name)
			}
		}
	}
	return ""
}

// keys are the key attributes of the table, with their types.
func (t *Table) keys() string {
	text := fmt.Sprintf("%s (%s)", t.Hash, string(t.HashType))
	if t.Range != "" {
		text += fmt.Sprintf(", %s (%s)", t.Range, string(t.RangeType))
	}
	return text
}

// collisionIn names items of two models in one table whose keys can be equal.
func collisionIn(a, b *Entity, t, u *Table) string {
	for _, x := range a.Items {
		for _, y := range b.Items {
			if x.Table != t || y.Table != u {
				continue
			}
			pk, sk, collide := overlap(newPair(a.PK, x.Key), newPair(b.PK, y.Key))
			if !collide {
				continue
			}
			at := pk.String()
			if sk.Type != 0 {
				at += " " + sk.String()
			}
			return fmt.Sprintf("key collision of %s and %s in the table %s: %s is %s of the first, and %s of the "+
				"second", a.Label(), b.Label(), t.Name, at, x.label(), y.label())
		}
	}
	return ""
}

// pair are the partition and the sort key of an item. shared are the parts of them that have one value.
type pair struct {
	keys   [2]*key.Template // the sort key is nil in a table without
	shared [][]part
}

// part is a part of one of the keys.
type part struct{ key, at int }

func newPair(pk, sk *Key) pair {
	p := pair{keys: [2]*key.Template{pk.Template}}
	keys := []*Key{pk}
	if sk != nil {
		p.keys[1] = sk.Template
		keys = append(keys, sk)
	}
	type value struct {
		field  int
		format key.Format
	}
	parts := map[value][]part{}
	for k, of := range keys {
		for i, s := range of.Sources {
			if s.From == FromModel {
				v := value{s.KeyField, of.Format(i)}
				parts[v] = append(parts[v], part{k, of.Template.Part(i)})
			}
		}
	}
	for _, all := range parts {
		if len(all) > 1 {
			p.shared = append(p.shared, all)
		}
	}
	slices.SortFunc(p.shared, func(a, b []part) int { return cmp.Or(a[0].key-b[0].key, a[0].at-b[0].at) })
	return p
}

// overlap decides whether two pairs of templates can give the same two keys, and returns such keys.
// Where values that both keys of an item have leave it open, it says that they can.
func overlap(a, b pair) (pk, sk key.Scalar, collide bool) {
	if pk, collide = key.Overlap(a.keys[0], b.keys[0]); !collide {
		return pk, sk, false
	}
	if a.keys[1] != nil && b.keys[1] != nil {
		if sk, collide = key.Overlap(a.keys[1], b.keys[1]); !collide {
			return pk, sk, false
		}
	}
	i, values := a.differ(pk, sk)
	if i < 0 {
		if i, values = b.differ(pk, sk); i < 0 {
			return pk, sk, true
		}
		a, b = b, a
	}
	for _, v := range values { // each is the only one where the other's key has no placeholder
		fixed, ok := a.fix(i, v)
		if !ok {
			continue
		}
		if x, y, collide := overlap(fixed, b); collide {
			return x, y, true
		}
	}
	return pk, sk, !b.fixes(a.shared[i])
}

// fixes reports whether one of the parts of another pair can have a single value, that of a key here
// without placeholders.
func (p pair) fixes(parts []part) bool {
	return slices.ContainsFunc(parts, func(x part) bool { return p.keys[x.key].Placeholders() == 0 })
}

// differ returns the first of the shared values that is several in the keys, -1 for none.
func (p pair) differ(pk, sk key.Scalar) (int, []key.Value) {
	var in [2][]key.Value
	for k, text := range []key.Scalar{pk, sk} {
		if p.keys[k] == nil {
			continue
		}
		in[k] = make([]key.Value, p.keys[k].Placeholders())
		if !p.keys[k].Parse(text, in[k]) {
			return -1, nil
		}
	}
	for i, parts := range p.shared {
		var values []key.Value
		for _, x := range parts {
			v := in[x.key][p.keys[x.key].Placeholder(x.at)]
			if !slices.ContainsFunc(values, v.Equal) {
				values = append(values, v)
			}
		}
		if len(values) > 1 {
			return i, values
		}
	}
	return -1, nil
}

// fix gives the shared value i.
func (p pair) fix(i int, v key.Value) (pair, bool) {
	for _, x := range p.shared[i] {
		k, err := p.keys[x.key].Fix(x.at, v)
		if err != nil {
			return p, false
		}
		p.keys[x.key] = k
	}
	p.shared = slices.Delete(slices.Clone(p.shared), i, i+1)
	return p, true
}
