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

// The advice is the best of all layouts: the programme over subsets against brute force
// over all partitions, for workloads whose costs are sums over items.
func TestAdviceIsOptimal(t *testing.T) {
	seed := draws.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 60 {
		w := randomWorkload(r, 2+r.IntN(6), true)
		m := newModel(w, DefaultPrices())
		if !m.separable() {
			t.Fatal("not separable")
		}
		a, err := w.Advise(DefaultPrices())
		if err != nil {
			t.Fatal(err)
		}
		if best := m.price(m.partitions()); math.Abs(best-a.Best.Total) > 1e-9*best || !a.Exact {
			t.Fatalf("advised %v, and the best is %v", a.Best.Total, best)
		}
	}
}

// Where whole reads and transactions tie items together, all partitions are tried; the
// search that is used beyond comes near, and the bound is one.
func TestSearchComesNear(t *testing.T) {
	seed := draws.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	worst, optimal := 1.0, 0
	const runs = 60
	for range runs {
		w := randomWorkload(r, 2+r.IntN(6), false)
		m := newModel(w, DefaultPrices())
		best, found, bound := m.price(m.partitions()), m.price(m.search()), m.bound()
		if bound > best*(1+1e-9) {
			t.Fatalf("the bound %v is above the best, %v", bound, best)
		}
		if found < best*(1-1e-9) {
			t.Fatalf("the search found %v, below the best, %v", found, best)
		}
		worst = max(worst, found/best)
		if found <= best*(1+1e-9) {
			optimal++
		}
	}
	t.Logf("the search was optimal in %d of %d, at worst %.4f times the best", optimal, runs, worst)
	if worst > 1.1 {
		t.Errorf("at worst %.4f times the best", worst)
	}
}

// 16 attributes are advised exactly.
func TestSixteenAttributes(t *testing.T) {
	a, err := randomWorkload(rand.New(rand.NewPCG(1, 1)), 16, true).Advise(DefaultPrices())
	if err != nil || !a.Exact {
		t.Errorf("%+v, %v", a, err)
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
	a, err := w.Advise(DefaultPrices())
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
	}.check()
	for _, text := range []string{
		"-1 entities", "the size -1", "has the attribute \"a\" twice", "has no sizes", "without a name",
		"over the limit",
		"has 3 sizes, but another has 2", "-1 times a month", "which the workload does not have",
		"has no reads and no writes",
	} {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%q is not among the faults: %v", text, err)
		}
	}
	if err := (Workload{}).check(); err == nil || !strings.Contains(err.Error(), "no operations") {
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
