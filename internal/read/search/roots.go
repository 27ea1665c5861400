package search

import (
	"context"
	"slices"

	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/read/selection"
	"github.com/itemize/itemize/internal/read/snapshot"
	"github.com/itemize/itemize/internal/save/write"
)

// headReader yields the roots of a flat model's entities, in the order of their keys.
type headReader struct {
	*Search
	found      int
	projection *item.Projection // what the query asks for, nil for all
}

// wanting computes the number of items to request for the remaining hits if other items are between
// them. It assumes the same share of other items as before, and after a stretch without a hit the same
// number of items again.
type wanting struct{ limit, hits, items int }

func (w *wanting) options(o read.Options) read.Options {
	if w.limit > 0 && o.Limit > 0 {
		o.Limit, o.Want = 0, w.want
	}
	return o
}

func (w *wanting) want() int {
	each := 1
	if w.hits > 0 {
		each = (w.items + w.hits - 1) / w.hits
	}
	return max((w.limit-w.hits)*each, w.items-w.hits, 1)
}

// roots searches for the roots alone.
func (x *Search) roots(ctx context.Context, yield func(Hit) bool, pageEnd func(read.Page) bool) error {
	r := &headReader{Search: x}
	if x.r.Projection != nil {
		r.projection = item.ProjectionOf(nil, x.needed(x.projected()))
	}
	w := &wanting{limit: x.r.Limit}
	for page, err := range read.Merged(ctx, x.Source, x.s.Parts, w.options(x.o), x.u) {
		if err != nil {
			return err
		}
		w.items += len(page.Items)
		for i := range page.Items {
			hit, err := r.head(ctx, &page.Items[i])
			switch {
			case err != nil:
				return err
			case hit == nil:
				continue
			}
			r.found++
			w.hits++
			if !yield(*hit) || r.found == r.r.Limit {
				return nil
			}
		}
		if !pageEnd(page) {
			return nil
		}
	}
	return nil
}

// head decodes a root, nil for another item, and for a root that is not live or not kept.
func (r *headReader) head(ctx context.Context, f *item.Image) (*Hit, error) {
	m := r.Model
	if !r.isHead(f) {
		return nil, nil
	}
	if err := r.fetchCurrent(ctx, f); err != nil || f.Expired {
		return nil, err
	}
	identity := m.IdentityOf(f, r.s.Identity)
	v := m.Codec.New()
	f.Projection = r.projection
	s, err := r.decodeItem(f, identity, v)
	if err != nil {
		return nil, err
	}
	kept, err := r.keeps(f, func(k *selection.Filter) (key.Value, error) { return m.Codec.KeyField(v, k.KeyField) })
	if err != nil || !kept {
		return nil, err
	}
	return &Hit{Value: v, Snapshot: s, At: f.Place, m: m, identity: identity}, nil
}

// decodeItem sets the fields of v from one item that is not an element, and returns its snapshot.
func (x *Search) decodeItem(f *item.Image, identity []key.Value, v any) (*snapshot.Snapshot, error) {
	sel := selection.Selection{Identity: identity}
	if x.r.Entities {
		sel = selection.Entity(x.Model.Schema, identity).Narrow(x.Model.Schema, f.Table.Index,
			selection.Range{Kind: selection.One, Low: f.SK})
	}
	s, err := snapshot.Loaded(x.Model, sel)
	if err == nil {
		err = s.Identify(v)
	}
	if err == nil {
		err = s.Decode(v, []item.Image{*f})
	}
	return s, err
}

// isHead reports whether an item is the live root of an entity that is searched for.
func (x *Search) isHead(f *item.Image) bool {
	m := x.Model
	return f.Kind != nil && m.IsRoot(f.Kind) && f.Header.Live() && !f.Expired && m.Agrees(f, x.s.Identity)
}

// loadEach searches for entities whose items are not all together: it meets their roots, and reads
// each of them as a load does, those of an answer together.
func (x *Search) loadEach(ctx context.Context, yield func(Hit) bool, pageEnd func(read.Page) bool) error {
	found := 0
	w := &wanting{limit: x.r.Limit}
	for page, err := range read.Merged(ctx, x.Source, x.s.Parts, w.options(x.o), x.u) {
		if err != nil {
			return err
		}
		w.items += len(page.Items)
		roots := slices.DeleteFunc(page.Items, func(f item.Image) bool { return !x.isHead(&f) })
		w.hits += len(roots)
		for len(roots) > 0 {
			n := min(len(roots), findsAtOnce)
			if x.r.Limit > 0 {
				n = min(n, x.r.Limit-found)
			}
			hits, err := x.whole(ctx, roots[:n])
			if err != nil {
				return err
			}
			roots = roots[n:]
			for _, h := range hits {
				found++
				if !yield(h) || found == x.r.Limit {
					return nil
				}
			}
		}
		if !pageEnd(page) {
			return nil
		}
	}
	return nil
}

// whole reads the entities of some roots; one that no longer exists is left out.
func (x *Search) whole(ctx context.Context, roots []item.Image) ([]Hit, error) {
	m := x.Model
	var t write.Tally
	defer func() { x.add(&t) }()
	sels := make([]selection.Selection, len(roots))
	for i := range roots {
		sels[i] = selection.Entity(m.Schema, m.IdentityOf(&roots[i], x.s.Identity))
		if sels[i].Err != nil {
			return nil, sels[i].Err
		}
	}
	found, err := x.FindMany(ctx, sels, read.Options{Strong: x.o.Strong}, &t)
	if err != nil {
		return nil, err
	}
	var hits []Hit
	for i, f := range found {
		if !f.Live() {
			continue
		}
		v := m.Codec.New()
		s, err := x.Engine.Decode(ctx, f, v, &t)
		if err != nil {
			return nil, err
		}
		kept, err := x.keeps(&roots[i],
			func(k *selection.Filter) (key.Value, error) { return m.Codec.KeyField(v, k.KeyField) })
		if err != nil {
			return nil, err
		}
		if kept {
			hits = append(hits, Hit{Value: v, Snapshot: s, At: roots[i].Place, m: m, identity: sels[i].Identity})
		}
	}
	return hits, nil
}
