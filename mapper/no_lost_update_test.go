package mapper_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
)

var userOptions = cmp.Options{cmpopts.EquateEmpty(), cmpopts.IgnoreFields(user{}, "_")}

// wantConflict checks that a save was refused because of one item.
func wantConflict(t *testing.T, err error, sort string, kind string) {
	t.Helper()
	var c *mapper.ConflictError
	if !errors.As(err, &c) || len(c.Items) != 1 || c.Items[0].Key.Sort != sort || c.Items[0].Conflict != kind {
		t.Errorf("%v; want a conflict of %s, %s", err, sort, kind)
	}
}

// A conflict names the change of each item: changed, deleted, or created.
func TestConflictsNameTheirItems(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	users, r := newUsers(t)
	must(users.Save(ctx, users.New(someUser("1"))))(t)
	load := func() *mapper.Entity[user] { return must(users.Load(ctx, users.Key("1")))(t) }

	mine, theirs := load(), load()
	theirs.Value.Email = "theirs"
	must(users.Save(ctx, theirs))(t)
	mine.Value.Email = "mine"
	_, err := users.Save(ctx, mine)
	wantConflict(t, err, "U#Information", "changed")

	mine, theirs = load(), load()
	delete(theirs.Value.Cards, "visa")
	must(users.Save(ctx, theirs))(t)
	mine.Value.Cards["visa"] = card{"mine"}
	_, err = users.Save(ctx, mine)
	wantConflict(t, err, "M#Card#visa", "deleted")
	if r.get("USER#1", "M#Card#visa") != nil {
		t.Error("an update brought a deleted item back")
	}

	mine, theirs = load(), load()
	theirs.Value.Cards["diners"] = card{"theirs"}
	must(users.Save(ctx, theirs))(t)
	mine.Value.Cards["diners"] = card{"mine"}
	_, err = users.Save(ctx, mine)
	wantConflict(t, err, "M#Card#diners", "created")

	// Of several items, those are named that conflict, and none is written.
	mine, theirs = load(), load()
	theirs.Value.Email = "theirs 2"
	must(users.Save(ctx, theirs))(t)
	mine.Value.Email, mine.Value.Home.City = "mine", "mine"
	_, err = users.Save(ctx, mine)
	wantConflict(t, err, "U#Information", "changed")
	if city := load().Value.Home.City; city != "Town" {
		t.Errorf("the other item was written: %s", city)
	}
}

// A foreign writer that ignores versions loses nothing to a save: its attributes
// stay, and an item that it replaced is a conflict.
func TestForeignWriter(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	users, r := newUsers(t)
	must(users.Save(ctx, users.New(someUser("1"))))(t)
	e := must(users.Load(ctx, users.Key("1")))(t)
	r.set("USER#1", "U#Information", "name", s("Foreign"))
	r.set("USER#1", "U#Information", "other", s("Foreign"))
	e.Value.Email = "b@example.com"
	must(users.Save(ctx, e))(t)
	it := r.get("USER#1", "U#Information")
	if text(it["name"]) != "Foreign" || text(it["other"]) != "Foreign" || text(it["email"]) != "b@example.com" {
		t.Errorf("stored %v", it)
	}
	r.put(item{"PK": s("USER#1"), "SK": s("U#Information"), "email": s("replaced")})
	e.Value.Email = "c@example.com"
	_, err := users.Save(ctx, e)
	wantConflict(t, err, "U#Information", "changed")
}

// Items without a version are guarded by the old values of the changed attributes, and have a version
// afterwards.
func TestItemsWithoutVersion(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	users, r := newUsers(t)
	base := func() {
		r.put(item{
			"PK": s("USER#1"), "SK": s("U#Information"), "email": s("old"), "name": s("Old"),
			"extra": n("1.50"),
		})
		r.put(item{"PK": s("USER#1"), "SK": s("M#Card#visa"), "Last4": s("1111"), "extra": s("x")})
	}
	base()
	e := must(users.Load(ctx, users.Key("1")))(t)
	e.Value.Email = "new"
	r.set("USER#1", "U#Information", "name", s("Foreign")) // it differs from the saved value
	must(users.Save(ctx, e))(t)
	it := r.get("USER#1", "U#Information")
	if text(it["email"]) != "new" || text(it["name"]) != "Foreign" || it["_v"] == nil {
		t.Errorf("stored %v", it)
	}
	base()
	e = must(users.Load(ctx, users.Key("1")))(t)
	e.Value.Email = "new"
	r.set("USER#1", "U#Information", "email", s("foreign"))
	_, err := users.Save(ctx, e)
	wantConflict(t, err, "U#Information", "changed")

	base()
	e = must(users.Load(ctx, users.Key("1")))(t)
	delete(e.Value.Cards, "visa")
	r.set("USER#1", "M#Card#visa", "extra", s("changed"))
	_, err = users.Save(ctx, e)
	wantConflict(t, err, "M#Card#visa", "changed")

	base()
	e = must(users.Load(ctx, users.Key("1")))(t)
	e.Value.Name = "New"
	r.set("USER#1", "U#Information", "_v", n("7")) // a version of another form
	_, err = users.Save(ctx, e)
	wantConflict(t, err, "U#Information", "changed")
	e = must(users.Load(ctx, users.Key("1")))(t)
	e.Value.Name = "New"
	must(users.Save(ctx, e))(t)
}

func text(v types.AttributeValue) string {
	if s, ok := v.(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return "no string"
}

// An item that was stored with only its keys is left alone while its value is
// zero, updated when it is not, and deleted when it becomes zero again.
func TestItemWithOnlyKeys(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	users, r := newUsers(t)
	r.put(item{"PK": s("USER#1"), "SK": s("U#Information")})
	r.put(item{"PK": s("USER#1"), "SK": s("U#Address#Home")})
	e := must(users.Load(ctx, users.Key("1")))(t)
	if receipt, err := users.Save(ctx, e); err != nil || receipt.Predicted().Requests != 0 {
		t.Errorf("%v, %v", receipt, err)
	}
	e.Value.Home.City = "C"
	must(users.Save(ctx, e))(t)
	if it := r.get("USER#1", "U#Address#Home"); len(it) < 4 {
		t.Errorf("stored %v", it)
	}
	e.Value.Home = address{}
	must(users.Save(ctx, e))(t)
	if it := r.get("USER#1", "U#Address#Home"); it != nil {
		t.Errorf("stored %v", it)
	}
}

// A struct that became zero is deleted; where its item holds attributes that the
// model does not know, only the known ones are removed. A removed element and a
// pointer that became nil take all of their item with them.
func TestWhatBecomesZero(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	users, r := newUsers(t)
	must(users.Save(ctx, users.New(someUser("1"))))(t)
	for _, sk := range []string{"U#Address#Home", "U#Address#Delivery", "M#Card#visa"} {
		r.set("USER#1", sk, "newer", s("kept?"))
	}
	e := must(users.Load(ctx, users.Key("1")))(t)
	e.Value.Home, e.Value.Delivery = address{}, nil
	delete(e.Value.Cards, "visa")
	must(users.Save(ctx, e))(t)
	home := r.get("USER#1", "U#Address#Home")
	if len(home) != 5 || home["_a"] == nil || home["newer"] == nil || home["_v"] == nil {
		t.Errorf("home: %v", home)
	}
	if d, c := r.get("USER#1", "U#Address#Delivery"), r.get("USER#1", "M#Card#visa"); d != nil || c != nil {
		t.Errorf("stored %v, %v", d, c)
	}
	if receipt, err := users.Save(ctx, e); err != nil || receipt.Predicted().Requests != 0 {
		t.Errorf("again: %v, %v", receipt, err)
	}
}

// Two elements that swap keys are two updates; one whose key changes is a put and
// a delete; reordering writes nothing.
func TestElementKeys(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	users, _ := newUsers(t)
	must(users.Save(ctx, users.New(someUser("1"))))(t)
	e := must(users.Load(ctx, users.Key("1")))(t)
	p := e.Value.Public
	p[0].AddedAt, p[1].AddedAt = p[1].AddedAt, p[0].AddedAt
	plan := must(users.PlanSave(e))(t)
	if len(plan.Items) != 2 || plan.Items[0].Kind != "update" || plan.Items[1].Kind != "update" {
		t.Errorf("swap: %v", plan)
	}
	must(users.Save(ctx, e))(t)
	p[0], p[2] = p[2], p[0]
	if plan := must(users.PlanSave(e))(t); plan.Requests != 0 {
		t.Errorf("reorder: %v", plan)
	}
	p[1].AddedAt = p[1].AddedAt.Add(time.Second)
	plan = must(users.PlanSave(e))(t)
	if len(plan.Items) != 2 || plan.Items[0].Kind != "put" || plan.Items[1].Kind != "delete" {
		t.Errorf("new key: %v", plan)
	}
	must(users.Save(ctx, e))(t)
	got := must(users.Load(ctx, users.Key("1")))(t)
	if d := cmp.Diff(map[string]wish{"a": p[0], "b": p[1], "c": p[2]},
		map[string]wish{"a": bySKU(got, p[0].SKU), "b": bySKU(got, p[1].SKU), "c": bySKU(got, p[2].SKU)}); d != "" {
		t.Error(d)
	}
}

func bySKU(e *mapper.Entity[user], sku string) wish {
	for _, w := range e.Value.Public {
		if w.SKU == sku {
			return w
		}
	}
	return wish{}
}

// CheckLoaded also requires that unchanged items are unchanged in the table, at two units for each KB
// of them.
func TestCheckLoaded(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	users, _ := newUsers(t)
	must(users.Save(ctx,
		users.New(user{ID: "1", Email: "a", Home: address{"S", "C"}, Delivery: &address{"D", "E"}})))(t)
	mine := must(users.Load(ctx, users.Key("1")))(t)
	mine.Value.Email = "b"
	plan := must(users.PlanSave(mine, mapper.CheckLoaded()))(t)
	if plan.Requests != 1 || plan.WCU.Max != 6 || len(plan.Items) != 3 || plan.Items[1].Kind != "check" {
		t.Errorf("%v", plan)
	}
	receipt := must(users.Save(ctx, mine, mapper.CheckLoaded()))(t)
	if testengine.ReportsTransactions(t) && receipt.Consumed.WCU != 6 {
		t.Errorf("%v", receipt)
	}
	theirs := must(users.Load(ctx, users.Key("1")))(t)
	theirs.Value.Home.City = "theirs"
	must(users.Save(ctx, theirs))(t)
	mine.Value.Email = "c"
	_, err := users.Save(ctx, mine, mapper.CheckLoaded())
	wantConflict(t, err, "U#Address#Home", "changed")
	must(users.Save(ctx, mine))(t) // without it, the other item does not matter
	if receipt := must(users.Save(ctx, mine, mapper.CheckLoaded()))(t); receipt.Predicted().Requests != 0 {
		t.Errorf("nothing changed, and yet %v", receipt)
	}
}
