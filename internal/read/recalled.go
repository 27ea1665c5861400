package read

import (
	"context"
	"iter"
	"slices"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/item"
	"github.com/itemize/itemize/internal/key"
	"github.com/itemize/itemize/internal/selection"
)

// Recalled is a Source of items that were read before. It sends nothing, and counts what a
// [Reader] would send, and what that would cost, if they are still those: a load that runs
// on it is a load planned. Of the images it needs the place, the header, the kind and the
// size.
type Recalled struct {
	// Tables are those that parts name by their index.
	Tables []*item.Table
	Images []item.Image
}

// maxBatch is what one BatchGetItem returns at most, in bytes.
const maxBatch = 16 << 20

// Ranges yields the items as a Reader would. Options other than Strong mean nothing here.
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
	single := func(yield func(Page, error) bool) {
		if page := r.ones(ones, o, u); len(page) > 0 {
			yield(Page{Items: page}, nil)
		}
	}
	return append([]iter.Seq2[Page, error]{single}, ranges...)
}

// One returns one item, nil if it is not there, as a GetItem would.
func (r *Recalled) One(_ context.Context, at item.Place, o Options, u *Usage) (*item.Image, error) {
	f, size := r.at(at)
	u.Requests++
	u.add([]int{size}, o, nil)
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

// ones returns single items: as GetItem would, or BatchGetItem, whose answers end before
// the item that would take them over 16 MB.
func (r *Recalled) ones(parts []selection.Part, o Options, u *Usage) []item.Image {
	parts = slices.Clone(parts)
	slices.SortStableFunc(parts, func(a, b selection.Part) int { return key.Compare(a.Range.Low, b.Range.Low) })
	var page []item.Image
	for len(parts) > 0 {
		n := min(len(parts), cost.MaxBatchGet)
		asked := map[item.Place]bool{}
		bytes := 0
		u.Requests++
		for _, p := range parts[:n] {
			at := item.Place{Table: r.Tables[p.Table], PK: p.PK, SK: p.Range.Low}
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
			u.add([]int{size}, o, nil)
		}
		parts = parts[n:]
	}
	return page
}

// query yields a range as Query would: in the order of the sort keys, each answer with the
// item that takes it to 1 MB as its last. Where that is the range's last as well, it is not
// documented whether an empty answer follows.
func (r *Recalled) query(p selection.Part, o Options, u *Usage, yield func(Page, error) bool) {
	var all []item.Image
	for _, f := range r.Images {
		if f.Table == r.Tables[p.Table] && f.PK == p.PK && p.Range.Contains(f.SK) {
			all = append(all, f)
		}
	}
	slices.SortStableFunc(all, func(a, b item.Image) int { return key.Compare(a.SK, b.SK) })
	for more := true; more; {
		u.Requests++
		n, size := 0, 0
		for ; n < len(all) && size < cost.MaxPage; n++ {
			all[n].Answer = u.Requests
			size += all[n].Size
		}
		u.add([]int{size}, o, nil)
		page := Page{Items: all[:n:n]}
		all = all[n:]
		switch more = len(all) > 0; {
		case more:
			page.More, page.Last = true, page.Items[n-1].SK
		case size >= cost.MaxPage:
			u.mayFollow(o)
		}
		if !yield(page, nil) {
			return
		}
	}
}

// mayFollow adds an empty answer that may follow.
func (u *Usage) mayFollow(o Options) {
	empty := cost.Units{Max: cost.ReadUnits(0), If: "an empty answer follows the last item"}
	if !o.Strong {
		empty = empty.Times(0.5)
	}
	u.Predicted = u.Predicted.Add(empty)
}
