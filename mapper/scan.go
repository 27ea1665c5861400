package mapper

import (
	"cmp"
	"context"
	"errors"
	"iter"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/large/extern"
	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/read/search"
	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/save/staging"
)

// ScanOption is an option of Scan: [Segments], [ReadRate], [OnStray], [Strong], [ReceiptTo], [Concurrency], [Memory].
type ScanOption interface{ scan(*scanSettings) }

type scanSettings struct {
	search.Settings
	segments int
	rate     request.Rate
	strays   func(Stray)
	invalid  func(Invalid)
	page     func()
}

type scanFunc func(*scanSettings)

func (f scanFunc) scan(s *scanSettings) { f(s) }

// Segments scans the table in n parallel segments, 1 to 1,000,000. The default is 1. Each needs memory
// for an answer of up to 1 MB, and an entity.
func Segments(n int) ScanOption { return scanFunc(func(s *scanSettings) { s.segments = n }) }

// ReadRate limits a scan to rcu RCU a second, over all segments. Without it a scan is as fast as
// possible.
func ReadRate(rcu float64) ScanOption {
	return scanFunc(func(s *scanSettings) { s.rate = request.RateOf(rcu) })
}

// OnStray calls report with each item that does not belong to a live entity. Calls do not overlap.
// Before it reports an item without a root item, the scan reads the root item strongly consistently.
// That is one read for each such entity, or for every entity if other items can be between the items
// of an entity. For a model with several tables it scans all of them. Without OnStray such items are
// skipped.
func OnStray(report func(Stray)) ScanOption {
	return scanFunc(func(s *scanSettings) { s.strays = report })
}

// OnInvalid calls report with each entity that cannot be decoded, and the scan goes on. Calls do not
// overlap. Without it, such an entity ends the scan.
func OnInvalid(report func(Invalid)) ScanOption {
	return scanFunc(func(s *scanSettings) { s.invalid = report })
}

// Invalid is an entity with a stored value that does not fit its field (*StoredValueError), or with a large value
// that is damaged (large.ErrCorrupt).
type Invalid struct {
	// Table and Key are those of its root item.
	Table string
	Key   map[string]types.AttributeValue
	Err   error
}

// Stray is an item, found by a scan, that does not belong to a live entity.
type Stray struct {
	Key Key
	// Field is the field of the model, "" for an item of another model.
	Field string
	// State is the state of the item:
	//   - "staged", "deleting": an insert or a delete of its entity is unfinished
	//   - "expired": its time to live has passed
	//   - "orphan": its entity has no root item
	//   - "dead": it is a leftover item of an earlier entity with the same key
	//   - "guard": it is the guard of a unique value, or the note of one
	//   - "unknown": it belongs to another model
	State string
	// Bytes is the size of the item.
	Bytes int
}

// Scan reads every entity of the model. It reads all items of its tables, in no order, and pays for all
// of them, including items of other models. It yields entities one at a time, and keeps one answer and
// one entity of each segment in memory. If the items of an entity are in several tables, the scan finds
// its root item, and reads the rest for several entities at a time.
//
// A scan is not a snapshot: each entity is as Load would return it. An entity that is inserted, deleted
// or moved in the meantime may be missing. An error ends the scan.
func (m *Mapper[T]) Scan(ctx context.Context, options ...ScanOption) iter.Seq2[*Entity[T], error] {
	return func(yield func(*Entity[T], error) bool) {
		var settings scanSettings
		for _, o := range options {
			if o != nil {
				o.scan(&settings)
			}
		}
		var t draft
		ctx, end := m.get().observe(ctx, "Scan")
		ended := false
		var failed error
		err := m.get().scan(ctx, &settings, &t, func(f *search.Found) bool {
			e := &Entity[T]{}
			s, err := m.get().decodeFound(ctx, f, &e.Value, &t)
			err = m.get().public(err)
			if settings.invalid != nil &&
				(errors.As(err, new(*StoredValueError)) || errors.Is(err, extern.ErrCorrupt)) {
				at := f.RootPlace()
				settings.invalid(Invalid{at.Table.Name, at.Key(), err})
				return true
			}
			if err != nil {
				failed, ended = err, true
				yield(nil, failed)
				return false
			}
			e.set(s)
			ended = !yield(e, nil)
			return !ended
		})
		err = m.get().public(err)
		end(&t, cmp.Or(failed, err))
		deliver(settings.Settings, &t)
		if err != nil && !ended {
			yield(nil, err)
		}
	}
}

// scan checks the settings and scans.
func (g *engine) scan(ctx context.Context, s *scanSettings, t *draft, give func(*search.Found) bool) error {
	switch {
	case s.segments < 0 || s.segments > 1_000_000:
		return g.model.Errorf("Segments is %d: DynamoDB takes 1 to 1000000", s.segments)
	case s.rate.Check() != nil:
		return g.model.Errorf("ReadRate is %w", s.rate.Check())
	}
	o := search.ScanOptions{Strong: s.Strong, Segments: max(s.segments, 1), Rate: s.rate.Limiter(1), Page: s.page}
	if s.strays != nil {
		o.Stray = func(x search.Stray) { s.strays(g.strayOf(x)) }
	}
	if s.SkipMissing {
		o.Skip = t.skip
	}
	return g.search.Scan(ctx, o, &t.Tally.Tally, give)
}

// strayOf describes an item that does not belong to a live entity.
func (g *engine) strayOf(x search.Stray) Stray {
	out := Stray{Key: keyOf(x.Place), Bytes: x.Size, State: "unknown"}
	if x.Unknown {
		if model.IsGuard(x.PK) {
			out.State = "guard"
		}
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
		out.State = g.model.StateOf(x.Root)
	}
	return out
}
