package protocol

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/request/wire"
	"github.com/itemize/itemize/internal/save/bulk"
	"github.com/itemize/itemize/internal/save/write"
)

// claimAll puts the claims of entities that have no root item, and returns the stored ones.
func (m *Mover) claimAll(ctx context.Context, all []*Entity, t *write.Tally) ([]*Entity, error) {
	items, requests := make([]*bulk.Item, len(all)), make([]*write.Request, len(all))
	for i, e := range all {
		requests[i] = e.claimRequest(nil, item.NewToken())
		items[i] = m.itemOf(requests[i])
	}
	results, _, err := m.insert(ctx, items, t)
	var claimed []*Entity
	for i, e := range all {
		if results[i] == bulk.Written {
			e.claimed(requests[i])
			claimed = append(claimed, e)
		} // else it begins again, and takes over what may have been put
	}
	return claimed, err
}

// itemOf is the put of something new as an item of a batch.
func (m *Mover) itemOf(r *write.Request) *bulk.Item {
	units, _ := m.units(r, nil)
	return &bulk.Item{Place: r.Place, Attributes: stored(r), Size: r.NewSize, Units: cost.Exactly(units)}
}

// stored returns the item that a put stores.
func stored(r *write.Request) item.Attributes {
	a := maps.Clone(r.Put)
	r.Reserved.AssignVersion(r.Token).Into(a)
	return a
}

// claimed notes the claim that still exists.
func (e *Entity) claimed(r *write.Request) {
	e.current, e.token, e.incarnation, e.shared = stored(r), r.Token, e.m.Layout.Reserved.Header(r.Put).Incarnation,
		false
	e.left, e.sum, e.asked, e.lost, e.claims = nil, [item.TokenSize]byte{}, false, false,
		append(e.claims, e.incarnation)
	for _, it := range e.parts.Items[1:] {
		e.left = append(e.left, &part{Item: it, place: e.m.place(it)})
	}
}

// claimRequest returns the put of a claim, which has its own version. It requires the item that was
// read, even if no item exists by now. The program whose claim is taken over may have moved the entity,
// and another may have deleted it.
func (e *Entity) claimRequest(instead item.Attributes, incarnation types.AttributeValue) *write.Request {
	r := e.rootRequest(item.Attributes{})
	st := item.NewStage(item.Migrating, e.m.Now())
	st.Took, st.Origin = e.took, e.m.origin()
	e.m.Layout.Reserved.AssignStage(st).Into(r.Put)
	e.m.Layout.Reserved.AssignIncarnation(incarnation).Into(r.Put)
	over(r, instead)
	if r.Expect.Instead != nil && r.Expect.Instead.Header.Version != nil {
		r.Expect, r.New = write.Expect{Version: r.Expect.Instead.Header.Version}, false
	}
	return e.sized(r)
}

// rootRequest is the put of a root, which holds attributes.
func (e *Entity) rootRequest(a item.Attributes) *write.Request {
	put := maps.Clone(a)
	maps.Copy(put, e.at.Key())
	return &write.Request{
		Kind: write.Put, Place: e.at, Label: e.m.Layout.Model, Field: e.m.Layout.Root.Name,
		Root: true, New: true, Reserved: e.m.Layout.Reserved, Put: put,
	}
}

// over allows a put to replace the item that was found, or requires that there is none if that is
// empty.
func over(r *write.Request, instead item.Attributes) {
	r.Expect = write.Expect{Absent: true}
	if len(instead) > 0 {
		r.Expect.Instead = r.Reserved.HiddenOf(instead)
		r.OldSize = r.Expect.Instead.Size
	}
}

func (e *Entity) sized(r *write.Request) *write.Request {
	r.NewSize = r.WholeSize()
	r.Prepare()
	return r
}

// putAll puts the parts of entities whose claims exist, in batches. Parts that were not put in a batch
// are put one by one later.
func (m *Mover) putAll(ctx context.Context, all []*Entity, t *write.Tally) error {
	var items []*bulk.Item
	for _, e := range all {
		for _, p := range e.left {
			items = append(items, m.itemOf(e.partRequest(p)))
		}
	}
	results, unsure, err := m.insert(ctx, items, t)
	n := 0
	for _, e := range all {
		var left []*part
		for _, p := range e.left {
			e.lost = e.lost || unsure[n]
			if results[n] != bulk.Written {
				left = append(left, p)
			} else {
				add(&e.sum, m.Layout.Reserved.Header(items[n].Attributes).Version)
			}
			n++
		}
		e.left = left
	}
	return err
}

// add adds a version to a sum, which shows whether any of several items was written since.
func add(sum *[item.TokenSize]byte, version types.AttributeValue) {
	if v, ok := version.(*types.AttributeValueMemberB); ok {
		for i := range min(len(v.Value), len(sum)) {
			sum[i] ^= v.Value[i]
		}
	}
}

func (e *Entity) partRequest(p *part) *write.Request {
	put := maps.Clone(p.Attributes)
	maps.Copy(put, p.place.Key())
	e.m.Layout.Reserved.AssignIncarnation(e.incarnation).Into(put)
	r := &write.Request{
		Kind: write.Put, Place: p.place, Label: e.m.Layout.Model, Field: p.Kind.Name, New: true,
		Reserved: e.m.Layout.Reserved,
		Put:      put,
	}
	over(r, p.instead)
	return e.sized(r)
}

// insert sends INSERT statements, each a single time. Written are the items that are certainly stored,
// and InTheWay those that found another item. Again are those that are not stored, or, if it is unsure,
// may be stored.
func (m *Mover) insert(ctx context.Context, items []*bulk.Item, t *write.Tally) (results []bulk.Result, unsure []bool,
	err error,
) {
	s := &bulk.Inserts{Client: m.Client, Label: m.Layout.Model, Options: []func(*dynamodb.Options){wire.Once}}
	results, unsure = make([]bulk.Result, len(items)), make([]bool, len(items))
	batches := m.batches(items)
	var mu sync.Mutex
	return results, unsure, request.AtOnce(ctx, len(batches), func(ctx context.Context, i int) error {
		batch := items[batches[i][0]:batches[i][1]]
		out := results[batches[i][0]:batches[i][1]]
		units := 0.0
		for _, b := range batch {
			units += b.Units.Min
		}
		if err := m.Rate.Take(ctx, units); err != nil {
			return err
		}
		var sent write.Tally
		a, err := s.Send(ctx, batch, &sent)
		mu.Lock()
		defer mu.Unlock()
		t.AddAll([]write.Tally{sent})
		if err != nil {
			for n := range out {
				out[n], unsure[batches[i][0]+n] = bulk.Again, true
			}
			var api smithy.APIError
			if errors.As(err, &api) || ctx.Err() != nil {
				return err
			}
			return nil // the outcome is unknown: each is sent by itself
		}
		copy(out, a.Results)
		m.Rate.Correct(units, sent.ConsumedWCU)
		for n, b := range batch {
			unsure[batches[i][0]+n] = a.Unsure && a.Results[n] == bulk.Again
			if a.Results[n] == bulk.Written {
				t.WCU = t.WCU.Add(cost.Exactly(b.Units.Min))
			}
			if a.Results[n] == bulk.Refused && err == nil {
				err = a.Errs[n]
			}
		}
		return err
	})
}

// batches divides items into calls of 25 items, of 4 MB, and of the number that the rate allows at
// once.
func (m *Mover) batches(items []*bulk.Item) [][2]int {
	var all [][2]int
	first, bytes, units := 0, 0, 0.0
	for i, it := range items {
		if i-first == bulk.BatchSize || i > first &&
			(bytes+it.Size > maxBatch || units+it.Units.Min > m.Rate.Largest()) {
			all, first, bytes, units = append(all, [2]int{first, i}), i, 0, 0
		}
		bytes, units = bytes+it.Size, units+it.Units.Min
	}
	if first < len(items) {
		all = append(all, [2]int{first, len(items)})
	}
	return all
}

const maxBatch = 4 << 20

// put puts a part by itself, or records the doubt. A stored part of its own incarnation was put
// earlier. Another one is replaced if it is dead: if the claim, read after it, still exists.
func (e *Entity) put(ctx context.Context, p *part) error {
	for range tries {
		r := e.partRequest(p)
		o := e.m.once(ctx, r, p.instead, &e.t)
		switch {
		case o.OK():
			add(&e.sum, r.Token)
			return nil
		case o.State == write.Unknown:
			e.lost = true
			return nil
		case o.State == write.Failed:
			return o.Err
		}
		stored := o.Stored[0]
		h := e.m.Layout.Reserved.Header(stored)
		switch {
		case attr.Same(h.Incarnation, e.incarnation) && h.Incarnation != nil:
			add(&e.sum, h.Version)
			return nil
		case len(stored) == 0:
			p.instead = nil
		case h.Incarnation == nil:
			return &Conflict{p.place, "another program wrote an item with the key of this entity's item: remove " +
				"it, or add it to the entity, and move it again"}
		default:
			root, err := e.m.readRoot(ctx, e.at, &e.t)
			if err != nil {
				return err
			}
			if !attr.Same(root.Version, e.token) {
				return errRestart
			}
			p.instead = stored
		}
	}
	return errRestart
}

// claim puts a claim by itself. Each attempt is sent once, with a version and an incarnation of its own.
func (e *Entity) claim(ctx context.Context, instead item.Attributes) error {
	return e.claimAs(ctx, instead, item.NewToken)
}

// claimAs puts a claim of some incarnation.
func (e *Entity) claimAs(ctx context.Context, instead item.Attributes, incarnation func() types.AttributeValue) error {
	var lost []types.AttributeValue // versions of claims that may have been put
	for try := 0; try < tries; try++ {
		r := e.claimRequest(instead, incarnation())
		o := e.m.once(ctx, r, instead, &e.t)
		switch o.State {
		case write.Written:
			e.claimed(r)
			return nil
		case write.Failed:
			return o.Err
		case write.Unknown:
			lost = append(lost, r.Token)
			if err := request.Pause(ctx, try); err != nil {
				return err
			}
			continue
		}
		h := e.m.Layout.Reserved.Header(o.Stored[0])
		if h.Version != nil && h.ReadStage().State == item.Migrating &&
			slices.ContainsFunc(lost, func(v types.AttributeValue) bool { return attr.Same(v, h.Version) }) {
			r.Token, r.Put = h.Version, o.Stored[0]
			e.took = h.ReadStage().Took
			e.claimed(r)
			return nil
		}
		return errRestart
	}
	return errRestart
}
