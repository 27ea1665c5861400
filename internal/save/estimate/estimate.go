// Package estimate predicts what an operation costs before it sends a request.
//
// An [Estimator] predicts the reads of loads, queries, saves and deletes. Where it knows the items, the
// prediction is exact: it runs the code that reads on those items, in memory ([read.Recalled]).
// Otherwise it returns bounds, with an expected value from the items that were read and written last
// ([Sizes]). The price of a write is part of its plan (package write); [Undeclared] adds the price of
// secondary indexes that the model does not declare.
package estimate

import (
	"context"
	"math"
	"slices"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/large/extern"
	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/read/search"
	"github.com/itemize/itemize/internal/read/selection"
	"github.com/itemize/itemize/internal/read/snapshot"
	"github.com/itemize/itemize/internal/save/change"
	"github.com/itemize/itemize/internal/save/staging"
	"github.com/itemize/itemize/internal/save/write"
)

// Estimator predicts the reads of one model's operations. It is safe for concurrent use.
type Estimator struct {
	Model    *model.Model
	Protocol *staging.Protocol
	// Fetcher reads external values. It is nil if the model has none.
	Fetcher    *extern.Fetcher
	Sizes      *Sizes
	Answers    Answers
	Undeclared Undeclared
}

// Reads is the cost of reads.
type Reads struct {
	// Requests is the number of calls to DynamoDB, RootReads how many of them read the root item after
	// a write, or before an addition, and RCU the price of all.
	Requests  int
	RootReads int
	RCU       cost.Units
	// Objects are the requests to S3.
	Objects cost.Objects
}

// Add returns the sum of two costs.
func (r Reads) Add(o Reads) Reads {
	return Reads{
		Requests: r.Requests + o.Requests, RootReads: r.RootReads + o.RootReads, RCU: r.RCU.Add(o.RCU),
		Objects: r.Objects.Add(o.Objects),
	}
}

// Observe records the sizes of the items that an operation wrote, and the indexes that it met.
func (e *Estimator) Observe(t *write.Tally) {
	e.Sizes.Written(t.Items)
	e.Undeclared.Observe(t.Indexes, t.Predicted)
}

// consistency returns the factor on the price of a strongly consistent read.
func consistency(strong bool) float64 {
	if strong {
		return 1
	}
	return 0.5
}

// maxRange is the most that the first answer to a range costs, strongly consistent, in RCU: a page, and
// the item that crosses its limit.
func maxRange() float64 { return cost.ReadUnits(cost.MaxPage + cost.MaxItem) }

// Root returns the price of a strongly consistent read of the root item, in RCU.
func (e *Estimator) Root() cost.Units {
	return cost.Units{
		Min: 1, Expected: cost.ReadUnits(e.Sizes.Item(e.Model.Root())), Max: cost.ReadUnits(cost.MaxItem),
		If: "the root is larger",
	}
}

// RootRead returns the cost of a strongly consistent read of the root item.
func (e *Estimator) RootRead() Reads { return Reads{Requests: 1, RootReads: 1, RCU: e.Root()} }

// Lookup returns the cost of a load by a unique value. noted reports that the note of the value is not read.
func (e *Estimator) Lookup(sel selection.Selection, strong, noted bool) Reads {
	return e.lookup(e.Guard(strong).Add(e.Selection(sel, strong)), noted)
}

// Owner returns the cost of a lookup for a write: strongly consistent reads of the guard and the root item, and of the
// note unless noted.
func (e *Estimator) Owner(noted bool) Reads { return e.lookup(e.Guard(true).Add(e.RootRead()), noted) }

func (e *Estimator) lookup(r Reads, noted bool) Reads {
	if !noted {
		r = r.Add(e.Guard(true))
	}
	// a miss, or a value that has changed its owner, is read again strongly consistent
	r.RCU.Max *= 4
	r.RCU = r.RCU.Add(cost.Units{If: "the value has no owner, or changes its owner"})
	return r
}

// Guard returns the cost of a read of the guard of a unique value.
func (e *Estimator) Guard(strong bool) Reads {
	units := cost.Units{Min: 1, Expected: 1, Max: 2, If: "the keys are long"}
	return Reads{Requests: 1, RCU: units.Times(consistency(strong))}
}

// RootAfter returns the cost of a strongly consistent read of the root item after a save: exact if it
// was loaded or is written.
func (e *Estimator) RootAfter(s *snapshot.Snapshot, plan *write.Plan) Reads {
	size := 0
	if root := s.Root(); root != nil {
		size = root.Size
	}
	plan.Items(func(r *write.Request, _ cost.Units) {
		if r.Root && r.Writes() && r.NewSize > 0 {
			size = r.NewSize
		}
	})
	if size == 0 {
		return e.RootRead()
	}
	return Reads{Requests: 1, RootReads: 1, RCU: cost.Exactly(cost.ReadUnits(size))}
}

// Locate returns the cost of finding the shard of a selection's entity. It is zero if the key names one shard.
func (e *Estimator) Locate(sel selection.Selection, strong bool) Reads {
	if len(sel.Elsewhere) == 0 {
		return Reads{}
	}
	n := float64(1 + len(sel.Elsewhere))
	root := e.Root().Times(consistency(strong))
	each := cost.Units{
		Min: n * consistency(strong), Expected: root.Expected + (n-1)*consistency(strong),
		Max: n * root.Max, If: root.If,
	}
	return Reads{Requests: 1, RCU: each}
}

// Selection returns the cost of loading a selection whose items are unknown: of a range, the cost of its first answer.
func (e *Estimator) Selection(sel selection.Selection, strong bool) Reads {
	var r Reads
	ones := 0
	for _, part := range sel.Parts {
		if part.Range.Kind == selection.None {
			continue
		}
		r.RCU = r.RCU.Add(e.part(part, sel.Whole).Times(consistency(strong)))
		if part.Range.Kind == selection.One {
			ones++
		} else {
			r.Requests++
		}
	}
	r.Requests += (ones + cost.MaxBatchGet - 1) / cost.MaxBatchGet
	return r.Add(e.Locate(sel, strong))
}

// part returns the price of a strongly consistent read of a part whose items are unknown, in one answer. whole reports
// whether it is part of a whole entity.
func (e *Estimator) part(part selection.Part, whole bool) cost.Units {
	u := cost.Units{Min: 1, Expected: 1, Max: maxRange(), If: "the range has more items"}
	if part.Range.Kind != selection.One {
		if whole {
			u.Expected = min(cost.ReadUnits(e.Sizes.Entity(part.Table)), u.Max)
		}
		return u
	}
	u.Max, u.If = cost.ReadUnits(cost.MaxItem), "the item is larger"
	if it, _ := e.Model.Schema.Match(part.Table, part.Range.Low); it != nil {
		u.Expected = cost.ReadUnits(e.Sizes.Item(it))
	}
	return u
}

// Load returns the cost of loading a selection of an entity whose items are known.
func (e *Estimator) Load(s *snapshot.Snapshot, sel selection.Selection, strong bool) (Reads, error) {
	r, err := e.predict(s.Images(), sel, func(p *staging.Protocol, of *staging.Entity, t *write.Tally) error {
		// As search.Engine.Load does: the two have to read the same way.
		_, err := p.Read(context.Background(), of, read.Options{Strong: strong}, t)
		return err
	})
	if err != nil || e.Fetcher == nil {
		return r, err
	}
	for _, it := range e.Model.Schema.Items {
		for _, stored := range s.Items[it.Index] {
			if !sel.Contains(stored.Table.Index, stored.SK) {
				continue
			}
			for i, a := range it.Attributes {
				p, external := extern.PointerOf(stored.Opaque[i])
				if !external || a.Value.Type.Lazy {
					continue
				}
				requests, rcu, objects := extern.Reading(e.Fetcher, p, stored.Place, a.Name)
				r = r.Add(Reads{Requests: requests, RCU: cost.Exactly(rcu), Objects: objects})
			}
		}
	}
	return r, nil
}

// predict runs the reading code on known items, in memory, and returns the cost.
func (e *Estimator) predict(images []item.Image, sel selection.Selection,
	reads func(*staging.Protocol, *staging.Entity, *write.Tally) error,
) (Reads, error) {
	of, err := search.EntityOf(e.Model, sel)
	if err != nil {
		return Reads{}, err
	}
	var tallies [2]write.Tally
	for i, trailing := range []bool{false, true} {
		protocol := *e.Protocol
		protocol.Reader = &read.Recalled{TableOf: e.Model.TableOf, Images: images, Trailing: trailing}
		if err := reads(&protocol, of, &tallies[i]); err != nil {
			return Reads{}, err
		}
	}
	least, most := &tallies[0], &tallies[1]
	r := Reads{RCU: least.RCU, Requests: least.Requests}
	if r.RCU.Max = most.RCU.Max; r.RCU.Max > least.RCU.Max {
		r.RCU.If = "an empty answer follows the last item"
	}
	return r, nil
}

// readRemains reads all items that a delete finds.
func readRemains(p *staging.Protocol, e *staging.Entity, t *write.Tally) error {
	_, err := p.Remains(context.Background(), e, t)
	return err
}

// Save returns the cost of the reads of a save:
//   - the root item, if the loaded items do not have the incarnation that new items need,
//   - external values that are copied,
//   - the old key of an entity that moves.
func (e *Estimator) Save(s *snapshot.Snapshot, d *change.Diff) (Reads, error) {
	var r Reads
	if d.NeedsRoot {
		r = e.RootRead()
	}
	if values := change.Values(d.Changes); len(values) > 0 {
		requests, rcu, objects := extern.Copying(values)
		r = r.Add(Reads{Requests: requests, RCU: cost.Exactly(rcu), Objects: objects})
	}
	if !d.Moves || len(d.Changes) == 0 {
		return r, nil
	}
	images := s.Images()
	incarnation, _ := s.Incarnation()
	for _, ch := range d.Changes {
		images = slices.DeleteFunc(images, func(f item.Image) bool { return f.Is(ch.Place) })
		if ch.Kind != write.Delete {
			images = append(images, item.Image{
				Place: ch.Place, Kind: ch.Item, Size: ch.NewSize,
				Header: item.Header{Incarnation: incarnation},
			})
		}
	}
	look, err := e.Remains(images, e.Model.Identity(d.Old))
	return r.Add(look), err
}

// Remains returns the cost of the query of a key that an entity had.
func (e *Estimator) Remains(images []item.Image, at []key.Value) (Reads, error) {
	sel := selection.Entity(e.Model.Schema, at)
	look, err := e.predict(images, sel, readRemains)
	added := cost.Units{Max: float64(len(sel.Parts)) * maxRange(), If: "another writer added items under the old key"}
	return look.Add(Reads{RCU: added}), err
}

// Delete returns the cost of the query that follows the delete of a loaded entity in one transaction.
func (e *Estimator) Delete(s *snapshot.Snapshot, sel selection.Selection) (Reads, error) {
	images := slices.DeleteFunc(s.Images(), func(f item.Image) bool {
		return slices.ContainsFunc(s.Items, func(all []*snapshot.Stored) bool {
			return slices.ContainsFunc(all, func(r *snapshot.Stored) bool { return f.Is(r.Place) })
		})
	})
	return e.predict(images, sel, readRemains)
}

// StagedDelete returns the cost of the reads of a staged delete of a loaded entity: all items before
// the root item is marked, all items afterwards, and the root item. If the root item is marked already,
// the first read is left out.
func (e *Estimator) StagedDelete(s *snapshot.Snapshot, sel selection.Selection, plan *write.Plan, marked bool) (r Reads,
	err error,
) {
	if !marked {
		if r, err = e.predict(s.Images(), sel, readRemains); err != nil {
			return r, err
		}
	}
	mark, images := plan.Steps[0].Requests[0], s.Images()
	for i := range images {
		if images[i].Is(mark.Place) {
			images[i].Size = mark.NewSize
		}
	}
	after, err := e.predict(images, sel, func(p *staging.Protocol, of *staging.Entity, t *write.Tally) error {
		if err := readRemains(p, of, t); err != nil {
			return err
		}
		_, err := p.ReadRoot(context.Background(), of, t)
		return err
	})
	return r.Add(after), err
}

// Query returns the requests of a search and their price, both of the first answer and of the reads of the table that
// follow it. Their bounds hold for any items. The expected numbers are those of recent queries of the same form, or
// without any, those for items of the expected sizes.
func (e *Estimator) Query(x *search.Search, r search.Request) (requests, rcu cost.Units) {
	first := x.FirstStage()
	for _, part := range x.Parts() {
		if part.Range.Kind == selection.None {
			continue
		}
		u, asked := e.queried(x, part), 1.0
		if !slices.Contains(first, part) || e.Model.Future(e.Model.TableOf(part)) {
			u.Min, u.Expected, asked = 0, 0, 0
		}
		if limit := x.Options().Limit; limit > 0 {
			u.Max = min(u.Max, cost.ReadUnits(limit*cost.MaxItem))
		}
		rcu = rcu.Add(u)
		requests = requests.Add(cost.Units{Min: asked, Expected: asked, Max: 1})
	}
	if x.ReadsTable() {
		requests, rcu = e.behind(x, r, requests, rcu)
	}
	rcu = rcu.Times(consistency(r.Strong))
	if recent := e.Answers.likely(x, r); recent.requests > 0 {
		requests.Expected = clamp(math.Round(recent.requests), requests)
		rcu.Expected = clamp(math.Round(4*consistency(r.Strong)*recent.rcu)/2, rcu)
	}
	return requests, rcu
}

// clamp returns the number that is nearest to n between the bounds.
func clamp(n float64, bounds cost.Units) float64 { return min(max(n, bounds.Min), bounds.Max) }

// queried returns the price of a strongly consistent query of a part. If it has a limit, it expects so many items.
func (e *Estimator) queried(x *search.Search, part selection.Part) cost.Units {
	u := e.part(part, false)
	if in := part.In; in != nil && x.Options().Limit > 0 {
		u.Expected = max(u.Expected, min(cost.ReadUnits(x.Options().Limit*e.Sizes.Item(in.Entry.Item)), u.Max))
	}
	return u
}

// behind adds the reads of the table that follow an answer of an index: of whole entities, of items that the index has
// in part, and of root items.
func (e *Estimator) behind(x *search.Search, r search.Request, requests, rcu cost.Units) (_, _ cost.Units) {
	const text = "the items that the index finds are read from the table"
	hits, expected := r.Limit, max(1, float64(r.Limit))
	if hits == 0 {
		hits = cost.MaxPage / leastEntry
	}
	read := cost.ReadUnits(e.Sizes.Item(e.Model.Root()))
	batches := math.Ceil(expected / cost.MaxBatchGet)
	if x.LoadsEntities() {
		read, batches = 0, expected
		for _, t := range e.Model.Tables {
			read += cost.ReadUnits(e.Sizes.Entity(t.Index))
		}
	}
	rcu = rcu.Add(cost.Units{Expected: expected * read, Max: float64(hits) * maxRange(), If: text})
	return requests.Add(cost.Units{Expected: batches, Max: float64(hits * len(e.Model.Tables)), If: text}), rcu
}

// leastEntry is the smallest size of an entry in an index, in bytes: two keys, each with a name and a
// value.
const leastEntry = 4
