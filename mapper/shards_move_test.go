package mapper_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

// shops are mappers of one table in each phase of a change of the number of shards.
type shops struct {
	table mapper.Option
	a     *mapper.Mapper[shopOld]
	b     *mapper.Mapper[shopExpected]
	c     *mapper.Mapper[shopNew]
	d     *mapper.Mapper[shopAfter]
}

func newShops(t *testing.T) *shops {
	table, client := mapper.Table(testengine.Table(t, "PK:S", "SK:S")), testengine.Start(t).Client()
	return &shops{
		table, must(mapper.New[shopOld](client, table))(t), must(mapper.New[shopExpected](client, table))(t),
		must(mapper.New[shopNew](client, table))(t), must(mapper.New[shopAfter](client, table))(t),
	}
}

// splitKeys returns numbers whose shards of 20 and of 40 differ.
func (x *shops) splitKeys(t *testing.T, count int) []int {
	var all []int
	for n := 1; len(all) < count; n++ {
		was := must(x.a.PlanSave(x.a.New(shopOld{Shop: "s", N: n})))(t).Items[0].Key.Partition
		if must(x.d.PlanSave(x.d.New(shopAfter{Shop: "s", N: n})))(t).Items[0].Key.Partition != was {
			all = append(all, n)
		}
	}
	return all
}

// An entity on its old shard is found by queries of its whole key.
func TestShardsQueryOfOneEntity(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	x := newShops(t)
	n := x.splitKeys(t, 1)[0]
	must(x.a.Save(ctx, x.a.New(shopOld{Shop: "s", N: n, Line: []part{{N: 1}, {N: 2}}})))(t)
	q := query.Of[part](x.c.Key("s", n).Prefix(fmt.Sprintf("O#%06d#L#", n)))
	if all := must(q.Collect(ctx, x.c))(t); len(all) != 2 {
		t.Errorf("elements: %v", all)
	}
	if page := must(q.Limit(1).Page(ctx, x.c))(t); len(page.Items) != 1 || page.Next == "" {
		t.Errorf("a page: %+v", page)
	}
	if plan := must(q.Plan(x.c))(t); plan.Requests.Min != 2 {
		t.Errorf("%+v", plan)
	}
	if n := must(query.Of[shopNew](x.c.Key("s", n)).Count(ctx, x.c))(t); n != 1 {
		t.Errorf("counted %d", n)
	}
}

// An entity moves to its new shard before any request of another operation: nothing is missed and
// nothing is lost.
func TestShardsMoveDuringReads(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	x := newShops(t)
	numbers := x.splitKeys(t, 80)
	lines := []part{{N: 1, Text: "x"}, {N: 2, Text: "y"}}
	for name, c := range map[string]struct {
		do   func(m *mapper.Mapper[shopExpected], k *query.Key[shopExpected], prefix string) error
		want string
	}{
		"load": {func(m *mapper.Mapper[shopExpected], k *query.Key[shopExpected], _ string) error {
			e, err := m.Load(ctx, k, mapper.Strong())
			if err == nil && len(e.Value.Line) != 2 {
				err = fmt.Errorf("%+v", e.Value)
			}
			return err
		}, "2 lines"},
		"load many": {func(m *mapper.Mapper[shopExpected], k *query.Key[shopExpected], _ string) error {
			all, err := m.LoadMany(ctx, []query.Selection[shopExpected]{k})
			if err == nil && (all[0] == nil || len(all[0].Value.Line) != 2) {
				err = fmt.Errorf("%+v", all)
			}
			return err
		}, "2 lines"},
		"load a part": {func(m *mapper.Mapper[shopExpected], k *query.Key[shopExpected], prefix string) error {
			e, err := m.Load(ctx, k.Prefix(prefix), mapper.Strong())
			if err == nil && len(e.Value.Line) != 2 {
				err = fmt.Errorf("%+v", e.Value)
			}
			return err
		}, "2 lines"},
		"update": {func(m *mapper.Mapper[shopExpected], k *query.Key[shopExpected], _ string) error {
			_, err := m.Update(ctx, k, func(v *shopExpected) error { v.By = "u"; return nil })
			return err
		}, "2 lines by u"},
		"add": {func(m *mapper.Mapper[shopExpected], k *query.Key[shopExpected], _ string) error {
			_, err := m.Update(ctx, k, func(v *shopExpected) error { v.Line = append(v.Line, part{N: 51}); return nil })
			return err
		}, "3 lines"},
		"delete": {func(m *mapper.Mapper[shopExpected], k *query.Key[shopExpected], _ string) error {
			_, err := m.DeleteByKey(ctx, k)
			return err
		}, "not found"},
		"delete a part": {func(m *mapper.Mapper[shopExpected], k *query.Key[shopExpected], prefix string) error {
			_, err := m.DeleteByKey(ctx, k.Prefix(prefix))
			return err
		}, "0 lines"},
	} {
		t.Run(name, func(t *testing.T) {
			for at := 0; ; at++ {
				n := numbers[0]
				numbers = numbers[1:]
				must(x.a.Save(ctx, x.a.New(shopOld{Shop: "s", N: n, Line: lines})))(t)
				moved, sent := false, 0
				f := &before{at: at, sent: &sent, do: func() {
					moved = true
					e, err := x.c.Load(ctx, x.c.Key("s", n))
					if err == nil {
						_, err = x.c.Save(ctx, e, mapper.Move())
					}
					var conflict *mapper.ConflictError
					if err != nil && !errors.Is(err, mapper.ErrNotFound) && !errors.As(err, &conflict) {
						t.Error(err)
					}
				}}
				m := must(
					mapper.New[shopExpected](testengine.Start(t).Client(func(o *dynamodb.Options) { o.HTTPClient = f }),
						x.table),
				)(t)
				if err := c.do(m, m.Key("s", n), fmt.Sprintf("O#%06d#L#", n)); err != nil {
					t.Errorf("moved before request %d: %v", at, err)
				}
				got := "not found"
				if e, err := x.c.Load(ctx, x.c.Key("s", n), mapper.Strong()); err == nil {
					got = fmt.Sprintf("%d lines by %s", len(e.Value.Line), e.Value.By)
				}
				if !strings.HasPrefix(got, c.want) {
					t.Errorf("moved before request %d: %s, want %s", at, got, c.want)
				}
				if !moved {
					break
				}
			}
		})
	}
}

// An entity on a shard of no number that is known any more stays there, unless it is to move, whether
// it was planned before or not.
func TestShardsStale(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	x := newShops(t)
	n := x.splitKeys(t, 1)[0]
	must(x.a.Save(ctx, x.a.New(shopOld{Shop: "s", N: n, Line: []part{{N: 1}}})))(t)
	for e, err := range x.d.Scan(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		e.Value.By = "x"
		for range 2 {
			if p := must(x.d.PlanSave(e))(t); len(p.Items) != 1 || p.Items[0].Kind != "update" {
				t.Errorf("%v", p)
			}
		}
		if r := must(x.d.Save(ctx, e))(t); len(r.Predicted().Items) != 1 || r.Consumed.WCU != 1 {
			t.Errorf("%v", r)
		}
		if r := must(x.d.Save(ctx, e, mapper.Move()))(t); len(r.Predicted().Items) != 4 {
			t.Errorf("%v", r)
		}
	}
	if v := must(x.d.Load(ctx, x.d.Key("s", n)))(t).Value; v.By != "x" || len(v.Line) != 1 {
		t.Errorf("%+v", v)
	}
}

// A staged insert of an entity that is on another shard reports that it exists.
func TestShardsStagedExists(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	x := newShops(t)
	n := x.splitKeys(t, 1)[0]
	must(x.a.Save(ctx, x.a.New(shopOld{Shop: "s", N: n})))(t)
	_, err := x.c.Save(ctx, x.c.New(shopNew{Shop: "s", N: n, Line: []part{{N: 1}, {N: 2}}}), mapper.Staged())
	if !errors.Is(err, mapper.ErrExists) || strings.Contains(err.Error(), "insert again") {
		t.Error(err)
	}
}

// What moves between two pages comes once.
func TestShardsMoveBetweenPages(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	x := newShops(t)
	for n := range 8 {
		must(x.a.Save(ctx, x.a.New(shopOld{Shop: "s", N: n})))(t)
	}
	var all []int
	for page := must(query.Of[shopNew](x.c.Key("s")).Limit(1).Page(ctx,
		x.c))(t); ; page = must(query.Of[shopNew](x.c.Key("s")).Limit(1).After(page.Next).Page(ctx, x.c))(t) {
		for _, v := range page.Items {
			all = append(all, v.N)
			must(x.c.Save(ctx, must(x.c.Load(ctx, x.c.Key("s", v.N)))(t), mapper.Move()))(t)
		}
		if page.Next == "" {
			break
		}
	}
	if len(all) != 8 || !slices.IsSorted(all) {
		t.Errorf("%v", all)
	}
}

// An expired root that another shard has a successor of is not brought back by one who holds it.
func TestShardsExpired(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	type expected struct {
		_   struct{}  `ddb:"table=leases,shards='20,40',shardby=ID,ttl=exp"`
		Day string    `ddb:"pk=L#{Day}#{shard}"`
		ID  string    `ddb:"sk={ID}"`
		Exp time.Time `ddb:"sk={ID},ttl"`
	}
	type written struct {
		_   struct{}  `ddb:"table=leases,shards='40,20',shardby=ID,ttl=exp"`
		Day string    `ddb:"pk=L#{Day}#{shard}"`
		ID  string    `ddb:"sk={ID}"`
		Exp time.Time `ddb:"sk={ID},ttl"`
	}
	table, client := mapper.Table(testengine.Table(t, "PK:S", "SK:S")), testengine.Start(t).Client()
	a, b := must(
		mapper.New[expected](client, table),
	)(
		t,
	), must(
		mapper.New[written](client, table, mapper.ExpiryMargin(0)),
	)(
		t,
	)
	var held []*mapper.Entity[expected]
	for i := range 6 {
		e := a.New(expected{Day: "d", ID: fmt.Sprint(i), Exp: time.Now().Add(time.Second)})
		must(a.Save(ctx, e))(t)
		held = append(held, e)
	}
	later := func() time.Time { return time.Now().Add(2100 * time.Millisecond) }
	door.Mapper.Model(a).Now = later
	door.Mapper.Model(b).Now = later
	for i, e := range held {
		must(b.Save(ctx, b.New(written{Day: "d", ID: fmt.Sprint(i), Exp: time.Now().Add(time.Hour)})))(t)
		e.Value.Exp = time.Now().Add(time.Hour)
		var conflict *mapper.ConflictError
		if _, err := a.Save(ctx, e); !errors.As(err, &conflict) {
			t.Errorf("%d was brought back: %v", i, err)
		}
	}
	if n := must(query.Of[written](b.Key("d")).Count(ctx, b))(t); n != 6 {
		t.Errorf("%d of 6", n)
	}
}

// Drawn shards of a larger number that is retired are left by a move.
func TestShardsDrawnMove(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	type ten struct {
		_   struct{} `ddb:"table=logs,shards=10,shardby=random"`
		Log string   `ddb:"pk=L#{Log}#{shard}"`
		N   int      `ddb:"sk={N:06}"`
		To  string   `ddb:"sk={N:06}"`
	}
	type fewer struct {
		_   struct{} `ddb:"table=logs,shards='2,10',shardby=random"`
		Log string   `ddb:"pk=L#{Log}#{shard}"`
		N   int      `ddb:"sk={N:06}"`
		To  string   `ddb:"sk={N:06}"`
	}
	type two struct {
		_   struct{} `ddb:"table=logs,shards=2,shardby=random"`
		Log string   `ddb:"pk=L#{Log}#{shard}"`
		N   int      `ddb:"sk={N:06}"`
		To  string   `ddb:"sk={N:06}"`
	}
	table, client := mapper.Table(testengine.Table(t, "PK:S", "SK:S")), testengine.Start(t).Client()
	a, b, c := must(mapper.New[ten](client, table))(t), must(mapper.New[fewer](client, table))(t),
		must(mapper.New[two](client, table))(t)
	for n := range 20 {
		must(a.Save(ctx, a.New(ten{Log: "l", N: n})))(t)
	}
	for e, err := range b.Scan(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		must(b.Save(ctx, e, mapper.Move()))(t)
	}
	if n := must(query.Of[two](c.Key("l")).Count(ctx, c))(t); n != 20 {
		t.Errorf("%d of 20", n)
	}
}
