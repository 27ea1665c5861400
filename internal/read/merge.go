package read

import (
	"cmp"
	"context"
	"iter"

	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/read/selection"
)

// Merged yields the items of the parts in the order of their sort keys, whichever range
// they are in, each item once. It holds a page of each range in memory.
func Merged(ctx context.Context, src Source, parts []selection.Part, o Options, u *Usage) iter.Seq2[Page, error] {
	ranges := src.Ranges(ctx, parts, o, u)
	if len(ranges) == 1 {
		return ranges[0]
	}
	return func(yield func(Page, error) bool) {
		m := &merger{reverse: o.Reverse}
		defer m.stop()
		for _, r := range ranges {
			next, stop := iter.Pull2(r)
			m.inputs = append(m.inputs, &input{next: next, end: stop})
		}
		for {
			page, err := m.page()
			if !yield(page, err) || err != nil || !page.More {
				return
			}
		}
	}
}

// input is a range that is merged.
type input struct {
	next func() (Page, error, bool)
	end  func()
	// items are the items that have been read and not yielded.
	items []item.Image
	done  bool
}

type merger struct {
	inputs  []*input
	reverse bool
	last    item.Place // the place that was yielded last
}

func (m *merger) stop() {
	for _, in := range m.inputs {
		in.end()
	}
}

// page returns the items that come next, as far as they are known without reading more
// than each range's next answer.
func (m *merger) page() (Page, error) {
	if err := m.fill(); err != nil {
		return Page{}, err
	}
	var page Page
	for {
		in := m.first()
		if in == nil {
			return page, nil
		}
		next := in.items[0]
		in.items = in.items[1:]
		if next.Place != m.last {
			page.Items = append(page.Items, next)
			m.last, page.Last = next.Place, next.SK
		}
		if len(in.items) == 0 && !in.done {
			page.More = true
			return page, nil
		}
	}
}

// fill reads on in the ranges of which nothing is left.
func (m *merger) fill() error {
	for _, in := range m.inputs {
		for len(in.items) == 0 && !in.done {
			page, err, ok := in.next()
			if err != nil {
				return err
			}
			in.items, in.done = page.Items, !ok
		}
	}
	return nil
}

// first returns the range whose item comes next, nil at the end.
func (m *merger) first() *input {
	var best *input
	for _, in := range m.inputs {
		if len(in.items) == 0 {
			continue
		}
		if best == nil || Before(in.items[0].Place, best.items[0].Place, m.reverse) {
			best = in
		}
	}
	return best
}

// Before reports whether one key comes before another when ranges are merged. It compares sort keys,
// then table and partition, so that an item that several ranges contain comes several times in a row.
func Before(a, b item.Place, reverse bool) bool {
	c := key.Compare(a.SK, b.SK)
	if reverse {
		c = -c
	}
	return cmp.Or(c, cmp.Compare(a.Table.Name, b.Table.Name), key.Compare(a.PK, b.PK)) < 0
}
