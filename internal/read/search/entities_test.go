package search_test

import (
	"testing"

	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/read/search"
	. "github.com/itemize/itemize/internal/testing/fakedynamo"
)

func topic(name string, more item.Attributes) item.Attributes {
	return Item("BOARD#b", "T#"+name, more)
}

// Entities of a flat model are yielded whole, in order of their keys, even if others' keys sort between
// a root and its elements. Items without a root are no entity.
func TestEntities(t *testing.T) {
	m := Of[Topic](t)
	// "T#a!" sorts between the root "T#a" and its element "T#a#001".
	x, _ := open(t, m, search.Request{Selection: m.Select([]any{"b"}), Elem: topicType},
		Page("T#a#001", topic("a", nil), topic("a!", nil), topic("a!#001", nil), topic("a#001", nil)),
		Page("", topic("a#002", nil), topic("b#001", nil),
			topic("c", item.Attributes{"_s": item.NewStage(item.Inserting, Now).Value()}), topic("d", nil),
			Item("BOARD#b", "X", nil)),
		Stored(topic("a", nil))) // its items came with two answers
	if hits, err := all(x); err != nil || show(hits) != "a++ a!+ d" {
		t.Errorf("%s: %v", show(hits), err)
	}
}

// The items of an entity of a flat model are those of its root's incarnation. If the root has just gone
// live, the entity is read again by itself. If its items came in several answers, its root is read
// again.
func TestEntitiesOfIncarnations(t *testing.T) {
	m := Of[Topic](t)
	for _, c := range []found{
		{"left over", []Answer{Page("", topic("a", of("x")), topic("a#001", of("x")), topic("a#002", of("y")),
			topic("b#001", of("y")))}, "q", "a+"},
		{"live for long", []Answer{Page("", topic("a", live("x", false)), topic("a#001", marked("x")))}, "q", "a+"},
		{
			"live just now", []Answer{
				Page("", topic("a", live("x", true)), topic("a#001", marked("x")), topic("b", nil)),
				Page("", topic("a#001", marked("x")), topic("a#002", marked("x"))), Stored(topic("a", live("x", true))),
			}, "qQR", "a++ b",
		},
		{
			"live just now, and deleted", []Answer{
				Page("", topic("a", live("x", true)), topic("a#001", marked("x")), topic("b", nil)), Page(""),
				Stored(nil),
			}, "qQR", "b",
		},
		{
			"in two answers", []Answer{
				Page("T#a#001", topic("a", of("x")), topic("a#001", of("x"))), Page("", topic("a#002", of("x")),
					topic("b", nil)), Stored(topic("a", of("x"))),
			}, "qqR", "a++ b",
		},
		{
			"in two answers, inserted again between", []Answer{
				Page("T#a#001", topic("a", of("x")), topic("a#001", of("x"))), Page("", topic("a#002", of("y"))),
				Stored(topic("a", of("y"))),
				Page("", topic("a#002", of("y"))), Stored(topic("a", of("y"))),
			}, "qqRQR", "a+",
		},
	} {
		c.check(t, m, search.Request{Selection: m.Select([]any{"b"}), Elem: topicType})
	}
}
