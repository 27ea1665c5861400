package mapper

import (
	"slices"
	"strings"
	"sync/atomic"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/change"
	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/schema"
	"github.com/itemize/itemize/internal/selection"
	"github.com/itemize/itemize/internal/snapshot"
	"github.com/itemize/itemize/internal/write"
)

// typical remembers how large items of each kind are, and whole entities, of those that were
// read and written last: what a plan expects of what it does not know. It takes one number
// for each kind and table, whatever the number of items.
type typical struct{ kinds, entities []size }

// size is a size in bytes: an average in which the last ones count most; 0 where none was
// seen.
type size struct{ atomic.Int64 }

func (s *size) saw(bytes int) {
	was := s.Load()
	if was == 0 {
		was = int64(bytes)
	}
	s.Store(was + (int64(bytes)-was)/4)
}

func typicalOf(m *model.Model, given map[string]int) (*typical, error) {
	t := &typical{make([]size, len(m.Schema.Items)), make([]size, len(m.Tables))}
	for name, bytes := range given {
		i := slices.IndexFunc(m.Schema.Items, func(it *schema.Item) bool { return it.Name == name })
		if i < 0 {
			var names []string
			for _, it := range m.Schema.Items {
				names = append(names, it.Name)
			}
			return nil, m.Errorf("TypicalSize of %q, which is no kind of item of the model: name one of %s", name, strings.Join(names, ", "))
		}
		if bytes < 0 || bytes > cost.MaxItem {
			return nil, m.Errorf("TypicalSize of %q is %d bytes: an item has at most %d", name, bytes, cost.MaxItem)
		}
		t.kinds[i].Store(int64(bytes))
	}
	return t, nil
}

// item returns the size, in bytes, that an item of a kind is likely to have; 0 where nothing
// tells.
func (t *typical) item(it *schema.Item) int { return int(t.kinds[it.Index].Load()) }

// entity returns the size, in bytes, that the items of an entity in a table are likely to
// have; 0 where nothing tells.
func (t *typical) entity(table int) int { return int(t.entities[table].Load()) }

// sawAll notes the sizes of the items of an entity that was loaded.
func (t *typical) sawAll(s *snapshot.Snapshot) {
	sums := make([]int, len(t.entities))
	for i, all := range s.Items {
		for _, r := range all {
			t.kinds[i].saw(r.Size)
			sums[s.Model.Schema.Items[i].Table.Index] += r.Size
		}
	}
	for i, sum := range sums {
		if s.Selection.Whole && sum > 0 {
			t.entities[i].saw(sum)
		}
	}
}

// wrote notes the sizes of items that were written. Of one that was not read, what
// DynamoDB charged tells the size.
func (t *typical) wrote(all []write.Done) {
	for i := range all {
		r := &all[i]
		ch, ok := r.Ref.(*change.Change)
		switch {
		case !ok || r.Kind == write.Check:
		case r.Expect.Absent || !r.Unread:
			t.kinds[ch.Item.Index].saw(max(r.OldSize, r.NewSize))
		case r.Table > 1:
			t.kinds[ch.Item.Index].saw(int(r.Table) * 1024)
		case r.Table == 1:
			t.kinds[ch.Item.Index].saw(max(r.NewSize, 1))
		}
	}
}

// expect tells the write of an item that was not read how large that is likely to be.
func (t *typical) expect(ch *change.Change) { ch.Likely = t.item(ch.Item) }

// blind adds the delete of a single item, whatever it holds, to a deletion.
func (g *engine) blind(del *change.Deletion, p selection.Part) error {
	if err := del.Blind(p); err != nil {
		return err
	}
	for _, ch := range del.Rest {
		g.typical.expect(ch)
	}
	return nil
}
