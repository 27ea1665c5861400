package operation_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
)

// Law 3, no lost update: the sum of the increments of 16 concurrent writers is
// exact, on one item and on two together.
func TestConcurrentWriters(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	const writers, each = 16, 5
	clean := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 5)
	if _, err := clean.Save(ctx, clean.New(kit.Account{ID: "x", Left: "0"})); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			m := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 5)
			for range each {
				_, err := m.Update(ctx, m.Key("x"), func(a *kit.Account) error {
					a.Counter++
					if w%2 == 0 {
						a.Left = fmt.Sprint(len(a.Left), " after ", a.Counter)
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if a := kit.Stored(t, clean, "x"); a == nil || a.Counter != writers*each {
		t.Errorf("stored %+v; want the counter %d", a, writers*each)
	}
}

// storm is a transport on which each request may meet a fault.
type storm struct {
	mu   sync.Mutex
	r    *rand.Rand
	odds int
}

func (s *storm) pick() kit.Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.r.IntN(s.odds) > 0 {
		return kit.None
	}
	return []kit.Fault{kit.DropRequest, kit.DropAnswer, kit.Throttle, kit.ServerError}[s.r.IntN(4)]
}

// Concurrent writers on a network that drops requests and answers. A writer without an error was
// counted once, and one with an error was not. If the outcome is unknown, it was counted once or not at
// all, and never twice.
func TestConcurrentWritersInAStorm(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 5)
	for _, options := range [][]mapper.WriteOption{nil, {mapper.ExactlyOnce()}} {
		id := fmt.Sprint("x", len(options))
		if _, err := clean.Save(ctx, clean.New(kit.Account{ID: id})); err != nil {
			t.Fatal(err)
		}
		seed := draws.Seed(t)
		s := &storm{r: rand.New(rand.NewPCG(seed, 0)), odds: 8}
		var done, unknown, failed atomic.Int64
		var wg sync.WaitGroup
		for w := range 8 {
			wg.Go(func() {
				m := kit.NewAccounts(t, table, &kit.Faulty{At: -1, Pick: s.pick}, 1+w%3)
				for range 10 {
					_, err := m.Update(ctx, m.Key(id), func(a *kit.Account) error {
						a.Counter++
						return nil
					}, options...)
					var lost *mapper.OutcomeUnknownError
					switch {
					case err == nil:
						done.Add(1)
					case errors.As(err, &lost):
						unknown.Add(1)
					default:
						failed.Add(1)
					}
				}
			})
		}
		wg.Wait()
		a := kit.Stored(t, clean, id)
		low, high := int(done.Load()), int(done.Load()+unknown.Load())
		t.Logf("%d done, %d unknown, %d failed: %d stored", done.Load(), unknown.Load(), failed.Load(), a.Counter)
		if a.Counter < low || a.Counter > high {
			t.Errorf("the counter is %d; want %d to %d", a.Counter, low, high)
		}
	}
}

// One entity is saved repeatedly on a bad network, until each save succeeds: the last value is stored.
func TestSaveUntilItSucceeds(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 5)
	seed := draws.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	s := &storm{r: r, odds: 4}
	m := kit.NewAccounts(t, table, &kit.Faulty{At: -1, Pick: s.pick}, 2)
	for n := range draws.Times(4, 25, 250) {
		id := fmt.Sprint(n)
		e := m.New(kit.Version(id, 0))
		var failures int
		for round := range 12 {
			options := [][]mapper.WriteOption{nil, {mapper.Independent()}, {mapper.ExactlyOnce()}}[r.IntN(3)]
			for try := 0; ; try++ {
				_, err := m.Save(ctx, e, options...)
				if err == nil {
					break
				}
				failures++
				var conflict *mapper.ConflictError
				if errors.As(err, &conflict) || try > 200 {
					t.Fatalf("round %d, try %d: %v", round, try, err)
				}
				if r.IntN(3) == 0 { // the value may change between tries
					e.Value.Left += "!"
				}
			}
			if now := kit.Stored(t, clean, id); !kit.Same(now, sortedCopy(e.Value)) {
				t.Fatalf("round %d after %d failures: stored %+v, want %+v", round, failures, now, e.Value)
			}
			e.Value.Counter++
			e.Value.Entries = append(e.Value.Entries, kit.Part{N: 100 + round, Text: "more"})
			if r.IntN(2) == 0 {
				e.Value.Entries = e.Value.Entries[1:]
			}
			e.Value.Right = fmt.Sprint(round)
		}
	}
}

func sortedCopy(a kit.Account) *kit.Account {
	byN := map[int]kit.Part{}
	for _, e := range a.Entries {
		byN[e.N] = e
	}
	out := a
	out.Entries = nil
	for n := range 1000 {
		if e, ok := byN[n]; ok {
			out.Entries = append(out.Entries, e)
		}
	}
	return &out
}
