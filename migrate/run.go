package migrate

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/itemize/itemize/internal/migration/files"
	"github.com/itemize/itemize/internal/migration/protocol"
	"github.com/itemize/itemize/internal/migration/report"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/save/write"
)

// Report is the result of a run, and of all runs before it.
type Report struct {
	// This has the counts of this run, All those of all runs, for the segments of this run.
	This Counts `json:"this"`
	All  Counts `json:"all"`
	// Done reports that all entities of the segments have moved, except dead letters and conflicts.
	Done    bool          `json:"done"`
	Elapsed time.Duration `json:"elapsed,format:nano"`
}

// Run moves the entities of the source, segment by segment, with a checkpoint after each page. Another
// run continues an interrupted one. Entities that cannot be moved are dead letters, and the run
// continues. Entities that have moved stay as they are, so another run does no harm.
//
// An entity costs the units of its items, the write units of the monolith for the mark, and at most 3
// more. A page costs the units of its checkpoint.
func (m *Migration) Run(ctx context.Context) (_ *Report, err error) {
	defer m.throttled(&err)
	p, err := m.phase(ctx)
	switch {
	case err != nil:
		return nil, err
	case isBack(p):
		return nil, fmt.Errorf("%s: the migration is rolled back: finish that (itemize migrate rollback), and then "+
			"run it again", m.layout.Model)
	case p == phaseDone && !m.own:
		if ended, err := m.hasEnded(ctx); err != nil || ended {
			return nil, cmp.Or(err, m.ended())
		}
		if err := m.begin(ctx, p); err != nil {
			return nil, err
		}
	case p == phaseNone, p == phaseDone:
		if err := m.begin(ctx, p); err != nil {
			return nil, err
		}
	}
	n, err := m.state.begun(ctx)
	switch {
	case err != nil:
		return nil, err
	case m.replace && n.Had:
		return nil, fmt.Errorf("%s: the table %s had collections before the migration, and a rollback could not "+
			"tell them from moved ones: leave Replace (-replace) out", m.layout.Model,
			m.mover.Tables[m.layout.Root.Table].Name)
	}
	r := m.newRun()
	r.round = n.Round
	if err := m.state.each(ctx, noteDead,
		func(name string, _ item.Attributes) error { r.dead[name] = true; return nil }); err != nil {
		return nil, err
	}
	if err = r.segmentsAtOnce(ctx, r.segment); err == nil {
		err = r.forget(ctx)
	}
	r.report.Elapsed, r.report.Done = m.now().Sub(r.begun), err == nil
	r.reportProgress(true)
	return r.report, err
}

// forget removes the dead letters that no longer occur.
func (r *run) forget(ctx context.Context) error {
	if r.whole("") != nil || r.resumed.Load() || r.export != nil {
		return nil // not all entities were read
	}
	for name := range r.dead {
		if err := r.state.remove(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// run is a running run.
type run struct {
	*Migration
	begun      time.Time
	mu         sync.Mutex
	report     *Report
	lastReport time.Time
	// dead are the notes of earlier dead letters that have not occurred in this run.
	dead map[string]bool
	pace pace
	// flight is the work of pages that are not complete.
	flight flight
	// passed are the items of the source that a rollback has left alone, for the progress.
	passed int
	// resumed reports that a segment continued from a checkpoint.
	resumed atomic.Bool
	// round identifies the migration.
	round string
	// seen are the entities that a rollback has counted as left.
	seen map[string]bool
	// had reports that the model's table had collections before, and ending that a rollback is at its
	// last scan.
	had, ending bool
}

// newRun returns a run that begins now.
func (m *Migration) newRun() *run {
	now := m.now()
	return &run{Migration: m, begun: now, report: &Report{}, dead: map[string]bool{}, pace: pace{began: now}}
}

// segmentsAtOnce calls a function for each segment, in parallel, until one fails.
func (m *Migration) segmentsAtOnce(ctx context.Context, do func(ctx context.Context, i int) error) error {
	return request.AtMost(ctx, len(m.segments), len(m.segments),
		func(ctx context.Context, n int) error { return do(ctx, m.segments[n]) })
}

// segment moves the entities of a segment, from its checkpoint.
func (r *run) segment(ctx context.Context, i int) error {
	name := fmt.Sprintf("%s%06d", noteSegment, i)
	var c checkpoint
	found, err := r.state.read(ctx, name, &c)
	if err != nil {
		return err
	}
	if found && c.Round != r.round {
		c, found = checkpoint{}, false
	}
	c.Round = r.round
	if found && c.Of != r.of {
		return fmt.Errorf("%s: the migration was begun with %d segments, not %d: use the same number, or roll it "+
			"back first", r.layout.Model, c.Of, r.of)
	}
	from := ""
	if r.export != nil {
		from = r.export.ID
	}
	if c.Done || c.Export != from {
		c = checkpoint{Round: r.round} // again, for entities that were left or written since
	}
	c.Export = from
	if c.start != nil || c.At != (files.Position{}) {
		r.resumed.Store(true)
	}
	c.Of = r.of
	if !found { // so that a status knows of the segment
		if err := r.state.write(ctx, name, &c, nil); err != nil {
			return err
		}
	}
	r.count(Counts{}, c.Counts)
	if r.exported != nil {
		return r.exportPages(ctx, i, c.At, func(p read.Page, at files.Position) error {
			c.At = at
			return r.page(ctx, name, &c, p, &read.Usage{})
		})
	}
	var u read.Usage
	return r.scanPages(ctx, i, c.start, &u, func(p read.Page) error { return r.page(ctx, name, &c, p, &u) })
}

// scanPages reads a segment of the source after a key.
func (m *Migration) scanPages(ctx context.Context, i int, start item.Attributes, u *read.Usage,
	do func(read.Page) error,
) error {
	var failed error
	at := read.Segment{Table: m.source, Number: i, Of: m.of, Rate: m.pace(), Start: start, Limit: pageEntities}
	err := m.reader.Scan(ctx, at, u, func(p read.Page) bool {
		failed = do(p)
		return failed == nil
	})
	return errors.Join(failed, err)
}

// page moves the entities of a page, and stores the checkpoint.
func (r *run) page(ctx context.Context, name string, c *checkpoint, p read.Page, u *read.Usage) error {
	var now Counts
	now.RCU, now.ConsumedRCU = u.Predicted.Expected, u.Consumed
	*u = read.Usage{}
	var group []*protocol.Entity
	for _, d := range r.monoliths(p) {
		group = append(group, &protocol.Entity{Doc: d})
		now.Bytes += d.Size()
	}
	now.Foreign = len(p.Items) - len(group)
	var t write.Tally
	f := flight{}
	err := r.moveInRate(ctx, group, now.Foreign, &t, &f)
	defer r.landed(&f)
	now.WCU, now.ConsumedWCU = t.WCU.Expected, t.ConsumedWCU
	now.RCU, now.ConsumedRCU = now.RCU+t.RCU.Expected, now.ConsumedRCU+t.ConsumedRCU
	for _, e := range group {
		if !e.Done {
			continue // the run ends with an error before that is known
		}
		if err := r.became(ctx, e, &now); err != nil {
			return err
		}
		if r.replace && e.Err == nil && e.Doc.There() {
			if err := r.replaced(ctx, e, &now); err != nil {
				return err
			}
		}
	}
	if err != nil {
		r.landed(&f)
		r.count(now, now)
		return err
	}
	if p, err := r.phase(ctx); err != nil || p != phaseRunning && p != phaseCutOver && p != phaseRemoving {
		return errors.Join(err, r.phaseChanged(phaseRunning, p))
	}
	c.add(now)
	c.start, c.Done = p.LastKey, !p.More
	r.landed(&f)
	r.count(now, now)
	return r.state.write(ctx, name, c, c.start)
}

// moveInRate moves the entities of a page. With a rate it starts only as many at once as take about a
// second, because a claim that waits for long looks like that of a dead program. foreign is the number of other items
// of the page: the progress has them in proportion.
func (r *run) moveInRate(ctx context.Context, group []*protocol.Entity, foreign int, t *write.Tally, f *flight) error {
	if r.wcu == nil {
		return r.mover.Move(ctx, group, t)
	}
	for all := len(group); len(group) > 0; {
		n, units := 0, 0.0
		for n < len(group) && (n == 0 || units < r.wcu.Largest()*groupShare/float64(len(r.segments))) {
			if price, err := r.mover.Predict(group[n].Doc); err == nil && group[n].Doc.Unmarked() {
				units += price.WCU
			}
			n++
		}
		before := t.WCU.Expected
		if err := r.mover.Move(ctx, group[:n], t); err != nil {
			return err
		}
		group = group[n:]
		looked := foreign * (all - len(group)) / all
		r.flies(f, flight{n, looked - f.foreign, t.WCU.Expected - before})
	}
	return nil
}

// groupShare is the part of a second's units that one group of entities takes: a twentieth.
const groupShare = 20

// became records the result for an entity.
func (r *run) became(ctx context.Context, e *protocol.Entity, now *Counts) error {
	now.Entities++
	var cannot *protocol.Unmovable
	var conflict *protocol.Conflict
	switch {
	case e.Err == nil && e.Moved:
		now.Moved++
		now.Items += e.Items
	case e.Err == nil:
		now.Before++
	case errors.As(e.Err, &cannot):
		now.Dead++
	case errors.As(e.Err, &conflict):
		now.Conflicts++
	}
	if e.Err == nil {
		return nil
	}
	return r.letter(ctx, e.Doc.Place, e.Err, conflict != nil)
}

// replaced deletes the monolith of a moved entity if its collection has the same content.
func (r *run) replaced(ctx context.Context, e *protocol.Entity, now *Counts) error {
	var t write.Tally
	defer func() {
		now.WCU, now.ConsumedWCU = now.WCU+t.WCU.Expected, now.ConsumedWCU+t.ConsumedWCU
		now.RCU, now.ConsumedRCU = now.RCU+t.RCU.Expected, now.ConsumedRCU+t.ConsumedRCU
	}()
	d, err := r.mover.Monolith(ctx, e.Doc.Place, &t)
	if err != nil || d.Mark() == nil {
		return err
	}
	what, reason, err := r.mover.Check(ctx, d, &t)
	switch {
	case err != nil:
		return err
	case what == protocol.Wrong:
		now.Conflicts++
		return r.letter(ctx, d.Place, errors.New(reason), true)
	}
	_, err = r.mover.Remove(ctx, d, &t)
	return err
}

// letter records an entity that was not moved.
func (r *run) letter(ctx context.Context, at item.Place, err error, left bool) error {
	name := deadName(at)
	r.mu.Lock()
	delete(r.dead, name)
	r.mu.Unlock()
	return r.state.write(ctx, name,
		DeadLetter{Key: keyText(at), Reasons: reasons(err), Since: r.now().UTC(), Left: left}, nil)
}

// deadName returns the name of a dead letter's note.
func deadName(at item.Place) string {
	sum := sha256.Sum256([]byte(at.PK.String() + "\x00" + at.SK.String()))
	return noteDead + hex.EncodeToString(sum[:16])
}

// maxReasons is the number of reasons that are stored for one entity, and maxReason the length of each,
// in bytes.
const (
	maxReasons = 20
	maxReason  = 500
)

// reasons returns the first reasons in an error.
func reasons(err error) []string {
	all := strings.Split(err.Error(), "\n")
	slices.Sort(all) // they are in no order
	if n := len(all); n > maxReasons {
		all = append(all[:maxReasons:maxReasons], fmt.Sprintf("and %d more", n-maxReasons))
	}
	for i, r := range all {
		if len(r) > maxReason {
			all[i] = strings.ToValidUTF8(r[:maxReason], "") + "..."
		}
	}
	return all
}

func keyText(at item.Place) string {
	text := at.PK.Plain()
	if at.Table.Range != "" {
		text += " " + at.SK.Plain()
	}
	return text
}

// count adds to the counts, and reports the progress.
func (r *run) count(this, all Counts) {
	r.mu.Lock()
	r.report.This.add(this)
	r.report.All.add(all)
	r.mu.Unlock()
	r.reportProgress(false)
}

// pageEntities is the number of entities between two checkpoints of a segment, if they fit a page of 1
// MB. A run keeps them in memory.
const pageEntities = 100

// flight is work of a page that is not complete: the counts have it when it is.
type flight struct {
	entities, foreign int
	wcu               float64
}

// add adds to the work, subtracts it with a factor of -1.
func (f *flight) add(more flight, factor int) {
	f.entities += factor * more.entities
	f.foreign += factor * more.foreign
	f.wcu += float64(factor) * more.wcu
}

// flies adds to the work of a page, and reports the progress.
func (r *run) flies(f *flight, more flight) {
	r.mu.Lock()
	f.add(more, 1)
	r.flight.add(more, 1)
	r.mu.Unlock()
	r.reportProgress(false)
}

// landed removes the work of a page that is complete, or has failed.
func (r *run) landed(f *flight) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flight.add(*f, -1)
	*f = flight{}
}

const reportEvery = 500 * time.Millisecond

// reportProgress reports the progress.
func (r *run) reportProgress(ended bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	if len(r.progress) == 0 || !ended && now.Sub(r.lastReport) < reportEvery {
		return
	}
	c := r.report.This
	c.Entities, c.WCU = c.Entities+r.flight.entities, c.WCU+r.flight.wcu
	more := r.flight.foreign + r.passed
	r.pace.add(now, c.Entities+c.Foreign+more, c.WCU)
	speed, wcus := r.pace.rates()
	p := report.Progress{
		Entities: c.Entities, Moved: c.Moved, Dead: c.Dead, Conflicts: c.Conflicts, Items: c.Items, WCU: c.WCU,
		RCU: c.RCU, Elapsed: now.Sub(r.begun), EntitiesPerSecond: speed, WCUPerSecond: wcus,
		Spent: r.prices.Units(c.WCU, c.RCU), Ended: ended,
	}
	all := r.report.All.Entities + r.report.All.Foreign + r.flight.entities + more
	p.Done = all
	if of := int(r.approximate) * len(r.segments) / r.of; of >= all { // otherwise the count is old
		p.Of = of
		if !ended {
			p.Left = r.pace.left(of - all)
		}
	}
	r.lastReport = now
	sum := *r.report
	sum.Elapsed = p.Elapsed
	for _, f := range r.progress {
		f(sum, p)
	}
}

// monolithOf returns the monolith of an image.
func (m *Migration) monolithOf(f *item.Image) *protocol.Monolith {
	return &protocol.Monolith{Place: f.Place, Attributes: f.Attributes(), Reserved: m.layout.Reserved}
}

// imageOf makes an image of an item that belongs to no model.
func imageOf(t *item.Table, a item.Attributes) item.Image {
	img := item.Image{Arguments: a, Size: attr.ItemSize(a)}
	img.Table = t
	img.PK, _ = attr.ScalarOf(a[t.Hash])
	if t.Range != "" {
		img.SK, _ = attr.ScalarOf(a[t.Range])
	}
	return img
}
