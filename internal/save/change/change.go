// Package change computes the writes of a save ([Diff], from a snapshot and a value), of a patch
// ([Patch]) and of the removal of a selection ([Deletion]). It has no client and no context, and its
// only clock is the model's.
package change

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/codec"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/read/snapshot"
	"github.com/itemize/itemize/internal/save/write"
)

// Change is one item that is written or checked: the request, and what it makes of the
// snapshot.
type Change struct {
	write.Request
	// Stored is the stored item; nil for a new item. From is the stored item that a new item moves away from, or nil.
	Stored, From *snapshot.Stored
	// Record is the value to store, nil for a delete. Pos is its position in the value.
	Record any
	Pos    codec.Pos
	// mayMake reports that the item is made if it is missing, by a later request.
	mayMake bool
	// external are the values that may be outside the item, and are new.
	external []external
	// plain are the external values that differ from the encodings of the record's, before they are compressed, by
	// index.
	plain map[int]types.AttributeValue
}

// start returns a change of an item.
func start(m *model.Model, kind write.Kind, it *schema.Item, at item.Place) *Change {
	return new(Change).start(m, kind, it, at)
}

func (ch *Change) start(m *model.Model, kind write.Kind, it *schema.Item, at item.Place) *Change {
	ch.Item = it
	ch.Kind, ch.Place, ch.Label, ch.Field = kind, at, m.Label(), it.Name
	ch.Root, ch.Reserved = m.IsRoot(it), m.Reserved
	return ch
}

// of returns a change of a stored item.
func of(m *model.Model, kind write.Kind, it *schema.Item, r *snapshot.Stored) *Change {
	ch := start(m, kind, it, r.Place)
	ch.Stored, ch.OldSize, ch.Header = r, r.Size, r.Header
	return ch
}

// checkLive returns the check that the root item at a place is live, and has an incarnation, nil for none.
func checkLive(m *model.Model, at item.Place, incarnation types.AttributeValue) *Change {
	ch := start(m, write.Check, m.Root(), at)
	of := func(x *attr.Expression) string { return m.Reserved.IncarnationIs(x, incarnation) }
	ch.Unread = true
	ch.Expect = write.Expect{Present: true, Blind: true, Terms: []attr.Condition{m.Reserved.LiveRoot, of}}
	return ch
}

// IsAddition reports whether the change puts a new item that is not the root item.
func (ch *Change) IsAddition() bool { return ch.New && !ch.Root && ch.Kind == write.Put }

// expectStored requires that the item is as it was read: by its version, or without one by
// its old values: of the attributes that an update changes, or of all.
func (ch *Change) expectStored() {
	r := ch.Stored
	ch.PinsEntity = ch.Root
	if r.Header.Version != nil {
		ch.Expect.Version = r.Header.Version
		return
	}
	var names []string
	if ch.Kind == write.Update {
		names = make([]string, 0, len(ch.Set)+len(ch.Remove))
		for _, list := range [][]item.Assignment{ch.Set, ch.Remove} {
			for _, a := range list {
				names = append(names, a.Name)
				if now := r.Renamed(ch.Item, a); now != "" && !slices.Contains(names, now) {
					names = append(names, now) // which is read first, where another has written it
				}
			}
		}
	}
	if r.Projection != nil {
		ch.expectPart(names)
		return
	}
	if names != nil && !slices.Contains(names, ch.Reserved.IncarnationName()) {
		names = append(names, ch.Reserved.IncarnationName()) // an item of another incarnation is another item
	}
	ch.Expect.Old = write.OldValues(ch.Place, r.Raw, names)
	if ch.Kind == write.Put {
		ch.expectMissing()
	}
}

// expectMissing requires that other writers have added no attributes that a put of an item without a version would
// overwrite or remove. These are the attributes that it sets, and as many others of the item's kind as fit.
func (ch *Change) expectMissing() {
	old := ch.Expect.Old
	add := func(name string) {
		if ch.Stored.Raw[name] == nil {
			old.Values = append(old.Values, item.Assignment{Name: name, Index: item.Unlisted})
		}
	}
	for _, name := range ch.Shown {
		add(name)
	}
	const most = 100 // as many as fit into the condition in any case
	for _, a := range ch.Item.Attributes {
		if len(old.Values) >= most {
			return
		}
		if !slices.Contains(ch.Shown, a.Name) {
			add(a.Name)
		}
	}
}

// dropMark makes an update take the mark of a staged insert away: who loaded the item knows
// that its entity is live.
func (ch *Change) dropMark(m *model.Model) {
	if ch.Stored.Header.Stage != nil && m.DropsMark(ch.Item) {
		ch.Remove = append(ch.Remove, m.Reserved.DropMark())
	}
}

// effect returns what a request has made of the change's item, once it is applied: the
// change's own, or one that was made of it.
func (ch *Change) effect(r *write.Request) snapshot.Effect {
	return snapshot.Effect{
		Place: r.Place, Item: ch.Item, Stored: ch.Stored, From: ch.From, Record: ch.Record, Pos: ch.Pos,
		Plain:   ch.plain,
		Deleted: r.Kind == write.Delete, Put: r.Put, Set: r.Set, Removed: r.Remove, Version: r.Token, Size: r.NewSize,
	}
}

// Effects returns what requests that were made from changes have made of the snapshot.
func Effects(changes []*Change, requests []*write.Request) []snapshot.Effect {
	effects := make([]snapshot.Effect, 0, len(requests))
	eachChange(changes, requests, func(ch *Change, r *write.Request) { effects = append(effects, ch.effect(r)) })
	return effects
}

// eachChange calls f with each request that writes an item of a change, and with that change. A step of
// a staged write has other requests than the changes, for the same items.
func eachChange(changes []*Change, requests []*write.Request, f func(*Change, *write.Request)) {
	next := 0 // requests are mostly in the order of the changes
	for _, r := range requests {
		if r.Item == nil || !r.Writes() {
			continue
		}
		for n := range changes {
			if i := (next + n) % len(changes); changes[i].Place == r.Place {
				f(changes[i], r)
				next = i + 1
				break
			}
		}
	}
}

// Requests returns the requests of changes.
func Requests(changes []*Change) []*write.Request {
	requests := make([]*write.Request, len(changes))
	for i, ch := range changes {
		requests[i] = &ch.Request
	}
	return requests
}
