package forecast

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/testing/draws"
)

// randomWorkload returns a workload of n attributes; separable ones read and write by the
// single item.
func randomWorkload(r *rand.Rand, n int, separable bool) Workload {
	w := Workload{Entities: 1 + r.IntN(1000), Overhead: 40}
	samples := 1 + r.IntN(4)
	for i := range n {
		a := Attribute{Name: fmt.Sprint("a", i)}
		for range samples {
			size := 20 + r.IntN(1400)
			if r.IntN(4) == 0 {
				size = r.IntN(30_000)
			}
			a.Sizes = append(a.Sizes, size)
		}
		w.Attributes = append(w.Attributes, a)
	}
	names := func(most int) (out []string) {
		for _, i := range r.Perm(n)[:1+r.IntN(min(n, most))] {
			out = append(out, fmt.Sprint("a", i))
		}
		return out
	}
	for k := range 3 + r.IntN(6) {
		op := Operation{Name: fmt.Sprint("op", k), PerMonth: float64(r.IntN(10_000)), Strong: r.IntN(2) == 0}
		switch {
		case r.IntN(2) == 0:
			op.Writes = names(n)
			op.Atomic = !separable && r.IntN(3) == 0
		case separable:
			op.Reads = names(1)
		case r.IntN(3) == 0:
			op.All = true
		default:
			op.Reads = names(n)
		}
		w.Operations = append(w.Operations, op)
	}
	return w
}

// randomLists adds lists, and operations on their elements.
func randomLists(r *rand.Rand, w *Workload, n int) {
	for i := range n {
		name := fmt.Sprint("list", i)
		e := &Elements{Counts: []int{1 + r.IntN(60)}, Sizes: []int{20 + r.IntN(900), 20 + r.IntN(900)}}
		w.Attributes = append(w.Attributes, Attribute{Name: name, Elements: e})
		w.Operations = append(w.Operations,
			Operation{
				Name: "add " + name, PerMonth: float64(r.IntN(1000)), Add: map[string]int{name: 1},
				Writes: []string{"a0"}[:r.IntN(2)], Atomic: r.IntN(2) == 0,
			},
			Operation{
				Name: "read " + name, PerMonth: float64(r.IntN(1000)), Reads: []string{"a0", "a1"}[:r.IntN(3)],
				Read: map[string]int{name: 1 + r.IntN(20)},
			},
			Operation{Name: "list " + name, PerMonth: float64(r.IntN(1000)), Reads: []string{name, "a1"}[:1+r.IntN(2)]})
	}
}

// partitions yields all partitions of a set of attributes.
func partitions(set uint64, yield func([]uint64)) {
	var place func(rest uint64, items []uint64)
	place = func(rest uint64, items []uint64) {
		if rest == 0 {
			yield(items)
			return
		}
		bit := rest & -rest
		for k := range items {
			items[k] |= bit
			place(rest^bit, items)
			items[k] &^= bit
		}
		place(rest^bit, append(items, bit))
	}
	place(set, nil)
}

// families returns all sets of groups of n blocks: all trees with n leaves whose inner nodes have two children or more.
// The groups are in an order in which each follows those that it includes.
func families(n int) [][]uint64 {
	var of func(set uint64) [][]uint64
	of = func(set uint64) (out [][]uint64) {
		partitions(set, func(parts []uint64) {
			if len(parts) == 1 {
				return
			}
			inner := [][]uint64{nil}
			for _, p := range parts {
				if p&(p-1) == 0 {
					continue
				}
				var more [][]uint64
				for _, f := range of(p) {
					for _, g := range inner {
						more = append(more, append(slices.Concat(g, f), p))
					}
				}
				inner = more
			}
			out = append(out, inner...)
		})
		return out
	}
	if n == 1 {
		return [][]uint64{nil}
	}
	return of(1<<n - 1)
}

var allFamilies [][][]uint64 // by the number of blocks

// bruteForce returns the lowest price of all layouts: all partitions, all choices of lists whose elements are items,
// all groups, and all root items.
func bruteForce(w Workload, present Layout) float64 {
	m := newModel(w, DefaultPrices())
	m.pinned = pinnedBy(m, present)
	var lists uint64
	for i, l := range m.lists {
		if l != nil {
			lists |= 1 << i
		}
	}
	best := math.Inf(1)
	for split := lists; ; split = (split - 1) & lists {
		v := newBounding(m, Layout{}).without(split)
		v.contiguous = false
		partitions(v.all(), func(items []uint64) {
			if len(items) == 0 || slices.ContainsFunc(items, func(set uint64) bool {
				return set&m.pinned != 0 && set&m.pinned != m.pinned
			}) {
				return
			}
			blocks := slices.Clone(items)
			for a := range bitsOf(split) {
				blocks = append(blocks, 1<<a)
			}
			for len(allFamilies) <= len(blocks) {
				allFamilies = append(allFamilies, families(len(allFamilies)))
			}
			v.groups = nil
			separate := lowestRoot(v, items)
			reads := readPrice(v, items)
			for _, f := range allFamilies[len(blocks)] {
				v.groups = v.groups[:0]
				for _, g := range f {
					var set uint64
					for k := range bitsOf(g) {
						set |= blocks[k]
					}
					v.groups = append(v.groups, set)
				}
				best = min(best, separate-reads+readPrice(v, items))
			}
		})
		if split == 0 {
			return best
		}
	}
}

// readPrice returns the price of the reads that groups can change.
func readPrice(m *model, items []uint64) float64 {
	sum := 0.0
	for i := range m.ops {
		op := &m.ops[i]
		if op.All || op.reads == 0 {
			continue
		}
		for s := range m.samples {
			sum += op.PerMonth * m.p.Units(0, m.read(op, s, items)*times(op.Strong))
		}
	}
	return sum / float64(m.samples) * float64(m.w.Entities)
}

// lowestRoot returns the lowest price of items, over all root items.
func lowestRoot(m *model, items []uint64) float64 {
	best := math.Inf(1)
	for k := range items {
		if m.pinned&^items[k] != 0 {
			continue
		}
		rooted := append([]uint64{items[k]}, slices.Delete(slices.Clone(items), k, k+1)...)
		total := m.storage(rooted)
		for i := range m.ops {
			total += m.priceOf(&m.ops[i], rooted)
		}
		for _, set := range items {
			if !m.fits(set) {
				total = math.Inf(1)
			}
		}
		if best = min(best, total); !m.adds() {
			return best
		}
	}
	return best
}

// The advice is the best of all layouts, of up to 7 attributes: against brute force. The search by local changes alone
// shows how much the proof is worth.
func TestAdviceIsOptimal(t *testing.T) {
	seed := draws.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	grouped, most, exact, runs := 0, 1.0, 0, draws.Times(5, 15, 1000)
	for i := range runs {
		lists := r.IntN(3)
		w := randomWorkload(r, 2+r.IntN(6-lists), r.IntN(2) == 0)
		randomLists(r, &w, lists)
		if r.IntN(4) == 0 {
			w.Indexes = []Index{{Name: "index", Hash: "a0", All: r.IntN(2) == 0, Attributes: []string{"a1"}}}
			w.Operations[0].Query = map[string]int{"index": 1 + r.IntN(9)}
		}
		present := w.Monolith()
		if r.IntN(4) == 0 {
			present.Fields = map[string]Field{"a0": {Pinned: true}, "a1": {Pinned: true}}
		}
		a, err := w.Advise(DefaultPrices(), present)
		if err != nil {
			t.Fatal(err)
		}
		best := bruteForce(w, present)
		if a.Exact {
			exact++
		}
		if math.Abs(best-a.Best.Total) > 1e-9*best || a.Bound > best*(1+1e-9) {
			t.Errorf("instance %d of %d: advised %v, the best is %v, the bound is %v", i, runs, a.Best.Total, best,
				a.Bound)
		}
		if n := len(a.Best.Layout.Groups); n > 0 {
			l := a.Best.Layout
			l.Groups = nil
			separate, err := w.Forecast(DefaultPrices(), l)
			if err != nil {
				t.Fatal(err)
			}
			grouped, most = grouped+1, max(most, separate[0].Total/a.Best.Total)
		}
	}
	t.Logf("%d of %d proven; groups save in %d, at most %.3f times", exact, runs, grouped, most)
	if exact < runs {
		t.Errorf("%d of %d were not proven", runs-exact, runs)
	}
}

// The advice for 60 attributes has a bound.
func TestSixtyAttributes(t *testing.T) {
	seed := draws.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	for range draws.Times(1, 1, 10) {
		w := randomWorkload(r, 58, false)
		randomLists(r, &w, 2)
		a, err := w.Advise(DefaultPrices(), w.Monolith())
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%.4f times the bound, proven: %v", a.Best.Total/a.Bound, a.Exact)
		if a.Bound > a.Best.Total || a.Bound <= 0 {
			t.Errorf("%v, and the bound is %v", a.Best.Total, a.Bound)
		}
	}
}

// The article's user: splitting off the e-mail address pays at once.
func TestAdviceForTheArticle(t *testing.T) {
	w := Workload{
		Attributes: []Attribute{{Name: "email", Sizes: []int{25}}, {Name: "name", Sizes: []int{20}}, {
			Name:  "rest",
			Sizes: []int{150 << 10},
		}},
		Operations: []Operation{
			{Name: "change the e-mail address", PerMonth: 1000, Writes: []string{"email"}},
			{Name: "show the head", PerMonth: 100_000, Reads: []string{"email", "name"}},
			{Name: "open it", PerMonth: 10, All: true},
		},
	}
	a, err := w.Advise(DefaultPrices(), w.Monolith())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.EqualFunc(a.Best.Layout.Items, [][]string{{"email", "name"}, {"rest"}}, slices.Equal) ||
		a.Best.WCU != 1000 || a.Today.WCU != 151_000 {
		t.Errorf("%+v", a)
	}
	tags := a.Best.Layout.Tags()
	if tags != "email\t`ddb:\"sk=email\"`\nname\t`ddb:\"sk=email\"`\nrest\t`ddb:\"sk=rest\"`\n" {
		t.Errorf("%q", tags)
	}
}

// Every fault of a workload is named, all at once.
func TestBadWorkloads(t *testing.T) {
	err := Workload{
		Entities: -1, Attributes: []Attribute{
			{Name: "a", Sizes: []int{-1}},
			{Name: "a", Sizes: []int{1}},
			{Name: "b", Sizes: nil},
			{Name: "", Sizes: []int{1}},
			{Name: "c", Sizes: []int{cost.MaxItem + 1}},
			{Name: "d", Sizes: []int{1, 2}},
			{Name: "e", Sizes: []int{1, 2, 3}},
		},
		Operations: []Operation{{Name: "x", PerMonth: -1, Reads: []string{"nope"}}, {Name: "y"}},
	}.Check()
	for _, text := range []string{
		"-1 entities", "the size -1", "has the attribute \"a\" twice", "has no sizes", "without a name",
		"has 3 sizes, but another has 2", "-1 times a month", "which the workload does not have",
		"has no reads and no writes",
	} {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%q is not among the faults: %v", text, err)
		}
	}
	if err := (Workload{}).Check(); err == nil || !strings.Contains(err.Error(), "no operations") {
		t.Error(err)
	}
	w := Workload{Attributes: []Attribute{{Name: "a", Sizes: []int{1}}}, Operations: []Operation{{
		Name: "x",
		All:  true,
	}}}
	for _, l := range []Layout{{}, {Items: [][]string{{"a"}, {"a"}}}, {Items: [][]string{{"a", "z"}}}} {
		if _, err := w.Forecast(DefaultPrices(), l); err == nil {
			t.Errorf("%v", l)
		}
	}
}

// BenchmarkAdvise measures the advice for 60 attributes: used in random sets, and each alone.
func BenchmarkAdvise(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	sets := randomWorkload(r, 58, false)
	randomLists(r, &sets, 2)
	var single Workload
	for i := range 60 {
		a := Attribute{Name: fmt.Sprint("a", i)}
		for range 8 {
			a.Sizes = append(a.Sizes, 20+r.IntN(2000))
		}
		single.Attributes = append(single.Attributes, a)
		single.Operations = append(single.Operations, Operation{Name: a.Name, PerMonth: 30, Writes: []string{a.Name}})
	}
	single.Operations = append(single.Operations, Operation{Name: "open it", PerMonth: 30, All: true})
	for name, w := range map[string]Workload{"sets": sets, "single": single} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := w.Advise(DefaultPrices(), w.Monolith()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// The changes of an advice lead from the present layout to the best one: their savings add up to the difference, and
// the first one saves most.
func TestChangesAddUp(t *testing.T) {
	seed := draws.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	for range draws.Times(20, 100, 500) {
		w := randomWorkload(r, 2+r.IntN(6), false)
		randomLists(r, &w, r.IntN(3))
		present := w.Monolith()
		if r.IntN(2) == 0 {
			present = w.Single()
		}
		a, err := w.Advise(DefaultPrices(), present)
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for i, c := range a.Changes {
			if !c.Included {
				continue
			}
			sum += c.Dollars
			if c.What == "" || c.Tags == "" || i > 0 && a.Changes[i-1].Included == false {
				t.Errorf("%+v", c)
			}
		}
		if a.Today.NotStorable == "" && math.Abs(a.Today.Total-a.Best.Total-sum) > 1e-9*a.Today.Total {
			t.Errorf("from %v to %v, but the changes save %v: %+v", a.Today.Total, a.Best.Total, sum, a.Changes)
		}
	}
}

// A value that no item can hold is stored in S3, and advice on a scan, a transaction and little headroom is priced.
func TestOtherChanges(t *testing.T) {
	w := Workload{
		Entities: 1000,
		Attributes: []Attribute{
			{Name: "email", Sizes: []int{30}},
			{Name: "name", Sizes: []int{1019 - 60 - 30}},
			{Name: "text", Sizes: []int{30_000}, Compressed: []int{9000}},
			{Name: "video", Sizes: []int{900_000}},
		},
		Operations: []Operation{
			{Name: "find by e-mail address", PerMonth: 1000, Scan: []string{"email"}, Reads: []string{"name"}},
			{Name: "rename", PerMonth: 10, Writes: []string{"name", "email"}},
			{Name: "publish", PerMonth: 5, Writes: []string{"name", "text"}, Atomic: true},
			{Name: "play", PerMonth: 1, Reads: []string{"video"}},
			{Name: "list", PerMonth: 1, Reads: []string{"name"}, Preview: map[string]int{"text": 50}},
		},
	}
	a, err := w.Advise(DefaultPrices(), w.Monolith())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(a.Best.Layout.External, []string{"video"}) || a.Today.NotStorable == "" {
		t.Errorf("%+v", a.Best.Layout)
	}
	found := map[string]Change{}
	for _, c := range a.Changes {
		if !c.Included {
			found[c.Kind] = c
		}
	}
	// 1,000 documents are scanned 1,000 times; each query of the index reads one entry
	scan := a.Best.Operations[0]
	if c := found["index"]; c.RCU < 1000*scan.OnceRCU-1000*0.5-1e-9 || c.Dollars <= 0 ||
		!strings.Contains(c.Tags, "index=by-email,pk={email},project='name'") {
		t.Errorf("%+v; a scan has %v RCU", c, scan.OnceRCU)
	}
	if c := found["independent"]; c.WCU <= 0 || c.WCU != a.Best.Operations[2].WCU/2 {
		t.Errorf("%+v", c)
	}
	if c := found["compress"]; c.WCU <= 0 || !strings.Contains(c.Tags, ",compress=gzip") {
		t.Errorf("%+v", c)
	}
	if c := found["s3"]; c.Kind == "" || !strings.Contains(c.Tags, "text\t`ddb:\"sk=text,s3=BUCKET,preview=50\"`") {
		t.Errorf("%+v", c)
	}
	if c := found["headroom"]; !strings.Contains(c.Risk, "in 1 of 1 documents, 6 more bytes cost 1 WCU more") {
		t.Errorf("%+v", c)
	}
}

// Groups are read with one Query, and faults of groups are named.
func TestGroups(t *testing.T) {
	w := Workload{
		Attributes: []Attribute{
			{Name: "a", Sizes: []int{1000}},
			{Name: "b", Sizes: []int{2000}},
			{Name: "c", Sizes: []int{9000}},
			{Name: "list", Elements: &Elements{Counts: []int{10}, Sizes: []int{40}}},
		},
		Operations: []Operation{
			{Name: "two", PerMonth: 1, Reads: []string{"a", "b"}, Strong: true},
			{Name: "with the list", PerMonth: 1, Reads: []string{"a", "list"}, Strong: true},
			{Name: "all but one", PerMonth: 1, Reads: []string{"a", "b", "list"}, Strong: true},
		},
	}
	l := Layout{
		Items: [][]string{{"a"}, {"b"}, {"c"}}, Elements: []string{"list"},
		Groups: [][]string{{"list", "b", "a"}, {"a", "b"}},
	}
	all, err := w.Forecast(DefaultPrices(), l)
	if err != nil {
		t.Fatal(err)
	}
	// a and b have 3,120 bytes; the list 10 * 100, with which they have 4,120: two units, as for the list alone
	for i, want := range []float64{1, 2, 2} {
		if o := all[0].Operations[i]; o.OnceRCU != want {
			t.Errorf("%s: %v RCU, want %v", o.Name, o.OnceRCU, want)
		}
	}
	if tags := l.Tags(); !strings.Contains(tags, `a	`+"`"+`ddb:"sk=GROUP1#GROUP2#a"`) ||
		!strings.Contains(tags, `list	`+"`"+`ddb:"sk=GROUP1#list#{KEY}"`) {
		t.Error(tags)
	}
	for text, groups := range map[string][][]string{
		"in none of its items":       {{"a", "z"}},
		"neither includes the other": {{"a", "b"}, {"b", "c"}},
	} {
		l.Groups = groups
		if _, err := w.Forecast(DefaultPrices(), l); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A document whose attributes are all lists keeps one of them as an attribute, because the root item needs one.
func TestAdviceOnListsAlone(t *testing.T) {
	w := Workload{
		Attributes: []Attribute{
			{Name: "a", Elements: &Elements{Counts: []int{20}, Sizes: []int{600}}},
			{Name: "b", Elements: &Elements{Counts: []int{5}, Sizes: []int{100}}},
		},
		Operations: []Operation{{Name: "add", PerMonth: 9, Add: map[string]int{"a": 1}}, {
			Name: "all", PerMonth: 1,
			All: true,
		}},
	}
	a, err := w.Advise(DefaultPrices(), w.Monolith())
	if err != nil || !a.Exact || len(a.Best.Layout.Items) != 1 || !slices.Equal(a.Best.Layout.Elements, []string{"a"}) {
		t.Errorf("%+v, %v", a, err)
	}
}

// An operation that reads a whole list and some of its elements reads it once, in a forecast and in the bound.
func TestListsAreReadOnce(t *testing.T) {
	w := clinic()
	w.Operations = []Operation{{
		Name: "read", PerMonth: 100, Reads: []string{"name", "visits"}, Read: map[string]int{"visits": 70},
	}}
	a, err := w.Advise(DefaultPrices(), w.Monolith())
	if err != nil || a.Bound > a.Best.Total {
		t.Fatal(a, err)
	}
	elements := Layout{Items: [][]string{{"name"}}, Elements: []string{"visits"}, Groups: nil}
	all, err := w.Forecast(DefaultPrices(), elements)
	// the name is one unit of 4 KB, and the 80 elements of 482 bytes are ten; together they are ten
	if err != nil || all[0].Operations[0].OnceRCU != 5 || all[0].Total < a.Bound {
		t.Errorf("%+v, %v; the bound is %v", all[0], err, a.Bound)
	}
}

// Elements that no item can hold stay in a value, which is stored in S3.
func TestElementsOverTheLimit(t *testing.T) {
	w := clinic()
	w.Attributes[1].Elements.Attributes[1].Sizes = []int{500_000}
	l := Layout{Name: "elements", Items: [][]string{{"name"}}, Elements: []string{"visits"}}
	all, err := w.Forecast(DefaultPrices(), l)
	if err != nil || !strings.Contains(all[0].NotStorable, "an element of \"visits\" has 500,0") {
		t.Errorf("%+v, %v", all, err)
	}
	if a, err := w.Advise(DefaultPrices(), w.Monolith()); err == nil && len(a.Best.Layout.Elements) > 0 {
		t.Errorf("%+v", a.Best.Layout)
	}
}

// The units of a scan are those of the sum of all documents.
func TestScansAreOneSum(t *testing.T) {
	w := Workload{
		Entities: 4, Overhead: 1, Attributes: []Attribute{{Name: "a", Sizes: []int{999, 2999}}},
		Operations: []Operation{
			{Name: "some", PerMonth: 10, Scan: []string{"a"}}, {
				Name: "all", PerMonth: 10, Scan: []string{},
				Strong: true,
			},
		},
	}
	f, err := w.Forecast(DefaultPrices(), w.Monolith()) // 8,000 bytes
	if err != nil || f[0].Operations[0].OnceRCU != 1 || f[0].Operations[1].RCU != 20 {
		t.Errorf("%+v, %v", f, err)
	}
}

// The tags of a change that moves attributes are those of the whole item. Two items never have the same sort key.
func TestTagsOfChanges(t *testing.T) {
	w := Workload{
		Attributes: []Attribute{
			{Name: "a b", Sizes: []int{20}}, {Name: "c", Sizes: []int{9000}}, {Name: "a-b", Sizes: []int{9000}},
		},
		Operations: []Operation{
			{Name: "1", PerMonth: 9, Writes: []string{"a b"}},
			{Name: "2", PerMonth: 9, Writes: []string{"c"}},
			{Name: "3", PerMonth: 9, Writes: []string{"a-b"}},
		},
	}
	a, err := w.Advise(DefaultPrices(), w.Monolith())
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(a.Best.Layout.Tags()) {
		_, tag, _ := strings.Cut(line, "\t")
		if seen[tag] {
			t.Errorf("two items have the tag %s", tag)
		}
		seen[tag] = true
	}
	present := Layout{Items: [][]string{{"c", "a b"}, {"a-b"}}}
	w.Operations = []Operation{{Name: "1", PerMonth: 9, Writes: []string{"a b", "a-b"}}}
	if a, err = w.Advise(DefaultPrices(), present); err != nil {
		t.Fatal(err)
	}
	if c := a.Changes[0]; c.Kind != "move" || strings.Count(c.Tags, "\n") != 1 {
		t.Errorf("%+v", c)
	}
}

// The advice for a model keeps the sort keys of items that stay, and does not move fields of keys and indexes.
func TestAdviceForAModel(t *testing.T) {
	w := Workload{
		Attributes: []Attribute{
			{Name: "id", Sizes: []int{10}},
			{Name: "email", Sizes: []int{30}},
			{Name: "text", Sizes: []int{20_000}},
			{Name: "note", Sizes: []int{900}},
		},
		Operations: []Operation{
			{Name: "1", PerMonth: 90, Writes: []string{"note"}},
			{Name: "2", PerMonth: 9, Reads: []string{
				"email",
				"note",
			}},
			{Name: "3", PerMonth: 9, Writes: []string{"text"}},
			{Name: "4", PerMonth: 9, Writes: []string{"email"}},
		},
	}
	present := Layout{Items: [][]string{{"id", "email", "text", "note"}}, Fields: map[string]Field{
		"id":   {Name: "ID", Pinned: true}, // in the partition key
		"text": {Name: "Text", SortKey: "HEAD"}, "note": {Name: "Note", SortKey: "HEAD"},
		"email": {Name: "Email", SortKey: "HEAD", Pinned: true},
	}}
	a, err := w.Advise(DefaultPrices(), present)
	if err != nil {
		t.Fatal(err)
	}
	if tags := a.Best.Layout.Tags(); !strings.Contains(tags, "Email\tsk=HEAD\n") || strings.Contains(tags, "ID\t") ||
		!strings.Contains(tags, "Text\tsk=Text\n") {
		t.Error(tags)
	}
	if root := a.Best.Layout.Items[0]; !slices.Contains(root, "id") || !slices.Contains(root, "email") {
		t.Errorf("%v", a.Best.Layout.Items)
	}
	for _, c := range a.Changes {
		if c.Included && strings.Contains(c.What, "email") && c.Kind == "move" && !strings.Contains(c.What,
			"to the item of") {
			t.Errorf("%+v", c)
		}
	}
}

// Sizes and numbers that overflow, and exact sizes of another layout, are refused.
func TestBadSizes(t *testing.T) {
	for text, change := range map[string]func(*Workload, *Layout){
		"sizes of -1 to": func(w *Workload, _ *Layout) { w.Attributes[1].Elements.Keys = []int{-1} },
		"has the size":   func(w *Workload, _ *Layout) { w.Attributes[0].Sizes = []int{math.MaxInt} },
		"an overhead of": func(w *Workload, _ *Layout) { w.Overhead = math.MaxInt },
		"times a month":  func(w *Workload, _ *Layout) { w.Operations[0].PerMonth = 1e308 },
		"a list as its key": func(w *Workload, _ *Layout) {
			w.Indexes = []Index{{Name: "x", Hash: "visits"}}
		},
		"without elements, and 1 byte": func(w *Workload, _ *Layout) {
			w.Operations[0].Preview = map[string]int{"visits": 10}
		},
		"sizes of other items":       func(_ *Workload, l *Layout) { l.Sizes = &Sizes{} },
		"a preview of":               func(_ *Workload, l *Layout) { l.Preview = map[string]int{"name": -1} },
		"has a group twice":          func(_ *Workload, l *Layout) { l.Groups = [][]string{{"name"}, {"name"}} },
		"is a scan and more: a scan": func(w *Workload, _ *Layout) { w.Operations[0].Scan = []string{} },
	} {
		w := clinic()
		l := w.Monolith()
		change(&w, &l)
		if _, err := w.Advise(DefaultPrices(), l); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
