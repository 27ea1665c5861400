package search_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	exp "github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/condition"
	"github.com/itemize/itemize/internal/item"
	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/search"
	"github.com/itemize/itemize/internal/selection"
	"github.com/itemize/itemize/internal/staging"
	. "github.com/itemize/itemize/internal/testmodel"
	"github.com/itemize/itemize/internal/write"
)

func engine(m *model.Model, c *Client) *search.Engine {
	r := &read.Reader{Client: c, Label: m.Label(), Tables: m.Tables, Describe: m.Describe}
	return &search.Engine{
		Model: m, Source: r, CursorKey: []byte("0123456789abcdef"),
		Protocol: &staging.Protocol{Reader: r, Sender: &write.Sender{Client: c, Now: m.Now}, Describe: m.ImageIn, Now: m.Now},
	}
}

// ranged selects ranges of the entity, or entities, with these key values.
func ranged(m *model.Model, id string, ranges ...selection.Range) selection.Selection {
	sel := m.Select([]any{id})
	pk := sel.Parts[0].PK
	sel.Whole, sel.Parts = false, nil
	for _, r := range ranges {
		sel.Parts = append(sel.Parts, selection.Part{PK: pk, Range: r})
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

// A query is of elements of one type, or of the entities of a flat model; a selection that
// holds anything else is refused with what to do.
func TestCheck(t *testing.T) {
	shops, topics := Of[Shop](t), Of[Topic](t)
	filter := []condition.Condition{condition.Raw(exp.Name("x").Equal(exp.Value(1)))}
	all := selection.Range{Kind: selection.All}
	none := selection.Range{Kind: selection.None}
	for _, c := range []struct {
		name string
		m    *model.Model
		r    search.Request
		err  string
	}{
		{"elements", shops, lines(shops), ""},
		{"one element", shops, search.Request{Selection: ranged(shops, "1", selection.Range{Kind: selection.One, Low: Text("LINE#a")}), Elem: lineType}, ""},
		{"a range in them", shops, search.Request{Selection: ranged(shops, "1", selection.Range{Kind: selection.Between, Low: Text("LINE#a"), High: Text("LINE#c")}), Elem: lineType}, ""},
		{"an empty range", shops, search.Request{Selection: ranged(shops, "1", none), Elem: lineType}, ""},
		{"all of an entity", shops, search.Request{Selection: ranged(shops, "1", all), Elem: lineType}, ", which is no testmodel.Line: narrow it with Prefix"},
		{"elements of another type", shops, search.Request{Selection: ranged(shops, "1", prefix("NOTE#")), Elem: lineType}, "the selection also holds Notes, which is no testmodel.Line: narrow it with Prefix"},
		{"nothing that the model knows", shops, search.Request{Selection: ranged(shops, "1", prefix("X#")), Elem: lineType}, "the selection holds no elements of the type testmodel.Line"},
		{"entities that are not flat", shops, search.Request{Selection: ranged(shops, "1", all), Elem: reflect.TypeFor[Shop]()}, "a query over the model itself needs a flat model"},
		{"entities", topics, search.Request{Selection: topics.Select([]any{"b"}), Elem: topicType}, ""},
		{"entities by a prefix", topics, search.Request{Selection: ranged(topics, "b", prefix("T#a")), Elem: topicType}, ""},
		{"entities, filtered", topics, search.Request{Selection: topics.Select([]any{"b"}), Elem: topicType, Filter: filter}, "a filter looks at the single item, and an entity has several"},
		{"entities without their roots", topics, search.Request{Selection: ranged(topics, "b", prefix("U#")), Elem: topicType}, "the root, without which no entity is found: select more"},
		{"a wrong key", shops, search.Request{Selection: shops.Select(nil), Elem: lineType}, "Key got 0 values"},
		{"after a cursor, in two ranges", shops, search.Request{Selection: ranged(shops, "1", prefix("LINE#a"), prefix("LINE#b")), Elem: lineType, After: "x"}, "After needs a query of one range, and this one has 2: use All"},
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
	filter := []condition.Condition{condition.Raw(exp.Name("x").Equal(exp.Value(1)))}
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

// A projection reads what tells that an element is there, and whose, beside what was asked
// for.
func TestProjection(t *testing.T) {
	m := Of[Shop](t)
	for _, c := range []struct {
		r    func(r *search.Request)
		want string
	}{
		{func(r *search.Request) { r.Projection = []search.Projected{{Field: "Text", Attribute: "Text"}} }, "Text, PK, SK, _a, _s"},
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

// Elements are yielded in the order of their keys, without what is not there.
func TestElements(t *testing.T) {
	m := Of[Shop](t)
	root := Item("SHOP#1", "HEAD", item.Attributes{"_a": item.Liveness{Attempt: B("x"), Since: Now}.Assign().Value})
	c := &Client{Answers: []Answer{
		Page("LINE#c", line("a", nil), line("b", item.Attributes{"_a": B("old")}), line("c", item.Attributes{"Text": S("t")})),
		Stored(root), Page("", line("d", item.Attributes{"_a": B("x")})),
	}}
	var u read.Usage
	x, err := engine(m, c).New(lines(m), &u)
	if err != nil {
		t.Fatal(err)
	}
	var hits []search.Hit
	if err := x.Hits(context.Background(), func(h search.Hit) bool { hits = append(hits, h); return true }); err != nil {
		t.Fatal(err)
	}
	if got := show(hits); got != "a c d" || hits[1].Value.(*Line).Text != "t" || hits[1].At.SK.Text != "LINE#c" || u.Requests != 3 {
		t.Errorf("%s with %d requests", got, u.Requests)
	}
}

// Elements of a root that went live just now may have been read before: they are read
// again, strongly, unless some were yielded.
func TestElementsReadAgain(t *testing.T) {
	m := Of[Shop](t)
	root := Item("SHOP#1", "HEAD", item.Attributes{"_a": item.Liveness{Attempt: B("x"), Since: Now}.Assign().Value})
	staged := item.Attributes{"_a": B("x")}
	c := &Client{Answers: []Answer{Page("", line("b", staged)), Stored(root), Page("", line("a", staged), line("b", staged))}}
	x, err := engine(m, c).New(lines(m), &read.Usage{})
	if err != nil {
		t.Fatal(err)
	}
	var hits []search.Hit
	if err := x.Hits(context.Background(), func(h search.Hit) bool { hits = append(hits, h); return true }); err != nil {
		t.Fatal(err)
	}
	if got := show(hits); got != "a b" || strings.Join(c.Names(), " ") != "Query GetItem HEAD Query" || !*c.Calls()[2].Input.(*dynamodb.QueryInput).ConsistentRead {
		t.Errorf("%s after %v", got, c.Names())
	}
}

func topic(name string, more item.Attributes) item.Attributes {
	return Item("BOARD#b", "T#"+name, more)
}

// Entities of a flat model are yielded whole, in the order of their keys, also where
// others' keys sort between a root and its elements; one without a root is none.
func TestEntities(t *testing.T) {
	m := Of[Topic](t)
	// "T#a!" sorts between the root "T#a" and its element "T#a#001".
	c := &Client{Answers: []Answer{
		Page("T#a#001", topic("a", nil), topic("a!", nil), topic("a!#001", nil), topic("a#001", nil)),
		Page("", topic("a#002", nil), topic("b#001", nil), topic("c", item.Attributes{"_s": item.NewStage(item.Inserting, Now).Value()}), topic("d", nil), Item("BOARD#b", "X", nil)),
	}}
	x, err := engine(m, c).New(search.Request{Selection: m.Select([]any{"b"}), Elem: topicType}, &read.Usage{})
	if err != nil {
		t.Fatal(err)
	}
	var hits []search.Hit
	if err := x.Hits(context.Background(), func(h search.Hit) bool { hits = append(hits, h); return true }); err != nil {
		t.Fatal(err)
	}
	if got := show(hits); got != "a++ a!+ d" {
		t.Error(got)
	}
}

// A page ends at its limit, or where an answer does, and its cursor goes on behind it; the
// last has none.
func TestPage(t *testing.T) {
	m := Of[Shop](t)
	for _, c := range []struct {
		name   string
		limit  int
		answer []Answer
		hits   string
		next   string // where the cursor goes on, "" for none
	}{
		{"the end", 0, []Answer{Page("", line("a", nil), line("b", nil))}, "a b", ""},
		{"an answer's end", 0, []Answer{Page("LINE#b", line("a", nil), line("b", nil))}, "a b", "LINE#b"},
		{"an answer of nothing", 0, []Answer{Page("LINE#b")}, "", "LINE#b"},
		{"the limit", 2, []Answer{Page("LINE#b", line("a", nil), line("b", nil))}, "a b", "LINE#b"},
		{"less than the limit", 3, []Answer{Page("", line("a", nil))}, "a", ""},
		{"several answers until the limit", 2, []Answer{Page("LINE#b", line("a", nil)), Page("LINE#d", line("c", nil))}, "a c", "LINE#c"},
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

// A page of entities goes on behind its last, and passes over what it meets again.
func TestPageOfEntities(t *testing.T) {
	m := Of[Topic](t)
	r := search.Request{Selection: m.Select([]any{"b"}), Elem: topicType, Limit: 1}
	all := []item.Attributes{topic("a", nil), topic("a!", nil), topic("a!#001", nil), topic("a#001", nil), topic("b", nil)}
	var got []string
	for range 4 {
		client := &Client{Answers: []Answer{Page("", all...)}}
		if r.After != "" { // what comes behind the start
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

// A cursor is one of its query, partition and key alone: changed or moved elsewhere it is
// refused, so that nobody reads by it what he may not.
func TestCursors(t *testing.T) {
	m := Of[Shop](t)
	filter := func(n int) []condition.Condition {
		return []condition.Condition{condition.Raw(exp.Name("Count").Equal(exp.Value(n)))}
	}
	base := func() search.Request {
		r := lines(m)
		r.Filter, r.Projection = filter(1), []search.Projected{{Field: "Text", Attribute: "Text"}}
		return r
	}
	x, err := engine(m, &Client{Answers: []Answer{Page("LINE#b", line("a", nil))}}).New(base(), &read.Usage{})
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
		"another partition": func(_ *search.Engine, r *search.Request) { r.Selection = ranged(m, "2", prefix("LINE#")) },
		"another range":     func(_ *search.Engine, r *search.Request) { r.Selection = ranged(m, "1", prefix("LINE#a")) },
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

// Loading leaves out what is stored and not there, counts what matches nothing, and does
// not find an entity whose root is not live.
func TestLoad(t *testing.T) {
	m := Of[Session](t)
	sel := m.Select([]any{"1"})
	head := Item("1", "HEAD", item.Attributes{"User": S("u"), "_v": B("v")})
	images := Images(t, m, head, Item("1", "STEP#001", item.Attributes{"_v": B("v")}), Item("1", "STEP#002", item.Attributes{"expires": N("5"), "_v": B("v")}), Item("1", "OTHER", nil))
	e := engine(m, &Client{})
	var v Session
	s, err := e.Load(context.Background(), sel, images, &v, &write.Tally{})
	if err != nil || v.ID != "1" || v.User != "u" || len(v.Steps) != 1 || s.Unknown != 1 || len(s.Hidden) != 1 {
		t.Errorf("%+v of %+v: %v", v, s, err)
	}
	for name, c := range map[string]struct {
		more item.Attributes
		want string
	}{
		"expired":  {item.Attributes{"expires": N("5")}, "its time to live is over"},
		"a claim":  {item.Attributes{"_s": item.NewStage(item.Inserting, Now).Value()}, "an insert that began at"},
		"a delete": {item.Attributes{"_s": item.NewStage(item.Deleting, Now).Value()}, "a delete that began at"},
	} {
		_, err := e.Load(context.Background(), sel, Images(t, m, Item("1", "HEAD", c.more)), new(Session), &write.Tally{})
		var missing *search.NotFound
		if !errors.As(err, &missing) || !strings.HasPrefix(missing.Pending, c.want) || missing.Name != `ID "1"` {
			t.Errorf("%s: %v", name, err)
		}
	}
	var missing *search.NotFound
	if _, err := e.Load(context.Background(), sel, nil, new(Session), &write.Tally{}); !errors.As(err, &missing) || missing.Pending != "" {
		t.Errorf("nothing: %v", err)
	}
	steps := ranged(m, "1", prefix("STEP#"))
	if _, err := e.Load(context.Background(), steps, nil, new(Session), &write.Tally{}); err != nil {
		t.Errorf("a part of nothing: %v", err)
	}
}
