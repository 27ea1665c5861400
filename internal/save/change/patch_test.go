package change_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/expr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/save/change"
	. "github.com/itemize/itemize/internal/testing/fakedynamo"
)

// path is the way to a field of a record.
func path(name string) expr.Field { return expr.Field{{Name: name, Attribute: name}} }

// of returns the index of the item whose sort key begins so.
func of(m *model.Model, begin string) int {
	return slices.IndexFunc(m.Schema.Items, func(x *schema.Item) bool { return strings.HasPrefix(x.Key.Text, begin) })
}

// A patch's requests require what they assume of the stored items, and mark nothing as
// known that was not read.
func TestNewPatch(t *testing.T) {
	m := Of[Shop](t)
	head, line, plan := of(m, "HEAD"), of(m, "LINE"), of(m, "PLAN")
	set := expr.Change{Kind: expr.Set, Item: head, Field: path("Name"), Apply: func(v any) { v.(*Shop).Name = "n" }}
	drop := expr.Change{Kind: expr.Remove, Item: head, Field: path("Name")}
	count := expr.Change{Kind: expr.Increment, Item: head, Field: path("Visits"), By: "2"}
	add := expr.Change{Kind: expr.Add, Item: line, Record: &Line{SKU: "a"}}
	removed := expr.Change{Kind: expr.Delete, Item: plan}
	entity := expr.Change{Kind: expr.IfEntity}
	either, addEither := set, add
	either.Upsert, addEither.Kind = true, expr.Put
	seven := expr.New(path("Visits"),
		func(x *attr.Expression, name string) string { return name + " = " + x.Value(N("7")) })
	when := expr.Change{Kind: expr.If, Item: head, Condition: seven}
	for _, c := range []struct {
		name string
		all  []expr.Change
		want []string
		err  string
	}{
		{
			"set",
			[]expr.Change{set},
			[]string{"update HEAD: Name='n' | attribute_exists(PK) AND (attribute_not_exists(_s) OR " +
				"_s.state = 'live')"},
			"",
		},
		{
			"removed",
			[]expr.Change{drop},
			[]string{"update HEAD: -Name | attribute_exists(PK) AND (attribute_not_exists(_s) OR _s.state = 'live')"},
			"",
		},
		{
			"the last of several",
			[]expr.Change{set, drop},
			[]string{"update HEAD: -Name | attribute_exists(PK) AND (attribute_not_exists(_s) OR _s.state = 'live')"},
			"",
		},
		{"incremented", []expr.Change{count}, []string{"update HEAD: Visits = if_not_exists(Visits, 0) + 2 | " +
			"attribute_exists(PK) AND (attribute_not_exists(_s) OR _s.state = 'live') AND " +
			"(attribute_not_exists(Visits) OR attribute_type(Visits, 'N'))"}, ""},
		{"on a condition", []expr.Change{set, when}, []string{"update HEAD: Name='n' | attribute_exists(PK) AND " +
			"(attribute_not_exists(_s) OR _s.state = 'live') AND Visits = 7"}, ""},
		{"added", []expr.Change{add}, []string{"put LINE#a: Count=0 Text='' | attribute_not_exists(PK)"}, ""},
		{
			"deleted",
			[]expr.Change{removed},
			[]string{"delete PLAN: | attribute_exists(PK) AND attribute_not_exists(_s)"},
			"",
		},
		{
			"upserted",
			[]expr.Change{either},
			[]string{"update HEAD: Name='n' | (attribute_not_exists(_s) OR _s.state = 'live')"},
			"",
		},
		{
			"upserted beside another that is not",
			[]expr.Change{either, add},
			[]string{
				"update HEAD: Name='n' | (attribute_not_exists(_s) OR _s.state = 'live')",
				"put LINE#a: Count=0 Text='' | attribute_not_exists(PK)",
			},
			"",
		},
		{"upserted in part", []expr.Change{either, count}, []string{"update HEAD: Name='n' Visits = " +
			"if_not_exists(Visits, 0) + 2 | attribute_exists(PK) AND (attribute_not_exists(_s) OR _s.state = 'live') " +
			"AND (attribute_not_exists(Visits) OR attribute_type(Visits, 'N'))"}, ""},
		{
			"added either way",
			[]expr.Change{addEither},
			[]string{"put LINE#a: Count=0 Text='' | attribute_not_exists(_s)"},
			"",
		},
		{
			"if the entity is there",
			[]expr.Change{add, entity},
			[]string{
				"put LINE#a: Count=0 Text='' | attribute_not_exists(PK)",
				"check HEAD: | attribute_exists(PK) AND (attribute_not_exists(_s) OR _s.state = 'live')",
			},
			"",
		},
		{"nothing", nil, nil, "the patch changes nothing"},
		{
			"set and incremented",
			[]expr.Change{count, {Kind: expr.Set, Item: head, Field: path("Visits"), Apply: func(any) {}}},
			nil,
			"the patch changes it twice",
		},
		{
			"added twice",
			[]expr.Change{add, add},
			nil,
			"the patch has two changes of SHOP#1 LINE#a that exclude each other",
		},
	} {
		x, err := change.NewPatch(m, whole(m, "1"), c.all)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if x.Entity {
			if _, err := x.RequireRoot(); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		}
		var got []string
		for _, r := range x.Requests() {
			text := string(r.Kind) + " " + r.SK.Text + ":"
			for _, a := range r.Set {
				text += " " + a.Name + "=" + Show(a.Value)
			}
			for _, a := range r.Remove {
				text += " -" + a.Name
			}
			for _, o := range r.Operations {
				var x attr.Expression
				text += " " + Expand(o.Text(&x), x.Names(), x.Values())
			}
			got = append(got, text+" | "+rendered(t, r))
			if !r.Expect.Blind {
				t.Errorf("%s: %s is not blind", c.name, r.Place)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s:\n got %s\nwant %s", c.name, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

// If a staged insert has put the item, or an item blocks a new one, the patch adapts to it. It writes
// an item of the live entity on condition of its incarnation. It replaces a leftover item by its
// version, and gives it the live incarnation.
func TestStray(t *testing.T) {
	m := Of[Shop](t)
	plan, line := of(m, "PLAN"), of(m, "LINE")
	x, err := change.NewPatch(m, whole(m, "1"), []expr.Change{
		{Kind: expr.Set, Item: plan, Part: true, Field: path("Tier"), Apply: func(v any) { v.(*Plan).Tier = "t" }},
		{Kind: expr.Add, Item: line, Record: &Line{SKU: "a"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	stored := []item.Attributes{{"_a": B("live"), "_s": Bool(true)}, {"_a": B("old"), "_v": B("seen")}}
	if stray := x.Stray(stored); !slices.Equal(stray, []int{0, 1}) {
		t.Errorf("stray: %v", stray)
	}
	x.Items[0].OfLive(B("live"))
	x.Items[1].Replacing(&item.Hidden{Size: 3000, Header: item.Header{Version: B("seen")}}, B("live"))
	if stray := x.Stray(stored); len(stray) > 0 {
		t.Errorf("still stray: %v", stray)
	}
	update, put := x.Items[0], x.Items[1]
	if got := rendered(t, &update.Request); got != "_a = b'live'" || len(update.Remove) > 0 {
		t.Errorf("%s, removed %v", got, update.Remove)
	}
	if got := rendered(t, &put.Request); got != "attribute_not_exists(PK) OR _v = b'seen'" || put.OldSize != 3000 ||
		Show(put.Put["_a"]) != "b'live'" {
		t.Errorf("%s", got)
	}
	if stray := x.Stray([]item.Attributes{nil, {"_a": B("other")}}); !slices.Equal(stray, []int{1}) {
		t.Errorf("stray: %v", stray)
	}
}

// A request that writes a whole attribute, computed from the stored item, requires that item, whatever the patch
// learns afterwards. Without the condition it would overwrite the change of another writer (law 3).
func TestRewrittenItemIsRequired(t *testing.T) {
	m := Of[Shop](t)
	head, plan := of(m, "HEAD"), of(m, "PLAN")
	visits := expr.Change{Kind: expr.Increment, Item: head, Field: path("Visits"), By: "2"}
	seats := expr.Change{Kind: expr.Increment, Item: plan, Part: true, Field: path("Seats"), By: "2"}
	for _, item := range []struct {
		name, attribute string
		change          expr.Change
	}{{"the root item", "Visits", visits}, {"a fixed item", "Seats", seats}} {
		for _, event := range []struct {
			name string
			do   func(*change.Patch)
		}{
			{"nothing", func(*change.Patch) {}},
			{"the mapper remembers an incarnation", func(x *change.Patch) { x.Expect(B("live")) }},
			{"the root item was read", func(x *change.Patch) { x.Bind(B("live")) }},
			{"another item was in the way", func(x *change.Patch) { x.Pin(B("live")) }},
			{"the entity was deleted", func(x *change.Patch) { x.Unbind() }},
		} {
			x, err := change.NewPatch(m, whole(m, "1"), []expr.Change{item.change})
			if err != nil {
				t.Fatal(err)
			}
			it := x.Items[0]
			null := &types.AttributeValueMemberNULL{Value: true}
			stored := map[string]types.AttributeValue{item.attribute: null, "_v": B("seen")}
			if err := it.Rewrite(stored); err != nil {
				t.Fatal(err)
			}
			event.do(x)
			condition := rendered(t, &it.Request)
			if len(it.Set) > 0 && !strings.Contains(condition, "_v = b'seen'") || len(it.Set)+len(it.Operations) != 1 {
				t.Errorf("%s, %s: it sets %v on condition %s", item.name, event.name, it.Set, condition)
			}
		}
	}
}
