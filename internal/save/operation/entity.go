package operation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/read/search"
	"github.com/itemize/itemize/internal/read/selection"
	"github.com/itemize/itemize/internal/read/snapshot"
	"github.com/itemize/itemize/internal/save/change"
	"github.com/itemize/itemize/internal/save/staging"
	"github.com/itemize/itemize/internal/save/write"
)

// Entity is the state of one entity in memory: the snapshot of its items, and the writes of which it is
// not known whether they were applied. One operation at a time may use it.
type Entity struct {
	*snapshot.Snapshot
	// unresolved are writes of this entity without an answer.
	unresolved change.UnresolvedWrites
	// moved are the moves whose old keys were not searched for items of other writers.
	moved []*change.Diff
	// unconfirmed are items that were added, and whose root item has not been read since.
	unconfirmed unconfirmed
	// remembered are transactions of this entity with patches or raw requests without an answer.
	remembered []*remembered
	// tag is the token that the entity was compared with by its last save, "" for none.
	tag string
}

// Remember has the mapper remember the incarnation of a loaded entity.
func (env *Env) Remember(s *snapshot.Snapshot) {
	if root := s.Root(); root != nil {
		env.Incarnations.Put(root.Place, root.Header.Incarnation)
	}
}

// isUnresolved reports whether the entity has unresolved writes.
func (e *Entity) isUnresolved() bool { return e != nil && len(e.unresolved) > 0 }

// Unchanged reports whether a value is as it is stored (change.Unchanged).
func (e *Entity) Unchanged(v any) bool { return change.Unchanged(e.Snapshot, e.unresolved, v) }

// Reset forgets all items: the entity is new.
func (e *Entity) Reset() {
	e.Snapshot.Reset()
	e.moved, e.unconfirmed = nil, unconfirmed{}
}

// apply records requests that were applied, with the changes that they were made from.
func (e *Entity) apply(keys snapshot.Keys, changes []*change.Change, requests []*write.Request) {
	change.Settle(e.Model, changes, requests)
	effects := change.Effects(changes, requests)
	if len(e.unresolved) > 0 {
		e.unresolved = e.unresolved.Overwritten(effects)
	}
	e.Apply(keys, effects)
}

// adopt applies an unresolved write that turned out to be stored.
func (e *Entity) adopt(d *change.UnresolvedWrite) {
	e.apply(d.Keys, d.Changes, change.Requests(d.Changes))
	e.unconfirmed.note(unrooted(change.Requests(d.Changes)))
	if d.Move != nil {
		e.moved = append(e.moved, d.Move)
	}
	if d.Whole {
		e.Arrive(d.Keys)
	}
	left := func(all []*snapshot.Stored) bool { return len(all) > 0 }
	if !e.Fresh && e.Selection.Whole && !slices.ContainsFunc(e.Items, left) {
		e.Reset() // the entity was deleted
	}
}

// adoptStored applies the unresolved writes that the stored items of a refused step show.
func (e *Entity) adoptStored(o *write.Outcome) (found finding) {
	for i, r := range o.Requests {
		for d := e.adoptAt(r.Place, o.Stored[i]); d != nil; d = e.adoptAt(r.Place, o.Stored[i]) {
			if found = max(found, foundVersion); !d.Shown {
				found = foundAbsence
			}
		}
	}
	return found
}

// adoptAt applies the latest unresolved write that one stored item shows, and returns it, or nil.
func (e *Entity) adoptAt(at item.Place, stored item.Attributes) *change.UnresolvedWrite {
	d := e.unresolved.FindApplied(at, stored)
	if d != nil {
		e.adopt(d)
		e.unresolved = e.unresolved.Without(d)
	}
	return d
}

// resolve finds out whether the unresolved writes were applied, the latest first.
func (e *Entity) resolve(ctx context.Context, env *Env, t *Tally) error {
	for _, d := range slices.Backward(slices.Clone(e.unresolved)) {
		if !slices.Contains(e.unresolved, d) {
			continue // resolved together with a later one
		}
		applied, err := d.Applied(func(r *write.Request) (item.Attributes, error) {
			return env.Sender.Stored(ctx, r, &t.Tally)
		})
		late := e.Model.Now().Sub(d.Since) > change.Lateness
		if applied && !d.Shown {
			var moved bool
			if moved, err = e.movedBefore(ctx, env, d, t); moved {
				if applied = false; !late {
					err = cmp.Or(err, errMoved)
				}
			}
		}
		switch {
		case err != nil:
			return &Unknown{Label: e.Model.Label(), Items: change.UnresolvedWrites{d}.Places(), Err: err}
		case applied:
			e.adopt(d)
		// a write that was not applied stays unresolved until no copy of it can arrive any more
		case late:
			e.unresolved = e.unresolved.Without(d)
		}
	}
	return nil
}

// movedBefore reports whether another writer may have moved the entity, so that the missing items of a write do not
// show that it has deleted them.
func (e *Entity) movedBefore(ctx context.Context, env *Env, d *change.UnresolvedWrite, t *Tally) (bool, error) {
	var missing *write.Request
	for _, ch := range d.Changes {
		if ch.Kind == write.Delete && (missing == nil || ch.Root) {
			missing = &ch.Request
		}
	}
	if missing == nil {
		return false, nil
	}
	return env.moved(ctx, aDelete{e.Selection, missing, e.Root(), env.Blind, false}, t)
}

// refused returns the conflict of an entity, and reports whether its cause is a pending insert or delete, or leftover
// items, which the next plan replaces.
func (e *Entity) refused(ctx context.Context, env *Env, keys snapshot.Keys, o *write.Outcome, t *Tally) (retry bool,
	err error,
) {
	refusal := conflict(env, keys, o, e.Fresh)
	var exists *Exists
	if errors.As(refusal, &exists) {
		for i, r := range o.Requests {
			if !r.Root || !r.New || o.Stored[i] == nil {
				continue
			}
			if h := r.Reserved.Header(o.Stored[i]); !h.Live() && !h.Moving() && !e.HiddenAt(r.Place).Is(h) {
				e.Hide(r.Place, r.Reserved.HiddenOf(o.Stored[i]))
				exists.Pending = "another writer keeps inserting or deleting it: insert again"
				return true, &exists.Conflict
			}
		}
		return false, refusal
	}
	of, err := search.EntityOf(env.Model, selection.Selection{Identity: env.Model.Identity(keys.KeyFields)})
	if err != nil {
		return false, env.fault(err)
	}
	leftover, err := env.Protocol.Dead(ctx, of, o, e.HiddenAt, &t.Tally)
	if err != nil {
		return false, err
	}
	for i, h := range leftover {
		e.Hide(o.Requests[i].Place, h)
	}
	return len(leftover) > 0, refusal
}

// expiredLately says that an item which blocks an insert has expired, but not by every writer's clock, "" for another
// item.
func expiredLately(names item.Reserved, stored item.Attributes, now time.Time) string {
	if !names.Expired(stored, now) || names.Replaceable(stored, now) {
		return ""
	}
	return fmt.Sprintf(
		"its time to live ended less than %s ago by this clock, and the clocks of other writers may differ: "+
			"insert it later, or set mapper.ExpiryMargin",
		names.Margin,
	)
}

// conflict returns the error of requests whose conditions failed: an Exists if the root item of a new entity exists.
func conflict(env *Env, keys snapshot.Keys, o *write.Outcome, fresh bool) error {
	c := Conflict{Label: env.Model.Label(), Insert: fresh}
	exists := false
	for i, r := range o.Requests {
		if o.Stored[i] == nil {
			continue
		}
		what := change.Changed
		switch {
		case r.New:
			what = change.Created
		case len(o.Stored[i]) == 0:
			what = change.Deleted
		}
		c.Items = append(c.Items, ItemConflict{Place: r.Place, Field: r.Field, What: what})
		exists = exists || r.Root && r.New
		if r.New {
			c.Pending = cmp.Or(expiredLately(r.Reserved, o.Stored[i], env.Model.Now()), c.Pending)
		}
		if r.Kind == write.Check && r.Unread && len(o.Stored[i]) > 0 && r.Reserved.Header(o.Stored[i]).Live() &&
			!attr.Same(r.Reserved.Header(o.Stored[i]).Incarnation, r.OfEntity) {
			c.Pending = "the loaded items belong to an entity that was deleted: load the entity by its key"
		}
	}
	if exists {
		return &Exists{env.Model.EntityName(keys.KeyFields[:env.Model.Schema.Identities()]), c} // on any shard
	}
	return &c
}

// An item that is added belongs to an entity only if the root item is live and has the same
// incarnation. The root item is read after the put: then the item was in the live entity at the time of
// that read. (If it is read before, or at the same time, the entity can be deleted between the two.) If
// the entity is not live, the operation deletes what it added and returns a NotFound. The specification
// is internal/save/staging/spec, clauses RootAfterPut and SweepsOwn.

// unrooted returns those of the requests of a step that put a new item: none if one of them requires the root item.
func unrooted(requests []*write.Request) []*write.Request {
	var all []*write.Request
	for _, r := range requests {
		switch {
		case r.PinsEntity:
			return nil
		case r.New && r.Kind != write.Check && !r.Root:
			all = append(all, r)
		}
	}
	return all
}

// takeBack deletes items that were added without a live root item, or under keys that the entity does not have;
// resolved reports that none of them will be seen.
func (env *Env) takeBack(ctx context.Context, root *item.Image, added []*write.Request, t *Tally) (resolved bool) {
	incarnation := func(r *write.Request) types.AttributeValue { return r.Reserved.Header(r.Added()).Incarnation }
	ofRoot := func(r *write.Request) bool { return attr.Same(root.Header.Incarnation, incarnation(r)) }
	// The items may be seen if their root item is live, or can become live again: its time to live can be extended, or
	// a migration is under way. Then an item that another writer has changed since stays.
	visible := root != nil && (root.Expired || root.Header.Moving() || slices.ContainsFunc(added, ofRoot))
	resolved = true
	for _, r := range added {
		o := env.Sender.One(ctx, r.Undo(visible, env.Model.Entries(r.Item, r.Table.Name, r.Added(), nil)), &t.Tally)
		missing := len(o.Stored) > 0 && o.Stored[0] != nil && len(o.Stored[0]) == 0 // another writer has deleted it
		switch {
		case o.OK(), o.State == write.Rejected && (missing || !visible):
		case !visible && incarnation(r) != nil: // a leftover item
		default:
			resolved = false
		}
	}
	return resolved
}

// agree returns a Conflict if the key of an item has another value of a field than the root item.
func (env *Env) agree(root, f *item.Image) error {
	m := env.Model
	first := m.Schema.Identities()
	if f.Kind == nil || len(m.Schema.KeyFields) == first {
		return nil
	}
	stored := snapshot.KeyFieldsOf(m, []item.Image{*root})
	for o := first; o < len(stored); o++ {
		only := make([]key.Value, len(stored))
		if only[o] = stored[o]; !m.Agrees(f, only) {
			at := ItemConflict{Place: root.Place, Field: m.Schema.KeyFields[o].Name, What: change.Changed}
			return &Conflict{
				Label: m.Label(), Items: []ItemConflict{at},
				Pending: "keys of added items name the field: load the entity again",
			}
		}
	}
	return nil
}

// allAgree is agree for the items of requests.
func (env *Env) allAgree(root *item.Image, requests []*write.Request) error {
	if len(env.Model.Schema.KeyFields) == env.Model.Schema.Identities() {
		return nil
	}
	for _, r := range requests {
		f, err := env.Model.Image(r.Table, r.Added())
		if err == nil {
			err = env.agree(root, &f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// refusing returns the root item of the entity if it is among the items that have refused requests, as it is now.
func (p *save) refusing(o *write.Outcome, live types.AttributeValue) *item.Image {
	for i, r := range o.Requests {
		if !r.Root || r.New || len(o.Stored[i]) == 0 {
			continue
		}
		f, err := p.env.Model.Image(r.Table, o.Stored[i])
		if err == nil && f.Header.Live() && attr.Same(f.Header.Incarnation, live) {
			return &f
		}
	}
	return nil
}

// aDelete is a delete without an answer, whose item is missing.
type aDelete struct {
	sel     selection.Selection
	missing *write.Request
	// loaded is the root item as the snapshot has it, nil for none: the elements may have moved away and back since.
	loaded *snapshot.Stored
	// blind reports that the program reads no root item, and sought that the entity may live under another key, too.
	blind, sought bool
}

// moved reports, by the root item, whether another writer may have moved an entity, so that a missing item was not
// deleted.
func (env *Env) moved(ctx context.Context, d aDelete, t *Tally) (bool, error) {
	sel, missing, loaded := d.sel, d.missing, d.loaded
	if missing.Root || d.blind || env.Model.CanReshard(sel.Identity) {
		return d.sought || env.Model.CanReshard(sel.Identity), nil
	}
	root, err := env.readRoot(ctx, sel, t)
	if err != nil || root == nil || staging.Pending(root) != "" {
		return true, err
	}
	own := missing.Header.Incarnation
	if own != nil && !attr.Same(root.Header.Incarnation, own) {
		return true, nil
	}
	fields, named := env.Model.Schema, false
	for o := fields.Identities(); o < len(fields.KeyFields); o++ {
		if missing.Item == nil || !missing.Item.Names(o) {
			continue
		}
		if it := fields.KeyFields[o].Item; it != nil && it != env.Model.Root() {
			return true, nil // the root item does not show it
		}
		named = true
	}
	unchanged := loaded != nil && loaded.Header.Version != nil && attr.Same(loaded.Header.Version, root.Header.Version)
	switch {
	case !named || unchanged:
		return false, nil
	case env.allAgree(root, []*write.Request{missing}) != nil:
		return true, nil
	}
	// The item was missing while the root item was as it is, if it is so before and after.
	stored, err := env.Sender.Stored(ctx, missing, &t.Tally)
	if err != nil || len(stored) > 0 {
		return true, err
	}
	again, err := env.readRoot(ctx, sel, t)
	return again == nil || !attr.SameItem(root.Attributes(), again.Attributes()), err
}

// notLive returns the error of a write to an entity that is not live, with a cure if its key has another one.
func (env *Env) notLive(sel selection.Selection, root *item.Image, cure string) error {
	if err := env.Search.RootThere(sel, root); err != nil {
		return env.fault(err)
	}
	// The root item is that of another incarnation.
	err := env.Search.RootThere(sel, nil)
	var missing *search.NotFound
	if errors.As(err, &missing) {
		missing.Replaced, missing.Pending = true, "it was deleted and inserted again: "+cure
	}
	return env.fault(err)
}

// unconfirmed are items that were added, or written with CheckRoot, and whose root item has not been read since.
type unconfirmed struct {
	added, written []*write.Request
	incarnation    types.AttributeValue
}

// note records items that requests have added.
func (u *unconfirmed) note(added []*write.Request) {
	for _, r := range added {
		u.added = append(u.added, r)
		u.incarnation = r.Reserved.Header(r.Put).Incarnation
	}
}

// confirm reads the root item of an entity to which items were added, and takes them back if it is not live.
func (e *Entity) confirm(ctx context.Context, env *Env, sel selection.Selection, t *Tally) error {
	added := e.unconfirmed.added
	if len(added)+len(e.unconfirmed.written) == 0 {
		return nil
	}
	root, err := env.readRoot(ctx, sel, t)
	if err != nil {
		return &Unknown{
			Label: env.Model.Label(), Items: written(slices.Concat(added, e.unconfirmed.written)),
			Err: fmt.Errorf("the items were written, but reading the root item afterwards failed: %w", err),
		}
	}
	var missing error
	own := e.unconfirmed.incarnation
	if root != nil && staging.Pending(root) == "" && attr.Same(root.Header.Incarnation, own) {
		missing = env.allAgree(root, added)
	} else {
		missing = env.notLive(sel, root, "load the entity by its key")
	}
	if missing == nil {
		e.unconfirmed = unconfirmed{}
		return nil
	}
	resolved := env.takeBack(ctx, root, added, t)
	for _, r := range added {
		e.Snapshot.Remove(r.Item, r.Place)
	}
	e.unconfirmed.added = nil // items that were updated stay as they are: the next save confirms them again
	if !resolved {
		return &Unknown{Label: env.Model.Label(), Items: written(added), Err: missing}
	}
	return missing
}
