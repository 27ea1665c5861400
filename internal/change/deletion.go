package change

import (
	"slices"

	"github.com/itemize/itemize/internal/item"
	"github.com/itemize/itemize/internal/key"
	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/schema"
	"github.com/itemize/itemize/internal/selection"
	"github.com/itemize/itemize/internal/snapshot"
	"github.com/itemize/itemize/internal/write"
)

// Deletion is the removal of what a selection of one entity holds.
type Deletion struct {
	m         *model.Model
	Selection selection.Selection
	// Root is the root's delete, nil where it is not selected; Rest the others.
	Root *Change
	Rest []*Change
	// Begun reports that somebody's delete of the entity has begun and is not finished.
	Begun bool
}

// NewDeletion returns the removal of a selection. It refuses those that cannot be deleted:
// of several entities, and of a root without the rest.
func NewDeletion(m *model.Model, sel selection.Selection, staged bool) (*Deletion, error) {
	switch {
	case sel.Err != nil:
		return nil, sel.Err
	case !sel.Entity:
		return nil, m.Errorf("the key selects several entities: give all of %s to delete one", m.IdentityNames())
	case staged && !sel.Whole:
		return nil, m.Errorf("Staged deletes a whole entity: select it by its key")
	}
	switch root, err := m.SelectsRoot(&sel); {
	case err != nil:
		return nil, err
	case root && !sel.Whole:
		return nil, m.Errorf("the selection includes the root without being the whole entity, whose other items would be left over: select the entity by its key, or leave the root out")
	}
	return &Deletion{m: m, Selection: sel}, nil
}

// Single returns the one place that the selection names, ok is false for more than one.
func (del *Deletion) Single() (p selection.Part, ok bool) {
	s := &del.Selection
	if len(s.Parts) != 1 || s.Whole || s.Parts[0].Range.Kind != selection.One {
		return p, false
	}
	return s.Parts[0], true
}

// Blind adds the delete of a single item, whatever it holds.
func (del *Deletion) Blind(p selection.Part) error {
	m := del.m
	it, values := m.Schema.Match(p.Table, p.Range.Low)
	if it == nil {
		return m.Errorf("the sort key %s matches no field: items that the model does not know are not deleted", p.Range.Low)
	}
	if !m.Agrees(&item.Image{Kind: it, Values: values}, del.Selection.Identity) {
		return m.Errorf("the sort key %s is that of another entity than %s: select it by its own key", p.Range.Low, m.EntityName(del.Selection.Identity))
	}
	ch := start(m, write.Delete, it, m.Place(it, p.PK, p.Range.Low))
	ch.Unread = true
	del.Rest = append(del.Rest, ch)
	return nil
}

// Loaded replaces the deletes by those of an entity's items as they were loaded.
func (del *Deletion) Loaded(s *snapshot.Snapshot) {
	del.Root, del.Rest, del.Begun = nil, nil, false
	for i, all := range s.Items {
		for _, r := range all {
			del.add(del.m.Schema.Items[i], r)
		}
	}
	for at, h := range s.Hidden {
		if h.Stored == nil {
			continue
		}
		if it, _ := del.m.Schema.Match(del.m.TableIndex(at.Table), at.SK); it != nil {
			del.add(it, h.Stored)
		}
	}
}

// Found replaces the deletes by those of items as they were read. It returns the root,
// nil for none.
func (del *Deletion) Found(images []item.Image) *item.Image {
	del.Root, del.Rest, del.Begun = nil, nil, false
	var root *item.Image
	known := snapshot.Told(del.m, images)
	for i := range images {
		f := &images[i]
		if !Belongs(del.m, f, del.Selection.Identity, known) {
			continue
		}
		if del.m.IsRoot(f.Kind) {
			root = f
		}
		del.add(f.Kind, snapshot.StoredOf(del.m, f))
	}
	if root != nil && del.Selection.Whole {
		st, staged := root.Header.ReadStage()
		del.Begun = staged && st.State == item.Deleting
	}
	return root
}

// Belongs reports whether an item is one of an entity, or was left over from one: its key
// agrees with the identity, and unless a staged insert has put it with the other key
// fields' values, as far as they are known.
func Belongs(m *model.Model, f *item.Image, identity, known []key.Value) bool {
	return f.Kind != nil && m.Agrees(f, identity) && (f.Header.Attempt != nil || m.Agrees(f, known))
}

func (del *Deletion) add(it *schema.Item, r *snapshot.Stored) {
	ch := of(del.m, write.Delete, it, r)
	ch.expectStored()
	if del.m.IsRoot(it) {
		del.Root = ch
		return
	}
	del.Rest = append(del.Rest, ch)
}

// All are the deletes, the root's last, so that what is left is found.
func (del *Deletion) All() []*Change {
	all := slices.Clone(del.Rest)
	if del.Root != nil {
		all = append(all, del.Root)
	}
	return all
}
