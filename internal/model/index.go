package model

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/save/write"
)

// IndexKeys returns the values of the attributes that exist only for secondary indexes, by their
// position in the kind's Derived. A value is nil if an empty field leaves it out, so that the item is
// not in the index.
func (m *Model) IndexKeys(r Record, keyFields []key.Value) ([]types.AttributeValue, error) {
	if len(r.Item.Derived) == 0 {
		return nil, nil
	}
	out := make([]types.AttributeValue, len(r.Item.Derived))
	for j, k := range r.Item.Derived {
		s, ok, err := m.indexKey(r, j, k, keyFields)
		if err != nil {
			return nil, err
		}
		if ok {
			out[j] = attr.ValueOf(s)
		}
	}
	return out, nil
}

// indexKey renders a key of an index; ok is false where a value is empty.
func (m *Model) indexKey(r Record, j int, k *schema.IndexKey, keyFields []key.Value) (s key.Scalar, ok bool,
	err error,
) {
	values := make([]key.Value, len(k.Sources))
	for i, src := range k.Sources {
		switch src.From {
		case schema.FromModel:
			values[i] = keyFields[src.KeyField]
		case schema.FromMapKey:
			values[i], err = m.Codec.Elements(r.Item.Index).MapKey(r.Pos.Key)
		default:
			values[i], err = m.Codec.Record(r.Item.Index).IndexKey(r.Value, j, i)
		}
		if err != nil {
			return s, false, m.ValueErrorf(r.Item.Name, "%s in the key %q of the index %s: %w", src.Text, k.Text,
				r.Item.IndexOf(k.Name), err)
		}
	}
	return m.RenderIndexKey(r.Item, k, values)
}

// RenderIndexKey returns a key of an index; ok is false where a value is empty, so that there is none.
func (m *Model) RenderIndexKey(it *schema.Item, k *schema.IndexKey, values []key.Value) (s key.Scalar, ok bool,
	err error,
) {
	if slices.ContainsFunc(values, schema.Empty) {
		return s, false, nil
	}
	if s, err = k.Template.Render(values); err == nil {
		err = s.CheckSize(m.IndexKeyLimit(it, k.Name))
	}
	if err != nil {
		return s, false, m.ValueErrorf(it.Name, "the key %q of the index %s: %s: %w", k.Text, it.IndexOf(k.Name),
			k.SourceName(err), err)
	}
	return s, true, nil
}

// Entries returns the changes of an item's entries in secondary indexes when the item changes from
// before, nil for none, to after.
func (m *Model) Entries(it *schema.Item, table string, before, after item.Attributes) []write.Entry {
	var out []write.Entry
	for _, e := range it.Entries {
		out = append(out, write.EntryOf(e.Index, table, before, after))
	}
	return out
}

// IndexKeyLimit returns the most bytes that a key attribute of the indexes may have on a kind of
// item: fewer where one of them sorts by it.
func (m *Model) IndexKeyLimit(it *schema.Item, name string) int {
	for _, e := range it.Entries {
		for _, k := range e.Range {
			if k.Name == name {
				return key.MaxSort
			}
		}
	}
	return key.MaxPartition
}
