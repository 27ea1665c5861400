package mapper_test

import (
	"context"
	"testing"

	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

// The plans of loads and deletes equal their cost: exactly if the items are known, and within the
// bounds if they are not.
func TestPlansOfLoadsAndDeletes(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	users, _ := kit.NewUsers(t)
	exact := testengine.ReportsTransactions(t)
	for id, options := range map[string][]mapper.WriteOption{
		"1": nil, "2": {mapper.Independent()},
		"3": {mapper.Staged()},
	} {
		kit.Must(users.Save(ctx, users.New(kit.SomeUser(id))))(t)
		k := users.Key(id)
		for name, s := range map[string]query.Selection[kit.User]{
			"all": k, "a prefix": k.Prefix("U#"), "an item": k.Item("U#Information"),
			"two": query.Join(k.Item("U#Information"), k.Item("M#Card#visa")),
		} {
			for _, read := range [][]mapper.ReadOption{nil, {mapper.Strong()}} {
				bounds := kit.Must(users.PlanLoad(s, read...))(t)
				var r mapper.Receipt
				e := kit.Must(users.Load(ctx, s, append(read, mapper.ReceiptTo(&r))...))(t)
				plan := kit.Must(users.PlanLoad(e, read...))(t)
				if !bounds.RCU.Contains(r.Consumed.RCU) || bounds.Requests != r.Predicted().Requests ||
					!plan.RCU.Exact() || plan.RCU.Min != r.Consumed.RCU || plan.Requests != r.Predicted().Requests {
					t.Errorf("%s: bounds %v, planned %v, %v", name, bounds, plan, &r)
				}
			}
		}
		e := kit.Must(users.Load(ctx, k))(t)
		plan := kit.Must(users.PlanDelete(e, options...))(t)
		r := kit.Must(users.Delete(ctx, e, options...))(t)
		if plan.WCU != r.Predicted().WCU || plan.RCU != r.Predicted().RCU || plan.Requests != r.Predicted().Requests ||
			plan.Mode != r.Predicted().Mode || exact && plan.WCU.Min != r.Consumed.WCU {
			t.Errorf("planned %v\n%v", plan, r)
		}
	}
	q := query.Of[kit.Wish](users.Key("2").Prefix("M#WishList#"))
	kit.Must(users.Save(ctx, users.New(kit.SomeUser("2"))))(t)
	var r mapper.Receipt
	kit.Must(q.Collect(ctx, users, mapper.Strong(), mapper.ReceiptTo(&r)))(t)
	if p := kit.Must(q.Plan(users, mapper.Strong()))(t); !p.RCU.Contains(r.Consumed.RCU) ||
		!p.Requests.Contains(float64(r.Predicted().Requests)) {
		t.Errorf("%+v, %v", p, &r)
	}
	if p := kit.Must(q.Limit(1).Plan(users))(t); p.RCU.Max != 50 {
		t.Errorf("%+v", p)
	}
	one := kit.Must(users.PlanDeleteByKey(users.Key("1").Item("M#Card#visa")))(t)
	if one.WCU.Min != 1 || one.WCU.Max != 400 || one.Requests != 1 {
		t.Errorf("%v", one)
	}
	if _, err := users.PlanDeleteByKey(users.Key("1")); err == nil {
		t.Error("planned what is not known")
	}
}
