package explore_test

import (
	"testing"

	"github.com/itemize/itemize/internal/testing/explore"
)

// insertOf, deleteOf and readOf are operations on the key "k", from one time to another.
func insertOf(origin string, start, end int, items map[string]string) *explore.Op {
	return &explore.Op{
		Actor: origin, What: "insert", Ends: true, Start: start, End: end,
		Apply: func(w *explore.World, _ []*explore.World) bool {
			if w.At("k") != nil {
				return false
			}
			w.Entities["k"] = &explore.Entity{Origin: origin, Items: items}
			return true
		},
	}
}

func deleteOf(start, end int) *explore.Op {
	return &explore.Op{
		What: "delete", Ends: true, Start: start, End: end,
		Apply: func(w *explore.World, _ []*explore.World) bool {
			delete(w.Entities, "k")
			return true
		},
	}
}

func addOf(item, value string, start, end int) *explore.Op {
	return &explore.Op{What: "add", Start: start, End: end, Apply: func(w *explore.World, _ []*explore.World) bool {
		e := w.At("k")
		if e == nil {
			w.Loosen("k", item, value)
			return true
		}
		if e.Items[item] != "" {
			return false
		}
		w.Entities["k"] = e.With(item, value)
		return true
	}}
}

func readOf(got *explore.Entity, start, end int) *explore.Op {
	return &explore.Op{What: "read", Start: start, End: end, See: explore.SeeWhole("k", got)}
}

func unknown(o *explore.Op) *explore.Op {
	o.Result = explore.Unknown
	return o
}

func refused(o *explore.Op) *explore.Op {
	o.Result = explore.Refused
	return o
}

// The checker explains what can have been, and nothing else.
func TestExplain(t *testing.T) {
	two := map[string]string{"p": "a", "q": "a"}
	one := &explore.Entity{Origin: "A", Items: map[string]string{"p": "a"}}
	whole := &explore.Entity{Origin: "A", Items: two}
	added := &explore.Entity{Origin: "A", Items: map[string]string{"p": "x", "q": "a"}}
	loose := &explore.Entity{Origin: "A", Items: map[string]string{"p": "a", "q": "a", "y": "x"}}
	for _, c := range []struct {
		name string
		ops  []*explore.Op
		want bool
	}{
		{"as it should be", []*explore.Op{insertOf("A", 0, 1, two), readOf(whole, 2, 3)}, true},
		{"torn", []*explore.Op{insertOf("A", 0, 1, two), readOf(one, 2, 3)}, false},
		{"lost", []*explore.Op{insertOf("A", 0, 1, two), readOf(nil, 2, 3)}, false},
		{"not there yet", []*explore.Op{insertOf("A", 0, 3, two), readOf(nil, 1, 2)}, true},
		{"doubled", []*explore.Op{insertOf("A", 0, 1, two), insertOf("B", 2, 3, two)}, false},
		{
			"one after the other",
			[]*explore.Op{insertOf("A", 0, 1, two), insertOf("B", 2, 5, two), deleteOf(3, 4)},
			true,
		},
		{"refused, and there", []*explore.Op{refused(insertOf("A", 0, 1, two)), readOf(whole, 2, 3)}, false},
		{
			"unknown, and there",
			[]*explore.Op{unknown(insertOf("A", 0, 1, two)), readOf(nil, 2, 3), readOf(whole, 4, 5)},
			true,
		},
		{"unknown, and not there", []*explore.Op{unknown(insertOf("A", 0, 1, two)), readOf(nil, 2, 3)}, true},
		{"risen", []*explore.Op{insertOf("A", 0, 1, two), deleteOf(2, 3), readOf(whole, 4, 5)}, false},
		{
			"added beside, before",
			[]*explore.Op{addOf("y", "x", 0, 1), insertOf("A", 2, 3, two), readOf(loose, 4, 5)},
			true,
		},
		{
			"added in its place, before",
			[]*explore.Op{addOf("p", "x", 0, 1), insertOf("A", 2, 3, two), readOf(added, 4, 5)},
			false,
		},
		{
			"added in its place, at the same time",
			[]*explore.Op{insertOf("A", 0, 3, two), addOf("p", "x", 0, 2), readOf(added, 3, 5)},
			false,
		},
	} {
		h := &explore.History{}
		for _, o := range c.ops {
			h.Add(o)
		}
		if err := h.Explain(); (err == nil) != c.want {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// The checker allows exactly what docs/saving.md says about a save during a delete, and about a delete
// that finds nothing.
func TestAllowances(t *testing.T) {
	c := &cast[first]{shared: &shared{}, id: "k"}
	was := &explore.Entity{Origin: "A", Items: map[string]string{"p": "A:0"}}
	now := was.With("p", "b")
	root := &explore.Entity{Origin: "A", Items: map[string]string{}}
	insert := func(e *explore.Entity, start, end int) explore.Op { return *insertOf(e.Origin, start, end, e.Items) }
	read := func(e *explore.Entity, start, end int) explore.Op { return *readOf(e, start, end) }
	at := func(o explore.Op, start, end int) explore.Op {
		o.Start, o.End = start, end
		return o
	}
	save := c.saving("S", was, now)
	none := explore.Op{
		What:  "finds nothing",
		Apply: func(w *explore.World, _ []*explore.World) bool { return w.At("k") == nil },
	}
	grows := *addOf("x", "x", 0, 0)
	deleted := func(staged bool) explore.Op {
		return c.loadedDeletion("D", was, staged, func() bool { return false })
	}
	next := &explore.Entity{Origin: "B", Items: map[string]string{"p": "B:0"}}
	part := func(got map[string]string, start, end int) explore.Op {
		return explore.Op{
			What: "part", Start: start, End: end,
			See: explore.SeePart("k", got, func(string) bool { return true }, inserted),
		}
	}
	deletes := func(unsure bool) explore.Op {
		return c.loadedDeletion("D", root, false, func() bool { return unsure })
	}
	for _, x := range []struct {
		name string
		ops  []explore.Op
		want bool
	}{
		{"a save, and a read of it", []explore.Op{insert(was, 0, 1), at(save, 2, 3), read(now, 4, 5)}, true},
		{"a save that is lost", []explore.Op{insert(was, 0, 1), at(save, 2, 3), read(was, 4, 5)}, false},
		{"a save of what was never there", []explore.Op{insert(root, 0, 1), at(save, 2, 3)}, false},
		{"a save while a staged delete is under way", []explore.Op{
			insert(was, 0, 1), at(c.deletion("D", true), 2, 9),
			read(nil, 3, 4), at(save, 5, 6), read(nil, 10, 11),
		}, true},
		{"which is seen afterwards", []explore.Op{
			insert(was, 0, 1), at(c.deletion("D", true), 2, 9), at(save, 5, 6),
			read(now, 10, 11),
		}, false},
		{"which joins the next entity", []explore.Op{
			insert(was, 0, 1), at(c.deletion("D", true), 2, 9),
			read(nil, 3, 4), at(save, 5, 6), insert(root, 10, 11), read(now, 12, 13),
		}, false},
		{
			"a save behind a staged delete",
			[]explore.Op{insert(was, 0, 1), at(c.deletion("D", true), 2, 3), at(save, 5, 6)},
			false,
		},
		{"a save behind what found a delete under way", []explore.Op{
			insert(was, 0, 1), at(c.deletion("D", true), 2, 9), read(nil, 3, 4), at(none, 3, 5), at(save, 6, 7),
			read(nil, 10, 11),
		}, true},
		{"two of them, as if of one state", []explore.Op{
			insert(was, 0, 1), at(c.deletion("D", true), 2, 9), at(none, 3, 4), at(save, 5, 6), at(save, 7, 8),
		}, false},
		{"a save behind a staged delete that was taken over", []explore.Op{
			insert(was, 0, 1), at(c.deletion("D", true), 2, 5), *unknown(insertOf("B", 3, 4, root.Items)),
			at(save, 6, 7), read(nil, 8, 9),
		}, true},
		{
			"a save behind what a delete at once has shown",
			[]explore.Op{insert(was, 0, 1), at(c.deletion("D", false), 2, 9), read(nil, 3, 4), at(save, 5, 6)},
			false,
		},
		{
			"a staged delete of what was loaded, and has grown",
			[]explore.Op{insert(was, 0, 1), at(grows, 2, 3), at(deleted(true), 4, 5)},
			false,
		},
		{"a delete at once of it", []explore.Op{insert(was, 0, 1), at(grows, 2, 3), at(deleted(false), 4, 5)}, true},
		{"a delete at once of what was saved meanwhile", []explore.Op{
			insert(was, 0, 1), at(deleted(false), 2, 9),
			at(save, 3, 4), read(now, 5, 6), read(nil, 10, 11),
		}, false},
		{
			"an addition to what was never there",
			[]explore.Op{at(c.addition("J", adding{item: "x", value: "J:added", empty: true}), 0, 1)},
			false,
		},
		{"an addition to a deleted entity", []explore.Op{
			insert(was, 0, 1), at(c.deletion("D", false), 2, 3),
			at(c.addition("J", adding{item: "x", value: "v"}), 4, 5),
		}, false},
		{"a blind addition to it", []explore.Op{
			insert(was, 0, 1), at(c.deletion("D", false), 2, 3),
			at(c.addition("J", adding{item: "x", value: "v", blind: true}), 4, 5),
		}, true},
		{
			"an addition that is never seen",
			[]explore.Op{insert(was, 0, 1), at(c.addition("J", adding{item: "x", value: "v"}), 2, 3), read(was, 4, 5)},
			false,
		},
		{"an addition that joins the next entity", []explore.Op{
			insert(root, 0, 1), at(c.addition("J", adding{item: "x", value: "v"}), 2, 3), at(c.deletion("D", false), 4,
				5), insert(next, 6, 7), read(next.With("x", "v"), 8, 9),
		}, false},
		{"a part of which nothing is read", []explore.Op{insert(was, 0, 1), part(nil, 2, 3)}, false},
		{"a part of a dead entity beside a live one", []explore.Op{
			insert(was, 0, 1), at(c.deletion("D", false), 2, 3), insert(next, 4, 5), part(was.Items, 6, 7),
		}, false},
		{
			"a part of a dead entity",
			[]explore.Op{insert(was, 0, 1), at(c.deletion("D", false), 2, 3), part(was.Items, 4, 5)},
			true,
		},
		{
			"a delete that finds nothing",
			[]explore.Op{insert(root, 0, 1), at(c.deletion("B", false), 2, 3), at(deletes(false), 4, 5)},
			false,
		},
		{
			"a delete that finds nothing after a lost answer",
			[]explore.Op{insert(root, 0, 1), at(c.deletion("B", false), 2, 3), at(deletes(true), 4, 5)},
			true,
		},
	} {
		h := &explore.History{}
		for _, o := range x.ops {
			h.Add(&o)
		}
		c.history = h
		if err := h.Explain(); (err == nil) != x.want {
			t.Errorf("%s: %v", x.name, err)
		}
	}
}
