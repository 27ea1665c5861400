package expr

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/codec"
	"github.com/itemize/itemize/internal/key"
)

// Kind is the kind of a patch's change.
type Kind uint8

// The kinds: a field set, set if it is absent, and removed; a number incremented, members
// added to a set and deleted from it, elements appended to a list; an element put where it is
// absent, put either way, and deleted, an item deleted; conditions; that the entity is there.
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
)

// OfField is the Item of a change of the item that the field lies on.
const OfField = -1

// Under returns the change of a record as one of the record that holds it in a field, at
// which part returns it.
func (c Change) Under(outer Field, part func(rec any) any) Change {
	c.Field = c.Field.Under(outer)
	if apply := c.Apply; apply != nil {
		c.Apply = func(rec any) { apply(part(rec)) }
	}
	return c
}

// Change is one change of a patch.
type Change struct {
	Kind Kind
	// Item is the item's index in the layout, or OfField.
	Item int
	// Part says that the field is one of the struct that a singleton consists of.
	Part bool
	// Field is the way to the field that is changed.
	Field Field
	// Apply sets the field of a record, or of its part; nil for an entry of a map.
	Apply func(rec any)
	// Value is what is set, added, deleted or appended, as the field is stored; nil where
	// that is left out.
	Value types.AttributeValue
	// Unstorable is what is wrong with the value.
	Unstorable error
	// By is what a number is incremented by, as text; Least and Most are the bounds of its Go
	// type, "" for none.
	By, Least, Most string
	// Condition is that of If.
	Condition Condition
	// Record is an added element, and Pos its place in a map.
	Record any
	Pos    codec.Pos
	// Values are those of the placeholders in an element's key, of fields that the
	// entity is known by aside. They are set for changes of one element.
	Values []key.Value
	// Upsert says that the item is written whether it is there or not.
	Upsert bool
	Err    error
}
