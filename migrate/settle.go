package migrate

import (
	"context"
	"encoding/base64"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/save/write"
)

// KeepMonolith resolves an entity whose monolith was written after it moved, by a program that only
// knows the old layout. The monolith stays as it is, and the next run moves it. Changes in the new
// layout are lost. key is the key of the monolith in its table. If the entity is in one layout only,
// the error is a *ConflictError. It costs the units of the monolith and of the items.
func (m *Migration) KeepMonolith(ctx context.Context, key map[string]types.AttributeValue) (err error) {
	defer m.throttled(&err)
	switch p, err := m.phase(ctx); {
	case err != nil:
		return err
	case p == phaseRemoving:
		return m.removing()
	}
	return m.settle(ctx, key, m.mover.KeepMonolith)
}

// KeepCollection is the opposite of [Migration.KeepMonolith]: the collection stays, and changes in the
// old layout are lost. It costs the units of the monolith.
func (m *Migration) KeepCollection(ctx context.Context, key map[string]types.AttributeValue) error {
	return m.settle(ctx, key, m.mover.KeepCollection)
}

func (m *Migration) settle(ctx context.Context, key item.Attributes,
	keep func(ctx context.Context, root, doc item.Place, t *write.Tally) error,
) (err error) {
	defer m.throttled(&err)
	if err := m.hasBegun(ctx); err != nil {
		return err
	}
	doc := item.Place{Table: m.source}
	var hash, sort bool
	doc.PK, hash = attr.ScalarOf(key[m.source.Hash])
	doc.SK, sort = attr.ScalarOf(key[m.source.Range])
	if !hash || sort != (m.source.Range != "") {
		return fmt.Errorf("%s: the key of a monolith in %s is %s: pass these attributes, with the table's types",
			m.layout.Model, m.source.Name, keyNames(m.source))
	}
	var t write.Tally
	d, err := m.mover.Monolith(ctx, doc, &t)
	if err != nil {
		return err
	}
	if !d.There() {
		return &ConflictError{m.layout.Model, keyText(doc), "no monolith has that key"}
	}
	root, err := m.mover.RootOf(d)
	if err == nil {
		err = keep(ctx, root, doc, &t)
	}
	return publicOf(m.layout.Model, doc, err)
}

// keyNames returns the names of a table's key attributes.
func keyNames(t *item.Table) string {
	if t.Range == "" {
		return t.Hash
	}
	return t.Hash + " and " + t.Range
}

// keyOf converts the key of a monolith from the command line to the types of its table. Binary values
// are in base64.
func (m *Migration) keyOf(ctx context.Context, values []string) (map[string]types.AttributeValue, error) {
	d, err := m.describe(ctx, m.source)
	if err != nil {
		return nil, err
	}
	names := []string{m.source.Hash}
	if m.source.Range != "" {
		names = append(names, m.source.Range)
	}
	if len(values) != len(names) {
		return nil, fmt.Errorf("%s: the key of a monolith in %s is %s: write its value after the name of the table",
			m.layout.Model, m.source.Name, keyNames(m.source))
	}
	key := map[string]types.AttributeValue{}
	for i, name := range names {
		switch typesOf(d)[name] {
		case "N":
			key[name] = &types.AttributeValueMemberN{Value: values[i]}
		case "B":
			b, err := base64.StdEncoding.DecodeString(values[i])
			if err != nil {
				return nil, fmt.Errorf("%s: the key %s is binary: write it as base64: %w", m.layout.Model, name, err)
			}
			key[name] = &types.AttributeValueMemberB{Value: b}
		default:
			key[name] = &types.AttributeValueMemberS{Value: values[i]}
		}
	}
	return key, nil
}
