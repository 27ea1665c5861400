package operation_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
)

// An own move that arrives while the entity is deleted does not hide it from the delete.
func TestDeleteFollowsOwnLateMove(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	for name, c := range map[string]struct {
		before  string
		options []mapper.WriteOption
	}{"in a transaction": {"TransactWriteItems", nil}, "staged": {"Query", []mapper.WriteOption{mapper.Staged()}}} {
		table := testengine.Table(t, "PK:S", "SK:S")
		l := &losing{operation: "TransactWriteItems"}
		m := kit.NewAccounts(t, table, l.transport(), 1)
		e := m.New(kit.Account{ID: "1", Counter: 1, Left: "a"})
		kit.Must(m.Save(ctx, e))(t)
		l.lose = 100
		e.Value.ID = "2"
		if _, err := m.Save(ctx, e, mapper.Move()); !isUnknown(err) {
			t.Fatal(err)
		}
		l.lose = 0
		l.before = func(op string) {
			if op == c.before {
				l.before = nil
				l.Deliver(t)
			}
		}
		if _, err := m.Delete(ctx, e, c.options...); err != nil ||
			kit.ItemsOf(t, table, "1")+kit.ItemsOf(t, table, "2") != 0 {
			t.Errorf("%s: %v, and %d items are left", name, err, kit.ItemsOf(t, table, "1")+kit.ItemsOf(t, table, "2"))
		}
	}
}

// After a request without an answer every error of a later try is an unknown outcome: the first copy
// can still be applied.
func TestErrorAfterLostCopyIsUnknown(t *testing.T) {
	t.Parallel()
	for name, then := range map[string]struct {
		operation string
		fault     kit.Fault
	}{
		"the root item cannot be read": {"GetItem", kit.Deny}, "the context ends": {"GetItem", kit.CancelAfter},
		"the second request is refused": {"DeleteItem", kit.Deny},
	} {
		ctx, cancel := context.WithCancel(request.WithoutPauses(context.Background()))
		defer cancel()
		table := testengine.Table(t, "PK:S", "SK:S")
		clean := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
		kit.Must(clean.Save(ctx, clean.New(kit.Account{ID: "1", Counter: 1, Left: "a"})))(t)
		l := &losing{operation: "DeleteItem", lose: 1}
		f := l.transport()
		sent := 0
		f.Cancel = cancel
		f.Pick = func() kit.Fault {
			op := f.Log[len(f.Log)-1]
			if op == "DeleteItem" {
				sent++
			}
			if op == then.operation && sent > 0 && !(op == "DeleteItem" && sent == 1) {
				return then.fault
			}
			return kit.None
		}
		m := kit.NewAccounts(t, table, f, 1)
		_, err := m.DeleteByKey(ctx, m.Key("1").Item("LEFT"))
		l.lose = 0
		l.Deliver(t)
		if left := kit.Stored(t, clean, "1").Left; left != "" {
			t.Fatalf("%s: the late copy was not applied: %q", name, left)
		}
		if !isUnknown(err) {
			t.Errorf("%s: %T: %v", name, err, err)
		}
	}
}

// A delete by key deletes the entity that it has read, and not one that is stored after its lost copy. This also holds
// if another program has put the first entity, or the next one, without an incarnation. It also holds for a
// transaction with no other write, since it is a plain request.
func TestUnwatchedDeleteByKeyDeletesOneEntity(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	for deletes, do := range map[string]func(m *mapper.Mapper[kit.Account]) error{
		"DeleteByKey": func(m *mapper.Mapper[kit.Account]) error {
			return kit.Err(m.DeleteByKey(ctx, m.Key("1")))
		},
		"Transact": func(m *mapper.Mapper[kit.Account]) error {
			return kit.Err(mapper.Transact(ctx, m.DeletePartByKey(m.Key("1"))))
		},
		"Transact with an unchanged entity": func(m *mapper.Mapper[kit.Account]) error {
			return kit.Err(mapper.Transact(ctx, m.DeletePartByKey(m.Key("1")),
				m.SavePart(kit.Must(m.Load(ctx, m.Key("2")))(t))))
		},
	} {
		for name, c := range map[string]struct{ foreign, foreignNext bool }{
			"own": {false, false}, "foreign": {true, false},
			"own, and the next is foreign": {false, true}, "foreign, and the next too": {true, true},
		} {
			t.Run(deletes+", "+name, func(t *testing.T) { testDeletesOneEntity(t, do, c.foreign, c.foreignNext) })
		}
	}
}

func testDeletesOneEntity(t *testing.T, do func(m *mapper.Mapper[kit.Account]) error, foreign, foreignNext bool) {
	ctx := request.WithoutPauses(context.Background())
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
	store := func(counter int, foreign bool) {
		if foreign {
			kit.NewForeign(t, table).Put(kit.Item{
				"PK": kit.S("ACCOUNT#1"), "SK": kit.S("HEAD"), "Counter": kit.N(fmt.Sprint(counter)),
			})
			return
		}
		kit.Must(clean.Save(ctx, clean.New(kit.Account{ID: "1", Counter: counter})))(t)
	}
	store(1, foreign)
	kit.Must(clean.Save(ctx, clean.New(kit.Account{ID: "2"})))(t)
	f := &kit.Faulty{At: -1}
	loseFirst(f, "DeleteItem", func() kit.Fault { store(2, foreignNext); return kit.None })
	err := do(kit.Must(mapper.New[kit.Account](kit.Unwatched{C: kit.Client(t, f, 2)}, mapper.Table(table)))(t))
	// Of an entity of another program that is unknown: an Upsert can have given it an incarnation.
	if now := kit.Stored(t, clean, "1"); now == nil || now.Counter != 2 || err != nil && !(foreign && isUnknown(err)) {
		t.Errorf("%v, and %+v is stored (%v)", err, now, f.Log)
	}
}

// If an entity moves to another shard while an unwatched client deletes it by its key, the outcome is
// unknown: it can be the next entity of the key. The next delete finds it.
func TestUnwatchedDeleteOfEntityThatMovesIsUnknown(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	x := kit.NewShops(t)
	n := x.SplitKeys(t, 1)[0]
	kit.Must(x.A.Save(ctx, x.A.New(kit.ShopOld{Shop: "s", N: n, By: "x", Line: []kit.Part{{N: 1}, {N: 2}}})))(t)
	m := kit.Must(mapper.New[kit.ShopExpected](kit.Unwatched{C: kit.Client(t,
		kit.AtRequest("TransactWriteItems", 1, func() {
			kit.Must(x.C.Save(ctx, kit.Must(x.C.Load(ctx, x.C.Key("s", n)))(t), mapper.Move()))(t)
		}), 2)}, x.Table))(t)
	if _, err := m.DeleteByKey(ctx, m.Key("s", n)); !isUnknown(err) {
		t.Error(err)
	}
	kit.Must(m.DeleteByKey(ctx, m.Key("s", n)))(t)
	if _, err := x.C.Load(ctx, x.C.Key("s", n), mapper.Strong()); !errors.Is(err, mapper.ErrNotFound) {
		t.Errorf("it is deleted, and loads: %v", err)
	}
}

// While the number of shards changes, a delete by key whose items another writer deletes in between has
// nothing left to do.
func TestUnwatchedDeleteOnChangingShardsEnds(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	x := kit.NewShops(t)
	n := x.SplitKeys(t, 1)[0]
	kit.Must(x.A.Save(ctx, x.A.New(kit.ShopOld{Shop: "s", N: n, By: "x", Line: []kit.Part{{N: 1}, {N: 2}}})))(t)
	m := kit.Must(mapper.New[kit.ShopNew](kit.Unwatched{C: kit.Client(t, kit.AtRequest("TransactWriteItems", 1, func() {
		kit.Must(x.A.DeleteByKey(ctx, x.A.Key("s", n)))(t)
	}), 2)}, x.Table))(t)
	if _, err := m.DeleteByKey(ctx, m.Key("s", n)); err != nil {
		t.Error(err)
	}
}

// An unwatched delete of a range does not delete elements that were added after its first attempt.
func TestUnwatchedDeleteOfRangeKeepsNewElements(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := boardsOf(t, table, kit.Client(t, &kit.Faulty{At: -1}, 1))
	kit.Must(clean.Save(ctx,
		clean.New(kit.Board{ID: "E", Main: kit.Cells{Text: "x"}, Rows: []kit.Cells{{N: 1, Text: "old"}}})))(t)
	f := &kit.Faulty{At: -1}
	loseFirst(f, "DeleteItem", func() kit.Fault {
		kit.Must(clean.Update(ctx, clean.Key("E"), func(b *kit.Board) error {
			if len(b.Rows) != 0 {
				t.Error("not applied")
			}
			b.Rows = []kit.Cells{{N: 1, Text: "new"}}
			return nil
		}))(t)
		return kit.None
	})
	m := boardsOf(t, table, kit.Unwatched{C: kit.Client(t, f, 2)})
	_, err := m.DeleteByKey(ctx, m.Key("E").Prefix("ROW#"))
	now := loadBoard(t, clean, "E")
	if len(now.Rows) == 0 {
		t.Errorf("the new row is deleted: %v", err)
	}
}

// An independent delete of an entity without an incarnation continues after a conflict, if no answer was lost.
func TestIndependentDeleteWithoutIncarnationContinues(t *testing.T) {
	t.Parallel()
	table := testengine.Table(t, "PK:S", "SK:S")
	r := kit.NewForeign(t, table)
	r.Put(kit.Item{"PK": kit.S("ACCOUNT#1"), "SK": kit.S("HEAD"), "Counter": kit.N("1")})
	r.Put(kit.Item{"PK": kit.S("ACCOUNT#1"), "SK": kit.S("ENTRY#0001"), "N": kit.N("1"), "Text": kit.S("old")})
	r.Put(kit.Item{"PK": kit.S("ACCOUNT#1"), "SK": kit.S("ENTRY#0002"), "N": kit.N("2"), "Text": kit.S("old")})
	m := kit.NewAccounts(t, table, kit.AtRequest("DeleteItem", 2, func() {
		r.Put(kit.Item{"PK": kit.S("ACCOUNT#1"), "SK": kit.S("ENTRY#0002"), "N": kit.N("2"), "Text": kit.S("new")})
	}), 1)
	kit.Must(m.DeleteByKey(request.WithoutPauses(context.Background()), m.Key("1"), mapper.Independent()))(t)
}

// If one part of a transaction of deletes cannot be finished, the next ones are.
func TestEachPartOfDeletesIsFinished(t *testing.T) {
	t.Parallel()
	w := newWriters[book](t, 1)
	var both []*mapper.Entity[book]
	for _, id := range []string{"1", "2"} {
		w.insert(book{ID: id, Year: "2020", Entries: []kit.Part{{N: 1}}})
		both = append(both, kit.Must(w.own.Load(w.ctx, w.own.Key(id)))(t))
		w.change(id, adds(2))
	}
	hooks{"Query": nth(1, nil, kit.Deny)}.watch(w.network)
	_, err := mapper.Transact(w.ctx, w.own.DeletePart(both[0]), w.own.DeletePart(both[1]))
	w.network.Pick = nil
	if !errors.As(err, new(*mapper.PartialError)) {
		t.Error(err)
	}
	if left := kit.NewForeign(t, w.table).All("2"); len(left) > 0 {
		t.Errorf("%d items of the second entity are left", len(left))
	}
	if _, err := w.own.Save(w.ctx, both[1]); err != nil {
		t.Error("the second entity was deleted, and a save inserts it again:", err)
	}
}
