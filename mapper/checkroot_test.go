package mapper_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/testing/enginetest"
	"github.com/itemize/itemize/mapper"
)

// Shelved is a model with a root and elements.
type Shelved struct {
	_     struct{}          `ddb:"table=shelves"`
	ID    string            `ddb:"pk=SHELF#{ID}"`
	Name  string            `ddb:"sk=HEAD"`
	Books map[string]string `ddb:"sk=BOOK#{key}"`
}

// With CheckRoot a save that adds something is one transaction with a check of the root, planned as it is charged; one that adds
// nothing, or writes the root, is as it is without it.
func TestCheckRoot(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m, err := mapper.New[Shelved](enginetest.Start(t).Client(), mapper.Table(enginetest.Table(t, "PK:S", "SK:S")))
	if err != nil {
		t.Fatal(err)
	}
	must(m.Save(ctx, m.New(Shelved{ID: "1", Name: "n", Books: map[string]string{"a": "A"}})))(t)
	e := must(m.Load(ctx, m.Key("1")))(t)
	plan := func(want int, units float64) {
		t.Helper()
		p := must(m.PlanSave(e, mapper.CheckRoot()))(t)
		if len(p.Items) != want || p.WCU.Max != units {
			t.Errorf("%d items for %v, and not %d for %v: %s", len(p.Items), p.WCU, want, units, p)
		}
		r := must(m.Save(ctx, e, mapper.CheckRoot()))(t)
		if enginetest.ReportsTransactions(t) && r.Consumed.WCU != units {
			t.Errorf("it took %v WCU, and not %v", r.Consumed.WCU, units)
		}
	}
	e.Value.Books["a"] = "changed"
	plan(1, 1)
	e.Value.Name, e.Value.Books["b"] = "root too", "B"
	plan(2, 4)
	e.Value.Books["c"] = "C"
	p := must(m.PlanSave(e, mapper.CheckRoot()))(t)
	if len(p.Items) != 2 || p.WCU.Min != 4 {
		t.Errorf("an add: %s", p)
	}
	must(m.DeleteByKey(ctx, m.Key("1")))(t)
	var conflict *mapper.ConflictError
	if _, err := m.Save(ctx, e, mapper.CheckRoot()); !errors.As(err, &conflict) {
		t.Errorf("an add to what was deleted: %v", err)
	}
	if _, err := m.Save(ctx, e, mapper.CheckRoot(), mapper.Independent()); err == nil || !strings.Contains(err.Error(), "leave Independent, Staged and Move out") {
		t.Error(err)
	}
}

// FromItems is what a load of these items would be: whole, or a part; without a root nothing is found, and nothing is saved of it.
func TestFromItems(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := enginetest.Table(t, "PK:S", "SK:S")
	m, err := mapper.New[Shelved](enginetest.Start(t).Client(), mapper.Table(table))
	if err != nil {
		t.Fatal(err)
	}
	item := func(sk string, more map[string]types.AttributeValue) map[string]types.AttributeValue {
		a := map[string]types.AttributeValue{"PK": &types.AttributeValueMemberS{Value: "SHELF#1"}, "SK": &types.AttributeValueMemberS{Value: sk}}
		for name, v := range more {
			a[name] = v
		}
		return a
	}
	text := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	items := map[string][]map[string]types.AttributeValue{table: {
		item("BOOK#a", map[string]types.AttributeValue{"Books": text("A")}), item("HEAD", map[string]types.AttributeValue{"Name": text("n")}),
	}}
	e := must(m.FromItems(m.Key("1"), items))(t)
	if e.Value.Name != "n" || e.Value.Books["a"] != "A" {
		t.Errorf("%+v", e.Value)
	}
	if e := must(m.FromItems(m.Key("1").Prefix("BOOK#"), items))(t); e.Value.Name != "" || e.Value.Books["a"] != "A" {
		t.Errorf("%+v", e.Value)
	}
	if _, err := m.FromItems(m.Key("2"), items); !errors.Is(err, mapper.ErrNotFound) {
		t.Error(err)
	}
	if _, err := m.FromItems(m.Key("1"), map[string][]map[string]types.AttributeValue{"else": nil}); err == nil || !strings.Contains(err.Error(), "which is none of the model's") {
		t.Error(err)
	}
	if _, err := m.Save(ctx, e); err == nil || !strings.Contains(err.Error(), "is for reading") {
		t.Error(err)
	}
	name, k, err := m.RootKey(m.Key("1").Prefix("BOOK#"))
	if err != nil || name != table || k["SK"].(*types.AttributeValueMemberS).Value != "HEAD" {
		t.Errorf("%s %v, %v", name, k, err)
	}
}
