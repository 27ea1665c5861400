package search

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/read/selection"
)

// A search over several partitions runs in stages. If tables follow the time, and the order is by time,
// the items of one table come before those of the next. The next table is read after all items of this
// one were yielded. Within a stage partitions are merged.

// scattered reports whether the search is over several partitions: those of shards, or of the tables of
// several periods.
func (x *Search) scattered() bool {
	return x.spanned() || x.in() == nil &&
		slices.ContainsFunc(x.s.Parts, func(p selection.Part) bool { return p.Partition != x.s.Parts[0].Partition })
}

// spanned reports whether the search is over the tables of a span of time, be it one.
func (x *Search) spanned() bool {
	return slices.ContainsFunc(x.s.Parts, func(p selection.Part) bool { return p.Span.On })
}

// timed reports whether the order of the search is that of the tables of a span of time. Elements that are
// apart from their roots have an order of their own.
func (x *Search) timed() bool {
	if !x.spanned() || x.in() == nil && !x.flat() && x.Model.Schema.Scattered {
		return false
	}
	return !slices.ContainsFunc(x.s.Parts, func(p selection.Part) bool { return p.Span.On && !p.Span.Ordered })
}

// stages returns the parts of each stage, in their order.
func (x *Search) stages() [][]selection.Part {
	if !x.timed() {
		return [][]selection.Part{x.s.Parts}
	}
	parts := slices.Clone(x.s.Parts)
	slices.SortStableFunc(parts, func(a, b selection.Part) int {
		if x.o.Reverse {
			return cmp.Compare(b.Period, a.Period)
		}
		return cmp.Compare(a.Period, b.Period)
	})
	var all [][]selection.Part
	for i, p := range parts {
		if i == 0 || p.Period != parts[i-1].Period {
			all = append(all, nil)
		}
		all[len(all)-1] = append(all[len(all)-1], p)
	}
	return all
}

// FirstStage returns the parts that are asked in any case; the others may not be, where the search has
// a limit.
func (x *Search) FirstStage() []selection.Part {
	if x.r.Limit == 0 || !x.scattered() {
		return x.s.Parts
	}
	return x.stages()[0]
}

// scatter runs the stages one after the other. It reports whether there may be more behind its limit.
func (x *Search) scatter(ctx context.Context, yield func(Hit) bool) (more bool, err error) {
	stages, timed := x.stages(), x.timed()
	left, enough := x.r.Limit, false
	for i, parts := range stages {
		sub := *x
		sub.s.Parts, sub.r.Limit = parts, left
		if a := x.after; a != nil && timed {
			c := strings.Compare(parts[0].Period, a.Period)
			if x.o.Reverse {
				c = -c
			}
			if c < 0 {
				continue // all of it was yielded
			}
			if c > 0 {
				sub.after = nil
			}
		}
		found := 0
		more, err = sub.stage(ctx, func(h Hit) bool {
			found++
			enough = !yield(h)
			return !enough
		})
		switch {
		case err != nil || enough:
			return false, err
		case left > 0 && found == left:
			return more || i < len(stages)-1, nil
		case left > 0:
			left -= found
		}
	}
	return false, nil
}

// stage merges the searches of the partitions of a stage, or runs the one that there is.
func (x *Search) stage(ctx context.Context, yield func(Hit) bool) (more bool, err error) {
	groups, at, a := byPartition(x.s.Parts), x.s.Parts[0].Partition, x.after
	if len(groups) > 1 || a != nil && (a.PK != at.PK || a.Period != at.Period) {
		return x.merged(ctx, groups, yield)
	}
	sub := *x
	sub.s.Parts, sub.after = without(x.s.Parts), nil
	if sub.o.Limit > 0 {
		sub.o.Limit = x.r.Limit
	}
	if a != nil {
		sub.at, sub.o.Start, sub.o.From = a, &a.Start, a.Keys
	}
	found := 0
	err = sub.hits(ctx, func(h Hit) bool {
		found++
		h.behind(at.PK, at.Period)
		return yield(h)
	}, func(read.Page) bool { return true })
	return found == x.r.Limit, err
}

// without returns parts that are of one table each.
func without(parts []selection.Part) []selection.Part {
	parts = slices.Clone(parts)
	for i := range parts {
		parts[i].Span = selection.Span{}
	}
	return parts
}

// absent is the error of a search of one partition, by [model.Model.Absent].
func (x *Search) absent(p selection.Part, u *read.Usage, err error) error {
	var skip func(string)
	if x.r.SkipMissing {
		skip = u.Skip
	}
	return x.Model.Absent(x.Model.TableOf(p), skip, err)
}
