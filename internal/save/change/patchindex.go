package change

import (
	"slices"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/save/write"
)

// indexKeys adds the attributes that exist only for secondary indexes to an update, if its changes affect them.
func (x *Patch) indexKeys(ch *PatchItem) error {
	if ch.Kind != write.Update || len(ch.Item.Entries) == 0 {
		return nil
	}
	p := &patchedKeys{Patch: x, ch: ch}
	if err := p.read(); err != nil {
		return err
	}
	// If the update may create the item, it also adds those that consist of the entity's key. The next save of a
	// created item adds the rest, which consist of fields that the patch does not set.
	for j, k := range ch.Item.Derived {
		if err := p.key(j, k); err != nil {
			return err
		}
	}
	return p.sparse()
}

// patchedKeys is a patch's update of an item while the keys of indexes are made of it.
type patchedKeys struct {
	*Patch
	ch *PatchItem
	// rec is the record as far as the patch knows it. encoded are the attributes whose values it knows.
	// operated are those whose new values depend on the stored ones.
	rec               any
	encoded, operated []int
	// inKey are the values in the item's own sort key.
	inKey []key.Value
}

// read builds the record of the values that the patch sets.
func (p *patchedKeys) read() error {
	it, m := p.ch.Item, p.m
	if p.rec = m.Codec.New(); it.Element() {
		p.rec = m.Codec.Elements(it.Index).NewElement()
	}
	record := m.Codec.Record(it.Index)
	for _, a := range p.ch.Set {
		if a.Index < 0 {
			continue
		}
		if err := record.Decode(p.rec, a.Index, a.Value); err != nil {
			return m.FieldErrorf(it.Attributes[a.Index].Value.Name, "%w", err)
		}
		p.encoded = append(p.encoded, a.Index)
	}
	for _, a := range p.ch.Remove {
		if a.Index < 0 {
			continue
		}
		p.encoded = append(p.encoded, a.Index)
	}
	for _, o := range p.ch.Operations {
		i := it.Attribute(o.Path[0])
		if o.Op == item.OpRemove && len(o.Path) == 1 {
			p.encoded = append(p.encoded, i)
		} else {
			p.operated = append(p.operated, i)
		}
	}
	_, p.inKey = m.Schema.Match(it.Table.Index, p.ch.SK)
	return nil
}

// key adds one key, if the patch changes it.
func (p *patchedKeys) key(j int, k *schema.IndexKey) error {
	values := make([]key.Value, len(k.Sources))
	var changed, unknown *schema.Source
	for i := range k.Sources {
		src := &k.Sources[i]
		v, is, err := p.value(j, i, src)
		if err != nil {
			return err
		}
		values[i] = v
		switch {
		case is == valueSet:
			changed = src
		case is == valueOperated:
			changed, unknown = src, src
		case is == valueUnknown:
			unknown = src
		}
	}
	switch {
	case changed == nil && unknown == nil && p.ch.makes():
		s, ok, err := p.m.RenderIndexKey(p.ch.Item, k, values)
		if ok {
			p.ch.ofKey = append(p.ch.ofKey, item.Assignment{Name: k.Name, Index: item.Indexed, Value: attr.ValueOf(s)})
			p.ch.Defaults = append(p.ch.Defaults, p.ch.ofKey[len(p.ch.ofKey)-1])
		}
		return err
	case changed == nil:
		return nil
	case changed == unknown:
		return p.m.FieldErrorf(p.ch.Field,
			"the index key %q contains %s, and the result of its change depends on the stored value: use Update, "+
				"or Set", k.Text,
			changed.Text)
	case unknown != nil:
		return p.m.FieldErrorf(p.ch.Field, "the index key %q contains %s, which the patch sets, and %s, which it "+
			"does not set: set both, or use Update", k.Text, changed.Text, unknown.Text)
	}
	s, ok, err := p.m.RenderIndexKey(p.ch.Item, k, values)
	switch {
	case err != nil:
		return err
	case ok:
		p.ch.assign(item.Assignment{Name: k.Name, Index: item.Indexed, Value: attr.ValueOf(s)})
	default:
		p.ch.assign(item.Assignment{Name: k.Name, Index: item.Indexed})
	}
	return nil
}

// The states of a value for a patch: unknown, unchanged and known, set by the patch, or changed
// depending on its stored value.
const (
	valueUnknown = iota
	setsValue
	valueSet
	valueOperated
)

// value returns the value of a placeholder as far as the patch knows it; a field that is not set has the value of a
// zero record.
func (p *patchedKeys) value(j, i int, src *schema.Source) (v key.Value, is int, err error) {
	it, m := p.ch.Item, p.m
	if src.From == schema.FromModel {
		if src.KeyField < len(p.Identity) {
			return p.Identity[src.KeyField], setsValue, nil
		}
		return key.Value{Kind: key.String}, valueUnknown, nil
	}
	if it.Key != nil {
		for n, s := range it.Key.Sources {
			if s.From == src.From && slices.Equal(s.Value.Path, src.Value.Path) && n < len(p.inKey) && s.Lossless {
				return p.inKey[n], setsValue, nil
			}
		}
	}
	if v, err = m.Codec.Record(it.Index).IndexKey(p.rec, j, i); err != nil {
		return v, valueUnknown, m.ValueErrorf(it.Name, "%s in an index key: %w", src.Text, err)
	}
	a := slices.IndexFunc(it.Attributes,
		func(a *schema.Attribute) bool { return slices.Equal(a.Value.Path, src.Value.Path) })
	for f, o := range m.Schema.KeyFields[:m.Schema.Identities()] {
		k, source := m.Schema.KeyOf(f)
		if src.From == schema.FromItem && slices.Equal(o.Path, src.Value.Path) && k.Sources[source].Lossless {
			return p.Identity[f], setsValue, nil
		}
	}
	switch {
	case slices.Contains(p.operated, a):
		return v, valueOperated, nil
	case slices.Contains(p.encoded, a):
		return v, valueSet, nil
	}
	return v, valueUnknown, nil
}

// sparse gives an item that may be made the keys of indexes that are attributes of its own.
func (p *patchedKeys) sparse() error {
	it := p.ch.Item
	for i, a := range it.Attributes {
		if !it.Sparse(i) {
			continue
		}
		for _, o := range p.ch.Operations {
			if o.Path[0] != a.Name || o.Op != item.OpSetIfAbsent {
				continue
			}
			v, err := indexable(p.m, it, i, o.Value)
			if err != nil {
				return p.m.ValueErrorf(a.Value.Name, "attribute %q: %w", a.Name, err)
			}
			if v == nil {
				return p.m.ValueErrorf(a.Value.Name,
					"the attribute %q is a key of the index %s, which cannot be empty: remove it instead",
					a.Name, it.IndexOf(a.Name))
			}
		}
		if !p.ch.makes() || slices.Contains(p.encoded, i) || slices.Contains(p.operated, i) {
			continue
		}
		v, err := encode(p.m, it, p.rec, i, nil)
		if err != nil {
			return err
		}
		defaulted := slices.ContainsFunc(p.ch.Defaults, func(d item.Assignment) bool { return d.Name == a.Name })
		if v != nil && !defaulted {
			p.ch.Defaults = append(p.ch.Defaults, item.Assignment{Name: a.Name, Index: i, Value: v})
		}
	}
	return nil
}
