package read

import (
	"context"
	"iter"
	"slices"
	"sync"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/read/selection"
	"github.com/itemize/itemize/internal/request"
)

// Keys reports whether parts are items whose keys are known, and nothing else.
func Keys(parts []selection.Part) bool {
	return len(parts) > 0 &&
		!slices.ContainsFunc(parts, func(p selection.Part) bool { return p.Range.Kind != selection.One })
}

// Batches reads the items of many sets of known keys, each key once, with as few batches as they
// fit in, of which so many are under way at once. A set that fits one batch comes with one.
func (r *Reader) Batches(ctx context.Context, sets [][]selection.Part, parallel int, o Options, u *Usage) (*Early,
	error,
) {
	batches := r.pack(sets)
	answers := make([]map[item.Place]item.Image, len(batches))
	usages := make([]Usage, len(batches))
	err := request.AtMost(ctx, parallel, len(batches), func(ctx context.Context, i int) (err error) {
		answers[i], err = r.batchOf(ctx, batches[i], o, &usages[i])
		return err
	})
	found := map[item.Place]item.Image{}
	for i, answer := range answers {
		u.Join(&usages[i])
		for at, f := range answer {
			f.Answer = i
			found[at] = f
		}
	}
	return &Early{found: found, requested: map[item.Place]bool{}}, err
}

// Early are items that were read ahead.
type Early struct {
	found     map[item.Place]item.Image
	mu        sync.Mutex
	requested map[item.Place]bool
}

// Item returns an item, nil if it does not exist.
func (e *Early) Item(at item.Place) *item.Image {
	f, ok := e.take(at)
	if !ok {
		return nil
	}
	return &f
}

// take returns an item for one reader: what another one has been given is copied.
func (e *Early) take(at item.Place) (f item.Image, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if f, ok = e.found[at]; ok && e.requested[at] {
		f.Arguments = attr.CopyItem(f.Arguments)
	}
	e.requested[at] = true
	return f, ok
}

// pack arranges the keys of sets in batches.
func (r *Reader) pack(sets [][]selection.Part) [][]selection.Part {
	var batches [][]selection.Part
	var batch []selection.Part
	asked := map[item.Place]bool{}
	for _, set := range sets {
		var fresh []selection.Part
		for _, p := range set {
			if at := r.place(p, p.Range.Low); !asked[at] {
				asked[at] = true
				fresh = append(fresh, p)
			}
		}
		if len(batch) > 0 && len(batch)+len(fresh) > cost.MaxBatchGet {
			batches, batch = append(batches, batch), nil
		}
		for batch = append(batch, fresh...); len(batch) > cost.MaxBatchGet; batch = batch[cost.MaxBatchGet:] {
			batches = append(batches, batch[:cost.MaxBatchGet])
		}
	}
	if len(batch) > 0 {
		batches = append(batches, batch)
	}
	return batches
}

// Ahead is a reader of items with known keys that were read ahead. It answers the first read of each
// from memory, and later reads from DynamoDB.
type Ahead struct {
	*Reader
	Early *Early
	ended bool
}

// Ranges is described at [Source].
func (a *Ahead) Ranges(ctx context.Context, parts []selection.Part, o Options, u *Usage) []iter.Seq2[Page, error] {
	if a.ended || !Keys(parts) {
		return a.Reader.Ranges(ctx, parts, o, u)
	}
	a.ended = true
	var page Page
	for _, p := range parts {
		at := a.place(p, p.Range.Low)
		if slices.ContainsFunc(page.Items, func(o item.Image) bool { return o.Place == at }) {
			continue
		}
		if f, ok := a.Early.take(at); ok {
			page.Items = append(page.Items, f)
		}
	}
	slices.SortStableFunc(page.Items, func(x, y item.Image) int { return o.inOrder(x.SK, y.SK) })
	return []iter.Seq2[Page, error]{func(yield func(Page, error) bool) { yield(page, nil) }}
}
