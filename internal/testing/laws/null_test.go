package laws

import (
	"context"
	"errors"
	"testing"

	"github.com/itemize/itemize/field"
	"github.com/itemize/itemize/internal/model/codec"
	"github.com/itemize/itemize/internal/testing/handmade"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/mapper/mapperimpl"
	"github.com/itemize/itemize/query"
)

type nullableSub struct{ N *int }

type nullable struct {
	Group string         `ddb:"pk=N#{Group}"`
	ID    string         `ddb:"sk=E#{ID}"`
	Count *int           `ddb:"sk=E#{ID}"`
	Text  string         `ddb:"sk=E#{ID}"`
	Empty string         `ddb:"sk=E#{ID}" dynamodbav:",nullempty"`
	List  []string       `ddb:"sk=E#{ID}"`
	Sub   nullableSub    `ddb:"sk=E#{ID},nested"`
	Map   map[string]int `ddb:"sk=E#{ID}"`
	Note  string         `ddb:"sk=E#{ID}"`
}

var (
	nullCount = handmade.Value(
		"Count",
		"",
		func(v *nullable) **int { return &v.Count },
		codec.PointerOf(codec.NumericOf[int]()),
	)
	nullText  = handmade.String("Text", "", func(v *nullable) *string { return &v.Text })
	nullEmpty = handmade.String("Empty", ",nullempty", func(v *nullable) *string { return &v.Empty })
	nullList  = handmade.List[nullable]("List", "", func(v *nullable) *[]string { return &v.List },
		codec.SliceOf[[]string](codec.StringOf[string]()))
	nullSubN = handmade.Value(
		"N",
		"",
		func(v *nullableSub) **int { return &v.N },
		codec.PointerOf(codec.NumericOf[int]()),
	)
	nullNote = handmade.String("Note", "", func(v *nullable) *string { return &v.Note })
	nullMap  = handmade.Map[*field.Number[*nullable, int]](
		"Map",
		"",
		func(v *nullable) *map[string]int { return &v.Map },
		codec.MapOf[map[string]int](codec.NumericOf[int]()),
	)
)

// nil, NULL and a missing attribute are one thing in conditions, filters and patches.
func TestNullIsAbsent(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := open[nullable](t)
	fill := func() {
		s.put("N#g", "E#null", attributes{
			"Count": null(), "Text": null(), "Empty": null(), "List": null(), "Map": object(attributes{"k": null()}),
		})
		s.put("N#g", "E#missing", attributes{"Map": object(attributes{})})
		s.put("N#g", "E#set", attributes{
			"Count": number("4"), "Text": text("t"), "Empty": text("e"), "List": list(text("l")),
			"Map": object(attributes{"k": number("4")}),
		})
	}
	node := func(id string) handmade.Entity[nullable] { return handmade.EntityOf(s.Key("g", id)) }
	four, five := 4, 5
	holds := func(id string, c field.Condition[nullable]) bool {
		t.Helper()
		_, err := node(id).Patch(nullNote.Set("x")).If(c).Exec(ctx, s.Mapper)
		if refused := new(mapper.ConflictError); err != nil && !errors.As(err, &refused) {
			t.Fatal(err)
		}
		found := false
		for _, v := range must(query.Of[nullable](query.Selection[nullable](s.Key("g"))).Filter(c).Collect(ctx,
			s.Mapper))(t) {
			found = found || v.ID == id
		}
		if found != (err == nil) {
			t.Errorf("%s: a patch returns %v, but a filter says %t", id, err, found)
		}
		return found
	}
	fill()
	for i, c := range []struct {
		condition                      field.Condition[nullable]
		ofNull, ofMissing, ofSetValues bool
	}{
		{nullCount.Absent(), true, true, false},
		{nullCount.Exists(), false, false, true},
		{nullCount.Equal(nil), true, true, false},
		{nullCount.NotEqual(nil), false, false, true},
		{nullCount.In(nil), true, true, false},
		{nullCount.In(nil, &four), true, true, true},
		{nullCount.In(nil, &five), true, true, false},
		{nullCount.In(&four, &five), false, false, true},
		{nullCount.Equal(&four), false, false, true},
		{nullCount.NotEqual(&five), true, true, true},
		{nullText.Absent(), true, true, false},
		{nullText.Exists(), false, false, true},
		{nullEmpty.Equal(""), true, true, false},
		{nullEmpty.NotEqual(""), false, false, true},
		{nullList.Absent(), true, true, false},
		{nullList.Equal(nil), true, true, false},
		{nullMap.Key("k").Absent(), true, true, false},
		{nullMap.Key("k").Exists(), false, false, true},
		{field.Not(nullCount.Absent()), false, false, true},
		{field.And(nullCount.Absent(), nullText.Absent()), true, true, false},
	} {
		for id, want := range map[string]bool{"null": c.ofNull, "missing": c.ofMissing, "set": c.ofSetValues} {
			if got := holds(id, c.condition); got != want {
				t.Errorf("condition %d holds for %s: %t", i, id, got)
			}
		}
	}
	for i, change := range []func() field.Change[nullable]{
		func() field.Change[nullable] { return nullCount.SetIfAbsent(&five) },
		func() field.Change[nullable] { return nullText.SetIfAbsent("five") },
		func() field.Change[nullable] { return nullList.SetIfAbsent([]string{"five"}) },
		func() field.Change[nullable] { return nullMap.Key("k").SetIfAbsent(5) },
	} {
		fill()
		for _, id := range []string{"null", "missing", "set"} {
			for range 2 {
				must(node(id).Patch(change()).Exec(ctx, s.Mapper))(t)
			}
		}
		name := []string{"Count", "Text", "List", "Map"}[i]
		if a, b := s.get("N#g", "E#null")[name], s.get("N#g", "E#missing")[name]; show(a) != show(b) {
			t.Errorf("%s: SetIfAbsent makes %s of NULL, and %s of nothing", name, show(a), show(b))
		}
		before := s.get("N#g", "E#set")[name]
		must(node("set").Patch(change()).Exec(ctx, s.Mapper))(t)
		s.want("N#g", "E#set", name, before)
	}
	fill()
	sub := func(v *nullable) *nullableSub { return &v.Sub }
	subHandle := handmade.Struct(
		"Sub",
		"",
		sub,
		mapperimpl.Struct(mapperimpl.Funcs[nullableSub]{}),
	)
	for _, id := range []string{"null", "missing"} {
		must(node(id).Patch(subHandle.Change(nullSubN.SetIfAbsent(&five))).Exec(ctx, s.Mapper))(t)
		s.want("N#g", "E#"+id, "Sub", object(attributes{"N": number("5")}))
	}
	for _, c := range []field.Condition[nullable]{nullEmpty.Less(""), nullEmpty.Between("", "a")} {
		if _, err := node("set").Patch(nullNote.Set("x")).If(c).Exec(ctx, s.Mapper); err == nil {
			t.Error("NULL is compared by its order")
		}
	}
}
