package mapper_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
)

// A delete by key in a transaction is a guard where only leftover items exist: nothing is written.
func TestDeletingOverLeftoverIsGuard(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	c := newCounting(t)
	must(c.clean.Save(ctx, c.clean.New(board{ID: "E", Main: cells{Text: "ticket"}})))(t)
	other := must(c.clean.Load(ctx, c.clean.Key("E")))(t)
	must(mapper.Transact(ctx, c.clean.DeletePartByKey(c.clean.Key("E")), increment(c.clean)))(t)
	other.Value.Rows = []cells{{N: 1, Text: "late"}}
	must(c.clean.Save(ctx, other, mapper.Blind()))(t) // a leftover item
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
	must(c.clean.Save(ctx, c.clean.New(board{ID: "E", Main: cells{Text: "ticket"}, Rows: []cells{{N: 1}}})))(t)
	f := &faulty{at: -1}
	marked := false
	f.pick = func() fault {
		op := f.log[len(f.log)-1]
		if op == "DeleteItem" || marked && op == "Query" {
			return deny
		}
		if op == "UpdateItem" {
			marked = true
		}
		return none
	}
	dying := boardsOf(t, c.table, client(t, f, 1))
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
	must(c.clean.Save(ctx, c.clean.New(board{ID: "E", Main: cells{Text: "ticket"}, Rows: []cells{{N: 1}, {N: 2}}})))(t)
	c.f.late = atRequest("TransactWriteItems", 1, func() { must(c.clean.DeleteByKey(ctx, c.clean.Key("E")))(t) }).late
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
		must(c.clean.Save(ctx, c.clean.New(board{ID: "E", Main: cells{Text: "x"}, Rows: []cells{{N: 1}}})))(t)
		e := must(c.boards.Load(ctx, c.boards.Key("E").Prefix("ROW#")))(t)
		if own {
			c.f.pick = func() fault {
				if c.f.log[len(c.f.log)-1] == "DeleteItem" {
					return dropRequest
				}
				return none
			}
			if _, err := c.boards.Delete(ctx, e); !isUnknown(err) {
				t.Fatal(err)
			}
			c.f.pick = nil
		}
		other := must(c.clean.Load(ctx, c.clean.Key("E").Prefix("ROW#")))(t)
		must(mapper.Transact(ctx, c.clean.DeletePart(other), increment(c.clean)))(t)
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
	clean := boardsOf(t, table, client(t, &faulty{at: -1}, 1))
	l := &losing{operation: "PutItem"}
	m := boardsOf(t, table, client(t, l.transport(), 1))
	must(clean.Save(ctx, clean.New(board{ID: "E", Main: cells{Text: "x"}})))(t)
	e := must(m.Load(ctx, m.Key("E").Prefix("ROW#")))(t)
	l.lose = 100
	e.Value.Rows = []cells{{N: 1, Text: "a"}}
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
	table, c := testengine.Table(t, "PK:S", "SK:S"), client(t, &faulty{at: -1}, 1)
	boards, m := boardsOf(t, table, c), must(mapper.New[expiring](c, mapper.Table(table)))(t)
	must(boards.Save(ctx, boards.New(board{ID: "P", Main: cells{Text: "x"}})))(t)
	must(m.Save(ctx, m.New(expiring{ID: "3", Until: time.Now().Add(-time.Hour), Parts: []part{{N: 1}}})))(t)
	_, err := mapper.Transact(ctx, m.DeletePartByKey(m.Key("3").Prefix("PART#")), increment(boards))
	if n := loadBoard(t, boards, "P").Main.Count; n != 0 || !errors.Is(err, mapper.ErrNotFound) {
		t.Errorf("counted %d times: %v", n, err)
	}
}
