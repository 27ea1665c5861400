package explore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/explore"
)

// finding is a play in which a fault was once found.
type finding struct {
	name string
	play play
}

func insert(name string, parts int) role { return role{name: name, kind: "insert", parts: parts} }

func stagedInsert(name string, parts int) role {
	return role{name: name, kind: "insert", parts: parts, staged: true}
}

func (r role) crashing(at int) role {
	r.crash = at
	return r
}

func does(name, kind string) role { return role{name: name, kind: kind, parts: 1} }

func staged(r role) role {
	r.staged = true
	return r
}

func findings() []finding {
	pages := setup{Attempts: 2, Page: 1}
	plain := setup{Attempts: 2}
	faults := explore.Limits{Faults: 1, Late: 1}
	unwatched := setup{Attempts: 2, Unwatched: true, Page: 2}
	return []finding{
		{"1: an inserter whose claim was taken over sweeps the winner's parts", play{
			setup: plain, actors: []role{stagedInsert("A", 2), stagedInsert("B", 2)},
		}},
		{"1: as above, with a third", play{
			setup: plain, actors: []role{stagedInsert("A", 2), stagedInsert("B", 2), stagedInsert("C", 1)},
		}},
		{"2: a delete that finishes a crashed one deletes what was inserted meanwhile", play{
			setup: pages, before: []role{stagedInsert("b", 2), staged(does("d", "delete")).crashing(5)},
			actors: []role{does("A", "delete"), insert("B", 2)},
		}},
		{"2: as above, with the root last", play{
			model: "last", setup: pages, before: []role{insert("b", 2), staged(does("d", "delete")).crashing(5)},
			actors: []role{does("A", "delete"), does("B", "delete"), insert("C", 2)},
		}},
		{"a delete reads nothing, then its query yields an item of an entity that was inserted meanwhile", play{
			setup: setup{Attempts: 1, Torn: true}, actors: []role{does("A", "delete"), insert("B", 2)},
		}},
		{"the same beside an item that a crashed insert has left", play{
			setup: setup{Attempts: 1, Torn: true}, before: []role{
				stagedInsert("b", 2).crashing(4),
				does("d", "delete").crashing(4),
			}, actors: []role{does("A", "delete"), insert("B", 2)},
		}},
		{"a delete reads a root item, then its query yields an item of the next entity", play{
			setup: setup{Attempts: 1, Torn: true}, before: []role{insert("b", 2)}, actors: []role{
				does("A", "delete"),
				does("B", "delete"), insert("C", 2),
			},
		}},
		{"3: a running staged insert, and an element added in its place", play{
			setup: plain, actors: []role{stagedInsert("A", 2), does("B", "add")},
		}},
		{"3: a running staged insert, and a save of what was there before", play{
			setup: plain, before: []role{insert("b", 2)},
			actors: []role{does("A", "save"), does("B", "delete"), stagedInsert("C", 2)},
		}},
		{"3: a running staged insert, and parts that are added to what was there before", play{
			setup: plain, before: []role{insert("b", 1)},
			actors: []role{does("A", "join"), does("B", "delete"), stagedInsert("C", 2)},
		}},
		{"3: a running staged insert, and a delete of parts", play{
			setup: plain, actors: []role{stagedInsert("A", 2), does("B", "delete parts")},
		}},
		{"4: an element that is added while its entity is deleted", play{
			setup: plain, before: []role{insert("b", 1)}, actors: []role{does("A", "join"), does("B", "delete")},
		}},
		{"4: as above, of a staged delete", play{
			setup: plain, before: []role{insert("b", 1)}, actors: []role{
				does("A", "join"),
				staged(does("B", "delete")),
			},
		}},
		{"4: an element that is added while its entity moves away", play{
			setup: plain, before: []role{insert("b", 1)}, actors: []role{does("A", "join"), does("B", "move")},
		}},
		{"4: as above, of an element without an incarnation", play{
			setup: plain, before: []role{insert("b", 1)},
			actors: []role{does("A", "add new blindly"), does("B", "move")},
		}},
		{"4: an element that is added behind an expired root", play{
			model: "mortal", setup: plain, before: []role{does("b", "insert expired")},
			actors: []role{does("A", "join"), insert("B", 2)},
		}},
		{"an element that is added to parts that were loaded while a claim existed", play{
			setup: plain, before: []role{stagedInsert("b", 2).crashing(3)}, actors: []role{
				does("A", "join"),
				insert("B", 2),
			},
		}},
		{"5: a staged delete of a loaded entity", play{
			setup: plain, before: []role{insert("b", 2)}, actors: []role{
				staged(does("A", "delete loaded")),
				does("B", "save"),
			},
		}},
		{"7: a load of several pages, and a staged insert", play{
			setup: pages, before: []role{insert("b", 2)},
			actors: []role{strong(does("A", "read")), staged(does("B", "delete")), stagedInsert("C", 2)},
		}},
		{"7: as above, with the root last", play{
			model: "last", setup: pages, before: []role{insert("b", 2)},
			actors: []role{strong(does("A", "read")), staged(does("B", "delete")), stagedInsert("C", 2)},
		}},
		{"7: a load of two tables", play{
			model: "satellite", setup: plain, before: []role{insert("b", 2)},
			actors: []role{strong(does("A", "read")), does("B", "delete"), stagedInsert("C", 2)},
		}},
		{"8: a transaction whose first copy arrives late", play{
			setup: plain, Limits: faults, before: []role{insert("b", 1)}, actors: []role{
				insert("A", 2),
				does("B", "delete"),
			},
		}},
		{"9: a claim and a going live that arrive late", play{
			setup: plain, Limits: explore.Limits{Faults: 2, Late: 2}, actors: []role{
				stagedInsert("A", 1),
				does("B", "delete"),
			},
		}},
		{"9: a query while an insert goes live", play{
			setup: pages, actors: []role{stagedInsert("A", 2), does("B", "query"), does("C", "read parts")},
		}},
		{"9: one's own delete that arrives late", play{
			setup: plain, Limits: faults, before: []role{insert("b", 2)},
			actors: []role{staged(does("A", "delete loaded")), does("B", "read")},
		}},
		{"what is added without reading while a delete dies", play{
			setup: plain, before: []role{insert("b", 1), staged(does("d", "delete")).crashing(5)},
			actors: []role{does("A", "add new"), insert("B", 1)},
		}},
		{"a save while a staged delete is under way", play{
			setup: plain, before: []role{insert("b", 1)}, actors: []role{
				does("A", "read"),
				staged(does("B", "delete loaded")), does("C", "save"),
			},
		}},
		{"a save behind a staged delete whose mark somebody took over who died", play{
			setup: setup{Attempts: 1}, Limits: explore.Limits{Crashes: 1}, before: []role{insert("b", 1)},
			actors: []role{does("A", "save"), staged(does("B", "delete")), stagedInsert("C", 1)},
		}},
		{"a staged delete of what was loaded, while something is added", play{
			setup: plain, before: []role{insert("b", 1)}, actors: []role{
				does("A", "add new"),
				staged(does("B", "delete loaded")),
			},
		}},
		{
			"an upsert of the root item, which an index finds",
			play{model: "indexed", setup: plain, actors: []role{does("A", "found"), does("B", "look up")}},
		},
		{"an upsert of the root item over what a deleted entity has left", play{
			setup: plain, before: []role{does("a", "found"), staged(does("d", "delete")).crashing(3)},
			actors: []role{does("A", "found"), does("B", "delete")},
		}},
		{
			"two upserts of the root item",
			play{setup: plain, actors: []role{does("A", "found"), does("B", "found"), does("C", "delete")}},
		},
		{"an addition to nothing", play{setup: plain, actors: []role{does("A", "join"), does("B", "delete")}}},
		{"a delete of one item, by a client that cannot be watched, that finds nothing", play{
			model: "bare", setup: unwatched, before: []role{insert("b", 1)},
			actors: []role{does("A", "delete"), does("B", "delete loaded"), does("C", "delete parts")},
		}},
	}
}

func strong(r role) role {
	r.strong = true
	return r
}

// Each hole that was found stays closed, in schedules drawn at random.
func TestFindings(t *testing.T) {
	l := newLab(t)
	for _, f := range findings() {
		t.Run(f.name, func(t *testing.T) {
			end := time.Now().Add(draws.For(0, 300*time.Millisecond, 10*time.Second))
			n := 0
			for seed := uint64(0); n < draws.Times(4, 8, 8) || time.Now().Before(end); seed++ {
				if err := l.run(f.play, explore.NewRandom(seed)); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				n++
			}
			t.Logf("%d schedules", n)
		})
	}
}

// All schedules of pairs of actors, with a bounded number of switches between them.
func TestExploreInOrder(t *testing.T) {
	l := newLab(t)
	kinds := []role{
		stagedInsert("", 1), insert("", 1), does("", "delete"), staged(does("", "delete")),
		staged(does("", "delete loaded")),
		does("", "save"), does("", "join"), does("", "add"), does("", "patch"), does("", "delete parts"),
		does("", "move"), does("", "join checked"), does("", "add if there"),
		does("", "set"), does("", "add new"), does("", "foreign"), does("", "delete loaded"), does("", "join blindly"),
		does("", "add new blindly"), does("", "found"),
		does("", "read"), does("", "query"),
	}
	end := time.Now().Add(draws.For(time.Second, 10*time.Second, 15*time.Minute))
	n, done := 0, 0
	for _, before := range [][]role{nil, {stagedInsert("b", 1)}} {
		for i, a := range kinds {
			for _, b := range kinds[:i+1] {
				a.name, b.name = "A", "B"
				p := play{
					model: []string{"first", "last"}[done%2], setup: setup{Attempts: 1, Page: 1}, before: before,
					actors: []role{a, b},
				}
				c := &explore.InOrder{Deviations: 2}
				for more := true; more && time.Now().Before(end); more = c.Next() {
					if err := l.run(p, c); err != nil {
						t.Fatalf("%s %v | %v: %v", p.model, p.before, p.actors, err)
					}
					n++
				}
				done++
			}
		}
	}
	t.Log(fmt.Sprint(n, " schedules"))
}
