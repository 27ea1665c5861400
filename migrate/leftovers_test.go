package migrate_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/fakedynamo"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/migrate"
)

// The tests of this file look for parts that moves leave behind: loads of a part of an entity would show them.

// collections are the items of the model's table that are no notes.
func (s *setup) collections() (all []attributes) {
	s.Helper()
	for _, a := range s.all(s.target) {
		if !strings.HasPrefix(text(a["PK"]), "~migrate#") {
			all = append(all, a)
		}
	}
	return all
}

// shows fails unless a load of the events of a shows so many, with Wrap and without.
func (s *setup) shows(ctx context.Context, when string, events int) {
	s.Helper()
	w, m := s.wrapped()
	part := m.Key("a").Prefix("EVENT#")
	for name, load := range map[string]func() (*mapper.Entity[Package], error){
		"a load": func() (*mapper.Entity[Package], error) { return m.Load(ctx, part, mapper.Strong()) },
		"Wrap":   func() (*mapper.Entity[Package], error) { return w.Load(ctx, part, mapper.Strong()) },
	} {
		e, err := load()
		if events == 0 && errors.Is(err, mapper.ErrNotFound) {
			continue
		}
		if err != nil || len(e.Value.Events) != events {
			s.Errorf("%s: %s shows %d events of %d, %v", when, name, len(e.Value.Events), events, err)
		}
	}
}

// deadRun is a run that dies when it has put the parts of a, and before it marks the monolith.
func (s *setup) deadRun(ctx context.Context) {
	s.Helper()
	_, _ = s.over(&dying{stopping: &stopping{Client: s.client, fails: func(string) bool { return false }}}).Run(ctx)
	for _, a := range s.all(s.source) {
		if a["_m"] != nil {
			s.Fatal("the run has marked the monolith")
		}
	}
}

// withoutEvents is the monolith of a without elements that become items.
func withoutEvents() attributes {
	doc := document("a", 3)
	doc["events"], doc["dist-tags"] = &types.AttributeValueMemberL{}, &types.AttributeValueMemberM{Value: attributes{}}
	return doc
}

// beforeCommit does something before the first update of a monolith.
type beforeCommit struct {
	migrate.Client
	source string
	do     func()
}

func (b *beforeCommit) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput,
	o ...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	if do := b.do; *in.TableName == b.source && do != nil {
		b.do = nil
		do()
	}
	return b.Client.UpdateItem(ctx, in, o...)
}

// Elements that the old program removes after a run has put them for a claim are in no load. This holds
// if that run died, continues, or was an import.
func TestRemovedElementsAreNotMoved(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	for _, how := range []string{"a dead run", "an import", "a run"} {
		s := newSetup(t)
		s.put(document("a", 3))
		g := s.migration()
		remove := func() { s.put(withoutEvents()) }
		switch how {
		case "a dead run":
			s.deadRun(ctx)
			remove()
		case "an import":
			x := &scene{setup: s, ctx: ctx, name: "a"}
			if err := x.imported(s.migration()); err != nil {
				t.Fatal(err)
			}
			remove()
		default:
			g = s.over(&beforeCommit{s.client, s.source, remove})
		}
		if r, err := g.Run(ctx); err != nil || r.This.Moved != 1 {
			t.Fatalf("%s: %+v, %v", how, r, err)
		}
		s.shows(ctx, how, 0)
	}
}

// A run that is slow puts nothing into an entity that Wrap has moved, changed or deleted since: what it
// has put it removes.
func TestSlowRunLeavesNoParts(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	for what, deletes := range map[string]bool{"changed": false, "deleted": true, "changed and deleted": true} {
		s := newSetup(t)
		s.put(document("a", 3))
		w, m := s.wrapped()
		r, err := s.over(fakedynamo.Before(s.client, "BatchExecuteStatement", "EVENT#", func() {
			if what != "deleted" {
				if _, err := w.Update(ctx, m.Key("a"),
					func(p *Package) error { p.Events = nil; return nil }); err != nil {
					t.Error(err)
				}
			}
			if deletes {
				if err := w.Delete(ctx, m.Key("a")); err != nil {
					t.Error(err)
				}
			}
		})).Run(ctx)
		if err != nil {
			t.Fatalf("%+v, %v", r, err)
		}
		s.shows(ctx, what, 0)
		if n := len(s.collections()); deletes && n > 0 {
			t.Errorf("%s: %d items are left", what, n)
		}
	}
}

// The next run deletes the parts of a deleted entity, whatever the request at which the delete died,
// together with a run that has died.
func TestDeadDeleteAndDeadRunLeaveNothing(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	every := draws.Times(9, 4, 1) // request meets a fault
	for what := range fakedynamo.Faults {
		for at := 1; ; at += every {
			s := newSetup(t)
			s.put(document("a", 3))
			s.deadRun(ctx)
			dies, kill := context.WithCancel(ctx)
			f := &fakedynamo.Transport{At: at, Fault: what, Kill: kill}
			c := f.Client(s.client)
			m, err := mapper.New[Package](c, mapper.Table(s.target))
			if err != nil {
				t.Fatal(err)
			}
			g, err := migrate.Open(ctx, &expected{Client: c, of: s.client}, s.layout(), s.source,
				migrate.Tables(func(string) string { return s.target }))
			if err != nil {
				t.Fatal(err)
			}
			_ = migrate.Wrap(m, g).Delete(dies, m.Key("a"))
			kill()
			if f.Sent() < at {
				break
			}
			w, _ := s.wrapped()
			if err := w.Delete(ctx, m.Key("a")); err != nil && !errors.Is(err, mapper.ErrNotFound) {
				t.Errorf("%v", err)
			}
			if _, err := s.migration().Run(ctx); err != nil {
				t.Fatal(err)
			}
			if n := len(s.collections()); n > 0 {
				t.Errorf("the delete meets %s at request %d: %d items are left", what, at, n)
			}
		}
	}
}

// A verification removes the parts that moves have left which died after the entity had moved, and a
// rollback those of an entity whose root has expired.
func TestVerifyAndRollbackRemoveLeftovers(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	s := moved(t, 1)
	left := maps.Clone(s.collections()[slices.IndexFunc(s.collections(), func(a attributes) bool {
		return strings.HasPrefix(text(a["SK"]), "TAG#")
	})])
	left["SK"], left["_a"] = textValue("TAG#left"), &types.AttributeValueMemberB{Value: []byte("deadbeef")}
	if _, err := s.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &s.target, Item: left}); err != nil {
		t.Fatal(err)
	}
	n := len(s.collections())
	if v, err := s.migration().Verify(ctx); err != nil || !v.Clean() || len(s.collections()) != n-1 {
		t.Errorf("%+v, %v; %d items", v, err, len(s.collections()))
	}

	x, visas := newVisas(t)
	x.store(Visa{ID: "a", Owner: "bob", Until: time.Now().Add(time.Hour), Rooms: []Room2{{1}, {2}}}, nil)
	if _, err := x.migration().Run(ctx); err != nil {
		t.Fatal(err)
	}
	w := migrate.Wrap(visas, x.migration())
	if _, err := w.Update(ctx, visas.Key("a"),
		func(v *Visa) error { v.Until = time.Now().Add(-time.Hour); return nil }); err != nil {
		t.Fatal(err)
	}
	x.expire()
	if r, err := x.migration().Rollback(ctx); err != nil || len(x.collections()) > 0 {
		t.Errorf("%+v, %v; %d items", r, err, len(x.collections()))
	}
}
