package mapper_test

import (
	"context"
	"errors"
	"testing"

	"github.com/itemize/itemize/integration/enginetest"
	"github.com/itemize/itemize/mapper"
)

// All operations go through one write loop: a delete is the same alone, and as a part of a transaction.

// An own delete that arrives while the entity is deleted again in a transaction is no conflict, and no endless retry.
func TestDeletingEndsWhenOwnDeleteArrivesLate(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := enginetest.Table(t, "PK:S", "SK:S")
	l := &losing{operation: "TransactWriteItems"}
	m := newAccounts(t, table, l.transport(), 1)
	e := m.New(account{ID: "1", Left: "a"})
	must(m.Save(ctx, e))(t)
	l.lose = 100
	if _, err := m.Delete(ctx, e); err == nil {
		t.Fatal("every request was lost")
	}
	l.lose = 0
	l.before = func(operation string) {
		if operation == "TransactWriteItems" {
			l.before = nil
			l.deliver(t)
		}
	}
	r, err := mapper.Transact(ctx, m.Deleting(e), m.Saving(m.New(account{ID: "2"})))
	if err != nil || r.Requests() > 8 {
		t.Errorf("%v, %v", r, err)
	}
	if n := items(t, table, "1"); n != 0 {
		t.Errorf("%d items are left", n)
	}
	if n := items(t, table, "2"); n == 0 {
		t.Error("the other part was not written")
	}
}

// A delete by key reads again what another writer changes in between, also if it deletes one item after the other and some are
// deleted already.
func TestDeleteByKeyReadsAgainAfterConflict(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := enginetest.Table(t, "PK:S", "SK:S")
	clean := newAccounts(t, table, &faulty{at: -1}, 1)
	for name, c := range map[string]struct {
		operation string
		nth       int
		options   []mapper.WriteOption
	}{
		"a transaction":                {"TransactWriteItems", 1, nil},
		"one by one":                   {"DeleteItem", 1, []mapper.WriteOption{mapper.Independent()}},
		"one by one, behind the first": {"DeleteItem", 2, []mapper.WriteOption{mapper.Independent()}},
	} {
		must(clean.Save(ctx, clean.New(account{ID: "1", Counter: 1, Left: "a", Right: "b"})))(t)
		m := newAccounts(t, table, atRequest(c.operation, c.nth, func() {
			e := must(clean.Load(ctx, clean.Key("1")))(t)
			e.Value.Counter++
			must(clean.Save(ctx, e))(t)
		}), 1)
		if r, err := m.Delete(ctx, m.Key("1"), c.options...); err != nil {
			t.Errorf("%s: %v, %v", name, r, err)
		}
		if n := items(t, table, "1"); n != 0 {
			t.Errorf("%s: %d items are left", name, n)
		}
	}
}

// A client that cannot be watched may have sent a refused delete before. A delete by key reads again, and what does not exist any
// more is deleted: it is not ErrNotFound, since the delete may have been its own.
func TestDeleteByKeyOfUnwatchedClientIsRepeated(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := enginetest.Table(t, "PK:S", "SK:S")
	clean := newAccounts(t, table, &faulty{at: -1}, 1)
	for name, rival := range map[string]func(){
		"changed": func() {
			e := must(clean.Load(ctx, clean.Key("1")))(t)
			e.Value.Counter++
			must(clean.Save(ctx, e))(t)
		},
		"deleted": func() { must(clean.Delete(ctx, clean.Key("1")))(t) },
	} {
		must(clean.Save(ctx, clean.New(account{ID: "1", Counter: 1, Left: "a"})))(t)
		m := must(mapper.New[account](deaf{client(t, atRequest("TransactWriteItems", 1, rival), 1)}, mapper.Table(table)))(t)
		if r, err := m.Delete(ctx, m.Key("1")); err != nil {
			t.Errorf("%s: %v, %v", name, r, err)
		}
		if n := items(t, table, "1"); n != 0 {
			t.Errorf("%s: %d items are left", name, n)
		}
	}
}

// A plan that cannot be sent has the error of the operation, and a retry that gives up says why: the last conflict is found by
// errors.As.
func TestExhaustedRetriesKeepTheLastConflict(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := enginetest.Table(t, "PK:S", "SK:S")
	clean := newAccounts(t, table, &faulty{at: -1}, 1)
	must(clean.Save(ctx, clean.New(account{ID: "1", Counter: 1, Left: "a"})))(t)
	m := newAccounts(t, table, atEach("TransactWriteItems", func() {
		e := must(clean.Load(ctx, clean.Key("1")))(t)
		e.Value.Counter++
		must(clean.Save(ctx, e))(t)
	}), 1)
	_, err := mapper.Transact(ctx, m.Deleting(m.Key("1")), m.Saving(m.New(account{ID: "3"})))
	var conflict *mapper.ConflictError
	if !errors.As(err, &conflict) || len(conflict.Items) == 0 || conflict.Items[0].Conflict != mapper.ConflictChanged {
		t.Errorf("%v", err)
	}
}
