package search_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/itemize/itemize/examples/models"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

// A thousand entities with known keys need ten requests, and are returned in the requested order. An
// entity that does not exist is nil. One that is requested twice is read once, and returned as two
// entities.
func TestLoadManyKeys(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "Forum:S", "Subject:S")
	f := &kit.Faulty{At: -1}
	m := kit.Must(mapper.New[models.Thread](kit.Client(t, f, 3), mapper.Table(table)))(t)
	var sels []query.Selection[models.Thread]
	var stored []models.Thread
	for i := range 1000 {
		id := fmt.Sprintf("s%04d", 999-i)
		if i%10 != 3 {
			stored = append(stored, models.Thread{Forum: "f", Subject: id, Views: i})
		}
		sels = append(sels, models.ThreadByForumSubject("f", id))
	}
	kit.Must(m.BulkLoad(ctx, mapper.NoErrors(slices.Values(stored))))(t)
	sels = append(sels, sels[5], sels[5])
	f.Log = nil
	var r mapper.Receipt
	all := kit.Must(m.LoadMany(ctx, sels, mapper.ReceiptTo(&r)))(t)
	if r.Predicted().Requests != 10 || len(f.Log) != 10 || f.Log[0] != "BatchGetItem" || len(all) != 1002 {
		t.Errorf("%v %v", &r, f.Log)
	}
	for i, e := range all[:1000] {
		switch {
		case (e == nil) != (i%10 == 3):
			t.Fatalf("%d: %v", i, e)
		case e != nil && (e.Value.Views != i || e.Value.Subject != fmt.Sprintf("s%04d", 999-i)):
			t.Fatalf("%d: %+v", i, e.Value)
		}
	}
	if all[5] == all[1000] || all[1000] == all[1001] || !cmp.Equal(all[5].Value, all[1001].Value) {
		t.Error("twice one entity")
	}
	all[5].Value.Views, all[1000].Value.Views = 7, 8
	kit.Must(m.Save(ctx, all[5]))(t)
	var conflict *mapper.ConflictError
	if _, err := m.Save(ctx, all[1000]); !errors.As(err, &conflict) {
		t.Errorf("%v", err)
	}
}

// Ranges are read as Load reads them, several at a time. A recently staged entity is read again,
// strongly consistent, and one that is not live does not exist. Keys that were not processed are
// requested again.
func TestLoadMany(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	m := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 3)
	var sels []query.Selection[kit.Account]
	var want []*kit.Account
	for i := range 40 {
		id := fmt.Sprint(i)
		a := kit.Account{ID: id, Counter: 1 + i, Left: strings.Repeat("l", i), Entries: []kit.Part{{N: i, Text: "x"}}}
		switch i % 4 {
		case 0:
			kit.Must(m.Save(ctx, m.New(a)))(t)
		case 1:
			kit.Must(m.Save(ctx, m.New(a), mapper.Staged()))(t)
		case 2:
			c := &kit.Crash{Left: 2}
			dying := kit.NewAccounts(t, table, c.Transport(), 1)
			_, _ = dying.Save(ctx, dying.New(a), mapper.Staged())
		}
		sels = append(sels, m.Key(id))
		want = append(want, nil)
		if i%4 < 2 {
			want[i] = &a
		}
	}
	part := len(sels)
	sels = append(sels, m.Key("4").Prefix("ENTRY#"), m.Key("none").Prefix("ENTRY#"), m.Key("5").Item("LEFT"),
		m.Key("8").Item("HEAD"), m.Key("2").Item("HEAD"))
	all := kit.Must(m.LoadMany(ctx, sels))(t)
	for i, w := range want {
		if (all[i] == nil) != (w == nil) || w != nil && !cmp.Equal(all[i].Value, *w, kit.AccountOptions) {
			t.Errorf("%d: %+v, want %+v", i, all[i], w)
		}
	}
	if p := all[part:]; len(p[0].Value.Entries) != 1 || len(p[1].Value.Entries) != 0 || p[2].Value.Left != "lllll" ||
		p[3].Value.Counter != 9 || p[4] != nil {
		t.Errorf("%+v", p)
	}
	if all := kit.Must(m.LoadMany(ctx, nil))(t); len(all) != 0 {
		t.Errorf("%v", all)
	}
	stub := kit.Must(mapper.New[kit.Account](kit.Failing{}))(t)
	for text, sels := range map[string][]query.Selection[kit.Account]{
		"the selection 2 of LoadMany is nil: use the mapper's Key": {
			stub.Key("1"),
			nil,
		},
		"the key selects": {stub.Key()},
	} {
		if _, err := stub.LoadMany(ctx, sels); err == nil || errors.Is(err, kit.ErrCalled) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := stub.LoadMany(ctx, []query.Selection[kit.Account]{stub.Key("1")}); !errors.Is(err, kit.ErrCalled) {
		t.Errorf("%v", err)
	}
}

// Several entities: "duplicates are read once and returned as separate entities".
func TestLoadManyReadsDuplicatesOnce(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	m := kit.Must(mapper.New[sheet](testengine.Start(t).Client(), mapper.Table(table)))(t)
	kit.Must(m.Save(ctx, m.New(sheet{ID: "1", Name: "n", Rows: []kit.Part{{N: 1, Text: "x"}, {N: 2, Text: "y"}}})))(t)
	kit.NewForeign(t, table).Put(kit.Item{"PK": kit.S("SHEET#1"), "SK": kit.S("AAA")}) // another model's, or left over
	all := kit.Must(m.LoadMany(ctx, []query.Selection[sheet]{m.Key("1"), m.Key("1")}))(t)
	if len(all[1].Value.Rows) != 2 || all[1].Unknown() != 1 {
		t.Errorf("%+v, %d unknown, and %+v, %d unknown", all[0].Value, all[0].Unknown(), all[1].Value, all[1].Unknown())
	}
}

// LoadMany returns the entities in the order of the selections, each as Load returns it.
func TestLoadManyKeepsOrder(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	m := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 3)
	kit.Must(m.Save(ctx, m.New(kit.Account{ID: "1", Counter: 1, Entries: []kit.Part{{N: 1, Text: "x"}}})))(t)
	all := kit.Must(m.LoadMany(ctx, []query.Selection[kit.Account]{m.Key("1").Table("accounts"), m.Key("1")}))(t)
	if _, err := m.Delete(ctx, all[1]); err != nil {
		t.Error(err)
	}
}
