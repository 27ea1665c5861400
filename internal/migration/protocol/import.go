package protocol

import (
	"bytes"
	"context"

	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/save/bulk"
)

// Import returns the items of a monolith's collection, the root first, for bulk puts into a table that
// is not yet used. The items are under a claim that records that all of its parts exist, and that a
// Move continues, or they are live at once. The error is an *Unmovable.
func (m *Mover) Import(d *Monolith, live bool) ([]*bulk.Item, error) {
	e := &Entity{Doc: d, m: m}
	if err := e.split(); err != nil {
		return nil, err
	}
	e.incarnation = item.NewToken()
	items := make([]*bulk.Item, 1, len(e.parts.Items))
	for _, it := range e.parts.Items[1:] {
		put := m.itemOf(e.partRequest(&part{Item: it, place: m.place(it)}))
		add(&e.sum, m.Layout.Reserved.Header(put.Attributes).Version)
		items = append(items, put)
	}
	if live {
		items[0] = m.itemOf(e.liveRequest())
		return items, nil
	}
	st := item.NewStage(item.Migrating, m.Now())
	st.Whole, st.Sum, st.Origin = d.Hash(), e.sum[:], m.origin()
	r := e.rootRequest(item.Attributes{})
	m.Layout.Reserved.AssignStage(st).Into(r.Put)
	m.Layout.Reserved.AssignIncarnation(e.incarnation).Into(r.Put)
	items[0] = m.itemOf(e.sized(r))
	return items, nil
}

// isWhole reports whether all parts of an import's claim exist, by the sum of their versions.
func (e *Entity) isWhole(ctx context.Context, root *Root) (bool, error) {
	sum, n, err := e.sumOfParts(ctx, root.Incarnation)
	return n == len(e.parts.Items)-1 && bytes.Equal(sum[:], root.Sum), err
}

// imported continues the claim of an import whose parts still equal the monolith.
func (e *Entity) imported(ctx context.Context, root *Root) error {
	e.current, e.token, e.incarnation, e.took, e.left = root.Attributes, root.Version, root.Incarnation, root.Took, nil
	e.sum, e.shared = [item.TokenSize]byte{}, true
	copy(e.sum[:], root.Sum)
	return e.end(ctx)
}
