package stream

import (
	"context"

	"github.com/itemize/itemize/mapper"
)

// HandleAll handles records one after the other, as one reader of a shard does.
func HandleAll(ctx context.Context, r *Router, records []*Record) (int, error) {
	var ended deletions
	for i, rec := range records {
		if err := r.handle(ctx, rec, &ended); err != nil {
			return i, err
		}
	}
	return len(records), nil
}

// RecordOf is recordOf.
var RecordOf = recordOf

// Twice calls the handlers of a record two times, as a reader does after a failure.
func Twice(ctx context.Context, r *Router, rec *Record) error {
	calls, _, err := r.calls(rec, &deletions{})
	if err != nil {
		return err
	}
	_ = run(ctx, calls)
	return run(ctx, calls)
}

// InsertLease inserts the lease of a shard.
func InsertLease(ctx context.Context, client mapper.Client, leases, group, shard, parent, arn string) error {
	s, err := newStore(client, leases, group, nil)
	if err != nil {
		return err
	}
	_, err = s.leases.Save(ctx, s.leases.New(lease{Name: group, Shard: shard, Parents: []string{parent}, Stream: arn}))
	return err
}

// InsertOwned inserts the lease of a shard with an owner.
func InsertOwned(ctx context.Context, client mapper.Client, leases, group, shard, arn, owner string) error {
	s, err := newStore(client, leases, group, nil)
	if err != nil {
		return err
	}
	_, err = s.leases.Save(ctx, s.leases.New(lease{Name: group, Shard: shard, Stream: arn, Owner: owner, Taken: 1}))
	return err
}

// DeleteWithoutWatching is DeleteGroup that does not look for workers.
func DeleteWithoutWatching(ctx context.Context, client mapper.Client, leases, table, name string) error {
	s, err := newStore(client, leases, table+"/"+name, nil)
	if err != nil {
		return err
	}
	return s.delete(ctx, table, name)
}
