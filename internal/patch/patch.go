// Package patch says what patches are made of: changes of the fields of items, as the
// handles of package field and the nodes of package mapper make them. What they mean for
// the items is the business of package change.
package patch

import (
	"github.com/itemize/itemize/internal/codec"
	"github.com/itemize/itemize/internal/condition"
	"github.com/itemize/itemize/internal/key"
)

// Kind is the kind of a patch's change.
type Kind uint8

// The kinds: a field set and removed, a number incremented, an element put and deleted, an
// item deleted; conditions; that the entity is there.
const (
	Set Kind = iota
	Remove
	Increment
	Add
	RemoveElement
	Delete
	If
	IfEntity
)

// OfField is the Item of a change of the item that the field lies on.
const OfField = -1

// Change is one change of a patch.
type Change struct {
	Kind Kind
	// Item is the item's index in the layout, or OfField.
	Item int
	// Part says that the field is one of the struct that a singleton consists of.
	Part bool
	// Field is the name in Go of the field that is set, removed or incremented.
	Field string
	// Apply sets the field of a record, or of its part.
	Apply func(rec any)
	// By is what a number is incremented by, as text.
	By string
	// Condition is that of If.
	Condition condition.Condition
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
