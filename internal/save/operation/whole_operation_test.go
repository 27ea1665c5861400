package operation_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
)

// All operations go through one write loop: a delete is the same alone, and as a part of a transaction.

// An own delete that arrives while the entity is deleted again in a transaction is no conflict, and no
// endless retry. Since nothing shows who deleted the entity, the other parts are not written.
func TestDeletingEndsWhenOwnDeleteArrivesLate(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	l := &losing{operation: "TransactWriteItems"}
	m := kit.NewAccounts(t, table, l.transport(), 1)
	e := m.New(kit.Account{ID: "1", Left: "a"})
	kit.Must(m.Save(ctx, e))(t)
	l.lose = 100
	if _, err := m.Delete(ctx, e); err == nil {
		t.Fatal("every request was lost")
	}
	l.lose = 0
	l.before = func(operation string) {
		if operation == "TransactWriteItems" {
			l.before = nil
			l.Deliver(t)
		}
	}
	r, err := mapper.Transact(ctx, m.DeletePart(e), m.SavePart(m.New(kit.Account{ID: "2"})))
	if !errors.Is(err, mapper.ErrNotFound) || r.Predicted().Requests > 8 {
		t.Errorf("%v, %v", r, err)
	}
	if n := kit.ItemsOf(t, table, "1"); n != 0 {
		t.Errorf("%d items are left", n)
	}
	if n := kit.ItemsOf(t, table, "2"); n > 0 {
		t.Error("the other part was written")
	}
}

// A delete by key reads again what another writer changes in between, also if it deletes one item after
// the other and some are deleted already.
func TestDeleteByKeyRereadsAfterConflict(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
	for name, c := range map[string]struct {
		operation string
		nth       int
		options   []mapper.WriteOption
	}{
		"a transaction":                {"TransactWriteItems", 1, nil},
		"one by one":                   {"DeleteItem", 1, []mapper.WriteOption{mapper.Independent()}},
		"one by one, behind the first": {"DeleteItem", 2, []mapper.WriteOption{mapper.Independent()}},
	} {
		kit.Must(clean.Save(ctx, clean.New(kit.Account{ID: "1", Counter: 1, Left: "a", Right: "b"})))(t)
		m := kit.NewAccounts(t, table, kit.AtRequest(c.operation, c.nth, func() {
			e := kit.Must(clean.Load(ctx, clean.Key("1")))(t)
			e.Value.Counter++
			kit.Must(clean.Save(ctx, e))(t)
		}), 1)
		if r, err := m.DeleteByKey(ctx, m.Key("1"), c.options...); err != nil {
			t.Errorf("%s: %v, %v", name, r, err)
		}
		if n := kit.ItemsOf(t, table, "1"); n != 0 {
			t.Errorf("%s: %d items are left", name, n)
		}
	}
}

// A client that cannot be watched may have sent a refused delete before. A delete by key reads again,
// and what does not exist any more is deleted: it is not ErrNotFound, since the delete may have been
// its own.
func TestDeleteByKeyOfUnwatchedClientIsRepeated(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
	for name, rival := range map[string]func(){
		"changed": func() {
			e := kit.Must(clean.Load(ctx, clean.Key("1")))(t)
			e.Value.Counter++
			kit.Must(clean.Save(ctx, e))(t)
		},
		"deleted": func() { kit.Must(clean.DeleteByKey(ctx, clean.Key("1")))(t) },
	} {
		kit.Must(clean.Save(ctx, clean.New(kit.Account{ID: "1", Counter: 1, Left: "a"})))(t)
		m := kit.Must(mapper.New[kit.Account](kit.Unwatched{C: kit.Client(t,
			kit.AtRequest("TransactWriteItems", 1, rival), 1)},
			mapper.Table(table)))(t)
		if r, err := m.DeleteByKey(ctx, m.Key("1")); err != nil {
			t.Errorf("%s: %v, %v", name, r, err)
		}
		if n := kit.ItemsOf(t, table, "1"); n != 0 {
			t.Errorf("%s: %d items are left", name, n)
		}
	}
}

// An operation that gives up says why: errors.As finds the last conflict.
func TestExhaustedRetriesKeepTheLastConflict(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
	kit.Must(clean.Save(ctx, clean.New(kit.Account{ID: "1", Counter: 1, Left: "a"})))(t)
	m := kit.NewAccounts(t, table, atEach("TransactWriteItems", func() {
		e := kit.Must(clean.Load(ctx, clean.Key("1")))(t)
		e.Value.Counter++
		kit.Must(clean.Save(ctx, e))(t)
	}), 1)
	_, err := mapper.Transact(ctx, m.DeletePartByKey(m.Key("1")), m.SavePart(m.New(kit.Account{ID: "3"})))
	var conflict *mapper.ConflictError
	if !errors.As(err, &conflict) || len(conflict.Items) == 0 || conflict.Items[0].Conflict != "changed" {
		t.Errorf("%v", err)
	}
}

// A write of several steps that ends after some of them is a *PartialError, also if the last error comes after a retry.
func TestIndependentWriteThatEndsIsPartial(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]kit.Fault{"access denied": kit.Deny, "context ended": kit.CancelBefore} {
		table := testengine.Table(t, "PK:S", "SK:S")
		clean := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
		kit.Must(clean.Save(context.Background(),
			clean.New(kit.Account{
				ID: "1", Counter: 1,
				Entries: []kit.Part{{N: 1, Text: "a"}, {N: 2, Text: "b"}, {N: 3, Text: "c"}},
			})))(t)
		r := kit.NewForeign(t, table)
		ctx, cancel := context.WithCancel(context.Background())
		// which is read again
		f := kit.AtRequest("DeleteItem", 2, func() { r.Set("ACCOUNT#1", "ENTRY#0002", "_v", kit.S("changed")) })
		f.Cancel = cancel
		deletes := 0
		f.Pick = func() kit.Fault {
			if f.Log[len(f.Log)-1] == "DeleteItem" {
				if deletes++; deletes == 3 {
					return end
				}
			}
			return kit.None
		}
		m := kit.NewAccounts(t, table, f, 1)
		_, err := m.DeleteByKey(ctx, m.Key("1"), mapper.Independent())
		var partial *mapper.PartialError
		if !errors.As(err, &partial) || len(partial.Written) != 1 || len(partial.Rest) != 3 {
			t.Errorf("%s: %v", name, err)
		}
		if left := r.All("ACCOUNT#1"); len(left) != 3 {
			t.Errorf("%s: %d items are left", name, len(left))
		}
		cancel()
	}
}

// Law 6: an error names an item as not written only if no plan wrote it. The added element is the only step of a second
// plan, which replaces a leftover item. Its root item cannot be read afterwards: the outcome of the element is unknown.
func TestPartialErrorNamesNoItemOfSecondPlanThatWasWritten(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	table, f := testengine.Table(t, "PK:S", "SK:S"), &kit.Faulty{At: -1}
	clean := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
	kit.LeaveEntries(t, clean, kit.Part{N: 5, Text: "dead"})
	kit.Must(clean.Save(ctx, clean.New(kit.Account{ID: "1", Counter: 1})))(t)
	m := kit.NewAccounts(t, table, f, 1)
	e := kit.Must(m.Load(ctx, m.Key("1")))(t)
	e.Value.Counter, e.Value.Entries = 2, []kit.Part{{N: 5, Text: "mine"}}
	puts := 0
	f.Pick = func() kit.Fault {
		switch f.Log[len(f.Log)-1] {
		case "PutItem":
			puts++
		case "GetItem":
			if puts == 2 {
				return kit.Deny
			}
		}
		return kit.None
	}
	_, err := m.Save(ctx, e, mapper.Independent())
	if errors.As(err, new(*mapper.PartialError)) || !errors.As(err, new(*mapper.OutcomeUnknownError)) || puts != 2 {
		t.Errorf("after %d puts: %v", puts, err)
	}
	if got := kit.Stored(t, clean, "1"); got.Counter != 2 || len(got.Entries) != 1 || got.Entries[0].Text != "mine" {
		t.Errorf("stored %+v", got)
	}
}

// Update never applies its function again after a part of it was written.
func TestUpdateAppliesOnceAfterPartialWrite(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, before := range map[string]func(r *kit.Foreign, n int64){
		// The element that is added finds a leftover item in its place: the save plans again, and then
		"another item takes the place": func(r *kit.Foreign, n int64) {
			if n == 2 {
				r.Put(kit.Item{"PK": kit.S("ACCOUNT#1"), "SK": kit.S("ENTRY#0005"), "Text": kit.S("other")})
			}
		},
		"the leftover item keeps changing": func(r *kit.Foreign, n int64) {
			if n < 14 {
				r.Set("ACCOUNT#1", "ENTRY#0005", "_v", kit.S(fmt.Sprint("other", n)))
			}
		},
	} {
		table := testengine.Table(t, "PK:S", "SK:S")
		clean := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
		kit.LeaveEntries(t, clean, kit.Part{N: 5, Text: "dead"})
		kit.Must(clean.Save(ctx, clean.New(kit.Account{ID: "1", Counter: 1})))(t)
		r := kit.NewForeign(t, table)
		var puts atomic.Int64
		m := kit.NewAccounts(t, table, atEach("PutItem", func() { before(r, puts.Add(1)) }), 1)
		_, err := m.Update(ctx, m.Key("1"), func(a *kit.Account) error {
			a.Counter++
			a.Entries = []kit.Part{{N: 5, Text: "mine"}}
			return nil
		}, mapper.Independent())
		if got := kit.Stored(t, clean, "1"); got.Counter != 2 || !errors.As(err, new(*mapper.PartialError)) {
			t.Errorf("%s: applied %d times, %v", name, got.Counter-1, err)
		}
	}
}

// With ExactlyOnce a delete of a single item by an unwatched client is not sent again under another
// token: its first copy could delete a later write.
func TestExactlyOnceDeleteOfUnwatchedClientIsUnknown(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
	kit.Must(clean.Save(ctx, clean.New(kit.Account{ID: "1", Counter: 1, Left: "a"}), mapper.Staged()))(t)
	l := &losing{operation: "TransactWriteItems", lose: 1}
	m := kit.Must(mapper.New[kit.Account](kit.Unwatched{C: kit.Client(t, l.transport(), 2)}, mapper.Table(table)))(t)
	_, err := m.DeleteByKey(ctx, m.Key("1").Item("LEFT"), mapper.ExactlyOnce())
	if !errors.As(err, new(*mapper.OutcomeUnknownError)) {
		t.Errorf("%v", err)
	}
}

// An insert that gives up because others keep inserting the entity does not say that it exists.
func TestExhaustedTakeoverIsNoErrExists(t *testing.T) {
	t.Parallel()
	table := testengine.Table(t, "PK:S", "SK:S")
	m := kit.NewAccounts(t, table, kit.Claimed(t, table), 1)
	_, err := m.Save(request.WithoutPauses(context.Background()), m.New(kit.Account{ID: "1", Counter: 2, Left: "x"}))
	if err == nil || errors.Is(err, mapper.ErrExists) || !errors.As(err, new(*mapper.ConflictError)) {
		t.Errorf("%v", err)
	}
}

// An error of Update's function ends the update, and is returned unchanged. This includes an error of
// another mapper, and one of a save that gave up after conflicts.
func TestUpdateReturnsErrorOfItsFunction(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
	kit.Must(clean.Save(ctx, clean.New(kit.Account{ID: "2", Counter: 1})))(t)
	inserting := kit.NewAccounts(t, table, kit.Claimed(t, table), 1)
	users, _ := kit.NewUsers(t)
	for name, other := range map[string]func() error{
		"invalid value": func() error { _, err := users.Save(ctx, users.New(kit.User{ID: ""})); return err },
		"save gave up": func() error {
			_, err := inserting.Save(ctx, inserting.New(kit.Account{ID: "1", Left: "x"}))
			return err
		},
		"missing entity": func() error { _, err := clean.Load(ctx, clean.Key("none")); return err },
	} {
		calls := 0
		var passed error
		_, err := clean.Update(ctx, clean.Key("2"), func(*kit.Account) error {
			calls++
			passed = fmt.Errorf("mine: %w", other())
			return passed
		})
		if calls != 1 || err != passed {
			t.Errorf("%s: %d calls, %v", name, calls, err)
		}
	}
}

// Options are refused before a request, also while the number of shards changes.
func TestShardedDeleteChecksOptionsFirst(t *testing.T) {
	t.Parallel()
	f := &kit.Faulty{At: -1, Pick: func() kit.Fault { return kit.Deny }}
	m := kit.Must(mapper.New[kit.ShopNew](kit.Client(t, f, 1)))(t)
	if _, err := m.DeleteByKey(context.Background(), m.Key("a", 1), mapper.Move()); err == nil || f.Count > 0 {
		t.Errorf("%d requests, %v", f.Count, err)
	}
}
