package change

import (
	"fmt"
	"slices"
	"time"

	"github.com/itemize/itemize/internal/attr"
	"github.com/itemize/itemize/internal/item"
	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/snapshot"
	"github.com/itemize/itemize/internal/write"
)

// Doubt is a write whose outcome is not known: it was applied, or it was not, or it may
// yet be. It is all of what one request wrote, or a staged insert.
type Doubt struct {
	// Changes are independent of the value that they came from, and so are Keys.
	Changes []*Change
	Keys    snapshot.Keys
	// Tellers are the requests whose items tell whether the write was applied.
	Tellers []*write.Request
	// Others reports that these are others' requests, of the same transaction.
	Others bool
	// Whole reports that it is all of what a save writes.
	Whole bool
	// Since is when the last request was sent.
	Since time.Time
}

// Doubts are an entity's, the latest last.
type Doubts []*Doubt

// Lateness is how long after it was sent a request may still be applied: DynamoDB refuses
// a signature that is older (General Reference, "Signature Version 4").
const Lateness = 15 * time.Minute

// NewDoubt returns the unresolved write of requests that were made from changes and sent at once. tellers are the requests whose
// items show whether it was applied, nil for the requests themselves.
func NewDoubt(m *model.Model, changes []*Change, requests []*write.Request, keys snapshot.Keys, tellers []*write.Request) *Doubt {
	x := &Doubt{Since: m.Now(), Keys: keys, Tellers: tellers}
	eachChange(changes, requests, func(ch *Change, r *write.Request) { x.Changes = append(x.Changes, ch.freeze(m, r)) })
	if x.Others = tellers != nil; !x.Others {
		x.Tellers = Requests(x.Changes)
	}
	if keys.Value != nil {
		x.Keys.Value = m.Codec.New()
		m.Codec.CloneKeyFields(x.Keys.Value, keys.Value)
	}
	return x
}

// freeze makes a change, as a request has sent it, independent of the value that it came
// from, so that it can be applied to the snapshot when its outcome is known.
func (ch *Change) freeze(m *model.Model, r *write.Request) *Change {
	f := *ch
	f.Request = *r
	f.Set = slices.Clone(r.Set)
	for i := range f.Set {
		f.Set[i].Value = attr.Copy(f.Set[i].Value)
	}
	f.Put = attr.CopyItem(r.Put)
	if f.Record == nil {
		return &f
	}
	if ch.Item.Element() {
		f.Record = m.Codec.Elements(ch.Item.Index).NewElement()
	} else {
		f.Record = m.Codec.New()
	}
	m.Codec.Record(ch.Item.Index).Clone(f.Record, ch.Record)
	return &f
}

// Places returns where the items are.
func (d Doubts) Places() []item.Place {
	var places []item.Place
	for _, x := range d {
		for _, ch := range x.Changes {
			places = append(places, ch.Place)
		}
	}
	return places
}

// touches reports whether the write is of an item at a place.
func (x *Doubt) touches(at item.Place) bool {
	return slices.ContainsFunc(x.Changes, func(ch *Change) bool { return ch.Place == at })
}

// Overwritten returns the doubts without those about items that have been written since:
// their conditions cannot hold any more.
func (d Doubts) Overwritten(effects []snapshot.Effect) Doubts {
	return slices.DeleteFunc(d, func(x *Doubt) bool {
		return slices.ContainsFunc(effects, func(e snapshot.Effect) bool { return x.touches(e.Place) })
	})
}

// Without returns the doubts but one.
func (d Doubts) Without(x *Doubt) Doubts {
	return slices.DeleteFunc(d, func(y *Doubt) bool { return x == y })
}

// Late returns the doubts that may still be applied after changes were: those that none of
// the changes touches.
func (d Doubts) Late(changes []*Change) Doubts {
	var late Doubts
	for _, x := range d {
		if !slices.ContainsFunc(changes, func(ch *Change) bool { return x.touches(ch.Place) }) {
			late = append(late, x)
		}
	}
	return late
}

// ToldBy returns the latest doubt that a stored item shows to have been applied, nil for
// none.
func (d Doubts) ToldBy(at item.Place, stored item.Attributes) *Doubt {
	for _, x := range slices.Backward(d) {
		if stored != nil && slices.ContainsFunc(x.Tellers, func(r *write.Request) bool { return r.Place == at && x.wasApplied(r, stored) }) {
			return x
		}
	}
	return nil
}

// wasApplied reports whether the item of one of its requests shows that the write was applied: a
// single delete, once its item is gone, has done what it was to do.
func (x *Doubt) wasApplied(r *write.Request, stored item.Attributes) bool {
	return (r.Tells() || r.Kind == write.Delete && len(x.Tellers) == 1) && r.Wrote(stored)
}

// Applied finds out whether the write was applied: one of its items shows it or, where
// nothing tells it from others' writes, all are what it makes of them. look reads an item.
func (x *Doubt) Applied(look func(*write.Request) (item.Attributes, error)) (bool, error) {
	tells := slices.ContainsFunc(x.Tellers, (*write.Request).Tells)
	for _, r := range x.Tellers {
		if tells && !r.Tells() {
			continue
		}
		stored, err := look(r)
		switch {
		case err != nil:
			return false, err
		case tells && r.Wrote(stored):
			return true, nil
		case !tells && !r.Holds(stored):
			return false, nil
		}
	}
	if !tells || !x.Others {
		return !tells, nil
	}
	// Others' items may have been written again since; what was deleted is gone all the same.
	for _, ch := range x.Changes {
		if stored, err := look(&ch.Request); err != nil || !ch.Holds(stored) {
			return false, err
		}
	}
	return true, nil
}

// InDoubt says that the outcome of writes is still not known.
type InDoubt struct {
	Places []item.Place
	Err    error
}

func (e *InDoubt) Error() string { return e.Err.Error() }

// ErrLate says why writes in doubt stand in the way.
var ErrLate = fmt.Errorf("it is not there, but may still come until %v after it was sent, and what is written now would not keep it out", Lateness)

// fence sees to it that no write in doubt is applied after the changes of a save, which
// the user takes for all there is: where they write none of its items, one gets a new
// version. An item that is not there cannot be fenced off.
func (d *differ) fence(doubts Doubts) error {
	var open Doubts
	for _, x := range doubts.Late(d.Changes) {
		if len(Doubts{x}.Late(d.Changes)) == 0 {
			continue // by a fence before
		}
		i := slices.IndexFunc(x.Changes, func(ch *Change) bool { return d.s.Versioned(ch.Place) != nil })
		if i < 0 {
			open = append(open, x)
			continue
		}
		r := d.s.Versioned(x.Changes[i].Place)
		bump := of(d.m, write.Update, x.Changes[i].Item, r)
		bump.NewSize = r.Size + d.m.Reserved.Grows(r.Header, d.m.DropsMark(bump.Item))
		bump.Shown = []string{d.m.Reserved.AssignVersion(nil).Name}
		bump.expectStored()
		bump.dropMark(d.m)
		d.Checks = slices.DeleteFunc(d.Checks, func(ch *Change) bool { return ch.Place == bump.Place })
		d.Changes = append(d.Changes, bump)
	}
	if len(open) > 0 {
		return &InDoubt{open.Places(), ErrLate}
	}
	return nil
}
