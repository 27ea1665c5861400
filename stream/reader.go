package stream

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streams "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/mapper"
)

// outcome is how a reader has ended.
type outcome int

const (
	released outcome = iota
	finished         // the shard is done
	lost             // another worker has the lease
)

// reader reads one shard.
type reader struct {
	w       *work
	shard   string
	lease   *mapper.Entity[lease]
	outcome outcome
	// reading ends when the reader is to stop, and handling when its handlers are, too.
	reading, handling context.Context
	release           context.CancelFunc
	interrupt         context.CancelFunc
	leaving           bool // the goroutine of work has released it
	abandoned         chan struct{}
	once              sync.Once
	cutOff            atomic.Int64 // when it was abandoned, in Unix nanoseconds
	slots             slots

	after   string // the last record that was handled
	overdue bool   // it was reported that it was not read for longer than the stream keeps records
	refused bool   // the last iterator was that of trimmed records
	again   int    // the number of reads that have failed since one that has not
	// failing is when requests to the stream or the table began to fail, in Unix nanoseconds, 0 for none.
	failing  atomic.Int64
	repeated atomic.Bool // more than one has failed
	proven   atomic.Bool // a request for its records has succeeded
	saved    time.Time
	kept     string // the position that is saved
	listed   int64  // as in the lease that is saved
	taken    int    // of the lease
	// since is when the handlers of an answer began, in Unix nanoseconds, 0 for none. next is how long they may run
	// until they are reported again.
	since atomic.Int64
	next  time.Duration
}

func newReader(w *work, e *mapper.Entity[lease]) *reader {
	r := &reader{
		w: w, shard: e.Value.Shard, lease: e, abandoned: make(chan struct{}), after: e.Value.After, kept: e.Value.After,
		saved: time.Now(), taken: e.Value.Taken, slots: slots{c: w.c}, listed: e.Value.Listed,
	}
	r.handling, r.interrupt = context.WithCancel(w.values)
	r.reading, r.release = context.WithCancel(r.handling)
	return r
}

// abandon ends the reader without a save, because others may have taken its lease.
func (r *reader) abandon() {
	r.once.Do(func() {
		r.cutOff.Store(time.Now().UnixNano())
		close(r.abandoned)
	})
	r.interrupt()
}

func (r *reader) isAbandoned() bool {
	select {
	case <-r.abandoned:
		return true
	default:
		return false
	}
}

// hangs reports whether handlers still run a failover time after another worker may have taken the lease. The worker
// does not wait for them any more.
func (r *reader) hangs(now time.Time) bool {
	return r.isAbandoned() && now.Sub(time.Unix(0, r.cutOff.Load())) > r.w.c.settings.failover
}

// run reads until the reader is to stop, its shard ends, or its lease is lost.
func (r *reader) run() {
	defer r.interrupt()
	var done bool
	switch r.shard {
	case snapshotShard:
		r.proven.Store(true) // of the table, not of the stream
		done = r.scan()
	case driveShard:
		r.proven.Store(true)
		done = r.drive()
	default:
		done = r.read()
	}
	if r.isAbandoned() {
		r.outcome = lost
	}
	if r.outcome == lost {
		return
	}
	// The last save is tried as long as it makes sense: without it the next owner handles the last records again.
	ctx, cancel := context.WithTimeout(context.Background(), r.w.c.settings.failover)
	defer cancel()
	for pause := r.w.c.settings.pause(); ; pause *= 2 {
		var err error
		if done && r.shard == driveShard {
			_, err = r.w.c.store.leases.Delete(ctx, r.lease)
		} else {
			r.lease.Value.After, r.lease.Value.Done, r.lease.Value.Owner = r.after, done, ""
			_, err = r.w.c.store.leases.Save(ctx, r.lease)
		}
		switch {
		case err == nil:
			if done {
				r.outcome = finished
			}
			return
		case raced(err):
			r.outcome = lost
			return
		}
		r.w.report(fmt.Errorf("give up the shard %s: %w", r.shard, err))
		if !sleep(ctx, pause+time.Millisecond) {
			return
		}
	}
}

// retention is how long a stream keeps records.
// (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Streams.html)
const retention = 24 * time.Hour

// iteratorAge is the age up to which an iterator is used: it expires after 15 minutes.
const iteratorAge = 10 * time.Minute

// report reports an error, unless it is one of a request whose reader was to stop.
func (r *reader) report(err error) { r.w.reportIn(r.reading, err) }

// failed remembers when requests began to fail, and whether more than one has.
func (r *reader) failed() {
	if !r.failing.CompareAndSwap(0, time.Now().UnixNano()) {
		r.repeated.Store(true)
	}
}

func (r *reader) succeeded() {
	r.failing.Store(0)
	r.repeated.Store(false)
	r.proven.Store(true)
}

// fails reports whether requests have failed for a time.
func (r *reader) fails(now time.Time, d time.Duration) bool {
	since := r.failing.Load()
	return since != 0 && r.repeated.Load() && now.Sub(time.Unix(0, since)) >= d
}

// limited limits a request: without an answer it must not hold its shard for ever.
func (r *reader) limited() (context.Context, context.CancelFunc) {
	return context.WithTimeout(r.reading, r.w.c.settings.failover)
}

// read reads the records of the shard, and reports whether it has handled all of them.
func (r *reader) read() bool {
	c := r.w.c
	pause := c.settings.pause()
	var iterator *string
	var opened time.Time
	for c.room(r.reading) {
		if iterator == nil || time.Since(opened) > iteratorAge {
			next, deleted, err := r.open()
			if deleted {
				<-c.batches
				return true
			}
			if err != nil {
				<-c.batches
				c.stats.behind(r.shard)
				r.failed()
				r.report(fmt.Errorf("open the shard %s: %w", r.shard, err))
				pause = r.rest(pause)
				continue
			}
			iterator, opened = next, time.Now()
		}
		out, err := r.get(iterator)
		if err != nil {
			<-c.batches
			c.stats.behind(r.shard)
			iterator = r.recover(iterator, err)
			pause = r.rest(pause)
			continue
		}
		r.succeeded()
		listed := time.Now().Unix()
		pause, r.refused, r.again = c.settings.pause(), false, 0
		r.slots.handles()
		all := r.handle(out.Records)
		r.slots.handled()
		if all {
			// Not before: records that are not handled can be trimmed.
			r.lease.Value.Listed, r.overdue = listed, false
		}
		if !all || !r.checkpoint() {
			return false
		}
		switch iterator, opened = out.NextShardIterator, time.Now(); {
		case iterator == nil:
			c.stats.behind(r.shard) // until its end is saved, and the next shards are listed
			return true
		case len(out.Records) == 0:
			c.stats.current(r.shard)
			sleep(r.reading, c.settings.poll)
		}
	}
	return false
}

// get reads one answer.
func (r *reader) get(iterator *string) (*dynamodbstreams.GetRecordsOutput, error) {
	ctx, cancel := r.limited()
	defer cancel()
	return r.w.c.streams.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: iterator})
}

// rest waits after an error, and returns the next pause, which is longer.
func (r *reader) rest(pause time.Duration) time.Duration {
	sleep(r.reading, jitter(pause))
	return min(2*pause, r.w.c.settings.longest())
}

// pause is the first pause after a request that has failed. The pauses double up to the longest.
func (s *settings) pause() time.Duration { return min(s.least, s.poll) }

func (s *settings) longest() time.Duration { return 10 * s.poll }

// room waits for a slot for an answer, and for the limit of requests.
func (c *Consumer) room(ctx context.Context) bool {
	select {
	case c.batches <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	if ctx.Err() != nil { // a select of two takes either
		<-c.batches
		return false
	}
	if c.limiter != nil {
		if err := c.limiter.Take(ctx, 1); err != nil {
			<-c.batches
			return false
		}
	}
	return true
}

// TrimmedError reports records that the stream did not have any more when they were to be read: more than 24 hours had
// passed. They can be lost.
type TrimmedError struct {
	Table, Group, Shard string
	// After is the last record that was handled, "" for none.
	After string
	Err   error
}

func (e *TrimmedError) Error() string {
	return fmt.Sprintf("stream of the table %s: group %s: shard %s: records were trimmed before they were read: make "+
		"the read model again with a new group and WithSnapshot: %v", e.Table, e.Group, e.Shard, e.Err)
}

// Unwrap returns the error of the request.
func (e *TrimmedError) Unwrap() error { return e.Err }

// open returns an iterator at the position of the reader. deleted means that the stream has deleted the shard.
func (r *reader) open() (iterator *string, deleted bool, err error) {
	if listed := r.lease.Value.Listed; r.after == "" && listed > 0 && !r.overdue {
		if r.overdue = time.Since(time.Unix(listed, 0)) > retention; r.overdue {
			r.trimmed(
				errors.New("the shard was not read for longer than 24 hours: see why its parent was not done, or " +
					"why no worker was running"),
			)
		}
	}
	in := &dynamodbstreams.GetShardIteratorInput{
		StreamArn: &r.lease.Value.Stream, ShardId: &r.shard, ShardIteratorType: streams.ShardIteratorTypeTrimHorizon,
	}
	if r.after != "" {
		in.ShardIteratorType, in.SequenceNumber = streams.ShardIteratorTypeAfterSequenceNumber, &r.after
	}
	ctx, cancel := r.limited()
	defer cancel()
	out, err := r.w.c.streams.GetShardIterator(ctx, in)
	switch {
	case err == nil:
		return out.ShardIterator, out.ShardIterator == nil, nil
	case errors.As(err, new(*streams.ResourceNotFoundException)):
		r.trimmed(err)
		return nil, true, nil
	case errors.As(err, new(*streams.TrimmedDataAccessException)) && r.after != "":
		r.trimmed(err)
		r.after = ""
		return r.open()
	}
	return nil, false, err
}

func (r *reader) trimmed(err error) {
	r.overdue = true // until records have been handled it is one gap
	r.w.c.stats.trimmed()
	r.w.report(&TrimmedError{r.w.c.table, r.w.c.settings.group, r.shard, r.after, err})
}

// recover returns the iterator after an error of GetRecords, nil to open the shard again.
func (r *reader) recover(iterator *string, err error) *string {
	r.again++
	stale := errors.As(err, new(*streams.ExpiredIteratorException)) ||
		errors.As(err, new(*streams.ResourceNotFoundException)) // open finds out whether the shard is deleted
	switch {
	case stale && r.again == 1:
		return nil
	case errors.As(err, new(*streams.TrimmedDataAccessException)):
		// DynamoDB Local refuses an iterator at the beginning of an empty stream as soon as that has a record. So the
		// first refusal at the beginning is not reported.
		if r.after != "" || r.refused {
			r.trimmed(err)
		}
		r.after, r.refused = "", true
		return nil
	}
	r.failed()
	r.report(fmt.Errorf("read the shard %s: %w", r.shard, err))
	if stale {
		return nil
	}
	return iterator
}

// listedAgain is how often the lease of a shard without a record so far is saved: its next owner is to learn that it
// was read. DynamoDB closes most shards before that.
const listedAgain = retention / 4

// checkpoint saves the position if it is time. It returns false if the lease is lost.
func (r *reader) checkpoint() bool {
	unread := r.after == "" && time.Since(time.Unix(r.listed, 0)) > listedAgain
	if r.after == r.kept && !unread || time.Since(r.saved) < r.w.c.settings.interval {
		return true
	}
	r.lease.Value.After = r.after
	ctx, cancel := context.WithTimeout(r.handling, r.w.c.settings.failover)
	defer cancel()
	_, err := r.w.c.store.leases.Save(ctx, r.lease)
	switch {
	case err == nil:
		r.saved, r.kept, r.listed = time.Now(), r.after, r.lease.Value.Listed
	case raced(err):
		r.outcome = lost
		return false
	default:
		r.saved = time.Now() // the next checkpoint has this position, too
		r.w.report(fmt.Errorf("checkpoint of the shard %s: %w", r.shard, err))
	}
	return true
}

// handle calls the handlers for records: in the order of each partition key, and for several at the same time. It
// returns false if it had to stop. The position is then after the last record before which all were handled.
func (r *reader) handle(records []streams.Record) bool {
	c := r.w.c
	hash := c.router.hashOf(c.table)
	keys, done, tried := make([]string, len(records)), make([]bool, len(records)), make([]int, len(records))
	unmatched := make([]bool, len(records))
	for i := range records {
		if d := records[i].Dynamodb; d != nil && hash != "" {
			keys[i] = textOf(d.Keys[hash])
		} else if d != nil {
			keys[i] = fmt.Sprint(slices.Sorted(maps.Values(mapped(d.Keys))))
		}
	}
	if len(records) > 0 {
		c.stats.begin(r.shard, timeOf(&records[0]))
	}
	r.since.Store(time.Now().UnixNano())
	defer r.since.Store(0)
	// Records are decoded on all processors, and a handler that waits for its next attempt does not hold its slot.
	inOrder(r.reading, max(cap(c.handlers), runtime.GOMAXPROCS(0)), keys, func(i, exits int) bool {
		done[i], unmatched[i] = r.record(&records[i], &tried[i], exits > 0)
		return done[i]
	})
	n := slices.Index(done, false)
	if n < 0 {
		n = len(done)
	}
	for i := range n {
		if d := records[i].Dynamodb; d != nil && d.SequenceNumber != nil {
			r.after = *d.SequenceNumber
		}
	}
	if n > 0 {
		c.stats.handled(r.shard, n, timeOf(&records[n-1]))
		c.stats.unmatched(unmatched[:n])
	}
	return n == len(done)
}

func timeOf(r *streams.Record) time.Time {
	if r.Dynamodb == nil {
		return time.Time{}
	}
	return aws.ToTime(r.Dynamodb.ApproximateCreationDateTime)
}

// SlowError reports that the handlers of one answer of a stream have run for a long time. The shard waits for them.
type SlowError struct {
	Table, Group, Shard string
	For                 time.Duration
}

func (e *SlowError) Error() string {
	return fmt.Sprintf("stream of the table %s: group %s: shard %s: handlers have run for %v, and the shard waits for "+
		"them: let them obey the deadline of stream.Timeout", e.Table, e.Group, e.Shard, e.For.Round(time.Second))
}

// slow is how long handlers may run until they are reported.
const slow = time.Minute

// watch reports handlers that run for a long time, once for each time that they have taken twice as long.
func (r *reader) watch(now time.Time) {
	since := r.since.Load()
	if since == 0 {
		r.next = slow
		return
	}
	if d := now.Sub(time.Unix(0, since)); d > max(r.next, slow) {
		r.next = 2 * d
		r.w.report(&SlowError{r.w.c.table, r.w.c.settings.group, r.shard, d})
	}
}

// mapped returns the key attributes of an item in a table of no model as texts.
func mapped(keys map[string]streams.AttributeValue) map[string]string {
	out := make(map[string]string, len(keys))
	for name, v := range keys {
		out[name] = name + "=" + textOf(v)
	}
	return out
}

// record handles one record. done is false if it had to stop. unmatched reports a record of no model. tried counts the
// calls of its handlers. exited reports that the last one, or the decoding before the first, has ended its goroutine.
func (r *reader) record(of *streams.Record, tried *int, exited bool) (done, unmatched bool) {
	rec, err := recordOf(r.w.c.table, r.shard, of)
	if exited && *tried == 0 {
		return r.settle(rec, nil, tried, false, errExited), false
	}
	var calls []func(context.Context) error
	matched := true
	if err == nil {
		if !r.w.from.IsZero() && !rec.Time.IsZero() && rec.Time.Before(r.w.from.Truncate(time.Second)) {
			return true, false
		}
		calls, matched, err = r.w.c.router.calls(rec, &r.w.c.deleted)
	}
	if err == nil && len(calls) == 0 {
		return true, !matched
	}
	return r.settle(rec, calls, tried, exited, err), false
}

// DeadLetterError reports a record that has become a dead letter.
type DeadLetterError struct{ Letter *Letter }

func (e *DeadLetterError) Error() string {
	l := e.Letter
	return fmt.Sprintf("stream of the table %s: group %s: shard %s: record %s of the item %s is a dead letter after "+
		"%d attempts: %v", l.Table, l.Group, l.Shard, l.SequenceNumber, textOfKeys(l.Keys), l.Attempts, l.Err)
}

// Unwrap returns the error of the handler.
func (e *DeadLetterError) Unwrap() error { return e.Letter.Err }

// settle calls the handlers of a record until they succeed, or the record is a dead letter. tried counts the calls, and
// exited reports that the last one has ended its goroutine. err is the fault of a record that cannot be decoded. It
// returns false if it had to stop.
func (r *reader) settle(rec *Record, calls []func(context.Context) error, tried *int, exited bool, err error) bool {
	s := &r.w.c.settings
	if r.reading.Err() != nil {
		return false
	}
	for invalid := err != nil; !invalid; exited = false {
		called := true
		if err = errExited; !exited {
			*tried++
			called, err = r.attempt(func(ctx context.Context) error { return run(ctx, calls) })
		}
		if !called {
			return false
		}
		if err == nil {
			return true
		}
		r.w.c.stats.retried()
		if *tried >= s.attempts {
			break
		}
		if !sleep(r.reading, jitter(s.after(*tried))) {
			return false
		}
	}
	if r.handling.Err() != nil {
		return false // the handlers were interrupted
	}
	l := &Letter{
		Table: r.w.c.table, Group: s.group, Stream: r.lease.Value.Stream, Shard: r.shard,
		SequenceNumber: rec.SequenceNumber, ID: rec.ID, Keys: rec.Keys, Time: rec.Time, Attempts: *tried, Err: err,
	}
	if r.shard == snapshotShard || rec.SequenceNumber == "" { // each entity, and each record without a number
		l.SequenceNumber = cmp.Or(rec.ID, "none-"+hashOf(rec))
	}
	if s.values {
		l.Old, l.New = rec.Old, rec.New
	}
	for n := 1; ; n++ {
		var err error
		if s.letters != nil {
			err = guarded(func() error { return s.letters(r.handling, l) })
		} else {
			ctx, cancel := context.WithTimeout(r.handling, s.failover)
			err = r.w.c.store.put(ctx, l, rec.Expired, s.values)
			cancel()
		}
		if err == nil {
			r.w.c.stats.dead()
			r.w.report(&DeadLetterError{l})
			return true
		}
		r.report(fmt.Errorf("shard %s: the dead letter of record %s is not stored yet: %w (the record's own error: %v)",
			l.Shard, l.SequenceNumber, err, l.Err))
		if !sleep(r.reading, jitter(max(s.after(n), time.Millisecond))) {
			return false
		}
	}
}

// after is the pause after a number of calls that failed.
func (s *settings) after(calls int) time.Duration {
	pause := s.least
	for range min(calls-1, 63) {
		if pause > s.most/2 {
			return s.most
		}
		pause *= 2
	}
	return min(pause, s.most)
}

// hashOf returns a text that is the same for the same key and images.
func hashOf(rec *Record) string {
	h := sha256.New()
	for _, m := range []map[string]types.AttributeValue{rec.Keys, rec.Old, rec.New} {
		_, _ = h.Write(attr.Hash(m))
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// attempt calls handlers once, with a slot. called is false if the reader was to stop, or other workers may have taken
// its lease.
func (r *reader) attempt(call func(context.Context) error) (called bool, err error) {
	select {
	case r.w.c.handlers <- struct{}{}:
		if !r.slots.call() {
			return false, r.handling.Err()
		}
		defer r.slots.returned()
	case <-r.reading.Done():
		return false, r.reading.Err()
	}
	if r.w.late(time.Now()) {
		r.abandon()
		return false, r.handling.Err()
	}
	ctx := r.handling
	if d := r.w.c.settings.timeout; d > 0 {
		limited, cancel := context.WithTimeout(ctx, d)
		defer cancel()
		ctx = limited
	}
	return true, call(ctx)
}

// scan shows all entities to the handlers, and reports whether it has shown them all.
func (r *reader) scan() bool {
	for _, route := range r.w.c.router.routes {
		if route.table(r.w.c.table) == nil {
			continue
		}
		for {
			dog := newWatchdog(r.reading, 4*r.w.c.settings.failover, r.succeeded)
			err := route.snapshot(dog, r.w.c.table,
				func(rec *Record, call func(context.Context) error, err error) bool {
					r.since.Store(time.Now().UnixNano())
					defer r.since.Store(0)
					own := func(ctx context.Context) error { return guarded(func() error { return call(ctx) }) }
					done := r.settle(rec, []func(context.Context) error{own}, new(int), false, err)
					if done {
						r.w.c.stats.handled(r.shard, 1, time.Time{})
					}
					return done
				})
			dog.end()
			if err == nil {
				break
			}
			r.failed()
			r.report(fmt.Errorf("scan for the snapshot: %w", err))
			if !sleep(r.reading, min(r.w.c.settings.most, r.w.c.settings.longest())) {
				return false
			}
		}
	}
	return r.reading.Err() == nil
}

// sleep waits. It returns false if the context has ended.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// jitter returns between half of a time and the whole.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d/2+1) }
