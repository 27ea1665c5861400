package search

import (
	"context"

	"github.com/itemize/itemize/internal/item"
	"github.com/itemize/itemize/internal/selection"
	"github.com/itemize/itemize/internal/snapshot"
	"github.com/itemize/itemize/internal/staging"
	"github.com/itemize/itemize/internal/write"
)

// NotFound says that the root was selected and is not there, or not live.
type NotFound struct {
	// Name names the entity by its key, Pending says what is being done to it.
	Name, Pending string
}

func (e *NotFound) Error() string { return e.Name + " is not found" }

// Load makes the snapshot of one entity of the items that were found, and sets the fields
// of v. The error is a *NotFound where the root was selected and is not there, or not live.
func (e *Engine) Load(ctx context.Context, sel selection.Selection, found []item.Image, v any, t *write.Tally) (*snapshot.Snapshot, error) {
	s, err := snapshot.Loaded(e.Model, sel)
	if err != nil {
		return nil, err
	}
	if found, err = e.alive(ctx, s, found, t); err != nil {
		return nil, err
	}
	if err := s.Identify(v); err != nil {
		return nil, err
	}
	return s, s.Decode(v, found)
}

// alive leaves out what is stored and not there, and what matches no field.
func (e *Engine) alive(ctx context.Context, s *snapshot.Snapshot, found []item.Image, t *write.Tally) ([]item.Image, error) {
	m := e.Model
	entity, err := EntityOf(m, s.Selection)
	if err != nil {
		return nil, err
	}
	found, live, err := e.Protocol.Alive(ctx, entity, s.Selection.Parts, found, t)
	if err != nil {
		return nil, err
	}
	selected := s.Selection.Contains(m.Root().Table.Index, entity.Root.SK)
	if root := entity.Asked; root != nil && !selected {
		s.NoteOther(root)
	}
	if selected {
		if err := e.RootThere(s.Selection, m.RootAmong(found, entity.Root)); err != nil {
			return nil, err
		}
	}
	kept := found[:0]
	for i := range found {
		switch f := &found[i]; {
		case f.Kind == nil || !m.Agrees(f, s.Selection.Identity):
			s.Unknown++
			s.NoteOther(f)
		case f.Expired, !entity.Joined(f, live):
			s.Hide(f.Place, &snapshot.Hidden{Hidden: f.HiddenOf(), Stored: snapshot.StoredOf(m, f)})
		default:
			kept = append(kept, *f)
		}
	}
	return kept, nil
}

// RootThere returns a *NotFound, with what is pending, for a root that is not there or not
// live.
func (e *Engine) RootThere(sel selection.Selection, root *item.Image) error {
	pending := staging.Pending(root)
	if root != nil && pending == "" {
		return nil
	}
	return &NotFound{e.Model.EntityName(sel.Identity), pending}
}
