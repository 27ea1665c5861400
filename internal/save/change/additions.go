package change

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/save/write"
)

// A patch creates an item only in an entity that exists: an element that it adds, and a fixed item that
// is missing. Package operation reads the root item, and asks the methods of this file what the patch
// creates.

// RequireItems has the patch update items that exist, except the root item: an item that is missing is made by Make.
func (x *Patch) RequireItems() {
	for _, ch := range x.Items {
		if ch.makes() && !ch.Root {
			ch.fixed, ch.Exists, ch.mayMake = true, true, true
			ch.Defaults = slices.DeleteFunc(ch.Defaults, ch.isOfKey) // Make sets them
			ch.expect()
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
	check := &PatchItem{Change: start(x.m, write.Check, x.m.Root(), at), Exists: true, now: x.m.Now, m: x.m}
	check.Unread, check.ForAdditions = true, true
	x.Items = append(x.Items, check)
	check.expiry, check.guards = x.expiry, x.Inherits()
	if check.expect(); x.bound {
		check.bind(x.live)
	}
	return check.Change, nil
}

// Rooted reports whether the patch has a request on the root item.
func (x *Patch) Rooted() bool {
	return slices.ContainsFunc(x.Items, func(ch *PatchItem) bool { return ch.Root })
}

// UpsertsRoot reports whether the patch may make the root item.
func (x *Patch) UpsertsRoot() bool {
	return slices.ContainsFunc(x.Items, func(ch *PatchItem) bool { return ch.Root && ch.makes() })
}

// Puts reports whether the patch adds elements, and PutsEither whether it does so whether they exist or not.
func (x *Patch) Puts() bool {
	return slices.ContainsFunc(x.Items, func(ch *PatchItem) bool { return ch.adds })
}

// PutsEither is described at Puts.
func (x *Patch) PutsEither() bool {
	return slices.ContainsFunc(x.Items, func(ch *PatchItem) bool { return ch.adds && ch.either })
}

// Makes reports whether the patch may make an item that is no element, and not the root item.
func (x *Patch) Makes() bool {
	return slices.ContainsFunc(x.Items, func(ch *PatchItem) bool { return !ch.Root && (ch.fixed || ch.makes()) })
}

// Added returns the requests of items that the patch has put, or made.
func (x *Patch) Added() []*write.Request {
	var all []*write.Request
	for _, ch := range x.Items {
		if !ch.Root && (ch.Kind == write.Put || ch.making) {
			all = append(all, &ch.Request)
		}
	}
	return all
}

// Live returns the incarnation that the patch is bound to; ok is false if it knows none.
func (x *Patch) Live() (live types.AttributeValue, ok bool) { return x.live, x.bound }

// Written returns the incarnation of the items that the patch has written. ok is false for an item
// without an incarnation, which is visible in every entity.
func (x *Patch) Written() (live types.AttributeValue, ok bool) {
	if x.FitsIncarnation() {
		a := x.Items[0].Returned[x.Items[0].Reserved.IncarnationName()]
		return a, a != nil
	}
	for _, ch := range x.Items {
		if !x.bound && ch.hidden != nil && ch.incarnation != nil {
			return ch.incarnation, true // in place of a leftover item
		}
	}
	return x.Live()
}

// FitsIncarnation reports whether an answer had the item that the patch has written.
func (x *Patch) FitsIncarnation() bool {
	ch := x.Items[0]
	return len(x.Items) == 1 && ch.Kind == write.Update && ch.Returned != nil
}

// LostRoot reports whether the root item is missing that the patch was bound to, and that it can make.
func (x *Patch) LostRoot(stored []item.Attributes) bool {
	lost := func(ch *PatchItem, a item.Attributes) bool {
		return ch.Root && ch.bound && ch.makes() && !ch.making && len(a) == 0
	}
	return len(x.indexes(stored, lost)) > 0
}

// ReckonIncarnation gives the items that are put the sizes that they have with an incarnation, which
// most root items have: for a plan, before the root item is read.
func (x *Patch) ReckonIncarnation() {
	for _, ch := range x.Items {
		if ch.Kind == write.Put && !ch.Root {
			put, expiry := ch.Put, ch.expiry
			ch.NewSize = ch.WholeSize() + ch.Reserved.IncarnationSize()
			if ch.inherits() {
				ch.expiry = item.Epoch(x.m.Now())
				ch.NewSize += ch.Reserved.AssignExpiry(ch.expiry).Size()
			}
			if len(ch.Item.Entries) > 0 {
				ch.carry(item.NewToken())
				ch.index(x.m)
			}
			ch.Put, ch.expiry = put, expiry
		}
	}
}

// Unbind makes the patch what it was before it knew an incarnation.
func (x *Patch) Unbind() {
	x.bound, x.live = false, nil
	x.ExpireWith(nil)
	for _, ch := range x.Items {
		if ch.original != nil {
			ch.take(ch.original)
			ch.plain = nil
			ch.expect()
		} else if ch.hidden != nil {
			ch.Plain()
		}
	}
}

// Missing returns the indexes of items that are missing, and that the patch can make. Occupied returns
// those of items that it was making, and that exist now.
func (x *Patch) Missing(stored []item.Attributes) []int {
	return x.indexes(stored,
		func(ch *PatchItem, a item.Attributes) bool { return ch.fixed && !ch.making && len(a) == 0 })
}

// Occupied is described at Missing.
func (x *Patch) Occupied(stored []item.Attributes) []int {
	return x.indexes(stored, func(ch *PatchItem, a item.Attributes) bool {
		return ch.making && len(a) > 0 && !ch.Reserved.Expired(a, ch.now())
	})
}

// MissingFromTag returns the indexes of missing items that a tag requires.
func (x *Patch) MissingFromTag(stored []item.Attributes) []int {
	return x.indexes(stored, func(ch *PatchItem, a item.Attributes) bool { return ch.tagged && len(a) == 0 })
}

// Present returns the indexes of the items that are stored.
func (x *Patch) Present(stored []item.Attributes) []int {
	return x.indexes(stored, func(_ *PatchItem, a item.Attributes) bool { return len(a) > 0 })
}

func (x *Patch) indexes(stored []item.Attributes, is func(*PatchItem, item.Attributes) bool) []int {
	var all []int
	for i, ch := range x.Items {
		if i < len(stored) && stored[i] != nil && is(ch, stored[i]) {
			all = append(all, i)
		}
	}
	return all
}

// IsMaking reports whether the item was missing, so that the patch makes it.
func (ch *PatchItem) IsMaking() bool { return ch.making }

// Make has the patch make a missing item, as one of the live entity.
func (x *Patch) Make(i int) {
	ch := x.Items[i]
	ch.begin()
	ch.make(x.live)
}

// make has the patch make the item. An update makes an item that is missing.
func (ch *PatchItem) make(live types.AttributeValue) {
	ch.making, ch.incarnation = true, live
	if ch.fixed {
		ch.Defaults = slices.Concat(ch.Defaults, ch.ofKey)
	}
	if live != nil && !slices.ContainsFunc(ch.Defaults,
		func(a item.Assignment) bool { return a.Name == ch.Reserved.IncarnationName() }) {
		ch.Defaults = append(slices.Clip(ch.Defaults), ch.Reserved.AssignIncarnation(live))
	}
	ch.expire()
	ch.OldSize, ch.Unread = 0, false
	ch.NewSize = attr.ItemSize(ch.itemOfInsert()) + ch.Reserved.VersionSize()
	ch.expect()
}

func (ch *PatchItem) isOfKey(a item.Assignment) bool {
	return slices.ContainsFunc(ch.ofKey, func(k item.Assignment) bool { return k.Name == a.Name })
}

// Expect has the patch meet items of other incarnations than the one that the entity had last as
// strays, which it finds out about.
func (x *Patch) Expect(likely types.AttributeValue) {
	for _, ch := range x.Items {
		if !ch.Root && (ch.Kind == write.Update || ch.Kind == write.Check) && !ch.bound && ch.incarnation == nil &&
			!ch.making && !ch.seen && ch.hidden == nil && !attr.Same(ch.likely, likely) {
			ch.likely = likely
			ch.expect()
		}
	}
}
