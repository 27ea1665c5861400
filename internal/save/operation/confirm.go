package operation

import (
	"context"
	"errors"
	"fmt"
	"slices"

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

// An item that is added belongs to an entity only if the root item is live and has the same
// incarnation. The root item is read after the put: then the item was in the live entity at the time of
// that read. (If it is read before, or at the same time, the entity can be deleted between the two.) If
// the entity is not live, the operation deletes what it added and returns a NotFound. The specification
// is internal/save/staging/spec, clauses RootAfterPut and SweepsOwn.

// adds reports whether a plan has a step that puts new items without requiring the root item.
func adds(plan *write.Plan) bool {
	return plan.Mode != write.Staged &&
		slices.ContainsFunc(plan.Steps, func(st write.Step) bool { return len(unrooted(st.Requests)) > 0 })
}

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

// confirm reads the root item of an entity after items were added to it. live is false if the entity is
// missing, has another incarnation, or is being inserted or deleted. The error is an Unknown if the
// read failed.
func (env *Env) confirm(ctx context.Context, sel selection.Selection, incarnation types.AttributeValue,
	t *Tally,
) (root *item.Image, live bool, err error) {
	if root, err = env.readRoot(ctx, sel, t); err != nil {
		return nil, false, err
	}
	live = root != nil && staging.Pending(root) == "" && attr.Same(root.Header.Incarnation, incarnation)
	return root, live, nil
}

// takeBack deletes items that were added to an entity that is not live, or under keys that it does not have. root is
// its root item, nil for none. An item that another writer has changed since stays if it may be seen: if the root item
// may become live again, because its time to live can be extended or a migration is under way, or if it is live. Any
// other item with an incarnation is invisible, so that a failed delete does no harm. resolved is false if an item
// without an incarnation may still exist, or one that may be seen.
func (env *Env) takeBack(ctx context.Context, root *item.Image, added []*write.Request, t *Tally) (resolved bool) {
	seen := func(r *write.Request) bool {
		return attr.Same(root.Header.Incarnation, r.Reserved.Header(r.Added()).Incarnation)
	}
	exact := root != nil && (root.Expired || root.Header.Moving() || slices.ContainsFunc(added, seen))
	resolved = true
	for _, r := range added {
		made := r.Added()
		o := env.Sender.One(ctx, r.Undo(exact, env.Model.Entries(r.Item, r.Table.Name, made, nil)), &t.Tally)
		deleted := len(o.Stored) > 0 && o.Stored[0] != nil && len(o.Stored[0]) == 0 // another writer has deleted it
		removed := o.OK() || o.Refused() && (!exact || deleted)
		invisible := !exact && r.Reserved.Header(made).Incarnation != nil
		resolved = resolved && (removed || invisible)
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
	// blind reports that the program reads no root item.
	blind bool
}

// moved reports whether another writer may have moved an entity, so that an item which is missing was not deleted. It
// reads the root item, unless that is the one which is missing.
func (env *Env) moved(ctx context.Context, d aDelete, t *Tally) (bool, error) {
	sel, missing, loaded := d.sel, d.missing, d.loaded
	if missing.Root || d.blind || env.Model.CanReshard(sel.Identity) {
		return env.Model.CanReshard(sel.Identity), nil
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

// notLive returns the error of a write to an entity that is not live. cure says what to do if another
// entity of the key exists.
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

// pinned reports whether one of the requests of a step requires the root item.
func pinned(requests []*write.Request) bool {
	return slices.ContainsFunc(requests, func(r *write.Request) bool { return r.PinsEntity })
}

// writesUnpinned reports whether a plan has a step that does not require the root item.
func writesUnpinned(plan *write.Plan) bool {
	return plan.Mode != write.Staged &&
		slices.ContainsFunc(plan.Steps, func(st write.Step) bool { return !pinned(st.Requests) })
}

// unconfirmed are items that were added, or written with CheckRoot, and whose root item has not been read since.
type unconfirmed struct {
	added, written []*write.Request
	incarnation    types.AttributeValue
}

// noteWritten records items that were written with CheckRoot.
func (u *unconfirmed) noteWritten(requests []*write.Request, incarnation types.AttributeValue) {
	u.written = append(u.written, requests...)
	u.incarnation = incarnation
}

// note records the items that the requests of a step have added.
func (u *unconfirmed) note(requests []*write.Request) {
	for _, r := range unrooted(requests) {
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
	root, live, err := env.confirm(ctx, sel, e.unconfirmed.incarnation, t)
	if err != nil {
		return &Unknown{
			Label: env.Model.Label(), Items: written(slices.Concat(added, e.unconfirmed.written)),
			Err: fmt.Errorf("the items were written, but reading the root item afterwards failed: %w", err),
		}
	}
	var missing error
	if live {
		missing = env.allAgree(root, added)
	} else {
		missing = env.notLive(sel, root, "load the entity by its key")
	}
	if missing == nil {
		e.unconfirmed = unconfirmed{}
		return nil
	}
	resolved := env.takeBack(ctx, root, added, t)
	e.forget(added)
	e.unconfirmed.added = nil // items that were updated stay as they are: the next save confirms them again
	if !resolved {
		return &Unknown{Label: env.Model.Label(), Items: written(added), Err: missing}
	}
	return missing
}

// forget removes items from the snapshot.
func (e *Entity) forget(requests []*write.Request) {
	for _, r := range requests {
		e.Snapshot.Remove(r.Item, r.Place)
	}
}
