package change

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
)

// A load gives a field that a key names the value of the key, and if an attribute holds the field as well, the value
// of the attribute. So what a write stores has to give the same value by both ways. The schema decides this for the
// types that the library encodes itself. The methods of other types are asked when a value is written.

// keyTexts returns an error if a new item has a key with a text that UnmarshalText does not read back.
func keyTexts(m *model.Model, ch *Change, keyFields []key.Value) error {
	if !ch.Item.TextInKeys {
		return nil
	}
	for _, k := range []*schema.Key{m.Schema.PK, ch.Item.Key} {
		for i := 0; k != nil && i < len(k.Sources); i++ {
			src := k.Sources[i]
			if src.From == schema.FromShard || !schema.KeyText(src.Value.Type, k.Format(i).Value) {
				continue
			}
			if err := keyText(m, ch, src, i, keyFields); err != nil {
				return m.ValueErrorf(src.Value.Name, "%s in %q: %w", src.Text, k.Text, err)
			}
		}
	}
	return nil
}

// keyText returns an error if the text of a placeholder cannot be read back.
func keyText(m *model.Model, ch *Change, src schema.Source, i int, keyFields []key.Value) error {
	var text, back key.Value
	var err error
	switch src.From {
	case schema.FromModel:
		if src.KeyField >= len(keyFields) {
			return nil
		}
		v := m.Codec.New()
		text = keyFields[src.KeyField]
		if err = m.Codec.SetKeyField(v, src.KeyField, text); err == nil {
			back, err = m.Codec.KeyField(v, src.KeyField)
		}
	case schema.FromMapKey:
		elements := m.Codec.Elements(ch.Item.Index)
		var k any
		if text, err = elements.MapKey(ch.Pos.Key); err == nil {
			k, err = elements.FromKey(text)
		}
		if err == nil {
			back, err = elements.MapKey(k)
		}
	default:
		record, rec := m.Codec.Record(ch.Item.Index), m.Codec.Elements(ch.Item.Index).NewElement()
		if text, err = record.Key(ch.Record, i); err == nil {
			err = record.SetKey(rec, i, text)
		}
		if err == nil {
			back, err = record.Key(rec, i)
		}
	}
	switch {
	case err != nil:
		return fmt.Errorf("the key could not be read back: %w", err)
	case text.Text != back.Text:
		return fmt.Errorf(
			"the key could not be read back, since UnmarshalText of %s gives another value: fix the method",
			src.Value.Type.Name,
		)
	}
	return nil
}

// readable returns an error if an attribute could not be decoded, or if it holds a field that a key names, and its
// value, decoded, would be another one in the key.
func readable(m *model.Model, it *schema.Item, rec any, i int, v types.AttributeValue) error {
	a := it.Attributes[i]
	if !a.Own || a.Large != nil || rec == nil {
		return nil
	}
	decoded := m.Codec.New()
	if it.Element() {
		decoded = m.Codec.Elements(it.Index).NewElement()
	}
	if v != nil {
		if err := m.Codec.Record(it.Index).Decode(decoded, i, v); err != nil {
			return fmt.Errorf("the value could not be read back: %w", err)
		}
	}
	for _, use := range a.InKeys {
		of := func(rec any) (key.Value, error) {
			if it.Element() {
				return m.Codec.Record(it.Index).Key(rec, use.Source)
			}
			return m.Codec.KeyField(rec, use.Key.Sources[use.Source].KeyField)
		}
		was, err := of(rec)
		if err != nil {
			return nil // which the key reports
		}
		if now, err := of(decoded); err != nil || !m.SameInKey(use.Key, use.Source, was, now) {
			return fmt.Errorf(
				"%s in %q would have another value than the attribute, since %s encodes another one: fix its "+
					"methods, or do not store the field",
				use.Key.Sources[use.Source].Text,
				use.Key.Text,
				a.Value.Type.Name,
			)
		}
	}
	return nil
}
