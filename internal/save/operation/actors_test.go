package operation_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/itemize/itemize/examples/wishlist/store"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

// The actions of a second actor, or a late request of the first, between two requests. Each case was
// once a fault; package explore looks for more.

// losing is a transport that keeps the first requests of one kind, to be delivered late.
type losing struct {
	kit.Crash
	operation string
	lose      int
	// before, if set, is called before each request that is sent.
	before func(operation string)
}

func (l *losing) transport() *kit.Faulty {
	return &kit.Faulty{At: -1, Late: func(r *http.Request) bool {
		l.Mu.Lock()
		defer l.Mu.Unlock()
		if l.lose == 0 || kit.OperationOf(r) != l.operation {
			if l.before != nil {
				l.before(kit.OperationOf(r))
			}
			return false
		}
		l.lose--
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		l.Late, l.Bodys = append(l.Late, r.Clone(context.Background())), append(l.Bodys, body)
		return true
	}}
}

// A transaction whose first copy was lost, and whose second was refused, may still be applied:
// it is not known, whatever the refusal says.
func TestRefusedTransactionMayArriveLate(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
	there := clean.New(kit.Account{ID: "1", Counter: 1, Left: "a"})
	kit.Must(clean.Save(ctx, there))(t)
	l := &losing{operation: "TransactWriteItems", lose: 1}
	m := kit.NewAccounts(t, table, l.transport(), 2)
	late := kit.Account{ID: "1", Counter: 2, Left: "b"}
	_, err := m.Save(ctx, m.New(late))
	var unknown *mapper.OutcomeUnknownError
	if !errors.As(err, &unknown) || errors.Is(err, mapper.ErrExists) {
		t.Errorf("the first copy is on its way, and the error is %v", err)
	}
	kit.Must(clean.Delete(ctx, there))(t)
	l.Deliver(t)
	if got := kit.Stored(t, clean, "1"); !kit.Same(got, &late) {
		t.Fatalf("the first copy did not arrive: %+v", got)
	}
}

// An unresolved write is fenced off by a new version of its item. CheckLoaded does not also check that
// item, since DynamoDB refuses two requests for one item.
func TestFenceWithCheckLoaded(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	l := &losing{operation: "UpdateItem"}
	m := kit.NewAccounts(t, table, l.transport(), 1)
	e := m.New(kit.Account{ID: "1", Counter: 1, Left: "a", Right: "a"})
	kit.Must(m.Save(ctx, e))(t)
	l.lose = 100
	e.Value.Left = "b"
	var unknown *mapper.OutcomeUnknownError
	if _, err := m.Save(ctx, e); !errors.As(err, &unknown) {
		t.Fatalf("every request was lost, and the error is %v", err)
	}
	l.lose = 0
	e.Value.Left, e.Value.Counter = "a", 2
	kit.Must(m.Save(ctx, e, mapper.CheckLoaded()))(t)
	l.Deliver(t)
	if got := kit.Stored(t, m, "1"); !kit.Same(got, &e.Value) {
		t.Errorf("stored %+v", got)
	}
}

// A staged delete that ended part-way is finished by the same call, whatever became of the
// request at which it ended.
func TestDeleteIsRepeated(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	for _, f := range []kit.Fault{kit.DropRequest, kit.DropAnswer, kit.Deny} {
		for at := 0; ; at++ {
			tr := &kit.Faulty{At: -1, Fault: f}
			m := kit.NewAccounts(t, table, tr, 1)
			e := m.New(kit.Account{
				ID: "1", Counter: 1, Left: "a",
				Entries: []kit.Part{{N: 1, Text: "x"}, {N: 2, Text: "y"}},
			})
			kit.Must(m.Save(ctx, e))(t)
			tr.Count, tr.At = 0, at
			// A lost answer is found out about, so that more than one has to be lost.
			first := tr.Fault
			tr.Pick = func() kit.Fault {
				if tr.Count-1 >= at && tr.Count-1 < at+6 && at >= 0 {
					return first
				}
				return kit.None
			}
			_, err := m.Delete(ctx, e, mapper.Staged())
			requests := tr.Count
			tr.Pick, tr.At = nil, -1
			if err != nil {
				if _, err := m.Delete(ctx, e, mapper.Staged()); err != nil && !errors.Is(err, mapper.ErrNotFound) {
					t.Errorf("fault %d at request %d: again: %v", f, at, err)
				}
			}
			if n := kit.ItemsOf(t, table, "1"); n != 0 {
				t.Fatalf("fault %d at request %d: %d items are left", f, at, n)
			}
			if at > requests {
				break
			}
		}
	}
}

// The root goes live late, while the insert is made again: it is the same entity.
func TestGoingLiveLate(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	l := &losing{operation: "UpdateItem"}
	m := kit.NewAccounts(t, table, l.transport(), 1)
	e := m.New(kit.Account{ID: "1", Counter: 1, Left: "a", Entries: []kit.Part{{N: 1, Text: "x"}}})
	l.lose = 100
	var unknown *mapper.OutcomeUnknownError
	if _, err := m.Save(ctx, e, mapper.Staged()); !errors.As(err, &unknown) {
		t.Fatalf("going live was not answered, and the error is %v", err)
	}
	l.lose = 0
	l.before = func(operation string) {
		if operation == "PutItem" || operation == "TransactWriteItems" {
			l.before = nil
			l.Deliver(t) // after the save has looked, and before it writes
		}
	}
	if _, err := m.Save(ctx, e, mapper.Staged()); err != nil {
		t.Errorf("the insert's own going live is in its way: %v", err)
	}
	if got := kit.Stored(t, m, "1"); !kit.Same(got, &e.Value) {
		t.Errorf("stored %+v", got)
	}
}

// An own delete that arrives late, after its caller has found the entity again, is no conflict with
// another writer.
func TestOwnDeleteArrivesLate(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	for name, c := range map[string]struct {
		operation string
		options   []mapper.WriteOption
		value     kit.Account
	}{
		"one item":       {"DeleteItem", nil, kit.Account{ID: "1"}},
		"a transaction":  {"TransactWriteItems", nil, kit.Account{ID: "2", Left: "a"}},
		"one by one":     {"DeleteItem", []mapper.WriteOption{mapper.Independent()}, kit.Account{ID: "3", Left: "a"}},
		"a staged write": {"DeleteItem", []mapper.WriteOption{mapper.Staged()}, kit.Account{ID: "4", Left: "a"}},
	} {
		l := &losing{operation: c.operation}
		m := kit.NewAccounts(t, table, l.transport(), 1)
		e := m.New(c.value)
		kit.Must(m.Save(ctx, e))(t)
		l.lose = 100
		if _, err := m.Delete(ctx, e, c.options...); err == nil {
			t.Fatalf("%s: every request was lost", name)
		}
		l.lose = 0
		l.before = func(operation string) {
			if operation == c.operation {
				l.before = nil
				l.Deliver(t)
			}
		}
		if _, err := m.Delete(ctx, e, c.options...); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if n := kit.ItemsOf(t, table, c.value.ID); n != 0 {
			t.Errorf("%s: %d items are left", name, n)
		}
	}
}

// A query that meets an insert while it goes live, after it has met an item that anybody may
// have added, yields all of it or nothing.
func TestQueryWhileAnInsertGoesLive(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	kit.NewForeign(t, table).Put(kit.Item{
		"PK": kit.S("ACCOUNT#1"), "SK": kit.S("ENTRY#0000"),
		"Text": kit.S("anybody's"),
	})
	gate, goOn, done := make(chan bool), make(chan bool), make(chan error)
	var puts atomic.Int32
	writer := kit.NewAccounts(t, table, &kit.Faulty{At: -1, Late: func(r *http.Request) bool {
		if kit.OperationOf(r) == "PutItem" {
			if puts.Add(1) == 3 { // the root and one entry are stored
				gate <- true
				<-goOn
			}
		}
		return false
	}}, 1)
	v := kit.Account{ID: "1", Counter: 1}
	for i := range 2 {
		v.Entries = append(v.Entries, kit.Part{N: i + 1, Text: "x"})
	}
	go func() {
		_, err := writer.Save(ctx, writer.New(v), mapper.Staged())
		done <- err
	}()
	<-gate
	opened := false
	reader := kit.NewAccounts(t, table, &kit.Faulty{At: -1, Late: func(r *http.Request) bool {
		if kit.OperationOf(r) == "GetItem" && !opened { // of the root
			opened = true
			close(goOn)
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		return false
	}}, 1)
	all := kit.Must(query.Of[kit.Part](reader.Key("1").Prefix("ENTRY#")).Collect(ctx, reader, mapper.Strong()))(t)
	if len(all) != 1 && len(all) != 3 {
		t.Errorf("a part of the insert: %v", all)
	}
}

// moveOut makes a staged insert of the user 1 crash behind its claim and its part Home, and
// returns a mapper of the table, whose client works.
func moveOut(t *testing.T, table string) *mapper.Mapper[store.User] {
	t.Helper()
	c := &kit.Crash{Left: 2}
	dying := kit.Must(mapper.New[store.User](kit.Client(t, c.Transport(), 1), mapper.Table(table)))(t)
	u := store.User{ID: "1", Email: "e", Home: store.Address{City: "Oslo"}}
	if _, err := dying.Save(context.Background(), dying.New(u), mapper.Staged()); err == nil {
		t.Fatal("it did not crash")
	}
	return kit.Must(mapper.New[store.User](kit.Client(t, &kit.Faulty{At: -1}, 1), mapper.Table(table)))(t)
}

// A patch that creates an item replaces a leftover item of an insert, and leaves an item of another
// entity alone.
func TestUpsertOverALeftover(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	users := moveOut(t, table)
	patch := store.UserByID("1").Home().Patch(store.AddressFields.City.Set("Rome"))
	if _, err := patch.Exec(ctx, users); !errors.Is(err, mapper.ErrNotFound) ||
		!strings.Contains(err.Error(), "is not finished") {
		t.Errorf("over a claim's part: %v", err)
	}
	kit.Must(users.Save(ctx,
		users.New(store.User{ID: "1", Email: "new"})))(t) // over the claim, while its part is stored
	kit.Must(patch.Exec(ctx, users))(t)
	got := kit.Must(users.Load(ctx, store.UserByID("1")))(t)
	if d := cmp.Diff(store.User{ID: "1", Email: "new", Home: store.Address{City: "Rome"}}, got.Value); d != "" {
		t.Error(d)
	}
}

// A receipt names the items that another writer adds under an entity's old key during a move, and those
// that one writes after the comparison of a staged delete.
func TestReceiptsNameForeignWrites(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
	kit.Must(clean.Save(ctx, clean.New(kit.Account{ID: "1", Left: "a", Entries: []kit.Part{{N: 1, Text: "x"}}})))(t)
	loaded := kit.Must(clean.Load(ctx, clean.Key("1").Prefix("ENTRY#")))(t)
	loaded.Value.Entries = append(loaded.Value.Entries, kit.Part{N: 2, Text: "y"})
	mover := kit.NewAccounts(t, table,
		kit.AtRequest("TransactWriteItems", 1, func() { kit.Must(clean.Save(ctx, loaded))(t) }), 1)
	e := kit.Must(mover.Load(ctx, mover.Key("1")))(t)
	e.Value.ID = "2"
	r := kit.Must(mover.Save(ctx, e, mapper.Move()))(t)
	if len(r.LeftBehind) != 0 || len(r.Carried) != 1 || r.Carried[0].Sort != "ENTRY#0002" {
		t.Errorf("left behind: %v, carried: %v", r.LeftBehind, r.Carried)
	}

	deleter := kit.NewAccounts(t, table, kit.AtRequest("UpdateItem", 1, func() {
		late := kit.Must(clean.Load(ctx, clean.Key("2").Prefix("ENTRY#")))(t)
		late.Value.Entries[0].Text = "z"
		kit.Must(clean.Save(ctx, late))(t)
	}), 1)
	e = kit.Must(deleter.Load(ctx, deleter.Key("2")))(t)
	r = kit.Must(deleter.Delete(ctx, e, mapper.Staged()))(t)
	if len(r.AlsoDeleted) != 1 || r.AlsoDeleted[0].Sort != "ENTRY#0001" {
		t.Errorf("deleted as well: %v", r.AlsoDeleted)
	}
}

// The items of a save during a staged delete are deleted with the entity. CheckLoaded refuses the save
// if the root was loaded, or if an item is added.
func TestSaveDuringStagedDelete(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	for i, x := range []struct {
		part, adds, checked, refused bool
	}{
		{},
		{checked: true, refused: true},
		{part: true},
		{part: true, checked: true},
		{part: true, adds: true},
		{part: true, adds: true, checked: true, refused: true},
	} {
		id := fmt.Sprint(i)
		clean := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
		kit.Must(clean.Save(ctx, clean.New(kit.Account{ID: id, Counter: 1, Entries: []kit.Part{{N: 1, Text: "x"}}})))(t)
		var sel query.Selection[kit.Account] = clean.Key(id)
		if x.part {
			sel = clean.Key(id).Prefix("ENTRY#")
		}
		e := kit.Must(clean.Load(ctx, sel))(t)
		e.Value.Entries[0].Text = "y"
		if x.adds {
			e.Value.Entries[0] = kit.Part{N: 2, Text: "y"}
		}
		deleter := kit.NewAccounts(t, table, kit.AtRequest("DeleteItem", 1, func() {
			if kit.Stored(t, clean, id) != nil {
				t.Errorf("%+v: the entity is found, though its delete is under way", x)
			}
			var options []mapper.WriteOption
			if x.checked {
				options = append(options, mapper.CheckLoaded())
			}
			_, err := clean.Save(ctx, e, options...)
			var conflict *mapper.ConflictError
			switch {
			case x.refused && !errors.As(err, &conflict),
				!x.refused && x.adds && !errors.Is(err, mapper.ErrNotFound),
				!x.refused && !x.adds && err != nil:
				t.Errorf("%+v: %v", x, err)
			}
		}), 1)
		kit.Must(deleter.DeleteByKey(ctx, deleter.Key(id), mapper.Staged()))(t)
		if kit.Stored(t, clean, id) != nil {
			t.Errorf("%+v: it is there again", x)
		}
	}
}

// An item that is added to an entity after its staged delete has read it again is deleted by its own
// writer, who returns ErrNotFound. With Blind it stays, hidden: the next entity of the key does not
// have it.
func TestAdditionDuringStagedDelete(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
	for _, blind := range []bool{false, true} {
		kit.Must(clean.Save(ctx,
			clean.New(kit.Account{ID: "1", Counter: 1, Entries: []kit.Part{{N: 1, Text: "x"}}})))(t)
		e := kit.Must(clean.Load(ctx, clean.Key("1")))(t)
		e.Value.Entries = append(e.Value.Entries, kit.Part{N: 2, Text: "late"})
		deleter := kit.NewAccounts(t, table, kit.AtRequest("DeleteItem", 1, func() {
			if blind {
				kit.Must(clean.Save(ctx, e, mapper.Blind()))(t)
			} else if _, err := clean.Save(ctx, e); !errors.Is(err, mapper.ErrNotFound) {
				t.Errorf("it was added to an entity that is being deleted: %v", err)
			}
		}), 1)
		r := kit.Must(deleter.DeleteByKey(ctx, deleter.Key("1"), mapper.Staged()))(t)
		if n := kit.ItemsOf(t, table, "1"); len(r.AlsoDeleted) != 0 || blind != (n == 1) {
			t.Errorf("blind %v: %d items are left, and deleted as well: %v", blind, n, r.AlsoDeleted)
		}
	}
	kit.Must(clean.Save(ctx, clean.New(kit.Account{ID: "1", Counter: 2})))(t)
	if a := kit.Stored(t, clean, "1"); len(a.Entries) != 0 {
		t.Errorf("%+v", a)
	}
}

// A save that adds to an entity whose incarnation no loaded item carries reads the root item first, and
// again afterwards. It is planned so, to the byte, and returns ErrNotFound if there is no root item.
func TestSaveThatReadsTheRootFirst(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	m := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
	kit.Must(m.Save(ctx, m.New(kit.Account{ID: "1", Left: "a"})))(t)
	e := kit.Must(m.Load(ctx, m.Key("1").Prefix("ENTRY#")))(t)
	e.Value.Entries = []kit.Part{{N: 1, Text: strings.Repeat("x", 970)}} // in one KB only without the incarnation
	plan := kit.Must(m.PlanSave(e))(t)
	r := kit.Must(m.Save(ctx, e))(t)
	if plan.Requests != 3 || r.Predicted().Requests != 3 || plan.WCU != r.Predicted().WCU ||
		r.Consumed.WCU != r.Predicted().WCU.Expected || plan.Items[0].NewBytes != r.Predicted().Items[0].NewBytes ||
		!plan.RCU.Contains(r.Consumed.RCU) {
		t.Errorf("planned %v\n%v", plan, r)
	}
	if got := kit.Stored(t, m, "1"); len(got.Entries) != 1 {
		t.Errorf("stored %+v", got)
	}
	e = kit.Must(m.Load(ctx, m.Key("none").Prefix("ENTRY#")))(t)
	e.Value.Entries = []kit.Part{{N: 1, Text: "x"}}
	if r, err := m.Save(ctx, e); !errors.Is(err, mapper.ErrNotFound) || len(r.Predicted().Items) > 0 {
		t.Errorf("%v, %v", r, err)
	}
}

// A move to the key of an existing entity, from an entity that was deleted in the meantime, reports at
// once that the new key exists.
func TestMoveOntoAnother(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	m := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
	kit.Must(m.Save(ctx, m.New(kit.Account{ID: "1", Left: "a"})))(t)
	kit.Must(m.Save(ctx, m.New(kit.Account{ID: "2", Left: "a"})))(t)
	e := kit.Must(m.Load(ctx, m.Key("1")))(t)
	kit.Must(m.DeleteByKey(ctx, m.Key("1")))(t)
	e.Value.ID = "2"
	if r, err := m.Save(ctx, e, mapper.Move()); !errors.Is(err, mapper.ErrExists) || r.Predicted().Requests != 1 {
		t.Errorf("%v, %v", r, err)
	}
}
