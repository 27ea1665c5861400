package explore_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/explore"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

// Updates of two entities: an item that moves is in one of them, in each state that a function of UpdateAll sees.
// The checker knows more: both are as they were in one world, and each changed item replaces the one that was read.

// peer has the actors of the other entity.
type peer interface {
	play(r role) explore.Actor
	hold(client mapper.Client, keys bool) *holding
}

// other returns the cast of the other entity.
func (c *cast[T]) other(layout string) peer {
	id := c.id + "b"
	switch layout {
	case "first":
		return paired(&cast[first]{shared: c.shared, id: id}, c)
	case "last":
		return paired(&cast[last]{shared: c.shared, id: id}, c)
	case "satellite":
		return paired(&cast[invoice]{shared: c.shared, id: id}, c)
	}
	return paired(&cast[T]{shared: c.shared, id: id}, c)
}

func paired[T model](c *cast[T], with peer) peer {
	c.peer = with
	return c
}

// holding is an entity that an update of several entities reads and writes.
type holding struct {
	id string
	// part makes the part, and value is its value.
	part     func(options ...mapper.WriteOption) mapper.Part
	get      func() first
	set      func(first)
	was, now *explore.Entity
	// read are the items that are read, nil for all.
	read []string
}

// hold returns the entity, read whole or by known keys.
func (c *cast[T]) hold(client mapper.Client, keys bool) *holding {
	m, v := c.mapperOf(client), new(T)
	h := &holding{
		id:  c.id,
		get: func() first { return first(*v) },
		set: func(f first) { *v = T(f) },
	}
	var s query.Selection[T] = keyOf(m, c.id)
	if keys {
		h.read = []string{"P0", fixed}
		s = c.itemsOf(m)
	}
	h.part = func(options ...mapper.WriteOption) mapper.Part { return m.UpdatePart(v, s, options...) }
	return h
}

// itemsOf returns the root item, the fixed item and a part.
func (c *cast[T]) itemsOf(m *mapper.Mapper[T]) query.Selection[T] {
	k := keyOf(m, c.id)
	switch any(*new(T)).(type) {
	case last:
		return query.Join(k.Item("Z"), k.Item("F"), k.Item("M#P0"))
	case middle:
		return query.Join(k.Item("N"), k.Item("F"), k.Item("M#P0"))
	case invoice:
		t := k.Table("Parts")
		return query.Join(k.Item("A"), t.Item("F"), t.Item("M#P0"))
	case flat:
		d := "DOC#" + c.id + "#"
		return query.Join(k.Item(d+"A"), k.Item(d+"F"), k.Item(d+"M#P0"))
	case separateParts:
		d := "PART#" + c.id + "#"
		return query.Join(k.Item("DOC#"+c.id), k.Item(d+"F"), k.Item(d+"M#P0"))
	}
	return query.Join(k.Item("A"), k.Item("F"), k.Item("M#P0"))
}

// updater is an actor that updates both entities. A transfer moves an item from this entity to the peer. An exchange
// writes a part of each, a derivation writes a part of this one, and a view writes nothing.
func (c *cast[T]) updater(r role) explore.Actor {
	return c.actor(r.name, func(ctx context.Context, n *explore.Transport) {
		client := c.client(n, c.setup)
		from, to := c.hold(client, r.keys), c.peer.hold(client, r.keys)
		both := []*holding{from, to}
		if r.strong { // in the opposite order
			both = []*holding{to, from}
		}
		var options []mapper.WriteOption
		if r.checked {
			options = append(options, mapper.CheckLoaded())
		}
		start := c.run.Now()
		update := func() error {
			for _, h := range both {
				h.was = entityOf(h.get())
			}
			c.history.Add(&explore.Op{
				Actor: r.name, What: fmt.Sprint("sees ", *from.was, *to.was), Start: start, End: c.run.Now(),
				See: seeBoth(*from, *to),
			})
			start = c.run.Now()
			move(r, from, to)
			for _, h := range both {
				h.now = entityOf(h.get())
			}
			return nil
		}
		o := explore.Op{Actor: r.name, What: r.kind}
		o.Apply = func(w *explore.World, past []*explore.World) bool { return c.writeBoth(w, past, r.checked, both) }
		err := c.do(n, o, func() error {
			_, err := mapper.UpdateAll(ctx, update, both[0].part(options...), both[1].part(options...))
			return err
		})
		if errors.Is(err, mapper.ErrNotFound) {
			c.history.Add(&explore.Op{
				Actor: r.name, What: "finds one missing", Start: start, End: c.run.Now(),
				See: func(_, seen []*explore.World) string {
					for _, w := range seen {
						if w.At(from.id) == nil || w.At(to.id) == nil {
							return ""
						}
					}
					return "an entity was not found, and both were there all the while"
				},
			})
		}
	})
}

// move changes the values.
func move(r role, from, to *holding) {
	a, b := from.get(), to.get()
	a.Parts, b.Parts = slices.Clone(a.Parts), slices.Clone(b.Parts)
	switch {
	case r.kind == "view":
	case r.kind == "transfer":
		transfer(r, &a, &b)
	case r.kind == "derive" && len(a.Parts) > 0:
		a.Parts[0].Value = fmt.Sprint(r.name, ":derived ", len(b.Parts), b.Fixed)
	case len(a.Parts) > 0 && len(b.Parts) > 0:
		a.Parts[0].Value, b.Parts[0].Value = r.name+":paid", r.name+":got"
	}
	from.set(a)
	to.set(b)
}

// transfer moves an item from one value to another that has room for it.
func transfer(r role, a, b *first) {
	added := part{"C" + r.name, r.name + ":moved"}
	room := !slices.ContainsFunc(b.Parts, func(p part) bool { return p.Name == added.Name })
	if r.keys {
		added.Name = "P0"
		room = len(b.Parts) == 0
	}
	switch {
	case len(a.Parts) > 0 && b.Fixed == "":
		a.Parts, b.Fixed = a.Parts[1:], added.Value
	case a.Fixed != "" && room:
		a.Fixed, b.Parts = "", append(b.Parts, added)
	case len(a.Parts) > 0 && room:
		a.Parts, b.Parts = a.Parts[1:], append(b.Parts, added)
	}
}

// seeBoth checks a read of two entities: they were both as read in one world during the read.
func seeBoth(all ...holding) func(before, seen []*explore.World) string {
	return func(_, seen []*explore.World) string {
		for _, w := range seen {
			if !slices.ContainsFunc(all, func(h holding) bool { return !h.sees(w) }) {
				return ""
			}
		}
		return "the entities were never so at one moment"
	}
}

// sees reports whether the entity is in a world as it was read.
func (h *holding) sees(w *explore.World) bool {
	if !sameIn(h.id, h.was, w) {
		return false
	}
	for item := range w.At(h.id).Items {
		if h.was.Items[item] == "" && (h.read == nil || slices.Contains(h.read, item)) {
			return false
		}
	}
	return true
}

// writeBoth writes the changed items of both entities, in a world that has them as they were read. If a delete of one
// is in progress, its items are deleted with it.
func (c *cast[T]) writeBoth(w *explore.World, past []*explore.World, checked bool, both []*holding) bool {
	for _, h := range both {
		if h.now == nil {
			return true // the function was not called
		}
		items := maps.Clone(h.was.Items)
		maps.Copy(items, h.now.Items)
		unchanged := func(item, _ string) bool { return h.was.Items[item] == h.now.Items[item] }
		maps.DeleteFunc(items, unchanged)
		if checked && !sameIn(h.id, h.was, w) {
			return false
		}
		for item := range items {
			if !c.replace(w, past, h, item) {
				return false
			}
		}
	}
	return true
}

// replace writes an item of an entity that was read.
func (c *cast[T]) replace(w *explore.World, past []*explore.World, h *holding, item string) bool {
	e, old, value := w.At(h.id), h.was.Items[item], h.now.Items[item]
	live := e != nil && e.Origin == h.was.Origin
	there := func(w *explore.World) bool {
		e := w.At(h.id)
		return e != nil && e.Origin == h.was.Origin && w.MaySee(h.id, item, old)
	}
	switch {
	case live && (there(w) || old == "" && e.Items[item] == ""):
		w.Entities[h.id] = e.With(item, value)
		return true
	case live || old == "":
		return false
	case !w.WriteGoing(h.id, h.was.Origin, item, old, value) && !c.overtaken() && !slices.ContainsFunc(past, there):
		return false
	case value == "":
	case isBlind(item, old):
		w.Loosen(h.id, item, value)
	default:
		w.Leave(h.id, item, value)
	}
	return true
}

// isUpdate reports whether a role updates both entities.
func (r role) isUpdate() bool { return slices.Contains(updateKinds, r.kind) }

var updateKinds = []string{"transfer", "exchange", "derive", "view"}

// drawUpdates makes a play of a seed, in which two entities are updated at once.
func drawUpdates(r *rand.Rand) play {
	p := draw(r)
	p.other = []string{"", "first", "last", "satellite"}[r.IntN(4)]
	p.Throttles, p.Ends = r.IntN(3), r.IntN(2)
	for i := range p.before {
		p.before[i].peer = r.IntN(3) == 0
	}
	p.before = append([]role{
		{name: "one", kind: "insert", parts: 1 + r.IntN(2)},
		{name: "two", kind: "insert", parts: 1 + r.IntN(2), peer: true},
	}, p.before...)
	for i := range p.actors {
		a := &p.actors[i]
		a.peer, a.checked, a.keys = r.IntN(3) == 0, r.IntN(2) == 0, r.IntN(2) == 0
		if i == 0 || r.IntN(3) == 0 {
			a.kind = updateKinds[r.IntN(4)]
		}
		if i == 1 && r.IntN(3) == 0 { // the same in the opposite direction
			one := p.actors[0]
			a.kind, a.peer, a.checked, a.strong = one.kind, !one.peer, one.checked, r.IntN(2) == 0
		}
	}
	return p
}

// Plays in which two entities, of one model or of two, are updated at once.
func TestExploreUpdateAll(t *testing.T) {
	l := newLab(t)
	failures := 0
	for _, seed := range draws.Schedules(t, draws.For(time.Second, 30*time.Second, 15*time.Minute)) {
		r := explore.NewRandom(seed)
		p := drawUpdates(r.Rand)
		if err := l.run(p, r); err != nil {
			t.Errorf("%s=%d: %s %s %v | %v: %.900v", draws.ScheduleVariable, seed, p.model, p.other, p.before, p.actors,
				err)
			if failures++; failures == 40 {
				break
			}
		}
	}
}
