package change_test

import (
	"errors"
	"testing"

	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/read/snapshot"
	"github.com/itemize/itemize/internal/save/change"
	"github.com/itemize/itemize/internal/save/write"
	. "github.com/itemize/itemize/internal/testing/fakedynamo"
)

// edited returns a loaded shop, and the unresolved write of an edit.
func edited(t *testing.T, m *model.Model, edit func(v *Shop)) (*snapshot.Snapshot, *Shop, *change.UnresolvedWrite) {
	t.Helper()
	s, v := load[Shop](t, m, whole(m, "1"), shop()...)
	edit(v)
	d, err := change.Of(s, nil, v, change.Options{})
	if err != nil {
		t.Fatal(err)
	}
	requests := change.Requests(d.Changes)
	for _, r := range requests {
		r.Prepare()
	}
	return s, v, change.NewUnresolvedWrite(m, d.Changes, requests, d.Keys, nil)
}

// The version that it gave an item identifies an unresolved write; of several the latest counts.
func TestFindApplied(t *testing.T) {
	m := Of[Shop](t)
	_, _, first := edited(t, m, func(v *Shop) { v.Visits = 10 })
	_, _, second := edited(t, m, func(v *Shop) { v.Visits, v.Plan = 20, nil })
	writes := change.UnresolvedWrites{first, second}
	at := first.Changes[0].Place
	for _, c := range []struct {
		name   string
		at     item.Place
		stored item.Attributes
		want   *change.UnresolvedWrite
	}{
		{"the first", at, item.Attributes{"_v": first.Changes[0].Token}, first},
		{"the second", at, item.Attributes{"_v": second.Changes[0].Token}, second},
		{"another's", at, item.Attributes{"_v": B("other")}, nil},
		{"nothing there", at, nil, nil},
		{"a deleted item tells nothing", second.Changes[1].Place, nil, nil},
		{"at another place", second.Changes[1].Place, item.Attributes{"_v": first.Changes[0].Token}, nil},
	} {
		if got := writes.FindApplied(c.at, c.stored); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	same := *first
	if got := (change.UnresolvedWrites{first, &same}).FindApplied(at,
		item.Attributes{"_v": first.Changes[0].Token}); got != &same {
		t.Error("of two it is not the latest")
	}
}

// A later write of an item ends the unresolved writes of it, since their conditions cannot hold any more;
// those that no change touches may still be applied late.
func TestOverwrittenAndLate(t *testing.T) {
	m := Of[Shop](t)
	_, _, head := edited(t, m, func(v *Shop) { v.Visits = 10 })
	_, _, both := edited(t, m, func(v *Shop) { v.Visits, v.Lines[0].Count = 20, 9 })
	_, _, line := edited(t, m, func(v *Shop) { v.Lines[0].Count = 8 })
	_, _, plan := edited(t, m, func(v *Shop) { v.Plan = nil })
	writes := change.UnresolvedWrites{head, both, line, plan}
	if late := writes.Late(head.Changes); len(late) != 2 || late[0] != line || late[1] != plan {
		t.Errorf("%d unresolved writes are late", len(late))
	}
	if late := writes.Late(nil); len(late) != 4 {
		t.Errorf("without changes %d unresolved writes are late", len(late))
	}
	rest := append(change.UnresolvedWrites{}, writes...).Overwritten([]snapshot.Effect{{Place: line.Changes[0].Place}})
	if len(rest) != 2 || rest[0] != head || rest[1] != plan {
		t.Errorf("%d unresolved writes are left", len(rest))
	}
	if rest := append(change.UnresolvedWrites{}, writes...).Without(both); len(rest) != 3 || rest[1] != line {
		t.Errorf("without one, %d are left", len(rest))
	}
	if places := writes.Places(); len(places) != 5 || places[0] != head.Changes[0].Place {
		t.Errorf("places: %v", places)
	}
}

// The stored items resolve an unresolved write: one of its versions shows that it was applied, an
// item that is as before that it was not.
func TestApplied(t *testing.T) {
	m, plain := Of[Shop](t), Of[Plain](t)
	_, _, x := edited(t, m, func(v *Shop) { v.Visits, v.Lines[0].Count, v.Plan = 10, 9, nil })
	token := func(i int) item.Attributes { return item.Attributes{"_v": x.Changes[i].Token} }
	s, v := load[Plain](t, plain, whole(plain, "1"),
		Item("1", "HEAD", item.Attributes{"Name": S("n"), "Count": N("1")}),
		Item("1", "SIDE", item.Attributes{"Side": S("left")}))
	v.Count, v.Side = 2, ""
	d, err := change.Of(s, nil, v, change.Options{})
	if err != nil {
		t.Fatal(err)
	}
	y := change.NewUnresolvedWrite(plain, d.Changes, change.Requests(d.Changes), d.Keys, nil)
	for _, c := range []struct {
		name  string
		x     *change.UnresolvedWrite
		items map[string]item.Attributes
		want  bool
	}{
		{"an own version", x, map[string]item.Attributes{"HEAD": token(0), "LINE#a": token(2)}, true},
		{
			"another's first, an own behind", x,
			map[string]item.Attributes{"HEAD": {"_v": B("other")}, "LINE#a": token(2)},
			true,
		},
		{
			"as before", x,
			map[string]item.Attributes{"HEAD": {"_v": B("v-HEAD")}, "LINE#a": {"_v": B("v-LINE#a")}},
			false,
		},
		{
			"all written by others", x,
			map[string]item.Attributes{"HEAD": {"_v": B("other")}, "LINE#a": {"_v": B("other")}},
			false,
		},
		{"nothing there", x, nil, false},
		{"values, all as written", y, map[string]item.Attributes{"HEAD": {"Count": N("2")}}, true},
		{
			"values, one is not", y,
			map[string]item.Attributes{"HEAD": {"Count": N("2")}, "SIDE": {"Side": S("left")}},
			false,
		},
		{
			"values, as before", y,
			map[string]item.Attributes{"HEAD": {"Count": N("1")}, "SIDE": {"Side": S("left")}},
			false,
		},
	} {
		got, err := c.x.Applied(func(r *write.Request) (item.Attributes, error) { return c.items[r.SK.Text], nil })
		if err != nil || got != c.want {
			t.Errorf("%s: %v %v", c.name, got, err)
		}
	}
	broken := errors.New("broken")
	if _, err := x.Applied(func(*write.Request) (item.Attributes, error) { return nil, broken }); !errors.Is(err,
		broken) {
		t.Error(err)
	}
}

// An unresolved write is independent of the value that it came from: a later edit is not what
// was sent.
func TestUnresolvedWriteIsFrozen(t *testing.T) {
	m := Of[Shop](t)
	s, v, x := edited(t, m, func(v *Shop) { v.Lines[0].Text, v.Notes[0].Text, v.ID = "sent", "sent", "1" })
	v.Lines[0].Text, v.Notes[0].Text, v.ID = "later", "later", "2"
	if got := x.Changes[0].Record.(*Line).Text + x.Changes[1].Record.(*Note).Text +
		x.Keys.Value.(*Shop).ID; got != "sentsent1" {
		t.Errorf("the unresolved write holds %s", got)
	}
	v.ID = "1"
	s.Apply(x.Keys, change.Effects(x.Changes, change.Requests(x.Changes)))
	d, err := change.Of(s, nil, v, change.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := lines("update LINE#a Text='later' if "+Show(x.Changes[0].Token), "update NOTE#007 Text='later' if "+
		Show(x.Changes[1].Token))
	if got := show(d.Changes); got != want {
		t.Errorf("applied, the rest is %s", got)
	}
}

// A save while a write is unresolved makes sure that the write cannot be applied later. It gives an
// item of the unresolved write a new version, unless it writes one anyway.
func TestFence(t *testing.T) {
	m := Of[Shop](t)
	fence := "update HEAD if b'v-HEAD'"
	for _, c := range []struct {
		name        string
		first, edit func(v *Shop)
		want        string
	}{
		{"taken back", func(v *Shop) { v.Visits = 10 }, func(*Shop) {}, fence},
		{
			"another item is written", func(v *Shop) { v.Visits = 10 }, func(v *Shop) { v.Lines[0].Count = 9 },
			lines("update LINE#a Count=9 if b'v-LINE#a'", fence),
		},
		{
			"the item itself is written", func(v *Shop) { v.Visits = 10 }, func(v *Shop) { v.Visits = 20 },
			"update HEAD Visits=20 if b'v-HEAD'",
		},
		{
			"of two items one is written", func(v *Shop) { v.Visits, v.Plan = 10, nil }, func(v *Shop) { v.Plan = nil },
			"delete PLAN if b'v-PLAN'",
		},
		{"of two items none is", func(v *Shop) { v.Visits, v.Plan = 10, nil }, func(*Shop) {}, fence},
		{"a delete taken back", func(v *Shop) { v.Plan = nil }, func(*Shop) {}, "update PLAN if b'v-PLAN'"},
	} {
		s, _, x := edited(t, m, c.first)
		_, v := load[Shop](t, m, whole(m, "1"), shop()...)
		c.edit(v)
		d, err := change.Of(s, change.UnresolvedWrites{x}, v, change.Options{})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := show(d.Changes); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
		apply(s, d)
		if again, err := change.Of(s, nil, v, change.Options{}); err != nil || len(again.Changes) > 0 {
			t.Errorf("%s: written, it is still changed: %s %v", c.name, show(again.Changes), err)
		}
	}
}

// One fence keeps out all unresolved writes of its item.
func TestOneFenceForAll(t *testing.T) {
	m := Of[Shop](t)
	s, _, x := edited(t, m, func(v *Shop) { v.Visits = 10 })
	_, _, y := edited(t, m, func(v *Shop) { v.Visits, v.Plan = 20, nil })
	_, v := load[Shop](t, m, whole(m, "1"), shop()...)
	d, err := change.Of(s, change.UnresolvedWrites{x, y}, v, change.Options{})
	if err != nil || show(d.Changes) != "update HEAD if b'v-HEAD'" {
		t.Errorf("%v", err)
	}
}

// The put of an item that does not exist cannot be fenced off. Until the put can no longer be applied,
// a save without that item is refused.
func TestCannotBeFenced(t *testing.T) {
	m := Of[Shop](t)
	s, _, x := edited(t, m, func(v *Shop) { v.Lines = append(v.Lines, Line{SKU: "new"}) })
	_, v := load[Shop](t, m, whole(m, "1"), shop()...)
	_, err := change.Of(s, change.UnresolvedWrites{x}, v, change.Options{})
	var open *change.UnresolvedError
	if !errors.As(err, &open) || !errors.Is(open.Err, change.ErrLate) || len(open.Places) != 1 ||
		open.Places[0].SK.Text != "LINE#new" {
		t.Errorf("%v", err)
	}
	v.Lines = append(v.Lines, Line{SKU: "new", Count: 5})
	d, err := change.Of(s, change.UnresolvedWrites{x}, v, change.Options{})
	if err != nil || show(d.Changes) != "put LINE#new Count=5 Text='' if absent" {
		t.Errorf("%v", err)
	}
}
