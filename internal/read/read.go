// Package read reads what a selection names, page by page, and tells what it
// cost.
package read

import (
	"context"
	"iter"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/attr"
	"github.com/itemize/itemize/internal/codec"
	"github.com/itemize/itemize/internal/key"
	"github.com/itemize/itemize/internal/schema"
	"github.com/itemize/itemize/internal/selection"
)

// Client is what reading needs of a DynamoDB client.
type Client interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	BatchGetItem(context.Context, *dynamodb.BatchGetItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
}

// Item is an item as it is stored.
type Item = map[string]types.AttributeValue

// Reader reads the items of one model.
type Reader struct {
	Client Client
	Schema *schema.Entity
	// Tables are the real names of the schema's tables.
	Tables []string
	Now    func() time.Time
	// Codec decodes.
	Codec codec.Model
}

// Options say how to read.
type Options struct {
	// Strong asks for strongly consistent reads.
	Strong bool
	// Reverse asks for descending sort keys.
	Reverse bool
	// Limit bounds the items of an answer, 0 for no bound.
	Limit int
	// Start is the sort key after which a single range is read, nil for its beginning.
	Start *key.Scalar
	// Expr filters and projects; nil for neither. All is read by queries then.
	Expr *Expression
}

// Expression is a filter and a projection, with their placeholders.
type Expression struct {
	Filter, Projection *string
	Names              map[string]string
	Values             Item
}

// Page is the items of an answer.
type Page struct {
	Items []Found
	// More tells that the range goes on behind Last.
	More bool
	Last key.Scalar
}

// Found is an item that was read.
type Found struct {
	Item   Item
	Table  int
	PK, SK key.Scalar
	// Kind is the item's kind, nil for an item that matches no template;
	// Values are the values of the placeholders in its sort key.
	Kind   *schema.Item
	Values []key.Value
	// Size is its size in bytes; Sizes are those of the kind's attributes, names
	// included, 0 for one that is not stored.
	Size  int
	Sizes []int32
	// Expired tells that its time to live is over.
	Expired bool
	// Attempt is the staged write that it belongs to, nil for none.
	Attempt types.AttributeValue
	// Answer is the number of the response that it came with.
	Answer int
}

// Usage is what reading took.
type Usage struct {
	// Requests is the number of calls.
	Requests int
	// Predicted are the RCU computed from the sizes of what was read: bounds, where a
	// filter or projection hides some of it. Consumed are those that DynamoDB reported.
	Predicted cost.Units
	Consumed  float64
}

func (u *Usage) add(bytes []int, o Options, consumed *types.ConsumedCapacity) {
	for _, n := range bytes {
		units := cost.Exactly(cost.ReadUnits(n))
		if o.Expr != nil {
			units.Max = max(units.Max, cost.ReadUnits(maxPage))
		}
		if !o.Strong {
			units = units.Times(0.5)
		}
		u.Predicted = u.Predicted.Add(units)
	}
	if consumed != nil {
		u.Consumed += aws.ToFloat64(consumed.CapacityUnits)
	}
}

// maxPage bounds what one answer to a query is charged for: the item that takes it over
// 1 MB is the last (Developer Guide, "Paginating table query results").
const maxPage = 1<<20 + cost.MaxItem

// Pages yields the items of the parts, answer by answer: first those with a known
// key, then the ranges in their order, each in the order of its sort keys. The
// slices are the caller's to keep.
func (r *Reader) Pages(ctx context.Context, parts []selection.Part, o Options, u *Usage) iter.Seq2[Page, error] {
	return func(yield func(Page, error) bool) {
		var ones, ranges []selection.Part
		for _, p := range parts {
			if p.Range.Kind == selection.None {
				continue
			}
			if p.Range.Kind == selection.One && o.Expr == nil {
				ones = append(ones, p)
			} else {
				ranges = append(ranges, p)
			}
		}
		if !r.ones(ctx, ones, o, u, yield) {
			return
		}
		for i, p := range ranges {
			before := append(slices.Clone(ones), ranges[:i]...)
			once := func(page Page, err error) bool {
				if len(before) > 0 {
					page.Items = slices.DeleteFunc(page.Items, func(f Found) bool { return contains(before, f) })
				}
				return yield(page, err)
			}
			if !r.query(ctx, p, o, u, once) {
				return
			}
		}
	}
}

// contains reports whether an item has come with one of the parts.
func contains(parts []selection.Part, f Found) bool {
	return slices.ContainsFunc(parts, func(p selection.Part) bool {
		return p.Table == f.Table && p.PK == f.PK && p.Range.Contains(f.SK)
	})
}

// ones reads single items: one with GetItem, several with BatchGetItem.
func (r *Reader) ones(ctx context.Context, parts []selection.Part, o Options, u *Usage, yield func(Page, error) bool) bool {
	switch len(parts) {
	case 0:
		return true
	case 1:
		f, err := r.get(ctx, parts[0], o, u)
		if err != nil {
			yield(Page{}, err)
			return false
		}
		return f == nil || yield(Page{Items: []Found{*f}}, nil)
	}
	return r.batch(ctx, parts, o, u, yield)
}

// One reads one item, nil if it is not there.
func (r *Reader) One(ctx context.Context, table int, pk, sk key.Scalar, o Options, u *Usage) (*Found, error) {
	return r.get(ctx, selection.Part{Table: table, PK: pk, Range: selection.Range{Kind: selection.One, Low: sk}}, o, u)
}

func (r *Reader) get(ctx context.Context, p selection.Part, o Options, u *Usage) (*Found, error) {
	out, err := r.Client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &r.Tables[p.Table], Key: r.Key(p.Table, p.PK, p.Range.Low),
		ConsistentRead: &o.Strong, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	})
	u.Requests++
	if err != nil {
		return nil, r.explain(err, p.Table)
	}
	u.add([]int{cost.ItemSize(out.Item)}, o, out.ConsumedCapacity)
	if len(out.Item) == 0 {
		return nil, nil
	}
	f, err := r.Found(p.Table, out.Item)
	return &f, err
}

// Key returns the primary key of an item.
func (r *Reader) Key(table int, pk, sk key.Scalar) Item {
	t := r.Schema.Tables[table]
	k := Item{t.Hash: attr.ValueOf(pk)}
	if t.Range != "" {
		k[t.Range] = attr.ValueOf(sk)
	}
	return k
}

// slab is memory for what is known of the items of one answer, given out in parts.
type slab struct {
	values []key.Value
	sizes  []int32
	items  int // of the answer
}

func (s *slab) roomForValues(n int) []key.Value {
	if len(s.values) < n {
		s.values = make([]key.Value, max(n, n*s.items))
	}
	out := s.values[:n:n]
	s.values = s.values[n:]
	return out
}

func (s *slab) roomForSizes(n int) []int32 {
	if len(s.sizes) < n {
		s.sizes = make([]int32, max(n, n*s.items))
	}
	out := s.sizes[:n:n]
	s.sizes = s.sizes[n:]
	return out
}

// Found describes an item as read from a table.
func (r *Reader) Found(table int, item Item) (Found, error) { return r.found(table, item, &slab{}) }

func (r *Reader) found(table int, item Item, s *slab) (Found, error) {
	t := r.Schema.Tables[table]
	f := Found{Item: item, Table: table, Attempt: item[schema.Attempt]}
	var ok bool
	if f.PK, ok = attr.ScalarOf(item[t.Hash]); !ok {
		return f, r.wrongKey(table, t.Hash)
	}
	if t.Range != "" {
		if f.SK, ok = attr.ScalarOf(item[t.Range]); !ok {
			return f, r.wrongKey(table, t.Range)
		}
	}
	f.Kind, f.Values = r.Schema.MatchIn(table, f.SK, s.roomForValues)
	f.Expired = r.Expired(item)
	f.measure(s)
	return f, nil
}

func (f *Found) measure(s *slab) {
	if f.Kind != nil {
		f.Sizes = s.roomForSizes(len(f.Kind.Attributes))
	}
	for name, v := range f.Item {
		n := cost.AttributeSize(name, v)
		f.Size += n
		if f.Kind == nil {
			continue
		}
		if i := f.Kind.Attribute(name); i >= 0 {
			f.Sizes[i] = int32(n)
		}
	}
}

// Expired reports whether an item's time to live is over, so that DynamoDB may
// delete it at any moment.
func (r *Reader) Expired(item Item) bool {
	if r.Schema.TTL == "" {
		return false
	}
	n, ok := item[r.Schema.TTL].(*types.AttributeValueMemberN)
	if !ok {
		return false
	}
	at, err := strconv.ParseFloat(n.Value, 64)
	return err == nil && int64(at) <= r.Now().Unix()
}

// query reads a range, over every page.
func (r *Reader) query(ctx context.Context, p selection.Part, o Options, u *Usage, yield func(Page, error) bool) bool {
	in := r.Input(p, o)
	for {
		out, err := r.Client.Query(ctx, in)
		u.Requests++
		if err != nil {
			yield(Page{}, r.explain(err, p.Table))
			return false
		}
		size := 0
		page := make([]Found, len(out.Items))
		room := &slab{items: len(out.Items)}
		for i, item := range out.Items {
			if page[i], err = r.found(p.Table, item, room); err != nil {
				yield(Page{}, err)
				return false
			}
			page[i].Answer = u.Requests
			size += page[i].Size
		}
		u.add([]int{size}, o, out.ConsumedCapacity)
		last, _ := attr.ScalarOf(out.LastEvaluatedKey[r.Schema.Tables[p.Table].Range])
		more := len(out.LastEvaluatedKey) > 0
		if !yield(Page{page, more, last}, nil) {
			return false
		}
		if !more {
			return true
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
	}
}

// Input returns the request that reads a range.
func (r *Reader) Input(p selection.Part, o Options) *dynamodb.QueryInput {
	t := r.Schema.Tables[p.Table]
	in := &dynamodb.QueryInput{
		TableName:                 &r.Tables[p.Table],
		ConsistentRead:            &o.Strong,
		ReturnConsumedCapacity:    types.ReturnConsumedCapacityTotal,
		ExpressionAttributeNames:  map[string]string{"#pk": t.Hash},
		ExpressionAttributeValues: Item{":pk": attr.ValueOf(p.PK)},
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
	}
	if o.Limit > 0 {
		in.Limit = aws.Int32(int32(min(o.Limit, math.MaxInt32)))
	}
	if o.Start != nil {
		in.ExclusiveStartKey = r.Key(p.Table, p.PK, *o.Start)
	}
	if x := o.Expr; x != nil {
		in.FilterExpression, in.ProjectionExpression = x.Filter, x.Projection
		maps.Copy(in.ExpressionAttributeNames, x.Names)
		maps.Copy(in.ExpressionAttributeValues, x.Values)
	}
	return in
}
