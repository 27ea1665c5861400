package stream

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streams "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/itemize/itemize/mapper"
)

// discovery is a complete listing of the shards of the table's stream, and of former streams that leases belong to.
type discovery struct {
	// listed are the shards of the listing, leased those whose leases were read before it, and done those of them that
	// were done.
	listed, leased, done map[string]bool
	// open are the ARNs of streams with a shard that was not done when the leases were read.
	open map[string]bool
	// failed are the ARNs of former streams that could not be listed.
	failed map[string]bool
	// begun is when it began.
	begun time.Time
}

// discovering lists the shards again and again. A listing that fails is repeated, and stops nothing else.
func (w *work) discovering(ctx context.Context) {
	s := &w.c.settings
	pause := s.pause()
	defer w.reportReplaced() // if the answer to its transaction did not come in time
	for {
		var d discovery
		err := guarded(func() (err error) {
			d, err = w.discover(ctx)
			return err
		})
		wait := s.discover
		if errors.As(err, new(*deletedError)) {
			select {
			case w.over <- err:
			case <-ctx.Done():
			}
			return
		}
		switch {
		case err == errExists:
			wait = s.interval / 10
		case err != nil:
			w.reportIn(ctx, fmt.Errorf("list the shards: %w", err))
			pause = min(2*pause+time.Millisecond, s.discover)
			wait = pause
		default:
			pause = s.pause()
			select {
			case w.discovered <- d:
			case <-ctx.Done():
				return
			}
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-w.hurry: // a shard has ended: not more often than leases are read
			timer.Stop()
			if !sleep(ctx, max(pause, s.interval/5)) {
				return
			}
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// limited limits a request: without an answer it must not stop the others.
func (w *work) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, w.c.settings.failover)
}

// found is what the table of leases and the description of the table say.
type found struct {
	leases map[string]*mapper.Entity[lease]
	arn    string // of the present stream
}

// look reads the group, its leases, and the ARN of the stream.
func (w *work) look(ctx context.Context) (found, error) {
	limited, cancel := w.limited(ctx)
	g, err := w.c.store.groups.Load(limited, w.c.store.groups.Key(w.c.store.name), mapper.Strong())
	cancel()
	if errors.Is(err, mapper.ErrNotFound) || err == nil && (g.Value.Deleting || g.Value.ID != w.of.Value.ID) {
		return found{}, &deletedError{w.c.table, w.c.settings.group}
	}
	if err != nil {
		return found{}, err
	}
	w.of = g
	var f found
	dog := newWatchdog(ctx, w.c.settings.failover, func() {})
	defer dog.end()
	f.leases, err = w.c.store.all(dog.ctx, dog.progress)
	if err != nil {
		return found{}, err
	}
	limited, cancel = w.limited(ctx)
	defer cancel()
	f.arn, err = w.c.streamARN(limited)
	return f, err
}

// discover inserts the leases of new shards, and deletes those of trimmed ones. It reads the leases before it lists the
// shards: a lease that it has read and the listing lacks is that of a trimmed shard (Leases.tla, ReadsThenLists).
func (w *work) discover(ctx context.Context) (discovery, error) {
	d := discovery{
		listed: map[string]bool{}, leased: map[string]bool{}, done: map[string]bool{}, open: map[string]bool{},
		failed: map[string]bool{}, begun: time.Now(),
	}
	f, err := w.look(ctx)
	if err != nil {
		return d, err
	}
	arns := map[string]bool{}
	for _, of := range w.of.Value.Streams {
		arns[of] = true
	}
	leased := map[string]bool{} // streams
	for shard, e := range f.leases {
		d.leased[shard], d.done[shard] = true, e.Value.Done
		if of := e.Value.Stream; of != "" {
			arns[of], leased[of] = true, true
			d.open[of] = d.open[of] || !e.Value.Done
		}
	}
	var replacement error
	if arns[f.arn] { // this worker may have added it, and did not get the answer
		w.reportReplaced()
	} else if len(arns) > 0 {
		between, err := w.replaced(ctx, f.arn, arns)
		if err != nil {
			return d, err
		}
		replacement = errReplaced
		for _, of := range between {
			arns[of] = true
		}
	}
	arns[f.arn] = true
	var added []lease
	if w.snapshot && f.leases[snapshotShard] == nil {
		added = append(added, w.newLease(snapshotShard))
	}
	for _, of := range slices.Sorted(maps.Keys(arns)) { // the present stream is last
		shards, err := w.list(ctx, of)
		if of != f.arn && errors.As(err, new(*streams.ResourceNotFoundException)) {
			if err = nil; !leased[of] {
				delete(arns, of) // a former stream, whose shards are trimmed
			}
		}
		if err == nil {
			delete(w.trouble, of)
		}
		if err != nil && of != f.arn && !w.patient(of) {
			w.report(fmt.Errorf("list the shards of the former stream %s: %w", of, err))
			d.failed[of] = true
			continue
		}
		if err != nil {
			return d, err
		}
		for _, s := range shards {
			shard := aws.ToString(s.ShardId)
			d.listed[shard] = true
			if f.leases[shard] != nil {
				continue
			}
			d.open[of] = true
			added = append(added, w.leaseOf(of, s))
		}
	}
	w.replacement = replacement
	if err := w.add(ctx, added, slices.Sorted(maps.Keys(arns))); err != nil {
		return d, err
	}
	if err := w.prune(ctx, f.leases, &d); err != nil {
		w.reportIn(ctx, fmt.Errorf("delete the leases of trimmed shards: %w", err))
	}
	return d, nil
}

var errReplaced = errors.New("the stream was replaced, and changes in between are lost: make read models again " +
	"with a new group and WithSnapshot")

// reportReplaced reports that the stream was replaced: once, or twice if an answer was lost.
func (w *work) reportReplaced() {
	w.report(w.replacement)
	w.replacement, w.unsure = nil, false
}

// replaced returns the streams of the table between the former ones and the present one.
func (w *work) replaced(ctx context.Context, arn string, former map[string]bool) (between []string, err error) {
	first := slices.Min(slices.Collect(maps.Keys(former)))
	in := &dynamodbstreams.ListStreamsInput{TableName: &w.c.table}
	for {
		limited, cancel := w.limited(ctx)
		out, err := w.c.streams.ListStreams(limited, in)
		cancel()
		if err != nil && w.patient("ListStreams") {
			return nil, err
		}
		if err != nil {
			w.report(fmt.Errorf("list the former streams: %w", err))
			out = &dynamodbstreams.ListStreamsOutput{}
		} else {
			delete(w.trouble, "ListStreams")
		}
		for _, s := range out.Streams {
			if of := aws.ToString(s.StreamArn); first < of && of < arn { // ARNs end with a time
				between = append(between, of)
			}
		}
		if in.ExclusiveStartStreamArn = out.LastEvaluatedStreamArn; in.ExclusiveStartStreamArn == nil {
			return between, nil
		}
	}
}

// patient reports whether a request that fails is to be repeated. After a time it is taken for one that always fails,
// because a permission is missing, and must not stop the others.
func (w *work) patient(request string) bool {
	first, ok := w.trouble[request]
	if !ok {
		first = time.Now()
		w.trouble[request] = first
	}
	return time.Since(first) < 4*w.c.settings.failover
}

// list returns all shards of a stream.
func (w *work) list(ctx context.Context, arn string) ([]streams.Shard, error) {
	var all []streams.Shard
	in := &dynamodbstreams.DescribeStreamInput{StreamArn: &arn}
	for {
		limited, cancel := w.limited(ctx)
		out, err := w.c.streams.DescribeStream(limited, in)
		cancel()
		if err != nil {
			return nil, err
		}
		all = append(all, out.StreamDescription.Shards...)
		if in.ExclusiveStartShardId = out.StreamDescription.LastEvaluatedShardId; in.ExclusiveStartShardId == nil {
			return all, nil
		}
	}
}

func (w *work) newLease(shard string) lease {
	return lease{Name: w.c.store.name, Shard: shard, Group: w.short}
}

// leaseOf returns the lease of a new shard.
func (w *work) leaseOf(arn string, s streams.Shard) lease {
	l := w.newLease(aws.ToString(s.ShardId))
	l.Stream, l.Listed = arn, time.Now().Unix()
	if parent := aws.ToString(s.ParentShardId); parent != "" {
		l.Parents = []string{parent}
	}
	if w.snapshot {
		l.Parents = append(l.Parents, snapshotShard)
	}
	return l
}

// errExists reports that another worker has inserted a lease.
var errExists = errors.New("another worker was first")

// add inserts leases, and the streams in the group, if the group still is that of this worker.
func (w *work) add(ctx context.Context, all []lease, arns []string) error {
	s := w.c.store
	chunks := slices.Collect(slices.Chunk(all, mostInTransaction))
	if !slices.Equal(w.of.Value.Streams, arns) {
		w.of.Value.Streams = arns
		if len(chunks) == 0 {
			chunks = append(chunks, nil) // for the group alone
		}
	}
	for _, some := range chunks {
		parts := []mapper.Part{s.groups.SavePart(w.of, mapper.CheckLoaded())}
		for _, l := range some {
			parts = append(parts, s.leases.SavePart(s.leases.New(l)))
		}
		limited, cancel := w.limited(ctx)
		_, err := mapper.Transact(limited, parts...)
		cancel()
		switch {
		case raced(err): // another worker was first, or the group was deleted: the next listing finds out
			if !w.unsure {
				w.replacement = nil // the other one reports it
			}
			return errExists
		case err != nil:
			w.unsure = w.replacement != nil // it may still arrive, and refuse the next one
			return err
		}
		w.reportReplaced()
	}
	return nil
}

// prune deletes leases that are done and whose shards the stream does not have any more, unless another one waits for
// them.
func (w *work) prune(ctx context.Context, leases map[string]*mapper.Entity[lease], d *discovery) error {
	needed := map[string]bool{snapshotShard: true, driveShard: true}
	for _, e := range leases {
		if !e.Value.Done {
			for _, p := range e.Value.Parents {
				needed[p] = true
			}
		}
	}
	for shard, e := range leases {
		if !e.Value.Done || d.listed[shard] || needed[shard] || d.failed[e.Value.Stream] {
			continue
		}
		limited, cancel := w.limited(ctx)
		_, err := w.c.store.leases.Delete(limited, e)
		cancel()
		if err != nil && !raced(err) {
			return err
		}
	}
	return nil
}
