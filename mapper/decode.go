package mapper

import (
	"bytes"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/item"
	"github.com/itemize/itemize/internal/large"
	"github.com/itemize/itemize/internal/selection"
	"github.com/itemize/itemize/internal/snapshot"
	"github.com/itemize/itemize/query"
)

// Decoded is one item of an entity, as a stream record, a scan or an export holds it.
type Decoded[T any] struct {
	Key Key
	// Field is the model's field, or the sort key of an item of several fields; "" for an item
	// that is none of the model's. Root reports that it is the root.
	Field string
	Root  bool
	// Entity selects the entity that the item is of: to load it, or to patch it.
	Entity query.Key[T]
	// Value is a value of the model with the fields that the item holds: those of its keys, and
	// its own; of an element a slice or map with that alone. It is nil for an item that is none
	// of the model's.
	Value *T
	// Incarnation tells an entity from others that its key has had; nil for an item without.
	Incarnation []byte
	// State is what the item is in the life of its entity, as far as it alone tells:
	//   - "live": of an entity that exists
	//   - "staged": a root whose insert is not finished, or another item that such an insert has put,
	//     which is the entity's once a root of its incarnation is live
	//   - "deleting": a root whose delete has begun, so that its entity does not exist any more
	//   - "expired": its time to live is over
	//   - "unknown": it is none of the model's
	State string
	// Outside are the fields whose values lie outside of the item (chunk, s3=): Value does not have
	// them. Load the item to read them.
	External []string
}

// DecodeOption is an option of Decode and DecodeChange.
type DecodeOption interface{ apply(*decodeSettings) }

type decodeSettings struct{ table string }

type decodeFunc func(*decodeSettings)

func (f decodeFunc) apply(s *decodeSettings) { f(s) }

// InTable tells which of the model's tables an item is of, by its real name: for a model with
// several, where the item's key fits more than one.
func InTable(name string) DecodeOption {
	return decodeFunc(func(s *decodeSettings) { s.table = name })
}

// Decode decodes an item that the caller has: of a stream record (streams have types of their own:
// attributevalue.FromDynamoDBStreamsMap converts them), a scan or an export. It does no I/O. An
// item that is none of the model's has the state "unknown", and no value. The error is of an item
// without the table's key, or one that does not fit the model's types.
func (m *Mapper[T]) Decode(attributes map[string]types.AttributeValue, options ...DecodeOption) (*Decoded[T], error) {
	v := new(T)
	d, err := m.engine.decodeItem(attributes, v, options)
	if err != nil {
		return nil, err
	}
	out := &Decoded[T]{Key: keyOf(d.Place), State: d.state, Incarnation: d.incarnation()}
	if d.state == "unknown" {
		return out, nil
	}
	out.Field, out.Root, out.Value, out.External = d.Kind.Name, m.engine.model.IsRoot(d.Kind), v, externalOf(&d.Image)
	out.Entity = query.InternalOf[T, T]{}.Key(door.Key{}, m.engine.model.Schema, d.of)
	return out, nil
}

// outsideOf names the fields of an item whose values lie outside of it.
func externalOf(f *item.Image) (names []string) {
	for _, a := range f.Kind.Attributes {
		if _, out := large.PointerOf(f.Attribute(a.Name)); out && a.Large.External() {
			names = append(names, a.Value.Name)
		}
	}
	return names
}

// ItemChange is the change of one item, as a stream record has it.
type ItemChange[T any] struct {
	// Event says what the change is in the life of the entity: "entityCreated", "entityDeleted",
	// "itemCreated", "itemChanged", "itemDeleted", or "none". A staged insert and delete are seen item
	// by item: the entity is created when its root goes live, and deleted when its root is marked,
	// whatever comes before and after. "none" is a change that concerns nothing that is there: of a
	// root whose insert is not finished, or that is marked for a delete already, or of an item that is
	// none of the model's. Another item of a staged insert is "itemCreated", since it alone cannot
	// tell; its State is "staged".
	Event string
	// Old and New are the item before and after, nil for none.
	Old, New *Decoded[T]
}

// DecodeChange decodes the old and the new image of a stream record (NEW_AND_OLD_IMAGES), either of
// them nil where the item was created or deleted. It does no I/O.
func (m *Mapper[T]) DecodeChange(old, now map[string]types.AttributeValue, options ...DecodeOption) (*ItemChange[T],
	error) {
	c := &ItemChange[T]{}
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
		return nil, m.engine.model.Errorf("the change has neither an old nor a new image: let the stream have " +
			"NEW_AND_OLD_IMAGES")
	}
	root := c.Old != nil && c.Old.Root || c.New != nil && c.New.Root
	before := there(c.Old) &&
		!(c.New != nil && c.New.Incarnation != nil && !bytes.Equal(c.Old.Incarnation, c.New.Incarnation))
	c.Event = eventOf(before, there(c.New), root)
	return c, nil
}

// there reports whether an item is of an entity that is there. An expired one is, until DynamoDB
// removes it: nothing else tells of its end. What a staged insert has put is when its root is.
func there[T any](d *Decoded[T]) bool {
	if d == nil || d.State == "unknown" || d.State == "deleting" {
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

// decoded is an item that a caller has, and what it is in the model.
type decoded struct {
	item.Image
	of    selection.Selection
	state string
}

func (d *decoded) incarnation() []byte {
	if b, ok := d.Header.Incarnation.(*types.AttributeValueMemberB); ok {
		return b.Value
	}
	return nil
}

// decodeItem decodes an item into v, a pointer to a zero model.
func (g *engine) decodeItem(a item.Attributes, v any, options []DecodeOption) (*decoded, error) {
	var s decodeSettings
	for _, o := range options {
		if o != nil {
			o.apply(&s)
		}
	}
	d, err := g.identify(a, s.table)
	if err != nil || d.state == "unknown" {
		return d, err
	}
	snap, err := snapshot.Loaded(g.model, d.of)
	if err == nil {
		err = snap.Identify(v)
	}
	if err == nil {
		d.Partial = true
		err = snap.Decode(v, []item.Image{d.Image})
	}
	return d, err
}

// identify finds out what an item is in the model. Without a table's name it is of the one that
// its key fits.
func (g *engine) identify(a item.Attributes, table string) (*decoded, error) {
	m := g.model
	var found *decoded
	fits := ""
	tables := m.Tables
	if table != "" {
		tables = nil
		if t := m.TableNamed(table); t != nil {
			tables = []*item.Table{t}
		}
	}
	for _, t := range tables {
		img, err := m.Image(t, a)
		if err != nil {
			if table != "" {
				return nil, err
			}
			continue
		}
		d := &decoded{Image: img, state: "unknown"}
		if identity, ok := m.Whose(&img); ok {
			if at, err := m.Schema.Partition(identity); err == nil && table == "" {
				d.Table = m.Table(t.Index, at.Period)
			}
			d.of, d.state = selection.Entity(m.Schema, identity), g.stateOf(&img)
		}
		switch {
		case found == nil || found.state == "unknown":
			found = d
		case d.state != "unknown":
			return nil, m.Errorf("the item %s may be of the table %s or of %s: say which with mapper.InTable",
				img.Place, fits, t.Name)
		}
		if d.state != "unknown" {
			fits = t.Name
		}
	}
	switch {
	case found != nil:
		return found, nil
	case table != "":
		return nil, m.Errorf("the model has no table %q: it has %s", table, tableList(m.Tables))
	}
	return nil, m.Errorf("the item has the key of none of the model's tables: %s", tableList(m.Tables))
}

// stateOf tells what an item of the model is, as far as it tells itself.
func (g *engine) stateOf(img *item.Image) string {
	switch st := img.Header.ReadStage(); {
	case g.model.IsRoot(img.Kind) && !img.Header.Live() && st.State == item.Deleting:
		return "deleting"
	case g.model.IsRoot(img.Kind) && !img.Header.Live(), !g.model.IsRoot(img.Kind) && img.Header.Stage != nil:
		return "staged"
	case img.Expired:
		return "expired"
	}
	return "live"
}

// tableList names tables with their keys.
func tableList(tables []*item.Table) string {
	text := ""
	for i, t := range tables {
		if i > 0 {
			text += ", "
		}
		text += t.Name + " (" + t.Hash
		if t.Range != "" {
			text += ", " + t.Range
		}
		text += ")"
	}
	return text
}
