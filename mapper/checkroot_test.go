package mapper_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

// Shelved is a model with a root and elements.
type Shelved struct {
	_     struct{}          `ddb:"table=shelves"`
	ID    string            `ddb:"pk=SHELF#{ID}"`
	Name  string            `ddb:"sk=HEAD"`
	Books map[string]string `ddb:"sk=BOOK#{key}"`
}

// With CheckRoot a save that only updates reads the root item afterwards, as one that adds does; in a
// transaction of several parts it checks the root item. A save that writes the root item costs no more.
func TestCheckRoot(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	m := kit.Must(mapper.New[Shelved](testengine.Start(t).Client(), mapper.Table(table)))(t)
	kit.Must(m.Save(ctx, m.New(Shelved{ID: "1", Name: "n", Books: map[string]string{"a": "A"}})))(t)
	kit.Must(m.Save(ctx, m.New(Shelved{ID: "2", Name: "n"})))(t)
	for _, part := range []bool{false, true} {
		var sel query.Selection[Shelved] = m.Key("1")
		if part {
			sel = m.Key("1").Prefix("BOOK#")
		}
		e := kit.Must(m.Load(ctx, sel))(t)
		plan := func(items int, wcu, rcu float64) {
			t.Helper()
			p := kit.Must(m.PlanSave(e, mapper.CheckRoot()))(t)
			r := kit.Must(m.Save(ctx, e, mapper.CheckRoot()))(t)
			if len(p.Items) != items || p.WCU.Max != wcu || p.RCU.Expected != rcu || r.Consumed.RCU != rcu ||
				p.Requests != r.Predicted().Requests {
				t.Errorf("part %v: planned %s, sent %s", part, p, r)
			}
			if testengine.ReportsTransactions(t) && r.Consumed.WCU != wcu {
				t.Errorf("it took %v WCU, and not %v", r.Consumed.WCU, wcu)
			}
		}
		e.Value.Books["a"] += "changed"
		plan(1, 1, 1)
		if !part {
			e.Value.Name, e.Value.Books["b"] = "root too", "B"
			plan(2, 4, 0)
		}
		e.Value.Books["c"] += "C"
		plan(1, 1, 1)
		plan(0, 0, 0)
		other := kit.Must(m.Load(ctx, m.Key("2")))(t)
		e.Value.Books["a"] += "again"
		other.Value.Name += "x"
		p := kit.Must(mapper.PlanTransact(m.SavePart(e, mapper.CheckRoot()), m.SavePart(other)))(t)
		if len(p.Items) != 3 || p.Items[1].Kind != "check" {
			t.Errorf("part %v: %s", part, p)
		}
		kit.Must(mapper.Transact(ctx, m.SavePart(e, mapper.CheckRoot()), m.SavePart(other)))(t)
	}
	// A staged delete that is not finished: updates are acknowledged, unless they are checked.
	f := &kit.Faulty{At: -1}
	marked := false
	f.Pick = func() kit.Fault {
		if op := f.Log[len(f.Log)-1]; marked && op == "DeleteItem" {
			return kit.Deny
		}
		marked = true
		return kit.None
	}
	e, checked := kit.Must(m.Load(ctx, m.Key("1")))(t), kit.Must(m.Load(ctx, m.Key("1")))(t)
	dying := kit.Must(mapper.New[Shelved](kit.Client(t, f, 1), mapper.Table(table)))(t)
	if _, err := dying.DeleteByKey(ctx, dying.Key("1"), mapper.Staged()); err == nil {
		t.Fatal("it did not die")
	}
	e.Value.Books["a"], checked.Value.Books["b"] = "x", "y"
	if _, err := m.Save(ctx, e); err != nil {
		t.Errorf("an update beside a staged delete: %v", err)
	}
	var missing *mapper.NotFoundError
	if _, err := m.Save(ctx, checked, mapper.CheckRoot()); !errors.As(err, &missing) || missing.Pending == "" {
		t.Errorf("an update that is checked: %v", err)
	}
}

// FromItems has the result of a load of these items: a whole entity, or a part. Without a root the
// entity is not found, and cannot be saved.
func TestFromItems(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	m, err := mapper.New[Shelved](testengine.Start(t).Client(), mapper.Table(table))
	if err != nil {
		t.Fatal(err)
	}
	item := func(sk string, more map[string]types.AttributeValue) map[string]types.AttributeValue {
		a := map[string]types.AttributeValue{
			"PK": &types.AttributeValueMemberS{Value: "SHELF#1"},
			"SK": &types.AttributeValueMemberS{Value: sk},
		}
		for name, v := range more {
			a[name] = v
		}
		return a
	}
	text := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	items := map[string][]map[string]types.AttributeValue{table: {
		item("BOOK#a", map[string]types.AttributeValue{"Books": text("A")}),
		item("HEAD", map[string]types.AttributeValue{"Name": text("n")}),
	}}
	e := kit.Must(m.FromItems(m.Key("1"), items))(t)
	if e.Value.Name != "n" || e.Value.Books["a"] != "A" {
		t.Errorf("%+v", e.Value)
	}
	if e := kit.Must(m.FromItems(m.Key("1").Prefix("BOOK#"), items))(t); e.Value.Name != "" ||
		e.Value.Books["a"] != "A" {
		t.Errorf("%+v", e.Value)
	}
	if _, err := m.FromItems(m.Key("2"), items); !errors.Is(err, mapper.ErrNotFound) {
		t.Error(err)
	}
	if _, err := m.FromItems(m.Key("1"), map[string][]map[string]types.AttributeValue{"else": nil}); err == nil ||
		!strings.Contains(err.Error(), "FromItems got items of the table else: pass a table of the model") {
		t.Error(err)
	}
	if _, err := m.Save(ctx, e); err == nil || !strings.Contains(err.Error(), "is only for reading") {
		t.Error(err)
	}
	name, k, err := m.RootKey(m.Key("1").Prefix("BOOK#"))
	if err != nil || name != table || k["SK"].(*types.AttributeValueMemberS).Value != "HEAD" {
		t.Errorf("%s %v, %v", name, k, err)
	}
}
