package migrate_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/testing/fakedynamo"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/migrate"
)

func (s *setup) wrapped(o ...migrate.WrapOption) (*migrate.Wrapped[Package], *mapper.Mapper[Package]) {
	s.Helper()
	m, err := mapper.New[Package](s.client, mapper.Table(s.target))
	if err != nil {
		s.Fatal(err)
	}
	return migrate.Wrap(m, s.migration(), o...), m
}

// A monolith is read as what it would become, whole and in part; an update moves it; an insert and a
// delete know both layouts.
func TestWrap(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newSetup(t)
	s.put(document("a", 3))
	s.put(document("b", 2))
	w, m := s.wrapped()
	e, err := w.Load(ctx, m.Key("a"))
	if err != nil || e.Value.Name != "a" || len(e.Value.Events) != 3 || e.Value.Tags["latest"] != "2" {
		t.Fatalf("%+v, %v", e, err)
	}
	if _, err := m.Save(ctx, e); err == nil || !strings.Contains(err.Error(), "is only for reading") {
		t.Errorf("a save of what was read of a monolith: %v", err)
	}
	if e, err := w.Load(ctx, m.Key("a").Prefix("EVENT#")); err != nil || len(e.Value.Events) != 3 ||
		e.Value.Description != "" {
		t.Errorf("%+v, %v", e, err)
	}
	if _, err := w.Load(ctx, m.Key("none")); !errors.Is(err, mapper.ErrNotFound) {
		t.Errorf("what is not there: %v", err)
	}
	if len(s.all(s.target)) != 0 {
		t.Error("a load has written")
	}
	if _, err := w.Insert(ctx, Package{Name: "a"}); !errors.Is(err, mapper.ErrExists) {
		t.Errorf("an insert of what is a monolith: %v", err)
	}
	if _, err := w.Insert(ctx, Package{Name: "c", Description: "new"}); err != nil {
		t.Error(err)
	}
	if _, err := w.Update(ctx, m.Key("b"),
		func(p *Package) error { p.Description, p.Tags["next"] = "changed", "3"; return nil }); err != nil {
		t.Fatal(err)
	}
	if e, err := w.Load(ctx, m.Key("b")); err != nil || e.Value.Description != "changed" ||
		e.Value.Tags["next"] != "3" || len(e.Value.Events) != 2 {
		t.Errorf("%+v, %v", e, err)
	}
	if err := w.Delete(ctx, m.Key("b")); err != nil {
		t.Error(err)
	}
	s.put(document("d", 2))
	if err := w.Delete(ctx, m.Key("d")); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"b", "d"} {
		if _, err := w.Load(ctx, m.Key(name)); !errors.Is(err, mapper.ErrNotFound) {
			t.Errorf("%s is there though it was deleted: %v", name, err)
		}
		if err := w.Delete(ctx, m.Key(name)); !errors.Is(err, mapper.ErrNotFound) {
			t.Errorf("%s is deleted twice: %v", name, err)
		}
	}
	r, err := s.migration().Run(ctx)
	if err != nil || r.This.Moved+r.This.Before != 3 || r.This.Dead+r.This.Conflicts != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := w.Insert(ctx, Package{Name: "b", Description: "again"}); err != nil {
		t.Error(err)
	}
	if e, err := w.Load(ctx, m.Key("b")); err != nil || e.Value.Description != "again" || len(e.Value.Events) != 0 {
		t.Errorf("%+v, %v", e, err)
	}
	if v, err := s.migration().Verify(ctx); err != nil || !v.Clean() {
		t.Errorf("%+v, %v", v, err)
	}
	if _, err := s.migration().Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	names := ""
	for _, a := range s.all(s.source) {
		names += text(a["name"])
	}
	if len(names) != 3 || !strings.Contains(names, "a") || !strings.Contains(names, "b") ||
		!strings.Contains(names, "c") {
		t.Errorf("the monoliths %s came back", names)
	}
}

// With Both a load finds what a program of the old layout has written after the entity moved.
func TestBoth(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newSetup(t)
	s.put(document("a", 3))
	if _, err := s.migration().Run(ctx); err != nil {
		t.Fatal(err)
	}
	w, m := s.wrapped(migrate.Both())
	if _, err := w.Load(ctx, m.Key("a")); err != nil {
		t.Error(err)
	}
	set := "SET description = :x"
	_, err := s.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &s.source, Key: map[string]types.AttributeValue{"name": &types.AttributeValueMemberS{Value: "a"}},
		UpdateExpression:          &set,
		ExpressionAttributeValues: map[string]types.AttributeValue{":x": &types.AttributeValueMemberS{Value: "late"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var conflict *migrate.ConflictError
	if _, err := w.Load(ctx, m.Key("a")); !errors.As(err, &conflict) {
		t.Errorf("a load of what both layouts contradict: %v", err)
	}
}

// deadRollback is a rollback that died behind the monolith's being written, before the items were removed.
func (s *setup) deadRollback() {
	s.Helper()
	n := 0
	for at := 1; n == 0; at++ {
		c := &stopping{Client: s.client, fails: func(string) bool { return false }}
		d := &dying{stopping: c, at: at}
		_, _ = s.over(d).Rollback(context.Background())
		for _, a := range s.all(s.source) {
			if a["_m"] == nil {
				n++
			}
		}
	}
}

// dying is a client whose writes fail from one on.
type dying struct {
	*stopping
	at int
	n  atomic.Int64
}

func (d *dying) dead() bool { return d.n.Add(1) > int64(d.at) }

func (d *dying) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput,
	o ...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	if d.dead() {
		return nil, errStopped
	}
	return d.Client.UpdateItem(ctx, in, o...)
}

func (d *dying) PutItem(ctx context.Context, in *dynamodb.PutItemInput,
	o ...func(*dynamodb.Options),
) (*dynamodb.PutItemOutput, error) {
	if *in.TableName == d.source(in) && d.dead() {
		return nil, errStopped
	}
	return d.Client.PutItem(ctx, in, o...)
}

func (d *dying) source(in *dynamodb.PutItemInput) string {
	if in.Item["SK"] != nil {
		return ""
	}
	return *in.TableName
}

func (d *dying) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput,
	o ...func(*dynamodb.Options),
) (*dynamodb.DeleteItemOutput, error) {
	if d.dead() {
		return nil, errStopped
	}
	return d.Client.DeleteItem(ctx, in, o...)
}

// During an unfinished rollback no write is acknowledged that would be lost, and the errors can be
// distinguished.
func TestWrapDuringADeadRollback(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newSetup(t)
	s.put(document("a", 5))
	if _, err := s.migration().Run(ctx); err != nil {
		t.Fatal(err)
	}
	s.deadRollback()
	w, m := s.wrapped()
	var conflict *migrate.ConflictError
	if err := w.Delete(ctx, m.Key("a")); !errors.As(err, &conflict) {
		t.Errorf("a delete: %v", err)
	}
	if _, err := w.Update(ctx, m.Key("a"), func(p *Package) error { p.License = "x"; return nil }); !errors.As(err,
		&conflict) {
		t.Errorf("an update: %v", err)
	}
	if _, err := w.Insert(ctx, Package{Name: "a"}); !errors.As(err, &conflict) {
		t.Errorf("an insert: %v", err)
	}
	begun := time.Now()
	if _, err := m.DeleteByKey(ctx, m.Key("a")); err == nil ||
		!strings.Contains(err.Error(), "run itemize migrate rollback to finish it") ||
		time.Since(begun) > 5*time.Second {
		t.Errorf("a delete without Wrap, after %v: %v", time.Since(begun), err)
	}
	if e, err := w.Load(ctx, m.Key("a")); err != nil || len(e.Value.Events) != 5 {
		t.Errorf("%+v, %v", e, err)
	}
	if _, err := s.migration().Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	s.came()
}

// An entity whose layouts contradict each other is not deleted. A deleted entity stays deleted, and one
// that a program of the old layout writes is found.
func TestWrapDeletesWhatIsOne(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newSetup(t)
	s.put(document("a", 2))
	s.put(document("b", 2))
	w, m := s.wrapped()
	if _, err := w.Update(ctx, m.Key("a"), func(p *Package) error { p.License = "x"; return nil }); err != nil {
		t.Fatal(err)
	}
	s.put(document("a", 3))
	var conflict *migrate.ConflictError
	if err := w.Delete(ctx, m.Key("a")); !errors.As(err, &conflict) {
		t.Errorf("a delete of what is in both layouts: %v", err)
	}
	if err := w.Delete(ctx, m.Key("b")); err != nil {
		t.Fatal(err)
	}
	set := "SET description = :x"
	_, err := s.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &s.source, Key: map[string]types.AttributeValue{"name": textValue("b")},
		UpdateExpression: &set, ExpressionAttributeValues: map[string]types.AttributeValue{":x": textValue("late")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if v, err := s.migration().Verify(ctx); err != nil || v.Wrong != 1 || v.Unmoved != 1 {
		t.Errorf("%+v, %v", v, err)
	}
}

// A dead letter can be deleted, and an entity inserted in its place; until then it says what it is.
func TestWrapOfADeadLetter(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newSetup(t)
	doc := document("a", 2)
	doc["events"] = textValue("none")
	s.put(doc)
	w, m := s.wrapped()
	var cannot *migrate.UnmovableError
	if _, err := w.Load(ctx, m.Key("a")); !errors.As(err, &cannot) ||
		!strings.HasPrefix(err.Error(), "Package: the monolith a cannot be moved: ") {
		t.Errorf("a load: %v", err)
	}
	if err := w.Delete(ctx, m.Key("a")); err != nil {
		t.Fatal(err)
	}
	if err := w.Delete(ctx, m.Key("a")); !errors.Is(err, mapper.ErrNotFound) {
		t.Errorf("a delete of what was deleted: %v", err)
	}
	if _, err := w.Insert(ctx, Package{Name: "a", Description: "new"}); err != nil {
		t.Error(err)
	}
	if r, err := s.migration().Run(ctx); err != nil || r.This.Dead != 0 || r.This.Entities != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// Options that would check the root at another time than needed are refused.
func TestWrapRefusesOptions(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newSetup(t)
	s.put(document("a", 2))
	w, m := s.wrapped()
	for _, o := range []mapper.WriteOption{mapper.Independent(), mapper.Move(), mapper.Staged()} {
		_, err := w.Update(ctx, m.Key("a"), func(p *Package) error { p.License = "x"; return nil }, o)
		refused(t, err, "leave Independent, Staged and Move out")
	}
}

// An entity that is inserted through Wrap after a rollback becomes a monolith in the next one, although
// the program has not restarted.
func TestInsertAfterARollbackComesBack(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newSetup(t)
	w, m := s.wrapped()
	insert := func(name string) {
		t.Helper()
		if _, err := w.Insert(ctx, Package{Name: name, Description: "of " + name}); err != nil {
			t.Fatal(err)
		}
	}
	back := func(want string) {
		t.Helper()
		if r, err := s.migration().Rollback(ctx); err != nil || !r.Done {
			t.Fatalf("%+v, %v", r, err)
		}
		var names []string
		for _, a := range s.all(s.source) {
			if a["_m"] == nil {
				names = append(names, text(a["name"]))
			}
		}
		slices.Sort(names)
		if got := strings.Join(names, " "); got != want {
			t.Errorf("the monoliths %s came back, and not %s", got, want)
		}
		for _, a := range s.all(s.target) {
			if a["description"] != nil {
				t.Errorf("a collection is left: %v", a)
			}
		}
	}
	insert("a")
	if _, err := s.migration().Run(ctx); err != nil {
		t.Fatal(err)
	}
	back("a")
	insert("b")
	back("a b")
	insert("c")
	if _, err := w.Update(ctx, m.Key("a"),
		func(p *Package) error { p.Description = "changed"; return nil }); err != nil {
		t.Fatal(err)
	}
	back("a b c")
	back("a b c")
	for name, want := range map[string]string{"a": "changed", "b": "of b", "c": "of c"} {
		if e, err := w.Load(ctx, m.Key(name)); err != nil || e.Value.Description != want {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
	}
}

// A program that has started before notices that the migration has ended: there are collections alone.
func TestWrapAfterTheContract(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newSetup(t)
	w, m := s.wrapped()
	for _, name := range []string{"a", "b"} {
		if _, err := w.Insert(ctx, Package{Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	s.put(document("c", 2))
	g := s.migration()
	if _, err := g.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if v, err := g.Verify(ctx); err != nil || !v.Clean() {
		t.Fatalf("%+v, %v", v, err)
	}
	if _, err := g.Cutover(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Contract(ctx, s.source, false); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Update(ctx, m.Key("a"),
		func(p *Package) error { p.Description = "changed"; return nil }); err != nil {
		t.Error(err)
	}
	if _, err := w.Insert(ctx, Package{Name: "d"}); err != nil {
		t.Error(err)
	}
	if _, err := w.Insert(ctx, Package{Name: "d"}); !errors.Is(err, mapper.ErrExists) {
		t.Error(err)
	}
	if err := w.Delete(ctx, m.Key("b")); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]error{
		"a": nil, "b": mapper.ErrNotFound, "c": nil, "d": nil,
		"none": mapper.ErrNotFound,
	} {
		if _, err := w.Load(ctx, m.Key(name)); !errors.Is(err, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := w.Update(ctx, m.Key("none"), func(*Package) error { return nil }); !errors.Is(err,
		mapper.ErrNotFound) {
		t.Error(err)
	}
	if err := w.Delete(ctx, m.Key("none")); !errors.Is(err, mapper.ErrNotFound) {
		t.Error(err)
	}
}

// A run dies at every second of its requests, and Wrap deletes its entity: nothing of it is seen any
// more, by queries that read no root item either.
func TestDeleteAfterADeadRunLeavesNothing(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	for at := 0; ; at += 2 {
		s := newSetup(t)
		s.put(document("a", 3))
		if at == 0 { // between the parts and the mark
			s.deadRun(ctx)
		} else if !s.failingStep(ctx, fakedynamo.KilledAfter, at, (*migrate.Migration).Run) {
			break
		}
		w, m := s.wrapped()
		if err := w.Delete(ctx, m.Key("a")); err != nil {
			t.Fatalf("%d: %v", at, err)
		}
		seen := func(after string) {
			t.Helper()
			if e, err := m.Load(ctx, m.Key("a").Prefix("EVENT#")); err != nil || len(e.Value.Events) > 0 {
				t.Errorf("%d: after %s a query shows %d parts of the deleted entity, %v", at, after,
					len(e.Value.Events), err)
			}
		}
		seen("the delete")
		if _, err := s.migration().Run(ctx); err != nil {
			t.Fatal(err)
		}
		seen("the next run")
		if _, err := s.migration().Rollback(ctx); err != nil {
			t.Fatal(err)
		}
		for _, a := range s.all(s.target) {
			if !strings.HasPrefix(text(a["PK"]), "~migrate#") {
				t.Errorf("%d: after the rollback %v is left", at, a)
			}
		}
	}
}

// A monolith that cannot be moved is loaded as it is, if it fits the model.
func TestWrapLoadsADeadLetterAsItIs(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newSetup(t)
	doc := document("a", 2)
	events := doc["events"].(*types.AttributeValueMemberL)
	events.Value = append(events.Value, events.Value[0]) // two of one key
	s.put(doc)
	w, m := s.wrapped()
	e, err := w.Load(ctx, m.Key("a"))
	if err != nil || e.Value.Name != "a" || len(e.Value.Events) != 3 || e.Value.Tags["latest"] != "2" ||
		e.Value.Description != text(doc["description"]) {
		t.Fatalf("%+v, %v", e, err)
	}
	if _, err := m.Save(ctx, e); err == nil || !strings.Contains(err.Error(), "is only for reading") {
		t.Errorf("a save: %v", err)
	}
	var cannot *migrate.UnmovableError
	if _, err := w.Load(ctx, m.Key("a").Prefix("EVENT#")); !errors.As(err, &cannot) {
		t.Errorf("a load of a part: %v", err)
	}
	if _, err := w.Update(ctx, m.Key("a"), func(*Package) error { return nil }); !errors.As(err, &cannot) ||
		cannot.Model != "Package" || cannot.Key != "a" {
		t.Errorf("an update: %v", err)
	}
}
