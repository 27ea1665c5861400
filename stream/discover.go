package stream

import (
	"context"
	"errors"
	"fmt"
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
}

// discovering lists the shards again and again. A listing that fails is repeated, and stops nothing else.
func (w *work) discovering(ctx context.Context) {
	s := &w.c.settings
	pause := s.least
	for {
		d, err := w.discover(ctx)
		wait := s.discover
		if err != nil {
			w.report(fmt.Errorf("list the shards: %w", err))
			pause = min(2*pause+time.Millisecond, s.discover)
			wait = pause
		} else {
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
	ctx, cancel := context.WithTimeout(ctx, listingTime)
	defer cancel()
	leases, err := w.c.store.all(ctx)
	if err != nil {
		return discovery{}, err
	}
	arn, err := w.c.streamARN(ctx)
	if err != nil {
		return discovery{}, err
	}
	d := discovery{map[string]bool{}, map[string]bool{}, map[string]bool{}}
	arns := map[string]bool{arn: true}
	for shard, e := range leases {
		d.leased[shard] = true
		if of := e.Value.Stream; of != "" {
			arns[of] = true
			d.open[of] = d.open[of] || !e.Value.Done
		}
	}
	if w.snapshot && leases[snapshotShard] == nil {
		if err := w.c.store.add(ctx, lease{Name: w.c.store.name, Shard: snapshotShard}); err != nil {
			return discovery{}, err
		}
	}
	for of := range arns {
		shards, err := w.list(ctx, of)
		if of != arn && errors.As(err, new(*streams.ResourceNotFoundException)) {
			err = nil // a former stream, whose shards are trimmed
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
			if err := w.insert(ctx, of, s); err != nil {
				return discovery{}, err
			}
		}
	}
	return d, w.prune(ctx, leases, d.listed)
}

// list returns all shards of a stream.
func (w *work) list(ctx context.Context, arn string) ([]streams.Shard, error) {
	var all []streams.Shard
	in := &dynamodbstreams.DescribeStreamInput{StreamArn: &arn}
	for {
		out, err := w.c.streams.DescribeStream(ctx, in)
		if err != nil {
			return nil, err
		}
		all = append(all, out.StreamDescription.Shards...)
		if in.ExclusiveStartShardId = out.StreamDescription.LastEvaluatedShardId; in.ExclusiveStartShardId == nil {
			return all, nil
		}
	}
}

// insert inserts the lease of a shard.
func (w *work) insert(ctx context.Context, arn string, s streams.Shard) error {
	l := lease{Name: w.c.store.name, Shard: aws.ToString(s.ShardId), Stream: arn}
	if parent := aws.ToString(s.ParentShardId); parent != "" {
		l.Parents = []string{parent}
	}
	if w.snapshot {
		l.Parents = append(l.Parents, snapshotShard)
	}
	return w.c.store.add(ctx, l)
}

// add inserts a lease, unless it exists.
func (s *store) add(ctx context.Context, l lease) error {
	_, err := s.leases.Save(ctx, s.leases.New(l))
	if raced(err) {
		return nil
	}
	return err
}

// prune deletes leases that are done and whose shards the stream does not have any more, unless another one waits for
// them.
func (w *work) prune(ctx context.Context, leases map[string]*mapper.Entity[lease], listed map[string]bool) error {
	needed := map[string]bool{snapshotShard: true, driveShard: true}
	for _, e := range leases {
		if !e.Value.Done {
			for _, p := range e.Value.Parents {
				needed[p] = true
			}
		}
	}
	for shard, e := range leases {
		if !e.Value.Done || listed[shard] || needed[shard] {
			continue
		}
		if _, err := w.c.store.leases.Delete(ctx, e); err != nil && !raced(err) {
			return err
		}
	}
	return nil
}
