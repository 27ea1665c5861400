package change

import (
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/save/write"
)

// Each time a patch learns something about an item, it makes the request of that item again, from the changes that the
// caller asked for. Each step has a type of its own with the next step as its method, so that no other order compiles.
type (
	asked    struct{ making }
	loaded   struct{ making }
	required struct{ making }
	making   struct {
		*PatchItem
		*decision
	}
)

// knowledge is the state of an item, with the values that belong to it.
type knowledge struct {
	state state
	// incarnation is the live incarnation, or in isLikely the likely one; nil for an entity without one.
	incarnation types.AttributeValue
	// leftover is the stored item in isLeftover.
	leftover *item.Hidden
	// read is set in states with asRead.
	read *rewriting
}

// rewriting is an item as it was read, with the changes that set attributes as a whole.
type rewriting struct {
	stored      item.Attributes
	set, remove []item.Assignment
	operations  []item.Operation
	counted     bool
}

// basis has the parts of a request that the caller asked for.
type basis struct {
	kind                  write.Kind
	put                   item.Attributes
	set, remove, defaults []item.Assignment
	operations            []item.Operation
	newSize               int
	unread                bool
}

// learn notes the knowledge of the patch about an item, and makes its request again; a combination that cannot occur
// counts as no knowledge.
func (ch *PatchItem) learn(k knowledge) {
	if decide(k.state, ch.demand) == nil {
		k = ch.patch.knowledge()
	}
	ch.knowledge = k
	ch.ask().load().require().price()
}

// ask makes the request as the caller asked for it, or with attributes that are set as a whole.
func (ch *PatchItem) ask() asked {
	row, b := decide(ch.state, ch.demand), &ch.basis
	ch.Kind, ch.Put, ch.Set, ch.Remove, ch.Defaults, ch.Operations = b.kind, b.put, b.set, b.remove, b.defaults,
		b.operations
	ch.OldSize, ch.NewSize, ch.Unread, ch.Counted, ch.Returned = 0, b.newSize, b.unread, false, nil
	if r := ch.read; row.sends == wholeValue {
		ch.Set, ch.Remove, ch.Operations, ch.Counted = r.set, r.remove, r.operations, r.counted
	}
	return asked{making{ch, row}}
}

// load adds the attributes that the item has as one of its entity.
func (x asked) load() loaded {
	ch := x.PatchItem
	if x.carries == nothing {
		return loaded(x)
	}
	identity := make([]item.Assignment, 0, 2)
	if ch.incarnation != nil {
		identity = append(identity, ch.Reserved.AssignIncarnation(ch.incarnation))
	}
	if expiry := Inherited(ch.patch.expiry); ch.inherits() && expiry != nil {
		identity = append(identity, ch.Reserved.AssignExpiry(expiry))
	}
	defaults := ch.Defaults
	if x.carries == withKeys {
		defaults = slices.Concat(defaults, ch.ofKey)
	}
	switch {
	case x.carries == sameRoot && ch.incarnation == nil: // writers that have read the root item know of none
		ch.Defaults = slices.DeleteFunc(slices.Clone(defaults),
			func(a item.Assignment) bool { return a.Name == ch.Reserved.IncarnationName() })
	case x.carries == sameRoot:
	case x.sends == wholeItem:
		ch.Kind, ch.Put = write.Put, ch.made(defaults)
		into(ch.Put, identity)
	case ch.Kind == write.Update:
		ch.Defaults = slices.Concat(defaults, identity)
	case len(identity) > 0:
		ch.Put = maps.Clone(ch.Put)
		into(ch.Put, identity)
	}
	return loaded(x)
}

func into(to item.Attributes, all []item.Assignment) {
	for _, a := range all {
		a.Into(to)
	}
}

// made returns the item that an update makes if none exists, without its version.
func (ch *PatchItem) made(defaults []item.Assignment) item.Attributes {
	r := ch.Request
	r.Put, r.Token, r.Defaults = nil, nil, defaults
	return r.Added()
}

// require sets the condition.
func (x loaded) require() required {
	ch, e := x.PatchItem, write.Expect{Blind: true}
	ch.PinsEntity, ch.OfEntity, ch.Named = ch.Root && ch.incarnation != nil || ch.Root && ch.patch.bound, nil, nil
	if ch.PinsEntity {
		ch.OfEntity = ch.incarnation
	}
	switch x.item {
	case isAbsent, isReplaceable:
		ch.Expect = write.Expect{Blind: true, Absent: true, Instead: ch.leftover}
		return required(x)
	case exists:
		e.Present = true
	case isSame, isSameNone:
		e = write.Expect{Absent: true}
		if stored := ch.read.stored; len(stored) > 0 {
			e = write.AsFound(ch.Place, ch.Reserved.Header(stored).Version, stored)
		}
	}
	if x.item == isNone || x.item == isSameNone {
		e.Terms = append(e.Terms, ch.missing())
	} else {
		e.Terms = append(e.Terms, ch.of(x.entity))
	}
	if (x.item == existsOrNot || x.item == isSame) && ch.Reserved.Expires() {
		e.Terms = append(e.Terms, ch.Reserved.NotExpired(ch.patch.m.Now))
	}
	for i := range ch.Operations {
		if needs := ch.Operations[i].Needs(); needs != nil {
			e.Terms = append(e.Terms, needs)
		}
	}
	for _, w := range ch.where {
		e.Terms = append(e.Terms, w.condition)
	}
	if x.entity == inheritable && ch.patch.Inherits() {
		expiry := write.Values([]item.Assignment{ch.Reserved.AssignExpiry(ch.patch.expiry)})
		ch.Named, e.Terms = append(ch.Named, expiry), append(e.Terms, expiry)
	}
	if ch.owner != nil {
		ch.Named = append(ch.Named, ch.owner)
	}
	ch.Expect = e
	return required(x)
}

// missing requires that no item exists.
func (ch *PatchItem) missing() attr.Condition {
	return func(x *attr.Expression) string { return "attribute_not_exists(" + x.Name(ch.Table.Hash) + ")" }
}

// of requires the origin of the item.
func (ch *PatchItem) of(from origin) attr.Condition {
	names, incarnation := ch.Reserved, ch.incarnation
	return func(x *attr.Expression) string {
		switch from {
		case ofLikely:
			return names.Unstaged(x) + " AND " + names.OwnedBy(x, incarnation)
		case ofLive:
			return names.IncarnationIs(x, incarnation)
		case ofOwn:
			return names.OwnedBy(x, incarnation)
		case liveRoot:
			return names.LiveRoot(x)
		case liveRootOf, inheritable:
			return names.LiveRoot(x) + " AND " + names.IncarnationIs(x, incarnation)
		}
		return names.Unstaged(x)
	}
}

// price sets the sizes of the item, and the changes of its entries in secondary indexes.
func (x required) price() {
	ch, m := x.PatchItem, x.patch.m
	switch {
	case x.item == isNone:
		ch.NewSize, ch.Unread = attr.ItemSize(ch.made(ch.Defaults))+ch.Reserved.VersionSize(), false
	case x.item == isReplaceable:
		ch.OldSize, ch.NewSize = ch.leftover.Size, ch.WholeSize()
	case ch.Kind == write.Put:
		ch.NewSize = ch.WholeSize()
	}
	ch.index(m)
	if x.item != isSame && x.item != isSameNone {
		return
	}
	after := ch.after()
	ch.OldSize, ch.NewSize, ch.Unread = attr.ItemSize(ch.read.stored), attr.ItemSize(after), false
	if ch.Reserved.Header(ch.read.stored).Version == nil {
		ch.NewSize += ch.Reserved.VersionSize()
	}
	ch.Entries = m.Entries(ch.Item, ch.Table.Name, ch.read.stored, after)
}

// after returns the item after the write, of one that was read.
func (ch *PatchItem) after() item.Attributes {
	after := ch.Key()
	maps.Copy(after, attr.CopyItem(ch.read.stored))
	for _, a := range ch.Defaults {
		if after[a.Name] == nil {
			a.Into(after)
		}
	}
	into(after, ch.Set)
	for _, a := range ch.Remove {
		delete(after, a.Name)
	}
	for i := range ch.Operations {
		_ = ch.Operations[i].Apply(after) // it fits
	}
	return after
}
