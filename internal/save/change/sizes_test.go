package change_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/read/snapshot"
	"github.com/itemize/itemize/internal/save/change"
	"github.com/itemize/itemize/internal/save/write"
	. "github.com/itemize/itemize/internal/testing/fakedynamo"
)

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
		d := diff(t, s, v, change.Options{})
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
		d := diff(t, s, v, change.Options{})
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
		d := diff(t, s, v, change.Options{})
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
