package stream

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streams "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/itemize/itemize/mapper"
)

// discovery is a complete listing of the shards of the streams that leases belong to.
type discovery struct{ listed map[string]bool }

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
		case <-w.hurry:
			timer.Stop()
			if err != nil { // the pause after an error holds
				if !sleep(ctx, pause) {
					return
				}
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
	known, err := w.c.store.all(ctx)
	if err != nil {
		return discovery{}, err
	}
	arn, err := w.c.arn(ctx)
	if err != nil {
		return discovery{}, err
	}
	shards, err := w.list(ctx, arn)
	if err != nil {
		return discovery{}, err
	}
	listed := map[string]bool{}
	for _, s := range shards {
		listed[aws.ToString(s.ShardId)] = true
	}
	// The stream was replaced by a new one: its shards wait for those of the former.
	var former []string
	for shard, e := range known {
		if e.Value.Stream != "" && e.Value.Stream != arn {
			former = append(former, shard)
			listed[shard] = !e.Value.Done
		}
	}
	slices.Sort(former)
	if err := w.begin(ctx, known); err != nil {
		return discovery{}, err
	}
	for _, s := range shards {
		if err := w.insert(ctx, known, arn, s, former); err != nil {
			return discovery{}, err
		}
	}
	return discovery{listed}, w.prune(ctx, known, listed)
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

// begin inserts the lease of the scan of a snapshot.
func (w *work) begin(ctx context.Context, known map[string]*mapper.Entity[lease]) error {
	if !w.snapshot || known[snapshotShard] != nil {
		return nil
	}
	return w.add(ctx, lease{Name: w.c.store.name, Shard: snapshotShard})
}

// insert inserts the lease of a shard, unless it is known.
func (w *work) insert(ctx context.Context, known map[string]*mapper.Entity[lease], arn string, s streams.Shard,
	former []string,
) error {
	shard := aws.ToString(s.ShardId)
	if known[shard] != nil {
		return nil
	}
	l := lease{Name: w.c.store.name, Shard: shard, Stream: arn}
	if parent := aws.ToString(s.ParentShardId); parent != "" {
		l.Parents = []string{parent}
	}
	if w.snapshot {
		l.Parents = append(l.Parents, snapshotShard)
	}
	l.Parents = append(l.Parents, former...)
	return w.add(ctx, l)
}

func (w *work) add(ctx context.Context, l lease) error {
	_, err := w.c.store.leases.Save(ctx, w.c.store.leases.New(l))
	if raced(err) {
		return nil
	}
	return err
}

// prune deletes leases that are done and whose shards the stream does not have any more, unless another one waits for
// them.
func (w *work) prune(ctx context.Context, known map[string]*mapper.Entity[lease], listed map[string]bool) error {
	needed := map[string]bool{snapshotShard: true}
	for _, e := range known {
		if !e.Value.Done {
			for _, p := range e.Value.Parents {
				needed[p] = true
			}
		}
	}
	for shard, e := range known {
		if !e.Value.Done || listed[shard] || needed[shard] {
			continue
		}
		if _, err := w.c.store.leases.Delete(ctx, e); err != nil && !raced(err) {
			return err
		}
	}
	return nil
}
