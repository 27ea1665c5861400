package operation_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
)

// scenario is a change of an entity, and the stored entity after it.
type scenario struct {
	name string
	// before is the stored entity at first; nil for none.
	before *kit.Account
	// do makes the change, and after is the stored entity then; nil for none.
	do    func(ctx context.Context, m *mapper.Mapper[kit.Account], e *mapper.Entity[kit.Account]) error
	after *kit.Account
	// between reports whether a state that is stored after a failure is one that
	// an operation that is not atomic may leave; nil for one that is.
	between func(kit.Account) bool
}

func scenarios() []scenario {
	small := func() *kit.Account {
		return &kit.Account{
			Counter: 1, Left: "a", Right: "a",
			Entries: []kit.Part{{N: 1, Text: "x"}, {N: 2, Text: "y"}},
		}
	}
	save := func(change func(*kit.Account), options ...mapper.WriteOption) func(context.Context,
		*mapper.Mapper[kit.Account],
		*mapper.Entity[kit.Account]) error {
		return func(ctx context.Context, m *mapper.Mapper[kit.Account], e *mapper.Entity[kit.Account]) error {
			change(&e.Value)
			_, err := m.Save(ctx, e, options...)
			return err
		}
	}
	with := func(change func(*kit.Account)) *kit.Account {
		a := small()
		change(a)
		return a
	}
	anyOf := func(kit.Account) bool { return true }
	one := func(a *kit.Account) { a.Counter = 2 }
	both := func(a *kit.Account) { a.Left, a.Right = "b", "b" }
	list := func(a *kit.Account) { a.Entries = []kit.Part{{N: 2, Text: "z"}, {N: 3, Text: "w"}} }
	fill := func(a *kit.Account) { id := a.ID; *a = *small(); a.ID = id }
	big := func(a *kit.Account) {
		fill(a)
		a.Entries = nil
		for i := range 120 {
			a.Entries = append(a.Entries, kit.Part{N: i, Text: "e"})
		}
	}
	root := func(a *kit.Account) { a.Counter = 7 }
	return []scenario{
		{"insert", nil, save(fill), small(), nil},
		{"insert one item", nil, save(root), &kit.Account{Counter: 7}, nil},
		{"insert one by one", nil, save(fill, mapper.Independent()), small(), anyOf},
		{"insert staged", nil, save(fill, mapper.Staged()), small(), nil},
		{"insert more than a transaction", nil, save(big), with(big), nil},
		{"update one item", small(), save(one), with(one), nil},
		{"update one item exactly once", small(), save(one, mapper.ExactlyOnce()), with(one), nil},
		{"update two items", small(), save(both), with(both), nil},
		{"update two items one by one", small(), save(both, mapper.Independent()), with(both), anyOf},
		{"update and check", small(), save(one, mapper.CheckLoaded()), with(one), nil},
		{"add, change and remove elements", small(), save(list), with(list), nil},
		{
			"remove an item", small(), save(func(a *kit.Account) { a.Left = "" }),
			with(func(a *kit.Account) { a.Left = "" }), nil,
		},
		{"delete", small(), func(ctx context.Context, m *mapper.Mapper[kit.Account],
			e *mapper.Entity[kit.Account],
		) error {
			_, err := m.Delete(ctx, e)
			return err
		}, nil, nil},
		{
			"delete one by one", small(),
			func(ctx context.Context, m *mapper.Mapper[kit.Account], e *mapper.Entity[kit.Account]) error {
				_, err := m.Delete(ctx, e, mapper.Independent())
				return err
			}, nil, anyOf,
		},
		{
			"delete staged", small(),
			func(ctx context.Context, m *mapper.Mapper[kit.Account], e *mapper.Entity[kit.Account]) error {
				_, err := m.DeleteByKey(ctx, m.Key(e.Value.ID), mapper.Staged())
				return err
			}, nil, nil,
		},
		{
			"delete staged what was loaded", small(),
			func(ctx context.Context, m *mapper.Mapper[kit.Account], e *mapper.Entity[kit.Account]) error {
				_, err := m.Delete(ctx, e, mapper.Staged())
				return err
			}, nil, nil,
		},
		{"update", small(), func(ctx context.Context, m *mapper.Mapper[kit.Account],
			e *mapper.Entity[kit.Account],
		) error {
			_, err := m.Update(ctx, m.Key(e.Value.ID), func(a *kit.Account) error { both(a); return nil })
			return err
		}, with(both), nil},
		{
			"delete a part", small(),
			func(ctx context.Context, m *mapper.Mapper[kit.Account], e *mapper.Entity[kit.Account]) error {
				_, err := m.DeleteByKey(ctx, m.Key(e.Value.ID).Prefix("ENTRY#"))
				return err
			}, with(func(a *kit.Account) { a.Entries = nil }), nil,
		},
	}
}

// Every fault at every request of every scenario. The stored entity is then the old or the new one,
// never a mixture. The error says if the outcome is unknown, and a retry leads to the new state.
func TestFaultAtEveryRequest(t *testing.T) {
	t.Parallel()
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 5)
	id := 0
	runs, unknown := 0, 0
	seed := draws.Seed(t)
	for _, attempts := range []int{1, 3} {
		for _, sc := range scenarios() {
			t.Run(fmt.Sprintf("%s with %d attempts", sc.name, attempts), func(t *testing.T) {
				run := func(at int, kind kit.Fault, what string) (requests int) {
					id++
					tr := &kit.Faulty{At: -1, Fault: kind}
					requests, lost := sc.run(t, clean, kit.NewAccounts(t, table, tr, attempts), tr, at,
						fmt.Sprintf("%06d", id), what)
					if lost {
						unknown++
					}
					return requests
				}
				kinds := slices.Sorted(maps.Keys(kit.FaultNames))
				requests := run(-1, kit.None, "no fault")
				for _, drawn := range draws.Some(seed, requests*len(kinds), draws.Times(1, 8, draws.All)) {
					at, kind := drawn/len(kinds), kinds[drawn%len(kinds)]
					if at > 5 && at < requests-5 && requests > 50 {
						continue // those between are all alike
					}
					runs++
					run(at, kind, kit.FaultNames[kind])
				}
			})
		}
	}
	t.Logf("%d runs, %d of unknown outcome", runs, unknown)
}

// run runs a scenario with a fault at one request. It returns how many requests
// it sent, and whether its outcome was unknown.
func (sc *scenario) run(t *testing.T, clean, m *mapper.Mapper[kit.Account], tr *kit.Faulty, at int, id,
	what string,
) (requests int, lost bool) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	e := m.New(kit.Account{ID: id})
	if sc.before != nil {
		b := *sc.before
		b.ID = id
		if _, err := clean.Save(ctx, clean.New(b)); err != nil {
			t.Fatal(err)
		}
		var err error
		if e, err = m.Load(ctx, m.Key(id)); err != nil {
			t.Fatal(err)
		}
	}
	tr.Count, tr.At, tr.Cancel, tr.Log = 0, at, cancel, nil
	err := sc.do(ctx, m, e)
	requests, tr.At = tr.Count, -1
	bad := func(format string, args ...any) {
		t.Helper()
		t.Fatalf("%s at request %d of %v: %s (error: %v)", what, at, tr.Log, fmt.Sprintf(format, args...), err)
	}
	now := kit.Stored(t, clean, id)
	var outcome *mapper.OutcomeUnknownError
	var partial *mapper.PartialError
	lost = errors.As(err, &outcome)
	switch {
	case err == nil && !kit.Same(now, sc.after):
		bad("stored %+v, want %+v", now, sc.after)
	case err != nil && !kit.Same(now, sc.before) && !kit.Same(now, sc.after) &&
		(sc.between == nil || now != nil && !sc.between(*now)):
		bad("torn: stored %+v", now)
	case err != nil && !kit.Same(now, sc.before) && !lost && !errors.As(err, &partial) && sc.between == nil:
		bad("changed without saying so: stored %+v", now)
	}
	if err == nil {
		return requests, lost
	}
	// It can be done again, with the same entity, until it succeeds.
	ctx = context.Background()
	for try := 0; ; try++ {
		err = sc.do(ctx, m, e)
		if err == nil || sc.after == nil && errors.Is(err, mapper.ErrNotFound) {
			break
		}
		// A canceled request can take a neighbour's connection with it.
		var network net.Error
		if try == 3 || !errors.As(err, &network) && !strings.Contains(err.Error(), "closed network connection") {
			bad("it cannot be done again")
		}
	}
	if now = kit.Stored(t, clean, id); !kit.Same(now, sc.after) {
		bad("after the second time: stored %+v, want %+v", now, sc.after)
	}
	return requests, lost
}
