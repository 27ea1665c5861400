// Package search runs queries. It reads the items of a selection in order of their sort keys, and
// leaves out items of entities that do not exist. It yields the elements or entities, each with the
// position after it.
package search

import (
	"context"
	"reflect"
	"slices"
	"time"

	"github.com/itemize/itemize/internal/large/extern"
	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/codec"
	"github.com/itemize/itemize/internal/model/expr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/read/selection"
	"github.com/itemize/itemize/internal/read/snapshot"
	"github.com/itemize/itemize/internal/save/staging"
)

// Request is the query of a search.
type Request struct {
	Selection selection.Selection
	// Elem is the type of the elements, or the model's own for entities.
	Elem            reflect.Type
	Strong, Reverse bool
	// Make returns pointers to so many new zero elements, for hits to be found in; nil for those that the search makes.
	// It is called when those of before have been yielded, or passed over.
	Make func(n int) []any
	// Limit is the number of hits that are wanted, 0 for all.
	Limit int
	// Filter are conditions that all have to hold.
	Filter     []expr.Condition
	Projection []Projected
	// Roots asks for the roots alone of a flat model's entities.
	Roots bool
	// Entities asks for the snapshots of entities.
	Entities bool
	// KeysOnly reads only the attributes that show whether an element exists.
	KeysOnly bool
	// Fetch reads from the table what a secondary index does not project.
	Fetch bool
	// After is the cursor after which the search continues, "" for none.
	After string
	// Scatter says how a search over many shards reads.
	Scatter Scatter
	// SkipMissing skips missing tables of past times.
	SkipMissing bool
}

// Projected is a field that a search reads, by its name in Go, "" where only its attribute
// is known.
type Projected struct{ Field, Attribute string }

// Hit is an element or entity that was found.
type Hit struct {
	// Value is a pointer to it.
	Value any
	// Snapshot is the snapshot of an entity, if the request asks for entities.
	Snapshot *snapshot.Snapshot
	Item     *schema.Item // nil for an entity
	At       item.Place
	// where is nil for a hit after whose key At the search continues.
	where *where

	m *model.Model
	// identity is its entity's, values those of the placeholders in the element's key.
	identity, values []key.Value
}

// where is the position after a hit, and the hit's key.
type where struct {
	next  Position
	order key.Scalar
}

func (h *Hit) location() where {
	if h.where == nil {
		return where{Position{Start: h.At.SK}, h.At.SK}
	}
	return *h.where
}

// behind records, for a search over several partitions, the partition in which it continues after a
// hit.
func (h *Hit) behind(pk key.Scalar, period string) {
	w := h.location()
	w.next.Order, w.next.PK, w.next.Period = w.order, pk, period
	h.where = &w
}

// Placeholders returns the values of the placeholders in the hit's keys, in the types of their fields.
// For an entity they have the fields' names. For an element they have the element's names: "key" for a
// map's key, "." for a scalar element, and names with a "^" before them for fields of its owner.
func (h *Hit) Placeholders() (map[string]any, error) {
	all := map[string]any{}
	owner := "^"
	if h.Item == nil {
		owner = ""
	}
	for i, v := range h.identity[:h.m.Schema.Identities()] {
		k, source := h.m.Schema.KeyOf(i)
		typed, err := codec.FromKey(k, source, v)
		if err != nil {
			return nil, h.m.StoredErrorf(h.m.Schema.KeyFields[i].Name, h.At, "%w", err)
		}
		all[owner+h.m.Schema.KeyFields[i].Name] = typed
	}
	if h.Item == nil || h.Item.Key == nil {
		return all, nil
	}
	for i, src := range h.Item.Key.Sources {
		if src.From == schema.FromModel {
			continue
		}
		typed, err := codec.FromKey(h.Item.Key, i, h.values[i])
		if err != nil {
			return nil, h.m.StoredErrorf(h.Item.Name, h.At, "item %s: %w", h.At, err)
		}
		switch src.From {
		case schema.FromMapKey:
			all["key"] = typed
		case schema.FromSelf:
			all["."] = typed
		default:
			all[src.Value.Name] = typed
		}
	}
	return all, nil
}

// Field returns the model's field that the hit is in, "" for an entity.
func (h *Hit) Field() string {
	if h.Item == nil {
		return ""
	}
	return h.Item.Name
}

// Position is a place in a range.
type Position struct {
	// Start is the sort key to read on from, itself excluded.
	Start key.Scalar
	// After is the last entity that was yielded, of a flat model: entities up to it that
	// are met again are passed over.
	After string
	// Keys are the keys of the table and of the index to read on from, in a secondary index.
	Keys item.Attributes
	// PK and Period are, of a search over several partitions, those of the last hit, and Order is the
	// key that it came with.
	PK, Order key.Scalar
	Period    string
}

// Engine runs searches over one model.
type Engine struct {
	Model    *model.Model
	Source   read.Source
	Protocol *staging.Protocol
	// Reader reads items with known keys.
	Reader *read.Reader
	// CursorKey is the secret from which the keys of cursors are derived.
	CursorKey []byte
	// Fetcher reads external values. It is nil if the model has none.
	Fetcher *extern.Fetcher
	// Notes has the notes of unique values. It is nil if the model has none.
	Notes *Notes
}

// Search is a request under way.
type Search struct {
	*Engine
	r  Request
	s  selection.Selection
	o  read.Options
	u  *read.Usage
	at *Position // where it begins, nil for the beginning
	// asked is the first part, before its tables were determined.
	asked selection.Part
	// after is where a search over several partitions begins.
	after *Position
	// answers is the number of answers that were read to their end.
	answers int
	// since is when what it is given was read, zero for when it begins.
	since time.Time
}

// New returns the search for a request, checked. What it takes is added to u.
func (e *Engine) New(r Request, u *read.Usage) (*Search, error) {
	x := &Search{
		Engine: e, r: r, s: r.Selection.Resolve(e.Model.Schema).Everywhere(e.Model.Schema), u: u,
		o: read.Options{Strong: r.Strong, Reverse: r.Reverse},
	}
	if len(x.s.Parts) > 0 {
		x.asked = x.s.Parts[0]
	}
	if x.s = e.Model.InTables(x.s); x.s.Err != nil {
		return nil, x.s.Err
	}
	if x.scattered() {
		x.r.Make = nil // partitions are read at one time
	}
	if r.Scatter.Parallel < 0 || r.Scatter.Memory < 0 {
		return nil, e.Model.Errorf("Concurrency is %d, and Memory %d: use 1 or more, or leave them out",
			r.Scatter.Parallel, r.Scatter.Memory)
	}
	if err := x.check(); err != nil {
		return nil, err
	}
	var err error
	if x.o.Expr, err = x.expression(); err != nil {
		return nil, err
	}
	if len(r.Filter) == 0 && x.in() != nil {
		x.o.Limit = r.Limit
	}
	exact := !slices.ContainsFunc(x.s.Parts, func(p selection.Part) bool { return p.Keep != nil })
	if len(r.Filter) == 0 && exact &&
		(!x.flat() || r.Roots || e.Model.Schema.Scattered || len(e.Model.Schema.Items) == 1) {
		x.o.Limit = r.Limit
	}
	if r.After == "" {
		return x, nil
	}
	if err := x.Paged("After"); err != nil {
		return nil, err
	}
	p, err := x.openCursor(r.After)
	if err != nil {
		return nil, err
	}
	if x.scattered() {
		x.after = &p
		return x, nil
	}
	x.at, x.o.Start, x.o.From = &p, &p.Start, p.Keys
	return x, nil
}

// in is the range of a secondary index that the search is in, nil for one of the table.
func (x *Search) in() *selection.Inside {
	if len(x.s.Parts) == 0 {
		return nil
	}
	return x.s.Parts[0].In
}

// begun is when the search has begun.
func (x *Search) begun() time.Time {
	if !x.since.IsZero() {
		return x.since
	}
	return x.Model.Now()
}

// Answers returns the number of answers that the search has read, 0 for one that reads several partitions at a time.
func (x *Search) Answers() int {
	if x.scattered() {
		return 0
	}
	return max(x.answers, 1)
}

// Parts returns the parts that are read, and Options the read options.
func (x *Search) Parts() []selection.Part { return x.s.Parts }

// Options returns how the search reads.
func (x *Search) Options() read.Options { return x.o }

// flat reports whether the search is for entities of a flat model.
func (x *Search) flat() bool { return x.r.Elem == x.Model.Schema.Type.Go }

// check refuses a selection that does not contain the requested kind, or contains others.
func (x *Search) check() error {
	m := x.Model
	switch {
	case x.in() != nil:
		return x.checkIndex()
	case x.r.Fetch:
		return m.Errorf("Fetch reads attributes that an index does not project, but this query is of the table, " +
			"which has all: leave it out")
	}
	if !x.flat() && x.r.Roots {
		return m.Errorf("Roots is for entities of a flat model, but this query is of elements: leave it out")
	}
	if !x.flat() {
		return x.onlyElements()
	}
	if !m.Schema.Flat {
		return m.Errorf("a query of the model itself needs a flat model, with many entities in a partition: use Load")
	}
	if len(x.r.Filter) > 0 && len(m.Schema.Items) > 1 && !x.r.Roots {
		return m.Errorf("a filter is of one item, but an entity has several: filter in the application, or use Roots")
	}
	if x.r.Projection != nil && m.Schema.Scattered && !x.r.Roots {
		return m.Errorf("a projection is of the items of the query, but the query reads whole entities: use Roots, " +
			"or leave it out")
	}
	root := false
	for _, p := range x.s.Parts {
		root = root || p.Range.Kind == selection.None
	}
	if !root && !x.canHold(m.Root()) {
		return m.Errorf("the selection does not include the root %s, without which no entity is found: select more",
			m.Root().Name)
	}
	return nil
}

// Single refuses a search that does not continue in one range.
func (x *Search) Single(what string) error {
	if len(x.s.Parts) != 1 {
		return x.Model.Errorf("%s needs a query of one range, but this one has %d: use All", what, len(x.s.Parts))
	}
	return nil
}

// Paged refuses a search that does not continue in one range, of one partition or of each shard.
func (x *Search) Paged(what string) error {
	if x.scattered() && len(byPartition(x.s.Parts)) == len(x.s.Parts) {
		return nil
	}
	return x.Single(what)
}

// Hits runs the search. With each hit it calls yield, which returns false to end it; it ends at
// its limit by itself.
func (x *Search) Hits(ctx context.Context, yield func(Hit) bool) error {
	return x.hits(ctx, yield, func(read.Page) bool { return true })
}

// hits runs the search; pageEnd is called at the end of each answer, and may end it too.
func (x *Search) hits(ctx context.Context, yield func(Hit) bool, pageEnd func(read.Page) bool) error {
	if x.scattered() {
		_, err := x.scatter(ctx, yield)
		return err
	}
	err := x.plain(ctx, yield, func(p read.Page) bool {
		x.answers++
		return pageEnd(p)
	})
	if err != nil && len(x.s.Parts) > 0 {
		err = x.absent(x.s.Parts[0], x.u, err)
	}
	return err
}

// plain runs the search of one partition.
func (x *Search) plain(ctx context.Context, yield func(Hit) bool, pageEnd func(read.Page) bool) error {
	switch {
	case x.in() != nil:
		return x.indexed(ctx, yield, pageEnd)
	case x.flat() && (x.r.Roots || x.r.KeysOnly && x.Model.Schema.Scattered):
		return x.roots(ctx, yield, pageEnd)
	case x.flat() && x.Model.Schema.Scattered:
		return x.loadEach(ctx, yield, pageEnd)
	case x.flat():
		return x.entities(ctx, yield, pageEnd)
	}
	return x.elements(ctx, yield, pageEnd)
}

// Page returns the hits of one page, and the cursor behind them.
func (x *Search) Page(ctx context.Context) (hits []Hit, cursor string, err error) {
	if x.scattered() {
		return x.scatteredPage(ctx)
	}
	var next *Position
	err = x.hits(ctx, func(h Hit) bool {
		hits = append(hits, h)
		w := h.location()
		next = &w.next
		return true
	}, func(p read.Page) bool {
		switch {
		case !p.More:
			next = nil
		case x.r.Limit == 0 && x.in() != nil:
			next = &Position{Keys: p.LastKey}
			return false
		case x.r.Limit == 0 && (!x.flat() || len(hits) > 0):
			if !x.flat() {
				next = &Position{Start: p.Last}
			}
			return false
		}
		return true
	})
	if err != nil || next == nil {
		return hits, "", err
	}
	return hits, x.sealCursor(*next), nil
}

// entity returns an entity as the protocol of staged writes needs it.
func (e *Engine) entity(identity []key.Value) (*staging.Entity, error) {
	return EntityOf(e.Model, selection.Selection{Identity: identity})
}

// EntityOf returns the entity of a selection as the protocol of staged writes needs it.
func EntityOf(m *model.Model, s selection.Selection) (*staging.Entity, error) {
	at, err := s.In(m.Schema)
	if err != nil {
		return nil, err
	}
	root, err := m.RootIn(at, s.Identity)
	if err != nil {
		return nil, err
	}
	return &staging.Entity{
		Model: m, Identity: s.Identity, Reserved: m.Reserved,
		Root: root, RootLast: m.RootLast, Parts: s.Parts, WithRoot: s.Contains(m.Root().Table.Index, root.SK),
	}, nil
}
