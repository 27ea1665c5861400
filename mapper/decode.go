package mapper

import (
	"bytes"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/field"
	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/large/extern"
	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/read/snapshot"
	"github.com/itemize/itemize/query"
)

// Decoded is one item of an entity, from a stream record, a scan or an export.
type Decoded[T any] struct {
	Key Key
	// Field is the field of the model, or the sort key if several fields share the item. It is "" for
	// an item of another model. Root reports whether it is the root item.
	Field string
	Root  bool
	// Entity selects the entity of the item, to load or patch it.
	Entity *query.Key[T]
	// Value has the fields that the item holds: key fields and its own fields. For an element, its
	// slice or map has that element only. Value is nil for an item of another model.
	Value *T
	// Incarnation distinguishes entities that had the same key. It is nil if the item has none.
	Incarnation []byte
	// State is the state of the item, as far as the item alone shows it:
	//   - "live": an item of an existing entity
	//   - "staged": the root item of an unfinished insert, or an item that such an insert has put; it
	//     belongs to the entity once a root item with its incarnation is live
	//   - "deleting": a root item whose delete has begun; its entity no longer exists
	//   - "expired": its time to live has passed
	//   - "guard": the guard of a unique value, or the note of one
	//   - "unknown": an item of another model
	State string
	// External lists the fields with external values (chunk, s3=). Value does not have them; load the
	// item to read them.
	External []string

	item *model.Identified
}

// DecodeOption is an option of Decode and DecodeChange.
type DecodeOption interface{ apply(*decodeSettings) }

type decodeSettings struct{ table string }

type decodeFunc func(*decodeSettings)

func (f decodeFunc) apply(s *decodeSettings) { f(s) }

// InTable names the table of the item by its real name. A model with several tables needs it if the key
// of the item fits more than one.
func InTable(name string) DecodeOption {
	return decodeFunc(func(s *decodeSettings) { s.table = name })
}

// Decode decodes an item of a stream record, a scan or an export. It does no I/O. Use
// attributevalue.FromDynamoDBStreamsMap for types of the dynamodbstreams client. An item of another
// model has the state "unknown" and no value. The error is about an item without the keys of the table,
// or with values that do not fit the fields.
func (m *Mapper[T]) Decode(attributes map[string]types.AttributeValue, options ...DecodeOption) (*Decoded[T], error) {
	v := new(T)
	d, err := m.get().decodeItem(attributes, v, options)
	if err != nil {
		return nil, m.get().public(err)
	}
	out := &Decoded[T]{Key: keyOf(d.Place), State: d.State, Incarnation: d.Incarnation(), item: d}
	if !d.OfModel() {
		return out, nil
	}
	out.Field, out.Root, out.Value, out.External = d.Kind.Name, m.get().model.IsRoot(d.Kind), v, externalOf(&d.Image)
	out.Entity = m.keyOf(d.Of)
	return out, nil
}

// externalOf returns the names of fields with external values.
func externalOf(f *item.Image) (names []string) {
	for _, a := range f.Kind.Attributes {
		if _, out := extern.PointerOf(f.Attribute(a.Name)); out && a.Large.External() {
			names = append(names, a.Value.Name)
		}
	}
	return names
}

// ItemChange is the change of one item in a stream record.
type ItemChange[T any] struct {
	// Event is the meaning of the change for the entity: "entityCreated", "entityDeleted",
	// "itemCreated", "itemChanged", "itemDeleted", or "none". A staged insert creates the entity when
	// its root item becomes live. A staged delete deletes it when its root item is marked. "none" is a
	// change without a meaning for an existing entity. It concerns a root item whose insert is
	// unfinished or that is marked for a delete, or an item of another model. Another item of a staged
	// insert is "itemCreated" with the State "staged", because it alone does not show the state of the
	// entity.
	Event string
	// Old and New are the item before and after, nil for none.
	Old, New *Decoded[T]

	model *model.Model
}

// Changed reports whether the change is one of a field: its attribute has another value, or the item was created or
// deleted with one. Pass the handles of generated code, of the model (UserFields.Email) or of a struct in it
// (WishFields.Price, for an element). Several mean any of them. A field of another item did not change.
func (c *ItemChange[T]) Changed(fields ...field.Handle) bool {
	for _, f := range fields {
		if f == nil {
			panic("mapper: Changed got a nil handle: pass one of generated code, such as UserFields.Email")
		}
		row := door.Field.Row(f)
		if !c.model.HasStruct(row) {
			panic(c.model.Errorf("Changed got a handle of another model: pass one of its fields").Error())
		}
		if c.model.Changed(c.Old.identified(), c.New.identified(), row) {
			return true
		}
	}
	return false
}

func (d *Decoded[T]) identified() *model.Identified {
	if d == nil {
		return nil
	}
	return d.item
}

// DecodeChange decodes the old and new image of a stream record (NEW_AND_OLD_IMAGES). Pass nil for the
// old image of a new item, and for the new image of a deleted item. It does no I/O.
func (m *Mapper[T]) DecodeChange(old, now map[string]types.AttributeValue, options ...DecodeOption) (*ItemChange[T],
	error,
) {
	c := &ItemChange[T]{model: m.get().model}
	var err error
	if len(old) > 0 {
		if c.Old, err = m.Decode(old, options...); err != nil {
			return nil, err
		}
	}
	if len(now) > 0 {
		if c.New, err = m.Decode(now, options...); err != nil {
			return nil, err
		}
	}
	if c.Old == nil && c.New == nil {
		return nil, m.get().model.Errorf("the change has no image: set the stream to NEW_AND_OLD_IMAGES")
	}
	root := c.Old != nil && c.Old.Root || c.New != nil && c.New.Root
	before := there(c.Old) &&
		!(c.New != nil && c.New.Incarnation != nil && !bytes.Equal(c.Old.Incarnation, c.New.Incarnation))
	c.Event = eventOf(before, there(c.New), root)
	return c, nil
}

// there reports whether an item belongs to an existing entity. An expired item does until DynamoDB
// deletes it, because no other event shows its end. An item of a staged insert does when its root item
// does.
func there[T any](d *Decoded[T]) bool {
	if d == nil || d.State == "unknown" || d.State == "guard" || d.State == "deleting" {
		return false
	}
	return !(d.Root && d.State == "staged")
}

func eventOf(before, after, root bool) string {
	switch {
	case before && after:
		return "itemChanged"
	case root && after:
		return "entityCreated"
	case root && before:
		return "entityDeleted"
	case after:
		return "itemCreated"
	case before:
		return "itemDeleted"
	}
	return "none"
}

// decodeItem decodes an item into v, a pointer to a zero model.
func (g *engine) decodeItem(a item.Attributes, v any, options []DecodeOption) (*model.Identified, error) {
	var s decodeSettings
	for _, o := range options {
		if o != nil {
			o.apply(&s)
		}
	}
	d, err := g.model.Identify(a, s.table)
	if err != nil || !d.OfModel() {
		return d, err
	}
	snap, err := snapshot.Loaded(g.model, d.Of)
	if err == nil {
		err = snap.Identify(v)
	}
	if err == nil {
		d.Partial = true
		err = snap.Decode(v, []item.Image{d.Image})
	}
	return d, err
}
