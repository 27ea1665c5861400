package operation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/smithy-go"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/save/write"
)

// remembered is a transaction with patches or raw requests whose outcome is unknown. Its entities
// remember it, so that an application that repeats the transaction does not write the patches twice.
type remembered struct {
	requests []*write.Request
	// forgotten are those of patches, and raw ones: no entity keeps them as unresolved writes.
	forgotten []*write.Request
	since     time.Time

	mu sync.Mutex // entities of one transaction may be used at once
	// resolved reports that the caller knows that it was applied, or that it can no longer be applied.
	// reported reports that the caller knows that nothing shows whether it was applied.
	resolved, reported atomic.Bool
	// later are transactions that were sent although this one may have been applied, because only one of both can be.
	later []*remembered
}

// maxRemembered is how many transactions an entity remembers, the latest.
const maxRemembered = 32

// followers returns the transactions that were sent later in its place.
func (r *remembered) followers() []*remembered {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.later)
}

// remember has the entities of the operation, and the transactions that it repeats, remember its requests.
func (x *Operation) remember(requests []*write.Request) {
	now := &remembered{since: x.sender.Now()}
	for _, r := range requests {
		kept := *r
		now.requests = append(now.requests, &kept)
		if kept.Arguments != nil && kept.Writes() {
			now.forgotten = append(now.forgotten, &kept)
		}
	}
	for _, r := range x.repeated {
		r.mu.Lock()
		r.later = append(r.later, now)
		r.mu.Unlock()
	}
	for _, p := range x.parts {
		if e := p.base().entity; e != nil {
			e.remembered = append(e.remembered, now)
			e.remembered = e.remembered[max(0, len(e.remembered)-maxRemembered):]
		}
	}
}

// refuseRepeated refuses a plan with a patch or raw request of a remembered transaction that was applied, and once if
// nothing shows whether it was.
func (x *Operation) refuseRepeated(ctx context.Context, plan *write.Plan, t *Tally) error {
	x.repeated = nil
	all := x.remembered()
	if len(all) == 0 || plan.Mode == write.Nothing {
		return nil
	}
	look := &lookup{ctx: ctx, sender: x.sender, t: t, stored: map[item.Place]item.Attributes{}}
	now := plan.Steps[0].Requests
	var open []*remembered
	repeats := func(q *write.Request) bool { return slices.ContainsFunc(now, q.SameArguments) }
	for _, r := range all {
		if !slices.ContainsFunc(r.forgotten, repeats) {
			continue
		}
		followed, err := look.applied(r.followers()...)
		switch {
		case err != nil:
			return r.unknown(err)
		case followed:
			r.resolved.Store(true) // only one of both was applied
			continue
		case r.excludedBy(now):
			x.repeated = append(x.repeated, r)
			continue
		}
		if err := look.refuse(r); err != nil {
			return err
		}
		if r.reported.Load() { // and the caller sends it again anyway
			x.repeated = append(x.repeated, r)
		} else {
			open = append(open, r)
		}
	}
	if len(open) > 0 {
		return notShown(open, errNotShown)
	}
	return nil
}

// remembered returns the transactions that the entities remember, and those that were sent in place of them, and
// drops settled ones.
func (x *Operation) remembered() []*remembered {
	var all []*remembered
	for _, p := range x.parts {
		if e := p.base().entity; e != nil && len(e.remembered) > 0 {
			e.remembered = slices.DeleteFunc(e.remembered, func(r *remembered) bool { return r.resolved.Load() })
			all = append(all, e.remembered...)
		}
	}
	var out []*remembered
	for ; len(all) > 0; all = all[1:] {
		if r := all[0]; !slices.Contains(out, r) {
			all = append(all, r.followers()...)
			if !r.resolved.Load() {
				out = append(out, r)
			}
		}
	}
	return out
}

// refuseRepetition returns the error of a refused transaction that repeats an earlier one, which may be the reason.
func (x *Operation) refuseRepetition(ctx context.Context, refusal error, t *Tally) error {
	look := &lookup{ctx: ctx, sender: x.sender, t: t, stored: map[item.Place]item.Attributes{}}
	for _, r := range x.repeated {
		if err := look.refuse(r); err != nil {
			return err
		}
	}
	return notShown(x.repeated, &Quoted{refusal}) // to follow the advice of the refusal would be to write twice
}

// errNotShown says why it is not known whether a transaction was applied.
var errNotShown = errors.New("its items were written since, or are missing: nothing was sent now")

// notShown reports to the caller, once, that nothing shows whether earlier transactions were applied.
func notShown(all []*remembered, err error) error {
	for _, r := range all {
		r.reported.Store(true)
	}
	return all[0].unknown(err)
}

func (r *remembered) unknown(err error) error {
	return &Unknown{Label: r.requests[0].Label, Items: written(r.forgotten), Patch: true, Err: &Earlier{r.since, err}}
}

// excludedBy reports whether requests cannot be applied if the transaction is: both write one item with
// a condition on one version, and no item ever has a version again.
func (r *remembered) excludedBy(now []*write.Request) bool {
	return slices.ContainsFunc(r.requests, func(q *write.Request) bool {
		return q.Writes() && q.Expect.Version != nil && slices.ContainsFunc(now, func(o *write.Request) bool {
			return o.Writes() && o.Place == q.Place && o.Expect.Version != nil &&
				attr.Same(q.Expect.Version, o.Expect.Version)
		})
	})
}

// lookup reads the items of transactions, each once.
type lookup struct {
	ctx    context.Context
	sender *write.Sender
	t      *Tally
	stored map[item.Place]item.Attributes
}

// refuse returns an error if a transaction was applied, or if that cannot be read.
func (l *lookup) refuse(r *remembered) error {
	applied, err := l.applied(r)
	if err != nil {
		return r.unknown(err)
	}
	if !applied {
		return nil
	}
	r.resolved.Store(true)
	var all []string
	for _, p := range written(r.forgotten) {
		all = append(all, p.String())
	}
	return fmt.Errorf("%s: an unresolved transaction of %s was applied, with the patches and raw items in it (%s): "+
		"nothing was sent now: leave out its changes",
		r.requests[0].Label, r.since.UTC().Format(time.RFC3339), strings.Join(all, ", "))
}

// applied reports whether one of the items of transactions shows that its transaction was applied.
func (l *lookup) applied(all ...*remembered) (bool, error) {
	for _, r := range all {
		for _, q := range r.requests {
			if !q.Writes() || q.Kind == write.Delete || !q.IsIdentifiable() {
				continue
			}
			stored, ok := l.stored[q.Place]
			if !ok {
				var err error
				var api smithy.APIError
				stored, err = l.sender.Stored(l.ctx, q, &l.t.Tally)
				if err != nil && !(errors.As(err, &api) && api.ErrorCode() == "AccessDeniedException") {
					return false, err
				}
				l.stored[q.Place] = stored
			}
			// An item that does not exist, or was written since, shows nothing, and neither does one that the caller
			// may not read.
			if q.Wrote(stored) {
				return true, nil
			}
		}
	}
	return false, nil
}
