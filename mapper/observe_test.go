package mapper_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

// Totals add up every operation, of all goroutines, by model, operation and item.
func TestTotals(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	var totals mapper.Totals
	m := must(mapper.New[user](testengine.Start(t).Client(), mapper.Table(testengine.Table(t, "PK:S", "SK:S")),
		mapper.Observe(&totals)))(t)
	var wg sync.WaitGroup
	for _, id := range []string{"1", "2", "3", "4"} {
		wg.Go(func() {
			e := m.New(someUser(id))
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
	must(m.Load(ctx, m.Key("1")))(t)
	if _, err := m.Load(ctx, m.Key("none")); !errors.Is(err, mapper.ErrNotFound) {
		t.Error(err)
	}
	must(query.Of[wish](m.Key("1").Prefix("M#WishList#")).Collect(ctx, m))(t)
	must(m.Update(ctx, m.Key("1"), func(u *user) error { u.Name = "x"; return nil }))(t)
	must(m.DeleteByKey(ctx, m.Key("1").Item("M#Card#visa")))(t)
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
	m := indexed[issue](t, nil, mapper.Observe(&totals))
	all := []issue{
		issueOf("1", "open", "ann", 1, monday, issueText{At: monday, By: "bo", Words: "w"}),
		issueOf("2", "open", "bo", 2, monday),
	}
	plan := must(m.PlanBulkLoad(mapper.NoErrors(slices.Values(all))))(t)
	r := must(m.BulkLoad(ctx, mapper.NoErrors(slices.Values(all)), mapper.Overwrite()))(t)
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
	m := must(mapper.New[account](testengine.Start(t).Client(), mapper.Table(table), mapper.Observe(&totals)))(t)
	newRaw(t, table).put(item{"PK": s("ACCOUNT#1"), "SK": s("HEAD"), "Counter": s("x")})
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
