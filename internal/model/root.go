package model

import (
	"strings"

	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/read/selection"
)

// The root is the singleton that is written even when it is empty: present and live, it
// means that the entity exists. What an item's being the root means for it is here, and
// nowhere else.

// Root returns the kind of the root.
func (m *Model) Root() *schema.Item { return m.Schema.Root }

// IsRoot reports whether items of a kind are roots.
func (m *Model) IsRoot(it *schema.Item) bool { return it == m.Schema.Root }

// RootPlace returns the place of an entity's root.
func (m *Model) RootPlace(identity []key.Value) (item.Place, error) {
	pk, err := m.Schema.Partition(identity)
	if err != nil {
		return item.Place{}, err
	}
	return m.RootIn(pk, identity)
}

// RootIn is RootPlace of an entity whose partition is known.
func (m *Model) RootIn(at key.Partition, identity []key.Value) (item.Place, error) {
	sk, err := m.Schema.SortKey(m.Root(), identity)
	return m.Place(m.Root(), at, sk), err
}

// rootLast reports whether the root sorts behind the other items of its partition, as far as
// the literal parts of the keys tell.
func rootLast(e *schema.Entity) bool {
	root := e.Root
	for _, it := range e.Items {
		if it.Table == root.Table && (it.Key == nil || it != root && literal(it) > literal(root)) {
			return false
		}
	}
	return true
}

// literal returns an item's template with its placeholders left out.
func literal(it *schema.Item) string {
	var b strings.Builder
	for _, p := range it.Key.Template.Parts {
		b.WriteString(p.Text)
		if p.Text == "" {
			b.WriteByte(0)
		}
	}
	return b.String()
}

// SelectsRoot reports whether a selection includes the root of its entity.
func (m *Model) SelectsRoot(s *selection.Selection) (bool, error) {
	at, err := m.RootPlace(s.Identity)
	return err == nil && s.Contains(m.Root().Table.Index, at.SK), err
}

// DropsMark reports whether a save of such an item takes the mark of a staged insert away:
// that of the root is its stage.
func (m *Model) DropsMark(it *schema.Item) bool { return !m.IsRoot(it) }

// Present reports whether there is anything to store of a singleton.
func (m *Model) Present(it *schema.Item, v any) bool {
	return m.IsRoot(it) || m.Codec.Record(it.Index).Present(v)
}
