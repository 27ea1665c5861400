package mapper

import (
	"cmp"
	"context"
	"iter"

	"github.com/itemize/itemize/internal/flow"
	"github.com/itemize/itemize/internal/search"
	"github.com/itemize/itemize/internal/staging"
)

// ScanOption is an option of Scan: [Segments], [ReadRate], [OnStray], [Strong], [ReceiptTo], [Concurrency], [Memory].
type ScanOption interface{ scan(*scanSettings) }

type scanSettings struct {
	search.Settings
	segments int
	rate     flow.Rate
	strays   func(Stray)
}

type scanFunc func(*scanSettings)

func (f scanFunc) scan(s *scanSettings) { f(s) }

// Segments scans the table in so many segments at once, 1 to 1,000,000; 1 without it. Each keeps
// an answer of up to 1 MB, and an entity.
func Segments(n int) ScanOption { return scanFunc(func(s *scanSettings) { s.segments = n }) }

// ReadRate bounds what a scan reads, in RCU a second over all of its segments: it asks for as many
// items as that allows, and waits. Without it a scan reads as fast as it can.
func ReadRate(rcu float64) ScanOption {
	return scanFunc(func(s *scanSettings) { s.rate = flow.RateOf(rcu) })
}

// OnStray has report called with each item that is not of a live entity, one call at a time. What has no root
// is looked for strongly before that, which costs a read of each such entity, and of a model whose
// entities do not lie together of each entity; of a model with several tables the others are scanned
// as well. Without it such items are passed over.
func OnStray(report func(Stray)) ScanOption {
	return scanFunc(func(s *scanSettings) { s.strays = report })
}

// Stray is an item that a scan met and that is not of a live entity of the model.
type Stray struct {
	Key Key
	// Field is the model's field, "" for an item that is none of the model's.
	Field string
	// State is what the item is:
	//   - "staged", "deleting": an insert, or a delete, of the entity is not finished
	//   - "expired": its time to live is over
	//   - "orphan": its entity has no root
	//   - "dead": it remains from another entity of its key
	//   - "unknown": it is none of the model's
	State string
	// Bytes is the item's size.
	Bytes int
}

// Scan reads every entity of the model: all of its tables' items, in no order, at the price of their
// sizes, whoever else is in the tables. Entities come while it reads, one at a time, with no more
// kept in memory than an answer of each segment and an entity of each; where an entity's items lie
// in several tables the scan meets its root, and the rest is read for some entities at a time.
//
// A scan is no snapshot: each entity is as Load would see it, and one that is inserted, deleted or
// moved meanwhile may be seen or not. An error ends it.
func (m *Mapper[T]) Scan(ctx context.Context, options ...ScanOption) iter.Seq2[*Entity[T], error] {
	return func(yield func(*Entity[T], error) bool) {
		var settings scanSettings
		for _, o := range options {
			if o != nil {
				o.scan(&settings)
			}
		}
		var t tally
		ctx, end := m.engine.observe(ctx, "Scan")
		ended := false
		var failed error
		err := m.engine.scan(ctx, &settings, &t, func(f *search.Found) bool {
			e := &Entity[T]{}
			s, err := m.engine.decodeFound(ctx, f, &e.Value, &t)
			if err != nil {
				failed, ended = m.engine.public(err), true
				yield(nil, failed)
				return false
			}
			e.set(s)
			ended = !yield(e, nil)
			return !ended
		})
		err = m.engine.public(err)
		end(&t, cmp.Or(failed, err))
		deliver(settings.Settings, &t)
		if err != nil && !ended {
			yield(nil, err)
		}
	}
}

// scan checks the settings, and scans.
func (g *engine) scan(ctx context.Context, s *scanSettings, t *tally, give func(*search.Found) bool) error {
	switch {
	case s.segments < 0 || s.segments > 1_000_000:
		return g.model.Errorf("Segments is %d: DynamoDB takes 1 to 1000000", s.segments)
	case s.rate.Check() != nil:
		return g.model.Errorf("ReadRate is %w", s.rate.Check())
	}
	o := search.ScanOptions{Strong: s.Strong, Segments: max(s.segments, 1), Rate: s.rate.Limiter(1)}
	if s.strays != nil {
		o.Stray = func(x search.Stray) { s.strays(g.strayOf(x)) }
	}
	if s.SkipMissing {
		o.Skip = t.skip
	}
	return g.search.Scan(ctx, o, &t.Tally.Tally, give)
}

// strayOf says what an item is that is not of a live entity.
func (g *engine) strayOf(x search.Stray) Stray {
	out := Stray{Key: keyOf(x.Place), Bytes: x.Size, State: "unknown"}
	if x.Unknown {
		return out
	}
	out.Field = x.Kind.Name
	live := &staging.Reading{Root: x.Root, Asked: true}
	switch {
	case x.Root == nil:
		out.State = "orphan"
	case x.Root.Header.Live() && x.Root.Expired, live.Live() && x.Expired:
		out.State = "expired"
	case live.Live(), x.Header.Incarnation != nil && !staging.Holds(x.Root, x.Header.Incarnation):
		out.State = "dead"
	default:
		out.State = g.stateOf(x.Root)
	}
	return out
}
