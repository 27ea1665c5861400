package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streams "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/itemize/itemize/mapper"
)

// Drive lets a running worker of a group handle its dead letters again, once each. A letter that succeeds is deleted.
// It comes after later changes of its item, and can come at the same time as one. leases is the table of leases,
// table that of the stream. If no worker is running, the next one does it.
func Drive(ctx context.Context, client mapper.Client, leases, table, groupName string) error {
	for {
		s, g, err := groupOf(ctx, client, leases, table, groupName)
		if err != nil {
			return err
		}
		if g.Value.Deleting {
			return &deletedError{table, groupName}
		}
		_, err = s.leases.Update(ctx, s.leases.Key(s.name, driveShard), func(l *lease) error { l.Asked++; return nil })
		if errors.Is(err, mapper.ErrNotFound) {
			first := s.leases.New(lease{Name: s.name, Shard: driveShard, Group: g.Value.short()})
			_, err = mapper.Transact(ctx, s.leases.SavePart(first), s.groups.SavePart(g, mapper.CheckLoaded()))
		}
		if !raced(err) {
			return ofLeases(leases, err)
		}
	}
}

// groupOf returns the items of a group that exists.
func groupOf(ctx context.Context, client mapper.Client, leases, table, groupName string) (*store, *mapper.Entity[group],
	error,
) {
	s, err := newStore(client, leases, table+"/"+groupName, nil)
	if err != nil {
		return nil, nil, err
	}
	g, err := s.groups.Load(ctx, s.groups.Key(s.name), mapper.Strong())
	if errors.Is(err, mapper.ErrNotFound) {
		return nil, nil,
			fmt.Errorf("stream: the group %s of the table %s: it does not exist in the table of leases %s: check the "+
				"three names", groupName, table, leases)
	}
	return s, g, ofLeases(leases, err)
}

// Letters returns the dead letters of a group. Their Err has the stored text. With an error about letters that cannot
// be read it returns the others.
func Letters(ctx context.Context, client mapper.Client, leases, table, groupName string) ([]*Letter, error) {
	s, err := newStore(client, leases, table+"/"+groupName, nil)
	if err != nil {
		return nil, err
	}
	var out []*Letter
	var invalid []error
	for e, err := range s.allLetters(ctx) {
		if errors.As(err, new(*mapper.StoredValueError)) {
			invalid = append(invalid, err)
			continue
		}
		if err != nil {
			return nil, ofLeases(leases, err)
		}
		l, err := e.Value.letter(table, groupName)
		if err != nil {
			invalid = append(invalid, err)
			continue
		}
		out = append(out, l)
	}
	if len(invalid) > 0 {
		return out, ofLeases(leases, errors.Join(invalid...))
	}
	if len(out) == 0 { // letters stay when their group is deleted
		_, _, err = groupOf(ctx, client, leases, table, groupName)
	}
	return out, err
}

// letter returns the stored letter.
func (l *letter) letter(table, groupName string) (*Letter, error) {
	out := &Letter{
		Table: table, Group: groupName, Stream: l.Stream, Shard: l.Shard, SequenceNumber: l.Sequence, ID: l.ID,
		Time:     l.Time,
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

// drive handles the dead letters of the group again, and reports whether it has handled them all, each with success or
// not.
func (r *reader) drive() bool {
	st := r.w.c.store
	dog := newWatchdog(r.reading, 4*r.w.c.settings.failover, r.succeeded)
	defer dog.end()
	for e, err := range st.allLetters(dog.ctx) {
		dog.pause()
		if err == nil {
			err = r.driveOne(e)
		}
		if r.reading.Err() != nil {
			return false
		}
		if e == nil {
			r.report(fmt.Errorf("read the dead letters: %w", err))
			if errors.As(err, new(*mapper.StoredValueError)) { // of another version: it stays, and stops no others
				dog.resume()
				continue
			}
			r.failed()
			sleep(r.reading, min(r.w.c.settings.most, r.w.c.settings.longest()))
			return false
		}
		dog.resume()
		if err != nil {
			r.report(fmt.Errorf("drive the dead letter %s of the shard %s: %w", e.Value.Sequence, e.Value.Shard, err))
		}
	}
	return true
}

func (r *reader) driveOne(e *mapper.Entity[letter]) error {
	l := &e.Value
	keys, err := l.letter(r.w.c.table, r.w.c.settings.group)
	if err != nil {
		return err
	}
	r.since.Store(time.Now().UnixNano())
	defer r.since.Store(0)
	matched := false
	if l.Shard == snapshotShard {
		_, err = r.attempt(func(ctx context.Context) (err error) {
			matched, err = r.w.c.router.reload(ctx, snapshotRecord(r.w.c.table, keys.Keys))
			return err
		})
	} else {
		var rec *Record
		if rec, err = r.recordOf(l, keys); err == nil {
			var calls []func(context.Context) error
			err = guarded(func() (err error) {
				calls, matched, err = r.w.c.router.calls(rec, &deletions{})
				return err
			})
			if err == nil {
				_, err = r.attempt(func(ctx context.Context) error {
					return guarded(func() error { return run(ctx, calls) })
				})
			}
		}
	}
	if err == nil && !matched {
		err = errors.New("no handler of the router is for its model: the letter stays")
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.handling, r.w.c.settings.failover)
	defer cancel()
	_, err = r.w.c.store.letters.Delete(ctx, e)
	return missingIsFine(err)
}

// recordOf returns the record of a letter: from its images, or from the stream.
func (r *reader) recordOf(l *letter, images *Letter) (*Record, error) {
	if l.Kept {
		return &Record{
			Table: r.w.c.table, Shard: l.Shard, SequenceNumber: l.Sequence, ID: l.ID, Time: l.Time, Expired: l.Expired,
			Keys: images.Keys, Old: images.Old, New: images.New,
		}, nil
	}
	ctx, cancel := r.limited()
	defer cancel()
	it, err := r.w.c.streams.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{
		StreamArn: &l.Stream, ShardId: &l.Shard, ShardIteratorType: streams.ShardIteratorTypeAtSequenceNumber,
		SequenceNumber: &l.Sequence,
	})
	if err != nil {
		return nil,
			fmt.Errorf("its images were not kept, and the stream does not have them: use stream.KeepValues: %w", err)
	}
	for next := it.ShardIterator; next != nil; { // an answer can be empty
		out, err := r.w.c.streams.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{
			ShardIterator: next, Limit: aws.Int32(1),
		})
		if err != nil {
			return nil, err
		}
		if len(out.Records) > 0 {
			rec, err := recordOf(r.w.c.table, l.Shard, &out.Records[0])
			if err == nil && rec.SequenceNumber != l.Sequence {
				err = fmt.Errorf("position of the letter: the stream has the record %s there: use "+
					"stream.KeepValues", rec.SequenceNumber)
			}
			return rec, err
		}
		if next = out.NextShardIterator; !sleep(ctx, r.w.c.settings.poll) {
			return nil, ctx.Err()
		}
	}
	return nil, errors.New("position of the letter: the stream has no record there: use stream.KeepValues")
}
