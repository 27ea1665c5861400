package snapshot_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/codec"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/read/selection"
	"github.com/itemize/itemize/internal/read/snapshot"
	"github.com/itemize/itemize/internal/testing/draws"
	. "github.com/itemize/itemize/internal/testing/fakedynamo"
)

var options = cmp.Options{cmpopts.EquateEmpty(), cmpopts.IgnoreFields(Shop{}, "_"), cmpopts.IgnoreFields(Plain{}, "_")}

// decode decodes items of an entity into a new value.
func decode[T any](t *testing.T, m *model.Model, sel selection.Selection, items ...item.Attributes) (*snapshot.Snapshot,
	*T, error,
) {
	t.Helper()
	s, err := snapshot.Loaded(m, sel)
	if err != nil {
		t.Fatal(err)
	}
	v := new(T)
	return s, v, errors.Join(s.Identify(v), s.Decode(v, Images(t, m, items...)))
}

func whole(m *model.Model, values ...any) selection.Selection { return m.Select(values) }

func ranged(sel selection.Selection, ranges ...selection.Range) selection.Selection {
	sel.Whole = false
	pk := sel.Parts[0].PK
	sel.Parts = nil
	for _, r := range ranges {
		sel.Parts = append(sel.Parts, selection.Part{Partition: In(pk), Range: r})
	}
	return sel
}

func prefix(text string) selection.Range {
	return selection.Range{Kind: selection.Prefix, Low: Text(text)}
}

// stored makes an item of the shop 1.
func stored(sk string, more item.Attributes) item.Attributes {
	a := Item("SHOP#1", sk, more)
	a["_v"] = B("v-" + sk)
	return a
}

func line(sku, text string) item.Attributes {
	return stored("LINE#"+sku, item.Attributes{"Count": N("1"), "Text": S(text)})
}

func lineOf(sku string, count int, text string) Line { return Line{SKU: sku, Count: count, Text: text} }

func kind(m *model.Model, prefix string) *schema.Item {
	i := slices.IndexFunc(m.Schema.Items, func(it *schema.Item) bool { return strings.HasPrefix(it.Key.Text, prefix) })
	return m.Schema.Items[i]
}

// A value is made of an entity's items, its elements in the order of their keys, in
// whatever order the items came.
func TestDecode(t *testing.T) {
	m := Of[Shop](t)
	items := []item.Attributes{
		line("b", "two"), stored("HEAD", item.Attributes{"Name": S("n"), "Open": Bool(true), "Visits": N("3")}),
		line("c", "three"), line("a", "one"),
		stored("NOTE#010", item.Attributes{"Text": S("ten")}), stored("NOTE#002", item.Attributes{"Text": S("two")}),
		stored("STOCK#x", item.Attributes{"Count": N("9"), "Place": S("shelf")}),
		stored("PLAN", item.Attributes{"Tier": S("gold"), "Seats": N("2")}),
		stored("ADDRESS", item.Attributes{"City": S("Ayr")}), stored("EXTRA", item.Attributes{"Extra": S("more")}),
	}
	want := &Shop{
		ID: "1", Name: "n", Open: true, Visits: 3, Plan: &Plan{Tier: "gold", Seats: 2}, Address: Address{City: "Ayr"},
		Extra: "more",
		Lines: []Line{lineOf("a", 1, "one"), lineOf("b", 1, "two"), lineOf("c", 1, "three")},
		Notes: []*Note{{N: 2, Text: "two"}, {N: 10, Text: "ten"}},
		Stock: map[string]Stock{"x": {Count: 9, Place: "shelf"}},
	}
	seed := draws.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 20 {
		r.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
		s, v, err := decode[Shop](t, m, whole(m, "1"), items...)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, v, options); diff != "" {
			t.Fatalf("seed %d: %s", seed, diff)
		}
		all := s.Items[kind(m, "LINE").Index]
		for i, sku := range []string{"a", "b", "c"} {
			if all[i].SK.Text != "LINE#"+sku || all[i].Pos.Index != i {
				t.Fatalf("seed %d: the element %d is known as %s", seed, i, all[i].Place)
			}
		}
		if s.Root() == nil || Show(s.Root().Header.Version) != "b'v-HEAD'" || s.Fresh {
			t.Fatalf("root: %+v", s.Root())
		}
	}
}

// The snapshot is independent of the value: an edit of the value in place does not change it.
func TestDecodeRemembers(t *testing.T) {
	m := Of[Shop](t)
	s, v, err := decode[Shop](t, m, whole(m, "1"), stored("HEAD", nil), line("a", "one"),
		stored("PLAN", item.Attributes{"Tier": S("gold")}), stored("NOTE#001", item.Attributes{"Text": S("x")}))
	if err != nil {
		t.Fatal(err)
	}
	v.Lines[0].Text, v.Plan.Tier, v.Notes[0].Text, v.ID = "edited", "edited", "edited", "edited"
	old := s.Old.(*Shop)
	if old.Lines[0].Text != "one" || old.Plan.Tier != "gold" || old.Notes[0].Text != "x" || old.ID != "1" {
		t.Errorf("remembered: %+v", old)
	}
}

// Of each item it is known what it weighs, attribute by attribute, and what of it the
// model does not have.
func TestStored(t *testing.T) {
	m := Of[Shop](t)
	a := stored("HEAD", item.Attributes{"Name": S("corner"), "Visits": N("3"), "colour": S("red"), "_a": B("x")})
	s, _, err := decode[Shop](t, m, whole(m, "1"), a)
	if err != nil {
		t.Fatal(err)
	}
	r, it := s.Root(), m.Root()
	size := func(name string) int { return r.StoredSize(it, item.Assignment{Name: name, Index: it.Attribute(name)}) }
	if r.Size != attr.ItemSize(a) || size("Name") != 10 || size("Open") != 0 || r.Raw != nil {
		t.Errorf("%+v", r)
	}
	if len(r.Unknown) != 1 || Show(r.Unknown["colour"]) != "'red'" || Show(r.Header.Incarnation) != "b'x'" {
		t.Errorf("unknown %v, header %+v", r.Unknown, r.Header)
	}
	if s.Versioned(r.Place) != r || s.Versioned(At(m, s.Partition.PK, Text("PLAN"))) != nil {
		t.Error("the root is not found by its place")
	}

	plain := Of[Plain](t)
	b := Item("1", "HEAD", item.Attributes{"Name": S("n"), "x": S("y"), "_v": B("not this model's")})
	p, _, err := decode[Plain](t, plain, whole(plain, "1"), b)
	if err != nil {
		t.Fatal(err)
	}
	if r := p.Root(); !attr.SameItem(r.Raw, b) || p.Versioned(r.Place) != nil || len(r.Unknown) != 2 {
		t.Errorf("without a version: %+v", r)
	}
}

// The TTL attribute is known by its size where the model sets it, and is one of the
// model's own where a field is stored in it.
func TestStoredExpiry(t *testing.T) {
	m := Of[Session](t)
	s, _, err := decode[Session](t, m, whole(m, "1"),
		Item("1", "HEAD", item.Attributes{"User": S("u"), "expires": N("100"), "_v": B("v")}),
		Item("1", "STEP#001", item.Attributes{"_v": B("v")}))
	if err != nil {
		t.Fatal(err)
	}
	if r := s.Root(); r.Expiry != len("expires")+2 ||
		r.StoredSize(m.Root(), item.Assignment{Index: item.Expiry}) != r.Expiry || len(r.Unknown) > 0 {
		t.Errorf("%+v", r)
	}
	if r := s.Items[kind(m, "STEP").Index][0]; r.Expiry != 0 {
		t.Errorf("%+v", r)
	}
}

// The keys of elements give the value of a field whose own item was not loaded. If the item was loaded,
// elements with another value do not belong to the entity.
func TestKeyFields(t *testing.T) {
	m := Of[Ledger](t)
	entry := func(sk string) item.Attributes { return Item("1", sk, item.Attributes{"Text": S(sk), "_v": B("v")}) }
	head := Item("1", "HEAD", item.Attributes{"Year": S("2026"), "_v": B("v")})
	for _, c := range []struct {
		name    string
		sel     selection.Selection
		items   []item.Attributes
		year    string
		entries int
		unknown int
		unread  string
		err     string
	}{
		{
			"the item itself", whole(m, "1"),
			[]item.Attributes{head, entry("E#2026#001"), entry("E#2025#001")},
			"2026", 1,
			1, "", "",
		},
		{
			"told by the elements", ranged(whole(m, "1"), prefix("E#")),
			[]item.Attributes{entry("E#2025#001"), entry("E#2025#002")},
			"2025", 2, 0, "", "",
		},
		{
			"the elements disagree", ranged(whole(m, "1"), prefix("E#")),
			[]item.Attributes{entry("E#2025#001"), entry("E#2026#002")},
			"", 0, 0, "",
			"Ledger.Entries: the keys have several values of Year, and the entity's own is not loaded: select the " +
				"item of Year as well",
		},
		{"nothing tells", ranged(whole(m, "1"), prefix("E#")), nil, "", 0, 0, "Year", ""},
		{"selected, and not there", whole(m, "1"), nil, "", 0, 0, "", ""},
	} {
		s, v, err := decode[Ledger](t, m, c.sel, c.items...)
		switch {
		case c.err != "":
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v", c.name, err)
			}
		case err != nil:
			t.Errorf("%s: %v", c.name, err)
		case v.Year != c.year || len(v.Entries) != c.entries || s.Unknown != c.unknown ||
			s.Unread(kind(m, "E#")) != c.unread || s.Unread(m.Root()) != "":
			t.Errorf("%s: %+v, %d unknown, unread %q", c.name, v, s.Unknown, s.Unread(kind(m, "E#")))
		}
	}
}

// An item whose attribute and key disagree about the identity was written by another program. Changes
// would be written to another item, so it is refused.
func TestIdentityDisagrees(t *testing.T) {
	type note struct {
		_  struct{} `ddb:"table=notes"`
		ID string   `ddb:"pk=N#{ID},stored,sk=HEAD"`
		A  string   `ddb:"sk=HEAD"`
	}
	m := Of[note](t)
	for id, want := range map[string]string{
		"1": "",
		"2": `its attribute and its key have different values, as another program wrote them: correct one of them`,
	} {
		_, _, err := decode[note](t, m, whole(m, "1"), Item("N#1", "HEAD", item.Attributes{"ID": S(id), "_v": B("v")}))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", id, err)
		}
	}
}

// What cannot be decoded is reported with the item and the attribute.
func TestDecodeErrors(t *testing.T) {
	m := Of[Shop](t)
	for want, a := range map[string]item.Attributes{
		`item SHOP#1 HEAD: attribute "Visits": `:  stored("HEAD", item.Attributes{"Visits": S("x")}),
		`item SHOP#1 LINE#a: attribute "Count": `: stored("LINE#a", item.Attributes{"Count": S("x")}),
	} {
		if _, _, err := decode[Shop](t, m, whole(m, "1"), a); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// An empty root exists, and does not show that a pointer in it was set. A pointer whose item has no
// attribute is a pointer to a zero value.
func TestDecodeEmpty(t *testing.T) {
	m := Of[Shop](t)
	s, v, err := decode[Shop](t, m, whole(m, "1"), stored("HEAD", nil), stored("PLAN", nil))
	if err != nil || v.Plan == nil || *v.Plan != (Plan{}) || s.Root() == nil {
		t.Errorf("%+v %v", v, err)
	}
}

// DecodeElement makes one element of an item, its key included.
func TestDecodeElement(t *testing.T) {
	m := Of[Shop](t)
	img := Images(t, m, line("a", "one"))[0]
	rec, err := snapshot.DecodeElement(m, &img)
	if err != nil || *rec.(*Line) != lineOf("a", 1, "one") {
		t.Errorf("%v %v", rec, err)
	}
}

// A save may write the selection, and everything of a new entity.
func TestCovers(t *testing.T) {
	m := Of[Shop](t)
	lines := kind(m, "LINE")
	fresh := snapshot.New(m, &Shop{ID: "1"})
	part, err := snapshot.Loaded(m, ranged(whole(m, "1"), prefix("LINE#")))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		s    *snapshot.Snapshot
		sk   string
		want bool
	}{{fresh, "LINE#a", true}, {part, "LINE#a", true}, {part, "NOTE#001", false}} {
		if got := c.s.Covers(lines, Text(c.sk)); got != c.want {
			t.Errorf("%s: %v", c.sk, got)
		}
	}
	if bad := snapshot.New(m, &Shop{}); bad.Selection.Err == nil {
		t.Error("an entity without a key has a selection")
	}
}

// A hidden item is known by its key until it is written. Items that were read and belong to no entity
// are known by their size.
func TestHidden(t *testing.T) {
	m := Of[Session](t)
	s, _, err := decode[Session](t, m, whole(m, "1"), Item("1", "HEAD", item.Attributes{"_v": B("v")}))
	if err != nil {
		t.Fatal(err)
	}
	images := Images(t, m, Item("1", "STEP#001", item.Attributes{"expires": N("5"), "_v": B("v")}),
		Item("1", "STEP#002", item.Attributes{"_a": B("x")}))
	if !images[0].Expired || images[1].Expired {
		t.Fatalf("expired: %v, %v", images[0].Expired, images[1].Expired)
	}
	for i := range images {
		s.Hide(images[i].Place, m.Reserved.HiddenOf(images[i].Attributes()))
	}
	at := images[0].Place
	if h := s.HiddenAt(at); h == nil || h.Size != images[0].Size {
		t.Errorf("%+v", h)
	}
	if s.HiddenAt(s.Root().Place) != nil {
		t.Error("the root is hidden")
	}
	s.NoteOther(&item.Image{Place: item.Place{Table: at.Table, PK: at.PK, SK: Text("ZZZ")}, Size: 7})
	var recalled []string
	for _, f := range s.Images() {
		recalled = append(recalled, fmt.Sprintf("%s %d %v", f.SK.Text, f.Size, f.Expired))
	}
	slices.Sort(recalled)
	if want := fmt.Sprintf("HEAD %d false, ZZZ 7 false", s.Root().Size); strings.Join(recalled, ", ") != want {
		t.Errorf("recalled %s, want %s", strings.Join(recalled, ", "), want)
	}
	s.Apply(snapshot.Keys{},
		[]snapshot.Effect{{
			Place: at, Item: kind(m, "STEP"), Record: &Step{N: 1}, Put: at.Key(), Version: B("w"),
			Size: 20,
		}})
	if s.HiddenAt(at) != nil || s.HiddenAt(images[1].Place) == nil {
		t.Error("what is hidden is not what was not put")
	}
}

// setOf returns the assignment of an attribute.
func setOf(it *schema.Item, name string, v string) item.Assignment {
	return item.Assignment{Name: name, Index: it.Attribute(name), Value: S(v)}
}

// put is the effect of a new line.
func put(m *model.Model, rec *Line, pos int) snapshot.Effect {
	it := kind(m, "LINE")
	at := At(m, Text("SHOP#1"), Text("LINE#"+rec.SKU))
	return snapshot.Effect{
		Place: at, Item: it, Record: rec, Pos: codec.Pos{Index: pos}, Put: at.Key(),
		Set: []item.Assignment{setOf(it, "Text", rec.Text)}, Version: B("w-" + rec.SKU), Size: 50,
	}
}

// After a write the snapshot has the stored values, versions and sizes, and the elements in the order
// of the saved value.
func TestApply(t *testing.T) {
	m := Of[Shop](t)
	it := kind(m, "LINE")
	s, _, err := decode[Shop](t, m, whole(m, "1"), stored("HEAD", nil), line("a", "one"), line("b", "two"),
		line("c", "three"))
	if err != nil {
		t.Fatal(err)
	}
	all := s.Items[it.Index]
	// the saved value: x, c, b as edited, and a deleted
	all[1].Order, all[2].Order = 2, 1
	edited := &Line{SKU: "b", Count: 1, Text: "edited"}
	s.Apply(snapshot.Keys{}, []snapshot.Effect{
		{
			Place: all[1].Place, Item: it, Stored: all[1], Record: edited, Pos: codec.Pos{Index: 2},
			Set: []item.Assignment{setOf(it, "Text", "edited")}, Version: B("w-b"), Size: 77,
		},
		put(m, &Line{SKU: "x", Text: "new"}, 0),
		{Place: all[0].Place, Item: it, Stored: all[0], Deleted: true},
	})
	edited.Text = "later"
	old := s.Old.(*Shop)
	if diff := cmp.Diff([]Line{lineOf("x", 0, "new"), lineOf("c", 1, "three"), lineOf("b", 1, "edited")},
		old.Lines); diff != "" {
		t.Fatal(diff)
	}
	var got []string
	for i, r := range s.Items[it.Index] {
		if r.Pos.Index != i {
			t.Errorf("%s is the element %d, and known as %d", r.Place, i, r.Pos.Index)
		}
		got = append(got, fmt.Sprintf("%s %s %d", r.SK.Text, Show(r.Header.Version),
			r.StoredSize(it, item.Assignment{Index: it.Attribute("Text")})))
	}
	if text := strings.Join(got, ", "); text != "LINE#x b'w-x' 7, LINE#c b'v-LINE#c' 9, LINE#b b'w-b' 10" {
		t.Error(text)
	}
	if r := s.Items[it.Index][2]; r.Size != 77 {
		t.Errorf("%d bytes", r.Size)
	}
}

// A put discards the known attributes of the item, and takes the attempt of the put.
func TestApplyPut(t *testing.T) {
	m := Of[Shop](t)
	it := m.Root()
	s, v, err := decode[Shop](t, m, whole(m, "1"),
		stored("HEAD", item.Attributes{"Name": S("n"), "Visits": N("3"), "colour": S("red"), "_a": B("x")}))
	if err != nil {
		t.Fatal(err)
	}
	r := s.Root()
	v.Name, v.Visits = "long", 0
	whole := r.Key()
	s.Apply(snapshot.Keys{}, []snapshot.Effect{{
		Place: r.Place, Item: it, Stored: r, Record: v, Put: whole, Version: B("w"), Size: 99,
		Set: []item.Assignment{setOf(it, "Name", "long"), {Name: "colour", Index: item.Unlisted, Value: S("blue")}},
	}})
	if s.Root() != r || r.StoredSize(it, item.Assignment{Index: it.Attribute("Name")}) != 8 ||
		r.StoredSize(it, item.Assignment{Index: it.Attribute("Visits")}) != 0 || r.Header.Incarnation != nil ||
		r.Size != 99 {
		t.Errorf("%+v", r)
	}
	if Show(r.Unknown["colour"]) != "'blue'" || s.Old.(*Shop).Name != "long" {
		t.Errorf("unknown %v, old %+v", r.Unknown, s.Old)
	}
}

// A removed attribute has no size. A write without a changed record leaves the value as it was: a root
// that only gets a mark or a new version.
func TestApplyWithoutRecord(t *testing.T) {
	m := Of[Shop](t)
	it := m.Root()
	s, _, err := decode[Shop](t, m, whole(m, "1"), stored("HEAD", item.Attributes{"Name": S("n"), "_a": B("x")}))
	if err != nil {
		t.Fatal(err)
	}
	r := s.Root()
	stage := item.NewStage(item.Deleting, Now)
	s.Apply(snapshot.Keys{}, []snapshot.Effect{{
		Place: r.Place, Item: it, Stored: r, Set: []item.Assignment{item.Reserved{}.AssignStage(stage)},
		Removed: []item.Assignment{{Name: "Name", Index: it.Attribute("Name")}, {Name: "_a", Index: item.Unlisted}},
		Version: B("w"), Size: 30,
	}})
	if st := r.Header.ReadStage(); st.State != item.Deleting || !attr.Same(st.By, stage.By) ||
		r.Header.Incarnation != nil || r.StoredSize(it, item.Assignment{Index: it.Attribute("Name")}) != 0 ||
		Show(r.Header.Version) != "b'w'" {
		t.Errorf("%+v", r)
	}
	if s.Old.(*Shop).Name != "n" {
		t.Errorf("the value is %+v", s.Old)
	}
}

// Without a version the snapshot keeps the whole item, because the next write is conditional on its
// values.
func TestApplyWithoutVersion(t *testing.T) {
	m := Of[Plain](t)
	it := m.Root()
	s, v, err := decode[Plain](t, m, whole(m, "1"),
		Item("1", "HEAD", item.Attributes{"Name": S("n"), "Count": N("1"), "x": S("y")}))
	if err != nil {
		t.Fatal(err)
	}
	r := s.Root()
	v.Name = "edited"
	name := setOf(it, "Name", "edited")
	s.Apply(snapshot.Keys{},
		[]snapshot.Effect{{
			Place: r.Place, Item: it, Stored: r, Record: v, Set: []item.Assignment{name},
			Removed: []item.Assignment{{Name: "Count", Index: it.Attribute("Count")}}, Size: 40,
		}})
	if !attr.SameItem(r.Raw, Item("1", "HEAD", item.Attributes{"Name": S("edited"), "x": S("y")})) {
		t.Errorf("updated: %v", r.Raw)
	}
	whole := Item("1", "HEAD", item.Attributes{"Name": S("put")})
	s.Apply(snapshot.Keys{},
		[]snapshot.Effect{{
			Place: r.Place, Item: it, Stored: r, Record: v, Put: whole,
			Set: []item.Assignment{setOf(it, "Name", "put")}, Size: 40,
		}})
	if !attr.SameItem(r.Raw, whole) {
		t.Errorf("put: %v", r.Raw)
	}
	side := kind(m, "SIDE")
	at := At(m, Text("1"), Text("SIDE"))
	s.Apply(snapshot.Keys{},
		[]snapshot.Effect{{
			Place: at, Item: side, Record: v, Put: at.Key(),
			Set: []item.Assignment{setOf(side, "Side", "left")}, Size: 20,
		}})
	if n := s.Items[side.Index][0]; !attr.SameItem(n.Raw, Item("1", "SIDE", item.Attributes{"Side": S("left")})) {
		t.Errorf("new: %v", n.Raw)
	}
}

// A new entity is stored when its root is, and has the keys of the value that was saved.
func TestApplyInsert(t *testing.T) {
	m := Of[Shop](t)
	v := &Shop{ID: "1", Name: "n", Lines: []Line{{SKU: "a"}}}
	s := snapshot.New(m, v)
	keyFields, err := m.KeyFields(v)
	if err != nil {
		t.Fatal(err)
	}
	keys := snapshot.Keys{Value: v, KeyFields: keyFields, Partition: In(Text("SHOP#1"))}
	s.Apply(keys, []snapshot.Effect{put(m, &v.Lines[0], 0)})
	if !s.Fresh {
		t.Error("stored without its root")
	}
	at := At(m, Text("SHOP#1"), Text("HEAD"))
	s.Apply(keys, []snapshot.Effect{{Place: at, Item: m.Root(), Record: v, Put: at.Key(), Version: B("w"), Size: 30}})
	if s.Fresh || s.Partition.PK != Text("SHOP#1") || !s.Selection.Whole || s.Selection.Identity[0].Text != "1" ||
		s.Old.(*Shop).Name != "n" || len(s.Old.(*Shop).Lines) != 1 {
		t.Errorf("%+v, old %+v", s, s.Old)
	}
}

// After all of it was deleted an entity is as if it had never been stored, under its key.
func TestReset(t *testing.T) {
	m := Of[Shop](t)
	s, _, err := decode[Shop](t, m, whole(m, "1"), stored("HEAD", item.Attributes{"Name": S("n")}), line("a", "one"))
	if err != nil {
		t.Fatal(err)
	}
	s.Hide(s.Root().Place, &item.Hidden{})
	s.SetIncarnation(B("x"))
	s.Reset()
	if !s.Fresh || s.Root() != nil || len(s.Hidden) > 0 || hasOne(s) || s.KeyFields != nil ||
		s.Selection.Identity[0].Text != "1" {
		t.Errorf("%+v", s)
	}
	if diff := cmp.Diff(&Shop{}, s.Old, options); diff != "" {
		t.Error(diff)
	}
}

func hasOne(s *snapshot.Snapshot) bool {
	_, hasOne := s.Incarnation()
	return hasOne
}

// The incarnation of an entity is its root's, or the incarnation of any item. A part that has neither
// must be given it.
func TestIncarnation(t *testing.T) {
	m := Of[Shop](t)
	for _, c := range []struct {
		name   string
		items  []item.Attributes
		want   string
		hasOne bool
	}{
		{
			"of the root",
			[]item.Attributes{stored("HEAD", item.Attributes{"_a": B("x")}), line("a", "one")},
			"b'x'",
			true,
		},
		{"of a root without", []item.Attributes{stored("HEAD", nil)}, "-", true},
		{
			"of a line",
			[]item.Attributes{line("a", "one"), stored("LINE#b", item.Attributes{"_a": B("y")})},
			"b'y'",
			true,
		},
		{"of nothing", nil, "-", false},
	} {
		s, _, err := decode[Shop](t, m, whole(m, "1"), c.items...)
		if err != nil {
			t.Fatal(err)
		}
		a, hasOne := s.Incarnation()
		if got := "-"; hasOne != c.hasOne || a != nil && Show(a) != c.want || a == nil && c.want != got {
			t.Errorf("%s: %v, %v", c.name, a, hasOne)
		}
		if !c.hasOne {
			s.SetIncarnation(B("z"))
			if a, hasOne := s.Incarnation(); !hasOne || Show(a) != "b'z'" {
				t.Errorf("%s: %v, %v when it is told", c.name, a, hasOne)
			}
		}
	}
}

// Items that were deleted are forgotten; others stay.
func TestForget(t *testing.T) {
	m := Of[Shop](t)
	it := kind(m, "LINE")
	s, _, err := decode[Shop](t, m, whole(m, "1"), stored("HEAD", item.Attributes{"Name": S("n")}), line("a", "one"),
		line("b", "two"), line("c", "three"))
	if err != nil {
		t.Fatal(err)
	}
	all := slices.Clone(s.Items[it.Index])
	s.Forget([]snapshot.Effect{
		{Place: all[1].Place, Item: it, Stored: all[1], Deleted: true},
	})
	old := s.Old.(*Shop)
	if diff := cmp.Diff([]Line{lineOf("a", 1, "one"), lineOf("c", 1, "three")}, old.Lines); diff != "" ||
		s.Root() == nil {
		t.Error(diff)
	}
	s.Forget([]snapshot.Effect{{Place: s.Root().Place, Item: m.Root(), Stored: s.Root(), Deleted: true}})
	if s.Root() != nil || old.Name != "" {
		t.Errorf("the root is still known: %+v", old)
	}
}

// Key fields get their values from the singletons that hold them, and from no item that cannot be
// decoded.
func TestIncarnationOfSnapshot(t *testing.T) {
	m := Of[Ledger](t)
	year := slices.IndexFunc(m.Schema.KeyFields, func(f *schema.KeyField) bool { return f.Name == "Year" })
	for want, a := range map[string]item.Attributes{
		`"2026"`: Item("1", "HEAD", item.Attributes{"Year": S("2026")}),
		"-":      Item("1", "E#2026#001", nil),
	} {
		if got := snapshot.KeyFieldsOf(m, Images(t, m, a))[year].String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	bad := Item("1", "HEAD", item.Attributes{"Year": Bool(true)})
	if got := snapshot.KeyFieldsOf(m, Images(t, m, bad))[year].String(); got != "-" {
		t.Errorf("%s", got)
	}
}
