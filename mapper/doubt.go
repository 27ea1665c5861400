package mapper

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/itemize/itemize/internal/attr"
	"github.com/itemize/itemize/internal/key"
	"github.com/itemize/itemize/internal/read"
)

// doubt is a write whose outcome is not known: it was applied, or it was not, or it
// may yet be. It is all of what one request wrote, or a staged insert.
type doubt struct {
	// changes are independent of the value that they came from, and so is to.
	changes []*change
	to      arrival
	// tellers are the changes whose items report whether the write was applied.
	tellers []*change
	// whole tells that it is all of what a save writes.
	whole bool
	// since is when the last request was sent.
	since time.Time
}

// lateness is how long after it was sent a request may still be applied: DynamoDB
// refuses a signature that is older (General Reference, "Signature Version 4").
const lateness = 15 * time.Minute

// unknown notes that the outcome of changes, written at once, is not known.
func (c *core) unknown(s *state, d *diff, changes []*change, err error) error {
	x := &doubt{since: c.now()}
	e := &OutcomeUnknownError{Model: c.schema.Label(), Err: err}
	for _, ch := range changes {
		if ch.kind != KindCheck {
			x.changes = append(x.changes, c.freeze(ch))
			e.Items = append(e.Items, c.public(ch.place))
		}
	}
	x.tellers, x.whole = x.changes, len(x.changes) == len(d.changes)
	c.remember(s, d, x)
	return e
}

func (c *core) remember(s *state, d *diff, x *doubt) {
	x.to = d.arrival()
	if d.v != nil {
		x.to.v = c.codec.New()
		c.codec.CloneKeyFields(x.to.v, d.v)
	}
	s.doubts = append(s.doubts, x)
}

// touches reports whether the write is of an item at a place.
func (x *doubt) touches(at place) bool {
	return slices.ContainsFunc(x.changes, func(ch *change) bool { return ch.place == at })
}

// touchedBy reports whether changes write one of the items, which ends the doubt.
func (x *doubt) touchedBy(changes []*change) bool {
	return slices.ContainsFunc(changes, func(ch *change) bool { return x.touches(ch.place) })
}

// overwritten forgets what is in doubt of items that have been written since: its
// conditions cannot hold any more.
func (s *state) overwritten(at place) {
	s.doubts = slices.DeleteFunc(s.doubts, func(x *doubt) bool { return x.touches(at) })
}

// adopt settles a write in doubt that has turned out to be applied.
func (c *core) adopt(s *state, x *doubt) {
	c.settle(s, x.to, x.changes)
	if x.whole {
		c.arrive(s, x.to)
	}
}

// adoptStored settles the writes in doubt whose version is stored.
func (c *core) adoptStored(s *state, changes []*change, stored []read.Item) bool {
	adopted := false
	for i, ch := range changes {
		for _, x := range slices.Backward(slices.Clone(s.doubts)) {
			told := slices.ContainsFunc(x.tellers, func(tell *change) bool {
				return tell.place == ch.place && tell.token != nil && c.wrote(tell, stored[i])
			})
			if told && slices.Contains(s.doubts, x) {
				c.adopt(s, x)
				adopted = true
			}
		}
	}
	return adopted
}

// resolve finds out, before a write, about those in doubt, the latest first. One
// that was not applied so far stays in mind, since it may yet be.
func (c *core) resolve(ctx context.Context, s *state, t *tally) error {
	for _, x := range slices.Backward(slices.Clone(s.doubts)) {
		if !slices.Contains(s.doubts, x) {
			continue // settled together with another
		}
		applied, err := c.applied(ctx, x, t)
		switch {
		case err != nil:
			return c.inDoubt([]*doubt{x}, err)
		case applied:
			c.adopt(s, x)
		case c.now().Sub(x.since) > lateness:
			s.doubts = slices.DeleteFunc(s.doubts, func(y *doubt) bool { return x == y })
		}
	}
	return nil
}

// applied reads whether a write in doubt was applied: one of its items has the
// version that it gave it or, where it gives none, all are what it makes of them.
func (c *core) applied(ctx context.Context, x *doubt, t *tally) (bool, error) {
	versioned := slices.ContainsFunc(x.tellers, func(ch *change) bool { return ch.token != nil })
	for _, ch := range x.tellers {
		if versioned && ch.token == nil {
			continue
		}
		stored, err := c.strongly(ctx, ch.place, t)
		switch {
		case err != nil:
			return false, err
		case versioned && c.wrote(ch, stored):
			return true, nil
		case versioned && c.isOld(ch, stored), !versioned && !c.holds(ch, stored):
			return false, nil
		}
	}
	return !versioned, nil
}

// holds tells of a write without a version whether the item is what it makes of it.
func (c *core) holds(ch *change, stored read.Item) bool {
	switch ch.kind {
	case KindDelete:
		return len(stored) == 0
	case KindPut:
		return attr.SameItem(ch.put, stored)
	}
	for _, a := range ch.attributes {
		if !attr.Same(a.value, stored[a.name]) {
			return false
		}
	}
	for _, a := range ch.removed {
		if stored[a.name] != nil {
			return false
		}
	}
	return len(stored) > 0
}

// inDoubt is the error of writes whose outcome is still not known.
func (c *core) inDoubt(doubts []*doubt, err error) error {
	e := &OutcomeUnknownError{Model: c.schema.Label(), Err: err}
	for _, x := range doubts {
		for _, ch := range x.changes {
			e.Items = append(e.Items, c.public(ch.place))
		}
	}
	return e
}

// late returns the writes in doubt that may still be applied after changes were.
func (s *state) late(changes []*change) []*doubt {
	var late []*doubt
	for _, x := range s.doubts {
		if !x.touchedBy(changes) {
			late = append(late, x)
		}
	}
	return late
}

// fence sees to it that no write in doubt is applied after the changes of a save,
// which the user takes for all there is: where they write none of its items, one
// gets a new version. An item that is not there cannot be fenced off.
func (d *diff) fence() error {
	var open []*doubt
	for _, x := range d.s.doubts {
		if x.touchedBy(d.changes) {
			continue
		}
		i := slices.IndexFunc(x.changes, func(ch *change) bool { return d.versioned(ch.place) != nil })
		if i < 0 {
			open = append(open, x)
			continue
		}
		r := d.versioned(x.changes[i].place)
		it := x.changes[i].item
		bump := &change{place: r.place, kind: KindUpdate, item: it, row: r, oldSize: r.size, newSize: r.size + d.versionGrowth(it, r)}
		bump.shown = []string{d.c.schema.Version}
		d.changes = append(d.changes, bump)
	}
	if len(open) > 0 {
		return d.c.inDoubt(open, errLate)
	}
	return nil
}

var errLate = fmt.Errorf("it is not there, but may still come until %v after it was sent, and what is written now would not keep it out", lateness)

// versioned returns the row of a place, if it has a version.
func (d *diff) versioned(at place) *row {
	for _, rows := range d.s.rows {
		for _, r := range rows {
			if r.place == at && r.version != nil {
				return r
			}
		}
	}
	return nil
}

// arrival is the keys of a value that was saved.
type arrival struct {
	v      any
	keyFields []key.Value
	pk     key.Scalar
}

func (d *diff) arrival() arrival { return arrival{d.v, d.keyFields, d.pk} }
