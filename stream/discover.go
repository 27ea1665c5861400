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
	// listed are the shards of the listing, and leased those whose leases were read before it.
	listed, leased map[string]bool
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
	pause := s.least
	for {
		d, err := w.discover(ctx)
		wait := s.discover
		if errors.As(err, new(*deletedError)) {
			w.over <- err
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
			pause = s.least
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

// listingTime limits a listing: one that hangs must not stop the next.
const listingTime = 2 * time.Minute

// discover inserts the leases of new shards, and deletes those of trimmed ones. It reads the leases before it lists the
// shards: a lease that it has read and the listing lacks is that of a trimmed shard (Leases.tla, ReadsThenLists).
func (w *work) discover(ctx context.Context) (discovery, error) {
	begun := time.Now()
	ctx, cancel := context.WithTimeout(ctx, listingTime)
	defer cancel()
	g, err := w.c.store.groups.Load(ctx, w.c.store.groups.Key(w.c.store.name), mapper.Strong())
	if errors.Is(err, mapper.ErrNotFound) || err == nil && (g.Value.Deleting || g.Value.ID != w.of.Value.ID) {
		return discovery{}, &deletedError{w.c.table, w.c.settings.group}
	}
	if err != nil {
		return discovery{}, err
	}
	w.of = g
	leases, err := w.c.store.all(ctx)
	if err != nil {
		return discovery{}, err
	}
	arn, err := w.c.streamARN(ctx)
	if err != nil {
		return discovery{}, err
	}
	d := discovery{map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}, begun}
	arns := map[string]bool{}
	for shard, e := range leases {
		d.leased[shard] = true
		if of := e.Value.Stream; of != "" {
			arns[of] = true
			d.open[of] = d.open[of] || !e.Value.Done
		}
	}
	if len(d.open) > 0 && !arns[arn] {
		between, err := w.replaced(ctx, arn, arns)
		if err != nil {
			return discovery{}, err
		}
		for _, of := range between {
			arns[of] = true
		}
	}
	arns[arn] = true
	var added []lease
	if w.snapshot && leases[snapshotShard] == nil {
		added = append(added, lease{Name: w.c.store.name, Shard: snapshotShard})
	}
	for _, of := range slices.Sorted(maps.Keys(arns)) { // the present stream is last
		shards, err := w.list(ctx, of)
		if of != arn && errors.As(err, new(*streams.ResourceNotFoundException)) {
			err = nil // a former stream, whose shards are trimmed
		}
		if err == nil {
			delete(w.trouble, of)
		}
		if err != nil && of != arn && !w.patient(of) {
			w.report(fmt.Errorf("list the shards of the former stream %s: %w", of, err))
			d.failed[of] = true
			continue
		}
		if err != nil {
			return discovery{}, err
		}
		for _, s := range shards {
			shard := aws.ToString(s.ShardId)
			d.listed[shard] = true
			if leases[shard] != nil {
				continue
			}
			d.open[of] = true
			added = append(added, w.leaseOf(of, s))
		}
	}
	if err := w.add(ctx, added); err != nil {
		return discovery{}, err
	}
	if err := w.prune(ctx, leases, &d); err != nil {
		w.reportIn(ctx, fmt.Errorf("delete the leases of trimmed shards: %w", err))
	}
	return d, nil
}

// replaced returns the streams of the table between the former ones, of which there are leases, and the present one.
func (w *work) replaced(ctx context.Context, arn string, former map[string]bool) (between []string, err error) {
	first := slices.Min(slices.Collect(maps.Keys(former)))
	in := &dynamodbstreams.ListStreamsInput{TableName: &w.c.table}
	for {
		out, err := w.c.streams.ListStreams(ctx, in)
		if err != nil && w.patient("ListStreams") {
			return nil, err
		}
		if err != nil {
			w.report(fmt.Errorf("list the former streams: %w", err))
			out = &dynamodbstreams.ListStreamsOutput{}
		}
		for _, s := range out.Streams {
			if of := aws.ToString(s.StreamArn); first < of && of < arn { // ARNs end with a time
				between = append(between, of)
			}
		}
		if in.ExclusiveStartStreamArn = out.LastEvaluatedStreamArn; in.ExclusiveStartStreamArn == nil {
			w.report(errors.New("the stream was replaced, and changes in between are lost: make read models again " +
				"with a new group and WithSnapshot"))
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
		limited, cancel := context.WithTimeout(ctx, w.c.settings.failover)
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

// leaseOf returns the lease of a new shard.
func (w *work) leaseOf(arn string, s streams.Shard) lease {
	l := lease{Name: w.c.store.name, Shard: aws.ToString(s.ShardId), Stream: arn}
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

// add inserts leases, if the group still is that of this worker.
func (w *work) add(ctx context.Context, all []lease) error {
	s := w.c.store
	for some := range slices.Chunk(all, mostInTransaction) {
		parts := []mapper.Part{s.groups.SavePart(w.of, mapper.CheckLoaded())}
		for _, l := range some {
			parts = append(parts, s.leases.SavePart(s.leases.New(l)))
		}
		_, err := mapper.Transact(ctx, parts...)
		switch {
		case errors.Is(err, mapper.ErrExists):
			return errExists
		case raced(err):
			return &deletedError{w.c.table, w.c.settings.group}
		case err != nil:
			return err
		}
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
		if _, err := w.c.store.leases.Delete(ctx, e); err != nil && !raced(err) {
			return err
		}
	}
	return nil
}
