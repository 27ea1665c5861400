package change

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/read/selection"
	"github.com/itemize/itemize/internal/read/snapshot"
	"github.com/itemize/itemize/internal/save/write"
)

// Deletion is the removal of a selection of one entity.
type Deletion struct {
	m         *model.Model
	Selection selection.Selection
	// Root is the root's delete, nil where it is not selected; Rest the others.
	Root *Change
	Rest []*Change
	// Guards are the guards that the entity releases: those of its root item, if that was read live.
	Guards []Guard
	// keyFields are the values of the key fields, as far as the items that were read have them.
	keyFields []key.Value
}

// NewDeletion returns the removal of a selection, unless it selects several entities, or a root without the rest.
func NewDeletion(m *model.Model, sel selection.Selection, staged bool) (*Deletion, error) {
	switch {
	case sel.Err != nil:
		return nil, sel.Err
	case !sel.Entity:
		if len(sel.Parts) > 0 && sel.Parts[0].In != nil {
			return nil, m.Errorf("the selection is a part of an index, not an entity: delete each element that a " +
				"query finds by its key")
		}
		return nil, m.Errorf("the key selects several entities: add values for all of %s to delete one",
			m.IdentityNames())
	case staged && !sel.Whole:
		return nil, m.Errorf("Staged deletes a whole entity: select it by its key")
	}
	switch root, err := m.SelectsRoot(&sel); {
	case err != nil:
		return nil, err
	case root && !sel.Whole:
		return nil, m.Errorf("the selection includes the root, but not the whole entity, whose other items would " +
			"remain: select the entity by its key, or leave the root out")
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

// Unread returns the condition of a delete of a single item that was not read: no staged insert has put it.
func Unread(names item.Reserved) write.Expect {
	return write.Expect{Blind: true, Terms: []attr.Condition{names.Unstaged}}
}

// Blind adds the delete of a single item, whatever it holds.
func (del *Deletion) Blind(p selection.Part) error {
	m := del.m
	it, values := m.Schema.Match(p.Table, p.Range.Low)
	if it == nil {
		return m.Errorf("the sort key %s matches no field: items that the model does not declare are not deleted",
			p.Range.Low)
	}
	if !m.Agrees(&item.Image{Kind: it, Values: values}, del.Selection.Identity) {
		return m.Errorf("the sort key %s belongs to another entity than %s: select it by its own key", p.Range.Low,
			m.EntityName(del.Selection.Identity))
	}
	ch := new(Change).start(m, write.Delete, it, m.Place(it, p.Partition, p.Range.Low))
	ch.Unread = true
	ch.Expect = Unread(ch.Reserved)
	ch.index(m)
	del.Rest = append(del.Rest, ch)
	return nil
}

// Loaded replaces the deletes by those of an entity's items as they were loaded.
func (del *Deletion) Loaded(s *snapshot.Snapshot) {
	del.Root, del.Rest = nil, nil
	del.keyFields, _ = del.m.KeyFields(s.Old) // as far as they were loaded
	for i, all := range s.Items {
		for _, r := range all {
			del.add(del.m.Schema.Items[i], r).expectRead(del.m, s)
		}
	}
	if root := s.Root(); root != nil {
		del.release(guarded(s, root), root.Place, root.Header.Incarnation)
	}
}

// release notes the guards of a root item that was read live.
func (del *Deletion) release(root item.Attributes, at item.Place, incarnation types.AttributeValue) {
	from := model.Owner{Root: at, Incarnation: incarnation}
	del.Guards, _ = Guards(del.m, root, nil, from, from) // releases have no errors
	for i := range del.Guards {
		del.Guards[i].After = true
	}
}

// Found replaces the deletes by those of items as they were read, and returns the root, nil for none.
func (del *Deletion) Found(images []item.Image) *item.Image {
	del.Root, del.Rest = nil, nil
	var root *item.Image
	del.keyFields = snapshot.KeyFieldsOf(del.m, images)
	for i := range images {
		f := &images[i]
		if !del.Belongs(f) {
			continue
		}
		if del.m.IsRoot(f.Kind) {
			root = f
		}
		del.add(f.Kind, snapshot.StoredOf(del.m, f))
	}
	switch {
	case root != nil && root.Header.Live():
		del.release(root.Attributes(), root.Place, root.Header.Incarnation)
	// a mark of this delete, or of another: only an entity that was read live releases its guards
	case root == nil || len(del.Guards) > 0 && !attr.Same(del.Guards[0].Release.Incarnation, root.Header.Incarnation):
		del.Guards = nil
	}
	for _, ch := range del.All() {
		if old := ch.Expect.Old; old != nil { // it was read to be deleted: some of its values will do
			ch.Expect.Old = write.AsFound(ch.Place, nil, ch.Stored.Raw).Old
		}
	}
	return root
}

// Absent returns the delete of a root that does not exist.
func (del *Deletion) Absent() *Change {
	at, err := del.m.RootPlace(del.Selection.Identity)
	if err != nil {
		panic(err) // it was checked before anything was read
	}
	return new(Change).start(del.m, write.Delete, del.m.Root(), at)
}

// Difference is an item of a loaded entity that is not as it was loaded.
type Difference struct {
	item.Place
	Field string
	What  What
}

// What happened to an item since it was read.
type What string

// Items were changed, deleted or created since they were read.
const (
	Changed What = "changed"
	Deleted What = "deleted"
	Created What = "created"
)

// Differences compares the stored items with the loaded entity that is to be deleted.
func (del *Deletion) Differences(found []item.Image) []Difference {
	var out []Difference
	now := make(map[item.Place]*item.Image, len(found))
	for i := range found {
		now[found[i].Place] = &found[i]
	}
	for _, ch := range del.All() {
		f := now[ch.Place]
		delete(now, ch.Place)
		switch {
		case f == nil || f.Expired:
			out = append(out, Difference{ch.Place, ch.Field, Deleted})
		case !ch.Before(f.Attributes(), del.m.Now()):
			out = append(out, Difference{ch.Place, ch.Field, Changed})
		}
	}
	for i := range found {
		f := &found[i]
		h := f.Header
		if now[f.Place] == nil || f.Expired || !del.Belongs(f) {
			continue
		}
		if h.Incarnation == nil || del.Root != nil && attr.Same(h.Incarnation, del.Root.Header.Incarnation) {
			out = append(out, Difference{f.Place, f.Kind.Name, Created})
		}
	}
	return out
}

// Belongs reports whether an item is one that the delete removes.
func (del *Deletion) Belongs(f *item.Image) bool {
	return Belongs(del.m, f, del.Selection.Identity, del.keyFields)
}

// Added returns the items of an incarnation, own, that other writers added to an entity before its root item was
// deleted.
func (del *Deletion) Added(own types.AttributeValue, found []item.Image) []item.Image {
	at := slices.IndexFunc(found,
		func(f item.Image) bool { return f.Kind != nil && del.m.IsRoot(f.Kind) && del.Belongs(&f) })
	rooted := at >= 0
	// Of an entity that exists there are none.
	if rooted && attr.Same(own, found[at].Header.Incarnation) {
		return nil
	}
	var all []item.Image
	for i := range found {
		f := &found[i]
		switch {
		case !del.Belongs(f) || del.m.IsRoot(f.Kind):
		// Items without an incarnation belong to the entity if it had none, and no root item exists.
		case !attr.Same(own, f.Header.Incarnation), own == nil && rooted:
		default:
			all = append(all, *f)
		}
	}
	return all
}

// Check refuses the delete of an item without a version that has more attributes than a
// condition can compare.
func (del *Deletion) Check() error {
	for _, ch := range del.All() {
		if err := comparable(ch); err != nil {
			return err
		}
	}
	return nil
}

// Belongs reports whether an item belongs to an entity, or is a leftover item of one: its key agrees with the
// identity, and without an incarnation also with keyFields.
func Belongs(m *model.Model, f *item.Image, identity, keyFields []key.Value) bool {
	// keyFields has the other key fields, as far as they were read
	return f.Kind != nil && m.Agrees(f, identity) && (f.Header.Incarnation != nil || m.Agrees(f, keyFields))
}

func (del *Deletion) add(it *schema.Item, r *snapshot.Stored) *Change {
	ch := of(del.m, write.Delete, it, r)
	ch.expectStored()
	ch.index(del.m)
	if del.m.IsRoot(it) {
		del.Root = ch
		return ch
	}
	del.Rest = append(del.Rest, ch)
	return ch
}

// All returns the deletes, the root's last, so that remaining items can be found after a failure.
func (del *Deletion) All() []*Change {
	all := slices.Clone(del.Rest)
	if del.Root != nil {
		all = append(all, del.Root)
	}
	return all
}
