package stream

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

// The items of a consumer group, in the table of leases. They are models of this library: the keys are PK and SK.
// Each kind has a partition of its own, because each beat reads some of them.
type (
	// readers are the groups that read the stream of a table.
	readers struct {
		_     struct{} `ddb:"table=leases"`
		Table string   `ddb:"pk=STREAM#{Table}"`
		Names []string `ddb:"sk=GROUPS"`
	}
	// group is a consumer group. Name is that of the table and that of the group.
	group struct {
		_    struct{} `ddb:"table=leases"`
		Name string   `ddb:"pk=GROUP#{Name}"`
		// From is the time of the first record that is handled.
		From time.Time `ddb:"sk=GROUP"`
		// Snapshot reports that the shards wait for the scan of the tables. Models are those that it shows.
		Snapshot bool     `ddb:"sk=GROUP"`
		Models   []string `ddb:"sk=GROUP" dynamodbav:",omitempty"`
		// ID differs from that of an earlier group with the same name. Deleting reports that DeleteGroup has begun.
		ID       string `ddb:"sk=GROUP"`
		Deleting bool   `ddb:"sk=GROUP" dynamodbav:",omitempty"`
		// Streams are the ARNs of the streams that it reads: the present one, and former ones that still exist.
		Streams []string `ddb:"sk=GROUP" dynamodbav:",omitempty"`
	}
	// worker is a worker that lives as long as Beat grows. Others wait for its Failover time, in milliseconds.
	worker struct {
		_    struct{} `ddb:"table=leases"`
		Name string   `ddb:"pk=WORKERS#{Name}"`
		ID   string   `ddb:"sk=WORKER#{ID}"`
		Beat int64    `ddb:"sk=WORKER#{ID}"`

		Failover int64 `ddb:"sk=WORKER#{ID}"`
		// Failing reports that it cannot read shards of other workers. It ends. Or it could not read or take leases, or
		// read any of its shards, for a failover time.
		Failing bool `ddb:"sk=WORKER#{ID}" dynamodbav:",omitempty"`
		// Away is the beat since which it reads nothing, 0 for none. DeleteGroup sees that it runs.
		Away int64 `ddb:"sk=WORKER#{ID}" dynamodbav:",omitempty"`
		// Passive reports that it has no share, because it cannot read some shards: it ends, lacks a listing, cannot
		// read or take leases or read a shard, or some of its handlers hang. It reads its shards, and takes those that
		// no other worker reads.
		Passive bool `ddb:"sk=WORKER#{ID}" dynamodbav:",omitempty"`
	}
	// lease is the position in a shard, and the worker that reads it.
	lease struct {
		_     struct{} `ddb:"table=leases"`
		Name  string   `ddb:"pk=SHARDS#{Name}"`
		Shard string   `ddb:"sk=SHARD#{Shard}"`
		// Stream is the ARN of the stream, "" for the scan of a snapshot and the drive of dead letters.
		Stream string `ddb:"sk=SHARD#{Shard}"`
		// Group is the beginning of the group's ID. Listed is when the shard was found, or was read without a record so
		// far, in Unix seconds.
		Group  string `ddb:"sk=SHARD#{Shard}"`
		Listed int64  `ddb:"sk=SHARD#{Shard}" dynamodbav:",omitempty"`
		// Parents are the shards that must be done before.
		Parents []string `ddb:"sk=SHARD#{Shard}" dynamodbav:",omitempty"`
		// Owner is the worker that reads the shard, "" for none. Taken grows each time that a worker takes it, so
		// that this is always a write.
		Owner string `ddb:"sk=SHARD#{Shard}"`
		Taken int    `ddb:"sk=SHARD#{Shard}"`
		// Asked counts the calls of Drive that found a drive: its owner cannot delete it, and begins again.
		Asked int `ddb:"sk=SHARD#{Shard}" dynamodbav:",omitempty"`
		// After is the sequence number of the last record that was handled, "" for none.
		After string `ddb:"sk=SHARD#{Shard}"`
		Done  bool   `ddb:"sk=SHARD#{Shard}"`
	}
)

// The leases that are of no shard: of the scan of a snapshot, and of the drive of dead letters, which exists until it
// has ended.
const (
	snapshotShard = "SNAPSHOT"
	driveShard    = "DRIVE"
)

// store reads and writes the items of a group.
type store struct {
	name    string // of the table and the group
	readers *mapper.Mapper[readers]
	groups  *mapper.Mapper[group]
	workers *mapper.Mapper[worker]
	leases  *mapper.Mapper[lease]
	letters *mapper.Mapper[letter]
	keys    *mapper.Mapper[letterKey]
}

func newStore(client mapper.Client, table, name string, options []mapper.Option) (*store, error) {
	options = append(slices.Clone(options), mapper.Table(table))
	s := &store{name: name}
	var errs [6]error
	s.readers, errs[0] = mapper.New[readers](client, options...)
	s.groups, errs[1] = mapper.New[group](client, options...)
	s.workers, errs[2] = mapper.New[worker](client, options...)
	s.leases, errs[3] = mapper.New[lease](client, options...)
	s.letters, errs[4] = mapper.New[letter](client, options...)
	s.keys, errs[5] = mapper.New[letterKey](client, options...)
	for _, err := range errs { // they are all about the client or an option
		if err != nil {
			return nil, err
		}
	}
	return s, nil
}

// join returns the group. A new one is first, and becomes one of the two readers of the table's stream in the same
// transaction.
func (s *store) join(ctx context.Context, table, name string, first group) (*mapper.Entity[group], error) {
	first.Name, first.ID = s.name, rand.Text()
	for {
		g, err := s.groups.Load(ctx, s.groups.Key(s.name), mapper.Strong())
		if err == nil && g.Value.Deleting {
			return nil, &deletedError{table, name}
		}
		if !errors.Is(err, mapper.ErrNotFound) {
			return g, err
		}
		e, err := s.readers.Load(ctx, s.readers.Key(table), mapper.Strong())
		if errors.Is(err, mapper.ErrNotFound) {
			e, err = s.readers.New(readers{Table: table}), nil
		}
		if err != nil {
			return nil, err
		}
		if len(e.Value.Names) >= maxReaders {
			return nil, &TooManyGroupsError{Table: table, Group: name, Groups: e.Value.Names}
		}
		e.Value.Names = append(e.Value.Names, name)
		_, err = mapper.Transact(ctx, s.readers.SavePart(e), s.groups.SavePart(s.groups.New(first)))
		if err != nil && !raced(err) {
			return nil, err
		}
	}
}

// maxReaders is the number of readers of a shard, by
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Streams.html.
const maxReaders = 2

// TooManyGroupsError reports that two other consumer groups read the stream of a table. DynamoDB throttles a third
// reader.
type TooManyGroupsError struct {
	Table, Group string
	Groups       []string
}

func (e *TooManyGroupsError) Error() string {
	return fmt.Sprintf("stream of the table %s: the group %s would be its third reader after %v, and DynamoDB "+
		"allows two: delete one with stream.DeleteGroup", e.Table, e.Group,
		e.Groups)
}

// raced reports whether another writer was first.
func raced(err error) bool {
	return errors.Is(err, mapper.ErrExists) || errors.Is(err, mapper.ErrNotFound) ||
		errors.As(err, new(*mapper.ConflictError))
}

// all returns the leases of the group. It calls progress for each.
func (s *store) all(ctx context.Context, progress func()) (map[string]*mapper.Entity[lease], error) {
	out := map[string]*mapper.Entity[lease]{}
	for e, err := range s.leases.Entities(ctx, query.Of[lease](s.leases.Key(s.name))) {
		if err != nil {
			return nil, err
		}
		out[e.Value.Shard] = e
		progress()
	}
	return out, nil
}

// beats returns the workers of the group. The read is strongly consistent: an old answer would show a living worker as
// a silent one.
func (s *store) beats(ctx context.Context) (map[string]*mapper.Entity[worker], error) {
	out := map[string]*mapper.Entity[worker]{}
	for e, err := range s.workers.Entities(ctx, query.Of[worker](s.workers.Key(s.name)), mapper.Strong()) {
		if err != nil {
			return nil, err
		}
		out[e.Value.ID] = e
	}
	return out, nil
}

// deletedError reports a group that was deleted, or is being deleted.
type deletedError struct{ table, group string }

func (e *deletedError) Error() string {
	return fmt.Sprintf(
		"stream of the table %s: the group %s was deleted: stop its workers, call stream.DeleteGroup again "+
			"if it has failed, and start them",
		e.table,
		e.group,
	)
}

// quiet returns an error if a worker of the group beats. It watches counters of workers that have died as long as
// other workers do.
func (s *store) quiet(ctx context.Context, table, name string) error {
	first, err := s.beats(ctx)
	begun := time.Now()
	for err == nil {
		asked := time.Now() // a late answer is no silence
		now, failed := s.beats(ctx)
		silent := true
		for id, is := range now {
			was, ok := first[id]
			if !ok || is.Value.Beat != was.Value.Beat {
				return fmt.Errorf("stream: the group %s of the table %s: a worker is running: stop all workers first",
					name, table)
			}
			silent = silent && asked.Sub(begun) > time.Duration(was.Value.Failover)*time.Millisecond
		}
		if silent {
			return failed
		}
		if err = failed; !sleep(ctx, 100*time.Millisecond) {
			err = ctx.Err()
		}
	}
	return err
}

// delete deletes all items of a group. It marks the group first, so that no worker adds a lease. The mark is deleted
// last, and each step checks it: a delete that has failed can be repeated, and one that was late deletes nothing of a
// new group.
func (s *store) delete(ctx context.Context, table, name string) error {
	g, err := s.mark(ctx)
	if err != nil {
		return missingIsFine(err)
	}
	workers, err := s.beats(ctx)
	for id := range workers {
		_, more := s.workers.DeleteByKey(ctx, s.workers.Key(s.name, id))
		err = errors.Join(err, missingIsFine(more))
	}
	if err != nil {
		return err
	}
	var parts []mapper.Part
	for e, err := range s.leases.Entities(ctx, query.Of[lease](s.leases.Key(s.name)), mapper.Strong()) {
		if err != nil {
			return err
		}
		parts = append(parts, s.leases.DeletePartByKey(s.leases.Key(s.name, e.Value.Shard)))
	}
	for some := range slices.Chunk(parts, mostInTransaction) {
		_, err := mapper.Transact(ctx, append(slices.Clone(some), s.groups.SavePart(g, mapper.CheckLoaded()))...)
		if err != nil {
			if ended, failed := s.ended(ctx, g); ended {
				return failed
			}
			return err
		}
	}
	for {
		e, err := s.readers.Load(ctx, s.readers.Key(table), mapper.Strong())
		if err != nil {
			return err
		}
		e.Value.Names = slices.DeleteFunc(e.Value.Names, func(n string) bool { return n == name })
		_, err = mapper.Transact(ctx, s.readers.SavePart(e, mapper.CheckLoaded()), s.groups.DeletePart(g))
		if err == nil || !raced(err) {
			return err
		}
		if ended, err := s.ended(ctx, g); ended {
			return err
		}
	}
}

// ended reports whether another call of DeleteGroup has deleted a group, or that cannot be read.
func (s *store) ended(ctx context.Context, g *mapper.Entity[group]) (bool, error) {
	now, err := s.groups.Load(ctx, s.groups.Key(s.name), mapper.Strong())
	return err != nil || now.Value.ID != g.Value.ID, missingIsFine(err)
}

// mostInTransaction is the number of leases in a transaction, which has 100 items at most.
const mostInTransaction = 90

// mark returns the group, marked as one that is being deleted.
func (s *store) mark(ctx context.Context) (*mapper.Entity[group], error) {
	for {
		g, err := s.groups.Load(ctx, s.groups.Key(s.name), mapper.Strong())
		if err != nil || g.Value.Deleting {
			return g, err
		}
		g.Value.Deleting = true
		if _, err = s.groups.Save(ctx, g); !raced(err) {
			return g, err
		}
	}
}

// short is the part of the group's ID that its leases have.
func (g *group) short() string { return g.ID[:min(len(g.ID), 8)] }

func missingIsFine(err error) error {
	if errors.Is(err, mapper.ErrNotFound) {
		return nil
	}
	return err
}
