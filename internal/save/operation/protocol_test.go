package operation_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/itemize/itemize/examples/wishlist/store"
	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/testing/handmade"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/models"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

// Faults of the write protocols that an attack found, the worst first. Each test describes the schedule
// in which the library broke a promise, and names the promise.

// atEach is a transport that calls do before each request of an operation.
func atEach(op string, do func()) *kit.Faulty {
	return &kit.Faulty{At: -1, Late: func(r *http.Request) bool {
		if kit.OperationOf(r) == op {
			do()
		}
		return false
	}}
}

// With one actor, an entity is moved by a key field beyond its identity, so that its root stays under
// its key and its elements move. The elements were put with a new incarnation while the root kept the
// old one, so they were hidden from then on. This broke the rule that Move moves an entity, and that
// new items get the incarnation of their entity.
func TestMoveByKeyFieldKeepsIncarnation(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := kit.NewMapper[kit.Regional](t, "PK:S", "SK:S")
	e := m.New(kit.Regional{ID: "1", Region: "eu", Notes: "n", Stock: []kit.Stock{{SKU: "a", N: 1}, {SKU: "b", N: 2}}})
	kit.Must(m.Save(ctx, e))(t)
	e.Value.Region = "us"
	kit.Must(m.Save(ctx, e, mapper.Move()))(t)
	got := kit.Must(m.Load(ctx, m.Key("1")))(t)
	if len(got.Value.Stock) != 2 {
		t.Errorf("the elements are gone: %+v", got.Value)
	}
}

// A crashed staged insert has left Home. A patches Home.City with Upsert: it finds the leftover, and turns
// its update into a put. Before that is sent, B saves the whole of Home over the leftover. A's put is refused,
// A finds the live entity's item there, and sends the put again, now on condition of the incarnation only: it
// replaces B's item. Breaks "Lost answers": B's acknowledged street is lost to a patch of the city.
func TestUpsertNeverReplacesNewerItem(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	users := moveOut(t, table)
	kit.Must(users.Save(ctx,
		users.New(store.User{ID: "1", Email: "new"})))(t) // over the claim, while its part is stored
	home := store.Address{Street: "S", City: "Oslo", Country: "N"}
	patcher := kit.Must(mapper.New[store.User](kit.Client(t, kit.AtRequest("PutItem", 1, func() {
		e := kit.Must(users.Load(ctx, store.UserByID("1")))(t)
		e.Value.Home = home
		kit.Must(users.Save(ctx, e))(t)
	}), 1), mapper.Table(table)))(t)
	_, err := store.UserByID("1").Home().Patch(store.AddressFields.City.Set("Rome")).Exec(ctx, patcher)
	home.City = "Rome"
	if got := kit.Must(users.Load(ctx, store.UserByID("1")))(t); got.Value.Home != home {
		t.Errorf("the patch of the city (%v) has taken the street away: %+v", err, got.Value.Home)
	}
}

// The same of two patches of different fields, over one leftover: both are acknowledged, one is lost. An
// increment would be lost the same way.
func TestUpsertsOverOneLeftoverAreBothKept(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	users := moveOut(t, table)
	kit.Must(users.Save(ctx,
		users.New(store.User{ID: "1", Email: "new"})))(t) // over the claim, while its part is stored
	a := kit.Must(mapper.New[store.User](kit.Client(t, kit.AtRequest("PutItem", 1, func() {
		kit.Must(store.UserByID("1").Home().Patch(store.AddressFields.Street.Set("S")).Exec(ctx, users))(t)
	}), 1), mapper.Table(table)))(t)
	kit.Must(store.UserByID("1").Home().Patch(store.AddressFields.City.Set("Rome")).Exec(ctx, a))(t)
	want := store.Address{Street: "S", City: "Rome"}
	if got := kit.Must(users.Load(ctx, store.UserByID("1")))(t); got.Value.Home != want {
		t.Errorf("both patches were acknowledged: %+v", got.Value.Home)
	}
}

// A deletes a single item by its key, which another program has written, without a version. The first
// request is lost. A finds the item, reads the root, and sent the delete again without a condition (a
// zero Expect). In between another writer deletes the item, and B puts it as a part of a staged insert.
// A's delete deleted the part, and B went live without it. This broke "the parts are those of one live
// incarnation", and the rule that an unread delete never deletes an item of a staged insert.
func TestUnreadDeleteIsRetriedWithCondition(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
	r := kit.NewForeign(t, table)
	r.Put(kit.Item{"PK": kit.S("ACCOUNT#1"), "SK": kit.S("LEFT"), "Left": kit.S("foreign")})
	v := kit.Account{ID: "1", Counter: 1, Left: "a", Right: "a"}
	gate, goOn, done := make(chan bool), make(chan bool), make(chan error, 1)
	inserter := kit.NewAccounts(t, table, kit.AtRequest("UpdateItem", 1, func() { gate <- true; <-goOn }), 1)
	seen := 0
	deleter := kit.NewAccounts(t, table, &kit.Faulty{At: -1, Late: func(r *http.Request) bool {
		if kit.OperationOf(r) != "DeleteItem" {
			return false
		}
		seen++
		if seen == 2 {
			kit.Must(clean.DeleteByKey(ctx, clean.Key("1").Item("LEFT")))(t) // another writer deletes it
			go func() {
				_, err := inserter.Save(ctx, inserter.New(v), mapper.Staged())
				done <- err
			}()
			<-gate // all of its parts are put
		}
		return seen == 1 // lost
	}}, 1)
	_, err := deleter.DeleteByKey(ctx, deleter.Key("1").Item("LEFT"))
	if err != nil {
		t.Log("the delete:", err)
	}
	close(goOn)
	if err := <-done; err != nil {
		t.Fatal("insert:", err)
	}
	if got := kit.Stored(t, clean, "1"); !kit.Same(got, &v) {
		t.Errorf("torn: %+v", got)
	}
}

// A has loaded a part of an expired entity that is not yet removed. B adds an element under the key of
// one of its parts, with a patch: the part counts as dead, since the root has expired, and is replaced.
// A saves a later expiry, on condition of the root's version only, and was acknowledged. The entity
// existed again with B's element, and A's part was lost. This broke "is dead if a strong GetItem of the
// root [...] shows another `_a`, or no root": this root shows the same `_a`.
func TestExpiredRootIsNotRevived(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := kit.NewMapper[kit.Lease](t, "PK:S", "SK:S")
	kit.Must(m.Save(ctx, m.New(kit.Lease{
		ID: "1", Until: time.Now().Add(2 * time.Second),
		Parts: []kit.Part{{N: 1, Text: "mine"}},
	})))(t)
	a := kit.Must(m.Load(ctx, m.Key("1")))(t)
	door.Mapper.Model(m).Now = func() time.Time { return time.Now().Add(3 * time.Second) }
	_, added := handmade.Elements[kit.Lease, kit.Part]{
		Node: handmade.Node(m.Key("1")),
		Item: 2,
	}.Add(kit.Part{N: 1, Text: "theirs"}).Exec(ctx, m)
	a.Value.Until = time.Now().Add(time.Hour)
	_, saved := m.Save(ctx, a)
	got, err := m.Load(ctx, m.Key("1"))
	if err == nil && saved == nil && !slices.Equal(got.Value.Parts, a.Value.Parts) {
		t.Errorf("add: %v, save: %v, and there is %+v", added, saved, got.Value)
	}
}

// One actor alone: the root was written by another program, without `_a`, and a part of an entity that is
// nothing else is in the way of an element. Load does not show the part (it is hidden), Save ends in a conflict
// with "someone else" for ever, and Update tries a hundred times. Breaks "An item of another incarnation in
// one's way is dead if a strong GetItem of the root [...] shows another `_a`"; stuck for a single actor.
func TestForeignRootWithLeftoverItemCanBeSaved(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	m := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
	kit.Must(m.Save(ctx, m.New(kit.Account{ID: "1", Counter: 1})))(t)
	late := kit.Must(m.Load(ctx, m.Key("1")))(t)
	kit.Must(m.DeleteByKey(ctx, m.Key("1")))(t)
	late.Value.Entries = []kit.Part{{N: 1, Text: "dead"}}
	kit.Must(m.Save(ctx, late,
		mapper.Blind()))(t) // left over
	kit.NewForeign(t, table).Put(kit.Item{
		"PK": kit.S("ACCOUNT#1"), "SK": kit.S("HEAD"),
		"Counter": kit.N("5"),
	}) // by another program
	e := kit.Must(m.Load(ctx, m.Key("1"), mapper.Strong()))(t)
	if len(e.Value.Entries) > 0 {
		t.Fatal("joined")
	}
	e.Value.Entries = []kit.Part{{N: 1, Text: "live"}}
	if _, err := m.Save(ctx, e); err != nil {
		t.Errorf("there is nobody else: %v", err)
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if _, err := m.Update(ctx, m.Key("1"),
		func(a *kit.Account) error { a.Entries = []kit.Part{{N: 1, Text: "live"}}; return nil }); err != nil {
		t.Errorf("there is nobody else: %v", err)
	}
}

// With one actor, another program has put an item under the entity's key, with another value of a key
// field beyond the identity: Load counts it as unknown. A staged delete of the loaded entity ended in a
// conflict each time, because it took the item for a created one. A staged delete by key deleted the
// item, and a plain one did not. This broke "an item that matches none is counted, kept out of the
// value, and never touched".
func TestStagedDeleteLeavesUnknownItems(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	m := kit.Must(mapper.New[kit.Regional](testengine.Start(t).Client(), mapper.Table(table)))(t)
	r := kit.NewForeign(t, table)
	r.Put(kit.Item{"PK": kit.S("R#1"), "SK": kit.S("STOCK#us#z"), "N": kit.N("1")})
	kit.Must(m.Save(ctx, m.New(kit.Regional{ID: "1", Region: "eu", Stock: []kit.Stock{{SKU: "a", N: 1}}})))(t)
	e := kit.Must(m.Load(ctx, m.Key("1")))(t)
	if e.Unknown() != 1 {
		t.Fatalf("%d unknown items, and %+v", e.Unknown(), e.Value)
	}
	if _, err := m.Delete(ctx, e, mapper.Staged()); err != nil {
		t.Errorf("there is nobody else: %v", err)
		kit.Must(m.DeleteByKey(ctx, m.Key("1"), mapper.Staged()))(t)
	}
	if r.Get("R#1", "STOCK#us#z") == nil {
		t.Error("the staged delete has removed an item that the load counts as unknown")
	}
}

// With one actor, another program has put an item with many attributes and without a version under the
// entity's key. A staged delete marked the root, and then could not send the item's delete: the
// condition on all of its values is larger than DynamoDB accepts. From then on the entity was not
// found, each further delete by key failed, and an insert advised to delete by key. (A plain delete by
// key failed too, before it wrote anything.) The entity was stuck.
func TestDeleteOfManyAttributesWithoutVersion(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	m := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
	kit.Must(m.Save(ctx, m.New(kit.Account{ID: "1", Counter: 1, Entries: []kit.Part{{N: 1, Text: "x"}}})))(t)
	it := kit.Item{"PK": kit.S("ACCOUNT#1"), "SK": kit.S("LEFT"), "Left": kit.S("x")}
	for i := range 350 {
		it[fmt.Sprint("a", i)] = kit.N("1")
	}
	kit.NewForeign(t, table).Put(it)
	if _, err := m.DeleteByKey(ctx, m.Key("1")); err != nil {
		t.Errorf("a plain delete: %v", err)
	}
	for range 2 {
		if _, err := m.DeleteByKey(ctx, m.Key("1"), mapper.Staged()); err != nil &&
			!errors.Is(err, mapper.ErrNotFound) {
			t.Errorf("a staged delete: %v", err)
		}
	}
	if _, err := m.Save(ctx, m.New(kit.Account{ID: "1", Counter: 2, Left: "y"})); err != nil {
		t.Errorf("an insert over it: %v", err)
	}
}

// A query for elements reads an entity that has just gone live: it reads the root, and then everything
// again. In the meantime B's staged delete has marked the root and deleted some of the parts. The query
// did not read the root after its second read, and yielded the rest of the parts. (A load of the same
// parts yields none.) This broke the rule that a read without the root reads the root if it finds
// staged or mixed items, then everything again, and the root at its end.
func TestQueryChecksRootAfterSecondReading(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
	v := kit.Six("1", "x")
	kit.Must(clean.Save(ctx, clean.New(v), mapper.Staged()))(t)
	reader := kit.NewAccounts(t, table, kit.AtRequest("Query", 2, func() {
		c := &kit.Crash{Left: 9} // all up to some of the deletes
		dying := kit.NewAccounts(t, table, c.Transport(), 1)
		_, _ = dying.DeleteByKey(ctx, dying.Key("1"), mapper.Staged())
	}), 1)
	got, err := query.Of[kit.Part](reader.Key("1").Prefix("ENTRY#")).Collect(ctx, reader, mapper.Strong())
	if err == nil && len(got) != 6 && len(got) != 0 || err != nil && !strings.Contains(err.Error(), "query again") {
		t.Errorf("part of the entity: %v, %v", got, err)
	}
}

// A query for entities of a flat model. A page ends with the root of an entity, as its first item.
// Before the next page is read, B's staged delete deletes the entity. Only the root was found, in one
// answer, so the entity counted as read in one page although the read continued, and the root was
// yielded without its parts. This broke "A load whose range took more than one page [...] reads the
// root strongly after its last answer".
func TestEntityAcrossPagesIsWholeOrMissing(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := kit.Must(mapper.New[models.Order](kit.Client(t, &kit.Faulty{At: -1}, 1), mapper.Table(table)))(t)
	kit.Must(clean.Save(ctx,
		clean.New(models.Order{
			Customer: "1", N: 1, Status: "a",
			Lines: []models.Line{{Line: 1, SKU: "x"}, {Line: 2, SKU: "y"}},
		})))(t)
	m := kit.Must(mapper.New[models.Order](kit.Client(t, kit.SmallPages(1, 2, func() {
		kit.Must(clean.DeleteByKey(ctx, clean.Key("1", 1), mapper.Staged()))(t)
	}), 1), mapper.Table(table)))(t)
	for _, o := range kit.Must(query.Of[models.Order](m.Key("1")).Collect(ctx, m, mapper.Strong()))(t) {
		if len(o.Lines) != 2 {
			t.Errorf("part of the entity: %+v", o)
		}
	}
}

// With one actor, an Independent insert (or save) meets more than nine leftover items. Each needed a
// plan of its own, and the maximum is ten plans. The error was "the items kept changing" although there
// is no other writer. The items that were already written stayed, and the error was no PartialError.
func TestIndependentSaveReplacesManyLeftoverItems(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	table := testengine.Table(t, "PK:S", "SK:S")
	v := kit.Account{ID: "1", Counter: 1}
	for i := range 15 {
		v.Entries = append(v.Entries, kit.Part{N: i + 1, Text: "x"})
	}
	c := &kit.Crash{Left: 16} // before it goes live
	d := kit.NewAccounts(t, table, c.Transport(), 1)
	if _, err := d.Save(ctx, d.New(v), mapper.Staged()); err == nil {
		t.Fatal("it did not crash")
	}
	m := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
	if _, err := m.Save(ctx, m.New(v), mapper.Independent()); err != nil {
		t.Errorf("there is nobody else: %v", err)
	}
}

// One actor alone, whose client does not pass options on (DAX): after a staged insert no patch of an item of
// it ever succeeds. The refusal for the staged mark counts as unsure, and the patch ends with
// OutcomeUnknownError before it looks whose the item is. Stuck for a single actor, until a save drops the mark.
func TestPatchAfterStagedInsertByUnwatchedClient(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	users := kit.Must(mapper.New[store.User](kit.Unwatched{C: testengine.Start(t).Client()}, mapper.Table(table)))(t)
	kit.Must(users.Save(ctx, users.New(store.User{ID: "1", Email: "new", Home: store.Address{City: "Oslo"}}),
		mapper.Staged()))(t)
	for range 2 {
		if _, err := store.UserByID("1").Home().Patch(store.AddressFields.City.Set("Rome")).Exec(ctx,
			users); err != nil {
			t.Errorf("nobody else is there: %v", err)
		}
	}
}

// Two upserts over one leftover item of a deleted entity, without a root. The second meets the item of
// the first, which has no `_a`, and ended in a conflict with a condition that the caller did not give.
func TestConcurrentUpsertsOverLeftover(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	users := moveOut(t, table)
	e := users.New(store.User{ID: "1", Email: "new"})
	kit.Must(users.Save(ctx, e))(t)
	kit.Must(users.Delete(ctx, e))(t)
	a := kit.Must(mapper.New[store.User](kit.Client(t, kit.AtRequest("PutItem", 1, func() {
		kit.Must(store.UserByID("1").Home().Patch(store.AddressFields.Street.Set("S")).Exec(ctx, users,
			mapper.Blind()))(t)
	}), 1), mapper.Table(table)))(t)
	if _, err := store.UserByID("1").Home().Patch(store.AddressFields.City.Set("Rome")).Exec(ctx, a,
		mapper.Blind()); err != nil {
		t.Errorf("a patch without a condition: %v", err)
	}
}

// A delete of a single item by its key "is deleted whatever it holds" (Mapper.Delete). If the item has
// the staged mark, A reads the root and deletes the item on its version. B saves the item in between,
// and A got a conflict instead of a new plan.
func TestUnreadDeleteRetriesAfterConcurrentSave(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
	kit.Must(clean.Save(ctx, clean.New(kit.Account{ID: "1", Counter: 1, Left: "a"}), mapper.Staged()))(t)
	m := kit.NewAccounts(t, table, kit.AtRequest("DeleteItem", 2, func() {
		e := kit.Must(clean.Load(ctx, clean.Key("1")))(t)
		e.Value.Left = "b"
		kit.Must(clean.Save(ctx, e))(t)
	}), 1)
	if _, err := m.DeleteByKey(ctx, m.Key("1").Item("LEFT")); err != nil {
		t.Errorf("a single item is deleted whatever it holds: %v", err)
	}
}

// With one actor, an entity has expired and DynamoDB has not deleted it yet. A Delete by key was
// ErrNotFound and left its parts, which do not expire. This broke the rules that expired items do not
// exist, and that a Delete by key deletes leftover items.
func TestDeleteRemovesPartsOfExpiredEntity(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	m := kit.Must(mapper.New[kit.Lease](kit.Client(t, &kit.Faulty{At: -1}, 1), mapper.Table(table)))(t)
	kit.Must(m.Save(ctx, m.New(kit.Lease{
		ID: "1", Until: time.Now().Add(-time.Minute),
		Parts: []kit.Part{{N: 1, Text: "mine"}},
	})))(t)
	for _, o := range [][]mapper.WriteOption{nil, {mapper.Staged()}} {
		_, err := m.DeleteByKey(ctx, m.Key("1"), o...)
		if kit.NewForeign(t, table).Get("E#1", "PART#01") != nil {
			t.Errorf("the part cannot be deleted: %v", err)
		}
	}
}

// A staged delete ended part-way (a request was denied). Its caller deletes the same entity again,
// without Staged, and got a conflict, "deleted by someone else", with its own delete. With Staged, or
// by key, it worked.
func TestDeleteContinuesStagedDelete(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	tr := &kit.Faulty{At: -1, Fault: kit.Deny}
	tr.Pick = func() kit.Fault {
		if tr.Count-1 == tr.At {
			return kit.Deny
		}
		return kit.None
	}
	m := kit.NewAccounts(t, testengine.Table(t, "PK:S", "SK:S"), tr, 1)
	e := m.New(kit.Account{ID: "1", Counter: 1, Left: "a"})
	kit.Must(m.Save(ctx, e))(t)
	tr.Count, tr.At = 0, 5 // the root's delete
	var partial *mapper.PartialError
	if _, err := m.Delete(ctx, e, mapper.Staged()); !errors.As(err, &partial) {
		t.Fatalf("it was not denied: %v after %v", err, tr.Log)
	}
	tr.At = -1
	if _, err := m.Delete(ctx, e); err != nil {
		t.Errorf("again: %v", err)
	}
}

// A deletes leftover items by key, with Staged. Before its mark, B inserts the entity. A's delete ended
// with ErrExists: "exists already: load it and save the change, or delete it first".
func TestDeleteNeverReturnsErrExists(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
	kit.NewForeign(t, table).Put(kit.Item{"PK": kit.S("ACCOUNT#1"), "SK": kit.S("RIGHT"), "Right": kit.S("x")})
	m := kit.NewAccounts(t, table, kit.AtRequest("PutItem", 1, func() {
		kit.Must(clean.Save(ctx, clean.New(kit.Account{ID: "1", Counter: 1})))(t)
	}), 1)
	_, err := m.DeleteByKey(ctx, m.Key("1"), mapper.Staged())
	if errors.Is(err, mapper.ErrExists) {
		t.Errorf("a delete: %v", err)
	}
}

// A patch with Upsert and a condition meets a leftover item of a deleted entity. The condition is kept
// when the item is deleted.
func TestConditionOfUpsertHoldsOverLeftover(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	users := moveOut(t, table)
	kit.Must(users.Save(ctx, users.New(store.User{ID: "1", Email: "new"})))(t)
	f := store.AddressFields
	patch := store.UserByID("1").Home().Patch(f.City.Set("Rome")).If(f.City.Equal("Bergen"))
	var conflict *mapper.ConflictError
	if _, err := patch.Exec(ctx, users); !errors.As(err, &conflict) {
		t.Errorf("the condition was dropped: %v", err)
	}
}
