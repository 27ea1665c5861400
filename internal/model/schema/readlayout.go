package schema

import (
	"fmt"
	"slices"

	"github.com/itemize/itemize/internal/model/grammar"
	"github.com/itemize/itemize/internal/model/key"
)

// textKind is that of placeholders that are written as text by their types' own methods, which data cannot call.
const textKind = "text"

// Read returns the template of a key that was read as data, of a key attribute's type.
func (k *LayoutKey) Read(attributeType string, delim byte) (*key.Template, error) {
	t := &key.Template{Type: 'S', Delim: delim}
	if attributeType != "" {
		t.Type = attributeType[0]
	}
	parsed, errs := grammar.ParseTemplate(k.Template)
	if len(errs) > 0 {
		return nil, fmt.Errorf("the template %q: %w", k.Template, errs[0])
	}
	n := 0
	for _, p := range parsed.Parts {
		if p.Name == "" {
			t.Parts = append(t.Parts, key.Part{Text: p.Literal})
			continue
		}
		if n == len(k.Placeholders) {
			return nil, fmt.Errorf("the template %q has more placeholders than the layout describes: run itemize gen",
				k.Template)
		}
		f, err := k.Placeholders[n].format()
		if err != nil {
			return nil, fmt.Errorf("the template %q: %s: %w", k.Template, p, err)
		}
		t.Parts = append(t.Parts, key.Part{Format: f})
		n++
	}
	return t, nil
}

func (p *LayoutPlaceholder) format() (key.Format, error) {
	if p.Kind == textKind {
		return key.Format{}, fmt.Errorf("%s is written by a method of its type: only a Go program can call it",
			p.Field)
	}
	kind := slices.Index(keyKinds[:], p.Kind)
	if kind <= 0 {
		return key.Format{}, fmt.Errorf("the kind %q of a value is unknown: run itemize gen", p.Kind)
	}
	return key.FormatNamed(p.Format, key.Kind(kind), p.Number)
}
