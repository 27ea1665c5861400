package operation_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/unique"
)

// A delete by a lookup whose request was lost does not take a missing root item for its own work: the entity may have
// moved to another key, with the value.
func TestLostDeletesByLookupAreNotInferred(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	table := testengine.Table(t, "PK:S", "SK:S")
	m := playersOf(t, table, testengine.Start(t).Client())
	for name, notes := range map[string][]playerNote{"one item": nil, "several": {{N: 1}}} {
		e := m.New(player{ID: "1" + name, Email: name, Notes: notes})
		kit.Must(m.Save(ctx, e))(t)
		moved, f := false, &kit.Faulty{At: -1}
		f.Pick = func() kit.Fault {
			if op := f.Log[len(f.Log)-1]; moved || op != "DeleteItem" && op != "TransactWriteItems" {
				return kit.None
			}
			moved, e.Value.ID = true, "2"+name
			kit.Must(m.Save(ctx, e, mapper.Move()))(t)
			return kit.DropRequest
		}
		_, err := playersOf(t, table, kit.Client(t, f, 3)).DeleteByKey(ctx, byEmail(name))
		if _, lives := m.Load(ctx, byEmail(name), mapper.Strong()); err == nil && lives == nil {
			t.Errorf("%s: the delete succeeded, and the entity lives", name)
		}
	}
}

// A key of bytes is no guard, whatever its bytes are.
func TestKeysOfBytesAreNoGuards(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	type blob struct {
		_    struct{} `ddb:"table=blobs"`
		ID   []byte   `ddb:"pk={ID}"`
		Name string   `ddb:"sk=HEAD"`
	}
	m := kit.Must(mapper.New[blob](testengine.Start(t).Client(), mapper.Table(testengine.Table(t, "PK:B", "SK:S"))))(t)
	kit.Must(m.Save(ctx, m.New(blob{ID: []byte("~unique#1"), Name: "x"})))(t)
	n := 0
	for e, err := range m.Scan(ctx) {
		n += len(kit.Must(e, err)(t).Value.Name)
	}
	if n != 1 {
		t.Errorf("a scan found %d entities", n)
	}
}

// Drop takes the whole name of one value.
func TestDropTakesTheNameOfOneValue(t *testing.T) {
	t.Parallel()
	ctx, client := context.Background(), testengine.Start(t).Client()
	table := testengine.Table(t, "PK:S", "SK:S")
	m := playersOf(t, table, client)
	kit.Must(m.Save(ctx, m.New(player{ID: "1", Email: "a", Tenant: "t", Nick: "n"})))(t)
	for _, name := range []string{
		"", "player", "Email", "player#", "#Email", "player#Email#a",
		"~unique#player#Email",
	} {
		r, err := unique.Drop(ctx, client, unique.Table{Name: table, Hash: "PK", Range: "SK"}, name)
		if err == nil || r.Items+r.Written > 0 || len(guardKeys(t, table)) != 2 {
			t.Errorf("%q: %+v, %v", name, r, err)
		}
	}
}

// A pass does not report an expired entity as deleted whose delete was refused: it has two owners of the value then.
func TestPassesReportTheEntitiesThatTheyDelete(t *testing.T) {
	t.Parallel()
	ctx, client := context.Background(), testengine.Start(t).Client()
	type untagged struct {
		_      struct{}     `ddb:"table=players,ttl=ends"`
		ID     string       `ddb:"pk=PLAYER#{ID}"`
		Email  string       `ddb:"sk=HEAD"`
		Tenant string       `ddb:"sk=HEAD"`
		Nick   string       `ddb:"sk=HEAD"`
		Name   string       `ddb:"sk=HEAD"`
		Ends   time.Time    `ddb:"sk=HEAD,ttl,all"`
		Notes  []playerNote `ddb:"sk=NOTE#{N:03}"`
	}
	table := testengine.Table(t, "PK:S", "SK:S")
	m := playersOf(t, table, client)
	kit.Must(m.Save(ctx, m.New(player{ID: "1", Email: "a"})))(t)
	old := kit.Must(mapper.New[untagged](client, mapper.Table(table)))(t)
	e := old.New(untagged{ID: "2", Email: "a", Ends: time.Now().Add(-time.Hour)})
	kit.Must(old.Save(ctx, e))(t)
	f := kit.AtRequest("DeleteItem", 1, func() {
		e.Value.Ends = time.Now().Add(time.Hour)
		kit.Must(old.Save(ctx, e))(t)
	})
	r := kit.Must(unique.Run(ctx, playersOf(t, table, kit.Client(t, f, 3))))(t)
	if r.Expired != 0 || r.Duplicates != 1 {
		t.Errorf("two live entities have the value: %+v", r)
	}
}

// The report of a bulk load that ends early counts the entities that were saved by themselves in the last batch.
func TestBulkLoadsThatEndCountWhatTheySaved(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	table := testengine.Table(t, "PK:S", "SK:S")
	f := kit.AtRequest("TransactWriteItems", 30, cancel)
	var all []player
	for i := range 60 {
		all = append(all, player{ID: fmt.Sprint(i), Email: fmt.Sprint(i)})
	}
	r, err := playersOf(t, table, kit.Client(t, f, 1)).BulkLoad(ctx, mapper.NoErrors(slices.Values(all)),
		mapper.Concurrency(1))
	if got := len(guardKeys(t, table)); err == nil || got < 29 || r.Entities != got || r.Items != got {
		t.Errorf("%d entities are stored, the report has %+v: %v", got, r, err)
	}
}

// A lookup of an entity that has expired says so, as a load by its key does.
func TestLookupsSayThatTheOwnerHasExpired(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := playersOf(t, testengine.Table(t, "PK:S", "SK:S"), testengine.Start(t).Client())
	kit.Must(m.Save(ctx, m.New(player{ID: "1", Email: "a", Ends: time.Now().Add(-time.Minute)})))(t)
	for email, pending := range map[string]bool{"a": true, "b": false} {
		var missing *mapper.NotFoundError
		if _, err := m.Load(ctx, byEmail(email)); !errors.As(err, &missing) || (missing.Pending != "") != pending {
			t.Errorf("%s: %v", email, err)
		}
	}
}
