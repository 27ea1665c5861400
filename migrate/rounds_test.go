package migrate_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/fakedynamo"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/migrate"
)

// The tests of this file have several migrations and rollbacks of one table, and programs that write at
// the same time.

// unmarked are the names of the monoliths without a mark.
func (s *setup) unmarked() string {
	s.Helper()
	var names []string
	for _, a := range s.all(s.source) {
		if a["_m"] == nil {
			names = append(names, text(a["name"]))
		}
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// monoliths fails unless there are these alone.
func (s *setup) monoliths(want string) {
	s.Helper()
	if got := s.unmarked(); got != want || len(s.collections()) > 0 {
		s.Errorf("the monoliths are %q, want %q, and %d items of collections are left", got, want, len(s.collections()))
	}
}

func (s *setup) rollBack(ctx context.Context, c migrate.Client) {
	s.Helper()
	if r, err := s.over(c).Rollback(ctx); err != nil || r.This.Conflicts > 0 {
		s.Fatalf("%+v, %v", r, err)
	}
}

// An entity that is inserted during a repeated rollback is a monolith at its end. One that is inserted
// after it is a monolith at the end of the next rollback.
func TestInsertDuringARepeatedRollback(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	s := newSetup(t)
	s.put(document("a", 2))
	w, _ := s.wrapped()
	insert := func(name string) {
		if _, err := w.Insert(ctx, Package{Name: name}); err != nil {
			t.Error(err)
		}
	}
	if _, err := s.migration().Run(ctx); err != nil {
		t.Fatal(err)
	}
	s.rollBack(ctx, s.client)
	s.rollBack(ctx, fakedynamo.Before(s.client, "Scan", s.source, func() { insert("e") }))
	s.monoliths("a e")
	insert("f")
	s.rollBack(ctx, s.client)
	s.monoliths("a e f")
}

// A program that is about to begin a migration takes the collections of one before it, that was rolled
// back in the meantime, for none of the table's own.
func TestMigrationBeginsDuringAnotherRound(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	s := newSetup(t)
	s.put(document("a", 2))
	if _, err := s.migration().Run(ctx); err != nil {
		t.Fatal(err)
	}
	s.rollBack(ctx, s.client)
	first, _ := s.wrapped()
	c := fakedynamo.Before(s.client, "Scan", s.target, func() { // the second looks whether there are collections
		if _, err := first.Insert(ctx, Package{Name: "e"}); err != nil {
			t.Error(err)
		}
	})
	c = fakedynamo.Before(c, "TransactWriteItems", "begun", func() { s.rollBack(ctx, s.client) }) // and notes that
	second, _ := s.through(c)
	if _, err := second.Insert(ctx, Package{Name: "f"}); err != nil {
		t.Fatal(err)
	}
	s.rollBack(ctx, s.client)
	s.monoliths("a e f")
}

// While a migration of another source is under way, a rollback that was begun again takes no inserts of its own source.
func TestInsertDuringAnotherMigrationIsNotLost(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	s, second := two(t)
	s.rollBack(ctx, s.client)
	s.failingStep(ctx, fakedynamo.KilledBefore, 8, (*migrate.Migration).Rollback)
	w, m := s.wrapped()
	s.source = second
	s.put(document("b", 2))
	_, _ = s.migration().Run(ctx)
	_, inserted := w.Insert(ctx, Package{Name: "e"})
	_, _ = s.migration().Rollback(ctx)
	if _, err := w.Load(ctx, m.Key("e")); inserted == nil && err != nil {
		t.Errorf("an inserted entity is gone: %v", err)
	}
}

// A checkpoint that a run notes after its migration was rolled back is none of the next migration.
func TestCheckpointIsOfItsMigration(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	s := newSetup(t)
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		s.put(document(name, 1))
	}
	c := fakedynamo.Before(s.client, "PutItem", "segment#", func() {
		if _, err := s.migration(migrate.Segments(1)).Rollback(ctx); err != nil {
			t.Error(err)
		}
	})
	_, _ = s.over(c, migrate.Segments(1)).Run(ctx)
	if r, err := s.migration(migrate.Segments(2)).Run(ctx); err != nil || r.This.Moved != 6 {
		t.Errorf("%+v, %v", r, err)
	}
}

// A rollback that was paused brings back nothing that was deleted since another one has ended.
func TestPausedRollbackBringsNothingBack(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	for _, by := range []string{"Wrap", "the old program"} {
		s := newSetup(t)
		w, m := s.wrapped()
		if _, err := w.Insert(ctx, Package{Name: "e", Tags: map[string]string{"a": "b"}}); err != nil {
			t.Fatal(err)
		}
		paused := false
		c := fakedynamo.Before(s.client, "TransactWriteItems", `"name":{"S":"e"}`, func() { // the put of the monolith
			paused = true
			s.rollBack(ctx, s.client)
			if by == "the old program" {
				s.remove(s.source, attributes{"name": textValue("e")})
			} else if err := w.Delete(ctx, m.Key("e")); err != nil {
				t.Error(err)
			}
		})
		if _, _ = s.over(c).Rollback(ctx); !paused { // another one has ended it
			t.Fatal("the rollback was not paused")
		}
		if _, err := w.Load(ctx, m.Key("e")); !errors.Is(err, mapper.ErrNotFound) {
			t.Errorf("%s: it is there again: %v", by, err)
		}
		s.monoliths("")
	}
}

// After a rollback, entities that were deleted during it, or are deleted after it, are not in the old
// table.
func TestDeletedMonolithsAreRemovedDuringARollback(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	s := newSetup(t)
	for _, name := range []string{"a", "b", "c"} {
		s.put(document(name, 2))
	}
	w, m := s.wrapped()
	remove := func(name string) {
		if err := w.Delete(ctx, m.Key(name)); err != nil {
			t.Error(err)
		}
	}
	remove("c") // before any run
	if _, err := s.migration().Run(ctx); err != nil {
		t.Fatal(err)
	}
	s.rollBack(ctx, fakedynamo.Before(s.client, "Scan", s.target, func() { remove("a") }))
	remove("b")
	if all := s.all(s.source); len(all) > 0 {
		t.Errorf("in the old table: %v", all)
	}
}

// A run that is slow marks no monolith behind the end of a rollback for good, though the old program
// has written the same content again.
func TestMarkBehindARollbackIsTakenBack(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	s := newSetup(t)
	s.put(document("a", 3))
	c := fakedynamo.Before(s.client, "UpdateItem", `"name":{"S":"a"}`, func() {
		s.rollBack(ctx, s.client)
		s.put(document("a", 3))
	})
	_, _ = s.over(c).Run(ctx)
	s.monoliths("a")
}

// A contract with a fault at any request is finished by the next contract, and programs that were
// started before it continue.
func TestContractIsRepeated(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	every := draws.Times(17, 9, 1) // request meets a fault
	for _, itemByItem := range []bool{false, true} {
		for what := range fakedynamo.Faults {
			for at := 1; ; at += every {
				s := moved(t, 2)
				w, m := s.wrapped()
				if _, err := s.migration().Cutover(ctx); err != nil {
					t.Fatal(err)
				}
				if !s.failing(ctx, what, at, func(g *migrate.Migration, ctx context.Context) error {
					_, err := g.Contract(ctx, s.source, itemByItem)
					return err
				}) {
					break
				}
				g, again := migrate.Open(ctx, s.client, s.layout(), s.source,
					migrate.Tables(func(string) string { return s.target }), migrate.Segments(3))
				if again == nil {
					if _, again = g.Contract(ctx, s.source, itemByItem); again != nil &&
						strings.Contains(again.Error(), "the migration has ended") {
						again = nil
					}
				}
				_, inserted := w.Insert(ctx, Package{Name: "new"})
				_, missing := w.Load(ctx, m.Key("none"))
				_, updated := w.Update(ctx, m.Key("p0"), func(p *Package) error { p.License = "x"; return nil })
				deleted := w.Delete(ctx, m.Key("p1"))
				if err := errors.Join(again, inserted, updated, deleted); err != nil ||
					!errors.Is(missing, mapper.ErrNotFound) {
					t.Errorf("item by item %v, %s at request %d: %v; a load of what is missing: %v", itemByItem, what,
						at, err, missing)
				}
			}
		}
	}
}
