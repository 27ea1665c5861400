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

// typical remembers how large items of each kind are, of those that were read and written
// last: what a plan expects of an item that it does not know. It takes one number for each
// kind, whatever the number of items.
type typical []atomic.Int64

func typicalOf(m *model.Model, given map[string]int) (typical, error) {
	all := make(typical, len(m.Schema.Items))
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
		all[i].Store(int64(bytes))
	}
	return all, nil
}

// size returns the size, in bytes, that an item of a kind is likely to have; 0 where none
// was seen.
func (t typical) size(it *schema.Item) int { return int(t[it.Index].Load()) }

// saw notes the size of an item: an average in which the last ones count most.
func (t typical) saw(it *schema.Item, bytes int) {
	was := t[it.Index].Load()
	if was == 0 {
		was = int64(bytes)
	}
	t[it.Index].Store(was + (int64(bytes)-was)/4)
}

// sawAll notes the sizes of the items of an entity that was loaded.
func (t typical) sawAll(s *snapshot.Snapshot) {
	for i, all := range s.Items {
		for _, r := range all {
			t.saw(s.Model.Schema.Items[i], r.Size)
		}
	}
}

// wrote notes the sizes of items that were written. Of one that was not read, what
// DynamoDB charged tells the size.
func (t typical) wrote(all []write.Done) {
	for i := range all {
		r := &all[i]
		ch, ok := r.Ref.(*change.Change)
		switch {
		case !ok || r.Kind == write.Check:
		case r.Expect.Absent || !r.Unread:
			t.saw(ch.Item, max(r.OldSize, r.NewSize))
		case r.Table > 1:
			t.saw(ch.Item, int(r.Table)*1024)
		case r.Table == 1:
			t.saw(ch.Item, max(r.NewSize, 1))
		}
	}
}

// expect tells the write of an item that was not read how large that is likely to be.
func (t typical) expect(ch *change.Change) { ch.Likely = t.size(ch.Item) }

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
