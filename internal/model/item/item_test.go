package item

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
)

func text(s string) types.AttributeValue    { return &types.AttributeValueMemberS{Value: s} }
func number(n string) types.AttributeValue  { return &types.AttributeValueMemberN{Value: n} }
func bytesOf(b string) types.AttributeValue { return &types.AttributeValueMemberB{Value: []byte(b)} }

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
		{
			Place{composite, key.Scalar{Type: 'S', Text: "p"}, key.Scalar{Type: 'S', Text: "s"}},
			Attributes{"PK": text("p"), "SK": text("s")},
			"p s",
		},
		{
			Place{composite, key.Scalar{Type: 'N', Text: "1234"}, key.Scalar{Type: 'B', Text: "\x01"}},
			Attributes{"PK": number("1234"), "SK": bytesOf("\x01")},
			"1234 0x01",
		},
		{Place{Table: simple, PK: key.Scalar{Type: 'S', Text: "p"}}, Attributes{"id": text("p")}, "simple p"},
	} {
		if !attr.SameItem(c.at.Key(), c.key) || c.at.KeySize() != attr.ItemSize(c.key) || c.at.String() != c.text ||
			c.at.Table.KeyAttributes() != len(c.key) {
			t.Errorf("%s: %v of %d bytes", c.at, c.at.Key(), c.at.KeySize())
		}
	}
	a, b := Place{Table: simple, PK: key.Scalar{Type: 'S', Text: "1"}},
		Place{Table: simple, PK: key.Scalar{Type: 'N', Text: "1"}}
	if img := (Image{Place: a}); a == b || !img.Is(a) || img.Is(b) {
		t.Error("a string and a number are one place")
	}
}

// The reserved attributes of an item are those of its model; others' are its own business.
func TestHeader(t *testing.T) {
	a := Attributes{"_v": bytesOf("v"), "ttl": number("5"), "_s": text("s"), "_a": bytesOf("a")}
	all := Reserved{Version: "_v", TTL: "ttl"}
	if h := all.Header(a); h.Version == nil || h.Expiry == nil || h.Stage == nil || h.Incarnation == nil {
		t.Errorf("%+v", h)
	}
	if h := (Reserved{}).Header(a); h.Version != nil || h.Expiry != nil || h.Stage == nil || h.Incarnation == nil {
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
	}{
		{nil, false},
		{number("999"), true},
		{number("1000"), true},
		{number("1000.5"), false},
		{number("1001"), false},
		{number("1E2"), true},
		{text("1"), false},
		{number("0"), true},
	} {
		if got := (Reserved{TTL: "ttl"}).Expired(Attributes{"ttl": c.ttl}, now); got != c.want {
			t.Errorf("%v: %v", c.ttl, got)
		}
		if (Reserved{}).Expired(Attributes{"ttl": c.ttl}, now) {
			t.Errorf("%v: expired without a TTL", c.ttl)
		}
	}
}

// A write changes the size of a header by the version that it adds or replaces, and the mark
// of a staged insert that it drops. The incarnation stays.
func TestGrows(t *testing.T) {
	marked := Header{Version: NewToken(), Stage: Reserved{}.MarkStaged().Value, Incarnation: NewToken()}
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
		{"dropping the mark", Reserved{Version: "_v"}, marked, true, -Reserved{}.MarkStaged().Size()},
		{"dropping none", Reserved{Version: "_v"}, Header{Version: NewToken(), Incarnation: NewToken()}, true, 0},
		{"keeping it", Reserved{Version: "_v"}, marked, false, 0},
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

// A hidden item is recognized by its version alone, and the condition names that version: another
// version is another item, even of the same incarnation. An item without a version is recognized by its
// incarnation. An item with neither is not replaced.
func TestHidden(t *testing.T) {
	r := Reserved{Version: "_v"}
	item := func(version, incarnation string) Attributes {
		a := Attributes{}
		if version != "" {
			a["_v"] = bytesOf(version)
		}
		if incarnation != "" {
			a["_a"] = bytesOf(incarnation)
		}
		return a
	}
	for _, c := range []struct {
		name          string
		found, stored Attributes
		is            bool
		term          string
	}{
		{"the same", item("v", "x"), item("v", "x"), true, "#0 = :0 _v"},
		{"written since", item("v", "x"), item("w", "x"), false, "#0 = :0 _v"},
		{"gone", item("v", "x"), nil, false, "#0 = :0 _v"},
		{"its version lost", item("v", "x"), item("", "x"), false, "#0 = :0 _v"},
		{"without a version", item("", "x"), item("", "x"), true, "#0 = :0 _a"},
		{"without a version, and of another", item("", "x"), item("", "y"), false, "#0 = :0 _a"},
		{"without a version, and written since", item("", "x"), item("v", "x"), false, "#0 = :0 _a"},
		{"with neither", item("", ""), item("", ""), false, ""},
	} {
		var x attr.Expression
		h := r.HiddenOf(c.found)
		if got := h.Is(r.Header(c.stored)); got != c.is || h.Size != attr.ItemSize(c.found) {
			t.Errorf("%s: %v, of %d bytes", c.name, got, h.Size)
		}
		got := r.Instead(&x, h)
		for _, name := range x.Names() {
			got += " " + name
		}
		if got != c.term {
			t.Errorf("%s: %q", c.name, got)
		}
	}
	var none *Hidden
	if none.Is(Header{}) || r.Instead(new(attr.Expression), none) != "" {
		t.Error("nothing was found, and is recognized")
	}
}

// Assignments know their size, and change a header where they are to it.
func TestAssignments(t *testing.T) {
	var h Header
	names := Reserved{State: "state", Incarnation: "of"}
	stage, incarnation := names.AssignStage(NewStage(Inserting, time.Unix(7, 0))), names.AssignIncarnation(bytesOf("x"))
	if !names.Set(&h, stage) || !names.Set(&h, incarnation) || names.Set(&h, Assignment{Name: "x", Value: text("y")}) ||
		names.Set(&h, Assignment{Name: "_s", Value: text("y")}) || h.Stage == nil || h.Incarnation == nil {
		t.Errorf("%+v", h)
	}
	if !names.Set(&h, names.DropMark()) || h.Stage != nil || h.Incarnation == nil {
		t.Errorf("%+v", h)
	}
	to := Attributes{}
	if n := incarnation.Into(to); n != incarnation.Size() || n != attr.ItemSize(to) || names.DropMark().Size() != 0 ||
		to["of"] == nil {
		t.Errorf("%d bytes: %v", n, to)
	}
}
