package search_test

import (
	"context"
	"reflect"
	"strings"
	"testing"

	exp "github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/expr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/read/search"
	"github.com/itemize/itemize/internal/read/selection"
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

// open begins a search of a request. Its client has the answers.
func open(t *testing.T, m *model.Model, r search.Request, answers ...Answer) (*search.Search, *Client) {
	t.Helper()
	client := &Client{Answers: answers}
	x, err := engine(m, client).New(r, &read.Usage{})
	if err != nil {
		t.Fatal(err)
	}
	return x, client
}

// all returns the hits of a search.
func all(x *search.Search) (hits []search.Hit, err error) {
	err = x.Hits(context.Background(), func(h search.Hit) bool { hits = append(hits, h); return true })
	return hits, err
}

// found is a search whose client has answers. reads are the requests that it sends. want are the hits, and after "; " a
// text of the error.
type found struct {
	name        string
	answers     []Answer
	reads, want string
}

func (c found) check(t *testing.T, m *model.Model, r search.Request) {
	t.Helper()
	client := &Client{Answers: c.answers}
	var u read.Usage
	x, err := engine(m, client).New(r, &u)
	if err != nil {
		t.Fatal(err)
	}
	var hits []search.Hit
	err = x.Hits(context.Background(), func(h search.Hit) bool {
		hits = append(hits, h)
		if at := strings.Index(c.reads, "R"); r.Limit == 0 && len(client.Calls()) <= at {
			t.Errorf("%s: yielded before the root was asked", c.name)
		}
		return true
	})
	want, text, fails := strings.Cut(c.want, "; ")
	if fails != (err != nil) || fails && !strings.Contains(err.Error(), text) {
		t.Errorf("%s: %v", c.name, err)
	}
	if got := show(hits); got != want || client.Reads() != c.reads || u.Requests != len(c.reads) {
		t.Errorf("%s: %s, with the reads %s, counted %d: %v", c.name, got, client.Reads(), u.Requests, err)
	}
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
