package mapper_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/enginetest"
	"github.com/itemize/itemize/internal/testing/faults"
	"github.com/itemize/itemize/internal/testing/handmade"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/mapper/mapperimpl"
	"github.com/itemize/itemize/query"
)

// driver has open trips as elements, and a count in its root item.
type driver struct {
	_     struct{}           `ddb:"table=drivers"`
	ID    string             `ddb:"pk=DRIVER#{ID}"`
	Name  string             `ddb:"sk=PROFILE"`
	Count int                `ddb:"sk=COUNT"`
	Open  map[string]openRun `ddb:"sk=OPEN#{key}"`
}

type openRun struct{ From, To string }

// purse is one item.
type purse struct {
	_      struct{} `ddb:"table=drivers"`
	ID     string   `ddb:"pk=PURSE#{ID}"`
	Amount int      `ddb:"sk=PURSE"`
}

// garage has mappers of one table.
type garage struct {
	drivers *mapper.Mapper[driver]
	purses  *mapper.Mapper[purse]
}

func newGarage(t *testing.T, client mapper.Client) *garage {
	t.Helper()
	if client == nil {
		client = enginetest.Start(t).Client()
	}
	table := mapper.Table(enginetest.Table(t, "PK:S", "SK:S"))
	return &garage{must(mapper.New[driver](client, table))(t), must(mapper.New[purse](client, table))(t)}
}

// An element moves between two entities in one transaction, and the receipt has all that was consumed.
func TestUpdateAllMovesBetweenEntities(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	g := newGarage(t, nil)
	for _, id := range []string{"a", "b"} {
		must(g.drivers.Save(ctx, g.drivers.New(driver{
			ID: id, Name: id, Count: 1, Open: map[string]openRun{"trip-" + id: {"x", "y"}},
		})))(t)
	}
	var from, to driver
	move := func(trip string) func() error {
		return func() error {
			run, ok := from.Open[trip]
			if !ok {
				return errors.New("no such trip")
			}
			delete(from.Open, trip)
			to.Open[trip] = run
			from.Count--
			to.Count++
			return nil
		}
	}
	parts := []mapper.Part{g.drivers.UpdatePart(&from, g.drivers.Key("a")), g.drivers.UpdatePart(&to,
		g.drivers.Key("b"))}
	plan := must(mapper.PlanUpdateAll(parts...))(t)
	r, err := mapper.UpdateAll(ctx, move("trip-a"), parts...)
	if err != nil || plan.Mode != "read" || !plan.RCU.Contains(r.Consumed.RCU) {
		t.Error(r, plan, err)
	}
	if p := r.Predicted(); p.Mode != "transaction" || p.Requests != 3 || enginetest.ReportsTransactions(t) &&
		!p.WCU.Contains(r.Consumed.WCU) {
		t.Error(r)
	}
	b := must(g.drivers.Load(ctx, g.drivers.Key("b"), mapper.Strong()))(t).Value
	if len(b.Open) != 2 || b.Open["trip-a"].To != "y" || b.Count != 2 {
		t.Errorf("%+v", b)
	}
	if a := must(g.drivers.Load(ctx, g.drivers.Key("a"), mapper.Strong()))(t).Value; len(a.Open) != 0 || a.Count != 0 {
		t.Errorf("%+v", a)
	}
	r, err = mapper.UpdateAll(ctx, move("none"), parts...)
	if err == nil || err.Error() != "no such trip" || r.Consumed.WCU != 0 {
		t.Error(r, err)
	}
	r, err = mapper.UpdateAll(ctx, func() error { return nil }, parts...)
	if err != nil || r.Consumed.WCU != 0 {
		t.Error(r, err)
	}
	missing := append(parts[:1:1], g.drivers.UpdatePart(&to, g.drivers.Key("none")))
	if _, err := mapper.UpdateAll(ctx, move("x"), missing...); !errors.Is(err, mapper.ErrNotFound) {
		t.Error(err)
	}
}

// Items with known keys are read in one transaction, across models. New entities and patches are written with them.
func TestUpdateAllReadsItemsInOneTransaction(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	g := newGarage(t, nil)
	must(g.drivers.Save(ctx, g.drivers.New(driver{ID: "a", Name: "a", Count: 5})))(t)
	must(g.purses.Save(ctx, g.purses.New(purse{ID: "a", Amount: 7})))(t)
	var d driver
	var p purse
	fresh := g.purses.New(purse{ID: "b"})
	parts := []mapper.Part{
		g.drivers.UpdatePart(&d, g.drivers.Key("a").Item("COUNT")),
		g.purses.UpdatePart(&p, g.purses.Key("a").Item("PURSE")),
		g.purses.SavePart(fresh),
	}
	plan := must(mapper.PlanUpdateAll(parts...))(t)
	r, err := mapper.UpdateAll(ctx, func() error {
		p.Amount -= d.Count
		fresh.Value.Amount = d.Count
		return nil
	}, parts...)
	if err != nil || plan.Requests != 1 || r.Predicted().Requests != 2 || !r.Predicted().RCU.Contains(4) {
		t.Error(r, plan, err)
	}
	if enginetest.ReportsTransactions(t) && r.Consumed.RCU != 4 {
		t.Error(r)
	}
	for id, want := range map[string]int{"a": 2, "b": 5} {
		if now := must(g.purses.Load(ctx, g.purses.Key(id), mapper.Strong()))(t); now.Value.Amount != want {
			t.Errorf("%s: %d", id, now.Value.Amount)
		}
	}
	_, err = mapper.UpdateAll(ctx, func() error { return nil }, parts[0], parts[1],
		g.purses.SavePart(g.purses.New(purse{ID: "b"})))
	if !errors.Is(err, mapper.ErrExists) {
		t.Error(err)
	}
}

// Concurrent updates keep the sum of two entities, whichever way they read, and never act on amounts of two moments.
func TestUpdateAllKeepsSums(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, selection := range map[string]func(g *garage, id string) query.Selection[purse]{
		"known keys": func(g *garage, id string) query.Selection[purse] { return g.purses.Key(id).Item("PURSE") },
		"entities":   func(g *garage, id string) query.Selection[purse] { return g.purses.Key(id) },
	} {
		g := newGarage(t, nil)
		for _, id := range []string{"a", "b", "c"} {
			must(g.purses.Save(ctx, g.purses.New(purse{ID: id, Amount: 10})))(t)
		}
		seed := draws.Seed(t)
		var wait sync.WaitGroup
		for w := range uint64(3) {
			wait.Go(func() {
				r := rand.New(rand.NewPCG(seed, w))
				for range draws.Times(4, 10, 100) {
					var all [3]purse
					var parts []mapper.Part
					for i, id := range []string{"a", "b", "c"} {
						parts = append(parts, g.purses.UpdatePart(&all[i], selection(g, id)))
					}
					from, to, n := r.IntN(3), r.IntN(3), r.IntN(9)
					_, err := mapper.UpdateAll(ctx, func() error {
						if sum := all[0].Amount + all[1].Amount + all[2].Amount; sum != 30 {
							return fmt.Errorf("the sum is %d", sum)
						}
						all[from].Amount -= n
						all[to].Amount += n
						return nil
					}, parts...)
					if err != nil {
						t.Errorf("%s: %v", name, err)
					}
				}
			})
		}
		wait.Wait()
		sum := 0
		for _, id := range []string{"a", "b", "c"} {
			sum += must(g.purses.Load(ctx, g.purses.Key(id), mapper.Strong()))(t).Value.Amount
		}
		if sum != 30 {
			t.Errorf("%s: the sum is %d", name, sum)
		}
	}
}

// An update does not act on values of two moments: the items that it does not write are checked, and an end without a
// write is verified. The specification is Updates.tla.
func TestUpdateAllActsOnOneMoment(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, act := range map[string]func(all *[2]driver) error{
		"returns an error": func(all *[2]driver) error {
			if sum := all[0].Count + all[1].Count; sum != 10 {
				return fmt.Errorf("the sum is %d", sum)
			}
			return nil
		},
		"writes the entity that it read last": func(all *[2]driver) error {
			all[1].Name = fmt.Sprint(all[0].Count)
			return nil
		},
		"changes nothing": func(*[2]driver) error { return nil },
	} {
		var swap func()
		client := faults.Before(enginetest.Start(t).Client(), "Query", "DRIVER#b", func() { swap() })
		g := newGarage(t, client)
		must(g.drivers.Save(ctx, g.drivers.New(driver{ID: "a", Count: 10})))(t)
		must(g.drivers.Save(ctx, g.drivers.New(driver{ID: "b"})))(t)
		swap = func() {
			var x [2]driver
			_, err := mapper.UpdateAll(ctx, func() error { x[0].Count, x[1].Count = 1, 9; return nil },
				g.drivers.UpdatePart(&x[0], g.drivers.Key("a").Item("COUNT")),
				g.drivers.UpdatePart(&x[1], g.drivers.Key("b").Item("COUNT")))
			if err != nil {
				t.Error(err)
			}
		}
		var all [2]driver
		var last [2]int
		calls := 0
		_, err := mapper.UpdateAll(ctx, func() error {
			calls++
			last = [2]int{all[0].Count, all[1].Count}
			return act(&all)
		}, g.drivers.UpdatePart(&all[0], g.drivers.Key("a")), g.drivers.UpdatePart(&all[1], g.drivers.Key("b")))
		if err != nil || calls != 2 || last != [2]int{1, 9} {
			t.Errorf("%s: %v, %d calls, with %v at last", name, err, calls, last)
		}
	}
}

// What UpdateAll cannot do is refused before anything is sent.
func TestUpdateAllRefused(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	g := newGarage(t, nil)
	must(g.purses.Save(ctx, g.purses.New(purse{ID: "a", Amount: 10})))(t)
	stale := must(g.purses.Load(ctx, g.purses.Key("a")))(t)
	must(g.purses.Update(ctx, g.purses.Key("a"), func(p *purse) error { p.Amount++; return nil }))(t)
	stale.Value.Amount = 3
	var p, q purse
	nothing := func() error { return nil }
	part := g.purses.UpdatePart(&p, g.purses.Key("a"))
	for name, c := range map[string]struct {
		update func() error
		parts  []mapper.Part
		want   string
	}{
		"no function": {nil, []mapper.Part{part}, "the function of UpdateAll is nil"},
		"no parts":    {nothing, nil, "UpdateAll has no UpdatePart"},
		"nothing to read": {
			nothing,
			[]mapper.Part{g.purses.SavePart(g.purses.New(purse{ID: "x"}))},
			"UpdateAll has no UpdatePart",
		},
		"no value": {
			nothing,
			[]mapper.Part{g.purses.UpdatePart(nil, g.purses.Key("a"))},
			"the value of UpdatePart is nil",
		},
		"one value twice": {
			nothing, []mapper.Part{part, g.purses.UpdatePart(&p, g.purses.Key("b"))}, "two parts of UpdateAll",
		},
		"one entity twice": {
			nothing, []mapper.Part{part, g.purses.UpdatePart(&q, g.purses.Key("a"))}, "two parts of UpdateAll",
		},
		"options": {
			nothing, []mapper.Part{g.purses.UpdatePart(&p, g.purses.Key("a"), mapper.Staged())}, "Staged",
		},
		"a tag": {
			nothing,
			[]mapper.Part{g.purses.UpdatePart(&p, g.purses.Key("a"), mapper.IfTag("x"))},
			"does not compare tags",
		},
		"a wrong key": {nothing, []mapper.Part{g.purses.UpdatePart(&p, g.purses.Key(""))}, "an empty string in a key"},
		"a raw part without a client": {
			nothing, []mapper.Part{part, mapper.RawPart(nil, types.TransactWriteItem{})}, "the client is nil",
		},
	} {
		if _, err := mapper.UpdateAll(ctx, c.update, c.parts...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := mapper.Transact(ctx, part); err == nil || !strings.Contains(err.Error(), "pass it to UpdateAll") {
		t.Error(err)
	}
	var conflict *mapper.ConflictError
	must(g.drivers.Save(ctx, g.drivers.New(driver{ID: "p", Name: "p", Count: 1})))(t)
	var d driver
	name := handmade.String("Name", "", func(d *driver) *string { return &d.Name })
	other := mapperimpl.Item[driver, driver](g.drivers.Key("p").Item("PROFILE"),
		0).Patch(name.Set("q")).If(name.Equal("other"))
	tries := 0
	_, patched := mapper.UpdateAll(ctx, func() error { tries++; d.Count++; return nil }, other.PatchPart(g.drivers),
		g.drivers.UpdatePart(&d, query.Join(g.drivers.Key("p").Item("COUNT"), g.drivers.Key("p").Item("PROFILE"))))
	if !errors.As(patched, &conflict) || tries != 1 {
		t.Errorf("a condition of a patch is repeated: %d tries, %v", tries, patched)
	}
	calls := 0
	_, err := mapper.UpdateAll(ctx, func() error { calls++; q.ID = "b"; return nil }, g.purses.SavePart(stale),
		g.drivers.UpdatePart(new(driver), g.drivers.Key("none").Item("COUNT")))
	if !errors.As(err, &conflict) || calls != 1 {
		t.Errorf("a conflict of an entity that is not read is repeated: %d calls, %v", calls, err)
	}
}
