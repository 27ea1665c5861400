package mapper_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

// Totals add up every operation, of all goroutines, by model, operation and item.
func TestTotals(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	var totals mapper.Totals
	m := kit.Must(mapper.New[kit.User](testengine.Start(t).Client(), mapper.Table(testengine.Table(t, "PK:S", "SK:S")),
		mapper.Observe(&totals)))(t)
	var wg sync.WaitGroup
	for _, id := range []string{"1", "2", "3", "4"} {
		wg.Go(func() {
			e := m.New(kit.SomeUser(id))
			if _, err := m.Save(ctx, e, mapper.Independent()); err != nil {
				t.Error(err)
			}
			e.Value.Email = "new@example.com"
			if _, err := m.Save(ctx, e); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	kit.Must(m.Load(ctx, m.Key("1")))(t)
	if _, err := m.Load(ctx, m.Key("none")); !errors.Is(err, mapper.ErrNotFound) {
		t.Error(err)
	}
	kit.Must(query.Of[kit.Wish](m.Key("1").Prefix("M#WishList#")).Collect(ctx, m))(t)
	kit.Must(m.Update(ctx, m.Key("1"), func(u *kit.User) error { u.Name = "x"; return nil }))(t)
	kit.Must(m.DeleteByKey(ctx, m.Key("1").Item("M#Card#visa")))(t)
	got := map[string]mapper.Total{}
	information := 0
	for _, row := range totals.Rows() {
		if row.Item == "" {
			got[row.Operation] = row
		} else if row.Item == "U#Information" && row.Operation == "Save" {
			information = row.Calls
		}
		if row.Item == "" && (!row.WCU.Contains(row.Consumed.WCU) || !row.RCU.Contains(row.Consumed.RCU)) &&
			row.Operation != "Load" {
			t.Errorf("%+v", row)
		}
	}
	if s := got["Save"]; s.Calls != 8 || s.Errors != 0 || s.Consumed.WCU != 40 || information != 8 {
		t.Errorf("%+v, %d writes of the information", s, information)
	}
	if l := got["Load"]; l.Calls != 2 || l.Errors != 1 || l.Requests != 2 {
		t.Errorf("%+v", l)
	}
	for _, op := range []string{"Query", "Update", "Delete"} {
		if got[op].Calls != 1 {
			t.Errorf("%s: %+v", op, got[op])
		}
	}
}

// Observers get the requests and the units of a bulk load, with those of the indexes, which its plan has too.
func TestBulkLoadIsObserved(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	var totals mapper.Totals
	m := kit.Indexed[kit.Issue](t, nil, mapper.Observe(&totals))
	all := []kit.Issue{
		kit.IssueOf("1", "open", "ann", kit.Monday, kit.IssueText{At: kit.Monday, By: "bo", Words: "w"}),
		kit.IssueOf("2", "open", "bo", kit.Monday),
	}
	plan := kit.Must(m.PlanBulkLoad(mapper.NoErrors(slices.Values(all))))(t)
	r := kit.Must(m.BulkLoad(ctx, mapper.NoErrors(slices.Values(all)), mapper.Overwrite()))(t)
	row := totals.Rows()[0]
	if row.Operation != "BulkLoad" || row.Requests != 2 || row.WCU != plan.WCU || row.Consumed.WCU != r.WCU ||
		!plan.WCU.Contains(r.WCU) || len(row.Consumed.Indexes) != 4 {
		t.Errorf("%+v, %+v, %+v", row, r, plan)
	}
}

// telemetry. A scan that ends with an item that does not decode
// is no success.
func TestScanErrorIsObserved(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	var totals mapper.Totals
	m := kit.Must(mapper.New[kit.Account](testengine.Start(t).Client(), mapper.Table(table),
		mapper.Observe(&totals)))(t)
	kit.NewForeign(t, table).Put(kit.Item{"PK": kit.S("ACCOUNT#1"), "SK": kit.S("HEAD"), "Counter": kit.S("x")})
	failed := 0
	for _, err := range m.Scan(ctx) {
		if err != nil {
			failed++
		}
	}
	if rows := totals.Rows(); failed != 1 || rows[0].Errors != 1 {
		t.Errorf("%d errors, observed %d", failed, rows[0].Errors)
	}
}
