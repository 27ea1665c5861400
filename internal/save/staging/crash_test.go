package staging_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
)

// A crash in every step of a staged insert, with a reader at each. The entity does not exist, or exists
// completely. A further insert takes over, and late requests of the crashed writer never become part of
// its entity.
func TestCrashInStagedInsert(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 5)
	for step := 0; ; step++ {
		id := fmt.Sprint("insert", step)
		c := &kit.Crash{Left: step}
		first := kit.Version(id, 1)
		m := kit.NewAccounts(t, table, c.Transport(), 1)
		_, err := m.Save(ctx, m.New(first), mapper.Staged())
		now := kit.Stored(t, clean, id)
		if err == nil {
			if !kit.Same(now, &first) {
				t.Fatalf("step %d: stored %+v", step, now)
			}
			if step < 6 {
				t.Fatalf("only %d steps", step)
			}
			return
		}
		if now != nil {
			t.Fatalf("step %d: a half insert is there: %+v (%v)", step, now, err)
		}
		takeOver(t, clean, c, id, step)
	}
}

// takeOver inserts over what a crash left, deletes, and inserts again, with late
// requests of the crashed writer in between.
func takeOver(t *testing.T, clean *mapper.Mapper[kit.Account], c *kit.Crash, id string, step int) {
	t.Helper()
	ctx := request.WithoutPauses(context.Background())
	expect := func(what string, want *kit.Account) {
		t.Helper()
		if now := kit.Stored(t, clean, id); !kit.Same(now, want) {
			t.Fatalf("step %d, %s: stored %+v, want %+v", step, what, now, want)
		}
	}
	second := kit.Version(id, 2)
	e := clean.New(second)
	options := [][]mapper.WriteOption{nil, {mapper.Staged()}, {mapper.Independent()}}[step%3]
	if _, err := clean.Save(ctx, e, options...); err != nil {
		t.Fatalf("step %d: insert over the leftovers: %v", step, err)
	}
	expect("after the second insert", &second)
	c.Deliver(t)
	expect("after late requests", &second)
	second.Entries = append(second.Entries, kit.Part{N: 1, Text: "new"}, kit.Part{N: 2, Text: "new"})
	e.Value.Entries = append([]kit.Part(nil), second.Entries...)
	second.Entries = dedupe(second.Entries)
	e.Value.Entries = dedupe(e.Value.Entries)
	if _, err := clean.Save(ctx, e); err != nil {
		t.Fatalf("step %d: save over late requests: %v", step, err)
	}
	sorted := *kit.Stored(t, clean, id)
	if len(sorted.Entries) != len(second.Entries) {
		t.Fatalf("step %d: stored %+v, want %+v", step, sorted, second)
	}
	if _, err := clean.DeleteByKey(ctx, clean.Key(id)); err != nil {
		t.Fatalf("step %d: delete: %v", step, err)
	}
	expect("after the delete", nil)
	c.Deliver(t)
	expect("after late requests and the delete", nil)
	third := kit.Version(id, 3)
	if _, err := clean.Save(ctx, clean.New(third)); err != nil {
		t.Fatalf("step %d: third insert: %v", step, err)
	}
	c.Deliver(t)
	expect("at the end", &third)
}

func dedupe(all []kit.Part) []kit.Part {
	seen := map[int]bool{}
	var out []kit.Part
	for _, e := range all {
		if !seen[e.N] {
			seen[e.N] = true
			out = append(out, e)
		}
	}
	return out
}

// A crash in every step of a staged delete: the entity is wholly there, or not
// there. A delete or an insert takes over, and nothing of the old entity joins
// the new one.
func TestCrashInStagedDelete(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 5)
	for _, finish := range []string{"delete", "insert"} {
		for step := 0; ; step++ {
			id := fmt.Sprint(finish, step)
			first := kit.Version(id, 1)
			if _, err := clean.Save(ctx, clean.New(first), mapper.Staged()); err != nil {
				t.Fatal(err)
			}
			c := &kit.Crash{Left: step}
			m := kit.NewAccounts(t, table, c.Transport(), 1)
			_, err := m.DeleteByKey(ctx, m.Key(id), mapper.Staged())
			now := kit.Stored(t, clean, id)
			if err == nil {
				break
			}
			if now != nil && !kit.Same(now, &first) {
				t.Fatalf("step %d: half a delete: %+v (%v)", step, now, err)
			}
			if finish == "delete" {
				if _, err := clean.DeleteByKey(ctx, clean.Key(id)); err != nil {
					t.Fatalf("step %d: delete again: %v", step, err)
				}
				if left := kit.ItemsOf(t, table, id); left != 0 {
					t.Fatalf("step %d: %d items left", step, left)
				}
				c.Deliver(t)
				if kit.Stored(t, clean, id) != nil {
					t.Fatalf("step %d: a late request brought it back", step)
				}
				continue
			}
			if now != nil {
				continue // it was not deleted, so an insert would fail, rightly
			}
			takeOver(t, clean, c, id, step)
		}
	}
}

// A reader while entities are inserted and deleted in stages sees each wholly or
// not at all.
func TestReaderDuringStagedWrites(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(context.Background())
	table := testengine.Table(t, "PK:S", "SK:S")
	m := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 5)
	var wg sync.WaitGroup
	var reads, found int
	wg.Go(func() {
		for ctx.Err() == nil {
			e, err := m.Load(context.Background(), m.Key("x"), mapper.Strong())
			reads++
			switch {
			case errors.Is(err, mapper.ErrNotFound):
			case err != nil:
				t.Error(err)
				return
			default:
				found++
				want := kit.Version("x", e.Value.Counter)
				if !kit.Same(&e.Value, &want) {
					t.Errorf("a mixture: %+v", e.Value)
					return
				}
			}
		}
	})
	for n := range 15 {
		if _, err := m.Save(ctx, m.New(kit.Version("x", n)), mapper.Staged()); err != nil {
			t.Error(err)
		}
		if _, err := m.DeleteByKey(ctx, m.Key("x"), mapper.Staged()); err != nil {
			t.Error(err)
		}
	}
	stop()
	wg.Wait()
	t.Logf("%d reads, %d found it", reads, found)
}
