package estimate

import (
	"slices"
	"strings"
	"sync/atomic"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/read/snapshot"
	"github.com/itemize/itemize/internal/save/write"
)

// Sizes records the sizes of recently read and written items as moving averages: one for each kind of
// item, and one for the items of an entity in each table. It is safe for concurrent use.
type Sizes struct {
	m               *model.Model
	kinds, entities []average
}

// average is a moving average of sizes in bytes. It is 0 if there was none.
type average struct{ atomic.Int64 }

func (a *average) add(bytes int) {
	was := a.Load()
	if was == 0 {
		was = int64(bytes)
	}
	a.Store(was + (int64(bytes)-was)/4)
}

// NewSizes returns the sizes of a model's items. sizes has the caller's estimates in bytes, by the
// names of kinds of items.
func NewSizes(m *model.Model, sizes map[string]int) (*Sizes, error) {
	s := &Sizes{m, make([]average, len(m.Schema.Items)), make([]average, len(m.Tables))}
	for name, bytes := range sizes {
		i := slices.IndexFunc(m.Schema.Items, func(it *schema.Item) bool { return it.Name == name })
		if i < 0 {
			var names []string
			for _, it := range m.Schema.Items {
				names = append(names, it.Name)
			}
			return nil, m.Errorf("SizeEstimate of %q, which is not a kind of item of the model: name one of %s", name,
				strings.Join(names, ", "))
		}
		if bytes < 0 || bytes > cost.MaxItem {
			return nil, m.Errorf("SizeEstimate of %q is %s: an item has at most 400 KB", name, attr.Bytes(bytes))
		}
		s.kinds[i].Store(int64(bytes))
	}
	return s, nil
}

// Item returns the expected size of an item of a kind in bytes, 0 if it is unknown.
func (s *Sizes) Item(it *schema.Item) int { return int(s.kinds[it.Index].Load()) }

// Entity returns the expected size of an entity's items in a table, together, in bytes; 0 if it is unknown.
func (s *Sizes) Entity(table int) int { return int(s.entities[table].Load()) }

// Loaded records the sizes of the items of a snapshot.
func (s *Sizes) Loaded(x *snapshot.Snapshot) {
	sums := make([]int, len(s.entities))
	for i, all := range x.Items {
		for _, r := range all {
			s.kinds[i].add(r.Size)
			sums[s.m.Schema.Items[i].Table.Index] += r.Size
		}
	}
	for i, sum := range sums {
		if x.Selection.Whole && sum > 0 {
			s.entities[i].add(sum)
		}
	}
}

// Written records the sizes of items that were written. The size of an item that was not read follows from its consumed
// capacity.
func (s *Sizes) Written(all []write.Applied) {
	for i := range all {
		r := &all[i]
		it := r.Item
		switch {
		case it == nil || r.Kind == write.Check:
		case r.Expect.Absent || !r.Unread:
			s.kinds[it.Index].add(max(r.OldSize, r.NewSize))
		case r.Table > 1:
			s.kinds[it.Index].add(int(r.Table) * 1024)
		case r.Table == 1:
			s.kinds[it.Index].add(max(r.NewSize, 1))
		}
	}
}
