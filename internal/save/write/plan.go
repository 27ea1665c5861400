package write

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
)

// Mode is a way to send requests.
type Mode string

// The modes.
const (
	Nothing     Mode = "nothing"
	One         Mode = "one"
	Transaction Mode = "transaction"
	OneByOne    Mode = "independent"
	Staged      Mode = "staged"
)

// Plan is a list of steps, which are sent one after the other.
type Plan struct {
	Mode  Mode
	Steps []Step
	// Before are steps that are sent before all others: what the items will point to.
	Before []Step
}

// Calls returns the number of calls to DynamoDB.
func (p *Plan) Calls() int {
	n := 0
	for _, st := range p.all() {
		n += st.How.calls(len(st.Requests))
	}
	return n
}

func (p *Plan) all() []Step {
	if len(p.Before) == 0 {
		return p.Steps
	}
	return slices.Concat(p.Before, p.Steps)
}

// Items calls yield with each request in its order, and its price in WCU.
func (p *Plan) Items(yield func(r *Request, wcu cost.Units)) {
	for _, st := range p.all() {
		for _, r := range st.Requests {
			yield(r, st.How.Units(r))
		}
	}
}

// Units returns the price of the plan, in WCU: of its tables and of their indexes.
func (p *Plan) Units() cost.Units {
	var sum cost.Units
	p.Items(func(_ *Request, wcu cost.Units) { sum = sum.Add(wcu) })
	return sum.Add(p.Indexes().Sum())
}

// Indexes returns what of the price is that of indexes.
func (p *Plan) Indexes() IndexUnits {
	var sum IndexUnits
	p.Items(func(r *Request, _ cost.Units) { sum.Add(r) })
	return sum
}

// Choice is the mode that the caller has requested, and the modes that the requests allow.
type Choice struct {
	Independent, Staged, ExactlyOnce bool
	// Steps makes the steps of a staged write of the requests; it is nil where they cannot
	// be staged, which inserts and deletes of whole entities can.
	Steps func([]*Request) []Step
	// Delete reports that the requests delete an entity, Move that they move one, which is
	// done by one transaction or not at all.
	Delete, Move bool
	// Commit, of requests whose items point to values outside of them, marks the record of these committed, in the same
	// transaction.
	Commit *Request
	// Guards are requests on guards of unique values, which are sent in one transaction with that of the root item.
	Guards []*Request
}

// Arrange decides how requests are sent, together with checks of other items. Joint decides it for transactions of
// several parts. The error says that they do not fit one transaction,
// and what to choose.
func Arrange(requests, checks []*Request, c Choice) (*Plan, error) {
	if err := uncommitted(requests, c.Commit != nil); err != nil {
		return nil, err
	}
	joined := c.joined()
	if len(joined) > 0 && c.Independent && len(checks) == 0 {
		return c.joinedAndRest(requests, joined)
	}
	checks = slices.Concat(checks, joined)
	all := requests
	if len(checks) > 0 {
		all = slices.Concat(requests, checks)
	}
	for _, r := range all {
		r.Prepare()
	}
	switch {
	case len(requests) == 0:
		return &Plan{Mode: Nothing}, nil
	case c.staged(requests, all):
		p := &Plan{Mode: Staged, Steps: c.Steps(requests)}
		if len(checks) > 0 { // which makes the last step one transaction
			last := &p.Steps[len(p.Steps)-1]
			last.Requests, last.How = slices.Concat(last.Requests, checks), InTransaction
		}
		if err := p.tooLarge(); err != nil {
			return nil, err
		}
		return p, nil
	case len(all) == 1 && all[0].Writes():
		return single(all, alone(c.ExactlyOnce)), nil
	case c.Independent && len(checks) > 0:
		return nil, fmt.Errorf("%s: %s is written together with a check of %s, as a lookup needs it, or a change "+
			"of the "+
			"number of shards: write without Independent", all[0].Label, all[0].Place, checks[0].Place)
	case c.Independent:
		return oneByOne(requests, alone(c.ExactlyOnce)), nil
	case Fits(all):
		return &Plan{Mode: Transaction, Steps: []Step{{all, InTransaction}}}, nil
	}
	return nil, tooMany(all, c)
}

// uncommitted refuses requests that point to values whose record no request commits.
func uncommitted(requests []*Request, committed bool) error {
	for _, r := range requests {
		if r.External > 0 && !committed {
			return fmt.Errorf("%s.%s: the item %s has a value too large for an item, which only Save, Update, "+
				"SavePart and BulkLoad write: use one of these", r.Label, r.Field, r.Place)
		}
	}
	return nil
}

// joined returns the requests that are sent in one transaction with items.
func (c *Choice) joined() []*Request {
	if c.Commit == nil {
		return c.Guards
	}
	return append(slices.Clone(c.Guards), c.Commit)
}

// joinedAndRest writes the items that point to values outside of them, or whose unique values change, in one
// transaction, and the others one by one.
func (c *Choice) joinedAndRest(requests, joined []*Request) (*Plan, error) {
	some, rest := []*Request{}, []*Request{}
	for _, r := range requests {
		r.Prepare()
		if r.External > 0 || len(c.Guards) > 0 && r.Root {
			some = append(some, r)
		} else {
			rest = append(rest, r)
		}
	}
	for _, r := range joined {
		r.Prepare()
	}
	first := append(some, joined...)
	if !Fits(first) {
		return nil, TooMany("%s: %d items have external values or unique values, which need one transaction (limits "+
			"%d items and 4 MB), also with Independent: save fewer of them at once",
			first[0].Label, len(some), cost.MaxTransactItems-len(joined))
	}
	p := oneByOne(rest, alone(c.ExactlyOnce))
	at := 0
	if len(p.Steps) > 0 && p.Steps[0].Requests[0].Root && p.Steps[0].Requests[0].New {
		at = 1 // the root first, so that nothing is written if the entity exists
	}
	p.Steps = slices.Insert(p.Steps, at, Step{first, InTransaction})
	return p, nil
}

// TransactionOf returns the plan of requests that have to be written at once, which Fits.
func TransactionOf(all []*Request) (*Plan, error) {
	for _, r := range all {
		r.Prepare()
	}
	switch {
	case len(all) == 0:
		return &Plan{Mode: Nothing}, nil
	case len(all) == 1 && all[0].Writes() && all[0].raw == nil:
		return single(all, Each), uncommitted(all, false)
	}
	committed := slices.ContainsFunc(all, func(r *Request) bool { return r.Commits })
	return &Plan{Mode: Transaction, Steps: []Step{{all, InTransaction}}}, uncommitted(all, committed)
}

// tooLarge refuses a staged write whose mark takes an item over the limit.
func (p *Plan) tooLarge() error {
	for _, st := range p.Steps {
		for _, r := range st.Requests {
			if r.NewSize > cost.MaxItem {
				return fmt.Errorf("%s.%s: the item %s would have %s with the mark of a staged write (limit 400 "+
					"KB): write with Independent, or make it smaller",
					r.Label, r.Field, r.Place, attr.Bytes(r.NewSize))
			}
		}
	}
	return nil
}

// alone is how a single request is sent.
func alone(exactlyOnce bool) *How {
	if exactlyOnce {
		return InTransaction
	}
	return Each
}

// single returns the plan of one request.
func single(only []*Request, how *How) *Plan {
	p := &struct {
		Plan
		step [1]Step
	}{Plan{Mode: One}, [1]Step{{only, how}}}
	if how == InTransaction {
		p.Mode = Transaction
	}
	p.Steps = p.step[:]
	return &p.Plan
}

// staged reports whether the requests are staged. They are if the caller requests it, if they take over
// an unfinished write, or if they do not fit a transaction.
func (c *Choice) staged(requests, all []*Request) bool {
	switch {
	case c.Steps == nil:
		return false
	case c.Staged && (c.Delete || len(requests) > 1):
		return true
	}
	return !Fits(all) && !c.Independent && !c.ExactlyOnce
}

// oneByOne puts each request in a step of its own. For an insert the root is first, so that nothing is
// written if the entity exists. Otherwise puts come before deletes, and the root's delete is last, so
// that remaining items can be found. The delete of a claim is first: it ends the insert before its
// items are deleted.
func oneByOne(requests []*Request, how *How) *Plan {
	rank := func(r *Request) int {
		switch {
		case r.Kind == Delete && r.Root && r.Header.ReadStage().State == item.Inserting:
			return 0
		case r.Kind == Delete && r.Root:
			return 3
		case r.Kind == Delete:
			return 2
		case r.Root && r.New:
			return 0
		}
		return 1
	}
	requests = slices.Clone(requests)
	slices.SortStableFunc(requests, func(a, b *Request) int { return cmp.Compare(rank(a), rank(b)) })
	p := &Plan{Mode: OneByOne, Steps: make([]Step, len(requests))}
	for i := range requests {
		p.Steps[i] = Step{requests[i : i+1], how}
	}
	return p
}

// Fits reports whether requests fit one transaction.
func Fits(all []*Request) bool {
	return len(all) <= cost.MaxTransactItems && Bytes(all) <= cost.MaxTransactBytes
}

// Bytes returns what requests count for in a transaction, in bytes.
func Bytes(all []*Request) int {
	n := 0
	for _, r := range all {
		n += max(r.OldSize, r.NewSize)
	}
	return n
}

// ErrTransactionTooLarge is the class of errors of transactions over the limits of DynamoDB.
var ErrTransactionTooLarge = errors.New("itemize: transaction too large")

// TooMany returns an error of a transaction that is over a limit.
func TooMany(format string, args ...any) error { return &overLimit{fmt.Sprintf(format, args...)} }

type overLimit struct{ text string }

func (e *overLimit) Error() string { return e.text }

func (e *overLimit) Is(target error) bool { return target == ErrTransactionTooLarge }

func tooMany(all []*Request, c Choice) error {
	cure := "save with Independent, one by one, or save in parts"
	switch {
	case c.Delete && c.ExactlyOnce:
		cure = "delete without ExactlyOnce, or with Independent, one by one"
	case c.Delete:
		cure = "delete with Independent, one by one, or in parts"
	case c.ExactlyOnce && c.Steps != nil:
		cure = "insert without ExactlyOnce, which stages it, or with Independent, one by one"
	case c.Move && slices.ContainsFunc(all, func(r *Request) bool { return r.Guard }):
		cure = "an entity moves in one transaction: delete it, and then insert it under the new key, with Staged"
	case c.Move && !all[0].Reserved.Versions():
		cure = "an entity moves in one transaction: insert a copy under the new key, one by one with Independent, " +
			"and delete the old one"
	case c.Move:
		cure = "an entity moves in one transaction: insert a copy under the new key, with Staged, and delete the " +
			"old one"
	}
	if slices.ContainsFunc(all, func(r *Request) bool { return r.Kind == Check }) {
		cure = "load less, so that fewer items are checked, or save without CheckLoaded"
	}
	return TooMany("%s: transaction too large: %d items (limit 100), %s in all (limit 4 MB): %s",
		all[0].Label, len(all), attr.Bytes(Bytes(all)), cure)
}

// Alternative is another way to send the same requests.
type Alternative struct {
	Mode  Mode
	Calls int
	WCU   cost.Units
}

// Alternatives returns the other ways to send requests that are planned in one mode. staged prices them as a staged
// write, nil where they cannot be one.
func Alternatives(mode Mode, requests []*Request, staged func([]*Request) Alternative) []Alternative {
	if len(requests) < 2 {
		return nil
	}
	var out []Alternative
	add := func(m Mode, how *How) {
		if m == mode {
			return
		}
		p := Plan{Steps: []Step{{requests, how}}}
		out = append(out, Alternative{m, p.Calls(), p.Units()})
	}
	add(OneByOne, Each)
	if Fits(requests) {
		add(Transaction, InTransaction)
	}
	if staged != nil && mode != Staged {
		out = append(out, staged(requests))
	}
	return out
}
