package discover

import (
	"context"
	"crypto/rand"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/cost/forecast"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
	"github.com/itemize/itemize/tables"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func TestMain(m *testing.M) { testengine.Run(m) }

func sampleTicket(comments int) madeTicket {
	at := time.Date(2021, 11, 14, 9, 30, 0, 5, time.UTC)
	v := madeTicket{
		ID: "t1", State: "open", Owner: "ann", Points: 12345, Title: strings.Repeat("title ", 400), Opened: at,
	}
	for i := range comments {
		v.Comments = append(v.Comments, madeComment{
			at.Add(time.Duration(i) * time.Second), "eve", strings.Repeat("text ", 250),
		})
	}
	return v
}

// measuredTicket is a workload with the sizes of a ticket.
func measuredTicket(t *testing.T, v madeTicket) forecast.Workload {
	t.Helper()
	var w forecast.Workload
	doc := monoliths(t, 1, func(int) madeTicket { return v })[0]
	for _, name := range slices.Sorted(maps.Keys(doc)) {
		a := forecast.Attribute{Name: name}
		if name != "Comments" {
			a.Sizes = []int{attr.AttributeSize(name, doc[name])}
			w.Attributes = append(w.Attributes, a)
			continue
		}
		a.Elements = &forecast.Elements{Counts: []int{len(v.Comments)}}
		for _, f := range []string{"At", "By", "Text"} {
			of := forecast.Attribute{Name: f}
			for _, e := range doc[name].(*types.AttributeValueMemberL).Value {
				of.Sizes = append(of.Sizes, attr.AttributeSize(f, e.(*types.AttributeValueMemberM).Value[f]))
			}
			a.Elements.Attributes = append(a.Elements.Attributes, of)
		}
		w.Attributes = append(w.Attributes, a)
	}
	return w
}

// ticketChange is an operation of a forecast, and the change of a ticket that it stands for.
type ticketChange struct {
	op     forecast.Operation
	change func(v *madeTicket)
}

var ticketChanges = []ticketChange{
	{forecast.Operation{Writes: []string{"State"}}, func(v *madeTicket) { v.State = "shut" }},
	{forecast.Operation{Writes: []string{"Owner"}}, func(v *madeTicket) { v.Owner = "bob" }},
	{forecast.Operation{Writes: []string{"Points"}}, func(v *madeTicket) { v.Points = 12346 }},
	{forecast.Operation{Writes: []string{"Opened"}}, func(v *madeTicket) { v.Opened = v.Opened.Add(time.Hour) }},
	{forecast.Operation{Writes: []string{"Title"}}, func(v *madeTicket) { v.Title = "x" + v.Title[1:] }},
	{
		forecast.Operation{Change: map[string]int{"Comments": 1}},
		func(v *madeTicket) { v.Comments[4].Text = "x" + v.Comments[4].Text[1:] },
	},
	{
		forecast.Operation{Remove: map[string]int{"Comments": 1}},
		func(v *madeTicket) { v.Comments = v.Comments[1:] },
	},
}

// ticketTable returns a mapper of tickets in a new table.
func ticketTable(t *testing.T) *mapper.Mapper[madeTicket] {
	t.Helper()
	ctx, client := context.Background(), testengine.Need(t, testengine.Capacity).Client()
	m, err := mapper.New[madeTicket](client, mapper.Table("tickets-"+strings.ToLower(rand.Text())))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range tables.Of(m) {
		if _, err := client.CreateTable(ctx, d.Create); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_, _ = client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: d.Create.TableName})
		})
	}
	return m
}

// collectTickets queries an index, and returns the receipt.
func collectTickets(t *testing.T, m *mapper.Mapper[madeTicket], index string) (r mapper.Receipt) {
	t.Helper()
	hash := map[string]any{"byState": "open", "byOwner": "ann", "byAuthor": "eve", "byPoints": "t1"}[index]
	err := error(nil)
	if index == "byAuthor" {
		_, err = query.Of[madeComment](m.Index(index, hash)).Collect(context.Background(), m, mapper.ReceiptTo(&r))
	} else {
		_, err = query.Of[madeTicket](m.Index(index, hash)).Collect(context.Background(), m, mapper.ReceiptTo(&r))
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A forecast of a model has the units of all its indexes, of items and of elements, as receipts have them.
func TestForecastsHaveTheIndexesOfTheModel(t *testing.T) {
	ctx := context.Background()
	v := sampleTicket(5)
	w := measuredTicket(t, v)
	queries := map[string]int{"byState": 1, "byOwner": 1, "byPoints": 1, "byAuthor": 5}
	for i, c := range ticketChanges {
		c.op.Name, c.op.PerMonth = string(rune('a'+i)), 1
		w.Operations = append(w.Operations, c.op)
	}
	for _, name := range slices.Sorted(maps.Keys(queries)) {
		w.Operations = append(w.Operations, forecast.Operation{
			Name: name, PerMonth: 1, Query: map[string]int{name: queries[name]},
		})
	}
	e, err := schema.Of(reflect.TypeFor[madeTicket]())
	if err != nil {
		t.Fatal(err)
	}
	l, notes, err := LayoutOf(e, w)
	if err != nil || len(notes) > 0 {
		t.Fatal(notes, err)
	}
	all, err := w.Forecast(forecast.DefaultPrices(), l)
	if err != nil {
		t.Fatal(err)
	}
	f := all[0]
	m := ticketTable(t)
	r, err := m.Save(ctx, m.New(v))
	if err != nil {
		t.Fatal(err)
	}
	if stored := 1 + 5 + 3 + 5; f.Bytes < float64(stored*100) || f.Insert == 0 || r.Predicted().WCU.Expected == 0 {
		t.Errorf("%v bytes", f.Bytes)
	}
	for i, c := range ticketChanges {
		loaded, err := m.Load(ctx, m.Key("t1"))
		if err != nil {
			t.Fatal(err)
		}
		c.change(&loaded.Value)
		plan, err := m.PlanSave(loaded)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Operations[i].OnceWCU; got != plan.WCU.Expected {
			t.Errorf("%v: forecast %v WCU, plan %v", c.op, got, plan)
		}
	}
	for i, q := range slices.Sorted(maps.Keys(queries)) {
		r := collectTickets(t, m, q)
		want := r.Consumed.RCU
		if q == "byAuthor" { // and the root item of the elements
			want -= 0.5
		}
		if got := f.Operations[len(ticketChanges)+i].OnceRCU; got != want {
			t.Errorf("%s: forecast %v RCU, receipt %v", q, got, r)
		}
	}
}
