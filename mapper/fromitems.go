package mapper

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/read/search"
	"github.com/itemize/itemize/query"
)

// FromItems returns the entity that Load of the selection would return if the tables held only these
// items. The keys of the map are the real names of the tables. Use it for items of a backup, an export,
// or a monolith that package migrate has split. It does no I/O. The error is ErrNotFound as for Load.
// The entity is read-only: it cannot be saved.
func (m *Mapper[T]) FromItems(s query.Selection[T], items map[string][]map[string]types.AttributeValue) (*Entity[T],
	error,
) {
	g := m.get()
	sel := m.resolved(s)
	switch {
	case sel.Err != nil:
		return nil, g.public(sel.Err)
	case isIndex(sel) || !sel.Entity || len(sel.Elsewhere) > 0:
		return nil, g.model.Errorf("the selection of FromItems has several entities: pass one of a single entity")
	}
	var images []item.Image
	for name, all := range items {
		t := g.model.TableNamed(name)
		if t == nil {
			return nil, g.model.Errorf("FromItems got items of the table %s: pass a table of the model", name)
		}
		some, err := g.model.Describe(t, all)
		if err != nil {
			return nil, err
		}
		images = append(images, some...)
	}
	recalled := *g.search.Protocol
	recalled.Reader = &read.Recalled{TableOf: g.model.TableOf, Images: images}
	var t draft
	f, err := g.search.Find(context.Background(), &recalled, sel, read.Options{Strong: true}, &t.Tally.Tally)
	if err != nil {
		return nil, g.public(err)
	}
	e := &Entity[T]{}
	own, err := g.search.Recall(f, &e.Value)
	if err != nil {
		return nil, g.public(err)
	}
	g.env.Estimate.Sizes.Loaded(own)
	st := g.newState(own)
	st.notStored = true
	e.set(st)
	return e, nil
}

// RootKey returns the real name of the table, and the key, of the root item of a selection's entity.
func (m *Mapper[T]) RootKey(s query.Selection[T]) (table string, key map[string]types.AttributeValue, err error) {
	sel := m.resolved(s)
	if sel.Err != nil {
		return "", nil, m.get().public(sel.Err)
	}
	e, err := search.EntityOf(m.get().model, sel)
	if err != nil {
		return "", nil, m.get().public(err)
	}
	return e.Root.Table.Name, e.Root.Key(), nil
}
