package mapper

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/aws/smithy-go"

	"github.com/itemize/itemize/internal/attr"
	"github.com/itemize/itemize/internal/item"
	"github.com/itemize/itemize/internal/write"
)

// beside is a transaction with patches, or raw items, of which it is not known whether it was applied.
// Its entities remember it, so that what is repeated with one of them is not written twice.
type beside struct {
	requests []*write.Request
	since    time.Time

	mu sync.Mutex // entities of one transaction may be used at once
	// settled reports that the caller has been told that it was applied, or that it cannot be any more;
	// told that he has been told that nothing tells.
	settled, told bool
	// later are transactions that were sent though this one may have been applied, as only one of both
	// can be.
	later []*beside
}

// maxBeside is how many transactions an entity remembers, the latest.
const maxBeside = 32

func (b *beside) isSettled() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.settled
}

func (b *beside) isTold() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.told
}

func (b *beside) settle() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.settled = true
}

// followers returns those that were sent later.
func (b *beside) followers() []*beside {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.later)
}

// remember notes the transaction with its entities, and with those that it repeats.
func (x *transaction) remember(requests []*write.Request) {
	b := &beside{since: x.sender.Now()}
	for _, r := range requests {
		kept := *r
		b.requests = append(b.requests, &kept)
	}
	for _, f := range x.fenced {
		f.mu.Lock()
		f.later = append(f.later, b)
		f.mu.Unlock()
	}
	for _, s := range x.states {
		s.beside = append(s.beside, b)
		s.beside = s.beside[max(0, len(s.beside)-maxBeside):]
	}
}

// repeats finds out about earlier transactions that wrote a patch, or a raw item, which is about to be
// sent: it may be the same. It refuses one that was applied, and one of which nothing tells, once.
func (x *transaction) repeats(ctx context.Context, p *write.Plan, t *tally) error {
	x.fenced = nil
	if p.Mode == write.Nothing {
		return nil
	}
	look := &looking{ctx: ctx, sender: x.sender, t: t, stored: map[item.Place]item.Attributes{}}
	now := p.Steps[0].Requests
	var open []*beside
	for _, b := range x.remembered() {
		if !b.holds(now) {
			continue
		}
		overtaken, err := look.any(b.followers())
		switch {
		case err != nil:
			return b.unknown(err)
		case overtaken:
			b.settle() // only one of both was applied
			continue
		case b.excludes(now):
			x.fenced = append(x.fenced, b)
			continue
		}
		applied, err := look.applied(b)
		switch {
		case err != nil:
			return b.unknown(err)
		case applied:
			b.settle()
			return b.wasApplied()
		case b.isTold(): // and it is to be sent all the same
			x.fenced = append(x.fenced, b)
		default:
			open = append(open, b)
		}
	}
	if len(open) > 0 {
		return untold(open, errUntold)
	}
	return nil
}

// remembered returns the transactions that the entities remember, and those that were sent in place of
// them with others. It drops what is settled.
func (x *transaction) remembered() []*beside {
	var all []*beside
	for _, s := range x.states {
		s.beside = slices.DeleteFunc(s.beside, (*beside).isSettled)
		all = append(all, s.beside...)
	}
	var out []*beside
	for ; len(all) > 0; all = all[1:] {
		if b := all[0]; !slices.Contains(out, b) {
			all = append(all, b.followers()...)
			if !b.isSettled() {
				out = append(out, b)
			}
		}
	}
	return out
}

// done notes that the transaction was applied, and so those that exclude it were not.
func (x *transaction) done() {
	for _, b := range x.fenced {
		b.settle()
	}
}

// refusedAgain is the error of a repetition that was refused: the transaction before may be why.
func (x *transaction) refusedAgain(ctx context.Context, refusal error, t *tally) error {
	look := &looking{ctx: ctx, sender: x.sender, t: t, stored: map[item.Place]item.Attributes{}}
	for _, b := range x.fenced {
		switch applied, err := look.applied(b); {
		case err != nil:
			return b.unknown(err)
		case applied:
			b.settle()
			return b.wasApplied()
		}
	}
	return untold(x.fenced, errors.New(refusal.Error())) // to do as it says would be to write twice
}

// errUntold says why it is not known whether a transaction was applied.
var errUntold = errors.New("what it wrote has been written since, or is not there: nothing was sent now")

// untold says of earlier transactions that nothing tells whether they were applied, once.
func untold(all []*beside, err error) error {
	for _, b := range all {
		b.mu.Lock()
		b.told = true
		b.mu.Unlock()
	}
	return all[0].unknown(err)
}

// forgotten are the places of the transaction's patches and raw items.
func (b *beside) forgotten() []item.Place {
	var places []item.Place
	for _, r := range b.requests {
		if write.Forgotten(r) {
			places = append(places, r.Place)
		}
	}
	return places
}

func (b *beside) unknown(err error) error {
	e := unknownOf(b.requests[0].Label, b.forgotten(), fmt.Errorf("the transaction of %s: %w", b.since.UTC().Format(time.RFC3339), err))
	e.patch = true
	return e
}

func (b *beside) wasApplied() error {
	text := ""
	for i, p := range b.forgotten() {
		if i > 0 {
			text += ", "
		}
		text += p.String()
	}
	return fmt.Errorf("%s: the transaction of %s, of which it was not known, was applied, with the patches and raw items in it (%s): nothing was sent now, so that none is written twice: leave out what stood in that one",
		b.requests[0].Label, b.since.UTC().Format(time.RFC3339), text)
}

// holds reports whether the transaction had a patch, or a raw item, that was given the same as one of
// the requests.
func (b *beside) holds(now []*write.Request) bool {
	return slices.ContainsFunc(b.requests, func(r *write.Request) bool {
		return write.Forgotten(r) && slices.ContainsFunc(now, r.SameGiven)
	})
}

// excludes reports whether requests that are about to be sent cannot be applied beside the transaction:
// both write one item on condition of one version, which never comes back.
func (b *beside) excludes(now []*write.Request) bool {
	return slices.ContainsFunc(b.requests, func(r *write.Request) bool {
		return r.Writes() && r.Expect.Version != nil && slices.ContainsFunc(now, func(o *write.Request) bool {
			return o.Writes() && o.Place == r.Place && o.Expect.Version != nil && attr.Same(r.Expect.Version, o.Expect.Version)
		})
	})
}

// looking reads the items of transactions, each once.
type looking struct {
	ctx    context.Context
	sender *write.Sender
	t      *tally
	stored map[item.Place]item.Attributes
}

// any reports whether one of the transactions was applied.
func (l *looking) any(all []*beside) (bool, error) {
	for _, b := range all {
		if applied, err := l.applied(b); applied || err != nil {
			return applied, err
		}
	}
	return false, nil
}

// applied reports whether one of a transaction's items shows that it was applied: what is not there,
// or as it was to be, shows nothing, and neither does what may not be read.
func (l *looking) applied(b *beside) (bool, error) {
	for _, r := range b.requests {
		if !r.Writes() || r.Kind == write.Delete || !r.Tells() {
			continue
		}
		stored, ok := l.stored[r.Place]
		if !ok {
			var err error
			if stored, err = l.sender.Stored(l.ctx, r, &l.t.Tally); err != nil && !denied(err) {
				return false, err
			}
			l.stored[r.Place] = stored
		}
		if r.Wrote(stored) {
			return true, nil
		}
	}
	return false, nil
}

func denied(err error) bool {
	var api smithy.APIError
	return errors.As(err, &api) && api.ErrorCode() == "AccessDeniedException"
}
