package explore_test

import (
	"testing"

	"github.com/itemize/itemize/internal/explore"
)

// insertOf, deleteOf and readOf are operations on the key "k", from one time to another.
func insertOf(origin string, start, end int, items map[string]string) *explore.Op {
	return &explore.Op{Actor: origin, What: "insert", Start: start, End: end, Apply: func(w *explore.World, _ []*explore.World) bool {
		if w.At("k") != nil {
			return false
		}
		w.Entities["k"] = &explore.Entity{Origin: origin, Items: items}
		return true
	}}
}

func deleteOf(start, end int) *explore.Op {
	return &explore.Op{What: "delete", Start: start, End: end, Apply: func(w *explore.World, _ []*explore.World) bool {
		delete(w.Entities, "k")
		return true
	}}
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
	beside := &explore.Entity{Origin: "A", Items: map[string]string{"p": "a", "q": "a", "y": "x"}}
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
		{"one after the other", []*explore.Op{insertOf("A", 0, 1, two), insertOf("B", 2, 5, two), deleteOf(3, 4)}, true},
		{"refused, and there", []*explore.Op{refused(insertOf("A", 0, 1, two)), readOf(whole, 2, 3)}, false},
		{"unknown, and there", []*explore.Op{unknown(insertOf("A", 0, 1, two)), readOf(nil, 2, 3), readOf(whole, 4, 5)}, true},
		{"unknown, and not there", []*explore.Op{unknown(insertOf("A", 0, 1, two)), readOf(nil, 2, 3)}, true},
		{"risen", []*explore.Op{insertOf("A", 0, 1, two), deleteOf(2, 3), readOf(whole, 4, 5)}, false},
		{"added beside, before", []*explore.Op{addOf("y", "x", 0, 1), insertOf("A", 2, 3, two), readOf(beside, 4, 5)}, true},
		{"added in its place, before", []*explore.Op{addOf("p", "x", 0, 1), insertOf("A", 2, 3, two), readOf(added, 4, 5)}, false},
		{"added in its place, at the same time", []*explore.Op{insertOf("A", 0, 3, two), addOf("p", "x", 0, 2), readOf(added, 3, 5)}, false},
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
