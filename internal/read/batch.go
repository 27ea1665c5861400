package read

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/key"
	"github.com/itemize/itemize/internal/selection"
)

// place is an item's place in a batch.
type place struct {
	table  int
	pk, sk key.Scalar
}

// batch reads single items with BatchGetItem, and yields them in the order in
// which they were asked for. Unprocessed keys are asked for again.
func (r *Reader) batch(ctx context.Context, parts []selection.Part, o Options, u *Usage, yield func(Page, error) bool) bool {
	for len(parts) > 0 {
		n := min(len(parts), cost.MaxBatchGet)
		found, err := r.batchOf(ctx, parts[:n], o, u)
		if err != nil {
			yield(Page{}, err)
			return false
		}
		var page []Found
		for _, p := range parts[:n] {
			at := place{p.Table, p.PK, p.Range.Low}
			if f, ok := found[at]; ok {
				page = append(page, f)
			}
			delete(found, at) // asked for twice, it comes once
		}
		if !yield(Page{Items: page}, nil) {
			return false
		}
		parts = parts[n:]
	}
	return true
}

func (r *Reader) batchOf(ctx context.Context, parts []selection.Part, o Options, u *Usage) (map[place]Found, error) {
	tables := map[string]int{}
	want := map[string]types.KeysAndAttributes{}
	asked := map[place]bool{}
	for _, p := range parts {
		at := place{p.Table, p.PK, p.Range.Low}
		if asked[at] {
			continue
		}
		asked[at] = true
		name := r.Tables[p.Table]
		tables[name] = p.Table
		k := want[name]
		k.ConsistentRead = &o.Strong
		k.Keys = append(k.Keys, r.Key(p.Table, p.PK, p.Range.Low))
		want[name] = k
	}
	found := map[place]Found{}
	missing := len(asked)
	for try := 0; len(want) > 0; try++ {
		if try > 0 {
			if err := Pause(ctx, try); err != nil {
				return nil, fmt.Errorf("%s: reading a batch, with keys still unprocessed: %w", r.Schema.Label(), err)
			}
		}
		out, err := r.Client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{
			RequestItems: want, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		})
		u.Requests++
		if err != nil {
			return nil, Explain(r.Schema.Label(), slices.Sorted(maps.Keys(tables)), err)
		}
		var sizes []int
		for name, items := range out.Responses {
			for _, item := range items {
				f, err := r.Found(tables[name], item)
				if err != nil {
					return nil, err
				}
				found[place{f.Table, f.PK, f.SK}] = f
				sizes = append(sizes, f.Size)
			}
		}
		missing -= len(sizes)
		for i := range out.ConsumedCapacity {
			u.add(nil, o, &out.ConsumedCapacity[i])
		}
		u.add(sizes, o, nil)
		want = out.UnprocessedKeys
	}
	u.add(make([]int, missing), o, nil) // a missing item costs as a small one
	return found, nil
}

const (
	firstPause = 10 * time.Millisecond
	longPause  = time.Second
)

// Pause waits before a further try, the longer the more there were, with full
// jitter; it returns early with the context's error.
func Pause(ctx context.Context, try int) error {
	limit := longPause
	if try < 7 {
		limit = min(limit, firstPause<<try)
	}
	timer := time.NewTimer(rand.N(limit))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
