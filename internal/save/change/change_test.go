package change_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

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
		if again, err := change.Of(s, nil, v, change.Options{}); err != nil || len(again.Changes) > 0 {
			t.Errorf("%s: written, it is still changed: %s %v", c.name, show(again.Changes), err)
		}
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
		d, err := change.Of(s, nil, &c.value, change.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := show(d.Changes); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
		for _, ch := range d.Changes {
			if !ch.New || ch.OldSize != 0 || ch.NewSize != attr.ItemSize(ch.Put)+len("_v")+item.TokenSize {
				t.Errorf("%s: %s has %d bytes, %v", c.name, ch.Place, ch.NewSize, ch.Put)
			}
		}
		apply(s, d)
		if again, err := change.Of(s, nil, &c.value, change.Options{}); s.Fresh || err != nil ||
			len(again.Changes) > 0 {
			t.Errorf("%s: written, it is still changed: %v %s %v", c.name, s.Fresh, show(again.Changes), err)
		}
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
	d, err := change.Of(s, nil, v, change.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := lines("update HEAD Visits=2 if b'v-HEAD'", "delete PLAN if b'v-PLAN'",
		"update ADDRESS -City -Street if b'v-ADDRESS'")
	if got := show(d.Changes); got != want {
		t.Errorf("got %s", got)
	}
	apply(s, d)
	v.Name = strings.Repeat("x", 405_000)
	if d, err = change.Of(s, nil, v, change.Options{}); err != nil || len(d.Changes) != 1 {
		t.Fatalf("%s %v", show(d.Changes), err)
	}
	if put := d.Changes[0]; put.Kind != write.Put || Show(put.Put["colour"]) != "'red'" {
		t.Errorf("a put of %d attributes, colour %v", len(put.Put), put.Put["colour"])
	}
}

// What a value cannot be saved with is said before anything is sent, all of it at once.
func TestFaults(t *testing.T) {
	m := Of[Shop](t)
	for _, c := range []struct {
		name string
		edit func(v *Shop)
		want []string
	}{
		{"two elements with one key", func(v *Shop) { v.Lines[2].SKU = "a" }, []string{
			"Shop.Lines: the element 0 and the element 2 have the same key, \"LINE#a\": change a field that the " +
				"template names",
		}},
		{"a nil element", func(v *Shop) { v.Notes = append(v.Notes, nil) }, []string{
			"Shop.Notes: the element 1 is nil, but an item needs a value: remove the element",
		}},
		{
			"an element without a key", func(v *Shop) { v.Lines[1].SKU = "" },
			[]string{"Shop.Lines: {SKU} in \"LINE#{SKU}\": an empty string in a key", "(the element 1)"},
		},
		{
			"an entry without a key", func(v *Shop) { v.Stock[""] = Stock{} },
			[]string{"Shop.Stock: {key} in \"STOCK#{key}\": an empty string in a key", `(the entry "")`},
		},
		{
			"no UTF-8", func(v *Shop) { v.Name = "\xff" },
			[]string{`Shop.Name: attribute "Name": the string is not valid UTF-8`},
		},
		{
			"several", func(v *Shop) { v.Name, v.Lines[2].SKU, v.Notes[0] = "\xff", "a", nil },
			[]string{"Shop.Name", "Shop.Lines", "Shop.Notes"},
		},
		{"not storable", func(v *Shop) { v.Extra = func() {} }, []string{"Shop.Extra"}},
	} {
		s, v := load[Shop](t, m, whole(m, "1"), shop()...)
		c.edit(v)
		d, err := change.Of(s, nil, v, change.Options{})
		var faults change.Faults
		if d != nil || !errors.As(err, &faults) {
			t.Errorf("%s: %v, %v", c.name, d, err)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, without %q", c.name, err, want)
			}
		}
	}
}

// A field whose items were not loaded is not written: the write would overwrite a value that the caller
// has not seen.
func TestNotLoaded(t *testing.T) {
	m := Of[Shop](t)
	lines := shop()[3:6]
	for _, c := range []struct {
		name string
		edit func(v *Shop)
		want string // the field, or the changes
		ok   bool
	}{
		{"what was loaded", func(v *Shop) { v.Lines[0].Count = 5 }, "update LINE#a Count=5 if b'v-LINE#a'", true},
		{
			"a new element in what was loaded", func(v *Shop) { v.Lines = append(v.Lines, Line{SKU: "d"}) },
			"put LINE#d Count=0 Text='' if absent", true,
		},
		{"the root", func(v *Shop) { v.Name = "x" }, "Name", false},
		{"a singleton", func(v *Shop) { v.Address.City = "x" }, "Address", false},
		{"a pointer", func(v *Shop) { v.Plan = &Plan{} }, "Plan", false},
		{"another's element", func(v *Shop) { v.Notes = []*Note{{N: 1}} }, "Notes", false},
	} {
		s, v := load[Shop](t, m, part(m, "1", "LINE#"), lines...)
		c.edit(v)
		d, err := change.Of(s, nil, v, change.Options{})
		var missing *change.NotLoaded
		switch {
		case c.ok && (err != nil || show(d.Changes) != c.want):
			t.Errorf("%s: %v", c.name, err)
		case !c.ok && (!errors.As(err, &missing) || !strings.HasPrefix(missing.Field, c.want) &&
			missing.Field != "HEAD"):
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// The keys of elements that name a field which was not loaded would be another's, so that
// they are not written.
func TestKeyFieldNotLoaded(t *testing.T) {
	m := Of[Ledger](t)
	s, v := load[Ledger](t, m, part(m, "1", "E#"))
	v.Entries = []Note{{N: 1}}
	_, err := change.Of(s, nil, v, change.Options{})
	var missing *change.NotLoaded
	if !errors.As(err, &missing) || missing.Field != "Entries" || missing.Needs != "Year," {
		t.Error(err)
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
	d, err := change.Of(s, nil, v, change.Options{Move: true})
	if err != nil {
		t.Fatal(err)
	}
	want := lines(
		"delete HEAD if b'v-HEAD'", "put SHOP#2 HEAD Name='n' Open=true Visits=1 colour='red' if absent",
		"put SHOP#2 LINE#a Count=1 Text='one' old='x' if absent", "delete LINE#a if b'v-LINE#a'",
	)
	if got := show(d.Changes); got != want || !d.Moves || d.Old[0].Text != "1" || d.Keys.Partition.PK.Text != "SHOP#2" {
		t.Errorf("%s, moves: %v", got, d.Moves)
	}
	apply(s, d)
	if again, err := change.Of(s, nil, v, change.Options{}); err != nil || len(again.Changes) > 0 {
		t.Errorf("moved, it is still changed: %v", err)
	}
	half, v := load[Shop](t, m, part(m, "1", "LINE#"), items[1])
	v.ID = "2"
	if _, err := change.Of(half, nil, v, change.Options{Move: true}); err == nil ||
		!strings.Contains(err.Error(), "Move needs the whole entity") {
		t.Error(err)
	}
}

// An item over the limit is refused, with the attributes that weigh most.
func TestTooLarge(t *testing.T) {
	m := Of[Shop](t)
	s, v := load[Shop](t, m, whole(m, "1"), append(shop()[1:], stored("HEAD", item.Attributes{
		"Name": S("n"), "Open": Bool(true), "Visits": N("1"), "colour": S(strings.Repeat("r", 9_000)),
	}))...)
	v.Name = strings.Repeat("x", 405_000)
	_, err := change.Of(s, nil, v, change.Options{})
	var large *change.TooLarge
	if !errors.As(err, &large) {
		t.Fatal(err)
	}
	if large.At.SK.Text != "HEAD" || large.Size <= 409_600 || len(large.Heaviest) != 3 ||
		large.Heaviest[0] != (change.Weight{Name: "Name", Bytes: 405_004}) ||
		large.Heaviest[1] != (change.Weight{Name: "colour", Bytes: 9_006}) {
		t.Errorf("%+v", large)
	}
}

// An update is a put of the whole item on its version where an update would not do: near
// the size limit, and for more attributes than an expression takes.
func TestReplaced(t *testing.T) {
	m := Of[Shop](t)
	for size, kind := range map[int]write.Kind{
		390_000: write.Update, 399_900: write.Update, 400_100: write.Put,
		409_000: write.Put,
	} {
		s, v := load[Shop](t, m, whole(m, "1"), shop()...)
		v.Name = strings.Repeat("x", size)
		d, err := change.Of(s, nil, v, change.Options{})
		if err != nil {
			t.Fatal(err)
		}
		ch := d.Changes[0]
		if len(d.Changes) != 1 || ch.Kind != kind || Show(ch.Expect.Version) != "b'v-HEAD'" {
			t.Errorf("%d bytes: %s", size, show(d.Changes))
		}
		if ch.Kind == write.Put &&
			(Show(ch.Put["Visits"]) != "3" || len(ch.Shown) != 1 || ch.Shown[0] != "Name" || ch.New) {
			t.Errorf("%d bytes: a put of %d attributes, shown %v", size, len(ch.Put), ch.Shown)
		}
		if ch.NewSize < size || ch.NewSize > size+100 {
			t.Errorf("%d bytes: sized as %d", size, ch.NewSize)
		}
		apply(s, d)
		if r := s.Root(); r.Size != ch.NewSize || Show(r.Header.Version) != Show(ch.Token) {
			t.Errorf("%d bytes: written, it is known with %d", size, r.Size)
		}
	}
}

// If more attributes changed than an update's expression can have, a put writes the whole item. It
// includes the attributes that the model does not know, and requires the item's version.
func TestReplacedForManyAttributes(t *testing.T) {
	for edited, kind := range map[int]write.Kind{100: write.Update, 298: write.Update, 299: write.Put, 310: write.Put} {
		m := Wide(t, 310)
		a := item.Attributes{"PK": S("1"), "SK": S("HEAD"), "_v": B("v"), "more": S("x")}
		for i := range 310 {
			a[fmt.Sprintf("F%03d", i)] = N("1")
		}
		s, err := snapshot.Loaded(m, whole(m, "1"))
		if err != nil {
			t.Fatal(err)
		}
		v := m.Codec.New()
		if err := errors.Join(s.Identify(v), s.Decode(v, Images(t, m, a))); err != nil {
			t.Fatal(err)
		}
		for i := range edited {
			reflect.ValueOf(v).Elem().FieldByName(fmt.Sprintf("F%03d", i)).SetInt(2)
		}
		d, err := change.Of(s, nil, v, change.Options{})
		if err != nil {
			t.Fatal(err)
		}
		ch := d.Changes[0]
		if ch.Kind != kind || Show(ch.Expect.Version) != "b'v'" || len(ch.Attributes()) != edited {
			t.Errorf("%d attributes: %s of %d", edited, ch.Kind, len(ch.Attributes()))
		}
		if kind == write.Put && (len(ch.Put) != 313 || Show(ch.Put["more"]) != "'x'" || ch.New) {
			t.Errorf("%d attributes: a put of %d", edited, len(ch.Put))
		}
	}
}

// The size that a change predicts is that of the item as it is stored then, whatever the
// change; prices depend on it.
func TestSizes(t *testing.T) {
	m := Of[Shop](t)
	s, v := load[Shop](t, m, whole(m, "1"),
		append(shop()[1:], stored("HEAD", item.Attributes{"Name": S("n"), "colour": S("red"), "_a": B("x")}))...)
	edits := []func(){
		func() { v.Name = "longer" }, func() { v.Visits = 1_000_001 }, func() { v.Lines[0].Text = "" },
		func() { v.Stock["x"] = Stock{Count: 1, Place: "very far away"} }, func() { v.Address.City = "" },
		func() { v.Lines[1].Count = -12 },
	}
	items := map[string]item.Attributes{}
	for _, a := range append(shop()[1:],
		stored("HEAD", item.Attributes{"Name": S("n"), "colour": S("red"), "_a": B("x")})) {
		items[Show(a["SK"])] = a
	}
	for i, edit := range edits {
		edit()
		d, err := change.Of(s, nil, v, change.Options{})
		if err != nil {
			t.Fatal(err)
		}
		apply(s, d)
		for _, ch := range d.Changes {
			a := items[Show(S(ch.SK.Text))]
			if old := attr.ItemSize(a); old != ch.OldSize {
				t.Errorf("edit %d of %s: %d bytes before, and %d are known", i, ch.Place, old, ch.OldSize)
			}
			for _, x := range ch.Set {
				a[x.Name] = x.Value
			}
			for _, x := range ch.Remove {
				delete(a, x.Name)
			}
			a["_v"] = ch.Token
			if now := attr.ItemSize(a); now != ch.NewSize {
				t.Errorf("edit %d of %s: %d bytes, predicted %d", i, ch.Place, now, ch.NewSize)
			}
		}
	}
}

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
		d, err := change.Of(s, nil, v, change.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := show(d.Changes); got != c.want {
			t.Errorf("%s: %s", c.name, got)
		}
		apply(s, d)
		if again, err := change.Of(s, nil, v, change.Options{}); err != nil || len(again.Changes) > 0 {
			t.Errorf("%s: written, it is still changed: %v", c.name, err)
		}
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
	d, err := change.Of(s, nil, v, change.Options{Checks: true})
	if err != nil {
		t.Fatal(err)
	}
	want := lines(
		"check HEAD if b'v-HEAD'", "check PLAN if b'v-PLAN'", "check ADDRESS if b'v-ADDRESS'",
		"check LINE#a if b'v-LINE#a'",
		"check LINE#c if b'v-LINE#c'", "check NOTE#007 if b'v-NOTE#007'", "check STOCK#x if b'v-STOCK#x'",
	)
	if got := show(d.Checks); got != want || show(d.Changes) != "update LINE#b Count=9 if b'v-LINE#b'" {
		t.Errorf("%s\n%s", got, show(d.Changes))
	}
}

// The expiry that a field sets is stored with its item, whatever else changes; an insert
// takes an expired item for none.
func TestExpiry(t *testing.T) {
	m := Of[Session](t)
	until := func(seconds int64) time.Time { return time.Unix(seconds, 0).UTC() }
	v := &Session{ID: "1", User: "u", Until: until(100), Steps: []Step{{N: 1, Until: until(50)}, {N: 2}}}
	s := snapshot.New(m, v)
	d, err := change.Of(s, nil, v, change.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, ch := range d.Changes {
		want := map[string]string{"HEAD": "100", "STEP#001": "50", "STEP#002": ""}[ch.SK.Text]
		if got := ch.Put["expires"]; (got == nil) != (want == "") || got != nil && Show(got) != want || !ch.Unread {
			t.Errorf("%s expires at %v", ch.Place, got)
		}
	}
	apply(s, d)
	v.Until, v.Steps[0].Until, v.Steps[1].Until = until(200), time.Time{}, until(70)
	if d, err = change.Of(s, nil, v, change.Options{}); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"expires=200", "-expires", "expires=70"} {
		if got := show(d.Changes[i : i+1]); !strings.Contains(got, want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
	apply(s, d)
	if d, err = change.Of(s, nil, v, change.Options{}); err != nil || len(d.Changes) > 0 {
		t.Errorf("written, it is still changed: %v", err)
	}
}

// With ttl,all every item has the root's expiry: changing it changes them all, and needs
// all of them.
func TestExpiryOfAll(t *testing.T) {
	m := Of[Lease](t)
	v := &Lease{ID: "1", User: "u", Until: time.Unix(100, 0).UTC(), Terms: []Note{{N: 1}, {N: 2}}}
	s := snapshot.New(m, v)
	d, err := change.Of(s, nil, v, change.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, ch := range d.Changes {
		if Show(ch.Put["expires"]) != "100" {
			t.Errorf("%s: %v", ch.Place, ch.Put)
		}
	}
	apply(s, d)
	v.Until = v.Until.Add(time.Hour)
	if d, err = change.Of(s, nil, v, change.Options{}); err != nil || len(d.Changes) != 3 {
		t.Fatalf("%v", err)
	}
	for _, ch := range d.Changes {
		if !strings.Contains(show([]*change.Change{ch}), "expires=3700") {
			t.Error(show([]*change.Change{ch}))
		}
	}
	half, w := load[Lease](t, m, part(m, "1", "TERM#"),
		Item("1", "TERM#001", item.Attributes{"_v": B("v"), "expires": N("100"), "Text": S("x")}))
	w.Terms[0].Text = "y"
	if d, err = change.Of(half, nil, w, change.Options{}); err != nil ||
		show(d.Changes) != "update 1 TERM#001 Text='y' if b'v'" {
		t.Errorf("a part of it: %v", err)
	}
	w.Terms = append(w.Terms, Note{N: 2})
	var missing *change.NotLoaded
	if _, err = change.Of(half, nil, w, change.Options{}); !errors.As(err, &missing) {
		t.Errorf("an element whose expiry is not known: %v", err)
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
	d, err := change.Of(s, nil, v, change.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := show(d.Changes); got != lines("update HEAD Visits=2 if b'v-HEAD'",
		"update LINE#a Count=2 -_s if b'v-LINE#a'") {
		t.Error(got)
	}
	v.Name = strings.Repeat("x", 405_000)
	if d, err = change.Of(s, nil, v, change.Options{}); err != nil || !attr.Same(d.Changes[0].Put["_s"], live) ||
		Show(d.Changes[0].Put["_a"]) != "b'x'" {
		t.Errorf("a put of the root: %v", err)
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
