package change_test

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"reflect"
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
)

// act is a change, and what it does to the value in memory.
type act struct {
	change field.Change[kit.Cells]
	do     func(v *kit.Cells)
	takes  bool // it takes something away
}

func changed[E comparable](has []E, add bool, some ...E) []E {
	has = slices.DeleteFunc(slices.Clone(has), func(e E) bool { return slices.Contains(some, e) })
	if add {
		has = append(has, some...)
	}
	return has
}

// drawAct draws a change of each kind.
func drawAct(r *rand.Rand) act {
	f, i, k := kit.CellFields, kit.InnerFields, []string{"a", "b", "c.d"}[r.IntN(3)]
	text, n := "t"+strconv.Itoa(r.IntN(5)), r.IntN(7)-3
	some := []string{k, text}
	counts := func(v *kit.Cells) map[string]int {
		if v.Counts == nil {
			v.Counts = map[string]int{}
		}
		return v.Counts
	}
	deep := func(v *kit.Inner) map[string]string {
		if v.Deep == nil {
			v.Deep = map[string]string{}
		}
		return v.Deep
	}
	far := func(v *kit.Cells) *kit.Inner {
		if v.Far == nil {
			v.Far = &kit.Inner{}
		}
		return v.Far
	}
	at := time.Unix(int64(1e9+r.IntN(1e6)), 0)
	all := []act{
		{f.Text.Set(text), func(v *kit.Cells) { v.Text = text }, false},
		{f.Text.Remove(), func(v *kit.Cells) { v.Text = "" }, true},
		{f.Count.Increment(n), func(v *kit.Cells) { v.Count += n }, false},
		{f.Count.Set(n), func(v *kit.Cells) { v.Count = n }, false},
		{f.Share.Increment(0.25), func(v *kit.Cells) { v.Share += 0.25 }, false},
		{f.Small.Increment(3), func(v *kit.Cells) { v.Small += 3 }, false},
		{f.Done.Set(n > 0), func(v *kit.Cells) { v.Done = n > 0 }, false},
		{f.Seen.Set(at), func(v *kit.Cells) { v.Seen = at }, false},
		{f.Data.Set([]byte(text)), func(v *kit.Cells) { v.Data = []byte(text) }, false},
		{f.Note.Set(&text), func(v *kit.Cells) { v.Note = &text }, false},
		{f.Note.Set(nil), func(v *kit.Cells) { v.Note = nil }, false},
		{f.Note.Remove(), func(v *kit.Cells) { v.Note = nil }, true},
		{f.Tags.Add(some...), func(v *kit.Cells) { v.Tags = changed(v.Tags, true, some...) }, false},
		{f.Tags.Delete(some...), func(v *kit.Cells) { v.Tags = changed(v.Tags, false, some...) }, true},
		{f.Tags.Set(some), func(v *kit.Cells) { v.Tags = slices.Clone(some) }, false},
		{f.Primes.Add(n, 11), func(v *kit.Cells) { v.Primes = changed(v.Primes, true, n, 11) }, false},
		{f.Primes.Delete(n), func(v *kit.Cells) { v.Primes = changed(v.Primes, false, n) }, true},
		{f.Lines.Append(some...), func(v *kit.Cells) { v.Lines = append(slices.Clone(v.Lines), some...) }, false},
		{f.Lines.Set(nil), func(v *kit.Cells) { v.Lines = nil }, false},
		{f.Counts.Key(k).Set(n), func(v *kit.Cells) { counts(v)[k] = n }, false},
		{f.Counts.Key(k).Increment(n), func(v *kit.Cells) { counts(v)[k] += n }, false},
		{f.Counts.Key(k).Remove(), func(v *kit.Cells) { delete(v.Counts, k) }, true},
		{f.Counts.Key(k).SetIfAbsent(n), func(v *kit.Cells) {
			if _, ok := v.Counts[k]; !ok {
				counts(v)[k] = n
			}
		}, false},
		{f.Counts.Remove(), func(v *kit.Cells) { v.Counts = nil }, true},
		{f.Inner.Change(i.City.Set(text)), func(v *kit.Cells) { v.Inner.City = text }, false},
		{
			f.Inner.Change(i.N.Increment(n),
				i.City.Set(text)), func(v *kit.Cells) { v.Inner.N += n; v.Inner.City = text },
			false,
		},
		{f.Inner.Change(i.Deep.Key(k).Set(text)), func(v *kit.Cells) { deep(&v.Inner)[k] = text }, false},
		{f.Inner.Change(i.Deep.Key(k).Remove()), func(v *kit.Cells) { delete(v.Inner.Deep, k) }, true},
		{f.Far.Change(i.City.Set(text)), func(v *kit.Cells) { far(v).City = text }, false},
		{
			f.Far.Change(i.Deep.Key(k).Set(text), i.N.Increment(n)),
			func(v *kit.Cells) { deep(far(v))[k] = text; far(v).N += n }, false,
		},
		{f.Far.Set(kit.Inner{City: text}), func(v *kit.Cells) { v.Far = &kit.Inner{City: text} }, false},
		{f.Far.Remove(), func(v *kit.Cells) { v.Far = nil }, true},
		{f.Left.Set(text), func(v *kit.Cells) { v.Left = text }, false},
		{f.Left.Set(""), func(v *kit.Cells) { v.Left = "" }, true},
		{f.Left.SetIfAbsent(text), func(v *kit.Cells) {
			if v.Left == "" {
				v.Left = text
			}
		}, false},
	}
	return all[r.IntN(len(all))]
}

// age stores some attributes of an entity under names that they had before.
func age(ctx context.Context, t *testing.T, r *rand.Rand, w *kit.Foreign, pk string) {
	t.Helper()
	out := kit.Must(w.Query(ctx, kit.QueryAll(w.Table, pk)))(t)
	for _, item := range out.Items {
		changed := false
		for name, v := range maps.Clone(item) {
			if strings.HasPrefix(name, "_") || strings.Contains(name, "-") || len(name) < 3 || r.IntN(2) == 0 {
				continue
			}
			delete(item, name)
			item[[]string{"old-", "older-"}[r.IntN(2)]+name] = v
			changed = true
		}
		if changed {
			w.Put(item)
		}
	}
}

// Law: a patch makes its changes to any stored value: NULL, an empty map, an item that does not exist.
// Random patches, one in three in a transaction that also saves another entity, are compared with
// values in memory.
func TestPatchLaw(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	m := kit.Must(mapper.New[kit.Board](kit.Client(t, &kit.Faulty{At: -1}, 1), mapper.Table(table)))(t)
	w := kit.NewForeign(t, table)
	n := draws.Times(80, 600, 10_000)
	seed := draws.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	var v kit.Board
	fresh := func(id int) {
		v = kit.Board{
			ID:   strconv.Itoa(id),
			Rows: []kit.Cells{{N: 1}, {N: 2, Counts: map[string]int{"a": 1}, Far: &kit.Inner{}}},
		}
		if r.IntN(2) == 0 {
			v.Other.Lines = []string{"x"}
		}
		kit.Must(m.Save(ctx, m.New(v)))(t)
	}
	side := m.New(kit.Board{ID: "side"})
	kit.Must(m.Save(ctx, side))(t)
	saved, refused, joined := 0, 0, 0
	for i := range n {
		if i%20 == 0 {
			fresh(i)
		}
		if i%3 == 2 {
			age(ctx, t, r, w, "BOARD#"+v.ID)
		}
		node := handmade.Node(m.Key(v.ID))
		var acts []act
		var changes []field.Change[kit.Cells]
		for range 1 + r.IntN(3) {
			a := drawAct(r)
			acts, changes = append(acts, a), append(changes, a.change)
		}
		var to *kit.Cells
		var p *mapper.ItemPatch[kit.Board, *kit.Cells]
		switch r.IntN(4) {
		case 0:
			to, p = &v.Main, mapperimpl.Item[kit.Board, kit.Cells](node, 0).Patch(changes...)
		case 1:
			to, p = &v.Other, mapperimpl.Item[kit.Board, kit.Cells](node, 1).Patch(changes...)
		default:
			at := r.IntN(2)
			item := mapperimpl.Next(mapperimpl.Items(node, 2, 1), 2, mapperimpl.IntValue(at+1))
			to, p = &v.Rows[at], mapperimpl.Element[kit.Board, kit.Cells](item, 2).Patch(changes...)
		}
		var returned *kit.Cells
		switch r.IntN(4) {
		case 0:
			p = p.IfEntityExists()
		case 1:
			returned = &kit.Cells{}
			p = p.Return(returned)
		}
		send := func() (*mapper.Receipt, error) { return p.Exec(ctx, m) }
		plan, err := p.Plan(m)
		if returned == nil && i%3 == 1 {
			side.Value.Main.Count = i
			parts := []mapper.Part{p.PatchPart(m), m.SavePart(side)}
			plan, err = mapper.PlanTransact(parts...)
			send = func() (*mapper.Receipt, error) { return mapper.Transact(ctx, parts...) }
		}
		if err != nil {
			if !strings.Contains(err.Error(), "two patches") {
				t.Fatalf("seed %d, patch %d: %v", seed, i, err)
			}
			continue
		}
		receipt, err := send()
		switch {
		case errors.Is(err, mapper.ErrNotFound) && to == &v.Other &&
			slices.ContainsFunc(acts, func(a act) bool { return a.takes }):
			refused++
		case err != nil:
			if !strings.Contains(err.Error(), "condition") || int(to.Small)+9 < 128 {
				t.Fatalf("seed %d, patch %d: %v\n%v\n%v", seed, i, err, plan, changes)
			}
			refused++
		default:
			for _, a := range acts {
				a.do(to)
			}
			if i > 0 && side.Value.Main.Count == i {
				saved = i
				joined++
			}
			if returned != nil && !reflect.DeepEqual(returned.Plain(), to.Plain()) {
				t.Fatalf("seed %d, patch %d returned\n     %+v\nwant %+v", seed, i, returned.Plain(), to.Plain())
			}
			if !plan.WCU.Contains(receipt.Consumed.WCU) && receipt.Predicted().Requests <= 1 &&
				(receipt.Predicted().Mode != "transaction" || testengine.ReportsTransactions(t)) {
				t.Errorf("seed %d, patch %d: planned %v, consumed %v", seed, i, plan.WCU, receipt.Consumed.WCU)
			}
		}
		if got := kit.Must(m.Load(ctx, m.Key("side"), mapper.Strong()))(t).Value.Main.Count; got != saved {
			t.Fatalf("seed %d, patch %d: the other entity was saved by %d, and holds %d", seed, i, saved, got)
		}
		e := kit.Must(m.Load(ctx, m.Key(v.ID), mapper.Strong()))(t)
		for j, pair := range [][2]kit.Cells{
			{e.Value.Main, v.Main},
			{e.Value.Other, v.Other},
			{e.Value.Rows[0], v.Rows[0]},
			{e.Value.Rows[1], v.Rows[1]},
		} {
			if got, want := pair[0].Plain(), pair[1].Plain(); !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d, patch %d, item %d:\n got %+v\nwant %+v\n%v", seed, i, j, got, want, plan)
			}
		}
		if i%7 == 6 { // a save stores nothing as NULL
			e.Value.Main.Text += "!"
			v.Main.Text += "!"
			kit.Must(m.Save(ctx, e))(t)
		}
	}
	t.Logf("seed %d: %d patches, %d of them in transactions; %d refused", seed, n, joined, refused)
}
