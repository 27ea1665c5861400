package operation_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
)

// A delete by key in a transaction is a guard where only leftover items exist: nothing is written.
func TestDeletingOverLeftoverIsGuard(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	c := newCounting(t)
	kit.Must(c.clean.Save(ctx, c.clean.New(kit.Board{ID: "E", Main: kit.Cells{Text: "ticket"}})))(t)
	other := kit.Must(c.clean.Load(ctx, c.clean.Key("E")))(t)
	kit.Must(mapper.Transact(ctx, c.clean.DeletePartByKey(c.clean.Key("E")), increment(c.clean)))(t)
	other.Value.Rows = []kit.Cells{{N: 1, Text: "late"}}
	kit.Must(c.clean.Save(ctx, other, mapper.Blind()))(t) // a leftover item
	if _, err := c.clean.Load(ctx, c.clean.Key("E"), mapper.Strong()); !errors.Is(err, mapper.ErrNotFound) {
		t.Fatal(err)
	}
	_, err := mapper.Transact(ctx, c.boards.DeletePartByKey(c.boards.Key("E")), c.increment())
	if n := c.count(); n != 1 || !errors.Is(err, mapper.ErrNotFound) {
		t.Errorf("the entity does not exist, and counted %d times: %v", n, err)
	}
}

// A delete by key in a transaction is a guard where the entity has a staged delete that was not finished.
func TestDeletingOfPendingDeleteIsGuard(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	c := newCounting(t)
	kit.Must(c.clean.Save(ctx,
		c.clean.New(kit.Board{ID: "E", Main: kit.Cells{Text: "ticket"}, Rows: []kit.Cells{{N: 1}}})))(t)
	f := &kit.Faulty{At: -1}
	marked := false
	f.Pick = func() kit.Fault {
		op := f.Log[len(f.Log)-1]
		if op == "DeleteItem" || marked && op == "Query" {
			return kit.Deny
		}
		if op == "UpdateItem" {
			marked = true
		}
		return kit.None
	}
	dying := boardsOf(t, c.table, kit.Client(t, f, 1))
	if _, err := dying.DeleteByKey(ctx, dying.Key("E"), mapper.Staged()); err == nil {
		t.Fatal("the staged delete has ended")
	}
	if _, err := c.clean.Load(ctx, c.clean.Key("E"), mapper.Strong()); !errors.Is(err, mapper.ErrNotFound) {
		t.Fatal(err)
	}
	_, err := mapper.Transact(ctx, c.boards.DeletePartByKey(c.boards.Key("E")), c.increment())
	if n := c.count(); n != 0 || !errors.Is(err, mapper.ErrNotFound) {
		t.Errorf("the entity does not exist, and counted %d times: %v", n, err)
	}
}

// A delete of a range in a transaction is a guard: if another writer deletes the elements, nothing is written.
func TestDeletingOfRangeIsGuard(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	c := newCounting(t)
	kit.Must(c.clean.Save(ctx,
		c.clean.New(kit.Board{ID: "E", Main: kit.Cells{Text: "ticket"}, Rows: []kit.Cells{{N: 1}, {N: 2}}})))(t)
	c.f.Late = kit.AtRequest("TransactWriteItems", 1,
		func() { kit.Must(c.clean.DeleteByKey(ctx, c.clean.Key("E")))(t) }).Late
	_, err := mapper.Transact(ctx, c.boards.DeletePartByKey(c.boards.Key("E").Prefix("ROW#")), c.increment())
	if n := c.count(); n != 0 || !errors.Is(err, mapper.ErrNotFound) {
		t.Errorf("the entity was deleted by another, and counted %d times: %v", n, err)
	}
}

// A delete of a loaded part is a guard, also if an earlier delete of it by this client has no answer.
func TestDeletingOfPartIsGuard(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	for _, own := range []bool{false, true} {
		c := newCounting(t)
		kit.Must(c.clean.Save(ctx,
			c.clean.New(kit.Board{ID: "E", Main: kit.Cells{Text: "x"}, Rows: []kit.Cells{{N: 1}}})))(t)
		e := kit.Must(c.boards.Load(ctx, c.boards.Key("E").Prefix("ROW#")))(t)
		if own {
			c.f.Pick = func() kit.Fault {
				if c.f.Log[len(c.f.Log)-1] == "DeleteItem" {
					return kit.DropRequest
				}
				return kit.None
			}
			if _, err := c.boards.Delete(ctx, e); !isUnknown(err) {
				t.Fatal(err)
			}
			c.f.Pick = nil
		}
		other := kit.Must(c.clean.Load(ctx, c.clean.Key("E").Prefix("ROW#")))(t)
		kit.Must(mapper.Transact(ctx, c.clean.DeletePart(other), increment(c.clean)))(t)
		_, err := mapper.Transact(ctx, c.boards.DeletePart(e), c.increment())
		if n := c.count(); n != 1 || err == nil {
			t.Errorf("own %v: counted %d times: %v", own, n, err)
		}
	}
}

// A delete of a part in a transaction waits for an unresolved put of that part, as Delete does.
func TestDeletingOfPartWaitsForUnresolvedPut(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := boardsOf(t, table, kit.Client(t, &kit.Faulty{At: -1}, 1))
	l := &losing{operation: "PutItem"}
	m := boardsOf(t, table, kit.Client(t, l.transport(), 1))
	kit.Must(clean.Save(ctx, clean.New(kit.Board{ID: "E", Main: kit.Cells{Text: "x"}})))(t)
	e := kit.Must(m.Load(ctx, m.Key("E").Prefix("ROW#")))(t)
	l.lose = 100
	e.Value.Rows = []kit.Cells{{N: 1, Text: "a"}}
	if _, err := m.Save(ctx, e); !isUnknown(err) {
		t.Fatal(err)
	}
	l.lose = 0
	if _, err := mapper.Transact(ctx, m.DeletePart(e)); !isUnknown(err) {
		t.Error(err)
	}
}

// A delete of a range in a transaction is a guard where all of its items have expired.
func TestDeletingOfExpiredItemsIsGuard(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	table, c := testengine.Table(t, "PK:S", "SK:S"), kit.Client(t, &kit.Faulty{At: -1}, 1)
	boards, m := boardsOf(t, table, c), kit.Must(mapper.New[kit.Expiring](c, mapper.Table(table)))(t)
	kit.Must(boards.Save(ctx, boards.New(kit.Board{ID: "P", Main: kit.Cells{Text: "x"}})))(t)
	kit.Must(m.Save(ctx, m.New(kit.Expiring{ID: "3", Until: time.Now().Add(-time.Hour), Parts: []kit.Part{{N: 1}}})))(t)
	_, err := mapper.Transact(ctx, m.DeletePartByKey(m.Key("3").Prefix("PART#")), increment(boards))
	if n := loadBoard(t, boards, "P").Main.Count; n != 0 || !errors.Is(err, mapper.ErrNotFound) {
		t.Errorf("counted %d times: %v", n, err)
	}
}
