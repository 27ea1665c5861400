package mapper

import (
	"context"
	"slices"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/patch"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/selection"
)

// While the number of shards changes (shards='400,200') a key may lead to several, and what is read or
// written by a key alone is looked for first.

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
	}
	return g.patching(p, sel, settings)
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
