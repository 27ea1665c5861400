package operation

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/read/search"
	"github.com/itemize/itemize/internal/save/change"
	"github.com/itemize/itemize/internal/save/staging"
	"github.com/itemize/itemize/internal/save/write"
)

// This file decides how an operation continues after a step. The state of the step and a finding select one row of
// verdicts. docs/design/writes.md shows the table.

// state is the state of a step, by its answer and the stored items. A copy is an attempt whose answer was lost, or
// that an unwatched client may have made. It may have been applied, or may still be.
type state uint8

const (
	// stepApplied: the step was applied.
	stepApplied state = iota
	// stepMoved: the item of a delete without an answer is missing, because of this delete or because its entity moved.
	stepMoved
	// stepFailed: the step was not applied, for a reason other than a condition.
	stepFailed
	// stepUnanswered: no answer shows whether the step was applied.
	stepUnanswered
	// stepRefused: a condition failed, and no copy exists.
	stepRefused
	// stepVoid: a condition failed of a transaction that requires a lost version: no copy was applied, or can be.
	stepVoid
	// stepAssumedVoid: the same as void, and the copy is only assumed.
	stepAssumedVoid
	// stepOverwritten: a condition failed of one request that requires a lost version: a copy may have been applied
	// before, but cannot be applied any more.
	stepOverwritten
	// stepHarmful: a condition failed, a copy may be applied, and a second application would do harm.
	stepHarmful
	// stepHarmless: a condition of one request failed, and a copy may be applied, which does no harm.
	stepHarmless
	// stepHarmlessTransaction: the same as harmless, of a transaction, which was not applied before it was refused.
	stepHarmlessTransaction
)

// finding is an explanation of a failed condition.
type finding uint8

const (
	// foundNothing: the stored items show no earlier write.
	foundNothing finding = iota
	// foundVersion: the version or incarnation of a stored item shows an earlier write of the entity.
	foundVersion
	// foundAbsence: a missing item shows an earlier delete of the entity.
	foundAbsence
	// foundCure: each refused part has changed its requests.
	foundCure
	// foundRefusal: a part cannot be sent again.
	foundRefusal
	// foundRepetition: a part cannot be sent again, and the transaction repeats one whose outcome was unknown.
	foundRepetition
)

// verdict says whether a step was applied.
type verdict uint8

const (
	// isImpossible: no step has this state and finding.
	isImpossible verdict = iota
	// isUndecided: the parts decide.
	isUndecided
	// isApplied: the snapshots get the changes.
	isApplied
	// isNotApplied: nothing was written, and nothing will be.
	isNotApplied
	// isOpen: a copy may be applied. If the operation ends with an error later, the outcome is unknown.
	isOpen
	// isUnknown: the entities keep the step as an unresolved write.
	isUnknown
)

// next is the continuation of an operation after a step.
type next uint8

const (
	// endHere: the operation ends with an error.
	endHere next = iota
	// sendNext: it sends the next step.
	sendNext
	// askParts: it asks each refused part for a cure.
	askParts
	// planAgain: it makes the next plan.
	planAgain
	// lookBack: it reads the items of the transactions that it repeats, and ends with an error.
	lookBack
)

// row says how an operation continues after a step in one of the states, with one of the findings.
type row struct {
	states   []state
	findings []finding
	verdict  verdict
	next     next
	// rule is the name of the rule in docs/design/invariants.md, or of an impossible row the reason.
	rule string
}

var verdicts = []row{
	{[]state{stepApplied}, []finding{foundNothing}, isApplied, sendNext, "evidence"},
	{[]state{stepMoved}, []finding{foundNothing}, isUnknown, endHere, "movable entity"},
	{[]state{stepFailed}, []finding{foundNothing}, isNotApplied, endHere, "evidence"},
	{[]state{stepUnanswered}, []finding{foundNothing}, isUnknown, endHere, "unresolved write"},
	{
		[]state{stepRefused, stepVoid, stepAssumedVoid},
		[]finding{foundVersion, foundAbsence},
		isNotApplied, planAgain, "evidence",
	},
	{[]state{stepOverwritten}, []finding{foundVersion}, isOpen, planAgain, "lost version"},
	{[]state{stepHarmless}, []finding{foundVersion}, isOpen, planAgain, "harmless copy"},
	{[]state{stepHarmlessTransaction}, []finding{foundVersion, foundAbsence}, isOpen, planAgain, "harmless copy"},
	{[]state{stepOverwritten, stepHarmless}, []finding{foundAbsence}, isUnknown, endHere, "missing item"},
	{[]state{stepHarmful}, []finding{foundVersion, foundAbsence}, isUnknown, endHere, "late refusal"},
	{[]state{stepVoid, stepOverwritten, stepHarmful}, []finding{foundNothing}, isUnknown, endHere, "late refusal"},
	{
		[]state{stepRefused, stepAssumedVoid, stepHarmless, stepHarmlessTransaction},
		[]finding{foundNothing},
		isUndecided, askParts, "cure",
	},
	{[]state{stepRefused, stepAssumedVoid}, []finding{foundCure}, isNotApplied, planAgain, "cure"},
	{[]state{stepHarmless, stepHarmlessTransaction}, []finding{foundCure}, isOpen, planAgain, "harmless copy"},
	{[]state{stepRefused}, []finding{foundRefusal}, isNotApplied, endHere, "evidence"},
	{[]state{stepRefused}, []finding{foundRepetition}, isNotApplied, lookBack, "repeated transaction"},
	{
		[]state{stepAssumedVoid, stepHarmless, stepHarmlessTransaction},
		[]finding{foundRefusal, foundRepetition},
		isUnknown, endHere, "late refusal",
	},
	{
		[]state{stepApplied, stepMoved, stepFailed, stepUnanswered},
		[]finding{foundVersion, foundAbsence, foundCure, foundRefusal, foundRepetition},
		isImpossible, endHere,
		"only a failed condition has an explanation",
	},
	{
		[]state{stepVoid, stepOverwritten, stepHarmful},
		[]finding{foundCure, foundRefusal, foundRepetition},
		isImpossible, endHere,
		"the operation ends before it asks the parts",
	},
}

// decide returns the row of a state and a finding.
func decide(s state, f finding) *row {
	for i := range verdicts {
		if r := &verdicts[i]; slices.Contains(r.states, s) && slices.Contains(r.findings, f) {
			return r
		}
	}
	panic("a step without a verdict")
}

// conclude decides how the operation continues after a step: with the next step, with the next plan (retry), or it
// ends with an error.
func (x *Operation) conclude(ctx context.Context, t *Tally) (retry bool, err error) {
	o := &x.outcome
	if !o.OK() {
		if *o, err = x.resolve(ctx, *o, t); err != nil {
			x.discard(ctx, t)
			return true, err
		}
	}
	var parts []partOutcome
	found := foundNothing
	if o.State == write.Rejected {
		parts = x.split(o)
		for _, p := range parts { // the stored items may show earlier writes
			if e := p.base().entity; e != nil && p.outcome.Stored != nil {
				found = max(found, e.adoptStored(&p.outcome))
			}
		}
	}
	s := x.stateOf(ctx, parts, t)
	v := decide(s, found)
	if v.next == askParts {
		found, err = x.ask(ctx, parts, t)
		v = decide(s, found)
	}
	switch v.verdict {
	case isApplied:
		x.applied(o.Requests)
	case isOpen:
		t := openTry{requests: o.Requests, parts: parts}
		for _, p := range parts {
			t.changes = append(t.changes, p.base().changes)
		}
		x.open = append(x.open, t)
	case isUnknown:
		return false, x.unknown(o)
	}
	switch {
	case v.next == lookBack:
		return false, x.refuseRepetition(ctx, err, t)
	case s == stepFailed:
		return false, o.Err
	}
	return v.next == planAgain, err
}

// stateOf returns the state of the last step; parts are those of a refused one.
func (x *Operation) stateOf(ctx context.Context, parts []partOutcome, t *Tally) state {
	o := &x.outcome
	switch {
	case o.OK() && o.Inferred && x.moved(ctx, t):
		return stepMoved
	case o.OK():
		return stepApplied
	case o.State == write.Failed:
		return stepFailed
	case o.State == write.Unknown:
		return stepUnanswered
	case !o.Unsure:
		return stepRefused
	}
	several, harmless := len(o.Requests) > 1, x.harmless(parts)
	switch lost := lostVersion(o); {
	case lost && several && harmless:
		return stepAssumedVoid
	case lost && several:
		return stepVoid
	case lost && !harmless:
		return stepOverwritten
	case !harmless:
		return stepHarmful
	case several:
		return stepHarmlessTransaction
	}
	return stepHarmless
}

// errMoved is the reason of an unknown outcome.
var errMoved = errors.New("the item to delete is missing, or its entity has moved: load the entity again")

// moved reports whether another writer may have moved an entity, so that an item which is missing was not deleted.
func (x *Operation) moved(ctx context.Context, t *Tally) bool {
	o := &x.outcome
	for i, p := range x.parts {
		s := p.base()
		if s.env == nil || x.atomic && !slices.Contains(x.sent[i].Writes, o.Requests[0]) {
			continue // a raw request, or of another part
		}
		d := aDelete{missing: o.Requests[0], blind: s.options.Blind, sought: s.sought}
		if s.saves {
			d.sel, d.loaded = s.entity.Selection, s.entity.Root()
		} else {
			d.sel = *s.target
		}
		if moved, err := s.env.moved(ctx, d, t); moved || err != nil {
			o.Err = cmp.Or(err, errMoved)
			return true
		}
	}
	return false
}

// wasRefused reports whether the condition on an item failed, by what is stored.
func wasRefused(stored item.Attributes) bool { return stored != nil }

// ask asks the parts why they were refused; the error has the reasons.
func (x *Operation) ask(ctx context.Context, parts []partOutcome, t *Tally) (finding, error) {
	var errs, reasons change.Faults
	final := false
	for _, p := range parts {
		if !slices.ContainsFunc(p.outcome.Stored, wasRefused) {
			continue
		}
		switch retry, err := p.refused(ctx, &p.outcome, t); {
		case !retry:
			errs, final = append(errs, err), true
		case err != nil:
			reasons = append(reasons, err)
		}
	}
	if !final && len(reasons) == 0 {
		if _, err := x.guards.refused(ctx, &x.outcome, t); err != nil {
			errs, final = append(errs, err), true
		}
	}
	switch {
	case !final:
		return foundCure, reasons.OrNil()
	case len(x.repeated) > 0:
		return foundRepetition, errs.OrNil()
	}
	return foundRefusal, errs.OrNil()
}

// harmless reports whether a refused step may be sent again although a copy may be applied.
func (x *Operation) harmless(parts []partOutcome) bool {
	if len(x.parts) > 1 && len(x.outcome.Requests) > 1 {
		return ifGuarded(nil, &x.outcome)
	}
	return !slices.ContainsFunc(parts, func(p partOutcome) bool {
		return len(p.outcome.Requests) > 0 && !p.base().harmless(p.Part, &p.outcome)
	})
}

// harmless reports whether a part may be sent again although a copy of its requests may be applied: at most one copy
// can be applied, or a second application does no harm. A constructor chooses one of the following.
type harmless func(Part, *write.Outcome) bool

// never is for requests that no version protects, or of which only the caller knows whether they may be applied twice.
func never(Part, *write.Outcome) bool { return false }

// always is for a plain delete of a single item, which may be applied twice.
func always(Part, *write.Outcome) bool { return true }

// ifAssumed is for requests that require the items as they were read, so that a late copy is refused.
func ifAssumed(_ Part, o *write.Outcome) bool { return o.Assumed }

// ifGuarded is for transactions: at most one copy is applied of one that writes an item whose version it requires.
func ifGuarded(_ Part, o *write.Outcome) bool {
	// The next plan requires the same version, unless the item has lost it.
	versioned := func(r *write.Request) bool { return r.Writes() && r.Expect.Version != nil }
	return o.Assumed && (slices.ContainsFunc(o.Requests, versioned) || lostVersion(o))
}

// lostVersion reports whether all later copies of a refused step are refused too: one of its requests requires a
// version that its item has lost.
func lostVersion(o *write.Outcome) bool {
	for i, r := range o.Requests {
		if r.Expect.Version != nil && o.Stored[i] != nil &&
			!attr.Same(r.Expect.Version, r.Reserved.Header(o.Stored[i]).Version) {
			return true
		}
	}
	return false
}

// openTry is a step of an earlier plan, of which a copy may be applied.
type openTry struct {
	requests []*write.Request
	parts    []partOutcome
	changes  [][]*change.Change
}

// recordOpen records the open tries as unresolved, and returns false if nothing will resolve one of them later.
func (x *Operation) recordOpen() bool {
	all := true
	for _, t := range x.open {
		kept := true
		for i, p := range t.parts {
			kept = p.base().unresolved(&p.outcome, t.changes[i], t.requests) && kept
		}
		if !kept {
			x.remember(t.requests)
		}
		all = all && kept
	}
	x.open = nil
	return all
}

// leftOpen records the open tries as unresolved, and returns the error of an operation that ended with err after
// them.
func (x *Operation) leftOpen(err error) error {
	last := x.open[len(x.open)-1].requests
	kept := x.recordOpen()
	if errors.As(err, new(*Unknown)) {
		return err
	}
	// err is only quoted if it says that nothing was written
	if errors.As(err, new(*Conflict)) || errors.Is(err, search.ErrNotFound) {
		err = &Quoted{err}
	}
	return &Unknown{Label: labelsOf(last), Items: written(last), Patch: !kept, Err: err}
}

// unknown records that the outcome of a step is unknown, and returns the error.
func (x *Operation) unknown(o *write.Outcome) error {
	x.recordOpen() // they are older
	kept := true
	for _, p := range x.split(o) {
		s := p.base()
		kept = s.unresolved(&p.outcome, s.changes, o.Requests) && kept
	}
	if !kept {
		x.remember(o.Requests)
	}
	return &Unknown{Label: labelsOf(o.Requests), Items: written(o.Requests), Patch: !kept, Err: o.Err}
}

// blocker is a stored item that blocks a patch, and may not be of its entity.
type blocker uint8

const (
	// blockerRoot: the root item of another incarnation.
	blockerRoot blocker = iota
	// blockerBare: an item without an incarnation.
	blockerBare
	// blockerMarked: an item without an incarnation, with the mark of a staged insert; an entity is live.
	blockerMarked
	// blockerUnrooted: the same as marked, and no entity is live.
	blockerUnrooted
	// blockerOwn: an item of the live entity.
	blockerOwn
	// blockerPending: an item of an entity that is being inserted or deleted.
	blockerPending
	// blockerLeftover: an item of a deleted entity.
	blockerLeftover
)

// claim is the entity that a patch requires of an item.
type claim uint8

const (
	// claimAbsent: the patch adds the item, which must be missing.
	claimAbsent claim = iota
	// claimBound: the item must be of the entity whose root item the patch has read, or have no incarnation.
	claimBound
	// claimAny: the item can be of any entity.
	claimAny
)

// need is the state of an item that a patch needs if the stored one does not count.
type need uint8

const (
	// needConditions: a missing item on which the conditions of the patch can be tested.
	needConditions need = iota
	// needRoom: a missing item, which the patch makes.
	needRoom
	// needItem: an item that exists.
	needItem
)

// cure is the answer of a patch to a blocker.
type cure uint8

const (
	// letBe: the request is right already.
	letBe cure = iota
	// makePlain: send the request as it was given.
	makePlain
	// joinEntity: require the incarnation of the live entity.
	joinEntity
	// bindPatch: bind all items of the patch to the live entity.
	bindPatch
	// replaceItem: put the item in its place.
	replaceItem
	// deleteItem: delete the stored item first.
	deleteItem
	// reportExists: return an error that the item exists.
	reportExists
	// reportMissing: return an error that the item is missing.
	reportMissing
	// reportPending: return an error that another writer inserts or deletes the entity.
	reportPending
	// reportNotLive: return an error that the entity is missing.
	reportNotLive
)

// answer is the cure for some blockers. Without claims or needs it is for all of them.
type answer struct {
	blockers []blocker
	claims   []claim
	needs    []need
	cure     cure
	// rule is the name of the rule in docs/design/invariants.md, or of the clause in internal/save/staging/spec.
	rule string
}

var cures = []answer{
	{[]blocker{blockerRoot}, nil, nil, letBe, "PutJoinsReadRoot"},
	{
		[]blocker{blockerBare, blockerMarked, blockerUnrooted, blockerOwn},
		[]claim{claimAbsent},
		nil, reportExists, "RefusedForAReason",
	},
	{[]blocker{blockerBare, blockerMarked, blockerUnrooted}, []claim{claimBound}, nil, letBe, "bare item"},
	{[]blocker{blockerBare}, []claim{claimAny}, nil, makePlain, "bare item"},
	{[]blocker{blockerMarked}, []claim{claimAny}, nil, bindPatch, "bare item"},
	{[]blocker{blockerUnrooted}, []claim{claimAny}, nil, reportNotLive, "PatchNeedsItem"},
	{[]blocker{blockerOwn}, []claim{claimBound, claimAny}, nil, joinEntity, "AddJoinsLiveRoot"},
	{[]blocker{blockerPending}, nil, nil, reportPending, "AddJoinsLiveRoot"},
	{[]blocker{blockerLeftover}, nil, []need{needConditions}, deleteItem, "LeftoversNeedRoot"},
	{[]blocker{blockerLeftover}, nil, []need{needRoom}, replaceItem, "LeftoversNeedRoot"},
	{[]blocker{blockerLeftover}, nil, []need{needItem}, reportMissing, "PatchNeedsItem"},
}

// blockerOf classifies the stored item that blocks an item of a patch; root is the root item, and exists reports that
// its entity is live.
func blockerOf(it *change.PatchItem, stored item.Header, root *item.Image, exists bool) blocker {
	ofRoot := stored.Incarnation != nil && staging.Holds(root, stored.Incarnation)
	switch {
	case it.Root:
		return blockerRoot
	case ofRoot && exists:
		return blockerOwn
	case ofRoot:
		return blockerPending
	case stored.Incarnation != nil:
		return blockerLeftover
	case stored.Stage == nil:
		return blockerBare
	case exists:
		return blockerMarked
	}
	return blockerUnrooted
}

// demandsOf returns the demands of a patch on an item.
func demandsOf(it *change.PatchItem) (c claim, n need) {
	switch c = claimAny; {
	case it.Absent():
		c = claimAbsent
	case it.Bound():
		c = claimBound
	}
	switch n = needItem; {
	case it.Conditional():
		n = needConditions
	case it.Upserts():
		n = needRoom
	}
	return c, n
}

// cureOf returns the answer of an item of a patch to a blocker.
func cureOf(b blocker, c claim, n need) cure {
	for i := range cures {
		if cures[i].is(b, c, n) {
			return cures[i].cure
		}
	}
	panic("a blocker without a cure")
}

func (r *answer) is(b blocker, c claim, n need) bool {
	return slices.Contains(r.blockers, b) && (r.claims == nil || slices.Contains(r.claims, c)) &&
		(r.needs == nil || slices.Contains(r.needs, n))
}
