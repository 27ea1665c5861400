package mapper

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/itemize/itemize/internal/attr"
	"github.com/itemize/itemize/internal/item"
	"github.com/itemize/itemize/internal/write"
)

// beside is a transaction with patches, or raw items, of which it is not known whether it was applied.
// Its entities remember it, so that what is repeated with one of them is not written twice.
type beside struct {
	// attempts are the requests of the transaction, and of those that repeated it: at most one of them
	// was applied.
	attempts [][]*write.Request
	since    time.Time
}

// remember notes the transaction with its entities, as one with those that it repeats.
func (x *transaction) remember(requests []*write.Request) {
	b := &beside{since: x.sender.Now()}
	for _, f := range x.fenced {
		b.attempts, b.since = append(b.attempts, f.attempts...), f.since
	}
	var kept []*write.Request
	for _, r := range requests {
		c := *r
		kept = append(kept, &c)
	}
	b.attempts = append(b.attempts, kept)
	x.forget(x.fenced...)
	for _, s := range x.states {
		s.beside = append(s.beside, b)
	}
}

// forget drops transactions of which something has been said, or that cannot be applied any more.
func (x *transaction) forget(all ...*beside) {
	for _, s := range x.states {
		s.beside = slices.DeleteFunc(s.beside, func(b *beside) bool { return slices.Contains(all, b) })
	}
}

// repeats finds out about earlier transactions that wrote a patch, or a raw item, which is about to be
// sent: it may be the same. It refuses one that was applied, and one of which nothing tells, once.
func (x *transaction) repeats(ctx context.Context, p *write.Plan, t *tally) error {
	x.fenced = nil
	if p.Mode == write.Nothing {
		return nil
	}
	now := p.Steps[0].Requests
	var open []*beside
	for _, s := range x.states {
		for _, b := range s.beside {
			if slices.Contains(x.fenced, b) || slices.Contains(open, b) || !b.holds(now) {
				continue
			}
			applied, err := b.applied(ctx, x.sender, t)
			switch {
			case err != nil:
				return b.unknown(err)
			case applied:
				x.forget(b)
				return s.engine.model.Errorf("the transaction of %s, of which it was not known, was applied, with the patches and raw items in it: nothing was sent now, so that none is written twice: leave out what stood in that one",
					b.since.UTC().Format(time.RFC3339))
			case b.excludes(now):
				x.fenced = append(x.fenced, b)
			default:
				open = append(open, b)
			}
		}
	}
	if len(open) > 0 {
		return x.untold(open, errUntold)
	}
	return nil
}

// errUntold says why it is not known whether a transaction was applied.
var errUntold = fmt.Errorf("what it wrote has been written since, or is not there: nothing was sent now")

// untold says of earlier transactions that nothing tells whether they were applied, once.
func (x *transaction) untold(all []*beside, err error) error {
	x.forget(all...)
	return all[0].unknown(err)
}

func (b *beside) unknown(err error) error {
	var forgotten []item.Place
	last := b.attempts[len(b.attempts)-1]
	for _, r := range last {
		if write.Forgotten(r) {
			forgotten = append(forgotten, r.Place)
		}
	}
	e := unknownOf(last[0].Label, forgotten, fmt.Errorf("the transaction of %s: %w", b.since.UTC().Format(time.RFC3339), err))
	e.patch = true
	return e
}

// holds reports whether the transaction had a patch, or a raw item, that was given the same as one of
// the requests.
func (b *beside) holds(now []*write.Request) bool {
	return slices.ContainsFunc(slices.Concat(b.attempts...), func(r *write.Request) bool {
		return write.Forgotten(r) && slices.ContainsFunc(now, func(o *write.Request) bool { return o.Given == r.Given })
	})
}

// applied reports whether one of the transaction's items shows that it was applied: what is not there,
// or as it was to be, shows nothing.
func (b *beside) applied(ctx context.Context, s *write.Sender, t *tally) (bool, error) {
	for _, r := range slices.Concat(b.attempts...) {
		if !r.Writes() || r.Kind == write.Delete || !r.Tells() {
			continue
		}
		stored, err := s.Stored(ctx, r, &t.Tally)
		if err != nil || r.Wrote(stored) {
			return err == nil, err
		}
	}
	return false, nil
}

// excludes reports whether requests that are about to be sent cannot be applied beside any of the
// attempts.
func (b *beside) excludes(now []*write.Request) bool {
	return !slices.ContainsFunc(b.attempts, func(of []*write.Request) bool { return !exclude(of, now) })
}

// exclude reports whether only one of two transactions can be applied: both write an item as it was
// read, or as it is absent.
func exclude(a, b []*write.Request) bool {
	return slices.ContainsFunc(a, func(r *write.Request) bool {
		return r.Writes() && slices.ContainsFunc(b, func(o *write.Request) bool {
			same := r.Expect.Version != nil && attr.Same(r.Expect.Version, o.Expect.Version) || r.Expect.Absent && o.Expect.Absent
			return o.Writes() && o.Place == r.Place && same
		})
	})
}
