package change_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/read/selection"
	"github.com/itemize/itemize/internal/read/snapshot"
	"github.com/itemize/itemize/internal/save/change"
	"github.com/itemize/itemize/internal/save/write"
	. "github.com/itemize/itemize/internal/testing/fakedynamo"
)

// load makes the snapshot of a selection of items, and the value that they give.
func load[T any](t *testing.T, m *model.Model, sel selection.Selection, items ...item.Attributes) (*snapshot.Snapshot,
	*T,
) {
	t.Helper()
	s, err := snapshot.Loaded(m, sel)
	if err != nil {
		t.Fatal(err)
	}
	v := new(T)
	if err := errors.Join(s.Identify(v), s.Decode(v, Images(t, m, items...))); err != nil {
		t.Fatal(err)
	}
	return s, v
}

// whole selects the entity with these key values.
func whole(m *model.Model, values ...any) selection.Selection { return m.Select(values) }

// part selects those items of an entity whose keys begin with a prefix.
func part(m *model.Model, id, prefix string) selection.Selection {
	sel := whole(m, id)
	sel.Whole = false
	sel.Parts[0].Range = selection.Range{Kind: selection.Prefix, Low: Text(prefix)}
	return sel
}

// stored makes an item of the shop 1; its version is named after its key.
func stored(sk string, more item.Attributes) item.Attributes {
	a := Item("SHOP#1", sk, more)
	a["_v"] = B("v-" + sk)
	return a
}

// shop is the items of the shop of most tests.
func shop() []item.Attributes {
	return []item.Attributes{
		stored("HEAD", item.Attributes{"Name": S("corner"), "Open": Bool(true), "Visits": N("3")}),
		stored("PLAN", item.Attributes{"Tier": S("gold"), "Seats": N("2")}),
		stored("ADDRESS", item.Attributes{"Street": S("High"), "City": S("Ayr")}),
		stored("LINE#a", item.Attributes{"Count": N("1"), "Text": S("one")}),
		stored("LINE#b", item.Attributes{"Count": N("2"), "Text": S("two")}),
		stored("LINE#c", item.Attributes{"Count": N("3"), "Text": S("three")}),
		stored("NOTE#007", item.Attributes{"Text": S("seven")}),
		stored("STOCK#x", item.Attributes{"Count": N("9"), "Place": S("shelf")}),
	}
}

// show describes changes, one line each: the kind of write, the attributes that are set and removed,
// and the condition.
func show(changes []*change.Change) string {
	var lines []string
	for _, ch := range changes {
		text := fmt.Sprintf("%s %s", ch.Kind, ch.SK.Plain())
		if ch.PK.Text != "SHOP#1" {
			text = fmt.Sprintf("%s %s", ch.Kind, ch.Place)
		}
		for _, a := range sorted(ch.Set) {
			text += " " + a.Name + "=" + short(Show(a.Value))
		}
		for _, a := range sorted(ch.Remove) {
			text += " -" + a.Name
		}
		e := ch.Expect
		switch {
		case e.Absent && e.Instead != nil:
			text += " if absent or left over"
		case e.Absent:
			text += " if absent"
		case e.Version != nil:
			text += " if " + Show(e.Version)
		case e.Old != nil:
			text += " if"
			for _, a := range e.Old.Values {
				text += " " + a.Name
				if a.Value != nil {
					text += "=" + short(Show(a.Value))
				}
			}
		}
		lines = append(lines, text)
	}
	return strings.Join(lines, "\n")
}

func sorted(all []item.Assignment) []item.Assignment {
	return slices.SortedFunc(slices.Values(all),
		func(a, b item.Assignment) int { return strings.Compare(a.Name, b.Name) })
}

func short(text string) string {
	if len(text) > 30 {
		return fmt.Sprintf("(%d)", len(text))
	}
	return text
}

func lines(all ...string) string { return strings.Join(all, "\n") }

// diff returns the changes of a value.
func diff(t *testing.T, s *snapshot.Snapshot, v any, o change.Options) *change.Diff {
	t.Helper()
	d, err := change.Of(s, nil, v, o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// unchanged checks that a value that was written has no changes.
func unchanged(t *testing.T, name string, s *snapshot.Snapshot, v any) {
	t.Helper()
	switch again, err := change.Of(s, nil, v, change.Options{}); {
	case err != nil:
		t.Errorf("%s: %v", name, err)
	case len(again.Changes) > 0:
		t.Errorf("%s: written, it is still changed: %s", name, show(again.Changes))
	}
}

// apply notes in a snapshot that all changes of a diff were written.
func apply(s *snapshot.Snapshot, d *change.Diff) {
	all := change.Requests(d.Changes)
	for _, r := range all {
		r.Prepare()
	}
	s.Apply(d.Keys, change.Effects(d.Changes, all))
	if d.Keys.KeyFields != nil {
		s.Arrive(d.Keys)
	}
}

// Each edit of a loaded entity writes the items and attributes that differ, and no others.
func TestDiff(t *testing.T) {
	m := Of[Shop](t)
	for _, c := range []struct {
		name string
		edit func(v *Shop)
		want string
	}{
		{"nothing", func(*Shop) {}, ""},
		{"set to what it was", func(v *Shop) { v.Name, v.Lines = "corner", slices.Clone(v.Lines) }, ""},
		{"one attribute", func(v *Shop) { v.Visits++ }, "update HEAD Visits=4 if b'v-HEAD'"},
		{
			"two attributes of one item", func(v *Shop) { v.Visits, v.Name = 5, "new" },
			"update HEAD Name='new' Visits=5 if b'v-HEAD'",
		},
		{
			"a zero value is a value", func(v *Shop) { v.Visits, v.Open = 0, false },
			"update HEAD Open=false Visits=0 if b'v-HEAD'",
		},
		{
			"the root stays when it is empty", func(v *Shop) { v.Name, v.Visits, v.Open = "", 0, false },
			"update HEAD Name='' Open=false Visits=0 if b'v-HEAD'",
		},
		{"through a pointer", func(v *Shop) { v.Plan.Seats = 3 }, "update PLAN Seats=3 if b'v-PLAN'"},
		{"a pointer to the same", func(v *Shop) { v.Plan = &Plan{Tier: "gold", Seats: 2} }, ""},
		{
			"a pointer to nothing is something", func(v *Shop) { v.Plan = &Plan{} },
			"update PLAN Seats=0 Tier='' if b'v-PLAN'",
		},
		{"a pointer that became nil", func(v *Shop) { v.Plan = nil }, "delete PLAN if b'v-PLAN'"},
		{"a singleton that became zero", func(v *Shop) { v.Address = Address{} }, "delete ADDRESS if b'v-ADDRESS'"},
		{"a singleton that is new", func(v *Shop) { v.Extra = "x" }, "put EXTRA Extra='x' if absent"},

		{"an element", func(v *Shop) { v.Lines[1].Count = 7 }, "update LINE#b Count=7 if b'v-LINE#b'"},
		{
			"an element added", func(v *Shop) { v.Lines = append(v.Lines, Line{SKU: "d", Text: "four"}) },
			"put LINE#d Count=0 Text='four' if absent",
		},
		{
			"an element removed", func(v *Shop) { v.Lines = slices.Delete(v.Lines, 0, 1) },
			"delete LINE#a if b'v-LINE#a'",
		},
		{
			"all removed", func(v *Shop) { v.Lines = nil },
			lines("delete LINE#a if b'v-LINE#a'", "delete LINE#b if b'v-LINE#b'", "delete LINE#c if b'v-LINE#c'"),
		},
		{"empty in place of nil", func(v *Shop) {
			v.Lines, v.Stock, v.Notes = v.Lines[:3:3], map[string]Stock{"x": v.Stock["x"]}, []*Note{v.Notes[0]}
		}, ""},
		{"reordered", func(v *Shop) { slices.Reverse(v.Lines) }, ""},
		{
			"swapped keys", func(v *Shop) { v.Lines[0].SKU, v.Lines[1].SKU = "b", "a" },
			lines("update LINE#b Count=1 Text='one' if b'v-LINE#b'", "update LINE#a Count=2 Text='two' if b'v-LINE#a'"),
		},
		{
			"an element whose key changed", func(v *Shop) { v.Lines[0].SKU = "z" },
			lines("put LINE#z Count=1 Text='one' if absent", "delete LINE#a if b'v-LINE#a'"),
		},
		{
			"an element behind a pointer", func(v *Shop) { v.Notes[0].Text = "x" },
			"update NOTE#007 Text='x' if b'v-NOTE#007'",
		},
		{
			"an entry", func(v *Shop) { v.Stock["x"] = Stock{Count: 9, Place: "cellar"} },
			"update STOCK#x Place='cellar' if b'v-STOCK#x'",
		},
		{"an entry added", func(v *Shop) { v.Stock["y"] = Stock{} }, "put STOCK#y Count=0 Place='' if absent"},
		{"an entry removed", func(v *Shop) { delete(v.Stock, "x") }, "delete STOCK#x if b'v-STOCK#x'"},
		{
			"an entry moved", func(v *Shop) { v.Stock = map[string]Stock{"y": v.Stock["x"]} },
			lines("put STOCK#y Count=9 Place='shelf' if absent", "delete STOCK#x if b'v-STOCK#x'"),
		},
		{
			"several items", func(v *Shop) { v.Visits, v.Plan, v.Lines[2].Text = 4, nil, "" },
			lines("update HEAD Visits=4 if b'v-HEAD'", "delete PLAN if b'v-PLAN'",
				"update LINE#c Text='' if b'v-LINE#c'"),
		},
	} {
		s, v := load[Shop](t, m, whole(m, "1"), shop()...)
		c.edit(v)
		d, err := change.Of(s, nil, v, change.Options{})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := show(d.Changes); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
		for _, ch := range d.Changes {
			if ch.Label != "fakedynamo.Shop" || ch.Item == nil || ch.Root != (ch.SK.Text == "HEAD") {
				t.Errorf("%s: a request of %s, root %v", c.name, ch.Label, ch.Root)
			}
		}
		apply(s, d)
		unchanged(t, c.name, s, v)
	}
}

// An entity that is new is put as a whole, item by item, each only if it is absent; an
// empty singleton is no item, an empty root is one.
func TestNew(t *testing.T) {
	m := Of[Shop](t)
	for _, c := range []struct {
		name  string
		value Shop
		want  string
	}{
		{"empty", Shop{ID: "1"}, "put HEAD Name='' Open=false Visits=0 if absent"},
		{
			"full",
			Shop{
				ID: "1", Name: "n", Plan: &Plan{}, Address: Address{City: "Ayr"}, Lines: []Line{{SKU: "a"}},
				Notes: []*Note{{N: 1}}, Stock: map[string]Stock{"x": {Count: 1}},
			},
			lines(
				"put HEAD Name='n' Open=false Visits=0 if absent", "put PLAN Seats=0 Tier='' if absent",
				"put ADDRESS City='Ayr' Street='' if absent", "put LINE#a Count=0 Text='' if absent",
				"put NOTE#001 Text='' if absent", "put STOCK#x Count=1 Place='' if absent",
			),
		},
	} {
		s := snapshot.New(m, &c.value)
		d := diff(t, s, &c.value, change.Options{})
		if got := show(d.Changes); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
		for _, ch := range d.Changes {
			if !ch.New || ch.OldSize != 0 || ch.NewSize != attr.ItemSize(ch.Put)+len("_v")+item.TokenSize {
				t.Errorf("%s: %s has %d bytes, %v", c.name, ch.Place, ch.NewSize, ch.Put)
			}
		}
		apply(s, d)
		if s.Fresh {
			t.Errorf("%s: written, it is still new", c.name)
		}
		unchanged(t, c.name, s, &c.value)
	}
}

// Attributes that the model does not know are kept. An update does not mention them, an item that
// became zero keeps them, and a put of the whole item includes them.
func TestUnknownAttributesStay(t *testing.T) {
	m := Of[Shop](t)
	sides := item.Attributes{"Street": S("High"), "City": S("Ayr"), "zip": S("KA7")}
	items := []item.Attributes{
		stored("HEAD", item.Attributes{"Name": S("n"), "Open": Bool(true), "Visits": N("1"), "colour": S("red")}),
		stored("ADDRESS", sides), stored("PLAN", item.Attributes{"Tier": S("gold"), "Seats": N("2"), "note": S("x")}),
	}
	s, v := load[Shop](t, m, whole(m, "1"), items...)
	v.Visits, v.Address, v.Plan = 2, Address{}, nil
	d := diff(t, s, v, change.Options{})
	want := lines("update HEAD Visits=2 if b'v-HEAD'", "delete PLAN if b'v-PLAN'",
		"update ADDRESS -City -Street if b'v-ADDRESS'")
	if got := show(d.Changes); got != want {
		t.Errorf("got %s", got)
	}
	apply(s, d)
	v.Name = strings.Repeat("x", 405_000)
	if d = diff(t, s, v, change.Options{}); len(d.Changes) != 1 {
		t.Fatal(show(d.Changes))
	}
	if put := d.Changes[0]; put.Kind != write.Put || Show(put.Put["colour"]) != "'red'" {
		t.Errorf("a put of %d attributes, colour %v", len(put.Put), put.Put["colour"])
	}
}

// A changed key field is refused. With Move the whole entity moves. Each item is put under its new key,
// with the attributes that the model does not know, and deleted under the old key.
func TestMove(t *testing.T) {
	m := Of[Shop](t)
	items := []item.Attributes{
		stored("HEAD", item.Attributes{"Name": S("n"), "Open": Bool(true), "Visits": N("1"), "colour": S("red")}),
		stored("LINE#a", item.Attributes{"Count": N("1"), "Text": S("one"), "old": S("x")}),
	}
	s, v := load[Shop](t, m, whole(m, "1"), items...)
	v.ID = "2"
	_, err := change.Of(s, nil, v, change.Options{})
	var changed *change.KeyChanged
	if !errors.As(err, &changed) || *changed != (change.KeyChanged{Field: "ID", Old: `"1"`, New: `"2"`}) {
		t.Fatal(err)
	}
	d := diff(t, s, v, change.Options{Move: true})
	want := lines(
		"delete HEAD if b'v-HEAD'", "put SHOP#2 HEAD Name='n' Open=true Visits=1 colour='red' if absent",
		"put SHOP#2 LINE#a Count=1 Text='one' old='x' if absent", "delete LINE#a if b'v-LINE#a'",
	)
	if got := show(d.Changes); got != want || !d.Moves || d.Old[0].Text != "1" || d.Keys.Partition.PK.Text != "SHOP#2" {
		t.Errorf("%s, moves: %v", got, d.Moves)
	}
	apply(s, d)
	unchanged(t, "moved", s, v)
	half, v := load[Shop](t, m, part(m, "1", "LINE#"), items[1])
	v.ID = "2"
	if _, err := change.Of(half, nil, v, change.Options{Move: true}); err == nil ||
		!strings.Contains(err.Error(), "Move needs the whole entity") {
		t.Error(err)
	}
}

// An item that came with a staged insert loses its mark when it is saved, and keeps its
// incarnation; the root keeps its stage.
func TestSavingDropsTheMark(t *testing.T) {
	m := Of[Shop](t)
	live := item.NewStage(item.Live, Now).Value()
	head := stored("HEAD",
		item.Attributes{"Name": S("n"), "Open": Bool(true), "Visits": N("1"), "_a": B("x"), "_s": live})
	line := stored("LINE#a", item.Attributes{"Count": N("1"), "Text": S("one"), "_a": B("x"), "_s": Bool(true)})
	s, v := load[Shop](t, m, whole(m, "1"), head, line)
	v.Visits, v.Lines[0].Count = 2, 2
	d := diff(t, s, v, change.Options{})
	if got := show(d.Changes); got != lines("update HEAD Visits=2 if b'v-HEAD'",
		"update LINE#a Count=2 -_s if b'v-LINE#a'") {
		t.Error(got)
	}
	v.Name = strings.Repeat("x", 405_000)
	if d = diff(t, s, v, change.Options{}); !attr.Same(d.Changes[0].Put["_s"], live) ||
		Show(d.Changes[0].Put["_a"]) != "b'x'" {
		t.Errorf("a put of the root: %v", d.Changes[0].Put)
	}
}

// Unchanged never says yes of a value that differs, or of an entity about which something
// is open.
func TestUnchanged(t *testing.T) {
	m := Of[Session](t)
	s, v := load[Session](t, m, whole(m, "1"), Item("1", "HEAD", item.Attributes{"User": S("u"), "_v": B("v")}))
	if !change.Unchanged(s, nil, v) {
		t.Error("it is as it was loaded")
	}
	if change.Unchanged(s, change.UnresolvedWrites{{}}, v) {
		t.Error("a write is unresolved")
	}
	v.User = "w"
	if change.Unchanged(s, nil, v) {
		t.Error("it has changed")
	}
	if fresh := snapshot.New(m, v); change.Unchanged(fresh, nil, v) {
		t.Error("it is not stored")
	}
}
