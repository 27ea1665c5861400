package read

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/request/wire"
)

// Usage is the capacity and the work of reads.
type Usage struct {
	// Requests is the number of calls.
	Requests int
	// Predicted are the RCU computed from the sizes of the items. They are bounds if a filter or a
	// projection hides part of them. Consumed are the RCU that DynamoDB reported.
	Predicted cost.Units
	Consumed  float64
	// Skipped are tables that do not exist and were skipped.
	Skipped []string
	// Objects are the requests to S3.
	Objects cost.Objects
}

// Skip notes a table that was passed over.
func (u *Usage) Skip(table string) {
	if !slices.Contains(u.Skipped, table) {
		u.Skipped = append(u.Skipped, table)
	}
}

// Join adds what other reading took.
func (u *Usage) Join(o *Usage) {
	u.Requests += o.Requests
	u.Predicted, u.Consumed = u.Predicted.Add(o.Predicted), u.Consumed+o.Consumed
	u.Objects = u.Objects.Add(o.Objects)
	for _, table := range o.Skipped {
		u.Skip(table)
	}
}

// asks counts a call that is about to be made; one whose context is done is not sent.
func (u *Usage) asks(ctx context.Context) {
	if ctx.Err() == nil {
		u.Requests++
	}
}

// predict adds the predicted units of reads of so many bytes.
func (u *Usage) predict(o Options, bytes ...int) {
	for _, n := range bytes {
		units := cost.Exactly(cost.ReadUnits(n))
		if o.Expr != nil {
			units.Max, units.If = max(units.Max, cost.ReadUnits(maxPage)),
				"more is read than a filter or projection returns"
		}
		if !o.Strong {
			units = units.Times(0.5)
		}
		u.Predicted = u.Predicted.Add(units)
	}
}

// reported adds what DynamoDB reports for a read, nil for nothing.
func (u *Usage) reported(ctx context.Context, consumed *types.ConsumedCapacity) {
	if consumed != nil {
		wire.Report(ctx, consumed)
		u.Consumed += aws.ToFloat64(consumed.CapacityUnits)
	}
}

// maxPage bounds what one answer to a query is charged for: the item that takes it over
// 1 MB is the last (Developer Guide, "Paginating table query results").
const maxPage = 1<<20 + cost.MaxItem
