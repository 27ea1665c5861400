package change

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/large/extern"
	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/codec"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/read/snapshot"
	"github.com/itemize/itemize/internal/save/write"
)

// Carry returns the transaction that carries another writer's item from an entity's former key to the entity; the
// first write puts the item, and checks are of root items.
func Carry(s *snapshot.Snapshot, f *item.Image, from, keyFields []key.Value, live types.AttributeValue) (
	writes, checks []*write.Request, err error,
) {
	// s is the entity where it is now, keyFields are its key fields, and live is its incarnation, nil for none.
	m := s.Model
	stored := f.Attributes()
	if err := checkCarry(m, f, stored); err != nil {
		return nil, nil, err
	}
	to, err := placeOf(m, f, keyFields)
	if err != nil {
		return nil, nil, err
	}
	ch, err := carried(m, f, to, stored, keyFields)
	if err != nil {
		return nil, nil, err
	}
	delete(ch.Put, m.Reserved.IncarnationName())
	if live != nil {
		m.Reserved.AssignIncarnation(live).Into(ch.Put)
	}
	ch.NewSize = ch.WholeSize()
	writes = []*write.Request{&ch.Request}
	asFound := write.AsFound(f.Place, f.Header.Version, stored)
	if to == f.Place { // the entity has come back to the key
		ch.OldSize, ch.Header, ch.Expect = f.Size, f.Header, asFound
	} else {
		ch.New, ch.Expect = true, write.Expect{Absent: true}
		d := new(Change).start(m, write.Delete, f.Kind, f.Place)
		d.OldSize, d.Header, d.Expect = f.Size, f.Header, asFound
		d.Entries = m.Entries(f.Kind, f.Table.Name, stored, nil)
		writes = append(writes, &d.Request)
	}
	at, err := m.RootPlace(m.Identity(keyFields))
	if err != nil {
		return nil, nil, err
	}
	check := checkLive(m, at, live)
	check.requireNamed(s, f.Kind)
	checks = []*write.Request{&check.Request}
	if f.Header.Incarnation != nil || to == f.Place {
		return writes, checks, nil
	}
	// Without an incarnation, the item would belong to the next entity with the old key.
	old, err := m.RootPlace(from)
	if err != nil || old == at {
		return writes, checks, err
	}
	none := new(Change).start(m, write.Check, m.Root(), old)
	none.Unread, none.Expect = true, write.Expect{Absent: true}
	return writes, append(checks, &none.Request), nil
}

// checkCarry returns an error for an item that a copy under another key would not be.
func checkCarry(m *model.Model, f *item.Image, stored item.Attributes) error {
	for name, v := range stored {
		if _, out := extern.PointerOf(v); out {
			return fmt.Errorf("%s has an external value (attribute %q), which cannot be carried: load it from there, "+
				"and add it again", f.Place, name)
		}
	}
	for _, o := range m.Schema.KeyFields {
		if o.Item == f.Kind {
			return fmt.Errorf("%s stores %s, which the key names: correct it by hand", f.Place, o.Name)
		}
	}
	return nil
}

// placeOf returns the place of an item under the entity's key.
func placeOf(m *model.Model, f *item.Image, keyFields []key.Value) (item.Place, error) {
	at, err := m.Schema.Partition(keyFields)
	if err != nil {
		return item.Place{}, err
	}
	sk := key.Scalar{}
	if f.Kind.Key != nil {
		values := append([]key.Value(nil), f.Values...)
		for i, src := range f.Kind.Key.Sources {
			if src.From == schema.FromModel {
				values[i] = keyFields[src.KeyField]
			}
		}
		if sk, err = m.Render(f.Kind, values); err != nil {
			return item.Place{}, err
		}
	}
	return m.Place(f.Kind, at, sk), nil
}

// carried returns the put of an item at a place, with the keys of indexes that it has there.
func carried(m *model.Model, f *item.Image, to item.Place, stored item.Attributes, keyFields []key.Value) (*Change,
	error,
) {
	ch := new(Change).start(m, write.Put, f.Kind, to)
	ch.Put = attr.CopyItem(stored)
	delete(ch.Put, m.Reserved.StateName())
	delete(ch.Put, f.Table.Hash)
	delete(ch.Put, f.Table.Range)
	ch.KeyInto(ch.Put)
	if len(f.Kind.Derived) > 0 {
		var rec any
		var pos codec.Pos
		var err error
		if f.Kind.Element() {
			rec, err = snapshot.DecodeElement(m, f)
			for i, src := range f.Kind.Key.Sources {
				if err == nil && src.From == schema.FromMapKey {
					pos.Key, err = m.Codec.Elements(f.Kind.Index).FromKey(f.Values[i])
				}
			}
		} else {
			rec = m.Codec.New()
			err = snapshot.DecodeItem(m, f, rec)
		}
		if err != nil {
			return nil, err
		}
		keys, err := m.IndexKeys(model.Record{Item: f.Kind, Value: rec, Pos: pos}, keyFields)
		if err != nil {
			return nil, err
		}
		for j, v := range keys {
			if delete(ch.Put, f.Kind.Derived[j].Name); v != nil {
				ch.Put[f.Kind.Derived[j].Name] = v
			}
		}
	}
	for name, v := range ch.Put {
		if name != f.Table.Hash && name != f.Table.Range && name != m.Reserved.Version {
			ch.Set = append(ch.Set, item.Assignment{Name: name, Index: item.Unlisted, Value: v})
		}
	}
	ch.Entries = m.Entries(f.Kind, to.Table.Name, nil, ch.Put)
	return ch, ch.checkSize(0)
}
