package search_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	exp "github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/expr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/read/search"
	"github.com/itemize/itemize/internal/read/selection"
	"github.com/itemize/itemize/internal/read/snapshot"
	"github.com/itemize/itemize/internal/save/staging"
	"github.com/itemize/itemize/internal/save/write"
	. "github.com/itemize/itemize/internal/testing/fakedynamo"
)

func engine(m *model.Model, c *Client) *search.Engine {
	r := &read.Reader{Client: c, Label: m.Label(), TableOf: m.TableOf, Describe: m.Describe}
	return &search.Engine{
		Model: m, Source: r, CursorKey: []byte("0123456789abcdef"),
		Protocol: &staging.Protocol{
			Reader: r, Sender: &write.Sender{Client: c, Now: m.Now}, Describe: m.Image,
			Now: m.Now,
		},
	}
}

// ranged selects ranges of the entity, or entities, with these key values.
func ranged(m *model.Model, id string, ranges ...selection.Range) selection.Selection {
	sel := m.Select([]any{id})
	pk := sel.Parts[0].PK
	sel.Whole, sel.Parts = false, nil
	for _, r := range ranges {
		sel.Parts = append(sel.Parts, selection.Part{Partition: In(pk), Range: r})
	}
	return sel
}

func prefix(text string) selection.Range {
	return selection.Range{Kind: selection.Prefix, Low: Text(text)}
}

var (
	lineType  = reflect.TypeFor[Line]()
	topicType = reflect.TypeFor[Topic]()
)

func lines(m *model.Model) search.Request {
	return search.Request{Selection: ranged(m, "1", prefix("LINE#")), Elem: lineType}
}

func line(sku string, more item.Attributes) item.Attributes {
	return Item("SHOP#1", "LINE#"+sku, more)
}

// show describes hits: the elements' keys, or the entities' names.
func show(hits []search.Hit) string {
	var all []string
	for _, h := range hits {
		switch v := h.Value.(type) {
		case *Line:
			all = append(all, v.SKU)
		case *Topic:
			name := v.Name
			for range v.Posts {
				name += "+"
			}
			all = append(all, name)
		}
	}
	return strings.Join(all, " ")
}

// A query has elements of one type, or the entities of a flat model. A selection with other items is
// refused, and the error says what to do.
func TestCheck(t *testing.T) {
	shops, topics := Of[Shop](t), Of[Topic](t)
	filter := []expr.Condition{expr.Raw(exp.Name("Text").Equal(exp.Value(1)))}
	all := selection.Range{Kind: selection.All}
	none := selection.Range{Kind: selection.None}
	unknown := func(change func(*search.Request)) search.Request {
		r := lines(shops)
		change(&r)
		return r
	}
	for _, c := range []struct {
		name string
		m    *model.Model
		r    search.Request
		err  string
	}{
		{"elements", shops, lines(shops), ""},
		{
			"one element", shops,
			search.Request{
				Selection: ranged(shops, "1", selection.Range{Kind: selection.One, Low: Text("LINE#a")}),
				Elem:      lineType,
			},
			"",
		},
		{
			"a range in them", shops,
			search.Request{Selection: ranged(shops, "1",
				selection.Range{Kind: selection.Between, Low: Text("LINE#a"), High: Text("LINE#c")}), Elem: lineType},
			"",
		},
		{"an empty range", shops, search.Request{Selection: ranged(shops, "1", none), Elem: lineType}, ""},
		{
			"all of an entity", shops,
			search.Request{Selection: ranged(shops, "1", all), Elem: lineType},
			", which is of another type than fakedynamo.Line: narrow it with Prefix",
		},
		{"elements of another type", shops, search.Request{
			Selection: ranged(shops, "1", prefix("NOTE#")),
			Elem:      lineType,
		}, "the selection also contains Notes, which is of another type than fakedynamo.Line: narrow it with Prefix"},
		{"nothing that the model knows", shops, search.Request{
			Selection: ranged(shops, "1", prefix("X#")),
			Elem:      lineType,
		}, "the selection has no elements of the type fakedynamo.Line"},
		{
			"entities that are not flat", shops,
			search.Request{Selection: ranged(shops, "1", all), Elem: reflect.TypeFor[Shop]()},
			"a query of the model itself needs a flat model",
		},
		{"entities", topics, search.Request{Selection: topics.Select([]any{"b"}), Elem: topicType}, ""},
		{
			"entities by a prefix", topics,
			search.Request{Selection: ranged(topics, "b", prefix("T#a")), Elem: topicType},
			"",
		},
		{"entities, filtered", topics, search.Request{
			Selection: topics.Select([]any{"b"}), Elem: topicType,
			Filter: filter,
		}, "a filter is of one item, but an entity has several"},
		{"entities without their roots", topics, search.Request{
			Selection: ranged(topics, "b", prefix("U#")),
			Elem:      topicType,
		}, ", without which no entity is found: select more"},
		{"a filter on what nothing stores", shops, unknown(func(r *search.Request) {
			r.Filter = []expr.Condition{expr.Raw(exp.Name("Tex").Equal(exp.Value(1)))}
		}), "the filter names the attribute \"Tex\", which no selected item stores: it has Text"},
		{"a filter on a key", shops, unknown(func(r *search.Request) {
			r.Filter = []expr.Condition{expr.Raw(exp.Name("SK").Equal(exp.Value("LINE#1")))}
		}), "the filter names the key attribute \"SK\""},
		{"a filter on a field that a key holds", shops, unknown(func(r *search.Request) {
			r.Filter = []expr.Condition{expr.Raw(exp.Name("SKU").Equal(exp.Value("1")))}
		}), "the filter names \"SKU\", which is in the key LINE#{SKU} alone: narrow the query by it"},
		{"a projection on what nothing stores", shops, unknown(func(r *search.Request) {
			r.Projection = []search.Projected{{Attribute: "Tex"}}
		}), "the projection names the attribute \"Tex\""},
		{"a filter on what the library stores", shops, unknown(func(r *search.Request) {
			r.Filter = []expr.Condition{expr.Raw(exp.Name("_a").Equal(exp.Value("x")))}
		}), ""},
		{"a wrong key", shops, search.Request{Selection: shops.Select(nil), Elem: lineType}, "and got 0"},
		{
			"after a cursor, in two ranges", shops,
			search.Request{
				Selection: ranged(shops, "1", prefix("LINE#a"), prefix("LINE#b")), Elem: lineType,
				After: "x",
			},
			"After needs a query of one range, but this one has 2: use All",
		},
	} {
		_, err := engine(c.m, &Client{}).New(c.r, &read.Usage{})
		if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// The limit of a page is that of the request only where every item that is read is a hit.
func TestLimit(t *testing.T) {
	shops, topics := Of[Shop](t), Of[Topic](t)
	filter := []expr.Condition{expr.Raw(exp.Name("Text").Equal(exp.Value(1)))}
	kept := lines(shops)
	kept.Selection.Parts[0].Keep = &selection.Filter{}
	filtered := lines(shops)
	filtered.Filter = filter
	for _, c := range []struct {
		name string
		m    *model.Model
		r    search.Request
		want int
	}{
		{"elements", shops, lines(shops), 5},
		{"elements, filtered", shops, filtered, 0},
		{"elements, some of which are kept", shops, kept, 0},
		{"entities of several items", topics, search.Request{Selection: topics.Select([]any{"b"}), Elem: topicType}, 0},
	} {
		c.r.Limit = 5
		x, err := engine(c.m, &Client{}).New(c.r, &read.Usage{})
		if err != nil || x.Options().Limit != c.want {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// A projection also reads the attributes that show whether an element exists, and to which entity it
// belongs.
func TestProjection(t *testing.T) {
	m := Of[Shop](t)
	for _, c := range []struct {
		r    func(r *search.Request)
		want string
	}{
		{
			func(r *search.Request) { r.Projection = []search.Projected{{Field: "Text", Attribute: "Text"}} },
			"Text, PK, SK, _a, _s",
		},
		{func(r *search.Request) { r.KeysOnly = true }, "PK, SK, _a, _s"},
	} {
		r := lines(m)
		c.r(&r)
		x, err := engine(m, &Client{}).New(r, &read.Usage{})
		if err != nil {
			t.Fatal(err)
		}
		e := x.Options().Expr
		if got := Expand(*e.Projection, e.Names, nil); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

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
		client := &Client{Answers: c.answers}
		var u read.Usage
		r := lines(m)
		r.Limit = c.limit
		x, err := engine(m, client).New(r, &u)
		if err != nil {
			t.Fatal(err)
		}
		var hits []search.Hit
		err = x.Hits(context.Background(), func(h search.Hit) bool {
			hits = append(hits, h)
			if at := strings.Index(c.reads, "R"); c.limit == 0 && len(client.Calls()) <= at {
				t.Errorf("%s: yielded before the root was asked", c.name)
			}
			return true
		})
		got := show(hits)
		if want, text, _ := strings.Cut(c.want, "; "); text != "" {
			c.want = want
			if err == nil || !strings.Contains(err.Error(), text) {
				t.Errorf("%s: %v", c.name, err)
			}
			err = nil
		}
		if err != nil || got != c.want || client.Reads() != c.reads || u.Requests != len(c.reads) {
			t.Errorf("%s: %s, with the reads %s, counted %d: %v", c.name, got, client.Reads(), u.Requests, err)
		}
	}
}

// An element comes with its external values and its place.
func TestElementsAreDecoded(t *testing.T) {
	m := Of[Shop](t)
	x, err := engine(m, &Client{Answers: []Answer{Page("", line("c", item.Attributes{"Text": S("t")}))}}).New(lines(m),
		&read.Usage{})
	if err != nil {
		t.Fatal(err)
	}
	var hits []search.Hit
	err = x.Hits(context.Background(), func(h search.Hit) bool { hits = append(hits, h); return true })
	if err != nil || len(hits) != 1 || hits[0].Value.(*Line).Text != "t" || hits[0].At.SK.Text != "LINE#c" ||
		hits[0].Field() != "Lines" {
		t.Errorf("%+v: %v", hits, err)
	}
}

// A search ends when its reader has had enough, also while it is read again.
func TestElementsEnd(t *testing.T) {
	m := Of[Shop](t)
	client := &Client{Answers: []Answer{
		Page("", line("a", marked("x"))), head(live("x", true)),
		Page("LINE#b", line("a", marked("x")), line("b", marked("x"))),
	}}
	x, err := engine(m, client).New(lines(m), &read.Usage{})
	if err != nil {
		t.Fatal(err)
	}
	var hits []search.Hit
	err = x.Hits(context.Background(), func(h search.Hit) bool { hits = append(hits, h); return len(hits) < 1 })
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
		client := &Client{Answers: answers}
		x, err := engine(m, client).New(lines(m), &read.Usage{})
		if err != nil {
			t.Fatal(err)
		}
		err = x.Hits(context.Background(), func(search.Hit) bool { t.Error("a hit"); return true })
		if err == nil || client.Left() > 0 {
			t.Errorf("%s: %v", client.Reads(), err)
		}
	}
}

// A page that has to be read again begins where its cursor says, and yields nothing twice.
func TestPageIsReread(t *testing.T) {
	m := Of[Shop](t)
	r := lines(m)
	r.Limit = 2
	x, err := engine(m, &Client{Answers: []Answer{Page("LINE#b", line("a", of("x")), line("b", of("x")))}}).New(r,
		&read.Usage{})
	if err != nil {
		t.Fatal(err)
	}
	if _, r.After, err = x.Page(context.Background()); err != nil || r.After == "" {
		t.Fatalf("%q: %v", r.After, err)
	}
	client := &Client{Answers: []Answer{
		Page("LINE#c", line("c", of("x"))), head(live("x", true)),
		Page("LINE#c", line("c", of("x"))), Page("", line("d", marked("x"))), head(live("x", true)),
	}}
	if x, err = engine(m, client).New(r, &read.Usage{}); err != nil {
		t.Fatal(err)
	}
	hits, _, err := x.Page(context.Background())
	if err != nil || show(hits) != "c d" || client.Reads() != "qRQQR" {
		t.Errorf("%s, with the reads %s: %v", show(hits), client.Reads(), err)
	}
	for _, i := range []int{0, 2} {
		if in := client.Calls()[i].Input.(*dynamodb.QueryInput); Show(in.ExclusiveStartKey["SK"]) != "'LINE#b'" {
			t.Errorf("the query %d begins behind %v", i, in.ExclusiveStartKey)
		}
	}
}

// A page of an entity that is deleted while it is read again is an error, not a part of it.
func TestPageOfADeletedEntity(t *testing.T) {
	m := Of[Shop](t)
	client := &Client{Answers: []Answer{
		Page("LINE#b", line("a", marked("x")), line("b", marked("x"))), head(live("x", true)),
		Page("LINE#b", line("b", marked("x"))), Stored(nil),
	}}
	x, err := engine(m, client).New(lines(m), &read.Usage{})
	if err != nil {
		t.Fatal(err)
	}
	if hits, _, err := x.Page(context.Background()); err == nil || !strings.Contains(err.Error(), "query again") {
		t.Errorf("%s: %v", show(hits), err)
	}
}

func topic(name string, more item.Attributes) item.Attributes {
	return Item("BOARD#b", "T#"+name, more)
}

// Entities of a flat model are yielded whole, in order of their keys, even if others' keys sort between
// a root and its elements. Items without a root are no entity.
func TestEntities(t *testing.T) {
	m := Of[Topic](t)
	// "T#a!" sorts between the root "T#a" and its element "T#a#001".
	c := &Client{Answers: []Answer{
		Page("T#a#001", topic("a", nil), topic("a!", nil), topic("a!#001", nil), topic("a#001", nil)),
		Page("", topic("a#002", nil), topic("b#001", nil),
			topic("c", item.Attributes{"_s": item.NewStage(item.Inserting, Now).Value()}), topic("d", nil),
			Item("BOARD#b", "X", nil)),
		Stored(topic("a", nil)), // its items came with two answers
	}}
	x, err := engine(m, c).New(search.Request{Selection: m.Select([]any{"b"}), Elem: topicType}, &read.Usage{})
	if err != nil {
		t.Fatal(err)
	}
	var hits []search.Hit
	if err := x.Hits(context.Background(),
		func(h search.Hit) bool { hits = append(hits, h); return true }); err != nil {
		t.Fatal(err)
	}
	if got := show(hits); got != "a++ a!+ d" {
		t.Error(got)
	}
}

// The items of an entity of a flat model are those of its root's incarnation. If the root has just gone
// live, the entity is read again by itself. If its items came in several answers, its root is read
// again.
func TestEntitiesOfIncarnations(t *testing.T) {
	m := Of[Topic](t)
	for _, c := range []struct {
		name    string
		answers []Answer
		reads   string
		want    string
	}{
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
		client := &Client{Answers: c.answers}
		var u read.Usage
		x, err := engine(m, client).New(search.Request{Selection: m.Select([]any{"b"}), Elem: topicType}, &u)
		if err != nil {
			t.Fatal(err)
		}
		var hits []search.Hit
		err = x.Hits(context.Background(), func(h search.Hit) bool { hits = append(hits, h); return true })
		got := show(hits)
		if want, text, _ := strings.Cut(c.want, "; "); text != "" {
			c.want = want
			if err == nil || !strings.Contains(err.Error(), text) {
				t.Errorf("%s: %v", c.name, err)
			}
			err = nil
		}
		if err != nil || got != c.want || client.Reads() != c.reads || u.Requests != len(c.reads) {
			t.Errorf("%s: %s, with the reads %s, counted %d: %v", c.name, got, client.Reads(), u.Requests, err)
		}
	}
}

// A page ends at its limit, or at the end of an answer. Its cursor continues after it, and the last
// page has no cursor.
func TestPage(t *testing.T) {
	m := Of[Shop](t)
	for _, c := range []struct {
		name   string
		limit  int
		answer []Answer
		hits   string
		next   string // the position of the cursor, "" for none
	}{
		{"the end", 0, []Answer{Page("", line("a", nil), line("b", nil))}, "a b", ""},
		{"an answer's end", 0, []Answer{Page("LINE#b", line("a", nil), line("b", nil)), head(nil)}, "a b", "LINE#b"},
		{"an answer of nothing", 0, []Answer{Page("LINE#b"), head(nil)}, "", "LINE#b"},
		{"the limit", 2, []Answer{Page("LINE#b", line("a", nil), line("b", nil))}, "a b", "LINE#b"},
		{"less than the limit", 3, []Answer{Page("", line("a", nil))}, "a", ""},
		{
			"several answers until the limit", 2,
			[]Answer{Page("LINE#b", line("a", nil)), head(nil), Page("LINE#d", line("c", nil)), head(nil)},
			"a c",
			"LINE#c",
		},
	} {
		r := lines(m)
		r.Limit = c.limit
		client := &Client{Answers: c.answer}
		x, err := engine(m, client).New(r, &read.Usage{})
		if err != nil {
			t.Fatal(err)
		}
		hits, cursor, err := x.Page(context.Background())
		if err != nil || show(hits) != c.hits || (cursor == "") != (c.next == "") || client.Left() > 0 {
			t.Errorf("%s: %s, cursor %q: %v", c.name, show(hits), cursor, err)
			continue
		}
		if cursor == "" {
			continue
		}
		r.After = cursor
		x, err = engine(m, client).New(r, &read.Usage{})
		if err != nil || x.Options().Start.Text != c.next {
			t.Errorf("%s: goes on at %v: %v", c.name, x.Options().Start, err)
		}
	}
}

// A page of entities continues after its last one, and skips items that it reads again.
func TestPageOfEntities(t *testing.T) {
	m := Of[Topic](t)
	r := search.Request{Selection: m.Select([]any{"b"}), Elem: topicType, Limit: 1}
	all := []item.Attributes{
		topic("a", nil), topic("a!", nil), topic("a!#001", nil), topic("a#001", nil),
		topic("b", nil),
	}
	var got []string
	for range 4 {
		client := &Client{Answers: []Answer{Page("", all...)}}
		if r.After != "" { // items after the start
			x, err := engine(m, client).New(r, &read.Usage{})
			if err != nil {
				t.Fatal(err)
			}
			var rest []item.Attributes
			for _, a := range all {
				if a["SK"].(*types.AttributeValueMemberS).Value > x.Options().Start.Text {
					rest = append(rest, a)
				}
			}
			client.Answers = []Answer{Page("", rest...)}
		}
		x, err := engine(m, client).New(r, &read.Usage{})
		if err != nil {
			t.Fatal(err)
		}
		hits, cursor, err := x.Page(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if len(hits) > 0 {
			got = append(got, show(hits))
		}
		if r.After = cursor; cursor == "" {
			break
		}
	}
	if text := strings.Join(got, " "); text != "a+ a!+ b" {
		t.Error(text)
	}
}

// A cursor is valid for its query, partition and key. A changed cursor, or one of another query, is
// refused, so that it gives no access to other data.
func TestCursors(t *testing.T) {
	m := Of[Shop](t)
	filter := func(n int) []expr.Condition {
		return []expr.Condition{expr.Raw(exp.Name("Text").Equal(exp.Value(n)))}
	}
	base := func() search.Request {
		r := lines(m)
		r.Filter, r.Projection = filter(1), []search.Projected{{Field: "Text", Attribute: "Text"}}
		return r
	}
	x, err := engine(m, &Client{Answers: []Answer{Page("LINE#b", line("a", nil)), head(nil)}}).New(base(),
		&read.Usage{})
	if err != nil {
		t.Fatal(err)
	}
	_, cursor, err := x.Page(context.Background())
	if err != nil || cursor == "" {
		t.Fatalf("%q %v", cursor, err)
	}
	open := func(e *search.Engine, r search.Request) error {
		_, err := e.New(r, &read.Usage{})
		return err
	}
	same := base()
	same.After, same.Limit, same.Strong = cursor, 7, true
	if err := open(engine(m, &Client{}), same); err != nil {
		t.Errorf("the same query: %v", err)
	}
	for name, change := range map[string]func(e *search.Engine, r *search.Request){
		"another partition": func(_ *search.Engine, r *search.Request) {
			r.Selection = ranged(m, "2", prefix("LINE#"))
		},
		"another range": func(_ *search.Engine, r *search.Request) {
			r.Selection = ranged(m, "1", prefix("LINE#a"))
		},
		"another kind of range": func(_ *search.Engine, r *search.Request) {
			r.Selection = ranged(m, "1", selection.Range{Kind: selection.One, Low: Text("LINE#a")})
		},
		"another direction": func(_ *search.Engine, r *search.Request) { r.Reverse = true },
		"another filter":    func(_ *search.Engine, r *search.Request) { r.Filter = filter(2) },
		"no filter":         func(_ *search.Engine, r *search.Request) { r.Filter = nil },
		"another projection": func(_ *search.Engine, r *search.Request) {
			r.Projection = []search.Projected{{Field: "Count", Attribute: "Count"}}
		},
		"keys only":   func(_ *search.Engine, r *search.Request) { r.KeysOnly = true },
		"another key": func(e *search.Engine, _ *search.Request) { e.CursorKey = []byte("another key of16") },
		"instants that are kept": func(_ *search.Engine, r *search.Request) {
			r.Selection.Parts[0].Keep = &selection.Filter{Item: 1}
		},
		"cut off":     func(_ *search.Engine, r *search.Request) { r.After = r.After[:len(r.After)-1] },
		"shortened":   func(_ *search.Engine, r *search.Request) { r.After = r.After[:8] },
		"made longer": func(_ *search.Engine, r *search.Request) { r.After += "AAAA" },
		"no base64":   func(_ *search.Engine, r *search.Request) { r.After = "{}" },
	} {
		e, r := engine(m, &Client{}), same
		r.Selection = ranged(m, "1", prefix("LINE#"))
		change(e, &r)
		if err := open(e, r); !errors.Is(err, search.ErrCursor) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for i := range cursor {
		r := same
		c := byte('A')
		if cursor[i] == c {
			c = 'B'
		}
		r.After = cursor[:i] + string(c) + cursor[i+1:]
		if err := open(engine(m, &Client{}), r); !errors.Is(err, search.ErrCursor) {
			t.Errorf("with the character %d changed: %v", i, err)
		}
	}
}

// A cursor does not reveal the keys in it, and two cursors of one position differ.
func TestCursorShowsNoKeys(t *testing.T) {
	m := Of[Shop](t)
	seen := map[string]bool{}
	for range 3 {
		x, err := engine(m, &Client{Answers: []Answer{Page("LINE#ann@example.com", line("a", nil)), head(nil)}}).
			New(lines(m), &read.Usage{})
		if err != nil {
			t.Fatal(err)
		}
		_, cursor, err := x.Page(context.Background())
		if err != nil || cursor == "" {
			t.Fatalf("%q %v", cursor, err)
		}
		plain, err := base64.RawURLEncoding.DecodeString(cursor)
		if err != nil || bytes.Contains(plain, []byte("ann")) ||
			bytes.Contains(plain, []byte(base64.StdEncoding.EncodeToString([]byte("LINE#ann@example.com"))[:12])) ||
			bytes.Contains(plain, []byte("LINE")) {
			t.Errorf("the cursor holds %q: %v", plain, err)
		}
		if seen[cursor] {
			t.Errorf("the cursor %s came twice", cursor)
		}
		seen[cursor] = true
	}
}

// A load leaves out stored items that do not belong to the live entity. It counts items that match
// nothing, and does not find an entity whose root is not live.
func TestLoad(t *testing.T) {
	m := Of[Session](t)
	sel := m.Select([]any{"1"})
	root := Item("1", "HEAD", item.Attributes{"User": S("u"), "_v": B("v"), "_a": B("x")})
	load := func(sel selection.Selection, v *Session, answers ...Answer) (*snapshot.Snapshot, error) {
		return engine(m, &Client{Answers: answers}).Load(context.Background(), sel, v, read.Options{}, &write.Tally{})
	}
	var v Session
	s, err := load(sel, &v, Page("", root, Item("1", "OTHER", nil), Item("1", "STEP#001", of("x")),
		Item("1", "STEP#002", item.Attributes{"expires": N("5")}), Item("1", "STEP#003", of("y"))))
	if err != nil || v.ID != "1" || v.User != "u" || len(v.Steps) != 1 || s.Unknown != 1 || len(s.Hidden) != 0 {
		t.Errorf("%+v of %+v: %v", v, s, err)
	}
	if incarnation, exists := s.Incarnation(); !exists || Show(incarnation) != "b'x'" {
		t.Errorf("of the incarnation %v, %v", incarnation, exists)
	}
	for name, c := range map[string]struct {
		more item.Attributes
		want string
	}{
		"expired":  {item.Attributes{"expires": N("5")}, "it has expired"},
		"a claim":  {item.Attributes{"_s": item.NewStage(item.Inserting, Now).Value()}, "an insert that began at"},
		"a delete": {item.Attributes{"_s": item.NewStage(item.Deleting, Now).Value()}, "a delete that began at"},
	} {
		_, err := load(sel, new(Session), Page("", Item("1", "HEAD", c.more)))
		var missing *search.NotFound
		if !errors.As(err, &missing) || !strings.HasPrefix(missing.Pending, c.want) || missing.Name != `ID "1"` {
			t.Errorf("%s: %v", name, err)
		}
	}
	var missing *search.NotFound
	if _, err := load(sel, new(Session), Page("")); !errors.As(err, &missing) || missing.Pending != "" {
		t.Errorf("nothing: %v", err)
	}
	steps := ranged(m, "1", prefix("STEP#"))
	if _, err := load(steps, new(Session), Page("")); err != nil {
		t.Errorf("a part of nothing: %v", err)
	}
	s, err = load(steps, new(Session), Page("", Item("1", "STEP#001", marked("x"))), Stored(root), Page(""),
		Stored(root))
	if incarnation, exists := s.Incarnation(); err != nil || !exists || Show(incarnation) != "b'x'" {
		t.Errorf("a part whose root was read is of the incarnation %v, %v: %v", incarnation, exists, err)
	}
	if _, err := load(sel, new(Session), Failed("AccessDeniedException")); err == nil || errors.As(err, &missing) {
		t.Errorf("denied: %v", err)
	}
}

// Items that a load leaves out before its root do not affect those after it.
func TestLoadInFrontOfTheRoot(t *testing.T) {
	m := Of[Shop](t)
	for _, in := range []item.Attributes{Item("SHOP#1", "A", nil), Item("SHOP#1", "ADDRESS", of("y"))} {
		client := &Client{
			Answers: []Answer{Page("", in, Item("SHOP#1", "HEAD", live("x", false)), line("a", marked("x")),
				line("b", nil), line("c", marked("x")), line("d", marked("y")), line("e", of("x")))},
		}
		var v Shop
		s, err := engine(m, client).Load(context.Background(), m.Select([]any{"1"}), &v, read.Options{}, &write.Tally{})
		var got []string
		for _, l := range v.Lines {
			got = append(got, l.SKU)
		}
		if incarnation, _ := s.Incarnation(); err != nil || strings.Join(got, " ") != "a b c e" ||
			Show(incarnation) != "b'x'" {
			t.Errorf("%s: %v of %v: %v", Show(in["SK"]), got, incarnation, err)
		}
	}
}

// Tail is a model whose root sorts last.
type Tail struct {
	_     struct{} `ddb:"table=tails"`
	ID    string   `ddb:"pk={ID}"`
	Lines []Line   `ddb:"sk=LINE#{SKU}"`
	Name  string   `ddb:"sk=ROOT,root"`
}

// A root that sorts last is read first, by a backward query; the loaded items are still in their order.
func TestLoadBackwards(t *testing.T) {
	m := Of[Tail](t)
	client := &Client{Answers: []Answer{Page("", Item("1", "ROOT", nil), Item("1", "LINE#b", nil),
		Item("1", "LINE#a", nil))}}
	var v Tail
	_, err := engine(m, client).Load(context.Background(), m.Select([]any{"1"}), &v, read.Options{}, &write.Tally{})
	if in := client.Calls()[0].Input.(*dynamodb.QueryInput); err != nil || aws.ToBool(in.ScanIndexForward) ||
		in.ScanIndexForward == nil {
		t.Errorf("%v: %v", in.ScanIndexForward, err)
	}
	if len(v.Lines) != 2 || v.Lines[0].SKU != "a" {
		t.Errorf("%+v", v.Lines)
	}
}
