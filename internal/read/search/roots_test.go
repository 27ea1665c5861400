package search_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/models"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

var ticketOptions = cmp.Options{cmpopts.EquateEmpty(), cmpopts.IgnoreFields(models.Ticket{}, "_")}

// manyTickets stores tickets with texts of 20 KB next to their heads.
func manyTickets(t *testing.T, m *mapper.Mapper[models.Ticket], n int) []models.Ticket {
	t.Helper()
	var all []models.Ticket
	for i := range n {
		tk := models.Ticket{
			Project: "p", At: time.Date(2021, 11, 1+i%28, 0, 0, i, 0, time.UTC), ID: fmt.Sprint(i),
			Title: fmt.Sprint("t", i),
			Text:  strings.Repeat("x", 20_000), Comments: []models.TicketComment{{N: 1, Text: "a"}, {N: 2, Text: "b"}},
		}
		kit.Must(m.Save(context.Background(), m.New(tk)))(t)
		all = append(all, tk)
	}
	slices.SortFunc(all, func(a, b models.Ticket) int { return a.At.Compare(b.At) })
	return all
}

// Roots that are adjacent are read at their own price, in either order, with limits, filters and
// pages; the plain query yields whole entities.
func TestRootOnlyQueries(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := kit.NewMapper[models.Ticket](t, "PK:S", "SK:S")
	want := manyTickets(t, m, 80)
	q := query.Of[models.Ticket](m.Key("p"))
	two := kit.Must(q.Limit(2).Roots().Page(ctx, m))(t)
	if len(two.Items) != 2 || two.RCU > 1 || two.Items[0].Title != want[0].Title || two.Items[0].Text != "" ||
		two.Items[0].ID != want[0].ID {
		t.Errorf("%+v", two)
	}
	var titles []string
	var cursor query.Cursor
	rcu := 0.0
	for {
		p := kit.Must(q.Limit(7).Reverse().Roots().After(cursor).Page(ctx, m))(t)
		for _, ref := range p.Items {
			titles = append(titles, ref.Title)
		}
		rcu += p.RCU
		if cursor = p.Next; cursor == "" {
			break
		}
	}
	slices.Reverse(titles)
	for i, w := range want {
		if titles[i] != w.Title {
			t.Fatalf("%d: %s, want %s", i, titles[i], w.Title)
		}
	}
	if len(titles) != 80 || rcu > 13 {
		t.Errorf("%d heads for %v RCU", len(titles), rcu)
	}
	if n := kit.Must(q.Count(ctx, m))(t); n != 80 {
		t.Errorf("%d", n)
	}
	if all := kit.Must(q.Roots().Collect(ctx, m))(t); len(all) != 80 {
		t.Errorf("%d", len(all))
	}
	var r mapper.Receipt
	whole := kit.Must(q.Limit(3).Collect(ctx, m, mapper.ReceiptTo(&r)))(t)
	if d := cmp.Diff(want[:3], whole, ticketOptions); d != "" {
		t.Error(d)
	}
	if !r.Predicted().RCU.Contains(r.Consumed.RCU) && testengine.ReportsMisses(t) || r.Consumed.RCU > 15 {
		t.Errorf("%v", &r)
	}
	got := kit.Must(q.Collect(ctx, m))(t)
	if d := cmp.Diff(want, got, ticketOptions); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(want[5], kit.Must(m.Load(ctx, m.Key("p", want[5].At, want[5].ID)))(t).Value,
		ticketOptions); d != "" {
		t.Error(d)
	}
	seen := 0
	for e, err := range m.Scan(ctx, mapper.Segments(2)) {
		if err != nil {
			t.Fatal(err)
		}
		if i := slices.IndexFunc(want, func(w models.Ticket) bool { return w.ID == e.Value.ID }); !cmp.Equal(want[i],
			e.Value, ticketOptions) {
			t.Errorf("%+v", e.Value)
		}
		seen++
	}
	if seen != 80 {
		t.Errorf("%d scanned", seen)
	}
	kit.Must(m.DeleteByKey(ctx, m.Key("p", want[0].At, want[0].ID)))(t)
	if left := kit.Must(q.Collect(ctx, m))(t); len(left) != 79 {
		t.Errorf("%d left", len(left))
	}
}

// Entities whose items are in two tables are queried by their roots.
func TestRootOnlyQueryOfTwoTables(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	names := map[string]string{
		"pages":  testengine.Table(t, "PK:S", "SK:S"),
		"bodies": testengine.Table(t, "PK:S", "SK:S"),
	}
	m := kit.Must(mapper.New[models.Page](testengine.Start(t).Client(),
		mapper.Tables(func(name string) string { return names[name] })))(t)
	var want []models.Page
	for i := range 30 {
		p := models.Page{
			Site: "s", Path: fmt.Sprintf("%02d", i), Name: fmt.Sprint("n", i),
			Body: []byte(strings.Repeat("x", i)),
		}
		kit.Must(m.Save(ctx, m.New(p)))(t)
		want = append(want, p)
	}
	options := cmp.Options{cmpopts.EquateEmpty(), cmpopts.IgnoreFields(models.Page{}, "_")}
	got := kit.Must(query.Of[models.Page](m.Key("s")).Collect(ctx, m))(t)
	if d := cmp.Diff(want, got, options); d != "" {
		t.Error(d)
	}
	refs := kit.Must(query.Of[models.Page](m.Key("s")).Roots().Collect(ctx, m))(t)
	if len(refs) != 30 || refs[3].Name != "n3" || refs[3].Body != nil {
		t.Errorf("%+v", refs)
	}
}

// A page of entities of several items under one prefix asks for no more than it needs.
func TestBoundedPages(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := kit.NewMapper[kit.Memo](t, "PK:S", "SK:S")
	for i := range 80 {
		kit.Must(m.Save(ctx,
			m.New(kit.Memo{List: "l", ID: fmt.Sprintf("%02d", i), Head: "h", Text: strings.Repeat("x", 20_000)})))(t)
	}
	q := query.Of[kit.Memo](m.Key("l"))
	for _, q := range []*query.Query[kit.Memo, kit.Memo]{q, q.Reverse()} {
		p := kit.Must(q.Limit(2).Page(ctx, m))(t)
		if len(p.Items) != 2 || len(p.Items[1].Text) != 20_000 || p.RCU > 12 {
			t.Errorf("%d for %v RCU", len(p.Items), p.RCU)
		}
	}
	seen := 0
	var cursor query.Cursor
	for {
		p := kit.Must(q.Limit(9).After(cursor).Page(ctx, m))(t)
		seen += len(p.Items)
		if cursor = p.Next; cursor == "" {
			break
		}
	}
	if seen != 80 {
		t.Errorf("%d", seen)
	}
	// An entity of many items still needs few requests.
	orders := kit.NewMapper[models.Order](t, "PK:S", "SK:S")
	o := models.Order{Customer: "c", N: 1}
	for i := range 500 {
		o.Lines = append(o.Lines, models.Line{Line: i + 1, SKU: "s"})
	}
	kit.Must(orders.Save(ctx, orders.New(o)))(t)
	var r mapper.Receipt
	if all := kit.Must(query.Of[models.Order](orders.Key("c")).Limit(1).Collect(ctx, orders,
		mapper.ReceiptTo(&r)))(t); len(all[0].Lines) != 500 || r.Predicted().Requests > 13 {
		t.Errorf("%d lines, %v", len(all[0].Lines), &r)
	}
}
