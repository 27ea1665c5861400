package mapper

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/internal/key"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/schema"
	"github.com/itemize/itemize/internal/selection"
	"github.com/itemize/itemize/query"
)

// The inside of queries: a search yields hits in the order of their keys, and knows at
// each where it would go on.

// hit is an element or entity that a search has found.
type hit struct {
	value any
	item  *schema.Item // nil for an entity
	at    place
	// next is where the search goes on behind it.
	next position
}

// position is a place in a range.
type position struct {
	// Start is the sort key to read on from, itself excluded.
	Start key.Scalar `json:"s"`
	// After is the last entity that was yielded, of a flat model: entities up to it that
	// are met again are passed over.
	After string `json:"a,omitempty"`
}

// search is a request under way.
type search struct {
	c  *core
	r  query.Request
	s  selection.Selection
	o  read.Options
	u  *read.Usage
	at *position // where it begins, nil for the beginning
}

func (c *core) newSearch(r query.Request, u *read.Usage) (*search, error) {
	x := &search{c: c, r: r, s: r.Spec.Resolve(c.schema), u: u, o: read.Options{Strong: r.Strong, Reverse: r.Reverse}}
	if x.s.Err != nil {
		return nil, x.s.Err
	}
	if err := x.check(); err != nil {
		return nil, err
	}
	var err error
	if x.o.Expr, err = c.expressionOf(r, x.s); err != nil {
		return nil, err
	}
	exact := !slices.ContainsFunc(x.s.Parts, func(p selection.Part) bool { return p.Keep != nil })
	if r.Filter == nil && exact && (!x.flat() || len(c.schema.Items) == 1) {
		x.o.Limit = r.Limit
	}
	if r.After == "" {
		return x, nil
	}
	if err := x.single("After"); err != nil {
		return nil, err
	}
	p, err := c.openCursor(x, r.After)
	if err != nil {
		return nil, err
	}
	x.at, x.o.Start = &p, &p.Start
	return x, nil
}

// flat reports whether the search is for entities of a flat model.
func (x *search) flat() bool { return x.r.Elem == x.c.schema.Type.Go }

// check refuses a selection that does not hold what is asked for, or more than that.
func (x *search) check() error {
	c := x.c
	if !x.flat() {
		return c.onlyElements(x.s, x.r.Elem)
	}
	if !c.schema.Flat {
		return fmt.Errorf("%s: a query over the model itself needs a flat model, whose partitions hold many entities: use Load", c.schema.Label())
	}
	if x.r.Filter != nil && len(c.schema.Items) > 1 {
		return fmt.Errorf("%s: a filter looks at the single item, and an entity has several: filter what the query yields", c.schema.Label())
	}
	root := false
	for _, p := range x.s.Parts {
		if p.Table != 0 {
			return fmt.Errorf("%s: the entities have items in several tables, which one query cannot read: Load them one by one", c.schema.Label())
		}
		root = root || p.Range.Kind == selection.None
	}
	if !root && !c.canHold(x.s, c.schema.Root) {
		return fmt.Errorf("%s: the selection cannot hold %s, the root, without which no entity is found: select more", c.schema.Label(), c.schema.Root.Name)
	}
	return nil
}

// single refuses what needs one range to go on in.
func (x *search) single(what string) error {
	if len(x.s.Parts) != 1 {
		return fmt.Errorf("%s: %s needs a query of one range, and this one has %d: use All", x.c.schema.Label(), what, len(x.s.Parts))
	}
	return nil
}

// hits runs the search. With each hit it calls yield, which returns false to end it;
// pageEnd is called at the end of each answer, and may end it too.
func (x *search) hits(ctx context.Context, yield func(hit) bool, pageEnd func(read.Page) bool) error {
	if x.flat() {
		return x.entities(ctx, yield, pageEnd)
	}
	return x.elements(ctx, yield, pageEnd)
}

// Run yields what a request asks for.
func (c *core) Run(ctx context.Context, r query.Request, u *read.Usage) iter.Seq2[query.Hit, error] {
	return func(yield func(query.Hit, error) bool) {
		ctx, end := c.observe(ctx, OpQuery)
		x, err := c.newSearch(r, u)
		defer func() { end(tallyOf(u), err) }()
		if err == nil {
			err = x.hits(ctx, func(h hit) bool { return yield(c.publicHit(h), nil) }, func(read.Page) bool { return true })
		}
		if err != nil {
			yield(query.Hit{}, err)
		}
	}
}

func (c *core) publicHit(h hit) query.Hit {
	k := c.public(h.at)
	out := query.Hit{Value: h.value, Table: k.Table, Partition: k.Partition, Sort: k.Sort}
	if h.item != nil {
		out.Field = fieldOf(h.item)
	}
	return out
}

// Page returns the hits of one page, and the cursor behind them.
func (c *core) Page(ctx context.Context, r query.Request, u *read.Usage) ([]query.Hit, query.Cursor, error) {
	ctx, end := c.observe(ctx, OpQuery)
	hits, next, err := c.page(ctx, r, u)
	end(tallyOf(u), err)
	return hits, next, err
}

// tallyOf returns what a query took.
func tallyOf(u *read.Usage) *tally {
	var t tally
	t.read(u)
	return &t
}

func (c *core) page(ctx context.Context, r query.Request, u *read.Usage) ([]query.Hit, query.Cursor, error) {
	x, err := c.newSearch(r, u)
	if err != nil {
		return nil, "", err
	}
	if err := x.single("Page"); err != nil {
		return nil, "", err
	}
	var out []query.Hit
	var next *position
	full := false
	err = x.hits(ctx, func(h hit) bool {
		out = append(out, c.publicHit(h))
		next, full = &h.next, len(out) == r.Limit
		return !full
	}, func(p read.Page) bool {
		switch {
		case !p.More:
			next = nil
		case r.Limit == 0 && (!x.flat() || len(out) > 0):
			if !x.flat() {
				next = &position{Start: p.Last}
			}
			return false
		}
		return true
	})
	if err != nil || next == nil {
		return out, "", err
	}
	return out, c.sealCursor(x, *next), nil
}

// Input returns the request that a search begins with.
func (c *core) Input(r query.Request) (*dynamodb.QueryInput, error) {
	x, err := c.newSearch(r, &read.Usage{})
	if err != nil {
		return nil, err
	}
	if err := x.single("Input"); err != nil {
		return nil, err
	}
	if x.s.Parts[0].Range.Kind == selection.None {
		return nil, errors.New("the range ends before it begins, so that nothing is asked")
	}
	return c.reader.Input(x.s.Parts[0], x.o), nil
}

// Done delivers the receipt of a query.
func (c *core) Done(options []query.ReadOption, u *read.Usage) {
	var t tally
	t.read(u)
	deliver(readSettingsOf(options).Receipt, t.receipt())
}

// add adds what an inner read took.
func (x *search) add(t *tally) {
	x.u.Requests += t.requests
	x.u.Predicted = x.u.Predicted.Add(t.rcu)
	x.u.Consumed += t.consumed.RCU
}
