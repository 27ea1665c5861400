package forecast

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// pricesOf returns prices on demand.
func pricesOf(write, read, storage float64) Prices {
	return Prices{Figures: map[string]Figure{
		"write": {Dollars: write, Source: "test"}, "read": {Dollars: read, Source: "test"},
		"storage": {Dollars: storage, Source: "test"},
	}}
}

// large returns a workload over a document of equal attributes, read whole.
func large(attributes, bytes int, strong bool) Workload {
	w := Workload{Operations: []Operation{{Name: "open it", PerMonth: 10, All: true, Strong: strong}}}
	for i := range attributes {
		w.Attributes = append(w.Attributes, Attribute{Name: fmt.Sprint("a", i), Sizes: []int{bytes}})
	}
	return w
}

// A read of more than 1 MB has several answers, each rounded up by itself. Ten items of 307,260 bytes
// come in answers of 4, 4 and 2, which cost 301, 301 and 151, and not 751 in sum.
func TestForecastPagesReads(t *testing.T) {
	for _, c := range []struct {
		strong bool
		want   float64
	}{{true, 753}, {false, 376.5}} {
		w := large(10, 300<<10, c.strong)
		all, err := w.Forecast(DefaultPrices(), w.Single())
		if err != nil {
			t.Fatal(err)
		}
		if got := all[0].Operations[0].OnceRCU; got != c.want {
			t.Errorf("strong %v: %v RCU; want %v", c.strong, got, c.want)
		}
	}
}

// A document over the limit of an item is no error: its column says why DynamoDB does not
// take it, and the others are computed.
func TestForecastOfALargeDocument(t *testing.T) {
	w := large(2, 250<<10, false)
	byHand := Layout{Name: "by hand", Items: [][]string{{"a1"}, {"a0"}}}
	all, err := w.Forecast(DefaultPrices(), w.Monolith(), byHand)
	if err != nil {
		t.Fatal(err)
	}
	const reason = `the item with "a0" and 1 more has up to 512,060 bytes (limit 400 KB): split it`
	if m := all[0]; m.NotStorable != reason || m.Total != 0 || m.Items[0] != 512060 || m.Operations == nil {
		t.Errorf("%+v", m)
	}
	if f := all[1]; f.NotStorable != "" || f.Operations[0].OnceRCU != 63 || f.Total == 0 {
		t.Errorf("%+v", f)
	}
	a, err := w.Advise(DefaultPrices(), w.Monolith())
	if err != nil || a.Today.NotStorable != reason || len(a.Best.Items) != 2 {
		t.Errorf("%+v, %v", a, err)
	}
}

// The cost of one document is multiplied by their number, and so is the first write.
func TestForecastOfManyDocuments(t *testing.T) {
	w := large(2, 1000, true)
	w.Entities = 1000
	all, err := w.Forecast(pricesOf(1, 1, 0), w.Single())
	if err != nil {
		t.Fatal(err)
	}
	f := all[0]
	if want := (OperationCost{
		Name: "open it", PerDocument: 10, Times: 10_000, RCU: 10_000,
		OnceRCU: 1, Dollars: 0.01,
	}); f.Operations[0] != want {
		t.Errorf("%+v; want %+v", f.Operations[0], want)
	}
	if f.Insert != 4000/1e6 { // two items of 1,060 bytes each
		t.Errorf("the first write costs %v", f.Insert)
	}
}

// A layout that costs more at first, and less a month, breaks even when it has saved the
// difference.
func TestForecastBreakEven(t *testing.T) {
	one := Forecast{Insert: 50, Total: 50}
	for _, c := range []struct {
		name   string
		f      Forecast
		months float64
		ok     bool
	}{
		{"more at first", Forecast{Insert: 100, Total: 25}, 2, true},
		{"the same at first", Forecast{Insert: 50, Total: 25}, 0, true},
		{"less at first, the same a month", Forecast{Insert: 25, Total: 50}, 0, true},
		{"less at first, more a month", Forecast{Insert: 25, Total: 51}, 0, false},
		{"more at first, the same a month", Forecast{Insert: 51, Total: 50}, 0, false},
		{"the same", one, 0, false},
		{"not storable", Forecast{NotStorable: "too large"}, 0, false},
	} {
		if months, ok := c.f.BreakEven(one); months != c.months || ok != c.ok {
			t.Errorf("%s: %v, %v; want %v, %v", c.name, months, ok, c.months, c.ok)
		}
	}
}

// Impossible prices and layouts are refused, and the error says what to give.
func TestBadForecasts(t *testing.T) {
	w := large(2, 10, false)
	for _, c := range []struct {
		text   string
		w      Workload
		p      Prices
		layout Layout
	}{
		{"the price write is -1: write dollars, 0 or more", w, pricesOf(-1, 0, 0), w.Single()},
		{"the price storage is NaN", w, pricesOf(0, 0, math.NaN()), w.Single()},
		{
			`the layout "x" has an item without attributes: leave it out`, w,
			Prices{},
			Layout{Name: "x", Items: [][]string{{"a0"}, {"a1"}, {}}},
		},
		{
			"63 attributes: join those that are always used together, to 62 or fewer", large(63, 10, false),
			Prices{},
			w.Single(),
		},
	} {
		if _, err := c.w.Forecast(c.p, c.layout); err == nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v", c.text, err)
		}
	}
	if _, err := w.Advise(pricesOf(0, -1, 0), w.Monolith()); err == nil {
		t.Error("advice at a negative price")
	}
}
