package read

import (
	"context"
	"iter"
	"maps"
	"math"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/read/selection"
	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/request/wire"
)

// Client has the methods of a DynamoDB client that reading needs.
type Client interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	BatchGetItem(context.Context, *dynamodb.BatchGetItemInput,
		...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
	TransactGetItems(context.Context, *dynamodb.TransactGetItemsInput,
		...func(*dynamodb.Options)) (*dynamodb.TransactGetItemsOutput, error)
}

// Reader reads items of tables from DynamoDB.
type Reader struct {
	Client Client
	// Label names the model in messages.
	Label string
	// TableOf returns the table that a part is in.
	TableOf func(selection.Part) *item.Table
	// Describe makes images of the items of one answer, of a table.
	Describe func(t *item.Table, items []item.Attributes) ([]item.Image, error)
	// Wire reads the items of answers straight from the wire, and DescribeWire makes images of them;
	// nil leaves both to the SDK and Describe.
	Wire         *wire.Codec
	DescribeWire func(at item.Place, items []wire.Item, light bool, into []item.Image) error
}

// Expression is a filter and a projection, with their placeholders.
type Expression struct {
	Filter, Projection *string
	Names              map[string]string
	Values             item.Attributes
}

// Ranges yields the items of the parts in several sequences: those with a known key
// first, then each range in the order of its sort keys.
func (r *Reader) Ranges(ctx context.Context, parts []selection.Part, o Options, u *Usage) []iter.Seq2[Page, error] {
	if len(parts) == 1 && r.alone(parts[0], o) { // as most loads
		return []iter.Seq2[Page, error]{func(yield func(Page, error) bool) { r.ones(ctx, parts, o, u, yield) }}
	}
	var ones []selection.Part
	var ranges []iter.Seq2[Page, error]
	for _, p := range parts {
		switch {
		case p.Range.Kind == selection.None, o.Start != nil && spent(p, *o.Start, o):
		case r.alone(p, o):
			ones = append(ones, p)
		default:
			ranges = append(ranges, func(yield func(Page, error) bool) { r.query(ctx, p, o, u, yield) })
		}
	}
	if len(ones) == 0 {
		return ranges
	}
	single := func(yield func(Page, error) bool) { r.ones(ctx, ones, o, u, yield) }
	return append([]iter.Seq2[Page, error]{single}, ranges...)
}

// alone reports whether a part is an item that is read by its key.
func (r *Reader) alone(p selection.Part, o Options) bool {
	return p.Range.Kind == selection.One && o.Expr == nil && p.In == nil
}

// ones reads single items: one with GetItem, several with BatchGetItem.
func (r *Reader) ones(ctx context.Context, parts []selection.Part, o Options, u *Usage, yield func(Page, error) bool) {
	if len(parts) > 1 {
		r.batch(ctx, parts, o, u, yield)
		return
	}
	images, err := r.one(ctx, r.place(parts[0], parts[0].Range.Low), o, u)
	if err != nil || len(images) > 0 {
		yield(Page{Items: images}, err)
	}
}

// One reads one item, nil if it does not exist.
func (r *Reader) One(ctx context.Context, at item.Place, o Options, u *Usage) (*item.Image, error) {
	images, err := r.one(ctx, at, o, u)
	if err != nil || len(images) == 0 {
		return nil, err
	}
	return &images[0], nil
}

// Item reads one item that is no item of the model, nil for none.
func (r *Reader) Item(ctx context.Context, at item.Place, o Options, u *Usage) (item.Attributes, error) {
	u.asks(ctx)
	out, err := r.Client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &at.Table.Name, Key: at.Key(),
		ConsistentRead: &o.Strong, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	})
	if err != nil {
		return nil, request.Explain(ctx, r.Client, r.Label, []*item.Table{at.Table}, err)
	}
	u.predict(o, attr.ItemSize(out.Item))
	u.reported(ctx, out.ConsumedCapacity)
	return out.Item, nil
}

// one is One with the item in a slice, an empty one for none.
func (r *Reader) one(ctx context.Context, at item.Place, o Options, u *Usage) ([]item.Image, error) {
	u.asks(ctx)
	call := r.Wire.Call(wire.GetItem, false)
	out, err := r.Client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &at.Table.Name, Key: at.Key(),
		ConsistentRead: &o.Strong, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	}, call.Options()...)
	if err != nil {
		return nil, request.Explain(ctx, r.Client, r.Label, []*item.Table{at.Table}, call.Explain(err))
	}
	images, err := r.described(at, call.Page(), false, single(out.Item))
	size := 0
	if err == nil && len(images) > 0 {
		size = images[0].Size
	}
	u.predict(o, size)
	u.reported(ctx, out.ConsumedCapacity)
	return images, err
}

// described makes images of the items of an answer: of a page from the wire, nil for none, or of those that the SDK
// has decoded. at is their place, as far as it is known.
func (r *Reader) described(at item.Place, page *wire.Page, light bool, items []item.Attributes) ([]item.Image, error) {
	if page != nil {
		images := imagesFor(len(page.Items), light)
		return images, r.DescribeWire(at, page.Items, light, images)
	}
	return r.Describe(at.Table, items)
}

// single returns the items of an answer to GetItem.
func single(a item.Attributes) []item.Attributes {
	if len(a) == 0 {
		return nil
	}
	return []item.Attributes{a}
}

func (r *Reader) place(p selection.Part, sk key.Scalar) item.Place {
	return item.Place{Table: r.TableOf(p), PK: p.PK, SK: sk}
}

// query reads a range, over every page.
func (r *Reader) query(ctx context.Context, p selection.Part, o Options, u *Usage, yield func(Page, error) bool) {
	in, t := r.Input(p, o), r.TableOf(p)
	for {
		if o.Want != nil {
			in.Limit = limitOf(o.Want())
		}
		u.asks(ctx)
		call := r.Wire.Call(wire.Query, o.Light)
		out, err := r.Client.Query(ctx, in, call.Options()...)
		if err != nil {
			yield(Page{}, request.Explain(ctx, r.Client, r.Label, []*item.Table{t}, call.Explain(err)))
			return
		}
		page, err := r.described(item.Place{Table: t, PK: p.PK}, call.Page(), o.Light, out.Items)
		if err != nil {
			yield(Page{}, err)
			return
		}
		size := 0
		for i := range page {
			page[i].Answer = u.Requests
			size += page[i].Size
		}
		u.predict(o, size)
		u.reported(ctx, out.ConsumedCapacity)
		wire.ReportPage(ctx, out.Count, out.ScannedCount)
		last, _ := attr.ScalarOf(out.LastEvaluatedKey[t.Range])
		more := len(out.LastEvaluatedKey) > 0 && !spent(p, last, o)
		if !yield(Page{page, more, last, out.LastEvaluatedKey, call.Page()}, nil) || !more {
			return
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
	}
}

// spent reports whether no key of a part in a table comes behind another, where a query would continue.
// DynamoDB Local refuses to continue at the end of a range.
func spent(p selection.Part, at key.Scalar, o Options) bool {
	r := p.Range
	switch {
	case p.In != nil || at.Type == 0:
		return false
	case o.Reverse:
		return (r.Kind == selection.Between || r.Kind == selection.AtLeast) && key.Compare(at, r.Low) <= 0
	}
	return (r.Kind == selection.Between || r.Kind == selection.AtMost) && key.Compare(at, r.High) >= 0
}

// limitOf returns the bound of an answer as requests take it, nil for none.
func limitOf(n int) *int32 {
	if n <= 0 {
		return nil
	}
	return aws.Int32(int32(min(n, math.MaxInt32)))
}

// Input returns the request that reads a range.
func (r *Reader) Input(p selection.Part, o Options) *dynamodb.QueryInput {
	if p.In != nil {
		return r.inputInIndex(p, o)
	}
	t := r.TableOf(p)
	in := &dynamodb.QueryInput{
		TableName:                 &t.Name,
		ConsistentRead:            &o.Strong,
		ReturnConsumedCapacity:    types.ReturnConsumedCapacityTotal,
		ExpressionAttributeNames:  map[string]string{"#pk": t.Hash},
		ExpressionAttributeValues: item.Attributes{":pk": attr.ValueOf(p.PK)},
		KeyConditionExpression:    aws.String("#pk = :pk"),
	}
	if o.Reverse {
		in.ScanIndexForward = aws.Bool(false)
	}
	condition := func(text string, values ...key.Scalar) {
		in.KeyConditionExpression = aws.String("#pk = :pk AND " + text)
		in.ExpressionAttributeNames["#sk"] = t.Range
		for i, v := range values {
			in.ExpressionAttributeValues[":sk"+strconv.Itoa(i)] = attr.ValueOf(v)
		}
	}
	switch p.Range.Kind {
	case selection.One:
		if t.Range != "" {
			condition("#sk = :sk0", p.Range.Low)
		}
	case selection.Prefix:
		condition("begins_with(#sk, :sk0)", p.Range.Low)
	case selection.Between:
		condition("#sk BETWEEN :sk0 AND :sk1", p.Range.Low, p.Range.High)
	case selection.AtLeast:
		condition("#sk >= :sk0", p.Range.Low)
	case selection.AtMost:
		condition("#sk <= :sk0", p.Range.High)
	}
	if o.Start != nil {
		in.ExclusiveStartKey = r.place(p, *o.Start).Key()
	}
	return o.into(in)
}

// into adds to a request the bound of its answer, its filter and its projection.
func (o *Options) into(in *dynamodb.QueryInput) *dynamodb.QueryInput {
	in.Limit = limitOf(o.Limit)
	if x := o.Expr; x != nil {
		in.FilterExpression, in.ProjectionExpression = x.Filter, x.Projection
		maps.Copy(in.ExpressionAttributeNames, x.Names)
		maps.Copy(in.ExpressionAttributeValues, x.Values)
	}
	return in
}
