package read

import (
	"context"
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/read/selection"
	"github.com/itemize/itemize/internal/request"
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
	var places []asked
	var tables []*item.Table
	numbers := map[string]int{}
	for _, s := range sets {
		for _, p := range s.Parts {
			at := s.place(p, p.Range.Low)
			id := at.Table.Name + "\x00" + at.PK.String() + "\x00" + at.SK.String()
			n, again := numbers[id]
			if again { // DynamoDB takes an item once
				places = append(places, asked{at, n, true})
				continue
			}
			numbers[id] = len(in.TransactItems)
			places = append(places, asked{at, len(in.TransactItems), false})
			if !slices.Contains(tables, at.Table) {
				tables = append(tables, at.Table)
			}
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
			return answers(ctx, sets, places, out, u)
		}
		if !inProgress(err) || try == maxTransactionTries {
			return nil, request.Explain(ctx, first.Client, first.Label, tables, err)
		}
		if err := request.Pause(ctx, try); err != nil {
			return nil, err
		}
	}
}

// asked is an item that a set has, and the number of its answer. again reports that another set has it, too.
type asked struct {
	item.Place
	number int
	again  bool
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
func answers(ctx context.Context, sets []Set, places []asked, out *dynamodb.TransactGetItemsOutput,
	u *Usage,
) ([]*Early, error) {
	for i := range out.ConsumedCapacity {
		u.reported(ctx, &out.ConsumedCapacity[i])
	}
	all := make([]*Early, len(sets))
	for i, s := range sets {
		all[i] = &Early{found: map[item.Place]item.Image{}, requested: map[item.Place]bool{}}
		for _, at := range places[:len(s.Parts)] {
			var stored item.Attributes
			if at.number < len(out.Responses) {
				stored = out.Responses[at.number].Item
			}
			if at.again {
				stored = attr.CopyItem(stored)
			}
			size := 0
			if len(stored) > 0 {
				images, err := s.described(at.Place, nil, false, single(stored))
				if err != nil {
					return nil, err
				}
				if len(images) > 0 {
					all[i].found[at.Place], size = images[0], images[0].Size
				}
			}
			if !at.again {
				u.Predicted = u.Predicted.Add(cost.Exactly(2 * cost.ReadUnits(size)))
			}
		}
		places = places[len(s.Parts):]
	}
	return all, nil
}
