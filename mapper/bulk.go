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
	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/save/bulk"
	"github.com/itemize/itemize/internal/save/operation"
	"github.com/itemize/itemize/internal/save/write"
)

// BulkLoad inserts every entity of a sequence with few calls: INSERT statements, 25 in a call, each
// with the condition that the item is missing, at the single price. The root item of an entity is
// written after its other items, so no load sees a part of the entity. Consecutive writes go to
// different partition keys, as far as a window of some thousand items allows. An entity with external
// values is inserted by itself, as by Save.
//
// The report lists failures, and the load continues: an entity that exists is a [BulkFailure] with
// ErrExists. With [Overwrite] the load replaces stored items without reading them. Throttled writes are
// sent again. An error that a retry cannot cure ends the load. [Resume] continues it with the same
// sequence, from the Next of the report; the load recognizes its own items.
//
// It needs a client with BatchExecuteStatement, unless Overwrite is set. It costs one WCU for each KB
// of each item, rounded up, and the units of the indexes.
func (m *Mapper[T]) BulkLoad(ctx context.Context, entities iter.Seq2[T, error], options ...BulkOption) (*BulkReport,
	error,
) {
	return m.get().bulkLoad(ctx, pointersOf(entities), options)
}

// pointersOf returns a sequence of pointers to the values, nil for a nil sequence.
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

// PlanBulkLoad returns the writes of BulkLoad and their predicted cost. It does no I/O. An entity that
// cannot be written is an error, in the order of the sequence.
func (m *Mapper[T]) PlanBulkLoad(entities iter.Seq2[T, error], options ...BulkOption) (*BulkPlan, error) {
	return m.get().planBulkLoad(pointersOf(entities), options)
}

// NoErrors turns a sequence without errors, such as slices.Values, into one for BulkLoad.
func NoErrors[T any](values iter.Seq[T]) iter.Seq2[T, error] {
	if values == nil {
		return nil // BulkLoad refuses it
	}
	return func(yield func(T, error) bool) {
		for v := range values {
			if !yield(v, nil) {
				return
			}
		}
	}
}

// BulkPlan is the predicted result of a bulk load.
type BulkPlan struct {
	// Entities and Items are numbers, Bytes is the sum of the item sizes.
	Entities int `json:"entities"`
	Items    int `json:"items"`
	Bytes    int `json:"bytes"`
	// WCU is the cost, including indexes.
	WCU cost.Units `json:"wcu"`
}

// BulkReport is the result of a bulk load.
type BulkReport struct {
	// Entities are stored. Items were written by this run; the others were stored before.
	Entities int `json:"entities"`
	Items    int `json:"items"`
	// Failed counts the entities that were not written. Failures are the first 100 of them.
	Failed   int           `json:"failed"`
	Failures []BulkFailure `json:"failures,omitempty"`
	// Next is where another load continues ([Resume]). All entities before it were written or have
	// failed. It is empty at the end of the sequence.
	Next string `json:"next,omitempty"`
	// WCU is the consumed capacity (some engines report none for INSERT statements: docs/engines.md).
	WCU float64 `json:"wcu"`
	// VectorBytes are the bytes that the writes to each vector index consumed, by "table/index"; nil for none.
	VectorBytes map[string]float64 `json:"vectorBytes,omitempty"`
	// Took is the duration.
	Took time.Duration `json:"took,format:nano"`
}

// BulkFailure is an entity that a bulk load could not write.
type BulkFailure struct {
	// Number is its position in the sequence, from 0.
	Number int `json:"number"`
	// Key is the key of its root item, or the zero Key if it has no valid key.
	Key Key   `json:"key"`
	Err error `json:"error"` // its text in JSON
}

// failure is an error whose JSON is its text.
type failure struct{ error }

func (f failure) Unwrap() error { return f.error }

func (f failure) MarshalText() ([]byte, error) { return []byte(f.Error()), nil }

// maxFailures is the number of failures that a report lists.
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
	rate                  request.Rate
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

// Overwrite replaces stored items with BatchWriteItem. It is faster than inserting, but unconditional:
// concurrent writes of the same entities are lost. Leftover items of a replaced entity stay hidden.
func Overwrite() BulkOption { return bulkFunc(func(s *bulkSettings) { s.overwrite = true }) }

// LoadID names a bulk load, so that it recognizes its own writes when it starts again after a crash.
// The name must not contain colons. Without LoadID the name is random, and is a part of each Next.
func LoadID(id string) BulkOption { return bulkFunc(func(s *bulkSettings) { s.id = id }) }

// Resume continues a bulk load of the same sequence at next: the Next of a report, or of a report that
// [OnProgress] got.
func Resume(next string) BulkOption {
	return bulkFunc(func(s *bulkSettings) { s.resume = next })
}

// WriteRate limits a bulk load to wcu WCU a second. It starts from the predicted size of items and
// corrects itself by the consumed capacity. Without it, the load is as fast as possible.
func WriteRate(wcu float64) BulkOption {
	return bulkFunc(func(s *bulkSettings) { s.rate = request.RateOf(wcu) })
}

// OnProgress calls f with the report so far, at most twice a second, and at the end. Calls do not
// overlap.
func OnProgress(f func(BulkReport)) BulkOption {
	return bulkFunc(func(s *bulkSettings) {
		if f != nil {
			s.progress = append(s.progress, func(p bulkProgress) { f(p.BulkReport) })
		}
	})
}

// ProgressLine shows the progress in one line if f is a terminal. If total, the number of entities in
// the sequence, is not 0, it shows the remaining time. It writes nothing to a pipe or file.
func ProgressLine(f *os.File, total int) BulkOption {
	return bulkFunc(func(s *bulkSettings) {
		s.total = total
		info, err := f.Stat()
		if err == nil && info.Mode()&os.ModeCharDevice != 0 {
			s.progress = append(s.progress, func(p bulkProgress) { _, _ = f.WriteString(p.line()) })
		}
	})
}

// OnFailure calls f with each entity that was not written. Calls do not overlap. The report lists only
// the first 100.
func OnFailure(f func(BulkFailure)) BulkOption {
	return bulkFunc(func(s *bulkSettings) { s.failures = f })
}

// check refuses settings that are invalid or exclude each other.
func (s *bulkSettings) check(g *engine) error {
	switch {
	case strings.Contains(s.id, ":"):
		return g.model.Errorf("LoadID is %q: leave the colons out", s.id)
	case s.rate.Check() != nil:
		return g.model.Errorf("WriteRate is %w", s.rate.Check())
	case s.total < 0:
		return g.model.Errorf("ProgressLine got a total of %d: pass the number of entities, or 0", s.total)
	case s.parallel < 0:
		return g.model.Errorf("Concurrency is %d: use 1 or more, or leave it out", s.parallel)
	}
	return nil
}

// resumed parses the argument of Resume.
func (s *bulkSettings) resumed(g *engine) error {
	if s.resume == "" {
		return nil
	}
	id, number, ok := strings.Cut(s.resume, ":")
	n, err := strconv.Atoi(number)
	switch {
	case !ok || err != nil || n < 0 || id == "":
		return g.model.Errorf("Resume got %q: pass the Next of a report", s.resume)
	case s.id != "" && s.id != id:
		return g.model.Errorf("Resume continues the load %s, but LoadID names %s: leave LoadID out", id, s.id)
	}
	s.id, s.from = id, n
	return nil
}

// bulkProgress is the progress of a bulk load.
type bulkProgress struct {
	BulkReport
	// Total is the number of entities, 0 if unknown. PerSecond is the number of items written a second
	// so far. Left is the remaining time at this rate, 0 if Total is unknown.
	Total     int
	PerSecond float64
	Left      time.Duration
	// next is the number of the entity at Next.
	next int
	// Last reports that the load has ended.
	Last bool
}

// bulkLoad is a running bulk load.
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

// set copies the results of the load to the report.
func (x *bulkLoad) set(r bulk.Report) {
	of := x.report
	x.id, x.next = r.ID, r.Next
	of.Entities, of.Items, of.Failed, of.Next, of.WCU, of.Took = r.Entities, r.Items, r.Failed, r.ID+":"+
		strconv.Itoa(r.Next), r.WCU, r.Took
	of.VectorBytes = r.Vectors
}

// progress returns the progress of a load, with its rate and the remaining time.
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
	error,
) {
	x, err := g.newBulk(options)
	if err != nil {
		return &BulkReport{}, g.public(err)
	}
	if entities == nil {
		return x.report,
			g.model.Errorf("the sequence of BulkLoad is nil: pass one, such as mapper.NoErrors(slices.Values(all))")
	}
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
	end(&draft{Tally: operation.Tally{Tally: x.Tally(), Mode: write.OneByOne}}, err)
	return x.report, err
}

// planBulkLoad is Mapper.PlanBulkLoad.
func (g *engine) planBulkLoad(entities iter.Seq2[any, error], options []BulkOption) (*BulkPlan, error) {
	x, err := g.newBulk(options)
	if err == nil && entities == nil {
		err = g.model.Errorf("the sequence of PlanBulkLoad is nil: pass one")
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

// line returns the progress as one line of a terminal, which replaces the line before.
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
