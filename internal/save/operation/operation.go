package operation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/read/search"
	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/save/change"
	"github.com/itemize/itemize/internal/save/estimate"
	"github.com/itemize/itemize/internal/save/write"
)

// Part is one entity, patch or request that an operation writes.
type Part interface {
	// base returns the state that all kinds of parts have.
	base() *common
	// prepare resolves unresolved writes, and refuses a part that cannot be written. The loop calls it
	// once, before the first plan that is sent.
	prepare(ctx context.Context, t *Tally) error
	// requests returns the requests of the part. It does no I/O. The loop calls it for each plan.
	requests(readers *change.Readers) (Requests, error)
	// read reads the items that the requests depend on. It is called if Requests.Unread is set.
	read(ctx context.Context, t *Tally) error
	// reads predicts the cost of the reads of an operation with this plan.
	reads(p *write.Plan) (estimate.Reads, error)
	// applied records that the requests of a step were applied.
	applied(requests []*write.Request)
	// confirm is called after the last step. It makes sure that the items that the part added are in a
	// live entity. retry reports that the part has to be planned and sent again.
	confirm(ctx context.Context, plan *write.Plan, t *Tally) (retry bool, err error)
	// finish is called after confirm.
	finish(ctx context.Context, t *Tally) error
	// refused finds out why conditions failed. If the part may be sent again, it changes its requests
	// and returns true. The error says why it was refused, in both cases.
	refused(ctx context.Context, o *write.Outcome, t *Tally) (retry bool, err error)
	// afterLoss says what a refusal means if an earlier attempt may have been applied.
	afterLoss(o *write.Outcome) afterLoss
	// unresolved records that the requests may have been applied or not. all are those of the whole
	// operation. It returns false if nothing will resolve them later.
	unresolved(o *write.Outcome, all []*write.Request) bool
	// moved reports whether another writer may have moved the entity, so that an item which is missing was not deleted.
	moved(ctx context.Context, missing *write.Request, t *Tally) (bool, error)
	// alternatives returns other ways to send what the plan sends, priced when they are asked for; nil for none.
	alternatives(p *write.Plan) func() []write.Alternative
	// stage sends the plan of a staged write.
	stage(ctx context.Context, x *Operation, plan *write.Plan, t *Tally) (retry bool, err error)
}

// Requests are those of one part.
type Requests struct {
	Writes []*write.Request
	// Checks are conditions on items that are not written. They are sent only with writes.
	Checks []*write.Request
	Choice write.Choice
	// Unread reports that read has to be called first. Missing reports that the requests are unknown until then.
	Unread, Missing bool
	// Over says that nothing is left to write, because the entity was deleted before. The other parts
	// of a transaction are not written then: this transaction did not delete it.
	Over error
}

// afterLoss says how to treat the refusal of a request if an earlier attempt, whose answer was lost,
// may have been applied.
type afterLoss uint8

const (
	// isUnknown: the outcome is unknown.
	isUnknown afterLoss = iota
	// mayRetry: the part may be planned and sent again, since both attempts cannot be applied, or may
	// be. An error that ends the operation later is an unknown outcome.
	mayRetry
)

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
	// covered are checks of root items that another part's request makes unnecessary, with that request: they are not
	// sent.
	covered map[*write.Request]*write.Request
	// named are the terms of requests that cover checks with terms: the next plan removes these.
	named map[*write.Request]terms
	// outcome is that of the last step.
	outcome write.Outcome
	// done are the items that steps have written, of plans of several steps, and rest those that the
	// last plan has still to write.
	done, rest []item.Place
	// open are the tries that may have been applied, or may still be: an error of a later try is an unknown outcome.
	open []openTry
	// repeated are earlier transactions that this one may repeat, see remembered.go.
	repeated []*remembered
}

// newOperation returns the operation that writes one part. tries is how often it is planned at least
// while items keep changing.
func newOperation(p Part, tries int) *Operation {
	return new(single).operation(p, tries)
}

// single is an operation of one part, in one piece of memory.
type single struct {
	Operation
	parts [1]Part
	sent  [1]Requests
}

func (x *single) operation(p Part, tries int) *Operation {
	x.parts[0] = p
	x.Operation = Operation{parts: x.parts[:], sent: x.sent[:], sender: p.base().env.Sender, tries: tries}
	return &x.Operation
}

// Transaction returns the operation that writes all parts, or none.
func Transaction(sender *write.Sender, parts []Part) *Operation {
	for _, p := range parts {
		p.base().atomic, p.base().inTransaction = true, len(parts) > 1
	}
	return &Operation{parts: parts, sent: make([]Requests, len(parts)), sender: sender, atomic: true, tries: minTries}
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
	if err := x.prepare(ctx, t); err != nil {
		return err
	}
	var last error
	for try, tries := 0, x.tries; try < tries; try++ {
		if err := pause(ctx, try); err != nil {
			return &Interrupted{x.label(), err, last}
		}
		plan, err := x.plan()
		if err == nil && slices.ContainsFunc(x.sent, func(r Requests) bool { return r.Unread }) {
			plan, err = x.readAndPlan(ctx, t)
		}
		if err != nil {
			return err
		}
		// otherwise it was sent in the mode of an earlier plan
		if len(t.Items) == 0 && (t.Mode == "" || plan.Mode != write.Nothing) {
			t.Mode, t.Alternatives = plan.Mode, x.alternatives(plan)
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
		tries = max(tries, x.tries+requestsIn(plan))
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

func requestsIn(p *write.Plan) int {
	n := 0
	for _, st := range p.Steps {
		n += len(st.Requests)
	}
	return n
}

// prepare prepares the parts. If there is nothing to resolve it plans first, so that invalid values are
// refused before anything is read.
func (x *Operation) prepare(ctx context.Context, t *Tally) error {
	open := func(p Part) bool { return p.base().entity.isUnresolved() }
	if len(x.parts) > 1 && !slices.ContainsFunc(x.parts, open) {
		if _, err := x.plan(); err != nil {
			return err
		}
	}
	for _, p := range x.parts {
		if err := p.prepare(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// readAndPlan has the parts read what their requests depend on, and plans again.
func (x *Operation) readAndPlan(ctx context.Context, t *Tally) (*write.Plan, error) {
	for i, p := range x.parts {
		if x.sent[i].Unread {
			if err := p.read(ctx, t); err != nil {
				return nil, err
			}
		}
	}
	return x.plan()
}

// plan makes the requests of all parts, and decides how they are sent. It does no I/O.
func (x *Operation) plan() (*write.Plan, error) {
	var errs Errors
	x.readers = change.Readers{}
	for i, p := range x.parts {
		var err error
		if x.sent[i], err = p.requests(&x.readers); err != nil {
			errs = append(errs, err)
		}
	}
	if !x.atomic {
		if len(errs) > 0 {
			return nil, errs[0]
		}
		r := x.sent[0]
		r.Choice.Commit = x.parts[0].base().external.commit()
		plan, err := write.Arrange(r.Writes, r.Checks, r.Choice)
		if err == nil {
			plan.Before = x.parts[0].base().external.steps()
		}
		return plan, err
	}
	var all []*write.Request
	var before []write.Step
	for i, p := range x.parts {
		r, external := &x.sent[i], &p.base().external
		r.Writes = slices.Concat(r.Writes, r.Checks)
		if commit := external.commit(); commit != nil {
			r.Writes = append(r.Writes, commit)
		}
		all, before = append(all, r.Writes...), append(before, external.steps()...)
	}
	all, movers := x.withoutCovered(all)
	if err := slices.Concat(errs, movers, duplicates(all)).orNil(); err != nil {
		return nil, err
	}
	if !write.Fits(all) {
		return nil, write.TooMany("mapper: transaction too large: %d items (limit 100), %s in all (limit 4 MB): use "+
			"several transactions, or save a large entity by itself",
			len(all), attr.Bytes(write.Bytes(all)))
	}
	plan, err := write.TransactionOf(all)
	if err == nil {
		plan.Before = before
	}
	return plan, err
}

// withoutCovered returns the requests without those checks of root items that another request makes unnecessary. It
// returns an error for a request that moves the expiry of items which another part adds.
func (x *Operation) withoutCovered(all []*write.Request) (rest []*write.Request, errs Errors) {
	x.covered = nil
	for r, t := range x.named { // by an earlier plan, from another state of the root item
		if now := r.Expect.Terms; len(now) == len(t.all) && &now[0] == &t.all[0] {
			r.Expect.Terms = t.own
		}
	}
	x.named = nil
	for _, check := range all {
		i := slices.IndexFunc(all, func(r *write.Request) bool { return r.Covers(check) && x.covered[r] == nil })
		if i < 0 {
			continue
		}
		if x.covered == nil {
			x.covered = map[*write.Request]*write.Request{}
		}
		x.covered[check] = all[i]
	}
	if x.covered == nil {
		return all, nil
	}
	for _, check := range all {
		r := x.covered[check]
		if r == nil {
			rest = append(rest, check)
			continue
		}
		for x.covered[r] != nil { // it is not sent either
			r = x.covered[r]
		}
		if x.covered[check] = r; r.SetsExpiry() && check.Item.ExpiryOfRoot {
			errs = append(errs, model.Usagef("mapper: one part of the transaction moves the expiry of %s, and "+
				"another adds items that expire with it: add them in the part that moves it", r.Place))
		}
		x.require(r, check)
	}
	return rest, errs
}

// terms are the terms of a request without and with those of checks that it covers.
type terms struct{ own, all []attr.Condition }

// require adds the term of a check to a request that covers it.
func (x *Operation) require(r, check *write.Request) {
	if check.Named == nil || r.New {
		return
	}
	if x.named == nil {
		x.named = map[*write.Request]terms{}
	}
	t, ok := x.named[r]
	if !ok {
		t.own = r.Expect.Terms
	}
	t.all = append(slices.Clip(r.Expect.Terms), check.Named)
	r.Expect.Terms, x.named[r] = t.all, t
}

// duplicates returns an error for each two requests on the same item.
func duplicates(all []*write.Request) (errs Errors) {
	type place struct {
		table  string
		pk, sk key.Scalar
	}
	first := make(map[place]*write.Request, len(all))
	for _, r := range all {
		at := place{r.Table.Name, r.PK, r.SK}
		if at.pk == (key.Scalar{}) {
			continue // a raw request on a table whose key is unknown
		}
		if f := first[at]; f != nil {
			errs = append(errs, model.Usagef("mapper: two parts of the transaction write or check %s (%s.%s and "+
				"%s.%s), but DynamoDB takes an item once: change it in one part",
				r.Place, f.Label, f.Field, r.Label, r.Field))
			continue
		}
		first[at] = r
	}
	return errs
}

// alternatives returns other ways to send an operation of one part.
func (x *Operation) alternatives(p *write.Plan) func() []write.Alternative {
	if x.atomic {
		return nil
	}
	return x.parts[0].alternatives(p)
}

// send stores external values, and sends a plan. retry reports that the operation has to be planned
// again; the error says why.
func (x *Operation) send(ctx context.Context, plan *write.Plan, t *Tally) (retry bool, err error) {
	for _, p := range x.parts {
		if repeat, err := p.base().external.store(ctx, t); err != nil {
			x.discard(ctx, t)
			return repeat, err
		}
	}
	if plan.Mode == write.Staged {
		return x.parts[0].stage(ctx, x, plan, t)
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
		if repeat, err := p.confirm(ctx, plan, t); repeat || err != nil {
			return repeat, err
		}
	}
	var errs Errors
	for _, p := range x.parts {
		if err := p.finish(ctx, t); err != nil {
			errs = append(errs, err)
		}
	}
	return false, errs.orNil()
}

// confirmDone confirms the items that an operation has added before a step failed. Those that the entity does not have
// are taken back, and are not done.
func (x *Operation) confirmDone(ctx context.Context, t *Tally) {
	p := x.parts[0].base()
	if x.atomic || p.entity == nil || len(x.done) == 0 {
		return
	}
	added := places(p.entity.unconfirmed.added)
	err := p.entity.confirm(ctx, p.env, p.entity.Selection, t)
	if unknown := new(*Unknown); err == nil || errors.As(err, unknown) {
		return
	}
	x.done = slices.DeleteFunc(x.done, func(at item.Place) bool { return slices.Contains(added, at) })
	x.rest = append(added, x.rest...)
}

// items returns the items that a step writes, without the records of external values.
func (x *Operation) items(st *write.Step) []item.Place {
	var all []item.Place
	for _, r := range st.Requests {
		if !slices.ContainsFunc(x.parts, func(p Part) bool { return p.base().external.commit() == r }) {
			all = append(all, r.Place)
		}
	}
	return all
}

func (x *Operation) discard(ctx context.Context, t *Tally) {
	for _, p := range x.parts {
		p.base().external.discard(ctx, t)
	}
}

// conclude decides how to continue after a step: it was applied; or the operation is planned again (retry); or it
// ends with an error.
func (x *Operation) conclude(ctx context.Context, t *Tally) (retry bool, err error) {
	o := &x.outcome
	if !o.OK() {
		if *o, err = x.resolve(ctx, *o, t); err != nil {
			x.discard(ctx, t)
			return true, err
		}
	}
	switch o.State {
	case write.Written:
		if o.Inferred {
			for i, p := range x.parts {
				if x.atomic && !slices.Contains(x.sent[i].Writes, o.Requests[0]) {
					continue // of another part
				}
				moved, err := p.moved(ctx, o.Requests[0], t)
				if moved || err != nil {
					o.Err = cmp.Or(err, errMoved)
					return false, x.unknown(o)
				}
			}
		}
		x.applied(o.Requests)
		return false, nil
	case write.Failed:
		return false, o.Err
	case write.Unknown:
		return false, x.unknown(o)
	}
	parts, adopted, shown := x.split(o), false, true
	for _, p := range parts {
		if e := p.base().entity; e != nil && p.outcome.Stored != nil {
			some, all := e.adoptStored(&p.outcome)
			adopted, shown = adopted || some, shown && all
		}
	}
	verdict := mayRetry
	switch {
	case !o.Unsure:
	// the earlier write has the version that each copy requires
	case adopted && refusedForGood(o) && (shown || len(o.Requests) > 1):
	case adopted && !shown && len(o.Requests) == 1: // a copy of this step may have written the missing item
		verdict = isUnknown
	default:
		verdict = x.afterLoss(o, parts)
	}
	switch {
	case verdict == isUnknown:
		return false, x.unknown(o)
	case adopted:
		x.keepOpen(o, parts)
		return true, nil
	}
	var errs, reasons Errors
	retry = true
	for _, p := range parts {
		if !slices.ContainsFunc(p.outcome.Stored, func(a item.Attributes) bool { return a != nil }) {
			continue
		}
		repeat, err := p.refused(ctx, &p.outcome, t)
		switch {
		case !repeat:
			errs, retry = append(errs, err), false
		case err != nil:
			reasons = append(reasons, err)
		}
	}
	switch {
	case retry:
		x.keepOpen(o, parts)
		return true, reasons.orNil()
	case o.Unsure: // the earlier attempt may still be applied
		return false, x.unknown(o)
	case len(x.repeated) > 0:
		return false, x.refuseRepetition(ctx, errs.orNil(), t)
	}
	return false, errs.orNil()
}

// errMoved is the reason of an unknown outcome.
var errMoved = errors.New("the item to delete is missing, or its entity has moved: load the entity again")

// applied reports to each part that its requests were applied.
func (x *Operation) applied(requests []*write.Request) {
	x.open = slices.DeleteFunc(x.open, func(t openTry) bool { // its conditions do not hold any more
		return !slices.ContainsFunc(t.requests, func(r *write.Request) bool {
			return !slices.ContainsFunc(requests, func(w *write.Request) bool { return w.Place == r.Place })
		})
	})
	if !x.atomic {
		x.parts[0].applied(requests)
		return
	}
	for i, p := range x.parts {
		p.applied(x.sent[i].Writes)
	}
}

// partOutcome is a part with the outcome of its own requests.
type partOutcome struct {
	Part
	outcome write.Outcome
}

// split returns each part with the outcome of its requests.
func (x *Operation) split(o *write.Outcome) []partOutcome {
	each := make([]partOutcome, len(x.parts))
	if !x.atomic {
		each[0] = partOutcome{x.parts[0], *o}
		return each
	}
	at, answers := 0, map[*write.Request]answer{}
	for i, p := range x.parts {
		each[i] = partOutcome{p, *o}
		own := &each[i].outcome
		own.Requests, own.Stored = x.sent[i].Writes, nil
		// a transaction is not refused after it was applied: it has a token
		own.Unsure = o.Unsure && len(o.Requests) == 1
		if o.Stored != nil {
			own.Stored = make([]item.Attributes, len(own.Requests))
		}
		for n, r := range own.Requests {
			if x.covered[r] != nil {
				continue // another part has its answer
			}
			if o.Stored != nil {
				own.Stored[n] = o.Stored[at]
				answers[r] = answer{own, n}
			}
			at++
		}
	}
	x.showPatches(each, answers)
	return each
}

// answer is the place of the answer to a request.
type answer struct {
	of *write.Outcome
	n  int
}

// showPatches gives patches the answers of other parts about root items that their own checks would have refused. The
// next try shows whether the other part would have been refused too.
func (x *Operation) showPatches(each []partOutcome, answers map[*write.Request]answer) {
	shown := map[*write.Request]bool{}
	changed := func(part Part, n int, root item.Attributes) bool {
		p := part.base()
		return p.changedRoot != nil && p.changedRoot(n, root)
	}
	for i := range each {
		own := &each[i].outcome
		for n, r := range own.Requests {
			a, ok := answers[x.covered[r]]
			if !ok {
				continue
			}
			if root := a.of.Stored[a.n]; len(root) > 0 && changed(each[i].Part, n, root) {
				own.Stored[n], shown[x.covered[r]] = root, true
			}
		}
	}
	for i := range each {
		own := &each[i].outcome
		for n, r := range own.Requests {
			if shown[r] && !changed(each[i].Part, n, own.Stored[n]) {
				own.Stored[n] = nil
			}
		}
	}
}

// resolve asks the records of external values whether a step that commits their pointers was applied.
// The error says that it was not applied, and has to be sent again with new values.
func (x *Operation) resolve(ctx context.Context, o write.Outcome, t *Tally) (write.Outcome, error) {
	asked := false
	for _, p := range x.parts {
		external := &p.base().external
		switch {
		case !external.exist():
			continue
		case asked && (o.State != write.Rejected || o.Unsure):
			return o, nil // the first record decides for all
		}
		asked = true
		now, err := external.resolve(ctx, o, t)
		if err != nil || now.State != o.State {
			return now, err
		}
		o = now
	}
	return o, nil
}

// afterLoss returns what the refusal of a step means if an earlier attempt may have been applied.
func (x *Operation) afterLoss(o *write.Outcome, parts []partOutcome) afterLoss {
	if len(x.parts) > 1 && len(o.Requests) > 1 {
		return guarded(o)
	}
	least := mayRetry
	for _, p := range parts {
		if len(p.outcome.Requests) > 0 {
			least = min(least, p.afterLoss(&p.outcome))
		}
	}
	return least
}

// guarded returns mayRetry for a transaction that can be applied only once, if an earlier attempt is
// only assumed. The transaction writes an item whose version it requires. The next plan requires the
// same version, unless the item has already lost it.
func guarded(o *write.Outcome) afterLoss {
	versioned := func(r *write.Request) bool { return r.Writes() && r.Expect.Version != nil }
	if o.Assumed && (slices.ContainsFunc(o.Requests, versioned) || refusedForGood(o)) {
		return mayRetry
	}
	return isUnknown
}

// openTry is a step of an earlier try of an operation, which may have been applied, or may still be.
type openTry struct {
	requests []*write.Request
	parts    []partOutcome
	changes  [][]*change.Change
}

// keepOpen remembers a refused step whose earlier attempt may have been applied.
func (x *Operation) keepOpen(o *write.Outcome, parts []partOutcome) {
	if !o.Unsure || len(o.Requests) > 1 && refusedForGood(o) {
		return
	}
	t := openTry{requests: o.Requests, parts: parts}
	for _, p := range parts {
		t.changes = append(t.changes, p.base().changes)
	}
	x.open = append(x.open, t)
}

// recordOpen records the open tries as unresolved. It returns false if nothing will resolve one of them later.
func (x *Operation) recordOpen() bool {
	all := true
	for _, t := range x.open {
		kept := true
		for i, p := range t.parts {
			now := p.base().changes
			p.base().changes = t.changes[i]
			kept = p.unresolved(&p.outcome, t.requests) && kept
			p.base().changes = now
		}
		if !kept {
			x.remember(t.requests)
		}
		all = all && kept
	}
	x.open = nil
	return all
}

// leftOpen records the open tries as unresolved, and returns the error of an operation that ended with
// err after them. err is only quoted if it says that nothing was written.
func (x *Operation) leftOpen(err error) error {
	last := x.open[len(x.open)-1].requests
	kept := x.recordOpen()
	if errors.As(err, new(*Unknown)) {
		return err
	}
	if errors.As(err, new(*Conflict)) || errors.Is(err, search.ErrNotFound) {
		err = &Quoted{err}
	}
	return &Unknown{Label: labelsOf(last), Items: written(last), Patch: !kept, Err: err}
}

// refusedForGood reports whether all later copies of a refused step are refused too: one of its
// requests requires a version that its item has lost. A version never comes back. (An item that exists
// now can be deleted later, so that a condition on its absence does not count.)
func refusedForGood(o *write.Outcome) bool {
	for i, r := range o.Requests {
		if r.Expect.Version != nil && o.Stored[i] != nil &&
			!attr.Same(r.Expect.Version, r.Reserved.Header(o.Stored[i]).Version) {
			return true
		}
	}
	return false
}

// unknown records that the outcome of a step is unknown, and returns the error.
func (x *Operation) unknown(o *write.Outcome) error {
	x.recordOpen() // they are older
	kept := true
	for _, p := range x.split(o) {
		kept = p.unresolved(&p.outcome, o.Requests) && kept
	}
	if !kept {
		x.remember(o.Requests)
	}
	return &Unknown{Label: labelsOf(o.Requests), Items: written(o.Requests), Patch: !kept, Err: o.Err}
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

func labelsOf(requests []*write.Request) string {
	var labels []string
	for _, r := range requests {
		if !slices.Contains(labels, r.Label) {
			labels = append(labels, r.Label)
		}
	}
	return strings.Join(labels, ", ")
}

// places returns the places of requests.
func places(requests []*write.Request) []item.Place {
	all := make([]item.Place, len(requests))
	for i, r := range requests {
		all[i] = r.Place
	}
	return all
}

// written returns the places of the items that requests write.
func written(requests []*write.Request) []item.Place {
	var all []item.Place
	for _, r := range requests {
		if r.Writes() {
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
	// Retry says why a patch may have to send a second request, "" if it does not.
	Retry string
}

// errUnread says why a delete cannot be planned.
var errUnread = errors.New("the delete reads its items first, but a plan sends nothing: pass an *Entity, or a " +
	"selection of one item")

// Predict returns the requests that Run would send, and their cost. It does no I/O.
func (x *Operation) Predict() (*Prediction, error) {
	plan, err := x.plan()
	if err != nil {
		return nil, err
	}
	out := &Prediction{Plan: plan, Alternatives: x.alternatives(plan)}
	var models []*Env
	for i, p := range x.parts {
		if x.sent[i].Missing {
			return nil, fmt.Errorf("%s: the delete cannot be planned: %w", x.label(), errUnread)
		}
		s := p.base()
		reads, err := p.reads(plan)
		if err != nil {
			return nil, err
		}
		out.Reads = out.Reads.Add(reads).Add(estimate.Reads{Objects: s.external.uploads()})
		if s.env != nil && !slices.Contains(models, s.env) {
			models = append(models, s.env)
			out.Undeclared = out.Undeclared.Add(s.env.Estimate.Undeclared.Of(plan))
		}
		out.Retry = cmp.Or(out.Retry, s.repeat)
	}
	return out, nil
}
