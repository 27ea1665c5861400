package migrate_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/fakedynamo"
	"github.com/itemize/itemize/migrate"
)

// kinds puts 40 documents, one of each kind, and returns how many cannot be moved.
func (s *setup) kinds() (dead int) {
	s.Helper()
	for i := range 40 {
		dead += s.kind(i)
	}
	return dead
}

// kind puts one of them, and returns how many of it cannot be moved.
func (s *setup) kind(i int) (dead int) {
	s.Helper()
	all, movable := ofKinds()
	s.put(all[i])
	if !movable[i] {
		return 1
	}
	return 0
}

// ofKinds are 40 documents, one of each kind: of 0 to 130 events, empty, wide, deep, large, odd, and
// some that cannot be moved.
func ofKinds() (all []attributes, can []bool) {
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
		all, can = append(all, doc), append(can, movable)
	}
	return all, can
}

func eventsOf(doc attributes) int {
	l, _ := doc["events"].(*types.AttributeValueMemberL)
	if l == nil {
		return 0
	}
	return len(l.Value)
}

// A step meets a fault at any of its requests, and is begun again: run, rollback, and what they leave,
// end as if nothing had happened.
func TestStepsSurviveFaults(t *testing.T) {
	t.Parallel()
	every := draws.Times(1600, 600, 80)
	var hit, requests atomic.Int64
	for _, n := range draws.Some(draws.Seed(t), int(fakedynamo.Faults), draws.Times(1, draws.All, draws.All)) {
		what := fakedynamo.Fault(n)
		next, end := make(chan int), make(chan bool)
		go func() {
			for at := 1 + rand.IntN(every); ; at += every {
				select {
				case next <- at:
				case <-end:
					close(next)
					return
				}
			}
		}()
		var lanes sync.WaitGroup
		var ends sync.Once
		for range min(800/every, maxLanes) { // the successor of a killed program waits, while others continue
			lanes.Go(func() {
				s := newSetup(t)
				dead := s.kinds()
				if dead == 0 || dead > 20 {
					t.Errorf("%d of 40 cannot be moved", dead)
				}
				for at := range next {
					if !s.survivesFault(what, at, dead) {
						ends.Do(func() { requests.Add(int64(at) - 1); close(end) })
					} else if n := hit.Add(1); n%500 == 0 {
						t.Logf("%d faults, the last %s at %d", n, what, at)
					}
				}
			})
		}
		lanes.Wait()
		if t.Failed() {
			return
		}
	}
	t.Logf("%d faults, on each %d of the requests there or back, %d at most", hit.Load(), every,
		requests.Load()/int64(fakedynamo.Faults))
}

// Each of the kinds by itself meets a fault at requests of its run and its rollback.
func TestEachKindSurvivesFaults(t *testing.T) {
	t.Parallel()
	every := draws.Times(97, 72, 4)
	var hit, requests atomic.Int64
	var kinds sync.WaitGroup
	for _, i := range draws.Some(draws.Seed(t), 40, draws.Times(2, 16, 40)) {
		kinds.Go(func() {
			s := newSetup(t)
			dead := s.kind(i)
			for what := range fakedynamo.Faults {
				at := 1 + rand.IntN(every)
				for ; s.survivesFault(what, at, dead); at += every {
					hit.Add(1)
				}
				requests.Add(int64(at) - 1)
			}
		})
	}
	kinds.Wait()
	t.Logf("%d faults, on each %d of the requests there or back, %d of the 40 kinds at most", hit.Load(), every,
		requests.Load()/int64(fakedynamo.Faults))
}

const maxLanes = 10

// survivesFault has a run and a rollback meet a fault at their n-th request, and reports whether one of
// them had so many.
func (s *setup) survivesFault(what fakedynamo.Fault, at, dead int) bool {
	ctx := request.WithoutPauses(context.Background())
	fail := func(args ...any) bool {
		s.Errorf("%s %d: %+v", what, at, args)
		return false
	}
	forth := s.failingStep(ctx, what, at, (*migrate.Migration).Run)
	r, err := s.migration().Run(ctx)
	if err != nil || r.This.Dead != dead || r.This.Conflicts != 0 || r.This.Moved+r.This.Before != len(s.docs)-dead {
		return fail(r, err)
	}
	v, err := s.migration().Verify(ctx)
	if err != nil || v.Same != len(s.docs)-dead || v.Unmoved != dead || v.Wrong != 0 {
		return fail(v, err)
	}
	if status, err := s.migration().Status(ctx); err != nil || len(status.DeadLetters) != dead {
		return fail(status, err)
	}
	back := s.failingStep(ctx, what, at, (*migrate.Migration).Rollback)
	if _, err := s.migration().Rollback(ctx); err != nil {
		return fail(err)
	}
	s.came()
	for _, a := range s.all(s.target) {
		if !strings.HasPrefix(text(a["PK"]), "~migrate#") {
			return fail("left", a)
		}
	}
	return forth || back
}

// failingStep does a step with a fault at its n-th request, and reports whether it came to that.
func (s *setup) failingStep(ctx context.Context, what fakedynamo.Fault, at int,
	step func(*migrate.Migration, context.Context) (*migrate.Report, error),
) bool {
	s.Helper()
	return s.failing(ctx, what, at, func(m *migrate.Migration, ctx context.Context) error {
		_, err := step(m, ctx)
		return err
	})
}

// failing is failingStep of anything.
func (s *setup) failing(ctx context.Context, what fakedynamo.Fault, at int,
	do func(*migrate.Migration, context.Context) error,
) bool {
	s.Helper()
	ctx, kill := context.WithCancel(ctx)
	defer kill()
	b := &fakedynamo.Transport{At: at, Fault: what, Kill: kill}
	m, err := migrate.Open(ctx, &expected{Client: b.Client(s.client), of: s.client}, s.layout(), s.source,
		migrate.Tables(func(string) string { return s.target }), migrate.Segments(3))
	if err != nil {
		s.Fatal(err)
	}
	if err := do(m, ctx); err != nil && !errors.Is(err, context.Canceled) &&
		!strings.Contains(err.Error(), fakedynamo.Err.Error()) {
		s.Errorf("%s %d: %v", what, at, err)
	}
	return b.Sent() >= at
}

// Each monolith is deleted as soon as its collection is live and compared, except those that cannot be
// moved or were written by another program. The units are as planned, and a rollback restores the
// monoliths.
func TestReplace(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	s := newSetup(t)
	for i := range 12 {
		s.put(document(fmt.Sprint("p", i), i))
	}
	dead := attributes{"name": textValue("dead"), "events": textValue("no list")}
	s.put(dead)
	plan, err := s.migration(migrate.Replace()).Plan(ctx, migrate.PlanOptions{})
	if err != nil || plan.Full().Removals != plan.Full().Marks || plan.Full().Removals == 0 {
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
