package staging

import (
	"context"
	"errors"

	"github.com/itemize/itemize/internal/attr"
	"github.com/itemize/itemize/internal/item"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/retry"
	"github.com/itemize/itemize/internal/write"
)

// Result is what became of a staged write.
type Result struct {
	write.Outcome
	// Applied are the requests that are stored for sure: of an insert all or none.
	Applied []*write.Request
	// Doubt are those that are stored if the tellers are: an insert whose going live was
	// not answered.
	Doubt, Tellers []*write.Request
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

// insert is a staged insert under way.
type insert struct {
	p     *Protocol
	e     *Entity
	claim *write.Request
	stage item.Stage
	parts []*write.Request
	live  *write.Request
	t     *write.Tally
}

// Insert sends the plan of a staged insert. A stage that was left behind is taken over,
// and what it left is swept.
func (p *Protocol) Insert(ctx context.Context, e *Entity, plan *write.Plan, t *write.Tally) Result {
	in := &insert{p: p, e: e, claim: plan.Steps[0].Requests[0], parts: plan.Steps[1].Requests, live: plan.Steps[2].Requests[0], t: t}
	in.stage, _ = in.claim.Reserved.Header(in.claim.Put).ReadStage()
	if err := in.claimRoot(ctx); err != nil {
		return Result{Outcome: outcomeOf(err)}
	}
	if err := in.putParts(ctx); err != nil {
		o := outcomeOf(err)
		if o.State == write.Rejected {
			in.undo(ctx)
		}
		return Result{Outcome: o}
	}
	o := outcomeOf(in.goLive(ctx))
	switch o.State {
	case write.Unknown:
		// If the root did go live, then with all of its items.
		return Result{Outcome: o, Doubt: stored(plan), Tellers: []*write.Request{in.live}}
	case write.Written:
		return Result{Outcome: o, Applied: stored(plan)}
	}
	return Result{Outcome: o}
}

// claimRoot writes the claim.
func (in *insert) claimRoot(ctx context.Context) error {
	for try := 0; ; try++ {
		o := in.p.Sender.One(ctx, in.claim, in.t)
		if o.State != write.Rejected || o.Unsure {
			if !o.OK() || in.claim.Expect.Instead == nil {
				return unless(o)
			}
			return in.sweep(ctx)
		}
		stored := o.Stored[0]
		left, ok := in.claim.Reserved.Header(stored).ReadStage()
		if !ok || try == tries {
			return unless(o)
		}
		// The claim replaces the stage that it has seen, and no other.
		in.claim.Expect.Instead = &item.Hidden{
			Size: attr.ItemSize(stored), Attempt: left.Attempt, Stage: in.claim.Reserved.Header(stored).Stage,
		}
		in.claim.OldSize = in.claim.Expect.Instead.Size
		in.claim.Prepare()
		expectClaim(in.live, in.claim)
	}
}

// sweep deletes what earlier attempts have left of the entity's items. What the new entity
// would not show is left alone.
func (in *insert) sweep(ctx context.Context) error {
	found, err := in.p.Collect(ctx, in.e.Parts, read.Options{Strong: true}, in.t)
	if err != nil {
		return err
	}
	var left []*write.Request
	for i := range found {
		f := &found[i]
		if f.Kind != nil && !in.e.IsRoot(f) && !attr.Same(f.Header.Attempt, in.stage.Attempt) && in.e.Belongs(f) {
			left = append(left, in.e.deleteOf(f))
		}
	}
	return in.p.deleteAll(ctx, in.e, left, in.stillOurs, in.t)
}

// stillOurs returns an error unless the claim stands.
func (in *insert) stillOurs(ctx context.Context, t *write.Tally) error {
	root, err := in.p.ReadRoot(ctx, in.e, t)
	if err != nil {
		return err
	}
	if root == nil {
		return in.overtaken(nil)
	}
	if now, ok := root.Header.ReadStage(); ok && now.Is(in.stage) {
		return nil
	}
	return in.overtaken(root.Attributes)
}

// overtaken is the outcome of an insert whose claim somebody else took over.
func (in *insert) overtaken(root item.Attributes) error {
	if root == nil {
		root = item.Attributes{}
	}
	return &stopped{write.Outcome{State: write.Rejected, Requests: []*write.Request{in.claim}, Stored: []item.Attributes{root}}}
}

// putParts puts the other items, several at once, each only where nothing is, or
// something of an attempt that is over.
func (in *insert) putParts(ctx context.Context) error {
	return in.p.atOnce(ctx, len(in.parts), in.t, func(ctx context.Context, i int, t *write.Tally) error {
		return in.putPart(ctx, in.parts[i], t)
	})
}

func (in *insert) putPart(ctx context.Context, r *write.Request, t *write.Tally) error {
	known := func(item.Place) *item.Hidden { return r.Expect.Instead }
	for try := 0; ; try++ {
		o := in.p.Sender.One(ctx, r, t)
		if o.State != write.Rejected || o.Unsure || try == tries {
			return unless(o)
		}
		left, err := in.p.LeftBehind(ctx, in.e, &o, known, t)
		switch {
		case err != nil:
			return err
		case len(left) == 0:
			return unless(o)
		}
		// Something of another attempt is there. It is older than ours if our claim still
		// stands, which was read after it.
		if err := in.stillOurs(ctx, t); err != nil {
			return err
		}
		f := left[0]
		h := f.HiddenOf()
		r.Expect.Instead, r.OldSize = &h, h.Size
		r.Prepare()
	}
}

// goLive makes the root live, on condition that the claim still stands.
func (in *insert) goLive(ctx context.Context) error {
	in.live.Set = []item.Assignment{item.Liveness{Attempt: in.stage.Attempt, Since: in.p.Now()}.Assign()}
	o := in.p.Sender.One(ctx, in.live, in.t)
	if o.State == write.Rejected && !o.Unsure {
		return in.overtaken(nil)
	}
	return unless(o)
}

// undo removes, as far as it can, what an insert that cannot succeed has put. What stays
// is found by nobody, and swept by the next insert.
func (in *insert) undo(ctx context.Context) {
	err := in.p.atOnce(ctx, len(in.parts), in.t, func(ctx context.Context, i int, t *write.Tally) error {
		o := in.p.Sender.One(ctx, undoOf(in.parts[i]), t)
		if o.State == write.Rejected && !o.Unsure {
			return nil // it was not put, or is somebody else's
		}
		return unless(o)
	})
	if err == nil {
		in.p.Sender.One(ctx, undoOf(in.claim), in.t)
	}
}

// atOnce runs functions at once, each with a tally of its own.
func (p *Protocol) atOnce(ctx context.Context, n int, t *write.Tally, do func(ctx context.Context, i int, t *write.Tally) error) error {
	tallies := make([]write.Tally, n)
	defer t.AddAll(tallies)
	return retry.AtOnce(ctx, n, func(ctx context.Context, i int) error { return do(ctx, i, &tallies[i]) })
}
