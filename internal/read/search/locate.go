package search

import (
	"context"
	"slices"

	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/read/selection"
	"github.com/itemize/itemize/internal/save/write"
)

// Locate returns selections of one entity each on the shards where the entities are. While the number
// of shards changes, a key may lead to several shards, and the roots on these are read first. An entity
// that is on none of them is placed where it would be written.
func (e *Engine) Locate(ctx context.Context, sels []selection.Selection, o read.Options,
	t *write.Tally,
) ([]selection.Selection, error) {
	out, _, err := e.locate(ctx, sels, o, t)
	return out, err
}

// locate is Locate. live reports which entities have a live root.
func (e *Engine) locate(ctx context.Context, sels []selection.Selection, o read.Options,
	t *write.Tally,
) (out []selection.Selection, live []bool, err error) {
	live = make([]bool, len(sels))
	if !slices.ContainsFunc(sels, func(s selection.Selection) bool { return len(s.Elsewhere) > 0 }) {
		return sels, live, nil
	}
	shards := make([][]selection.Part, len(sels))
	for i, s := range sels {
		if shards[i], err = e.shards(s); err != nil {
			return nil, nil, err
		}
	}
	var u read.Usage
	early, err := e.Reader.Batches(ctx, shards, findsAtOnce, o, &u)
	t.AddRead(u.Requests, u.Predicted, u.Consumed)
	if err != nil {
		return nil, nil, err
	}
	out = slices.Clone(sels)
	for i := range out {
		var at int
		if at, live[i] = bestShard(shards[i], func(p selection.Part) *item.Image {
			return early.Item(item.Place{Table: e.Model.TableOf(p), PK: p.PK, SK: p.Range.Low})
		}); at > 0 {
			out[i] = sels[i].On(e.Model.Schema, sels[i].Elsewhere[at-1])
		}
		out[i].Elsewhere = nil
	}
	return out, live, nil
}

// relocations bounds how often what moves from shard to shard is looked for again.
const relocations = 10

// FindWhere finds selections of one entity each on the shards where the entities are. An entity that is
// not found, or of which only a part is selected, may have moved in the meantime, and is located again.
func (e *Engine) FindWhere(ctx context.Context, sels []selection.Selection, o read.Options, t *write.Tally,
	find func([]selection.Selection) ([]*Found, error),
) ([]*Found, error) {
	at, err := e.Locate(ctx, sels, o, t)
	if err != nil {
		return nil, err
	}
	found, err := find(at)
	for range relocations {
		if err != nil {
			return nil, err
		}
		var reread []int
		var some []selection.Selection
		for i, f := range found {
			if f != nil && len(sels[i].Elsewhere) > 0 && !(f.entity.WithRoot && e.There(f)) {
				reread, some = append(reread, i), append(some, sels[i])
			}
		}
		if some, err = e.Locate(ctx, some, read.Options{Strong: true}, t); err != nil {
			return nil, err
		}
		moved, which := some[:0], reread[:0]
		for n, i := range reread {
			if e.Model.Shard(some[n].Identity) != e.Model.Shard(at[i].Identity) {
				moved, which = append(moved, some[n]), append(which, i)
				at[i] = some[n]
			}
		}
		if len(moved) == 0 {
			return found, nil
		}
		var now []*Found
		if now, err = find(moved); err == nil {
			for n, i := range which {
				found[i] = now[n]
			}
		}
	}
	return nil, e.Model.Errorf("it moved to another shard and back during the read: read again")
}

// shards returns the shards that the root of an entity may be on, first the one for a new entity. It is
// nil if there is only one.
func (e *Engine) shards(s selection.Selection) ([]selection.Part, error) {
	if len(s.Elsewhere) == 0 {
		return nil, nil
	}
	var parts []selection.Part
	for _, shard := range append([]key.Value{e.Model.Shard(s.Identity)}, s.Elsewhere...) {
		identity := slices.Clone(s.Identity)
		identity[len(identity)-1] = shard
		at, err := e.Model.RootPlace(identity)
		if err != nil {
			return nil, err
		}
		parts = append(parts, model.PartOf(at))
	}
	return parts, nil
}

// bestShard returns the index of the part that has the live root, or else of any part that has a root, or else 0.
func bestShard(parts []selection.Part, root func(selection.Part) *item.Image) (best int, live bool) {
	for i, p := range slices.Backward(parts) {
		switch f := root(p); {
		case f == nil:
		case f.Header.Live() && !f.Expired:
			return i, true
		default:
			best = i
		}
	}
	return best, false
}

// LocateOne is Locate of one selection. live reports that the entity has a live root.
func (e *Engine) LocateOne(ctx context.Context, sel selection.Selection, o read.Options,
	t *write.Tally,
) (at selection.Selection, live bool, err error) {
	all, lives, err := e.locate(ctx, []selection.Selection{sel}, o, t)
	if err != nil {
		return sel, false, err
	}
	return all[0], lives[0], nil
}
