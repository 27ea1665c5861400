package change_test

import (
	"strings"
	"testing"

	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/read/selection"
	"github.com/itemize/itemize/internal/read/snapshot"
	"github.com/itemize/itemize/internal/save/change"
	"github.com/itemize/itemize/internal/save/write"
	. "github.com/itemize/itemize/internal/testing/fakedynamo"
)

func single(sel selection.Selection, sk string) selection.Selection {
	sel.Whole = false
	sel.Parts[0].Range = selection.Range{Kind: selection.One, Low: Text(sk)}
	return sel
}

// A selection is deleted as a whole, or without its root. Every other selection is refused, and the
// error says what to select.
func TestNewDeletion(t *testing.T) {
	m, topics := Of[Shop](t), Of[Topic](t)
	for _, c := range []struct {
		name   string
		make   func() (*change.Deletion, error)
		single bool
		err    string
	}{
		{
			"an entity", func() (*change.Deletion, error) { return change.NewDeletion(m, whole(m, "1"), false) }, false,
			"",
		},
		{
			"an entity, staged", func() (*change.Deletion, error) { return change.NewDeletion(m, whole(m, "1"), true) },
			false, "",
		},
		{
			"a part", func() (*change.Deletion, error) { return change.NewDeletion(m, part(m, "1", "LINE#"), false) },
			false, "",
		},
		{"one item", func() (*change.Deletion, error) {
			return change.NewDeletion(m, single(whole(m, "1"), "LINE#a"), false)
		}, true, ""},
		{
			"a part, staged", func() (*change.Deletion, error) {
				return change.NewDeletion(m, part(m, "1", "LINE#"), true)
			}, false,
			"Staged deletes a whole entity",
		},
		{
			"the root alone", func() (*change.Deletion, error) {
				return change.NewDeletion(m, single(whole(m, "1"), "HEAD"), false)
			}, false,
			"the selection includes the root, but not the whole entity",
		},
		{
			"many entities", func() (*change.Deletion, error) {
				return change.NewDeletion(topics, whole(topics, "b"), false)
			}, false,
			"the key selects several entities: add values for all of Board, Name to delete one",
		},
		{
			"a wrong key", func() (*change.Deletion, error) { return change.NewDeletion(m, whole(m, 1.5), false) },
			false,
			"the key field ID takes a string",
		},
	} {
		del, err := c.make()
		switch {
		case c.err != "":
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v", c.name, err)
			}
		case err != nil:
			t.Errorf("%s: %v", c.name, err)
		default:
			if _, ok := del.Single(); ok != c.single {
				t.Errorf("%s: a single item: %v", c.name, ok)
			}
		}
	}
}

// The items of a loaded entity are deleted as they were loaded, the root last.
func TestDeletionOfLoaded(t *testing.T) {
	m := Of[Shop](t)
	s, _ := load[Shop](t, m, whole(m, "1"), shop()[:4]...)
	del, err := change.NewDeletion(m, s.Selection, false)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		del.Loaded(s) // a second time, it is the same
	}
	want := lines("delete PLAN if b'v-PLAN'", "delete ADDRESS if b'v-ADDRESS'", "delete LINE#a if b'v-LINE#a'",
		"delete HEAD if b'v-HEAD'")
	if got := show(del.All()); got != want || del.Root.SK.Text != "HEAD" {
		t.Error(got)
	}
}

// Of items that were read only the entity's own are deleted: an item that the model does
// not know, or another entity's, stays.
func TestDeletionOfFound(t *testing.T) {
	m := Of[Topic](t)
	topic := func(sk string, more item.Attributes) item.Attributes {
		a := Item("BOARD#b", sk, more)
		a["_v"] = B("v")
		return a
	}
	deleting := item.NewStage(item.Deleting, Now).Value()
	for _, c := range []struct {
		name  string
		items []item.Attributes
		want  string
		root  bool
	}{
		{"nothing", nil, "", false},
		{
			"its own",
			[]item.Attributes{
				topic("T#n", nil), topic("T#n#001", nil), topic("T#o", nil), topic("T#o#001", nil),
				topic("X", nil),
			},
			lines("delete BOARD#b T#n#001 if b'v'", "delete BOARD#b T#n if b'v'"), true,
		},
		{
			"without a root",
			[]item.Attributes{topic("T#n#001", item.Attributes{"_a": B("x")})},
			"delete BOARD#b T#n#001 if b'v'", false,
		},
		{
			"begun",
			[]item.Attributes{topic("T#n", item.Attributes{"_s": deleting}), topic("T#n#001", nil)},
			lines("delete BOARD#b T#n#001 if b'v'", "delete BOARD#b T#n if b'v'"), true,
		},
		{
			"an insert that is not finished",
			[]item.Attributes{topic("T#n", item.Attributes{"_s": item.NewStage(item.Inserting, Now).Value()})},
			"delete BOARD#b T#n if b'v'", true,
		},
	} {
		del, err := change.NewDeletion(m, whole(m, "b", "n"), false)
		if err != nil {
			t.Fatal(err)
		}
		root := del.Found(Images(t, m, c.items...))
		if got := show(del.All()); got != c.want || (root != nil) != c.root {
			t.Errorf("%s: %s, root %v", c.name, got, root)
		}
	}
}

// A single item is deleted whatever its content, at a bounded price, unless it belongs to no entity or
// to another one.
func TestBlindDelete(t *testing.T) {
	m := Of[Topic](t)
	for _, c := range []struct{ sk, err string }{
		{"T#n#001", ""},
		{"X", `the sort key "X" matches no field`},
		{"T#o#001", `the sort key "T#o#001" belongs to another entity than Board "b", Name "n"`},
	} {
		sel := single(whole(m, "b", "n"), c.sk)
		sel.Parts = sel.Parts[:1]
		del, err := change.NewDeletion(m, sel, false)
		if err != nil {
			t.Fatal(err)
		}
		p, _ := del.Single()
		err = del.Blind(p)
		switch {
		case c.err != "":
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v", c.sk, err)
			}
		case err != nil:
			t.Errorf("%s: %v", c.sk, err)
		default:
			r := del.Rest[0]
			if e := r.Expect; r.Kind != write.Delete || e.Absent || e.Present || e.Version != nil || e.Old != nil ||
				!r.Unread || r.Units().Max != 400 {
				t.Errorf("%s: %+v", c.sk, r.Request)
			}
		}
	}
}

// If the keys contain a field of the root, items with another value of that field do not belong to the
// entity. If they carry its incarnation, they are leftover items.
func TestBelongs(t *testing.T) {
	m := Of[Ledger](t)
	images := Images(t, m,
		Item("1", "HEAD", item.Attributes{"Year": S("2026")}), Item("1", "E#2026#001", nil),
		Item("1", "E#2025#001", nil),
		Item("1", "E#2025#002", item.Attributes{"_a": B("x")}), Item("1", "?", nil))
	complete := snapshot.KeyFieldsOf(m, images)
	var got []string
	for i := range images {
		if change.Belongs(m, &images[i], whole(m, "1").Identity, complete) {
			got = append(got, images[i].SK.Text)
		}
	}
	if text := strings.Join(got, " "); text != "HEAD E#2026#001 E#2025#002" {
		t.Error(text)
	}
}

// What a second reading finds does not keep what the first one said.
func TestFoundTwice(t *testing.T) {
	m := Of[Shop](t)
	del, err := change.NewDeletion(m, whole(m, "1"), false)
	if err != nil {
		t.Fatal(err)
	}
	begun := item.Attributes{"PK": S("SHOP#1"), "SK": S("HEAD"), "_s": item.NewStage(item.Deleting, Now).Value()}
	img, err := m.Image(m.Tables[0], begun)
	if err != nil {
		t.Fatal(err)
	}
	if del.Found([]item.Image{img}); del.Root == nil {
		t.Fatal("the root is not noticed")
	}
	if del.Found(nil); del.Root != nil {
		t.Error("the second reading found nothing, and the root is still there")
	}
}
