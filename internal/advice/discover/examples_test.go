package discover

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"

	"github.com/itemize/itemize/cost/forecast"
	"github.com/itemize/itemize/examples/packages/registry"
	tracker "github.com/itemize/itemize/examples/tracker/store"
	wishlist "github.com/itemize/itemize/examples/wishlist/store"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/schema"
)

// monoliths are values of a model as attributevalue stores them.
func monoliths[T any](t *testing.T, n int, value func(i int) T) []item.Attributes {
	t.Helper()
	var out []item.Attributes
	for i := range n {
		m, err := attributevalue.MarshalMap(value(i))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, m)
	}
	return out
}

func words100(n int) string { return strings.Repeat("some words ", n) }

// The models that discover writes for the documents of the examples cost no more than the models that were made by
// hand, with the operations that the examples are about.
func TestAdviceBeatsTheExamples(t *testing.T) {
	text, err := os.ReadFile("../../../examples/packages/testdata/express.json")
	if err != nil {
		t.Fatal(err)
	}
	var express registry.Document
	if err := json.Unmarshal(text, &express); err != nil {
		t.Fatal(err)
	}
	day := time.Date(2024, 1, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name       string
		hash, sort string
		items      []item.Attributes
		model      reflect.Type
		operations []forecast.Operation
	}{
		{
			"packages", "Name", "", monoliths(t, 8, func(i int) registry.Package {
				p := express.Package()
				p.Name = fmt.Sprint("express", i)
				p.Releases = p.Releases[:len(p.Releases)-20*i]
				return p
			}), reflect.TypeFor[registry.Package](), []forecast.Operation{
				{Name: "a new release", PerMonth: 30, Add: map[string]int{"Releases": 1}},
				{Name: "a moved tag", PerMonth: 60, Change: map[string]int{"Tags": 1}},
				{Name: "read the head", PerMonth: 100_000, Reads: []string{"Description", "License", "Keywords"}},
			},
		},
		{
			"wishlist", "ID", "", monoliths(t, 8, func(i int) wishlist.User {
				u := wishlist.User{
					ID: fmt.Sprint("u", i), Email: "ann@example.com", Name: "Ann",
					Cart:    wishlist.Cart{Lines: words100(8000)},
					History: wishlist.History{Pages: words100(4000 + i)},
				}
				for k := range 3 + i {
					u.Private = []wishlist.Wish{{AddedAt: day, SKU: "b", Notes: words100(450)}}
					u.Public = append(u.Public, wishlist.Wish{
						AddedAt: day.AddDate(0, 0, k), SKU: "a",
						Notes: words100(450),
					})
				}
				return u
			}), reflect.TypeFor[wishlist.User](), []forecast.Operation{
				{Name: "change the e-mail address", PerMonth: 1000, Writes: []string{"email"}},
				{Name: "a wish", PerMonth: 10, Add: map[string]int{"Public": 1}},
				{Name: "read the e-mail address", PerMonth: 5000, Reads: []string{"email"}},
				{Name: "the public wishes", PerMonth: 500, Reads: []string{"Public"}},
				{Name: "open it", PerMonth: 50, All: true},
			},
		},
		{
			"tracker", "TenantID", "ProjectID", monoliths(t, 30, func(i int) tracker.Project {
				p := tracker.Project{
					TenantID: fmt.Sprint("t", i%6), ProjectID: fmt.Sprint("p", i), Name: "a project", CreatedAt: day,
					Members: map[string]tracker.Member{}, Counters: tracker.Counters{LastTicket: 123, Open: 45},
				}
				for k := range 30 + i {
					p.Members[fmt.Sprint("member", k)] = tracker.Member{Role: "editor", Email: "somebody@example.com"}
					p.Activity = append(p.Activity, tracker.Event{
						At: day.AddDate(0, 0, k), Ticket: k,
						Text: words100(20),
					})
				}
				return p
			}), reflect.TypeFor[tracker.Project](), []forecast.Operation{
				{Name: "an event", PerMonth: 300, Add: map[string]int{"Activity": 1}, Writes: []string{"Counters"}},
				{Name: "show it", PerMonth: 3000, Reads: []string{"Name", "Counters"}},
				{Name: "the last events", PerMonth: 1000, Read: map[string]int{"Activity": 20}},
				{Name: "a role", PerMonth: 3, Change: map[string]int{"Members": 1}},
			},
		},
	} {
		s := &Sample{Table: &Table{Name: c.name, Items: len(c.items)}, Items: c.items, Read: len(c.items)}
		if err := s.Keys(c.hash, c.sort); err != nil {
			t.Fatal(err)
		}
		r, err := Discover(s, Options{Prices: forecast.DefaultPrices(), Operations: c.operations})
		if err != nil || len(r.Types) != 1 || r.Types[0].NoModel != "" {
			t.Fatalf("%s: %+v, %v", c.name, r, err)
		}
		x := r.Types[0].x
		byHand, err := schema.Of(c.model)
		if err != nil {
			t.Fatal(err)
		}
		w := x.workload
		w.Attributes = append(x.keySizes(w.Attributes), w.Attributes...)
		for _, it := range byHand.Layout().Items { // also lists that are too short to be items for discover
			for i, a := range w.Attributes {
				if it.From == a.Name && a.Elements == nil {
					x.lists[a.Name] = &elements{attribute: a.Name, list: it.Kind == "slice", scalar: it.Scalar}
					w.Attributes[i] = x.measured(a.Name, x.priced())
				}
			}
		}
		var layouts []forecast.Layout
		for _, e := range []*schema.Entity{x.schema, byHand} {
			l, _, err := LayoutOf(e, w)
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			layouts = append(layouts, l)
		}
		all, err := w.Forecast(forecast.DefaultPrices(), layouts...)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		t.Logf("%s: as it is $%.6f, by hand $%.6f, advised $%.6f a month", c.name, r.Types[0].Forecasts[0].Total,
			all[1].Total,
			all[0].Total)
		// Keys may differ by some bytes, which are storage.
		if all[0].Requests > all[1].Requests*(1+1e-9) || all[0].Total > all[1].Total*1.0001 {
			t.Errorf("%s: the advised model costs more: %v and %v", c.name, all[0].Layout.Items, all[1].Layout.Items)
		}
	}
}
