package mapper_test

import (
	"context"
	"errors"
	"testing"

	"github.com/itemize/itemize/internal/flow"
	"github.com/itemize/itemize/mapper"
)

// A delete by key in a transaction is a guard where only leftover items exist: nothing is written.
func TestDeletingOverLeftoverIsGuard(t *testing.T) {
	t.Parallel()
	ctx := flow.WithoutPauses(context.Background())
	c := newCounting(t)
	must(c.clean.Save(ctx, c.clean.New(board{ID: "E", Main: cells{Text: "ticket"}})))(t)
	other := must(c.clean.Load(ctx, c.clean.Key("E")))(t)
	must(mapper.Transact(ctx, c.clean.Deleting(c.clean.Key("E")), increment(c.clean)))(t)
	other.Value.Rows = []cells{{N: 1, Text: "late"}}
	must(c.clean.Save(ctx, other))(t) // a leftover item
	if _, err := c.clean.Load(ctx, c.clean.Key("E"), mapper.Strong()); !errors.Is(err, mapper.ErrNotFound) {
		t.Fatal(err)
	}
	_, err := mapper.Transact(ctx, c.boards.Deleting(c.boards.Key("E")), c.increment())
	if n := c.count(); n != 1 || !errors.Is(err, mapper.ErrNotFound) {
		t.Errorf("the entity does not exist, and counted %d times: %v", n, err)
	}
}

// A delete by key in a transaction is a guard where the entity has a staged delete that was not finished.
func TestDeletingOfPendingDeleteIsGuard(t *testing.T) {
	t.Parallel()
	ctx := flow.WithoutPauses(context.Background())
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
	if _, err := dying.Delete(ctx, dying.Key("E"), mapper.Staged()); err == nil {
		t.Fatal("the staged delete has ended")
	}
	if _, err := c.clean.Load(ctx, c.clean.Key("E"), mapper.Strong()); !errors.Is(err, mapper.ErrNotFound) {
		t.Fatal(err)
	}
	_, err := mapper.Transact(ctx, c.boards.Deleting(c.boards.Key("E")), c.increment())
	if n := c.count(); n != 0 || !errors.Is(err, mapper.ErrNotFound) {
		t.Errorf("the entity does not exist, and counted %d times: %v", n, err)
	}
}

// A delete of a range in a transaction is a guard: if another writer deletes the elements, nothing is written.
func TestDeletingOfRangeIsGuard(t *testing.T) {
	t.Parallel()
	ctx := flow.WithoutPauses(context.Background())
	c := newCounting(t)
	must(c.clean.Save(ctx, c.clean.New(board{ID: "E", Main: cells{Text: "ticket"}, Rows: []cells{{N: 1}, {N: 2}}})))(t)
	c.f.late = atRequest("TransactWriteItems", 1, func() { must(c.clean.Delete(ctx, c.clean.Key("E")))(t) }).late
	_, err := mapper.Transact(ctx, c.boards.Deleting(c.boards.Key("E").Prefix("ROW#")), c.increment())
	if n := c.count(); n != 0 || !errors.Is(err, mapper.ErrNotFound) {
		t.Errorf("the entity was deleted by another, and counted %d times: %v", n, err)
	}
}

// A delete of a loaded part is a guard, also if an earlier delete of it by this client has no answer.
func TestDeletingOfPartIsGuard(t *testing.T) {
	t.Parallel()
	ctx := flow.WithoutPauses(context.Background())
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
		must(mapper.Transact(ctx, c.clean.Deleting(other), increment(c.clean)))(t)
		_, err := mapper.Transact(ctx, c.boards.Deleting(e), c.increment())
		if n := c.count(); n != 1 || err == nil {
			t.Errorf("own %v: counted %d times: %v", own, n, err)
		}
	}
}
