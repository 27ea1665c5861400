package expr

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/codec"
	"github.com/itemize/itemize/internal/model/key"
)

// Kind is the kind of a patch's change.
type Kind uint8

// The kinds of changes, of fields, numbers, sets, lists, elements and items. A field is set, set if it
// is absent, or removed. A number is incremented. Elements are added to a set, deleted from it, or
// appended to a list. An element is added, put or deleted, and an item is deleted. Other kinds are
// conditions, the requirement that the entity exists, and a change of nothing, such as of no elements.
const (
	Set Kind = iota
	SetIfAbsent
	Remove
	Increment
	AddElements
	DeleteElements
	Append
	Add
	Put
	RemoveElement
	Delete
	If
	IfEntity
	Nothing
)

// OfField is the Item of a change whose field determines the item.
const OfField = -1

// Under turns a change of a record into one of the record that holds it in a field. part returns that
// field.
func (c Change) Under(outer Field, part func(rec any) any) Change {
	c.Field = c.Field.Under(outer)
	if apply := c.Apply; apply != nil {
		c.Apply = func(rec any) { apply(part(rec)) }
	}
	return c
}

// Target is the item of a node. Values are the placeholder values in the key of an element, nil for an item of
// fields. Part is described at [Change].
type Target struct {
	Item   int
	Part   bool
	Values []key.Value
}

// Removal returns the change that deletes the item. Other changes of the item have its Item, Part and Values.
func (t Target) Removal() Change {
	c := Change{Kind: Delete, Item: t.Item, Part: t.Part, Values: t.Values}
	if t.Values != nil {
		c.Kind = RemoveElement
	}
	return c
}

// Change is one change of a patch.
type Change struct {
	Kind Kind
	// Item is the index of the item in the layout, or OfField.
	Item int
	// Part reports that the field belongs to the struct of a fixed item.
	Part bool
	// Field is the path to the changed field.
	Field Field
	// Apply sets the field of a record or of its part; nil for an entry of a map.
	Apply func(rec any)
	// Value is the stored form of the value that is set, added, deleted or appended; nil if it is left
	// out.
	Value types.AttributeValue
	// Unstorable is the fault of the value.
	Unstorable error
	// By is the increment, as text. Least and Most are the bounds of the Go type, "" for none.
	By, Least, Most string
	// Condition is the condition of If.
	Condition Condition
	// Record is an added element, and Pos its position in a map.
	Record any
	Pos    codec.Pos
	// Values are the placeholder values in an element's key, without the entity's key fields. They are
	// set for changes of one element.
	Values []key.Value
	// Upsert reports that the item is written whether it exists or not.
	Upsert bool
	Err    error
}
