package change

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/large/extern"
	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/read/snapshot"
)

// encode returns an attribute's value, checked; r is the stored item of an attribute that takes the place of a stored
// one.
func encode(m *model.Model, it *schema.Item, rec any, i int, r *snapshot.Stored) (types.AttributeValue, error) {
	v, err := m.Codec.Record(it.Index).Encode(rec, i)
	if err == nil {
		err = attr.Check(v)
		if err != nil && r != nil && !it.Attributes[i].Large.External() && attr.CheckShape(v) == nil {
			// A part that did not change is as it is stored, so that an invalid encoding of it does not matter.
			if kept, cannot := graft(m, it, r, i, v); cannot == nil && attr.Check(kept) == nil {
				v, err = kept, nil
			}
		}
	}
	if err == nil {
		v, err = storable(m, it, i, v)
	}
	if err == nil {
		err = readable(m, it, rec, i, v)
	}
	if err != nil {
		return nil, m.ValueErrorf(fieldOf(it, i), "attribute %q: %w", it.Attributes[i].Name, err)
	}
	return v, nil
}

// storable returns the value of an attribute, nil for one that is left out.
func storable(m *model.Model, it *schema.Item, i int, v types.AttributeValue) (types.AttributeValue, error) {
	switch {
	case v == nil:
	case it.Sparse(i):
		return indexable(m, it, i, v)
	case it.Attributes[i].Name == m.Reserved.TTL && attr.Same(v, zeroTime):
		return nil, nil // it never expires
	}
	return v, nil
}

// fieldOf names the field of an attribute, of an element behind the slice or map.
func fieldOf(it *schema.Item, i int) string {
	name := it.Attributes[i].Value.Name
	if it.Element() {
		return strings.TrimSuffix(it.Field.Name+"."+name, ".")
	}
	return name
}

// indexable returns the value of an attribute that is a key of an index as it is: nil for one that
// no key can have, which is left out.
func indexable(m *model.Model, it *schema.Item, i int, v types.AttributeValue) (types.AttributeValue, error) {
	a := it.Attributes[i]
	s, ok := attr.ScalarOf(v)
	if !ok || s.Type != 'N' && s.Text == "" || a.Value.Type.Time && attr.Same(v, zeroTime) {
		return nil, nil
	}
	if err := s.CheckSize(m.IndexKeyLimit(it, a.Name)); err != nil {
		return nil, fmt.Errorf("as a key of the index %s: %w", it.IndexOf(a.Name), err)
	}
	return v, nil
}

// at notes where a value would be stored that cannot be.
func at(p item.Place, err error) error {
	var u *schema.Unstorable
	if errors.As(err, &u) && p.Table != nil {
		u.Table, u.PK, u.SK = p.Table.Name, p.PK, p.SK
	}
	return err
}

// isAsRead reports whether an opaque attribute has the value that a stored item has: values that can be read, and not
// written, stay as they are stored.
func isAsRead(m *model.Model, it *schema.Item, r *snapshot.Stored, rec any, i int) bool {
	if a := it.Attributes[i]; r == nil || !a.Opaque || a.Large != nil {
		return false
	}
	read, record := m.Codec.New(), m.Codec.Record(it.Index)
	if it.Element() {
		read = m.Codec.Elements(it.Index).NewElement()
	}
	none := func() types.AttributeValue { return nil }
	if v := r.Value(it, i, none); v != nil && record.Decode(read, i, v) != nil {
		return false
	}
	return reflect.DeepEqual(record.Field(read, i), record.Field(rec, i))
}

// was returns the stored value of an attribute.
func (d *differ) was(it *schema.Item, r *snapshot.Stored, old any, i int) types.AttributeValue {
	return storedValue(d.m, it, r, old, i)
}

// storedValue returns the stored value of an attribute of a record as it was read.
func storedValue(m *model.Model, it *schema.Item, r *snapshot.Stored, old any, i int) types.AttributeValue {
	// An opaque attribute has the value in the stored item, or, without an item, the encoding of the snapshot's zero
	// value.
	if it.Attributes[i].Opaque && r != nil {
		return r.Opaque[i]
	}
	v, _ := m.Codec.Record(it.Index).Encode(old, i)
	return v
}

// graft returns the value to store for an attribute, whose encoding is now: parts that did not change keep their
// stored form.
func graft(m *model.Model, it *schema.Item, r *snapshot.Stored, i int, now types.AttributeValue) (
	types.AttributeValue, error,
) {
	a := it.Attributes[i]
	stored := r.Inexact[i]
	switch {
	case a.Large != nil:
		stored = r.Packed[i]
	case r.Raw != nil:
		stored = r.Raw[r.ReadAs(it, i)]
	}
	if stored == nil || it.Sparse(i) {
		return now, nil
	}
	v, err := m.Codec.Record(it.Index).Graft(i, stored, now)
	if err == nil {
		err = attr.Check(v)
	}
	if err != nil {
		return nil, at(r.Place, m.ValueErrorf(fieldOf(it, i), "attribute %q: %w", a.Name, err))
	}
	return v, nil
}

// zeroTime is how a zero time is stored in epoch seconds.
var zeroTime = item.Epoch(time.Time{})

// expiryOf returns the value of the TTL attribute that the library itself sets on an item, nil for none.
func expiryOf(m *model.Model, it *schema.Item, v, rec any) types.AttributeValue {
	// v is the model's value that it belongs to; nil in a patch, which gives the item the root item's expiry.
	if it.Expiry == nil || m.Reserved.ListsExpiry(it) || it.ExpiryOfRoot && v == nil {
		return nil
	}
	record := m.Codec.Record(it.Index)
	if it.ExpiryOfRoot {
		record, rec = m.Codec.Record(m.Root().Index), v
	}
	at, ok := record.Expiry(rec)
	if !ok {
		return nil
	}
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(at.Unix(), 10)}
}

// keptExpiry returns the stored expiry of an item, unless it changed from old, the record as it was read, to now.
func (d *differ) keptExpiry(it *schema.Item, r *snapshot.Stored, old any,
	now types.AttributeValue,
) types.AttributeValue {
	// If the root item has the expiry and was not loaded, the expiry did not change.
	if it.Expiry == nil || d.m.Reserved.ListsExpiry(it) || !attr.Same(expiryOf(d.m, it, d.s.Old, old), now) {
		return now
	}
	return r.Header.Expiry
}

// inherited returns the expiry of a new item: one that expires with the root item has the stored expiry, which
// AfterLoad may have changed, unless the program changed it.
func (d *differ) inherited(it *schema.Item, now types.AttributeValue) types.AttributeValue {
	root, kind := d.s.Root(), d.m.Root()
	if !d.m.Schema.Hooks || !it.ExpiryOfRoot || root == nil || d.expiryChanged || d.m.Reserved.ListsExpiry(it) {
		return now
	}
	i := kind.Attribute(d.m.Reserved.TTL)
	if i < 0 {
		return root.Header.Expiry
	}
	was := func() types.AttributeValue { return d.was(kind, root, d.s.Old, i) }
	return Inherited(root.Value(kind, i, was))
}

// taken has the values that a put takes from a stored item. It is zero for a new item.
type taken struct {
	// from holds the parts that the Go values do not.
	from *snapshot.Stored
	// copied returns the stored value of an attribute that did not change.
	copied func(i int) (types.AttributeValue, bool)
}

// fill encodes all attributes of a put.
func fill(m *model.Model, ch *Change, keyFields []key.Value, expiry types.AttributeValue, t taken) error {
	if err := keyTexts(m, ch, keyFields); err != nil {
		return at(ch.Place, err)
	}
	n := len(ch.Item.Attributes) + len(ch.Item.Derived)
	if expiry != nil {
		n++
	}
	if len(ch.Set) > 0 || cap(ch.Set) < n {
		ch.Set = make([]item.Assignment, 0, n)
	}
	ch.Set = ch.Set[:0]
	ch.Put = make(item.Attributes, n+ch.Table.KeyAttributes()+2) // the incarnation, and the version of the sent item
	ch.KeyInto(ch.Put)
	ch.NewSize = ch.KeySize() + m.Reserved.VersionSize()
	set := func(a item.Assignment) {
		if a.Value != nil {
			ch.Set = append(ch.Set, a)
			ch.NewSize += a.Into(ch.Put)
		}
	}
	var faults Faults
	for i, a := range ch.Item.Attributes {
		if t.copied != nil {
			if value, ok := t.copied(i); ok {
				set(item.Assignment{Name: a.Name, Index: i, Value: value})
				continue
			}
		}
		value, err := ch.attribute(m, i)
		if err != nil && t.from != nil && !a.Large.External() {
			value, err = encode(m, ch.Item, ch.Record, i, t.from)
		}
		if err == nil && t.from != nil && value != nil && !a.Large.External() {
			value, err = graft(m, ch.Item, t.from, i, value)
		}
		if err != nil {
			faults = append(faults, at(ch.Place, err))
			continue
		}
		set(item.Assignment{Name: a.Name, Index: i, Value: value})
	}
	if err := faults.OrNil(); err != nil {
		return err
	}
	set(m.Reserved.AssignExpiry(expiry))
	keys, err := m.IndexKeys(model.Record{Item: ch.Item, Value: ch.Record, Pos: ch.Pos}, keyFields)
	if err != nil {
		return at(ch.Place, err)
	}
	for j, v := range keys {
		set(item.Assignment{Name: ch.Item.Derived[j].Name, Index: item.Indexed, Value: v})
	}
	if t.from != nil {
		for name, value := range t.from.Unknown {
			if _, out := extern.PointerOf(value); out && ch.Stored == nil {
				return m.ValueErrorf(ch.Field, "the item %s would move with the external value of the attribute "+
					"%q, which the model does not declare: move it with the model that declares it", t.from.Place,
					name)
			}
			set(item.Assignment{Name: name, Index: item.Unlisted, Value: value})
		}
	}
	if len(ch.Put) != ch.Table.KeyAttributes()+len(ch.Set) { // two have one name
		ch.NewSize = ch.WholeSize()
	}
	return nil
}

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
		return fmt.Errorf("the key could not be read back, since UnmarshalText of %s gives another value: "+
			"fix the method", src.Value.Type.Name)
	}
	return nil
}

// readable returns an error if an attribute cannot be decoded, or holds a field that a key names, whose decoded value
// would differ in the key.
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
			return fmt.Errorf("%s in %q would have another value than the attribute, since %s encodes another one: "+
				"fix its methods, or do not store the field",
				use.Key.Sources[use.Source].Text, use.Key.Text, a.Value.Type.Name)
		}
	}
	return nil
}
