package mapper

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/bulk"
	"github.com/itemize/itemize/internal/flow"
)

// BulkLoad inserts every entity that a sequence yields, with as few calls as can be: INSERT statements,
// 25 a call, each on condition that nothing is there, at the single price. What is written one after
// the other lies under different partition keys, as far as there are such among some thousand items; an
// entity's root comes behind its other items, so that no load of it sees a part. An entity with values
// that lie outside of their items is inserted by itself, as Save does.
//
// What cannot be written is reported, and the rest goes on: an entity that is there is a [BulkFailure]
// with ErrExists. With Overwrite it replaces whatever is there, unseen. An error that no retry helps
// ends the load; it is taken up again by [Resume] with the report's Next, over the same sequence: what
// the load has written before is known as its own. Throttled writes are sent again.
//
// It needs a client that has BatchExecuteStatement, unless Overwrite is given. It costs, in WCU, one
// for each KB begun of each item, and what the indexes take.
func (m *Mapper[T]) BulkLoad(ctx context.Context, entities iter.Seq2[T, error], options ...BulkOption) (*BulkReport,
	error) {
	return m.engine.bulkLoad(ctx, pointersOf(entities), options)
}

// pointersOf returns the sequence of pointers to values, nil for nil.
func pointersOf[T any](entities iter.Seq2[T, error]) iter.Seq2[any, error] {
	if entities == nil {
		return nil
	}
	return func(yield func(any, error) bool) {
		for v, err := range entities {
			if !yield(&v, err) {
				return
			}
		}
	}
}

// PlanBulkLoad returns what BulkLoad of these entities would write, and cost. It does no I/O. An entity
// that cannot be written is an error, in the order of the sequence.
func (m *Mapper[T]) PlanBulkLoad(entities iter.Seq2[T, error], options ...BulkOption) (*BulkPlan, error) {
	return m.engine.planBulkLoad(pointersOf(entities), options)
}

// NoErrors makes a sequence for BulkLoad of one without errors, such as slices.Values of a slice.
func NoErrors[T any](values iter.Seq[T]) iter.Seq2[T, error] {
	if values == nil {
		return nil // which BulkLoad refuses
	}
	return func(yield func(T, error) bool) {
		for v := range values {
			if !yield(v, nil) {
				return
			}
		}
	}
}

// BulkPlan is what a bulk load would write.
type BulkPlan struct {
	// Entities and Items are how many, Bytes their sizes together.
	Entities int `json:"entities"`
	Items    int `json:"items"`
	Bytes    int `json:"bytes"`
	// WCU is what they cost, the indexes included.
	WCU cost.Units `json:"wcu"`
}

// BulkReport is what a bulk load has done.
type BulkReport struct {
	// Entities are those that are stored, Items the items that this run has written; the others were
	// there from before.
	Entities int `json:"entities"`
	Items    int `json:"items"`
	// Failed is how many entities were not written, Failures are the first 100 of them.
	Failed   int           `json:"failed"`
	Failures []BulkFailure `json:"failures,omitempty"`
	// Next is the place where another load continues ([Resume]): before the first entity of which it is
	// not known whether it was written. All before it were written, or have failed. It is empty at the
	// end of the sequence.
	Next string `json:"next,omitempty"`
	// WCU are the units that DynamoDB charged (some engines report none for INSERT statements:
	// docs/engines.md), and Took how long it took.
	WCU  float64       `json:"wcu"`
	Took time.Duration `json:"took,format:nano"`
}

// BulkFailure is an entity that a bulk load could not write.
type BulkFailure struct {
	// Number is its place in the sequence, from 0.
	Number int `json:"number"`
	// Key is that of its root, the zero Key where it has none that can be stored.
	Key Key   `json:"key"`
	Err error `json:"error"` // its text in JSON
}

// failure is an error whose JSON is its text.
type failure struct{ error }

func (f failure) Unwrap() error { return f.error }

func (f failure) MarshalText() ([]byte, error) { return []byte(f.Error()), nil }

// maxFailures bounds the failures that a report keeps.
const maxFailures = 100

// BulkOption is an option of BulkLoad: Overwrite, LoadID, Resume, WriteRate, Concurrency, ProgressLine,
// OnProgress, OnFailure.
type BulkOption interface{ bulk(*bulkSettings) }

type bulkFunc func(*bulkSettings)

func (f bulkFunc) bulk(s *bulkSettings) { f(s) }

type bulkSettings struct {
	overwrite             bool
	id, resume            string
	from, parallel, total int
	rate                  flow.Rate
	progress              []func(bulkProgress)
	failures              func(BulkFailure)
	now                   func() time.Time
}

func bulkSettingsOf(options []BulkOption) *bulkSettings {
	s := &bulkSettings{now: time.Now}
	for _, o := range options {
		if o != nil {
			o.bulk(s)
		}
	}
	return s
}

// Overwrite has a bulk load replace whatever items are there, by BatchWriteItem: it is faster, and
// whoever writes the same entities meanwhile loses what was written. What was left of an entity that is
// replaced is found by nobody.
func Overwrite() BulkOption { return bulkFunc(func(s *bulkSettings) { s.overwrite = true }) }

// LoadID names a bulk load, without colons, so that one that is begun again after a crash knows what it
// has written before. Without it the name is drawn, and is a part of each Next.
func LoadID(id string) BulkOption { return bulkFunc(func(s *bulkSettings) { s.id = id }) }

// Resume has a bulk load continue where another one of the same sequence has ended: at the Next of its
// report, also of one that [OnProgress] got.
func Resume(next string) BulkOption {
	return bulkFunc(func(s *bulkSettings) { s.resume = next })
}

// WriteRate bounds what a bulk load writes, in WCU a second: by what items are expected to take, put
// right by what DynamoDB reports. Without it it is as fast as it can.
func WriteRate(wcu float64) BulkOption {
	return bulkFunc(func(s *bulkSettings) { s.rate = flow.RateOf(wcu) })
}

// OnProgress has f called with a report so far, twice a second at most, and at the end; one call at a time.
func OnProgress(f func(BulkReport)) BulkOption {
	return bulkFunc(func(s *bulkSettings) {
		if f != nil {
			s.progress = append(s.progress, func(p bulkProgress) { f(p.BulkReport) })
		}
	})
}

// ProgressLine shows progress in one line, if f is a terminal: with the time that is left if total, the
// number of entities in the sequence, is not 0. Into a pipe or file it writes nothing.
func ProgressLine(f *os.File, total int) BulkOption {
	return bulkFunc(func(s *bulkSettings) {
		s.total = total
		info, err := f.Stat()
		if err == nil && info.Mode()&os.ModeCharDevice != 0 {
			s.progress = append(s.progress, func(p bulkProgress) { _, _ = f.WriteString(p.line()) })
		}
	})
}

// OnFailure has f called with each entity that is not written, one call at a time; the report has the first
// 100.
func OnFailure(f func(BulkFailure)) BulkOption {
	return bulkFunc(func(s *bulkSettings) { s.failures = f })
}

// check refuses settings that mean nothing.
func (s *bulkSettings) check(g *engine) error {
	switch {
	case strings.Contains(s.id, ":"):
		return g.model.Errorf("LoadID is %q: leave the colons out", s.id)
	case s.rate.Check() != nil:
		return g.model.Errorf("WriteRate is %w", s.rate.Check())
	case s.total < 0:
		return g.model.Errorf("ProgressLine got a total of %d: give how many entities there are, or 0", s.total)
	case s.parallel < 0:
		return g.model.Errorf("Concurrency is %d: give 1 or more, or leave it out", s.parallel)
	}
	return nil
}

// resumed takes the place that Resume names apart.
func (s *bulkSettings) resumed(g *engine) error {
	if s.resume == "" {
		return nil
	}
	id, number, ok := strings.Cut(s.resume, ":")
	n, err := strconv.Atoi(number)
	switch {
	case !ok || err != nil || n < 0 || id == "":
		return g.model.Errorf("Resume got %q: give it the Next of a report", s.resume)
	case s.id != "" && s.id != id:
		return g.model.Errorf("Resume goes on with the load %s, and LoadID names %s: leave that out", id, s.id)
	}
	s.id, s.from = id, n
	return nil
}

// bulkProgress is how far a bulk load is.
type bulkProgress struct {
	BulkReport
	// Total is how many entities there are, 0 where that is not known; PerSecond the items written a
	// second so far, Left the time that the rest takes at this rate, 0 where Total is not known.
	Total     int
	PerSecond float64
	Left      time.Duration
	// next is the number of the entity at Next.
	next int
	// Last reports that the load has ended.
	Last bool
}

// bulkLoad is a bulk load under way.
type bulkLoad struct {
	*bulk.Job
	report *BulkReport
	id     string
	next   int // the number of the entity at the report's Next
}

func (g *engine) newBulk(options []BulkOption) (*bulkLoad, error) {
	s := bulkSettingsOf(options)
	x := &bulkLoad{report: &BulkReport{Next: s.resume}}
	if err := s.check(g); err != nil {
		return x, err
	}
	if err := s.resumed(g); err != nil {
		return x, err
	}
	x.next = s.from
	var err error
	x.Job, err = bulk.NewJob(g.env, g.client, bulk.Settings{
		Overwrite: s.overwrite, ID: s.id, From: s.from, Parallel: s.parallel, Rate: s.rate, Now: s.now,
		Failed: func(f bulk.Failure) {
			failure := BulkFailure{Number: f.Number, Err: failure{g.public(f.Err)}}
			if f.Root.Table != nil {
				failure.Key = keyOf(f.Root)
			}
			if len(x.report.Failures) < maxFailures {
				x.report.Failures = append(x.report.Failures, failure)
			}
			if s.failures != nil {
				s.failures(failure)
			}
		},
		Progress: func(r bulk.Report, last bool) {
			x.set(r)
			p := x.report.progress(s, last)
			p.next = x.next
			for _, f := range s.progress {
				f(p)
			}
		},
	})
	if err == nil {
		x.set(x.Report())
	}
	return x, err
}

// set copies what the load has done to the report.
func (x *bulkLoad) set(r bulk.Report) {
	of := x.report
	x.id, x.next = r.ID, r.Next
	of.Entities, of.Items, of.Failed, of.Next, of.WCU, of.Took = r.Entities, r.Items, r.Failed, r.ID+":"+
		strconv.Itoa(r.Next), r.WCU, r.Took
}

// progress returns the progress of a load, with its rate and the time that is left.
func (r *BulkReport) progress(s *bulkSettings, last bool) bulkProgress {
	p := bulkProgress{BulkReport: *r, Total: s.total, Last: last}
	p.Failures = slices.Clone(r.Failures)
	if took := r.Took.Seconds(); took > 0 {
		p.PerSecond = float64(r.Items) / took
		if done := r.Entities + r.Failed; p.Total > 0 && done > 0 {
			p.Left = time.Duration(float64(max(p.Total-s.from-done, 0)) / float64(done) * float64(r.Took))
		}
	}
	return p
}

// bulkLoad is Mapper.BulkLoad.
func (g *engine) bulkLoad(ctx context.Context, entities iter.Seq2[any, error], options []BulkOption) (*BulkReport,
	error) {
	x, err := g.newBulk(options)
	if err != nil {
		return &BulkReport{}, g.public(err)
	}
	if entities == nil {
		return x.report,
			g.model.Errorf("BulkLoad got no sequence: give it one, such as mapper.NoErrors(slices.Values(all))")
	}
	var t tally
	ctx, end := g.observe(ctx, "BulkLoad")
	next, stop := iter.Pull2(entities)
	defer stop()
	number, failed := -1, error(nil)
	from := x.next
	err = x.Run(ctx, func() *bulk.Entity {
		for {
			v, err, ok := next()
			number++
			switch {
			case !ok:
				return nil
			case err != nil:
				failed = err
				return nil
			case number >= from:
				return x.Entity(number, v)
			}
		}
	})
	if err != nil {
		err = g.model.Errorf("the load %s has ended before entity %d: %w", x.id, x.next, g.public(err))
	}
	if err = cmp.Or(failed, err); err == nil {
		x.report.Next = ""
	}
	end(&t, err)
	return x.report, err
}

// planBulkLoad is Mapper.PlanBulkLoad.
func (g *engine) planBulkLoad(entities iter.Seq2[any, error], options []BulkOption) (*BulkPlan, error) {
	x, err := g.newBulk(options)
	if err == nil && entities == nil {
		err = g.model.Errorf("PlanBulkLoad got no sequence: give it one, such as mapper.NoErrors(slices.Values(all))")
	}
	if err != nil {
		return nil, g.public(err)
	}
	p, number := &BulkPlan{}, 0
	for v, err := range entities {
		if err != nil {
			return p, err
		}
		e := x.Entity(number, v)
		if e.Err != nil {
			return p, fmt.Errorf("entity %d of the sequence: %w", number, g.public(e.Err))
		}
		number++
		p.Entities++
		p.Items += max(e.Alone-1, 0)
		for _, i := range e.Items {
			p.Items++
			p.Bytes += i.Size
			p.WCU = p.WCU.Add(i.Units)
		}
	}
	return p, nil
}

// line is the progress in one line of a terminal, over the line before.
func (p *bulkProgress) line() string {
	text := fmt.Sprintf("%d entities", p.next)
	if p.Total > 0 {
		text = fmt.Sprintf("%d of %d entities", p.next, p.Total)
	}
	text += fmt.Sprintf(", %d items, %.0f a second, %.0f WCU", p.Items, p.PerSecond, p.WCU)
	if p.Failed > 0 {
		text += fmt.Sprintf(", %d failed", p.Failed)
	}
	if p.Left > 0 && !p.Last {
		text += ", " + p.Left.Round(time.Second).String() + " left"
	}
	end := ""
	if p.Last {
		end = "\n"
	}
	return "\r" + text + strings.Repeat(" ", max(100-len(text), 0)) + end
}
