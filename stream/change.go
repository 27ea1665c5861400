package stream

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/field"
	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

// Event names a change of an entity or an item.
type Event string

// The events. An item is changed if one of its attributes has another value. An entity is never Changed: its items are.
const (
	None    Event = ""
	Created Event = "created"
	Changed Event = "changed"
	Deleted Event = "deleted"
	Expired Event = "expired" // deleted because its time to live had passed
)

// Change is a change of one item of a model.
type Change[T any] struct {
	// EntityEvent says that the entity was created or deleted, or has expired. Only the root item shows it.
	// A staged insert is Created when its root item becomes live, and a staged delete Deleted when it begins.
	EntityEvent Event
	// ItemEvent says that the item was created, changed or deleted, or has expired.
	ItemEvent Event
	// Entity selects the entity, to load it. Key is the key of the item.
	Entity query.Selection[T]
	Key    mapper.Key
	// Field is the field of the model that the item stores, or its sort key if several fields share it. Root reports
	// whether it is the root item.
	Field string
	Root  bool
	// Old and New have the values before and after, nil for none: the key fields and those of the item. For an element,
	// the slice or map has that element only.
	Old, New *T
	// External lists the fields with external values (chunk, s3=), which Old and New do not have.
	External []string
	// Incarnation identifies this insert of the entity, nil if its items have none. It distinguishes entities that had
	// the same key after each other.
	Incarnation []byte
	// Moved is, for an entity that was deleted, the incarnation that it has now if this was the delete of a Move. The
	// Created of the entity under the new key has it as its Incarnation. Both have no order.
	Moved []byte
	// Whole is the entity as a strongly consistent read finds it now, with the option WithEntity. It is nil if the
	// entity with this incarnation does not exist any more.
	Whole *mapper.Entity[T]
	// Snapshot reports that the change is no record, but an entity that a snapshot shows, as New and as Whole. It has
	// no Time and no SequenceNumber. Record has the key of its root item, and an ID that is the same each time.
	Snapshot bool
	// Time is when DynamoDB wrote the item, in full seconds.
	Time time.Time
	// SequenceNumber is the position of the record in its shard. It grows with the changes of an item.
	SequenceNumber string
	// Record is the record. Its ID identifies it, so that a handler can store that it has handled it.
	Record *Record

	images mapper.ItemChange[T]
}

// Changed reports whether a field has another value after the change, or a value only before or after it. Pass
// handles of generated code: those of the model (UserFields.Email), or of a struct in it (WishFields.Price, for an
// element). With several it reports whether one of them has changed. Fields of other items have not.
// In a snapshot all fields have changed. Changed panics for a handle of another model, and in a Change that a test has
// written as a literal: make its records with RecordsOf.
func (c *Change[T]) Changed(fields ...field.Handle) bool {
	if c.Snapshot {
		return true
	}
	if c.images.Old == nil && c.images.New == nil {
		panic("stream: Changed of a Change without a record: make records for tests with stream.RecordsOf")
	}
	return c.images.Changed(fields...)
}

// Position is the sequence number with 40 digits, so that positions can be compared as text: an idempotent handler
// stores the position of the last change that it has handled. In a snapshot it is 40 zeros, before all others.
func (c *Change[T]) Position() string { return position(c.SequenceNumber) }

func position(sequence string) string {
	return strings.Repeat("0", max(0, 40-len(sequence))) + sequence
}

// OnOption is an option of On.
type OnOption func(*onSettings)

type onSettings struct {
	whole bool
	read  []mapper.ReadOption
}

// WithEntity loads the entity before each call of the handler, strongly consistent, as Change.Whole. It costs what
// Mapper.PlanLoad predicts: 1 RCU for each 4 KB of the entity, for each change. It loads nothing if the change has
// deleted the entity. A change of another item is not shown if its entity does not exist any more.
func WithEntity(options ...mapper.ReadOption) OnOption {
	return func(s *onSettings) { s.whole, s.read = true, append(s.read, options...) }
}

// On adds a handler for the changes of a model. A router can have several handlers for a model, which are called in
// this order. On panics if an argument is nil, or the router is used already.
func On[T any](r *Router, m *mapper.Mapper[T], handler func(context.Context, *Change[T]) error, options ...OnOption) {
	switch {
	case r == nil:
		panic("stream.On: the router is nil: make it with stream.NewRouter")
	case m == nil:
		panic("stream.On: the mapper is nil: make it with mapper.New")
	case handler == nil:
		panic("stream.On: the handler is nil: pass a function")
	}
	r.open("stream.On")
	var s onSettings
	for _, o := range options {
		if o != nil {
			o(&s)
		}
	}
	on := &route[T]{m, door.Mapper.Model(m), handler, s}
	r.routes = append(r.routes, on)
}

// route is the handler of one model.
type route[T any] struct {
	mapper   *mapper.Mapper[T]
	model    *model.Model
	handler  func(context.Context, *Change[T]) error
	settings onSettings
}

func (r *route[T]) table(name string) *item.Table {
	if name == "" { // of an event without the ARN of its stream
		return r.model.Tables[0]
	}
	return r.model.TableNamed(name)
}

func (r *route[T]) changes(
	rec *Record,
	ended *deletions,
	calls *[]func(context.Context) error,
) (matched bool, err error) {
	images, err := r.decode(rec)
	if err != nil {
		return true, err
	}
	old, now := ofModel(images.Old), ofModel(images.New)
	if old == nil && now == nil {
		return false, nil
	}
	if old != nil && now != nil && replaced(old, now) {
		r.add(calls, rec, ended, images, piece[T]{old: old, expired: old.State == "expired"})
		r.add(calls, rec, ended, images, piece[T]{now: now})
	} else {
		r.add(calls, rec, ended, images, piece[T]{old, now, rec.Expired})
	}
	return true, nil
}

// decode decodes the images of a record.
func (r *route[T]) decode(rec *Record) (*mapper.ItemChange[T], error) {
	if rec.Table == "" {
		return r.mapper.DecodeChange(rec.Old, rec.New)
	}
	return r.mapper.DecodeChange(rec.Old, rec.New, mapper.InTable(rec.Table))
}

// ofModel returns an item if it is one of the model, otherwise nil.
func ofModel[T any](d *mapper.Decoded[T]) *mapper.Decoded[T] {
	if d == nil || d.Value == nil {
		return nil
	}
	return d
}

// replaced reports whether a write has replaced the item of another entity with the same key: of one that has
// expired or was deleted. An item without an incarnation can get one.
func replaced[T any](old, now *mapper.Decoded[T]) bool {
	if now.Incarnation == nil || bytes.Equal(old.Incarnation, now.Incarnation) {
		return false
	}
	return old.Incarnation != nil || old.State == "expired"
}

// piece is a record, or the part of one that is about one entity. expired reports that the time to live has ended it.
type piece[T any] struct {
	old, now *mapper.Decoded[T]
	expired  bool
}

// add adds the call of the handler for a piece of a record, unless it shows nothing.
func (r *route[T]) add(calls *[]func(context.Context) error, rec *Record, ended *deletions,
	images *mapper.ItemChange[T],
	p piece[T],
) {
	old, now := p.old, p.now
	entity, event := events(old, now, p.expired)
	either := cmp.Or(now, old)
	// A claim of an insert can be written twice.
	repeated := now != nil && now.State == "staged" && !exists(old) && old != nil &&
		bytes.Equal(old.Incarnation, now.Incarnation)
	if either.Root && !exists(now) && old != nil && !repeated {
		ended.add(old.Incarnation)
	}
	leftover := !either.Root && (ended.has(either.Incarnation) || now == nil && images.New != nil)
	if entity == None && event == None || leftover || event == Changed && !r.differs(rec) {
		return
	}
	again := false
	*calls = append(*calls, func(ctx context.Context) error {
		images, old, now := images, old, now
		if again { // a handler that has failed may have changed the values
			var err error
			if images, err = r.decode(rec); err != nil {
				return err
			}
			if old != nil {
				old = images.Old
			}
			if now != nil {
				now = images.New
			}
		}
		again = true
		c := &Change[T]{
			EntityEvent: entity, ItemEvent: event, Entity: either.Entity, Key: either.Key, Field: either.Field,
			Root: either.Root, External: either.External, Incarnation: either.Incarnation,
			Time: rec.Time, SequenceNumber: rec.SequenceNumber, Record: rec, images: *images,
		}
		c.show(old, now)
		return r.call(ctx, c)
	})
}

// show sets the values that a change has, of a record that can show two changes.
func (c *Change[T]) show(old, now *mapper.Decoded[T]) {
	if exists(old) || old != nil && !old.Root {
		c.Old = old.Value
	} else {
		c.images.Old = nil
	}
	if exists(now) || now != nil && !now.Root {
		c.New = now.Value
	} else {
		c.images.New = nil
	}
	if c.EntityEvent == Deleted && old.Incarnation != nil {
		b := item.MovedIncarnation(&types.AttributeValueMemberB{Value: old.Incarnation})
		c.Moved = b.(*types.AttributeValueMemberB).Value
	}
}

// events returns what a change from old to now means.
func events[T any](old, now *mapper.Decoded[T], expired bool) (entity, event Event) {
	end := Deleted
	if expired {
		end = Expired
	}
	before, after := exists(old), exists(now)
	if !(old != nil && old.Root || now != nil && now.Root) {
		before = old != nil
		after = now != nil && (before || now.State != "staged")
		switch {
		case before && after:
			return None, Changed
		case before && now == nil:
			return None, end
		case after:
			return None, Created
		}
		return None, None
	}
	switch {
	case before && after:
		return None, Changed
	case before:
		return end, end
	case after:
		return Created, Created
	}
	return None, None
}

// exists reports whether a root item means that its entity exists. An expired one does until it is deleted or replaced,
// because only that shows its end.
func exists[T any](d *mapper.Decoded[T]) bool {
	return d != nil && (d.State == "live" || d.State == "expired")
}

// differs reports whether an item has changed in more than the attributes that the library keeps for itself.
func (r *route[T]) differs(rec *Record) bool {
	e := r.model.Schema
	own := func(name string) bool {
		return name == e.Version || name == e.State || name == e.Incarnation || name == e.Moved
	}
	for _, long := range []bool{false, true} { // long texts are compared last, if no other attribute differs
		for name, v := range rec.New {
			if isLong(v) == long && !own(name) && !attr.Same(v, rec.Old[name]) {
				return true
			}
		}
	}
	for name := range rec.Old {
		if rec.New[name] == nil && !own(name) {
			return true
		}
	}
	return false
}

// isLong reports whether a value is a text of more bytes than a few comparisons of others cost.
func isLong(v types.AttributeValue) bool {
	s, ok := v.(*types.AttributeValueMemberS)
	return ok && len(s.Value) > 256
}

// call calls the handler.
func (r *route[T]) call(ctx context.Context, c *Change[T]) error {
	if r.settings.whole && c.EntityEvent != Deleted && c.EntityEvent != Expired {
		e, err := r.load(ctx, c.Entity)
		if err != nil {
			return err
		}
		if e != nil && bytes.Equal(door.Mapper.Incarnation(e), c.Incarnation) {
			c.Whole = e
		}
		if c.Whole == nil && c.EntityEvent == None {
			return nil
		}
	}
	return r.handler(ctx, c)
}

// loadTime limits the load of an entity.
const loadTime = 2 * time.Minute

// load loads an entity, nil for one that does not exist.
func (r *route[T]) load(ctx context.Context, s query.Selection[T]) (*mapper.Entity[T], error) {
	ctx, cancel := context.WithTimeout(ctx, loadTime) // an answer that is lost must not stop the handlers
	defer cancel()
	e, err := r.mapper.Load(ctx, s, append(slices.Clone(r.settings.read), mapper.Strong())...)
	if errors.Is(err, mapper.ErrNotFound) {
		return nil, nil
	}
	return e, err
}

func (r *route[T]) snapshot(
	dog *watchdog,
	table string,
	show func(*Record, func(context.Context) error, error) bool,
) error {
	more, ctx, shown := true, dog.ctx, show
	show = func(rec *Record, call func(context.Context) error, err error) bool {
		dog.pause()
		defer dog.resume()
		return shown(rec, call, err)
	}
	invalid := mapper.OnInvalid(func(x mapper.Invalid) {
		if x.Table == table && more {
			more = show(snapshotRecord(table, x.Key), nil, x.Err)
		}
	})
	pages := door.Mapper.OnPage(dog.progress).(mapper.ScanOption)
	for e, err := range r.mapper.Scan(ctx, mapper.Strong(), invalid, pages) {
		if err != nil {
			return err
		}
		at, key, err := r.mapper.RootKey(e)
		if err != nil {
			return err
		}
		if rec := snapshotRecord(at, key); at == table && more {
			again := false
			more = show(rec, func(ctx context.Context) error {
				if again { // a handler that has failed may have changed the value
					_, err := r.reload(ctx, rec)
					return err
				}
				again = true
				return r.show(ctx, rec, e)
			}, nil)
		}
		if !more {
			break
		}
	}
	return ctx.Err()
}

// snapshotRecord returns the record of an entity in a snapshot.
func snapshotRecord(table string, key map[string]types.AttributeValue) *Record {
	return &Record{
		Table: table, Shard: snapshotShard, Keys: key,
		ID: snapshotShard + "-" + hex.EncodeToString(attr.Hash(key)),
	}
}

// show calls the handler for an entity of a snapshot.
func (r *route[T]) show(ctx context.Context, rec *Record, e *mapper.Entity[T]) error {
	d, err := r.mapper.Decode(rec.Keys, mapper.InTable(rec.Table))
	if err != nil {
		return err
	}
	return r.handler(ctx, &Change[T]{
		EntityEvent: Created, ItemEvent: Created, Root: true, New: &e.Value, Whole: e, Snapshot: true, Record: rec,
		Entity: e, Key: d.Key, Field: d.Field, Incarnation: door.Mapper.Incarnation(e),
	})
}

func (r *route[T]) reload(ctx context.Context, rec *Record) (matched bool, err error) {
	d, err := r.mapper.Decode(rec.Keys, mapper.InTable(rec.Table))
	if err != nil || d.Value == nil {
		return err != nil, err
	}
	e, err := r.load(ctx, d.Entity)
	if err != nil || e == nil {
		return true, err
	}
	return true, r.show(ctx, rec, e)
}

func (r *route[T]) name() string { return r.model.Tables[0].Name + " " + r.model.Schema.PK.Text }
