package read

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/read/selection"
)

// Recalled is a Source of items that were read before. It sends nothing, and counts what a
// [Reader] would send, and what that would cost, if they are still those: a load that runs
// on it is a load planned. Of the images it needs the place, the header, the kind and the
// size.
type Recalled struct {
	// TableOf returns the table that a part is in.
	TableOf func(selection.Part) *item.Table
	Images  []item.Image
	// Trailing has an empty answer follow a range whose last item takes an answer to 1 MB.
	// Whether one does is not documented.
	Trailing bool
}

// maxBatch is the maximum size of the answer of a BatchGetItem, in bytes.
const maxBatch = 16 << 20

// Ranges yields the items as a Reader would. Of the options it knows Strong and Reverse.
func (r *Recalled) Ranges(_ context.Context, parts []selection.Part, o Options, u *Usage) []iter.Seq2[Page, error] {
	var ones []selection.Part
	var ranges []iter.Seq2[Page, error]
	for _, p := range parts {
		switch p.Range.Kind {
		case selection.None:
		case selection.One:
			ones = append(ones, p)
		default:
			ranges = append(ranges, func(yield func(Page, error) bool) { r.query(p, o, u, yield) })
		}
	}
	if len(ones) == 0 {
		return ranges
	}
	single := func(yield func(Page, error) bool) { r.ones(ones, o, u, yield) }
	return append([]iter.Seq2[Page, error]{single}, ranges...)
}

// One returns one item, nil if it does not exist, as a GetItem would.
func (r *Recalled) One(_ context.Context, at item.Place, o Options, u *Usage) (*item.Image, error) {
	f, size := r.at(at)
	u.Requests++
	u.predict(o, size)
	return f, nil
}

func (r *Recalled) at(at item.Place) (f *item.Image, size int) {
	for _, f := range r.Images {
		if f.Is(at) {
			return &f, f.Size
		}
	}
	return nil, 0
}

// inOrder compares sort keys in the order in which they are read.
func (o *Options) inOrder(a, b key.Scalar) int {
	if o.Reverse {
		return key.Compare(b, a)
	}
	return key.Compare(a, b)
}

// ones yields single items: as GetItem would, or BatchGetItem.
func (r *Recalled) ones(parts []selection.Part, o Options, u *Usage, yield func(Page, error) bool) {
	parts = slices.Clone(parts)
	slices.SortStableFunc(parts, func(a, b selection.Part) int {
		return cmp.Or(o.inOrder(a.Range.Low, b.Range.Low), cmp.Compare(a.Table, b.Table))
	})
	single := len(parts) == 1
	for len(parts) > 0 {
		n := min(len(parts), cost.MaxBatchGet)
		page := r.batch(parts[:n], o, u)
		parts = parts[n:]
		if single && len(page) == 0 || !yield(Page{Items: page}, nil) {
			return
		}
	}
}

// batch returns up to 100 items. An answer ends before the item that would take it over 16
// MB; the rest is asked for again.
func (r *Recalled) batch(parts []selection.Part, o Options, u *Usage) []item.Image {
	var page []item.Image
	asked := map[item.Place]bool{}
	bytes := 0
	u.Requests++
	for _, p := range parts {
		at := item.Place{Table: r.TableOf(p), PK: p.PK, SK: p.Range.Low}
		if asked[at] {
			continue
		}
		asked[at] = true
		f, size := r.at(at)
		if f != nil {
			page = append(page, *f)
		}
		if bytes += size; bytes > maxBatch {
			u.Requests, bytes = u.Requests+1, size
		}
		u.predict(o, size)
	}
	return page
}

// query yields a range as Query would: in the order of the sort keys, each answer with the
// item that takes it to 1 MB as its last.
func (r *Recalled) query(p selection.Part, o Options, u *Usage, yield func(Page, error) bool) {
	var all []item.Image
	for _, f := range r.Images {
		if f.Table == r.TableOf(p) && f.PK == p.PK && p.Range.Contains(f.SK) {
			all = append(all, f)
		}
	}
	slices.SortStableFunc(all, func(a, b item.Image) int { return o.inOrder(a.SK, b.SK) })
	for more := true; more; {
		u.Requests++
		n, size := 0, 0
		for ; n < len(all) && size < cost.MaxPage; n++ {
			all[n].Answer = u.Requests
			size += all[n].Size
		}
		u.predict(o, size)
		page := Page{Items: all[:n:n]}
		all = all[n:]
		if more = len(all) > 0 || r.Trailing && size >= cost.MaxPage; more {
			page.More, page.Last = true, page.Items[n-1].SK
		}
		if !yield(page, nil) {
			return
		}
	}
}
