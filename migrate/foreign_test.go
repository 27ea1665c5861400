package migrate_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/fakedynamo"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/migrate"
)

// The tests of this file have programs that go around the library, which neither marks nor versions stop.

// foreign changes an attribute of a monolith.
func (s *setup) foreign(name, description string) {
	s.Helper()
	_, err := s.client.UpdateItem(context.Background(), &dynamodb.UpdateItemInput{
		TableName: &s.source, Key: attributes{"name": textValue(name)},
		UpdateExpression:          aws.String("SET description = :x"),
		ExpressionAttributeValues: attributes{":x": textValue(description)},
	})
	if err != nil {
		s.Fatal(err)
	}
}

func (s *setup) remove(table string, key attributes) {
	s.Helper()
	if _, err := s.client.DeleteItem(context.Background(),
		&dynamodb.DeleteItemInput{TableName: &table, Key: key}); err != nil {
		s.Fatal(err)
	}
}

// before is a client that does something before its n-th request.
func (s *setup) before(n int, do func()) *dynamodb.Client {
	return dynamodb.New(s.client.Options(),
		func(o *dynamodb.Options) { o.HTTPClient = &nth{next: o.HTTPClient, at: n, do: do} })
}

type nth struct {
	next  dynamodb.HTTPClient
	mu    sync.Mutex
	at, n int
	do    func()
}

func (b *nth) Do(r *http.Request) (*http.Response, error) {
	b.mu.Lock()
	if b.n++; b.n == b.at {
		b.do()
	}
	b.mu.Unlock()
	return b.next.Do(r)
}

// has reports whether a text is the value of an attribute somewhere in the two tables.
func (s *setup) has(value string) bool {
	s.Helper()
	var in func(v types.AttributeValue) bool
	in = func(v types.AttributeValue) bool {
		switch v := v.(type) {
		case *types.AttributeValueMemberS:
			return v.Value == value
		case *types.AttributeValueMemberM:
			for _, e := range v.Value {
				if in(e) {
					return true
				}
			}
		case *types.AttributeValueMemberL:
			for _, e := range v.Value {
				if in(e) {
					return true
				}
			}
		}
		return false
	}
	for _, a := range append(s.all(s.source), s.all(s.target)...) {
		if in(&types.AttributeValueMemberM{Value: a}) {
			return true
		}
	}
	return false
}

// A monolith that the old program puts during the rollback of its entity is not taken for the
// rollback's own: the writes of the new layout are kept.
func TestForeignPutDuringARollbackIsNoRestore(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	every := draws.Times(9, 4, 1) // request has the foreign one before it
	for at := 1; ; at += every {
		s := newSetup(t)
		s.put(document("a", 2))
		if _, err := s.migration().Run(ctx); err != nil {
			t.Fatal(err)
		}
		w, m := s.wrapped()
		if _, err := w.Update(ctx, m.Key("a"),
			func(p *Package) error { p.License = "acknowledged"; return nil }); err != nil {
			t.Fatal(err)
		}
		hit, marked := false, false
		late := document("a", 0)
		late["description"] = textValue("late")
		r, err := s.over(s.before(at, func() { hit, marked = true, s.all(s.source)[0]["_m"] != nil; s.put(late) })).
			Rollback(ctx)
		if !hit {
			break
		}
		for try := 0; try < 3 && (err != nil || r.This.Conflicts > 0); try++ {
			r, err = s.migration().Rollback(ctx)
		}
		if marked && !s.has("acknowledged") { // else the old program has replaced what the rollback gave back
			t.Errorf("put before request %d: an acknowledged update is nowhere: %+v, %v", at, r, err)
		}
	}
}

// An item that another program changes while its entity is rolled back, and leaves its version, is in
// the monolith, or kept.
func TestForeignItemDuringARollbackIsKept(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	every := draws.Times(9, 4, 1) // request has the foreign one before it
	for _, sk := range []string{"TAG#latest", "HEAD"} {
		for at, hit := 1, true; hit; at += every {
			s := newSetup(t)
			s.put(document("a", 2))
			if _, err := s.migration().Run(ctx); err != nil {
				t.Fatal(err)
			}
			written := false
			hit = false
			r, err := s.over(s.before(at, func() {
				hit = true
				written = s.changesItem(ctx, sk) == nil
			})).Rollback(ctx)
			if written && !s.has("foreign") {
				t.Errorf("%s, before request %d: an accepted write is nowhere: %+v, %v", sk, at, r.This, err)
			}
		}
	}
}

// changesItem changes an existing item of the collection of a, without Wrap.
func (s *setup) changesItem(ctx context.Context, sk string) error {
	s.Helper()
	_, err := s.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &s.target, Key: attributes{"PK": textValue("PACKAGE#a"), "SK": textValue(sk)},
		ConditionExpression:       aws.String("attribute_exists(PK)"),
		UpdateExpression:          aws.String("SET #v = :x"),
		ExpressionAttributeNames:  map[string]string{"#v": s.valueName(sk)},
		ExpressionAttributeValues: attributes{":x": textValue("foreign")},
	})
	return err
}

// valueName is an attribute of an item that is none of the library's.
func (s *setup) valueName(sk string) string {
	for _, a := range s.all(s.target) {
		if text(a["SK"]) != sk {
			continue
		}
		for name, v := range a {
			if _, isText := v.(*types.AttributeValueMemberS); isText && name != "PK" && name != "SK" &&
				!strings.HasPrefix(name, "_") {
				return name
			}
		}
	}
	return "none"
}

// A root item that another program has removed is no delete: a rollback keeps the monolith and the
// other items, and says so.
func TestRollbackKeepsTheMonolithOfALostRoot(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	s := newSetup(t)
	s.put(document("a", 3))
	if _, err := s.migration().Run(ctx); err != nil {
		t.Fatal(err)
	}
	s.remove(s.target, attributes{"PK": textValue("PACKAGE#a"), "SK": textValue("HEAD")})
	n := len(s.collections())
	if _, err := s.migration().Run(ctx); err != nil {
		t.Fatal(err)
	}
	r, err := s.migration().Rollback(ctx)
	if err != nil || r.This.Conflicts != 1 || len(s.all(s.source)) != 1 || len(s.collections()) != n {
		t.Errorf("%+v, %v; %d monoliths, %d items of %d", r, err, len(s.all(s.source)), len(s.collections()), n)
	}
	st, err := s.migration().Status(ctx)
	if err != nil || !strings.Contains(fmt.Sprint(st.DeadLetters), "removed the root item") {
		t.Errorf("%+v, %v", st, err)
	}
}

// A rollback counts an entity that it leaves once.
func TestRollbackCountsAnEntityOnce(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	s := newSetup(t)
	s.put(document("a", 2))
	if _, err := s.migration().Run(ctx); err != nil {
		t.Fatal(err)
	}
	s.foreign("a", "late")
	if r, err := s.migration().Rollback(ctx); err != nil || r.This.Conflicts != 1 || r.This.Entities != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

// settleResult fails unless the choice leads to a state that a verification finds clean after the next run,
// with the content that was chosen.
func (s *setup) settleResult(ctx context.Context, keep, description string) {
	s.Helper()
	if err := settles(keep, s.migration(), ctx, "a"); err != nil {
		s.Errorf("-keep %s: %v", keep, err)
	}
	w, m := s.wrapped()
	if e, err := w.Load(ctx, m.Key("a")); description == "" && err == nil || description != "" &&
		(err != nil || e.Value.Description != description) {
		s.Errorf("-keep %s: %+v, %v", keep, e, err)
	}
	if _, err := s.migration().Run(ctx); err != nil {
		s.Error(err)
	}
	if v, err := s.migration().Verify(ctx); err != nil || !v.Clean() {
		s.Errorf("-keep %s: %+v, %v", keep, v, err)
	}
}

// settle resolves each state in which a monolith was written after it moved. The entity was inserted
// again, or was moved by a claim which took over another, or was deleted.
func TestSettleLeadsOutOfEachState(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	for _, keep := range []string{"monolith", "collection"} {
		for state, is := range map[string]struct {
			make func(s *setup, w *migrate.Wrapped[Package])
			now  string // the description in the new layout
		}{
			"deleted": {func(s *setup, w *migrate.Wrapped[Package]) { s.moves(ctx, s.client); s.deletes(ctx, w) }, ""},
			"deleted before it moved": {func(s *setup, w *migrate.Wrapped[Package]) {
				s.begins(ctx)
				s.deletes(ctx, w)
			}, ""},
			"inserted again": {func(s *setup, w *migrate.Wrapped[Package]) {
				s.moves(ctx, s.client)
				s.deletes(ctx, w)
				s.inserts(ctx, w)
			}, "again"},
			"inserted before it moved": {func(s *setup, w *migrate.Wrapped[Package]) {
				s.begins(ctx)
				s.deletes(ctx, w)
				s.inserts(ctx, w)
			}, "again"},
			"taken over": {func(s *setup, w *migrate.Wrapped[Package]) {
				s.moves(ctx, fakedynamo.Before(s.client, "UpdateItem", `"name":{"S":"a"}`, func() { s.deadRun(ctx) }))
			}, "Package a"},
		} {
			s := newSetup(t)
			s.put(document("a", 3))
			w, _ := s.wrapped()
			is.make(s, w)
			if state == "taken over" {
				_, m := s.wrapped()
				e, err := m.Load(ctx, m.Key("a"))
				if err != nil {
					t.Fatal(err)
				}
				is.now = e.Value.Description
			}
			s.foreign("a", "late")
			want := is.now
			if keep == "monolith" {
				want = "late"
			}
			s.settleResult(ctx, keep, want)
		}
	}
}

// settle -keep monolith also ends a move that died between the mark of the monolith and the root item,
// if a foreign program has changed the monolith since.
func TestSettleEndsAMoveOfAChangedMonolith(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	s := newSetup(t)
	s.put(document("a", 3))
	var claimed atomic.Bool
	dies := s.over(&stopping{Client: s.client, fails: func(call string) bool {
		fails := call == "PutItem HEAD" && claimed.Load()
		if call == "BatchExecuteStatement" || call == "PutItem HEAD" {
			claimed.Store(true)
		}
		return fails
	}})
	if r, err := dies.Run(ctx); err == nil && r.This.Moved != 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	s.foreign("a", "late")
	if r, err := s.migration().Run(ctx); err != nil || r.This.Conflicts != 1 {
		t.Fatalf("a run: %+v, %v", r, err)
	}
	var conflict *migrate.ConflictError
	if err := settles("collection", s.migration(), ctx, "a"); !errors.As(err, &conflict) ||
		!strings.Contains(err.Error(), "-keep monolith") {
		t.Errorf("-keep collection: %v", err)
	}
	s.settleResult(ctx, "monolith", "late")
}

// settle, a run and a rollback leave a collection alone that the migration of another table has moved,
// and that has the key of a monolith.
func TestSettleLeavesCollectionOfAnotherMigration(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	for _, keep := range []string{"monolith", "collection"} {
		s := moved(t, 1) // p0, of the first table
		if _, err := s.migration().Cutover(ctx); err != nil {
			t.Fatal(err)
		}
		if _, err := s.migration().Contract(ctx, s.source, false); err != nil {
			t.Fatal(err)
		}
		s.source = testengine.Table(t, "name:S", "")
		other := document("p0", 1)
		other["description"] = textValue("of the second table")
		s.put(other)
		n := len(s.collections())
		if r, err := s.migration().Run(ctx); err != nil || r.This.Conflicts != 1 {
			t.Errorf("%+v, %v", r, err)
		}
		if s, err := s.migration().Status(ctx); err != nil ||
			!strings.Contains(fmt.Sprint(s.DeadLetters), "another migration moved an entity with that key from "+
				"another table") {
			t.Errorf("%+v, %v", s, err)
		}
		var conflict *migrate.ConflictError
		if err := settles(keep, s.migration(), ctx, "p0"); !errors.As(err, &conflict) ||
			!strings.Contains(err.Error(), "rename one") {
			t.Errorf("-keep %s: %v", keep, err)
		}
		if _, err := s.migration().Rollback(ctx); err != nil {
			t.Error(err)
		}
		if len(s.collections()) != n || !s.has("of p0") {
			t.Errorf("-keep %s: %d items of %d are left", keep, len(s.collections()), n)
		}
	}
}

func (s *setup) moves(ctx context.Context, c migrate.Client) {
	s.Helper()
	if r, err := s.over(c).Run(ctx); err != nil || r.This.Moved != 1 {
		s.Fatal(r, err)
	}
}

// begins begins the migration without moving a.
func (s *setup) begins(ctx context.Context) {
	s.Helper()
	doc := s.all(s.source)[0]
	s.remove(s.source, attributes{"name": textValue("a")})
	if _, err := s.migration().Run(ctx); err != nil {
		s.Fatal(err)
	}
	s.put(doc)
}

func (s *setup) deletes(ctx context.Context, w *migrate.Wrapped[Package]) {
	s.Helper()
	_, m := s.wrapped()
	if err := w.Delete(ctx, m.Key("a")); err != nil {
		s.Fatal(err)
	}
}

func (s *setup) inserts(ctx context.Context, w *migrate.Wrapped[Package]) {
	s.Helper()
	if _, err := w.Insert(ctx, Package{Name: "a", Description: "again"}); err != nil {
		s.Fatal(err)
	}
}

// settle -keep monolith keeps the monolith as it is, even if a rollback has died at it. During a
// contract it is refused.
func TestKeepMonolithDuringOtherSteps(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	every := draws.Times(7, 4, 1) // request is where the rollback dies
	for at := 1; ; at += every {
		s := newSetup(t)
		s.put(document("a", 2))
		s.moves(ctx, s.client)
		dies, kill := context.WithCancel(ctx)
		hit := false
		_, _ = s.over(s.before(at, func() { hit = true; kill() })).Rollback(dies)
		kill()
		if !hit {
			break
		}
		if s.all(s.source)[0]["_m"] == nil {
			continue // it is a monolith
		}
		s.foreign("a", "late")
		if err := settles("monolith", s.migration(), ctx, "a"); err != nil ||
			text(s.all(s.source)[0]["description"]) != "late" {
			t.Errorf("a rollback died at request %d: %v; the monolith has %s", at, err,
				text(s.all(s.source)[0]["description"]))
		}
	}
	s := moved(t, 2)
	if _, err := s.migration().Cutover(ctx); err != nil {
		t.Fatal(err)
	}
	var result error
	c := fakedynamo.Before(s.client, "DeleteTable", "", func() {
		s.foreign("p0", "late")
		result = settles("monolith", s.migration(), ctx, "p0")
	})
	if _, err := s.over(c).Contract(ctx, s.source, false); err != nil {
		t.Fatal(err)
	}
	if result == nil || !strings.Contains(result.Error(), "keep the collection") {
		t.Errorf("%v", result)
	}
}
