package mapper

import (
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/itemize/itemize/internal/codec"
	"github.com/itemize/itemize/internal/key"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/schema"
	"github.com/itemize/itemize/internal/selection"
)

// core is the inside of a mapper. It is not generic: it works on the schema, the
// codec, and values as pointers in an any.
type core struct {
	client Client
	schema *schema.Entity
	codec  codec.Model
	reader *read.Reader
	// tables are the real names of the schema's tables.
	tables []string
	now    func() time.Time
	// cursorKey signs cursors.
	cursorKey []byte
	observers []Observer
}

func newCore(client Client, e *schema.Entity, model codec.Model, options []Option) (*core, error) {
	if client == nil {
		return nil, fmt.Errorf("%s: the client is nil: pass dynamodb.NewFromConfig(cfg), or a client of your own", e.Label())
	}
	var s settings
	for _, o := range options {
		if o != nil {
			o.apply(&s)
		}
	}
	c := &core{client: client, schema: e, codec: model, now: time.Now}
	c.observers = s.observers
	if c.cursorKey = s.cursorKey; c.cursorKey == nil {
		c.cursorKey = []byte(rand.Text()) // of this mapper alone
	} else if len(c.cursorKey) < minCursorKey {
		return nil, fmt.Errorf("%s: the CursorKey has %d bytes: give it %d random ones or more", e.Label(), len(c.cursorKey), minCursorKey)
	}
	for i, t := range e.Tables {
		name := t.Name
		if s.rename != nil {
			name = s.rename(name)
		}
		if i == 0 && s.table != nil {
			name = *s.table
		}
		if !isTableName(name) {
			return nil, fmt.Errorf("%s: %q cannot be the name of a table: DynamoDB takes 3 to 255 letters, digits, '_', '-' and '.', or an ARN", e.Label(), name)
		}
		if slices.Contains(c.tables, name) {
			return nil, fmt.Errorf("%s: two of its tables are named %q: give each a name of its own with mapper.Tables", e.Label(), name)
		}
		c.tables = append(c.tables, name)
	}
	c.reader = &read.Reader{Client: client, Schema: e, Tables: c.tables, Now: func() time.Time { return c.now() }}
	return c, nil
}

// minCursorKey is the least size of a key that signs cursors, in bytes.
const minCursorKey = 16

func isTableName(name string) bool {
	if strings.HasPrefix(name, "arn:") {
		return true
	}
	other := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' || r == '.')
	}
	return len(name) >= 3 && len(name) <= 255 && !strings.ContainsFunc(name, other)
}

// selection returns the selection of the entity with these key values.
func (c *core) selection(args []any) selection.Selection {
	e := c.schema
	need := e.Identities()
	if len(args) > need || len(args) < need && !(e.Flat && len(args) >= partitionKeyFields(e)) {
		return selection.Selection{Err: fmt.Errorf("%s: Key got %d values, and takes %d: %s", e.Label(), len(args), need, identityNames(e))}
	}
	values := make([]key.Value, len(args))
	for i, a := range args {
		var err error
		if values[i], err = codec.KeyFieldValue(e, i, a); err != nil {
			return selection.Selection{Err: err}
		}
	}
	return selection.Entity(e, values)
}

// resolved returns a selection with its parts, which generated code leaves to be made.
func (c *core) resolved(s selection.Selection) selection.Selection { return s.Resolve(c.schema) }

// partitionKeyFields returns how many fields the partition key names.
func partitionKeyFields(e *schema.Entity) int {
	n := 0
	for _, s := range e.PK.Sources {
		n = max(n, s.KeyField+1)
	}
	return n
}

func identityNames(e *schema.Entity) string {
	text := ""
	for i, o := range e.KeyFields[:e.Identities()] {
		if i > 0 {
			text += ", "
		}
		text += o.Name
	}
	return text
}

// keyFields returns the values of the fields that keys name, as they are in v.
func (c *core) keyFields(v any) ([]key.Value, error) {
	values := make([]key.Value, len(c.schema.KeyFields))
	for i, o := range c.schema.KeyFields {
		var err error
		if values[i], err = c.codec.KeyField(v, i); err != nil {
			return nil, fmt.Errorf("%s.%s: %w", c.schema.Label(), o.Name, err)
		}
	}
	return values, nil
}

// identity returns those of the keyFields' values that an entity is known by.
func (c *core) identity(keyFields []key.Value) []key.Value { return keyFields[:c.schema.Identities()] }

// place is an item's place.
type place struct {
	table  int
	pk, sk key.Scalar
}

// public returns the place as errors and plans show it.
func (c *core) public(p place) Key {
	return Key{Table: c.tables[p.table], Partition: p.pk.Plain(), Sort: plainSort(p.sk)}
}

func plainSort(s key.Scalar) string {
	if s.Type == 0 {
		return ""
	}
	return s.Plain()
}

// fieldOf names an item in messages: its field, or the sort key of an item of
// several fields.
func fieldOf(it *schema.Item) string { return it.Name }

// sortKey returns the sort key of an item's record. pos is the element's place,
// for the key of a map.
func (c *core) sortKey(it *schema.Item, keyFields []key.Value, rec any, pos codec.Pos) (key.Scalar, error) {
	switch {
	case it.Key == nil:
		return key.Scalar{}, nil
	case it.Key.Fixed.Type != 0:
		return it.Key.Fixed, nil
	}
	var buf [8]key.Value
	values := buf[:0]
	for i, s := range it.Key.Sources {
		v, err := c.sourceValue(it, i, s, keyFields, rec, pos)
		if err != nil {
			return key.Scalar{}, fmt.Errorf("%s.%s: %s: %w", c.schema.Label(), it.Name, s.Text, err)
		}
		values = append(values, v)
	}
	sk, err := it.Key.Template.Render(values)
	if err == nil {
		err = sk.CheckSize(key.MaxSort)
	}
	if err != nil {
		return key.Scalar{}, fmt.Errorf("%s.%s: %s: %w", c.schema.Label(), it.Name, it.Key.SourceName(err), err)
	}
	return sk, nil
}

func (c *core) sourceValue(it *schema.Item, i int, s schema.Source, keyFields []key.Value, rec any, pos codec.Pos) (key.Value, error) {
	switch s.From {
	case schema.FromModel:
		return keyFields[s.KeyField], nil
	case schema.FromMapKey:
		return c.codec.Elements(it.Index).MapKey(pos.Key)
	}
	return c.codec.Record(it.Index).Key(rec, i)
}

// partitionKey returns the partition key of the keyFields' values.
func (c *core) partitionKey(keyFields []key.Value) (key.Scalar, error) {
	pk, err := c.schema.PartitionKey(keyFields)
	if err == nil {
		if err = pk.CheckSize(key.MaxPartition); err != nil {
			err = fmt.Errorf("%s: %s: %w", c.schema.Label(), c.schema.PK.SourceName(err), err)
		}
	}
	return pk, err
}
