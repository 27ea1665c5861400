package staging

import (
	"context"
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/save/write"
)

// Result is the result of a staged write.
type Result struct {
	write.Outcome
	// Applied are the requests that are stored for sure: of an insert all or none.
	Applied []*write.Request
	// Unresolved are the requests that are stored if those of Evidence are: the request that completes an insert had
	// no answer.
	Unresolved, Evidence []*write.Request
	// Items are items that a delete removed although another writer had changed or added them after it was planned.
	Items []item.Place
}

// stopped is an outcome on its way out of requests that are sent at once.
type stopped struct{ write.Outcome }

func (s *stopped) Error() string { return "the staged write was stopped" }

// unless returns an outcome as an error, nil for one that was applied. A refusal that may
// be the echo of an own write is not known.
func unless(o write.Outcome) error {
	switch {
	case o.OK():
		return nil
	case o.State == write.Rejected && o.Unsure:
		o.State = write.Unknown
	}
	return &stopped{o}
}

// outcomeOf returns the outcome in an error.
func outcomeOf(err error) write.Outcome {
	var s *stopped
	switch {
	case err == nil:
		return write.Outcome{State: write.Written}
	case errors.As(err, &s):
		return s.Outcome
	}
	return write.Outcome{State: write.Failed, Err: err}
}

// invisible is outcomeOf of an insert before its root goes live. An outcome that is not known is a failure: whether a
// claim or a part was put or not, the entity did not appear, and will not.
func invisible(err error) write.Outcome {
	o := outcomeOf(err)
	if o.State == write.Unknown {
		o.State = write.Failed
	}
	return o
}

// insert is a staged insert under way.
type insert struct {
	p     *Protocol
	e     *Entity
	claim *write.Request
	parts []*write.Request
	// put are the parts that this insert has put for sure.
	put []bool
	// live makes the root live, in one transaction with checks of other items, if there are any.
	live   *write.Request
	checks []*write.Request
	// refused reports that the checks refused the insert for good.
	refused bool
	t       *write.Tally
}

// Insert sends the plan of a staged insert. A root that was left unfinished is taken over,
// by its version. It deletes nothing that it did not put itself.
func (p *Protocol) Insert(ctx context.Context, e *Entity, plan *write.Plan, t *write.Tally) Result {
	in := &insert{
		p: p, e: e, claim: plan.Steps[0].Requests[0], parts: plan.Steps[1].Requests,
		live: plan.Steps[2].Requests[0], checks: plan.Steps[2].Requests[1:], t: t,
	}
	in.put = make([]bool, len(in.parts))
	if err := in.putRoot(ctx); err != nil {
		return Result{Outcome: invisible(err)}
	}
	// Each part is put only if no item exists under its key, or only one of a deleted entity.
	if err := p.atOnce(ctx, len(in.parts), t, in.putPart); err != nil {
		o := invisible(err)
		if o.State == write.Rejected {
			in.undo(ctx)
		}
		return Result{Outcome: o}
	}
	o := outcomeOf(in.goLive(ctx))
	switch o.State {
	case write.Unknown:
		// If the root did go live, then with all of its items.
		return Result{Outcome: o, Unresolved: stored(plan), Evidence: []*write.Request{in.live}}
	case write.Written:
		return Result{Outcome: o, Applied: stored(plan)}
	case write.Rejected:
		in.undo(ctx)
	case write.Failed:
		if in.refused {
			in.undo(ctx)
		}
	}
	return Result{Outcome: o}
}

// putRoot writes the claim. It is never sent twice: a late copy could restore a claim whose parts
// another writer has deleted. Each attempt has its own version, which identifies an attempt whose
// answer was lost.
func (in *insert) putRoot(ctx context.Context) error {
	var lost []types.AttributeValue
	for try := 0; ; try++ {
		o, watched := in.p.Sender.Once(ctx, in.claim, in.t)
		switch {
		case o.OK() && !watched:
			return in.repeatRoot(ctx)
		case o.OK():
			expectClaim(in.live, in.claim)
			return nil
		case o.State == write.Failed, o.State == write.Unknown && try == tries:
			return &stopped{write.Outcome{State: write.Failed, Requests: o.Requests, Err: o.Err}}
		case o.State == write.Unknown:
			lost = append(lost, in.claim.Token)
			if err := request.Pause(ctx, try); err != nil {
				return &stopped{write.Outcome{State: write.Failed, Requests: o.Requests, Err: errors.Join(o.Err, err)}}
			}
		case try == tries:
			o.Unsure = false
			return unless(o)
		default:
			done, err := in.blocked(o, lost)
			switch {
			case done && !watched:
				return in.repeatRoot(ctx)
			case done || err != nil:
				return err
			}
		}
		in.claim.Prepare()
	}
}

// blocked examines the item that blocks the claim. It may be an earlier attempt, which has then
// succeeded, or an unfinished write, which the next attempt replaces, or an entity.
func (in *insert) blocked(o write.Outcome, lost []types.AttributeValue) (done bool, err error) {
	stored := o.Stored[0]
	h := in.claim.Reserved.Header(stored)
	for _, token := range lost {
		if attr.Same(token, h.Version) {
			in.claim.Token = token
			expectClaim(in.live, in.claim)
			return true, nil
		}
	}
	if len(stored) > 0 && (h.Live() || h.Moving()) {
		o.Unsure = false // a claim that was put is not this
		return false, unless(o)
	}
	in.claim.Expect.Instead, in.claim.OldSize = nil, 0
	if len(stored) > 0 {
		in.claim.Expect.Instead = in.claim.Reserved.HiddenOf(stored)
		in.claim.OldSize = in.claim.Expect.Instead.Size
	}
	return false, nil
}

// repeatRoot gives a claim, if the client cannot be watched and may have sent it twice, a version that
// no late copy can restore. It uses a transaction, which is applied once.
func (in *insert) repeatRoot(ctx context.Context) error {
	repeat := *in.claim
	repeat.Kind, repeat.Put, repeat.Set, repeat.New, repeat.Item = write.Update, nil, nil, false, nil
	repeat.Expect = write.Expect{Version: in.claim.Token}
	repeat.Header, repeat.OldSize = in.claim.Reserved.Header(in.claim.Put), in.claim.NewSize
	repeat.Prepare()
	o := in.p.Sender.Send(ctx, &write.Step{Requests: []*write.Request{&repeat}, How: write.InTransaction}, in.t)
	if !o.OK() {
		return in.overtaken(o)
	}
	in.claim.Token = repeat.Token
	expectClaim(in.live, in.claim)
	return nil
}

// overtaken is the outcome of an insert whose claim no longer exists.
func (in *insert) overtaken(o write.Outcome) error {
	if o.State != write.Rejected {
		return unless(o)
	}
	return &stopped{write.Outcome{
		State: write.Rejected, Requests: []*write.Request{in.claim},
		Stored: []item.Attributes{o.Stored[0]},
	}}
}

// incarnation returns the incarnation of the new entity.
func (in *insert) incarnation() types.AttributeValue {
	return in.claim.Reserved.Header(in.claim.Put).Incarnation
}

// stillClaimed returns an error unless the claim still exists.
func (in *insert) stillClaimed(ctx context.Context, t *write.Tally) error {
	root, err := in.p.ReadRoot(ctx, in.e, t)
	switch {
	case err != nil:
		return err
	case Holds(root, in.incarnation()) && root.Header.ReadStage().State == item.Inserting:
		return nil
	}
	stored := item.Attributes{}
	if root != nil {
		stored = root.Attributes()
	}
	return in.overtaken(write.Outcome{State: write.Rejected, Stored: []item.Attributes{stored}})
}

// putPart puts one of the other items.
func (in *insert) putPart(ctx context.Context, i int, t *write.Tally) error {
	r := in.parts[i]
	for try := 0; ; try++ {
		o := in.p.Sender.One(ctx, r, t)
		if o.State != write.Rejected || try == tries {
			in.put[i] = o.OK()
			return unless(o)
		}
		stored := o.Stored[0]
		h := r.Reserved.Header(stored)
		switch {
		case h.Incarnation != nil && attr.Same(h.Incarnation, in.incarnation()):
			return nil // put by an attempt whose answer was lost, and changed since
		case len(stored) == 0:
			r.Expect.Instead, r.OldSize = nil, 0
		case h.Incarnation == nil:
			o.Unsure = false // a part that was put is not this
			return unless(o)
		default:
			// It is of another incarnation. If our claim still exists, which is read after it, that
			// is no more.
			if err := in.stillClaimed(ctx, t); err != nil {
				return err
			}
			r.Expect.Instead = r.Reserved.HiddenOf(stored)
			r.OldSize = r.Expect.Instead.Size
		}
		r.Prepare()
	}
}

// goLive makes the root live, on condition of the claim's version.
func (in *insert) goLive(ctx context.Context) error {
	since := in.e.Reserved.AssignStage(item.NewStage(item.Live, in.p.Now()))
	in.live.NewSize += since.Size() - in.live.Set[0].Size()
	in.live.Set = append([]item.Assignment{since}, in.live.Set[1:]...)
	for try := 0; ; try++ {
		step := write.Step{Requests: []*write.Request{in.live}, How: write.Each}
		if len(in.checks) > 0 {
			step = write.Step{Requests: slices.Concat(step.Requests, in.checks), How: write.InTransaction}
		}
		o := in.p.Sender.Send(ctx, &step, in.t)
		switch {
		case o.State != write.Rejected || o.Unsure:
			return unless(o)
		case o.Stored[0] != nil:
			return in.overtaken(o)
		case in.e.Refused == nil || try == tries:
			return unless(o)
		}
		checks, err := in.e.Refused(ctx, &o, in.t)
		switch {
		case err != nil:
			in.refused = true
			return err
		case checks == nil:
			return unless(o)
		}
		in.checks = checks
		in.live.Prepare()
	}
}

// undo deletes, as far as it can, the items of an insert that cannot succeed. Remaining items are
// invisible.
func (in *insert) undo(ctx context.Context) {
	// A copy of the last transaction may arrive late if its checks have refused it: without the claim it cannot be
	// applied.
	first := in.e.Refused != nil && len(in.checks) > 0
	if first {
		o := in.p.Sender.One(ctx, undoOf(in.claim), in.t)
		own := func(stored item.Attributes) bool {
			return attr.Same(in.e.Reserved.Header(stored).Incarnation, in.e.Reserved.Header(in.claim.Put).Incarnation)
		}
		overtaken := o.State == write.Rejected && !o.Unsure && o.Stored != nil && o.Stored[0] != nil &&
			!own(o.Stored[0])
		if !o.OK() && !overtaken { // the copy may have made the root item live
			return
		}
	}
	err := in.p.atOnce(ctx, len(in.parts), in.t, func(ctx context.Context, i int, t *write.Tally) error {
		if !in.put[i] {
			return nil
		}
		o := in.p.Sender.One(ctx, undoOf(in.parts[i]), t)
		if o.State == write.Rejected && !o.Unsure {
			return nil // it was changed since
		}
		return unless(o)
	})
	if err == nil && !first {
		in.p.Sender.One(ctx, undoOf(in.claim), in.t)
	}
}

// atOnce runs functions at once, each with a tally of its own.
func (p *Protocol) atOnce(ctx context.Context, n int, t *write.Tally,
	do func(ctx context.Context, i int, t *write.Tally) error,
) error {
	tallies := make([]write.Tally, n)
	defer t.AddAll(tallies)
	return request.AtOnce(ctx, n, func(ctx context.Context, i int) error { return do(ctx, i, &tallies[i]) })
}
