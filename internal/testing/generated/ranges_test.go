package generated

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

// newGrid stores a grid whose cells have different values of each kind.
func newGrid(t *testing.T) (*mapper.Mapper[Grid], []Cell) {
	t.Helper()
	tables := map[string]string{
		"grids": testengine.Table(t, "PK:S", "SK:S"), "ints": testengine.Table(t, "PK:S", "SK:N"),
		"uints": testengine.Table(t, "PK:S", "SK:N"), "blobs": testengine.Table(t, "PK:S", "SK:B"),
	}
	grids, err := mapper.New[Grid](testengine.Start(t).Client(),
		mapper.Tables(func(name string) string { return tables[name] }))
	if err != nil {
		t.Fatal(err)
	}
	words := []Word{"a", "a#", "a%", "~", "a b", "é", "A", "b~", "\U0010FFFF", "a#b"}
	g := Grid{ID: "1", Name: "n", Keyed: map[int32]Cell{}, Named: map[Word]Cell{}}
	var all []Cell
	for i := range 40 {
		c := Cell{
			K: i, N: uint16(i * 999 / 39), I: int64(i-20) * (math.MaxInt64 / 20), W: uint64(i) * (math.MaxUint64 / 39),
			T: words[i%len(words)] + Word(fmt.Sprint(i)), B: []byte{byte(i * 6), byte(i)}, X: "x",
		}
		all = append(all, c)
		g.Keyed[int32(i-20)], g.Named[c.T] = c, c
		if c.T[0] != '~' {
			g.Raws = append(g.Raws, c)
		}
	}
	for _, of := range []*[]Cell{
		&g.Digits, &g.Middle, &g.Signed, &g.Tailed, &g.Unsigned, &g.Joined, &g.Texts, &g.Ints, &g.Uints, &g.Blobs,
	} {
		*of = all
	}
	for i := range g.Middle {
		g.Middle = slices.Clone(g.Middle)
		g.Middle[i].T = "m"
	}
	must(grids.Save(context.Background(), grids.New(g), mapper.Independent()))(t)
	return grids, all
}

// between is a range of cells: by generated code, or nil, and by reflection.
type between struct {
	name      string
	generated *gridCellQuery
	reflected *query.Node[Grid]
	keeps     func(Cell) bool
}

// valued is a node before a value, by its methods.
type valued[V any] interface {
	Between(from, to V) *gridCellQuery
	AtLeast(from V) *gridCellQuery
	AtMost(to V) *gridCellQuery
}

// valuesOf draws ranges of a value: its ends are values of cells, and others.
func valuesOf[V any](name string, n valued[V], items *query.Items[Grid], all []Cell, of func(Cell) V,
	compare func(a, b V) int, edges ...V,
) []between {
	end := func() V {
		if rand.IntN(2) == 0 {
			return edges[rand.IntN(len(edges))]
		}
		return of(all[rand.IntN(len(all))])
	}
	from, to := end(), end()
	least := func(c Cell) bool { return compare(of(c), from) >= 0 }
	most := func(c Cell) bool { return compare(of(c), to) <= 0 }
	out := []between{
		{"at least", nil, items.AtLeast(from), least},
		{"at most", nil, items.AtMost(to), most},
		{"between", nil, items.Between(from, to), func(c Cell) bool { return least(c) && most(c) }},
	}
	for i := range out {
		out[i].name = fmt.Sprintf("%s %s %v and %v", name, out[i].name, from, to)
	}
	if n != nil {
		out[0].generated, out[1].generated, out[2].generated = n.AtLeast(from), n.AtMost(to), n.Between(from, to)
	}
	return out
}

// begun is a node before a text.
type begun interface {
	BeginsWith(begin string) *gridCellQuery
}

func textsOf(name string, n begun, items *query.Items[Grid], all []Cell) []between {
	text := []rune(string(all[rand.IntN(len(all))].T))
	begin := string(text[:rand.IntN(len(text)+1)])
	return []between{{
		fmt.Sprintf("%s begins with %q", name, begin), n.BeginsWith(begin), items.BeginsWith(begin),
		func(c Cell) bool { return strings.HasPrefix(string(c.T), begin) },
	}}
}

func drawRanges(grids *mapper.Mapper[Grid], all []Cell) []between {
	g, k := GridByID("1"), grids.Key("1")
	number := func(c Cell) uint16 { return c.N }
	signed := func(c Cell) int64 { return c.I }
	unsigned := func(c Cell) uint64 { return c.W }
	text := func(c Cell) Word { return c.T }
	n := []uint16{0, 1, 998, 999, 1000, math.MaxUint16}
	i := []int64{math.MinInt64, -1, 0, 1, math.MaxInt64}
	u := []uint64{0, 1, math.MaxInt64, math.MaxUint64}
	words := []Word{"", "a", "b", "zz", "\U0010FFFF\U0010FFFF"}
	raws := slices.DeleteFunc(slices.Clone(all), func(c Cell) bool { return c.T[0] == '~' })
	return slices.Concat(
		valuesOf("digits", g.Digits(), k.Items("Digits"), all, number, cmp.Compare[uint16], n...),
		valuesOf("middle", g.Middle().T("m"), k.Items("Middle", Word("m")), all, number, cmp.Compare[uint16], n...),
		valuesOf("signed", g.Signed(), k.Items("Signed"), all, signed, cmp.Compare[int64], i...),
		valuesOf[uint16]("tailed", nil, k.Items("Tailed"), all, number, cmp.Compare[uint16], n...),
		valuesOf("unsigned", g.Unsigned(), k.Items("Unsigned"), all, unsigned, cmp.Compare[uint64], u...),
		valuesOf("joined", g.Joined(), k.Items("Joined"), all, number, cmp.Compare[uint16], n...),
		valuesOf("raws", g.Raws(), k.Items("Raws"), raws, text, cmp.Compare[Word], words...),
		valuesOf("keyed", g.Keyed(), k.Items("Keyed"), all, func(c Cell) int32 { return int32(c.K - 20) },
			cmp.Compare[int32], math.MinInt32, math.MaxInt32, 0),
		valuesOf("ints", g.Ints(), k.Items("Ints"), all, signed, cmp.Compare[int64], i...),
		valuesOf("uints", g.Uints(), k.Items("Uints"), all, unsigned, cmp.Compare[uint64], u...),
		valuesOf("blobs", g.Blobs(), k.Items("Blobs"), all, func(c Cell) []byte { return c.B }, bytes.Compare,
			[]byte{}, []byte{0}, []byte{255, 255}),
		textsOf("texts", g.Texts(), k.Items("Texts"), all), textsOf("raws", g.Raws(), k.Items("Raws"), raws),
		textsOf("named", g.Named(), k.Items("Named"), all),
	)
}

// A range of values finds exactly the elements that a filter of all elements keeps, whatever their key. Bounds that the
// key cannot hold are bounds like all, and both kinds of code agree.
func TestRangesOfValues(t *testing.T) {
	ctx := context.Background()
	grids, all := newGrid(t)
	found := 0
	for range draws.Times(6, 60, 600) {
		for _, r := range drawRanges(grids, all) {
			kept := all
			if strings.HasPrefix(r.name, "raws") {
				kept = slices.DeleteFunc(slices.Clone(all), func(c Cell) bool { return c.T[0] == '~' })
			}
			var want []int
			for _, c := range kept {
				if r.keeps(c) {
					want = append(want, c.K)
				}
			}
			found += len(want)
			queries := []*query.Query[Grid, Cell]{query.Of[Cell](r.reflected)}
			if r.generated != nil {
				queries = append(queries, r.generated.Query(), r.generated.Reverse())
			}
			for _, q := range queries {
				var got []int
				for _, c := range must(q.Collect(ctx, grids))(t) {
					got = append(got, c.K)
				}
				slices.Sort(got)
				if d := gocmp.Diff(want, got); d != "" {
					t.Fatalf("%s: (-want +got)\n%s", r.name, d)
				}
			}
		}
	}
	t.Logf("%d elements found", found)
}

// The documented maximum of a width is a bound, and a larger one is no error: "versions 5 to 10" and "from 5 on".
// A plan and its receipt agree, and pages of a range have each element once.
func TestRangeOfValuesHasPagesAndAPlan(t *testing.T) {
	ctx := context.Background()
	grids, all := newGrid(t)
	for _, q := range []*query.Query[Grid, Cell]{
		GridByID("1").Digits().AtLeast(500).Query(), GridByID("1").Ints().Between(-5, math.MaxInt64).Query(),
		query.Of[Cell](grids.Key("1").Items("Middle", "m").AtMost(uint16(300))),
	} {
		for _, q := range []*query.Query[Grid, Cell]{q, q.Reverse()} {
			var r mapper.Receipt
			want := must(q.Collect(ctx, grids, mapper.ReceiptTo(&r)))(t)
			plan := must(q.Plan(grids))(t)
			if !plan.RCU.Contains(r.Consumed.RCU) || len(want) == 0 || len(want) == len(all) {
				t.Errorf("%d cells, planned %v, consumed %v", len(want), plan.RCU, r.Consumed.RCU)
			}
			for _, size := range []int{1, 3, len(want), len(want) + 1} {
				if got := pages(t, grids, q, size); gocmp.Diff(want, got) != "" {
					t.Errorf("pages of %d: %s", size, gocmp.Diff(want, got))
				}
			}
		}
	}
	var r mapper.Receipt
	none := must(GridByID("1").Digits().Between(10, 5).Collect(ctx, grids, mapper.ReceiptTo(&r)))(t)
	if len(none) != 0 || r.Predicted().Requests != 0 {
		t.Errorf("an empty range took %d requests for %v", r.Predicted().Requests, none)
	}
}

// A range of values is a selection: it is loaded, edited and saved, and deleted, and the rest stays.
func TestRangeOfValuesIsASelection(t *testing.T) {
	ctx := context.Background()
	grids, all := newGrid(t)
	e := must(grids.Load(ctx, GridByID("1").Digits().AtMost(300)))(t)
	loaded := len(e.Value.Digits)
	e.Value.Digits = e.Value.Digits[1:]
	must(grids.Save(ctx, e))(t)
	if n := must(GridByID("1").Digits().Count(ctx, grids))(t); n != len(all)-1 || loaded == 0 || loaded == len(all) {
		t.Errorf("%d of %d cells after one of %d was removed", n, len(all), loaded)
	}
	for _, s := range []query.Selection[Grid]{
		GridByID("1").Digits().AtLeast(900), grids.Key("1").Items("Digits").Between(uint16(300), uint16(500)),
	} {
		before := must(GridByID("1").Digits().Count(ctx, grids))(t)
		part := must(grids.Load(ctx, s))(t)
		must(grids.DeleteByKey(ctx, s))(t)
		after := must(GridByID("1").Digits().Count(ctx, grids))(t)
		if len(part.Value.Digits) == 0 || before-after != len(part.Value.Digits) {
			t.Errorf("%d cells, then %d: the range has %d", before, after, len(part.Value.Digits))
		}
	}
	if n := must(GridByID("1").Signed().Count(ctx, grids))(t); n != len(all) {
		t.Errorf("%d cells of another field are left", n)
	}
}

// A range of entities has all items of its last entity.
func TestRangeHasAllItemsOfItsLastEntity(t *testing.T) {
	ctx := context.Background()
	drafts, labels, moments := newMapper[Draft](t), newMapper[Label](t), newMapper[Moment](t)
	lines := []Line{{1, "one"}, {2, "two"}}
	at := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	for n := range 12 {
		must(drafts.Save(ctx, drafts.New(Draft{Doc: "d", N: n, Text: "t", Lines: lines})))(t)
		must(labels.Save(ctx, labels.New(Label{Map: "m", Text: fmt.Sprintf("a#%02d", n), Lines: lines})))(t)
		moment := Moment{Doc: "d", At: at.Add(time.Duration(n) * time.Second), Lines: lines}
		must(moments.Save(ctx, moments.New(moment)))(t)
	}
	check := func(name string, want, got int, sum func(i int) int) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %d entities, want %d", name, got, want)
		}
		for i := range got {
			if sum(i) != len(lines) {
				t.Errorf("%s: entity %d has %d lines", name, i, sum(i))
			}
		}
	}
	for name, c := range map[string]struct {
		q    *query.Query[Draft, Draft]
		want int
	}{
		"between":   {DraftByDoc("d").Between(5, 10), 6},
		"backwards": {DraftByDoc("d").Between(5, 10).Reverse(), 6},
		"at most":   {DraftByDoc("d").AtMost(3), 4},
		"at least":  {DraftByDoc("d").AtLeast(11), 1},
		"too large": {DraftByDoc("d").AtLeast(100_000), 0},
		"negative":  {DraftByDoc("d").AtLeast(-7), 12},
		"reflected": {query.Of[Draft](drafts.Key("d").Items("Text").Between(5, 10)), 6},
	} {
		got := must(c.q.Collect(ctx, drafts))(t)
		check(name, c.want, len(got), func(i int) int { return len(got[i].Lines) })
	}
	texts := must(LabelByMap("m").BeginsWith("a#0").Collect(ctx, labels))(t)
	check("texts", 10, len(texts), func(i int) int { return len(texts[i].Lines) })
	times := must(MomentByDoc("d").Between(at, at.Add(5*time.Second)).Collect(ctx, moments))(t)
	check("times", 5, len(times), func(i int) int { return len(times[i].Lines) })
	day := must(MomentByDoc("d").Before(at.Add(time.Second)).Collect(ctx, moments))(t)
	check("before", 1, len(day), func(i int) int { return len(day[i].Lines) })
}

// A sort key of a number has ranges of its entities, with negative ones in order.
func TestRangeOfNumericSortKey(t *testing.T) {
	ctx := context.Background()
	levels, err := mapper.New[Level](testengine.Start(t).Client(), mapper.Table(testengine.Table(t, "PK:S", "SK:N")))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int64{-10, -9, -1, 0, 9, 10, 100, math.MinInt64} {
		must(levels.Save(ctx, levels.New(Level{Map: "m", N: n, Text: "t"})))(t)
	}
	got := func(q *query.Query[Level, Level]) string {
		var out []int64
		for _, l := range must(q.Collect(ctx, levels))(t) {
			out = append(out, l.N)
		}
		return fmt.Sprint(out)
	}
	for _, c := range []struct{ got, want string }{
		{got(LevelByMap("m").Between(-9, 10)), "[-9 -1 0 9 10]"},
		{got(LevelByMap("m").AtLeast(9).Reverse()), "[100 10 9]"},
		{got(LevelByMap("m").AtMost(-10)), "[-9223372036854775808 -10]"},
		{got(query.Of[Level](levels.Key("m").Items("Text").AtLeast(10))), "[10 100]"},
	} {
		if c.got != c.want {
			t.Errorf("got %s, want %s", c.got, c.want)
		}
	}
}

// Faults of a range are sentences that name the placeholder.
func TestFaultsOfRanges(t *testing.T) {
	ctx := context.Background()
	grids, _ := newGrid(t)
	k := grids.Key("1")
	for want, n := range map[string]query.Selection[Grid]{
		"{N:03} of Digits is not text":             k.Items("Digits").BeginsWith("1"),
		"{T} of Texts does not sort by its values": k.Items("Texts").AtLeast(Word("a")),
		"takes a uint16":                           k.Items("Digits").AtLeast("x"),
		"the sort key of Digits is complete":       k.Items("Digits", uint16(1)).AtLeast(1),
		"no item \"Digit\"":                        k.Items("Digit").AtLeast(1),
		"takes at most 2: {N:03}, {K:02}":          k.Items("Joined", uint16(1), 2, 3),
		"and got 0":                                grids.Key().Items("Digits"),
	} {
		if _, err := grids.Load(ctx, n); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
