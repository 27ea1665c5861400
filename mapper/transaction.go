package mapper

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/change"
	"github.com/itemize/itemize/internal/item"
	"github.com/itemize/itemize/internal/key"
	"github.com/itemize/itemize/internal/retry"
	"github.com/itemize/itemize/internal/write"
)

// member is what a transaction does with one entity, or with one item. A further kind is one more
// implementation (parts.go).
type member interface {
	// requests returns what is sent, and does no I/O. It fails with errUnread where that is
	// known only when ready has read.
	requests() ([]*write.Request, error)
	// ready reads what has to be known first.
	ready(ctx context.Context, t *tally) error
	// reads adds to a plan what ready will read.
	reads(p *Plan) error
	// applied notes that its requests were.
	applied(requests []*write.Request)
	// adopts reports whether the stored items show that an earlier write in doubt was applied,
	// which it notes.
	adopts(o *write.Outcome) bool
	// refused finds out what stands in the way of its requests: it returns nil where the
	// transaction may be made again.
	refused(ctx context.Context, o *write.Outcome, t *tally) error
	// harmless reports of requests that are all of a transaction whether they may be sent again, made
	// anew, after a refusal which an earlier copy of them may explain.
	harmless(o *write.Outcome) bool
	// unknown notes that it is not known whether the requests were applied. all are those of the
	// whole transaction.
	unknown(o *write.Outcome, all []*write.Request)
}

// storing is a member whose items point to values outside of them.
type storing interface {
	// before returns what is sent before the transaction, and what of that goes to S3.
	before() ([]write.Step, cost.Objects)
	// points reports whether there are such values, and store writes them.
	points() bool
	store(ctx context.Context, t *tally) error
	// told finds out by their record what became of the transaction, and giveUp gives them up.
	told(ctx context.Context, o write.Outcome, t *tally) (write.Outcome, error)
	giveUp(ctx context.Context, t *tally)
}

// storing returns those members whose items point to values outside of them.
func (x *transaction) storing() (all []storing) {
	for _, m := range x.members {
		if s, ok := m.(storing); ok && s.points() {
			all = append(all, s)
		}
	}
	return all
}

// store writes the values of all members. Where one of them comes too late, all are given up.
func (x *transaction) store(ctx context.Context, t *tally) error {
	for _, s := range x.storing() {
		if err := s.store(ctx, t); err != nil {
			x.giveUp(ctx, t)
			return err
		}
	}
	return nil
}

func (x *transaction) giveUp(ctx context.Context, t *tally) {
	for _, m := range x.members {
		if s, ok := m.(storing); ok {
			s.giveUp(ctx, t)
		}
	}
}

// told finds out, by the record of the values of one member, what became of the transaction of all. The error is errAnew where
// it was not applied, and is to be made again with new ones.
func (x *transaction) told(ctx context.Context, o write.Outcome, t *tally) (write.Outcome, error) {
	for i, s := range x.storing() {
		if i > 0 && (o.State != write.Rejected || o.Unsure) {
			break // that of the first tells of all
		}
		now, err := s.told(ctx, o, t)
		if err != nil {
			x.giveUp(ctx, t)
		}
		if err != nil || now.State != o.State {
			return now, err
		}
		o = now
	}
	return o, nil
}

// errUnread says that what is there has to be read first.
var errUnread = errors.New("it is read first what is there, which a plan does not: give it an *Entity, or a selection of one item")

// transaction is a transaction under way.
type transaction struct {
	members []member
	states  []*state  // of the entities
	engines []*engine // of the members, nil for none
	sender  *write.Sender
	// sent are the requests of each member, of the plan that was made last.
	sent [][]*write.Request
	// fenced are earlier transactions that this one repeats: only one of both can be applied, or the
	// caller knows that both may be.
	fenced []*beside
}

func newTransaction(parts []Part) (*transaction, error) {
	x := &transaction{}
	tables := func(name string) *item.Table {
		for _, p := range parts {
			if p.engine == nil {
				continue
			}
			if t := p.engine.model.TableNamed(name); t != nil {
				return t
			}
		}
		return nil
	}
	var errs []error
	bySDK := false // one of the mappers leaves requests to the SDK
	for i, p := range parts {
		if p.make == nil {
			return nil, fmt.Errorf("mapper: part %d of the transaction is empty: make it with Saving, Deleting, On or Raw", i+1)
		}
		m, err := p.make(tables)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		x.members, x.engines = append(x.members, m), append(x.engines, p.engine)
		if p.of != nil {
			x.states = append(x.states, p.of)
		}
		first := x.sender == nil
		if first {
			x.sender = &write.Sender{Client: p.client, Now: time.Now}
		}
		if !first && !same(x.sender.Client, p.client) {
			errs = append(errs, fmt.Errorf("mapper: part %d of the transaction has another client than the first: make all mappers, and Raw, with one client", i+1))
		}
		if p.engine != nil {
			s := p.engine.sender
			x.sender.Now, x.sender.Wire, x.sender.Single = s.Now, s.Wire, x.sender.Single || s.Single
			bySDK = bySDK || s.Wire == nil
		}
		if p.of != nil && slices.ContainsFunc(parts[:i], func(o Part) bool { return o.of == p.of }) {
			errs = append(errs, p.engine.model.Errorf("one entity is in two parts of the transaction: save it, or delete it, in one"))
		}
	}
	if bySDK {
		x.sender.Wire = nil
	}
	if len(parts) == 0 {
		errs = append(errs, errors.New("mapper: the transaction has no parts: give it what Saving, Deleting, On or Raw return"))
	}
	return x, errors.Join(errs...)
}

// same reports whether two values are one.
func same(a, b any) bool {
	v := reflect.ValueOf(a)
	return v.IsValid() && v.Type() == reflect.TypeOf(b) && v.Comparable() && a == b
}

// observe begins a call for each observer of the mappers, once.
func (x *transaction) observe(ctx context.Context) (context.Context, func(t *tally, err error)) {
	var labels, tables []string
	var observers []Observer
	for _, g := range x.models() {
		labels = append(labels, g.model.Label())
		for _, name := range tablesOf(g.model.Tables) {
			if !slices.Contains(tables, name) {
				tables = append(tables, name)
			}
		}
		for _, o := range g.observers {
			if !slices.ContainsFunc(observers, func(p Observer) bool { return same(o, p) }) {
				observers = append(observers, o)
			}
		}
	}
	return observe(ctx, observers, Call{OpTransact, strings.Join(labels, ", "), tables}, x.ended)
}

// models returns the engines of the members, each once.
func (x *transaction) models() []*engine {
	var all []*engine
	for _, g := range x.engines {
		if g != nil && !slices.Contains(all, g) {
			all = append(all, g)
		}
	}
	return all
}

// ended tells each mapper what was written of its model.
func (x *transaction) ended(t *tally, _ error) {
	for _, g := range x.models() {
		var of []write.Done
		for _, d := range t.Items {
			if d.Label == g.model.Label() {
				of = append(of, d)
			}
		}
		g.typical.wrote(of)
		g.indexes.saw(t.Indexes, t.Predicted)
	}
}

// plan makes the requests of all members. known reports that there are none which have to be
// read first.
func (x *transaction) plan() (p *write.Plan, known bool, err error) {
	var readers change.Readers
	for _, m := range x.members {
		if p, ok := m.(*savePart); ok && err == nil {
			err = p.g.public(readers.Given(p.g.model, p.v))
		}
	}
	if err != nil {
		return nil, false, err
	}
	x.sent = make([][]*write.Request, len(x.members))
	var all []*write.Request
	var errs []error
	known = true
	for i, m := range x.members {
		requests, err := m.requests()
		switch {
		case errors.Is(err, errUnread):
			known = false
		case err != nil:
			errs = append(errs, err)
		}
		x.sent[i] = requests
		all = append(all, requests...)
	}
	if err := errors.Join(append(errs, apart(all))...); err != nil {
		return nil, known, err
	}
	if !write.Fits(all) {
		return nil, known, fmt.Errorf("mapper: the transaction has %d items of %d bytes, and DynamoDB takes %d of %d: use several, or save a large entity by itself",
			len(all), write.Bytes(all), cost.MaxTransactItems, cost.MaxTransactBytes)
	}
	p, err = write.Joint(all)
	for _, s := range x.storing() {
		if err == nil {
			steps, _ := s.before()
			p.Before = append(p.Before, steps...)
		}
	}
	return p, known, err
}

// apart refuses two requests of one item.
func apart(all []*write.Request) error {
	type place struct {
		table  string
		pk, sk key.Scalar
	}
	first := make(map[place]*write.Request, len(all))
	var errs []error
	for _, r := range all {
		at := place{r.Table.Name, r.PK, r.SK}
		if at.pk == (key.Scalar{}) {
			continue // an item whose key nobody knows
		}
		if f := first[at]; f != nil {
			errs = append(errs, fmt.Errorf("mapper: two parts of the transaction write or check %s (%s.%s and %s.%s), and DynamoDB takes an item once: change it in one part",
				r.Place, f.Label, f.Field, r.Label, r.Field))
			continue
		}
		first[at] = r
	}
	return errors.Join(errs...)
}

// run writes the transaction.
func (x *transaction) run(ctx context.Context, t *tally) error {
	err := x.goRound(ctx, t)
	if err != nil {
		x.giveUp(ctx, t)
	}
	return err
}

// goRound writes the transaction. Where the refusal of one shows that what was known is not true any
// more, it goes round again.
func (x *transaction) goRound(ctx context.Context, t *tally) error {
	inDoubt := func(s *state) bool { return len(s.doubts) > 0 }
	if _, _, err := x.plan(); err != nil && !slices.ContainsFunc(x.states, inDoubt) { // before anything is read
		return err
	}
	for _, m := range x.members {
		if err := m.ready(ctx, t); err != nil {
			return err
		}
	}
	tries := saveTries
	var anew anew
	for try := 0; try < tries; try++ {
		if try > 0 {
			if err := retry.Pause(ctx, try); err != nil {
				return err
			}
		}
		p, _, err := x.plan()
		if err != nil {
			return err
		}
		t.mode = Mode(p.Mode)
		if err := x.repeats(ctx, p, t); err != nil {
			return err
		}
		if p.Mode == write.Nothing {
			x.applied()
			return nil
		}
		again := true
		if err = x.store(ctx, t); err == nil {
			again, err = x.send(ctx, p, t)
		}
		if again = again && err == nil || anew.again(err); !again {
			return err
		}
		tries = max(tries, saveTries+p.Calls()+len(p.Steps[0].Requests))
	}
	return errors.New("mapper: the items kept changing while they were written: load again")
}

func (x *transaction) applied() {
	x.done()
	for i, m := range x.members {
		m.applied(x.sent[i])
	}
}

// send sends a plan. again reports that it has to be made anew.
func (x *transaction) send(ctx context.Context, p *write.Plan, t *tally) (again bool, err error) {
	o := x.sender.Send(ctx, &p.Steps[0], &t.Tally)
	if !o.OK() {
		if o, err = x.told(ctx, o, t); err != nil {
			return false, err
		}
	}
	switch o.State {
	case write.Written:
		x.applied()
		return false, nil
	case write.Failed:
		return false, refusedBy(o.Err)
	case write.Unknown:
		return false, x.unknown(&o)
	}
	each := x.split(&o)
	for i, m := range x.members {
		again = each[i].Stored != nil && m.adopts(&each[i]) || again
	}
	if again {
		return true, nil
	}
	if o.Unsure && !x.harmless(&o, each) {
		return false, x.unknown(&o)
	}
	var errs []error
	for i, m := range x.members {
		if refuses(&each[i]) {
			if err := m.refused(ctx, &each[i], t); err != nil {
				errs = append(errs, err)
			}
		}
	}
	if len(errs) == 0 {
		return true, nil
	}
	if o.Unsure { // the first copy may still arrive
		return false, x.unknown(&o)
	}
	err = errs[0]
	if len(errs) > 1 {
		err = errors.Join(errs...)
	}
	if len(x.fenced) > 0 {
		return false, x.refusedAgain(ctx, err, t)
	}
	return false, err
}

// split returns what became of each member's requests.
func (x *transaction) split(o *write.Outcome) []write.Outcome {
	each := make([]write.Outcome, len(x.members))
	at := 0
	for i, sent := range x.sent {
		each[i] = *o
		each[i].Requests, each[i].Stored = o.Requests[at:at+len(sent)], o.Stored[at:at+len(sent)]
		at += len(sent)
	}
	return each
}

// refuses reports whether one of the requests was refused.
func refuses(o *write.Outcome) bool {
	return slices.ContainsFunc(o.Stored, func(a item.Attributes) bool { return a != nil })
}

// harmless reports whether the transaction may be made again after a refusal that an earlier copy
// may explain, of a client that cannot be watched.
func (x *transaction) harmless(o *write.Outcome, each []write.Outcome) bool {
	if !o.Assumed {
		return false
	}
	if len(o.Requests) > 1 {
		return guards(o.Requests)
	}
	for i, m := range x.members {
		if len(each[i].Requests) > 0 && !m.harmless(&each[i]) {
			return false
		}
	}
	return true
}

// unknown tells each member that the outcome is not known.
func (x *transaction) unknown(o *write.Outcome) error {
	var labels []string
	for i, m := range x.members {
		part := *o
		part.Requests = x.sent[i]
		m.unknown(&part, o.Requests)
	}
	for _, r := range o.Requests {
		if !slices.Contains(labels, r.Label) {
			labels = append(labels, r.Label)
		}
	}
	e := unknownOf(strings.Join(labels, ", "), placesOf(o.Requests), o.Err)
	e.patch = slices.ContainsFunc(o.Requests, write.Forgotten)
	if e.patch {
		x.remember(o.Requests)
	}
	return e
}

// describe returns what the transaction would send.
func (x *transaction) describe() (*Plan, error) {
	p, known, err := x.plan()
	if err == nil && !known {
		err = fmt.Errorf("mapper: a Deleting of the transaction cannot be planned: %w", errUnread)
	}
	if err != nil {
		return nil, err
	}
	out := (&engine{}).planOf(p)
	for _, g := range x.models() {
		out.WCU = out.WCU.Add(g.indexes.of(p))
	}
	for _, m := range x.members {
		if err := m.reads(out); err != nil {
			return nil, err
		}
	}
	for _, s := range x.storing() {
		_, objects := s.before()
		out.Objects = out.Objects.Add(objects)
	}
	if out.again {
		out.orAgain()
	}
	return out, nil
}
