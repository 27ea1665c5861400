package operation_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/itemize/itemize/examples/packages/registry"
	"github.com/itemize/itemize/examples/wishlist/store"
	"github.com/itemize/itemize/internal/testing/handmade"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
)

// The writers of these tests meet leftover items of a deleted entity, or items of an insert in
// progress. They must not take these for items of the entity.

// A move by a key field which leaves the root in place reports the items that another writer added
// under the old key during the move.
func TestMoveOfElementsCarriesAdditions(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := kit.NewMapper[kit.Regional](t, "PK:S", "SK:S")
	e := m.New(kit.Regional{ID: "1", Region: "eu", Notes: "n", Stock: []kit.Stock{{SKU: "a", N: 1}}})
	kit.Must(m.Save(ctx, e))(t)
	b := kit.Must(m.Load(ctx, m.Key("1")))(t)
	b.Value.Stock = append(b.Value.Stock, kit.Stock{SKU: "b", N: 2})
	kit.Must(m.Save(ctx, b))(t) // acknowledged
	e.Value.Region = "us"
	r := kit.Must(m.Save(ctx, e, mapper.Move()))(t)
	if len(r.LeftBehind) != 0 || len(r.Carried) != 1 || r.Carried[0].Sort != "STOCK#us#b" {
		t.Errorf("left behind: %v, carried: %v", r.LeftBehind, r.Carried)
	}
	if got := kit.Must(m.Load(ctx, m.Key("1")))(t).Value.Stock; len(got) != 2 || got[1] != (kit.Stock{SKU: "b", N: 2}) {
		t.Errorf("%+v", got)
	}
}

// An element replaces a leftover item, if the entity exists. The entity is deleted and inserted again
// after the root was read: the element then belongs to the new entity.
func TestIfEntityExistsOverALeftover(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
	kit.LeaveEntries(t, clean, kit.Part{N: 1, Text: "dead"})
	kit.Must(clean.Save(ctx, clean.New(kit.Account{ID: "1", Counter: 2})))(t)
	before := kit.Must(clean.Load(ctx, clean.Key("1")))(t)
	if len(before.Value.Entries) > 0 {
		t.Fatal("joined")
	}
	m := kit.NewAccounts(t, table, kit.AtRequest("TransactWriteItems", 2, func() {
		kit.Must(clean.Delete(ctx, before))(t) // as it was loaded: without the leftover
		kit.Must(clean.Save(ctx, clean.New(kit.Account{ID: "1", Counter: 3})))(t)
	}), 1)
	_, err := handmade.Elements[kit.Account, kit.Part]{
		Node: handmade.Node(m.Key("1")),
		Item: 3,
	}.Add(kit.Part{N: 1, Text: "new"}).IfEntityExists().Exec(ctx, m)
	got := kit.Stored(t, clean, "1")
	if err == nil && (got == nil || len(got.Entries) != 1) {
		t.Errorf("the add was acknowledged, the entity exists, and there is %+v", got)
	}
}

// The first copy of a delete with exactly-once is lost, and the second is refused because the item is
// staged. The first may still arrive, and delete an item that another writer has saved since: the
// outcome is unknown.
func TestExactlyOnceDelete(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
	kit.Must(clean.Save(ctx, clean.New(kit.Account{ID: "1", Counter: 1, Left: "a"}), mapper.Staged()))(t)
	l := &losing{operation: "TransactWriteItems", lose: 1}
	m := kit.NewAccounts(t, table, l.transport(), 2)
	_, err := m.DeleteByKey(ctx, m.Key("1").Item("LEFT"), mapper.ExactlyOnce())
	e := kit.Must(clean.Load(ctx, clean.Key("1")))(t)
	e.Value.Left = "b"
	kit.Must(clean.Save(ctx, e))(t)
	l.Deliver(t)
	got := kit.Stored(t, clean, "1")
	if err == nil && got.Left != "b" {
		t.Errorf("the delete was applied twice: %+v", got)
	}
}

// An own mark that arrives late, after its caller has looked and before it compares, is no
// conflict.
func TestOwnMarkArrivesLate(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	l := &losing{operation: "UpdateItem"}
	m := kit.NewAccounts(t, table, l.transport(), 1)
	e := m.New(kit.Account{ID: "1", Counter: 1, Left: "a"})
	kit.Must(m.Save(ctx, e))(t)
	l.lose = 100
	var unknown *mapper.OutcomeUnknownError
	if _, err := m.Delete(ctx, e, mapper.Staged()); !errors.As(err, &unknown) {
		t.Fatal(err)
	}
	l.lose = 0
	l.before = func(operation string) {
		if operation == "Query" {
			l.before = nil
			l.Deliver(t)
		}
	}
	if _, err := m.Delete(ctx, e, mapper.Staged()); err != nil {
		t.Errorf("its own mark is in its way: %v", err)
	}
}

// A delete of an entity that is being inserted ends the insert before it takes any of its items,
// also with Independent: here it dies after the first.
func TestIndependentDeleteOfAClaim(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	v := kit.Account{ID: "1", Counter: 1, Left: "a", Right: "b"}
	a := kit.NewAccounts(t, table, kit.AtRequest("UpdateItem", 1, func() {
		var n atomic.Int32
		b := kit.NewAccounts(t, table, &kit.Faulty{At: -1, Late: func(r *http.Request) bool {
			return kit.OperationOf(r) == "DeleteItem" && n.Add(1) > 1
		}}, 1)
		_, _ = b.DeleteByKey(ctx, b.Key("1"), mapper.Independent())
	}), 1)
	_, err := a.Save(ctx, a.New(v), mapper.Staged())
	got := kit.Stored(t, a, "1")
	if err == nil && !kit.Same(got, &v) {
		t.Errorf("torn: %+v", got)
	}
}

// Two elements are added by one patch, each over a leftover, and between them the entity is
// inserted again: both are of the new one.
func TestPatchOfTwoIncarnations(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
	kit.Must(clean.Save(ctx, clean.New(kit.Account{ID: "1", Counter: 1})))(t)
	late := kit.Must(clean.Load(ctx, clean.Key("1")))(t)
	late2 := kit.Must(clean.Load(ctx, clean.Key("1")))(t)
	kit.Must(clean.DeleteByKey(ctx, clean.Key("1")))(t)
	late.Value.Entries = []kit.Part{{N: 1, Text: "dead"}}
	kit.Must(clean.Save(ctx, late, mapper.Blind()))(t) // left over
	kit.Must(clean.Save(ctx, clean.New(kit.Account{ID: "1", Counter: 2})))(t)
	before := kit.Must(clean.Load(ctx, clean.Key("1")))(t)
	m := kit.NewAccounts(t, table, kit.AtRequest("TransactWriteItems", 2, func() {
		kit.Must(clean.Delete(ctx, before))(t)
		late2.Value.Entries = []kit.Part{{N: 2, Text: "dead"}}
		kit.Must(clean.Save(ctx, late2, mapper.Blind()))(t) // another left over
		kit.Must(clean.Save(ctx, clean.New(kit.Account{ID: "1", Counter: 3})))(t)
	}), 1)
	node := handmade.Elements[kit.Account, kit.Part]{Node: handmade.Node(m.Key("1")), Item: 3}
	_, err := node.Add(kit.Part{
		N:    1,
		Text: "new",
	}).And(node.Add(kit.Part{N: 2, Text: "new"})).IfEntityExists().Exec(ctx, m)
	if got := kit.Stored(t, clean, "1"); err != nil || len(got.Entries) != 2 {
		t.Errorf("one transaction, of which one is seen: %+v: %v", got.Entries, err)
	}
}

// An expired entity that DynamoDB has not deleted yet blocks no writer: its items can be deleted, and
// nothing can be added to it.
func TestDeleteOfAnItemOfAnExpiredEntity(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := kit.NewMapper[kit.Lease](t, "PK:S", "SK:S")
	kit.Must(m.Save(ctx, m.New(kit.Lease{
		ID: "1", Until: time.Now().Add(-time.Minute), Left: "a",
		Parts: []kit.Part{{N: 1, Text: "x"}},
	}),
		mapper.Staged()))(t)
	if _, err := m.DeleteByKey(ctx, m.Key("1").Item("LEFT")); err != nil {
		t.Errorf("nobody else is there: %v", err)
	}
	e, err := m.Load(ctx, m.Key("1").Prefix("PART#"))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{2, 1} {
		e.Value.Parts = []kit.Part{{N: n, Text: "new"}}
		if _, err = m.Save(ctx, e); !errors.Is(err, mapper.ErrNotFound) {
			t.Errorf("added with %v", err)
		}
	}
}

// An upsert meets the mark of the live entity's item; before it is sent again, the item is deleted:
// it is made.
func TestUpsertNotFound(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
	kit.Must(clean.Save(ctx, clean.New(kit.Account{ID: "1", Counter: 1, Entries: []kit.Part{{N: 1, Text: "a"}}}),
		mapper.Staged()))(t)
	tr := kit.AtRequest("PutItem", 2, func() { kit.Must(clean.DeleteByKey(ctx, clean.Key("1").Item("ENTRY#0001")))(t) })
	m := kit.NewAccounts(t, table, tr, 1)
	_, err := handmade.Elements[kit.Account,
		kit.Part]{Node: handmade.Node(m.Key("1")), Item: 3}.Put(kit.Part{N: 1, Text: "new"}).Exec(ctx,
		m)
	if err != nil {
		t.Errorf("an upsert: %v %v", err, tr.Log)
	}
}

// The same of an update with Upsert.
func TestUpsertUpdateNotFound(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := kit.Must(mapper.New[store.User](kit.Client(t, &kit.Faulty{At: -1}, 1), mapper.Table(table)))(t)
	kit.Must(clean.Save(ctx, clean.New(store.User{ID: "1", Email: "e", Home: store.Address{City: "Oslo"}}),
		mapper.Staged()))(t)
	tr := kit.AtRequest("UpdateItem", 2,
		func() { kit.Must(clean.DeleteByKey(ctx, clean.Key("1").Item("U#Address#Home")))(t) })
	m := kit.Must(mapper.New[store.User](kit.Client(t, tr, 1), mapper.Table(table)))(t)
	_, err := store.UserByID("1").Home().Patch(store.AddressFields.City.Set("Rome")).Exec(ctx, m)
	if err != nil {
		t.Errorf("an upsert: %v %v", err, tr.Log)
	}
}

// A patch without a condition meets the mark; before it is sent again the entity is inserted again.
func TestPatchOfAnother(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, how := range []string{"insert", "patch"} {
		table := testengine.Table(t, "PK:S", "SK:S")
		clean := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
		kit.Must(clean.Save(ctx, clean.New(kit.Account{ID: "1", Counter: 1, Left: "a"}), mapper.Staged()))(t)
		left := handmade.String("Left", "", func(v *kit.Account) *string { return &v.Left })
		tr := kit.AtRequest("UpdateItem", 2, func() {
			if how == "patch" {
				kit.Must(clean.DeleteByKey(ctx, clean.Key("1").Item("LEFT")))(t)
				kit.Must(handmade.EntityOf(clean.Key("1")).Patch(left.Set("B")).Exec(ctx, clean))(t)
				return
			}
			kit.Must(clean.DeleteByKey(ctx, clean.Key("1")))(t)
			kit.Must(clean.Save(ctx, clean.New(kit.Account{ID: "1", Counter: 2, Left: "b"})))(t)
		})
		m := kit.NewAccounts(t, table, tr, 1)
		_, err := handmade.EntityOf(m.Key("1")).Patch(left.Set("patched")).Exec(ctx, m)
		if err != nil {
			t.Errorf("%s: a patch without a condition, of an item that was there all the time: %v %v", how, err, tr.Log)
		}
	}
}

// A leftover item does not exist for a removal.
func TestRemovalOverALeftover(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	user := store.UserByID("1")
	for name, p := range map[string]*mapper.Patch[store.User]{
		"field": user.Patch(store.UserFields.Home.Remove()).And(), "item": user.Home().Delete(),
	} {
		table := testengine.Table(t, "PK:S", "SK:S")
		users := moveOut(t, table)
		kit.Must(users.Save(ctx, users.New(store.User{ID: "1", Email: "new"})))(t)
		if _, err := p.Exec(ctx, users); !errors.Is(err, mapper.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// CheckLoaded with something new checks a root without an incarnation as well, and plans what a
// large one costs.
func TestCheckLoadedForeignRoot(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
	kit.NewForeign(t, table).Put(kit.Item{"PK": kit.S("ACCOUNT#1"), "SK": kit.S("HEAD"), "Counter": kit.N("1")})
	e := kit.Must(clean.Load(ctx, clean.Key("1").Prefix("ENTRY#"), mapper.Strong()))(t)
	e.Value.Entries = append(e.Value.Entries, kit.Part{N: 2, Text: "new"})
	kit.Must(clean.Save(ctx, e, mapper.CheckLoaded()))(t)
	if got := kit.Stored(t, clean, "1"); len(got.Entries) != 1 {
		t.Errorf("%+v", got)
	}
	// and a root of some size
	kit.Must(clean.Save(ctx, clean.New(kit.Account{ID: "2", Counter: 2}), mapper.Staged()))(t)
	kit.NewForeign(t, table).Set("ACCOUNT#2", "HEAD", "blob", kit.S(strings.Repeat("x", 5000)))
	e = kit.Must(clean.Load(ctx, clean.Key("2").Prefix("ENTRY#"), mapper.Strong()))(t)
	e.Value.Entries = append(e.Value.Entries, kit.Part{N: 2, Text: "new"})
	plan := kit.Must(clean.PlanSave(e, mapper.CheckLoaded()))(t)
	r := kit.Must(clean.Save(ctx, e, mapper.CheckLoaded()))(t)
	if !plan.WCU.Contains(r.Consumed.WCU) || !r.Predicted().WCU.Contains(r.Consumed.WCU) ||
		!plan.RCU.Contains(r.Consumed.RCU) {
		t.Errorf("%v\n%v", plan, r)
	}
}

type heavy struct {
	_     struct{}   `ddb:"table=accounts"`
	ID    string     `ddb:"pk=ACCOUNT#{ID}"`
	Text  string     `ddb:"sk=HEAD"`
	Parts []kit.Part `ddb:"sk=ENTRY#{N:04}"`
}

// An insert of more than a transaction crashes, whose root has just the size that the claim takes.
// The mark of a staged delete does not fit it; one by one, as the error says, it can be deleted.
func TestIndependentDeleteOfALargeClaim(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	v := heavy{ID: "1"}
	for i := range 105 {
		v.Parts = append(v.Parts, kit.Part{N: i, Text: "x"})
	}
	// A canceled request can take a neighbour's connection with it, while its long answer is read.
	clean := kit.Must(mapper.New[heavy](kit.Client(t, &kit.Faulty{At: -1}, 5), mapper.Table(table)))(t)
	size := 0
	for n := 409_300; n < 409_600; n++ {
		v.Text = strings.Repeat("x", n)
		if _, err := clean.PlanSave(clean.New(v)); err != nil {
			break
		}
		size = n
	}
	v.Text = strings.Repeat("x", size)
	c := &kit.Crash{Left: 106}
	dying := kit.Must(mapper.New[heavy](kit.Client(t, c.Transport(), 1), mapper.Table(table)))(t)
	_, _ = dying.Save(ctx, dying.New(v))
	if _, err := clean.DeleteByKey(ctx, clean.Key("1")); err == nil ||
		!strings.Contains(err.Error(), "write with Independent") {
		t.Errorf("without Independent: %v", err)
	}
	kit.Must(clean.DeleteByKey(ctx, clean.Key("1"), mapper.Independent()))(t)
	if n := kit.ItemsOf(t, table, "1"); n > 0 {
		t.Errorf("%d items are left", n)
	}
}

type shelf struct {
	_      struct{}   `ddb:"table=shelf"`
	ID     string     `ddb:"pk=R#{ID}"`
	Region string     `ddb:"sk=HEAD"`
	Stock  []kit.Part `ddb:"sk=S#{^Region}#{N:02}"`
	Other  []kit.Part `ddb:"sk=O#{N:02}"`
}

// After a move, the items under the old key are read: the rest of the entity if its root stays, and
// items that match no template. The plan includes this read.
func TestMovePlan(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	large := strings.Repeat("x", 390_000)
	check := func(what string, plan *mapper.Plan, r *mapper.Receipt) {
		if !plan.RCU.Contains(r.Consumed.RCU) {
			t.Errorf("%s: planned %v in %d requests, consumed %v in %d", what, plan.RCU, plan.Requests, r.Consumed.RCU,
				r.Predicted().Requests)
		}
	}
	m := kit.NewMapper[shelf](t, "PK:S", "SK:S")
	for _, grows := range []bool{false, true} {
		v := shelf{ID: fmt.Sprint(grows), Region: "eu", Stock: []kit.Part{{N: 1, Text: "x"}}}
		for i := range 8 {
			v.Other = append(v.Other, kit.Part{N: i, Text: large})
			if grows {
				v.Other[i].Text = "x"
			}
		}
		kit.Must(m.Save(ctx, m.New(v)))(t)
		e := kit.Must(m.Load(ctx, m.Key(v.ID)))(t)
		e.Value.Region = "us"
		for i := range 8 {
			e.Value.Other[i].Text = large
		}
		plan := kit.Must(m.PlanSave(e, mapper.Move()))(t)
		check("the root stays", plan, kit.Must(m.Save(ctx, e, mapper.Move()))(t))
	}
	table := testengine.Table(t, "PK:S", "SK:S")
	accounts := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 3) // an engine may drop an answer of 1 MB
	kit.Must(accounts.Save(ctx, accounts.New(kit.Account{ID: "1", Counter: 1})))(t)
	for i := range 8 {
		kit.NewForeign(t, table).Put(kit.Item{
			"PK": kit.S("ACCOUNT#1"), "SK": kit.S(fmt.Sprint("ZZ", i)),
			"x": kit.S(large),
		})
	}
	e := kit.Must(accounts.Load(ctx, accounts.Key("1")))(t)
	e.Value.ID = "2"
	plan := kit.Must(accounts.PlanSave(e, mapper.Move()))(t)
	check("unknown items stay", plan, kit.Must(accounts.Save(ctx, e, mapper.Move()))(t))
}

// A leftover element of a staged insert does not exist, so it cannot be removed, and an add replaces
// it.
func TestRemovalOfALeftElement(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	c := &kit.Crash{Left: 2} // the claim, and one part
	dying := kit.Must(mapper.New[registry.Package](kit.Client(t, c.Transport(), 1), mapper.Table(table)))(t)
	_, _ = dying.Save(ctx, dying.New(registry.Package{Name: "1", Tags: map[string]string{"a": "x"}}), mapper.Staged())
	m := kit.Must(mapper.New[registry.Package](kit.Client(t, &kit.Faulty{At: -1}, 1), mapper.Table(table)))(t)
	kit.Must(m.Save(ctx, m.New(registry.Package{Name: "1"})))(t)
	for _, tag := range []string{"a", "b"} {
		tags := registry.PackageByName("1").Tags()
		if _, err := tags.Key(tag).Delete().Exec(ctx, m); !errors.Is(err, mapper.ErrNotFound) {
			t.Errorf("%s: %v", tag, err)
		}
		kit.Must(tags.Add(tag, "y").Exec(ctx, m))(t)
	}
	if e := kit.Must(m.Load(ctx, registry.PackageByName("1")))(t); len(e.Value.Tags) != 2 {
		t.Errorf("%v", e.Value.Tags)
	}
}
