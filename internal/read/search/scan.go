package search

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/read/selection"
	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/request/wire"
	"github.com/itemize/itemize/internal/save/staging"
	"github.com/itemize/itemize/internal/save/write"
)

// ScanOptions say how a table is scanned.
type ScanOptions struct {
	Strong   bool
	Segments int
	Rate     *request.Limiter
	// Skip is called with the names of missing tables, which are skipped; if it is nil, a missing table
	// is an error.
	Skip func(table string)
	// Stray is called with each item that belongs to no live entity, one call at a time; nil is no
	// callback.
	Stray func(Stray)
	// Page is called for each answer, from several goroutines; nil is no callback.
	Page func()
}

// Stray is an item that is not of a live entity of the model.
type Stray struct {
	item.Image
	// Root is the root of its entity as it was seen, nil for none; Unknown reports that it is no
	// item of the model.
	Root    *item.Image
	Unknown bool
}

// scan is a scan under way.
type scan struct {
	*Engine
	ScanOptions
	began time.Time
	// give passes an entity to the goroutine that consumes the scan. It returns false if no more is
	// wanted.
	give  func(*Found) bool
	found chan handover

	mu sync.Mutex
	t  *write.Tally
}

// Scan reads every entity of the model, and hands each to give, one call at a time, until that
// returns false. What it takes is added to t.
//
// The items of a partition come one after the other, so that no more is kept than an answer of each
// segment, and one entity. Where an entity's items are not together, its root is met by the scan,
// and it is read by itself.
func (e *Engine) Scan(ctx context.Context, o ScanOptions, t *write.Tally, give func(*Found) bool) error {
	scanning, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &scan{Engine: e, ScanOptions: o, began: e.Model.Now(), t: t, found: make(chan handover)}
	if o.Stray != nil {
		s.Stray = func(x Stray) { s.hand(scanning, handover{stray: &x}) }
	}
	s.give = func(f *Found) bool { return s.hand(scanning, handover{entity: f}) }
	tables, err := s.tables()
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- request.Caught(func() error { return s.all(scanning, tables) }) }()
	enough := false
	for {
		select {
		case h := <-s.found:
			switch {
			case enough:
			case h.stray != nil:
				o.Stray(*h.stray)
			default:
				enough = !give(h.entity)
			}
			if h.more <- !enough; enough {
				cancel()
			}
		case err := <-done:
			if enough {
				_ = request.Repanic(err)
				return nil
			}
			return cmp.Or(request.Repanic(err), ctx.Err())
		}
	}
}

// handover passes an entity from a segment to the consumer of the scan, and returns whether more is
// wanted.
type handover struct {
	entity *Found
	stray  *Stray
	more   chan bool
}

// hand passes an entity; it returns false if no more is wanted.
func (s *scan) hand(ctx context.Context, h handover) bool {
	h.more = make(chan bool, 1)
	select {
	case s.found <- h:
	case <-ctx.Done():
		return false
	}
	select {
	case more := <-h.more:
		return more
	case <-ctx.Done(): // also where who scans has panicked
		return false
	}
}

// tables returns the table of the roots, and the other tables if the caller wants to know items without
// a root. If tables follow the time, those of one period come before those of the next.
func (s *scan) tables() ([][]*item.Table, error) {
	periods := []string{""}
	if s.Model.Schema.Periods != nil {
		var err error
		if periods, err = s.Model.Existing(); err != nil {
			return nil, err
		}
	}
	all := make([][]*item.Table, len(periods))
	for i, period := range periods {
		for _, t := range s.Model.Tables {
			if t.Index == s.Model.Root().Table.Index || s.Stray != nil {
				all[i] = append(all[i], s.Model.Table(t.Index, period))
			}
		}
	}
	return all, nil
}

// skip is Skip, one call at a time.
func (s *scan) skip() func(string) {
	if s.Skip == nil {
		return nil
	}
	return func(table string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.Skip(table)
	}
}

// all scans the segments of tables: of those of one period all at once.
func (s *scan) all(ctx context.Context, tables [][]*item.Table) error {
	for _, some := range tables {
		var segments []read.Segment
		for _, t := range some {
			for n := range s.Segments {
				segments = append(segments,
					read.Segment{Table: t, Number: n, Of: s.Segments, Strong: s.Strong, Rate: s.Rate})
			}
		}
		err := request.AtMost(ctx, len(segments), len(segments), func(ctx context.Context, i int) error {
			return s.Model.Absent(segments[i].Table, s.skip(), s.segment(ctx, segments[i]))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// segment scans one segment.
func (s *scan) segment(ctx context.Context, at read.Segment) error {
	var u read.Usage
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.t.AddRead(u.Requests, u.Predicted, u.Consumed)
	}()
	w := &segmentReader{scan: s, separate: s.Model.Schema.Scattered}
	var failed error
	err := s.Reader.Scan(ctx, at, &u, func(p read.Page) bool {
		if s.Page != nil {
			s.Page()
		}
		failed = w.page(ctx, p.Items, p.More)
		return failed == nil
	})
	if failed == errEnough {
		return nil
	}
	return errors.Join(failed, err)
}

// segmentReader makes entities of the items of one segment.
type segmentReader struct {
	*scan
	// separate reports that entities are read by themselves when their roots are met.
	separate bool
	open     []*scanned
	pk       key.Scalar
	// ended is where the last answer did; before are items of the partition that match no field and
	// came before those that do.
	ended  item.Place
	before []item.Image
}

// scanned has the items of an entity that were read so far.
type scanned struct{ group }

// errEnough is the error with which the consumer ends the scan.
var errEnough = errors.New("enough")

// page takes the items of an answer.
func (w *segmentReader) page(ctx context.Context, items []item.Image, more bool) error {
	if w.separate {
		return w.roots(ctx, items)
	}
	for i := range items {
		f := &items[i]
		if f.PK != w.pk {
			if err := w.close(ctx, func(*scanned) bool { return true }); err != nil {
				return err
			}
			w.pk, w.before = f.PK, nil
		}
		if err := w.close(ctx,
			func(g *scanned) bool { return w.Model.Schema.Flat && g.over(f.SK, false) }); err != nil {
			return err
		}
		if err := w.join(f); err != nil {
			return err
		}
	}
	if len(items) > 0 {
		w.ended = items[len(items)-1].Place
	}
	if !more {
		return w.close(ctx, func(*scanned) bool { return true })
	}
	for _, g := range w.open {
		g.crossed = true
	}
	return nil
}

// join adds an item to its entity.
func (w *segmentReader) join(f *item.Image) error {
	m := w.Model
	identity, ok := m.Whose(f)
	if !ok {
		w.stray(*f, nil, true)
		switch {
		case f.Kind != nil || m.Schema.Flat || !m.Schema.PK.Holds(f.PK):
		case len(w.open) == 1: // a load counts it
			w.open[0].found = append(w.open[0].found, *f)
		default:
			other := *f
			other.Arguments, other.Wire, other.At, other.Values = nil, wire.Item{}, nil, nil
			w.before = append(w.before, other)
		}
		return nil
	}
	name := m.EntityName(identity)
	for _, g := range w.open {
		if g.name == name {
			g.found = append(g.found, *f)
			return nil
		}
	}
	g := &scanned{group: group{name: name, identity: identity, at: f.Place, found: append(w.before, *f)}}
	w.before = nil
	g.missed = w.ended.PK == f.PK
	if m.Schema.Flat {
		prefix, err := m.Schema.EntityPrefix(f.Kind, identity)
		if err != nil {
			return err
		}
		g.prefix, g.first = prefix, strings.TrimSuffix(prefix, string(m.Schema.Delim))
		g.order = g.first
		g.missed = g.missed && g.first <= w.ended.SK.Text && w.ended.SK.Text <= g.prefix+lastRune
	}
	w.open = append(w.open, g)
	return nil
}

// close hands over the entities that are over.
func (w *segmentReader) close(ctx context.Context, over func(*scanned) bool) error {
	for i := 0; i < len(w.open); {
		g := w.open[i]
		if !over(g) {
			i++
			continue
		}
		w.open = slices.Delete(w.open, i, i+1)
		if err := w.yieldEntity(ctx, g); err != nil {
			return err
		}
	}
	return nil
}

// yieldEntity yields an entity if it exists, and reports items that are not of this entity.
func (w *segmentReader) yieldEntity(ctx context.Context, g *scanned) error {
	t, done := w.tally()
	defer done()
	sel := selection.Entity(w.Model.Schema, g.identity)
	e, err := EntityOf(w.Model, sel)
	if err != nil {
		return err
	}
	r, err := w.Protocol.Among(ctx, e, g.found,
		staging.How{Strong: w.Strong, Missed: g.missed, Paged: g.crossed, Began: w.began}, t)
	if err != nil {
		return err
	}
	if r.Root == nil && w.Stray != nil { // the root is somewhere else, or nowhere
		if r, err = w.rootless(ctx, e, r, t); err != nil {
			return err
		}
	}
	if w.Stray != nil && !w.Strong && r.Root != nil {
		if r, err = w.sure(ctx, e, r, t); err != nil {
			return err
		}
	}
	for i := range r.Items {
		f := &r.Items[i]
		if f.Kind != nil && (f.Expired || !r.Joined(f) || !r.Live()) {
			w.stray(*f, r.Root, false)
		}
	}
	if !r.Live() {
		return nil
	}
	if !w.give(&Found{r, sel, e}) {
		return errEnough
	}
	return nil
}

// rootless asks for the root of items that came without one, strongly; one that has come since
// is read with all of its entity.
func (w *segmentReader) rootless(ctx context.Context, e *staging.Entity, r *staging.Reading,
	t *write.Tally,
) (*staging.Reading, error) {
	root, err := w.Protocol.ReadRoot(ctx, e, t)
	if err != nil || root == nil {
		return r, err
	}
	return w.Protocol.Read(ctx, e, read.Options{Strong: true}, t)
}

// sure reads the root strongly consistent if an item does not belong to the entity of a root that may
// be outdated. If it is outdated, the whole entity is read again.
func (w *segmentReader) sure(ctx context.Context, e *staging.Entity, r *staging.Reading,
	t *write.Tally,
) (*staging.Reading, error) {
	other := func(f item.Image) bool { return f.Kind != nil && !r.Joined(&f) }
	if !slices.ContainsFunc(r.Items, other) {
		return r, nil
	}
	root, err := w.Protocol.ReadRoot(ctx, e, t)
	if err != nil || root != nil && attr.Same(root.Header.Incarnation, r.Root.Header.Incarnation) {
		return r, err
	}
	return w.Protocol.Read(ctx, e, read.Options{Strong: true}, t)
}

// roots reads the entities of the roots in an answer. If the caller wants to know strays, it also reads
// the roots of other items.
func (w *segmentReader) roots(ctx context.Context, items []item.Image) error {
	m := w.Model
	var sels []selection.Selection
	asked := map[string]*item.Image{} // the roots of other items' entities, by the entity's name
	for i := range items {
		f := &items[i]
		identity, ok := m.Whose(f)
		switch {
		case !ok:
			w.stray(*f, nil, true)
		case m.IsRoot(f.Kind) && f.Header.Live() && !f.Expired:
			sels = append(sels, selection.Entity(m.Schema, identity))
		case m.IsRoot(f.Kind):
			w.stray(*f, f, false)
		case w.Stray != nil:
			if err := w.look(ctx, f, identity, asked); err != nil {
				return err
			}
		}
	}
	t, done := w.tally()
	defer done()
	for some := range slices.Chunk(sels, findsAtOnce) {
		found, err := w.FindMany(ctx, some, read.Options{Strong: w.Strong}, t)
		if err != nil {
			return err
		}
		for _, f := range found {
			if f.Live() && !w.give(f) {
				return errEnough
			}
		}
	}
	return nil
}

// look reports an item whose entity does not exist, or that belongs to another incarnation.
func (w *segmentReader) look(ctx context.Context, f *item.Image, identity []key.Value,
	asked map[string]*item.Image,
) error {
	name := w.Model.EntityName(identity)
	root, seen := asked[name]
	if !seen {
		t, done := w.tally()
		defer done()
		e, err := EntityOf(w.Model, selection.Selection{Identity: identity})
		if err != nil {
			return err
		}
		if root, err = w.Protocol.ReadRoot(ctx, e, t); err != nil {
			return err
		}
		asked[name] = root
	}
	r := &staging.Reading{Root: root, Asked: true}
	if root == nil || !r.Live() || !r.Joined(f) || f.Expired {
		w.stray(*f, root, false)
	}
	return nil
}

// tally returns a tally for additional reads, and a function that adds it to the total.
func (w *segmentReader) tally() (*write.Tally, func()) {
	t := &write.Tally{}
	return t, func() {
		w.Rate.Correct(0, t.RCU.Expected)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.t.AddAll([]write.Tally{*t})
	}
}

// stray calls the callback for an item, if there is one.
func (w *segmentReader) stray(f item.Image, root *item.Image, unknown bool) {
	if w.Stray == nil {
		return
	}
	w.Stray(Stray{f, root, unknown})
}
