package model_test

import (
	"strings"
	"testing"
	"time"

	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/read/selection"
	. "github.com/itemize/itemize/internal/testing/fakedynamo"
)

// An image has the kind of an item, the values in its key, and its size. An item that matches no
// template has no kind.
func TestDescribe(t *testing.T) {
	m := Of[Session](t)
	items := []item.Attributes{
		Item("1", "HEAD", item.Attributes{"User": S("u"), "x": S("y"), "_v": B("v"), "expires": N("5")}),
		Item("1", "STEP#012", item.Attributes{"Text": S("t")}), Item("1", "OTHER", nil), Item("1", "STEP#x", nil),
	}
	images := Images(t, m, items...)
	for i, want := range []struct {
		kind    string
		listed  int
		expired bool
	}{{"HEAD", 1, true}, {"Steps", 1, false}, {"", 0, false}, {"", 0, false}} {
		f := &images[i]
		name := ""
		if f.Kind != nil {
			name = f.Kind.Name
		}
		if name != want.kind || f.Listed != want.listed || f.Expired != want.expired ||
			f.Size != attr.ItemSize(items[i]) {
			t.Errorf("%s: %s, %d listed, expired %v, %d bytes", f.Place, name, f.Listed, f.Expired, f.Size)
		}
	}
	if v := images[1].Values; len(v) != 1 || v[0].Int != 12 {
		t.Errorf("values %v", v)
	}
	if f := images[0]; int(f.Sizes[f.Kind.Attribute("User")]) != 5 || Show(f.Header.Version) != "b'v'" ||
		Show(f.Header.Expiry) != "5" {
		t.Errorf("%+v", f)
	}
	one, err := m.Image(m.Tables[0], items[1])
	if err != nil || one.Place != images[1].Place {
		t.Errorf("%+v %v", one, err)
	}
}

// The images of one answer share memory, and no image another's.
func TestDescribeMany(t *testing.T) {
	m := Of[Shop](t)
	var items []item.Attributes
	for _, sku := range strings.Fields("a b c d e f g") {
		items = append(items, Item("SHOP#1", "LINE#"+sku, item.Attributes{"Text": S(strings.Repeat("x", len(items)))}))
	}
	for i, f := range Images(t, m, items...) {
		if f.Values[0].Text != f.SK.Text[5:] || int(f.Sizes[f.Kind.Attribute("Text")]) != 4+i {
			t.Errorf("%s: %v %v", f.Place, f.Values, f.Sizes)
		}
	}
}

// An item without the table's key attributes is a table of other keys.
func TestDescribeWrongKey(t *testing.T) {
	m := Of[Shop](t)
	for name, a := range map[string]item.Attributes{"PK": {"SK": S("x")}, "SK": {"PK": S("x"), "SK": Bool(true)}} {
		_, err := m.Describe(m.Tables[0], []item.Attributes{a})
		if err == nil ||
			!strings.Contains(err.Error(), `an item of the table "shops" lacks the key attribute "`+name+
				`": declare the table's own with hash= and range=`) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Keys are made of a record's fields, its map key and the key fields, and checked.
func TestKeys(t *testing.T) {
	m := Of[Topic](t)
	fields, err := m.KeyFields(&Topic{Board: "b", Name: "n"})
	if err != nil {
		t.Fatal(err)
	}
	posts := m.Schema.Items[1]
	sk, err := m.SortKey(model.Record{Item: posts, Value: &Note{N: 7}}, fields)
	if err != nil || sk != Text("T#n#007") {
		t.Errorf("%s %v", sk, err)
	}
	if pk, err := m.Schema.PartitionKey(fields); err != nil || pk != Text("BOARD#b") {
		t.Errorf("%s %v", pk, err)
	}
	root, err := m.RootPlace(fields)
	if err != nil || root != At(m, Text("BOARD#b"), Text("T#n")) ||
		root != m.Place(m.Root(), In(Text("BOARD#b")), Text("T#n")) {
		t.Errorf("%s %v", root, err)
	}
	if _, err := m.SortKey(model.Record{Item: posts, Value: &Note{N: -1}}, fields); err == nil ||
		!strings.Contains(err.Error(), "Topic.Posts: {N:03} in") {
		t.Error(err)
	}
	long := key.OfString(strings.Repeat("x", 2100))
	if _, err := m.Schema.Partition([]key.Value{long, key.OfString("n")}); err == nil ||
		!strings.Contains(err.Error(), "over the limit of") {
		t.Error(err)
	}
	if _, err := m.SortKey(model.Record{Item: posts, Value: &Note{N: 1}},
		[]key.Value{key.OfString("b"), long}); err == nil || !strings.Contains(err.Error(), "over the limit of") {
		t.Error(err)
	}
	if got := m.EntityName(fields); got != `Board "b", Name "n"` || m.IdentityNames() != "Board, Name" ||
		len(m.Identity(fields)) != 2 {
		t.Errorf("%s of %s", got, m.IdentityNames())
	}
}

// An item agrees with key fields as far as both are known.
func TestAgrees(t *testing.T) {
	m := Of[Topic](t)
	images := Images(t, m, Item("BOARD#b", "T#n#007", nil), Item("BOARD#b", "T#n", nil))
	for i := range images {
		for _, c := range []struct {
			fields []key.Value
			want   bool
		}{
			{nil, true},
			{[]key.Value{key.OfString("b")}, true},
			{[]key.Value{key.OfString("b"), {}}, true},
			{[]key.Value{key.OfString("b"), key.OfString("n")}, true},
			{[]key.Value{key.OfString("b"), key.OfString("o")}, false},
		} {
			if got := m.Agrees(&images[i], c.fields); got != c.want {
				t.Errorf("%s and %v: %v", images[i].Place, c.fields, got)
			}
		}
		if id := m.IdentityOf(&images[i], []key.Value{key.OfString("b")}); len(id) != 2 || id[1].Text != "n" {
			t.Errorf("%s is one of %v", images[i].Place, id)
		}
	}
}

// Entities are selected by all of their key values, or in a flat model by those of the
// partition.
func TestSelect(t *testing.T) {
	topics, shops := Of[Topic](t), Of[Shop](t)
	for _, c := range []struct {
		name   string
		m      *model.Model
		args   []any
		entity bool
		err    string
	}{
		{"an entity", shops, []any{"1"}, true, ""},
		{"a flat model's", topics, []any{"b", "n"}, true, ""},
		{"many of a flat model", topics, []any{"b"}, false, ""},
		{"too few", shops, nil, false, "Key takes 1 values, and got 0: pass ID"},
		{"too few of a flat model", topics, nil, false, "Key takes 2 values, and got 0: pass Board, Name"},
		{"too many", shops, []any{"1", "2"}, false, "Key takes 1 values, and got 2: pass ID"},
		{"of a wrong type", shops, []any{7}, false, "the key field ID takes a string: the value is of type int"},
		{"nothing", shops, []any{""}, false, "an empty string in a key"},
	} {
		s := c.m.Select(c.args)
		switch {
		case c.err != "":
			if s.Err == nil || !strings.Contains(s.Err.Error(), c.err) {
				t.Errorf("%s: %v", c.name, s.Err)
			}
		case s.Err != nil || s.Entity != c.entity || s.Whole != c.entity:
			t.Errorf("%s: %+v", c.name, s)
		}
	}
}

// The root is recognized by its kind and its key, and exists even if it is empty.
func TestRoot(t *testing.T) {
	m := Of[Shop](t)
	if !m.IsRoot(m.Schema.Items[0]) || m.IsRoot(m.Schema.Items[1]) || m.DropsMark(m.Root()) {
		t.Error("the root is another")
	}
	if !m.Present(m.Root(), &Shop{}) || m.Present(m.Schema.Items[1], &Shop{}) ||
		!m.Present(m.Schema.Items[1], &Shop{Plan: &Plan{}}) {
		t.Error("what is present of an empty shop")
	}
	images := Images(t, m, Item("SHOP#1", "LINE#a", nil), Item("SHOP#1", "HEAD", nil))
	at, err := m.RootPlace([]key.Value{key.OfString("1")})
	if err != nil || !images[1].Is(at) || !m.IsRoot(images[1].Kind) || m.IsRoot(images[0].Kind) {
		t.Error("the root is not where it should be")
	}
	sel := m.Select([]any{"1"})
	if ok, err := m.SelectsRoot(&sel); !ok || err != nil {
		t.Errorf("the whole: %v %v", ok, err)
	}
	sel.Parts[0].Range = selection.Range{Kind: selection.Prefix, Low: Text("LINE#")}
	if ok, err := m.SelectsRoot(&sel); ok || err != nil {
		t.Errorf("the lines: %v %v", ok, err)
	}
}

// A model's clock decides whether an item is expired.
func TestClock(t *testing.T) {
	m := Of[Session](t)
	m.Now = func() time.Time { return time.Unix(4, 0) }
	if f := Images(t, m, Item("1", "HEAD", item.Attributes{"expires": N("5")}))[0]; f.Expired ||
		!m.Time().Equal(time.Unix(4, 0)) {
		t.Error("expired before its time")
	}
}
