package protocol

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/migration/layout"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/save/write"
)

// Entity is an entity that is moved, and the result.
type Entity struct {
	// Doc is its monolith, as it was read. Root is the key of its root, needed if there is no monolith
	// to derive it from.
	Doc  *Monolith
	Root item.Place
	// Moved reports that this call has moved it. Otherwise it was moved before, or no longer exists.
	Moved bool
	// Items is how many items it has become.
	Items int
	// Done reports that the result is known. Err is the reason why it was not moved: an *Unmovable, a
	// *Conflict, or a failure.
	Done bool
	Err  error

	m     *Mover
	parts *layout.Collection
	at    item.Place // of the root
	// current is the stored claim; token and incarnation are the claim's.
	current            item.Attributes
	token, incarnation types.AttributeValue
	took               []types.AttributeValue
	// claims are the incarnations of the claims that this call has put, and live is the one that went live.
	claims []types.AttributeValue
	live   types.AttributeValue
	// shared reports that the claim is an import's, which other programs may continue.
	shared bool
	// left are parts that are not put yet, and sum is of the versions of those that are.
	left []*part
	sum  [item.TokenSize]byte
	// lost reports that a part may have been put, and doubts counts the claims that were put again for that.
	lost   bool
	doubts int
	// asked reports that a migration was under way when the claim existed.
	asked bool
	// committed reports that the monolith is marked already, by a claim that was taken over.
	committed bool
	// marked is the version of the monolith as this call has marked it last, and unsure reports that
	// this call may have made the root item live.
	marked types.AttributeValue
	unsure bool
	t      write.Tally
}

// Unmovable is an entity that cannot be moved as it is: a dead letter.
type Unmovable struct{ Err error }

// Error returns the reasons.
func (u *Unmovable) Error() string { return u.Err.Error() }

// Unwrap returns the reasons.
func (u *Unmovable) Unwrap() error { return u.Err }

// part is an item of the collection other than the root.
type part struct {
	*layout.Item
	place item.Place
	// instead is the item that it may replace, nil for none.
	instead item.Attributes
}

// Move moves entities, several at once, and records the result in each. The error is one that all
// entities would have.
func (m *Mover) Move(ctx context.Context, all []*Entity, t *write.Tally) error {
	defer func() {
		for _, e := range all {
			t.AddAll([]write.Tally{e.t})
		}
	}()
	var fresh []*Entity
	for _, e := range all {
		e.m = m
		if !e.Doc.Unmarked() {
			continue // moved, or begun
		}
		switch e.Err = e.split(); {
		case e.Err == nil:
			fresh = append(fresh, e)
		case m.Stale:
			e.Err = nil // it is read again
		}
		e.Done = e.Err != nil
	}
	claimed, err := m.claimAll(ctx, fresh, t)
	if err != nil {
		return err
	}
	if m.Underway != nil && len(claimed) > 0 && m.Underway(ctx) == nil { // else each finds out by itself
		for _, e := range claimed {
			e.asked = true
		}
	}
	if err := m.putAll(ctx, claimed, t); err != nil {
		return err
	}
	var stopped atomic.Pointer[NotUnderway]
	err = request.AtOnce(ctx, len(all), func(ctx context.Context, i int) error {
		e := all[i]
		if e.Err != nil {
			return nil
		}
		err := errRestart
		switch {
		case e.token != nil:
			err = e.end(ctx)
		case !e.Doc.Unmarked():
			err = e.finish(ctx)
		}
		for try := 0; errors.Is(err, errRestart) && try < tries; try++ {
			if err = request.Pause(ctx, try); err == nil {
				err = e.restart(ctx)
			}
		}
		ended := e.failed(ctx, err)
		var why *NotUnderway
		if ended != nil && !errors.As(ended, &why) {
			return ended
		}
		if why != nil { // the others end as this one does: each removes its claim and its parts
			stopped.Store(why)
		}
		return e.tidy(ctx)
	})
	if why := stopped.Load(); err == nil && why != nil {
		err = why
	}
	return err
}

// failed records the result of the entity, and returns an error that all entities would have.
func (e *Entity) failed(ctx context.Context, err error) error {
	e.Done = true
	var conflict *Conflict
	var unmovable *Unmovable
	switch {
	case err == nil:
	case errors.Is(err, errRestart):
		e.Err = &Conflict{e.at, err.Error()}
	case errors.As(err, &conflict), errors.As(err, &unmovable):
		e.Err = err
	default:
		e.Err, e.Done = err, false
		return err
	}
	return ctx.Err()
}

// split makes the items, and refuses what cannot be marked.
func (e *Entity) split() error {
	parts, err := e.m.splitOf(e.Doc)
	if err != nil {
		return err
	}
	if v := e.Doc.Attributes[e.m.Layout.Version]; v != nil && !item.IsToken(v) {
		return &Unmovable{fmt.Errorf("%s: the library stores its versions of monoliths there, but it has another "+
			"value: rename the attribute", e.m.Layout.Version)}
	}
	for _, it := range parts.Items {
		if err := e.m.indexable(e.m.place(it), it.Attributes); err != nil {
			return &Unmovable{err}
		}
	}
	e.parts, e.Items = parts, len(parts.Items)
	at := e.m.place(parts.Root())
	if doc, err := e.m.DocOf(at.PK, at.SK); err != nil || doc != e.Doc.Place {
		return &Unmovable{fmt.Errorf("the model's keys would write the monolith's key as %[2]s, not %[1]s, so that "+
			"two monoliths could be one entity: rewrite its key", doc, e.Doc.Place)}
	}
	e.at = at
	commit := e.commitRequest(item.NewToken())
	switch {
	case commit.NewSize > cost.MaxItem:
		return &Unmovable{fmt.Errorf("the monolith would have %s with its mark (limit 400 KB): make it smaller "+
			"by %s", attr.Bytes(commit.NewSize), attr.Bytes(commit.NewSize-cost.MaxItem))}
	case commit.Expect.Version == nil &&
		(commit.Longest() > cost.MaxExpression || len(e.Doc.Attributes) > write.MaxTerms-4):
		return &Unmovable{fmt.Errorf("the monolith has %d attributes and no version, too many for one condition: "+
			"add the attribute _v with 8 random bytes, new at each write",
			len(e.Doc.Attributes))}
	}
	return nil
}

// splitOf makes the items of a monolith. The error is an *Unmovable.
func (m *Mover) splitOf(d *Monolith) (*layout.Collection, error) {
	doc, err := m.Content(d)
	if err == nil {
		err = m.comesBack(d, doc)
	}
	if err != nil {
		return nil, &Unmovable{err}
	}
	c, err := m.Layout.Split(doc)
	if err != nil {
		return nil, &Unmovable{err}
	}
	return c, nil
}

// end continues after the claim is put and the batches are sent.
func (e *Entity) end(ctx context.Context) error {
	for _, p := range e.left {
		if e.lost {
			break
		}
		if err := e.put(ctx, p); err != nil {
			return err
		}
	}
	if e.lost {
		return e.afresh(ctx)
	}
	e.left = nil
	if !e.committed && !e.asked && e.m.Underway != nil {
		if err := e.m.Underway(ctx); err != nil {
			return e.abandon(ctx, err)
		}
	}
	if err := e.commit(ctx); err != nil {
		return err
	}
	return e.goLive(ctx)
}

// restage starts again with the present content of the monolith, by replacing the own claim.
func (e *Entity) restage(ctx context.Context, now *Monolith, committed bool) error {
	e.Doc = now
	if err := e.split(); err != nil {
		if !e.ofOtherRuns() { // else it is left: what it took over, or who shares it, may have moved the entity
			if err := e.unclaim(ctx, e.own()); !errors.Is(err, errRestart) {
				return err
			}
		}
		return err
	}
	e.committed = committed
	e.took = append(slices.Clone(e.took), e.incarnation)
	if err := e.claim(ctx, e.current); err != nil {
		return err
	}
	if err := e.m.putAll(ctx, []*Entity{e}, &e.t); err != nil {
		return err
	}
	return e.end(ctx)
}

// afresh puts all parts again, for a claim of another incarnation: one that arrives late would be of
// the entity else, and come back behind the removal of its element.
func (e *Entity) afresh(ctx context.Context) error {
	if e.doubts++; e.doubts > tries {
		return errRestart
	}
	if err := request.Pause(ctx, e.doubts); err != nil {
		return err
	}
	return e.restage(ctx, e.Doc, e.committed)
}

// unclaim deletes the claim of an entity that no longer exists, or was moved by another program; the
// monolith was read while the claim existed. If this call deletes the claim, and no other program does,
// nothing of the claim can go live any more, and its parts are deleted. These are the parts of the
// incarnations of the claim and of all claims that it took over. The error is errRestart if there was
// no failure.
func (e *Entity) unclaim(ctx context.Context, incarnations []types.AttributeValue) error {
	r := e.rootRequest(item.Attributes{})
	r.Kind, r.Put, r.New = write.Delete, nil, false
	r.Expect = write.Expect{Version: e.token}
	o := e.m.one(ctx, r, e.current, &e.t)
	switch o.State {
	case write.Failed:
		return o.Err
	case write.Written:
		all, err := e.m.Items(ctx, e.at, &e.t)
		if err != nil {
			return err
		}
		isDeleted := func(of types.AttributeValue) bool {
			return slices.ContainsFunc(incarnations, func(a types.AttributeValue) bool { return attr.Same(a, of) })
		}
		if err := e.m.clear(ctx, e.at, all, isDeleted, &e.t); err != nil {
			return err
		}
	}
	return errRestart
}

// abandon removes the own claim of a monolith that is not marked, because of an error. A claim that took
// over another's is left: that one may have marked the monolith.
func (e *Entity) abandon(ctx context.Context, why error) error {
	if e.ofOtherRuns() {
		return why
	}
	if err := e.unclaim(ctx, e.own()); !errors.Is(err, errRestart) {
		return err
	}
	return why
}

// ofOtherRuns reports whether the claim is shared, or has taken over a claim that another program has put.
func (e *Entity) ofOtherRuns() bool {
	return e.shared || slices.ContainsFunc(e.took, func(a types.AttributeValue) bool {
		return !slices.ContainsFunc(e.claims, func(own types.AttributeValue) bool { return attr.Same(a, own) })
	})
}

// own are the incarnations of the stored claim and of those that it took over.
// Of an import there are none: others may work under its claim.
func (e *Entity) own() []types.AttributeValue {
	if e.shared {
		return nil
	}
	return append(slices.Clone(e.took), e.incarnation)
}

// clear deletes items as they were read, of incarnations that no longer exist.
func (m *Mover) clear(ctx context.Context, root item.Place, all []Stored,
	isDeleted func(incarnation types.AttributeValue) bool, t *write.Tally,
) error {
	for _, s := range all {
		h := m.Layout.Reserved.Header(s.Attributes)
		if s.Place == root || h.Incarnation == nil || h.Version == nil || !isDeleted(h.Incarnation) {
			continue
		}
		r := &write.Request{
			Kind: write.Delete, Place: s.Place, Label: m.Layout.Model, Field: s.Kind.Name, Reserved: m.Layout.Reserved,
			Header: h, OldSize: attr.ItemSize(s.Attributes), Expect: write.Expect{Version: h.Version},
		}
		if o := m.one(ctx, r, s.Attributes, t); o.Lost() {
			return o.Err
		}
	}
	return nil
}

// goLive makes the root live, with all that it holds.
func (e *Entity) goLive(ctx context.Context) error {
	o := e.m.one(ctx, e.liveRequest(), e.current, &e.t)
	switch o.State {
	case write.Written:
		e.live = e.incarnation
		return nil
	case write.Rejected:
		e.unsure = e.unsure || o.Unsure
		return errRestart
	}
	e.unsure = true
	return o.Err
}

func (e *Entity) liveRequest() *write.Request {
	r := e.rootRequest(e.parts.Root().Attributes)
	e.m.Layout.Reserved.AssignStage(item.NewStage(item.Live, e.m.Now())).Into(r.Put)
	e.m.Layout.Reserved.AssignIncarnation(e.incarnation).Into(r.Put)
	r.New, r.Incarnation = false, e.incarnation
	r.Expect = write.Expect{Version: e.token}
	r.Prepare()
	e.m.noteSum(r.Put, e.sum, r.Token)
	r.NewSize = r.WholeSize()
	return r
}

// noteSum notes, with the residue, the sum of the versions of the parts and of the root, and which migration this is.
func (m *Mover) noteSum(put item.Attributes, sum [item.TokenSize]byte, version types.AttributeValue) {
	add(&sum, version)
	name := m.Layout.Reserved.MovedName()
	residue := item.Attributes{
		m.Layout.Version: &types.AttributeValueMemberB{Value: append(sum[:], m.origin()...)},
	}
	if note, ok := put[name].(*types.AttributeValueMemberM); ok {
		maps.Copy(residue, note.Value)
	}
	put[name] = &types.AttributeValueMemberM{Value: residue}
}

// finish handles a marked monolith: its root is live, unless a move was not finished.
func (e *Entity) finish(ctx context.Context) error {
	at, err := e.Root, error(nil)
	if e.Doc.There() {
		at, err = e.m.RootOf(e.Doc)
	}
	switch k := e.Doc.Mark(); {
	case err != nil && k != nil && k.Deleted:
		return nil // it could not have been moved
	case err != nil:
		return &Unmovable{err}
	}
	e.at = at
	root, err := e.m.readRoot(ctx, at, &e.t)
	if err != nil || root.live() {
		return err
	}
	return errRestart
}

// restart begins with the monolith, read strongly, and the root.
func (e *Entity) restart(ctx context.Context) error {
	d, err := e.m.Monolith(ctx, e.Doc.Place, &e.t)
	if err != nil {
		return err
	}
	if e.at.Table == nil { // it could not be split
		if e.at, err = e.m.OwnRoot(e.Doc); err != nil {
			e.at = e.Root
		}
	}
	e.Doc, e.committed, e.took = d, false, nil
	switch k := d.Mark(); {
	case k != nil && k.Deleted:
		if e.at, err = e.m.RootOf(d); err != nil {
			return nil // it could not have been moved
		}
	case d.There():
		if err := e.split(); err != nil {
			return err
		}
	} // else it was deleted, by a program that knows only the old layout
	if e.at.Table == nil {
		return nil // its identity is unknown, so it has not moved
	}
	root, err := e.m.readRoot(ctx, e.at, &e.t)
	if err != nil {
		return err
	}
	return e.decide(ctx, &root)
}

// decide continues according to the root, which was read after the monolith.
func (e *Entity) decide(ctx context.Context, root *Root) error {
	k := e.Doc.Mark()
	switch {
	case root.is(item.Migrating) && e.m.Foreign(root.Attributes):
		return &Conflict{e.at, "a migration of another table moves an entity with that key: finish that one first; " +
			"if both tables have the entity, rename one"}
	case !e.Doc.There() && root.is(item.Migrating):
		return e.stale(ctx, root)
	case !e.Doc.There():
		return nil
	case root.live() && e.Doc.Unmarked() && e.m.Foreign(root.Attributes):
		return &Conflict{e.at, foreignKey}
	case root.live() && e.Doc.Unmarked():
		return e.doubled(ctx)
	case root.live():
		return nil // moved before
	case root.is(item.RollingBack), root.is(item.Deleting) && k != nil:
		return &Conflict{e.at, root.Pending()}
	case root.is(item.Migrating) && k != nil && !k.Deleted && attr.Same(k.Incarnation, root.Incarnation):
		return e.adopt(ctx, root)
	case root.is(item.Migrating) && k != nil && !root.Has(k):
		return e.stale(ctx, root)
	case k != nil && !root.there() && e.marked != nil && !e.unsure &&
		attr.Same(e.marked, e.m.Layout.Reserved.Header(e.Doc.Attributes).Version):
		return e.takeBack(ctx)
	case k != nil && k.Deleted, k != nil && !root.is(item.Migrating): // deleted, before it was moved or since
		return e.m.Leftovers(ctx, e.at, e.m.kept(k), &e.t)
	}
	if root.is(item.Migrating) && e.Doc.Unmarked() && root.Whole != nil && bytes.Equal(root.Whole, e.Doc.Hash()) {
		whole, err := e.isWhole(ctx, root)
		if err != nil {
			return err
		}
		if whole {
			return e.imported(ctx, root)
		}
	}
	if root.is(item.Migrating) {
		if root.Whole == nil { // otherwise no program works on it
			if err := e.wait(ctx, root); err != nil {
				return err
			}
		}
		e.took = append(slices.Clone(root.Took), root.Incarnation)
		e.committed = k != nil
	}
	if err := e.claim(ctx, root.Attributes); err != nil {
		return err
	}
	if err := e.m.putAll(ctx, []*Entity{e}, &e.t); err != nil {
		return err
	}
	return e.end(ctx)
}

// takeBack removes the own mark of a monolith without a root item. Only the program that has marked a
// monolith last makes its root item live, and this call has not. So another program had deleted the
// claim before this call marked the monolith, and then a program that knows only the old layout has
// written the same content again. The entity is that monolith.
func (e *Entity) takeBack(ctx context.Context) error {
	b := &Return{m: e.m}
	err := b.unmark(ctx, e.Doc)
	e.t.AddAll([]write.Tally{b.t})
	if err != nil {
		return err
	}
	e.Moved, e.marked = false, nil
	if e.m.Underway != nil {
		if err := e.m.Underway(ctx); err != nil {
			return err
		}
	}
	return errRestart
}

// changedSince is the reason for a marked monolith that differs from the moved one.
const changedSince = "a program with the old layout wrote the monolith after it moved: both are kept: stop that " +
	"program, and keep one (itemize migrate settle -keep monolith or -keep collection)"

// wait gives the program that has put a claim time to continue: two programs that take over from each
// other would never end. It returns errRestart if the claim has changed in the meantime.
func (e *Entity) wait(ctx context.Context, root *Root) error {
	for try := range patience + len(e.parts.Items)/partsPerPoll + e.m.slow(e.parts) {
		if err := request.Pause(ctx, try); err != nil {
			return err
		}
		now, err := e.m.readRoot(ctx, e.at, &e.t)
		if err != nil {
			return err
		}
		if !attr.Same(now.Version, root.Version) {
			return errRestart
		}
	}
	return nil
}

// A claim is read this often, about a second in total, before its program is assumed to be dead. It is
// read once more, about half a second, for each group of parts that the program has to put. It is also
// read for the time that an entity needs at the rate.
const (
	patience     = 8
	partsPerPoll = 25
	pollsASecond = 2
)

// slow is how often to look for as long as an entity's units pass twice, where others share the rate.
func (m *Mover) slow(c *layout.Collection) int {
	limit := m.Rate.Limit()
	if limit <= 0 {
		return 0
	}
	units := 0.0
	for _, it := range c.Items {
		units += cost.WriteUnits(attr.ItemSize(it.Attributes))
	}
	return int(2 * units * float64(max(m.Share, 1)) / limit * pollsASecond)
}

// adopt finishes the move of a claim whose monolith is marked: its parts exist. The program that has
// put the claim may be slow, and not dead. So adopt puts the claim again, with the same incarnation and
// a new version, and marks the monolith again. From then on only this call can make the root item live.
func (e *Entity) adopt(ctx context.Context, root *Root) error {
	if e.Doc.Changed() {
		return &Conflict{e.Doc.Place, changedSince}
	}
	if root.Whole == nil { // else it was imported, and its program may be one of many
		if err := e.wait(ctx, root); err != nil {
			return err
		}
	}
	e.took = root.Took
	if err := e.claimAs(ctx, root.Attributes, func() types.AttributeValue { return root.Incarnation }); err != nil {
		return err
	}
	var n int
	var err error
	if e.sum, n, err = e.sumOfParts(ctx, root.Incarnation); err != nil {
		return err
	}
	if n != len(e.parts.Items)-1 {
		add(&e.sum, item.NewToken()) // one has expired since: it is not as it moved
	}
	e.left = nil
	if err := e.commit(ctx); err != nil {
		return err
	}
	return e.goLive(ctx)
}

// sumOfParts returns the sum of the versions of the existing parts of an incarnation, and their number.
func (e *Entity) sumOfParts(ctx context.Context, incarnation types.AttributeValue) (sum [item.TokenSize]byte, n int,
	err error,
) {
	all, err := e.m.Items(ctx, e.at, &e.t)
	for _, s := range all {
		if s.Place != e.at && attr.Same(e.m.Layout.Reserved.Header(s.Attributes).Incarnation, incarnation) {
			n++
			add(&sum, e.m.Layout.Reserved.Header(s.Attributes).Version)
		}
	}
	return sum, n, err
}

// doubled reports an unmarked monolith in addition to a live root, unless the monolith is marked by
// now.
func (e *Entity) doubled(ctx context.Context) error {
	d, err := e.m.Monolith(ctx, e.Doc.Place, &e.t)
	if err != nil || !d.Unmarked() {
		return err
	}
	return d.Contradicts()
}

// stale deletes an unneeded claim, if the monolith, which was read while the claim existed, is
// unchanged.
func (e *Entity) stale(ctx context.Context, root *Root) error {
	d, err := e.m.Monolith(ctx, e.Doc.Place, &e.t)
	if err != nil {
		return err
	}
	if !attr.SameItem(d.Attributes, e.Doc.Attributes) {
		return errRestart
	}
	e.current, e.token = root.Attributes, root.Version
	// The monolith can no longer be marked for this claim. Its parts are deleted too, or queries would
	// return them.
	if err := e.unclaim(ctx, append(slices.Clone(root.Took), root.Incarnation)); !errors.Is(err, errRestart) {
		return err
	}
	return nil
}
