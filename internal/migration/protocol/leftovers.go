package protocol

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/save/write"
)

// Parts that were put for a claim remain if another program takes the claim over, or if the monolith
// was written before it was marked. No root will have their incarnation. A load of a part of the entity
// does not read the root, and would return them. So each call that has put or taken over such parts
// deletes them at its end. Verifications, rollbacks and contracts delete those of programs that died,
// and so do runs that find no root item.

// tidy deletes the parts that this call has put for claims that no longer exist, and those of the
// claims that it has taken over and replaced.
func (e *Entity) tidy(ctx context.Context) error {
	dead := e.claims
	if e.live != nil {
		dead = slices.DeleteFunc(slices.Concat(e.claims, e.took),
			func(a types.AttributeValue) bool { return attr.Same(a, e.live) })
	}
	if len(dead) == 0 {
		return nil
	}
	all, err := e.m.Items(ctx, e.at, &e.t)
	if err != nil {
		return err
	}
	root, err := e.m.readRoot(ctx, e.at, &e.t) // behind the items: a claim may still exist, for the next to take over
	if err != nil {
		return err
	}
	if root.is(item.Migrating) {
		dead = slices.DeleteFunc(slices.Clone(dead),
			func(a types.AttributeValue) bool { return attr.Same(a, root.Incarnation) || root.took(a) })
	}
	return e.m.clear(ctx, e.at, all, func(of types.AttributeValue) bool {
		return !attr.Same(of, root.Incarnation) &&
			slices.ContainsFunc(dead, func(a types.AttributeValue) bool { return attr.Same(a, of) })
	}, &e.t)
}

// Leftovers deletes the items of an entity that have another incarnation than its root, and than keep:
// those of claims that no longer exist, and of deleted entities. It deletes nothing while another
// program moves the entity, and no item without an incarnation, which belongs to another program.
func (m *Mover) Leftovers(ctx context.Context, at item.Place, keep types.AttributeValue, t *write.Tally) error {
	all, err := m.Items(ctx, at, t)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(all, func(s Stored) bool { return s.Place != at }) {
		return nil
	}
	// The root is read after the items. If it has another incarnation by then, or none, their entity no
	// longer exists.
	root, err := m.readRoot(ctx, at, t)
	// another program may have put the root item again
	if err != nil || root.there() && (!root.live() || root.Incarnation == nil) {
		return err
	}
	return m.clear(ctx, at, all, func(of types.AttributeValue) bool {
		return !attr.Same(of, keep) && !(root.there() && attr.Same(of, root.Incarnation))
	}, t)
}

// kept is the incarnation of an entity without a root whose other items are not leftover ones: a
// program that does not go through the library has removed the root. Nil where the time to live removes
// roots.
func (m *Mover) kept(k *Mark) types.AttributeValue {
	if k == nil || k.Deleted || m.Layout.RootExpires() {
		return nil
	}
	return k.Incarnation
}
