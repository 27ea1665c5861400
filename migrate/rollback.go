package migrate

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/internal/migration/protocol"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/save/write"
)

// Rollback turns all entities into monoliths again, including later changes and new entities. If the
// model's table had collections before the migration, entities without a monolith stay as they are, and
// are counted as Foreign. It reads the source and the main table of the layout. An entity costs the
// units of its monolith, and twice those of its items. It can be repeated until [Migration.Contract].
func (m *Migration) Rollback(ctx context.Context) (_ *Report, err error) {
	defer m.throttled(&err)
	if err := m.whole("a rollback"); err != nil {
		return nil, err
	}
	if err := m.hasBegun(ctx); err != nil {
		return nil, err
	}
	p, n, err := m.begunIn(ctx)
	switch {
	case err != nil:
		return nil, err
	case p.Phase == phaseNone && n.Source != "" && n.Source != m.source.Name:
		return nil, fmt.Errorf("%s: no rollback: the migration of %s is rolled back, but another of %s is running",
			m.layout.Model, m.source.Name, n.Source)
	case p.Phase == phaseDone:
		return nil, m.ended()
	case p.Phase == phaseRemoving:
		return nil, fmt.Errorf("%s: no rollback: the old layout is being removed", m.layout.Model)
	case p.Phase == phaseNone: // again, because programs may insert in the meantime
		if err := m.begin(ctx, p.Phase); err != nil {
			return nil, err
		}
		if p, n, err = m.begunIn(ctx); err != nil {
			return nil, err
		}
	}
	if p.Phase != phaseBack {
		if p, err = m.enter(ctx, p, phaseBack); err != nil {
			return nil, err
		}
	}
	// without a note no entity is known to belong to another migration
	r := m.newRun()
	r.seen, r.had = map[string]bool{}, n.Had || n.Source != m.source.Name
	err = r.scanBack(ctx, m.source, r.ofMonolith)
	if err == nil {
		err = r.scanBack(ctx, m.mover.Tables[m.layout.Root.Table], r.ofRoot)
	}
	if err == nil && r.report.This.Conflicts+r.report.This.Dead == 0 {
		err = r.end(ctx, p)
	}
	r.report.Elapsed, r.report.Done = m.now().Sub(r.begun), err == nil
	r.reportProgress(true)
	return r.report, err
}

// end rolls back entities that were inserted or moved after the scans, while inserts and moves wait,
// and ends the rollback.
func (r *run) end(ctx context.Context, back seenPhase) error {
	ending, err := r.enter(ctx, back, newEnding())
	if err != nil {
		return err
	}
	r.ending = true
	err = r.scanBack(ctx, r.mover.Tables[r.layout.Root.Table], r.ofRoot)
	if err == nil && r.report.This.Conflicts+r.report.This.Dead == 0 {
		return r.reset(ctx, ending, phaseNone)
	}
	_, entered := r.enter(ctx, ending, phaseBack)
	return errors.Join(err, entered)
}

// begunIn returns the phase and the note of the migration at one moment.
func (m *Migration) begunIn(ctx context.Context) (p seenPhase, n begunNote, err error) {
	for range beginTries {
		if p, err = m.seePhase(ctx); err != nil {
			return p, n, err
		}
		if n, err = m.state.begun(ctx); err != nil {
			return p, n, err
		}
		now, err := m.seePhase(ctx)
		if err != nil || attr.Same(now.text, p.text) {
			return p, n, err
		}
	}
	return p, n, fmt.Errorf("%s: other programs changed the phase of the migration each time: run itemize migrate "+
		"status, then this step again", m.layout.Model)
}

// reset removes the checkpoints, so that the migration can begin again.
func (r *run) reset(ctx context.Context, from seenPhase, to string) error {
	var names []string
	for _, prefix := range []string{noteSegment, noteDead, noteVerify} {
		if err := r.state.each(ctx, prefix,
			func(name string, _ item.Attributes) error { names = append(names, name); return nil }); err != nil {
			return err
		}
	}
	for _, name := range names {
		if err := r.state.remove(ctx, name); err != nil {
			return err
		}
	}
	return r.leave(ctx, from, to)
}

// scanBack rolls back the items of a table that of selects.
func (r *run) scanBack(ctx context.Context, table *item.Table,
	of func(context.Context, item.Image) (*protocol.Return, error),
) error {
	u, err := r.scan(ctx, table, true, func(ctx context.Context, p read.Page) error { return r.pageBack(ctx, p, of) })
	r.count(Counts{RCU: u.Predicted.Expected, ConsumedRCU: u.Consumed}, Counts{})
	return err
}

func (r *run) pageBack(ctx context.Context, p read.Page,
	of func(context.Context, item.Image) (*protocol.Return, error),
) error {
	var all []*protocol.Return
	var unknown Counts
	for i := range p.Items {
		b, err := of(ctx, p.Items[i])
		if err != nil {
			unknown.Entities, unknown.Conflicts = unknown.Entities+1, unknown.Conflicts+1
			if err := r.letter(ctx, p.Items[i].Place, err, true); err != nil {
				return err
			}
		}
		if b != nil {
			all = append(all, b)
		}
	}
	r.count(unknown, unknown)
	if len(p.Items) > 0 && p.Items[0].Table == r.source {
		r.mu.Lock()
		r.passed += len(p.Items) - len(all) - unknown.Entities
		r.mu.Unlock()
	}
	for len(all) > 0 {
		n := len(all)
		if r.wcu != nil {
			n = min(n, backAtOnce)
		}
		if err := r.groupBack(ctx, all[:n]); err != nil {
			return err
		}
		all = all[n:]
	}
	return nil
}

// backAtOnce is the number of entities of a segment that are rolled back at once within a rate: they end together.
const backAtOnce = 4

// groupBack rolls back some entities, and counts them.
func (r *run) groupBack(ctx context.Context, all []*protocol.Return) error {
	var t write.Tally
	err := r.mover.Back(ctx, all, &t)
	if err != nil { // their writes were sent
		now := Counts{WCU: t.WCU.Expected, ConsumedWCU: t.ConsumedWCU, RCU: t.RCU.Expected, ConsumedRCU: t.ConsumedRCU}
		r.count(now, now)
		return err
	}
	now := Counts{
		Entities: len(all), WCU: t.WCU.Expected, ConsumedWCU: t.ConsumedWCU, RCU: t.RCU.Expected,
		ConsumedRCU: t.ConsumedRCU,
	}
	for _, b := range all {
		if err := r.cameBack(ctx, b, &now); err != nil {
			return err
		}
	}
	r.count(now, now)
	return nil
}

// cameBack records the result for an entity.
func (r *run) cameBack(ctx context.Context, b *protocol.Return, now *Counts) error {
	var cannot *protocol.Unmovable
	var conflict *protocol.Conflict
	switch {
	case b.Err == nil && b.Back:
		now.Moved++
		return nil
	case b.Err == nil:
		now.Before++
		return nil
	}
	name := deadName(b.Doc)
	r.mu.Lock()
	merged := r.seen[name] // merged: its monolith was rolled back before its root item was read
	r.seen[name] = true
	r.mu.Unlock()
	switch {
	case merged:
		now.Entities--
	case errors.As(b.Err, &cannot):
		now.Dead++
	case errors.As(b.Err, &conflict):
		now.Conflicts++
	}
	return r.letter(ctx, b.Doc, b.Err, errors.As(b.Err, &conflict))
}

// removeRemaining removes claims of entities whose monoliths no longer exist.
func (r *run) removeRemaining(ctx context.Context) error {
	_, err := r.scan(ctx, r.mover.Tables[r.layout.Root.Table], true, func(ctx context.Context, p read.Page) error {
		for i := range p.Items {
			b, err := r.ofRoot(ctx, p.Items[i])
			if err != nil || b == nil ||
				r.layout.Reserved.Header(p.Items[i].Attributes()).ReadStage().State != item.Migrating {
				continue
			}
			var t write.Tally
			if _, err := r.mover.Finish(ctx, b.Root, b.Doc, &t); err != nil {
				return err
			}
		}
		return nil
	})
	return err
}

// ofMonolith returns the rollback of a monolith that is marked, or has a root item.
func (r *run) ofMonolith(_ context.Context, f item.Image) (*protocol.Return, error) {
	if !r.isMonolith(&f) {
		return nil, nil
	}
	d := r.monolithOf(&f)
	root, err := r.mover.OwnRoot(d)
	if err != nil {
		if d.Unmarked() {
			return nil, nil // it cannot have been moved
		}
		return nil, fmt.Errorf("%s: %w", d.Place, err)
	}
	return &protocol.Return{Doc: d.Place, Root: root}, nil
}

// ofRoot returns the rollback of a root item.
func (r *run) ofRoot(ctx context.Context, f item.Image) (*protocol.Return, error) {
	if r.layout.Match(f.Table.Index, f.SK) != r.layout.Root || r.state.has(f.Place) {
		return nil, nil
	}
	doc, err := r.mover.DocOf(f.PK, f.SK)
	if err != nil {
		return nil, nil // it belongs to another model
	}
	back := &protocol.Return{Doc: doc, Root: f.Place}
	switch had := r.had && r.layout.Reserved.Header(f.Attributes()).Live(); {
	// it may have moved after the scan of the source, and have its monolith
	case r.ending && had && r.mover.Own(f.Attributes()):
		var t write.Tally
		d, err := r.mover.Monolith(ctx, doc, &t)
		if err != nil || d.Mark() == nil || d.Mark().Deleted {
			return nil, err
		}
		return back, nil
	// it belongs to another migration, or was rolled back with its monolith
	case r.mover.Foreign(f.Attributes()), had:
		if !r.ending { // otherwise it was counted
			r.count(Counts{Foreign: 1}, Counts{})
		}
		return nil, nil
	}
	return back, nil
}

// still returns an error if another program has changed the phase since it was read.
func (m *Migration) still(ctx context.Context, p seenPhase) error {
	now, err := m.seePhase(ctx)
	if err == nil && !attr.Same(now.text, p.text) {
		err = m.phaseChanged(p.Phase, now.Phase)
	}
	return err
}

// dropTable deletes the table of the monoliths.
func (m *Migration) dropTable(ctx context.Context, removing seenPhase) error {
	if err := m.still(ctx, removing); err != nil {
		return err
	}
	_, err := m.client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &m.source.Name})
	if err == nil {
		return nil
	}
	if ended, look := m.hasEnded(ctx); look == nil && ended {
		return nil // an answer was lost
	}
	return request.Explain(ctx, m.client, m.layout.Model, []*item.Table{m.source}, err)
}

// removeAll deletes the marked monoliths one by one.
func (m *Migration) removeAll(ctx context.Context, removing seenPhase, report *Report) error {
	var mu sync.Mutex
	_, err := m.scan(ctx, m.source, true, func(ctx context.Context, p read.Page) error {
		if err := m.still(ctx, removing); err != nil {
			return err
		}
		for _, d := range m.monoliths(p) {
			var t write.Tally
			removed, err := m.mover.Remove(ctx, d, &t)
			if err != nil {
				return err
			}
			mu.Lock()
			report.This.Entities++
			if removed {
				report.This.Moved++
			} else {
				report.This.Conflicts++
			}
			report.This.WCU += t.WCU.Expected
			report.This.ConsumedWCU += t.ConsumedWCU
			mu.Unlock()
		}
		return nil
	})
	return err
}
