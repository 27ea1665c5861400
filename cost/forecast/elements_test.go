package forecast

import (
	"math"
	"strings"
	"testing"
)

// clinic is a patient with 80 visits of about 0.4 KB.
func clinic() Workload {
	return Workload{
		Attributes: []Attribute{
			{Name: "name", Sizes: []int{30}},
			{Name: "visits", Elements: &Elements{
				Counts: []int{80}, Attributes: []Attribute{{Name: "at", Sizes: []int{22}}, {
					Name:  "note",
					Sizes: []int{400},
				}},
			}},
		},
		Operations: []Operation{
			{Name: "a visit", PerMonth: 1, Add: map[string]int{"visits": 1}},
			{Name: "the last 10", PerMonth: 1, Read: map[string]int{"visits": 10}},
			{
				Name: "correct one", PerMonth: 1, Change: map[string]int{"visits": 1}, Writes: []string{"name"},
				Atomic: true,
			},
			{Name: "remove 2", PerMonth: 1, Remove: map[string]int{"visits": 2}},
			{Name: "open it", PerMonth: 1, All: true},
		},
	}
}

// An element costs the units of its item, and an addition the read of the root item.
func TestForecastOfElements(t *testing.T) {
	w := clinic()
	elements := Layout{Name: "elements", Items: [][]string{{"name"}}, Elements: []string{"visits"}}
	all, err := w.Forecast(DefaultPrices(), w.Monolith(), elements)
	if err != nil {
		t.Fatal(err)
	}
	// the list has 6 + 3 + 80 * (1 + 3 + 23 + 401) bytes, 34,339 in all; an element as an item 482
	for i, want := range [][5][2]float64{
		{{34, 0}, {0, 4.5}, {34, 0}, {34, 0}, {0, 4.5}},
		{{1, 1}, {0, 1}, {4, 0}, {2, 0}, {0, 5}},
	} {
		for k, o := range all[i].Operations {
			if o.OnceWCU != want[k][0] || o.OnceRCU != want[k][1] {
				t.Errorf("%s, %s: %v WCU, %v RCU; want %v", all[i].Layout.Name, o.Name, o.OnceWCU, o.OnceRCU, want[k])
			}
		}
	}
	if all[0].Items[0] != 34339 || all[1].Elements["visits"] != 80*482 {
		t.Errorf("%+v", all)
	}
	a, err := w.Advise(DefaultPrices(), w.Monolith())
	if err != nil || !a.Exact || len(a.Best.Layout.Elements) != 1 || math.Abs(a.Best.Total-all[1].Total) > 1e-15 {
		t.Errorf("%+v, %v", a, err)
	}
	if tags := a.Best.Layout.Tags(); !strings.Contains(tags, "visits\t`ddb:\"sk=visits#{KEY}\"`") {
		t.Error(tags)
	}
}

// An index costs the entry for each write of its attributes, twice if its key changes, and for all writes of the item
// if it projects all.
func TestForecastOfIndexes(t *testing.T) {
	w := Workload{
		Attributes: []Attribute{
			{Name: "email", Sizes: []int{30}}, {Name: "name", Sizes: []int{20}}, {Name: "rest", Sizes: []int{5000}},
		},
		Indexes: []Index{
			{Name: "all", Hash: "email", All: true}, {Name: "few", Hash: "email", Range: "name"},
		},
		Operations: []Operation{
			{Name: "rest", PerMonth: 1, Writes: []string{"rest"}},
			{Name: "name", PerMonth: 1, Writes: []string{"name"}},
			{Name: "email", PerMonth: 1, Writes: []string{"email"}},
			{Name: "look up", PerMonth: 1, Query: map[string]int{"few": 40}, Strong: true}, // an index never is
		},
	}
	split := Layout{Name: "split", Items: [][]string{{"email", "name"}, {"rest"}}}
	all, err := w.Forecast(DefaultPrices(), w.Monolith(), split)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][4][2]float64{
		{{5 + 5, 0}, {5 + 5 + 2, 0}, {5 + 10 + 2, 0}, {0, 1}},
		{{5, 0}, {1 + 1 + 2, 0}, {1 + 2 + 2, 0}, {0, 1}},
	} {
		for k, o := range all[i].Operations {
			if o.OnceWCU != want[k][0] || o.OnceRCU != want[k][1] {
				t.Errorf("%s, %s: %v WCU, %v RCU; want %v", all[i].Layout.Name, o.Name, o.OnceWCU, o.OnceRCU, want[k])
			}
		}
	}
	if all[0].IndexWCU != 5+7+12 || all[1].IndexWCU != 3+4 {
		t.Errorf("%v and %v WCU in indexes", all[0].IndexWCU, all[1].IndexWCU)
	}
}

// A compressed attribute has its compressed size, and one in S3 that of a pointer, with requests to S3.
func TestForecastOfLargeValues(t *testing.T) {
	w := Workload{
		Attributes: []Attribute{{Name: "a", Sizes: []int{20}}, {
			Name: "text", Sizes: []int{50_000},
			Compressed: []int{9000},
		}},
		Operations: []Operation{
			{Name: "write", PerMonth: 1, Writes: []string{"text"}}, {
				Name: "read", PerMonth: 1,
				Reads: []string{"text"},
			},
		},
	}
	items := [][]string{{"a"}, {"text"}}
	all, err := w.Forecast(DefaultPrices(), Layout{Name: "compressed", Items: items, Compress: []string{"text"}},
		Layout{Name: "S3", Items: items, External: []string{"text"}})
	if err != nil {
		t.Fatal(err)
	}
	c, s := all[0], all[1]
	if c.Operations[0].OnceWCU != 9 || s.Operations[0].OnceWCU != 1 || s.Puts != 1 || s.Gets != 1 ||
		s.ObjectBytes != 50_000 {
		t.Errorf("%+v\n%+v", c, s)
	}
}

// A bill has a line for each charge. A price without a source is unknown, and not zero.
func TestBill(t *testing.T) {
	f := Forecast{WCU: 2_520_000, IndexWCU: 520_000, RCU: 1e6, Bytes: 2 << 30, IndexBytes: 1 << 30, Puts: 1000}
	lines := map[string]Charge{}
	for _, c := range f.Bill(DefaultPrices(), Billing{Replicas: 1, Recovery: true, Backups: 2, StreamReads: 10}) {
		lines[c.What] = c
	}
	for what, want := range map[string]float64{
		"writes": 1.25, "writes to indexes": 0.325, "reads": 0.125, "storage": 1, "S3 puts": 0.005,
	} {
		if c := lines[what]; c.Dollars == nil || math.Abs(*c.Dollars-want) > 1e-12 {
			t.Errorf("%s: %+v; want %v", what, c, want)
		}
	}
	for _, what := range []string{"replicated writes", "reads of the stream", "point-in-time recovery", "backups"} {
		if c, ok := lines[what]; !ok || c.Dollars != nil {
			t.Errorf("%s: %+v; want an unknown price", what, c)
		}
	}
	if c := lines["backups"]; c.Amount != 2 { // without the indexes
		t.Errorf("%+v", c)
	}
	if c := lines["replicated writes"]; c.Amount != 2_000_000 {
		t.Errorf("%+v", c)
	}
	provisioned := f.Bill(DefaultPrices(), Billing{Provisioned: true})
	if c := provisioned[0]; math.Abs(c.Amount-2e6/3600/0.7) > 1e-9 || math.Abs(*c.Dollars-2e6/3600/0.7*0.00065) > 1e-9 {
		t.Errorf("%+v", c)
	}
}

// Each default price has a source, a date, and a name that a bill uses.
func TestDefaultPrices(t *testing.T) {
	p := DefaultPrices()
	if err := p.Check(); err != nil || len(p.Figures) == 0 {
		t.Fatal(err)
	}
	for name, f := range p.Figures {
		if f.Source == "" || f.Date == "" || f.Per != priceNames[name] || f.Dollars <= 0 {
			t.Errorf("%s: %+v; its amount is %q", name, f, priceNames[name])
		}
	}
	p.Figures["writes"] = Figure{}
	if err := p.Check(); err == nil || !strings.Contains(err.Error(), "unknown price writes: write one of backup,") {
		t.Error(err)
	}
}

// Faults of elements, indexes and layouts are named.
func TestBadElements(t *testing.T) {
	w := clinic()
	w.Attributes[1].Elements.Counts = nil
	w.Attributes[1].Elements.Sizes = []int{1}
	w.Attributes = append(w.Attributes, Attribute{Name: "tags", Elements: &Elements{Counts: []int{1}}})
	w.Indexes = []Index{{Name: "x", Hash: "nope"}}
	w.Operations = append(w.Operations, Operation{
		Name: "bad", Add: map[string]int{"name": 1},
		Query: map[string]int{"y": 1},
	})
	err := w.Check()
	for _, text := range []string{
		`the elements of "visits" have no counts`, `have attributes and sizes`,
		`the elements of "tags" have no attributes`,
		`the index "x" names the attribute "nope"`, `has elements of "name"`, `entries of the index "y"`,
	} {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%q is not among the faults: %v", text, err)
		}
	}
	w = clinic()
	for text, l := range map[string]Layout{
		"has the elements of \"name\" as items": {Items: [][]string{{"visits"}}, Elements: []string{"name"}},
		"twice":                                 {Items: [][]string{{"name", "visits"}}, Elements: []string{"visits"}},
		"lacks":                                 {Items: [][]string{{"name"}}},
		"has no items":                          {Elements: []string{"visits"}},
		"compressed sizes": {
			Items: [][]string{{"name"}}, Elements: []string{"visits"},
			Compress: []string{"name"},
		},
	} {
		if _, err := w.Forecast(DefaultPrices(), l); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
