package operation_test

import (
	"context"
	"errors"
	"testing"

	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
)

// dying returns a mapper that dies after a number of requests, and the transport with the requests in
// transfer.
func dying(t *testing.T, table string) (*mapper.Mapper[kit.Account], *kit.Crash) {
	t.Helper()
	c := &kit.Crash{Left: 1 << 30}
	return kit.NewAccounts(t, table, c.Transport(), 1), c
}

// A write whose answer was lost, and that the caller undoes in the next save, must not be applied after
// that save: the stored entity is then the saved one.
func TestLateWriteCannotUndoALaterSave(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	edits := map[string]func(*kit.Account){
		"one item":  func(a *kit.Account) { a.Counter = 2 },
		"two items": func(a *kit.Account) { a.Left, a.Right = "b", "b" },
		"removed":   func(a *kit.Account) { a.Left = "" },
	}
	for name, edit := range edits {
		m, c := dying(t, table)
		clean := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
		before := kit.Account{ID: name, Counter: 1, Left: "a", Right: "a"}
		kit.Must(clean.Save(ctx, clean.New(before)))(t)
		e := kit.Must(m.Load(ctx, m.Key(name)))(t)
		was := e.Value
		edit(&e.Value)
		c.Left = 0
		var unknown *mapper.OutcomeUnknownError
		if _, err := m.Save(ctx, e); !errors.As(err, &unknown) {
			t.Fatalf("%s: the answer was lost, and the error is %v", name, err)
		}
		c.Left = 1 << 30
		e.Value = was
		kit.Must(m.Save(ctx, e))(t)
		c.Deliver(t)
		if got := kit.Stored(t, clean, name); !kit.Same(got, &before) {
			t.Errorf("%s: the late write was applied: %+v", name, got)
		}
		kit.Must(m.Save(ctx, e))(t)
		e.Value.Counter = 9
		kit.Must(m.Save(ctx, e))(t)
	}
}

// An insert whose outcome is not known ties the entity to its key: under another
// one the first may appear later, twice stored.
func TestUnresolvedInsertIsNotInsertedElsewhere(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	m, c := dying(t, table)
	clean := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
	e := m.New(kit.Account{ID: "1", Counter: 1})
	c.Left = 0
	var unknown *mapper.OutcomeUnknownError
	if _, err := m.Save(ctx, e); !errors.As(err, &unknown) {
		t.Fatal(err)
	}
	c.Left = 1 << 30
	e.Value.ID = "2"
	if _, err := m.Save(ctx, e); !errors.As(err, &unknown) {
		t.Fatalf("the entity was inserted under another key while it may appear under the first: %v", err)
	}
	if _, err := m.Delete(ctx, e); !errors.As(err, &unknown) {
		t.Fatalf("an insert in doubt was taken for deleted: %v", err)
	}
	c.Deliver(t)
	e.Value.ID = "1"
	e.Value.Counter = 5
	kit.Must(m.Save(ctx, e))(t)
	if got := kit.Stored(t, clean, "1"); got == nil || got.Counter != 5 {
		t.Errorf("stored: %+v", got)
	}
	if got := kit.Stored(t, clean, "2"); got != nil {
		t.Errorf("stored under the other key: %+v", got)
	}
}

// An insert that takes over a delete in the middle of its deletes keeps all of its
// items: the delete stops where it finds an item written since.
func TestInsertTakesOverARunningDelete(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
	for at := 2; at < 14; at++ {
		before := kit.Account{
			ID: "1", Counter: 1, Left: "a", Right: "a",
			Entries: []kit.Part{{N: 1, Text: "x"}, {N: 2, Text: "y"}},
		}
		kit.Must(clean.Save(ctx, clean.New(before)))(t)
		after := kit.Account{
			ID: "1", Counter: 2, Left: "b", Right: "b",
			Entries: []kit.Part{{N: 1, Text: "z"}, {N: 2, Text: "w"}},
		}
		tr := &kit.Faulty{At: -1}
		m := kit.NewAccounts(t, table, tr, 1)
		e := kit.Must(m.Load(ctx, m.Key("1")))(t)
		tr.Count = 0
		inserted := false
		tr.Pick = func() kit.Fault {
			if tr.Count-1 == at {
				inserted = true
				fresh := clean.New(after)
				kit.Must(clean.Save(ctx, fresh, mapper.Staged()))(t)
				fresh.Value.Left, fresh.Value.Right = "c", "c" // these are no parts of an insert any more
				kit.Must(clean.Save(ctx, fresh))(t)
			}
			return kit.None
		}
		if _, err := m.Delete(ctx, e, mapper.Staged()); err != nil {
			t.Fatalf("at %d: %v", at, err)
		}
		got := kit.Stored(t, clean, "1")
		if !inserted {
			return
		}
		after.Left, after.Right = "c", "c"
		if !kit.Same(got, &after) {
			t.Fatalf("inserted before request %d of the delete: stored %+v", at, got)
		}
		kit.Must(clean.DeleteByKey(ctx, clean.Key("1")))(t)
	}
}
