package operation

import (
	"github.com/itemize/itemize/internal/change"
	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/snapshot"
)

// CheckTag requires that an entity is as it was when a token was made: the error is a Conflict with the items that differ.
func CheckTag(m *model.Model, s *snapshot.Snapshot, token *string) error {
	if token == nil {
		return nil
	}
	if *token == "" {
		return errNoTag(m)
	}
	e := &Conflict{Label: m.Label()}
	if t := snapshot.ReadTag(*token); t != nil {
		if !t.OfSelection(&s.Selection) {
			return m.Errorf("the tag is of another selection than the entity: load the selection that the tag was made of")
		}
		items, same := s.Differ(t)
		if same {
			return nil
		}
		for _, r := range items {
			e.Items = append(e.Items, ItemConflict{Place: r.Place, Field: r.Field, What: change.Changed})
		}
	}
	if at, err := m.RootPlace(s.Selection.Identity); err == nil && len(e.Items) == 0 { // it is no tag of this entity, or items were deleted
		e.Items = append(e.Items, ItemConflict{Place: at, Field: m.Root().Name, What: change.Changed})
	}
	return e
}

func errNoTag(m *model.Model) error {
	return m.Errorf("IfTag got an empty tag: leave IfTag out where no state is required")
}
