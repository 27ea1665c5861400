package change

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/codec"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/read/snapshot"
)

// elementDiff compares a slice or map.
type elementDiff struct {
	*differ
	it     *schema.Item
	stored map[key.Scalar]*snapshot.Stored
	seen   map[key.Scalar]codec.Pos
}

// elements compares a slice or map.
func (d *differ) elements(it *schema.Item) {
	elements := d.m.Codec.Elements(it.Index)
	if !d.s.Fresh && !d.expiryChanged && !d.Moves && !it.Opaque && !d.reindexes(it) && elements.Equal(d.v, d.s.Old) {
		// nothing is rendered or encoded
		for _, r := range d.s.Items[it.Index] {
			d.keep(it, r, r.Pos)
		}
		return
	}
	all := d.s.Items[it.Index]
	if n := elements.Len(d.v); d.s.Fresh && n > 0 {
		d.Changes = slices.Grow(d.Changes, n)
		if d.o.Room == nil {
			d.rooms = make([]Change, n)
		}
	}
	x := &elementDiff{differ: d, it: it, seen: make(map[key.Scalar]codec.Pos, elements.Len(d.v))}
	if len(all) > 0 {
		x.stored = make(map[key.Scalar]*snapshot.Stored, len(all))
	}
	for _, r := range all {
		// Of an entity that moves, an element may be stored at both places.
		if x.stored[r.SK] == nil || r.Partition() == d.Keys.Partition {
			x.stored[r.SK] = r
		}
	}
	elements.Each(d.v, func(pos codec.Pos, rec any) bool {
		x.element(model.Record{Item: it, Value: rec, Pos: pos})
		return true
	})
	for _, r := range all {
		if _, ok := x.seen[r.SK]; !ok || r.Partition() != d.Keys.Partition {
			d.delete(it, r)
		}
	}
}

func (x *elementDiff) element(rec model.Record) {
	if rec.Value == nil {
		x.fail(x.m.ValueErrorf(x.it.Name, "%s is nil, but an item needs a value: remove the element", posName(rec.Pos)))
		return
	}
	if field := x.s.Unread(x.it); field != "" {
		x.fail(&NotLoaded{Field: x.it.Name, Needs: field + ","})
		return
	}
	sk, err := x.m.SortKey(rec, x.Keys.KeyFields)
	if err != nil {
		x.fail(fmt.Errorf("%w (%s)", err, posName(rec.Pos)))
		return
	}
	if first, ok := x.seen[sk]; ok {
		x.fail(x.m.ValueErrorf(x.it.Name, "%s and %s have the same key, %s: change a field that the template names",
			posName(first), posName(rec.Pos), sk))
		return
	}
	x.seen[sk] = rec.Pos
	at := x.m.Place(x.it, x.Keys.Partition, sk)
	r := x.stored[sk]
	switch {
	case r != nil && r.Place == at:
		x.update(rec, r, x.m.Codec.Elements(x.it.Index).At(x.s.Old, r.Pos))
	case !x.s.Covers(x.it, sk):
		x.fail(&NotLoaded{Field: x.it.Name, At: at, Element: true})
	case r != nil: // the same sort key, in the partition that it moves away from
		x.put(rec, at, r)
	default:
		x.put(rec, at, x.moved(rec))
	}
}

// moved returns the stored item of an element whose key changed with its entity's, so that
// attributes that the model does not know move with it.
func (x *elementDiff) moved(rec model.Record) *snapshot.Stored {
	if !x.Moves {
		return nil
	}
	sk, err := x.m.SortKey(rec, x.Old)
	if err != nil {
		return nil
	}
	return x.stored[sk]
}

func posName(p codec.Pos) string {
	if p.Key != nil {
		if p.Key == "" {
			return `the entry ""`
		}
		return fmt.Sprintf("the entry %v", p.Key)
	}
	return "the element " + strconv.Itoa(p.Index)
}
