package migrate

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/attr"
	"github.com/itemize/itemize/internal/item"
	"github.com/itemize/itemize/internal/write"
)

// KeepMonolith settles an entity that is in both layouts, because a program that knows only the old one has written its monolith after it moved: the monolith
// stays as it is now, and the next run moves it. key is that of the monolith, as in its table. What was written in the new layout since is gone. The error is a
// *ConflictError if the entity is in one layout. It costs the units of the monolith and of the items.
func (m *Migration) KeepMonolith(ctx context.Context, key map[string]types.AttributeValue) error {
	return m.settle(ctx, key, m.mover.KeepMonolith)
}

// KeepCollection is [Migration.KeepMonolith] the other way: the collection stays, and what was written in the old layout since is seen by no reader of the new
// one. It costs the units of the monolith.
func (m *Migration) KeepCollection(ctx context.Context, key map[string]types.AttributeValue) error {
	return m.settle(ctx, key, m.mover.KeepCollection)
}

func (m *Migration) settle(ctx context.Context, key item.Attributes, keep func(ctx context.Context, root, doc item.Place, t *write.Tally) error) error {
	if err := m.hasBegun(ctx); err != nil {
		return err
	}
	doc := item.Place{Table: m.source}
	var hash, sort bool
	doc.PK, hash = attr.ScalarOf(key[m.source.Hash])
	doc.SK, sort = attr.ScalarOf(key[m.source.Range])
	if !hash || sort != (m.source.Range != "") {
		return fmt.Errorf("%s: the key of a monolith in %s is %s: give these attributes, of the table's types", m.layout.Model, m.source.Name, keyNames(m.source))
	}
	var t write.Tally
	d, err := m.mover.Monolith(ctx, doc, &t)
	if err != nil {
		return err
	}
	if !d.There() {
		return &ConflictError{m.layout.Model, keyText(doc), "there is no monolith of that key"}
	}
	root, err := m.mover.RootOf(d)
	if err == nil {
		err = keep(ctx, root, doc, &t)
	}
	return publicOf(m.layout.Model, doc, err)
}

// keyNames are the attributes of a table's key.
func keyNames(t *item.Table) string {
	if t.Range == "" {
		return t.Hash
	}
	return t.Hash + " and " + t.Range
}
