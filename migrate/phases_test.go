package migrate_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/fakedynamo"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/migrate"
)

// A contract enters its phase before it looks at the entities: so that no settle makes a monolith behind the look.
func TestKeepMonolithBeforeAContractRemoves(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	for _, itemByItem := range []bool{false, true} {
		s := moved(t, 2)
		if _, err := s.migration().Cutover(ctx); err != nil {
			t.Fatal(err)
		}
		var result error
		c := fakedynamo.Before(s.client, "PutItem", `"removing"`, func() {
			s.foreign("p0", "late")
			result = settles("monolith", s.migration(), ctx, "p0")
		})
		r, err := s.over(c).Contract(ctx, s.source, itemByItem)
		w, m := s.wrapped()
		e, lerr := w.Load(ctx, m.Key("p0"))
		if result == nil && lerr != nil {
			t.Errorf("item by item %v: the settle was acknowledged, and the entity is nowhere: %v %v; contract %+v, %v",
				itemByItem, e, lerr, r, err)
		}
	}
}

// A rollback that was paused writes no monolith in a later migration, during a contract.
func TestPausedRollbackDuringAContract(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	s := newSetup(t)
	s.put(document("a", 3))
	s.mustRun(ctx)
	one, first := s.gated(matching("UpdateItem", `"rollingback"`))
	paused := inBackground(func() {
		if _, err := s.over(one, migrate.Segments(1)).Rollback(ctx); err == nil ||
			!strings.Contains(err.Error(), "has ended the rollback") {
			t.Errorf("the paused one: %v", err)
		}
	})
	s.held(first)
	s.rollBack(ctx, s.client)
	s.mustRun(ctx)
	if v, err := s.migration().Verify(ctx); err != nil || !v.Clean() {
		t.Fatal(v, err)
	}
	if _, err := s.migration().Cutover(ctx); err != nil {
		t.Fatal(err)
	}
	c := fakedynamo.Before(s.client, "DeleteTable", "", func() { first.release(); s.waits(paused) })
	r, err := s.over(c).Contract(ctx, s.source, false)
	w, m := s.wrapped()
	if _, lerr := w.Load(ctx, m.Key("a")); lerr != nil {
		t.Errorf("the entity is nowhere: %v; contract %+v, %v", lerr, r, err)
	}
}

// A run after the contract, such as a job that is retried, changes nothing.
func TestRunBehindAContract(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	for _, dead := range []bool{false, true} {
		s := moved(t, 2)
		w, m := s.wrapped() // an application, started before
		job := s.migration()
		if _, err := s.migration().Cutover(ctx); err != nil {
			t.Fatal(err)
		}
		if _, err := s.migration().Contract(ctx, s.source, false); err != nil {
			t.Fatal(err)
		}
		open := func() (*migrate.Migration, error) {
			return migrate.Open(ctx, s.client, s.layout(), s.source,
				migrate.Tables(func(string) string { return s.target }), migrate.Segments(3))
		}
		if dead { // the job of a machine that was started behind the contract
			var err error
			if job, err = open(); err != nil {
				t.Fatal(err)
			}
		}
		_, missing := w.Load(ctx, m.Key("none"))
		_, inserted := w.Insert(ctx, Package{Name: "new"})
		if !errors.Is(missing, mapper.ErrNotFound) || inserted != nil {
			t.Fatal(missing, inserted)
		}
		if _, err := job.Run(ctx); err == nil || !strings.Contains(err.Error(), "has ended") {
			t.Errorf("a run: %v", err)
		}
		_, opened := open()
		if opened != nil {
			t.Errorf("behind that nobody can open the migration: %v", opened)
		}
		if _, missing := w.Load(ctx, m.Key("none")); !errors.Is(missing, mapper.ErrNotFound) {
			t.Errorf("a load of what is missing: %v", missing)
		}
		if _, err := w.Insert(ctx, Package{Name: "new2"}); err != nil {
			t.Errorf("an insert: %v", err)
		}
		if _, err := w.Update(ctx, m.Key("p0"), func(p *Package) error { p.License = "x"; return nil }); err != nil {
			t.Errorf("an update: %v", err)
		}
		if err := w.Delete(ctx, m.Key("p1")); err != nil {
			t.Errorf("a delete: %v", err)
		}
		for name, step := range map[string]func() error{
			"run":      func() error { _, err := job.Run(ctx); return err },
			"verify":   func() error { _, err := job.Verify(ctx); return err },
			"cutover":  func() error { _, err := job.Cutover(ctx); return err },
			"contract": func() error { _, err := job.Contract(ctx, s.source, false); return err },
			"rollback": func() error { _, err := job.Rollback(ctx); return err },
		} {
			if err := step(); err == nil || !strings.Contains(err.Error(), "has ended") {
				t.Errorf("%s: %v", name, err)
			}
		}
		if st, err := job.Status(ctx); err != nil || st.Phase != "done" {
			t.Errorf("the phase is %q, %v", st.Phase, err)
		}
	}
}

// A contract that has ended stays ended, also for a rollback that has read the phase before.
func TestRollbackDuringTheEndOfAContract(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	for at := 1; at <= 8; at++ {
		s := moved(t, 2)
		w, m := s.wrapped()
		if _, err := s.migration().Cutover(ctx); err != nil {
			t.Fatal(err)
		}
		contract := s.migration()
		var contracted error
		c := s.before(at, func() { _, contracted = contract.Contract(ctx, s.source, false) })
		g, err := migrate.Open(ctx, &expected{Client: c, of: s.client}, s.layout(), s.source,
			migrate.Tables(func(string) string { return s.target }), migrate.Segments(3))
		if err != nil {
			t.Fatal(err)
		}
		_, rolled := g.Rollback(ctx)
		st, err := contract.Status(ctx)
		if err != nil {
			t.Fatal(err)
		}
		_, opened := migrate.Open(ctx, s.client, s.layout(), s.source,
			migrate.Tables(func(string) string { return s.target }), migrate.Segments(3))
		_, missing := w.Load(ctx, m.Key("none"))
		if contracted == nil && (st.Phase != "done" || opened != nil || !errors.Is(missing, mapper.ErrNotFound)) {
			t.Errorf("a contract ends before request %d of a rollback (%v): the phase is %q; open: %v; a load of "+
				"what is missing: %v", at, rolled, st.Phase, opened, missing)
		}
	}
}

// A rollback reads the phase and the note of one migration, though another one begins in between.
func TestRollbackWithTheNoteOfAnotherRound(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	most := draws.Times(1, 1, 9) // requests between the two
	for i := 1; i <= 8; i++ {
		for j := i; j <= min(9, i+most); j++ {
			s := newSetup(t)
			s.put(document("a", 2))
			s.mustRun(ctx)
			w, _ := s.wrapped()
			c := s.before(i, func() { s.rollBack(ctx, s.client) })
			insert := func() {
				if _, err := w.Insert(ctx, Package{Name: "e"}); err != nil {
					t.Error(err)
				}
			}
			if i == j {
				c = s.before(i, func() { s.rollBack(ctx, s.client); insert() })
			} else {
				c = dynamodb.New(c.Options(),
					func(o *dynamodb.Options) { o.HTTPClient = &nth{next: o.HTTPClient, at: j, do: insert} })
			}
			g, err := migrate.Open(ctx, &expected{Client: c, of: s.client}, s.layout(), s.source,
				migrate.Tables(func(string) string { return s.target }), migrate.Segments(1))
			if err != nil {
				t.Fatal(err)
			}
			r, err := g.Rollback(ctx)
			st, _ := s.migration().Status(ctx)
			if err == nil && st.Phase == "" && len(s.collections()) > 0 {
				t.Errorf("%d %d: a rollback has ended (%+v), and there are %s", i, j, r.This, s.keys())
			}
			s.rollBack(ctx, s.client)
			if len(s.collections()) > 0 {
				t.Errorf("%d %d: after one more rollback there are %s, monoliths %q", i, j, s.keys(), s.unmarked())
			}
		}
	}
}

// A cut-over is of the migration that it has verified.
func TestCutoverOfAnotherRound(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	s := moved(t, 2)
	w, _ := s.wrapped()
	c := fakedynamo.Before(s.client, "PutItem", `"cutOver"`, func() {
		s.rollBack(ctx, s.client)
		if _, err := w.Insert(ctx, Package{Name: "e"}); err != nil {
			t.Error(err)
		}
	})
	if v, err := s.over(c).Cutover(ctx); err == nil {
		t.Errorf("it is cut over, and these have not moved: %q (%+v)", s.unmarked(), v)
	}
}

// A slow delete removes no monolith that was marked for the next entity of its key.
func TestSlowDeleteRemovesNoMovedMonolith(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	s := newSetup(t)
	_, m := s.wrapped()
	if _, err := m.Save(ctx,
		m.New(Package{Name: "older", Description: "a collection that was there before"})); err != nil {
		t.Fatal(err)
	}
	s.put(document("a", 3))
	s.mustRun(ctx)
	back, atSource := s.gated(matching("Scan", `"`+s.source+`"`))
	rolled := inBackground(func() {
		if r, err := s.over(back, migrate.Segments(1)).Rollback(ctx); err != nil || r.This.Conflicts > 0 {
			t.Errorf("%+v %v", r, err)
		}
	})
	s.held(atSource)
	deleter, beforeRemoval := s.gated(func(op, b string) bool {
		return op == "GetItem" && strings.Contains(b, `"`+s.source+`"`) && !strings.Contains(s.keys(), "PACKAGE#a/")
	})
	deleting := inBackground(func() {
		w, m := s.through(deleter)
		if err := w.Delete(ctx, m.Key("a")); err != nil {
			t.Error(err)
		}
	})
	s.held(beforeRemoval)
	w, _ := s.wrapped()
	if _, err := w.Insert(ctx, Package{Name: "a", Description: "again"}); err != nil {
		t.Fatal(err)
	}
	atSource.release()
	s.waits(rolled)
	if s.unmarked() != "a" {
		t.Fatal(s.unmarked())
	}
	s.mustRun(ctx)
	beforeRemoval.release()
	s.waits(deleting)
	r, err := s.migration().Rollback(ctx)
	if got := s.unmarked(); got != "a" {
		t.Errorf("after a rollback (%+v, %v) the monoliths are %q, items %s", r.This, err, got, s.keys())
	}
}
