package migrate_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/breaking"
	"github.com/itemize/itemize/internal/draws"
	"github.com/itemize/itemize/migrate"
)

// kinds are 40 documents, one of each kind: of 0 to 130 events, empty, wide, deep, large, odd, and some that cannot be moved.
func (s *setup) kinds() (dead int) {
	s.Helper()
	r := rand.New(rand.NewPCG(7, 7))
	large := 0
	for i := range 40 {
		doc, movable := generated(r, fmt.Sprint("kind", i))
		for tries := 0; i < 3 && movable && tries < 2000; tries++ { // three of those that are rare
			doc, movable = generated(r, fmt.Sprint("kind", i))
		}
		for eventsOf(doc) > 25 && large == 2 { // and two of those that take most requests
			doc, movable = generated(r, fmt.Sprint("kind", i))
		}
		if eventsOf(doc) > 25 {
			large++
		}
		if !movable {
			dead++
		}
		s.put(doc)
	}
	return dead
}

func eventsOf(doc attributes) int {
	l, _ := doc["events"].(*types.AttributeValueMemberL)
	if l == nil {
		return 0
	}
	return len(l.Value)
}

// A step meets a fault at any of its requests, and is begun again: run, rollback, and what they leave, end as if nothing had happened.
// ITEMIZE_DRAWS asks for more of the requests; 800 for each.
func TestStepsMeetFaults(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newSetup(t)
	dead := s.kinds()
	if dead == 0 || dead > 20 {
		t.Fatalf("%d of 40 cannot be moved", dead)
	}
	every := max(801/draws.Times(1), 1)
	met, sum := 0, 0
	for what := range breaking.Faults {
		for at := 1 + rand.IntN(every); ; at += every {
			forth := s.failingStep(ctx, what, at, (*migrate.Migration).Run)
			r, err := s.migration().Run(ctx)
			if err != nil || r.This.Dead != dead || r.This.Conflicts != 0 || r.This.Moved+r.This.Before != 40-dead {
				t.Fatalf("%s %d: %+v, %v", what, at, r, err)
			}
			v, err := s.migration().Verify(ctx)
			if err != nil || v.Same != 40-dead || v.Unmoved != dead || v.Wrong != 0 {
				t.Fatalf("%s %d: %+v, %v", what, at, v, err)
			}
			if status, err := s.migration().Status(ctx); err != nil || len(status.DeadLetters) != dead {
				t.Fatalf("%s %d: %+v, %v", what, at, status, err)
			}
			back := s.failingStep(ctx, what, at, (*migrate.Migration).Rollback)
			if _, err := s.migration().Rollback(ctx); err != nil {
				t.Fatalf("%s %d: %v", what, at, err)
			}
			s.came()
			for _, a := range s.all(s.target) {
				if !strings.HasPrefix(text(a["PK"]), "~migrate#") {
					t.Fatalf("%s %d: %v is left", what, at, a)
				}
			}
			if !forth && !back {
				sum += at - 1
				break
			}
			if met++; met%500 == 0 {
				t.Logf("%d faults, the last %s at %d", met, what, at)
			}
		}
	}
	t.Logf("%d faults, on each %d of the requests there or back, %d at most", met, every, sum/4)
}

// failingStep does a step with a fault at its n-th request, and reports whether it came to that.
func (s *setup) failingStep(ctx context.Context, what breaking.Fault, at int, step func(*migrate.Migration, context.Context) (*migrate.Report, error)) bool {
	s.Helper()
	ctx, kill := context.WithCancel(ctx)
	defer kill()
	b := &breaking.Transport{At: at, Fault: what, Kill: kill}
	m, err := migrate.New(ctx, &known{Client: b.Client(s.client), of: s.client}, s.layout(), s.source, migrate.Tables(func(string) string { return s.target }), migrate.Segments(3))
	if err != nil {
		s.Fatal(err)
	}
	if _, err := step(m, ctx); err != nil && !errors.Is(err, context.Canceled) && !strings.Contains(err.Error(), breaking.Err.Error()) {
		s.Errorf("%s %d: %v", what, at, err)
	}
	return b.Sent() >= at
}

// Each monolith is removed as soon as its collection is live and compared, but for those that cannot be moved, or are written
// by somebody else; the units are as planned, and a rollback makes them again.
func TestReplace(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newSetup(t)
	for i := range 12 {
		s.put(document(fmt.Sprint("p", i), i))
	}
	dead := attributes{"name": textValue("dead"), "events": textValue("no list")}
	s.put(dead)
	plan, err := s.migration(migrate.Replace()).Plan(ctx, migrate.PlanOptions{})
	if err != nil || plan.Removals != plan.Marks || plan.Removals == 0 {
		t.Fatalf("%+v, %v", plan, err)
	}
	r, err := s.migration(migrate.Replace()).Run(ctx)
	if err != nil || r.This.Moved != 12 || r.This.Dead != 1 || r.This.WCU != plan.WCU {
		t.Fatalf("%+v, %v; planned %+v", r, err, plan)
	}
	if left := s.all(s.source); len(left) != 1 || text(left[0]["name"]) != "dead" {
		t.Errorf("%d monoliths are left: %v", len(left), left)
	}
	_, m := s.wrapped()
	if e, err := m.Load(ctx, m.Key("p7")); err != nil || len(e.Value.Events) != 7 {
		t.Errorf("%+v, %v", e, err)
	}
	if _, err := s.migration().Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	s.came()
}
