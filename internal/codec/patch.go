package codec

import "github.com/itemize/itemize/internal/key"

// PatchKind is the kind of a patch's change.
type PatchKind uint8

// The kinds: attributes set and removed, a number incremented, an element put and
// deleted, an item deleted; a condition that an attribute has a value; that items are
// made where there are none; that the entity is there.
const (
	PatchSet PatchKind = iota
	PatchRemove
	PatchIncrement
	PatchAdd
	PatchRemoveElement
	PatchDelete
	PatchIf
	PatchUpsert
	PatchIfEntity
)

// PatchChange is one change of a patch.
type PatchChange struct {
	Kind PatchKind
	// Item is the item's index in the layout, Attributes those of its attributes.
	Item       int
	Attributes []int
	// Record holds the new values: a pointer to the model, or to an element.
	Record any
	// Pos is the place of an added entry of a map.
	Pos Pos
	// By is what a number is incremented by, as text.
	By string
	// Values are those of the placeholders in an element's key, of fields that the
	// entity is known by aside.
	Values []key.Value
	Err    error
}
