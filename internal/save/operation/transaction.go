package operation

import (
	"context"
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/save/change"
	"github.com/itemize/itemize/internal/save/write"
)

// Transaction returns the operation that writes all parts, or none.
func Transaction(sender *write.Sender, parts []Part) *Operation {
	for _, p := range parts {
		p.base().atomic, p.base().inTransaction = true, len(parts) > 1
	}
	return &Operation{parts: parts, sent: make([]Requests, len(parts)), sender: sender, atomic: true, tries: minTries}
}

// planTransaction decides how the requests of all parts are sent; errs are the faults of the parts.
func (x *Operation) planTransaction(errs change.Faults) (*write.Plan, error) {
	var all []*write.Request
	var before []write.Step
	for i, p := range x.parts {
		r, external := &x.sent[i], p.base().external.last()
		r.Writes = slices.Concat(r.Writes, r.Checks)
		if external.Commit != nil {
			r.Writes = append(r.Writes, external.Commit)
		}
		all, before = append(all, r.Writes...), append(before, external.Steps...)
	}
	held, err := x.guards.plan(x.parts, x.sent)
	if err != nil {
		errs = append(errs, err)
	}
	all, movers := x.withoutCovered(all)
	all = append(x.guards.kept(all), held...)
	if err := slices.Concat(errs, movers, duplicates(all)).OrNil(); err != nil {
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

// cover is the checks of a transaction that other requests make unnecessary.
type cover struct {
	// covered are checks of root items that another part's request makes unnecessary, with that request: they are not
	// sent.
	covered map[*write.Request]*write.Request
	// named are the terms of requests that cover checks with terms: the next plan removes these.
	named map[*write.Request]terms
}

// terms are the terms of a request without and with those of checks that it covers.
type terms struct{ own, all []attr.Condition }

// withoutCovered returns the requests without those checks of root items that another request makes unnecessary.
func (x *cover) withoutCovered(all []*write.Request) (rest []*write.Request, errs change.Faults) {
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
		// A request must not move the expiry of items which another part adds.
		if x.covered[check] = r; r.SetsExpiry() && check.Item.ExpiryOfRoot {
			errs = append(errs, model.Usagef("mapper: one part of the transaction moves the expiry of %s, and "+
				"another adds items that expire with it: add them in the part that moves it", r.Place))
		}
		if check.Named == nil || r.New {
			continue
		}
		if x.named == nil {
			x.named = map[*write.Request]terms{}
		}
		t, ok := x.named[r]
		if !ok {
			t.own = r.Expect.Terms
		}
		t.all = append(slices.Clip(r.Expect.Terms), check.Named...)
		r.Expect.Terms, x.named[r] = t.all, t
	}
	return rest, errs
}

// duplicates returns an error for each two requests on the same item.
func duplicates(all []*write.Request) (errs change.Faults) {
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
				r.Target(), f.Label, f.Field, r.Label, r.Field))
			continue
		}
		first[at] = r
	}
	return errs
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
		each[0] = partOutcome{x.parts[0], x.guards.without(o)}
		return each
	}
	at, answers := 0, map[*write.Request]sentAs{}
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
			if x.covered[r] != nil || slices.Contains(x.guards.instead, r) {
				continue // another request has its answer
			}
			if o.Stored != nil {
				own.Stored[n] = o.Stored[at]
				answers[r] = sentAs{own, n}
			}
			at++
		}
	}
	x.showPatches(each, answers)
	return each
}

// sentAs is the place of a request among those that were sent.
type sentAs struct {
	of *write.Outcome
	n  int
}

// showPatches gives patches the answers of other parts about root items that their own checks would have refused.
func (x *Operation) showPatches(each []partOutcome, answers map[*write.Request]sentAs) {
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
			// The next try shows whether the other part would have been refused too.
			if shown[r] && !changed(each[i].Part, n, own.Stored[n]) {
				own.Stored[n] = nil
			}
		}
	}
}

// raw is the part that sends a request of the caller.
type raw struct {
	common
	request *write.Request
}

// Raw returns the part of a transaction that sends a request of the caller; tables returns the tables of the other
// parts' models by name, nil for any other.
func Raw(part types.TransactWriteItem, tables func(string) *item.Table) (Part, error) {
	r, err := write.Raw(part, tables)
	if err != nil {
		return nil, errors.New("mapper.RawPart: " + err.Error())
	}
	if r.NewSize > cost.MaxItem {
		return nil, &TooLarge{Field: r.Field, Place: r.Place, Size: r.NewSize}
	}
	return &raw{common: common{harmless: never}, request: r}, nil
}

func (p *raw) requests(*change.Readers) (Requests, error) {
	return Requests{Writes: []*write.Request{p.request}}, nil
}

func (p *raw) refused(_ context.Context, o *write.Outcome, _ *Tally) (retry bool, err error) {
	r := p.request
	at := ItemConflict{Place: r.Place, RawKey: r.RawKey, Field: r.Field, What: change.Changed}
	if len(o.Stored[0]) == 0 {
		at.What = change.Deleted
	}
	return false, &Conflict{Label: "mapper.RawPart", Raw: true, Items: []ItemConflict{at}}
}
