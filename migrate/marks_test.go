package migrate_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/testing/fakedynamo"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/migrate"
)

// A monolith is an entity if its mark is of a claim that was removed before the mark: a foreign program
// had written the same content again.
func TestMarkOfARemovedClaim(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	for how, between := range map[string]func(s *setup){
		"the old program deletes it, an update removes the claim, " +
			"the old program inserts the same again": func(s *setup) {
			s.remove(s.source, attributes{"name": textValue("a")})
			w, m := s.wrapped()
			if _, err := w.Update(ctx, m.Key("a"), func(*Package) error { return nil }); !errors.Is(err,
				mapper.ErrNotFound) {
				t.Error(err)
			}
			s.put(document("a", 3))
		},
		"a delete through Wrap, and the old program inserts the same again": func(s *setup) {
			w, m := s.wrapped()
			if err := w.Delete(ctx, m.Key("a")); err != nil {
				t.Error(err)
			}
			s.put(document("a", 3))
		},
		"a rollback, the old program puts the same again, an insert begins the next migration": func(s *setup) {
			s.rollBack(ctx, s.client)
			s.put(document("a", 3))
			w, _ := s.wrapped()
			if _, err := w.Insert(ctx, Package{Name: "e"}); err != nil {
				t.Error(err)
			}
		},
	} {
		s := newSetup(t)
		s.put(document("a", 3))
		r, err := s.over(fakedynamo.Before(s.client, "UpdateItem", `"name":{"S":"a"}`, func() { between(s) })).Run(ctx)
		if err != nil {
			t.Errorf("%s: %v", how, err)
		}
		w, m := s.wrapped()
		if e, lerr := w.Load(ctx, m.Key("a")); lerr != nil || len(e.Value.Events) != 3 {
			t.Errorf("%s: the entity is gone: %v; the run: %+v, %v", how, lerr, r.This, err)
		}
		s.mustRun(ctx)
		if v, err := s.migration().Verify(ctx); err != nil || !v.Clean() {
			t.Errorf("%s: %+v, %v", how, v, err)
		}
		s.rollBack(ctx, s.client)
		if got := s.unmarked(); !strings.Contains(got, "a") {
			t.Errorf("%s: after a rollback the monoliths are %q", how, got)
		}
	}
}

// A deleted entity stays deleted, if another program has made it live for the run that marked its monolith.
func TestDeletedDuringARollbackStaysDeleted(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	s := newSetup(t)
	s.mustRun(ctx) // of nothing: it has begun
	s.put(document("a", 3))
	back, afterSource := s.gated(matching("Scan", s.target))
	rolled := inBackground(func() {
		if r, err := s.over(back, migrate.Segments(1)).Rollback(ctx); err != nil {
			t.Errorf("%+v %v", r, err)
		}
	})
	s.held(afterSource)
	mover, beforeLive := s.gated(matching("PutItem", "PACKAGE#a", `"live"`))
	moving := inBackground(func() { // an update that moves the entity, without its save
		w, m := s.through(mover)
		_, _ = w.Update(ctx, m.Key("a"), func(*Package) error { return errors.New("no change") })
	})
	s.held(beforeLive)
	deleter, beforeRemoval := s.gated(func(op, b string) bool {
		return op == "GetItem" && strings.Contains(b, `"`+s.source+`"`) && len(s.collections()) == 0
	})
	var deleted error
	deleting := inBackground(func() {
		w, m := s.through(deleter)
		deleted = w.Delete(ctx, m.Key("a"))
	})
	s.held(beforeRemoval)
	afterSource.release()
	s.waits(rolled)
	beforeLive.release()
	s.waits(moving)
	beforeRemoval.release()
	s.waits(deleting)
	w, m := s.wrapped()
	if e, err := w.Load(ctx, m.Key("a")); deleted == nil && !errors.Is(err, mapper.ErrNotFound) {
		t.Errorf("the delete was acknowledged, and the entity is there: %+v, %v", e, err)
	}
}

// A run that a rollback stops removes the parts of each entity that it had begun to move.
func TestRunDuringARollbackLeavesNoParts(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	s := newSetup(t)
	for _, name := range []string{"a", "b", "c"} {
		s.put(document(name, 3))
	}
	c := fakedynamo.Before(s.client, "BatchExecuteStatement", "EVENT#", func() { s.rollBack(ctx, s.client) })
	if _, err := s.over(c, migrate.Segments(1)).Run(ctx); err == nil {
		t.Error("the run does not say that it was rolled back")
	}
	s.monoliths("a b c")
	s.rollBack(ctx, s.client)
	s.monoliths("a b c")
}

// Settle keeps no monolith in addition to a live collection: an insert in between is refused, or settle
// is.
func TestKeepMonolithDuringAnInsert(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	s := newSetup(t)
	s.put(document("a", 3))
	s.mustRun(ctx)
	w, m := s.wrapped()
	s.deletes(ctx, w)
	s.foreign("a", "late")
	var inserted error
	c := fakedynamo.Before(s.client, "UpdateItem", `"name":{"S":"a"}`,
		func() { _, inserted = w.Insert(ctx, Package{Name: "a", Description: "again"}) })
	result := settles("monolith", s.over(c), ctx, "a")
	e, err := w.Load(ctx, m.Key("a"))
	if inserted == nil && result == nil && s.unmarked() == "a" && len(s.collections()) > 0 {
		t.Errorf("insert %v, settle %v: both succeeded; a load shows %v, %v", inserted, result, e.Value.Description,
			err)
	}
}

// A rollback knows the monolith that it has written by its version, also of an entity without an incarnation.
func TestForeignPutDuringRollbackOfForeignEntity(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	s := newSetup(t)
	s.mustRun(ctx) // begun
	for _, a := range []attributes{
		{"PK": textValue("PACKAGE#z"), "SK": textValue("HEAD"), "description": textValue("of the collection")},
		{"PK": textValue("PACKAGE#z"), "SK": textValue("TAG#t"), "dist-tags": textValue("tag of the collection")},
	} {
		if _, err := s.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &s.target, Item: a}); err != nil {
			t.Fatal(err)
		}
	}
	w, m := s.wrapped()
	if e, err := w.Load(ctx, m.Key("z")); err != nil || e.Value.Tags["t"] == "" {
		t.Fatal(e, err)
	}
	late := document("z", 1)
	late["description"] = textValue("late")
	c, g := s.gated(matching("TransactWriteItems", `"`+s.source+`"`))
	done := inBackground(func() {
		if r, err := s.over(c, migrate.Segments(1)).Rollback(ctx); err != nil || r.This.Conflicts != 1 {
			t.Errorf("%+v, %v", r, err)
		}
	})
	s.held(g)
	s.put(late)
	g.release()
	s.waits(done)
	if !s.has("tag of the collection") {
		t.Errorf("the collection is nowhere; monoliths %q, items %q", s.unmarked(), s.keys())
	}
}
