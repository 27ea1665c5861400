package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/read/selection"
)

// Merge runs searches of several models over one range of one partition with one query. It yields their
// hits in order of the sort keys, each with the index of its search. It ends after limit hits, 0 for no
// limit.
func Merge(ctx context.Context, all []*Search, limit int, yield func(i int, h Hit) bool) error {
	sides, err := sidesOf(all)
	if err != nil {
		return err
	}
	shared := &sharedRange{bounds: span(sides), first: all[0], wanting: wanting{limit: limit}}
	began := all[0].Model.Now()
	defer shared.end()
	if all[0].o.Reverse {
		slices.Reverse(sides)
	}
	more := true
	for _, s := range sides {
		e := *s.Engine
		e.Source = &share{side: s, all: shared, otherwise: s.Engine.Source}
		x := *s.Search
		x.Engine, x.since = &e, began
		if limit > 0 {
			x.r.Limit = limit - shared.hits
		}
		err := x.Hits(ctx, func(h Hit) bool {
			shared.hits++
			more = yield(s.index, h)
			return more
		})
		if err != nil || !more || limit > 0 && shared.hits >= limit {
			return err
		}
	}
	return nil
}

// side is a search with the range that it is over.
type side struct {
	*Search
	index     int
	low, high string
}

func (s *side) holds(sk string) bool { return s.low <= sk && sk <= s.high }

// sidesOf returns the searches in order of their ranges. It refuses searches of different tables or
// partitions, ranges that overlap, and ranges that have other items between them.
func sidesOf(all []*Search) ([]*side, error) {
	if len(all) == 0 {
		return nil, errors.New("query.Merge has no queries: pass the results of their method On")
	}
	var sides []*side
	first := all[0]
	for i, x := range all {
		if err := x.Single("Merge"); err != nil {
			return nil, err
		}
		p, q := x.s.Parts[0], first.s.Parts[0]
		if p.In != nil {
			return nil, x.Model.Errorf("Merge is for a partition of a table, but this query is of the index %s: "+
				"run the queries one by one", p.In.Entry.Index.Name)
		}
		t, u := x.Model.TableOf(p), first.Model.TableOf(q)
		switch {
		case t.Name != u.Name || t.Hash != u.Hash || t.Range != u.Range:
			return nil, x.Model.Errorf("Merge is for one table, but its queries are of %s and %s: run two", u.Name,
				t.Name)
		case p.PK != q.PK:
			return nil, x.Model.Errorf("Merge is for one partition, but its queries are of %s and %s: run two",
				q.PK, p.PK)
		case p.Keep != nil || len(x.r.Filter) > 0 || x.r.Projection != nil || x.r.Roots:
			return nil, x.Model.Errorf("Merge is for plain queries: leave out Filter, Project, Roots and inexact " +
				"ranges of time, and filter in the application")
		}
		s := &side{Search: x, index: i}
		if err := s.bounds(p); err != nil {
			return nil, err
		}
		sides = append(sides, s)
	}
	slices.SortStableFunc(sides, func(a, b *side) int { return cmp.Compare(a.low, b.low) })
	for i, s := range sides[1:] {
		if s.low <= sides[i].high {
			return nil, s.Model.Errorf("Merge is for queries whose ranges do not overlap, but %q to %q is in this "+
				"one and in %s: narrow one", s.low, sides[i].high, sides[i].Model.Label())
		}
	}
	return sides, between(sides)
}

// bounds finds the first and the last sort key of a search's range. A whole partition is narrowed to
// what the keys of the model's items begin with.
func (s *side) bounds(p selection.Part) error {
	r := p.Range
	switch r.Kind {
	case selection.Prefix:
		s.low, s.high = r.Low.Text, r.Low.Text+lastRune
	case selection.Between:
		s.low, s.high = r.Low.Text, r.High.Text
	case selection.One:
		s.low, s.high = r.Low.Text, r.Low.Text
	case selection.All:
		begin, any := "", false
		for _, it := range s.Model.Schema.Items {
			if it.Table.Index != p.Table || it.Key == nil {
				continue
			}
			if text := it.Key.Template.LiteralPrefix(); !any {
				begin, any = text, true
			} else {
				begin = common(begin, text)
			}
		}
		s.low, s.high = begin, begin+lastRune
	case selection.None:
		return s.Model.Errorf("Merge has a query whose range ends before it begins: leave it out")
	}
	if s.low == "" || r.Low.Type != 0 && r.Low.Type != 'S' {
		return s.Model.Errorf("Merge is for queries of a part of the partition, but this one reads all of it: " +
			"narrow it by the beginning of its sort keys")
	}
	return nil
}

func common(a, b string) string {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return strings.ToValidUTF8(a[:n], "")
}

// between refuses searches between whose ranges other items of their models may be, which would be
// read, and paid for, in vain.
func between(sides []*side) error {
	low, high := sides[0].low, sides[len(sides)-1].high
	for _, s := range sides {
		for _, it := range s.Model.Schema.Items {
			if it.Key == nil || it.Table.Index != s.s.Parts[0].Table {
				continue
			}
			begin := it.Key.Template.LiteralPrefix()
			inside := func(o *side) bool { return o.holds(begin) }
			if begin+lastRune >= low && begin <= high && !slices.ContainsFunc(sides, inside) && !around(it, sides) {
				return s.Model.Errorf("Merge reads one range, and would read %s (%s) between its queries in vain: "+
					"query it as well, or run two", it.Name, it.Key.Text)
			}
		}
	}
	return nil
}

// around reports whether a kind of item has the very ranges that are searched in it: a query over a
// part of it.
func around(it *schema.Item, sides []*side) bool {
	begin := it.Key.Template.LiteralPrefix()
	return slices.ContainsFunc(sides, func(s *side) bool { return strings.HasPrefix(s.low, begin) })
}

func span(sides []*side) selection.Range {
	text := func(s string) key.Scalar { return key.Scalar{Type: 'S', Text: s} }
	low, high := sides[0].low, sides[len(sides)-1].high
	return selection.Range{Kind: selection.Between, Low: text(low), High: text(high)}
}

// sharedRange is the one query, read by one search after the other.
type sharedRange struct {
	wanting
	bounds selection.Range
	first  *Search
	next   func() (read.Page, error, bool)
	stop   func()
	// left are items that the search before has not taken, and more whether others may come.
	left  []item.Image
	more  bool
	begun bool
}

func (r *sharedRange) end() {
	if r.stop != nil {
		r.stop()
	}
}

// page returns the next items.
func (r *sharedRange) page(ctx context.Context, o read.Options, u *read.Usage) ([]item.Image, error) {
	if !r.begun {
		r.begun, r.more = true, true
		p := r.first.s.Parts[0]
		p.Range = r.bounds
		r.next, r.stop = iter.Pull2(r.first.Source.Ranges(ctx, []selection.Part{p}, o, u)[0])
	}
	if len(r.left) > 0 || !r.more {
		items := r.left
		r.left = nil
		return items, nil
	}
	page, err, ok := r.next()
	r.items += len(page.Items)
	r.more = ok && err == nil && page.More
	return page.Items, err
}

// share is the part of the query that one search is over.
type share struct {
	*side
	all       *sharedRange
	otherwise read.Source
	used      bool
}

// Ranges yields the search's items of the query that all share; asked again, of a query of its own.
func (s *share) Ranges(ctx context.Context, parts []selection.Part, o read.Options,
	u *read.Usage,
) []iter.Seq2[read.Page, error] {
	if o.Limit, o.Want = 0, nil; s.all.limit > 0 {
		o.Want = s.all.want
	}
	if s.used || len(parts) != 1 {
		return s.otherwise.Ranges(ctx, parts, o, u)
	}
	s.used = true
	return []iter.Seq2[read.Page, error]{func(yield func(read.Page, error) bool) {
		for {
			items, err := s.all.page(ctx, o, u)
			if err != nil {
				yield(read.Page{}, err)
				return
			}
			page, err := s.take(items, s.Model.TableOf(parts[0]), o.Reverse)
			if !yield(page, err) || err != nil || !page.More {
				return
			}
		}
	}}
}

// take returns the search's own items of an answer, and leaves those behind them.
func (s *share) take(items []item.Image, t *item.Table, reverse bool) (read.Page, error) {
	page := read.Page{More: s.all.more}
	var own []*item.Image
	for i := range items {
		f := &items[i]
		page.Last = f.SK
		if !reverse && f.SK.Text > s.high || reverse && f.SK.Text < s.low {
			s.all.left, page.More = items[i:], false
			break
		}
		if s.holds(f.SK.Text) {
			own = append(own, f)
		}
	}
	var err error
	if page.Items, err = s.Model.DescribeItems(t, own); err != nil {
		return page, fmt.Errorf("%s: %w", s.Model.Label(), err)
	}
	return page, nil
}
