package explore

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Entity is the content of a key: the insert that created it, and its items, each with its last value.
type Entity struct {
	Origin string
	Items  map[string]string
}

// World is the content of the keys. Entities are replaced, and never changed.
type World struct {
	Entities map[string]*Entity
	// Loose are items that may or may not be seen with an entity of their key: they were written
	// without reading while no entity existed.
	Loose map[string][]string
	// Left are items that only a read without their root may see: they were added to an entity that no
	// longer existed.
	Left map[string][]string
	// Going are the entities whose delete is of several requests: their items may be written until it
	// ends, though they are not found any more.
	Going map[string][]Going
	// Joins are the entities that actors have added to: their origins by the actors.
	Joins map[string]string
	// Behind are items that an actor's move of their entity has left behind, by the actor.
	Behind map[string]map[string]string
	// op is the operation in progress.
	op *Op
}

// Going is an entity when its delete began, with later writes, and the time at which the delete ends.
type Going struct {
	*Entity
	until int
}

// At returns the entity of a key, nil for none.
func (w *World) At(key string) *Entity { return w.Entities[key] }

// With returns an entity with an item changed, or without it where the value is "".
func (e *Entity) With(item, value string) *Entity {
	c := &Entity{e.Origin, maps.Clone(e.Items)}
	if c.Items == nil {
		c.Items = map[string]string{}
	}
	if value == "" {
		delete(c.Items, item)
	} else {
		c.Items[item] = value
	}
	return c
}

func (w *World) clone() *World {
	return &World{
		maps.Clone(w.Entities), maps.Clone(w.Loose), maps.Clone(w.Left), maps.Clone(w.Going),
		maps.Clone(w.Joins), maps.Clone(w.Behind), w.op,
	}
}

// Go notes that the entity of a key goes, by several requests.
func (w *World) Go(key string) {
	w.Going[key] = append(slices.Clone(w.Going[key]), Going{w.At(key), w.op.End})
}

// WriteGoing writes an item of an entity that is being deleted. It reports whether the item existed
// with its old value when the delete began, and the delete may still be in progress.
func (w *World) WriteGoing(key, origin, item, old, value string) bool {
	for i, g := range w.Going[key] {
		if g.Origin == origin && g.Items[item] == old && g.until >= w.op.Start {
			w.Going[key] = slices.Clone(w.Going[key])
			w.Going[key][i].Entity = g.With(item, value)
			return true
		}
	}
	return false
}

// IsGoing reports whether an entity of a key was deleted by several requests, whether or not they have
// ended.
func (w *World) IsGoing(key, origin string) bool {
	return slices.ContainsFunc(w.Going[key], func(g Going) bool { return g.Origin == origin })
}

// Loosen notes an item that may or may not be seen.
func (w *World) Loosen(key, item, value string) {
	w.Loose[key] = append(slices.Clone(w.Loose[key]), item+"="+value)
}

// Leave notes an item that only a read without the root may see.
func (w *World) Leave(key, item, value string) {
	w.Left[key] = append(slices.Clone(w.Left[key]), item+"="+value)
}

// LeaveBehind notes an item that an actor's move of its entity has left behind. If loose, any entity of the key may
// show it. Carry moves those of the actor to the entity of another key, where that has none; a loose one stays if an
// entity has come to its key.
func (w *World) LeaveBehind(actor, key, item, value string, loose bool) {
	if loose {
		w.Loosen(key, item, value)
	} else {
		w.Leave(key, item, value)
	}
	all := maps.Clone(w.Behind[actor])
	if all == nil {
		all = map[string]string{}
	}
	all[item] = value
	if w.Behind == nil {
		w.Behind = map[string]map[string]string{}
	}
	w.Behind[actor] = all
}

// Carry is described at LeaveBehind.
func (w *World) Carry(actor, from, to string) {
	for item, value := range w.Behind[actor] {
		e := w.At(to)
		if e.Items[item] != "" || w.isLoose(from, item, value) && w.At(from) != nil {
			continue
		}
		w.Entities[to] = e.With(item, value)
		is := func(s string) bool { return s == item+"="+value }
		w.Left[from] = slices.DeleteFunc(slices.Clone(w.Left[from]), is)
		w.Loose[from] = slices.DeleteFunc(slices.Clone(w.Loose[from]), is)
	}
}

// Replace notes that an item is put, in place of whatever was left over there.
func (w *World) Replace(key, item string) {
	is := func(s string) bool { return strings.HasPrefix(s, item+"=") }
	w.Left[key] = slices.DeleteFunc(slices.Clone(w.Left[key]), is)
	w.Loose[key] = slices.DeleteFunc(slices.Clone(w.Loose[key]), is)
}

// Unknown reports whether the operation that is being done has an unknown result.
func (w *World) Unknown() bool { return w.op != nil && w.op.Result == Unknown }

// Join notes that an actor has added to an entity, and Joined reports it.
func (w *World) Join(actor, origin string) {
	if w.Joins == nil {
		w.Joins = map[string]string{}
	}
	w.Joins[actor] = origin
}

// Joined is described at Join.
func (w *World) Joined(actor, origin string) bool { return w.Joins[actor] == origin }

// HasLeft reports whether an item of a key is left over from an entity, or may be.
func (w *World) HasLeft(key, item string) bool {
	is := func(s string) bool { return strings.HasPrefix(s, item+"=") }
	return slices.ContainsFunc(w.Left[key], is) || slices.ContainsFunc(w.Loose[key], is)
}

// HasDeleted reports whether an entity of a key with that item goes, or has gone, by several requests.
func (w *World) HasDeleted(key, item string) bool {
	return slices.ContainsFunc(w.Going[key], func(g Going) bool { return g.Items[item] != "" })
}

// MaySee reports whether an item may be seen with a value in the entity of a key.
func (w *World) MaySee(key, item, value string) bool {
	e := w.At(key)
	return e != nil && (e.Items[item] == value || e.Items[item] == "" && w.isLoose(key, item, value))
}

func (w *World) isLoose(key, item, value string) bool {
	return slices.Contains(w.Loose[key], item+"="+value)
}

// Result is the result of an operation for its actor.
type Result uint8

// The results. Of a refused operation nothing happens, ever; an unknown one may have
// happened, and may yet.
const (
	Done Result = iota
	Refused
	Unknown
)

func (r Result) String() string { return [...]string{"done", "refused", "unknown"}[r] }

// never is the end of an operation that may yet happen.
const never = math.MaxInt

// Op is an operation of an actor, with its result.
type Op struct {
	Actor, What string
	Start, End  int
	Result      Result
	Err         error
	// Ends reports that it may end what another has begun and not finished.
	Ends bool
	// Apply does to the world what the operation does. past are the worlds since it began.
	// It reports false where the operation cannot have been done in this world.
	Apply func(w *World, past []*World) bool
	// Then is what it does after Apply, in another step; nil for nothing.
	Then func(w *World) bool
	// Echo is the effect that it may have once more later, nil for none.
	Echo func(w *World)
	// See returns the fault of a read, "" for none. seen are the worlds during the read, and before are
	// the earlier ones.
	See func(before, seen []*World) string
}

func (o *Op) String() string {
	s := fmt.Sprintf("%s %s [%d..%d] %s", o.Actor, o.What, o.Start, o.End, o.Result)
	if o.End == never {
		s = fmt.Sprintf("%s %s [%d..] %s", o.Actor, o.What, o.Start, o.Result)
	}
	if o.Err != nil {
		s += ": " + o.Err.Error()
	}
	return s
}

// History has the results of the actors.
type History struct {
	Ops  []*Op
	Seed World
}

// Add adds an operation; one whose result is unknown has no end.
func (h *History) Add(o *Op) {
	if o.Result == Unknown {
		o.End = never
	}
	h.Ops = append(h.Ops, o)
}

func (h *History) String() string {
	var lines []string
	for _, o := range h.Ops {
		lines = append(lines, o.String())
	}
	return strings.Join(lines, "\n")
}

// Explain looks for an order of the operations in which each result is true. The error is the
// contradiction in the order that comes closest.
func (h *History) Explain() error {
	x := &explainer{h: h}
	for _, o := range h.Ops {
		if o.Apply != nil && o.Result != Refused {
			x.writes = append(x.writes, o)
		}
		if o.Then != nil && o.Result != Refused {
			then := &Op{Actor: o.Actor, What: o.What + " then", Start: o.Start, End: o.End, Result: o.Result}
			then.Apply = func(w *World, _ []*World) bool { return o.Then(w) }
			x.writes = append(x.writes, then)
		}
		if o.See != nil {
			x.reads = append(x.reads, o)
		}
		if o.Echo != nil && o.Result != Refused {
			echo := &Op{Actor: o.Actor, What: o.What + " again", Start: o.Start, End: never, Result: Unknown}
			echo.Apply = func(w *World, _ []*World) bool { o.Echo(w); return true }
			x.writes = append(x.writes, echo)
		}
	}
	start := h.Seed.clone()
	if start.Entities == nil {
		start.Entities = map[string]*Entity{}
	}
	if start.Loose == nil {
		start.Loose, start.Left, start.Going = map[string][]string{}, map[string][]string{}, map[string][]Going{}
	}
	x.placed = make([]bool, len(x.writes))
	if x.place([]step{{nil, start}}) {
		return nil
	}
	return fmt.Errorf("no order of the operations explains what the actors were told; nearest: %s", x.nearest)
}

// step is an operation in an order, and the world after it.
type step struct {
	op    *Op
	world *World
}

type explainer struct {
	h       *History
	writes  []*Op
	reads   []*Op
	placed  []bool
	nearest string
	depth   int
}

// place puts one more operation behind those of an order.
func (x *explainer) place(order []step) bool {
	open := false
	for i, o := range x.writes {
		if x.placed[i] {
			continue
		}
		if o.Result == Done {
			open = true
		}
		if x.preceded(i) {
			continue
		}
		w := order[len(order)-1].world.clone()
		w.op = o
		if !o.Apply(w, since(order, o.Start)) {
			x.note(len(order), o.String()+" is impossible there")
			continue
		}
		x.placed[i] = true
		if x.place(append(order[:len(order):len(order)], step{o, w})) {
			return true
		}
		x.placed[i] = false
	}
	return !open && x.all(order)
}

// preceded reports whether an operation that is not placed yet ended before this began.
func (x *explainer) preceded(i int) bool {
	for j, p := range x.writes {
		if !x.placed[j] && p.Result == Done && p.End < x.writes[i].Start {
			return true
		}
	}
	return false
}

// since returns the worlds of an order from a time on.
func since(order []step, start int) []*World { return worlds(order, start, never) }

// worlds returns those that there can have been between two times.
func worlds(order []step, start, end int) []*World {
	first := 0
	for i, s := range order {
		if s.op != nil && s.op.End < start {
			first = i
		}
	}
	var out []*World
	for i := first; i < len(order); i++ {
		if op := order[i].op; i > first && op != nil && op.Start > end {
			break
		}
		out = append(out, order[i].world)
	}
	return out
}

// all reports whether all reads are explained by an order.
func (x *explainer) all(order []step) bool {
	for _, r := range x.reads {
		seen := worlds(order, r.Start, r.End)
		if wrong := r.See(worlds(order, 0, r.Start), seen); wrong != "" {
			x.note(len(order)+1, r.String()+": "+wrong)
			return false
		}
	}
	return true
}

func (x *explainer) note(depth int, text string) {
	if depth >= x.depth {
		x.depth, x.nearest = depth, text
	}
}
