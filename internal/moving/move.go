package moving

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/attr"
	"github.com/itemize/itemize/internal/bulk"
	"github.com/itemize/itemize/internal/item"
	"github.com/itemize/itemize/internal/monolith"
	"github.com/itemize/itemize/internal/retry"
	"github.com/itemize/itemize/internal/schema"
	"github.com/itemize/itemize/internal/write"
)

// Entity is an entity that is moved, and what became of it.
type Entity struct {
	// Doc is its monolith, as it was read; Root is where its root lies, needed where there is no monolith that tells.
	Doc  *Monolith
	Root item.Place
	// Moved reports that this call has moved it; else it was moved before, or is not there any more.
	Moved bool
	// Items is how many items it has become.
	Items int
	// Done reports that it is known what became of it; Err is why it was not moved: an *Unmovable of one that cannot
	// be, a *Conflict, or what failed.
	Done bool
	Err  error

	m     *Mover
	parts *monolith.Collection
	at    item.Place // of the root
	// claim is what stands as its root; token and incarnation are the claim's.
	token, incarnation types.AttributeValue
	took               []types.AttributeValue
	// left are parts that are not put yet, and sum is of the versions of those that are.
	left []*part
	sum  [item.TokenSize]byte
	// flipped reports that the monolith is marked already, by a claim that was taken over.
	flipped bool
	t       write.Tally
}

// Unmovable is an entity that cannot be moved as it is: a dead letter.
type Unmovable struct{ Err error }

// Error returns the reasons.
func (u *Unmovable) Error() string { return u.Err.Error() }

// Unwrap returns the reasons.
func (u *Unmovable) Unwrap() error { return u.Err }

// part is an item of the collection that is put beside the root.
type part struct {
	*monolith.Item
	place item.Place
	// instead is what it may replace, nil for nothing.
	instead *item.Hidden
}

// Move moves entities, several at once. What became of each is noted there; the error is one that all would
// meet.
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
		if e.Err = e.split(); e.Err == nil {
			fresh = append(fresh, e)
		}
		e.Done = e.Err != nil
	}
	claimed, err := m.claimAll(ctx, fresh, t)
	if err != nil {
		return err
	}
	if err := m.putAll(ctx, claimed, t); err != nil {
		return err
	}
	return retry.AtOnce(ctx, len(all), func(ctx context.Context, i int) error {
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
			if err = retry.Pause(ctx, try); err == nil {
				err = e.again(ctx)
			}
		}
		return e.failed(ctx, err)
	})
}

// failed notes what became of the entity, and returns an error that all would meet.
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
	parts, err := e.m.Layout.Split(e.m.Content(e.Doc))
	if err != nil {
		return &Unmovable{err}
	}
	e.parts, e.Items = parts, len(parts.Items)
	e.at = e.m.place(parts.Root())
	if doc, err := e.m.DocOf(e.at.PK, e.at.SK); err != nil || doc != e.Doc.Place {
		return &Unmovable{fmt.Errorf("the key of the monolith is not written as the keys of the model give it back (%s, and not %s), so that two monoliths could be one entity: rewrite its key", doc, e.Doc.Place)}
	}
	flip := e.flipRequest(item.NewToken())
	switch {
	case flip.NewSize > cost.MaxItem:
		return &Unmovable{fmt.Errorf("the monolith would have %d bytes with its mark, over the limit of %d: make it smaller by %d", flip.NewSize, cost.MaxItem, flip.NewSize-cost.MaxItem)}
	case flip.Expect.Version == nil && (flip.Longest() > cost.MaxExpression || len(e.Doc.Attributes) > write.MaxTerms-4):
		return &Unmovable{fmt.Errorf("the monolith has %d attributes and no version, and they are too many to compare in one condition: give it the attribute _v with 8 random bytes, new at each write", len(e.Doc.Attributes))}
	}
	return nil
}

// claimAll puts the claims of entities, where nothing is, and returns those that stand.
func (m *Mover) claimAll(ctx context.Context, all []*Entity, t *write.Tally) ([]*Entity, error) {
	items, requests := make([]*bulk.Item, len(all)), make([]*write.Request, len(all))
	for i, e := range all {
		requests[i] = e.claimRequest(nil)
		items[i] = itemOf(requests[i])
	}
	results, err := m.insert(ctx, items, t)
	var claimed []*Entity
	for i, e := range all {
		if results[i] == bulk.Written {
			e.claimed(requests[i])
			claimed = append(claimed, e)
		} // else it begins again, and takes over what may have been put
	}
	return claimed, err
}

// itemOf is the put of something new as an item of a batch.
func itemOf(r *write.Request) *bulk.Item {
	a := maps.Clone(r.Put)
	r.Reserved.AssignVersion(r.Token).Into(a)
	return &bulk.Item{Place: r.Place, Attributes: a, Size: r.NewSize, Units: cost.Exactly(cost.Put(0, r.NewSize))}
}

// claimed notes the claim that stands.
func (e *Entity) claimed(r *write.Request) {
	e.token, e.incarnation = r.Token, source.Header(r.Put).Incarnation
	e.left, e.sum = nil, [item.TokenSize]byte{}
	for _, it := range e.parts.Items[1:] {
		e.left = append(e.left, &part{Item: it, place: e.m.place(it)})
	}
}

// claimRequest is the put of a claim, which has an incarnation and a version of its own.
func (e *Entity) claimRequest(instead *item.Hidden) *write.Request {
	r := e.rootRequest(item.Attributes{})
	st := item.NewStage(item.Migrating, e.m.Now())
	st.Took = e.took
	st.Assign().Into(r.Put)
	item.AssignIncarnation(item.NewToken()).Into(r.Put)
	r.Expect = write.Expect{Absent: true, Instead: instead}
	if instead != nil {
		r.OldSize = instead.Size
	}
	return e.sized(r)
}

// rootRequest is the put of a root, which holds attributes.
func (e *Entity) rootRequest(a item.Attributes) *write.Request {
	put := maps.Clone(a)
	maps.Copy(put, e.at.Key())
	return &write.Request{
		Kind: write.Put, Place: e.at, Label: e.m.Layout.Model, Field: e.m.Layout.Root.Name,
		Root: true, New: true, Reserved: e.m.Layout.Reserved, Put: put,
	}
}

func (e *Entity) sized(r *write.Request) *write.Request {
	r.NewSize = attr.ItemSize(r.Put) + r.Reserved.VersionSize()
	r.Prepare()
	return r
}

// putAll puts the parts of entities whose claims stand, in batches; what is not put by that stays to be put by itself.
func (m *Mover) putAll(ctx context.Context, all []*Entity, t *write.Tally) error {
	var items []*bulk.Item
	for _, e := range all {
		for _, p := range e.left {
			items = append(items, itemOf(e.partRequest(p)))
		}
	}
	results, err := m.insert(ctx, items, t)
	n := 0
	for _, e := range all {
		var left []*part
		for _, p := range e.left {
			if results[n] != bulk.Written {
				left = append(left, p)
			} else {
				add(&e.sum, m.Layout.Reserved.Header(items[n].Attributes).Version)
			}
			n++
		}
		e.left = left
	}
	return err
}

// add adds a version to a sum, which tells whether any of several items was written since.
func add(sum *[item.TokenSize]byte, version types.AttributeValue) {
	if v, ok := version.(*types.AttributeValueMemberB); ok {
		for i := range min(len(v.Value), len(sum)) {
			sum[i] ^= v.Value[i]
		}
	}
}

func (e *Entity) partRequest(p *part) *write.Request {
	put := maps.Clone(p.Attributes)
	maps.Copy(put, p.place.Key())
	item.AssignIncarnation(e.incarnation).Into(put)
	r := &write.Request{
		Kind: write.Put, Place: p.place, Label: e.m.Layout.Model, Field: p.Kind.Name, New: true, Reserved: e.m.Layout.Reserved,
		Put: put, Expect: write.Expect{Absent: true, Instead: p.instead},
	}
	if p.instead != nil {
		r.OldSize = p.instead.Size
	}
	return e.sized(r)
}

// insert sends INSERT statements, each a single time: Written is what is there for sure, Again what may be there,
// and InTheWay what found another item. A late copy of one finds its place taken, or brings back an item
// of an incarnation that is no more.
func (m *Mover) insert(ctx context.Context, items []*bulk.Item, t *write.Tally) ([]bulk.Result, error) {
	once := func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} }
	s := &bulk.Inserts{Client: m.Client, Label: m.Layout.Model, Options: []func(*dynamodb.Options){once}}
	results := make([]bulk.Result, len(items))
	batches := m.batches(items)
	var mu sync.Mutex
	return results, retry.AtOnce(ctx, len(batches), func(ctx context.Context, i int) error {
		batch := items[batches[i][0]:batches[i][1]]
		out := results[batches[i][0]:batches[i][1]]
		units := 0.0
		for _, b := range batch {
			units += b.Units.Min
		}
		if err := m.Rate.Take(ctx, units); err != nil {
			return err
		}
		a, err := s.Send(ctx, batch)
		mu.Lock()
		defer mu.Unlock()
		t.Requests++
		if err != nil {
			for n := range out {
				out[n] = bulk.Again
			}
			var api smithy.APIError
			if errors.As(err, &api) || ctx.Err() != nil {
				return err
			}
			return nil // nobody knows: each is sent by itself
		}
		copy(out, a.Results)
		t.ConsumedWCU += a.WCU
		m.Rate.Correct(units, a.WCU)
		for n, b := range batch {
			if a.Results[n] == bulk.Written {
				t.WCU = t.WCU.Add(cost.Exactly(b.Units.Min))
			}
			if a.Errs[n] != nil && err == nil {
				err = a.Errs[n]
			}
		}
		return err
	})
}

// batches cuts items into calls of 25, of 4 MB, and of what the rate lets pass at once.
func (m *Mover) batches(items []*bulk.Item) [][2]int {
	var all [][2]int
	first, bytes, units := 0, 0, 0.0
	for i, it := range items {
		if i-first == bulk.BatchSize || i > first && (bytes+it.Size > maxBatch || units+it.Units.Min > m.Rate.Most()) {
			all, first, bytes, units = append(all, [2]int{first, i}), i, 0, 0
		}
		bytes, units = bytes+it.Size, units+it.Units.Min
	}
	if first < len(items) {
		all = append(all, [2]int{first, len(items)})
	}
	return all
}

const maxBatch = 4 << 20

// end goes on where the claim stands and what a batch can put is put.
func (e *Entity) end(ctx context.Context) error {
	for _, p := range e.left {
		if err := e.put(ctx, p); err != nil {
			return err
		}
	}
	e.left = nil
	if !e.flipped {
		if err := e.flip(ctx); err != nil {
			return err
		}
	}
	return e.goLive(ctx)
}

// put puts a part by itself. One of its own incarnation that is there has been put; another is replaced if it is
// dead: if the claim, read after it, stands.
func (e *Entity) put(ctx context.Context, p *part) error {
	for try := 0; try < tries; try++ {
		r := e.partRequest(p)
		o := e.m.once(ctx, r, &e.t)
		switch {
		case o.OK():
			add(&e.sum, r.Token)
			return nil
		case o.State == write.Unknown:
			if err := retry.Pause(ctx, try); err != nil {
				return err
			}
			continue
		case o.State == write.Failed:
			return o.Err
		}
		stored := o.Stored[0]
		h := e.m.Layout.Reserved.Header(stored)
		switch {
		case attr.Same(h.Incarnation, e.incarnation) && h.Incarnation != nil:
			add(&e.sum, h.Version)
			return nil
		case len(stored) == 0:
			p.instead = nil
		case h.Incarnation == nil:
			return &Conflict{p.place, "another program has put an item where the entity's would be: remove it, or give it to the entity, and move it again"}
		default:
			root, err := e.m.readRoot(ctx, e.at, &e.t)
			if err != nil {
				return err
			}
			if !attr.Same(root.Version, e.token) {
				return errRestart
			}
			p.instead = e.m.Layout.Reserved.HiddenOf(stored)
		}
	}
	return errRestart
}

// flipRequest marks the monolith as moved, as long as it is what was read.
func (e *Entity) flipRequest(incarnation types.AttributeValue) *write.Request {
	k := &Mark{Incarnation: incarnation, Hash: e.Doc.Hash()}
	return e.m.docRequest(e.Doc, item.Assignment{Name: schema.Moved, Index: item.Unlisted, Value: k.value()})
}

// docRequest writes an attribute of a monolith, as long as that is unmarked, and what was read: by its version, or by
// all of its attributes, and that what else the layout knows of is absent.
func (m *Mover) docRequest(d *Monolith, set item.Assignment) *write.Request {
	r := &write.Request{
		Kind: write.Update, Place: d.Place, Label: m.Layout.Model, Field: "the monolith", Reserved: source,
		Header: source.Header(d.Attributes), OldSize: attr.ItemSize(d.Attributes), Set: []item.Assignment{set},
	}
	m.expectDoc(r, d)
	r.NewSize = r.OldSize + set.Size() - attr.AttributeSize(set.Name, d.Attributes[set.Name]) + source.Grows(r.Header, false)
	r.Prepare()
	return r
}

// expectDoc requires of a monolith that it is as it was read: in all of its attributes, since a program that knows only the old
// layout gives it no new version; and by its version alone where they are too many for a condition.
func (m *Mover) expectDoc(r *write.Request, d *Monolith) {
	var values []item.Assignment
	for _, a := range write.OldValues(d.Place, d.Attributes, nil).Values {
		if a.Name != schema.Moved && a.Name != schema.DefaultVersion {
			values = append(values, a)
		}
	}
	values = append(values, item.Assignment{Name: schema.Moved, Value: d.Attributes[schema.Moved]})
	for _, name := range slices.Sorted(slices.Values(m.Layout.Tops())) {
		if len(values) < write.MaxTerms-4 && d.Attributes[name] == nil && name != m.Source.Hash && name != m.Source.Range {
			values = append(values, item.Assignment{Name: name})
		}
	}
	if r.Header.Version == nil {
		r.Expect = write.Expect{Old: &write.Old{Values: values}}
		return
	}
	r.Expect = write.Expect{Version: r.Header.Version, Terms: []attr.Condition{write.Values(values)}}
	if len(values) > write.MaxTerms-4 || r.Longest() > cost.MaxExpression {
		r.Expect.Terms = nil
	}
}

// flip marks the monolith. This is when the entity moves.
func (e *Entity) flip(ctx context.Context) error {
	o := e.m.one(ctx, e.flipRequest(e.incarnation), &e.t)
	switch o.State {
	case write.Written:
		e.Moved = true
		return nil
	case write.Failed, write.Unknown:
		return o.Err
	}
	now := &Monolith{e.Doc.Place, o.Stored[0]}
	k := now.Mark()
	r := Root{Header: item.Header{Incarnation: e.incarnation}, Stage: item.Stage{Took: e.took}, Attributes: item.Attributes{"": nil}}
	switch {
	case k != nil && !k.Deleted && attr.Same(k.Incarnation, e.incarnation):
		e.Moved = true
		return nil
	case r.Has(k) && bytes.Equal(now.Hash(), e.Doc.Hash()):
		return nil // marked by a claim that was taken over, and what was staged is what it holds
	case r.Has(k), now.Unmarked():
		return e.restage(ctx, now, r.Has(k))
	}
	return e.unclaim(ctx)
}

// restage begins again with what the monolith holds now, by replacing the own claim.
func (e *Entity) restage(ctx context.Context, now *Monolith, flipped bool) error {
	e.Doc = now
	if err := e.split(); err != nil {
		if len(e.took) == 0 { // else it is left: what it took over may have moved the entity
			if err := e.unclaim(ctx); !errors.Is(err, errRestart) {
				return err
			}
		}
		return err
	}
	e.flipped = flipped
	e.took = append(slices.Clone(e.took), e.incarnation)
	if err := e.claim(ctx, &item.Hidden{Size: 0, Header: item.Header{Version: e.token}}); err != nil {
		return err
	}
	if err := e.m.putAll(ctx, []*Entity{e}, &e.t); err != nil {
		return err
	}
	return e.end(ctx)
}

// unclaim removes the claim of an entity that is not there any more, or was moved by another: the monolith was
// read while it stands.
func (e *Entity) unclaim(ctx context.Context) error {
	r := e.rootRequest(item.Attributes{})
	r.Kind, r.Put, r.New = write.Delete, nil, false
	r.Expect = write.Expect{Version: e.token}
	o := e.m.one(ctx, r, &e.t)
	if o.State == write.Failed {
		return o.Err
	}
	return errRestart
}

// goLive makes the root live, with all that it holds.
func (e *Entity) goLive(ctx context.Context) error {
	o := e.m.one(ctx, e.liveRequest(), &e.t)
	switch o.State {
	case write.Written:
		return nil
	case write.Rejected:
		return errRestart
	}
	return o.Err
}

func (e *Entity) liveRequest() *write.Request {
	r := e.rootRequest(e.parts.Root().Attributes)
	item.NewStage(item.Live, e.m.Now()).Assign().Into(r.Put)
	item.AssignIncarnation(e.incarnation).Into(r.Put)
	r.New, r.Incarnation = false, e.incarnation
	r.Expect = write.Expect{Version: e.token}
	r.Prepare()
	noteSum(r.Put, e.sum, r.Token)
	r.NewSize = attr.ItemSize(r.Put) + r.Reserved.VersionSize()
	return r
}

// noteSum notes, with the residue, the sum of the versions of the parts and of the root.
func noteSum(put item.Attributes, sum [item.TokenSize]byte, version types.AttributeValue) {
	add(&sum, version)
	residue := item.Attributes{schema.DefaultVersion: &types.AttributeValueMemberB{Value: sum[:]}}
	if m, ok := put[schema.Moved].(*types.AttributeValueMemberM); ok {
		maps.Copy(residue, m.Value)
	}
	put[schema.Moved] = &types.AttributeValueMemberM{Value: residue}
}

// finish finds a marked monolith: its root is live, but for a move that was not finished.
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

// again begins with the monolith, read strongly, and the root.
func (e *Entity) again(ctx context.Context) error {
	d, err := e.m.Monolith(ctx, e.Doc.Place, &e.t)
	if err != nil {
		return err
	}
	e.Doc, e.flipped, e.took = d, false, nil
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
	root, err := e.m.readRoot(ctx, e.at, &e.t)
	if err != nil {
		return err
	}
	return e.decide(ctx, &root)
}

// decide goes on by the root that was read after the monolith.
func (e *Entity) decide(ctx context.Context, root *Root) error {
	k := e.Doc.Mark()
	switch {
	case !e.Doc.There() && root.is(item.Migrating):
		return e.stale(ctx, root)
	case !e.Doc.There():
		return nil
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
	case k != nil && k.Deleted, k != nil && !root.is(item.Migrating):
		return nil // deleted, before it was moved or since
	}
	var instead *item.Hidden
	if root.there() {
		instead = e.m.Layout.Reserved.HiddenOf(root.Attributes)
	}
	if root.is(item.Migrating) {
		if err := e.wait(ctx, root); err != nil {
			return err
		}
		e.took = append(slices.Clone(root.Took), root.Incarnation)
		e.flipped = k != nil
	}
	if err := e.claim(ctx, instead); err != nil {
		return err
	}
	if err := e.m.putAll(ctx, []*Entity{e}, &e.t); err != nil {
		return err
	}
	return e.end(ctx)
}

// changedSince is what is wrong with a marked monolith that is not what was moved.
const changedSince = "the monolith was written after it moved, by a program that knows only the old layout: both are kept; merge them, and remove its attribute _m to move it again"

// wait gives whoever has put a claim the time to go on: two that take over from each other would never end. It returns
// errRestart where the claim has changed meanwhile.
func (e *Entity) wait(ctx context.Context, root *Root) error {
	for try := range patience + len(e.parts.Items)/partsPerPoll {
		if err := retry.Pause(ctx, try); err != nil {
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

// A claim is looked at so often, about a second long, before it is taken for one of somebody who is dead; once more for so
// many parts that it has to put.
const (
	patience     = 8
	partsPerPoll = 100
)

// adopt finishes what a claim has marked: its parts are there.
func (e *Entity) adopt(ctx context.Context, root *Root) error {
	if e.Doc.Changed() {
		return &Conflict{e.Doc.Place, changedSince}
	}
	e.token, e.incarnation, e.sum = root.Version, root.Incarnation, [item.TokenSize]byte{}
	all, err := e.m.Items(ctx, e.at.PK, &e.t)
	if err != nil {
		return err
	}
	for _, s := range all {
		if s.Place != e.at && attr.Same(source.Header(s.Attributes).Incarnation, e.incarnation) {
			add(&e.sum, e.m.Layout.Reserved.Header(s.Attributes).Version)
		}
	}
	return e.goLive(ctx)
}

// doubled reports an unmarked monolith beside a live root, unless it is marked by now.
func (e *Entity) doubled(ctx context.Context) error {
	d, err := e.m.Monolith(ctx, e.Doc.Place, &e.t)
	if err != nil || !d.Unmarked() {
		return err
	}
	return &Conflict{e.Doc.Place, "a monolith is beside the live collection " + e.at.String() + ": a program that knows only the old layout has written it after the entity moved; both are kept until they are merged"}
}

// stale removes a claim that nobody needs, if the monolith, read while it stands, is as it was.
func (e *Entity) stale(ctx context.Context, root *Root) error {
	d, err := e.m.Monolith(ctx, e.Doc.Place, &e.t)
	if err != nil {
		return err
	}
	if !attr.SameItem(d.Attributes, e.Doc.Attributes) {
		return errRestart
	}
	e.token = root.Version
	if err := e.unclaim(ctx); !errors.Is(err, errRestart) {
		return err
	}
	return nil
}

// claim puts a claim by itself. Each attempt is sent once, with a version and an incarnation of its own.
func (e *Entity) claim(ctx context.Context, instead *item.Hidden) error {
	var lost []types.AttributeValue // versions of claims that may have been put
	for try := 0; try < tries; try++ {
		r := e.claimRequest(instead)
		o := e.m.once(ctx, r, &e.t)
		switch o.State {
		case write.Written:
			e.claimed(r)
			return nil
		case write.Failed:
			return o.Err
		case write.Unknown:
			lost = append(lost, r.Token)
			if err := retry.Pause(ctx, try); err != nil {
				return err
			}
			continue
		}
		h := e.m.Layout.Reserved.Header(o.Stored[0])
		if h.Version != nil && h.ReadStage().State == item.Migrating && slices.ContainsFunc(lost, func(v types.AttributeValue) bool { return attr.Same(v, h.Version) }) {
			r.Token, r.Put = h.Version, o.Stored[0]
			e.took = h.ReadStage().Took
			e.claimed(r)
			return nil
		}
		return errRestart
	}
	return errRestart
}
