package staging_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/read/search"
	"github.com/itemize/itemize/internal/read/selection"
	"github.com/itemize/itemize/internal/read/snapshot"
	"github.com/itemize/itemize/internal/save/change"
	"github.com/itemize/itemize/internal/save/staging"
	"github.com/itemize/itemize/internal/save/write"
	. "github.com/itemize/itemize/internal/testing/fakedynamo"
)

// entity returns the entity of a model with that key, as the protocol needs it.
func entity(t *testing.T, m *model.Model, values ...any) *staging.Entity {
	t.Helper()
	return entityOf(t, m, m.Select(values))
}

// entityOf returns that of a selection.
func entityOf(t *testing.T, m *model.Model, sel selection.Selection) *staging.Entity {
	t.Helper()
	e, err := search.EntityOf(m, sel)
	if err != nil {
		t.Fatal(err)
	}
	e.Belongs = func(f *item.Image) bool { return change.Belongs(m, f, sel.Identity, sel.Identity) }
	return e
}

func protocol(m *model.Model, c *Client) *staging.Protocol {
	return &staging.Protocol{
		Reader: &read.Reader{Client: c, Label: m.Label(), TableOf: m.TableOf, Describe: m.Describe},
		Sender: &write.Sender{Client: c, Now: m.Now}, Describe: m.Image, Now: m.Now,
	}
}

// newShop is the entity that the tests insert: the root and the lines a and b.
func newShop() *Shop { return &Shop{ID: "1", Name: "n", Lines: []Line{{SKU: "a"}, {SKU: "b"}}} }

// inserts returns the requests of its insert, of the incarnation x.
func inserts(t *testing.T, m *model.Model) []*write.Request {
	t.Helper()
	v := newShop()
	d, err := change.Of(snapshot.New(m, v), nil, v, change.Options{})
	if err != nil {
		t.Fatal(err)
	}
	requests := change.Requests(d.Changes)
	for _, r := range requests {
		item.Reserved{}.AssignIncarnation(B("x-------")).Into(r.Put)
		if r.Root {
			r.Incarnation = B("x-------")
		}
	}
	return requests
}

// inserting returns the plan of its staged insert.
func inserting(t *testing.T, m *model.Model) *write.Plan {
	t.Helper()
	p, err := write.Arrange(inserts(t, m), nil, write.Choice{Staged: true, Steps: staging.InsertSteps(Now)})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// deleting returns the plan of a staged delete of items.
func deleting(t *testing.T, m *model.Model, items ...item.Attributes) *write.Plan {
	t.Helper()
	del, err := change.NewDeletion(m, m.Select([]any{"1"}), true)
	if err != nil {
		t.Fatal(err)
	}
	root := del.Found(Images(t, m, items...))
	requests := change.Requests(del.All())
	if root == nil {
		requests = append(requests, &del.Absent().Request)
	}
	p, err := write.Arrange(requests, nil, write.Choice{Staged: true, Delete: true, Steps: staging.DeleteSteps(Now)})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// stored is an item as it is stored, with a version that names it.
func stored(sk string, more item.Attributes) item.Attributes {
	a := Item("SHOP#1", sk, more)
	a["_v"] = B("v-" + sk)
	return a
}

// one is the item of a text; see parse.
func one(text string) item.Attributes { return parse(text)[0] }

// An insert's steps are the root as a claim, the parts with a mark, all of one incarnation, and the
// root going live on condition of the claim. The original requests do not change.
func TestInsertSteps(t *testing.T) {
	m := Of[Shop](t)
	requests := inserts(t, m)
	for _, r := range requests {
		r.Prepare()
	}
	steps := staging.InsertSteps(Now)(requests)
	if len(steps) != 3 || len(steps[0].Requests) != 1 || len(steps[1].Requests) != 2 || len(steps[2].Requests) != 1 {
		t.Fatalf("%d steps", len(steps))
	}
	for _, st := range steps {
		if st.How == write.InTransaction {
			t.Error("a step is a transaction")
		}
	}
	claim, live := steps[0].Requests[0], steps[2].Requests[0]
	stage := m.Reserved.Header(claim.Put).ReadStage()
	if stage.State != item.Inserting || !stage.Since.Equal(Now) || Show(claim.Put["_a"]) != "b'x-------'" ||
		!claim.Expect.Absent || claim.Kind != write.Put {
		t.Errorf("the claim: %+v, stage %+v", claim, stage)
	}
	if claim.Incarnation != nil || live.Incarnation == nil {
		t.Errorf("a claim is told by %v, a live root by %v", claim.Incarnation, live.Incarnation)
	}
	for _, r := range append(steps[1].Requests, claim) {
		if r != claim && (Show(r.Put["_a"]) != "b'x-------'" || !attr.Same(r.Put["_s"],
			item.Reserved{}.MarkStaged().Value) ||
			!r.Expect.Absent || r.Root) {
			t.Errorf("the part %s: %+v", r.Place, r)
		}
		if want := attr.ItemSize(r.Put) + m.Reserved.VersionSize(); r.NewSize != want {
			t.Errorf("%s has %d bytes, and is sized as %d", r.Place, want, r.NewSize)
		}
	}
	if live.Kind != write.Update || live.Put != nil || len(live.Set) != 1 || len(live.Remove) != 0 || live.New {
		t.Errorf("going live: %+v", live)
	}
	if s := (item.Header{Stage: live.Set[0].Value}).ReadStage(); s.State != item.Live || !s.Since.Equal(Now) {
		t.Errorf("going live: %+v", s)
	}
	if !attr.Same(live.Expect.Version, claim.Token) || live.Expect.Absent || attr.Same(live.Token, claim.Token) {
		t.Errorf("going live, on condition of %v, with %v; the claim's %v", live.Expect.Version, live.Token,
			claim.Token)
	}
	if final := attr.ItemSize(requests[0].Put) + m.Reserved.VersionSize() + live.Set[0].Size(); live.NewSize != final ||
		live.OldSize != claim.NewSize {
		t.Errorf("the root goes from %d bytes to %d, sized as %d to %d", claim.NewSize, final, live.OldSize,
			live.NewSize)
	}
	for _, r := range requests {
		if r.Put["_s"] != nil {
			t.Errorf("the request of %s has been changed: %v", r.Place, r.Put)
		}
	}
}

// The steps of a delete are the root's mark on condition of the root that was read, the other items,
// and the root on condition of the mark. The mark distinguishes this delete from others and keeps the
// incarnation. The same holds for a root of an unfinished insert or delete.
func TestDeleteSteps(t *testing.T) {
	m := Of[Shop](t)
	for _, text := range []string{"HEAD", "HEAD:x", "HEAD=x", "HEAD*x", "HEAD-x"} {
		head := one(text)
		head["Name"], head["_v"] = S("n"), B("of another length") // than the versions itemize makes
		steps := deleting(t, m, head, one("a:x"), one("b")).Steps
		if len(steps) != 3 || len(steps[1].Requests) != 2 {
			t.Fatalf("%s: %d steps", text, len(steps))
		}
		mark, last := steps[0].Requests[0], steps[2].Requests[0]
		stage := item.Header{Stage: mark.Set[0].Value}.ReadStage()
		if stage.State != item.Deleting || mark.Kind != write.Update ||
			Show(mark.Expect.Version) != "b'of another length'" || mark.Token == nil {
			t.Errorf("%s: the mark: %+v", text, mark)
		}
		if before := m.Reserved.Header(head).ReadStage(); stage.By == nil || attr.Same(stage.By, before.By) {
			t.Errorf("%s: marked by %v, before %v", text, stage.By, before.By)
		}
		if len(mark.Set) != 1 || len(mark.Remove) > 0 {
			t.Errorf("%s: the mark changes more: %+v", text, mark)
		}
		if last.Kind != write.Delete || !attr.Same(last.Expect.Version, mark.Token) || last.OldSize != mark.NewSize ||
			!attr.Same(last.Header.Stage, mark.Set[0].Value) {
			t.Errorf("%s: the root: %+v", text, last)
		}
		head["_s"], head["_v"] = mark.Set[0].Value, mark.Token
		if n := attr.ItemSize(head); n != mark.NewSize {
			t.Errorf("%s: the marked root has %d bytes, and is sized as %d", text, n, mark.NewSize)
		}
	}
}

// Where no root is, a marked one is put, only if there still is none, of an incarnation that
// nothing else has.
func TestDeleteStepsWithoutRoot(t *testing.T) {
	m := Of[Shop](t)
	steps := deleting(t, m, one("a:x"), one("b:y")).Steps
	mark, last := steps[0].Requests[0], steps[2].Requests[0]
	if mark.Kind != write.Put || !mark.Expect.Absent || mark.Put["_a"] == nil ||
		m.Reserved.Header(mark.Put).ReadStage().State != item.Deleting {
		t.Errorf("the mark: %+v", mark)
	}
	if n := attr.ItemSize(mark.Put) + m.Reserved.VersionSize(); n != mark.NewSize || last.OldSize != n {
		t.Errorf("the mark has %d bytes, and is sized as %d and %d", n, mark.NewSize, last.OldSize)
	}
	if last.Kind != write.Delete || last.Put != nil || !attr.Same(last.Expect.Version, mark.Token) ||
		len(steps[1].Requests) != 2 {
		t.Errorf("the root: %+v", last)
	}
}

// A root that is not live has a pending operation, and no other root has one.
func TestPending(t *testing.T) {
	m := Of[Session](t)
	for _, c := range []struct {
		name string
		more item.Attributes
		want string
	}{
		{"live", nil, ""},
		{"expired", item.Attributes{"expires": N("5")}, "it has expired"},
		{
			"an insert",
			item.Attributes{"_s": item.NewStage(item.Inserting, Now).Value()},
			"an insert that began at 2023-11-14T22:13:20Z is not finished",
		},
		{
			"a delete",
			item.Attributes{"_s": item.NewStage(item.Deleting, Now).Value()},
			"a delete that began at 2023-11-14T22:13:20Z is not finished",
		},
	} {
		root := Images(t, m, Item("1", "HEAD", c.more))[0]
		if got := staging.Pending(&root); c.want == "" && got != "" || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %s", c.name, got)
		}
	}
	if got := staging.Pending(nil); got != "" {
		t.Error(got)
	}
}

// script runs a staged write against answers by call. The answers may need the plan.
type script struct {
	name    string
	answers map[string][]Answer
	// unwatched reports that the client cannot be watched.
	unwatched bool
	// want is the outcome. calls are the requests, in any order if they are concurrent; "~" marks a
	// request that is not sent if another one fails first.
	want  string
	calls string
}

// check compares the requests with the script.
func (c *script) check(t *testing.T, sent []string) {
	t.Helper()
	var want []string
	for call := range strings.FieldsSeq(c.calls) {
		if name, maybe := strings.CutPrefix(call, "~"); !maybe {
			want = append(want, call)
		} else if slices.Contains(sent, name) {
			want = append(want, name)
		}
	}
	if len(sent) == 0 || !strings.HasPrefix(c.calls, "-") && sent[0] != want[0] {
		t.Errorf("%s: sent %v", c.name, sent)
	}
	got := slices.Sorted(slices.Values(sent))
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s: sent %v, want %v", c.name, sent, want)
	}
}

var states = map[write.State]string{
	write.Written: "written", write.Rejected: "rejected", write.Unknown: "unknown",
	write.Failed: "failed",
}

func describe(r staging.Result) string {
	text := states[r.State]
	for _, a := range r.Stored {
		text += " " + Show(a["_v"])
	}
	if r.Unsure {
		text += " unsure"
	}
	return fmt.Sprintf("%s, %d applied, %d unresolved", text, len(r.Applied), len(r.Unresolved))
}

// short shortens the names of calls.
func short(names []string) string {
	replace := strings.NewReplacer("PutItem ", "+", "UpdateItem ", "=", "DeleteItem ", "-", "GetItem ", "?", "Query",
		"??", "LINE#", "")
	return replace.Replace(strings.Join(names, " "))
}

// puts returns the items that a client has put under the root's key, in order.
func puts(c *Client) (all []item.Attributes) {
	for _, call := range c.Calls() {
		if in, ok := call.Input.(*dynamodb.PutItemInput); ok && call.Name == "PutItem HEAD" {
			all = append(all, in.Item)
		}
	}
	return all
}

// keeping returns the answer and records the put.
func keeping(a Answer, put item.Attributes) Answer {
	a.Do = func(c Call) {
		for name, v := range c.Input.(*dynamodb.PutItemInput).Item {
			put[name] = v
		}
	}
	return a
}

// The outcome of a staged insert, by the answers to its requests. It is reported as written only if its
// root went live.
func TestInsert(t *testing.T) {
	m := Of[Shop](t)
	ok := []Answer{OK()}
	other, own := one("HEAD*y"), one("HEAD*x-------")
	dead := one("a:y")
	for _, c := range []script{
		{
			name: "nothing in the way",
			answers: map[string][]Answer{
				"PutItem HEAD": ok, "PutItem LINE#a": ok, "PutItem LINE#b": ok,
				"UpdateItem HEAD": ok,
			},
			want: "written, 3 applied, 0 unresolved", calls: "+HEAD +a +b =HEAD",
		},

		// The claim.
		{
			name:    "the entity is there",
			answers: map[string][]Answer{"PutItem HEAD": {Refused(one("HEAD"))}},
			want:    "rejected b'v-HEAD', 0 applied, 0 unresolved", calls: "+HEAD",
		},
		{
			name:    "the entity is there, and went live",
			answers: map[string][]Answer{"PutItem HEAD": {Refused(one("HEAD=y"))}},
			want:    "rejected b'v-HEAD', 0 applied, 0 unresolved", calls: "+HEAD",
		},
		{
			name: "another's claim is taken over",
			answers: map[string][]Answer{
				"PutItem HEAD": {Refused(other), OK()}, "PutItem LINE#a": ok,
				"PutItem LINE#b": ok, "UpdateItem HEAD": ok,
			},
			want: "written, 3 applied, 0 unresolved", calls: "+HEAD +HEAD +a +b =HEAD",
		},
		{
			name: "another's delete is taken over",
			answers: map[string][]Answer{
				"PutItem HEAD": {Refused(one("HEAD-y")), OK()}, "PutItem LINE#a": ok,
				"PutItem LINE#b": ok, "UpdateItem HEAD": ok,
			},
			want: "written, 3 applied, 0 unresolved", calls: "+HEAD +HEAD +a +b =HEAD",
		},
		{
			name: "another's claim is gone when it is to be taken over",
			answers: map[string][]Answer{
				"PutItem HEAD": {Refused(other), Refused(nil), OK()}, "PutItem LINE#a": ok,
				"PutItem LINE#b": ok, "UpdateItem HEAD": ok,
			},
			want: "written, 3 applied, 0 unresolved", calls: "+HEAD +HEAD +HEAD +a +b =HEAD",
		},
		{
			name:    "another's claim goes live when it is to be taken over",
			answers: map[string][]Answer{"PutItem HEAD": {Refused(other), Refused(one("HEAD=y"))}},
			want:    "rejected b'v-HEAD', 0 applied, 0 unresolved", calls: "+HEAD +HEAD",
		},
		{
			name:    "others' claims come again and again",
			answers: map[string][]Answer{"PutItem HEAD": slices.Repeat([]Answer{Refused(other)}, 11)},
			want:    "rejected b'v-HEAD', 0 applied, 0 unresolved", calls: strings.Repeat("+HEAD ", 11),
		},
		{
			name: "the claim's answer lost, and it was not put",
			answers: map[string][]Answer{
				"PutItem HEAD": {Dropped(), OK()}, "PutItem LINE#a": ok, "PutItem LINE#b": ok,
				"UpdateItem HEAD": ok,
			},
			want: "written, 3 applied, 0 unresolved", calls: "+HEAD +HEAD +a +b =HEAD",
		},
		{
			name:    "the claim's answer lost, and another's entity there",
			answers: map[string][]Answer{"PutItem HEAD": {Dropped(), Refused(one("HEAD:y"))}},
			want:    "rejected b'v-HEAD', 0 applied, 0 unresolved", calls: "+HEAD +HEAD",
		},
		{
			name:    "the claim's answer lost again and again",
			answers: map[string][]Answer{"PutItem HEAD": slices.Repeat([]Answer{Dropped()}, 11)},
			want:    "failed, 0 applied, 0 unresolved", calls: strings.Repeat("+HEAD ", 11),
		},
		{
			name:    "the claim denied",
			answers: map[string][]Answer{"PutItem HEAD": {Failed("AccessDeniedException")}},
			want:    "failed, 0 applied, 0 unresolved", calls: "+HEAD",
		},

		// The parts.
		{
			name: "a part of another incarnation is in the way, and the claim still exists",
			answers: map[string][]Answer{
				"PutItem HEAD": ok, "PutItem LINE#a": {Refused(dead), OK()}, "PutItem LINE#b": ok,
				"GetItem HEAD": {Stored(own)}, "UpdateItem HEAD": ok,
			},
			want: "written, 3 applied, 0 unresolved", calls: "+HEAD +a +b ?HEAD +a =HEAD",
		},
		{
			name: "a part of another incarnation is written again when it is to be replaced, and then gone",
			answers: map[string][]Answer{
				"PutItem HEAD": ok, "PutItem LINE#a": {Refused(dead), Refused(dead), Refused(nil), OK()},
				"PutItem LINE#b": ok,
				"GetItem HEAD":   {Stored(own), Stored(own)}, "UpdateItem HEAD": ok,
			},
			want: "written, 3 applied, 0 unresolved", calls: "+HEAD +a +b ?HEAD +a ?HEAD +a +a =HEAD",
		},
		{
			name: "a part of the own incarnation is in the way, changed since",
			answers: map[string][]Answer{
				"PutItem HEAD": ok, "PutItem LINE#a": {Refused(one("a~x-------"))}, "PutItem LINE#b": ok,
				"UpdateItem HEAD": ok,
			},
			want: "written, 3 applied, 0 unresolved", calls: "+HEAD +a +b =HEAD",
		},
		{
			name: "a part of no incarnation is in the way",
			answers: map[string][]Answer{
				"PutItem HEAD": ok, "PutItem LINE#a": {Refused(one("a"))}, "PutItem LINE#b": ok,
				"DeleteItem LINE#b": ok, "DeleteItem HEAD": ok,
			},
			want: "rejected b'v-LINE#a', 0 applied, 0 unresolved", calls: "+HEAD +a ~+b ~-b -HEAD",
		},
		{
			name: "a part of no incarnation is in the way, and another of the own, which was not put: it stays",
			answers: map[string][]Answer{
				"PutItem HEAD": ok, "PutItem LINE#a": {Refused(one("a~x-------"))},
				"PutItem LINE#b": {Refused(one("b"))}, "DeleteItem HEAD": ok,
			},
			want: "rejected b'v-LINE#b', 0 applied, 0 unresolved", calls: "+HEAD ~+a +b -HEAD",
		},
		{
			name: "a part of no incarnation is in the way after a lost answer",
			answers: map[string][]Answer{
				"PutItem HEAD": ok, "PutItem LINE#a": {Dropped()}, "GetItem LINE#a": {Stored(one("a"))},
				"PutItem LINE#b": ok, "DeleteItem LINE#b": ok, "DeleteItem HEAD": ok,
			},
			want: "rejected b'v-LINE#a', 0 applied, 0 unresolved", calls: "+HEAD +a ?a ~+b ~-b -HEAD",
		},
		{
			name: "another has taken over when a part is in the way",
			answers: map[string][]Answer{
				"PutItem HEAD": ok, "PutItem LINE#a": {Refused(dead)}, "PutItem LINE#b": ok,
				"GetItem HEAD":      {Stored(other)},
				"DeleteItem LINE#b": ok, "DeleteItem HEAD": {Refused(other)},
			},
			want: "rejected b'v-HEAD', 0 applied, 0 unresolved", calls: "+HEAD +a ~+b ?HEAD ~-b -HEAD",
		},
		{
			name: "the claim is being deleted when a part is in the way",
			answers: map[string][]Answer{
				"PutItem HEAD": ok, "PutItem LINE#a": {Refused(dead)}, "PutItem LINE#b": ok,
				"GetItem HEAD":      {Stored(one("HEAD-x-------"))},
				"DeleteItem LINE#b": ok, "DeleteItem HEAD": {Refused(other)},
			},
			want: "rejected b'v-HEAD', 0 applied, 0 unresolved", calls: "+HEAD +a ~+b ?HEAD ~-b -HEAD",
		},
		{
			name: "the claim is gone when a part is in the way",
			answers: map[string][]Answer{
				"PutItem HEAD": ok, "PutItem LINE#a": {Refused(dead)}, "PutItem LINE#b": ok,
				"GetItem HEAD":      {Stored(nil)},
				"DeleteItem LINE#b": ok, "DeleteItem HEAD": {Refused(nil)},
			},
			want: "rejected *, 0 applied, 0 unresolved", calls: "+HEAD +a ~+b ?HEAD ~-b -HEAD",
		},
		{
			name: "a part's answer lost, and put again",
			answers: map[string][]Answer{
				"PutItem HEAD": ok, "PutItem LINE#a": {Dropped(), OK()}, "GetItem LINE#a": {Stored(nil)},
				"PutItem LINE#b": ok, "UpdateItem HEAD": ok,
			},
			want: "written, 3 applied, 0 unresolved", calls: "+HEAD +a +b ?a +a =HEAD",
		},
		{
			name: "a part's answer lost, and it was put and changed since",
			answers: map[string][]Answer{
				"PutItem HEAD": ok, "PutItem LINE#a": {Dropped()}, "GetItem LINE#a": {Stored(one("a~x-------"))},
				"PutItem LINE#b": ok, "UpdateItem HEAD": ok,
			},
			want: "written, 3 applied, 0 unresolved", calls: "+HEAD +a +b ?a =HEAD",
		},
		{
			name: "a part denied",
			answers: map[string][]Answer{
				"PutItem HEAD": ok, "PutItem LINE#a": ok,
				"PutItem LINE#b": {Failed("AccessDeniedException")},
			},
			want: "failed, 0 applied, 0 unresolved", calls: "+HEAD ~+a +b",
		},

		// Going live.
		{
			name: "overtaken at going live",
			answers: map[string][]Answer{
				"PutItem HEAD": ok, "PutItem LINE#a": ok, "PutItem LINE#b": ok,
				"UpdateItem HEAD": {Refused(other)}, "DeleteItem LINE#a": ok, "DeleteItem LINE#b": ok,
				"DeleteItem HEAD": ok,
			},
			want: "rejected b'v-HEAD', 0 applied, 0 unresolved", calls: "+HEAD +a +b =HEAD ~-a ~-b -HEAD",
		},
		{
			name: "the claim is gone at going live",
			answers: map[string][]Answer{
				"PutItem HEAD": ok, "PutItem LINE#a": ok, "PutItem LINE#b": ok,
				"UpdateItem HEAD": {Refused(nil)}, "DeleteItem LINE#a": ok, "DeleteItem LINE#b": ok,
				"DeleteItem HEAD": ok,
			},
			want: "rejected *, 0 applied, 0 unresolved", calls: "+HEAD +a +b =HEAD ~-a ~-b -HEAD",
		},
		{
			name: "going live is not answered",
			answers: map[string][]Answer{
				"PutItem HEAD": ok, "PutItem LINE#a": ok, "PutItem LINE#b": ok, "UpdateItem HEAD": {Dropped()},
				"GetItem HEAD": {Failed("AccessDeniedException")},
			},
			want: "unknown, 0 applied, 3 unresolved", calls: "+HEAD +a +b =HEAD ?HEAD",
		},
		{
			name: "going live is not answered, and the root is live, changed since by another",
			answers: map[string][]Answer{
				"PutItem HEAD": ok, "PutItem LINE#a": ok, "PutItem LINE#b": ok, "UpdateItem HEAD": {Dropped()},
				"GetItem HEAD": {Stored(one("HEAD=x-------"))},
			},
			want: "written, 3 applied, 0 unresolved", calls: "+HEAD +a +b =HEAD ?HEAD",
		},
		{
			name: "going live is not answered, and the root is another's",
			answers: map[string][]Answer{
				"PutItem HEAD": ok, "PutItem LINE#a": ok, "PutItem LINE#b": ok, "UpdateItem HEAD": {Dropped()},
				"GetItem HEAD": {Stored(one("HEAD=y"))},
			},
			want: "unknown b'v-HEAD' unsure, 0 applied, 3 unresolved", calls: "+HEAD +a +b =HEAD ?HEAD",
		},

		// A client that cannot be watched may send a claim twice, so that it is made again by
		// a transaction.
		{
			name: "by a client that cannot be watched", unwatched: true,
			answers: map[string][]Answer{
				"PutItem HEAD": ok, "TransactWriteItems": ok, "PutItem LINE#a": ok,
				"PutItem LINE#b": ok, "UpdateItem HEAD": ok,
			},
			want: "written, 3 applied, 0 unresolved", calls: "+HEAD TransactWriteItems +a +b =HEAD",
		},
		{
			name: "by a client that cannot be watched, and overtaken before", unwatched: true,
			answers: map[string][]Answer{
				"PutItem HEAD":       ok,
				"TransactWriteItems": {Canceled(Because("ConditionalCheckFailed", other))},
			},
			want: "rejected b'v-HEAD', 0 applied, 0 unresolved", calls: "+HEAD TransactWriteItems",
		},
		{
			name: "by a client that cannot be watched, and not known", unwatched: true,
			answers: map[string][]Answer{
				"PutItem HEAD":       ok,
				"TransactWriteItems": slices.Repeat([]Answer{Dropped()}, 3),
			},
			want: "failed, 0 applied, 0 unresolved", calls: "+HEAD" + strings.Repeat(" TransactWriteItems", 3),
		},
		{
			name: "by a client that cannot be watched, and the entity is there", unwatched: true,
			answers: map[string][]Answer{"PutItem HEAD": {Refused(one("HEAD=y"))}},
			want:    "rejected b'v-HEAD', 0 applied, 0 unresolved", calls: "+HEAD",
		},
		{
			name: "by a client that cannot be watched, and a part of no incarnation is in the way", unwatched: true,
			answers: map[string][]Answer{
				"PutItem HEAD": ok, "TransactWriteItems": ok, "PutItem LINE#a": {Refused(one("a"))},
				"PutItem LINE#b": ok, "DeleteItem LINE#b": ok, "DeleteItem HEAD": ok,
			},
			want: "rejected b'v-LINE#a', 0 applied, 0 unresolved", calls: "+HEAD TransactWriteItems +a ~+b ~-b -HEAD",
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			client := &Client{At: c.answers, Unwatched: c.unwatched}
			var tally write.Tally
			r := protocol(m, client).Insert(context.Background(), entity(t, m, "1"), inserting(t, m), &tally)
			got := describe(r)
			if strings.Contains(c.want, "*") && len(r.Stored) == 1 && len(r.Stored[0]) == 0 {
				got = "rejected *" + got[strings.Index(got, ","):]
			}
			if got != c.want {
				t.Errorf("%s: %s, want %s: %v", c.name, got, c.want, r.Err)
			}
			sent := strings.Fields(short(client.Names()))
			c.check(t, sent)
			if sent := len(client.Names()); tally.Requests < sent || r.OK() && tally.Requests > sent {
				t.Errorf("%s: counted %d", c.name, tally.Requests)
			}
			if last := sent[len(sent)-1]; r.OK() && last != "=HEAD" && last != "?HEAD" {
				t.Errorf("%s: sent %v", c.name, sent)
			}
			for _, call := range client.Calls() {
				if _, ok := call.Input.(*dynamodb.PutItemInput); ok && !c.unwatched &&
					call.Once != (call.Name == "PutItem HEAD") {
					t.Errorf("%s: %s, sent once by the SDK: %v", c.name, call.Name, call.Once)
				}
			}
		})
	}
}

// Each attempt to claim has its own version, and is conditional on no item or exactly the item that was
// found. The root goes live on condition of the stored version.
func TestClaims(t *testing.T) {
	m := Of[Shop](t)
	ok := []Answer{OK()}
	first, second := item.Attributes{}, item.Attributes{}
	absent, instead := "attribute_not_exists(PK)", "attribute_not_exists(PK) OR _v = b'v-HEAD'"
	for _, c := range []struct {
		name    string
		claims  []Answer
		want    []string // the conditions
		current int      // the claim that still exists
	}{
		{"put", ok, []string{absent}, 0},
		{"taken over", []Answer{Refused(one("HEAD*y")), OK()}, []string{absent, instead}, 1},
		{
			"gone before it is taken over",
			[]Answer{Refused(one("HEAD*y")), Refused(nil), OK()},
			[]string{absent, instead, absent},
			2,
		},
		{"lost, and not put", []Answer{Dropped(), OK()}, []string{absent, absent}, 1},
		{"lost, and put", []Answer{keeping(Dropped(), first), Refused(first)}, []string{absent, absent}, 0},
		{
			"lost twice, and the second put",
			[]Answer{Dropped(), keeping(Dropped(), second), Refused(second)},
			[]string{absent, absent, absent},
			1,
		},
		{
			"lost, and another's found",
			[]Answer{Dropped(), Refused(one("HEAD*y")), OK()},
			[]string{absent, absent, instead},
			2,
		},
		{
			"lost when it took over, and put",
			[]Answer{Refused(one("HEAD*y")), keeping(Dropped(), first), Refused(first)},
			[]string{absent, instead, instead},
			1,
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			clear(first)
			clear(second)
			client := &Client{At: map[string][]Answer{
				"PutItem HEAD": c.claims, "PutItem LINE#a": ok,
				"PutItem LINE#b": ok, "UpdateItem HEAD": ok,
			}}
			if r := protocol(m, client).Insert(context.Background(), entity(t, m, "1"), inserting(t, m),
				&write.Tally{}); !r.OK() {
				t.Fatalf("%s: %v", c.name, r.Err)
			}
			var got []string
			versions := map[string]bool{}
			for _, call := range client.Calls() {
				if call.Name == "PutItem HEAD" {
					got = append(got, Condition(call.Input))
					versions[Show(call.Input.(*dynamodb.PutItemInput).Item["_v"])] = true
				}
			}
			if !slices.Equal(got, c.want) || len(versions) != len(got) {
				t.Errorf("%s: claimed if %q, with %d versions", c.name, got, len(versions))
			}
			claims, calls := puts(client), client.Calls()
			if live := calls[len(calls)-1].Input; Condition(live) != "_v = "+Show(claims[c.current]["_v"]) {
				t.Errorf("%s: live if %s", c.name, Condition(live))
			}
		})
	}
}

// A client that cannot be watched may have more copies of a claim in transfer. The claim then gets a
// version, by a transaction, that none of these copies can restore, and the root goes live on condition
// of that version. The same holds if an attempt whose answer was lost is found.
func TestRootIsPutAgain(t *testing.T) {
	m := Of[Shop](t)
	ok := []Answer{OK()}
	for _, lost := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			claim := item.Attributes{}
			claims := []Answer{keeping(OK(), claim)}
			if lost {
				claims = []Answer{keeping(Dropped(), claim), Refused(claim)}
			}
			client := &Client{Unwatched: true, At: map[string][]Answer{
				"PutItem HEAD": claims, "TransactWriteItems": ok,
				"PutItem LINE#a": ok, "PutItem LINE#b": ok, "UpdateItem HEAD": ok,
			}}
			if r := protocol(m, client).Insert(context.Background(), entity(t, m, "1"), inserting(t, m),
				&write.Tally{}); !r.OK() {
				t.Fatalf("lost %v: %v", lost, r.Err)
			}
			again := ""
			for _, call := range client.Calls() {
				switch in := call.Input.(type) {
				case *dynamodb.TransactWriteItemsInput:
					u := in.TransactItems[0].Update
					again = strings.TrimPrefix(Updates(u), "SET ")
					if len(in.TransactItems) != 1 || Condition(u) != "_v = "+Show(claim["_v"]) ||
						again == Condition(u) {
						t.Errorf("lost %v: %s if %s", lost, again, Condition(u))
					}
				case *dynamodb.UpdateItemInput:
					if again == "" || Condition(in) != again {
						t.Errorf("lost %v: live if %s, claimed again with %s", lost, Condition(in), again)
					}
				}
			}
		})
	}
}

// The applied or unresolved requests of an insert have the items as stored once the root item is live.
// The request that makes the root item live is the evidence.
func TestInsertResult(t *testing.T) {
	m := Of[Shop](t)
	ok := []Answer{OK()}
	for _, lost := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			plan := inserting(t, m)
			client := &Client{At: map[string][]Answer{
				"PutItem HEAD": ok, "PutItem LINE#a": ok, "PutItem LINE#b": ok,
				"UpdateItem HEAD": ok,
			}}
			if lost {
				client.At["UpdateItem HEAD"], client.At["GetItem HEAD"] = []Answer{Dropped()},
					[]Answer{Failed("AccessDeniedException")}
			}
			p, later := protocol(m, client), Now.Add(time.Hour)
			p.Now = func() time.Time { return later }
			r := p.Insert(context.Background(), entity(t, m, "1"), plan, &write.Tally{})
			all, live := r.Applied, plan.Steps[2].Requests[0]
			if lost {
				if all = r.Unresolved; len(r.Evidence) != 1 || r.Evidence[0] != live || live.Incarnation == nil {
					t.Errorf("told by %v", r.Evidence)
				}
			}
			if len(all) != 3 {
				t.Fatalf("%d requests", len(all))
			}
			root := all[2]
			h := root.Reserved.Header(root.Put)
			if !h.Live() || !h.LiveSince().Equal(later) || Show(h.Incarnation) != "b'x-------'" ||
				!attr.Same(root.Token, live.Token) || root.Incarnation == nil {
				t.Errorf("the root: %+v", root)
			}
			for _, q := range all {
				if q.Put["_a"] == nil || q.Put["_s"] == nil || q.Token == nil {
					t.Errorf("%s: %+v", q.Place, q)
				}
				if want := attr.ItemSize(q.Put) + m.Reserved.VersionSize(); q.NewSize != want {
					t.Errorf("%s has %d bytes, and is sized as %d", q.Place, want, q.NewSize)
				}
			}
		})
	}
}

// A part replaces an item of another incarnation on condition of its exact version. It does so only
// after the claim was read, strongly consistent and after that item, and still existed. The replaced
// item counts for the price, also for a claim's.
func TestBlockingPart(t *testing.T) {
	m := Of[Shop](t)
	ok := []Answer{OK()}
	dead, claim := one("a:y"), one("HEAD*y")
	absent, read, instead := "attribute_not_exists(PK)", "the root, strongly: true",
		"attribute_not_exists(PK) OR _v = b'v-LINE#a'"
	for _, c := range []struct {
		name  string
		parts []Answer
		want  []string
		size  int // of the replaced item
	}{
		{"dead", []Answer{Refused(dead), OK()}, []string{absent, read, instead}, attr.ItemSize(dead)},
		{
			"dead, and gone then",
			[]Answer{Refused(dead), Refused(nil), OK()},
			[]string{absent, read, instead, absent},
			0,
		},
		{
			"dead, and written again",
			[]Answer{Refused(dead), Refused(dead), OK()},
			[]string{absent, read, instead, read, instead},
			attr.ItemSize(dead),
		},
	} {
		client := &Client{At: map[string][]Answer{
			"PutItem HEAD": {Refused(claim), OK()}, "PutItem LINE#a": c.parts, "PutItem LINE#b": ok,
			"UpdateItem HEAD": ok,
			"GetItem HEAD":    slices.Repeat([]Answer{Stored(one("HEAD*x-------"))}, 2),
		}}
		plan := inserting(t, m)
		if r := protocol(m, client).Insert(context.Background(), entity(t, m, "1"), plan, &write.Tally{}); !r.OK() {
			t.Fatal(r.Err)
		}
		var got []string
		versions := map[string]bool{}
		for _, call := range client.Calls() {
			switch in := call.Input.(type) {
			case *dynamodb.PutItemInput:
				if call.Name == "PutItem LINE#a" {
					got = append(got, Condition(in))
					versions[Show(in.Item["_v"])] = true
				}
			case *dynamodb.GetItemInput:
				got = append(got, fmt.Sprint("the root, strongly: ", *in.ConsistentRead))
			}
		}
		if !slices.Equal(got, c.want) || len(versions) != len(c.parts) {
			t.Errorf("%s: %q, with %d versions", c.name, got, len(versions))
		}
		if part, root := plan.Steps[1].Requests[0], plan.Steps[0].Requests[0]; part.OldSize != c.size ||
			root.OldSize != attr.ItemSize(claim) {
			t.Errorf("%s: in place of %d bytes, the claim of %d", c.name, part.OldSize, root.OldSize)
		}
	}
}

// An insert that cannot succeed deletes the items that it has put, and no others, on condition that
// they are unchanged. The claim is last, and is kept if a part may remain.
func TestUndo(t *testing.T) {
	m := Of[Shop](t)
	ok := []Answer{OK()}
	for _, c := range []struct {
		name string
		b    Answer // to the removal of the part b
		want string
	}{
		{"removed", OK(), "LINE#b HEAD"},
		{"changed since by another", Refused(one("b:x-------")), "LINE#b HEAD"},
		{"denied", Failed("AccessDeniedException"), "LINE#b"},
	} {
		synctest.Test(t, func(t *testing.T) {
			plan := inserting(t, m)
			done := make(chan struct{}) // the part b is put before the part a is refused
			b, a := OK(), Refused(one("a"))
			b.Do = func(Call) { close(done) }
			client := &Client{At: map[string][]Answer{
				"PutItem HEAD": ok, "PutItem LINE#b": {b}, "DeleteItem LINE#b": {c.b}, "DeleteItem HEAD": ok,
			}}
			inner := client
			late := &lateClient{Client: inner, until: done, answer: a}
			p := protocol(m, client)
			p.Sender = &write.Sender{Client: late, Now: m.Now}
			p.Insert(context.Background(), entity(t, m, "1"), plan, &write.Tally{})
			want := map[string]string{
				"HEAD":   "_v = " + Show(plan.Steps[0].Requests[0].Token),
				"LINE#b": "_v = " + Show(plan.Steps[1].Requests[1].Token),
			}
			var removed []string
			for _, call := range client.Calls() {
				sk, ok := strings.CutPrefix(call.Name, "DeleteItem ")
				if !ok {
					continue
				}
				removed = append(removed, sk)
				if got := Condition(call.Input); got != want[sk] {
					t.Errorf("%s: %s if %s, want %s", c.name, call.Name, got, want[sk])
				}
			}
			if got := strings.Join(removed, " "); got != c.want {
				t.Errorf("%s: removed %s", c.name, got)
			}
		})
	}
}

// lateClient answers the put of the part a when another call has come and is over.
type lateClient struct {
	*Client
	until  chan struct{}
	answer Answer
}

// PutItem is the client's.
func (c *lateClient) PutItem(ctx context.Context, in *dynamodb.PutItemInput,
	o ...func(*dynamodb.Options),
) (*dynamodb.PutItemOutput, error) {
	if Show(in.Item["SK"]) != "'LINE#a'" {
		return c.Client.PutItem(ctx, in, o...)
	}
	<-c.until
	synctest.Wait()
	alone := &Client{Answers: []Answer{c.answer}}
	return alone.PutItem(ctx, in, o...)
}

// The outcome of a staged delete. The marked items are deleted in any case, items that exist after the
// mark are deleted too, and no item of an insert that took over is touched.
func TestDelete(t *testing.T) {
	m := Of[Shop](t)
	ok := []Answer{OK()}
	mark := item.Attributes{} // of the plan that runs
	newer := one("a:x")
	newer["_v"] = B("newer")
	other, again := one("HEAD*y"), one("HEAD-x")
	found := []Answer{Page("", mark, one("a:x"), one("b:x"))}
	for _, c := range []struct {
		script
		noRoot bool
	}{
		{script: script{
			name: "as it was read",
			answers: map[string][]Answer{
				"UpdateItem HEAD": ok, "Query": found, "GetItem HEAD": {Stored(mark)},
				"DeleteItem LINE#a": ok, "DeleteItem LINE#b": ok, "DeleteItem HEAD": ok,
			},
			want: "written, 1 applied, 0 unresolved", calls: "=HEAD ?? ?HEAD -a -b -HEAD",
		}},
		{script: script{
			name: "without a root",
			answers: map[string][]Answer{
				"PutItem HEAD": ok, "Query": found, "GetItem HEAD": {Stored(mark)},
				"DeleteItem LINE#a": ok, "DeleteItem LINE#b": ok, "DeleteItem HEAD": ok,
			},
			want: "written, 1 applied, 0 unresolved", calls: "+HEAD ?? ?HEAD -a -b -HEAD",
		}, noRoot: true},
		{script: script{
			name:    "the root has changed",
			answers: map[string][]Answer{"UpdateItem HEAD": {Refused(other)}},
			want:    "rejected b'v-HEAD', 0 applied, 0 unresolved", calls: "=HEAD",
		}},
		{script: script{
			name:    "without a root, and one has come",
			answers: map[string][]Answer{"PutItem HEAD": {Refused(other)}},
			want:    "rejected b'v-HEAD', 0 applied, 0 unresolved", calls: "+HEAD",
		}, noRoot: true},
		{script: script{
			name: "what came after it was read goes as well, what the model does not know stays",
			answers: map[string][]Answer{
				"UpdateItem HEAD":   ok,
				"Query":             {Page("", mark, one("a:x"), one("c:y"), one("d"), stored("UNKNOWN", nil))},
				"GetItem HEAD":      {Stored(mark)},
				"DeleteItem LINE#a": ok, "DeleteItem LINE#c": ok, "DeleteItem LINE#d": ok, "DeleteItem HEAD": ok,
			},
			want: "written, 1 applied, 0 unresolved", calls: "=HEAD ?? ?HEAD -a -c -d -HEAD",
		}},
		{script: script{
			name:    "an insert has taken over when it is read again",
			answers: map[string][]Answer{"UpdateItem HEAD": ok, "Query": found, "GetItem HEAD": {Stored(other)}},
			want:    "written, 1 applied, 0 unresolved", calls: "=HEAD ?? ?HEAD",
		}},
		{script: script{
			name:    "another delete has taken over when it is read again",
			answers: map[string][]Answer{"UpdateItem HEAD": ok, "Query": found, "GetItem HEAD": {Stored(again)}},
			want:    "written, 1 applied, 0 unresolved", calls: "=HEAD ?? ?HEAD",
		}},
		{script: script{
			name:    "another delete has finished it when it is read again",
			answers: map[string][]Answer{"UpdateItem HEAD": ok, "Query": found, "GetItem HEAD": {Stored(nil)}},
			want:    "written, 1 applied, 0 unresolved", calls: "=HEAD ?? ?HEAD",
		}},
		{script: script{
			name: "a part has changed",
			answers: map[string][]Answer{
				"UpdateItem HEAD": ok, "Query": found, "GetItem HEAD": {Stored(mark), Stored(mark)},
				"DeleteItem LINE#a": {Refused(newer), OK()}, "DeleteItem LINE#b": ok, "DeleteItem HEAD": ok,
			},
			want: "written, 1 applied, 0 unresolved", calls: "=HEAD ?? ?HEAD -a ?HEAD -a -b -HEAD",
		}},
		{script: script{
			name: "a part is gone",
			answers: map[string][]Answer{
				"UpdateItem HEAD": ok, "Query": found, "GetItem HEAD": {Stored(mark)},
				"DeleteItem LINE#a": {Refused(nil)}, "DeleteItem LINE#b": ok, "DeleteItem HEAD": ok,
			},
			want: "written, 1 applied, 0 unresolved", calls: "=HEAD ?? ?HEAD -a -b -HEAD",
		}},
		{script: script{
			name: "a part has changed, and an insert has taken over",
			answers: map[string][]Answer{
				"UpdateItem HEAD": ok, "Query": found,
				"GetItem HEAD": {Stored(mark), Stored(other)}, "DeleteItem LINE#a": {Refused(newer)},
				"DeleteItem LINE#b": ok,
			},
			want: "written, 1 applied, 0 unresolved", calls: "=HEAD ?? ?HEAD -a ?HEAD ~-b",
		}},
		{script: script{
			name: "the root is another's at the end",
			answers: map[string][]Answer{
				"UpdateItem HEAD": ok, "Query": found, "GetItem HEAD": {Stored(mark)},
				"DeleteItem LINE#a": ok, "DeleteItem LINE#b": ok, "DeleteItem HEAD": {Refused(other)},
			},
			want: "written, 1 applied, 0 unresolved", calls: "=HEAD ?? ?HEAD -a -b -HEAD",
		}},
		{script: script{
			name: "the root's delete not answered, and another's there",
			answers: map[string][]Answer{
				"UpdateItem HEAD": ok, "Query": found, "GetItem HEAD": {Stored(mark), Stored(other)},
				"DeleteItem LINE#a": ok, "DeleteItem LINE#b": ok, "DeleteItem HEAD": {Dropped()},
			},
			want: "written, 1 applied, 0 unresolved", calls: "=HEAD ?? ?HEAD -a -b -HEAD ?HEAD",
		}},
		{script: script{
			name:    "the second reading denied",
			answers: map[string][]Answer{"UpdateItem HEAD": ok, "Query": {Failed("AccessDeniedException")}},
			want:    "failed, 1 applied, 0 unresolved", calls: "=HEAD ??",
		}},
		{script: script{
			name: "a part denied",
			answers: map[string][]Answer{
				"UpdateItem HEAD": ok, "Query": found, "GetItem HEAD": {Stored(mark)},
				"DeleteItem LINE#a": ok, "DeleteItem LINE#b": {Failed("AccessDeniedException")},
			},
			want: "failed, 1 applied, 0 unresolved", calls: "=HEAD ?? ?HEAD ~-a -b",
		}},
		{script: script{
			name: "a part's delete not answered, and it cannot be read",
			answers: map[string][]Answer{
				"UpdateItem HEAD": ok, "Query": found, "GetItem HEAD": {Stored(mark)}, "DeleteItem LINE#a": {Dropped()},
				"GetItem LINE#a": {Failed("AccessDeniedException")}, "DeleteItem LINE#b": ok,
			},
			want: "unknown, 1 applied, 0 unresolved", calls: "=HEAD ?? ?HEAD -a ?a ~-b",
		}},
	} {
		synctest.Test(t, func(t *testing.T) {
			items := []item.Attributes{one("HEAD:x"), one("a:x"), one("b:x")}
			if c.noRoot {
				items = items[1:]
			}
			plan := deleting(t, m, items...)
			clear(mark)
			for name, v := range stored("HEAD",
				item.Attributes{"_s": plan.Steps[0].Requests[0].Set[0].Value, "_a": B("x")}) {
				mark[name] = v
			}
			client := &Client{At: c.answers}
			var tally write.Tally
			r := protocol(m, client).Delete(context.Background(), entity(t, m, "1"), plan, &tally)
			if got := describe(r); got != c.want {
				t.Errorf("%s: %s, want %s: %v", c.name, got, c.want, r.Err)
			}
			c.check(t, strings.Fields(short(client.Names())))
			if sent := len(client.Names()); tally.Requests < sent || r.OK() && tally.Requests > sent {
				t.Errorf("%s: counted %d", c.name, tally.Requests)
			}
			for _, call := range client.Calls() {
				switch in := call.Input.(type) {
				case *dynamodb.DeleteItemInput:
					if Condition(in) == "" {
						t.Errorf("%s: %s without a condition", c.name, call.Name)
					}
				case *dynamodb.QueryInput:
					if !*in.ConsistentRead {
						t.Errorf("%s: not read strongly", c.name)
					}
				}
			}
		})
	}
}

// The requests of a delete are conditional on the items that were read after the mark. An item without
// a version is deleted on condition of its values, a changed item on condition of its new version, and
// the root on condition of the mark. The order is: the mark, all items, the root, the items, the root.
func TestDeleteConditions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := Of[Shop](t)
		ok := []Answer{OK()}
		plan := deleting(t, m, one("HEAD:x"), one("a:x"))
		token := plan.Steps[0].Requests[0].Token
		mark := stored("HEAD", item.Attributes{"_s": plan.Steps[0].Requests[0].Set[0].Value})
		a, newer, c := one("a:x"), one("a:x"), Item("SHOP#1", "LINE#c", item.Attributes{"Text": S("t")})
		a["_v"], newer["_v"] = B("second"), B("third")
		client := &Client{At: map[string][]Answer{
			"UpdateItem HEAD": ok, "Query": {Page("", mark, a, c)}, "GetItem HEAD": {Stored(mark), Stored(mark)},
			"DeleteItem LINE#a": {Refused(newer), OK()}, "DeleteItem LINE#c": ok, "DeleteItem HEAD": ok,
		}}
		if r := protocol(m, client).Delete(context.Background(), entity(t, m, "1"), plan, &write.Tally{}); !r.OK() {
			t.Fatal(r.Err)
		}
		names := client.Names()
		if got := strings.Join(names[:3], ", "); got != "UpdateItem HEAD, Query, GetItem HEAD" ||
			names[len(names)-1] != "DeleteItem HEAD" {
			t.Error(names)
		}
		var got []string
		for _, call := range client.Calls() {
			if condition := Condition(call.Input); condition != "" {
				got = append(got, call.Name+" if "+condition)
			}
		}
		slices.Sort(got)
		want := []string{
			"DeleteItem HEAD if _v = " + Show(token),
			"DeleteItem LINE#a if _v = b'second'",
			"DeleteItem LINE#a if _v = b'third'",
			"DeleteItem LINE#c if attribute_exists(PK) AND attribute_not_exists(_v) AND Text = 't'",
			"UpdateItem HEAD if _v = b'v-HEAD'",
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

// What a staged insert costs is known without its steps, and asking for it changes nothing.
func TestInsertPrice(t *testing.T) {
	m := Of[Shop](t)
	for _, entries := range [][]write.Entry{
		nil,
		{{Index: "shops/byName", New: 990, Staged: true}, {Index: "shops/all", New: 2000, Always: true}},
	} {
		requests := inserts(t, m)
		for _, r := range requests {
			r.Prepare()
			r.Entries = entries
		}
		before := fmt.Sprintf("%+v", *requests[0])
		p := &write.Plan{Mode: write.Staged, Steps: staging.InsertSteps(Now)(requests)}
		want := write.Alternative{Mode: write.Staged, Calls: p.Calls(), WCU: p.Units()}
		if got := staging.InsertPrice(Now, requests); got != want {
			t.Errorf("%v, and not %v", got, want)
		}
		if after := fmt.Sprintf("%+v", *requests[0]); after != before {
			t.Errorf("the request was %s, and is %s", before, after)
		}
	}
}
