package change

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/save/write"
)

// With ttl,all each item expires with the root item. A patch that creates items reads the root item, and gives them its
// expiry. The specification is internal/save/staging/spec/Expiry.tla.

// inherits reports whether the item gets the expiry of the root item when it is created.
func (ch *PatchItem) inherits() bool {
	return ch.Item.ExpiryOfRoot && !ch.Root && !ch.Reserved.ListsExpiry(ch.Item)
}

// Inherits reports whether the patch may create items that expire with the root item.
func (x *Patch) Inherits() bool {
	return slices.ContainsFunc(x.Items, func(ch *PatchItem) bool {
		return ch.inherits() && (ch.adds || ch.fixed || ch.makes())
	})
}

// ExpireWith gives the items that the patch creates the expiry of the root item, as it was read; nil for a root item
// that is created. Bind, Pin and Make apply it.
func (x *Patch) ExpireWith(root *item.Image) {
	var expiry types.AttributeValue
	if x.expiry = nil; root != nil {
		x.expiry, expiry = root.Header.Expiry, ExpiryIn(root)
	}
	for _, ch := range x.Items {
		was := ch.expiry
		switch {
		case ch.Root:
			ch.expiry, ch.guards = x.expiry, x.Inherits()
		case ch.inherits():
			ch.expiry = expiry
		}
		x.moved = x.moved || !attr.Same(was, ch.expiry)
	}
}

// requireExpiry adds the condition that the root item has the expiry that the items get.
func (ch *PatchItem) requireExpiry() {
	if ch.Named = nil; ch.guards && ch.bound && !ch.making {
		ch.Named = write.Values([]item.Assignment{ch.Reserved.AssignExpiry(ch.expiry)})
		ch.Expect.Terms = append(ch.Expect.Terms, ch.Named)
	}
}

// ExpiryMoved reports whether the root item refused the patch because its expiry is not as it was read.
func (x *Patch) ExpiryMoved(stored []item.Attributes) bool {
	return len(x.indexes(stored, func(ch *PatchItem, a item.Attributes) bool {
		h := ch.Reserved.Header(a)
		return ch.Named != nil && len(a) > 0 && h.Live() && !h.Expired(ch.now()) && !attr.Same(h.Expiry, ch.expiry)
	})) > 0
}

// CorrectExpiry returns the requests that give items the expiry of a root item, and the check that it still has it.
func CorrectExpiry(m *model.Model, root *item.Image, items []*write.Request) (writes []*write.Request,
	check *write.Request,
) {
	of := func(x *attr.Expression) string { return m.Reserved.IncarnationIs(x, root.Header.Incarnation) }
	if root.Header.Incarnation == nil {
		of = m.Reserved.NoIncarnation
	}
	unread := func(kind write.Kind, r *write.Request, terms ...attr.Condition) *Change {
		ch := start(m, kind, r.Item, r.Place)
		ch.Unread, ch.Expect = true, write.Expect{Blind: true, Present: kind == write.Check, Terms: terms}
		return ch
	}
	for _, r := range items { // also those whose expiry is over: that of the root item is not
		ch := unread(write.Update, r, func(x *attr.Expression) string {
			return "attribute_exists(" + x.Name(r.Table.Hash) + ") AND (" + m.Reserved.NoIncarnation(x) + " OR " +
				of(x) + ")"
		})
		if a := m.Reserved.AssignExpiry(ExpiryIn(root)); a.Value != nil {
			ch.Set = []item.Assignment{a}
		} else {
			ch.Remove = []item.Assignment{a}
		}
		writes = append(writes, &ch.Request)
	}
	same := write.Values([]item.Assignment{m.Reserved.AssignExpiry(root.Header.Expiry)})
	guard := unread(write.Check, &write.Request{Item: m.Root(), Place: root.Place}, m.Reserved.LiveRoot, of, same)
	return writes, &guard.Request
}

// ExpiryIn returns the expiry of a root item as other items have it, nil for none. A zero time is none.
func ExpiryIn(root *item.Image) types.AttributeValue {
	n, ok := root.Header.Expiry.(*types.AttributeValueMemberN)
	if !ok || attr.Same(n, zeroTime) {
		return nil
	}
	return n
}

// expire has an update give the item that it creates the expiry of the root item.
func (ch *PatchItem) expire() {
	if ch.inherits() && ch.expiry != nil {
		ch.Defaults = append(slices.Clip(ch.Defaults), ch.Reserved.AssignExpiry(ch.expiry))
	}
}
