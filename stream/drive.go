package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streams "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/itemize/itemize/mapper"
)

// Drive lets the running workers of a group handle its dead letters again, once each, at their next beat. A letter that
// succeeds is deleted. It comes after later changes of its item. leases is the table of leases, table that of the stream.
func Drive(ctx context.Context, client mapper.Client, leases, table, groupName string) error {
	s, err := newStore(client, leases, table+"/"+groupName, nil)
	if err != nil {
		return err
	}
	_, err = s.groups.Update(ctx, s.groups.Key(s.name), func(g *group) error { g.Drive++; return nil })
	if errors.Is(err, mapper.ErrNotFound) {
		return fmt.Errorf("stream: the group %s of the table %s: it does not exist in the table of leases %s: check the "+
			"three names", groupName, table, leases)
	}
	return err
}

// Letters returns the dead letters of a group. Their Err has the stored text.
func Letters(ctx context.Context, client mapper.Client, leases, table, groupName string) ([]*Letter, error) {
	s, err := newStore(client, leases, table+"/"+groupName, nil)
	if err != nil {
		return nil, err
	}
	all, err := s.dead(ctx)
	if err != nil {
		return nil, err
	}
	var out []*Letter
	for _, e := range all {
		l, err := e.Value.letter(table, groupName)
		if err != nil {
			return nil, err
		}
		out = append(out, l)
	}
	return out, nil
}

// letter returns the stored letter.
func (l *letter) letter(table, groupName string) (*Letter, error) {
	out := &Letter{
		Table: table, Group: groupName, Stream: l.Stream, Shard: l.Shard, SequenceNumber: l.Sequence, Time: l.Time,
		Attempts: l.Attempts, Err: errors.New(l.Error),
	}
	for _, m := range []struct {
		from string
		to   *map[string]types.AttributeValue
	}{{l.Keys, &out.Keys}, {l.Old, &out.Old}, {l.New, &out.New}} {
		if m.from == "" {
			continue
		}
		var err error
		if *m.to, err = attributevalue.UnmarshalMapJSON(json.RawMessage(m.from)); err != nil {
			return nil, fmt.Errorf("stream: the dead letter %s of the shard %s: %w", l.Sequence, l.Shard, err)
		}
	}
	return out, nil
}

// redrive handles the dead letters of the group again if Drive was called. Each worker has a part of them.
func (w *work) redrive(ctx context.Context, alive map[string]bool) {
	g, err := w.c.store.groups.Load(ctx, w.c.store.groups.Key(w.c.store.name))
	if err != nil {
		w.report(fmt.Errorf("read the group: %w", err))
		return
	}
	if g.Value.Drive == w.drive || w.driving.Load() {
		return
	}
	w.drive = g.Value.Drive
	workers := slices.Sorted(maps.Keys(alive))
	own := slices.Index(workers, w.id)
	w.driving.Store(true)
	w.group.Go(func() {
		defer w.driving.Store(false)
		w.report(w.driveAll(w.background, len(workers), own))
	})
}

// driveAll handles those letters again whose hash is one of a worker.
func (w *work) driveAll(ctx context.Context, workers, own int) error {
	all, err := w.c.store.dead(ctx)
	if err != nil {
		return fmt.Errorf("read the dead letters: %w", err)
	}
	for _, e := range all {
		h := fnv.New32a()
		_, _ = h.Write([]byte(e.Value.Shard + e.Value.Sequence))
		if int(h.Sum32()%uint32(workers)) != own {
			continue
		}
		if err := w.driveOne(ctx, e); err != nil {
			w.report(fmt.Errorf("drive the dead letter %s of the shard %s: %w", e.Value.Sequence, e.Value.Shard, err))
		}
	}
	return nil
}

func (w *work) driveOne(ctx context.Context, e *mapper.Entity[letter]) error {
	rec, err := w.recordOf(ctx, &e.Value)
	if err != nil {
		return err
	}
	if err := w.c.router.Handle(ctx, rec); err != nil {
		return err
	}
	_, err = w.c.store.letters.Delete(ctx, e)
	return missingIsFine(err)
}

// recordOf returns the record of a letter: from its images, or from the stream.
func (w *work) recordOf(ctx context.Context, l *letter) (*Record, error) {
	if l.Kept {
		out, err := l.letter(w.c.table, w.c.settings.group)
		if err != nil {
			return nil, err
		}
		return &Record{
			Table: w.c.table, Shard: l.Shard, SequenceNumber: l.Sequence, Time: l.Time, Expired: l.Expired,
			Keys: out.Keys, Old: out.Old, New: out.New,
		}, nil
	}
	it, err := w.c.streams.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{
		StreamArn: &l.Stream, ShardId: &l.Shard, ShardIteratorType: streams.ShardIteratorTypeAtSequenceNumber,
		SequenceNumber: &l.Sequence,
	})
	if err != nil {
		return nil, fmt.Errorf("its images were not kept, and the stream does not have them: use stream.KeepValues: %w", err)
	}
	out, err := w.c.streams.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{
		ShardIterator: it.ShardIterator, Limit: aws.Int32(1),
	})
	if err != nil {
		return nil, err
	}
	if len(out.Records) == 0 {
		return nil, errors.New("the stream has no record at its position")
	}
	rec, err := recordOf(w.c.table, l.Shard, &out.Records[0])
	if err == nil && rec.SequenceNumber != l.Sequence {
		err = fmt.Errorf("the stream has the record %s at its position", rec.SequenceNumber)
	}
	return rec, err
}
