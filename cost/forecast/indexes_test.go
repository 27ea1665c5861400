package forecast

import (
	"math"
	"slices"
	"testing"
)

// indexedModel is a workload with a list that costs less inside an item, and the layout of a model with an index of its
// elements and one of an item.
func indexedModel() (Workload, Layout) {
	w := Workload{
		Entities: 1000,
		Attributes: []Attribute{
			{Name: "state", Sizes: []int{10, 12}},
			{Name: "title", Sizes: []int{1500, 800}},
			{Name: "comments", Elements: &Elements{Counts: []int{4, 2}, Sizes: []int{30}}},
		},
		Operations: []Operation{
			{Name: "open", PerMonth: 100, All: true},
			{Name: "close", PerMonth: 2, Writes: []string{"state"}},
			{Name: "comment", PerMonth: 3, Add: map[string]int{"comments": 1}},
			{Name: "by author", PerMonth: 3, Query: map[string]int{"byAuthor": 10}},
			{Name: "by state", PerMonth: 3, Query: map[string]int{"byState": 10}},
		},
	}
	return w, Layout{
		Name: "model", Items: [][]string{{"state"}, {"title"}}, Elements: []string{"comments"},
		Indexes: []Index{
			{Name: "byState", In: "state", Hash: "state", All: true}, {Name: "byAuthor", List: "comments", All: true},
		},
		Sizes: &Sizes{
			Items:    [][]int{{80, 82}, {1560, 860}},
			Elements: map[string][][]int{"comments": {{90, 90, 90, 90}, {90, 90}}},
			Indexes:  [][][]int{{{80}, {82}}, {{90, 90, 90, 0}, {90, 90}}},
		},
	}
}

// The indexes of a model are priced in its layout without those of the workload, also entries of elements.
func TestLayoutsHaveTheIndexesOfTheirModels(t *testing.T) {
	w, l := indexedModel()
	all, err := w.Forecast(DefaultPrices(), l, w.WithIndexes(l).Monolith())
	if err != nil {
		t.Fatal(err)
	}
	units := func(f Forecast) (out [][2]float64) {
		for _, op := range f.Operations {
			out = append(out, [2]float64{op.OnceWCU, op.OnceRCU})
		}
		return out
	}
	// open; close: the item, and two writes of its entry; comment: the element, half of the entries, and the root item
	want := [][2]float64{{0, 0.5}, {3, 0}, {1.5, 1}, {0, 0.5}, {0, 0.5}}
	if got := units(all[0]); !slices.Equal(got, want) {
		t.Errorf("%v, and not %v", got, want)
	}
	without := l
	without.Indexes, without.Sizes = []Index{}, nil
	w.Operations = w.Operations[:3]
	more, err := w.Forecast(DefaultPrices(), without)
	if err != nil {
		t.Fatal(err)
	}
	if f := all[0]; f.IndexBytes < 1000*(80+2.5*90+3.5*100) || f.IndexWCU == 0 || more[0].IndexBytes != 0 {
		t.Errorf("%v bytes and %v WCU in indexes, %v bytes without", f.IndexBytes, f.IndexWCU, more[0].IndexBytes)
	}
	if _, err := w.WithIndexes(l).Forecast(DefaultPrices(), w.Monolith()); err != nil {
		t.Error(err)
	}
}

// Advice keeps lists whose elements are in an index as items, and compares prices that include all indexes.
func TestAdviceKeepsElementsThatAreInIndexes(t *testing.T) {
	w, l := indexedModel()
	a, err := w.Advise(DefaultPrices(), l)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(a.Best.Layout.Elements, "comments") {
		t.Errorf("%+v", a.Best.Layout)
	}
	if !a.Exact || math.Abs(a.Bound-a.Best.Total) > 1e-9 || a.Best.IndexWCU == 0 || a.Best.IndexWCU > a.Today.IndexWCU {
		t.Errorf("exact %v, bound %v of %v, %v and %v WCU in indexes", a.Exact, a.Bound, a.Best.Total, a.Best.IndexWCU,
			a.Today.IndexWCU)
	}
	saved := 0.0
	for _, c := range a.Changes {
		if c.Included {
			saved += c.Dollars
		} else if c.Dollars > a.Today.Total/2 {
			t.Errorf("%+v", c)
		}
	}
	if math.Abs(saved-(a.Today.Total-a.Best.Total)) > a.Today.Total*0.05 {
		t.Errorf("changes save %v of %v", saved, a.Today.Total-a.Best.Total)
	}
	l.Indexes, l.Sizes = []Index{}, nil
	w.Operations = w.Operations[:3]
	if a, err = w.Advise(DefaultPrices(), l); err != nil || slices.Contains(a.Best.Layout.Elements, "comments") {
		t.Errorf("without the index: %+v, %v", a.Best.Layout, err)
	}
}

// Faults of the indexes of a layout are errors.
func TestIndexesOfLayoutsAreChecked(t *testing.T) {
	for _, x := range []Index{
		{Name: "a", Hash: "none"},
		{Name: "a"},
		{Name: "a", List: "title"},
		{Name: "a", Hash: "state", Keys: []string{"x"}},
		{Name: "a", Hash: "state", In: "x"},
	} {
		w, l := indexedModel()
		w.Operations, l.Sizes, l.Indexes = w.Operations[:3], nil, []Index{x}
		if _, err := w.Forecast(DefaultPrices(), l); err == nil {
			t.Errorf("%+v: no error", x)
		}
	}
	w, l := indexedModel()
	l.Sizes.Indexes = l.Sizes.Indexes[:1]
	if _, err := w.Forecast(DefaultPrices(), l); err == nil {
		t.Error("no error of missing sizes")
	}
}

// A change of a unique value takes a transaction of its item and two guards, and each guard is stored.
func TestForecastsHaveTheGuardsOfUniqueValues(t *testing.T) {
	w := Workload{
		Attributes: []Attribute{{Name: "email", Sizes: []int{40}}, {Name: "text", Sizes: []int{5000}}},
		Operations: []Operation{
			{Name: "rename", PerMonth: 1, Writes: []string{"email"}}, {
				Name: "edit", PerMonth: 1,
				Writes: []string{"text"},
			},
		},
	}
	l := Layout{Name: "split", Items: [][]string{{"email"}, {"text"}}}
	plain, err := w.Forecast(DefaultPrices(), l)
	if err != nil {
		t.Fatal(err)
	}
	w.Unique = [][]string{{"email"}}
	guarded, err := w.Forecast(DefaultPrices(), l)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{6, 5} {
		if op := guarded[0].Operations[i]; op.OnceWCU != want {
			t.Errorf("%s takes %v WCU, want %v", op.Name, op.OnceWCU, want)
		}
	}
	if more := guarded[0].Bytes - plain[0].Bytes; more < 100 || more > 400 {
		t.Errorf("the guards take %v bytes", more)
	}
	p := DefaultPrices()
	if more, want := guarded[0].Insert-plain[0].Insert, p.Units(3, 0); more < want*0.99 || more > want*1.01 {
		t.Errorf("the guards of an insert cost %v, want %v", more, want)
	}
	w.Unique = [][]string{{"mail"}}
	if _, err := w.Forecast(DefaultPrices(), l); err == nil {
		t.Error("a unique value of no attribute is accepted")
	}
}
