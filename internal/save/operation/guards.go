package operation

import (
	"context"
	"fmt"
	"slices"

	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/save/change"
	"github.com/itemize/itemize/internal/save/staging"
	"github.com/itemize/itemize/internal/save/write"
)

// Unique values. Each has a guard, an item that names the entity that owns the value. The transaction that makes a
// value visible writes its guard too. A guard in the way is free unless its owner, read after the guard, is live and
// has the value. The specification is Unique.tla in internal/save/staging/spec.

// Taken says that a unique value belongs to another entity.
type Taken struct {
	Label, Field string
	// Owner is the root item of the entity that has the value.
	Owner item.Place
	// Pending says why an owner counts that has expired, or is not stored yet; "" for another one.
	Pending string
}

func (e *Taken) Error() string { return fmt.Sprintf("%s.%s: the value is taken", e.Label, e.Field) }

// guards are the requests of an operation on the guards of unique values.
type guards struct {
	// joined are the changes of the last plan by guard, and sent their requests with those on expired owners.
	joined []*joinedGuard
	sent   []*write.Request
	// instead are checks of other shards that are missing in the plan: it deletes the expired root item.
	instead []*write.Request
	// judged are the guards that were in the way.
	judged map[guardPlace]*judgment
}

// guardPlace is the place of a guard, for models that several mappers have.
type guardPlace struct {
	table  string
	pk, sk key.Scalar
}

func placeOf(at item.Place) guardPlace { return guardPlace{at.Table.Name, at.PK, at.SK} }

// joinedGuard is what all parts of an operation do with one guard.
type joinedGuard struct {
	change.Guard
	env      *Env
	releases []*model.Owner
	request  *write.Request
	// after reports that only deletes release it, when they are done.
	after bool
}

// judgment is the result of a look at the owner of a guard that is in the way.
type judgment struct {
	// stored is the guard as it was judged free. left reports that it belongs to another entity, and that the writer,
	// which leaves the value, does not change it.
	stored item.Attributes
	left   bool
	// expired is the owner's root item, which still has the value: the same transaction deletes it. kill is the
	// request.
	expired *item.Image
	kill    *write.Request
}

// plan makes the requests on the guards of all parts.
func (x *guards) plan(parts []Part, sent []Requests) ([]*write.Request, error) {
	x.joined, x.sent, x.instead = nil, nil, nil
	for i := range sent {
		for _, g := range sent[i].Guards {
			if err := x.join(parts[i].base().env, g); err != nil {
				return nil, err
			}
		}
	}
	for _, j := range x.joined {
		judged := x.judged[placeOf(j.At)]
		if judged != nil && judged.left != (j.Take == nil) { // it was judged for a plan that left the value, or took it
			delete(x.judged, placeOf(j.At))
			judged = nil
		}
		if j.after || judged != nil && judged.left {
			continue
		}
		var free item.Attributes
		if judged != nil {
			free = judged.stored
		}
		j.request = j.Request(j.releases, free)
		x.sent = append(x.sent, j.request)
		if judged == nil || judged.expired == nil {
			continue
		}
		switch with := requestOn(judged.expired.Place, sent); {
		case with == nil, with.New && with.Kind == write.Check:
			x.expire(j, judged)
			x.instead = append(x.instead, with)
		case with.Kind != write.Delete && !with.New: // it may keep the value
			return nil, j.taken(judged.expired)
		}
	}
	return x.sent, nil
}

// expire adds the delete of the root item of an owner that has expired.
func (x *guards) expire(j *joinedGuard, judged *judgment) {
	at := placeOf(judged.expired.Place)
	same := func(r *write.Request) bool { return placeOf(r.Place) == at } // it had several of the values
	if i := slices.IndexFunc(x.sent, same); i >= 0 {
		judged.kill = x.sent[i]
		return
	}
	of := &staging.Entity{Model: j.env.Model, Reserved: j.Reserved}
	judged.kill = of.DeleteOf(judged.expired)
	x.sent = append(x.sent, judged.kill)
}

// kept returns requests without the checks that are not sent.
func (x *guards) kept(all []*write.Request) []*write.Request {
	return slices.DeleteFunc(slices.Clone(all), func(r *write.Request) bool { return slices.Contains(x.instead, r) })
}

// requestOn returns the request of a part on an item, nil for none.
func requestOn(at item.Place, sent []Requests) *write.Request {
	for _, part := range sent {
		for _, r := range slices.Concat(part.Writes, part.Checks) {
			if placeOf(r.Place) == placeOf(at) {
				return r
			}
		}
	}
	return nil
}

// taken returns the error of a value that another entity has, by its root item.
func (j *joinedGuard) taken(owner *item.Image) *Taken {
	return &Taken{
		Label: j.Label(), Field: j.Schema.FieldNames(j.Unique), Owner: owner.Place,
		Pending: expiredLately(j.Reserved, owner.Attributes(), j.Now()),
	}
}

// join joins the change of a guard with those of other parts: one entity may leave the value that another gets.
func (x *guards) join(env *Env, g change.Guard) error {
	i := slices.IndexFunc(x.joined, func(j *joinedGuard) bool { return placeOf(j.At) == placeOf(g.At) })
	if i < 0 {
		j := &joinedGuard{Guard: g, env: env, after: g.After}
		if g.Release != nil {
			j.releases = append(j.releases, g.Release)
		}
		x.joined = append(x.joined, j)
		return nil
	}
	j := x.joined[i]
	if g.Take != nil && j.Take != nil && !g.Take.Same(*j.Take) {
		return &Taken{
			Label: env.Model.Label(), Field: g.Schema.FieldNames(g.Unique), Owner: j.Take.Root,
			Pending: "another part of the transaction gives it the value",
		}
	}
	if g.Take != nil {
		j.Take, j.New = g.Take, g.New
	}
	if g.Release != nil {
		j.releases = append(j.releases, g.Release)
	}
	j.after = j.after && g.After
	return nil
}

// without returns the requests and the stored items of a step except those of guards.
func (x *guards) without(o *write.Outcome) write.Outcome {
	if len(x.sent) == 0 {
		return *o
	}
	own := *o
	own.Requests, own.Stored = nil, nil
	for i, r := range o.Requests {
		if slices.Contains(x.sent, r) {
			continue
		}
		own.Requests = append(own.Requests, r)
		if o.Stored != nil {
			own.Stored = append(own.Stored, o.Stored[i])
		}
	}
	return own
}

// look refuses a staged insert early if another entity has one of its values.
func (x *guards) look(ctx context.Context, t *Tally) error {
	for _, j := range x.joined {
		if j.Take == nil || j.request == nil {
			continue
		}
		stored, err := j.env.Sender.Stored(ctx, j.request, &t.Tally)
		if err == nil && len(stored) > 0 {
			_, err = x.judge(ctx, j, stored, t)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// stage has a staged insert take the guards in the transaction that makes the root item live.
func (x *guards) stage(ctx context.Context, of *Operation, e *staging.Entity, plan *write.Plan, t *Tally) error {
	last := &plan.Steps[len(plan.Steps)-1]
	live, checks := last.Requests[:1], slices.DeleteFunc(slices.Clone(last.Requests[1:]), func(r *write.Request) bool {
		return slices.Contains(x.sent, r)
	})
	again := func() ([]*write.Request, error) {
		held, err := x.plan(of.parts, of.sent)
		for _, r := range held {
			r.Prepare()
		}
		return slices.Concat(x.kept(checks), held), err
	}
	e.Refused = func(ctx context.Context, o *write.Outcome, tally *write.Tally) ([]*write.Request, error) {
		if own := x.without(o); slices.ContainsFunc(own.Stored, wasRefused) { // the entity exists on another shard
			return nil, nil
		}
		own := Tally{Tally: *tally}
		retry, err := x.refused(ctx, o, &own)
		*tally = own.Tally
		t.RootReads += own.RootReads
		if err != nil || !retry {
			return nil, err
		}
		return again()
	}
	if err := x.look(ctx, t); err != nil {
		return err
	}
	joined, err := again()
	last.Requests = slices.Concat(live, joined)
	return err
}

// refused finds out why guards refused a step, and returns a *Taken if another entity has a value.
func (x *guards) refused(ctx context.Context, o *write.Outcome, t *Tally) (retry bool, err error) {
	for i, r := range o.Requests {
		if o.Stored == nil || o.Stored[i] == nil {
			continue
		}
		for place, judged := range x.judged {
			if judged.kill == r { // the expired owner has changed
				delete(x.judged, place)
				retry = true
			}
		}
		for _, j := range x.joined {
			if j.request != r {
				continue
			}
			if retry, err = x.judge(ctx, j, o.Stored[i], t); err != nil {
				return false, err
			}
		}
	}
	return retry, nil
}

// judge looks at the owner of a guard that is in the way: it is free unless the owner, read after the guard, is live
// and has the value.
func (x *guards) judge(ctx context.Context, j *joinedGuard, stored item.Attributes, t *Tally) (retry bool, err error) {
	at := placeOf(j.At)
	if x.judged == nil {
		x.judged = map[guardPlace]*judgment{}
	}
	if len(stored) == 0 { // another writer has released it since
		delete(x.judged, at)
		return true, nil
	}
	if j.Take == nil {
		x.judged[at] = &judgment{left: true}
		return true, nil
	}
	owner, err := j.GuardOwner(j.Unique, stored)
	if err != nil {
		return false, err
	}
	if owner == nil {
		x.judged[at] = &judgment{stored: stored}
		return true, nil
	}
	root, err := j.env.OwnerOf(ctx, *owner, t)
	if err != nil {
		return false, err
	}
	switch {
	case !j.Holds(j.Unique, j.At, *owner, root):
		x.judged[at] = &judgment{stored: stored}
	case j.Reserved.Replaceable(root.Attributes(), j.Now()):
		x.judged[at] = &judgment{stored: stored, expired: root}
	case placeOf(owner.Root) == placeOf(j.Take.Root): // the same transaction requires its state
		x.judged[at] = &judgment{stored: stored}
	case j.New && j.SameEntity(owner.Root, j.Take.Root): // the check of its shard refuses, unless it expires before
		delete(x.judged, at)
	default:
		return false, j.taken(root)
	}
	return true, nil
}

// OwnerOf reads the root item of the owner of a guard, strongly consistent; nil for none.
func (env *Env) OwnerOf(ctx context.Context, owner model.Owner, t *Tally) (*item.Image, error) {
	t.RootReads++
	return env.Protocol.ReadRoot(ctx, &staging.Entity{Model: env.Model, Reserved: env.Model.Reserved, Root: owner.Root},
		&t.Tally)
}

// release releases the guards of entities that were deleted.
func (x *guards) release(ctx context.Context, t *Tally) {
	for _, r := range x.releases() {
		if ctx.Err() == nil {
			r.sender.One(ctx, r.Request, &t.Tally) // a guard that stays is free, so that a failure is no error
		}
	}
}

// releaseRequest is the delete of the guard of an entity that was deleted.
type releaseRequest struct {
	*write.Request
	sender *write.Sender
}

// releases returns the deletes of the guards that no other part takes.
func (x *guards) releases() (all []releaseRequest) {
	for _, j := range x.joined {
		for _, owner := range j.releases {
			if !j.after {
				continue
			}
			r := j.Request(j.releases, nil)
			r.Expect = write.Expect{Blind: true, Terms: []attr.Condition{j.OwnedBy(*owner)}}
			all = append(all, releaseRequest{r, j.env.Sender})
		}
	}
	return all
}
