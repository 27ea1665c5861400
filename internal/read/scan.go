package read

import (
	"context"
	"math/rand/v2"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/request/wire"
)

// Segment is a part of a table, of several that are scanned at once, as fast as the rate allows.
type Segment struct {
	Table      *item.Table
	Number, Of int
	Strong     bool
	// Rate limits the RCU per second of all segments that share it, nil for no limit.
	Rate *request.Limiter
	// Start is the key behind which it is read, nil for its beginning; Limit bounds the items of an answer, 0 for
	// no bound.
	Start item.Attributes
	Limit int
}

// Scan reads a segment of a table, answer by answer, until yield returns false.
func (r *Reader) Scan(ctx context.Context, s Segment, u *Usage, yield func(Page) bool) error {
	in := &dynamodb.ScanInput{
		TableName: &s.Table.Name, ConsistentRead: &s.Strong, ExclusiveStartKey: s.Start,
		Segment: aws.Int32(int32(s.Number)), TotalSegments: aws.Int32(int32(s.Of)),
		ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	}
	items, bytes := 0, 0 // so far
	for {
		if err := s.Rate.Take(ctx, 0); err != nil {
			return err
		}
		if in.Limit = pageItems(s.Rate, s.Of, items, bytes, s.Strong); s.Limit > 0 &&
			(in.Limit == nil || int(*in.Limit) > s.Limit) {
			in.Limit = limitOf(s.Limit)
		}
		u.asks(ctx)
		call := r.Wire.Call(wire.Query, false)
		out, err := r.Client.Scan(ctx, in, call.Options()...)
		if err != nil {
			return request.Explain(ctx, r.Client, r.Label, []*item.Table{s.Table}, call.Explain(err))
		}
		page, err := r.described(item.Place{Table: s.Table}, call.Page(), false, out.Items)
		if err != nil {
			return err
		}
		size := 0
		for i := range page {
			page[i].Answer = u.Requests
			size += page[i].Size
		}
		items, bytes = items+len(page), bytes+size
		before := u.Predicted.Expected
		u.predict(Options{Strong: s.Strong}, size)
		u.reported(ctx, out.ConsumedCapacity)
		wire.ReportPage(ctx, out.Count, out.ScannedCount)
		s.Rate.Correct(0, u.Predicted.Expected-before)
		more := len(out.LastEvaluatedKey) > 0
		if !yield(Page{Items: page, More: more, LastKey: out.LastEvaluatedKey}) || !more {
			return nil
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
	}
}

// pageItems returns the number of items to request, so that an answer is about a segment's share of one
// second. It uses the sizes of the items that were read so far, and at first assumes one unit per item.
func pageItems(l *request.Limiter, segments, items, bytes int, strong bool) *int32 {
	if l == nil {
		return nil
	}
	unit := 4096.0 // bytes of an RCU
	if !strong {
		unit *= 2
	}
	share := l.Limit() / float64(segments) * unit // in bytes
	size := unit
	if items > 0 {
		size = float64(bytes) / float64(items)
	}
	return aws.Int32(int32(min(max(share/max(size, 1), 1), 1<<20)))
}

// A sample is drawn from at least minSegments places of a table, of at most maxSegments.
const minSegments, maxSegments = 16, 100_000

// Draw is a number of items to read, 0 for all, of a table that has about so many.
type Draw struct{ Number, Items int }

// Sample reads items of a table at random places, until yield returns false.
func (r *Reader) Sample(ctx context.Context, s Segment, d Draw, u *Usage, yield func(item.Image) bool) error {
	n, read, more := d.Number, 0, true
	scan := func(s Segment, most int) error {
		got := 0
		return r.Scan(ctx, s, u, func(p Page) bool {
			for i := range p.Items {
				if most > 0 && got == most {
					return false
				}
				got, read = got+1, read+1
				if more = yield(p.Items[i]); !more {
					return false
				}
			}
			return most == 0 || got < most
		})
	}
	if n == 0 || d.Items <= 2*n {
		s.Number, s.Of = 0, 1
		return scan(s, n)
	}
	share := (n + minSegments - 1) / minSegments
	s.Of, s.Limit = min(max(d.Items/share, minSegments), maxSegments), share
	for _, s.Number = range rand.Perm(s.Of) { // random places, until the sample is complete
		if read >= n || !more {
			break
		}
		if err := scan(s, min(share, n-read)); err != nil {
			return err
		}
	}
	return nil
}
