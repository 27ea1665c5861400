// Package bulk writes many entities. It writes their items in batches, on different partition keys in
// turn, and the root item of each entity after its other items.
//
// A [Load] writes items and does not depend on models. A [Job] makes the items of a model's entities,
// and runs a Load.
package bulk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/save/write"
)

// BatchSize is the number of items in one call (BatchWriteItem and BatchExecuteStatement accept 25).
const BatchSize = 25

// Entity has the items of one entity.
type Entity struct {
	// Number is its position in the input, from 0.
	Number int
	// Items are its items, the root item last.
	Items []*Item
	// Err is the reason why it cannot be written.
	Err error
	// Alone is the number of items of an entity that is written by itself. Then Items has only the root
	// item, and Existing is called with that.
	Alone int
	// value is a pointer to the value of an entity of a Job, and rootPlace the place of its root item.
	value     any
	rootPlace item.Place

	left int     // items that are not written yet
	next *Entity // another entity with the same key, which waits for this one

	once  sync.Once
	whole error
}

// saveOnce runs save for the first item of the entity, and returns its error for all items.
func (e *Entity) saveOnce(save func() error) error {
	e.once.Do(func() { e.whole = save() })
	return e.whole
}

// Item is an item to write.
type Item struct {
	item.Place
	// Attributes are the attributes of the item.
	Attributes item.Attributes
	// Units are the units of a write of the item, including indexes.
	Units cost.Units
	// Size is the size of the item in bytes.
	Size int
	// Entries are those of the item in indexes.
	Entries []write.Entry
	// Incarnation and Version are its reserved attributes, nil for none. They are derived from the load
	// and the key, so that a load that continues recognizes its own items.
	Incarnation, Version types.AttributeValue

	of    *Entity
	tries int
}

// Result is the result for an item.
type Result uint8

// The results. Again means that the item must be sent again. Blocked means that another item exists at
// its key.
const (
	Written Result = iota
	Again
	Blocked
	Refused
	// Stored means that its entity is stored already.
	Stored
	// Ended means that an error ended the batch before the result.
	Ended
)

// Answer has the results for the items of a batch.
type Answer struct {
	// Results are the results of the items, in their order. Stored has the items for Blocked, and Errs
	// the errors for Refused and Again; both are nil if there are none.
	Results []Result
	Stored  []item.Attributes
	Errs    []error
	// Unsure reports that items that must be sent again may have been written, and may be written
	// later.
	Unsure bool
}

// Sender writes a batch, and counts its requests and what DynamoDB reports for them. If it returns an
// error, the load ends, and no item of the batch counts as written.
type Sender interface {
	Send(ctx context.Context, batch []*Item, t *write.Tally) (*Answer, error)
}

// Load is a running load.
type Load struct {
	Sender Sender
	// Parallel is the number of parallel batches. Window is the number of waiting items, and Bytes
	// their size.
	Parallel, Window, Bytes int
	// Limit limits the WCU per second, nil for no limit.
	Limit *request.Limiter
	// Existing resolves items that are blocked by others, which are in stored as far as the refusal
	// returned them. For each item it returns nil if the stored item is its own, ErrWhole if the entity
	// was written in another way, and otherwise the reason. It is called in parallel, and adds its cost to t.
	Existing func(ctx context.Context, items []*Item, stored []item.Attributes, t *write.Tally) ([]error, error)
	// Stored returns the entities whose root items are stored by this load. Nothing more is sent for
	// them. It is nil for a new load. It is called in parallel, and adds its cost to t.
	Stored func(ctx context.Context, entities []*Entity, t *write.Tally) (map[*Entity]bool, error)
	// Done is called for each entity that was written, or with the reason why it was not.
	Done func(e *Entity, err error)
	// Tick is called regularly.
	Tick func()

	// Sent counts written items, and Tally the requests and their cost.
	Sent  int
	Tally write.Tally

	queue    queue
	roots    map[item.Place]*Entity // entities that are being written
	waiting  int                    // items of unfinished entities, and their bytes
	bytes    int
	underway int
	answers  chan outcome
	// throttled is the error of the last known batch, if DynamoDB throttled it.
	throttled error
}

// ErrWhole says that the whole entity of an item was written in another way.
var ErrWhole = errors.New("the entity was written by itself")

// outcome is the outcome of a batch.
type outcome struct {
	batch []*Item
	*Answer
	t   write.Tally
	err error
}

// Run writes the entities of next until it returns nil. It returns when all batches have ended.
func (l *Load) Run(ctx context.Context, next func() *Entity) error {
	waits, cancel := context.WithCancel(ctx) // sent batches are awaited
	l.answers = make(chan outcome, l.Parallel)
	batches, started := make(chan []*Item), 0 // a sender's stack grows once, and not for each batch
	var senders sync.WaitGroup
	defer func() {
		close(batches)
		cancel()
		for ; l.underway > 0; l.underway-- {
			o := <-l.answers
			_ = l.took(ctx, &o) // records the written items
		}
		senders.Wait()
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
				continue // all of it was abandoned
			}
			if l.underway == started {
				started++
				senders.Go(func() {
					for batch := range batches {
						l.answers <- l.send(ctx, waits, batch)
					}
				})
			}
			l.underway++
			batches <- batch
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

// add adds an entity to the window.
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
	if first := l.roots[e.root()]; first != nil { // an earlier entity with the same key comes first
		for first.next != nil {
			first = first.next
		}
		first.next = e
		return
	}
	l.start(e)
}

// start queues the items of an entity, except the root item.
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

// send sends a batch when the limiter allows it. It waits for that, and after throttled items, until
// waits ends.
func (l *Load) send(ctx, waits context.Context, batch []*Item) outcome {
	o := outcome{batch: batch}
	expected := 0.0
	for _, i := range batch {
		expected += i.Units.Expected
	}
	if o.err = l.Limit.Take(waits, expected); o.err != nil {
		return o
	}
	stored, err := l.alreadyStored(ctx, batch, &o.t)
	if o.err = err; err != nil {
		return o
	}
	o.Answer, o.err = l.sendUnknown(ctx, batch, stored, &o.t)
	if o.err != nil {
		return o
	}
	l.Limit.Correct(expected, o.t.ConsumedWCU)
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
		_ = request.Pause(waits, tries) // the end of the load is handled elsewhere
	}
	return o
}

// touch notifies the watchers of the tables.
func touch(batch []*Item) {
	for _, i := range batch {
		i.Touch()
	}
}

// alreadyStored returns the entities of a batch that a continued load has stored before.
func (l *Load) alreadyStored(ctx context.Context, batch []*Item, t *write.Tally) (map[*Entity]bool, error) {
	if l.Stored == nil {
		return nil, nil
	}
	var entities []*Entity
	for _, i := range batch {
		if !slices.Contains(entities, i.of) {
			entities = append(entities, i.of)
		}
	}
	return l.Stored(ctx, entities, t)
}

// sendUnknown sends the items of entities that are neither stored nor written by themselves.
func (l *Load) sendUnknown(ctx context.Context, batch []*Item, stored map[*Entity]bool, t *write.Tally) (*Answer,
	error,
) {
	send := slices.DeleteFunc(slices.Clone(batch), func(i *Item) bool { return stored[i.of] || i.of.Alone > 0 })
	all := &Answer{
		Results: make([]Result, len(batch)), Stored: make([]item.Attributes, len(batch)),
		Errs: make([]error, len(batch)),
	}
	a := &Answer{}
	if len(send) > 0 {
		var err error
		touch(send)
		a, err = l.Sender.Send(ctx, send, t)
		touch(send)
		if err != nil {
			return nil, err
		}
	}
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
			all.Stored[at] = a.Stored[n]
		}
		if a.Errs != nil {
			all.Errs[at] = a.Errs[n]
		}
		n++
	}
	return all, nil
}

// resolveExisting resolves the blocked items of a batch.
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
	errs, err := l.Existing(ctx, items, stored, &o.t)
	for j, n := range at {
		if j < len(errs) {
			o.Errs[n] = errs[j]
		} else {
			o.Results[n] = Ended
		}
	}
	return err
}

// took records the results of a batch, of one that ended with an error those before that.
func (l *Load) took(ctx context.Context, o *outcome) error {
	l.Tally.AddAll([]write.Tally{o.t})
	if o.Answer == nil {
		return o.err
	}
	l.throttled = nil
	for n, i := range o.batch {
		if o.Results[n] == Again && request.IsThrottled(o.Errs[n]) {
			l.throttled = o.Errs[n]
		}
		switch {
		case i.of.left == 0: // written by itself in the meantime, or abandoned
		case o.Results[n] == Ended:
		case o.Results[n] == Written:
			l.Sent++
			l.Tally.WroteInBatch(i.Units, i.Entries)
			l.wrote(i)
		case o.Results[n] == Again && i.tries < maxTries:
			l.queue.push(i)
		case o.Results[n] == Stored:
			l.end(i.of, nil)
		case o.Results[n] == Blocked && o.Errs[n] == nil:
			l.wrote(i)
		case o.Results[n] == Blocked && errors.Is(o.Errs[n], ErrWhole):
			l.Sent += i.of.Alone
			l.end(i.of, nil)
		case o.Results[n] == Blocked, o.Results[n] == Refused:
			l.end(i.of, o.Errs[n])
		default:
			l.end(i.of, exhausted(o.Errs[n]))
		}
	}
	if o.err != nil {
		return o.err
	}
	return l.ended(ctx)
}

// ended returns the error of a context that has ended, nil before that. If DynamoDB throttled the load
// until then, it says so.
func (l *Load) ended(ctx context.Context) error {
	err := ctx.Err()
	if err == nil || l.throttled == nil {
		return err
	}
	return request.Throttling("DynamoDB throttled the load until its context ended: raise the capacity of the table, "+
		"lower WriteRate, or allow more time: %w: %w", err, l.throttled)
}

// exhausted is the error of an item that was sent maxTries times. last is the error of the last attempt.
func exhausted(last error) error {
	if request.IsThrottled(last) {
		return request.Throttling("DynamoDB throttled the last of %d attempts: raise the write capacity of the "+
			"table, or lower WriteRate, and load it again: %w", maxTries, last)
	}
	return fmt.Errorf("each of %d attempts failed: load it again: %w", maxTries, last)
}

// maxTries is how often an item is sent, with pauses of up to a second.
const maxTries = 60

// wrote records that an item is stored. After the last other item comes the root item.
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

// end abandons an entity: its queued items are not sent.
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
