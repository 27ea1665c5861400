package mapper_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/fakedynamo"
	"github.com/itemize/itemize/internal/testing/handmade"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/large"
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
		client = testengine.Start(t).Client()
	}
	table := mapper.Table(testengine.Table(t, "PK:S", "SK:S"))
	return &garage{kit.Must(mapper.New[driver](client, table))(t), kit.Must(mapper.New[purse](client, table))(t)}
}

// An element moves between two entities in one transaction, and the receipt has all that was consumed.
func TestUpdateAllMovesBetweenEntities(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	g := newGarage(t, nil)
	for _, id := range []string{"a", "b"} {
		kit.Must(g.drivers.Save(ctx, g.drivers.New(driver{
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
	plan := kit.Must(mapper.PlanUpdateAll(parts...))(t)
	r, err := mapper.UpdateAll(ctx, move("trip-a"), parts...)
	if err != nil || plan.Mode != "read" || !plan.RCU.Contains(r.Consumed.RCU) {
		t.Error(r, plan, err)
	}
	if p := r.Predicted(); p.Mode != "transaction" || p.Requests != 5 || testengine.ReportsTransactions(t) &&
		!p.WCU.Contains(r.Consumed.WCU) {
		t.Error(r)
	}
	b := kit.Must(g.drivers.Load(ctx, g.drivers.Key("b"), mapper.Strong()))(t).Value
	if len(b.Open) != 2 || b.Open["trip-a"].To != "y" || b.Count != 2 {
		t.Errorf("%+v", b)
	}
	if a := kit.Must(g.drivers.Load(ctx, g.drivers.Key("a"), mapper.Strong()))(t).Value; len(a.Open) != 0 ||
		a.Count != 0 {
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
	kit.Must(g.drivers.Save(ctx, g.drivers.New(driver{ID: "a", Name: "a", Count: 5})))(t)
	kit.Must(g.purses.Save(ctx, g.purses.New(purse{ID: "a", Amount: 7})))(t)
	var d driver
	var p purse
	fresh := g.purses.New(purse{ID: "b"})
	parts := []mapper.Part{
		g.drivers.UpdatePart(&d, g.drivers.Key("a").Item("COUNT")),
		g.purses.UpdatePart(&p, g.purses.Key("a").Item("PURSE")),
		g.purses.SavePart(fresh),
	}
	plan := kit.Must(mapper.PlanUpdateAll(parts...))(t)
	r, err := mapper.UpdateAll(ctx, func() error {
		p.Amount -= d.Count
		fresh.Value.Amount = d.Count
		return nil
	}, parts...)
	if err != nil || plan.Requests != 1 || r.Predicted().Requests != 2 || !r.Predicted().RCU.Contains(4) {
		t.Error(r, plan, err)
	}
	if testengine.ReportsTransactions(t) && r.Consumed.RCU != 4 {
		t.Error(r)
	}
	for id, want := range map[string]int{"a": 2, "b": 5} {
		if now := kit.Must(g.purses.Load(ctx, g.purses.Key(id), mapper.Strong()))(t); now.Value.Amount != want {
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
	for name, selection := range map[string]func(g *garage, id string) query.Selection[driver]{
		"known keys": func(g *garage, id string) query.Selection[driver] { return g.drivers.Key(id).Item("COUNT") },
		"entities":   func(g *garage, id string) query.Selection[driver] { return g.drivers.Key(id) },
	} {
		g := newGarage(t, nil)
		for _, id := range []string{"a", "b", "c"} {
			kit.Must(g.drivers.Save(ctx, g.drivers.New(driver{ID: id, Name: id, Count: 10})))(t)
		}
		seed := draws.Seed(t)
		var wait sync.WaitGroup
		for w := range uint64(3) {
			wait.Go(func() {
				r := rand.New(rand.NewPCG(seed, w))
				for range draws.Times(4, 10, 100) {
					var all [3]driver
					var parts []mapper.Part
					for i, id := range []string{"a", "b", "c"} {
						parts = append(parts, g.drivers.UpdatePart(&all[i], selection(g, id)))
					}
					from, to, n := r.IntN(3), r.IntN(3), r.IntN(9)
					_, err := mapper.UpdateAll(ctx, func() error {
						if sum := all[0].Count + all[1].Count + all[2].Count; sum != 30 {
							return fmt.Errorf("the sum is %d", sum)
						}
						all[from].Count -= n
						all[to].Count += n
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
			sum += kit.Must(g.drivers.Load(ctx, g.drivers.Key(id), mapper.Strong()))(t).Value.Count
		}
		if sum != 30 {
			t.Errorf("%s: the sum is %d", name, sum)
		}
	}
}

// The function sees values of one moment, whatever it does with them: items that are missing and values that another
// program writes without a version, too. The specification is Updates.tla.
func TestUpdateAllSeesOneMoment(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	swap := func(g *garage, a, b int) error {
		var x [2]driver
		_, err := mapper.UpdateAll(ctx, func() error { x[0].Count, x[1].Count = a, b; return nil },
			g.drivers.UpdatePart(&x[0], g.drivers.Key("a").Item("COUNT")),
			g.drivers.UpdatePart(&x[1], g.drivers.Key("b").Item("COUNT")))
		return err
	}
	writes := func(all *[2]driver) error {
		all[1].Name = fmt.Sprint("sum ", all[0].Count+all[1].Count)
		return nil
	}
	for name, c := range map[string]struct {
		a, b int // before the second actor changes them
		by   func(g *garage) error
		act  func(all *[2]driver) error
	}{
		"returns an error": {10, 0, func(g *garage) error { return swap(g, 1, 9) }, func(all *[2]driver) error {
			if sum := all[0].Count + all[1].Count; sum != 10 {
				return fmt.Errorf("the sum is %d", sum)
			}
			return nil
		}},
		"writes the entity that was read last": {10, 0, func(g *garage) error { return swap(g, 1, 9) }, writes},
		"reads a missing item":                 {0, 10, func(g *garage) error { return swap(g, 10, 0) }, writes},
		"changes nothing": {
			10, 0, func(g *garage) error { return swap(g, 1, 9) }, func(*[2]driver) error { return nil },
		},
		"makes an invalid value": {5, 5, func(g *garage) error { return swap(g, 1, 9) }, func(all *[2]driver) error {
			if all[0].Count+all[1].Count != 10 {
				all[1].Open = map[string]openRun{"": {}}
			}
			return nil
		}},
		"reads values without a new version": {5, 5, func(g *garage) error {
			name, _, err := g.drivers.RootKey(g.drivers.Key("a"))
			if err != nil {
				return err
			}
			for id, n := range map[string]string{"a": "1", "b": "9"} {
				if _, err := testengine.Start(t).Client().UpdateItem(ctx, &dynamodb.UpdateItemInput{
					TableName: &name, UpdateExpression: aws.String("SET #n = :n"), Key: map[string]types.AttributeValue{
						"PK": &types.AttributeValueMemberS{Value: "DRIVER#" + id},
						"SK": &types.AttributeValueMemberS{Value: "COUNT"},
					},
					ExpressionAttributeNames: map[string]string{"#n": "Count"},
					ExpressionAttributeValues: map[string]types.AttributeValue{
						":n": &types.AttributeValueMemberN{Value: n},
					},
				}); err != nil {
					return err
				}
			}
			return nil
		}, func(all *[2]driver) error {
			if sum := all[0].Count + all[1].Count; sum != 10 {
				return fmt.Errorf("the sum is %d", sum)
			}
			return nil
		}},
	} {
		var second func()
		g := newGarage(t, fakedynamo.Before(testengine.Start(t).Client(), "Query", "DRIVER#b", func() { second() }))
		kit.Must(g.drivers.Save(ctx, g.drivers.New(driver{ID: "a", Name: "a", Count: c.a})))(t)
		kit.Must(g.drivers.Save(ctx, g.drivers.New(driver{ID: "b", Name: "b", Count: c.b})))(t)
		second = func() {
			if err := c.by(g); err != nil {
				t.Errorf("%s: the second actor: %v", name, err)
			}
		}
		var all [2]driver
		calls := 0
		_, err := mapper.UpdateAll(ctx, func() error {
			calls++
			if sum := all[0].Count + all[1].Count; sum != 10 {
				t.Errorf("%s: the function sees the sum %d", name, sum)
			}
			return c.act(&all)
		}, g.drivers.UpdatePart(&all[0], g.drivers.Key("a")), g.drivers.UpdatePart(&all[1], g.drivers.Key("b")))
		if err != nil || calls != 1 {
			t.Errorf("%s: %d calls, %v", name, calls, err)
		}
	}
}

// A refusal of another part is no end if an entity that was read has changed, and is one if not.
func TestUpdateAllRepeatsForReadEntities(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, first := range []bool{true, false} {
		var second func()
		g := newGarage(t,
			fakedynamo.Before(testengine.Start(t).Client(), "TransactWriteItems", "PURSE#6", func() { second() }))
		kit.Must(g.purses.Save(ctx, g.purses.New(purse{ID: "counter", Amount: 5})))(t)
		second = func() {
			kit.Must(g.purses.Save(ctx, g.purses.New(purse{ID: "6", Amount: 1})))(t)
			kit.Must(g.purses.Update(ctx, g.purses.Key("counter"),
				func(p *purse) error { p.Amount = 6; return nil }))(t)
		}
		var c purse
		fresh := g.purses.New(purse{})
		parts := []mapper.Part{g.purses.UpdatePart(&c, g.purses.Key("counter")), g.purses.SavePart(fresh)}
		if !first {
			parts[0], parts[1] = parts[1], parts[0]
		}
		calls := 0
		_, err := mapper.UpdateAll(ctx, func() error {
			calls++
			c.Amount++
			fresh.Value.ID = fmt.Sprint(c.Amount)
			return nil
		}, parts...)
		if err != nil || calls != 2 || fresh.Value.ID != "7" {
			t.Errorf("first %v: %d calls, %v", first, calls, err)
		}
	}
	g := newGarage(t, nil)
	kit.Must(g.drivers.Save(ctx, g.drivers.New(driver{ID: "a", Name: "a", Count: 1})))(t)
	kit.Must(g.drivers.Save(ctx, g.drivers.New(driver{ID: "p", Name: "p"})))(t)
	replaced := kit.Must(g.drivers.Load(ctx, g.drivers.Key("a").Item("COUNT")))(t)
	kit.Must(g.drivers.DeleteByKey(ctx, g.drivers.Key("a")))(t)
	kit.Must(g.drivers.Save(ctx, g.drivers.New(driver{ID: "a", Name: "again"})))(t)
	replaced.Value.Count = 7
	var p driver
	calls := 0
	_, err := mapper.UpdateAll(ctx, func() error { calls++; p.Count++; return nil },
		g.drivers.UpdatePart(&p, g.drivers.Key("p")), g.drivers.SavePart(replaced))
	if err == nil || calls != 1 {
		t.Errorf("an entity that was inserted again: %d calls, %v", calls, err)
	}
}

// With CheckLoaded, items that the function does not change are unchanged when it is written.
func TestUpdateAllChecksLoaded(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, selection := range map[string]func(g *garage, id string) query.Selection[driver]{
		"known keys": func(g *garage, id string) query.Selection[driver] { return g.drivers.Key(id).Item("COUNT") },
		"entities":   func(g *garage, id string) query.Selection[driver] { return g.drivers.Key(id) },
	} {
		g := newGarage(t, nil)
		for _, id := range []string{"a", "b"} {
			kit.Must(g.drivers.Save(ctx, g.drivers.New(driver{ID: id, Name: id, Count: 10})))(t)
		}
		var d [2]driver
		calls := 0
		kit.Must(mapper.UpdateAll(ctx, func() error { // takes 15 if the sum stays positive
			if calls++; calls == 1 {
				kit.Must(g.drivers.Update(ctx, g.drivers.Key("a"),
					func(d *driver) error { d.Count = -5; return nil }))(t)
			}
			if d[0].Count+d[1].Count >= 15 {
				d[1].Count -= 15
			}
			return nil
		}, g.drivers.UpdatePart(&d[0], selection(g, "a"), mapper.CheckLoaded()),
			g.drivers.UpdatePart(&d[1], selection(g, "b"))))(t)
		b := kit.Must(g.drivers.Load(ctx, g.drivers.Key("b"), mapper.Strong()))(t).Value
		if b.Count != 10 || calls != 2 {
			t.Errorf("%s: %d calls, b %d", name, calls, b.Count)
		}
	}
}

// The options of an UpdatePart count also if its value is unchanged.
func TestUpdateAllReindexes(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	type plain struct {
		_     struct{} `ddb:"table=desks"`
		ID    string   `ddb:"pk=DESK#{ID}"`
		Name  string   `ddb:"sk=HEAD"`
		Room  string   `ddb:"sk=PLACE"`
		Note  string   `ddb:"sk=PLACE"`
		Extra string   `ddb:"sk=PLACE"`
	}
	m := kit.Indexed[kit.Desk](t, nil)
	name, _, err := m.RootKey(m.Key("1"))
	if err != nil {
		t.Fatal(err)
	}
	old := kit.Must(mapper.New[plain](testengine.Start(t).Client(), mapper.Table(name)))(t)
	kit.Must(old.Save(ctx, old.New(plain{ID: "1", Name: "n", Room: "r"})))(t)
	var x kit.Desk
	kit.Must(mapper.UpdateAll(ctx, func() error { return nil }, m.UpdatePart(&x, m.Key("1"), mapper.Reindex())))(t)
	if all := kit.Must(query.Of[kit.Desk](m.Index("byRoom", "r")).Collect(ctx, m))(t); len(all) != 1 {
		t.Errorf("%d in the index", len(all))
	}
}

// UpdateAll compares what is stored, and not what AfterLoad makes of it. (It found a change in each second read, and
// gave up after a hundred tries.)
func TestUpdateAllComparesStoredItems(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := kit.Must(mapper.New[kit.Filled](testengine.Start(t).Client(),
		mapper.Table(testengine.Table(t, "PK:S", "SK:S"))))(t)
	for _, id := range []string{"a", "b"} {
		kit.Must(m.Save(ctx, m.New(kit.Filled{ID: id, Name: id})))(t)
	}
	var a, b kit.Filled
	parts := []mapper.Part{m.UpdatePart(&a, m.Key("a")), m.UpdatePart(&b, m.Key("b"))}
	plan := kit.Must(mapper.PlanUpdateAll(parts...))(t)
	r, err := mapper.UpdateAll(ctx, func() error { a.Name, b.Name = b.Name, a.Name; return nil }, parts...)
	if err != nil || plan.Requests < 4 || r.Predicted().Requests != plan.Requests+1 {
		t.Error(plan, r, err)
	}
}

// novel has large values in parts.
type novel struct {
	_     struct{}            `ddb:"table=novels"`
	ID    string              `ddb:"pk=NOVEL#{ID}"`
	Title string              `ddb:"sk=HEAD"`
	Text  large.Value[string] `ddb:"sk=HEAD,chunk"`
	Draft string              `ddb:"sk=DRAFT,chunk"`
}

// Large values move between entities. The second read does not read them again: a changed item names another value.
func TestUpdateAllReadsLargeValuesOnce(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := kit.Must(mapper.New[novel](testengine.Start(t).Client(), mapper.Table(testengine.Table(t, "PK:S", "SK:S"))))(t)
	text := func(word string) string { return strings.Repeat(word, 200_000) }
	for name, selection := range map[string]func(id string) query.Selection[novel]{
		"entities": func(id string) query.Selection[novel] { return m.Key(id) },
		"known keys": func(id string) query.Selection[novel] {
			return query.Join(m.Key(id).Item("HEAD"), m.Key(id).Item("DRAFT"))
		},
	} {
		ids := []string{name + " a", name + " b"}
		for i, id := range ids {
			word := []string{"ab ", "cd "}[i]
			kit.Must(m.Save(ctx, m.New(novel{ID: id, Title: id, Text: large.Of(text(word)), Draft: text(word)})))(t)
		}
		var a, b novel
		parts := []mapper.Part{m.UpdatePart(&a, selection(ids[0])), m.UpdatePart(&b, selection(ids[1]))}
		plan := kit.Must(mapper.PlanUpdateAll(parts...))(t)
		r := kit.Must(mapper.UpdateAll(ctx, func() error { a.Draft, b.Draft = b.Draft, a.Draft; return nil },
			parts...))(t)
		if !plan.RCU.Contains(r.Consumed.RCU) || r.Consumed.RCU > 600 { // 293 for both drafts
			t.Errorf("%s: %v", name, r)
		}
		for i, id := range ids {
			now := kit.Must(m.Load(ctx, m.Key(id), mapper.Strong()))(t).Value
			kept, err := now.Text.Get(ctx)
			if err != nil || kept != text([]string{"ab ", "cd "}[i]) || now.Draft != text([]string{"cd ", "ab "}[i]) {
				t.Errorf("%s: %s: %.9s %.9s %v", name, id, kept, now.Draft, err)
			}
		}
	}
}

// One item can be read for two parts, of two mappers. If both change it, the update is refused.
func TestUpdateAllReadsAnItemForTwoParts(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := testengine.Start(t).Client()
	table := mapper.Table(testengine.Table(t, "PK:S", "SK:S"))
	one, two := kit.Must(mapper.New[driver](c, table))(t), kit.Must(mapper.New[driver](c, table))(t)
	kit.Must(one.Save(ctx, one.New(driver{ID: "a", Name: "a", Count: 1})))(t)
	for name, selection := range map[string]func(m *mapper.Mapper[driver]) query.Selection[driver]{
		"known keys": func(m *mapper.Mapper[driver]) query.Selection[driver] {
			return query.Join(m.Key("a").Item("COUNT"), m.Key("a").Item("PROFILE"))
		},
		"entities": func(m *mapper.Mapper[driver]) query.Selection[driver] { return m.Key("a") },
	} {
		var x, y driver
		parts := []mapper.Part{one.UpdatePart(&x, selection(one)), two.UpdatePart(&y, selection(two))}
		kit.Must(mapper.UpdateAll(ctx, func() error { x.Count++; y.Name += "b"; return nil }, parts...))(t)
		_, err := mapper.UpdateAll(ctx, func() error { x.Count++; y.Count++; return nil }, parts...)
		if err == nil || !strings.Contains(err.Error(), "change it in one part") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if now := kit.Must(one.Load(ctx, one.Key("a")))(t).Value; now.Count != 3 || now.Name != "abb" {
		t.Errorf("%+v", now)
	}
}

// An entity of another part is reserved while UpdateAll runs.
func TestUpdateAllReservesEntities(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	g := newGarage(t, nil)
	kit.Must(g.purses.Save(ctx, g.purses.New(purse{ID: "a", Amount: 1})))(t)
	e := g.purses.New(purse{ID: "e", Amount: 1})
	var p purse
	var during error
	kit.Must(mapper.UpdateAll(ctx, func() error {
		p.Amount++
		_, during = g.purses.Save(ctx, e)
		return nil
	}, g.purses.UpdatePart(&p, g.purses.Key("a")), g.purses.SavePart(e)))(t)
	if during == nil || !strings.Contains(during.Error(), "another goroutine is writing the entity") {
		t.Error(during)
	}
	kit.Must(g.purses.Save(ctx, e))(t)
}

// What UpdateAll cannot do is refused before anything is sent.
func TestUpdateAllRefused(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	g := newGarage(t, nil)
	kit.Must(g.purses.Save(ctx, g.purses.New(purse{ID: "a", Amount: 10})))(t)
	stale := kit.Must(g.purses.Load(ctx, g.purses.Key("a")))(t)
	kit.Must(g.purses.Update(ctx, g.purses.Key("a"), func(p *purse) error { p.Amount++; return nil }))(t)
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
		"the entity of another part": {nothing, []mapper.Part{
			g.purses.SavePart(stale), part,
		}, "two parts of UpdateAll"},
		"a deleted entity": {
			nothing,
			[]mapper.Part{part, g.purses.DeletePartByKey(g.purses.Key("a"))},
			"two parts of UpdateAll",
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
	kit.Must(g.drivers.Save(ctx, g.drivers.New(driver{ID: "p", Name: "p", Count: 1})))(t)
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
	_, err := mapper.UpdateAll(ctx, func() error { calls++; d.Count++; return nil }, g.purses.SavePart(stale),
		g.drivers.UpdatePart(&d, g.drivers.Key("p").Item("COUNT")))
	if !errors.As(err, &conflict) || calls != 1 {
		t.Errorf("a conflict of an entity that is not read is repeated: %d calls, %v", calls, err)
	}
	loaded := kit.Must(g.drivers.Load(ctx, g.drivers.Key("p")))(t)
	again := kit.Must(g.drivers.Load(ctx, g.drivers.Key("p").Item("COUNT")))(t)
	again.Value.Count = 99
	if _, err := mapper.Transact(ctx, g.drivers.SavePart(again), g.drivers.DeletePart(loaded)); err == nil ||
		!strings.Contains(err.Error(), "deletes an entity that another part writes") {
		t.Errorf("a transaction deletes the entity that it writes: %v", err)
	}
}
