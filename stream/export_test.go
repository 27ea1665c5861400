package stream

import "context"

// HandleAll handles records one after the other, as one reader of a shard does.
func HandleAll(ctx context.Context, r *Router, records []*Record) (int, error) {
	var gone deletions
	for i, rec := range records {
		if err := r.handle(ctx, rec, &gone); err != nil {
			return i, err
		}
	}
	return len(records), nil
}

// RecordOf is recordOf.
var RecordOf = recordOf
