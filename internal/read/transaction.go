package read

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/explain"
	"github.com/itemize/itemize/internal/flow"
	"github.com/itemize/itemize/internal/item"
	"github.com/itemize/itemize/internal/selection"
)

// Set is a set of items with known keys, and the reader of its model.
type Set struct {
	*Reader
	Parts []selection.Part
}

// maxTransactionTries is how often a transaction is sent that conflicts with writes in progress.
const maxTransactionTries = 100

// Transaction reads up to 100 items of several models in one transaction, as they are at one moment. All readers have
// the same client. It costs two RCU for each 4 KB of each item. A transaction that conflicts with a write in progress
// is sent again.
func Transaction(ctx context.Context, sets []Set, u *Usage) ([]*Early, error) {
	in := &dynamodb.TransactGetItemsInput{ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal}
	var places []item.Place
	var tables []*item.Table
	for _, s := range sets {
		for _, p := range s.Parts {
			at := s.place(p, p.Range.Low)
			places, tables = append(places, at), append(tables, at.Table)
			in.TransactItems = append(in.TransactItems, types.TransactGetItem{
				Get: &types.Get{TableName: &at.Table.Name, Key: at.Key()},
			})
		}
	}
	first := sets[0].Reader
	for try := 1; ; try++ {
		u.asks(ctx)
		out, err := first.Client.TransactGetItems(ctx, in)
		if err == nil {
			return answers(sets, places, out, u)
		}
		if !inProgress(err) || try == maxTransactionTries {
			return nil, explain.Error(ctx, first.Client, first.Label, tables, err)
		}
		if err := flow.Pause(ctx, try); err != nil {
			return nil, err
		}
	}
}

// inProgress reports whether a transaction was canceled because of writes of its items.
func inProgress(err error) bool {
	var canceled *types.TransactionCanceledException
	if !errors.As(err, &canceled) {
		return false
	}
	for _, r := range canceled.CancellationReasons {
		if code := aws.ToString(r.Code); code != "" && code != "None" && code != "TransactionConflict" {
			return false
		}
	}
	return true
}

// answers returns the items of each set.
func answers(sets []Set, places []item.Place, out *dynamodb.TransactGetItemsOutput, u *Usage) ([]*Early, error) {
	for i := range out.ConsumedCapacity {
		u.add(nil, Options{}, &out.ConsumedCapacity[i])
	}
	all := make([]*Early, len(sets))
	n := 0
	for i, s := range sets {
		all[i] = &Early{found: map[item.Place]item.Image{}, requested: map[item.Place]bool{}}
		for range s.Parts {
			var images []item.Image
			var err error
			if n < len(out.Responses) && len(out.Responses[n].Item) > 0 {
				if images, err = s.described(places[n], nil, false, single(out.Responses[n].Item)); err != nil {
					return nil, err
				}
			}
			size := 0
			if len(images) > 0 {
				all[i].found[places[n]], size = images[0], images[0].Size
			}
			u.Predicted = u.Predicted.Add(cost.Exactly(2 * cost.ReadUnits(size)))
			n++
		}
	}
	return all, nil
}
