package operation

import (
	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/read/snapshot"
	"github.com/itemize/itemize/internal/save/change"
)

// The faults of a tag's token.
const (
	noTag          = "the text is not a tag: pass the text that Tag returned"
	ofOtherEntity  = "the tag is of another entity"
	ofOtherParts   = "the tag is of another selection of the entity: load the selection of the tag"
	tagIsOutOfDate = "the entity has changed since the tag was made"
)

// CheckTag requires that an entity is as it was when a token was made: the error is a Conflict with the
// items that differ.
func CheckTag(m *model.Model, s *snapshot.Snapshot, token *string) error {
	if token == nil {
		return nil
	}
	if s.Fresh {
		return m.Errorf("IfTag compares a stored state, but a new entity has none: leave IfTag out")
	}
	t, err := readTag(m, *token)
	if err != nil {
		return err
	}
	e := &Conflict{Label: m.Label(), Tag: tagIsOutOfDate}
	if at, err := m.RootPlace(s.Selection.Identity); err == nil && !t.OfEntity(at) {
		e.Tag = ofOtherEntity
		return e
	}
	if !t.OfSelection(s) {
		e.Tag = ofOtherParts
		return e
	}
	items, same := s.Differ(t)
	if same {
		return nil
	}
	for _, r := range items {
		what := change.Changed
		if r.Added {
			what = change.Created
		}
		e.Items = append(e.Items, ItemConflict{Place: r.Place, Field: r.Field, What: what})
	}
	return e
}

// readTag reads a token; an empty one is a fault of the program, and any other text that is no tag a conflict.
func readTag(m *model.Model, token string) (*snapshot.Tag, error) {
	if token == "" {
		return nil, m.Errorf("the tag is empty: leave IfTag out if no state is required")
	}
	if t := snapshot.ReadTag(token); t != nil {
		return t, nil
	}
	return nil, &Conflict{Label: m.Label(), Tag: noTag}
}

// checkTag is CheckTag of an entity that is saved, once for a token: a save that was written in part is sent again with
// the same token.
func (e *Entity) checkTag(m *model.Model, token *string) error {
	if token == nil || e.tag != "" && e.tag == *token {
		return nil
	}
	if err := CheckTag(m, e.Snapshot, token); err != nil {
		return err
	}
	e.tag = *token
	return nil
}

// requireTag has the patch require the versions of its items in a token, and that what a token of the
// whole entity does not have is missing.
func (p *modify) requireTag(token string) error {
	m := p.env.Model
	t, err := readTag(m, token)
	if err != nil {
		return err
	}
	e := &Conflict{Label: m.Label()}
	if at, err := m.RootPlace(p.Identity); err == nil && !t.OfEntity(at) {
		e.Tag = ofOtherEntity
		return e
	}
	if t.Large() {
		return m.Errorf("the tag is of too many items for a patch: Load with IfTag, change the value, and Save")
	}
	for _, it := range p.Items {
		version, has := t.Version(it.Place)
		at := ItemConflict{Place: it.Place, Field: it.Field, What: change.Changed}
		switch {
		case it.Absent() && has: // it was deleted
			e.Tag, at.What = tagIsOutOfDate, change.Deleted
			e.Items = append(e.Items, at)
		case it.Absent():
		case version != nil:
			it.RequireVersion(version)
		case has:
			return m.FieldErrorf(it.Field, "the item %s has no version for a patch to compare: Load with IfTag, "+
				"change the value, and Save", it.Place)
		case t.Whole():
			it.RequireAbsent()
		default:
			e.Tag = ofOtherParts
			e.Items = append(e.Items, at)
		}
	}
	if e.Tag != "" {
		return e
	}
	return nil
}
