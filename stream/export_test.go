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
	l := lease{Name: group, Shard: shard, Parents: []string{parent}, Stream: arn, Group: shortOf(ctx, s)}
	_, err = s.leases.Save(ctx, s.leases.New(l))
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

// shortOf returns what the leases of a group have of its ID, "" if there is no group.
func shortOf(ctx context.Context, s *store) string {
	g, err := s.groups.Load(ctx, s.groups.Key(s.name), mapper.Strong())
	if err != nil {
		return ""
	}
	return g.Value.short()
}
