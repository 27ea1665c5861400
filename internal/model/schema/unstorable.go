package schema

import "github.com/itemize/itemize/internal/model/key"

// Unstorable says that a value cannot be stored.
type Unstorable struct {
	// Label is the model's, Field the field of the value, or the item that it is a key of.
	Label, Field string
	// In is the placeholder and the key that the value is for, "" of an attribute.
	In string
	// Table, PK and SK are the place of the item, as far as it is known.
	Table  string
	PK, SK key.Scalar
	// Err is the fault of the value, with the remedy.
	Err error
}

// Error names the field, and the fault of its value.
func (e *Unstorable) Error() string {
	if e.In != "" && e.Label != "" {
		return e.Label + ": " + e.In + ": " + e.Err.Error()
	}
	return e.Label + "." + e.Field + ": " + e.Err.Error()
}

// Reason returns the fault of the value, without the names of the model and the field.
func (e *Unstorable) Reason() string {
	if e.In != "" {
		return e.In + ": " + e.Err.Error()
	}
	return e.Err.Error()
}

// Unwrap returns the fault of the value.
func (e *Unstorable) Unwrap() error { return e.Err }
