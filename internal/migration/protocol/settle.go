package protocol

import (
	"context"
	"fmt"
	"slices"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/save/write"
)

// An entity is in both layouts if a program that knows only the old one has written its monolith after
// it moved. An operator decides which of them is kept.

// KeepMonolith makes an entity that is in both layouts a monolith, as that is now, and removes its
// collection: as a rollback of an entity that was never live.
func (m *Mover) KeepMonolith(ctx context.Context, root, doc item.Place, t *write.Tally) error {
	b := &Return{Doc: doc, Root: root, settles: true}
	if err := m.Back(ctx, []*Return{b}, t); err != nil {
		return err
	}
	return b.Err
}

// KeepCollection marks the monolith of an entity that is in both layouts as moved, as it is now: the
// collection stays. Of an entity that was deleted it stays deleted.
func (m *Mover) KeepCollection(ctx context.Context, root, doc item.Place, t *write.Tally) error {
	for try := range tries {
		d, err := m.Monolith(ctx, doc, t)
		if err != nil {
			return err
		}
		r, err := m.readRoot(ctx, root, t)
		k := &Mark{Incarnation: r.Incarnation, Hash: d.Hash(), Resolved: true}
		switch {
		case err != nil:
			return err
		case d.Changed() && !r.there(): // it was deleted, in whichever layout
			k = d.Mark()
			k.Hash, k.Resolved = d.Hash(), true
		case m.Foreign(r.Attributes) && !r.Has(d.Mark()):
			return &Conflict{root, foreignKey}
		case d.Changed() && r.is(item.RollingBack) && r.From == item.Live: // the rollback continues with the collection
		case !r.live():
			return &Conflict{root, notBoth(&r, d)}
		case r.Incarnation == nil:
			return &Conflict{root, fmt.Sprintf("another program wrote the root item without %[1]s: add the attribute "+
				"%[1]s with 8 random bytes, or keep the monolith", m.Layout.Reserved.IncarnationName())}
		case d.Contradicts() == nil:
			return &Conflict{doc, inOneLayout}
		}
		w := m.docRequest(d, item.Assignment{
			Name: m.Layout.Reserved.MovedName(), Index: item.Unlisted,
			Value: k.value(),
		})
		if w.NewSize > cost.MaxItem || w.Longest() > cost.MaxExpression {
			return &Unmovable{fmt.Errorf("the monolith has %s, and no room for its mark or a condition: "+
				"delete it with the program that wrote it", attr.Bytes(d.Size()))}
		}
		switch o := m.one(ctx, w, d.Attributes, t); o.State {
		case write.Written:
			return nil
		case write.Rejected:
		default:
			return o.Err
		}
		if err := request.Pause(ctx, try); err != nil {
			return err
		}
	}
	return &Conflict{doc, errRestart.Error()}
}

// notBoth says why there is nothing to settle where the collection is not live.
func notBoth(r *Root, d *Monolith) string {
	switch {
	case r.is(item.Deleting), r.is(item.Inserting):
		return r.Pending()
	case r.is(item.Migrating) && d.Changed():
		return "its move stopped halfway, and then its monolith was written: itemize migrate settle -keep monolith " +
			"keeps the monolith, and the next run moves it"
	case r.is(item.RollingBack):
		return "its rollback or settle is not finished: repeat itemize migrate rollback, or itemize migrate settle " +
			"-keep monolith"
	}
	return "its collection is not live: nothing to settle: a run moves the monolith"
}

// foreignKey is the reason for a monolith with the key of another migration's entity.
const foreignKey = "another migration moved an entity with that key from another table: rename one of the two"

const inOneLayout = "the entity is in one layout: nothing to settle"

// settle begins to make an entity that is in both layouts the monolith that it has.
func (b *Return) settle(ctx context.Context, d *Monolith) error {
	r := &b.root
	switch {
	case b.m.Foreign(r.Attributes) && !r.Has(d.Mark()):
		return &Conflict{b.Root, foreignKey}
	case d.Changed() && !r.there(): // it was deleted, and the monolith was written since
		if err := b.unmark(ctx, d); err != nil {
			return err
		}
		b.Back = true
		return b.m.Leftovers(ctx, b.Root, nil, &b.t)
	case r.is(item.RollingBack) && (d.Unmarked() || d.Changed()), r.is(item.Migrating) && d.Changed(), r.live() &&
		d.Contradicts() != nil:
	case r.live():
		return &Conflict{b.Doc, inOneLayout}
	default:
		return &Conflict{b.Root, notBoth(r, d)}
	}
	// The monolith is the truth from the mark of the root on, whatever claim has marked the monolith.
	if k := d.Mark(); k != nil && k.Incarnation != nil && !r.Has(k) {
		r.Took = append(slices.Clone(r.Took), k.Incarnation)
	}
	return b.mark(ctx, item.RollingBack, item.Migrating)
}
