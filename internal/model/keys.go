package model

import (
	"github.com/itemize/itemize/internal/model/codec"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/read/selection"
)

// Record is one record of a kind of item: the model's value for a singleton, an element
// for others, with its place in the slice or map.
type Record struct {
	Item  *schema.Item
	Value any
	Pos   codec.Pos
}

// Place returns the place of an item, by its kind, its partition and its sort key.
func (m *Model) Place(it *schema.Item, at key.Partition, sk key.Scalar) item.Place {
	return item.Place{Table: m.Table(it.Table.Index, at.Period), PK: at.PK, SK: sk}
}

// TableOf returns the table that a part of a selection is in.
func (m *Model) TableOf(p selection.Part) *item.Table { return m.Table(p.Table, p.Period) }

// PartOf returns the part that is one item.
func PartOf(at item.Place) selection.Part {
	return selection.Part{
		Table: at.Table.Index, Partition: at.Partition(),
		Range: selection.Range{Kind: selection.One, Low: at.SK},
	}
}

// SortKey returns the sort key of a record, the zero Scalar where its table has none.
func (m *Model) SortKey(r Record, keyFields []key.Value) (key.Scalar, error) {
	it := r.Item
	switch {
	case it.Key == nil:
		return key.Scalar{}, nil
	case it.Key.Fixed.Type != 0:
		return it.Key.Fixed, nil
	}
	var buf [8]key.Value
	values := buf[:0]
	for i, s := range it.Key.Sources {
		v, err := m.sourceValue(r, i, s, keyFields)
		if err != nil {
			return key.Scalar{}, m.ValueErrorf(it.Name, "%s: %w", s.Text, err)
		}
		values = append(values, v)
	}
	return m.Render(it, values)
}

// Render returns the sort key of the values of its placeholders.
func (m *Model) Render(it *schema.Item, values []key.Value) (key.Scalar, error) {
	sk, err := it.Key.Template.Render(values)
	if err == nil {
		err = sk.CheckSize(key.MaxSort)
	}
	if err != nil {
		return key.Scalar{}, m.ValueErrorf(it.Name, "%s: %w", it.Key.SourceName(err), err)
	}
	return sk, nil
}

func (m *Model) sourceValue(r Record, i int, s schema.Source, keyFields []key.Value) (key.Value, error) {
	switch s.From {
	case schema.FromModel:
		return keyFields[s.KeyField], nil
	case schema.FromMapKey:
		return m.Codec.Elements(r.Item.Index).MapKey(r.Pos.Key)
	}
	return m.Codec.Record(r.Item.Index).Key(r.Value, i)
}

// SameInKey reports whether two values give the same text at a placeholder.
func (m *Model) SameInKey(k *schema.Key, source int, a, b key.Value) bool {
	f := k.Format(source)
	var room [2][64]byte
	x, errX := f.Append(room[0][:0], a, k.Template.Delim)
	y, errY := f.Append(room[1][:0], b, k.Template.Delim)
	return errX == nil && errY == nil && string(x) == string(y)
}

// AttributeNames returns the names of the attributes that an item of a kind may have: its own,
// those of its key, and those that the library keeps for itself.
func (m *Model) AttributeNames(it *schema.Item) []string {
	var names []string
	for _, a := range it.Attributes {
		names = append(names, a.Name)
	}
	t := m.Tables[it.Table.Index]
	names = append(names, t.Hash)
	if t.Range != "" {
		names = append(names, t.Range)
	}
	if m.Reserved.Versions() {
		names = append(names, m.Reserved.AssignVersion(nil).Name)
	}
	return append(names, m.Reserved.Names()...)
}

// Agrees reports whether an item's key agrees with the key fields' values, as far as
// both are known: values may be fewer, or hold zero Values.
func (m *Model) Agrees(img *item.Image, keyFields []key.Value) bool {
	k := img.Kind.Key
	if k == nil {
		return true
	}
	for i, src := range k.Sources {
		if src.From != schema.FromModel || src.KeyField >= len(keyFields) || keyFields[src.KeyField].Kind == key.None {
			continue
		}
		if !m.SameInKey(k, i, img.Values[i], keyFields[src.KeyField]) {
			return false
		}
	}
	return true
}

// IdentityOf returns what an item's entity is known by: from the selection that it was
// found with, and where that names several entities from the item's keys.
func (m *Model) IdentityOf(img *item.Image, found []key.Value) []key.Value {
	identity := make([]key.Value, m.Schema.KeyFieldsInKey())
	copy(identity, found)
	if img.Kind.Key == nil {
		return identity
	}
	m.shardIn(identity, img.PK)
	for i, src := range img.Kind.Key.Sources {
		if src.From == schema.FromModel && src.KeyField < len(identity) &&
			(src.Lossless || identity[src.KeyField].Kind == key.None) {
			identity[src.KeyField] = img.Values[i]
		}
	}
	return identity
}

// shardIn completes what an entity is known by with the shard that a partition key names.
func (m *Model) shardIn(identity []key.Value, pk key.Scalar) {
	if m.Schema.Shards == nil {
		return
	}
	values := make([]key.Value, len(m.Schema.PK.Sources))
	if !m.Schema.PK.Template.Parse(pk, values) {
		return
	}
	for i, src := range m.Schema.PK.Sources {
		if src.From == schema.FromShard {
			identity[src.KeyField] = values[i]
		}
	}
}

// Whose returns what the entity of an item is known by, from the item's keys alone. It reports
// false for an item of no kind, and one whose keys are not those of an entity of the model.
func (m *Model) Whose(img *item.Image) ([]key.Value, bool) {
	if img.Kind == nil || IsGuard(img.PK) {
		return nil, false
	}
	pk := m.Schema.PK
	values := make([]key.Value, len(pk.Sources))
	if !pk.Template.Parse(img.PK, values) {
		return nil, false
	}
	leading := make([]key.Value, m.Schema.KeyFieldsInKey())
	for i, src := range pk.Sources {
		if src.KeyField < len(leading) {
			leading[src.KeyField] = values[i]
		}
	}
	identity := m.IdentityOf(img, leading)
	return identity, m.Agrees(img, identity)
}
