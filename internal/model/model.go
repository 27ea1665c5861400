// Package model is a model as one mapper has it: its schema, its codec, and the real tables. It knows
// the places of the items, and the kind of an item that was read.
package model

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/itemize/itemize/internal/large/compression"
	"github.com/itemize/itemize/internal/large/extern"
	"github.com/itemize/itemize/internal/model/codec"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/redact"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/read/selection"
)

// Model is a model.
type Model struct {
	Schema *schema.Entity
	Codec  codec.Model
	// Tables are those of the schema, by their real names; where tables follow the time these have
	// the placeholder yet, and Table returns those of a period.
	Tables []*item.Table
	// GuardTables are the tables that have guards alone, by their declared names.
	GuardTables map[string]*item.Table
	Reserved    item.Reserved
	Now         func() time.Time
	// Times says which tables there are, where tables follow the time.
	Times Times
	timed sync.Map // of *item.Table by periodTable: each is one
	// Source returns where the stored value of an attribute is read, under the name that it has in an
	// item; nil for a model without values outside of their items.
	Source func(f *item.Image, a *schema.Attribute, name string) *extern.Source

	plans   atomic.Pointer[[]*plan] // of shapes of items
	structs structs
	// MaxValue is how many bytes a large value may have that is read with its item, and so written.
	MaxValue int64
	// PartSize is the number of bytes in a part of an external value.
	PartSize int
	// Codecs are the codecs of large values in addition to those of the standard library.
	Codecs compression.Codecs
	// VersionsOnly has saves and deletes compare versions, and not the values that they have read.
	VersionsOnly bool
	// RootLast reports that the root is the last of an entity's items in its partition.
	RootLast bool
}

// New returns a model, with the real names of its tables.
func New(e *schema.Entity, c codec.Model, tables []string) *Model {
	m := &Model{
		Schema: e, Codec: c, Reserved: item.ReservedOf(e), Now: time.Now, PartSize: extern.PartSize,
		RootLast: rootLast(e),
	}
	for i, t := range e.Tables {
		m.Tables = append(m.Tables, &item.Table{Name: tables[i], Hash: t.Hash, Range: t.Range, Index: i})
	}
	for _, u := range e.Uniques {
		if u.Table != "" {
			m.NameGuardTable(u.Table, u.Table)
		}
	}
	return m
}

// Table returns a table by its index, and by the period that it holds where tables follow the time.
func (m *Model) Table(i int, period string) *item.Table {
	if period == "" {
		return m.Tables[i]
	}
	at := periodTable{i, period}
	if t, ok := m.timed.Load(at); ok {
		return t.(*item.Table)
	}
	t := *m.Tables[i]
	t.Name, t.Period = m.Schema.Periods.Named(t.Name, period), period
	own, _ := m.timed.LoadOrStore(at, &t)
	return own.(*item.Table)
}

// periodTable names the table of a period, by the index of the declared one.
type periodTable struct {
	index  int
	period string
}

// TableNamed returns a table of the model by its real name, nil for another.
func (m *Model) TableNamed(name string) *item.Table {
	for i, t := range m.Tables {
		if m.Schema.Periods == nil {
			if t.Name == name {
				return t
			}
			continue
		}
		if period, ok := m.Schema.Periods.In(t.Name, name); ok {
			return m.Table(i, period)
		}
	}
	return nil
}

// Time returns the time by the model's clock.
func (m *Model) Time() time.Time { return m.Now() }

// Label is the model's name in messages.
func (m *Model) Label() string { return m.Schema.Label() }

// Errorf returns an error about the model.
func (m *Model) Errorf(format string, args ...any) error {
	return Usage(fmt.Errorf("%s: %w", m.Label(), redact.Errorf(format, args...)))
}

// FieldErrorf returns an error about the use of a field of the model, or of an item that fields share.
func (m *Model) FieldErrorf(field, format string, args ...any) error {
	return Usage(fieldError(m, field, redact.Errorf(format, args...)))
}

func fieldError(m *Model, field string, err error) error {
	return fmt.Errorf("%s.%s: %w", m.Label(), field, err)
}

// ValueErrorf returns an error about a value of a field, which cannot be stored.
func (m *Model) ValueErrorf(field, format string, args ...any) error {
	return &schema.Unstorable{Label: m.Label(), Field: field, Err: redact.Errorf(format, args...)}
}

// KeyFields returns the values of the fields that keys name, as they are in v.
func (m *Model) KeyFields(v any) ([]key.Value, error) {
	values := make([]key.Value, len(m.Schema.KeyFields), len(m.Schema.KeyFields)+1)
	for i, o := range m.Schema.KeyFields {
		var err error
		if values[i], err = m.Codec.KeyField(v, i); err != nil {
			return nil, m.ValueErrorf(o.Name, "%w", err)
		}
	}
	if m.Schema.Shards == nil {
		return values, nil
	}
	shards, err := m.Schema.ShardsOf(values)
	if shards == nil {
		shards = []key.Value{{}} // drawn
	}
	return append(values, shards[0]), err
}

// Identity returns those of the key fields' values that an entity is known by, and the shard that
// it is on.
func (m *Model) Identity(keyFields []key.Value) []key.Value {
	return keyFields[:m.Schema.KeyFieldsInKey()]
}

// Shard returns the shard of an entity's identity. It returns a value without a kind if there are no
// shards, or if the shard is unknown.
func (m *Model) Shard(identity []key.Value) key.Value {
	if n := m.Schema.Identities(); m.Schema.Shards != nil && len(identity) > n {
		return identity[n]
	}
	return key.Value{}
}

// IsResharding reports whether the number of shards changes, so that some entities can be on one of several.
func (m *Model) IsResharding() bool {
	by := m.Schema.Shards
	return by != nil && !by.Random() && len(by.Counts) > 1
}

// CanReshard reports whether another writer can move an entity to another shard. identity has the
// values that it is known by.
func (m *Model) CanReshard(identity []key.Value) bool {
	if !m.IsResharding() || len(identity) < m.Schema.Identities() {
		return m.IsResharding()
	}
	shards, err := m.Schema.ShardsOf(identity[:m.Schema.Identities()])
	return err != nil || len(shards) != 1
}

// IdentityNames lists the fields that an entity is known by.
func (m *Model) IdentityNames() string {
	text := ""
	for i, o := range m.Schema.KeyFields[:m.Schema.Identities()] {
		if i > 0 {
			text += ", "
		}
		text += o.Name
	}
	return text
}

// EntityName names an entity in messages by its key values.
func (m *Model) EntityName(identity []key.Value) string {
	text := ""
	for i, o := range m.Schema.KeyFields[:m.Schema.Identities()] {
		if i > 0 {
			text += ", "
		}
		text += o.Name + " " + identity[i].String()
	}
	if s := m.Shard(identity); s.Kind != key.None {
		text += ", shard " + s.Text
	}
	return text
}

// Select returns the selection of the entity with these key values.
func (m *Model) Select(args []any) selection.Selection {
	e := m.Schema
	need := e.Identities()
	if len(args) > need || len(args) < need && !(e.Flat && len(args) >= e.PartitionFields()) {
		return selection.Selection{Err: m.Errorf("Key takes %d values, and got %d: pass %s", need, len(args),
			m.IdentityNames())}
	}
	values := make([]key.Value, len(args))
	for i, a := range args {
		var err error
		if values[i], err = codec.KeyFieldValue(e, i, a); err != nil {
			return selection.Selection{Err: ofArgument(err)}
		}
	}
	return selection.Entity(e, values)
}
