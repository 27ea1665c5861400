package write

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/request/wire"
)

// Tally is the number of requests of an operation, their predicted cost, and the cost that DynamoDB
// reported.
type Tally struct {
	Items    []Applied
	Requests int
	// WCU and RCU are the predicted units of the applied requests, in tables and indexes. Refused are
	// the WCU of writes whose condition failed, which DynamoDB charges and does not report.
	WCU, RCU, Refused cost.Units
	// Predicted are those of WCU that indexes take, with all that can contain the written items.
	Predicted IndexUnits
	// ConsumedWCU and ConsumedRCU are those that DynamoDB reported; Indexes are the WCU
	// among them that indexes took, by "table/index".
	ConsumedWCU, ConsumedRCU float64
	Indexes                  map[string]float64
	// Vectors are the bytes that DynamoDB reported for writes to vector indexes, by "table/index". They are
	// no units, and in no sum.
	Vectors map[string]float64
	// Objects are the requests to S3.
	Objects cost.Objects

	few [1]Applied // room for those of most operations
}

// Applied is a request that was applied, with its price in WCU.
type Applied struct {
	*Request
	WCU cost.Units
	// Table is the table's charge alone, as DynamoDB reported it; 0 if it is unknown.
	Table float64
}

// AddAll adds the tallies of requests that were sent at once, in their order.
func (t *Tally) AddAll(all []Tally) {
	for i := range all {
		u := &all[i]
		t.Items = append(t.Items, u.Items...)
		t.Requests += u.Requests
		t.WCU, t.RCU, t.Refused = t.WCU.Add(u.WCU), t.RCU.Add(u.RCU), t.Refused.Add(u.Refused)
		t.ConsumedWCU += u.ConsumedWCU
		t.ConsumedRCU += u.ConsumedRCU
		t.Objects = t.Objects.Add(u.Objects)
		for name, n := range u.Predicted {
			t.Predicted.add(name, n)
		}
		for name, n := range u.Indexes {
			count(&t.Indexes, name, n)
		}
		for name, n := range u.Vectors {
			count(&t.Vectors, name, n)
		}
	}
}

// MarkReported adds the requests of a transaction of which it was found out otherwise that it was applied.
func (t *Tally) MarkReported(requests []*Request) {
	for _, r := range requests {
		t.wrote(r, InTransaction.Units(r), 0)
	}
}

// countWrite counts a write, unless the call ended before a request was sent.
func (t *Tally) countWrite(w *watch, err error) {
	if err == nil || !w.seen || w.sent > 0 {
		t.Requests++
	}
}

// AddRead adds what reading took.
func (t *Tally) AddRead(requests int, predicted cost.Units, consumed float64) {
	t.Requests += requests
	t.RCU = t.RCU.Add(predicted)
	t.ConsumedRCU += consumed
}

// WroteInBatch adds a written item of a batch, of which the tally keeps the predicted units alone: of the item with
// its entries in indexes, and of these entries.
func (t *Tally) WroteInBatch(wcu cost.Units, entries []Entry) {
	t.WCU = t.WCU.Add(wcu)
	for i := range entries {
		t.Predicted.add(entries[i].Index, entries[i].Units(0))
	}
}

// wrote adds an applied request and its price. table is the reported charge of the request alone.
func (t *Tally) wrote(r *Request, wcu cost.Units, table float64) {
	if t.Items == nil {
		t.Items = t.few[:0]
	}
	t.Items = append(t.Items, Applied{r, wcu, table})
	t.WCU = t.WCU.Add(wcu)
	for i := range r.Entries {
		e := &r.Entries[i]
		u := e.Units(r.likelyBefore())
		t.WCU = t.WCU.Add(u)
		t.Predicted.add(e.Index, u)
	}
}

// charge is Charge for an answer to requests.
func (t *Tally) charge(ctx context.Context, c *types.ConsumedCapacity, requests []*Request) (table float64) {
	return t.Charge(ctx, c, func(answered string) string { return askedTable(answered, requests) })
}

// Charge adds what DynamoDB reports for writes of a table, nil for nothing, and returns the WCU among it
// that are the table's. asked returns the name by which the requests name the table of the answer. A
// transaction that was sent twice under one token is charged as a read the second time.
func (t *Tally) Charge(ctx context.Context, c *types.ConsumedCapacity, asked func(string) string) (table float64) {
	if c == nil {
		return 0
	}
	wire.Report(ctx, c)
	table = writes(c.CapacityUnits, c.WriteCapacityUnits, c.ReadCapacityUnits)
	t.ConsumedWCU += table
	t.ConsumedRCU += aws.ToFloat64(c.ReadCapacityUnits)
	for _, all := range []map[string]types.Capacity{c.GlobalSecondaryIndexes, c.LocalSecondaryIndexes} {
		for name, x := range all {
			n := writes(x.CapacityUnits, x.WriteCapacityUnits, x.ReadCapacityUnits)
			table -= n
			count(&t.Indexes, asked(aws.ToString(c.TableName))+"/"+name, n)
		}
	}
	for name, x := range c.VectorIndexes {
		n := aws.ToFloat64(x.VectorWriteRequestBytes)
		count(&t.Vectors, asked(aws.ToString(c.TableName))+"/"+name, n)
	}
	return table
}

// askedTable returns the name by which requests name the table of an answer.
func askedTable(answered string, requests []*Request) string {
	for _, r := range requests {
		if r.Table != nil && item.SameTable(r.Table.Name, answered) {
			return r.Table.Name
		}
	}
	return answered
}

// writes returns the write units of a report. Only transactions report them separately from read units.
func writes(all, writes, reads *float64) float64 {
	if aws.ToFloat64(writes)+aws.ToFloat64(reads) > 0 {
		return aws.ToFloat64(writes)
	}
	return aws.ToFloat64(all)
}

// count adds n to the number of an index, unless it is 0.
func count(all *map[string]float64, name string, n float64) {
	if n == 0 {
		return
	}
	if *all == nil {
		*all = map[string]float64{}
	}
	(*all)[name] += n
}
