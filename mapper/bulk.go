package mapper

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"time"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/bulk"
)

// BulkLoad inserts every entity that a sequence yields, with as few calls as can be: INSERT statements,
// 25 a call, each on condition that nothing is there, at the single price. What is written one after
// the other lies under different partition keys, as far as there are such among some thousand items;
// an entity's root comes behind its other items, so that no load of it sees a part. An entity with values that lie outside of their items is
// inserted by itself, as Save does.
//
// What cannot be written is reported, and the rest goes on: an entity that is there is a [BulkFailure]
// with ErrExists. With Overwrite it replaces whatever is there, unseen. An error that no retry helps
// ends the load; it is taken up again by [ResumeAt] with the report's Next and the same [LoadID], over
// the same sequence: what the load has written before is known as its own. Throttled writes are sent
// again.
//
// It needs a client that has BatchExecuteStatement, unless Overwrite is given. It costs, in WCU, one
// for each KB begun of each item, and what the indexes take.
func (m *Mapper[T]) BulkLoad(ctx context.Context, entities iter.Seq2[T, error], options ...BulkOption) (*BulkReport, error) {
	g, s := m.engine, bulkSettingsOf(options)
	x, err := newBulk(g, s)
	if err != nil {
		return &BulkReport{}, err
	}
	if entities == nil {
		return x.report, g.model.Errorf("BulkLoad got no sequence: give it one, such as mapper.Each(slices.Values(all))")
	}
	var t tally
	ctx, end := g.observe(ctx, OpBulkLoad)
	x.tally = &t
	next, stop := iter.Pull2(entities)
	defer stop()
	number, failed := -1, error(nil)
	err = x.run(ctx, func() *bulk.Entity {
		for {
			v, err, ok := next()
			number++
			switch {
			case !ok:
				return nil
			case err != nil:
				failed = err
				return nil
			case number >= s.from:
				return x.entity(number, &v)
			}
		}
	})
	err = cmp.Or(failed, err)
	end(&t, err)
	return x.report, err
}

// PlanBulkLoad returns what BulkLoad of these entities would write, and cost. It does no I/O. An entity
// that cannot be written is an error, in the order of the sequence.
func (m *Mapper[T]) PlanBulkLoad(entities iter.Seq2[T, error], options ...BulkOption) (*BulkPlan, error) {
	x, err := newBulk(m.engine, bulkSettingsOf(options))
	if err == nil && entities == nil {
		err = m.engine.model.Errorf("PlanBulkLoad got no sequence: give it one, such as mapper.Each(slices.Values(all))")
	}
	if err != nil {
		return nil, err
	}
	p, number := &BulkPlan{}, 0
	for v, err := range entities {
		if err != nil {
			return p, err
		}
		e := x.entity(number, &v)
		if e.Err != nil {
			return p, fmt.Errorf("entity %d of the sequence: %w", number, e.Err)
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

// Each makes a sequence for BulkLoad of one without errors, such as slices.Values of a slice.
func Each[T any](values iter.Seq[T]) iter.Seq2[T, error] {
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
	// LoadID is the load's, to go on with.
	LoadID string `json:"loadID"`
	// Entities are those that are stored, Items the items that this run has written; the others were
	// there from before.
	Entities int `json:"entities"`
	Items    int `json:"items"`
	// Failed is how many entities were not written, Failures are the first 100 of them.
	Failed   int           `json:"failed"`
	Failures []BulkFailure `json:"failures,omitempty"`
	// Next is the number of the first entity, from 0, of which it is not known whether it was written:
	// all before it were written, or have failed.
	Next int `json:"next"`
	// WCU is what DynamoDB charged, and Took how long it took.
	WCU  float64       `json:"wcu"`
	Took time.Duration `json:"took"`
}

// BulkFailure is an entity that a bulk load could not write.
type BulkFailure struct {
	// Number is its place in the sequence, from 0.
	Number int
	// Key is that of its root, the zero Key where it has none that can be stored.
	Key Key
	Err error
}

// maxFailures bounds the failures that a report keeps.
const maxFailures = 100

// BulkOption is an option of BulkLoad: Overwrite, LoadID, ResumeAt, WriteRate, Parallel, OfTotal,
// Progress, ProgressTo, Failures.
type BulkOption interface{ bulk(*bulkSettings) }

type bulkFunc func(*bulkSettings)

func (f bulkFunc) bulk(s *bulkSettings) { f(s) }

type bulkSettings struct {
	overwrite             bool
	id                    string
	from, parallel, total int
	rate                  float64
	progress              []func(BulkProgress)
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

// LoadID names a bulk load, so that one that goes on after a crash knows what it has written before.
// Without it the id is drawn, and stands in the report and in each [BulkProgress].
func LoadID(id string) BulkOption { return bulkFunc(func(s *bulkSettings) { s.id = id }) }

// ResumeAt has a bulk load pass over the first n entities of the sequence: the Next of a report, or of
// a BulkProgress that was kept.
func ResumeAt(n int) BulkOption { return bulkFunc(func(s *bulkSettings) { s.from = n }) }

// WriteRate bounds what a bulk load writes, in WCU a second: by what items are expected to take, put
// right by what DynamoDB reports. Without it it is as fast as it can.
func WriteRate(wcu float64) BulkOption { return bulkFunc(func(s *bulkSettings) { s.rate = wcu }) }

// OfTotal tells how many entities the sequence has, so that progress shows the time left.
func OfTotal(n int) BulkOption { return bulkFunc(func(s *bulkSettings) { s.total = n }) }

// Progress is called now and then, twice a second at most, and at the end; one call at a time.
func Progress(f func(BulkProgress)) BulkOption {
	return bulkFunc(func(s *bulkSettings) {
		if f != nil {
			s.progress = append(s.progress, f)
		}
	})
}

// ProgressTo shows progress in one line, where f is a terminal; into a pipe or file it writes nothing.
func ProgressTo(f *os.File) BulkOption {
	return bulkFunc(func(s *bulkSettings) {
		if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			s.progress = append(s.progress, func(p BulkProgress) { _, _ = f.WriteString(p.line()) })
		}
	})
}

// Failures is called with each entity that is not written, one call at a time; the report has the first
// 100.
func Failures(f func(BulkFailure)) BulkOption {
	return bulkFunc(func(s *bulkSettings) { s.failures = f })
}

// errSameLoad says that what is there is of this load, and not what it has written.
var errSameLoad = errors.New("it was written by this load before, and is another now: somebody has changed it since, or the sequence has its key twice; it is left as it is")

// statements returns the client's BatchExecuteStatement.
func statements(c Client) (bulk.InsertClient, error) {
	if s, ok := c.(bulk.InsertClient); ok {
		return s, nil
	}
	return nil, errors.New("BulkLoad inserts with BatchExecuteStatement, which the client does not have: use a *dynamodb.Client, or Overwrite")
}

// check refuses settings that mean nothing.
func (s *bulkSettings) check(g *engine) error {
	switch {
	case s.from < 0:
		return g.model.Errorf("ResumeAt is %d: give it the Next of a report", s.from)
	case s.from > 0 && s.id == "":
		return g.model.Errorf("ResumeAt goes on with a load: name it with LoadID, as the report has it")
	case !(s.rate == 0 || s.rate >= 0.001 && s.rate < 1e9):
		return g.model.Errorf("WriteRate is %v WCU a second: give 0.001 or more, or leave it out", s.rate)
	case s.total < 0:
		return g.model.Errorf("OfTotal is %d: give how many entities there are, or leave it out", s.total)
	case s.parallel < 0:
		return g.model.Errorf("Parallel is %d: give 1 or more, or leave it out", s.parallel)
	}
	if by := g.model.Schema.Shards; by != nil && !by.Random() && len(by.Counts) > 1 {
		return g.model.Errorf("the number of shards changes (%v), so that each insert is checked on several, which a bulk load does not do: load before or after, or insert with Save", slices.Clone(by.Counts))
	}
	return nil
}
