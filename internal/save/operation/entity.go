package operation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/read/search"
	"github.com/itemize/itemize/internal/read/selection"
	"github.com/itemize/itemize/internal/read/snapshot"
	"github.com/itemize/itemize/internal/save/change"
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

// Unchanged reports whether a value is as it is stored. See change.Unchanged.
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

// noteUnresolved records that requests may have been applied or not. all are the requests that were
// sent with them: if the items of none of the requests tell whether they were applied, those of the
// others do. whole reports that the requests are all that a save writes.
func (e *Entity) noteUnresolved(keys snapshot.Keys, changes []*change.Change, requests, all []*write.Request,
	whole bool,
) *change.UnresolvedWrite {
	var evidence []*write.Request
	if !slices.ContainsFunc(requests, (*write.Request).IsIdentifiable) {
		for _, r := range all {
			if r.IsIdentifiable() {
				evidence = append(evidence, r)
			}
		}
	}
	d := change.NewUnresolvedWrite(e.Model, changes, requests, keys, evidence)
	d.Whole = whole && len(d.Changes) == len(changes)
	e.unresolved = append(e.unresolved, d)
	return d
}

// adopt applies an unresolved write that turned out to be stored.
func (e *Entity) adopt(d *change.UnresolvedWrite) {
	e.apply(d.Keys, d.Changes, change.Requests(d.Changes))
	e.unconfirmed.note(change.Requests(d.Changes))
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

// adoptStored applies the unresolved writes that the stored items of a refused step show. shown reports
// that a version or an incarnation shows each of them.
func (e *Entity) adoptStored(o *write.Outcome) (adopted, shown bool) {
	shown = true
	for i, r := range o.Requests {
		for d := e.adoptAt(r.Place, o.Stored[i]); d != nil; d = e.adoptAt(r.Place, o.Stored[i]) {
			adopted, shown = true, shown && d.Shown
		}
	}
	return adopted, shown
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

// resolve finds out whether the unresolved writes were applied, the latest first. A write that was not applied stays
// unresolved until no copy of it can arrive any more.
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
	return env.moved(ctx, aDelete{e.Selection, missing, e.Root(), env.Blind}, t)
}

// takeOver records a root item that another writer's staged write left pending, so that the next plan
// replaces it. It reports whether there is one.
func (e *Entity) takeOver(o *write.Outcome) bool {
	for i, r := range o.Requests {
		if !r.Root || !r.New || o.Stored[i] == nil {
			continue
		}
		if h := r.Reserved.Header(o.Stored[i]); !h.Live() && !h.Moving() && !e.HiddenAt(r.Place).Is(h) {
			e.Hide(r.Place, r.Reserved.HiddenOf(o.Stored[i]))
			return true
		}
	}
	return false
}

// refused finds out why requests of an entity were refused. The cause may be the root item of another
// writer's pending insert or delete. It may be leftover items, which the next plan replaces. Otherwise
// it is a conflict.
func (e *Entity) refused(ctx context.Context, env *Env, keys snapshot.Keys, o *write.Outcome, t *Tally) (retry bool,
	err error,
) {
	refusal := conflict(env, keys, o, e.Fresh)
	var exists *Exists
	if errors.As(refusal, &exists) {
		if !e.takeOver(o) {
			return false, refusal
		}
		exists.Pending = "another writer keeps inserting or deleting it: insert again"
		return true, &exists.Conflict
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

// conflict returns the error of requests whose conditions failed: an Exists if the root item of a new
// entity exists, else a Conflict. fresh reports that the entity is new.
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
