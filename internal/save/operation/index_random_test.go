package operation_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/itemize/itemize/field"
	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/handmade"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/mapper/mapperimpl"
	"github.com/itemize/itemize/query"
)

var issueFields = struct {
	State, Owner, Text *field.String[*kit.Issue, string]
	Weight             *field.Number[*kit.Issue, int]
	Opened             *field.Ordered[*kit.Issue, time.Time]
}{
	handmade.String("State", "", func(x *kit.Issue) *string { return &x.State }),
	handmade.String("Owner", "", func(x *kit.Issue) *string { return &x.Owner }),
	handmade.String("Text", "", func(x *kit.Issue) *string { return &x.Text }),
	handmade.Number("Weight", "", func(x *kit.Issue) *int { return &x.Weight }),
	handmade.Time("Opened", "", func(x *kit.Issue) *time.Time { return &x.Opened }),
}

var issueTextFields = struct {
	By, Words *field.String[*kit.IssueText, string]
}{
	handmade.String("By", "", func(x *kit.IssueText) *string { return &x.By }),
	handmade.String("Words", "", func(x *kit.IssueText) *string { return &x.Words }),
}

// issues is a table with two global indexes on roots, one on elements and a local one. It has the
// stored issues, and the random operations on them.
type issues struct {
	*testing.T
	r       *rand.Rand
	m       *mapper.Mapper[kit.Issue]
	now     map[string]*mapper.Entity[kit.Issue]
	serial  int
	written int
}

func (x *issues) text(n int) string { return strings.Repeat("x", x.r.IntN(n)) }

func (x *issues) one(of ...string) string { return of[x.r.IntN(len(of))] }

func (x *issues) at() time.Time {
	return kit.Monday.Add(time.Duration(x.r.IntN(100_000)) * time.Second)
}

// edit changes a value at random: perhaps nothing of it.
func (x *issues) edit(v *kit.Issue) {
	for range 1 + x.r.IntN(3) {
		switch x.r.IntN(8) {
		case 0:
			v.State = x.one("", "open", "closed", "lost")
		case 1:
			v.Owner = x.one("", "ann", "bob")
		case 2:
			v.Weight = x.r.IntN(5)
		case 3:
			v.Opened = x.at()
		case 4:
			v.Text = x.text(6000)
		case 5:
			x.serial++
			v.Texts = append(v.Texts, kit.IssueText{
				At: kit.Monday.Add(time.Duration(x.serial) * time.Millisecond),
				By: x.one("", "bob", "eve"), Words: x.text(3000),
			})
		default:
			if n := len(v.Texts); n > 0 {
				i := x.r.IntN(n)
				switch x.r.IntN(3) {
				case 0:
					v.Texts = slices.Delete(v.Texts, i, i+1)
				case 1:
					v.Texts[i].By = x.one("", "bob", "eve", "zoe")
				case 2:
					v.Texts[i].Words = x.text(3000)
				}
			}
		}
	}
}

// check is checkCharged, and counts the writes.
func (x *issues) check(what string, plan *mapper.Plan, r *mapper.Receipt, err error) {
	x.Helper()
	checkCharged(x, what, plan, r, err)
	x.written++
}

// checkCharged compares the planned, the predicted and the charged units, of the table and of each
// index.
func checkCharged(x testing.TB, what string, plan *mapper.Plan, r *mapper.Receipt, err error) {
	x.Helper()
	if err != nil {
		x.Fatalf("%s: %v", what, err)
	}
	names := map[string]bool{}
	for name := range r.Consumed.Indexes {
		names[name] = true
	}
	for name := range r.Predicted().Indexes {
		names[name] = true
	}
	for name := range names {
		got, want := r.Consumed.Indexes[name], r.Predicted().Indexes[name]
		if !want.Contains(got) || plan != nil && !plan.Indexes[name].Contains(got) {
			x.Errorf("%s: %s took %v, predicted %v, planned %v\n%s", what, name, got, want, plan, r)
		}
	}
	charged := r.Consumed.WCU + r.Refused.Expected // which is charged, and not reported
	if !r.Predicted().WCU.Contains(charged) || plan != nil && !plan.WCU.Contains(r.Consumed.WCU) {
		x.Errorf("%s: %v WCU, predicted %v, planned %v\n%s", what, r.Consumed.WCU, r.Predicted().WCU, plan, r)
	}
	// A plan does not know that a write will be refused, and that the blocking item is read.
	if !r.Predicted().RCU.Contains(r.Consumed.RCU) || plan != nil && r.Refused.Max == 0 &&
		!plan.RCU.Contains(r.Consumed.RCU) {
		x.Errorf("%s: %v RCU, predicted %v, planned %v\n%s", what, r.Consumed.RCU, r.Predicted().RCU, plan, r)
	}
}

// exact is check for costs that must be known before.
func (x *issues) exact(what string, plan *mapper.Plan, r *mapper.Receipt, err error) {
	x.Helper()
	x.check(what, plan, r, err)
	if !r.Predicted().WCU.Exact() || plan != nil && !plan.WCU.Exact() {
		x.Errorf("%s: predicted %v, planned %v", what, r.Predicted().WCU, plan)
	}
}

func (x *issues) any() (string, *mapper.Entity[kit.Issue]) {
	ids := slices.Sorted(maps.Keys(x.now))
	id := ids[x.r.IntN(len(ids))]
	return id, x.now[id]
}

func (x *issues) step(ctx context.Context) {
	options := [][]mapper.WriteOption{nil, nil, {mapper.Independent()}, {mapper.ExactlyOnce()}}[x.r.IntN(4)]
	if len(x.now) < 5 || x.r.IntN(12) == 0 {
		x.serial++
		v := kit.Issue{ID: strconv.Itoa(x.serial), Opened: x.at()}
		x.edit(&v)
		x.edit(&v)
		e := x.m.New(v)
		if x.r.IntN(3) == 0 {
			options = []mapper.WriteOption{mapper.Staged()}
		}
		plan := kit.Must(x.m.PlanSave(e, options...))(x)
		r, err := x.m.Save(ctx, e, options...)
		x.exact("insert", plan, r, err)
		x.now[v.ID] = e
		return
	}
	id, e := x.any()
	switch n := x.r.IntN(20); {
	case n == 0:
		plan := kit.Must(x.m.PlanDelete(e))(x)
		r, err := x.m.Delete(ctx, e)
		x.exact("delete", plan, r, err)
		delete(x.now, id)
	case n == 1:
		r, err := x.m.DeleteByKey(ctx, x.m.Key(id), mapper.Staged())
		x.check("delete, staged", nil, r, err)
		delete(x.now, id)
	case n < 4:
		_, other := x.any()
		x.edit(&e.Value)
		parts := []mapper.Part{x.m.SavePart(e)}
		if other != e {
			x.edit(&other.Value)
			parts = append(parts, x.m.SavePart(other))
		}
		plan := kit.Must(mapper.PlanTransact(parts...))(x)
		r, err := mapper.Transact(ctx, parts...)
		if len(parts) > 1 { // the root items that are checked were not all loaded
			x.check("transaction", plan, r, err)
		} else {
			x.exact("transaction", plan, r, err)
		}
	case n < 10:
		x.patch(ctx, id, e)
	default:
		x.edit(&e.Value)
		plan := kit.Must(x.m.PlanSave(e, options...))(x)
		r, err := x.m.Save(ctx, e, options...)
		x.exact("save", plan, r, err)
	}
}

// patch changes an entity without reading it, and then loads it again.
func (x *issues) patch(ctx context.Context, id string, e *mapper.Entity[kit.Issue]) {
	f := issueFields
	head := mapperimpl.Item[kit.Issue, kit.Issue](x.m.Key(id).Item("HEAD"), 0)
	var p *mapper.Patch[kit.Issue]
	switch x.r.IntN(7) {
	case 0:
		p = head.Patch(f.State.Set(x.one("", "open", "closed")), f.Opened.Set(x.at())).And()
	case 1:
		p = head.Patch(f.Owner.Set(x.one("", "ann", "eve"))).And()
	case 2:
		p = head.Patch(f.Weight.Increment(1)).And()
	case 3:
		p = head.Patch(f.Text.Set(x.text(6000)), f.Owner.Remove()).And()
	case 4:
		x.serial++
		p = handmade.Elements[kit.Issue, kit.IssueText]{Node: x.m.Key(id).Prefix("TEXT#"), Item: 1}.
			Add(kit.IssueText{
				At: kit.Monday.Add(time.Duration(x.serial) * time.Millisecond), By: x.one("", "bob"),
				Words: x.text(3000),
			})
	default:
		if len(e.Value.Texts) == 0 {
			return
		}
		one := e.Value.Texts[x.r.IntN(len(e.Value.Texts))]
		node := x.textNode(id, one.At)
		switch x.r.IntN(3) {
		case 0:
			p = node.Delete()
		case 1:
			p = node.Patch(issueTextFields.By.Set(x.one("", "zoe"))).And()
		case 2:
			p = node.Patch(issueTextFields.Words.Set(x.text(3000))).And()
		}
	}
	plan := kit.Must(p.Plan(x.m))(x)
	r, err := p.Exec(ctx, x.m)
	x.check("patch", plan, r, err)
	x.now[id] = kit.Must(x.m.Load(ctx, x.m.Key(id), mapper.Strong()))(x)
}

// compare compares the results of the indexes with the entities.
func (x *issues) compare(ctx context.Context) {
	x.Helper()
	look := func(name string, got *query.Query[kit.Issue, kit.Issue], want func(*kit.Issue) bool) {
		x.Helper()
		var ids, all []string
		for v, err := range got.All(ctx, x.m) {
			if err != nil {
				x.Fatal(name, err)
			}
			ids = append(ids, v.ID)
		}
		for id, e := range x.now {
			if want(&e.Value) {
				all = append(all, id)
			}
		}
		slices.Sort(ids)
		slices.Sort(all)
		if !slices.Equal(ids, all) {
			x.Errorf("%s yields %v, want %v", name, ids, all)
		}
	}
	of := query.Of[kit.Issue, kit.Issue]
	for _, state := range []string{"open", "closed", "lost"} {
		look("byState "+state, of(x.m.Index("byState", state)),
			func(v *kit.Issue) bool { return v.State == state && !v.Opened.IsZero() })
	}
	look("byOwner", of(x.m.Index("byOwner", "ann")), func(v *kit.Issue) bool { return v.Owner == "ann" })
	id, e := x.any()
	look("byWeight", of(x.m.Index("byWeight", id, e.Value.Weight)), func(v *kit.Issue) bool { return v.ID == id })
	for _, by := range []string{"bob", "eve", "zoe"} {
		want := 0
		for _, e := range x.now {
			for _, t := range e.Value.Texts {
				if t.By == by {
					want++
				}
			}
		}
		if n := kit.Must(query.Of[kit.IssueText](x.m.Index("byAuthor", by)).Count(ctx, x.m))(x); n != want {
			x.Errorf("byAuthor %s: %d, want %d", by, n, want)
		}
	}
}

// Writes cost the planned units, of the table and of each index, in random operations on a table with
// three global indexes and a local one. The indexes yield exactly the existing entities.
func TestIndexesAtRandom(t *testing.T) {
	t.Parallel()
	if !testengine.ReportsTransactions(t) {
		t.Log("the units of indexes are right on dynoxide")
		return
	}
	seed := draws.Seed(t)
	ctx := context.Background()
	x := &issues{
		T: t, r: rand.New(rand.NewPCG(seed, 0)), m: kit.Indexed[kit.Issue](t, nil),
		now: map[string]*mapper.Entity[kit.Issue]{},
	}
	for i := range draws.Times(100, 2_000, 50_000) {
		x.step(ctx)
		if i%100 == 99 {
			x.compare(ctx)
		}
		if t.Failed() {
			t.Fatal(fmt.Sprint("after ", i, " operations"))
		}
	}
	t.Logf("%d writes", x.written)
}

func (x *issues) textNode(id string, at time.Time) *mapper.ItemNode[kit.Issue, *kit.IssueText] {
	of := mapperimpl.Entity[kit.Issue](mapperimpl.StringValue(id))
	return mapperimpl.Element[kit.Issue, kit.IssueText](mapperimpl.Items(of, 1, 2, mapperimpl.TimeValue(at)), 1)
}
