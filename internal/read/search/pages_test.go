package search_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	exp "github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/expr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/read/search"
	"github.com/itemize/itemize/internal/read/selection"
	. "github.com/itemize/itemize/internal/testing/fakedynamo"
)

// A page that has to be read again begins where its cursor says, and yields nothing twice.
func TestPageIsReread(t *testing.T) {
	m := Of[Shop](t)
	r := lines(m)
	r.Limit = 2
	x, _ := open(t, m, r, Page("LINE#b", line("a", of("x")), line("b", of("x"))))
	var err error
	if _, r.After, err = x.Page(context.Background()); err != nil || r.After == "" {
		t.Fatalf("%q: %v", r.After, err)
	}
	x, client := open(t, m, r, Page("LINE#c", line("c", of("x"))), head(live("x", true)),
		Page("LINE#c", line("c", of("x"))), Page("", line("d", marked("x"))), head(live("x", true)))
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
	x, _ := open(t, m, lines(m), Page("LINE#b", line("a", marked("x")), line("b", marked("x"))),
		head(live("x", true)), Page("LINE#b", line("b", marked("x"))), Stored(nil))
	if hits, _, err := x.Page(context.Background()); err == nil || !strings.Contains(err.Error(), "query again") {
		t.Errorf("%s: %v", show(hits), err)
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
		x, client := open(t, m, r, c.answer...)
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
		answer := Page("", all...)
		if r.After != "" { // items after the start
			x, _ := open(t, m, r)
			var rest []item.Attributes
			for _, a := range all {
				if a["SK"].(*types.AttributeValueMemberS).Value > x.Options().Start.Text {
					rest = append(rest, a)
				}
			}
			answer = Page("", rest...)
		}
		x, _ := open(t, m, r, answer)
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
	x, _ := open(t, m, base(), Page("LINE#b", line("a", nil)), head(nil))
	_, cursor, err := x.Page(context.Background())
	if err != nil || cursor == "" {
		t.Fatalf("%q %v", cursor, err)
	}
	begin := func(e *search.Engine, r search.Request) error {
		_, err := e.New(r, &read.Usage{})
		return err
	}
	same := base()
	same.After, same.Limit, same.Strong = cursor, 7, true
	if err := begin(engine(m, &Client{}), same); err != nil {
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
		if err := begin(e, r); !errors.Is(err, search.ErrCursor) {
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
		if err := begin(engine(m, &Client{}), r); !errors.Is(err, search.ErrCursor) {
			t.Errorf("with the character %d changed: %v", i, err)
		}
	}
}

// A cursor does not reveal the keys in it, and two cursors of one position differ.
func TestCursorShowsNoKeys(t *testing.T) {
	m := Of[Shop](t)
	seen := map[string]bool{}
	for range 3 {
		x, _ := open(t, m, lines(m), Page("LINE#ann@example.com", line("a", nil)), head(nil))
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
