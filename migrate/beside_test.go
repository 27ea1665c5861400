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

	"github.com/itemize/itemize/integration/enginetest"
	"github.com/itemize/itemize/internal/breaking"
	"github.com/itemize/itemize/internal/item"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/migrate"
)

// through is Wrap by a client of its own.
func (s *setup) through(c *dynamodb.Client, o ...migrate.WrapOption) (*migrate.Wrapped[Package], *mapper.Mapper[Package]) {
	s.Helper()
	m, err := mapper.New[Package](c, mapper.Table(s.target))
	if err != nil {
		s.Fatal(err)
	}
	return migrate.Wrap(m, s.over(c), o...), m
}

// A delete beside a run or a rollback deletes the entity, in whichever layout it is by then.
func TestDeleteBeside(t *testing.T) {
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
		w, m := s.through(breaking.Before(s.client, tt.operation, tt.text, func() {
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

// A crashed delete has left its root beside a monolith that is the truth: that is what a delete deletes.
func TestDeleteBesideADeletingRoot(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newSetup(t)
	s.put(document("a", 2))
	w, m := s.wrapped()
	stage := item.NewStage(item.Deleting, time.Now()).Assign()
	root := attributes{"PK": &types.AttributeValueMemberS{Value: "PACKAGE#a"}, "SK": &types.AttributeValueMemberS{Value: "HEAD"}, stage.Name: stage.Value, "_v": item.NewToken(), "_a": item.NewToken()}
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

// A load of both layouts beside a rollback finds no contradiction.
func TestBothBesideARollback(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := moved(t, 1)
	w, m := s.through(breaking.Before(s.client, "GetItem", `"p0"`, func() {
		if _, err := s.migration().Rollback(ctx); err != nil {
			t.Error(err)
		}
	}), migrate.Both())
	if e, err := w.Load(ctx, m.Key("p0")); err != nil || e.Value.Description != "of p0" {
		t.Errorf("%+v, %v", e, err)
	}
}

// A migration that is rolled back leaves alone what another has moved since, however often it is rolled back.
func TestRolledBackOnceMore(t *testing.T) {
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
	s.source = enginetest.Table(t, "name:S", "")
	s.put(document("b", 2))
	if _, err := s.migration().Run(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := first.Rollback(ctx); err == nil || !strings.Contains(err.Error(), "is rolled back, and one of "+s.source+" is under way") {
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
				note := attributes{"PK": &types.AttributeValueMemberS{Value: "~migrate#Package"}, "SK": &types.AttributeValueMemberS{Value: "begun"}, "note": &types.AttributeValueMemberS{Value: `{"source":"over"}`}}
				if _, err := s.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &s.target, Item: note}); err != nil {
					t.Fatal(err)
				}
			}
			first := s.over(breaking.Before(s.client, operation, s.target, func() {
				s.source = enginetest.Table(t, "name:S", "")
				s.put(document(fmt.Sprint("b", i), 2))
				if _, err := s.migration().Run(ctx); err != nil {
					t.Error(err)
				}
			}))
			if _, err := first.Run(ctx); err == nil || !strings.Contains(err.Error(), "is under way") {
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
	c := breaking.Before(s.client, "DeleteItem", s.source, func() { s.put(document("p0", 5)); s.put(document("p1", 5)) })
	_, err := s.over(c).Contract(ctx, s.source, true)
	if err == nil || !strings.Contains(err.Error(), "monoliths were written in the old layout while the others were removed, and are kept") {
		t.Errorf("%v", err)
	}
	for _, a := range s.all(s.source) { // as the message says
		if _, err := s.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &s.source, Key: attributes{"name": a["name"]}}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.migration().Contract(ctx, s.source, true); err != nil {
		t.Error(err)
	}
}
