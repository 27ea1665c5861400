package layout

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
)

// Join returns the monolith of the items of an entity, the root among them, without what the library
// keeps on items for itself. The items are in any order.
func (x *Layout) Join(items []*Item) (item.Attributes, error) {
	j := &joiner{Layout: x, doc: item.Attributes{}, elements: map[*Kind][]*Item{}}
	items = slices.Clone(items)
	for i, it := range items {
		it = &Item{Kind: it.Kind, PK: it.PK, SK: it.SK, Attributes: x.whole(it)}
		items[i] = it
		switch {
		case it.Kind == x.Root:
			j.root = it
			j.residue = j.residueOf(it)
		case it.Kind.element():
			j.elements[it.Kind] = append(j.elements[it.Kind], it)
		}
	}
	if j.root == nil {
		return nil, fmt.Errorf("%s: the entity has no root", x.Model)
	}
	if err := j.keys(items); err != nil {
		return nil, err
	}
	for _, it := range items {
		if !it.Kind.element() {
			j.single(it)
		}
	}
	for _, k := range x.Kinds {
		if k.element() {
			if err := j.collection(k); err != nil {
				return nil, err
			}
		}
	}
	j.restore()
	return j.doc, nil
}

// joiner is a monolith that is put together.
type joiner struct {
	*Layout
	doc, residue item.Attributes
	root         *Item
	elements     map[*Kind][]*Item
}

// residueOf returns the root's record of its monolith.
func (x *Layout) residueOf(root *Item) item.Attributes {
	if m, ok := root.Attributes[x.Reserved.MovedName()].(*types.AttributeValueMemberM); ok {
		return m.Value
	}
	return nil
}

// noted returns the record of an attribute of the monolith, nil for none.
func (j *joiner) noted(name, what string) types.AttributeValue {
	if m, ok := j.residue[name].(*types.AttributeValueMemberM); ok {
		return m.Value[what]
	}
	return nil
}

// keys sets the fields of the model that are in keys.
func (j *joiner) keys(items []*Item) error {
	if err := j.fromKey(&j.pk, j.root.PK, false); err != nil {
		return err
	}
	for _, it := range items {
		if it.Kind.key == nil || it.Kind.element() {
			continue
		}
		if err := j.fromKey(it.Kind.key, it.SK, false); err != nil {
			return err
		}
	}
	return nil
}

func (j *joiner) fromKey(t *template, s key.Scalar, all bool) error {
	values := make([]key.Value, len(t.from))
	if !t.Parse(s, values) {
		return fmt.Errorf("%s: the key %s matches no item of the model", j.Model, s)
	}
	for i := range t.from {
		if from := &t.from[i]; from.from == "model" && t.lossless(i) && (all || !j.onItem(from.attribute)) {
			j.doc[from.attribute] = from.encode(values[i])
		}
	}
	return nil
}

// single adds the attributes of a singleton.
func (j *joiner) single(it *Item) {
	k := it.Kind
	structs := k.structs()
	for _, name := range structs {
		if k != j.Root || j.noted(name, "was") == nil && hasAny(it, name) {
			j.doc[name] = &types.AttributeValueMemberM{Value: item.Attributes{}}
		}
	}
	for name, v := range it.Attributes {
		if j.reserved(k, name) {
			continue
		}
		in := k.in
		if i := k.attribute(name); i >= 0 {
			in = k.Attributes[i].In
		} else if k == j.Root {
			in = ""
		}
		if in == "" {
			j.doc[name] = v
			continue
		}
		j.inside(in)[name] = v
	}
	for _, name := range structs {
		if len(structs) > 1 && !hasAny(it, name) && j.noted(name, "more") == nil {
			delete(j.doc, name)
		}
	}
}

// inside is the map of a struct.
func (j *joiner) inside(name string) item.Attributes {
	m, ok := j.doc[name].(*types.AttributeValueMemberM)
	if !ok {
		m = &types.AttributeValueMemberM{Value: item.Attributes{}}
		j.doc[name] = m
	}
	return m.Value
}

// hasAny reports whether an item has an attribute of a struct.
func hasAny(it *Item, in string) bool {
	return slices.ContainsFunc(it.Kind.Attributes, func(a schema.LayoutAttribute) bool {
		return a.In == in &&
			slices.ContainsFunc(append([]string{a.Name}, a.Was...),
				func(name string) bool { return it.Attributes[name] != nil })
	})
}

// attribute returns the index of the attribute with a name, or one that it had before, or -1.
func (k *Kind) attribute(name string) int {
	return slices.IndexFunc(k.Attributes,
		func(a schema.LayoutAttribute) bool { return a.Name == name || slices.Contains(a.Was, name) })
}

// collection adds the elements of a slice or map.
func (j *joiner) collection(k *Kind) error {
	all := slices.Clone(j.elements[k])
	if len(all) == 0 {
		return nil
	}
	slices.SortFunc(all, func(a, b *Item) int { return key.Compare(a.SK, b.SK) })
	values := make([]types.AttributeValue, len(all))
	names := make([]string, len(all))
	for i, it := range all {
		var err error
		if names[i], values[i], err = j.element(it); err != nil {
			return err
		}
	}
	if k.LayoutItem.Kind != "map" {
		j.doc[k.From] = &types.AttributeValueMemberL{Value: ordered(all, values, j.noted(k.From, "order"))}
		return nil
	}
	m := item.Attributes{}
	for i, name := range names {
		m[name] = values[i]
	}
	j.doc[k.From] = &types.AttributeValueMemberM{Value: m}
	return nil
}

// element returns an element, and its key in a map.
func (j *joiner) element(it *Item) (mapKey string, v types.AttributeValue, err error) {
	k := it.Kind
	values := make([]key.Value, len(k.key.from))
	if !k.key.Parse(it.SK, values) {
		return "", nil, fmt.Errorf("%s: the key %s does not match %s", j.Model, it.SK, k.Name)
	}
	fields := item.Attributes{}
	for i := range k.key.from {
		switch from := &k.key.from[i]; from.from {
		case "element":
			if !k.listed[from.attribute] && k.key.lossless(i) {
				fields[from.attribute] = from.encode(values[i])
			}
		case "self":
			v = from.encode(values[i])
		case "key":
			mapKey = plainText(values[i])
		}
	}
	if k.Scalar {
		for _, a := range k.Attributes {
			v = it.Attributes[a.Name]
		}
		return mapKey, v, nil
	}
	for name, value := range it.Attributes {
		if !j.reserved(k, name) {
			fields[name] = value
		}
	}
	return mapKey, &types.AttributeValueMemberM{Value: fields}, nil
}

// plainText is a map's key as attributevalue writes it.
func plainText(v key.Value) string {
	if v.Kind == key.String {
		return v.Text
	}
	s := source{kind: v.Kind, text: true}
	return s.encode(v).(*types.AttributeValueMemberS).Value
}

// restore gives what there is nothing of its former form, as long as there is nothing of it.
func (j *joiner) restore() {
	for name := range j.residue {
		if was := j.noted(name, "was"); was != nil && j.doc[name] == nil {
			j.doc[name] = was
		}
		if v := j.root.Attributes[name]; v != nil && j.noted(name, kept) != nil {
			j.doc[name] = v
		}
		if more, ok := j.noted(name, "more").(*types.AttributeValueMemberM); ok {
			maps.Copy(j.inside(name), more.Value)
		}
	}
}

// order records the order of a list if it differs from the order of its keys. It records the position
// of each element, and a hash of the keys, so that it is valid only while the elements are the same.
func (s *splitter) order(k *Kind, made []*Item) {
	sorted := slices.Clone(made)
	slices.SortStableFunc(sorted, func(a, b *Item) int { return key.Compare(a.SK, b.SK) })
	if slices.Equal(sorted, made) {
		return
	}
	at := make(map[*Item]int, len(sorted))
	for i, it := range sorted {
		at[it] = i
	}
	note := hashOf(sorted)
	for _, it := range made {
		note = binary.AppendUvarint(note, uint64(at[it]))
	}
	s.note(k.From, "order", &types.AttributeValueMemberB{Value: note})
}

const hashSize = 8

// hashOf is a hash of the keys of items.
func hashOf(sorted []*Item) []byte {
	h := sha256.New()
	for _, it := range sorted {
		h.Write(binary.AppendUvarint(nil, uint64(len(it.SK.Text))))
		h.Write([]byte(it.SK.Text))
	}
	return h.Sum(nil)[:hashSize]
}

// ordered returns the elements, which are in the order of their keys, in the order that was noted.
func ordered(sorted []*Item, values []types.AttributeValue, note types.AttributeValue) []types.AttributeValue {
	b, ok := note.(*types.AttributeValueMemberB)
	if !ok || len(b.Value) < hashSize || string(hashOf(sorted)) != string(b.Value[:hashSize]) {
		return values
	}
	out := make([]types.AttributeValue, 0, len(values))
	for rest := b.Value[hashSize:]; len(rest) > 0; {
		i, n := binary.Uvarint(rest)
		if n <= 0 || i >= uint64(len(values)) {
			return values
		}
		out, rest = append(out, values[i]), rest[n:]
	}
	if len(out) != len(values) {
		return values
	}
	return out
}

// Same reports whether two monoliths are the same, attribute value by attribute value, as numbers and
// sets are compared.
func Same(a, b item.Attributes) bool { return attr.SameItem(a, b) }

// Noted are the attributes of a monolith of which its root notes something, in order.
func (x *Layout) Noted(root *Item) []string { return slices.Sorted(maps.Keys(x.residueOf(root))) }
