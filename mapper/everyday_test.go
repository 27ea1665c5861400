package mapper_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/itemize/itemize/examples/wishlist/store"
	"github.com/itemize/itemize/field"
	"github.com/itemize/itemize/internal/testing/fakedynamo"
	"github.com/itemize/itemize/internal/testing/handmade"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/mapper/mapperimpl"
	"github.com/itemize/itemize/query"
)

// bag has fields whose changes can be empty.
type bag struct {
	_     struct{} `ddb:"table=bags"`
	ID    string   `ddb:"pk=BAG#{ID}"`
	Name  string   `ddb:"sk=HEAD"`
	Tags  []string `ddb:"sk=HEAD" dynamodbav:",stringset,omitempty"`
	Lines []string `ddb:"sk=HEAD"`
}

var bagFields = struct {
	Name  *field.String[*bag, string]
	Tags  *field.Set[*bag, string]
	Lines *field.List[*bag, string]
}{
	handmade.String("Name", "", func(x *bag) *string { return &x.Name }),
	handmade.Set("Tags", ",stringset,omitempty", func(x *bag) *[]string { return &x.Tags },
		mapperimpl.Slice[[]string](mapperimpl.String[string]())),
	handmade.List("Lines", "", func(x *bag) *[]string { return &x.Lines },
		mapperimpl.Slice[[]string](mapperimpl.String[string]())),
}

// A patch that changes nothing, such as one of no elements, sends no request. If it has conditions, they are checked.
func TestPatchWithoutChangesSendsNothing(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	bags := kit.Indexed[bag](t, nil)
	kit.Must(bags.Save(ctx, bags.New(bag{ID: "1", Name: "n"})))(t)
	f, id := bagFields, handmade.EntityOf(bags.Key("1"))
	for name, p := range map[string]*mapper.Patch[bag]{
		"no changes": id.Patch().And(), "no elements": id.Patch(f.Tags.Add()).And(),
		"none deleted": id.Patch(f.Tags.Delete()).And(), "none appended": id.Patch(f.Lines.Append()).And(),
		"two of them": id.Patch(f.Tags.Add()).And(id.Patch()), "of an entity": id.Patch().IfEntityExists().And(),
		"missing": handmade.EntityOf(bags.Key("none")).Patch().And(),
	} {
		plan, err := p.Plan(bags)
		r, failed := p.Exec(ctx, bags)
		if err != nil || failed != nil || plan.Requests != 0 || r.Predicted().Requests != 0 || r.Consumed.WCU != 0 {
			t.Errorf("%s: %v, %v, %v, %v", name, plan, err, r, failed)
		}
		if r, err := mapper.Transact(ctx, p.PatchPart(bags)); err != nil || r.Predicted().Requests != 0 {
			t.Errorf("%s in a transaction: %v, %v", name, r, err)
		}
	}
	if r := kit.Must(id.Patch(f.Tags.Add(), f.Name.Set("new")).Exec(ctx, bags))(t); r.Predicted().Requests != 1 {
		t.Error(r)
	}
	for name, p := range map[string]*mapper.ItemPatch[bag, *bag]{
		"no changes":  id.Patch(),
		"no elements": id.Patch(f.Tags.Add()),
	} {
		var conflict *mapper.ConflictError
		if _, err := p.If(f.Name.Equal("other")).Exec(ctx, bags); !errors.As(err, &conflict) {
			t.Errorf("%s: %v", name, err)
		}
		r, err := p.If(f.Name.Equal("new")).Exec(ctx, bags)
		if plan := kit.Must(p.If(f.Name.Equal("new")).Plan(bags))(t); err != nil ||
			!plan.WCU.Contains(r.Consumed.WCU) || plan.Requests != 1 {
			t.Errorf("%s: %v, %v, %v", name, r, plan, err)
		}
	}
	var u bag
	if _, err := id.Patch().Return(&u).Exec(ctx, bags); err == nil || !strings.Contains(err.Error(),
		"changes nothing") {
		t.Error(err)
	}
}

// A load of a part says that the entity is missing if it has RequireRoot.
func TestRequireRootReportsMissingEntity(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	users := storeUsers(t)
	kit.Must(users.Save(ctx, users.New(store.User{ID: "1", Email: "a@example.com", Name: "Ann"})))(t)
	missing := store.UserByID("2")
	for name, s := range map[string]query.Selection[store.User]{
		"an item": missing.Home(), "a range": missing.Public(), "the root": missing.Root(), "all": missing,
	} {
		plan := kit.Must(users.PlanLoad(s, mapper.RequireRoot()))(t)
		var r mapper.Receipt
		_, err := users.Load(ctx, s, mapper.RequireRoot(), mapper.ReceiptTo(&r))
		if !errors.Is(err, mapper.ErrNotFound) || plan.Requests != r.Predicted().Requests ||
			testengine.ReportsTransactions(t) && !plan.RCU.Contains(r.Consumed.RCU) {
			t.Errorf("%s: %v, %v, %v", name, err, plan, &r)
		}
	}
	part := store.UserByID("1").Public()
	e := kit.Must(users.Load(ctx, part, mapper.RequireRoot()))(t)
	if e.Value.Email == "" || !e.Loaded(&e.Value.Email) {
		t.Errorf("%+v", e.Value)
	}
	e.Value.Email = "changed@example.com"
	kit.Must(users.Save(ctx, e))(t)
	many := kit.Must(users.LoadMany(ctx, []query.Selection[store.User]{part, missing.Home()}, mapper.RequireRoot()))(t)
	if many[0] == nil || many[0].Value.Email != "changed@example.com" || many[1] != nil {
		t.Errorf("%v", many)
	}
	if _, err := missing.Public().Collect(ctx, users, mapper.RequireRoot()); err == nil {
		t.Error("a query takes RequireRoot")
	}
}

// A copy of an entity is not saved: it does not know the writes of the original.
func TestCopyOfEntityIsNotSaved(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	users := storeUsers(t)
	e := users.New(store.User{ID: "1", Email: "a@example.com", Name: "Ann"})
	kit.Must(users.Save(ctx, e))(t)
	copied := reflectCopy(e)
	for name, call := range map[string]func() error{
		"Save":       func() error { _, err := users.Save(ctx, copied); return err },
		"PlanSave":   func() error { _, err := users.PlanSave(copied); return err },
		"Delete":     func() error { _, err := users.Delete(ctx, copied); return err },
		"PlanDelete": func() error { _, err := users.PlanDelete(copied); return err },
		"SavePart":   func() error { _, err := mapper.Transact(ctx, users.SavePart(copied)); return err },
		"DeletePart": func() error { _, err := mapper.Transact(ctx, users.DeletePart(copied)); return err },
		"of a Load": func() error {
			x := kit.Must(users.Load(ctx, store.UserByID("1")))(t)
			_, err := users.Save(ctx, reflectCopy(x))
			return err
		},
		"of LoadMany": func() error {
			x := kit.Must(users.LoadMany(ctx, []query.Selection[store.User]{store.UserByID("1")}))(t)[0]
			_, err := users.Save(ctx, reflectCopy(x))
			return err
		},
	} {
		if err := call(); err == nil || !strings.Contains(err.Error(), "the entity is a copy") {
			t.Errorf("%s: %v", name, err)
		}
	}
	e.Value.Email = "still@example.com"
	kit.Must(users.Save(ctx, e))(t)
}

// reflectCopy copies an entity, which go vet reports in plain code.
func reflectCopy(e *mapper.Entity[store.User]) *mapper.Entity[store.User] {
	c := reflect.New(reflect.TypeOf(e).Elem())
	c.Elem().Set(reflect.ValueOf(e).Elem())
	return c.Interface().(*mapper.Entity[store.User])
}

// A write of an entity during another write of it is refused: in the same goroutine, and in several, without a race.
func TestEntityIsWrittenByOneGoroutine(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	var second func()
	g := newGarage(t, fakedynamo.Before(testengine.Start(t).Client(), "UpdateItem", "PURSE#1", func() { second() }))
	e := g.purses.New(purse{ID: "1"})
	kit.Must(g.purses.Save(ctx, e))(t)
	e.Value.Amount = 1
	during := map[string]error{}
	second = func() {
		during["Save"] = kit.Err(g.purses.Save(ctx, e))
		during["Delete"] = kit.Err(g.purses.Delete(ctx, e))
		during["Transact"] = kit.Err(mapper.Transact(ctx, g.purses.SavePart(e)))
	}
	kit.Must(g.purses.Save(ctx, e))(t)
	for _, name := range []string{"Save", "Delete", "Transact"} {
		if err := during[name]; err == nil || !strings.Contains(err.Error(),
			"another goroutine is writing the entity") {
			t.Errorf("%s: %v", name, err)
		}
	}
	e.Value.Amount = 2
	var wait sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wait.Go(func() { _, errs[i] = g.purses.Save(ctx, e) })
	}
	wait.Wait()
	for _, err := range errs {
		if err != nil && !strings.Contains(err.Error(), "another goroutine is writing the entity") {
			t.Error(err)
		}
	}
	if now := kit.Must(g.purses.Load(ctx, g.purses.Key("1"), mapper.Strong()))(t); now.Value.Amount != 2 {
		t.Errorf("%+v", now.Value)
	}
}

// A mapper that New did not make says so.
func TestEmptyMapperSaysSo(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, m := range []*mapper.Mapper[store.User]{nil, {}} {
		for name, call := range map[string]func(){
			"Load":   func() { _, _ = m.Load(ctx, store.UserByID("1")) },
			"Save":   func() { _, _ = m.Save(ctx, nil) },
			"New":    func() { m.New(store.User{}) },
			"Key":    func() { m.Key("1") },
			"Index":  func() { m.Index("x") },
			"Update": func() { _, _ = m.Update(ctx, store.UserByID("1"), func(*store.User) error { return nil }) },
			"Delete": func() { _, _ = m.DeleteByKey(ctx, store.UserByID("1")) },
			"Scan":   func() { m.Scan(ctx)(func(*mapper.Entity[store.User], error) bool { return true }) },
			"Decode": func() { _, _ = m.Decode(nil) },
		} {
			func() {
				defer func() {
					if text := fmt.Sprint(recover()); !strings.Contains(text, "make it with mapper.New") {
						t.Errorf("%s: %s", name, text)
					}
				}()
				call()
			}()
		}
		if _, err := store.UserByID("1").Patch(store.UserFields.Email.Set("x")).Exec(ctx, m); err == nil {
			t.Error("a patch without a mapper is written")
		}
		if _, err := store.UserByID("1").Public().Collect(ctx, m); err == nil {
			t.Error("a query without a mapper runs")
		}
	}
}

func storeUsers(t *testing.T) *mapper.Mapper[store.User] {
	t.Helper()
	return kit.Must(mapper.New[store.User](testengine.Start(t).Client(), mapper.Table(testengine.Table(t, "PK:S",
		"SK:S"))))(t)
}
