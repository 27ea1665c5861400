package mapper

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/attr"
	"github.com/itemize/itemize/internal/key"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/schema"
	"github.com/itemize/itemize/internal/selection"
)

// deletion is a delete of one entity's items.
type deletion struct {
	c        *core
	spec     selection.Selection
	settings writeSettings
	t        *tally
	// d holds the keys, for messages and for what is in doubt.
	d *diff
	// root is the root's delete, nil where it is not selected; rest the others.
	root *change
	rest []*change
}

// delete deletes a selection. st is its state where it is a loaded entity.
func (c *core) delete(ctx context.Context, spec selection.Selection, st *state, settings writeSettings, t *tally) error {
	if err := c.deletable(settings); err != nil {
		return err
	}
	if st != nil {
		if err := c.resolve(ctx, st, t); err != nil {
			return err
		}
		spec = st.spec
	}
	del := &deletion{c: c, spec: spec, settings: settings, t: t}
	if err := del.check(); err != nil {
		return err
	}
	if st != nil {
		return del.loaded(ctx, st)
	}
	if p := spec.Parts[0]; len(spec.Parts) == 1 && p.Range.Kind == selection.One && !spec.Whole {
		return del.one(ctx, p)
	}
	// What is there is read first. If it changes meanwhile, it is read again.
	return c.repeat(ctx, func() error {
		if err := del.read(ctx); err != nil {
			return err
		}
		return del.send(ctx, c.scratch(del.d))
	})
}

// deletable refuses options that contradict each other or a delete.
func (c *core) deletable(s writeSettings) error {
	refuse := func(text string) error { return fmt.Errorf("%s: %s", c.schema.Label(), text) }
	switch {
	case s.independent && s.staged:
		return refuse("Independent and Staged exclude each other: choose one")
	case s.staged && s.exactlyOnce:
		return refuse("Staged and ExactlyOnce exclude each other: choose one")
	case s.move, s.checkLoaded:
		return refuse("Move and CheckLoaded mean nothing for a delete: leave them out")
	}
	return nil
}

// check refuses selections that cannot be deleted.
func (del *deletion) check() error {
	c := del.c
	refuse := func(text string) error { return fmt.Errorf("%s: %s", c.schema.Label(), text) }
	switch {
	case del.spec.Err != nil:
		return del.spec.Err
	case !del.spec.Entity:
		return refuse("the key selects several entities: give all of " + identityNames(c.schema) + " to delete one")
	}
	del.d = &diff{c: c, keyFields: del.spec.Identity}
	var err error
	if del.d.pk, err = c.partitionKey(del.spec.Identity); err != nil {
		return err
	}
	root, err := c.rootPlace(del.spec.Identity)
	if err != nil {
		return err
	}
	if del.settings.staged && !del.spec.Whole {
		return refuse("Staged deletes a whole entity: select it by its key")
	}
	if !del.spec.Whole && del.spec.Contains(root.table, root.sk) {
		return refuse("the selection includes the root without being the whole entity, whose other items would be left over: select the entity by its key, or leave the root out")
	}
	return nil
}

// one deletes a single item, whatever it holds.
func (del *deletion) one(ctx context.Context, p selection.Part) error {
	c := del.c
	it, values := c.schema.Match(p.Table, p.Range.Low)
	if it == nil {
		return fmt.Errorf("%s: the sort key %s matches no field: items that the model does not know are not deleted", c.schema.Label(), p.Range.Low)
	}
	if !c.owned(&state{spec: del.spec}, &read.Found{Kind: it, Values: values}) {
		return fmt.Errorf("%s: the sort key %s is that of another entity than %s: select it by its own key", c.schema.Label(), p.Range.Low, c.entityName(del.spec.Identity))
	}
	ch := &change{place: place{p.Table, p.PK, p.Range.Low}, kind: KindDelete, item: it, unread: true}
	del.t.mode = ModeOne
	if del.settings.exactlyOnce {
		return c.transact(ctx, c.scratch(del.d), del.d, []*change{ch}, del.t)
	}
	return c.single(ctx, c.scratch(del.d), del.d, ch, del.t)
}

// loaded deletes the items of an entity as they were loaded. The entity can be
// saved again afterwards, which inserts it.
func (del *deletion) loaded(ctx context.Context, st *state) error {
	c := del.c
	if st.fresh {
		if len(st.doubts) > 0 {
			return c.inDoubt(st.doubts, errLate)
		}
		return fmt.Errorf("%s: the entity was never stored: there is nothing to delete", c.schema.Label())
	}
	del.take(st)
	if late := st.late(del.all()); len(late) > 0 {
		return c.inDoubt(late, errLate)
	}
	if err := del.send(ctx, st); err != nil {
		return del.gone(err)
	}
	if del.spec.Whole {
		*st = state{core: c, spec: st.spec, fresh: true, old: c.codec.New(), rows: make([][]*row, len(c.schema.Items))}
	}
	return nil
}

// gone makes a conflict with somebody who has deleted the whole entity ErrNotFound.
func (del *deletion) gone(err error) error {
	var conflict *ConflictError
	if !errors.As(err, &conflict) || !del.spec.Whole || len(conflict.Items) < len(del.all()) {
		return err
	}
	for _, it := range conflict.Items {
		if it.Conflict != ConflictDeleted {
			return err
		}
	}
	return &notFoundError{model: del.c.schema.Label(), key: del.c.entityName(del.spec.Identity)}
}

// take adds the deletes of a state's items.
func (del *deletion) take(st *state) {
	for i, rows := range st.rows {
		for _, r := range rows {
			del.add(del.c.schema.Items[i], r)
		}
	}
	for at, g := range st.ghosts {
		if it, _ := del.c.schema.Match(at.table, at.sk); it != nil && g.row != nil {
			del.add(it, g.row)
		}
	}
}

// staged reports whether deletes are staged: where that is asked for, or they do not fit a
// transaction.
func (del *deletion) staged(all []*change) bool {
	s := del.settings
	return del.root != nil && (s.staged || !del.c.fits(all) && !s.independent && !s.exactlyOnce)
}

func (del *deletion) add(it *schema.Item, r *row) {
	ch := &change{place: r.place, kind: KindDelete, item: it, row: r, oldSize: r.size}
	if it == del.c.schema.Root {
		del.root = ch
		return
	}
	del.rest = append(del.rest, ch)
}

// read finds out what is there, strongly consistently.
func (del *deletion) read(ctx context.Context) error {
	c := del.c
	found, err := c.collect(ctx, del.spec, read.Options{Strong: true}, del.t)
	if err != nil {
		return err
	}
	del.root, del.rest = nil, nil
	s := &state{spec: del.spec}
	var root *read.Found
	known := c.told(found)
	for i := range found {
		f := &found[i]
		if f.Kind == nil || !c.owned(s, f) || f.Attempt == nil && !c.ownedBy(known, f) {
			continue
		}
		if f.Kind == c.schema.Root {
			root = f
		}
		del.add(f.Kind, c.rowOf(f))
	}
	if !del.spec.Whole {
		return nil
	}
	if root != nil {
		if st, staged := readStage(root.Item); staged && st.state == deleting {
			del.settings.staged = true // somebody has begun, and this finishes it
			return nil
		}
	}
	if root == nil && len(del.rest) > 0 {
		return nil // left over from an entity: there is something to delete
	}
	return c.rootThere(&del.spec, root)
}

// told returns the values of the owner's fields that keys name, as far as the items
// of singletons hold them: by index, with the zero Value for one that is not known.
func (c *core) told(found []read.Found) []key.Value {
	v := c.codec.New()
	there := map[*schema.Item]bool{}
	for i := range found {
		f := &found[i]
		if f.Kind != nil && !f.Kind.Element() {
			// An item that cannot be decoded tells nothing, and is deleted all the same.
			there[f.Kind] = c.decodeItem(f, v, c.rowOf(f)) == nil
		}
	}
	known := make([]key.Value, len(c.schema.KeyFields))
	for i := c.schema.Identities(); i < len(known); i++ {
		if there[c.schema.KeyFields[i].Item] {
			known[i], _ = c.codec.KeyField(v, i)
		}
	}
	return known
}

// ownedBy reports whether an item's key agrees with the values that are known.
func (c *core) ownedBy(known []key.Value, f *read.Found) bool {
	if f.Kind.Key == nil {
		return true
	}
	for i, src := range f.Kind.Key.Sources {
		if src.From == schema.FromModel && known[src.KeyField].Kind != key.None && !c.sameInKey(f.Kind.Key, i, f.Values[i], known[src.KeyField]) {
			return false
		}
	}
	return true
}

// all are the deletes, the root's last, so that what is left is found.
func (del *deletion) all() []*change {
	all := slices.Clone(del.rest)
	if del.root != nil {
		all = append(all, del.root)
	}
	return all
}

// send sends the deletes the way that the settings and their number ask for.
func (del *deletion) send(ctx context.Context, s *state) error {
	c := del.c
	all := del.all()
	steps := []step{{changes: all, transact: true}}
	switch {
	case len(all) == 0:
		del.t.mode = ModeNothing
		return nil
	case del.staged(all):
		return del.stage(ctx, s)
	case len(all) == 1:
		del.t.mode = ModeOne
		steps[0].transact = del.settings.exactlyOnce
	case del.settings.independent:
		del.t.mode = ModeIndependent
		steps = nil
		for _, ch := range all {
			steps = append(steps, step{changes: []*change{ch}, transact: del.settings.exactlyOnce})
		}
	case c.fits(all):
		del.t.mode = ModeTransaction
	default:
		return c.tooMany(all)
	}
	return c.steps(ctx, s, del.d, steps, del.t, func(changes []*change) { c.settleDeletes(s, changes) })
}

// settleDeletes forgets the rows of deleted items.
func (c *core) settleDeletes(s *state, changes []*change) {
	for _, ch := range changes {
		i := ch.item.Index
		if slices.Contains(s.rows[i], ch.row) {
			c.settle(s, arrival{}, []*change{ch})
		}
		delete(s.ghosts, ch.place)
	}
}

// stage deletes an entity of any size: the root is marked, which makes the entity
// not found; then the others go, and then the root. A delete that was begun, by this
// program or another, is finished.
func (del *deletion) stage(ctx context.Context, s *state) error {
	c, t := del.c, del.t
	t.mode = ModeStaged
	root := del.root.row
	st, begun := readStage(read.Item{schema.State: root.stage})
	if !begun || st.state != deleting {
		mark := del.mark()
		c.prepare(mark)
		if err := c.single(ctx, s, del.d, mark, t); err != nil {
			return err
		}
		root = &row{place: mark.place, version: mark.token, size: mark.newSize, stage: mark.attributes[0].value}
		c.settle(s, arrival{}, []*change{mark}) // so that it can be repeated
		st, _ = readStage(read.Item{schema.State: root.stage})
	}
	still := func(ctx context.Context, t *tally) error { return del.stillOurs(ctx, st, t) }
	err := c.deleteAll(ctx, del.d, del.rest, still, t)
	if err == nil {
		last := &change{place: root.place, kind: KindDelete, item: del.root.item, oldSize: root.size}
		last.row = &row{place: root.place, version: root.version, raw: read.Item{schema.State: root.stage}}
		err = c.single(ctx, c.scratch(del.d), del.d, last, t)
	}
	var conflict *ConflictError
	switch {
	case errors.As(err, &conflict), errors.Is(err, errTakenOver):
		return nil // it was finished by somebody else, or taken over by an insert
	case err != nil:
		return del.begun(err)
	}
	return nil
}

// mark returns the update that makes the root not live.
func (del *deletion) mark() *change {
	c := del.c
	value := c.newStage(deleting).value()
	mark := *del.root
	mark.kind = KindUpdate
	mark.attributes = []assignment{{schema.State, unknownIndex, value}}
	mark.newSize = mark.oldSize + cost.AttributeSize(schema.State, value)
	if was := mark.row.stage; was != nil {
		mark.newSize -= cost.AttributeSize(schema.State, was)
	}
	if c.schema.Version != "" && mark.row.version == nil {
		mark.newSize += len(c.schema.Version) + tokenSize
	}
	return &mark
}

// errTakenOver ends a staged delete whose root an insert has taken over: what is
// there now is the insert's.
var errTakenOver = errors.New("an insert has taken over")

// stillOurs returns errTakenOver where the root does not carry the delete's stage
// any more.
func (del *deletion) stillOurs(ctx context.Context, st stage, t *tally) error {
	root, err := del.c.readRoot(ctx, del.c.identity(del.d.keyFields), t)
	if err != nil {
		return err
	}
	if root != nil {
		if now, ok := readStage(root.Item); ok && attr.Same(now.attempt, st.attempt) {
			return nil
		}
	}
	return errTakenOver
}

// begun is the error of a staged delete that has begun and is not finished: the
// entity is not found any more.
func (del *deletion) begun(err error) error {
	e := &PartialError{Model: del.c.schema.Label(), Written: []Key{del.c.public(del.root.place)}, Err: err}
	for _, ch := range append(slices.Clone(del.rest), del.root) {
		e.Rest = append(e.Rest, del.c.public(ch.place))
	}
	return e
}

// deleteFound deletes items as they were read.
func (c *core) deleteFound(ctx context.Context, d *diff, found []read.Found, still func(context.Context, *tally) error, t *tally) error {
	var all []*change
	for i := range found {
		f := &found[i]
		all = append(all, &change{place: place{f.Table, f.PK, f.SK}, kind: KindDelete, item: f.Kind, row: c.rowOf(f), oldSize: f.Size})
	}
	return c.deleteAll(ctx, d, all, still, t)
}

// deleteAll deletes items of an entity that is not live any more, several at
// once. One that was written meanwhile is deleted as it is now, if still finds then
// that the entity is still the one to be deleted: what it holds later is conditional
// on what was seen before.
func (c *core) deleteAll(ctx context.Context, d *diff, all []*change, still func(context.Context, *tally) error, t *tally) error {
	tallies := make([]tally, len(all))
	defer t.addAll(tallies)
	return atOnce(ctx, len(all), func(ctx context.Context, i int) error {
		ch := all[i]
		for {
			err := c.single(ctx, c.scratch(d), d, ch, &tallies[i])
			var conflict *ConflictError
			if !errors.As(err, &conflict) {
				return err
			}
			stored := conflict.stored[0]
			if len(stored) == 0 {
				return nil // gone
			}
			if err := still(ctx, &tallies[i]); err != nil {
				return err
			}
			f, err := c.reader.Found(ch.table, stored)
			if err != nil {
				return err
			}
			ch = &change{place: ch.place, kind: KindDelete, item: ch.item, row: c.rowOf(&f), oldSize: f.Size}
		}
	})
}
