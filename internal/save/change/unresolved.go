package change

import (
	"slices"
	"time"

	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/read/snapshot"
	"github.com/itemize/itemize/internal/save/write"
)

// UnresolvedWrite is a write without an answer: it was applied, was not applied, or can still be
// applied. It has the changes of one request, or of a staged insert.
type UnresolvedWrite struct {
	// Changes are independent of the value that they came from, and so are Keys.
	Changes []*Change
	Keys    snapshot.Keys
	// Evidence are the requests whose items show whether the write was applied.
	Evidence []*write.Request
	// Elsewhere reports that Evidence are requests of other entities, in the same transaction.
	Elsewhere bool
	// Whole reports that a save wrote nothing else.
	Whole bool
	// Move is the move of the entity to another key that the write was a part of, nil for none.
	Move *Diff
	// Shown reports that a version or incarnation in Evidence shows that the write was applied. Without
	// it another writer may have done the same, for instance deleted the items.
	Shown bool
	// Movable reports that another writer may have moved the entity to another shard, so that a missing
	// item does not show that it was deleted.
	Movable bool
	// Since is when the last request was sent.
	Since time.Time
}

// UnresolvedWrites are the unresolved writes of an entity, the latest last.
type UnresolvedWrites []*UnresolvedWrite

// Lateness is how long after it was sent a request may still be applied: DynamoDB refuses
// a signature that is older (General Reference, "Signature Version 4").
const Lateness = 15 * time.Minute

// NewUnresolvedWrite returns the unresolved write of requests that were made from changes and sent at once; evidence
// shows whether it was applied, nil for the requests themselves.
func NewUnresolvedWrite(m *model.Model, changes []*Change, requests []*write.Request, keys snapshot.Keys,
	evidence []*write.Request,
) *UnresolvedWrite {
	x := &UnresolvedWrite{Since: m.Now(), Keys: keys, Evidence: evidence, Movable: m.CanReshard(keys.KeyFields)}
	eachChange(changes, requests, func(ch *Change, r *write.Request) { x.Changes = append(x.Changes, ch.freeze(m, r)) })
	if x.Elsewhere = evidence != nil; !x.Elsewhere {
		x.Evidence = Requests(x.Changes)
	}
	if keys.Value != nil {
		x.Keys.Value = m.Codec.New()
		m.Codec.CloneKeyFields(x.Keys.Value, keys.Value)
	}
	return x
}

// freeze makes a change that a request has sent independent of its source value, so that it can be applied to the
// snapshot once the write is resolved.
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
func (d UnresolvedWrites) Places() []item.Place {
	var places []item.Place
	for _, x := range d {
		for _, ch := range x.Changes {
			places = append(places, ch.Place)
		}
	}
	return places
}

// keptOutBy reports whether the write cannot be applied after a write of the item at a place.
func (x *UnresolvedWrite) keptOutBy(at item.Place) bool {
	existed := func(ch *Change) bool { return !ch.New }
	// A put of a new item prevents it only while the item exists. So it counts only if the unresolved write consists
	// of new items.
	some := slices.ContainsFunc(x.Changes, existed)
	return slices.ContainsFunc(x.Changes, func(ch *Change) bool { return ch.Place == at && (!some || existed(ch)) })
}

// Overwritten returns the unresolved writes without those of items that were written later:
// their conditions cannot hold any more.
func (d UnresolvedWrites) Overwritten(effects []snapshot.Effect) UnresolvedWrites {
	return slices.DeleteFunc(d, func(x *UnresolvedWrite) bool {
		return slices.ContainsFunc(effects, func(e snapshot.Effect) bool { return x.keptOutBy(e.Place) })
	})
}

// Without returns the unresolved writes except x.
func (d UnresolvedWrites) Without(x *UnresolvedWrite) UnresolvedWrites {
	return slices.DeleteFunc(d, func(y *UnresolvedWrite) bool { return x == y })
}

// Late returns the unresolved writes that can still be applied after the changes, because no change writes their items.
func (d UnresolvedWrites) Late(changes []*Change) UnresolvedWrites {
	var late UnresolvedWrites
	for _, x := range d {
		if !slices.ContainsFunc(changes, func(ch *Change) bool { return x.keptOutBy(ch.Place) }) {
			late = append(late, x)
		}
	}
	return late
}

// FindApplied returns the latest unresolved write that was applied, as the item stored at a place shows, or nil.
func (d UnresolvedWrites) FindApplied(at item.Place, stored item.Attributes) *UnresolvedWrite {
	for _, x := range slices.Backward(d) {
		i := slices.IndexFunc(x.Evidence, func(r *write.Request) bool {
			onlyDelete := r.Kind == write.Delete && len(x.Evidence) == 1 && !x.Movable // applied if its item is missing
			return r.Place == at && (r.IsIdentifiable() || onlyDelete) && r.Wrote(stored)
		})
		if stored != nil && i >= 0 {
			x.Shown = x.Evidence[i].IsIdentifiable()
			return x
		}
	}
	return nil
}

// Applied finds out whether the write was applied: one identifiable item shows it, and without one each item has to
// equal the result; look reads an item.
func (x *UnresolvedWrite) Applied(look func(*write.Request) (item.Attributes, error)) (bool, error) {
	identifiable := slices.ContainsFunc(x.Evidence, (*write.Request).IsIdentifiable)
	for _, r := range x.Evidence {
		if identifiable && !r.IsIdentifiable() {
			continue
		}
		stored, err := look(r)
		switch {
		case err != nil:
			return false, err
		case identifiable && r.Wrote(stored):
			x.Shown = true
			return true, nil
		case !identifiable && (!r.Holds(stored) || x.Movable && r.Kind == write.Delete):
			return false, nil
		}
	}
	if !identifiable || !x.Elsewhere {
		return !identifiable, nil
	}
	// Another writer may have changed the items of other entities later. An item that was deleted is
	// missing in any case.
	for _, ch := range x.Changes {
		if stored, err := look(&ch.Request); err != nil || !ch.Holds(stored) || x.Movable && ch.Kind == write.Delete {
			return false, err
		}
	}
	return true, nil
}

// UnresolvedError reports writes whose outcome is still not known.
type UnresolvedError struct {
	Places []item.Place
	Err    error
}

func (e *UnresolvedError) Error() string { return e.Err.Error() }
