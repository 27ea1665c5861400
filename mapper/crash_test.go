package mapper_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
)

// crash is the transport of a program that dies: after a number of requests none is answered. Requests
// in transfer may still arrive, much later.
type crash struct {
	mu    sync.Mutex
	left  int
	late  []*http.Request
	bodys [][]byte
}

func (c *crash) transport() *faulty {
	return &faulty{at: -1, late: func(r *http.Request) bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.left > 0 {
			c.left--
			return false
		}
		body, _ := io.ReadAll(r.Body)
		c.late = append(c.late, r.Clone(context.Background()))
		c.bodys = append(c.bodys, body)
		return true
	}}
}

// deliver sends the writes that were in transfer.
func (c *crash) deliver(t *testing.T) (n int) {
	t.Helper()
	for i, r := range c.late {
		if target := r.Header.Get("X-Amz-Target"); strings.Contains(target, "Get") ||
			strings.Contains(target, "Query") {
			continue
		}
		again := r.Clone(context.Background())
		again.Body = io.NopCloser(bytes.NewReader(c.bodys[i]))
		resp, err := http.DefaultTransport.RoundTrip(again)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		n++
	}
	return n
}

// version returns a version of an entity that differs from others.
func version(id string, n int) account {
	a := account{ID: id, Counter: n, Left: fmt.Sprint("v", n), Right: fmt.Sprint("v", n)}
	for i := range 4 {
		a.Entries = append(a.Entries, part{i*(n+1) + 1, fmt.Sprint("v", n)})
	}
	return a
}

// A crash in every step of a staged insert, with a reader at each. The entity does not exist, or exists
// completely. A further insert takes over, and late requests of the crashed writer never become part of
// its entity.
func TestCrashInStagedInsert(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := newAccounts(t, table, &faulty{at: -1}, 5)
	for step := 0; ; step++ {
		id := fmt.Sprint("insert", step)
		c := &crash{left: step}
		first := version(id, 1)
		m := newAccounts(t, table, c.transport(), 1)
		_, err := m.Save(ctx, m.New(first), mapper.Staged())
		now := stored(t, clean, id)
		if err == nil {
			if !same(now, &first) {
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
func takeOver(t *testing.T, clean *mapper.Mapper[account], c *crash, id string, step int) {
	t.Helper()
	ctx := request.WithoutPauses(context.Background())
	expect := func(what string, want *account) {
		t.Helper()
		if now := stored(t, clean, id); !same(now, want) {
			t.Fatalf("step %d, %s: stored %+v, want %+v", step, what, now, want)
		}
	}
	second := version(id, 2)
	e := clean.New(second)
	options := [][]mapper.WriteOption{nil, {mapper.Staged()}, {mapper.Independent()}}[step%3]
	if _, err := clean.Save(ctx, e, options...); err != nil {
		t.Fatalf("step %d: insert over the leftovers: %v", step, err)
	}
	expect("after the second insert", &second)
	c.deliver(t)
	expect("after late requests", &second)
	second.Entries = append(second.Entries, part{1, "new"}, part{2, "new"})
	e.Value.Entries = append([]part(nil), second.Entries...)
	second.Entries = dedupe(second.Entries)
	e.Value.Entries = dedupe(e.Value.Entries)
	if _, err := clean.Save(ctx, e); err != nil {
		t.Fatalf("step %d: save over late requests: %v", step, err)
	}
	sorted := *stored(t, clean, id)
	if len(sorted.Entries) != len(second.Entries) {
		t.Fatalf("step %d: stored %+v, want %+v", step, sorted, second)
	}
	if _, err := clean.DeleteByKey(ctx, clean.Key(id)); err != nil {
		t.Fatalf("step %d: delete: %v", step, err)
	}
	expect("after the delete", nil)
	c.deliver(t)
	expect("after late requests and the delete", nil)
	third := version(id, 3)
	if _, err := clean.Save(ctx, clean.New(third)); err != nil {
		t.Fatalf("step %d: third insert: %v", step, err)
	}
	c.deliver(t)
	expect("at the end", &third)
}

func dedupe(all []part) []part {
	seen := map[int]bool{}
	var out []part
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
	clean := newAccounts(t, table, &faulty{at: -1}, 5)
	for _, finish := range []string{"delete", "insert"} {
		for step := 0; ; step++ {
			id := fmt.Sprint(finish, step)
			first := version(id, 1)
			if _, err := clean.Save(ctx, clean.New(first), mapper.Staged()); err != nil {
				t.Fatal(err)
			}
			c := &crash{left: step}
			m := newAccounts(t, table, c.transport(), 1)
			_, err := m.DeleteByKey(ctx, m.Key(id), mapper.Staged())
			now := stored(t, clean, id)
			if err == nil {
				break
			}
			if now != nil && !same(now, &first) {
				t.Fatalf("step %d: half a delete: %+v (%v)", step, now, err)
			}
			if finish == "delete" {
				if _, err := clean.DeleteByKey(ctx, clean.Key(id)); err != nil {
					t.Fatalf("step %d: delete again: %v", step, err)
				}
				if left := items(t, table, id); left != 0 {
					t.Fatalf("step %d: %d items left", step, left)
				}
				c.deliver(t)
				if stored(t, clean, id) != nil {
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

// items counts the stored items under an account's partition key.
func items(t *testing.T, table, id string) int {
	t.Helper()
	out, err := testengine.Start(t).Client().Query(context.Background(), queryAll(table, "ACCOUNT#"+id))
	if err != nil {
		t.Fatal(err)
	}
	return int(out.Count)
}

// A reader while entities are inserted and deleted in stages sees each wholly or
// not at all.
func TestReaderDuringStagedWrites(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(context.Background())
	table := testengine.Table(t, "PK:S", "SK:S")
	m := newAccounts(t, table, &faulty{at: -1}, 5)
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
				want := version("x", e.Value.Counter)
				if !same(&e.Value, &want) {
					t.Errorf("a mixture: %+v", e.Value)
					return
				}
			}
		}
	})
	for n := range 15 {
		if _, err := m.Save(ctx, m.New(version("x", n)), mapper.Staged()); err != nil {
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
