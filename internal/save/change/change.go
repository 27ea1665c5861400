// Package change computes the writes of a save ([Diff], from a snapshot and a value), of a patch
// ([Patch]) and of the removal of a selection ([Deletion]). It has no client and no context, and its
// only clock is the model's.
package change

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost"
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

// start makes it a change of an item.
func (ch *Change) start(m *model.Model, kind write.Kind, it *schema.Item, at item.Place) *Change {
	ch.Item = it
	ch.Kind, ch.Place, ch.Label, ch.Field = kind, at, m.Label(), it.Name
	ch.Root, ch.Reserved = m.IsRoot(it), m.Reserved
	return ch
}

// of returns a change of a stored item.
func of(m *model.Model, kind write.Kind, it *schema.Item, r *snapshot.Stored) *Change {
	ch := new(Change).start(m, kind, it, r.Place)
	ch.Stored, ch.OldSize, ch.Header = r, r.Size, r.Header
	return ch
}

// checkLive returns the check that the root item at a place is live, and has an incarnation, nil for none.
func checkLive(m *model.Model, at item.Place, incarnation types.AttributeValue) *Change {
	ch := new(Change).start(m, write.Check, m.Root(), at)
	of := func(x *attr.Expression) string { return m.Reserved.IncarnationIs(x, incarnation) }
	ch.Unread = true
	ch.Expect = write.Expect{Present: true, Blind: true, Terms: []attr.Condition{m.Reserved.LiveRoot, of}}
	return ch
}

// IsAddition reports whether the change puts a new item that is not the root item.
func (ch *Change) IsAddition() bool { return ch.New && !ch.Root && ch.Kind == write.Put }

// dropMark makes an update take the mark of a staged insert away: who loaded the item knows
// that its entity is live.
func (ch *Change) dropMark(m *model.Model) {
	if ch.Stored.Header.Stage != nil && m.DropsMark(ch.Item) {
		ch.Remove = append(ch.Remove, m.Reserved.DropMark())
	}
}

// Effects returns what applied requests, that were made from changes, have made of the snapshot.
func Effects(changes []*Change, requests []*write.Request) []snapshot.Effect {
	effects := make([]snapshot.Effect, 0, len(requests))
	eachChange(changes, requests, func(ch *Change, r *write.Request) {
		effects = append(effects, snapshot.Effect{
			Place: r.Place, Item: ch.Item, Stored: ch.Stored, From: ch.From, Record: ch.Record, Pos: ch.Pos,
			Plain: ch.plain, Deleted: r.Kind == write.Delete, Put: r.Put, Set: r.Set, Removed: r.Remove,
			Version: r.Token, Size: r.NewSize,
		})
	})
	return effects
}

// eachChange calls f with each request that writes an item of a change, and with that change.
func eachChange(changes []*Change, requests []*write.Request, f func(*Change, *write.Request)) {
	next := 0 // requests are mostly in the order of the changes
	for _, r := range requests {
		if r.Item == nil || !r.Writes() {
			continue
		}
		// by place: a step of a staged write has other requests than the changes, for the same items
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

// Faults are all that is wrong with a value, or with the parts of a transaction, one error each.
type Faults []error

func (f Faults) Error() string { return errors.Join(f...).Error() }

// and returns the faults with one more, if there is one.
func (f Faults) and(err error) Faults {
	if err == nil {
		return f
	}
	return append(f, err)
}

// OrNil returns nil for no fault, and a single one as it is.
func (f Faults) OrNil() error {
	switch len(f) {
	case 0:
		return nil
	case 1:
		return f[0]
	}
	return f
}

// Unwrap returns the faults.
func (f Faults) Unwrap() []error { return f }

// NotLoaded says that a field was changed whose items were not loaded.
type NotLoaded struct {
	Field string
	// At is the item outside of the selection, Needs what else has to be loaded; one of
	// them is set.
	At    item.Place
	Needs string
	// Element reports that it is an element.
	Element bool
}

func (e *NotLoaded) Error() string { return fmt.Sprintf("%s was changed, but not loaded", e.Field) }

// KeyChanged says that a field that keys name was changed.
type KeyChanged struct{ Field, Old, New string }

func (e *KeyChanged) Error() string {
	return fmt.Sprintf("%s was changed from %s to %s, but keys name it", e.Field, e.Old, e.New)
}

// TooLarge says that an item would be over the limit.
type TooLarge struct {
	Field string
	At    item.Place
	Size  int
	// Local is the size of the item's entries in local indexes, if the item is over the limit because
	// of them.
	Local int
	// Heaviest are the attributes that weigh most, the heaviest first.
	Heaviest []Weight
}

// Weight is an attribute's size in bytes.
type Weight struct {
	Name  string
	Bytes int
}

func (e *TooLarge) Error() string { return e.Field + ": too large: " + attr.Bytes(e.Size) }

// checkLocal returns an error for an item that is over the limit with its entries in local indexes
// (Developer Guide, "Quotas", items, item size for tables with local secondary indexes).
func (ch *Change) checkLocal() error {
	local := 0
	for _, e := range ch.Item.Entries {
		for i := range ch.Entries {
			if x := &ch.Entries[i]; e.Index.Local && x.Index == ch.Table.Name+"/"+e.Index.Name {
				local += x.New
			}
		}
	}
	if local == 0 {
		return nil
	}
	return ch.checkSize(local)
}

// checkSize refuses an item that is over the limit with so many bytes of entries in local indexes.
func (ch *Change) checkSize(local int) error {
	if ch.NewSize+local <= cost.MaxItem {
		return nil
	}
	e := &TooLarge{Field: ch.Field, At: ch.Place, Size: ch.NewSize, Local: local}
	add := func(name string, n int) {
		if n > 0 {
			e.Heaviest = append(e.Heaviest, Weight{name, n})
		}
	}
	written := map[string]bool{}
	for _, a := range ch.Set {
		written[a.Name] = true
		add(a.Name, attr.AttributeSize(a.Name, a.Value))
	}
	if ch.Stored != nil {
		for i, n := range ch.Stored.Sizes {
			if name := ch.Item.Attributes[i].Name; !written[name] {
				add(name, int(n))
			}
		}
		for name, v := range ch.Stored.Unknown {
			add(name, attr.AttributeSize(name, v))
		}
	}
	slices.SortFunc(e.Heaviest, func(a, b Weight) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Name, b.Name))
	})
	e.Heaviest = e.Heaviest[:min(len(e.Heaviest), 3)]
	return e
}
