package layout

import (
	"fmt"

	"github.com/itemize/itemize/internal/model/key"
)

// Entity distinguishes the items of one entity from those of others in its partition: their sort keys
// name the fields that the root's names.
type Entity struct {
	layout *Layout
	// keys are those of the kinds, with the entity's own fields in place.
	keys []*key.Template
}

// Entity returns the entity of a root.
func (x *Layout) Entity(pk, sk key.Scalar) (*Entity, error) {
	own := map[string]key.Value{}
	if err := ownValues(&x.pk, pk, own); err != nil {
		return nil, fmt.Errorf("%s: %w", x.Model, err)
	}
	if x.Root.key != nil {
		if err := ownValues(x.Root.key, sk, own); err != nil {
			return nil, fmt.Errorf("%s: %w", x.Model, err)
		}
	}
	e := &Entity{x, make([]*key.Template, len(x.Kinds))}
	for i, k := range x.Kinds {
		if k.key == nil {
			continue
		}
		e.keys[i] = k.key.Template
		for n, s := range k.key.from {
			v, ok := own[s.attribute]
			if s.from != "model" || !ok {
				continue
			}
			var err error
			if e.keys[i], err = e.keys[i].Fix(k.key.Part(n), v); err != nil {
				return nil, fmt.Errorf("%s: %w", x.Model, err)
			}
		}
	}
	return e, nil
}

// ownValues reads the model's fields in a key of the root: those that it gives back in full.
func ownValues(t *template, s key.Scalar, own map[string]key.Value) error {
	values := make([]key.Value, len(t.from))
	if !t.Parse(s, values) {
		return fmt.Errorf("the key %s matches no item of the model: see the keys of the lock file", s)
	}
	for i, from := range t.from {
		if t.lossless(i) {
			own[from.attribute] = values[i]
		}
	}
	return nil
}

// Match returns the kind of the entity's item with a sort key in a table, nil for none.
func (e *Entity) Match(table int, sk key.Scalar) *Kind {
	for i, k := range e.layout.Kinds {
		if k.Table == table && (k.key == nil || e.keys[i].Parse(sk, make([]key.Value, e.keys[i].Placeholders()))) {
			return k
		}
	}
	return nil
}

// Prefix returns the common beginning of the sort keys of all of the entity's items in a table.
func (e *Entity) Prefix(table int) string {
	prefix, first := "", true
	for i, k := range e.layout.Kinds {
		if k.Table != table {
			continue
		}
		if k.key == nil || e.keys[i].Type != 'S' {
			return ""
		}
		if text := fixed(e.keys[i]); first {
			prefix, first = text, false
		} else {
			prefix = prefix[:common(prefix, text)]
		}
	}
	return prefix
}

// fixed is the text before the first placeholder.
func fixed(t *key.Template) string {
	text := ""
	for _, p := range t.Parts {
		if p.Format.Kind != key.Literal {
			break
		}
		text += p.Text
	}
	return text
}

func common(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
