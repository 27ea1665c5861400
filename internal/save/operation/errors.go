package operation

import (
	"errors"
	"fmt"
	"time"

	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/read/search"
	"github.com/itemize/itemize/internal/save/change"
)

// ErrExists says that an insert found its entity, or a patch the element that it adds.
var ErrExists = errors.New("itemize: item exists already")

// Conflict says that items are not as the operation requires.
type Conflict struct {
	Label string
	Items []ItemConflict
	// Insert reports that the operation inserts an entity, Patch that it is a patch, and Raw a request of the caller.
	Insert, Patch, Raw bool
	// Unmet are the conditions of a patch that do not hold.
	Unmet []error
	// Pending says what another writer is doing with the entity, "" for nothing. Moving reports that it is a migration.
	Pending string
	Moving  bool
	// Tag says that the tag of IfTag is not that of the state, and why. Repeating does not help.
	Tag string
}

// ItemConflict is one item that is not as required.
type ItemConflict struct {
	item.Place
	// RawKey is the key of a raw request on a table whose key attributes are unknown.
	RawKey string
	Field  string
	What   change.What
}

func (e *Conflict) Error() string { return e.Label + ": conflict" }

// Exists says that an insert found its entity, or a patch the element that it adds.
type Exists struct {
	// Name names the entity or item by its key.
	Name string
	Conflict
}

func (e *Exists) Error() string { return fmt.Sprintf("%s: %s exists already", e.Label, e.Name) }

// Unwrap returns ErrExists and the conflict.
func (e *Exists) Unwrap() []error { return []error{ErrExists, &e.Conflict} }

// NotFound says that an item that a patch requires does not exist.
type NotFound struct {
	Label, Field string
	item.Place
	Pending string
}

func (e *NotFound) Error() string { return fmt.Sprintf("%s: %s does not exist", e.Label, e.Place) }

// Unwrap returns search.ErrNotFound.
func (e *NotFound) Unwrap() error { return search.ErrNotFound }

// Unknown says that a write may have been applied or not.
type Unknown struct {
	Label string
	Items []item.Place
	// Patch reports that no entity will resolve it.
	Patch bool
	Err   error
}

func (e *Unknown) Error() string {
	return fmt.Sprintf("%s: the outcome is unknown: %v", e.Label, e.Err)
}

// Unwrap returns the cause.
func (e *Unknown) Unwrap() error { return e.Err }

// Partial says that an operation of several steps ended after some of them.
type Partial struct {
	Label         string
	Written, Rest []item.Place
	Err           error
}

func (e *Partial) Error() string { return fmt.Sprintf("%s: written in part: %v", e.Label, e.Err) }

// Unwrap returns the cause.
func (e *Partial) Unwrap() error { return e.Err }

// TooLarge says that a raw request puts an item over the limit.
type TooLarge struct {
	Field string
	item.Place
	// Size is in bytes.
	Size int
}

func (e *TooLarge) Error() string { return e.Place.String() + ": too large: " + attr.Bytes(e.Size) }

// Fault is an error of a model's value or selection, from packages change and search.
type Fault struct {
	Model *model.Model
	Err   error
}

func (e *Fault) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Fault) Unwrap() error { return e.Err }

// Interrupted says that the context ended before a retry. Last is the reason for the retry, nil if an
// earlier write turned out to be applied.
type Interrupted struct {
	Label     string
	Err, Last error
}

func (e *Interrupted) Error() string { return fmt.Sprintf("%s: %v", e.Label, e.Err) }

// Unwrap returns the causes.
func (e *Interrupted) Unwrap() []error {
	if e.Last == nil {
		return []error{e.Err}
	}
	return []error{e.Err, e.Last}
}

// Exhausted says that items kept changing while they were written. Last is why the last try failed, nil
// if an earlier write turned out to be applied.
type Exhausted struct {
	Label string
	Last  error
}

func (e *Exhausted) Error() string {
	return e.Label + ": the items kept changing while they were written: load again"
}

// Unwrap returns the reason.
func (e *Exhausted) Unwrap() error { return e.Last }

// fault wraps an error of packages change and search, nil for none.
func (env *Env) fault(err error) error {
	if err == nil {
		return nil
	}
	return &Fault{env.Model, err}
}

// Earlier says why it is not known whether an earlier transaction was applied.
type Earlier struct {
	Sent time.Time
	Err  error
}

func (e *Earlier) Error() string {
	return fmt.Sprintf("the transaction of %s: %v", e.Sent.UTC().Format(time.RFC3339), e.Err)
}

// Unwrap returns the reason.
func (e *Earlier) Unwrap() error { return e.Err }

// Quoted is an error as text: errors.Is and errors.As do not look into it.
type Quoted struct{ Quote error }

func (e *Quoted) Error() string { return e.Quote.Error() }
