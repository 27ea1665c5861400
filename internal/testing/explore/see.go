package explore

import (
	"fmt"
	"slices"
	"strings"
)

// SeeHalf is SeeWhole for a read of several answers that is not completed: it may miss items of an
// entity that appeared or disappeared during the read.
func SeeHalf(key string, got *Entity) func(before, seen []*World) string {
	whole := SeeWhole(key, got)
	return func(before, seen []*World) string {
		wrong := whole(before, seen)
		if wrong == "" || got == nil {
			return wrong
		}
		var of []*World
		for _, w := range seen {
			if e := w.At(key); e != nil && e.Origin == got.Origin {
				of = append(of, w)
			}
		}
		if len(of) == len(seen) || len(of) == 0 {
			return wrong
		}
		return items(key, got, of, false)
	}
}

// SeeWhole checks a read of a whole entity. The items belong to one entity that existed during the
// read, and each has a value that it had during the read.
func SeeWhole(key string, got *Entity) func(before, seen []*World) string {
	return func(_, seen []*World) string {
		if got == nil {
			if slices.ContainsFunc(seen, func(w *World) bool { return w.At(key) == nil }) {
				return ""
			}
			return "it was not found, and was there all the while"
		}
		var of []*World
		for _, w := range seen {
			if e := w.At(key); e != nil && e.Origin == got.Origin {
				of = append(of, w)
			}
		}
		if len(of) == 0 {
			return fmt.Sprintf("an entity of %s was read, and none was there", got.Origin)
		}
		return items(key, got, of, true)
	}
}

// items checks the items that were read against the worlds in which their entity existed.
func items(key string, got *Entity, of []*World, whole bool) string {
	names := map[string]bool{}
	for name := range got.Items {
		names[name] = true
	}
	if whole {
		for _, w := range of {
			for name := range w.At(key).Items {
				names[name] = true
			}
		}
	}
	var wrong []string
	for name := range names {
		value := got.Items[name]
		if !slices.ContainsFunc(of, func(w *World) bool { return w.MaySee(key, name, value) }) {
			wrong = append(wrong,
				fmt.Sprintf("%s was %q (should be %q)", name, value, of[len(of)-1].At(key).Items[name]))
		}
	}
	slices.Sort(wrong)
	return strings.Join(wrong, ", ")
}

// SeePart checks a read of items without their root. The items belong to one entity that existed before
// the read ended, or are loose. No item of an entity that existed during the whole read is missing.
// Leftover items of a deleted entity are allowed, unless an existing entity has an item that shows its
// incarnation.
func SeePart(key string, got map[string]string, covers func(string) bool, reveals func(value string) bool) func(before,
	seen []*World) string {
	return func(before, seen []*World) string {
		if e := steady(key, seen, covers, reveals); e != nil {
			return itemsOfSteady(key, &Entity{e.Origin, got}, before, seen, covers)
		}
		if len(got) == 0 && slices.ContainsFunc(seen, func(w *World) bool { return w.At(key) == nil }) {
			return ""
		}
		wrong := "the items were never those of one entity"
		all := slices.Concat(before, seen)
		var loose []string // items that may be seen with any entity
		for _, w := range all {
			loose = slices.Concat(loose, w.Loose[key], w.Left[key])
		}
		for _, w := range all {
			if w.At(key) == nil {
				if onlyLoose(loose, got) {
					return ""
				}
				continue
			}
			origin := w.At(key).Origin
			same := func(w *World) bool { return w.At(key) != nil && w.At(key).Origin == origin }
			always := !slices.ContainsFunc(seen, func(w *World) bool { return !same(w) })
			among := all
			if always {
				among = seen
			}
			var of []*World
			for _, o := range among {
				if same(o) {
					of = append(of, o.covered(key, covers, loose))
				}
			}
			if wrong = items(key, &Entity{origin, got}, of, always); wrong == "" {
				return ""
			}
		}
		return wrong
	}
}

// SeeRoot checks a read of an entity's root alone: it existed during the read with that origin, or did
// not exist if none was read.
func SeeRoot(key, origin string) func(before, seen []*World) string {
	return func(_, seen []*World) string {
		for _, w := range seen {
			if e := w.At(key); e == nil && origin == "" || e != nil && e.Origin == origin {
				return ""
			}
		}
		return fmt.Sprintf("the root of %q was read, and never there", origin)
	}
}

// SeeLive checks a read that returns only items of a live entity. That entity existed during the read.
// If it existed during the whole read, all of its items were read.
func SeeLive(key string, got map[string]string, covers func(string) bool) func(before, seen []*World) string {
	return func(_, seen []*World) string {
		wrong := "items of no live entity were read"
		if slices.ContainsFunc(seen, func(w *World) bool { return w.At(key) == nil }) && len(got) == 0 {
			return ""
		}
		for _, w := range seen {
			if w.At(key) == nil {
				continue
			}
			origin := w.At(key).Origin
			var of []*World
			for _, o := range seen {
				if o.At(key) != nil && o.At(key).Origin == origin {
					of = append(of, o.covered(key, covers, o.Loose[key]))
				}
			}
			if wrong = items(key, &Entity{origin, got}, of, len(of) == len(seen)); wrong == "" {
				return ""
			}
		}
		return wrong
	}
}

// steady returns the entity that existed during the whole read and has an item that a selection covers
// and that shows its incarnation, nil for none.
func steady(key string, seen []*World, covers func(string) bool, reveals func(value string) bool) *Entity {
	first := seen[0].At(key)
	if first == nil {
		return nil
	}
	for name := range first.Items {
		other := func(w *World) bool {
			e := w.At(key)
			return e == nil || e.Origin != first.Origin || !reveals(e.Items[name])
		}
		if covers(name) && !slices.ContainsFunc(seen, other) {
			return first
		}
	}
	return nil
}

// itemsOfSteady checks the items that were read against those of an entity that existed during the
// whole read.
func itemsOfSteady(key string, got *Entity, before, seen []*World, covers func(string) bool) string {
	var loose []string
	for _, w := range slices.Concat(before, seen) {
		loose = slices.Concat(loose, w.Loose[key])
	}
	var of []*World
	for _, w := range seen {
		of = append(of, w.covered(key, covers, loose))
	}
	return items(key, got, of, true)
}

func onlyLoose(loose []string, got map[string]string) bool {
	for name, v := range got {
		if !slices.Contains(loose, name+"="+v) {
			return false
		}
	}
	return true
}

// covered returns the world with only the items of a key that a selection covers, and the loose items.
func (w *World) covered(key string, covers func(string) bool, loose []string) *World {
	c := w.clone()
	c.Loose[key] = loose
	e := &Entity{w.At(key).Origin, map[string]string{}}
	for name, v := range w.At(key).Items {
		if covers(name) {
			e.Items[name] = v
		}
	}
	c.Entities[key] = e
	return c
}
