package mapper

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/search"
	"github.com/itemize/itemize/internal/selection"
	"github.com/itemize/itemize/internal/write"
	"github.com/itemize/itemize/query"
)

// loadsAtOnce bounds the requests of a LoadMany that are under way at one time.
const loadsAtOnce = 16

// LoadMany reads many selections, each of one entity, and returns the entities in their order: nil
// only for a selection that includes the root where the entity is not there. Where the selections
// name items by their whole keys, these are read together, a hundred with each request; others are
// read as Load does, several at a time. What is asked for twice is read once, and comes as
// entities of their own. An error ends it all, and nothing is returned.
//
// It costs what the items cost by themselves: a batch rounds each item up by itself.
func (m *Mapper[T]) LoadMany(ctx context.Context, selections []query.Selection[T], options ...ReadOption) ([]*Entity[T], error) {
	settings := readSettingsOf(options)
	var t tally
	ctx, end := m.engine.observe(ctx, OpLoadMany)
	sels := make([]selection.Selection, len(selections))
	for i, s := range selections {
		if s == nil {
			sels[i].Err = m.engine.model.Errorf("LoadMany got nil in place of selection %d", i+1)
			continue
		}
		sels[i] = m.resolved(s)
	}
	entities := make([]*Entity[T], len(sels))
	err := m.engine.loadMany(ctx, sels, settings.Strong, &t, func(i int, decode func(v any) (*state, error)) error {
		e := &Entity[T]{}
		s, err := decode(&e.Value)
		if err != nil {
			return err
		}
		e.set(s)
		entities[i] = e
		return nil
	})
	end(&t, err)
	deliver(settings.Receipt, t.receipt())
	if err != nil {
		return nil, err
	}
	return entities, nil
}

// loadMany reads selections, and hands over how each is decoded, but those that are not there.
func (g *engine) loadMany(ctx context.Context, sels []selection.Selection, strong bool, t *tally, give func(i int, decode func(v any) (*state, error)) error) error {
	var errs []error
	first := make([]int, len(sels)) // the same selection before, or itself
	at := map[string]int{}
	for i, sel := range sels {
		switch {
		case sel.Err != nil:
			errs = append(errs, g.public(sel.Err))
		case !sel.Entity:
			errs = append(errs, g.model.Errorf("selection %d is of several entities: give all of %s to load one, or run a query", i+1, g.model.IdentityNames()))
		}
		name := fmt.Sprint(sel.Parts, sel.Identity)
		if _, ok := at[name]; !ok {
			at[name] = i
		}
		first[i] = at[name]
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	found, err := g.findMany(ctx, sels, func(i int) bool { return first[i] == i }, read.Options{Strong: strong}, t)
	if err != nil {
		return g.public(err)
	}
	given := make([]bool, len(sels))
	for i := range sels {
		f := found[first[i]]
		if given[first[i]] {
			f = f.Copy()
		}
		given[first[i]] = true
		err := give(i, func(v any) (*state, error) { return g.decodeFound(f, v) })
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
	}
	return nil
}

// decodeFound sets the fields of v from what was found, and returns the state.
func (g *engine) decodeFound(f *search.Found, v any) (*state, error) {
	s, err := g.search.Decode(f, v)
	if err != nil {
		return nil, g.public(err)
	}
	g.typical.sawAll(s)
	return &state{Snapshot: s, engine: g}, nil
}

// findMany reads the wanted ones of selections: first the keys that are known, all together, then
// each selection, of which the first may have been read ahead.
func (g *engine) findMany(ctx context.Context, sels []selection.Selection, wanted func(i int) bool, o read.Options, t *tally) ([]*search.Found, error) {
	began := g.model.Now()
	var keys [][]selection.Part
	for i, sel := range sels {
		if wanted(i) && read.Keys(sel.Parts) {
			keys = append(keys, sel.Parts)
		}
	}
	var u read.Usage
	early, err := g.reader.Batches(ctx, keys, loadsAtOnce, o, &u)
	t.AddRead(u.Requests, u.Predicted, u.Consumed)
	if err != nil {
		return nil, err
	}
	found := make([]*search.Found, len(sels))
	tallies := make([]write.Tally, len(sels))
	err = read.InParallel(ctx, len(sels), loadsAtOnce, func(ctx context.Context, i int) (err error) {
		if !wanted(i) {
			return nil
		}
		p := *g.protocol
		if read.Keys(sels[i].Parts) {
			p.Reader, p.Now = &read.Ahead{Reader: g.reader, Early: early}, func() time.Time { return began }
		}
		found[i], err = g.search.Find(ctx, &p, sels[i], o, &tallies[i])
		return err
	})
	t.AddAll(tallies)
	return found, err
}
