package protocol

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/save/write"
)

// Content is an entity as a program that knows both layouts reads it.
type Content struct {
	// Live reports that the collection is live, and read as usual. Expired reports that its time to
	// live has passed, so that it does not exist for readers.
	Live, Expired bool
	// Items are the entity's items if the collection is not live: those into which the monolith would
	// be split, or those of a collection that is rolled back. They have the form of live items. If
	// Items is nil and Live is false, the entity does not exist.
	Items map[string][]item.Attributes
	// Doc is the monolith that was read, if one was.
	Doc *Monolith
}

// Read reads an entity whose collection was not found live: strongly, the root and then the monolith,
// and both again where they say that there is nothing.
func (m *Mover) Read(ctx context.Context, root, doc item.Place, t *write.Tally) (*Content, error) {
	var before *Monolith
	for range tries {
		r, err := m.readRoot(ctx, root, t)
		if err != nil {
			return nil, err
		}
		if r.live() {
			return &Content{Live: true, Expired: m.Expired(&r)}, nil
		}
		var items map[string][]item.Attributes
		back := r.is(item.RollingBack) && r.From == item.Live
		if back { // before the monolith is read
			if items, err = m.shown(ctx, &r, t); err != nil {
				return nil, err
			}
		}
		d, err := m.Monolith(ctx, doc, t)
		switch {
		case err != nil:
			return nil, err
		case d.Unmarked(), (r.is(item.Migrating) || r.is(item.RollingBack) && !back) && r.Has(d.Mark()):
			items, err := m.asItems(d)
			return &Content{Items: items, Doc: d}, err
		case back && items != nil:
			reread, err := m.readRoot(ctx, root, t)
			if err != nil {
				return nil, err
			}
			// nothing was removed before that
			if reread.is(item.RollingBack) && attr.Same(reread.By, r.By) && reread.From == item.Live {
				return &Content{Items: items, Doc: d}, nil
			}
		case before != nil && attr.SameItem(before.Attributes, d.Attributes):
			return &Content{Doc: d}, nil
		}
		before = d
	}
	return nil, &Conflict{root, "another writer changed the entity each time: load it again"}
}

// shown are the items of a collection that is rolled back, as they were when it was live; nil where it
// was not whole any more.
func (m *Mover) shown(ctx context.Context, r *Root, t *write.Tally) (map[string][]item.Attributes, error) {
	all, err := m.Items(ctx, r.Place, t)
	if err != nil {
		return nil, err
	}
	items := map[string][]item.Attributes{}
	found := false
	for _, s := range all {
		if s.Place == r.Place {
			found = attr.Same(m.Layout.Reserved.Header(s.Attributes).Incarnation, r.Incarnation)
		} else if !r.Belongs(s.Attributes) {
			continue
		}
		a := attr.CopyItem(s.Attributes)
		delete(a, m.Layout.Reserved.StateName())
		items[s.Place.Table.Name] = append(items[s.Place.Table.Name], a)
	}
	if !found {
		return nil, nil
	}
	return items, nil
}

// asItems are the items that a monolith would be split into.
func (m *Mover) asItems(d *Monolith) (map[string][]item.Attributes, error) {
	c, err := m.splitOf(d)
	if err != nil {
		return nil, err
	}
	items := map[string][]item.Attributes{}
	for _, it := range c.Items {
		at := m.place(it)
		a := attr.CopyItem(it.Attributes)
		for name, v := range at.Key() {
			a[name] = v
		}
		items[at.Table.Name] = append(items[at.Table.Name], a)
	}
	return items, nil
}

// Expired reports whether the time to live of a root is over.
func (m *Mover) Expired(r *Root) bool {
	return item.Reserved{TTL: m.Layout.TTL}.Expired(r.Attributes, m.Now())
}

// Live reads the root strongly, and reports whether it is live.
func (m *Mover) Live(ctx context.Context, root item.Place, t *write.Tally) (bool, error) {
	r, err := m.readRoot(ctx, root, t)
	return r.live(), err
}

// Root reads the root strongly.
func (m *Mover) Root(ctx context.Context, root item.Place, t *write.Tally) (Root, error) {
	return m.readRoot(ctx, root, t)
}

// Live reports whether the root exists and is live. SameAs reports whether another root is live, and of
// the same incarnation.
func (r *Root) Live() bool { return r.live() }

// SameAs is described at Live.
func (r *Root) SameAs(o *Root) bool {
	return r.live() && o.live() && attr.Same(r.Incarnation, o.Incarnation)
}

// Conflict returns the conflict with a rollback of the entity, nil for none.
func (r *Root) Conflict() error {
	if r.is(item.RollingBack) {
		return &Conflict{r.Place, r.Pending()}
	}
	return nil
}

// Contradicts returns the fault of the monolith of a moved entity, nil for none.
func (d *Monolith) Contradicts() error {
	switch {
	case d.Unmarked():
		return &Conflict{d.Place, "a program with the old layout wrote a monolith after the entity moved: both are " +
			"kept: stop that program, and keep one (itemize migrate settle -keep monolith or -keep collection)"}
	case d.Changed():
		return &Conflict{d.Place, changedSince}
	}
	return nil
}

// MarkDeleted marks a monolith that was not moved as deleted, if it is as it was read. It reports
// whether it was.
func (m *Mover) MarkDeleted(ctx context.Context, d *Monolith, t *write.Tally) (bool, error) {
	k := &Mark{Deleted: true, Hash: d.Hash()}
	r := m.docRequest(d, item.Assignment{Name: m.Layout.Reserved.MovedName(), Index: item.Unlisted, Value: k.value()})
	if len(d.Attributes) > write.MaxTerms-4 && r.Expect.Version == nil || r.Longest() > cost.MaxExpression ||
		r.NewSize > cost.MaxItem {
		return false, &Unmovable{fmt.Errorf("the monolith has %d attributes and %s, too large for a "+
			"condition on its whole content: delete it with the program that wrote it", len(d.Attributes),
			attr.Bytes(r.OldSize))}
	}
	o := m.one(ctx, r, d.Attributes, t)
	switch o.State {
	case write.Written:
		return true, nil
	case write.Rejected:
		return false, nil
	}
	return false, o.Err
}

// Discard deletes the claim under a root's key after the end of the migration, and its parts: the
// monolith can no longer be marked.
func (m *Mover) Discard(ctx context.Context, root *Root, t *write.Tally) error {
	if !root.is(item.Migrating) || m.Foreign(root.Attributes) {
		return nil
	}
	e := &Entity{m: m, at: root.Place, current: root.Attributes, token: root.Version}
	err := e.unclaim(ctx, append(slices.Clone(root.Took), root.Incarnation))
	t.AddAll([]write.Tally{e.t})
	if errors.Is(err, errRestart) {
		return nil
	}
	return err
}

// Finish moves the entity of a root and a monolith, or finishes a move that another program has begun,
// even if the monolith no longer exists. It reports whether the collection is live.
func (m *Mover) Finish(ctx context.Context, root, doc item.Place, t *write.Tally) (live bool, err error) {
	r, err := m.readRoot(ctx, root, t)
	if err != nil || r.live() {
		return r.live(), err
	}
	d, err := m.Monolith(ctx, doc, t)
	if err != nil || !d.There() && !r.there() {
		return false, err
	}
	e := &Entity{Doc: d, Root: root}
	if err := m.Move(ctx, []*Entity{e}, t); err != nil {
		return false, err
	}
	if e.Err != nil {
		return false, e.Err
	}
	return m.Live(ctx, root, t)
}
