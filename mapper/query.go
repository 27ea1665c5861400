package mapper

import (
	"context"
	"errors"
	"iter"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/search"
	"github.com/itemize/itemize/internal/selection"
	"github.com/itemize/itemize/query"
)

// The inside of queries, as package query calls it.

// requestOf returns a query as the search takes it.
func requestOf(r query.Request) search.Request {
	return search.Request{
		Selection: r.Spec, Elem: r.Elem, Strong: r.Strong, Reverse: r.Reverse, Limit: r.Limit,
		Filter: r.Filter, Projection: r.Projection, KeysOnly: r.KeysOnly, After: string(r.After),
	}
}

// Run yields what a request asks for.
func (g *engine) Run(ctx context.Context, r query.Request, u *read.Usage) iter.Seq2[query.Hit, error] {
	return func(yield func(query.Hit, error) bool) {
		ctx, end := g.observe(ctx, OpQuery)
		x, err := g.search.New(requestOf(r), u)
		defer func() { end(tallyOf(u), err) }()
		if err == nil {
			err = x.Hits(ctx, func(h search.Hit) bool { return yield(hitOf(h), nil) })
		}
		if err != nil {
			yield(query.Hit{}, err)
		}
	}
}

func hitOf(h search.Hit) query.Hit {
	k := keyOf(h.At)
	out := query.Hit{Value: h.Value, Table: k.Table, Partition: k.Partition, Sort: k.Sort}
	if h.Item != nil {
		out.Field = h.Item.Name
	}
	return out
}

// Page returns the hits of one page, and the cursor behind them.
func (g *engine) Page(ctx context.Context, r query.Request, u *read.Usage) ([]query.Hit, query.Cursor, error) {
	ctx, end := g.observe(ctx, OpQuery)
	hits, next, err := g.page(ctx, r, u)
	end(tallyOf(u), err)
	return hits, next, err
}

func (g *engine) page(ctx context.Context, r query.Request, u *read.Usage) ([]query.Hit, query.Cursor, error) {
	x, err := g.search.New(requestOf(r), u)
	if err != nil {
		return nil, "", err
	}
	if err := x.Single("Page"); err != nil {
		return nil, "", err
	}
	found, next, err := x.Page(ctx)
	hits := make([]query.Hit, len(found))
	for i, h := range found {
		hits[i] = hitOf(h)
	}
	return hits, query.Cursor(next), err
}

// Input returns the request that a search begins with.
func (g *engine) Input(r query.Request) (*dynamodb.QueryInput, error) {
	x, err := g.search.New(requestOf(r), &read.Usage{})
	if err != nil {
		return nil, err
	}
	if err := x.Single("Input"); err != nil {
		return nil, err
	}
	if x.Parts()[0].Range.Kind == selection.None {
		return nil, errors.New("the range ends before it begins, so that nothing is asked")
	}
	return g.search.Reader.Input(x.Parts()[0], x.Options()), nil
}

// Done delivers the receipt of a query.
func (g *engine) Done(options []query.ReadOption, u *read.Usage) {
	deliver(readSettingsOf(options).Receipt, tallyOf(u).receipt())
}
