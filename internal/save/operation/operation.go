// Package operation writes: it saves, deletes and patches entities, alone or in one transaction.
//
// An [Operation] has one or more parts. A part is one entity that is saved ([Save]) or deleted
// ([Delete]), one patch ([Patch]), or one request that the caller made ([Raw]). [NewSave], [NewDelete] and [NewPatch]
// make an operation of one part, [Transaction] one of several that is applied as a whole. [Operation.Run] is
// the only write loop of the library:
//
//  1. resolve the unresolved writes of its entities,
//  2. plan: compare, choose how to send (write.Arrange), and read what the plan needs,
//  3. store external values,
//  4. send each step of the plan, and resolve lost answers,
//  5. decide by the table in verdicts.go: send the next step, plan again, or end with an error. The parts that were
//     refused can change their requests for the next plan,
//  6. after the last step, confirm that the items that were added are in a live entity, or delete them
//     again.
//
// A new kind of operation is a new implementation of [Part]. A new way to send is a new write.Choice.
//
// Errors are of the kinds in errors.go. Package mapper translates them for callers.
package operation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/read/selection"
	"github.com/itemize/itemize/internal/read/snapshot"
	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/save/change"
	"github.com/itemize/itemize/internal/save/estimate"
	"github.com/itemize/itemize/internal/save/write"
)

// Part is one entity, patch or request that an operation writes.
type Part interface {
	// base returns the data of the part.
	base() *common
	// prepare resolves unresolved writes, and refuses a part that cannot be written. The loop calls it
	// once, before the first plan that is sent.
	prepare(ctx context.Context, t *Tally) error
	// requests returns the requests of the part. It does no I/O. The loop calls it for each plan.
	requests(readers *change.Readers) (Requests, error)
	// applied records that the requests of a step were applied.
	applied(requests []*write.Request)
	// refused finds out why conditions failed. If the part may be sent again, it changes its requests
	// and returns true. The error says why it was refused, in both cases.
	refused(ctx context.Context, o *write.Outcome, t *Tally) (retry bool, err error)
	// confirm is called after the last step. It makes sure that the items that the part added are in a
	// live entity. retry reports that the part has to be planned and sent again.
	confirm(ctx context.Context, t *Tally) (retry bool, err error)
	// finish is called after confirm.
	finish(ctx context.Context, t *Tally) error
}

// Requests are those of one part.
type Requests struct {
	Writes []*write.Request
	// Checks are conditions on items that are not written. They are sent only with writes.
	Checks []*write.Request
	Choice write.Choice
	// Guards are the changes of guards of unique values.
	Guards []change.Guard
	// Unread is the price of guards that are not known before the root item was read, in WCU.
	Unread cost.Units
	// Read reads the items that the requests depend on; nil if the part has read them. Missing reports that the
	// requests are unknown until then.
	Read    func(ctx context.Context, t *Tally) error
	Missing bool
	// Over says that nothing is left to write, because the entity was deleted before. The other parts
	// of a transaction are not written then: this transaction did not delete it.
	Over error
	// Stage sends a staged plan.
	Stage func(ctx context.Context, x *Operation, plan *write.Plan, t *Tally) (retry bool, err error)
	// Alternatives returns other ways to send what a plan sends, priced when they are asked for. Both can be nil.
	Alternatives func(r *Requests, plan *write.Plan) func() []write.Alternative
}

// alternatives returns other ways to send what a plan sends, nil for none.
func (r *Requests) alternatives(plan *write.Plan) func() []write.Alternative {
	if r.Alternatives == nil {
		return nil
	}
	return r.Alternatives(r, plan)
}

// common is the data that all kinds of parts have. Its methods are those of a part that has nothing to do.
type common struct {
	// env is that of the part's model. It is nil for a raw request.
	env *Env
	// entity is the entity that is saved or deleted. It is nil for a selection, a patch and a raw request.
	entity  *Entity
	options Options
	// saves reports that the part saves the value of its entity. forgettable reports that nothing has to resolve an
	// unknown outcome: the part may be written again.
	saves, forgettable bool
	// harmless reports whether the part may be sent again after a refusal although a copy may be applied.
	harmless harmless
	// target selects the items of a part that does not save. sought reports that it was found by a lookup.
	target *selection.Selection
	sought bool
	// changes are those of the last plan, keys the keys of its value, and move itself if it moves the entity.
	changes  []*change.Change
	keys     *snapshot.Keys
	move     *change.Diff
	external external
	// atomic reports that the part is written in one transaction with others.
	atomic bool
	// inTransaction reports that the transaction also writes other entities, so its writes cannot be undone.
	inTransaction bool
	// repeat is described at Prediction.
	repeat string
	// done is called after the part has been written. It may be nil.
	done func()
	// changedRoot reports whether the root item, which the part checks in a request, is not as the part has read it. It
	// is nil for parts that do not read it again.
	changedRoot func(request int, root item.Attributes) bool
}

func (s *common) base() *common { return s }

func (s *common) prepare(context.Context, *Tally) error { return nil }

func (s *common) applied([]*write.Request) {}

func (s *common) confirm(context.Context, *Tally) (bool, error) { return false, nil }

func (s *common) finish(context.Context, *Tally) error { return nil }

// unresolved records that requests of the part, made from changes, may have been applied or not; it returns false if
// nothing will resolve them later.
func (s *common) unresolved(o *write.Outcome, changes []*change.Change, all []*write.Request) (kept bool) {
	writes := slices.ContainsFunc(o.Requests, (*write.Request).Writes)
	if s.entity == nil || !writes {
		return !writes || s.forgettable
	}
	var evidence []*write.Request // in the items of other parts, if those of this part show nothing
	if !slices.ContainsFunc(o.Requests, (*write.Request).IsIdentifiable) {
		for _, r := range all {
			if r.IsIdentifiable() {
				evidence = append(evidence, r)
			}
		}
	}
	d := change.NewUnresolvedWrite(s.entity.Model, changes, o.Requests, *s.keys, evidence)
	d.Whole, d.Move = s.saves && len(d.Changes) == len(changes), s.move
	s.entity.unresolved = append(s.entity.unresolved, d)
	return true
}

// minTries is how often an operation is planned at least before it gives up because items keep
// changing. Each item may have one leftover item in its way, so the limit grows with the number of
// requests.
const minTries = 10

// Operation is one write under way. It is used once.
type Operation struct {
	parts  []Part
	sender *write.Sender
	// atomic reports that all requests are sent at once, or none.
	atomic bool
	tries  int
	// sent are the requests of each part in the last plan, and readers the readers of their values.
	sent    []Requests
	readers change.Readers
	cover
	guards guards
	// outcome is that of the last step.
	outcome write.Outcome
	// done are the items that steps have written, of plans of several steps, and rest those that the
	// last plan has still to write.
	done, rest []item.Place
	// open are steps of earlier plans of which a copy may be applied: a later error is an unknown outcome.
	open []openTry
	// repeated are earlier transactions that this one may repeat, see remembered.go.
	repeated []*remembered
}

// single is an operation of one part, in one piece of memory.
type single struct {
	Operation
	parts [1]Part
	sent  [1]Requests
}

// operation returns the operation that writes one part; tries is how often it is planned at least while items keep
// changing.
func (x *single) operation(p Part, tries int) *Operation {
	x.parts[0] = p
	x.Operation = Operation{parts: x.parts[:], sent: x.sent[:], sender: p.base().env.Sender, tries: tries}
	return &x.Operation
}

// Run writes the operation.
func (x *Operation) Run(ctx context.Context, t *Tally) error {
	err := x.run(ctx, t)
	if err == nil {
		return nil
	}
	x.discard(ctx, t)
	if len(x.open) > 0 {
		err = x.leftOpen(err)
	}
	if len(x.done) > 0 && len(x.rest) > 0 { // in this plan, or in one before a retry
		return &Partial{Label: x.label(), Written: x.done, Rest: x.rest, Err: err}
	}
	return err
}

func (x *Operation) run(ctx context.Context, t *Tally) error {
	open := func(p Part) bool { return p.base().entity.isUnresolved() }
	if len(x.parts) > 1 && !slices.ContainsFunc(x.parts, open) {
		if _, err := x.plan(); err != nil { // invalid values are refused before anything is read
			return err
		}
	}
	for _, p := range x.parts {
		if err := p.prepare(ctx, t); err != nil {
			return err
		}
	}
	var last error
	for try, tries := 0, x.tries; try < tries; try++ {
		if err := pause(ctx, try); err != nil {
			return &Interrupted{x.label(), err, last}
		}
		plan, err := x.planAndRead(ctx, t)
		if err != nil {
			return err
		}
		// otherwise it was sent in the mode of an earlier plan
		if len(t.Items) == 0 && (t.Mode == "" || plan.Mode != write.Nothing) {
			t.Mode, t.Alternatives = plan.Mode, x.sent[0].alternatives(plan)
		}
		if err := x.refuseRepeated(ctx, plan, t); err != nil {
			return err
		}
		if i := slices.IndexFunc(x.sent, func(r Requests) bool { return r.Over != nil }); i >= 0 &&
			plan.Mode != write.Nothing {
			return x.sent[i].Over
		}
		repeat, err := x.send(ctx, plan, t)
		if !repeat {
			return err
		}
		last = err
		n := x.tries
		for _, st := range plan.Steps {
			n += len(st.Requests)
		}
		tries = max(tries, n)
	}
	return &Exhausted{x.label(), last}
}

// pause waits before a retry, except the first, which is not due to contention: the items were not as expected.
func pause(ctx context.Context, try int) error {
	switch try {
	case 0:
		return nil
	case 1:
		return ctx.Err()
	}
	return request.Pause(ctx, try)
}

// planAndRead makes a plan, and if the requests depend on items, has the parts read these, and makes the plan again.
func (x *Operation) planAndRead(ctx context.Context, t *Tally) (*write.Plan, error) {
	plan, err := x.plan()
	if err != nil || !slices.ContainsFunc(x.sent, func(r Requests) bool { return r.Read != nil }) {
		return plan, err
	}
	for i := range x.sent {
		if x.sent[i].Read != nil {
			if err := x.sent[i].Read(ctx, t); err != nil {
				return nil, err
			}
		}
	}
	return x.plan()
}

// plan makes the requests of all parts, and decides how they are sent, without I/O.
func (x *Operation) plan() (*write.Plan, error) {
	var errs change.Faults
	x.readers = change.Readers{}
	for i, p := range x.parts {
		var err error
		if x.sent[i], err = p.requests(&x.readers); err != nil {
			errs = append(errs, err)
		}
	}
	if x.atomic {
		return x.planTransaction(errs)
	}
	if len(errs) > 0 {
		return nil, errs[0]
	}
	r, external := x.sent[0], x.parts[0].base().external.last()
	r.Choice.Commit = external.Commit
	var err error
	if r.Choice.Guards, err = x.guards.plan(x.parts, x.sent); err != nil {
		return nil, err
	}
	plan, err := write.Arrange(r.Writes, x.guards.kept(r.Checks), r.Choice)
	if err == nil {
		plan.Before = external.Steps
	}
	return plan, err
}

// send stores external values, and sends a plan; retry reports that the operation has to be planned again.
func (x *Operation) send(ctx context.Context, plan *write.Plan, t *Tally) (retry bool, err error) {
	for _, p := range x.parts {
		if repeat, err := p.base().external.store(ctx, t); err != nil {
			x.discard(ctx, t)
			return repeat, err
		}
	}
	if plan.Mode == write.Staged {
		if repeat, err := x.sent[0].Stage(ctx, x, plan, t); repeat || err != nil {
			return repeat, err
		}
		x.guards.release(ctx, t)
		return false, nil
	}
	several := len(plan.Steps) > 1 || len(x.done) > 0
	if several {
		x.rest = nil
		for i := range plan.Steps {
			x.rest = append(x.rest, x.items(&plan.Steps[i])...)
		}
	}
	for i := range plan.Steps {
		x.outcome = x.sender.Send(ctx, &plan.Steps[i], &t.Tally)
		if repeat, err := x.conclude(ctx, t); repeat || err != nil {
			if !repeat {
				x.confirmDone(ctx, t)
			}
			return repeat, err
		}
		if several {
			n := len(x.items(&plan.Steps[i]))
			x.done, x.rest = append(x.done, x.rest[:n]...), x.rest[n:]
		}
	}
	for _, r := range x.repeated {
		r.resolved.Store(true)
	}
	for _, p := range x.parts {
		if repeat, err := p.confirm(ctx, t); repeat || err != nil {
			return repeat, err
		}
	}
	var errs change.Faults
	for _, p := range x.parts {
		if err := p.finish(ctx, t); err != nil {
			errs = append(errs, err)
		}
	}
	x.guards.release(ctx, t)
	return false, errs.OrNil()
}

// confirmDone confirms the items that an operation has added before a step failed.
func (x *Operation) confirmDone(ctx context.Context, t *Tally) {
	p := x.parts[0].base()
	if x.atomic || p.entity == nil || len(x.done) == 0 {
		return
	}
	added := written(p.entity.unconfirmed.added)
	err := p.entity.confirm(ctx, p.env, p.entity.Selection, t)
	if unknown := new(*Unknown); err == nil || errors.As(err, unknown) {
		return
	}
	// Those that the entity does not have are taken back, and are not done.
	x.done = slices.DeleteFunc(x.done, func(at item.Place) bool { return slices.Contains(added, at) })
	x.rest = append(added, x.rest...)
}

// items returns the items that a step writes, without the records of external values.
func (x *Operation) items(st *write.Step) []item.Place {
	var all []item.Place
	for _, r := range st.Requests {
		commits := func(p Part) bool { return p.base().external.last().Commit == r }
		if !slices.ContainsFunc(x.parts, commits) && !slices.Contains(x.guards.sent, r) {
			all = append(all, r.Place)
		}
	}
	return all
}

// discard discards the external values that no item points to.
func (x *Operation) discard(ctx context.Context, t *Tally) {
	for _, p := range x.parts {
		p.base().external.drop(ctx, t)
	}
}

// applied reports to each part that its requests were applied.
func (x *Operation) applied(requests []*write.Request) {
	x.open = slices.DeleteFunc(x.open, func(t openTry) bool { // its conditions do not hold any more
		return !slices.ContainsFunc(t.requests, func(r *write.Request) bool {
			return !slices.ContainsFunc(requests, func(w *write.Request) bool { return w.Place == r.Place })
		})
	})
	if !x.atomic {
		own := x.guards.without(&write.Outcome{Requests: requests})
		x.parts[0].applied(own.Requests)
		return
	}
	for i, p := range x.parts {
		p.applied(x.sent[i].Writes)
	}
}

// label names the models of the parts.
func (x *Operation) label() string {
	var labels []string
	for _, p := range x.parts {
		if env := p.base().env; env != nil && !slices.Contains(labels, env.Model.Label()) {
			labels = append(labels, env.Model.Label())
		}
	}
	if labels == nil {
		return "mapper"
	}
	return strings.Join(labels, ", ")
}

// labelsOf names the models of requests.
func labelsOf(requests []*write.Request) string {
	var labels []string
	for _, r := range requests {
		if !slices.Contains(labels, r.Label) {
			labels = append(labels, r.Label)
		}
	}
	return strings.Join(labels, ", ")
}

// written returns the places of the items that requests write.
func written(requests []*write.Request) []item.Place {
	var all []item.Place
	for _, r := range requests {
		if r.Writes() && !r.Guard {
			all = append(all, r.Place)
		}
	}
	return all
}

// Prediction predicts the requests of an operation, and their cost.
type Prediction struct {
	*write.Plan
	Reads        estimate.Reads
	Alternatives func() []write.Alternative // nil for none
	// Undeclared is the price of secondary indexes that the models do not declare, in WCU.
	Undeclared cost.Units
	// Guards is the price of guards in addition to those of the plan, in WCU: of a patch before the root item was read,
	// and of a delete, which releases them afterwards.
	Guards cost.Units
	// Retry says why a patch may have to send a second request, "" if it does not.
	Retry string
}

// reading is a part whose plan has reads.
type reading interface {
	// reads predicts the cost of the reads of an operation with this plan.
	reads(plan *write.Plan) (estimate.Reads, error)
}

// errUnread says why a delete cannot be planned.
var errUnread = errors.New("the delete reads its items first, but a plan sends nothing: pass an *Entity, or a " +
	"selection of one item")

// Predict returns the requests that Run would send, and their cost, without I/O.
func (x *Operation) Predict() (*Prediction, error) {
	plan, err := x.plan()
	if err != nil {
		return nil, err
	}
	out := &Prediction{Plan: plan, Alternatives: x.sent[0].alternatives(plan)}
	for _, r := range x.guards.releases() {
		out.Guards = out.Guards.Add(r.Units())
		out.Reads.Requests++
	}
	var models []*Env
	for i, p := range x.parts {
		if x.sent[i].Missing {
			return nil, fmt.Errorf("%s: the delete cannot be planned: %w", x.label(), errUnread)
		}
		s := p.base()
		if p, ok := p.(reading); ok {
			reads, err := p.reads(plan)
			if err != nil {
				return nil, err
			}
			out.Reads = out.Reads.Add(reads)
		}
		out.Reads = out.Reads.Add(estimate.Reads{Objects: s.external.last().Uploads()})
		if s.env != nil && !slices.Contains(models, s.env) {
			models = append(models, s.env)
			out.Undeclared = out.Undeclared.Add(s.env.Estimate.Undeclared.Of(plan))
		}
		out.Guards = out.Guards.Add(x.sent[i].Unread)
		out.Retry = cmp.Or(out.Retry, s.repeat)
	}
	return out, nil
}
