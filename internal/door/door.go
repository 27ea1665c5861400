// Package door has the functions of public packages that other packages of itemize call, and users do not: no page of
// the documentation shows them. Each public package sets its own when it is initialized. A parameter is any or a
// pointer where door cannot import its type, or the type has type parameters.
package door

import (
	"context"
	"iter"
	"time"
	"unsafe"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/large/compression"
	"github.com/itemize/itemize/internal/large/extern"
	"github.com/itemize/itemize/internal/migration/report"
	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/codec"
	"github.com/itemize/itemize/internal/model/expr"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/model/tabledef"
	"github.com/itemize/itemize/internal/read/search"
	"github.com/itemize/itemize/internal/read/selection"
	"github.com/itemize/itemize/internal/save/adoption"
)

// Field has functions of package field.
var Field struct {
	// Bind sets a handle for the field of a row. It reports whether to points to a handle.
	Bind func(to any, row codec.Row) bool
	// Row returns the row of a handle's field.
	Row func(handle any) codec.Row
	// Changes returns n adjacent values of field.Change without their types, and Conditions those of field.Condition.
	Changes    func(first unsafe.Pointer, n int) [][]expr.Change
	Conditions func(first unsafe.Pointer, n int) []expr.Condition
}

// Query has functions of package query. A pointer is to a value of a type with type parameters, whose memory does not
// depend on them.
var Query struct {
	// Spec returns the selection of a query.Node as data, and Set makes it that of a selection.
	Spec func(node unsafe.Pointer) selection.Selection
	Set  func(node unsafe.Pointer, s selection.Selection)
	// Key makes a query.Key, and Items a query.Items, that of a selection of a model.
	Key, Items func(to unsafe.Pointer, m *model.Model, s selection.Selection)
	// Entities returns a query.Query of entities.
	Entities func(q unsafe.Pointer) Entities
}

// Entities runs a query, and yields the snapshots of the entities with them. options is a []query.ReadOption. It is an
// interface for the same reason as Engine.
type Entities interface {
	Hits(ctx context.Context, r search.Runner, options any) iter.Seq2[search.Hit, error]
}

// Mapper has functions of package mapper. An m is a *mapper.Mapper.
var Mapper struct {
	// StoreObjects returns the mapper.Option that stores large values as objects in S3. buckets returns the real name
	// of a bucket that a tag names; nil means the same name.
	StoreObjects func(o extern.Objects, buckets func(declared string) string) any
	// Compress returns the mapper.Option that adds a codec to those of the standard library.
	Compress func(c compression.Codec) any
	// RootInTransaction returns the mapper.WriteOption that lets a save that adds items check in the same transaction
	// that the entity is live. A migration that is rolled back does not see other additions.
	RootInTransaction func() any
	// Detach makes a new *mapper.Entity one that was not read from its items. It cannot be saved.
	Detach func(entity any)
	// Incarnation returns the incarnation of an *mapper.Entity, nil for none.
	Incarnation func(entity any) []byte
	// OnPage returns the mapper.ScanOption that calls f for each answer of a scan, from several goroutines.
	OnPage func(f func()) any
	// Engine returns the engine of a mapper.
	Engine func(m any) Engine
	// EngineOf returns the engine of a model that the command itemize knows by its source, and the model. options is a
	// []mapper.Option.
	EngineOf func(client any, e *schema.Entity, options any) (Engine, *model.Model, error)
	// Model returns the model of a mapper. Tests set its clock and sizes.
	Model func(m any) *model.Model
	// Public returns the error of package mapper for an error of an internal package.
	Public func(m any, err error) error
	// Throttled returns the *mapper.ThrottledError of an error, if it is one.
	Throttled func(label string, err error) error
	// Item makes a mapper.ItemNode that of an item. Patch makes a mapper.ItemPatch that of changes of an entity's
	// fields, and Change a mapper.Patch that of one change. node is a query.Node. The pointers are as those of Query.
	Item   func(to, node unsafe.Pointer, of expr.Target)
	Patch  func(to, node unsafe.Pointer, changes [][]expr.Change)
	Change func(to, node unsafe.Pointer, c expr.Change)
}

// Engine has methods of a mapper's engine that some programs call. Because it is an interface, a program has only the
// methods that it calls.
type Engine interface {
	// Collector returns an error if no value of the model can be external.
	Collector() (*extern.Collector, error)
	// Tables returns the present tables, TablesAt those for some times, and TablesOf those of a period.
	Tables() []*tabledef.Table
	TablesAt(times []time.Time) ([]*tabledef.Table, error)
	TablesOf(period string) []*tabledef.Table
	// Adoption returns an error if the model has no unique values.
	Adoption() (*adoption.Pass, error)
}

// Large has functions of package large, for the command itemize.
var Large struct {
	// Collect is large.Collect for a model that is known by its source. options is a []large.CollectOption.
	Collect func(ctx context.Context, c *extern.Collector, options any) (*extern.Report, error)
	// Full returns the complete result of a *large.Collected.
	Full func(c any) *extern.Report
}

// Migrate has functions of package migrate, for the command itemize.
var Migrate struct {
	// Tables returns the tables of a *migrate.Layout.
	Tables func(layout any) []string
	// Plan returns the complete plan of a *migrate.Plan.
	Plan func(plan any) *report.Plan
	// OnProgress returns the migrate.Option that calls f with the progress of a run.
	OnProgress func(f func(report.Progress)) any
	// KeyOf returns the key of a monolith of a *migrate.Migration.
	KeyOf func(ctx context.Context, migration any, values []string) (map[string]types.AttributeValue, error)
}
