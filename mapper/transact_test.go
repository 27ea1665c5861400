package mapper_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/examples/packages/registry"
	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
)

// Several entities, models, patches and a raw item are written at once. Plan, receipt and engine agree,
// and saved entities are up to date.
func TestTransact(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	j := kit.NewLedger(t, &kit.Faulty{At: -1}, 3)
	a := j.Accounts.New(kit.Account{ID: "1", Counter: 1, Left: "l"})
	deleted := j.Accounts.New(kit.Account{ID: "2", Left: "l"})
	byKey := j.Accounts.New(kit.Account{ID: "3", Entries: []kit.Part{{N: 1, Text: "x"}}})
	p := j.Packages.New(registry.Package{Name: "p"})
	kit.Must(mapper.Transact(ctx, j.Accounts.SavePart(deleted), j.Packages.SavePart(p), j.Accounts.SavePart(byKey)))(t)
	parts := []mapper.Part{
		j.Accounts.SavePart(a), registry.PackageByName("p").Tags().Add("latest", "1").PatchPart(j.Packages),
		j.Accounts.DeletePart(deleted), j.Note("n"),
	}
	plan := kit.Must(mapper.PlanTransact(parts...))(t)
	r := kit.Must(mapper.Transact(ctx, append(parts, j.Accounts.DeletePartByKey(j.Accounts.Key("3")))...))(t)
	if r.Predicted().Mode != "transaction" || plan.Mode != r.Predicted().Mode || !plan.WCU.Contains(14) ||
		testengine.ReportsTransactions(t) && r.Consumed.WCU != 18 || !r.Predicted().WCU.Contains(18) ||
		len(r.Predicted().Items) != 9 {
		t.Errorf("%v\n%v", plan, r)
	}
	for _, e := range []*mapper.Entity[kit.Account]{a, deleted} {
		if plan := kit.Must(j.Accounts.PlanSave(e))(t); e == a && plan.Mode != "nothing" || e == deleted &&
			plan.Mode != "transaction" {
			t.Errorf("%v", plan)
		}
	}
	a.Value.Counter = 2
	if r := kit.Must(mapper.Transact(ctx,
		j.Accounts.SavePart(a), j.Packages.SavePart(p)))(t); r.Predicted().Mode != "one" ||
		r.Consumed.WCU != 1 {
		t.Errorf("%v", r)
	}
	if r := kit.Must(mapper.Transact(ctx, j.Accounts.SavePart(a)))(t); r.Predicted().Mode != "nothing" ||
		r.Predicted().Requests != 0 {
		t.Errorf("%v", r)
	}
	kit.Must(mapper.Transact(ctx, j.Accounts.SavePart(deleted)))(t) // it was deleted, and is inserted
	if got := kit.Stored(t, j.Accounts, "1"); got.Counter != 2 || kit.Stored(t, j.Accounts, "2") == nil ||
		kit.Stored(t, j.Accounts, "3") != nil {
		t.Errorf("%+v", got)
	}
	if e := kit.Must(j.Packages.Load(ctx, registry.PackageByName("p")))(t); e.Value.Tags["latest"] != "1" {
		t.Errorf("%+v", e.Value)
	}
}

// Parts that cannot be in one transaction are refused before anything is sent, with the reason.
func TestTransactRefuses(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	other := kit.NewLedger(t, &kit.Faulty{At: -1}, 1)
	accounts := kit.Must(mapper.New[kit.Account](kit.Failing{}))(t)
	many := kit.Account{ID: "1"}
	for i := range 120 {
		many.Entries = append(many.Entries, kit.Part{N: i, Text: "x"})
	}
	heavy := kit.Account{ID: "1"}
	for i := range 11 {
		heavy.Entries = append(heavy.Entries, kit.Part{N: i, Text: strings.Repeat("x", 399_000)})
	}
	a := accounts.New(kit.Account{ID: "1", Left: "x"})
	raw := func(item types.TransactWriteItem) mapper.Part { return mapper.RawPart(kit.Failing{}, item) }
	accountsTable := "accounts"
	var value registry.Package
	for name, c := range map[string]struct {
		parts []mapper.Part
		want  string
	}{
		"none":  {nil, "the transaction has no parts"},
		"empty": {[]mapper.Part{{}}, "part 1 of the transaction is empty"},
		"many":  {[]mapper.Part{accounts.SavePart(accounts.New(many))}, "121 items (limit 100)"},
		"heavy": {[]mapper.Part{accounts.SavePart(accounts.New(heavy))}, "in all (limit 4 MB)"},
		"one twice": {
			[]mapper.Part{accounts.SavePart(a), accounts.SavePart(accounts.New(kit.Account{ID: "1"}))},
			"two parts of the transaction write or check ACCOUNT#1 HEAD",
		},
		"options": {
			[]mapper.Part{accounts.SavePart(a, mapper.Independent())},
			"takes CheckLoaded, CheckRoot, Reindex, Blind and IfTag only",
		},
		"client": {
			[]mapper.Part{accounts.SavePart(a), other.Note("1")},
			"part 2 of the transaction has another client",
		},
		"foreign": {
			[]mapper.Part{accounts.SavePart(other.Accounts.New(kit.Account{}))},
			"the entity is nil or of another mapper",
		},
		"not there": {[]mapper.Part{accounts.DeletePart(a)}, "nothing to delete"},
		"value":     {[]mapper.Part{accounts.SavePart(accounts.New(kit.Account{}))}, "an empty string in a key"},
		"raw twice": {[]mapper.Part{accounts.SavePart(a), raw(types.TransactWriteItem{Delete: &types.Delete{
			TableName: &accountsTable, Key: kit.Item{"PK": kit.S("ACCOUNT#1"), "SK": kit.S("HEAD")},
		}})}, "ACCOUNT#1 HEAD (kit.Account.Counter and mapper.RawPart)"},
		"raw key": {[]mapper.Part{accounts.SavePart(a), raw(types.TransactWriteItem{Delete: &types.Delete{
			TableName: &accountsTable, Key: kit.Item{"PK": kit.S("ACCOUNT#1")},
		}})}, "the delete lacks SK, the sort key of accounts: add it"},
		"raw nothing": {[]mapper.Part{raw(types.TransactWriteItem{})}, "the item has 0 of Put"},
		"raw table": {
			[]mapper.Part{raw(types.TransactWriteItem{Put: &types.Put{Item: kit.Item{"a": kit.S("x")}}})},
			"lacks the TableName",
		},
		"raw check": {[]mapper.Part{
			raw(types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
				TableName: &accountsTable,
				Key:       kit.Item{"PK": kit.S("x"), "SK": kit.S("x")},
			}}),
		}, "lacks ConditionExpression"},
		"no client": {[]mapper.Part{mapper.RawPart(nil, types.TransactWriteItem{})}, "the client is nil"},
		"no mapper": {
			[]mapper.Part{registry.PackageByName("p").Tags().Add("a", "b").PatchPart(nil)},
			"the patch has no mapper",
		},
		"return": {[]mapper.Part{
			registry.PackageByName("p").Root().Patch(registry.PackageFields.License.Set("x")).Return(&value).
				PatchPart(other.Packages),
		}, "Return is for"},
	} {
		r, err := mapper.Transact(ctx, c.parts...)
		if err == nil || !strings.Contains(err.Error(), c.want) || errors.Is(err, kit.ErrCalled) ||
			r.Predicted().Requests != 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := mapper.PlanTransact(accounts.DeletePartByKey(accounts.Key("1"))); err == nil ||
		!strings.Contains(err.Error(), "pass an *Entity") {
		t.Errorf("%v", err)
	}
}

// A conflict of any part is its error, and nothing is written; conflicts of several come together.
func TestTransactConflicts(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	j := kit.NewLedger(t, &kit.Faulty{At: -1}, 3)
	kit.Must(j.Accounts.Save(ctx, j.Accounts.New(kit.Account{ID: "1", Counter: 1, Left: "l"})))(t)
	kit.Must(j.Packages.Save(ctx, j.Packages.New(registry.Package{Name: "p", Tags: map[string]string{"a": "1"}})))(t)
	kit.Must(mapper.Transact(ctx, j.Note("n")))(t)
	load := func() *mapper.Entity[kit.Account] { return kit.Must(j.Accounts.Load(ctx, j.Accounts.Key("1")))(t) }
	stale := load()
	kit.Must(j.Accounts.Update(ctx, j.Accounts.Key("1"), func(a *kit.Account) error { a.Counter = 2; return nil }))(t)
	stale.Value.Counter = 9
	witness := j.Accounts.New(kit.Account{ID: "w"})
	var conflict *mapper.ConflictError
	for name, c := range map[string]struct {
		part mapper.Part
		is   error
		text string
	}{
		"save":   {j.Accounts.SavePart(stale), nil, "ACCOUNT#1 HEAD (Counter) was changed"},
		"insert": {j.Accounts.SavePart(j.Accounts.New(kit.Account{ID: "1"})), mapper.ErrExists, "exists already"},
		"delete": {j.Accounts.DeletePart(stale), nil, "was changed"},
		"add": {
			registry.PackageByName("p").Tags().Add("a", "b").PatchPart(j.Packages), mapper.ErrExists,
			"exists already",
		},
		"remove": {
			registry.PackageByName("p").Tags().Key("b").Delete().PatchPart(j.Packages),
			mapper.ErrNotFound, "does not exist",
		},
		"no entity": {
			registry.PackageByName("q").Tags().Add("a", "b").IfEntityExists().PatchPart(j.Packages),
			mapper.ErrNotFound, "does not exist",
		},
		"delete, no root": {j.Accounts.DeletePartByKey(j.Accounts.Key("none")), mapper.ErrNotFound, "does not exist"},
		"raw":             {j.Note("n"), nil, "the condition of the raw item does not hold for " + j.Loose},
	} {
		r, err := mapper.Transact(ctx, j.Accounts.SavePart(witness), c.part)
		if err == nil || c.is != nil && !errors.Is(err, c.is) || c.is == nil && !errors.As(err, &conflict) ||
			!strings.Contains(err.Error(), c.text) || len(r.Predicted().Items) > 0 {
			t.Errorf("%s: %v", name, err)
		}
		if kit.Stored(t, j.Accounts, "w") != nil {
			t.Fatalf("%s: it was written in part", name)
		}
	}
	_, err := mapper.Transact(ctx, j.Accounts.SavePart(stale), j.Note("n"))
	if err == nil || !strings.Contains(err.Error(), "was changed") ||
		!strings.Contains(err.Error(), "condition of the raw item") {
		t.Errorf("%v", err)
	}
	kit.Must(mapper.Transact(ctx, j.Accounts.SavePart(witness), j.Accounts.DeletePart(load())))(t)
}

// Unfinished staged writes are taken over, and conditions that turn out to concern leftover items are
// planned again.
func TestTransactTakesOver(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	tables := kit.LedgerTables(t)
	c := &kit.Crash{Left: 2} // the claim, and one part
	dying := kit.NewLedger(t, c.Transport(), 1, tables...)
	_, _ = dying.Accounts.Save(ctx, dying.Accounts.New(kit.Account{ID: "1", Left: "x", Right: "x"}), mapper.Staged())
	_, _ = dying.Packages.Save(ctx, dying.Packages.New(registry.Package{Name: "p"}))
	j := kit.NewLedger(t, &kit.Faulty{At: -1}, 3, tables...)
	a := j.Accounts.New(kit.Account{ID: "1", Counter: 1, Left: "y", Right: "y"})
	r := kit.Must(mapper.Transact(ctx, j.Accounts.SavePart(a), j.Note("n")))(t)
	if r.Predicted().Mode != "transaction" || r.Predicted().Requests < 2 {
		t.Errorf("%v", r)
	}
	if got := kit.Stored(t, j.Accounts, "1"); got.Left != "y" || got.Counter != 1 {
		t.Errorf("%+v", got)
	}
}

// Every fault at every request of a transaction over two saves, a delete, a patch and a raw item.
// Either all is written or nothing, the error says if the outcome is unknown, and each entity can be
// saved afterwards.
func TestTransactFaults(t *testing.T) {
	t.Parallel()
	tables := kit.LedgerTables(t)
	clean := kit.NewLedger(t, &kit.Faulty{At: -1}, 3, tables...)
	ctx := context.Background()
	unknown := 0
	seed := draws.Seed(t)
	for _, attempts := range []int{1, 3} {
		kinds := slices.Sorted(maps.Keys(kit.FaultNames))
		for _, drawn := range draws.Some(seed+uint64(attempts), 4*len(kinds), draws.Times(12, draws.All, draws.All)) {
			kind, at := kinds[drawn%len(kinds)], drawn/len(kinds)
			what := kit.FaultNames[kind]
			id := fmt.Sprint(attempts, kind, at)
			kit.Must(clean.Accounts.Save(ctx, clean.Accounts.New(kit.Account{ID: id, Counter: 1, Left: "a"})))(t)
			kit.Must(clean.Accounts.Save(ctx, clean.Accounts.New(kit.Account{ID: id + "d", Counter: 1, Left: "a"})))(t)
			kit.Must(clean.Packages.Save(ctx, clean.Packages.New(registry.Package{Name: id})))(t)
			f := &kit.Faulty{At: -1, Fault: kind}
			j := kit.NewLedger(t, f, attempts, tables...)
			run, cancel := context.WithCancel(ctx)
			f.Cancel = cancel
			a, d := kit.Must(j.Accounts.Load(ctx, j.Accounts.Key(id)))(t),
				kit.Must(j.Accounts.Load(ctx, j.Accounts.Key(id+"d")))(t)
			fresh := j.Accounts.New(kit.Account{ID: id + "n", Counter: 1, Left: "a"})
			a.Value.Counter, a.Value.Left = 2, "b"
			f.Count, f.At = 0, at
			_, err := mapper.Transact(run, j.Accounts.SavePart(a), j.Accounts.SavePart(fresh), j.Accounts.DeletePart(d),
				registry.PackageByName(id).Tags().Add("x", "y").PatchPart(j.Packages), j.Note(id))
			f.At = -1
			cancel()
			now := kit.Stored(t, clean.Accounts, id)
			done := now.Counter == 2
			tags := kit.Must(clean.Packages.Load(ctx, registry.PackageByName(id)))(t).Value.Tags
			if done != (now.Left == "b") || done != (kit.Stored(t, clean.Accounts, id+"n") != nil) ||
				done != (kit.Stored(t, clean.Accounts, id+"d") == nil) || done != (tags["x"] == "y") {
				t.Fatalf("%s at %d: torn (%v)", what, at, err)
			}
			var lost *mapper.OutcomeUnknownError
			var partial *mapper.PartialError
			switch {
			case errors.As(err, &lost):
				unknown++
			// it was applied, and the items that others added to the deleted entity are unknown
			case done && errors.As(err, &partial):
			case done != (err == nil):
				t.Fatalf("%s at %d: done %v, and told %v", what, at, done, err)
			}
			a.Value.Right, fresh.Value.Right = "c", "c"
			kit.Must(j.Accounts.Save(ctx, a))(t)
			kit.Must(j.Accounts.Save(ctx, fresh))(t)
			if _, err := j.Accounts.Delete(ctx, d); err != nil && !errors.Is(err, mapper.ErrNotFound) {
				t.Fatalf("%s at %d: %v", what, at, err)
			}
			if x, y := kit.Stored(t, clean.Accounts, id), kit.Stored(t, clean.Accounts, id+"n"); x.Counter != 2 ||
				x.Right != "c" || y.Left != "a" || y.Right != "c" {
				t.Fatalf("%s at %d: %+v %+v", what, at, x, y)
			}
		}
	}
	if unknown == 0 && draws.Times(0, 1, 1) > 0 { // few draws may all miss
		t.Error("no outcome was unknown: the faults miss their aim")
	}
}
