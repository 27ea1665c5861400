package operation_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
)

// A conflict names the change of each item: changed, deleted, or created.
func TestConflictsNameTheirItems(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	users, r := kit.NewUsers(t)
	kit.Must(users.Save(ctx, users.New(kit.SomeUser("1"))))(t)
	load := func() *mapper.Entity[kit.User] { return kit.Must(users.Load(ctx, users.Key("1")))(t) }

	mine, theirs := load(), load()
	theirs.Value.Email = "theirs"
	kit.Must(users.Save(ctx, theirs))(t)
	mine.Value.Email = "mine"
	_, err := users.Save(ctx, mine)
	kit.WantConflict(t, err, "U#Information", "changed")

	mine, theirs = load(), load()
	delete(theirs.Value.Cards, "visa")
	kit.Must(users.Save(ctx, theirs))(t)
	mine.Value.Cards["visa"] = kit.Card{Last4: "mine"}
	_, err = users.Save(ctx, mine)
	kit.WantConflict(t, err, "M#Card#visa", "deleted")
	if r.Get("USER#1", "M#Card#visa") != nil {
		t.Error("an update brought a deleted item back")
	}

	mine, theirs = load(), load()
	theirs.Value.Cards["diners"] = kit.Card{Last4: "theirs"}
	kit.Must(users.Save(ctx, theirs))(t)
	mine.Value.Cards["diners"] = kit.Card{Last4: "mine"}
	_, err = users.Save(ctx, mine)
	kit.WantConflict(t, err, "M#Card#diners", "created")

	// Of several items, those are named that conflict, and none is written.
	mine, theirs = load(), load()
	theirs.Value.Email = "theirs 2"
	kit.Must(users.Save(ctx, theirs))(t)
	mine.Value.Email, mine.Value.Home.City = "mine", "mine"
	_, err = users.Save(ctx, mine)
	kit.WantConflict(t, err, "U#Information", "changed")
	if city := load().Value.Home.City; city != "Town" {
		t.Errorf("the other item was written: %s", city)
	}
}

// A foreign writer that ignores versions loses nothing to a save: its attributes
// stay, and an item that it replaced is a conflict.
func TestForeignWriter(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	users, r := kit.NewUsers(t)
	kit.Must(users.Save(ctx, users.New(kit.SomeUser("1"))))(t)
	e := kit.Must(users.Load(ctx, users.Key("1")))(t)
	r.Set("USER#1", "U#Information", "name", kit.S("Foreign"))
	r.Set("USER#1", "U#Information", "other", kit.S("Foreign"))
	e.Value.Email = "b@example.com"
	kit.Must(users.Save(ctx, e))(t)
	it := r.Get("USER#1", "U#Information")
	if kit.Text(it["name"]) != "Foreign" || kit.Text(it["other"]) != "Foreign" ||
		kit.Text(it["email"]) != "b@example.com" {
		t.Errorf("stored %v", it)
	}
	r.Put(kit.Item{"PK": kit.S("USER#1"), "SK": kit.S("U#Information"), "email": kit.S("replaced")})
	e.Value.Email = "c@example.com"
	_, err := users.Save(ctx, e)
	kit.WantConflict(t, err, "U#Information", "changed")
}

// Items without a version are guarded by the old values of the changed attributes, and have a version
// afterwards.
func TestItemsWithoutVersion(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	users, r := kit.NewUsers(t)
	base := func() {
		r.Put(kit.Item{
			"PK": kit.S("USER#1"), "SK": kit.S("U#Information"), "email": kit.S("old"), "name": kit.S("Old"),
			"extra": kit.N("1.50"),
		})
		r.Put(kit.Item{"PK": kit.S("USER#1"), "SK": kit.S("M#Card#visa"), "Last4": kit.S("1111"), "extra": kit.S("x")})
	}
	base()
	e := kit.Must(users.Load(ctx, users.Key("1")))(t)
	e.Value.Email = "new"
	r.Set("USER#1", "U#Information", "name", kit.S("Foreign")) // it differs from the saved value
	kit.Must(users.Save(ctx, e))(t)
	it := r.Get("USER#1", "U#Information")
	if kit.Text(it["email"]) != "new" || kit.Text(it["name"]) != "Foreign" || it["_v"] == nil {
		t.Errorf("stored %v", it)
	}
	base()
	e = kit.Must(users.Load(ctx, users.Key("1")))(t)
	e.Value.Email = "new"
	r.Set("USER#1", "U#Information", "email", kit.S("foreign"))
	_, err := users.Save(ctx, e)
	kit.WantConflict(t, err, "U#Information", "changed")

	base()
	e = kit.Must(users.Load(ctx, users.Key("1")))(t)
	delete(e.Value.Cards, "visa")
	r.Set("USER#1", "M#Card#visa", "extra", kit.S("changed"))
	_, err = users.Save(ctx, e)
	kit.WantConflict(t, err, "M#Card#visa", "changed")

	base()
	e = kit.Must(users.Load(ctx, users.Key("1")))(t)
	e.Value.Name = "New"
	r.Set("USER#1", "U#Information", "_v", kit.N("7")) // a version of another form
	_, err = users.Save(ctx, e)
	kit.WantConflict(t, err, "U#Information", "changed")
	e = kit.Must(users.Load(ctx, users.Key("1")))(t)
	e.Value.Name = "New"
	kit.Must(users.Save(ctx, e))(t)
}

// An item that was stored with only its keys is left alone while its value is
// zero, updated when it is not, and deleted when it becomes zero again.
func TestItemWithOnlyKeys(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	users, r := kit.NewUsers(t)
	r.Put(kit.Item{"PK": kit.S("USER#1"), "SK": kit.S("U#Information")})
	r.Put(kit.Item{"PK": kit.S("USER#1"), "SK": kit.S("U#Address#Home")})
	e := kit.Must(users.Load(ctx, users.Key("1")))(t)
	if receipt, err := users.Save(ctx, e); err != nil || receipt.Predicted().Requests != 0 {
		t.Errorf("%v, %v", receipt, err)
	}
	e.Value.Home.City = "C"
	kit.Must(users.Save(ctx, e))(t)
	if it := r.Get("USER#1", "U#Address#Home"); len(it) < 4 {
		t.Errorf("stored %v", it)
	}
	e.Value.Home = kit.Address{}
	kit.Must(users.Save(ctx, e))(t)
	if it := r.Get("USER#1", "U#Address#Home"); it != nil {
		t.Errorf("stored %v", it)
	}
}

// A struct that became zero is deleted; where its item holds attributes that the
// model does not know, only the known ones are removed. A removed element and a
// pointer that became nil take all of their item with them.
func TestWhatBecomesZero(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	users, r := kit.NewUsers(t)
	kit.Must(users.Save(ctx, users.New(kit.SomeUser("1"))))(t)
	for _, sk := range []string{"U#Address#Home", "U#Address#Delivery", "M#Card#visa"} {
		r.Set("USER#1", sk, "newer", kit.S("kept?"))
	}
	e := kit.Must(users.Load(ctx, users.Key("1")))(t)
	e.Value.Home, e.Value.Delivery = kit.Address{}, nil
	delete(e.Value.Cards, "visa")
	kit.Must(users.Save(ctx, e))(t)
	home := r.Get("USER#1", "U#Address#Home")
	if len(home) != 5 || home["_a"] == nil || home["newer"] == nil || home["_v"] == nil {
		t.Errorf("home: %v", home)
	}
	if d, c := r.Get("USER#1", "U#Address#Delivery"), r.Get("USER#1", "M#Card#visa"); d != nil || c != nil {
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
	users, _ := kit.NewUsers(t)
	kit.Must(users.Save(ctx, users.New(kit.SomeUser("1"))))(t)
	e := kit.Must(users.Load(ctx, users.Key("1")))(t)
	p := e.Value.Public
	p[0].AddedAt, p[1].AddedAt = p[1].AddedAt, p[0].AddedAt
	plan := kit.Must(users.PlanSave(e))(t)
	if len(plan.Items) != 2 || plan.Items[0].Kind != "update" || plan.Items[1].Kind != "update" {
		t.Errorf("swap: %v", plan)
	}
	kit.Must(users.Save(ctx, e))(t)
	p[0], p[2] = p[2], p[0]
	if plan := kit.Must(users.PlanSave(e))(t); plan.Requests != 0 {
		t.Errorf("reorder: %v", plan)
	}
	p[1].AddedAt = p[1].AddedAt.Add(time.Second)
	plan = kit.Must(users.PlanSave(e))(t)
	if len(plan.Items) != 2 || plan.Items[0].Kind != "put" || plan.Items[1].Kind != "delete" {
		t.Errorf("new key: %v", plan)
	}
	kit.Must(users.Save(ctx, e))(t)
	got := kit.Must(users.Load(ctx, users.Key("1")))(t)
	if d := cmp.Diff(map[string]kit.Wish{"a": p[0], "b": p[1], "c": p[2]},
		map[string]kit.Wish{"a": bySKU(got, p[0].SKU), "b": bySKU(got, p[1].SKU), "c": bySKU(got, p[2].SKU)}); d != "" {
		t.Error(d)
	}
}

func bySKU(e *mapper.Entity[kit.User], sku string) kit.Wish {
	for _, w := range e.Value.Public {
		if w.SKU == sku {
			return w
		}
	}
	return kit.Wish{}
}

// CheckLoaded also requires that unchanged items are unchanged in the table, at two units for each KB
// of them.
func TestCheckLoaded(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	users, _ := kit.NewUsers(t)
	kit.Must(users.Save(ctx,
		users.New(kit.User{
			ID: "1", Email: "a", Home: kit.Address{Street: "S", City: "C"},
			Delivery: &kit.Address{Street: "D", City: "E"},
		})))(t)
	mine := kit.Must(users.Load(ctx, users.Key("1")))(t)
	mine.Value.Email = "b"
	plan := kit.Must(users.PlanSave(mine, mapper.CheckLoaded()))(t)
	if plan.Requests != 1 || plan.WCU.Max != 6 || len(plan.Items) != 3 || plan.Items[1].Kind != "check" {
		t.Errorf("%v", plan)
	}
	receipt := kit.Must(users.Save(ctx, mine, mapper.CheckLoaded()))(t)
	if testengine.ReportsTransactions(t) && receipt.Consumed.WCU != 6 {
		t.Errorf("%v", receipt)
	}
	theirs := kit.Must(users.Load(ctx, users.Key("1")))(t)
	theirs.Value.Home.City = "theirs"
	kit.Must(users.Save(ctx, theirs))(t)
	mine.Value.Email = "c"
	_, err := users.Save(ctx, mine, mapper.CheckLoaded())
	kit.WantConflict(t, err, "U#Address#Home", "changed")
	kit.Must(users.Save(ctx, mine))(t) // without it, the other item does not matter
	if receipt := kit.Must(users.Save(ctx, mine, mapper.CheckLoaded()))(t); receipt.Predicted().Requests != 0 {
		t.Errorf("nothing changed, and yet %v", receipt)
	}
}
