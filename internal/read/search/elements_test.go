package search_test

import (
	"context"
	"testing"
	"time"

	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/read/search"
	. "github.com/itemize/itemize/internal/testing/fakedynamo"
)

// of returns the attributes of an item of an incarnation. live is a root that went live, young one that
// went live now or an hour ago, and marked an item that a staged insert has put.
func of(incarnation string) item.Attributes { return item.Attributes{"_a": B(incarnation)} }

func live(incarnation string, recent bool) item.Attributes {
	since := Now
	if !recent {
		since = Now.Add(-time.Hour)
	}
	a := of(incarnation)
	item.Reserved{}.AssignStage(item.NewStage(item.Live, since)).Into(a)
	return a
}

func marked(incarnation string) item.Attributes {
	a := of(incarnation)
	item.Reserved{}.MarkStaged().Into(a)
	return a
}

func head(more item.Attributes) Answer { return Stored(Item("SHOP#1", "HEAD", more)) }

// Elements are yielded in order of their keys, each once, without those that do not exist. The root
// decides which exist if the items have different incarnations, or continue after the page. It is read
// before any of them is yielded.
func TestElements(t *testing.T) {
	m := Of[Shop](t)
	claim := of("x")
	item.Reserved{}.AssignStage(item.NewStage(item.Inserting, Now)).Into(claim)
	for _, c := range []struct {
		name    string
		answers []Answer
		limit   int
		reads   string
		want    string
	}{
		{
			"alike, on one page",
			[]Answer{Page("", line("a", of("x")), line("b", nil), line("c", of("x")))},
			0, "q",
			"a b c",
		},
		{"nothing", []Answer{Page("")}, 0, "q", ""},
		{
			"alike, on two pages",
			[]Answer{Page("LINE#a", line("a", of("x"))), head(of("x")), Page("", line("b", of("x"))), head(of("x"))},
			0,
			"qRqR", "a b",
		},
		{
			"a leftover on the second page",
			[]Answer{Page("LINE#a", line("a", of("x"))), head(of("x")), Page("", line("b", of("y"))), head(of("x"))},
			0,
			"qRqR", "a",
		},
		{
			"inserted again behind the first page",
			[]Answer{
				Page("LINE#a", line("a", of("x"))), head(of("y")),
				Page("LINE#b", line("a", of("y")), line("b", of("y"))), Page("", line("c", of("y"))), head(of("y")),
			},
			0,
			"qRQQR", "a b c",
		},
		{
			"two pages of an entity that is gone",
			[]Answer{
				Page("LINE#a", line("a", of("x"))), Stored(nil), Page("", line("b", nil), line("c", of("x"))),
				Stored(nil),
			},
			0,
			"qRqR", "b",
		},
		{
			"two pages of one that went live just now",
			[]Answer{
				Page("LINE#b", line("b", marked("x"))), head(live("x", true)),
				Page("LINE#b", line("a", marked("x")), line("b", marked("x"))), Page("", line("c", marked("x"))),
				head(live("x", true)),
			},
			0,
			"qRQQR", "a b c",
		},
		{
			"staged, and live for long",
			[]Answer{Page("", line("a", marked("x")), line("b", of("x"))), head(live("x", false))},
			0, "qR", "a b",
		},
		{
			"staged, and live just now",
			[]Answer{
				Page("", line("b", marked("x"))), head(live("x", true)),
				Page("", line("a", marked("x")), line("b", marked("x"))), head(live("x", true)),
			},
			0,
			"qRQR", "a b",
		},
		{"of a claim", []Answer{Page("", line("a", marked("x")), line("b", nil)), head(claim)}, 0, "qR", ""},
		{"of nothing", []Answer{Page("", line("a", marked("x")), line("b", nil)), Stored(nil)}, 0, "qR", "b"},
		{
			"mixed, not staged",
			[]Answer{
				Page("", line("a", of("x")), line("b", of("y"))), head(of("y")),
				Page("", line("b", of("y")), line("c", of("y"))), head(of("y")),
			},
			0,
			"qRQR", "b c",
		},
		{
			"mixed from the second page on, which was asked for",
			[]Answer{
				Page("LINE#a", line("a", of("x"))), head(live("x", false)), Page("", line("b", of("y")),
					line("c", marked("x"))), head(live("x", false)),
			},
			0,
			"qRqR", "a c",
		},
		{
			"with a limit that the page reaches",
			[]Answer{Page("LINE#b", line("a", of("x")), line("b", of("x")))},
			2,
			"q", "a b",
		},
		{
			"with a limit, inserted again when some have been yielded",
			[]Answer{
				Page("LINE#b", line("a", of("x")), line("b", of("x"))), head(of("x")),
				Page("LINE#c", line("c", of("y"))), Page("", line("d", of("y"))), head(of("y")),
			},
			5,
			"qRqqR", "a b; was inserted or deleted during the query",
		},
		{
			"with a limit that the second page reaches, inserted again then",
			[]Answer{
				Page("LINE#b", line("a", of("x")), line("b", of("x"))), head(of("x")),
				Page("LINE#c", line("c", of("x"))), head(of("y")),
			},
			3,
			"qRqR", "a b c; was inserted or deleted during the query",
		},
		{
			"with a limit, deleted when some have been yielded",
			[]Answer{
				Page("LINE#b", line("a", marked("x")), line("b", marked("x"))), head(live("x", false)), Page(""),
				Stored(nil),
			},
			5,
			"qRqR", "a b; was inserted or deleted during the query",
		},
		{
			"with a limit, live just now",
			[]Answer{
				Page("LINE#b", line("a", of("x")), line("b", of("x"))), head(live("x", true)),
				Page("", line("a", of("x")), line("b", of("x")), line("bb", marked("x")), line("c", marked("x"))),
				head(live("x", true)),
			},
			5,
			"qRQR", "a b bb c",
		},
	} {
		r := lines(m)
		r.Limit = c.limit
		found{c.name, c.answers, c.reads, c.want}.check(t, m, r)
	}
}

// An element comes with its external values and its place.
func TestElementsAreDecoded(t *testing.T) {
	m := Of[Shop](t)
	x, _ := open(t, m, lines(m), Page("", line("c", item.Attributes{"Text": S("t")})))
	hits, err := all(x)
	if err != nil || len(hits) != 1 || hits[0].Value.(*Line).Text != "t" || hits[0].At.SK.Text != "LINE#c" ||
		hits[0].Field() != "Lines" {
		t.Errorf("%+v: %v", hits, err)
	}
}

// A search ends when its reader has had enough, also while it is read again.
func TestElementsEnd(t *testing.T) {
	m := Of[Shop](t)
	x, client := open(t, m, lines(m), Page("", line("a", marked("x"))), head(live("x", true)),
		Page("LINE#b", line("a", marked("x")), line("b", marked("x"))))
	var hits []search.Hit
	err := x.Hits(context.Background(), func(h search.Hit) bool { hits = append(hits, h); return len(hits) < 1 })
	if err != nil || show(hits) != "a" || client.Reads() != "qRQ" {
		t.Errorf("%s, with the reads %s: %v", show(hits), client.Reads(), err)
	}
}

// What a search cannot find out is an error: of the pages, of the root, and when it reads
// again.
func TestElementsFail(t *testing.T) {
	m := Of[Shop](t)
	denied := Failed("AccessDeniedException")
	for _, answers := range [][]Answer{
		{denied},
		{Page("", line("a", marked("x"))), denied},
		{Page("", line("a", marked("x"))), head(live("x", true)), denied},
	} {
		x, client := open(t, m, lines(m), answers...)
		err := x.Hits(context.Background(), func(search.Hit) bool { t.Error("a hit"); return true })
		if err == nil || client.Left() > 0 {
			t.Errorf("%s: %v", client.Reads(), err)
		}
	}
}
