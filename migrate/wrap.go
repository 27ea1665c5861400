package migrate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/migration/protocol"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/codec"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/save/write"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

// Wrapped reads and writes entities in both layouts. An update moves its entity first, with the same
// protocol as [Migration.Run]. All programs of an application use it, from before the run until the
// contract.
type Wrapped[T any] struct {
	m    *mapper.Mapper[T]
	g    *Migration
	both bool
}

// WrapOption is an option of Wrap: [Both].
type WrapOption interface{ wrap(*wrapSettings) }

type wrapFunc func(*wrapSettings)

func (f wrapFunc) wrap(s *wrapSettings) { f(s) }

type wrapSettings struct{ both bool }

// Both lets each load of a moved entity also read its monolith, strongly consistent. If a program that
// only knows the old layout has written it since, the error is a *ConflictError. It costs up to 100 RCU
// for each load; the plan has the number.
func Both() WrapOption { return wrapFunc(func(s *wrapSettings) { s.both = true }) }

// Wrap returns a reader and writer of both layouts, for a mapper of the migrated model. The mapper and
// the migration must have the same tables.
func Wrap[T any](m *mapper.Mapper[T], g *Migration, options ...WrapOption) *Wrapped[T] {
	var s wrapSettings
	for _, o := range options {
		if o != nil {
			o.wrap(&s)
		}
	}
	return &Wrapped[T]{m: m, g: g, both: s.both}
}

// ConflictError says that another step works on an entity, or that its two layouts contradict each
// other. Both are kept.
type ConflictError struct{ Model, Key, Reason string }

// Error returns the model, the key and the reason.
func (e *ConflictError) Error() string { return e.Model + ": " + e.Key + ": " + e.Reason }

// UnmovableError says why a monolith cannot be moved. It is a dead letter.
type UnmovableError struct {
	Model, Key string
	Reasons    []string
}

// Error returns the model, the key and the reasons.
func (e *UnmovableError) Error() string {
	return fmt.Sprintf("%s: the monolith %s cannot be moved: %s", e.Model, e.Key, strings.Join(e.Reasons, "; "))
}

// places are the keys of an entity's root item and monolith.
type places struct{ root, doc item.Place }

// places returns the places of a selection's entity.
func (w *Wrapped[T]) places(s query.Selection[T]) (at places, err error) {
	name, k, err := w.m.RootKey(s)
	if err != nil {
		return at, err
	}
	root := &at.root
	for _, t := range w.g.mover.Tables {
		if t.Name == name {
			root.Table = t
		}
	}
	if root.Table == nil {
		return at, fmt.Errorf("%s: the mapper's table %s is not a table of the migration: use the same names "+
			"(migrate.Tables, mapper.Tables)", w.g.layout.Model, name)
	}
	root.PK, _ = attr.ScalarOf(k[root.Table.Hash])
	root.SK, _ = attr.ScalarOf(k[root.Table.Range])
	at.doc, err = w.g.mover.DocOf(root.PK, root.SK)
	return at, err
}

// Load reads a selection of an entity in either layout. A moved entity costs the same as without Wrap,
// and a part of it one more strong read of the root item. Another entity costs a strong read of its
// monolith, and a few units. The value of a monolith is read-only; Update moves it. If the monolith
// cannot be moved, Load of the whole entity returns it, if it fits the model.
func (w *Wrapped[T]) Load(ctx context.Context, s query.Selection[T], options ...mapper.ReadOption) (*mapper.Entity[T],
	error,
) {
	at, err := w.places(s)
	if err != nil {
		return nil, err
	}
	for try := range wrapTries {
		e, err := w.loadLive(ctx, s, at, try > 0, options)
		if err == nil || !errors.Is(err, mapper.ErrNotFound) {
			return e, err
		}
		var t write.Tally
		c, readErr := w.g.mover.Read(ctx, at.root, at.doc, &t)
		switch {
		case readErr != nil && w.ended(ctx):
			return nil, err
		case readErr != nil:
			return w.asItIs(s, at, c, w.conflict(at, readErr))
		case c.Live && !c.Expired:
			continue
		case c.Items == nil:
			return nil, err
		}
		return w.m.FromItems(s, c.Items)
	}
	return nil, &ConflictError{
		w.g.layout.Model, at.root.String(),
		"the entity moved each time while it was read: load it again",
	}
}

const wrapTries = 10

// asItIs returns a monolith that the layout cannot split, as attributevalue decodes it, for a load of
// the whole entity. Otherwise it returns the reason.
func (w *Wrapped[T]) asItIs(s query.Selection[T], at places, c *protocol.Content, why error) (*mapper.Entity[T],
	error,
) {
	if _, whole := any(s).(*query.Key[T]); !whole || c == nil || c.Doc == nil || !errors.As(why, new(*UnmovableError)) {
		return nil, why
	}
	doc, err := w.g.mover.Content(c.Doc)
	if err != nil {
		return nil, why
	}
	if w.g.mover.Layout.Expired(doc, w.g.mover.Now()) {
		return nil, w.notFound(at)
	}
	var value T
	if err := codec.Unmarshal(&types.AttributeValueMemberM{Value: doc}, &value); err != nil {
		return nil, why
	}
	e := w.m.New(value)
	door.Mapper.Detach(e)
	return e, nil
}

// loadLive loads a live collection. A part without the root item does not show whether the entity is
// live, so the root item is read before and after it. For an update it is also read after the load,
// because a rollback may have begun since.
func (w *Wrapped[T]) loadLive(ctx context.Context, s query.Selection[T], at places, forUpdate bool,
	options []mapper.ReadOption,
) (*mapper.Entity[T], error) {
	var t write.Tally
	_, whole := any(s).(*query.Key[T])
	var before protocol.Root
	var err error
	if !whole {
		if before, err = w.liveRoot(ctx, at, &t); err != nil {
			return nil, err
		}
	}
	if forUpdate {
		options = append(options[:len(options):len(options)], mapper.Strong())
	}
	e, err := w.m.Load(ctx, s, options...)
	if err != nil {
		return nil, err
	}
	if !whole || forUpdate {
		after, err := w.liveRoot(ctx, at, &t)
		if err != nil {
			return nil, err
		}
		if !whole && !after.SameAs(&before) {
			return nil, w.notFound(at)
		}
	}
	if w.both {
		d, err := w.g.mover.Monolith(ctx, at.doc, &t)
		if err == nil && d.Contradicts() != nil {
			if _, err = w.liveRoot(ctx, at, &t); err == nil { // otherwise it was rolled back since
				err = w.conflict(at, d.Contradicts())
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return e, nil
}

// liveRoot reads the root item strongly consistent. If it is not live, the error is ErrNotFound.
func (w *Wrapped[T]) liveRoot(ctx context.Context, at places, t *write.Tally) (protocol.Root, error) {
	r, err := w.g.mover.Root(ctx, at.root, t)
	if err == nil && !r.Live() {
		err = w.notFound(at)
	}
	return r, err
}

// ended reports whether the migration has ended, so that only collections exist. It is also true if a
// contract died after it had deleted the table.
func (w *Wrapped[T]) ended(ctx context.Context) bool {
	p, err := w.g.phase(ctx)
	if err == nil && p == phaseRemoving && !w.g.own {
		over, err := w.g.hasEnded(ctx)
		return err == nil && over
	}
	return err == nil && p == phaseDone
}

// unexpired reports whether the root item is live and its time to live has not passed. An insert
// replaces an expired one.
func (w *Wrapped[T]) unexpired(ctx context.Context, at places) (bool, error) {
	var t write.Tally
	r, err := w.g.mover.Root(ctx, at.root, &t)
	return r.Live() && !w.g.mover.Expired(&r), err
}

func (w *Wrapped[T]) exists(at places) error {
	return fmt.Errorf("%s: %s exists already: load it, and save the change (%w)", w.g.layout.Model, at.root,
		mapper.ErrExists)
}

func (w *Wrapped[T]) notFound(at places) error {
	return fmt.Errorf("%s: %s does not exist (%w)", w.g.layout.Model, at.root, mapper.ErrNotFound)
}

// conflict turns the reason why an entity is blocked into a *ConflictError.
func (w *Wrapped[T]) conflict(at places, err error) error {
	return publicOf(w.g.layout.Model, at.doc, err)
}

// publicOf turns the reason into a *ConflictError or an *UnmovableError.
func publicOf(model string, doc item.Place, err error) error {
	var c *protocol.Conflict
	var u *protocol.Unmovable
	switch {
	case errors.As(err, &c):
		return &ConflictError{model, keyText(c.Place), c.Reason}
	case errors.As(err, &u):
		return &UnmovableError{model, keyText(doc), reasons(err)}
	}
	return err
}

// move moves the entity if it is a monolith, and finishes moves of other programs. It reports whether
// the collection is live. It waits for the end of a rollback, and begins a migration if none is under
// way.
func (w *Wrapped[T]) move(ctx context.Context, at places) (live bool, err error) {
	for try := range wrapTries {
		if live, err = w.moveOnce(ctx, at); !errors.As(err, new(*protocol.NotUnderway)) {
			return live, w.conflict(at, err)
		}
		if err := request.Pause(ctx, try); err != nil {
			return false, err
		}
	}
	return false, &ConflictError{w.g.layout.Model, at.root.String(), err.Error()}
}

func (w *Wrapped[T]) moveOnce(ctx context.Context, at places) (live bool, err error) {
	var t write.Tally
	r, err := w.g.mover.Root(ctx, at.root, &t)
	if err != nil || r.Live() {
		return r.Live(), err
	}
	if err := r.Conflict(); err != nil {
		return false, err
	}
	switch p, err := w.g.phase(ctx); {
	case err != nil:
		return false, err
	case p == phaseDone:
		return false, cmp.Or(w.g.mover.Discard(ctx, &r, &t), error(w.g.ended()))
	case p == phaseNone:
		if err := w.g.begin(ctx, p); err != nil {
			return false, err
		}
	case !isUnderway(p):
		return false, notUnderway(p)
	}
	live, err = w.g.mover.Finish(ctx, at.root, at.doc, &t)
	if err != nil && w.ended(ctx) {
		return false, w.g.ended()
	}
	return live, err
}

// Update moves the entity if it is a monolith, loads a selection strongly consistent, applies change,
// and saves the entity. It repeats that if another writer was faster. Until the contract, additions are
// written in a transaction with a check of the root item, at the double price and twice the units of
// the root item. So it refuses Independent, Staged and Move.
func (w *Wrapped[T]) Update(ctx context.Context, s query.Selection[T], change func(*T) error,
	options ...mapper.WriteOption,
) (*mapper.Receipt, error) {
	at, err := w.places(s)
	if err != nil {
		return nil, err
	}
	options = append(options[:len(options):len(options)], door.Mapper.RootInTransaction().(mapper.WriteOption))
	missed := 0
	for try := range wrapTries {
		if _, err := w.move(ctx, at); errors.As(err, new(*endedError)) {
			return nil, w.notFound(at)
		} else if err != nil {
			return nil, err
		}
		e, err := w.loadLive(ctx, s, at, true, nil)
		if errors.Is(err, mapper.ErrNotFound) && missed < 2 {
			missed++ // it may have been rolled back to a monolith
			if err := request.Pause(ctx, try); err != nil {
				return nil, err
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		if err := change(&e.Value); err != nil {
			return nil, err
		}
		r, err := w.m.Save(ctx, e, options...)
		var conflict *mapper.ConflictError
		if !errors.As(err, &conflict) {
			return r, err
		}
		missed = 0
		if err := request.Pause(ctx, try); err != nil {
			return r, err
		}
	}
	return nil, &ConflictError{
		w.g.layout.Model, at.root.String(),
		"another writer changed the entity each time: update it again",
	}
}

// Insert inserts an entity as a collection. If the entity exists in either layout, the error is
// mapper.ErrExists. It is one transaction of at most 98 items, with checks that no monolith exists and
// that the migration is under way. It costs twice the units of the items, 2 WCU, and twice those of a
// marked monolith.
func (w *Wrapped[T]) Insert(ctx context.Context, value T) (*mapper.Receipt, error) {
	e := w.m.New(value)
	at, err := w.placesOf(e)
	if err != nil {
		return nil, err
	}
	for try := range wrapTries {
		live, err := w.move(ctx, at)
		ended := errors.As(err, new(*endedError))
		if err == nil && live {
			live, err = w.unexpired(ctx, at)
		}
		switch {
		case ended:
		case errors.As(err, new(*UnmovableError)):
			return nil, fmt.Errorf("%w: %w", w.exists(at), err)
		case err != nil:
			return nil, err
		case live:
			return nil, w.exists(at)
		}
		r, err := mapper.Transact(ctx, append([]mapper.Part{w.m.SavePart(e)}, w.checks(at, ended)...)...)
		var conflict *mapper.ConflictError
		if !errors.As(err, &conflict) && !errors.Is(err, mapper.ErrExists) || ended {
			return r, err
		}
		var t write.Tally
		if d, readErr := w.g.mover.Monolith(ctx, at.doc, &t); readErr == nil && d.Unmarked() {
			return r, w.exists(at)
		}
		if !errors.As(w.g.underway(ctx), new(*protocol.NotUnderway)) {
			return r, err
		}
		if err := request.Pause(ctx, try); err != nil {
			return r, err
		}
	}
	return nil, &ConflictError{
		w.g.layout.Model, at.root.String(),
		"migrations into its table were rolled back each time: insert it again",
	}
}

// checks returns the checks of an insert: no monolith of the entity exists, and the migration is under
// way, or has ended.
func (w *Wrapped[T]) checks(at places, ended bool) []mapper.Part {
	part := func(c *types.ConditionCheck) mapper.Part {
		return mapper.RawPart(w.g.client, types.TransactWriteItem{ConditionCheck: c})
	}
	if ended {
		return []mapper.Part{part(w.g.phaseCheck(phaseDone, phaseRemoving))}
	}
	return []mapper.Part{part(&types.ConditionCheck{
		TableName: &at.doc.Table.Name, Key: at.doc.Key(),
		ConditionExpression:      aws.String("attribute_not_exists(#k) OR attribute_exists(#m)"),
		ExpressionAttributeNames: map[string]string{"#k": at.doc.Table.Hash, "#m": w.g.layout.Reserved.MovedName()},
	}), part(w.g.phaseCheck(underway...))}
}

// placesOf returns the places of a new entity.
func (w *Wrapped[T]) placesOf(e *mapper.Entity[T]) (at places, err error) {
	p, err := w.m.PlanSave(e)
	if err != nil {
		return at, err
	}
	for _, t := range w.g.mover.Tables {
		for _, it := range p.Items {
			root := item.Place{
				Table: t, PK: key.Scalar{Type: 'S', Text: it.Key.Partition},
				SK: key.Scalar{Type: 'S', Text: it.Key.Sort},
			}
			if t.Name == it.Key.Table && w.g.layout.Match(t.Index, root.SK) == w.g.layout.Root {
				doc, err := w.g.mover.DocOf(root.PK, root.SK)
				return places{root, doc}, err
			}
		}
	}
	return at, fmt.Errorf("%s: the insert has no root item", w.g.layout.Model)
}

// Delete deletes an entity in either layout: it deletes the collection, or marks the monolith as
// deleted. If it does not exist, the error is mapper.ErrNotFound.
func (w *Wrapped[T]) Delete(ctx context.Context, s *query.Key[T], options ...mapper.WriteOption) error {
	at, err := w.places(s)
	if err != nil {
		return err
	}
	var before *protocol.Monolith
	for try := range wrapTries {
		over, d, err := w.deleteOnce(ctx, s, at, options)
		if err == nil && over {
			w.removeDeleted(ctx, at, d)
		}
		if err != nil || over {
			return err
		}
		if before != nil && attr.SameItem(before.Attributes, d.Attributes) && !d.Unmarked() {
			return w.notFound(at)
		}
		before = d
		if err := request.Pause(ctx, try); err != nil {
			return err
		}
	}
	return &ConflictError{
		w.g.layout.Model, at.root.String(),
		"another writer changed the entity each time: delete it again",
	}
}

// removeDeleted deletes the marked monolith of an entity that was deleted while no run is under way,
// because old programs would see it, and only another rollback would remove it. If this fails, the
// entity is deleted nevertheless. before is the monolith as the delete has read it: a monolith that
// another program has marked since belongs to the next entity.
func (w *Wrapped[T]) removeDeleted(ctx context.Context, at places, before *protocol.Monolith) {
	if p, err := w.g.phase(ctx); err != nil || p != phaseNone && !isBack(p) {
		return
	}
	var t write.Tally
	if d, err := w.g.mover.Monolith(ctx, at.doc, &t); err == nil && d.Mark() != nil &&
		(d.Mark().Deleted || attr.SameItem(d.Attributes, before.Attributes)) {
		_, _ = w.g.mover.Remove(ctx, d, &t)
	}
}

// deleteOnce reads the monolith and then the root item, and deletes the entity. It returns the monolith
// if there was nothing to delete, or if another writer was faster.
func (w *Wrapped[T]) deleteOnce(ctx context.Context, s *query.Key[T], at places,
	options []mapper.WriteOption,
) (over bool, d *protocol.Monolith, err error) {
	var t write.Tally
	if d, err = w.g.mover.Monolith(ctx, at.doc, &t); err != nil && w.ended(ctx) {
		_, err = w.m.DeleteByKey(ctx, s, options...)
		if errors.As(err, new(*mapper.ConflictError)) { // its claim may exist
			_, _ = w.move(ctx, at)
			_, err = w.m.DeleteByKey(ctx, s, options...)
		}
		return true, d, err
	}
	if err != nil {
		return false, d, err
	}
	r, err := w.g.mover.Root(ctx, at.root, &t)
	if err == nil {
		err = r.Conflict()
	}
	if err == nil && r.Live() && d.Contradicts() != nil {
		var now *protocol.Monolith // it was read before the root item, so it may have moved since
		if now, err = w.g.mover.Monolith(ctx, at.doc, &t); err == nil {
			err = now.Contradicts()
		}
	}
	if err != nil {
		return false, d, w.conflict(at, err)
	}
	switch {
	case !r.Live() && d.Unmarked():
		over, err = w.g.mover.MarkDeleted(ctx, d, &t)
		// the program that moved it may have died; the next run or rollback removes the remaining items
		if over && r.State == item.Migrating {
			_, _ = w.g.mover.Finish(ctx, at.root, at.doc, &t)
		}
		return over, d, w.conflict(at, err)
	case r.Live(), r.State == item.Deleting:
		_, err := w.m.DeleteByKey(ctx, s, options...)
		var conflict *mapper.ConflictError
		if errors.As(err, &conflict) && !errors.As(err, new(*mapper.PartialError)) ||
			errors.Is(err, mapper.ErrNotFound) {
			return false, d, nil // otherwise it was rolled back since
		}
		return true, d, err
	}
	if _, err = w.move(ctx, at); errors.As(err, new(*endedError)) {
		err = nil // its claim is removed
	}
	return false, d, err // another program moved or deleted it
}
