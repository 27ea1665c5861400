package change_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/save/change"
	. "github.com/itemize/itemize/internal/testing/fakedynamo"
)

// A write of an item without a version requires the old values: those of the attributes that an update
// changes, or all that a delete or put replaces.
func TestWithoutVersion(t *testing.T) {
	m := Of[Plain](t)
	items := []item.Attributes{
		Item("1", "HEAD", item.Attributes{"Name": S("n"), "Count": N("1"), "x": S("y")}),
		Item("1", "SIDE", item.Attributes{"Side": S("left")}),
	}
	for _, c := range []struct {
		name string
		edit func(v *Plain)
		want string
	}{
		{"an update", func(v *Plain) { v.Count = 2 }, "update 1 HEAD Count=2 if Count=1 _a"},
		{"a delete", func(v *Plain) { v.Side = "" }, "delete 1 SIDE if Side='left'"},
		{
			"a put", func(v *Plain) { v.Name = strings.Repeat("n", 405_000) },
			"put 1 HEAD Count=1 Name=(405002) x='y' if Count=1 Name='n' x='y'",
		},
	} {
		s, v := load[Plain](t, m, whole(m, "1"), items...)
		c.edit(v)
		d := diff(t, s, v, change.Options{})
		if got := show(d.Changes); got != c.want {
			t.Errorf("%s: %s", c.name, got)
		}
		apply(s, d)
		unchanged(t, c.name, s, v)
	}

	// an item of a model with versions that another program has put without one
	versions := Of[Shop](t)
	head := stored("HEAD", item.Attributes{"Name": S("n"), "Open": Bool(true), "Visits": N("1")})
	delete(head, "_v")
	s, v := load[Shop](t, versions, whole(versions, "1"), head)
	v.Visits = 2
	d, err := change.Of(s, nil, v, change.Options{})
	if err != nil || show(d.Changes) != "update HEAD Visits=2 if Visits=1 _a" {
		t.Errorf("%v", err)
	}
	apply(s, d)
	if v.Visits = 3; s.Root().Raw != nil || s.Root().Header.Version == nil {
		t.Error("written, it has no version")
	}
}

// A condition cannot compare any number of attributes: what would have to is refused, with
// what to do instead.
func TestTooManyToCompare(t *testing.T) {
	m := Of[Plain](t)
	head := Item("1", "HEAD", item.Attributes{"Name": S("n"), "Count": N("1")})
	side := Item("1", "SIDE", item.Attributes{"Side": S("left")})
	for i := range 160 {
		side[fmt.Sprintf("a%03d", i)] = S("x")
	}
	s, v := load[Plain](t, m, whole(m, "1"), head, side)
	v.Side = strings.Repeat("x", 405_000)
	_, err := change.Of(s, nil, v, change.Options{})
	if err == nil || !strings.Contains(err.Error(), "has no version, and its") {
		t.Error(err)
	}
}

// A save that checks what it does not write checks every other stored item, on its
// version.
func TestChecks(t *testing.T) {
	m := Of[Shop](t)
	s, v := load[Shop](t, m, whole(m, "1"), shop()...)
	v.Lines[1].Count = 9
	d := diff(t, s, v, change.Options{Checks: true})
	want := lines(
		"check HEAD if b'v-HEAD'", "check PLAN if b'v-PLAN'", "check ADDRESS if b'v-ADDRESS'",
		"check LINE#a if b'v-LINE#a'",
		"check LINE#c if b'v-LINE#c'", "check NOTE#007 if b'v-NOTE#007'", "check STOCK#x if b'v-STOCK#x'",
	)
	if got := show(d.Checks); got != want || show(d.Changes) != "update LINE#b Count=9 if b'v-LINE#b'" {
		t.Errorf("%s\n%s", got, show(d.Changes))
	}
}

// A new item takes the place of one that is known to be stored and not there.
func TestInPlaceOfHidden(t *testing.T) {
	m := Of[Shop](t)
	s, v := load[Shop](t, m, whole(m, "1"), shop()...)
	v.Lines = append(v.Lines, Line{SKU: "d"})
	at := m.Place(m.Schema.Items[0], In(Text("SHOP#1")), Text("LINE#d"))
	s.Hide(at, &item.Hidden{Size: 5000, Header: item.Header{Version: B("x")}})
	d, err := change.Of(s, nil, v, change.Options{})
	if err != nil || show(d.Changes) != "put LINE#d Count=0 Text='' if absent or left over" ||
		d.Changes[0].OldSize != 5000 {
		t.Fatalf("%v: %s", err, show(d.Changes))
	}
	apply(s, d)
	if s.HiddenAt(at) != nil {
		t.Error("written, it is still hidden")
	}
}
