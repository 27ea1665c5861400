package mapper

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/schema"
)

// savePlan is a save as a list of steps.
type savePlan struct {
	c     *core
	mode  Mode
	diff  *diff
	steps []step
	// checks are the loaded items that have to be unchanged.
	checks []*change
}

// step is one request of a save, or in a staged write several at once.
type step struct {
	// changes are written by one transaction where there are several, or where
	// transact asks for it.
	changes  []*change
	transact bool
	// stage writes changes one by one and at once, as part of a staged insert.
	stage bool
}

// planSave decides how a save is sent. It does no I/O.
func (c *core) planSave(s *state, v any, settings writeSettings) (*savePlan, error) {
	if err := c.compatible(s, settings); err != nil {
		return nil, err
	}
	d, err := c.diff(s, v, settings)
	if err != nil {
		return nil, err
	}
	p := &savePlan{c: c, diff: d, mode: ModeNothing}
	if len(d.changes) == 0 {
		return p, nil
	}
	if settings.checkLoaded {
		p.checks = d.same
	}
	all := slices.Concat(d.changes, p.checks)
	switch {
	case settings.staged && len(d.changes) > 1, d.takesOver():
		p.stage(d.changes)
	case len(all) == 1:
		p.mode = ModeOne
		p.steps = []step{{changes: all, transact: settings.exactlyOnce}}
	case settings.independent:
		p.oneByOne(settings)
	case c.fits(all):
		p.mode = ModeTransaction
		p.steps = []step{{changes: all, transact: true}}
	case s.fresh:
		p.stage(d.changes)
	default:
		return nil, c.tooMany(all)
	}
	return p, nil
}

// compatible refuses options that contradict each other or the entity.
func (c *core) compatible(s *state, settings writeSettings) error {
	refuse := func(text string) error { return fmt.Errorf("%s: %s", c.schema.Label(), text) }
	switch {
	case settings.independent && settings.staged:
		return refuse("Independent and Staged exclude each other: choose one")
	case settings.independent && settings.checkLoaded:
		return refuse("Independent and CheckLoaded exclude each other: only a transaction checks other items")
	case settings.staged && settings.checkLoaded:
		return refuse("Staged and CheckLoaded exclude each other: only a transaction checks other items")
	case settings.staged && settings.exactlyOnce:
		return refuse("Staged and ExactlyOnce exclude each other: choose one")
	case settings.staged && !s.fresh:
		return refuse("Staged is for inserts and deletes: save without it, or with Independent")
	}
	for _, root := range s.rows[c.schema.Root.Index] {
		if root.stage != nil {
			return refuse("the entity's delete has begun and is not finished, so that it is not found any more: delete it again, and insert it as a new entity")
		}
	}
	return nil
}

// fits reports whether changes fit one transaction.
func (c *core) fits(all []*change) bool {
	bytes := 0
	for _, ch := range all {
		bytes += max(ch.oldSize, ch.newSize)
	}
	return len(all) <= cost.MaxTransactItems && bytes <= cost.MaxTransactBytes
}

func (c *core) tooMany(all []*change) error {
	bytes := 0
	for _, ch := range all {
		bytes += max(ch.oldSize, ch.newSize)
	}
	cure := "save with Independent, one by one, or save in parts"
	if slices.ContainsFunc(all, func(ch *change) bool { return ch.kind == KindCheck }) {
		cure = "load less, so that less is checked, or save without CheckLoaded"
	}
	return fmt.Errorf("%s: %d items of %d bytes do not fit one transaction (%d items, %d bytes): %s",
		c.schema.Label(), len(all), bytes, cost.MaxTransactItems, cost.MaxTransactBytes, cure)
}

// oneByOne makes a step of each change: of an insert the root first, so that it
// fails before anything is written if the entity is there; else puts before
// deletes, and the root's delete last.
func (p *savePlan) oneByOne(settings writeSettings) {
	p.mode = ModeIndependent
	root := p.c.schema.Root
	rank := func(ch *change) int {
		switch {
		case ch.kind == KindDelete && ch.item == root:
			return 3
		case ch.kind == KindDelete:
			return 2
		case ch.item == root && ch.row == nil:
			return 0
		}
		return 1
	}
	slices.SortStableFunc(p.diff.changes, func(a, b *change) int { return cmp.Compare(rank(a), rank(b)) })
	for _, ch := range p.diff.changes {
		p.steps = append(p.steps, step{changes: []*change{ch}, transact: settings.exactlyOnce})
	}
}

// stage makes the steps of a staged insert: the root, not live; the others; the
// root again, live.
func (p *savePlan) stage(changes []*change) {
	p.mode = ModeStaged
	root := p.c.schema.Root
	var first, rest []*change
	for _, ch := range changes {
		if ch.item == root {
			first = append(first, ch)
		} else {
			rest = append(rest, ch)
		}
	}
	p.steps = []step{{changes: first, stage: true}, {changes: rest, stage: true}, {changes: first, stage: true}}
}

// describe returns the plan as the caller sees it.
func (p *savePlan) describe() *Plan {
	out := &Plan{Mode: p.mode, Items: []ItemPlan{}}
	var t tally
	switch p.mode {
	case ModeStaged:
		for _, it := range p.c.stagedItems(p.diff.changes) {
			t.wrote(it)
		}
		out.requests = len(p.diff.changes) + 1
	default:
		for _, st := range p.steps {
			for _, ch := range st.changes {
				t.wrote(p.c.describe(ch, st.price(ch)))
			}
		}
		out.requests = len(p.steps)
	}
	if t.items != nil {
		out.Items = t.items
	}
	out.WCU = t.wcu
	out.Alternatives = p.alternatives()
	return out
}

// price returns what a change costs in its step.
func (s *step) price(ch *change) cost.Units {
	if s.transact {
		return ch.transactWCU()
	}
	return ch.wcu()
}

// alternatives are the other ways to save the same changes.
func (p *savePlan) alternatives() []Alternative {
	changes := p.diff.changes
	if len(changes) < 2 || len(p.checks) > 0 {
		return nil
	}
	var single cost.Units
	for _, ch := range changes {
		single = single.Add(ch.wcu())
	}
	ways := map[Mode]Alternative{
		ModeIndependent: {Option: "Independent()", Requests: len(changes), WCU: single},
	}
	if p.c.fits(changes) {
		ways[ModeTransaction] = Alternative{Option: "one transaction", Requests: 1, WCU: single.Times(2)}
	}
	if p.diff.s.fresh {
		ways[ModeStaged] = Alternative{Option: "Staged()", Requests: len(changes) + 1, WCU: stagedUnits(p.c.stagedItems(changes))}
	}
	var out []Alternative
	for _, mode := range []Mode{ModeIndependent, ModeTransaction, ModeStaged} {
		if a, ok := ways[mode]; ok && mode != p.mode {
			out = append(out, a)
		}
	}
	return out
}

// errRetry says that what is known of the items has changed, so that the save
// has to be planned again.
var errRetry = errors.New("plan again")

// saveTries bounds how often a save is planned again because items turned out to
// be the entity's own, or leftovers.
const saveTries = 10

// save writes what differs.
func (c *core) save(ctx context.Context, s *state, v any, settings writeSettings, t *tally) error {
	was := s.fresh
	if err := c.resolve(ctx, s, t); err != nil {
		return err
	}
	if was && !s.fresh {
		settings.staged = false // the insert that was in doubt has succeeded
	}
	for try := range saveTries {
		if try > 0 {
			if err := read.Pause(ctx, try); err != nil {
				return fmt.Errorf("%s: %w", c.schema.Label(), err)
			}
		}
		p, err := c.planSave(s, v, settings)
		if err != nil {
			return err
		}
		t.mode, t.alternatives = p.mode, p.alternatives()
		err = c.run(ctx, s, p, t)
		if err == nil || !errors.Is(err, errRetry) && !c.leftStage(s, p, err) {
			return err
		}
	}
	return fmt.Errorf("%s: the items kept changing while they were saved: load again", c.schema.Label())
}

// leftStage reports whether an insert failed on a root that a staged write has left
// behind. It notes the stage, so that the next plan takes it over.
func (c *core) leftStage(s *state, p *savePlan, err error) bool {
	var exists *existsError
	if !s.fresh || p.mode == ModeStaged || !errors.As(err, &exists) {
		return false
	}
	for _, stored := range exists.conflict.stored {
		if left, ok := readStage(stored); ok {
			root := slices.IndexFunc(p.diff.changes, func(ch *change) bool { return ch.item == c.schema.Root })
			s.ghost(p.diff.changes[root].place, &ghost{size: cost.ItemSize(stored), attempt: left.attempt, stage: stored[schema.State]})
			return true
		}
	}
	return false
}

// takesOver reports whether an insert finds a root that is not live.
func (d *diff) takesOver() bool {
	return d.s.fresh && slices.ContainsFunc(d.changes, func(ch *change) bool { return ch.ghost != nil && ch.ghost.stage != nil })
}

// run sends a plan's steps, and settles each when it is written.
func (c *core) run(ctx context.Context, s *state, p *savePlan, t *tally) error {
	if p.mode == ModeStaged {
		return c.insertStaged(ctx, s, p.diff, t)
	}
	d := p.diff
	err := c.steps(ctx, s, d, p.steps, t, func(changes []*change) {
		if d.moves && s.moving == nil {
			s.moving = d.oldKeyFields
		}
		c.settle(s, d.arrival(), changes)
	})
	if err == nil && d.keyFields != nil {
		c.arrive(s, d.arrival())
	}
	return err
}

// steps sends steps one after the other, and settles each when it is written.
func (c *core) steps(ctx context.Context, s *state, d *diff, steps []step, t *tally, settle func([]*change)) error {
	var written []Key
	for i, st := range steps {
		if err := c.send(ctx, s, d, st, t); err != nil {
			if len(written) == 0 || errors.Is(err, errRetry) {
				return err
			}
			e := &PartialError{Model: c.schema.Label(), Written: written, Err: err}
			for _, rest := range steps[i:] {
				e.Rest = append(e.Rest, c.public(rest.changes[0].place))
			}
			return e
		}
		settle(st.changes)
		if i == len(steps)-1 {
			break
		}
		for _, ch := range st.changes {
			written = append(written, c.public(ch.place))
		}
	}
	return nil
}
