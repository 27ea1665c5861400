package protocol

import (
	"context"
	"fmt"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/flow"
	"github.com/itemize/itemize/internal/item"
	"github.com/itemize/itemize/internal/schema"
	"github.com/itemize/itemize/internal/write"
)

// An entity is in both layouts if a program that knows only the old one has written its monolith after it moved. Somebody decides which of them
// stays.

// KeepMonolith makes an entity that is in both layouts a monolith, as that is now, and removes its collection: as a rollback of an entity that was never
// live.
func (m *Mover) KeepMonolith(ctx context.Context, root, doc item.Place, t *write.Tally) error {
	b := &Return{Doc: doc, Root: root, settles: true}
	if err := m.Back(ctx, []*Return{b}, t); err != nil {
		return err
	}
	return b.Err
}

// KeepCollection marks the monolith of an entity that is in both layouts as moved, as it is now: the collection stays.
func (m *Mover) KeepCollection(ctx context.Context, root, doc item.Place, t *write.Tally) error {
	for try := range tries {
		d, err := m.Monolith(ctx, doc, t)
		if err != nil {
			return err
		}
		r, err := m.readRoot(ctx, root, t)
		switch {
		case err != nil:
			return err
		case !r.live():
			return &Conflict{root, noCollection}
		case d.Contradicts() == nil:
			return &Conflict{doc, inOneLayout}
		}
		k := &Mark{Incarnation: r.Incarnation, Hash: d.Hash(), Settled: true}
		w := m.docRequest(d, item.Assignment{Name: schema.Moved, Index: item.Unlisted, Value: k.value()})
		if w.NewSize > cost.MaxItem || w.Longest() > cost.MaxExpression {
			return &Unmovable{fmt.Errorf("the monolith has %d bytes, and no room for its mark or the condition of it: remove it by hand", d.Size())}
		}
		switch o := m.one(ctx, w, d.Attributes, t); o.State {
		case write.Written:
			return nil
		case write.Rejected:
		default:
			return o.Err
		}
		if err := flow.Pause(ctx, try); err != nil {
			return err
		}
	}
	return &Conflict{doc, errRestart.Error()}
}

const (
	noCollection = "its collection is not live, so that there is nothing to settle: a run moves the monolith"
	inOneLayout  = "the entity is in one layout: there is nothing to settle"
)

// settle begins to make an entity that is in both layouts the monolith that it has.
func (b *Return) settle(ctx context.Context, d *Monolith) error {
	switch {
	case b.root.is(item.RollingBack):
		return b.mark(ctx, item.RollingBack, b.root.From)
	case !b.root.live():
		return &Conflict{b.Root, noCollection}
	case d.Contradicts() == nil:
		return &Conflict{b.Doc, inOneLayout}
	}
	return b.mark(ctx, item.RollingBack, item.Migrating)
}
