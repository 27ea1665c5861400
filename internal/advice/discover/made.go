package discover

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost/forecast"
	"github.com/itemize/itemize/internal/migration/layout"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/schema"
)

// maker makes documents of the sizes of a workload. Values that are in keys, or are an expiry, are valid for the model.
type maker struct {
	*layout.Layout
	workload forecast.Workload
	external map[string]*schema.Large
	needs    needs
	// counts is the number of elements that were made, by attribute.
	counts map[string]int
}

// ofAnyType makes the fields of a layout take texts and numbers of any size, which made documents have.
func ofAnyType(l *schema.Layout) {
	for i := range l.Items {
		for k := range l.Items[i].Attributes {
			if w := &l.Items[i].Attributes[k].Wire; w.Type == "N" {
				*w = schema.Wire{Type: "N"}
			} else {
				*w = schema.Wire{}
			}
		}
	}
	for _, k := range allKeys(l) {
		for i := range k.Placeholders {
			p := &k.Placeholders[i]
			p.Len = 0
			if p.Kind == "text" { // a text of another form has the same size
				p.Kind = "string"
			}
		}
	}
}

// allKeys returns all keys of a layout.
func allKeys(l *schema.Layout) []*schema.LayoutKey {
	keys := []*schema.LayoutKey{&l.PartitionKey}
	for i := range l.Items {
		if k := l.Items[i].SortKey; k != nil {
			keys = append(keys, k)
		}
	}
	for i := range l.Indexes {
		x := &l.Indexes[i]
		for _, all := range [][]schema.LayoutIndexKey{x.Hash, x.Range} {
			for k := range all {
				keys = append(keys, &all[k].LayoutKey)
			}
		}
	}
	return keys
}

// kindOf returns the kind of the elements of an attribute, nil for none.
func (m *maker) kindOf(attribute string) *layout.Kind {
	i := slices.IndexFunc(m.Kinds, func(k *layout.Kind) bool { return k.From == attribute })
	if i < 0 {
		return nil
	}
	return m.Kinds[i]
}

// documents returns a document for each sample.
func (m *maker) documents() []item.Attributes {
	m.counts = map[string]int{}
	var out []item.Attributes
	for s := range m.workload.Samples() {
		d := item.Attributes{}
		for _, p := range m.keyFields() {
			name := firstOf(p.Attribute, p.Field)
			d[name] = m.needs.of("", name).value(s, 8)
		}
		for _, a := range m.workload.Attributes {
			if v := m.value(a, s); v != nil {
				d[a.Name] = v
			}
		}
		out = append(out, d)
	}
	return out
}

// keyFields are the fields of the model in the keys of the root item.
func (m *maker) keyFields() []schema.LayoutPlaceholder {
	all := m.PartitionKey.Placeholders
	if m.Root.SortKey != nil {
		all = append(slices.Clone(all), m.Root.SortKey.Placeholders...)
	}
	return all
}

// value returns a value of the size of an attribute in a sample, nil for none.
func (m *maker) value(a forecast.Attribute, sample int) types.AttributeValue {
	if k := m.kindOf(a.Name); k != nil {
		return m.elements(a, k, sample)
	}
	size := 0
	if a.Elements == nil || len(a.Sizes) > 0 {
		size = a.Sizes[min(sample, len(a.Sizes)-1)]
	} else { // the elements stay in the attribute
		size = len(a.Name) + 3 + m.inside(a, sample)
	}
	if g := m.external[a.Name]; g != nil && size > 0 {
		if size = len(a.Name) + 150; len(a.Compressed) > 0 {
			size = a.Compressed[min(sample, len(a.Compressed)-1)]
		}
	}
	if size == 0 {
		return nil
	}
	if n := m.needs.of("", a.Name); n != nil {
		return n.value(sample, size-len(a.Name))
	}
	for _, k := range m.Kinds {
		for _, f := range k.Attributes {
			if f.Name == a.Name && f.In == "" && k.From == "" && f.Wire.Type == "N" {
				return digits(size - len(a.Name))
			}
			if f.In == a.Name {
				return m.spread(a.Name, sample, size-len(a.Name))
			}
		}
	}
	return text(size - len(a.Name))
}

// spread returns a struct of n bytes whose fields are attributes of items.
func (m *maker) spread(name string, sample, n int) types.AttributeValue {
	var fields []string
	for _, k := range m.Kinds {
		for _, f := range k.Attributes {
			if f.In == name {
				fields = append(fields, f.Name)
			}
		}
	}
	return &types.AttributeValueMemberM{Value: m.fill(name, fields, sample, n)}
}

// fill returns fields of n bytes in all: those that the model needs, and one field for the rest.
func (m *maker) fill(in string, fields []string, number, n int) item.Attributes {
	v := item.Attributes{}
	rest, share := "", n/max(1, len(fields))
	for _, name := range fields {
		if need := m.needs.of(in, name); need != nil {
			v[name] = need.value(number, share-len(name))
			n -= sizeOf(name, v[name])
		} else if rest == "" {
			rest = name
		}
	}
	if rest != "" {
		v[rest] = text(n - len(rest))
	}
	return v
}

// inside is the size of the elements of an attribute in a sample, inside the attribute.
func (m *maker) inside(a forecast.Attribute, sample int) (n int) {
	e := a.Elements
	for range e.Counts[min(sample, len(e.Counts)-1)] {
		i := m.counts[a.Name]
		m.counts[a.Name]++
		n++
		if len(e.Keys) > 0 {
			n += e.Keys[i%len(e.Keys)]
		}
		if len(e.Attributes) == 0 {
			n += e.Sizes[i%len(e.Sizes)]
			continue
		}
		n += 3
		for _, f := range e.Attributes {
			if size := f.Sizes[i%len(f.Sizes)]; size > 0 {
				n += 1 + size
			}
		}
	}
	return n
}

// elements returns a list or map with the elements of a sample. Each has its position in the values of its keys.
func (m *maker) elements(a forecast.Attribute, k *layout.Kind, sample int) types.AttributeValue {
	e := a.Elements
	n := e.Counts[min(sample, len(e.Counts)-1)]
	if n == 0 {
		return nil
	}
	list := &types.AttributeValueMemberL{}
	entries := item.Attributes{}
	for at := range n {
		i := m.counts[a.Name]
		m.counts[a.Name]++
		v := m.element(e, k, i, at)
		list.Value = append(list.Value, v)
		if k.LayoutItem.Kind != "map" {
			continue
		}
		size := 0
		if len(e.Keys) > 0 {
			size = e.Keys[i%len(e.Keys)]
		}
		entries[m.needs.of(k.From, mapKey).text(at, size)] = v
	}
	if k.LayoutItem.Kind == "map" {
		return &types.AttributeValueMemberM{Value: entries}
	}
	return list
}

// element returns element i of all samples, which is at a position of its list.
func (m *maker) element(e *forecast.Elements, k *layout.Kind, i, at int) types.AttributeValue {
	if !k.Scalar {
		return &types.AttributeValueMemberM{Value: m.structure(e, k, i, at)}
	}
	size := 8
	if len(e.Sizes) > 0 {
		size = e.Sizes[i%len(e.Sizes)]
	}
	if need := m.needs.of(k.From, itself); need != nil {
		return need.value(at, size)
	}
	return text(size)
}

// structure returns the fields of an element.
func (m *maker) structure(e *forecast.Elements, k *layout.Kind, i, at int) item.Attributes {
	v := item.Attributes{}
	if len(e.Attributes) == 0 { // one size for all of it
		var fields []string
		for _, f := range k.Attributes {
			fields = append(fields, f.Name)
		}
		v = m.fill(k.From, fields, at, e.Sizes[i%len(e.Sizes)])
	}
	for _, f := range e.Attributes {
		n := f.Sizes[i%len(f.Sizes)]
		if n == 0 {
			continue
		}
		if need := m.needs.of(k.From, f.Name); need != nil {
			v[f.Name] = need.value(at, n-len(f.Name))
		} else {
			v[f.Name] = text(n - len(f.Name))
		}
	}
	for _, p := range k.SortKey.Placeholders {
		if name := firstOf(p.Attribute, p.Field); p.From == "element" && v[name] == nil {
			v[name] = m.needs.of(k.From, name).value(at, 1)
		}
	}
	return v
}
