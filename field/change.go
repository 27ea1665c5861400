package field

import "github.com/itemize/itemize/internal/form"

// Change is a change of a record of the type R, for a patch.
type Change[R any] struct{ patch Patch }

// Untyped returns the change without its type. It is for the library.
func (c Change[R]) Untyped() Patch { return c.patch }

// Kind is the kind of a change.
type Kind uint8

// The kinds of changes.
const (
	SetField Kind = iota
	RemoveField
	IncrementField
)

// Patch is a change without its type. It is for the library.
type Patch struct {
	Kind Kind
	Row  form.Row
	// Apply sets the field of a record.
	Apply func(rec any)
	// By is what a number is incremented by.
	By string
}
