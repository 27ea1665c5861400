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
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/attr"
	"github.com/itemize/itemize/internal/change"
	"github.com/itemize/itemize/internal/item"
	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/snapshot"
	"github.com/itemize/itemize/internal/staging"
	. "github.com/itemize/itemize/internal/testmodel"
	"github.com/itemize/itemize/internal/write"
)

// entity returns the entity of a model with that key, as the protocol needs it.
func entity(t *testing.T, m *model.Model, values ...any) *staging.Entity {
	t.Helper()
	sel := m.Select(values)
	root, err := m.RootPlace(sel.Identity)
	if err != nil {
		t.Fatal(err)
	}
	return &staging.Entity{
		Name: func() string { return "shop 1" }, Label: m.Label(), Reserved: m.Reserved, Root: root, Parts: sel.Parts,
		IsRoot:  func(f *item.Image) bool { return m.IsRoot(f.Kind) },
		Belongs: func(f *item.Image) bool { return change.Belongs(m, f, sel.Identity, nil) },
	}
}

func protocol(m *model.Model, c *Client) *staging.Protocol {
	return &staging.Protocol{
		Reader: &read.Reader{Client: c, Label: m.Label(), Tables: m.Tables, Describe: m.Describe},
		Sender: &write.Sender{Client: c, Now: m.Now}, Describe: m.ImageIn, Now: m.Now,
	}
}

// inserting returns the plan of a staged insert.
func inserting(t *testing.T, m *model.Model, v any) *write.Plan {
	t.Helper()
	d, err := change.Of(snapshot.New(m, v), nil, v, change.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := write.Arrange(change.Requests(d.Changes), nil, write.Choice{Staged: true, Steps: staging.InsertSteps(Now)})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func newShop() *Shop { return &Shop{ID: "1", Name: "n", Lines: []Line{{SKU: "a"}, {SKU: "b"}}} }

// deleting returns the plan of a staged delete of items.
func deleting(t *testing.T, m *model.Model, items ...item.Attributes) *write.Plan {
	t.Helper()
	sel := m.Select([]any{"1"})
	del, err := change.NewDeletion(m, sel, true)
	if err != nil {
		t.Fatal(err)
	}
	del.Found(Images(t, m, items...))
	p, err := write.Arrange(change.Requests(del.All()), nil, write.Choice{Staged: true, Delete: true, Steps: staging.DeleteSteps(Now)})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func stored(sk string, more item.Attributes) item.Attributes {
	a := Item("SHOP#1", sk, more)
	a["_v"] = B("v-" + sk)
	return a
}

// An insert's steps are the root as a claim, the parts with its attempt, and the root going
// live on condition of the claim; the requests that they are made of stay as they were.
func TestInsertSteps(t *testing.T) {
	m := Of[Shop](t)
	v := newShop()
	d, err := change.Of(snapshot.New(m, v), nil, v, change.Options{})
	if err != nil {
		t.Fatal(err)
	}
	requests := change.Requests(d.Changes)
	for _, r := range requests {
		r.Prepare()
	}
	steps := staging.InsertSteps(Now)(requests)
	if len(steps) != 3 || len(steps[0].Requests) != 1 || len(steps[1].Requests) != 2 || len(steps[2].Requests) != 1 {
		t.Fatalf("%d steps", len(steps))
	}
	for _, st := range steps {
		if st.How == write.Together {
			t.Error("a step is a transaction")
		}
	}
	claim, live := steps[0].Requests[0], steps[2].Requests[0]
	stage, ok := m.Reserved.Header(claim.Put).ReadStage()
	if !ok || stage.State != item.Inserting || !stage.Since.Equal(Now) || claim.Put["_a"] != nil || !claim.Expect.Absent || claim.Kind != write.Put {
		t.Errorf("the claim: %+v, stage %+v", claim, stage)
	}
	for _, r := range steps[1].Requests {
		if !attr.Same(r.Put["_a"], stage.Attempt) || r.Put["_s"] != nil || !r.Expect.Absent || r.Root {
			t.Errorf("the part %s: %+v", r.Place, r)
		}
		if want := attr.ItemSize(r.Put) + m.Reserved.VersionSize(); r.NewSize != want {
			t.Errorf("the part %s has %d bytes, and is sized as %d", r.Place, want, r.NewSize)
		}
	}
	liveness := item.Liveness{Attempt: stage.Attempt, Since: Now}.Assign()
	if live.Kind != write.Update || live.Put != nil || len(live.Set) != 1 || !attr.Same(live.Set[0].Value, liveness.Value) || len(live.Remove) != 1 || live.Remove[0].Name != "_s" {
		t.Errorf("going live: %+v", live)
	}
	if !attr.Same(live.Expect.Version, claim.Token) || live.Expect.Absent || attr.Same(live.Token, claim.Token) {
		t.Errorf("going live, on condition of %v, with %v; the claim's %v", live.Expect.Version, live.Token, claim.Token)
	}
	if want := attr.ItemSize(claim.Put) + m.Reserved.VersionSize(); claim.NewSize != want || live.OldSize != want {
		t.Errorf("the claim has %d bytes, and is sized as %d and %d", want, claim.NewSize, live.OldSize)
	}
	final := attr.ItemSize(requests[0].Put) + m.Reserved.VersionSize() + liveness.Size()
	if live.NewSize != final {
		t.Errorf("the live root has %d bytes, and is sized as %d", final, live.NewSize)
	}
	for _, r := range requests {
		if r.Put["_s"] != nil || r.Put["_a"] != nil {
			t.Errorf("the request of %s has been changed: %v", r.Place, r.Put)
		}
	}
	again := staging.InsertSteps(Now)(requests)[0].Requests[0]
	if other, _ := m.Reserved.Header(again.Put).ReadStage(); other.Is(stage) {
		t.Error("two inserts have one attempt")
	}
}

// Without versions the claim is known by its stage.
func TestInsertStepsWithoutVersion(t *testing.T) {
	m := Of[Plain](t)
	live := inserting(t, m, &Plain{ID: "1", Name: "n", Side: "left"}).Steps[2].Requests[0]
	if live.Token != nil || live.Expect.Version != nil || live.Expect.Old == nil || len(live.Expect.Old.Values) != 2 ||
		live.Expect.Old.Values[0].Name != "_a" || live.Expect.Old.Values[0].Value != nil || live.Expect.Old.Values[1].Name != "_s" || live.Expect.Old.Values[1].Value == nil {
		t.Errorf("%+v", live.Expect)
	}
}

// A delete's steps are the root's mark on condition of what was read, the others, and the
// root on condition of the mark.
func TestDeleteSteps(t *testing.T) {
	m := Of[Shop](t)
	head := stored("HEAD", item.Attributes{"Name": S("n")})
	head["_v"] = B("of another length") // than the versions itemize makes
	steps := deleting(t, m, head, stored("LINE#a", nil), stored("LINE#b", nil)).Steps
	if len(steps) != 3 || len(steps[1].Requests) != 2 {
		t.Fatalf("%d steps", len(steps))
	}
	mark, last := steps[0].Requests[0], steps[2].Requests[0]
	stage, ok := item.Header{Stage: mark.Set[0].Value}.ReadStage()
	if !ok || stage.State != item.Deleting || mark.Kind != write.Update || Show(mark.Expect.Version) != "b'of another length'" || mark.Token == nil {
		t.Errorf("the mark: %+v", mark)
	}
	if last.Kind != write.Delete || !attr.Same(last.Expect.Version, mark.Token) || last.OldSize != mark.NewSize {
		t.Errorf("the root: %+v", last)
	}
	head["_s"], head["_v"] = mark.Set[0].Value, mark.Token
	if n := attr.ItemSize(head); n != mark.NewSize {
		t.Errorf("the marked root has %d bytes, and is sized as %d", n, mark.NewSize)
	}
	for _, r := range steps[1].Requests {
		if want := "b'v-" + r.SK.Text + "'"; Show(r.Expect.Version) != want || r.Kind != write.Delete {
			t.Errorf("%s: %+v", r.Place, r.Expect)
		}
	}
}

// A delete that has begun is gone on with: its mark stands.
func TestDeleteStepsBegun(t *testing.T) {
	m := Of[Shop](t)
	stage := item.NewStage(item.Deleting, Now)
	steps := deleting(t, m, stored("HEAD", item.Attributes{"_s": stage.Value()}), stored("LINE#a", nil)).Steps
	if len(steps) != 2 || len(steps[0].Requests) != 1 || Show(steps[1].Requests[0].Expect.Version) != "b'v-HEAD'" {
		t.Errorf("%+v", steps)
	}
	unfinished := deleting(t, m, stored("HEAD", item.Attributes{"_s": item.NewStage(item.Inserting, Now).Value()})).Steps
	if len(unfinished) != 3 {
		t.Errorf("the delete of an unfinished insert has %d steps", len(unfinished))
	}
}

// Without versions the mark is conditional on the stage that was read, and the root's
// delete on the mark.
func TestDeleteStepsWithoutVersion(t *testing.T) {
	m := Of[Plain](t)
	steps := deleting(t, m, Item("1", "HEAD", item.Attributes{"Name": S("n")}), Item("1", "SIDE", item.Attributes{"Side": S("x")})).Steps
	mark, last := steps[0].Requests[0], steps[2].Requests[0]
	old := mark.Expect.Old
	if old == nil || len(old.Values) != 1 || old.Values[0].Name != "_s" || old.Values[0].Value != nil {
		t.Errorf("the mark: %+v", mark.Expect)
	}
	if old = last.Expect.Old; old == nil || len(old.Values) != 1 || !attr.Same(old.Values[0].Value, mark.Set[0].Value) {
		t.Errorf("the root: %+v", last.Expect)
	}
}

// What is pending is said of a root that is not live, and of no other.
func TestPending(t *testing.T) {
	m := Of[Session](t)
	for _, c := range []struct {
		name string
		more item.Attributes
		want string
	}{
		{"live", nil, ""},
		{"expired", item.Attributes{"expires": N("5")}, "its time to live is over"},
		{"an insert", item.Attributes{"_s": item.NewStage(item.Inserting, Now).Value()}, "an insert that began at 2023-11-14T22:13:20Z is not finished"},
		{"a delete", item.Attributes{"_s": item.NewStage(item.Deleting, Now).Value()}, "a delete that began at 2023-11-14T22:13:20Z is not finished"},
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
	// want is the outcome, and calls what was sent, in any order where it is at once; "~"
	// stands before what is sent unless another's failure comes first.
	want  string
	calls string
}

// check compares what was sent with the script.
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

var states = map[write.State]string{write.Written: "written", write.Rejected: "rejected", write.Unknown: "unknown", write.Failed: "failed"}

func describe(r staging.Result) string {
	text := states[r.State]
	for _, a := range r.Stored {
		text += " " + Show(a["_v"])
	}
	if r.Unsure {
		text += " unsure"
	}
	return fmt.Sprintf("%s, %d applied, %d in doubt", text, len(r.Applied), len(r.Doubt))
}

// short shortens the names of calls.
func short(names []string) string {
	replace := strings.NewReplacer("PutItem ", "+", "UpdateItem ", "=", "DeleteItem ", "-", "GetItem ", "?", "Query", "??", "LINE#", "")
	return replace.Replace(strings.Join(names, " "))
}

// How a staged insert ends, by what it meets: above all, that it says to be written only
// when its root went live.
func TestInsert(t *testing.T) {
	m := Of[Shop](t)
	left := item.NewStage(item.Inserting, Now)
	other := stored("HEAD", item.Attributes{"_s": left.Value()})
	ok := []Answer{OK()}
	// claim stands for the claim of the plan that runs.
	claim := item.Attributes{}
	live := stored("HEAD", item.Attributes{"_a": item.Liveness{Attempt: B("x"), Since: Now}.Assign().Value})
	inTheWay := stored("LINE#a", item.Attributes{"_a": B("old")})
	for _, c := range []script{
		{
			"nothing in the way",
			map[string][]Answer{"PutItem HEAD": ok, "PutItem LINE#a": ok, "PutItem LINE#b": ok, "UpdateItem HEAD": ok},
			"written, 3 applied, 0 in doubt", "+HEAD +a +b =HEAD",
		},
		{
			"the entity is there",
			map[string][]Answer{"PutItem HEAD": {Refused(live)}},
			"rejected b'v-HEAD', 0 applied, 0 in doubt", "+HEAD",
		},
		{
			"a claim is taken over, and what it left swept",
			map[string][]Answer{
				"PutItem HEAD":      {Refused(other), OK()},
				"Query":             {Page("", other, stored("LINE#z", item.Attributes{"_a": left.Attempt}), stored("PLAN", nil), stored("UNKNOWN", nil))},
				"DeleteItem LINE#z": ok, "DeleteItem PLAN": ok, "PutItem LINE#a": ok, "PutItem LINE#b": ok, "UpdateItem HEAD": ok,
			},
			"written, 3 applied, 0 in doubt", "+HEAD +HEAD ?? -PLAN -z +a +b =HEAD",
		},
		{
			"a part of another attempt is in the way",
			map[string][]Answer{
				"PutItem HEAD": ok, "PutItem LINE#a": {Refused(inTheWay), OK()}, "PutItem LINE#b": ok, "GetItem HEAD": {Stored(claim), Stored(claim)}, "UpdateItem HEAD": ok,
			},
			"written, 3 applied, 0 in doubt", "+HEAD +a +b ?HEAD ?HEAD +a =HEAD",
		},
		{
			"a part of a live entity is in the way",
			map[string][]Answer{
				"PutItem HEAD": ok, "PutItem LINE#a": {Refused(stored("LINE#a", nil))}, "PutItem LINE#b": ok,
				"DeleteItem LINE#a": {Refused(stored("LINE#a", nil))}, "DeleteItem LINE#b": ok, "DeleteItem HEAD": ok,
			},
			"rejected b'v-LINE#a', 0 applied, 0 in doubt", "+HEAD +a ~+b -a -b -HEAD",
		},
		{
			"another takes over while a part is in the way",
			map[string][]Answer{
				"PutItem HEAD": ok, "PutItem LINE#a": {Refused(inTheWay)}, "PutItem LINE#b": ok, "GetItem HEAD": {Stored(other), Stored(other)},
				"DeleteItem LINE#a": {Refused(inTheWay)}, "DeleteItem LINE#b": ok, "DeleteItem HEAD": {Refused(other)},
			},
			"rejected b'v-HEAD', 0 applied, 0 in doubt", "+HEAD +a ~+b ?HEAD ?HEAD -a -b -HEAD",
		},
		{
			"overtaken at going live",
			map[string][]Answer{"PutItem HEAD": ok, "PutItem LINE#a": ok, "PutItem LINE#b": ok, "UpdateItem HEAD": {Refused(other)}},
			"rejected *, 0 applied, 0 in doubt", "+HEAD +a +b =HEAD",
		},
		{
			"going live is not answered",
			map[string][]Answer{
				"PutItem HEAD": ok, "PutItem LINE#a": ok, "PutItem LINE#b": ok, "UpdateItem HEAD": {Dropped()}, "GetItem HEAD": {Failed("AccessDeniedException")},
			},
			"unknown, 0 applied, 3 in doubt", "+HEAD +a +b =HEAD ?HEAD",
		},
		{
			"going live is not answered, and another has written since",
			map[string][]Answer{
				"PutItem HEAD": ok, "PutItem LINE#a": ok, "PutItem LINE#b": ok, "UpdateItem HEAD": {Dropped()}, "GetItem HEAD": {Stored(live)},
			},
			"unknown b'v-HEAD' unsure, 0 applied, 3 in doubt", "+HEAD +a +b =HEAD ?HEAD",
		},
		{
			"a part's answer lost, and put",
			map[string][]Answer{
				"PutItem HEAD": ok, "PutItem LINE#a": {Dropped(), OK()}, "GetItem LINE#a": {Stored(nil)}, "PutItem LINE#b": ok, "UpdateItem HEAD": ok,
			},
			"written, 3 applied, 0 in doubt", "+HEAD +a +b ?a +a =HEAD",
		},
		{
			"the claim's answer lost, and another's there",
			map[string][]Answer{"PutItem HEAD": {Dropped()}, "GetItem HEAD": {Stored(live)}},
			"unknown b'v-HEAD' unsure, 0 applied, 0 in doubt", "+HEAD ?HEAD",
		},
		{
			"the claim denied",
			map[string][]Answer{"PutItem HEAD": {Failed("AccessDeniedException")}},
			"failed, 0 applied, 0 in doubt", "+HEAD",
		},
		{
			"a part denied",
			map[string][]Answer{"PutItem HEAD": ok, "PutItem LINE#a": ok, "PutItem LINE#b": {Failed("AccessDeniedException")}},
			"failed, 0 applied, 0 in doubt", "+HEAD ~+a +b",
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			plan := inserting(t, m, newShop())
			clear(claim)
			for name, v := range plan.Steps[0].Requests[0].Put {
				claim[name] = v
			}
			client := &Client{At: c.answers}
			r := protocol(m, client).Insert(context.Background(), entity(t, m, "1"), plan, &write.Tally{})
			got := describe(r)
			if strings.Contains(c.want, "*") && len(r.Stored) == 1 {
				got = "rejected *" + got[strings.Index(got, ","):]
			}
			if got != c.want {
				t.Errorf("%s: %s, want %s: %v", c.name, got, c.want, r.Err)
			}
			sent := strings.Fields(short(client.Names()))
			c.check(t, sent)
			if r.OK() && sent[len(sent)-1] != "=HEAD" {
				t.Errorf("%s: sent %v", c.name, sent)
			}
		})
	}
}

// What is applied, or in doubt, of an insert are the items as they are stored when the
// root is live; the doubt is told by the root's going live.
func TestInsertResult(t *testing.T) {
	m := Of[Shop](t)
	ok := []Answer{OK()}
	for _, lost := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			plan := inserting(t, m, newShop())
			client := &Client{At: map[string][]Answer{"PutItem HEAD": ok, "PutItem LINE#a": ok, "PutItem LINE#b": ok, "UpdateItem HEAD": ok}}
			if lost {
				client.At["UpdateItem HEAD"], client.At["GetItem HEAD"] = []Answer{Dropped()}, []Answer{Failed("AccessDeniedException")}
			}
			r := protocol(m, client).Insert(context.Background(), entity(t, m, "1"), plan, &write.Tally{})
			all, live := r.Applied, plan.Steps[2].Requests[0]
			if lost {
				if all = r.Doubt; len(r.Tellers) != 1 || r.Tellers[0] != live {
					t.Errorf("told by %v", r.Tellers)
				}
			}
			if len(all) != 3 {
				t.Fatalf("%d requests", len(all))
			}
			root := all[2]
			if root.Put["_s"] != nil || item.LivenessOf(&item.Image{Header: root.Reserved.Header(root.Put)}).Attempt == nil || !attr.Same(root.Token, live.Token) {
				t.Errorf("the root: %+v", root)
			}
			if want := attr.ItemSize(root.Put) + m.Reserved.VersionSize(); root.NewSize != want {
				t.Errorf("the root has %d bytes, and is sized as %d", want, root.NewSize)
			}
			for _, q := range all[:2] {
				if q.Put["_a"] == nil || q.Token == nil {
					t.Errorf("%s: %+v", q.Place, q)
				}
			}
		})
	}
}

// A claim that takes another over does so on condition of that other's stage, with a
// version of its own, on which its going live is conditional then.
func TestTakingOver(t *testing.T) {
	m := Of[Shop](t)
	left := item.Stage{State: item.Inserting, Attempt: B("left"), Since: Now}
	ok := []Answer{OK()}
	plan := inserting(t, m, newShop())
	first := plan.Steps[0].Requests[0].Token
	client := &Client{At: map[string][]Answer{
		"PutItem HEAD": {Refused(stored("HEAD", item.Attributes{"_s": left.Value()})), OK()}, "Query": {Page("")},
		"PutItem LINE#a": ok, "PutItem LINE#b": ok, "UpdateItem HEAD": ok,
	}}
	if r := protocol(m, client).Insert(context.Background(), entity(t, m, "1"), plan, &write.Tally{}); !r.OK() {
		t.Fatal(r.Err)
	}
	calls := client.Calls()
	claim, live := calls[1].Input.(*dynamodb.PutItemInput), calls[len(calls)-1].Input
	if got := Condition(claim); got != "attribute_not_exists(PK) OR _s = {attempt: b'left', since: 1700000000, state: 'inserting'}" {
		t.Error(got)
	}
	if attr.Same(claim.Item["_v"], first) || Condition(live) != "_v = "+Show(claim.Item["_v"]) {
		t.Errorf("the claim's version is %s, going live if %s", Show(claim.Item["_v"]), Condition(live))
	}
	if q := calls[2].Input.(*dynamodb.QueryInput); !*q.ConsistentRead {
		t.Error("what was left is not read strongly")
	}
}

// A part takes the place of what another attempt has left, on condition that it is that,
// and only after the claim was seen to stand.
func TestPartInTheWay(t *testing.T) {
	m := Of[Shop](t)
	ok := []Answer{OK()}
	plan := inserting(t, m, newShop())
	client := &Client{At: map[string][]Answer{
		"PutItem HEAD": ok, "PutItem LINE#a": {Refused(stored("LINE#a", item.Attributes{"_a": B("old")})), OK()}, "PutItem LINE#b": ok,
		"GetItem HEAD": {Stored(plan.Steps[0].Requests[0].Put), Stored(plan.Steps[0].Requests[0].Put)}, "UpdateItem HEAD": ok,
	}}
	if r := protocol(m, client).Insert(context.Background(), entity(t, m, "1"), plan, &write.Tally{}); !r.OK() {
		t.Fatal(r.Err)
	}
	var puts []string
	read := 0
	for _, call := range client.Calls() {
		switch {
		case call.Name == "PutItem LINE#a":
			puts = append(puts, fmt.Sprintf("%s after %d reads", Condition(call.Input), read))
		case call.Name == "GetItem HEAD":
			read++
			if !*call.Input.(*dynamodb.GetItemInput).ConsistentRead {
				t.Error("the root is not read strongly")
			}
		}
	}
	if !slices.Equal(puts, []string{"attribute_not_exists(PK) after 0 reads", "attribute_not_exists(PK) OR _a = b'old' after 2 reads"}) {
		t.Error(puts)
	}
}

// What an insert that cannot succeed has put is removed on condition that it is still
// that.
func TestUndo(t *testing.T) {
	m := Of[Shop](t)
	ok := []Answer{OK()}
	plan := inserting(t, m, newShop())
	client := &Client{At: map[string][]Answer{
		"PutItem HEAD": ok, "PutItem LINE#a": {Refused(stored("LINE#a", nil))}, "PutItem LINE#b": ok, "DeleteItem LINE#a": {Refused(nil)}, "DeleteItem LINE#b": ok, "DeleteItem HEAD": ok,
	}}
	protocol(m, client).Insert(context.Background(), entity(t, m, "1"), plan, &write.Tally{})
	want := map[string]string{
		"DeleteItem HEAD":   "_v = " + Show(plan.Steps[0].Requests[0].Token),
		"DeleteItem LINE#a": "_v = " + Show(plan.Steps[1].Requests[0].Token),
		"DeleteItem LINE#b": "_v = " + Show(plan.Steps[1].Requests[1].Token),
	}
	seen := 0
	for _, call := range client.Calls() {
		if condition, ok := want[call.Name]; ok {
			seen++
			if got := Condition(call.Input); got != condition {
				t.Errorf("%s if %s, want %s", call.Name, got, condition)
			}
		}
	}
	if calls := client.Calls(); seen != 3 || calls[len(calls)-1].Name != "DeleteItem HEAD" {
		t.Errorf("sent %v", client.Names())
	}
}

// How a staged delete ends: an entity whose root was marked is gone whatever comes, and
// what an insert that took over has put is left alone.
func TestDelete(t *testing.T) {
	m := Of[Shop](t)
	ok := []Answer{OK()}
	mark := item.Attributes{} // of the plan that runs
	begun := item.NewStage(item.Deleting, Now).Value()
	newer := stored("LINE#a", item.Attributes{"Text": S("new")})
	newer["_v"] = B("newer")
	other := stored("HEAD", item.Attributes{"_s": item.NewStage(item.Inserting, Now).Value()})
	for _, c := range []struct {
		script
		begun bool
	}{
		{script{
			"as it was read",
			map[string][]Answer{"UpdateItem HEAD": ok, "DeleteItem LINE#a": ok, "DeleteItem LINE#b": ok, "DeleteItem HEAD": ok},
			"written, 1 applied, 0 in doubt", "=HEAD -a -b -HEAD",
		}, false},
		{script{
			"the root has changed",
			map[string][]Answer{"UpdateItem HEAD": {Refused(other)}},
			"rejected b'v-HEAD', 0 applied, 0 in doubt", "=HEAD",
		}, false},
		{script{
			"a part has changed",
			map[string][]Answer{"UpdateItem HEAD": ok, "DeleteItem LINE#a": {Refused(newer), OK()}, "GetItem HEAD": {Stored(mark)}, "DeleteItem LINE#b": ok, "DeleteItem HEAD": ok},
			"written, 1 applied, 0 in doubt", "=HEAD -a ?HEAD -a -b -HEAD",
		}, false},
		{script{
			"a part is gone",
			map[string][]Answer{"UpdateItem HEAD": ok, "DeleteItem LINE#a": {Refused(nil)}, "DeleteItem LINE#b": ok, "DeleteItem HEAD": ok},
			"written, 1 applied, 0 in doubt", "=HEAD -a -b -HEAD",
		}, false},
		{script{
			"an insert has taken over",
			map[string][]Answer{"UpdateItem HEAD": ok, "DeleteItem LINE#a": {Refused(newer)}, "GetItem HEAD": {Stored(other)}, "DeleteItem LINE#b": ok},
			"written, 1 applied, 0 in doubt", "=HEAD -a ?HEAD ~-b",
		}, false},
		{script{
			"the root is another's at the end",
			map[string][]Answer{"UpdateItem HEAD": ok, "DeleteItem LINE#a": ok, "DeleteItem LINE#b": ok, "DeleteItem HEAD": {Refused(other)}},
			"written, 1 applied, 0 in doubt", "=HEAD -a -b -HEAD",
		}, false},
		{script{
			"a part denied",
			map[string][]Answer{"UpdateItem HEAD": ok, "DeleteItem LINE#a": ok, "DeleteItem LINE#b": {Failed("AccessDeniedException")}},
			"failed, 1 applied, 0 in doubt", "=HEAD ~-a -b",
		}, false},
		{script{
			"the root's delete not answered, and another's there",
			map[string][]Answer{"UpdateItem HEAD": ok, "DeleteItem LINE#a": ok, "DeleteItem LINE#b": ok, "DeleteItem HEAD": {Dropped()}, "GetItem HEAD": {Stored(other)}},
			"unknown b'v-HEAD' unsure, 1 applied, 0 in doubt", "=HEAD -a -b -HEAD ?HEAD",
		}, false},
		{script{
			"gone on with",
			map[string][]Answer{"DeleteItem LINE#a": ok, "DeleteItem LINE#b": ok, "DeleteItem HEAD": ok},
			"written, 0 applied, 0 in doubt", "-a -b -HEAD",
		}, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			head := stored("HEAD", nil)
			if c.begun {
				head["_s"] = begun
			}
			plan := deleting(t, m, head, stored("LINE#a", nil), stored("LINE#b", nil))
			clear(mark)
			for name, v := range Item("SHOP#1", "HEAD", item.Attributes{"_s": plan.Steps[len(plan.Steps)-1].Requests[0].Header.Stage}) {
				mark[name] = v
			}
			client := &Client{At: c.answers}
			r := protocol(m, client).Delete(context.Background(), entity(t, m, "1"), plan, &write.Tally{})
			if got := describe(r); got != c.want {
				t.Errorf("%s: %s, want %s: %v", c.name, got, c.want, r.Err)
			}
			c.check(t, strings.Fields(short(client.Names())))
			for _, call := range client.Calls() {
				if in, ok := call.Input.(*dynamodb.DeleteItemInput); ok && Condition(in) == "" {
					t.Errorf("%s: %s without a condition", c.name, call.Name)
				}
			}
		})
	}
}

// A root is settled when it is live for so long that every reader sees it so.
func TestLongLive(t *testing.T) {
	p := &staging.Protocol{Now: func() time.Time { return Now }}
	var attempt types.AttributeValue = B("x")
	for _, c := range []struct {
		l    item.Liveness
		want bool
	}{
		{item.Liveness{}, false},
		{item.Liveness{Attempt: attempt, Since: Now}, false},
		{item.Liveness{Attempt: attempt, Since: Now.Add(-30 * time.Minute)}, false},
		{item.Liveness{Attempt: attempt, Since: Now.Add(-31 * time.Minute)}, true},
		{item.Liveness{Since: Now.Add(-time.Hour)}, false},
	} {
		if got := p.LongLive(c.l); got != c.want {
			t.Errorf("%+v: %v", c.l, got)
		}
	}
}
