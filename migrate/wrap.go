package migrate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/attr"
	"github.com/itemize/itemize/internal/codec"
	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/flow"
	"github.com/itemize/itemize/internal/item"
	"github.com/itemize/itemize/internal/key"
	"github.com/itemize/itemize/internal/migration/protocol"
	"github.com/itemize/itemize/internal/schema"
	"github.com/itemize/itemize/internal/write"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

// Wrapped reads and writes entities in both layouts: those that are monoliths yet, and those that have moved. An update
// moves its entity first, by the same protocol as [Migration.Run]. All programs of an application go through it from
// before the run until the contract.
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

// Both has each load of an entity that has moved read its monolith too, strongly, and be a
// *ConflictError where a program that knows only the old layout has written it since. It costs up to
// 100 RCU a load: the plan tells how many.
func Both() WrapOption { return wrapFunc(func(s *wrapSettings) { s.both = true }) }

// Wrap returns readers and writers of both layouts, of a mapper of the model whose layout is migrated.
// The mapper's tables are those of the migration.
func Wrap[T any](m *mapper.Mapper[T], g *Migration, options ...WrapOption) *Wrapped[T] {
	var s wrapSettings
	for _, o := range options {
		if o != nil {
			o.wrap(&s)
		}
	}
	return &Wrapped[T]{m: m, g: g, both: s.both}
}

// ConflictError says that something else is done to an entity, or that its two layouts contradict each
// other: what there is of both is kept.
type ConflictError struct{ Model, Key, Reason string }

// Error returns the model, the key and the reason.
func (e *ConflictError) Error() string { return e.Model + ": " + e.Key + ": " + e.Reason }

// UnmovableError says why a monolith cannot be read or moved as what the model's layout makes of it: a dead letter.
type UnmovableError struct {
	Model, Key string
	Reasons    []string
}

// Error returns the model, the key and the reasons.
func (e *UnmovableError) Error() string {
	return fmt.Sprintf("%s: the monolith %s cannot be moved: %s", e.Model, e.Key, strings.Join(e.Reasons, "; "))
}

// places are where the root of an entity and its monolith lie.
type places struct{ root, doc item.Place }

// places returns those of a selection's entity.
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
		return at, fmt.Errorf("%s: the mapper's table %s is none of the migration's: give both the same names "+
			"(migrate.Tables, mapper.Tables)", w.g.layout.Model, name)
	}
	root.PK, _ = attr.ScalarOf(k[root.Table.Hash])
	root.SK, _ = attr.ScalarOf(k[root.Table.Range])
	at.doc, err = w.g.mover.DocOf(root.PK, root.SK)
	return at, err
}

// Load reads a selection of an entity in whichever layout it is. An entity that has moved costs what it
// costs without Wrap, and a part of it a strong read of the root more; one that has not, its monolith
// read strongly, and a few units. What is read of a monolith is for reading: an Update moves it. A
// monolith that cannot be moved is loaded as it is, if it fits the model, and as a whole.
func (w *Wrapped[T]) Load(ctx context.Context, s query.Selection[T], options ...mapper.ReadOption) (*mapper.Entity[T],
	error) {
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
	return nil, &ConflictError{w.g.layout.Model, at.root.String(),
		"the entity was moved again and again while it was read: load it again"}
}

const wrapTries = 10

// asItIs returns a monolith that the layout cannot make items of, as attributevalue decodes it, or why
// that is not to be had: of a whole entity.
func (w *Wrapped[T]) asItIs(s query.Selection[T], at places, c *protocol.Content, why error) (*mapper.Entity[T],
	error) {
	if _, whole := any(s).(query.Key[T]); !whole || c == nil || c.Doc == nil || !errors.As(why, new(*UnmovableError)) {
		return nil, why
	}
	doc, err := w.g.mover.Content(c.Doc)
	if err != nil {
		return nil, why
	}
	if w.g.mover.Layout.Expired(doc, w.g.mover.Now()) {
		return nil, notFound(at)
	}
	var value T
	if err := attributevalue.UnmarshalMap(doc, &value); err != nil {
		return nil, why
	}
	codec.AfterLoad(&value)
	return mapper.InternalOf[T, T]{}.Detached(door.Key{}, w.m, value), nil
}

// loadLive loads a collection that is live. A part without the root tells nothing by itself: the root
// is read before and after it. So it is after what is loaded to be written, which may be under a
// rollback since.
func (w *Wrapped[T]) loadLive(ctx context.Context, s query.Selection[T], at places, forUpdate bool,
	options []mapper.ReadOption) (*mapper.Entity[T], error) {
	var t write.Tally
	_, whole := any(s).(query.Key[T])
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
			return nil, notFound(at)
		}
	}
	if w.both {
		d, err := w.g.mover.Monolith(ctx, at.doc, &t)
		if err == nil && d.Contradicts() != nil {
			if _, err = w.liveRoot(ctx, at, &t); err == nil { // else it was rolled back since
				err = w.conflict(at, d.Contradicts())
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return e, nil
}

// liveRoot reads the root strongly: ErrNotFound of one that is not live.
func (w *Wrapped[T]) liveRoot(ctx context.Context, at places, t *write.Tally) (protocol.Root, error) {
	r, err := w.g.mover.Root(ctx, at.root, t)
	if err == nil && !r.Live() {
		err = notFound(at)
	}
	return r, err
}

// ended reports whether the migration has ended, so that there are collections alone, and perhaps no
// table of monoliths: also if the contract died behind the delete of that.
func (w *Wrapped[T]) ended(ctx context.Context) bool {
	p, err := w.g.phase(ctx)
	if err == nil && p == phaseRemoving && !w.g.own {
		over, err := w.g.hasEnded(ctx)
		return err == nil && over
	}
	return err == nil && p == phaseDone
}

// unexpired reports whether the root is live, and its time to live is not over: an insert replaces another.
func (w *Wrapped[T]) unexpired(ctx context.Context, at places) (bool, error) {
	var t write.Tally
	r, err := w.g.mover.Root(ctx, at.root, &t)
	return r.Live() && !w.g.mover.Expired(&r), err
}

func notFound(at places) error { return fmt.Errorf("%s: %w", at.root, mapper.ErrNotFound) }

// conflict makes what stands in the way of an entity a *ConflictError.
func (w *Wrapped[T]) conflict(at places, err error) error {
	return publicOf(w.g.layout.Model, at.doc, err)
}

// publicOf makes what stands in the way of an entity a *ConflictError or an *UnmovableError.
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

// move moves the entity, if it is a monolith, and finishes what others have begun. It reports whether
// its collection is live. It waits for the end of a rollback, and begins a migration where none is
// under way.
func (w *Wrapped[T]) move(ctx context.Context, at places) (live bool, err error) {
	for try := range wrapTries {
		if live, err = w.moveOnce(ctx, at); !errors.As(err, new(*protocol.NotUnderway)) {
			return live, w.conflict(at, err)
		}
		if err := flow.Pause(ctx, try); err != nil {
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

// Update moves the entity if it is a monolith, loads a selection strongly, applies change, and saves
// it: again where somebody else came between. What it adds is written together with a check of the
// root, until the contract, which costs the double price and twice the units of the root. So it takes
// neither Independent, nor Staged, nor Move.
func (w *Wrapped[T]) Update(ctx context.Context, s query.Selection[T], change func(*T) error,
	options ...mapper.WriteOption) (*mapper.Receipt, error) {
	at, err := w.places(s)
	if err != nil {
		return nil, err
	}
	options = append(options[:len(options):len(options)], mapper.Internal.RootInTransaction(door.Key{}))
	missed := 0
	for try := range wrapTries {
		if _, err := w.move(ctx, at); errors.As(err, new(*endedError)) {
			return nil, notFound(at)
		} else if err != nil {
			return nil, err
		}
		e, err := w.loadLive(ctx, s, at, true, nil)
		if errors.Is(err, mapper.ErrNotFound) && missed < 2 {
			missed++ // it may have been rolled back, and is a monolith
			if err := flow.Pause(ctx, try); err != nil {
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
		if err := flow.Pause(ctx, try); err != nil {
			return r, err
		}
	}
	return nil, &ConflictError{w.g.layout.Model, at.root.String(),
		"somebody else wrote the entity again and again: update it again"}
}

// Insert inserts an entity as a collection; the error is mapper.ErrExists where it is there in either
// layout. It is one transaction, with checks that no monolith stands, and that the migration is under
// way: so it takes 98 items at most, and costs twice their units, 2 WCU, and twice those of a monolith
// that was moved or deleted.
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
			return nil, fmt.Errorf("%s: %w: %w", at.root, mapper.ErrExists, err)
		case err != nil:
			return nil, err
		case live:
			return nil, fmt.Errorf("%s: %w", at.root, mapper.ErrExists)
		}
		r, err := mapper.Transact(ctx, append([]mapper.Part{w.m.SavePart(e)}, w.checks(at, ended)...)...)
		var conflict *mapper.ConflictError
		if !errors.As(err, &conflict) || ended {
			return r, err
		}
		var t write.Tally
		if d, readErr := w.g.mover.Monolith(ctx, at.doc, &t); readErr == nil && d.Unmarked() {
			return r, fmt.Errorf("%s: %w", at.root, mapper.ErrExists)
		}
		if !errors.As(w.g.underway(ctx), new(*protocol.NotUnderway)) {
			return r, err
		}
		if err := flow.Pause(ctx, try); err != nil {
			return r, err
		}
	}
	return nil, &ConflictError{w.g.layout.Model, at.root.String(),
		"migrations into its table are rolled back again and again: insert it again"}
}

// checks require in the transaction of an insert that no monolith of the entity stands, and that the
// migration is under way; or that it has ended.
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
		ExpressionAttributeNames: map[string]string{"#k": at.doc.Table.Hash, "#m": schema.Moved},
	}), part(w.g.phaseCheck(underway...))}
}

// placesOf is places of a new entity, by what its insert would put.
func (w *Wrapped[T]) placesOf(e *mapper.Entity[T]) (at places, err error) {
	p, err := w.m.PlanSave(e)
	if err != nil {
		return at, err
	}
	for _, t := range w.g.mover.Tables {
		for _, it := range p.Items {
			root := item.Place{Table: t, PK: key.Scalar{Type: 'S', Text: it.Key.Partition},
				SK: key.Scalar{Type: 'S', Text: it.Key.Sort}}
			if t.Name == it.Key.Table && w.g.layout.Match(t.Index, root.SK) == w.g.layout.Root {
				doc, err := w.g.mover.DocOf(root.PK, root.SK)
				return places{root, doc}, err
			}
		}
	}
	return at, fmt.Errorf("%s: the insert puts no root", w.g.layout.Model)
}

// Delete deletes an entity in whichever layout it is: its collection, or it marks the monolith as deleted. The error is
// mapper.ErrNotFound where it is not there.
func (w *Wrapped[T]) Delete(ctx context.Context, s query.Key[T], options ...mapper.WriteOption) error {
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
			return notFound(at)
		}
		before = d
		if err := flow.Pause(ctx, try); err != nil {
			return err
		}
	}
	return &ConflictError{w.g.layout.Model, at.root.String(),
		"somebody else wrote the entity again and again: delete it again"}
}

// removeDeleted removes the marked monolith of an entity that was deleted while no run is under way:
// programs that know only the old layout would see it, and no step of the migration but another
// rollback would remove it. If that fails, the entity is deleted nevertheless. before is the monolith
// as the delete has read it: one that another program has marked since is of the next entity.
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

// deleteOnce reads the monolith and then the root, and deletes what is there by these. It returns the
// monolith where there was nothing to delete, or somebody came between.
func (w *Wrapped[T]) deleteOnce(ctx context.Context, s query.Key[T], at places,
	options []mapper.WriteOption) (over bool, d *protocol.Monolith, err error) {
	var t write.Tally
	if d, err = w.g.mover.Monolith(ctx, at.doc, &t); err != nil && w.ended(ctx) {
		_, err = w.m.DeleteByKey(ctx, s, options...)
		if errors.As(err, new(*mapper.ConflictError)) { // a claim may stand there
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
		var now *protocol.Monolith // it was read before the root: it may have moved since
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
		// whoever was moving it may have died: what is left, the next run or rollback removes as well
		if over && r.State == item.Migrating {
			_, _ = w.g.mover.Finish(ctx, at.root, at.doc, &t)
		}
		return over, d, w.conflict(at, err)
	case r.Live(), r.State == item.Deleting:
		_, err := w.m.DeleteByKey(ctx, s, options...)
		var conflict *mapper.ConflictError
		if errors.As(err, &conflict) && !errors.As(err, new(*mapper.PartialError)) ||
			errors.Is(err, mapper.ErrNotFound) {
			return false, d, nil // or it was rolled back since
		}
		return true, d, err
	}
	if _, err = w.move(ctx, at); errors.As(err, new(*endedError)) {
		err = nil // its claim is removed
	}
	return false, d, err // somebody moved it, or it is gone
}
