// Package bulk writes many entities: their items in batches, one after the other on different
// partition keys, and the root item of each entity after its other items.
//
// A [Load] writes items, and knows no model. A [Job] makes the items of a model's entities, and runs a Load.
package bulk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/flow"
	"github.com/itemize/itemize/internal/item"
)

// BatchSize is how many items one call writes (BatchWriteItem and BatchExecuteStatement take 25).
const BatchSize = 25

// Entity is what is written of one entity.
type Entity struct {
	// Number is its place in the input, from 0.
	Number int
	// Items are its items, the root last.
	Items []*Item
	// Err is why it cannot be written.
	Err error
	// Alone says that the entity, of so many items, is written by itself: it has its root alone here,
	// and of that Existing is asked. Took are the WCU that this took, as DynamoDB reported them.
	Alone int
	Took  float64
	// value is a pointer to the entity's value, and rootPlace the place of its root item, of an entity that a Job made.
	value     any
	rootPlace item.Place

	left int     // items that are not written yet
	next *Entity // one of the same key behind it, which waits for it

	once  sync.Once
	whole error
}

// saveOnce runs save for the first item of the entity that asks, and returns its error to all.
func (e *Entity) saveOnce(save func() error) error {
	e.once.Do(func() { e.whole = save() })
	return e.whole
}

// Item is an item that is to be written.
type Item struct {
	item.Place
	// Attributes are the whole item.
	Attributes item.Attributes
	// Units are what a write of it takes, its indexes included.
	Units cost.Units
	// Size is the item's size in bytes.
	Size int
	// Incarnation and Version are what its reserved attributes hold, nil for none: derived from the
	// load and the key, so that a load that goes on knows its own.
	Incarnation, Version types.AttributeValue

	of    *Entity
	tries int
}

// Result is what became of an item.
type Result uint8

// The results: Again is for what has to be sent once more, InTheWay for what found an item in its
// place.
const (
	Written Result = iota
	Again
	Blocked
	Refused
	// Known is that of an item whose entity is there.
	Stored
)

// Answer is what became of the items of a batch.
type Answer struct {
	// Results are those of the items, in their order, and Stored and Errs what belongs to InTheWay
	// and Refused; both are nil where there is nothing of that kind.
	Results []Result
	Stored  []item.Attributes
	Errs    []error
	// WCU is what the call took, as DynamoDB reported it.
	WCU float64
	// Throttled reports that items are to be sent again because DynamoDB throttled them.
	Throttled bool
	// Unsure reports that items that are to be sent again may have been written, and may also be written later.
	Unsure bool
}

// Sender writes a batch. An error ends the load: no item of the batch is known to be written then.
type Sender interface {
	Send(ctx context.Context, batch []*Item) (*Answer, error)
}

// Load is a load under way.
type Load struct {
	Sender Sender
	// Parallel is how many batches are under way at one time; Window how many items wait for it, of
	// so many bytes.
	Parallel, Window, Bytes int
	// Limit limits the WCU per second, nil for no limit.
	Limit *flow.Limiter
	// Existing settles items that found others in their places, which are known as far as the refusal
	// told: each error is nil where that is its own, ErrWhole where the entity was written in another
	// way, and else why not. It is called in parallel.
	Existing func(ctx context.Context, items []*Item, stored []item.Attributes) ([]error, error)
	// Known tells of which of some entities the roots are there, and the load's own: they are done, and
	// nothing more is sent of them. It is nil for a load that begins anew.
	Stored func(ctx context.Context, entities []*Entity) (map[*Entity]bool, error)
	// Done is told of each entity that is written, or not: err says why.
	Done func(e *Entity, err error)
	// Tick is called now and then.
	Tick func()

	// Sent counts items that were written, and WCU what they took.
	Sent int
	WCU  float64

	queue    queue
	roots    map[item.Place]*Entity // those that are under way
	waiting  int                    // items of entities that are not done, and their bytes
	bytes    int
	underway int
	answers  chan outcome
	// throttled reports that DynamoDB throttled the last batch of which something is known.
	throttled bool
}

// ErrWhole says that the whole entity of an item has been written in another way.
var ErrWhole = errors.New("the entity has been written by itself")

// outcome is what became of a batch.
type outcome struct {
	batch []*Item
	*Answer
	err error
}

// Run writes what next returns, until it returns nil. It returns when all batches have ended.
func (l *Load) Run(ctx context.Context, next func() *Entity) error {
	waits, cancel := context.WithCancel(ctx) // what was sent is waited for
	l.answers = make(chan outcome, l.Parallel)
	defer func() {
		cancel()
		for ; l.underway > 0; l.underway-- {
			o := <-l.answers
			_ = l.took(ctx, &o) // what was written is told
		}
	}()
	for more := true; ; {
		for more && l.waiting < l.Window && l.bytes < l.Bytes {
			if err := l.ended(ctx); err != nil {
				return err
			}
			e := next()
			if more = e != nil; more {
				l.add(e)
			}
		}
		for l.underway < l.Parallel && l.queue.len() > 0 && (l.queue.len() >= BatchSize || l.underway == 0) {
			batch := l.queue.batch()
			if len(batch) == 0 {
				continue // all of it was given up
			}
			l.underway++
			go func() { l.answers <- l.send(ctx, waits, batch) }()
		}
		if l.underway == 0 {
			return l.ended(ctx)
		}
		o := <-l.answers
		l.underway--
		if err := l.took(ctx, &o); err != nil {
			return err
		}
		if l.Tick != nil {
			l.Tick()
		}
	}
}

// add takes an entity into the window.
func (l *Load) add(e *Entity) {
	if e.Err != nil || len(e.Items) == 0 {
		l.Done(e, e.Err)
		return
	}
	e.left = len(e.Items)
	l.waiting += e.left
	for _, i := range e.Items {
		i.of = e
		l.bytes += i.Size
	}
	if first := l.roots[e.root()]; first != nil { // of the same key, which comes first
		for first.next != nil {
			first = first.next
		}
		first.next = e
		return
	}
	l.start(e)
}

// start queues an entity's items, the root aside.
func (l *Load) start(e *Entity) {
	if l.roots == nil {
		l.roots = map[item.Place]*Entity{}
	}
	l.roots[e.root()] = e
	for _, i := range e.Items[:max(e.left-1, 1)] {
		l.queue.push(i)
	}
}

func (e *Entity) root() item.Place { return e.Items[len(e.Items)-1].Place }

// send sends a batch when the bucket has room for it; it waits for that, and behind throttled items, as
// long as waits lasts.
func (l *Load) send(ctx, waits context.Context, batch []*Item) outcome {
	o := outcome{batch: batch}
	expected := 0.0
	for _, i := range batch {
		expected += i.Units.Expected
	}
	if o.err = l.Limit.Take(waits, expected); o.err != nil {
		return o
	}
	stored, err := l.alreadyStored(ctx, batch)
	if o.err = err; err != nil {
		return o
	}
	o.Answer, o.err = l.sendUnknown(ctx, batch, stored)
	if o.err != nil {
		return o
	}
	l.Limit.Correct(expected, o.WCU)
	if o.err = l.resolveExisting(ctx, &o); o.err != nil {
		return o
	}
	tries := 0
	for n, r := range o.Results {
		if r == Again {
			batch[n].tries++
			tries = max(tries, batch[n].tries)
		}
	}
	if tries > 0 {
		_ = flow.Pause(waits, tries) // the end of the load is seen elsewhere
	}
	return o
}

// touch tells those who watch the tables of what is written.
func touch(batch []*Item) {
	for _, i := range batch {
		i.Touch()
	}
}

// alreadyStored returns the entities of a batch that a resumed load has stored before.
func (l *Load) alreadyStored(ctx context.Context, batch []*Item) (map[*Entity]bool, error) {
	if l.Stored == nil {
		return nil, nil
	}
	var entities []*Entity
	for _, i := range batch {
		if !slices.Contains(entities, i.of) {
			entities = append(entities, i.of)
		}
	}
	return l.Stored(ctx, entities)
}

// sendUnknown sends the items of entities that are not known to be there, and are not written by themselves.
func (l *Load) sendUnknown(ctx context.Context, batch []*Item, stored map[*Entity]bool) (*Answer, error) {
	send := slices.DeleteFunc(slices.Clone(batch), func(i *Item) bool { return stored[i.of] || i.of.Alone > 0 })
	all := &Answer{Results: make([]Result, len(batch)), Stored: make([]item.Attributes, len(batch)),
		Errs: make([]error, len(batch))}
	a := &Answer{}
	if len(send) > 0 {
		var err error
		touch(send)
		a, err = l.Sender.Send(ctx, send)
		touch(send)
		if err != nil {
			return nil, err
		}
	}
	all.WCU, all.Throttled = a.WCU, a.Throttled
	n := 0
	for at, i := range batch {
		switch {
		case stored[i.of]:
			all.Results[at] = Stored
			continue
		case i.of.Alone > 0:
			all.Results[at] = Blocked
			continue
		}
		all.Results[at] = a.Results[n]
		if a.Stored != nil {
			all.Stored[at], all.Errs[at] = a.Stored[n], a.Errs[n]
		}
		n++
	}
	return all, nil
}

// resolveExisting finds out about the items of a batch that found others in their places.
func (l *Load) resolveExisting(ctx context.Context, o *outcome) error {
	var items []*Item
	var stored []item.Attributes
	var at []int
	for n, r := range o.Results {
		if r == Blocked {
			items, stored, at = append(items, o.batch[n]), append(stored, o.Stored[n]), append(at, n)
		}
	}
	if len(items) == 0 {
		return nil
	}
	errs, err := l.Existing(ctx, items, stored)
	for j, n := range at {
		if err == nil {
			o.Errs[n] = errs[j]
		}
	}
	return err
}

// took notes what became of a batch.
func (l *Load) took(ctx context.Context, o *outcome) error {
	if o.err != nil {
		return o.err
	}
	l.WCU += o.WCU
	l.throttled = o.Throttled
	for n, i := range o.batch {
		switch {
		case i.of.left == 0: // written by itself meanwhile, or given up
		case o.Results[n] == Written:
			l.Sent++
			l.wrote(i)
		case o.Results[n] == Again && i.tries < maxTries:
			l.queue.push(i)
		case o.Results[n] == Stored:
			l.end(i.of, nil)
		case o.Results[n] == Blocked && o.Errs[n] == nil:
			l.wrote(i)
		case o.Results[n] == Blocked && errors.Is(o.Errs[n], ErrWhole):
			l.Sent += i.of.Alone
			l.WCU += i.of.Took
			l.end(i.of, nil)
		case o.Results[n] == Blocked, o.Results[n] == Refused:
			l.end(i.of, o.Errs[n])
		default:
			l.end(i.of, errThrottled)
		}
	}
	return l.ended(ctx)
}

// ended is the error of a context that has ended, nil before that. It says if DynamoDB throttled the load until then.
func (l *Load) ended(ctx context.Context) error {
	err := ctx.Err()
	if err == nil || !l.throttled {
		return err
	}
	return fmt.Errorf("DynamoDB throttled the load until its context ended: raise the capacity of the table, load "+
		"with a lower WriteRate, or give it more time: %w", err)
}

var errThrottled = errors.New("it was throttled again and again: give the table more write capacity, or load with a " +
	"lower WriteRate, and load it again")

// maxTries bounds how often an item is sent, with up to a second between.
const maxTries = 60

// wrote notes that an item is there. Behind the last but one comes the root.
func (l *Load) wrote(i *Item) {
	e := i.of
	e.left--
	l.waiting--
	switch e.left {
	case 0:
		l.done(e, nil)
	case 1:
		l.queue.pushFirst(e.Items[len(e.Items)-1])
	}
}

// end gives an entity up: what of it is queued is not sent.
func (l *Load) end(e *Entity, err error) {
	l.waiting -= e.left
	e.left = 0
	l.done(e, err)
}

func (l *Load) done(e *Entity, err error) {
	for _, i := range e.Items {
		l.bytes -= i.Size
	}
	delete(l.roots, e.root())
	l.Done(e, err)
	if e.next != nil {
		l.start(e.next)
	}
}
