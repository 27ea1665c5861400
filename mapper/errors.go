package mapper

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/redact"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/read/search"
	"github.com/itemize/itemize/internal/read/selection"
	"github.com/itemize/itemize/internal/save/change"
	"github.com/itemize/itemize/internal/save/operation"
	"github.com/itemize/itemize/internal/save/write"
)

// ErrNotFound says that an entity does not exist, or that an item that a patch requires is missing. An
// entity exists if its root item exists, has not expired, and has no pending insert or delete.
var ErrNotFound = search.ErrNotFound

// ErrExists says that an insert found an existing entity, or that a patch found the element that it
// adds. An *[ExistsError] wraps it. It is no *ConflictError, since to load and repeat cannot help.
var ErrExists = operation.ErrExists

// ErrTaken says that a unique value belongs to another entity. A *[UniqueError] wraps it. It is neither ErrExists nor a
// *ConflictError: a write that loads again and repeats cannot succeed.
var ErrTaken = errors.New("itemize: unique value is taken")

// ErrUnverified says that a lookup by a unique value cannot trust the guards of the value: no verification of its table
// has succeeded. Run itemize unique verify, or [github.com/itemize/itemize/unique.Verify].
var ErrUnverified = search.ErrUnverified

// ErrUsage is the class of errors of invalid calls, such as options that exclude each other. Nothing was
// sent. Fix the program. errors.Is(err, ErrUsage) is true for them.
var ErrUsage = model.ErrUsage

// ErrTransactionTooLarge says that a write that must be one transaction has more than 100 items or 4 MB.
// Nothing was sent. Write fewer items at once.
var ErrTransactionTooLarge = write.ErrTransactionTooLarge

// StoredValueError says that a stored item does not fit the model, because another program wrote it, or
// the model has changed. Nothing was changed. Correct the item or the model.
type StoredValueError struct {
	Model, Field string
	// Key is the item, as far as it is known.
	Key Key

	err error
}

// Error names the field and the item.
func (e *StoredValueError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *StoredValueError) Unwrap() error { return e.err }

// Key is the key of an item as text: strings as they are, numbers, and bytes in hexadecimal. Sort is
// empty in a table without a sort key.
type Key struct {
	Table     string `json:"table"`
	Partition string `json:"partition"`
	Sort      string `json:"sort,omitempty"`
}

// String returns both keys, or the table and its key if the table has no sort key.
func (k Key) String() string {
	switch {
	case k.Partition == "": // a raw item in a table of no model
		return k.Table
	case k.Sort == "":
		return k.Table + " " + k.Partition
	}
	return k.Partition + " " + k.Sort
}

func joinKeys(keys []Key) string {
	s := make([]string, len(keys))
	for i, k := range keys {
		s[i] = k.String()
	}
	return joinFew(s)
}

// joinFew lists the first few texts, and the number of the others.
func joinFew(s []string) string {
	const limit = 5
	if len(s) > limit+1 {
		s = append(slices.Clone(s[:limit]), fmt.Sprintf("and %d more", len(s)-limit))
	}
	return strings.Join(s, ", ")
}

// ModelError lists all faults of a model.
type ModelError struct {
	model string
	// Faults has one line for each: type and field, the fault, and the cure.
	Faults []string
}

// Error returns the faults, one on a line.
func (e *ModelError) Error() string {
	return fmt.Sprintf("the model %s cannot be mapped:\n  %s", e.model, strings.Join(e.Faults, "\n  "))
}

func modelError(name string, err error) error {
	var faults schema.Faults
	if !errors.As(err, &faults) {
		return err
	}
	e := &ModelError{model: name}
	for _, f := range faults {
		e.Faults = append(e.Faults, f.String())
	}
	return e
}

// ItemConflict is an item that another writer has changed.
type ItemConflict struct {
	Model string
	Key   Key
	// Field is the field of the model, or the sort key if several fields share the item.
	Field string
	// Conflict says what happened to the item since the read: "changed", "deleted" or "created"; or
	// "condition" if the condition of a patch does not hold.
	Conflict string
}

// ConflictError says that another writer has changed, deleted or created items since they were read, or
// that a condition of a patch or raw item does not hold. Nothing visible was written, unless a
// [PartialError] wraps it. Load again and repeat, or use [Mapper.Update].
type ConflictError struct {
	Model string
	Items []ItemConflict

	// insert: of an insert whose root item is missing. patch: of the condition of a patch. raw: of a raw item.
	// update: of an Update whose tries all failed.
	insert, patch, raw, update bool
	unmet                      []error
	// pending says which staged write of another program is pending, "" for none.
	pending string
	// tag says why the state differs from that of a tag, "" if no tag was compared.
	tag string
}

// Error names each item and its conflict.
func (e *ConflictError) Error() string {
	s := make([]string, len(e.Items))
	for i, it := range e.Items {
		s[i] = fmt.Sprintf("%s (%s) was %s", it.Key, it.Field, it.Conflict)
		if it.Field == it.Key.Sort {
			s[i] = fmt.Sprintf("%s was %s", it.Key, it.Conflict)
		}
	}
	if e.pending != "" {
		return fmt.Sprintf("%s: conflict: %s: %s", e.Model, joinFew(s), e.pending)
	}
	if e.tag != "" && len(e.Items) == 0 {
		return fmt.Sprintf("%s: conflict: %s", e.Model, e.tag)
	}
	if e.tag != "" {
		return fmt.Sprintf("%s: conflict: %s: %s: load again, and check the change", e.Model, e.tag, joinFew(s))
	}
	if e.raw {
		return fmt.Sprintf("%s: the condition of the raw item does not hold for %s", e.Model, e.Items[0].Key)
	}
	if e.patch {
		keys := make([]Key, len(e.Items))
		for i, it := range e.Items {
			keys[i] = it.Key
		}
		text := fmt.Sprintf("%s: the condition of the patch does not hold for %s", e.Model, joinKeys(keys))
		if len(e.unmet) > 0 {
			text += ": " + joinErrors(e.unmet)
		}
		return text
	}
	if e.insert {
		return fmt.Sprintf("%s: conflict: %s, but the entity does not exist: these are leftover items: delete it "+
			"by its key, which removes them, and insert again", e.Model, joinFew(s))
	}
	if e.update {
		return fmt.Sprintf("%s: conflict: %s by another writer in each try: try again later", e.Model, joinFew(s))
	}
	return fmt.Sprintf("%s: conflict: %s by another writer after the read: load again and repeat the change, or "+
		"use Update", e.Model, joinFew(s))
}

// Unwrap returns the conditions of a patch that do not hold.
func (e *ConflictError) Unwrap() []error { return e.unmet }

func joinErrors(errs []error) string {
	texts := make([]string, len(errs))
	for i, err := range errs {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}

// Detail returns the text of an error with the values of attributes. The text itself never contains
// them, because they can be personal data. Both contain keys. Show it only to people who may read the
// items. Errors of AfterLoad are unchanged in both.
func Detail(err error) string { return redact.Detail(err) }

// ExistsError says what exists already: the entity of an insert, the element that a patch adds, or the
// entity at the new key of a move. errors.Is(err, ErrExists) is true for it.
type ExistsError struct {
	Model string
	// Field is the field of the model, or the sort key if several fields share the item. Key is the key
	// of the item that exists.
	Field string
	Key   Key
	// Pending says which staged write of another program is pending, "" for none.
	Pending string

	name string // the entity or item, by its key
}

// Error names the entity or item that exists.
func (e *ExistsError) Error() string {
	cure := cmp.Or(e.Pending, "load it and save the change, or delete it first")
	return fmt.Sprintf("%s: %s exists already: %s", e.Model, cmp.Or(e.name, e.Key.String()), cure)
}

// Unwrap returns ErrExists.
func (e *ExistsError) Unwrap() error { return ErrExists }

func existsError(e *operation.Exists) *ExistsError {
	out := &ExistsError{Model: e.Label, Pending: e.Pending, name: e.Name}
	if len(e.Items) > 0 {
		out.Field, out.Key = e.Items[0].Field, keyOf(e.Items[0].Place)
	}
	return out
}

// UniqueError says that a unique value belongs to another entity. errors.Is(err, ErrTaken) is true for it. The error
// does not contain the value. Nothing was written.
type UniqueError struct {
	Model string
	// Field is the field of the value. Several fields are separated by commas.
	Field string
	// Owner is the key of the root item of the other entity.
	Owner Key

	pending string
}

// Error names the field and the owner.
func (e *UniqueError) Error() string {
	text := fmt.Sprintf("%s.%s: the value belongs to %s: choose another value, or change that entity first", e.Model,
		e.Field, e.Owner)
	if e.pending != "" {
		text += " (" + e.pending + ")"
	}
	return text
}

// Unwrap returns ErrTaken.
func (e *UniqueError) Unwrap() error { return ErrTaken }

// NotFoundError says which item is missing: the root item of an entity, or the item that a patch
// requires. errors.Is(err, ErrNotFound) is true for it.
type NotFoundError struct {
	Model string
	// Field is the field of the model, or the sort key if several fields share the item. Key is the key
	// of the missing item.
	Field string
	Key   Key
	// Pending says why the entity may appear soon or has just ended: an unfinished insert or delete, or
	// an expired time to live; "" for none.
	Pending string

	name string // the entity, by its key
}

// Error names the missing item.
func (e *NotFoundError) Error() string {
	name := e.name
	if name == "" {
		name = e.Key.String()
	}
	if e.Pending != "" {
		return fmt.Sprintf("%s: %s does not exist: %s", e.Model, name, e.Pending)
	}
	return fmt.Sprintf("%s: %s does not exist", e.Model, name)
}

// Unwrap returns ErrNotFound.
func (e *NotFoundError) Unwrap() error { return ErrNotFound }

// ValueError says that a value cannot be stored, or that a key field was changed after the load.
// Examples are an empty or zero part of a key, two elements with one key, invalid UTF-8, duplicates in
// a set, and an invalid number. Nothing was sent. All invalid values of an entity are returned together
// (errors.Join).
type ValueError struct {
	Model string
	// Field is the field of the value, or the item of the key.
	Field string
	// Key is the item that would hold the value, as far as it is known.
	Key Key
	// Reason has the fault and the cure.
	Reason string

	err error
}

// Error names the field and the fault of its value.
func (e *ValueError) Error() string {
	if e.err == nil { // made by a test
		return fmt.Sprintf("%s.%s: %s", e.Model, e.Field, e.Reason)
	}
	return e.err.Error()
}

// Unwrap returns the cause.
func (e *ValueError) Unwrap() error { return e.err }

// OutcomeUnknownError says that a write may have been applied, because no answer came, or one that does
// not show it. Items are the items that it may have written.
//
// An entity can be saved again: the next Save resolves the earlier write first. If it cannot, because
// the write may still arrive, the error is returned again, for up to 15 minutes. Patches and raw items
// are not resolved: load and look before you repeat one. In a transaction with an entity, the entity
// remembers them (docs/saving.md, "Lost answers").
type OutcomeUnknownError struct {
	Model string
	Items []Key
	Err   error

	patch bool // no entity remembers all of it
}

// Error names the items and the cause.
func (e *OutcomeUnknownError) Error() string {
	if len(e.Items) == 0 { // a transaction of conditions only
		return fmt.Sprintf("%s: the outcome of the conditions is unknown: %v", e.Model, e.Err)
	}
	if e.patch {
		return fmt.Sprintf("%s: the outcome for %s is unknown: load it before you repeat the patch: %v", e.Model,
			joinKeys(e.Items), e.Err)
	}
	return fmt.Sprintf("%s: the outcome for %s is unknown: save again, which checks it first, or load: %v",
		e.Model, joinKeys(e.Items), e.Err)
}

// Unwrap returns the cause.
func (e *OutcomeUnknownError) Unwrap() error { return e.Err }

// NotLoadedError says that a field was changed whose items were not loaded. A save could overwrite data
// that it has not read.
type NotLoadedError struct {
	Model string
	// Field is the changed field; several fields of one item are joined with ", ".
	Field string
	// Key is the item that is not in the selection.
	Key Key

	needs   string // what else must be loaded
	element bool
}

// Error names the field and the item.
func (e *NotLoadedError) Error() string {
	if e.needs != "" {
		return fmt.Sprintf("%s.%s: its change cannot be saved without %s, which was not loaded: load the entity by "+
			"its key", e.Model, e.Field, e.needs)
	}
	if e.element {
		return fmt.Sprintf("%s.%s: the change of the element %s cannot be saved, since it was not loaded: load it, "+
			"or patch it (Add, Put, or Patch of its node)", e.Model,
			e.Field, e.Key)
	}
	return fmt.Sprintf("%s.%s: the change of its item %s cannot be saved, since it was not loaded: load a "+
		"selection that includes it", e.Model, e.Field, e.Key)
}

// TooLargeError says that an item would be larger than 400 KB (409,600 bytes, Developer Guide,
// "Quotas"). Nothing was written. A request was sent only if DynamoDB alone knows the size, for example
// of an item that a patch extends.
type TooLargeError struct {
	Model string
	Field string
	Key   Key
	// Size is the size of the item in bytes, 0 if only DynamoDB knows it.
	Size int

	// local is the size of the item's entries in local indexes, in bytes. Local indexes share one limit
	// with the item.
	local int
	// heaviest are the largest attributes with their sizes, the largest first.
	heaviest []string
	err      error
}

// Unwrap returns DynamoDB's error if it refused the item, otherwise nil.
func (e *TooLargeError) Unwrap() error { return e.err }

// Error names the item, its size, and its largest attributes.
func (e *TooLargeError) Error() string {
	if e.err != nil {
		return fmt.Sprintf("%s.%s: the item %s would be over the limit of 400 KB: load it to see its large "+
			"attributes, and move them to an item of their own (sk=): %v",
			e.Model, e.Field, e.Key, e.err)
	}
	if len(e.heaviest) == 0 { // a raw request
		return fmt.Sprintf("%s.%s: the item %s would have %s (limit 400 KB): make it smaller, or split it",
			e.Model, e.Field, e.Key, attr.Bytes(e.Size))
	}
	if e.local > 0 {
		return fmt.Sprintf("%s.%s: the item %s would have %s and %s in local indexes (limit 400 KB in all); largest "+
			"attributes: %s: project less (project=), or split it (sk=)",
			e.Model, e.Field, e.Key, attr.Bytes(e.Size), attr.Bytes(e.local), strings.Join(e.heaviest, ", "))
	}
	return fmt.Sprintf("%s.%s: the item %s would have %s (limit 400 KB); largest attributes: %s: split the item "+
		"(sk=), or store a large value in another way (compress=, chunk, s3=)",
		e.Model, e.Field, e.Key, attr.Bytes(e.Size), strings.Join(e.heaviest, ", "))
}

// PartialError says that a write of several requests ended early: a save or delete with Independent, or
// a staged delete whose root item is marked already. Call it again to write the rest. If Err is a
// *ConflictError, load the entity first. If a save with Move has moved everything, but could not look
// for items at the old key, Rest is empty.
type PartialError struct {
	Model string
	// Written are the items that were written. Rest are the others, and those whose outcome is unknown.
	Written, Rest []Key
	Err           error
}

// Error names the written and the other items, and the cause.
func (e *PartialError) Error() string {
	if len(e.Rest) == 0 {
		return fmt.Sprintf("%s: written: %s: %v", e.Model, joinKeys(e.Written), e.Err)
	}
	cure := "repeat it to write the rest"
	var conflict *ConflictError
	if errors.As(e.Err, &conflict) || errors.Is(e.Err, ErrExists) {
		cure = "load again before you write the rest"
	}
	return fmt.Sprintf("%s: written in part: %s, but not %s: %s: %v", e.Model, joinKeys(e.Written), joinKeys(e.Rest),
		cure, e.Err)
}

// Unwrap returns the cause.
func (e *PartialError) Unwrap() error { return e.Err }

// public translates an error of the internal packages. Errors are translated only here.
func (g *engine) public(err error) error { return public(g.model, err) }

// public translates an error. m is the model for errors that do not name one, nil for none.
func public(m *model.Model, err error) error {
	switch e := err.(type) {
	case nil:
		return nil
	case *operation.Fault:
		return public(e.Model, e.Err)
	case *operation.Conflict:
		return conflictError(e)
	case *operation.Exists:
		return existsError(e)
	case *operation.Taken:
		return &UniqueError{Model: e.Label, Field: e.Field, Owner: keyOf(e.Owner), pending: e.Pending}
	case *operation.NotFound:
		return &NotFoundError{Model: e.Label, Field: e.Field, Key: keyOf(e.Place), Pending: e.Pending}
	case *operation.Unknown:
		return &OutcomeUnknownError{Model: e.Label, Items: keysOf(e.Items), Err: public(m, e.Err), patch: e.Patch}
	case *operation.Partial:
		return &PartialError{Model: e.Label, Written: keysOf(e.Written), Rest: keysOf(e.Rest), Err: public(m, e.Err)}
	case *operation.TooLarge:
		return &TooLargeError{Model: "mapper", Field: e.Field, Key: keyOf(e.Place), Size: e.Size}
	case *operation.Interrupted:
		if e.Last == nil {
			return fmt.Errorf("%s: %w", e.Label, e.Err)
		}
		return fmt.Errorf("%w (%w)", e.Err, public(m, e.Last))
	case *operation.Exhausted:
		if e.Last == nil {
			return errors.New(e.Error())
		}
		return fmt.Errorf("%s: %w", e.Error(), public(m, e.Last))
	case *operation.Earlier:
		return &operation.Earlier{Sent: e.Sent, Err: public(m, e.Err)} // only its text counts
	case *operation.Quoted:
		return errors.New(public(m, e.Quote).Error())
	case change.Faults:
		return publicAll(m, e)
	case *write.Outgrown:
		r := e.Request
		return &TooLargeError{Model: r.Label, Field: r.Field, Key: keyOf(r.Place), err: e.Err}
	}
	if m == nil {
		return throttled("", err)
	}
	return throttled(m.Label(), valueError(m, err))
}

func publicAll(m *model.Model, all []error) error {
	out := make([]error, len(all))
	for i := range all {
		out[i] = public(m, all[i])
	}
	return errors.Join(out...)
}

// valueError translates an error about a value or selection of a model.
func valueError(m *model.Model, err error) error {
	label := m.Label()
	switch e := err.(type) {
	case *change.NotLoaded:
		out := &NotLoadedError{Model: label, Field: e.Field, needs: e.Needs, element: e.Element}
		if e.At.Table != nil {
			out.Key = keyOf(e.At)
		}
		return out
	case *change.KeyChanged:
		reason := fmt.Sprintf("the key field was changed from %s to %s after the load: load all and save with "+
			"Move, or make a new entity", e.Old, e.New)
		return &ValueError{
			Model: label, Field: e.Field, Reason: reason,
			err: fmt.Errorf("%s.%s: %s", label, e.Field, reason),
		}
	case *change.TooLarge:
		out := &TooLargeError{Model: label, Field: e.Field, Key: keyOf(e.At), Size: e.Size, local: e.Local}
		for _, w := range e.Heaviest {
			out.heaviest = append(out.heaviest, fmt.Sprintf("%s %d", w.Name, w.Bytes))
		}
		return out
	case *change.UnresolvedError:
		return &OutcomeUnknownError{Model: label, Items: keysOf(e.Places), Err: e.Err}
	case *selection.LookupError:
		return model.Usage(e)
	case *search.NotFound:
		return &NotFoundError{Model: label, Field: m.Root().Name, Key: keyOf(e.Root), Pending: e.Pending, name: e.Name}
	}
	var damaged *model.Damaged
	if errors.As(err, &damaged) {
		out := &StoredValueError{Model: damaged.Label, Field: damaged.Field, err: err}
		if damaged.Table != nil {
			out.Key = keyOf(damaged.Place)
		}
		return out
	}
	var value *schema.Unstorable
	if !errors.As(err, &value) {
		return err
	}
	out := &ValueError{Model: label, Field: value.Field, Reason: value.Reason(), err: err}
	if value.Table != "" {
		out.Key = keyOf(item.Place{Table: &item.Table{Name: value.Table}, PK: value.PK, SK: value.SK})
	}
	return out
}

func conflictError(e *operation.Conflict) *ConflictError {
	out := &ConflictError{
		Model: e.Label, insert: e.Insert, patch: e.Patch, raw: e.Raw, unmet: e.Unmet,
		pending: e.Pending, tag: e.Tag,
	}
	for _, it := range e.Items {
		key := keyOf(it.Place)
		if it.RawKey != "" {
			key = Key{Table: it.Table.Name, Partition: it.RawKey}
		}
		what := string(it.What)
		if e.Patch {
			what = "condition"
		}
		out.Items = append(out.Items, ItemConflict{Model: e.Label, Key: key, Field: it.Field, Conflict: what})
	}
	return out
}

// keyOf returns a place as errors and plans show it.
func keyOf(p item.Place) Key {
	return Key{Table: p.Table.Name, Partition: p.PK.Plain(), Sort: p.Sort()}
}

func keysOf(places []item.Place) []Key {
	if places == nil {
		return nil
	}
	keys := make([]Key, len(places))
	for i, p := range places {
		keys[i] = keyOf(p)
	}
	return keys
}
