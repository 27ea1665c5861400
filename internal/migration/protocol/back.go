package protocol

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/migration/layout"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/save/write"
)

// Return is an entity that becomes a monolith again, and the result.
type Return struct {
	// Doc is the place of its monolith, Root that of its root.
	Doc, Root item.Place
	// Back reports that this call has changed something.
	Back bool
	// Err is why it is no monolith: an *Unmovable, a *Conflict, or what failed.
	Err error

	m *Mover
	// settles reports that the entity is in both layouts, and becomes the monolith that it has.
	settles bool
	// stage is the rollback's own mark, and token the version of the root that has it, and size its bytes.
	stage item.Stage
	token types.AttributeValue
	size  int
	root  Root
	// digest is that of the root item as the mark has it, and stale reports that another content was copied.
	digest []byte
	stale  bool
	t      write.Tally
}

// Back makes entities monoliths again, several at once.
func (m *Mover) Back(ctx context.Context, all []*Return, t *write.Tally) error {
	defer func() {
		for _, b := range all {
			t.AddAll([]write.Tally{b.t})
		}
	}()
	return request.AtOnce(ctx, len(all), func(ctx context.Context, i int) error {
		b := all[i]
		b.m = m
		err := errRestart
		for try := 0; errors.Is(err, errRestart) && try < tries; try++ {
			if try > 0 {
				if err := request.Pause(ctx, try); err != nil {
					return err
				}
			}
			err = b.begin(ctx)
		}
		return b.failed(ctx, err)
	})
}

func (b *Return) failed(ctx context.Context, err error) error {
	e := &Entity{at: b.Root}
	defer func() { b.Err = e.Err }()
	return e.failed(ctx, err)
}

// begin reads the monolith and then the root, and decides how to continue.
func (b *Return) begin(ctx context.Context) error {
	if doc, err := b.m.DocOf(b.Root.PK, b.Root.SK); err != nil || doc != b.Doc {
		return nil // the root is of another monolith, and this one cannot have moved
	}
	d, err := b.m.Monolith(ctx, b.Doc, &b.t)
	if err != nil {
		return err
	}
	if b.root, err = b.m.readRoot(ctx, b.Root, &b.t); err != nil {
		return err
	}
	r := &b.root
	b.size, b.stage = 0, item.Stage{}
	switch {
	case b.settles && !(b.Back && !r.there()):
		return b.settle(ctx, d)
	case d.Changed():
		return b.changed(d)
	case b.m.Foreign(r.Attributes) && !r.Has(d.Mark()):
		return nil // another migration's, which has an entity of that key too
	case r.live() && d.Unmarked():
		e := &Entity{m: b.m, Doc: d, at: b.Root}
		if err := e.doubled(ctx); err != nil {
			return err
		}
		return errRestart
	case r.live():
		if err := b.fits(ctx); err != nil {
			return err
		}
		return b.mark(ctx, item.RollingBack, item.Live)
	case r.is(item.Migrating):
		return b.mark(ctx, item.RollingBack, item.Migrating)
	case r.is(item.RollingBack):
		return b.mark(ctx, item.RollingBack, r.From)
	case r.there():
		return b.mark(ctx, item.Deleting, "")
	case d.Mark() != nil:
		return b.dropDeleted(ctx, d)
	case d.There():
		return b.m.Leftovers(ctx, b.Root, nil, &b.t) // of a move that died, and whose claim was removed
	}
	return nil
}

// fits refuses an entity that is too large for a monolith by now, before anything is written.
func (b *Return) fits(ctx context.Context) error {
	doc, all, err := b.joined(ctx)
	if err != nil {
		return err
	}
	if b.m.rootReplaced(&b.root, all) {
		return &Conflict{b.Root, b.m.replaced()}
	}
	for _, s := range all {
		if n := attr.ItemSize(s.Attributes) + frozenSize; n > cost.MaxItem {
			return &Unmovable{fmt.Errorf("the item %s has no room for the mark of a rollback, which takes %d "+
				"bytes: make it smaller", s.Place, frozenSize)}
		}
	}
	_, err = b.whole(doc)
	return err
}

// whole returns the monolith with its keys. The error is an *Unmovable if it would be too large for an
// item, or has an attribute that an index of its table refuses.
func (b *Return) whole(doc item.Attributes) (item.Attributes, error) {
	whole, err := b.m.monolith(b.Doc, doc)
	if err == nil {
		err = b.m.goesForth(b.Doc, whole, doc)
	}
	if err == nil {
		err = b.m.indexable(b.Doc, whole)
	}
	if err != nil {
		return nil, &Unmovable{fmt.Errorf("the monolith %s has changed since it moved: %w", b.Doc, err)}
	}
	n := attr.ItemSize(whole) + b.m.Layout.Reserved.VersionSize()
	if n <= cost.MaxItem {
		return whole, nil
	}
	return nil, &Unmovable{fmt.Errorf("the monolith %s would have %s (limit 400 KB): the entity has "+
		"grown since it moved: make it smaller, and roll back again", b.Doc, attr.Bytes(n))}
}

// stay makes the root live again, of an entity whose monolith was not written.
func (b *Return) stay(ctx context.Context) error {
	r := b.rootRequest(write.Update, write.Expect{Version: b.token})
	r.Set = []item.Assignment{b.m.Layout.Reserved.AssignStage(item.NewStage(item.Live, b.m.Now()))}
	r.Prepare()
	return b.sent(b.m.one(ctx, r, b.root.Attributes, &b.t))
}

// rootRequest is a request about the root item, which keeps its size.
func (b *Return) rootRequest(kind write.Kind, expect write.Expect) *write.Request {
	size := b.size
	if size == 0 { // it is not marked
		size = attr.ItemSize(b.root.Attributes)
	}
	return &write.Request{
		Kind: kind, Place: b.Root, Label: b.m.Layout.Model, Field: b.m.Layout.Root.Name, Root: true,
		Reserved: b.m.Layout.Reserved,
		Header:   b.root.Header, OldSize: size, NewSize: size, Expect: expect,
	}
}

// unmarkRoot gives the root item the stage that it had before the mark.
func (b *Return) unmarkRoot(ctx context.Context) error {
	before := item.Assignment{
		Name: b.m.Layout.Reserved.StateName(), Index: item.Unlisted,
		Value: b.root.Attributes[b.m.Layout.Reserved.StateName()],
	}
	r := b.rootRequest(write.Update, write.Expect{Version: b.token})
	if before.Value == nil {
		r.Remove = []item.Assignment{before}
	} else {
		r.Set = []item.Assignment{before}
	}
	r.Prepare()
	b.Back = false
	return b.sent(b.m.one(ctx, r, b.root.Attributes, &b.t))
}

// frozenSize is the maximum size of the mark of a copied item, in bytes.
const frozenSize = 64

// joined reads the items, and puts the monolith together.
func (b *Return) joined(ctx context.Context) (item.Attributes, []Stored, error) {
	all, err := b.m.Items(ctx, b.Root, &b.t)
	if err != nil {
		return nil, nil, err
	}
	doc, err := b.join(all)
	return doc, all, err
}

func (b *Return) join(all []Stored) (item.Attributes, error) {
	var items []*layout.Item
	for _, s := range all {
		if s.Place == b.Root || b.root.Belongs(s.Attributes) {
			items = append(items, s.Item)
		}
	}
	doc, err := b.m.Layout.Join(items)
	if err != nil {
		return nil, errRestart // the root is deleted
	}
	return doc, nil
}

// mark marks the root, and takes it over from other programs that have marked it.
func (b *Return) mark(ctx context.Context, state, from item.State) error {
	st := item.NewStage(state, b.m.Now())
	st.From, st.Took, st.Origin = from, b.root.Took, b.root.Origin
	switch {
	case state == item.RollingBack && from == item.Restored:
		st.Digest = b.root.Digest
	case state == item.RollingBack && from == item.Live:
		if st.Digest = b.root.Digest; st.Digest == nil || b.stale {
			st.Digest, b.stale = b.m.Layout.Reserved.ContentDigest(b.root.Attributes), false
		}
	}
	b.digest = st.Digest
	r := &write.Request{
		Kind: write.Update, Place: b.Root, Label: b.m.Layout.Model, Field: b.m.Layout.Root.Name, Root: true,
		Reserved: b.m.Layout.Reserved,
		Header:   b.root.Header, OldSize: attr.ItemSize(b.root.Attributes),
		Set: []item.Assignment{b.m.Layout.Reserved.AssignStage(st)},
	}
	b.expect(r, b.root.Attributes)
	r.NewSize = r.OldSize + b.m.Layout.Reserved.AssignStage(st).Size() - item.Assignment{
		Name:  b.m.Layout.Reserved.StateName(),
		Value: b.root.Attributes[b.m.Layout.Reserved.StateName()],
	}.Size() + r.Reserved.Grows(r.Header, false)
	r.Prepare()
	if err := b.sent(b.m.one(ctx, r, b.root.Attributes, &b.t)); err != nil {
		return err
	}
	b.Back, b.stage, b.token, b.size = true, st, r.Token, r.NewSize
	if state == item.RollingBack && b.m.GoesBack != nil {
		if err := b.m.GoesBack(ctx, b.settles); err != nil {
			return errors.Join(err, b.unmarkRoot(ctx))
		}
	}
	if state == item.Deleting {
		if err := b.remove(ctx, false); err != nil {
			return err
		}
		return errRestart
	}
	return b.rebuild(ctx, from)
}

// expect requires that an item is as it was read. It compares the version and the values, since other
// programs may not change the version. If the values are larger than 4 KB, or too many, it compares the
// version alone.
func (b *Return) expect(r *write.Request, stored item.Attributes) {
	r.Expect = write.AsFound(r.Place, r.Header.Version, stored)
	if r.Header.Version == nil {
		return
	}
	var values []item.Assignment
	for _, a := range write.AsFound(r.Place, nil, stored).Old.Values {
		if a.Name != b.m.Layout.Version && len(values) < write.MaxTerms-6 && attr.ValueSize(a.Value) <= maxCompared {
			values = append(values, a)
		}
	}
	if len(values) == 0 {
		return
	}
	r.Expect.Terms = []attr.Condition{write.Values(values)}
	if r.Longest() > cost.MaxExpression {
		r.Expect.Terms = nil
	}
}

// maxCompared is the largest value that a condition compares, in bytes.
const maxCompared = 4 << 10

// sent returns the meaning of an outcome: a change by another writer, or a failure.
func (b *Return) sent(o write.Outcome) error {
	switch o.State {
	case write.Written:
		return nil
	case write.Rejected:
		return errRestart
	}
	return o.Err
}

// rebuild writes the monolith, if it is not the truth already, and removes the collection. It is read when the root is
// marked.
func (b *Return) rebuild(ctx context.Context, from item.State) error {
	d, err := b.m.Monolith(ctx, b.Doc, &b.t)
	if err != nil {
		return err
	}
	switch {
	case d.Changed() && !b.settles:
		return b.changed(d)
	case from == item.Restored: // the monolith is current, even if it was written or deleted since
		return b.remove(ctx, true)
	case from == item.Live && d.Unmarked() && !b.hasRestored(d):
		return &Conflict{d.Place, writtenDuring}
	case from == item.Live:
		if d.Unmarked() {
			err = b.isCopy(ctx, d)
		} else {
			err = b.copy(ctx, d)
		}
		if err == nil {
			err = b.noteRestored(ctx)
		}
		if err != nil {
			return err
		}
		return b.remove(ctx, true)
	case d.Unmarked(), b.root.Has(d.Mark()), b.settles && d.Changed():
		if err := b.unmark(ctx, d); err != nil {
			return err
		}
		return b.remove(ctx, false)
	}
	if err := b.remove(ctx, false); err != nil {
		return err
	}
	return errRestart // an unneeded claim is deleted, and the monolith is still marked
}

// changed is the conflict of a marked monolith that another program has written. Where the rollback has
// restored it, items of the collection may be deleted, so that only the monolith can stay.
func (b *Return) changed(d *Monolith) error {
	if b.root.From == item.Restored || b.stage.From == item.Restored {
		return &Conflict{d.Place, "another program wrote the monolith, with an old mark, after the rollback " +
			"restored it: stop that program, and keep the monolith (itemize migrate settle -keep monolith)"}
	}
	return &Conflict{d.Place, changedSince}
}

const writtenDuring = "another program wrote the monolith or its collection during the rollback: stop it, and keep " +
	"one (itemize migrate settle; or remove the monolith, and roll back again)"

// copy writes the monolith of a collection that was live.
func (b *Return) copy(ctx context.Context, d *Monolith) error {
	doc, err := b.freeze(ctx)
	if err != nil {
		return err
	}
	whole, err := b.whole(doc)
	if err != nil { // it was changed since it was looked at
		return errors.Join(err, b.stay(ctx))
	}
	return b.restore(ctx, d, whole)
}

// isCopy returns a conflict unless a monolith equals its collection: it may have been written by a
// rollback that died before it recorded this, or by another program.
func (b *Return) isCopy(ctx context.Context, d *Monolith) error {
	doc, all, err := b.joined(ctx)
	if err != nil {
		return err
	}
	for _, s := range all {
		if s.Place != b.Root && b.root.Belongs(s.Attributes) && !b.m.Layout.Reserved.IsFrozen(s.Attributes) {
			return writtenSince(s.Place)
		}
	}
	whole, err := b.whole(doc)
	if err == nil && !bytes.Equal(d.Hash(), (&Monolith{d.Place, whole, d.Reserved}).Hash()) {
		err = &Conflict{d.Place, writtenDuring}
	}
	return err
}

// noteRestored records on the root that the monolith is written. From then on the monolith is current,
// even if another program deletes it.
func (b *Return) noteRestored(ctx context.Context) error {
	b.stage.From = item.Restored
	r := b.rootRequest(write.Update, write.Expect{Version: b.token})
	r.Set = []item.Assignment{b.m.Layout.Reserved.AssignStage(b.stage)}
	r.Prepare()
	if err := b.sent(b.m.one(ctx, r, b.root.Attributes, &b.t)); err != nil {
		return err
	}
	b.token = r.Token
	return nil
}

// freeze marks each part, so that a program that has read it earlier can no longer change it. It
// returns the monolith of the marked parts. The mark shows the program that finishes the rollback that
// the part was copied.
func (b *Return) freeze(ctx context.Context) (item.Attributes, error) {
	_, all, err := b.joined(ctx)
	if err != nil {
		return nil, err
	}
	if err := b.ownsMark(ctx, &b.t); err != nil { // or what another rollback has copied would be frozen again
		return nil, err
	}
	err = b.atOnce(ctx, len(all), func(ctx context.Context, i int, t *write.Tally) error {
		s := &all[i]
		if s.Place == b.Root || !b.root.Belongs(s.Attributes) {
			return nil
		}
		now, err := b.freezeOne(ctx, *s, t)
		s.Item = &layout.Item{Kind: s.Kind, PK: s.Place.PK, SK: s.Place.SK, Attributes: now}
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, s := range all {
		if s.Place == b.Root && !bytes.Equal(b.digest, b.m.Layout.Reserved.ContentDigest(s.Attributes)) {
			b.stale = true
			return nil, errRestart // the mark shows the program that finishes this which parts were copied
		}
	}
	return b.join(slices.DeleteFunc(all, func(s Stored) bool { return s.Attributes == nil }))
}

// atOnce does something with each of several items, a bounded number of them at once.
func (b *Return) atOnce(ctx context.Context, n int, do func(ctx context.Context, i int, t *write.Tally) error) error {
	tallies := make([]write.Tally, n)
	defer b.t.AddAll(tallies)
	return request.AtOnce(ctx, n, func(ctx context.Context, i int) error { return do(ctx, i, &tallies[i]) })
}

// ownsMark returns errRestart if another rollback has marked the root.
func (b *Return) ownsMark(ctx context.Context, t *write.Tally) error {
	root, err := b.m.readRoot(ctx, b.Root, t)
	if err == nil && !attr.Same(root.By, b.stage.By) {
		err = errRestart
	}
	return err
}

// freezeOne returns the frozen item, nil for a deleted one.
func (b *Return) freezeOne(ctx context.Context, s Stored, t *write.Tally) (item.Attributes, error) {
	now := s.Attributes
	for range tries {
		h := b.m.Layout.Reserved.Header(now)
		r := &write.Request{
			Kind: write.Update, Place: s.Place, Label: b.m.Layout.Model, Field: s.Kind.Name,
			Reserved: b.m.Layout.Reserved,
			Header:   h, OldSize: attr.ItemSize(now),
		}
		b.expect(r, now)
		r.Prepare()
		mark := b.m.Layout.Reserved.Frozen(r.Token, now)
		r.Set = []item.Assignment{mark}
		r.NewSize = r.OldSize + mark.Size() - item.Assignment{
			Name:  b.m.Layout.Reserved.StateName(),
			Value: now[b.m.Layout.Reserved.StateName()],
		}.Size() +
			r.Reserved.Grows(h, false)
		o := b.m.one(ctx, r, now, t)
		if o.State == write.Written {
			return now, nil
		}
		if o.State != write.Rejected {
			return nil, o.Err
		}
		if now = o.Stored[0]; len(now) == 0 || !b.root.Belongs(now) {
			return nil, nil
		}
		if err := b.ownsMark(ctx, t); err != nil {
			return nil, err
		}
	}
	return nil, errRestart
}

// restore writes the monolith in place of the stored one, without a mark and with a new version, so
// that the condition of a late copy of a mark fails.
func (b *Return) restore(ctx context.Context, d *Monolith, whole item.Attributes) error {
	r := &write.Request{
		Kind: write.Put, Place: d.Place, Label: b.m.Layout.Model, Field: "the monolith", Reserved: b.m.Layout.Reserved,
		Header: b.m.Layout.Reserved.Header(d.Attributes), OldSize: attr.ItemSize(d.Attributes), Put: whole,
	}
	if d.There() {
		b.m.expectDoc(r, d)
	} else {
		r.New, r.Expect = true, write.Expect{Absent: true}
	}
	r.NewSize = attr.ItemSize(whole) + b.m.Layout.Reserved.VersionSize()
	r.Prepare()
	r.Token = b.restoredVersion()
	if d.There() {
		return b.sent(b.m.one(ctx, r, d.Attributes, &b.t))
	}
	// An absent monolith has no version that makes a late copy fail, so the root item must show that
	// the rollback is still this one.
	return b.inOneTransaction(ctx, r, nil, write.Expect{Version: b.token})
}

// restoredVersion returns the version of the monolith that a rollback of the root's incarnation writes.
// It distinguishes such a monolith from one that another program has put.
func (b *Return) restoredVersion() types.AttributeValue {
	of := []byte(b.Root.String()) // of an entity that another program has made, which has no incarnation
	if a, ok := b.root.Incarnation.(*types.AttributeValueMemberB); ok {
		of = a.Value
	}
	sum := sha256.Sum256(append([]byte("restored "), of...))
	return &types.AttributeValueMemberB{Value: sum[:item.TokenSize]}
}

func (b *Return) hasRestored(d *Monolith) bool {
	return attr.Same(b.restoredVersion(), b.m.Layout.Reserved.Header(d.Attributes).Version)
}

// unmark gives a monolith that is the truth a new version, and takes its mark away: nothing else of it
// is written, so that what another program writes stays.
func (b *Return) unmark(ctx context.Context, d *Monolith) error {
	r := &write.Request{
		Kind: write.Update, Place: d.Place, Label: b.m.Layout.Model, Field: "the monolith",
		Reserved: b.m.Layout.Reserved,
		Header:   b.m.Layout.Reserved.Header(d.Attributes), OldSize: attr.ItemSize(d.Attributes),
		Remove: []item.Assignment{{Name: b.m.Layout.Reserved.MovedName()}},
	}
	r.Expect = write.Expect{
		Version: r.Header.Version,
		Terms: []attr.Condition{
			write.Values([]item.Assignment{{
				Name:  b.m.Layout.Reserved.MovedName(),
				Value: d.Attributes[b.m.Layout.Reserved.MovedName()],
			}}),
		},
	}
	if r.Header.Version == nil {
		r.Expect.Version, r.Expect.Old = nil, &write.Old{}
	}
	r.NewSize = r.OldSize + b.m.Layout.Reserved.Grows(r.Header, false)
	r.Prepare()
	if b.settles && !b.root.there() { // or an insert comes between
		return b.inOneTransaction(ctx, r, d.Attributes, write.Expect{Absent: true})
	}
	return b.sent(b.m.one(ctx, r, d.Attributes, &b.t))
}

// inOneTransaction writes a monolith in one transaction with a check of the root item.
func (b *Return) inOneTransaction(ctx context.Context, r *write.Request, before item.Attributes,
	of write.Expect,
) error {
	root := b.rootRequest(write.Check, of)
	units, _ := b.m.units(r, before)
	if err := b.m.Rate.Take(ctx, 2*(units+cost.WriteUnits(root.OldSize))); err != nil {
		return err
	}
	return b.sent(b.m.Sender.Send(ctx, &write.Step{Requests: []*write.Request{r, root}, How: write.InTransaction},
		&b.t))
}

// remove deletes the items and then the root. Of an entity that was copied, an item that was put or
// written since is kept, and so is the root.
func (b *Return) remove(ctx context.Context, copied bool) error {
	all, err := b.m.Items(ctx, b.Root, &b.t)
	if err != nil {
		return err
	}
	root, err := b.m.readRoot(ctx, b.Root, &b.t)
	if err != nil {
		return err
	}
	if !attr.Same(root.By, b.stage.By) {
		return errRestart // another rollback continues
	}
	if copied && !bytes.Equal(b.digest, b.m.Layout.Reserved.ContentDigest(root.Attributes)) {
		return writtenSince(b.Root)
	}
	err = b.atOnce(ctx, len(all), func(ctx context.Context, i int, t *write.Tally) error {
		s := all[i]
		if s.Place == b.Root {
			return nil
		}
		if copied && b.root.Belongs(s.Attributes) {
			return b.deleteCopied(ctx, s.Place, s.Attributes, t)
		}
		_, err := b.delete(ctx, s.Place, s.Attributes, b.m.Layout.Reserved.Header(s.Attributes), t)
		return err
	})
	if err != nil {
		return err
	}
	if copied {
		if err := b.repeatUnmark(ctx); err != nil {
			return err
		}
	}
	h := root.Header
	h.Version = b.token
	_, err = b.delete(ctx, b.Root, root.Attributes, h, &b.t)
	return err
}

// repeatUnmark takes the mark from a monolith that another program has put as it was before it was restored.
func (b *Return) repeatUnmark(ctx context.Context) error {
	d, err := b.m.Monolith(ctx, b.Doc, &b.t)
	switch {
	case err != nil:
		return err
	case d.Changed():
		return b.changed(d)
	case b.root.Has(d.Mark()):
		return b.unmark(ctx, d)
	}
	return nil
}

// deleteCopied deletes an item whose copy is in the monolith. It requires that the item is frozen, by
// any of several rollbacks and at any time.
func (b *Return) deleteCopied(ctx context.Context, at item.Place, now item.Attributes, t *write.Tally) error {
	for range tries {
		h := b.m.Layout.Reserved.Header(now)
		if !b.m.Layout.Reserved.IsFrozen(now) {
			return writtenSince(at)
		}
		var err error
		if now, err = b.delete(ctx, at, now, h, t); !errors.Is(err, errRestart) {
			return err
		}
	}
	return errRestart
}

func writtenSince(at item.Place) error {
	return &Conflict{at, "a program without migrate.Wrap wrote it during the rollback of its entity: it is kept, " +
		"but is not in the monolith; copy it, remove it, and roll back again"}
}

// delete deletes an item that is as it was read, or already deleted. Otherwise the error is errRestart,
// and now is the stored item.
func (b *Return) delete(ctx context.Context, at item.Place, stored item.Attributes, h item.Header,
	t *write.Tally,
) (now item.Attributes, err error) {
	r := &write.Request{
		Kind: write.Delete, Place: at, Label: b.m.Layout.Model, Field: "an item", Reserved: b.m.Layout.Reserved,
		Root:   at == b.Root,
		Header: h, OldSize: attr.ItemSize(stored),
	}
	b.expect(r, stored)
	o := b.m.one(ctx, r, stored, t)
	if o.State == write.Rejected {
		now = o.Stored[0]
		if len(now) == 0 {
			return nil, nil
		}
	}
	return now, b.sent(o)
}

// dropDeleted deletes the monolith of a deleted entity, and the rest of its collection. The root was
// read after the monolith.
func (b *Return) dropDeleted(ctx context.Context, d *Monolith) error {
	keep := b.m.kept(d.Mark())
	if keep != nil {
		all, err := b.m.Items(ctx, b.Root, &b.t)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(all,
			func(s Stored) bool { return attr.Same(b.m.Layout.Reserved.Header(s.Attributes).Incarnation, keep) }) {
			return &Conflict{b.Root, rootMissing}
		}
	}
	if err := b.m.Leftovers(ctx, b.Root, keep, &b.t); err != nil {
		return err
	}
	return b.drop(ctx, d)
}

// drop removes a marked monolith that is as it was read.
func (b *Return) drop(ctx context.Context, d *Monolith) error {
	r := &write.Request{
		Kind: write.Delete, Place: d.Place, Label: b.m.Layout.Model, Field: "the monolith",
		Reserved: b.m.Layout.Reserved,
		Header:   b.m.Layout.Reserved.Header(d.Attributes), OldSize: attr.ItemSize(d.Attributes),
	}
	b.m.expectDoc(r, d)
	if err := b.sent(b.m.one(ctx, r, d.Attributes, &b.t)); err != nil {
		return err
	}
	b.Back = true
	return nil
}

// RootOf returns the place of the root of a monolith's entity.
func (m *Mover) RootOf(d *Monolith) (item.Place, error) {
	doc, err := m.Content(d)
	if err != nil {
		return item.Place{}, err
	}
	pk, sk, err := m.Layout.RootKey(doc)
	return item.Place{Table: m.Tables[m.Layout.Root.Table], PK: pk, SK: sk}, err
}

// OwnRoot is RootOf, and an error of a monolith whose key is not as the keys of the root give it back:
// that root is another's.
func (m *Mover) OwnRoot(d *Monolith) (item.Place, error) {
	at, err := m.RootOf(d)
	if err != nil {
		return item.Place{}, err
	}
	if doc, err := m.DocOf(at.PK, at.SK); err != nil || doc != d.Place {
		return item.Place{}, fmt.Errorf("%s: the model's keys would write this key in another way", d.Place)
	}
	return at, nil
}

// DocOf returns the place of an entity's monolith, by the fields in its keys.
func (m *Mover) DocOf(pk, sk key.Scalar) (item.Place, error) {
	fields, err := m.Layout.Fields(pk, sk)
	if err != nil {
		return item.Place{}, err
	}
	at := item.Place{Table: m.Source}
	at.PK, at.SK, err = m.Keys.Of(fields)
	return at, err
}

// Remove deletes a marked monolith permanently. It reports whether the monolith existed as it was read,
// and was marked.
func (m *Mover) Remove(ctx context.Context, d *Monolith, t *write.Tally) (bool, error) {
	if d.Mark() == nil || d.Changed() {
		return false, nil
	}
	b := &Return{m: m}
	err := b.drop(ctx, d)
	t.AddAll([]write.Tally{b.t})
	if errors.Is(err, errRestart) {
		return false, nil
	}
	return err == nil, err
}
