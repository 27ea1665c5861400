package operation_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/itemize/itemize/internal/testing/handmade"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
)

// While A's staged insert puts its parts, B loads some of them and adds an element under a key that A
// is about to put. B must not take the claim's incarnation for the entity's, and A must not take B's
// element for its own.
func TestUnwatchedStagedInsert(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
	v := kit.Account{ID: "1", Counter: 1, Entries: []kit.Part{{N: 1, Text: "a"}, {N: 2, Text: "a"}, {N: 3, Text: "a"}}}
	var saved error
	a := kit.NewAccounts(t, table, kit.AtRequest("PutItem", 3, func() {
		e, err := clean.Load(ctx, clean.Key("1").Prefix("ENTRY#"), mapper.Strong())
		if err != nil {
			return
		}
		for n := range 5 {
			if r := kit.NewForeign(t, table).Get("ACCOUNT#1", fmt.Sprintf("ENTRY#%04d", n+1)); r == nil && n < 3 {
				e.Value.Entries = []kit.Part{{N: n + 1, Text: "b"}}
			}
		}
		_, saved = clean.Save(ctx, e)
	}), 1)
	_, err := a.Save(ctx, a.New(v), mapper.Staged())
	got := kit.Stored(t, clean, "1")
	if err == nil && saved == nil {
		t.Errorf("both were acknowledged: %+v", got)
	} else if err == nil && !kit.Same(got, &v) {
		t.Errorf("torn: %+v", got)
	}
}

// A crashed insert has left a claim, to which nothing can be added.
func TestUnwatchedCrashedInsert(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	c := &kit.Crash{Left: 2} // the claim, and one part
	dying := kit.NewAccounts(t, table, c.Transport(), 1)
	_, _ = dying.Save(ctx, dying.New(kit.Account{ID: "1", Counter: 1, Entries: []kit.Part{{N: 1, Text: "a"}}}),
		mapper.Staged())
	m := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
	e := kit.Must(m.Load(ctx, m.Key("1").Prefix("ENTRY#"), mapper.Strong()))(t)
	e.Value.Entries = []kit.Part{{N: 2, Text: "b"}}
	if _, err := m.Save(ctx, e); !errors.Is(err, mapper.ErrNotFound) {
		t.Errorf("there is no root, and the save says %v", err)
	}
}

// CheckLoaded holds the root to the incarnation that it had, also where nothing was loaded.
func TestCheckLoadedUnwatched(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
	kit.Must(clean.Save(ctx, clean.New(kit.Account{ID: "1", Counter: 1})))(t)
	m := kit.NewAccounts(t, table, &kit.Faulty{At: -1, Late: func() func(r *http.Request) bool {
		done := false
		return func(r *http.Request) bool {
			if op := kit.OperationOf(r); !done && (op == "PutItem" || op == "TransactWriteItems") {
				done = true
				kit.Must(clean.DeleteByKey(ctx, clean.Key("1")))(t)
				kit.Must(clean.Save(ctx, clean.New(kit.Account{ID: "1", Counter: 2})))(t)
			}
			return false
		}
	}()}, 1)
	e := kit.Must(m.Load(ctx, m.Key("1").Prefix("ENTRY#")))(t)
	e.Value.Entries = []kit.Part{{N: 1, Text: "new"}}
	_, err := m.Save(ctx, e, mapper.CheckLoaded())
	got := kit.Stored(t, clean, "1")
	if err == nil && len(got.Entries) != 1 {
		t.Errorf("the add was acknowledged, and there is %+v", got)
	}
}

// With a client that cannot be watched, another writer changes an element that replaced a leftover item
// before the SDK repeats the request. The existing element does not prove that it existed before.
func TestUnwatchedAddOverALeftover(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
	kit.LeaveEntries(t, clean, kit.Part{N: 1, Text: "dead"})
	kit.Must(clean.Save(ctx, clean.New(kit.Account{ID: "1", Counter: 2})))(t)
	puts := 0
	tr := &kit.Faulty{At: -1}
	tr.Late = func(r *http.Request) bool {
		if kit.OperationOf(r) == "PutItem" {
			puts++
			if puts == 3 {
				e := kit.Must(clean.Load(ctx, clean.Key("1")))(t)
				e.Value.Entries[0].Text = "changed"
				kit.Must(clean.Save(ctx, e))(t)
			}
		}
		return false
	}
	n := 0
	tr.Pick = func() kit.Fault {
		n++
		if n == 4 { // root, put, root, put
			return kit.DropAnswer
		}
		return kit.None
	}
	m := kit.Must(mapper.New[kit.Account](kit.Unwatched{C: kit.Client(t, tr, 2)}, mapper.Table(table)))(t)
	_, err := handmade.Elements[kit.Account,
		kit.Part]{Node: handmade.Node(m.Key("1")), Item: 3}.Add(kit.Part{N: 1, Text: "new"}).Exec(ctx,
		m)
	var unknown *mapper.OutcomeUnknownError
	if !errors.As(err, &unknown) {
		t.Errorf("its put was applied, and it says %v; %v", err, tr.Log)
	}
}

type tallied struct {
	_    struct{} `ddb:"table=tallied"`
	ID   string   `ddb:"pk=T#{ID}"`
	Name string   `ddb:"sk=HEAD"`
	Hits struct {
		N    int
		Note string
	} `ddb:"sk=HITS"`
}

// The same of an increment: it must not be sent again as an update of its own put.
func TestUnwatchedIncrementOverALeftover(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := kit.Must(mapper.New[tallied](kit.Client(t, &kit.Faulty{At: -1}, 1), mapper.Table(table)))(t)
	c := &kit.Crash{Left: 2}
	dying := kit.Must(mapper.New[tallied](kit.Client(t, c.Transport(), 1), mapper.Table(table)))(t)
	v := tallied{ID: "1", Name: "dead"}
	v.Hits.N = 100
	_, _ = dying.Save(ctx, dying.New(v), mapper.Staged())
	kit.Must(clean.Save(ctx, clean.New(tallied{ID: "1", Name: "live"})))(t)
	hits := handmade.Number("Hits.N", "", func(v *tallied) *int { return &v.Hits.N })
	puts, dropped := 0, false
	tr := &kit.Faulty{At: -1}
	tr.Late = func(r *http.Request) bool {
		if kit.OperationOf(r) == "PutItem" {
			if puts++; puts == 2 {
				e := kit.Must(clean.Load(ctx, clean.Key("1")))(t)
				e.Value.Hits.Note = "B"
				kit.Must(clean.Save(ctx, e))(t)
			}
		}
		return false
	}
	tr.Pick = func() kit.Fault {
		if n := len(tr.Log); !dropped && n == 2 { // update, root, put
			dropped = true
			return kit.DropAnswer
		}
		return kit.None
	}
	m := kit.Must(mapper.New[tallied](kit.Unwatched{C: kit.Client(t, tr, 2)}, mapper.Table(table)))(t)
	_, err := handmade.EntityOf(m.Key("1")).Patch(hits.Increment(1)).Exec(ctx, m)
	got := kit.Must(clean.Load(ctx, clean.Key("1")))(t)
	if got.Value.Hits.N > 1 {
		t.Errorf("incremented by 1, and it is %d: %v", got.Value.Hits.N, err)
	}
}

// A client that cannot be watched loses the first copy of a patch, and the second is refused
// because the item is of an unfinished insert. The first may still arrive.
func TestUnwatchedPatchRefused(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	c := &kit.Crash{Left: 3} // the claim, and two parts
	dying := kit.NewAccounts(t, table, c.Transport(), 1)
	_, _ = dying.Save(ctx, dying.New(kit.Account{ID: "1", Counter: 1, Left: "a", Right: "b"}), mapper.Staged())
	l := &losing{operation: "UpdateItem", lose: 1}
	m := kit.Must(mapper.New[kit.Account](kit.Unwatched{C: kit.Client(t, l.transport(), 2)}, mapper.Table(table)))(t)
	left := handmade.String("Left", "", func(v *kit.Account) *string { return &v.Left })
	_, err := handmade.EntityOf(m.Key("1")).Patch(left.Set("patched")).Exec(ctx, m)
	var unknown *mapper.OutcomeUnknownError
	if !errors.As(err, &unknown) {
		t.Errorf("a copy of it is on its way, and it says %v", err)
	}
}

// A client that cannot be watched has the first copy of an increment, exactly once, on its way; the
// second is refused because of the mark. It must not go round again, and be applied twice.
func TestUnwatchedExactlyOnceIncrement(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := kit.Must(mapper.New[tallied](kit.Client(t, &kit.Faulty{At: -1}, 1), mapper.Table(table)))(t)
	v := tallied{ID: "1", Name: "live"}
	v.Hits.N, v.Hits.Note = 10, "x"
	kit.Must(clean.Save(ctx, clean.New(v), mapper.Staged()))(t)
	hits := handmade.Number("Hits.N", "", func(v *tallied) *int { return &v.Hits.N })
	l := &losing{operation: "TransactWriteItems", lose: 1}
	m := kit.Must(mapper.New[tallied](kit.Unwatched{C: kit.Client(t, l.transport(), 2)}, mapper.Table(table)))(t)
	_, err := handmade.EntityOf(m.Key("1")).Patch(hits.Increment(1)).Exec(ctx, m, mapper.ExactlyOnce())
	e := kit.Must(clean.Load(ctx, clean.Key("1")))(t)
	e.Value.Hits.Note = "B"
	kit.Must(clean.Save(ctx, e))(t)
	l.Deliver(t)
	got := kit.Must(clean.Load(ctx, clean.Key("1")))(t)
	if err == nil && got.Value.Hits.N != 11 {
		t.Errorf("acknowledged, and incremented to %d", got.Value.Hits.N)
	}
}
