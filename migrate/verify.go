package migrate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/itemize/itemize/internal/migration/protocol"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/save/write"
)

// Verification is the result of a pass over all monoliths.
type Verification struct {
	Ended time.Time `json:"ended"`
	// Complete reports that all segments were read to their ends.
	Complete bool `json:"complete"`
	// Entities were read. Same are those whose collections equal their monoliths, attribute value by
	// attribute value.
	Entities int `json:"entities"`
	Same     int `json:"same"`
	// Changed were written in the new layout after they moved, and are valid collections. Deleted were
	// deleted there, or before they moved.
	Changed int `json:"changed"`
	Deleted int `json:"deleted"`
	// Unmoved monoliths were not moved. Wrong counts faults, and Findings are the first of them.
	Unmoved  int          `json:"unmoved"`
	Wrong    int          `json:"wrong"`
	Findings []DeadLetter `json:"findings,omitempty"`
	RCU      float64      `json:"rcu"`
}

// Clean reports whether all entities have moved and nothing is wrong.
func (v *Verification) Clean() bool { return v.Complete && v.Unmoved == 0 && v.Wrong == 0 }

const maxFindings = 100

// Verify reads every monolith and its collection, strongly consistent, and compares them. It stores the
// result for [Migration.Cutover], and deletes items that moves of dead programs have left.
//
// A cutover needs a pass over all segments. A pass over some segments reports only these.
func (m *Migration) Verify(ctx context.Context) (_ *Verification, err error) {
	defer m.throttled(&err)
	if err := m.hasBegun(ctx); err != nil {
		return nil, err
	}
	c := m.newCheck()
	err = c.all(ctx)
	c.v.Ended, c.v.Complete = m.now().UTC(), err == nil && len(m.segments) == m.of
	if err != nil || !c.v.Complete {
		return c.v, err
	}
	return c.v, m.state.write(ctx, noteVerify, c.v, nil)
}

// hasBegun refuses a step of a migration that was never begun with these tables.
func (m *Migration) hasBegun(ctx context.Context) error {
	var n phaseNote
	if err := m.sameKeys(ctx); err != nil {
		return err
	}
	found, err := m.state.read(ctx, notePhase, &n)
	if err == nil && n.Phase == phaseDone {
		err = m.ended()
	}
	if err == nil && !found {
		err = fmt.Errorf("%s: no migration of %s was begun into the table %s: run itemize migrate run, or name its "+
			"target table (-table)", m.layout.Model, m.source.Name, m.state.table.Name)
	}
	return err
}

// ended says that the migration has ended.
func (m *Migration) ended() error {
	return &endedError{fmt.Errorf("%s: the migration has ended: its monoliths were removed from %s (contract), and "+
		"it cannot be rolled back", m.layout.Model, m.source.Name)}
}

// endedError says that a migration has ended, and only collections exist.
type endedError struct{ error }

// check is a pass over the monoliths.
type check struct {
	*Migration
	mu sync.Mutex
	v  *Verification
	// foreign counts items of the source that are no monoliths.
	foreign int
	// progress is that of a run: a check moves nothing.
	progress *run
}

// newCheck returns a check that begins now.
func (m *Migration) newCheck() *check {
	return &check{Migration: m, v: &Verification{}, progress: m.newRun()}
}

func (c *check) all(ctx context.Context) error {
	u, err := c.scan(ctx, c.source, true, func(ctx context.Context, p read.Page) error {
		all := c.monoliths(p)
		for _, d := range all {
			if err := c.one(ctx, d); err != nil {
				return err
			}
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.foreign += len(p.Items) - len(all)
		c.progress.count(Counts{Foreign: len(p.Items) - len(all)}, Counts{Foreign: len(p.Items) - len(all)})
		return nil
	})
	c.v.RCU += u.Predicted.Expected
	c.progress.count(Counts{RCU: u.Predicted.Expected}, Counts{})
	c.progress.reportProgress(true)
	return err
}

// one checks one entity.
func (c *check) one(ctx context.Context, d *protocol.Monolith) error {
	var t write.Tally
	what, reason := protocol.Moved, ""
	var err error
	switch {
	case d.Unmarked():
		what, reason = protocol.Unmoved, "it was not moved"
	default:
		what, reason, err = c.mover.Check(ctx, d, &t)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", d.Place, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.v.Entities++
	c.v.RCU += t.RCU.Expected
	now := Counts{Entities: 1, RCU: t.RCU.Expected}
	c.progress.count(now, now)
	switch what {
	case protocol.Unmoved:
		c.v.Unmoved++
	case protocol.Moved:
		c.v.Same++
	case protocol.Written:
		c.v.Changed++
	case protocol.Deleted:
		c.v.Deleted++
	case protocol.Wrong:
		c.v.Wrong++
	}
	if reason != "" && len(c.v.Findings) < maxFindings {
		c.v.Findings = append(c.v.Findings,
			DeadLetter{Key: keyText(d.Place), Reasons: []string{reason}, Since: c.now().UTC()})
	}
	return nil
}

// Cutover declares the new layout valid. It is refused unless a verification of all segments was clean,
// and another one, which it makes, still is.
func (m *Migration) Cutover(ctx context.Context) (_ *Verification, err error) {
	defer m.throttled(&err)
	refuse := func(format string, args ...any) (*Verification, error) {
		return nil, fmt.Errorf("%s: no cut-over: %s", m.layout.Model, fmt.Sprintf(format, args...))
	}
	if err := m.whole("a cut-over"); err != nil {
		return nil, err
	}
	p, err := m.seePhase(ctx)
	switch {
	case err != nil:
		return nil, err
	case p.Phase == phaseDone:
		return nil, m.ended()
	case isBack(p.Phase):
		return refuse("the migration is rolled back: finish that (itemize migrate rollback)")
	case p.Phase != phaseRunning && p.Phase != phaseCutOver:
		return refuse("the migration is %q: run and verify it first", cmp.Or(p.Phase, "not begun"))
	}
	var v Verification
	found, err := m.state.read(ctx, noteVerify, &v)
	switch {
	case err != nil:
		return nil, err
	case !found:
		return refuse("nothing is verified: run itemize migrate verify")
	case !v.Clean():
		return refuse("the last verification found %d monoliths that were not moved, and %d wrong entities: see "+
			"itemize migrate status and verify; fix these, then run and verify again", v.Unmoved,
			v.Wrong)
	}
	now, err := m.stillClean(ctx)
	if err != nil {
		return nil, err
	}
	if !now.v.Clean() {
		return refuse("since the verification %d monoliths were written in the old layout, and %d entities went "+
			"wrong: run and verify again", now.v.Unmoved, now.v.Wrong)
	}
	s, err := m.Status(ctx)
	if err != nil {
		return nil, err
	}
	if now.v.Entities == 0 && now.foreign > 0 && s.Moved == 0 { // otherwise all of them were replaced
		return refuse("no item of %s is a monolith (%d other items): check the keys (-key, -sort)", m.source.Name,
			now.foreign)
	}
	_, err = m.enter(ctx, p, phaseCutOver)
	return now.v, err
}

// stillClean verifies everything again.
func (m *Migration) stillClean(ctx context.Context) (*check, error) {
	c := m.newCheck()
	err := c.all(ctx)
	c.v.Complete, c.v.Ended = err == nil, m.now().UTC()
	return c, err
}

// Contract deletes the old layout: the table of the monoliths, or, with itemByItem or in a table of the
// model, each marked monolith at the write units of its size. word is the name of the source table, as
// a confirmation. It verifies everything first, as [Migration.Verify] does, and is refused if an entity
// has not moved or is wrong. It also deletes items that moves of dead programs have left.
func (m *Migration) Contract(ctx context.Context, word string, itemByItem bool) (_ *Report, err error) {
	defer m.throttled(&err)
	refuse := func(format string, args ...any) (*Report, error) {
		what := "the table " + m.source.Name
		if m.own {
			what = "the monoliths in " + m.source.Name
		}
		return nil, fmt.Errorf("%s: contract removes %s for good: %s", m.layout.Model, what,
			fmt.Sprintf(format, args...))
	}
	if err := m.whole("contract"); err != nil {
		return nil, err
	}
	p, err := m.seePhase(ctx)
	switch {
	case err != nil:
		return nil, err
	case p.Phase == phaseDone:
		return nil, m.ended()
	case isBack(p.Phase):
		return refuse("the migration is rolled back")
	case p.Phase != phaseCutOver && p.Phase != phaseRemoving:
		return refuse("it needs the cut-over first: run itemize migrate cutover")
	case word != m.source.Name:
		return refuse("%q does not confirm it: write the name of the table (-confirm)", word)
	}
	r := &run{Migration: m, begun: m.now(), report: &Report{}, dead: map[string]bool{}}
	if p.Phase == phaseRemoving && !m.own {
		if ended, err := m.hasEnded(ctx); err != nil {
			return nil, err
		} else if ended { // by a contract that died
			return m.contracted(ctx, r, p, nil)
		}
	}
	// The phase is set before the verification: from then on no entity becomes a monolith. Only the
	// contract that entered the phase, and that no other one has joined, may leave it again, because
	// another one may be about to delete the table.
	first := p.Phase == phaseCutOver
	if p, err = m.enter(ctx, p, phaseRemoving); err != nil {
		return nil, err
	}
	leave := func(why error) error {
		if !first {
			return why
		}
		_, err := m.enter(ctx, p, phaseCutOver)
		return errors.Join(why, err)
	}
	now, err := m.stillClean(ctx)
	itemByItem = itemByItem || m.own
	cure := "run, verify and cut over again"
	if !first {
		cure = "run, and contract again; settle an entity that is in both layouts (itemize migrate settle -keep " +
			"collection)"
	}
	switch {
	case err != nil:
		return nil, leave(err)
	case !now.v.Clean():
		_, err := refuse("since the cut-over %d monoliths were written in the old layout, and %d entities went "+
			"wrong: %s", now.v.Unmoved, now.v.Wrong, cure)
		return nil, leave(err)
	case now.foreign > 0 && !itemByItem:
		_, err := refuse("%d of its items are not monoliths, and would be deleted with it: remove only the "+
			"monoliths (-item-by-item), or check the keys of the monoliths (-key, -sort)", now.foreign)
		return nil, leave(err)
	}
	if err := r.removeRemaining(ctx); err != nil {
		return nil, leave(err)
	}
	if itemByItem {
		err = m.removeAll(ctx, p, r.report)
	} else if err = m.dropTable(ctx, p); err != nil {
		var refused smithy.APIError // otherwise the request may arrive later
		if d, look := m.describe(ctx, m.source); look == nil && d.TableStatus == types.TableStatusActive &&
			errors.As(err, &refused) && refused.ErrorFault() != smithy.FaultServer {
			err = leave(err)
		}
	}
	if n := r.report.This.Conflicts; err == nil && n > 0 {
		err = fmt.Errorf("%s: %d monoliths were written in the old layout during the removal, and are kept: settle "+
			"each (itemize migrate settle), and contract again", m.layout.Model, n)
	}
	return m.contracted(ctx, r, p, err)
}

// contracted ends a contract.
func (m *Migration) contracted(ctx context.Context, r *run, removing seenPhase, err error) (*Report, error) {
	if err == nil {
		err = r.reset(ctx, removing, phaseDone)
	}
	r.report.Elapsed, r.report.Done = m.now().Sub(r.begun), err == nil
	return r.report, err
}
