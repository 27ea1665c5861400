package operation_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/testing/handmade"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
)

// The tests of this file, of guarantees_patches_test.go, and of foreign_values_test.go in package change are the
// sentences of docs/guarantees.md.

// entriesOf are the entries of account 1.
func entriesOf(m *mapper.Mapper[kit.Account]) handmade.Elements[kit.Account, kit.Part] {
	return handmade.Elements[kit.Account, kit.Part]{Node: handmade.Node(m.Key("1")), Item: 3}
}

// An element that a save adds was in the live entity before Save returned, or Save returns an error.
func TestSaveAddsOnlyToLiveEntity(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, between := range map[string]func(m *mapper.Mapper[kit.Account]){
		"deleted": func(m *mapper.Mapper[kit.Account]) { kit.Must(m.DeleteByKey(ctx, m.Key("1")))(t) },
		"deleted and inserted again": func(m *mapper.Mapper[kit.Account]) {
			kit.Must(m.DeleteByKey(ctx, m.Key("1")))(t)
			kit.Must(m.Save(ctx, m.New(kit.Account{ID: "1", Counter: 7})))(t)
		},
		"deleted in stages": func(m *mapper.Mapper[kit.Account]) {
			kit.Must(m.DeleteByKey(ctx, m.Key("1"), mapper.Staged()))(t)
		},
	} {
		for _, options := range [][]mapper.WriteOption{nil, {mapper.Independent()}} {
			table := testengine.Table(t, "PK:S", "SK:S")
			m := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
			kit.Must(m.Save(ctx, m.New(kit.Account{ID: "1", Counter: 1})))(t)
			e := kit.Must(m.Load(ctx, m.Key("1")))(t)
			between(m)
			left := kit.ItemsOf(t, table, "1")
			e.Value.Entries, e.Value.Left = []kit.Part{{N: 1, Text: "lost"}}, "lost"
			_, err := m.Save(ctx, e, options...)
			var missing *mapper.NotFoundError
			if !errors.As(err, &missing) {
				t.Errorf("%s: the save is acknowledged: %v", name, err)
			}
			if n := kit.ItemsOf(t, table, "1"); n != left {
				t.Errorf("%s: %d items are left over, %d before the save", name, n, left)
			}
			if e.Value.Entries = nil; e.Value.Left == "lost" { // the entity knows that they are not stored
				e.Value.Left = ""
				if plan := kit.Must(m.PlanSave(e))(t); plan.Mode != "nothing" {
					t.Errorf("%s: %v", name, plan)
				}
			}
		}
	}
}

// If the root item cannot be read after the put, or the put has no answer, the outcome is unknown. The next save finds
// out. It fails if the entity was deleted in the meantime, and no item is left over.
func TestUnconfirmedAdditionIsUnknown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault   func(operation string) kit.Fault
		deletes func(w *writers[kit.Account])
	}{
		"the root item cannot be read": {
			func(operation string) kit.Fault {
				if operation == "GetItem" {
					return kit.Deny
				}
				return kit.None
			},
			func(w *writers[kit.Account]) { kit.Must(w.other.DeleteByKey(w.ctx, w.other.Key("1")))(w) },
		},
		"the put has no answer, and nothing can be read": {
			func(operation string) kit.Fault {
				if operation == "PutItem" {
					return kit.DropAnswer
				}
				return kit.Deny
			},
			func(w *writers[kit.Account]) { deleteRoot(w, w.table) },
		},
	} {
		for _, deleted := range []bool{false, true} {
			w := newWriters[kit.Account](t, 1)
			w.insert(kit.Account{ID: "1", Counter: 1})
			e := kit.Must(w.own.Load(w.ctx, w.own.Key("1")))(t)
			e.Value.Entries = []kit.Part{{N: 1, Text: "x"}}
			w.network.Pick = func() kit.Fault { return c.fault(w.network.Log[len(w.network.Log)-1]) }
			var unknown *mapper.OutcomeUnknownError
			if _, err := w.own.Save(w.ctx, e); !errors.As(err, &unknown) || sorts(unknown.Items) != "ENTRY#0001" {
				t.Errorf("%s: %v", name, err)
			}
			if w.network.Pick = nil; deleted {
				c.deletes(w)
			}
			_, err := w.own.Save(w.ctx, e)
			if deleted != errors.Is(err, mapper.ErrNotFound) || !deleted && err != nil {
				t.Errorf("%s, deleted %v: %v", name, deleted, err)
			}
			if n := kit.ItemsOf(t, w.table, "1"); deleted && n != 0 {
				t.Errorf("%s: %d items are left over", name, n)
			}
		}
	}
}

// deleteRoot deletes the root item of account 1 as a foreign writer does.
func deleteRoot(t testing.TB, table string) {
	t.Helper()
	kit.Must(kit.NewForeign(t, table).DeleteItem(context.Background(), &dynamodb.DeleteItemInput{
		TableName: &table, Key: kit.Item{"PK": kit.S("ACCOUNT#1"), "SK": kit.S("HEAD")},
	}))(t)
}

// In a transaction of several parts, nothing is written if an item would be added to an entity that is not live.
func TestTransactAddsOnlyToLiveEntity(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	m := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
	other := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
	entries := entriesOf(m)
	for name, adds := range map[string]func(e *mapper.Entity[kit.Account]) mapper.Part{
		"a save": func(e *mapper.Entity[kit.Account]) mapper.Part {
			e.Value.Entries = append(e.Value.Entries, kit.Part{N: 9, Text: "x"})
			return m.SavePart(e)
		},
		"an added element": func(*mapper.Entity[kit.Account]) mapper.Part {
			return entries.Add(kit.Part{N: 9, Text: "x"}).PatchPart(m)
		},
	} {
		kit.Must(m.Save(ctx, m.New(kit.Account{ID: "1", Counter: 1})))(t)
		kit.Must(m.Save(ctx, m.New(kit.Account{ID: "2", Counter: 1})))(t)
		kit.Must(entries.Add(kit.Part{N: 1, Text: "x"}).Exec(ctx, m))(t) // the incarnation is remembered
		e, second := kit.Must(m.Load(ctx, m.Key("1")))(t), kit.Must(m.Load(ctx, m.Key("2")))(t)
		kit.Must(other.DeleteByKey(ctx, other.Key("1")))(t)
		second.Value.Counter = 2
		if _, err := mapper.Transact(ctx, adds(e), m.SavePart(second)); err == nil {
			t.Errorf("%s of a deleted entity is acknowledged", name)
		}
		if got := kit.Stored(t, m, "2"); got.Counter != 1 || kit.ItemsOf(t, table, "1") != 0 {
			t.Errorf("%s: the other part is written: %+v", name, got)
		}
		kit.Must(m.DeleteByKey(ctx, m.Key("2")))(t)
	}
}

// An element is added to a live entity or not at all, also if the mapper remembers another incarnation.
func TestAddOnlyToLiveEntity(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	m := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
	other := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
	entries := entriesOf(m)
	if _, err := entries.Add(kit.Part{N: 1, Text: "x"}).Exec(ctx, m); !errors.Is(err, mapper.ErrNotFound) ||
		kit.ItemsOf(t, table, "1") != 0 {
		t.Errorf("an element of an entity that does not exist: %v", err)
	}
	kit.Must(other.Save(ctx, other.New(kit.Account{ID: "1", Counter: 1})))(t)
	if r := kit.Must(entries.Add(kit.Part{N: 1, Text: "x"}).Exec(ctx, m))(t); r.Predicted().Requests != 3 ||
		r.Consumed.RCU != 2 {
		t.Errorf("root item, put, root item: %v", r)
	}
	if r := kit.Must(entries.Add(kit.Part{N: 2, Text: "x"}).Exec(ctx, m))(t); r.Predicted().Requests != 2 ||
		r.Consumed.RCU != 1 {
		t.Errorf("put, root item: %v", r)
	}
	kit.Must(other.DeleteByKey(ctx, other.Key("1")))(t)
	if _, err := entries.Add(kit.Part{N: 3, Text: "x"}).Exec(ctx, m); !errors.Is(err, mapper.ErrNotFound) ||
		kit.ItemsOf(t, table, "1") != 0 {
		t.Errorf("an element of an entity that was deleted: %v", err)
	}
	kit.Must(m.Save(ctx, m.New(kit.Account{ID: "1", Counter: 1})))(t)
	kit.Must(entries.Add(kit.Part{N: 1, Text: "x"}).Exec(ctx, m))(t)
	kit.Must(other.DeleteByKey(ctx, other.Key("1")))(t)
	kit.Must(other.Save(ctx, other.New(kit.Account{ID: "1", Counter: 2})))(t)
	kit.Must(entries.Add(kit.Part{N: 4, Text: "new"}).Exec(ctx, m))(t)
	if got := kit.Stored(t, other, "1"); got.Counter != 2 || len(got.Entries) != 1 || got.Entries[0].N != 4 {
		t.Errorf("an element of the next entity: %+v", got)
	}
	if n := kit.ItemsOf(t, table, "1"); n != 2 {
		t.Errorf("%d items", n)
	}
}

// Plans and receipts say which of their requests make sure that the entity exists.
func TestPlansSayWhichRequestsReadRoot(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	writer, m := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1), kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
	e := writer.New(kit.Account{ID: "1", Counter: 1})
	kit.Must(writer.Save(ctx, e))(t)
	says := func(what, text string, plan *mapper.Plan, r *mapper.Receipt) {
		t.Helper()
		if !strings.Contains(plan.String(), text) || !strings.Contains(r.String(), text) ||
			plan.RootReads != r.Predicted().RootReads {
			t.Errorf("%s: %q expected:\n%v\n%v", what, text, plan, r)
		}
	}
	e.Value.Entries = []kit.Part{{N: 1, Text: "x"}}
	plan := kit.Must(writer.PlanSave(e))(t)
	says("a save that adds", "2 requests (1 reads the root item), 1 WCU, 1 RCU", plan, kit.Must(writer.Save(ctx, e))(t))
	e.Value.Entries[0].Text = "y"
	plan = kit.Must(writer.PlanSave(e))(t)
	says("a save that changes", "one request: 1 WCU", plan, kit.Must(writer.Save(ctx, e))(t))

	add := entriesOf(m).Add(kit.Part{N: 2, Text: "x"})
	plan = kit.Must(add.Plan(m))(t)
	r := kit.Must(entriesOf(writer).Add(kit.Part{N: 4, Text: "x"}).Exec(ctx, writer))(t)
	if plan.Items[0].NewBytes != r.Predicted().Items[0].NewBytes {
		t.Errorf("the plan has no incarnation yet, and the item has one: %v, %v", plan, r)
	}
	plan = kit.Must(add.Plan(m))(t)
	says("the first addition", "3 requests (2 read the root item)", plan, kit.Must(add.Exec(ctx, m))(t))
	add = entriesOf(m).Add(kit.Part{N: 3, Text: "x"})
	plan = kit.Must(add.Plan(m))(t)
	says("the second addition", "2 requests (1 reads the root item)", plan, kit.Must(add.Exec(ctx, m))(t))
}

// A delete deletes the items that were added before it returned.
func TestDeleteRemovesWhatWasAddedBeforeItReturned(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, del := range map[string]func(m *mapper.Mapper[kit.Account]) (*mapper.Receipt, error){
		"as loaded": func(m *mapper.Mapper[kit.Account]) (*mapper.Receipt, error) {
			return m.Delete(ctx, kit.Must(m.Load(ctx, m.Key("1")))(t))
		},
		"by key": func(m *mapper.Mapper[kit.Account]) (*mapper.Receipt, error) {
			return m.DeleteByKey(ctx, m.Key("1"))
		},
		"one by one": func(m *mapper.Mapper[kit.Account]) (*mapper.Receipt, error) {
			return m.DeleteByKey(ctx, m.Key("1"), mapper.Independent())
		},
		"with others": func(m *mapper.Mapper[kit.Account]) (*mapper.Receipt, error) {
			return mapper.Transact(ctx, m.DeletePartByKey(m.Key("1")),
				m.SavePart(m.New(kit.Account{ID: "2", Counter: 1})))
		},
	} {
		table := testengine.Table(t, "PK:S", "SK:S")
		clean := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
		kit.Must(clean.Save(ctx, clean.New(kit.Account{ID: "1", Counter: 1, Left: "x"})))(t)
		entries := entriesOf(clean)
		added := false
		add := func() {
			if !added {
				added = true
				kit.Must(entries.Add(kit.Part{N: 1, Text: "x"}).Exec(ctx, clean))(t)
			}
		}
		f := &kit.Faulty{At: -1}
		f.Pick = func() kit.Fault {
			if op := f.Log[len(f.Log)-1]; op == "TransactWriteItems" || op == "DeleteItem" {
				add()
			}
			return kit.None
		}
		r, err := del(kit.NewAccounts(t, table, f, 1))
		if n := kit.ItemsOf(t, table, "1"); err != nil || n != 0 || len(r.AlsoDeleted) != 1 {
			t.Errorf("%s: %d items are left, and deleted as well: %v: %v", name, n, r.AlsoDeleted, err)
		}
	}
}

// A save that checks the root item is refused each time, as long as the entity is not live.
func TestCheckRootIsRefusedEachTime(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	m := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
	kit.Must(m.Save(ctx, m.New(kit.Account{ID: "1", Counter: 1, Left: "a"})))(t)
	e := kit.Must(m.Load(ctx, m.Key("1")))(t)
	deleteRoot(t, table)
	e.Value.Left = "b"
	for n := range 3 {
		if n == 2 {
			kit.Must(m.Save(ctx, m.New(kit.Account{ID: "1", Counter: 2})))(t)
		}
		if _, err := m.Save(ctx, e, mapper.CheckRoot()); !errors.Is(err, mapper.ErrNotFound) {
			t.Errorf("%d: an update of an entity that is not live: %v", n, err)
		}
	}
}

// Update applies its function again if the entity was deleted and inserted again in the meantime.
func TestUpdateAppliesToReplacedEntity(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	table := testengine.Table(t, "PK:S", "SK:S")
	m := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
	kit.Must(m.Save(ctx, m.New(kit.Account{ID: "1", Counter: 1})))(t)
	times := 0
	_, err := m.Update(ctx, m.Key("1"), func(a *kit.Account) error {
		if times++; times == 1 {
			kit.Must(m.DeleteByKey(ctx, m.Key("1")))(t)
			kit.Must(m.Save(ctx, m.New(kit.Account{ID: "1", Counter: 2})))(t)
		}
		a.Entries = []kit.Part{{N: 1, Text: "x"}}
		return nil
	})
	if got := kit.Stored(t, m, "1"); err != nil || times != 2 || got.Counter != 2 || len(got.Entries) != 1 {
		t.Errorf("%d times: %+v: %v", times, got, err)
	}
}

// UpdateAll applies its function again if an entity to which it adds was deleted and inserted again in the meantime.
func TestUpdateAllAppliesToReplacedEntity(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	table := testengine.Table(t, "PK:S", "SK:S")
	m := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
	for _, id := range []string{"1", "2"} {
		kit.Must(m.Save(ctx, m.New(kit.Account{ID: id, Counter: 1})))(t)
	}
	times, a, b := 0, kit.Account{}, kit.Account{}
	_, err := mapper.UpdateAll(ctx, func() error {
		if times++; times == 1 {
			kit.Must(m.DeleteByKey(ctx, m.Key("1")))(t)
			kit.Must(m.Save(ctx, m.New(kit.Account{ID: "1", Counter: 2})))(t)
		}
		a.Entries = []kit.Part{{N: 1, Text: "x"}}
		b.Counter++
		return nil
	}, m.UpdatePart(&a, m.Key("1")), m.UpdatePart(&b, m.Key("2")))
	one, two := kit.Stored(t, m, "1"), kit.Stored(t, m, "2")
	if err != nil || times != 2 || one.Counter != 2 || len(one.Entries) != 1 || two.Counter != 2 {
		t.Errorf("%d times: %+v, %+v: %v", times, one, two, err)
	}
}

// Parts of one transaction may add to one entity.
func TestTransactAddsTwiceToOneEntity(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	m := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
	entries := entriesOf(m)
	add := func(n int) mapper.Part { return entries.Add(kit.Part{N: n, Text: "x"}).PatchPart(m) }
	kit.Must(m.Save(ctx, m.New(kit.Account{ID: "1", Counter: 1})))(t)
	kit.Must(mapper.Transact(ctx, add(1), add(2)))(t)
	for n, edit := range []func(a *kit.Account){
		func(a *kit.Account) { a.Counter++ }, func(a *kit.Account) { a.Left = "q" },
		func(a *kit.Account) { a.Left = "r" },
	} {
		e := kit.Must(m.Load(ctx, m.Key("1")))(t)
		edit(&e.Value)
		parts := []mapper.Part{m.SavePart(e), add(3 + 2*n), add(4 + 2*n)}
		if n == 1 {
			parts = []mapper.Part{add(3 + 2*n), m.SavePart(e), add(4 + 2*n)}
		}
		plan := kit.Must(mapper.PlanTransact(parts...))(t)
		r := kit.Must(mapper.Transact(ctx, parts...))(t)
		if len(plan.Items) != len(r.Predicted().Items) || !plan.WCU.Contains(r.Predicted().WCU.Expected) {
			t.Errorf("planned %v, sent %v", plan, r)
		}
	}
	if got := kit.Stored(t, m, "1"); len(got.Entries) != 8 || got.Counter != 2 || got.Left != "r" {
		t.Errorf("%+v", got)
	}
	if _, err := mapper.Transact(ctx, add(9), add(1)); !errors.Is(err, mapper.ErrExists) {
		t.Errorf("one exists: %v", err)
	}
}
