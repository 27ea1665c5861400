package mapper

import (
	"context"
	"errors"
	"slices"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/patch"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/search"
	"github.com/itemize/itemize/internal/selection"
)

// While the number of shards changes (shards='400,200') a key may lead to several, and what is read or
// written by a key alone is looked for first.

// loadWhere is load of what may lie on several shards.
func (g *engine) loadWhere(ctx context.Context, sel selection.Selection, v any, o read.Options, t *tally) (*state, error) {
	found, err := g.search.FindWhere(ctx, []selection.Selection{sel}, o, &t.Tally, func(at []selection.Selection) ([]*search.Found, error) {
		f, err := g.search.Find(ctx, g.protocol, at[0], o, &t.Tally)
		return []*search.Found{f}, err
	})
	if err != nil {
		return nil, g.public(err)
	}
	return g.decodeFound(ctx, found[0], v, t)
}

// deleteWhere deletes a selection that may lie on several shards: where nothing of it was found it may
// have moved meanwhile, and is located again.
func (g *engine) deleteWhere(ctx context.Context, sel selection.Selection, settings writeSettings, t *tally) error {
	strong := read.Options{Strong: true}
	at, err := g.search.LocateOne(ctx, sel, strong, &t.Tally)
	for err == nil {
		written := len(t.Items)
		err = g.delete(ctx, at, nil, settings, t)
		if err != nil && !errors.Is(err, ErrNotFound) || len(t.Items) > written {
			return err
		}
		now, failed := g.search.LocateOne(ctx, sel, strong, &t.Tally)
		switch {
		case failed != nil:
			return g.public(failed)
		case g.model.Shard(now.Identity) == g.model.Shard(at.Identity):
			return err
		}
		at, err = now, nil
	}
	return g.public(err)
}

// locatePatch makes a patch's changes, of the entity where it lies.
func (g *engine) locatePatch(ctx context.Context, p entityPatch, settings writeSettings, t *tally) (*patching, error) {
	sel := p.selection(g)
	if sel.Err == nil && len(sel.Elsewhere) > 0 {
		if slices.ContainsFunc(p.changes, func(c patch.Change) bool { return c.Upsert }) {
			return nil, g.model.Errorf("Upsert may make an entity, which while the number of shards changes is checked on each: insert with Save, and patch what is there")
		}
		var err error
		if sel, err = g.search.LocateOne(ctx, sel, read.Options{Strong: true}, &t.Tally); err != nil {
			return nil, g.public(err)
		}
		if slices.ContainsFunc(p.changes, g.makes) { // what an entity that has moved meanwhile would leave behind
			p = p.with(patch.IfEntity)
		}
	}
	return g.patching(p, sel, settings)
}

// makes reports whether a change of a patch may make an item beside the root.
func (g *engine) makes(c patch.Change) bool {
	if c.Kind == patch.Add || c.Kind == patch.Put {
		return true
	}
	return c.Err == nil && c.Kind == patch.Set && c.Item != g.model.Root().Index && !g.model.Schema.Items[c.Item].Element()
}

// planLocate adds finding out on which shard an entity lies.
func (g *engine) planLocate(sel selection.Selection, strong bool, out *Plan) {
	if len(sel.Elsewhere) == 0 {
		return
	}
	n := float64(1 + len(sel.Elsewhere))
	root := g.rootRead().Times(consistency(strong))
	each := cost.Units{Min: n * consistency(strong), Expected: root.Expected + (n-1)*consistency(strong), Max: n * root.Max, If: root.If}
	out.RCU, out.requests = out.RCU.Add(each), out.requests+1
}

// unlocated refuses what a transaction would have to look for.
func (g *engine) unlocated() error {
	return g.model.Errorf("while the number of shards changes, its key does not tell where it lies, and a transaction does not look for it: load it, and give the transaction the *Entity")
}
