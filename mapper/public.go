package mapper

import (
	"errors"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/change"
	"github.com/itemize/itemize/internal/item"
	"github.com/itemize/itemize/internal/key"
	"github.com/itemize/itemize/internal/schema"
	"github.com/itemize/itemize/internal/search"
	"github.com/itemize/itemize/internal/write"
)

// Here what the inside reports becomes the errors that callers see.

// keyOf returns a place as errors and plans show it.
func keyOf(p item.Place) Key {
	return Key{Table: p.Table.Name, Partition: p.PK.Plain(), Sort: p.Sort()}
}

func keysOf(requests []*write.Request) []Key {
	keys := make([]Key, len(requests))
	for i, r := range requests {
		keys[i] = keyOf(r.Place)
	}
	return keys
}

// placesOf returns where the items of requests lie, checks aside.
func placesOf(requests []*write.Request) []item.Place {
	var places []item.Place
	for _, r := range requests {
		if r.Writes() {
			places = append(places, r.Place)
		}
	}
	return places
}

// public returns an error of the inside as callers see it.
func (g *engine) public(err error) error {
	label := g.model.Label()
	switch e := err.(type) {
	case *change.NotLoaded:
		return g.notLoaded(e)
	case *change.KeyChanged:
		return &KeyChangedError{Model: label, Field: e.Field, Old: e.Old, New: e.New}
	case *change.TooLarge:
		out := &TooLargeError{Model: label, Field: e.Field, Key: keyOf(e.At), Size: e.Size, Local: e.Local, Limit: cost.MaxItem}
		for _, w := range e.Heaviest {
			out.Heaviest = append(out.Heaviest, AttributeSize(w))
		}
		return out
	case *change.InDoubt:
		return outcomeUnknown(label, e.Places, e.Err)
	case *search.NotFound:
		return &NotFoundError{Model: label, Field: g.model.Root().Name, Key: keyOf(e.Root), Pending: e.Pending, name: e.Name}
	case change.Faults:
		all := make([]error, len(e))
		for i := range e {
			all[i] = g.public(e[i])
		}
		return errors.Join(all...)
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

func (g *engine) notLoaded(e *change.NotLoaded) error {
	out := &NotLoadedError{Model: g.model.Label(), Field: e.Field, needs: e.Needs, element: e.Element}
	if e.At.Table != nil {
		out.Key = keyOf(e.At)
	}
	return out
}

// refusedBy returns DynamoDB's refusal as callers see it.
func refusedBy(err error) error {
	var e *write.Outgrown
	if !errors.As(err, &e) {
		return err
	}
	r := e.Request
	return &TooLargeError{Model: r.Label, Field: r.Field, Key: keyOf(r.Place), Limit: cost.MaxItem, err: e.Err}
}

func outcomeUnknown(label string, places []item.Place, err error) error {
	return unknownOf(label, places, err)
}

// patchUnknown is outcomeUnknown of a patch.
func patchUnknown(label string, places []item.Place, err error) error {
	e := unknownOf(label, places, err)
	e.patch = true
	return e
}

func unknownOf(label string, places []item.Place, err error) *OutcomeUnknownError {
	e := &OutcomeUnknownError{Model: label, Err: err}
	for _, p := range places {
		e.Items = append(e.Items, keyOf(p))
	}
	return e
}

// refusal is the error of a step whose conditions failed: ErrExists of an insert whose
// root is there, or a conflict.
func (g *engine) refusal(s *state, keyFields []key.Value, o *write.Outcome) error {
	e := &ConflictError{Model: g.model.Label(), insert: s.Fresh}
	rootExists := false
	for i, r := range o.Requests {
		if o.Stored[i] == nil {
			continue
		}
		e.Items = append(e.Items, ItemConflict{Key: keyOf(r.Place), Field: r.Field, Conflict: conflictOf(r, o.Stored[i])})
		rootExists = rootExists || r.Root && r.New
		if r.Kind == write.Check && r.Unread && len(o.Stored[i]) > 0 && r.Reserved.Header(o.Stored[i]).Live() {
			e.pending = "what was loaded is not of the entity that is there, but of one that was deleted since, or left over from one: load it by its key"
		}
	}
	if rootExists {
		return &existsError{g.model.EntityName(keyFields[:g.model.Schema.Identities()]), e} // on whichever shard
	}
	return e
}

func conflictOf(r *write.Request, stored item.Attributes) Conflict {
	switch {
	case r.New:
		return ConflictCreated
	case len(stored) == 0:
		return ConflictDeleted
	}
	return ConflictChanged
}
