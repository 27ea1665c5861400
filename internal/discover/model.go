package discover

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/forecast"
	"github.com/itemize/itemize/internal/item"
	"github.com/itemize/itemize/internal/migration/layout"
	"github.com/itemize/itemize/internal/schema"
)

// LayoutOf returns the layout of a model for a workload, with the exact sizes of its items. It makes documents of the
// sizes of the workload, and divides them as the model does. Attributes that the model does not store count as part of
// its root item. The second result are notes about them.
func LayoutOf(e *schema.Entity, w forecast.Workload) (forecast.Layout, []string, error) {
	none := forecast.Layout{}
	data := e.Layout()
	external := storedElsewhere(&data)
	ofAnyType(&data)
	x, err := layout.New(data)
	if err != nil {
		return none, nil, fmt.Errorf("%w: price it by hand, with a layout in the workload", err)
	}
	m := &maker{Layout: x, workload: w, external: external}
	l := forecast.Layout{Name: e.Name}
	p := &placing{layout: x, schema: e, items: map[string]int{}}
	root := x.Root
	groups := [][]string{nil}
	if root.SortKey != nil {
		p.items[root.SortKey.Template] = 0
	}
	at := map[string]int{} // the item of an attribute
	for _, k := range x.Kinds {
		i := 0
		switch {
		case k.From != "":
			continue
		case !k.Root:
			i = len(groups)
			groups = append(groups, nil)
			p.items[k.SortKey.Template] = i
		}
		for _, a := range k.Attributes {
			at[firstOf(a.In, a.Name)] = i
		}
	}
	var notes []string
	for _, a := range w.Attributes {
		if k := m.kindOf(a.Name); k != nil {
			if a.Elements == nil {
				return none, nil, fmt.Errorf("the model stores the elements of %q as items: describe them in the "+
					"workload "+
					"(\"elements\", see docs/costs.md)", a.Name)
			}
			l.Elements = append(l.Elements, a.Name)
			continue
		}
		if !x.Claims(a.Name) {
			notes = append(notes, fmt.Sprintf("the model does not store %q: it counts as part of the root item",
				a.Name))
		}
		groups[at[a.Name]] = append(groups[at[a.Name]], a.Name)
	}
	// items that hold nothing of the workload do not exist
	var kept []int
	for i, names := range groups {
		if len(names) > 0 || i == 0 {
			kept = append(kept, i)
			l.Items = append(l.Items, names)
		}
	}
	if len(l.Items[0]) == 0 {
		return none, nil, fmt.Errorf("the workload has no attribute of the root item of %s: add one, such as a key "+
			"field",
			e.Name)
	}
	l.Groups = prefixesOf(x, e.Delim, func(k *layout.Kind) string {
		switch {
		case k.From != "" && slices.Contains(l.Elements, k.From):
			return k.From
		case k.From == "" && k.Root:
			return l.Items[0][0]
		case k.From == "":
			if names := groups[p.items[k.SortKey.Template]]; len(names) > 0 {
				return names[0]
			}
		}
		return ""
	})
	l.Fields = fieldsOf(e, &data, x)
	p.elements = l.Elements
	for _, ix := range w.Indexes {
		p.indexes = append(p.indexes, ix.Name)
	}
	docs := m.documents()
	s, err := p.sizes(docs)
	if err != nil {
		return none, nil, err
	}
	var items [][]int
	for _, i := range kept {
		items = append(items, s.Items[i])
	}
	s.Items = items
	l.Sizes = s
	return l, notes, nil
}

// fieldsOf returns the fields of a model by the attributes of a monolith.
func fieldsOf(e *schema.Entity, data *schema.Layout, x *layout.Layout) map[string]forecast.Field {
	out := map[string]forecast.Field{}
	root := map[string]bool{}
	for _, k := range x.Kinds {
		key := ""
		if k.SortKey != nil {
			key = k.SortKey.Template
		}
		if k.From != "" {
			name := k.From
			for _, it := range e.Items {
				if it.Field != nil && it.Key != nil && it.Key.Text == key {
					name = it.Field.Name
				}
			}
			out[k.From] = forecast.Field{Name: name, SortKey: key}
			continue
		}
		for _, a := range k.Attributes {
			name, _, _ := strings.Cut(a.Field, ".")
			in := firstOf(a.In, a.Name)
			pinned := k.Root && (a.Name == data.TTL || a.Name == k.Expiry)
			out[in], root[in] = forecast.Field{Name: name, SortKey: key, Pinned: out[in].Pinned || pinned}, k.Root
		}
	}
	pin := func(all []schema.LayoutPlaceholder, isKey bool) {
		for _, p := range all {
			name := firstOf(p.Attribute, p.Field)
			f := out[name]
			if p.From != "model" && p.From != "item" || !isKey && !root[name] {
				continue
			}
			if f.Name == "" {
				f.Name = p.Field
			}
			f.Pinned = true
			out[name] = f
		}
	}
	pin(data.PartitionKey.Placeholders, true)
	if x.Root.SortKey != nil {
		pin(x.Root.SortKey.Placeholders, true)
	}
	for _, ix := range data.Indexes {
		for _, k := range append(slices.Clone(ix.Hash), ix.Range...) {
			pin(k.Placeholders, false)
		}
	}
	return out
}

// prefixesOf returns the groups of items whose sort keys share literal segments. name returns an attribute of a kind of
// item, "" for none of the workload.
func prefixesOf(x *layout.Layout, delim byte, name func(*layout.Kind) string) [][]string {
	var prefixes []string
	groups, all := map[string][]string{}, 0
	for _, k := range x.Kinds {
		attribute := name(k)
		if attribute == "" || k.SortKey == nil {
			continue
		}
		all++
		literal := behindFields(k.SortKey)
		for i := range len(literal) {
			if literal[i] != delim {
				continue
			}
			if groups[literal[:i]] == nil {
				prefixes = append(prefixes, literal[:i])
			}
			groups[literal[:i]] = append(groups[literal[:i]], attribute)
		}
	}
	var out [][]string
	for _, p := range prefixes {
		same := func(g []string) bool { return slices.Equal(g, groups[p]) }
		if n := len(groups[p]); n > 1 && n < all && !slices.ContainsFunc(out, same) {
			out = append(out, groups[p])
		}
	}
	return out
}

// behindFields returns the text of a template up to its first placeholder that is no field of the model. In a flat
// model, the key of an entity is the beginning of the sort keys of its items.
func behindFields(k *schema.LayoutKey) string {
	text, at := k.Template, 0
	for _, p := range k.Placeholders {
		i := strings.IndexByte(text[at:], '{')
		if i < 0 {
			return text
		}
		if p.From != "model" {
			return text[:at+i]
		}
		at += i + strings.IndexByte(text[at+i:], '}') + 1
	}
	if i := strings.IndexByte(text[at:], '{'); i >= 0 {
		return text[:at+i]
	}
	return text
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// storedElsewhere removes the tags of large values from a layout, and returns the attributes that have them.
func storedElsewhere(l *schema.Layout) map[string]*schema.Large {
	out := map[string]*schema.Large{}
	for i := range l.Items {
		for k := range l.Items[i].Attributes {
			if a := &l.Items[i].Attributes[k]; a.Large != nil {
				out[a.Name], a.Large = a.Large, nil
			}
		}
	}
	return out
}

// ofAnyType makes the fields of a layout take texts and numbers of any size, which made documents have.
func ofAnyType(l *schema.Layout) {
	keys := []*schema.LayoutKey{&l.PartitionKey}
	for i := range l.Items {
		it := &l.Items[i]
		if it.SortKey != nil {
			keys = append(keys, it.SortKey)
		}
		for k := range it.Attributes {
			if w := &it.Attributes[k].Wire; w.Type == "N" {
				*w = schema.Wire{Type: "N"}
			} else {
				*w = schema.Wire{}
			}
		}
	}
	for _, k := range keys {
		for i := range k.Placeholders {
			k.Placeholders[i].Len = 0
		}
	}
}

// maker makes documents of the sizes of a workload.
type maker struct {
	*layout.Layout
	workload forecast.Workload
	external map[string]*schema.Large
	// counts is the number of elements that were made, by attribute.
	counts map[string]int
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
			d[firstOf(p.Attribute, p.Field)] = keyValue(p, s, 8)
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
	for _, p := range m.keyFields() {
		if firstOf(p.Attribute, p.Field) == a.Name {
			return keyValue(p, sample, size-len(a.Name))
		}
	}
	for _, k := range m.Kinds {
		for _, f := range k.Attributes {
			if f.Name == a.Name && f.In == "" && k.From == "" && f.Wire.Type == "N" {
				return digits(size - len(a.Name))
			}
			if f.In == a.Name { // a struct that is spread
				return &types.AttributeValueMemberM{Value: item.Attributes{
					f.Name: text(size - len(a.Name) - len(f.Name)),
				}}
			}
		}
	}
	return text(size - len(a.Name))
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

// digits is a number of n bytes: it has two digits in each byte but the first.
func digits(n int) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strings.Repeat("1", min(38, max(1, 2*(n-1))))}
}

// text is a text of n bytes, or of none.
func text(n int) types.AttributeValue {
	return &types.AttributeValueMemberS{Value: strings.Repeat("x", max(0, n))}
}

// keyValue is a value for a placeholder, the n-th one in order. Texts have a size in bytes.
func keyValue(p schema.LayoutPlaceholder, n, size int) types.AttributeValue {
	switch p.Kind {
	case "time":
		at := time.Date(2021, 11, 14, 0, 0, 0, 0, time.UTC).Add(time.Duration(n) * time.Second)
		if slices.Contains(p.Options, "unixtime") {
			return &types.AttributeValueMemberN{Value: fmt.Sprint(at.Unix())}
		}
		return &types.AttributeValueMemberS{Value: at.Format(time.RFC3339Nano)}
	case "int", "uint", "number":
		return &types.AttributeValueMemberN{Value: fmt.Sprint(n + 1)}
	case "bytes":
		return &types.AttributeValueMemberB{Value: []byte(sequential(n, size))}
	}
	return &types.AttributeValueMemberS{Value: sequential(n, size)}
}

// sequential is a text of a size that sorts by n, as the elements of most lists do. It has at least three characters.
func sequential(n, size int) string {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	b := []byte(strings.Repeat("0", max(3, size)))
	for i := len(b) - 1; i >= 0 && n > 0; i-- {
		b[i] = digits[n%len(digits)]
		n /= len(digits)
	}
	return string(b)
}

// elements returns a list or map with the elements of a sample.
func (m *maker) elements(a forecast.Attribute, k *layout.Kind, sample int) types.AttributeValue {
	e := a.Elements
	if e.Counts[min(sample, len(e.Counts)-1)] == 0 {
		return nil
	}
	list := &types.AttributeValueMemberL{}
	entries := item.Attributes{}
	for range e.Counts[min(sample, len(e.Counts)-1)] {
		i := m.counts[a.Name]
		m.counts[a.Name]++
		var v types.AttributeValue
		if k.Scalar {
			size := 8
			if len(e.Sizes) > 0 {
				size = e.Sizes[i%len(e.Sizes)]
			}
			v = text(size)
		} else {
			v = m.structure(e, k, i)
		}
		key := 0
		if len(e.Keys) > 0 {
			key = e.Keys[i%len(e.Keys)]
		}
		for _, p := range k.SortKey.Placeholders {
			switch p.From {
			case "self":
				v = keyValue(p, i, len(v.(*types.AttributeValueMemberS).Value))
			case "key":
				s, ok := keyValue(p, i, key).(*types.AttributeValueMemberS)
				if !ok {
					s = &types.AttributeValueMemberS{Value: fmt.Sprint(i + 1)}
				}
				entries[s.Value] = v
			}
		}
		if k.LayoutItem.Kind == "map" && len(entries) == 0 {
			entries[sequential(i, key)] = v
		}
		list.Value = append(list.Value, v)
	}
	if k.LayoutItem.Kind == "map" {
		return &types.AttributeValueMemberM{Value: entries}
	}
	return list
}

// structure returns an element with attributes.
func (m *maker) structure(e *forecast.Elements, k *layout.Kind, i int) types.AttributeValue {
	v := item.Attributes{}
	size := map[string]int{}
	for _, f := range e.Attributes {
		if n := f.Sizes[i%len(f.Sizes)]; n > 0 {
			size[f.Name] = n
			v[f.Name] = text(n - len(f.Name))
		}
	}
	if len(e.Attributes) == 0 && len(k.Attributes) > 0 { // one size for all of it
		name := k.Attributes[0].Name
		v[name] = text(e.Sizes[i%len(e.Sizes)] - len(name))
	}
	for _, p := range k.SortKey.Placeholders {
		if p.From == "element" {
			name := firstOf(p.Attribute, p.Field)
			v[name] = keyValue(p, i, max(1, size[name]-len(name)))
		}
	}
	return &types.AttributeValueMemberM{Value: v}
}
