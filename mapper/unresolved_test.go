package mapper_test

import (
	"context"
	"errors"
	"testing"

	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
)

// dying returns a mapper that dies after a number of requests, and the transport with the requests in
// transfer.
func dying(t *testing.T, table string) (*mapper.Mapper[account], *crash) {
	t.Helper()
	c := &crash{left: 1 << 30}
	return newAccounts(t, table, c.transport(), 1), c
}

// A write whose answer was lost, and that the caller undoes in the next save, must not be applied after
// that save: the stored entity is then the saved one.
func TestLateWriteCannotUndoALaterSave(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	edits := map[string]func(*account){
		"one item":  func(a *account) { a.Counter = 2 },
		"two items": func(a *account) { a.Left, a.Right = "b", "b" },
		"removed":   func(a *account) { a.Left = "" },
	}
	for name, edit := range edits {
		m, c := dying(t, table)
		clean := newAccounts(t, table, &faulty{at: -1}, 1)
		before := account{ID: name, Counter: 1, Left: "a", Right: "a"}
		must(clean.Save(ctx, clean.New(before)))(t)
		e := must(m.Load(ctx, m.Key(name)))(t)
		was := e.Value
		edit(&e.Value)
		c.left = 0
		var unknown *mapper.OutcomeUnknownError
		if _, err := m.Save(ctx, e); !errors.As(err, &unknown) {
			t.Fatalf("%s: the answer was lost, and the error is %v", name, err)
		}
		c.left = 1 << 30
		e.Value = was
		must(m.Save(ctx, e))(t)
		c.deliver(t)
		if got := stored(t, clean, name); !same(got, &before) {
			t.Errorf("%s: the late write was applied: %+v", name, got)
		}
		must(m.Save(ctx, e))(t)
		e.Value.Counter = 9
		must(m.Save(ctx, e))(t)
	}
}

// An insert whose outcome is not known ties the entity to its key: under another
// one the first may appear later, twice stored.
func TestUnresolvedInsertIsNotInsertedElsewhere(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	m, c := dying(t, table)
	clean := newAccounts(t, table, &faulty{at: -1}, 1)
	e := m.New(account{ID: "1", Counter: 1})
	c.left = 0
	var unknown *mapper.OutcomeUnknownError
	if _, err := m.Save(ctx, e); !errors.As(err, &unknown) {
		t.Fatal(err)
	}
	c.left = 1 << 30
	e.Value.ID = "2"
	if _, err := m.Save(ctx, e); !errors.As(err, &unknown) {
		t.Fatalf("the entity was inserted under another key while it may appear under the first: %v", err)
	}
	if _, err := m.Delete(ctx, e); !errors.As(err, &unknown) {
		t.Fatalf("an insert in doubt was taken for deleted: %v", err)
	}
	c.deliver(t)
	e.Value.ID = "1"
	e.Value.Counter = 5
	must(m.Save(ctx, e))(t)
	if got := stored(t, clean, "1"); got == nil || got.Counter != 5 {
		t.Errorf("stored: %+v", got)
	}
	if got := stored(t, clean, "2"); got != nil {
		t.Errorf("stored under the other key: %+v", got)
	}
}

// An insert that takes over a delete in the middle of its deletes keeps all of its
// items: the delete stops where it finds an item written since.
func TestInsertTakesOverARunningDelete(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := newAccounts(t, table, &faulty{at: -1}, 1)
	for at := 2; at < 14; at++ {
		before := account{ID: "1", Counter: 1, Left: "a", Right: "a", Entries: []part{{1, "x"}, {2, "y"}}}
		must(clean.Save(ctx, clean.New(before)))(t)
		after := account{ID: "1", Counter: 2, Left: "b", Right: "b", Entries: []part{{1, "z"}, {2, "w"}}}
		tr := &faulty{at: -1}
		m := newAccounts(t, table, tr, 1)
		e := must(m.Load(ctx, m.Key("1")))(t)
		tr.count = 0
		inserted := false
		tr.pick = func() fault {
			if tr.count-1 == at {
				inserted = true
				fresh := clean.New(after)
				must(clean.Save(ctx, fresh, mapper.Staged()))(t)
				fresh.Value.Left, fresh.Value.Right = "c", "c" // these are no parts of an insert any more
				must(clean.Save(ctx, fresh))(t)
			}
			return none
		}
		if _, err := m.Delete(ctx, e, mapper.Staged()); err != nil {
			t.Fatalf("at %d: %v", at, err)
		}
		got := stored(t, clean, "1")
		if !inserted {
			return
		}
		after.Left, after.Right = "c", "c"
		if !same(got, &after) {
			t.Fatalf("inserted before request %d of the delete: stored %+v", at, got)
		}
		must(clean.DeleteByKey(ctx, clean.Key("1")))(t)
	}
}
