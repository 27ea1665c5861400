package mapper

import (
	"maps"
	"slices"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/attr"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/schema"
	"github.com/itemize/itemize/internal/selection"
)

// settle remembers changes that are stored now: the rows, and the snapshot of
// their values.
func (c *core) settle(s *state, to arrival, changes []*change) {
	for _, ch := range changes {
		if ch.kind != KindCheck {
			s.overwritten(ch.place)
		}
		if ch.kind != KindDelete && ch.kind != KindCheck {
			delete(s.ghosts, ch.place)
		}
	}
	for i, ch := range changes {
		if ch.kind == KindCheck || slices.ContainsFunc(changes[:i], func(x *change) bool { return x.item == ch.item && x.kind != KindCheck }) {
			continue // with the first of its kind
		}
		if ch.item.Element() {
			c.settleElements(s, ch.item, ofItem(changes[i:], ch.item))
		} else {
			c.settleSingleton(s, ch.item, ofItem(changes[i:], ch.item))
		}
	}
	if s.fresh && len(s.rows[c.schema.Root.Index]) > 0 {
		s.fresh = false
		c.arrive(s, to)
	}
}

// ofItem returns the writes of one kind of item.
func ofItem(changes []*change, it *schema.Item) []*change {
	if len(changes) == 1 {
		return changes
	}
	var out []*change
	for _, ch := range changes {
		if ch.item == it && ch.kind != KindCheck {
			out = append(out, ch)
		}
	}
	return out
}

// arrive takes over the keys of the value that was saved: those of a new entity
// when its root is stored, those of one that moved when all of it has.
func (c *core) arrive(s *state, to arrival) {
	if len(s.keyFields) > 0 && len(to.keyFields) > 0 && &s.keyFields[0] == &to.keyFields[0] && s.moving == nil && s.pk == to.pk {
		return // they are where they were
	}
	if s.spec.Whole || s.spec.Err != nil {
		s.spec = selection.Entity(c.schema, c.identity(to.keyFields))
	}
	s.pk, s.keyFields, s.moving = to.pk, to.keyFields, nil
	c.codec.CloneKeyFields(s.old, to.v)
}

func (c *core) settleSingleton(s *state, it *schema.Item, changes []*change) {
	record := c.codec.Record(it.Index)
	for _, ch := range changes {
		rows := s.rows[it.Index]
		switch {
		case ch.kind == KindDelete:
			rows = slices.DeleteFunc(rows, func(r *row) bool { return r == ch.row })
			if len(rows) == 0 {
				record.Clone(s.old, c.codec.New())
			}
		case ch.row == nil:
			// Of an item that moves, the row of the old place stays until it is deleted.
			rows = append([]*row{c.settleRow(ch)}, rows...)
			record.Clone(s.old, ch.rec)
		default:
			c.settleRow(ch)
			if ch.rec != nil {
				record.Clone(s.old, ch.rec)
			}
		}
		s.rows[it.Index] = rows
	}
}

func (c *core) settleElements(s *state, it *schema.Item, changes []*change) {
	elements, record := c.codec.Elements(it.Index), c.codec.Record(it.Index)
	clone := func(rec any) any {
		n := elements.NewElement()
		record.Clone(n, rec)
		return n
	}
	gone := map[*row]bool{}
	added := map[*row]any{}
	for _, ch := range changes {
		switch {
		case ch.kind == KindDelete:
			gone[ch.row] = true
		case ch.row != nil:
			r := c.settleRow(ch)
			if ch.rec != nil {
				elements.Set(s.old, r.pos, clone(ch.rec))
			}
		default:
			r := c.settleRow(ch)
			r.pos.Key, r.order = ch.pos.Key, ch.pos.Index
			added[r] = clone(ch.rec)
			s.rows[it.Index] = append(s.rows[it.Index], r)
		}
	}
	if len(gone)+len(added) == 0 {
		return
	}
	// The snapshot is made anew, in the order of the value that was saved.
	rows := slices.DeleteFunc(s.rows[it.Index], func(r *row) bool { return gone[r] })
	slices.SortStableFunc(rows, func(a, b *row) int { return a.order - b.order })
	recs := make([]any, len(rows))
	for i, r := range rows {
		if recs[i] = added[r]; recs[i] == nil {
			recs[i] = elements.At(s.old, r.pos)
		}
	}
	elements.Reset(s.old, len(rows))
	for i, r := range rows {
		r.pos.Index = i
		elements.Append(s.old, r.pos.Key, recs[i])
	}
	s.rows[it.Index] = rows
}

// settleRow returns the row of an item that was written.
func (c *core) settleRow(ch *change) *row {
	r := ch.row
	if r == nil {
		r = &row{place: ch.place, sizes: make([]int32, len(ch.item.Attributes))}
	}
	if r.version = ch.token; ch.token == nil {
		r.raw = c.rawAfter(r, ch)
	} else {
		r.raw = nil
	}
	if ch.kind == KindPut {
		clear(r.sizes)
		r.ttl, r.expiry, r.opaque = nil, 0, nil
	}
	for _, a := range ch.removed {
		r.setStored(ch.item, a)
	}
	for _, a := range ch.attributes {
		r.setStored(ch.item, a)
	}
	r.size = ch.newSize
	switch {
	case ch.kind == KindPut:
		r.attempt = ch.put[schema.Attempt]
	case ch.item != c.schema.Root:
		r.attempt = nil
	}
	return r
}

// rawAfter returns the whole item that a change makes of a row.
func (c *core) rawAfter(r *row, ch *change) read.Item {
	raw := maps.Clone(r.raw)
	switch {
	case ch.kind == KindPut:
		raw = attr.CopyItem(ch.put)
	case raw == nil:
		raw = c.reader.Key(ch.table, ch.pk, ch.sk)
	}
	for _, a := range ch.removed {
		delete(raw, a.name)
	}
	for _, a := range ch.attributes {
		raw[a.name] = attr.Copy(a.value)
	}
	if ch.kind != KindPut && ch.item != c.schema.Root {
		delete(raw, schema.Attempt)
	}
	return raw
}

// setStored notes an attribute's new value, nil for a removed one.
func (r *row) setStored(it *schema.Item, a assignment) {
	n := 0
	if a.value != nil {
		n = cost.AttributeSize(a.name, a.value)
	}
	switch a.index {
	case expiryIndex:
		r.ttl, r.expiry = a.value, n
	case unknownIndex:
		r.setUnknown(a)
	default:
		r.sizes[a.index] = int32(n)
		if it.Attributes[a.index].Opaque {
			r.setOpaque(a.index, a.value)
		}
	}
}

// setUnknown notes the new value of an attribute that the model does not have: one
// that the library keeps for itself, or one that moved along with its item.
func (r *row) setUnknown(a assignment) {
	switch a.name {
	case schema.State:
		r.stage = a.value
	case schema.Attempt:
		r.attempt = a.value
	default:
		if r.unknown == nil {
			r.unknown = read.Item{}
		}
		r.unknown[a.name] = a.value
	}
}

// freeze makes a change independent of the value that it came from, so that it
// can be settled when its outcome is known.
func (c *core) freeze(ch *change) *change {
	f := *ch
	f.attributes = slices.Clone(ch.attributes)
	for i := range f.attributes {
		f.attributes[i].value = attr.Copy(f.attributes[i].value)
	}
	f.put = attr.CopyItem(ch.put)
	if f.rec == nil {
		return &f
	}
	if ch.item.Element() {
		f.rec = c.codec.Elements(ch.item.Index).NewElement()
	} else {
		f.rec = c.codec.New()
	}
	c.codec.Record(ch.item.Index).Clone(f.rec, ch.rec)
	return &f
}
