package mapper_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/examples/packages/registry"
	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
)

// ledger is a transaction's world: accounts and packages in tables of their own, and a table that
// is no model's.
type ledger struct {
	accounts     *mapper.Mapper[account]
	packages     *mapper.Mapper[registry.Package]
	client       mapper.Client
	table, loose string
}

func newLedger(t testing.TB, f *faulty, attempts int, tables ...string) *ledger {
	t.Helper()
	if tables == nil {
		tables = ledgerTables(t)
	}
	c := client(t, f, attempts)
	return &ledger{
		accounts: must(mapper.New[account](c, mapper.Table(tables[0])))(t),
		packages: must(mapper.New[registry.Package](c, mapper.Table(tables[1])))(t),
		client:   c, table: tables[1], loose: tables[2],
	}
}

func ledgerTables(t testing.TB) []string {
	return []string{
		testengine.Table(t, "PK:S", "SK:S"), testengine.Table(t, "PK:S", "SK:S"),
		testengine.Table(t, "ID:S", ""),
	}
}

// note is an item of the caller's own making.
func (j *ledger) note(id string) mapper.Part {
	return mapper.RawPart(j.client, types.TransactWriteItem{Put: &types.Put{
		TableName: &j.loose, Item: item{"ID": s(id), "Text": s("x")},
		ConditionExpression: aws.String("attribute_not_exists(ID)"),
	}})
}

// Several entities, models, patches and a raw item are written at once. Plan, receipt and engine agree,
// and saved entities are up to date.
func TestTransact(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	j := newLedger(t, &faulty{at: -1}, 3)
	a := j.accounts.New(account{ID: "1", Counter: 1, Left: "l"})
	deleted := j.accounts.New(account{ID: "2", Left: "l"})
	byKey := j.accounts.New(account{ID: "3", Entries: []part{{1, "x"}}})
	p := j.packages.New(registry.Package{Name: "p"})
	must(mapper.Transact(ctx, j.accounts.SavePart(deleted), j.packages.SavePart(p), j.accounts.SavePart(byKey)))(t)
	parts := []mapper.Part{
		j.accounts.SavePart(a), registry.PackageByName("p").Tags().Add("latest", "1").PatchPart(j.packages),
		j.accounts.DeletePart(deleted), j.note("n"),
	}
	plan := must(mapper.PlanTransact(parts...))(t)
	r := must(mapper.Transact(ctx, append(parts, j.accounts.DeletePartByKey(j.accounts.Key("3")))...))(t)
	if r.Predicted().Mode != "transaction" || plan.Mode != r.Predicted().Mode || !plan.WCU.Contains(14) ||
		testengine.ReportsTransactions(t) && r.Consumed.WCU != 18 || !r.Predicted().WCU.Contains(18) ||
		len(r.Predicted().Items) != 9 {
		t.Errorf("%v\n%v", plan, r)
	}
	for _, e := range []*mapper.Entity[account]{a, deleted} {
		if plan := must(j.accounts.PlanSave(e))(t); e == a && plan.Mode != "nothing" || e == deleted &&
			plan.Mode != "transaction" {
			t.Errorf("%v", plan)
		}
	}
	a.Value.Counter = 2
	if r := must(mapper.Transact(ctx,
		j.accounts.SavePart(a), j.packages.SavePart(p)))(t); r.Predicted().Mode != "one" ||
		r.Consumed.WCU != 1 {
		t.Errorf("%v", r)
	}
	if r := must(mapper.Transact(ctx, j.accounts.SavePart(a)))(t); r.Predicted().Mode != "nothing" ||
		r.Predicted().Requests != 0 {
		t.Errorf("%v", r)
	}
	must(mapper.Transact(ctx, j.accounts.SavePart(deleted)))(t) // it was deleted, and is inserted
	if got := stored(t, j.accounts, "1"); got.Counter != 2 || stored(t, j.accounts, "2") == nil ||
		stored(t, j.accounts, "3") != nil {
		t.Errorf("%+v", got)
	}
	if e := must(j.packages.Load(ctx, registry.PackageByName("p")))(t); e.Value.Tags["latest"] != "1" {
		t.Errorf("%+v", e.Value)
	}
}

// Parts that cannot be in one transaction are refused before anything is sent, with the reason.
func TestTransactRefuses(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	other := newLedger(t, &faulty{at: -1}, 1)
	accounts := must(mapper.New[account](failingClient{}))(t)
	many := account{ID: "1"}
	for i := range 120 {
		many.Entries = append(many.Entries, part{i, "x"})
	}
	heavy := account{ID: "1"}
	for i := range 11 {
		heavy.Entries = append(heavy.Entries, part{i, strings.Repeat("x", 399_000)})
	}
	a := accounts.New(account{ID: "1", Left: "x"})
	raw := func(item types.TransactWriteItem) mapper.Part { return mapper.RawPart(failingClient{}, item) }
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
			[]mapper.Part{accounts.SavePart(a), accounts.SavePart(accounts.New(account{ID: "1"}))},
			"two parts of the transaction write or check ACCOUNT#1 HEAD",
		},
		"options": {
			[]mapper.Part{accounts.SavePart(a, mapper.Independent())},
			"takes CheckLoaded, CheckRoot, Reindex, Blind and IfTag only",
		},
		"client": {
			[]mapper.Part{accounts.SavePart(a), other.note("1")},
			"part 2 of the transaction has another client",
		},
		"foreign": {
			[]mapper.Part{accounts.SavePart(other.accounts.New(account{}))},
			"the entity is nil or of another mapper",
		},
		"not there": {[]mapper.Part{accounts.DeletePart(a)}, "nothing to delete"},
		"value":     {[]mapper.Part{accounts.SavePart(accounts.New(account{}))}, "an empty string in a key"},
		"raw twice": {[]mapper.Part{accounts.SavePart(a), raw(types.TransactWriteItem{Delete: &types.Delete{
			TableName: &accountsTable, Key: item{"PK": s("ACCOUNT#1"), "SK": s("HEAD")},
		}})}, "ACCOUNT#1 HEAD (mapper_test.account.Counter and mapper.RawPart)"},
		"raw key": {[]mapper.Part{accounts.SavePart(a), raw(types.TransactWriteItem{Delete: &types.Delete{
			TableName: &accountsTable, Key: item{"PK": s("ACCOUNT#1")},
		}})}, "the delete lacks SK, the sort key of accounts: add it"},
		"raw nothing": {[]mapper.Part{raw(types.TransactWriteItem{})}, "the item has 0 of Put"},
		"raw table": {
			[]mapper.Part{raw(types.TransactWriteItem{Put: &types.Put{Item: item{"a": s("x")}}})},
			"lacks the TableName",
		},
		"raw check": {[]mapper.Part{
			raw(types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
				TableName: &accountsTable,
				Key:       item{"PK": s("x"), "SK": s("x")},
			}}),
		}, "lacks ConditionExpression"},
		"no client": {[]mapper.Part{mapper.RawPart(nil, types.TransactWriteItem{})}, "the client is nil"},
		"no mapper": {
			[]mapper.Part{registry.PackageByName("p").Tags().Add("a", "b").PatchPart(nil)},
			"the patch has no mapper",
		},
		"return": {[]mapper.Part{
			registry.PackageByName("p").Root().Patch(registry.PackageFields.License.Set("x")).Return(&value).
				PatchPart(other.packages),
		}, "Return is for"},
	} {
		r, err := mapper.Transact(ctx, c.parts...)
		if err == nil || !strings.Contains(err.Error(), c.want) || errors.Is(err, errCalled) ||
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
	j := newLedger(t, &faulty{at: -1}, 3)
	must(j.accounts.Save(ctx, j.accounts.New(account{ID: "1", Counter: 1, Left: "l"})))(t)
	must(j.packages.Save(ctx, j.packages.New(registry.Package{Name: "p", Tags: map[string]string{"a": "1"}})))(t)
	must(mapper.Transact(ctx, j.note("n")))(t)
	load := func() *mapper.Entity[account] { return must(j.accounts.Load(ctx, j.accounts.Key("1")))(t) }
	stale := load()
	must(j.accounts.Update(ctx, j.accounts.Key("1"), func(a *account) error { a.Counter = 2; return nil }))(t)
	stale.Value.Counter = 9
	witness := j.accounts.New(account{ID: "w"})
	var conflict *mapper.ConflictError
	for name, c := range map[string]struct {
		part mapper.Part
		is   error
		text string
	}{
		"save":   {j.accounts.SavePart(stale), nil, "ACCOUNT#1 HEAD (Counter) was changed"},
		"insert": {j.accounts.SavePart(j.accounts.New(account{ID: "1"})), mapper.ErrExists, "exists already"},
		"delete": {j.accounts.DeletePart(stale), nil, "was changed"},
		"add": {
			registry.PackageByName("p").Tags().Add("a", "b").PatchPart(j.packages), mapper.ErrExists,
			"exists already",
		},
		"remove": {
			registry.PackageByName("p").Tags().Key("b").Delete().PatchPart(j.packages),
			mapper.ErrNotFound, "does not exist",
		},
		"no entity": {
			registry.PackageByName("q").Tags().Add("a", "b").IfEntityExists().PatchPart(j.packages),
			mapper.ErrNotFound, "does not exist",
		},
		"delete, no root": {j.accounts.DeletePartByKey(j.accounts.Key("none")), mapper.ErrNotFound, "does not exist"},
		"raw":             {j.note("n"), nil, "the condition of the raw item does not hold for " + j.loose},
	} {
		r, err := mapper.Transact(ctx, j.accounts.SavePart(witness), c.part)
		if err == nil || c.is != nil && !errors.Is(err, c.is) || c.is == nil && !errors.As(err, &conflict) ||
			!strings.Contains(err.Error(), c.text) || len(r.Predicted().Items) > 0 {
			t.Errorf("%s: %v", name, err)
		}
		if stored(t, j.accounts, "w") != nil {
			t.Fatalf("%s: it was written in part", name)
		}
	}
	_, err := mapper.Transact(ctx, j.accounts.SavePart(stale), j.note("n"))
	if err == nil || !strings.Contains(err.Error(), "was changed") ||
		!strings.Contains(err.Error(), "condition of the raw item") {
		t.Errorf("%v", err)
	}
	must(mapper.Transact(ctx, j.accounts.SavePart(witness), j.accounts.DeletePart(load())))(t)
}

// Unfinished staged writes are taken over, and conditions that turn out to concern leftover items are
// planned again.
func TestTransactTakesOver(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	tables := ledgerTables(t)
	c := &crash{left: 2} // the claim, and one part
	dying := newLedger(t, c.transport(), 1, tables...)
	_, _ = dying.accounts.Save(ctx, dying.accounts.New(account{ID: "1", Left: "x", Right: "x"}), mapper.Staged())
	_, _ = dying.packages.Save(ctx, dying.packages.New(registry.Package{Name: "p"}))
	j := newLedger(t, &faulty{at: -1}, 3, tables...)
	a := j.accounts.New(account{ID: "1", Counter: 1, Left: "y", Right: "y"})
	r := must(mapper.Transact(ctx, j.accounts.SavePart(a), j.note("n")))(t)
	if r.Predicted().Mode != "transaction" || r.Predicted().Requests < 2 {
		t.Errorf("%v", r)
	}
	if got := stored(t, j.accounts, "1"); got.Left != "y" || got.Counter != 1 {
		t.Errorf("%+v", got)
	}
}

// Every fault at every request of a transaction over two saves, a delete, a patch and a raw item.
// Either all is written or nothing, the error says if the outcome is unknown, and each entity can be
// saved afterwards.
func TestTransactFaults(t *testing.T) {
	t.Parallel()
	tables := ledgerTables(t)
	clean := newLedger(t, &faulty{at: -1}, 3, tables...)
	ctx := context.Background()
	unknown := 0
	seed := draws.Seed(t)
	for _, attempts := range []int{1, 3} {
		kinds := slices.Sorted(maps.Keys(faultNames))
		for _, drawn := range draws.Some(seed+uint64(attempts), 4*len(kinds), draws.Times(12, draws.All, draws.All)) {
			kind, at := kinds[drawn%len(kinds)], drawn/len(kinds)
			what := faultNames[kind]
			id := fmt.Sprint(attempts, kind, at)
			must(clean.accounts.Save(ctx, clean.accounts.New(account{ID: id, Counter: 1, Left: "a"})))(t)
			must(clean.accounts.Save(ctx, clean.accounts.New(account{ID: id + "d", Counter: 1, Left: "a"})))(t)
			must(clean.packages.Save(ctx, clean.packages.New(registry.Package{Name: id})))(t)
			f := &faulty{at: -1, fault: kind}
			j := newLedger(t, f, attempts, tables...)
			run, cancel := context.WithCancel(ctx)
			f.cancel = cancel
			a, d := must(j.accounts.Load(ctx, j.accounts.Key(id)))(t),
				must(j.accounts.Load(ctx, j.accounts.Key(id+"d")))(t)
			fresh := j.accounts.New(account{ID: id + "n", Counter: 1, Left: "a"})
			a.Value.Counter, a.Value.Left = 2, "b"
			f.count, f.at = 0, at
			_, err := mapper.Transact(run, j.accounts.SavePart(a), j.accounts.SavePart(fresh), j.accounts.DeletePart(d),
				registry.PackageByName(id).Tags().Add("x", "y").PatchPart(j.packages), j.note(id))
			f.at = -1
			cancel()
			now := stored(t, clean.accounts, id)
			done := now.Counter == 2
			tags := must(clean.packages.Load(ctx, registry.PackageByName(id)))(t).Value.Tags
			if done != (now.Left == "b") || done != (stored(t, clean.accounts, id+"n") != nil) ||
				done != (stored(t, clean.accounts, id+"d") == nil) || done != (tags["x"] == "y") {
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
			must(j.accounts.Save(ctx, a))(t)
			must(j.accounts.Save(ctx, fresh))(t)
			if _, err := j.accounts.Delete(ctx, d); err != nil && !errors.Is(err, mapper.ErrNotFound) {
				t.Fatalf("%s at %d: %v", what, at, err)
			}
			if x, y := stored(t, clean.accounts, id), stored(t, clean.accounts, id+"n"); x.Counter != 2 ||
				x.Right != "c" || y.Left != "a" || y.Right != "c" {
				t.Fatalf("%s at %d: %+v %+v", what, at, x, y)
			}
		}
	}
	if unknown == 0 && draws.Times(0, 1, 1) > 0 { // few draws may all miss
		t.Error("no outcome was unknown: the faults miss their aim")
	}
}
