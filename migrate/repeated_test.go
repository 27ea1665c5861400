package migrate_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/testing/fakedynamo"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/migrate"
)

// through is Wrap by a client of its own.
func (s *setup) through(c *dynamodb.Client, o ...migrate.WrapOption) (*migrate.Wrapped[Package],
	*mapper.Mapper[Package],
) {
	s.Helper()
	m, err := mapper.New[Package](c, mapper.Table(s.target))
	if err != nil {
		s.Fatal(err)
	}
	return migrate.Wrap(m, s.over(c), o...), m
}

// A delete during a run or a rollback deletes the entity, in its present layout.
func TestDeleteDuringARun(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, tt := range map[string]struct {
		operation, text string
		run             bool
	}{
		"a run between its reads":            {"GetItem", `"PACKAGE#p0"`, true},
		"a rollback before its first write":  {"Query", "", false},
		"a rollback after it read the table": {"TransactWriteItems", "", false},
	} {
		s := newSetup(t)
		s.put(document("p0", 3))
		if !tt.run {
			if _, err := s.migration().Run(ctx); err != nil {
				t.Fatal(err)
			}
		}
		w, m := s.through(fakedynamo.Before(s.client, tt.operation, tt.text, func() {
			step := s.migration().Rollback
			if tt.run {
				step = s.migration().Run
			}
			if _, err := step(ctx); err != nil {
				t.Error(name, err)
			}
		}))
		if err := w.Delete(ctx, m.Key("p0")); err != nil {
			t.Errorf("beside %s: %v", name, err)
		}
		if _, err := w.Load(ctx, m.Key("p0")); !errors.Is(err, mapper.ErrNotFound) {
			t.Errorf("beside %s: it is there yet: %v", name, err)
		}
	}
}

// A crashed delete has left its root while a monolith is current: a delete deletes the monolith.
func TestDeleteOfADeletingRoot(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newSetup(t)
	s.put(document("a", 2))
	w, m := s.wrapped()
	stage := item.Reserved{}.AssignStage(item.NewStage(item.Deleting, time.Now()))
	root := attributes{
		"PK": &types.AttributeValueMemberS{Value: "PACKAGE#a"},
		"SK": &types.AttributeValueMemberS{Value: "HEAD"}, stage.Name: stage.Value, "_v": item.NewToken(),
		"_a": item.NewToken(),
	}
	if _, err := s.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &s.target, Item: root}); err != nil {
		t.Fatal(err)
	}
	if err := w.Delete(ctx, m.Key("a")); err != nil {
		t.Error(err)
	}
	if _, err := w.Load(ctx, m.Key("a")); !errors.Is(err, mapper.ErrNotFound) {
		t.Errorf("it is there yet: %v", err)
	}
}

// A load of both layouts during a rollback finds no contradiction.
func TestBothDuringARollback(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := moved(t, 1)
	w, m := s.through(fakedynamo.Before(s.client, "GetItem", `"p0"`, func() {
		if _, err := s.migration().Rollback(ctx); err != nil {
			t.Error(err)
		}
	}), migrate.Both())
	if e, err := w.Load(ctx, m.Key("p0")); err != nil || e.Value.Description != "of p0" {
		t.Errorf("%+v, %v", e, err)
	}
}

// A migration that is rolled back leaves alone what another has moved since, however often it is rolled back.
func TestRolledBackTwice(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newSetup(t)
	s.put(document("a", 2))
	first := s.migration()
	if _, err := first.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := first.Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	s.source = testengine.Table(t, "name:S", "")
	s.put(document("b", 2))
	if _, err := s.migration().Run(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := first.Rollback(ctx); err == nil ||
		!strings.Contains(err.Error(), "is rolled back, but another of "+s.source+" is running") {
		t.Errorf("%v", err)
	}
	w, m := s.wrapped()
	if _, err := w.Load(ctx, m.Key("b")); err != nil {
		t.Error(err)
	}
}

// Of two migrations of a model that begin at once one begins, also where a third has left its note.
func TestTwoBeginAtOnce(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for i, stale := range []bool{false, true} {
		for _, operation := range []string{"TransactWriteItems", "Scan"} {
			s := newSetup(t)
			s.put(document("a", 2))
			if stale {
				note := attributes{
					"PK":   &types.AttributeValueMemberS{Value: "~migrate#Package"},
					"SK":   &types.AttributeValueMemberS{Value: "begun"},
					"note": &types.AttributeValueMemberS{Value: `{"source":"over"}`},
				}
				if _, err := s.client.PutItem(ctx,
					&dynamodb.PutItemInput{TableName: &s.target, Item: note}); err != nil {
					t.Fatal(err)
				}
			}
			first := s.over(fakedynamo.Before(s.client, operation, s.target, func() {
				s.source = testengine.Table(t, "name:S", "")
				s.put(document(fmt.Sprint("b", i), 2))
				if _, err := s.migration().Run(ctx); err != nil {
					t.Error(err)
				}
			}))
			if _, err := first.Run(ctx); err == nil || !strings.Contains(err.Error(), "is running") {
				t.Errorf("stale %v, %s: both have begun: %v", stale, operation, err)
			}
		}
	}
}

// A contract does not end where a monolith was written while it removed the others.
func TestContractKeepsWhatIsWritten(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := moved(t, 2)
	if _, err := s.migration().Cutover(ctx); err != nil {
		t.Fatal(err)
	}
	c := fakedynamo.Before(s.client, "DeleteItem", s.source, func() {
		s.put(document("p0", 5))
		s.put(document("p1", 5))
	})
	_, err := s.over(c).Contract(ctx, s.source, true)
	if err == nil || !strings.Contains(err.Error(),
		"monoliths were written in the old layout during the removal, and are kept") {
		t.Errorf("%v", err)
	}
	for _, a := range s.all(s.source) { // as the message says
		if _, err := s.client.DeleteItem(ctx,
			&dynamodb.DeleteItemInput{TableName: &s.source, Key: attributes{"name": a["name"]}}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.migration().Contract(ctx, s.source, true); err != nil {
		t.Error(err)
	}
}

// two is a migration that was rolled back, and another source with an entity.
func two(t *testing.T) (s *setup, second string) {
	t.Helper()
	ctx := context.Background()
	s = newSetup(t)
	s.put(document("a", 2))
	if _, err := s.migration().Run(ctx); err != nil {
		t.Fatal(err)
	}
	return s, testengine.Table(t, "name:S", "")
}

// Whatever a rollback of one migration meets of another, which has begun since, it leaves alone:
// claims, and live collections.
func TestRollbackDuringAnotherMigration(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, slow := range []bool{false, true} {
		s, second := two(t)
		first := s.source
		other := func() *migrate.Migration {
			s.source = second
			s.put(document("b", 2))
			return s.migration()
		}
		if slow { // before its scan of the model's table another rollback ends, and the second migration moves b
			m := s.over(fakedynamo.Before(s.client, "Scan", s.target, func() {
				if _, err := s.migration().Rollback(ctx); err != nil {
					t.Error(err)
				}
				if _, err := other().Run(ctx); err != nil {
					t.Error(err)
				}
			}))
			_, _ = m.Rollback(ctx)
		} else { // when it notes that it begins, the second migration has noted that, and is about to mark b
			if _, err := s.migration().Rollback(ctx); err != nil {
				t.Fatal(err)
			}
			at, done, ended := make(chan bool), make(chan bool), make(chan error, 1)
			m := s.over(fakedynamo.Before(s.client, "TransactWriteItems", "running", func() {
				other()
				run := s.over(fakedynamo.Before(s.client, "PutItem", `PACKAGE#b`, func() { close(at); <-done }))
				go func() {
					_, err := run.Run(ctx)
					ended <- err
				}()
				<-at
			}))
			_, _ = m.Rollback(ctx)
			close(done)
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		s.source = second
		w, m := s.wrapped()
		if _, err := w.Load(ctx, m.Key("b")); err != nil {
			t.Errorf("slow %v: %v", slow, err)
		}
		for _, a := range s.all(first) {
			if text(a["name"]) != "a" {
				t.Errorf("slow %v: %v has come into the first source", slow, a["name"])
			}
		}
	}
}

// What Wrap moves of one source after its rollback stays when another migration is rolled back.
func TestWrapAfterARollback(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s, second := two(t)
	s.put(document("x", 2))
	first := s.source
	w, m := s.wrapped()
	if _, err := w.Update(ctx, m.Key("a"), func(p *Package) error { p.Description += "!"; return nil }); err != nil {
		t.Fatal(err)
	}
	if _, err := s.migration().Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	s.source = second
	s.put(document("b", 2))
	if _, err := s.migration().Run(ctx); err != nil {
		t.Fatal(err)
	}
	_, _ = w.Update(ctx, m.Key("x"), func(p *Package) error { p.Description += "!"; return nil })
	if _, err := s.migration().Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	s.source = first
	w, m = s.wrapped()
	if _, err := w.Load(ctx, m.Key("x")); err != nil {
		t.Error(err)
	}
}

// cancelling answers the first n transactions as if others were in their way.
type cancelling struct {
	migrate.Client
	n int
}

func (c *cancelling) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput,
	o ...func(*dynamodb.Options),
) (*dynamodb.TransactWriteItemsOutput, error) {
	if c.n--; c.n >= 0 {
		code := "TransactionConflict"
		return nil, &types.TransactionCanceledException{CancellationReasons: []types.CancellationReason{{Code: &code}}}
	}
	return c.Client.TransactWriteItems(ctx, in, o...)
}

// A transaction of notes that others are in the way of is sent again: no phase ends without its note.
func TestBlockingNotes(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newSetup(t)
	s.put(document("a", 2))
	if _, err := s.over(&cancelling{s.client, 2}).Run(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := s.over(&cancelling{s.client, 2}).Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	for _, a := range s.all(s.target) {
		if text(a["SK"]) == "begun" {
			t.Errorf("%v is left", a)
		}
	}
}
