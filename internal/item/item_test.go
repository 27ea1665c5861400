package item

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/attr"
	"github.com/itemize/itemize/internal/key"
	"github.com/itemize/itemize/internal/schema"
)

func text(s string) types.AttributeValue   { return &types.AttributeValueMemberS{Value: s} }
func number(n string) types.AttributeValue { return &types.AttributeValueMemberN{Value: n} }
func bytes(b string) types.AttributeValue  { return &types.AttributeValueMemberB{Value: []byte(b)} }

var (
	composite = &Table{Name: "composite", Hash: "PK", Range: "SK"}
	simple    = &Table{Name: "simple", Hash: "id"}
)

// A place gives the key that requests take, its size, and its name in messages.
func TestPlace(t *testing.T) {
	for _, c := range []struct {
		at   Place
		key  Attributes
		text string
	}{
		{Place{composite, key.Scalar{Type: 'S', Text: "p"}, key.Scalar{Type: 'S', Text: "s"}}, Attributes{"PK": text("p"), "SK": text("s")}, "p s"},
		{Place{composite, key.Scalar{Type: 'N', Text: "1234"}, key.Scalar{Type: 'B', Text: "\x01"}}, Attributes{"PK": number("1234"), "SK": bytes("\x01")}, "1234 0x01"},
		{Place{Table: simple, PK: key.Scalar{Type: 'S', Text: "p"}}, Attributes{"id": text("p")}, "simple p"},
	} {
		if !attr.SameItem(c.at.Key(), c.key) || c.at.KeySize() != attr.ItemSize(c.key) || c.at.String() != c.text || c.at.Table.KeyAttributes() != len(c.key) {
			t.Errorf("%s: %v of %d bytes", c.at, c.at.Key(), c.at.KeySize())
		}
	}
	a, b := Place{Table: simple, PK: key.Scalar{Type: 'S', Text: "1"}}, Place{Table: simple, PK: key.Scalar{Type: 'N', Text: "1"}}
	if img := (Image{Place: a}); a == b || !img.Is(a) || img.Is(b) {
		t.Error("a string and a number are one place")
	}
}

// The reserved attributes of an item are those of its model; others' are its own business.
func TestHeader(t *testing.T) {
	a := Attributes{"_v": bytes("v"), "ttl": number("5"), "_s": text("s"), "_a": bytes("a")}
	all := Reserved{Version: "_v", TTL: "ttl"}
	if h := all.Header(a); h.Version == nil || h.Expiry == nil || h.Stage == nil || h.Attempt == nil {
		t.Errorf("%+v", h)
	}
	if h := (Reserved{}).Header(a); h.Version != nil || h.Expiry != nil || h.Stage == nil || h.Attempt == nil {
		t.Errorf("%+v", h)
	}
	kind := &schema.Item{Expiry: &schema.Value{}}
	for name, want := range map[string]bool{"_v": true, "ttl": true, "_s": true, "_a": true, "x": false, "": false} {
		if all.Has(name, kind) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
	if all.Has("ttl", &schema.Item{}) {
		t.Error("the TTL attribute is reserved on items that do not expire")
	}
	if (Reserved{}).Has("", kind) || (Reserved{}).Has("_v", kind) {
		t.Error("a model without versions reserves their name")
	}
	if got := len(all.Names()) - len((Reserved{}).Names()); got != 1 {
		t.Errorf("the TTL attribute adds %d names", got)
	}
}

// An item is expired from the second on that its TTL attribute says, if that is a number.
func TestExpired(t *testing.T) {
	now := time.Unix(1000, 999_999_999)
	for _, c := range []struct {
		ttl  types.AttributeValue
		want bool
	}{{nil, false}, {number("999"), true}, {number("1000"), true}, {number("1000.5"), false}, {number("1001"), false}, {number("1E2"), true}, {text("1"), false}, {number("0"), true}} {
		if got := (Reserved{TTL: "ttl"}).Expired(Attributes{"ttl": c.ttl}, now); got != c.want {
			t.Errorf("%v: %v", c.ttl, got)
		}
		if (Reserved{}).Expired(Attributes{"ttl": c.ttl}, now) {
			t.Errorf("%v: expired without a TTL", c.ttl)
		}
	}
}

// A write changes the size of a header by the version that it adds or replaces, and the
// attempt that it drops.
func TestGrows(t *testing.T) {
	for _, c := range []struct {
		name     string
		reserved Reserved
		h        Header
		drop     bool
		want     int
	}{
		{"the first version", Reserved{Version: "_v"}, Header{}, false, 10},
		{"the next", Reserved{Version: "_v"}, Header{Version: NewToken()}, false, 0},
		{"in place of a longer one", Reserved{Version: "_v"}, Header{Version: text("0123456789")}, false, -2},
		{"dropping the attempt", Reserved{Version: "_v"}, Header{Version: NewToken(), Attempt: NewToken()}, true, -10},
		{"keeping it", Reserved{Version: "_v"}, Header{Version: NewToken(), Attempt: NewToken()}, false, 0},
		{"without versions", Reserved{}, Header{Version: NewToken()}, false, 0},
	} {
		if got := c.reserved.Grows(c.h, c.drop); got != c.want {
			t.Errorf("%s: %d", c.name, got)
		}
	}
	if a, b := NewToken(), NewToken(); attr.Same(a, b) || attr.ValueSize(a) != TokenSize {
		t.Errorf("%v, %v", a, b)
	}
}

// A hidden item is recognized by its stage or its attempt, and can be named in a
// condition, unless only its expiry hides it.
func TestHidden(t *testing.T) {
	stage := Stage{Inserting, bytes("x"), time.Unix(7, 0)}
	for _, c := range []struct {
		name   string
		h      *Hidden
		stored Header
		is     bool
		term   string
	}{
		{"nothing", nil, Header{}, false, ""},
		{"a part", &Hidden{Attempt: bytes("x")}, Header{Attempt: bytes("x")}, true, "#0 = :0"},
		{"another part", &Hidden{Attempt: bytes("x")}, Header{Attempt: bytes("y")}, false, "#0 = :0"},
		{"a part that was written since", &Hidden{Attempt: bytes("x")}, Header{}, false, "#0 = :0"},
		{"a root", &Hidden{Stage: stage.Value(), Attempt: bytes("x")}, Header{Stage: stage.Value()}, true, "#0 = :0"},
		{"another root", &Hidden{Stage: stage.Value()}, Header{Stage: text("other")}, false, "#0 = :0"},
		{"an expired item", &Hidden{Expired: true}, Header{}, false, ""},
		{"an expired part", &Hidden{Expired: true, Attempt: bytes("x")}, Header{Attempt: bytes("x")}, true, ""},
	} {
		var x attr.Expression
		if got := c.h.Is(c.stored); got != c.is {
			t.Errorf("%s: %v", c.name, got)
		}
		if got := c.h.Term(&x); got != c.term {
			t.Errorf("%s: %q", c.name, got)
		}
	}
	img := Image{Size: 5, Expired: true, Header: Header{Attempt: bytes("x"), Stage: text("s")}}
	if h := img.HiddenOf(); h.Size != 5 || !h.Expired || !attr.Same(h.Attempt, bytes("x")) || h.Stage != nil {
		t.Errorf("%+v", h)
	}
}

// A root is live with an attempt only if it went live with one: not while it carries a
// stage, is expired, or is none.
func TestLivenessOf(t *testing.T) {
	l := Liveness{bytes("x"), time.Unix(7, 0)}
	live := Header{Attempt: l.Assign().Value}
	if got := LivenessOf(&Image{Header: live}); !attr.Same(got.Attempt, l.Attempt) || !got.Since.Equal(l.Since) {
		t.Errorf("%+v", got)
	}
	staged := live
	staged.Stage = NewStage(Deleting, l.Since).Value()
	for name, root := range map[string]*Image{
		"none": nil, "not staged": {}, "not live": {Header: staged}, "expired": {Header: live, Expired: true}, "a part's": {Header: Header{Attempt: bytes("x")}},
	} {
		if got := LivenessOf(root); got.Attempt != nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// A stage of a form that is not known is a stage all the same: its root is not live.
func TestStageOfAnotherForm(t *testing.T) {
	if _, ok := (Header{}).ReadStage(); ok {
		t.Error("no stage is one")
	}
	for _, v := range []types.AttributeValue{text("x"), &types.AttributeValueMemberM{}} {
		st, ok := Header{Stage: v}.ReadStage()
		if !ok || st.Pending() != "its root is not live" {
			t.Errorf("%v: %+v", v, st)
		}
	}
	if a, b := NewStage(Inserting, time.Now()), NewStage(Inserting, time.Now()); a.Is(b) || !a.Is(a) {
		t.Error("two stages are of one attempt")
	}
}

// Assignments know their size, and change a header where they are to it.
func TestAssignments(t *testing.T) {
	var h Header
	stage, attempt := NewStage(Inserting, time.Unix(7, 0)).Assign(), AssignAttempt(bytes("x"))
	if !h.Set(stage) || !h.Set(attempt) || h.Set(Assignment{Name: "x", Value: text("y")}) || h.Stage == nil || h.Attempt == nil {
		t.Errorf("%+v", h)
	}
	if !h.Set(EndStage) || !h.Set(DropAttempt) || h.Stage != nil || h.Attempt != nil {
		t.Errorf("%+v", h)
	}
	to := Attributes{}
	if n := attempt.Into(to); n != attempt.Size() || n != attr.ItemSize(to) || DropAttempt.Size() != 0 || to[schema.Attempt] == nil {
		t.Errorf("%d bytes: %v", n, to)
	}
}
