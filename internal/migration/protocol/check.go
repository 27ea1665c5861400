package protocol

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/migration/layout"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/save/write"
)

// State is the state of a monolith.
type State int

// The states. Moved is a collection that equals the moved monolith, and Written one that was written
// since.
const (
	Unmoved State = iota
	Moved
	Written
	Deleted
	Wrong
)

const rootMissing = "a program without this library removed the root item, but other items exist: both are kept: " +
	"put the root item back, or delete these items and the monolith"

// replaced describes an entity whose root item was written without an incarnation.
func (m *Mover) replaced() string {
	name := m.Layout.Reserved.IncarnationName()
	return fmt.Sprintf("another program wrote the root item without %[1]s, but items with %[1]s exist: add their "+
		"%[1]s to the root item, or delete these items", name)
}

// rootReplaced reports whether a live root has no incarnation, and another item of its collection has one.
func (m *Mover) rootReplaced(root *Root, all []Stored) bool {
	return root.live() && root.Incarnation == nil && slices.ContainsFunc(all, func(s Stored) bool {
		return s.Place != root.Place && m.Layout.Reserved.Header(s.Attributes).Incarnation != nil
	})
}

// Check compares a marked monolith with its collection, which is read strongly consistent. reason names
// the difference. It deletes the leftover items of unfinished moves of the entity.
func (m *Mover) Check(ctx context.Context, d *Monolith, t *write.Tally) (s State, reason string, err error) {
	k := d.Mark()
	switch {
	case d.Changed():
		return Wrong, changedSince, nil
	}
	at, err := m.RootOf(d)
	switch {
	case err != nil && k.Deleted:
		return Deleted, "", nil // it could not have been moved
	case err != nil:
		return Wrong, err.Error(), nil
	}
	all, err := m.Items(ctx, at, t)
	if err != nil {
		return 0, "", err
	}
	var root Root
	for _, s := range all {
		if s.Place == at {
			root = m.root(at, s.Attributes)
		}
	}
	of := func(s Stored) types.AttributeValue { return m.Layout.Reserved.Header(s.Attributes).Incarnation }
	if !root.there() || root.live() && root.Incarnation != nil {
		keep := m.kept(k)
		if root.there() {
			keep = nil
		}
		left := func(s Stored) bool {
			return s.Place != at && of(s) != nil && !root.Belongs(s.Attributes) && !attr.Same(of(s), keep)
		}
		if slices.ContainsFunc(all, left) {
			if err := m.Leftovers(ctx, at, keep, t); err != nil {
				return 0, "", err
			}
		}
	}
	switch {
	case !root.there():
		if keep := m.kept(k); keep != nil &&
			slices.ContainsFunc(all, func(s Stored) bool { return attr.Same(of(s), keep) }) {
			return Wrong, rootMissing, nil
		}
		return Deleted, "", nil
	case root.is(item.Deleting), k.Deleted:
		return Deleted, "", nil
	case !root.live():
		return Wrong, root.Pending(), nil
	case m.rootReplaced(&root, all):
		return Wrong, m.replaced(), nil
	}
	var items []*layout.Item
	var sum [item.TokenSize]byte
	for _, s := range all {
		if s.Place != at && !root.Belongs(s.Attributes) {
			continue
		}
		items = append(items, s.Item)
		add(&sum, m.Layout.Reserved.Header(s.Attributes).Version)
	}
	s, reason = m.compare(d, &root, items, sum)
	return s, reason, nil
}

// compare compares a monolith with the items of its live collection, whose versions have a sum.
func (m *Mover) compare(d *Monolith, root *Root, items []*layout.Item, sum [item.TokenSize]byte) (s State,
	reason string,
) {
	doc, err := m.Layout.Join(items)
	if err != nil {
		return Wrong, err.Error()
	}
	moved, err := m.Content(d)
	switch {
	case err != nil:
		return Wrong, err.Error()
	case layout.Same(doc, moved):
		return Moved, ""
	}
	if attr.Same(root.Incarnation, d.Mark().Incarnation) && !d.Mark().Resolved &&
		bytes.Equal(m.sumOf(root.Attributes), sum[:]) {
		return Wrong, "its collection differs from the monolith, though no program has written it since it moved: " +
			"roll it back, and report this bug"
	}
	if _, err := m.Layout.Split(doc); err != nil {
		return Wrong, fmt.Sprintf("its collection was written since it moved, and is incomplete: %v", err)
	}
	return Written, ""
}

// sumOf is the sum of the items' versions when the entity moved.
func (m *Mover) sumOf(root item.Attributes) []byte {
	sum, _ := m.notedOn(root)
	return sum
}

// notedOn returns the root's record of its move: the sum, and the migration, nil if there is none.
func (m *Mover) notedOn(root item.Attributes) (sum, origin []byte) {
	note, ok := root[m.Layout.Reserved.MovedName()].(*types.AttributeValueMemberM)
	if !ok {
		return nil, nil
	}
	b, ok := note.Value[m.Layout.Version].(*types.AttributeValueMemberB)
	switch {
	case !ok:
		return nil, nil
	case len(b.Value) > item.TokenSize:
		return b.Value[:item.TokenSize], b.Value[item.TokenSize:]
	}
	return b.Value, nil
}

// origin identifies one of several migrations into a table: it is computed from the name of the source.
func (m *Mover) origin() []byte {
	sum := sha256.Sum256([]byte(m.Source.Name))
	return sum[:item.TokenSize]
}

// Own reports whether a root was put by the migration of this source.
func (m *Mover) Own(root item.Attributes) bool {
	_, origin := m.notedOn(root)
	return bytes.Equal(origin, m.origin())
}

// Foreign reports whether a root was put by the migration of another source.
func (m *Mover) Foreign(root item.Attributes) bool {
	origin := m.Layout.Reserved.Header(root).ReadStage().Origin
	if origin == nil {
		_, origin = m.notedOn(root)
	}
	return origin != nil && !bytes.Equal(origin, m.origin())
}
