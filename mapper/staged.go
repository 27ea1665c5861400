package mapper

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/attr"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/schema"
	"github.com/itemize/itemize/internal/selection"
)

// stagedInsert is an insert under way.
type stagedInsert struct {
	c     *core
	s     *state
	d     *diff
	stage stage
	root  *change
	parts []*change
	t     *tally
}

func (c *core) newStagedInsert(s *state, d *diff, t *tally) *stagedInsert {
	in := &stagedInsert{c: c, s: s, d: d, stage: c.newStage(inserting), t: t}
	for _, ch := range d.changes {
		if ch.item == c.schema.Root {
			in.root = ch
		} else {
			in.parts = append(in.parts, in.part(ch))
		}
	}
	return in
}

// part returns the put of an item with the attempt in it.
func (in *stagedInsert) part(ch *change) *change {
	p := *ch
	p.put = maps.Clone(ch.put)
	p.put[schema.Attempt] = in.stage.attempt
	p.newSize += cost.AttributeSize(schema.Attempt, in.stage.attempt)
	return &p
}

// claim returns the put of the root, not live.
func (in *stagedInsert) claim() *change {
	p := *in.root
	p.put = maps.Clone(in.root.put)
	p.put[schema.State] = in.stage.value()
	p.newSize += cost.AttributeSize(schema.State, in.stage.value())
	return &p
}

// live returns the update that makes the root live: claim is what is stored.
func (in *stagedInsert) live(claim *change) *change {
	p := *claim
	p.kind = KindUpdate
	p.oldSize = claim.newSize
	value := liveness{in.stage.attempt, in.c.now()}.value()
	p.newSize = in.root.newSize + cost.AttributeSize(schema.Attempt, value)
	p.attributes = []assignment{{schema.Attempt, unknownIndex, value}}
	p.removed = []assignment{{name: schema.State, index: unknownIndex}}
	return &p
}

// stagedItems are the writes of a staged insert, for plans.
func (c *core) stagedItems(changes []*change) []ItemPlan {
	in := c.newStagedInsert(nil, &diff{changes: changes}, nil)
	claim := in.claim()
	live := in.live(claim)
	items := []ItemPlan{c.describe(claim, claim.wcu())}
	for _, p := range in.parts {
		items = append(items, c.describe(p, p.wcu()))
	}
	return append(items, c.describe(live, live.wcu()))
}

func stagedUnits(items []ItemPlan) cost.Units {
	var sum cost.Units
	for _, it := range items {
		sum = sum.Add(it.WCU)
	}
	return sum
}

// insertStaged inserts an entity: the root as a claim, the other items, and then
// the root goes live.
func (c *core) insertStaged(ctx context.Context, s *state, d *diff, t *tally) error {
	in := c.newStagedInsert(s, d, t)
	claim := in.claim()
	if err := in.take(ctx, claim); err != nil {
		return err
	}
	if err := in.putParts(ctx); err != nil {
		var conflict *ConflictError
		if errors.As(err, &conflict) {
			conflict.insert = true
			in.undo(ctx, claim)
		}
		return err
	}
	if err := in.goLive(ctx, claim); err != nil {
		return err
	}
	c.settle(s, d.arrival(), in.all())
	c.arrive(s, d.arrival())
	return nil
}

// all are the changes as they are stored when the root is live.
func (in *stagedInsert) all() []*change { return append(slices.Clone(in.parts), in.root) }

// take writes the claim. A stage that was left behind is taken over, and what it
// left is swept.
func (in *stagedInsert) take(ctx context.Context, claim *change) error {
	c := in.c
	for try := 0; ; try++ {
		c.prepare(claim)
		err := c.single(ctx, in.scratch(), in.d, claim, in.t)
		var exists *existsError
		if !errors.As(err, &exists) {
			if err != nil || claim.ghost == nil {
				return err
			}
			return in.sweep(ctx)
		}
		stored := exists.conflict.stored[0]
		left, ok := readStage(stored)
		if !ok || try == saveTries {
			return err
		}
		// The claim replaces the stage that it has seen, and no other.
		claim.ghost = &ghost{size: cost.ItemSize(stored), attempt: left.attempt, stage: stored[schema.State]}
		claim.oldSize = claim.ghost.size
	}
}

// sweep deletes what earlier attempts have left of the entity's items.
func (in *stagedInsert) sweep(ctx context.Context) error {
	s := &state{spec: selection.Entity(in.c.schema, in.c.identity(in.d.keyFields))}
	found, err := in.c.collect(ctx, s.spec, read.Options{Strong: true}, in.t)
	if err != nil {
		return err
	}
	found = slices.DeleteFunc(found, func(f read.Found) bool {
		switch {
		case f.Kind == nil, f.Kind == in.c.schema.Root, attr.Same(f.Attempt, in.stage.attempt):
			return true
		}
		// What the new entity would not show is left alone.
		return !in.c.owned(s, &f) || f.Attempt == nil && !in.c.ownedBy(in.d.keyFields, &f)
	})
	return in.c.deleteFound(ctx, in.d, found, in.stillOurs, in.t)
}

// putParts puts the other items, several at once, each only where nothing is, or
// something of an attempt that is over.
func (in *stagedInsert) putParts(ctx context.Context) error {
	tallies := make([]tally, len(in.parts))
	err := atOnce(ctx, len(in.parts), func(ctx context.Context, i int) error {
		return in.putPart(ctx, in.parts[i], &tallies[i])
	})
	in.t.addAll(tallies)
	return err
}

// scratch returns a state for one request: what is in doubt of a part is not
// kept, since a further attempt takes it over.
func (in *stagedInsert) scratch() *state { return in.c.scratch(in.d) }

func (in *stagedInsert) putPart(ctx context.Context, ch *change, t *tally) error {
	c, scratch := in.c, in.scratch()
	for try := 0; ; try++ {
		c.prepare(ch)
		err := c.single(ctx, scratch, in.d, ch, t)
		if !errors.Is(err, errRetry) || try == saveTries {
			return err
		}
		// Something of another attempt is there. It is older than ours if our
		// claim still stands, which was read after it.
		if err := in.stillOurs(ctx, t); err != nil {
			return err
		}
		ch.ghost = scratch.ghosts[ch.place]
		ch.oldSize = ch.ghost.size
	}
}

func (in *stagedInsert) stillOurs(ctx context.Context, t *tally) error {
	root, err := in.c.readRoot(ctx, in.c.identity(in.d.keyFields), t)
	if err != nil {
		return err
	}
	if root != nil {
		if st, ok := readStage(root.Item); ok && attr.Same(st.attempt, in.stage.attempt) {
			return nil
		}
	}
	return in.overtaken(root)
}

// overtaken is the error of an insert whose claim somebody else took over.
func (in *stagedInsert) overtaken(root *read.Found) error {
	e := &ConflictError{Model: in.c.schema.Label(), Items: []ItemConflict{{
		Key: in.c.public(in.root.place), Field: fieldOf(in.root.item), Conflict: ConflictCreated,
	}}}
	if root != nil {
		e.stored = []read.Item{root.Item}
	}
	return &existsError{in.c.entityName(in.d.keyFields), e}
}

// goLive makes the root live, on condition that the claim still stands.
func (in *stagedInsert) goLive(ctx context.Context, claim *change) error {
	c := in.c
	live := in.live(claim)
	live.row = &row{place: claim.place, version: claim.token}
	if claim.token == nil {
		live.row.raw = read.Item{schema.State: in.stage.value()}
	}
	c.prepare(live)
	err := c.single(ctx, in.scratch(), in.d, live, in.t)
	in.root.token, in.root.newSize = live.token, live.newSize
	in.root.put = maps.Clone(in.root.put)
	in.root.put[schema.Attempt] = live.attributes[0].value
	var conflict *ConflictError
	var lost *OutcomeUnknownError
	switch {
	case errors.As(err, &conflict):
		return in.overtaken(nil)
	case errors.As(err, &lost):
		// If the root did go live, then with all of its items.
		x := &doubt{since: c.now(), tellers: []*change{c.freeze(live)}, whole: true}
		for _, ch := range in.all() {
			x.changes = append(x.changes, c.freeze(ch))
		}
		c.remember(in.s, in.d, x)
	}
	return err
}

// undo removes, as far as it can, what an insert that cannot succeed has put. What
// stays is found by nobody, and swept by the next insert.
func (in *stagedInsert) undo(ctx context.Context, claim *change) {
	tallies := make([]tally, len(in.parts))
	err := atOnce(ctx, len(in.parts), func(ctx context.Context, i int) error {
		err := in.remove(ctx, in.parts[i], &tallies[i])
		var conflict *ConflictError
		if errors.As(err, &conflict) {
			return nil // it was not put, or is somebody else's
		}
		return err
	})
	in.t.addAll(tallies)
	if err == nil {
		_ = in.remove(ctx, claim, in.t)
	}
}

// remove deletes an item if it is as this insert has put it.
func (in *stagedInsert) remove(ctx context.Context, put *change, t *tally) error {
	del := &change{
		place: put.place, kind: KindDelete, item: put.item, oldSize: put.newSize,
		row: &row{place: put.place, version: put.token, raw: put.put},
	}
	return in.c.single(ctx, in.scratch(), in.d, del, t)
}
