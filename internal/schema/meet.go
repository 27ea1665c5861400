package schema

import (
	"fmt"
	"slices"

	"github.com/itemize/itemize/internal/key"
)

// Meet says what two models in one table cannot both be, and the cure, "" for nothing: items that some
// values could make one, and keys that one table does not have.
func Meet(a, b *Entity) string {
	for _, t := range a.Tables {
		for _, u := range b.Tables {
			if t.Name != u.Name {
				continue
			}
			if x, y := t.keys(), u.keys(); x != y {
				return fmt.Sprintf("the table %s of %s has the key %s, and that of %s %s, which is none that one table has: give both the same (hash=, range=, and the kinds of their placeholders), or one another table", t.Name, a.Label(), x, b.Label(), y)
			}
			if text := meetIn(a, b, t, u); text != "" {
				return text + ": begin the partition keys, or the sort keys, of one with a segment of its own, or give it another table"
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

// meetIn names items of two models in one table whose keys can be equal.
func meetIn(a, b *Entity, t, u *Table) string {
	for _, x := range a.Items {
		for _, y := range b.Items {
			if x.Table != t || y.Table != u {
				continue
			}
			pk, sk, meet := overlap(newPair(a.PK, x.Key), newPair(b.PK, y.Key))
			if !meet {
				continue
			}
			at := pk.String()
			if sk.Type != 0 {
				at += " " + sk.String()
			}
			return fmt.Sprintf("the keys of %s and %s in the table %s can be equal: %s is %s of the one, and %s of the other", a.Label(), b.Label(), t.Name, at, x.label(), y.label())
		}
	}
	return ""
}

// pair are the partition and the sort key of an item. shared are the parts of both that have one value.
type pair struct {
	pk, sk *key.Template
	shared [][2]int
}

func newPair(pk, sk *Key) pair {
	p := pair{pk: pk.Template}
	if sk == nil {
		return p
	}
	p.sk = sk.Template
	for i, s := range pk.Sources {
		for j, u := range sk.Sources {
			if s.From == FromModel && u.From == FromModel && s.KeyField == u.KeyField && pk.Format(i) == sk.Format(j) {
				p.shared = append(p.shared, [2]int{pk.Template.Part(i), sk.Template.Part(j)})
			}
		}
	}
	return p
}

// overlap decides whether two pairs of templates can give the same two keys, and returns such keys.
// Where values that both keys of an item have leave it open, it says that they can.
func overlap(a, b pair) (pk, sk key.Scalar, meet bool) {
	if pk, meet = key.Overlap(a.pk, b.pk); !meet || a.sk == nil || b.sk == nil {
		return pk, sk, meet
	}
	if sk, meet = key.Overlap(a.sk, b.sk); !meet {
		return pk, sk, false
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
		if x, y, meet := overlap(fixed, b); meet {
			return x, y, true
		}
	}
	return pk, sk, b.pk.Placeholders() > 0 && b.sk.Placeholders() > 0
}

// differ returns the first of the shared parts that has two values in the keys, -1 for none.
func (p pair) differ(pk, sk key.Scalar) (int, []key.Value) {
	x, y := make([]key.Value, p.pk.Placeholders()), make([]key.Value, p.sk.Placeholders())
	if !p.pk.Parse(pk, x) || !p.sk.Parse(sk, y) {
		return -1, nil
	}
	for i, s := range p.shared {
		if v, w := x[p.pk.Placeholder(s[0])], y[p.sk.Placeholder(s[1])]; !v.Equal(w) {
			return i, []key.Value{v, w}
		}
	}
	return -1, nil
}

// fix gives the shared part i a value.
func (p pair) fix(i int, v key.Value) (pair, bool) {
	pk, err := p.pk.Fix(p.shared[i][0], v)
	if err != nil {
		return p, false
	}
	sk, err := p.sk.Fix(p.shared[i][1], v)
	return pair{pk, sk, slices.Delete(slices.Clone(p.shared), i, i+1)}, err == nil
}
