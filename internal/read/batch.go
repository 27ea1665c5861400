package read

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/read/selection"
	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/request/wire"
)

// batch reads single items with BatchGetItem, and yields them in the order of their
// sort keys. Unprocessed keys are asked for again.
func (r *Reader) batch(ctx context.Context, parts []selection.Part, o Options, u *Usage, yield func(Page, error) bool) {
	parts = slices.Clone(parts)
	slices.SortStableFunc(parts, func(a, b selection.Part) int {
		return cmp.Or(o.inOrder(a.Range.Low, b.Range.Low), cmp.Compare(a.Table, b.Table))
	})
	for len(parts) > 0 {
		n := min(len(parts), cost.MaxBatchGet)
		found, err := r.batchOf(ctx, parts[:n], o, u)
		if err != nil {
			yield(Page{}, err)
			return
		}
		var page []item.Image
		for _, p := range parts[:n] {
			at := r.place(p, p.Range.Low)
			if f, ok := found[at]; ok {
				page = append(page, f)
			}
			delete(found, at) // asked for twice, it comes once
		}
		if !yield(Page{Items: page}, nil) {
			return
		}
		parts = parts[n:]
	}
}

// maxBatchTries is how often the rest of a batch is asked for after answers that have none of it.
const maxBatchTries = 30

// batchOf reads up to 100 items, by their places.
func (r *Reader) batchOf(ctx context.Context, parts []selection.Part, o Options, u *Usage) (map[item.Place]item.Image,
	error,
) {
	tables, want, asked := r.batchKeys(parts, o)
	found := map[item.Place]item.Image{}
	missing, left := asked, asked
	for try := 0; len(want) > 0; try++ {
		if try > 0 {
			if err := r.pause(ctx, try); err != nil {
				return nil, err
			}
		}
		u.asks(ctx)
		call := r.Wire.Call(wire.BatchGetItem, false)
		out, err := r.Client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{
			RequestItems: want, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		}, call.Options()...)
		if err != nil {
			return nil, request.Explain(ctx, r.Client, r.Label,
				slices.SortedFunc(maps.Values(tables),
					func(a, b *item.Table) int { return cmp.Compare(a.Index, b.Index) }), call.Explain(err))
		}
		var sizes []int
		asked := slices.Collect(maps.Keys(tables))
		for name, items := range out.Responses {
			table := tables[item.Asked(name, asked)]
			if table == nil {
				return nil, r.notAsked(name)
			}
			images, err := r.described(item.Place{Table: table}, call.Page().Of(name), o.Light, items)
			if err != nil {
				return nil, err
			}
			for _, f := range images {
				found[f.Place] = f
				sizes = append(sizes, f.Size)
			}
		}
		missing -= len(sizes)
		for i := range out.ConsumedCapacity {
			u.reported(ctx, &out.ConsumedCapacity[i])
		}
		u.predict(o, sizes...)
		before := left
		want, left = nil, 0
		for name, keys := range out.UnprocessedKeys {
			table := tables[item.Asked(name, asked)]
			if table == nil {
				return nil, r.notAsked(name)
			}
			if want == nil {
				want = map[string]types.KeysAndAttributes{}
			}
			want[table.Name] = keys
			left += len(keys.Keys)
		}
		if left < before {
			try = 0
		}
	}
	u.predict(o, make([]int, missing)...) // a missing item costs as a small one
	return found, nil
}

// errUnprocessed is the error of keys that BatchGetItem returned. The answer has no reasons.
var errUnprocessed = errors.New("BatchGetItem returned all keys as unprocessed")

// pause waits before the rest of a batch is asked for, after a number of answers that had none of it.
func (r *Reader) pause(ctx context.Context, try int) error {
	err := request.Pause(ctx, try)
	if err == nil && try == maxBatchTries {
		err = errUnprocessed
	}
	if err == nil {
		return nil
	}
	return request.Throttling("%s: DynamoDB throttled the batch: raise the read capacity of the table, or load fewer "+
		"entities at once: %w", r.Label, err)
}

// notAsked is the error of an answer about a table that the request does not name.
func (r *Reader) notAsked(name string) error {
	return fmt.Errorf("%s: BatchGetItem answered about the table %q, which the request does not name: use one kind "+
		"of name, the table's or its ARN", r.Label, name)
}

// batchKeys returns what a batch asks for, each key once: the indexes of the tables by
// their names, the keys, and how many.
func (r *Reader) batchKeys(parts []selection.Part, o Options) (tables map[string]*item.Table,
	want map[string]types.KeysAndAttributes, n int,
) {
	tables, want = map[string]*item.Table{}, map[string]types.KeysAndAttributes{}
	asked := map[item.Place]bool{}
	for _, p := range parts {
		at := r.place(p, p.Range.Low)
		if asked[at] {
			continue
		}
		asked[at] = true
		name := at.Table.Name
		tables[name] = at.Table
		k := want[name]
		k.ConsistentRead = &o.Strong
		k.Keys = append(k.Keys, at.Key())
		want[name] = k
	}
	return tables, want, len(asked)
}
