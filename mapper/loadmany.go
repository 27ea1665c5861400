package mapper

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/read/search"
	"github.com/itemize/itemize/internal/read/selection"
	"github.com/itemize/itemize/internal/save/change"
	"github.com/itemize/itemize/query"
)

// LoadMany reads many selections, each of one entity, and returns the entities in the same order. An
// entity is nil if its selection includes the root item and the entity does not exist. Selections of
// items by their whole keys are read together, up to 100 in a request. Others are read as by Load,
// several at a time. A selection that occurs twice is read once, and returned as two entities. If an
// error occurs, nothing is returned.
//
// A batch rounds each item up by itself, so it costs the same as single reads.
func (m *Mapper[T]) LoadMany(ctx context.Context, selections []query.Selection[T], options ...ReadOption) ([]*Entity[T],
	error,
) {
	settings := readSettingsOf(options)
	var t draft
	ctx, end := m.get().observe(ctx, "LoadMany")
	sels := make([]selection.Selection, len(selections))
	for i, s := range selections {
		if settings.Tag != nil {
			sels[i].Err = m.get().model.Errorf("LoadMany does not compare tags: Load the entity with IfTag")
			continue
		}
		if s == nil {
			sels[i].Err = m.get().model.Errorf("the selection %d of LoadMany is nil: use the mapper's Key", i+1)
			continue
		}
		if sels[i] = m.resolved(s); settings.Root {
			sels[i] = m.get().search.WithRoot(sels[i])
		}
	}
	entities := make([]*Entity[T], len(sels))
	err := m.get().loadMany(ctx, sels, settings, &t, func(i int, decode func(v any) (*state, error)) error {
		e := &Entity[T]{}
		s, err := decode(&e.Value)
		if err != nil {
			return err
		}
		e.set(s)
		entities[i] = e
		return nil
	})
	err = m.get().public(err)
	end(&t, err)
	deliver(settings, &t)
	if err != nil {
		return nil, err
	}
	return entities, nil
}

// loadMany reads selections and passes on how each one is decoded, except missing entities.
func (g *engine) loadMany(ctx context.Context, sels []selection.Selection, s search.Settings, t *draft,
	give func(i int, decode func(v any) (*state, error)) error,
) error {
	var errs []error
	var once []selection.Selection  // each selection once
	which := make([]int, len(sels)) // the index in once, -1 for a lookup
	at := map[string]int{}
	for i, sel := range sels {
		switch {
		case sel.Lookup != nil && sel.Fault() == nil:
			which[i] = -1
			continue
		case sel.Err != nil:
			errs = append(errs, sel.Err)
		case !sel.Entity:
			errs = append(errs,
				g.model.Errorf("selection %d is of several entities: add values for all of %s to load one, or run "+
					"a query", i+1,
					g.model.IdentityNames()))
		}
		name := fmt.Sprint(sel.Parts, sel.Identity, sel.Whole)
		if _, ok := at[name]; !ok {
			at[name] = len(once)
			once = append(once, sel)
		}
		which[i] = at[name]
	}
	if len(errs) > 0 {
		return change.Faults(errs)
	}
	o := read.Options{Strong: s.Strong}
	found, err := g.search.FindWhere(ctx, once, o, &t.Tally.Tally,
		func(at []selection.Selection) ([]*search.Found, error) {
			if s.SkipMissing && g.model.Schema.Periods != nil {
				return g.findThere(ctx, at, o, t)
			}
			return g.findMany(ctx, at, o, t)
		})
	if err != nil {
		return err
	}
	owners, err := g.search.FindOwners(ctx, sels, o, &t.Tally.Tally)
	if err != nil {
		return err
	}
	uses := make([]int, len(once))
	for _, n := range which {
		if n >= 0 {
			uses[n]++
		}
	}
	for i, n := range which {
		if n < 0 {
			if owners[i] == nil {
				continue
			}
			err := give(i, func(v any) (*state, error) { return g.decodeFound(ctx, owners[i], v, t) })
			if err != nil && !errors.Is(err, ErrNotFound) {
				return err
			}
			continue
		}
		f := found[n]
		if f == nil {
			continue // the table is missing
		}
		if uses[n]--; uses[n] > 0 {
			f = f.Copy() // decoding uses up the original
		}
		err := give(i, func(v any) (*state, error) { return g.decodeFound(ctx, f, v, t) })
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
	}
	return nil
}

// findThere is findMany for selections in tables that may be missing: the result is nil for those.
// Selections of one period are read together.
func (g *engine) findThere(ctx context.Context, sels []selection.Selection, o read.Options, t *draft) ([]*search.Found,
	error,
) {
	of := map[string][]int{}
	for i, sel := range sels {
		period := sel.Parts[0].Period
		of[period] = append(of[period], i)
	}
	found := make([]*search.Found, len(sels))
	for _, period := range slices.Sorted(maps.Keys(of)) {
		some := make([]selection.Selection, len(of[period]))
		for n, i := range of[period] {
			some[n] = sels[i]
		}
		all, err := g.findMany(ctx, some, o, t)
		if t.skips(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for n, i := range of[period] {
			found[i] = all[n]
		}
	}
	return found, nil
}

// decodeFound sets the fields of v from the found items, and returns the state.
func (g *engine) decodeFound(ctx context.Context, f *search.Found, v any, t *draft) (*state, error) {
	s, err := g.search.Decode(ctx, f, v, &t.Tally.Tally)
	if err != nil {
		return nil, err
	}
	g.env.Estimate.Sizes.Loaded(s)
	return g.newState(s), nil
}
