package staging_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/read/selection"
	"github.com/itemize/itemize/internal/save/staging"
	"github.com/itemize/itemize/internal/save/write"
	. "github.com/itemize/itemize/internal/testing/fakedynamo"
)

// stages are the signs between an item's name and its incarnation. A root that was staged is
// live since just now, or with "!" behind its incarnation for an hour.
var stages = map[string]func(since time.Time) item.Assignment{
	"=": func(since time.Time) item.Assignment {
		return item.Reserved{}.AssignStage(item.NewStage(item.Live, since))
	},
	"*": func(since time.Time) item.Assignment {
		return item.Reserved{}.AssignStage(item.NewStage(item.Inserting, since))
	},
	"-": func(since time.Time) item.Assignment {
		return item.Reserved{}.AssignStage(item.NewStage(item.Deleting, since))
	},
	"~": func(time.Time) item.Assignment { return item.Reserved{}.MarkStaged() },
}

// parse returns the items of a text. A root is "HEAD" without incarnation, "HEAD:x" if it was not
// staged, "HEAD=x" if it has just gone live, "HEAD=x!" if it went live an hour ago. It is "HEAD*x" if
// it is a claim, and "HEAD-x" if it is being deleted. A part is "a" without incarnation, "a~x" if the
// staged insert of x has put it, and "a:x" otherwise.
func parse(text string) []item.Attributes {
	var out []item.Attributes
	for word := range strings.FieldsSeq(text) {
		name, of := word, ""
		more := item.Attributes{}
		if i := strings.IndexAny(word, ":=*-~"); i > 0 {
			since := Now
			name, of = word[:i], word[i+1:]
			if long, ok := strings.CutSuffix(of, "!"); ok {
				of, since = long, Now.Add(-time.Hour)
			}
			if stage := stages[word[i:i+1]]; stage != nil {
				stage(since).Into(more)
			}
			if of != "" {
				item.Reserved{}.AssignIncarnation(B(of)).Into(more)
			}
		}
		if name != "HEAD" && name != "ADDRESS" {
			name = "LINE#" + name
		}
		out = append(out, stored(name, more))
	}
	return out
}

// answers returns the answers to reads from a text with ";" between them. "q" is a query and "r" a read
// of the root, in upper case if strongly consistent. The items follow, and "/" at the end says that the
// range continues.
func answers(text string) (all []Answer, reads string) {
	for part := range strings.SplitSeq(text, ";") {
		kind, items, _ := strings.Cut(strings.TrimSpace(part), " ")
		reads += kind
		items, more := strings.CutSuffix(strings.TrimSpace(items), "/")
		found := parse(items)
		switch {
		case kind == "":
		case strings.ToLower(kind) == "r":
			found = append(found, nil)
			all = append(all, Stored(found[0]))
		case more:
			all = append(all, Page("LINE#"+fmt.Sprint(len(all)), found...))
		default:
			all = append(all, Page("", found...))
		}
	}
	return all, reads
}

// there lists the items that are joined, the root first.
func there(r *staging.Reading) string {
	var names []string
	for i := range r.Items {
		if f := &r.Items[i]; r.Joined(f) {
			names = append(names, strings.TrimPrefix(f.SK.Text, "LINE#"))
		}
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// linesOf is the selection of a shop's lines, withRoot of its root as well, in a range of
// its own.
func linesOf(t *testing.T, m *model.Model, withRoot bool) *staging.Entity {
	t.Helper()
	sel := m.Select([]any{"1"})
	pk := sel.Parts[0].PK
	sel.Whole, sel.Parts = false,
		[]selection.Part{{Partition: In(pk), Range: selection.Range{Kind: selection.Prefix, Low: Text("LINE#")}}}
	if withRoot {
		sel.Parts = append(
			[]selection.Part{{Partition: In(pk), Range: selection.Range{Kind: selection.One, Low: Text("HEAD")}}},
			sel.Parts...,
		)
	}
	return entityOf(t, m, sel)
}

// The items that exist, by their incarnations and the root's, and the reads that are needed to find
// out. An entity appears and disappears as a whole.
func TestRead(t *testing.T) {
	m := Of[Shop](t)
	whole, lines, split := entity(t, m, "1"), linesOf(t, m, false), linesOf(t, m, true)
	last := entity(t, m, "1")
	last.RootLast = true
	for _, c := range []struct {
		name   string
		e      *staging.Entity
		strong bool
		reads  string
		want   string // the items that exist
	}{
		// One page with the root costs one request.
		{"nothing staged", whole, false, "q HEAD a b", "HEAD a b"},
		{"nothing there", whole, false, "q", ""},
		{"live for long", whole, false, "q HEAD=x! a~x b:x c", "HEAD a b c"},
		{"live, not staged", whole, false, "q HEAD:x a:x b", "HEAD a b"},
		{"left over by another", whole, false, "q HEAD:x a:x b:y c~y", "HEAD a"},
		{"marked as staged, of no incarnation", whole, false, "q HEAD:x a:x b~", "HEAD a b"},
		{"left over, and a root without incarnation", whole, false, "q HEAD a b:y", "HEAD a"},

		// Nothing of an incarnation joins an entity that is not live.
		{"a claim", whole, false, "q HEAD*x a~x", ""},
		{"a delete", whole, false, "q HEAD-x a:x b", ""},
		{"no root", whole, false, "q a~x b:x c", "c"},

		// A young root may be younger than the items that were read before it.
		{"live just now", whole, false, "q HEAD=x a~x; Q HEAD=x a~x b~x; R HEAD=x", "HEAD a b"},
		{"live just now, read strongly", whole, true, "Q HEAD=x a~x; Q HEAD=x a~x b~x; R HEAD=x", "HEAD a b"},
		{"live just now, and deleted", whole, false, "q HEAD=x a~x; Q HEAD-x a~x", ""},
		{"live just now, and deleted at the end", whole, false, "q HEAD=x a~x; Q HEAD=x a~x; R HEAD-x", ""},
		{
			"inserted again while it was read again", whole, false,
			"q HEAD=x a~x; Q HEAD=y a~y; R HEAD=y; Q HEAD=z a~z; R HEAD=z; Q HEAD=z a~z b~z; R HEAD=z", "HEAD a b",
		},

		// Of several pages, the parts are those of one incarnation if the root is the same
		// before and after.
		{"two pages", whole, false, "q HEAD:x a:x /; q b:x; R HEAD:x", "HEAD a b"},
		{"two pages, read strongly", whole, true, "Q HEAD:x a:x /; Q b:x; R HEAD:x", "HEAD a b"},
		{
			"two pages, inserted again between", whole, false,
			"q HEAD:x a:x /; q b:y; R HEAD:y; Q HEAD:y a:y /; Q b:y; R HEAD:y", "HEAD a b",
		},
		{
			"two pages, its root lost its incarnation between", whole, false,
			"q HEAD:x a:x /; q b; R HEAD; Q HEAD a /; Q b; R HEAD", "HEAD a b",
		},
		{"two pages, being deleted since", whole, false, "q HEAD:x a:x /; q; R HEAD-x", ""},
		{"two pages, deleted since", whole, false, "q HEAD:x a:x /; q b; R", "b"},
		{
			"two pages, the root in the second", whole, false,
			"q ADDRESS:x /; R HEAD:x; q ADDRESS:x /; q HEAD:x a:x; R HEAD:x", "ADDRESS HEAD a",
		},
		{
			"two pages, the root in the second, inserted between", whole, false,
			"q ADDRESS:y /; R HEAD:x; q ADDRESS:x /; q HEAD:x a:x; R HEAD:x", "ADDRESS HEAD a",
		},
		{"two pages, the root in the second, and not there", whole, false, "q ADDRESS:x /; R", ""},
		{
			"two pages, the root in the second, live just now", whole, false,
			"q ADDRESS~x /; R HEAD=x; Q ADDRESS~x /; Q HEAD=x", "ADDRESS HEAD",
		},
		{
			"two pages, the root in the second, inserted again", whole, false,
			"q ADDRESS:x /; R HEAD:x; q ADDRESS:y /; q HEAD:y; R HEAD:y; Q ADDRESS:y /; Q HEAD:y", "ADDRESS HEAD",
		},

		// Items that were read strongly consistent and last are not read again.
		{
			"the root last, read strongly", whole, true, "Q ADDRESS:x /; R HEAD:x; Q ADDRESS:x /; Q HEAD:x",
			"ADDRESS HEAD",
		},
		{"the root last, with an empty page behind it", whole, true, "Q HEAD:x /; Q; R HEAD:x", "HEAD"},
		{
			"the root last, not read strongly", whole, false,
			"q ADDRESS:x /; R HEAD:x; q ADDRESS:x /; q HEAD:x; R HEAD:x",
			"ADDRESS HEAD",
		},
		{"the root in a range of its own", split, false, "q a:x; r HEAD:x", "HEAD a"},
		{"the root in a range of its own, live just now", split, false, "q; r HEAD=x; Q a~x; R HEAD=x", "HEAD a"},
		{
			"the root in a range of its own, of several pages", split, true,
			"Q a:x /; Q b:x; R HEAD:x; Q a:x /; Q b:x; R HEAD:x", "HEAD a b",
		},

		// A root that sorts last is read first.
		{"a root that sorts last", last, false, "q HEAD:x b:x a:x", "HEAD a b"},
		{"a root that sorts last, two pages", last, false, "q HEAD:x b:x /; q a:x; R HEAD:x", "HEAD a b"},

		// Without the root nothing is asked, unless the items do not all look alike.
		{"a part", lines, false, "q a:x b:x c", "a b c"},
		{"a part, several pages", lines, false, "q a:x /; q b:x", "a b"},
		{"a part, staged, live for long", lines, false, "q a~x b:x; R HEAD=x!", "a b"},
		{"a part, staged, live just now", lines, false, "q a~x; R HEAD=x; Q a~x b~x; R HEAD=x", "a b"},
		{"a part, mixed, live for long", lines, false, "q a:x b:y; R HEAD=x!", "a"},
		{"a part, mixed, not staged", lines, false, "q a:x b:y; R HEAD:y; Q b:y c:y; R HEAD:y", "b c"},
		{"a part, of a claim", lines, false, "q a~x c; R HEAD*x", ""},
		{"a part, of a delete", lines, false, "q a~x c; R HEAD-x", ""},
		{"a part, of nothing", lines, false, "q a~x c; R", "c"},
		{"a part, deleted while it was read again", lines, false, "q a~x; R HEAD=x; Q a~x c; R", "c"},
		{
			"a part, inserted again while it was read again", lines, false,
			"q a~x; R HEAD=x; Q b~y; R HEAD=y; Q b~y c~y; R HEAD=y", "b c",
		},
	} {
		script, reads := answers(c.reads)
		client := &Client{Answers: script}
		var tally write.Tally
		r, err := protocol(m, client).Read(context.Background(), c.e, read.Options{Strong: c.strong}, &tally)
		if err != nil {
			t.Errorf("%s: %v after %s", c.name, err, client.Reads())
			continue
		}
		if got := there(r); got != c.want || client.Reads() != reads || tally.Requests != len(reads) {
			t.Errorf("%s: %q, with the reads %s, want %s; counted %d", c.name, got, client.Reads(), reads,
				tally.Requests)
		}
		for _, call := range client.Calls() {
			if in, ok := call.Input.(*dynamodb.QueryInput); ok && c.e.RootLast == (in.ScanIndexForward == nil) {
				t.Errorf("%s: read forward: %v", c.name, in.ScanIndexForward == nil)
			}
		}
	}
}

// Items of an entity that were found among others' are judged as if they had been read for
// it: the answers that they came with count as pages.
func TestAmong(t *testing.T) {
	m := Of[Shop](t)
	for _, c := range []struct {
		name  string
		found string // "/" where the next answer begins
		reads string
		want  string
	}{
		{"one answer", "HEAD:x a:x b:y", "", "HEAD a"},
		{"one answer, behind another entity's", "/ HEAD:x a:x b:y", "", "HEAD a"},
		{"live just now", "HEAD=x a~x", "Q HEAD=x a~x b~x; R HEAD=x", "HEAD a b"},
		{"two answers", "HEAD:x a:x / b:x", "R HEAD:x", "HEAD a b"},
		{"two answers, inserted again between", "HEAD:x a:x / b:y", "R HEAD:y; Q HEAD:y b:y; R HEAD:y", "HEAD b"},
		{"two answers, the root with the second", "a:y / HEAD:x b:x", "R HEAD:x; Q HEAD:x b:x; R HEAD:x", "HEAD b"},
		{"no root", "a:x b", "", "b"},
	} {
		var found []item.Image
		for i, text := range strings.Split(c.found, "/") {
			for _, f := range Images(t, m, parse(text)...) {
				f.Answer = i + 1
				found = append(found, f)
			}
		}
		script, reads := answers(c.reads)
		client := &Client{Answers: script}
		r, err := protocol(m, client).Among(context.Background(), entity(t, m, "1"), found, staging.How{},
			&write.Tally{})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := there(r); got != c.want || client.Reads() != reads {
			t.Errorf("%s: %q, with the reads %s, want %s", c.name, got, client.Reads(), reads)
		}
	}
}

// A load that meets a new entity each time it looks gives up and says so.
func TestReadGivesUp(t *testing.T) {
	m := Of[Shop](t)
	var text []string
	for _, x := range "abcdefghijk" {
		text = append(text, fmt.Sprintf("q HEAD=%c a; R HEAD=%c", x, x))
	}
	script, _ := answers("q HEAD=0 a; " + strings.Join(text, "; "))
	client := &Client{Answers: script}
	e := entity(t, m, "1")
	_, err := protocol(m, client).Read(context.Background(), e, read.Options{}, &write.Tally{})
	if err == nil || err.Error() != `fakedynamo.Shop: ID "1" was inserted and deleted several times during the `+
		`read: load it again` {
		t.Errorf("%v after %s", err, client.Reads())
	}
}

// A reading fails as the reads do: no answer is taken for an answer of nothing.
func TestReadFails(t *testing.T) {
	m := Of[Shop](t)
	denied := Failed("AccessDeniedException")
	for _, c := range []struct {
		e     *staging.Entity
		reads string
	}{
		{entity(t, m, "1"), ""},
		{entity(t, m, "1"), "q HEAD=x"},
		{entity(t, m, "1"), "q HEAD=x a; Q HEAD=x a"},
		{linesOf(t, m, false), "q a~x"},
	} {
		script, _ := answers(c.reads)
		client := &Client{Answers: append(script, denied)}
		if r, err := protocol(m, client).Read(context.Background(), c.e, read.Options{}, &write.Tally{}); err == nil ||
			client.Left() > 0 {
			t.Errorf("%s: %+v", c.reads, r)
		}
	}
}

// A root is young if it went live less than 30 minutes before a reading began, or after; one
// that was not staged is not.
func TestRecentlyLive(t *testing.T) {
	for since, want := range map[time.Time]bool{
		{}:                           false,
		Now.Add(time.Minute):         true,
		Now:                          true,
		Now.Add(-30*time.Minute + 1): true,
		Now.Add(-30 * time.Minute):   false,
		Now.Add(-1000 * time.Hour):   false,
	} {
		if got := staging.RecentlyLive(since, Now); got != want {
			t.Errorf("live since %v: %v", since, got)
		}
	}
}

// A delete finds all items, of any incarnation. If items have no root item of their incarnation, the
// root is read after them: they may belong to an entity that was inserted in the meantime.
func TestRemains(t *testing.T) {
	m := Of[Shop](t)
	for _, c := range []struct {
		name  string
		e     *staging.Entity
		reads string
		want  int
	}{
		{"all of it", entity(t, m, "1"), "Q HEAD:x a:x b:y c; R HEAD:x", 4},
		{"of one entity", entity(t, m, "1"), "Q HEAD:x a:x c", 3},
		{"unfinished", entity(t, m, "1"), "Q HEAD*x a~x", 2},
		{"nothing", entity(t, m, "1"), "Q", 0},
		{"left over, on one page", entity(t, m, "1"), "Q a:x b:y; R", 2},
		{"inserted during one page", entity(t, m, "1"), "Q a:z; R HEAD:z; Q HEAD:z a:z", 2},
		{"replaced during one page", entity(t, m, "1"), "Q HEAD:x a:z; R HEAD:z; Q HEAD:z a:z", 2},
		{"deleted during one page", entity(t, m, "1"), "Q HEAD:x a:y; R; Q a:y; R", 1},
		{"with the root, on two pages", entity(t, m, "1"), "Q HEAD:x /; Q a:x", 2},
		{"left over, on two pages", entity(t, m, "1"), "Q a:x /; Q b:y; R", 2},
		{"inserted meanwhile", entity(t, m, "1"), "Q a:x /; Q b:y; R HEAD:z; Q HEAD:z a:z /; Q b:z", 3},
		{"in two ranges", linesOf(t, m, true), "Q a:x; R HEAD:x", 2},
		{"in two ranges, left over", linesOf(t, m, true), "Q a:x; R; R", 1},
		{"without the root", linesOf(t, m, false), "Q a:x /; Q b:x", 2},
	} {
		script, reads := answers(c.reads)
		client := &Client{Answers: script}
		var tally write.Tally
		found, err := protocol(m, client).Remains(context.Background(), c.e, &tally)
		if err != nil || len(found) != c.want || client.Reads() != reads || tally.Requests != len(reads) {
			t.Errorf("%s: %d items, with the reads %s, want %s, counted %d: %v", c.name, len(found), client.Reads(),
				reads, tally.Requests, err)
		}
	}
	script, _ := answers(strings.Repeat("Q a:x /; Q b:y; R HEAD:z; ", 10))
	_, err := protocol(m, &Client{Answers: script}).Remains(context.Background(), entity(t, m, "1"), &write.Tally{})
	if err == nil || err.Error() != `fakedynamo.Shop: ID "1" was inserted and deleted several times during the `+
		`read: delete it again` {
		t.Error(err)
	}
}

// Items that block new ones may be replaced, by their exact version, if they are of another incarnation
// than the root's and the root is read after them. The entity's own items may not be replaced. A writer
// that does not belong to the live entity may replace none, unless the same transaction takes over its
// root.
func TestDead(t *testing.T) {
	m := Of[Shop](t)
	for _, c := range []struct {
		name string
		// put are the new items with their incarnation, and a root among them with the item that it
		// takes over after "<". found are the blocking items, "_" for none. root is the root that is
		// then read, "?" if it must not be read.
		put, found, root string
		want             string
	}{
		{"of another", "a:x", "a:y", "HEAD:x", "a"},
		{"staged by another", "a:x", "a~y", "HEAD=x", "a"},
		{"several, one read", "a:x b:x c:x d:x", "a:y b:z c _", "HEAD:x", "a b"},
		{"of no incarnation", "a:x", "a", "?", ""},
		{"the own", "a:x", "a:x", "?", ""},
		{"nothing in the way", "a:x", "_", "?", ""},
		{"the root itself", "HEAD:x", "HEAD:y", "?", ""},
		{"found before", "e:x", "e:y", "?", ""},
		{"not new", "u:x", "u:y", "?", ""},

		{"the live entity's, of which the new is not", "a:x", "a:y", "HEAD:y", ""},
		{"of a third, while another is live", "a:x", "a:z", "HEAD:y", ""},
		{"the entity is gone", "a:x", "a:y", "", ""},
		{"the entity is being deleted", "a:x", "a:y", "HEAD-x", ""},

		{"in the way of an entity without incarnation", "a", "a:y", "HEAD", "a"},
		{"in the way of one without incarnation that has become another", "a", "a:y", "HEAD:z", ""},
		{"in the way of one without incarnation that is gone", "a", "a:y", "", ""},

		{"in the way of an insert, and no root", "HEAD:x a:x", "_ a:y", "", "a"},
		{"in the way of an insert, and another's root", "HEAD:x a:x", "_ a:y", "HEAD:z", "a"},
		{"in the way of an insert, and of the live entity", "HEAD:x a:x", "_ a:y", "HEAD:y", ""},
		{"in the way of an insert, and of a claim that still exists", "HEAD:x a:x", "_ a~y", "HEAD*y", ""},
		{"in the way of an insert that takes the claim over", "HEAD:x<HEAD*y a:x", "_ a~y", "HEAD*y", "a"},
		{"in the way of an insert that takes another claim over", "HEAD:x<HEAD*z a:x", "_ a~y", "HEAD*y", ""},
		{"in the way of an insert that takes over what went live", "HEAD:x<HEAD*y a:x", "_ a~y", "HEAD=y", ""},
	} {
		o := &write.Outcome{State: write.Rejected}
		for word := range strings.FieldsSeq(c.put) {
			word, over, taking := strings.Cut(word, "<")
			a := parse(word)[0]
			sk := a["SK"]
			r := &write.Request{
				Kind: write.Put, Place: Images(t, m, a)[0].Place, Reserved: m.Reserved,
				New: word[0] != 'u', Put: a, Root: Show(sk) == "'HEAD'",
			}
			if taking {
				found := parse(over)[0]
				found["_v"] = B("v-" + over)
				r.Expect.Instead = m.Reserved.HiddenOf(found)
			}
			o.Requests = append(o.Requests, r)
		}
		for word := range strings.FieldsSeq(c.found) {
			if word == "_" {
				o.Stored = append(o.Stored, nil)
			} else {
				o.Stored = append(o.Stored, parse(word)[0])
			}
		}
		client := &Client{}
		if c.root != "?" {
			root := append(parse(c.root), nil)[0]
			if root != nil {
				root["_v"] = B("v-" + c.root)
			}
			client.Answers = []Answer{Stored(root)}
		}
		hidden := func(p item.Place) *item.Hidden {
			if p.SK.Text == "LINE#e" {
				return m.Reserved.HiddenOf(parse("e:y")[0])
			}
			return nil
		}
		dead, err := protocol(m, client).Dead(context.Background(), entity(t, m, "1"), o, hidden, &write.Tally{})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var names []string
		for i, h := range dead {
			sk := o.Requests[i].SK.Text
			names = append(names, strings.TrimPrefix(sk, "LINE#"))
			if want := "b'v-" + sk + "'"; Show(h.Header.Version) != want {
				t.Errorf("%s: %s is replaced on the version %s", c.name, sk, Show(h.Header.Version))
			}
		}
		slices.Sort(names)
		want := "R"
		if c.root == "?" {
			want = ""
		}
		if got := strings.Join(names, " "); got != c.want || client.Reads() != want {
			t.Errorf("%s: %q, with the reads %q", c.name, got, client.Reads())
		}
	}
}

// A root whose time to live is over is not live, and its items are not dead: it may be given
// more time.
func TestExpiredRoot(t *testing.T) {
	m := Of[Session](t)
	root := func(more item.Attributes) *item.Image {
		return &Images(t, m, Item("1", "HEAD", more))[0]
	}
	live, expired := root(item.Attributes{"_a": B("x")}), root(item.Attributes{"_a": B("x"), "expires": N("5")})
	part := Images(t, m, Item("1", "STEP#001", item.Attributes{"_a": B("x")}))[0]
	for _, c := range []struct {
		root *item.Image
		want bool
	}{{live, true}, {expired, false}, {nil, false}} {
		r := staging.Reading{Root: c.root, Asked: true}
		if r.Live() != c.want || r.Joined(&part) != c.want || staging.Holds(c.root, B("x")) != (c.root != nil) {
			t.Errorf("%+v: live %v, joined %v", c.root, r.Live(), r.Joined(&part))
		}
	}
	if staging.Holds(live, B("y")) || staging.Holds(live, nil) {
		t.Error("a root holds what is not of its incarnation")
	}
}
