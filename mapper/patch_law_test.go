package mapper_test

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
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/mapper/mapperimpl"
)

var innerForm = mapperimpl.Struct(mapperimpl.Funcs[inner]{}, handmade.Row(innerFields.City),
	handmade.Row(innerFields.N), handmade.Row(innerFields.Deep))

var innerFields = struct {
	City *field.String[inner, string]
	N    *field.Number[inner, int]
	Deep *field.Map[inner, map[string]string, string, *field.String[inner, string]]
}{
	handmade.String("City", "city", func(v *inner) *string { return &v.City }),
	handmade.Number("N", "", func(v *inner) *int { return &v.N }),
	handmade.Map[*field.String[inner, string]]("Deep", "", func(v *inner) *map[string]string { return &v.Deep },
		mapperimpl.Map[map[string]string](mapperimpl.String[string]())),
}

var cellFields = struct {
	State  *field.String[cells, string]
	Text   *field.String[cells, string]
	Small  *field.Number[cells, int8]
	Count  *field.Number[cells, int]
	Share  *field.Number[cells, float64]
	Done   *field.Bool[cells, bool]
	Seen   *field.Time[cells, time.Time]
	Data   *field.Bytes[cells, []byte]
	Note   *field.Value[cells, *string]
	Tags   *field.Set[cells, string]
	Primes *field.Set[cells, int]
	Lines  *field.List[cells, string]
	Counts *field.Map[cells, map[string]int, string, *field.Number[cells, int]]
	Inner  *field.Struct[cells, inner]
	Far    *field.Struct[cells, inner]
	Left   *field.String[cells, string]
}{
	handmade.String("State", "", func(v *cells) *string { return &v.State }),
	handmade.String("Text", "", func(v *cells) *string { return &v.Text }),
	handmade.Number("Small", "", func(v *cells) *int8 { return &v.Small }),
	handmade.Number("Count", "", func(v *cells) *int { return &v.Count }),
	handmade.Number("Share", "", func(v *cells) *float64 { return &v.Share }),
	handmade.Bool("Done", "", func(v *cells) *bool { return &v.Done }),
	handmade.Time("Seen", ",unixtime", func(v *cells) *time.Time { return &v.Seen }),
	handmade.Bytes("Data", "", func(v *cells) *[]byte { return &v.Data }),
	handmade.Value("Note", "", func(v *cells) **string { return &v.Note },
		mapperimpl.Pointer(mapperimpl.String[string]())),
	handmade.Set("Tags", ",stringset", func(v *cells) *[]string { return &v.Tags },
		mapperimpl.Slice[[]string](mapperimpl.String[string]())),
	handmade.Set("Primes", "primes,numberset", func(v *cells) *[]int { return &v.Primes },
		mapperimpl.Slice[[]int](mapperimpl.Numeric[int]())),
	handmade.List("Lines", "", func(v *cells) *[]string { return &v.Lines },
		mapperimpl.Slice[[]string](mapperimpl.String[string]())),
	handmade.Map[*field.Number[cells, int]]("Counts", "", func(v *cells) *map[string]int { return &v.Counts },
		mapperimpl.Map[map[string]int](mapperimpl.Numeric[int]())),
	handmade.Struct("Inner", "", func(v *cells) *inner { return &v.Inner }, innerForm),
	handmade.StructPointer("Far", "", func(v *cells) **inner { return &v.Far }, innerForm),
	handmade.String("Left", ",omitempty", func(v *cells) *string { return &v.Left }),
}

// act is a change, and what it does to the value in memory.
type act struct {
	change field.Change[cells]
	do     func(v *cells)
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
	f, i, k := cellFields, innerFields, []string{"a", "b", "c.d"}[r.IntN(3)]
	text, n := "t"+strconv.Itoa(r.IntN(5)), r.IntN(7)-3
	some := []string{k, text}
	counts := func(v *cells) map[string]int {
		if v.Counts == nil {
			v.Counts = map[string]int{}
		}
		return v.Counts
	}
	deep := func(v *inner) map[string]string {
		if v.Deep == nil {
			v.Deep = map[string]string{}
		}
		return v.Deep
	}
	far := func(v *cells) *inner {
		if v.Far == nil {
			v.Far = &inner{}
		}
		return v.Far
	}
	at := time.Unix(int64(1e9+r.IntN(1e6)), 0)
	all := []act{
		{f.Text.Set(text), func(v *cells) { v.Text = text }, false},
		{f.Text.Remove(), func(v *cells) { v.Text = "" }, true},
		{f.Count.Increment(n), func(v *cells) { v.Count += n }, false},
		{f.Count.Set(n), func(v *cells) { v.Count = n }, false},
		{f.Share.Increment(0.25), func(v *cells) { v.Share += 0.25 }, false},
		{f.Small.Increment(3), func(v *cells) { v.Small += 3 }, false},
		{f.Done.Set(n > 0), func(v *cells) { v.Done = n > 0 }, false},
		{f.Seen.Set(at), func(v *cells) { v.Seen = at }, false},
		{f.Data.Set([]byte(text)), func(v *cells) { v.Data = []byte(text) }, false},
		{f.Note.Set(&text), func(v *cells) { v.Note = &text }, false},
		{f.Note.Set(nil), func(v *cells) { v.Note = nil }, false},
		{f.Note.Remove(), func(v *cells) { v.Note = nil }, true},
		{f.Tags.Add(some...), func(v *cells) { v.Tags = changed(v.Tags, true, some...) }, false},
		{f.Tags.Delete(some...), func(v *cells) { v.Tags = changed(v.Tags, false, some...) }, true},
		{f.Tags.Set(some), func(v *cells) { v.Tags = slices.Clone(some) }, false},
		{f.Primes.Add(n, 11), func(v *cells) { v.Primes = changed(v.Primes, true, n, 11) }, false},
		{f.Primes.Delete(n), func(v *cells) { v.Primes = changed(v.Primes, false, n) }, true},
		{f.Lines.Append(some...), func(v *cells) { v.Lines = append(slices.Clone(v.Lines), some...) }, false},
		{f.Lines.Set(nil), func(v *cells) { v.Lines = nil }, false},
		{f.Counts.Key(k).Set(n), func(v *cells) { counts(v)[k] = n }, false},
		{f.Counts.Key(k).Increment(n), func(v *cells) { counts(v)[k] += n }, false},
		{f.Counts.Key(k).Remove(), func(v *cells) { delete(v.Counts, k) }, true},
		{f.Counts.Key(k).SetIfAbsent(n), func(v *cells) {
			if _, ok := v.Counts[k]; !ok {
				counts(v)[k] = n
			}
		}, false},
		{f.Counts.Remove(), func(v *cells) { v.Counts = nil }, true},
		{f.Inner.Change(i.City.Set(text)), func(v *cells) { v.Inner.City = text }, false},
		{
			f.Inner.Change(i.N.Increment(n), i.City.Set(text)), func(v *cells) { v.Inner.N += n; v.Inner.City = text },
			false,
		},
		{f.Inner.Change(i.Deep.Key(k).Set(text)), func(v *cells) { deep(&v.Inner)[k] = text }, false},
		{f.Inner.Change(i.Deep.Key(k).Remove()), func(v *cells) { delete(v.Inner.Deep, k) }, true},
		{f.Far.Change(i.City.Set(text)), func(v *cells) { far(v).City = text }, false},
		{
			f.Far.Change(i.Deep.Key(k).Set(text), i.N.Increment(n)),
			func(v *cells) { deep(far(v))[k] = text; far(v).N += n }, false,
		},
		{f.Far.Set(inner{City: text}), func(v *cells) { v.Far = &inner{City: text} }, false},
		{f.Far.Remove(), func(v *cells) { v.Far = nil }, true},
		{f.Left.Set(text), func(v *cells) { v.Left = text }, false},
		{f.Left.Set(""), func(v *cells) { v.Left = "" }, true},
		{f.Left.SetIfAbsent(text), func(v *cells) {
			if v.Left == "" {
				v.Left = text
			}
		}, false},
	}
	return all[r.IntN(len(all))]
}

// plain returns cells in a normal form: empty is nil, and sets have no order.
func (c cells) plain() cells {
	slices.Sort(c.Tags)
	slices.Sort(c.Primes)
	if len(c.Tags) == 0 {
		c.Tags = nil
	}
	if len(c.Primes) == 0 {
		c.Primes = nil
	}
	if len(c.Lines) == 0 {
		c.Lines = nil
	}
	if len(c.Counts) == 0 {
		c.Counts = nil
	}
	if len(c.Inner.Deep) == 0 {
		c.Inner.Deep = nil
	}
	if c.Far != nil {
		far := *c.Far
		if len(far.Deep) == 0 {
			far.Deep = nil
		}
		c.Far = &far
	}
	if len(c.Data) == 0 {
		c.Data = nil
	}
	if c.Seen.Equal(time.Time{}) {
		c.Seen = time.Time{}
	}
	c.Seen = c.Seen.UTC()
	return c
}

// age stores some attributes of an entity under names that they had before.
func age(ctx context.Context, t *testing.T, r *rand.Rand, w *raw, pk string) {
	t.Helper()
	out := must(w.Query(ctx, queryAll(w.table, pk)))(t)
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
			w.put(item)
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
	m := must(mapper.New[board](client(t, &faulty{at: -1}, 1), mapper.Table(table)))(t)
	w := newRaw(t, table)
	n := draws.Times(80, 600, 10_000)
	seed := draws.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	var v board
	fresh := func(id int) {
		v = board{ID: strconv.Itoa(id), Rows: []cells{{N: 1}, {N: 2, Counts: map[string]int{"a": 1}, Far: &inner{}}}}
		if r.IntN(2) == 0 {
			v.Other.Lines = []string{"x"}
		}
		must(m.Save(ctx, m.New(v)))(t)
	}
	side := m.New(board{ID: "side"})
	must(m.Save(ctx, side))(t)
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
		var changes []field.Change[cells]
		for range 1 + r.IntN(3) {
			a := drawAct(r)
			acts, changes = append(acts, a), append(changes, a.change)
		}
		var to *cells
		var p *mapper.ItemPatch[board, cells]
		switch r.IntN(4) {
		case 0:
			to, p = &v.Main, mapperimpl.Item[board, cells](node, 0).Patch(changes...)
		case 1:
			to, p = &v.Other, mapperimpl.Item[board, cells](node, 1).Patch(changes...)
		default:
			at := r.IntN(2)
			item := mapperimpl.Next(mapperimpl.Items(node, 2, 1), 2, mapperimpl.IntValue(at+1))
			to, p = &v.Rows[at], mapperimpl.Element[board, cells](item, 2).Patch(changes...)
		}
		var returned *cells
		switch r.IntN(4) {
		case 0:
			p = p.IfEntityExists()
		case 1:
			returned = &cells{}
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
			if returned != nil && !reflect.DeepEqual(returned.plain(), to.plain()) {
				t.Fatalf("seed %d, patch %d returned\n     %+v\nwant %+v", seed, i, returned.plain(), to.plain())
			}
			if !plan.WCU.Contains(receipt.Consumed.WCU) && receipt.Predicted().Requests <= 1 &&
				(receipt.Predicted().Mode != "transaction" || testengine.ReportsTransactions(t)) {
				t.Errorf("seed %d, patch %d: planned %v, consumed %v", seed, i, plan.WCU, receipt.Consumed.WCU)
			}
		}
		if got := must(m.Load(ctx, m.Key("side"), mapper.Strong()))(t).Value.Main.Count; got != saved {
			t.Fatalf("seed %d, patch %d: the other entity was saved by %d, and holds %d", seed, i, saved, got)
		}
		e := must(m.Load(ctx, m.Key(v.ID), mapper.Strong()))(t)
		for j, pair := range [][2]cells{
			{e.Value.Main, v.Main},
			{e.Value.Other, v.Other},
			{e.Value.Rows[0], v.Rows[0]},
			{e.Value.Rows[1], v.Rows[1]},
		} {
			if got, want := pair[0].plain(), pair[1].plain(); !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d, patch %d, item %d:\n got %+v\nwant %+v\n%v", seed, i, j, got, want, plan)
			}
		}
		if i%7 == 6 { // a save stores nothing as NULL
			e.Value.Main.Text += "!"
			v.Main.Text += "!"
			must(m.Save(ctx, e))(t)
		}
	}
	t.Logf("seed %d: %d patches, %d of them in transactions; %d refused", seed, n, joined, refused)
}
