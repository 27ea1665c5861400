package explore_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/field"
	"github.com/itemize/itemize/internal/testing/explore"
	"github.com/itemize/itemize/internal/testing/handmade"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/mapper/mapperimpl"
	"github.com/itemize/itemize/query"
)

// The models: one entity of a root and parts, laid out in every way.

type part struct{ Name, Value string }

// The root is the first item of the partition.
type first struct {
	_      struct{} `ddb:"table=docs"`
	_      struct{}
	_      struct{}
	_      struct{}
	Group  string    `ddb:"-"`
	ID     string    `ddb:"pk=DOC#{ID}"`
	Origin string    `ddb:"sk=A"`
	Parts  []part    `ddb:"sk=M#{Name}"`
	Fixed  string    `ddb:"sk=F"`
	More   []part    `ddb:"-"`
	Until  time.Time `ddb:"-"`
}

// The root is the last item of the partition.
type last struct {
	_      struct{} `ddb:"table=docs"`
	_      struct{}
	_      struct{}
	_      struct{}
	Group  string    `ddb:"-"`
	ID     string    `ddb:"pk=DOC#{ID}"`
	Origin string    `ddb:"sk=Z"`
	Parts  []part    `ddb:"sk=M#{Name}"`
	Fixed  string    `ddb:"sk=F"`
	More   []part    `ddb:"-"`
	Until  time.Time `ddb:"-"`
}

// The root is between the parts.
type middle struct {
	_      struct{} `ddb:"table=docs"`
	_      struct{}
	_      struct{}
	_      struct{}
	Group  string    `ddb:"-"`
	ID     string    `ddb:"pk=DOC#{ID}"`
	Origin string    `ddb:"sk=N"`
	Parts  []part    `ddb:"sk=M#{Name}"`
	Fixed  string    `ddb:"sk=F"`
	More   []part    `ddb:"sk=R#{Name}"`
	Until  time.Time `ddb:"-"`
}

// The parts are in another table.
type invoice struct {
	_      struct{} `ddb:"table=docs"`
	_      struct{} `ddb:"table=parts,hash=PK,range=SK,name=Parts"`
	_      struct{}
	_      struct{}
	Group  string    `ddb:"-"`
	ID     string    `ddb:"pk=DOC#{ID}"`
	Origin string    `ddb:"sk=A"`
	Parts  []part    `ddb:"table=parts,sk=M#{Name}"`
	Fixed  string    `ddb:"table=parts,sk=F"`
	More   []part    `ddb:"-"`
	Until  time.Time `ddb:"-"`
}

// flat is a model with many entities in a partition.
type flat struct {
	_      struct{} `ddb:"table=docs"`
	_      struct{}
	_      struct{}
	_      struct{}
	Group  string `ddb:"pk=GROUP#{Group}"`
	ID     string
	Origin string    `ddb:"sk=DOC#{ID}#A"`
	Parts  []part    `ddb:"sk=DOC#{^ID}#M#{Name}"`
	Fixed  string    `ddb:"sk=DOC#{ID}#F"`
	More   []part    `ddb:"-"`
	Until  time.Time `ddb:"-"`
}

// separateParts is a model with many entities in a partition. Their roots are next to each other, and their
// parts have another prefix.
type separateParts struct {
	_      struct{} `ddb:"table=docs"`
	_      struct{}
	_      struct{}
	_      struct{}
	Group  string `ddb:"pk=APART#{Group}"`
	ID     string
	Origin string    `ddb:"sk=DOC#{ID}"`
	Parts  []part    `ddb:"sk=PART#{^ID}#M#{Name}"`
	Fixed  string    `ddb:"sk=PART#{ID}#F"`
	More   []part    `ddb:"-"`
	Until  time.Time `ddb:"-"`
}

// The items expire with the root.
type mortal struct {
	_      struct{} `ddb:"table=docs,ttl=expires"`
	_      struct{}
	_      struct{}
	_      struct{}
	Group  string    `ddb:"-"`
	ID     string    `ddb:"pk=DOC#{ID}"`
	Origin string    `ddb:"sk=A"`
	Parts  []part    `ddb:"sk=M#{Name}"`
	Fixed  string    `ddb:"sk=F"`
	More   []part    `ddb:"-"`
	Until  time.Time `ddb:"sk=A,ttl"`
}

// The items have no versions.
type bare struct {
	_      struct{} `ddb:"table=docs,noversion"`
	_      struct{}
	_      struct{}
	_      struct{}
	Group  string    `ddb:"-"`
	ID     string    `ddb:"pk=DOC#{ID}"`
	Origin string    `ddb:"sk=A"`
	Parts  []part    `ddb:"sk=M#{Name}"`
	Fixed  string    `ddb:"sk=F"`
	More   []part    `ddb:"-"`
	Until  time.Time `ddb:"-"`
}

// The root is found by an index, and so are the parts.
type indexed struct {
	_      struct{} `ddb:"table=indexed"`
	_      struct{}
	_      struct{}  `ddb:"index=byRoot,hash=Root,pk=ROOT#{ID}"`
	_      struct{}  `ddb:"index=byPart,hash=Part,range=PartName,pk=PART#{^ID},sk={Name},on=Parts"`
	Group  string    `ddb:"-"`
	ID     string    `ddb:"pk=DOC#{ID}"`
	Origin string    `ddb:"sk=A"`
	Parts  []part    `ddb:"sk=M#{Name}"`
	Fixed  string    `ddb:"sk=F"`
	More   []part    `ddb:"-"`
	Until  time.Time `ddb:"-"`
}

// The entity is in the table of its month, which another key may change.
type timed struct {
	_      struct{} `ddb:"table=docs_{Until:month}"`
	_      struct{}
	_      struct{}
	_      struct{}
	Group  string    `ddb:"-"`
	ID     string    `ddb:"pk=DOC#{ID}#{Until:date}"`
	Origin string    `ddb:"sk=A"`
	Parts  []part    `ddb:"sk=M#{Name}"`
	Fixed  string    `ddb:"sk=F"`
	More   []part    `ddb:"-"`
	Until  time.Time `ddb:"sk=A"`
}

// monthsOfTimed are the months that there are tables of.
var monthsOfTimed = []time.Time{
	time.Date(2026, time.November, 1, 0, 0, 0, 0, time.UTC),
	time.Date(2026, time.December, 1, 0, 0, 0, 0, time.UTC),
}

// monthOf is that of an entity: of one that has moved to a key with another letter at its end the next.
func monthOf(id string) time.Time {
	if id[len(id)-1] > '9' {
		return monthsOfTimed[1]
	}
	return monthsOfTimed[0]
}

type model interface {
	first | last | middle | invoice | flat | separateParts | mortal | bare | indexed | timed
}

// cast has the actors of one entity.
type cast[T model] struct {
	*shared
	id string
	// peer is the cast of the other entity that updates of several entities read, nil for none.
	peer peer
}

// shared is the state that the actors of one run share.
type shared struct {
	history *explore.History
	run     *explore.Run
	setup   setup
	table   map[string]string
	client  func(n *explore.Transport, s setup) mapper.Client
	// untrue is a report to an actor that is wrong whatever the others did, nil for none.
	untrue error
}

// setup is the part of a run that does not depend on the model.
type setup struct {
	// Attempts is how often the SDK sends a request.
	Attempts int
	// Unwatched clients do not pass on the options of calls.
	Unwatched bool
	Page      int32
	// Torn reports that what a delete reads is no snapshot. (Loads may be torn where others write in
	// transactions, as the documentation says.)
	Torn bool
}

func (c *cast[T]) mapper(n *explore.Transport) *mapper.Mapper[T] {
	return c.mapperOf(c.client(n, c.setup))
}

func (c *cast[T]) mapperOf(client mapper.Client) *mapper.Mapper[T] {
	m, err := mapper.New[T](client, mapper.Tables(func(name string) string { return c.table[name] }))
	if err != nil {
		panic(err)
	}
	return m
}

// inGroups reports whether entities share partitions, and scattered whether their items are not all
// together, so that a load reads several ranges.
func inGroups[T model]() bool {
	switch any(*new(T)).(type) {
	case flat, separateParts:
		return true
	}
	return false
}

func scattered[T model]() bool {
	switch any(*new(T)).(type) {
	case invoice, separateParts:
		return true
	}
	return false
}

func keyOf[T model](m *mapper.Mapper[T], id string) *query.Key[T] {
	if inGroups[T]() {
		return m.Key("g"+id, id)
	}
	if _, ok := any(*new(T)).(timed); ok {
		return m.Key(id, monthOf(id))
	}
	return m.Key(id)
}

// value makes an entity of an insert.
func value[T model](id, origin string, parts int) T {
	v := first{Group: "g" + id, ID: id, Origin: origin, Until: time.Now().Add(time.Hour)}
	if _, ok := any(*new(T)).(timed); ok {
		v.Until = monthOf(id)
	}
	_, split := any(*new(T)).(middle)
	for i := range parts {
		p := part{fmt.Sprint("P", i), fmt.Sprint(origin, ":", i)}
		if split && i > 0 {
			v.More = append(v.More, p)
		} else {
			v.Parts = append(v.Parts, p)
		}
	}
	return T(v)
}

// entityOf returns what the checker knows of a value.
func entityOf[T model](v T) *explore.Entity {
	f := first(v)
	e := &explore.Entity{Origin: f.Origin, Items: map[string]string{}}
	for _, p := range slices.Concat(f.Parts, f.More) {
		e.Items[p.Name] = p.Value
	}
	if f.Fixed != "" {
		e.Items[fixed] = f.Fixed
	}
	return e
}

// fixed is the name of the item of the field Fixed: an item that a patch makes.
const fixed = "F"

// do runs an operation and records its result.
func (c *cast[T]) do(n *explore.Transport, o explore.Op, call func() error) error {
	o.Start = c.run.Now()
	o.Err = call()
	o.End = c.run.Now()
	var unknown *mapper.OutcomeUnknownError
	var partial *mapper.PartialError
	switch {
	case o.Err == nil:
	case n.Crashed(), errors.As(o.Err, &partial):
		o.Result = explore.Unknown
	case errors.As(o.Err, &unknown):
		o.Result = explore.Unknown
		if !n.Faulty && !n.Refused && !c.setup.Unwatched && c.untrue == nil {
			c.untrue = fmt.Errorf("%s %s: it was told that the outcome is unknown, and nothing was lost: %w", o.Actor,
				o.What, o.Err)
		}
	default:
		o.Result = explore.Refused
	}
	if !n.Faulty {
		o.Echo = nil
	}
	c.history.Add(&o)
	return o.Err
}

// load reads the whole entity.
func (c *cast[T]) load(ctx context.Context, name string, n *explore.Transport,
	options ...mapper.ReadOption,
) (*mapper.Mapper[T], *mapper.Entity[T]) {
	return c.loadAt(ctx, name, n, c.id, options...)
}

// loadAt reads the whole entity of a key.
func (c *cast[T]) loadAt(ctx context.Context, name string, n *explore.Transport, id string,
	options ...mapper.ReadOption,
) (*mapper.Mapper[T], *mapper.Entity[T]) {
	m := c.mapper(n)
	o := explore.Op{Actor: name, What: "load", Start: c.run.Now()}
	e, err := m.Load(ctx, keyOf(m, id), options...)
	o.End, o.Err = c.run.Now(), err
	switch {
	case err == nil:
		got := entityOf(e.Value)
		o.What += fmt.Sprint(" ", got.Origin, got.Items)
		o.See = explore.SeeWhole(id, got)
		if scattered[T]() {
			o.See = explore.SeeHalf(id, got)
		}
	case errors.Is(err, mapper.ErrNotFound):
		o.See = explore.SeeWhole(id, nil)
	default:
		o.Result = explore.Refused
	}
	c.history.Add(&o)
	if e != nil {
		n.Think()
	}
	return m, e
}

func (c *cast[T]) actor(name string, do func(ctx context.Context, n *explore.Transport)) explore.Actor {
	return explore.Actor{Name: name, Do: do}
}

func (c *cast[T]) insertion(name string, parts int) explore.Op {
	v := entityOf(value[T](c.id, name, parts))
	return explore.Op{Actor: name, What: "insert", Ends: true, Apply: func(w *explore.World, _ []*explore.World) bool {
		if w.At(c.id) != nil {
			return false
		}
		w.Entities[c.id] = v
		return true
	}}
}

// expired inserts an entity whose time to live has passed: no reader finds it.
func (c *cast[T]) expired(name string, parts int) explore.Actor {
	return c.actor(name, func(ctx context.Context, n *explore.Transport) {
		m := c.mapper(n)
		v := first(value[T](c.id, name, parts))
		v.Until = time.Now().Add(-time.Hour)
		left := func(w *explore.World, _ []*explore.World) bool {
			for item, value := range entityOf(T(v)).Items {
				w.Leave(c.id, item, value)
			}
			return true
		}
		_ = c.do(n, explore.Op{Actor: name, What: "insert what is expired", Apply: left}, func() error {
			_, err := m.Save(ctx, m.New(T(v)))
			return err
		})
	})
}

func (c *cast[T]) inserter(name string, parts int, options ...mapper.WriteOption) explore.Actor {
	return c.actor(name, func(ctx context.Context, n *explore.Transport) { c.insert(ctx, name, n, parts, options...) })
}

func (c *cast[T]) insert(ctx context.Context, name string, n *explore.Transport, parts int,
	options ...mapper.WriteOption,
) error {
	m := c.mapper(n)
	e := m.New(value[T](c.id, name, parts))
	return c.do(n, c.insertion(name, parts), func() error {
		_, err := m.Save(ctx, e, options...)
		return err
	})
}

// deletion deletes the entity, staged or at once.
func (c *cast[T]) deletion(name string, staged bool) explore.Op {
	return explore.Op{Actor: name, What: "delete", Ends: true, Apply: func(w *explore.World, _ []*explore.World) bool {
		c.remove(w, staged)
		return true
	}}
}

// remove removes the entity. A blind addition carries no incarnation: if the delete crashes, or is
// taken over, it may be seen with the next entity. Other items may be left over, hidden, after a crash.
func (c *cast[T]) remove(w *explore.World, staged bool) {
	e := w.At(c.id)
	if e == nil {
		return
	}
	if staged {
		w.Go(c.id)
	}
	for item, v := range e.Items {
		if isBlind(item, v) {
			w.Loosen(c.id, item, v)
		} else if w.Unknown() {
			w.Leave(c.id, item, v)
		}
	}
	delete(w.Entities, c.id)
}

// isBlind reports whether an item was added without reading, and carries no incarnation.
func isBlind(item, value string) bool { return item == "Y" || strings.HasSuffix(value, ":loose") }

func (c *cast[T]) deleter(name string, staged bool) explore.Actor {
	return c.actor(name, func(ctx context.Context, n *explore.Transport) { c.delete(ctx, name, n, staged) })
}

func (c *cast[T]) delete(ctx context.Context, name string, n *explore.Transport, staged bool) error {
	m := c.mapper(n)
	return c.do(n, c.deletion(name, staged), func() error {
		n.Torn = c.setup.Torn
		defer func() { n.Torn = false }()
		_, err := m.DeleteByKey(ctx, keyOf(m, c.id), stagedIf(staged)...)
		return err
	})
}

// loadedDeleter deletes an entity as it was loaded.
func (c *cast[T]) loadedDeleter(name string, staged bool) explore.Actor {
	return c.actor(name, func(ctx context.Context, n *explore.Transport) {
		m, e := c.load(ctx, name, n)
		if e == nil {
			return
		}
		unsure := func() bool { return n.Faulty || c.setup.Unwatched }
		_ = c.do(n, c.loadedDeletion(name, entityOf(e.Value), staged, unsure), func() error {
			n.Torn = c.setup.Torn
			defer func() { n.Torn = false }()
			_, err := m.Delete(ctx, e, stagedIf(staged)...)
			return err
		})
	})
}

// loadedDeletion deletes the entity as it was loaded. unsure reports that an answer was lost, or may
// have been: then the delete of a single item that finds nothing has succeeded.
func (c *cast[T]) loadedDeletion(name string, was *explore.Entity, staged bool, unsure func() bool) explore.Op {
	return explore.Op{
		Actor: name, What: "delete what was loaded", Ends: true,
		Apply: func(w *explore.World, past []*explore.World) bool {
			now := w.At(c.id)
			if now == nil && len(was.Items) == 0 && !staged && unsure() {
				return true
			}
			as := sameIn
			if staged { // all of it was compared, some time before the root was marked
				as = sameAndNoMore
			} else { // each item is deleted as it was loaded
				past = []*explore.World{w}
			}
			same := func(p *explore.World) bool { return as(c.id, was, p) }
			if now == nil || now.Origin != was.Origin || !slices.ContainsFunc(past, same) {
				return false
			}
			c.remove(w, staged)
			c.leaveBlind(w, now, was)
			return true
		},
	}
}

// leaveBlind is leave after a delete, which deletes the items that were added since, except blind
// additions.
func (c *cast[T]) leaveBlind(w *explore.World, now, loaded *explore.Entity) {
	for item, v := range now.Items {
		if loaded.Items[item] == "" && isBlind(item, v) {
			w.Loosen(c.id, item, v)
		}
	}
}

func stagedIf(yes bool) []mapper.WriteOption {
	if yes {
		return []mapper.WriteOption{mapper.Staged()}
	}
	return nil
}

// sameIn reports whether the items that were loaded of an entity are in a world as they were loaded,
// and sameAndNoMore that there are no others.
func sameIn(id string, was *explore.Entity, w *explore.World) bool {
	e := w.At(id)
	if e == nil || e.Origin != was.Origin {
		return false
	}
	for name, v := range was.Items {
		if !w.MaySee(id, name, v) {
			return false
		}
	}
	return true
}

func sameAndNoMore(id string, was *explore.Entity, w *explore.World) bool {
	if !sameIn(id, was, w) {
		return false
	}
	for name := range w.At(id).Items {
		if was.Items[name] == "" {
			return false
		}
	}
	return true
}

// saver loads the entity and changes some of its parts.
func (c *cast[T]) saver(name string, parts int) explore.Actor {
	return c.actor(name, func(ctx context.Context, n *explore.Transport) {
		m, e := c.load(ctx, name, n)
		if e == nil {
			return
		}
		was := entityOf(e.Value)
		v := first(e.Value)
		for _, list := range [][]part{v.Parts, v.More} {
			for i := range list {
				if parts--; parts >= 0 {
					list[i].Value = name + ":saved " + list[i].Name
				}
			}
		}
		e.Value = T(v)
		_ = c.do(n, c.saving(name, was, entityOf(e.Value)), func() error {
			_, err := m.Save(ctx, e)
			return err
		})
	})
}

// saving saves the items that differ from the loaded ones. If a delete of the entity is in progress,
// they are deleted with it: readers may already have found that it does not exist.
func (c *cast[T]) saving(name string, was, now *explore.Entity) explore.Op {
	changed := maps.Clone(now.Items)
	maps.DeleteFunc(changed, func(item, value string) bool { return value == was.Items[item] })
	return explore.Op{Actor: name, What: "save", Apply: func(w *explore.World, past []*explore.World) bool {
		at := w.At(c.id)
		going := at == nil || at.Origin != was.Origin
		if going && len(changed) > 0 && !w.IsGoing(c.id, was.Origin) {
			return false
		}
		for item, value := range changed {
			old := was.Items[item]
			there := func(w *explore.World) bool {
				e := w.At(c.id)
				return e != nil && e.Origin == was.Origin && w.MaySee(c.id, item, old)
			}
			wrote := going && w.WriteGoing(c.id, was.Origin, item, old, value)
			switch {
			case !going && w.MaySee(c.id, item, old):
				at = at.With(item, value)
			case !going, !wrote && !c.overtaken() && !slices.ContainsFunc(past, there):
				return false
			case isBlind(item, old):
				w.Loosen(c.id, item, value)
			default:
				w.Leave(c.id, item, value)
			}
		}
		if !going {
			w.Entities[c.id] = at
		}
		return true
	}}
}

// overtaken reports whether another operation may have taken over a staged delete. An insert or delete
// that ran in the meantime may have taken over its mark, so that items that were not yet deleted
// remain.
func (c *cast[T]) overtaken() bool {
	for i, o := range c.history.Ops {
		for _, p := range c.history.Ops[:i] {
			if o.Ends && p.Ends && o.Start <= p.End && p.Start <= o.End {
				return true
			}
		}
	}
	return false
}

// joiner loads the parts, without the root, and adds one.
func (c *cast[T]) joiner(name string, options ...mapper.WriteOption) explore.Actor {
	return c.actor(name, func(ctx context.Context, n *explore.Transport) {
		m, e := c.loadParts(ctx, name, n)
		if e == nil {
			return
		}
		v := first(e.Value)
		origin := "" // of the entity that the parts are of, as far as they tell
		for _, p := range v.Parts {
			if inserted(p.Value) {
				origin, _, _ = strings.Cut(p.Value, ":")
			}
		}
		empty := len(v.Parts) == 0
		if origin == "" && !empty && isBlindOption(options) {
			// the checker does not know the entity of the parts, so it cannot know whether the addition
			// may be seen
			return
		}
		v.Parts = append(v.Parts, part{"X" + name, name + ":added"})
		e.Value = T(v)
		c.adds(n, name, adding{
			item: "X" + name, value: name + ":added", origin: origin, empty: empty,
			blind: isBlindOption(options),
		}, func() error {
			_, err := m.Save(ctx, e, options...)
			return err
		})
	})
}

func isBlindOption(options []mapper.WriteOption) bool {
	return len(options) > 0 && fmt.Sprintf("%T", options[0]) == fmt.Sprintf("%T", mapper.Blind())
}

// adding is the addition of an item to an entity.
type adding struct {
	item, value string
	origin      string // of the entity, "" for whichever is live
	// blind: it is added whether the entity exists or not. loose: and carries no incarnation, so that
	// it may be seen with whatever entity comes. empty: nothing was loaded, so that the root is read
	// first. either: it replaces the item if that exists.
	blind, loose, empty, either bool
}

// adds adds an item, and records the result. An addition that is not blind was in a live entity before
// it was acknowledged.
func (c *cast[T]) adds(n *explore.Transport, name string, a adding, call func() error) {
	o := c.addition(name, a)
	err := c.do(n, o, call)
	c.takenBack(o, a, err)
}

// takenBack records an addition that was refused because the entity is not live. It may have been seen
// until then: in the entity or, by reads without the root, as a leftover item.
func (c *cast[T]) takenBack(o explore.Op, a adding, err error) {
	if a.blind || !errors.Is(err, mapper.ErrNotFound) {
		return
	}
	last := c.history.Ops[len(c.history.Ops)-1]
	seen := explore.Op{
		Actor: o.Actor, What: o.What + " for a time", Start: last.Start, End: last.End,
		Result: explore.Unknown, Apply: o.Apply,
	}
	c.history.Ops = append(c.history.Ops, &seen)
	c.history.Add(&explore.Op{
		Actor: o.Actor, What: "take " + a.item + " back", Start: last.Start, End: last.End,
		Apply: func(w *explore.World, _ []*explore.World) bool {
			if e := w.At(c.id); e != nil && e.Items[a.item] == a.value {
				w.Entities[c.id] = e.With(a.item, "")
			}
			return true
		},
	})
}

func (c *cast[T]) addition(name string, a adding) explore.Op {
	add := func(w *explore.World, again bool) bool {
		e := w.At(c.id)
		other := e != nil && a.origin != "" && e.Origin != a.origin
		free := e != nil && (e.Items[a.item] == "" || a.either)
		switch {
		case a.loose && e == nil:
			w.Loosen(c.id, a.item, a.value)
		case e == nil, other:
			if !a.blind && !again && !w.Unknown() {
				return false
			}
			w.Leave(c.id, a.item, a.value)
		case free:
			w.Entities[c.id] = e.With(a.item, a.value)
			if !again {
				w.Join(name, e.Origin)
			}
		default:
			return again
		}
		return true
	}
	o := explore.Op{Actor: name, What: "add " + a.item, Apply: func(w *explore.World, past []*explore.World) bool {
		there := func(w *explore.World) bool { return w.At(c.id) != nil }
		return (!a.empty || slices.ContainsFunc(past, there)) && add(w, false)
	}}
	o.Echo = func(w *explore.World) {
		if e := w.At(c.id); !a.blind && (e == nil || !w.Joined(name, e.Origin)) {
			w.Leave(c.id, a.item, a.value) // it carries the incarnation of another entity
			return
		}
		add(w, true)
		if a.loose {
			w.Loosen(c.id, a.item, a.value)
		}
	}
	return o
}

// adder adds a part without reading it.
func (c *cast[T]) adder(name, item string, ifExists bool, options ...mapper.WriteOption) explore.Actor {
	return c.actor(name, func(ctx context.Context, n *explore.Transport) {
		m := c.mapper(n)
		a := adding{item: item, value: name + ":added"}
		if isBlindOption(options) {
			a.value, a.blind, a.loose = name+":loose", true, true
		}
		p := handmade.Elements[T, part]{Node: c.node(m), Item: 1}.Add(part{item, a.value})
		if ifExists {
			p = p.IfEntityExists()
		}
		c.adds(n, name, a, func() error {
			_, err := p.Exec(ctx, m, options...)
			return err
		})
	})
}

// upserter sets the fixed item, which it makes if it is missing.
func (c *cast[T]) upserter(name string, ifExists bool) explore.Actor {
	return c.actor(name, func(ctx context.Context, n *explore.Transport) {
		m := c.mapper(n)
		handle := fixedOf[T]()
		p := handmade.EntityOf(keyOf(m, c.id)).Patch(handle.Set(name + ":set"))
		if ifExists {
			p = p.IfEntityExists()
		}
		a := adding{item: fixed, value: name + ":set", either: true}
		o := c.addition(name, a)
		apply, echo := o.Apply, o.Echo
		o.What = "set " + fixed
		o.Apply = func(w *explore.World, past []*explore.World) bool {
			e := w.At(c.id)
			// an update of a leftover item, or of one that is being deleted
			if own := e != nil && e.Items[fixed] != ""; !own && (w.HasLeft(c.id, fixed) || w.HasDeleted(c.id, fixed)) {
				w.Loosen(c.id, fixed, name+":set")
				return true
			}
			return e != nil && apply(w, past) || w.Unknown()
		}
		o.Echo = func(w *explore.World) {
			if e := w.At(c.id); e != nil && e.Items[fixed] != "" { // an update that is sent again
				w.Entities[c.id] = e.With(fixed, name+":set")
				return
			}
			echo(w)
		}
		c.takenBack(o, a, c.do(n, o, func() error {
			_, err := p.Exec(ctx, m)
			return err
		}))
	})
}

// founder sets the fixed item and puts a part, together with the root item, which it makes if it is missing.
func (c *cast[T]) founder(name string) explore.Actor {
	return c.actor(name, func(ctx context.Context, n *explore.Transport) {
		m := c.mapper(n)
		items := map[string]string{fixed: name + ":founded", "P0": name + ":founded"}
		origin, other := originOf[T](), fixedOf[T]()
		p := handmade.EntityOf(keyOf(m, c.id)).Patch(origin.SetIfAbsent(name), other.Set(items[fixed])).
			And(handmade.Elements[T, part]{Node: c.node(m), Item: 1}.Add(part{"P0", items["P0"]})).Upsert()
		o := explore.Op{Actor: name, What: "found", Apply: func(w *explore.World, _ []*explore.World) bool {
			e := w.At(c.id)
			if e == nil {
				e = &explore.Entity{Origin: name}
			}
			for item, value := range items {
				w.Replace(c.id, item)
				e = e.With(item, value)
			}
			w.Entities[c.id] = e
			return true
		}}
		_ = c.do(n, o, func() error {
			_, err := p.Exec(ctx, m)
			return err
		})
	})
}

// foreign is a program without this library that changes a part, and leaves its version.
func (c *cast[T]) foreign(name, item string) explore.Actor {
	return c.actor(name, func(ctx context.Context, n *explore.Transport) {
		table, key := c.place(n, item)
		o := explore.Op{
			Actor: name, What: "change " + item, Apply: c.update(name+":foreign", item),
			Echo: func(w *explore.World) { c.update(name+":foreign", item)(w, nil) },
		}
		_ = c.do(n, o, func() error {
			_, err := c.client(n, c.setup).UpdateItem(ctx, &dynamodb.UpdateItemInput{
				TableName: &table, Key: key, UpdateExpression: aws.String("SET #v = :v"),
				ConditionExpression:      aws.String("attribute_exists(PK)"),
				ExpressionAttributeNames: map[string]string{"#v": "Value"},
				ExpressionAttributeValues: map[string]types.AttributeValue{
					":v": &types.AttributeValueMemberS{Value: name + ":foreign"},
				},
			}, func(o *dynamodb.Options) { o.RetryMaxAttempts = 2 }) // what it does, and its echo
			if err != nil && n.Faulty {
				return &mapper.OutcomeUnknownError{Err: err}
			}
			return err
		})
	})
}

// place returns where a part is stored.
func (c *cast[T]) place(n *explore.Transport, item string) (table string, key map[string]types.AttributeValue) {
	pk, sk, table := "DOC#"+c.id, "M#"+item, c.table["docs"]
	switch any(*new(T)).(type) {
	case invoice:
		table = c.table["parts"]
	case flat:
		pk, sk = "GROUP#g"+c.id, "DOC#"+c.id+"#M#"+item
	case separateParts:
		pk, sk = "APART#g"+c.id, "PART#"+c.id+"#M#"+item
	case indexed:
		table = c.table["indexed"]
	case timed:
		month := monthOf(c.id)
		table = strings.ReplaceAll(c.table["docs_{Until:month}"], "{Until:month}", month.Format("2006-01"))
		pk += "#" + month.Format("2006-01-02")
	}
	return table, map[string]types.AttributeValue{
		"PK": &types.AttributeValueMemberS{Value: pk},
		"SK": &types.AttributeValueMemberS{Value: sk},
	}
}

// update writes a part that exists, without reading it.
func (c *cast[T]) update(value, item string) func(*explore.World, []*explore.World) bool {
	return func(w *explore.World, _ []*explore.World) bool {
		e := w.At(c.id)
		switch {
		case e != nil && e.Items[item] != "":
			w.Entities[c.id] = e.With(item, value)
		case len(w.Loose[c.id]) > 0:
			w.Loosen(c.id, item, value)
		default:
			w.Leave(c.id, item, value)
		}
		return true
	}
}

// patcher changes a part without reading.
func (c *cast[T]) patcher(name, item string) explore.Actor {
	return c.actor(name, func(ctx context.Context, n *explore.Transport) {
		m := c.mapper(n)
		at := mapperimpl.Items(c.node(m), 1, 1)
		at = mapperimpl.Next(at, c.partParts(), mapperimpl.StringValue(item))
		p := mapperimpl.Element[T, part](at, 1).Patch(valueOfPart.Set(name + ":patched"))
		set := c.update(name+":patched", item)
		o := explore.Op{Actor: name, What: "patch " + item, Apply: set, Echo: func(w *explore.World) { set(w, nil) }}
		_ = c.do(n, o, func() error {
			_, err := p.Exec(ctx, m)
			return err
		})
	})
}

var valueOfPart = handmade.String("Value", "", func(p *part) *string { return &p.Value })

func originOf[T model]() *field.String[*T, string] {
	return handmade.String("Origin", "", func(v *T) *string {
		return reflect.ValueOf(v).Elem().FieldByName("Origin").Addr().Interface().(*string)
	})
}

func fixedOf[T model]() *field.String[*T, string] {
	return handmade.String("Fixed", "",
		func(v *T) *string { return reflect.ValueOf(v).Elem().FieldByName("Fixed").Addr().Interface().(*string) })
}

func (c *cast[T]) node(m *mapper.Mapper[T]) *query.Node[T] { return handmade.Node(keyOf(m, c.id)) }

func (c *cast[T]) partParts() int {
	if inGroups[T]() {
		return 4
	}
	return 2
}

func (c *cast[T]) partsOf(m *mapper.Mapper[T]) *query.Node[T] {
	k := keyOf(m, c.id)
	switch any(*new(T)).(type) {
	case flat:
		return k.Prefix("DOC#" + c.id + "#M#")
	case separateParts:
		return k.Prefix("PART#" + c.id + "#M#")
	case invoice:
		return k.Table("Parts").Prefix("M#")
	}
	return k.Prefix("M#")
}

// inserted reports whether an item is as its entity was inserted with it.
func inserted(value string) bool {
	_, n, ok := strings.Cut(value, ":")
	return ok && len(n) == 1
}

// isPart reports whether an item is one of the parts that are read without the root.
func (c *cast[T]) isPart(item string) bool {
	_, split := any(*new(T)).(middle)
	return item != fixed && (!split || item != "P1")
}

// loadParts reads the parts without the root.
func (c *cast[T]) loadParts(ctx context.Context, name string, n *explore.Transport,
	options ...mapper.ReadOption,
) (*mapper.Mapper[T], *mapper.Entity[T]) {
	m := c.mapper(n)
	o := explore.Op{Actor: name, What: "load parts", Start: c.run.Now()}
	e, err := m.Load(ctx, c.partsOf(m), options...)
	o.End, o.Err = c.run.Now(), err
	if err == nil {
		got := entityOf(e.Value)
		o.What += fmt.Sprint(" ", got.Items)
		o.See = explore.SeePart(c.id, got.Items, c.isPart, inserted)
	} else {
		o.Result = explore.Refused
	}
	c.history.Add(&o)
	if e != nil {
		n.Think()
	}
	return m, e
}

// querier runs a query over the parts.
func (c *cast[T]) querier(name string, options ...mapper.ReadOption) explore.Actor {
	return c.actor(name, func(ctx context.Context, n *explore.Transport) {
		m := c.mapper(n)
		o := explore.Op{Actor: name, What: "query parts", Start: c.run.Now()}
		all, err := query.Of[part](c.partsOf(m)).Collect(ctx, m, options...)
		o.End, o.Err = c.run.Now(), err
		if err == nil {
			got := map[string]string{}
			for _, p := range all {
				got[p.Name] = p.Value
			}
			o.What += fmt.Sprint(" ", got)
			o.See = explore.SeePart(c.id, got, c.isPart, inserted)
		} else {
			o.Result = explore.Refused
		}
		c.history.Add(&o)
	})
}

// indexReader looks the entity up in an index, and indexQuerier its parts: an index never shows what
// is not live.
func (c *cast[T]) indexReader(name string) explore.Actor {
	return c.actor(name, func(ctx context.Context, n *explore.Transport) { c.lookUp(ctx, name, n) })
}

func (c *cast[T]) lookUp(ctx context.Context, name string, n *explore.Transport) {
	m := c.mapper(n)
	o := explore.Op{Actor: name, What: "look up", Start: c.run.Now()}
	all, err := query.Of[T](m.Index("byRoot", c.id)).Fetch().Collect(ctx, m)
	o.End, o.Err = c.run.Now(), err
	switch {
	case err != nil:
		o.Result = explore.Refused
	case len(all) == 0:
		o.See = explore.SeeWhole(c.id, nil)
	default:
		got := entityOf(all[0])
		o.What += fmt.Sprint(" ", len(all), " ", got.Origin, got.Items)
		o.See = explore.SeeWhole(c.id, got)
	}
	c.history.Add(&o)
}

// headReader looks up the root alone, which is in the index only while it is live.
func (c *cast[T]) headReader(name string) explore.Actor {
	return c.actor(name, func(ctx context.Context, n *explore.Transport) { c.lookHeadUp(ctx, name, n) })
}

func (c *cast[T]) lookHeadUp(ctx context.Context, name string, n *explore.Transport) string {
	m := c.mapper(n)
	o := explore.Op{Actor: name, What: "look head up", Start: c.run.Now()}
	all, err := query.Of[T, T](m.Index("byRoot", c.id)).Roots().Collect(ctx, m)
	o.End, o.Err = c.run.Now(), err
	origin := ""
	if len(all) > 0 {
		origin = first(all[0]).Origin
	}
	o.What += " " + origin
	o.See = explore.SeeRoot(c.id, origin)
	if err != nil {
		o.Result, o.See = explore.Refused, nil
	}
	c.history.Add(&o)
	return origin
}

func (c *cast[T]) indexQuerier(name string) explore.Actor {
	return c.actor(name, func(ctx context.Context, n *explore.Transport) { c.lookUpParts(ctx, name, n) })
}

func (c *cast[T]) lookUpParts(ctx context.Context, name string, n *explore.Transport) {
	m := c.mapper(n)
	o := explore.Op{Actor: name, What: "look parts up", Start: c.run.Now()}
	all, err := query.Of[part](m.Index("byPart", c.id)).Collect(ctx, m)
	o.End, o.Err = c.run.Now(), err
	got := map[string]string{}
	for _, p := range all {
		got[p.Name] = p.Value
	}
	o.What += fmt.Sprint(" ", got)
	o.See = explore.SeeLive(c.id, got, c.isPart)
	if err != nil {
		o.Result, o.See = explore.Refused, nil
	}
	c.history.Add(&o)
}

func (c *cast[T]) reader(name string, options ...mapper.ReadOption) explore.Actor {
	return c.actor(name, func(ctx context.Context, n *explore.Transport) { c.load(ctx, name, n, options...) })
}

func (c *cast[T]) partReader(name string, options ...mapper.ReadOption) explore.Actor {
	return c.actor(name, func(ctx context.Context, n *explore.Transport) { c.loadParts(ctx, name, n, options...) })
}

// partDeleter deletes the parts.
func (c *cast[T]) partDeleter(name string, options ...mapper.WriteOption) explore.Actor {
	return c.actor(name, func(ctx context.Context, n *explore.Transport) {
		m := c.mapper(n)
		o := explore.Op{Actor: name, What: "delete parts", Apply: func(w *explore.World, past []*explore.World) bool {
			e := w.At(c.id)
			if e == nil {
				return true
			}
			for item, v := range e.Items {
				if !c.isPart(item) {
					continue
				}
				always := true
				for _, p := range past {
					always = always && p.At(c.id) != nil && p.At(c.id).Items[item] != ""
				}
				if !always { // it may have come after they were read
					w.Loosen(c.id, item, v)
				}
				e = e.With(item, "")
			}
			w.Entities[c.id] = e
			return true
		}}
		_ = c.do(n, o, func() error {
			_, err := m.DeleteByKey(ctx, c.partsOf(m), options...)
			return err
		})
	})
}

// mover moves the entity to another key.
func (c *cast[T]) mover(name, to string, options ...mapper.WriteOption) explore.Actor {
	return c.actor(name, func(ctx context.Context, n *explore.Transport) {
		m, e := c.load(ctx, name, n)
		if e == nil {
			return
		}
		was := entityOf(e.Value)
		v := first(e.Value)
		v.ID = to
		if _, ok := any(e.Value).(timed); ok {
			v.Until = monthOf(to)
		}
		e.Value = T(v)
		to := to
		if inGroups[T]() {
			to += " in the group that it was in" // in groups that are not read
		}
		o := explore.Op{Actor: name, What: "move", Apply: func(w *explore.World, past []*explore.World) bool {
			now := w.At(c.id)
			if now == nil || now.Origin != was.Origin || w.At(to) != nil || !sameIn(c.id, was, w) {
				return false
			}
			moved := &explore.Entity{Origin: was.Origin, Items: was.Items}
			w.Entities[to] = moved
			delete(w.Entities, c.id)
			for item, v := range now.Items {
				if was.Items[item] == "" {
					w.LeaveBehind(name, c.id, item, v, isBlind(item, v))
				}
			}
			return true
		}, Then: func(w *explore.World) bool {
			if now := w.At(c.id); now != nil && now.Origin == was.Origin {
				return false // it has not moved
			}
			if moved := w.At(to); moved != nil && moved.Origin == was.Origin {
				w.Carry(name, c.id, to)
			}
			return true
		}}
		_ = c.do(n, o, func() error {
			_, err := m.Save(ctx, e, append(options, mapper.Move())...)
			return err
		})
	})
}

// swapper deletes the entity, as it was loaded or whatever it is, and inserts one at another
// key, in one transaction.
func (c *cast[T]) swapper(name, to string, loaded bool) explore.Actor {
	return c.actor(name, func(ctx context.Context, n *explore.Transport) {
		m := c.mapper(n)
		var was *explore.Entity
		var of query.Selection[T] = keyOf(m, c.id)
		if loaded {
			var e *mapper.Entity[T]
			if m, e = c.load(ctx, name, n); e == nil {
				return
			}
			was, of = entityOf(e.Value), e
		}
		v := value[T](to, name, 1)
		o := explore.Op{
			Actor: name, What: "swap", Ends: true,
			Apply: func(w *explore.World, past []*explore.World) bool {
				now := w.At(c.id)
				if now == nil && was == nil && w.At(to) == nil { // leftover items are deleted as well
					w.Entities[to] = entityOf(v)
					return true
				}
				if now == nil || w.At(to) != nil || was != nil && (now.Origin != was.Origin || !sameIn(c.id, was, w)) {
					return false
				}
				c.remove(w, false)
				if was != nil {
					c.leaveBlind(w, now, was)
				} else {
					c.leaveBlind(w, now, firstOf(c.id, past))
				}
				w.Entities[to] = entityOf(v)
				return true
			},
		}
		_ = c.do(n, o, func() error {
			_, err := mapper.Transact(ctx, m.DeletePartByKey(of), m.SavePart(m.New(v)))
			return err
		})
	})
}

// firstOf is the entity of a key as it was when an operation began, or nothing of one.
func firstOf(id string, past []*explore.World) *explore.Entity {
	if e := past[0].At(id); e != nil {
		return e
	}
	return &explore.Entity{}
}

// newClient returns an actor's client.
func newClient(base func(...func(*dynamodb.Options)) *dynamodb.Client, n *explore.Transport, s setup) mapper.Client {
	c := base(func(o *dynamodb.Options) {
		o.HTTPClient = n
		o.Retryer = noLimit{retry.NewStandard(func(o *retry.StandardOptions) {
			o.MaxAttempts = s.Attempts
			o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return 0, nil })
		})}
	})
	if s.Unwatched {
		return unwatched{c}
	}
	return c
}

type noLimit struct{ aws.Retryer }

func (noLimit) GetRetryToken(context.Context, error) (func(error) error, error) {
	return func(error) error { return nil }, nil
}
func (noLimit) GetInitialToken() func(error) error { return func(error) error { return nil } }

// unwatched is a client that does not pass on the options of calls.
type unwatched struct{ *dynamodb.Client }

func (c unwatched) PutItem(ctx context.Context, in *dynamodb.PutItemInput,
	_ ...func(*dynamodb.Options),
) (*dynamodb.PutItemOutput, error) {
	return c.Client.PutItem(ctx, in)
}

func (c unwatched) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput,
	_ ...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	return c.Client.UpdateItem(ctx, in)
}

func (c unwatched) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput,
	_ ...func(*dynamodb.Options),
) (*dynamodb.DeleteItemOutput, error) {
	return c.Client.DeleteItem(ctx, in)
}

func (c unwatched) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput,
	_ ...func(*dynamodb.Options),
) (*dynamodb.TransactWriteItemsOutput, error) {
	return c.Client.TransactWriteItems(ctx, in)
}
