package operation_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
)

// Faults of unique values that random schedules seldom have. Each test breaks if a clause of Unique.tla is left out.

// playersOf returns a mapper of players in a table.
func playersOf(t *testing.T, table string, client *dynamodb.Client) *mapper.Mapper[player] {
	t.Helper()
	return kit.Must(mapper.New[player](client, mapper.Table(table), mapper.AssumeVerified()))(t)
}

// A guard whose owner has another value is free: a program that ignores the tag has changed the value.
func TestGuardOfAnotherValueIsFree(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, take := range map[string]func(m *mapper.Mapper[player]) error{
		"insert": func(m *mapper.Mapper[player]) error {
			return kit.Err(m.Save(ctx, m.New(player{ID: "2", Email: "a"})))
		},
		"staged": func(m *mapper.Mapper[player]) error {
			e := m.New(player{ID: "2", Email: "a", Notes: []playerNote{{N: 1}}})
			return kit.Err(m.Save(ctx, e, mapper.Staged()))
		},
		"save": func(m *mapper.Mapper[player]) error {
			e := m.New(player{ID: "2", Email: "b"})
			kit.Must(m.Save(ctx, e))(t)
			e.Value.Email = "a"
			return kit.Err(m.Save(ctx, e))
		},
	} {
		table := testengine.Table(t, "PK:S", "SK:S")
		m := playersOf(t, table, testengine.Start(t).Client())
		kit.Must(m.Save(ctx, m.New(player{ID: "1", Email: "a"})))(t)
		kit.NewForeign(t, table).Set("PLAYER#1", "HEAD", "Email", kit.S("z"))
		if _, err := m.Load(ctx, byEmail("a")); !errors.Is(err, mapper.ErrNotFound) {
			t.Errorf("%s: the lookup: %v", name, err)
		}
		if err := take(m); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if e := kit.Must(m.Load(ctx, byEmail("a")))(t); e.Value.ID != "2" {
			t.Errorf("%s: the owner is %s", name, e.Value.ID)
		}
	}
}

// The undo of a staged insert deletes the root item first: a copy of the last transaction that arrives later is
// refused, and does not make an entity without its parts.
func TestUndoOfStagedInsertBeginsWithTheRoot(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	table := testengine.Table(t, "PK:S", "SK:S")
	m := playersOf(t, table, testengine.Start(t).Client())
	other := m.New(player{ID: "2", Email: "a"})
	copies, deletes := &kit.Crash{}, 0
	f := &kit.Faulty{At: -1, Late: func(r *http.Request) bool {
		switch kit.OperationOf(r) {
		case "TransactWriteItems":
			if len(copies.Late) == 0 {
				kit.Must(m.Save(ctx, other))(t)
				copies.Transport().Late(r)
				r.Body = io.NopCloser(bytes.NewReader(copies.Bodys[0]))
			}
		case "DeleteItem":
			deletes++
			return deletes > 1 // the program ends
		}
		return false
	}}
	dying := playersOf(t, table, kit.Client(t, f, 1))
	e := dying.New(player{ID: "1", Email: "a", Notes: []playerNote{{N: 1}, {N: 2}}})
	if _, err := dying.Save(ctx, e, mapper.Staged()); !errors.Is(err, mapper.ErrTaken) || deletes == 0 {
		t.Fatalf("%d deletes: %v", deletes, err)
	}
	kit.Must(m.Delete(ctx, other))(t)
	if n := copies.Deliver(t); n != 1 {
		t.Fatalf("%d copies", n)
	}
	if got, err := m.Load(ctx, m.Key("1"), mapper.Strong()); err == nil && len(got.Value.Notes) != 2 {
		t.Errorf("the entity is live without its parts: %+v", got.Value)
	}
}

// A delete that has found the claim of a staged insert releases no guard: the claim may be put again, with the same
// incarnation.
func TestDeleteOfAClaimReleasesNoGuard(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	table := testengine.Table(t, "PK:S", "SK:S")
	m := playersOf(t, table, testengine.Start(t).Client())
	reached, ended, goOn := make(chan bool), make(chan error), make(chan bool)
	slow := playersOf(t, table, kit.Client(t, kit.AtRequest("DeleteItem", 2, func() {
		close(reached)
		<-goOn
	}), 1))
	deleteIt := func() {
		go func() {
			_, err := slow.DeleteByKey(ctx, slow.Key("1"))
			ended <- err
		}()
		select {
		case <-reached:
		case err := <-ended:
			t.Log("the delete has ended:", err)
		}
	}
	puts := 0
	f := &kit.Faulty{At: -1}
	f.Pick = func() kit.Fault {
		if f.Log[len(f.Log)-1] != "PutItem" {
			return kit.None
		}
		if puts++; puts == 1 {
			return kit.DropAnswer
		}
		if puts == 2 {
			deleteIt()
		}
		return kit.None
	}
	inserting := playersOf(t, table, kit.Client(t, f, 1))
	e := inserting.New(player{ID: "1", Email: "a", Notes: []playerNote{{N: 1}}})
	kit.Must(inserting.Save(ctx, e, mapper.Staged()))(t)
	select {
	case <-reached:
		close(goOn)
		<-ended
	default:
	}
	if got := guardKeys(t, table); len(got) != 1 {
		t.Errorf("guards of a live entity: %q", got)
	}
	wantTaken(t, kit.Err(m.Save(ctx, m.New(player{ID: "2", Email: "a"}))), "1")
}

// An owner that has expired is deleted as it was read: one that a save has prolonged since keeps its value.
func TestProlongedOwnerKeepsItsValue(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	table := testengine.Table(t, "PK:S", "SK:S")
	m := playersOf(t, table, testengine.Start(t).Client())
	old := m.New(player{ID: "1", Email: "a", Ends: time.Now().Add(-time.Hour)})
	kit.Must(m.Save(ctx, old))(t)
	f := kit.AtRequest("TransactWriteItems", 2, func() {
		old.Value.Ends = time.Now().Add(time.Hour)
		if _, err := m.Save(ctx, old); err != nil {
			t.Errorf("the owner is not prolonged: %v", err)
		}
	})
	taking := playersOf(t, table, kit.Client(t, f, 1))
	wantTaken(t, kit.Err(taking.Save(ctx, taking.New(player{ID: "2", Email: "a"}))), "1")
	if got, err := m.Load(ctx, byEmail("a")); err != nil || got.Value.ID != "1" {
		t.Errorf("the owner is %v, %v", got, err)
	}
}
