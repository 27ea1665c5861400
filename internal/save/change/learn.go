package change

import (
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/save/write"
)

// Package operation sends the requests of a patch, and reads the root item first or after a refusal. It calls the
// methods of this file. They add to the patch before it is sent, change its knowledge, and answer questions about it.

// RequireItems has the patch update items that exist, except the root item: an item that is missing is made by Make.
func (x *Patch) RequireItems() {
	for _, ch := range x.Items {
		if ch.demand == toUpsert {
			ch.demand, ch.mayMake = toCreate, true
			ch.basis.defaults = slices.DeleteFunc(ch.basis.defaults, func(a item.Assignment) bool {
				return slices.ContainsFunc(ch.ofKey, func(k item.Assignment) bool { return k.Name == a.Name })
			})
			ch.learn(ch.knowledge)
		}
	}
}

// RequireRoot adds a check of the root item, unless the patch has a request on it.
func (x *Patch) RequireRoot() (*Change, error) {
	if x.Rooted() {
		return nil, nil
	}
	at, err := x.m.RootPlace(x.Identity)
	if err != nil {
		return nil, err
	}
	check := x.add(x.m.Root(), at, write.Check)
	check.demand, check.ForAdditions = toCheckRoot, true
	check.basis = basis{kind: write.Check, unread: true}
	check.learn(x.knowledge())
	return check.Change, nil
}

// RequireOwner requires values of the root item, of which the patch has a change or a check.
func (x *Patch) RequireOwner(values []item.Assignment) {
	ch := x.root()
	ch.owner = write.Values(values)
	differs := func(stored item.Attributes) bool {
		return slices.ContainsFunc(values, func(a item.Assignment) bool { return !attr.Same(stored[a.Name], a.Value) })
	}
	ch.where = append(ch.where, where{ch.owner, func(stored item.Attributes) error {
		if differs(stored) {
			return errLookup
		}
		return nil
	}, false})
	ch.learn(ch.knowledge)
}

// OfRoot returns the stored root item among those of a refused patch, nil if it did not refuse.
func (x *Patch) OfRoot(stored []item.Attributes) item.Attributes {
	for i, ch := range x.Items {
		if ch.Root && i < len(stored) {
			return stored[i]
		}
	}
	return nil
}

// RequireVersion requires that the item has a version.
func (ch *PatchItem) RequireVersion(v types.AttributeValue) {
	name := ch.Reserved.Version
	ch.where = append(ch.where, where{
		func(x *attr.Expression) string { return x.Name(name) + " = " + x.Value(v) },
		func(stored item.Attributes) error {
			if attr.Same(stored[name], v) {
				return nil
			}
			return errTag
		}, true,
	})
	ch.learn(ch.knowledge)
}

// RequireAbsent requires that the item is missing, as a tag says that does not have it.
func (ch *PatchItem) RequireAbsent() {
	ch.where = append(ch.where, where{ch.missing(), func(stored item.Attributes) error {
		if len(stored) == 0 {
			return nil
		}
		return errTagCreated
	}, false})
	ch.learn(ch.knowledge)
}

// Name records the values that the patch was asked to write, for a transaction, which no entity remembers.
func (x *Patch) Name() {
	for _, ch := range x.Items {
		ch.Arguments = write.ArgumentsOf(&ch.Request)
	}
}

// knowledge returns the knowledge of the patch about items of which it has read nothing else.
func (x *Patch) knowledge() knowledge {
	if x.bound {
		return knowledge{state: isBound, incarnation: x.live}
	}
	return knowledge{}
}

// Plain makes the patch forget the stored item, and keep its knowledge about the entity.
func (ch *PatchItem) Plain() { ch.learn(ch.patch.knowledge()) }

// Bind makes the patch one of the entity whose root item was read: its items have to be of that, or of none.
func (x *Patch) Bind(live types.AttributeValue) {
	x.bound, x.live, x.moved = true, live, false
	for _, ch := range x.Items {
		// an item of another incarnation is still a leftover item
		if h := ch.leftover; h != nil && !attr.Same(h.Header.Incarnation, live) {
			ch.Replacing(h, live)
		} else {
			ch.Plain()
		}
	}
}

// BindNew makes the patch the one that makes the entity: its root item, which has to be missing, and its other items
// carry the new incarnation.
func (x *Patch) BindNew() {
	x.ExpireWith(nil)
	x.Bind(x.token)
	x.Make(slices.IndexFunc(x.Items, func(ch *PatchItem) bool { return ch.Root }))
}

// Unbind makes the patch forget all that it knows about the entity.
func (x *Patch) Unbind() {
	x.bound, x.live = false, nil
	x.ExpireWith(nil)
	for _, ch := range x.Items {
		ch.Plain()
	}
}

// Pin makes the patch assume one live incarnation, which the root must have if the patch changes or checks it.
func (x *Patch) Pin(live types.AttributeValue) {
	if x.bound {
		if !attr.Same(x.live, live) || x.moved {
			x.Bind(live)
		}
		return
	}
	for _, ch := range x.Items {
		other := x.moved || !attr.Same(ch.incarnation, live)
		switch {
		case ch.Root && live != nil:
			ch.learn(knowledge{state: isLive, incarnation: live})
		// assumptions of another incarnation are dropped
		case ch.Root, ch.incarnation != nil && ch.state != isLikely && other:
			ch.Plain()
		}
	}
	x.moved = false
}

// Expect has the patch meet items of other incarnations than the one that the entity had last as
// strays, which it finds out about.
func (x *Patch) Expect(guess types.AttributeValue) {
	for _, ch := range x.Items {
		open := (ch.state == isUnread || ch.state == isLikely) && decide(isLikely, ch.demand) != nil
		switch {
		case !open || attr.Same(ch.incarnation, guess):
		case guess == nil:
			ch.Plain()
		default:
			ch.learn(knowledge{state: isLikely, incarnation: guess})
		}
	}
}

// ExpireWith gives the items that the patch creates the expiry of the root item as it was read, nil for a new one;
// Bind, Pin and Make apply it.
func (x *Patch) ExpireWith(root *item.Image) {
	expiry, inherited := x.expiry, Inherited(x.expiry)
	if x.expiry = nil; root != nil {
		x.expiry = root.Header.Expiry
	}
	x.moved = x.moved || x.Rooted() && !attr.Same(expiry, x.expiry) ||
		slices.ContainsFunc(x.Items, (*PatchItem).inherits) && !attr.Same(inherited, Inherited(x.expiry))
}

// Make has the patch make a missing item, as one of the live entity.
func (x *Patch) Make(i int) { x.Items[i].learn(knowledge{state: isMissing, incarnation: x.live}) }

// OfLive makes the patch reckon with an item that came with the live entity.
func (ch *PatchItem) OfLive(incarnation types.AttributeValue) {
	k := knowledge{state: isLive, incarnation: incarnation}
	if ch.patch.bound {
		k.state = isBound
	}
	ch.learn(k)
}

// Replacing makes the patch replace the leftover item, with the incarnation of the live entity, nil if
// it has none.
func (ch *PatchItem) Replacing(h *item.Hidden, incarnation types.AttributeValue) {
	ch.learn(knowledge{state: isLeftover, incarnation: incarnation, leftover: h})
}

// Rewrite makes the patch set the attributes of an item whole on which an operation cannot be
// applied, on condition that the item is as it was found.
func (ch *PatchItem) Rewrite(stored item.Attributes) error {
	k := ch.knowledge
	if k.state, k.read = k.state&^asRead, nil; k.state == isLikely {
		k = knowledge{}
	}
	ch.learn(k)
	now := item.Attributes{}
	maps.Copy(now, attr.CopyItem(stored))
	whole := map[string]bool{}
	for i := range ch.Operations {
		o := &ch.Operations[i]
		whole[o.Path[0]] = whole[o.Path[0]] || !o.Fits(stored)
	}
	r := &rewriting{stored: stored, set: slices.Clone(ch.Set), remove: slices.Clone(ch.Remove)}
	for _, o := range ch.Operations {
		if !whole[o.Path[0]] {
			r.operations = append(r.operations, o)
			continue
		}
		r.counted = r.counted || !o.Repeatable()
		if err := o.Overflow(now); err != nil {
			return err
		}
		if err := o.Apply(now); err != nil {
			return err
		}
	}
	guarded := ch.Root && ch.patch.Guarded()
	if len(r.operations) == len(ch.Operations) && !guarded {
		return nil // the patch fits the stored items
	}
	if guarded && ch.Reserved.Header(stored).Incarnation == nil { // guards name it
		r.set = append(r.set, ch.Reserved.AssignIncarnation(ch.patch.rootToken()))
	}
	for _, name := range slices.Sorted(maps.Keys(whole)) {
		if !whole[name] {
			continue
		}
		if a := (item.Assignment{Name: name, Index: item.Unlisted, Value: now[name]}); a.Value != nil {
			r.set = append(r.set, a)
		} else {
			r.remove = append(r.remove, a)
		}
	}
	k.state, k.read = k.state|asRead, r
	ch.learn(k)
	return ch.checkSize(0)
}

// someToken has the size of each incarnation.
var someToken = item.NewToken()

// ReckonIncarnation gives the items that are put the sizes that they have with an incarnation, which
// most root items have: for a plan, before the root item is read.
func (x *Patch) ReckonIncarnation() {
	expiry := x.expiry
	for _, ch := range x.Items {
		if ch.demand != toAdd && ch.demand != toReplace {
			continue
		}
		was, request := ch.knowledge, ch.Request
		x.expiry = item.Epoch(x.m.Now())
		ch.learn(knowledge{state: isBound, incarnation: someToken})
		request.NewSize, request.Entries, request.Indexed = ch.NewSize, ch.Entries, ch.Indexed
		x.expiry, ch.knowledge, ch.Request = expiry, was, request
	}
}

// Requests returns the patch's requests.
func (x *Patch) Requests() []*write.Request {
	requests := make([]*write.Request, len(x.Items))
	for i, p := range x.Items {
		requests[i] = &p.Request
	}
	return requests
}

func (x *Patch) demands(some ...demand) bool {
	return slices.ContainsFunc(x.Items, func(ch *PatchItem) bool { return slices.Contains(some, ch.demand) })
}

// Rooted reports whether the patch has a request on the root item.
func (x *Patch) Rooted() bool { return x.demands(toUpdateRoot, toUpsertRoot, toCheckRoot) }

// UpsertsRoot reports whether the patch may make the root item.
func (x *Patch) UpsertsRoot() bool { return x.demands(toUpsertRoot) }

// Puts reports whether the patch adds elements, and PutsEither whether it does so whether they exist or not.
func (x *Patch) Puts() bool { return x.demands(toAdd, toReplace) }

// PutsEither is described at Puts.
func (x *Patch) PutsEither() bool { return x.demands(toReplace) }

// Makes reports whether the patch may make an item that is no element, and not the root item.
func (x *Patch) Makes() bool { return x.demands(toUpsert, toCreate) }

// inherits reports whether the item gets the expiry of the root item when it is created.
func (ch *PatchItem) inherits() bool {
	return ch.Item.ExpiryOfRoot && !ch.Root && !ch.Reserved.ListsExpiry(ch.Item)
}

// Inherits reports whether the patch may create items that expire with the root item.
func (x *Patch) Inherits() bool {
	creates := []demand{toAdd, toReplace, toUpsert, toCreate}
	return slices.ContainsFunc(x.Items,
		func(ch *PatchItem) bool { return ch.inherits() && slices.Contains(creates, ch.demand) })
}

// Counts reports whether one of the items is incremented.
func (x *Patch) Counts() bool {
	return slices.ContainsFunc(x.Items, func(ch *PatchItem) bool { return ch.Request.Counts() })
}

// Replaces reports whether one of the items replaces a leftover item.
func (x *Patch) Replaces(items []int) bool {
	return slices.ContainsFunc(items, func(i int) bool { return x.Items[i].state == isLeftover })
}

// Added returns the requests of items that the patch has put, or made.
func (x *Patch) Added() []*write.Request {
	var all []*write.Request
	for _, ch := range x.Items {
		if !ch.Root && (ch.Kind == write.Put || ch.IsMaking()) {
			all = append(all, &ch.Request)
		}
	}
	return all
}

// Live returns the incarnation that the patch is bound to; ok is false if it knows none.
func (x *Patch) Live() (live types.AttributeValue, ok bool) { return x.live, x.bound }

// Written returns the incarnation of the items that the patch has written; ok is false for an item without one, which
// is visible in every entity.
func (x *Patch) Written() (live types.AttributeValue, ok bool) {
	if x.FitsIncarnation() {
		a := x.Items[0].Returned[x.Items[0].Reserved.IncarnationName()]
		return a, a != nil
	}
	for _, ch := range x.Items {
		if !x.bound && ch.state == isLeftover && ch.incarnation != nil {
			return ch.incarnation, true
		}
	}
	return x.Live()
}

// FitsIncarnation reports whether an answer had the item that the patch has written.
func (x *Patch) FitsIncarnation() bool {
	ch := x.Items[0]
	return len(x.Items) == 1 && ch.Kind == write.Update && ch.Returned != nil
}

// Repeats reports whether the item may take a second request: where an attribute is stored as NULL,
// or its map is missing.
func (ch *PatchItem) Repeats() bool {
	return ch.Kind == write.Update &&
		slices.ContainsFunc(ch.Operations, func(o item.Operation) bool { return o.Needs() != nil })
}

// Absent reports whether the patch requires that the item does not exist, and Exists that it does.
func (ch *PatchItem) Absent() bool { return ch.demand == toAdd }

// Exists is described at Absent.
func (ch *PatchItem) Exists() bool {
	return !slices.Contains([]demand{toAdd, toReplace, toUpsert, toCheckEither, toUpsertRoot}, ch.demand)
}

// IsMaking reports whether the item was missing, so that the patch makes it.
func (ch *PatchItem) IsMaking() bool { return ch.state&^asRead == isMissing }

// Bound reports whether the item has to be of an entity that was read.
func (ch *PatchItem) Bound() bool { return ch.patch.bound }

// AsksUpsert reports whether the caller has asked for an upsert of the item.
func (ch *PatchItem) AsksUpsert() bool { return ch.traits&upserts != 0 }

// Upserts reports whether the patch creates the item if it does not exist.
func (ch *PatchItem) Upserts() bool {
	overflows := func(o item.Operation) bool { return o.Overflow(nil) != nil }
	return decide(isLeftover, ch.demand) != nil && len(ch.where) == 0 && !slices.ContainsFunc(ch.Operations, overflows)
}

// Conditional reports whether the item need not exist and has conditions: a leftover item must then be deleted first,
// so that they see no item.
func (ch *PatchItem) Conditional() bool {
	return slices.Contains([]demand{toReplace, toUpsert, toCreate, toCheckEither}, ch.demand) && len(ch.where) > 0
}

// Leftover returns the delete of the leftover item under the item's key, as it was found.
func (ch *PatchItem) Leftover(m *model.Model, stored item.Attributes) *Change {
	d := new(Change).start(m, write.Delete, ch.Item, ch.Place)
	h := m.Reserved.Header(stored)
	d.Expect = write.AsFound(ch.Place, h.Version, stored)
	of := func(x *attr.Expression) string { return m.Reserved.IncarnationIs(x, h.Incarnation) }
	d.Expect.Terms, d.OldSize = []attr.Condition{of}, attr.ItemSize(stored)
	d.Entries = m.Entries(ch.Item, ch.Table.Name, stored, nil)
	return d
}

// Unmet returns an error for each condition that does not hold of an item, as far as that is known.
func (ch *PatchItem) Unmet(stored item.Attributes) []error {
	var all []error
	for _, w := range ch.where {
		if err := w.refusal(stored); err != nil {
			all = append(all, err)
		}
	}
	for i := range ch.Operations {
		if err := ch.Operations[i].Overflow(stored); err != nil {
			all = append(all, err)
		}
	}
	return all
}

// indexes returns the items that a question is true of; stored are the items of a refused patch as they are, nil for
// those that were not read.
func (x *Patch) indexes(stored []item.Attributes, is func(*PatchItem, item.Attributes) bool) []int {
	var all []int
	for i, ch := range x.Items {
		if i < len(stored) && stored[i] != nil && is(ch, stored[i]) {
			all = append(all, i)
		}
	}
	return all
}

// Present returns the indexes of the items that are stored.
func (x *Patch) Present(stored []item.Attributes) []int {
	return x.indexes(stored, func(_ *PatchItem, a item.Attributes) bool { return len(a) > 0 })
}

// Missing returns the indexes of items that are missing, and that the patch can make.
func (x *Patch) Missing(stored []item.Attributes) []int {
	return x.indexes(stored,
		func(ch *PatchItem, a item.Attributes) bool {
			return ch.demand == toCreate && !ch.IsMaking() && len(a) == 0
		})
}

// Occupied returns the indexes of items that the patch was making, and that exist now.
func (x *Patch) Occupied(stored []item.Attributes) []int {
	return x.indexes(stored, func(ch *PatchItem, a item.Attributes) bool {
		return ch.IsMaking() && len(a) > 0 && !ch.Reserved.Expired(a, x.m.Now())
	})
}

// MissingFromTag returns the indexes of missing items that a tag requires.
func (x *Patch) MissingFromTag(stored []item.Attributes) []int {
	return x.indexes(stored, func(ch *PatchItem, a item.Attributes) bool {
		return len(a) == 0 && slices.ContainsFunc(ch.where, func(w where) bool { return w.version })
	})
}

// LostRoot reports whether the root item is missing that the patch was bound to, and that it can make.
func (x *Patch) LostRoot(stored []item.Attributes) bool {
	return len(x.indexes(stored, func(ch *PatchItem, a item.Attributes) bool {
		return ch.demand == toUpsertRoot && ch.state&^asRead == isBound && len(a) == 0
	})) > 0
}

// ExpiryMoved reports whether the root item refused the patch because its expiry is not as it was read.
func (x *Patch) ExpiryMoved(stored []item.Attributes) bool {
	return len(x.indexes(stored, func(ch *PatchItem, a item.Attributes) bool {
		h := ch.Reserved.Header(a)
		return ch.Named != nil && len(a) > 0 && h.Live() && !h.Expired(x.m.Now()) && !attr.Same(h.Expiry, x.expiry)
	})) > 0
}

// Unfit returns the indexes of the items on which an operation cannot be applied: its value is stored as NULL, or its
// parent is no map.
func (x *Patch) Unfit(stored []item.Attributes) []int {
	return x.indexes(stored, func(ch *PatchItem, a item.Attributes) bool {
		now := x.m.Now()
		// An item that does not exist, is not live or has expired is refused for that reason instead.
		if ch.Kind != write.Update || len(a) == 0 && ch.Exists() && !ch.IsMaking() || len(a) > 0 && ch.IsMaking() ||
			ch.Reserved.Expired(a, now) || ch.Root && len(a) > 0 && !ch.Reserved.Header(a).Live() {
			return false
		}
		// An item that was already rewritten is not reported again.
		if ch.read != nil {
			return !ch.Before(a, now)
		}
		return slices.ContainsFunc(ch.Operations, func(o item.Operation) bool { return !o.Fits(a) })
	})
}

// Stray returns the indexes of the items that are blocked by an item which may not belong to the live entity, and
// which the patch did not assume.
func (x *Patch) Stray(stored []item.Attributes) []int {
	return x.indexes(stored, func(ch *PatchItem, a item.Attributes) bool {
		h := ch.Reserved.Header(a)
		same := attr.Same(h.Incarnation, ch.incarnation)
		state := ch.state &^ asRead
		switch {
		case ch.Root: // of another incarnation than the rest was reckoned with
			return state != isUnread && h.Live() && !same
		case state == isLeftover: // the item to replace has changed or was deleted
			return !ch.leftover.Is(h)
		case state == isBound, state == isMissing:
			return h.Incarnation != nil && !same
		case state == isLive:
			return !same
		case h.Incarnation == nil && h.Stage == nil:
			return false
		}
		// an item that a staged insert has put, or, for a new item, any other item
		return ch.Absent() || h.Stage != nil || state == isLikely && !same
	})
}

// With ttl,all each item expires with the root item. A patch that creates items reads the root item, and gives them its
// expiry. The specification is internal/save/staging/spec/Expiry.tla.

// CorrectExpiry returns the requests that give items the expiry of a root item, and the check that it still has it.
func CorrectExpiry(m *model.Model, root *item.Image, items []*write.Request) (writes []*write.Request,
	check *write.Request,
) {
	incarnation := root.Header.Incarnation
	for _, r := range items { // also those whose expiry is over: that of the root item is not
		ch := new(Change).start(m, write.Update, r.Item, r.Place)
		ch.Unread, ch.Expect = true, write.Expect{Blind: true, Terms: []attr.Condition{func(x *attr.Expression) string {
			return "attribute_exists(" + x.Name(r.Table.Hash) + ") AND " + m.Reserved.OwnedBy(x, incarnation)
		}}}
		if a := m.Reserved.AssignExpiry(Inherited(root.Header.Expiry)); a.Value != nil {
			ch.Set = []item.Assignment{a}
		} else {
			ch.Remove = []item.Assignment{a}
		}
		writes = append(writes, &ch.Request)
	}
	guard := checkLive(m, root.Place, incarnation)
	guard.Expect.Terms = append(guard.Expect.Terms,
		write.Values([]item.Assignment{m.Reserved.AssignExpiry(root.Header.Expiry)}))
	return writes, &guard.Request
}

// Inherited returns the expiry of a root item as other items have it, nil for none or for a zero time.
func Inherited(expiry types.AttributeValue) types.AttributeValue {
	if n, ok := expiry.(*types.AttributeValueMemberN); ok && !attr.Same(n, zeroTime) {
		return n
	}
	return nil
}
